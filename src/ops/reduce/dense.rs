//! The drivers of reductions of dense arrays.

use std::borrow::Cow;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::lanes::{Order, Place, check_lane, give_back, map_lanes, repeat_cells, visit_rows};
use super::{check_countable, check_upstream, refused};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::convert::{check_result, dense_array, dense_bytes, once_on_each};
use crate::element::Element;
use crate::kernels::fold::{Fold, fold_until_settled};
use crate::kernels::holistic::{Gradient, Group, Holistic, of_nothing, share_singly};
use crate::kernels::lookup::Lookup;
use crate::ops::operand::Operand;
use crate::plan::reduction::Reduction;

/// A fold over some axes.
pub(crate) fn fold<S: Data<Elem: Element>, D: Dimension, F: Fold<S::Elem>>(
    x: &ArrayBase<S, D>,
    op: F,
    axes: &Axes,
) -> Result<ArrayD<F::Out>> {
    let reduction = Reduction::new(&Shape::from(x.shape()), axes)?;
    check_result::<F::Out>(&reduction.result_shape(), dense_bytes(x))?;
    // What an axis repeats is read once: a view may be broadcast to more positions than there is time for.
    let once = once_on_each(x.view().into_dyn(), 0..x.ndim());
    let distinct = Reduction::new(&Shape::from(once.shape()), axes)?;
    let times = reduction.extent().checked_div(distinct.extent()).unwrap_or(0);
    let lengths = distinct.kept_lengths().to_vec();
    let mut states = alloc::copies(op.start(), lengths.iter().product())?;
    visit_rows(once, &distinct, |row, cell, step| match row.as_slice() {
        _ if times > 1 => row.iter().enumerate().for_each(|(at, &value)| {
            let state = &mut states[cell + at * step];
            *state = op.repeat(*state, value, times);
        }),
        _ if step > 0 => row.iter().zip(states[cell..].iter_mut().step_by(step)).for_each(|(&value, state)| {
            *state = op.step(*state, value);
        }),
        _ if op.is_settled(states[cell]) => {}
        Some(row) => states[cell] = op.merge(states[cell], op.slice(row)),
        None => states[cell] = op.merge(states[cell], fold_until_settled(op, row.iter().copied())),
    });
    let finish = |state| op.finish(state, reduction.extent()).map_err(|fault| refused(op, fault));
    let cells = alloc::try_collect(states.into_iter().map(finish))?;
    Ok(repeat_cells(cells, lengths, &reduction)?)
}

/// A holistic reduction over some axes.
pub(crate) fn holistic<S: Data<Elem: Element>, D: Dimension, H: Holistic<S::Elem>>(
    x: &ArrayBase<S, D>,
    op: H,
    axes: &Axes,
) -> Result<ArrayD<H::Out>> {
    reduce_lanes(x, op, &Reduction::new(&Shape::from(x.shape()), axes)?)
}

fn reduce_lanes<S: Data<Elem: Element>, D: Dimension, H: Holistic<S::Elem>>(
    x: &ArrayBase<S, D>,
    op: H,
    reduction: &Reduction,
) -> Result<ArrayD<H::Out>> {
    check_lane(x, reduction)?;
    let order = if op.looks_at_positions() {
        check_countable(op, reduction)?;
        Order::RowMajor
    } else {
        Order::Any
    };
    let of = |scratch: &mut H::Scratch, lane: &[S::Elem]| op.of(&Group::of_slice(lane), scratch);
    map_lanes(x.view().into_dyn(), reduction, order, of_nothing(op)?, || op.scratch(), of)
}

/// The gradient of a holistic reduction.
pub(crate) fn gradient<S: Data<Elem: Element>, D: Dimension, U: Operand, H: Gradient<S::Elem, U::Elem>>(
    x: &ArrayBase<S, D>,
    op: H,
    upstream: &U,
    axes: &Axes,
) -> Result<ArrayD<U::Elem>> {
    let shape = Shape::from(x.shape());
    let reduction = Reduction::new(&shape, axes)?;
    check_upstream(upstream, &reduction.result_shape())?;
    if x.is_empty() {
        return Ok(dense_array(&shape, Vec::new()));
    }
    check_result::<U::Elem>(&shape, dense_bytes(x))?;
    if reduction.extent() == 1 {
        // Each element is a group by itself: what groups find, larger than small elements and gradients, need not be
        // kept.
        return Ok(dense_array(&shape, share_singly(op, x.iter().copied(), alloc::owned(all_cells(upstream)?)?)?));
    }
    let found = reduce_lanes(x, op, &reduction)?;
    let found = found.as_slice().expect("a new array lies in order");
    let gradients = all_cells(upstream)?;
    give_back(x.view().into_dyn(), &reduction, |row, items, Place { cell, within, is_lane }| match is_lane {
        true => op.give(row, items, |at| (&found[cell], within + at, gradients[cell])),
        false => op.give(row, items, |at| (&found[cell + at], within, gradients[cell + at])),
    })
}

/// The upstream gradient handed back to the elements of each cell, as it is.
pub(crate) fn spread<S: Data<Elem: Element>, D: Dimension, U: Operand>(
    x: &ArrayBase<S, D>,
    upstream: &U,
    axes: &Axes,
) -> Result<ArrayD<U::Elem>> {
    let shape = Shape::from(x.shape());
    let reduction = Reduction::new(&shape, axes)?;
    check_upstream(upstream, &reduction.result_shape())?;
    check_result::<U::Elem>(&shape, dense_bytes(x))?;
    if x.is_empty() {
        return Ok(dense_array(&shape, Vec::new()));
    }
    let gradients = all_cells(upstream)?;
    give_back(x.view().into_dyn(), &reduction, |row, received, Place { cell, is_lane, .. }| match is_lane {
        true => received.fill(gradients[cell]),
        false => received.copy_from_slice(&gradients[cell..][..row.len()]),
    })
}

/// The gradients of all cells, in row-major order; there are no more than elements of an array that is there.
pub(crate) fn all_cells<U: Operand>(upstream: &U) -> Allocated<Cow<'_, [U::Elem]>> {
    match upstream.lookup(usize::MAX)? {
        Some(Lookup::Whole(gradients)) => Ok(gradients),
        _ => unreachable!("of no more cells than look-ups all are there"),
    }
}
