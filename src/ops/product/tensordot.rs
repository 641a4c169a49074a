//! Products over pairs of axes of two operands.

use super::spec::{Label, Spec, wrong};
use super::steps::{contracted, contracted_backward};
use super::whole::Whole;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Float, Ring};
use crate::ops::op;
use crate::ops::operand::{ErasedOperand, Operand};
use crate::ops::reduce::check_upstream;

/// Returns the labels of a product over pairs of axes of two operands.
fn spec_of(lengths: [&[usize]; 2], axes: [&[isize]; 2]) -> Result<Spec> {
    if axes[0].len() != axes[1].len() {
        let (expected, found) = (axes[0].len(), axes[1].len());
        return Err(Error::LengthMismatch { what: "the axes of the right operand", expected, found });
    }
    let mut labels: Vec<Vec<Label>> = Vec::new();
    for lengths in lengths {
        let before: usize = labels.iter().map(Vec::len).sum();
        labels.push((before..before + lengths.len()).map(Label::Dots).collect());
    }
    let rank = |side: usize| lengths[side].len();
    let normalized = |side: usize| -> Result<Vec<usize>> {
        let own = axes[side].iter().map(|&axis| normalize_axis(axis, rank(side))).collect::<Result<Vec<_>>>()?;
        match (1..own.len()).find(|&at| own[..at].contains(&own[at])) {
            Some(at) => Err(Error::AxisRepeated { axis: own[at], rank: rank(side) }),
            None => Ok(own),
        }
    };
    let (left, right) = (normalized(0)?, normalized(1)?);
    for (&a, &b) in left.iter().zip(&right) {
        if lengths[0][a] != lengths[1][b] {
            let (expected, found) = (lengths[0][a], lengths[1][b]);
            let why = format!(
                "axis {a} of the left operand has length {expected}, but axis {b} of the right operand has length \
                 {found}"
            );
            return Err(Error::Argument { operation: op::tensordot.name, why });
        }
        labels[1][b] = labels[0][a];
    }
    let is_kept = |label: &&Label| !(labels[0].contains(label) && labels[1].contains(label));
    let result = labels.iter().flatten().filter(is_kept).copied().collect();
    Ok(Spec { operands: labels, result })
}

/// Returns the shape of a product over pairs of axes.
pub(crate) fn tensordot_shape(lengths: [&[usize]; 2], axes: [&[isize]; 2]) -> Result<Shape> {
    Ok(spec_of(lengths, axes)?.shape(&lengths))
}

