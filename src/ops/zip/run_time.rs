//! The drivers of zips of dynamically typed operands.
//!
//! An array with a sparse operand counts as a tensor that stores every element. The result has the pattern of the
//! sparse operand if its fill absorbs the elements of the array; otherwise the result is an array.

use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn, arr0};

use super::repeated::WholeShapes;
use super::sparse::{self, fill_of, text, unstored};
use super::sparse_pair;
use super::{broadcast_shape, dense, is_repeated, rejection, to_dense};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::{Shape, step};
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::zip::{FillEffect, MaybeSwapped, UnpairedEntry, Zip};
use crate::ops::broadcast::in_shape;
use crate::ops::operand::{DenseOperand, ErasedOperand, ErasedResult, SparseOperand, positions, repeated_axes};
use crate::pattern::AnyPattern;
use crate::plan::broadcast_match::whole_lengths;
use crate::tensor::erased::{Erased, SparseRef};

/// Combines two operands of any kind.
pub(super) fn pair<T: Element, Z: Zip<T, T>>(
    x: &ErasedOperand<'_, T>,
    y: &ErasedOperand<'_, T>,
    op: Z,
) -> Result<ErasedResult<Z::Out>> {
    let op = MaybeSwapped { op, is_swapped: false };
    match (x, y) {
        (ErasedOperand::Sparse(x), ErasedOperand::Sparse(y)) => Ok(sparse_pair::of_both(x, y, op)?.into()),
        (ErasedOperand::Array(x), ErasedOperand::Array(y)) => {
            Ok(dense::pair(x.array.view(), y.array.view(), op)?.into())
        }
        (ErasedOperand::Sparse(x), ErasedOperand::Array(y)) => with_array(x, y, op),
        (ErasedOperand::Array(x), ErasedOperand::Sparse(y)) => {
            with_array(y, x, MaybeSwapped { is_swapped: true, ..op }).map_err(|error| match error {
                Error::NonFinite { operation, left, right, coords } => {
                    Error::NonFinite { operation, left: right, right: left, coords }
                }
                error => error,
            })
        }
    }
}

/// Combines an operand of any kind and a number.
pub(super) fn with_number<T: Element, Z: Zip<T, T>>(
    x: &ErasedOperand<'_, T>,
    number: T,
    op: Z,
) -> Result<ErasedResult<Z::Out>> {
    let op = MaybeSwapped { op, is_swapped: false };
    match x {
        ErasedOperand::Sparse(x) => Ok(sparse::of_number(x, number, op)?.into()),
        ErasedOperand::Array(x) => Ok(dense::pair(x.array.view(), arr0(number).into_dyn().view(), op)?.into()),
    }
}

/// Combines a sparse operand with an array, which counts as a tensor that stores every element. The result of chunks
/// has the same kind as the result of the entire operands.
fn with_array<T: Element, Z: Zip<T, T>>(
    x: &SparseOperand<'_, T>,
    y: &DenseOperand<'_, T>,
    op: Z,
) -> Result<ErasedResult<Z::Out>> {
    let (tensor, counts_unstored, array) = (x.sparse(), x.counts_unstored, &y.array.view());
    let shape = broadcast_shape(tensor.shape(), array.shape())?;
    let lengths = [whole_lengths(tensor.pattern()), y.whole_lengths()];
    let wholes = WholeShapes::of(lengths, [tensor.shape(), array.shape()], &shape);
    let [is_left_repeated, is_right_repeated] = [wholes.left, wholes.right].map(|own| is_repeated(own, &wholes.shape));
    let is_single = |lengths: &[usize]| lengths.iter().all(|&length| length == 1);
    if let (true, true, Some(&number)) = (is_right_repeated, is_single(wholes.right), array.first()) {
        let tensor = SparseOperand::of(in_shape(tensor, &shape)?, counts_unstored);
        return Ok(sparse::of_number(&tensor, number, op)?.into());
    }
    if let (true, true, Some(&number)) = (is_left_repeated, is_single(wholes.left), tensor.values().first()) {
        let number = ArrayD::from_elem(IxDyn(tensor.shape()), number);
        return Ok(dense::pair(number.view(), array.view(), op)?.into());
    }
    if !counts_unstored {
        return match op.counts_unpaired() && (is_left_repeated || !is_right_repeated) {
            true => Ok(united(tensor, array, &shape, op)?.into()),
            false => {
                let found = at_entries(tensor, array, &shape, op)?;
                let is_of_array = is_left_repeated && !is_right_repeated;
                Ok(if is_of_array { found.with_fill(Z::Out::ZERO) } else { found }.into())
            }
        };
    }
    // Unless only the array is repeated, a divisor counts with the fill that it would have as a tensor.
    let other = (is_left_repeated || !is_right_repeated).then_some(T::ZERO);
    let fill = match op.left_fill_effect(tensor.fill(), other) {
        FillEffect::Counts => return Ok(to_dense::of_all(tensor, array.view(), op)?.into()),
        FillEffect::Annihilated => op.apply(tensor.fill(), array.first().copied().unwrap_or(T::ZERO)),
        FillEffect::AnnihilatedIfFinite => {
            check_left_out(tensor, array, &shape, op)?;
            Ok(Z::Out::ZERO)
        }
    };
    let found = at_entries(tensor, array, &shape, op)?;
    let fill = fill_of(op, fill, found.pattern())?;
    Ok(found.with_fill(fill).into())
}

