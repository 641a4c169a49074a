//! Checked conversion of coordinates and offsets of other libraries.

use num_traits::ToPrimitive;

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Index;

/// Converts integers of another library to the coordinates of one axis, and checks each of them. The length of the axis
/// must fit in `I`.
pub(super) fn foreign_coords<J: Copy + ToPrimitive, I: Index>(
    coords: &[J],
    axis: usize,
    length: usize,
) -> Result<Vec<I>> {
    let coord = |(entry, coord): (usize, &J)| match coord.to_usize().filter(|&coord| coord < length) {
        Some(coord) => Ok(I::from_usize(coord)),
        None => Err(match coord.to_i64() {
            Some(index) if index < 0 => Error::NegativeIndex { index, axis, entry },
            _ => {
                Error::IndexOutOfBounds { index: coord.to_u64().unwrap_or(u64::MAX), axis, length, entry: Some(entry) }
            }
        }),
    };
    alloc::try_collect(coords.iter().enumerate().map(coord))
}

/// Converts an integer of another library to an offset; a value too large for `usize` is too large for any array.
pub(super) fn foreign_offset<J: ToPrimitive>(offset: J, at: usize) -> Result<usize> {
    match offset.to_i64() {
        Some(offset) if offset < 0 => Err(Error::NegativeOffset { offset, at }),
        _ => Ok(offset.to_usize().unwrap_or(usize::MAX)),
    }
}
