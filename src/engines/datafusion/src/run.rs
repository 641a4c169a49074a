//! Queries: their plans and their results.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::sum::sum;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::{DataFrame, Expr, SessionContext, col, lit, when};
use futures::TryStreamExt;
use lacuna::lazy::engine_api::{ErasedValue, Found, Query};

use crate::bin::{BinFunction, PrefixSearch};
use crate::fold::{Fold, Seen};
use crate::map::{Map, PlanQuery, Shared};
use crate::median;
use crate::table::{Entries, HASH, VALUE, axis_name, external, side_column};

/// The column of the state of each group.
const STATE: &str = "state";
/// The columns of a bin.
const BIN: &str = "bin";
const COUNT: &str = "number";

/// The outcome of a query.
pub(crate) enum Answer {
    Value(ErasedValue),
    /// The answer covers other entries than the file has.
    Of(Seen),
}

/// The number of values of a group whose keys begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) key: u64,
    pub(crate) count: u64,
}

/// A function of the coordinates of a group and its bins.
type VisitGroup<'a> = dyn FnMut(&[u64], &[Bin]) -> Result<()> + Send + 'a;

/// The data that all passes of a query read, and the entries that each pass must cover.
pub(crate) struct Passes<'a> {
    context: &'a SessionContext,
    query: Shared,
    entries: Entries,
    expected: Seen,
}

/// Returns the value of a query, if the answer covers the expected entries.
pub(crate) async fn run_query(
    context: &SessionContext,
    whole: &Arc<Query>,
    entries: Entries,
    expected: Seen,
) -> Result<Answer> {
    let mut passes = Passes { context, query: Shared::new(Arc::clone(whole) as Arc<dyn PlanQuery>), entries, expected };
    let (found, seen) = passes.census().await?;
    match seen == expected {
        true => passes.value(whole, &found).await.map(Answer::Value),
        false => {
            // With checks, a worker with a damaged chunk reports the damage.
            passes.entries = passes.entries.checked(true);
            passes.census().await.map(|_| Answer::Of(seen))
        }
    }
}

impl Passes<'_> {
    fn table(&self) -> Result<DataFrame> {
        self.context.read_table(Arc::new(self.entries.clone()))
    }

    /// Returns the groups of a query in row-major order, and the entries that the groups cover.
    async fn census(&self) -> Result<(Vec<Found>, Seen)> {
        let batches = self.folded()?.collect().await?;
        let (mut found, mut all) = (Vec::new(), Seen::default());
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let (group, seen) = group(batch, self.query.query.kept(), row)?;
                all.add(seen)?;
                // A reduction over all axes returns one group even without entries.
                if seen.entries > 0 {
                    found.push(group);
                }
            }
        }
        Ok((found, all))
    }

    /// Returns the value of the query, given its groups.
    async fn value(&self, whole: &Query, found: &[Found]) -> Result<ErasedValue> {
        let value = match whole.order() {
            None => whole.finish(found),
            Some(order) => whole.finish_ranked(found, &median::keys(self, whole.extent(), order, found).await?),
        };
        value.map_err(external)
    }

    /// Plans the reduction: entries are grouped by their coordinates on the kept axes, and groups are sorted.
    fn folded(&self) -> Result<DataFrame> {
        let query = &self.query;
        let fold = AggregateUDF::from(Fold::new(query.clone())).call(vec![value(query), col(HASH)]).alias(STATE);
        sorted(self.table()?.aggregate(keys(query), vec![fold])?, keys(query))
    }

    /// Passes the counts of searched bins to `take`, group by group, both in order. The counts are valid only if this
    /// returns `Ok`: then all entries were read, including entries in no bin.
    pub(crate) async fn bins(&self, search: &PrefixSearch, take: &mut VisitGroup<'_>) -> Result<()> {
        let mut batches = self.binned(search)?.execute_stream().await?;
        let (mut all, mut group, mut of_group) = (Seen::default(), None, Vec::new());
        while let Some(batch) = batches.try_next().await? {
            for row in 0..batch.num_rows() {
                let (of_row, bin, seen) = counted(&batch, self.query.query.kept(), row)?;
                all.add(seen)?;
                let Some(key) = bin else { continue };
                if group.as_ref() != Some(&of_row) {
                    group.replace(of_row).map_or(Ok(()), |group| take(&group, &of_group))?;
                    of_group.clear();
                }
                of_group.push(Bin { key, count: seen.entries });
            }
        }
        group.map_or(Ok(()), |group| take(&group, &of_group))?;
        match all == self.expected {
            true => Ok(()),
            false => Err(exec_datafusion_err!("lacuna: a pass read other entries than the file has: {all:?}")),
        }
    }

    /// Plans the number of entries and the sum of their hashes, per bin and for all entries in no bin.
    fn binned(&self, search: &PrefixSearch) -> Result<DataFrame> {
        let (query, kept) = (&self.query, keys(&self.query));
        let takes = [kept.clone(), vec![value(query), lit(search.to_scalar())]].concat();
        let bin = ScalarUDF::from(BinFunction::new(query.clone())).call(takes).alias(BIN);
        let binned = self.table()?.select([kept.clone(), vec![bin, col(HASH)]].concat())?;
        // Entries in no bin become one row for all groups, because there may be many groups.
        let coordinate = |&axis: &usize| {
            let coordinate = when(col(BIN).is_null(), lit(0_u64)).otherwise(col(axis_name(axis)))?;
            Ok(coordinate.alias(axis_name(axis)))
        };
        let coordinate = query.query.kept().iter().map(coordinate).collect::<Result<Vec<_>>>()?;
        let binned = binned.select([coordinate, vec![col(BIN), col(HASH)]].concat())?;
        let grouped = [kept, vec![col(BIN)]].concat();
        // Sums of 64 bits wrap, as sums of hashes do.
        let seen = vec![count(lit(1)).alias(COUNT), sum(col(HASH)).alias(HASH)];
        sorted(binned.aggregate(grouped.clone(), seen)?, grouped)
    }
}

