//! Conversions to and from the matrices of the crate `sprs`. `TriMatI` is like [`Triplets`]; `CsMatI` by rows is like
//! [`CsrTensor`].
//!
//! Input is checked as in any other constructor. sprs checks the output again. Matrices have two axes and an implicit
//! zero, so a tensor of another rank or with another fill is rejected.

use std::any::Any;
use std::ops::Deref;

use sprs::{CsMatBase, CsMatI, CsMatViewI, SpIndex, TriMatBase, TriMatI};

use super::foreign::{foreign_coords, foreign_offset};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, check_axes};
use crate::base::shape::Shape;
use crate::element::Element;
use crate::pattern::{CooPattern, CsrPattern};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;
use crate::tensor::triplets::{Duplicates, Triplets};

/// Name of the sprs matrices in messages.
const TARGET: &str = "an sprs matrix";

/// Returns the vector itself if its items have the requested type; otherwise converts the items.
fn reuse<A: 'static, B: 'static>(items: Vec<A>, convert: impl FnOnce(&[A]) -> Result<Vec<B>>) -> Result<Vec<B>> {
    let mut slot = Some(items);
    let any: &mut dyn Any = &mut slot;
    match any.downcast_mut::<Option<Vec<B>>>().and_then(Option::take) {
        Some(same) => Ok(same),
        None => convert(&slot.unwrap_or_default()),
    }
}

/// Returns offsets that start from 0; the offsets of an sprs slice may start elsewhere.
fn proper_offsets<Iptr: SpIndex + 'static>(offsets: Vec<Iptr>) -> Result<Vec<usize>> {
    let convert = |offsets: &[Iptr]| {
        alloc::try_collect(offsets.iter().enumerate().map(|(at, &offset)| foreign_offset(offset, at)))
    };
    let mut offsets = reuse(offsets, convert)?;
    let first = offsets.first().copied().unwrap_or(0);
    if first != 0 {
        offsets.iter_mut().for_each(|offset| *offset = offset.saturating_sub(first));
    }
    Ok(offsets)
}

/// Returns the matrix with its compressed axis first: a matrix stored by columns is transposed.
fn outer_first<T, I, J, Iptr>(matrix: CsMatI<T, J, Iptr>) -> Result<CsrTensor<T, I>>
where
    T: Element,
    I: Index,
    J: SpIndex + 'static,
    Iptr: SpIndex + 'static,
{
    let shape = Shape::from([matrix.outer_dims(), matrix.inner_dims()]);
    check_axes::<I>(&shape)?;
    let (offsets, indices, values) = matrix.into_raw_storage();
    Tensor::from_parts(pattern_of(shape, offsets, indices)?, values, T::ZERO)
}

/// Returns the pattern of the arrays of a matrix.
fn pattern_of<I, J, Iptr>(shape: Shape, offsets: Vec<Iptr>, indices: Vec<J>) -> Result<CsrPattern<I>>
where
    I: Index,
    J: SpIndex + 'static,
    Iptr: SpIndex + 'static,
{
    let indices = reuse(indices, |indices| foreign_coords(indices, 1, shape[1]))?;
    CsrPattern::new(shape, proper_offsets(offsets)?, indices)
}

/// Returns the number of rows and columns of a tensor; rejects a tensor that sprs cannot represent.
fn matrix_shape<T: Element>(shape: &Shape, fill: T) -> Result<(usize, usize)> {
    let &[rows, columns] = &**shape else {
        return Err(Error::RankMismatch { what: TARGET, expected: 2, found: shape.rank() });
    };
    if fill.same(T::ZERO) {
        return Ok((rows, columns));
    }
    Err(Error::FillNotZero { fill: fill.to_number().to_string(), target: TARGET })
}

/// Converts the only sprs error for a valid matrix: the length of an axis does not fit in the index type.
fn rejection(error: sprs::errors::StructureError) -> Error {
    Error::NotRepresentable { format: TARGET, what: error.to_string(), instead: "use a wider index type" }
}

