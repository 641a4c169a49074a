//! Foundations of all modules: lengths, axes and coordinates, errors, memory, threads, the machine.

pub(crate) mod alloc;
pub(crate) mod axes;
pub(crate) mod buffer;
pub(crate) mod error;
pub(crate) mod few;
pub(crate) mod index;
pub(crate) mod labels;
pub(crate) mod limit;
pub(crate) mod locks;
pub(crate) mod machine;
pub(crate) mod recycle;
pub(crate) mod sealed;
pub(crate) mod shape;
pub(crate) mod temporary;
pub(crate) mod threads;
