//! Requests for the plans of a pattern.

use std::sync::Arc;

use super::any::AnyPattern;
use crate::base::error::Result;

/// Returns the plan for a pattern. If the pattern has a memo, the plan of an equal earlier request is reused.
pub(crate) fn planned<K, V>(x: &AnyPattern, key: impl FnOnce() -> K, plan: impl FnOnce() -> Result<V>) -> Result<Arc<V>>
where
    K: PartialEq + Send + 'static,
    V: Send + Sync + 'static,
{
    let Some(memo) = x.memo() else { return plan().map(Arc::new) };
    let key = key();
    if let Some(plan) = memo.find(&key) {
        return Ok(plan);
    }
    let plan = Arc::new(plan()?);
    memo.keep(key, &plan);
    Ok(plan)
}

/// Returns the pattern to be kept in a plan for `x`, with its own memo if `x` has one.
///
/// A result that shares all arrays with `x` does not get a memo, because a memo that contains itself is never freed.
/// [`of_plan`] restores the memo of `x`.
pub(crate) fn for_plan(x: &AnyPattern, result: AnyPattern) -> AnyPattern {
    let Some(memo) = x.memo() else { return result };
    let own = if result.shares_arrays_with(x) { None } else { memo.of_result() };
    result.with_memo(own.map(Arc::new))
}

/// Returns the pattern kept in a plan for `x`.
pub(crate) fn of_plan(x: &AnyPattern, planned: &AnyPattern) -> AnyPattern {
    match planned.memo() {
        None if planned.shares_arrays_with(x) => planned.clone().with_memo(x.memo().cloned()),
        _ => planned.clone(),
    }
}
