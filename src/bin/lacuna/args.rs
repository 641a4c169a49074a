//! The arguments of every verb.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lacuna::io::{FileFormat, Format};
use lacuna::{Axes, DType, Duplicates, Element, EvenCount, Number, Shape, TakeMode, dispatch_dtype};

/// Sparse tensors on the command line: questions asked of a file, without building its dense form.
///
/// Files: Matrix Market (.mtx), FROSTT (.tns), .npy, each also with .gz after it, and .npz of scipy and of pydata/sparse;
/// `-` is stdin or stdout.
///
/// Exit status: 0; 1 for an error; 2 for wrong usage.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Each verb has a help of its own, such as: lacuna any --help\n\n\
                        Example: lacuna nanmedian tests/data/titanic.npz --axis 1,2,3")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show what a file holds
    #[command(after_help = "Example: lacuna info tests/data/karate.mtx")]
    Info(InfoArgs),
    /// Write a tensor in another file format
    #[command(after_help = "Example: lacuna convert tests/data/karate.mtx karate.npz")]
    Convert(ConvertArgs),
    /// Whether any element is not zero, over axes
    #[command(after_help = "Example: lacuna any tests/data/titanic.npz --axis 3")]
    Any(ReduceArgs),
    /// Which elements are members of a set
    #[command(after_help = "Example: lacuna isin tests/data/titanic.npz --values 0,13,14")]
    Isin(IsinArgs),
    /// Elements at positions, flattened (row-major) or along an axis
    #[command(after_help = "Example: lacuna take tests/data/karate.mtx --axis 0 --indices 0,-1")]
    Take(TakeArgs),
    /// Median without the NaNs, over axes
    #[command(after_help = "Example: lacuna nanmedian tests/data/mauna_loa_co2.mtx --axis 1 --stored-only")]
    Nanmedian(NanmedianArgs),
    /// Which elements are +inf
    #[command(after_help = "Example: lacuna isposinf tests/data/mauna_loa_co2_monthly.npz")]
    Isposinf(ElementwiseArgs),
    /// Which elements are -inf
    #[command(after_help = "Example: lacuna isneginf tests/data/mauna_loa_co2_monthly.npz")]
    Isneginf(ElementwiseArgs),
    /// Which elements are infinite
    #[command(after_help = "Example: lacuna isinf tests/data/mauna_loa_co2_monthly.npz")]
    Isinf(ElementwiseArgs),
    /// Which elements are NaN
    #[command(after_help = "Example: lacuna isnan tests/data/mauna_loa_co2.mtx -o missing.npz")]
    Isnan(ElementwiseArgs),
    /// Which elements are neither NaN nor infinite
    #[command(after_help = "Example: lacuna isfinite tests/data/mauna_loa_co2.mtx")]
    Isfinite(ElementwiseArgs),
    /// Which elements have no imaginary part
    #[command(after_help = "Example: lacuna isreal tests/data/pauli_sum.mtx")]
    Isreal(ElementwiseArgs),
    /// A picture of where the entries are
    #[command(after_help = "Example: lacuna spy tests/data/karate.mtx\n         \
                      lacuna spy tests/data/karate.mtx -o karate.png")]
    Spy(SpyArgs),
    /// The gradient of the input, from that of the output
    #[command(subcommand, after_help = "Example: lacuna backward any --help")]
    Backward(BackwardVerb),
    /// Print what makes a shell complete the words of this program
    #[command(after_help = "Example: lacuna completions bash")]
    Completions(CompletionsArgs),
    /// Print the manual
    #[command(after_help = "Example: lacuna man\n         lacuna man --dir man1")]
    Man(ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackwardVerb {
    /// The surrogate gradient of `any`
    #[command(after_help = "Example: lacuna nanmedian tests/data/titanic.npz --axis 3 -o g.npz\n         \
                      lacuna backward any tests/data/titanic.npz --axis 3 --grad g.npz")]
    Any(Backward<Reduce>),
    /// The gradient of `take`
    #[command(after_help = "Example: lacuna take tests/data/karate.mtx --axis 0 --indices 0,-1 -o g.npz\n         \
                      lacuna backward take tests/data/karate.mtx --axis 0 --indices 0,-1 --grad g.npz")]
    Take(Backward<Take>),
    /// The gradient of `nanmedian`
    #[command(after_help = "Example: lacuna nanmedian tests/data/mauna_loa_co2.mtx --axis 1 -o g.npz\n         \
                      lacuna backward nanmedian tests/data/mauna_loa_co2.mtx --axis 1 --grad g.npz")]
    Nanmedian(Backward<Nanmedian>),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write it to a folder instead, one page for each verb
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

/// What is read, and how.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The file to read; `-` for stdin
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The part of the help that stands below what a verb has of its own.
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
    #[arg(long, help_heading = READING, value_parser = parse_shape, allow_negative_numbers = true, value_name = "N,M,…")]
    pub(crate) shape: Option<Shape>,
    /// What becomes of entries that the file repeats
    #[arg(long, help_heading = READING, value_enum, default_value_t = DuplicatesArg::Sum, value_name = "RULE")]
    pub(crate) duplicates: DuplicatesArg,
    /// The most memory that a file may take: bytes, or with K, M, G or T [default: in proportion to the file]
    #[arg(long, help_heading = READING, value_parser = parse_bytes, allow_negative_numbers = true, value_name = "BYTES")]
    pub(crate) max_memory: Option<u64>,
    /// The file format, where neither extension nor first bytes tell
    #[arg(long, help_heading = READING, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
}

/// What becomes of the result.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write the result to a file; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

/// How the result is told.
#[derive(Debug, Args)]
pub(crate) struct Telling {
    /// The format of the file written, where its extension does not tell
    #[arg(long, value_parser = file_formats(), ignore_case = true, value_name = "FORMAT")]
    pub(crate) to: Option<FileFormat>,
    /// Print the summary as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print what it holds as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write; `-` for stdout
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Args)]
pub(crate) struct ElementwiseArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Write the picture to a file, .png or .svg; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The kind of picture written, where the extension does not tell
    #[arg(long, value_enum, value_name = "png|svg", hide_possible_values = true)]
    pub(crate) to: Option<Picture>,
    /// The width of the picture in the terminal, 24 to 400 characters [default: the terminal's, else 80]
    #[arg(long, value_parser = parse_columns, allow_negative_numbers = true, value_name = "N")]
    pub(crate) columns: Option<usize>,
    /// Print the summary of the tensor as a JSON object, in place of a picture in the terminal
    #[arg(long)]
    pub(crate) json: bool,
}

