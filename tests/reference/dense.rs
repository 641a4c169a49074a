//! The two containers of the reference: a row-major array, and a map from coordinates to values.

use std::collections::{BTreeMap, BTreeSet};

use super::scalar::Scalar;

/// A dense array of any rank from 0 up, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<T> {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// One element a position, the last axis fastest.
    pub data: Vec<T>,
}

/// A sparse array: stored entries by coordinates, and what every other position holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T> {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The stored entries, in row-major order because that is how the keys sort.
    pub entries: BTreeMap<Vec<usize>, T>,
    /// The value of every position that is not stored.
    pub fill: T,
}

/// The groups of a reduction: the shape of its result, and the input positions of each output element.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The shape of the result, reduced axes left out or kept with length 1.
    pub shape: Vec<usize>,
    /// For each output cell, row-major, its input positions; the place of a position in this list
    /// is its row-major position within the reduced axes.
    pub cells: Vec<Vec<usize>>,
}

/// The number of positions of a shape, or `None` if it does not fit `u128`.
pub fn checked_size(shape: &[usize]) -> Option<u128> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u128, |size, &length| size.checked_mul(length as u128))
}

/// The number of positions of a shape that is small enough to be dense.
pub fn size(shape: &[usize]) -> usize {
    let size = checked_size(shape).expect("a dense shape is small");
    usize::try_from(size).expect("a dense shape is small")
}

/// The flattened position of some coordinates; it must fit `u128`.
pub fn ravel(coords: &[usize], shape: &[usize]) -> u128 {
    assert_eq!(coords.len(), shape.len());
    coords.iter().zip(shape).fold(0, |flat, (&c, &length)| {
        assert!(c < length, "{coords:?} is not inside {shape:?}");
        flat * length as u128 + c as u128
    })
}

/// The coordinates of a flattened position.
pub fn unravel(flat: u128, shape: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut coords = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        coords[axis] = (rest % shape[axis] as u128) as usize;
        rest /= shape[axis] as u128;
    }
    assert_eq!(rest, 0, "position {flat} is not inside {shape:?}");
    coords
}

/// Axes as a caller writes them, negative from the end, as sorted axes; `None` if one is out of
/// range or repeated. All axes is `0..rank`, no axes is the empty list.
pub fn normalise_axes(axes: &[isize], rank: usize) -> Option<Vec<usize>> {
    let mut sorted = BTreeSet::new();
    for &axis in axes {
        let from_start = if axis < 0 { axis + rank as isize } else { axis };
        let in_range = 0 <= from_start && from_start < rank as isize;
        if !in_range || !sorted.insert(from_start as usize) {
            return None;
        }
    }
    Some(sorted.into_iter().collect())
}

/// The shape of a reduction's result.
pub fn reduced_shape(shape: &[usize], axes: &[usize], keep_dims: bool) -> Vec<usize> {
    let mut result = Vec::new();
    for (axis, &length) in shape.iter().enumerate() {
        if !axes.contains(&axis) {
            result.push(length);
        } else if keep_dims {
            result.push(1);
        }
    }
    result
}

/// The output cell that some input coordinates are reduced into.
pub fn reduced_coords(coords: &[usize], axes: &[usize], keep_dims: bool) -> Vec<usize> {
    let mut result = Vec::new();
    for (axis, &coord) in coords.iter().enumerate() {
        if !axes.contains(&axis) {
            result.push(coord);
        } else if keep_dims {
            result.push(0);
        }
    }
    result
}

/// The row-major position of some input coordinates within the reduced axes.
pub fn position_in_group(coords: &[usize], shape: &[usize], axes: &[usize]) -> u64 {
    let inner: Vec<usize> = axes.iter().map(|&axis| coords[axis]).collect();
    let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    u64::try_from(ravel(&inner, &lengths)).expect("a group has less than 2^64 positions")
}

/// The groups of a reduction over `axes` (normalised), found by walking every input position.
pub fn groups(shape: &[usize], axes: &[usize], keep_dims: bool) -> Groups {
    let reduced = reduced_shape(shape, axes, keep_dims);
    let mut cells = vec![Vec::new(); size(&reduced)];
    for position in 0..size(shape) {
        let coords = unravel(position as u128, shape);
        let cell = reduced_coords(&coords, axes, keep_dims);
        cells[ravel(&cell, &reduced) as usize].push(position);
    }
    Groups { shape: reduced, cells }
}

