//! Slices: a range with a step, or one position, of each axis.

use std::ops::Range;

use ndarray::SliceInfoElem;

use super::moves::Moves;
use super::{select_with, select_with_backward};
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::plan::moves::StepRange;
use crate::tensor::Tensor;

/// Returns a slice along each axis: a range with a step, or one position.
///
/// Write the slices with the macro [`s!`](ndarray::s) of `ndarray`. If the rank is dynamic, pass a list of
/// [`SliceInfoElem`](ndarray::SliceInfoElem):
///
/// | in `s![…]` | result |
/// | --- | --- |
/// | `..`, `a..b`, `a..=b`, `a..`, `..b` | all positions, or a range |
/// | `a..b;2` | every second position of the range, from the first position |
/// | `a..b;-1`, `..;-2` | the range in reverse, from its last position |
/// | `i` | one position; the axis is removed |
/// | `NewAxis` | a new axis of length 1, which is not an axis of `x` |
///
/// A negative number counts from the end. For a range `a..b` with a step *s* > 0, *y*<sub>k</sub> = *x*<sub>a + s
/// k</sub> for each position *k* of the axis in the result. For *s* < 0, *y*<sub>k</sub> = *x*<sub>b − 1 + s k</sub>.
///
/// # Shapes
///
/// There is one slice, a range or a position, per axis of `x`. A range of *n* positions results in ⌈*n* / |*s*|⌉
/// positions. A range that ends before its start is empty.
///
#[doc = page!(moved)]
///
/// # Gradient
///
/// [`grad::slice`](crate::grad::slice).
///
/// # Errors
///
/// - `RankMismatch`: the number of slices, without `NewAxis`, differs from the number of axes;
/// - `SliceOutOfRange`: a start or an end is outside `-n..=n` on an axis of length `n`, or a position is outside
///   `-n..n`. numpy clips the ends of ranges instead;
/// - `ZeroStep`: a step is 0;
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting.
///
/// # Complexity
///
/// In COO, a range with the step 1 on the first axis costs O(log(entries of `x`)). The result shares the values of `x`.
/// If the range does not start at 0, the new coordinates of the first axis add O(entries of the result). These costs
/// also hold for single positions on the leading axes, and one such range on the axis after them. In CSR, such a slice
/// shares the values and the columns of `x`, and costs O(lanes of the result) for the offsets.
///
/// All other slices of COO cost O(rank) for each entry at the leading single positions and in the first range. All
/// other slices of CSR cost O(log columns) for each lane of the result. These slices also cost O(1) for each entry
/// between the first and the last selected column. A negative step adds the cost of [`flip`](crate::flip()). For
/// arrays, the cost is O(elements of the result · rank).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, slice};
/// use lacuna::ndarray::s;
///
/// // . 2 .
/// // 3 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
///
/// let y = slice(&x, s![.., ..;-2])?; // every other column, starting with the last column
/// assert_eq!(y.to_dense()?, x.to_dense()?.slice(s![.., ..;-2]).into_dyn());
/// assert_eq!(y.entries(), [(vec![1, 0], 4.0), (vec![1, 1], 3.0)]);
///
/// let row = slice(&x, s![-1, ..])?;
/// assert_eq!(row.entries(), [(vec![0], 3.0), (vec![2], 4.0)]);
/// assert!(std::ptr::eq(row.values(), &x.values()[1..])); // nothing is copied
///
/// let refused = slice(&x, s![.., 1..4]).unwrap_err();
/// assert_eq!(refused.to_string(), "4 in the slice of axis 1 is out of range for length 3");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`ndarray::s!`](https://docs.rs/ndarray/latest/ndarray/macro.s.html), and numpy's [basic
/// indexing](https://numpy.org/doc/stable/user/basics.indexing.html), except for negative steps and for ranges that end
/// outside an axis.
#[doc(alias = "index")]
#[doc(alias = "getitem")]
#[doc(alias = "narrow")]
#[doc(alias = "iloc")]
pub fn slice<X: Operand>(x: &X, slices: impl AsRef<[SliceInfoElem]>) -> Result<X::Reduced<X::Elem>> {
    select_with(x, &sliced(x.lengths(), slices)?)
}

