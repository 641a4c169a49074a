//! Functions of real numbers that processors do not implement.
//!
//! Only this module and `lanes` use libm; `docs/decisions/0012-functions.md` explains the choice and its accuracy.

use std::f64::consts::PI;

pub(crate) use libm::{
    acos, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, exp, exp2, hypot, log as ln, log1p as ln_1p, log2, log10,
    sin, sinh, tan, tanh,
};

/// Returns the inverse hyperbolic cosine. libm returns numbers for some large negative `x`.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// Returns the sine of π times a number that is at least 0.
fn sin_pi(x: f64) -> f64 {
    // Each step until the multiplication with π is exact.
    let turned = x % 2.0;
    let quarter = (2.0 * turned).round();
    let angle = (turned - 0.5 * quarter) * PI;
    match quarter as u8 {
        1 => cos(angle),
        2 => -sin(angle),
        3 => -cos(angle),
        _ => sin(angle),
    }
}

/// Returns the cosine of π times a number that is at least 0.
fn cos_pi(x: f64) -> f64 {
    sin_pi(x % 2.0 + 0.5)
}

/// Returns `sin(πx) / (πx)`, and 1 at 0.
pub(crate) fn sinc(x: f64) -> f64 {
    let x = x.abs();
    // At other integers, the result is a zero without a sign.
    if x == 0.0 { 1.0 } else { sin_pi(x) / (PI * x) + 0.0 }
}

/// Returns the derivative of [`sinc`].
pub(crate) fn slope_of_sinc(x: f64) -> f64 {
    let size = x.abs();
    if size >= 0.25 {
        return (cos_pi(size) - sinc(size)) / x;
    }
    // The first terms of the power series. The difference above would lose digits near 0.
    let square = (PI * x) * (PI * x);
    let following = |sum: f64, k: u32| 1.0 - sum * square / f64::from(2 * k * (2 * k + 3));
    -PI * PI * x / 3.0 * (1..9).rev().fold(1.0, following)
}

/// Returns the remainder of a division rounded down, which has the sign of `y`.
pub(crate) fn rem_floor(x: f64, y: f64) -> f64 {
    let rest = x % y;
    match rest == 0.0 {
        true => rest.copysign(y),
        false if (rest < 0.0) != (y < 0.0) => rest + y,
        false => rest,
    }
}

/// Returns the largest integer that is at most `x / y`.
pub(crate) fn div_floor(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = x % y;
    // Without its remainder, `x` is a multiple of `y`. The quotient is an integer, except for its rounding.
    let quotient = ((x - rest) / y).round();
    let floor = if rest != 0.0 && (rest < 0.0) != (y < 0.0) { quotient - 1.0 } else { quotient };
    if floor == 0.0 { 0f64.copysign(x / y) } else { floor }
}

/// Returns the logarithm of the sum of the exponentials of two numbers.
pub(crate) fn logaddexp(x: f64, y: f64) -> f64 {
    let (least, largest) = if x < y { (x, y) } else { (y, x) };
    // The difference of equal infinities is NaN.
    if least == largest { largest + std::f64::consts::LN_2 } else { largest + ln_1p(exp(least - largest)) }
}

/// Returns the derivative of [`logaddexp`] with respect to `x`: the part of `x` in the sum of the exponentials.
pub(crate) fn slope_of_logaddexp(x: f64, y: f64) -> f64 {
    if x == y { 0.5 } else { 1.0 / (1.0 + exp(y - x)) }
}

/// Returns the cosine of the angle of the point `(x, y)`: the derivative of `hypot` with respect to `x`.
pub(crate) fn slope_of_hypot(x: f64, y: f64) -> f64 {
    let distance = hypot(x, y);
    if distance == 0.0 { 0.0 } else { x / distance }
}

/// Returns the derivatives of `atan2` with respect to the ordinate `y` and the abscissa `x`.
pub(crate) fn slopes_of_atan2(y: f64, x: f64) -> (f64, f64) {
    let distance = hypot(x, y);
    if distance == 0.0 { (0.0, 0.0) } else { (x / distance / distance, -(y / distance / distance)) }
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
