//! The 16-bit float types, which are rounded from `f32` exactly once.

use std::cmp::Ordering;

use half::{bf16, f16};

use super::arithmetic::{canonical, maximum, minimum};
use super::exact::FloatFormat;
use super::factor::Scaled;
use super::floats::{Narrow, of_number};
use super::in_f64::ExactInF64;
use super::raw::MIXED_UP;
use super::total::FloatTotal;
use super::{DType, Element, Float, Number, Numeric, RawSlice, RawVec, Real, Remainder, Ring, sealed};

/// Returns `near` if it is exact, otherwise `near` or its neighbour toward the exact number, whichever has an odd last
/// bit.
///
/// An odd last bit means that the exact number is between two floats. Rounding the result to fewer bits therefore
/// rounds the exact number. `half` itself drops the lower half of an `f64` before rounding.
fn odd(near: f32, exact_to_near: Ordering) -> f32 {
    match exact_to_near {
        Ordering::Less if near.to_bits() & 1 == 0 => f32::from_bits(near.to_bits() - 1),
        Ordering::Greater if near.to_bits() & 1 == 0 => f32::from_bits(near.to_bits() + 1),
        _ => near,
    }
}

fn odd_of_f64(wide: f64) -> f32 {
    let near = wide as f32;
    let order = wide.abs().partial_cmp(&f64::from(near).abs());
    odd(near, order.unwrap_or(Ordering::Equal))
}

fn odd_of_integer(integer: i128) -> f32 {
    let near = integer as f32;
    odd(near, integer.unsigned_abs().cmp(&(near.abs() as u128)))
}

impl Narrow for f16 {
    type WideFloat = f32;
    const ROUNDING: FloatFormat = FloatFormat::F16;

    fn nearest_to_f64(wide: f64) -> f16 {
        f16::from_f32(odd_of_f64(wide))
    }

    fn nearest_to_integer(integer: i128) -> f16 {
        f16::from_f32(odd_of_integer(integer))
    }
}

impl Narrow for bf16 {
    type WideFloat = f32;
    const ROUNDING: FloatFormat = FloatFormat::BF16;

    fn nearest_to_f64(wide: f64) -> bf16 {
        bf16::from_f32(odd_of_f64(wide))
    }

    fn nearest_to_integer(integer: i128) -> bf16 {
        bf16::from_f32(odd_of_integer(integer))
    }
}

/// `half` tests the processor features per value, which prevents SIMD; this conversion does not branch.
impl ExactInF64 for f16 {
    #[inline(always)]
    fn in_f64(self) -> f64 {
        let bits = u64::from(self.to_bits());
        let (magnitude, sign) = ((bits & 0x7fff) << 42, (bits & 0x8000) << 48);
        let wide = match bits & 0x7c00 {
            // A subnormal number is its fraction times the smallest power of two.
            0 => f64::from_bits(magnitude | 1009 << 52) - f64::from_bits(1009 << 52),
            0x7c00 => f64::from_bits(magnitude | 0x7ff << 52),
            _ => f64::from_bits(magnitude + (1008 << 52)),
        };
        f64::from_bits(wide.to_bits() | sign)
    }
}

impl ExactInF64 for bf16 {
    #[inline(always)]
    fn in_f64(self) -> f64 {
        f32::from_bits(u32::from(self.to_bits()) << 16).into()
    }
}

/// Returns the bits of a number, with the bits of `0.0` for both zeros.
fn key(bits: u16) -> u16 {
    if bits << 1 == 0 { 0 } else { bits }
}

impl_float!(f16, Float16, U16, u16, f16::ONE, |value: f16| key(value.to_bits()));
impl_float!(bf16, BFloat16, U16, u16, bf16::ONE, |value: bf16| key(value.to_bits()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_are_widened_as_half_does() {
        for bits in 0..=u16::MAX {
            for (wide, expected) in [
                (f16::from_bits(bits).in_f64(), f16::from_bits(bits).to_f64()),
                (bf16::from_bits(bits).in_f64(), bf16::from_bits(bits).to_f64()),
            ] {
                assert!(wide.to_bits() == expected.to_bits() || (wide.is_nan() && expected.is_nan()), "{bits:x}");
            }
        }
    }
}
