//! Shape manipulation as a list of steps: slicing, reordering, repeating, padding and changing axes.
//!
//! A step knows the shapes before and after it, and the source of each position of its result. This defines the step,
//! and is all that arrays need. A step also maps a pattern, by coordinates or by entire lanes.

mod axes;
mod cut;
mod order;

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::gather::Steps;
use crate::pattern::{AnyPattern, AxisCoords, by_width};
use crate::plan::selection::{Selected, Sources};

pub(crate) use axes::settled;
use axes::{band, diagonal, other_axes, pad_lanes};
use cut::{cut_coords, cut_lanes};
use order::{order_columns, order_coords, order_lanes};

/// The positions `first, first + step, …` of an axis, `length` in all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) length: usize,
}

impl Cut {
    /// Returns a cut; with fewer than two positions the step is 1.
    pub(crate) fn new(first: usize, step: usize, length: usize) -> Self {
        Cut { first, step: if length < 2 { 1 } else { step }, length }
    }

    /// Returns the cut that selects an entire axis.
    pub(crate) fn whole(length: usize) -> Self {
        Cut::new(0, 1, length)
    }

    /// Returns the position after the last one.
    fn end(&self) -> usize {
        self.first + self.length.saturating_sub(1) * self.step + usize::from(self.length > 0)
    }

    fn steps(&self) -> Steps {
        Steps::new(self.first, self.end(), self.step)
    }

    /// Returns the range of increasing coordinates between the first and the last position.
    fn range_in<I: Index>(&self, coords: &[I]) -> Range<usize> {
        if self.length == 0 {
            return 0..0;
        }
        let start = if self.first == 0 { 0 } else { coords.partition_point(|coord| coord.to_usize() < self.first) };
        match coords.last().is_none_or(|last| last.to_usize() < self.end()) {
            true => start..coords.len(),
            false => start..start + coords[start..].partition_point(|coord| coord.to_usize() < self.end()),
        }
    }
}

/// The reordering or repetition of the positions of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// Reverses the positions.
    Reverse,
    /// Rotates the positions by this number; positions at the end move to the start.
    Rotate(usize),
    /// Repeats all positions together this number of times.
    Tile(usize),
    /// Repeats each position this number of times.
    Each(usize),
}

impl Order {
    /// Returns how often each position occurs in the result.
    fn times(self) -> usize {
        match self {
            Order::Reverse | Order::Rotate(_) => 1,
            Order::Tile(times) | Order::Each(times) => times,
        }
    }

    /// Returns the position, among `length` positions, that is at `at` in the result.
    fn source(self, at: usize, length: usize) -> usize {
        match self {
            Order::Reverse => length - 1 - at,
            Order::Rotate(places) => {
                if at < places {
                    at + length - places
                } else {
                    at - places
                }
            }
            Order::Tile(_) => at % length,
            Order::Each(times) => at / times,
        }
    }
}

/// A step of a shape manipulation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Selects positions of each axis.
    Cut(Vec<Cut>),
    /// Reorders or repeats the positions of one axis.
    Order(usize, Order),
    /// Inserts this number of positions before each axis. They hold the fill; the shape determines the number after the
    /// axis.
    Pad(Vec<usize>),
    /// The axes of the result: each is an axis of the operand or a new axis of length 1. Removed axes have length 1.
    Axes(Vec<Option<usize>>),
    /// Keeps positions with `column - row` between the two bounds, on the last two axes. All others become zero.
    Band(i128, i128),
    /// Selects the positions with this `column - row`, as the last axis.
    Diagonal(i128),
}

/// The memory limits of a step.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The bytes per value of the result.
    pub(crate) value_bytes: usize,
    /// The maximum bytes of the result and its working lists.
    pub(crate) limit: u64,
}

impl Room {
    /// Returns `count` times `times` as the number of entries, or an error above the limit.
    ///
    /// Each entry needs coordinates, a value and an index in a list.
    fn admit(&self, count: usize, times: usize, index_bytes: usize) -> Result<usize> {
        let entries = count as u128 * times as u128;
        let bytes = entries.saturating_mul((index_bytes + self.value_bytes + size_of::<usize>()) as u128);
        match bytes <= u128::from(self.limit) {
            true => Ok(entries as usize),
            false => {
                let instead = "work on the tensor before it is repeated";
                Err(Error::TooLarge { what: "the repeated entries", bytes, limit: self.limit, instead })
            }
        }
    }
}

impl Step {
    /// Replaces a position of the result by its position before the step, in a tensor of shape `x`.
    ///
    /// Returns false if the position holds the fill instead.
    pub(crate) fn source(&self, x: &[usize], cell: &mut Vec<usize>) -> bool {
        match self {
            Step::Cut(cuts) => {
                cell.iter_mut().zip(cuts).for_each(|(coord, cut)| *coord = cut.first + *coord * cut.step);
            }
            Step::Order(axis, order) => cell[*axis] = order.source(cell[*axis], x[*axis]),
            Step::Pad(before) => {
                cell.iter_mut().zip(before).for_each(|(coord, &before)| *coord = coord.wrapping_sub(before));
            }
            Step::Axes(axes) => {
                let mut source = vec![0; x.len()];
                axes.iter().zip(&*cell).for_each(|(axis, &coord)| axis.map_or((), |axis| source[axis] = coord));
                *cell = source;
            }
            Step::Band(least, most) => {
                let behind = behind(cell[x.len() - 2], cell[x.len() - 1]);
                return *least <= behind && behind <= *most;
            }
            Step::Diagonal(offset) => {
                let at = cell.pop().unwrap_or(0);
                let forth = |by: i128| at + by.max(0) as usize;
                cell.extend([forth(-offset), forth(*offset)]);
            }
        }
        cell.iter().zip(x).all(|(coord, length)| coord < length)
    }

