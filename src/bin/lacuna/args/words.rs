//! Parsers of argument values, with the errors for values that they reject.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error, ValueEnum};
use lacuna::dynamic::AnyMatmul;
use lacuna::eval::{Expression, Fault};
use lacuna::io::{FileFormat, Format};
use lacuna::{DType, Duplicates, Element, Number, Shape, TakeMode, dispatch_dtype};

use crate::ranges::PositionItem;

/// The kinds of picture that are written to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    Png,
    Svg,
}

impl Picture {
    /// Returns the kind that the extension of a path names.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        Picture::from_str(path.extension()?.to_str()?, true).ok()
    }
}

/// Comma-separated numbers, in textual form.
#[derive(Debug, Clone)]
pub(crate) struct NumberList(pub(crate) Vec<String>);

/// Comma-separated positions and ranges.
#[derive(Debug, Clone)]
pub(crate) struct Indices(pub(crate) Vec<PositionItem>);

/// The right operand: a file or a number.
#[derive(Debug, Clone)]
pub(crate) enum RightArg {
    File(PathBuf),
    Number(String),
}

/// A name in the expression, and the file bound to the name.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

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
pub(crate) enum ModeArg {
    Raise,
    Wrap,
    Clip,
}

#[cfg(feature = "parquet")]
impl ModeArg {
    /// Returns the name of the mode in an expression.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ModeArg::Raise => "raise",
            ModeArg::Wrap => "wrap",
            ModeArg::Clip => "clip",
        }
    }
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

/// The value of an option for all axes, or for all entries.
const ALL: &str = "all";

/// Rejects an option in place of a value, which may start with a minus.
pub(crate) fn not_an_option(word: &str) -> Parsed<&str> {
    if word.starts_with("--") || word.starts_with("-o") {
        return Err(format!("`{word}` is an option; a value may start with one minus, such as -1"));
    }
    Ok(word)
}

/// Splits a comma-separated list; an empty string is an empty list.
fn split_list(text: &str) -> Parsed<impl Iterator<Item = &str>> {
    let text = not_an_option(text)?.trim();
    Ok(text.split(',').map(str::trim).filter(move |_| !text.is_empty()))
}

/// Returns the parser of a word that may name a command. Shells complete the names.
pub(crate) fn command_names(names: fn() -> Vec<&'static str>) -> impl TypedValueParser<Value = String> {
    CommandNames(names)
}

