//! Tensors of both formats: a pattern, one value per entry, and the fill.

pub(crate) mod coo;
pub(crate) mod csr;
pub(crate) mod entries;
pub(crate) mod erased;
pub(crate) mod format;
pub(crate) mod stored;
pub(crate) mod triplets;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::sealed::Sealed;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::{DType, Element, Number};
use crate::pattern::{AxisCoords, Pattern, validate_length};

/// A sparse tensor: a pattern `P`, a value for each stored entry, and a fill.
///
/// Every unstored position has the value of the fill. The two formats are [`CooTensor`](crate::CooTensor) and
/// [`CsrTensor`](crate::CsrTensor). This page documents their common methods.
///
/// Tensors share arrays instead of copying them. An operation that changes only values shares the pattern. For example,
/// [`map_values`](Tensor::map_values) does not copy coordinates. An operation that changes only the pattern shares the
/// values. Shared values are copied when one of their tensors is changed. A clone therefore does not copy arrays, and a
/// conversion between the formats does not copy the values.
///
/// `==` compares shape, pattern, values and fill, with the `==` of the elements. Two tensors that store different
/// entries are not equal, even if their dense forms are equal. A tensor with a NaN is not equal to itself. In contrast,
/// [`same_as`](Tensor::same_as) treats all NaNs as the same value.
#[must_use]
#[derive(Clone)]
#[doc(alias = "SparseArray")]
#[doc(alias = "ndarray")]
pub struct Tensor<P, T> {
    pattern: P,
    /// The values, shared until one owner writes.
    values: Buffer<T>,
    fill: T,
}

impl<P, T> Sealed for Tensor<P, T> {}

impl<P: Pattern, T> Tensor<P, T> {
    /// Returns a tensor. The caller must ensure that the parts are valid together. The values may have any type, so a
    /// reduction with two results can first return a tensor of pairs.
    pub(crate) fn assemble(pattern: P, values: Vec<T>, fill: T) -> Self {
        debug_assert_eq!(pattern.nnz(), values.len());
        Tensor { pattern, values: values.into(), fill }
    }
}

impl<P: Pattern, A: Copy, B: Copy> Tensor<P, (A, B)> {
    /// Returns the tensor of the first items and the tensor of the second items of all pairs.
    pub(crate) fn unzip(self) -> Allocated<(Tensor<P, A>, Tensor<P, B>)> {
        let firsts = alloc::collect(self.values.iter().map(|pair| pair.0))?;
        let seconds = alloc::collect(self.values.iter().map(|pair| pair.1))?;
        let (first, second) = self.fill;
        Ok((Tensor::assemble(self.pattern.clone(), firsts, first), Tensor::assemble(self.pattern, seconds, second)))
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Constructs a tensor of `pattern`, with one value per entry and a fill.
    ///
    /// The pattern is not checked again, because its constructor has checked the invariants.
    ///
    /// # Errors
    ///
    /// `LengthMismatch`: the number of values differs from the number of entries.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooPattern, Tensor};
    ///
    /// let pattern = CooPattern::new([4], 2, vec![vec![1u64, 3]])?;
    /// let x = Tensor::from_parts(pattern, vec![2.5, 3.5], 0.0)?;
    /// assert_eq!(x.to_dense()?, ndarray::arr1(&[0.0, 2.5, 0.0, 3.5]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_parts(pattern: P, values: Vec<T>, fill: T) -> Result<Self> {
        validate_length("the values", pattern.nnz(), values.len())?;
        Ok(Tensor { pattern, values: values.into(), fill })
    }

    /// Returns a tensor. The caller must pass one value per entry.
    pub(crate) fn from_valid(pattern: P, values: Vec<T>, fill: T) -> Self {
        Self::from_shared(pattern, values.into(), fill)
    }

    /// Returns the same as [`from_valid`](Tensor::from_valid), with values that another tensor may share.
    pub(crate) fn from_shared(pattern: P, values: Buffer<T>, fill: T) -> Self {
        debug_assert_eq!(pattern.nnz(), values.len());
        Tensor { pattern, values, fill }
    }

    /// Replaces the pattern and the fill. The caller must then write the returned values, one per entry. The existing
    /// allocation is reused if it is large enough and not shared. After an error the tensor is unchanged.
    pub(crate) fn reuse(&mut self, pattern: P, fill: T) -> Result<&mut [T]> {
        let values = self.values.reuse(pattern.nnz())?;
        (self.pattern, self.fill) = (pattern, fill);
        Ok(values)
    }

    /// Returns the shared values.
    pub(crate) fn shared_values(&self) -> &Buffer<T> {
        &self.values
    }

    /// Returns the values without the pattern.
    pub(crate) fn into_shared_values(self) -> Buffer<T> {
        self.values
    }

