//! Products of two matrices, or of batches of them.

use super::Product;
use crate::base::error::Result;
use crate::element::Ring;
use crate::kernels::semiring::PlusTimes;
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the descriptor of products by times and plus; `operation` is the name for errors.
pub(super) fn plain<T: Ring>(operation: &'static str) -> Product<PlusTimes, T> {
    Product { operation, semiring: PlusTimes, fill: T::ZERO, counts_unstored: true }
}

/// Returns the product of matrices, vectors, or batches of matrices.
///
/// *z*<sub>i,j</sub> = Σ<sub>k</sub> *x*<sub>i,k</sub> · *y*<sub>k,j</sub>
///
/// Each sum starts from `+0.0` and adds its terms in the order of *k*. Each multiplication and each addition is
/// rounded, without fused multiply-add. `f16` and `bf16` are added in `f32` and rounded once. Integers are exact. For
/// `bool`, products are "and" and sums are "or". Skipping the terms of unstored positions does not change any bit. The
/// result is therefore bitwise identical for both formats, for arrays and for any number of threads.
///
/// # Shapes
///
/// The last axis of `x` has the length of the axis before the last of `y`, or of the only axis of `y`. A vector on the
/// left is a row, and a vector on the right is a column. The result does not have the axis of length 1 of this row or
/// column. All other axes are batch axes, which are broadcast.
///
/// The result of two sparse operands is sparse, with the format and the index type of `x`. A chain of products from the
/// left therefore stays in one format. If an operand is an array, the result is an array.
///
/// # Implicit values
///
/// If an operand has unstored positions, its fill must be zero, of any sign. A sparse result has the fill `+0.0`. The
/// result stores a position if both operands store the elements of a term, even if the sum is zero. If one of two
/// sparse operands is a [stored view](crate::Stored), both count as stored views, and the fills do not matter. If the
/// other operand is an array, the fill of a stored view does not matter either.
///
/// # NaN
///
/// Zero times an element that is not finite is NaN. If an array has such an element, its products with unstored zeros
/// are therefore NaN, as for dense operands. lacuna uses a slower algorithm for the column of that element, or for its
/// row if the array is the left operand.
///
/// If both operands are sparse, an entry that is not finite, times unstored zeros, would result in NaN at unstored
/// positions of the result. The function therefore returns the error `NonFinite`. `x.stored()` multiplies only elements
/// that both operands store. A NaN in the result is the canonical NaN.
///
/// # Gradient
///
/// [`grad::matmul`](crate::grad::matmul).
///
/// # Errors
///
/// - `Argument`: an operand has rank 0;
/// - `Argument`: the contracted lengths differ;
/// - `Argument`: an operand has unstored positions, and its fill is not zero;
/// - `NotBroadcastable`: the batch axes cannot be broadcast together;
/// - `NonFinite`: both operands are sparse, one has an entry that is not finite, and the other has unstored zeros. The
///   error reports the coordinates of the entry;
/// - `Overflow`: an element of the result does not fit the integer type;
/// - `AxisTooLong`: an axis of a sparse result is too long for the index type of `x`;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of both operands;
/// - `TooLarge`: one operand is an array, and the other is sparse with more than 2³² columns.
///
/// # Complexity
///
/// O(pairs of entries that are multiplied) for sparse operands. If the right operand is an array, O(nnz · columns of
/// the array). If the left operand is an array, O(nnz · rows of the array). Rows are distributed over threads by their
/// cost. If the right operand is an array of at least 8 MiB, up to a quarter of its bytes is allocated temporarily.
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, matmul};
/// use ndarray::arr1;
///
/// // 0 2 0      1 0
/// // 3 0 4      0 5
/// //            6 0
/// let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![2, 3, 4], 0)?;
/// let y = CsrTensor::new([3, 2], vec![0, 1, 2, 3], vec![0, 1, 0], vec![1, 5, 6], 0)?;
/// let z = matmul(&x, &y)?;
/// assert_eq!((z.offsets(), z.columns(), z.values()), (&[0, 1, 2][..], &[1, 0][..], &[10, 27][..]));
/// assert_eq!(z.to_dense()?, matmul(&x.to_dense()?, &y.to_dense()?)?);
///
/// assert_eq!(matmul(&x, &arr1(&[1, 10, 100]))?, arr1(&[20, 403]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.matmul`](https://numpy.org/doc/stable/reference/generated/numpy.matmul.html), with a fixed
/// summation order.
#[doc(alias = "dot")]
#[doc(alias = "mm")]
#[doc(alias = "bmm")]
#[doc(alias = "spmm")]
#[doc(alias = "spmv")]
#[doc(alias = "spgemm")]
pub fn matmul<X: Operand<Elem: Ring>, Y: Operand<Elem = X::Elem>>(x: &X, y: &Y) -> Result<X::Product<Y>> {
    let (x, y) = (x.erased(), y.erased());
    let found = plain(op::matmul.name).of(&x.factor()?, &y.factor()?)?;
    X::restore_product::<Y>(found.into_result(&x)?)
}