#[derive(Clone)]
struct CommandNames(fn() -> Vec<&'static str>);

impl TypedValueParser for CommandNames {
    type Value = String;

    /// Accepts any word but an option after `--`. The help of the word is requested next, which reports unknown names.
    fn parse_ref(&self, command: &Command, _: Option<&Arg>, word: &OsStr) -> Result<String, Error> {
        match word.to_string_lossy().into_owned() {
            option if option.starts_with('-') => {
                Err(Error::raw(ErrorKind::ValueValidation, format!("`{option}` is not a command\n")).with_cmd(command))
            }
            name => Ok(name),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

pub(crate) fn parse_axis(word: &str) -> Parsed<isize> {
    not_an_option(word)?
        .trim()
        .parse()
        .map_err(|_| "an axis must be an integer; negative axes count from the end".into())
}

/// Parses the axes of a reduction, and returns them as expressions write them.
pub(crate) fn parse_axes(text: &str) -> Parsed<String> {
    match text.trim() {
        word if word == ALL || word == "none" => Ok(format!("\"{word}\"")),
        "" => Err("name the axes: all, none, or numbers such as 0,-1".into()),
        text => Ok(format!("{:?}", split_list(text)?.map(parse_axis).collect::<Parsed<Vec<_>>>()?)),
    }
}

pub(crate) fn parse_values(text: &str) -> Parsed<NumberList> {
    let number = |word: &str| match word.parse::<Number>() {
        Ok(_) => Ok(word.to_string()),
        Err(_) => Err(format!("`{word}` is not a number")),
    };
    Ok(NumberList(split_list(text)?.map(number).collect::<Parsed<_>>()?))
}

pub(crate) fn parse_indices(text: &str) -> Parsed<Indices> {
    Ok(Indices(split_list(text)?.map(PositionItem::parse).collect::<Parsed<_>>()?))
}

/// Returns the parser of an operand: a number, otherwise the name of a file, which need not be UTF-8.
pub(crate) fn operand() -> impl TypedValueParser<Value = RightArg> {
    OsStringValueParser::new().try_map(|word| match word.to_str() {
        Some(text) => parse_operand(text),
        None => Ok(RightArg::File(word.into())),
    })
}

fn parse_operand(word: &str) -> Parsed<RightArg> {
    let word = not_an_option(word)?;
    Ok(match word.parse::<Number>() {
        Ok(Number::Real(real)) if !real.is_finite() => RightArg::Number(if real.is_nan() {
            "nan".into()
        } else {
            format!("{}inf", if real < 0.0 { "-" } else { "" })
        }),
        Ok(_) => RightArg::Number(format!("({})", word.trim().trim_start_matches('+'))),
        Err(_) => RightArg::File(word.into()),
    })
}

/// Parses slices, as expressions write them between brackets, and returns them as a string of an expression.
pub(crate) fn parse_slices(text: &str) -> Parsed<String> {
    let wrong = |fault: Fault| match fault {
        Fault::Wrong(wrong) => wrong.message().to_string(),
        Fault::Run(error) => error.to_string(),
    };
    let is_text = !text.contains(['"', '\'', '[', ']', '(']);
    Expression::parse(&format!("x[{text}]")).map_err(wrong)?;
    if is_text {
        Ok(format!("\"{text}\""))
    } else {
        Err("slices must be positions or ranges, such as 10:20,:,::2,3".into())
    }
}

/// Parses the labels of axes, and returns them as a string of an expression.
pub(crate) fn parse_labels(text: &str) -> Parsed<String> {
    let is_label = |char: char| char.is_ascii_alphabetic() || " ,.->".contains(char);
    match text.chars().find(|&char| !is_label(char)) {
        None => Ok(format!("\"{text}\"")),
        Some(other) => Err(format!("{other:?} is not a letter, `,`, `->` or `...`, as in ij,jk->ik")),
    }
}

/// Parses the index of one of two operands.
pub(crate) fn parse_wrt(word: &str) -> Parsed<String> {
    match word {
        "0" | "1" => Ok(word.into()),
        _ => Err("the operand must be 0 or 1".into()),
    }
}

/// Returns the parser of `NAME=FILE`; the name of the file need not be UTF-8.
pub(crate) fn binding() -> impl TypedValueParser<Value = Binding> {
    OsStringValueParser::new().try_map(|word| match split_word(&word) {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok(Binding { name: name.into(), file: file.into() })
        }
        _ => Err("expected NAME=FILE, such as x=karate.mtx"),
    })
}

/// Splits an argument at its first `=`; the name before the `=` must be UTF-8.
#[cfg(unix)]
fn split_word(word: &OsStr) -> Option<(&str, &OsStr)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = word.as_bytes();
    let end = bytes.iter().position(|&byte| byte == b'=')?;
    Some((str::from_utf8(&bytes[..end]).ok()?, OsStr::from_bytes(&bytes[end + 1..])))
}

#[cfg(not(unix))]
fn split_word(word: &OsStr) -> Option<(&str, &OsStr)> {
    word.to_str()?.split_once('=').map(|(name, file)| (name, file.as_ref()))
}

/// Parses the probability of a quantile.
pub(crate) fn parse_probability(text: &str) -> Parsed<String> {
    let q = text.trim().parse::<f64>().map_err(|_| format!("`{text}` is not a number from 0 to 1"))?;
    if (0.0..=1.0).contains(&q) { Ok(q.to_string()) } else { Err(format!("q = {q:?} is not from 0 to 1")) }
}

pub(crate) fn parse_fill(text: &str) -> Parsed<String> {
    match not_an_option(text)?.trim().parse::<Number>() {
        Ok(_) => Ok(text.trim().to_string()),
        Err(_) => Err("the fill must be a number".into()),
    }
}

pub(crate) fn parse_shape(text: &str) -> Parsed<Shape> {
    let length = |word: &str| word.parse::<usize>().map_err(|_| format!("`{word}` is not a length"));
    split_list(text)?.map(length).collect()
}

/// Returns the parser of a name out of a list, which returns the named value.
fn one_of<T: Clone + Send + Sync + 'static>(
    names: Vec<&'static str>,
    named: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| named(&name).ok_or("unknown name"))
}

pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    const ALL: [Format; 2] = [Format::Coo, Format::Csr];
    one_of(ALL.map(Format::name).to_vec(), |name| ALL.into_iter().find(|format| format.name() == name))
}

/// Returns the parser of the names of semirings.
pub(crate) fn semirings() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(AnyMatmul::names())
}

/// Returns the parser of the element types in this build.
pub(crate) fn dtypes() -> impl TypedValueParser<Value = DType> {
    let name = |dtype: &DType| dispatch_dtype!(*dtype, T => Some(<T as Element>::DTYPE.name()), else => None);
    one_of(DType::ALL.iter().filter_map(name).collect(), DType::from_name)
}

pub(crate) fn file_formats() -> impl TypedValueParser<Value = FileFormat> {
    one_of(FileFormat::ALL.map(FileFormat::name).to_vec(), FileFormat::from_name)
}

pub(crate) fn parse_limit(text: &str) -> Parsed<usize> {
    match text {
        text if text == ALL => Ok(usize::MAX),
        text => text.parse().map_err(|_| "expected a whole number of entries, or all".into()),
    }
}

pub(crate) fn parse_columns(text: &str) -> Parsed<usize> {
    text.parse().map_err(|_| "expected a whole number of characters".into())
}

pub(crate) fn parse_pixels(text: &str) -> Parsed<usize> {
    text.parse().map_err(|_| "expected a whole number of pixels".into())
}

pub(crate) fn parse_bytes(text: &str) -> Parsed<u64> {
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
    bytes.ok_or_else(|| "expected a whole number of bytes below 2^64, optionally with K, M, G or T".into())
}
