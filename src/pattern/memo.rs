//! What was planned for a pattern, kept for the next time that the same is asked of it.
//!
//! A program that runs again and again on tensors of one pattern attaches a [`Memo`] to it; the results of its plans
//! get one as well. Without a memo, which is the rule, nothing is kept.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Pattern;
use crate::base::error::Result;

/// The plans that were made for one pattern. Clones of the pattern share it.
#[derive(Default)]
pub struct Memo {
    plans: Mutex<Vec<Kept>>,
    reads: AtomicU64,
}

/// The question, and the plan that answers it.
type Kept = (Box<dyn Any + Send>, Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo({} reads)", self.reads())
    }
}

impl Memo {
    /// Counts that somebody reads coordinates.
    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn find<K: PartialEq + 'static, V: Send + Sync + 'static>(&self, question: &K) -> Option<Arc<V>> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = plans.iter().filter(|(asked, _)| asked.downcast_ref() == Some(question));
        answers.find_map(|(_, plan)| Arc::clone(plan).downcast().ok())
    }

    fn keep<K: Send + 'static, V: Send + Sync + 'static>(&self, question: K, plan: &Arc<V>) {
        let plan: Arc<dyn Any + Send + Sync> = Arc::<V>::clone(plan);
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).push((Box::new(question), plan));
    }

    /// How often somebody asked for coordinates of the pattern.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// How often somebody asked for coordinates of this pattern, and of those that were planned from it.
    pub(crate) fn all_reads(&self) -> u64 {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let of_results = plans.iter().filter_map(|(_, plan)| plan.downcast_ref::<Arc<Memo>>());
        self.reads() + of_results.map(|memo| memo.all_reads()).sum::<u64>()
    }
}

/// The plan for a pattern: the one from last time where the pattern has a memo and the question was asked before.
pub(crate) fn planned<P, K, V>(x: &P, question: impl FnOnce() -> K, plan: impl FnOnce() -> Result<V>) -> Result<Arc<V>>
where
    P: Pattern,
    K: PartialEq + Send + 'static,
    V: Send + Sync + 'static,
{
    let Some(memo) = x.memo() else { return plan().map(Arc::new) };
    let question = question();
    if let Some(plan) = memo.find(&question) {
        return Ok(plan);
    }
    let plan = Arc::new(plan()?);
    memo.keep(question, &plan);
    Ok(plan)
}

/// The pattern of a plan for `x`, to be kept in that plan: with a memo of its own if `x` has one. One that is `x` as it
/// is has none, as a memo that held itself would never be freed; [`of_plan`] gives it that of `x`.
pub(crate) fn for_plan<P: Pattern>(x: &P, result: P) -> P {
    let Some(memo) = x.memo() else { return result };
    if result.shares_arrays_with(x) {
        return result.with_memo(None);
    }
    let own = Arc::<Memo>::default();
    memo.keep((), &Arc::new(Arc::clone(&own)));
    result.with_memo(Some(own))
}

/// The pattern that a plan for `x` holds.
pub(crate) fn of_plan<P: Pattern>(x: &P, planned: &P) -> P {
    match planned.memo() {
        Some(_) => planned.clone(),
        None => planned.clone().with_memo(x.memo().cloned()),
    }
}
