//! Elementwise functions as steps, their gradients, and changes of the element type, the fill or the pattern.

use std::any::Any;
use std::sync::Arc;

use super::Lazy;
use super::call::{Arg, Call, Typed};
use super::kit::is;
use super::node::{Family, StepImpl, downcast};
use super::steps::{LazyStored, Steps, found, is_float, methods, operand, step_impl};
use super::text::text_of_list;
use crate::element::{Bits, ComplexElement, Element, Float, Inexact, Magnitude, Numeric, Real, Signed};
use crate::ops::table::functions::element_of_result;
use crate::ops::{self, Isin, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Defines functions, from the rows of the table: the sentence, the arguments, the bound of the element type, the type
/// of the result, and the gradient.
macro_rules! maps {
    ($($family:ident {$(
        #[doc = $sentence:literal] $name:ident [$bound:ident -> $result:ident] $kinds:tt $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*})*) => {
        maps! {
            @rows
            $($($sentence $name() [$bound] -> element_of_result!($result T) [$($backward)?];)*)*
            "Raises each element to the power of an integer"
                powi(exponent: i32) [Numeric] -> T [powi_backward];
            "Raises each element to the power of a number"
                powf(exponent: T) [Float] -> T [powf_backward];
            "Returns each element clamped to two bounds"
                clamp(low: T, high: T) [Real] -> T [clamp_backward];
        }
    };
    (@rows $($sentence:literal $name:ident($($arg:ident: $type:tt),*) [$bound:ident] -> $out:ty [$($backward:ident)?];)*) => {
        /// # Elementwise functions
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            methods! {$(
                concat!($sentence, ": see [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $arg: $type)*) [$bound] -> Lazy<X::Of<$out>> {
                    let call = Call::of(&op::$name, [Arg::Input(0), $(Arg::element($arg)),*]);
                    Lazy::step(call, [&x.node], runs::$name::<T, X>())
                }
            )*}
        }

        /// # Elementwise functions of stored entries
        ///
        /// If the result has the same element type, the fill is unchanged. Otherwise the fill is the zero of the new
        /// type. Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            methods! {$(
                concat!($sentence, ": see [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x $(, $arg: $type)*) [$bound] -> Lazy<Tensor<P, $out>> {
                    let call = Call::of(&op::$name, [Arg::Stored(0), $(Arg::element($arg)),*]);
                    Lazy::step(call, [&x.x.node], runs::$name::<T, Tensor<P, T>>())
                }
            )*}
        }

        /// The implementations, for all elements and for stored entries.
        mod runs {
            use super::*;

            $(pub(super) fn $name<T: $bound, X: Steps<Elem = T>>() -> StepImpl {
                step_impl!(X::Of<$out>, |node, inputs| {
                    maps!(@found X, node, $name(&operand::<X>(node, &inputs[0])), $($arg: $type),*)
                })
            })*
        }

        /// Returns the implementation of a function with a gradient, or of its gradient.
        pub(super) fn find_impl<T, X>(call: &Call) -> Option<StepImpl>
        where
            T: Float + Numeric,
            X: Steps<Elem = T, Of<T> = X>,
        {
            $(maps!(@kit [$($backward)?] call, T, X, $name, $($arg: $type),*);)*
            None
        }
    };
    (@found $X:ty, $node:ident, $function:ident($($x:expr),*), $($arg:ident: $type:tt),*) => {
        found::<$X, _>(ops::$function($($x,)* $($node.args().element::<$type>(stringify!($arg))),*))
    };
    (@kit [] $($row:tt)*) => {};
    (@kit [$backward:ident] $call:ident, $T:ident, $X:ident, $name:ident, $($arg:ident: $type:tt),*) => {
        if $call.op.is(&op::$name) {
            return Some(runs::$name::<$T, $X>());
        }
        if $call.op.is(&op::$backward) {
            return Some(step_impl!($X, |node, inputs| {
                let (x, g) = (&operand::<$X>(node, &inputs[0]), downcast::<$X>(&inputs[1]));
                maps!(@found $X, node, $backward(x, g), $($arg: $type),*)
            }));
        }
    };
}

