//! The arguments of the commands whose values or positions are a list or a file.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use lacuna::Position;
use ndarray::ArrayD;

use super::shared::{EngineArgs, InputArgs, Output};
use super::words::{Indices, ModeArg, NumberList, parse_axis, parse_indices, parse_values};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("set").required(true))]
pub(crate) struct IsinArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Test values in the tensor's element type; '' is the empty set
    #[arg(long, value_parser = parse_values, allow_hyphen_values = true, value_name = "V,V,…",
          group = "set")]
    pub(crate) values: Option<NumberList>,
    /// A file whose elements are the test values, compared exactly
    #[arg(long, value_name = "FILE", group = "set")]
    pub(crate) values_from: Option<PathBuf>,
    /// Mark the elements that are not test values
    #[arg(long)]
    pub(crate) invert: bool,
    #[command(flatten)]
    pub(crate) running: EngineArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The positions that a command takes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("positions").required(true))]
pub(crate) struct PositionArgs {
    /// Positions or ranges, as in Python: `0:3,7,10:20:2`; negative ones count from the end (with `--mode clip` they
    /// become 0)
    #[arg(long, value_parser = parse_indices, allow_hyphen_values = true, value_name = "I,I,…",
          group = "positions")]
    pub(crate) indices: Option<Indices>,
    /// A file of integers, which sets the shape of the result; or a text list
    #[arg(long, value_name = "FILE", group = "positions")]
    pub(crate) indices_from: Option<PathBuf>,
    /// Rule for positions out of range: an error, wrapped, or clipped
    #[arg(long, value_enum, default_value_t = ModeArg::Raise, value_name = "MODE")]
    pub(crate) mode: ModeArg,
    /// Take along this axis instead of from the flattened tensor
    #[arg(long, value_parser = parse_axis, allow_hyphen_values = true, value_name = "N")]
    pub(crate) axis: Option<isize>,
}

impl PositionArgs {
    /// Returns the library's options for these positions.
    pub(crate) fn at<'a, J: Position>(&self, positions: &'a ArrayD<J>) -> lacuna::Take<'a, J> {
        lacuna::Take::at(positions).mode(self.mode.into())
    }
}

#[derive(Debug, Args)]
pub(crate) struct TakeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) take: PositionArgs,
    #[command(flatten)]
    pub(crate) running: EngineArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The gradient of [`TakeArgs`].
#[derive(Debug, Args)]
pub(crate) struct TakeBackwardArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The upstream gradient: a file of the output's shape
    #[arg(long, value_name = "FILE")]
    pub(crate) grad: PathBuf,
    #[command(flatten)]
    pub(crate) take: PositionArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}
