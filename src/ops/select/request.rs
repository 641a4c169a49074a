//! The checked arguments of a take: the positions, the axis, and the shape of the result.

use super::indices::Take;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::kernels::take::{AxisSlices, TakeMode, first_outside, positions};

/// The descriptor of `take` and `take_axis`: the index array, the axis (`None` for flattened positions), and the shape
/// of the result.
pub(crate) struct Request<'a, J> {
    pub(super) take: Take<'a, J>,
    pub(super) axis: Option<usize>,
    pub(super) shape: Shape,
}

impl<'a, J: Position> Request<'a, J> {
    pub(crate) fn new(x: &[usize], take: Take<'a, J>, axis: Option<i128>) -> Result<Self> {
        let axis = axis.map(|axis| normalize_axis(axis, x.len())).transpose()?;
        let size = axis.map_or_else(|| Shape::from(x).wide_size(), |axis| x[axis] as u128);
        if let Some(found) = take.mask_length().filter(|&length| length as u128 != size) {
            let expected = size.try_into().unwrap_or(usize::MAX);
            return Err(Error::LengthMismatch { what: "the mask", expected, found });
        }
        let shape = match axis {
            None => take.shape().clone(),
            Some(axis) => [&x[..axis], take.shape(), &x[axis + 1..]].concat().into(),
        };
        Ok(Request { take, axis, shape })
    }

    /// Rejects items that do not name one of `size` elements; `u128::MAX` means more than any item can name.
    pub(super) fn check(&self, items: &[J], size: u128) -> Result<()> {
        self.check_size(items, size)?;
        let outsider = if self.take.mode == TakeMode::Raise { first_outside(items, size) } else { None };
        outsider.map_or(Ok(()), |at| Err(Error::PositionOutOfRange { position: items[at].to_i128(), size, at }))
    }

    /// Rejects a take of elements from an empty tensor.
    pub(super) fn check_size(&self, items: &[J], size: u128) -> Result<()> {
        if size == 0 && !items.is_empty() { Err(Error::TakeFromEmpty { count: items.len() }) } else { Ok(()) }
    }

    /// Returns the positions that the items name among `length` elements; the caller needs `item_bytes` more per item.
    pub(crate) fn positions(&self, length: usize, item_bytes: usize) -> Result<Vec<usize>> {
        if let Some(positions) = self.take.of_mask()? {
            return Ok(positions);
        }
        let items = self.take.items(size_of::<J>() + size_of::<usize>() + item_bytes)?;
        self.check(&items, length as u128)?;
        Ok(positions(&items, length, self.take.mode)?)
    }
}

/// Returns the positions to take from a dense array of `shape` as slices. A flattened take is a take along the only
/// axis.
fn slices(shape: &[usize], axis: Option<usize>, positions: Vec<usize>) -> AxisSlices {
    let size = |lengths: &[usize]| lengths.iter().product();
    match axis {
        None => AxisSlices { outer: 1, length: size(shape), inner: 1, positions },
        Some(axis) => {
            let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
            AxisSlices { outer, length: shape[axis], inner, positions }
        }
    }
}

impl<J: Position> Request<'_, J> {
    /// Returns the sources of the elements in the result for an array.
    pub(super) fn dense_plan(&self, x: &Shape) -> Result<AxisSlices> {
        let length = self.axis.map_or_else(|| x.iter().product(), |axis| x[axis]);
        Ok(slices(x, self.axis, self.positions(length, 0)?))
    }
}
