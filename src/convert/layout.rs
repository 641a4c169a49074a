//! Permutations of the axes and reshapes.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width, check_axes};
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, saturating_product};
use crate::element::Element;
use crate::pattern::{AnyPattern, AxisCoords, CooPattern, CsrPattern, Format, Pattern, by_slices, of_width};
use crate::plan::row_major::row_major;
use crate::tensor::Tensor;
use crate::tensor::csr::CsrTensor;
use crate::tensor::erased::{Erased, SparseRef};

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// Returns the tensor with its axes in another order.
    ///
    /// Axis `k` of the result is axis `axes[k]` of this tensor.
    ///
    /// The result has all entries and the same fill. Coordinates and values are shared if the entries stay in order.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of axes differs from the rank;
    /// - `AxisOutOfRange`: an axis is out of range. Negative axes count from the end;
    /// - `AxisRepeated`: an axis occurs twice;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Complexity
    ///
    /// O(nnz · (rank + log nnz)), where *nnz* is the number of stored entries. The logarithm is absent if the entries
    /// stay in order, for example if only axes of length 1 move.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![5, 6], 0)?;
    /// let transposed = x.permute_axes([1, 0])?;
    /// assert_eq!(transposed.entries(), [(vec![0, 1], 6), (vec![2, 0], 5)]);
    /// assert_eq!(transposed.to_dense()?, x.to_dense()?.reversed_axes());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "transpose")]
    #[doc(alias = "permute")]
    #[doc(alias = "swapaxes")]
    #[doc(alias = "moveaxis")]
    #[doc(alias = "reversed_axes")]
    pub fn permute_axes(&self, axes: impl AsRef<[isize]>) -> Result<Self> {
        let axes = permutation(axes.as_ref(), self.rank())?;
        Tensor::from_erased(permuted(self.pattern().any().arrays(), self.sparse(), &axes)?)
    }

    /// Returns the tensor reshaped in row-major order, like `numpy.reshape`.
    ///
    /// The new shape must have the same number of positions.
    ///
    /// Unchanged axes share their coordinate arrays, so adding or removing an axis of length 1 does not copy
    /// coordinates. The number of positions may exceed every integer type.
    ///
    /// # Errors
    ///
    /// - `ReshapeSize`: the numbers of positions differ;
    /// - `AxisTooLong`: an axis of the new shape is too long for `I`;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank), where *nnz* is the number of stored entries. The entries are not sorted.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![5, 6], 0)?;
    /// let y = x.reshape([3, 2])?;
    /// assert_eq!(y.entries(), [(vec![1, 0], 5), (vec![1, 1], 6)]);
    /// assert_eq!(y.to_dense()?, x.to_dense()?.into_shape_with_order(vec![3, 2]).unwrap());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "view")]
    #[doc(alias = "resize")]
    #[doc(alias = "flatten")]
    #[doc(alias = "ravel")]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        check_axes::<I>(&shape)?;
        let pattern = CooPattern::from_any(self.pattern().any().reshape(shape)?)?;
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }
}

/// Returns a coordinate tensor with its axes in another order; `coords` are the coordinates of `x` on each axis.
fn permuted<T: Element>(coords: &[AxisCoords], x: SparseRef<'_, T>, axes: &[usize]) -> Result<Erased<T>> {
    let shape: Shape = axes.iter().map(|&axis| x.shape()[axis]).collect();
    let coords: Vec<AxisCoords> = axes.iter().map(|&axis| coords[axis].clone()).collect();
    // Entries that agree on all other axes are already in order on the last `settled` axes.
    let settled = axes.windows(2).rev().take_while(|pair| pair[0] < pair[1]).count() + 1;
    let (coords, values) = match row_major(&coords, settled, T::raw(x.values()))? {
        None => (coords, x.shared_values().clone()),
        Some((coords, values)) => (coords, T::from_raw(values).into()),
    };
    let pattern = AnyPattern::valid_coo(shape, x.nnz(), x.pattern().width(), coords);
    Ok(Tensor::from_shared(pattern, values, x.fill()))
}

/// Returns a compressed tensor with its axes in another order.
fn permuted_lanes<T: Element>(x: SparseRef<'_, T>, axes: &[usize]) -> Result<Erased<T>> {
    let permuted = permuted(&x.pattern().axes()?, x, axes)?;
    let pattern = permuted.pattern().in_format(Format::Csr, default_limit(x.stored_bytes()))?;
    Ok(Tensor::from_shared(pattern, permuted.shared_values().clone(), permuted.fill()))
}

impl AnyPattern {
    /// Returns the entries of a coordinate pattern in row-major order under another shape.
    pub(crate) fn reshape(&self, shape: Shape) -> Result<Self> {
        let width = self.width().max(Width::of_lengths(&shape));
        let coords = match sections(self.shape(), &shape)? {
            Some(sections) => {
                let zeros = of_width!(width, I => AxisCoords::from(alloc::zeros::<I>(self.nnz())?));
                let coords = sections.iter().map(|section| self.reshape_section(section, &shape, &zeros));
                coords.collect::<Allocated<Vec<_>>>()?.into_iter().flatten().collect()
            }
            None => vec![AxisCoords::empty(width); shape.rank()],
        };
        Ok(AnyPattern::valid_coo(shape, self.nnz(), width, coords))
    }

