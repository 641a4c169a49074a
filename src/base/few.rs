//! Short lists, which ask for no memory.

use smallvec::SmallVec;

/// A list that holds up to two items itself: there is mostly one part where there is one thread, and tensors have few
/// axes.
pub(crate) type Few<T> = SmallVec<[T; 2]>;
