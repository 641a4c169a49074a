//! The queries: what is planned, and what comes back.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::{DataFrame, Expr, SessionContext, col, lit};
use lacuna::lazy::outside::{Found, Held, Query};

use crate::bin::{self, BinOf, Gives};
use crate::census::Side;
use crate::fold::{Fold, Seen};
use crate::map::{Asks, Map, Shared};
use crate::median::{self, Wanted};
use crate::table::{Entries, HASH, VALUE, axis_name, external};

/// The column of what is known of each group.
const STATE: &str = "state";
/// The columns of a bin.
const SIDE: &str = "side";
const KEY: &str = "key";
const COUNT: &str = "number";

/// What a query comes to.
pub(crate) enum Answer {
    Value(Held),
    /// It was made of other entries than there are.
    Of(Seen),
}

/// How many values of a group have keys that begin so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) coords: Vec<u64>,
    pub(crate) side: Side,
    pub(crate) key: u64,
    pub(crate) count: u64,
}

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

/// How many values there are in each bin that is looked at, in order.
pub(crate) async fn bins(
    context: &SessionContext,
    query: &Shared,
    entries: Entries,
    wanted: &Wanted,
    shift: u32,
) -> Result<Vec<Bin>> {
    let mut takes = keys(query);
    takes.extend([value(query), lit(ScalarValue::Binary(Some(bin::to_bytes(wanted, shift))))]);
    let of = |gives| ScalarUDF::from(BinOf::new(query.clone(), gives)).call(takes.clone());
    let mut columns = keys(query);
    columns.extend([of(Gives::Side).alias(SIDE), of(Gives::Key).alias(KEY)]);
    let mut grouped = keys(query);
    grouped.extend([col(SIDE), col(KEY)]);
    let binned = context.read_table(Arc::new(entries))?.select(columns)?.filter(col(KEY).is_not_null())?;
    let counted = binned.aggregate(grouped.clone(), vec![count(lit(1)).alias(COUNT)])?;
    let batches = sorted(counted, grouped)?.collect().await?;
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| bin_of(batch, query, row)));
    rows.collect()
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
    let (seen, state) = Seen::of_group(column(batch, STATE)?.as_binary::<i32>().value(row))?;
    Ok((Found { coords: coords(batch, kept, row)?, count: seen.entries, state: state.to_vec() }, seen))
}

/// The bin that a row tells of.
fn bin_of(batch: &RecordBatch, query: &Shared, row: usize) -> Result<Bin> {
    Ok(Bin {
        coords: coords(batch, query.query.kept(), row)?,
        side: if number(batch, SIDE, row)? == 0 { Side::Below } else { Side::Above },
        key: number(batch, KEY, row)?,
        count: column(batch, COUNT)?.as_primitive::<Int64Type>().value(row).unsigned_abs(),
    })
}
