//! What products are made of: numbers whose exponents stand apart, so that nothing overflows on the way.

use num_complex::Complex;

use super::exact::Kind;

/// A factor of a product, or a product so far. Two of them commute, bit for bit.
pub trait Factor: Copy + Send + Sync {
    /// What changes nothing.
    const ONE: Self;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The product of so many of itself, where that is the same in any order and between other factors too.
    fn power(self, count: u128) -> Option<Self>;

    /// Whether products with it are the same in any order, as of a zero.
    fn is_zero(&self) -> bool;
}

/// A float: a significand times a power of two. Zeros, infinities and NaN are significands; all others are held where
/// the product of two is not rounded for want of exponents, and are brought between 1 and 2 where that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Scaled {
    significand: f64,
    exponent: i128,
}

impl Scaled {
    pub(super) fn of(value: f64) -> Self {
        Scaled { significand: value, exponent: 0 }.held()
    }

    /// Itself with a significand of 2<sup>-500</sup> to 2<sup>501</sup> without its sign.
    #[inline(always)]
    fn held(self) -> Self {
        let power = self.significand.to_bits() >> 52 & 0x7ff;
        if (1023 - 500..=1023 + 500).contains(&power) { self } else { self.normal() }
    }

    /// Brings the significand, of any magnitude, between 1 and 2.
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

    /// The sum, of which the significand is rounded once.
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
            // What is smaller by that much is rounded away, and would be by the smallest power that is taken here.
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

    /// The number in a type of floats, rounded once; a zero keeps its sign.
    pub(super) fn value(self, kind: Kind) -> f64 {
        let Scaled { significand, exponent } = self.normal();
        if significand == 0.0 || !significand.is_finite() {
            return significand;
        }
        let integer = significand.abs() * 2f64.powi(52);
        kind.nearest(integer as u128, (exponent.clamp(-100_000, 100_000) - 52) as i32).copysign(significand)
    }
}

impl Factor for Scaled {
    const ONE: Self = Scaled { significand: 1.0, exponent: 0 };

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let exponent = self.exponent.saturating_add(other.exponent);
        Scaled { significand: self.significand * other.significand, exponent }.held()
    }

    /// Of powers of two, and of what is not finite or zero: nothing of these is rounded.
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

/// An integer: a magnitude that stays at the greatest where it is more, and a sign.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    magnitude: u128,
    is_negative: bool,
}

impl Whole {
    pub(super) fn of(value: i128) -> Self {
        Whole { magnitude: value.unsigned_abs(), is_negative: value < 0 }
    }

    /// The integer, if it fits.
    pub(super) fn value(self) -> Option<i128> {
        let magnitude = i128::try_from(self.magnitude).ok()?;
        Some(if self.is_negative { -magnitude } else { magnitude })
    }
}

impl Factor for Whole {
    const ONE: Self = Whole { magnitude: 1, is_negative: false };

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let magnitude = self.magnitude.saturating_mul(other.magnitude);
        Whole { magnitude, is_negative: self.is_negative != other.is_negative }
    }

    fn power(self, count: u128) -> Option<Self> {
        // From 2 on the 128th power is too great, of 0 and 1 all powers are the same.
        let magnitude = self.magnitude.saturating_pow(count.min(128) as u32);
        Some(Whole { magnitude, is_negative: self.is_negative && !count.is_multiple_of(2) })
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.magnitude == 0
    }
}

/// A complex number: both parts with an exponent of their own.
#[derive(Debug, Clone, Copy)]
pub struct ScaledComplex {
    re: Scaled,
    im: Scaled,
}

impl ScaledComplex {
    pub(super) fn of(value: Complex<f64>) -> Self {
        ScaledComplex { re: Scaled::of(value.re), im: Scaled::of(value.im) }
    }

    pub(super) fn value(self, kind: Kind) -> Complex<f64> {
        Complex { re: self.re.value(kind), im: self.im.value(kind) }
    }
}

impl Factor for ScaledComplex {
    const ONE: Self = ScaledComplex { re: Scaled::ONE, im: Scaled { significand: 0.0, exponent: 0 } };

    fn times(self, other: Self) -> Self {
        let re = self.re.times(other.re).plus(self.im.times(other.im).negated());
        ScaledComplex { re, im: self.re.times(other.im).plus(self.im.times(other.re)) }
    }

    /// One more factor 1 may change a zero or an infinity.
    fn power(self, _: u128) -> Option<Self> {
        None
    }

    /// The signs of its parts depend on the order.
    fn is_zero(&self) -> bool {
        false
    }
}
