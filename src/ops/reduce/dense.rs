//! The drivers of reductions of dense arrays.

use std::iter::repeat_n;
use std::slice;

use ndarray::{ArrayD, ArrayViewD, Axis};

use super::lanes::{
    Finish, LanesFn, Make, Order, Place, check_lane, give_back, labelled_gradients, map_distinct_lanes,
    map_labelled_lanes, repeat_cells, visit_rows,
};
use super::{check_countable, check_upstream, error_at, rejection};
use crate::base::alloc;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::{check_result, copied, dense_array, dense_bytes, once_on_each};
use crate::element::Element;
use crate::kernels::fold::{Fold, fold_runs, fold_until_settled};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{
    Gradient, GradientInputs, Group, GroupGradient, Holistic, clear_zero_gradients, next_of, reduce_all_runs,
    share_singly,
};
use crate::kernels::op::Outcomes;
use crate::kernels::spread::without_signs;
use crate::ops::operand::{ErasedOperand, all_elements};
use crate::plan::reduction::Reduction;

/// Computes a fold over some axes.
pub(crate) fn fold<T: Element, F: Fold<T>>(x: &ArrayViewD<'_, T>, op: F, axes: &Axes) -> Result<ArrayD<F::Out>> {
    let reduction = Reduction::new(&Shape::from(x.shape()), axes)?;
    check_result::<F::Out>(&reduction.result_shape(), dense_bytes(x))?;
    if reduction.grouping().is_some() {
        let of_group = |(): &mut (), group: &[T]| {
            let mut state = op.start();
            op.slice(&mut state, group);
            op.finish(&state, group.len() as u128)
        };
        return by_labels(x.view(), op.name(), &reduction, F::Out::ZERO, &|| (), &of_group);
    }
    // Elements that an axis repeats are read once: a broadcast view may have too many positions to visit.
    let once = once_on_each(x.view(), 0..x.ndim());
    let distinct = Reduction::new(&Shape::from(once.shape()), axes)?;
    let times = reduction.extent().checked_div(distinct.extent()).unwrap_or(0);
    let cells = match size_of::<F::State>() > STATE_BYTES {
        true => fold_lanes(once, op, &reduction, &distinct, times)?,
        false => fold_rows(once, op, &reduction, &distinct, times)?,
    };
    Ok(repeat_cells(cells, distinct.kept_lengths().to_vec(), &reduction)?)
}

/// Maximum size of an accumulator that is held per output element; a larger accumulator is held per thread.
const STATE_BYTES: usize = 32;

/// Computes all output elements of a view without repetitions; each of its elements counts `times` times.
fn fold_rows<T: Element, F: Fold<T>>(
    once: ArrayViewD<'_, T>,
    op: F,
    reduction: &Reduction,
    distinct: &Reduction,
    times: u128,
) -> Result<Vec<F::Out>> {
    let lengths = distinct.kept_lengths();
    let mut states = alloc::collect(repeat_n(op.start(), lengths.iter().product()))?;
    visit_rows(once, distinct, |row, cell, step| match row.as_slice() {
        _ if times > 1 => row.iter().enumerate().for_each(|(at, &value)| {
            op.repeat(&mut states[cell + at * step], value, times);
        }),
        _ if step > 0 => row.iter().zip(states[cell..].iter_mut().step_by(step)).for_each(|(&value, state)| {
            op.step(state, value);
        }),
        _ if op.is_settled(&states[cell]) => {}
        Some(row) => op.slice(&mut states[cell], row),
        None => fold_until_settled(op, &mut states[cell], row.iter().copied()),
    });
    let finish = |(cell, state)| {
        op.finish(state, reduction.extent()).map_err(|fault| error_at(op.name(), fault.of(cell), reduction, lengths))
    };
    alloc::try_collect(states.iter().enumerate().map(finish))
}

/// Computes the same as [`fold_rows`], lane by lane.
fn fold_lanes<T: Element, F: Fold<T>>(
    once: ArrayViewD<'_, T>,
    op: F,
    reduction: &Reduction,
    distinct: &Reduction,
    times: u128,
) -> Result<Vec<F::Out>> {
    check_lane(&once, distinct)?;
    let of_lane = |(): &mut (), lane: &[T]| {
        let mut state = op.start();
        match times {
            0 | 1 => op.slice(&mut state, lane),
            _ => lane.iter().for_each(|&value| op.repeat(&mut state, value, times)),
        }
        op.finish(&state, reduction.extent())
    };
    let at_once: LanesFn<'_, T, F::Out> = &|offsets, values| fold_runs(op, offsets, values, &Unstored::none());
    map_distinct_lanes(once, distinct, Order::Any, F::Out::ZERO, &|| (), &of_lane, (times == 1).then_some(at_once))
        .map_err(|failure| error_at(op.name(), failure, reduction, distinct.kept_lengths()))
}

