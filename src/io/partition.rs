//! A tensor repartitioned to temporary files. Each file has the entries in a range of an axis along which the tensor is
//! not ordered.
//!
//! Each entry is appended to the file of its range, after the entries before it in row-major order. Each file is
//! therefore also in row-major order. If there are too many ranges to open one file per range, entries are first
//! written to files of larger ranges. Each of these files is then repartitioned again. The bytes read and written
//! therefore grow with the entries, not with the number of ranges.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::SliceInfoElem;

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::dynamic::{AnyTensor, Format};
use crate::io::parquet::{Dataset, Records};
use crate::lazy::source::{Bins, ErasedValue, PartitionRequest, Source};
use crate::ops::slice_of;

/// The maximum number of files written at once.
const FILES: usize = 64;

/// The number of files whose contents stay in memory after reading.
const KEPT: usize = 2;

/// The maximum buffer of a file in bytes.
const WAITING: usize = 1 << 16;

/// The minimum bytes for a chunk while it is read. Only complete pages are read, so a chunk includes all pages that
/// fit.
const PIECE: u64 = 4 << 20;

/// A tensor in files, each with the entries in a range of an axis.
pub(crate) struct Partitioned {
    records: Records,
    axis: usize,
    shape: Shape,
    piles: Vec<RecordFile>,
    /// The files read last, with their contents: consecutive ranges, or ranges read at once, use the same files.
    last: Mutex<VecDeque<(usize, Arc<Vec<u8>>)>>,
    /// The bytes of an entry in memory.
    entry_bytes: u64,
    /// The format of tensors that are read.
    format: Format,
    of: fn(AnyTensor) -> Result<ErasedValue>,
}

/// A file of records.
struct RecordFile {
    path: PathBuf,
    /// The positions of the axis whose entries the file has.
    range: Range<usize>,
    bytes: usize,
}

impl Partitioned {
    /// Writes the entries of a box of a dataset to temporary files. An entry takes `entry_bytes` in memory; `of`
    /// converts each tensor that is read.
    pub(crate) fn new(
        dataset: &Dataset,
        entry_bytes: u64,
        of: fn(AnyTensor) -> Result<ErasedValue>,
        request: &PartitionRequest<'_>,
    ) -> Result<Partitioned> {
        let (records, folder) = (Records::of(dataset)?, (request.folder)()?);
        let waiting = (request.bytes as usize / FILES).clamp(records.width(), WAITING);
        let writer = PartitionWriter { records: &records, axis: request.axis, folder: &folder, waiting };
        let piece = |piece: Result<AnyTensor>| Ok(writer.within(records.of_piece(&piece?)?, request.within));
        let mut pieces = dataset.pieces_within(request.within[0].clone(), request.bytes.max(PIECE))?.map(piece);
        let piles = writer.partition(&mut pieces, &request.bins.ranges(request.weights, request.bytes))?;
        let (axis, shape, last) = (request.axis, dataset.shape().clone(), Mutex::default());
        Ok(Partitioned { records, axis, shape, piles, last, entry_bytes, format: dataset.format(), of })
    }

    /// Returns the records of a file.
    fn read_pile(&self, number: usize) -> Result<Arc<Vec<u8>>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, records)) = last.iter().find(|(at, _)| *at == number) {
            return Ok(Arc::clone(records));
        }
        // Memory is released before the next file is read.
        last.truncate(KEPT - 1);
        let records = Arc::new(self.piles[number].read()?);
        last.push_front((number, Arc::clone(&records)));
        Ok(records)
    }

    /// Converts a tensor that was read, in the format of the dataset.
    fn held(&self, tensor: AnyTensor) -> Result<ErasedValue> {
        (self.of)(tensor.into_format(self.format)?)
    }

    /// Returns the entries in a range of the axis. Returns an error for positions outside all files.
    fn in_range(&self, range: &Range<usize>) -> Result<AnyTensor> {
        let mut parts = Vec::new();
        for (number, pile) in self.piles.iter().enumerate() {
            let both = range.start.max(pile.range.start)..range.end.min(pile.range.end);
            if !both.is_empty() {
                parts.push(self.records.tensor(&self.read_pile(number)?, self.axis, &both)?);
            }
        }
        let found = match &parts[..] {
            [] => self.records.tensor(&[], self.axis, &(range.start..range.start))?,
            [_] => parts.remove(0),
            parts => AnyTensor::concat(self.axis as isize, &parts.iter().collect::<Vec<_>>())?,
        };
        match found.shape()[self.axis] == range.len() {
            true => Ok(found),
            false => Err(rejection(format!("positions {range:?} are not in the temporary files"))),
        }
    }
}

fn rejection(why: String) -> Error {
    Error::Argument { operation: "scan", why }
}

