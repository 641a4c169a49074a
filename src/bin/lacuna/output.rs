//! Writing and printing results.

use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;

use lacuna::dynamic::AnyValue;
use lacuna::io::{self, AnyTensor, Compression, FileFormat, WriteOptions};

use crate::args::{Output, Printing, Writing};
use crate::failure::Failure;
use crate::names::is_stream;
use crate::progress::Bar;
use crate::summary::Summary;

/// The bytes of an element of the largest type.
const MOST_BYTES_OF_ELEMENT: u64 = 16;

/// The bytes that a dense file may always take.
const MOST_DENSE: u64 = 1 << 30;

impl Output {
    /// Writes the result if a file is named, and prints a summary.
    pub(crate) fn emit(&self, result: impl Into<AnyValue>, max_memory: Option<u64>) -> Result<(), Failure> {
        let result = result.into();
        match (&self.output, &result) {
            (Some(path), AnyValue::Tensor(tensor)) => write(path, &self.writing, tensor, max_memory)?,
            (Some(path), AnyValue::Array(array)) => {
                // A dense file is at most as large as the array.
                let bytes = (array.len() as u64).saturating_mul(MOST_BYTES_OF_ELEMENT).max(MOST_DENSE);
                let tensor = array.from_dense().map_err(|error| Failure::of_target(path, error))?;
                write(path, &self.writing, &tensor, max_memory.or(Some(bytes)))?;
            }
            (None, _) => {}
        }
        let to_stderr = self.output.as_deref().is_some_and(is_stream);
        print_summary(&Summary::new((&result).into()), &self.printing, to_stderr)
    }
}

/// Returns the options for writing a file.
pub(crate) fn write_options(path: &Path, writing: &Writing) -> WriteOptions {
    let mut options = WriteOptions::default();
    let compression = if writing.uncompressed { Compression::None } else { Compression::Usual };
    options.compression = compression.for_path(path);
    options
}

/// Writes a tensor to a file, or to stdout for `-`.
pub(crate) fn write(
    path: &Path,
    writing: &Writing,
    tensor: &AnyTensor,
    max_memory: Option<u64>,
) -> Result<(), Failure> {
    let bar = Bar::new("writing", None);
    let mut options = write_options(path, writing);
    options.max_memory = max_memory;
    options.progress = bar.hook();
    let written = match writing.to {
        None => io::write(path, tensor, &options),
        // A path may name a folder, which only `io::write` can write.
        Some(to) if FileFormat::from_path(path) == Some(to) => io::write(path, tensor, &options),
        Some(to) if is_stream(path) => to_bytes(to, tensor, &options).and_then(|bytes| write_stdout(&bytes)),
        Some(to) => io::save(path, |file| io::write_to(file, to, tensor, &options)),
    };
    written.map_err(|error| Failure::of_target(path, error))
}

/// Returns the bytes of the file. Bytes go to stdout only after the whole file is in memory, so an error leaves stdout
/// empty.
fn to_bytes(to: FileFormat, tensor: &AnyTensor, options: &WriteOptions) -> lacuna::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::write_to(&mut bytes, to, tensor, options)?;
    Ok(bytes)
}

/// Writes bytes to stdout, at the request of the user. A closed stdout is an error.
pub(crate) fn write_stdout(bytes: &[u8]) -> lacuna::Result<()> {
    if is_stdout_closed() {
        let why = "it is closed; /dev/null opened for reading and writing looks closed too";
        return Err(std::io::Error::other(why).into());
    }
    let mut stdout = stdout().lock();
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

/// Prints a summary as text or as JSON.
pub(crate) fn print_summary(summary: &Summary<'_>, printing: &Printing, to_stderr: bool) -> Result<(), Failure> {
    let write_to = |target: &mut dyn Write| {
        let mut writer = BufWriter::new(target);
        match printing.json {
            true => summary.json(printing.limit(), &mut writer)?,
            false => summary.text(printing.limit(), &mut writer)?,
        }
        writer.flush()
    };
    let (printed, target) = match to_stderr {
        true => (write_to(&mut stderr().lock()), "stderr"),
        false => (write_to(&mut stdout().lock()), "-"),
    };
    printed.map_err(|error| Failure::of_target(Path::new(target), error))
}

/// Prints to stdout.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    let printed = stdout.write_all(bytes).and_then(|()| stdout.flush());
    printed.map_err(|error| Failure::of_target(Path::new("-"), error))
}

/// Returns whether stdout was closed when the program started. The Rust runtime then opens `/dev/null` for reading and
/// writing; `>/dev/null` opens it only for writing.
#[cfg(target_os = "linux")]
fn is_stdout_closed() -> bool {
    const ACCESS: u32 = 0b11;
    const READ_WRITE: u32 = 0b10;
    let is_null = std::fs::read_link("/proc/self/fd/1").is_ok_and(|path| path == Path::new("/dev/null"));
    let about = std::fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
    let flags = about.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    is_null && flags.is_some_and(|flags| flags & ACCESS == READ_WRITE)
}

#[cfg(not(target_os = "linux"))]
fn is_stdout_closed() -> bool {
    false
}
