//! Products: sums over the axes that two operands share.

mod contracted;
pub(crate) mod listed;
mod matrix;
mod mttkrp;
pub(crate) mod outer;
mod sddmm;
pub(crate) mod softmax;

pub use mttkrp::{mttkrp, mttkrp_backward, ttm, ttm_backward, ttv, ttv_backward};
pub use outer::{kron, kron_backward, outer, outer_backward};
pub use softmax::{log_softmax, log_softmax_backward, softmax, softmax_backward};
