//! The verbs below `backward`: the gradient of the input, from that of the output.

use lacuna::io::{AnyFormat, AnyTensor, Format};
use lacuna::{DType, Error};

use crate::args::{Backward, Nanmedian, Reduce, Take};
use crate::erase::{Wide, no_order, numbered, on_format, on_wide_real, renumbered, truth};
use crate::failure::Failure;
use crate::positions::{Positions, on_positions};

/// Runs a gradient on the tensor and the upstream gradient.
fn backward<A: clap::Args>(
    args: &Backward<A>,
    x: AnyTensor,
    gradient: impl Fn(&AnyTensor, &AnyTensor) -> lacuna::Result<AnyTensor>,
) -> Result<(), Failure> {
    let of_upstream = |error| Failure::of_file(&args.grad, error);
    let upstream = args.input.read_beside(&args.grad, None)?.into_format(Format::Coo).map_err(of_upstream)?;
    let result = gradient(&x, &upstream).map_err(|error| match error {
        // Its shape, its type and the sums of its values.
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } => of_upstream(error),
        Error::SumOverflow { .. } | Error::Cast { .. } => of_upstream(error),
        error => Failure::of_file(&args.input.file, error),
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

pub(crate) fn backward_any(args: &Backward<Reduce>) -> Result<(), Failure> {
    let axes = args.forward.axes();
    backward(args, args.input.read()?, |x, upstream| {
        let g = numbered(upstream)?;
        let dx = on_format!(&truth(x)?, x => on_format!(&g, g => x.any_backward(g, &axes).map(AnyFormat::from)))?;
        renumbered(&dx, upstream, true)
    })
}

pub(crate) fn backward_take(args: &Backward<Take>) -> Result<(), Failure> {
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
            None => x.take_backward(g, lacuna::Take::at(i).mode(mode)).map(AnyTensor::from),
            Some(axis) => x.take_axis_backward(g, lacuna::Take::at(i).mode(mode), axis).map(AnyTensor::from),
        }, [Bool Int64 UInt64 Float32 Float64 Complex64 Complex128], else => refused_upstream)));
        dx?.cast(upstream.dtype())
    })
}

/// The middle values of a tensor are found in the widened type, the shares are formed in that of the upstream gradient.
pub(crate) fn backward_nanmedian(args: &Backward<Nanmedian>) -> Result<(), Failure> {
    let options = args.forward.options();
    backward(args, args.input.read()?, |x, upstream| {
        let wide = Wide::of(x)?;
        on_upstream!(upstream, g => on_wide_real!(&wide, x => match args.forward.stored_only {
            false => x.nanmedian_backward(g, &options).map(AnyTensor::from),
            true => x.stored().nanmedian_backward(g, &options).map(AnyTensor::from),
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
