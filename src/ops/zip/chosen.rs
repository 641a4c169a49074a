//! Zips chosen at run time: the drivers are compiled once for each type, and not for each operation too.

use super::arithmetic::{Add, Div, Maximum, Minimum, Mul, MulNonzero, Rem, RemEuclid, Sub};
use super::bits::{BitAnd, BitOr, BitXor};
use super::compare::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
use super::pow::Pow;
use crate::element::Element;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Lone, Zip};

/// An operation by its functions; its name is the caller's to tell.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<T, U, const UNITES: bool> {
    apply: fn(T, T) -> Outcome<U>,
    left: fn(T, Option<T>) -> Alone,
    right: fn(Option<T>, T) -> Alone,
    alone: fn(Lone<T, T>) -> Outcome<U>,
    /// A fill that makes the same of all in the type that the elements came in, which may be narrower than `T`.
    same_of_all: Option<T>,
    is_swapped: bool,
}

impl<T: Element, U: Element, const UNITES: bool> Chosen<T, U, UNITES> {
    /// The operation with that fill, and with its operands in the other order.
    pub(crate) fn with(self, same_of_all: Option<T>, is_swapped: bool) -> Self {
        Chosen { same_of_all, is_swapped, ..self }
    }
}

impl<T: Element, U: Element, const UNITES: bool> Op for Chosen<T, U, UNITES> {
    const NAME: &'static str = "";
}

impl<T: Element, U: Element, const UNITES: bool> Zip<T, T> for Chosen<T, U, UNITES> {
    type Out = U;
    const UNITES: bool = UNITES;

    fn apply(&self, a: T, b: T) -> Outcome<U> {
        if self.is_swapped { (self.apply)(b, a) } else { (self.apply)(a, b) }
    }

    fn of_left_fill(&self, fill: T, other: Option<T>) -> Alone {
        if Some(fill) == self.same_of_all { Alone::Annihilated } else { (self.left)(fill, other) }
    }

    fn of_right_fill(&self, other: Option<T>, fill: T) -> Alone {
        if Some(fill) == self.same_of_all { Alone::Annihilated } else { (self.right)(other, fill) }
    }

    fn alone(&self, entry: Lone<T, T>) -> Outcome<U> {
        (self.alone)(entry)
    }
}

/// An operation, by what the drivers must know of it when they are compiled.
pub(crate) enum AnyZip<T> {
    /// Stored entries of one side alone are results too.
    Unites(Chosen<T, T, true>),
    /// They are not.
    Meets(Chosen<T, T, false>),
    /// A comparison.
    Asks(Chosen<T, bool, false>),
}

/// The types that operations chosen at run time are compiled for.
pub(crate) trait Chooses: Element {
    /// The operation of that name, if the type has it.
    fn zip_of(name: &str) -> Option<AnyZip<Self>>;
}

macro_rules! chooses {
    ($($type:ty: $($op:ident $kind:ident),*;)*) => {$(
        impl Chooses for $type {
            fn zip_of(name: &str) -> Option<AnyZip<Self>> {
                $(if name == <$op as Op>::NAME {
                    return Some(AnyZip::$kind(Chosen {
                        apply: |a: $type, b| $op.apply(a, b),
                        left: |fill: $type, other| $op.of_left_fill(fill, other),
                        right: |other: Option<$type>, fill| $op.of_right_fill(other, fill),
                        alone: |entry: Lone<$type, $type>| $op.alone(entry),
                        same_of_all: None,
                        is_swapped: false,
                    }));
                })*
                None
            }
        }
    )*};
}

chooses! {
    bool: Add Unites, Mul Meets, MulNonzero Meets, Minimum Unites, Maximum Unites, BitAnd Meets, BitOr Unites,
        BitXor Unites, Equal Asks, NotEqual Asks, Less Asks, LessEqual Asks, Greater Asks, GreaterEqual Asks;
    i64: Add Unites, Sub Unites, Mul Meets, MulNonzero Meets, Div Meets, Rem Meets, RemEuclid Meets, Pow Meets,
        Minimum Unites, Maximum Unites, BitAnd Meets, BitOr Unites, BitXor Unites, Equal Asks, NotEqual Asks, Less Asks,
        LessEqual Asks, Greater Asks, GreaterEqual Asks;
    u64: Add Unites, Sub Unites, Mul Meets, MulNonzero Meets, Div Meets, Rem Meets, RemEuclid Meets, Pow Meets,
        Minimum Unites, Maximum Unites, BitAnd Meets, BitOr Unites, BitXor Unites, Equal Asks, NotEqual Asks, Less Asks,
        LessEqual Asks, Greater Asks, GreaterEqual Asks;
    f64: Add Unites, Sub Unites, Mul Meets, MulNonzero Meets, Div Meets, Rem Meets, RemEuclid Meets, Pow Meets,
        Minimum Unites, Maximum Unites, Equal Asks, NotEqual Asks, Less Asks, LessEqual Asks, Greater Asks,
        GreaterEqual Asks;
    num_complex::Complex<f32>: Add Unites, Sub Unites, Mul Meets, MulNonzero Meets, Div Meets, Equal Asks,
        NotEqual Asks;
    num_complex::Complex<f64>: Add Unites, Sub Unites, Mul Meets, MulNonzero Meets, Div Meets, Equal Asks,
        NotEqual Asks;
}