/// Computes the results at the entries of a tensor, which is broadcast to a shape. The fill is unchanged.
fn at_entries<T: Element, Z: Zip<T, T>>(
    tensor: SparseRef<'_, T>,
    array: &ArrayViewD<'_, T>,
    shape: &Shape,
    op: Z,
) -> Result<Erased<Z::Out>> {
    sparse::of_array(tensor, None, array.view(), shape, op)
}

/// Computes the results at the entries of a stored view, and at the array elements without a partner.
fn united<T: Element, Z: Zip<T, T>>(
    tensor: SparseRef<'_, T>,
    array: &ArrayViewD<'_, T>,
    shape: &Shape,
    op: Z,
) -> Result<ArrayD<Z::Out>> {
    check_result::<Z::Out>(shape, tensor.stored_bytes().saturating_add(dense_bytes(array)))?;
    let found = at_entries(tensor, array, shape, op)?;
    let whole = array.broadcast(IxDyn(shape)).expect("the shape is that of both");
    let unpaired = whole.indexed_iter().map(|(at, &element)| {
        // A fault at a position with a partner does not affect the result.
        match op.unpaired(UnpairedEntry::Right(element)) {
            Err(fault) if found.pattern().find(at.slice()).is_none() => {
                Err(rejection(op.name(), fault, Some(at.slice().to_vec())))
            }
            outcome => Ok(outcome.unwrap_or(Z::Out::ZERO)),
        }
    });
    let mut elements: Vec<Z::Out> = alloc::try_collect(unpaired)?;
    for (position, &value) in positions(found.pattern())?.into_iter().zip(found.values()) {
        elements[position] = value;
    }
    Ok(dense_array(shape, elements))
}

/// Rejects an element of the array at an unstored position, if its result with the fill is not zero.
fn check_left_out<T: Element, Z: Zip<T, T>>(
    tensor: SparseRef<'_, T>,
    array: &ArrayViewD<'_, T>,
    shape: &Shape,
    op: Z,
) -> Result<()> {
    let is_zero =
        |&element: &T| op.apply(tensor.fill(), element).is_ok_and(|found| found.as_implicit().same(Z::Out::ZERO));
    if array.iter().all(is_zero) {
        return Ok(());
    }
    let whole = in_shape(tensor, shape)?;
    let wrong = array.indexed_iter().filter(|(_, element)| !is_zero(element));
    let positions = wrong.filter_map(|(at, &element)| {
        first_unstored(whole.sparse().pattern(), at.slice(), array.shape()).map(|coords| (coords, element))
    });
    let Some((coords, element)) = positions.min_by(|(one, _), (other, _)| one.cmp(other)) else { return Ok(()) };
    Err(match op.apply(tensor.fill(), element) {
        Err(fault) => rejection(op.name(), fault, Some(coords)),
        Ok(_) => Error::NonFinite { operation: op.name(), left: unstored(tensor.fill()), right: text(element), coords },
    })
}

/// Returns the first position to which the element `at` of an array of these lengths is broadcast and that a pattern
/// does not store.
fn first_unstored(pattern: &AnyPattern, at: &[usize], lengths: &[usize]) -> Option<Vec<usize>> {
    let shape = pattern.shape();
    let repeated = repeated_axes(lengths, shape);
    let counts: Vec<usize> = repeated.iter().map(|&axis| shape[axis]).collect();
    let mut coords = vec![0; shape.rank()];
    coords[shape.rank() - at.len()..].copy_from_slice(at);
    let mut along = vec![0; counts.len()];
    // Each step except the last one finds an entry, so the number of entries bounds the number of steps.
    loop {
        repeated.iter().zip(&along).for_each(|(&axis, &coord)| coords[axis] = coord);
        if pattern.find(&coords).is_none() {
            return Some(coords);
        }
        step(&mut along, &counts);
        if along.iter().all(|&coord| coord == 0) {
            return None;
        }
    }
}
