//! Tensors whose format and element type are known at run time only.

use std::any::Any;
use std::fmt;

use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::{DType, Element, Number};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::io::element::FileElement;
use crate::pages;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::shape::Shape;
use crate::tensor::{Tensor, number_in};

/// The format of a tensor: what an operation runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The coordinate format, [`CooTensor`].
    Coo,
    /// The compressed-row format, [`CsrTensor`].
    Csr,
}

impl Format {
    /// `coo` or `csr`.
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

/// A tensor of one element type in either format. Coordinates are `u64`, which every file fits.
#[derive(Clone, PartialEq)]
pub enum AnyFormat<T> {
    /// In coordinate format.
    Coo(CooTensor<T, u64>),
    /// In compressed-row format.
    Csr(CsrTensor<T, u64>),
}

impl<T: Element> fmt::Debug for AnyFormat<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyFormat::Coo(tensor) => fmt::Debug::fmt(tensor, f),
            AnyFormat::Csr(tensor) => fmt::Debug::fmt(tensor, f),
        }
    }
}

impl<T> From<CooTensor<T, u64>> for AnyFormat<T> {
    fn from(tensor: CooTensor<T, u64>) -> Self {
        AnyFormat::Coo(tensor)
    }
}

impl<T> From<CsrTensor<T, u64>> for AnyFormat<T> {
    fn from(tensor: CsrTensor<T, u64>) -> Self {
        AnyFormat::Csr(tensor)
    }
}

impl<T: Element> AnyFormat<T> {
    /// The same tensor in `format`; compressed offsets above `limit` bytes are refused, with the default for `None`.
    fn into_format(self, format: Format, limit: Option<u64>) -> Result<Self> {
        Ok(match (self, format) {
            (AnyFormat::Coo(tensor), Format::Csr) => match limit {
                Some(limit) => tensor.to_csr_with_limit(limit)?.into(),
                None => tensor.into_csr()?.into(),
            },
            (AnyFormat::Csr(tensor), Format::Coo) => tensor.to_coo()?.into(),
            (same, _) => same,
        })
    }
}

/// The types that the macros name, so that they work in crates that do not depend on theirs.
#[doc(hidden)]
pub mod types {
    #[cfg(feature = "half")]
    pub use half::{bf16, f16};
    pub use num_complex::Complex;
}

/// The element types that are compiled in, as `Variant type`: the real ones and the complex ones.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_dtypes {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
             Float32 f32, Float64 f64]
            [Complex64 $crate::io::types::Complex<f32>, Complex128 $crate::io::types::Complex<f64>]
            $($arguments)*
        }
    };
}

/// The element types that are compiled in, as `Variant type`: the real ones and the complex ones.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_dtypes {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
             Float32 f32, Float64 f64, Float16 $crate::io::types::f16, BFloat16 $crate::io::types::bf16]
            [Complex64 $crate::io::types::Complex<f32>, Complex128 $crate::io::types::Complex<f64>]
            $($arguments)*
        }
    };
}

/// Runs generic code on an [`AnyTensor`](crate::io::AnyTensor), whatever its format and element type.
///
/// `dispatch!(any, x => body)` is `body` with `x` bound to the tensor, or to a reference to it where `any` is one.
///
/// # Examples
///
/// ```
/// use lacuna::io::AnyTensor;
/// use lacuna::{CooTensor, dispatch};
///
/// let x = CooTensor::new([3], vec![vec![1]], vec![7i16], 0)?.with_index::<u64>()?;
/// let any = AnyTensor::from(x);
/// let pruned: AnyTensor = dispatch!(&any, x => AnyTensor::from(x.prune()));
/// assert_eq!(pruned.nnz(), 1);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch {
    ($any:expr, $x:ident => $body:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch) ($any) $x ($body) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*] ($any:expr) $x:ident ($body:expr)) => {
        match $any {
            $($crate::io::AnyTensor::$Real($crate::io::AnyFormat::Coo($x)) => $body,
              $crate::io::AnyTensor::$Real($crate::io::AnyFormat::Csr($x)) => $body,)*
            $($crate::io::AnyTensor::$Complex($crate::io::AnyFormat::Coo($x)) => $body,
              $crate::io::AnyTensor::$Complex($crate::io::AnyFormat::Csr($x)) => $body,)*
        }
    };
}

/// [`dispatch!`] for code that needs an order, such as a median: a complex tensor takes the other branch.
///
/// ```
/// use lacuna::io::AnyTensor;
/// use lacuna::{CooTensor, Element, Number, dispatch_real};
///
/// let any = AnyTensor::from(CooTensor::new([3], vec![vec![1]], vec![7i16], 0)?.with_index::<u64>()?);
/// let greatest = dispatch_real!(&any, x => x.values()[0].greater(x.fill()).map(Element::to_number), else => None);
/// assert_eq!(greatest, Some(Number::Integer(7)));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[macro_export]
macro_rules! dispatch_real {
    ($any:expr, $x:ident => $body:expr, else => $otherwise:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch_real) ($any) $x ($body) ($otherwise) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch_real {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*]
     ($any:expr) $x:ident ($body:expr) ($otherwise:expr)) => {
        match $any {
            $($crate::io::AnyTensor::$Real($crate::io::AnyFormat::Coo($x)) => $body,
              $crate::io::AnyTensor::$Real($crate::io::AnyFormat::Csr($x)) => $body,)*
            $($crate::io::AnyTensor::$Complex(_) => $otherwise,)*
        }
    };
}

