//! The verbs below `backward`: the gradient of the input, from that of the output.

use lacuna::Error;
use lacuna::io::AnyTensor;

use crate::args::{Backward, Reduce, Take};
use crate::failure::Failure;
use crate::positions::{Positions, on_positions};

/// Runs a gradient on the upstream gradient.
fn backward<A: clap::Args>(
    args: &Backward<A>,
    gradient: impl Fn(&AnyTensor) -> lacuna::Result<AnyTensor>,
) -> Result<(), Failure> {
    let upstream = args.input.read_beside(&args.grad, None)?;
    let result = gradient(&upstream).map_err(|error| match error {
        // Its shape, its type and the sums of its values.
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } | Error::SumOverflow { .. } => {
            Failure::of_file(&args.grad, error)
        }
        error => Failure::of_file(&args.input.file, error),
    })?;
    args.output.emit(&result, args.input.reading.max_memory)
}

pub(crate) fn backward_any(args: &Backward<Reduce>) -> Result<(), Failure> {
    let x = args.input.read()?;
    backward(args, |upstream| x.any_backward(upstream, args.forward.axes()))
}

pub(crate) fn backward_take(args: &Backward<Take>) -> Result<(), Failure> {
    let x = args.input.read()?;
    let indices = Positions::of(&args.forward, &args.input, &x)?;
    backward(args, |upstream| {
        on_positions!(&indices, indices => match args.forward.axis {
            None => x.take_backward(upstream, args.forward.at(indices)),
            Some(axis) => x.take_axis_backward(upstream, args.forward.at(indices), axis),
        })
    })
}
