//! Another order or another grouping of the axes: permutations and reshapes.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::normalize_axis;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, check_axes};
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, saturating_product};
use crate::element::Element;
use crate::kernels::sort;
use crate::pattern::{CooPattern, CsrPattern, Pattern, coords_as_slices};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// The tensor with its axes in another order: axis `k` of the result is axis `axes[k]` of this one.
    ///
    /// Every entry is kept, and so is the fill. Coordinates and values are shared where the entries need no sorting.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: there are not as many axes as the rank;
    /// - `AxisOutOfRange`, `AxisRepeated`: they are no permutation. Negative axes count from the end.
    ///
    /// # Complexity
    ///
    /// O(nnz · (rank + log nnz)); O(nnz · rank) where the entries stay in order, as they do when only axes of length 1
    /// move.
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
        let shape: Shape = axes.iter().map(|&axis| self.shape()[axis]).collect();
        let coords: Vec<_> = axes.iter().map(|&axis| self.pattern().shared_coords()[axis].clone()).collect();
        // Entries that agree on the other axes have these in order, as they have here.
        let settled = axes.windows(2).rev().take_while(|pair| pair[0] < pair[1]).count() + 1;
        let sorted = sort::row_major(&coords_as_slices(&coords), settled, self.values())?;
        let (coords, values) = match sorted {
            None => (coords, self.shared_values().clone()),
            Some((coords, values)) => (coords.into_iter().map(Buffer::from).collect(), values.into()),
        };
        let pattern = CooPattern::from_valid(shape, self.nnz(), coords);
        Ok(Tensor::from_shared(pattern, values, self.fill()))
    }

    /// The tensor with the same entries in row-major order under another shape of as many positions.
    ///
    /// Axes that stay as they are share their coordinate arrays, so adding or removing an axis of length 1 copies no
    /// coordinate. A tensor with more positions than any integer type can count may be reshaped like any other.
    ///
    /// # Errors
    ///
    /// - `ReshapeSize`: the numbers of positions differ;
    /// - `AxisTooLong`: an axis of the new shape does not fit `I`.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank); nothing is sorted.
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
        let pattern = self.pattern().reshape(shape.into())?;
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }
}

impl<I: Index> CooPattern<I> {
    pub(crate) fn reshape(&self, shape: Shape) -> Result<Self> {
        check_axes::<I>(&shape)?;
        let coords = match sections(self.shape(), &shape)? {
            Some(sections) => {
                let zeros = Buffer::from(alloc::zeros(self.nnz())?);
                let coords = sections.iter().map(|section| self.reshape_section(section, &shape, &zeros));
                coords.collect::<Allocated<Vec<_>>>()?.into_iter().flatten().collect()
            }
            None => vec![Buffer::default(); shape.rank()],
        };
        Ok(CooPattern::from_valid(shape, self.nnz(), coords))
    }

    /// The coordinate arrays of the new axes of one section; all axes of length 1 share the `zeros`, however many.
    fn reshape_section(&self, section: &Section, shape: &Shape, zeros: &Buffer<I>) -> Allocated<Vec<Buffer<I>>> {
        let old = &self.shared_coords()[section.old.clone()];
        if self.shape()[section.old.clone()] == shape[section.new.clone()] {
            return Ok(old.to_vec());
        }
        let (old_lengths, new_lengths) = (&self.shape()[section.old.clone()], &shape[section.new.clone()]);
        let longer: Vec<usize> = new_lengths.iter().copied().filter(|&length| length > 1).collect();
        let mut coords = longer.iter().map(|_| alloc::with_capacity(self.nnz())).collect::<Allocated<Vec<Vec<I>>>>()?;
        let is_wide = saturating_product(old_lengths) == u128::MAX;
        let old = coords_as_slices(old);
        for entry in 0..self.nnz() {
            let digits = old.iter().zip(old_lengths).map(|(axis, &length)| (length, axis[entry].to_usize()));
            let push = |(axis, coord): (&mut Vec<I>, usize)| axis.push(I::from_usize(coord));
            let lengths = longer.iter().rev();
            if is_wide {
                let mut position = Wide::default();
                digits.for_each(|(length, coord)| position.multiply_add(length, coord));
                coords.iter_mut().rev().zip(lengths.map(|&length| position.divide(length))).for_each(push);
            } else {
                let mut position =
                    digits.fold(0, |position, (length, coord)| position * length as u128 + coord as u128);
                let mut divide = |&length: &usize| {
                    let coord = (position % length as u128) as usize;
                    position /= length as u128;
                    coord
                };
                coords.iter_mut().rev().zip(lengths.map(&mut divide)).for_each(push);
            }
        }
        let mut coords = coords.into_iter().map(Buffer::from);
        let axis = |&length: &usize| if length > 1 { coords.next() } else { None };
        Ok(new_lengths.iter().map(axis).map(|axis| axis.unwrap_or_else(|| zeros.clone())).collect())
    }
}

