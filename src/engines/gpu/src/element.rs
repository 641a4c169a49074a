//! Element types by their bits.

use std::sync::Arc;

use bytemuck::checked::{CheckedBitPattern, try_pod_read_unaligned};
use lacuna::lazy::engine_api::ErasedValue;
use lacuna::{DType, Element, Result};

use crate::context::{failed, with_capacity};
use crate::kernel::{Form, Kind};

/// Runs code with `$T` as the element type of a [`DType`]; `None` if the device does not hold the type.
macro_rules! of_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            lacuna::DType::Bool => $crate::element::of_dtype!(@ bool, $T => $body),
            lacuna::DType::UInt8 => $crate::element::of_dtype!(@ u8, $T => $body),
            lacuna::DType::UInt16 => $crate::element::of_dtype!(@ u16, $T => $body),
            lacuna::DType::UInt32 => $crate::element::of_dtype!(@ u32, $T => $body),
            lacuna::DType::UInt64 => $crate::element::of_dtype!(@ u64, $T => $body),
            lacuna::DType::Int8 => $crate::element::of_dtype!(@ i8, $T => $body),
            lacuna::DType::Int16 => $crate::element::of_dtype!(@ i16, $T => $body),
            lacuna::DType::Int32 => $crate::element::of_dtype!(@ i32, $T => $body),
            lacuna::DType::Int64 => $crate::element::of_dtype!(@ i64, $T => $body),
            lacuna::DType::Float32 => $crate::element::of_dtype!(@ f32, $T => $body),
            lacuna::DType::Float64 => $crate::element::of_dtype!(@ f64, $T => $body),
            _ => None,
        }
    };
    (@ $type:ty, $T:ident => $body:expr) => {{
        type $T = $type;
        Some($body)
    }};
}
pub(crate) use of_dtype;

/// An element type that the device supports: `bool`, integers, `f32` or `f64`.
///
/// The trait is sealed.
pub trait DeviceElement: Element + sealed::Sealed {
    #[doc(hidden)]
    const BITS: u32;

    #[doc(hidden)]
    fn bytes(values: &[Self]) -> &[u8];

    #[doc(hidden)]
    fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>>;

    /// Returns the bits of a value; the upper bits are zero.
    #[doc(hidden)]
    fn bits(self) -> u64;
}

mod sealed {
    pub trait Sealed {}
}

/// Returns the values of these bytes, or an error for a byte that is not a `bool`.
fn read<T: CheckedBitPattern>(bytes: &[u8]) -> Result<Vec<T>> {
    let mut values = with_capacity(bytes.len() / size_of::<T>())?;
    for bytes in bytes.chunks_exact(size_of::<T>()) {
        let value = try_pod_read_unaligned(bytes);
        values.push(value.map_err(|_| failed("the device returned bytes that are not a value"))?);
    }
    Ok(values)
}

macro_rules! elements {
    ($($type:ty, $unsigned:ty;)*) => {$(
        impl sealed::Sealed for $type {}

        impl DeviceElement for $type {
            const BITS: u32 = 8 * size_of::<$type>() as u32;

            fn bytes(values: &[Self]) -> &[u8] {
                bytemuck::cast_slice(values)
            }

            fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>> {
                read(bytes)
            }

            fn bits(self) -> u64 {
                bytemuck::cast::<$type, $unsigned>(self).into()
            }
        }
    )*};
}

elements! {
    bool, u8; u8, u8; u16, u16; u32, u32; u64, u64; i8, u8; i16, u16; i32, u32; i64, u64; f32, u32; f64, u64;
}

/// Returns the zero of an element type that the device holds.
pub(crate) fn zero_of(dtype: DType) -> ErasedValue {
    of_dtype!(dtype, T => Arc::new(T::ZERO) as ErasedValue).expect("the device holds this type")
}

/// Returns the bits of an element type, if the device holds it.
pub(crate) fn form_of(dtype: DType) -> Option<Form> {
    let (bits, kind) = match dtype {
        DType::Bool | DType::UInt8 => (8, Kind::Unsigned),
        DType::UInt16 => (16, Kind::Unsigned),
        DType::UInt32 => (32, Kind::Unsigned),
        DType::UInt64 => (64, Kind::Unsigned),
        DType::Int8 => (8, Kind::Signed),
        DType::Int16 => (16, Kind::Signed),
        DType::Int32 => (32, Kind::Signed),
        DType::Int64 => (64, Kind::Signed),
        DType::Float32 => (32, Kind::Float),
        DType::Float64 => (64, Kind::Float),
        _ => return None,
    };
    Some(Form { bits, kind })
}
