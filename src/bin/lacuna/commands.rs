//! The commands: read, run the operation, emit the result.

use crate::args::{Cli, Commands, ConvertArgs, InfoArgs, Operation};
use crate::eval::{eval, list_functions};
use crate::failure::Failure;
use crate::isin::isin;
use crate::manual;
use crate::names::is_stream;
use crate::output::{print_summary, write};
use crate::spy::spy;
use crate::summary::Summary;
use crate::take::{take, take_backward};
use crate::usage::help;

type Outcome = Result<(), Failure>;

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Outcome {
    match &cli.command {
        Commands::Info(args) => info(args),
        Commands::Convert(args) => convert(args),
        Commands::Operation(listed) => operation(&listed.0),
        Commands::Backward(listed) => operation(&listed.0),
        Commands::Eval(args) if args.functions => list_functions(),
        Commands::Eval(args) => eval(args),
        Commands::Spy(args) => spy(args),
        Commands::Help(args) => help(&args.command),
        Commands::Completions(args) => manual::completions(args.shell),
        Commands::Man(args) => manual::man(args.dir.as_deref()),
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
    print_summary(&Summary::detailed(&args.input.read()?), &args.printing, false)
}

fn convert(args: &ConvertArgs) -> Outcome {
    let x = args.input.read()?;
    write(&args.output, &args.writing, &x, args.input.reading.max_memory)?;
    print_summary(&Summary::new((&x).into()), &args.printing, is_stream(&args.output))
}
