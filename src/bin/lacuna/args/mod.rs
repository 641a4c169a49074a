//! The arguments of every command.

mod reductions;
mod shared;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Command, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use lacuna::Position;
use ndarray::ArrayD;

use crate::eval::Binding;
pub(crate) use reductions::{
    BackwardEinsumArgs, BackwardFiles, BackwardFoldVerb, BackwardJoinArgs, BackwardJoinVerb, BackwardMedianVerb,
    BackwardNormVerb, BackwardQuantileVerb, BackwardTopkVerb, BackwardVarVerb, BackwardZipArgs, BackwardZipVerb,
    Called, EinsumArgs, Fold, FoldVerb, JoinArgs, JoinVerb, MatmulArgs, MedianVerb, Norm, NormVerb, Operand, Quantile,
    QuantileVerb, Slice, Topk, TopkVerb, Transpose, Var, VarVerb, ZipArgs, ZipVerb,
};
pub(crate) use shared::{Input, Output, Reading, Running, Telling, Writing};
pub(crate) use words::{Indices, Picture, Values, not_an_option};
use words::{
    ModeArg, binding, parse_axes, parse_axis, parse_columns, parse_indices, parse_pixels, parse_values, parse_verb,
};

/// Sparse tensors on the command line: questions asked of a file, without building its dense form.
///
/// Files: Matrix Market (.mtx), FROSTT (.tns), .npy, each also with .gz after it, .npz of scipy and of pydata/sparse;
#[cfg_attr(feature = "parquet", doc = " .parquet, and folders of them;")]
/// `-` is stdin or stdout.
///
/// Exit status: 0; 1 for an error; 2 for wrong usage.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = "Each verb has a help of its own, such as: lacuna help any\n\n\
                        Example: lacuna nanmedian tests/data/titanic.npz --axis 1,2,3")]
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
    /// Show what a file holds
    #[command(after_help = "Example: lacuna info tests/data/karate.mtx")]
    Info(InfoArgs),
    /// Write a tensor in another file format
    #[command(after_help = "Example: lacuna convert tests/data/karate.mtx karate.npz")]
    Convert(ConvertArgs),
    /// Whether any element is not zero, over axes
    #[command(after_help = "Example: lacuna any tests/data/titanic.npz --axis 3")]
    Any(Called<Reduce>),
    #[command(flatten)]
    Fold(FoldVerb),
    #[command(flatten)]
    Var(VarVerb),
    #[command(flatten)]
    Median(MedianVerb),
    #[command(flatten)]
    Quantile(QuantileVerb),
    #[command(flatten)]
    Norm(NormVerb),
    #[command(flatten)]
    Topk(TopkVerb),
    /// Which elements are members of a set
    #[command(after_help = "Example: lacuna isin tests/data/titanic.npz --values 0,13,14")]
    Isin(IsinArgs),
    #[command(flatten)]
    Zip(ZipVerb),
    /// Product of two matrices, or of batches of them
    #[command(after_help = "Example: lacuna matmul tests/data/karate.mtx tests/data/karate.mtx\n         \
                      lacuna matmul tests/data/karate.mtx tests/data/karate.mtx --semiring plus_pair --mask \
                      tests/data/karate.mtx")]
    Matmul(MatmulArgs),
    /// A part: of each axis a position or a range
    #[command(after_help = "Example: lacuna slice tests/data/karate.mtx '10:20,::2'")]
    Slice(Called<Slice>),
    #[command(flatten)]
    Join(JoinVerb),
    /// A sum of products over named axes
    #[command(after_help = "Example: lacuna einsum 'ij,jk->ik' tests/data/karate.mtx tests/data/karate.mtx")]
    Einsum(EinsumArgs),
    /// The axes in another order
    #[command(after_help = "Example: lacuna transpose tests/data/titanic.npz --axes 3,0,1,2")]
    Transpose(Called<Transpose>),
    /// Elements at positions, flattened (row-major) or along an axis
    #[command(after_help = "Example: lacuna take tests/data/karate.mtx --axis 0 --indices 0,-1")]
    Take(TakeArgs),
    /// Drop the entries that are the fill
    #[command(after_help = "Example: lacuna isnan tests/data/mauna_loa_co2.mtx -o missing.npz\n         \
                      lacuna prune missing.npz --all")]
    Prune(ElementwiseArgs),
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
    /// The value of an expression over files
    #[command(
        after_help = "Example: lacuna eval 'nanmedian(stored(x * 2 + 1), axis=1)' x=tests/data/mauna_loa_co2.mtx"
    )]
    Eval(EvalArgs),
    /// A picture of where the entries are
    #[command(after_help = "Example: lacuna spy tests/data/karate.mtx\n         \
                      lacuna spy tests/data/karate.mtx -o karate.png")]
    Spy(SpyArgs),
    /// The gradient of the input, from that of the output
    #[command(subcommand, after_help = "Example: lacuna backward any --help")]
    Backward(BackwardVerb),
    /// Print the help of a verb
    #[command(after_help = "Example: lacuna help take\n         lacuna help backward any")]
    Help(HelpArgs),
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
    #[command(flatten)]
    Fold(BackwardFoldVerb),
    #[command(flatten)]
    Var(BackwardVarVerb),
    #[command(flatten)]
    Median(BackwardMedianVerb),
    #[command(flatten)]
    Quantile(BackwardQuantileVerb),
    #[command(flatten)]
    Norm(BackwardNormVerb),
    #[command(flatten)]
    Topk(BackwardTopkVerb),
    #[command(flatten)]
    Zip(BackwardZipVerb),
    /// The gradient of `slice`
    #[command(after_help = "Example: lacuna slice tests/data/karate.mtx 10:20,::2 -o g.npz\n         \
                      lacuna backward slice tests/data/karate.mtx 10:20,::2 --grad g.npz")]
    Slice(Backward<Slice>),
    #[command(flatten)]
    Join(BackwardJoinVerb),
    /// The gradient of `einsum`
    #[command(
        after_help = "Example: lacuna einsum 'ij,jk->ik' tests/data/karate.mtx tests/data/karate.mtx -o g.npz\n         \
                      lacuna backward einsum 'ij,jk->ik' tests/data/karate.mtx tests/data/karate.mtx --grad g.npz"
    )]
    Einsum(BackwardEinsumArgs),
    /// The gradient of `transpose`
    #[command(after_help = "Example: lacuna transpose tests/data/karate.mtx -o g.npz\n         \
                      lacuna backward transpose tests/data/karate.mtx --grad g.npz")]
    Transpose(Backward<Transpose>),
}

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// The verb, and for backward the one below it
    #[arg(value_name = "VERB", value_parser = parse_verb)]
    pub(crate) verb: Vec<String>,
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

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write; `-` for stdout
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) telling: Telling,
}

