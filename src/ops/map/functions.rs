//! Elementwise functions of real numbers: roots, exponentials, logarithms, trigonometric and hyperbolic functions, and
//! their gradients.

use std::f64::consts::{LN_2, LN_10};

use crate::base::error::Result;
use crate::element::{Float, Real, lanes, math};
use crate::kernels::map::{Called, Each};
use crate::ops::operand::Operand;
use crate::ops::{OpSpec, op};

/// Returns a function of few instructions, which is computed in `f64` and rounded once.
fn quick<T: Float>(op: &OpSpec, f: impl Fn(f64) -> f64 + Copy + Sync) -> Each<impl Fn(T) -> Option<T> + Copy + Sync> {
    Each::quick(op.name, move |value: T| Some(T::from_f64(f(value.to_f64()))))
}

functions! {
    /// The square root of each element.
    ///
    /// *y*<sub>i</sub> = √*x*<sub>i</sub>
    fn sqrt() = quick(&op::sqrt, f64::sqrt), "the real number, rounded once";
    /// NaN and numbers below zero give NaN; `-0.0` gives `-0.0`.
    =>
    fn sqrt_backward, "1 / (2 √*x*<sub>i</sub>)";
    /// assert_eq!(sqrt(&arr1(&[4.0f32, 0.0]))?, arr1(&[2.0, 0.0]));
    ;

    /// The cube root of each element.
    ///
    /// *y*<sub>i</sub> = ∛*x*<sub>i</sub>
    fn cbrt() = Called(&math::cbrt), "the real number, rounded once";
    /// NaN gives NaN; numbers below zero have a cube root.
    =>
    fn cbrt_backward, "1 / (3 (∛*x*<sub>i</sub>)²)";
    /// assert_eq!(cbrt(&arr1(&[-8.0, 27.0]))?, arr1(&[-2.0, 3.0]));
    ;

    /// The exponential function of each element.
    ///
    /// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup>
    fn exp() = lanes::exp(), "within 1 unit in the last place of the real number";
    /// NaN gives NaN; `-inf` gives 0.
    =>
    fn exp_backward, "e<sup>*x*<sub>i</sub></sup>";
    /// assert_eq!(exp(&arr1(&[0.0, f32::NEG_INFINITY]))?, arr1(&[1.0, 0.0]));
    ;

    /// The exponential function less one, exact near zero.
    ///
    /// *y*<sub>i</sub> = e<sup>*x*<sub>i</sub></sup> − 1
    ///
    /// It keeps a fill of zero.
    fn exp_m1() = lanes::exp_m1(), "within 1 unit in the last place of the real number";
    /// NaN gives NaN; `-inf` gives -1.
    =>
    fn exp_m1_backward, "e<sup>*x*<sub>i</sub></sup>";
    /// assert_eq!(exp_m1(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
    ;

    /// The natural logarithm of each element.
    ///
    /// *y*<sub>i</sub> = ln *x*<sub>i</sub>
    ///
    /// The logarithm of zero is `-inf`: a sparse tensor with a fill of zero gets that fill. [`ln_1p`] keeps a fill of
    /// zero, and `x.stored()` any fill.
    #[doc(alias = "log")]
    fn ln() = Called(&math::ln), "within 1 unit in the last place of the real number";
    /// NaN and numbers below zero give NaN.
    =>
    fn ln_backward, "1 / *x*<sub>i</sub>";
    /// assert_eq!(x.with_fill(0.0).stored().ln()?.fill(), 0.0);
    ;

    /// The natural logarithm of one more than each element, exact near zero.
    ///
    /// *y*<sub>i</sub> = ln(1 + *x*<sub>i</sub>)
    ///
    /// It keeps a fill of zero.
    #[doc(alias = "log1p")]
    fn ln_1p() = lanes::ln_1p(), "within 1 unit in the last place of the real number";
    /// NaN and numbers below -1 give NaN; -1 gives `-inf`.
    =>
    fn ln_1p_backward, "1 / (1 + *x*<sub>i</sub>)";
    /// assert_eq!(ln_1p(&arr1(&[0.0, 1e-300]))?, arr1(&[0.0, 1e-300]));
    ;

    /// The logarithm of each element to the base 2.
    ///
    /// *y*<sub>i</sub> = log<sub>2</sub> *x*<sub>i</sub>
    fn log2() = Called(&math::log2), "within 1 unit in the last place of the real number";
    /// NaN and numbers below zero give NaN; zero gives `-inf`.
    =>
    fn log2_backward, "1 / (*x*<sub>i</sub> ln 2)";
    /// assert_eq!(log2(&arr1(&[8.0, 0.5]))?, arr1(&[3.0, -1.0]));
    ;

    /// The logarithm of each element to the base 10.
    ///
    /// *y*<sub>i</sub> = log<sub>10</sub> *x*<sub>i</sub>
    fn log10() = Called(&math::log10), "within 1 unit in the last place of the real number";
    /// NaN and numbers below zero give NaN; zero gives `-inf`.
    =>
    fn log10_backward, "1 / (*x*<sub>i</sub> ln 10)";
    /// assert_eq!(log10(&arr1(&[100.0, 1.0]))?, arr1(&[2.0, 0.0]));
    ;

    /// The sine of each element, an angle in radians.
    ///
    /// *y*<sub>i</sub> = sin *x*<sub>i</sub>
    fn sin() = Called(&math::sin), "within 1 unit in the last place of the real number";
    /// NaN and infinities give NaN.
    =>
    fn sin_backward, "cos *x*<sub>i</sub>";
    /// assert_eq!(sin(&arr1(&[0.0, -0.0]))?, arr1(&[0.0, -0.0]));
    ;

    /// The cosine of each element, an angle in radians.
    ///
    /// *y*<sub>i</sub> = cos *x*<sub>i</sub>
    fn cos() = Called(&math::cos), "within 1 unit in the last place of the real number";
    /// NaN and infinities give NaN.
    =>
    fn cos_backward, "−sin *x*<sub>i</sub>";
    /// assert_eq!(cos(&arr1(&[0.0, -0.0]))?, arr1(&[1.0, 1.0]));
    ;

    /// The tangent of each element, an angle in radians.
    ///
    /// *y*<sub>i</sub> = tan *x*<sub>i</sub>
    fn tan() = Called(&math::tan), "within 1 unit in the last place of the real number";
    /// NaN and infinities give NaN.
    =>
    fn tan_backward, "(1 + tan² *x*<sub>i</sub>)";
    /// assert_eq!(tan(&arr1(&[0.0]))?, arr1(&[0.0]));
    ;

    /// The arc sine of each element, between −π/2 and π/2.
    ///
    /// *y*<sub>i</sub> = arcsin *x*<sub>i</sub>
    #[doc(alias = "arcsin")]
    fn asin() = Called(&math::asin), "within 1 unit in the last place of the real number";
    /// NaN and numbers outside of −1 to 1 give NaN.
    =>
    fn asin_backward, "1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    /// assert_eq!(asin(&arr1(&[0.0, 1.0]))?, arr1(&[0.0, std::f64::consts::FRAC_PI_2]));
    ;

    /// The arc cosine of each element, between 0 and π.
    ///
    /// *y*<sub>i</sub> = arccos *x*<sub>i</sub>
    #[doc(alias = "arccos")]
    fn acos() = Called(&math::acos), "within 1 unit in the last place of the real number";
    /// NaN and numbers outside of −1 to 1 give NaN.
    =>
    fn acos_backward, "−1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    /// assert_eq!(acos(&arr1(&[1.0, -1.0]))?, arr1(&[0.0, std::f64::consts::PI]));
    ;

    /// The arc tangent of each element, between −π/2 and π/2.
    ///
    /// *y*<sub>i</sub> = arctan *x*<sub>i</sub>
    #[doc(alias = "arctan")]
    fn atan() = Called(&math::atan), "within 1 unit in the last place of the real number";
    /// NaN gives NaN; the infinities give ±π/2.
    =>
    fn atan_backward, "1 / (1 + *x*<sub>i</sub>²)";
    /// assert_eq!(atan(&arr1(&[0.0, f64::INFINITY]))?, arr1(&[0.0, std::f64::consts::FRAC_PI_2]));
    ;

    /// The hyperbolic sine of each element.
    ///
    /// *y*<sub>i</sub> = (e<sup>*x*<sub>i</sub></sup> − e<sup>−*x*<sub>i</sub></sup>) / 2
    fn sinh() = Called(&math::sinh), "within 2 units in the last place of the real number";
    /// NaN gives NaN.
    =>
    fn sinh_backward, "cosh *x*<sub>i</sub>";
    /// assert_eq!(sinh(&arr1(&[0.0, -0.0]))?, arr1(&[0.0, -0.0]));
    ;

    /// The hyperbolic cosine of each element.
    ///
    /// *y*<sub>i</sub> = (e<sup>*x*<sub>i</sub></sup> + e<sup>−*x*<sub>i</sub></sup>) / 2
    fn cosh() = Called(&math::cosh), "within 2 units in the last place of the real number";
    /// NaN gives NaN.
    =>
    fn cosh_backward, "sinh *x*<sub>i</sub>";
    /// assert_eq!(cosh(&arr1(&[0.0]))?, arr1(&[1.0]));
    ;

    /// The hyperbolic tangent of each element.
    ///
    /// *y*<sub>i</sub> = sinh *x*<sub>i</sub> / cosh *x*<sub>i</sub>
    fn tanh() = Called(&math::tanh), "within 2 units in the last place of the real number";
    /// NaN gives NaN; the infinities give ±1.
    =>
    fn tanh_backward, "1 / cosh² *x*<sub>i</sub>";
    /// assert_eq!(tanh(&arr1(&[0.0, f64::INFINITY]))?, arr1(&[0.0, 1.0]));
    ;

    /// One divided by each element.
    ///
    /// *y*<sub>i</sub> = 1 / *x*<sub>i</sub>
    #[doc(alias = "reciprocal")]
    fn recip() = quick(&op::recip, |x| 1.0 / x), "the real number, rounded once";
    /// NaN gives NaN; zeros give the infinity of their sign.
    =>
    fn recip_backward, "−1 / *x*<sub>i</sub>²";
    /// assert_eq!(recip(&arr1(&[4.0, f64::INFINITY]))?, arr1(&[0.25, 0.0]));
    ;

    /// Each element to the power of a number.
    ///
    /// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
    ///
    /// [`powi`](crate::powi) takes integers to an integer power; what is raised to 2 is [`square`](crate::square)d.
    #[doc(alias = "power")]
    fn powf(exponent: X::Elem = 1.5) = Called(&|x| math::pow(x, exponent.to_f64())),
        "within 1 unit in the last place of the real number";
    /// NaN gives NaN but to the power of 0, which is 1; so do numbers below zero to a power that is no integer. 1 is 1
    /// to any power, NaN included.
    =>
    fn powf_backward, "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// assert_eq!(powf(&arr1(&[4.0, 0.0]), 1.5)?, arr1(&[8.0, 0.0]));
    ;
}

