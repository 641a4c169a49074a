//! Unsorted input with repetitions, and its conversion to a tensor.

use std::borrow::Cow;
use std::mem::take;

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width, check_axes};
use crate::base::shape::Shape;
use crate::element::Element;
use crate::kernels::merge::{Merged, Unmerged, merged};
use crate::kernels::sort;
use crate::pattern::{AnyPattern, AxisCoords, Pattern, by_slices, by_width, validate_in_bounds, validate_length};
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;
use crate::tensor::erased::Erased;
use crate::tensor::{Tensor, check_position};

/// The rule for several triplets at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "sum_duplicates")]
pub enum Duplicates {
    /// The sum, computed from left to right in input order. For `bool`, the sum is a logical or. An integer overflow
    /// returns an error.
    #[default]
    Sum,
    /// The first triplet in input order.
    First,
    /// The last triplet in input order.
    Last,
    /// The smallest value, or NaN if any value is NaN. `-0.0` is below `0.0`. For complex numbers, this rule returns an
    /// error.
    Min,
    /// The largest value, or NaN if any value is NaN. `0.0` is above `-0.0`. For complex numbers, this rule returns an
    /// error.
    Max,
    /// One if any value is nonzero, otherwise zero. The value of a position with one triplet is unchanged.
    LogicalOr,
    /// An error that names two of the triplets.
    Error,
}

/// A builder of tensors: entries in any order, possibly repeated.
///
/// Triplets are not a tensor, so operations do not accept triplets. [`coalesce`](Triplets::coalesce) and
/// [`coalesce_csr`](Triplets::coalesce_csr) sort the triplets, merge repetitions by the given rule, and return a
/// tensor. The fill of this tensor is zero, or the value that [`with_fill`](Triplets::with_fill) sets.
///
/// # Examples
///
/// ```
/// use lacuna::{Duplicates, Triplets};
///
/// let mut triplets = Triplets::new([2, 3])?;
/// triplets.push(&[1, 2], 4.0)?;
/// triplets.push(&[0, 1], 2.0)?;
/// triplets.push(&[1, 2], 0.5)?;
/// let x = triplets.coalesce(Duplicates::Sum)?;
/// assert_eq!(x.entries(), [(vec![0, 1], 2.0), (vec![1, 2], 4.5)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone, PartialEq)]
#[doc(alias = "TriMat")]
#[doc(alias = "builder")]
#[doc(alias = "dok_array")]
#[doc(alias = "lil_array")]
pub struct Triplets<T, I = u32> {
    shape: Shape,
    coords: Vec<Vec<I>>,
    values: Vec<T>,
    fill: T,
}

impl<T: Element> Triplets<T, u32> {
    /// Constructs an empty list, for a tensor of `shape` with a fill of zero.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for `u32`; use [`Triplets::new_with_index`] for a wider type.
    pub fn new(shape: impl Into<Shape>) -> Result<Self> {
        Self::new_with_index(shape)
    }

    /// Constructs triplets from one coordinate array per axis, and the values.
    ///
    /// The triplets may be in any order.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `u32`; use [`Triplets::from_arrays_with_index`] for a wider type;
    /// - `LengthMismatch`: the number of arrays differs from the rank, or an array is not as long as the values;
    /// - `IndexOutOfBounds`: a coordinate is not below the length of its axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{Duplicates, Triplets};
    ///
    /// let triplets = Triplets::from_arrays([3, 2], vec![vec![2, 0, 2], vec![1, 1, 1]], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(triplets.coalesce(Duplicates::Max)?.values(), [2.0, 3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_arrays(shape: impl Into<Shape>, coords: Vec<Vec<u32>>, values: Vec<T>) -> Result<Self> {
        Self::from_arrays_with_index(shape, coords, values)
    }
}