    /// Returns the coordinate arrays of the new axes of one section; all axes of length 1 share the `zeros`.
    fn reshape_section(&self, section: &Section, shape: &Shape, zeros: &AxisCoords) -> Allocated<Vec<AxisCoords>> {
        let old = &self.arrays()[section.old.clone()];
        let (old_lengths, new_lengths) = (&self.shape()[section.old.clone()], &shape[section.new.clone()]);
        if old_lengths == new_lengths {
            return old.iter().map(|axis| axis.in_width(zeros.width())).collect();
        }
        let longer: Vec<usize> = new_lengths.iter().copied().filter(|&length| length > 1).collect();
        let coords = by_slices!(old, old => of_width!(zeros.width(), I => {
            let coords = positions_by_axis::<_, I>(&old, self.nnz(), old_lengths, &longer)?;
            coords.into_iter().map(AxisCoords::from).collect::<Vec<_>>()
        }));
        let mut coords = coords.into_iter();
        let axis = |&length: &usize| if length > 1 { coords.next() } else { None };
        Ok(new_lengths.iter().map(axis).map(|axis| axis.unwrap_or_else(|| zeros.clone())).collect())
    }
}

/// Returns the coordinates of entries on the axes of one section, from the coordinates on the old axes.
fn positions_by_axis<I: Index, J: Index>(
    old: &[&[I]],
    count: usize,
    old_lengths: &[usize],
    lengths: &[usize],
) -> Allocated<Vec<Vec<J>>> {
    let mut coords = lengths.iter().map(|_| alloc::with_capacity(count)).collect::<Allocated<Vec<Vec<J>>>>()?;
    let is_wide = saturating_product(old_lengths) == u128::MAX;
    for entry in 0..count {
        let digits = old.iter().zip(old_lengths).map(|(axis, &length)| (length, axis[entry].to_usize()));
        let push = |(axis, coord): (&mut Vec<J>, usize)| axis.push(J::from_usize(coord));
        let lengths = lengths.iter().rev();
        if is_wide {
            let mut position = BigInteger::default();
            digits.for_each(|(length, coord)| position.multiply_add(length, coord));
            coords.iter_mut().rev().zip(lengths.map(|&length| position.divide(length))).for_each(push);
        } else {
            let mut position = digits.fold(0, |position, (length, coord)| position * length as u128 + coord as u128);
            let mut divide = |&length: &usize| {
                let coord = (position % length as u128) as usize;
                position /= length as u128;
                coord
            };
            coords.iter_mut().rev().zip(lengths.map(&mut divide)).for_each(push);
        }
    }
    Ok(coords)
}

/// Adjacent axes of the old shape, and adjacent axes of the new shape with the same number of positions.
struct Section {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the shortest sections of the two shapes, front to back, or `None` if neither shape has a position.
fn sections(old: &Shape, new: &Shape) -> Result<Option<Vec<Section>>> {
    let unequal = || Error::ReshapeSize { from: old.clone(), to: new.clone() };
    if old.is_empty_space() || new.is_empty_space() {
        return if old.is_empty_space() && new.is_empty_space() { Ok(None) } else { Err(unequal()) };
    }
    let mut sections = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.rank() || j < new.rank() {
        let (old_start, new_start) = (i, j);
        let (old_is_unit, new_is_unit) = (old.get(i) == Some(&1), new.get(j) == Some(&1));
        if old_is_unit || new_is_unit {
            i += usize::from(old_is_unit);
            j += usize::from(new_is_unit);
            sections.push(Section { old: old_start..i, new: new_start..j });
            continue;
        }
        let (mut old_size, mut new_size) = (BigInteger::one(), BigInteger::one());
        old_size.take_axis(old, &mut i);
        new_size.take_axis(new, &mut j);
        while old_size != new_size {
            if old_size < new_size && i < old.rank() {
                old_size.take_axis(old, &mut i);
            } else if new_size < old_size && j < new.rank() {
                new_size.take_axis(new, &mut j);
            } else {
                return Err(unequal());
            }
        }
        sections.push(Section { old: old_start..i, new: new_start..j });
    }
    Ok(Some(sections))
}

/// An integer of any width: its digits to base 2^64, lowest first, without leading zeros. The number of positions of
/// long axes can exceed `u128`.
#[derive(Default, PartialEq, Eq)]
struct BigInteger(Vec<u64>);

impl BigInteger {
    fn one() -> Self {
        BigInteger(vec![1])
    }

    fn multiply_add(&mut self, factor: usize, addend: usize) {
        let mut carry = addend as u128;
        for digit in &mut self.0 {
            let product = u128::from(*digit) * factor as u128 + carry;
            (*digit, carry) = (product as u64, product >> 64);
        }
        if carry > 0 {
            self.0.push(carry as u64);
        }
    }

