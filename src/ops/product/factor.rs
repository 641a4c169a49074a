//! Operands and results of products, without the static types of their patterns.

use std::borrow::Cow;

use ndarray::{ArrayD, ArrayViewD};

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, saturating_product};
use crate::convert::{copied, dense_array, dense_bytes, once_on_each};
use crate::element::Element;
use crate::kernels::zip::all_finite;
use crate::ops::operand::{ErasedOperand, ErasedResult};
use crate::pattern::Format;
use crate::plan::product::Contraction;
use crate::plan::product_rows::{ByRows, Everywhere, ProductRows};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// An operand of a product.
pub(crate) enum Factor<'a, T: Clone> {
    /// Entries, and the value of unstored positions; a stored view does not have one.
    Entries(SparseFactor<'a, T>),
    /// All elements.
    Array(Elements<'a, T>),
}

/// The entries of a sparse operand.
pub(crate) struct SparseFactor<'a, T> {
    pub(super) pattern: &'a dyn ByRows,
    pub(super) values: &'a [T],
    pub(super) implicit: Option<T>,
    pub(super) bytes: usize,
}

/// The elements of an array in row-major order. A batch axis along which the array repeats is held once.
pub(crate) struct Elements<'a, T: Clone> {
    pub(super) lengths: Vec<usize>,
    pub(super) held: Vec<usize>,
    pub(super) elements: Cow<'a, [T]>,
    pub(super) bytes: usize,
}

impl<T: Element> ErasedOperand<'_, T> {
    /// Returns the operand of a product.
    pub(super) fn factor(&self) -> Result<Factor<'_, T>> {
        match self {
            ErasedOperand::Sparse(x) => Ok(Factor::sparse(x.sparse(), x.implicit())),
            ErasedOperand::Array(x) => Factor::array(x.array.view()),
        }
    }
}

impl<'a, T: Element> Factor<'a, T> {
    /// Returns a sparse operand; `implicit` is the value of unstored positions, if they count.
    pub(in crate::ops) fn sparse(tensor: SparseRef<'a, T>, implicit: Option<T>) -> Self {
        Factor::Entries(SparseFactor::new(tensor, implicit))
    }

    /// Returns an array as an operand.
    pub(in crate::ops) fn array(view: ArrayViewD<'a, T>) -> Result<Self> {
        let bytes = dense_bytes(&view);
        let lengths = view.shape().to_vec();
        // The strides of an empty array look as if it repeated its elements.
        let batch_axes = if view.is_empty() { 0 } else { view.ndim().saturating_sub(2) };
        let view = once_on_each(view, 0..batch_axes);
        let elements = match view.to_slice() {
            Some(elements) => Cow::Borrowed(elements),
            None => {
                let limit = default_limit(bytes);
                guard::<T>("the elements in order", view.len() as u128, limit, "multiply in chunks")?;
                Cow::Owned(copied(&view)?)
            }
        };
        Ok(Factor::Array(Elements { lengths, held: view.shape().to_vec(), elements, bytes }))
    }

    /// Returns the lengths of its axes, and the lengths that it holds.
    pub(super) fn lengths(&self) -> [&[usize]; 2] {
        match self {
            Factor::Entries(entries) => entries.lengths(),
            Factor::Array(array) => [&array.lengths, &array.held],
        }
    }

    /// Returns the positions of an array, which are all stored; `None` for entries.
    pub(super) fn positions(&self) -> Option<Everywhere> {
        match self {
            Factor::Entries(_) => None,
            Factor::Array(array) => Some(Everywhere { shape: (&*array.lengths).into(), held: (&*array.held).into() }),
        }
    }

    /// Returns the operand as entries; an array has an entry at each position.
    pub(super) fn scattered<'s>(&'s self, positions: &'s Option<Everywhere>) -> SparseFactor<'s, T> {
        match (self, positions) {
            (Factor::Array(array), Some(positions)) => {
                SparseFactor { pattern: positions, values: &array.elements, implicit: None, bytes: array.bytes }
            }
            (Factor::Entries(entries), _) => SparseFactor { ..*entries },
            (Factor::Array(_), None) => unreachable!("an array has positions"),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Factor::Entries(entries) => entries.bytes,
            Factor::Array(array) => array.bytes,
        }
    }
}

impl<'a, T: Element> SparseFactor<'a, T> {
    /// Returns the entries of a tensor; `implicit` is the value of unstored positions, if they count.
    pub(super) fn new(tensor: SparseRef<'a, T>, implicit: Option<T>) -> Self {
        let (pattern, values, bytes) = (tensor.pattern(), tensor.values(), tensor.stored_bytes());
        SparseFactor { pattern, values, implicit, bytes }
    }

