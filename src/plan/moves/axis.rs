//! The parts of steps that concern one axis, and the memory limits of steps.

use std::ops::Range;

use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::gather::StepPositions;
use crate::pattern::{AxisCoords, by_width};
use crate::plan::selection::Sources;

/// The `length` positions `first, first + step, …` of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRange {
    /// The first position.
    pub first: usize,
    /// The distance between two positions.
    pub step: usize,
    /// The number of positions.
    pub length: usize,
}

impl StepRange {
    /// Returns a cut; with fewer than two positions the step is 1.
    pub(crate) fn new(first: usize, step: usize, length: usize) -> Self {
        StepRange { first, step: if length < 2 { 1 } else { step }, length }
    }

    /// Returns the cut that selects an entire axis.
    pub(crate) fn whole(length: usize) -> Self {
        StepRange::new(0, 1, length)
    }

    /// Returns the position after the last one.
    pub(super) fn end(&self) -> usize {
        self.first + self.length.saturating_sub(1) * self.step + usize::from(self.length > 0)
    }

    pub(super) fn steps(&self) -> StepPositions {
        StepPositions::new(self.first, self.end(), self.step)
    }

    /// Returns the range of increasing coordinates between the first and the last position.
    pub(super) fn range_in<I: Index>(&self, coords: &[I]) -> Range<usize> {
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
pub enum AxisOrder {
    /// Reverses the positions.
    Reverse,
    /// Rotates the positions by this number; positions at the end move to the start.
    Rotate(usize),
    /// Repeats all positions together this number of times.
    Tile(usize),
    /// Repeats each position this number of times.
    Each(usize),
}

impl AxisOrder {
    /// Returns how often each position occurs in the result.
    pub(super) fn times(self) -> usize {
        match self {
            AxisOrder::Reverse | AxisOrder::Rotate(_) => 1,
            AxisOrder::Tile(times) | AxisOrder::Each(times) => times,
        }
    }

    /// Returns the position, among `length` positions, that is at `at` in the result.
    pub(super) fn source(self, at: usize, length: usize) -> usize {
        match self {
            AxisOrder::Reverse => length - 1 - at,
            AxisOrder::Rotate(places) => {
                if at < places {
                    at + length - places
                } else {
                    at - places
                }
            }
            AxisOrder::Tile(_) => at % length,
            AxisOrder::Each(times) => at / times,
        }
    }
}

/// The memory limits of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepLimits {
    /// The bytes per value of the result.
    pub(crate) value_bytes: usize,
    /// The maximum bytes of the result and its working lists.
    pub(crate) limit: u64,
}

impl StepLimits {
    /// Returns `count * times`, the number of entries, or an error if their memory exceeds the limit.
    ///
    /// Each entry needs coordinates, a value and an index in a list.
    pub(super) fn admit(&self, count: usize, times: usize, index_bytes: usize) -> Result<usize> {
        let entries = count as u128 * times as u128;
        let bytes = entries.saturating_mul((index_bytes + self.value_bytes + size_of::<usize>()) as u128);
        match bytes <= u128::from(self.limit) {
            true => Ok(entries as usize),
            false => {
                let instead = "compute before repeating the tensor";
                Err(Error::TooLarge { what: "the repeated entries", bytes, limit: self.limit, instead })
            }
        }
    }
}

/// Returns `column - row`.
pub(super) fn diagonal_offset(row: usize, column: usize) -> i128 {
    column as i128 - row as i128
}

/// Returns coordinates shifted by `by`. The results must fit in the width.
pub(super) fn shifted(coords: &AxisCoords, by: usize) -> Allocated<AxisCoords> {
    if by == 0 { Ok(coords.clone()) } else { mapped(&Sources::Same, coords, |coord| coord + by) }
}

/// Returns `f` of the coordinates of selected entries, in the same width.
pub(super) fn mapped(
    sources: &Sources,
    coords: &AxisCoords,
    f: impl Fn(usize) -> usize + Sync + Send,
) -> Allocated<AxisCoords> {
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
