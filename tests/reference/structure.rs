//! The entries that a result stores, as a function of the entries of the inputs; and `coalesce`.
//!
//! The first half never reads a value: this is the promise. Coordinates are sets, in row-major order. Shapes may be
//! huge, but need fewer than 2^127 positions if a flat index is formed.

use std::collections::{BTreeMap, BTreeSet};

use super::dense::{Dense, Sparse, checked_size, ravel, reduced_coords, size, unravel};
use super::ops::{Mode, TakeFault, resolve_indices, take_axis_source};
use super::scalar::Scalar;

/// The coordinates of the stored entries.
pub type Coords = BTreeSet<Vec<usize>>;

/// A reduction stores a cell if any stored entry is reduced into it.
pub fn reduce(stored: &Coords, axes: &[usize], keep_dims: bool) -> Coords {
    let cells = stored.iter();
    cells.map(|at| reduced_coords(at, axes, keep_dims)).collect()
}

/// An elementwise operation, a cast, a gradient: what the input stores.
pub fn elementwise(stored: &Coords) -> Coords {
    stored.clone()
}

/// A gradient stores exactly what `x` stores.
pub fn backward(x: &Coords) -> Coords {
    x.clone()
}

/// `take` stores a cell if the position that it reads is stored.
pub fn take(stored: &Coords, shape: &[usize], indices: &Dense<i128>, mode: Mode) -> Result<Coords, TakeFault> {
    let n = checked_size(shape).expect("less than 2^127 positions");
    let sources = resolve_indices(indices, n, mode)?.into_iter();
    let cells = indices.coords().into_iter().zip(sources);
    let is_stored = |source: u128| stored.contains(&unravel(source, shape));
    let kept = cells.filter(|&(_, source)| is_stored(source));
    Ok(kept.map(|(cell, _)| cell).collect())
}

/// `take` along an axis stores a cell if the position that it reads is stored.
pub fn take_axis(
    stored: &Coords,
    shape: &[usize],
    indices: &Dense<i128>,
    axis: usize,
    mode: Mode,
) -> Result<Coords, TakeFault> {
    let positions = resolve_indices(indices, shape[axis] as u128, mode)?;
    let mut result = Coords::new();
    for source in stored {
        for entry in indices.coords() {
            let cell = [&source[..axis], &entry, &source[axis + 1..]].concat();
            if take_axis_source(&cell, &indices.shape, &positions, axis) == *source {
                result.insert(cell);
            }
        }
    }
    Ok(result)
}

/// The result's axis `k` is the input's axis `order[k]`.
pub fn permute(stored: &Coords, order: &[usize]) -> Coords {
    let permuted = |at: &Vec<usize>| order.iter().map(|&axis| at[axis]).collect();
    stored.iter().map(permuted).collect()
}

/// Returns the coordinates of the same flat indices in another shape.
pub fn reshape(stored: &Coords, from: &[usize], to: &[usize]) -> Coords {
    let positions = stored.iter().map(|at| ravel(at, from));
    positions.map(|position| unravel(position, to)).collect()
}

/// `coalesce` stores every coordinate that was pushed, once.
pub fn coalesced<T>(triplets: &[(Vec<usize>, T)]) -> Coords {
    triplets.iter().map(|(at, _)| at.clone()).collect()
}

/// The compressed rows of a sparse array: offsets (one more than there are rows), columns, values.
///
/// All axes but the last are rows; rank 0 is one row with one column.
pub fn csr_parts<T: Scalar>(x: &Sparse<T>) -> (Vec<usize>, Vec<usize>, Vec<T>) {
    let rank = x.shape.len();
    let lead = &x.shape[..rank.saturating_sub(1)];
    let mut counts = vec![0; size(lead)];
    for at in x.entries.keys() {
        counts[ravel(&at[..lead.len()], lead) as usize] += 1;
    }
    let mut offsets = vec![0];
    for count in counts {
        offsets.push(offsets[offsets.len() - 1] + count);
    }
    let columns = x.entries.keys().map(|at| at.last().copied().unwrap_or(0));
    (offsets, columns.collect(), x.entries.values().copied().collect())
}

