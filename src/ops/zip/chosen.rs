//! Zips that are chosen at run time. The drivers are compiled once per element type, not per operation.

use super::arithmetic::{Add, Div, Maximum, Minimum, Mul, MulNonzero, Rem, RemEuclid, Sub};
use super::bits::{BitAnd, BitOr, BitXor};
use super::compare::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
use super::pow::Pow;
use crate::element::Element;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Lone, Zip};

/// An operation as function pointers; the caller reports its name.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<T, U> {
    apply: fn(T, T) -> Outcome<U>,
    left: fn(T, Option<T>) -> Alone,
    right: fn(Option<T>, T) -> Alone,
    alone: fn(Lone<T, T>) -> Outcome<U>,
    /// A fill that absorbs all elements in their original type, which may be narrower than `T`.
    same_of_all: Option<T>,
    is_swapped: bool,
    unites: bool,
}

impl<T: Element, U: Element> Chosen<T, U> {
    /// Returns the operation with this absorbing fill, and with its operands swapped if `is_swapped`.
    pub(crate) fn with(self, same_of_all: Option<T>, is_swapped: bool) -> Self {
        Chosen { same_of_all, is_swapped, ..self }
    }
}

impl<T: Element, U: Element> Op for Chosen<T, U> {
    fn name(&self) -> &'static str {
        ""
    }
}

impl<T: Element, U: Element> Zip<T, T> for Chosen<T, U> {
    type Out = U;

    fn unites(&self) -> bool {
        self.unites
    }

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

/// An operation, by the type of its results, which the drivers need at compile time.
pub(crate) enum AnyZip<T> {
    /// An operation whose results have the type of the operands.
    Computes(Chosen<T, T>),
    /// A comparison.
    Compares(Chosen<T, bool>),
}

/// The element types that operations chosen at run time are compiled for.
pub(crate) trait Chooses: Element {
    /// Returns the operation with this name, if the type has it.
    fn zip_of(name: &str) -> Option<AnyZip<Self>>;
}

macro_rules! chooses {
    ($($type:ty: $($op:ident $kind:ident),*;)*) => {$(
        impl Chooses for $type {
            fn zip_of(name: &str) -> Option<AnyZip<Self>> {
                $(if name == $op.name() {
                    return Some(AnyZip::$kind(Chosen {
                        apply: |a: $type, b| $op.apply(a, b),
                        left: |fill: $type, other| $op.of_left_fill(fill, other),
                        right: |other: Option<$type>, fill| $op.of_right_fill(other, fill),
                        alone: |entry: Lone<$type, $type>| $op.alone(entry),
                        same_of_all: None,
                        is_swapped: false,
                        unites: Zip::<$type, $type>::unites(&$op),
                    }));
                })*
                None
            }
        }
    )*};
}

chooses! {
    bool: Add Computes, Mul Computes, MulNonzero Computes, Minimum Computes, Maximum Computes, BitAnd Computes, BitOr Computes,
        BitXor Computes, Equal Compares, NotEqual Compares, Less Compares, LessEqual Compares, Greater Compares, GreaterEqual Compares;
    i64: Add Computes, Sub Computes, Mul Computes, MulNonzero Computes, Div Computes, Rem Computes, RemEuclid Computes, Pow Computes,
        Minimum Computes, Maximum Computes, BitAnd Computes, BitOr Computes, BitXor Computes, Equal Compares, NotEqual Compares, Less Compares,
        LessEqual Compares, Greater Compares, GreaterEqual Compares;
    u64: Add Computes, Sub Computes, Mul Computes, MulNonzero Computes, Div Computes, Rem Computes, RemEuclid Computes, Pow Computes,
        Minimum Computes, Maximum Computes, BitAnd Computes, BitOr Computes, BitXor Computes, Equal Compares, NotEqual Compares, Less Compares,
        LessEqual Compares, Greater Compares, GreaterEqual Compares;
    f64: Add Computes, Sub Computes, Mul Computes, MulNonzero Computes, Div Computes, Rem Computes, RemEuclid Computes, Pow Computes,
        Minimum Computes, Maximum Computes, Equal Compares, NotEqual Compares, Less Compares, LessEqual Compares, Greater Compares,
        GreaterEqual Compares;
    num_complex::Complex<f32>: Add Computes, Sub Computes, Mul Computes, MulNonzero Computes, Div Computes, Equal Compares,
        NotEqual Compares;
    num_complex::Complex<f64>: Add Computes, Sub Computes, Mul Computes, MulNonzero Computes, Div Computes, Equal Compares,
        NotEqual Compares;
}