impl<T: Element, I: Index> Triplets<T, I> {
    /// Constructs an empty list with coordinates of type `I`.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for `I`.
    ///
    /// ```
    /// use lacuna::{Duplicates, Triplets};
    ///
    /// let mut triplets = Triplets::<f64, u64>::new_with_index([1 << 40, 1 << 40])?;
    /// triplets.push(&[1 << 39, 7], 1.0)?;
    /// assert_eq!(triplets.coalesce(Duplicates::Sum)?.nnz(), 1);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn new_with_index(shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        let coords = vec![Vec::new(); shape.rank()];
        Ok(Triplets { shape, coords, values: Vec::new(), fill: T::ZERO })
    }

    /// Constructs triplets with coordinates of type `I`, like [`from_arrays`](Triplets::from_arrays).
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `I`;
    /// - `LengthMismatch`: the number of arrays differs from the rank, or an array is not as long as the values;
    /// - `IndexOutOfBounds`: a coordinate is not below the length of its axis.
    pub fn from_arrays_with_index(shape: impl Into<Shape>, coords: Vec<Vec<I>>, values: Vec<T>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        validate_length("the list of coordinate arrays", shape.rank(), coords.len())?;
        for (axis, (array, &length)) in coords.iter().zip(shape.iter()).enumerate() {
            validate_length("a coordinate array", values.len(), array.len())?;
            validate_in_bounds(array, axis, length)?;
        }
        Ok(Triplets { shape, coords, values, fill: T::ZERO })
    }

    /// Sets the fill of the tensor: the value of all positions without a triplet.
    ///
    /// The fill is never added to an entry.
    pub fn with_fill(self, fill: T) -> Self {
        Triplets { fill, ..self }
    }

    /// Reserves memory for `additional` more triplets.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: allocation fails.
    ///
    /// ```
    /// use lacuna::{Error, Triplets};
    ///
    /// let mut triplets = Triplets::<f64>::new([1000, 1000])?;
    /// triplets.reserve(10_000)?;
    /// assert!(matches!(triplets.reserve(usize::MAX), Err(Error::OutOfMemory { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        self.coords.iter_mut().try_for_each(|axis| alloc::reserve(axis, additional))?;
        Ok(alloc::reserve(&mut self.values, additional)?)
    }

    /// Appends one triplet.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of coordinates differs from the rank;
    /// - `IndexOutOfBounds`: a coordinate is not below the length of its axis;
    /// - `OutOfMemory`: allocation fails.
    ///
    /// After an error, the triplets are unchanged.
    #[doc(alias = "insert")]
    pub fn push(&mut self, coords: &[usize], value: T) -> Result<()> {
        check_position(&self.shape, coords, Some(self.values.len()))?;
        self.reserve(1)?;
        for (array, &coord) in self.coords.iter_mut().zip(coords) {
            array.push(I::from_usize(coord));
        }
        self.values.push(value);
        Ok(())
    }

    /// Appends all `(coordinates, value)` pairs of an iterator or of a tensor.
    ///
    /// `extend` does the same, but panics instead of returning an error.
    ///
    /// # Errors
    ///
    /// The error of [`push`](Triplets::push) for the first invalid entry. The entries before this entry are appended.
    ///
    /// ```
    /// use lacuna::{CooTensor, Duplicates, Triplets};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![2.0, 4.0], 0.0)?;
    /// let mut triplets = Triplets::new((2, 3))?;
    /// triplets.try_extend(&x)?;
    /// triplets.try_extend([([1, 2], 0.5), ([1, 0], 1.0)])?;
    /// assert_eq!(triplets.coalesce(Duplicates::Sum)?.values(), [2.0, 1.0, 4.5]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn try_extend<C: AsRef<[usize]>>(&mut self, entries: impl IntoIterator<Item = (C, T)>) -> Result<()> {
        entries.into_iter().try_for_each(|(coords, value)| self.push(coords.as_ref(), value))
    }

    /// Constructs triplets from `(coordinates, value)` pairs, with the smallest shape.
    ///
    /// The length of each axis is its largest coordinate plus 1, or 0 without triplets.
    ///
    /// `collect` does the same, but panics instead of returning an error.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: a coordinate does not fit in `I`;
    /// - `IndexOutOfBounds`: a coordinate is `usize::MAX`;
    /// - `OutOfMemory`: the allocation of the triplets fails.
    ///
    /// ```
    /// use lacuna::{Duplicates, Error, Triplets};
    ///
    /// let ties = [([0, 4], 1.0), ([2, 1], 0.5)];
    /// let triplets: Triplets<f64> = ties.into_iter().collect();
    /// assert_eq!(*triplets.shape(), [3, 5]);
    /// assert_eq!(triplets.coalesce(Duplicates::Sum)?.nnz(), 2);
    ///
    /// let far = Triplets::<f64>::try_from_entries([([1 << 40], 1.0)]);
    /// assert!(matches!(far, Err(Error::AxisTooLong { axis: 0, .. })));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn try_from_entries<const N: usize>(entries: impl IntoIterator<Item = ([usize; N], T)>) -> Result<Self> {
        let entries = entries.into_iter();
        let (mut lengths, mut triplets) = ([0; N], Self::new_with_index([0; N])?);
        triplets.reserve(entries.size_hint().0)?;
        for (coords, value) in entries {
            let mut grown = lengths;
            grown.iter_mut().zip(coords).for_each(|(length, coord)| *length = coord.saturating_add(1).max(*length));
            if grown != lengths {
                lengths = grown;
                triplets.shape = lengths.into();
                check_axes::<I>(&triplets.shape)?;
            }
            triplets.push(&coords, value)?;
        }
        Ok(triplets)
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of triplets, including repetitions.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the coordinates of all triplets on one axis, in input order.
    ///
    /// # Panics
    ///
    /// Panics if the axis does not exist.
    pub fn coords(&self, axis: usize) -> &[I] {
        &self.coords[axis]
    }

    /// Returns the values, in input order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the fill: the value of every position without a triplet.
    pub fn fill(&self) -> T {
        self.fill
    }

    /// Returns the shape, one coordinate array per axis, the values and the fill.
    ///
    /// ```
    /// use lacuna::Triplets;
    ///
    /// let triplets = Triplets::from_arrays([2, 3], vec![vec![1u32, 0], vec![2, 1]], vec![4.0, 2.0])?;
    /// let (shape, coords, values, fill) = triplets.into_parts();
    /// assert_eq!((shape, coords), ([2, 3].into(), vec![vec![1, 0], vec![2, 1]]));
    /// assert_eq!((values, fill), (vec![4.0, 2.0], 0.0));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_parts(self) -> (Shape, Vec<Vec<I>>, Vec<T>, T) {
        (self.shape, self.coords, self.values, self.fill)
    }

    /// Returns the tensor in coordinate format.
    ///
    /// If the triplets are sorted without repetitions, the arrays are moved, not copied.
    ///
    /// A sum that is zero stays stored. The value of a position with one triplet stays bitwise identical.
    ///
    /// # Errors
    ///
    /// - `Duplicate`: the rule is [`Duplicates::Error`], and two triplets share a position;
    /// - `SumOverflow`: a sum does not fit in its integer type;
    /// - `NoOrder`: the rule is [`Duplicates::Min`] or [`Duplicates::Max`], and the elements are complex;
    /// - `OutOfMemory`: the allocation for sorting fails.
    ///
    /// # Complexity
    ///
    /// O(*n* · rank) for *n* sorted triplets, otherwise O(*n* · (rank + log *n*)).
    #[doc(alias = "sum_duplicates")]
    pub fn coalesce(self, duplicates: Duplicates) -> Result<CooTensor<T, I>> {
        let coords = self.coords.into_iter().map(AxisCoords::from).collect();
        let listed = Unsorted { shape: self.shape, coords, width: I::WIDTH, values: self.values, fill: self.fill };
        Tensor::from_erased(listed.coalesce(duplicates)?)
    }

    /// Returns the tensor in compressed format.
    ///
    /// # Errors
    ///
    /// - the errors of [`coalesce`](Triplets::coalesce);
    /// - `TooLarge`: the offsets of the lanes need more than the larger of 1 GiB and 16 times the bytes of the tensor
    ///   in coordinate format.
    pub fn coalesce_csr(self, duplicates: Duplicates) -> Result<CsrTensor<T, I>> {
        self.coalesce(duplicates)?.into_csr()
    }
}

