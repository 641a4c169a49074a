//! The queries: what is planned, and what comes back.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::{DataFrame, Expr, SessionContext, col, lit};
use futures::TryStreamExt;
use lacuna::lazy::outside::{Found, Held, Query};

use crate::bin::{BinOf, Looks};
use crate::fold::{Fold, Seen};
use crate::map::{Asks, Map, Shared};
use crate::median;
use crate::table::{Entries, HASH, VALUE, axis_name, external};

/// The column of what is known of each group.
const STATE: &str = "state";
/// The columns of a bin.
const BIN: &str = "bin";
const COUNT: &str = "number";

/// What a query comes to.
pub(crate) enum Answer {
    Value(Held),
    /// It was made of other entries than there are.
    Of(Seen),
}

/// How many values of a group have keys that begin so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) key: u64,
    pub(crate) count: u64,
}

/// Takes the coordinates of a group, and its bins.
type OfGroup<'a> = dyn FnMut(&[u64], &[Bin]) -> Result<()> + 'a;

/// The value of a query, if it is made of the entries that are expected.
pub(crate) async fn ask(
    context: &SessionContext,
    whole: &Arc<Query>,
    entries: Entries,
    expected: Seen,
) -> Result<Answer> {
    let query = &Shared::new(Arc::clone(whole) as Arc<dyn Asks>);
    let (found, seen) = census(context, query, entries.clone()).await?;
    if seen != expected {
        return Ok(Answer::Of(seen));
    }
    let value = match whole.order() {
        None => whole.finish(&found),
        Some(order) => {
            let keys = median::keys(context, (query, whole.extent()), order, &entries, &found).await?;
            whole.finish_ranked(&found, &keys)
        }
    };
    value.map(Answer::Value).map_err(external)
}

/// The groups that a query finds, in row-major order, and what they are made of.
async fn census(context: &SessionContext, query: &Shared, entries: Entries) -> Result<(Vec<Found>, Seen)> {
    let batches = folded(context, query, entries)?.collect().await?;
    let (mut found, mut all) = (Vec::new(), Seen::default());
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let (group, seen) = group(batch, query.query.kept(), row)?;
            all.add(seen)?;
            // A fold over all axes has one group, also of nothing.
            if seen.entries > 0 {
                found.push(group);
            }
        }
    }
    Ok((found, all))
}

/// Hands over how many values there are in each bin that is looked at, group by group, both in order.
pub(crate) async fn bins(
    context: &SessionContext,
    query: &Shared,
    entries: Entries,
    looks: &Looks,
    take: &mut OfGroup<'_>,
) -> Result<()> {
    let mut takes = keys(query);
    takes.extend([value(query), lit(looks.to_scalar())]);
    let mut columns = keys(query);
    columns.push(ScalarUDF::from(BinOf::new(query.clone())).call(takes).alias(BIN));
    let mut grouped = keys(query);
    grouped.push(col(BIN));
    let binned = context.read_table(Arc::new(entries))?.select(columns)?.filter(col(BIN).is_not_null())?;
    let counted = binned.aggregate(grouped.clone(), vec![count(lit(1)).alias(COUNT)])?;
    let mut batches = sorted(counted, grouped)?.execute_stream().await?;
    let (mut group, mut of_group) = (None, Vec::new());
    while let Some(batch) = batches.try_next().await? {
        for row in 0..batch.num_rows() {
            let of_row = coords(&batch, query.query.kept(), row)?;
            if group.as_ref() != Some(&of_row) {
                group.replace(of_row).map_or(Ok(()), |group| take(&group, &of_group))?;
                of_group.clear();
            }
            let count = column(&batch, COUNT)?.as_primitive::<Int64Type>().value(row).unsigned_abs();
            of_group.push(Bin { key: number(&batch, BIN, row)?, count });
        }
    }
    group.map_or(Ok(()), |group| take(&group, &of_group))
}

/// The coordinates on the kept axes.
fn keys(query: &Shared) -> Vec<Expr> {
    query.query.kept().iter().map(|&axis| col(axis_name(axis))).collect()
}

/// The value behind all steps.
fn value(query: &Shared) -> Expr {
    match query.query.is_mapped() {
        true => ScalarUDF::from(Map::new(query.clone())).call(vec![col(VALUE)]),
        false => col(VALUE),
    }
}

/// Entries are grouped by their coordinates on the kept axes, and the groups sorted by these.
fn folded(context: &SessionContext, query: &Shared, entries: Entries) -> Result<DataFrame> {
    let fold = AggregateUDF::from(Fold::new(query.clone())).call(vec![value(query), col(HASH)]).alias(STATE);
    sorted(context.read_table(Arc::new(entries))?.aggregate(keys(query), vec![fold])?, keys(query))
}

fn sorted(rows: DataFrame, by: Vec<Expr>) -> Result<DataFrame> {
    match by.is_empty() {
        true => Ok(rows),
        false => rows.sort(by.into_iter().map(|key| key.sort(true, false)).collect()),
    }
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> Result<u64> {
    Ok(column(batch, name)?.as_primitive::<UInt64Type>().value(row))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Arc<dyn datafusion::arrow::array::Array>> {
    batch.column_by_name(name).ok_or_else(|| DataFusionError::Internal(format!("the answer has no column {name}")))
}

fn coords(batch: &RecordBatch, kept: &[usize], row: usize) -> Result<Vec<u64>> {
    kept.iter().map(|&axis| number(batch, &axis_name(axis), row)).collect()
}

/// The group that a row tells of.
fn group(batch: &RecordBatch, kept: &[usize], row: usize) -> Result<(Found, Seen)> {
    let (seen, state) = Seen::of_group(column(batch, STATE)?.as_binary::<i64>().value(row))?;
    Ok((Found { coords: coords(batch, kept, row)?, count: seen.entries, state: state.to_vec() }, seen))
}
