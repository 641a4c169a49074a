//! Logical and over axes.

use std::convert::identity;

use super::fold;
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::Element;
use crate::kernels::fold::Fold;
use crate::kernels::group::Unstored;
use crate::kernels::kept_axes::KeptAxes;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::output_bitmap::StoredOutputs;
use crate::kernels::scatter::{Cell, scatter_states};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of [`all`].
#[derive(Clone, Copy)]
pub(super) struct All;

impl Op for All {
    fn name(&self) -> &'static str {
        op::all.name
    }
}

impl<T: Element> Fold<T> for All {
    type State = bool;
    type Out = bool;

    fn start(&self) -> bool {
        true
    }

    fn step(&self, all: &mut bool, value: T) {
        *all &= value.is_truthy();
    }

    fn repeat(&self, all: &mut bool, value: T, _: u128) {
        *all &= value.is_truthy();
    }

    fn merge(&self, all: &mut bool, other: &bool) {
        *all &= other;
    }

    fn finish(&self, all: &bool, _: u128) -> Outcome<bool> {
        Ok(*all)
    }

    fn is_settled(&self, all: &bool) -> bool {
        !all
    }

    fn slice(&self, all: &mut bool, values: &[T]) {
        *all &= values.iter().all(|value| value.is_truthy());
    }

    /// Avoids grouping the entries if there are few output elements.
    fn by_coords(
        &self,
        kept: &KeptAxes<'_>,
        values: &[T],
        unstored: &Unstored<T>,
    ) -> Allocated<Option<StoredOutputs<bool>>> {
        let add = |all: &mut bool, value: T| {
            *all &= value.is_truthy();
            true
        };
        let join = |all: &mut bool, other| {
            *all &= other;
            true
        };
        scatter_states(*self, kept, values, unstored, Cell { start: true, add, join }, identity)
    }
}

/// Returns whether all elements are nonzero, over the given axes.
///
/// *y*<sub>k</sub> = ⋀<sub>r</sub> (*x*<sub>k,r</sub> ≠ 0), for *k* over the kept axes and *r* over the reduced
/// axes.
///
#[doc = page!(reduction)]
/// The fill of the result is `true` if the fill of `x` is nonzero or the groups are empty, otherwise `false`. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries count, and the fill of the result is `true`.
///
/// # NaN
///
/// NaN counts as nonzero, and `-0.0` counts as zero. A complex number is nonzero if either part is nonzero.
///
/// # Gradient
///
/// The result does not have a gradient, because the result is constant almost everywhere.
///
#[doc = page!(errors)]
///
#[doc = page!(complexity)]
/// ```
/// use lacuna::{CooTensor, all};
/// use ndarray::arr1;
///
/// // 2 5
/// // . 3
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![2, 5, 3], 0)?;
/// assert_eq!(all(&x, 1)?.to_dense()?, arr1(&[true, false]).into_dyn());
/// assert_eq!(all(&x, 1)?.to_dense()?, all(&x.to_dense()?, 1)?);
/// assert_eq!(all(&x.stored(), 1)?.values(), [true, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.all`](https://numpy.org/doc/stable/reference/generated/numpy.all.html).
#[doc(alias = "numpy.all")]
#[doc(alias = "torch.all")]
#[doc(alias = "logical_and")]
pub fn all<X: Operand>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<bool>> {
    fold(x, All, &axes.into())
}
