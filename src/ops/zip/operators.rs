//! The operators of Rust on tensors, on references to tensors, and on stored views.
//!
//! If the method of an operator returns an error, the operator panics with the message of the error, like the operators
//! of `ndarray`.

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

/// Implements operators, from their traits, their methods and their bounds on the element type. Rust does not allow one
/// impl for numbers of all types on the left, so these are implemented type by type.
macro_rules! operators {
    (two $($op:ident $method:ident $bound:ident),*) => {$(
        operators!(@ $op $method [P: Pattern, T: $bound, Y: Partner<Tensor<P, T>, Elem = T>]
            &Tensor<P, T>, Y => Y::Zipped<T>, |x, other| other.zip(x, $op));
        operators!(@ $op $method [P: Pattern, T: $bound, Y: Partner<Tensor<P, T>, Elem = T>]
            Tensor<P, T>, Y => Y::Zipped<T>, |x, other| other.zip(&x, $op));
        operators!(@ $op $method ['a, P: Pattern, T: $bound, Y: Partner<Stored<'a, P, T>, Elem = T>]
            Stored<'a, P, T>, Y => Y::Zipped<T>, |x, other| other.zip(&x, $op));
        operators!(@ $op $method [P: Pattern, T: $bound, S: Data<Elem = T>, D: Dimension]
            &ArrayBase<S, D>, &Tensor<P, T> => Tensor<P, T>, |x, other| other.zip(x, $op));
    )*};
    (one $($op:ident $method:ident $bound:ident),*) => {$(
        operators!(@ $op $method [P: Pattern, T: $bound] &Tensor<P, T> => Tensor<P, T>, |x| map::$method(x));
        operators!(@ $op $method [P: Pattern, T: $bound] Tensor<P, T> => Tensor<P, T>, |x| map::$method(&x));
        operators!(@ $op $method ['a, P: Pattern, T: $bound] Stored<'a, P, T> => Tensor<P, T>, |x| map::$method(&x));
    )*};
    (numbers $($type:ty),*) => {$(
        operators!(@numbers $type; Add add, Sub sub, Mul mul, Div div);
    )*};
    (@numbers $type:ty; $($op:ident $method:ident),*) => {$(
        operators!(@ $op $method [P: Pattern] $type, &Tensor<P, $type> => Tensor<P, $type>,
            |number, x| sparse::with_number(x, number, Swapped($op)));
        operators!(@ $op $method [P: Pattern] $type, Tensor<P, $type> => Tensor<P, $type>,
            |number, x| sparse::with_number(&x, number, Swapped($op)));
        operators!(@ $op $method ['a, P: Pattern] $type, Stored<'a, P, $type> => Tensor<P, $type>,
            |number, x| sparse::with_number(&x, number, Swapped($op)));
    )*};
    (@ $op:ident $method:ident [$($generics:tt)*] $left:ty $(, $right:ty)? => $found:ty,
     |$x:ident $(, $y:ident)?| $run:expr) => {
        impl<$($generics)*> ops::$op $(<$right>)? for $left {
            type Output = $found;

            #[track_caller]
            fn $method(self $(, $y: $right)?) -> $found {
                let $x = self;
                or_panic($run)
            }
        }
    };
}

operators! {
    two Add add Element, Sub sub Numeric, Mul mul Element, Div div Numeric, Rem rem Remainder,
    BitAnd bitand Bits, BitOr bitor Bits, BitXor bitxor Bits
}

operators!(one Neg neg Signed, Not not Bits);

operators!(numbers i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, num_complex::Complex<f32>, num_complex::Complex<f64>);
