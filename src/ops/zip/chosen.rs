//! Zips that are chosen at run time. The drivers are compiled once per element type, not per operation.

use super::descriptors::*;
use crate::element::{DType, Element, Number};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{FillEffect, PairFunction, UnpairedEntry, Zip};

/// An operation as function pointers; the caller reports its name.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<T, U> {
    apply: PairFunction<T, T, U>,
    left: fn(T, Option<T>) -> FillEffect,
    right: fn(Option<T>, T) -> FillEffect,
    unpaired: fn(UnpairedEntry<T, T>) -> Outcome<U>,
    absorbing: fn((i128, i128)) -> Option<i128>,
    in_narrow_floats: fn(DType) -> Option<PairFunction<T, T, U>>,
    /// A fill that absorbs all elements in their original type, which may be narrower than `T`.
    same_of_all: Option<T>,
    is_swapped: bool,
    counts_unpaired: bool,
}

impl<T: Element, U: Element> Chosen<T, U> {
    /// Returns the operation of a descriptor.
    fn of<Z: Zip<T, T, Out = U> + Default>(op: Z) -> Self {
        Chosen {
            apply: |a, b| Z::default().apply(a, b),
            left: |fill, other| Z::default().left_fill_effect(fill, other),
            right: |other, fill| Z::default().right_fill_effect(other, fill),
            unpaired: |entry| Z::default().unpaired(entry),
            absorbing: |bounds| Z::default().absorbing(bounds),
            in_narrow_floats: |dtype| Z::default().in_narrow_floats(dtype),
            same_of_all: None,
            is_swapped: false,
            counts_unpaired: op.counts_unpaired(),
        }
    }

    /// Returns the operation with its operands swapped if `is_swapped`.
    pub(crate) fn swapped_if(self, is_swapped: bool) -> Self {
        Chosen { is_swapped, ..self }
    }

    /// Returns the operation on elements of an integer type with these bounds, which may be narrower than `T`.
    pub(crate) fn on_integers(self, bounds: (i128, i128)) -> Self {
        let same_of_all = (self.absorbing)(bounds).and_then(|integer| T::from_number(Number::Integer(integer)));
        Chosen { same_of_all, ..self }
    }

    /// Returns the operation on elements of a float type, which may be narrower than `T`.
    pub(crate) fn on_floats(self, dtype: DType) -> Self {
        Chosen { apply: (self.in_narrow_floats)(dtype).unwrap_or(self.apply), ..self }
    }
}

impl<T: Element, U: Element> Op for Chosen<T, U> {
    fn name(&self) -> &'static str {
        ""
    }
}

impl<T: Element, U: Element> Zip<T, T> for Chosen<T, U> {
    type Out = U;

    fn counts_unpaired(&self) -> bool {
        self.counts_unpaired
    }

    fn apply(&self, a: T, b: T) -> Outcome<U> {
        if self.is_swapped { (self.apply)(b, a) } else { (self.apply)(a, b) }
    }

    fn left_fill_effect(&self, fill: T, other: Option<T>) -> FillEffect {
        if Some(fill) == self.same_of_all { FillEffect::Annihilated } else { (self.left)(fill, other) }
    }

    fn right_fill_effect(&self, other: Option<T>, fill: T) -> FillEffect {
        if Some(fill) == self.same_of_all { FillEffect::Annihilated } else { (self.right)(other, fill) }
    }

    fn unpaired(&self, entry: UnpairedEntry<T, T>) -> Outcome<U> {
        (self.unpaired)(entry)
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

/// Implements [`Chooses`] for a type of a kind: the type has the operations whose bound the kind satisfies.
macro_rules! chooses {
    ([$type:ty, $kind:ident] $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*)
        => {
        impl Chooses for $type {
            fn zip_of(name: &str) -> Option<AnyZip<Self>> {
                $(crate::__if_kind! { $kind $bound
                    if name == $op.name() {
                        return Some(chooses!(@$out $op));
                    }
                })*
                None
            }
        }
    };
    (@same $op:expr) => {
        AnyZip::Computes(Chosen::of($op))
    };
    (@bool $op:expr) => {
        AnyZip::Compares(Chosen::of($op))
    };
}

crate::__binary! { chooses [bool, bool] }
crate::__binary! { chooses [i64, integer] }
crate::__binary! { chooses [u64, integer] }
crate::__binary! { chooses [f64, float] }
crate::__binary! { chooses [num_complex::Complex<f32>, complex] }
crate::__binary! { chooses [num_complex::Complex<f64>, complex] }
