//! Products with one number for each place on an axis.

use ndarray::{ArrayView1, Axis};

use super::arithmetic::Mul;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::ops::operand::Operand;

/// The product with one number for each place on an axis: each row times its own number, each column times its own.
///
/// *z*<sub>…j…</sub> = *x*<sub>…j…</sub> · *f*<sub>j</sub>
///
/// # Shapes
///
/// There are as many factors as the axis is long; the result has the shape of *x*. The factors are a slice, a `Vec` or
/// an array of rank 1, as `&factors`; those of a tensor `f` of rank 1 are `&f.to_vec(&[])?`.
///
/// # Implicit values
///
/// The pattern is shared. The fill times every factor must come to one value, whatever the sign of zero: a fill of zero
/// does, where all factors are finite or their slices are stored completely. [`x.stored().scale(…)`](crate::Stored)
/// scales the entries, whatever the fill and the factors are, and keeps the fill.
///
/// # NaN
///
/// NaN times anything is NaN.
///
/// # Gradient
///
/// That of *x* is `scale` of the upstream gradient by the same factors.
///
/// # Errors
///
/// - `AxisOutOfRange`: there is no such axis;
/// - `LengthMismatch`: there are not as many factors as the axis is long;
/// - `FillVaries`: positions that are not stored would hold different values;
/// - `Overflow`: an integer product does not fit, with its coordinates, or as the fill.
///
/// # Complexity
///
/// O(nnz + factors).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, scale};
/// use ndarray::arr2;
///
/// // 1 . 2
/// // . 3 .
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1.0, 2.0, 3.0], 0.0)?;
/// let z = scale(&x, 0, &[10.0, 100.0])?;
/// assert_eq!(z.to_dense()?, arr2(&[[10.0, 0.0, 20.0], [0.0, 300.0, 0.0]]).into_dyn());
/// assert_eq!(z.to_dense()?, scale(&x.to_dense()?, 0, &[10.0, 100.0])?);
/// assert!(z.shares_pattern_with(&x));
///
/// let refused = x.scale(-1, &[1.0, f64::INFINITY, 1.0]).unwrap_err();
/// assert!(refused.to_string().starts_with("mul of the fill is NaN at [.., 1] and 0.0 at [.., 0]"));
/// assert_eq!(x.stored().scale(-1, &[1.0, f64::INFINITY, 1.0])?.values(), [1.0, 2.0, f64::INFINITY]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.multiply`](https://numpy.org/doc/stable/reference/generated/numpy.multiply.html), broadcast.
#[doc(alias = "diag")]
#[doc(alias = "row_mul")]
#[doc(alias = "tf-idf")]
pub fn scale<'a, X: Operand>(
    x: &X,
    axis: impl Position,
    factors: impl Into<ArrayView1<'a, X::Elem>>,
) -> Result<X::Reduced<X::Elem>> {
    let (rank, factors) = (x.lengths().len(), factors.into());
    let axis = normalize_axis(axis.to_i128(), rank)?;
    let (expected, found) = (x.lengths()[axis], factors.len());
    if expected != found {
        return Err(Error::LengthMismatch { what: "the factors", expected, found });
    }
    let mut factors = factors.into_dyn();
    for behind in 1..rank - axis {
        factors = factors.insert_axis(Axis(behind));
    }
    x.zip_array(factors, Mul)
}
