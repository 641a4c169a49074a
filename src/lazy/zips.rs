//! Binary operations as steps, and the operators of Rust.

use std::ops as operators;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::{constant, is};
use super::node::{Made, Node, known};
use super::steps::{Right, Steps, family, made};
use crate::base::sealed::Sealed;
use crate::element::{Bits, Element, Float, Numeric, Real, RealNumber, Remainder};
use crate::kernels::zip::Zip;
use crate::ops::backward::{Differentiable, gradients};
use crate::ops::{self, OpSpec, Operand, descriptors, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The right operand of a binary operation on a lazy value.
///
/// The right operand of a lazy tensor is one of:
///
/// - a lazy tensor of the same format and element type, `y` or `&y`;
/// - a tensor of the same format and element type, `&y`;
/// - a lazy array or an array of the same element type;
/// - a number of the element type.
///
/// In operators, an array or a number can also be the left operand of a lazy tensor. The trait is sealed.
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::lazy::Lazy;
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?.lazy();
/// let weights = Lazy::from(arr1(&[10.0, 100.0]).into_dyn());
/// let z = &x * &weights;
/// assert_eq!(z.collect()?.values(), [300.0, 50.0]);
/// assert_eq!((&x * &arr1(&[10.0, 100.0])).collect()?.values(), [300.0, 50.0]);
/// assert_eq!((&weights * &x).collect()?, z.collect()?);
/// assert_eq!(z.gradient(&weights, &x).collect()?, arr1(&[25.0, 9.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside a lazy `{X}` in an elementwise step",
    label = "not a step or tensor of the same format and element type, nor an array or a number of that",
    note = "`to_coo`, `to_csr` and `cast` make two alike; `scale` takes a vector of another kind, `matmul` a matrix"
)]
pub trait Beside<X: Steps>: Sealed {
    #[doc(hidden)]
    fn side(self) -> Side<X>;
}

/// The right operand of a binary operation.
#[doc(hidden)]
pub enum Side<X: Steps> {
    Step(Lazy<X>),
    Array(Lazy<ArrayD<X::Elem>>),
    Number(X::Elem),
}

impl<X: Steps> Beside<X> for Lazy<X> {
    fn side(self) -> Side<X> {
        Side::Step(self)
    }
}

impl<X: Steps> Beside<X> for &Lazy<X> {
    fn side(self) -> Side<X> {
        Side::Step(self.clone())
    }
}

impl<P: Pattern, T: Element> Beside<Tensor<P, T>> for &Tensor<P, T> {
    #[track_caller]
    fn side(self) -> Side<Tensor<P, T>> {
        Side::Step(Lazy::constant(self.clone()))
    }
}

impl<P: Pattern, T: Element> Beside<Tensor<P, T>> for Lazy<ArrayD<T>> {
    fn side(self) -> Side<Tensor<P, T>> {
        Side::Array(self)
    }
}

impl<P: Pattern, T: Element> Beside<Tensor<P, T>> for &Lazy<ArrayD<T>> {
    fn side(self) -> Side<Tensor<P, T>> {
        Side::Array(self.clone())
    }
}