/// Converts the error of a transposition, for a caller that does not set a limit.
fn many_columns(error: Error, instead: &'static str) -> Error {
    match error {
        Error::TooLarge { bytes, limit, .. } => {
            Error::TooLarge { what: "the offsets of the columns", bytes, limit, instead }
        }
        error => error,
    }
}

/// Returns the sprs matrix stored by columns, from the transposed tensor.
fn by_columns<T, I>(shape: (usize, usize), transposed: CsrTensor<T, I>) -> Result<CsMatI<T, I, usize>>
where
    T: Element,
    I: Index + SpIndex,
{
    let (pattern, values, _) = transposed.into_parts()?;
    let (_, offsets, rows) = pattern.into_parts()?;
    CsMatI::try_new_csc(shape, offsets, rows, values).map_err(|(.., error)| rejection(error))
}

impl<T: Element, I: Index> Triplets<T, I> {
    /// Copies the triplets of a sprs matrix in the same order.
    ///
    /// Repeated positions are kept.
    ///
    /// For another index type, use `Triplets::try_from(&matrix)`. sprs returns its arrays only by reference, so the
    /// arrays are copied.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for the index type;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{Duplicates, Triplets};
    /// use sprs::TriMatI;
    ///
    /// let mut matrix = TriMatI::<f64, u32>::new((2, 3));
    /// matrix.add_triplet(1, 2, 4.0);
    /// matrix.add_triplet(1, 2, 0.5);
    /// let triplets = Triplets::from_sprs(&matrix)?;
    /// assert_eq!(triplets.coalesce(Duplicates::Last)?.entries(), [(vec![1, 2], 0.5)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_sprs<IS, DS>(matrix: &TriMatBase<IS, DS>) -> Result<Self>
    where
        I: SpIndex,
        IS: Deref<Target = [I]>,
        DS: Deref<Target = [T]>,
    {
        Self::try_from(matrix)
    }

    /// Converts the triplets to a sprs matrix of triplets; all arrays are moved.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is not 2;
    /// - `FillNotZero`: the fill is not zero.
    ///
    /// ```
    /// use lacuna::Triplets;
    ///
    /// let triplets = Triplets::from_arrays([2, 3], vec![vec![1u32, 0], vec![2, 1]], vec![4.0, 2.0])?;
    /// assert_eq!(triplets.into_sprs()?.col_inds(), [2, 1]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_sprs(self) -> Result<TriMatI<T, I>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let (_, coords, values, _) = self.into_parts();
        let [rows, columns] = axes(coords)?;
        Ok(TriMatI::from_triplets(size, rows, columns, values))
    }
}

