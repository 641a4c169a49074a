//! To and from dense arrays: `ndarray` arrays and views of any rank and layout.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, RawData};

use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::Element;
use crate::error::Result;
use crate::index::{Index, check_axes};
use crate::limit::{default_limit, filled, guard};
use crate::pages;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::shape::{Shape, ravel, step};
use crate::tensor::Tensor;

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// The dense array: the stored values at their positions, the fill at all others.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the array needs more than the larger of 1 GiB and 16 times this tensor's bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([4], vec![vec![2]], vec![5.0], f64::INFINITY)?;
    /// let infinity = f64::INFINITY;
    /// assert_eq!(x.to_dense()?, arr1(&[infinity, infinity, 5.0, infinity]).into_dyn());
    ///
    /// let vast = CooTensor::full([1 << 20, 1 << 20], 0u8)?;
    /// assert!(vast.to_dense().unwrap_err().to_string().contains("1099511627776 bytes"));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_dense(&self) -> Result<ArrayD<T>> {
        self.to_dense_with_limit(default_limit(self.stored_bytes()))
    }

    /// [`to_dense`](Tensor::to_dense) with a byte limit of the caller's choice.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the array needs more than `limit` bytes; `OutOfMemory`: it needs more than the machine has.
    pub fn to_dense_with_limit(&self, limit: u64) -> Result<ArrayD<T>> {
        let shape = self.shape();
        let instead = "work on the sparse form, or raise the limit";
        guard::<T>("the dense array", shape.wide_size(), limit, instead)?;
        check_ndarray_shape(shape)?;
        let mut items = filled("the dense array", self.fill(), shape.wide_size(), limit, instead)?;
        self.for_each_entry(|coords, value| items[ravel(coords, shape)] = value);
        Ok(dense_array(shape, items))
    }
}

/// Refuses a shape that `ndarray` cannot hold: the product of its axes that are not zero must fit `isize`.
pub(crate) fn check_ndarray_shape(shape: &Shape) -> Result<()> {
    let positive: Shape = shape.iter().copied().filter(|&length| length > 0).collect();
    let instead = "an ndarray cannot have such axes; work on the sparse form";
    guard::<u8>("the strides of the dense array", positive.wide_size(), isize::MAX as u64, instead)
}

/// The array of row-major `items`, as many as `shape` has positions; the shape has passed [`check_ndarray_shape`].
pub(crate) fn dense_array<T>(shape: &Shape, items: Vec<T>) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(shape), items).expect("the number of items is the number of positions")
}

/// The bytes of memory that an array reaches over: a broadcast array has no more of them than what it repeats.
pub(crate) fn dense_bytes<S: RawData, D: Dimension>(array: &ArrayBase<S, D>) -> usize {
    if array.is_empty() {
        return 0;
    }
    let axes = array.shape().iter().zip(array.strides());
    let reach = |span: usize, (&length, stride): (&usize, &isize)| {
        span.saturating_add((length - 1).saturating_mul(stride.unsigned_abs()))
    };
    axes.fold(1, reach).saturating_mul(size_of::<S::Elem>())
}

/// Refuses more entries of `entry_bytes` than are in proportion to the array that they are read from.
fn check_entries<S: RawData, D: Dimension>(dense: &ArrayBase<S, D>, entries: usize, entry_bytes: usize) -> Result<()> {
    let bytes = entries as u128 * entry_bytes as u128;
    let instead = "convert the array that was broadcast, or a part of it";
    guard::<u8>("the stored entries", bytes, default_limit(dense_bytes(dense)), instead)
}

/// The coordinates and values of the positions of `dense` that are not the same as `fill`.
#[allow(clippy::type_complexity)] // coordinates and values, nothing to be named
fn scan<S, D, I>(dense: &ArrayBase<S, D>, fill: S::Elem) -> Result<(Vec<Vec<I>>, Vec<S::Elem>)>
where
    S: Data<Elem: Element>,
    D: Dimension,
    I: Index,
{
    let lengths = dense.shape();
    let mut coords = vec![Vec::new(); lengths.len()];
    let mut values = Vec::new();
    let mut position = vec![0; lengths.len()];
    for &value in dense {
        if !value.same(fill) {
            if values.len() == values.capacity() {
                check_entries(dense, 2 * values.len(), lengths.len() * size_of::<I>() + size_of::<S::Elem>())?;
            }
            let mut axes = coords.iter_mut().zip(&position);
            axes.try_for_each(|(axis, &coord)| pages::push(axis, I::from_usize(coord)))?;
            pages::push(&mut values, value)?;
        }
        step(&mut position, lengths);
    }
    Ok((coords, values))
}