/// The kinds of picture that are written to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    Png,
    Svg,
}

impl Picture {
    /// The kind that the extension of a path names.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        Picture::from_str(path.extension()?.to_str()?, true).ok()
    }
}

/// The axes of a reduction.
#[derive(Debug, Args)]
pub(crate) struct Reduce {
    /// The axes to reduce: all, none, or numbers; negative ones count from the end
    #[arg(long, value_parser = parse_axes, allow_hyphen_values = true, default_value = "all", value_name = "AXES")]
    axis: Axes,
    /// Keep reduced axes, with length 1
    #[arg(long)]
    keep_dims: bool,
}

impl Reduce {
    pub(crate) fn axes(&self) -> Axes {
        self.axis.clone().with_keep_dims(self.keep_dims)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReduceArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) reduce: Reduce,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A reduction by the median.
#[derive(Debug, Args)]
pub(crate) struct Nanmedian {
    #[command(flatten)]
    pub(crate) reduce: Reduce,
    /// The median of an even count: the mean of the middle two, or the lower one
    #[arg(long, value_enum, default_value_t = EvenArg::Mean, value_name = "RULE")]
    pub(crate) even: EvenArg,
    /// Leave out what is not stored
    #[arg(long)]
    pub(crate) stored_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NanmedianArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) nanmedian: Nanmedian,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("set").required(true))]
pub(crate) struct IsinArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The members of the set, in the tensor's element type; '' is the empty set
    #[arg(long, value_parser = parse_values, allow_hyphen_values = true, value_name = "V,V,…",
          group = "set")]
    pub(crate) values: Option<Values>,
    /// A file whose elements are the members; compared by exact value
    #[arg(long, value_name = "FILE", group = "set")]
    pub(crate) values_from: Option<PathBuf>,
    /// Tell which elements are not members
    #[arg(long)]
    pub(crate) invert: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is taken.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("positions").required(true))]
pub(crate) struct Take {
    /// The positions; negative ones count from the end (with `--mode clip` they become 0)
    #[arg(long, value_parser = parse_indices, allow_hyphen_values = true, value_name = "I,I,…",
          group = "positions")]
    pub(crate) indices: Option<Indices>,
    /// A file of integers, whose shape the result has
    #[arg(long, value_name = "FILE", group = "positions")]
    pub(crate) indices_from: Option<PathBuf>,
    /// A position out of range: an error, or wrapped around, or clipped to the nearest
    #[arg(long, value_enum, default_value_t = ModeArg::Raise, value_name = "MODE")]
    pub(crate) mode: ModeArg,
    /// Take along this axis, not from the flattened tensor
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, value_name = "N")]
    pub(crate) axis: Option<isize>,
}

