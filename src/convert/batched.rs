//! Batches of compressed matrices in the layouts of Paddle and PyTorch: offsets start again from 0 in every batch.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use super::foreign::{foreign_coords, foreign_offset};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, check_axes};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, checked_product, saturating_product};
use crate::convert::dense::{check_ndarray_shape, dense_array, dense_bytes};
use crate::element::Element;
use crate::pattern::{CsrPattern, by_width, validate_length};
use crate::tensor::Tensor;
use crate::tensor::csr::CsrTensor;
use crate::tensor::erased::SparseRef;

/// A matrix or a batch of matrices in Paddle's layout.
///
/// The matrices of a batch may have different numbers of entries.
///
/// ```text
/// shape [2, 2, 3]    . a .    b . .    crows  [0, 1, 1,  0, 1, 3]   rows + 1 per matrix, from 0
///                    . . .    c . d    cols   [1,        0, 0, 2]   matrix after matrix
///                                      values [a,        b, c, d]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PaddleCsr<T> {
    /// The offsets of the rows in each matrix, which start from 0.
    ///
    /// Each matrix has `rows + 1` offsets: the start of each row, and the end of the last row.
    pub crows: Vec<i64>,
    /// The column of each entry.
    pub cols: Vec<i64>,
    /// The value of each entry.
    pub values: Vec<T>,
}

/// A matrix or a batch of matrices in PyTorch's layout.
///
/// All matrices of a batch have the same number of entries.
///
/// ```text
/// shape [2, 2, 3]    . a .    c . .    crow_indices [[0, 1, 2], [0, 1, 2]]   [*batch, rows + 1]
///                    b . .    . . d    col_indices  [[1, 0], [0, 2]]         [*batch, entries per matrix]
///                                      values       [[a, b], [c, d]]         [*batch, entries per matrix]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TorchCsr<T> {
    /// The offsets of the rows, which start from 0 in each matrix.
    pub crow_indices: ArrayD<i64>,
    /// The column of each entry.
    pub col_indices: ArrayD<i64>,
    /// The value of each entry.
    pub values: ArrayD<T>,
}

/// Returns the lengths of the batch axes, the number of rows and the number of columns; rejects a vector.
fn split(shape: &Shape) -> Result<(&[usize], usize, usize)> {
    match &**shape {
        [batch @ .., rows, columns] => Ok((batch, *rows, *columns)),
        _ => Err(Error::RankMismatch {
            what: "a matrix (or, with more axes, a batch of them)",
            expected: 2,
            found: shape.rank(),
        }),
    }
}

/// Returns the batch axes, followed by one more axis.
fn with_last(batch: &[usize], last: usize) -> Shape {
    batch.iter().copied().chain([last]).collect()
}

/// Returns the offsets of all lanes, from offsets that start again in every batch.
fn join_offsets(crows: &[i64], rows: usize) -> Result<Vec<usize>> {
    let mut offsets = alloc::with_capacity(crows.len().saturating_add(1))?;
    offsets.push(0);
    let (mut base, each) = (0usize, rows.saturating_add(1));
    for (batch, crows) in crows.chunks_exact(each).enumerate() {
        let mut start = foreign_offset(crows[0], batch * each)?;
        if start != 0 {
            return Err(Error::OffsetsStart { found: start });
        }
        for (row, &end) in crows[1..].iter().enumerate() {
            let end = foreign_offset(end, batch * each + row + 1)?;
            if end < start {
                return Err(Error::OffsetsDecrease { lane: batch * rows + row, start, end });
            }
            offsets.push(base.saturating_add(end));
            start = end;
        }
        base = base.saturating_add(start);
    }
    Ok(offsets)
}

/// Returns the offsets of each batch, which start again from 0.
fn split_offsets(offsets: &[usize], batches: usize, rows: usize) -> Allocated<Vec<i64>> {
    let mut split = alloc::with_capacity(batches.saturating_mul(rows.saturating_add(1)))?;
    for batch in 0..batches {
        let offsets = &offsets[batch * rows..=(batch + 1) * rows];
        split.extend(offsets.iter().map(|offset| (offset - offsets[0]) as i64));
    }
    Ok(split)
}

