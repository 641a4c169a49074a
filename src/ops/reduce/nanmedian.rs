//! Medians over axes, ignoring NaN, with the position of the median and its gradient.

use super::{gradient, holistic, holistic_erased};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Float, Real};
use crate::kernels::holistic::{Group, Holistic};
use crate::kernels::median::{MedianQuery, ShareRule};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::rank::Rule;
use crate::kernels::select::Sieve;
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::quantile::{QuantileRanks, QuantileShares};

pub use crate::kernels::median::MedianGradient;
pub use crate::kernels::rank::EvenCount;

/// The options of [`nanmedian`], [`nanmedian_index`], [`median`](crate::median()) and their gradients; plain axes
/// convert to it.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Nanmedian};
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![-1i32, -5], 9)?;
/// assert_eq!(x.nanmedian(0)?.get(&[])?, 4.0); // of -5, -1, 9, 9
/// assert_eq!(x.nanmedian(Nanmedian::over(0).lower())?.get(&[])?, -1.0);
/// assert_eq!(x.nanmedian(Nanmedian::over(0).keep_dims())?.shape(), &[1][..]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Nanmedian {
    /// The reduced axes.
    pub axes: Axes,
    /// The rule for the median of an even number of values.
    pub even: EvenCount,
    /// The rule for the elements that receive the gradient.
    pub rule: MedianGradient,
    /// Whether the elements of a group without a number share its gradient, which else is lost.
    pub spread_nan: bool,
}

impl Nanmedian {
    /// The median over `axes`: the mean of the two middle values of an even number, the gradient spread over equals.
    pub fn over(axes: impl Into<Axes>) -> Self {
        let (even, rule) = (EvenCount::default(), MedianGradient::default());
        Nanmedian { axes: axes.into(), even, rule, spread_nan: false }
    }

    /// The reduced axes stay with length 1.
    #[doc(alias = "keepdims")]
    #[doc(alias = "keepdim")]
    pub fn keep_dims(self) -> Self {
        Nanmedian { axes: self.axes.keep_dims(), ..self }
    }

    /// The median of an even number of values is the lower one in the middle, and it alone has a gradient.
    pub fn lower(self) -> Self {
        Nanmedian { even: EvenCount::Lower, ..self }
    }

    /// The gradient goes to the elements at the middle ranks, not to all that are equal to them.
    pub fn first(self) -> Self {
        Nanmedian { rule: MedianGradient::First, ..self }
    }

    /// The elements of a group without a number share its gradient: each receives 1/n of it, as in PyTorch.
    pub fn spread_nan(self) -> Self {
        Nanmedian { spread_nan: true, ..self }
    }
}

impl<A: Into<Axes>> From<A> for Nanmedian {
    fn from(axes: A) -> Self {
        Nanmedian::over(axes)
    }
}

impl From<&Nanmedian> for Nanmedian {
    fn from(options: &Nanmedian) -> Self {
        options.clone()
    }
}

/// The descriptor of [`nanmedian_index`].
#[derive(Clone, Copy)]
struct MedianAndPosition {
    even: EvenCount,
}

impl Op for MedianAndPosition {
    fn name(&self) -> &'static str {
        op::nanmedian_index.name
    }
}

impl<T: Real> Holistic<T> for MedianAndPosition {
    type Out = (T::Median, u64);
    type Scratch = Sieve<T>;

    fn looks_at_positions(&self) -> bool {
        true
    }

    fn scratch(&self) -> Sieve<T> {
        Sieve::new()
    }

    fn of(&self, group: &Group<'_, T>, sieve: &mut Sieve<T>) -> Outcome<(T::Median, u64)> {
        group.median_and_position(MedianQuery { rule: Rule::Middle(self.even), skips_nan: true }, sieve)
    }
}

