//! The entries of a dataset, chunk by chunk.

use std::collections::VecDeque;
use std::ops::Range;

use super::dataset::{Dataset, Opened};
use super::description::Extent;
use super::entry_buffer::{EntryBuffer, ValueBuffer};
use super::read::{SelectedBy, tensor_of};
use super::slice::{check_ranges, keep};
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::dispatch_dtype;
use crate::dynamic::{AnyTensor, no_such};
use crate::io::element::FileElement;

/// An iterator over the chunks of a [`Dataset`], in row-major order.
///
/// [`Dataset::pieces`] and [`Dataset::pieces_within`] return this iterator.
pub struct Pieces<'d> {
    dataset: &'d Dataset,
    /// The box whose entries are requested, which restricts only axis 0; `None` for all entries.
    ranges: Option<Vec<Range<usize>>>,
    /// The requested share of the rows of each row group: its index, and the number of equal shares.
    share: (usize, usize),
    /// True if the hash of each entry is requested.
    are_hashed: bool,
    /// The maximum number of entries of a chunk.
    max_entries: usize,
    /// The next part to be opened.
    next: usize,
    open: Option<OpenPart<'d>>,
    /// The coordinates of the last entry so far.
    last: Option<Vec<u64>>,
    /// The bytes that were read of finished parts.
    bytes_read: u64,
}

/// The part that is being read.
struct OpenPart<'d> {
    number: usize,
    opened: Opened<'d>,
    /// The remaining rows, by row group.
    left: VecDeque<(usize, Range<usize>)>,
    /// The facts about the entries read so far, and whether all entries of the part are read.
    seen: Extent,
    is_whole: bool,
}

impl Dataset {
    /// Returns an iterator over the entries in chunks, in row-major order.
    ///
    /// A chunk is a tensor in coordinate format, with the shape, element type and fill of the dataset. A chunk has the
    /// entries of one row group, or fewer entries if the row group needs more than `memory` bytes. At least one page of
    /// about 20 000 entries is always in memory.
    ///
    /// If a page has a checksum, lacuna compares the checksum before it returns the entries of the page. lacuna also
    /// compares the entries of each part with the facts that the file or the manifest states about the part. The last
    /// chunk of a part is returned only if these facts agree. After an error, the iterator ends.
    pub fn pieces(&self, memory: u64) -> Pieces<'_> {
        Pieces::new(self, None, memory)
    }

    /// Returns the entries whose coordinate on axis 0 is in `rows`, in chunks.
    ///
    /// The chunks have the form of the chunks of [`pieces`](Dataset::pieces). Parts, row groups and pages without such
    /// entries are not read. The hashes of a part are compared only if the part is read in full.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the rank of the tensor is 0;
    /// - `SliceOutOfRange`: `rows` is out of the range of axis 0.
    pub fn pieces_within(&self, rows: Range<usize>, memory: u64) -> Result<Pieces<'_>> {
        let mut ranges: Vec<Range<usize>> = self.shape().iter().map(|&length| 0..length).collect();
        match ranges.first_mut() {
            Some(first) => *first = rows,
            None => return Err(Error::RankMismatch { what: "a tensor that is read by rows", expected: 1, found: 0 }),
        }
        check_ranges(self.shape(), &ranges)?;
        Ok(Pieces::new(self, Some(ranges), memory))
    }

    /// Returns one of `of` parts of about equal size: a range of each row group, with the hash of each entry.
    pub(crate) fn hashed_pieces(&self, part: usize, of: usize, memory: u64) -> HashedPieces<'_> {
        let of = of.max(1);
        HashedPieces(Pieces { share: (part.min(of - 1), of), are_hashed: true, ..Pieces::new(self, None, memory) })
    }
}

impl<'d> Pieces<'d> {
    fn new(dataset: &'d Dataset, ranges: Option<Vec<Range<usize>>>, memory: u64) -> Self {
        let width = dispatch_dtype!(dataset.own_dtype(), T => size_of::<T>(), else => 16);
        // Columns exist twice while they grow or move. Each entry also has a hash.
        let coords = Width::of_lengths(dataset.shape()).bytes() * dataset.shape().rank();
        let entry = 2 * (coords + width) + 8;
        let max_entries = usize::try_from(memory / entry as u64).unwrap_or(usize::MAX).max(1);
        Pieces {
            dataset,
            ranges,
            share: (0, 1),
            are_hashed: false,
            max_entries,
            next: 0,
            open: None,
            last: None,
            bytes_read: 0,
        }
    }

    /// Returns the next chunk, which may be empty.
    fn piece(&mut self) -> Result<Option<(AnyTensor, Vec<u64>)>> {
        loop {
            if let Some(open) = &mut self.open {
                if let Some((group, rows)) = open.take(self.max_entries) {
                    return self.read(group, rows).map(Some);
                }
                self.bytes_read = open.opened.stream.bytes();
                self.open = None;
            }
            let Some(part) = self.dataset.parts().get(self.next) else { return Ok(None) };
            let number = self.next;
            self.next += 1;
            if self.ranges.as_ref().is_none_or(|ranges| part.extent.meets(ranges)) {
                self.open = Some(self.open(number)?);
            }
        }
    }

