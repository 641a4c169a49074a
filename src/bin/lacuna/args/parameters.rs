//! The arguments of commands that are parameters of the operation. Each value is parsed to the text of an expression.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::words::{parse_axes, parse_axis, parse_labels, parse_probability, parse_slices, parse_wrt};

/// The definition of an argument.
pub(super) type Parameter = fn() -> Arg;

/// The argument that restricts an operation to stored entries.
const STORED_ONLY: &str = "stored_only";

/// The argument that is the file of the upstream gradient.
const UPSTREAM: &str = "grad";

fn flag(name: &'static str, long: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(long).action(ArgAction::SetTrue).help(help)
}

fn option(name: &'static str, value_name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value_name).help(help)
}

/// Returns the parser of one of several words, as a string of an expression.
fn word_of(words: &'static [&'static str]) -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(words).map(|word| format!("\"{word}\""))
}

fn axis_of(word: &str) -> Result<String, String> {
    parse_axis(word).map(|axis| axis.to_string())
}

fn count_of(word: &str) -> Result<String, std::num::ParseIntError> {
    word.parse().map(|count: usize| count.to_string())
}

pub(super) fn axes() -> Arg {
    option("axis", "AXES", "The axes to reduce: all, none, or numbers; negative ones count from the end")
        .value_parser(parse_axes)
        .allow_hyphen_values(true)
        .default_value("all")
}

pub(super) fn keep_dims() -> Arg {
    flag("keep_dims", "keep-dims", "Keep reduced axes, with length 1")
}

/// Restricts a reduction to stored entries.
pub(super) fn stored_only() -> Arg {
    flag(STORED_ONLY, "stored-only", "Skip unstored positions")
}

/// Restricts a binary operation or a product to stored entries.
pub(super) fn of_stored() -> Arg {
    flag(STORED_ONLY, "stored-only", "Use only stored entries")
}

pub(super) fn ddof() -> Arg {
    option("ddof", "N", "Delta degrees of freedom, subtracted from the number of elements")
        .value_parser(value_parser!(u64).map(|ddof| ddof.to_string()))
        .allow_negative_numbers(true)
        .default_value("0")
}

pub(super) fn ddof_of_sample() -> Arg {
    ddof().help("Delta degrees of freedom, subtracted from the number of observations").default_value("1")
}

pub(super) fn variables() -> Arg {
    first_axis().help("The axis of the variables: 0 for rows, 1 for columns")
}

pub(super) fn even() -> Arg {
    option("even", "RULE", "Median of an even count: mean of the middle two, or the lower one")
        .long("middle")
        .alias("even")
        .value_parser(word_of(&["mean", "lower"]))
        .default_value("mean")
}

pub(super) fn probability() -> Arg {
    option("q", "Q", "The probability, from 0 to 1")
        .value_parser(parse_probability)
        .allow_negative_numbers(true)
        .required(true)
}

pub(super) fn method() -> Arg {
    option("method", "METHOD", "Rule for a quantile between two elements")
        .value_parser(word_of(&["linear", "lower", "higher", "midpoint", "nearest"]))
        .default_value("linear")
}

pub(super) fn order() -> Arg {
    option("ord", "N", "The order of the norm").value_parser(["1", "2", "inf"]).default_value("2")
}

pub(super) fn k() -> Arg {
    option("k", "N", "Number of elements").value_parser(count_of).required(true)
}

/// The order of a difference.
pub(super) fn times() -> Arg {
    option("n", "N", "Number of times that the difference is taken").value_parser(count_of).default_value("1")
}

fn axis() -> Arg {
    option("axis", "N", "The axis").value_parser(axis_of).allow_hyphen_values(true)
}

pub(super) fn one_axis() -> Arg {
    axis().required(true)
}

pub(super) fn first_axis() -> Arg {
    axis().default_value("0")
}

pub(super) fn last_axis() -> Arg {
    axis().default_value("-1")
}

pub(super) fn permutation() -> Arg {
    let help = "The order of the axes; negative ones count from the end [default: reversed]";
    let axes = option("axes", "N,N,…", help).action(ArgAction::Append).value_delimiter(',');
    axes.value_parser(axis_of).allow_hyphen_values(true)
}

pub(super) fn slices() -> Arg {
    Arg::new("slices")
        .value_name("SLICES")
        .help("A position or a Python range per axis, such as '10:20,:,::2,3'")
        .value_parser(parse_slices)
        .allow_hyphen_values(true)
        .required(true)
}

pub(super) fn spec() -> Arg {
    Arg::new("spec")
        .value_name("SPEC")
        .help("A letter per axis of each file and of the result, such as 'ij,jk->ik'")
        .value_parser(parse_labels)
        .allow_hyphen_values(true)
        .required(true)
}

/// Selects the operand of a gradient.
pub(super) fn wrt_operand() -> Arg {
    let help = "The operand whose gradient is computed: 0 or 1";
    option("wrt", "N", help).value_parser(parse_wrt).default_value("0")
}

/// Selects the file of a gradient.
pub(super) fn wrt_file() -> Arg {
    option("wrt", "N", "The file whose gradient is computed, from 0").value_parser(count_of).default_value("0")
}

pub(super) fn upstream() -> Arg {
    let help = "The upstream gradient: a file of the output's shape";
    option(UPSTREAM, "FILE", help).value_parser(value_parser!(PathBuf)).required(true)
}

/// Returns the options of a call as text, each after a comma.
pub(super) fn options(parameters: &[Parameter], matches: &ArgMatches) -> String {
    parameters.iter().filter_map(|parameter| option_of(&parameter(), matches)).collect()
}

fn option_of(parameter: &Arg, matches: &ArgMatches) -> Option<String> {
    let name = parameter.get_id().as_str();
    let text = match parameter.get_action() {
        _ if name == STORED_ONLY || name == UPSTREAM => return None,
        ArgAction::SetTrue => matches.get_flag(name).to_string(),
        ArgAction::Append => {
            let items: Vec<&str> = matches.get_many::<String>(name)?.map(String::as_str).collect();
            format!("[{}]", items.join(", "))
        }
        _ => matches.get_one::<String>(name)?.clone(),
    };
    Some(format!(", {name}={text}"))
}

/// Returns whether the operation reads only stored entries.
pub(super) fn is_stored_only(matches: &ArgMatches) -> bool {
    matches!(matches.try_get_one(STORED_ONLY), Ok(Some(true)))
}

/// Returns the file of the upstream gradient.
pub(super) fn upstream_of(matches: &ArgMatches) -> Option<PathBuf> {
    matches.try_get_one(UPSTREAM).ok()?.cloned()
}
