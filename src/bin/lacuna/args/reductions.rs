//! The commands that share argument types, one line each: reductions, binary operations, gradients.

use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

use super::shared::Running;
use super::shared::{Input, Output, Reading};
use super::words::{operand, parse_axis, parse_labels, parse_probability, parse_slices, parse_wrt, semirings};
use super::{Backward, Nanmedian, Reduce};

/// Defines commands with arguments of one type: per command its name, its help and the arguments of its example. A
/// gradient needs only the name and the example of its forward command.
macro_rules! verbs {
    ($verbs:ident, $args:ty: $($variant:ident $name:literal $about:literal $example:literal;)*) => {
        verbs! { @ $verbs, $args: $($variant, $name, $about,
            concat!("Example: lacuna ", $name, " ", $example);)* }
    };
    (gradients $verbs:ident, $args:ty: $($variant:ident $name:literal $example:literal;)*) => {
        verbs! { @ $verbs, $args: $($variant, $name, concat!("The gradient of `", $name, "`"),
            concat!("Example: lacuna ", $name, " ", $example, " -o g.npz\n         lacuna backward ", $name, " ",
                $example, " --grad g.npz");)* }
    };
    (@ $verbs:ident, $args:ty: $($variant:ident, $name:literal, $about:expr, $example:expr;)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum $verbs {
            $(
                #[command(name = $name, about = $about, after_help = $example)]
                $variant($args),
            )*
        }

        impl $verbs {
            /// Returns the name of the function that the command runs, and the arguments.
            pub(crate) fn parts(&self) -> (&'static str, &$args) {
                match self {
                    $($verbs::$variant(args) => ($name, args),)*
                }
            }
        }
    };
}

/// A reduction, of all elements or of what is stored.
#[derive(Debug, Args)]
pub(crate) struct Fold {
    #[command(flatten)]
    pub(crate) reduce: Reduce,
    /// Leave out what is not stored
    #[arg(long)]
    pub(crate) stored_only: bool,
}

/// A verb of one tensor.
#[derive(Debug, Args)]
pub(crate) struct Called<A: Args> {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) options: A,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A variance.
#[derive(Debug, Args)]
pub(crate) struct Var {
    #[command(flatten)]
    pub(crate) fold: Fold,
    /// What is taken off the count that the squares are divided by
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_name = "N")]
    pub(crate) ddof: u64,
}

/// A quantile.
#[derive(Debug, Args)]
pub(crate) struct Quantile {
    #[command(flatten)]
    pub(crate) fold: Fold,
    /// Which one, from 0 to 1
    #[arg(long, value_parser = parse_probability, allow_negative_numbers = true, value_name = "Q")]
    pub(crate) q: f64,
    /// What a quantile is that falls between two elements
    #[arg(long, value_parser = ["linear", "lower", "higher", "midpoint", "nearest"], default_value = "linear",
          value_name = "METHOD")]
    pub(crate) method: String,
}

/// A norm.
#[derive(Debug, Args)]
pub(crate) struct Norm {
    #[command(flatten)]
    pub(crate) fold: Fold,
    /// The order of the norm
    #[arg(long, value_parser = ["1", "2", "inf"], default_value = "2", value_name = "N")]
    pub(crate) ord: String,
}

/// The greatest elements.
#[derive(Debug, Args)]
pub(crate) struct Topk {
    /// How many
    #[arg(long, value_name = "N")]
    pub(crate) k: usize,
    /// The axis
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, default_value = "-1", value_name = "N")]
    pub(crate) axis: isize,
    /// Leave out what is not stored
    #[arg(long)]
    pub(crate) stored_only: bool,
}

verbs! { FoldVerb, Called<Fold>:
    CountNonzero "count_nonzero" "How many elements are not zero, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1";
    All "all" "Whether all elements are not zero, over axes" "tests/data/titanic.npz --axis 3";
    Sum "sum" "Sum, rounded once, over axes" "tests/data/karate.mtx --axis 1";
    Mean "mean" "Mean, rounded once, over axes" "tests/data/titanic.npz --axis 3";
    Prod "prod" "Product, over axes" "tests/data/titanic.npz --axis 3 --stored-only";
    Nanprod "nanprod" "Product without the NaNs, over axes" "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only";
    Min "min" "The least element, over axes" "tests/data/titanic.npz --axis 0,1";
    Max "max" "The greatest element, over axes" "tests/data/titanic.npz --axis 0,1";
    Argmin "argmin" "Where the least element stands, over axes" "tests/data/karate.mtx --axis 1";
    Argmax "argmax" "Where the greatest element stands, over axes" "tests/data/karate.mtx --axis 1";
    Nansum "nansum" "Sum without the NaNs, over axes" "tests/data/mauna_loa_co2.mtx --axis 0";
    Nanmean "nanmean" "Mean without the NaNs, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only";
    Nanmin "nanmin" "The least element that is not NaN, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only";
    Nanmax "nanmax" "The greatest element that is not NaN, over axes" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanargmin "nanargmin" "Where the least element that is not NaN stands, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanargmax "nanargmax" "Where the greatest element that is not NaN stands, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1";
}

