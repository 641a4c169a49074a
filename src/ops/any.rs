//! Logical or over axes, and its surrogate gradient.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use crate::axes::Axes;
use crate::convert::{dense_bytes, once_on_each};
use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::Element;
use crate::error::Result;
use crate::index::Index;
use crate::kernels::any::{any_of, any_of_groups, any_of_slice, spread_to_entries};
use crate::ops::dense::{check_result, give_back, repeat_cells, visit_rows};
use crate::ops::reduce::{Reduce, Reduction};
use crate::ops::upstream::{Upstream, at_entries, check_shape};
use crate::pattern::Pattern;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// What [`any()`] takes: tensors of both formats, and `ndarray` arrays and views.
///
/// In scope (it is in the [prelude](crate::prelude)), it gives arrays the methods that tensors have of their own.
pub trait AnyOp {
    /// What [`any()`] gives: the same kind with elements of type `bool`.
    type Output;
    /// What [`any_backward`] gives: the same kind with the elements of the upstream gradient.
    type Gradient<G: Element>;

    /// See [`any()`].
    ///
    /// # Errors
    ///
    /// Those of [`any()`].
    fn any(&self, axes: impl Into<Axes>) -> Result<Self::Output>;

    /// See [`any_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`any_backward`].
    fn any_backward<U: Upstream>(&self, upstream: &U, axes: impl Into<Axes>) -> Result<Self::Gradient<U::Elem>>;
}

/// Whether any element is truthy, over the axes given.
///
/// *y*<sub>k</sub> = ⋁<sub>r</sub> (*x*<sub>k,r</sub> ≠ 0), for *k* over the axes that stay and *r* over those that go.
///
/// # Shapes
///
/// The axes given are removed, or stay with length 1 under [`Axes::keep_dims`]. [`Axes::all`] gives rank 0,
/// [`Axes::none`] the truth of each element. On CSR the axes are all, none, or the last one. The result has the format
/// and index type of `x`, and `bool` elements.
///
/// # Implicit values
///
/// A group (the positions that meet in one cell of the result) with a stored entry gives a stored result, also where
/// it is `false`; the others hold the fill. A group with positions that are not stored takes the fill in; one that is
/// stored completely does not. The fill of the result is the truth of the fill, or `false` where the axes that go hold
/// no position. Over no axes the pattern is shared.
///
/// # NaN
///
/// NaN is truthy, as it is not zero; `-0.0` is not. A complex number is truthy if either part is.
///
/// # Gradient
///
/// [`any_backward`], a surrogate: logical or has no derivative.
///
/// # Errors
///
/// - `AxisOutOfRange`, `AxisRepeated`: the axes do not fit the rank;
/// - `CsrAxes`: CSR was asked for other axes; the message spells the call that works;
/// - `TooLarge`: the result has an offset (CSR) or an element (arrays) for each of too many cells.
///
/// # Complexity
///
/// O(nnz · rank) where the axes that stay lead or have at most 32 cells for each entry, O(nnz · (rank + log nnz)) else; for
/// CSR O(nnz + lanes); for arrays O(elements). What is reduced over all axes, and a long lane of CSR, is left soon after its
/// first truthy value.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, any};
/// use ndarray::arr1;
///
/// // 0 . .
/// // . 3 .
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![0, 1]], vec![0.0, 3.0], 0.0)?;
///
/// let rows = any(&x, -1)?;
/// assert_eq!(rows.to_dense()?, arr1(&[false, true]).into_dyn());
/// assert_eq!(rows.nnz(), 2); // the stored zero of row 0 gives a stored `false`
///
/// let dense = x.to_dense()?;
/// assert_eq!(any(&x, 0)?.to_dense()?, any(&dense, 0)?);
/// assert_eq!(any(&x, Axes::all())?.get(&[])?, true);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.any`](https://numpy.org/doc/stable/reference/generated/numpy.any.html).
pub fn any<X: AnyOp>(x: &X, axes: impl Into<Axes>) -> Result<X::Output> {
    x.any(axes)
}

/// The surrogate gradient of [`any()`]: every entry receives the gradient of the cell that it was reduced into.
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k</sub>
///
/// Logical or is constant almost everywhere, so its derivative is zero or does not exist; this rule, the gradient
/// of a broadcast sum, is a surrogate that lets a loss reach the entries. It asks for no value of `x`, only for its
/// pattern.
///
/// # Shapes
///
/// `upstream` has exactly the shape of `any(x, axes)`, kept axes included; the result has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x` the result has its pattern (shared) and a fill of 0. A cell where `upstream` stores nothing gives
/// its fill; entries of `upstream` at cells that hold no entry of `x` go nowhere.
///
/// # NaN
///
/// Gradients are handed on as they are.
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`any()`], and `ShapeMismatch` where `upstream` has another shape than the forward result.
///
/// # Complexity
///
/// That of [`any()`] and O(nnz) of a sparse `upstream`, and at most a search of O(rank · log nnz) for each cell.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, any_backward};
/// use ndarray::{arr1, arr2};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![0, 1, 2]], vec![0.0, 3.0, 4.0], 0.0)?;
/// let upstream = arr1(&[0.5, -2.0]);
/// let dx = any_backward(&x, &upstream, 1)?;
/// assert_eq!(dx.values(), [0.5, -2.0, -2.0]);
/// assert!(dx.shares_pattern_with(&x));
///
/// // The dense gradient is the same at every stored position.
/// let dense = any_backward(&x.to_dense()?, &upstream, 1)?;
/// assert_eq!(dense, arr2(&[[0.5, 0.5, 0.5], [-2.0, -2.0, -2.0]]).into_dyn());
/// assert!(dx.entries().iter().all(|(at, gradient)| dense[at.as_slice()] == *gradient));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: this library's own rule; it is the gradient of
/// [`numpy.sum`](https://numpy.org/doc/stable/reference/generated/numpy.sum.html) over the same axes.
pub fn any_backward<X: AnyOp, U: Upstream>(x: &X, upstream: &U, axes: impl Into<Axes>) -> Result<X::Gradient<U::Elem>> {
    x.any_backward(upstream, axes)
}