impl<T: Element> Tensor<CooPattern<u32>, T> {
    /// The sparse form of a dense array or view of any layout: stored is what is not the same as `fill`.
    ///
    /// *The same* tells `-0.0` from `0.0` and takes NaN for NaN, so going back gives every bit (but NaN payloads).
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis does not fit `u32`;
    /// - `TooLarge`: the entries would take more memory than the larger of 1 GiB and 16 times that of the array, as those
    ///   of a broadcast view can;
    /// - `OutOfMemory`: they take more than the machine has.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr2;
    ///
    /// let dense = arr2(&[[0.0, 2.0], [f64::NAN, 0.0]]);
    /// let x = CooTensor::from_dense(&dense, 0.0)?;
    /// assert_eq!(x.nnz(), 2);
    /// assert_eq!(x.coords(0), [0, 1]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn from_dense<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        Self::from_dense_with_index(dense, fill)
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// [`from_dense`](Tensor::from_dense) with coordinates of type `I`.
    ///
    /// # Errors
    ///
    /// Those of [`from_dense`](Tensor::from_dense), with `I` for `u32`.
    pub fn from_dense_with_index<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let shape = Shape::from(dense.shape());
        check_axes::<I>(&shape)?;
        let (coords, values) = scan(dense, fill)?;
        let coords = coords.into_iter().map(Arc::new).collect();
        Ok(Tensor::from_valid(CooPattern::from_valid(shape, values.len(), coords), values, fill))
    }
}

impl<T: Element> Tensor<CsrPattern<u32>, T> {
    /// The compressed form of a dense array or view of any layout: stored is what is not the same as `fill`.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis does not fit `u32`;
    /// - `TooLarge`: the entries would take more memory than the larger of 1 GiB and 16 times that of the array, as those
    ///   of a broadcast view can, or the offsets would, as those of an array without columns can;
    /// - `OutOfMemory`: they take more than the machine has.
    pub fn from_dense<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        Self::from_dense_with_index(dense, fill)
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// [`from_dense`](Tensor::from_dense) with columns of type `I`.
    ///
    /// # Errors
    ///
    /// Those of [`from_dense`](Tensor::from_dense), with `I` for `u32`.
    pub fn from_dense_with_index<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let shape = Shape::from(dense.shape());
        check_axes::<I>(&shape)?;
        let width = shape.columns().max(1);
        let (mut lanes, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (position, &value) in dense.iter().enumerate().filter(|(_, value)| !value.same(fill)) {
            if values.len() == values.capacity() {
                check_entries(dense, 2 * values.len(), size_of::<usize>() + size_of::<I>() + size_of::<T>())?;
            }
            pages::push(&mut lanes, position / width)?;
            pages::push(&mut columns, I::from_usize(position % width))?;
            pages::push(&mut values, value)?;
        }
        let limit = default_limit(dense_bytes(dense));
        let pattern = CsrPattern::from_lanes(shape, lanes.into_iter(), Arc::new(columns), limit)?;
        Ok(Tensor::from_valid(pattern, values, fill))
    }
}

impl<T: Element, I: Index, S: Data<Elem = T>, D: Dimension> TryFrom<&ArrayBase<S, D>> for CooTensor<T, I> {
    type Error = crate::Error;

    /// The sparse form with a fill of zero.
    fn try_from(dense: &ArrayBase<S, D>) -> Result<Self> {
        Self::from_dense_with_index(dense, T::ZERO)
    }
}

impl<T: Element, I: Index, S: Data<Elem = T>, D: Dimension> TryFrom<&ArrayBase<S, D>> for CsrTensor<T, I> {
    type Error = crate::Error;

    /// The compressed form with a fill of zero.
    fn try_from(dense: &ArrayBase<S, D>) -> Result<Self> {
        Self::from_dense_with_index(dense, T::ZERO)
    }
}

impl<P: Pattern, T: Element> TryFrom<&Tensor<P, T>> for ArrayD<T> {
    type Error = crate::Error;

    fn try_from(tensor: &Tensor<P, T>) -> Result<Self> {
        tensor.to_dense()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Axis, Slice, arr0};

    #[test]
    fn an_array_has_the_bytes_that_it_reaches_over() {
        let array = Array2::<f64>::zeros((4, 6));
        assert_eq!(dense_bytes(&array), 4 * 6 * 8);
        assert_eq!(dense_bytes(&array.t()), 4 * 6 * 8);
        // Not `s![...]`: it allows unsafe code, which the crate without `machine` forbids.
        let part =
            |rows: Slice, columns: Slice| dense_bytes(&array.slice_axis(Axis(0), rows).slice_axis(Axis(1), columns));
        assert_eq!(part((1..3).into(), (2..4).into()), (6 + 2) * 8);
        assert_eq!(part(Slice::new(0, None, -3), Slice::new(0, None, 2)), (3 * 6 + 4 + 1) * 8);
        assert_eq!(part((..).into(), (..0).into()), 0);
        assert_eq!(dense_bytes(&arr0(1u8).broadcast((1 << 20, 3)).unwrap()), 1);
        assert_eq!(dense_bytes(&arr0(1u16)), 2);
    }

    #[test]
    fn entries_of_a_broadcast_array_are_counted_against_what_is_repeated() {
        let one = arr0(1u8);
        let vast = one.broadcast(1 << 40).unwrap();
        assert!(check_entries(&vast, 1 << 27, 8).is_ok());
        let refused = check_entries(&vast, (1 << 27) + 1, 8).unwrap_err();
        assert!(
            matches!(refused, crate::Error::TooLarge { bytes: 0x4000_0008, limit: 0x4000_0000, .. }),
            "{refused:?}"
        );
    }
}