/// Returns the two coordinate arrays of a matrix.
fn axes<I>(coords: Vec<Vec<I>>) -> Result<[Vec<I>; 2]> {
    coords.try_into().map_err(|coords: Vec<_>| Error::RankMismatch { what: TARGET, expected: 2, found: coords.len() })
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Converts a sprs matrix of triplets to a tensor, with a rule for duplicates.
    ///
    /// sprs itself sums the values at a repeated position. `CooTensor::try_from(&matrix)` also sums these values, and
    /// accepts other index types.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for the index type;
    /// - the errors of [`Triplets::coalesce`].
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, Duplicates};
    /// use sprs::TriMatI;
    ///
    /// let matrix = TriMatI::<i32, u32>::from_triplets((2, 2), vec![1, 0, 1], vec![0, 1, 0], vec![3, 4, 5]);
    /// let x = CooTensor::from_sprs(&matrix, Duplicates::Max)?;
    /// assert_eq!(x.entries(), [(vec![0, 1], 4), (vec![1, 0], 5)]);
    /// assert_eq!(CooTensor::<_, u64>::try_from(&matrix)?.get(&[1, 0])?, 8);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_sprs<IS, DS>(matrix: &TriMatBase<IS, DS>, duplicates: Duplicates) -> Result<Self>
    where
        I: SpIndex,
        IS: Deref<Target = [I]>,
        DS: Deref<Target = [T]>,
    {
        Triplets::from_sprs(matrix)?.coalesce(duplicates)
    }

    /// Converts the tensor to a sprs matrix of triplets.
    ///
    /// Values and index arrays are moved if they are not shared; otherwise they are copied.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is not 2;
    /// - `FillNotZero`: the fill is not zero;
    /// - `OutOfMemory`: a copy cannot be allocated.
    ///
    /// ```
    /// use lacuna::{CooTensor, Duplicates};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![2.0, 4.0], 0.0)?;
    /// let matrix = x.clone().into_sprs()?;
    /// assert_eq!(matrix.row_inds(), [0, 1]);
    /// assert_eq!(CooTensor::from_sprs(&matrix, Duplicates::Error)?, x);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_sprs(self) -> Result<TriMatI<T, I>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let (pattern, values, _) = self.into_parts()?;
        let [rows, columns] = axes(pattern.into_parts()?.1)?;
        Ok(TriMatI::from_triplets(size, rows, columns, values))
    }

    /// Converts the tensor to a sprs matrix stored by columns (CSC).
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is not 2;
    /// - `FillNotZero`: the fill is not zero;
    /// - `TooLarge`: the offsets of the columns need more than the larger of 1 GiB and 16 times the bytes of this
    ///   tensor;
    /// - `NotRepresentable`: the number of rows does not fit in the index type. The maximum length of an axis is larger
    ///   by 1 in lacuna than in sprs;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0)?;
    /// let by_columns = x.to_sprs_csc()?;
    /// assert!(by_columns.is_csc());
    /// assert_eq!(by_columns.indices(), [1, 0, 1]);
    /// assert_eq!(CooTensor::try_from(by_columns)?, x);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_sprs_csc(&self) -> Result<CsMatI<T, I, usize>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let transposed = self.permute_axes([1, 0])?.into_csr();
        by_columns(
            size,
            transposed.map_err(|error| many_columns(error, "into_sprs returns triplets, without offsets"))?,
        )
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Converts a sprs matrix, stored by rows or by columns, to a tensor.
    ///
    /// If the matrix is stored by rows, columns and values are moved. The offsets are also moved if their type is
    /// `usize`, as in `CsMatI<T, u32, usize>` and `CsMat<T>`. To convert a matrix with another index type, use
    /// `CsrTensor::try_from(matrix)`. To convert a view, use `CsrTensor::try_from(&view)`.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for the index type;
    /// - `TooLarge`: the matrix is stored by columns, and the offsets of its rows need too much memory. The limit is
    ///   the larger of 1 GiB and 16 times the bytes of the matrix;
    /// - `OutOfMemory`: an allocation fails;
    /// - the errors of [`CsrPattern::new`], for a matrix that was constructed unchecked.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    /// use sprs::CsMatI;
    ///
    /// let matrix = CsMatI::<f64, u32, usize>::new((2, 3), vec![0, 1, 3], vec![1, 0, 2], vec![2.0, 3.0, 4.0]);
    /// let columns = matrix.indices().as_ptr();
    /// let x = CsrTensor::from_sprs(matrix)?;
    /// assert_eq!(x.get(&[1, 2])?, 4.0);
    /// assert_eq!(x.columns().as_ptr(), columns);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_sprs<Iptr: SpIndex + 'static>(matrix: CsMatI<T, I, Iptr>) -> Result<Self>
    where
        I: SpIndex,
    {
        Self::try_from(matrix)
    }

    /// Returns a sprs view of the tensor, stored by rows, without a copy.
    ///
    /// The view borrows the arrays of this tensor.
    ///
    /// `x.as_sprs()?.to_owned()` copies the arrays. sprs checks its input, so the call takes O(nnz + rows).
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is not 2;
    /// - `FillNotZero`: the fill is not zero;
    /// - `NotRepresentable`: the number of columns does not fit in the index type. The maximum length of an axis is
    ///   larger by 1 in lacuna than in sprs.
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::new([2, 2], vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0], 0.0)?;
    /// let product = &x.as_sprs()?.to_other_types::<usize, f64, usize>() * &ndarray::arr1(&[10.0, 1.0]);
    /// assert_eq!(product, ndarray::arr1(&[2.0, 30.0]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn as_sprs(&self) -> Result<CsMatViewI<'_, T, I, usize>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let view = CsMatViewI::try_new(size, self.offsets(), self.columns(), self.values());
        view.map_err(|(.., error)| rejection(error))
    }

    /// Converts the tensor to a sprs matrix stored by rows.
    ///
    /// Values and index arrays are moved if they are not shared; otherwise they are copied.
    ///
    /// # Errors
    ///
    /// - the errors of [`as_sprs`](Tensor::as_sprs);
    /// - `OutOfMemory`: a copy cannot be allocated.
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::new([2, 2], vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0], 0.0)?;
    /// let columns = x.columns().as_ptr();
    /// assert_eq!(x.into_sprs()?.indices().as_ptr(), columns);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_sprs(self) -> Result<CsMatI<T, I, usize>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let (pattern, values, _) = self.into_parts()?;
        let (_, offsets, columns) = pattern.into_parts()?;
        CsMatI::try_new(size, offsets, columns, values).map_err(|(.., error)| rejection(error))
    }

    /// Converts the tensor to a sprs matrix stored by columns (CSC).
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is not 2;
    /// - `FillNotZero`: the fill is not zero;
    /// - `TooLarge`: the offsets of the columns need more than the larger of 1 GiB and 16 times the bytes of this
    ///   tensor;
    /// - `NotRepresentable`: the number of rows does not fit in the index type. The maximum length of an axis is larger
    ///   by 1 in lacuna than in sprs;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::new([2, 2], vec![0, 2, 3], vec![0, 1, 0], vec![1, 2, 3], 0)?;
    /// assert_eq!(x.to_sprs_csc()?.data(), [1, 3, 2]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_sprs_csc(&self) -> Result<CsMatI<T, I, usize>>
    where
        I: SpIndex,
    {
        let size = matrix_shape(self.shape(), self.fill())?;
        let transposed = self.permute_axes([1, 0]);
        by_columns(size, transposed.map_err(|error| many_columns(error, "as_sprs stores it by rows"))?)
    }
}

