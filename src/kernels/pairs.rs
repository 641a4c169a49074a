//! Products of all pairs of elements of two lists, and their gradients.

use crate::base::alloc::Allocated;
use crate::base::threads;
use crate::element::{Dot, Ring};
use crate::kernels::dots::{NoDot, PartialSums};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The pair of each product: pair `p` is the left element `p / count` and the right element `p % count`.
///
/// `None` means all pairs in increasing order.
pub(crate) type Numbered<'a> = Option<&'a [usize]>;

/// Returns the product of each pair; the error is the first product that does not fit in the type.
pub(crate) fn products<T: Ring>(left: &[T], right: &[T], numbers: Numbered<'_>) -> Result<Vec<T>, NoDot> {
    let first = AtomicUsize::new(usize::MAX);
    let found = threads::filled(left.len() * right.len(), 2000, |range, found: &mut [T]| {
        for (found, at) in found.iter_mut().zip(range) {
            let number = numbers.map_or(at, |numbers| numbers[at]);
            match T::Dot::NOTHING.plus(left[number / right.len()], right[number % right.len()]).value() {
                Some(product) => *found = product,
                None => {
                    // Each part stops at its first failure, and the minimum over all parts does not depend on their
                    // number.
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

/// Returns the gradient of each left element: the sum of pair gradients times right elements.
///
/// `gradients` is in pair order. `positions` determines the partial sum, out of eight, of each product. Pairs with a
/// zero gradient are skipped.
pub(crate) fn of_left<T: Ring>(gradients: &[T], right: &[T], positions: &[usize]) -> Allocated<Vec<T>> {
    let count = gradients.len().checked_div(right.len()).unwrap_or(0);
    threads::map_heavy(
        count,
        gradients.len(),
        T::ZERO,
        || (),
        |(), row| {
            // The position of the right element, not its index, determines the partial sum.
            let mut dot = PartialSums::new();
            let gradients = &gradients[row * right.len()..];
            let pairs = gradients.iter().zip(right).zip(positions).filter(|((g, _), _)| g.is_truthy());
            pairs.for_each(|((&g, &y), &position)| dot.add(position, g, y));
            dot.total().unwrap_or(T::ZERO)
        },
    )
}

/// Returns the gradient of each right element: the sum of left elements times pair gradients, in order.
///
/// Pairs with a zero gradient are skipped.
pub(crate) fn of_right<T: Ring>(gradients: &[T], left: &[T], count: usize) -> Allocated<Vec<T>> {
    threads::map_heavy(
        count,
        gradients.len(),
        T::ZERO,
        || (),
        |(), column| {
            // Pairs are row-major, so every `count`-th gradient from `column` on belongs to this right element.
            let gradients = gradients.iter().skip(column).step_by(count);
            let plus = |sum: T::Dot, (&x, &g): (&T, &T)| sum.plus(x, g);
            let pairs = left.iter().zip(gradients).filter(|(_, g)| g.is_truthy());
            pairs.fold(T::Dot::NOTHING, plus).value().unwrap_or(T::ZERO)
        },
    )
}
