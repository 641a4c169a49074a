//! Factors of products: numbers with a separate exponent, so that intermediate products do not overflow.

use num_complex::Complex;

use super::exact::FloatFormat;

/// A factor of a product, or a partial product.
///
/// Swapping two factors gives a bitwise identical product.
pub trait ProductFactor: Copy + Send + Sync {
    /// The neutral factor.
    const ONE: Self;

    /// Returns the product.
    fn times(self, other: Self) -> Self;

    /// Returns the power `count`; `None` if the result could depend on the order of the multiplications.
    fn power(self, count: u128) -> Option<Self>;

    /// Returns whether the factor is zero, so products with it are the same in any order.
    fn is_zero(&self) -> bool;
}

/// A float as a significand times a power of two.
///
/// Zeros, infinities and NaN are significands.
///
/// All other significands are in a range in which the product of two significands does not overflow or underflow.
/// Significands are normalized to `1..2` when necessary.
#[derive(Debug, Clone, Copy)]
pub struct Scaled {
    significand: f64,
    exponent: i128,
}

impl Scaled {
    pub(super) fn of(value: f64) -> Self {
        Scaled { significand: value, exponent: 0 }.held()
    }

    /// Returns the number with a significand between 2<sup>-500</sup> and 2<sup>501</sup> in magnitude.
    #[inline(always)]
    fn held(self) -> Self {
        let power = self.significand.to_bits() >> 52 & 0x7ff;
        if (1023 - 500..=1023 + 500).contains(&power) { self } else { self.normal() }
    }

    /// Returns the number with a significand between 1 and 2 in magnitude.
    fn normal(self) -> Self {
        let Scaled { significand, exponent } = self;
        if significand == 0.0 || !significand.is_finite() {
            return Scaled { significand, exponent: 0 };
        }
        if significand.abs() < f64::MIN_POSITIVE {
            let significand = significand * 2f64.powi(64);
            return Scaled { significand, exponent: exponent.saturating_sub(64) }.normal();
        }
        let bits = significand.to_bits();
        let power = i128::from(bits >> 52 & 0x7ff) - 1023;
        let significand = f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
        Scaled { significand, exponent: exponent.saturating_add(power) }
    }

    /// Returns the sum. The significand of the sum is rounded once.
    fn plus(self, other: Self) -> Self {
        let (this, other) = (self.normal(), other.normal());
        let (great, small) = if this.exponent < other.exponent { (other, this) } else { (this, other) };
        let is_special = |scaled: Self| scaled.significand == 0.0 || !scaled.significand.is_finite();
        match (is_special(this), is_special(other)) {
            (true, true) => Scaled::of(this.significand + other.significand),
            (true, false) if this.significand == 0.0 => other,
            (true, false) => this,
            (false, true) if other.significand == 0.0 => this,
            (false, true) => other,
            // The smaller number does not change the sum if it is shifted by 200 bits or more.
            (false, false) => {
                let shift = great.exponent.saturating_sub(small.exponent).min(200) as i32;
                let significand = great.significand + small.significand * 2f64.powi(-shift);
                Scaled { significand, exponent: great.exponent }.normal()
            }
        }
    }

    fn negated(self) -> Self {
        Scaled { significand: -self.significand, ..self }
    }

    /// Returns the number in a float type, correctly rounded; a zero keeps its sign.
    pub(super) fn value(self, kind: FloatFormat) -> f64 {
        if self.significand == 0.0 || !self.significand.is_finite() {
            return self.significand;
        }
        // A significand without an exponent is the number itself.
        if let (0, Some(nearest)) = (self.exponent, kind.round(self.significand, true)) {
            // A product that underflows keeps its sign.
            return nearest.copysign(self.significand);
        }
        let Scaled { significand, exponent } = self.normal();
        let integer = significand.abs() * 2f64.powi(52);
        kind.nearest(integer as u128, (exponent.clamp(-100_000, 100_000) - 52) as i32).copysign(significand)
    }
}

impl ProductFactor for Scaled {
    const ONE: Self = Scaled { significand: 1.0, exponent: 0 };

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let exponent = self.exponent.saturating_add(other.exponent);
        Scaled { significand: self.significand * other.significand, exponent }.held()
    }

    /// Powers of two, zero and values that are not finite have exact powers.
    fn power(self, count: u128) -> Option<Self> {
        let Scaled { significand, exponent } = self.normal();
        let is_rounded = significand.is_finite() && !matches!(significand.abs(), 0.0 | 1.0);
        (!is_rounded).then(|| Scaled {
            significand: if count.is_multiple_of(2) { significand.abs() } else { significand },
            exponent: exponent.saturating_mul(i128::try_from(count).unwrap_or(i128::MAX)),
        })
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.significand == 0.0
    }
}

/// An integer: a magnitude that saturates, and a sign.
#[derive(Debug, Clone, Copy)]
pub struct SaturatingInteger {
    magnitude: u128,
    is_negative: bool,
}

impl SaturatingInteger {
    pub(super) fn of(value: i128) -> Self {
        SaturatingInteger { magnitude: value.unsigned_abs(), is_negative: value < 0 }
    }

    /// Returns the integer, if it fits in `i128`.
    pub(super) fn value(self) -> Option<i128> {
        let magnitude = i128::try_from(self.magnitude).ok()?;
        Some(if self.is_negative { -magnitude } else { magnitude })
    }
}

impl ProductFactor for SaturatingInteger {
    const ONE: Self = SaturatingInteger { magnitude: 1, is_negative: false };

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let magnitude = self.magnitude.saturating_mul(other.magnitude);
        SaturatingInteger { magnitude, is_negative: self.is_negative != other.is_negative }
    }

    fn power(self, count: u128) -> Option<Self> {
        // The 128th power of 2 or more saturates; for 0 and 1 all powers from the first on are equal.
        let magnitude = self.magnitude.saturating_pow(count.min(128) as u32);
        Some(SaturatingInteger { magnitude, is_negative: self.is_negative && !count.is_multiple_of(2) })
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.magnitude == 0
    }
}

/// A complex number; each part has its own exponent.
#[derive(Debug, Clone, Copy)]
pub struct ScaledComplex {
    re: Scaled,
    im: Scaled,
}

impl ScaledComplex {
    pub(super) fn of(value: Complex<f64>) -> Self {
        ScaledComplex { re: Scaled::of(value.re), im: Scaled::of(value.im) }
    }

    pub(super) fn value(self, kind: FloatFormat) -> Complex<f64> {
        Complex { re: self.re.value(kind), im: self.im.value(kind) }
    }
}

impl ProductFactor for ScaledComplex {
    const ONE: Self = ScaledComplex { re: Scaled::ONE, im: Scaled { significand: 0.0, exponent: 0 } };

    fn times(self, other: Self) -> Self {
        let re = self.re.times(other.re).plus(self.im.times(other.im).negated());
        ScaledComplex { re, im: self.re.times(other.im).plus(self.im.times(other.re)) }
    }

    /// Returns `None` for every power, because an additional factor 1 can change a zero or an infinity.
    fn power(self, _: u128) -> Option<Self> {
        None
    }

    /// Always false, because the signs of the parts depend on the order.
    fn is_zero(&self) -> bool {
        false
    }
}