impl<T, I, J, Iptr> TryFrom<CsMatI<T, J, Iptr>> for CsrTensor<T, I>
where
    T: Element,
    I: Index,
    J: SpIndex + 'static,
    Iptr: SpIndex + 'static,
{
    type Error = Error;

    /// Converts the matrix; arrays of a matrix stored by rows are moved if their types match.
    fn try_from(matrix: CsMatI<T, J, Iptr>) -> Result<Self> {
        if matrix.is_csr() { outer_first(matrix) } else { outer_first(matrix)?.permute_axes([1, 0]) }
    }
}

impl<T, I, J, Iptr> TryFrom<CsMatI<T, J, Iptr>> for CooTensor<T, I>
where
    T: Element,
    I: Index,
    J: SpIndex + 'static,
    Iptr: SpIndex + 'static,
{
    type Error = Error;

    /// Converts the matrix; arrays of a matrix stored by rows are moved if their types match.
    fn try_from(matrix: CsMatI<T, J, Iptr>) -> Result<Self> {
        let transposed = matrix.is_csc();
        let tensor = outer_first(matrix)?.to_coo()?;
        if transposed { tensor.permute_axes([1, 0]) } else { Ok(tensor) }
    }
}

impl<P, T, J, Iptr, PS, JS, DS> TryFrom<&CsMatBase<T, J, PS, JS, DS, Iptr>> for Tensor<P, T>
where
    Tensor<P, T>: TryFrom<CsMatI<T, J, Iptr>, Error = Error>,
    T: Element,
    J: SpIndex,
    Iptr: SpIndex,
    PS: Deref<Target = [Iptr]>,
    JS: Deref<Target = [J]>,
    DS: Deref<Target = [T]>,
{
    type Error = Error;

    /// Copies the arrays of a matrix or of a view.
    fn try_from(matrix: &CsMatBase<T, J, PS, JS, DS, Iptr>) -> Result<Self> {
        Self::try_from(matrix.to_owned())
    }
}

