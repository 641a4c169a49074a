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
/// NaN is left out, so a stored NaN changes no median.
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
/// # Errors
///
/// Those of [`nanmedian`](crate::nanmedian()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_stored_with};
///
/// let x = CooTensor::new([9], vec![vec![1, 2]], vec![2u8, 4], 0)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// assert_eq!(nanmedian_stored_with(&x, 0, lower)?.get(&[])?, 2.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nanmedian_stored_with<X: NanmedianStoredOp>(
    x: &X,
    axes: impl Into<Axes>,
    options: NanmedianOptions,
) -> Result<X::Output> {
    x.nanmedian_stored_with(axes, options)
}

/// [`nanmedian_stored`], and where it stands: the position of the first stored element equal to the lower middle value.
///
/// The position is, as that of [`nanmedian_index`](crate::nanmedian_index()), row-major within the axes that go, among
/// all positions and not only the stored ones; `u64::MAX` for a group without a stored number, and so is the fill.
///
/// # Errors
///
/// Those of [`nanmedian_index`](crate::nanmedian_index()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_stored_index};
///
/// let x = CooTensor::new([9], vec![vec![1, 4, 6]], vec![5, 3, 3], 3)?;
/// let (median, position) = nanmedian_stored_index(&x, 0)?;
/// assert_eq!((median.get(&[])?, position.get(&[])?), (3.0, 4));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nanmedian_stored_index<X: NanmedianStoredOp>(x: &X, axes: impl Into<Axes>) -> Result<(X::Output, X::Positions)> {
    x.nanmedian_stored_index(axes)
}

/// [`nanmedian_stored_index`], told what the median of an even number of values is; the position is always that of the
/// lower one.
///
/// # Errors
///
/// Those of [`nanmedian_index`](crate::nanmedian_index()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, EvenCount, NanmedianOptions, nanmedian_stored_index_with};
///
/// let x = CooTensor::new([9], vec![vec![1, 4]], vec![5, 3], 0)?;
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// let (median, position) = nanmedian_stored_index_with(&x, 0, lower)?;
/// assert_eq!((median.get(&[])?, position.get(&[])?), (3.0, 4));
/// # Ok::<(), lacuna::Error>(())
/// ```
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
/// Only what is stored counts among the equal ones, so no share is dropped; all else is as in
/// [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Errors
///
/// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nanmedian_stored_backward};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([9], vec![vec![1, 2, 5]], vec![0.0, 0.0, f64::NAN], 0.0)?;
/// let dx = nanmedian_stored_backward(&x, &arr0(3.0), 0)?;
/// assert_eq!(dx.values(), [1.5, 1.5, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nanmedian_stored_backward<X: NanmedianStoredOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_stored_backward(upstream, axes)
}

/// [`nanmedian_stored_backward`], told what the median of an even number of values was, and who receives its gradient;
/// the table stands at [`nanmedian_backward_with`](crate::nanmedian_backward_with()).
///
/// # Errors
///
/// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, MedianGradient, NanmedianBackwardOptions, nanmedian_stored_backward_with};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([9], vec![vec![1, 2, 5]], vec![0.0, 0.0, f64::NAN], 0.0)?;
/// let first = NanmedianBackwardOptions { rule: MedianGradient::First, ..Default::default() };
/// let dx = nanmedian_stored_backward_with(&x, &arr0(3.0), 0, first)?;
/// assert_eq!(dx.values(), [1.5, 1.5, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nanmedian_stored_backward_with<X: NanmedianStoredOp, U: Upstream<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
    options: NanmedianBackwardOptions,
) -> Result<X::Gradient<U::Elem>> {
    x.nanmedian_stored_backward_with(upstream, axes, options)
}