    /// Passes the arrays that are not shared to the [spare buffers](crate::base::recycle), which later steps overwrite.
    pub(crate) fn recycle(self) {
        let pattern = self.pattern.any().clone();
        self.into_shared_values().recycle();
        let (_, offsets, coords) = pattern.into_arrays();
        offsets.into_iter().for_each(Buffer::recycle);
        coords.into_iter().for_each(AxisCoords::recycle);
    }

    /// Returns the pattern, the values and the fill.
    ///
    /// Values that are shared with another tensor are copied.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the copy fails.
    pub fn into_parts(self) -> Result<(P, Vec<T>, T)> {
        Ok((self.pattern, self.values.into_vec()?, self.fill))
    }

    /// Returns the lengths of the axes.
    #[doc(alias = "size")]
    #[doc(alias = "dims")]
    pub fn shape(&self) -> &Shape {
        self.pattern.shape()
    }

    /// Returns the number of axes.
    #[doc(alias = "ndim")]
    #[doc(alias = "dim")]
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// Returns the number of stored entries, including stored zeros.
    #[doc(alias = "len")]
    #[doc(alias = "getnnz")]
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Returns the fraction of positions that are stored.
    ///
    /// The fraction is 1 for a tensor without positions.
    pub fn density(&self) -> f64 {
        let size: f64 = self.shape().iter().map(|&length| length as f64).product();
        if self.shape().is_empty_space() { 1.0 } else { self.nnz() as f64 / size }
    }

    /// Returns the number of bytes of the index arrays and the values.
    pub fn stored_bytes(&self) -> usize {
        self.pattern.index_bytes() + size_of_val(self.values())
    }

    /// Returns the pattern: the positions of the entries.
    pub fn pattern(&self) -> &P {
        &self.pattern
    }

    /// Returns the stored values, in row-major order of their positions.
    #[doc(alias = "data")]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the stored values for writing in place.
    ///
    /// The pattern is unchanged, even if a value becomes zero.
    ///
    /// If the values are shared with another tensor, they are copied first. Clones and conversions between the formats
    /// share values.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the copy fails.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let mut x = CooTensor::new([3], vec![vec![0, 2]], vec![1, 2], 0)?;
    /// x.values_mut()?[1] = 0;
    /// assert_eq!((x.values(), x.nnz()), (&[1, 0][..], 2));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "data_mut")]
    pub fn values_mut(&mut self) -> Result<&mut [T]> {
        Ok(self.values.make_mut()?)
    }

    /// Returns the fill: the value of every unstored position.
    #[doc(alias = "fill_value")]
    pub fn fill(&self) -> T {
        self.fill
    }

    /// Returns the same stored entries with another fill.
    ///
    /// Unstored positions change their value.
    #[doc(alias = "fillna")]
    pub fn with_fill(self, fill: T) -> Self {
        Tensor { fill, ..self }
    }

    /// Returns the value at `coords`: the stored value, or the fill.
    ///
    /// The lookup takes O(rank · log nnz).
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of coordinates differs from the rank;
    /// - `IndexOutOfBounds`: a coordinate is not below the length of its axis.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![5], -1)?;
    /// assert_eq!(x.get(&[0, 1])?, 5);
    /// assert_eq!(x.get(&[1, 1])?, -1);
    /// assert!(x.get(&[2, 0]).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "index")]
    pub fn get(&self, coords: &[usize]) -> Result<T> {
        check_position(self.shape(), coords, None)?;
        Ok(self.pattern.any().find(coords).map_or(self.fill, |entry| self.values[entry]))
    }

