//! The operators of Rust on tensors, on references to tensors, and on stored views.
//!
//! They panic on every error of the named operation, with its message, like the operators of `ndarray`.

use std::ops;

use ndarray::{ArrayBase, Data, Dimension};

use super::descriptors::{Add, BitAnd, BitOr, BitXor, Div, Mul, Rem, Sub};
use super::{Partner, sparse};
use crate::base::error::Result;
use crate::element::{Bits, Element, Numeric, Remainder, Signed};
use crate::kernels::zip::Swapped;
use crate::ops::map;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// Returns the result of an operator, or panics with its error.
#[track_caller]
fn or_panic<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Implements an operator, from its trait, its method and its bound on the element type.
macro_rules! operators {
    ($($op:ident $method:ident $bound:ident),*) => {$(
        impl<P: Pattern, T: $bound, Y: Partner<Tensor<P, T>, Elem = T>> ops::$op<Y> for &Tensor<P, T> {
            type Output = Y::Zipped<T>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                or_panic(other.zip(self, $op))
            }
        }

        impl<P: Pattern, T: $bound, Y: Partner<Tensor<P, T>, Elem = T>> ops::$op<Y> for Tensor<P, T> {
            type Output = Y::Zipped<T>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                or_panic(other.zip(&self, $op))
            }
        }

        impl<'a, P: Pattern, T: $bound, Y: Partner<Stored<'a, P, T>, Elem = T>> ops::$op<Y> for Stored<'a, P, T> {
            type Output = Y::Zipped<T>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                or_panic(other.zip(&self, $op))
            }
        }

        impl<P, T, S, D> ops::$op<&Tensor<P, T>> for &ArrayBase<S, D>
        where
            P: Pattern,
            T: $bound,
            S: Data<Elem = T>,
            D: Dimension,
        {
            type Output = Tensor<P, T>;

            #[track_caller]
            fn $method(self, other: &Tensor<P, T>) -> Tensor<P, T> {
                or_panic(other.zip(self, $op))
            }
        }
    )*};
}

operators! {
    Add add Element, Sub sub Numeric, Mul mul Element, Div div Numeric, Rem rem Remainder,
    BitAnd bitand Bits, BitOr bitor Bits, BitXor bitxor Bits
}

/// Implements a unary operator, from its trait, its method and its bound on the element type.
macro_rules! of_one {
    ($($op:ident $method:ident $bound:ident),*) => {$(
        impl<P: Pattern, T: $bound> ops::$op for &Tensor<P, T> {
            type Output = Tensor<P, T>;

            #[track_caller]
            fn $method(self) -> Self::Output {
                or_panic(map::$method(self))
            }
        }

        impl<P: Pattern, T: $bound> ops::$op for Tensor<P, T> {
            type Output = Tensor<P, T>;

            #[track_caller]
            fn $method(self) -> Self::Output {
                or_panic(map::$method(&self))
            }
        }

        impl<P: Pattern, T: $bound> ops::$op for Stored<'_, P, T> {
            type Output = Tensor<P, T>;

            #[track_caller]
            fn $method(self) -> Self::Output {
                or_panic(map::$method(&self))
            }
        }
    )*};
}

of_one!(Neg neg Signed, Not not Bits);

/// Implements operators with a number on the left, type by type: Rust does not allow one impl for all types.
macro_rules! numbers {
    ($($type:ty),*) => {$(
        numbers!(@ $type, [P: Pattern], &Tensor<P, $type>, |x| x);
        numbers!(@ $type, [P: Pattern], Tensor<P, $type>, |x| &x);
        numbers!(@ $type, ['a, P: Pattern], Stored<'a, P, $type>, |x| &x);
    )*};
    (@ $type:ty, $generics:tt, $right:ty, |$x:ident| $of:expr) => {
        numbers!(@@ $type, $generics, $right, |$x| $of; Add add);
        numbers!(@@ $type, $generics, $right, |$x| $of; Sub sub);
        numbers!(@@ $type, $generics, $right, |$x| $of; Mul mul);
        numbers!(@@ $type, $generics, $right, |$x| $of; Div div);
    };
    (@@ $type:ty, [$($generics:tt)*], $right:ty, |$x:ident| $of:expr; $op:ident $method:ident) => {
        impl<$($generics)*> ops::$op<$right> for $type {
            type Output = Tensor<P, $type>;

            #[track_caller]
            fn $method(self, $x: $right) -> Tensor<P, $type> {
                or_panic(sparse::with_number($of, self, Swapped($op)))
            }
        }
    };
}

numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, num_complex::Complex<f32>, num_complex::Complex<f64>);