/// The median over the axes given, of the elements that are not NaN.
///
/// *y*<sub>k</sub> = (*s*<sub>⌊(m−1)/2⌋</sub> + *s*<sub>⌊m/2⌋</sub>) / 2, where *s*<sub>0</sub> ≤ … ≤
/// *s*<sub>m−1</sub> are the *x*<sub>k,r</sub> that are not NaN, for *k* over the kept axes and *r* over those
/// that go.
///
/// The result has the element type of a median: `f32`, `f64`, `f16` and `bf16` keep theirs, integers and `bool` give
/// `f64`. The elements are compared in their own type; only the two in the middle are converted, and then averaged:
/// `[i32::MAX, i32::MAX]` has the median 2147483647.0. Where their sum overflows they are halved first, so the median
/// of `[f64::MAX, f64::MAX]` is `f64::MAX`; `f16` and `bf16` are averaged in `f32`. A zero result is `+0.0`.
/// [`Nanmedian::lower`] takes the lower of the two instead. There is no median of complex numbers, which have no order
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
/// [`Axes::none`] each element as its own median. The result has the format and index type of `x`.
///
/// # Implicit values
///
/// Positions that are not stored count, with the fill as their value, by arithmetic: none is ever written out. A group
/// (the positions that meet in one cell of the result) with a stored entry gives a stored result; the others hold the
/// fill. The fill of the result is the fill in the type of a median, or NaN where the reduced axes hold no position.
/// Over no axes the pattern is shared. Groups of more than 2<sup>64</sup> − 1 positions count as that many: since fewer
/// can be stored, the median is the same.
///
/// For [`x.stored()`](crate::Tensor::stored) the entries count alone, for data whose gaps are unknown and not zero, and
/// the fill of the result is NaN. That is the median of the same tensor with a NaN as its fill, also for element types
/// without a NaN.
///
/// # NaN
///
/// NaN is left out, stored or as the fill. A group without a number, be it all NaN or empty, gives NaN. The median of
/// −∞ and ∞ is NaN. Every NaN result is the canonical one.
///
/// # Gradient
///
/// [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Errors
///
/// - `AxisOutOfRange`, `AxisRepeated`: an axis is out of range for the rank, or is given twice;
/// - `TooLarge`: the result has an offset (CSR) or an element (arrays) for each of too many cells, or the lane of a
///   broadcast array is too long to be copied.
///
/// # Complexity
///
/// By selection, never a full sort: O(nnz) on top of bringing the entries of each group together, which is O(nnz ·
/// rank) where the kept axes lead, O(nnz · (rank + log nnz)) else; for trailing axes of CSR
/// O(nnz + lanes); for arrays O(elements). Each thread holds two copies of the largest group at most. Groups of an
/// array that lie side by side are read where they are; of others each thread copies 2 MiB, or those that share a cache
/// line.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, Nanmedian, nanmedian};
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
/// // What is stored alone: 1; 2, 4 and 8.
/// let stored = nanmedian(&x.stored(), -1)?;
/// assert_eq!(stored.to_dense()?, arr1(&[1.0, 4.0]).into_dyn());
/// assert_eq!(stored.to_dense()?, nanmedian(&x.clone().with_fill(f64::NAN).to_dense()?, -1)?);
///
/// // The lower of the two middle values.
/// let lower = Nanmedian::over(-1).lower();
/// assert_eq!(nanmedian(&x, &lower)?.to_dense()?, arr1(&[0.0, 4.0]).into_dyn());
/// assert_eq!(nanmedian(&x, &lower)?.to_dense()?, nanmedian(&x.to_dense()?, &lower)?);
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
/// Definition: [`numpy.nanmedian`](https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html), and under
/// [`Nanmedian::lower`] [`torch.nanmedian`](https://docs.pytorch.org/docs/stable/generated/torch.nanmedian.html); of
/// what is stored `numpy.ma.median` of a masked array.
#[doc(alias = "pandas.median")]
#[doc(alias = "numpy.nanmedian")]
#[doc(alias = "torch.nanmedian")]
pub fn nanmedian<X: Operand<Elem: Real>>(
    x: &X,
    options: impl Into<Nanmedian>,
) -> Result<X::Reduced<<X::Elem as Real>::Median>> {
    let options = options.into();
    holistic(x, QuantileRanks::nanmedian(&options), &options.axes)
}

/// [`nanmedian`], and where it stands: the position of the first element equal to the lower middle value.
///
/// *i*<sub>k</sub> = min { *r* : *x*<sub>k,r</sub> = *s*<sub>⌊(m−1)/2⌋</sub> }
///
/// A position is row-major within the reduced axes, taken in increasing order, and has the type `u64`. For an odd
/// number of values, and for an even one under [`Nanmedian::lower`], the element there is the median.
///
/// # Shapes
///
/// Both results have the shape that [`nanmedian`] gives.
///
/// # Implicit values
///
/// The two results share one pattern. A position that is not stored can be the answer, where the fill is the lower
/// middle value. The fill of the positions is 0, or `u64::MAX` where the fill of the medians is NaN. Of
/// [`x.stored()`](crate::Tensor::stored) only what is stored can be the answer; its position is among all, stored or
/// not.
///
/// # NaN
///
/// `u64::MAX` for a group without a number. `-0.0` and `0.0` are equal.
///
/// # Gradient
///
/// Positions have none; that of the medians is [`grad::nanmedian`](crate::grad::nanmedian()).
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
#[doc(alias = "argmedian")]
#[doc(alias = "torch.nanmedian")]
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn nanmedian_index<X: Operand<Elem: Real>>(
    x: &X,
    options: impl Into<Nanmedian>,
) -> Result<(X::Reduced<<X::Elem as Real>::Median>, X::Reduced<u64>)> {
    let Nanmedian { axes, even, .. } = options.into();
    let (medians, positions) = holistic_erased(&x.erased(), MedianAndPosition { even }, &axes)?.unzip()?;
    Ok((X::restore(medians)?, X::restore(positions)?))
}

