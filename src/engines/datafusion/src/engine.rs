//! The engine: what of a graph goes to DataFusion, and what runs here.

use std::collections::BTreeMap;
use std::fmt::Write;

use datafusion::common::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use lacuna::lazy::Engine;
use lacuna::lazy::outside::{Held, Plan, Sealed};
use lacuna::{Error, Result};

use crate::fold::Seen;
use crate::map::Shared;
use crate::run::{self, Answer};
use crate::table::Entries;
use crate::which::{Reason, Region, region};

/// The name in errors.
const NAME: &str = "datafusion";

/// The bytes that a group may take while it is worked on, more or less.
const GROUP: usize = 2 << 10;

/// The bytes that DataFusion needs for each part, or else it sorts nothing.
const LEAST: usize = 4 << 20;

/// DataFusion as the engine of a graph.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{ReadOptions, WriteOptions, scan, write};
/// use lacuna::lazy::Lazy;
/// use lacuna_datafusion::DataFusion;
///
/// let path = std::env::temp_dir().join("lacuna-datafusion-engine-example.parquet");
/// write(&path, &CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3, -5], 0)?, &WriteOptions::default())?;
///
/// let x: Lazy<CooTensor<i32>> = scan(&path, &ReadOptions::default())?;
/// let engine = DataFusion::in_process().partitions(4).memory(1 << 30);
/// assert_eq!(x.square().sum(0).on(engine).collect()?.to_vec(&[])?, [25, 0, 9]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is computed until a graph is collected on it"]
pub struct DataFusion {
    partitions: usize,
    memory: u64,
    attempts: u32,
}

impl DataFusion {
    /// DataFusion within this process, with a part for each of its threads.
    pub fn in_process() -> Self {
        let partitions = std::thread::available_parallelism().map_or(1, usize::from);
        DataFusion { partitions, memory: 1 << 30, attempts: 2 }
    }

    /// In so many parts at once.
    pub fn partitions(self, count: usize) -> Self {
        DataFusion { partitions: count.max(1), ..self }
    }

    /// The bytes that DataFusion may take for groups before it writes them to files of its own (4 MiB for each part at
    /// least), and that what is read for a step that it is not asked for may take: by default 1 GiB.
    pub fn memory(self, bytes: u64) -> Self {
        DataFusion { memory: bytes, ..self }
    }

    /// The context that a query runs in.
    fn context(&self) -> std::result::Result<SessionContext, DataFusionError> {
        let memory = usize::try_from(self.memory).unwrap_or(usize::MAX).max(self.partitions.saturating_mul(LEAST));
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc()?;
        // The groups of a batch are in memory at once.
        let batch = (memory / self.partitions / GROUP).clamp(64, 8192);
        let mut config = SessionConfig::new().with_target_partitions(self.partitions).with_batch_size(batch);
        // What each sort keeps for itself; by default it would be more than a small limit has for all.
        let kept = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *kept = (*kept).min(memory / 8 / self.partitions);
        Ok(SessionContext::new_with_config_rt(config, runtime))
    }

    /// The value of a fold. What DataFusion finds is believed if it is made of all entries.
    fn value(&self, region: Region) -> Result<Held> {
        let (expected, query) = (region.checks, Shared::new(region.query));
        let mut last = None;
        for attempts in 1..=self.attempts {
            let refused =
                |cause: String, seen| Error::Engine { engine: NAME, attempts, cause, seen, expected: Some(expected) };
            last = Some(match self.ask(&query, expected) {
                Ok(Answer::Value(value)) => return Ok(value),
                Ok(Answer::Of(Seen { entries, hash })) => {
                    refused("its answer is not made of the entries that there are".into(), Some((entries, hash)))
                }
                Err(error) => match of_lacuna(&error) {
                    // It would be refused again.
                    Some(error) => return Err(error),
                    None => refused(error.to_string(), None),
                },
            });
        }
        Err(last.unwrap_or(Error::Engine {
            engine: NAME,
            attempts: 0,
            cause: "nobody asked".into(),
            seen: None,
            expected: None,
        }))
    }

