//! Operations that choose and move elements.
//!
//! A member says which entries it chooses and what pattern they make; the drivers gather the values, and scatter and
//! add their gradients.

mod dense;
mod indices;
mod take;

pub use crate::kernels::take::TakeMode;
pub use indices::Take;
pub use take::{take, take_axis, take_axis_backward, take_backward, take_into};

use ndarray::{ArrayD, ArrayViewD};

use crate::base::error::{Error, Result};
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, unravel};
use crate::convert::{check_result, dense_array};
use crate::element::Element;
use crate::kernels::sort::gather;
use crate::kernels::take::{Slices, scatter_add};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::ops::reduce::dense::all_cells;
use crate::pattern::Pattern;
use crate::plan::take::Selected;
use crate::tensor::Tensor;

/// An operation that chooses and moves elements of an operand of known shape.
pub trait Select {
    /// The shape of the result.
    fn shape(&self) -> &Shape;

    /// The bytes of its own arguments, what they repeat counted once.
    fn held_bytes(&self) -> usize;

    /// What the result stores, where a value has `value_bytes`; result and lists are to need at most `limit` bytes.
    fn plan<P: Pattern>(&self, x: &P, value_bytes: usize, limit: u64) -> Result<Selected<P>>;

    /// The result of an array.
    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>>;

    /// Where the elements of the result of an array come from.
    fn dense_plan(&self, x: &Shape) -> Result<Slices>;
}

/// The result of a sparse tensor.
pub(super) fn sparse<P: Pattern, T: Element, S: Select>(x: &Tensor<P, T>, op: &S) -> Result<Tensor<P, T>> {
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    let Selected { pattern, sources } = op.plan(x.pattern(), size_of::<T>(), limit)?;
    Ok(Tensor::from_valid(pattern, gather(x.values(), &sources)?, x.fill()))
}

/// The gradient of a sparse tensor, on its pattern.
pub(super) fn sparse_backward<P: Pattern, T: Element, S: Select, U: Operand>(
    x: &Tensor<P, T>,
    op: &S,
    upstream: &U,
) -> Result<Tensor<P, U::Elem>> {
    check_upstream(upstream, op.shape())?;
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    let Selected { pattern, sources } = op.plan(x.pattern(), size_of::<U::Elem>(), limit)?;
    let gradients = upstream.at_entries(&pattern)?;
    let values = scatter_add(x.nnz(), sources.into_iter().zip(gradients))?
        .map_err(|entry| sum_overflow::<U::Elem>(x.pattern().coords_of(entry).unwrap_or_default()))?;
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

/// The gradient of an array of `shape` that holds `x_bytes`.
pub(super) fn dense_backward<S: Select, U: Operand>(
    shape: &Shape,
    x_bytes: usize,
    op: &S,
    upstream: &U,
) -> Result<ArrayD<U::Elem>> {
    check_upstream(upstream, op.shape())?;
    let plan = op.dense_plan(shape)?;
    check_result::<U::Elem>(shape, x_bytes)?;
    check_result::<U::Elem>(op.shape(), x_bytes.saturating_add(op.held_bytes()))?;
    let gradients = all_cells(upstream)?;
    let contributions = plan.sources().zip(gradients.iter().copied());
    let sums = scatter_add(shape.checked_size().unwrap_or(0), contributions)?.map_err(|position| {
        let mut coords = vec![0; shape.rank()];
        unravel(position, shape, &mut coords);
        sum_overflow::<U::Elem>(coords)
    })?;
    Ok(dense_array(shape, sums))
}

fn sum_overflow<G: Element>(coords: Vec<usize>) -> Error {
    Error::SumOverflow { coords, dtype: G::DTYPE.name() }
}
