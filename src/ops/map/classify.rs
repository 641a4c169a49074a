//! Predicates of single elements: infinite, NaN, finite, real.

use std::convert::Infallible;

use super::Answers;
use super::apply;
use crate::base::error::Result;
use crate::base::threads;
use crate::element::{Element, Real};
use crate::kernels::map::Map;
use crate::ops::operand::Operand;

/// A map that returns `bool` and always has a result.
pub trait Predicate<T: Element>: Map<T, Out = bool, Fault = Infallible> {}
impl<T: Element, M: Map<T, Out = bool, Fault = Infallible>> Predicate<T> for M {}

/// The descriptor of a predicate: a function of one element, without branches.
struct Test<F>(F);

impl<T: Element, F: Fn(T) -> bool + Copy + Sync> Map<T> for Test<F> {
    type Out = bool;
    type Fault = Infallible;

    fn block(&self, values: &[T], answers: &mut [bool]) -> std::result::Result<(), Infallible> {
        threads::test_into(values, answers, 25 * size_of::<T>(), self.0);
        Ok(())
    }
}

/// Returns whether each element is an infinity of either sign.
///
/// *y*<sub>i</sub> = (|*x*<sub>i</sub>| = ∞)
///
/// A complex number is infinite if either part is infinite. Integers and `bool` yield `false`.
///
#[doc = page!(predicate)]
/// # NaN
///
/// NaN yields `false`. A complex number with a NaN part and an infinite part is both NaN and infinite.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isinf};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, -f64::INFINITY], 0.0)?;
/// assert_eq!(isinf(&x)?.to_dense()?, arr1(&[false, false, true]).into_dyn());
/// assert_eq!(isinf(&x)?.to_dense()?, isinf(&x.to_dense()?)?);
/// assert_eq!(isinf(&arr1(&[Complex::new(f32::NAN, f32::INFINITY)]))?, arr1(&[true]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isinf`](https://numpy.org/doc/stable/reference/generated/numpy.isinf.html).
#[doc(alias = "numpy.isinf")]
#[doc(alias = "torch.isinf")]
#[doc(alias = "is_infinite")]
pub fn isinf<X: Operand<Elem: Element>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Element::isinf))
}

/// Writes the results of [`isinf`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isinf_into<X: Operand<Elem: Element>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Element::isinf))
}

/// Returns whether each element is NaN.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ≠ *x*<sub>i</sub>)
///
/// A complex number is NaN if either part is NaN. Integers and `bool` yield `false`.
///
#[doc = page!(predicate)]
/// # NaN
///
/// Every NaN yields `true`, for any sign and payload.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isnan};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, f64::INFINITY], f64::NAN)?;
/// assert_eq!(isnan(&x)?.to_dense()?, arr1(&[false, true, false]).into_dyn());
/// assert_eq!(isnan(&x)?.to_dense()?, isnan(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isnan`](https://numpy.org/doc/stable/reference/generated/numpy.isnan.html).
#[doc(alias = "numpy.isnan")]
#[doc(alias = "torch.isnan")]
#[doc(alias = "is_nan")]
#[doc(alias = "isna")]
#[doc(alias = "isnull")]
pub fn isnan<X: Operand<Elem: Element>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Element::isnan))
}

/// Writes the results of [`isnan`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isnan_into<X: Operand<Elem: Element>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Element::isnan))
}

/// Returns whether each element is neither infinite nor NaN.
///
/// *y*<sub>i</sub> = (|*x*<sub>i</sub>| < ∞)
///
/// A complex number is finite if both parts are finite. Integers and `bool` yield `true`.
///
#[doc = page!(predicate)]
/// # NaN
///
/// NaN yields `false`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isfinite};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![f64::NAN, f64::INFINITY], 0.0)?;
/// assert_eq!(isfinite(&x)?.to_dense()?, arr1(&[false, true, false]).into_dyn());
/// assert_eq!(isfinite(&x)?.to_dense()?, isfinite(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isfinite`](https://numpy.org/doc/stable/reference/generated/numpy.isfinite.html).
#[doc(alias = "numpy.isfinite")]
#[doc(alias = "torch.isfinite")]
#[doc(alias = "is_finite")]
pub fn isfinite<X: Operand<Elem: Element>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Element::isfinite))
}

/// Writes the results of [`isfinite`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isfinite_into<X: Operand<Elem: Element>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Element::isfinite))
}

/// Returns whether each element has an imaginary part of zero.
///
/// *y*<sub>i</sub> = (Im *x*<sub>i</sub> = 0)
///
/// An imaginary part of `-0.0` is zero. Types without an imaginary part yield `true`.
///
#[doc = page!(predicate)]
/// # NaN
///
/// An imaginary part that is NaN yields `false`. A real part that is NaN does not matter. NaN of a type without an
/// imaginary part yields `true`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isreal};
/// use ndarray::arr1;
/// use num_complex::Complex;
///
/// let values = vec![Complex::new(f64::NAN, -0.0), Complex::new(1.0, f64::NAN)];
/// let x = CooTensor::new([3], vec![vec![0, 2]], values, Complex::new(0.0, 1.0))?;
/// assert_eq!(isreal(&x)?.to_dense()?, arr1(&[true, false, false]).into_dyn());
/// assert_eq!(isreal(&x)?.to_dense()?, isreal(&x.to_dense()?)?);
/// assert_eq!(isreal(&arr1(&[f32::NAN]))?, arr1(&[true]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isreal`](https://numpy.org/doc/stable/reference/generated/numpy.isreal.html).
#[doc(alias = "numpy.isreal")]
#[doc(alias = "torch.isreal")]
#[doc(alias = "iscomplex")]
pub fn isreal<X: Operand<Elem: Element>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Element::isreal))
}

