//! Takes from dense arrays of any layout.

use std::borrow::Cow;

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD};

use super::Select;
use super::request::Request;
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::base::shape::{Shape, unravel};
use crate::base::threads;
use crate::convert::{check_result, copied, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::take::AxisSlices;
use crate::kernels::take_dense::{take_into, take_items};
use crate::ops::map::check_out_shape;

pub(super) fn take_dense<T: Element, J: Position>(x: ArrayViewD<'_, T>, request: &Request<'_, J>) -> Result<ArrayD<T>> {
    check_result::<T>(&request.shape, dense_bytes(&x).saturating_add(request.held_bytes()))?;
    if let (None, Some(data)) = (request.axis, x.as_slice()) {
        let items = flattened_items(data, request)?;
        let (taken, inside) = take_items(data, &items, request.take.mode)?;
        check_taken(data, request, &items, inside)?;
        return Ok(dense_array(&request.shape, taken));
    }
    let plan = request.dense_plan(&Shape::from(x.shape()))?;
    if request.shape.is_empty_space() {
        return Ok(dense_array(&request.shape, Vec::new()));
    }
    Ok(dense_array(&request.shape, gather(&x, &plan)?))
}

/// Returns the elements taken from an array.
///
/// The array is first copied in order, unless the copy has more elements than the result.
pub(super) fn gather<T: Element>(x: &ArrayViewD<'_, T>, slices: &AxisSlices) -> Allocated<Vec<T>> {
    match x.as_slice() {
        Some(items) => slices.gather(items),
        None if x.len() <= slices.len() => slices.gather(&copied(x)?),
        None => gather_scattered(x, slices),
    }
}

/// Returns the positions to take from a contiguous array, in their own type. The positions are not resolved to indices
/// first.
fn flattened_items<'a, T, J: Position>(data: &[T], request: &'a Request<'_, J>) -> Result<Cow<'a, [J]>> {
    let items = request.take.items(size_of::<J>() + size_of::<T>())?;
    request.check_size(&items, data.len() as u128)?;
    Ok(items)
}

/// Returns the error for a position that is out of range; the loop only detects that there is one.
fn check_taken<T, J: Position>(data: &[T], request: &Request<'_, J>, items: &[J], inside: bool) -> Result<()> {
    if inside { Ok(()) } else { request.check(items, data.len() as u128) }
}

pub(super) fn take_dense_into<T: Element, J: Position>(
    x: ArrayViewD<'_, T>,
    request: &Request<'_, J>,
    mut out: ArrayViewMutD<'_, T>,
) -> Result<()> {
    check_out_shape(out.shape(), &request.shape)?;
    if let (Some(data), Some(places)) = (x.as_slice(), out.as_slice_mut()) {
        let items = flattened_items(data, request)?;
        return check_taken(data, request, &items, take_into(data, &items, request.take.mode, places));
    }
    out.assign(&take_dense(x, request)?);
    Ok(())
}

/// Cost of finding one element by its coordinates, as a number of elements read in order.
const STEPS: usize = 32;

/// Returns the elements taken from an array of any layout, one by one.
pub(super) fn gather_scattered<T: Element>(x: &ArrayViewD<'_, T>, slices: &AxisSlices) -> Allocated<Vec<T>> {
    let scratch = || vec![0; x.ndim()];
    threads::map_heavy(slices.len(), slices.len().saturating_mul(STEPS), T::ZERO, scratch, |coords, taken| {
        unravel(slices.source(taken), x.shape(), coords);
        x[&coords[..]]
    })
}
