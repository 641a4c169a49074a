//! Powers, roots, exponentials and logarithms.

use std::f64::consts::{LN_2, LN_10};

use super::gradients::gradients;
use super::quick;
use crate::base::error::{Error, Result};
use crate::element::{Float, Real, RealNumber, lanes, math};
use crate::kernels::map::{CALL, Each, FunctionMap};
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the square of each element.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub>²
///
/// The square of a float is rounded once. `bool` and complex numbers do not compile.
///
#[doc = said!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN.
///
/// # Gradient
///
/// [`grad::square`](crate::grad::square()): *dx*<sub>i</sub> = *dy*<sub>i</sub> · 2 *x*<sub>i</sub>
///
/// # Errors
///
/// - `Overflow`: the square of an integer does not fit its type;
#[doc = said!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, square};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
/// assert_eq!(square(&x)?.to_dense()?, arr1(&[9, 0, 16]).into_dyn());
/// assert_eq!(square(&x)?.to_dense()?, square(&x.to_dense()?)?);
/// let refused = square(&arr1(&[15u8, 16])).unwrap_err().to_string();
/// assert_eq!(refused, "square at [1] does not fit uint8; cast beforehand, to float64 say");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.square`](https://numpy.org/doc/stable/reference/generated/numpy.square.html).
pub fn square<X: Operand<Elem: RealNumber>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&Each::quick(op::square.name, X::Elem::squared))
}

/// Returns the square root of each element.
///
/// *y*<sub>i</sub> = √*x*<sub>i</sub>
///
/// The result is correctly rounded.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN; `-0.0` yields `-0.0`.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, sqrt};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(sqrt(&x)?.to_dense()?, sqrt(&x.to_dense()?)?);
/// assert_eq!(sqrt(&arr1(&[4.0f32, 0.0]))?, arr1(&[2.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn sqrt<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&quick(&op::sqrt, f64::sqrt))
}

/// Returns the cube root of each element.
///
/// *y*<sub>i</sub> = ∛*x*<sub>i</sub>
///
/// The result is correctly rounded.
///
/// # NaN
///
/// NaN yields NaN; numbers below zero have a cube root.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, cbrt};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(cbrt(&x)?.to_dense()?, cbrt(&x.to_dense()?)?);
/// assert_eq!(cbrt(&arr1(&[-8.0, 27.0]))?, arr1(&[-2.0, 3.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn cbrt<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&FunctionMap(&math::cbrt))
}

/// Returns the reciprocal of each element.
///
/// *y*<sub>i</sub> = 1 / *x*<sub>i</sub>
///
/// The result is correctly rounded.
///
/// # NaN
///
/// NaN yields NaN; zeros yield the infinity of their sign.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, recip};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(recip(&x)?.to_dense()?, recip(&x.to_dense()?)?);
/// assert_eq!(recip(&arr1(&[4.0, f64::INFINITY]))?, arr1(&[0.25, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "reciprocal")]
pub fn recip<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&quick(&op::recip, |x| 1.0 / x))
}

/// Returns each element to the power of an integer.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
///
/// The power of a float is within 1 unit in the last place of the real number, with the same bits on every machine.
/// A square is rounded once. `bool` and complex numbers do not compile.
///
#[doc = said!(shapes)]
/// # NaN
///
/// NaN yields the canonical NaN but to the power of 0, which is 1.
///
/// # Gradient
///
/// [`grad::powi`](crate::grad::powi()):
/// *dx*<sub>i</sub> = *dy*<sub>i</sub> · exponent · *x*<sub>i</sub><sup>exponent − 1</sup>
///
/// # Errors
///
/// - `Overflow`: the power of an integer does not fit its type;
/// - `Argument`: an exponent below zero, of integers;
#[doc = said!(costs)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, powi};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
/// assert_eq!(powi(&x, 3)?.to_dense()?, arr1(&[27, 0, -64]).into_dyn());
/// assert_eq!(powi(&x, 3)?.to_dense()?, powi(&x.to_dense()?, 3)?);
/// assert_eq!(powi(&arr1(&[2.0, 0.5]), -2)?, arr1(&[0.25, 4.0]));
/// assert_eq!(powi(&x, -1).unwrap_err().to_string(), "powi: integers have no powers of -1");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.power`](https://numpy.org/doc/stable/reference/generated/numpy.power.html).
#[doc(alias = "power")]
pub fn powi<X: Operand<Elem: RealNumber>>(x: &X, exponent: i32) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&Each { operation: op::powi.name, picoseconds: CALL, f: power_of::<X::Elem>(exponent)? })
}

/// Returns each element to the power of a number.
///
/// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
///
/// [`powi`](crate::powi) takes integers to an integer power; what is raised to 2 is [`square`](crate::square)d.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN but to the power of 0, which is 1; so do numbers below zero to a power that is no integer. 1 is 1
/// to any power, NaN included.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, powf};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(powf(&x, 1.5)?.to_dense()?, powf(&x.to_dense()?, 1.5)?);
/// assert_eq!(powf(&arr1(&[4.0, 0.0]), 1.5)?, arr1(&[8.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "power")]
pub fn powf<X: Operand<Elem: Float>>(x: &X, exponent: X::Elem) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&FunctionMap(&|x| math::pow(x, exponent.to_f64())))
}

