//! Medians over axes, ignoring NaN, with the position of the median and its gradient.

use super::{gradient, holistic, holistic_erased};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Float, Real};
use crate::kernels::holistic::{Group, Holistic};
use crate::kernels::median::{MedianGradientRule, MedianQuery};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::rank::Rule;
use crate::kernels::select::FilterBuffer;
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::quantile::{QuantileGradient, QuantileRanks};

pub use crate::kernels::median::MedianGradient;
pub use crate::kernels::rank::EvenCount;

/// The options of [`nanmedian`] and [`median`](crate::median()).
///
/// [`nanmedian_index`] and the gradients of both functions have the same options. Plain axes convert to this type.
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
    /// The rule that selects the elements that receive the gradient.
    pub rule: MedianGradient,
    /// True if the gradient of a group with only NaN is divided among its elements.
    ///
    /// If false, the gradient of such a group is dropped.
    pub spread_nan: bool,
}

impl Nanmedian {
    /// Returns options for the median over `axes`.
    ///
    /// The median of an even number of values is the mean of the two middle values. Equal elements share the gradient.
    pub fn over(axes: impl Into<Axes>) -> Self {
        let (even, rule) = (EvenCount::default(), MedianGradient::default());
        Nanmedian { axes: axes.into(), even, rule, spread_nan: false }
    }

    /// Keeps the reduced axes with length 1.
    #[doc(alias = "keepdims")]
    #[doc(alias = "keepdim")]
    pub fn keep_dims(self) -> Self {
        Nanmedian { axes: self.axes.keep_dims(), ..self }
    }

    /// Selects the lower middle value of an even number of values as the median.
    ///
    /// Only elements equal to the lower middle value receive a gradient.
    pub fn lower(self) -> Self {
        Nanmedian { even: EvenCount::Lower, ..self }
    }

    /// Passes the gradient only to the elements at the middle ranks.
    ///
    /// Elements at all other ranks receive 0, even if they are equal to a middle value.
    pub fn first(self) -> Self {
        Nanmedian { rule: MedianGradient::First, ..self }
    }

    /// Passes the gradient of a group with only NaN to its elements.
    ///
    /// Each of the *n* elements of the group receives 1/*n* of the gradient, as in PyTorch.
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
    type Scratch = FilterBuffer<T>;

    fn needs_positions(&self) -> bool {
        true
    }

    fn scratch(&self) -> FilterBuffer<T> {
        FilterBuffer::new()
    }

    fn of(&self, group: &Group<'_, T>, buffer: &mut FilterBuffer<T>) -> Outcome<(T::Median, u64)> {
        group.median_and_position(MedianQuery { rule: Rule::Middle(self.even), skips_nan: true }, buffer)
    }
}