/// `any` of either sparse format.
fn any_sparse<P: Reduce, T: Element>(x: &Tensor<P, T>, axes: &Axes) -> Result<Tensor<P, bool>> {
    let reduction = Reduction::new(x.shape(), axes)?;
    if reduction.is_elementwise() {
        return Ok(x.map_values(T::is_truthy));
    }
    let by_map = if x.fill().is_truthy() { None } else { x.pattern().any_by_map(&reduction, x.values())? };
    if let Some((pattern, values)) = by_map {
        return Ok(Tensor::from_valid(pattern, values, false));
    }
    let (pattern, groups) = x.pattern().reduce("any", &reduction)?;
    let values = any_of_groups(&groups, x.values(), reduction.extent(), x.fill());
    Ok(Tensor::from_valid(pattern, values, reduction.extent() > 0 && x.fill().is_truthy()))
}

/// `any_backward` of either sparse format.
fn any_backward_sparse<P: Reduce, T: Element, U: Upstream>(
    x: &Tensor<P, T>,
    upstream: &U,
    axes: &Axes,
) -> Result<Tensor<P, U::Elem>> {
    let reduction = Reduction::new(x.shape(), axes)?;
    check_shape(upstream, &reduction.result_shape())?;
    let values = if reduction.is_elementwise() {
        at_entries(upstream, x.pattern())?
    } else if let Some(gradients) = x.pattern().spread(&reduction, upstream)? {
        gradients
    } else {
        let (cells, groups) = x.pattern().reduce("any_backward", &reduction)?;
        spread_to_entries(&groups, &at_entries(upstream, &cells)?, x.nnz())?
    };
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

/// The same four lines for each format, as each gives its own kind back.
macro_rules! impl_any {
    ($tensor:ident) => {
        impl<T: Element, I: Index> AnyOp for $tensor<T, I> {
            type Output = $tensor<bool, I>;
            type Gradient<G: Element> = $tensor<G, I>;

            fn any(&self, axes: impl Into<Axes>) -> Result<Self::Output> {
                any_sparse(self, &axes.into())
            }

            fn any_backward<U: Upstream>(
                &self,
                upstream: &U,
                axes: impl Into<Axes>,
            ) -> Result<Self::Gradient<U::Elem>> {
                any_backward_sparse(self, upstream, &axes.into())
            }
        }
    };
}

impl_any!(CooTensor);
impl_any!(CsrTensor);

impl<S: Data<Elem: Element>, D: Dimension> AnyOp for ArrayBase<S, D> {
    type Output = ArrayD<bool>;
    type Gradient<G: Element> = ArrayD<G>;

    fn any(&self, axes: impl Into<Axes>) -> Result<Self::Output> {
        let axes = axes.into();
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes)?;
        check_result::<bool>(&reduction.result_shape(), dense_bytes(self))?;
        // What an axis repeats is asked once: a view may be broadcast to more positions than there is time for.
        let once = once_on_each(self.view().into_dyn(), 0..self.ndim());
        let distinct = Reduction::new(&Shape::from(once.shape()), &axes)?;
        let lengths = distinct.kept_lengths();
        let mut truths = vec![false; lengths.iter().product()];
        visit_rows(once, &distinct, |row, cell, step| match row.as_slice() {
            Some(row) if step == 0 => truths[cell] = truths[cell] || any_of_slice(row),
            _ if step == 0 => truths[cell] = truths[cell] || any_of(row.iter().copied()),
            _ => row.iter().zip(truths[cell..].iter_mut().step_by(step)).for_each(|(value, truth)| {
                *truth |= value.is_truthy();
            }),
        });
        Ok(repeat_cells(truths, lengths, &reduction))
    }

    fn any_backward<U: Upstream>(&self, upstream: &U, axes: impl Into<Axes>) -> Result<Self::Gradient<U::Elem>> {
        let reduction = Reduction::new(&Shape::from(self.shape()), &axes.into())?;
        check_shape(upstream, &reduction.result_shape())?;
        let view = self.view().into_dyn();
        check_result::<U::Elem>(&Shape::from(self.shape()), dense_bytes(self))?;
        // No more cells than elements, unless there are no elements.
        let cells = if self.is_empty() { Vec::new() } else { upstream.in_order().collect::<Vec<_>>() };
        give_back(view, &reduction, |_, received, place| match place.is_lane {
            true => received.fill(cells[place.cell]),
            false => received.copy_from_slice(&cells[place.cell..][..received.len()]),
        })
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Whether any element is truthy, over the axes given: see [`any()`](crate::any()).
    ///
    /// # Errors
    ///
    /// Those of [`any()`](crate::any()).
    pub fn any(&self, axes: impl Into<Axes>) -> Result<Tensor<P, bool>>
    where
        Self: AnyOp<Output = Tensor<P, bool>>,
    {
        AnyOp::any(self, axes)
    }

    /// The surrogate gradient of `any`: see [`any_backward`](crate::any_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`any_backward`](crate::any_backward()).
    pub fn any_backward<U: Upstream>(&self, upstream: &U, axes: impl Into<Axes>) -> Result<Tensor<P, U::Elem>>
    where
        Self: AnyOp<Gradient<U::Elem> = Tensor<P, U::Elem>>,
    {
        AnyOp::any_backward(self, upstream, axes)
    }
}
