//! Indexing and shape manipulation.
//!
//! A descriptor selects entries and plans their pattern. The drivers gather the values, and scatter-add the gradients.

mod dense;
mod descriptor;
mod entries;
mod gather;
mod indices;
mod join;
mod make;
mod moves;
mod order;
mod request;
mod slice;
mod take;
mod triangle;

/// The constructors of moves, for dynamically typed tensors; one driver runs all moves.
pub(crate) mod moved {
    pub(crate) use super::moves::Moves;
    pub(crate) use super::order::{
        broadcast, expanded, flipped, moved, padded, permuted, repeated, rolled, squeezed, tiled, transposed,
    };
    pub(crate) use super::slice::{halves, sliced, unmoved};
    pub(crate) use super::triangle::{lower, on_diagonal, upper};
}

pub use crate::kernels::take::TakeMode;
pub(crate) use descriptor::Select;
pub(crate) use gather::{PointwiseTake, along_shape};
pub use gather::{gather, take_along_axis};
pub use indices::Take;
pub use join::{block, concat, stack};
pub(crate) use join::{joined_shape, stacked_shape};
pub(crate) use make::{diagonal_of, diagonal_pattern, diagonal_side};
pub use order::{broadcast_to, expand_dims, flip, move_axis, pad, repeat, roll, squeeze, tile, transpose};
pub(crate) use request::Request;
pub use slice::slice;
pub(crate) use slice::slice_of;
pub use take::{take, take_axis, take_into};
pub use triangle::{diagonal, tril, triu};
// Inside the crate, a gradient is called `NAME_backward`.
pub(crate) use {entries::*, join::*, order::*, take::*};

/// The gradients, by the names of their functions.
pub(super) mod grad {
    pub use super::entries::{filter_entries_backward as filter_entries, select_backward as select};
    pub use super::gather::{gather_backward as gather, take_along_axis_backward as take_along_axis};
    pub use super::join::{concat_backward as concat, stack_backward as stack};
    pub use super::order::{
        broadcast_to_backward as broadcast_to, expand_dims_backward as expand_dims, flip_backward as flip,
        move_axis_backward as move_axis, pad_backward as pad, repeat_backward as repeat, roll_backward as roll,
        squeeze_backward as squeeze, tile_backward as tile, transpose_backward as transpose,
    };
    pub use super::slice::slice_backward as slice;
    pub use super::take::{take_axis_backward as take_axis, take_backward as take};
    pub use super::triangle::{diagonal_backward as diagonal, tril_backward as tril, triu_backward as triu};
}

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD};

use self::moves::Moves;
use crate::base::alloc::Allocated;
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, unravel};
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::{Element, RawSlice, RawVec, by_raw};
use crate::kernels::lanes::spread;
use crate::kernels::spread::without_signs;
use crate::kernels::take::scatter_add;
use crate::kernels::transpose::{self, ByLast};
use crate::ops::operand::{ErasedOperand, Operand, SparseOperand, all_elements};
use crate::ops::reduce::check_upstream;
use crate::pattern::{AnyPattern, AxisCoords, Format, by_width, for_plan, of_plan, of_width, planned, zero_offsets};
use crate::plan::moves::{MoveStep, StepLimits, settled};
use crate::plan::row_major::{is_in_order, row_major};
use crate::plan::selection::{Selected, Sources};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// Computes a selection.
pub(crate) fn select_with<X: Operand, S: Select>(x: &X, op: &S) -> Result<X::Reduced<X::Elem>> {
    let of_tensor = |x: &SparseOperand<'_, X::Elem>| {
        X::check_result_shape(op.shape())?;
        selected(x.sparse(), op)
    };
    x.by_kind(of_tensor, |x| op.dense(x.view()))
}

/// Computes the gradient of a selection.
pub(crate) fn select_with_backward<X: Operand, S: Select, U: Operand>(
    x: &X,
    op: &S,
    upstream: &U,
) -> Result<X::Reduced<U::Elem>> {
    let upstream = &upstream.erased();
    let of_tensor = |x: &SparseOperand<'_, X::Elem>| {
        op.check_fill(x.sparse().fill())?;
        check_upstream(upstream, op.shape())?;
        X::check_result_shape(op.shape())?;
        sparse_backward(x.sparse(), op, upstream)
    };
    x.by_kind(of_tensor, |x| dense_backward(x, op, upstream))
}