/// The gradient of [`nanmedian`]: the gradient of each median, shared by the elements that it was made of.
///
/// *dx*<sub>k,r</sub> = ½ *dy*<sub>k</sub> [*x*<sub>k,r</sub> = *l*] / #*l* + ½ *dy*<sub>k</sub>
/// [*x*<sub>k,r</sub> = *u*] / #*u*, where *l* = *s*<sub>⌊(m−1)/2⌋</sub> and *u* = *s*<sub>⌊m/2⌋</sub> are the middle
/// values and #*v* is the number of elements of the group that are equal to *v*.
///
/// So half of the gradient is shared equally by all elements equal to the lower middle value, and half by all equal to
/// the upper one; where the two are equal, all of it by all of them. A median does not change where one of several
/// equal elements moves a little, and this is the choice that treats them alike. The options choose others:
///
/// | options | who receives |
/// | --- | --- |
/// | none | half each, shared by all equal to the lower and by all equal to the upper middle value |
/// | [`lower`](Nanmedian::lower) | all of it, shared by all equal to the lower middle value |
/// | [`first`](Nanmedian::first) | half each, the elements at ranks ⌊(m−1)/2⌋ and ⌊m/2⌋; all, if the ranks are equal |
/// | `lower`, `first` | all of it, the element at rank ⌊(m−1)/2⌋ |
///
/// A rank counts from 0, by value and among equal ones by position. So under `first` the one that receives need not be
/// the first of its equals: of four equal elements it is the second and the third.
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
/// its fill; entries of `upstream` at cells that hold no entry of `x` go nowhere. Of
/// [`x.stored()`](crate::Tensor::stored) only what is stored counts among the equal ones, so no share is dropped.
///
/// # NaN
///
/// A NaN in `x` receives 0; a group without a number receives 0 everywhere, whatever its gradient, or under
/// [`spread_nan`](Nanmedian::spread_nan) an equal share of it everywhere, as in PyTorch. A share that is NaN is the
/// canonical one.
///
#[doc = said!(second_gradient)]
///
/// # Errors
///
/// Those of [`nanmedian`], `ShapeMismatch` where `upstream` has another shape than the forward result, and under
/// `first` `Uncountable` where a group has more than 2<sup>64</sup> − 1 positions, whose order cannot be counted.
///
/// # Complexity
///
/// That of [`nanmedian`], and a look-up of O(rank · log nnz) in a sparse `upstream` for each cell; under `first` also
/// the position of each entry that is equal to a middle value, O(rank), or O(rank · log lanes) for CSR.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Nanmedian, grad};
/// use ndarray::arr1;
///
/// // 1  .  NaN    the median is 0.5, of 1 and the 0 that is not stored
/// // 4  4  8      the median is 4
/// let (rows, columns) = (vec![0, 0, 1, 1, 1], vec![0, 2, 0, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1.0, f64::NAN, 4.0, 4.0, 8.0], 0.0)?;
/// let upstream = arr1(&[10.0, 6.0]);
///
/// let dx = grad::nanmedian(&x, &upstream, 1)?;
/// assert_eq!(dx.values(), [5.0, 0.0, 3.0, 3.0, 0.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position; what is not stored would have received 5 here.
/// let dense = grad::nanmedian(&x.to_dense()?, &upstream, 1)?;
/// assert_eq!(dense, ndarray::arr2(&[[5.0, 5.0, 0.0], [3.0, 3.0, 0.0]]).into_dyn());
///
/// // The first of equals, and what is stored alone: the whole of row 0 goes to its 1.
/// let dx = grad::nanmedian(&x.stored(), &upstream, Nanmedian::over(1).first())?;
/// assert_eq!(dx.values(), [10.0, 0.0, 0.0, 6.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rule. Paddle 3.3 gives all of the gradient to the one element that its forward pass
/// picked, or half each to the two, as [`first`](Nanmedian::first) does; which of several
/// equal elements that is depends on its top-k, and here it is the first by position.
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn nanmedian_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Nanmedian>,
) -> Result<X::Reduced<U::Elem>> {
    let Nanmedian { axes, even, rule, spread_nan } = options.into();
    let asked = MedianQuery { rule: Rule::Middle(even), skips_nan: true };
    gradient(x, QuantileShares(ShareRule { asked, rule, spread_nan }), upstream, &axes)
}
