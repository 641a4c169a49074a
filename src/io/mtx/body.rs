//! The body of a Matrix Market file, after the sizes, and its values.

use num_complex::Complex;

use super::banner::{Banner, Symmetry};
use crate::base::shape::Shape;
use crate::io::fields::{LineResult, Scan};
use crate::io::lines::TextLines;
use crate::io::options::ReadOptions;
use crate::pattern::IndexKind;

/// The body of a file, after the sizes.
pub(super) struct MatrixBody<'a, R> {
    pub(super) lines: TextLines<R>,
    pub(super) banner: Banner,
    pub(super) shape: Shape,
    pub(super) declared: usize,
    pub(super) options: &'a ReadOptions,
    pub(super) index: IndexKind,
}

/// A value that a symmetry can mirror.
pub(super) trait MatrixValue: Scan {
    /// Returns the negated value, if it fits in the type.
    fn negated(self) -> Option<Self>;

    /// Returns the complex conjugate.
    fn conjugated(self) -> Self {
        self
    }

    /// Returns the value at the mirrored position.
    fn mirrored(self, symmetry: Symmetry) -> Self {
        match symmetry {
            Symmetry::Skew => self.negated().unwrap_or(self),
            Symmetry::Hermitian => self.conjugated(),
            Symmetry::General | Symmetry::Symmetric => self,
        }
    }

    /// Rejects a value on the diagonal that differs from its mirror image.
    fn check_diagonal(self, symmetry: Symmetry) -> LineResult<()> {
        match symmetry {
            Symmetry::Skew if self.is_truthy() => Err("the diagonal of a skew-symmetric matrix must be zero".into()),
            Symmetry::Hermitian if !self.isreal() => {
                Err(format!("the diagonal of a hermitian matrix must be real, found {}", self.to_number()))
            }
            _ => Ok(()),
        }
    }

    /// Rejects a value below the diagonal that cannot be mirrored.
    fn check_mirror(self, symmetry: Symmetry) -> LineResult<()> {
        match symmetry == Symmetry::Skew && self.negated().is_none() {
            true => Err(format!("{} cannot be mirrored: its negative does not fit", self.to_number())),
            false => Ok(()),
        }
    }
}

impl MatrixValue for f64 {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }
}

impl MatrixValue for i64 {
    fn negated(self) -> Option<Self> {
        self.checked_neg()
    }
}

impl MatrixValue for u64 {
    fn negated(self) -> Option<Self> {
        self.checked_neg()
    }
}

impl MatrixValue for Complex<f64> {
    fn negated(self) -> Option<Self> {
        Some(-self)
    }

    fn conjugated(self) -> Self {
        self.conj()
    }
}
