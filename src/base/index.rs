//! The integer types of coordinates, and of positions in [`take`](crate::take()).

use std::fmt::Debug;
use std::hash::Hash;

use crate::base::error::{Error, Result};
use crate::base::sealed::Sealed;
use crate::base::shape::Shape;

/// An integer type for coordinates: `u32` (the default), `u64` or `usize`.
///
/// The last coordinate of each axis must fit in the type. The trait is sealed.
pub trait Index: Copy + Ord + Hash + Debug + Default + Send + Sync + 'static + IntegerBits + Sealed {
    /// The name of the type, for messages.
    const NAME: &'static str;
    /// The largest coordinate of this type.
    const MAX: u64;
    /// The width in which patterns store coordinates of this type.
    #[doc(hidden)]
    const WIDTH: Width = if Self::MAX == u32::MAX as u64 { Width::U32 } else { Width::U64 };

    /// Returns the coordinate as `usize`.
    ///
    /// A coordinate that does not fit in `usize` becomes `usize::MAX`, which is out of bounds on every axis.
    fn to_usize(self) -> usize;

    /// Converts a coordinate to this type. The caller must check that the coordinate fits in the type.
    fn from_usize(coord: usize) -> Self;
}

macro_rules! impl_index {
    ($($type:ident),*) => {$(
        impl Index for $type {
            const NAME: &'static str = stringify!($type);
            const MAX: u64 = $type::MAX as u64;

            fn to_usize(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }

            fn from_usize(coord: usize) -> Self {
                debug_assert!(coord as u64 <= <Self as Index>::MAX);
                coord as Self
            }
        }
    )*};
}

impl_index!(u32, u64, usize);

/// The widths in which patterns store coordinates.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    U32,
    U64,
}

impl Width {
    /// Returns the bytes of one coordinate.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Width::U32 => 4,
            Width::U64 => 8,
        }
    }

    /// Returns the smallest width in which the coordinates of all axes of these lengths fit.
    pub(crate) fn of_lengths(lengths: &[usize]) -> Self {
        let is_long = |&length: &usize| length as u64 > 1 << 32;
        if lengths.iter().any(is_long) { Width::U64 } else { Width::U32 }
    }
}

/// Rejects a shape with an axis that is too long for the index type.
pub(crate) fn check_axes<I: Index>(shape: &Shape) -> Result<()> {
    match shape.iter().position(|&length| length as u64 > I::MAX && length as u64 - 1 > I::MAX) {
        None => Ok(()),
        Some(axis) => Err(Error::AxisTooLong {
            axis,
            length: shape[axis],
            index_type: I::NAME,
            maximum: u128::from(I::MAX) + 1,
            instead: "u64",
        }),
    }
}

/// An integer type for positions in operations such as [`take`](crate::take()), and for axes.
///
/// Every built-in integer type except the 128-bit types implements the trait. The trait is sealed.
pub trait Position: Copy + Debug + Send + Sync + 'static + IntegerBits + Sealed {
    /// Returns the position as `i128`.
    fn to_i128(self) -> i128;

    /// Returns this position plus `count`. The caller must ensure that the sum fits in the type.
    #[doc(hidden)]
    fn plus(self, count: usize) -> Self;

    /// Returns the position as `i64`, for fast arithmetic; `None` if the position does not fit in `i64`.
    fn to_i64(self) -> Option<i64> {
        self.to_i128().try_into().ok()
    }
}

macro_rules! impl_position {
    ($($type:ident),*) => {$(
        impl Position for $type {
            fn to_i128(self) -> i128 {
                self as i128
            }

            fn plus(self, count: usize) -> Self {
                self.wrapping_add(count as $type)
            }
        }

        impl Sealed for $type {}
    )*};
}

impl_position!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// Integer types for which every bit pattern is valid.
pub trait IntegerBits: bytemuck::Pod {}
impl<T: bytemuck::Pod> IntegerBits for T {}

/// Returns the product of `lengths`, or `usize::MAX` if the product does not fit in `usize`.
///
/// If one axis has length 0, the other axes may have any length, because no position needs a flat index.
pub(crate) fn capped_product(lengths: &[usize]) -> usize {
    lengths.iter().fold(1, |product: usize, &length| product.saturating_mul(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_legal_when_its_last_coordinate_fits() {
        assert!(check_axes::<u32>(&Shape::from([1 << 32])).is_ok());
        assert!(check_axes::<u32>(&Shape::from([0, (1 << 32) + 1])).is_err());
        assert!(check_axes::<u64>(&Shape::from([usize::MAX])).is_ok());
    }
}
