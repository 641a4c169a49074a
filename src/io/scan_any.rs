//! Graphs over tensors of types known at run time.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::SliceInfoElem;

use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::dispatch;
use crate::dynamic::AnyTensor;
use crate::element::DType;
use crate::io::options::{ReadOptions, WriteOptions};
use crate::io::parquet::{Dataset, DatasetWriter};
use crate::io::scan::{Scanned, placed_in};
use crate::io::write::FileTensor;
use crate::lazy::source::{Bins, ByRanges, Held, known};
use crate::lazy::value::{ByPieces, Kind, Sealed};
use crate::lazy::{Engine, Lazy, On, Value};

/// A Parquet file, or a folder of them, as the beginning of a graph over tensors of types known at run time: what
/// [`scan`](crate::io::scan) is for types known at compile time.
///
/// # Errors
///
/// Those of [`Dataset::open`](crate::io::Dataset::open).
///
/// # Examples
///
/// ```
/// use lacuna::io::{ReadOptions, WriteOptions, scan_any, write};
/// use lacuna::lazy::Chunks;
/// use lacuna::{Axes, CooTensor};
///
/// let path = std::env::temp_dir().join("lacuna-scan-any-example.parquet");
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3_i16, -1], 0)?;
/// write(&path, &x, &WriteOptions::default())?;
///
/// let sums = scan_any(&path, &ReadOptions::default())?.custom_over("sum", 1, |x| x.sum(1));
/// let found = sums.on(Chunks::memory(64 << 20)).collect()?;
/// assert_eq!(found.into_coo::<i64, u32>()?, x.sum(1)?);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn scan_any(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Lazy<AnyTensor>> {
    let dataset = Dataset::open(path, options)?;
    let width = size_of::<num_complex::Complex64>();
    Ok(Lazy::from_source("scan", Arc::new(Scanned { dataset, width, of: |tensor| Ok(Arc::new(tensor) as Held) })))
}

impl AnyTensor {
    /// This tensor as the beginning of a graph.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<AnyTensor> {
        Lazy::constant(self.clone())
    }
}

impl Lazy<AnyTensor> {
    /// A step of the user's own that reduces some axes, or goes along them, and treats positions along all others apart
    /// from each other: so [`Chunks`](crate::lazy::Chunks) may cut these. `f` of a part must be the part of `f`. Two of
    /// them are never taken for one.
    ///
    /// The axes that are reduced go, or stay with length 1 as [`Axes::keep_dims`] has it.
    #[track_caller]
    pub fn custom_over(
        &self,
        name: &'static str,
        axes: impl Into<Axes>,
        f: impl Fn(&AnyTensor) -> Result<AnyTensor> + Send + Sync + 'static,
    ) -> Lazy<AnyTensor> {
        self.over(name, axes.into(), f)
    }
}

impl<E: Engine> On<AnyTensor, E> {
    /// Computes the value and writes it to Parquet, as [`sink`](On::sink) does for types known at compile time.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn sink_any(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let mut writer = DatasetWriter::create(path, options)?;
        let Some(shape) = self.shape().map(Shape::from) else {
            self.collect()?.push_to(&mut writer)?;
            return writer.finish();
        };
        let mut done = 0;
        self.pour(|x| {
            let placed = dispatch!(x, x => AnyTensor::from(placed_in(&shape, &mut done, x)?));
            placed.push_to(&mut writer)
        })?;
        match shape.first().is_none_or(|&all| all == done) {
            true => writer.finish(),
            false => Err(Error::LengthMismatch { what: "axis 0", expected: shape[0], found: done }),
        }
    }
}

impl Sealed for AnyTensor {}

impl Value for AnyTensor {
    const KIND: &'static dyn Kind = &OfAny;
}

struct OfAny;

impl Kind for OfAny {
    fn dtype(&self) -> Option<DType> {
        None
    }

    fn format(&self) -> &'static str {
        "tensor"
    }

    fn shape(&self, value: &Held) -> Shape {
        known::<AnyTensor>(value).shape().clone()
    }

    fn bytes(&self, value: &Held) -> usize {
        known::<AnyTensor>(value).stored_bytes()
    }

    fn remember(&self, value: &Held, _: Option<&Held>) -> Held {
        Arc::clone(value)
    }

    fn forget(&self, value: &Held) -> Held {
        Arc::clone(value)
    }

    fn reads(&self, _: &Held) -> u64 {
        0
    }

    fn sum(&self, _: &Arc<crate::lazy::Node>, _: &Arc<crate::lazy::Node>) -> Option<Arc<crate::lazy::Node>> {
        None
    }

    fn by_pieces(&self) -> Option<&dyn ByPieces> {
        None
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&OfAny)
    }
}

impl ByRanges for OfAny {
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held> {
        let x = known::<AnyTensor>(value);
        let mut slices = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; x.shape().rank()];
        let end = |end: usize| isize::try_from(end).unwrap_or(isize::MAX);
        slices[axis] = SliceInfoElem::Slice { start: end(range.start), end: Some(end(range.end)), step: 1 };
        Ok(Arc::new(x.slice(&slices)?))
    }

    fn join(&self, axis: usize, values: &[Held]) -> Result<Held> {
        let values: Vec<&AnyTensor> = values.iter().map(known).collect();
        Ok(Arc::new(AnyTensor::concat(axis, &values)?))
    }

    fn counts(&self, value: &Held, _: usize, bins: &Bins) -> Result<Vec<u64>> {
        // Even: what is told of a file alone must be right.
        let each = known::<AnyTensor>(value).nnz().div_ceil(bins.count().max(1)) as u64;
        Ok(vec![each; bins.count()])
    }

    fn stored(&self, value: &Held) -> usize {
        known::<AnyTensor>(value).nnz()
    }

    fn first(&self, _: &Held, _: &Shape) -> Result<Option<Held>> {
        Ok(None)
    }
}
