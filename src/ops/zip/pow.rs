//! Powers of two operands.

use super::{Partner, fitting};
use crate::base::error::Result;
use crate::element::RealNumber;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Zip};
use crate::ops::operand::Operand;

impl<T: RealNumber> Zip<T, T> for Pow {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.to_power(b))
    }

    /// 1 to any power is 1. For integers a negative power has no result.
    fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
        if fill == T::ONE && fill.to_integer().is_none() { Alone::Annihilated } else { Alone::Counts }
    }

    /// Any element to the power of 0 is 1.
    fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
        if fill.is_truthy() { Alone::Counts } else { Alone::Annihilated }
    }
}

zips! {
    /// One operand to the power of the other, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub><sup>*y*<sub>k</sub></sup>
    ///
    /// Floats go through `f64` and are rounded once, the same bits on every machine; a square is exact before that.
    /// Anything to the power of 0 is 1, and so is 1 to the power of anything. [`powi`](crate::powi()) and
    /// [`powf`](crate::powf()) take one exponent for all.
    #[doc(alias = "numpy.power")]
    #[doc(alias = "power")]
    #[doc(alias = "torch.pow")]
    fn pow<RealNumber>(Pow) -> X::Elem;
    /// Where one side alone has an entry, the other gives its fill: the union of both patterns is stored, and the fill
    /// is the power of the fills, without a sign if it is zero. An exponent's fill of 0 makes everything 1: entries of
    /// *x* alone are not stored; nor are those of *y* alone where *x* is of floats and has the fill 1. Of [stored
    /// views](crate::Stored) the result has the entries that both have, and the fill of both.
    =>
    /// NaN if either is, but for the powers that are 1 whatever the other is; and of negative numbers to a power that
    /// is no integer.
    =>
    /// [`grad::pow`](crate::grad::pow).
    =>
    /// - `Overflow`: an integer type does not hold the result, or it is one to a power below 0; the position is named;
    =>
    /// ```
    /// use lacuna::{CooTensor, pow};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![2.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 1.0)?;
    /// let z = pow(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 2.0), (vec![1], 49.0), (vec![2], 0.0)]);
    /// assert_eq!(z.to_dense()?, pow(&x.to_dense()?, &y.to_dense()?)?);
    /// assert!(x.pow(3.0)?.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.power`](https://numpy.org/doc/stable/reference/generated/numpy.power.html).
    ;
}
