//! The engine: the steps of a graph that run on DataFusion, and the steps that run in this process.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use datafusion::common::DataFusionError;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use lacuna::lazy::engine_api::{ErasedValue, Plan, Query};
use lacuna::{Error, Result};

use crate::census::FEW;
use crate::fold::Seen;
use crate::map::PlanQuery;
use crate::region::{Reason, Region, region};
use crate::run::{self, Answer};
use crate::spill::Folder;
use crate::table::Entries;

/// Returns the approximate bytes of a group during a query: several copies of its accumulator.
pub(crate) fn group_bytes(query: &dyn PlanQuery) -> usize {
    let state = if query.order().is_some() { FEW * size_of::<u64>() } else { 0 };
    (2 << 10) + 4 * state
}

/// The minimum memory per partition in bytes, without which DataFusion cannot sort.
const MIN_MEMORY: usize = 4 << 20;

/// The engine that computes graphs with DataFusion in this process.
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
    /// Returns the engine in this process, with one part per available thread.
    pub fn in_process() -> Self {
        let partitions = std::thread::available_parallelism().map_or(1, usize::from);
        DataFusion { partitions, memory: 1 << 30, attempts: 2 }
    }

    /// Sets the number of parts of a file that run at the same time.
    pub fn partitions(self, count: usize) -> Self {
        DataFusion { partitions: count.max(1), ..self }
    }

    /// Sets the number of bytes above which groups are written to temporary files.
    ///
    /// The default is 1 GiB, and the minimum is 4 MiB per part. If a step outside DataFusion needs a file in memory,
    /// the limit also applies to this file. The groups of an answer take additional memory.
    pub fn memory(self, bytes: u64) -> Self {
        DataFusion { memory: bytes, ..self }
    }

    /// Returns the context of a query.
    fn context(&self, query: &Query, folder: &Folder) -> std::result::Result<SessionContext, DataFusionError> {
        let (config, runtime) = session(query, self.partitions, self.memory, folder)?;
        Ok(SessionContext::new_with_config_rt(config, runtime))
    }
}

/// Returns the configuration and the runtime of a query with the given partitions and memory.
pub(crate) fn session(
    query: &Query,
    partitions: usize,
    memory: u64,
    folder: &Folder,
) -> std::result::Result<(SessionConfig, Arc<RuntimeEnv>), DataFusionError> {
    let memory = usize::try_from(memory).unwrap_or(usize::MAX).max(partitions.saturating_mul(MIN_MEMORY));
    let runtime = runtime(memory, folder.disk()).build_arc()?;
    // The groups of a batch are in memory at once.
    let batch = (memory / partitions / group_bytes(query)).clamp(64, 8192);
    let mut config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(batch);
    // The memory that each sort reserves. The default may exceed a small memory limit.
    let kept = &mut config.options_mut().execution.sort_spill_reservation_bytes;
    *kept = (*kept).min(memory / 8 / partitions);
    Ok((config, runtime))
}

/// Returns a runtime with `memory` bytes, shared equally by the operators that spill to files. With a greedy pool, the
/// first operators could take all memory, and a sort could not merge.
pub(crate) fn runtime(memory: usize, disk: DiskManagerBuilder) -> RuntimeEnvBuilder {
    RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(memory))).with_disk_manager_builder(disk)
}

/// Returns the table of the entries that a query reads.
pub(crate) fn entries(query: &Query, partitions: usize, memory: u64) -> Entries {
    let piece = memory / 8 / partitions as u64;
    Entries::new(query.reader().clone(), query.sides(), partitions, piece.clamp(1 << 16, 64 << 20))
}

/// The reason for a missing answer.
pub(crate) enum Failure {
    /// The streaming reduction does not have a result, or cannot be sent at all.
    Final(Error),
    /// A failure that another attempt would repeat.
    Never(String),
    Again(String),
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        of_lacuna(&error).map_or_else(|| Failure::Again(error.message().into_owned()), Failure::Final)
    }
}

/// The limits on the attempts of a query.
pub(crate) struct RetryLimits {
    pub(crate) attempts: u32,
    pub(crate) until: Option<Instant>,
    /// The pause before the second attempt; each further pause is twice as long.
    pub(crate) pause: Duration,
}

impl RetryLimits {
    /// Waits before the next attempt, after `done` attempts. Returns false if no attempt or no time is left.
    fn waits(&self, done: usize) -> bool {
        let pause = self.pause.saturating_mul(1 << (done - 1).min(16));
        let has_time = self.until.is_none_or(|until| until.saturating_duration_since(Instant::now()) > pause);
        let retries = done < self.attempts as usize && has_time;
        if retries {
            thread::sleep(pause);
        }
        retries
    }
}

