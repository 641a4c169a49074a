//! Products of an operand of any rank with dense matrices and vectors along its axes.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayD, ArrayView2, ArrayViewD, Axis, Data, Dimension, Ix1, Ix2, IxDyn};

use super::contracted::{AxisFactor, Contracted};
use super::matrix::in_order;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::{Element, Float, Ring};
use crate::ops::broadcast::gradient_of;
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;

/// Returns the factor of each axis except `mode`, as rows, and the common length of the rows.
fn factors_of<'a, T: Element>(
    lengths: &[usize],
    mode: usize,
    factors: &[ArrayViewD<'a, T>],
) -> Result<(Vec<AxisFactor<'a, T>>, usize)> {
    if lengths.len() < 2 || factors.len() + 1 != lengths.len() {
        let why = format!(
            "an operand of rank {} requires one factor for each other axis; found {} factors",
            lengths.len(),
            factors.len()
        );
        return Err(Error::Argument { operation: op::mttkrp.name, why });
    }
    let width = factors[0].shape().last().copied().unwrap_or(0);
    let axes = (0..lengths.len()).filter(|&axis| axis != mode);
    let along = axes.zip(factors).map(|(axis, factor)| {
        let (expected, found) = (Shape::from([lengths[axis], width]), Shape::from(factor.shape()));
        if expected != found {
            return Err(Error::ShapeMismatch { what: "a factor", expected, found });
        }
        Ok(AxisFactor { axes: vec![axis], items: in_order(factor)? })
    });
    Ok((along.collect::<Result<_>>()?, width))
}

fn views<'a, T, S: Data<Elem = T>, D: Dimension>(factors: &[&'a ArrayBase<S, D>]) -> Vec<ArrayViewD<'a, T>> {
    factors.iter().map(|factor| factor.view().into_dyn()).collect()
}

