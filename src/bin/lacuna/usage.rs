//! Wrong usage that the argument parser does not detect: checked before any file is read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, FromArgMatches};
use lacuna::eval::{example, function_called};
use lacuna::io::FileFormat;

use crate::args::{Cli, Commands, Operation, Output, Picture, SpyArgs, Writing, command_of, not_an_option, program};
use crate::failure::Failure;
use crate::names::{is_stream, shown};

/// Parses the arguments of this program. If the parser prints its own output, such as help, the result is a failure.
pub(crate) fn parse(words: Vec<OsString>, program: Command) -> Result<Cli, Failure> {
    let parsed = program.try_get_matches_from(&words);
    let parsed = parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    parsed.map_err(|mut error| {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let (command, option) = (text(ContextKind::InvalidSubcommand), text(ContextKind::InvalidArg));
        let named = command_of(words.into_iter().skip(1));
        match (error.kind(), command, option) {
            (ErrorKind::InvalidSubcommand, Some(name), _) => advise_command(&mut error, &name, named.get_name()),
            (ErrorKind::UnknownArgument, _, Some(option)) => advise_option(&mut error, &option, named),
            _ => {}
        }
        Failure::Parser(error)
    })
}

/// Adds to the error for an unknown option the option that begins with this name. The parser suggests similar names,
/// which may be former names.
fn advise_option(error: &mut clap::Error, option: &str, mut command: Command) {
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let longer = visible.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    let Some(longer) = longer.into_iter().find(|longer| longer.starts_with(option)) else { return };
    error.insert(ContextKind::SuggestedArg, ContextValue::String(longer));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
}

/// Adds to the error for an unknown command how to go on. The parser suggests similar names.
fn advise_command(error: &mut clap::Error, name: &str, parent: &str) {
    let listing = if parent == "lacuna" { "`lacuna help`".to_string() } else { format!("`lacuna help {parent}`") };
    let function = function_called(name).filter(|_| parent == "lacuna");
    let tip = match function {
        _ if program().find_subcommand(name).is_some() => {
            format!("{name} does not have a gradient; {listing} lists the commands that have one")
        }
        Some(function) if program().find_subcommand(function).is_some() => format!("use `lacuna {function} FILE`"),
        Some(function) => format!("use `lacuna eval {}`", example(function)),
        None => format!("{listing} lists all commands"),
    };
    // A name with a meaning needs no similar names.
    if !tip.ends_with("all commands") {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Prints the help of the named command, as `--help` after the command does.
pub(crate) fn help(command: &[String]) -> Result<(), Failure> {
    let words = ["lacuna"].into_iter().chain(command.iter().map(String::as_str)).chain(["--help"]);
    parse(words.map(Into::into).collect(), program()).map(|_| ())
}

/// Rejects an option in place of a value that may start with a minus. The parser would accept such an option as the
/// value.
pub(crate) fn check_words(words: &[OsString], program: &Command) -> Result<(), String> {
    let words: Vec<String> =
        words.iter().map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--").collect();
    let greedy = greedy_options(program);
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
pub(crate) fn check_files(command: &Commands) -> Result<(), String> {
    let files = Files::of(command);
    if files.inputs.iter().filter(|input| is_stream(input)).count() > 1 {
        return Err("stdin can be read only once; name a file instead of one `-`".into());
    }
    files.output.map_or(Ok(()), |(path, writing)| check_target(path, writing))?;
    check_picture(command)
}

/// Rejects a target of unknown format, and `--uncompressed` for a format that ignores it.
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
        Some(other) if writing.uncompressed => {
            Err(format!("--uncompressed does not apply to {}, which is written as .{other}", shown(path)))
        }
        Some(_) => Ok(()),
    }
}

/// Rejects the target of a picture if neither `--to` nor its extension names a kind of picture.
fn check_picture(command: &Commands) -> Result<(), String> {
    match command {
        Commands::Spy(SpyArgs { output: Some(path), to: None, .. }) if is_stream(path) => {
            Err("stdout has no extension; name the kind of picture with --to png or --to svg".into())
        }
        Commands::Spy(SpyArgs { output: Some(path), to: None, .. }) if Picture::from_path(path).is_none() => {
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
    fn of(command: &'a Commands) -> Self {
        match command {
            Commands::Info(args) => Files { inputs: vec![&args.input.file], output: None },
            Commands::Spy(args) => Files { inputs: vec![&args.input.file], output: None },
            Commands::Convert(args) => {
                Files { inputs: vec![&args.input.file], output: Some((&args.output, &args.writing)) }
            }
            Commands::Operation(listed) => Files::of_operation(&listed.0),
            Commands::Backward(listed) => Files::of_operation(&listed.0),
            Commands::Eval(args) => Files::new(args.bindings.iter().map(|binding| &binding.file), &args.output),
            Commands::Help(_) | Commands::Completions(_) | Commands::Man(_) => {
                Files { inputs: Vec::new(), output: None }
            }
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