verbs! { VarVerb, Called<Var>:
    Var "var" "Variance, over axes" "tests/data/titanic.npz --axis 3 --ddof 1";
    Std "std" "Standard deviation, over axes" "tests/data/titanic.npz --axis 3";
    Nanvar "nanvar" "Variance without the NaNs, over axes" "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only";
    Nanstd "nanstd" "Standard deviation without the NaNs, over axes" "tests/data/mauna_loa_co2.mtx --axis 1";
}

verbs! { MedianVerb, Called<Nanmedian>:
    Median "median" "Median, over axes" "tests/data/titanic.npz --axis 1,2,3";
    Nanmedian "nanmedian" "Median without the NaNs, over axes" "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only";
}

verbs! { QuantileVerb, Called<Quantile>:
    Quantile "quantile" "Quantile, over axes" "tests/data/titanic.npz --axis 3 --q 0.9";
    Nanquantile "nanquantile" "Quantile without the NaNs, over axes"
        "tests/data/mauna_loa_co2.mtx --axis 1 --q 0.9 --stored-only";
}

verbs! { NormVerb, Called<Norm>:
    Norm "norm" "Norm, over axes" "tests/data/karate.mtx --axis 1 --ord 1";
}

verbs! { TopkVerb, Called<Topk>:
    Topk "topk" "The greatest elements, along an axis" "tests/data/karate.mtx --k 2 --axis 1";
}

verbs! { gradients BackwardFoldVerb, Backward<Fold>:
    Sum "sum" "tests/data/mauna_loa_co2.mtx --axis 1";
    Mean "mean" "tests/data/mauna_loa_co2.mtx --axis 1";
    Prod "prod" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanprod "nanprod" "tests/data/mauna_loa_co2.mtx --axis 1";
    Min "min" "tests/data/mauna_loa_co2.mtx --axis 1";
    Max "max" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nansum "nansum" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanmean "nanmean" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanmin "nanmin" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanmax "nanmax" "tests/data/mauna_loa_co2.mtx --axis 1";
}

verbs! { gradients BackwardMedianVerb, Backward<Nanmedian>:
    Median "median" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanmedian "nanmedian" "tests/data/mauna_loa_co2.mtx --axis 1";
}

verbs! { gradients BackwardQuantileVerb, Backward<Quantile>:
    Quantile "quantile" "tests/data/mauna_loa_co2.mtx --axis 1 --q 0.9";
    Nanquantile "nanquantile" "tests/data/mauna_loa_co2.mtx --axis 1 --q 0.9";
}

verbs! { gradients BackwardNormVerb, Backward<Norm>:
    Norm "norm" "tests/data/karate.mtx --axis 1";
}

verbs! { gradients BackwardTopkVerb, Backward<Topk>:
    Topk "topk" "tests/data/karate.mtx --k 2 --axis 1";
}

verbs! { gradients BackwardVarVerb, Backward<Var>:
    Var "var" "tests/data/mauna_loa_co2.mtx --axis 1";
    Std "std" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanvar "nanvar" "tests/data/mauna_loa_co2.mtx --axis 1";
    Nanstd "nanstd" "tests/data/mauna_loa_co2.mtx --axis 1";
}

/// The right operand: a file or a number.
#[derive(Debug, Clone)]
pub(crate) enum Operand {
    File(PathBuf),
    Number(String),
}