/// Computes the product; one of the factors may be an upstream gradient.
fn forward<X: Operand<Elem: Ring>>(
    x: &X,
    mode: usize,
    factors: &[ArrayViewD<'_, X::Elem>],
    upstream: Option<usize>,
) -> Result<ArrayD<X::Elem>> {
    let (along, width) = factors_of(x.lengths(), mode, factors)?;
    let shape = Shape::from([x.lengths()[mode], width]);
    check_result::<X::Elem>(&shape, held(x, factors))?;
    let operand = x.erased();
    let listed = operand.listed()?;
    let has_zeros = listed.has_zeros(op::mttkrp.name)?;
    let contracted = Contracted { operation: op::mttkrp.name, x: &listed, has_zeros, width, upstream };
    Ok(dense_array(&shape, contracted.sums(&along, &[mode])?))
}

fn held<X: Operand>(x: &X, factors: &[ArrayViewD<'_, X::Elem>]) -> usize {
    factors.iter().fold(x.erased().held_bytes(), |bytes, factor| bytes.saturating_add(dense_bytes(factor)))
}

/// Returns the product of an unfolded tensor and a Khatri-Rao product of matrices.
///
/// The operand is unfolded along one axis. There is one matrix per other axis. The function computes the main step of
/// CP decompositions, in one pass over the stored entries.
///
/// *z*<sub>ir</sub> = Σ<sub>jk…</sub> ((*x*<sub>ijk…</sub> · *b*<sub>jr</sub>) · *c*<sub>kr</sub>) …
///
/// The factors are multiplied in the order of their axes, and the terms are added in row-major order from +0.0. Each
/// multiplication and each addition is rounded, without fused multiply-add. 16-bit floats are computed in `f32` and
/// rounded once. Integers are exact if each product fits in 128 bits.
///
/// # Shapes
///
/// `mode` is the kept axis. If *x* has *n* axes, there are *n* − 1 factors, in the order of the axes. Each factor has
/// the shape \[length of its axis, width\]. All factors have the same width. The result has the shape \[length of
/// `mode`, width\].
///
/// # Implicit values
///
/// Unstored positions must hold zero. For [`x.stored()`](crate::Tensor::stored), only stored entries count, for any
/// fill. The result is an array.
///
/// # NaN
///
/// NaN times any element is NaN. Zero times a factor that is not finite is NaN, for stored and for unstored zeros. For
/// a stored view, unstored positions do not count.
///
/// # Gradient
///
/// [`grad::mttkrp`](crate::grad::mttkrp).
///
/// # Errors
///
/// - `AxisOutOfRange`: the operand does not have the axis;
/// - `Argument`: the rank of *x* is below 2;
/// - `Argument`: the number of factors is not the rank of *x* minus 1;
/// - `Argument`: *x* has unstored positions, and its fill is not zero;
/// - `ShapeMismatch`: a factor does not have the shape \[length of its axis, width\];
/// - `Overflow`: an integer result does not fit the element type;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the operands.
///
/// # Complexity
///
/// O(nnz · width · rank + elements of the result).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, mttkrp};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 2, 2], vec![vec![0, 1], vec![1, 0], vec![1, 1]], vec![2.0, 3.0], 0.0)?;
/// let (b, c) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[5.0, 6.0], [7.0, 8.0]]));
/// let z = mttkrp(&x, 0, &[&b, &c])?;
/// assert_eq!(z, arr2(&[[2.0 * 3.0 * 7.0, 2.0 * 4.0 * 8.0], [3.0 * 1.0 * 7.0, 3.0 * 2.0 * 8.0]]).into_dyn());
/// assert_eq!(z, mttkrp(&x.to_dense()?, 0, &[&b, &c])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `numpy.einsum("ijk,jr,kr->ir", x, b, c)`; Bader and Kolda, "Efficient MATLAB computations with sparse
/// and factored tensors", 2007.
#[doc(alias = "khatri_rao")]
pub fn mttkrp<X: Operand<Elem: Ring>, D: Dimension>(
    x: &X,
    mode: impl Position,
    factors: &[&ArrayBase<impl Data<Elem = X::Elem>, D>],
) -> Result<ArrayD<X::Elem>> {
    let mode = normalize_axis(mode.to_i128(), x.lengths().len())?;
    forward(x, mode, &views(factors), None)
}

/// Returns the gradients of the operand and of all factors of [`mttkrp`](mttkrp()).
///
/// The gradient of a factor is [`mttkrp`](mttkrp()) along the axis of that factor, with the upstream gradient as the
/// factor of `mode`. *dx*<sub>ijk…</sub> = Σ<sub>r</sub> (*dz*<sub>ir</sub> · *b*<sub>jr</sub>) · *c*<sub>kr</sub> … on
/// the pattern of *x*, where *b*, *c*, … are the factors in the order of the axes, and *dz* is `upstream`. The sum has
/// eight partial sums, as in [`sddmm`](crate::CooPattern::sddmm).
///
/// # Shapes
///
/// `upstream` is an array with exactly the shape of the forward result. Each gradient of a factor has the shape of the
/// factor.
///
/// # Implicit values
///
/// The gradient of a sparse *x* has the pattern of *x* (shared) and a fill of 0. All other gradients are arrays.
///
/// # NaN
///
/// An element of `upstream` that is zero is skipped, even if another factor is not finite. All other products follow
/// [`mttkrp`](mttkrp()).
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`mttkrp`](mttkrp());
/// - `ShapeMismatch`: `upstream` does not have the shape of the result.
///
/// # Complexity
///
/// O(nnz · columns of the factors · rank²).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![2.0], 0.0)?;
/// let (b, upstream) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[1.0, 10.0], [0.0, 0.0]]));
/// let (dx, factors) = grad::mttkrp(&x, 0, &[&b], &upstream)?;
/// assert_eq!(dx.values(), [43.0]);
/// assert_eq!(factors, [arr2(&[[0.0, 0.0], [2.0, 20.0]]).into_dyn()]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // several results of ordinary types
pub fn mttkrp_backward<X: Operand<Elem: Float>, D: Dimension, E: Dimension>(
    x: &X,
    mode: impl Position,
    factors: &[&ArrayBase<impl Data<Elem = X::Elem>, D>],
    upstream: &ArrayBase<impl Data<Elem = X::Elem>, E>,
) -> Result<(X::Reduced<X::Elem>, Vec<ArrayD<X::Elem>>)> {
    let shape = Shape::from(x.lengths());
    let mode = normalize_axis(mode.to_i128(), shape.rank())?;
    let mut factors = views(factors);
    let (_, width) = factors_of(&shape, mode, &factors)?;
    check_upstream(upstream, &[shape[mode], width].into())?;
    factors.insert(mode, upstream.view().into_dyn());
    let gradient = |axis: usize| {
        let mut others = factors.clone();
        others.remove(axis);
        forward(x, axis, &others, Some(mode - usize::from(axis < mode)))
    };
    let of_factors = (0..shape.rank()).filter(|&axis| axis != mode).map(gradient).collect::<Result<_>>()?;
    let operand = x.erased();
    let listed = operand.listed()?;
    let contracted =
        Contracted { operation: op::mttkrp.name, x: &listed, has_zeros: false, width, upstream: Some(mode) };
    let along =
        factors.iter().enumerate().map(|(axis, factor)| Ok(AxisFactor { axes: vec![axis], items: in_order(factor)? }));
    let elements = contracted.dots(&along.collect::<Result<Vec<_>>>()?)?;
    Ok((X::restore(gradient_of(&operand, elements, &shape)?)?, of_factors))
}

/// A matrix along an axis, as one row per position of that axis.
struct Ttm<'a, T: Clone> {
    axis: usize,
    /// The other axes.
    others: Vec<usize>,
    items: Cow<'a, [T]>,
    width: usize,
}

