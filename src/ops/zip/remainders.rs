//! Remainders, and quotients rounded down. Only a fill of NaN makes all results the same.

use super::Partner;
use super::descriptors::{DivFloor, Rem, RemEuclid, RemFloor};
use crate::base::error::Result;
use crate::element::Remainder;
use crate::kernels::op::{GroupError, Outcome};
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::operand::Operand;

impl<T: Remainder> Zip<T, T> for Rem {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_rem(b).ok_or(GroupError::DivisionByZero)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the remainder of truncated division, with the sign of the left operand.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> − *y*<sub>k</sub> · trunc(*x*<sub>k</sub> / *y*<sub>k</sub>)
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
#[doc = page!(quotient_fill)]
#[doc = page!(implicit)]
/// # NaN
///
/// For floats, NaN in either operand, a divisor of zero, and an infinite *x* yield NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `DivisionByZero`: an integer element or an integer fill is divided by zero;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, rem};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![4.0, 2.0], 4.0)?;
/// let z = rem(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], -3.0), (vec![1], 3.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, rem(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, rem};
///
/// let x = CooTensor::full([2], lacuna::num_complex::Complex::new(1.0, 0.0))?;
/// rem(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.fmod`](https://numpy.org/doc/stable/reference/generated/numpy.fmod.html), except that an integer
/// divided by zero is an error.
#[doc(alias = "modulo")]
#[doc(alias = "numpy.fmod")]
#[doc(alias = "torch.fmod")]
pub fn rem<X: Operand<Elem: Remainder>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Rem)
}

impl<T: Remainder> Zip<T, T> for RemEuclid {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_rem_euclid(b).ok_or(GroupError::DivisionByZero)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the nonnegative remainder of the division of two operands.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> mod |*y*<sub>k</sub>|
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
#[doc = page!(quotient_fill)]
#[doc = page!(implicit)]
/// # NaN
///
/// For floats, NaN in either operand, a divisor of zero, and an infinite *x* yield NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `DivisionByZero`: an integer element or an integer fill is divided by zero;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, rem_euclid};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![4.0, 2.0], 4.0)?;
/// let z = rem_euclid(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 3.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, rem_euclid(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`f64::rem_euclid`](https://doc.rust-lang.org/std/primitive.f64.html#method.rem_euclid).
#[doc(alias = "mod")]
#[doc(alias = "modulo")]
pub fn rem_euclid<X: Operand<Elem: Remainder>, Y: Partner<X, Elem = X::Elem>>(
    x: &X,
    y: Y,
) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, RemEuclid)
}

impl<T: Remainder> Zip<T, T> for DivFloor {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_div_floor(b).ok_or_else(|| {
            if b.is_truthy() { GroupError::Overflow(T::DTYPE.name()) } else { GroupError::DivisionByZero }
        })
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        // At an unstored position of the divisor, its fill would be the divisor.
        match other {
            None if !fill.is_truthy() => FillEffect::AnnihilatedIfFinite,
            _ => FillEffect::annihilated_if(fill.isnan()),
        }
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the quotient of two operands, rounded down to an integer.
///
/// *z*<sub>k</sub> = ⌊*x*<sub>k</sub> / *y*<sub>k</sub>⌋
///
/// [`rem_floor`](crate::rem_floor()) returns the remainder of this division. Quotients of floats are computed in `f64`,
/// and are exact up to 2<sup>51</sup> before they are rounded to the element type. A larger quotient is within 2 units
/// in the last place.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
#[doc = page!(quotient_fill)]
#[doc = page!(implicit)]
/// # NaN
///
/// For floats, NaN in either operand, `0 / 0`, and an infinite *x* with a nonzero *y* yield NaN. Any other float
/// divided by zero yields an infinity.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `DivisionByZero`: an integer element or an integer fill is divided by zero;
/// - `NonFinite`: an unstored zero of *x* is divided by an element of *y* that is zero or NaN. Only a broadcast sparse
///   *y* that stores every position leads to this error;
/// - `Overflow`: the smallest integer of a signed type is divided by −1;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, div_floor};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![4.0, 2.0], 4.0)?;
/// let z = div_floor(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], -2.0), (vec![1], 1.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, div_floor(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.floor_divide`](https://numpy.org/doc/stable/reference/generated/numpy.floor_divide.html), except
/// that integers divided by zero and integers that overflow are errors.
#[doc(alias = "numpy.floor_divide")]
#[doc(alias = "torch.floor_divide")]
pub fn div_floor<X: Operand<Elem: Remainder>, Y: Partner<X, Elem = X::Elem>>(
    x: &X,
    y: Y,
) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, DivFloor)
}

impl<T: Remainder> Zip<T, T> for RemFloor {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_rem_floor(b).ok_or(GroupError::DivisionByZero)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }
}

/// Returns the remainder of floor division, with the sign of the right operand.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> − *y*<sub>k</sub> · ⌊*x*<sub>k</sub> / *y*<sub>k</sub>⌋
///
/// A float remainder of zero has the sign of *y*<sub>k</sub>.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
#[doc = page!(quotient_fill)]
#[doc = page!(implicit)]
/// # NaN
///
/// For floats, NaN in either operand, a divisor of zero, and an infinite *x* yield NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `DivisionByZero`: an integer element or an integer fill is divided by zero;
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, rem_floor};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![-4.0, 2.0], 4.0)?;
/// let z = rem_floor(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], -1.0), (vec![2], 0.0)]);
/// assert_eq!(z.to_dense()?, rem_floor(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.remainder`](https://numpy.org/doc/stable/reference/generated/numpy.remainder.html), except that
/// an integer divided by zero is an error.
#[doc(alias = "modulo")]
#[doc(alias = "numpy.mod")]
#[doc(alias = "numpy.remainder")]
#[doc(alias = "torch.remainder")]
pub fn rem_floor<X: Operand<Elem: Remainder>, Y: Partner<X, Elem = X::Elem>>(
    x: &X,
    y: Y,
) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, RemFloor)
}