/// Computes a holistic reduction over some axes.
pub(crate) fn holistic<T: Element, H: Holistic<T>>(
    x: &ArrayViewD<'_, T>,
    op: H,
    axes: &Axes,
) -> Result<ArrayD<H::Out>> {
    reduce_lanes(x, op, &Reduction::new(&Shape::from(x.shape()), axes)?)
}

fn reduce_lanes<T: Element, H: Holistic<T>>(
    x: &ArrayViewD<'_, T>,
    op: H,
    reduction: &Reduction,
) -> Result<ArrayD<H::Out>> {
    check_lane(x, reduction)?;
    let order = if op.needs_positions() { Order::RowMajor } else { Order::Any };
    if op.numbers_positions() {
        check_countable(op.name(), reduction)?;
    }
    let shape = reduction.result_shape();
    check_result::<H::Out>(&shape, dense_bytes(x))?;
    // Lanes that a broadcast view repeats are reduced once.
    let once = once_on_each(x.view(), reduction.kept().iter().copied());
    let lengths: Vec<usize> = reduction.kept().iter().map(|&axis| once.len_of(Axis(axis))).collect();
    let of = |scratch: &mut H::Scratch, lane: &[T]| op.of(&Group::of_slice(lane), scratch);
    let unseen = op.of_no_entry().map_err(|fault| rejection(op.name(), fault, reduction, None))?;
    if reduction.grouping().is_some() {
        return by_labels(x.view(), op.name(), reduction, unseen, &|| op.scratch(), &of);
    }
    let extent = reduction.extent() as usize;
    let at_once: LanesFn<'_, T, H::Out> = &|offsets, values| {
        let position = |entry| (entry % extent) as u128;
        reduce_all_runs(op, offsets, values, &Unstored::none(), &position, unseen)
    };
    let at_once = op.has_interleaved().then_some(at_once);
    let cells = map_distinct_lanes(once, reduction, order, unseen, &|| op.scratch(), &of, at_once)
        .map_err(|failure| error_at(op.name(), failure, reduction, &lengths))?;
    Ok(repeat_cells(cells, lengths, reduction)?)
}

/// Computes the groups of a reduction by labels; the elements of a group are consecutive, in row-major order.
fn by_labels<T: Element, S, U: Copy + Send + Sync>(
    x: ArrayViewD<'_, T>,
    operation: &'static str,
    reduction: &Reduction,
    unseen: U,
    scratch: &Make<'_, S>,
    of: &Finish<'_, T, S, U>,
) -> Result<ArrayD<U>> {
    let once = once_on_each(x, reduction.kept().iter().copied().filter(|axis| !reduction.reduced().contains(axis)));
    check_result::<T>(&once.shape().into(), dense_bytes(&once))?;
    let (cells, lengths) = map_labelled_lanes(once, reduction, unseen, scratch, of)
        .map_err(|failure| error_at(operation, failure, reduction, reduction.kept_lengths()))?;
    Ok(repeat_cells(cells, lengths, reduction)?)
}

/// Returns the shape of a gradient, and its reduction; rejects an upstream gradient whose shape differs from the shape
/// of the result.
fn backward_of<T: Element, G: Element>(
    x: &ArrayViewD<'_, T>,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<(Shape, Reduction)> {
    let shape = Shape::from(x.shape());
    let reduction = Reduction::new(&shape, axes)?;
    check_upstream(upstream, &reduction.result_shape())?;
    check_result::<G>(&shape, dense_bytes(x))?;
    Ok((shape, reduction))
}

