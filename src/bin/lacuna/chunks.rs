//! Expressions over files larger than memory.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use lacuna::dynamic::AnyValue;
use lacuna::eval::{Bound, Expression, Fault};
use lacuna::io::{AnyTensor, Dataset, FileFormat, ReadOptions, scan_any};
use lacuna::lazy::{Chunks, On};
use lacuna::{Error, Result};

use crate::args::{EngineArgs, Output};
use crate::failure::{Failure, unnamed};
use crate::input::{File, HEAD, read, read_operand};
use crate::names::{can_be_read_again, is_stream};
use crate::output::{print_summary, write_options};
use crate::progress::Bar;
use crate::summary::Summary;

/// The memory for values in bytes, if --max-memory is not set.
const MEMORY: u64 = 1 << 30;

/// The bytes that any file may take in memory, plus 128 bytes per byte of the file.
const TRUSTED: u64 = 64 << 20;

/// The engine, with its memory limit.
pub(crate) struct ChunkEngine {
    memory: u64,
    chunks: Chunks,
}

impl ChunkEngine {
    pub(crate) fn new(running: &EngineArgs, max_memory: Option<u64>) -> Self {
        let memory = max_memory.unwrap_or(MEMORY);
        let chunks = Chunks::memory(memory);
        let chunks = match &running.spill {
            Some(folder) => chunks.spill(folder),
            None => chunks,
        };
        ChunkEngine { memory, chunks }
    }

    /// Returns an expression over bound values, ready to run on the engine.
    pub(crate) fn on(
        &self,
        expression: &Expression,
        bound: &Bindings,
    ) -> std::result::Result<On<AnyValue, Chunks>, Fault> {
        Ok(expression.graph(|name| bound.get(name))?.on(self.chunks.clone()))
    }

    /// Runs an expression in chunks of its files. A table is written chunk by chunk.
    pub(crate) fn emit(
        &self,
        expression: &Expression,
        bound: &Bindings,
        output: &Output,
        failure_of: impl Fn(Fault) -> Failure,
    ) -> std::result::Result<(), Failure> {
        let on = self.on(expression, bound).map_err(&failure_of)?;
        let failed = |error: Error| match of_step(error) {
            // The path in the error need not be one of the input files.
            error @ Error::Io { path: Some(_), .. } => Failure::Message(error.to_string()),
            error => failure_of(Fault::Run(error)),
        };
        let Some(path) = output.output.as_deref().filter(|path| is_table(path, output)) else {
            return output.emit(on.collect().map_err(failed)?, Some(self.memory));
        };
        on.sink_any(path, &write_options(path, &output.writing)).map_err(failed)?;
        summarize_table(path, output).map_err(|error| Failure::of_target(path, error))?
    }
}

/// The values bound to the names of an expression.
#[derive(Default)]
pub(crate) struct Bindings {
    bound: HashMap<String, Bound>,
    /// The progress bars, which are removed when the work is done.
    bars: Vec<Bar>,
}

impl Bindings {
    fn get(&self, name: &str) -> Option<Bound> {
        self.bound.get(name).cloned()
    }

    /// Binds a name to a tensor.
    pub(crate) fn tensor(&mut self, name: String, tensor: AnyTensor) {
        self.bound.insert(name, tensor.into());
    }

    /// Binds a name to a file. A table is read in chunks, when its entries are needed. Other files are read now. A file
    /// with an array is an array, unless a tensor is needed.
    pub(crate) fn file(&mut self, name: String, file: &File<'_>, is_tensor: bool) -> std::result::Result<(), Failure> {
        let of_file = |error: Error| Failure::of_file(file.path, unnamed(error));
        let bound = match (is_scanned(file), is_tensor) {
            (true, _) => self.scanned(file).map_err(of_file)?,
            (false, true) => read(file.path, file.from, &file.options)?.into(),
            (false, false) => read_operand(file.path, file.from, &file.options)?.into(),
        };
        self.bound.insert(name, bound);
        Ok(())
    }

    fn scanned(&mut self, file: &File<'_>) -> Result<Bound> {
        let mut options = file.options.clone();
        let memory = options.max_memory.take().unwrap_or(MEMORY);
        let dataset = Dataset::open(file.path, &options)?;
        // The engine limits the memory of each chunk. Without a limit, a reader allows memory in proportion to the
        // file.
        options.max_memory = (memory > TRUSTED.saturating_add(dataset.bytes().saturating_mul(128))).then_some(memory);
        let bar = Bar::new("reading", Some(dataset.bytes()));
        options.progress = bar.hook();
        self.bars.push(bar);
        Ok(Bound::later(scan_any(file.path, &options)?, dataset.header()?))
    }
}

/// Returns whether a file is read in chunks. If the name does not determine the format, the first bytes do, as for a
/// file that is read into memory. A pipe is not read in chunks: its bytes can be read only once, in order.
fn is_scanned(file: &File<'_>) -> bool {
    let named = || file.from.or_else(|| FileFormat::from_path(file.path));
    let format = || named().or_else(|| FileFormat::from_first_bytes(&head(file.path)));
    can_be_read_again(file.path) && (file.path.is_dir() || format() == Some(FileFormat::Parquet))
}

/// Returns the first bytes of a file.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(HEAD).read_to_end(&mut head);
    }
    head
}

/// Returns whether the result is written as a table or a folder of tables.
fn is_table(path: &Path, output: &Output) -> bool {
    let format = output.writing.to.or(FileFormat::from_path(path));
    format == Some(FileFormat::Parquet) && !is_stream(path)
}

/// Returns the error without the source line of this program that constructed the operation.
fn of_step(error: Error) -> Error {
    match error {
        Error::Lazy { cause, .. } => *cause,
        error => error,
    }
}

/// Prints a summary of the written table. Only the listed entries are read again.
fn summarize_table(path: &Path, output: &Output) -> Result<std::result::Result<(), Failure>> {
    let dataset = Dataset::open(path, &ReadOptions::default())?;
    Ok(print_summary(&Summary::of_dataset(&dataset.header()?, &dataset), &output.printing, false))
}
