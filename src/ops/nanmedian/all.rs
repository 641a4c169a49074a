//! The median over all positions of a group: forward, with its position, and backward.

use super::{NanmedianBackwardOptions, NanmedianOp, NanmedianOptions};
use crate::axes::Axes;
use crate::element::Float;
use crate::error::Result;
use crate::ops::upstream::Upstream;

/// The median over the axes given, of the elements that are not NaN.
///
/// *y*<sub>k</sub> = (*s*<sub>⌊(m−1)/2⌋</sub> + *s*<sub>⌊m/2⌋</sub>) / 2, where *s*<sub>0</sub> ≤ … ≤
/// *s*<sub>m−1</sub> are the *x*<sub>k,r</sub> that are not NaN, for *k* over the axes that stay and *r* over those
/// that go.
///
/// The result has the element type of a median: `f32`, `f64`, `f16` and `bf16` keep theirs, integers and `bool` give
/// `f64`. The elements are compared in their own type; only the two in the middle are converted, and then averaged:
/// `[i32::MAX, i32::MAX]` has the median 2147483647.0. Where their sum overflows they are halved first, so the median
/// of `[f64::MAX, f64::MAX]` is `f64::MAX`; `f16` and `bf16` are averaged in `f32`. A zero result is `+0.0`.
/// [`nanmedian_with`] takes the lower of the two instead. There is no median of complex numbers, which have no order
/// (numpy takes the lexicographic one):
///
/// ```compile_fail
/// # use lacuna::{CooTensor, nanmedian};
/// # use num_complex::Complex;
/// let x = CooTensor::full([3], Complex::new(0.0, 1.0)).unwrap();
/// let y = nanmedian(&x, 0); // the trait `Real` is not implemented for `Complex<f64>`
/// ```
///
/// # Shapes
///
/// The axes given are removed, or stay with length 1 under [`Axes::keep_dims`]. [`Axes::all`] gives rank 0,
/// [`Axes::none`] each element as its own median. On CSR the axes are all, none, or the last one. The result has the
/// format and index type of `x`.
///
/// # Implicit values
///
/// Positions that are not stored count, with the fill as their value, by arithmetic: none is ever written out. A group
/// (the positions that meet in one cell of the result) with a stored entry gives a stored result; the others hold the
/// fill. The fill of the result is the fill in the type of a median, or NaN where the axes that go hold no position.
/// Over no axes the pattern is shared. [`nanmedian_stored`](crate::nanmedian_stored()) leaves the positions out that
/// are not stored. Groups of more than 2<sup>64</sup> − 1 positions count as that many: since fewer can be stored, the
/// median is the same.
///
/// # NaN
///
/// NaN is left out, stored or as the fill. A group without a number, be it all NaN or empty, gives NaN. The median of
/// −∞ and ∞ is NaN. Every NaN result is the canonical one.
///
/// # Gradient
///
/// [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Errors
///
/// - `AxisOutOfRange`, `AxisRepeated`: the axes do not fit the rank;
/// - `CsrAxes`: CSR was asked for other axes; the message spells the call that works;
/// - `TooLarge`: the result has an offset (CSR) or an element (arrays) for each of too many cells, or the lane of a
///   broadcast array is too long to be copied.
///
/// # Complexity
///
/// By selection, never a full sort: O(nnz) on top of bringing the entries of each group together, which is O(nnz ·
/// rank) where the axes that stay lead, O(nnz · (rank + log nnz)) else; for CSR
/// O(nnz + lanes); for arrays O(elements). Each thread holds two copies of the largest group at most. Groups of an array
/// that lie side by side are read where they are; of others each thread copies 2 MiB, or those that share a cache line.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, nanmedian};
/// use ndarray::arr1;
///
/// // 1  .  NaN
/// // 2  4  8
/// let (rows, columns) = (vec![0, 0, 1, 1, 1], vec![0, 2, 0, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1.0, f64::NAN, 2.0, 4.0, 8.0], 0.0)?;
///
/// let medians = nanmedian(&x, -1)?;
/// assert_eq!(medians.to_dense()?, arr1(&[0.5, 4.0]).into_dyn()); // of 1 and 0; of 2, 4 and 8
/// assert_eq!(medians.to_dense()?, nanmedian(&x.to_dense()?, -1)?);
///
/// // The positions that are not stored count, however many there are.
/// let vast = CooTensor::new([4_000_000_000, 1_000_000], vec![vec![7], vec![7]], vec![5i64], 3)?;
/// assert_eq!(nanmedian(&vast, Axes::all())?.get(&[])?, 3.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Where nothing but literals says what the elements are, one of them needs its type (`1.0_f64`): the type of a median
/// follows from that of the elements. Without it rustc may say ``expected `f64`, found `!` ``:
///
/// ```
/// # use lacuna::{CooTensor, nanmedian};
/// let x = CooTensor::new([2], vec![vec![0]], vec![1.0_f64], 0.0)?;
/// assert_eq!(nanmedian(&x, 0)?.get(&[])? + 1.0, 1.5);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmedian`](https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html).
pub fn nanmedian<X: NanmedianOp>(x: &X, axes: impl Into<Axes>) -> Result<X::Output> {
    x.nanmedian(axes)
}

