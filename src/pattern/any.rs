//! A pattern of either format, chosen at run time: what keeps an operation from being compiled once for each format.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::{CooPattern, CsrPattern, Format, Memo, PartOf, Pattern};
use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::shape::Shape;

/// A pattern of either format.
///
/// What is made of it has the format that costs the least there, so that [`in_format`](AnyPattern::in_format) stands
/// at the end of every operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AnyPattern {
    Coo(CooPattern<u64>),
    Csr(CsrPattern<u64>),
}

impl From<CooPattern<u64>> for AnyPattern {
    fn from(pattern: CooPattern<u64>) -> Self {
        AnyPattern::Coo(pattern)
    }
}

impl From<CsrPattern<u64>> for AnyPattern {
    fn from(pattern: CsrPattern<u64>) -> Self {
        AnyPattern::Csr(pattern)
    }
}

/// Runs code on the pattern, whichever it is.
macro_rules! either {
    ($pattern:expr, $own:ident => $body:expr) => {
        match $pattern {
            AnyPattern::Coo($own) => $body,
            AnyPattern::Csr($own) => $body,
        }
    };
}

impl AnyPattern {
    pub(crate) fn format(&self) -> Format {
        match self {
            AnyPattern::Coo(_) => Format::Coo,
            AnyPattern::Csr(_) => Format::Csr,
        }
    }

    /// The same entries in `format`; offsets above `limit` bytes are refused.
    pub(crate) fn in_format(&self, format: Format, limit: u64) -> Result<Self> {
        Ok(match (self, format) {
            (AnyPattern::Csr(pattern), Format::Coo) => pattern.to_coo()?.into(),
            (AnyPattern::Coo(pattern), Format::Csr) => {
                let coords = pattern.shared_coords().to_vec();
                let csr = CsrPattern::from_coords(pattern.shape().clone(), pattern.nnz(), coords, limit)?;
                csr.with_part_of(pattern.part_of().cloned()).into()
            }
            (same, _) => same.clone(),
        })
    }
}

impl Pattern for AnyPattern {
    type Index = u64;

    /// What nobody asks of it: it has a method for that.
    const FORMAT: Format = Format::Coo;

    fn shape(&self) -> &Shape {
        either!(self, own => own.shape())
    }

    fn nnz(&self) -> usize {
        either!(self, own => own.nnz())
    }

    fn find(&self, coords: &[usize]) -> Option<usize> {
        either!(self, own => own.find(coords))
    }

    fn coords_of(&self, entry: usize) -> Option<Vec<usize>> {
        either!(self, own => own.coords_of(entry))
    }

    fn walk_range(&self, entries: Range<usize>, visit: impl FnMut(usize, &[usize]) -> bool) {
        either!(self, own => own.walk_range(entries, visit));
    }

    fn retain(&self, kept: &[usize]) -> Result<Self> {
        either!(self, own => own.retain(kept).map(Self::from))
    }

    fn shares_arrays_with(&self, other: &Self) -> bool {
        match (self, other) {
            (AnyPattern::Coo(one), AnyPattern::Coo(other)) => one.shares_arrays_with(other),
            (AnyPattern::Csr(one), AnyPattern::Csr(other)) => one.shares_arrays_with(other),
            _ => false,
        }
    }

    fn index_bytes(&self) -> usize {
        either!(self, own => own.index_bytes())
    }

    fn coord(&self, entry: usize, axis: usize) -> usize {
        either!(self, own => own.coord(entry, axis))
    }

    fn axis_coords(&self, axis: usize) -> Allocated<Cow<'_, [u64]>> {
        either!(self, own => own.axis_coords(axis))
    }

    fn shared_axis(&self, axis: usize) -> Allocated<Buffer<u64>> {
        either!(self, own => own.shared_axis(axis))
    }

    fn number(&self, start: usize, positions: &mut [usize]) {
        either!(self, own => own.number(start, positions));
    }

    fn number_within(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]) {
        either!(self, own => own.number_within(axes, lengths, start, positions));
    }

    fn memo(&self) -> Option<&Arc<Memo>> {
        either!(self, own => own.memo())
    }

    fn with_memo(self, memo: Option<Arc<Memo>>) -> Self {
        either!(self, own => own.with_memo(memo).into())
    }

    fn part_of(&self) -> Option<&Arc<PartOf>> {
        either!(self, own => own.part_of())
    }

    fn with_part_of(self, part_of: Option<Arc<PartOf>>) -> Self {
        either!(self, own => own.with_part_of(part_of).into())
    }

    fn lane_offsets(&self) -> Option<&Buffer<usize>> {
        either!(self, own => own.lane_offsets())
    }

    fn from_coords(shape: Shape, nnz: usize, coords: Vec<Buffer<u64>>, limit: u64) -> Result<Self> {
        CooPattern::from_coords(shape, nnz, coords, limit).map(Self::from)
    }

    fn from_lanes(shape: Shape, offsets: Buffer<usize>, columns: Buffer<u64>) -> Result<Self> {
        CsrPattern::from_lanes(shape, offsets, columns).map(Self::from)
    }
}
