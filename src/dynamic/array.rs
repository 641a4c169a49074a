//! Arrays whose element type is dynamically typed.

use std::any::Any;
use std::fmt;

use ndarray::{ArcArray, ArrayD, ArrayViewD, IxDyn};

use super::{AnyTensor, any_of_type, no_such, retyped};
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::dispatch_dtype;
use crate::element::{DType, Element, Number};
use crate::pattern::of_width;
use crate::tensor::coo::CooTensor;
use crate::tensor::number_in;

/// An array whose element type is dynamically typed.
///
/// Expressions and commands use such an array as an operand that stores every element. Clones share the
/// elements.
///
/// # Examples
///
/// ```
/// use lacuna::DType;
/// use lacuna::dynamic::AnyArray;
/// use ndarray::arr2;
///
/// let any = AnyArray::from(arr2(&[[0.0, 5.0], [6.0, 0.0]]).into_dyn());
/// assert_eq!((any.dtype(), any.shape(), any.len()), (DType::Float64, &[2, 2][..], 4));
/// assert_eq!(any.from_dense()?.nnz(), 2);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Clone)]
pub struct AnyArray {
    pub(crate) elements: AnyElements,
    /// The lengths of the entire array, if this array is a chunk within a step that is computed in chunks. Operations
    /// that depend on the shapes of entire operands use these lengths.
    whole: Option<Shape>,
}

type SharedArray<T> = ArcArray<T, IxDyn>;

crate::__with_dtypes! {
    (any_of_type)
    /// The elements of an array, by their type.
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) enum AnyElements of SharedArray
}

/// Wraps the array in the variant of its element type.
impl<T: Element> From<ArrayD<T>> for AnyArray {
    fn from(array: ArrayD<T>) -> Self {
        AnyArray { elements: AnyElements::of_type(array.into_shared()), whole: None }
    }
}

/// Runs code on an array of each element type.
macro_rules! on_array {
    ($any:expr, $x:ident => $body:expr) => {
        $crate::__with_dtypes! { ($crate::__dispatch) AnyElements (&$any.elements) $x ($body) }
    };
}

pub(crate) use on_array;

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elements.fmt(f)
    }
}

/// Two arrays are equal if their elements are equal. A chunk equals an array with the same elements.
impl PartialEq for AnyArray {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl AnyArray {
    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        fn dtype_of<T: Element>(_: &ArcArray<T, IxDyn>) -> DType {
            T::DTYPE
        }
        on_array!(self, x => dtype_of(x))
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        on_array!(self, x => x.shape())
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        on_array!(self, x => x.len())
    }

    /// Returns whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array as a chunk of an array with the lengths `whole`, or as an entire array if `whole` is `None`.
    #[cfg(feature = "lazy")]
    pub(crate) fn part_of(&self, whole: Option<Shape>) -> Self {
        AnyArray { whole, ..self.clone() }
    }

    /// Returns the lengths of the entire array, if this array is a chunk.
    pub(crate) fn whole(&self) -> Option<&Shape> {
        self.whole.as_ref()
    }

    /// Returns a tensor in coordinate format that stores the nonzero elements.
    ///
    /// The fill of the tensor is 0. The tensor also stores the elements that are `-0.0`.
    ///
    /// # Errors
    ///
    /// The errors of [`CooTensor::from_dense`].
    #[allow(clippy::wrong_self_convention)] // the name that tensors and expressions have for it
    pub fn from_dense(&self) -> Result<AnyTensor> {
        fn of<T: Element>(x: &ArcArray<T, IxDyn>) -> Result<AnyTensor> {
            of_width!(Width::of_lengths(x.shape()), I => {
                Ok(CooTensor::<T, I>::from_dense_with_index(x, T::ZERO)?.into())
            })
        }
        on_array!(self, x => of(x))
    }

    /// Converts the elements to another type, like [`Tensor::cast`](crate::Tensor::cast).
    ///
    /// # Errors
    ///
    /// - `Cast`: an element cannot be converted to the type;
    /// - `NotRepresentable`: the type needs the feature `half`.
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        fn to<U: Element>(x: &AnyArray) -> Result<AnyArray> {
            let (from, numbers) = (x.dtype(), x.numbers()?);
            let element = |(at, number): (usize, &Number)| number_in(*number, from, || format!("element {at}"));
            let elements: Vec<U> = alloc::try_collect(numbers.iter().enumerate().map(element))?;
            Ok(dense_array(&Shape::from(x.shape()), elements).into())
        }
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        dispatch_dtype!(dtype, T => to::<T>(self), else => Err(no_such(dtype)))
    }

    /// Returns the elements in row-major order, as numbers.
    pub(crate) fn numbers(&self) -> Result<Vec<Number>> {
        on_array!(self, x => Ok(alloc::collect(x.iter().map(|&element| element.to_number()))?))
    }

    /// Returns a view of the elements, if they have the type `T`.
    pub fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let array: &dyn Any = on_array!(self, x => x);
        array.downcast_ref::<ArcArray<T, IxDyn>>().map(|array| array.view())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayD};

    use super::*;
    use crate::base::error::Error;
    use crate::dynamic::AnyOperand;
    use crate::pattern::Format;

    /// A chunk equals an array with the same elements, and its `Debug` form hides private fields.
    #[test]
    fn a_chunk_is_the_array_of_its_elements() {
        let array = AnyArray::from(ArrayD::from_elem(vec![2], 1.5));
        let chunk = AnyArray { whole: Some([4].into()), ..array.clone() };
        assert_eq!(chunk, array);
        assert!(!format!("{chunk:?}").contains("whole"), "{chunk:?}");
    }

    /// The result is checked before the offsets of an array without elements are allocated.
    #[test]
    fn a_long_array_without_elements_is_no_large_tensor() {
        let long = AnyArray::from(Array2::<f64>::zeros((1 << 50, 0)).into_dyn());
        let csr = AnyTensor::from(CooTensor::<f64>::full([3, 0], 0.0).unwrap()).into_format(Format::Csr).unwrap();
        let joined = AnyOperand::concat(0, &[AnyOperand::from(&csr), AnyOperand::from(&long)]);
        assert!(matches!(joined, Err(Error::TooLarge { .. })), "{joined:?}");
    }
}