/// Formats the causes of failed attempts.
fn format_causes(causes: &[String]) -> String {
    if let [cause] = causes {
        return cause.clone();
    }
    let mut last = 0;
    let description = causes.chunk_by(|one, other| one == other).map(|alike| {
        let first = last + 1;
        last += alike.len();
        match first == last {
            true => format!("attempt {first}: {}", alike[0]),
            false => format!("attempts {first} to {last}: {}", alike[0]),
        }
    });
    description.collect::<Vec<_>>().join("; ")
}

/// A place where DataFusion runs: this process, or workers.
pub(crate) trait Runner {
    /// The name of the engine in errors.
    const NAME: &'static str;

    /// Returns the limit in bytes for files that are read for steps outside DataFusion.
    fn memory(&self) -> u64;

    /// Checks whether the engine accepts a query, as far as can be known in advance.
    fn takes(&self, query: &Query) -> std::result::Result<(), Reason>;

    /// Describes where a streaming reduction runs.
    fn description(&self) -> String;

    /// Returns the limits on the attempts of a query.
    fn retry_limits(&self) -> RetryLimits;

    fn run_query(
        &self,
        query: &Arc<Query>,
        expected: Seen,
        until: Option<Instant>,
    ) -> std::result::Result<Answer, Failure>;
}

impl Runner for DataFusion {
    const NAME: &'static str = "datafusion";

    fn memory(&self) -> u64 {
        self.memory
    }

    fn takes(&self, _: &Query) -> std::result::Result<(), Reason> {
        Ok(())
    }

    fn description(&self) -> String {
        format!("in {} parts", self.partitions)
    }

    fn retry_limits(&self) -> RetryLimits {
        RetryLimits { attempts: self.attempts, until: None, pause: Duration::ZERO }
    }

    /// Runs a query on DataFusion, on separate threads, because the caller may be a task of another runtime.
    fn run_query(
        &self,
        query: &Arc<Query>,
        expected: Seen,
        _: Option<Instant>,
    ) -> std::result::Result<Answer, Failure> {
        let folder = Folder::new();
        let context = self.context(query, &folder)?;
        let table = entries(query, self.partitions, self.memory);
        let work = || {
            let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(self.partitions).build()?;
            threads.block_on(run::run_query(&context, query, table, expected))
        };
        let found = thread::scope(|scope| scope.spawn(work).join());
        Ok(found.unwrap_or_else(|_| Err(DataFusionError::Internal("a thread panicked".into())))?)
    }
}

const OTHERS: &str = "its answer was computed from other entries";

/// Returns the value of a streaming reduction. An answer is accepted only if it covers all entries.
fn value<R: Runner>(runs: &R, query: Query, expected: (u64, u64)) -> Result<ErasedValue> {
    let (retry_limits, query, (entries, hash)) = (runs.retry_limits(), Arc::new(query), expected);
    let mut causes = Vec::new();
    let seen = loop {
        let (cause, seen, is_last) = match runs.run_query(&query, Seen { entries, hash }, retry_limits.until) {
            Ok(Answer::Value(value)) => return Ok(value),
            Ok(Answer::Of(of)) => (OTHERS.to_string(), Some((of.entries, of.hash)), false),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Never(cause)) => (cause, None, true),
            Err(Failure::Again(cause)) => (cause, None, false),
        };
        causes.push(cause);
        if is_last || !retry_limits.waits(causes.len()) {
            break seen;
        }
    };
    let (attempts, cause) = (causes.len() as u32, format_causes(&causes));
    Err(Error::Engine { engine: R::NAME, attempts, cause, seen, expected: Some(expected) })
}

/// Returns the regions that run on DataFusion, and the reasons for the other steps that a result needs.
fn layout<R: Runner>(runs: &R, plan: &Plan, slots: &[Option<ErasedValue>]) -> (Vec<Region>, BTreeMap<usize, Reason>) {
    let (mut left, mut regions, mut rejection) = (plan.results().to_vec(), BTreeMap::new(), BTreeMap::new());
    while let Some(at) = left.pop() {
        if slots[at].is_some() || regions.contains_key(&at) || rejection.contains_key(&at) {
            continue;
        }
        let taken = region(plan, at, slots).and_then(|region| match &region.query {
            Some(query) => runs.takes(query).map(|()| region),
            None => Ok(region),
        });
        match taken {
            Ok(region) => {
                left.extend(region.sides());
                regions.insert(at, region);
            }
            Err(reason) => {
                rejection.insert(at, reason);
                left.extend(plan.view(at).inputs());
            }
        }
    }
    (regions.into_values().collect(), rejection)
}

/// Rejects a file that is read into memory and exceeds the limit.
fn check<R: Runner>(runs: &R, plan: &Plan, at: usize) -> Result<()> {
    let bytes = plan.view(at).source().map_or(0, |source| source.bytes());
    let instead = "raise the memory of the engine, or compute a reduction";
    match bytes <= runs.memory() {
        true => Ok(()),
        false => {
            let what = "the input of a step outside DataFusion";
            Err(Error::TooLarge { what, bytes: bytes.into(), limit: runs.memory(), instead })
        }
    }
}

