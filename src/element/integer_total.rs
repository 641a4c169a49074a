//! Exact accumulators for the sums and means of integers.

use super::accumulator_bytes::{Saved, byte, split};
use super::exact::{Exact, FloatFormat};
use super::factor::SaturatingInteger;
use super::total::{Accumulator, TotalResults};
use super::{Real, Ring};

/// The exact sum of integers, in 256 bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct IntegerTotal {
    low: u128,
    high: i128,
}

impl IntegerTotal {
    fn add_wide(&mut self, value: i128) {
        self.add_parts(value as u128, value >> 127);
    }

    fn add_parts(&mut self, low: u128, high: i128) {
        let (sum, carries) = self.low.overflowing_add(low);
        self.low = sum;
        self.high = self.high.wrapping_add(high).wrapping_add(i128::from(carries));
    }

    /// Returns the total, if it fits in 128 bits.
    pub(super) fn value(self) -> Option<i128> {
        let low = self.low as i128;
        (self.high == low >> 127).then_some(low)
    }

    /// Returns the total divided by `count`, as the nearest `f64`.
    pub(super) fn mean(self, count: u128) -> f64 {
        let mut digits = Exact::new();
        digits.add_integer(self.high, self.low);
        digits.over(count, FloatFormat::F64)
    }
}

impl<T: Copy + Into<i128>> Accumulator<T> for IntegerTotal {
    fn add(&mut self, value: T) {
        self.add_wide(value.into());
    }

    fn add_times(&mut self, value: T, count: u128) {
        let value: i128 = value.into();
        // A product of 64 and 32 bits fits in an `i128`. A product of 64 bits and 64 unsigned bits may not fit.
        self.add_wide(value * i128::from(count as u32));
        for shift in [32, 64, 96] {
            let product = value * i128::from((count >> shift) as u32);
            self.add_parts((product as u128) << shift, product >> (128 - shift));
        }
    }

    /// The sum of fewer than 2<sup>63</sup> values of 64 bits fits in 128 bits.
    fn add_slice(&mut self, values: &[T]) {
        self.add_wide(values.iter().fold(0, |sum: i128, &value| sum.wrapping_add(value.into())));
    }

    fn merge(&mut self, other: &Self) {
        self.add_parts(other.low, other.high);
    }

    type Cell = i128;

    #[inline(always)]
    fn add_to(sum: &mut i128, value: T) -> bool {
        *sum = sum.wrapping_add(value.into());
        true
    }

    fn join(sum: &mut i128, other: i128) -> bool {
        *sum = sum.wrapping_add(other);
        true
    }

    fn add_cell(&mut self, sum: i128) {
        self.add_wide(sum);
    }
}

impl<T> TotalResults<T> for IntegerTotal
where
    T: Real + Ring<Sum: TryFrom<i128>, Mean = f64, Factor = SaturatingInteger> + Into<i128>,
{
    fn parts(value: T) -> [f64; 2] {
        [value.to_f64(), 0.0]
    }

    fn sum(&self) -> Option<T::Sum> {
        self.value()?.try_into().ok()
    }

    fn mean(&self, count: u128) -> f64 {
        IntegerTotal::mean(*self, count)
    }

    fn wide_mean(&self, count: u128) -> [f64; 2] {
        [IntegerTotal::mean(*self, count), 0.0]
    }

    fn factor(value: T) -> SaturatingInteger {
        SaturatingInteger::of(value.into())
    }

    fn product(factor: SaturatingInteger) -> Option<T::Sum> {
        factor.value()?.try_into().ok()
    }
}

/// The number of bytes, then the bytes in little-endian order, without bytes that the sign implies.
impl Saved for IntegerTotal {
    fn save(&self, bytes: &mut Vec<u8>) {
        let mut wide = [0; 32];
        wide[..16].copy_from_slice(&self.low.to_le_bytes());
        wide[16..].copy_from_slice(&self.high.to_le_bytes());
        let count = (1..=wide.len()).rev().find(|&count| !is_sign(&wide[..count])).unwrap_or(0);
        bytes.push(count as u8);
        bytes.extend_from_slice(&wide[..count]);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let count = usize::from(byte(bytes)?);
        let encoded = split(bytes, count)?;
        let sign = if encoded.last().is_some_and(|&last| last >> 7 == 1) { 0xff } else { 0 };
        let mut wide = [sign; 32];
        wide.get_mut(..count)?.copy_from_slice(encoded);
        let (low, high) = wide.split_at(16);
        let total = IntegerTotal {
            low: u128::from_le_bytes(low.try_into().ok()?),
            high: i128::from_le_bytes(high.try_into().ok()?),
        };
        (!is_sign(encoded)).then_some(total)
    }
}

/// Returns whether the sign of the bytes before implies the last byte.
fn is_sign(bytes: &[u8]) -> bool {
    match *bytes {
        [.., before, last] => last == if before >> 7 == 1 { 0xff } else { 0 },
        [only] => only == 0,
        [] => false,
    }
}
