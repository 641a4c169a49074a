//! The values of inputs for a run.

use std::sync::Arc;

use super::node::{ErasedValue, Node};

/// The value of an input in one run, constructed by [`Lazy::is`](super::Lazy::is).
#[derive(Clone)]
pub struct Feed {
    pub(super) node: Arc<Node>,
    pub(super) value: ErasedValue,
}
