//! Moves of entries along the axes, step by step: what is cut out, turned round, repeated, padded, and other axes.
//!
//! A step knows the shapes before and after it, where a position of its result comes from (which is its definition, and
//! all that arrays need), and how it changes a pattern: with the coordinates of all entries, or by whole lanes.

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
use crate::plan::selected::{Selected, Sources};

pub(crate) use axes::settled;
use axes::{band, diagonal, other_axes, pad_lanes};
use cut::{cut_coords, cut_lanes};
use order::{order_columns, order_coords, order_lanes};

/// The positions `first, first + step, …` of an axis, `length` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) length: usize,
}

impl Cut {
    /// A step that no second position takes is 1.
    pub(crate) fn new(first: usize, step: usize, length: usize) -> Self {
        Cut { first, step: if length < 2 { 1 } else { step }, length }
    }

    /// All of an axis.
    pub(crate) fn whole(length: usize) -> Self {
        Cut::new(0, 1, length)
    }

    /// One more than the last position.
    fn end(&self) -> usize {
        self.first + self.length.saturating_sub(1) * self.step + usize::from(self.length > 0)
    }

    fn steps(&self) -> Steps {
        Steps::new(self.first, self.end(), self.step)
    }

    /// The range of those of increasing coordinates that lie between the first position and the last one.
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

/// What becomes of the positions of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// The last one comes first.
    Reverse,
    /// Each goes so many places on, and those at the end come in at the start.
    Rotate(usize),
    /// All of them, so many times.
    Tile(usize),
    /// Each of them, so many times.
    Each(usize),
}

impl Order {
    /// How often a position stands in the result.
    fn times(self) -> usize {
        match self {
            Order::Reverse | Order::Rotate(_) => 1,
            Order::Tile(times) | Order::Each(times) => times,
        }
    }

    /// Which of `length` positions stands at place `at` of the result.
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

/// A step of a move.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Of each axis some positions.
    Cut(Vec<Cut>),
    /// The positions of one axis in another order, or repeated.
    Order(usize, Order),
    /// So many positions before those of each axis, which hold the fill; the shape tells how many come behind.
    Pad(Vec<usize>),
    /// The axes that are there, each one of those before or a new one of length 1. One that is left out has length 1.
    Axes(Vec<Option<usize>>),
    /// Of the last two axes the positions whose column is so many behind their row, from the least to the most; zero
    /// elsewhere.
    Band(i128, i128),
    /// The positions whose column is so many behind their row, as the last axis.
    Diagonal(i128),
}

/// What a step may need.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The bytes of a value of the result.
    pub(crate) value_bytes: usize,
    /// The most bytes of the result and of the lists beside it.
    pub(crate) limit: u64,
}

impl Room {
    /// Refuses `count` entries times `times` above the limit, each with so many bytes of coordinates, a value, and a
    /// number in a list.
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
    /// Where a position of the result stands before the step, in a tensor of shape `x`; false where it holds no
    /// position, but the fill.
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

    /// The axis of `x`, the shape before the step, whose positions from one on are those of an axis of `shape`, the one
    /// behind it, and that first one; none where they are moved, or lean on another axis.
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

    /// What a pattern becomes, whose shape is then `shape`.
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

/// How many positions a column is behind a row.
fn behind(row: usize, column: usize) -> i128 {
    column as i128 - row as i128
}

/// Coordinates so many positions further on, which their width holds.
fn shifted(coords: &AxisCoords, by: usize) -> Allocated<AxisCoords> {
    if by == 0 { Ok(coords.clone()) } else { mapped(&Sources::Same, coords, |coord| coord + by) }
}

/// `f` of the coordinates of the entries of a result, in the width of these.
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

    /// The coordinates on the last axis that a step gives entries in both formats, and their width.
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

    /// `u32` coordinates were cut off where an axis gets longer than they hold.
    #[test]
    fn longer_axes_have_wider_coordinates() {
        let (length, last) = (1 << 32, u32::MAX as usize);
        check(&Step::Pad(vec![0, 7]), length + 7, &[8, last + 7]);
        check(&Step::Order(1, Order::Tile(2)), 2 * length, &[1, length + 1, last, length + last]);
        check(&Step::Order(1, Order::Each(2)), 2 * length, &[2, 3, 2 * last, 2 * last + 1]);
    }
}
