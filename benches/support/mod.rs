//! Inputs that are the same in every run.

use lacuna::{CooTensor, Triplets};

/// Numbers without a pattern (Weyl sequence, mixed).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One value in 21 zero, one in 64 NaN.
    pub(crate) fn value(&mut self) -> f64 {
        let number = self.next();
        match number % 64 {
            0 => f64::NAN,
            1..4 => 0.0,
            rest => (rest as f64 - 32.0) * (number >> 32) as f64,
        }
    }

    pub(crate) fn values(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.value()).collect()
    }
}

/// About ten entries a row.
pub(crate) fn side(entries: usize) -> usize {
    (entries / 10).max(4)
}

/// A square matrix with `entries` at most in random places, about ten a row.
pub(crate) fn matrix(entries: usize) -> CooTensor<f64> {
    let side = side(entries) as u64;
    let mut numbers = Numbers(42);
    let widest = 2 * (side * side / entries as u64).max(2) - 1;
    let mut key = 0;
    let keys = std::iter::from_fn(|| {
        key += 1 + numbers.below(widest);
        Some(key - 1)
    });
    let keys: Vec<u64> = keys.take(entries).take_while(|&key| key < side * side).collect();
    let axis = |coord: fn(u64, u64) -> u64| keys.iter().map(|&key| coord(key, side) as u32).collect::<Vec<_>>();
    let coords = vec![axis(|key, side| key / side), axis(|key, side| key % side)];
    let values = Numbers(43).values(keys.len());
    CooTensor::new([side as usize, side as usize], coords, values, 0.0).expect("the keys are sorted and distinct")
}

/// Triplets of a square matrix of this side, at row-major keys.
pub(crate) fn triplets(side: usize, keys: &[u64]) -> Triplets<f64> {
    let axis = |coord: fn(u64, u64) -> u64| keys.iter().map(|&key| coord(key, side as u64) as u32).collect::<Vec<_>>();
    let coords = vec![axis(|key, side| key / side % side), axis(|key, side| key % side)];
    Triplets::from_arrays([side, side], coords, Numbers(45).values(keys.len())).expect("all lie within the shape")
}