/// [`nanmedian`], told what the median of an even number of values is.
///
/// *y*<sub>k</sub> as in [`nanmedian`], or under `EvenCount::Lower` *y*<sub>k</sub> = *s*<sub>⌊(m−1)/2⌋</sub>.
///
/// # Shapes
///
/// Those of [`nanmedian`].
///
/// # Implicit values
///
/// Those of [`nanmedian`].
///
/// # NaN
///
/// As in [`nanmedian`]; the lower of −∞ and ∞ is −∞.
///
/// # Gradient
///
/// [`nanmedian_backward_with`], told the same.
///
/// # Errors
///
/// Those of [`nanmedian`].
///
/// # Complexity
///
/// That of [`nanmedian`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_with};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![-1i32, -5], 9)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// let median = nanmedian_with(&x, 0, lower)?;
/// assert_eq!(median.get(&[])?, -1.0); // of -5, -1, 9, 9
/// assert_eq!(median.to_dense()?, nanmedian_with(&x.to_dense()?, 0, lower)?);
///
/// assert_eq!(nanmedian_with(&x, 0, NanmedianOptions::default())?.get(&[])?, 4.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `EvenCount::Mean` is
/// [`numpy.nanmedian`](https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html), `EvenCount::Lower` is
/// [`torch.nanmedian`](https://docs.pytorch.org/docs/stable/generated/torch.nanmedian.html).
pub fn nanmedian_with<X: NanmedianOp>(x: &X, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<X::Output> {
    x.nanmedian_with(axes, options)
}

/// [`nanmedian`], and where it stands: the position of the first element equal to the lower middle value.
///
/// *i*<sub>k</sub> = min { *r* : *x*<sub>k,r</sub> = *s*<sub>⌊(m−1)/2⌋</sub> }
///
/// A position is row-major within the axes that go, taken in increasing order, and has the type `u64`. For an odd
/// number of values, and for an even one under [`EvenCount::Lower`](crate::EvenCount::Lower), the element there is the
/// median.
///
/// # Shapes
///
/// Both results have the shape that [`nanmedian`] gives.
///
/// # Implicit values
///
/// The two results share one pattern. A position that is not stored can be the answer, where the fill is the lower
/// middle value. The fill of the positions is 0, or `u64::MAX` where the fill of the medians is NaN.
///
/// # NaN
///
/// `u64::MAX` for a group without a number. `-0.0` and `0.0` are equal.
///
/// # Gradient
///
/// Positions have none; that of the medians is [`nanmedian_backward`].
///
/// # Errors
///
/// Those of [`nanmedian`], and `Uncountable` where a group has more than 2<sup>64</sup> − 1 positions.
///
/// # Complexity
///
/// That of [`nanmedian`], and O(rank · log nnz) a group.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_index};
/// use ndarray::arr1;
///
/// // 7 .  .
/// // 7 8 -8
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1, 1], vec![0, 0, 1, 2]], vec![7, 7, 8, -8], 0)?;
/// let (medians, positions) = nanmedian_index(&x, 1)?;
/// assert_eq!(medians.to_dense()?, arr1(&[0.0, 7.0]).into_dyn());
/// assert_eq!(positions.to_dense()?, arr1(&[1, 0]).into_dyn()); // the first 0 of row 0 is not stored
/// assert_eq!(positions.to_dense()?, nanmedian_index(&x.to_dense()?, 1)?.1);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: this library's own; PyTorch gives the position of some element equal to the median, and NaN a position.
pub fn nanmedian_index<X: NanmedianOp>(x: &X, axes: impl Into<Axes>) -> Result<(X::Output, X::Positions)> {
    x.nanmedian_index(axes)
}

