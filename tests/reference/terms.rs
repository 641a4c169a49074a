//! Sums of products in a fixed order: every product and every sum is rounded, and a sum starts from `+0`.
//!
//! 16-bit floats go to `f32` first and are rounded once, at the end. Integers have any length until the end. Of `bool`
//! a product is "and", a sum "or".

use num_bigint::BigInt;
use num_complex::Complex;

use super::dense::{Dense, Sparse};
use super::scalar::Scalar;

/// An element with products and sums of them.
pub trait Multiplies: Scalar {
    /// What is wide enough for both.
    type Wide: Clone;

    /// The element as that.
    fn widened(self) -> Self::Wide;
    /// The sum of nothing.
    fn nothing() -> Self::Wide;
    /// A product.
    fn product(a: &Self::Wide, b: &Self::Wide) -> Self::Wide;
    /// A sum.
    fn sum(a: &Self::Wide, b: &Self::Wide) -> Self::Wide;
    /// The result in the type, if it fits.
    fn narrowed(wide: Self::Wide) -> Option<Self>;
}

impl Multiplies for bool {
    type Wide = bool;
    fn widened(self) -> bool {
        self
    }
    fn nothing() -> bool {
        false
    }
    fn product(a: &bool, b: &bool) -> bool {
        *a && *b
    }
    fn sum(a: &bool, b: &bool) -> bool {
        *a || *b
    }
    fn narrowed(wide: bool) -> Option<bool> {
        Some(wide)
    }
}

macro_rules! multiplied_integers {
    ($($type:ty),*) => {$(
        impl Multiplies for $type {
            type Wide = BigInt;
            fn widened(self) -> BigInt {
                self.into()
            }
            fn nothing() -> BigInt {
                BigInt::ZERO
            }
            fn product(a: &BigInt, b: &BigInt) -> BigInt {
                a * b
            }
            fn sum(a: &BigInt, b: &BigInt) -> BigInt {
                a + b
            }
            fn narrowed(wide: BigInt) -> Option<$type> {
                wide.try_into().ok()
            }
        }
    )*};
}

multiplied_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! multiplied_numbers {
    ($($type:ty, $wide:ty, $zero:expr, $widen:expr, $narrow:expr;)*) => {$(
        impl Multiplies for $type {
            type Wide = $wide;
            fn widened(self) -> $wide {
                $widen(self)
            }
            fn nothing() -> $wide {
                $zero
            }
            fn product(a: &$wide, b: &$wide) -> $wide {
                a * b
            }
            fn sum(a: &$wide, b: &$wide) -> $wide {
                a + b
            }
            fn narrowed(wide: $wide) -> Option<$type> {
                let narrow: $type = $narrow(wide);
                Some(narrow.canonical())
            }
        }
    )*};
}

multiplied_numbers! {
    f32, f32, 0.0, std::convert::identity, std::convert::identity;
    f64, f64, 0.0, std::convert::identity, std::convert::identity;
    Complex<f32>, Complex<f32>, Complex::new(0.0, 0.0), std::convert::identity, std::convert::identity;
    Complex<f64>, Complex<f64>, Complex::new(0.0, 0.0), std::convert::identity, std::convert::identity;
}
#[cfg(feature = "half")]
multiplied_numbers! {
    half::f16, f32, 0.0, half::f16::to_f32, half::f16::from_f32;
    half::bf16, f32, 0.0, half::bf16::to_f32, half::bf16::from_f32;
}

/// The product of factors, from left to right.
pub fn term<T: Multiplies>(factors: &[T]) -> T::Wide {
    let (first, rest) = factors.split_first().expect("a factor");
    rest.iter().fold(first.widened(), |product, factor| T::product(&product, &factor.widened()))
}

/// The sum of terms, from left to right.
pub fn sum_of_terms<T: Multiplies>(terms: impl IntoIterator<Item = Vec<T>>) -> Option<T> {
    T::narrowed(terms.into_iter().fold(T::nothing(), |sum, factors| T::sum(&sum, &term(&factors))))
}

/// The sum of terms in eight lanes by position, which are added as a tree.
pub fn in_lanes<T: Multiplies>(terms: &[T::Wide]) -> Option<T> {
    let mut lanes = vec![T::nothing(); 8];
    terms.iter().enumerate().for_each(|(k, term)| lanes[k % 8] = T::sum(&lanes[k % 8], term));
    let pairs = |lanes: &[T::Wide]| lanes.chunks(2).map(|pair| T::sum(&pair[0], &pair[1])).collect::<Vec<_>>();
    T::narrowed(pairs(&pairs(&pairs(&lanes))).remove(0))
}

/// The dot of two rows in eight lanes.
pub fn dot_in_lanes<T: Multiplies>(a: &[T], b: &[T]) -> Option<T> {
    in_lanes::<T>(&a.iter().zip(b).map(|(&a, &b)| term(&[a, b])).collect::<Vec<_>>())
}

/// The row of a factor for an entry of a pattern with these coordinates, of which the last is that of the row; batch
/// axes broadcast.
pub fn row_of<T: Copy>(factor: &Dense<T>, at: &[usize]) -> Vec<T> {
    let rows = factor.shape.len() - 1;
    let own = at[at.len() - rows..].iter().zip(&factor.shape);
    let mut coords: Vec<usize> = own.map(|(&coord, &length)| if length == 1 { 0 } else { coord }).collect();
    coords.push(0);
    let width = factor.shape[rows];
    (0..width)
        .map(|k| {
            coords[rows] = k;
            factor.get(&coords)
        })
        .collect()
}

/// The coordinates of the row and of the column of an entry, both behind those of its batch.
pub fn row_and_column(at: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (batch, last) = at.split_at(at.len() - 2);
    ([batch, &last[..1]].concat(), [batch, &last[1..]].concat())
}

/// The dots of two factors at the entries of `x`.
pub fn sddmm<T: Multiplies, U: Copy>(x: &Sparse<U>, l: &Dense<T>, r: &Dense<T>) -> Option<Sparse<T>> {
    let dot = |at: &Vec<usize>| {
        let (row, column) = row_and_column(at);
        Some((at.clone(), dot_in_lanes(&row_of(l, &row), &row_of(r, &column))?))
    };
    let entries = x.entries.keys().map(dot).collect::<Option<_>>()?;
    Some(Sparse { shape: x.shape.clone(), entries, fill: T::zero() })
}

/// What the factor on one side receives from the weights of entries, whose other factor is told.
pub fn sddmm_gradient<T: Multiplies>(weights: &Sparse<T>, into: &Dense<T>, from: &Dense<T>, is_left: bool) -> Dense<T> {
    let mut sums = vec![T::nothing(); into.data.len()];
    let (rank, width) = (into.shape.len() - 1, into.shape.last().copied().unwrap());
    for (at, &weight) in &weights.entries {
        let (row, column) = row_and_column(at);
        let (target, source) = if is_left { (row, column) } else { (column, row) };
        let own = target[target.len() - rank..].iter().zip(&into.shape);
        let number = own.fold(0, |number, (&coord, &length)| number * length + if length == 1 { 0 } else { coord });
        for (k, factor) in row_of(from, &source).into_iter().enumerate() {
            let sum = &mut sums[number * width + k];
            *sum = T::sum(sum, &term(&[weight, factor]));
        }
    }
    Dense::new(&into.shape, sums.into_iter().map(|sum| T::narrowed(sum).expect("a float")).collect())
}
