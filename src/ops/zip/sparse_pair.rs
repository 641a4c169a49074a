//! Zips of two sparse operands, which may be broadcast.

use super::broadcast_shape;
use super::repeated::Broadcast;
use super::sparse::{stored_alike, whole};
use crate::base::error::Result;
use crate::element::Element;
use crate::kernels::zip::Zip;
use crate::ops::broadcast::in_shape;
use crate::ops::operand::{Sparse, SparseOperand};
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// Combines two sparse operands. If one is a stored view, both count as stored views.
pub(super) fn pair<X: Sparse, Y: Sparse<Pattern = X::Pattern>, Z: Zip<X::Value, Y::Value>>(
    x: &X,
    y: &Y,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    Tensor::from_erased(of_both(&x.sparse_operand(), &y.sparse_operand(), op)?)
}

/// Combines all elements of two tensors, or of two stored views.
pub(super) fn of_both<A: Element, B: Element, Z: Zip<A, B>>(
    x: &SparseOperand<'_, A>,
    y: &SparseOperand<'_, B>,
    op: Z,
) -> Result<Erased<Z::Out>> {
    let counts_unstored = x.counts_unstored && y.counts_unstored;
    let (x, y) = (x.sparse(), y.sparse());
    let of_one_shape = if counts_unstored { whole::<A, B, Z> } else { stored_alike };
    if x.shape() == y.shape() && x.pattern().part_of().or(y.pattern().part_of()).is_none() {
        return of_one_shape(x, y, op);
    }
    let shape = broadcast_shape(x.shape(), y.shape())?;
    if let Some(broadcast) = Broadcast::new(x, y, &shape) {
        return broadcast.zip(counts_unstored, op);
    }
    of_one_shape(in_shape(x, &shape)?.sparse(), in_shape(y, &shape)?.sparse(), op)
}