impl<'a, T: Ring> Ttm<'a, T> {
    fn new(lengths: &[usize], matrix: &ArrayView2<'a, T>, axis: usize) -> Result<Self> {
        let (width, found) = matrix.dim();
        if found != lengths[axis] {
            return Err(Error::LengthMismatch { what: "a row of the matrix", expected: lengths[axis], found });
        }
        let others = (0..lengths.len()).filter(|&other| other != axis).collect();
        Ok(Ttm { axis, others, items: in_order(&matrix.reversed_axes().into_dyn())?, width })
    }

    fn along(&self) -> AxisFactor<'_, T> {
        AxisFactor { axes: vec![self.axis], items: Cow::Borrowed(&self.items) }
    }

    /// Returns the shape of the result with the new axis last, and with the new axis at its position.
    fn shapes(&self, lengths: &[usize]) -> (Shape, Shape) {
        let last = self.others.iter().map(|&axis| lengths[axis]).chain([self.width]).collect();
        let mut own = lengths.to_vec();
        own[self.axis] = self.width;
        (last, own.into())
    }

    fn forward<X: Operand<Elem = T>>(&self, x: &X, operation: &'static str) -> Result<ArrayD<T>> {
        let (last, own) = self.shapes(x.lengths());
        check_result::<T>(&own, x.erased().held_bytes().saturating_add(size_of_val(&*self.items)))?;
        let operand = x.erased();
        let listed = operand.listed()?;
        let has_zeros = listed.has_zeros(operation)?;
        let contracted = Contracted { operation, x: &listed, has_zeros, width: self.width, upstream: None };
        Ok(moved(dense_array(&last, contracted.sums(&[self.along()], &self.others)?), last.rank() - 1, self.axis))
    }

    /// Returns the gradients of the operand and of the matrix; the gradient of the matrix is in column-major order.
    #[allow(clippy::type_complexity)] // several results of ordinary types
    fn backward<X: Operand<Elem = T>>(
        &self,
        x: &X,
        upstream: ArrayViewD<'_, T>,
        operation: &'static str,
    ) -> Result<(X::Reduced<T>, ArrayD<T>)>
    where
        T: Float,
    {
        check_upstream(&upstream, &self.shapes(x.lengths()).1)?;
        let gradients = moved(upstream, self.axis, x.lengths().len() - 1);
        let gradients = AxisFactor { axes: self.others.clone(), items: in_order(&gradients.view())? };
        let operand = x.erased();
        let listed = operand.listed()?;
        let has_zeros = listed.has_zeros(operation)?;
        let contracted = Contracted { operation, x: &listed, has_zeros, width: self.width, upstream: Some(0) };
        let of_matrix = contracted.sums(std::slice::from_ref(&gradients), &[self.axis])?;
        let elements = contracted.dots(&[gradients, self.along()])?;
        let of_matrix = dense_array(&[x.lengths()[self.axis], self.width].into(), of_matrix);
        Ok((X::restore(gradient_of(&operand, elements, &x.lengths().into())?)?, of_matrix.reversed_axes()))
    }
}

/// Returns the array with an axis moved to another position.
fn moved<S: Data>(array: ArrayBase<S, IxDyn>, from: usize, to: usize) -> ArrayBase<S, IxDyn> {
    let mut order: Vec<usize> = (0..array.ndim()).filter(|&axis| axis != from).collect();
    order.insert(to, from);
    array.permuted_axes(order)
}

