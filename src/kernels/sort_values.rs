//! Sorting of the values of lanes.

use crate::base::alloc;
use crate::base::threads;
use crate::element::{Element, Real, without_sign};
use crate::kernels::holistic::Group;
use crate::kernels::op::Outcomes;
use crate::kernels::ranked::nan_last;

/// The longest lane that is sorted by counting. Longer lanes take less time with a comparison sort.
const SHORT: usize = 20;

/// Writes the values of a lane in increasing order. NaNs come last, and equal values keep their order.
pub(crate) fn sort<T: Real>(lane: &[T], sorted: &mut [T]) {
    if lane.len() <= SHORT && !lane.iter().any(|value| value.isnan()) {
        return sort_by_counting(lane, sorted);
    }
    sorted.copy_from_slice(lane);
    let count = numbers_first(sorted);
    let (numbers, nans) = sorted.split_at_mut(count);
    // Equal values have equal bits, except zeros and NaNs. These are written again in the order of the lane.
    restore_order(lane, nans, T::isnan);
    let start = numbers.partition_point(|&value| value < T::ZERO);
    let end = numbers.partition_point(|&value| value <= T::ZERO);
    restore_order(lane, &mut numbers[start..end], |value| value == T::ZERO);
}

/// Sorts values in increasing order, with NaNs last. Returns the number of values that are not NaN.
///
/// Values that are equal in this order must be bitwise identical, or the caller does not depend on their order.
pub(crate) fn numbers_first<T: Real>(values: &mut [T]) -> usize {
    let mut numbers = 0;
    for at in 0..values.len() {
        // The values before `numbers` are numbers, and the values from there to `at` are NaN.
        if !values[at].isnan() {
            values.swap(at, numbers);
            numbers += 1;
        }
    }
    // Without NaN, a comparison is one instruction. A comparison that also tests for NaN takes four times as long.
    threads::sort(&mut values[..numbers], |a, b| a.order(*b));
    numbers
}

/// Sorts a short lane of numbers. The index of a value is the number of values before it in the order.
///
/// All comparisons are counted without a branch, because branches of a short lane are mispredicted.
fn sort_by_counting<T: Real>(lane: &[T], sorted: &mut [T]) {
    for (at, &value) in lane.iter().enumerate() {
        let (before, others) = lane.split_at(at);
        let before = before.iter().map(|&other| usize::from(other <= value)).sum::<usize>();
        let others = others.iter().map(|&other| usize::from(other < value)).sum::<usize>();
        sorted[before + others] = value;
    }
}

/// Writes the values of a lane that pass a test, in the order of the lane.
fn restore_order<T: Real>(lane: &[T], run: &mut [T], is_of_run: impl Fn(T) -> bool) {
    if run.len() > 1 {
        let values = lane.iter().copied().filter(|&value| is_of_run(value));
        run.iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
    }
}

/// Writes the positions of the entries of a sorted lane whose unstored positions hold the fill.
///
/// `sorted` are the entries in increasing order. Entries below the fill are at the start of the lane, and entries above
/// the fill at its end. Entries equal to the fill keep their order among the unstored positions.
pub(crate) fn sorted_positions<T: Real>(lane: &Group<'_, T>, sorted: &[T], fill: T, positions: &mut [usize]) {
    let start = sorted.partition_point(|&value| nan_last(value, fill).is_lt());
    let end = sorted.partition_point(|&value| nan_last(value, fill).is_le());
    positions[..start].iter_mut().enumerate().for_each(|(at, position)| *position = at);
    if start < end {
        let is_equal = |&within: &usize| nan_last(lane.stored[within], fill).is_eq();
        let equal = (0..sorted.len()).filter(is_equal).enumerate();
        for (position, (equal_before, within)) in positions[start..end].iter_mut().zip(equal) {
            let unstored_before = (lane.position)(within) as usize - within;
            *position = start + equal_before + unstored_before;
        }
    }
    let last = lane.unstored.extent as usize;
    positions[end..].iter_mut().rev().enumerate().for_each(|(after, position)| *position = last - 1 - after);
}

/// Writes the gradients of a lane of elements and their upstream gradients: each element receives the gradient of its
/// rank.
pub(crate) fn gradients<T: Real, G: Element>(lane: &[(T, G)], gradients: &mut [G]) -> Outcomes<()> {
    let mut order = alloc::collect(0..lane.len())?;
    order.sort_unstable_by(|&a, &b| nan_last(lane[a].0, lane[b].0).then(a.cmp(&b)));
    for (at, &(_, gradient)) in order.into_iter().zip(lane) {
        gradients[at] = without_sign(gradient);
    }
    Ok(())
}
