//! The arguments of every command.

mod lists;
mod operation;
mod parameters;
mod shared;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Command, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use lists::{IsinArgs, PositionArgs, TakeArgs, TakeBackwardArgs};
pub(crate) use operation::{Called, Operands, Operation, TableCommand};
pub(crate) use shared::{EngineArgs, InputArgs, Output, Reading, Telling, Writing};
pub(crate) use words::{Binding, Picture, not_an_option};
use words::{binding, parse_columns, parse_pixels, parse_verb};

/// Sparse tensors on the command line: operations on files, without their dense form.
///
/// Files: Matrix Market (.mtx), FROSTT (.tns) and .npy, each also as .gz; .npz of scipy and of pydata/sparse;
#[cfg_attr(feature = "parquet", doc = " .parquet, and folders of them;")]
/// `-` is stdin or stdout.
///
/// Exit status: 0 for success, 1 for an error, 2 for wrong usage.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(
    after_help = "Help for a command: lacuna help any\n\nExample: lacuna nanmedian tests/data/titanic.npz --axis 1,2,3"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Returns the command that the arguments name, whose usage is printed after an error.
pub(crate) fn command_of(words: impl Iterator<Item = OsString>) -> Command {
    let mut command = Cli::command();
    command.build();
    for word in words {
        match command.find_subcommand(&word) {
            Some(verb) => command = verb.clone(),
            None => break,
        }
    }
    command
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show the contents of a file
    #[command(after_help = "Example: lacuna info tests/data/karate.mtx")]
    Info(InfoArgs),
    /// Convert a tensor to another file format
    #[command(after_help = "Example: lacuna convert tests/data/karate.mtx karate.npz")]
    Convert(ConvertArgs),
    #[command(flatten)]
    Operation(TableCommand<false>),
    /// Evaluate an expression over files
    #[command(
        after_help = "Example: lacuna eval 'nanmedian(stored(x * 2 + 1), axis=1)' x=tests/data/mauna_loa_co2.mtx"
    )]
    Eval(EvalArgs),
    /// Draw the pattern of a tensor
    #[command(after_help = "Example: lacuna spy tests/data/karate.mtx\n         \
                      lacuna spy tests/data/karate.mtx -o karate.png")]
    Spy(SpyArgs),
    /// Compute the gradient of the input from the upstream gradient
    #[command(subcommand, after_help = "Example: lacuna backward any --help")]
    Backward(TableCommand<true>),
    /// Print the help of a command
    #[command(after_help = "Example: lacuna help take\n         lacuna help backward any")]
    Help(HelpArgs),
    /// Print the completion script of a shell
    #[command(after_help = "Example: lacuna completions bash")]
    Completions(CompletionsArgs),
    /// Print the manual
    #[command(after_help = "Example: lacuna man\n         lacuna man --dir man1")]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The command, and for backward its subcommand
    #[arg(value_name = "COMMAND", value_parser = parse_verb)]
    pub(crate) verb: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The name of the shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page per command to this folder instead
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The file to write; `-` for stdout
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

// A picture in the terminal does not have a summary whose entries could be listed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("summary").args(["output", "json"]).multiple(true))]
#[command(mut_arg("head", |head| head.requires("summary")), mut_arg("all", |all| all.requires("summary")))]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Write the picture to a file, .png or .svg; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format of the picture, if the extension does not name it
    #[arg(long, value_enum, value_name = "png|svg", hide_possible_values = true, requires = "output")]
    pub(crate) to: Option<Picture>,
    /// Approximate width of the picture, 240 to 4000 pixels [default: 700]
    #[arg(long, value_parser = parse_pixels, allow_negative_numbers = true, value_name = "N", requires = "output")]
    pub(crate) size: Option<usize>,
    /// Width of the text picture, 24 to 400 [default: the terminal's, or 80]
    #[arg(long, value_parser = parse_columns, allow_negative_numbers = true, value_name = "N",
          conflicts_with = "summary")]
    pub(crate) columns: Option<usize>,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The expression, such as 'sum(x * 2, axis=0)'
    #[arg(required_unless_present_any = ["lines", "functions"], allow_hyphen_values = true, value_name = "EXPR")]
    pub(crate) expression: Option<String>,
    /// The file of each name in the expression
    #[arg(value_parser = binding(), value_name = "NAME=FILE")]
    pub(crate) bindings: Vec<Binding>,
    /// Answer JSON objects from stdin, one per line, until its end
    #[arg(long, conflicts_with_all = ["expression", "bindings", "output"])]
    pub(crate) lines: bool,
    /// List all functions
    #[arg(long, conflicts_with_all = ["expression", "bindings", "lines"])]
    pub(crate) functions: bool,
    /// Print the graph without running it
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) running: EngineArgs,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: Output,
}
