//! Reading: files and stdin, with the options that every verb has.

use std::fs::File;
use std::path::Path;

use lacuna::io::{self, AnyTensor, FileFormat, ReadOptions};

use crate::args::{Input, Reading};
use crate::failure::{Failure, unnamed};
use crate::progress::Bar;
use crate::usage::is_stream;

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
    let bar = Bar::new("reading", length(path));
    let mut options = options.clone();
    options.progress = bar.hook();
    let tensor = match from {
        _ if is_stream(path) => io::read_from(std::io::stdin().lock(), from, &options),
        None => io::read(path, &options),
        Some(from) => File::open(path).map_err(Into::into).and_then(|file| io::read_from(file, from, &options)),
    };
    tensor.map_err(|error| Failure::of_file(path, unnamed(error)))
}

/// The bytes of a regular file.
fn length(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok().filter(|_| !is_stream(path))?;
    metadata.is_file().then_some(metadata.len())
}
