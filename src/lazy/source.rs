//! Tensors that a graph reads in chunks, and values that are split along an axis.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::{ArrayD, Axis, Slice, SliceInfoElem};

pub(crate) use super::node::{ErasedValue, downcast};
use super::value::{Kind, Value, with_pattern};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::ops::op;
use crate::ops::{self, slice_of};
use crate::pattern::{AnyPattern, CoordLists, Format, PartOf, Pattern, by_width};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// A tensor that is read when it is needed. The tensor may be larger than memory.
pub(crate) trait Source: Send + Sync {
    /// Returns the text for messages and plans.
    fn description(&self) -> String;

    fn shape(&self) -> &Shape;

    /// Returns the bytes that the entire tensor takes in memory.
    fn bytes(&self) -> u64;

    /// Returns an estimate of [`bytes`](Self::bytes) without reading the tensor.
    fn about(&self) -> u64 {
        self.bytes()
    }

    /// Reads the entire tensor, or a range along an axis.
    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<ErasedValue>;

    /// Reads the positions in a range of each axis.
    fn read_box(&self, ranges: &[Range<usize>]) -> Result<ErasedValue>;

    /// Returns the bytes of each bin of positions of an axis.
    fn weights(&self, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        self.weights_in(&whole(self.shape()), axis, bins)
    }

    /// Returns the bytes of each bin of positions of an axis, for the entries in a range of each axis.
    fn weights_in(&self, ranges: &[Range<usize>], axis: usize, bins: &Bins) -> Result<Vec<u64>>;

    /// Passes the entries of one partition in chunks. A chunk is a tensor of the entire shape, with the hash of each
    /// entry.
    fn read_part(&self, _: Part, _: &mut dyn FnMut(ErasedValue, Vec<u64>) -> Result<()>) -> Result<()> {
        Err(Error::Argument { operation: "scan", why: format!("{} cannot be partitioned", self.description()) })
    }

    /// Returns the path of the file or folder, if there is one.
    fn root(&self) -> Option<&Path> {
        None
    }

    /// Returns the number of entries in a range of each axis.
    fn stored_in(&self, _: &[Range<usize>]) -> Result<u64> {
        Err(Error::Argument {
            operation: "scan",
            why: format!("the entries of {} are not counted", self.description()),
        })
    }

    /// Returns the number of all entries and the sum of their hashes, if known.
    fn checks(&self) -> Option<(u64, u64)> {
        None
    }

    /// Returns the element type of the files, and the checksum of all facts that they state about the tensor. The
    /// tensor may be read as another type.
    fn fingerprint(&self) -> Option<(DType, String)> {
        None
    }

    /// Returns the tensor without its entries.
    fn none(&self) -> Result<ErasedValue> {
        Err(Error::Argument { operation: "scan", why: format!("{} has no header", self.description()) })
    }

    /// Returns the value, if it is on a device.
    fn placed(&self) -> Option<&Arc<dyn OnDevice>> {
        None
    }

    /// Repartitions the tensor to temporary files by ranges of an axis. Returns `None` if the tensor is already in such
    /// an order.
    fn partitioned(&self, request: &PartitionRequest<'_>) -> Result<Option<Box<dyn Source>>>;
}

/// A value on a device.
pub trait OnDevice: Any + Send + Sync {
    /// Returns the location of the value as text.
    fn description(&self) -> String;

    /// Returns the bytes of the value.
    fn bytes(&self) -> u64;

    /// Copies the value to memory.
    fn fetch(&self) -> Result<ErasedValue>;
}

/// A partition of the entries of a source.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Part {
    pub number: usize,
    pub of: usize,
    /// The largest number of bytes of a chunk while it is read.
    pub memory: u64,
}

/// The parameters of a repartitioning to temporary files.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))] // what reads it stands in `io`
pub(crate) struct PartitionRequest<'a> {
    /// The range of each axis whose entries are needed.
    pub(crate) within: &'a [Range<usize>],
    pub(crate) axis: usize,
    /// The bins of the axis, and the bytes of each bin.
    pub(crate) bins: &'a Bins,
    pub(crate) weights: &'a [u64],
    /// Creates the folder on the first call.
    pub(crate) folder: &'a dyn Fn() -> Result<std::path::PathBuf>,
    /// The largest number of bytes of a file in memory.
    pub(crate) bytes: u64,
}

