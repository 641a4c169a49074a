//! Arguments that many commands share: how a file is read, and how the result is written or printed.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use lacuna::io::{FileFormat, Format};
use lacuna::{DType, Shape};

use super::words::{DuplicatesArg, dtypes, file_formats, formats, parse_bytes, parse_count, parse_fill, parse_shape};

/// The file that a command reads, and how it is read.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// The file to read; `-` for stdin
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The heading of the reading options in the help of a command.
const READING: &str = "Options for reading";

/// How a file is read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The format that the operation runs on [default: the file's own, coo where it does not say]
    #[arg(long, help_heading = READING, value_parser = formats(), value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// The element type to convert to; a value that does not fit is an error, a float is rounded
    #[arg(long, help_heading = READING, value_parser = dtypes(), value_name = "NAME")]
    pub(crate) dtype: Option<DType>,
    /// The value of a gap in .mtx, .tns and scipy's .npz; for .npy, which value is left unstored [default: 0]
    #[arg(long, help_heading = READING, value_parser = parse_fill, allow_hyphen_values = true, value_name = "V")]
    pub(crate) fill: Option<String>,
    /// The shape: of a .tns, whose entries tell only the least one; any other file must have it
    #[arg(long, help_heading = READING, value_parser = parse_shape, allow_negative_numbers = true,
          value_name = "N,M,…")]
    pub(crate) shape: Option<Shape>,
    /// The columns of the axes and then of the values, for a .parquet without a description of a tensor
    #[cfg(feature = "parquet")]
    #[arg(long, help_heading = READING, value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) names: Option<Vec<String>>,
    /// The rule for entries that the file repeats
    #[arg(long, help_heading = READING, value_enum, default_value_t = DuplicatesArg::Sum, value_name = "RULE")]
    pub(crate) duplicates: DuplicatesArg,
    /// The most memory that a file may take: bytes, or with K, M, G or T [default: in proportion to the file]
    #[arg(long, help_heading = READING, value_parser = parse_bytes, allow_negative_numbers = true,
          value_name = "BYTES")]
    pub(crate) max_memory: Option<u64>,
    /// The file format, where neither extension nor first bytes tell
    #[arg(long, help_heading = READING, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
}

/// The place and the form of the result.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write the result to a file; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

/// How a file is written.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// The format of the file written, where its extension does not tell
    #[arg(long, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT", requires = "output")]
    pub(crate) to: Option<FileFormat>,
    #[cfg_attr(feature = "parquet", doc = " Write a .npz or a .parquet without compression: larger, and in less time")]
    #[cfg_attr(not(feature = "parquet"), doc = " Write a .npz without compression: larger, and in less time")]
    #[arg(long, requires = "output")]
    pub(crate) store: bool,
}

/// How a tensor is told.
#[derive(Debug, Args)]
pub(crate) struct Telling {
    /// Print the summary as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// List so many entries [default: 10; as JSON all of at most 1000, else none]
    #[arg(long, value_parser = parse_count, allow_negative_numbers = true, value_name = "N", conflicts_with = "all")]
    pub(crate) head: Option<usize>,
    /// List all entries
    #[arg(long)]
    pub(crate) all: bool,
}

/// Where and in what parts the work is done.
#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    #[cfg_attr(
        feature = "parquet",
        doc = " The engine: `chunks` for tables that do not fit memory, whose values then take --max-memory"
    )]
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
