//! Tables whose types are known at run time, as the beginning and the end of a graph.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::Result;
use crate::dispatch;
use crate::dynamic::AnyTensor;
use crate::io::options::{ReadOptions, WriteOptions};
use crate::io::parquet::{Dataset, DatasetWriter};
use crate::io::scan::{Scanned, Sink};
use crate::io::write::FileTensor;
use crate::lazy::source::Held;
use crate::lazy::{Engine, Lazy, On};

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
    let dataset = Dataset::open(path, options)?.told_as_one();
    let width = size_of::<num_complex::Complex64>();
    Ok(Lazy::from_source("scan", Arc::new(Scanned::new(dataset, width, |tensor| Ok(Arc::new(tensor) as Held)))))
}

impl<E: Engine> On<AnyTensor, E> {
    /// Computes the value and writes it to Parquet, as [`sink`](On::sink) does for types known at compile time.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn sink_any(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let Some(shape) = self.shape() else {
            let mut writer = DatasetWriter::create(path, options)?.within(self.memory());
            self.collect()?.push_to(&mut writer)?;
            return writer.finish();
        };
        let mut sink = Sink::create(path.as_ref(), options, shape, self.memory())?;
        self.pour(|x| dispatch!(x, x => sink.push(x.sparse())))?;
        sink.finish()
    }
}
