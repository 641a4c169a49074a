//! Reductions of dense arrays of any layout: the elements of each cell, one after the other.

use std::iter::{Copied, Take};

use ndarray::iter::Iter;
use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

use crate::convert::{check_ndarray_shape, dense_array};
use crate::element::Element;
use crate::error::Result;
use crate::limit::{default_limit, guard};
use crate::ops::reduce::Reduction;
use crate::shape::{Shape, step};

/// The elements that are reduced into one cell, in row-major order.
pub(crate) type Lane<'l, 'a, T> = Copied<Take<&'l mut Iter<'a, T, IxDyn>>>;

/// `finish` of the elements of each cell of the result; copies no element, whatever the layout.
pub(crate) fn reduce_lanes<T: Element, U>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    mut finish: impl FnMut(&mut Lane<'_, '_, T>) -> U,
) -> Result<ArrayD<U>> {
    let shape = reduction.result_shape();
    check_result::<U>(&shape, view.len() * size_of::<T>())?;
    let axes: Vec<usize> = reduction.kept().into_iter().chain(reduction.reduced().iter().copied()).collect();
    let lanes_last = view.permuted_axes(axes);
    let mut elements = lanes_last.iter();
    let extent = reduction.extent() as usize;
    let cells = (0..shape.checked_size().unwrap_or(0)).map(|_| {
        let mut lane = elements.by_ref().take(extent).copied();
        let result = finish(&mut lane);
        lane.for_each(drop);
        result
    });
    Ok(dense_array(&shape, cells.collect()))
}

/// `f` of the coordinates of each position of a dense array, in an array of its own.
pub(crate) fn map_positions<U>(
    shape: &Shape,
    input_bytes: usize,
    mut f: impl FnMut(&[usize]) -> U,
) -> Result<ArrayD<U>> {
    check_result::<U>(shape, input_bytes)?;
    let mut position = vec![0; shape.rank()];
    let items = (0..shape.checked_size().unwrap_or(0)).map(|_| {
        let item = f(&position);
        step(&mut position, shape);
        item
    });
    Ok(dense_array(shape, items.collect()))
}

/// Refuses a dense result that no `ndarray` can hold, or that is out of proportion to the input.
pub(crate) fn check_result<U>(shape: &Shape, input_bytes: usize) -> Result<()> {
    check_ndarray_shape(shape)?;
    guard::<U>("the dense result", shape.wide_size(), default_limit(input_bytes), "reduce a smaller array")
}

/// The bytes of the elements of an array, broadcast ones counted as often as they appear.
pub(crate) fn dense_bytes<S: Data, D: Dimension>(array: &ArrayBase<S, D>) -> usize {
    array.len().saturating_mul(size_of::<S::Elem>())
}
