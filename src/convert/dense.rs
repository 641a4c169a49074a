//! Conversions to and from dense arrays: `ndarray` arrays and views of any rank and layout.

use std::borrow::Cow;

use ndarray::{
    ArrayBase, ArrayD, ArrayView, ArrayViewD, ArrayViewMut, Axis, Data, Dimension, Ix1, Ix2, Ix3, IxDyn, RawData, Slice,
};

use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::{Index, Width, check_axes};
use crate::base::limit::{default_limit, filled, guard};
use crate::base::shape::{Shape, ravel, step};
use crate::element::Element;
use crate::kernels::lanes::accumulate;
use crate::pattern::{AnyPattern, AxisCoords, CooPattern, CoordLists, CsrPattern, Pattern, zero_offsets};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;
use crate::tensor::erased::{Erased, SparseRef};

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns the dense array: the stored values, and the fill elsewhere.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: the array needs more bytes than the larger of 1 GiB and 16 times the bytes of this tensor;
    /// - `TooLarge`: `ndarray` does not support the shape;
    /// - `OutOfMemory`: the allocation fails.
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
    #[doc(alias = "toarray")]
    #[doc(alias = "todense")]
    pub fn to_dense(&self) -> Result<ArrayD<T>> {
        self.to_dense_with_limit(default_limit(self.stored_bytes()))
    }

    /// Returns the dense array, with a memory limit in bytes.
    ///
    /// This method returns the same result as [`to_dense`](Tensor::to_dense), but accepts another limit.
    ///
    /// # Errors
    ///
    /// - `TooLarge`: the array needs more than `limit` bytes, or `ndarray` does not support the shape;
    /// - `OutOfMemory`: the allocation fails.
    pub fn to_dense_with_limit(&self, limit: u64) -> Result<ArrayD<T>> {
        self.sparse().to_dense(limit)
    }
}

impl<T: Element> SparseRef<'_, T> {
    /// Returns the dense array, of at most `limit` bytes.
    pub(crate) fn to_dense(self, limit: u64) -> Result<ArrayD<T>> {
        let shape = self.shape();
        let instead = "use the sparse tensor, or raise the limit";
        guard::<T>("the dense array", shape.wide_size(), limit, instead)?;
        check_ndarray_shape(shape)?;
        let mut items = filled("the dense array", self.fill(), shape.wide_size(), limit, instead)?;
        self.for_each_entry(|coords, value| items[ravel(coords, shape)] = value);
        Ok(dense_array(shape, items))
    }
}

/// Rejects a shape that `ndarray` does not support: the product of its nonzero lengths must fit in `isize`.
pub(crate) fn check_ndarray_shape(shape: &Shape) -> Result<()> {
    let positive: Shape = shape.iter().copied().filter(|&length| length > 0).collect();
    let instead = "ndarray does not support such axes; use the sparse tensor";
    guard::<u8>("the strides of the dense array", positive.wide_size(), isize::MAX as u64, instead)
}

/// Rejects a dense result whose shape `ndarray` does not support, or that is far larger than the input.
pub(crate) fn check_result<T>(shape: &Shape, input_bytes: usize) -> Result<()> {
    check_ndarray_shape(shape)?;
    guard::<T>("the dense result", shape.wide_size(), default_limit(input_bytes), "compute in chunks")
}

/// Returns the array of row-major `items`, one per position of `shape`, which has passed [`check_ndarray_shape`].
pub(crate) fn dense_array<T>(shape: &Shape, items: Vec<T>) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(shape), items).expect("the number of items is the number of positions")
}

/// Returns the elements of an array in row-major order. An array in another layout is copied.
pub(crate) fn elements_of<T: Copy, D: Dimension>(x: &ArrayBase<impl Data<Elem = T>, D>) -> Allocated<Cow<'_, [T]>> {
    x.as_slice().map_or_else(|| copied(&x.view()).map(Cow::Owned), |elements| Ok(Cow::Borrowed(elements)))
}

/// Copies the elements of an array in row-major order.
///
/// Axes that are one run in memory are merged. Up to rank 3, the rows are then copied with a rank that the compiler
/// knows: an iterator over elements of any rank takes some 25 ns per element.
pub(crate) fn copied<T: Copy, D: Dimension>(x: &ArrayView<'_, T, D>) -> Allocated<Vec<T>> {
    let Some(&first) = x.first() else { return Ok(Vec::new()) };
    let mut elements = alloc::copies(first, x.len())?;
    let x = merged(x.view().into_dyn());
    match x.ndim() {
        0 | 1 => copy_as::<Ix1, T>(x, &mut elements),
        2 => copy_as::<Ix2, T>(x, &mut elements),
        3 => copy_as::<Ix3, T>(x, &mut elements),
        _ => copy_as::<IxDyn, T>(x, &mut elements),
    }
    Ok(elements)
}

