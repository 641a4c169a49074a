//! What a graph begins with that is read in parts, and values cut into ranges of an axis.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::{ArrayD, Axis, Slice, SliceInfoElem};

pub(crate) use super::node::{Held, known};
use super::value::{Value, with_pattern};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::ops::{self, slice_of};
use crate::pattern::{AnyPattern, CoordLists, Format, PartOf, Pattern, by_width};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// A tensor that is read when it is needed, and may be larger than memory.
pub(crate) trait Source: Send + Sync {
    /// What is printed for it.
    fn told(&self) -> String;

    fn shape(&self) -> &Shape;

    /// The bytes that all of it takes.
    fn bytes(&self) -> u64;

    /// The same, more or less, if nothing is to be read for it.
    fn about(&self) -> u64 {
        self.bytes()
    }

    /// All of it, or a range of an axis.
    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<Held>;

    /// What stands in a range of each axis.
    fn read_box(&self, ranges: &[Range<usize>]) -> Result<Held>;

    /// The bytes of each bin of positions of an axis.
    fn weights(&self, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        self.weights_in(&whole(self.shape()), axis, bins)
    }

    /// The bytes of each bin of positions of an axis, of what stands in a range of each axis.
    fn weights_in(&self, ranges: &[Range<usize>], axis: usize, bins: &Bins) -> Result<Vec<u64>>;

    /// The entries of one of so many parts, piece by piece: a tensor of the whole shape, and the hash of each entry.
    fn share(&self, _: Part, _: &mut dyn FnMut(Held, Vec<u64>) -> Result<()>) -> Result<()> {
        Err(Error::Argument { operation: "scan", why: format!("{} is not read in parts", self.told()) })
    }

    /// The file or the folder, if it is one.
    fn root(&self) -> Option<&Path> {
        None
    }

    /// How many entries stand in a range of each axis.
    fn stored_in(&self, _: &[Range<usize>]) -> Result<u64> {
        Err(Error::Argument { operation: "scan", why: format!("the entries of {} are not counted", self.told()) })
    }

    /// The number of all entries, and the sum of their hashes, if these are known.
    fn checks(&self) -> Option<(u64, u64)> {
        None
    }

    /// The element type of the files, whatever they are read as, and the checksum of all that they say of the tensor.
    fn said(&self) -> Option<(DType, String)> {
        None
    }

    /// The tensor without its entries.
    fn none(&self) -> Result<Held> {
        Err(Error::Argument { operation: "scan", why: format!("{} has no header", self.told()) })
    }

    /// The same tensor in files by ranges of an axis; none where it lies in such an order already.
    fn dealt(&self, deal: &Deal<'_>) -> Result<Option<Box<dyn Source>>>;
}

/// One of some parts of the entries of a source.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Part {
    pub number: usize,
    pub of: usize,
    /// The bytes that a piece may take while it is read.
    pub memory: u64,
}

/// Of what, by what and where to a tensor is dealt out.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))] // what reads it stands in `io`
pub(crate) struct Deal<'a> {
    /// The box of which the entries are needed.
    pub(crate) within: &'a [Range<usize>],
    pub(crate) axis: usize,
    /// Bins of the axis, and the bytes of each.
    pub(crate) bins: &'a Bins,
    pub(crate) weights: &'a [u64],
    /// Makes the folder when it is asked for.
    pub(crate) folder: &'a dyn Fn() -> Result<std::path::PathBuf>,
    /// The bytes that a part may take in memory.
    pub(crate) bytes: u64,
}

/// All positions of each axis.
pub(crate) fn whole(shape: &Shape) -> Vec<Range<usize>> {
    shape.iter().map(|&length| 0..length).collect()
}

/// Positions of an axis in bins of one width, the last of which may have fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Bins {
    pub(crate) span: Range<usize>,
    pub(crate) width: usize,
}

impl Bins {
    /// At most so many bins.
    pub(crate) fn new(span: Range<usize>, most: usize) -> Self {
        let width = span.len().div_ceil(most.max(1)).max(1);
        Bins { span, width }
    }

    pub(crate) fn count(&self) -> usize {
        self.span.len().div_ceil(self.width)
    }

    /// The bin of a position, if it is in one.
    pub(crate) fn of(&self, position: usize) -> Option<usize> {
        self.span.contains(&position).then(|| (position - self.span.start) / self.width)
    }

    pub(crate) fn range(&self, bin: usize) -> Range<usize> {
        let start = self.span.start + bin * self.width;
        start..self.span.end.min(start.saturating_add(self.width))
    }

    /// Adds what positions weigh, which are as many as a bin has at most, to the one or two bins that they are in.
    pub(crate) fn add(&self, weights: &mut [u64], positions: Range<usize>, weight: u64) {
        let Some(first) = self.of(positions.start) else { return };
        let end = self.range(first).end;
        let behind = positions.end.saturating_sub(end) as u128 * u128::from(weight) / positions.len().max(1) as u128;
        for (bin, more) in [(first, weight - behind as u64), (first + 1, behind as u64)] {
            weights.get_mut(bin).into_iter().for_each(|sum| *sum = sum.saturating_add(more));
        }
    }