    /// Returns the lengths of its axes, and the lengths that it holds.
    pub(super) fn lengths(&self) -> [&[usize]; 2] {
        self.pattern.lengths()
    }

    /// Returns the value of unstored positions, if there are any and they count.
    fn implicit_if_used(&self) -> Option<T> {
        self.implicit.filter(|_| saturating_product(self.lengths()[1]) != self.values.len() as u128)
    }

    /// Rejects a fill that is not zero, if a position holds it.
    pub(super) fn check_fill(&self, operation: &'static str, side: &str) -> Result<()> {
        match self.implicit_if_used() {
            Some(fill) if fill != T::ZERO => {
                let why = format!(
                    "the fill of the {side} operand is {}, but products skip only zeros; set the fill to 0 with \
                     with_fill, or use only stored entries with stored()",
                    fill.to_number()
                );
                Err(Error::Argument { operation, why })
            }
            _ => Ok(()),
        }
    }

    /// Returns the coordinates and the value of the first entry that is not finite.
    fn first_not_finite(&self) -> Option<(Vec<usize>, String)> {
        let entry = match all_finite(self.values) {
            true => None,
            false => self.values.iter().position(|value| !value.isfinite()),
        };
        entry.map(|entry| (self.pattern.coords(entry), self.values[entry].to_number().to_string()))
    }
}

/// Rejects two sparse operands if one has an entry that is not finite and the other has unstored zeros.
pub(super) fn check_finite<T: Element>(
    operation: &'static str,
    left: &SparseFactor<'_, T>,
    right: &SparseFactor<'_, T>,
) -> Result<()> {
    let zero = || "unstored 0".to_string();
    if let Some((coords, value)) = right.implicit_if_used().and_then(|_| left.first_not_finite()) {
        return Err(Error::NonFinite { operation, left: value, right: zero(), coords });
    }
    match left.implicit_if_used().and_then(|_| right.first_not_finite()) {
        Some((coords, value)) => Err(Error::NonFinite { operation, left: zero(), right: value, coords }),
        None => Ok(()),
    }
}

/// A product without the type of its pattern.
pub(crate) enum ProductResult<T> {
    /// The product of a dense operand with any operand.
    Array(Shape, Vec<T>),
    /// The product of two sparse operands.
    Entries(Box<Entries<T>>),
}

/// A product of two sparse operands.
pub(crate) struct Entries<T> {
    pub(super) contraction: Contraction,
    pub(super) placed: ProductRows,
    pub(super) values: Vec<T>,
    pub(super) fill: T,
    pub(super) has_lanes: bool,
    pub(super) limit: u64,
}

impl<T: Element> ProductResult<T> {
    /// Returns the array of a product with a dense operand.
    pub(in crate::ops) fn into_array(self) -> ArrayD<T> {
        match self {
            ProductResult::Array(shape, items) => dense_array(&shape, items),
            ProductResult::Entries(_) => unreachable!("one operand was dense"),
        }
    }

    /// Returns the product with the kind, format and width of the operand on the left.
    pub(super) fn into_result(self, left: &ErasedOperand<'_, T>) -> Result<ErasedResult<T>> {
        match (left, self) {
            (ErasedOperand::Sparse(x), ProductResult::Entries(found)) => {
                let pattern = x.sparse().pattern();
                Ok(found.into_erased(pattern.format(), pattern.width())?.into())
            }
            (_, found) => Ok(found.into_array().into()),
        }
    }

    /// Returns the tensor of a product of two sparse operands.
    pub(in crate::ops) fn into_erased(self, format: Format, width: Width) -> Result<Erased<T>> {
        match self {
            ProductResult::Entries(entries) => entries.into_erased(format, width),
            ProductResult::Array(..) => unreachable!("both operands were sparse"),
        }
    }
}

impl<T: Element> Entries<T> {
    /// Returns all elements of the result; the caller has checked that the elements fit in memory.
    pub(super) fn into_elements(self) -> Result<ProductResult<T>> {
        let Entries { contraction, placed, values, fill, .. } = self;
        let size = contraction.shape.wide_size() as usize;
        let mut items = alloc::copies(fill, size)?;
        placed.positions(contraction.width).zip(values).for_each(|(position, value)| items[position] = value);
        Ok(ProductResult::Array(contraction.shape, items))
    }

    pub(in crate::ops) fn into_erased(self, format: Format, width: Width) -> Result<Erased<T>> {
        let Entries { contraction, placed, values, fill, has_lanes, limit } = self;
        let pattern = placed.pattern((format, width), &contraction, has_lanes, limit)?;
        Ok(Tensor::from_valid(pattern, values, fill))
    }
}
