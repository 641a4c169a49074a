//! The conversion of floats to `f64`, without rounding.

/// Types whose values are exact in `f64` and convert by plain instructions.
///
/// Sums convert each value.
pub trait ExactInF64: Copy {
    /// Returns the number as an `f64`.
    fn in_f64(self) -> f64;
}

impl ExactInF64 for f32 {
    #[inline(always)]
    fn in_f64(self) -> f64 {
        self.into()
    }
}

impl ExactInF64 for f64 {
    #[inline(always)]
    fn in_f64(self) -> f64 {
        self
    }
}