/// Returns the median over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = (*s*<sub>⌊(m−1)/2⌋</sub> + *s*<sub>⌊m/2⌋</sub>) / 2, where *s*<sub>0</sub> ≤ … ≤ *s*<sub>m−1</sub>
/// are the *m* elements *x*<sub>k,r</sub> of a group that are not NaN. The index *k* runs over the kept axes, and *r*
/// over the reduced axes.
///
/// For floats, the result has the type of the elements. For integers and `bool`, the result has `f64` elements. The
/// elements are compared in their own type. Only the two middle values are converted to `f64` and then averaged. For
/// example, `[i32::MAX, i32::MAX]` has the median 2147483647.0. If the sum of the two values overflows, the values are
/// halved first. For example, `[f64::MAX, f64::MAX]` has the median `f64::MAX`. `f16` and `bf16` are averaged in `f32`.
/// A zero result is `+0.0`. [`Nanmedian::lower`] selects the lower middle value instead.
///
/// Complex numbers do not have an order, so calls with complex elements do not compile (numpy uses the lexicographic
/// order):
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
/// The given axes are removed, or have length 1 with [`Axes::keep_dims`]. With [`Axes::all`], the result has rank 0.
/// With [`Axes::none`], each element is its own median. The result has the format and index type of `x`.
///
/// # Implicit values
///
/// Unstored positions have the fill as their value. The function uses the number of unstored positions, and does not
/// visit each position. A group consists of the positions that are reduced into one output element. A group with a
/// stored entry has a stored result. All other output elements hold the fill. The fill of the result is the fill of `x`
/// in the type of a median, or NaN if the groups are empty. If no axis is reduced, the pattern is shared. The number of
/// positions of a group is not limited.
///
/// For [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is NaN. Use the
/// stored view for data whose unstored positions are unknown rather than zero. For floats, the result is the median of
/// the same tensor with a fill of NaN.
///
/// # NaN
///
/// NaN is skipped, both as an entry and as the fill. A group with only NaN, and an empty group, yield NaN. If the two
/// middle values are −∞ and ∞, the median is NaN, except with [`Nanmedian::lower`]. Every NaN in the result is the
/// canonical NaN.
///
/// # Gradient
///
/// [`grad::nanmedian`](crate::grad::nanmedian()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
///
/// # Complexity
///
/// Here *nnz* is the number of stored entries of `x`, and *rank* is the number of axes. The number of rows of a CSR
/// tensor is *lanes*. Grouping the entries of a COO tensor takes O(nnz · rank) if the kept axes come first, otherwise
/// O(nnz · (rank + log nnz)). lacuna then selects the medians without a full sort, in O(nnz). If the kept axes come
/// first, a CSR tensor takes O(nnz + lanes), and otherwise the time of a COO tensor. An array takes O(number of
/// elements).
///
/// Each thread holds at most two copies of the largest group. Contiguous groups of an array are read in place. If the
/// groups are not contiguous, each thread copies about 2 MiB of groups at a time. A copy contains at least the groups
/// that share a cache line.
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
/// // Only stored entries: 1; 2, 4 and 8.
/// let stored = nanmedian(&x.stored(), -1)?;
/// assert_eq!(stored.to_dense()?, arr1(&[1.0, 4.0]).into_dyn());
/// assert_eq!(stored.to_dense()?, nanmedian(&x.clone().with_fill(f64::NAN).to_dense()?, -1)?);
///
/// // The lower of the two middle values.
/// let lower = Nanmedian::over(-1).lower();
/// assert_eq!(nanmedian(&x, &lower)?.to_dense()?, arr1(&[0.0, 4.0]).into_dyn());
/// assert_eq!(nanmedian(&x, &lower)?.to_dense()?, nanmedian(&x.to_dense()?, &lower)?);
///
/// // Unstored positions count, for any number of unstored positions.
/// let vast = CooTensor::new([4_000_000_000, 1_000_000], vec![vec![7], vec![7]], vec![5i64], 3)?;
/// assert_eq!(nanmedian(&vast, Axes::all())?.get(&[])?, 3.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// If all elements are literals without a type, write one literal with a type (`1.0_f64`). The type of a median depends
/// on the type of the elements. Without a type, rustc may report ``expected `f64`, found `!` ``:
///
/// ```
/// # use lacuna::{CooTensor, nanmedian};
/// let x = CooTensor::new([2], vec![vec![0]], vec![1.0_f64], 0.0)?;
/// assert_eq!(nanmedian(&x, 0)?.get(&[])? + 1.0, 1.5);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanmedian`](https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html). With
/// [`Nanmedian::lower`], the definition is
/// [`torch.nanmedian`](https://docs.pytorch.org/docs/stable/generated/torch.nanmedian.html). For stored entries, the
/// definition is `numpy.ma.median` of a masked array.
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

/// Returns the result of [`nanmedian`], and the position of the lower middle value.
///
/// If several elements are equal to the lower middle value, the first position is returned.
///
/// *i*<sub>k</sub> = min { *r* : *x*<sub>k,r</sub> = *s*<sub>⌊(m−1)/2⌋</sub> }, where *s*<sub>⌊(m−1)/2⌋</sub> is the
/// lower middle value in the formula of [`nanmedian`].
///
/// A position is the row-major index within the reduced axes, in increasing order of the axes, and has the type `u64`.
/// The element at this position is the median if the number of values is odd, or if [`Nanmedian::lower`] is set.
///
/// # Shapes
///
/// Both results have the shape of the result of [`nanmedian`].
///
/// # Implicit values
///
/// The two results share one pattern. If the fill is the lower middle value, the position may be unstored. The fill of
/// the positions is 0, or `u64::MAX` if the fill of the medians is NaN. For [`x.stored()`](crate::Tensor::stored), each
/// position is the position of a stored entry, counted among all positions, or `u64::MAX`.
///
/// # NaN
///
/// A group with only NaN, and an empty group, have the position `u64::MAX`. `-0.0` and `0.0` are equal.
///
/// # Gradient
///
/// Positions do not have a gradient. The gradient of the medians is [`grad::nanmedian`](crate::grad::nanmedian()).
///
/// # Errors
///
/// - the errors of [`nanmedian`];
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions.
///
/// # Complexity
///
/// The cost of [`nanmedian`], and at most O(rank · log *nnz*) per group, where *nnz* is the number of stored entries of
/// `x`.
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
/// Definition: a rule of lacuna. PyTorch returns the position of any element equal to the median. For a group with only
/// NaN, PyTorch also returns a position.
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

