//! Reductions over axes, and their gradients.
//!
//! An operation is a descriptor: a [`Fold`](crate::kernels::fold::Fold) or a
//! [`Holistic`](crate::kernels::holistic::Holistic). The drivers do the rest: [`sparse`] for tensors of both formats
//! and their stored views, [`dense`] for arrays of any layout.

mod any;
mod count_nonzero;
pub(crate) mod dense;
mod lanes;
mod nanmedian;
pub(crate) mod sparse;

pub use any::{any, any_backward};
pub use count_nonzero::count_nonzero;
pub use nanmedian::{EvenCount, MedianGradient, Nanmedian, nanmedian, nanmedian_backward, nanmedian_index};

use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::kernels::op::{Fault, Op};
use crate::ops::operand::Operand;
use crate::plan::reduction::Reduction;

/// The error of an operation that has no result.
fn refused<O: Op>(_: O, fault: Fault) -> Error {
    match fault {
        Fault::Uncountable => Error::Uncountable { operation: O::NAME },
        Fault::Overflow => Error::Overflow { operation: O::NAME, coords: None, dtype: "" },
        Fault::DivisionByZero => Error::DivisionByZero { operation: O::NAME, coords: None },
        Fault::Memory(refused) => refused.into(),
    }
}

/// Refuses groups whose positions have no number in 64 bits, if there is any group.
fn check_countable<O: Op>(op: O, reduction: &Reduction) -> Result<()> {
    let is_countable = reduction.extent() <= u128::from(u64::MAX) || reduction.kept_lengths().contains(&0);
    if is_countable { Ok(()) } else { Err(refused(op, Fault::Uncountable)) }
}

/// Refuses an upstream gradient that has not the shape of the forward result.
pub(super) fn check_upstream<U: Operand>(upstream: &U, expected: &Shape) -> Result<()> {
    if *upstream.lengths() == **expected {
        return Ok(());
    }
    let (expected, found) = (expected.clone(), Shape::from(upstream.lengths()));
    Err(Error::ShapeMismatch { what: "the upstream gradient", expected, found })
}
