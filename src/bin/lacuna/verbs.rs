//! The verbs: read, run the operation, emit the result.

use lacuna::io::AnyTensor;
use lacuna::{Element, Number, dispatch_dtype};

use crate::args::{BackwardVerb, Cli, ConvertArgs, InfoArgs, Input, IsinArgs, Output, TakeArgs, Verb};
use crate::backward::backward_take;
use crate::called;
use crate::eval::{eval, list_functions};
use crate::failure::Failure;
use crate::manual;
use crate::names::is_stream;
use crate::output::{tell, write};
use crate::positions::{Positions, on_positions};
use crate::sets::{Set, numbers};
use crate::spy::spy;
use crate::summary::Summary;
use crate::usage::help;

type Outcome = Result<(), Failure>;

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Outcome {
    match &cli.verb {
        Verb::Info(args) => info(args),
        Verb::Convert(args) => convert(args),
        Verb::Any(args) => called::of_one(("any", args)),
        Verb::Fold(verb) => called::of_one(verb.parts()),
        Verb::Var(verb) => called::of_one(verb.parts()),
        Verb::Median(verb) => called::of_one(verb.parts()),
        Verb::Quantile(verb) => called::of_one(verb.parts()),
        Verb::Norm(verb) => called::of_one(verb.parts()),
        Verb::Topk(verb) => called::of_one(verb.parts()),
        Verb::Zip(verb) => called::zip(verb.parts()),
        Verb::Matmul(args) => called::matmul(args),
        Verb::Slice(args) => called::of_one(("slice", args)),
        Verb::Join(verb) => called::join(verb.parts()),
        Verb::Einsum(args) => called::einsum(args),
        Verb::Transpose(args) => called::of_one(("transpose", args)),
        Verb::Isin(args) => isin(args),
        Verb::Take(args) => take(args),
        Verb::Prune(args) => called::plain("prune", args),
        Verb::Isposinf(args) => called::plain("isposinf", args),
        Verb::Isneginf(args) => called::plain("isneginf", args),
        Verb::Isinf(args) => called::plain("isinf", args),
        Verb::Isnan(args) => called::plain("isnan", args),
        Verb::Isfinite(args) => called::plain("isfinite", args),
        Verb::Isreal(args) => called::plain("isreal", args),
        Verb::Eval(args) if args.functions => list_functions(),
        Verb::Eval(args) => eval(args),
        Verb::Spy(args) => spy(args),
        Verb::Backward(BackwardVerb::Any(args)) => called::backward(("any", args)),
        Verb::Backward(BackwardVerb::Take(args)) => backward_take(args),
        Verb::Backward(BackwardVerb::Fold(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Var(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Median(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Quantile(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Norm(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Topk(verb)) => called::backward(verb.parts()),
        Verb::Backward(BackwardVerb::Zip(verb)) => called::backward_zip(verb.parts()),
        Verb::Backward(BackwardVerb::Slice(args)) => called::backward(("slice", args)),
        Verb::Backward(BackwardVerb::Join(verb)) => called::backward_join(verb.parts()),
        Verb::Backward(BackwardVerb::Einsum(args)) => called::backward_einsum(args),
        Verb::Backward(BackwardVerb::Transpose(args)) => called::backward(("transpose", args)),
        Verb::Help(args) => help(&args.verb),
        Verb::Completions(args) => manual::completions(args.shell),
        Verb::Man(args) => manual::man(args.dir.as_deref()),
    }
}

fn info(args: &InfoArgs) -> Outcome {
    tell(&Summary::detailed(&args.input.read()?), &args.telling, false)
}

fn convert(args: &ConvertArgs) -> Outcome {
    let x = args.input.read()?;
    write(&args.output, &args.writing, &x, args.input.reading.max_memory)?;
    tell(&Summary::new(&x), &args.telling, is_stream(&args.output))
}

fn isin(args: &IsinArgs) -> Outcome {
    let set = match (&args.values, &args.values_from) {
        (Some(words), _) => Set::Words(&words.0),
        (None, Some(path)) => Set::Numbers(numbers(&args.input.read_beside(path, None)?)),
        (None, None) => Set::Words(&[]),
    };
    emit(&args.input, &args.output, |x| {
        let members: Vec<Number> = dispatch_dtype!(x.dtype(), T => {
            set.members::<T>().into_iter().map(Element::to_number).collect()
        }, else => Vec::new());
        x.isin(members, args.invert)
    })
}

fn take(args: &TakeArgs) -> Outcome {
    let x = args.input.read()?;
    let indices = Positions::of(&args.take, &args.input, &x)?;
    let result = on_positions!(&indices, indices => match args.take.axis {
        None => x.take(args.take.at(indices)),
        Some(axis) => x.take_axis(args.take.at(indices), axis),
    });
    let result = result.map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// Reads the file, runs the operation, and emits its result.
fn emit(input: &Input, output: &Output, operation: impl Fn(&AnyTensor) -> lacuna::Result<AnyTensor>) -> Outcome {
    let result = operation(&input.read()?).map_err(|error| Failure::of_file(&input.file, error))?;
    output.emit(&result, input.reading.max_memory)
}