/// Runs code with a type parameter chosen by a [`DType`](crate::DType); a type that is not compiled in takes the
/// other branch.
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
        $crate::__with_dtypes! { ($crate::__dispatch_dtype) ($dtype) $T ($body) ($otherwise) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch_dtype {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*]
     ($dtype:expr) $T:ident ($body:expr) ($otherwise:expr)) => {
        match $dtype {
            $($crate::DType::$Real => { type $T = $real; $body })*
            $($crate::DType::$Complex => { type $T = $complex; $body })*
            #[allow(unreachable_patterns)]
            _ => $otherwise,
        }
    };
}

/// Declares the enum and how each element type comes into it.
#[doc(hidden)]
macro_rules! __any_tensor {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*]) => {
        /// A tensor whose format and element type are known at run time: what a file holds.
        ///
        /// [`dispatch!`](crate::dispatch!) runs generic code on it; it compares as tensors do.
        ///
        /// # Examples
        ///
        /// ```
        /// use lacuna::io::{AnyTensor, Format};
        /// use lacuna::{CooTensor, DType};
        ///
        /// let x = CooTensor::new([2, 3], vec![vec![0], vec![2]], vec![1.5f32], 0.0)?;
        /// let any = AnyTensor::from(x.with_index::<u64>()?);
        /// assert_eq!((any.format(), any.dtype()), (Format::Coo, DType::Float32));
        /// assert_eq!(any.cast(DType::Float64)?.into_format(Format::Csr)?.nnz(), 1);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum AnyTensor {
            $($Real(AnyFormat<$real>),)*
            $($Complex(AnyFormat<$complex>),)*
        }

        impl AnyTensor {
            /// The same tensor in `format`; compressed offsets above `limit` bytes are refused.
            fn convert(self, format: Format, limit: Option<u64>) -> Result<Self> {
                Ok(match self {
                    $(AnyTensor::$Real(x) => AnyTensor::$Real(x.into_format(format, limit)?),)*
                    $(AnyTensor::$Complex(x) => AnyTensor::$Complex(x.into_format(format, limit)?),)*
                })
            }
        }

        __any_tensor! { @from $($Real $real),* }
        __any_tensor! { @from $($Complex $complex),* }
    };
    (@from $($Variant:ident $type:ty),*) => {$(
        impl From<AnyFormat<$type>> for AnyTensor {
            fn from(tensor: AnyFormat<$type>) -> Self {
                AnyTensor::$Variant(tensor)
            }
        }

        impl From<CooTensor<$type, u64>> for AnyTensor {
            fn from(tensor: CooTensor<$type, u64>) -> Self {
                AnyTensor::$Variant(tensor.into())
            }
        }

        impl From<CsrTensor<$type, u64>> for AnyTensor {
            fn from(tensor: CsrTensor<$type, u64>) -> Self {
                AnyTensor::$Variant(tensor.into())
            }
        }
    )*};
}

crate::__with_dtypes! { (__any_tensor) }

