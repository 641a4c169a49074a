//! The median of the stored entries of a group: forward, with its position, and backward.

use super::{NanmedianBackwardOptions, NanmedianOptions, NanmedianStoredOp};
use crate::axes::Axes;
use crate::element::Float;
use crate::error::Result;
use crate::ops::upstream::Upstream;

/// The median over the axes given, of the *stored* elements that are not NaN: for data whose gaps are unknown and not
/// zero.
///
/// *y*<sub>k</sub> = (*s*<sub>⌊(m−1)/2⌋</sub> + *s*<sub>⌊m/2⌋</sub>) / 2, where *s*<sub>0</sub> ≤ … ≤
/// *s*<sub>m−1</sub> are the stored *x*<sub>k,r</sub> that are not NaN.
///
/// This is no function of the dense array: it says something about what is stored, stored zeros included. It is
/// [`nanmedian`](crate::nanmedian()) of the same tensor with a NaN as its fill, for every element type, also those
/// without a NaN. Arrays have no such form, as they store everything:
///
/// ```compile_fail
/// # use lacuna::nanmedian_stored;
/// let y = nanmedian_stored(&ndarray::arr1(&[1.0, 2.0]), 0); // `NanmedianStoredOp` is not implemented for arrays
/// ```
///
/// # Shapes
///
/// Those of [`nanmedian`](crate::nanmedian()).
///
/// # Implicit values
///
/// They do not count, and the fill is not looked at. A group with a stored entry gives a stored result, NaN where none
/// of its entries is a number. The fill of the result is NaN. Over no axes the pattern is shared.
///
/// # NaN
///
/// NaN is left out, so a stored NaN changes no median. Every NaN result is the canonical one.
///
/// # Gradient
///
/// [`nanmedian_stored_backward`].
///
/// # Errors
///
/// Those of [`nanmedian`](crate::nanmedian()).
///
/// # Complexity
///
/// That of [`nanmedian`](crate::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian, nanmedian_stored};
/// use ndarray::arr1;
///
/// // 9 . .
/// // 2 . 4
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 0, 2]], vec![9.0, 2.0, 4.0], 0.0)?;
/// let medians = nanmedian_stored(&x, 1)?;
/// assert_eq!(medians.to_dense()?, arr1(&[9.0, 3.0]).into_dyn());
/// assert_eq!(medians.to_dense()?, nanmedian(&x.clone().with_fill(f64::NAN).to_dense()?, 1)?);
/// assert!(medians.fill().is_nan());
///
/// assert_eq!(nanmedian(&x, 1)?.to_dense()?, arr1(&[0.0, 2.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmedian`](https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html) with the
/// gaps as NaN; `numpy.ma.median` of a masked array.
pub fn nanmedian_stored<X: NanmedianStoredOp>(x: &X, axes: impl Into<Axes>) -> Result<X::Output> {
    x.nanmedian_stored(axes)
}

/// [`nanmedian_stored`], told what the median of an even number of values is.
///
/// *y*<sub>k</sub> as in [`nanmedian_stored`], or under `EvenCount::Lower` *y*<sub>k</sub> =
/// *s*<sub>⌊(m−1)/2⌋</sub>.
///
/// # Shapes
///
/// Those of [`nanmedian_stored`].
///
/// # Implicit values
///
/// Those of [`nanmedian_stored`].
///
/// # NaN
///
/// As in [`nanmedian_stored`].
///
/// # Gradient
///
/// [`nanmedian_stored_backward_with`], told the same.
///
/// # Errors
///
/// Those of [`nanmedian_stored`].
///
/// # Complexity
///
/// That of [`nanmedian_stored`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_stored_with, nanmedian_with};
///
/// let x = CooTensor::new([9], vec![vec![1, 2]], vec![2.0_f64, 4.0], 0.0)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// let median = nanmedian_stored_with(&x, 0, lower)?;
/// assert_eq!(median.get(&[])?, 2.0);
/// assert_eq!(median.to_dense()?, nanmedian_with(&x.with_fill(f64::NAN).to_dense()?, 0, lower)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: that of [`nanmedian_with`](crate::nanmedian_with()) with the gaps as NaN.
pub fn nanmedian_stored_with<X: NanmedianStoredOp>(
    x: &X,
    axes: impl Into<Axes>,
    options: NanmedianOptions,
) -> Result<X::Output> {
    x.nanmedian_stored_with(axes, options)
}

/// [`nanmedian_stored`], and where it stands: the position of the first stored element equal to the lower middle value.
///
/// *i*<sub>k</sub> = min { *r* : *x*<sub>k,r</sub> is stored, *x*<sub>k,r</sub> = *s*<sub>⌊(m−1)/2⌋</sub> }
///
/// The position is, as that of [`nanmedian_index`](crate::nanmedian_index()), row-major within the axes that go, among
/// all positions and not only the stored ones.
///
/// # Shapes
///
/// Both results have the shape that [`nanmedian_stored`] gives.
///
/// # Implicit values
///
/// The two results share one pattern. A position that is not stored is never the answer. The fill of the positions is
/// `u64::MAX`, as that of the medians is NaN.
///
/// # NaN
///
/// `u64::MAX` for a group without a stored number. `-0.0` and `0.0` are equal.
///
/// # Gradient
///
/// Positions have none; that of the medians is [`nanmedian_stored_backward`].
///
/// # Errors
///
/// Those of [`nanmedian_index`](crate::nanmedian_index()).
///
/// # Complexity
///
/// That of [`nanmedian_index`](crate::nanmedian_index()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_index, nanmedian_stored_index};
///
/// let x = CooTensor::new([9], vec![vec![1, 4, 6]], vec![5.0_f64, 3.0, 3.0], 3.0)?;
/// let (median, position) = nanmedian_stored_index(&x, 0)?;
/// assert_eq!((median.get(&[])?, position.get(&[])?), (3.0, 4));
///
/// let dense = nanmedian_index(&x.with_fill(f64::NAN).to_dense()?, 0)?;
/// assert_eq!((median.to_dense()?, position.to_dense()?), dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: this library's own, that of [`nanmedian_index`](crate::nanmedian_index()) with the gaps as NaN.
pub fn nanmedian_stored_index<X: NanmedianStoredOp>(x: &X, axes: impl Into<Axes>) -> Result<(X::Output, X::Positions)> {
    x.nanmedian_stored_index(axes)
}

