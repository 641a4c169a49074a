//! What two patterns of one shape have in common, and the pattern of what a result has of either.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::limit::default_limit;
use crate::kernels::join::{Joined, Lanes, by_coords, by_lanes};
use crate::kernels::steps::{Keep, Steps};
use crate::pattern::{Pattern, for_plan, of_plan, planned};

/// The plan of an operation on two sparse operands.
#[derive(Clone)]
pub(crate) struct Join<P> {
    /// The pattern of the result.
    pub(crate) pattern: P,
    /// Who has an entry where; nothing to tell where both have the same.
    pub(crate) steps: Option<Arc<Steps>>,
}

impl<P: Pattern> Join<P> {
    /// The entries that `keep` says, of two patterns of one shape. A pattern that is the result as it is, is shared.
    pub(crate) fn new(left: &P, right: &P, keep: Keep) -> Result<Self> {
        if keep.both && left.shares_arrays_with(right) {
            return Ok(Join { pattern: left.clone(), steps: None });
        }
        if left.memo().is_none() {
            return Join::planned(left, right, keep);
        }
        let question = || (right.clone().with_memo(None), keep);
        let join = planned(left, question, || {
            let join = Join::planned(left, right, keep)?;
            Ok(Join { pattern: for_plan(left, join.pattern), ..join })
        })?;
        Ok(Join { pattern: of_plan(left, &join.pattern), steps: join.steps.clone() })
    }

    fn planned(left: &P, right: &P, keep: Keep) -> Result<Self> {
        if keep.both && left == right {
            return Ok(Join { pattern: left.clone(), steps: None });
        }
        if let (Some(offsets), Some(others)) = (left.lane_offsets(), right.lane_offsets()) {
            let (columns, of_other) = (last_coords(left)?, last_coords(right)?);
            let right_lanes = Lanes { offsets: others, columns: &of_other };
            let joined = by_lanes(Lanes { offsets, columns: &columns }, right_lanes, keep)?;
            let pattern = match shared(left, right, &joined.steps) {
                Some(pattern) => pattern,
                None => P::from_lanes(left.shape().clone(), joined.offsets.into(), joined.columns.into())?,
            };
            return Ok(Join { pattern, steps: Some(Arc::new(joined.steps)) });
        }
        let Joined { steps, coords } = joined_coords(left, right, keep)?;
        let pattern = match shared(left, right, &steps) {
            Some(pattern) => pattern,
            None => of_coords(left, right, &steps, coords)?,
        };
        Ok(Join { pattern, steps: Some(Arc::new(steps)) })
    }
}

/// The pattern that has the entries of the result, if one of the two has.
fn shared<P: Pattern>(left: &P, right: &P, steps: &Steps) -> Option<P> {
    let (keep, count) = (steps.keep, steps.count());
    // A result that has all of one side, or none but of one side, is that side where they are as many.
    if keep.both && !keep.left && keep.right {
        Some(right.clone())
    } else if count == left.nnz() {
        Some(left.clone())
    } else {
        (count == right.nnz() && keep.left == keep.right).then(|| right.clone())
    }
}

/// The column of each entry, 0 on rank 0.
fn last_coords<P: Pattern>(pattern: &P) -> Allocated<Cow<'_, [P::Index]>> {
    match pattern.shape().rank() {
        0 => Ok(Cow::Owned(vec![P::Index::default(); pattern.nnz()])),
        rank => pattern.axis_coords(rank - 1),
    }
}

fn joined_coords<P: Pattern>(left: &P, right: &P, keep: Keep) -> Allocated<Joined<P::Index>> {
    let [one, other] = [left, right].map(|pattern| {
        (0..pattern.shape().rank()).map(|axis| pattern.axis_coords(axis)).collect::<Allocated<Few<_>>>()
    });
    let (one, other) = (one?, other?);
    let one: Few<&[P::Index]> = one.iter().map(|axis| &**axis).collect();
    let other: Few<&[P::Index]> = other.iter().map(|axis| &**axis).collect();
    by_coords(&one, &other, (left.nnz(), right.nnz()), left.shape(), keep)
}

/// The pattern of the kept steps, by their coordinates, or else those of the two.
fn of_coords<P: Pattern>(left: &P, right: &P, steps: &Steps, coords: Option<Vec<Vec<P::Index>>>) -> Result<P> {
    let axis = |axis: usize| steps.pick(&left.axis_coords(axis)?, &right.axis_coords(axis)?).map(Buffer::from);
    let coords = match coords {
        Some(coords) => coords.into_iter().map(Buffer::from).collect(),
        None => (0..left.shape().rank()).map(axis).collect::<Allocated<_>>()?,
    };
    let limit = default_limit(left.index_bytes().saturating_add(right.index_bytes()));
    P::from_coords(left.shape().clone(), steps.count(), coords, limit)
}
