//! sprs
