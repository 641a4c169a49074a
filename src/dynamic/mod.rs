//! Dynamically typed tensors and arrays, as in files, commands and graphs.
//!
//! An [`AnyTensor`] has either format and any element type of the build. [`dispatch!`](crate::dispatch!),
//! [`dispatch_real!`](crate::dispatch_real!) and [`dispatch_dtype!`](crate::dispatch_dtype!) run generic code on an
//! `AnyTensor`.
//!
//! With the feature `dynamic`, `AnyTensor` has the operations of tensors as methods of the same names. The feature also
//! adds types of operands and results. `AnyArray` is an array of any element type. `AnyStored` is a view of the stored
//! entries of an `AnyTensor`. `AnyOperand` is a tensor, its stored entries, or an array. `AnyValue` is the result of an
//! operation on an `AnyOperand`.

#[cfg(feature = "dynamic")]
pub(crate) mod array;
mod cast;
mod dispatch;
#[cfg(feature = "dynamic")]
mod einsum;
#[cfg(feature = "dynamic")]
mod entries;
#[cfg(all(feature = "eval", not(test)))]
mod expression;
#[cfg(feature = "dynamic")]
mod factors;
#[cfg(feature = "dynamic")]
mod map;
#[cfg(feature = "dynamic")]
mod product;
#[cfg(feature = "dynamic")]
mod reduce;
#[cfg(feature = "dynamic")]
mod routes;
#[cfg(feature = "dynamic")]
mod select;
#[cfg(all(feature = "eval", not(test)))]
mod streamed;
#[cfg(feature = "dynamic")]
mod view;
#[cfg(feature = "dynamic")]
mod widen;
#[cfg(feature = "dynamic")]
mod zip;

#[cfg(feature = "dynamic")]
pub use self::product::AnyMatmul;
#[cfg(all(feature = "dynamic", feature = "lazy"))]
pub(crate) use self::select::chosen;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use self::select::chosen_backward;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use self::streamed::{StreamFold, StreamInput, StreamOptions};
#[cfg(feature = "dynamic")]
pub use self::zip::Right;
#[cfg(all(feature = "eval", not(test)))]
pub(crate) use self::zip::{RightOperand, is_close, zip};
#[cfg(feature = "dynamic")]
pub use array::AnyArray;
#[cfg(feature = "dynamic")]
pub(crate) use array::AnyElements;
#[doc(hidden)]
pub use dispatch::types;
#[cfg(feature = "dynamic")]
pub use view::{AnyOperand, AnyStored, AnyValue};

#[doc(no_inline)]
pub use crate::pattern::Format;

use std::any::Any;

use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::{DType, Element, Number};
pub use crate::pattern::AnyPattern;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::csr::CsrTensor;
pub(crate) use crate::tensor::erased::Erased;
use crate::{dispatch, dispatch_dtype};
use cast::{Numbers, cast_numbers};

/// Declares an enum with a variant per element type, which holds an `$Of` of this type.
macro_rules! any_of_type {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*]
     $(#[$about:meta])* $public:vis enum $Any:ident of $Of:ident) => {
        $(#[$about])*
        $public enum $Any {
            $($Real($Of<$real>),)*
            $($Complex($Of<$complex>),)*
        }

        impl $Any {
            /// Returns the variant of the element type.
            fn of_type<T: Element>(of: $Of<T>) -> Self {
                let mut of = Some(of);
                match T::DTYPE {
                    $(DType::$Real => $Any::$Real(retyped(&mut of)),)*
                    $(DType::$Complex => $Any::$Complex(retyped(&mut of)),)*
                    #[allow(unreachable_patterns)]
                    dtype => unreachable!("this build does not have the type {dtype}"),
                }
            }
        }
    };
}

#[cfg(feature = "dynamic")]
use any_of_type;

crate::__with_dtypes! {
    (any_of_type)
    /// A tensor with dynamically typed format and elements, for example from a file.
    ///
    /// [`dispatch!`](crate::dispatch!) runs generic code on the tensor. `==` compares under the rules of
    /// [`Tensor`]. Tensors of different formats or element types are not equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::dynamic::{AnyTensor, Format};
    /// use lacuna::{CooTensor, DType};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0], vec![2]], vec![1.5f32], 0.0)?;
    /// let any = AnyTensor::from(x);
    /// assert_eq!((any.format(), any.dtype()), (Format::Coo, DType::Float32));
    /// assert_eq!(any.cast(DType::Float64)?.into_format(Format::Csr)?.nnz(), 1);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    #[allow(missing_docs)]
    pub enum AnyTensor of Erased
}

/// Wraps the tensor in the variant of its element type.
impl<P: Pattern, T: Element> From<Tensor<P, T>> for AnyTensor {
    fn from(tensor: Tensor<P, T>) -> Self {
        AnyTensor::of_type(tensor.into_erased())
    }
}