/// Axes of the old shape and axes of the new one that hold equally many positions.
struct Section {
    old: Range<usize>,
    new: Range<usize>,
}

/// The shortest sections that the two shapes fall into, front to back; `None` where neither has a position.
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
        let (mut old_size, mut new_size) = (Wide::one(), Wide::one());
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

/// A number of any width: its digits to base 2^64, lowest first, without leading zeros. Long axes have more positions
/// together than `u128` holds.
#[derive(Default, PartialEq, Eq)]
struct Wide(Vec<u64>);

impl Wide {
    fn one() -> Self {
        Wide(vec![1])
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

    /// Divides, and gives the remainder.
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

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let digits = |number: &Self| (number.0.len(), number.0.iter().rev().copied().collect::<Vec<_>>());
        Some(digits(self).cmp(&digits(other)))
    }
}

/// The axes as a permutation of `0..rank`.
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
    /// The tensor with its axes in another order: axis `k` of the result is axis `axes[k]` of this one.
    ///
    /// Goes through the coordinate format and back; every entry is kept.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`, `AxisOutOfRange`, `AxisRepeated`: the axes are no permutation;
    /// - `TooLarge`: the new lanes need more than the larger of 1 GiB and 16 times this tensor's bytes.
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
        if permutation(axes.as_ref(), self.rank())?.is_sorted() {
            return Ok(self.clone());
        }
        let limit = default_limit(self.stored_bytes());
        let permuted: CooTensor<T, I> = self.to_coo()?.permute_axes(axes)?;
        let pattern = permuted.pattern().to_csr_with_limit(limit)?;
        Ok(Tensor::from_shared(pattern, permuted.shared_values().clone(), permuted.fill()))
    }

    /// The tensor with the same entries in row-major order under another shape of as many positions.
    ///
    /// Where the last axis stays as it is, offsets and columns are shared.
    ///
    /// # Errors
    ///
    /// - those of the coordinate format's `reshape`;
    /// - `TooLarge`: the new lanes need more than the larger of 1 GiB and 16 times this tensor's bytes.
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

    /// [`reshape`](Tensor::reshape) with a byte limit of the caller's choice for the new lanes.
    ///
    /// # Errors
    ///
    /// Those of [`reshape`](Tensor::reshape), with `limit` as the limit.
    pub fn reshape_with_limit(&self, shape: impl Into<Shape>, limit: u64) -> Result<CsrTensor<T, I>> {
        let shape = shape.into();
        let same_lanes = saturating_product(shape.lane_axes()) == self.lanes() as u128;
        let pattern = if same_lanes && shape.columns() == self.shape().columns() {
            check_axes::<I>(&shape)?;
            let (offsets, columns) = (self.pattern().shared_offsets(), self.pattern().shared_columns());
            CsrPattern::from_valid(shape, offsets.clone(), columns.clone())
        } else {
            self.pattern().to_coo()?.reshape(shape)?.to_csr_with_limit(limit)?
        };
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }
}
