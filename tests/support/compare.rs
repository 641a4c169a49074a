//! Tensors of reference arrays, and comparisons with them, bit for bit. The fuzz targets use this file as well.

use std::collections::BTreeSet;

use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, Element, Index, Pattern, Tensor};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Slice};

use crate::reference::dense::{Dense, Sparse, first_difference, unravel};
use crate::reference::scalar::Scalar;

/// A type that both the library and the reference know.
pub trait Both: Element + Scalar {}
impl<T: Element + Scalar> Both for T {}

/// The coordinate tensor of a generated sparse array.
pub fn coo_as<T: Both, I: Index>(x: &Sparse<T>) -> CooTensor<T, I> {
    let rank = x.shape.len();
    let coords = (0..rank).map(|axis| x.entries.keys().map(|at| I::from_usize(at[axis])).collect()).collect();
    let pattern = CooPattern::new(x.shape.clone(), x.entries.len(), coords).unwrap();
    Tensor::from_parts(pattern, x.entries.values().copied().collect(), x.fill).unwrap()
}

/// The coordinate tensor of a generated sparse array, with the default index type.
pub fn coo<T: Both>(x: &Sparse<T>) -> CooTensor<T> {
    coo_as(x)
}

/// The compressed tensor of a generated sparse array; built from its parts, not by a conversion of the library.
pub fn csr_as<T: Both, I: Index>(x: &Sparse<T>) -> CsrTensor<T, I> {
    let (offsets, columns, values) = crate::reference::structure::csr_parts(x);
    let columns = columns.into_iter().map(I::from_usize).collect();
    Tensor::from_parts(CsrPattern::new(x.shape.clone(), offsets, columns).unwrap(), values, x.fill).unwrap()
}

/// The compressed tensor of a generated sparse array, with the default index type.
pub fn csr<T: Both>(x: &Sparse<T>) -> CsrTensor<T> {
    csr_as(x)
}

/// A reference array as an `ndarray`, row-major.
pub fn array<T: Scalar>(x: &Dense<T>) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(&x.shape), x.data.clone()).unwrap()
}

/// An `ndarray` as a reference array.
pub fn dense_of<T: Scalar>(x: &ArrayViewD<'_, T>) -> Dense<T> {
    Dense::new(x.shape(), x.iter().copied().collect())
}

/// Calls `check` with views of `x` in every layout: row-major, Fortran, reversed, strided.
pub fn for_each_layout<T: Scalar>(x: &Dense<T>, mut check: impl FnMut(&str, ArrayViewD<'_, T>)) {
    let plain = array(x);
    check("row-major", plain.view());

    let mut fortran = plain.t().as_standard_layout().into_owned();
    fortran = fortran.reversed_axes();
    check("Fortran", fortran.view());

    let mut reversed = plain.clone();
    reverse_axes(&mut reversed);
    let mut view = reversed.view();
    (0..view.ndim()).for_each(|axis| view.invert_axis(Axis(axis)));
    check("reversed", view);

    let mut strided = spread(&x.shape, T::one());
    strided_view(&mut strided).assign(&plain);
    let view = strided_view(&mut strided);
    check("strided", view.view());
}

/// Calls `check` with arrays of `shape` to be filled, in every layout: row-major, Fortran, strided.
pub fn for_each_out<T: Scalar>(shape: &[usize], mut check: impl FnMut(&mut ArrayViewMutD<'_, T>)) {
    check(&mut ArrayD::from_elem(IxDyn(shape), T::one()).view_mut());
    check(&mut ArrayD::from_elem(IxDyn(shape).f(), T::one()).view_mut());
    check(&mut strided_view(&mut spread(shape, T::one())));
}

/// An array in which one of `shape` has a gap after each element and before each lane of each axis, but no more than
/// that: of five axes, two of each for one would make it 32 times as large.
fn spread<T: Scalar>(shape: &[usize], between: T) -> ArrayD<T> {
    let mut lengths: Vec<usize> = shape.iter().map(|length| length + 1).collect();
    if let (Some(length), Some(last)) = (lengths.last_mut(), shape.last()) {
        *length = 2 * last + 1;
    }
    ArrayD::from_elem(IxDyn(&lengths), between)
}

/// Returns a view of the elements between the gaps.
fn strided_view<T: Scalar>(spread: &mut ArrayD<T>) -> ArrayViewMutD<'_, T> {
    let mut view = spread.view_mut();
    for axis in 0..view.ndim() {
        let step = if axis + 1 == view.ndim() { 2 } else { 1 };
        view.slice_axis_inplace(Axis(axis), Slice::new(1, None, step));
    }
    view
}

/// Turns the order of the elements of every axis around.
fn reverse_axes<T: Scalar>(x: &mut ArrayD<T>) {
    let mut view = x.view();
    (0..view.ndim()).for_each(|axis| view.invert_axis(Axis(axis)));
    *x = view.as_standard_layout().into_owned();
}

/// Demands that an array is the expected one, bit for bit.
#[track_caller]
pub fn assert_array<T: Scalar>(found: &ArrayD<T>, expected: &Dense<T>) {
    if let Some(difference) = first_difference(&dense_of(&found.view()), expected) {
        panic!("found is not expected: {difference}");
    }
}

/// The coordinates that a tensor stores.
pub fn stored_coords<P: Pattern, T: Both>(x: &Tensor<P, T>) -> BTreeSet<Vec<usize>> {
    x.entries().into_iter().map(|(coords, _)| coords).collect()
}

/// Demands that a tensor is the expected array bit for bit, and stores exactly the expected positions.
#[track_caller]
pub fn assert_tensor<P: Pattern, T: Both>(found: &Tensor<P, T>, expected: &Dense<T>, stored: &BTreeSet<Vec<usize>>) {
    assert_array(&found.to_dense().unwrap(), expected);
    assert_eq!(&stored_coords(found), stored, "the stored positions differ");
}

/// The array, where a zero at a position that is not stored has no sign, as what is computed there has none.
pub fn implicit<T: Both>(x: &Dense<T>, stored: &BTreeSet<Vec<usize>>) -> Dense<T> {
    let is_stored = |at: usize| stored.contains(&unravel(at as u128, &x.shape));
    let of = |(at, &value): (usize, &T)| if is_stored(at) { value } else { Element::as_implicit(value) };
    Dense::new(&x.shape, x.data.iter().enumerate().map(of).collect())
}

/// [`assert_tensor`] of a tensor whose fill is computed.
#[track_caller]
pub fn assert_computed<P: Pattern, T: Both>(found: &Tensor<P, T>, expected: &Dense<T>, stored: &BTreeSet<Vec<usize>>) {
    assert_tensor(found, &implicit(expected, stored), stored);
}

/// Demands that a tensor stores exactly what the reference does, value for value, with the same fill.
#[track_caller]
pub fn assert_entries<P: Pattern, T: Both>(found: &Tensor<P, T>, expected: &Sparse<T>) {
    assert_eq!(**found.shape(), *expected.shape);
    assert!(found.fill().bits_equal(expected.fill), "fill {:?} is not {:?}", found.fill(), expected.fill);
    assert_eq!(stored_coords(found), expected.coords(), "the stored positions differ");
    for ((coords, value), wanted) in found.entries().iter().zip(expected.entries.values()) {
        assert!(value.bits_equal(*wanted), "{value:?} is not {wanted:?} at {coords:?}");
    }
}
