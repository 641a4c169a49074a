//! The forward operations on dense arrays, word by word from their definitions.

use super::dense::{
    Dense, Sparse, checked_size, groups, position_in_group, ravel, reduced_coords, reduced_shape, size, unravel,
};
use super::scalar::{GradScalar, RealScalar, Scalar};

/// The median of an even number of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Even {
    /// The mean of the two middle values.
    Mean,
    /// The lower of the two middle values.
    Lower,
}

/// The treatment of an index out of range by `take`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `-n..n` is accepted, anything else is a fault.
    Raise,
    /// The Euclidean remainder.
    Wrap,
    /// Negatives become 0, what is too large becomes the last position.
    Clip,
}

/// Why `take` or its gradient has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeFault {
    /// In `Raise`: the first index that is out of range, and its position in the index array.
    OutOfBounds {
        /// The row-major position in the index array.
        entry: usize,
        /// The index there.
        index: i128,
    },
    /// In any mode: a non-empty take from nothing.
    Empty,
    /// In the gradient: an integer sum overflows.
    Overflow,
}

/// Logical or of the truth values of each group; `false` for an empty group.
pub fn any<T: Scalar>(x: &Dense<T>, axes: &[usize], keep_dims: bool) -> Dense<bool> {
    let groups = groups(&x.shape, axes, keep_dims);
    let cells = groups.cells.iter();
    let data = cells.map(|cell| cell.iter().any(|&position| x.data[position].truthy()));
    Dense::new(&groups.shape, data.collect())
}

/// Returns an output element of [`any`] of a sparse array of any size. The fill counts unless all positions are stored.
pub fn any_cell<T: Scalar>(x: &Sparse<T>, axes: &[usize], keep_dims: bool, cell: &[usize]) -> bool {
    let lengths: Vec<usize> = axes.iter().map(|&axis| x.shape[axis]).collect();
    let mut stored_values = Vec::new();
    for (at, &value) in &x.entries {
        if reduced_coords(at, axes, keep_dims) == cell {
            stored_values.push(value);
        }
    }
    let full = checked_size(&lengths) == Some(stored_values.len() as u128);
    stored_values.iter().any(|value| value.truthy()) || !full && x.fill.truthy()
}

/// Returns the number of truthy values of each group.
pub fn count_nonzero<T: Scalar>(x: &Dense<T>, axes: &[usize], keep_dims: bool) -> Dense<u64> {
    let groups = groups(&x.shape, axes, keep_dims);
    let cells = groups.cells.iter();
    let data = cells.map(|cell| cell.iter().filter(|&&position| x.data[position].truthy()).count() as u64);
    Dense::new(&groups.shape, data.collect())
}

/// Returns whether each element is in the set; with `invert`, whether it is not.
pub fn isin<T: Scalar>(x: &Dense<T>, set: &[T], invert: bool) -> Dense<bool> {
    x.map(|value| set.iter().any(|&member| value.member_eq(member)) != invert)
}

/// The position that an index means on `n` positions, or `None` if it means none.
pub fn resolve_index(index: i128, n: u128, mode: Mode) -> Option<u128> {
    let n = i128::try_from(n).expect("less than 2^127 positions");
    if n == 0 {
        return None;
    }
    let position = match mode {
        Mode::Raise if 0 <= index && index < n => index,
        Mode::Raise if -n <= index && index < 0 => index + n,
        Mode::Raise => return None,
        Mode::Wrap => index.rem_euclid(n),
        Mode::Clip => index.clamp(0, n - 1),
    };
    Some(position as u128)
}

/// Every index as a position on `n` positions, or the first fault.
pub fn resolve_indices(indices: &Dense<i128>, n: u128, mode: Mode) -> Result<Vec<u128>, TakeFault> {
    let mut positions = Vec::new();
    for (entry, &index) in indices.data.iter().enumerate() {
        if n == 0 {
            return Err(TakeFault::Empty);
        }
        let fault = TakeFault::OutOfBounds { entry, index };
        positions.push(resolve_index(index, n, mode).ok_or(fault)?);
    }
    Ok(positions)
}