/// Multiplies each lane of an operand along an axis by a matrix.
///
/// *z*<sub>…q…</sub> = Σ<sub>k</sub> *x*<sub>…k…</sub> · *m*<sub>qk</sub>, where *m* is the matrix. The terms are added
/// in increasing order of *k*, from +0.0. Each multiplication and each addition is rounded, without fused multiply-add.
///
/// # Shapes
///
/// The matrix has the shape \[new length, length of the axis\]. The axis has the new length in the result.
///
/// # Implicit values
///
/// Unstored positions must hold zero. For [`x.stored()`](crate::Tensor::stored), only stored entries count, for any
/// fill. The result is an array.
///
/// # NaN
///
/// As in [`mttkrp`](mttkrp()).
///
/// # Gradient
///
/// [`grad::ttm`](crate::grad::ttm).
///
/// # Errors
///
/// - `AxisOutOfRange`: the operand does not have the axis;
/// - `LengthMismatch`: the length of the rows of the matrix differs from the length of the axis;
/// - `Argument`: *x* has unstored positions, and its fill is not zero;
/// - `Overflow`: an integer result does not fit the element type;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the operands.
///
/// # Complexity
///
/// O(nnz · new length + elements of the result).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, ttm};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2, 3], 0)?;
/// let z = ttm(&x, &arr2(&[[1, 0, 5], [0, 1, 1]]), 1)?;
/// assert_eq!(z, arr2(&[[10, 2], [3, 0]]).into_dyn());
/// assert_eq!(z, ttm(&x.to_dense()?, &arr2(&[[1, 0, 5], [0, 1, 1]]), 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `numpy.moveaxis(numpy.tensordot(x, m, (axis, 1)), -1, axis)`.
#[doc(alias = "mode_product")]
pub fn ttm<X: Operand<Elem: Ring>>(
    x: &X,
    matrix: &ArrayBase<impl Data<Elem = X::Elem>, Ix2>,
    axis: impl Position,
) -> Result<ArrayD<X::Elem>> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    Ttm::new(x.lengths(), &matrix.view(), axis)?.forward(x, op::ttm.name)
}

/// Returns the gradients of the operand and of the matrix of [`ttm`].
///
/// *dx*<sub>…k…</sub> = Σ<sub>q</sub> *dz*<sub>…q…</sub> · *m*<sub>qk</sub> on the pattern of *x*, in eight partial
/// sums as in [`sddmm`](crate::CooPattern::sddmm), where *m* is the matrix and *dz* is `upstream`. *dm*<sub>qk</sub> =
/// Σ *x*<sub>…k…</sub> · *dz*<sub>…q…</sub>, added in row-major order of *x*.
///
/// # Shapes
///
/// `upstream` is an array with exactly the shape of the forward result. The gradient of the matrix has the shape of the
/// matrix.
///
/// # Implicit values
///
/// The gradient of a sparse *x* has the pattern of *x* (shared) and a fill of 0. All other gradients are arrays.
///
/// # NaN
///
/// An element of `upstream` that is zero is skipped, even if another factor is not finite. All other products follow
/// [`mttkrp`](mttkrp()).
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`ttm`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the result.
///
/// # Complexity
///
/// O(nnz · rows of the matrix).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let (m, upstream) = (arr2(&[[1.0, 0.0, 5.0], [0.0, 1.0, 1.0]]), arr2(&[[1.0, 1.0], [1.0, 1.0]]));
/// let (dx, dm) = grad::ttm(&x, &m, 1, &upstream)?;
/// assert_eq!(dx.values(), [6.0, 1.0]);
/// assert_eq!(dm, arr2(&[[3.0, 0.0, 2.0], [3.0, 0.0, 2.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn ttm_backward<X: Operand<Elem: Float>, D: Dimension>(
    x: &X,
    matrix: &ArrayBase<impl Data<Elem = X::Elem>, Ix2>,
    axis: impl Position,
    upstream: &ArrayBase<impl Data<Elem = X::Elem>, D>,
) -> Result<(X::Reduced<X::Elem>, ArrayD<X::Elem>)> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    Ttm::new(x.lengths(), &matrix.view(), axis)?.backward(x, upstream.view().into_dyn(), op::ttm.name)
}