/// Merges the axes of an array that are one run in memory, without a change of the row-major order.
fn merged<T>(mut x: ArrayViewD<'_, T>) -> ArrayViewD<'_, T> {
    for axis in (0..x.ndim()).rev() {
        let is_gone = x.ndim() > 1
            && (x.len_of(Axis(axis)) == 1 || axis + 1 < x.ndim() && x.merge_axes(Axis(axis), Axis(axis + 1)));
        if is_gone {
            x.index_axis_inplace(Axis(axis), 0);
        }
    }
    x
}

/// Copies the elements of an array of rank `D`.
fn copy_as<D: Dimension, T: Copy>(x: ArrayViewD<'_, T>, elements: &mut [T]) {
    let x = if x.ndim() == 0 { x.insert_axis(Axis(0)) } else { x };
    let x = x.into_dimensionality::<D>().expect("an array of this rank");
    let mut target = ArrayViewMut::from_shape(x.raw_dim(), elements).expect("one element for each position");
    target.assign(&x);
}

/// Returns the number of bytes that an array occupies in memory. The repeated elements of a broadcast array count once.
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

/// Returns a view in which each of `axes` has length 1 if its elements are repeated.
pub(crate) fn once_on_each<T, D: Dimension>(
    mut view: ArrayView<'_, T, D>,
    axes: impl IntoIterator<Item = usize>,
) -> ArrayView<'_, T, D> {
    for axis in axes {
        if view.strides()[axis] == 0 && view.len_of(Axis(axis)) > 1 {
            view.slice_axis_inplace(Axis(axis), Slice::from(..1));
        }
    }
    view
}

/// Returns the number of elements of `dense` that differ from `fill`; repeated elements of a broadcast array are read
/// once.
///
/// Returns an error if the entries need far more memory than the array. An entry needs its value and `index_bytes`.
fn count_stored<S, D>(dense: &ArrayBase<S, D>, fill: S::Elem, index_bytes: usize) -> Result<usize>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    let once = once_on_each(dense.view(), 0..dense.ndim());
    let repeats = dense.len().checked_div(once.len()).unwrap_or(0);
    let stored = once.iter().filter(|value| !value.same(fill)).count() * repeats;
    let bytes = stored as u128 * (index_bytes + size_of::<S::Elem>()) as u128;
    let instead = "convert the array before broadcasting, or in chunks";
    guard::<u8>("the stored entries", bytes, default_limit(dense_bytes(dense)), instead)?;
    Ok(stored)
}

/// Returns the coordinates and values of the positions of `dense` that differ from `fill`.
fn scan<S, D>(dense: &ArrayBase<S, D>, fill: S::Elem, width: Width) -> Result<Erased<S::Elem>>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    let lengths = dense.shape();
    let stored = count_stored(dense, fill, lengths.len() * width.bytes())?;
    let mut coords = CoordLists::with_capacity(lengths.len(), width, stored)?;
    let mut values = alloc::with_capacity(stored)?;
    let mut position = vec![0; lengths.len()];
    for &value in dense.iter().take(if stored > 0 { dense.len() } else { 0 }) {
        if !value.same(fill) {
            coords.push_all(&position)?;
            values.push(value);
        }
        step(&mut position, lengths);
    }
    let pattern = AnyPattern::valid_coo(lengths.into(), values.len(), width, coords.into_coords());
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// Returns the entries of the positions of `dense` that differ from `fill`, by lanes.
fn scan_lanes<S, D>(dense: &ArrayBase<S, D>, fill: S::Elem, width: Width) -> Result<Erased<S::Elem>>
where
    S: Data<Elem: Element>,
    D: Dimension,
{
    let shape = Shape::from(dense.shape());
    let length = shape.columns().max(1);
    let stored = count_stored(dense, fill, size_of::<usize>() + width.bytes())?;
    let mut offsets = zero_offsets(&shape, default_limit(dense_bytes(dense)))?;
    let mut columns = CoordLists::with_capacity(1, width, stored)?;
    let mut values = alloc::with_capacity(stored)?;
    let elements = dense.iter().take(if stored > 0 { dense.len() } else { 0 });
    for (position, &value) in elements.enumerate().filter(|(_, value)| !value.same(fill)) {
        offsets[position / length + 1] += 1;
        columns.push(0, position % length)?;
        values.push(value);
    }
    accumulate(&mut offsets);
    let columns = columns.into_coords().pop().unwrap_or_else(|| AxisCoords::empty(width));
    Ok(Tensor::from_valid(AnyPattern::valid_csr(shape, offsets.into(), columns), values, fill))
}

impl<T: Element> Tensor<CooPattern<u32>, T> {
    /// Converts a dense array or view of any layout to coordinate format.
    ///
    /// Elements that are the same as `fill` are not stored.
    ///
    /// The comparison distinguishes `-0.0` from `0.0`, and treats all NaNs as the same value. `to_dense` therefore
    /// restores every bit of the array, except the payload of NaNs if `fill` is NaN.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `u32`;
    /// - `TooLarge`: the entries need more memory than the larger of 1 GiB and 16 times the memory of the array. This
    ///   can happen for a broadcast view;
    /// - `OutOfMemory`: an allocation fails.
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
    #[doc(alias = "from_numpy")]
    #[doc(alias = "to_sparse")]
    pub fn from_dense<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        Self::from_dense_with_index(dense, fill)
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Converts a dense array to coordinate format with coordinates of type `I`.
    ///
    /// The constructor is [`from_dense`](Tensor::from_dense) for any index type.
    ///
    /// # Errors
    ///
    /// The errors of [`from_dense`](Tensor::from_dense), with `I` instead of `u32`.
    pub fn from_dense_with_index<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let shape = Shape::from(dense.shape());
        check_axes::<I>(&shape)?;
        Tensor::from_erased(scan(dense, fill, I::WIDTH)?)
    }
}

