//! Tables as the source and the target of a graph larger than memory.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::dynamic::{AnyTensor, Format};
use crate::element::DType;
use crate::io::element::FileElement;
use crate::io::options::{ReadOptions, WriteOptions};
use crate::io::parquet::{Columns, Dataset, DatasetWriter, ReadRanges};
use crate::io::partition::Partitioned;
use crate::lazy::source::{Bins, ErasedValue, Part, PartitionRequest, Source, whole};
use crate::lazy::{Engine, Lazy, On};
use crate::tensor::coo::CooTensor;
use crate::tensor::erased::SparseRef;

/// Returns a Parquet file or folder as the source of a lazy graph.
///
/// The entries are read when the graph is computed. [`Chunks`](crate::lazy::Chunks) reads the entries in chunks.
///
/// The options of [`Dataset::open`] apply, except the element type, which is `T`.
///
/// # Errors
///
/// - the errors of [`Dataset::open`];
/// - `AxisTooLong`: an axis is too long for `I`;
/// - `Cast`: the fill cannot be converted to `T`.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::io::{ReadOptions, WriteOptions, read_coo, scan, write};
/// use lacuna::lazy::{Chunks, Lazy};
///
/// let folder = std::env::temp_dir().join("lacuna-scan-example");
/// std::fs::create_dir_all(&folder)?;
/// let [readings, medians] = ["readings.parquet", "medians.parquet"].map(|name| folder.join(name));
/// let day = CooTensor::new([3, 4], vec![vec![0, 0, 2], vec![0, 3, 1]], vec![1.5, -2.0, 4.0], f64::NAN)?;
/// write(&readings, &day, &WriteOptions::default())?;
///
/// let x: Lazy<CooTensor<f64>> = scan(&readings, &ReadOptions::default())?;
/// x.abs().nanmedian(-1).on(Chunks::memory(256 << 20)).sink(&medians, &WriteOptions::default())?;
/// assert!(read_coo::<f64, u32>(&medians, &ReadOptions::default())?.same_as(&day.abs()?.nanmedian(-1)?));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn scan<T: FileElement, I: Index>(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Lazy<CooTensor<T, I>>> {
    let dataset = Dataset::open(path, &options.clone().typed(T::DTYPE, Format::Coo))?.with_common_progress();
    // An axis that is too long is reported here.
    let _ = dataset.header()?.into_coo::<T, I>()?;
    let of = |tensor: AnyTensor| {
        let wide = tensor.into_coo::<T, u64>()?;
        let narrow = wide.with_index::<I>()?;
        wide.recycle();
        Ok(Arc::new(narrow) as ErasedValue)
    };
    Ok(Lazy::from_source("scan", Arc::new(Scanned::new(dataset, size_of::<T>(), of))))
}

impl<T: FileElement, I: Index, E: Engine> On<CooTensor<T, I>, E> {
    /// Computes the value and writes it to Parquet: to a file or to a folder.
    ///
    /// [`DatasetWriter::create`](crate::io::DatasetWriter::create) documents which paths are folders.
    /// [`Chunks`](crate::lazy::Chunks) writes the value chunk by chunk. If the value can be computed in chunks along
    /// its first axis, the entire value is never in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`collect`](On::collect) and of [`DatasetWriter`](crate::io::DatasetWriter). After an error, no
    /// new file exists, and an existing file is unchanged.
    ///
    /// # Examples
    ///
    /// See [`scan`].
    pub fn sink(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let Some(shape) = self.shape() else {
            let mut writer = DatasetWriter::create(path, options)?.within(self.memory());
            writer.push(&self.collect()?)?;
            return writer.finish();
        };
        let mut sink = ChunkSink::create(path.as_ref(), options, shape, self.memory())?;
        self.for_each_chunk(|x| sink.push(x.sparse()))?;
        sink.finish()
    }
}

/// Writes chunks along axis 0, one after another.
pub(crate) struct ChunkSink {
    writer: DatasetWriter,
    shape: Shape,
    /// The number of positions that are written.
    done: usize,
}

impl ChunkSink {
    /// Creates a sink within the allowed memory, if limited.
    pub(crate) fn create(
        path: &Path,
        options: &WriteOptions,
        shape: &[usize],
        memory: Option<u64>,
    ) -> Result<ChunkSink> {
        let writer = DatasetWriter::create(path, options)?.within(memory);
        Ok(ChunkSink { writer, shape: shape.into(), done: 0 })
    }

    /// Writes the next chunk, or the next entries in order as a tensor of the full shape. A chunk that stores all
    /// positions may have a fill that differs from the fill of the tensor.
    pub(crate) fn push<T: FileElement>(&mut self, x: SparseRef<'_, T>) -> Result<()> {
        if x.shape().get(1..) != self.shape.get(1..) {
            let (expected, found) = (self.shape.clone(), x.shape().clone());
            return Err(Error::ShapeMismatch { what: "a chunk", expected, found });
        }
        let mut columns = Columns::of(x)?;
        columns.has_fill = x.shape().wide_size() > x.nnz() as u128;
        let start = if *x.shape() == self.shape { 0 } else { self.done };
        self.done = start.saturating_add(x.shape().first().copied().unwrap_or(0));
        if self.shape.first().is_some_and(|&all| self.done > all) {
            return Ok(());
        }
        self.writer.push_columns(&columns.within(&self.shape, start))
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self.shape.first() {
            Some(&all) if all != self.done => {
                Err(Error::LengthMismatch { what: "axis 0", expected: all, found: self.done })
            }
            _ => self.writer.finish(),
        }
    }
}

