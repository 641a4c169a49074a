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
pub(crate) use shared::{EngineArgs, InputArgs, Output, Printing, Reading, Writing};
pub(crate) use words::{Binding, Picture, not_an_option};
use words::{binding, command_names, parse_columns, parse_pixels};

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
    pub(crate) command: Commands,
}

/// Returns the definition of the program. Its help lists the commands in groups, and the short help of a command lists
/// only the options of that command.
pub(crate) fn program() -> Command {
    with_short_help(Cli::command())
}

fn with_short_help(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_shared = arg.get_help_heading().is_some();
        arg.hide_short_help(is_shared)
    });
    let command = command.mut_subcommands(with_short_help);
    if command.has_subcommands() { in_groups(command) } else { command }
}

/// Lists the commands in groups.
fn in_groups(command: Command) -> Command {
    let width = command.get_subcommands().map(|listed| listed.get_name().len()).max().unwrap_or(0);
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let members: Vec<_> = command.get_subcommands().map(|member| (group_of(member.get_name()), member)).collect();
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_string();
    for (group, _) in GROUPS {
        let mut members = members.iter().filter(|(own, _)| *own == group).peekable();
        if members.peek().is_none() {
            continue;
        }
        template += &format!("{header}{group}:{header:#}\n");
        for (_, member) in members {
            let (name, about) = (member.get_name(), member.get_about().map(ToString::to_string).unwrap_or_default());
            template += &format!("  {literal}{name}{literal:#}{:1$}  {about}\n", "", width - name.len());
        }
        template += "\n";
    }
    command.help_template(format!("{template}{header}Options:{header:#}\n{{options}}{{after-help}}"))
}

/// The groups of commands in the order of the help, each with its commands that are not operations.
const GROUPS: [(&str, &str); 7] = [
    ("Files", "info convert"),
    ("Reductions", ""),
    ("Elementwise", ""),
    ("Indexing", ""),
    ("Products", ""),
    ("Expressions and gradients", "eval backward"),
    ("Tools", "spy help completions man"),
];

/// Returns the group of a command.
fn group_of(command: &str) -> &'static str {
    let listed = GROUPS.into_iter().find(|(_, commands)| commands.split(' ').any(|own| own == command));
    listed.map_or_else(|| operation::group_of(command), |(group, _)| group)
}

/// Returns the names of all commands.
fn names_of_commands() -> Vec<&'static str> {
    let others = GROUPS.into_iter().flat_map(|(_, commands)| commands.split_whitespace());
    others.chain(operation::names()).collect()
}

/// Returns the command that the arguments name, whose usage is printed after an error.
pub(crate) fn command_of(words: impl Iterator<Item = OsString>) -> Command {
    let mut command = program();
    command.build();
    for word in words {
        match command.find_subcommand(&word) {
            Some(named) => command = named.clone(),
            None => break,
        }
    }
    command
}

#[derive(Debug, Subcommand)]
pub(crate) enum Commands {
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
    #[arg(value_name = "COMMAND", value_parser = command_names(names_of_commands), hide_possible_values = true)]
    pub(crate) command: Vec<String>,
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
    pub(crate) printing: Printing,
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
    pub(crate) printing: Printing,
}

// A picture in the terminal does not have a summary whose entries could be listed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("summary").args(["output", "json"]).multiple(true))]
#[command(mut_arg("limit", |limit| limit.requires("summary")), mut_arg("all", |all| all.requires("summary")))]
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
    #[arg(long, alias = "size", value_parser = parse_pixels, allow_negative_numbers = true, value_name = "N", requires = "output")]
    pub(crate) pixels: Option<usize>,
    /// Width of the text picture, 24 to 400 [default: the terminal's, or 80]
    #[arg(long, alias = "columns", value_parser = parse_columns, allow_negative_numbers = true, value_name = "N",
          conflicts_with = "summary")]
    pub(crate) width: Option<usize>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The expression, such as 'sum(x * 2, axis=0)'
    #[arg(required_unless_present_any = ["jsonl", "functions"], allow_hyphen_values = true, value_name = "EXPR")]
    pub(crate) expression: Option<String>,
    /// The file of each name in the expression
    #[arg(value_parser = binding(), value_name = "NAME=FILE")]
    pub(crate) bindings: Vec<Binding>,
    /// Answer JSON objects from stdin, one per line, until its end
    #[arg(long, alias = "lines", conflicts_with_all = ["expression", "bindings", "output"])]
    pub(crate) jsonl: bool,
    /// List all functions
    #[arg(long, conflicts_with_all = ["expression", "bindings", "jsonl"])]
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