/// Returns the gradient of [`slice()`]: the sum over the copies of each element.
///
#[doc = page!(moved_gradient)]
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`slice()`] for the same arguments. The gradient has the shape of
/// `x`.
///
#[doc = page!(moved_gradient_values)]
///
/// # Errors
///
/// - the errors of [`slice()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`slice()`], one lookup in `upstream` per entry of the forward result, and O(entries of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::{arr1, s};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
/// let dx = grad::slice(&x, &arr1(&[0.5, 0.25]), s![1, 1..])?;
/// assert_eq!(dx.values(), [0.0, 0.0, 0.25]); // 0.5 belongs to an unstored position
/// assert!(dx.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn slice_backward<X: Operand, U: Operand>(
    x: &X,
    upstream: &U,
    slices: impl AsRef<[SliceInfoElem]>,
) -> Result<X::Reduced<U::Elem>> {
    select_with_backward(x, &sliced(x.lengths(), slices)?, upstream)
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns a slice along each axis: see [`slice()`](crate::slice()).
    ///
    /// # Errors
    ///
    /// The errors of [`slice()`](crate::slice()).
    pub fn slice(&self, slices: impl AsRef<[SliceInfoElem]>) -> Result<Self> {
        slice(self, slices)
    }
}

/// Returns a slice of one axis, and whether it is reversed.
///
/// The positions of the slice are in increasing order.
fn range_of(axis: usize, length: usize, start: isize, end: Option<isize>, step: isize) -> Result<(StepRange, bool)> {
    let from_start = |at: isize| {
        let place = if at < 0 { length.checked_sub(at.unsigned_abs()) } else { Some(at as usize) };
        place.filter(|&place| place <= length).ok_or(Error::SliceOutOfRange { index: at, axis, length })
    };
    let start = from_start(start)?;
    let end = end.map_or(Ok(length), from_start)?.max(start);
    let by = step.unsigned_abs();
    if by == 0 {
        return Err(Error::ZeroStep { axis });
    }
    let count = (end - start).div_ceil(by);
    // A negative step includes the last position of the range, but not necessarily the first.
    let first = if step < 0 && count > 0 { end - 1 - (count - 1) * by } else { start };
    Ok((StepRange::new(first, by, count), step < 0))
}

/// Returns the slice for a range of an axis of `length` positions. Positions that exceed `isize` are counted from the
/// end.
pub(crate) fn slice_of(range: Range<usize>, length: usize, step: isize) -> SliceInfoElem {
    if range.is_empty() {
        return SliceInfoElem::Slice { start: 0, end: Some(0), step };
    }
    let end = (range.end < length).then(|| index_of(range.end, length));
    SliceInfoElem::Slice { start: index_of(range.start, length), end, step }
}

/// Returns a position as an index, counted from the end if it exceeds `isize`.
fn index_of(position: usize, length: usize) -> isize {
    isize::try_from(position).unwrap_or_else(|_| 0_isize.wrapping_sub_unsigned(length - position))
}

/// Returns the moves that remove the first position of an axis, and the last one.
pub(crate) fn halves(lengths: &[usize], axis: usize) -> [Moves; 2] {
    let length = lengths[axis].saturating_sub(1);
    [lengths[axis] - length, 0].map(|first| {
        let mut cuts: Vec<_> = lengths.iter().map(|&length| StepRange::whole(length)).collect();
        cuts[axis] = StepRange::new(first, 1, length);
        Moves::of(lengths).cut(cuts)
    })
}

/// Returns the move that changes nothing.
pub(crate) fn unmoved(lengths: &[usize]) -> Moves {
    Moves::of(lengths)
}

pub(crate) fn sliced(lengths: &[usize], slices: impl AsRef<[SliceInfoElem]>) -> Result<Moves> {
    let slices = slices.as_ref();
    let found = slices.iter().filter(|slice| !matches!(slice, SliceInfoElem::NewAxis)).count();
    if found != lengths.len() {
        return Err(Error::RankMismatch { what: "the slice", expected: lengths.len(), found });
    }
    let (mut cuts, mut backwards, mut axes) = (Vec::new(), Vec::new(), Vec::new());
    for slice in slices {
        let axis = cuts.len();
        match *slice {
            SliceInfoElem::NewAxis => axes.push(None),
            SliceInfoElem::Index(index) => {
                let from_end = || lengths[axis].checked_sub(index.unsigned_abs());
                let inside = usize::try_from(index).ok().or_else(from_end).filter(|&place| place < lengths[axis]);
                let first = inside.ok_or(Error::SliceOutOfRange { index, axis, length: lengths[axis] })?;
                cuts.push(StepRange::new(first, 1, 1));
            }
            SliceInfoElem::Slice { start, end, step } => {
                let (cut, is_backwards) = range_of(axis, lengths[axis], start, end, step)?;
                cuts.push(cut);
                backwards.extend(is_backwards.then_some(axis));
                axes.push(Some(axis));
            }
        }
    }
    Ok(backwards.into_iter().fold(Moves::of(lengths).cut(cuts), Moves::reverse).axes(axes))
}
