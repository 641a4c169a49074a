//! Wrong usage that the argument parser does not detect: checked before any file is read.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use lacuna::io::FileFormat;

use crate::args::{
    Backward, BackwardFiles, BackwardVerb, Cli, Input, Output, Picture, SpyArgs, Verb, Writing, ZipArgs, command_of,
    not_an_option,
};
use crate::failure::Failure;
use crate::names::{is_stream, shown};

/// Parses the arguments of this program. If the parser prints its own output, such as help, the result is a failure.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    Cli::try_parse_from(&words).map_err(|mut error| {
        if error.kind() == ErrorKind::InvalidSubcommand {
            tell_verbs(&mut error, words);
        }
        Failure::Parser(error)
    })
}

/// Lists the existing commands for an unknown name, unless a similar name is suggested already.
fn tell_verbs(error: &mut clap::Error, words: Vec<OsString>) {
    let command = command_of(words.into_iter().skip(1));
    let names = command.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
    let asked = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) if Cli::command().find_subcommand(name).is_some() => Some(name.clone()),
        _ => None,
    };
    let hint = match (asked, error.get(ContextKind::SuggestedSubcommand)) {
        (Some(verb), _) => format!("{verb} has no gradient; what has one: {names}"),
        (None, None) => format!("the verbs are {names}"),
        (None, Some(_)) => return,
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
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
        return Err("stdin can be read once: name a file in place of one `-`".into());
    }
    files.output.map_or(Ok(()), |(path, writing)| check_target(path, writing))?;
    check_picture(verb)
}

/// Rejects a target of unknown format, and a format for which `--store` has no effect.
fn check_target(path: &Path, writing: &Writing) -> Result<(), String> {
    match writing.to.or_else(|| FileFormat::from_path(path)) {
        None if is_stream(path) => Err("stdout has no extension; name its format with --to".into()),
        None => {
            let (path, names) = (shown(path), FileFormat::ALL.map(FileFormat::name).join(", ."));
            Err(format!("the extension of {path} names no format (.{names}); name it with --to"))
        }
        Some(FileFormat::Npz) => Ok(()),
        #[cfg(feature = "parquet")]
        Some(FileFormat::Parquet) => Ok(()),
        Some(other) if writing.store => Err(format!("--store is for .npz, and {} is written as .{other}", shown(path))),
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
            Err(format!("the extension of {path} names no picture (.png, .svg); name it with --to"))
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
            Verb::Any(args) => Files::new(&args.input, &args.output, []),
            Verb::Fold(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Var(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Median(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Quantile(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Norm(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Topk(verb) => Files::new(&verb.parts().1.input, &verb.parts().1.output, []),
            Verb::Zip(verb) => Files::of_two(verb.parts().1, None),
            Verb::Matmul(args) => Files::of_two(&args.of, args.mask.as_deref()),
            Verb::Slice(args) => Files::new(&args.input, &args.output, []),
            Verb::Join(verb) => Files::of_all(&verb.parts().1.files, &verb.parts().1.output),
            Verb::Einsum(args) => Files::of_all(&args.files, &args.output),
            Verb::Transpose(args) => Files::new(&args.input, &args.output, []),
            Verb::Isin(args) => Files::new(&args.input, &args.output, [args.values_from.as_deref()]),
            Verb::Take(args) => Files::new(&args.input, &args.output, [args.take.indices_from.as_deref()]),
            Verb::Isposinf(args)
            | Verb::Isneginf(args)
            | Verb::Isinf(args)
            | Verb::Isnan(args)
            | Verb::Isfinite(args)
            | Verb::Isreal(args)
            | Verb::Prune(args) => Files::new(&args.input, &args.output, []),
            Verb::Backward(verb) => Files::of_backward(verb),
            Verb::Eval(args) => Files {
                inputs: args.bindings.iter().map(|binding| &*binding.file).collect(),
                ..Files::of_all(&[], &args.output)
            },
            Verb::Help(_) | Verb::Completions(_) | Verb::Man(_) => Files { inputs: Vec::new(), output: None },
        }
    }

    fn of_two(args: &'a ZipArgs, beside: Option<&'a Path>) -> Self {
        Files::new(&args.input, &args.output, [args.right.file(), beside])
    }

    fn of_backward(verb: &'a BackwardVerb) -> Self {
        match verb {
            BackwardVerb::Any(args) => Files::of_gradient(args),
            BackwardVerb::Fold(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Var(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Median(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Quantile(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Norm(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Topk(verb) => Files::of_gradient(verb.parts().1),
            BackwardVerb::Slice(args) => Files::of_gradient(args),
            BackwardVerb::Transpose(args) => Files::of_gradient(args),
            BackwardVerb::Zip(verb) => {
                let args = verb.parts().1;
                Files::new(&args.input, &args.output, [args.right.file(), Some(&*args.grad)])
            }
            BackwardVerb::Join(verb) => Files::of_backward_files(&verb.parts().1.of),
            BackwardVerb::Einsum(args) => Files::of_backward_files(&args.of),
            BackwardVerb::Take(args) => {
                let indices = args.forward.indices_from.as_deref();
                Files::new(&args.input, &args.output, [Some(&*args.grad), indices])
            }
        }
    }

    fn of_backward_files(args: &'a BackwardFiles) -> Self {
        let mut files = Files::of_all(&args.files, &args.output);
        files.inputs.push(&args.grad);
        files
    }

    fn of_gradient<A: clap::Args>(args: &'a Backward<A>) -> Self {
        Files::new(&args.input, &args.output, [Some(&*args.grad)])
    }

    fn of_all(inputs: &'a [PathBuf], output: &'a Output) -> Self {
        let inputs = inputs.iter().map(|input| &**input).collect();
        Files { inputs, output: output.output.as_deref().map(|path| (path, &output.writing)) }
    }

    fn new<const N: usize>(input: &'a Input, output: &'a Output, beside: [Option<&'a Path>; N]) -> Self {
        let inputs = [&*input.file].into_iter().chain(beside.into_iter().flatten()).collect();
        Files { inputs, output: output.output.as_deref().map(|path| (path, &output.writing)) }
    }
}
