//! Logical operations on `bool`, and bitwise operations on integers.

use super::descriptors::{BitAnd, BitOr, BitXor};
use super::{Partner, moved};
use crate::base::error::Result;
use crate::element::Bits;
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, UnpairedEntry, Zip};
use crate::ops::operand::Operand;

impl<T: Bits> Zip<T, T> for BitAnd {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(a & b)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill == T::ZERO)
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill == T::ZERO)
    }
}

/// Returns the logical "and"; for integers, the "and" of each bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ∧ *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is zero or `false`, all results with that fill are the same. In this case, entries of only
/// the other operand are not stored. For [stored views](crate::Stored), the result has the common entries and the
/// common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The elements are `bool` or integers, which do not have NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, bit_and};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_and(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![1], 2)]);
/// assert_eq!(z.to_dense()?, bit_and(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_and(&y)?.entries(), [(vec![1], 2)]);
/// assert!(x.bit_and(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, bit_and};
///
/// let x = CooTensor::full([2], 1.0)?;
/// bit_and(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_and`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_and.html).
#[doc(alias = "logical_and")]
#[doc(alias = "intersection")]
#[doc(alias = "numpy.bitwise_and")]
#[doc(alias = "numpy.logical_and")]
pub fn bit_and<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitAnd)
}

impl<T: Bits> Zip<T, T> for BitOr {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(a | b)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill == !T::ZERO)
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill == !T::ZERO)
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }

    fn absorbing(&self, (min, max): (i128, i128)) -> Option<i128> {
        (min == 0).then_some(max)
    }
}

/// Returns the logical "or"; for integers, the "or" of each bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ∨ *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand has all bits set or is `true`, all results with that fill are the same. In this case,
/// entries of only the other operand are not stored. For [stored views](crate::Stored), an entry of only one operand is
/// copied unchanged, and the result has the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The elements are `bool` or integers, which do not have NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, bit_or};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_or(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1), (vec![1], 7), (vec![2], 3)]);
/// assert_eq!(z.to_dense()?, bit_or(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_or(&y)?.entries(), [(vec![0], 1), (vec![1], 7), (vec![2], 3)]);
/// assert!(x.bit_or(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, bit_or};
///
/// let x = CooTensor::full([2], 1.0)?;
/// bit_or(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_or`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_or.html).
#[doc(alias = "logical_or")]
#[doc(alias = "union")]
#[doc(alias = "numpy.bitwise_or")]
#[doc(alias = "numpy.logical_or")]
pub fn bit_or<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitOr)
}

impl<T: Bits> Zip<T, T> for BitXor {
    type Out = T;

    fn counts_unpaired(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(a ^ b)
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }
}

/// Returns the exclusive "or"; for integers, the exclusive "or" of each bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ⊕ *y*<sub>k</sub>
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// For [stored views](crate::Stored), an entry of only one operand is copied unchanged, and the result has the common
/// fill.
#[doc = page!(implicit)]
/// # NaN
///
/// The elements are `bool` or integers, which do not have NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, bit_xor};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_xor(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1), (vec![1], 5), (vec![2], 3)]);
/// assert_eq!(z.to_dense()?, bit_xor(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_xor(&y)?.entries(), [(vec![0], 1), (vec![1], 5), (vec![2], 3)]);
/// assert!(x.bit_xor(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, bit_xor};
///
/// let x = CooTensor::full([2], 1.0)?;
/// bit_xor(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_xor`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_xor.html).
#[doc(alias = "logical_xor")]
#[doc(alias = "symmetric_difference")]
#[doc(alias = "numpy.bitwise_xor")]
#[doc(alias = "numpy.logical_xor")]
pub fn bit_xor<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitXor)
}