/// Returns the product of two operands over pairs of axes.
///
/// *z*<sub>i…j…</sub> = Σ<sub>k…</sub> *x*<sub>i…k…</sub> · *y*<sub>k…j…</sub>. The terms are added in row-major order
/// of the given axes of *x*, for any order of the lists. Everything else follows [`einsum`](crate::einsum()).
///
/// # Shapes
///
/// The given axes of both operands have equal lengths, pair by pair. The result has the other axes of *x*, then the
/// other axes of *y*.
///
/// # Implicit values
///
/// As in [`einsum`](crate::einsum()), unstored positions must hold zero, and the result has a fill of zero. For stored
/// views, only stored entries count.
///
/// # NaN
///
/// As in [`einsum`](crate::einsum()).
///
/// # Gradient
///
/// [`grad::tensordot`](crate::grad::tensordot).
///
/// # Errors
///
/// - `LengthMismatch`: the two lists of axes have different lengths;
/// - `AxisOutOfRange`: an operand does not have an axis;
/// - `AxisRepeated`: an axis appears twice in one list;
/// - `Argument`: two paired axes have different lengths;
/// - `Argument`: an operand has unstored positions, and its fill is not zero;
/// - `NonFinite`, `Overflow`, `TooLarge`, `AxisTooLong`, `AxisOverflow`: as in [`einsum`](crate::einsum()).
///
/// # Complexity
///
/// The cost of the equivalent product of matrices.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, tensordot};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2, 3], 0)?;
/// assert_eq!(tensordot(&x, &x, [1], [1])?.entries(), [(vec![0, 0], 4), (vec![1, 1], 9)]);
/// assert_eq!(tensordot(&x, &x, [0, 1], [0, 1])?.item()?, 13);
/// let dense = x.to_dense()?;
/// assert_eq!(tensordot(&x, &x, [1], [1])?.to_dense()?, tensordot(&dense, &dense, [1], [1])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.tensordot`](https://numpy.org/doc/stable/reference/generated/numpy.tensordot.html).
pub fn tensordot<X: Operand<Elem: Ring>>(
    x: &X,
    y: &X,
    left: impl AsRef<[isize]>,
    right: impl AsRef<[isize]>,
) -> Result<X::Reduced<X::Elem>> {
    let spec = spec_of([x.lengths(), y.lengths()], [left.as_ref(), right.as_ref()])?;
    let (x, y) = (x.erased(), y.erased());
    for operand in [&x, &y] {
        operand.listed()?.has_zeros(op::tensordot.name)?;
    }
    let counts_zeros = x.counts_unstored() && y.counts_unstored();
    let found = contracted(&spec, None, vec![Whole::of(&x)?, Whole::of(&y)?], counts_zeros).map_err(of_tensordot)?;
    X::restore(found.into_result(&x, x.held_bytes().saturating_add(y.held_bytes()))?)
}

/// Renames the operation in an error of the underlying einsum to `tensordot`.
fn of_tensordot(mut error: Error) -> Error {
    if let Error::Overflow { operation, .. } | Error::NonFinite { operation, .. } = &mut error {
        *operation = op::tensordot.name;
    }
    error
}

/// Returns the gradients of both operands of [`tensordot`].
///
/// The sums are computed as in [`grad::einsum`](crate::grad::einsum).
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times a nonzero element of `upstream` is NaN. An element of `upstream` that is zero is skipped, even if the
/// other factor is not finite.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - `ShapeMismatch`: `upstream` does not have the shape of the result;
/// - `LengthMismatch`, `AxisOutOfRange`, `AxisRepeated`, `TooLarge`, `AxisTooLong`, `AxisOverflow`: as in
///   [`tensordot`];
/// - `Argument`: two paired axes have different lengths.
///
/// Fills are not checked. Unstored positions of the operands count as zeros.
///
/// # Complexity
///
/// The cost of the forward pass, and twice the cost of its products of matrices.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 1]], vec![5.0, 7.0], 0.0)?;
/// let (dx, dy) = grad::tensordot(&x, &y, [0, 1], [0, 1], &arr0(10.0))?;
/// assert_eq!((dx.values(), dy.values()), (&[50.0, 0.0][..], &[20.0, 0.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn tensordot_backward<X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    x: &X,
    y: &X,
    left: impl AsRef<[isize]>,
    right: impl AsRef<[isize]>,
    upstream: &U,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)> {
    let lengths: [&[usize]; 2] = [x.lengths(), y.lengths()];
    let spec = spec_of(lengths, [left.as_ref(), right.as_ref()])?;
    check_upstream(upstream, &spec.shape(&lengths))?;
    let (x, y) = (x.erased(), y.erased());
    let wholes = vec![Whole::of(&x)?, Whole::of(&y)?];
    let mut gradients = contracted_backward(&spec, None, wholes, &upstream.erased())?.into_iter();
    let restored =
        |gradient: Whole<X::Elem>, x: &ErasedOperand<'_, X::Elem>| X::restore(gradient.into_result(x, x.held_bytes())?);
    match (gradients.next(), gradients.next()) {
        (Some(dx), Some(dy)) => Ok((restored(dx, &x)?, restored(dy, &y)?)),
        _ => wrong("the result does not depend on an operand".into()),
    }
}
