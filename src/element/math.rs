//! Functions of real numbers that processors do not implement.
//!
//! Only this module and `lanes` use libm; `docs/decisions/0012-functions.md` explains the choice and its accuracy.

pub(crate) use libm::{
    acos, asin, asinh, atan, atanh, cbrt, cos, cosh, exp, hypot, log as ln, log2, log10, sin, sinh, tan, tanh,
};

/// Returns the inverse hyperbolic cosine. libm returns numbers for some large negative `x`.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// Returns `x` to the power of `y`; a square is rounded once.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { libm::pow(x, y) }
}

/// Returns the derivative of [`pow`] at `x`.
pub(crate) fn slope_of_pow(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y * pow(x, y - 1.0) }
}

/// Returns the derivative of [`pow`] with respect to its exponent.
pub(crate) fn slope_of_exponent(x: f64, y: f64) -> f64 {
    if x == 0.0 && y >= 0.0 { 0.0 } else { pow(x, y) * ln(x) }
}

/// Returns -1, 0 or 1; a zero keeps its sign.
pub(crate) fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { 1f64.copysign(x) }
}