    /// Divides by `divisor` and returns the remainder.
    fn divide(&mut self, divisor: usize) -> usize {
        let mut rest = 0;
        for digit in self.0.iter_mut().rev() {
            let dividend = rest << 64 | u128::from(*digit);
            (*digit, rest) = ((dividend / divisor as u128) as u64, dividend % divisor as u128);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        rest as usize
    }

    /// Multiplies by the next length, if there is one.
    fn take_axis(&mut self, shape: &Shape, next: &mut usize) {
        if let Some(&length) = shape.get(*next) {
            *next += 1;
            self.multiply_add(length, 0);
        }
    }
}

impl PartialOrd for BigInteger {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let digits = |number: &Self| (number.0.len(), number.0.iter().rev().copied().collect::<Vec<_>>());
        Some(digits(self).cmp(&digits(other)))
    }
}

/// Returns the axes as a permutation of `0..rank`.
pub(crate) fn permutation(axes: &[isize], rank: usize) -> Result<Vec<usize>> {
    if axes.len() != rank {
        return Err(Error::RankMismatch { what: "the list of axes", expected: rank, found: axes.len() });
    }
    let mut seen = vec![false; rank];
    axes.iter()
        .map(|&axis| {
            let axis = normalize_axis(axis, rank)?;
            if std::mem::replace(&mut seen[axis], true) { Err(Error::AxisRepeated { axis, rank }) } else { Ok(axis) }
        })
        .collect()
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// Returns the tensor with its axes in another order.
    ///
    /// Axis `k` of the result is axis `axes[k]` of this tensor.
    ///
    /// lacuna converts the tensor to coordinate format and back. The result has all entries.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of axes differs from the rank;
    /// - `AxisOutOfRange`: an axis is out of range. Negative axes count from the end;
    /// - `AxisRepeated`: an axis occurs twice;
    /// - `TooLarge`: the new offsets need more than the larger of 1 GiB and 16 times the bytes of this tensor;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let x = CsrTensor::new([2, 3], vec![0, 1, 2], vec![2, 0], vec![5, 6], 0)?;
    /// let transposed = x.permute_axes([1, 0])?;
    /// assert_eq!(transposed.offsets(), [0, 1, 1, 2]);
    /// assert_eq!(transposed.to_dense()?, x.to_dense()?.reversed_axes());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "transpose")]
    #[doc(alias = "permute")]
    #[doc(alias = "swapaxes")]
    #[doc(alias = "moveaxis")]
    #[doc(alias = "reversed_axes")]
    pub fn permute_axes(&self, axes: impl AsRef<[isize]>) -> Result<Self> {
        let axes = permutation(axes.as_ref(), self.rank())?;
        if axes.is_sorted() {
            return Ok(self.clone());
        }
        Tensor::from_erased(permuted_lanes(self.sparse(), &axes)?)
    }

    /// Returns the tensor reshaped in row-major order, like `numpy.reshape`.
    ///
    /// The new shape must have the same number of positions.
    ///
    /// If the last axis keeps its length, offsets and columns are shared.
    ///
    /// # Errors
    ///
    /// - `ReshapeSize`: the numbers of positions differ;
    /// - `AxisTooLong`: an axis of the new shape is too long for `I`;
    /// - `TooLarge`: the new offsets need more than the larger of 1 GiB and 16 times the bytes of this tensor;
    /// - `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let batched = CsrTensor::new([2, 2, 3], vec![0, 1, 1, 2, 2], vec![2, 0], vec![5, 6], 0)?;
    /// let flat = batched.reshape([4, 3])?;
    /// assert!(std::ptr::eq(flat.columns(), batched.columns()));
    /// assert_eq!(flat.to_dense()?, batched.to_dense()?.into_shape_with_order(vec![4, 3]).unwrap());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "view")]
    #[doc(alias = "resize")]
    #[doc(alias = "flatten")]
    #[doc(alias = "ravel")]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<CsrTensor<T, I>> {
        self.reshape_with_limit(shape, default_limit(self.stored_bytes()))
    }

    /// Returns the tensor reshaped in row-major order, with a memory limit in bytes.
    ///
    /// This method returns the same result as [`reshape`](Tensor::reshape), but accepts another limit for the new
    /// offsets.
    ///
    /// # Errors
    ///
    /// The errors of [`reshape`](Tensor::reshape), with `limit` as the limit.
    pub fn reshape_with_limit(&self, shape: impl Into<Shape>, limit: u64) -> Result<CsrTensor<T, I>> {
        let shape = shape.into();
        let same_lanes = saturating_product(shape.lane_axes()) == self.lanes() as u128;
        check_axes::<I>(&shape)?;
        let pattern = match self.pattern().any().lanes() {
            Some((offsets, columns)) if same_lanes && shape.columns() == self.shape().columns() => {
                AnyPattern::valid_csr(shape, offsets.clone(), columns.clone())
            }
            _ => self.pattern().any().to_coo()?.reshape(shape)?.in_format(Format::Csr, limit)?,
        };
        let pattern = CsrPattern::from_any(pattern)?;
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }
}
