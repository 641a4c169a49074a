//! The union or intersection of two patterns of one shape, and the pattern of the result.

use std::sync::Arc;

use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::limit::default_limit;
use crate::kernels::join::{Joined, LaneEntries, by_coords, by_lanes};
use crate::kernels::steps::{Keep, MergeSteps};
use crate::pattern::{AnyPattern, AxisCoords, by_slices, by_width, for_plan, of_plan, planned};

/// The plan of a binary operation on sparse operands.
#[derive(Clone)]
pub(crate) struct OverlapPlan {
    /// The pattern of the result.
    pub(crate) pattern: AnyPattern,
    /// The merge steps of both patterns; `None` if both patterns are equal.
    pub(crate) steps: Option<Arc<MergeSteps>>,
}

impl OverlapPlan {
    /// Returns the entries selected by `keep`, for two patterns of one shape and format.
    ///
    /// A pattern that equals the result is shared.
    pub(crate) fn new(left: &AnyPattern, right: &AnyPattern, keep: Keep) -> Result<Self> {
        if keep.both && left.shares_arrays_with(right) {
            return Ok(OverlapPlan { pattern: left.clone(), steps: None });
        }
        if left.memo().is_none() {
            return OverlapPlan::planned(left, right, keep);
        }
        let key = || (right.clone().with_memo(None), keep);
        let join = planned(left, key, || {
            let join = OverlapPlan::planned(left, right, keep)?;
            Ok(OverlapPlan { pattern: for_plan(left, join.pattern), ..join })
        })?;
        Ok(OverlapPlan { pattern: of_plan(left, &join.pattern), steps: join.steps.clone() })
    }

    fn planned(left: &AnyPattern, right: &AnyPattern, keep: Keep) -> Result<Self> {
        if keep.both && left == right {
            return Ok(OverlapPlan { pattern: left.clone(), steps: None });
        }
        if left.width() != right.width() {
            let width = left.width().max(right.width());
            return OverlapPlan::planned(&left.in_width(width)?, &right.in_width(width)?, keep);
        }
        let (pattern, steps) = match (left.lane_offsets(), right.lane_offsets()) {
            (Some(offsets), Some(others)) => joined_lanes(left, right, [offsets, others], keep)?,
            _ => joined_coords(left, right, keep)?,
        };
        Ok(OverlapPlan { pattern, steps: Some(Arc::new(steps)) })
    }
}

/// Returns the operand pattern that equals the pattern of the result, if there is one.
fn shared(left: &AnyPattern, right: &AnyPattern, steps: &MergeSteps) -> Option<AnyPattern> {
    let (keep, count) = (steps.keep, steps.count());
    // If the result has all entries of one pattern, or only entries of one pattern, equal counts imply equal patterns.
    if keep.both && !keep.left && keep.right {
        Some(right.clone())
    } else if count == left.nnz() {
        Some(left.clone())
    } else {
        (count == right.nnz() && keep.left == keep.right).then(|| right.clone())
    }
}

/// Joins two compressed patterns of one width, lane by lane.
fn joined_lanes(
    left: &AnyPattern,
    right: &AnyPattern,
    [offsets, others]: [&[usize]; 2],
    keep: Keep,
) -> Result<(AnyPattern, MergeSteps)> {
    let (columns, of_other) = (columns(left)?, columns(right)?);
    let (steps, offsets, columns) = by_width!(&columns, own => {
        let other = LaneEntries { offsets: others, columns: of_other.view() };
        let joined = by_lanes(LaneEntries { offsets, columns: own }, other, keep)?;
        (joined.steps, joined.offsets, AxisCoords::from(joined.columns))
    });
    let pattern = match shared(left, right, &steps) {
        Some(pattern) => pattern,
        None => left.of_lanes(left.shape().clone(), offsets.into(), columns)?,
    };
    Ok((pattern, steps))
}

/// Returns the columns of a compressed pattern and counts the read.
fn columns(pattern: &AnyPattern) -> Allocated<AxisCoords> {
    match pattern.shape().rank() {
        0 => Ok(pattern.arrays()[0].clone()),
        rank => pattern.axis(rank - 1),
    }
}

/// Joins two patterns of one width by the coordinates of their entries.
fn joined_coords(left: &AnyPattern, right: &AnyPattern, keep: Keep) -> Result<(AnyPattern, MergeSteps)> {
    let (one, other) = (left.borrowed_axes()?, right.borrowed_axes()?);
    let (steps, coords) = by_slices!(&one, own => {
        let other: Few<_> = other.iter().map(AxisCoords::view).collect();
        let Joined { steps, coords } = by_coords(&own, &other, (left.nnz(), right.nnz()), left.shape(), keep)?;
        (steps, coords.map(|axes| axes.into_iter().map(AxisCoords::from).collect()))
    });
    if let Some(pattern) = shared(left, right, &steps) {
        return Ok((pattern, steps));
    }
    let axis = |(one, other): (&AxisCoords, &AxisCoords)| -> Allocated<AxisCoords> {
        Ok(by_width!(one, own => steps.pick(own, other.view())?.into()))
    };
    let coords = match coords {
        Some(coords) => coords,
        None => one.iter().zip(&*other).map(axis).collect::<Allocated<_>>()?,
    };
    let limit = default_limit(left.index_bytes().saturating_add(right.index_bytes()));
    let pattern = left.of_coords(left.shape().clone(), steps.count(), coords, limit)?;
    Ok((pattern, steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::index::Width;
    use crate::base::shape::Shape;
    use crate::pattern::Format;

    /// Returns the pattern of a matrix of 9 columns with entries at these row-major positions.
    fn pattern(format: Format, positions: &[u32]) -> AnyPattern {
        let axis = |of: fn(u32) -> u32| AxisCoords::from(positions.iter().map(|&at| of(at)).collect::<Vec<_>>());
        let coords = vec![axis(|at| at / 9), axis(|at| at % 9)];
        AnyPattern::from_coords(format, Shape::from([40, 9]), positions.len(), Width::U32, coords, u64::MAX).unwrap()
    }

    #[test]
    fn patterns_of_different_widths_are_joined() {
        let (left, right): (Vec<u32>, Vec<u32>) = ((0..360).step_by(2).collect(), (0..360).step_by(3).collect());
        for (format, count) in [(Format::Coo, 120), (Format::Coo, 3), (Format::Csr, 120), (Format::Csr, 3)] {
            let (left, right) = (pattern(format, &left), pattern(format, &right[..count]));
            let wide = |pattern: &AnyPattern| pattern.in_width(Width::U64).unwrap();
            for keep in [Keep::UNION, Keep::BOTH, Keep::LEFT, Keep::WITHOUT] {
                let expected = OverlapPlan::new(&left, &right, keep).unwrap();
                for (left, right) in [(wide(&left), right.clone()), (left.clone(), wide(&right))] {
                    let join = OverlapPlan::new(&left, &right, keep).unwrap();
                    assert!(join.pattern == expected.pattern && join.pattern.format() == format);
                    assert_eq!(
                        join.steps.map(|steps| steps.count()),
                        expected.steps.as_ref().map(|steps| steps.count())
                    );
                }
            }
            assert!(OverlapPlan::new(&left, &wide(&left), Keep::BOTH).unwrap().steps.is_none());
        }
    }
}
