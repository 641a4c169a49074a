//! The number of nonzero elements over axes.

use super::fold;
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::Element;
use crate::kernels::fold::Fold;
use crate::kernels::group::Unstored;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::scatter::{Cell, scatter_states};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of [`count_nonzero`].
#[derive(Clone, Copy)]
pub(super) struct CountNonzero;

impl Op for CountNonzero {
    fn name(&self) -> &'static str {
        op::count_nonzero.name
    }
}

/// Counts saturate at `u128::MAX`, like the extents of groups: both exceed the type of the result.
impl<T: Element> Fold<T> for CountNonzero {
    type State = u128;
    type Out = u64;

    fn start(&self) -> u128 {
        0
    }

    fn step(&self, count: &mut u128, value: T) {
        *count = count.saturating_add(u128::from(value.is_truthy()));
    }

    fn repeat(&self, count: &mut u128, value: T, times: u128) {
        *count = count.saturating_add(if value.is_truthy() { times } else { 0 });
    }

    fn merge(&self, count: &mut u128, other: &u128) {
        *count = count.saturating_add(*other);
    }

    fn finish(&self, count: &u128, _: u128) -> Outcome<u64> {
        u64::try_from(*count).map_err(|_| GroupError::Uncountable)
    }

    fn slice(&self, count: &mut u128, values: &[T]) {
        *count = count.saturating_add(values.iter().filter(|value| value.is_truthy()).count() as u128);
    }

    /// Avoids grouping the entries if there are few output elements.
    fn by_coords(
        &self,
        kept: &KeptAxes<'_>,
        values: &[T],
        unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<u64>>> {
        let add = |count: &mut usize, value: T| {
            *count += usize::from(value.is_truthy());
            true
        };
        let join = |count: &mut usize, other| {
            *count += other;
            true
        };
        scatter_states(*self, kept, values, unstored, Cell { start: 0, add, join }, |count| count as u128)
    }
}

/// Returns the number of nonzero elements over the given axes.
///
/// *y*<sub>k</sub> is the number of *r* with *x*<sub>k,r</sub> ≠ 0, for *k* over the kept axes and *r* over the reduced
/// axes.
///
/// # Shapes
///
/// The given axes are removed, or have length 1 with [`Axes::keep_dims`]. With [`Axes::all`], the result has rank 0.
/// With [`Axes::none`], the result has 1 or 0 per element. The result has the format and index type of `x`, and `u64`
/// elements.
///
/// # Implicit values
///
/// A group consists of the positions that are reduced into one output element. A group with a stored entry has a stored
/// result, even if the result is 0. All other output elements hold the fill. If the fill of `x` is nonzero, unstored
/// positions count, and the fill of the result is the number of positions of a group. Otherwise the fill of the result
/// is 0. If no output element holds the fill and the number of positions does not fit in `u64`, the fill is also 0.
///
/// For [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is 0.
///
/// # NaN
///
/// NaN counts as nonzero, and `-0.0` counts as zero. A complex number is nonzero if either part is nonzero.
///
/// # Gradient
///
/// The result does not have a gradient, because the count is constant almost everywhere.
///
#[doc = page!(errors)]
/// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 nonzero positions.
///
/// # Complexity
///
/// Here *nnz* is the number of stored entries of `x`, and *rank* is the number of axes. The number of rows of a CSR
/// tensor is *lanes*. A COO tensor takes O(nnz · rank) if the kept axes come first, or if there are few output elements
/// per entry. Otherwise, a COO tensor takes O(nnz · (rank + log nnz)). A CSR tensor takes O(nnz + lanes) if the kept
/// axes come first, and otherwise the time of a COO tensor. An array takes O(number of elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, count_nonzero};
/// use ndarray::arr1;
///
/// // 0 . 5
/// // . 3 .
/// let (rows, columns) = (vec![0, 0, 1], vec![0, 2, 1]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![0.0, 5.0, 3.0], f64::NAN)?;
/// assert_eq!(count_nonzero(&x, 1)?.to_dense()?, arr1(&[2, 3]).into_dyn()); // a NaN is not zero
/// assert_eq!(count_nonzero(&x, 1)?.to_dense()?, count_nonzero(&x.to_dense()?, 1)?);
/// assert_eq!(count_nonzero(&x.stored(), 1)?.values(), [1, 1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.count_nonzero`](https://numpy.org/doc/stable/reference/generated/numpy.count_nonzero.html).
#[doc(alias = "numpy.count_nonzero")]
#[doc(alias = "torch.count_nonzero")]
#[doc(alias = "getnnz")]
pub fn count_nonzero<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
    fold(x, CountNonzero, &axes.into())
}