/// Returns the lacuna error inside a DataFusion error, if any.
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

/// Returns the values of the results of a plan.
pub(crate) fn values<R: Runner>(
    runs: &R,
    plan: &Plan,
    mut slots: Vec<Option<ErasedValue>>,
) -> Result<Vec<ErasedValue>> {
    let (regions, rejection) = layout(runs, plan, &slots);
    rejection.keys().try_for_each(|&at| check(runs, plan, at))?;
    for region in regions {
        let (fold, read, checks) = (region.fold, region.read(), region.checks);
        let found = region.into_query(plan, &mut slots).and_then(|query| {
            let taken = runs.takes(&query);
            taken.map_err(|Reason(why)| Error::Argument { operation: "on", why })?;
            value(runs, query, checks)
        });
        match found {
            Ok(value) => slots[fold] = Some(value),
            Err(error @ Error::Engine { .. }) => return Err(error),
            // A step failed. If the file fits memory, the run in this process reports the step.
            Err(error) => check(runs, plan, read).map_err(|_| error)?,
        }
    }
    plan.finish(slots)
}

/// Describes the steps of a plan, and where they run.
pub(crate) fn explain<R: Runner>(runs: &R, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
    let (regions, rejection) = layout(runs, plan, slots);
    let (mut text, name, places) = (plan.to_text(), R::NAME, runs.description());
    for region in &regions {
        let (fold, read, axes) = (region.fold, region.read(), plan.view(region.fold).kept().unwrap_or_default());
        let order = region.query.as_ref().and_then(|query| query.order());
        let passes = order.map_or(String::new(), |order| {
            format!(
                ", groups of up to {FEW} values collected, larger groups counted, in at most {} passes",
                order.words() + 1
            )
        });
        let beside = region.sides().iter().map(|side| format!(", with %{side} in memory")).collect::<String>();
        let _ = writeln!(text, "{name}: %{fold} from %{read} {places}{beside}, grouped by axes {axes:?}{passes}");
    }
    for (at, Reason(why)) in rejection {
        let _ = match plan.view(at).source() {
            Some(_) => writeln!(text, "threads: %{at} is read into memory"),
            None => writeln!(text, "threads: %{at}, as {why}"),
        };
    }
    text
}

/// Implements the engine traits for a type that implements [`Runner`].
macro_rules! engine {
    ($engine:ty) => {
        impl lacuna::lazy::engine_api::Sealed for $engine {}

        impl lacuna::lazy::Engine for $engine {
            fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> lacuna::Result<Vec<ErasedValue>> {
                $crate::engine::values(self, plan, slots)
            }

            fn for_each_chunk(
                &self,
                plan: &Plan,
                slots: Vec<Option<ErasedValue>>,
                take: &mut dyn FnMut(&ErasedValue) -> lacuna::Result<()>,
            ) -> lacuna::Result<()> {
                $crate::engine::values(self, plan, slots)?.iter().try_for_each(take)
            }

            fn explain(&self, plan: &Plan, slots: &[Option<ErasedValue>]) -> String {
                $crate::engine::explain(self, plan, slots)
            }
        }
    };
}
pub(crate) use engine;

engine!(DataFusion);

#[cfg(test)]
mod tests {
    use lacuna::CooTensor;
    use lacuna::io::{ReadOptions, WriteOptions, scan, write};

    use super::*;
    use lacuna::lazy::Engine;
    use lacuna::lazy::engine_api::Sealed;

    /// An engine that expects other entries than the file has.
    struct Misled(DataFusion, fn(&mut (u64, u64)));

    impl Sealed for Misled {}

    impl Engine for Misled {
        fn values(&self, plan: &Plan, mut slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
            let (regions, _) = layout(&self.0, plan, &slots);
            regions
                .into_iter()
                .map(|mut region| {
                    (self.1)(&mut region.checks);
                    let checks = region.checks;
                    value(&self.0, region.into_query(plan, &mut slots)?, checks)
                })
                .collect()
        }