impl Operand {
    /// Returns the path, if the operand is a file.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Operand::File(path) => Some(path),
            Operand::Number(_) => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ZipArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The other operand: a file, or a number in the element type of the first
    #[arg(value_parser = operand(), allow_hyphen_values = true, value_name = "FILE|NUMBER")]
    pub(crate) right: Operand,
    /// Look at what is stored alone
    #[arg(long)]
    pub(crate) stored_only: bool,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

verbs! { ZipVerb, ZipArgs:
    Add "add" "Sum of two tensors, element by element" "tests/data/karate.mtx tests/data/karate.mtx";
    Sub "sub" "Difference of two tensors, element by element" "tests/data/karate.mtx 1";
    Mul "mul" "Product of two tensors, element by element" "tests/data/karate.mtx -2.5";
    Div "div" "Quotient of two tensors, element by element" "tests/data/karate.mtx 2";
}

/// A product of matrices.
#[derive(Debug, Args)]
pub(crate) struct MatmulArgs {
    #[command(flatten)]
    pub(crate) of: ZipArgs,
    /// What is done in the place of plus and times, among what is stored
    #[arg(long, value_parser = semirings(), value_name = "NAME")]
    pub(crate) semiring: Option<String>,
    /// A file of the result's shape: the product of what is stored, where the file has entries
    #[arg(long, value_name = "FILE")]
    pub(crate) mask: Option<PathBuf>,
    /// Where the mask has no entries
    #[arg(long, requires = "mask")]
    pub(crate) complement: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackwardZipArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The other operand: a file, or a number in the element type of the first
    #[arg(value_parser = operand(), allow_hyphen_values = true, value_name = "FILE|NUMBER")]
    pub(crate) right: Operand,
    /// Look at what is stored alone
    #[arg(long)]
    pub(crate) stored_only: bool,
    /// The upstream gradient: a file of the output's shape
    #[arg(long, value_name = "FILE")]
    pub(crate) grad: PathBuf,
    /// Which operand the gradient is that of: 0 or 1
    #[arg(long, value_parser = parse_wrt, default_value = "0", value_name = "N")]
    pub(crate) wrt: usize,
    #[command(flatten)]
    pub(crate) output: Output,
}

verbs! { gradients BackwardZipVerb, BackwardZipArgs:
    Add "add" "tests/data/karate.mtx tests/data/karate.mtx";
    Sub "sub" "tests/data/karate.mtx tests/data/karate.mtx";
    Mul "mul" "tests/data/karate.mtx tests/data/karate.mtx";
    Div "div" "tests/data/karate.mtx tests/data/karate.mtx";
    Matmul "matmul" "tests/data/karate.mtx tests/data/karate.mtx";
}

/// Several files as one.
#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// The files to read
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The axis
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, default_value = "0", value_name = "N")]
    pub(crate) axis: isize,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

verbs! { JoinVerb, JoinArgs:
    Concat "concat" "Tensors one behind the other on an axis"
        "tests/data/karate.mtx tests/data/karate.mtx --axis 1";
    Stack "stack" "Tensors beside each other on a new axis"
        "tests/data/karate.mtx tests/data/karate.mtx --axis 0 -o both.npz";
}

/// A sum of products.
#[derive(Debug, Args)]
pub(crate) struct EinsumArgs {
    /// A letter for each axis of each file and of the result, such as 'ij,jk->ik'
    #[arg(value_parser = parse_labels, allow_hyphen_values = true, value_name = "SPEC")]
    pub(crate) spec: String,
    /// The files to read
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Look at what is stored alone
    #[arg(long)]
    pub(crate) stored_only: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) running: Running,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The gradient of one of several files.
#[derive(Debug, Args)]
pub(crate) struct BackwardFiles {
    /// The files to read
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The upstream gradient: a file of the output's shape
    #[arg(long, value_name = "FILE")]
    pub(crate) grad: PathBuf,
    /// Which file the gradient is that of, from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) wrt: usize,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct BackwardJoinArgs {
    /// The axis
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, default_value = "0", value_name = "N")]
    pub(crate) axis: isize,
    #[command(flatten)]
    pub(crate) of: BackwardFiles,
}

#[derive(Debug, Args)]
pub(crate) struct BackwardEinsumArgs {
    /// A letter for each axis of each file and of the result, such as 'ij,jk->ik'
    #[arg(value_parser = parse_labels, allow_hyphen_values = true, value_name = "SPEC")]
    pub(crate) spec: String,
    /// Look at what is stored alone
    #[arg(long)]
    pub(crate) stored_only: bool,
    #[command(flatten)]
    pub(crate) of: BackwardFiles,
}

verbs! { gradients BackwardJoinVerb, BackwardJoinArgs:
    Concat "concat" "tests/data/karate.mtx tests/data/karate.mtx --axis 1";
    Stack "stack" "tests/data/karate.mtx tests/data/karate.mtx --axis 1";
}

/// A part of a tensor.
#[derive(Debug, Args)]
pub(crate) struct Slice {
    /// For each axis a position or a range as Python has it, such as '10:20,:,::2,3'
    #[arg(value_parser = parse_slices, allow_hyphen_values = true, value_name = "SLICES")]
    pub(crate) slices: String,
}

/// The axes in another order.
#[derive(Debug, Args)]
pub(crate) struct Transpose {
    /// The order of the axes; negative ones count from the end [default: the last one first]
    #[arg(long, value_parser = parse_axis, value_delimiter = ',', allow_hyphen_values = true, value_name = "N,N,…")]
    pub(crate) axes: Vec<isize>,
}