/// Returns all positions of each axis.
pub(crate) fn whole(shape: &Shape) -> Vec<Range<usize>> {
    shape.iter().map(|&length| 0..length).collect()
}

/// Bins of equal width for the positions of an axis.
///
/// The last bin may have fewer positions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Bins {
    pub(crate) span: Range<usize>,
    pub(crate) width: usize,
}

impl Bins {
    /// Returns at most `max_bins` bins.
    pub(crate) fn new(span: Range<usize>, max_bins: usize) -> Self {
        let width = span.len().div_ceil(max_bins.max(1)).max(1);
        Bins { span, width }
    }

    pub(crate) fn count(&self) -> usize {
        self.span.len().div_ceil(self.width)
    }

    /// Returns the bin of a position, if there is one.
    pub(crate) fn of(&self, position: usize) -> Option<usize> {
        self.span.contains(&position).then(|| (position - self.span.start) / self.width)
    }

    pub(crate) fn range(&self, bin: usize) -> Range<usize> {
        let start = self.span.start + bin * self.width;
        start..self.span.end.min(start.saturating_add(self.width))
    }

    /// Adds the weight of some positions to the one or two bins that contain these positions. The number of positions
    /// must not exceed the number of positions per bin.
    pub(crate) fn add(&self, weights: &mut [u64], positions: Range<usize>, weight: u64) {
        let Some(first) = self.of(positions.start) else { return };
        let end = self.range(first).end;
        let behind = positions.end.saturating_sub(end) as u128 * u128::from(weight) / positions.len().max(1) as u128;
        for (bin, more) in [(first, weight - behind as u64), (first + 1, behind as u64)] {
            weights.get_mut(bin).into_iter().for_each(|sum| *sum = sum.saturating_add(more));
        }
    }

    /// Returns consecutive ranges of bins. The total weight of the bins of a range is at most `max_bins`, except for a
    /// range of one bin.
    ///
    /// The first range is smaller, like the first chunk of a traversal, which does not know the size of results yet. A
    /// traversal therefore usually reads the same ranges.
    #[cfg(feature = "parquet")]
    pub(crate) fn ranges(&self, weights: &[u64], max_bins: u64) -> Vec<Range<usize>> {
        let (mut ranges, mut weight) = (Vec::<Range<usize>>::new(), 0_u64);
        for (bin, &more) in weights.iter().enumerate() {
            let positions = self.range(bin);
            weight = weight.saturating_add(more);
            let max_bins = if ranges.len() == 1 { max_bins / 4 } else { max_bins };
            match ranges.last_mut() {
                Some(last) if weight <= max_bins => last.end = positions.end,
                _ => {
                    ranges.push(positions);
                    weight = more;
                }
            }
        }
        ranges
    }
}

/// The functions on chunks along an axis, of a type of values.
#[doc(hidden)]
pub trait ByRanges: Send + Sync {
    /// Returns a range of positions along an axis.
    fn slice(&self, value: &ErasedValue, axis: usize, range: Range<usize>) -> Result<ErasedValue>;

    /// Concatenates values along an axis.
    fn join(&self, axis: usize, values: &[ErasedValue]) -> Result<ErasedValue>;

    /// Returns the number of stored elements in each bin of positions of an axis.
    fn counts(&self, value: &ErasedValue, axis: usize, bins: &Bins) -> Result<Vec<u64>>;

    /// Returns whether reductions can read the value in chunks along an axis.
    fn is_streamed(&self) -> bool {
        false
    }

    /// Returns the number of stored elements.
    fn stored(&self, value: &ErasedValue) -> usize;

    /// Returns the value as a chunk of a larger tensor, or as a separate tensor. Arrays are unchanged.
    fn part_of(&self, value: &ErasedValue, _: Option<PartOf>) -> ErasedValue {
        Arc::clone(value)
    }

    /// Releases the arrays of a value for reuse.
    fn recycle(&self, _: ErasedValue) {}

    /// Returns a value of this shape that stores only the first element, if there is one, and the pattern of that
    /// value.
    ///
    /// A dynamically typed array that has elements is unchanged. A statically typed array returns `None`.
    fn first(&self, _value: &ErasedValue, _shape: &Shape) -> Result<Option<[ErasedValue; 2]>> {
        Ok(None)
    }

    /// Returns the bytes of this pattern that do not depend on its entries.
    fn first_bytes(&self, _: &Shape) -> u128 {
        0
    }
}