    /// Returns the axis of `x` whose positions from a first one on are the positions of `axis` in `shape`, and this
    /// first one.
    ///
    /// `x` is the shape before the step, `shape` the shape after it. The result is `None` if the step reorders the axis
    /// or depends on another axis.
    pub(crate) fn window(&self, axis: usize, x: &[usize], shape: &[usize]) -> Option<(usize, usize)> {
        let axis = match self {
            Step::Cut(cuts) => return (cuts[axis].step == 1).then_some((axis, cuts[axis].first)),
            Step::Order(moved, _) => (*moved != axis).then_some(axis),
            Step::Pad(before) => (before[axis] == 0 && x[axis] == shape[axis]).then_some(axis),
            Step::Axes(axes) => axes[axis],
            Step::Band(..) | Step::Diagonal(_) => (axis + 2 < x.len()).then_some(axis),
        };
        axis.map(|axis| (axis, 0))
    }

    /// Returns the selection that the step makes of a pattern, with the resulting `shape`.
    pub(crate) fn plan(&self, x: &AnyPattern, shape: &Shape, room: Room) -> Result<Selected> {
        let rank = x.shape().rank();
        match (self, x.lane_offsets()) {
            (Step::Cut(cuts), _) if cuts.iter().zip(&**x.shape()).all(|(cut, &length)| *cut == Cut::whole(length)) => {
                Ok(Selected::same(x.clone()))
            }
            (Step::Cut(cuts), None) => cut_coords(x, cuts, shape, room),
            (Step::Cut(cuts), Some(offsets)) => cut_lanes(x, offsets, cuts, shape, room),
            (Step::Order(axis, order), None) => order_coords(x, *axis, *order, shape, room),
            (Step::Order(axis, order), Some(offsets)) if axis + 1 == rank => {
                order_columns(x, offsets, *order, shape, room)
            }
            (Step::Order(axis, order), Some(offsets)) => order_lanes(x, offsets, *axis, *order, shape, room),
            (Step::Pad(before), None) => {
                let width = x.width_for(shape);
                let axes = (0..rank).map(|axis| shifted(&x.axis(axis)?.in_width(width)?, before[axis]));
                let coords = axes.collect::<Allocated<_>>()?;
                Ok(Selected::same(x.of_coords(shape.clone(), x.nnz(), coords, room.limit)?))
            }
            (Step::Pad(before), Some(offsets)) => pad_lanes(x, offsets, before, shape, room),
            (Step::Axes(axes), _) => other_axes(x, axes, shape, room),
            (Step::Band(least, most), _) => band(x, *least, *most),
            (Step::Diagonal(offset), _) => diagonal(x, *offset, shape, room),
        }
    }
}

/// Returns `column - row`.
fn behind(row: usize, column: usize) -> i128 {
    column as i128 - row as i128
}

/// Returns coordinates shifted by `by`; the width holds the result.
fn shifted(coords: &AxisCoords, by: usize) -> Allocated<AxisCoords> {
    if by == 0 { Ok(coords.clone()) } else { mapped(&Sources::Same, coords, |coord| coord + by) }
}

/// Returns `f` of the coordinates of selected entries, in the same width.
fn mapped(sources: &Sources, coords: &AxisCoords, f: impl Fn(usize) -> usize + Sync + Send) -> Allocated<AxisCoords> {
    by_width!(coords, own => mapped_within(sources, own, f))
}

fn mapped_within<I: Index>(
    sources: &Sources,
    coords: &Buffer<I>,
    f: impl Fn(usize) -> usize + Sync + Send,
) -> Allocated<AxisCoords> {
    let new = |coord: I| I::from_usize(f(coord.to_usize()));
    Ok(match sources {
        Sources::List(list) => threads::map(list, 1500, |entry| new(coords[entry]))?.into(),
        others => threads::map(&others.of(coords)?, 500, new)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::index::Width;
    use crate::pattern::{CooPattern, Format};

    /// Checks the coordinates of a step on the last axis, and their width, in both formats.
    #[track_caller]
    fn check(step: &Step, length: usize, expected: &[usize]) {
        let coords = vec![vec![0, 2], vec![1, u32::MAX]];
        let x = CooPattern::<u32>::new([3, 1 << 32], 2, coords).unwrap();
        let room = Room { value_bytes: 1, limit: 1 << 20 };
        for format in [Format::Coo, Format::Csr] {
            let x = x.any().in_format(format, u64::MAX).unwrap();
            let found = step.plan(&x, &Shape::from([3, length]), room).unwrap().pattern;
            assert_eq!((found.format(), found.width()), (format, Width::U64));
            assert_eq!(found.axis(1).unwrap().to_usizes().unwrap(), expected);
        }
    }

    /// An axis that becomes longer than `u32` holds needs wider coordinates.
    #[test]
    fn longer_axes_have_wider_coordinates() {
        let (length, last) = (1 << 32, u32::MAX as usize);
        check(&Step::Pad(vec![0, 7]), length + 7, &[8, last + 7]);
        check(&Step::Order(1, Order::Tile(2)), 2 * length, &[1, length + 1, last, length + last]);
        check(&Step::Order(1, Order::Each(2)), 2 * length, &[2, 3, 2 * last, 2 * last + 1]);
    }
}
