//! What the fuzz targets share: small inputs out of bytes, and the reference that the tests use.

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Result, Unstructured};
use lacuna::Axes;
use ndarray::{ArrayD, IxDyn};

#[path = "../../tests/support/compare.rs"]
#[allow(dead_code)]
pub mod compare;
#[path = "../../tests/support/files.rs"]
pub mod files;
#[path = "../../tests/reference/mod.rs"]
pub mod reference;

use reference::dense::{Dense, Sparse, reduced_shape, size, unravel};
use reference::scalar::Scalar;

/// An element type that is drawn with many ties and all its oddities.
pub trait Draw: Scalar + for<'a> Arbitrary<'a> {
    /// The values that make trouble.
    const ODD: &'static [Self];

    /// One value.
    fn draw(u: &mut Unstructured<'_>) -> Result<Self> {
        if u.ratio(2, 3)? { u.choose(Self::ODD).copied() } else { u.arbitrary() }
    }
}

impl Draw for bool {
    const ODD: &'static [bool] = &[false, true];
}

impl Draw for i8 {
    const ODD: &'static [i8] = &[0, 1, -1, 2, i8::MIN, i8::MAX];
}

impl Draw for u8 {
    const ODD: &'static [u8] = &[0, 1, 2, 3, 127, 128, u8::MAX];
}

impl Draw for u64 {
    const ODD: &'static [u64] = &[0, 1, 2, u64::MAX, 1 << 53, (1 << 53) + 1, 1 << 63];
}

impl Draw for i64 {
    const ODD: &'static [i64] = &[0, 1, -1, i64::MIN, i64::MAX, (1 << 53) + 1];
}

impl Draw for f32 {
    const ODD: &'static [f32] =
        &[0.0, -0.0, 1.0, 2.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, f32::MIN_POSITIVE];
}

impl Draw for f64 {
    const ODD: &'static [f64] =
        &[0.0, -0.0, 1.0, 2.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
}

/// A shape of rank 0 to 6 with at most 256 positions; a length may be zero.
pub fn shape(u: &mut Unstructured<'_>) -> Result<Vec<usize>> {
    let mut shape = Vec::new();
    let mut room = 256usize;
    for _ in 0..u.int_in_range(0..=6)? {
        let length = u.int_in_range(0..=room.min(6))?;
        room /= length.max(1);
        shape.push(length);
    }
    Ok(shape)
}

/// A sparse array of a shape.
pub fn sparse_of<T: Draw>(u: &mut Unstructured<'_>, shape: &[usize]) -> Result<Sparse<T>> {
    let positions = size(shape);
    let mut entries = BTreeMap::new();
    let count = if u.ratio(1, 8)? { positions } else { u.int_in_range(0..=positions.min(32))? };
    for at in 0..count {
        let at = if count == positions { at } else { u.choose_index(positions)? };
        entries.insert(unravel(at as u128, shape), T::draw(u)?);
    }
    Ok(Sparse::new(shape, entries, T::draw(u)?))
}

/// A sparse array.
pub fn sparse<T: Draw>(u: &mut Unstructured<'_>) -> Result<Sparse<T>> {
    let shape = shape(u)?;
    sparse_of(u, &shape)
}

/// A reduction: which axes go, sorted, as the library takes them, and whether CSR has it.
pub struct Reduction {
    /// The axes that go, in increasing order.
    pub normalised: Vec<usize>,
    /// Whether they stay with length 1.
    pub keep_dims: bool,
    /// The same for the library.
    pub axes: Axes,
}

impl Reduction {
    /// Any axes of `rank`.
    pub fn draw(u: &mut Unstructured<'_>, rank: usize) -> Result<Self> {
        let mut normalised = Vec::new();
        for axis in 0..rank {
            if u.arbitrary()? {
                normalised.push(axis);
            }
        }
        let keep_dims = u.arbitrary()?;
        let spelled =
            normalised.iter().rev().map(|&axis| axis as isize - if axis % 2 == 0 { rank as isize } else { 0 });
        let axes = Axes::from(spelled.collect::<Vec<_>>()).with_keep_dims(keep_dims);
        Ok(Reduction { normalised, keep_dims, axes })
    }

    /// The shape of the result.
    pub fn result_shape(&self, shape: &[usize]) -> Vec<usize> {
        reduced_shape(shape, &self.normalised, self.keep_dims)
    }
}

/// Items to take: of rank 0 to 2, in and out of the range of `length` elements.
pub fn indices(u: &mut Unstructured<'_>, length: usize) -> Result<Dense<i128>> {
    let shape: &[usize] = u.choose(&[&[][..], &[0], &[1], &[3], &[5], &[2, 3], &[2, 0]])?;
    let draw = |u: &mut Unstructured<'_>| -> Result<i128> {
        let length = length as i128;
        match u.int_in_range(0..=7)? {
            0 => Ok(i128::from(u.arbitrary::<i64>()?)),
            1 => u.int_in_range(-2 * length - 1..=2 * length + 1),
            _ => u.int_in_range(-length..=(length - 1).max(-length)),
        }
    };
    let data = (0..size(shape)).map(|_| draw(u)).collect::<Result<Vec<i128>>>()?;
    Ok(Dense::new(shape, data))
}

/// The items as the library takes them.
pub fn given(indices: &Dense<i128>) -> ArrayD<i64> {
    let items = indices.data.iter().map(|&index| index as i64).collect();
    ArrayD::from_shape_vec(IxDyn(&indices.shape), items).expect("one item a position")
}
