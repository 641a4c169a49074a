//! The commands of operations. The table of operations lists them; this module knows the arguments of each kind.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, value_parser};
use lacuna::eval::{CommandKind, CommandSpec};

use super::lists::{IsinArgs, TakeArgs, TakeBackwardArgs};
use super::parameters::{
    Parameter, axes, ddof, ddof_of_sample, even, first_axis, is_stored_only, k, keep_dims, last_axis, method,
    of_stored, one_axis, options, order, permutation, probability, slices, spec, stored_only, times, upstream,
    upstream_of, variables, wrt_file, wrt_operand,
};
use super::shared::{EngineArgs, InputArgs, Output, Reading};
use super::words::{RightArg, operand, semirings};

/// A command of the table of operations, or the command of a gradient.
#[derive(Debug)]
pub(crate) struct TableCommand<const GRADIENTS: bool>(pub(crate) Operation);

#[derive(Debug)]
pub(crate) enum Operation {
    Called(Called),
    Isin(IsinArgs),
    Take(TakeArgs),
    TakeBackward(TakeBackwardArgs),
}

/// A command that is a call of a function.
#[derive(Debug)]
pub(crate) struct Called {
    /// The name of the function.
    pub(crate) function: &'static str,
    pub(crate) operands: Operands,
    /// The files of the operands.
    pub(crate) files: Vec<PathBuf>,
    /// The right operand, if it is a number.
    pub(crate) number: Option<String>,
    /// True if the function reads only stored entries.
    pub(crate) stored_only: bool,
    /// The other arguments as text, each after a comma.
    pub(crate) options: String,
    pub(crate) product: Option<ProductArgs>,
    pub(crate) upstream: Option<PathBuf>,
    pub(crate) reading: Reading,
    pub(crate) running: Option<EngineArgs>,
    pub(crate) output: Output,
}

impl Called {
    /// Returns the files that are not operands: a mask, an upstream gradient.
    pub(crate) fn other_files(&self) -> impl Iterator<Item = &Path> {
        let mask = self.product.as_ref().and_then(|product| product.mask.as_deref());
        mask.into_iter().chain(self.upstream.as_deref())
    }
}

/// The operands of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// A tensor.
    One,
    /// A tensor, and a tensor or a number.
    Two,
    /// A list of tensors.
    List,
}

/// The options of a matrix product.
#[derive(Debug, Args)]
pub(crate) struct ProductArgs {
    /// A semiring instead of plus and times, over stored entries
    #[arg(long, value_parser = semirings(), value_name = "NAME")]
    pub(crate) semiring: Option<String>,
    /// A mask of the result's shape: multiply stored entries, and keep only the positions of its entries
    #[arg(long, value_name = "FILE")]
    pub(crate) mask: Option<PathBuf>,
    /// Keep the positions without an entry in the mask instead
    #[arg(long, requires = "mask")]
    pub(crate) complement: bool,
}

/// Returns the operands of the commands of a kind, and their other arguments in the order of the help.
fn arguments(kind: CommandKind) -> (Operands, &'static [Parameter]) {
    match kind {
        CommandKind::Reduce => (Operands::One, &[axes, keep_dims]),
        CommandKind::Fold => (Operands::One, &[axes, keep_dims, stored_only]),
        CommandKind::Var => (Operands::One, &[axes, keep_dims, stored_only, ddof]),
        CommandKind::Cov => (Operands::One, &[variables, ddof_of_sample]),
        CommandKind::Median => (Operands::One, &[axes, keep_dims, even, stored_only]),
        CommandKind::Quantile => (Operands::One, &[axes, keep_dims, stored_only, probability, method]),
        CommandKind::Norm => (Operands::One, &[axes, keep_dims, stored_only, order]),
        CommandKind::Topk => (Operands::One, &[k, last_axis, stored_only]),
        CommandKind::Diff => (Operands::One, &[times, last_axis, stored_only]),
        CommandKind::Scan => (Operands::One, &[one_axis, stored_only]),
        CommandKind::Zip | CommandKind::Matmul => (Operands::Two, &[of_stored]),
        CommandKind::Slice => (Operands::One, &[slices]),
        CommandKind::Join => (Operands::List, &[first_axis]),
        CommandKind::Einsum => (Operands::List, &[spec, of_stored]),
        CommandKind::Transpose => (Operands::One, &[permutation]),
        // `isin` and `take` have argument types of their own.
        CommandKind::Plain | CommandKind::Isin | CommandKind::Take => (Operands::One, &[]),
    }
}