impl<T, I, J, IS, DS> TryFrom<&TriMatBase<IS, DS>> for CooTensor<T, I>
where
    T: Element,
    I: Index,
    J: SpIndex,
    IS: Deref<Target = [J]>,
    DS: Deref<Target = [T]>,
{
    type Error = Error;

    /// Converts the triplets; values at a repeated position are summed, as in sprs.
    fn try_from(matrix: &TriMatBase<IS, DS>) -> Result<Self> {
        Triplets::try_from(matrix)?.coalesce(Duplicates::Sum)
    }
}

impl<T, I, J, IS, DS> TryFrom<&TriMatBase<IS, DS>> for CsrTensor<T, I>
where
    T: Element,
    I: Index,
    J: SpIndex,
    IS: Deref<Target = [J]>,
    DS: Deref<Target = [T]>,
{
    type Error = Error;

    /// Converts the triplets; values at a repeated position are summed, as in sprs.
    fn try_from(matrix: &TriMatBase<IS, DS>) -> Result<Self> {
        Triplets::try_from(matrix)?.coalesce_csr(Duplicates::Sum)
    }
}

impl<T, I, J, IS, DS> TryFrom<&TriMatBase<IS, DS>> for Triplets<T, I>
where
    T: Element,
    I: Index,
    J: SpIndex,
    IS: Deref<Target = [J]>,
    DS: Deref<Target = [T]>,
{
    type Error = Error;

    /// Copies the triplets, and keeps repeated positions.
    fn try_from(matrix: &TriMatBase<IS, DS>) -> Result<Self> {
        let shape = Shape::from([matrix.rows(), matrix.cols()]);
        check_axes::<I>(&shape)?;
        let rows = foreign_coords(matrix.row_inds(), 0, shape[0])?;
        let columns = foreign_coords(matrix.col_inds(), 1, shape[1])?;
        Triplets::from_arrays_with_index(shape, vec![rows, columns], alloc::collect(matrix.data().iter().copied())?)
    }
}

impl<T: Element, I: Index + SpIndex> TryFrom<Triplets<T, I>> for TriMatI<T, I> {
    type Error = Error;

    fn try_from(triplets: Triplets<T, I>) -> Result<Self> {
        triplets.into_sprs()
    }
}

impl<T: Element, I: Index + SpIndex> TryFrom<CooTensor<T, I>> for TriMatI<T, I> {
    type Error = Error;

    fn try_from(tensor: CooTensor<T, I>) -> Result<Self> {
        tensor.into_sprs()
    }
}

impl<T: Element, I: Index + SpIndex> TryFrom<CooTensor<T, I>> for CsMatI<T, I, usize> {
    type Error = Error;

    /// Converts the tensor to a matrix stored by rows.
    fn try_from(tensor: CooTensor<T, I>) -> Result<Self> {
        matrix_shape(tensor.shape(), tensor.fill())?;
        tensor.into_csr()?.into_sprs()
    }
}

impl<T: Element, I: Index + SpIndex> TryFrom<CsrTensor<T, I>> for CsMatI<T, I, usize> {
    type Error = Error;

    /// Converts the tensor to a matrix stored by rows.
    fn try_from(tensor: CsrTensor<T, I>) -> Result<Self> {
        tensor.into_sprs()
    }
}

impl<'a, T: Element, I: Index + SpIndex> TryFrom<&'a CsrTensor<T, I>> for CsMatViewI<'a, T, I, usize> {
    type Error = Error;

    /// Returns a view stored by rows, without a copy.
    fn try_from(tensor: &'a CsrTensor<T, I>) -> Result<Self> {
        tensor.as_sprs()
    }
}
