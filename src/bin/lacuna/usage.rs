//! Wrong usage that the argument parser does not detect: checked before any file is read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use lacuna::io::FileFormat;

use crate::args::{Cli, Operation, Output, Picture, SpyArgs, Verb, Writing, command_of, not_an_option};
use crate::failure::Failure;
use crate::names::{is_stream, shown};

/// Parses the arguments of this program. If the parser prints its own output, such as help, the result is a failure.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    Cli::try_parse_from(&words).map_err(|mut error| {
        if error.kind() == ErrorKind::InvalidSubcommand {
            add_tip(&mut error, words);
        }
        Failure::Parser(error)
    })
}

/// Adds how to list all commands to the error for an unknown name. The parser suggests similar names.
fn add_tip(error: &mut clap::Error, words: Vec<OsString>) {
    let listing = match command_of(words.into_iter().skip(1)).get_name() {
        "lacuna" => "`lacuna help`".to_string(),
        command => format!("`lacuna help {command}`"),
    };
    let without_gradient = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if Cli::command().find_subcommand(name).is_some() => Some(name.clone()),
        _ => None,
    };
    let tip = match without_gradient {
        Some(name) => {
            error.remove(ContextKind::SuggestedSubcommand);
            format!("{name} does not have a gradient; {listing} lists the commands that have one")
        }
        None => format!("{listing} lists all commands"),
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Prints the help of the named command, as `--help` after the command does.
pub(crate) fn help(verb: &[String]) -> Result<(), Failure> {
    let words = ["lacuna"].into_iter().chain(verb.iter().map(String::as_str)).chain(["--help"]);
    parse(words.map(Into::into)).map(|_| ())
}

/// Rejects an option in place of a value that may start with a minus. The parser would accept such an option as the
/// value.
pub(crate) fn check_words(words: impl Iterator<Item = OsString>) -> Result<(), String> {
    let words: Vec<String> =
        words.map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--").collect();
    let greedy = greedy_options(&Cli::command());
    for pair in words.windows(2) {
        if greedy.contains(&pair[0]) {
            not_an_option(&pair[1]).map_err(|hint| format!("{} has no value: {hint}", pair[0]))?;
        }
    }
    Ok(())
}

/// Returns the options of a command and its subcommands whose value may start with a minus.
fn greedy_options(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|option| option.is_allow_hyphen_values_set());
    let own = own.filter_map(|option| Some(format!("--{}", option.get_long()?)));
    own.chain(command.get_subcommands().flat_map(greedy_options)).collect()
}

/// Rejects a second use of stdin, and a target of unknown format.
pub(crate) fn check_files(verb: &Verb) -> Result<(), String> {
    let files = Files::of(verb);
    if files.inputs.iter().filter(|input| is_stream(input)).count() > 1 {
        return Err("stdin can be read only once; name a file instead of one `-`".into());
    }
    files.output.map_or(Ok(()), |(path, writing)| check_target(path, writing))?;
    check_picture(verb)
}

/// Rejects a target of unknown format, and `--store` for a format that ignores it.
fn check_target(path: &Path, writing: &Writing) -> Result<(), String> {
    match writing.to.or_else(|| FileFormat::from_path(path)) {
        None if is_stream(path) => Err("stdout has no extension; name its format with --to".into()),
        None => {
            let (path, names) = (shown(path), FileFormat::ALL.map(FileFormat::name).join(", ."));
            Err(format!("the extension of {path} is not a format (.{names}); name the format with --to"))
        }
        Some(FileFormat::Npz) => Ok(()),
        #[cfg(feature = "parquet")]
        Some(FileFormat::Parquet) => Ok(()),
        Some(other) if writing.store => {
            Err(format!("--store does not apply to {}, which is written as .{other}", shown(path)))
        }
        Some(_) => Ok(()),
    }
}

/// Rejects the target of a picture if neither `--to` nor its extension names a kind of picture.
fn check_picture(verb: &Verb) -> Result<(), String> {
    match verb {
        Verb::Spy(SpyArgs { output: Some(path), to: None, .. }) if is_stream(path) => {
            Err("stdout has no extension; name the kind of picture with --to png or --to svg".into())
        }
        Verb::Spy(SpyArgs { output: Some(path), to: None, .. }) if Picture::from_path(path).is_none() => {
            let path = shown(path);
            Err(format!("the extension of {path} is not a picture format (.png, .svg); name the format with --to"))
        }
        _ => Ok(()),
    }
}

/// The files that a command names.
struct Files<'a> {
    inputs: Vec<&'a Path>,
    output: Option<(&'a Path, &'a Writing)>,
}

impl<'a> Files<'a> {
    fn of(verb: &'a Verb) -> Self {
        match verb {
            Verb::Info(args) => Files { inputs: vec![&args.input.file], output: None },
            Verb::Spy(args) => Files { inputs: vec![&args.input.file], output: None },
            Verb::Convert(args) => {
                Files { inputs: vec![&args.input.file], output: Some((&args.output, &args.writing)) }
            }
            Verb::Operation(listed) => Files::of_operation(&listed.0),
            Verb::Backward(listed) => Files::of_operation(&listed.0),
            Verb::Eval(args) => Files::new(args.bindings.iter().map(|binding| &binding.file), &args.output),
            Verb::Help(_) | Verb::Completions(_) | Verb::Man(_) => Files { inputs: Vec::new(), output: None },
        }
    }

    fn of_operation(operation: &'a Operation) -> Self {
        match operation {
            Operation::Called(call) => {
                let files = call.files.iter().map(PathBuf::as_path);
                Files { inputs: files.chain(call.other_files()).collect(), ..Files::new([], &call.output) }
            }
            Operation::Isin(args) => Files::new([&args.input.file].into_iter().chain(&args.values_from), &args.output),
            Operation::Take(args) => {
                Files::new([&args.input.file].into_iter().chain(&args.take.indices_from), &args.output)
            }
            Operation::TakeBackward(args) => {
                let files = [&args.input.file, &args.grad].into_iter().chain(&args.take.indices_from);
                Files::new(files, &args.output)
            }
        }
    }

    fn new(inputs: impl IntoIterator<Item = &'a PathBuf>, output: &'a Output) -> Self {
        let inputs = inputs.into_iter().map(PathBuf::as_path).collect();
        Files { inputs, output: output.output.as_deref().map(|path| (path, &output.writing)) }
    }
}