/// The elements at flattened positions, in the shape of the index array.
pub fn take<T: Scalar>(x: &Dense<T>, indices: &Dense<i128>, mode: Mode) -> Result<Dense<T>, TakeFault> {
    let positions = resolve_indices(indices, x.data.len() as u128, mode)?;
    let taken = positions.iter().map(|&position| x.data[position as usize]);
    Ok(Dense::new(&indices.shape, taken.collect()))
}

/// `take` of a sparse array of any size below 2^127, read entry by entry, as a dense array.
pub fn take_sparse<T: Scalar>(x: &Sparse<T>, indices: &Dense<i128>, mode: Mode) -> Result<Dense<T>, TakeFault> {
    let n = checked_size(&x.shape).expect("less than 2^127 positions");
    let positions = resolve_indices(indices, n, mode)?;
    let taken = positions.iter().map(|&position| x.get(&unravel(position, &x.shape)));
    Ok(Dense::new(&indices.shape, taken.collect()))
}

/// The shape of a take along an axis: the axis is replaced by the axes of the index array.
pub fn take_axis_shape(shape: &[usize], indices: &[usize], axis: usize) -> Vec<usize> {
    [&shape[..axis], indices, &shape[axis + 1..]].concat()
}

/// The input coordinates that an output cell of a take along an axis is read from.
///
/// `positions` is what [`resolve_indices`] makes of the index array, whose shape is `indices`.
pub fn take_axis_source(cell: &[usize], indices: &[usize], positions: &[u128], axis: usize) -> Vec<usize> {
    let (before, rest) = cell.split_at(axis);
    let (entry, after) = rest.split_at(indices.len());
    let position = positions[ravel(entry, indices) as usize] as usize;
    [before, &[position], after].concat()
}

/// The slices at some positions of one axis.
///
/// The indices are checked against the length of the axis, whatever the other lengths are.
pub fn take_axis<T: Scalar>(
    x: &Dense<T>,
    indices: &Dense<i128>,
    axis: usize,
    mode: Mode,
) -> Result<Dense<T>, TakeFault> {
    let positions = resolve_indices(indices, x.shape[axis] as u128, mode)?;
    let shape = take_axis_shape(&x.shape, &indices.shape, axis);
    let mut result = Dense::full(&shape, T::zero());
    for cell in result.coords() {
        let source = take_axis_source(&cell, &indices.shape, &positions, axis);
        result.set(&cell, x.get(&source));
    }
    Ok(result)
}

/// The elements of a group that are not NaN as `(value, position)`, sorted by value, then position.
pub fn ranked<T: RealScalar>(group: &[(u64, T)]) -> Vec<(T, u64)> {
    let numbers = group.iter().filter(|(_, value)| !value.is_nan());
    let mut ranked: Vec<(T, u64)> = numbers.map(|&(position, value)| (value, position)).collect();
    ranked.sort_by(|(a, i), (b, j)| a.order(*b).then(i.cmp(j)));
    ranked
}

/// The median of ranked values; NaN if there are none.
pub fn median_of_ranked<T: RealScalar>(ranked: &[(T, u64)], even: Even) -> T::Median {
    let m = ranked.len();
    if m == 0 {
        return T::Median::canonical_nan();
    }
    let (lower, upper) = (ranked[(m - 1) / 2].0, ranked[m / 2].0);
    if m % 2 == 1 || even == Even::Lower { lower.to_median() } else { lower.mean_of_two(upper) }
}

/// The position of the first of the ranked elements that equals the lower median; `u64::MAX` for
/// none.
pub fn index_of_ranked<T: RealScalar>(ranked: &[(T, u64)]) -> u64 {
    if ranked.is_empty() {
        return u64::MAX;
    }
    let lower = ranked[(ranked.len() - 1) / 2].0;
    let equal = ranked.iter().filter(|(value, _)| *value == lower);
    equal.map(|&(_, position)| position).min().expect("lower itself")
}

