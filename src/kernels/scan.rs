//! Running sums and running products of lanes.

use crate::base::alloc;
use crate::element::{Accumulator, Cell, Element, Float, ProductFactor, Ring};
use crate::kernels::op::{GroupError, Outcomes};

/// The exact sum of the elements so far.
///
/// Invariant: a `total`, if there is one, holds the sum. Otherwise `cell` holds the sum.
struct RunningSum<T: Ring> {
    cell: Cell<T>,
    total: Option<T::Total>,
}

impl<T: Ring> RunningSum<T> {
    /// Adds an element, and returns the sum, rounded once; `None` if the sum does not fit in its type.
    #[inline(always)]
    fn add(&mut self, value: T) -> Option<T::Sum> {
        let mut cell = self.cell;
        if self.total.is_none() && T::Total::add_to(&mut cell, value) {
            self.cell = cell;
            // A pair of floats may be exact without determining the rounded sum.
            return T::quick_sum_of(cell).or_else(|| T::sum_of(&total_of::<T>(cell)));
        }
        self.add_exactly(value)
    }

    /// Adds an element to the accumulator, which holds every sum.
    #[cold]
    fn add_exactly(&mut self, value: T) -> Option<T::Sum> {
        let cell = self.cell;
        let total = self.total.get_or_insert_with(|| total_of::<T>(cell));
        total.add_sparingly(value);
        T::sum_of(total)
    }
}

/// Returns an accumulator with the value of a small total.
fn total_of<T: Ring>(cell: Cell<T>) -> T::Total {
    let mut total = T::Total::default();
    total.add_cell(cell);
    total
}

/// Writes the sum of the first elements for each number of elements, exact and rounded once.
///
/// Each sum is the sum of a prefix as a real number. No sum therefore depends on how the sums before it were rounded.
pub(crate) fn sums<'a, T: Ring>(
    values: impl Iterator<Item = T>,
    slots: impl Iterator<Item = &'a mut T::Sum>,
) -> Outcomes<()> {
    let mut sum = RunningSum::<T> { cell: Cell::<T>::default(), total: None };
    write(values.map(|value| sum.add(value)), slots)
}

/// Writes the product of the first elements for each number of elements.
///
/// Each product rounds the significand once, with a separate exponent. A product out of range therefore does not change
/// the products after it.
pub(crate) fn products<'a, T: Ring>(
    values: impl Iterator<Item = T>,
    slots: impl Iterator<Item = &'a mut T::Sum>,
) -> Outcomes<()> {
    let mut product: Option<T::Factor> = None;
    let mut next = |value: T| {
        // A factor of 1 could change a complex zero or infinity, so the first product is the element itself.
        let factor = product.map_or(value.factor(), |product| product.times(value.factor()));
        product = Some(factor);
        T::product_of(factor)
    };
    write(values.map(&mut next), slots)
}

/// Writes results, or returns the index of the first element without a result.
fn write<'a, U: Element>(
    results: impl Iterator<Item = Option<U>>,
    slots: impl Iterator<Item = &'a mut U>,
) -> Outcomes<()> {
    for (at, (found, slot)) in results.zip(slots).enumerate() {
        *slot = found.ok_or_else(|| GroupError::Overflow(U::DTYPE.name()).of(at))?;
    }
    Ok(())
}

/// Writes the gradients of the running sums of a lane of elements and their upstream gradients: the sums from the end.
pub(crate) fn sum_gradients<T: Element, G: Float>(
    lane: &[(T, G)],
    gradients: &mut [G],
    is_ignored: fn(T) -> bool,
) -> Outcomes<()> {
    sums(lane.iter().rev().map(|&(_, g)| g), gradients.iter_mut().rev())?;
    clear(lane, gradients, is_ignored);
    Ok(())
}

/// Writes the gradients of the running products of a lane of elements and their upstream gradients.
///
/// With the product p of the elements before x, the gradient of x is p · s. The sum s of the element is the upstream
/// gradient plus the next element times its own sum. The step does not divide, so the rule includes zeros.
pub(crate) fn product_gradients<T: Float, G: Float>(
    lane: &[(T, G)],
    gradients: &mut [G],
    is_ignored: fn(T) -> bool,
) -> Outcomes<()> {
    gradients.fill(G::ZERO);
    // Elements after the last upstream gradient that is not zero reach no result, so they are not read.
    let Some(last) = lane.iter().rposition(|(_, g)| g.is_truthy()) else { return Ok(()) };
    let element = |at: usize| if is_ignored(lane[at].0) { 1.0 } else { lane[at].0.into() };
    let mut sums = alloc::zeros::<f64>(last + 1)?;
    let mut next = 0.0;
    for at in (0..=last).rev() {
        sums[at] = lane[at].1.into() + next;
        next = element(at) * sums[at];
    }
    let mut product = <f64 as Ring>::Factor::ONE;
    for (at, &sum) in sums.iter().enumerate() {
        gradients[at] = G::from_f64(f64::product_of(product.times(sum.factor())).unwrap_or(f64::NAN) + 0.0);
        product = product.times(element(at).factor());
    }
    clear(lane, gradients, is_ignored);
    Ok(())
}

/// Sets the gradients of ignored elements to zero.
fn clear<T: Element, G: Element>(lane: &[(T, G)], gradients: &mut [G], is_ignored: fn(T) -> bool) {
    let ignored = lane.iter().zip(gradients).filter(|((value, _), _)| is_ignored(*value));
    ignored.for_each(|(_, gradient)| *gradient = G::ZERO);
}
