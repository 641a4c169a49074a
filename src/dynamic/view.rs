//! Operands of any kind, and the results of operations on such operands.

use super::array::AnyArray;
use super::{AnyTensor, Erased};
use crate::base::error::{Error, Result};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::ops::ErasedResult;
use crate::pattern::Format;
use crate::tensor::Tensor;

/// The stored entries of an [`AnyTensor`], as in [`Stored`](crate::Stored).
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::AnyTensor;
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3i8, 5], 0)?;
/// let any = AnyTensor::from(x);
/// assert_eq!(any.nanmedian(0)?.into_coo::<f64, u64>()?.values(), [1.5]); // the median of 0, 3, 5, 0
/// assert_eq!(any.stored().nanmedian(0)?.into_coo::<f64, u64>()?.values(), [4.0]); // the median of 3, 5
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AnyStored<'a> {
    pub(super) tensor: &'a AnyTensor,
}

/// An operand of any kind and type: a tensor, its stored entries, or an array.
///
/// In an elementwise operation with a tensor, an array counts as a tensor that stores every element.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue};
/// use ndarray::arr1;
///
/// let x = AnyTensor::from(CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![3.0], 0.0)?);
/// let y = AnyArray::from(arr1(&[5.0, 7.0]).into_dyn());
/// let product = AnyOperand::from(&x).matmul(&y)?;
/// assert_eq!(product, AnyValue::from(AnyArray::from(arr1(&[21.0, 0.0]).into_dyn())));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum AnyOperand<'a> {
    /// All elements of a tensor: its stored entries and its unstored positions.
    Tensor(&'a AnyTensor),
    /// The stored entries of a tensor.
    Stored(&'a AnyTensor),
    /// An array.
    Array(&'a AnyArray),
}

/// The result of an operation on operands of any kind: a tensor or an array.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyValue {
    /// A tensor.
    Tensor(AnyTensor),
    /// An array.
    Array(AnyArray),
}

impl From<AnyTensor> for AnyValue {
    fn from(tensor: AnyTensor) -> Self {
        AnyValue::Tensor(tensor)
    }
}

impl From<AnyArray> for AnyValue {
    fn from(array: AnyArray) -> Self {
        AnyValue::Array(array)
    }
}

impl<'a> From<&'a AnyTensor> for AnyOperand<'a> {
    fn from(tensor: &'a AnyTensor) -> Self {
        AnyOperand::Tensor(tensor)
    }
}

impl<'a> From<AnyStored<'a>> for AnyOperand<'a> {
    fn from(stored: AnyStored<'a>) -> Self {
        AnyOperand::Stored(stored.tensor)
    }
}

impl<'a> From<&AnyStored<'a>> for AnyOperand<'a> {
    fn from(stored: &AnyStored<'a>) -> Self {
        AnyOperand::Stored(stored.tensor)
    }
}

impl<'a> From<&'a AnyArray> for AnyOperand<'a> {
    fn from(array: &'a AnyArray) -> Self {
        AnyOperand::Array(array)
    }
}

impl<'a> From<&'a AnyValue> for AnyOperand<'a> {
    fn from(value: &'a AnyValue) -> Self {
        match value {
            AnyValue::Tensor(tensor) => AnyOperand::Tensor(tensor),
            AnyValue::Array(array) => AnyOperand::Array(array),
        }
    }
}

impl AnyValue {
    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        AnyOperand::from(self).dtype()
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> Shape {
        AnyOperand::from(self).shape()
    }

    /// Converts the elements to another type, like [`Tensor::cast`].
    ///
    /// # Errors
    ///
    /// The errors of [`AnyTensor::cast`].
    pub fn cast(self, dtype: DType) -> Result<Self> {
        Ok(match self {
            AnyValue::Tensor(tensor) => tensor.cast(dtype)?.into(),
            AnyValue::Array(array) => array.cast(dtype)?.into(),
        })
    }

    /// Returns the value as a tensor.
    ///
    /// An array becomes a tensor with the fill 0, which stores the nonzero elements and `-0.0`.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyArray::from_dense`].
    pub fn into_tensor(self) -> Result<AnyTensor> {
        match self {
            AnyValue::Tensor(tensor) => Ok(tensor),
            AnyValue::Array(array) => array.from_dense(),
        }
    }
}

impl AnyTensor {
    /// Returns a view of only the stored entries: see [`Tensor::stored`](crate::Tensor::stored).
    pub fn stored(&self) -> AnyStored<'_> {
        AnyStored { tensor: self }
    }

    pub(super) fn view(&self) -> AnyOperand<'_> {
        AnyOperand::Tensor(self)
    }
}

impl<'a> AnyStored<'a> {
    /// Returns the tensor of this view.
    pub fn tensor(&self) -> &'a AnyTensor {
        self.tensor
    }
}

