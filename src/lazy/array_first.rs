//! Operators with an array on the left of a tensor. The result is a tensor, as with the array on the right.

use std::ops as operators;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::is;
use super::node::{Made, Node, known};
use super::steps::made;
use crate::element::{Element, Float, Numeric, RealNumber, Remainder};
use crate::ops::{self, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Defines the steps. If an operation has a backward function, both operands have a gradient.
macro_rules! steps {
    ($($name:ident [$bound:ident] $($backward:ident)?;)*) => {
        $(
            fn $name<P: Pattern, T: $bound>() -> Made {
                made!(Tensor<P, T>, |_, inputs| {
                    ops::$name(known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]))
                })
            }
        )*

        /// Returns the implementation of an operation on an array and a tensor, or of the gradients of both.
        pub(super) fn made<P: Pattern, T: Float + Numeric + RealNumber>(
            call: &Call,
            inputs: &[Arc<Node>],
        ) -> Option<Made> {
            let [array, x, ..] = inputs else { return None };
            if !is::<ArrayD<T>>(array) || !is::<Tensor<P, T>>(x) {
                return None;
            }
            if call.op.is(&op::any_backward) {
                return Some(made!(ArrayD<T>, |node, inputs| {
                    let (x, g) = (known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]));
                    ops::any_backward(x, g, node.args().axes())
                }));
            }
            match call.op.name {
                $($(
                    stringify!($name) => Some($name::<P, T>()),
                    #[allow(unreachable_patterns)] // that of `mul` is that of `mul_nonzero`
                    stringify!($backward) => Some(made!((ArrayD<T>, Tensor<P, T>), |_, inputs| {
                        let (x, g) = (known::<Tensor<P, T>>(&inputs[1]), known::<Tensor<P, T>>(&inputs[2]));
                        ops::$backward(known::<ArrayD<T>>(&inputs[0]), x, g)
                    })),
                )?)*
                _ => None,
            }
        }
    };
}

steps! {
    add [Element] add_backward;
    sub [Numeric] sub_backward;
    mul [Element] mul_backward;
    mul_nonzero [Element] mul_backward;
    div [Numeric] div_backward;
    rem [Remainder];
}

/// Defines the operators.
macro_rules! array_first {
    ($($op:ident $name:ident [$bound:ident];)*) => {$(
        impl<P: Pattern, T: $bound> operators::$op<&Lazy<Tensor<P, T>>> for &Lazy<ArrayD<T>> {
            type Output = Lazy<Tensor<P, T>>;

            #[track_caller]
            fn $name(self, x: &Lazy<Tensor<P, T>>) -> Lazy<Tensor<P, T>> {
                let call = Call::of(&op::$name, [Arg::Input(0), Arg::Input(1)]);
                Lazy::step(call, [&self.node, &x.node], $name::<P, T>())
            }
        }

        array_first!(@owned $op $name [$bound] [], Lazy<ArrayD<T>>, &Lazy<Tensor<P, T>>, |array, x| (&array, x));
        array_first!(@owned $op $name [$bound] [], &Lazy<ArrayD<T>>, Lazy<Tensor<P, T>>, |array, x| (array, &x));
        array_first!(@owned $op $name [$bound] [], Lazy<ArrayD<T>>, Lazy<Tensor<P, T>>, |array, x| (&array, &x));
        array_first!(@owned $op $name [$bound] [S: Data<Elem = T>, D: Dimension,],
            &ArrayBase<S, D>, &Lazy<Tensor<P, T>>, |array, x| (&Lazy::constant(array.to_owned().into_dyn()), x));
        array_first!(@owned $op $name [$bound] [S: Data<Elem = T>, D: Dimension,],
            &ArrayBase<S, D>, Lazy<Tensor<P, T>>, |array, x| (&Lazy::constant(array.to_owned().into_dyn()), &x));
    )*};
    (@owned $op:ident $name:ident [$bound:ident] [$($more:tt)*], $left:ty, $right:ty,
        |$array:ident, $x:ident| ($of_left:expr, $of_right:expr)) => {
        impl<P: Pattern, T: $bound, $($more)*> operators::$op<$right> for $left {
            type Output = Lazy<Tensor<P, T>>;

            #[track_caller]
            fn $name(self, $x: $right) -> Lazy<Tensor<P, T>> {
                let $array = self;
                operators::$op::$name($of_left, $of_right)
            }
        }
    };
}

array_first! {
    Add add [Element];
    Sub sub [Numeric];
    Mul mul [Element];
    Div div [Numeric];
    Rem rem [Remainder];
}