        fn for_each_chunk(
            &self,
            _: &Plan,
            _: Vec<Option<ErasedValue>>,
            _: &mut dyn FnMut(&ErasedValue) -> Result<()>,
        ) -> Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
            plan.to_text()
        }
    }

    /// An engine whose DataFusion does not group within a partition, but passes each entry as a separate state.
    struct Singly;

    impl Sealed for Singly {}

    impl Engine for Singly {
        fn values(&self, plan: &Plan, mut slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
            let mut config = SessionConfig::new().with_target_partitions(2).with_batch_size(4);
            let options = &mut config.options_mut().execution;
            options.skip_partial_aggregation_probe_rows_threshold = 1;
            options.skip_partial_aggregation_probe_ratio_threshold = 0.0;
            let context = SessionContext::new_with_config(config);
            let (mut regions, _) = layout(&DataFusion::in_process(), plan, &slots);
            let region = regions.remove(0);
            let ((entries, hash), query) = (region.checks, Arc::new(region.into_query(plan, &mut slots)?));
            let table = Entries::new(query.reader().clone(), Vec::new(), 2, 1 << 20);
            let threads = tokio::runtime::Builder::new_current_thread().build()?;
            match threads.block_on(run::run_query(&context, &query, table, Seen { entries, hash })) {
                Ok(Answer::Value(value)) => Ok(vec![value]),
                _ => Ok(Vec::new()),
            }
        }

        fn for_each_chunk(
            &self,
            _: &Plan,
            _: Vec<Option<ErasedValue>>,
            _: &mut dyn FnMut(&ErasedValue) -> Result<()>,
        ) -> Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
            plan.to_text()
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

    /// Fails with the given failures, one per attempt.
    struct Fails(RetryLimits, std::sync::Mutex<Vec<Failure>>);

    impl Runner for Fails {
        const NAME: &'static str = "fails";

        fn memory(&self) -> u64 {
            0
        }

        fn takes(&self, _: &Query) -> std::result::Result<(), Reason> {
            Ok(())
        }

        fn description(&self) -> String {
            String::new()
        }

        fn retry_limits(&self) -> RetryLimits {
            let RetryLimits { attempts, until, pause } = self.0;
            RetryLimits { attempts, until, pause }
        }

        fn run_query(&self, _: &Arc<Query>, _: Seen, _: Option<Instant>) -> std::result::Result<Answer, Failure> {
            self.1.lock().map_or(Err(Failure::Never("poisoned".into())), |mut failures| Err(failures.remove(0)))
        }
    }

    /// Returns the number of attempts, and the reported cause.
    fn failed(retry_limits: RetryLimits, failures: Vec<Failure>) -> Result<(u32, String)> {
        let path = std::env::temp_dir().join(format!("lacuna-datafusion-fails-{}.parquet", std::process::id()));
        write(&path, &CooTensor::new([2], vec![vec![1]], vec![3.0], 0.0)?, &WriteOptions::default())?;
        let lazy = scan::<f64, u32>(&path, &ReadOptions::default())?;
        let fails = Fails(retry_limits, std::sync::Mutex::new(failures));
        let found = lazy.sum(0).on(FailingEngine(fails)).collect();
        std::fs::remove_file(&path)?;
        match found {
            Err(Error::Engine { attempts, cause, .. }) => Ok((attempts, cause)),
            found => panic!("{found:?}"),
        }
    }

    /// An engine that runs on [`Fails`].
    struct FailingEngine(Fails);

    impl Sealed for FailingEngine {}

    impl Engine for FailingEngine {
        fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
            values(&self.0, plan, slots)
        }

        fn for_each_chunk(
            &self,
            _: &Plan,
            _: Vec<Option<ErasedValue>>,
            _: &mut dyn FnMut(&ErasedValue) -> Result<()>,
        ) -> Result<()> {
            Ok(())
        }

        fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
            plan.to_text()
        }
    }

    #[test]
    fn the_cause_of_each_attempt_is_told() -> Result<()> {
        let again = |why: &str| Failure::Again(why.into());
        let of = |attempts| RetryLimits { attempts, until: None, pause: Duration::ZERO };
        assert_eq!(failed(of(1), vec![again("a")])?, (1, "a".into()));
        let description = "attempt 1: a; attempts 2 to 3: b; attempt 4: c";
        assert_eq!(failed(of(4), vec![again("a"), again("b"), again("b"), again("c")])?, (4, description.into()));
        let never = vec![again("a"), Failure::Never("b".into()), again("c")];
        assert_eq!(failed(of(4), never)?, (2, "attempt 1: a; attempt 2: b".into()));
        Ok(())
    }

    /// Each pause is twice the previous pause, and no pause passes the deadline.
    #[test]
    fn attempts_back_off() -> Result<()> {
        let again = || vec![Failure::Again("a".into()), Failure::Again("a".into()), Failure::Again("a".into())];
        let (start, pause) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(failed(RetryLimits { attempts: 3, until: None, pause }, again())?.0, 3);
        assert!(start.elapsed() >= 3 * pause, "{:?}", start.elapsed());
        let until = Instant::now().checked_add(Duration::from_secs(60));
        assert_eq!(failed(RetryLimits { attempts: 3, until, pause: Duration::from_secs(61) }, again())?.0, 1);
        assert_eq!(failed(RetryLimits { attempts: 3, until: Some(start), pause: Duration::ZERO }, again())?.0, 1);
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