/// Returns the slices that select a range along one axis.
pub(super) fn slices(shape: &Shape, axis: usize, range: Range<usize>) -> Vec<SliceInfoElem> {
    let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; shape.rank()];
    slices[axis] = slice_of(range, shape[axis], 1);
    slices
}

pub(super) struct TensorRanges<P, T>(pub(super) PhantomData<fn() -> (P, T)>);

impl<P: Pattern, T: Element> ByRanges for TensorRanges<P, T> {
    fn slice(&self, value: &ErasedValue, axis: usize, range: Range<usize>) -> Result<ErasedValue> {
        let x = downcast::<Tensor<P, T>>(value);
        Ok(Arc::new(x.slice(slices(x.shape(), axis, range))?))
    }

    fn join(&self, axis: usize, values: &[ErasedValue]) -> Result<ErasedValue> {
        let parts = values.iter().map(downcast::<Tensor<P, T>>);
        let fill = common_fill(&parts.clone().map(Tensor::sparse).collect::<Vec<_>>());
        let with_it = |part: &'_ Tensor<P, T>| match fill {
            Some(fill) if !has_unstored(&part.sparse()) => part.clone().with_fill(fill),
            _ => part.clone(),
        };
        Ok(Arc::new(ops::concat(axis, &parts.map(with_it).collect::<Vec<_>>())?))
    }

    fn is_streamed(&self) -> bool {
        true
    }

    fn counts(&self, value: &ErasedValue, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        counts(downcast::<Tensor<P, T>>(value).pattern().any(), axis, bins)
    }

    fn stored(&self, value: &ErasedValue) -> usize {
        downcast::<Tensor<P, T>>(value).nnz()
    }

    fn part_of(&self, value: &ErasedValue, whole: Option<PartOf>) -> ErasedValue {
        with_pattern(downcast::<Tensor<P, T>>(value), |pattern| {
            pattern.clone().with_part_of(whole.map(|whole| Arc::new(whole.merged_with(pattern.part_of()))))
        })
    }

    fn recycle(&self, value: ErasedValue) {
        if let Some(Ok(value)) = value.downcast::<Tensor<P, T>>().ok().map(Arc::try_unwrap) {
            value.recycle();
        }
    }

    fn first(&self, value: &ErasedValue, shape: &Shape) -> Result<Option<[ErasedValue; 2]>> {
        let x = downcast::<Tensor<P, T>>(value);
        let pattern = P::from_any(first_of(x.pattern().any(), shape)?)?;
        let values = x.shared_values().slice(0..pattern.nnz());
        let first = Tensor::from_shared(pattern.clone(), values, x.fill());
        Ok(Some([Arc::new(first), Arc::new(pattern)]))
    }

    fn first_bytes(&self, shape: &Shape) -> u128 {
        offset_bytes(P::FORMAT, shape)
    }
}

/// Returns the pattern of the first entry in this shape, or an empty pattern for a pattern without entries.
fn first_of(pattern: &AnyPattern, shape: &Shape) -> Result<AnyPattern> {
    let (first, mut coords) = (pattern.coords_of(0), CoordLists::new(pattern.shape().rank(), pattern.width()));
    first.iter().try_for_each(|at| coords.push_all(at))?;
    let (count, coords) = (usize::from(first.is_some()), coords.into_coords());
    // The caller compared the bytes of this pattern with its limit.
    AnyPattern::from_coords(pattern.format(), shape.clone(), count, pattern.width(), coords, u64::MAX)
}

/// Returns the bytes of the offsets of a pattern.
fn offset_bytes(format: Format, shape: &Shape) -> u128 {
    let lanes = || shape.iter().rev().skip(1).fold(1, |lanes: u128, &length| lanes.saturating_mul(length as u128));
    if format == Format::Csr { lanes().saturating_mul(size_of::<usize>() as u128) } else { 0 }
}

