//! Products of an operand with dense factors along its axes, in one walk over its elements.

use std::borrow::Cow;

use super::listed::Listed;
use super::matrix::rejection;
use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::shape::{Shape, saturating_product, unravel};
use crate::element::{Dot, Number as AnyNumber, Ring};
use crate::kernels::dots::{DenseRows, Factor, dots, dots_without_zeros};
use crate::kernels::row_products::{RowProducts, Upstream, sums_of_rows, sums_without_zeros};
use crate::kernels::zip::all_finite;

/// A dense factor: one row per position of some axes, which are in increasing order.
pub(super) struct AxisFactor<'a, T: Clone> {
    pub(super) axes: Vec<usize>,
    pub(super) items: Cow<'a, [T]>,
}

/// The kind of factors that an element is multiplied by; the maximum over its factors counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FactorClass {
    /// Only finite factors.
    Finite,
    /// A factor that is not finite.
    NonFinite,
    /// An upstream gradient of zero: the product is skipped.
    Skipped,
}

/// Returns whether every product of finite items, one from each list, is finite.
fn is_product_finite<T: Ring>(lists: &[&[T]]) -> bool {
    let magnitude = |item: &T| match item.to_number() {
        AnyNumber::Integer(integer) => integer.unsigned_abs() as f64,
        AnyNumber::Real(real) => real.abs(),
        AnyNumber::Complex(re, im) => 2.0 * re.abs().max(im.abs()),
    };
    let largest = |items: &&[T]| items.iter().map(magnitude).fold(1.0, f64::max);
    // The factor 4 covers the rounding of each product, and complex products, which are sums of two products.
    let bound = lists.iter().map(largest).product::<f64>() * 4.0;
    bound.is_finite() && T::from_number(AnyNumber::Real(bound)).is_some()
}

/// A function that writes the flat indices of consecutive elements within some axes, from a given element on.
type Number<'a> = Box<dyn Fn(usize, &mut [usize]) + Sync + 'a>;

/// An operand, and the common properties of its factors.
pub(super) struct Contracted<'a, T: Clone> {
    pub(super) operation: &'static str,
    pub(super) x: &'a Listed<'a, T>,
    /// True if unstored positions count, as zeros.
    pub(super) has_zeros: bool,
    /// The length of the rows.
    pub(super) width: usize,
    /// The index of the factor that is an upstream gradient. Products with a zero of the upstream gradient are skipped.
    pub(super) upstream: Option<usize>,
}

