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
use crate::kernels::zip::Zip;
use crate::ops::backward::{Differentiable, gradients};
use crate::ops::descriptors::{Add, Div, Mul, MulNonzero, Rem, Sub};
use crate::ops::{self, Partner, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the implementation of an operation on an array and a tensor.
fn of_both<P: Pattern, T: Element, Z: Zip<T, T, Out = T> + Default>() -> Made {
    made!(Tensor<P, T>, |_, inputs| {
        let (array, x) = (known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]));
        x.zip(array, Z::default())
    })
}

/// Returns the implementation of the gradients of both operands.
fn gradients_of_both<P: Pattern, T: Float + Numeric, D: Differentiable>() -> Made {
    made!((ArrayD<T>, Tensor<P, T>), |_, inputs| {
        let (x, g) = (known::<Tensor<P, T>>(&inputs[1]), known::<Tensor<P, T>>(&inputs[2]));
        gradients(D::default(), known::<ArrayD<T>>(&inputs[0]), x, g)
    })
}

/// Returns the implementation of an operation on an array and a tensor, or of the gradients of both.
pub(super) fn made<P: Pattern, T: Float + Numeric + RealNumber>(call: &Call, inputs: &[Arc<Node>]) -> Option<Made> {
    let [array, x, ..] = inputs else { return None };
    if !is::<ArrayD<T>>(array) || !is::<Tensor<P, T>>(x) {
        return None;
    }
    match call.op {
        op if op.is(&op::any_backward) => Some(made!(ArrayD<T>, |node, inputs| {
            let (x, g) = (known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]));
            ops::any_backward(x, g, node.args().axes())
        })),
        op if op.is(&op::add) => Some(of_both::<P, T, Add>()),
        op if op.is(&op::sub) => Some(of_both::<P, T, Sub>()),
        op if op.is(&op::mul) => Some(of_both::<P, T, Mul>()),
        op if op.is(&op::mul_nonzero) => Some(of_both::<P, T, MulNonzero>()),
        op if op.is(&op::div) => Some(of_both::<P, T, Div>()),
        op if op.is(&op::add_backward) => Some(gradients_of_both::<P, T, Add>()),
        op if op.is(&op::sub_backward) => Some(gradients_of_both::<P, T, Sub>()),
        op if op.is(&op::mul_backward) => Some(gradients_of_both::<P, T, Mul>()),
        op if op.is(&op::div_backward) => Some(gradients_of_both::<P, T, Div>()),
        _ => None,
    }
}

/// Defines the operators.
macro_rules! array_first {
    ($($op:ident $name:ident [$bound:ident];)*) => {$(
        impl<P: Pattern, T: $bound> operators::$op<&Lazy<Tensor<P, T>>> for &Lazy<ArrayD<T>> {
            type Output = Lazy<Tensor<P, T>>;

            #[track_caller]
            fn $name(self, x: &Lazy<Tensor<P, T>>) -> Lazy<Tensor<P, T>> {
                let call = Call::of(&op::$name, [Arg::Input(0), Arg::Input(1)]);
                Lazy::step(call, [&self.node, &x.node], of_both::<P, T, $op>())
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