/// Triplets without the static type of their coordinates.
pub(crate) struct Unsorted<T> {
    shape: Shape,
    coords: Vec<AxisCoords>,
    width: Width,
    values: Vec<T>,
    fill: T,
}

impl<T: Element> Unsorted<T> {
    /// Returns triplets in any order, after the checks of [`Triplets::from_arrays`].
    pub(crate) fn new(shape: Shape, coords: Vec<AxisCoords>, values: Vec<T>, fill: T) -> Result<Self> {
        let width = coords.first().map_or(Width::U32, AxisCoords::width);
        validate_length("the list of coordinate arrays", shape.rank(), coords.len())?;
        for (axis, (array, &length)) in coords.iter().zip(shape.iter()).enumerate() {
            validate_length("a coordinate array", values.len(), array.len())?;
            by_width!(array, own => validate_in_bounds(own, axis, length))?;
        }
        Ok(Unsorted { shape, coords, width, values, fill })
    }

    /// Returns the tensor in coordinate format; entries at one position are merged.
    pub(crate) fn coalesce(mut self, duplicates: Duplicates) -> Result<Erased<T>> {
        check_order::<T>(duplicates)?;
        let count = self.values.len();
        if by_slices!(&self.coords, own => sort::first_not_increasing(&own, count)).is_some() {
            (self.coords, self.values) = self.merge(duplicates)?;
        }
        let pattern = AnyPattern::valid_coo(self.shape, self.values.len(), self.width, self.coords);
        Ok(Tensor::from_valid(pattern, self.values, self.fill))
    }

