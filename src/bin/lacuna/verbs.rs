//! The verbs: read, run the operation, emit the result.

use lacuna::io::{AnyFormat, AnyTensor, Format};
use lacuna::{
    DType, Element, Error, IsinOptions, NanmedianBackwardOptions, NanmedianOptions, Number, dispatch, dispatch_dtype,
};

use crate::args::{
    Backward, BackwardVerb, Cli, ConvertArgs, ElementwiseArgs, InfoArgs, Input, IsinArgs, Nanmedian, NanmedianArgs,
    Reduce, ReduceArgs, Take, TakeArgs, Verb,
};
use crate::erase::{Wide, numbered, on_format, on_wide, on_wide_real, renumbered, truth};
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
        elementwise($args, |x| on_wide!(Wide::of(x)?, x => Ok(x.$name().into())))
    };
}

/// The elementwise operation of that name, which complex numbers do not have.
macro_rules! classify_real {
    ($args:expr, $name:ident) => {
        elementwise($args, |x| {
            on_wide_real!(Wide::of(x)?, real => Ok(real.$name().into()), else => Err(no_order(stringify!($name), x)))
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
        Verb::Prune(args) => elementwise(args, |x| Ok(dispatch!(x, x => x.prune().into()))),
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

/// Runs an operation on the input. One that CSR does not have goes through COO, unless CSR was asked for by name.
fn on_either_format(
    input: &Input,
    x: AnyTensor,
    operation: impl Fn(&AnyTensor) -> lacuna::Result<AnyTensor>,
) -> lacuna::Result<AnyTensor> {
    let asked = input.reading.format == Some(Format::Csr);
    match operation(&x) {
        Err(Error::CsrAxes { .. }) if !asked => x.into_format(Format::Coo).and_then(|x| operation(&x)),
        result => result,
    }
}

/// Why an operation on the input failed, in the words of this program.
fn refused(input: &Input, error: Error) -> Failure {
    let why = match error {
        Error::CsrAxes { operation, axes, rank, .. } => {
            format!("{operation} does not run on CSR over axes {axes:?} of rank {rank}; leave out --format csr")
        }
        error => error.to_string(),
    };
    Failure::of_file(&input.file, why)
}

/// The error for an operation that complex numbers do not have.
fn no_order(operation: &'static str, x: &AnyTensor) -> Error {
    Error::NoOrder { operation, dtype: x.dtype().name() }
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
        error => refused(&args.input, error),
    })?;
    args.output.emit(&result, args.input.reading.max_memory)
}

fn any(args: &ReduceArgs) -> Outcome {
    let axes = args.reduce.axes();
    let operation = |x: &AnyTensor| on_format!(&truth(x)?, x => x.any(&axes).map(AnyTensor::from));
    let result =
        on_either_format(&args.input, args.input.read()?, operation).map_err(|error| refused(&args.input, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// The median of a tensor of floats in their own type, of any other in `f64`.
fn nanmedian(args: &NanmedianArgs) -> Outcome {
    let Nanmedian { reduce, even, stored_only } = &args.nanmedian;
    let (axes, options) = (reduce.axes(), NanmedianOptions { even: (*even).into() });
    macro_rules! median_of {
        ($x:expr) => {
            match stored_only {
                false => $x.nanmedian_with(&axes, options).map(AnyTensor::from),
                true => $x.nanmedian_stored_with(&axes, options).map(AnyTensor::from),
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
    let result =
        on_either_format(&args.input, args.input.read()?, operation).map_err(|error| refused(&args.input, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

fn isin(args: &IsinArgs) -> Outcome {
    let set = match (&args.values, &args.values_from) {
        (Some(words), _) => Set::Words(&words.0),
        (None, Some(path)) => Set::Numbers(numbers(&args.input.read_beside(path, None)?)),
        (None, None) => Set::Words(&[]),
    };
    let options = IsinOptions { invert: args.invert, ..IsinOptions::default() };
    let x = args.input.read()?;
    let members: Vec<Number> = dispatch_dtype!(x.dtype(), T => {
        set.members::<T>().into_iter().map(Element::to_number).collect()
    }, else => Vec::new());
    let result = is_in(&x, &members, options).map_err(|error| Failure::of_file(&args.input.file, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// Membership of a widened tensor in members that its own type holds.
fn is_in(x: &AnyTensor, members: &[Number], options: IsinOptions) -> lacuna::Result<AnyTensor> {
    fn widened<T: Element>(members: &[Number]) -> Vec<T> {
        members.iter().filter_map(|&member| T::from_number(member)).collect()
    }
    on_wide!(Wide::of(x)?, x => x.isin_with(widened(members), options).map(AnyTensor::from))
}

fn take(args: &TakeArgs) -> Outcome {
    let x = args.input.read()?;
    let indices = Positions::of(&args.take, &args.input, &x)?;
    let mode = args.take.mode.into();
    let operation = |x: &AnyTensor| {
        let entries = numbered(x)?;
        let taken = on_positions!(&indices, indices => on_format!(&entries, entries => match args.take.axis {
            None => entries.take(indices, mode).map(AnyFormat::from),
            Some(axis) => entries.take_axis(indices, axis, mode).map(AnyFormat::from),
        }))?;
        renumbered(&taken, x, false)
    };
    let result = on_either_format(&args.input, x, operation).map_err(|error| refused(&args.input, error))?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// Runs a gradient on the tensor and the upstream gradient.
fn backward<A: clap::Args>(
    args: &Backward<A>,
    x: AnyTensor,
    gradient: impl Fn(&AnyTensor, &AnyTensor) -> lacuna::Result<AnyTensor>,
) -> Outcome {
    let of_upstream = |error| Failure::of_file(&args.grad, error);
    let upstream = args.input.read_beside(&args.grad, None)?.into_format(Format::Coo).map_err(of_upstream)?;
    let result = on_either_format(&args.input, x, |x| gradient(x, &upstream)).map_err(|error| match error {
        // Its shape, its type and the sums of its values.
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } => of_upstream(error),
        Error::SumOverflow { .. } | Error::Cast { .. } => of_upstream(error),
        error => refused(&args.input, error),
    })?;
    args.output.emit(&result, args.input.reading.max_memory)
}

/// Runs code on an upstream gradient, whose entries are in coordinates.
macro_rules! on_upstream {
    ($upstream:expr, $g:ident => $body:expr, [$($Variant:ident)*], else => $otherwise:expr) => {
        match $upstream {
            $(AnyTensor::$Variant(AnyFormat::Coo($g)) => $body,)*
            #[cfg(feature = "half")]
            AnyTensor::Float16(AnyFormat::Coo($g)) => $body,
            #[cfg(feature = "half")]
            AnyTensor::BFloat16(AnyFormat::Coo($g)) => $body,
            other => $otherwise(other),
        }
    };
}

fn backward_any(args: &Backward<Reduce>) -> Outcome {
    let axes = args.forward.axes();
    backward(args, args.input.read()?, |x, upstream| {
        let g = numbered(upstream)?;
        let dx = on_format!(&truth(x)?, x => on_format!(&g, g => x.any_backward(g, &axes).map(AnyFormat::from)))?;
        renumbered(&dx, upstream, true)
    })
}

fn backward_take(args: &Backward<Take>) -> Outcome {
    let x = args.input.read()?;
    let indices = Positions::of(&args.forward, &args.input, &x)?;
    let (mode, axis) = (args.forward.mode.into(), args.forward.axis);
    backward(args, x, |x, upstream| {
        // The sums of the narrow integers are formed in 64 bits; one that does not fit the type is refused below.
        let sums = match upstream.dtype() {
            DType::Int8 | DType::Int16 | DType::Int32 => upstream.clone().cast(DType::Int64)?,
            DType::UInt8 | DType::UInt16 | DType::UInt32 => upstream.clone().cast(DType::UInt64)?,
            _ => upstream.clone(),
        };
        let x = truth(x)?;
        let dx = on_positions!(&indices, i => on_format!(&x, x => on_upstream!(&sums, g => match axis {
            None => x.take_backward(i, g, mode).map(AnyTensor::from),
            Some(axis) => x.take_axis_backward(i, g, axis, mode).map(AnyTensor::from),
        }, [Bool Int64 UInt64 Float32 Float64 Complex64 Complex128], else => refused_upstream)));
        dx?.cast(upstream.dtype())
    })
}

/// The middle values of a tensor are found in the widened type, the shares are formed in that of the upstream gradient.
fn backward_nanmedian(args: &Backward<Nanmedian>) -> Outcome {
    let Nanmedian { reduce, even, stored_only } = &args.forward;
    let axes = reduce.axes();
    let options = NanmedianBackwardOptions { even: (*even).into(), ..NanmedianBackwardOptions::default() };
    backward(args, args.input.read()?, |x, upstream| {
        let wide = Wide::of(x)?;
        on_upstream!(upstream, g => on_wide_real!(&wide, x => match stored_only {
            false => x.nanmedian_backward_with(g, &axes, options).map(AnyTensor::from),
            true => x.nanmedian_stored_backward_with(g, &axes, options).map(AnyTensor::from),
        }, else => Err(no_order("nanmedian", x))), [Float32 Float64], else => refused_upstream)
    })
}

/// The error for an upstream gradient of a type that has no such gradient.
fn refused_upstream(upstream: &AnyTensor) -> lacuna::Result<AnyTensor> {
    Err(Error::NotRepresentable {
        format: "this gradient",
        what: format!("an upstream gradient of type {}", upstream.dtype()),
        instead: "give one of floats",
    })
}
