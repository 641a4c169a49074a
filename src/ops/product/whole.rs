//! Operands of an einsum without the static types of their patterns, and the operations on them.

use std::any::Any;

use ndarray::{ArrayD, IxDyn};

use super::backward::matmul_backward;
use super::factor::Factor;
use super::listed::Listed;
use super::matmul::plain;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, saturating_product, unravel};
use crate::convert::{check_result, copied, dense_array};
use crate::element::{DType, Element, Float, Number, Ring};
use crate::kernels::zip::all_finite;
use crate::ops::op;
use crate::ops::operand::{ErasedOperand, ErasedResult, all_elements};
use crate::ops::reduce;
use crate::pattern::{AnyPattern, CooPattern, Format, of_width};
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// Entries, or an array in row-major order.
#[derive(Clone)]
pub(crate) enum Whole<T> {
    /// Entries in coordinate format.
    Entries(Erased<T>),
    Array(ArrayD<T>),
}

impl<T: Element> Whole<T> {
    /// Returns the elements of an operand; a tensor in coordinate format.
    pub(super) fn of(x: &ErasedOperand<'_, T>) -> Result<Self> {
        match x {
            ErasedOperand::Sparse(x) => {
                let x = x.sparse();
                let pattern = x.pattern().to_coo()?.with_part_of(None);
                Ok(Whole::Entries(Tensor::from_shared(pattern, x.shared_values().clone(), T::ZERO)))
            }
            ErasedOperand::Array(x) => {
                let listed = Listed::of_array(&x.array)?;
                Ok(Whole::Array(dense_array(&x.array.shape().into(), alloc::owned(listed.values)?)))
            }
        }
    }

    /// Returns the elements in the format of an operand of the einsum; `bytes` is the number of bytes that the operands
    /// hold.
    pub(super) fn into_result(self, like: &ErasedOperand<'_, T>, bytes: usize) -> Result<ErasedResult<T>> {
        match (self, like) {
            (Whole::Entries(x), ErasedOperand::Sparse(like)) => {
                let pattern = x.pattern().in_format(like.sparse().pattern().format(), default_limit(bytes))?;
                Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()).into())
            }
            (Whole::Entries(x), ErasedOperand::Array(_)) => Ok(x.into()),
            (Whole::Array(x), _) => Ok(x.into()),
        }
    }
}

/// Returns the array in row-major order.
fn in_order<T: Element>(x: ArrayD<T>) -> Result<ArrayD<T>> {
    if x.is_standard_layout() {
        return Ok(x);
    }
    let shape = Shape::from(x.shape());
    Ok(dense_array(&shape, copied(&x.view())?))
}

impl<T: Ring> Whole<T> {
    pub(super) fn lengths(&self) -> &[usize] {
        match self {
            Whole::Entries(x) => x.shape(),
            Whole::Array(x) => x.shape(),
        }
    }

    /// Returns the values that the operand holds one by one.
    fn values(&self) -> &[T] {
        match self {
            Whole::Entries(x) => x.values(),
            Whole::Array(x) => x.as_slice().unwrap_or_default(),
        }
    }

    /// Returns whether there are unstored zeros.
    pub(super) fn has_zeros(&self) -> bool {
        self.values().len() as u128 != saturating_product(self.lengths())
    }

    /// Returns the coordinates and the value of the first entry that is not finite.
    pub(super) fn first_not_finite(&self) -> Option<(Vec<usize>, T)> {
        let Whole::Entries(x) = self else { return None };
        if all_finite(self.values()) {
            return None;
        }
        let entry = x.values().iter().position(|value| !value.isfinite())?;
        Some((x.pattern().coords_of(entry)?, x.values()[entry]))
    }