/// Returns the group of an operation in the help.
pub(super) fn group_of(name: &str) -> &'static str {
    match CommandSpec::all().find(|(own, ..)| *own == name).map(|(_, spec, _)| spec.kind) {
        Some(CommandKind::Plain | CommandKind::Isin | CommandKind::Zip) => "Elementwise",
        Some(
            CommandKind::Slice
            | CommandKind::Join
            | CommandKind::Transpose
            | CommandKind::Take
            | CommandKind::Topk
            | CommandKind::Diff
            | CommandKind::Scan,
        ) => "Indexing",
        Some(CommandKind::Matmul | CommandKind::Einsum | CommandKind::Cov) => "Products",
        _ => "Reductions",
    }
}

/// Returns the names of the operations that have a command.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CommandSpec::all().map(|(name, ..)| name)
}

/// Returns the arguments in the example of a gradient.
fn gradient_example(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Reduce => "tests/data/titanic.npz --axis 3",
        CommandKind::Fold | CommandKind::Var | CommandKind::Median => "tests/data/mauna_loa_co2.mtx --axis 1",
        CommandKind::Cov => "tests/data/karate.mtx --axis 1",
        CommandKind::Quantile => "tests/data/mauna_loa_co2.mtx --axis 1 --q 0.9",
        CommandKind::Norm => "tests/data/karate.mtx --axis 1",
        CommandKind::Topk => "tests/data/karate.mtx --k 2 --axis 1",
        CommandKind::Diff => "tests/data/karate.mtx --axis 1",
        CommandKind::Scan => "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only",
        CommandKind::Zip | CommandKind::Matmul => "tests/data/karate.mtx tests/data/karate.mtx",
        CommandKind::Slice => "tests/data/karate.mtx 10:20,::2",
        CommandKind::Join => "tests/data/karate.mtx tests/data/karate.mtx --axis 1",
        CommandKind::Einsum => "'ij,jk->ik' tests/data/karate.mtx tests/data/karate.mtx",
        CommandKind::Take => "tests/data/karate.mtx --axis 0 --indices 0,-1",
        CommandKind::Transpose | CommandKind::Plain | CommandKind::Isin => "tests/data/karate.mtx",
    }
}

fn right() -> Arg {
    Arg::new("right")
        .value_name("FILE|NUMBER")
        .help("The right operand: a file, or a number in the element type of the first")
        .value_parser(operand())
        .allow_hyphen_values(true)
        .required(true)
}

fn files() -> Arg {
    let files = Arg::new("files").value_name("FILE").help("The files to read").value_parser(value_parser!(PathBuf));
    files.action(ArgAction::Append).num_args(1..).required(true)
}

/// A command of an operation, or of its gradient.
struct Entry {
    name: &'static str,
    /// The function that the command calls.
    function: &'static str,
    spec: CommandSpec,
    is_gradient: bool,
}

/// Returns the commands of all operations, or those of all gradients, in the order of the help.
fn entries(gradients: bool) -> Vec<Entry> {
    let entry = |(name, spec, gradient): (&'static str, CommandSpec, Option<&'static str>)| {
        let function = if gradients { gradient? } else { name };
        Some(Entry { name, function, spec, is_gradient: gradients })
    };
    let mut entries: Vec<Entry> = CommandSpec::all().filter_map(entry).collect();
    if gradients {
        // The help lists these two kinds first.
        entries.sort_by_key(|entry| !matches!(entry.spec.kind, CommandKind::Reduce | CommandKind::Take));
    }
    entries
}

impl Entry {
    fn command(&self) -> Command {
        let command = self.with_arguments(Command::new(self.name));
        command.about(self.about()).after_help(format!("Example: {}", self.examples().join("\n         ")))
    }

    fn about(&self) -> String {
        match self.spec.kind {
            _ if !self.is_gradient => self.spec.about.into(),
            CommandKind::Reduce => format!("The surrogate gradient of `{}`", self.name),
            _ => format!("The gradient of `{}`", self.name),
        }
    }

    fn examples(&self) -> Vec<String> {
        let (name, gradient) = (self.name, gradient_example(self.spec.kind));
        if self.is_gradient {
            let forward = match self.spec.kind {
                // The result of a predicate is not an upstream gradient, which has a type of floats.
                CommandKind::Reduce => format!("lacuna nanmedian {gradient} -o g.npz"),
                _ => format!("lacuna {name} {gradient} -o g.npz"),
            };
            return vec![forward, format!("lacuna backward {name} {gradient} --grad g.npz")];
        }
        let line = |line: &str| match line.starts_with("lacuna ") {
            true => line.into(),
            false => format!("lacuna {name} {line}"),
        };
        self.spec.examples.lines().map(line).collect()
    }

