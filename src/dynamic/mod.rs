//! Tensors whose format and element type are known at run time only: what files, the command line and graphs hold.
//!
//! [`AnyTensor`] is an enum over both formats and all element types that are compiled in;
//! [`dispatch!`](crate::dispatch!), [`dispatch_real!`](crate::dispatch_real!) and
//! [`dispatch_dtype!`](crate::dispatch_dtype!) run generic code on it. With the feature `dynamic` it has the operations
//! that tensors have, as methods of the same names.

mod cast;
mod dispatch;
#[cfg(feature = "dynamic")]
mod einsum;
#[cfg(feature = "dynamic")]
mod entries;
#[cfg(feature = "dynamic")]
mod factors;
#[cfg(feature = "dynamic")]
mod map;
#[cfg(all(feature = "dynamic", feature = "lazy"))]
mod poured;
#[cfg(feature = "dynamic")]
mod product;
#[cfg(feature = "dynamic")]
mod reduce;
#[cfg(feature = "dynamic")]
mod select;
#[cfg(feature = "dynamic")]
mod view;
#[cfg(feature = "dynamic")]
mod widen;
#[cfg(feature = "dynamic")]
mod zip;

#[cfg(all(feature = "eval", not(test)))]
pub(crate) use self::poured::PouredOptions;
#[cfg(all(feature = "dynamic", feature = "lazy"))]
pub(crate) use self::poured::{Poured, PouredFold};
#[cfg(feature = "dynamic")]
pub use self::product::AnyMatmul;
#[cfg(all(feature = "dynamic", feature = "lazy"))]
pub(crate) use self::select::select as chosen;
#[cfg(feature = "dynamic")]
pub use self::zip::Right;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use self::zip::zip;
#[doc(hidden)]
pub use dispatch::types;
#[cfg(feature = "dynamic")]
pub use view::AnyStored;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use view::View;

#[doc(no_inline)]
pub use crate::pattern::Format;

use std::any::Any;
use std::fmt;

#[cfg(feature = "lazy")]
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::{DType, Element, Number};
use crate::pattern::{AnyPattern, Pattern};
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;
use crate::{dispatch, dispatch_dtype};
use cast::{Numbers, cast_numbers};

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

/// A tensor whose format is a matter of run time, so that what runs on it is compiled for one pattern.
pub(crate) type Erased<T> = Tensor<AnyPattern, T>;

impl<T: Element> From<Erased<T>> for AnyFormat<T> {
    fn from(tensor: Erased<T>) -> Self {
        let (values, fill) = (tensor.shared_values().clone(), tensor.fill());
        match tensor.pattern().clone() {
            AnyPattern::Coo(pattern) => Tensor::from_shared(pattern, values, fill).into(),
            AnyPattern::Csr(pattern) => Tensor::from_shared(pattern, values, fill).into(),
        }
    }
}

impl<T: Element> AnyFormat<T> {
    /// The tensor without its format in the type; nothing is copied.
    pub(crate) fn erased(&self) -> Erased<T> {
        match self {
            AnyFormat::Coo(x) => Tensor::from_shared(x.pattern().clone().into(), x.shared_values().clone(), x.fill()),
            AnyFormat::Csr(x) => Tensor::from_shared(x.pattern().clone().into(), x.shared_values().clone(), x.fill()),
        }
    }

    /// The values, without the rest.
    #[cfg(feature = "lazy")]
    pub(crate) fn into_shared_values(self) -> Buffer<T> {
        match self {
            AnyFormat::Coo(x) => x.into_shared_values(),
            AnyFormat::Csr(x) => x.into_shared_values(),
        }
    }

