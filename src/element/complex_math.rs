//! Functions of complex numbers, in `f64`: the principal branches, with the special values of Annex G of C99.
//!
//! The functions consist of real functions of [`math`] and of single operations, so results are bitwise identical on
//! every machine.

use std::f64::consts::LN_2;

use num_complex::Complex;

use super::math;

/// A complex number with two parts of `f64`.
pub(crate) type Wide = Complex<f64>;

const ZERO: Wide = Complex { re: 0.0, im: 0.0 };
const ONE: Wide = Complex { re: 1.0, im: 0.0 };
const NAN: Wide = Complex { re: f64::NAN, im: f64::NAN };

/// Returns 2 to the power of `exponent`, which is from -1022 to 1023.
fn two_to(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Returns the larger magnitude of the parts.
fn largest(x: Wide) -> f64 {
    x.re.abs().max(x.im.abs())
}

/// Returns whether the squares of the parts may overflow or underflow.
fn is_extreme(largest: f64) -> bool {
    !(two_to(-500)..two_to(500)).contains(&largest)
}

/// Returns the number times a power of 2, and the exponent of this power, which is even. The squares of the parts of
/// the result do not overflow, and the larger square does not underflow.
fn balanced(x: Wide) -> (Wide, i64) {
    let largest = largest(x);
    let exponent = match largest {
        largest if !is_extreme(largest) || largest == 0.0 || !largest.is_finite() => 0,
        largest if largest < 1.0 => 600,
        _ => -600,
    };
    (x * two_to(exponent), exponent)
}

/// Returns the sum of two numbers and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}

/// Returns the square of a number and its rounding error.
fn two_square(x: f64) -> (f64, f64) {
    let high = {
        let spread = x * 134_217_729.0;
        spread - (spread - x)
    };
    let (low, square) = (x - high, x * x);
    (square, ((high * high - square) + 2.0 * high * low) + low * low)
}

/// Returns `|x|² − 1`, accurate near the unit circle.
fn excess(x: Wide) -> f64 {
    let (large, small) = if x.re.abs() < x.im.abs() { (x.im, x.re) } else { (x.re, x.im) };
    let ((square, error), (other, other_error)) = (two_square(large), two_square(small));
    // The parts of each line have the same exact sum. Only the last line rounds.
    let (sum, low) = two_sum(square, -1.0);
    let (sum, next) = two_sum(sum, other);
    let ((low, lower), (rest, last)) = (two_sum(low, next), two_sum(error, other_error));
    let (low, least) = two_sum(low, rest);
    let (sum, low) = two_sum(sum, low);
    sum + (low + (least + (lower + last)))
}

/// Returns the natural logarithm of the magnitude.
fn ln_of_magnitude(x: Wide) -> f64 {
    if x.re.is_infinite() || x.im.is_infinite() {
        return f64::INFINITY;
    }
    let (scaled, exponent) = balanced(x);
    let square = scaled.re * scaled.re + scaled.im * scaled.im;
    match exponent {
        0 if (0.5..3.0).contains(&square) => 0.5 * math::ln_1p(excess(x)),
        exponent => 0.5 * math::ln(square) - exponent as f64 * LN_2,
    }
}

/// Returns the natural logarithm. The imaginary part is from −π to π.
pub(crate) fn ln(x: Wide) -> Wide {
    Complex::new(ln_of_magnitude(x), math::atan2(x.im, x.re))
}

/// Returns the exponential of a number with finite parts.
fn finite_exp(x: Wide) -> Wide {
    let (sin, cos) = (math::sin(x.im), math::cos(x.im));
    // A part may be finite although the magnitude is not. The differences are exact if a part is finite. All factors are
    // at least 1 if there is a step, so a subnormal sine does not lose digits.
    let steps = usize::from(x.re > 700.0) + usize::from(x.re > 1400.0);
    let near = math::exp(x.re - 700.0 * steps as f64);
    let part = |part: f64| (0..steps).fold(part, |part, _| part * math::exp(700.0)) * near;
    Complex::new(part(cos), part(sin))
}

/// Returns the exponential.
pub(crate) fn exp(x: Wide) -> Wide {
    match (x.re, x.im) {
        // A real number has a real exponential, even if it is infinite or NaN.
        (re, 0.0) => Complex::new(math::exp(re), x.im),
        (re, im) if im.is_finite() && !re.is_nan() => {
            if re.is_infinite() {
                let size = if re > 0.0 { f64::INFINITY } else { 0.0 };
                return Complex::new(size.copysign(math::cos(im)), size.copysign(math::sin(im)));
            }
            finite_exp(x)
        }
        (f64::NEG_INFINITY, im) => Complex::new(0.0, if im.is_nan() { 0.0 } else { 0f64.copysign(im) }),
        (f64::INFINITY, _) => Complex::new(f64::INFINITY, f64::NAN),
        _ => NAN,
    }
}

/// Returns the square root with a nonnegative real part. The imaginary part has the sign of that of `x`.
pub(crate) fn sqrt(x: Wide) -> Wide {
    match (x.re, x.im) {
        (_, im) if im.is_infinite() => Complex::new(f64::INFINITY, im),
        (f64::INFINITY, im) => Complex::new(f64::INFINITY, if im.is_nan() { im } else { 0f64.copysign(im) }),
        (f64::NEG_INFINITY, im) if im.is_nan() => Complex::new(im, f64::INFINITY),
        (f64::NEG_INFINITY, im) => Complex::new(0.0, f64::INFINITY.copysign(im)),
        (re, im) if re.is_nan() || im.is_nan() => NAN,
        (0.0, 0.0) => Complex::new(0.0, x.im),
        _ => {
            let (scaled, exponent) = balanced(x);
            let root = ((scaled.re.abs() + math::hypot(scaled.re, scaled.im)) * 0.5).sqrt() * two_to(-exponent / 2);
            let other = x.im.abs() / (2.0 * root);
            let (re, im) = if x.re < 0.0 { (other, root) } else { (root, other) };
            Complex::new(re, im.copysign(x.im))
        }
    }
}

/// Returns the square. The real part is a product, which does not cancel, and a real part of zero is +0.0. The sum of
/// equal parts may overflow, but not their difference.
pub(crate) fn square(x: Wide) -> Wide {
    let is_balanced = x.re.abs() == x.im.abs() && x.re.is_finite();
    let re = if is_balanced { 0.0 } else { (x.re - x.im) * (x.re + x.im) + 0.0 };
    Complex::new(re, 2.0 * (x.re * x.im))
}

/// Returns the reciprocal. For zero and for infinite numbers, each part is that of `numpy.reciprocal`.
pub(crate) fn recip(x: Wide) -> Wide {
    if x == ZERO || !x.re.is_finite() || !x.im.is_finite() {
        let (ratio, is_wide) = if x.im.abs() <= x.re.abs() { (x.im / x.re, true) } else { (x.re / x.im, false) };
        return match is_wide {
            true => Complex::new(1.0, -ratio) / (x.re + x.im * ratio),
            false => Complex::new(ratio, -1.0) / (x.re * ratio + x.im),
        };
    }
    let (scaled, exponent) = balanced(x);
    let square = scaled.re * scaled.re + scaled.im * scaled.im;
    Complex::new(scaled.re / square, -(scaled.im / square)) * two_to(exponent)
}

/// Returns the number with the same angle and a magnitude of 1, or zero.
pub(crate) fn sign(x: Wide) -> Wide {
    match (x.re.is_infinite(), x.im.is_infinite()) {
        (true, true) => NAN,
        // A part of NaN does not matter beside an infinite part.
        (true, false) => Complex::new(1f64.copysign(x.re), 0.0),
        (false, true) => Complex::new(0.0, 1f64.copysign(x.im)),
        _ if x.re.is_nan() || x.im.is_nan() => NAN,
        _ if x == ZERO => ZERO,
        _ => {
            // The magnitude neither overflows nor loses digits.
            let scale = match largest(x) {
                largest if largest >= two_to(1022) => 0.25,
                largest if largest < two_to(-900) => two_to(600),
                _ => 1.0,
            };
            let scaled = x * scale;
            let size = math::hypot(scaled.re, scaled.im);
            Complex::new(scaled.re / size, scaled.im / size)
        }
    }
}

fn product(x: Wide, y: Wide) -> Wide {
    Complex::new(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
}

/// Returns `x` to the power of an integer of at most two digits, by repeated squaring.
fn integer_power(x: Wide, exponent: i32) -> Wide {
    let (mut power, mut factor, mut rest) = (ONE, x, exponent.unsigned_abs());
    while rest > 0 {
        if rest % 2 == 1 {
            power = product(power, factor);
        }
        rest /= 2;
        if rest > 0 {
            factor = square(factor);
        }
    }
    if exponent < 0 { recip(power) } else { power }
}

/// Returns `x` to the power of `y`, which is `e^(y ln x)`.
///
/// Integers of at most two digits are powers by repeated squaring, as in numpy.
pub(crate) fn pow(x: Wide, y: Wide) -> Wide {
    if y == ZERO {
        return ONE;
    }
    if x == ZERO {
        return if y.re > 0.0 { ZERO } else { NAN };
    }
    if y == ONE {
        return x;
    }
    if y == ONE + ONE && x.is_finite() {
        return square(x);
    }
    if y.im == 0.0 && y.re.abs() < 100.0 && y.re == y.re.trunc() {
        let power = integer_power(x, y.re as i32);
        let size = largest(power);
        // Squares may overflow or underflow although the power does not.
        if power.re.is_finite() && power.im.is_finite() && size > f64::MIN_POSITIVE {
            return power;
        }
    }
    let ln = ln(x);
    // A product with an imaginary part of zero is zero, also for an infinite logarithm.
    let times_im = |part: f64| if y.im == 0.0 { 0.0 } else { y.im * part };
    exp(Complex::new(y.re * ln.re - times_im(ln.im), times_im(ln.re) + y.re * ln.im))
}
