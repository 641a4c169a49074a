//! The sparse formats as values.

use std::fmt;

/// The format of a sparse tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The coordinate format, [`CooTensor`](crate::CooTensor).
    Coo,
    /// The compressed-row format, [`CsrTensor`](crate::CsrTensor).
    Csr,
}

impl Format {
    /// Returns `coo` or `csr`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Coo => "coo",
            Format::Csr => "csr",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
