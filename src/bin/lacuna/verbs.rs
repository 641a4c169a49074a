//! The verbs: read, run the operation, emit the result.

use lacuna::io::{AnyFormat, AnyTensor};
use lacuna::{Element, Error, Isin, Number, dispatch, dispatch_dtype};

use crate::args::{
    BackwardVerb, Cli, ConvertArgs, ElementwiseArgs, InfoArgs, IsinArgs, NanmedianArgs, ReduceArgs, TakeArgs, Verb,
};
use crate::backward::{backward_any, backward_nanmedian, backward_take};
use crate::erase::{Wide, no_order, numbered, on_format, on_wide, on_wide_real, renumbered, truth};
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

/// The elementwise operation of that name, on a widened tensor.
macro_rules! classify {
    ($args:expr, $name:ident) => {
        elementwise($args, |x| on_wide!(Wide::of(x)?, x => x.$name().map(AnyTensor::from)))
    };
}

/// The elementwise operation of that name, which complex numbers do not have.
macro_rules! classify_real {
    ($args:expr, $name:ident) => {
        elementwise($args, |x| {
            on_wide_real!(Wide::of(x)?, real => real.$name().map(AnyTensor::from), else => Err(no_order(stringify!($name), x)))
        })
    };
}

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Outcome {
    match &cli.verb {
        Verb::Info(args) => info(args),
        Verb::Convert(args) => convert(args),
        Verb::Any(args) => any(args),
        Verb::Isin(args) => isin(args),
        Verb::Take(args) => take(args),
        Verb::Prune(args) => elementwise(args, |x| dispatch!(x, x => x.prune().map(AnyTensor::from))),
        Verb::Nanmedian(args) => nanmedian(args),
        Verb::Isposinf(args) => classify_real!(args, isposinf),
        Verb::Isneginf(args) => classify_real!(args, isneginf),
        Verb::Isinf(args) => classify!(args, isinf),
        Verb::Isnan(args) => classify!(args, isnan),
        Verb::Isfinite(args) => classify!(args, isfinite),
        Verb::Isreal(args) => classify!(args, isreal),
        Verb::Spy(args) => spy(args),
        Verb::Backward(BackwardVerb::Any(args)) => backward_any(args),
        Verb::Backward(BackwardVerb::Take(args)) => backward_take(args),
        Verb::Backward(BackwardVerb::Nanmedian(args)) => backward_nanmedian(args),
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

fn elementwise(args: &ElementwiseArgs, operation: impl Fn(&AnyTensor) -> lacuna::Result<AnyTensor>) -> Outcome {
    let result = operation(&args.input.read()?).map_err(|error| match error {
        Error::NoOrder { operation, dtype } => {
            Failure::of_file(&args.input.file, format!("{operation} is not defined for {dtype}"))
        }
        error => Failure::of_file(&args.input.file, error),
    })?;
    args.output.emit(&result, args.input.reading.max_memory)
}

fn any(args: &ReduceArgs) -> Outcome {
    let axes = args.reduce.axes();
    let operation = |x: &AnyTensor| on_format!(&truth(x)?, x => x.any(&axes).map(AnyTensor::from));
    let result = operation(&args.input.read()?).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// The median of a tensor of floats in their own type, of any other in `f64`.
fn nanmedian(args: &NanmedianArgs) -> Outcome {
    let options = args.nanmedian.options();
    macro_rules! median_of {
        ($x:expr) => {
            match args.nanmedian.stored_only {
                false => $x.nanmedian(&options).map(AnyTensor::from),
                true => $x.stored().nanmedian(&options).map(AnyTensor::from),
            }
        };
    }
    let operation = |x: &AnyTensor| match x {
        AnyTensor::Float32(x) => on_format!(x, x => median_of!(x)),
        #[cfg(feature = "half")]
        AnyTensor::Float16(x) => on_format!(x, x => median_of!(x)),
        #[cfg(feature = "half")]
        AnyTensor::BFloat16(x) => on_format!(x, x => median_of!(x)),
        _ => on_wide_real!(Wide::of(x)?, x => median_of!(x), else => Err(no_order("nanmedian", x))),
    };
    let result = operation(&args.input.read()?).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

fn isin(args: &IsinArgs) -> Outcome {
    let set = match (&args.values, &args.values_from) {
        (Some(words), _) => Set::Words(&words.0),
        (None, Some(path)) => Set::Numbers(numbers(&args.input.read_beside(path, None)?)),
        (None, None) => Set::Words(&[]),
    };
    let x = args.input.read()?;
    let members: Vec<Number> = dispatch_dtype!(x.dtype(), T => {
        set.members::<T>().into_iter().map(Element::to_number).collect()
    }, else => Vec::new());
    let result = is_in(&x, &members, args.invert).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// Membership of a widened tensor in members that its own type holds.
fn is_in(x: &AnyTensor, members: &[Number], invert: bool) -> lacuna::Result<AnyTensor> {
    fn widened<T: Element>(members: &[Number], invert: bool) -> Isin<'static, T> {
        let members: Vec<T> = members.iter().filter_map(|&member| T::from_number(member)).collect();
        if invert { Isin::of(members).invert() } else { Isin::of(members) }
    }
    on_wide!(Wide::of(x)?, x => x.isin(widened(members, invert)).map(AnyTensor::from))
}

fn take(args: &TakeArgs) -> Outcome {
    let x = args.input.read()?;
    let indices = Positions::of(&args.take, &args.input, &x)?;
    let mode = args.take.mode.into();
    let operation = |x: &AnyTensor| {
        let entries = numbered(x)?;
        let taken = on_positions!(&indices, indices => on_format!(&entries, entries => match args.take.axis {
            None => entries.take(lacuna::Take::at(indices).mode(mode)).map(AnyFormat::from),
            Some(axis) => entries.take_axis(lacuna::Take::at(indices).mode(mode), axis).map(AnyFormat::from),
        }))?;
        renumbered(&taken, x, false)
    };
    let result = operation(&x).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}