impl Source for Partitioned {
    fn description(&self) -> String {
        format!("{} files in chunks of axis {}", self.piles.len(), self.axis)
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn bytes(&self) -> u64 {
        let bytes: u64 = self.piles.iter().map(|pile| pile.bytes as u64).sum();
        bytes / self.records.width() as u64 * self.entry_bytes
    }

    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<ErasedValue> {
        match part.unwrap_or((self.axis, 0..self.shape[self.axis])) {
            (axis, range) if axis == self.axis => self.held(self.in_range(&range)?),
            (axis, _) => {
                Err(rejection(format!("files in chunks of axis {} cannot be read along axis {axis}", self.axis)))
            }
        }
    }

    fn read_box(&self, ranges: &[Range<usize>]) -> Result<ErasedValue> {
        let slice = |(axis, range): (usize, &Range<usize>)| match axis == self.axis {
            true => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
            false => slice_of(range.clone(), self.shape[axis], 1),
        };
        let slices: Vec<SliceInfoElem> = ranges.iter().enumerate().map(slice).collect();
        self.held(self.in_range(&ranges[self.axis])?.slice(&slices)?)
    }

    fn weights_in(&self, _: &[Range<usize>], _: usize, bins: &Bins) -> Result<Vec<u64>> {
        Ok(alloc::zeros(bins.count())?)
    }

    fn partitioned(&self, _: &PartitionRequest<'_>) -> Result<Option<Box<dyn Source>>> {
        Ok(None)
    }
}

/// Writes records to files of a folder, by ranges of an axis.
struct PartitionWriter<'a> {
    records: &'a Records,
    axis: usize,
    folder: &'a Path,
    /// The maximum buffer of a file in bytes.
    waiting: usize,
}

impl PartitionWriter<'_> {
    /// Returns only the records inside a box.
    fn within(&self, mut records: Vec<u8>, ranges: &[Range<usize>]) -> Vec<u8> {
        let (width, mut kept) = (self.records.width(), 0);
        for start in (0..records.len()).step_by(width) {
            let record = start..start + width;
            let coord = |axis: usize| self.records.coord(&records[record.clone()], axis);
            if ranges.iter().enumerate().all(|(axis, range)| range.contains(&coord(axis))) {
                records.copy_within(record, kept);
                kept += width;
            }
        }
        records.truncate(kept);
        records
    }

    /// Writes a file for each of the consecutive ranges.
    fn partition(
        &self,
        pieces: &mut dyn Iterator<Item = Result<Vec<u8>>>,
        ranges: &[Range<usize>],
    ) -> Result<Vec<RecordFile>> {
        let each = ranges.len().div_ceil(FILES).max(1);
        let groups: Vec<&[Range<usize>]> = ranges.chunks(each).collect();
        let mut open = groups.iter().map(|group| self.open(group)).collect::<Result<Vec<OpenRecordFile>>>()?;
        for piece in pieces {
            self.put(&piece?, &mut open)?;
        }
        let piles = open.into_iter().map(OpenRecordFile::close).collect::<Result<Vec<RecordFile>>>()?;
        if each == 1 {
            return Ok(piles);
        }
        let mut found = Vec::new();
        for (pile, group) in piles.iter().zip(groups) {
            let max_len = self.waiting.saturating_mul(FILES) / self.records.width() * self.records.width();
            found.extend(self.partition(&mut pile.pieces(max_len), group)?);
            fs::remove_file(&pile.path).map_err(|error| Error::from(error).in_file(&pile.path))?;
        }
        Ok(found)
    }

    /// Creates the file of consecutive ranges.
    fn open(&self, ranges: &[Range<usize>]) -> Result<OpenRecordFile> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let path = self.folder.join(format!("{}.entries", COUNT.fetch_add(1, Ordering::Relaxed)));
        let range = ranges[0].start..ranges[ranges.len() - 1].end;
        let file = File::create_new(&path).map_err(|error| Error::from(error).in_file(&path))?;
        Ok(OpenRecordFile { pile: RecordFile { path, range, bytes: 0 }, file, waiting: Vec::new() })
    }

    /// Appends each record to the file of its range.
    fn put(&self, records: &[u8], open: &mut [OpenRecordFile]) -> Result<()> {
        for record in records.chunks_exact(self.records.width()) {
            let coord = self.records.coord(record, self.axis);
            let number = open.partition_point(|open| open.pile.range.end <= coord);
            let Some(open) = open.get_mut(number) else { continue };
            alloc::extend(&mut open.waiting, record)?;
            if open.waiting.len() >= self.waiting {
                open.write()?;
            }
        }
        Ok(())
    }
}

/// A file that is being written.
struct OpenRecordFile {
    pile: RecordFile,
    file: File,
    waiting: Vec<u8>,
}

impl OpenRecordFile {
    fn write(&mut self) -> Result<()> {
        self.file.write_all(&self.waiting).map_err(|error| {
            let description = format!("{error}; choose a folder with more space with Chunks::spill (--spill)");
            Error::from(std::io::Error::new(error.kind(), description)).in_file(&self.pile.path)
        })?;
        self.pile.bytes += self.waiting.len();
        self.waiting.clear();
        Ok(())
    }

    fn close(mut self) -> Result<RecordFile> {
        self.write()?;
        Ok(self.pile)
    }
}

impl RecordFile {
    /// Returns all records of the file.
    fn read(&self) -> Result<Vec<u8>> {
        self.piece(&mut None, self.bytes).map_err(|error| error.in_file(&self.path))
    }

    /// Returns the records of the file, at most `max_len` bytes at a time.
    fn pieces(&self, max_len: usize) -> impl Iterator<Item = Result<Vec<u8>>> {
        let (mut file, mut left) = (None, self.bytes);
        std::iter::from_fn(move || {
            let next = left.min(max_len);
            left -= next;
            (next > 0).then(|| self.piece(&mut file, next).map_err(|error| error.in_file(&self.path)))
        })
    }

    fn piece(&self, file: &mut Option<File>, bytes: usize) -> Result<Vec<u8>> {
        let file = match file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        let mut piece = alloc::zeros(bytes)?;
        file.read_exact(&mut piece).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => std::io::Error::new(error.kind(), "it was truncated while it was in use"),
            _ => error,
        })?;
        Ok(piece)
    }
}