/// The offsets of each batch of a rank-3 or higher array, each from 0, as batched formats of other
/// libraries keep them: `rows + 1` numbers a batch.
pub fn batch_offsets<T: Scalar>(x: &Sparse<T>) -> Vec<Vec<usize>> {
    let rank = x.shape.len();
    assert!(rank >= 3, "batches need a rank of 3 or more");
    let rows = x.shape[rank - 2];
    let (offsets, _, _) = csr_parts(x);
    let batches = 0..size(&x.shape[..rank - 2]);
    let batch = |b: usize| offsets[b * rows..=(b + 1) * rows].to_vec();
    let from_zero = |all: Vec<usize>| all.iter().map(|offset| offset - all[0]).collect();
    batches.map(|b| from_zero(batch(b))).collect()
}

/// The meaning of repeated coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Their sum, from left to right in input order; or for `bool`.
    Sum,
    /// The first in input order.
    First,
    /// The last in input order.
    Last,
    /// The smallest; NaN if any is NaN; of equals the first in input order.
    Min,
    /// The largest; NaN if any is NaN; of equals the first in input order.
    Max,
    /// One if any is truthy, else zero.
    LogicalOr,
    /// A fault.
    Error,
}

/// Why triplets cannot be coalesced; the coordinates are the first in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoalesceFault {
    /// An integer sum overflows, after any of its additions.
    Overflow(Vec<usize>),
    /// A coordinate is repeated, under [`Duplicates::Error`].
    Repeated(Vec<usize>),
    /// `Min` or `Max` of complex numbers, with or without repeated coordinates.
    NoOrder,
}

/// Brings triplets into canonical form.
///
/// A coordinate that occurs once keeps its value, bit for bit, under every rule (also under
/// `LogicalOr`). A NaN that is computed (`Sum`, `Min`, `Max`) is the canonical NaN.
pub fn coalesce<T: Scalar>(
    triplets: &[(Vec<usize>, T)],
    duplicates: Duplicates,
) -> Result<BTreeMap<Vec<usize>, T>, CoalesceFault> {
    let ordered = matches!(duplicates, Duplicates::Min | Duplicates::Max);
    if ordered && T::zero().less(T::one()).is_none() {
        return Err(CoalesceFault::NoOrder);
    }
    let mut lists: BTreeMap<&Vec<usize>, Vec<T>> = BTreeMap::new();
    for (at, value) in triplets {
        lists.entry(at).or_default().push(*value);
    }
    let mut entries = BTreeMap::new();
    for (at, values) in lists {
        let value = match values[..] {
            [lone] => lone,
            _ => combine(at, &values, duplicates)?,
        };
        entries.insert(at.clone(), value);
    }
    Ok(entries)
}

/// The value of two or more triplets with the same coordinates.
fn combine<T: Scalar>(at: &[usize], values: &[T], duplicates: Duplicates) -> Result<T, CoalesceFault> {
    let (first, last) = (values[0], values[values.len() - 1]);
    match duplicates {
        Duplicates::First => Ok(first),
        Duplicates::Last => Ok(last),
        Duplicates::Error => Err(CoalesceFault::Repeated(at.to_vec())),
        Duplicates::LogicalOr if values.iter().any(|value| value.truthy()) => Ok(T::one()),
        Duplicates::LogicalOr => Ok(T::zero()),
        Duplicates::Min => Ok(extreme(values, is_below)),
        Duplicates::Max => Ok(extreme(values, |new, best| is_below(best, new))),
        Duplicates::Sum => sum(values).ok_or_else(|| CoalesceFault::Overflow(at.to_vec())),
    }
}

/// Returns whether one value is less than another; `-0.0` is less than `0.0`.
fn is_below<T: Scalar>(value: T, other: T) -> bool {
    let are_equal = value.less(other) == Some(false) && other.less(value) == Some(false);
    value.less(other) == Some(true) || are_equal && other.same(T::zero()) && !value.same(T::zero())
}

/// The sum from left to right, or `None` where an addition overflows.
fn sum<T: Scalar>(values: &[T]) -> Option<T> {
    let mut total = values[0];
    for &value in &values[1..] {
        total = total.checked_add(value)?;
    }
    Some(total.canonical())
}

/// The value that no later one beats, or the first NaN made canonical.
fn extreme<T: Scalar>(values: &[T], beats: impl Fn(T, T) -> bool) -> T {
    if let Some(nan) = values.iter().find(|value| value.is_nan()) {
        return nan.canonical();
    }
    let mut best = values[0];
    for &value in &values[1..] {
        if beats(value, best) {
            best = value;
        }
    }
    best
}
