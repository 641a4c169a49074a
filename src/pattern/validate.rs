//! Validation of both formats in one branch-free pass. Only if the validation fails, the invalid entry is searched.

use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width, check_axes};
use crate::base::shape::Shape;
use crate::kernels::coords::of_width;
use crate::kernels::sort;

/// Rejects an array whose length is not `expected`.
pub(crate) fn length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::LengthMismatch { what, expected, found }) }
}

/// Rejects a shape with an axis that is too long for a width.
pub(crate) fn fits(shape: &Shape, width: Width) -> Result<()> {
    of_width!(width, I => check_axes::<I>(shape))
}

/// Rejects a coordinate of `axis` that is not below `length`.
pub(crate) fn in_bounds<I: Index>(coords: &[I], axis: usize, length: usize) -> Result<()> {
    let outside = |coord: &I| coord.to_usize() >= length;
    if !coords.iter().fold(false, |any, coord| any | outside(coord)) {
        return Ok(());
    }
    let entry = coords.iter().position(outside).unwrap_or(0);
    Err(Error::IndexOutOfBounds { index: coords[entry].to_usize() as u64, axis, length, entry: Some(entry) })
}

/// Rejects entries that do not increase strictly in row-major order.
pub(crate) fn increasing<I: Index, A: AsRef<[I]> + Sync>(coords: &[A], count: usize) -> Result<()> {
    let at = |entry: usize| coords.iter().map(|axis| axis.as_ref()[entry].to_usize()).collect();
    match sort::first_not_increasing(coords, count) {
        None => Ok(()),
        Some(entry) => Err(Error::NotSorted { entry, coords: at(entry), previous: at(entry - 1) }),
    }
}

/// Rejects offsets that do not increase from 0 to `nnz`. This check precedes all slicing of lanes.
pub(crate) fn offsets(offsets: &[usize], nnz: usize) -> Result<()> {
    if offsets[0] != 0 {
        return Err(Error::OffsetsStart { found: offsets[0] });
    }
    if let Some(lane) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(Error::OffsetsDecrease { lane, start: offsets[lane], end: offsets[lane + 1] });
    }
    match offsets[offsets.len() - 1] {
        last if last == nnz => Ok(()),
        found => Err(Error::OffsetsEnd { expected: nnz, found }),
    }
}

/// Rejects columns that do not increase strictly within each lane.
pub(crate) fn lanes_increase<I: Index>(shape: &Shape, offsets: &[usize], columns: &[I]) -> Result<()> {
    for (lane, pair) in offsets.windows(2).enumerate() {
        let columns = &columns[pair[0]..pair[1]];
        if let Some(step) = columns.windows(2).position(|pair| pair[0] >= pair[1]) {
            let at = |column: I| {
                let mut coords = vec![0; shape.rank()];
                crate::base::shape::unravel(lane, shape.lane_axes(), &mut coords);
                if let Some(last) = coords.last_mut() {
                    *last = column.to_usize();
                }
                coords
            };
            let entry = pair[0] + step + 1;
            return Err(Error::NotSorted { entry, coords: at(columns[step + 1]), previous: at(columns[step]) });
        }
    }
    Ok(())
}