/// [`nanmedian_index`], told what the median of an even number of values is; the position is always that of the lower
/// one.
///
/// *i*<sub>k</sub> as in [`nanmedian_index`], *y*<sub>k</sub> as in [`nanmedian_with`].
///
/// # Shapes
///
/// Those of [`nanmedian_index`].
///
/// # Implicit values
///
/// Those of [`nanmedian_index`].
///
/// # NaN
///
/// As in [`nanmedian_index`].
///
/// # Gradient
///
/// Positions have none; that of the medians is [`nanmedian_backward_with`], told the same.
///
/// # Errors
///
/// Those of [`nanmedian_index`].
///
/// # Complexity
///
/// That of [`nanmedian_index`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_index_with};
///
/// // 9 NaN 2 . .
/// let x = CooTensor::new([5], vec![vec![0, 1, 2]], vec![9.0, f64::NAN, 2.0], 0.0)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// let (median, position) = nanmedian_index_with(&x, 0, lower)?;
/// assert_eq!((median.get(&[])?, position.get(&[])?), (0.0, 3)); // of 0, 0, 2 and 9
///
/// let (dense_median, dense_position) = nanmedian_index_with(&x.to_dense()?, 0, lower)?;
/// assert_eq!((median.to_dense()?, position.to_dense()?), (dense_median, dense_position));
///
/// let (mean, same) = nanmedian_index_with(&x, 0, NanmedianOptions::default())?;
/// assert_eq!((mean.get(&[])?, same.get(&[])?), (1.0, 3));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: this library's own, as that of [`nanmedian_index`]; the medians under `EvenCount::Lower` are those of
/// [`torch.nanmedian`](https://docs.pytorch.org/docs/stable/generated/torch.nanmedian.html).
pub fn nanmedian_index_with<X: NanmedianOp>(
    x: &X,
    axes: impl Into<Axes>,
    options: NanmedianOptions,
) -> Result<(X::Output, X::Positions)> {
    x.nanmedian_index_with(axes, options)
}

/// The gradient of [`nanmedian`]: the gradient of each median, shared by the elements that it was made of.
///
/// *dx*<sub>k,r</sub> = ½ *dy*<sub>k</sub> [*x*<sub>k,r</sub> = *l*] / #*l* + ½ *dy*<sub>k</sub>
/// [*x*<sub>k,r</sub> = *u*] / #*u*, where *l* = *s*<sub>⌊(m−1)/2⌋</sub> and *u* = *s*<sub>⌊m/2⌋</sub> are the middle
/// values and #*v* is the number of elements of the group that are equal to *v*.
///
/// So half of the gradient is shared equally by all elements equal to the lower middle value, and half by all equal to
/// the upper one; where the two are equal, all of it by all of them. A median does not change where one of several
/// equal elements moves a little, and this is the choice that treats them alike.
/// [`nanmedian_backward_with`] gives it to the elements at the middle ranks instead.
///
/// Each share is one product and one quotient in the type of the gradient, `f32` for the 16-bit floats: *dy* · ½ /
/// #*v*, or *dy* / #*v* where all of it goes to one value.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `nanmedian(x, axes)`, kept axes included; the result has the shape of `x` and
/// the element type of `upstream`, which is a float.
///
/// # Implicit values
///
/// For a sparse `x` the result has its pattern (shared) and a fill of 0. Positions that are not stored count among the
/// equal ones (2<sup>64</sup> − 1 at most), and their share is dropped. A cell where `upstream` stores nothing gives
/// its fill; entries of `upstream` at cells that hold no entry of `x` go nowhere.
///
/// # NaN
///
/// A NaN in `x` receives 0; a group without a number receives 0 everywhere, whatever its gradient. A share that is NaN
/// is the canonical one.
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`nanmedian`], and `ShapeMismatch` where `upstream` has another shape than the forward result.
///
/// # Complexity
///
/// That of [`nanmedian`], and a look-up of O(rank · log nnz) in a sparse `upstream` for each cell.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_backward};
/// use ndarray::arr1;
///
/// // 1  .  NaN    the median is 0.5, of 1 and the 0 that is not stored
/// // 4  4  8      the median is 4
/// let (rows, columns) = (vec![0, 0, 1, 1, 1], vec![0, 2, 0, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1.0, f64::NAN, 4.0, 4.0, 8.0], 0.0)?;
/// let upstream = arr1(&[10.0, 6.0]);
///
/// let dx = nanmedian_backward(&x, &upstream, 1)?;
/// assert_eq!(dx.values(), [5.0, 0.0, 3.0, 3.0, 0.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position; what is not stored would have received 5 here.
/// let dense = nanmedian_backward(&x.to_dense()?, &upstream, 1)?;
/// assert_eq!(dense, ndarray::arr2(&[[5.0, 5.0, 0.0], [3.0, 3.0, 0.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rule. Paddle 3.3 gives all of the gradient to the one element that its forward pass
/// picked, or half each to the two, as [`MedianGradient::First`](crate::MedianGradient::First) does; which of several
/// equal elements that is depends on its top-k, and here it is the first by position.
pub fn nanmedian_backward<X: NanmedianOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_backward(upstream, axes)
}