    fn with_arguments(&self, command: Command) -> Command {
        match (self.spec.kind, self.is_gradient) {
            (CommandKind::Isin, _) => IsinArgs::augment_args(command),
            (CommandKind::Take, false) => TakeArgs::augment_args(command),
            (CommandKind::Take, true) => TakeBackwardArgs::augment_args(command),
            (CommandKind::Matmul, false) => ProductArgs::augment_args(self.with_call(command)),
            _ => self.with_call(command),
        }
    }

    /// Returns the operands of the call, and the arguments that are not shared by all commands, in the order of the
    /// help.
    fn arguments(&self) -> (Operands, Vec<Parameter>) {
        let (operands, own) = arguments(self.spec.kind);
        let own = own.iter().copied();
        let parameters = match (self.is_gradient, operands) {
            (false, _) => own.collect(),
            (true, Operands::One) => [upstream as Parameter].into_iter().chain(own).collect(),
            (true, Operands::Two) => own.chain([upstream as Parameter, wrt_operand]).collect(),
            (true, Operands::List) => own.chain([upstream as Parameter, wrt_file]).collect(),
        };
        (operands, parameters)
    }

    /// Adds the arguments of a call to a command.
    fn with_call(&self, command: Command) -> Command {
        let (operands, parameters) = self.arguments();
        let parameters = parameters.into_iter().map(|parameter| parameter());
        let command = match operands {
            Operands::One => InputArgs::augment_args(command).args(parameters),
            Operands::Two => InputArgs::augment_args(command).arg(right()).args(parameters),
            Operands::List => Reading::augment_args(command.args(parameters).arg(files())),
        };
        let command = if self.is_gradient { command } else { EngineArgs::augment_args(command) };
        Output::augment_args(command)
    }

    fn read(&self, matches: &ArgMatches) -> Result<Operation, Error> {
        Ok(match (self.spec.kind, self.is_gradient) {
            (CommandKind::Isin, _) => Operation::Isin(IsinArgs::from_arg_matches(matches)?),
            (CommandKind::Take, false) => Operation::Take(TakeArgs::from_arg_matches(matches)?),
            (CommandKind::Take, true) => Operation::TakeBackward(TakeBackwardArgs::from_arg_matches(matches)?),
            _ => Operation::Called(self.call(matches)?),
        })
    }

    fn call(&self, matches: &ArgMatches) -> Result<Called, Error> {
        let (operands, parameters) = self.arguments();
        let (files, number, reading) = files_of(operands, matches)?;
        let has_product = self.spec.kind == CommandKind::Matmul && !self.is_gradient;
        Ok(Called {
            function: self.function,
            operands,
            files,
            number,
            stored_only: is_stored_only(matches),
            options: options(&parameters, matches),
            product: has_product.then(|| ProductArgs::from_arg_matches(matches)).transpose()?,
            upstream: upstream_of(matches),
            reading,
            running: (!self.is_gradient).then(|| EngineArgs::from_arg_matches(matches)).transpose()?,
            output: Output::from_arg_matches(matches)?,
        })
    }
}

/// Returns the files of the operands, the right operand if it is a number, and the options for reading.
fn files_of(operands: Operands, matches: &ArgMatches) -> Result<(Vec<PathBuf>, Option<String>, Reading), Error> {
    if operands == Operands::List {
        let files = matches.get_many("files").into_iter().flatten().cloned().collect();
        return Ok((files, None, Reading::from_arg_matches(matches)?));
    }
    let InputArgs { file, reading } = InputArgs::from_arg_matches(matches)?;
    let right = if operands == Operands::Two { matches.get_one("right").cloned() } else { None };
    Ok(match right {
        None => (vec![file], None, reading),
        Some(RightArg::File(right)) => (vec![file, right], None, reading),
        Some(RightArg::Number(number)) => (vec![file], Some(number), reading),
    })
}

impl<const GRADIENTS: bool> FromArgMatches for TableCommand<GRADIENTS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, matches) = matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let entry = entries(GRADIENTS).into_iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?.read(matches).map(TableCommand)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const GRADIENTS: bool> Subcommand for TableCommand<GRADIENTS> {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(entries(GRADIENTS).iter().map(Entry::command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        entries(GRADIENTS).iter().any(|entry| entry.name == name)
    }
}
