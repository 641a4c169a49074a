//! A fold as a query: what is planned, what comes back, and whether it is believed.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::{DataFrame, SessionContext, col};
use lacuna::lazy::outside::Found;

use crate::fold::{Fold, Seen};
use crate::map::{Map, Shared};
use crate::table::{Entries, HASH, VALUE, axis_name};

/// The column of what is known of each group.
const STATE: &str = "state";

/// The groups that a query finds, in row-major order, and what they are made of.
pub(crate) async fn ask(context: &SessionContext, query: &Shared, entries: Entries) -> Result<(Vec<Found>, Seen)> {
    let batches = planned(context, query, entries)?.collect().await?;
    let (mut found, mut all) = (Vec::new(), Seen::default());
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let (group, seen) = group(batch, query.0.kept(), row)?;
            all.add(seen)?;
            // A fold over all axes has one group, also of nothing.
            if seen.entries > 0 {
                found.push(group);
            }
        }
    }
    Ok((found, all))
}

/// The query: entries, with the values behind all steps, are grouped by their coordinates on the kept axes, and these
/// are sorted by.
fn planned(context: &SessionContext, query: &Shared, entries: Entries) -> Result<DataFrame> {
    let keys: Vec<_> = query.0.kept().iter().map(|&axis| col(axis_name(axis))).collect();
    let value = match query.0.is_mapped() {
        true => ScalarUDF::from(Map::new(query.clone())).call(vec![col(VALUE)]),
        false => col(VALUE),
    };
    let fold = AggregateUDF::from(Fold::new(query.clone())).call(vec![value, col(HASH)]).alias(STATE);
    let grouped = context.read_table(Arc::new(entries))?.aggregate(keys.clone(), vec![fold])?;
    match keys.is_empty() {
        true => Ok(grouped),
        false => grouped.sort(keys.into_iter().map(|key| key.sort(true, false)).collect()),
    }
}

/// The group that a row tells of.
fn group(batch: &RecordBatch, kept: &[usize], row: usize) -> Result<(Found, Seen)> {
    let column = |name: &str| {
        batch.column_by_name(name).ok_or_else(|| DataFusionError::Internal(format!("the answer has no column {name}")))
    };
    let coord = |&axis: &usize| Ok(column(&axis_name(axis))?.as_primitive::<UInt64Type>().value(row));
    let (seen, state) = Seen::of_group(column(STATE)?.as_binary::<i32>().value(row))?;
    let coords = kept.iter().map(coord).collect::<Result<_>>()?;
    Ok((Found { coords, count: seen.entries, state: state.to_vec() }, seen))
}
