//! Operations that choose and move elements.
//!
//! A member says which entries it chooses and what pattern they make; the drivers gather the values, and scatter and
//! add their gradients.

mod dense;
mod entries;
mod indices;
mod join;
mod make;
#[macro_use]
mod moves;
mod order;
mod slice;
mod take;
mod triangle;

/// What each move comes to, for the run-time types: one driver serves them all.
pub(crate) mod moved {
    pub(crate) use super::moves::Moves;
    pub(crate) use super::order::{
        broadcast, expanded, flipped, moved, padded, permuted, repeated, rolled, squeezed, tiled, transposed,
    };
    pub(crate) use super::slice::sliced;
    pub(crate) use super::triangle::{lower, on_diagonal, upper};
}

pub use crate::kernels::take::TakeMode;
pub use indices::Take;
pub use join::{block, concat, concat_backward, stack, stack_backward};
pub(crate) use join::{joined_shape, stacked_shape};
pub(crate) use make::{diagonal_of, diagonal_pattern, diagonal_side};
pub use order::{
    broadcast_to, broadcast_to_backward, expand_dims, expand_dims_backward, flip, flip_backward, move_axis,
    move_axis_backward, pad, pad_backward, repeat, repeat_backward, roll, roll_backward, squeeze, squeeze_backward,
    tile, tile_backward, transpose, transpose_backward,
};
pub(crate) use slice::slice_of;
pub use slice::{slice, slice_backward};
pub(crate) use take::Request;
pub use take::{take, take_axis, take_axis_backward, take_backward, take_into};
pub use triangle::{diagonal, diagonal_backward, tril, tril_backward, triu, triu_backward};

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD};

use self::moves::Moves;
use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, unravel};
use crate::convert::{check_result, dense_array};
use crate::element::Element;
use crate::kernels::lanes::spread;
use crate::kernels::sort;
use crate::kernels::spread::without_signs;
use crate::kernels::take::scatter_add;
use crate::kernels::turned::{self, ByLast};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::ops::reduce::dense::all_cells;
use crate::pattern::{Format, Pattern, coords_as_slices, for_plan, of_plan, planned, zero_offsets};
use crate::plan::moves::{Room, Step, settled};
use crate::plan::selected::{Selected, Sources};
use crate::tensor::Tensor;

/// An operation that chooses and moves elements of an operand of known shape.
pub trait Select {
    /// The shape of the result.
    fn shape(&self) -> &Shape;

    /// The bytes of its own arguments, what they repeat counted once.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Refuses a fill that the result cannot have.
    fn check_fill<T: Element>(&self, _: T) -> Result<()> {
        Ok(())
    }

    /// The moves along axes that it is, by which its plan is found again; none for what is chosen one by one.
    fn moves(&self) -> Option<&Moves> {
        None
    }

    /// What the result stores; result and lists are to fit the room.
    fn plan<P: Pattern>(&self, x: &P, room: Room) -> Result<Selected<P>>;