/// Returns the gradient of [`nanmedian`], divided among the middle elements.
///
/// *dx*<sub>k,r</sub> = ½ *dy*<sub>k</sub> [*x*<sub>k,r</sub> = *l*] / #*l* + ½ *dy*<sub>k</sub> [*x*<sub>k,r</sub> =
/// *u*] / #*u*, where *dy* is the upstream gradient. The lower and the upper middle value of the group are *l* and *u*.
/// The number of elements of the group that are equal to *v* is #*v*. A condition in square brackets is 1 if it holds,
/// otherwise 0.
///
/// All elements equal to the lower middle value receive equal parts of one half of the gradient. All elements equal to
/// the upper middle value receive equal parts of the other half. If both middle values are equal, all elements equal to
/// this value receive equal parts of the entire gradient. With this rule, equal elements receive equal gradients. The
/// options select other rules:
///
/// | options | elements that receive a gradient |
/// | --- | --- |
/// | none | all elements equal to a middle value: one half of the gradient per middle value |
/// | [`lower`](Nanmedian::lower) | all elements equal to the lower middle value: the entire gradient |
/// | [`first`](Nanmedian::first) | the elements at ranks ⌊(m−1)/2⌋ and ⌊m/2⌋: half each, all if equal ranks |
/// | `lower`, `first` | the element at rank ⌊(m−1)/2⌋: the entire gradient |
///
/// Here *m* is the number of elements of the group that are not NaN. Ranks start at 0, and order elements by value,
/// then by position. With `first`, the gradient therefore does not always belong to the first of several equal
/// elements. In a group of four equal elements, the second and the third element receive a gradient.
///
/// Each gradient is computed with one product and one quotient, in the type of the gradient, or in `f32` for 16-bit
/// floats: *dy* · ½ / #*v*. If one value receives the entire gradient, the formula is *dy* / #*v*.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `nanmedian(x, axes)`, including kept axes. The result has the shape of `x` and
/// the element type of `upstream`, which is a float.
///
/// # Implicit values
///
/// For a sparse `x`, the result has the pattern of `x` (shared) and a fill of 0. At most 2<sup>64</sup> − 1 unstored
/// positions count among the elements equal to a middle value, and their part of the gradient is dropped. Positions
/// that `upstream` does not store have the fill of `upstream`, or 0 if `upstream` is a stored view. Entries of
/// `upstream` for groups without an entry of `x` are dropped.
///
/// For [`x.stored()`](crate::Tensor::stored), only stored entries count among the elements equal to a middle value. No
/// part of the gradient is therefore dropped.
///
/// # NaN
///
/// A NaN element receives 0, for any upstream gradient of its group. With [`spread_nan`](Nanmedian::spread_nan), each
/// element of a group with only NaN receives an equal part of the upstream gradient instead, as in PyTorch. A gradient
/// that is NaN is the canonical NaN.
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanmedian`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `Uncountable`: with [`Nanmedian::first`], a group has more than 2<sup>64</sup> − 1 positions.
///
/// # Complexity
///
/// The cost of [`nanmedian`]. If `upstream` is sparse with *m* entries, each output element adds a search of at most
/// O(rank · log *m*). With `first`, each entry that is equal to a middle value adds O(rank) for COO, or O(rank · log
/// *lanes*) for CSR. Here *rank* is the number of axes, and *lanes* is the number of rows of a CSR tensor.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Nanmedian, grad};
/// use ndarray::arr1;
///
/// // 1  .  NaN    the median is 0.5, of 1 and the unstored 0
/// // 4  4  8      the median is 4
/// let (rows, columns) = (vec![0, 0, 1, 1, 1], vec![0, 2, 0, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![1.0, f64::NAN, 4.0, 4.0, 8.0], 0.0)?;
/// let upstream = arr1(&[10.0, 6.0]);
///
/// let dx = grad::nanmedian(&x, &upstream, 1)?;
/// assert_eq!(dx.values(), [5.0, 0.0, 3.0, 3.0, 0.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position. The unstored position receives 5.
/// let dense = grad::nanmedian(&x.to_dense()?, &upstream, 1)?;
/// assert_eq!(dense, ndarray::arr2(&[[5.0, 5.0, 0.0], [3.0, 3.0, 0.0]]).into_dyn());
///
/// // With `first` and only stored entries, the 1 of row 0 receives the entire gradient of the row.
/// let dx = grad::nanmedian(&x.stored(), &upstream, Nanmedian::over(1).first())?;
/// assert_eq!(dx.values(), [10.0, 0.0, 0.0, 6.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: a rule of lacuna. Like [`first`](Nanmedian::first), Paddle 3.3 passes the entire gradient to one
/// element, or one half each to two elements. If several elements are equal, Paddle and lacuna can select different
/// elements: Paddle uses its top-k, and lacuna uses the ranks.
#[doc(alias = "grad")]
#[doc(alias = "vjp")]
pub fn nanmedian_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    options: impl Into<Nanmedian>,
) -> Result<X::Reduced<U::Elem>> {
    let Nanmedian { axes, even, rule, spread_nan } = options.into();
    let query = MedianQuery { rule: Rule::Middle(even), skips_nan: true };
    gradient(x, QuantileGradient(MedianGradientRule { query, rule, spread_nan }), upstream, &axes)
}
