//! Reading: files and stdin, with the options that all commands share.

use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use lacuna::dynamic::AnyValue;
use lacuna::io::{self, AnyTensor, FileFormat, ReadOptions};
use lacuna::{DType, Error};

use crate::args::{InputArgs, Reading};
use crate::failure::{Failure, unnamed};
use crate::names::is_stream;
use crate::progress::Bar;

/// An input file of the command, with the options for reading it.
pub(crate) struct File<'a> {
    pub(crate) path: &'a Path,
    pub(crate) from: Option<FileFormat>,
    pub(crate) options: ReadOptions,
}

impl Reading {
    /// Returns a file that is read with these options.
    pub(crate) fn file<'a>(&self, path: &'a Path) -> File<'a> {
        File { path, from: self.from, options: self.options() }
    }

    /// Returns another file, which shares only the memory limit with the first file.
    pub(crate) fn other_file<'a>(&self, path: &'a Path) -> File<'a> {
        File { path, from: None, options: self.beside() }
    }

    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.format = self.layout;
        options.dtype = self.dtype;
        options.fill = self.fill.clone();
        options.shape = self.shape.clone();
        #[cfg(feature = "parquet")]
        {
            options.columns = self.names.clone();
        }
        options.duplicates = self.duplicates.into();
        options.max_memory = self.max_memory;
        options
    }

    /// Returns the options for a second file, which share only the memory limit with the first file.
    fn beside(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.max_memory = self.max_memory;
        options
    }
}

impl InputArgs {
    /// Returns the file that the command names.
    #[cfg(feature = "parquet")]
    pub(crate) fn named(&self) -> File<'_> {
        self.reading.file(&self.file)
    }

    /// Reads the tensor of the file that the command names.
    pub(crate) fn read(&self) -> Result<AnyTensor, Failure> {
        read(&self.file, self.reading.from, &self.reading.options())
    }

    /// Reads a second file of the command, which shares only the memory limit with the first file.
    pub(crate) fn read_beside(&self, path: &Path, dtype: Option<DType>) -> Result<AnyTensor, Failure> {
        let mut options = self.reading.beside();
        options.dtype = dtype;
        read(path, None, &options)
    }

    /// Returns the header of the file that the command names.
    #[cfg(feature = "parquet")]
    pub(crate) fn header(&self) -> Result<AnyTensor, Failure> {
        let File { path, from, options } = self.named();
        match from {
            None if !is_stream(path) => {
                io::read_header(path, &options).map_err(|error| Failure::of_file(path, unnamed(error)))
            }
            _ => self.read(),
        }
    }

    /// Reads a second file without a known extension: a tensor, if its first bytes name a format, otherwise text.
    pub(crate) fn read_tensor_or_text(&self, path: &Path) -> Result<SecondFile, Failure> {
        let read = || -> lacuna::Result<SecondFile> {
            if path.is_dir() {
                return io::read(path, &self.reading.beside()).map(SecondFile::Tensor);
            }
            let mut reader: Box<dyn Read> =
                if is_stream(path) { Box::new(std::io::stdin().lock()) } else { Box::new(fs::File::open(path)?) };
            let mut head = Vec::new();
            reader.by_ref().take(HEAD).read_to_end(&mut head)?;
            let is_tensor = FileFormat::from_first_bytes(&head).is_some() || head.starts_with(&GZIP);
            let reader = Cursor::new(head).chain(reader);
            if is_tensor {
                return io::read_from(reader, None, &self.reading.beside()).map(SecondFile::Tensor).map_err(advised);
            }
            read_text(reader, self.reading.max_memory.unwrap_or(MOST_BYTES)).map(SecondFile::Text)
        };
        read().map_err(|error| Failure::of_file(path, error))
    }
}

/// Replaces the advice to name a format, which no option does for a second file. The new advice is to pass a compressed
/// list as text.
fn advised(error: Error) -> Error {
    match error {
        Error::Format { place, .. } if place == "the format" => {
            let message = "the first bytes of the decompressed data do not show a format; pass a list as text: gzip \
                           -dc FILE | lacuna … --indices-from -";
            Error::Format { place, message: message.into() }
        }
        error => error,
    }
}

/// The contents of a second file.
pub(crate) enum SecondFile {
    Tensor(AnyTensor),
    Text(String),
}

/// The bytes that a list of positions may take without `--max-memory`.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// The number of bytes that are read to detect the format of a file.
pub(crate) const HEAD: u64 = 4096;
/// The first bytes of a file compressed with gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads text of at most `limit` bytes.
fn read_text(reader: impl Read, limit: u64) -> lacuna::Result<String> {
    let mut text = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut text)?;
    match text.len() as u64 {
        bytes if bytes > limit => {
            Err(Error::TooLarge { what: "the list", bytes: bytes.into(), limit, instead: "raise --max-memory" })
        }
        _ => Ok(String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())),
    }
}

/// Reads a file, or stdin for `-`, as an operand of an expression. Arrays stay arrays. Errors name the file.
pub(crate) fn read_operand(path: &Path, from: Option<FileFormat>, options: &ReadOptions) -> Result<AnyValue, Failure> {
    let bar = Bar::new("reading", length(path));
    let mut options = options.clone();
    options.progress = bar.hook();
    let value = match from {
        _ if is_stream(path) => io::read_operand_from(std::io::stdin().lock(), from, &options),
        None => io::read_operand(path, &options),
        Some(from) if from.name() == "parquet" && path.is_dir() => io::read_operand(path, &options),
        Some(from) => {
            fs::File::open(path).map_err(Into::into).and_then(|file| io::read_operand_from(file, from, &options))
        }
    };
    value.map_err(|error| Failure::of_file(path, unnamed(error)))
}

/// Reads a file, or stdin for `-`. Errors name the file.
pub(crate) fn read(path: &Path, from: Option<FileFormat>, options: &ReadOptions) -> Result<AnyTensor, Failure> {
    let bar = Bar::new("reading", length(path));
    let mut options = options.clone();
    options.progress = bar.hook();
    let tensor = match from {
        _ if is_stream(path) => io::read_from(std::io::stdin().lock(), from, &options),
        None => io::read(path, &options),
        Some(from) if from.name() == "parquet" && path.is_dir() => io::read(path, &options),
        Some(from) => fs::File::open(path).map_err(Into::into).and_then(|file| io::read_from(file, from, &options)),
    };
    tensor.map_err(|error| Failure::of_file(path, unnamed(error)))
}

/// Returns the number of bytes of a regular file.
fn length(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok().filter(|_| !is_stream(path))?;
    metadata.is_file().then_some(metadata.len())
}
