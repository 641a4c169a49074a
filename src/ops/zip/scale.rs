//! Products with one number per position of an axis.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayView, ArrayView1, Axis, Data, Dimension};

use super::dense;
use super::descriptors::{Mul, MulNonzero};
use super::sparse::of_array;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::convert::elements_of;
use crate::element::Element;
use crate::kernels::zip::Zip;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// One number per position of an axis.
///
/// An argument is a reference to a slice, a `Vec`, an `ndarray` array or a tensor, or an `ndarray` view. Arrays, views
/// and tensors of factors have rank 1.
pub trait Factors<T: Element> {
    /// Returns the numbers; rejects any other count or rank.
    #[doc(hidden)]
    fn numbers(&self, expected: usize) -> Result<Cow<'_, [T]>>;
}

macro_rules! factors {
    ($([$($generics:tt)*] $type:ty, |$factors:ident| $shape:expr => $numbers:expr;)*) => {$(
        impl<$($generics)*> Factors<T> for $type {
            fn numbers(&self, expected: usize) -> Result<Cow<'_, [T]>> {
                let $factors = self;
                check(expected, $shape)?;
                Ok($numbers)
            }
        }
    )*};
}

factors! {
    [T: Element] &[T], |factors| &[factors.len()] => Cow::Borrowed(factors);
    [T: Element, const N: usize] &[T; N], |factors| &[factors.len()] => Cow::Borrowed(&factors[..]);
    [T: Element] &Vec<T>, |factors| &[factors.len()] => Cow::Borrowed(&factors[..]);
    [T: Element, S: Data<Elem = T>, D: Dimension] &ArrayBase<S, D>, |factors| factors.shape() => elements_of(factors)?;
    [T: Element, D: Dimension] ArrayView<'_, T, D>, |factors| factors.shape() => elements_of(factors)?;
    [T: Element, P: Pattern] &Tensor<P, T>, |factors| factors.shape() => Cow::Owned(factors.to_vec(&[])?);
}

/// Rejects a shape that is not one axis of the expected length.
fn check(expected: usize, shape: &[usize]) -> Result<()> {
    match *shape {
        [found] if found == expected => Ok(()),
        [found] => Err(Error::LengthMismatch { what: "the factors", expected, found }),
        _ => Err(Error::RankMismatch { what: "the factors", expected: 1, found: shape.len() }),
    }
}

/// Returns the product with one number per position of an axis.
///
/// With the last axis, each column of a matrix is multiplied by one number. With the axis before the last, each row is
/// multiplied by one number.
///
/// *z*<sub>…j…</sub> = *x*<sub>…j…</sub> · *f*<sub>j</sub> for each position *j* of the axis and the factors *f*
///
/// # Shapes
///
/// The number of factors is the length of the axis. The result has the shape of *x*. The factors are a slice, a `Vec`,
/// or an array or a tensor of rank 1, as `&factors`.
///
/// # Implicit values
///
/// The result shares the pattern of *x*. The fill times each factor must be one value, ignoring the sign of zero. A
/// fill of zero satisfies this condition if every slice with a factor that is not finite is stored completely.
/// [`x.stored().scale(…)`](crate::Stored) scales only the entries, for any fill and factors, and keeps the fill.
///
/// # NaN
///
/// NaN times any element is NaN.
///
/// # Gradient
///
/// [`grad::mul`](crate::grad::mul), with the factors as a column or a row. If the factors are finite, the gradient of
/// *x* is [`grad::any`](crate::grad::any)`(&x, &upstream, Axes::none())?.stored().scale(axis, &factors)?`: the upstream
/// gradient at the entries, times the same factors.
///
/// # Errors
///
/// - `AxisOutOfRange`: the operand does not have the axis;
/// - `LengthMismatch`: the number of factors differs from the length of the axis;
/// - `RankMismatch`: an array or a tensor of factors does not have rank 1;
/// - `FillVaries`: unstored positions of the result would have different values;
/// - `Overflow`: an integer product or the fill of the result does not fit the element type;
/// - `TooLarge`: the result for a broadcast array *x* exceeds both 1 GiB and 16 times the bytes of the arrays before
///   broadcasting.
///
/// # Complexity
///
/// O(entries of *x* + factors), or O(elements of *x*) for arrays.
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
/// assert_eq!(x.scale(0, &x.sum(1)?)?.values(), [3.0, 6.0, 9.0]); // each row times its sum
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
pub fn scale<X: Operand>(x: &X, axis: impl Position, factors: impl Factors<X::Elem>) -> Result<X::Reduced<X::Elem>> {
    along(x, axis, factors, Mul)
}

/// Scales a gradient like [`scale`], except that zero times any factor is zero.
pub(crate) fn scale_nonzero<X: Operand>(
    x: &X,
    axis: impl Position,
    factors: impl Factors<X::Elem>,
) -> Result<X::Reduced<X::Elem>> {
    along(x, axis, factors, MulNonzero)
}

fn along<X: Operand, Z: Zip<X::Elem, X::Elem>>(
    x: &X,
    axis: impl Position,
    factors: impl Factors<X::Elem>,
    op: Z,
) -> Result<X::Reduced<Z::Out>> {
    let rank = x.lengths().len();
    let axis = normalize_axis(axis.to_i128(), rank)?;
    let factors = factors.numbers(x.lengths()[axis])?;
    let mut factors = ArrayView1::from(&*factors).into_dyn();
    for after in 1..rank - axis {
        factors = factors.insert_axis(Axis(after));
    }
    x.by_kind(
        |x| of_array(x.sparse(), x.implicit(), factors.view(), x.sparse().shape(), op),
        |x| dense::pair(x.view(), factors.view(), op),
    )
}
