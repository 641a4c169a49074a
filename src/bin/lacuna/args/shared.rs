//! Arguments that many commands share: how a file is read, and how the result is written or printed.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use lacuna::io::{FileFormat, Format};
use lacuna::{DType, Shape};

use super::words::{DuplicatesArg, dtypes, file_formats, formats, parse_bytes, parse_fill, parse_limit, parse_shape};

/// The file that a command reads, with the options for reading.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The file to read; `-` for stdin
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The headings of options that many commands share. The short help leaves these options out.
const READING: &str = "Options for reading";
const WRITING: &str = "Options for writing and printing";

/// The options for reading a file.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Layout for the operation [default: that of the file, otherwise coo]
    #[arg(long, alias = "format", help_heading = READING, value_parser = formats(), value_name = "LAYOUT")]
    pub(crate) layout: Option<Format>,
    /// Convert to this element type, rounding floats; values must fit
    #[arg(long, help_heading = READING, value_parser = dtypes(), value_name = "NAME")]
    pub(crate) dtype: Option<DType>,
    /// Fill of .mtx, .tns, scipy's .npz; value to omit for .npy [default: 0]
    #[arg(long, help_heading = READING, value_parser = parse_fill, allow_hyphen_values = true, value_name = "V")]
    pub(crate) fill: Option<String>,
    /// Shape for files without one, such as .tns; must equal a stated shape
    #[arg(long, help_heading = READING, value_parser = parse_shape, allow_negative_numbers = true,
          value_name = "N,M,…")]
    pub(crate) shape: Option<Shape>,
    /// Column names of a .parquet without tensor metadata: axes, then values
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = READING, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) names: Option<Vec<String>>,
    /// Rule for repeated entries
    #[arg(long, help_heading = READING, value_enum, default_value_t = DuplicatesArg::Sum, value_name = "RULE")]
    pub(crate) duplicates: DuplicatesArg,
    /// Memory limit in bytes, or with K, M, G or T [default: by file size]
    #[arg(long, help_heading = READING, value_parser = parse_bytes, allow_negative_numbers = true,
          value_name = "BYTES")]
    pub(crate) max_memory: Option<u64>,
    /// File format, if it cannot be detected
    #[arg(long, help_heading = READING, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
}

/// The target and the format of the result.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write the result to a file; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// The options for writing a file.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// Output format, if not named by the extension
    #[arg(long, help_heading = WRITING, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT",
          requires = "output")]
    pub(crate) to: Option<FileFormat>,
    #[cfg_attr(feature = "parquet", doc = " Write a .npz or a .parquet without compression: larger, but faster")]
    #[cfg_attr(not(feature = "parquet"), doc = " Write a .npz without compression: larger, but faster")]
    #[arg(long, alias = "store", help_heading = WRITING, requires = "output")]
    pub(crate) uncompressed: bool,
}

/// The options for printing a tensor.
#[derive(Debug, Args)]
pub(crate) struct Printing {
    /// Print the summary as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Entries to list [default: 10; JSON: all up to 1000, otherwise none]
    #[arg(long, alias = "head", help_heading = WRITING, value_parser = parse_limit, allow_negative_numbers = true,
          value_name = "N|all", conflicts_with = "all")]
    limit: Option<usize>,
    // The former spelling of `--limit all`.
    #[arg(long, hide = true)]
    all: bool,
}

impl Printing {
    /// Returns the largest number of entries that the summary lists, if the user set it.
    pub(crate) fn limit(&self) -> Option<usize> {
        if self.all { Some(usize::MAX) } else { self.limit }
    }
}

/// The engine, and the folder for its temporary files.
#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    #[cfg_attr(feature = "parquet", doc = " The engine; `chunks` for tables larger than memory")]
    // Builds with one engine hide the option, but accept it: scripts may use it.
    #[cfg_attr(not(feature = "parquet"), doc = " The engine", arg(hide = true))]
    #[arg(long, help_heading = READING, value_parser = engines(), default_value = "threads", value_name = "ENGINE")]
    pub(crate) engine: String,
    /// The folder for temporary files of `chunks` [default: the system's]
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = READING, value_name = "FOLDER")]
    pub(crate) spill: Option<PathBuf>,
}

impl EngineArgs {
    /// Returns whether the engine processes files in chunks.
    pub(crate) fn is_in_chunks(&self) -> bool {
        self.engine == "chunks"
    }
}

/// Returns the names of the engines in this build.
fn engines() -> PossibleValuesParser {
    PossibleValuesParser::new(if cfg!(feature = "parquet") { &["threads", "chunks"][..] } else { &["threads"] })
}
