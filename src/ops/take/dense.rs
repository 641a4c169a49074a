//! Taking elements of dense arrays of any layout.

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD};

use super::Request;
use super::sparse::sum_overflow;
use crate::convert::dense_bytes;
use crate::convert::{check_ndarray_shape, dense_array};
use crate::element::Element;
use crate::error::Result;
use crate::index::Position;
use crate::kernels::take::{Slices, TakeMode, scatter_add};
use crate::kernels::take_dense::take_items;
use crate::limit::{default_limit, guard};
use crate::ops::elementwise::check_out_shape;
use crate::ops::indices::Indices;
use crate::ops::upstream::{Upstream, check_shape};
use crate::pages::{self, Granted};
use crate::parallel;
use crate::shape::{Shape, unravel};

/// The positions to be taken of a dense array of `shape` as slices: a flattened take is one along the only axis.
pub(super) fn slices<'p>(shape: &[usize], axis: Option<usize>, positions: &'p [usize]) -> Slices<'p> {
    let size = |lengths: &[usize]| lengths.iter().product();
    match axis {
        None => Slices { outer: 1, length: size(shape), inner: 1, positions },
        Some(axis) => {
            let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
            Slices { outer, length: shape[axis], inner, positions }
        }
    }
}

/// The number of positions that a request counts on a dense array.
pub(super) fn dense_length(shape: &[usize], axis: Option<usize>) -> usize {
    axis.map_or_else(|| shape.iter().product(), |axis| shape[axis])
}

pub(super) fn take_dense<T: Element, J: Position>(
    x: ArrayViewD<'_, T>,
    indices: Indices<'_, J>,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<ArrayD<T>> {
    let request = Request::new("take_axis", &Shape::from(x.shape()), indices, axis, mode)?;
    let check_room = || check_taken::<T>(&request.shape, dense_bytes(&x).saturating_add(request.indices.owned_bytes()));
    if let (None, Some(data)) = (request.axis, x.as_slice()) {
        check_room()?;
        // Not collected: rayon counts what it collects, item by item, and these loops then took up to twice as long.
        let mut taken = pages::zeros(request.indices.len())?;
        take_flattened(data, &request, &mut taken)?;
        return Ok(dense_array(&request.shape, taken));
    }
    let positions = request.positions(dense_length(x.shape(), request.axis), size_of::<T>())?;
    check_room()?;
    if request.shape.is_empty_space() {
        return Ok(dense_array(&request.shape, Vec::new()));
    }
    let items = gather(&x, &slices(x.shape(), request.axis, &positions))?;
    Ok(dense_array(&request.shape, items))
}

/// The elements taken from an array: through its items in order, unless that would copy more than is taken.
fn gather<T: Element>(x: &ArrayViewD<'_, T>, slices: &Slices<'_>) -> Granted<Vec<T>> {
    match x.as_slice() {
        Some(items) => slices.gather(items),
        None if x.len() <= slices.len() => slices.gather(&pages::collect(x.iter().copied())?),
        None => Ok(gather_scattered(x, slices)),
    }
}

/// The elements of an array in one piece: no list of positions is written between the items and them.
fn take_flattened<T: Element, J: Position>(data: &[T], request: &Request<'_, J>, places: &mut [T]) -> Result<()> {
    let items = request.indices.items(size_of::<J>() + size_of::<T>())?;
    request.check_size(&items, data.len() as u128)?;
    match take_items(data, &items, request.mode, places) {
        true => Ok(()),
        // What the loop only noticed is now looked for.
        false => request.check(&items, data.len() as u128),
    }
}

pub(super) fn take_dense_into<T: Element, J: Position>(
    x: ArrayViewD<'_, T>,
    indices: Indices<'_, J>,
    mode: TakeMode,
    mut out: ArrayViewMutD<'_, T>,
) -> Result<()> {
    let request = Request::new("take_into", &Shape::from(x.shape()), indices, None, mode)?;
    check_out_shape(out.shape(), &request.shape)?;
    if let (Some(data), Some(places)) = (x.as_slice(), out.as_slice_mut()) {
        return take_flattened(data, &request, places);
    }
    out.assign(&take_dense(x, request.indices, None, mode)?);
    Ok(())
}

/// The elements taken from an array of any layout, one by one.
pub(super) fn gather_scattered<T: Element>(x: &ArrayViewD<'_, T>, slices: &Slices<'_>) -> Vec<T> {
    let scratch = || vec![0; x.ndim()];
    parallel::filter_map_range(slices.len(), scratch, |coords, taken| {
        unravel(slices.source(taken), x.shape(), coords);
        Some(x[&coords[..]])
    })
}

/// Refuses a dense result that no `ndarray` can hold, or that is out of proportion to the input.
pub(super) fn check_taken<T>(shape: &Shape, input_bytes: usize) -> Result<()> {
    check_ndarray_shape(shape)?;
    guard::<T>("the dense result", shape.wide_size(), default_limit(input_bytes), "take fewer at a time")
}

pub(super) fn take_backward_dense<J: Position, U: Upstream>(
    shape: &Shape,
    x_bytes: usize,
    indices: Indices<'_, J>,
    upstream: &U,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<ArrayD<U::Elem>> {
    let request = Request::new("take_axis_backward", shape, indices, axis, mode)?;
    check_shape(upstream, &request.shape)?;
    let positions = request.positions(dense_length(shape, request.axis), 0)?;
    check_taken::<U::Elem>(shape, x_bytes)?;
    check_taken::<U::Elem>(&request.shape, x_bytes.saturating_add(request.indices.owned_bytes()))?;
    let slices = slices(shape, request.axis, &positions);
    let contributions = slices.sources().zip(upstream.in_order());
    let sums = scatter_add(shape.checked_size().unwrap_or(0), contributions).map_err(|position| {
        let mut coords = vec![0; shape.rank()];
        unravel(position, shape, &mut coords);
        sum_overflow::<U::Elem>(coords)
    })?;
    Ok(dense_array(shape, sums))
}
