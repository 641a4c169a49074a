//! Products of two matrices, or of batches of them.

use super::Product;
use crate::base::error::Result;
use crate::element::Ring;
use crate::kernels::semiring::PlusTimes;
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the descriptor of products by times and plus; `operation` is the name for errors.
pub(super) fn plain<T: Ring>(operation: &'static str) -> Product<PlusTimes, T> {
    Product { operation, semiring: PlusTimes, fill: T::ZERO, counts_gaps: true }
}

/// The product of two matrices, of a matrix and a vector, of two vectors, or of batches of matrices.
///
/// *z*<sub>i,j</sub> = Σ<sub>k</sub> *x*<sub>i,k</sub> · *y*<sub>k,j</sub>
///
/// Each sum starts from `+0.0` and takes its terms in the order of *k*; each product and each sum is rounded, and
/// nothing is fused. `f16` and `bf16` are added up in `f32` and rounded once; integers keep every digit on the way;
/// `bool` is the "or" of "and"s. So a term that is left out, because an operand does not store it, changes no bit: both
/// formats, arrays and any number of threads give the same.
///
/// # Shapes
///
/// The last axis of `x` is as long as the last but one of `y`, or its only one. A vector on the left is a row, and one
/// on the right a column, whose axis the result does not have. The axes before these are those of a batch, and are
/// broadcast. The result of two sparse operands is sparse, and has the format and the index type of `x`, whose rows it
/// takes over: so what is chained from the left stays in one format. Beside an array it is an array.
///
/// # Implicit values
///
/// The fill must be zero, of any sign, if some position is not stored. A sparse result has the fill `+0.0`, and stores
/// what some *k* is stored for on both sides, whatever it comes to: sums that cancel stay. If one of two sparse
/// operands is a [stored view](crate::Stored), both count as such: the fills do not matter, nor do they beside an
/// array.
///
/// # NaN
///
/// Zero times what is not finite is NaN. So an array with such an element makes NaN of what it meets a gap for, as it
/// does in the dense form, by a slower rule for its column (or row, on the left). An entry of a sparse operand that is
/// not finite would make NaN of gaps of the result, if the other operand is sparse as well: that is the error
/// `NonFinite`, and `x.stored()` looks at what both store. NaN of the result is the canonical one.
///
/// # Gradient
///
/// [`grad::matmul`](crate::grad::matmul).
///
/// # Errors
///
/// - `Argument`: an operand has rank 0, the lengths do not fit, or an unstored position holds a fill that is not zero;
/// - `NotBroadcastable`: the batch axes do not fit;
/// - `NonFinite`: both operands are sparse, and one has an entry that is not finite, with its coordinates in that one;
/// - `Overflow`: the integer type does not hold an element of the result;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times what both hold.
///
/// # Complexity
///
/// O(pairs of entries that meet), and of an array O(nnz · columns). Rows are shared out to threads by what they take.
/// Beside an array on the right of 8 MiB and more, up to a quarter of its bytes is taken meanwhile.
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
/// Definition: [`numpy.matmul`](https://numpy.org/doc/stable/reference/generated/numpy.matmul.html), with the order of
/// its sums fixed.
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
