//! The command `take` and its gradient, whose positions may be read from a file.

#[cfg(feature = "parquet")]
use lacuna::{CooTensor, io::AnyTensor};

use crate::args::{TakeArgs, TakeBackwardArgs};
#[cfg(feature = "parquet")]
use crate::called::CallWork;
use crate::called::of_gradient;
use crate::failure::Failure;
use crate::positions::{Positions, on_positions};

type Outcome = Result<(), Failure>;

/// Returns the elements at the positions.
pub(crate) fn take(args: &TakeArgs) -> Outcome {
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
    let indices = Positions::of(&args.take, &args.input, &args.input.header()?)?;
    let indices: lacuna::Result<AnyTensor> = on_positions!(&indices, indices => {
        CooTensor::from_dense(indices, 0).and_then(|indices| Ok(indices.with_index::<u64>()?.into()))
    });
    let indices = indices.map_err(|error| Failure::of_file(&args.input.file, error))?;
    let axis = args.take.axis.map_or_else(String::new, |axis| format!(", axis={axis}"));
    let work = CallWork::on_tensor(&args.input, indices, &args.running, &args.output);
    work.emit(&format!("take(x0, x1{axis}, mode=\"{}\")", args.take.mode.name()))
}

/// Returns the gradient of [`take`].
pub(crate) fn take_backward(args: &TakeBackwardArgs) -> Outcome {
    let x = args.input.read()?;
    let indices = Positions::of(&args.take, &args.input, &x)?;
    let upstream = args.input.read_beside(&args.grad, None)?;
    let result = on_positions!(&indices, indices => match args.take.axis {
        None => x.take_backward(&upstream, args.take.at(indices)),
        Some(axis) => x.take_axis_backward(&upstream, args.take.at(indices), axis),
    });
    let result = result.map_err(|error| of_gradient(error, &[&args.input.file], &args.grad))?;
    args.output.emit(result, args.input.reading.max_memory)
}
