//! Reductions of dense arrays of any layout: the elements of each cell, one after the other.

use std::iter::{Copied, Take};

use ndarray::iter::Iter;
use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn};

use crate::convert::{check_ndarray_shape, dense_array, dense_bytes};
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
    check_result::<U>(&shape, dense_bytes(&view))?;
    let lanes_last = view.permuted_axes(lane_order(reduction));
    let mut elements = lanes_last.iter();
    let extent = reduction.extent() as usize;
    let count = shape.checked_size().unwrap_or(0);
    let cells = (1..=count).map(|cell| {
        let mut lane = elements.by_ref().take(extent).copied();
        let result = finish(&mut lane);
        if cell < count {
            lane.for_each(drop);
        }
        result
    });
    Ok(dense_array(&shape, cells.collect()))
}

/// The axes of an array in the order that puts the elements of each cell side by side.
fn lane_order(reduction: &Reduction) -> Vec<usize> {
    reduction.kept().into_iter().chain(reduction.reduced().iter().copied()).collect()
}

/// An array of the shape of `view`, whose elements are what `f` gives for each lane: a function of the number of an
/// element within the lane, and of its value. `f` sees the cell and the elements of the lane.
pub(crate) fn map_lanes<T: Element, G: Element, F: Fn(usize, T) -> G>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    mut f: impl FnMut(&[usize], &[T]) -> F,
) -> Result<ArrayD<G>> {
    check_result::<G>(&Shape::from(view.shape()), dense_bytes(&view))?;
    let mut mapped = ArrayD::from_elem(view.raw_dim(), G::ZERO);
    let lanes_last = view.permuted_axes(lane_order(reduction));
    let mut mapped_lanes_last = mapped.view_mut().permuted_axes(lane_order(reduction));
    let (mut elements, mut items) = (lanes_last.iter(), mapped_lanes_last.iter_mut());
    let (shape, extent) = (reduction.result_shape(), reduction.extent() as usize);
    let (mut cell, mut lane) = (vec![0; shape.rank()], Vec::new());
    for _ in 0..shape.checked_size().unwrap_or(0) {
        lane.clear();
        lane.extend(elements.by_ref().take(extent).copied());
        let item_of = f(&cell, &lane);
        for (within, (item, &value)) in items.by_ref().take(extent).zip(&lane).enumerate() {
            *item = item_of(within, value);
        }
        step(&mut cell, &shape);
    }
    Ok(mapped)
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

/// Refuses lanes that are too long to be copied one at a time, as those of a broadcast view can be.
pub(crate) fn check_lane<S: Data, D: Dimension>(array: &ArrayBase<S, D>, reduction: &Reduction) -> Result<()> {
    let longest = if array.is_empty() { 0 } else { reduction.extent() };
    let instead = "reduce fewer axes, or the array that was broadcast";
    guard::<S::Elem>("the copy of one group", longest.into(), default_limit(dense_bytes(array)), instead)
}