    /// Gives away what nobody else owns, to be [written again](crate::base::spare).
    #[cfg(feature = "lazy")]
    pub(crate) fn spare(self) {
        match self {
            AnyFormat::Coo(x) => x.spare(),
            AnyFormat::Csr(x) => x.spare(),
        }
    }

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

/// Runs code on a tensor of each element type, in either format.
macro_rules! on_type {
    ($any:expr, $x:ident => $body:expr) => {
        $crate::__with_dtypes! { ($crate::dynamic::__on_type) ($any) $x ($body) }
    };
}

#[doc(hidden)]
macro_rules! __on_type {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*] ($any:expr) $x:ident ($body:expr)) => {
        match $any {
            $($crate::dynamic::AnyTensor::$Real($x) => $body,)*
            $($crate::dynamic::AnyTensor::$Complex($x) => $body,)*
        }
    };
}

pub(crate) use {__on_type, on_type};

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
        /// use lacuna::dynamic::{AnyTensor, Format};
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

        /// Every element type has its variant.
        impl<T: Element> From<AnyFormat<T>> for AnyTensor {
            fn from(tensor: AnyFormat<T>) -> Self {
                let mut tensor = Some(tensor);
                match T::DTYPE {
                    $(DType::$Real => AnyTensor::$Real(retyped(&mut tensor)),)*
                    $(DType::$Complex => AnyTensor::$Complex(retyped(&mut tensor)),)*
                    #[allow(unreachable_patterns)]
                    dtype => unreachable!("no type of this build is {dtype}"),
                }
            }
        }
    };
}

crate::__with_dtypes! { (__any_tensor) }

impl<T: Element> From<CooTensor<T, u64>> for AnyTensor {
    fn from(tensor: CooTensor<T, u64>) -> Self {
        AnyFormat::from(tensor).into()
    }
}

impl<T: Element> From<CsrTensor<T, u64>> for AnyTensor {
    fn from(tensor: CsrTensor<T, u64>) -> Self {
        AnyFormat::from(tensor).into()
    }
}

impl AnyTensor {
    /// The format.
    pub fn format(&self) -> Format {
        fn format_of<P: Pattern>(_: &P) -> Format {
            P::FORMAT
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
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let any = AnyTensor::from(CooTensor::new([2, 2], vec![vec![1], vec![0]], vec![7i64], 0)?.with_index()?);
    /// let x: CooTensor<f32> = any.into_coo()?;
    /// assert_eq!(x.entries(), [(vec![1, 0], 7.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_coo<T: Element, I: Index>(self) -> Result<CooTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Coo)?;
        dispatch!(tensor, x => retyped::<CooTensor<T, u64>>(&mut Some(x)).with_index())
    }

    /// The tensor in compressed format with elements and columns of types known at compile time.
    ///
    /// # Errors
    ///
    /// Those of [`into_coo`](AnyTensor::into_coo), and `TooLarge`: the offsets would need more than the larger of 1 GiB
    /// and 16 times the tensor's bytes.
    pub fn into_csr<T: Element, I: Index>(self) -> Result<CsrTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Csr)?;
        dispatch!(tensor, x => retyped::<CsrTensor<T, u64>>(&mut Some(x)).with_index())
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

/// The elements of a tensor as numbers: the stored ones, and the fill where there are others.
#[cfg(all(feature = "eval", not(test)))]
pub(crate) fn numbers(x: &AnyTensor) -> Vec<Number> {
    let from: &dyn Numbers = dispatch!(x, x => x);
    let fill = (x.shape().wide_size() > from.count() as u128).then(|| from.fill_number());
    (0..from.count()).map(|entry| from.number(entry)).chain(fill).collect()
}

/// The tensor as one of the type that it is known to have.
fn retyped<X: 'static>(tensor: &mut dyn Any) -> X {
    let known = tensor.downcast_mut::<Option<X>>().and_then(Option::take);
    known.expect("a tensor of the format and the type that it was converted to")
}

/// The error for an element type that is not compiled in.
pub(crate) fn no_such(dtype: DType) -> Error {
    let instead = "build with the feature `half`";
    Error::NotRepresentable { format: "this build", what: format!("elements of type {dtype}"), instead }
}