impl<T: Ring> Contracted<'_, T> {
    fn lengths(&self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|&axis| self.x.shape[axis]).collect()
    }

    /// Returns a function that writes the flat indices of elements within some axes.
    fn number<'b>(&'b self, axes: &'b [usize]) -> Number<'b> {
        let lengths = self.lengths(axes);
        Box::new(move |start, numbers| self.x.place(axes, &lengths, start, numbers))
    }

    /// Returns a function per factor that writes the row of each element.
    fn numbers<'b>(&'b self, factors: &'b [AxisFactor<'_, T>]) -> Vec<Number<'b>> {
        factors.iter().map(|factor| self.number(&factor.axes)).collect()
    }

    fn with_numbers<'b>(&self, factors: &'b [AxisFactor<'_, T>], numbers: &'b [Number<'b>]) -> Vec<Factor<'b, T>> {
        let rows = |factor: &'b AxisFactor<'_, T>| DenseRows { items: &factor.items, width: self.width };
        factors.iter().zip(numbers).map(|(factor, number)| (rows(factor), &**number as _)).collect()
    }

    /// Returns the index of the upstream gradient if skipping its zeros makes a difference. Skipping makes a difference
    /// if another item is not finite, or if a product of the other items may be infinite.
    fn checked_upstream(&self, factors: &[AxisFactor<'_, T>], counts_values: bool) -> Option<usize> {
        let is_finite = |upstream: usize| {
            let others = factors.iter().enumerate().filter(|(at, _)| *at != upstream).map(|(_, factor)| &*factor.items);
            let others: Vec<&[T]> = others.chain(counts_values.then_some(&*self.x.values)).collect();
            others.iter().all(|items| all_finite(items)) && (others.len() < 2 || is_product_finite(&others))
        };
        self.upstream.filter(|&upstream| !is_finite(upstream))
    }

    /// Computes the sums of all elements times their rows of the factors, from left to right, for each position of the
    /// axes `into`. Each axis is in `into` or belongs to a factor.
    pub(super) fn sums(&self, factors: &[AxisFactor<'_, T>], into: &[usize]) -> Result<Vec<T>> {
        let numbers = self.numbers(factors);
        let listed = self.with_numbers(factors, &numbers);
        let lengths = self.lengths(into);
        let walk = RowProducts {
            values: &self.x.values,
            factors: &listed,
            into: &self.number(into),
            in_order: into.iter().enumerate().all(|(at, &axis)| at == axis),
            rows: lengths.iter().product(),
            width: self.width,
        };
        let coords_of = |at: usize| {
            let mut coords = vec![0; lengths.len() + 1];
            let shape: Shape = lengths.iter().copied().chain([self.width]).collect();
            unravel(at, &shape, &mut coords);
            Some(coords)
        };
        let sums = match self.checked_upstream(factors, true) {
            Some(upstream) => sums_without_zeros(&walk, Upstream::Factor(upstream)),
            None => sums_of_rows(&walk),
        };
        let mut sums = sums.map_err(|error| rejection::<T>(self.operation, error, coords_of))?;
        if self.has_zeros {
            self.meet_zeros(factors, into, &mut sums)?;
        }
        Ok(sums)
    }

    /// Sets a sum to NaN if a factor that is not finite is multiplied by an unstored zero.
    fn meet_zeros(&self, factors: &[AxisFactor<'_, T>], into: &[usize], sums: &mut [T]) -> Result<()> {
        if factors.iter().all(|factor| all_finite(&factor.items)) {
            return Ok(());
        }
        for column in 0..self.width {
            let item = |factor: &AxisFactor<'_, T>, row: usize| factor.items[row * self.width + column];
            let of_column = |factor: &AxisFactor<'_, T>| {
                (column..factor.items.len()).step_by(self.width).map(|at| factor.items[at]).collect()
            };
            let columns: Vec<Vec<T>> = factors.iter().map(of_column).collect();
            let Some(&wild) = columns.iter().flatten().find(|item| !item.isfinite()) else { continue };
            let is_skipped = |factor: usize, item: T| Some(factor) == self.upstream && !item.is_truthy();
            let count = |is_counted: &dyn Fn(T) -> bool| {
                let of_factor = |(factor, column): (usize, &Vec<T>)| {
                    column.iter().filter(|&&item| is_counted(item) && !is_skipped(factor, item)).count()
                };
                saturating_product(&columns.iter().enumerate().map(of_factor).collect::<Vec<_>>())
            };
            let wild_positions = count(&|_| true) - count(&T::isfinite);
            let meets = |factor: usize, row: usize| match item(&factors[factor], row) {
                zero if is_skipped(factor, zero) => FactorClass::Skipped,
                item if item.isfinite() => FactorClass::Finite,
                _ => FactorClass::NonFinite,
            };
            let stored = self.count_stored(factors, into, &meets)?;
            let nan = T::Dot::NOTHING.plus(T::ZERO, wild).value().unwrap_or(T::ZERO);
            for (sum, &stored) in sums[column..].iter_mut().step_by(self.width).zip(&stored) {
                if (stored as u128) < wild_positions {
                    *sum = nan;
                }
            }
        }
        Ok(())
    }

    /// Counts for each sum the stored elements that are multiplied by a factor that is not finite and are not skipped.
    fn count_stored(
        &self,
        factors: &[AxisFactor<'_, T>],
        into: &[usize],
        meets: &dyn Fn(usize, usize) -> FactorClass,
    ) -> Allocated<Vec<usize>> {
        const BLOCK: usize = 256;
        let into_lengths = self.lengths(into);
        let mut counts = alloc::zeros(into_lengths.iter().product())?;
        let (mut rows, mut numbers) = ([0; BLOCK], [0; BLOCK]);
        for start in (0..self.x.values.len()).step_by(BLOCK) {
            let count = BLOCK.min(self.x.values.len() - start);
            let mut met = [FactorClass::Finite; BLOCK];
            for (at, factor) in factors.iter().enumerate() {
                self.x.place(&factor.axes, &self.lengths(&factor.axes), start, &mut numbers[..count]);
                met.iter_mut().zip(&numbers[..count]).for_each(|(met, &row)| *met = meets(at, row).max(*met));
            }
            self.x.place(into, &into_lengths, start, &mut rows[..count]);
            rows[..count]
                .iter()
                .zip(met)
                .for_each(|(&row, met)| counts[row] += usize::from(met == FactorClass::NonFinite));
        }
        Ok(counts)
    }

    /// Computes for each element the dot product of its rows of the factors.
    pub(super) fn dots(&self, factors: &[AxisFactor<'_, T>]) -> Result<Vec<T>> {
        let numbers = self.numbers(factors);
        let listed = self.with_numbers(factors, &numbers);
        let count = self.x.values.len();
        let found = match self.checked_upstream(factors, false) {
            Some(upstream) => dots_without_zeros(count, &listed, upstream),
            None => dots(count, &listed),
        };
        found.map_err(|error| rejection::<T>(self.operation, error, |_| None))
    }
}
