//! Errors of expressions at positions in the text.

use std::ops::Range;

use super::{Fault, Wrong};
use crate::base::error::{Error, Result};

/// Returns an error at a position.
pub(super) fn wrong<T>(at: &Range<usize>, message: impl Into<String>) -> std::result::Result<T, Fault> {
    Err(Fault::Wrong(Wrong::new(at.clone(), message)))
}

/// Returns the result of an operation. An error of element types becomes an error of the expression, at this position.
pub(super) fn at<T>(place: &Range<usize>, result: Result<T>) -> std::result::Result<T, Fault> {
    result.map_err(|error| match error {
        Error::NoOperation { .. } | Error::TypesDiffer { .. } => {
            Fault::Wrong(Wrong::new(place.clone(), error.to_string()))
        }
        Error::NoOrder { operation, dtype } => {
            Fault::Wrong(Wrong::new(place.clone(), format!("{operation} is not defined for {dtype}")))
        }
        error => Fault::Run(error),
    })
}

/// The position of a call in the text, and the positions of its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct CallPositions {
    pub(super) call: Range<usize>,
    pub(super) arguments: Vec<Range<usize>>,
}

impl CallPositions {
    /// Returns the position of the argument of a parameter, or of the call if the position is unknown.
    pub(super) fn of(&self, parameter: usize) -> Range<usize> {
        self.arguments.get(parameter).cloned().unwrap_or_else(|| self.call.clone())
    }
}
