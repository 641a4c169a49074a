//! Softmax and log-softmax of groups, and their gradients, in `f64`.

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::math::{exp, ln};
use crate::element::{Accumulator, Ring};

/// The form of the result: weights that sum to 1, or their logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Softmax {
    Shares,
    Logarithms,
}

/// Replaces the numbers of each group by their results, or by their gradients if `gradients` are given.
///
/// Groups start at `starts`.
pub(crate) fn in_groups(
    form: Softmax,
    numbers: &mut [f64],
    gradients: Option<&[f64]>,
    starts: &[usize],
) -> Allocated<()> {
    let group_from = |number: usize| starts.partition_point(|&start| start < number);
    let parts = threads::map_parts(numbers.len(), 20_000, 0, |part| group_from(part.start)..group_from(part.end));
    let ends: Vec<usize> = parts.iter().map(|part| starts[part.end]).collect();
    let done = threads::map_slices(numbers, &ends, |part, mut numbers| {
        // Parts end at group boundaries, so each group belongs to one thread.
        let mut scratch = Vec::new();
        for group in parts[part].clone() {
            let range = starts[group]..starts[group + 1];
            let (own, others) = std::mem::take(&mut numbers).split_at_mut(range.len());
            match gradients {
                None => forward(form, own, &mut scratch)?,
                Some(gradients) => backward(form, own, &gradients[range], &mut scratch)?,
            }
            numbers = others;
        }
        Ok(())
    });
    done.into_iter().collect()
}

/// Subtracts the maximum from the numbers, writes their exponentials to `scratch`, and returns the exact sum.
fn exponentials(numbers: &mut [f64], scratch: &mut Vec<f64>) -> Allocated<f64> {
    // `f64::max` ignores NaN, but the sum is still NaN if a number is NaN.
    let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Differences are at most 0 or NaN, so the exponentials do not overflow.
    numbers.iter_mut().for_each(|number| *number -= max);
    scratch.clear();
    alloc::reserve(scratch, numbers.len())?;
    scratch.extend(numbers.iter().map(|&number| exp(number)));
    Ok(exact_sum(scratch))
}

fn exact_sum(numbers: &[f64]) -> f64 {
    let mut total = <f64 as Ring>::Total::default();
    total.add_slice(numbers);
    f64::mean_of(&total, 1)
}

fn forward(form: Softmax, numbers: &mut [f64], scratch: &mut Vec<f64>) -> Allocated<()> {
    let sum = exponentials(numbers, scratch)?;
    match form {
        Softmax::Shares => numbers.iter_mut().zip(scratch).for_each(|(number, exp)| *number = *exp / sum),
        Softmax::Logarithms => {
            let log = ln(sum);
            numbers.iter_mut().for_each(|number| *number -= log);
        }
    }
    Ok(())
}

fn backward(form: Softmax, numbers: &mut [f64], gradients: &[f64], scratch: &mut Vec<f64>) -> Allocated<()> {
    if gradients.iter().all(|&g| g == 0.0) {
        numbers.fill(0.0);
        return Ok(());
    }
    let sum = exponentials(numbers, scratch)?;
    numbers.iter_mut().zip(&*scratch).for_each(|(share, exp)| *share = exp / sum);
    match form {
        // The gradient is share · (g - mean), where `mean` is the sum of share · g. Terms with g = 0 are 0, even if the
        // share is NaN.
        Softmax::Shares => {
            let term = |share: f64, g: f64| if g == 0.0 { 0.0 } else { share * g };
            scratch.iter_mut().zip(&*numbers).zip(gradients).for_each(|((slot, &share), &g)| *slot = term(share, g));
            let mean = exact_sum(scratch);
            numbers.iter_mut().zip(gradients).for_each(|(share, g)| *share *= g - mean);
        }
        Softmax::Logarithms => {
            // The gradient is g - share · (sum of g).
            let sum = exact_sum(gradients);
            numbers.iter_mut().zip(gradients).for_each(|(share, g)| *share = g - *share * sum);
        }
    }
    Ok(())
}
