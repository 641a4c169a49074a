//! Arbitrary functions of two elements.

use super::Partner;
use crate::base::error::Result;
use crate::element::Element;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::Zip;
use crate::ops::operand::Operand;
#[allow(unused_imports)] // for the page
use crate::tensor::stored::Stored;

/// A function that the caller passes.
struct With<'a, F>(&'a F);

impl<F> Clone for With<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for With<'_, F> {}

impl<F: Sync> Op for With<'_, F> {
    fn name(&self) -> &'static str {
        "zip_with"
    }
}

impl<A: Element, B: Element, U: Element, F: Fn(A, B) -> U + Sync> Zip<A, B> for With<'_, F> {
    type Out = U;

    #[inline(always)]
    fn apply(&self, a: A, b: B) -> Outcome<U> {
        Ok((self.0)(a, b))
    }
}

/// Returns the results of a function of two elements at each position.
///
/// *z*<sub>k</sub> = *f*(*x*<sub>k</sub>, *y*<sub>k</sub>) at each position *k* of the result *z*
///
/// # Shapes
///
/// The operands have equal shapes, or are broadcast as in numpy. [`Partner`] lists the types of right operands. The
/// elements may have two types, and the results a third type. The result is sparse if an operand is sparse. The result
/// of two arrays is an array.
///
/// # Implicit values
///
/// If only one operand has an entry at a position, the other operand contributes its fill. The result stores the union
/// of both patterns, because the results of `f` are not known in advance. The fill of the result is `f` of both fills.
/// A fill of zero is `+0.0`.
///
/// For [stored views](Stored), the result has the common entries. The fill is the fill of an operand that has the
/// result type, or zero if neither operand has this type. If only one operand is sparse, the result has the pattern of
/// this operand, broadcast to the shape of the result. All unstored positions of this result must have one value,
/// except for stored views.
///
/// # NaN
///
/// `f` receives and returns NaN like any other value.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes cannot be broadcast together;
/// - `FillsDiffer`: one operand is a stored view, the other operand is sparse, and the fills differ. This error occurs
///   only if both operands have the type of the results;
/// - `FillVaries`: the elements of an array operand would lead to different values at unstored positions;
/// - `AxisTooLong`: an axis of an array operand is too long for the index type of the sparse operand;
/// - `TooLarge`: the result of broadcast operands needs more than the larger of 1 GiB and 16 times the bytes of the
///   operands.
///
/// # Complexity
///
/// O(entries of both operands), and one call of `f` per entry of the result. For two arrays: one call of `f` per
/// element of the result.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, zip_with};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![3.0_f64, 5.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![12.0, 7.0], 0.0)?;
/// let z = zip_with(&x, &y, f64::hypot)?;
/// assert_eq!(z.entries(), [(vec![0], 3.0), (vec![1], 13.0), (vec![2], 7.0)]);
/// assert_eq!(z.to_dense()?, zip_with(&x.to_dense()?, &y.to_dense()?, f64::hypot)?);
/// assert_eq!(x.stored().zip_with(&y, |a, b| a < b)?.entries(), [(vec![1], true)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`Zip::map_collect`](https://docs.rs/ndarray/latest/ndarray/struct.Zip.html#method.map_collect) of
/// ndarray.
#[doc(alias = "zip_map")]
#[doc(alias = "binary")]
#[doc(alias = "numpy.frompyfunc")]
pub fn zip_with<X: Operand, Y: Partner<X>, U: Element>(
    x: &X,
    y: Y,
    f: impl Fn(X::Elem, Y::Elem) -> U + Sync,
) -> Result<Y::Zipped<U>> {
    y.zip(x, With(&f))
}
