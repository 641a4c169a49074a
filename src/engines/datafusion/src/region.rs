//! The choice of steps that run on DataFusion, with the reasons against other steps.

use lacuna::Result as Found;
use lacuna::lazy::engine_api::{ErasedValue, Plan, Query};

/// The reason why a step does not run on DataFusion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason(pub(crate) String);

/// A reduction, with the steps between the reduction and the file.
pub(crate) struct Region {
    /// The index of the reduction in the plan.
    pub(crate) fold: usize,
    chain: Chain,
    /// The query; `None` if a repeated operand must be computed first.
    pub(crate) query: Option<Query>,
    /// The number of all entries, and the sum of their hashes.
    pub(crate) checks: (u64, u64),
}

/// The steps before a reduction.
struct Chain {
    /// The index of the step that reads the file.
    read: usize,
    /// The elementwise steps, in order.
    steps: Vec<usize>,
    /// Operands of the steps that have other shapes: they are repeated.
    sides: Vec<usize>,
}

impl Region {
    /// Returns the index of the step that reads the file.
    pub(crate) fn read(&self) -> usize {
        self.chain.read
    }

    /// Returns the operands that are repeated for the entries of the file.
    pub(crate) fn sides(&self) -> &[usize] {
        &self.chain.sides
    }

    /// Returns the query. Repeated operands without a value are computed first.
    pub(crate) fn into_query(self, plan: &Plan, slots: &mut [Option<ErasedValue>]) -> Found<Query> {
        if let Some(query) = self.query {
            return Ok(query);
        }
        for &side in &self.chain.sides {
            if slots[side].is_none() {
                slots[side] = Some(plan.value(side, slots.to_vec())?);
            }
        }
        self.chain.query(plan, self.fold, slots)
    }
}

impl Chain {
    /// Returns whether all repeated operands have a value.
    fn is_there(&self, slots: &[Option<ErasedValue>]) -> bool {
        self.sides.iter().all(|&side| slots[side].is_some())
    }

    fn query(&self, plan: &Plan, fold: usize, slots: &[Option<ErasedValue>]) -> Found<Query> {
        let sides: Vec<(usize, ErasedValue)> =
            self.sides.iter().filter_map(|&side| Some((side, slots[side].clone()?))).collect();
        Query::new(plan, fold, &self.steps, self.read, &sides)
    }
}

/// Returns the region of a reduction, or the reason why it does not run on DataFusion; `slots` has the existing values.
pub(crate) fn region(plan: &Plan, fold: usize, slots: &[Option<ErasedValue>]) -> Result<Region, Reason> {
    let reject = |why: &str| Err(Reason(why.into()));
    let view = plan.view(fold);
    let (Some(kept), &[operand]) = (view.kept(), view.inputs()) else {
        return reject("it is not a reduction over entire axes or a median");
    };
    if plan.view(operand).shape().is_none_or(|shape| shape.rank() == kept.len()) {
        return reject("it does not reduce an axis");
    }
    let chain = chain(plan, operand)?;
    let checks = plan.view(chain.read).source().and_then(|source| source.checks());
    let Some(checks) = checks else { return reject("its source does not state the number of entries") };
    // If the step runs in this process after all, the error occurs again, with its location.
    let query = chain.is_there(slots).then(|| chain.query(plan, fold, slots)).transpose();
    let query = query.map_err(|error| Reason(error.to_string()))?;
    Ok(Region { fold, chain, query, checks })
}

/// Returns the elementwise steps from `operand` back to the only step that reads a file. Operands of other shapes are
/// repeated.
fn chain(plan: &Plan, operand: usize) -> Result<Chain, Reason> {
    let (mut left, mut steps, mut sides, mut read) = (vec![operand], Vec::new(), Vec::new(), None);
    while let Some(at) = left.pop() {
        let view = plan.view(at);
        let is_whole = |&input: &usize| plan.view(input).shape() == plan.view(operand).shape();
        if !is_whole(&at) {
            if !sides.contains(&at) {
                sides.push(at);
            }
        } else if view.source().is_some() {
            if read.replace(at).is_some_and(|other| other != at) {
                return Err(Reason("it reads two files".into()));
            }
        } else if view.inputs().is_empty() {
            return Err(Reason("it reads a tensor in memory".into()));
        } else if !view.is_elementwise() {
            return Err(Reason(format!("{} is not elementwise on one pattern", view.name())));
        } else if !view.inputs().iter().any(is_whole) {
            return Err(Reason(format!("both operands of {} are repeated", view.name())));
        } else if !steps.contains(&at) {
            steps.push(at);
            left.extend(view.inputs());
        }
    }
    // Inputs have smaller indices than the steps that use them.
    steps.sort_unstable();
    sides.sort_unstable();
    let read = read.ok_or_else(|| Reason("it does not read a file".into()))?;
    Ok(Chain { read, steps, sides })
}