fn selected<T: Element, S: Select>(x: SparseRef<'_, T>, op: &S) -> Result<Erased<T>> {
    op.check_fill(x.fill())?;
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    if let (Some(step), None) = (op.moves().and_then(Moves::only_step), x.pattern().memo())
        && let Some((pattern, values)) = permuted_with(x.pattern(), T::raw(x.values()), step, limit)?
    {
        return Ok(Tensor::from_valid(pattern, T::from_raw(values), x.fill()));
    }
    planned_select(x, op, limit)
}

/// Returns the result for a sparse tensor by a plan, which does not depend on the values.
pub(crate) fn planned_select<T: Element, S: Select>(x: SparseRef<'_, T>, op: &S, limit: u64) -> Result<Erased<T>> {
    let selected = planned_once(op, x.pattern(), StepLimits { value_bytes: size_of::<T>(), limit })?;
    let pattern = of_plan(x.pattern(), &selected.pattern);
    Ok(Tensor::from_shared(pattern, selected.sources.of_values(x.shared_values())?, x.fill()))
}

/// A pattern, and the values of its entries.
type Permuted = (AnyPattern, RawVec);

/// Returns the pattern with permuted axes, and the values sorted with it.
///
/// Sorting is faster than a lookup per value. Returns `None` if nothing needs sorting, or if axes are added or removed.
fn permuted_with(x: &AnyPattern, values: RawSlice<'_>, step: &MoveStep, limit: u64) -> Result<Option<Permuted>> {
    let MoveStep::Axes(axes) = step else { return Ok(None) };
    let Some(all) = axes.iter().copied().collect::<Option<Few<usize>>>() else { return Ok(None) };
    if all.len() != x.shape().rank() || all.iter().filter(|&&axis| x.shape()[axis] != 1).is_sorted() {
        return Ok(None);
    }
    if all[..] == [1, 0]
        && let Some(turned) = turned_with(x, values, limit)?
    {
        return Ok(Some(turned));
    }
    let coords = all.iter().map(|&axis| x.axis(axis)).collect::<Allocated<Few<_>>>()?;
    let Some((coords, values)) = row_major(&coords, settled(axes), values)? else { return Ok(None) };
    let shape = all.iter().map(|&axis| x.shape()[axis]).collect();
    Ok(Some((x.of_coords(shape, x.nnz(), coords, limit)?, values)))
}

/// Transposes like [`permuted_with`], if the counts of positions are small.
///
/// There is one count per position of the second axis. The number of counts must be small compared with the number of
/// entries.
fn turned_with(x: &AnyPattern, values: RawSlice<'_>, limit: u64) -> Result<Option<Permuted>> {
    let Some((last, mut offsets)) = counts_to_turn(x, limit)? else { return Ok(None) };
    let first = |start: usize, rows: &mut [usize]| x.number_within(&[0], &x.shape()[..1], start, rows);
    let (rows, values): (AxisCoords, RawVec) = by_raw!(values, values => by_width!(&last, last => {
        let (rows, values) = transpose::transposed(ByLast { last: &last[..], values }, first, &mut offsets[1..])?;
        (rows.into(), values.into())
    }));
    Ok(Some((turned_pattern(x, offsets, rows, limit)?, values)))
}

/// Returns the coordinates on the second of two axes, and its zeroed offsets.
///
/// Returns `None` if the offsets are not small compared with the entries, or if the entries are already in order.
fn counts_to_turn(x: &AnyPattern, limit: u64) -> Result<Option<(AxisCoords, Vec<usize>)>> {
    let length = x.shape()[1];
    let is_little = match x.format() {
        // The result needs these offsets in any case.
        Format::Csr => length <= x.nnz(),
        Format::Coo => length <= x.nnz() / 4,
    };
    if !is_little || length > transpose::LONGEST {
        return Ok(None);
    }
    let last = [x.axis(1)?];
    if is_in_order(&last, x.nnz()) {
        return Ok(None);
    }
    let [last] = last;
    Ok(Some((last, zero_offsets(&turned_shape(x), limit)?)))
}