#[derive(Debug, Args)]
pub(crate) struct ElementwiseArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

// A picture in the terminal has no summary whose entries could be listed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("summary").args(["output", "json"]).multiple(true))]
#[command(mut_arg("head", |head| head.requires("summary")), mut_arg("all", |all| all.requires("summary")))]
pub(crate) struct SpyArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Write the picture to a file, .png or .svg; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The kind of picture written, where the extension does not tell
    #[arg(long, value_enum, value_name = "png|svg", hide_possible_values = true, requires = "output")]
    pub(crate) to: Option<Picture>,
    /// About how wide the picture written is, 240 to 4000 pixels [default: 700]
    #[arg(long, value_parser = parse_pixels, allow_negative_numbers = true, value_name = "N", requires = "output")]
    pub(crate) size: Option<usize>,
    /// The width of the picture in the terminal, 24 to 400 characters [default: the terminal's, else 80]
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
    /// The files that the names of the expression stand for
    #[arg(value_parser = binding(), value_name = "NAME=FILE")]
    pub(crate) bindings: Vec<Binding>,
    /// Answer JSON objects, one a line of stdin, until its end
    #[arg(long, conflicts_with_all = ["expression", "bindings", "output"])]
    pub(crate) lines: bool,
    /// List the functions that there are
    #[arg(long, conflicts_with_all = ["expression", "bindings", "lines"])]
    pub(crate) functions: bool,
    /// Print the graph, and run nothing
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The axes of a reduction.
#[derive(Debug, Args)]
pub(crate) struct Reduce {
    /// The axes to reduce: all, none, or numbers; negative ones count from the end
    #[arg(long, value_parser = parse_axes, allow_hyphen_values = true, default_value = "all", value_name = "AXES")]
    axis: String,
    /// Keep reduced axes, with length 1
    #[arg(long)]
    keep_dims: bool,
}

impl Reduce {
    /// Returns the axes as arguments of an expression.
    pub(crate) fn arguments(&self) -> String {
        format!(", axis={}, keep_dims={}", self.axis, self.keep_dims)
    }
}

/// A reduction by the median.
#[derive(Debug, Args)]
pub(crate) struct Nanmedian {
    #[command(flatten)]
    pub(crate) reduce: Reduce,
    /// The median of an even count: the mean of the middle two, or the lower one
    #[arg(long, value_parser = ["mean", "lower"], default_value = "mean", value_name = "RULE")]
    pub(crate) even: String,
    /// Leave out what is not stored
    #[arg(long)]
    pub(crate) stored_only: bool,
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
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is taken.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("positions").required(true))]
pub(crate) struct Take {
    /// The positions; negative ones count from the end (with `--mode clip` they become 0). Also ranges, as in Python:
    /// `0:3,7,10:20:2`
    #[arg(long, value_parser = parse_indices, allow_hyphen_values = true, value_name = "I,I,…",
          group = "positions")]
    pub(crate) indices: Option<Indices>,
    /// A file of integers, whose shape the result has; or text, with a list of them
    #[arg(long, value_name = "FILE", group = "positions")]
    pub(crate) indices_from: Option<PathBuf>,
    /// A position out of range: an error, or wrapped around, or clipped to the nearest
    #[arg(long, value_enum, default_value_t = ModeArg::Raise, value_name = "MODE")]
    pub(crate) mode: ModeArg,
    /// Take along this axis, not from the flattened tensor
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, value_name = "N")]
    pub(crate) axis: Option<isize>,
}

impl Take {
    /// Returns the library's options for these positions.
    pub(crate) fn at<'a, J: Position>(&self, positions: &'a ArrayD<J>) -> lacuna::Take<'a, J> {
        lacuna::Take::at(positions).mode(self.mode.into())
    }
}

#[derive(Debug, Args)]
pub(crate) struct TakeArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) take: Take,
    #[command(flatten)]
    pub(crate) running: Running,
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
