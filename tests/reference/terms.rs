//! Sums of products in a fixed order: every product and every sum is rounded, and a sum starts from `+0`.
//!
//! 16-bit floats go to `f32` first and are rounded once, at the end. Integers have any length until the end. Of `bool`
//! a product is "and", a sum "or".

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_complex::Complex;

use super::dense::{Dense, Sparse, ravel, size, unravel};
use super::scalar::Scalar;

/// An element with products and sums of them.
pub trait Multiplies: Scalar {
    /// A type that is wide enough for elements and products.
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

/// Returns the gradient of one factor, given the weights of the entries and the other factor.
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

/// An array with a letter for each axis.
pub type Lettered<T> = (Vec<char>, Dense<T>);

/// The length of a letter in any of some arrays.
pub fn length_of<T: Copy>(arrays: &[&Lettered<T>], letter: char) -> usize {
    let lengths = arrays.iter().flat_map(|(letters, x)| letters.iter().zip(&x.shape));
    lengths.into_iter().find(|(own, _)| **own == letter).map_or(1, |(_, &length)| length)
}

/// The element where the letters have some coordinates.
pub fn element_at<T: Copy>((letters, x): &Lettered<T>, at: &[(char, usize)]) -> T {
    let coord = |letter: &char| at.iter().find(|(other, _)| other == letter).map_or(0, |(_, coord)| *coord);
    x.get(&letters.iter().map(coord).collect::<Vec<_>>())
}

/// All coordinates of some letters, in row-major order.
pub fn places<T: Copy>(arrays: &[&Lettered<T>], letters: &[char]) -> Vec<Vec<(char, usize)>> {
    letters.iter().fold(vec![Vec::new()], |places, &letter| {
        let longer = |place: &Vec<(char, usize)>| {
            let place = place.clone();
            (0..length_of(arrays, letter)).map(move |coord| [&place[..], &[(letter, coord)]].concat())
        };
        places.iter().flat_map(longer).collect()
    })
}

fn distinct(letters: &[char]) -> Vec<char> {
    let is_first = |&(at, letter): &(usize, &char)| !letters[..at].contains(letter);
    letters.iter().enumerate().filter(is_first).map(|(_, &letter)| letter).collect()
}

fn shape_of<T: Copy>(arrays: &[&Lettered<T>], letters: &[char]) -> Vec<usize> {
    letters.iter().map(|&letter| length_of(arrays, letter)).collect()
}

/// The array with letters that are its own, and the exact sums over the others.
fn kept<T: Multiplies>(x: &Lettered<T>, letters: &[char], sum: impl Fn(&[T]) -> Option<T>) -> Option<Lettered<T>> {
    let others: Vec<char> = distinct(&x.0).into_iter().filter(|letter| !letters.contains(letter)).collect();
    let of_place = |place: &Vec<(char, usize)>| {
        let elements: Vec<T> =
            places(&[x], &others).iter().map(|other| element_at(x, &[&place[..], other].concat())).collect();
        if others.is_empty() { Some(elements[0]) } else { sum(&elements) }
    };
    let data = places(&[x], letters).iter().map(of_place).collect::<Option<_>>()?;
    Some((letters.to_vec(), Dense::new(&shape_of(&[x], letters), data)))
}

/// The sum of products over letters: two at a time from the left, what one has alone and nobody needs summed before.
pub fn einsum<T: Multiplies>(
    operands: &[Lettered<T>],
    result: &[char],
    sum: impl Fn(&[T]) -> Option<T> + Copy,
) -> Option<Dense<T>> {
    let mut list: Vec<Lettered<T>> = operands.to_vec();
    while list.len() > 1 {
        let (left, right) = (list.remove(0), list.remove(0));
        let needed =
            |letter: &char| result.contains(letter) || list.iter().any(|(letters, _)| letters.contains(letter));
        let own = |x: &Lettered<T>, other: &Lettered<T>| -> Vec<char> {
            distinct(&x.0).into_iter().filter(|letter| needed(letter) || other.0.contains(letter)).collect()
        };
        let (of_left, of_right) = (own(&left, &right), own(&right, &left));
        let (left, right) = (kept(&left, &of_left, sum)?, kept(&right, &of_right, sum)?);
        let all = distinct(&[&left.0[..], &right.0].concat());
        let (stay, go): (Vec<char>, Vec<char>) = all.into_iter().partition(needed);
        let both = [&left, &right];
        let product = |place: &Vec<(char, usize)>| {
            let terms = places(&both, &go).into_iter().map(|other| {
                let at = [&place[..], &other].concat();
                vec![element_at(&left, &at), element_at(&right, &at)]
            });
            sum_of_terms(terms)
        };
        let data = places(&both, &stay).iter().map(product).collect::<Option<_>>()?;
        let product = (stay.clone(), Dense::new(&shape_of(&both, &stay), data));
        list.insert(0, product);
    }
    Some(kept(&list[0], result, sum)?.1)
}

/// The sums over all positions that `x` has, stored or not, of the product of each element with its rows.
pub fn contracted<T: Multiplies>(
    x: &Sparse<T>,
    factors: &[&Dense<T>],
    axes: &[usize],
    into: &[usize],
    stored: bool,
) -> Option<Dense<T>> {
    contracted_but(x, factors, axes, into, |at, _| stored && !x.entries.contains_key(at))
}

/// [`contracted`] without the terms of some positions and columns.
pub fn contracted_but<T: Multiplies>(
    x: &Sparse<T>,
    factors: &[&Dense<T>],
    axes: &[usize],
    into: &[usize],
    is_skipped: impl Fn(&Vec<usize>, usize) -> bool,
) -> Option<Dense<T>> {
    let width = factors[0].shape[1];
    let mut shape: Vec<usize> = into.iter().map(|&axis| x.shape[axis]).collect();
    shape.push(width);
    let mut sums = vec![T::nothing(); size(&shape)];
    for at in (0..size(&x.shape)).map(|position| unravel(position as u128, &x.shape)) {
        for r in (0..width).filter(|&r| !is_skipped(&at, r)) {
            let row = factors.iter().zip(axes).map(|(factor, &axis)| factor.get(&[at[axis], r]));
            let factors: Vec<T> = [x.get(&at)].into_iter().chain(row).collect();
            let cell: Vec<usize> = into.iter().map(|&axis| at[axis]).chain([r]).collect();
            let sum = &mut sums[ravel(&cell, &shape) as usize];
            *sum = T::sum(sum, &term(&factors));
        }
    }
    Some(Dense::new(&shape, sums.into_iter().map(T::narrowed).collect::<Option<_>>()?))
}

/// The dots of the rows of factors at each stored position; a term whose factor on the axis `given` is zero is left
/// out.
pub fn dots<T: Multiplies>(x: &Sparse<T>, factors: &[&Dense<T>], given: usize) -> Sparse<T> {
    let width = factors[0].shape[1];
    let dot = |at: &Vec<usize>| {
        let of_column = |r: usize| {
            let factors: Vec<T> = factors.iter().zip(at).map(|(factor, &coord)| factor.get(&[coord, r])).collect();
            if factors[given].truthy() { term(&factors) } else { T::nothing() }
        };
        let products: Vec<T::Wide> = (0..width).map(of_column).collect();
        (at.clone(), in_lanes::<T>(&products).unwrap())
    };
    Sparse { shape: x.shape.clone(), entries: x.entries.keys().map(dot).collect(), fill: T::zero() }
}

/// The last axis of a reference result where it belongs.
pub fn with_last_at<T: Copy>(x: &Dense<T>, axis: usize) -> Dense<T> {
    let mut shape = x.shape.clone();
    let last = shape.pop().unwrap();
    shape.insert(axis, last);
    let data = (0..size(&shape)).map(|position| {
        let mut at = unravel(position as u128, &shape);
        let last = at.remove(axis);
        at.push(last);
        x.get(&at)
    });
    Dense::new(&shape, data.collect())
}

/// A function that returns the shape of a product, and the position of the product of two elements.
pub type Place = fn(&[usize], &[usize], &[usize], &[usize]) -> (Vec<usize>, Vec<usize>);

/// As `outer` has it: the axes of the left operand, then those of the right one.
pub fn one_behind_the_other(left: &[usize], right: &[usize], i: &[usize], j: &[usize]) -> (Vec<usize>, Vec<usize>) {
    ([left, right].concat(), [i, j].concat())
}

/// As `kron` has it: blocks.
pub fn one_in_the_other(left: &[usize], right: &[usize], i: &[usize], j: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let rank = left.len().max(right.len());
    let padded = |own: &[usize], with: usize| [vec![with; rank - own.len()], own.to_vec()].concat();
    let (left, right) = (padded(left, 1), padded(right, 1));
    let shape = left.iter().zip(&right).map(|(a, b)| a * b).collect();
    let (i, j) = (padded(i, 0), padded(j, 0));
    (shape, i.iter().zip(&j).zip(&right).map(|((i, j), length)| i * length + j).collect())
}

/// The result, and whether it meets a zero that is not stored with something that is not finite.
pub fn of_all_pairs<T: Multiplies>(x: &Sparse<T>, y: &Sparse<T>, place: Place) -> (Option<Sparse<T>>, bool) {
    let (shape, _) = place(&x.shape, &y.shape, &vec![0; x.shape.len()], &vec![0; y.shape.len()]);
    let has_gaps = |x: &Sparse<T>| x.entries.len() < size(&x.shape);
    let is_wild = |x: &Sparse<T>| x.entries.values().any(|value| !value.is_finite());
    let refused = (is_wild(x) && has_gaps(y)) || (is_wild(y) && has_gaps(x));
    let mut entries = Some(BTreeMap::new());
    for ((i, &a), (j, &b)) in x.entries.iter().flat_map(|x| y.entries.iter().map(move |y| (x, y))) {
        let product: Option<T> = sum_of_terms([vec![a, b]]);
        entries = entries.zip(product).map(|(mut entries, product)| {
            entries.insert(place(&x.shape, &y.shape, i, j).1, product);
            entries
        });
    }
    (entries.map(|entries| Sparse { shape, entries, fill: T::zero() }), refused)
}
