//! The axes of a reduction, normalized once.

use std::fmt;
use std::ops::{Range, RangeFull, RangeInclusive};
use std::sync::Arc;

use num_traits::AsPrimitive;

use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::Position;
use crate::base::labels::{AxisLabels, GroupLabels};

/// The axes that a reduction removes, or keeps with length 1.
///
/// `Axes` converts from one integer (`i32`, `isize` or `usize`), from an array, slice, `Vec` or range of integers, and
/// from `..`. [`Axes::all`] and [`Axes::none`] construct it directly. A negative number counts from the end.
///
/// Functions with an argument for axes accept every type that converts to `Axes`: `x.any(-1)`, `x.any([0, -1])`,
/// `x.any(1..=2)`. An empty list reduces no axis, like the empty tuple in numpy. In Paddle, an empty list means all
/// axes; the equivalent in lacuna is `Axes::all()`. Instead of an empty array literal, which does not have a type, use
/// `Axes::none()`.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0], vec![0, 2]], vec![1, 5], 0)?;
/// assert_eq!(*x.any(-1)?.shape(), [2]);
/// assert_eq!(*x.any([0, 1])?.shape(), []);
/// assert_eq!(x.any(..)?, x.any(Axes::all())?);
/// assert_eq!(*x.any(Axes::all().keep_dims())?.shape(), [1, 1]);
/// assert_eq!(*x.any(Axes::none())?.shape(), [2, 3]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone, PartialEq, Eq, Hash)]
#[doc(alias = "axis")]
#[doc(alias = "dim")]
pub struct Axes {
    listed: ListedAxes,
    keep_dims: bool,
    /// The labels of the positions of one axis, which a reduction uses to group the positions. Other operations ignore
    /// the labels.
    labels: Option<Arc<AxisLabels>>,
}

/// The listed axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ListedAxes {
    All,
    Each(Few<isize>),
    /// A range of more than [`MAX_LISTED`] axes: the first and the last axis. The first invalid axis depends on the
    /// rank.
    Range(isize, isize),
}

/// The maximum number of axes of a range that is combined with other axes. No tensor has this many axes.
const LONGEST: usize = 1 << 20;

impl ListedAxes {
    /// Returns the axes one by one; `None` for all axes.
    fn one_by_one(&self) -> Option<impl Iterator<Item = isize> + '_> {
        let (each, range) = match self {
            ListedAxes::All => return None,
            ListedAxes::Each(axes) => (&axes[..], None),
            ListedAxes::Range(first, last) => (&[][..], Some(*first..=*last)),
        };
        Some(each.iter().copied().chain(range.into_iter().flatten().take(LONGEST)))
    }
}

impl fmt::Debug for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.listed {
            ListedAxes::All => write!(f, "Axes(all")?,
            ListedAxes::Each(axes) => write!(f, "Axes({axes:?}")?,
            ListedAxes::Range(first, last) => write!(f, "Axes({first}..={last}")?,
        }
        f.write_str(if self.keep_dims { ", kept" } else { "" })?;
        self.labels.as_ref().map_or(Ok(()), |labels| write!(f, ", by {labels:?}"))?;
        f.write_str(")")
    }
}

/// The maximum number of axes of a range that are listed.
const MAX_LISTED: usize = 64;

impl Axes {
    fn new(listed: ListedAxes) -> Self {
        Axes { listed, keep_dims: false, labels: None }
    }

    fn listed(axes: impl IntoIterator<Item: AsAxis>) -> Self {
        Axes::new(ListedAxes::Each(axes.into_iter().map(AsAxis::as_axis).collect()))
    }

    /// Returns the axes from `first` to `last`. `last` must not be smaller than `first`.
    fn run(first: isize, last: isize) -> Self {
        let listed = match last.saturating_sub(first) as usize {
            ..MAX_LISTED => ListedAxes::Each((first..=last).collect()),
            _ => ListedAxes::Range(first, last),
        };
        Axes::new(listed)
    }