    /// The result of an array.
    fn dense<T: Element>(&self, x: ArrayViewD<'_, T>) -> Result<ArrayD<T>>;

    /// The sums of the gradients of the result of an array of shape `x`; the error within is the first position whose
    /// sum does not fit its type.
    fn dense_sums<G: Element>(&self, x: &Shape, gradients: &[G]) -> Result<std::result::Result<Vec<G>, usize>>;
}

/// The result of a sparse tensor.
pub(super) fn sparse<P: Pattern, T: Element, S: Select>(x: &Tensor<P, T>, op: &S) -> Result<Tensor<P, T>> {
    op.check_fill(x.fill())?;
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    if let (Some(step), None) = (op.moves().and_then(Moves::only_step), x.pattern().memo())
        && let Some((pattern, values)) = permuted_with(x, step, limit)?
    {
        return Ok(Tensor::from_valid(pattern, values, x.fill()));
    }
    planned_select(x, op, limit)
}

/// The result of a sparse tensor by its plan, whatever the values are.
pub(crate) fn planned_select<P: Pattern, T: Element, S: Select>(
    x: &Tensor<P, T>,
    op: &S,
    limit: u64,
) -> Result<Tensor<P, T>> {
    let selected = planned_once(op, x.pattern(), Room { value_bytes: size_of::<T>(), limit })?;
    let pattern = of_plan(x.pattern(), &selected.pattern);
    Ok(Tensor::from_shared(pattern, selected.sources.of(x.shared_values())?, x.fill()))
}

/// The pattern under another order of its axes, and the values, sorted with it: that is faster than to look each of
/// them up. None where there is nothing to sort, or axes come or go.
fn permuted_with<P: Pattern, T: Element>(x: &Tensor<P, T>, step: &Step, limit: u64) -> Result<Option<(P, Vec<T>)>> {
    let Step::Axes(axes) = step else { return Ok(None) };
    let Some(all) = axes.iter().copied().collect::<Option<Few<usize>>>() else { return Ok(None) };
    if all.len() != x.rank() || all.iter().filter(|&&axis| x.shape()[axis] != 1).is_sorted() {
        return Ok(None);
    }
    if all[..] == [1, 0]
        && let Some(found) = turned_with(x, limit)?
    {
        return Ok(Some(found));
    }
    let coords = all.iter().map(|&axis| x.pattern().shared_axis(axis)).collect::<Allocated<Few<_>>>()?;
    let sorted = sort::row_major(&coords_as_slices(&coords), settled(axes), x.values())?;
    let Some((coords, values)) = sorted else { return Ok(None) };
    let shape = all.iter().map(|&axis| x.shape()[axis]).collect();
    let pattern = P::from_coords(shape, values.len(), coords.into_iter().map(Buffer::from).collect(), limit)?;
    Ok(Some((pattern, values)))
}

/// [`permuted_with`] of two axes, where a count for each position of the second one is little beside the entries.
fn turned_with<P: Pattern, T: Element>(x: &Tensor<P, T>, limit: u64) -> Result<Option<(P, Vec<T>)>> {
    let (pattern, length) = (x.pattern(), x.shape()[1]);
    let is_little = match P::FORMAT {
        // The offsets of the result.
        Format::Csr => length <= x.nnz(),
        Format::Coo => length <= x.nnz() / 4,
    };
    let last = pattern.shared_axis(1)?;
    if !is_little || length > turned::LONGEST || sort::first_decreasing(&[&last[..]], x.nnz()).is_none() {
        return Ok(None);
    }
    let shape: Shape = [length, x.shape()[0]].into_iter().collect();
    let mut offsets = zero_offsets(&shape, limit)?;
    let first = |start: usize, rows: &mut [usize]| pattern.number_within(&[0], &x.shape()[..1], start, rows);
    let entries = ByLast { last: &last[..], values: x.values() };
    let (rows, values) = turned::turned(entries, first, &mut offsets[1..])?;
    let pattern = match P::FORMAT {
        Format::Csr => P::from_lanes(shape, offsets.into(), rows.into())?,
        Format::Coo => {
            let columns = spread(&offsets, 1, P::Index::from_usize)?;
            P::from_coords(shape, values.len(), vec![columns.into(), rows.into()], limit)?
        }
    };
    Ok(Some((pattern, values)))
}

/// The plan of a selection; a move's is kept where the pattern keeps plans.
fn planned_once<P: Pattern, S: Select>(op: &S, x: &P, room: Room) -> Result<Arc<Selected<P>>> {
    let plan = || {
        let selected = op.plan(x, room)?;
        Ok(Selected { pattern: for_plan(x, selected.pattern), ..selected })
    };
    match op.moves() {
        Some(moves) => planned(x, || moves.clone(), plan),
        None => plan().map(Arc::new),
    }
}

/// A pattern repeated to a shape that it broadcasts to.
pub(super) fn repeated<P: Pattern>(x: &P, shape: &Shape, limit: u64) -> Result<P> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let moves = order::broadcast(x.shape(), shape.clone())?;
    let selected = planned_once(&moves, x, Room { value_bytes: 0, limit })?;
    Ok(of_plan(x, &selected.pattern))
}

/// The gradient of a sparse tensor, on its pattern.
pub(super) fn sparse_backward<P: Pattern, T: Element, S: Select, U: Operand>(
    x: &Tensor<P, T>,
    op: &S,
    upstream: &U,
) -> Result<Tensor<P, U::Elem>> {
    op.check_fill(x.fill())?;
    check_upstream(upstream, op.shape())?;
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    let selected = planned_once(op, x.pattern(), Room { value_bytes: size_of::<U::Elem>(), limit })?;
    let pattern = of_plan(x.pattern(), &selected.pattern);
    let values = sums(x.nnz(), &selected.sources, upstream.at_entries(&pattern)?)?
        .map_err(|entry| sum_overflow::<U::Elem>(x.pattern().coords_of(entry).unwrap_or_default()))?;
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

/// What each of `count` entries receives where the gradients are those of entries that come from `sources`.
fn sums<G: Element>(
    count: usize,
    sources: &Sources,
    gradients: Vec<G>,
) -> Allocated<std::result::Result<Vec<G>, usize>> {
    match sources {
        Sources::Same => Ok(Ok(without_signs(gradients))),
        Sources::Range(range) => scatter_add(count, range.clone().zip(gradients)),
        Sources::Runs(starts, ends) => {
            let runs = starts.iter().zip(ends.windows(2));
            scatter_add(count, runs.flat_map(|(start, ends)| *start..start + ends[1] - ends[0]).zip(gradients))
        }
        Sources::List(list) => scatter_add(count, list.iter().copied().zip(gradients)),
    }
}

/// The gradient of an array of `shape` that holds `x_bytes`.
pub(super) fn dense_backward<S: Select, U: Operand>(
    shape: &Shape,
    x_bytes: usize,
    op: &S,
    upstream: &U,
) -> Result<ArrayD<U::Elem>> {
    check_upstream(upstream, op.shape())?;
    check_result::<U::Elem>(shape, x_bytes)?;
    check_result::<U::Elem>(op.shape(), x_bytes.saturating_add(op.held_bytes()))?;
    let sums = op.dense_sums(shape, &all_cells(upstream)?)?.map_err(|position| {
        let mut coords = vec![0; shape.rank()];
        unravel(position, shape, &mut coords);
        sum_overflow::<U::Elem>(coords)
    })?;
    Ok(dense_array(shape, sums))
}

fn sum_overflow<G: Element>(coords: Vec<usize>) -> Error {
    Error::SumOverflow { coords, dtype: G::DTYPE.name() }
}
