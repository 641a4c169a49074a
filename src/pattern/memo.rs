//! What was planned for a pattern, kept for the next time that the same is asked of it.
//!
//! A program that runs again and again on tensors of one pattern attaches a [`Memo`] to it; the results of its plans
//! get one as well. Without a memo, which is the rule, nothing is kept.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::AnyPattern;
use crate::base::error::Result;
use crate::base::shape::Shape;

/// Facts of the whole tensor of which a pattern holds a part. Operations that decide by the shapes and patterns of
/// whole operands decide by these.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// Its lengths, within the step that is computed in parts.
    pub(crate) lengths: Option<Shape>,
    /// Whether every position of the whole is stored, if that is known.
    pub(crate) is_full: Option<bool>,
}

impl PartOf {
    /// This, and what was known before of whether every position is stored.
    pub(crate) fn beside(self, before: Option<&Arc<PartOf>>) -> Self {
        let is_full = self.is_full.or_else(|| before.and_then(|before| before.is_full));
        PartOf { is_full, ..self }
    }
}

/// The plans that were made for one pattern. Clones of the pattern share it.
#[derive(Default)]
pub(crate) struct Memo {
    plans: Mutex<Vec<Kept>>,
    family: Arc<Family>,
    /// How many plans led to the pattern.
    depth: usize,
}

/// What is the same for a pattern and all that are planned from it.
#[derive(Default)]
struct Family {
    reads: AtomicU64,
    run: AtomicU64,
}

/// A question, and the plan that answers it.
struct Kept {
    question: Box<dyn Any + Send>,
    plan: Arc<dyn Any + Send + Sync>,
    /// The run that asked last.
    asked: u64,
}

/// Plans of plans are kept so deep: each is freed within the one before, on one stack.
const DEEPEST: usize = 100;

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo({} reads)", self.reads())
    }
}

impl Memo {
    /// Counts that somebody reads coordinates.
    pub(super) fn read(&self) {
        self.family.reads.fetch_add(1, Ordering::Relaxed);
    }

    fn run(&self) -> u64 {
        self.family.run.load(Ordering::Relaxed)
    }

    /// A run begins. A plan that neither this one nor the one before asks for is dropped, as the other pattern of a
    /// join may be another in each run.
    pub(crate) fn next_run(&self) {
        self.family.run.fetch_add(1, Ordering::Relaxed);
        drop(self.plans());
    }

    /// The plans of this run and the one before.
    fn plans(&self) -> MutexGuard<'_, Vec<Kept>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let run = self.run();
        plans.retain(|kept| kept.asked + 1 >= run);
        plans
    }

    fn find<K: PartialEq + 'static, V: Send + Sync + 'static>(&self, question: &K) -> Option<Arc<V>> {
        let mut plans = self.plans();
        let kept = plans.iter_mut().find(|kept| kept.question.downcast_ref() == Some(question))?;
        kept.asked = self.run();
        Arc::clone(&kept.plan).downcast().ok()
    }

    fn keep<K: Send + 'static, V: Send + Sync + 'static>(&self, question: K, plan: &Arc<V>) {
        let plan: Arc<dyn Any + Send + Sync> = Arc::<V>::clone(plan);
        self.plans().push(Kept { question: Box::new(question), plan, asked: self.run() });
    }

    /// How often somebody asked for coordinates of the pattern, or of those that were planned from it.
    pub(crate) fn reads(&self) -> u64 {
        self.family.reads.load(Ordering::Relaxed)
    }
}

/// The plan for a pattern: the one from last time where the pattern has a memo and the question was asked before.
pub(crate) fn planned<K, V>(
    x: &AnyPattern,
    question: impl FnOnce() -> K,
    plan: impl FnOnce() -> Result<V>,
) -> Result<Arc<V>>
where
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
pub(crate) fn for_plan(x: &AnyPattern, result: AnyPattern) -> AnyPattern {
    let Some(memo) = x.memo() else { return result };
    if result.shares_arrays_with(x) || memo.depth == DEEPEST {
        return result.with_memo(None);
    }
    let own = Memo { family: Arc::clone(&memo.family), depth: memo.depth + 1, ..Memo::default() };
    result.with_memo(Some(Arc::new(own)))
}

/// The pattern that a plan for `x` holds.
pub(crate) fn of_plan(x: &AnyPattern, planned: &AnyPattern) -> AnyPattern {
    match planned.memo() {
        None if planned.shares_arrays_with(x) => planned.clone().with_memo(x.memo().cloned()),
        _ => planned.clone(),
    }
}
