//! The operations of one element, by name, and their slopes.
//!
//! Functions of floats are taken in `f64` and rounded to their type once; those that no processor has are the same port
//! that the library calls, which a table of the true values judges (`tests/data/functions.txt`). Every NaN is the
//! canonical one. Integers are computed without a bound, and then fit their type or do not.

use std::cmp::Ordering;
use std::f64::consts::PI;

use num_complex::Complex;

use super::scalar::{GradScalar, RealScalar, Scalar};

/// A float whose numbers all are `f64`s.
pub trait FloatScalar: GradScalar + RealScalar {
    /// Returns the number as `f64`, exactly.
    fn exact(self) -> f64;

    /// The nearest number, of two that are as near the one whose last bit is 0; the canonical NaN for any.
    fn nearest(wide: f64) -> Self;
}

impl FloatScalar for f64 {
    fn exact(self) -> f64 {
        self
    }

    fn nearest(wide: f64) -> f64 {
        wide.canonical()
    }
}

impl FloatScalar for f32 {
    fn exact(self) -> f64 {
        self.into()
    }

    fn nearest(wide: f64) -> f32 {
        (wide as f32).canonical()
    }
}

/// The nearest of the number that two roundings find and its neighbours. From the middle between the largest number and
/// its successor, the result is infinity.
#[cfg(feature = "half")]
macro_rules! half_scalar {
    ($($half:ty),*) => {$(
        impl FloatScalar for $half {
            fn exact(self) -> f64 {
                self.into()
            }

            fn nearest(wide: f64) -> Self {
                let largest = <$half>::MAX;
                let before = <$half>::from_bits(largest.to_bits() - 1);
                if wide.is_nan() {
                    return Self::canonical_nan();
                }
                if wide.abs() >= largest.exact() + (largest.exact() - before.exact()) / 2.0 {
                    return if wide > 0.0 { <$half>::INFINITY } else { <$half>::NEG_INFINITY };
                }
                let found = <$half>::from_f32(wide as f32);
                let found = if found == <$half>::INFINITY { largest } else { found };
                let found = if found == <$half>::NEG_INFINITY { -largest } else { found };
                let bits = found.to_bits();
                let around = [bits, bits ^ 1, bits.wrapping_add(1), bits.wrapping_sub(1)].map(<$half>::from_bits);
                let rank = |number: &$half| ((number.exact() - wide).abs(), number.to_bits() & 1);
                let finite = around.into_iter().filter(|number| number.is_finite());
                finite.min_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("finite")).expect("the first one")
            }
        }
    )*};
}

#[cfg(feature = "half")]
half_scalar!(half::f16, half::bf16);

/// A function of one real number.
pub fn function(name: &str, x: f64) -> f64 {
    let y = match name {
        "neg" => -x,
        "abs" if x < 0.0 => -x,
        "abs" if x == 0.0 => 0.0,
        "abs" => x,
        "sign" if x > 0.0 => 1.0,
        "sign" if x < 0.0 => -1.0,
        "sign" => x,
        "square" => x * x,
        "recip" => 1.0 / x,
        "sqrt" => libm::sqrt(x),
        "cbrt" => libm::cbrt(x),
        "exp" => libm::exp(x),
        "exp2" => libm::exp2(x),
        "exp_m1" => libm::expm1(x),
        "ln" => libm::log(x),
        "ln_1p" => libm::log1p(x),
        "log2" => libm::log2(x),
        "log10" => libm::log10(x),
        "sin" => libm::sin(x),
        "sinc" if x == 0.0 => 1.0,
        "sinc" => sin_of_turns(x.abs()) / (PI * x.abs()) + 0.0,
        "cos" => libm::cos(x),
        "tan" => libm::tan(x),
        "asin" => libm::asin(x),
        "acos" => libm::acos(x),
        "atan" => libm::atan(x),
        "sinh" => libm::sinh(x),
        "cosh" => libm::cosh(x),
        "tanh" => libm::tanh(x),
        "asinh" => libm::asinh(x),
        "acosh" if x < 1.0 => f64::NAN,
        "acosh" => libm::acosh(x),
        "atanh" => libm::atanh(x),
        "round" => rounded(x),
        "floor" => libm::floor(x),
        "ceil" => libm::ceil(x),
        "trunc" => libm::trunc(x),
        _ => panic!("no function {name}"),
    };
    y.canonical()
}

/// The sine of π times a number. Before the product, nothing is rounded.
fn sin_of_turns(x: f64) -> f64 {
    let quarters = (x % 2.0 * 2.0).round();
    let angle = (x % 2.0 - quarters / 2.0) * PI;
    match quarters as i32 % 4 {
        0 => libm::sin(angle),
        1 => libm::cos(angle),
        2 => -libm::sin(angle),
        _ => -libm::cos(angle),
    }
}