impl<T: Element> Tensor<CsrPattern<u32>, T> {
    /// Constructs a tensor from Paddle's layout, with a fill of zero.
    ///
    /// `shape` has rank 2, or more for batches; see [`PaddleCsr`].
    ///
    /// The matrices of a batch may have different numbers of entries. Paddle itself supports ranks up to 3; lacuna
    /// supports several batch axes.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is below 2;
    /// - `AxisTooLong`: an axis is too long for `u32`;
    /// - `LengthMismatch`: `crows` does not have `rows + 1` offsets per matrix, or `values` is not as long as `cols`;
    /// - `NegativeOffset`: an offset is negative;
    /// - `OffsetsStart`: the first offset of a matrix is not 0;
    /// - `OffsetsDecrease`: an offset is smaller than the offset before it;
    /// - `OffsetsEnd`: the last offsets of all matrices do not add up to the number of entries;
    /// - `NegativeIndex`: a column is negative;
    /// - `IndexOutOfBounds`: a column is not below the number of columns;
    /// - `NotSorted`: the columns of a row do not increase strictly;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::from_paddle([2, 2, 3], &[0, 1, 1, 0, 1, 3], &[1, 0, 0, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.offsets(), [0, 1, 1, 2, 4]);
    /// assert_eq!(x.get(&[1, 1, 2])?, 4.0);
    /// assert_eq!(x.to_paddle()?.crows, [0, 1, 1, 0, 1, 3]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_paddle(shape: impl Into<Shape>, crows: &[i64], cols: &[i64], values: Vec<T>) -> Result<Self> {
        Self::from_paddle_with_index(shape, crows, cols, values)
    }

    /// Constructs a tensor from PyTorch's layout, with a fill of zero.
    ///
    /// `shape` has rank 2, or more for batches; see [`TorchCsr`].
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is below 2;
    /// - `AxisTooLong`: an axis is too long for `u32`;
    /// - `ShapeMismatch`: the shape of `crow_indices` is not `[*batch, rows + 1]`;
    /// - `ShapeMismatch`: the shape of `col_indices` or of `values` is not `[*batch, n]`, where `n` is the last length
    ///   of `col_indices`;
    /// - `NegativeOffset`: an offset is negative;
    /// - `OffsetsStart`: the first offset of a matrix is not 0;
    /// - `OffsetsDecrease`: an offset is smaller than the offset before it;
    /// - `OffsetsEnd`: the last offset of the first matrix is not `n`;
    /// - `UnevenBatches`: the last offset of another matrix is not `n`;
    /// - `NegativeIndex`: a column is negative;
    /// - `IndexOutOfBounds`: a column is not below the number of columns;
    /// - `NotSorted`: the columns of a row do not increase strictly;
    /// - `TooLarge`: the copies of broadcast arrays need more bytes than the larger of 1 GiB and 16 times the bytes of
    ///   the arrays;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    /// use ndarray::arr2;
    ///
    /// let (crows, cols) = (arr2(&[[0, 1, 2], [0, 1, 2]]), arr2(&[[1, 0], [0, 2]]));
    /// let x = CsrTensor::from_torch([2, 2, 3], &crows, &cols, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
    /// assert_eq!(x.get(&[1, 1, 2])?, 4.0);
    /// assert_eq!(x.to_torch()?.col_indices, cols.into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_torch<D: Dimension>(
        shape: impl Into<Shape>,
        crow_indices: &ArrayBase<impl Data<Elem = i64>, D>,
        col_indices: &ArrayBase<impl Data<Elem = i64>, D>,
        values: &ArrayBase<impl Data<Elem = T>, D>,
    ) -> Result<Self> {
        Self::from_torch_with_index(shape, crow_indices, col_indices, values)
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Constructs a tensor from Paddle's layout, with columns of type `I`.
    ///
    /// The constructor is [`from_paddle`](Tensor::from_paddle) for any index type.
    ///
    /// # Errors
    ///
    /// The errors of [`from_paddle`](Tensor::from_paddle), with `I` instead of `u32`.
    pub fn from_paddle_with_index(
        shape: impl Into<Shape>,
        crows: &[i64],
        cols: &[i64],
        values: Vec<T>,
    ) -> Result<CsrTensor<T, I>> {
        Tensor::from_parts(paddle_pattern(shape.into(), crows, cols, values.len())?, values, T::ZERO)
    }

    /// Constructs a tensor from PyTorch's layout, with columns of type `I`.
    ///
    /// The constructor is [`from_torch`](Tensor::from_torch) for any index type.
    ///
    /// # Errors
    ///
    /// The errors of [`from_torch`](Tensor::from_torch), with `I` instead of `u32`.
    pub fn from_torch_with_index<D: Dimension>(
        shape: impl Into<Shape>,
        crow_indices: &ArrayBase<impl Data<Elem = i64>, D>,
        col_indices: &ArrayBase<impl Data<Elem = i64>, D>,
        values: &ArrayBase<impl Data<Elem = T>, D>,
    ) -> Result<CsrTensor<T, I>> {
        let shape = shape.into();
        let indices = [crow_indices.view().into_dyn(), col_indices.view().into_dyn()];
        let PaddleCsr { crows, cols, values } = torch_arrays(&shape, indices, values, size_of::<I>())?;
        Self::from_paddle_with_index(shape, &crows, &cols, values)
    }

    /// Returns the tensor in Paddle's layout.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank is below 2;
    /// - `FillNotZero`: the fill is not zero, as the layout requires;
    /// - `AxisTooLong`: the last axis is too long for `i64`;
    /// - `TooLarge`: the matrices do not have rows, and their offsets need more than the larger of 1 GiB and 16 times
    ///   the bytes of this tensor;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::new([2, 1, 3], vec![0, 2, 3], vec![0, 2, 1], vec![5, 6, 7], 0)?;
    /// let paddle = x.to_paddle()?;
    /// assert_eq!(paddle.crows, [0, 2, 0, 1]);
    /// assert_eq!(CsrTensor::from_paddle([2, 1, 3], &paddle.crows, &paddle.cols, paddle.values)?, x);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_paddle(&self) -> Result<PaddleCsr<T>> {
        paddle_of(self.sparse(), "Paddle's layout")
    }

    /// Returns the tensor in PyTorch's layout.
    ///
    /// # Errors
    ///
    /// - the errors of [`to_paddle`](Tensor::to_paddle);
    /// - `UnevenBatches`: the matrices have different numbers of entries;
    /// - `TooLarge`: the batch axes are too long for an `ndarray` array.
    ///
    /// ```
    /// use lacuna::{CsrTensor, Error};
    /// use ndarray::arr2;
    ///
    /// let even = CsrTensor::new([2, 1, 3], vec![0, 1, 2], vec![2, 1], vec![5, 6], 0)?;
    /// assert_eq!(even.to_torch()?.crow_indices, arr2(&[[0, 1], [0, 1]]).into_dyn());
    ///
    /// let uneven = CsrTensor::new([2, 1, 3], vec![0, 2, 3], vec![0, 2, 1], vec![5, 6, 7], 0)?;
    /// assert_eq!(uneven.to_torch().unwrap_err(), Error::UnevenBatches { batch: 1, expected: 2, found: 1 });
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_torch(&self) -> Result<TorchCsr<T>> {
        torch_of(self.sparse())
    }
}

