//! Gradients of elementwise functions.

use std::f64::consts::{LN_2, LN_10};

use super::numbers::checked_bounds;
use crate::base::error::Result;
use crate::element::{Float, Real, math};
use crate::ops::operand::Operand;

/// Defines gradients: the function with its arguments and their values in the example, the derivative as code, and the
/// derivative as a formula.
macro_rules! gradients {
    ($(
        fn $backward:ident of $name:ident($($arg:ident: $type:ty = $value:expr),*) = $derivative:expr, $formula:literal;
        $(#[$note:meta])*
    )*) => {$(
        #[doc = concat!(
            "Returns the gradient of [`", stringify!($name), "`](crate::", stringify!($name), "()): the upstream ",
            "gradient times the derivative."
        )]
        ///
        #[doc = concat!("*dx*<sub>i</sub> = *dy*<sub>i</sub> · ", $formula)]
        ///
        $(#[$note])*
        ///
        #[doc = include_str!("pages/gradient.md")]
        /// ```
        #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), ", grad};")]
        /// use ndarray::{arr0, arr1};
        ///
        /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
        /// let upstream = arr1(&[2.0, 1.0, -1.0]);
        #[doc = concat!("let dx = grad::", stringify!($name), "(&x, &upstream", $(", ", stringify!($value),)* ")?;")]
        /// assert!(dx.shares_pattern_with(&x));
        ///
        /// // The dense gradient is the same at every stored position.
        #[doc = concat!(
            "let dense = grad::", stringify!($name), "(&x.to_dense()?, &upstream", $(", ", stringify!($value),)* ")?;"
        )]
        /// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
        ///
        /// // Twice the derivative of the function.
        #[doc = concat!(
            "let f = |at: f64| ", stringify!($name), "(&arr0(at)", $(", ", stringify!($value),)*
            ").map(ndarray::Array0::into_scalar);"
        )]
        /// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
        /// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        #[doc(alias = "vjp")]
        pub fn $backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
            x: &X,
            upstream: &U
            $(, $arg: $type)*
        ) -> Result<X::Mapped<U::Elem>> {
            x.by_slopes(&$derivative, upstream)
        }
    )*};
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
    /// The derivative of the power with exponent 0 is 0 everywhere.
    fn neg_backward of neg() = |_| -1.0, "−1";
    fn abs_backward of abs() = math::sign, "sign *x*<sub>i</sub>";
    /// The derivative at zero is 0.
    fn square_backward of square() = |x| 2.0 * x, "2 *x*<sub>i</sub>";
    fn powi_backward of powi(exponent: i32 = 3) = |x| math::slope_of_pow(x, exponent.into()),
        "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// The derivative of the power with exponent 0 is 0 everywhere.
    fn clamp_backward of clamp(low: X::Elem = 0.1, high: X::Elem = 0.3) = {
        let (low, high) = checked_bounds(low.to_f64(), high.to_f64())?;
        move |x: f64| if x.is_nan() { x } else { f64::from(u8::from((low..=high).contains(&x))) }
    }, "1 where low ≤ *x*<sub>i</sub> ≤ high, 0 otherwise";
    /// Bounds that [`clamp`](crate::clamp()) rejects are an `Argument` error.
}

fn square_of(x: f64) -> f64 {
    x * x
}

/// Returns half the length of the chord of the unit circle at `x`.
fn half_chord(x: f64) -> f64 {
    ((1.0 - x) * (1.0 + x)).sqrt()
}
