//! Positions of the minimum and the maximum over axes.

use std::array::from_fn;

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Abreast, Float, Known, Real};
use crate::kernels::extreme::extremes_abreast;
use crate::kernels::group::Gaps;
use crate::kernels::holistic::{Group, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The position if there is no element.
const NOWHERE: u64 = u64::MAX;

/// The descriptor of the positions of extremes.
#[derive(Clone, Copy)]
struct ExtremePosition {
    is_greatest: bool,
    skips_nan: bool,
}

impl Op for ExtremePosition {
    fn name(&self) -> &'static str {
        match (self.is_greatest, self.skips_nan) {
            (false, false) => op::argmin.name,
            (true, false) => op::argmax.name,
            (false, true) => op::nanargmin.name,
            (true, true) => op::nanargmax.name,
        }
    }
}

impl<T: Real> Holistic<T> for ExtremePosition {
    type Out = u64;
    type Scratch = ();

    fn looks_at_positions(&self) -> bool {
        true
    }

    fn scratch(&self) {}

    fn has_abreast(&self) -> bool {
        true
    }

    #[inline(always)]
    fn of_abreast(
        &self,
        values: &[T],
        runs: &Abreast,
        gaps: &Gaps<T>,
        position: &(dyn Fn(usize) -> u128 + Sync),
        blank: u64,
    ) -> Known<u64> {
        let (found, are_known) = match self.is_greatest {
            true => extremes_abreast::<true, T>(values, runs, gaps),
            false => extremes_abreast::<false, T>(values, runs, gaps),
        };
        (from_fn(|run| if are_known[run] { position(found[run].1) as u64 } else { blank }), are_known)
    }

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<u64> {
        match group.extreme_position(self.is_greatest, self.skips_nan) {
            Some(position) => Ok(position),
            None if self.skips_nan => Ok(NOWHERE),
            None => Err(GroupError::Empty),
        }
    }

    fn of_no_entry(&self) -> Outcome<u64> {
        Ok(NOWHERE)
    }
}

/// Defines each position as a function with a page; the shared paragraphs of the pages appear here.
macro_rules! positions {
    ($(
        $alias:literal, $word:literal, $greatest:literal, $skips:literal, $bound:ident, $name:ident, $none:literal,
        $nan:literal,
        $results:literal;
    )*) => {$(
        #[doc = concat!("The position of the ", $word, " element over the axes given.")]
        ///
        /// It is the row-major number of the first element that is equal to the extreme among the positions of the
        /// reduced axes, stored or not; zeros of both signs are equal.
        ///
        #[doc = said!(reduction)]
        /// The fill of the result is 0, the first position. Of [`x.stored()`](crate::Tensor::stored) the entries
        /// count alone, at the same positions, and the fill of the result is `u64::MAX`.
        ///
        /// # NaN
        ///
        #[doc = $nan]
        ///
        /// # Gradient
        ///
        /// None: a position is constant almost everywhere.
        ///
        #[doc = said!(errors)]
        /// - `Uncountable`: a group has more than 2<sup>64</sup> − 1 positions;
        #[doc = $none]
        ///
        #[doc = said!(complexity)]
        /// ```
        #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
        /// use ndarray::arr1;
        ///
        /// // 3 .  6
        /// // . -1 -2
        /// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
        /// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, 6.0, -1.0, -2.0], 0.0)?;
        #[doc = concat!("let y = ", stringify!($name), "(&x, 1)?;")]
        #[doc = concat!("assert_eq!(y.to_dense()?, arr1(&", $results, ").into_dyn());")]
        #[doc = concat!("assert_eq!(y.to_dense()?, ", stringify!($name), "(&x.to_dense()?, 1)?);")]
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        ///
        #[doc = concat!(
            "Definition: [`numpy.", stringify!($name), "`](https://numpy.org/doc/stable/reference/generated/numpy.",
            stringify!($name), ".html), over any axes."
        )]
        #[doc(alias = $alias)]
        pub fn $name<X: Operand<Elem: $bound>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<u64>> {
            x.by_holistic(ExtremePosition { is_greatest: $greatest, skips_nan: $skips }, &axes.into())
        }
    )*};
}

positions! {
    "numpy.argmin", "least", false, false, Real, argmin,
    "- `EmptyGroup`: a group has no position.",
    "If there is a NaN it is the position of the first one; [`nanargmin`] leaves NaNs out.", "[1u64, 2]";
    "numpy.argmax", "greatest", true, false, Real, argmax,
    "- `EmptyGroup`: a group has no position.",
    "If there is a NaN it is the position of the first one; [`nanargmax`] leaves NaNs out.", "[2u64, 0]";
    "numpy.nanargmin", "least", false, true, Float, nanargmin,
    "- no others: a group without a position gives `u64::MAX`.",
    "NaNs are left out; a group of nothing else gives `u64::MAX`.", "[1u64, 2]";
    "numpy.nanargmax", "greatest", true, true, Float, nanargmax,
    "- no others: a group without a position gives `u64::MAX`.",
    "NaNs are left out; a group of nothing else gives `u64::MAX`.", "[2u64, 0]";
}