#[derive(Debug, Args)]
pub(crate) struct TakeArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) take: Take,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A gradient: the forward's own arguments, and the upstream gradient.
#[derive(Debug, Args)]
pub(crate) struct Backward<A: Args> {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The upstream gradient: a file of the output's shape
    #[arg(long, value_name = "FILE")]
    pub(crate) grad: PathBuf,
    #[command(flatten)]
    pub(crate) forward: A,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Words between commas, each a number.
#[derive(Debug, Clone)]
pub(crate) struct Values(pub(crate) Vec<String>);

/// Positions between commas.
#[derive(Debug, Clone)]
pub(crate) struct Indices(pub(crate) Vec<i64>);

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum DuplicatesArg {
    Sum,
    First,
    Last,
    Min,
    Max,
    Or,
    Error,
}

impl From<DuplicatesArg> for Duplicates {
    fn from(argument: DuplicatesArg) -> Self {
        match argument {
            DuplicatesArg::Sum => Duplicates::Sum,
            DuplicatesArg::First => Duplicates::First,
            DuplicatesArg::Last => Duplicates::Last,
            DuplicatesArg::Min => Duplicates::Min,
            DuplicatesArg::Max => Duplicates::Max,
            DuplicatesArg::Or => Duplicates::LogicalOr,
            DuplicatesArg::Error => Duplicates::Error,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EvenArg {
    Mean,
    Lower,
}

impl From<EvenArg> for EvenCount {
    fn from(argument: EvenArg) -> Self {
        match argument {
            EvenArg::Mean => EvenCount::Mean,
            EvenArg::Lower => EvenCount::Lower,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    Raise,
    Wrap,
    Clip,
}

impl From<ModeArg> for TakeMode {
    fn from(argument: ModeArg) -> Self {
        match argument {
            ModeArg::Raise => TakeMode::Raise,
            ModeArg::Wrap => TakeMode::Wrap,
            ModeArg::Clip => TakeMode::Clip,
        }
    }
}

type Parsed<T> = Result<T, String>;

/// Refuses a word that is an option, where a value that may start with a minus is expected.
pub(crate) fn not_an_option(word: &str) -> Parsed<&str> {
    if word.starts_with("--") || word.starts_with("-o") {
        return Err(format!("`{word}` is an option (a value may start with one minus, as -1 does)"));
    }
    Ok(word)
}

/// Words between commas; none in an empty text.
fn split_list(text: &str) -> Parsed<impl Iterator<Item = &str>> {
    let text = not_an_option(text)?.trim();
    Ok(text.split(',').map(str::trim).filter(move |_| !text.is_empty()))
}

fn parse_axis(word: &str) -> Parsed<isize> {
    not_an_option(word)?.trim().parse().map_err(|_| "an axis is a number; negative ones count from the end".into())
}

fn parse_axes(text: &str) -> Parsed<Axes> {
    match text.trim() {
        "all" => Ok(Axes::all()),
        "none" => Ok(Axes::none()),
        "" => Err("name the axes: all, none, or numbers such as 0,-1".into()),
        text => split_list(text)?.map(parse_axis).collect::<Parsed<Vec<_>>>().map(Axes::from),
    }
}

fn parse_values(text: &str) -> Parsed<Values> {
    let number = |word: &str| match word.parse::<Number>() {
        Ok(_) => Ok(word.to_string()),
        Err(_) => Err(format!("`{word}` is no number")),
    };
    Ok(Values(split_list(text)?.map(number).collect::<Parsed<_>>()?))
}

fn parse_indices(text: &str) -> Parsed<Indices> {
    let index = |word: &str| word.parse().map_err(|_| format!("`{word}` is no integer of 64 bits"));
    Ok(Indices(split_list(text)?.map(index).collect::<Parsed<_>>()?))
}

fn parse_fill(text: &str) -> Parsed<String> {
    match not_an_option(text)?.trim().parse::<Number>() {
        Ok(_) => Ok(text.trim().to_string()),
        Err(_) => Err("a fill is a number".into()),
    }
}

fn parse_shape(text: &str) -> Parsed<Shape> {
    let length = |word: &str| word.parse::<usize>().map_err(|_| format!("`{word}` is no length"));
    split_list(text)?.map(length).collect()
}

/// One of a list of words, as what it names.
fn one_of<T: Clone + Send + Sync + 'static>(
    names: Vec<&'static str>,
    named: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| named(&name).ok_or("no such name"))
}

fn formats() -> impl TypedValueParser<Value = Format> {
    const ALL: [Format; 2] = [Format::Coo, Format::Csr];
    one_of(ALL.map(Format::name).to_vec(), |name| ALL.into_iter().find(|format| format.name() == name))
}

/// The element types that this build has.
fn dtypes() -> impl TypedValueParser<Value = DType> {
    let name = |dtype: &DType| dispatch_dtype!(*dtype, T => Some(<T as Element>::DTYPE.name()), else => None);
    one_of(DType::ALL.iter().filter_map(name).collect(), DType::from_name)
}

fn file_formats() -> impl TypedValueParser<Value = FileFormat> {
    one_of(FileFormat::ALL.map(FileFormat::name).to_vec(), FileFormat::from_name)
}

fn parse_columns(text: &str) -> Parsed<usize> {
    text.parse().map_err(|_| "give a whole number of characters".into())
}

fn parse_bytes(text: &str) -> Parsed<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("`{unit}` is not one of K, M, G, T")),
    };
    let bytes = digits.parse().ok().and_then(|count: u64| count.checked_mul(1 << shift));
    bytes.ok_or_else(|| "give a whole number of bytes below 2^64, or with K, M, G or T".into())
}