impl<T: Element> Tensor<CsrPattern<u32>, T> {
    /// Converts a dense array or view of any layout to compressed format.
    ///
    /// Elements that are the same as `fill` are not stored.
    ///
    /// # Errors
    ///
    /// - `AxisTooLong`: an axis is too long for `u32`;
    /// - `TooLarge`: the entries or the offsets need more memory than the larger of 1 GiB and 16 times the memory of
    ///   the array. The entries can exceed this limit for a broadcast view, and the offsets for an array without
    ///   columns;
    /// - `OutOfMemory`: an allocation fails.
    #[doc(alias = "from_numpy")]
    #[doc(alias = "to_sparse")]
    pub fn from_dense<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        Self::from_dense_with_index(dense, fill)
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Converts a dense array to compressed format with columns of type `I`.
    ///
    /// The constructor is [`from_dense`](Tensor::from_dense) for any index type.
    ///
    /// # Errors
    ///
    /// The errors of [`from_dense`](Tensor::from_dense), with `I` instead of `u32`.
    pub fn from_dense_with_index<S, D>(dense: &ArrayBase<S, D>, fill: T) -> Result<Self>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        let shape = Shape::from(dense.shape());
        check_axes::<I>(&shape)?;
        Tensor::from_erased(scan_lanes(dense, fill, I::WIDTH)?)
    }
}

impl<T: Element, I: Index, S: Data<Elem = T>, D: Dimension> TryFrom<&ArrayBase<S, D>> for CooTensor<T, I> {
    type Error = crate::Error;

    /// Converts the array to coordinate format, with a fill of zero.
    fn try_from(dense: &ArrayBase<S, D>) -> Result<Self> {
        Self::from_dense_with_index(dense, T::ZERO)
    }
}

impl<T: Element, I: Index, S: Data<Elem = T>, D: Dimension> TryFrom<&ArrayBase<S, D>> for CsrTensor<T, I> {
    type Error = crate::Error;

    /// Converts the array to compressed format, with a fill of zero.
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
    use ndarray::{Array2, arr0};

    #[test]
    fn an_array_has_the_bytes_that_it_reaches_over() {
        let array = Array2::<f64>::zeros((4, 6));
        assert_eq!(dense_bytes(&array), 4 * 6 * 8);
        assert_eq!(dense_bytes(&array.t()), 4 * 6 * 8);
        // `s![...]` is avoided: it allows unsafe code, which the crate without `machine` forbids.
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
        assert_eq!(count_stored(&one.broadcast(1 << 27).unwrap(), 0, 7).unwrap(), 1 << 27);
        let rejection = count_stored(&one.broadcast((1 << 27) + 1).unwrap(), 0, 7).unwrap_err();
        assert!(
            matches!(rejection, crate::Error::TooLarge { bytes: 0x4000_0008, limit: 0x4000_0000, .. }),
            "{rejection:?}"
        );
    }

    /// The limit must be compared with the exact number of entries. Memory that is reserved before the entries are
    /// counted would exceed the limit too early.
    #[test]
    fn entries_are_counted_and_not_guessed() {
        let array = Array2::<u8>::from_elem((4, 250), 1);
        let each = (1 << 30) / 1000;
        assert_eq!(count_stored(&array, 0, each - 1).unwrap(), 1000);
        assert!(count_stored(&array, 0, each).is_err());
        assert_eq!(count_stored(&array.broadcast((1000, 4, 250)).unwrap(), 1, each).unwrap(), 0);
    }
    #[test]
    fn arrays_of_any_layout_are_copied_in_row_major_order() {
        let shape = [2usize, 3, 1, 4, 2, 3];
        for rank in 0..=shape.len() {
            let count = shape[..rank].iter().product::<usize>() as u32;
            let array = ArrayD::from_shape_vec(IxDyn(&shape[..rank]), (0..count).collect()).unwrap();
            let check =
                |x: ArrayViewD<'_, u32>| assert_eq!(copied(&x), Ok(x.iter().copied().collect()), "{:?}", x.dim());
            check(array.view());
            check(array.t());
            check(array.broadcast([&[5], &shape[..rank]].concat()).unwrap());
            for axis in (0..rank).map(Axis) {
                let mut moved = array.view();
                moved.invert_axis(axis);
                check(moved.view());
                moved.swap_axes(axis.index(), 0);
                check(moved.view());
                check(moved.slice_axis(Axis(0), Slice::new(0, None, 2)));
                check(moved.slice_axis(Axis(0), Slice::from(..0)));
                check(array.slice_axis(axis, Slice::from(1..)));
            }
        }
    }
}
