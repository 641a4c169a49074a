//! The dense factors of a product, as consecutive rows.

use std::borrow::Cow;

use ndarray::ArrayViewD;

use crate::base::alloc::Allocated;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::convert::copied;
use crate::element::Element;
use crate::kernels::dots::{DenseRows, NoDot};
use crate::pattern::AnyPattern;

/// Rows along the last axis of an array; each entry of a pattern refers to one row.
pub(super) struct Matrix<'a, T: Clone> {
    items: Cow<'a, [T]>,
    width: usize,
    /// The axes of the pattern that determine a row, and their lengths in the array.
    axes: Vec<usize>,
    lengths: Vec<usize>,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Returns the rows of an array. Its axes before the last one are the trailing `axes` of a pattern; all but the
    /// last of these may broadcast.
    pub(super) fn new(what: &'static str, array: &ArrayViewD<'a, T>, shape: &Shape, axes: &[usize]) -> Result<Self> {
        let (axes, lengths) = own_axes(what, array.shape(), shape, axes)?.into_iter().unzip();
        Ok(Matrix { items: in_order(array)?, width: width(array.shape()), axes, lengths })
    }

    /// Returns the length of a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        self.lengths.iter().product()
    }

    pub(super) fn rows(&self) -> DenseRows<'_, T> {
        DenseRows { items: &self.items, width: self.width }
    }

    /// Writes the row of each entry from `start` on.
    pub(super) fn number(&self, pattern: &AnyPattern, start: usize, numbers: &mut [usize]) {
        pattern.number_within(&self.axes, &self.lengths, start, numbers);
    }

    /// Returns whether the entries of a pattern read the rows in order.
    pub(super) fn is_in_order(&self) -> bool {
        self.axes.iter().enumerate().all(|(at, &axis)| at == axis)
    }
}

/// Returns the length of a row of an array with these lengths.
pub(super) fn width(lengths: &[usize]) -> usize {
    lengths.last().copied().unwrap_or(1)
}

/// Returns the `axes` of a pattern along which an array with these lengths does not broadcast, and their lengths.
pub(super) fn own_axes(
    what: &'static str,
    lengths: &[usize],
    shape: &Shape,
    axes: &[usize],
) -> Result<Vec<(usize, usize)>> {
    let wrong = || {
        let expected = axes.iter().map(|&axis| shape[axis]).chain([width(lengths)]).collect();
        Err(Error::ShapeMismatch { what, expected, found: lengths.into() })
    };
    let Some(left_out) = (axes.len() + 1).checked_sub(lengths.len()).filter(|_| lengths.len() > 1) else {
        return wrong();
    };
    let mut own = Vec::new();
    for (&axis, &length) in axes[left_out..].iter().zip(lengths) {
        let is_row = Some(&axis) == axes.last();
        if length == shape[axis] {
            own.push((axis, length));
        } else if length != 1 || is_row {
            return wrong();
        }
    }
    Ok(own)
}

/// Returns the elements of an array in row-major order.
pub(super) fn in_order<'a, T: Element>(array: &ArrayViewD<'a, T>) -> Allocated<Cow<'a, [T]>> {
    match array.to_slice() {
        Some(items) => Ok(Cow::Borrowed(items)),
        None => copied(array).map(Cow::Owned),
    }
}

/// Returns the error of a product that does not fit its type; `coords` locates the product.
pub(super) fn rejection<T: Element>(
    operation: &'static str,
    error: NoDot,
    coords: impl Fn(usize) -> Option<Vec<usize>>,
) -> Error {
    match error {
        NoDot::Memory(rejection) => rejection.into(),
        NoDot::Overflow(at) => Error::Overflow { operation, coords: coords(at), dtype: T::DTYPE.name() },
    }
}