    /// Ranges that follow each other, of bins that weigh at most that together, or of one bin. The first one is smaller,
    /// as that of a walk is that has not seen a result: so a walk mostly finds its own ranges again.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code))] // what asks for it stands in `io`
    pub(crate) fn ranges(&self, weights: &[u64], most: u64) -> Vec<Range<usize>> {
        let (mut ranges, mut weight) = (Vec::<Range<usize>>::new(), 0_u64);
        for (bin, &more) in weights.iter().enumerate() {
            let positions = self.range(bin);
            weight = weight.saturating_add(more);
            let most = if ranges.len() == 1 { most / 4 } else { most };
            match ranges.last_mut() {
                Some(last) if weight <= most => last.end = positions.end,
                _ => {
                    ranges.push(positions);
                    weight = more;
                }
            }
        }
        ranges
    }
}

/// What is known of a type whose values are cut along an axis.
#[doc(hidden)]
pub trait ByRanges: Send + Sync {
    /// A range of the positions of an axis.
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held>;

    /// Values one behind the other along an axis.
    fn join(&self, axis: usize, values: &[Held]) -> Result<Held>;

    /// How many elements stand in each bin of positions of an axis.
    fn counts(&self, value: &Held, axis: usize, bins: &Bins) -> Result<Vec<u64>>;

    /// Whether reductions take it range by range.
    fn is_poured(&self) -> bool {
        false
    }

    /// How many elements it stores.
    fn stored(&self, value: &Held) -> usize;

    /// A value as a part of a whole, or as one of its own; an array is as it is.
    fn part_of(&self, value: &Held, _: Option<PartOf>) -> Held {
        Arc::clone(value)
    }

    /// Gives the arrays of a value away to be written again.
    fn spare(&self, _: Held) {}

    /// A value of this shape that stores only the first element, if there is one, and its pattern. An array with
    /// elements is unchanged; an array whose type is known has none.
    fn first(&self, value: &Held, shape: &Shape) -> Result<Option<[Held; 2]>>;

    /// The bytes that this pattern takes whatever it stores.
    fn first_bytes(&self, _: &Shape) -> u128 {
        0
    }
}

/// A range of an axis as slices.
pub(super) fn slices(shape: &Shape, axis: usize, range: Range<usize>) -> Vec<SliceInfoElem> {
    let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; shape.rank()];
    slices[axis] = slice_of(range, shape[axis], 1);
    slices
}

pub(super) struct OfTensors<P, T>(pub(super) PhantomData<fn() -> (P, T)>);

impl<P: Pattern, T: Element> ByRanges for OfTensors<P, T> {
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held> {
        let x = known::<Tensor<P, T>>(value);
        Ok(Arc::new(x.slice(slices(x.shape(), axis, range))?))
    }

    fn join(&self, axis: usize, values: &[Held]) -> Result<Held> {
        let parts = values.iter().map(known::<Tensor<P, T>>);
        let fill = common_fill(&parts.clone().map(Tensor::sparse).collect::<Vec<_>>());
        let with_it = |part: &'_ Tensor<P, T>| match fill {
            Some(fill) if !has_gaps(&part.sparse()) => part.clone().with_fill(fill),
            _ => part.clone(),
        };
        Ok(Arc::new(ops::concat(axis, &parts.map(with_it).collect::<Vec<_>>())?))
    }

    fn is_poured(&self) -> bool {
        true
    }

    fn counts(&self, value: &Held, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        counts(known::<Tensor<P, T>>(value).pattern().any(), axis, bins)
    }

    fn stored(&self, value: &Held) -> usize {
        known::<Tensor<P, T>>(value).nnz()
    }

    fn part_of(&self, value: &Held, whole: Option<PartOf>) -> Held {
        with_pattern(known::<Tensor<P, T>>(value), |pattern| {
            pattern.clone().with_part_of(whole.map(|whole| Arc::new(whole.beside(pattern.part_of()))))
        })
    }

    fn spare(&self, value: Held) {
        if let Some(Ok(value)) = value.downcast::<Tensor<P, T>>().ok().map(Arc::try_unwrap) {
            value.spare();
        }
    }

    fn first(&self, value: &Held, shape: &Shape) -> Result<Option<[Held; 2]>> {
        let x = known::<Tensor<P, T>>(value);
        let pattern = P::from_any(first_of(x.pattern().any(), shape)?)?;
        let values = x.shared_values().slice(0..pattern.nnz());
        let first = Tensor::from_shared(pattern.clone(), values, x.fill());
        Ok(Some([Arc::new(first), Arc::new(pattern)]))
    }

    fn first_bytes(&self, shape: &Shape) -> u128 {
        offset_bytes(P::FORMAT, shape)
    }
}

