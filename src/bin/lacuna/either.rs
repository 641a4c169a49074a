//! Running an operation on whichever format it has, and saying why it failed.

use lacuna::Error;
use lacuna::io::{AnyTensor, Format};

use crate::args::Input;
use crate::failure::Failure;

/// Runs an operation on the input. One that CSR does not have goes through COO, unless CSR was asked for by name.
pub(crate) fn on_either_format(
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
pub(crate) fn refused(input: &Input, error: Error) -> Failure {
    let why = match error {
        Error::CsrAxes { operation, axes, rank, .. } => {
            format!("{operation} does not run on CSR over axes {axes:?} of rank {rank}; leave out --format csr")
        }
        error => error.to_string(),
    };
    Failure::of_file(&input.file, why)
}

/// The error for an operation that complex numbers do not have.
pub(crate) fn no_order(operation: &'static str, x: &AnyTensor) -> Error {
    Error::NoOrder { operation, dtype: x.dtype().name() }
}