/// Returns the dot product of each lane of an operand along an axis with a vector.
///
/// *z*<sub>……</sub> = Σ<sub>k</sub> *x*<sub>…k…</sub> · *v*<sub>k</sub>, where *v* is the vector. The sums equal the
/// sums of [`ttm`] with a matrix of one row. The result is an array. For a sparse result with exact sums, use
/// `x.scale(axis, &v)?.sum(axis)?`.
///
/// # Shapes
///
/// The length of the vector is the length of the axis. The result does not have the axis.
///
/// # Implicit values
///
/// As in [`ttm`].
///
/// # NaN
///
/// As in [`mttkrp`](mttkrp()).
///
/// # Gradient
///
/// [`grad::ttv`](crate::grad::ttv).
///
/// # Errors
///
/// - `AxisOutOfRange`: the operand does not have the axis;
/// - `LengthMismatch`: the length of the vector differs from the length of the axis;
/// - `Argument`: *x* has unstored positions, and its fill is not zero;
/// - `Overflow`: an integer result does not fit the element type;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the operands.
///
/// # Complexity
///
/// O(nnz + elements of the result).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, ttv};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2, 3], 0)?;
/// assert_eq!(ttv(&x, &arr1(&[1, 0, 5]), -1)?, arr1(&[10, 3]).into_dyn());
/// assert_eq!(ttv(&x, &arr1(&[1, 0, 5]), -1)?, ttv(&x.to_dense()?, &arr1(&[1, 0, 5]), -1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `numpy.tensordot(x, v, (axis, 0))`.
#[doc(alias = "tensordot")]
pub fn ttv<X: Operand<Elem: Ring>>(
    x: &X,
    vector: &ArrayBase<impl Data<Elem = X::Elem>, Ix1>,
    axis: impl Position,
) -> Result<ArrayD<X::Elem>> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    let row = vector.view().insert_axis(Axis(0));
    let found =
        Ttm::new(x.lengths(), &row, axis)?.forward(x, op::ttv.name).map_err(|error| without_axis(error, axis))?;
    Ok(found.remove_axis(Axis(axis)))
}

/// Removes an axis of length 1 from the coordinates of an error.
fn without_axis(error: Error, axis: usize) -> Error {
    match error {
        Error::Overflow { operation, coords: Some(mut coords), dtype } if axis < coords.len() => {
            coords.remove(axis);
            Error::Overflow { operation, coords: Some(coords), dtype }
        }
        error => error,
    }
}

/// Returns the gradients of the operand and of the vector of [`ttv`].
///
/// The gradients are computed as for [`ttm`] with a matrix of one row.
///
/// # Shapes
///
/// `upstream` is an array with exactly the shape of the forward result. The gradient of the vector has the shape of the
/// vector.
///
/// # Implicit values
///
/// The gradient of a sparse *x* has the pattern of *x* (shared) and a fill of 0. All other gradients are arrays.
///
/// # NaN
///
/// An element of `upstream` that is zero is skipped, even if another factor is not finite. All other products follow
/// [`mttkrp`](mttkrp()).
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`ttv`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the result.
///
/// # Complexity
///
/// O(nnz).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let (dx, dv) = grad::ttv(&x, &arr1(&[1.0, 0.0, 5.0]), -1, &arr1(&[1.0, 10.0]))?;
/// assert_eq!(dx.values(), [5.0, 10.0]);
/// assert_eq!(dv, arr1(&[30.0, 0.0, 2.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn ttv_backward<X: Operand<Elem: Float>, D: Dimension>(
    x: &X,
    vector: &ArrayBase<impl Data<Elem = X::Elem>, Ix1>,
    axis: impl Position,
    upstream: &ArrayBase<impl Data<Elem = X::Elem>, D>,
) -> Result<(X::Reduced<X::Elem>, ArrayD<X::Elem>)> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    let row = vector.view().insert_axis(Axis(0));
    let ttm = Ttm::new(x.lengths(), &row, axis)?;
    let expected: Shape = ttm.others.iter().map(|&other| x.lengths()[other]).collect();
    check_upstream(upstream, &expected)?;
    let upstream = upstream.view().into_dyn().insert_axis(Axis(axis));
    let (dx, dv) = ttm.backward(x, upstream, op::ttv.name)?;
    Ok((dx, dv.remove_axis(Axis(0))))
}