/// Computes the gradient of a holistic reduction.
pub(crate) fn gradient<T: Element, G: Element, H: Gradient<T, G>>(
    x: &ArrayViewD<'_, T>,
    op: H,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<ArrayD<G>> {
    let (shape, reduction) = backward_of(x, upstream, axes)?;
    if x.is_empty() {
        return Ok(dense_array(&shape, Vec::new()));
    }
    if reduction.extent() == 1 && reduction.grouping().is_none() {
        // Each element is a group of its own. The findings of such groups are not kept, because they are larger than
        // small elements and gradients.
        let gradients = alloc::owned(all_elements(upstream)?)?;
        let shared = share_singly(op, &mut next_of(x.iter().copied()), gradients)
            .map_err(|failure| rejection(op.name(), failure.fault, &reduction, None))?;
        return Ok(dense_array(&shape, shared));
    }
    let found = reduce_lanes(x, op, &reduction)?;
    let found = found.as_slice().expect("a new array lies in order");
    let gradients = all_elements(upstream)?;
    let in_group =
        |cell: usize, within| GradientInputs::InGroup { found: &found[cell], gradient: gradients[cell], within };
    if reduction.grouping().is_some() {
        return labelled_gradients(x.view(), &reduction, &mut |value, item, cell, within| {
            if gradients[cell].is_truthy() {
                op.write_gradients(&[value], slice::from_mut(item), &in_group(cell, within));
            }
        });
    }
    give_back(x.view(), &reduction, |row, items, Place { cell, within, is_lane }| match is_lane {
        true if !gradients[cell].is_truthy() => {}
        true => op.write_gradients(row, items, &in_group(cell, within)),
        false => {
            op.write_gradients(
                row,
                items,
                &GradientInputs::AcrossGroups { found: &found[cell..], gradients: &gradients[cell..], within },
            );
            clear_zero_gradients(&gradients[cell..], items);
        }
    })
}

/// Computes [`group_gradient`] by labels. The elements of each group are gathered, and the gradients are scattered
/// back.
fn group_gradient_by_labels<T: Element, G: Element, A: GroupGradient<T, G>>(
    x: ArrayViewD<'_, T>,
    op: A,
    reduction: &Reduction,
    gradients: &[G],
) -> Result<ArrayD<G>> {
    let mut members = alloc::with_capacity(x.len())?;
    labelled_gradients(x.view(), reduction, &mut |value, _: &mut G, cell, within| {
        members.push((cell, within, members.len(), value));
    })?;
    members.sort_unstable_by_key(|&(cell, within, ..)| (cell, within));
    let mut slots = alloc::zeros(x.len())?;
    for group in members.chunk_by(|a, b| a.0 == b.0).filter(|group| gradients[group[0].0].is_truthy()) {
        let values = alloc::collect(group.iter().map(|member| member.3))?;
        let mut received = alloc::zeros(group.len())?;
        op.write_gradients(&Group::of_slice(&values), gradients[group[0].0], &mut received)
            .map_err(|fault| error_at(op.name(), fault.of(group[0].0), reduction, reduction.kept_lengths()))?;
        group.iter().zip(received).for_each(|(member, received)| slots[member.2] = received);
    }
    Ok(dense_array(&x.shape().into(), slots))
}

/// Computes the gradient of a reduction in which each gradient depends on all elements of the group.
pub(crate) fn group_gradient<T: Element, G: Element, A: GroupGradient<T, G>>(
    x: &ArrayViewD<'_, T>,
    op: A,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<ArrayD<G>> {
    let (shape, reduction) = backward_of(x, upstream, axes)?;
    if x.is_empty() {
        return Ok(dense_array(&shape, Vec::new()));
    }
    if reduction.grouping().is_some() {
        return group_gradient_by_labels(x.view(), op, &reduction, &all_elements(upstream)?);
    }
    let lanes_last = [reduction.kept(), reduction.reduced()].concat();
    let lanes = x.view().permuted_axes(&lanes_last[..]);
    let values = copied(&lanes)?;
    let received = lane_gradients(op, &values, &all_elements(upstream)?, reduction.extent() as usize)
        .map_err(|failure| error_at(op.name(), failure, &reduction, reduction.kept_lengths()))?;
    let mut places = vec![0; lanes_last.len()];
    lanes_last.iter().enumerate().for_each(|(place, &axis)| places[axis] = place);
    let received = dense_array(&lanes.shape().into(), received).permuted_axes(places);
    Ok(dense_array(&shape, copied(&received.view())?))
}

/// Computes the gradients that the elements of consecutive lanes of one length receive.
fn lane_gradients<T: Element, G: Element, A: GroupGradient<T, G>>(
    op: A,
    values: &[T],
    gradients: &[G],
    extent: usize,
) -> Outcomes<Vec<G>> {
    let mut received = alloc::zeros(values.len())?;
    let ends = threads::map_parts(values.len(), 5000, 0, |part| part.end / extent * extent);
    let done = threads::map_slices(&mut received, &ends, |part, received| {
        let first = (ends[part] - received.len()) / extent;
        received.chunks_mut(extent).enumerate().try_for_each(|(lane, received)| {
            let cell = first + lane;
            if !gradients[cell].is_truthy() {
                return Ok(());
            }
            let group = Group::of_slice(&values[cell * extent..(cell + 1) * extent]);
            op.write_gradients(&group, gradients[cell], received).map_err(|fault| fault.of(cell))
        })
    });
    done.into_iter().collect::<Outcomes<()>>().map(|()| received)
}

/// Returns for each element the upstream gradient of its output element, unchanged except for the sign of zero.
pub(crate) fn spread<T: Element, G: Element>(
    x: &ArrayViewD<'_, T>,
    upstream: &ErasedOperand<'_, G>,
    axes: &Axes,
) -> Result<ArrayD<G>> {
    let (shape, reduction) = backward_of(x, upstream, axes)?;
    if x.is_empty() {
        return Ok(dense_array(&shape, Vec::new()));
    }
    let gradients = without_signs(alloc::owned(all_elements(upstream)?)?);
    if reduction.grouping().is_some() {
        return labelled_gradients(x.view(), &reduction, &mut |_, item, cell, _| *item = gradients[cell]);
    }
    give_back(x.view(), &reduction, |row, received, Place { cell, is_lane, .. }| match is_lane {
        true => received.fill(gradients[cell]),
        false => received.copy_from_slice(&gradients[cell..][..row.len()]),
    })
}
