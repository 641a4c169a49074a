//! Which steps of a plan are asked of DataFusion, and why the others are not.

use lacuna::lazy::outside::{Plan, Query};

/// Why a step is not asked of DataFusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason(pub(crate) String);

/// A fold, and what it reads.
pub(crate) struct Region {
    /// Its number in the plan.
    pub(crate) fold: usize,
    pub(crate) read: usize,
    pub(crate) query: Query,
    /// The number of all entries, and the sum of their hashes.
    pub(crate) checks: (u64, u64),
}

/// What DataFusion computes for a step with that number.
pub(crate) fn region(plan: &Plan, fold: usize) -> Result<Region, Reason> {
    let refuse = |why: &str| Err(Reason(why.into()));
    let view = plan.view(fold);
    let (Some(kept), &[operand]) = (view.kept(), view.inputs()) else {
        return refuse("it is no fold over whole axes, and no median");
    };
    if plan.view(operand).shape().is_none_or(|shape| shape.rank() == kept.len()) {
        return refuse("it reduces no axis");
    }
    let (read, steps) = chain(plan, operand)?;
    let checks = plan.view(read).source().and_then(|source| source.checks());
    let Some(checks) = checks else { return refuse("what it reads does not tell its number of entries") };
    // An error is found again, and told with its place, where the step runs after all.
    let query = Query::new(plan, fold, &steps, read).map_err(|error| Reason(error.to_string()))?;
    Ok(Region { fold, read, query, checks })
}

/// The one step that is read on which a step depends, and the steps between, in order: all element by element.
fn chain(plan: &Plan, operand: usize) -> Result<(usize, Vec<usize>), Reason> {
    let (mut left, mut steps, mut read) = (vec![operand], Vec::new(), None);
    while let Some(at) = left.pop() {
        let view = plan.view(at);
        if view.source().is_some() {
            if read.replace(at).is_some_and(|other| other != at) {
                return Err(Reason("it is made of two files".into()));
            }
        } else if view.inputs().is_empty() {
            return Err(Reason("it is made of a tensor in memory".into()));
        } else if !view.is_each() {
            return Err(Reason(format!("{} is not computed element by element on one pattern", view.name())));
        } else if !steps.contains(&at) {
            steps.push(at);
            left.extend(view.inputs());
        }
    }
    // Inputs have smaller numbers than what is made of them.
    steps.sort_unstable();
    read.map(|read| (read, steps)).ok_or_else(|| Reason("it reads no file".into()))
}
