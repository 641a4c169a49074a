//! The products of each element of one list with each of another, and their gradients.

use crate::base::alloc::Allocated;
use crate::base::threads;
use crate::element::{Dot, Ring};
use crate::kernels::dots::{Lanes, NoDot};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Which pair each product is of: pair `number` is the element `number / count` on the left, `number % count` on the
/// right. In the order of the numbers if there is no list.
pub(crate) type Numbered<'a> = Option<&'a [usize]>;

/// The product of each pair; the first that does not fit is told.
pub(crate) fn products<T: Ring>(left: &[T], right: &[T], numbers: Numbered<'_>) -> Result<Vec<T>, NoDot> {
    let first = AtomicUsize::new(usize::MAX);
    let found = threads::filled(left.len() * right.len(), 2000, |range, found: &mut [T]| {
        for (found, at) in found.iter_mut().zip(range) {
            let number = numbers.map_or(at, |numbers| numbers[at]);
            match T::Dot::NOTHING.plus(left[number / right.len()], right[number % right.len()]).value() {
                Some(product) => *found = product,
                None => {
                    first.fetch_min(at, Relaxed);
                    return;
                }
            }
        }
    })?;
    match first.into_inner() {
        usize::MAX => Ok(found),
        at => Err(NoDot::Overflow(at)),
    }
}

/// What each element on the left receives of the gradients of its pairs, which are in the order of their numbers, times
/// the elements on the right: in eight lanes by the positions of these. A pair whose gradient is zero is left out.
pub(crate) fn of_left<T: Ring>(gradients: &[T], right: &[T], positions: &[usize]) -> Allocated<Vec<T>> {
    let count = gradients.len().checked_div(right.len()).unwrap_or(0);
    threads::map_heavy(
        count,
        gradients.len(),
        T::ZERO,
        || (),
        |(), row| {
            let mut dot = Lanes::new();
            let gradients = &gradients[row * right.len()..];
            let pairs = gradients.iter().zip(right).zip(positions).filter(|((g, _), _)| g.is_truthy());
            pairs.for_each(|((&g, &y), &position)| dot.add(position, g, y));
            dot.total().unwrap_or(T::ZERO)
        },
    )
}

/// The gradients of the elements on the right: the elements on the left times the gradients, in their order. A pair whose
/// gradient is zero is left out.
pub(crate) fn of_right<T: Ring>(gradients: &[T], left: &[T], count: usize) -> Allocated<Vec<T>> {
    threads::map_heavy(
        count,
        gradients.len(),
        T::ZERO,
        || (),
        |(), column| {
            let gradients = gradients.iter().skip(column).step_by(count);
            let plus = |sum: T::Dot, (&x, &g): (&T, &T)| sum.plus(x, g);
            let pairs = left.iter().zip(gradients).filter(|(_, g)| g.is_truthy());
            pairs.fold(T::Dot::NOTHING, plus).value().unwrap_or(T::ZERO)
        },
    )
}
