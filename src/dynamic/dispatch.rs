//! Macros that run generic code on dynamically typed tensors: a `match` with an arm per element type.

/// The types that the expanded macros name.
///
/// A crate that uses the macros therefore does not need to depend on the crates of these types.
#[doc(hidden)]
pub mod types {
    #[cfg(feature = "half")]
    pub use half::{bf16, f16};
    pub use num_complex::Complex;
}

/// Passes the element types of the build to a macro, as `Variant type`: first the real types, then the complex types.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_dtypes {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
             Float32 f32, Float64 f64]
            [Complex64 $crate::dynamic::types::Complex<f32>, Complex128 $crate::dynamic::types::Complex<f64>]
            $($arguments)*
        }
    };
}

/// Passes the element types of the build to a macro, as `Variant type`: first the real types, then the complex types.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_dtypes {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
             Float32 f32, Float64 f64, Float16 $crate::dynamic::types::f16, BFloat16 $crate::dynamic::types::bf16]
            [Complex64 $crate::dynamic::types::Complex<f32>, Complex128 $crate::dynamic::types::Complex<f64>]
            $($arguments)*
        }
    };
}

/// Runs generic code on an [`AnyTensor`](crate::dynamic::AnyTensor) of any format and element type.
///
/// `dispatch!(any, x => body)` evaluates `body` with `x` bound to the tensor. If `any` is a reference, `x` is a
/// reference to the tensor.
///
/// # Examples
///
/// ```
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::{CooTensor, dispatch};
///
/// let x = CooTensor::new([3], vec![vec![1]], vec![7i16], 0)?;
/// let any = AnyTensor::from(x);
/// let pruned: AnyTensor = dispatch!(&any, x => AnyTensor::from(x.prune()?));
/// assert_eq!(pruned.nnz(), 1);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch {
    ($any:expr, $x:ident => $body:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch) AnyTensor ($any) $x ($body) }
    };
}

/// Expands to a `match` on the enum `$Any`, with `$body` for the types of the first list and `$otherwise` for the
/// second list. Without `$otherwise`, both lists have `$body`. The word `type` expands to a `match` on a `DType`.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*]
     type ($dtype:expr) $T:ident ($body:expr) ($otherwise:expr)) => {
        match $dtype {
            $($crate::DType::$Real => { type $T = $real; $body })*
            $($crate::DType::$Complex => { type $T = $complex; $body })*
            #[allow(unreachable_patterns)]
            _ => $otherwise,
        }
    };
    ([$($real:tt)*] [$($complex:tt)*] $Any:ident ($any:expr) $x:ident ($body:expr)) => {
        $crate::__dispatch! { [$($real)*, $($complex)*] [] $Any ($any) $x ($body) (()) }
    };
    ([$($Type:ident $type:ty),*] [$($Other:ident $other:ty),*]
     $Any:ident ($any:expr) $x:ident ($body:expr) ($otherwise:expr)) => {
        match $any {
            $($crate::dynamic::$Any::$Type($x) => $body,)*
            $($crate::dynamic::$Any::$Other(_) => $otherwise,)*
        }
    };
}

/// Runs [`dispatch!`] code that needs an order, such as a median.
///
/// If the tensor is complex, the `else` branch runs.
///
/// ```
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::{CooTensor, Element, Number, dispatch_real};
///
/// let any = AnyTensor::from(CooTensor::new([3], vec![vec![1]], vec![7i16], 0)?);
/// let greatest = dispatch_real!(&any, x => x.values()[0].greater(x.fill()).map(Element::to_number), else => None);
/// assert_eq!(greatest, Some(Number::Integer(7)));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch_real {
    ($any:expr, $x:ident => $body:expr, else => $otherwise:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch) AnyTensor ($any) $x ($body) ($otherwise) }
    };
}

/// Runs code with the type that a [`DType`](crate::DType) denotes.
///
/// If the type is not compiled in, the `else` branch runs.
///
/// ```
/// use lacuna::{DType, dispatch_dtype};
///
/// let bytes = |dtype: DType| dispatch_dtype!(dtype, T => Some(size_of::<T>()), else => None);
/// assert_eq!(bytes(DType::Complex128), Some(16));
/// assert_eq!(bytes(DType::Float16).is_some(), cfg!(feature = "half"));
/// ```
#[macro_export]
macro_rules! dispatch_dtype {
    ($dtype:expr, $T:ident => $body:expr, else => $otherwise:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch) type ($dtype) $T ($body) ($otherwise) }
    };
}