impl<P: Pattern, T: Element, S: Data<Elem = T>, D: Dimension> Beside<Tensor<P, T>> for &ArrayBase<S, D> {
    #[track_caller]
    fn side(self) -> Side<Tensor<P, T>> {
        Side::Array(Lazy::constant(self.to_owned().into_dyn()))
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> Beside<ArrayD<T>> for &ArrayBase<S, D> {
    #[track_caller]
    fn side(self) -> Side<ArrayD<T>> {
        Side::Step(Lazy::constant(self.to_owned().into_dyn()))
    }
}

impl<T: Element, X: Steps<Elem = T>> Beside<X> for T {
    fn side(self) -> Side<X> {
        Side::Number(self)
    }
}

/// The kind of the right operand.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Number,
    Array,
    Two,
}

/// Returns the step of an operation.
#[track_caller]
fn zipped<X: Steps, Z: Zip<X::Elem, X::Elem> + Default>(
    op: &'static OpSpec,
    x: &Lazy<X>,
    other: impl Beside<X>,
) -> Lazy<X::Of<Z::Out>> {
    let of_two = || Call::of(op, [Arg::Input(0), Arg::Input(1)]);
    match other.side() {
        Side::Number(number) => {
            let call = Call::of(op, [Arg::Input(0), Arg::element(number)]);
            Lazy::step(call, [&x.node], of_form::<X, Z>(Form::Number))
        }
        Side::Array(other) => Lazy::step(of_two(), [&x.node, &other.node], of_form::<X, Z>(Form::Array)),
        Side::Step(other) => Lazy::step(of_two(), [&x.node, &other.node], of_form::<X, Z>(Form::Two)),
    }
}

/// Returns the implementation of an operation.
fn of_form<X: Steps, Z: Zip<X::Elem, X::Elem> + Default>(form: Form) -> Made {
    match form {
        Form::Number => made!(X::Of<Z::Out>, |node, inputs| {
            known::<X>(&inputs[0]).zipped(Right::Number(node.args().element("y")), Z::default())
        }),
        Form::Array => made!(X::Of<Z::Out>, |_, inputs| {
            known::<X>(&inputs[0]).zipped(Right::Array(known(&inputs[1])), Z::default())
        }),
        Form::Two => made!(X::Of<Z::Out>, |_, inputs| {
            known::<X>(&inputs[0]).zipped(Right::Value(known(&inputs[1])), Z::default())
        }),
    }
}

/// Returns the implementation of the gradients of an operation. A number does not receive a gradient.
fn gradients_of_form<X, D>(form: Form) -> Made
where
    X: Steps<Elem: Float + Numeric, Of<<X as Operand>::Elem> = X>,
    D: Differentiable,
{
    match form {
        Form::Number => made!(X, |node, inputs| {
            let (x, g) = (known::<X>(&inputs[0]), known::<X>(&inputs[1]));
            let y = constant(x, node.args().element("y"))?;
            gradients(D::default(), x, &y, g).map(|(dx, _)| X::reduced(dx))
        }),
        Form::Array => made!((X, ArrayD<X::Elem>), |_, inputs| {
            let (y, g) = (known::<ArrayD<X::Elem>>(&inputs[1]), known::<X>(&inputs[2]));
            gradients(D::default(), known::<X>(&inputs[0]), y, g).map(|(dx, dy)| (X::reduced(dx), dy))
        }),
        Form::Two => made!((X, X), |_, inputs| {
            let [x, y, g] = [0, 1, 2].map(|at| known::<X>(&inputs[at]));
            gradients(D::default(), x, y, g).map(|(dx, dy)| (X::reduced(dx), X::reduced(dy)))
        }),
    }
}

/// Defines the methods, and the implementations of the operations that gradients use.
macro_rules! zips {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        /// # Binary operations
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            #[doc = $about]
            ///
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, other: impl Beside<X>) -> Lazy<X::Of<crate::__binary_result!($out X::Elem)>>
            where
                T: $bound,
            {
                zipped::<X, descriptors::$op>(&op::$name, self, other)
            }
        )*}

        /// Returns the implementation of an operation with gradients, or of its gradients.
        pub(super) fn made<T, X>(call: &Call, inputs: &[Arc<Node>]) -> Option<Made>
        where
            T: Float + Numeric + RealNumber,
            X: Steps<Elem = T, Of<T> = X>,
        {
            if call.is_stored() {
                return None;
            }
            let form = match call.arg(1) {
                Arg::Typed(_) => Form::Number,
                Arg::Input(at) if is::<X>(inputs.get(*at)?) => Form::Two,
                Arg::Input(at) if is::<ArrayD<T>>(inputs.get(*at)?) => Form::Array,
                _ => return None,
            };
            $(crate::__if_some! { [$($backward)? $($of)?]
                if call.op.is(&op::$name) {
                    return Some(of_form::<X, descriptors::$op>(form));
                }
            })*
            $($(if call.op.is(&op::$backward) {
                return Some(gradients_of_form::<X, descriptors::$op>(form));
            })?)*
            None
        }
    };
}

crate::__binary! { zips }

macro_rules! operators {
    ($($op:ident $method:ident $bound:ident),*) => {$(
        impl<X: Steps<Elem: $bound>, Y: Beside<X>> operators::$op<Y> for &Lazy<X> {
            type Output = Lazy<X::Of<X::Elem>>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                Lazy::$method(self, other)
            }
        }

        impl<X: Steps<Elem: $bound>, Y: Beside<X>> operators::$op<Y> for Lazy<X> {
            type Output = Lazy<X::Of<X::Elem>>;

            #[track_caller]
            fn $method(self, other: Y) -> Self::Output {
                Lazy::$method(&self, other)
            }
        }
    )*};
}

operators!(Add add Element, Sub sub Numeric, Mul mul Element, Div div Numeric, Rem rem Remainder);

impl<X: Steps<Elem: crate::element::Signed>> operators::Neg for &Lazy<X> {
    type Output = Lazy<X::Of<X::Elem>>;

    #[track_caller]
    fn neg(self) -> Self::Output {
        Lazy::neg(self)
    }
}

impl<X: Steps<Elem: crate::element::Signed>> operators::Neg for Lazy<X> {
    type Output = Lazy<X::Of<X::Elem>>;

    #[track_caller]
    fn neg(self) -> Self::Output {
        Lazy::neg(&self)
    }
}

impl<X: Steps<Elem: Bits>> operators::Not for &Lazy<X> {
    type Output = Lazy<X::Of<X::Elem>>;