/// Returns the columns of the coordinates on the kept axes.
fn keys(query: &Shared) -> Vec<Expr> {
    query.query.kept().iter().map(|&axis| col(axis_name(axis))).collect()
}

/// Returns the value after all steps.
fn value(query: &Shared) -> Expr {
    match query.query.is_mapped() {
        true => {
            let sides = (0..query.query.side_widths().len()).map(|side| col(side_column(side)));
            ScalarUDF::from(Map::new(query.clone())).call(std::iter::once(col(VALUE)).chain(sides).collect())
        }
        false => col(VALUE),
    }
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

/// Returns the coordinates in a row, its bin if any, and the entries that the row covers.
fn counted(batch: &RecordBatch, kept: &[usize], row: usize) -> Result<(Vec<u64>, Option<u64>, Seen)> {
    let bin = match column(batch, BIN)?.is_null(row) {
        true => None,
        false => Some(number(batch, BIN, row)?),
    };
    let entries = column(batch, COUNT)?.as_primitive::<Int64Type>().value(row).unsigned_abs();
    Ok((coords(batch, kept, row)?, bin, Seen { entries, hash: number(batch, HASH, row)? }))
}

/// Returns the group in a row.
fn group(batch: &RecordBatch, kept: &[usize], row: usize) -> Result<(Found, Seen)> {
    let (seen, state) = Seen::of_group(column(batch, STATE)?.as_binary::<i64>().value(row))?;
    Ok((Found { coords: coords(batch, kept, row)?, count: seen.entries, state: state.to_vec() }, seen))
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionConfig;
    use lacuna::CooTensor;
    use lacuna::io::{Compression, ReadOptions, WriteOptions, scan, write};
    use lacuna::lazy::engine_api::{Plan, Sealed};
    use lacuna::lazy::{Engine, Lazy};

    use super::*;
    use crate::region::region;

    /// Writes other bytes to the file between the census and the passes of a median, and changes the hash of all
    /// entries.
    struct Meanwhile<'a>(&'a std::path::Path, Vec<u8>, u64);

    impl Sealed for Meanwhile<'_> {}

    impl Engine for Meanwhile<'_> {
        fn values(&self, plan: &Plan, mut slots: Vec<Option<ErasedValue>>) -> lacuna::Result<Vec<ErasedValue>> {
            let region = region(plan, plan.results()[0], &slots).unwrap_or_else(|why| panic!("{why:?}"));
            let ((entries, hash), whole) = (region.checks, Arc::new(region.into_query(plan, &mut slots)?));
            let (expected, query) = (Seen { entries, hash }, Shared::new(Arc::clone(&whole) as Arc<dyn PlanQuery>));
            let context = &SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
            let entries = Entries::new(whole.reader().clone(), Vec::new(), 2, 1 << 20);
            let mut passes = Passes { context, query, entries, expected };
            let threads = tokio::runtime::Builder::new_current_thread().build()?;
            let why = |error: DataFusionError| lacuna::Error::Argument { operation: "on", why: error.to_string() };
            threads.block_on(async {
                let (found, seen) = passes.census().await.map_err(why)?;
                assert_eq!(seen, expected);
                std::fs::write(self.0, &self.1)?;
                passes.expected.hash ^= self.2;
                Ok(vec![passes.value(&whole, &found).await.map_err(why)?])
            })
        }

        fn for_each_chunk(
            &self,
            _: &Plan,
            _: Vec<Option<ErasedValue>>,
            _: &mut dyn FnMut(&ErasedValue) -> lacuna::Result<()>,
        ) -> lacuna::Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
            plan.to_text()
        }
    }

    /// The counts are the same, and the middle is another one.
    #[test]
    fn a_value_that_changes_between_passes_is_refused() -> lacuna::Result<()> {
        let path = std::env::temp_dir().join(format!("lacuna-datafusion-meanwhile-{}.parquet", std::process::id()));
        let x = CooTensor::from_dense(&ndarray::Array::from_shape_fn([3, 9], |(i, k)| (i * 9 + k) as f64 + 1.5), 0.0)?;
        write(&path, &x, &WriteOptions::default().compression(Compression::None))?;
        let lazy: Lazy<CooTensor<f64>> = scan(&path, &ReadOptions::default())?;
        let (same, expected) = (std::fs::read(&path)?, lazy.stored().nanmedian(1).collect()?);
        let found = lazy.stored().nanmedian(1).on(Meanwhile(&path, same.clone(), 0)).collect()?;
        assert_eq!(found.values(), expected.values());
        // A value that is a median, and a value that changes no median.
        for (value, other) in [(5.5_f64, 7.25_f64), (1.5, 0.5)] {
            let (mut bytes, value) = (same.clone(), value.to_le_bytes());
            let at = bytes.windows(8).position(|window| window == value).expect("a value");
            bytes[at..at + 8].copy_from_slice(&other.to_le_bytes());
            let found = lazy.stored().nanmedian(1).on(Meanwhile(&path, bytes, 0)).collect();
            std::fs::write(&path, &same)?;
            assert!(found.as_ref().is_err_and(|why| why.to_string().contains("damaged")), "{found:?}");
        }
        // A change that no checksum of the file detects.
        let found = lazy.stored().nanmedian(1).on(Meanwhile(&path, same, 1)).collect();
        assert!(found.as_ref().is_err_and(|why| why.to_string().contains("other entries")), "{found:?}");
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