/// Returns the pattern of arrays in Paddle's layout; `values` is the number of values.
fn paddle_pattern<I: Index>(shape: Shape, crows: &[i64], cols: &[i64], values: usize) -> Result<CsrPattern<I>> {
    let (batch, rows, columns) = split(&shape)?;
    check_axes::<I>(&shape)?;
    let expected = checked_product(&with_last(batch, rows.saturating_add(1)));
    validate_length("crows", expected.unwrap_or(usize::MAX), crows.len())?;
    validate_length("the values", cols.len(), values)?;
    let offsets = join_offsets(crows, rows)?;
    let columns = foreign_coords(cols, shape.rank() - 1, columns)?;
    CsrPattern::new(shape, offsets, columns)
}

/// Returns the arrays of PyTorch's layout, concatenated over the batches; each coordinate takes `index_bytes`.
fn torch_arrays<T: Element, D: Dimension>(
    shape: &Shape,
    [crow_indices, col_indices]: [ArrayViewD<'_, i64>; 2],
    values: &ArrayBase<impl Data<Elem = T>, D>,
    index_bytes: usize,
) -> Result<PaddleCsr<T>> {
    let (batch, rows, _) = split(shape)?;
    let each = col_indices.shape().last().copied().unwrap_or(0);
    check_shape("crow_indices", with_last(batch, rows.saturating_add(1)), crow_indices.shape())?;
    check_shape("col_indices", with_last(batch, each), col_indices.shape())?;
    check_shape("values", with_last(batch, each), values.shape())?;
    let given = [dense_bytes(&crow_indices), dense_bytes(&col_indices), dense_bytes(values)];
    let (entry, given) = (index_bytes + size_of::<T>(), given.into_iter().fold(0, usize::saturating_add));
    guard_copies(crow_indices.len(), (col_indices.len(), entry), given)?;
    let crows = alloc::collect(crow_indices.iter().copied())?;
    check_even(&crows, rows, each)?;
    let (cols, values) = (alloc::collect(col_indices.iter().copied())?, alloc::collect(values.iter().copied())?);
    Ok(PaddleCsr { crows, cols, values })
}

/// Returns a compressed tensor in Paddle's layout; `target` names the layout in errors.
fn paddle_of<T: Element>(x: SparseRef<'_, T>, target: &'static str) -> Result<PaddleCsr<T>> {
    let (batch, rows, columns) = split(x.shape())?;
    if !x.fill().same(T::ZERO) {
        return Err(Error::FillNotZero { fill: x.fill().to_number().to_string(), target });
    }
    check_i64(x.rank() - 1, columns)?;
    let count = saturating_product(batch).saturating_mul(rows as u128 + 1);
    let limit = default_limit(x.stored_bytes());
    guard::<i64>(
        "the offsets of all batches",
        count,
        limit,
        "remove the batch axes, because the batches have no rows",
    )?;
    let crows = split_offsets(offsets_of(x), checked_product(batch).unwrap_or(0), rows)?;
    let cols = by_width!(x.pattern().axis(x.rank() - 1)?, own => {
        alloc::collect(own.iter().map(|column| column.to_usize() as i64))?
    });
    Ok(PaddleCsr { crows, cols, values: alloc::collect(x.values().iter().copied())? })
}

/// Returns a compressed tensor in PyTorch's layout.
fn torch_of<T: Element>(x: SparseRef<'_, T>) -> Result<TorchCsr<T>> {
    let PaddleCsr { crows, cols, values } = paddle_of(x, "PyTorch's layout")?;
    let (batch, rows, _) = split(x.shape())?;
    let each = entries_of_each_batch(offsets_of(x), batch, rows)?;
    let (offsets, entries) = (with_last(batch, rows.saturating_add(1)), with_last(batch, each));
    check_ndarray_shape(&offsets)?;
    check_ndarray_shape(&entries)?;
    Ok(TorchCsr {
        crow_indices: dense_array(&offsets, crows),
        col_indices: dense_array(&entries, cols),
        values: dense_array(&entries, values),
    })
}

/// Returns the offsets of the lanes of a compressed tensor.
fn offsets_of<T: Element>(x: SparseRef<'_, T>) -> &[usize] {
    x.pattern().lane_offsets().map_or(&[], |offsets| offsets)
}

/// Returns the number of entries of each batch, which PyTorch requires to be equal.
fn entries_of_each_batch(offsets: &[usize], batch: &[usize], rows: usize) -> Result<usize> {
    let count = |batch: usize| offsets[(batch + 1) * rows] - offsets[batch * rows];
    let batches = checked_product(batch).unwrap_or(0);
    let expected = if batches == 0 { 0 } else { count(0) };
    match (1..batches).find(|&batch| count(batch) != expected) {
        Some(batch) => Err(Error::UnevenBatches { batch, expected, found: count(batch) }),
        None => Ok(expected),
    }
}

/// Rejects an array if its shape differs from the shape that the layout requires.
fn check_shape(what: &'static str, expected: Shape, found: &[usize]) -> Result<()> {
    if expected == *found { Ok(()) } else { Err(Error::ShapeMismatch { what, expected, found: found.into() }) }
}

/// Rejects copies that are far larger than the `given` bytes, which a broadcast array repeats. The copies contain
/// `offsets` in both forms (as read and as stored), and `entries` of `entry` bytes with their columns as read.
fn guard_copies(offsets: usize, (entries, entry): (usize, usize), given: usize) -> Result<()> {
    let offset = (size_of::<i64>() + size_of::<usize>()) as u128;
    let entry = (size_of::<i64>() + entry) as u128;
    let bytes = (offsets as u128 * offset).saturating_add(entries as u128 * entry);
    let instead = "copy the broadcast arrays (to_owned), or convert in chunks";
    guard::<u8>("the arrays of PyTorch's layout", bytes, default_limit(given), instead)
}

/// Rejects offsets if a batch does not have `each` entries.
fn check_even(crows: &[i64], rows: usize, each: usize) -> Result<()> {
    for (batch, crows) in crows.chunks_exact(rows.saturating_add(1)).enumerate() {
        let found = foreign_offset(crows[rows], batch * (rows + 1) + rows)?;
        if found != each && batch == 0 {
            return Err(Error::OffsetsEnd { expected: each, found });
        }
        if found != each {
            return Err(Error::UnevenBatches { batch, expected: each, found });
        }
    }
    Ok(())
}

/// Rejects columns that may be too large for the integers of the layout.
fn check_i64(axis: usize, length: usize) -> Result<()> {
    let maximum = 1u128 << 63;
    let (index_type, instead) = ("i64", "a format with wider indices");
    if length as u128 <= maximum {
        Ok(())
    } else {
        Err(Error::AxisTooLong { axis, length, index_type, maximum, instead })
    }
}
