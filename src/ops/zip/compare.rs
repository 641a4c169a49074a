//! Comparisons. Complex numbers do not have an order:
//!
//! ```compile_fail,E0277
//! use lacuna::{CooTensor, less};
//!
//! let x = CooTensor::full([2], lacuna::num_complex::Complex::new(1.0, 0.0))?;
//! less(&x, &x)?;
//! # Ok::<(), lacuna::Error>(())
//! ```

use super::Partner;
use crate::base::error::Result;
use crate::element::{Element, Real};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Zip};
use crate::ops::operand::Operand;

/// Defines a comparison, with its results in the example: for the entries, the fills, the common entry and a number. A
/// fill of NaN absorbs all elements.
macro_rules! comparisons {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident>($op:ident) =
            $sign:tt, $values:literal, $fill:literal, $common:literal, $of_number:literal;
        $(#[$nan:meta])*
        ;
    )*) => {
        zips! {$(
            $(#[$sentence])*
            fn $name<$bound>($op) -> bool;
            /// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns
            /// is stored, and the fill is what the fills give. A fill of NaN gives the same beside everything: entries
            /// of the other operand alone are not stored. Of [stored views](crate::Stored) the result has the entries
            /// that both have, and a fill of `false`.
            =>
            $(#[$nan])*
            =>
            /// None.
            =>
            =>
            /// ```
            #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
            ///
            /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
            /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
            #[doc = concat!("let z = ", stringify!($name), "(&x, &y)?;")]
            #[doc = concat!("assert_eq!(z.values(), ", $values, ");")]
            #[doc = concat!("assert_eq!(z.fill(), ", $fill, ");")]
            #[doc = concat!("assert_eq!(z.to_dense()?, ", stringify!($name), "(&x.to_dense()?, &y.to_dense()?)?);")]
            #[doc = concat!("assert_eq!(x.stored().", stringify!($name), "(&y)?.entries(), [(vec![1], ", $common,
                ")]);")]
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(2.0)?.values(), ", $of_number, ");")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            ///
            #[doc = concat!(
                "Definition: [`numpy.", stringify!($name), "`](https://numpy.org/doc/stable/reference/generated/numpy.",
                stringify!($name), ".html)."
            )]
            ;
        )*}

        $(impl<T: $bound> Zip<T, T> for $op {
            type Out = bool;

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<bool> {
                Ok(a $sign b)
            }

            fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
                if fill.isnan() { Alone::Annihilated } else { Alone::Counts }
            }

            fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
                if fill.isnan() { Alone::Annihilated } else { Alone::Counts }
            }
        })*
    };
}

comparisons! {
    /// Whether two elements are equal, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> = *y*<sub>k</sub>
    #[doc(alias = "numpy.equal")]
    #[doc(alias = "torch.eq")]
    fn equal<Element>(Equal) = ==, "[false, true, false]", "true", "true", "[false, false]";
    /// A comparison with NaN is false; zeros of both signs are equal. Complex numbers are equal if both parts are.
    ;

    /// Whether two elements differ, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ≠ *y*<sub>k</sub>
    #[doc(alias = "numpy.not_equal")]
    #[doc(alias = "torch.ne")]
    fn not_equal<Element>(NotEqual) = !=, "[true, false, true]", "false", "false", "[true, true]";
    /// A comparison with NaN is true; zeros of both signs are equal. Complex numbers are equal if both parts are.
    ;

    /// Whether the element on the left is less, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> < *y*<sub>k</sub>
    #[doc(alias = "numpy.less")]
    #[doc(alias = "torch.lt")]
    fn less<Real>(Less) = <, "[false, false, true]", "false", "false", "[true, false]";
    /// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
    ;

    /// Whether the element on the left is less or equal, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ≤ *y*<sub>k</sub>
    #[doc(alias = "numpy.less_equal")]
    #[doc(alias = "torch.le")]
    fn less_equal<Real>(LessEqual) = <=, "[false, true, true]", "true", "true", "[true, false]";
    /// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
    ;

    /// Whether the element on the left is greater, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> > *y*<sub>k</sub>
    #[doc(alias = "numpy.greater")]
    #[doc(alias = "torch.gt")]
    fn greater<Real>(Greater) = >, "[true, false, false]", "false", "false", "[false, true]";
    /// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
    ;

    /// Whether the element on the left is greater or equal, position by position.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ≥ *y*<sub>k</sub>
    #[doc(alias = "numpy.greater_equal")]
    #[doc(alias = "torch.ge")]
    fn greater_equal<Real>(GreaterEqual) = >=, "[true, true, false]", "true", "true", "[false, true]";
    /// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
    ;
}