/// The slope of `sinc`: near zero a sum of powers.
fn slope_of_sinc(x: f64) -> f64 {
    if x.abs() >= 0.25 || x.is_nan() {
        return (sin_of_turns(x.abs() % 2.0 + 0.5) - function("sinc", x)) / x;
    }
    // Each term is the one before it times `-(πx)² (k + 1) / (k (2k + 2) (2k + 3))`.
    let square = (PI * x) * (PI * x);
    let terms = (1..9u32).rev().fold(1.0, |sum, k| 1.0 - sum * square / f64::from(2 * k * (2 * k + 3)));
    -PI * PI * x / 3.0 * terms
}

/// The nearest integer, of two that are as near the even one; a zero has the sign of `x`.
fn rounded(x: f64) -> f64 {
    let (below, above) = (libm::floor(x), libm::ceil(x));
    let nearest = match (x - below).partial_cmp(&(above - x)) {
        Some(Ordering::Less) => below,
        Some(Ordering::Greater) => above,
        _ if below % 2.0 == 0.0 => below,
        _ => above,
    };
    nearest.copysign(x)
}

/// `x` to the power of `y`.
pub fn power(x: f64, y: f64) -> f64 {
    let power = if y == 2.0 { x * x } else { libm::pow(x, y) };
    power.canonical()
}

/// The nearer of the bounds of what lies beyond them.
pub fn bounded<T: RealScalar>(x: T, low: T, high: T) -> T {
    if x.is_nan() {
        return x.canonical();
    }
    match (x.order(low), x.order(high)) {
        (Ordering::Less, _) => low,
        (_, Ordering::Greater) => high,
        _ => x,
    }
}

/// The slope of a function, as its page writes it.
pub fn slope(name: &str, x: f64) -> f64 {
    match name {
        "neg" => -1.0,
        "abs" => function("sign", x),
        "square" => 2.0 * x,
        "recip" => -((1.0 / x) * (1.0 / x)),
        "sqrt" => 0.5 / libm::sqrt(x),
        "cbrt" => 1.0 / (3.0 * (libm::cbrt(x) * libm::cbrt(x))),
        "exp2" => std::f64::consts::LN_2 * libm::exp2(x),
        "exp" | "exp_m1" => libm::exp(x),
        "ln" => 1.0 / x,
        "ln_1p" => 1.0 / (1.0 + x),
        "log2" => 1.0 / (x * std::f64::consts::LN_2),
        "log10" => 1.0 / (x * std::f64::consts::LN_10),
        "sin" => libm::cos(x),
        "sinc" => slope_of_sinc(x),
        "cos" => -libm::sin(x),
        "tan" => 1.0 + libm::tan(x) * libm::tan(x),
        "asin" => 1.0 / libm::sqrt((1.0 - x) * (1.0 + x)),
        "acos" => -1.0 / libm::sqrt((1.0 - x) * (1.0 + x)),
        "atan" => 1.0 / (1.0 + x * x),
        "sinh" => libm::cosh(x),
        "cosh" => libm::sinh(x),
        "tanh" => (1.0 / libm::cosh(x)) * (1.0 / libm::cosh(x)),
        "asinh" => 1.0 / libm::hypot(x, 1.0),
        "acosh" => 1.0 / (libm::sqrt(x - 1.0) * libm::sqrt(x + 1.0)),
        "atanh" => 1.0 / ((1.0 - x) * (1.0 + x)),
        _ => panic!("no slope of {name}"),
    }
}

/// The slope of [`power`].
pub fn slope_of_power(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y * power(x, y - 1.0) }
}

/// The slope of [`bounded`].
pub fn slope_of_bounded(x: f64, low: f64, high: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if low <= x && x <= high { 1.0 } else { 0.0 }
}

/// Returns the gradient that an element receives from the gradient of its result.
pub fn received<G: FloatScalar>(gradient: G, slope: f64) -> G {
    if gradient.truthy() { G::nearest(gradient.exact() * slope) } else { G::zero() }
}

/// A function of an integer of up to 64 bits, if 127 bits hold it.
pub fn of_integer(name: &str, x: i128) -> Option<i128> {
    match name {
        "neg" => Some(-x),
        "abs" => Some(x.abs()),
        "sign" => Some(x.signum()),
        "square" => x.checked_mul(x),
        _ => panic!("no function {name}"),
    }
}

/// The magnitude of a complex number.
pub fn magnitude<T: FloatScalar>(x: Complex<T>) -> T {
    T::nearest(libm::hypot(x.re.exact(), x.im.exact()))
}