/// The number of entries below which all coordinates are read to find ranges. Reading them is fast, and one page may
/// contain most of these entries.
const MANY: u64 = 1 << 20;

/// A tensor in files.
pub(crate) struct Scanned {
    dataset: Dataset,
    /// The maximum bytes of an element.
    width: usize,
    /// The conversion of a tensor that was read to a value of the graph.
    of: fn(AnyTensor) -> Result<ErasedValue>,
    /// The ranges of axis 0 that were read.
    seen: ReadRanges,
}

impl Scanned {
    /// Returns the source of a dataset whose elements take at most `width` bytes; `of` converts a tensor that was read
    /// to a value of the graph.
    pub(crate) fn new(dataset: Dataset, width: usize, of: fn(AnyTensor) -> Result<ErasedValue>) -> Self {
        Scanned { dataset, width, of, seen: ReadRanges::default() }
    }

    /// Adds the name of the files to an error about their contents.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::Format { place, message } => {
                Error::Format { place: format!("{}: {place}", self.dataset.root().display()), message }
            }
            error => error,
        }
    }

    /// Reads the complete tensor, or a box of it.
    fn tensor(&self, ranges: Option<&[Range<usize>]>) -> Result<AnyTensor> {
        let tensor = ranges.map_or_else(|| self.dataset.read(), |ranges| self.dataset.read_slice(ranges));
        tensor.map_err(|error| self.named(error))
    }

    /// Returns the bytes that an entry takes while it is read.
    fn entry_bytes(&self) -> u64 {
        ((self.dataset.shape().rank() + 1) * size_of::<u64>() + self.width) as u64
    }
}

impl Source for Scanned {
    fn description(&self) -> String {
        let checks = if self.dataset.are_checked() { "" } else { ", without checksums of its pages" };
        format!("scan {:?}{checks}", self.dataset.root().display().to_string())
    }

    fn shape(&self) -> &Shape {
        self.dataset.shape()
    }

    fn bytes(&self) -> u64 {
        self.dataset.nnz().saturating_mul(self.entry_bytes())
    }

    fn read(&self, part: Option<(usize, Range<usize>)>) -> Result<ErasedValue> {
        let tensor = match part {
            None => self.tensor(None)?,
            Some((axis, range)) => {
                let mut ranges = whole(self.shape());
                ranges[axis] = range.clone();
                let tensor = self.tensor(Some(&ranges))?;
                if axis == 0 {
                    self.seen.note(&self.dataset, range, &tensor).map_err(|error| self.named(error))?;
                }
                tensor
            }
        };
        (self.of)(tensor)
    }

    fn read_box(&self, ranges: &[Range<usize>]) -> Result<ErasedValue> {
        (self.of)(self.tensor(Some(ranges))?)
    }

    fn weights_in(&self, ranges: &[Range<usize>], axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        let (mut weights, each) = (alloc::zeros::<u64>(bins.count())?, self.entry_bytes());
        // Entries between two bounds are assumed to be evenly distributed.
        let mut add = |[min, max]: [u64; 2], entries: u64| {
            let (first, end) = (min.max(bins.span.start as u64), max.min((bins.span.end as u64).wrapping_sub(1)));
            if let (true, Some(first), Some(last)) = (first <= end, bins.of(first as usize), bins.of(end as usize)) {
                let bytes = entries.saturating_mul(each).div_ceil((last - first + 1) as u64);
                weights[first..=last].iter_mut().for_each(|weight| *weight = weight.saturating_add(bytes));
            }
        };
        let mut within = ranges.to_vec();
        within[axis] = bins.span.clone();
        let is_cut = |(other, range): (usize, &Range<usize>)| other != axis && *range != (0..self.shape()[other]);
        match axis == 0 && self.dataset.nnz() >= MANY && !within.iter().enumerate().any(is_cut) {
            true => self.dataset.for_each_page(&bins.span, add),
            false => self.dataset.for_each_coord(axis, &within, |coord| add([coord; 2], 1)),
        }
        .map_err(|error| self.named(error))?;
        Ok(weights)
    }

    fn read_part(&self, part: Part, take: &mut dyn FnMut(ErasedValue, Vec<u64>) -> Result<()>) -> Result<()> {
        self.dataset.hashed_pieces(part.number, part.of, part.memory).try_for_each(|piece| {
            let (tensor, hashes) = piece.map_err(|error| self.named(error))?;
            take((self.of)(tensor)?, hashes)
        })
    }

    fn root(&self) -> Option<&Path> {
        Some(self.dataset.root())
    }

    fn stored_in(&self, ranges: &[Range<usize>]) -> Result<u64> {
        let mut count = 0;
        match ranges == whole(self.shape()) {
            true => count = self.dataset.nnz(),
            false => {
                let counted = self.dataset.for_each_coord(0, ranges, |_| count += 1);
                counted.map_err(|error| self.named(error))?;
            }
        }
        Ok(count)
    }

    fn checks(&self) -> Option<(u64, u64)> {
        self.dataset.checks()
    }

    fn fingerprint(&self) -> Option<(DType, String)> {
        Some(self.dataset.fingerprint())
    }

    fn none(&self) -> Result<ErasedValue> {
        (self.of)(self.dataset.header()?)
    }

    fn partitioned(&self, request: &PartitionRequest<'_>) -> Result<Option<Box<dyn Source>>> {
        match request.axis {
            0 => Ok(None),
            _ => {
                let partitioned = Partitioned::new(&self.dataset, self.entry_bytes(), self.of, request);
                Ok(Some(Box::new(partitioned.map_err(|error| self.named(error))?)))
            }
        }
    }
}
