//! Conversion to and from the sparse matrices of [faer](faer).
//!
//! A `SparseRowMat` stores rows, as a [`CsrTensor`] does. [`into_faer`] and [`from_faer`] move the columns and
//! the values, unless another tensor shares these arrays. [`as_faer`] borrows all arrays.
//!
//! lacuna validates a matrix from faer like the arguments of any constructor. faer validates a matrix from lacuna. A
//! matrix has two axes, and the unstored positions of a matrix are zero. [`as_faer`] and [`into_faer`] therefore reject
//! a tensor whose rank is not 2 or whose fill is not `+0.0`.
//!
//! A matrix stored by columns is the transpose of a matrix stored by rows. `matrix.transpose()` and `into_transpose()`
//! of faer do not copy arrays.
//!
//! ```
//! use lacuna::CsrTensor;
//! use lacuna_faer::{as_faer, from_faer, into_faer};
//!
//! let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![1.5, 2.5, 3.5], 0.0)?.with_index::<usize>()?;
//! let matrix = as_faer(&x)?;
//! assert_eq!((matrix.nrows(), matrix.ncols(), matrix.val()), (2, 3, x.values()));
//! let back: CsrTensor<f64, usize> = from_faer(into_faer(x.clone())?)?;
//! assert_eq!(back, x);
//! # Ok::<(), lacuna::Error>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use faer::sparse::{SparseRowMat, SparseRowMatRef, SymbolicSparseRowMat, SymbolicSparseRowMatRef};
use lacuna::{CsrPattern, CsrTensor, Element, Error, Result, Shape, Tensor};

const TARGET: &str = "a matrix of faer";

/// An index type that both libraries have: `u32`, `u64` or `usize`.
pub trait Index: lacuna::Index + faer::Index + bytemuck::Pod {}

impl<I: lacuna::Index + faer::Index + bytemuck::Pod> Index for I {}

/// Returns the numbers of rows and columns, if faer can represent the tensor.
fn matrix_shape<T: Element, I: Index>(x: &CsrTensor<T, I>) -> Result<(usize, usize)> {
    let &[rows, columns] = &**x.shape() else {
        return Err(Error::RankMismatch { what: TARGET, expected: 2, found: x.rank() });
    };
    if !Element::same(x.fill(), T::ZERO) {
        return Err(Error::FillNotZero { fill: x.fill().to_number().to_string(), target: TARGET });
    }
    // faer reserves the sign bit of its indices.
    match [rows, columns, x.nnz()].iter().find(|&&count| count as u64 > <I as lacuna::Index>::MAX / 2) {
        Some(count) => Err(not_for::<I>(format!("{count} rows, columns or entries"))),
        None => Ok((rows, columns)),
    }
}

fn not_for<I: Index>(what: String) -> Error {
    let what = format!("{what} with indices of {}", <I as lacuna::Index>::NAME);
    Error::NotRepresentable { format: TARGET, what, instead: "use a wider index type" }
}

/// Returns the tensor as a borrowed matrix, without a copy.
///
/// # Errors
///
/// - `RankMismatch`: the tensor does not have two axes;
/// - `FillNotZero`: the fill of the tensor is not `+0.0`;
/// - `NotRepresentable`: the index type is not as wide as `usize`, the type of the offsets of lacuna. In this case, use
///   [`into_faer`], which converts the offsets;
/// - `NotRepresentable`: the number of rows, columns or entries exceeds half of the range of the index type.
pub fn as_faer<T: Element, I: Index>(x: &CsrTensor<T, I>) -> Result<SparseRowMatRef<'_, I, T>> {
    let (rows, columns) = matrix_shape(x)?;
    let offsets = match size_of::<I>() == size_of::<usize>() {
        true => bytemuck::cast_slice(x.offsets()),
        false => return Err(not_for::<I>("borrowed offsets of usize".into())),
    };
    let symbolic = SymbolicSparseRowMatRef::new_checked(rows, columns, offsets, None, x.columns());
    Ok(SparseRowMatRef::new(symbolic, x.values()))
}

/// Converts the tensor to a matrix.
///
/// Columns and values are moved, unless another tensor shares these arrays. Offsets are moved if the index type is as
/// wide as `usize`. Otherwise the offsets are copied.
///
/// # Errors
///
/// - `RankMismatch`: the tensor does not have two axes;
/// - `FillNotZero`: the fill of the tensor is not `+0.0`;
/// - `NotRepresentable`: the number of rows, columns or entries exceeds half of the range of the index type;
/// - `OutOfMemory`: the allocation of the copy fails.
pub fn into_faer<T: Element, I: Index>(x: CsrTensor<T, I>) -> Result<SparseRowMat<I, T>> {
    let (rows, columns) = matrix_shape(&x)?;
    let (pattern, values, _) = x.into_parts()?;
    let (_, offsets, indices) = pattern.into_parts()?;
    let offsets = match bytemuck::allocation::try_cast_vec(offsets) {
        Ok(same) => same,
        Err((_, offsets)) => offsets.into_iter().map(<I as lacuna::Index>::from_usize).collect(),
    };
    Ok(SparseRowMat::new(SymbolicSparseRowMat::new_checked(rows, columns, offsets, None, indices), values))
}

