//! Differences of neighbours along an axis, and their gradient.

use ndarray::{Axis, Slice};

use super::descriptors::Sub;
use super::{dense, sparse_pair};
use crate::base::alloc;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::limit::{default_limit, guard};
use crate::convert::dense_array;
use crate::element::{Element, Float, Numeric};
use crate::ops::op;
use crate::ops::operand::{ErasedOperand, ErasedResult, Operand};
use crate::ops::select::{moved, select_with, select_with_backward};
use crate::tensor::Tensor;

/// The largest order of a difference. The entries of a sparse operand can be in one more difference per order.
const MAX_ORDER: usize = 16;

/// Rejects an order above [`MAX_ORDER`].
pub(crate) fn check_order(n: usize) -> Result<()> {
    if n <= MAX_ORDER {
        return Ok(());
    }
    let why = format!("n = {n} exceeds {MAX_ORDER}; take the differences of a result again");
    Err(Error::Argument { operation: op::diff.name, why })
}

/// Returns the difference of two operands of one kind and shape.
fn difference<T: Numeric>(upper: &ErasedOperand<'_, T>, lower: &ErasedOperand<'_, T>) -> Result<ErasedResult<T>> {
    match (upper, lower) {
        (ErasedOperand::Sparse(upper), ErasedOperand::Sparse(lower)) => {
            Ok(sparse_pair::of_both(upper, lower, Sub)?.into())
        }
        (ErasedOperand::Array(upper), ErasedOperand::Array(lower)) => {
            Ok(dense::pair(upper.array.view(), lower.array.view(), Sub)?.into())
        }
        _ => unreachable!("both are slices of one operand"),
    }
}

/// Returns the operand without its first position of an axis, and without the last one. An array is not copied.
fn halves<'a, T: Element>(x: &'a ErasedOperand<'_, T>, axis: usize) -> Result<[ErasedOperand<'a, T>; 2]> {
    let ErasedOperand::Array(x) = x else {
        let [upper, lower] = moved::halves(x.lengths(), axis).map(|moves| select_with(x, &moves));
        return Ok([x.like(upper?), x.like(lower?)]);
    };
    let length = x.array.len_of(Axis(axis));
    let part = |slice: Slice| x.array.slice_axis(Axis(axis), slice).into();
    Ok([part(Slice::from(length.min(1)..)), part(Slice::from(..length.saturating_sub(1)))])
}

/// Returns the differences of order `n`.
fn differences<T: Numeric>(x: &ErasedOperand<'_, T>, n: usize, axis: usize) -> Result<ErasedResult<T>> {
    let once = |x: &ErasedOperand<'_, T>| halves(x, axis).and_then(|[upper, lower]| difference(&upper, &lower));
    // An axis without positions does not become shorter.
    match n.min(x.lengths()[axis]) {
        0 => select_with(x, &moved::unmoved(x.lengths())),
        n => (1..n).try_fold(once(x)?, |found, _| once(&x.like(found))),
    }
}

/// Returns the name of the operation in an error of a difference.
pub(crate) fn in_diff(error: Error) -> Error {
    match error {
        Error::Overflow { coords, dtype, .. } => Error::Overflow { operation: op::diff.name, coords, dtype },
        error => error,
    }
}

/// Returns the differences of neighbours along an axis, taken `n` times.
///
/// *y*<sub>k</sub> = *x*<sub>k + 1</sub> − *x*<sub>k</sub> for each position *k* of the axis of the result *y*, if `n`
/// is 1. For a larger `n`, this rule is applied `n` times. Each difference is rounded once.
///
/// To add elements before the first or after the last element, as with `prepend` and `append` in numpy, call
/// [`concat`](crate::concat()) first.
///
/// # Shapes
///
/// The axis of the result is shorter by `n`, down to length 0. If `n` is 0, the result is `x`.
///
/// # Implicit values
///
/// If `n` is 1, the result is [`x[1..]`](crate::slice()) [minus](crate::sub()) `x[..-1]` on the axis. An entry of `x`
/// is therefore in at most two differences. The result stores both differences, even if a difference is 0. The fill of
/// the result is the difference of the fill and itself: 0, or NaN if the fill is not finite. If the fill is NaN, a
/// difference is stored only if both elements are stored. For [stored views](crate::Stored), a stored element without a
/// stored neighbour is copied, or negated if the element is subtracted. The result has the fill of `x`.
///
/// # NaN
///
/// A difference with NaN, or of two infinities with one sign, is NaN.
///
/// # Gradient
///
/// [`grad::diff`](crate::grad::diff).
///
/// # Errors
///
/// - `Argument`: `n` is above 16;
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `Overflow`: an integer difference does not fit the element type;
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting.
///
/// # Complexity
///
/// O(entries of `x` and of the result · rank), `n` times. CSR adds O(lanes). O(elements of `x`) for arrays, `n` times.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, concat, diff};
/// use lacuna::ndarray::{arr1, arr2};
///
/// let x = CooTensor::from_dense(&arr2(&[[0, 3, 4, 0], [0, 0, 0, 7]]), 0)?;
/// let y = diff(&x, 1, 1)?;
/// assert_eq!(y.to_dense()?, arr2(&[[3, 1, -4], [0, 0, 7]]).into_dyn());
/// assert_eq!(y.to_dense()?, diff(&x.to_dense()?, 1, 1)?);
/// assert_eq!(y.nnz(), 4);
/// assert_eq!(diff(&y, 1, 1)?.to_dense()?, x.diff(2, 1)?.to_dense()?);
/// let zeros = CooTensor::from_dense(&arr2(&[[0], [0]]), 0)?;
/// assert_eq!(concat(1, &[&zeros, &x])?.diff(1, 1)?.to_dense()?, arr2(&[[0, 3, 1, -4], [0, 0, 0, 7]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.diff`](https://numpy.org/doc/stable/reference/generated/numpy.diff.html). Differences of `bool`
/// do not compile.
#[doc(alias = "numpy.diff")]
#[doc(alias = "difference")]
pub fn diff<X: Operand<Elem: Numeric>>(x: &X, n: usize, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    check_order(n)?;
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    X::restore(differences(&x.erased(), n, axis).map_err(in_diff)?)
}

