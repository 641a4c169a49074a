//! Accumulators of streaming reductions as bytes, so that other processes can merge them.
//!
//! The bytes are canonical: accumulators of the same values have the same bytes, for any order and division of the
//! values. Loading validates the bytes, and rejects bytes that no accumulator can produce.

use bytemuck::checked::try_pod_read_unaligned;

use super::Element;

/// A value that is saved as bytes.
pub trait Saved: Sized {
    /// Appends the bytes of the value.
    fn save(&self, bytes: &mut Vec<u8>);

    /// Removes the first bytes and returns their value; `None` if they are invalid.
    fn load(bytes: &mut &[u8]) -> Option<Self>;
}

/// Removes and returns exactly `count` bytes.
pub(super) fn split<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(first)
}

pub(super) fn byte(bytes: &mut &[u8]) -> Option<u8> {
    split(bytes, 1).map(|bytes| bytes[0])
}

impl Saved for bool {
    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        match byte(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// The number of bytes, then the bytes in little-endian order; the last byte is not zero.
impl Saved for u128 {
    fn save(&self, bytes: &mut Vec<u8>) {
        let count = (u128::BITS - self.leading_zeros()).div_ceil(8) as usize;
        bytes.push(count as u8);
        bytes.extend_from_slice(&self.to_le_bytes()[..count]);
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        let count = usize::from(byte(bytes)?);
        let (mut wide, encoded) = ([0; 16], split(bytes, count)?);
        wide.get_mut(..count)?.copy_from_slice(encoded);
        (encoded.last() != Some(&0)).then(|| u128::from_le_bytes(wide))
    }
}

/// A NaN is saved as the canonical NaN.
impl<T: Element> Saved for Option<T> {
    fn save(&self, bytes: &mut Vec<u8>) {
        self.is_some().save(bytes);
        if let Some(value) = *self {
            bytes.extend_from_slice(bytemuck::bytes_of(&canonical(value)));
        }
    }

    fn load(bytes: &mut &[u8]) -> Option<Self> {
        if !bool::load(bytes)? {
            return Some(None);
        }
        let encoded = split(bytes, size_of::<T>())?;
        let value: T = try_pod_read_unaligned(encoded).ok()?;
        (bytemuck::bytes_of(&canonical(value)) == encoded).then_some(Some(value))
    }
}

fn canonical<T: Element>(value: T) -> T {
    if value.isnan() { value.as_implicit() } else { value }
}

/// Returns the values of consecutive bytes; `None` if bytes are missing or invalid.
pub(crate) fn values_of<T: Element>(bytes: &[u8]) -> Option<Vec<T>> {
    let each = bytes.chunks_exact(size_of::<T>());
    if !each.remainder().is_empty() {
        return None;
    }
    each.map(|value| try_pod_read_unaligned(value).ok()).collect()
}

/// Returns the bytes of values.
pub(crate) fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::element::integer_total::IntegerTotal;
    use crate::element::norm::{Magnitudes, MaxMagnitude, Squares};
    use crate::element::total::{Accumulator, ComplexTotal, FloatTotal};

    /// Pseudo-random numbers.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, end: usize) -> usize {
            (self.next() % end as u64) as usize
        }
    }

    const FLOATS: &[f64] =
        &[0.0, -0.0, 1.0, -1.0, 0.1, -1e16, 3.0, 1e300, -1e300, f64::MAX, f64::MIN, 5e-324, -5e-324, 1e-200, 1e200];

    fn floats(random: &mut Random, count: usize) -> Vec<f64> {
        let rare = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let float = |random: &mut Random| match random.below(40) {
            0 => rare[random.below(3)],
            1..20 => FLOATS[random.below(FLOATS.len())],
            _ => f64::from_bits(random.next()),
        };
        let all: Vec<f64> = (0..count).map(|_| float(random)).collect();
        // Most sums should be finite.
        if random.below(4) == 0 { all } else { all.into_iter().filter(|value| value.is_finite()).collect() }
    }

    fn bytes(state: &impl Saved) -> Vec<u8> {
        let mut bytes = Vec::new();
        state.save(&mut bytes);
        bytes
    }

    fn loaded<S: Saved>(mut bytes: &[u8]) -> Option<S> {
        S::load(&mut bytes).filter(|_| bytes.is_empty())
    }

    /// Compares the bytes of one accumulator with the bytes of partial accumulators that are saved, loaded and merged
    /// in another order.
    ///
    /// Truncated bytes must be rejected.
    fn check_order<T: Copy, A: Accumulator<T>>(random: &mut Random, values: &[T]) {
        let (mut whole, mut merged) = (A::default(), A::default());
        whole.add_slice(values);
        let mut left = values.to_vec();
        while !left.is_empty() {
            let mut part = A::default();
            (0..1 + random.below(left.len())).for_each(|_| part.add(left.swap_remove(random.below(left.len()))));
            merged.merge(&loaded(&bytes(&part)).expect("a saved accumulator"));
        }
        let saved = bytes(&whole);
        assert_eq!(bytes(&merged), saved);
        assert_eq!(bytes(&loaded::<A>(&saved).unwrap()), saved);
        (0..saved.len()).for_each(|end| assert!(loaded::<A>(&saved[..end]).is_none()));
    }

    /// Checks that an accumulator loaded from valid bytes saves the same bytes, that other bytes are rejected, and that
    /// no call panics.
    fn check_hostile<S: Saved>(random: &mut Random, good: &[u8], merge: impl Fn(S, S) -> S) {
        let mut hostile = good.to_vec();
        for _ in 0..1 + random.below(4) {
            match random.below(3) {
                0 if !hostile.is_empty() => {
                    let at = random.below(hostile.len());
                    hostile[at] = [0, 1, 2, 3, 70, 71, 72, 0xff, random.next() as u8][random.below(9)];
                }
                1 => hostile.push(random.next() as u8),
                _ => hostile.truncate(random.below(hostile.len() + 1)),
            }
        }
        if let Some(state) = loaded::<S>(&hostile) {
            assert_eq!(bytes(&state), hostile);
            let twice = merge(state, loaded(&hostile).unwrap());
            assert!(loaded::<S>(&bytes(&merge(twice, loaded(good).unwrap()))).is_some());
        }
    }

    fn check<T: Copy, A: Accumulator<T>>(random: &mut Random, values: &[T]) {
        check_order::<T, A>(random, values);
        let mut whole = A::default();
        whole.add_slice(values);
        check_hostile::<A>(random, &bytes(&whole), |mut one, other| {
            one.merge(&other);
            one
        });
    }

    #[test]
    fn states_are_canonical_and_hostile_bytes_are_refused() {
        let random = &mut Random(0x1234_5678_9abc_def1);
        for round in 0..if cfg!(debug_assertions) { 800 } else { 3000 } {
            let count = random.below(if round % 8 == 0 { 300 } else { 8 });
            let values = floats(random, count);
            check::<f64, FloatTotal>(random, &values);
            check::<f64, Magnitudes>(random, &values);
            check::<f64, Squares>(random, &values);
            check::<f64, MaxMagnitude>(random, &values);
            let pairs: Vec<Complex<f64>> =
                values.iter().zip(values.iter().rev()).map(|(&re, &im)| Complex { re, im }).collect();
            check::<Complex<f64>, ComplexTotal>(random, &pairs);
            let integers: Vec<i64> =
                (0..count).map(|_| [0, -1, i64::MIN, i64::MAX, random.next() as i64 >> 50][random.below(5)]).collect();
            check::<i64, IntegerTotal>(random, &integers);
        }
    }

    #[test]
    fn a_sum_that_is_wide_comes_back() {
        let mut total = IntegerTotal::default();
        (0..5).for_each(|_| total.add_times(i64::MIN, u128::MAX));
        let mut back: IntegerTotal = loaded(&bytes(&total)).unwrap();
        let mut rest = IntegerTotal::default();
        (0..5).for_each(|_| rest.add_times(i64::MAX, u128::MAX));
        (0..5).for_each(|_| rest.add_times(1_i64, u128::MAX));
        Accumulator::<i64>::merge(&mut back, &rest);
        assert_eq!(bytes(&back), [0]);
    }

    #[test]
    fn plain_states() {
        for count in [0, 1, 255, 256, u128::from(u64::MAX), u128::MAX] {
            assert_eq!(loaded::<u128>(&bytes(&count)), Some(count));
        }
        assert_eq!(loaded::<u128>(&[1, 0]), None);
        assert_eq!(loaded::<u128>(&[17; 18]), None);
        assert_eq!(loaded::<bool>(&[2]), None);
        assert_eq!(loaded::<Option<bool>>(&[1, 2]), None);
        let nan = f32::from_bits(0xffc0_1234);
        assert_eq!(bytes(&Some(nan)), bytes(&Some(f32::NAN)));
        assert_eq!(loaded::<Option<f32>>(&[&[1][..], &nan.to_bits().to_ne_bytes()].concat()), None);
        let zero = loaded::<Option<f64>>(&bytes(&Some(-0.0))).unwrap().unwrap();
        assert!(zero.is_sign_negative());
        let values = [1.5_f32, -0.0];
        assert_eq!(values_of::<f32>(bytes_of(&values)), Some(values.to_vec()));
        assert_eq!(values_of::<f32>(&[0; 7]), None);
        assert_eq!(values_of::<bool>(&[0, 1, 2]), None);
    }
}