/// The groups of a reduction over `axes`, one of which has labels: of its positions those of one label meet, and the
/// labels stay.
pub fn groups_by_label(shape: &[usize], axes: &[usize], keep_dims: bool, axis: usize, by: (&[usize], usize)) -> Groups {
    let others: Vec<usize> = axes.iter().copied().filter(|&other| other != axis).collect();
    let relabelled = |coords: &[usize], label: usize| {
        let mut coords = coords.to_vec();
        coords[axis] = label;
        coords
    };
    let reduced = reduced_shape(&relabelled(shape, by.1), &others, keep_dims);
    let mut cells = vec![Vec::new(); size(&reduced)];
    for position in 0..size(shape) {
        let coords = unravel(position as u128, shape);
        let cell = reduced_coords(&relabelled(&coords, by.0[coords[axis]]), &others, keep_dims);
        cells[ravel(&cell, &reduced) as usize].push(position);
    }
    Groups { shape: reduced, cells }
}

/// Says where two arrays first differ, in shape or in the bits of an element.
pub fn first_difference<T: Scalar>(left: &Dense<T>, right: &Dense<T>) -> Option<String> {
    if left.shape != right.shape {
        return Some(format!("shape {:?} is not {:?}", left.shape, right.shape));
    }
    let pairs = left.data.iter().zip(&right.data);
    let at = pairs.clone().position(|(a, b)| !a.bits_equal(*b))?;
    let (a, b) = (left.data[at], right.data[at]);
    let (a_bits, b_bits) = (a.to_canon_bits(), b.to_canon_bits());
    let coords = unravel(at as u128, &left.shape);
    Some(format!("at {coords:?}: {a:?} ({a_bits:#x}) is not {b:?} ({b_bits:#x})"))
}

impl<T: Copy> Dense<T> {
    /// An array from its shape and its elements, row-major.
    pub fn new(shape: &[usize], data: Vec<T>) -> Self {
        assert_eq!(size(shape), data.len(), "one element a position");
        Dense { shape: shape.to_vec(), data }
    }

    /// An array that holds one value everywhere.
    pub fn full(shape: &[usize], value: T) -> Self {
        Dense::new(shape, vec![value; size(shape)])
    }

    /// The element at some coordinates.
    pub fn get(&self, coords: &[usize]) -> T {
        self.data[ravel(coords, &self.shape) as usize]
    }

    /// Writes the element at some coordinates.
    pub fn set(&mut self, coords: &[usize], value: T) {
        let position = ravel(coords, &self.shape) as usize;
        self.data[position] = value;
    }

    /// Every coordinate, in row-major order.
    pub fn coords(&self) -> Vec<Vec<usize>> {
        let positions = 0..self.data.len();
        positions.map(|position| unravel(position as u128, &self.shape)).collect()
    }

    /// A function of every element.
    pub fn map<U: Copy>(&self, function: impl Fn(T) -> U) -> Dense<U> {
        let data = self.data.iter().map(|&x| function(x)).collect();
        Dense::new(&self.shape, data)
    }
}

impl<T: Scalar> Dense<T> {
    /// The sparse form that stores what is not the `same` as `fill`.
    pub fn to_sparse(&self, fill: T) -> Sparse<T> {
        let coords = self.coords().into_iter();
        let entries = coords.zip(self.data.iter().copied());
        Sparse { shape: self.shape.clone(), entries: entries.filter(|(_, value)| !value.same(fill)).collect(), fill }
    }
}

impl<T: Scalar> Sparse<T> {
    /// A sparse array; every entry has to be inside the shape.
    pub fn new(shape: &[usize], entries: BTreeMap<Vec<usize>, T>, fill: T) -> Self {
        for coords in entries.keys() {
            assert_eq!(coords.len(), shape.len());
            assert!(coords.iter().zip(shape).all(|(c, length)| c < length));
        }
        Sparse { shape: shape.to_vec(), entries, fill }
    }

    /// The value at some coordinates, stored or not.
    pub fn get(&self, coords: &[usize]) -> T {
        self.entries.get(coords).copied().unwrap_or(self.fill)
    }

    /// The coordinates of the stored entries.
    pub fn coords(&self) -> BTreeSet<Vec<usize>> {
        self.entries.keys().cloned().collect()
    }

    /// The dense array: the fill everywhere, then the entries over it.
    pub fn to_dense(&self) -> Dense<T> {
        let mut dense = Dense::full(&self.shape, self.fill);
        for (coords, &value) in &self.entries {
            dense.set(coords, value);
        }
        dense
    }

    /// The entries of a dense array at exactly these stored positions, with a fill of zero: what a
    /// gradient of this array has to be.
    pub fn pattern_of<G: Scalar>(&self, dense: &Dense<G>) -> Sparse<G> {
        assert_eq!(self.shape, dense.shape);
        let coords = self.entries.keys().cloned();
        Sparse {
            shape: self.shape.clone(),
            entries: coords.map(|at| (at.clone(), dense.get(&at))).collect(),
            fill: G::zero(),
        }
    }
}