    /// Returns the only element of a tensor with exactly one element, stored or not.
    ///
    /// Such a tensor has rank 0, or all its axes have length 1.
    ///
    /// # Errors
    ///
    /// `Argument`: the tensor has more than one element, or none.
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![5], 0)?;
    /// assert_eq!(x.count_nonzero(Axes::all())?.item()?, 1);
    /// assert!(x.item().is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn item(&self) -> Result<T> {
        if self.shape().checked_size() == Some(1) {
            return Ok(self.values.first().copied().unwrap_or(self.fill));
        }
        let why = format!("a tensor of shape {} does not have exactly one element; use get()", self.shape());
        Err(Error::Argument { operation: "item", why })
    }

    /// Returns all elements of one lane along the last axis.
    ///
    /// `at` are the coordinates on the other axes. For a matrix, the result is a row. For rank 1, the result contains
    /// all elements. Unstored positions have the value of the fill.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`, `IndexOutOfBounds`: `at` is not a position on the other axes;
    /// - `TooLarge`: the lane needs more bytes than the larger of 1 GiB and 16 times the bytes of the tensor;
    /// - `OutOfMemory`: allocation fails.
    ///
    /// # Complexity
    ///
    /// O(length of the axis + rank · log nnz) in COO, and O(length of the axis + rank · (rank + log lanes) · log nnz)
    /// in CSR.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2, 3, 4], 0)?;
    /// assert_eq!(x.to_vec(&[1])?, [3, 0, 4]);
    /// assert_eq!(x.count_nonzero(0)?.to_vec(&[])?, [1, 1, 1]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "tolist")]
    #[doc(alias = "row")]
    pub fn to_vec(&self, at: &[usize]) -> Result<Vec<T>> {
        self.sparse().to_vec(at)
    }

    /// Returns the stored entries as `(coordinates, value)`, in row-major order.
    ///
    /// The list contains all entries at once. [`iter`](Tensor::iter) returns the entries one by one.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![5, 6], 0)?;
    /// assert_eq!(x.entries(), [(vec![0, 1], 5), (vec![1, 0], 6)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "items")]
    #[doc(alias = "todok")]
    pub fn entries(&self) -> Vec<(Vec<usize>, T)> {
        self.sparse().entries()
    }

    /// Calls `visit` with each stored entry, in row-major order, without copies.
    ///
    /// The arguments of `visit` are the coordinates and the value.
    #[doc(alias = "nditer")]
    #[doc(alias = "for_each")]
    pub fn for_each_entry(&self, visit: impl FnMut(&[usize], T)) {
        self.sparse().for_each_entry(visit);
    }

    /// Calls `visit` with each stored entry, until `visit` returns an error.
    ///
    /// The function works like [`for_each_entry`](Tensor::for_each_entry), but stops at the first error.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![1, -2, 3], 0)?;
    /// let mut seen = 0;
    /// let found = x.try_for_each_entry(|coords, value| {
    ///     seen += 1;
    ///     if value < 0 { Err(coords[0]) } else { Ok(()) }
    /// });
    /// assert_eq!((found, seen), (Err(1), 2));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error that `visit` returns.
    #[doc(alias = "try_for_each")]
    pub fn try_for_each_entry<E>(
        &self,
        mut visit: impl FnMut(&[usize], T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut visited = Ok(());
        self.pattern.any().walk_range(0..self.nnz(), &mut |entry, coords| {
            visited = visit(coords, self.values[entry]);
            visited.is_ok()
        });
        visited
    }

    /// Applies `f` to every stored value, and once to the fill.
    ///
    /// The result shares the pattern of the tensor.
    ///
    /// The dense form of the result is `f` of every element of the dense form of the tensor. Only the sign of zeros and
    /// the payload of NaNs at unstored positions may differ. If `f` returns `-0.0` for the fill, the new fill is
    /// `+0.0`. A value that becomes equal to the fill stays stored, and [`prune`](Tensor::prune) removes this value.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the values fails.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![-4.0], 0.0)?;
    /// let y = x.map_values(|value: f64| value.abs() + 1.0)?;
    /// assert_eq!(y.to_dense()?, x.to_dense()?.mapv(|value| value.abs() + 1.0));
    /// assert!(x.map_values(|value| -value)?.fill().is_sign_positive());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "map")]
    #[doc(alias = "mapv")]
    #[doc(alias = "apply")]
    pub fn map_values<U: Element>(&self, f: impl Fn(T) -> U + Send + Sync) -> Result<Tensor<P, U>> {
        let fill = f(self.fill).as_implicit();
        Ok(Tensor::from_valid(self.pattern.clone(), threads::map(&self.values, 1000, f)?, fill))
    }

    /// Applies `f` to the coordinates and the value of every stored entry.
    ///
    /// The fill is unchanged, and the pattern is shared.
    ///
    /// `f` is not applied to the fill, because the fill belongs to many positions. The elements therefore keep their
    /// type. The dense form of the result is `f` of the dense form only if `f` does not change the fill. For example, a
    /// multiplication does not change a fill of zero. To change the type, call [`map_values`](Tensor::map_values) or
    /// [`cast`](Tensor::cast) on the result.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the values fails.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank) in COO, and O(nnz · rank + lanes) in CSR. Large tensors are processed on several threads.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
    /// let weights = [10.0, 100.0];
    /// let y = x.map_entries(|coords, value| value * weights[coords[0]])?;
    /// assert_eq!(y.values(), [20.0, 300.0, 400.0]);
    /// assert!(y.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn map_entries(&self, f: impl Fn(&[usize], T) -> T + Send + Sync) -> Result<Self> {
        Ok(Tensor::from_valid(self.pattern.clone(), self.sparse().mapped(f)?, self.fill))
    }

    /// Converts the elements to another type, and shares the pattern.
    ///
    /// Each value must be in the range of the new type:
    ///
    /// - an integer type accepts only whole numbers in its range: no fraction, no NaN, no infinity;
    /// - a float type rounds to the nearest float, but rejects a finite value that would become infinite;
    /// - `bool` accepts 0 and 1;
    /// - a real type accepts a complex value only if its imaginary part is zero.
    ///
    /// For any other rule, use [`map_values`](Tensor::map_values).
    ///
    /// # Errors
    ///
    /// - `Cast`: the fill or a stored value cannot be converted. The error names the fill, or the first such entry;
    /// - `OutOfMemory`: the allocation of the values fails.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![300], 0)?;
    /// assert_eq!(x.cast::<f32>()?.values(), [300.0]);
    /// assert_eq!(x.cast::<u8>().unwrap_err().to_string(), "300 (int32) at entry 0 cannot be converted to uint8");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "astype")]
    #[doc(alias = "to")]
    pub fn cast<U: Element>(&self) -> Result<Tensor<P, U>> {
        let fill = cast_value(self.fill, || "the fill".into())?;
        Ok(Tensor::from_valid(self.pattern.clone(), cast_values(&self.values)?, fill))
    }

    /// Removes the stored values that are the same as the fill.
    ///
    /// The comparison distinguishes `-0.0` from `0.0`, and treats all NaNs as the same value. The dense form is
    /// therefore bitwise identical, except for the payload of NaNs. If nothing is removed, the pattern is shared.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1, 2]], vec![0.0, -0.0, 7.0], 0.0)?;
    /// assert_eq!(x.prune()?.entries(), [(vec![1], -0.0), (vec![2], 7.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the remaining entries fails.
    #[doc(alias = "eliminate_zeros")]
    #[doc(alias = "nonzero")]
    pub fn prune(&self) -> Result<Self> {
        Tensor::from_erased(self.sparse().prune()?)
    }

    /// Returns whether two tensors have the same entries and the same fill.
    ///
    /// The comparison is like `==`, with two exceptions: all NaNs are the same value, and `-0.0` differs from `0.0`.
    #[doc(alias = "array_equal")]
    #[doc(alias = "equals")]
    pub fn same_as(&self, other: &Self) -> bool {
        self.sparse().same_as(other.sparse())
    }

    /// Returns whether the patterns of two tensors share memory.
    ///
    /// For example, the input and the result of an elementwise operation share the memory of their pattern.
    pub fn shares_pattern_with<U: Element>(&self, other: &Tensor<P, U>) -> bool {
        self.pattern.shares_arrays_with(&other.pattern)
    }
}

