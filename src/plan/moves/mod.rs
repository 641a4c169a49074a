//! Shape manipulation as a list of steps: slicing, reordering, repeating, padding and changing axes.
//!
//! A step knows the shapes before and after it, and the source of each position of its result. Arrays need only this
//! information. For sparse tensors, a step also maps a pattern, by coordinates or by entire lanes.

mod axes;
mod axis;
mod cut;
mod order;

use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::pattern::AnyPattern;
use crate::plan::selection::Selected;

pub(crate) use axes::settled;
use axes::{band, diagonal, other_axes, pad_lanes};
pub(crate) use axis::StepLimits;
pub use axis::{AxisOrder, StepRange};
use axis::{diagonal_offset, shifted};
use cut::{cut_coords, cut_lanes};
use order::{order_columns, order_coords, order_lanes};

/// A step of a shape manipulation.
#[derive(Debug, Clone, PartialEq)]
pub enum MoveStep {
    /// Selects positions of each axis.
    Cut(Vec<StepRange>),
    /// Reorders or repeats the positions of one axis.
    Order(usize, AxisOrder),
    /// Inserts this number of positions before each axis. The new positions have the fill. The shape determines the
    /// number of positions after each axis.
    Pad(Vec<usize>),
    /// The axes of the result, each an axis of the operand or a new axis of length 1. Removed axes have length 1.
    Axes(Vec<Option<usize>>),
    /// Keeps positions with `column - row` between the two bounds, on the last two axes. All others become zero.
    Band(i128, i128),
    /// Selects the positions with this `column - row`, as the last axis.
    Diagonal(i128),
}

impl MoveStep {
    /// Replaces a position of the result by its position before the step, in a tensor of shape `x`.
    ///
    /// Returns false if the position has the fill instead.
    pub(crate) fn source(&self, x: &[usize], cell: &mut Vec<usize>) -> bool {
        match self {
            MoveStep::Cut(cuts) => {
                cell.iter_mut().zip(cuts).for_each(|(coord, cut)| *coord = cut.first + *coord * cut.step);
            }
            MoveStep::Order(axis, order) => cell[*axis] = order.source(cell[*axis], x[*axis]),
            MoveStep::Pad(before) => {
                cell.iter_mut().zip(before).for_each(|(coord, &before)| *coord = coord.wrapping_sub(before));
            }
            MoveStep::Axes(axes) => {
                let mut source = vec![0; x.len()];
                axes.iter().zip(&*cell).for_each(|(axis, &coord)| axis.map_or((), |axis| source[axis] = coord));
                *cell = source;
            }
            MoveStep::Band(min, max) => {
                let diagonal_offset = diagonal_offset(cell[x.len() - 2], cell[x.len() - 1]);
                return *min <= diagonal_offset && diagonal_offset <= *max;
            }
            MoveStep::Diagonal(offset) => {
                let at = cell.pop().unwrap_or(0);
                let forth = |by: i128| at + by.max(0) as usize;
                cell.extend([forth(-offset), forth(*offset)]);
            }
        }
        cell.iter().zip(x).all(|(coord, length)| coord < length)
    }

    /// Returns an axis of `x` and a first position. The positions of this axis from the first position on are the
    /// positions of `axis` in `shape`.
    ///
    /// `x` is the shape before the step, `shape` the shape after it. The result is `None` if the step reorders the axis
    /// or depends on another axis.
    pub(crate) fn window(&self, axis: usize, x: &[usize], shape: &[usize]) -> Option<(usize, usize)> {
        let axis = match self {
            MoveStep::Cut(cuts) => return (cuts[axis].step == 1).then_some((axis, cuts[axis].first)),
            MoveStep::Order(moved, _) => (*moved != axis).then_some(axis),
            MoveStep::Pad(before) => (before[axis] == 0 && x[axis] == shape[axis]).then_some(axis),
            MoveStep::Axes(axes) => axes[axis],
            MoveStep::Band(..) | MoveStep::Diagonal(_) => (axis + 2 < x.len()).then_some(axis),
        };
        axis.map(|axis| (axis, 0))
    }

    /// Returns the selection of a pattern by the step. `shape` is the shape of the result.
    pub(crate) fn plan(&self, x: &AnyPattern, shape: &Shape, room: StepLimits) -> Result<Selected> {
        let rank = x.shape().rank();
        match (self, x.lane_offsets()) {
            (MoveStep::Cut(cuts), _)
                if cuts.iter().zip(&**x.shape()).all(|(cut, &length)| *cut == StepRange::whole(length)) =>
            {
                Ok(Selected::same(x.clone()))
            }
            (MoveStep::Cut(cuts), None) => cut_coords(x, cuts, shape, room),
            (MoveStep::Cut(cuts), Some(offsets)) => cut_lanes(x, offsets, cuts, shape, room),
            (MoveStep::Order(axis, order), None) => order_coords(x, *axis, *order, shape, room),
            (MoveStep::Order(axis, order), Some(offsets)) if axis + 1 == rank => {
                order_columns(x, offsets, *order, shape, room)
            }
            (MoveStep::Order(axis, order), Some(offsets)) => order_lanes(x, offsets, *axis, *order, shape, room),
            (MoveStep::Pad(before), None) => {
                let width = x.width_for(shape);
                let axes = (0..rank).map(|axis| shifted(&x.axis(axis)?.in_width(width)?, before[axis]));
                let coords = axes.collect::<Allocated<_>>()?;
                Ok(Selected::same(x.of_coords(shape.clone(), x.nnz(), coords, room.limit)?))
            }
            (MoveStep::Pad(before), Some(offsets)) => pad_lanes(x, offsets, before, shape, room),
            (MoveStep::Axes(axes), _) => other_axes(x, axes, shape, room),
            (MoveStep::Band(min, max), _) => band(x, *min, *max),
            (MoveStep::Diagonal(offset), _) => diagonal(x, *offset, shape, room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::index::Width;
    use crate::pattern::{CooPattern, Format};

    /// Checks the coordinates of a step on the last axis, and their width, in both formats.
    #[track_caller]
    fn check(step: &MoveStep, length: usize, expected: &[usize]) {
        let coords = vec![vec![0, 2], vec![1, u32::MAX]];
        let x = CooPattern::<u32>::new([3, 1 << 32], 2, coords).unwrap();
        let room = StepLimits { value_bytes: 1, limit: 1 << 20 };
        for format in [Format::Coo, Format::Csr] {
            let x = x.any().in_format(format, u64::MAX).unwrap();
            let found = step.plan(&x, &Shape::from([3, length]), room).unwrap().pattern;
            assert_eq!((found.format(), found.width()), (format, Width::U64));
            assert_eq!(found.axis(1).unwrap().to_usizes().unwrap(), expected);
        }
    }

    /// Tests that an axis gets wider coordinates if it becomes too long for `u32`.
    #[test]
    fn longer_axes_have_wider_coordinates() {
        let (length, last) = (1 << 32, u32::MAX as usize);
        check(&MoveStep::Pad(vec![0, 7]), length + 7, &[8, last + 7]);
        check(&MoveStep::Order(1, AxisOrder::Tile(2)), 2 * length, &[1, length + 1, last, length + last]);
        check(&MoveStep::Order(1, AxisOrder::Each(2)), 2 * length, &[2, 3, 2 * last, 2 * last + 1]);
    }
}