    /// Returns the elements with equal coordinates on two axes, without the second axis, and their indices in the
    /// operand.
    pub(super) fn diagonal(&self, first: usize, second: usize) -> Result<(Self, Vec<usize>)> {
        let mut lengths = self.lengths().to_vec();
        lengths.remove(second);
        let shape = Shape::from(lengths);
        match self {
            Whole::Entries(x) => {
                let mut coords = x.pattern().axes()?;
                let kept = coords[first].equal_entries(&coords[second])?;
                coords.remove(second);
                let coords = coords.iter().map(|axis| axis.gather(&kept)).collect::<Allocated<_>>()?;
                let pattern = AnyPattern::valid_coo(shape, kept.len(), x.pattern().width(), coords);
                let values = alloc::collect(kept.iter().map(|&entry| x.values()[entry]))?;
                Ok((Whole::Entries(Tensor::from_valid(pattern, values, T::ZERO)), kept))
            }
            Whole::Array(x) => {
                let mut at = vec![0; shape.rank()];
                let position = |number: usize| {
                    unravel(number, &shape, &mut at);
                    let mut full = at.clone();
                    full.insert(second, at[first]);
                    full.iter().zip(x.shape()).fold(0, |position, (&coord, &length)| position * length + coord)
                };
                let kept = alloc::collect((0..shape.iter().product::<usize>()).map(position))?;
                let items = alloc::collect(kept.iter().map(|&position| self.values()[position]))?;
                Ok((Whole::Array(dense_array(&shape, items)), kept))
            }
        }
    }

    /// Returns the given values at the positions of the operand.
    fn with_values(&self, values: Vec<T>) -> Self {
        match self {
            Whole::Entries(x) => Whole::Entries(Tensor::from_valid(x.pattern().clone(), values, T::ZERO)),
            Whole::Array(x) => Whole::Array(dense_array(&x.shape().into(), values)),
        }
    }

    /// Returns the elements chosen by [`diagonal`](Whole::diagonal) at their original positions; all other elements are
    /// zero.
    pub(super) fn put_back(&self, chosen: &Self, kept: &[usize]) -> Result<Self> {
        let mut values = alloc::copies(T::ZERO, self.values().len())?;
        kept.iter().zip(chosen.values()).for_each(|(&at, &value)| values[at] = value);
        Ok(self.with_values(values))
    }

    /// Computes the exact sums over some axes.
    pub(super) fn summed(&self, axes: &[usize]) -> Result<Self> {
        match self {
            Whole::Entries(x) => {
                let sums = reduce::sum(x, axes)?;
                let coords = |entry| sums.pattern().coords_of(entry);
                let values = sums.values().iter().enumerate();
                let values = values.map(|(entry, &sum)| fitting(sum, || coords(entry)));
                let values = alloc::try_collect(values)?;
                Ok(Whole::Entries(Tensor::from_valid(sums.pattern().clone(), values, T::ZERO)))
            }
            Whole::Array(x) => {
                let sums = reduce::sum(x, axes)?;
                let shape = Shape::from(sums.shape());
                let coords = |at| {
                    let mut coords = vec![0; shape.rank()];
                    unravel(at, &shape, &mut coords);
                    Some(coords)
                };
                let items = sums.iter().enumerate().map(|(at, &sum)| fitting(sum, || coords(at)));
                Ok(Whole::Array(dense_array(&shape, alloc::try_collect(items)?)))
            }
        }
    }

    /// Returns the operand with its axes in another order.
    pub(super) fn permuted(&self, order: &[usize]) -> Result<Self> {
        if order.is_sorted() {
            return Ok(self.clone());
        }
        Ok(match self {
            Whole::Entries(x) => {
                let order: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
                Whole::Entries(of_width!(x.pattern().width(), I => permuted::<I, T>(x, &order)?))
            }
            Whole::Array(x) => Whole::Array(in_order(x.view().permuted_axes(order.to_vec()).to_owned())?),
        })
    }

