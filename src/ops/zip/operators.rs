//! The operators of Rust, on references to tensors and on their stored views.
//!
//! They panic on every error of the named form, with its message, as those of `ndarray` do.

use std::ops;

use super::Partner;
use super::arithmetic::{Add, Div, Mul, Rem, Sub};
use crate::base::error::Result;
use crate::element::{Element, Numeric, Remainder};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The result of an operator.
#[track_caller]
fn or_panic<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// An operator: its trait, its method and what it asks of a type.
macro_rules! operators {
    ($($op:ident $method:ident $bound:ident),*) => {$(
        impl<P: Pattern, T: $bound, Y: Partner<Tensor<P, T>, Elem = T>> ops::$op<Y> for &Tensor<P, T> {
            type Output = Y::Zipped<T>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                or_panic(other.zip(self, $op))
            }
        }

        impl<'a, P: Pattern, T: $bound, Y: Partner<Stored<'a, P, T>, Elem = T>> ops::$op<Y> for Stored<'a, P, T> {
            type Output = Y::Zipped<T>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                or_panic(other.zip(&self, $op))
            }
        }
    )*};
}

operators!(Add add Element, Sub sub Numeric, Mul mul Element, Div div Numeric, Rem rem Remainder);
