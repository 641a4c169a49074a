//! The driver of zips of two arrays, of any layout.

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};

use super::{broadcast_shape, rejection};
use crate::base::error::Result;
use crate::base::shape::{Shape, unravel};
use crate::convert::{check_result, dense_bytes, elements_of};
use crate::element::Element;
use crate::kernels::zip::{FailedElement, Zip, ZipOperand, zip_sides};

/// Combines two arrays whose shapes can be broadcast.
pub(in crate::ops) fn pair<A: Element, B: Element, Z: Zip<A, B>>(
    x: ArrayViewD<'_, A>,
    y: ArrayViewD<'_, B>,
    op: Z,
) -> Result<ArrayD<Z::Out>> {
    let shape = broadcast_shape(x.shape(), y.shape())?;
    check_result::<Z::Out>(&shape, dense_bytes(&x).saturating_add(dense_bytes(&y)))?;
    let in_shape = "the shape is that of both";
    let (x, y) = (x.broadcast(IxDyn(&shape)).expect(in_shape), y.broadcast(IxDyn(&shape)).expect(in_shape));
    let columns_first = is_columns_first(&x) && is_columns_first(&y) && !(x.is_standard_layout());
    let (x, y) = if columns_first { (x.reversed_axes(), y.reversed_axes()) } else { (x, y) };
    let values = zip_sides(op, &side(&x)?, &side(&y)?, x.len()).map_err(|failed: FailedElement| {
        rejection(op.name(), failed.fault, Some(place(&shape, failed.at, columns_first)))
    })?;
    let array = ArrayD::from_shape_vec(IxDyn(&shape).set_f(columns_first), values);
    Ok(array.expect("one result for each position"))
}

/// Returns whether the elements are in column-major order, or are one repeated element.
fn is_columns_first<T>(x: &ArrayViewD<'_, T>) -> bool {
    is_one(x) || x.view().reversed_axes().is_standard_layout()
}

/// Returns whether all elements are one repeated element.
fn is_one<T>(x: &ArrayViewD<'_, T>) -> bool {
    x.shape().iter().zip(x.strides()).all(|(&length, &stride)| length == 1 || stride == 0) && !x.is_empty()
}

/// Returns the elements in order; gathers them if they are stored in another order.
fn side<'a, T: Element>(x: &'a ArrayViewD<'_, T>) -> Result<ZipOperand<'a, T>> {
    if let (true, Some(&one)) = (is_one(x), x.first()) {
        return Ok(ZipOperand::One(one));
    }
    Ok(ZipOperand::Values(elements_of(x)?))
}

/// Returns the coordinates of the element at the flat index `at`.
fn place(shape: &Shape, at: usize, columns_first: bool) -> Vec<usize> {
    let mut lengths = shape.to_vec();
    let mut coords = vec![0; lengths.len()];
    if columns_first {
        lengths.reverse();
    }
    unravel(at, &lengths, &mut coords);
    if columns_first {
        coords.reverse();
    }
    coords
}