/// The shape of the result, and each of its groups as `(position in the group, value)`.
type Grouped<T> = (Vec<usize>, Vec<Vec<(u64, T)>>);

/// The groups of a dense array: every position of each.
fn dense_groups<T: RealScalar>(x: &Dense<T>, axes: &[usize], keep_dims: bool) -> Grouped<T> {
    let groups = groups(&x.shape, axes, keep_dims);
    let read = |cell: &Vec<usize>| {
        let places = cell.iter().enumerate();
        places.map(|(k, &at)| (k as u64, x.data[at])).collect()
    };
    (groups.shape, groups.cells.iter().map(read).collect())
}

/// The groups of a sparse array: the stored entries of each.
fn stored_groups<T: RealScalar>(x: &Sparse<T>, axes: &[usize], keep_dims: bool) -> Grouped<T> {
    let shape = reduced_shape(&x.shape, axes, keep_dims);
    let mut cells = vec![Vec::new(); size(&shape)];
    for (coords, &value) in &x.entries {
        let cell = reduced_coords(coords, axes, keep_dims);
        let place = position_in_group(coords, &x.shape, axes);
        cells[ravel(&cell, &shape) as usize].push((place, value));
    }
    (shape, cells)
}

/// The medians of groups.
fn medians<T: RealScalar>((shape, cells): Grouped<T>, even: Even) -> Dense<T::Median> {
    let medians = cells.iter().map(|cell| median_of_ranked(&ranked(cell), even));
    Dense::new(&shape, medians.collect())
}

/// The indices of the medians of groups.
fn median_indices<T: RealScalar>((shape, cells): Grouped<T>) -> Dense<u64> {
    let indices = cells.iter().map(|cell| index_of_ranked(&ranked(cell)));
    Dense::new(&shape, indices.collect())
}

/// The median of each group without its NaNs; NaN for a group without a number.
pub fn nanmedian<T: RealScalar>(x: &Dense<T>, axes: &[usize], keep_dims: bool, even: Even) -> Dense<T::Median> {
    medians(dense_groups(x, axes, keep_dims), even)
}

/// Returns the position in its group, row-major within the reduced axes, of the first element equal to the lower
/// median; `u64::MAX` for a group without a number.
pub fn nanmedian_index<T: RealScalar>(x: &Dense<T>, axes: &[usize], keep_dims: bool) -> Dense<u64> {
    median_indices(dense_groups(x, axes, keep_dims))
}

/// The median of the stored entries of each group; NaN for a group without a stored number.
pub fn nanmedian_stored<T: RealScalar>(x: &Sparse<T>, axes: &[usize], keep_dims: bool, even: Even) -> Dense<T::Median> {
    medians(stored_groups(x, axes, keep_dims), even)
}

/// The index of [`nanmedian_stored`]: the first *stored* element equal to the lower median, by its
/// position among all positions of the group.
pub fn nanmedian_stored_index<T: RealScalar>(x: &Sparse<T>, axes: &[usize], keep_dims: bool) -> Dense<u64> {
    median_indices(stored_groups(x, axes, keep_dims))
}

/// Returns whether each element is `+inf`.
pub fn isposinf<T: RealScalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_pos_inf)
}

/// Returns whether each element is `-inf`.
pub fn isneginf<T: RealScalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_neg_inf)
}

/// Returns whether each element is below zero, or a zero with a sign.
pub fn signbit<T: RealScalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(|x| !x.is_nan() && (x.order(T::zero()).is_lt() || (!x.truthy() && !x.same(T::zero()))))
}

/// Returns whether each element is an infinity.
pub fn isinf<T: Scalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_inf)
}

/// Returns whether each element is NaN.
pub fn isnan<T: Scalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_nan)
}

/// Returns whether each element is finite.
pub fn isfinite<T: Scalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_finite)
}

/// Returns whether each element has an imaginary part of zero; `true` for types without imaginary parts.
pub fn isreal<T: Scalar>(x: &Dense<T>) -> Dense<bool> {
    x.map(T::is_real)
}