/// The first entry in a shape that holds it; none of a tensor without entries.
fn first_of(pattern: &AnyPattern, shape: &Shape) -> Result<AnyPattern> {
    let (first, mut coords) = (pattern.coords_of(0), CoordLists::new(pattern.shape().rank(), pattern.width()));
    first.iter().try_for_each(|at| coords.push_all(at))?;
    let (count, coords) = (usize::from(first.is_some()), coords.into_coords());
    // Whoever asks has compared the bytes of the pattern with those that it may take.
    AnyPattern::from_coords(pattern.format(), shape.clone(), count, pattern.width(), coords, u64::MAX)
}

/// The bytes of the offsets of a pattern.
fn offset_bytes(format: Format, shape: &Shape) -> u128 {
    let lanes = || shape.iter().rev().skip(1).fold(1, |lanes: u128, &length| lanes.saturating_mul(length as u128));
    if format == Format::Csr { lanes().saturating_mul(size_of::<usize>() as u128) } else { 0 }
}

/// The fill of parts of one tensor. One that stores all of its positions does not know it.
fn common_fill<T: Element>(parts: &[SparseRef<'_, T>]) -> Option<T> {
    parts.iter().find(|part| has_gaps(part)).map(SparseRef::fill)
}

/// Whether there are positions that are not stored.
fn has_gaps<T: Element>(part: &SparseRef<'_, T>) -> bool {
    part.shape().wide_size() > part.nnz() as u128
}

/// How many entries stand in each bin of positions of an axis.
pub(super) fn counts(pattern: &AnyPattern, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
    let mut counts: Vec<u64> = alloc::zeros(bins.count())?;
    by_width!(&pattern.axis(axis)?, own => {
        own.iter().filter_map(|coord| bins.of(coord.to_usize())).for_each(|bin| counts[bin] += 1);
    });
    Ok(counts)
}

/// How many elements of an array of these lengths are in each bin of positions of an axis.
pub(super) fn counts_of_all(lengths: &[usize], axis: usize, bins: &Bins) -> Vec<u64> {
    let others = lengths.iter().enumerate().filter(|(at, _)| *at != axis);
    let each: usize = others.map(|(_, length)| length).product();
    (0..bins.count()).map(|bin| (bins.range(bin).len() * each) as u64).collect()
}

pub(super) struct OfArrays<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Element> ByRanges for OfArrays<T> {
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held> {
        let view = known::<ArrayD<T>>(value).slice_axis(Axis(axis), Slice::from(range));
        Ok(Arc::new(view.to_owned()))
    }

    fn join(&self, axis: usize, values: &[Held]) -> Result<Held> {
        let views: Vec<_> = values.iter().map(|value| known::<ArrayD<T>>(value).view()).collect();
        let refused = |error: ndarray::ShapeError| Error::Argument { operation: "concat", why: error.to_string() };
        Ok(Arc::new(ndarray::concatenate(Axis(axis), &views).map_err(refused)?))
    }

    fn counts(&self, value: &Held, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        Ok(counts_of_all(known::<ArrayD<T>>(value).shape(), axis, bins))
    }

    fn stored(&self, value: &Held) -> usize {
        known::<ArrayD<T>>(value).len()
    }

    fn first(&self, _: &Held, _: &Shape) -> Result<Option<[Held; 2]>> {
        Ok(None)
    }
}

/// Two results of one operation, cut alike.
pub(super) struct OfPairs<A, B>(pub(super) PhantomData<fn() -> (A, B)>);

impl<A: Value, B: Value> OfPairs<A, B> {
    /// The pair that `of` makes of the values of each side.
    fn both(values: &[Held], of: impl Fn(&dyn ByRanges, &[Held]) -> Result<Held>) -> Result<Held> {
        let whole = || Error::Argument { operation: "cut", why: "a result of several is taken whole".into() };
        let pairs = values.iter().map(known::<(A, B)>);
        let (left, right): (Vec<Held>, Vec<Held>) =
            pairs.map(|(left, right)| (Arc::new(left.clone()) as Held, Arc::new(right.clone()) as Held)).unzip();
        let left = of(A::KIND.by_ranges().ok_or_else(whole)?, &left)?;
        let right = of(B::KIND.by_ranges().ok_or_else(whole)?, &right)?;
        Ok(Arc::new((known::<A>(&left).clone(), known::<B>(&right).clone())))
    }
}

impl<A: Value, B: Value> ByRanges for OfPairs<A, B> {
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held> {
        Self::both(std::slice::from_ref(value), |kind, values| kind.cut(&values[0], axis, range.clone()))
    }

    fn join(&self, axis: usize, values: &[Held]) -> Result<Held> {
        Self::both(values, |kind, values| kind.join(axis, values))
    }

    fn counts(&self, value: &Held, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let left: Held = Arc::new(known::<(A, B)>(value).0.clone());
        A::KIND.by_ranges().map_or(Ok(Vec::new()), |kind| kind.counts(&left, axis, bins))
    }

    fn stored(&self, value: &Held) -> usize {
        let left: Held = Arc::new(known::<(A, B)>(value).0.clone());
        A::KIND.by_ranges().map_or(0, |kind| kind.stored(&left))
    }

    fn first(&self, _: &Held, _: &Shape) -> Result<Option<[Held; 2]>> {
        Ok(None)
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
