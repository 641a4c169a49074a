//! Verbs over files that do not fit memory.

use std::path::Path;

use lacuna::io::{self, AnyTensor, Dataset, FileFormat, ReadOptions, scan_any};
use lacuna::lazy::Chunks;
use lacuna::{Axes, Error, Result};

use crate::args::{Input, Output, Running};
use crate::failure::{Failure, unnamed};
use crate::names::is_stream;
use crate::output::{tell, write_options};
use crate::progress::Bar;
use crate::summary::Summary;

/// The bytes of values where --max-memory does not say.
const MEMORY: u64 = 1 << 30;

/// Runs a function, which treats positions along all axes but these apart, on a file in ranges. A table is written
/// range by range.
pub(crate) fn emit(
    (name, axes, run): (&'static str, Axes, impl Fn(&AnyTensor) -> Result<AnyTensor> + Send + Sync + 'static),
    input: &Input,
    running: &Running,
    output: &Output,
) -> std::result::Result<(), Failure> {
    let failed = |error: Error| Failure::of_file(&input.file, unnamed(of_step(error)));
    let bar = Bar::new("reading", Dataset::open(&input.file, &ReadOptions::default()).ok().map(|file| file.bytes()));
    let mut options = input.reading.options();
    let memory = options.max_memory.take().unwrap_or(MEMORY);
    options.progress = bar.hook();
    let mut engine = Chunks::memory(memory);
    if let Some(folder) = &running.spill {
        engine = engine.spill(folder);
    }
    let on = scan_any(&input.file, &options).map_err(failed)?.custom_over(name, axes, run).on(engine);
    let table = output.output.as_deref().filter(|path| is_table(path, output));
    let Some(path) = table else { return output.emit(&on.collect().map_err(failed)?, Some(memory)) };
    on.sink_any(path, &write_options(path, &output.writing)).map_err(failed)?;
    tell_table(path, output, memory).map_err(|error| Failure::of_target(path, error))?
}

/// Whether the result is to be a table, or a folder of them.
fn is_table(path: &Path, output: &Output) -> bool {
    let format = output.writing.to.or(FileFormat::from_path(path));
    format == Some(FileFormat::Parquet) && !is_stream(path)
}

/// An error without the line of this program that made the step.
fn of_step(error: Error) -> Error {
    match error {
        Error::Lazy { cause, .. } => *cause,
        error => error,
    }
}

/// Tells what was written, with its entries if they fit memory.
fn tell_table(path: &Path, output: &Output, memory: u64) -> Result<std::result::Result<(), Failure>> {
    let dataset = Dataset::open(path, &ReadOptions::default())?;
    let bytes = dataset.nnz().saturating_mul(16 * (dataset.shape().rank() as u64 + 1));
    if bytes <= memory {
        return Ok(tell(&Summary::new(&io::read(path, &ReadOptions::default())?), &output.telling, false));
    }
    Ok(tell(&Summary::of_header(&dataset.header()?, dataset.nnz()), &output.telling, false))
}
