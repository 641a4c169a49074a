//! The distinct values of an operand.

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::threads;
use crate::element::{Element, Real};
use crate::kernels::ranked::nan_last;
use crate::kernels::sort_values::numbers_first;
use crate::ops::op;
use crate::ops::operand::Operand;

/// Returns the distinct values of all positions in increasing order, with counts.
///
/// # Shapes
///
/// The results are a list of values and a list of counts, of the same length.
///
/// # Implicit values
///
/// The fill counts at every unstored position. For [`x.stored()`](crate::Tensor::stored), only stored entries count.
///
/// # NaN
///
/// All NaNs are one value, which is the last value of the list. Zeros of both signs are one value, `+0.0`.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `Uncountable`: the number of positions does not fit in `u64`;
/// - `OutOfMemory`: the allocation of the list of values fails.
///
/// # Complexity
///
/// O(n log n) for *n* stored entries and any number of unstored positions. In an array, *n* is the number of elements.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, unique};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![5.0, -1.0], 0.0)?;
/// assert_eq!(unique(&x)?, (vec![-1.0, 0.0, 5.0], vec![1, 4, 1]));
/// assert_eq!(unique(&x)?, unique(&x.to_dense()?)?);
/// assert_eq!(x.stored().unique()?, (vec![-1.0, 5.0], vec![1, 1]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.unique`](https://numpy.org/doc/stable/reference/generated/numpy.unique.html) with counts.
#[doc(alias = "value_counts")]
#[doc(alias = "distinct")]
#[doc(alias = "numpy.unique")]
#[doc(alias = "torch.unique")]
pub fn unique<X: Operand<Elem: Real>>(x: &X) -> Result<(Vec<X::Elem>, Vec<u64>)> {
    let x = x.erased();
    let (values, unstored) = (x.held_elements()?, x.implicit_with_count());
    let (fill, unstored) = unstored.map_or((X::Elem::ZERO, 0), |(fill, count)| (fill.as_implicit(), count));
    let size = u64::try_from(unstored.saturating_add(values.len() as u128));
    let unstored = size.map_err(|_| Error::Uncountable { operation: op::unique.name })? - values.len() as u64;
    let mut sorted = threads::map(&values, 500, X::Elem::as_implicit)?;
    // Values that are equal in this order are bitwise identical.
    numbers_first(&mut sorted);
    let place =
        if unstored > 0 { sorted.partition_point(|value| nan_last(*value, fill).is_lt()) } else { sorted.len() };
    let (mut distinct, mut counts) = (Vec::new(), Vec::new());
    let below = sorted[..place].iter().map(|&value| (value, 1));
    let counted = below.chain((unstored > 0).then_some((fill, unstored)));
    for (value, count) in counted.chain(sorted[place..].iter().map(|&value| (value, 1))) {
        match (distinct.last(), counts.last_mut()) {
            (Some(&last), Some(counted)) if nan_last(last, value).is_eq() => *counted += count,
            _ => {
                alloc::push(&mut distinct, value)?;
                alloc::push(&mut counts, count)?;
            }
        }
    }
    Ok((distinct, counts))
}
