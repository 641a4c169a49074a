//! Operands repeated to a shape, and the gradients that they receive.

use ndarray::IxDyn;

use crate::base::alloc;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::convert::{copied, dense_array};
use crate::element::{Element, Float};
use crate::ops::operand::{DenseOperand, ErasedOperand, ErasedResult, SparseOperand, repeated_axes};
use crate::ops::reduce::sparse::at_entries_of;
use crate::ops::reduce::sum;
use crate::ops::select::broadcast_to;
use crate::pattern::{AnyPattern, Format};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseCow, SparseRef};

/// Returns the tensor broadcast to a shape; the tensor itself if it has that shape.
pub(super) fn in_shape<'a, T: Element>(x: SparseRef<'a, T>, shape: &Shape) -> Result<SparseCow<'a, T>> {
    if x.shape() == shape {
        return Ok(SparseCow::Borrowed(x));
    }
    let wide = broadcast_to(&x.to_erased(), shape.clone())?;
    let (pattern, values) = (wide.pattern(), wide.shared_values());
    let pattern = formatted(pattern, x.pattern().format(), default_limit(x.stored_bytes()))?;
    Ok(SparseCow::Owned(Tensor::from_shared(pattern, values.clone(), x.fill())))
}

/// Returns a pattern in a format. This is needed until selections keep the format of untyped patterns.
pub(super) fn formatted(pattern: &AnyPattern, format: Format, limit: u64) -> Result<AnyPattern> {
    if pattern.format() == format { Ok(pattern.clone()) } else { pattern.in_format(format, limit) }
}

impl<T: Element> ErasedOperand<'_, T> {
    /// Returns this operand broadcast to a shape.
    pub(super) fn in_shape(&self, shape: &Shape) -> Result<ErasedOperand<'_, T>> {
        Ok(match self {
            ErasedOperand::Sparse(x) => {
                let wide = match &x.tensor {
                    SparseCow::Borrowed(x) => in_shape(*x, shape)?,
                    SparseCow::Owned(x) => in_shape(x.sparse(), shape)?,
                };
                SparseOperand::of(wide, x.counts_unstored).into()
            }
            ErasedOperand::Array(DenseOperand { array, .. }) => {
                array.broadcast(IxDyn(shape)).expect("the shape is one that the array broadcasts to").into()
            }
        })
    }

    /// Returns the elements of `other`, broadcast to the shape of this operand: at its entries, or everywhere if it is
    /// an array. Repeated elements are looked up at the entries.
    pub(super) fn elements_at_result<U: Element>(&self, other: &ErasedOperand<'_, U>, shape: &Shape) -> Result<Vec<U>> {
        match self {
            ErasedOperand::Sparse(x) => other.at_result_entries(x.sparse().pattern(), shape),
            ErasedOperand::Array(_) => self.elements_of(&other.in_shape(shape)?),
        }
    }

    /// Returns the elements at the entries of a pattern whose shape this operand is broadcast to.
    pub(super) fn at_result_entries(&self, pattern: &AnyPattern, shape: &Shape) -> Result<Vec<T>> {
        let added = shape.rank() - self.lengths().len();
        let with_rank: Shape = std::iter::repeat_n(1, added).chain(self.lengths().iter().copied()).collect();
        let repeated: Vec<usize> = (0..shape.rank()).filter(|&axis| with_rank[axis] != shape[axis]).collect();
        let own = self.in_shape(&with_rank)?;
        if repeated.is_empty() {
            return own.at_entries(pattern);
        }
        at_entries_of(pattern, &own, &Axes::from(repeated).with_keep_dims(true), |element| element)
    }
}

/// Returns a gradient of an operand, from the gradients of its elements broadcast to `shape`. If the operand was
/// broadcast, the gradients of each element are summed exactly.
pub(super) fn gradient_of<T: Element, G: Float>(
    x: &ErasedOperand<'_, T>,
    elements: Vec<G>,
    shape: &Shape,
) -> Result<ErasedResult<G>> {
    let DenseOperand { array: x, .. } = match x {
        ErasedOperand::Sparse(x) => return Ok(sparse_gradient_of(x.sparse(), elements, shape)?.into()),
        ErasedOperand::Array(x) => x,
    };
    let array = dense_array(shape, elements);
    if *x.shape() == **shape {
        return Ok(array.into());
    }
    let sums = sum(&array, repeated_axes(x.shape(), shape))?;
    Ok(dense_array(&x.shape().into(), copied(&sums.view())?).into())
}

fn sparse_gradient_of<T: Element, G: Float>(x: SparseRef<'_, T>, elements: Vec<G>, shape: &Shape) -> Result<Erased<G>> {
    let elements = if x.shape() == shape {
        elements
    } else if shape.is_empty_space() {
        alloc::zeros(x.nnz())?
    } else {
        let wide = in_shape(x, shape)?;
        let broadcast = Tensor::from_valid(wide.sparse().pattern().clone(), elements, G::ZERO);
        sum(&broadcast.stored(), repeated_axes(x.shape(), shape))?.into_parts()?.1
    };
    Ok(Tensor::from_valid(x.pattern().clone(), elements, G::ZERO))
}