/// Converts a matrix to a tensor with the fill 0.
///
/// Columns and values are moved. Offsets are moved if the index type is as wide as `usize`. Otherwise the offsets are
/// copied. If the matrix has free space after the entries of a row, the entries are first moved together.
///
/// # Errors
///
/// `NotSorted`: the columns of a row do not increase strictly.
pub fn from_faer<T: Element, I: Index>(matrix: SparseRowMat<I, T>) -> Result<CsrTensor<T, I>> {
    let (symbolic, mut values) = matrix.into_parts();
    let (rows, columns, offsets, lengths, mut indices) = symbolic.into_parts();
    let wide = |offset: I| lacuna::Index::to_usize(offset);
    let offsets = match lengths {
        Some(lengths) => moved_together(&offsets, &lengths, &mut indices, &mut values),
        None => match bytemuck::allocation::try_cast_vec(offsets) {
            Ok(same) => same,
            Err((_, offsets)) => offsets.into_iter().map(wide).collect(),
        },
    };
    let count = offsets.last().copied().unwrap_or(0);
    indices.truncate(count);
    values.truncate(count);
    Tensor::from_parts(CsrPattern::new(Shape::from([rows, columns]), offsets, indices)?, values, T::ZERO)
}

/// Removes the free space after the entries of each row, and returns the new offsets.
fn moved_together<T: Element, I: Index>(
    starts: &[I],
    lengths: &[I],
    indices: &mut [I],
    values: &mut [T],
) -> Vec<usize> {
    let mut offsets = vec![0];
    let mut end = 0;
    for (&start, &length) in starts.iter().zip(lengths) {
        let (start, length) = (lacuna::Index::to_usize(start), lacuna::Index::to_usize(length));
        indices.copy_within(start..start + length, end);
        values.copy_within(start..start + length, end);
        end += length;
        offsets.push(end);
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor<I: Index>() -> CsrTensor<f64, I> {
        let x = CsrTensor::new([4, 3], vec![0, 1, 3, 3, 4], vec![1, 0, 2, 2], vec![1.5, -0.0, 3.5, f64::NAN], 0.0);
        x.unwrap().with_index().unwrap()
    }

    fn comes_back<I: Index>() {
        let x = tensor::<I>();
        let matrix = into_faer(x.clone()).unwrap();
        assert_eq!((matrix.nrows(), matrix.ncols(), matrix.compute_nnz()), (4, 3, 4));
        assert_eq!(matrix.col_idx(), x.columns());
        let back = from_faer(matrix).unwrap();
        assert_eq!((back.pattern(), back.fill()), (x.pattern(), 0.0));
        assert!(back.values().iter().zip(x.values()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn matrices_come_back_with_every_index_type() {
        comes_back::<u32>();
        comes_back::<u64>();
        comes_back::<usize>();
    }

    #[test]
    fn nothing_is_copied_where_types_allow() {
        let x = tensor::<usize>();
        let matrix = as_faer(&x).unwrap();
        assert_eq!(matrix.row_ptr().as_ptr(), x.offsets().as_ptr());
        assert_eq!((matrix.col_idx().as_ptr(), matrix.val().as_ptr()), (x.columns().as_ptr(), x.values().as_ptr()));
        let (offsets, columns, values) = (x.offsets().as_ptr(), x.columns().as_ptr(), x.values().as_ptr());
        let matrix = into_faer(x).unwrap();
        assert_eq!((matrix.row_ptr().as_ptr(), matrix.col_idx().as_ptr()), (offsets, columns));
        assert_eq!(matrix.val().as_ptr(), values);
        let back = from_faer(matrix).unwrap();
        assert_eq!((back.columns().as_ptr(), back.values().as_ptr()), (columns, values));
        let narrow = tensor::<u32>();
        let columns = narrow.columns().as_ptr();
        assert_eq!(into_faer(narrow).unwrap().col_idx().as_ptr(), columns);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn indices_as_wide_as_offsets_are_borrowed() {
        let x = tensor::<u64>();
        assert_eq!(as_faer(&x).unwrap().row_ptr(), [0, 1, 3, 3, 4]);
        let error = as_faer(&tensor::<u32>()).unwrap_err().to_string();
        assert!(error.contains("borrowed offsets of usize with indices of u32"), "{error}");
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let x = CsrTensor::new([3], vec![0, 1], vec![1], vec![2.0], 0.0).unwrap().with_index::<usize>().unwrap();
        assert!(matches!(as_faer(&x), Err(Error::RankMismatch { expected: 2, found: 1, .. })));
        // A matrix of faer holds +0.0 where it stores nothing.
        for fill in [1.0, -0.0] {
            let filled = tensor::<usize>().with_fill(fill);
            assert!(matches!(into_faer(filled), Err(Error::FillNotZero { .. })));
        }
        let wide = CsrTensor::new([1, 1 << 31], vec![0, 0], Vec::<u32>::new(), Vec::<f64>::new(), 0.0).unwrap();
        assert!(matches!(into_faer(wide), Err(Error::NotRepresentable { .. })));
    }

    #[test]
    fn rows_with_room_are_moved_together_and_columns_checked() {
        let with_room = SymbolicSparseRowMat::new_checked(
            3,
            4,
            vec![0usize, 3, 4, 7],
            Some(vec![2, 0, 3]),
            vec![1, 3, 9, 9, 0, 1, 2],
        );
        let x = from_faer(SparseRowMat::new(with_room, vec![1, 2, 90, 91, 3, 4, 5])).unwrap();
        let entries = [(vec![0, 1], 1), (vec![0, 3], 2), (vec![2, 0], 3), (vec![2, 1], 4), (vec![2, 2], 5)];
        assert_eq!(x.entries(), entries);
        let unsorted = SymbolicSparseRowMat::new_unsorted_checked(1, 4, vec![0usize, 2], None, vec![2, 0]);
        assert!(from_faer(SparseRowMat::new(unsorted, vec![1, 2])).is_err());
    }
}
