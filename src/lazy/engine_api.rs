//! The interface of a graph for engines in packages of this project. Other programs must not rely on this interface,
//! because any version may change it.

pub use super::broadcast_operands::Side;
pub use super::chunks::Spill;
pub use super::columns::ByBytes;
pub use super::node::ErasedValue;
pub use super::placed::placed;
pub use super::plan::Plan;
pub use super::query::{Found, Query, Reader, Rows};
pub use super::remote::{Folding, QueryText, piece, side_name, value_bytes};
pub use super::source::{OnDevice, Part};
pub use super::view::{Read, View};
pub use crate::base::alloc::AllocError;
pub use crate::base::sealed::Sealed;
pub use crate::kernels::ordered::{FillKey, RankSearch};
pub use crate::kernels::partial::{Partial, Reducer};
pub use crate::plan::moves::{AxisOrder, MoveStep, StepRange};