macro_rules! roundings {
    ($($(#[$sentence:meta])* fn $name:ident = $f:expr, $example:literal;)*) => {
        elementwise! {$(
            $(#[$sentence])*
            fn $name<Float>() -> X::Elem = quick(&op::$name, $f);
            /// NaN gives NaN. Infinities stay, and so do zeros with their sign.
            =>
            /// None: the result is constant almost everywhere.
            =>
            =>
            /// ```
            #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
            ///
            /// let x = CooTensor::new([6], vec![vec![0, 1, 2, 3]], vec![-1.5, -0.5, 0.5, 2.5], 3.5)?;
            #[doc = concat!("let y = ", stringify!($name), "(&x)?;")]
            #[doc = concat!("assert_eq!((y.values(), y.fill()), ", $example, ");")]
            #[doc = concat!("assert_eq!(y.to_dense()?, ", stringify!($name), "(&x.to_dense()?)?);")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            ///
            /// Definition:
            #[doc = concat!(
                "[`numpy.", stringify!($name), "`](https://numpy.org/doc/stable/reference/generated/numpy.",
                stringify!($name), ".html)."
            )]
            ;
        )*}
    };
}

roundings! {
    /// The integer nearest to each element, of two that are as near the even one.
    ///
    /// *y*<sub>i</sub> = the *n* ∈ ℤ with |*x*<sub>i</sub> − *n*| least
    ///
    /// As numpy, torch and IEEE 754 have it; `f64::round`, and the method of `ndarray` arrays, go away from zero.
    #[doc(alias = "rint")]
    #[doc(alias = "round_ties_even")]
    fn round = f64::round_ties_even, "(&[-2.0, -0.0, 0.0, 2.0][..], 4.0)";

    /// The greatest integer that is not above each element.
    ///
    /// *y*<sub>i</sub> = ⌊*x*<sub>i</sub>⌋
    fn floor = f64::floor, "(&[-2.0, -1.0, 0.0, 2.0][..], 3.0)";

    /// The least integer that is not below each element.
    ///
    /// *y*<sub>i</sub> = ⌈*x*<sub>i</sub>⌉
    fn ceil = f64::ceil, "(&[-1.0, -0.0, 1.0, 3.0][..], 4.0)";

    /// Each element without its fraction: the nearest integer that is not further from zero.
    ///
    /// *y*<sub>i</sub> = sign(*x*<sub>i</sub>) ⌊|*x*<sub>i</sub>|⌋
    #[doc(alias = "fix")]
    fn trunc = f64::trunc, "(&[-1.0, -0.0, 0.0, 2.0][..], 3.0)";
}

gradients! {
    fn sqrt_backward of sqrt() = |x: f64| 0.5 / x.sqrt(), "1 / (2 √*x*<sub>i</sub>)";
    fn cbrt_backward of cbrt() = |x| {
        let root = math::cbrt(x);
        1.0 / (3.0 * (root * root))
    }, "1 / (3 (∛*x*<sub>i</sub>)²)";
    fn exp_backward of exp() = math::exp, "e<sup>*x*<sub>i</sub></sup>";
    fn exp_m1_backward of exp_m1() = math::exp, "e<sup>*x*<sub>i</sub></sup>";
    fn ln_backward of ln() = |x| 1.0 / x, "1 / *x*<sub>i</sub>";
    fn ln_1p_backward of ln_1p() = |x| 1.0 / (1.0 + x), "1 / (1 + *x*<sub>i</sub>)";
    fn log2_backward of log2() = |x| 1.0 / (x * LN_2), "1 / (*x*<sub>i</sub> ln 2)";
    fn log10_backward of log10() = |x| 1.0 / (x * LN_10), "1 / (*x*<sub>i</sub> ln 10)";
    fn sin_backward of sin() = math::cos, "cos *x*<sub>i</sub>";
    fn cos_backward of cos() = |x| -math::sin(x), "−sin *x*<sub>i</sub>";
    fn tan_backward of tan() = |x| 1.0 + square_of(math::tan(x)), "(1 + tan² *x*<sub>i</sub>)";
    fn asin_backward of asin() = |x| 1.0 / half_chord(x), "1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    fn acos_backward of acos() = |x| -1.0 / half_chord(x), "−1 / √((1 − *x*<sub>i</sub>) (1 + *x*<sub>i</sub>))";
    fn atan_backward of atan() = |x| 1.0 / (1.0 + x * x), "1 / (1 + *x*<sub>i</sub>²)";
    fn sinh_backward of sinh() = math::cosh, "cosh *x*<sub>i</sub>";
    fn cosh_backward of cosh() = math::sinh, "sinh *x*<sub>i</sub>";
    fn tanh_backward of tanh() = |x| square_of(1.0 / math::cosh(x)), "1 / cosh² *x*<sub>i</sub>";
    fn recip_backward of recip() = |x| -square_of(1.0 / x), "−1 / *x*<sub>i</sub>²";
    fn powf_backward of powf(exponent: X::Elem = 1.5) = |x| math::slope_of_pow(x, exponent.to_f64()),
        "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// The slope of a constant, to the power of 0, is 0 everywhere.
}

fn square_of(x: f64) -> f64 {
    x * x
}

/// Returns half the length of the chord of the unit circle at `x`.
fn half_chord(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}
