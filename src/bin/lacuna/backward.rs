//! The command `backward take`, whose positions may be read from a file.

use crate::args::{Backward, Take};
use crate::called::of_gradient;
use crate::failure::Failure;
use crate::positions::{Positions, on_positions};

pub(crate) fn backward_take(args: &Backward<Take>) -> Result<(), Failure> {
    let x = args.input.read()?;
    let indices = Positions::of(&args.forward, &args.input, &x)?;
    let upstream = args.input.read_beside(&args.grad, None)?;
    let result = on_positions!(&indices, indices => match args.forward.axis {
        None => x.take_backward(&upstream, args.forward.at(indices)),
        Some(axis) => x.take_axis_backward(&upstream, args.forward.at(indices), axis),
    });
    let result = result.map_err(|error| of_gradient(error, &[&args.input.file], &args.grad))?;
    args.output.emit(result, args.input.reading.max_memory)
}