    /// Returns the axes one by one, if they are listed.
    pub(crate) fn each(&self) -> Option<&[isize]> {
        if let ListedAxes::Each(axes) = &self.listed { Some(axes) } else { None }
    }

    /// Returns all axes.
    pub fn all() -> Self {
        Axes::new(ListedAxes::All)
    }

    /// Returns an empty list of axes, for which a reduction is elementwise.
    pub fn none() -> Self {
        Axes::new(ListedAxes::Each(Few::default()))
    }

    /// Returns one axis, whose positions a reduction groups by their labels.
    ///
    /// *y*<sub>…l…</sub> = *f*({ *x*<sub>…r…</sub> : the label of *r* is *l* }), where *f* is the reduction.
    ///
    /// Every reduction and its gradient accept these axes: `x.mean(Axes::by(0, &labels))`. For a stored view, only
    /// stored entries are reduced. [`and`](Axes::and) adds axes that are fully reduced.
    ///
    /// # Shapes
    ///
    /// The number of labels is the length of the axis. The axis stays in the result, with one position per possible
    /// label. The length of the axis in the result is the largest label plus 1, or the number that
    /// [`GroupLabels::count`] sets. A reduction that returns positions, such as `argmax`, numbers the positions of each
    /// label in increasing order.
    ///
    /// # Implicit values
    ///
    /// Each reduction uses its own rules. The fill of `x` is reduced over the positions of each label. If labels have
    /// different numbers of positions, the results for the fill can differ. In this case, all unstored positions of the
    /// result must belong to labels with the same result for the fill. The fill of `mean`, `min` and `max` does not
    /// depend on the number of positions. A label without positions is an empty group: its sum is 0, its product is 1,
    /// and its mean is NaN. The result stores these output elements if their value differs from the fill.
    ///
    /// # NaN
    ///
    /// Each reduction uses its own rules.
    ///
    /// # Gradient
    ///
    /// The gradient of each reduction accepts the same axes: `grad::sum(&x, &upstream, Axes::by(0, &labels))`. Each
    /// position receives the gradient of its label.
    ///
    /// # Errors
    ///
    /// The reduction returns these errors:
    ///
    /// - `AxisOutOfRange`: the axis does not exist;
    /// - `LengthMismatch`: the number of labels differs from the length of the axis;
    /// - `Argument`: a label is negative or not below the count, two axes have labels, or the operation is not defined
    ///   for a label without positions;
    /// - `TooLarge`: the number of possible labels is far larger than the length of the axis, or labels without
    ///   positions have too many output elements;
    /// - `FillVaries`: unstored positions of the result would have different values;
    /// - `AxisTooLong`: the number of possible labels does not fit in the index type.
    ///
    /// # Complexity
    ///
    /// O(length of the axis + number of possible labels), plus the complexity of the reduction. If the table of output
    /// elements is small, entries are added to the table. Otherwise the entries are sorted by label.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor, grad};
    /// use ndarray::{arr1, arr2};
    ///
    /// // the ratings of four films by three people, and the genre of each film
    /// // 5 . 3
    /// // . 4 .
    /// // 1 . 2
    /// // . . 4
    /// let (films, people) = (vec![0, 0, 1, 2, 2, 3], vec![0, 2, 1, 0, 2, 2]);
    /// let x = CooTensor::new([4, 3], vec![films, people], vec![5.0, 3.0, 4.0, 1.0, 2.0, 4.0], 0.0)?;
    /// let genres = [0, 1, 0, 1];
    ///
    /// let by_genre = Axes::by(0, &genres);
    /// let by_genre_of_all = Axes::by(0, &genres).and(1);
    /// assert_eq!(x.sum(&by_genre)?.to_dense()?, arr2(&[[6.0, 0.0, 5.0], [0.0, 4.0, 4.0]]).into_dyn());
    /// assert_eq!(x.max(&by_genre_of_all)?.to_dense()?, arr1(&[5.0, 4.0]).into_dyn());
    /// assert_eq!(x.stored().nanmedian(&by_genre_of_all)?.values(), [2.5, 4.0]); // the medians of 5 3 1 2 and of 4 4
    ///
    /// // its dense equivalent
    /// assert_eq!(x.sum(&by_genre)?.to_dense()?, lacuna::sum(&x.to_dense()?, &by_genre)?);
    /// let dx = grad::sum(&x, &arr1(&[10.0, 20.0]), &by_genre_of_all)?;
    /// assert_eq!(dx.values(), [10.0, 10.0, 20.0, 10.0, 10.0, 20.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition:
    /// [`pandas.DataFrame.groupby`](https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.groupby.html) by an
    /// array of labels.
    #[doc(alias = "groupby")]
    #[doc(alias = "group_by")]
    #[doc(alias = "segment_sum")]
    #[doc(alias = "scatter_add")]
    #[doc(alias = "scatter_reduce")]
    #[doc(alias = "bincount")]
    pub fn by<'a, J: Position>(axis: impl Position, labels: impl Into<GroupLabels<'a, J>>) -> Self {
        let axis = axis.to_i128().as_axis();
        Axes { labels: Some(Arc::new(labels.into().on(axis))), ..Axes::listed([axis]) }
    }

    /// Returns these axes combined with other axes.
    ///
    /// At most one axis can have labels. `..` already includes all axes, so lacuna does not check axis numbers that are
    /// combined with `..`.
    ///
    /// ```
    /// use lacuna::Axes;
    ///
    /// assert_eq!(Axes::from(2).and([0]).normalize(3)?, [0, 2]);
    /// assert_eq!(Axes::from(2).and(..).normalize(3)?, [0, 1, 2]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn and(self, others: impl Into<Axes>) -> Self {
        let others = others.into();
        let listed = match (self.listed.one_by_one(), others.listed.one_by_one()) {
            (Some(own), Some(others)) => ListedAxes::Each(own.chain(others).collect()),
            _ => ListedAxes::All,
        };
        let labels = match (self.labels, others.labels) {
            (Some(own), Some(_)) => Some(Arc::new(own.with_duplicate_axis())),
            (own, others) => own.or(others),
        };
        Axes { listed, keep_dims: self.keep_dims || others.keep_dims, labels }
    }

    /// Returns the same axes, kept in the result with length 1.
    #[doc(alias = "keepdims")]
    #[doc(alias = "keepdim")]
    pub fn keep_dims(self) -> Self {
        self.with_keep_dims(true)
    }

    /// Sets whether reduced axes stay in the result with length 1.
    pub fn with_keep_dims(self, keep_dims: bool) -> Self {
        Axes { keep_dims, ..self }
    }

    /// Returns whether reduced axes stay in the result with length 1.
    pub fn keeps_dims(&self) -> bool {
        self.keep_dims
    }

    /// Returns the labels on one of the axes.
    pub(crate) fn labels(&self) -> Option<&AxisLabels> {
        self.labels.as_deref()
    }

    /// Returns the shared labels of one of the axes.
    pub(crate) fn shared_labels(&self) -> Option<&Arc<AxisLabels>> {
        self.labels.as_ref()
    }

    /// Returns the number of listed axes, or `None` for all axes.
    pub(crate) fn count(&self) -> Option<usize> {
        match &self.listed {
            ListedAxes::All => None,
            ListedAxes::Each(axes) => Some(axes.len()),
            ListedAxes::Range(first, last) => Some((last.saturating_sub(*first) as usize).saturating_add(1)),
        }
    }

    /// Returns the axes counted from the front, in increasing order.
    ///
    /// # Errors
    ///
    /// - [`Error::AxisOutOfRange`]: an axis is not in `-rank..rank`. For rank 0, every axis is out of range.
    /// - [`Error::AxisRepeated`]: an axis is named twice, counted from the front or from the end.
    ///
    /// ```
    /// use lacuna::Axes;
    ///
    /// assert_eq!(Axes::from([-1, 0]).normalize(3)?, [0, 2]);
    /// assert_eq!(Axes::all().normalize(2)?, [0, 1]);
    /// assert!(Axes::from(3).normalize(3).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn normalize(&self, rank: usize) -> Result<Vec<usize>> {
        self.normalized(rank).map(Few::into_vec)
    }

    /// Like [`normalize`](Axes::normalize), without an allocation if there are few axes.
    pub(crate) fn normalized(&self, rank: usize) -> Result<Few<usize>> {
        let normalize = |axis: isize| normalize_axis(axis, rank);
        let mut axes: Few<usize> = match &self.listed {
            ListedAxes::All => return Ok((0..rank).collect()),
            ListedAxes::Each(axes) => axes.iter().copied().map(normalize).collect::<Result<_>>()?,
            // If there are more than `rank` axes, at least one axis is out of range or repeated.
            &ListedAxes::Range(first, last) => {
                (first..=last).take(rank.saturating_add(1)).map(normalize).collect::<Result<_>>()?
            }
        };
        axes.sort_unstable();
        match axes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::AxisRepeated { axis: pair[0], rank }),
            None => Ok(axes),
        }
    }
}

