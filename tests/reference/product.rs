//! Products of matrices, word by word: three loops.

use std::collections::BTreeMap;

use num_complex::Complex;

use super::dense::{Dense, Sparse, ravel, size, unravel};
use super::scalar::Scalar;

/// A type with sums of products.
pub trait Multiplies: Scalar {
    /// The sum of the products, from zero, one after the other; none where the type does not hold it.
    fn sum_of_products(pairs: &[(Self, Self)]) -> Option<Self>;

    /// Returns whether zero times the value is zero.
    fn annihilated(self) -> bool {
        true
    }
}

impl Multiplies for bool {
    fn sum_of_products(pairs: &[(bool, bool)]) -> Option<bool> {
        Some(pairs.iter().any(|&(a, b)| a && b))
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Multiplies for $type {
            fn sum_of_products(pairs: &[(Self, Self)]) -> Option<Self> {
                // In two halves of 64 bits, of which neither overflows.
                let (mut high, mut low) = (0_i128, 0_i128);
                for &(a, b) in pairs {
                    let (a_high, a_low) = ((a as i128) >> 32, a as i128 & 0xffff_ffff);
                    let top = a_high * b as i128;
                    let bottom = a_low * b as i128 + ((top & 0xffff_ffff) << 32);
                    high += (top >> 32) + (bottom >> 64);
                    low += bottom & 0xffff_ffff_ffff_ffff;
                }
                high += low >> 64;
                let total = high.checked_mul(1 << 64)?.checked_add(low & 0xffff_ffff_ffff_ffff)?;
                Self::try_from(total).ok()
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($type:ty, $wide:ty, $to:expr, $from:expr;)*) => {$(
        impl Multiplies for $type {
            fn sum_of_products(pairs: &[(Self, Self)]) -> Option<Self> {
                let mut sum: $wide = 0.0;
                for &(a, b) in pairs {
                    let product = $to(a) * $to(b);
                    sum += product;
                }
                Some(if sum.is_nan() { <$type>::NAN } else { $from(sum) })
            }

            fn annihilated(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}

floats! {
    f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |x| x;
}
#[cfg(feature = "half")]
floats! {
    half::f16, f32, half::f16::to_f32, half::f16::from_f32;
    half::bf16, f32, half::bf16::to_f32, half::bf16::from_f32;
}

macro_rules! complex {
    ($($part:ty),*) => {$(
        impl Multiplies for Complex<$part> {
            fn sum_of_products(pairs: &[(Self, Self)]) -> Option<Self> {
                let (mut re, mut im): ($part, $part) = (0.0, 0.0);
                for &(a, b) in pairs {
                    re += a.re * b.re - a.im * b.im;
                    im += a.re * b.im + a.im * b.re;
                }
                let canonical = |x: $part| if x.is_nan() { <$part>::NAN } else { x };
                Some(Complex::new(canonical(re), canonical(im)))
            }

            fn annihilated(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
        }
    )*};
}

complex!(f32, f64);

/// The shapes of a product: of the result, and where the terms of a place of it stand in either operand.
pub struct Product {
    left: Vec<usize>,
    right: Vec<usize>,
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The terms of each sum.
    pub inner: usize,
    batch: usize,
}

impl Product {
    /// The product of two shapes, which fit.
    pub fn new(left: &[usize], right: &[usize]) -> Product {
        let inner = *left.last().unwrap();
        let of_left = &left[..left.len().saturating_sub(2)];
        let of_right = &right[..right.len().saturating_sub(2)];
        let batch = of_left.len().max(of_right.len());
        let mut shape = Vec::new();
        for axis in 0..batch {
            let length = |lengths: &[usize]| {
                let added = batch - lengths.len();
                if axis < added { 1 } else { lengths[axis - added] }
            };
            let (one, other) = (length(of_left), length(of_right));
            shape.push(if one == 1 { other } else { one });
        }
        if left.len() > 1 {
            shape.push(left[left.len() - 2]);
        }
        if right.len() > 1 {
            shape.push(right[right.len() - 1]);
        }
        Product { left: left.to_vec(), right: right.to_vec(), shape, inner, batch }
    }

    /// Returns the positions of term `k` of the sum at `coords`, in the left and in the right operand.
    pub fn term(&self, coords: &[usize], k: usize) -> (Vec<usize>, Vec<usize>) {
        let batch = |lengths: &[usize]| -> Vec<usize> {
            let own = lengths.len().saturating_sub(2);
            let coords = &coords[self.batch - own..self.batch];
            coords.iter().zip(lengths).map(|(&coord, &length)| if length == 1 { 0 } else { coord }).collect()
        };
        let mut rest = coords[self.batch..].iter();
        let (mut left, mut right) = (batch(&self.left), batch(&self.right));
        if self.left.len() > 1 {
            left.push(*rest.next().unwrap());
        }
        left.push(k);
        right.push(k);
        right.extend(rest);
        (left, right)
    }

    /// `of` the coordinates of each place of the result.
    pub fn places(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        (0..size(&self.shape)).map(|at| unravel(at as u128, &self.shape))
    }
}

/// The product of two dense arrays; or the first place that the type does not hold.
pub fn matmul<T: Multiplies>(left: &Dense<T>, right: &Dense<T>) -> Result<Dense<T>, Vec<usize>> {
    let product = Product::new(&left.shape, &right.shape);
    let mut data = Vec::new();
    for coords in product.places() {
        let mut pairs = Vec::new();
        for k in 0..product.inner {
            let (a, b) = product.term(&coords, k);
            let a = left.data[ravel(&a, &left.shape) as usize];
            pairs.push((a, right.data[ravel(&b, &right.shape) as usize]));
        }
        data.push(T::sum_of_products(&pairs).ok_or(coords)?);
    }
    Ok(Dense::new(&product.shape, data))
}

/// The product of what two arrays store, as a map of what meets; or the first place that the type does not hold. What a
/// dense one stores is everything.
pub fn matmul_stored<T: Multiplies>(left: &Sparse<T>, right: &Sparse<T>) -> Result<Sparse<T>, Vec<usize>> {
    matmul_with(left, right, T::zero(), |_| true, T::sum_of_products)
}

/// Returns a product at the positions that `lets` accepts, with any sum of the pairs of entries; `zero` is the fill.
pub fn matmul_with<T: Multiplies>(
    left: &Sparse<T>,
    right: &Sparse<T>,
    zero: T,
    lets: impl Fn(&[usize]) -> bool,
    sum: impl Fn(&[(T, T)]) -> Option<T>,
) -> Result<Sparse<T>, Vec<usize>> {
    let product = Product::new(&left.shape, &right.shape);
    let mut entries = BTreeMap::new();
    for coords in product.places().filter(|coords| lets(coords)) {
        let mut pairs = Vec::new();
        for k in 0..product.inner {
            let (a, b) = product.term(&coords, k);
            if let (Some(&a), Some(&b)) = (left.entries.get(&a), right.entries.get(&b)) {
                pairs.push((a, b));
            }
        }
        if !pairs.is_empty() {
            entries.insert(coords.clone(), sum(&pairs).ok_or(coords)?);
        }
    }
    Ok(Sparse { shape: product.shape, entries, fill: zero })
}

/// A sum of products in eight lanes, each with the lane that it goes to.
pub trait Lanes: Multiplies {
    /// The sum of the lanes, two by two.
    fn sum_in_lanes(terms: &[(usize, Self, Self)]) -> Self;
}

macro_rules! lanes {
    ($($type:ty, $wide:ty, $to:expr, $from:expr;)*) => {$(
        impl Lanes for $type {
            fn sum_in_lanes(terms: &[(usize, Self, Self)]) -> Self {
                let mut lanes: [$wide; 8] = [0.0; 8];
                for &(lane, a, b) in terms {
                    let product = $to(a) * $to(b);
                    lanes[lane % 8] += product;
                }
                let [a, b, c, d, e, f, g, h] = lanes;
                let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
                if sum.is_nan() { <$type>::NAN } else { $from(sum) }
            }
        }
    )*};
}

lanes! {
    f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |x| x;
}
#[cfg(feature = "half")]
lanes! { half::f16, f32, half::f16::to_f32, half::f16::from_f32; }

/// The gradients of both operands. A term whose gradient is zero is left out.
pub fn matmul_backward<T: Lanes>(left: &Dense<T>, right: &Dense<T>, upstream: &Dense<T>) -> (Dense<T>, Dense<T>) {
    let product = Product::new(&left.shape, &right.shape);
    let at = |x: &Dense<T>, coords: &[usize]| ravel(coords, &x.shape) as usize;
    let mut of_left = vec![Vec::new(); left.data.len()];
    let mut of_right = vec![Vec::new(); right.data.len()];
    for coords in product.places() {
        let gradient = upstream.data[at(upstream, &coords)];
        if !gradient.truthy() {
            continue;
        }
        let lane = if right.shape.len() > 1 { *coords.last().unwrap() } else { 0 };
        for k in 0..product.inner {
            let (a, b) = product.term(&coords, k);
            let (a, b) = (at(left, &a), at(right, &b));
            of_left[a].push((lane, gradient, right.data[b]));
            of_right[b].push((left.data[a], gradient));
        }
    }
    let dx = of_left.iter().map(|terms| T::sum_in_lanes(terms)).collect();
    let dy = of_right.iter().map(|pairs| T::sum_of_products(pairs).unwrap()).collect();
    (Dense::new(&left.shape, dx), Dense::new(&right.shape, dy))
}