/// Returns the fill of chunks of one tensor. A chunk that stores every position does not determine the fill.
fn common_fill<T: Element>(parts: &[SparseRef<'_, T>]) -> Option<T> {
    parts.iter().find(|part| has_unstored(part)).map(SparseRef::fill)
}

/// Returns whether there are unstored positions.
fn has_unstored<T: Element>(part: &SparseRef<'_, T>) -> bool {
    part.shape().wide_size() > part.nnz() as u128
}

/// Returns the number of entries in each bin of positions of an axis.
pub(super) fn counts(pattern: &AnyPattern, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
    let mut counts: Vec<u64> = alloc::zeros(bins.count())?;
    by_width!(&pattern.axis(axis)?, own => {
        own.iter().filter_map(|coord| bins.of(coord.to_usize())).for_each(|bin| counts[bin] += 1);
    });
    Ok(counts)
}

/// Returns the number of elements of an array in each bin of positions of an axis.
pub(super) fn counts_of_all(lengths: &[usize], axis: usize, bins: &Bins) -> Vec<u64> {
    let others = lengths.iter().enumerate().filter(|(at, _)| *at != axis);
    let each: usize = others.map(|(_, length)| length).product();
    (0..bins.count()).map(|bin| (bins.range(bin).len() * each) as u64).collect()
}

pub(super) struct ArrayRanges<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Element> ByRanges for ArrayRanges<T> {
    fn slice(&self, value: &ErasedValue, axis: usize, range: Range<usize>) -> Result<ErasedValue> {
        let view = downcast::<ArrayD<T>>(value).slice_axis(Axis(axis), Slice::from(range));
        Ok(Arc::new(view.to_owned()))
    }

    fn join(&self, axis: usize, values: &[ErasedValue]) -> Result<ErasedValue> {
        let views: Vec<_> = values.iter().map(|value| downcast::<ArrayD<T>>(value).view()).collect();
        let rejection =
            |error: ndarray::ShapeError| Error::Argument { operation: op::concat.name, why: error.to_string() };
        Ok(Arc::new(ndarray::concatenate(Axis(axis), &views).map_err(rejection)?))
    }

    fn counts(&self, value: &ErasedValue, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        Ok(counts_of_all(downcast::<ArrayD<T>>(value).shape(), axis, bins))
    }

    fn stored(&self, value: &ErasedValue) -> usize {
        downcast::<ArrayD<T>>(value).len()
    }
}

/// Two results of one operation, which are split in the same way.
pub(super) struct PairRanges<A, B>(pub(super) PhantomData<fn() -> (A, B)>);

impl<A: Value, B: Value> PairRanges<A, B> {
    /// Returns the pair of the results of `of` on the left values and on the right values.
    fn both(
        values: &[ErasedValue],
        of: impl Fn(&dyn ByRanges, &[ErasedValue]) -> Result<ErasedValue>,
    ) -> Result<ErasedValue> {
        let whole = || Error::Argument { operation: "cut", why: "one of several results cannot be split".into() };
        let of_part = |number: usize, kind: &dyn Kind| {
            let parts: Vec<ErasedValue> = values.iter().map(|value| <(A, B)>::KIND.part(value, number)).collect();
            of(kind.by_ranges().ok_or_else(whole)?, &parts)
        };
        let (left, right) = (of_part(0, A::KIND)?, of_part(1, B::KIND)?);
        Ok(Arc::new((downcast::<A>(&left).clone(), downcast::<B>(&right).clone())))
    }
}

impl<A: Value, B: Value> ByRanges for PairRanges<A, B> {
    fn slice(&self, value: &ErasedValue, axis: usize, range: Range<usize>) -> Result<ErasedValue> {
        Self::both(std::slice::from_ref(value), |kind, values| kind.slice(&values[0], axis, range.clone()))
    }

    fn join(&self, axis: usize, values: &[ErasedValue]) -> Result<ErasedValue> {
        Self::both(values, |kind, values| kind.join(axis, values))
    }

    fn counts(&self, value: &ErasedValue, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let left = <(A, B)>::KIND.part(value, 0);
        A::KIND.by_ranges().map_or(Ok(Vec::new()), |kind| kind.counts(&left, axis, bins))
    }

    fn stored(&self, value: &ErasedValue) -> usize {
        A::KIND.by_ranges().map_or(0, |kind| kind.stored(&<(A, B)>::KIND.part(value, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_added_to_the_bins_that_positions_are_in() {
        let (bins, mut weights) = (Bins { span: 0..10, width: 4 }, [0; 3]);
        bins.add(&mut weights, 4..8, 5);
        bins.add(&mut weights, 3..7, 8);
        bins.add(&mut weights, 7..10, 9);
        bins.add(&mut weights, 12..14, 100);
        bins.add(&mut weights, 9..9, u64::MAX);
        assert_eq!(weights, [2, 14, u64::MAX]);
    }
}
