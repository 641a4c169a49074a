//! Reading: files and stdin, with the options that every verb has.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use lacuna::io::{self, AnyTensor, FileFormat, ReadOptions};

use crate::args::{Input, Reading};
use crate::failure::Failure;

impl Reading {
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.format = self.format;
        options.dtype = self.dtype;
        options.fill = self.fill.clone();
        options.shape = self.shape.clone();
        options.duplicates = self.duplicates.into();
        options.max_memory = self.max_memory;
        options
    }
}

impl Input {
    /// The tensor of the file named.
    pub(crate) fn read(&self) -> Result<AnyTensor, Failure> {
        read(&self.file, self.reading.from, &self.reading.options())
    }

    /// A second file of the command, read with the same limit and no other option of the first.
    pub(crate) fn read_beside(&self, path: &Path) -> Result<AnyTensor, Failure> {
        let mut options = ReadOptions::default();
        options.max_memory = self.reading.max_memory;
        read(path, None, &options)
    }
}

/// Reads a file, or stdin for `-`; errors name it.
fn read(path: &Path, from: Option<FileFormat>, options: &ReadOptions) -> Result<AnyTensor, Failure> {
    let tensor = match (path.to_str(), from) {
        (Some("-"), from) => read_stream(std::io::stdin().lock(), from, options),
        (_, None) => io::read(path, options),
        (_, from) => std::fs::File::open(path).map_err(Into::into).and_then(|file| read_stream(file, from, options)),
    };
    tensor.map_err(|error| Failure::of_file(path, error))
}

/// Reads a stream in the format named, or in the one that its first bytes tell.
fn read_stream(stream: impl Read, from: Option<FileFormat>, options: &ReadOptions) -> lacuna::Result<AnyTensor> {
    let mut stream = BufReader::new(stream);
    let format = match from {
        Some(format) => Some(format),
        None => FileFormat::from_first_bytes(stream.fill_buf()?),
    };
    let Some(format) = format else {
        return Err(lacuna::Error::Format {
            place: "the first bytes".into(),
            message: "tell no format; name it with --from mtx, npy or npz".into(),
        });
    };
    io::read_from(stream, format, options)
}