impl<'a> AnyOperand<'a> {
    /// Returns the element type.
    pub fn dtype(self) -> DType {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => x.dtype(),
            AnyOperand::Array(x) => x.dtype(),
        }
    }

    /// Returns the lengths of the axes.
    pub fn shape(self) -> Shape {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => x.shape().clone(),
            AnyOperand::Array(x) => Shape::from(x.shape()),
        }
    }

    /// Returns the number of axes.
    pub fn rank(self) -> usize {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => x.rank(),
            AnyOperand::Array(x) => x.shape().len(),
        }
    }

    /// Returns whether the operand is the stored entries of a tensor.
    pub(crate) fn is_stored(self) -> bool {
        matches!(self, AnyOperand::Stored(_))
    }

    /// Returns the tensor, or the tensor of the stored view; `None` for an array.
    pub fn tensor(self) -> Option<&'a AnyTensor> {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => Some(x),
            AnyOperand::Array(_) => None,
        }
    }

    /// Returns the tensor, for an operation that does not support arrays.
    pub(crate) fn sparse(self, operation: &'static str) -> Result<&'a AnyTensor> {
        let why = || "requires a tensor, found an array; convert it with from_dense(x)".into();
        self.tensor().ok_or_else(|| Error::Argument { operation, why: why() })
    }

    /// Returns the stored entries of a tensor; an array is unchanged.
    pub(crate) fn stored(self) -> Self {
        self.tensor().map_or(self, AnyOperand::Stored)
    }

    /// Returns the tensor instead of its stored entries; an array is unchanged.
    pub(crate) fn whole(self) -> Self {
        self.tensor().map_or(self, AnyOperand::Tensor)
    }

    /// Returns the format of a tensor; `None` for an array.
    pub(super) fn format(self) -> Option<Format> {
        self.tensor().map(AnyTensor::format)
    }

    /// Returns the bytes that the operand holds.
    pub(crate) fn held_bytes(self) -> usize {
        match self {
            AnyOperand::Tensor(x) | AnyOperand::Stored(x) => x.stored_bytes(),
            AnyOperand::Array(x) => super::array::on_array!(x, x => crate::convert::dense_bytes(x)),
        }
    }

    /// Returns a result in the format of the operand, if both are tensors.
    pub(super) fn found<U: Element>(self, result: Result<impl Into<ErasedResult<U>>>) -> Result<AnyValue> {
        match (result?.into(), self.tensor()) {
            (ErasedResult::Tensor(found), Some(x)) => Ok(in_format(&found, x.format(), x.stored_bytes())?.into()),
            (ErasedResult::Tensor(found), None) => Ok(AnyTensor::from(found).into()),
            (ErasedResult::Array(found), _) => Ok(AnyArray::from(found).into()),
        }
    }
}

/// Returns the tensor in a format. Rejects offsets that need far more bytes than the input.
pub(super) fn in_format<U: Element>(x: &Erased<U>, format: Format, input_bytes: usize) -> Result<AnyTensor> {
    let pattern = x.pattern().in_format(format, default_limit(input_bytes))?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()).into())
}

/// A result type of the methods of tensors.
#[doc(hidden)]
pub trait OperandResult: Sized {
    /// The result type of the same method of [`AnyOperand`].
    type Found;

    /// Returns the result as this type. The caller knows its kind.
    fn of(found: Self::Found) -> Self;
}

impl OperandResult for AnyTensor {
    type Found = AnyValue;

    fn of(found: AnyValue) -> Self {
        match found {
            AnyValue::Tensor(tensor) => tensor,
            AnyValue::Array(_) => unreachable!("the result of tensors is a tensor"),
        }
    }
}

impl OperandResult for AnyArray {
    type Found = AnyValue;

    fn of(found: AnyValue) -> Self {
        match found {
            AnyValue::Array(array) => array,
            AnyValue::Tensor(_) => unreachable!("the result is dense"),
        }
    }
}

impl OperandResult for AnyValue {
    type Found = AnyValue;

    fn of(found: AnyValue) -> Self {
        found
    }
}

impl<A: OperandResult, B: OperandResult> OperandResult for (A, B) {
    type Found = (A::Found, B::Found);

    fn of((one, other): Self::Found) -> Self {
        (A::of(one), B::of(other))
    }
}

impl<A: OperandResult> OperandResult for Vec<A> {
    type Found = Vec<A::Found>;

    fn of(found: Self::Found) -> Self {
        found.into_iter().map(A::of).collect()
    }
}

/// Defines methods of operands of any kind, of tensors, and of stored entries. A body works on operands of any kind;
/// the result has the type that tensors return.
macro_rules! on_operands {
    ($(
        $(#[$about:meta])*
        pub fn $name:ident $(<$life:lifetime $(, $J:ident: $bound:ident)?>)? (
            &$own:ident $(, $arg:ident: $type:ty)* $(,)?
        ) -> Result<$found:ty> $body:block
    )*) => {
        /// # Operations
        ///
        /// Each method returns the result of the function of the same name, which documents the operation.
        #[allow(clippy::should_implement_trait)] // the names of the typed forms, which return errors
        impl $crate::dynamic::AnyOperand<'_> {$(
            $(#[$about])*
            #[inline]
            pub fn $name $(<$life $(, $J: $bound)?>)? (
                $own $(, $arg: $type)*
            ) -> Result<<$found as $crate::dynamic::view::OperandResult>::Found> $body
        )*}

        $crate::dynamic::view::on_operands! { @tensors [$crate::dynamic::AnyTensor] $(
            [$(#[$about])*] $name [$(<$life $(, $J: $bound)?>)?] $own ($($arg: $type),*) $found;
        )* }
        $crate::dynamic::view::on_operands! { @tensors [$crate::dynamic::AnyStored<'_>] $(
            [$(#[$about])*] $name [$(<$life $(, $J: $bound)?>)?] $own ($($arg: $type),*) $found;
        )* }
    };
    (@tensors [$operand:ty] $(
        [$($about:tt)*] $name:ident [$($generics:tt)*] $own:ident ($($arg:ident: $type:ty),*) $found:ty;
    )*) => {
        /// # Operations
        ///
        /// Each method returns the result of the function of the same name, which documents the operation.
        impl $operand {$(
            $($about)*
            #[inline]
            pub fn $name $($generics)* (&$own $(, $arg: $type)*) -> Result<$found> {
                $crate::dynamic::AnyOperand::from($own).$name($($arg),*).map($crate::dynamic::view::OperandResult::of)
            }
        )*}
    };
}

pub(super) use on_operands;