/// Writes the results of [`isreal`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isreal_into<X: Operand<Elem: Element>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Element::isreal))
}

/// Returns whether each element is positive infinity.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> = +∞)
///
/// Integers and `bool` yield `false`. Complex elements do not have a sign, and do not compile.
///
#[doc = page!(predicate)]
/// # NaN
///
/// NaN yields `false`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isposinf};
/// use ndarray::arr1;
///
/// let infinity = f64::INFINITY;
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![-infinity, infinity], f64::NAN)?;
/// let y = isposinf(&x)?;
/// assert_eq!(y.to_dense()?, arr1(&[false, false, true, false]).into_dyn());
/// assert_eq!(y.to_dense()?, isposinf(&x.to_dense()?)?);
/// assert!(y.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Complex elements do not compile, in a tensor or in an array:
///
/// ```compile_fail,E0277
/// # use {lacuna::{CooTensor, isposinf}, num_complex::Complex};
/// isposinf(&CooTensor::full([2], Complex::new(0.0, 1.0)).unwrap());
/// ```
///
/// ```compile_fail,E0277
/// # use {lacuna::isposinf, num_complex::Complex};
/// isposinf(&ndarray::arr1(&[Complex::new(0.0, 1.0)]));
/// ```
///
/// Definition: [`numpy.isposinf`](https://numpy.org/doc/stable/reference/generated/numpy.isposinf.html).
#[doc(alias = "numpy.isposinf")]
#[doc(alias = "torch.isposinf")]
#[doc(alias = "is_infinite")]
pub fn isposinf<X: Operand<Elem: Real>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Real::isposinf))
}

/// Writes the results of [`isposinf`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isposinf_into<X: Operand<Elem: Real>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Real::isposinf))
}

/// Returns whether each element is negative infinity.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> = −∞)
///
/// Integers and `bool` yield `false`. Complex elements do not have a sign, and do not compile.
///
#[doc = page!(predicate)]
/// # NaN
///
/// NaN yields `false`.
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, isneginf};
/// use ndarray::arr2;
///
/// let infinity = f64::INFINITY;
/// let x = CsrTensor::new([2, 2], vec![0, 1, 2], vec![0, 1], vec![infinity, 0.0], -infinity)?;
/// let y = isneginf(&x)?;
/// assert_eq!(y.to_dense()?, arr2(&[[false, true], [true, false]]).into_dyn());
/// assert_eq!(y.to_dense()?, isneginf(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Complex elements do not compile, in a tensor or in an array:
///
/// ```compile_fail,E0277
/// # use {lacuna::{CsrTensor, isneginf}, num_complex::Complex};
/// isneginf(&CsrTensor::full([2, 2], Complex::new(0.0f32, 1.0)).unwrap());
/// ```
///
/// ```compile_fail,E0277
/// # use {lacuna::isneginf, num_complex::Complex};
/// isneginf(&ndarray::arr1(&[Complex::new(0.0f32, 1.0)]));
/// ```
///
/// Definition: [`numpy.isneginf`](https://numpy.org/doc/stable/reference/generated/numpy.isneginf.html).
#[doc(alias = "numpy.isneginf")]
#[doc(alias = "torch.isneginf")]
#[doc(alias = "is_infinite")]
pub fn isneginf<X: Operand<Elem: Real>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Real::isneginf))
}

/// Writes the results of [`isneginf`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn isneginf_into<X: Operand<Elem: Real>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Real::isneginf))
}

/// Returns whether each element is negative or −0.0.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> < 0), or `true` for `-0.0`
///
/// Unsigned integers and `bool` yield `false`. Complex elements do not have a sign, and do not compile.
///
#[doc = page!(predicate)]
/// # NaN
///
/// NaN yields `false` for any sign bit, because lacuna does not distinguish NaNs. numpy and PyTorch read the sign bit
/// of a NaN.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, signbit};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-5.0, 2.0], -0.0)?;
/// assert_eq!(signbit(&x)?.to_dense()?, arr1(&[true, true, false]).into_dyn());
/// assert_eq!(signbit(&x)?.to_dense()?, signbit(&x.to_dense()?)?);
/// assert_eq!(signbit(&arr1(&[-f64::NAN, 0.0]))?, arr1(&[false, false]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.signbit`](https://numpy.org/doc/stable/reference/generated/numpy.signbit.html), except for NaN.
#[doc(alias = "numpy.signbit")]
#[doc(alias = "torch.signbit")]
#[doc(alias = "is_sign_negative")]
pub fn signbit<X: Operand<Elem: Real>>(x: &X) -> Result<X::Mapped<bool>> {
    apply(x, &Test(Real::signbit))
}

/// Writes the results of [`signbit`] into an existing buffer.
///
#[doc = page!(predicate_into)]
pub fn signbit_into<X: Operand<Elem: Real>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
    out.take_answers(x, &Test(Real::signbit))
}