/// [`nanmedian_backward`], told what the median of an even number of values was, and who receives its gradient.
///
/// | rule | even | receives |
/// | --- | --- | --- |
/// | `Spread` | `Mean` | half each, shared by all equal to the lower and by all equal to the upper middle value |
/// | `Spread` | `Lower` | all of it, shared by all equal to the lower middle value |
/// | `First` | `Mean` | half each, the elements at the ranks ⌊(m−1)/2⌋ and ⌊m/2⌋; all of it, where they are one |
/// | `First` | `Lower` | all of it, the element at rank ⌊(m−1)/2⌋ |
///
/// A rank of `First` counts from 0, by value and among equal ones by position. So the one that receives need not be
/// the first of its equals: of four equal elements it is the second and the third.
///
/// # Shapes
///
/// Those of [`nanmedian_backward`].
///
/// # Implicit values
///
/// Those of [`nanmedian_backward`]. Under `First` an element that receives and is not stored drops its share.
///
/// # NaN
///
/// As in [`nanmedian_backward`].
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`nanmedian_backward`]; with `First` also `Uncountable` where a group has more than 2<sup>64</sup> − 1
/// positions, whose order cannot be counted.
///
/// # Complexity
///
/// That of [`nanmedian_backward`]; under `First` also the position of each entry that is equal to a middle value,
/// O(rank), or O(log lanes) for CSR over all axes.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, MedianGradient, NanmedianBackwardOptions, nanmedian_backward_with};
/// use ndarray::{arr0, arr1};
///
/// // 3 . 0 5: by value and position 0 (not stored), 0 (stored), 3, 5
/// let x = CooTensor::new([4], vec![vec![0, 2, 3]], vec![3, 0, 5], 0)?;
/// let first = NanmedianBackwardOptions { rule: MedianGradient::First, ..Default::default() };
/// let dx = nanmedian_backward_with(&x, &arr0(2.0), 0, first)?;
/// assert_eq!(dx.values(), [1.0, 1.0, 0.0]);
///
/// // The dense gradient is the same at every stored position, and here 0 at the other one.
/// let dense = nanmedian_backward_with(&x.to_dense()?, &arr0(2.0), 0, first)?;
/// assert_eq!(dense, arr1(&[1.0, 0.0, 1.0, 0.0]).into_dyn());
/// assert_eq!(dense, dx.to_dense()?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rules; [`nanmedian_backward`] says how those of Paddle 3.3 relate to them.
pub fn nanmedian_backward_with<X: NanmedianOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
    options: NanmedianBackwardOptions,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_backward_with(upstream, axes, options)
}