crate::__functions! { maps }

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Returns the step [`Tensor::cast`]: elements of another type.
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Lazy<Tensor<P, U>> {
        let call = Call::of(&op::cast, [Arg::Input(0), Arg::Word(U::DTYPE.name())]);
        Lazy::step(call, [&self.node], StepImpl { family: casts::<P, T, U>(), ..cast_of::<P, T, U>() })
    }

    /// Returns the step [`Tensor::with_fill`]: the same entries with another fill.
    #[track_caller]
    pub fn with_fill(&self, fill: T) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::with_fill, [Arg::Input(0), Arg::element(fill)]);
        Lazy::step(call, [&self.node], filled::<P, T>())
    }

    /// Returns the step [`Tensor::prune`], which does not have a gradient.
    ///
    /// The pattern of the result depends on values.
    #[track_caller]
    pub fn prune(&self) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::prune, [Arg::Input(0)]);
        Lazy::step(
            call,
            [&self.node],
            step_impl!(Tensor<P, T>, |_, inputs| downcast::<Tensor<P, T>>(&inputs[0]).prune()),
        )
    }
}

/// Returns the implementation of `with_fill`.
pub(super) fn filled<P: Pattern, T: Element>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        Ok(downcast::<Tensor<P, T>>(&inputs[0]).clone().with_fill(node.args().element("fill")))
    })
}

/// Returns the implementation of `cast`.
fn cast_of<P: Pattern, T: Element, U: Element>() -> StepImpl {
    step_impl!(Tensor<P, U>, |_, inputs| downcast::<Tensor<P, T>>(&inputs[0]).clone().cast::<U>())
}

/// Returns the implementations of the casts in both directions, if both types are floats.
fn casts<P: Pattern, T: Element, U: Element>() -> Option<Family> {
    let are_floats = is_float(T::DTYPE) && is_float(U::DTYPE);
    are_floats.then_some(|call, inputs| match inputs {
        _ if !call.op.is(&op::cast) => None,
        [x] if is::<Tensor<P, U>>(x) => Some(cast_of::<P, U, T>()),
        _ => Some(cast_of::<P, T, U>()),
    })
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Returns the step [`isin`](crate::isin()).
    ///
    /// The test values are copied.
    #[track_caller]
    pub fn isin<'a>(&self, members: impl Into<Isin<'a, T>>) -> Lazy<Tensor<P, bool>> {
        Lazy::step(call_of(Arg::Stored(0), members.into()), [&self.x.node], among::<Tensor<P, T>>())
    }
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`isin`](crate::isin()).
    ///
    /// The test values are copied.
    #[track_caller]
    pub fn isin<'a>(&self, members: impl Into<Isin<'a, T>>) -> Lazy<X::Of<bool>> {
        Lazy::step(call_of(Arg::Input(0), members.into()), [&self.node], among::<X>())
    }
}

/// Returns the implementation of `isin`.
fn among<X: Steps>() -> StepImpl {
    step_impl!(X::Of<bool>, |node, inputs| {
        let members = node.args().data::<Members<X::Elem>>("members").expect("members of this type");
        found::<X, _>(ops::isin(&operand::<X>(node, &inputs[0]), &members.0))
    })
}

/// The test values of `isin`.
#[derive(Debug)]
struct Members<T: Element>(Isin<'static, T>);

/// Returns the set of a call of `isin`.
pub(super) fn members_of<T: Element>(call: &Call) -> Option<&Isin<'static, T>> {
    call.data::<Members<T>>("members").map(|members| &members.0)
}

impl<T: Element> Typed for Members<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        let Some(Members(other)) = other.as_any().downcast_ref() else { return false };
        let (some, others) = (self.0.members(), other.members());
        some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.same(*other))
    }

    fn to_text(&self) -> Option<String> {
        text_of_list(self.0.members())
    }

    fn count(&self) -> usize {
        self.0.members().len()
    }
}

fn call_of<T: Element>(x: Arg, isin: Isin<'_, T>) -> Call {
    let invert = if isin.invert { Arg::Flag(true) } else { Arg::Absent };
    Call::of(&op::isin, [x, Arg::Typed(Arc::new(Members(isin.into_owned()))), invert])
}