    #[track_caller]
    fn not(self) -> Self::Output {
        Lazy::not(self)
    }
}

impl<X: Steps<Elem: Bits>> operators::Not for Lazy<X> {
    type Output = Lazy<X::Of<X::Elem>>;

    #[track_caller]
    fn not(self) -> Self::Output {
        Lazy::not(&self)
    }
}

/// Returns a value whose elements are all `number`, at the positions of the elements of `x`. `x` does not receive a
/// gradient.
///
/// If `is_sum`, the value is the sum of zeros and the number, which has a textual form.
#[track_caller]
fn everywhere<X: Steps<Of<<X as Operand>::Elem> = X>>(x: &Lazy<X>, number: X::Elem, is_sum: bool) -> Lazy<X> {
    if is_sum {
        return zeros_of(x).add(number);
    }
    let call = Call::of(&op::number_like, [Arg::Input(0), Arg::element(number)]);
    Lazy::step(
        call,
        [&x.node],
        made!(X, |node, inputs| constant(known::<X>(&inputs[0]), node.args().element("number"))),
    )
}

/// Returns zeros at the positions of the elements of a value, which does not receive a gradient.
#[track_caller]
pub(super) fn zeros_of<X: Steps<Of<<X as Operand>::Elem> = X>>(x: &Lazy<X>) -> Lazy<X> {
    let call = Call::of(&op::zeros_like, [Arg::Input(0)]);
    Lazy::step(call, [&x.node], made!(X, |_, inputs| constant(known::<X>(&inputs[0]), X::Elem::ZERO)))
}

/// Returns whether the sum of 0 and a number is that number. For `-0.0`, the sum is `0.0`.
fn is_sum<T: Element + Default + operators::Add<Output = T>>(number: T) -> bool {
    (T::default() + number).same(number)
}

impl<P: Pattern> Lazy<Tensor<P, bool>> {
    /// Returns the step [`where_`](crate::where_()): each element is from `yes` or from `no`.
    ///
    /// The condition does not receive a gradient.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-2.0, 3.0], 0.0)?.lazy();
    /// let leaky = x.less(0.0).where_(&(&x * 0.5), &x);
    /// assert_eq!(leaky.collect()?.values(), [-1.0, 3.0]);
    /// assert_eq!(leaky.gradient(&x, &x.abs()).collect()?.values(), [1.0, 3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn where_<T: Element>(&self, yes: &Lazy<Tensor<P, T>>, no: &Lazy<Tensor<P, T>>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::where_, [Arg::Input(0), Arg::Input(1), Arg::Input(2)]);
        let family = family!(T, [P: Pattern] Tensor<P, F>, |call, _inputs| match call.op {
            op if op.is(&op::where_) => Some(choice::<P, F>()),
            op if op.is(&op::where_backward) => Some(made!((Tensor<P, F>, Tensor<P, F>), |_, inputs| {
                let [yes, no, g] = [1, 2, 3].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::where_backward(known::<Tensor<P, bool>>(&inputs[0]), yes, no, g)
            })),
            _ => None,
        });
        Lazy::step(call, [&self.node, &yes.node, &no.node], Made { family, ..choice::<P, T>() })
    }
}

/// Returns the implementation of `where_`.
fn choice<P: Pattern, T: Element>() -> Made {
    made!(Tensor<P, T>, |_, inputs| {
        let [yes, no] = [1, 2].map(|at| known::<Tensor<P, T>>(&inputs[at]));
        ops::where_(known::<Tensor<P, bool>>(&inputs[0]), yes, no)
    })
}

/// Defines operators with a number on the left. Rust does not allow one implementation for all types.
macro_rules! numbers {
    ($($type:ty),*) => {$(
        numbers!(@ $type: Add add, Sub sub, Mul mul, Div div);
    )*};
    (@ $type:ty: $($op:ident $method:ident),*) => {$(
        impl<X: Steps<Elem = $type, Of<$type> = X>> operators::$op<&Lazy<X>> for $type {
            type Output = Lazy<X>;

            #[track_caller]
            fn $method(self, x: &Lazy<X>) -> Lazy<X> {
                everywhere(x, self, is_sum(self)).$method(x)
            }
        }

        impl<X: Steps<Elem = $type, Of<$type> = X>> operators::$op<Lazy<X>> for $type {
            type Output = Lazy<X>;

            #[track_caller]
            fn $method(self, x: Lazy<X>) -> Lazy<X> {
                operators::$op::$method(self, &x)
            }
        }
    )*};
}

numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, num_complex::Complex<f32>, num_complex::Complex<f64>);

impl<X> Sealed for Lazy<X> {}
impl<X> Sealed for &Lazy<X> {}
impl<P, T> Sealed for &Tensor<P, T> {}
impl<S: Data, D> Sealed for &ArrayBase<S, D> {}
