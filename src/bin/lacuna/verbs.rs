//! The commands: read, run the operation, emit the result.

use lacuna::io::AnyTensor;
#[cfg(feature = "parquet")]
use lacuna::{CooTensor, Error, io::read_header};
use lacuna::{Element, Number, dispatch_dtype};
#[cfg(feature = "parquet")]
use ndarray::Array1;

use crate::args::{BackwardVerb, Cli, ConvertArgs, InfoArgs, Input, IsinArgs, Output, TakeArgs, Verb};
use crate::backward::backward_take;
use crate::called;
#[cfg(feature = "parquet")]
use crate::called::Operands;
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
#[cfg(feature = "parquet")]
use crate::{failure::unnamed, input::File};

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
    tell(&Summary::new((&x).into()), &args.telling, is_stream(&args.output))
}

fn isin(args: &IsinArgs) -> Outcome {
    #[cfg(feature = "parquet")]
    if args.running.is_in_chunks() {
        return isin_in_chunks(args);
    }
    let set = set(args)?;
    emit(&args.input, &args.output, |x| {
        let members: Vec<Number> = dispatch_dtype!(x.dtype(), T => {
            set.members::<T>().into_iter().map(Element::to_number).collect()
        }, else => Vec::new());
        x.isin(members, args.invert)
    })
}

/// Runs `isin` in chunks, with the values of the set as a second operand.
#[cfg(feature = "parquet")]
fn isin_in_chunks(args: &IsinArgs) -> Outcome {
    let (set, header) = (set(args)?, header(&args.input)?);
    let members = dispatch_dtype!(header.dtype(), T => {
        let members = set.members::<T>();
        CooTensor::from_dense(&Array1::from(members), T::ZERO).and_then(|set| Ok(set.with_index::<u64>()?.into()))
    }, else => Err(Error::NoTensor));
    let members = members.map_err(|error| Failure::of_file(&args.input.file, error))?;
    let of = Operands { files: vec![args.input.named()], tensors: vec![members], are_several: false };
    let text = format!("isin(x0, x1, invert={})", args.invert);
    called::emit(&text, of, &args.running, args.input.reading.max_memory, &args.output)
}

/// Returns the header of the file that the command names.
#[cfg(feature = "parquet")]
fn header(input: &Input) -> Result<AnyTensor, Failure> {
    let File { path, from, options } = input.named();
    match from {
        None if !is_stream(path) => read_header(path, &options).map_err(|error| Failure::of_file(path, unnamed(error))),
        _ => input.read(),
    }
}

fn set(args: &IsinArgs) -> Result<Set<'_>, Failure> {
    Ok(match (&args.values, &args.values_from) {
        (Some(words), _) => Set::Words(&words.0),
        (None, Some(path)) => Set::Numbers(numbers(&args.input.read_beside(path, None)?)),
        (None, None) => Set::Words(&[]),
    })
}

fn take(args: &TakeArgs) -> Outcome {
    #[cfg(feature = "parquet")]
    if args.running.is_in_chunks() {
        return take_in_chunks(args);
    }
    let x = args.input.read()?;
    let indices = Positions::of(&args.take, &args.input, &x)?;
    let result = on_positions!(&indices, indices => match args.take.axis {
        None => x.take(args.take.at(indices)),
        Some(axis) => x.take_axis(args.take.at(indices), axis),
    });
    let result = result.map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(result, args.input.reading.max_memory)
}

/// Runs `take` in chunks, with the positions as a second operand.
#[cfg(feature = "parquet")]
fn take_in_chunks(args: &TakeArgs) -> Outcome {
    let indices = Positions::of(&args.take, &args.input, &header(&args.input)?)?;
    let indices: lacuna::Result<AnyTensor> = on_positions!(&indices, indices => {
        CooTensor::from_dense(indices, 0).and_then(|indices| Ok(indices.with_index::<u64>()?.into()))
    });
    let indices = indices.map_err(|error| Failure::of_file(&args.input.file, error))?;
    let of = Operands { files: vec![args.input.named()], tensors: vec![indices], are_several: false };
    let axis = args.take.axis.map_or_else(String::new, |axis| format!(", axis={axis}"));
    let text = format!("take(x0, x1{axis}, mode=\"{}\")", args.take.mode.name());
    called::emit(&text, of, &args.running, args.input.reading.max_memory, &args.output)
}

/// Reads the file, runs the operation, and emits its result.
fn emit(input: &Input, output: &Output, operation: impl Fn(&AnyTensor) -> lacuna::Result<AnyTensor>) -> Outcome {
    let result = operation(&input.read()?).map_err(|error| Failure::of_file(&input.file, error))?;
    output.emit(result, input.reading.max_memory)
}