/// Returns the exponential of each element.
///
/// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN; `-inf` yields 0.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, exp};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(exp(&x)?.to_dense()?, exp(&x.to_dense()?)?);
/// assert_eq!(exp(&arr1(&[0.0, f32::NEG_INFINITY]))?, arr1(&[1.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn exp<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&lanes::exp())
}

/// Returns the exponential of each element minus 1, accurate near zero.
///
/// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup> − 1
///
/// It keeps a fill of zero.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN yields NaN; `-inf` yields -1.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, exp_m1};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(exp_m1(&x)?.to_dense()?, exp_m1(&x.to_dense()?)?);
/// assert_eq!(exp_m1(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn exp_m1<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&lanes::exp_m1())
}

/// Returns the natural logarithm of each element.
///
/// *y*<sub>i</sub> = ln *x*<sub>i</sub>
///
/// The logarithm of zero is `-inf`: a sparse tensor with a fill of zero gets that fill. [`ln_1p`] keeps a fill of
/// zero, and `x.stored()` any fill.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, ln};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(ln(&x)?.to_dense()?, ln(&x.to_dense()?)?);
/// assert_eq!(x.with_fill(0.0).stored().ln()?.fill(), 0.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "log")]
pub fn ln<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&FunctionMap(&math::ln))
}

/// Returns the natural logarithm of 1 plus each element, accurate near zero.
///
/// *y*<sub>i</sub> = ln(1 + *x*<sub>i</sub>)
///
/// It keeps a fill of zero.
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below -1 yield NaN; -1 yields `-inf`.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, ln_1p};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(ln_1p(&x)?.to_dense()?, ln_1p(&x.to_dense()?)?);
/// assert_eq!(ln_1p(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[doc(alias = "log1p")]
pub fn ln_1p<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&lanes::ln_1p())
}

/// Returns the base-2 logarithm of each element.
///
/// *y*<sub>i</sub> = log<sub>2</sub> *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN; zero yields `-inf`.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, log2};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(log2(&x)?.to_dense()?, log2(&x.to_dense()?)?);
/// assert_eq!(log2(&arr1(&[8.0, 0.5]))?, arr1(&[3.0, -1.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log2<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&FunctionMap(&math::log2))
}

/// Returns the base-10 logarithm of each element.
///
/// *y*<sub>i</sub> = log<sub>10</sub> *x*<sub>i</sub>
///
/// The result is within 1 unit in the last place.
///
/// # NaN
///
/// NaN and numbers below zero yield NaN; zero yields `-inf`.
///
#[doc = said!(float)]
/// ```
/// use lacuna::{CooTensor, log10};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
/// assert_eq!(log10(&x)?.to_dense()?, log10(&x.to_dense()?)?);
/// assert_eq!(log10(&arr1(&[100.0, 1.0]))?, arr1(&[2.0, 0.0]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log10<X: Operand<Elem: Float>>(x: &X) -> Result<X::Mapped<X::Elem>> {
    x.by_map(&FunctionMap(&math::log10))
}

/// Returns the function that raises a value to `exponent`, or an error if the type does not have such powers.
fn power_of<T: RealNumber>(exponent: i32) -> Result<impl Fn(T) -> Option<T> + Copy + Sync> {
    if exponent < 0 && T::ZERO.to_integer().is_some() {
        let why = format!("integers have no powers of {exponent}");
        return Err(Error::Argument { operation: op::powi.name, why });
    }
    Ok(move |value: T| value.raised(exponent))
}

gradients! {
    fn square_backward of square() = |x| 2.0 * x, "2 *x*<sub>i</sub>";
    fn sqrt_backward of sqrt() = |x: f64| 0.5 / x.sqrt(), "1 / (2 √*x*<sub>i</sub>)";
    fn cbrt_backward of cbrt() = |x| {
        let root = math::cbrt(x);
        1.0 / (3.0 * (root * root))
    }, "1 / (3 (∛*x*<sub>i</sub>)²)";
    fn recip_backward of recip() = |x| -((1.0 / x) * (1.0 / x)), "−1 / *x*<sub>i</sub>²";
    fn powi_backward of powi(exponent: i32 = 3) = |x| math::slope_of_pow(x, exponent.into()),
        "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// The derivative of the power with exponent 0 is 0 everywhere.
    fn powf_backward of powf(exponent: X::Elem = 1.5) = |x| math::slope_of_pow(x, exponent.to_f64()),
        "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// The derivative of the power with exponent 0 is 0 everywhere.
    fn exp_backward of exp() = math::exp, "e<sup>*x*<sub>i</sub></sup>";
    fn exp_m1_backward of exp_m1() = math::exp, "e<sup>*x*<sub>i</sub></sup>";
    fn ln_backward of ln() = |x| 1.0 / x, "1 / *x*<sub>i</sub>";
    fn ln_1p_backward of ln_1p() = |x| 1.0 / (1.0 + x), "1 / (1 + *x*<sub>i</sub>)";
    fn log2_backward of log2() = |x| 1.0 / (x * LN_2), "1 / (*x*<sub>i</sub> ln 2)";
    fn log10_backward of log10() = |x| 1.0 / (x * LN_10), "1 / (*x*<sub>i</sub> ln 10)";
}
