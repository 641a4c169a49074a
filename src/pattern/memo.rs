//! Plans of a pattern, kept for later requests.
//!
//! A program that runs repeatedly on tensors of one pattern attaches a [`Memo`] to this pattern. The results of its
//! plans get a memo as well. Without a memo, which is the default, nothing is kept.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::shape::Shape;

/// Facts about the entire tensor of which a pattern is a chunk.
///
/// Operations that depend on the shape or pattern of entire operands use these facts.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// The lengths of the entire tensor, for the operation computed in chunks.
    pub(crate) lengths: Option<Shape>,
    /// True if every position of the entire tensor is stored, if known.
    pub(crate) is_full: Option<bool>,
}

impl PartOf {
    /// Returns these facts. If `is_full` is unknown, it is copied from `before`.
    pub(crate) fn merged_with(self, before: Option<&Arc<PartOf>>) -> Self {
        let is_full = self.is_full.or_else(|| before.and_then(|before| before.is_full));
        PartOf { is_full, ..self }
    }
}

/// The plans made for one pattern. Clones of the pattern share them.
#[derive(Default)]
pub(crate) struct Memo {
    plans: Mutex<Vec<MemoEntry>>,
    family: Arc<Family>,
    /// The number of consecutive plans from which the pattern results.
    depth: usize,
}

/// State shared by a pattern and all patterns planned from it.
#[derive(Default)]
struct Family {
    reads: AtomicU64,
    run: AtomicU64,
}

/// A request, and the plan for it.
struct MemoEntry {
    key: Box<dyn Any + Send>,
    plan: Arc<dyn Any + Send + Sync>,
    /// The last run that requested the plan.
    last_run: u64,
}

/// The maximum depth of nested plans. Each plan is freed within the previous plan, so the depth limits the use of the
/// stack.
const DEEPEST: usize = 100;

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo({} reads)", self.reads())
    }
}

impl Memo {
    /// Counts a read of coordinates.
    pub(super) fn read(&self) {
        self.family.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn run(&self) -> u64 {
        self.family.run.load(Ordering::Relaxed)
    }

    /// Starts a new run.
    ///
    /// Plans that neither the ending run nor the run before it requested are dropped, because the other pattern of a
    /// join may change in each run.
    pub(crate) fn next_run(&self) {
        self.family.run.fetch_add(1, Ordering::Relaxed);
        drop(self.plans());
    }

    /// Returns the plans of this run and of the previous run.
    fn plans(&self) -> MutexGuard<'_, Vec<MemoEntry>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let run = self.run();
        plans.retain(|kept| kept.last_run + 1 >= run);
        plans
    }

    /// Returns the kept plan of an equal earlier request.
    pub(super) fn find<K: PartialEq + 'static, V: Send + Sync + 'static>(&self, key: &K) -> Option<Arc<V>> {
        let mut plans = self.plans();
        let kept = plans.iter_mut().find(|kept| kept.key.downcast_ref() == Some(key))?;
        kept.last_run = self.run();
        Arc::clone(&kept.plan).downcast().ok()
    }

    /// Keeps the plan of a request.
    pub(super) fn keep<K: Send + 'static, V: Send + Sync + 'static>(&self, key: K, plan: &Arc<V>) {
        let plan: Arc<dyn Any + Send + Sync> = Arc::<V>::clone(plan);
        self.plans().push(MemoEntry { key: Box::new(key), plan, last_run: self.run() });
    }

    /// Returns how often coordinates of the pattern, or of patterns planned from it, were read.
    pub(crate) fn reads(&self) -> u64 {
        self.family.reads.load(Ordering::Relaxed)
    }

    /// Returns a memo for a pattern planned from this one. Returns `None` if this pattern results from too many
    /// consecutive plans.
    pub(super) fn of_result(&self) -> Option<Memo> {
        let family = Arc::clone(&self.family);
        (self.depth < DEEPEST).then(|| Memo { family, depth: self.depth + 1, ..Memo::default() })
    }
}
