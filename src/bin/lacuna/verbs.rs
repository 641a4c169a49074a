//! The commands: read, run the operation, emit the result.

use crate::args::{Cli, ConvertArgs, InfoArgs, Operation, Verb};
use crate::eval::{eval, list_functions};
use crate::failure::Failure;
use crate::isin::isin;
use crate::manual;
use crate::names::is_stream;
use crate::output::{tell, write};
use crate::spy::spy;
use crate::summary::Summary;
use crate::take::{take, take_backward};
use crate::usage::help;

type Outcome = Result<(), Failure>;

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Outcome {
    match &cli.verb {
        Verb::Info(args) => info(args),
        Verb::Convert(args) => convert(args),
        Verb::Operation(listed) => operation(&listed.0),
        Verb::Backward(listed) => operation(&listed.0),
        Verb::Eval(args) if args.functions => list_functions(),
        Verb::Eval(args) => eval(args),
        Verb::Spy(args) => spy(args),
        Verb::Help(args) => help(&args.verb),
        Verb::Completions(args) => manual::completions(args.shell),
        Verb::Man(args) => manual::man(args.dir.as_deref()),
    }
}

fn operation(operation: &Operation) -> Outcome {
    match operation {
        Operation::Called(call) => call.run(),
        Operation::Isin(args) => isin(args),
        Operation::Take(args) => take(args),
        Operation::TakeBackward(args) => take_backward(args),
    }
}

fn info(args: &InfoArgs) -> Outcome {
    tell(&Summary::detailed(&args.input.read()?), &args.telling, false)
}

fn convert(args: &ConvertArgs) -> Outcome {
    let x = args.input.read()?;
    write(&args.output, &args.writing, &x, args.input.reading.max_memory)?;
    tell(&Summary::new((&x).into()), &args.telling, is_stream(&args.output))
}