fn turned_shape(x: &AnyPattern) -> Shape {
    [x.shape()[1], x.shape()[0]].into_iter().collect()
}

/// Returns the pattern with its two axes swapped.
///
/// The arguments are the offsets of its rows, and the columns in each row.
fn turned_pattern(x: &AnyPattern, offsets: Vec<usize>, columns: AxisCoords, limit: u64) -> Result<AnyPattern> {
    let shape = turned_shape(x);
    if x.format() == Format::Csr {
        return x.of_lanes(shape, offsets.into(), columns);
    }
    let rows = of_width!(x.width(), I => AxisCoords::from(spread(&offsets, 1, I::from_usize)?));
    x.of_coords(shape, columns.len(), vec![rows, columns], limit)
}

/// Returns the plan of a selection; the plan of a move is stored if the pattern keeps plans.
fn planned_once<S: Select>(op: &S, x: &AnyPattern, room: StepLimits) -> Result<Arc<Selected>> {
    let plan = || {
        let selected = op.plan(x, room)?;
        Ok(Selected { pattern: for_plan(x, selected.pattern), ..selected })
    };
    match op.moves() {
        Some(moves) => planned(x, || moves.clone(), plan),
        None => plan().map(Arc::new),
    }
}

/// Returns a pattern repeated to a shape that it broadcasts to.
pub(super) fn repeated(x: &AnyPattern, shape: &Shape, limit: u64) -> Result<AnyPattern> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let moves = order::broadcast(x.shape(), shape.clone())?;
    let selected = planned_once(&moves, x, StepLimits { value_bytes: 0, limit })?;
    Ok(of_plan(x, &selected.pattern))
}

/// Returns the gradient of a sparse tensor, on its pattern.
fn sparse_backward<T: Element, S: Select, G: Element>(
    x: SparseRef<'_, T>,
    op: &S,
    upstream: &ErasedOperand<'_, G>,
) -> Result<Erased<G>> {
    let limit = default_limit(x.stored_bytes().saturating_add(op.held_bytes()));
    let values = gradients(x.pattern(), op, upstream, limit)?;
    Ok(Tensor::from_valid(x.pattern().clone(), values, G::ZERO))
}

/// Returns the gradient of each entry of a pattern.
fn gradients<S: Select, G: Element>(
    x: &AnyPattern,
    op: &S,
    upstream: &ErasedOperand<'_, G>,
    limit: u64,
) -> Result<Vec<G>> {
    let selected = planned_once(op, x, StepLimits { value_bytes: size_of::<G>(), limit })?;
    let gradients = upstream.at_entries(&of_plan(x, &selected.pattern))?;
    sums(x.nnz(), &selected.sources, gradients)?
        .map_err(|entry| sum_overflow::<G>(x.coords_of(entry).unwrap_or_default()))
}

/// Returns the sum for each of `count` entries.
///
/// The summed gradients are those of result entries that come from `sources`. The inner error is the first entry whose
/// sum does not fit the element type.
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

/// Returns the gradient of an array.
fn dense_backward<T: Element, S: Select, G: Element>(
    x: &ArrayViewD<'_, T>,
    op: &S,
    upstream: &ErasedOperand<'_, G>,
) -> Result<ArrayD<G>> {
    let (shape, x_bytes) = (&Shape::from(x.shape()), dense_bytes(x));
    check_upstream(upstream, op.shape())?;
    check_result::<G>(shape, x_bytes)?;
    check_result::<G>(op.shape(), x_bytes.saturating_add(op.held_bytes()))?;
    let sums = op.dense_sums(shape, &all_elements(upstream)?)?.map_err(|position| {
        let mut coords = vec![0; shape.rank()];
        unravel(position, shape, &mut coords);
        sum_overflow::<G>(coords)
    })?;
    Ok(dense_array(shape, sums))
}

fn sum_overflow<G: Element>(coords: Vec<usize>) -> Error {
    Error::SumOverflow { coords, dtype: G::DTYPE.name() }
}
