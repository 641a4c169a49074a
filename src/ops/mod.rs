//! The operations, by families. Each operation checks its arguments, plans, calls a kernel and wraps the result.
//!
//! An operation is a small descriptor, a page, and a free function over every [`Operand`]; one list defines the
//! methods.

#[macro_use]
mod pages;

mod broadcast;
mod map;
mod methods;
mod operand;
mod product;
mod reduce;
mod select;
pub(crate) mod table;
mod zip;

pub use methods::Operations;
pub use operand::Operand;
#[cfg(feature = "lazy")]
pub(crate) use operand::ValueStream;
#[cfg(any(feature = "dynamic", feature = "lazy"))]
pub(crate) use operand::{DenseOperand, ErasedOperand, ErasedResult, SparseOperand};
// The public items of each family, and the items that each family shares with the crate.
pub use self::zip::*;
pub use self::{map::*, product::*, reduce::*, select::*};
#[cfg(feature = "dynamic")]
pub(crate) use pages::linked;
#[cfg(feature = "lazy")]
pub(crate) use reduce::accumulators;
pub(crate) use table::folds::result_of;
pub(crate) use table::{Gradient, OpSpec, Parameter, ParameterKind, Second, ShapeRule, Split, Stream, op};

/// The gradients of all families, by the names of their functions.
pub(crate) mod grad {
    pub use super::zip::grad::*;
    pub use super::{map::grad::*, product::grad::*, reduce::grad::*, select::grad::*};
}
