//! Logical operations on `bool`, and bitwise operations on integers.

use super::Partner;
use crate::base::error::Result;
use crate::element::Bits;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Lone, Zip};
use crate::ops::operand::Operand;

/// Defines an operation from its method, whether stored entries unite, the fill that absorbs all elements, if any, and
/// the entries in the example.
macro_rules! of_bits {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident($op:ident) = $method:ident, unites $unites:literal, same of all $same_of_all:expr,
            $entries:literal;
        $(#[$implicit:meta])*
        ;
    )*) => {
        zips! {$(
            $(#[$sentence])*
            fn $name<Bits>($op) -> X::Elem;
            #[doc = union_of_both!()]
            $(#[$implicit])*
            =>
            /// The elements are `bool` or integers, which do not have NaN.
            =>
            /// None.
            =>
            =>
            /// ```
            #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
            ///
            /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
            /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
            #[doc = concat!("let z = ", stringify!($name), "(&x, &y)?;")]
            #[doc = concat!("assert_eq!(z.entries(), ", $entries, ");")]
            #[doc = concat!("assert_eq!(z.to_dense()?, ", stringify!($name), "(&x.to_dense()?, &y.to_dense()?)?);")]
            #[doc = concat!("assert_eq!(x.stored().", stringify!($name), "(&y)?.entries(), ", $entries, ");")]
            #[doc = concat!("assert!(x.", stringify!($name), "(6)?.shares_pattern_with(&x));")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            ///
            /// ```compile_fail,E0277
            #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
            ///
            /// let x = CooTensor::full([2], 1.0)?;
            #[doc = concat!(stringify!($name), "(&x, &x)?;")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            ///
            #[doc = concat!(
                "Definition: [`numpy.bitwise_", stringify!($method),
                "`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_", stringify!($method), ".html)."
            )]
            ;
        )*}

        $(impl<T: Bits> Zip<T, T> for $op {
            type Out = T;

            fn unites(&self) -> bool {
                $unites
            }

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<T> {
                Ok(a.$method(b))
            }

            fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
                if Some(fill) == $same_of_all { Alone::Annihilated } else { Alone::Counts }
            }

            fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
                if Some(fill) == $same_of_all { Alone::Annihilated } else { Alone::Counts }
            }

            fn alone(&self, entry: Lone<T, T>) -> Outcome<T> {
                match entry {
                    Lone::Left(value) | Lone::Right(value) => Ok(value),
                }
            }
        })*
    };
}

of_bits! {
    /// The logical and of two operands; of integers bit by bit.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ∧ *y*<sub>k</sub>
    #[doc(alias = "logical_and")]
    #[doc(alias = "intersection")]
    #[doc(alias = "numpy.bitwise_and")]
    #[doc(alias = "numpy.logical_and")]
    fn bit_and(BitAnd) = and, unites false, same of all Some(T::ZERO), "[(vec![1], 2)]";
    /// A fill of zero, or `false`, makes the same of everything: entries of the other operand alone are not stored. Of
    /// [stored views](crate::Stored) the result has the entries that both have, and the fill of both.
    ;

    /// The logical or of two operands; of integers bit by bit.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ∨ *y*<sub>k</sub>
    #[doc(alias = "logical_or")]
    #[doc(alias = "union")]
    #[doc(alias = "numpy.bitwise_or")]
    #[doc(alias = "numpy.logical_or")]
    fn bit_or(BitOr) = or, unites true, same of all Some(T::ONES), "[(vec![0], 1), (vec![1], 7), (vec![2], 3)]";
    /// A fill of all ones, or `true`, makes the same of everything: entries of the other operand alone are not stored.
    /// For [stored views](crate::Stored) an entry of one side alone is moved as it is, and the fill is that of both.
    ;

    /// The exclusive or of two operands; of integers bit by bit.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> ⊕ *y*<sub>k</sub>
    #[doc(alias = "logical_xor")]
    #[doc(alias = "symmetric_difference")]
    #[doc(alias = "numpy.bitwise_xor")]
    #[doc(alias = "numpy.logical_xor")]
    fn bit_xor(BitXor) = xor, unites true, same of all None, "[(vec![0], 1), (vec![1], 5), (vec![2], 3)]";
    /// For [stored views](crate::Stored) an entry of one side alone is moved as it is, and the fill is that of both.
    ;
}