impl AnyTensor {
    /// Returns the format.
    pub fn format(&self) -> Format {
        dispatch!(self, x => x.pattern().format())
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        fn dtype_of<T: Element>(_: T) -> DType {
            T::DTYPE
        }
        dispatch!(self, x => dtype_of(x.fill()))
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &Shape {
        dispatch!(self, x => x.shape())
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// Returns the number of stored entries, including stored zeros.
    pub fn nnz(&self) -> usize {
        dispatch!(self, x => x.nnz())
    }

    /// Returns the fraction of positions that are stored, or 1 without positions.
    pub fn density(&self) -> f64 {
        dispatch!(self, x => x.density())
    }

    /// Returns the number of bytes of the index arrays and the values.
    pub fn stored_bytes(&self) -> usize {
        dispatch!(self, x => x.stored_bytes())
    }

    /// Returns the value of every unstored position.
    pub fn fill(&self) -> Number {
        dispatch!(self, x => x.fill().to_number())
    }

    /// Converts the elements to another type, like [`Tensor::cast`].
    ///
    /// # Errors
    ///
    /// - `Cast`: a value or the fill cannot be converted to the type;
    /// - `NotRepresentable`: the type needs the feature `half`.
    pub fn cast(self, dtype: DType) -> Result<Self> {
        if self.dtype() == dtype {
            return Ok(self);
        }
        let from: &dyn Numbers = dispatch!(&self, x => x);
        dispatch_dtype!(dtype, T => cast_numbers::<T>(from), else => Err(no_such(dtype)))
    }

    /// Returns the tensor in `format`, with the same entries.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the CSR offsets would need more than the larger of 1 GiB and 16 times the bytes of the tensor.
    pub fn into_format(self, format: Format) -> Result<Self> {
        dispatch!(self, x => Ok(x.in_format(format, default_limit(x.stored_bytes()))?.into()))
    }

    /// Returns the tensor in `format`, with a given limit on the bytes of the offsets.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the CSR offsets would need more than `limit` bytes.
    pub fn into_format_with_limit(self, format: Format, limit: u64) -> Result<Self> {
        dispatch!(self, x => Ok(x.in_format(format, limit)?.into()))
    }

    /// Converts the tensor to coordinate format with static types.
    ///
    /// # Errors
    ///
    /// - `Cast`: a value or the fill cannot be converted to `T`;
    /// - `AxisTooLong`: an axis is too long for `I`.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let any = AnyTensor::from(CooTensor::new([2, 2], vec![vec![1], vec![0]], vec![7i64], 0)?);
    /// let x: CooTensor<f32> = any.into_coo()?;
    /// assert_eq!(x.entries(), [(vec![1, 0], 7.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn into_coo<T: Element, I: Index>(self) -> Result<CooTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Coo)?;
        dispatch!(tensor, x => Tensor::from_erased(retyped::<Erased<T>>(&mut Some(x))))
    }

    /// Returns the tensor in compressed format, with static element and column types.
    ///
    /// # Errors
    ///
    /// - the errors of [`into_coo`](AnyTensor::into_coo);
    /// - `TooLarge`: the CSR offsets would need more than the larger of 1 GiB and 16 times the bytes of the tensor.
    pub fn into_csr<T: Element, I: Index>(self) -> Result<CsrTensor<T, I>> {
        let tensor = self.cast(T::DTYPE)?.into_format(Format::Csr)?;
        dispatch!(tensor, x => Tensor::from_erased(retyped::<Erased<T>>(&mut Some(x))))
    }

    /// Returns whether two tensors have the same types, entries and fill.
    ///
    /// Formats and element types must be equal. Values are compared like in [`Tensor::same_as`].
    pub fn same_as(&self, other: &Self) -> bool {
        fn same<T: Element>(a: &Erased<T>, b: &dyn Any) -> bool {
            b.downcast_ref::<Erased<T>>().is_some_and(|b| a.same_as(b))
        }
        let other: &dyn Any = dispatch!(other, x => x);
        dispatch!(self, x => same(x, other))
    }
}

/// Returns the stored elements as numbers, and the fill if there are unstored positions.
#[cfg(all(feature = "eval", not(test)))]
pub(crate) fn numbers(x: &AnyTensor) -> Vec<Number> {
    let from: &dyn Numbers = dispatch!(x, x => x);
    let fill = (x.shape().wide_size() > from.count() as u128).then(|| from.fill_number());
    (0..from.count()).map(|entry| from.number(entry)).chain(fill).collect()
}

/// Returns the tensor as the type that it is known to have.
fn retyped<X: 'static>(tensor: &mut dyn Any) -> X {
    let known = tensor.downcast_mut::<Option<X>>().and_then(Option::take);
    known.expect("a tensor of the format and the type that it was converted to")
}

/// Returns the error for an element type that is not compiled in.
pub(crate) fn no_such(dtype: DType) -> Error {
    let instead = "build with the feature `half`";
    Error::NotRepresentable { format: "this build", what: format!("elements of type {dtype}"), instead }
}
