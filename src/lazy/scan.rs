//! Slices of tensors from files: only the needed ranges are read.

use std::ops::Range;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::node::{Body, ErasedValue, Node};
use super::slices::{ALL, moved, slice_of, sliced};
use super::source::{Bins, PartitionRequest, Source, whole};
use crate::base::error::Result;
use crate::base::shape::Shape;

/// Returns a slice of a tensor that is read. The step reads the ranges that contain the slice, and slices these ranges.
pub(super) fn of_part(node: &Arc<Node>, source: &Arc<dyn Source>, slice: &Node) -> Arc<Node> {
    let of_all = || sliced(node, slice);
    let Some(slices) = slice.slices() else { return of_all() };
    let Some((ranges, rest)) = ranges(slices, source.shape()) else { return of_all() };
    let shape: Shape = ranges.iter().map(Range::len).collect();
    let mut part = node.again(Vec::new(), Some(shape.clone()));
    part.body = Body::Source(Arc::new(SourceBox { of: Arc::clone(source), ranges, shape }));
    let part = Arc::new(part);
    match rest.iter().all(|part| *part == ALL) {
        true => part,
        false => moved(&part, slice_of(rest.into()), slice).unwrap_or_else(of_all),
    }
}

/// Returns whether a slice needs only a chunk of the tensor that is read.
pub(super) fn is_of_part(source: &dyn Source, slice: &Node) -> bool {
    let found = slice.slices().and_then(|slices| ranges(slices, source.shape()));
    found.is_some_and(|(ranges, _)| ranges != whole(source.shape()))
}

/// Returns the ranges that contain the slices, and the slices of these ranges.
fn ranges(slices: &[SliceInfoElem], shape: &Shape) -> Option<(Vec<Range<usize>>, Vec<SliceInfoElem>)> {
    let (mut ranges, mut rest) = (Vec::new(), Vec::new());
    for &part in slices {
        let Some(&length) = shape.get(ranges.len()).filter(|_| part != SliceInfoElem::NewAxis) else {
            rest.push(part);
            continue;
        };
        let place = |end: isize| {
            let from_front = if end < 0 { end as i128 + length as i128 } else { end as i128 };
            usize::try_from(from_front).ok()
        };
        match part {
            SliceInfoElem::Index(index) => {
                let at = place(index)?;
                ranges.push(at..at + 1);
                rest.push(SliceInfoElem::Index(0));
            }
            SliceInfoElem::Slice { start, end, step } => {
                let (start, end) = (place(start)?, end.map_or(Some(length), place)?);
                ranges.push(start..end.max(start));
                rest.push(SliceInfoElem::Slice { start: 0, end: None, step });
            }
            SliceInfoElem::NewAxis => {}
        }
    }
    ranges.iter().zip(&**shape).all(|(range, &length)| range.end <= length).then_some((ranges, rest))
}

/// A box of a tensor that is read.
struct SourceBox {
    of: Arc<dyn Source>,
    ranges: Vec<Range<usize>>,
    shape: Shape,
}

impl SourceBox {
    /// Returns ranges within the box, relative to the start of the entire tensor.
    fn shifted(&self, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
        let shifted = |(own, range): (&Range<usize>, &Range<usize>)| own.start + range.start..own.start + range.end;
        self.ranges.iter().zip(ranges).map(shifted).collect()
    }

    /// Returns bins within the box, relative to the start of the entire tensor.
    fn bins(&self, axis: usize, bins: &Bins) -> Bins {
        let start = self.ranges[axis].start;
        Bins { span: start + bins.span.start..start + bins.span.end, width: bins.width }
    }

    /// Returns the ranges of the box. If `part` is given, one axis has that range within the box.
    fn within(&self, part: Option<(usize, Range<usize>)>) -> Vec<Range<usize>> {
        let mut ranges = self.ranges.clone();
        if let Some((axis, range)) = part {
            let start = ranges[axis].start;
            ranges[axis] = start + range.start..start + range.end;
        }
        ranges
    }
}

impl Source for SourceBox {
    fn description(&self) -> String {
        let ranges: Vec<String> = self.ranges.iter().map(|range| format!("{}:{}", range.start, range.end)).collect();
        format!("{}[{}]", self.of.description(), ranges.join(", "))
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn bytes(&self) -> u64 {
        let Some(span) = self.ranges.first() else { return self.of.bytes() };
        let one = Bins::new(span.clone(), 1);
        // If the source cannot be read, the later read returns the error.
        self.of.weights_in(&self.ranges, 0, &one).map_or_else(|_| self.of.bytes(), |bytes| bytes.iter().sum())
    }

    /// Returns an estimate that assumes the same bytes for each position.
    fn about(&self) -> u64 {
        let (own, all) = (self.shape.wide_size() as f64, self.of.shape().wide_size().max(1) as f64);
        (self.of.about() as f64 * (own / all)) as u64
    }

    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<ErasedValue> {
        self.of.read_box(&self.within(part))
    }

    fn read_box(&self, ranges: &[Range<usize>]) -> Result<ErasedValue> {
        self.of.read_box(&self.shifted(ranges))
    }

    fn stored_in(&self, ranges: &[Range<usize>]) -> Result<u64> {
        self.of.stored_in(&self.shifted(ranges))
    }

    fn weights_in(&self, ranges: &[Range<usize>], axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        self.of.weights_in(&self.shifted(ranges), axis, &self.bins(axis, bins))
    }

    fn partitioned(&self, request: &PartitionRequest<'_>) -> Result<Option<Box<dyn Source>>> {
        let (within, bins) = (self.shifted(request.within), self.bins(request.axis, request.bins));
        let partitioned = self.of.partitioned(&PartitionRequest { within: &within, bins: &bins, ..*request })?;
        let part = |of: Box<dyn Source>| {
            Box::new(SourceBox { of: of.into(), ranges: self.ranges.clone(), shape: self.shape.clone() })
                as Box<dyn Source>
        };
        Ok(partitioned.map(part))
    }
}
