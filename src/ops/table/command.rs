//! The column of the table that the command line reads: the command of an operation.

#![cfg_attr(any(test, not(feature = "eval")), allow(dead_code, unreachable_pub))] // only the command line reads it

use super::{Gradient, OpSpec};

/// The command of an operation.
#[derive(Debug, Clone, Copy)]
pub struct CommandSpec {
    /// The arguments of the command.
    pub kind: CommandKind,
    /// The line of the command in a list of commands.
    pub about: &'static str,
    /// The arguments of the examples, one example per line. A line that begins with `lacuna` is another command.
    pub examples: &'static str,
}

/// The commands that accept the same arguments, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandKind {
    /// A reduction without a form for stored entries.
    Reduce,
    /// A reduction.
    Fold,
    /// A variance.
    Var,
    /// Covariances.
    Cov,
    /// A median.
    Median,
    /// A quantile.
    Quantile,
    /// A norm.
    Norm,
    /// The largest elements along an axis.
    Topk,
    /// Differences along an axis.
    Diff,
    /// Running results along an axis.
    Scan,
    /// A set of values.
    Isin,
    /// A binary operation.
    Zip,
    /// A product of matrices.
    Matmul,
    /// A part of a tensor.
    Slice,
    /// A concatenation of files.
    Join,
    /// A sum of products over named axes.
    Einsum,
    /// A permutation of axes.
    Transpose,
    /// Elements at positions.
    Take,
    /// A function of one tensor without other arguments.
    Plain,
}

impl CommandSpec {
    /// Returns the operations that have a command, with the names of their gradients, in the order of the help.
    pub fn all() -> impl Iterator<Item = (&'static str, Self, Option<&'static str>)> {
        let command = |op: &'static OpSpec| Some((op, op.command?));
        let mut commands: Vec<_> = OpSpec::all().filter_map(command).collect();
        commands.sort_by_key(|(_, command)| command.kind);
        commands.into_iter().map(|(op, command)| match op.gradient() {
            Gradient::Backward(gradient) => (op.name, command, Some(gradient.name)),
            _ => (op.name, command, None),
        })
    }
}
