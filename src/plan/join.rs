//! What two patterns of one shape have in common, and the pattern of what a result has of either.

use std::borrow::Cow;

use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::kernels::join::{Keep, Lanes, Steps, by_coords, by_lanes};
use crate::pattern::Pattern;

/// The plan of an operation on two sparse operands.
pub(crate) struct Join<P> {
    /// The pattern of the result.
    pub(crate) pattern: P,
    /// Who has an entry where; nothing to tell where both have the same.
    pub(crate) steps: Option<Steps>,
}

impl<P: Pattern> Join<P> {
    /// The entries that `keep` says, of two patterns of one shape. A pattern that is the result as it is, is shared.
    pub(crate) fn new(left: &P, right: &P, keep: Keep) -> Result<Self> {
        if keep.both && (left.shares_arrays_with(right) || left == right) {
            return Ok(Join { pattern: left.clone(), steps: None });
        }
        let (steps, offsets) = match (left.lane_offsets(), right.lane_offsets()) {
            (Some(offsets), Some(others)) => {
                let (columns, of_other) = (last_coords(left)?, last_coords(right)?);
                let right = Lanes { offsets: others, columns: &of_other };
                let (steps, ends) = by_lanes(Lanes { offsets, columns: &columns }, right, keep)?;
                (steps, Some(ends))
            }
            _ => (steps_of_coords(left, right, keep)?, None),
        };
        let pattern = match steps.count() {
            _ if keep == (Keep { both: true, left: false, right: true }) => right.clone(),
            // The result has all entries of left, and no other.
            count if count == left.nnz() => left.clone(),
            count if count == right.nnz() && keep.left == keep.right => right.clone(),
            _ => picked(left, right, &steps, offsets)?,
        };
        Ok(Join { pattern, steps: Some(steps) })
    }
}

/// The column of each entry, 0 on rank 0.
fn last_coords<P: Pattern>(pattern: &P) -> Allocated<Cow<'_, [P::Index]>> {
    match pattern.shape().rank() {
        0 => Ok(Cow::Owned(vec![P::Index::default(); pattern.nnz()])),
        rank => pattern.axis_coords(rank - 1),
    }
}

fn steps_of_coords<P: Pattern>(left: &P, right: &P, keep: Keep) -> Allocated<Steps> {
    let one = (0..left.shape().rank()).map(|axis| left.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
    let other = (0..right.shape().rank()).map(|axis| right.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
    let one: Vec<&[P::Index]> = one.iter().map(|axis| &**axis).collect();
    let other: Vec<&[P::Index]> = other.iter().map(|axis| &**axis).collect();
    by_coords(&one, &other, (left.nnz(), right.nnz()), left.shape(), keep)
}

/// The pattern of the kept steps.
fn picked<P: Pattern>(left: &P, right: &P, steps: &Steps, offsets: Option<Vec<usize>>) -> Result<P> {
    if let Some(offsets) = offsets {
        let columns = steps.pick(&last_coords(left)?, &last_coords(right)?)?;
        return P::from_lanes(left.shape().clone(), offsets, columns.into());
    }
    let axis = |axis: usize| steps.pick(&left.axis_coords(axis)?, &right.axis_coords(axis)?).map(Buffer::from);
    let coords = (0..left.shape().rank()).map(axis).collect::<Allocated<_>>()?;
    let limit = default_limit(left.index_bytes().saturating_add(right.index_bytes()));
    P::from_coords(left.shape().clone(), steps.count(), coords, limit)
}
