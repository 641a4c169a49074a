//! batched