    /// What DataFusion finds. It runs on threads of its own, so that whoever asks may be a task of some other runtime.
    fn ask(&self, query: &Shared, (entries, hash): (u64, u64)) -> std::result::Result<Answer, DataFusionError> {
        let context = self.context()?;
        let piece = self.memory / 8 / self.partitions as u64;
        let expected = Seen { entries, hash };
        let table = Entries::new(query.query.reader().clone(), self.partitions, piece.clamp(1 << 16, 64 << 20));
        let work = || {
            let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(self.partitions).build()?;
            threads.block_on(run::ask(&context, query, table, expected))
        };
        std::thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|_| Err(DataFusionError::Internal("a thread panicked".into())))
    }

    /// Which steps go to DataFusion, and of those that a result needs and that do not, why.
    fn layout(plan: &Plan, slots: &[Option<Held>]) -> (Vec<Region>, BTreeMap<usize, Reason>) {
        let (mut left, mut regions, mut refused) = (plan.results().to_vec(), BTreeMap::new(), BTreeMap::new());
        while let Some(at) = left.pop() {
            if slots[at].is_some() || regions.contains_key(&at) || refused.contains_key(&at) {
                continue;
            }
            match region(plan, at) {
                Ok(region) => {
                    regions.insert(at, region);
                }
                Err(reason) => {
                    refused.insert(at, reason);
                    left.extend(plan.view(at).inputs());
                }
            }
        }
        (regions.into_values().collect(), refused)
    }

    /// Refuses files that are read as a whole and do not fit.
    fn check(&self, plan: &Plan, at: usize) -> Result<()> {
        let bytes = plan.view(at).source().map_or(0, |source| source.bytes());
        let instead = "raise DataFusion::memory, or ask for a fold of it";
        match bytes <= self.memory {
            true => Ok(()),
            false => {
                let what = "what is read for a step that DataFusion is not asked for";
                Err(Error::TooLarge { what, bytes: bytes.into(), limit: self.memory, instead })
            }
        }
    }
}

/// The error of lacuna that one of DataFusion holds.
fn of_lacuna(error: &DataFusionError) -> Option<Error> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found.clone());
        }
        if let Some(DataFusionError::External(inner)) = error.downcast_ref::<DataFusionError>()
            && let Some(found) = inner.downcast_ref::<Error>()
        {
            return Some(found.clone());
        }
        next = error.source();
    }
    None
}

impl Sealed for DataFusion {}

impl Engine for DataFusion {
    fn values(&self, plan: &Plan, mut slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
        let (regions, refused) = Self::layout(plan, &slots);
        refused.keys().try_for_each(|&at| self.check(plan, at))?;
        for region in regions {
            let (fold, read) = (region.fold, region.read);
            match self.value(region) {
                Ok(value) => slots[fold] = Some(value),
                Err(error @ Error::Engine { .. }) => return Err(error),
                // A step has no result: of the whole it is told where.
                Err(error) => self.check(plan, read).map_err(|_| error)?,
            }
        }
        plan.finish(slots)
    }

    fn pour(&self, plan: &Plan, slots: Vec<Option<Held>>, take: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
        self.values(plan, slots)?.iter().try_for_each(take)
    }