    fn open(&self, number: usize) -> Result<OpenPart<'d>> {
        let mut opened = self.dataset.open_part(number, self.bytes_read)?;
        let groups = opened.footer.groups.iter().map(|group| group.rows as usize).collect::<Vec<_>>();
        let picked = match &self.ranges {
            Some(ranges) => opened.table(self.dataset.options()).picked(ranges),
            None => Ok(groups.iter().map(|&rows| std::iter::once(share_of(rows, self.share)).collect()).collect()),
        };
        let picked = picked.map_err(|error| self.dataset.in_part(number, error))?;
        let is_whole =
            groups.iter().zip(&picked).all(|(rows, picked)| picked.iter().map(Range::len).sum::<usize>() == *rows);
        let left =
            picked.into_iter().enumerate().flat_map(|(group, rows)| rows.into_iter().map(move |rows| (group, rows)));
        let left = left.filter(|(_, rows)| !rows.is_empty()).collect();
        Ok(OpenPart { number, opened, left, seen: Extent::default(), is_whole })
    }

    /// Reads the given rows of the open part.
    fn read(&mut self, group: usize, rows: Range<usize>) -> Result<(AnyTensor, Vec<u64>)> {
        let dataset = self.dataset;
        let Some(open) = &mut self.open else { return Ok((dataset.header()?, Vec::new())) };
        let (number, mut hashes) = (open.number, self.are_hashed.then(Vec::new));
        let tensor = dispatch_dtype!(dataset.own_dtype(), T => {
            open.read::<T>(dataset, group, rows, &self.ranges, &mut self.last, &mut hashes)
        }, else => Err(no_such(dataset.own_dtype())));
        let tensor = tensor.map_err(|error| dataset.in_part(number, error))?.cast(dataset.dtype())?;
        Ok((tensor, hashes.unwrap_or_default()))
    }
}

impl OpenPart<'_> {
    /// Returns the next rows, at most `max_entries` rows of one row group.
    fn take(&mut self, max_entries: usize) -> Option<(usize, Range<usize>)> {
        let (group, rows) = self.left.front_mut()?;
        let taken = rows.start..rows.end.min(rows.start.saturating_add(max_entries));
        rows.start = taken.end;
        let group = *group;
        if rows.start == rows.end {
            self.left.pop_front();
        }
        Some((group, taken))
    }

    fn read<T: FileElement>(
        &mut self,
        dataset: &Dataset,
        group: usize,
        rows: Range<usize>,
        ranges: &Option<Vec<Range<usize>>>,
        last: &mut Option<Vec<u64>>,
        hashes: &mut Option<Vec<u64>>,
    ) -> Result<AnyTensor> {
        let mut values = ValueBuffer::<T>::default();
        let mut entries = EntryBuffer::new(dataset.shape(), rows.len(), &mut values);
        entries.each = hashes.take();
        let picked_by = if ranges.is_some() { SelectedBy::Bounds } else { SelectedBy::Number };
        self.opened.table(dataset.options()).read_group(group, rows.into(), picked_by, &mut entries)?;
        *hashes = entries.each.take();
        let extent = entries.extent_from((0, 0));
        let (mut coords, mut values) = (entries.coords, values.0);
        self.check(&extent, last)?;
        // The entries are in order, so only entries at the start and at the end are removed.
        if let Some([rows, ..]) = ranges.as_deref() {
            keep(coords.inside(0, 0, rows), &mut coords, &mut values);
        }
        tensor_of(dataset.described(), true, Some(coords), values, dataset.options())
    }

    /// Compares entries with the entries before. After the last entries, compares all entries with the declared facts.
    fn check(&mut self, extent: &Extent, last: &mut Option<Vec<u64>>) -> Result<()> {
        let wrong = |message: &str| Err(Error::Format { place: "the entries".into(), message: message.into() });
        if let (Some(last), Some((first, _))) = (&*last, &extent.ends)
            && last >= first
        {
            return wrong("a row group is not sorted after the previous one");
        }
        *last = extent.ends.as_ref().map(|(_, last)| last.clone()).or(last.take());
        if self.seen.append(extent).is_none() {
            return wrong("their number exceeds the largest count");
        }
        match &self.opened.layout.described.extent {
            Some(recorded) if self.is_whole && self.left.is_empty() => recorded.check(&self.seen),
            _ => Ok(()),
        }
    }
}

/// Returns the range of one of `of` equal shares of `rows` rows.
fn share_of(rows: usize, (part, of): (usize, usize)) -> Range<usize> {
    let end = |part: usize| (rows as u128 * part as u128 / of as u128) as usize;
    end(part)..end(part + 1)
}

/// Returns the next chunk; chunks without entries are skipped.
impl Iterator for Pieces<'_> {
    type Item = Result<AnyTensor>;

    fn next(&mut self) -> Option<Self::Item> {
        self.hashed().map(|piece| piece.map(|(piece, _)| piece))
    }
}

/// The chunks of a part of a dataset, each with the hashes of its entries.
pub(crate) struct HashedPieces<'d>(Pieces<'d>);

impl Iterator for HashedPieces<'_> {
    type Item = Result<(AnyTensor, Vec<u64>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.hashed()
    }
}

impl Pieces<'_> {
    /// Returns the next chunk that has entries, and the hashes of these entries.
    fn hashed(&mut self) -> Option<Result<(AnyTensor, Vec<u64>)>> {
        loop {
            match self.piece() {
                Ok(Some((piece, _))) if piece.nnz() == 0 => {}
                Ok(piece) => return piece.map(Ok),
                Err(error) => {
                    (self.open, self.next) = (None, usize::MAX);
                    return Some(Err(error));
                }
            }
        }
    }
}

impl std::fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").field("dataset", self.dataset).field("next", &self.next).finish_non_exhaustive()
    }
}
