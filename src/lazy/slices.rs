//! Steps that slice or move the elements of a value, with the source line of another step.

use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::call::{Arg, Call};
use super::node::Node;
use super::steps::step;
use crate::ops::op;

/// The slice of all positions of an axis.
pub(super) const ALL: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

/// Returns a move of the elements of a value, with the source line of another step.
pub(super) fn moved(whole: &Arc<Node>, call: Call, of: &Node) -> Option<Arc<Node>> {
    let mut node = step(call, vec![Arc::clone(whole)], whole.kind.mover()?);
    (node.place, node.facts) = (of.place, whole.facts);
    Some(Arc::new(node))
}

/// Returns a slice of a value.
pub(super) fn sliced(whole: &Arc<Node>, slice: &Node) -> Arc<Node> {
    let found = slice.slices().and_then(|slices| moved(whole, slice_of(Arc::clone(slices)), slice));
    found.unwrap_or_else(|| Arc::clone(whole))
}

/// Returns the call of a slice.
pub(super) fn slice_of(slices: Arc<[SliceInfoElem]>) -> Call {
    Call::of(&op::slice, [Arg::Input(0), Arg::Slices(slices)])
}
