//! Dynamically typed tables, as the source and the target of a graph.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::Result;
use crate::dispatch;
use crate::dynamic::AnyValue;
use crate::io::options::{ReadOptions, WriteOptions};
use crate::io::parquet::{Dataset, DatasetWriter};
use crate::io::scan::{ChunkSink, Scanned};
use crate::io::write::FileTensor;
use crate::lazy::source::ErasedValue;
use crate::lazy::{Engine, Lazy, On};

/// Returns a Parquet file or folder as the dynamically typed source of a lazy graph.
///
/// The value of the source is a tensor. The options set the element type. Without this option, the element type is the
/// type of the file. [`scan`](crate::io::scan) returns a source with static types.
///
/// # Errors
///
/// The errors of [`Dataset::open`](crate::io::Dataset::open).
///
/// # Examples
///
/// ```
/// use lacuna::dynamic::AnyOperand;
/// use lacuna::io::{ReadOptions, WriteOptions, scan_any, write};
/// use lacuna::lazy::Chunks;
/// use lacuna::{Axes, CooTensor};
///
/// let path = std::env::temp_dir().join("lacuna-scan-any-example.parquet");
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3_i16, -1], 0)?;
/// write(&path, &x, &WriteOptions::default())?;
///
/// let scanned = scan_any(&path, &ReadOptions::default())?;
/// let sums = scanned.custom_over("sum", 1, |x| AnyOperand::from(x).sum(1));
/// let found = sums.on(Chunks::memory(64 << 20)).collect()?;
/// assert_eq!(found.into_tensor()?.into_coo::<i64, u32>()?, x.sum(1)?);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
#[track_caller]
pub fn scan_any(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Lazy<AnyValue>> {
    let dataset = Dataset::open(path, options)?.with_common_progress();
    let width = size_of::<num_complex::Complex64>();
    Ok(Lazy::from_source(
        "scan",
        Arc::new(Scanned::new(dataset, width, |tensor| Ok(Arc::new(AnyValue::from(tensor)) as ErasedValue))),
    ))
}

impl<E: Engine> On<AnyValue, E> {
    /// Computes the value and writes it to Parquet, as [`sink`](On::sink) does.
    ///
    /// The value is dynamically typed. If the value is an array, the file stores the elements that are not 0.
    ///
    /// # Errors
    ///
    /// The errors of [`sink`](On::sink).
    pub fn sink_any(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let Some(shape) = self.shape() else {
            let mut writer = DatasetWriter::create(path, options)?.within(self.memory());
            self.collect()?.into_tensor()?.push_to(&mut writer)?;
            return writer.finish();
        };
        let mut sink = ChunkSink::create(path.as_ref(), options, shape, self.memory())?;
        self.for_each_chunk(|x| dispatch!(x.clone().into_tensor()?, x => sink.push(x.sparse())))?;
        sink.finish()
    }
}