/// Returns one axis counted from the front.
pub(crate) fn normalize_axis(axis: impl AsAxis, rank: usize) -> Result<usize> {
    let axis = axis.as_axis();
    let counted = if axis < 0 { rank.checked_sub(axis.unsigned_abs()) } else { Some(axis as usize) };
    counted.filter(|&axis| axis < rank).ok_or(Error::AxisOutOfRange { axis, rank })
}

/// An integer that names an axis. An integer outside `isize` becomes the nearest `isize`, which is not an axis of any
/// tensor.
pub(crate) trait AsAxis: AsPrimitive<i128> {
    fn as_axis(self) -> isize {
        self.as_().clamp(isize::MIN as i128, isize::MAX as i128) as isize
    }
}

impl<T: AsPrimitive<i128>> AsAxis for T {}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Self {
        Axes::all()
    }
}

impl<A: Position> From<A> for Axes {
    fn from(axis: A) -> Self {
        Axes::listed([axis.to_i128()])
    }
}

impl<A: Position, const N: usize> From<[A; N]> for Axes {
    fn from(axes: [A; N]) -> Self {
        Axes::from(&axes[..])
    }
}

impl<A: Position, const N: usize> From<&[A; N]> for Axes {
    fn from(axes: &[A; N]) -> Self {
        Axes::from(&axes[..])
    }
}

impl<A: Position> From<&[A]> for Axes {
    fn from(axes: &[A]) -> Self {
        Axes::listed(axes.iter().map(|axis| axis.to_i128()))
    }
}

impl<A: Position> From<&Vec<A>> for Axes {
    fn from(axes: &Vec<A>) -> Self {
        Axes::from(&axes[..])
    }
}

impl<A: Position> From<Vec<A>> for Axes {
    fn from(axes: Vec<A>) -> Self {
        Axes::from(&axes[..])
    }
}

impl<A: Position> From<Range<A>> for Axes {
    fn from(axes: Range<A>) -> Self {
        let (start, end) = (axes.start.to_i128(), axes.end.to_i128());
        if start < end { Axes::run(start.as_axis(), (end - 1).as_axis()) } else { Axes::none() }
    }
}

impl<A: Position + PartialOrd> From<RangeInclusive<A>> for Axes {
    fn from(axes: RangeInclusive<A>) -> Self {
        let (first, last) = (axes.start().to_i128(), axes.end().to_i128());
        if axes.is_empty() { Axes::none() } else { Axes::run(first.as_axis(), last.as_axis()) }
    }
}

impl From<&Axes> for Axes {
    fn from(axes: &Axes) -> Self {
        axes.clone()
    }
}