    /// Returns the operand in another shape with the same number of positions.
    pub(super) fn reshaped(&self, shape: &Shape) -> Result<Self> {
        Ok(match self {
            Whole::Entries(x) => {
                let pattern = x.pattern().reshape(shape.clone())?;
                Whole::Entries(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()))
            }
            Whole::Array(x) => {
                check_result::<T>(shape, size_of_val(self.values()))?;
                let shaped = x.clone().into_shape_with_order(IxDyn(shape));
                Whole::Array(shaped.expect("the number of positions is the same"))
            }
        })
    }

    /// Computes the product of two matrices, or of two batches of matrices; unstored zeros are skipped.
    pub(super) fn product(&self, other: &Self, implicit: Option<T>) -> Result<Self> {
        let product = plain::<T>(op::einsum.name);
        Ok(match (self, other) {
            (Whole::Entries(x), Whole::Entries(y)) => {
                let found = product.of(&Factor::sparse(x.sparse(), None), &Factor::sparse(y.sparse(), None))?;
                Whole::Entries(found.into_erased(Format::Coo, x.pattern().width())?)
            }
            (Whole::Array(x), Whole::Array(y)) => {
                Whole::Array(product.of(&Factor::array(x.view())?, &Factor::array(y.view())?)?.into_array())
            }
            (Whole::Entries(x), Whole::Array(y)) => {
                Whole::Array(product.of(&Factor::sparse(x.sparse(), implicit), &Factor::array(y.view())?)?.into_array())
            }
            (Whole::Array(x), Whole::Entries(y)) => {
                Whole::Array(product.of(&Factor::array(x.view())?, &Factor::sparse(y.sparse(), implicit))?.into_array())
            }
        })
    }
}

impl<T: Float> Whole<T> {
    /// Returns the upstream gradient at the positions where this result has a value.
    pub(super) fn gradient_at(&self, upstream: &ErasedOperand<'_, T>) -> Result<Self> {
        Ok(match self {
            Whole::Entries(x) => self.with_values(upstream.at_entries(x.pattern())?),
            Whole::Array(_) => self.with_values(alloc::collect(all_elements(upstream)?.iter().copied())?),
        })
    }

    /// Computes the gradient of [`summed`](Whole::summed).
    pub(super) fn spread(&self, gradient: &Self, axes: &[usize]) -> Result<Self> {
        Ok(match (self, gradient) {
            (Whole::Entries(x), Whole::Entries(g)) => Whole::Entries(reduce::sum_backward(x, g, axes)?),
            (Whole::Array(x), Whole::Array(g)) => Whole::Array(reduce::sum_backward(x, g, axes)?),
            _ => unreachable!("a gradient has the kind of its operand"),
        })
    }

    /// Computes the gradients of both operands of [`product`](Whole::product).
    pub(super) fn product_backward(&self, other: &Self, gradient: &Self) -> Result<(Self, Self)> {
        Ok(match (self, other, gradient) {
            (Whole::Entries(x), Whole::Entries(y), Whole::Entries(g)) => {
                let (dx, dy) = matmul_backward(&x.stored(), &y.stored(), g)?;
                (Whole::Entries(dx), Whole::Entries(dy))
            }
            (Whole::Array(x), Whole::Array(y), Whole::Array(g)) => {
                let (dx, dy) = matmul_backward(x, y, g)?;
                (Whole::Array(dx), Whole::Array(dy))
            }
            (Whole::Entries(x), Whole::Array(y), Whole::Array(g)) => {
                let (dx, dy) = matmul_backward(&x.stored(), y, g)?;
                (Whole::Entries(dx), Whole::Array(dy))
            }
            (Whole::Array(x), Whole::Entries(y), Whole::Array(g)) => {
                let (dx, dy) = matmul_backward(x, &y.stored(), g)?;
                (Whole::Array(dx), Whole::Entries(dy))
            }
            _ => unreachable!("a product is an array if an operand is one"),
        })
    }
}

/// Returns the entries with their axes in another order.
fn permuted<I: Index, T: Element>(x: &Erased<T>, order: &[isize]) -> Result<Erased<T>> {
    let x = Tensor::<CooPattern<I>, T>::from_erased(x.clone())?;
    Ok(x.permute_axes(order)?.sparse().to_erased())
}

/// Converts a sum to the type of its terms; a sum of `bool` becomes their disjunction.
fn fitting<T: Ring>(sum: T::Sum, coords: impl Fn() -> Option<Vec<usize>>) -> Result<T> {
    let number = match sum.to_number() {
        Number::Integer(count) if T::DTYPE == DType::Bool => Number::Integer(count.min(1)),
        number => number,
    };
    let same: &dyn Any = &sum;
    let found = same.downcast_ref::<T>().copied().or_else(|| T::from_number(number));
    found.ok_or_else(|| Error::Overflow { operation: op::einsum.name, coords: coords(), dtype: T::DTYPE.name() })
}