/// Returns the first number below `count` for which `is_before` is false. `is_before` must be false for all later
/// numbers.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (0, count);
    while start < end {
        let middle = start + (end - start) / 2;
        if is_before(middle) { start = middle + 1 } else { end = middle }
    }
    start
}

/// Rejects coordinates that are not a position of `shape`; `entry` is the index of their entry.
pub(crate) fn check_position(shape: &Shape, coords: &[usize], entry: Option<usize>) -> Result<()> {
    if coords.len() != shape.rank() {
        return Err(Error::RankMismatch { what: "the coordinates", expected: shape.rank(), found: coords.len() });
    }
    match coords.iter().zip(shape.iter()).position(|(coord, length)| coord >= length) {
        None => Ok(()),
        Some(axis) => Err(Error::IndexOutOfBounds { index: coords[axis] as u64, axis, length: shape[axis], entry }),
    }
}

/// Converts one value to another type. If the conversion fails, `place` names the location of the value.
fn cast_value<T: Element, U: Element>(value: T, place: impl Fn() -> String) -> Result<U> {
    let same: &dyn std::any::Any = &value;
    if let Some(same) = same.downcast_ref::<U>() {
        return Ok(*same);
    }
    number_in(value.to_number(), T::DTYPE, place)
}

fn cast_values<T: Element, U: Element>(values: &[T]) -> Result<Vec<U>> {
    let values = values.iter().enumerate();
    alloc::try_collect(values.map(|(entry, &value)| cast_value(value, || format!("entry {entry}"))))
}

/// Converts a number of type `from` to another type. If the conversion fails, `place` names the location of the number.
pub(crate) fn number_in<U: Element>(number: Number, from: DType, place: impl Fn() -> String) -> Result<U> {
    U::from_number(number).ok_or_else(|| Error::Cast {
        value: number.to_string(),
        from: from.name(),
        to: U::DTYPE.name(),
        place: place(),
    })
}

impl<P: Pattern, T: PartialEq> PartialEq for Tensor<P, T> {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && *self.values == *other.values && self.fill == other.fill
    }
}
