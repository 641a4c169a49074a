//! The operators of Rust on lazy values. The result of an array and a tensor is a tensor, in either order.

use std::borrow::Borrow;
use std::ops as operators;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::is;
use super::node::{Node, StepImpl, downcast};
use super::steps::{Steps, constant, found_both, row_of, step_impl};
use super::zips::{Beside, both_gradients};
use crate::element::{Bits, Element, Float, Numeric, Remainder, Signed};
use crate::kernels::zip::Zip;
use crate::ops::backward::Differentiable;
use crate::ops::descriptors::{Add, Div, Mul, MulNonzero, Rem, Sub};
use crate::ops::{self, OpSpec, Operand, Partner, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the implementation of an operation on an array and a tensor.
fn of_both<P: Pattern, T: Element, Z: Zip<T, T, Out = T> + Default>() -> StepImpl {
    step_impl!(Tensor<P, T>, |_, inputs| {
        let (array, x) = (downcast::<ArrayD<T>>(&inputs[0]), downcast::<Tensor<P, T>>(&inputs[1]));
        x.zip(array, Z::default())
    })
}

/// Returns the implementation of the gradients of both operands.
fn gradients_of_both<P: Pattern, T: Float + Numeric, D: Differentiable>() -> StepImpl {
    step_impl!((ArrayD<T>, Tensor<P, T>), |node, inputs| {
        found_both::<ArrayD<T>, Tensor<P, T>, _, _>(both_gradients::<Tensor<P, T>, D>(node, inputs))
    })
}

/// Returns the implementation of an operation on an array and a tensor, or of the gradients of both operands.
pub(super) fn find_impl<P: Pattern, T: Float + Numeric>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl> {
    let [array, x, ..] = inputs else { return None };
    if !is::<ArrayD<T>>(array) || !is::<Tensor<P, T>>(x) {
        return None;
    }
    row_of(
        call,
        &[
            (
                &op::any_backward,
                step_impl!(ArrayD<T>, |node, inputs| {
                    let (x, g) = (downcast::<ArrayD<T>>(&inputs[0]), downcast::<Tensor<P, T>>(&inputs[1]));
                    ops::any_backward(x, g, node.args().axes())
                }),
            ),
            (&op::add, of_both::<P, T, Add>()),
            (&op::sub, of_both::<P, T, Sub>()),
            (&op::mul, of_both::<P, T, Mul>()),
            (&op::mul_nonzero, of_both::<P, T, MulNonzero>()),
            (&op::div, of_both::<P, T, Div>()),
            (&op::add_backward, gradients_of_both::<P, T, Add>()),
            (&op::sub_backward, gradients_of_both::<P, T, Sub>()),
            (&op::mul_backward, gradients_of_both::<P, T, Mul>()),
            (&op::div_backward, gradients_of_both::<P, T, Div>()),
        ],
    )
}

/// Returns the step of an operation on an array and a tensor.
#[track_caller]
fn array_first<P: Pattern, T: Element, Z: Zip<T, T, Out = T> + Default>(
    op: &'static OpSpec,
    array: impl Borrow<Lazy<ArrayD<T>>>,
    x: impl Borrow<Lazy<Tensor<P, T>>>,
) -> Lazy<Tensor<P, T>> {
    let (array, x) = (array.borrow(), x.borrow());
    Lazy::step(Call::of(op, [Arg::Input(0), Arg::Input(1)]), [&array.node, &x.node], of_both::<P, T, Z>())
}

/// Returns a value whose elements are all `number`, at the positions of the elements of `x`. `x` does not receive a
/// gradient.
///
/// If `is_sum`, the value is the sum of zeros and the number. This sum has a textual form.
#[track_caller]
fn everywhere<X: Steps<Of<<X as Operand>::Elem> = X>>(x: &Lazy<X>, number: X::Elem, is_sum: bool) -> Lazy<X> {
    if is_sum {
        let zeros = step_impl!(X, |_, inputs| constant(downcast::<X>(&inputs[0]), X::Elem::ZERO));
        return Lazy::<X>::step(Call::of(&op::zeros_like, [Arg::Input(0)]), [&x.node], zeros).add(number);
    }
    let step_impl = step_impl!(X, |node, inputs| constant(downcast::<X>(&inputs[0]), node.args().element("number")));
    Lazy::step(Call::of(&op::number_like, [Arg::Input(0), Arg::element(number)]), [&x.node], step_impl)
}

/// Returns whether the sum of 0 and a number is that number. For `-0.0`, the sum is `0.0`.
fn is_sum<T: Element + Default + operators::Add<Output = T>>(number: T) -> bool {
    (T::default() + number).same(number)
}

/// Defines operators. Rust does not allow one implementation for all numbers on the left.
macro_rules! operators {
    ($numbers:tt $($op:ident $method:ident $bound:ident;)*) => {$(
        operators! {
            @two $op $method
            [X: Steps<Elem: $bound>, Y: Beside<X>] &Lazy<X>, Y => Lazy<X::Of<X::Elem>>, |x, y| Lazy::$method(x, y);
            [X: Steps<Elem: $bound>, Y: Beside<X>] Lazy<X>, Y => Lazy<X::Of<X::Elem>>, |x, y| Lazy::$method(&x, y);
            [P: Pattern, T: $bound] &Lazy<ArrayD<T>>, &Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| array_first::<P, T, $op>(&op::$method, array, x);
            [P: Pattern, T: $bound] Lazy<ArrayD<T>>, &Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| array_first::<P, T, $op>(&op::$method, array, x);
            [P: Pattern, T: $bound] &Lazy<ArrayD<T>>, Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| array_first::<P, T, $op>(&op::$method, array, x);
            [P: Pattern, T: $bound] Lazy<ArrayD<T>>, Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| array_first::<P, T, $op>(&op::$method, array, x);
            [P: Pattern, T: $bound, S: Data<Elem = T>, D: Dimension]
                &ArrayBase<S, D>, &Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| Lazy::constant(array.to_owned().into_dyn()).$method(x);
            [P: Pattern, T: $bound, S: Data<Elem = T>, D: Dimension]
                &ArrayBase<S, D>, Lazy<Tensor<P, T>> => Lazy<Tensor<P, T>>,
                |array, x| Lazy::constant(array.to_owned().into_dyn()).$method(x);
        }
        operators! { @numbers $op $method $numbers }
    )*};
    (@numbers $op:ident $method:ident [$($number:ty),*]) => {$(
        operators! {
            @two $op $method
            [X: Steps<Elem = $number, Of<$number> = X>] $number, &Lazy<X> => Lazy<X>,
                |number, x| everywhere(x, number, is_sum(number)).$method(x);
            [X: Steps<Elem = $number, Of<$number> = X>] $number, Lazy<X> => Lazy<X>,
                |number, x| everywhere(&x, number, is_sum(number)).$method(&x);
        }
    )*};
    (@two $op:ident $method:ident
        $([$($generics:tt)*] $left:ty, $right:ty => $out:ty, |$x:ident, $y:ident| $found:expr;)*) => {$(
        impl<$($generics)*> operators::$op<$right> for $left {
            type Output = $out;

            #[track_caller]
            fn $method(self, $y: $right) -> $out {
                let $x = self;
                $found
            }
        }
    )*};
    (@one $op:ident $method:ident $bound:ident: $($x:ty),*) => {$(
        impl<X: Steps<Elem: $bound>> operators::$op for $x {
            type Output = Lazy<X::Of<X::Elem>>;

            #[track_caller]
            fn $method(self) -> Self::Output {
                Lazy::$method(&self)
            }
        }
    )*};
}

operators! {
    [i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, num_complex::Complex<f32>, num_complex::Complex<f64>]
    Add add Element;
    Sub sub Numeric;
    Mul mul Element;
    Div div Numeric;
}
operators! { [] Rem rem Remainder; }
operators! { @one Neg neg Signed: Lazy<X>, &Lazy<X> }
operators! { @one Not not Bits: Lazy<X>, &Lazy<X> }