/// Returns the number of bytes that the entries or the elements of an operand occupy.
fn bytes_of<T: Element>(x: &ErasedOperand<'_, T>) -> usize {
    match x {
        ErasedOperand::Sparse(x) => x.sparse().stored_bytes(),
        ErasedOperand::Array(x) => size_of::<T>() * x.array.len(),
    }
}

/// Returns zeros at the positions that an operand holds.
fn zeros_at<T: Element, G: Element>(x: &ErasedOperand<'_, T>) -> Result<ErasedOperand<'static, G>> {
    Ok(match x {
        ErasedOperand::Sparse(x) => {
            let pattern = x.sparse().pattern().clone();
            let values = alloc::copies(G::ZERO, pattern.nnz())?;
            Tensor::from_valid(pattern, values, G::ZERO).into()
        }
        ErasedOperand::Array(x) => dense_array(&x.array.shape().into(), alloc::copies(G::ZERO, x.array.len())?).into(),
    })
}

/// Returns the gradient of [`diff()`].
///
/// *dx*<sub>k</sub> = *dy*<sub>k − 1</sub> − *dy*<sub>k</sub> for each position *k* of the axis of `x`, if `n` is 1.
/// Here, *dy* is `upstream`, and a term without a position in `upstream` is 0. For a larger `n`, this rule is applied
/// `n` times.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`diff()`] for the same arguments. The gradient has the shape of
/// `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the gradient has the pattern of `x` (shared) and a fill of 0. Positions that `upstream` does not
/// store have the fill of `upstream`.
///
/// # NaN
///
/// If a gradient in `upstream` is NaN, the gradients of both elements of its difference are NaN.
///
/// # Gradient
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - `Argument`: `n` is above 16;
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `TooLarge`: the differences of all orders below `n` need more than the larger of 1 GiB and 16 times the bytes of
///   the gradient.
///
/// # Complexity
///
/// The cost of [`diff()`], and two lookups in `upstream` per entry of `x`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![5.0, 6.0], 0.0)?;
/// let dx = grad::diff(&x, &arr1(&[1.0, 10.0, 100.0]), 1, 0)?;
/// assert_eq!(dx.values(), [-1.0, 10.0 - 100.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.diff`](https://docs.pytorch.org/docs/stable/generated/torch.diff.html).
pub fn diff_backward<X: Operand, U: Operand<Elem: Float + Numeric>>(
    x: &X,
    upstream: &U,
    n: usize,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    check_order(n)?;
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    let n = n.min(x.lengths()[axis]);
    if n == 0 {
        return select_with_backward(x, &moved::unmoved(x.lengths()), upstream);
    }
    // The gradient of each order is at the entries of the order before it.
    let mut orders = vec![zeros_at::<X::Elem, U::Elem>(&x.erased())?];
    let (mut held, limit) = (0, default_limit(bytes_of(&orders[0])));
    for order in 1..n {
        let found = differences(&orders[order - 1], 1, axis)?.into();
        held += bytes_of(&found) as u128;
        guard::<u8>("the differences of all orders", held, limit, "use a smaller n")?;
        orders.push(found);
    }
    let back = |x: &ErasedOperand<'_, U::Elem>, g: &ErasedOperand<'_, U::Elem>| {
        let [upper, lower] = moved::halves(x.lengths(), axis).map(|moves| select_with_backward(x, &moves, g));
        difference(&upper?.into(), &lower?.into())
    };
    let last = back(&orders[n - 1], &upstream.erased())?;
    let found = orders[..n - 1].iter().rev().try_fold(last, |g, x| back(x, &g.into()))?;
    X::restore(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::limit::within;
    use crate::tensor::coo::CooTensor;

    #[test]
    fn the_gradient_bounds_the_bytes_of_all_orders() {
        let x = CooTensor::new([9], vec![vec![4]], vec![1.0], 0.0).unwrap();
        let upstream = CooTensor::new([5], vec![vec![0]], vec![1.0], 0.0).unwrap();
        let gradient = |limit| within(Some(limit), || diff_backward(&x, &upstream, 4, 0));
        // Orders 1 to 3 have 2, 3 and 4 entries of 12 bytes.
        assert!(matches!(gradient(107), Err(Error::TooLarge { bytes: 108, .. })));
        assert_eq!(gradient(108).unwrap().values(), [1.0]);
    }
}