/// [`nanmedian_stored_index`], told what the median of an even number of values is; the position is always that of the
/// lower one.
///
/// *i*<sub>k</sub> as in [`nanmedian_stored_index`], *y*<sub>k</sub> as in [`nanmedian_stored_with`].
///
/// # Shapes
///
/// Those of [`nanmedian_stored_index`].
///
/// # Implicit values
///
/// Those of [`nanmedian_stored_index`].
///
/// # NaN
///
/// As in [`nanmedian_stored_index`].
///
/// # Gradient
///
/// Positions have none; that of the medians is [`nanmedian_stored_backward_with`], told the same.
///
/// # Errors
///
/// Those of [`nanmedian_stored_index`].
///
/// # Complexity
///
/// That of [`nanmedian_stored_index`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_index_with, nanmedian_stored_index_with};
///
/// let x = CooTensor::new([9], vec![vec![1, 4]], vec![5.0_f64, 3.0], 0.0)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// let (median, position) = nanmedian_stored_index_with(&x, 0, lower)?;
/// assert_eq!((median.get(&[])?, position.get(&[])?), (3.0, 4));
///
/// let dense = nanmedian_index_with(&x.with_fill(f64::NAN).to_dense()?, 0, lower)?;
/// assert_eq!((median.to_dense()?, position.to_dense()?), dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: this library's own, that of [`nanmedian_index_with`](crate::nanmedian_index_with()) with the gaps
/// as NaN.
pub fn nanmedian_stored_index_with<X: NanmedianStoredOp>(
    x: &X,
    axes: impl Into<Axes>,
    options: NanmedianOptions,
) -> Result<(X::Output, X::Positions)> {
    x.nanmedian_stored_index_with(axes, options)
}

/// The gradient of [`nanmedian_stored`]: that of each median, shared by the stored elements that it was made of.
///
/// *dx*<sub>k,r</sub> = ½ *dy*<sub>k</sub> [*x*<sub>k,r</sub> = *l*] / #*l* + ½ *dy*<sub>k</sub>
/// [*x*<sub>k,r</sub> = *u*] / #*u*, where *l* and *u* are the middle values and #*v* is the number of stored elements
/// of the group that are equal to *v*.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `nanmedian_stored(x, axes)`, kept axes included; the result has the shape of `x`
/// and the element type of `upstream`, which is a float.
///
/// # Implicit values
///
/// The result has the pattern of `x` (shared) and a fill of 0. Only what is stored counts among the equal ones, so no
/// share is dropped. `upstream` is read as in [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # NaN
///
/// As in [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Complexity
///
/// That of [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_backward, nanmedian_stored_backward};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([9], vec![vec![1, 2, 5]], vec![0.0, 0.0, f64::NAN], 0.0)?;
/// let dx = nanmedian_stored_backward(&x, &arr0(3.0), 0)?;
/// assert_eq!(dx.values(), [1.5, 1.5, 0.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// let dense = nanmedian_backward(&x.with_fill(f64::NAN).to_dense()?, &arr0(3.0), 0)?;
/// assert_eq!(dx.to_dense()?, dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rule, that of [`nanmedian_backward`](crate::nanmedian_backward()) with the gaps as NaN.
pub fn nanmedian_stored_backward<X: NanmedianStoredOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_stored_backward(upstream, axes)
}

/// [`nanmedian_stored_backward`], told what the median of an even number of values was, and who receives its gradient.
///
/// The table stands at [`nanmedian_backward_with`](crate::nanmedian_backward_with()); values, ranks and equal ones are
/// here those of the stored elements.
///
/// # Shapes
///
/// Those of [`nanmedian_stored_backward`].
///
/// # Implicit values
///
/// Those of [`nanmedian_stored_backward`].
///
/// # NaN
///
/// As in [`nanmedian_stored_backward`].
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
///
/// # Complexity
///
/// That of [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
///
/// # Examples
///
/// ```
/// use lacuna::{
///     CooTensor, MedianGradient, NanmedianBackwardOptions, nanmedian_backward_with, nanmedian_stored_backward_with,
/// };
/// use ndarray::arr0;
///
/// let x = CooTensor::new([9], vec![vec![1, 2, 5, 7]], vec![0.0, 0.0, f64::NAN, 0.0], 0.0)?;
/// let first = NanmedianBackwardOptions { rule: MedianGradient::First, ..Default::default() };
/// let dx = nanmedian_stored_backward_with(&x, &arr0(3.0), 0, first)?;
/// assert_eq!(dx.values(), [0.0, 3.0, 0.0, 0.0]); // the second of three stored zeros
///
/// let dense = nanmedian_backward_with(&x.with_fill(f64::NAN).to_dense()?, &arr0(3.0), 0, first)?;
/// assert_eq!(dx.to_dense()?, dense);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rules, those of [`nanmedian_backward_with`](crate::nanmedian_backward_with()) with the
/// gaps as NaN.
pub fn nanmedian_stored_backward_with<X: NanmedianStoredOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
    options: NanmedianBackwardOptions,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_stored_backward_with(upstream, axes, options)
}