impl AnyTensor {
    /// The format.
    pub fn format(&self) -> Format {
        fn format_of<P: Pattern>(_: &P) -> Format {
            if P::FORMAT == CsrPattern::<u64>::FORMAT { Format::Csr } else { Format::Coo }
        }
        dispatch!(self, x => format_of(x.pattern()))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        fn dtype_of<T: Element>(_: T) -> DType {
            T::DTYPE
        }
        dispatch!(self, x => dtype_of(x.fill()))
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &Shape {
        dispatch!(self, x => x.shape())
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of stored entries, stored zeros included.
    pub fn nnz(&self) -> usize {
        dispatch!(self, x => x.nnz())
    }

    /// The share of positions that are stored: 1 where there is no position at all.
    pub fn density(&self) -> f64 {
        dispatch!(self, x => x.density())
    }

    /// The bytes that the index arrays and the values take.
    pub fn stored_bytes(&self) -> usize {
        dispatch!(self, x => x.stored_bytes())
    }

    /// The value of every position that is not stored.
    pub fn fill(&self) -> Number {
        dispatch!(self, x => x.fill().to_number())
    }

    /// The same tensor with elements of another type, under the rules of [`Tensor::cast`].
    ///
    /// # Errors
    ///
    /// `Cast`: a value or the fill does not fit; `NotRepresentable`: the type needs the feature `half`.
    pub fn cast(self, dtype: DType) -> Result<Self> {
        if self.dtype() == dtype {
            return Ok(self);
        }
        let from: &dyn Numbers = dispatch!(&self, x => x);
        dispatch_dtype!(dtype, T => cast_numbers::<T>(from), else => Err(no_such(dtype)))
    }

    /// The same tensor in `format`; every entry is kept.
    ///
    /// # Errors
    ///
    /// `TooLarge`: compressed offsets would need more than the larger of 1 GiB and 16 times the tensor's bytes.
    pub fn into_format(self, format: Format) -> Result<Self> {
        self.convert(format, None)
    }

    /// [`into_format`](AnyTensor::into_format) with a byte limit of the caller's choice for the offsets.
    ///
    /// # Errors
    ///
    /// `TooLarge`: compressed offsets would need more than `limit` bytes.
    pub fn into_format_with_limit(self, format: Format, limit: u64) -> Result<Self> {
        self.convert(format, Some(limit))
    }

    /// The tensor in coordinate format with elements and coordinates of types known at compile time.
    ///
    /// # Errors
    ///
    /// `Cast`: a value or the fill does not fit `T`; `AxisTooLong`: an axis does not fit `I`.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::io::{FileFormat, ReadOptions, read_from};
    ///
    /// let text = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 1 7\n";
    /// let any = read_from(text.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())?;
    /// let x: CooTensor<f32> = any.into_coo()?;
    /// assert_eq!(x.entries(), [(vec![1, 0], 7.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_coo<T: FileElement, I: Index>(self) -> Result<CooTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Coo)?;
        retyped::<CooTensor<T, u64>>(tensor).with_index()
    }

    /// The tensor in compressed format with elements and columns of types known at compile time.
    ///
    /// # Errors
    ///
    /// Those of [`into_coo`](AnyTensor::into_coo), and `TooLarge`: the offsets would need more than the larger of 1 GiB
    /// and 16 times the tensor's bytes.
    pub fn into_csr<T: FileElement, I: Index>(self) -> Result<CsrTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Csr)?;
        retyped::<CsrTensor<T, u64>>(tensor).with_index()
    }

    /// Whether both have one format and element type, and are the same as [`Tensor::same_as`] says.
    pub fn same_as(&self, other: &Self) -> bool {
        fn same<P: Pattern, T: Element>(a: &Tensor<P, T>, b: &dyn Any) -> bool {
            b.downcast_ref::<Tensor<P, T>>().is_some_and(|b| a.same_as(b))
        }
        let other: &dyn Any = dispatch!(other, x => x);
        dispatch!(self, x => same(x, other))
    }
}

/// The tensor as one of the type that it is known to have.
fn retyped<X: 'static>(tensor: AnyTensor) -> X {
    let tensor: Box<dyn Any> = dispatch!(tensor, x => Box::new(x));
    *tensor.downcast().expect("a tensor of the format and the type that it was converted to")
}

/// The values of a tensor as numbers without a type: what keeps a cast from being compiled for each pair of types.
trait Numbers {
    fn count(&self) -> usize;
    fn number(&self, entry: usize) -> Number;
    fn fill_number(&self) -> Number;
    fn number_type(&self) -> DType;
    fn any_pattern(&self) -> AnyPattern;
}

/// A pattern of either format.
enum AnyPattern {
    Coo(CooPattern<u64>),
    Csr(CsrPattern<u64>),
}

impl From<CooPattern<u64>> for AnyPattern {
    fn from(pattern: CooPattern<u64>) -> Self {
        AnyPattern::Coo(pattern)
    }
}

impl From<CsrPattern<u64>> for AnyPattern {
    fn from(pattern: CsrPattern<u64>) -> Self {
        AnyPattern::Csr(pattern)
    }
}

impl<P: Pattern + Into<AnyPattern>, T: Element> Numbers for Tensor<P, T> {
    fn count(&self) -> usize {
        self.nnz()
    }

    fn number(&self, entry: usize) -> Number {
        self.values()[entry].to_number()
    }

    fn fill_number(&self) -> Number {
        self.fill().to_number()
    }

    fn number_type(&self) -> DType {
        T::DTYPE
    }

    fn any_pattern(&self) -> AnyPattern {
        self.pattern().clone().into()
    }
}

/// The tensor of another type.
fn cast_numbers<T: FileElement>(from: &dyn Numbers) -> Result<AnyTensor> {
    let fill = number_in(from.fill_number(), from.number_type(), || "the fill".into())?;
    let value = |entry| number_in(from.number(entry), from.number_type(), || format!("entry {entry}"));
    let values: Vec<T> = pages::try_collect((0..from.count()).map(value))?;
    Ok(T::wrap(match from.any_pattern() {
        AnyPattern::Coo(pattern) => Tensor::from_parts(pattern, values, fill)?.into(),
        AnyPattern::Csr(pattern) => Tensor::from_parts(pattern, values, fill)?.into(),
    }))
}

/// The error for an element type that is not compiled in.
pub(crate) fn no_such(dtype: DType) -> Error {
    let instead = "build with the feature `half`";
    Error::NotRepresentable { format: "this build", what: format!("elements of type {dtype}"), instead }
}