    /// Returns the triplets in order; triplets at one position are merged.
    fn merge(&mut self, duplicates: Duplicates) -> Result<Merged<T>> {
        let merge = |merged, value| merge_two(merged, value, duplicates);
        let merged = if duplicates == Duplicates::Error {
            // The error names two triplets, so the arrays are kept to search them.
            merged(Cow::Borrowed(&self.coords), Cow::from(&self.values), &merge)
        } else {
            merged(Cow::Owned(take(&mut self.coords)), take(&mut self.values).into(), &merge)
        };
        merged.map_err(|why| match why {
            Unmerged::At(position) => self.rejection(position, duplicates),
            Unmerged::AllocError(rejection) => rejection.into(),
        })
    }

    /// Returns the reason why the triplets at a position cannot be merged.
    fn rejection(&self, coords: Vec<usize>, duplicates: Duplicates) -> Error {
        let stands_there = |entry: &usize| self.coords.iter().zip(&coords).all(|(axis, &at)| axis.at(*entry) == at);
        let mut entries = (0..self.values.len()).filter(stands_there);
        match (duplicates, entries.next(), entries.next()) {
            (Duplicates::Error, Some(first), Some(second)) => Error::Duplicate { first, second, coords },
            _ => Error::SumOverflow { coords, dtype: T::DTYPE.name() },
        }
    }
}

/// Rejects the minimum and the maximum of a type without an order.
fn check_order<T: Element>(duplicates: Duplicates) -> Result<()> {
    let operation = match duplicates {
        Duplicates::Min => "minimum of duplicates",
        Duplicates::Max => "maximum of duplicates",
        _ => return Ok(()),
    };
    match T::ZERO.smaller(T::ONE) {
        Some(_) => Ok(()),
        None => Err(Error::NoOrder { operation, dtype: T::DTYPE.name() }),
    }
}

/// Returns the merger of two values at one position.
///
/// The result is `None` if the values cannot be merged, or if the merged value does not fit in the type.
fn merge_two<T: Element>(merged: T, value: T, duplicates: Duplicates) -> Option<T> {
    match duplicates {
        Duplicates::Sum => merged.checked_add(value),
        Duplicates::First => Some(merged),
        Duplicates::Last => Some(value),
        Duplicates::Min => merged.smaller(value),
        Duplicates::Max => merged.greater(value),
        Duplicates::LogicalOr if merged.is_truthy() || value.is_truthy() => Some(T::ONE),
        Duplicates::LogicalOr => Some(T::ZERO),
        Duplicates::Error => None,
    }
}

/// [`Triplets::try_extend`] for entries that are known to be valid.
///
/// # Panics
///
/// Panics with the message of the error: a position does not exist, or allocation fails.
impl<C: AsRef<[usize]>, T: Element, I: Index> Extend<(C, T)> for Triplets<T, I> {
    #[track_caller]
    fn extend<E: IntoIterator<Item = (C, T)>>(&mut self, entries: E) {
        self.try_extend(entries).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// [`Triplets::try_from_entries`] for entries that are known to be valid.
///
/// # Panics
///
/// Panics with the message of the error: a coordinate does not fit in `I`, or allocation fails.
impl<const N: usize, T: Element, I: Index> FromIterator<([usize; N], T)> for Triplets<T, I> {
    #[track_caller]
    fn from_iter<E: IntoIterator<Item = ([usize; N], T)>>(entries: E) -> Self {
        Self::try_from_entries(entries).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<P: Pattern<Index = I>, T: Element, I: Index> TryFrom<&Tensor<P, T>> for Triplets<T, I> {
    type Error = Error;

    /// Copies the entries, in row-major order; the fill is unchanged.
    fn try_from(tensor: &Tensor<P, T>) -> Result<Self> {
        let axes = tensor.pattern().any().axes()?.into_iter();
        let coords = axes.map(|axis| axis.in_width(I::WIDTH)?.into_vec()).collect::<Allocated<_>>()?;
        let (shape, values) = (tensor.shape().clone(), alloc::collect(tensor.values().iter().copied())?);
        Ok(Triplets { shape, coords, values, fill: tensor.fill() })
    }
}