    fn explain(&self, plan: &Plan, slots: &[Option<Held>]) -> String {
        let (regions, refused) = Self::layout(plan, slots);
        let mut text = plan.told();
        for Region { fold, read, query, .. } in &regions {
            let axes = query.kept();
            let _ =
                writeln!(text, "{NAME}: %{fold} from %{read} in {} parts, grouped by axes {axes:?}", self.partitions);
        }
        for (at, Reason(why)) in refused {
            let _ = match plan.view(at).source() {
                Some(_) => writeln!(text, "threads: %{at} is read whole"),
                None => writeln!(text, "threads: %{at}, as {why}"),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use lacuna::CooTensor;
    use lacuna::io::{ReadOptions, WriteOptions, scan, write};

    use super::*;

    /// Expects entries that there are not.
    struct Misled(DataFusion, fn(&mut (u64, u64)));

    impl Sealed for Misled {}

    impl Engine for Misled {
        fn values(&self, plan: &Plan, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
            let (regions, _) = DataFusion::layout(plan, &slots);
            regions
                .into_iter()
                .map(|mut region| {
                    (self.1)(&mut region.checks);
                    self.0.value(region)
                })
                .collect()
        }

        fn pour(&self, _: &Plan, _: Vec<Option<Held>>, _: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<Held>]) -> String {
            plan.told()
        }
    }

    /// Where grouping within a part does not pay, DataFusion hands each entry on as a state of its own.
    struct Singly;

    impl Sealed for Singly {}

    impl Engine for Singly {
        fn values(&self, plan: &Plan, slots: Vec<Option<Held>>) -> Result<Vec<Held>> {
            let mut config = SessionConfig::new().with_target_partitions(2).with_batch_size(4);
            let options = &mut config.options_mut().execution;
            options.skip_partial_aggregation_probe_rows_threshold = 1;
            options.skip_partial_aggregation_probe_ratio_threshold = 0.0;
            let context = SessionContext::new_with_config(config);
            let (mut regions, _) = DataFusion::layout(plan, &slots);
            let Region { query, checks: (entries, hash), .. } = regions.remove(0);
            let query = Shared::new(query);
            let table = Entries::new(query.query.reader().clone(), 2, 1 << 20);
            let threads = tokio::runtime::Builder::new_current_thread().build()?;
            match threads.block_on(run::ask(&context, &query, table, Seen { entries, hash })) {
                Ok(Answer::Value(value)) => Ok(vec![value]),
                _ => Ok(Vec::new()),
            }
        }

        fn pour(&self, _: &Plan, _: Vec<Option<Held>>, _: &mut dyn FnMut(&Held) -> Result<()>) -> Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<Held>]) -> String {
            plan.told()
        }
    }

    #[test]
    fn entries_that_are_handed_on_singly() -> Result<()> {
        let path = std::env::temp_dir().join(format!("lacuna-datafusion-singly-{}.parquet", std::process::id()));
        let x = CooTensor::from_dense(&ndarray::Array::from_shape_fn([40, 3], |(i, k)| (i * 3 + k) as f64 * 0.1), 0.0)?;
        write(&path, &x, &WriteOptions::default())?;
        let lazy = scan::<f64, u32>(&path, &ReadOptions::default())?;
        assert_eq!(lazy.sum(1).on(Singly).collect()?, x.sum(1)?);
        assert_eq!(lazy.nanmedian(1).on(Singly).collect()?, x.nanmedian(1)?);
        std::fs::remove_file(&path)?;
        Ok(())
    }

    #[test]
    fn an_answer_of_other_entries_is_refused() -> Result<()> {
        let path = std::env::temp_dir().join(format!("lacuna-datafusion-misled-{}.parquet", std::process::id()));
        let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -5.0], 0.0)?;
        write(&path, &x, &WriteOptions::default())?;
        let sum = scan::<f64, u32>(&path, &ReadOptions::default())?.sum(0);
        let engine = DataFusion::in_process().partitions(2);
        assert_eq!(sum.on(Misled(engine.clone(), |_| ())).collect()?, x.sum(0)?);
        let misled: [fn(&mut (u64, u64)); 2] = [|(entries, _)| *entries += 1, |(_, hash)| *hash ^= 1 << 63];
        for misled in misled {
            let error = sum.on(Misled(engine.clone(), misled)).collect().unwrap_err();
            assert!(matches!(error, Error::Engine { attempts: 2, seen: Some((2, _)), .. }), "{error}");
        }
        std::fs::remove_file(&path)?;
        Ok(())
    }
}
