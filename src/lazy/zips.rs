//! Binary operations as steps, on all elements or on stored entries.

use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::is;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::steps::{LazyStored, Steps, constant, family, found, found_both, methods, operand, step, step_impl, viewed};
use crate::base::error::Result;
use crate::base::sealed::Sealed;
use crate::element::{Bits, Element, Float, Numeric, Real, Remainder, Shift};
use crate::kernels::zip::Zip;
use crate::ops::backward::{Differentiable, gradients};
use crate::ops::{self, ErasedOperand, ErasedResult, OpSpec, Operand, descriptors, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The right operand of a binary operation on a lazy value.
///
/// The right operand of a lazy tensor is one of these values:
///
/// - a lazy tensor of the same format and element type, `y` or `&y`;
/// - a tensor of the same format and element type, `&y`;
/// - a lazy array or an array of the same element type;
/// - a number of the element type.
///
/// The operators of Rust also accept an array or a number as the left operand, with a lazy tensor on the right. The
/// trait is sealed.
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
    message = "`{Self}` cannot be combined with a lazy `{X}` in an elementwise step",
    label = "not a step or tensor of the same format and element type, and not an array or a number of that type",
    note = "convert operands to the same type with `to_coo`, `to_csr` and `cast`; `scale` and `matmul` accept vectors \
            and matrices of another kind"
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

/// Implements the traits of right operands.
macro_rules! sides {
    ($([$($generics:tt)*] $trait:ident::$side:ident<[$($of:tt)*]> for $type:ty => $x:ty, |$own:ident| $found:expr;)*) => {$(
        impl<$($generics)*> $trait<$($of)*> for $type {
            #[track_caller]
            fn $side(self) -> Side<$x> {
                let $own = self;
                $found
            }
        }
    )*};
}

sides! {
    [X: Steps] Beside::side<[X]> for Lazy<X> => X, |y| Side::Step(y);
    [X: Steps] Beside::side<[X]> for &Lazy<X> => X, |y| Side::Step(y.clone());
    [T: Element, X: Steps<Elem = T>] Beside::side<[X]> for T => X, |number| Side::Number(number);
    [P: Pattern, T: Element] Beside::side<[Tensor<P, T>]> for &Tensor<P, T> => Tensor<P, T>,
        |y| Side::Step(Lazy::constant(y.clone()));
    [P: Pattern, T: Element] Beside::side<[Tensor<P, T>]> for Lazy<ArrayD<T>> => Tensor<P, T>, |y| Side::Array(y);
    [P: Pattern, T: Element] Beside::side<[Tensor<P, T>]> for &Lazy<ArrayD<T>> => Tensor<P, T>,
        |y| Side::Array(y.clone());
    [P: Pattern, T: Element, S: Data<Elem = T>, D: Dimension] Beside::side<[Tensor<P, T>]> for &ArrayBase<S, D>
        => Tensor<P, T>, |y| Side::Array(Lazy::constant(y.to_owned().into_dyn()));
    [T: Element, S: Data<Elem = T>, D: Dimension] Beside::side<[ArrayD<T>]> for &ArrayBase<S, D> => ArrayD<T>,
        |y| Side::Step(Lazy::constant(y.to_owned().into_dyn()));
    [P: Pattern, T: Element] BesideStored::entries<[P, T]> for LazyStored<P, T> => Tensor<P, T>, |y| Side::Step(y.x);
    [P: Pattern, T: Element] BesideStored::entries<[P, T]> for &LazyStored<P, T> => Tensor<P, T>,
        |y| Side::Step(y.x.clone());
    [P: Pattern, T: Element] BesideStored::entries<[P, T]> for Lazy<ArrayD<T>> => Tensor<P, T>, |y| Side::Array(y);
    [P: Pattern, T: Element] BesideStored::entries<[P, T]> for &Lazy<ArrayD<T>> => Tensor<P, T>,
        |y| Side::Array(y.clone());
    [P: Pattern, T: Element] BesideStored::entries<[P, T]> for T => Tensor<P, T>, |number| Side::Number(number);
}

/// The right operand of a binary operation on the stored entries of a lazy tensor.
///
/// The operand is a view of the stored entries of another lazy tensor, a lazy array, or a number of the element type.
/// The trait is sealed.
pub trait BesideStored<P: Pattern, T: Element>: Sealed {
    #[doc(hidden)]
    fn entries(self) -> Side<Tensor<P, T>>;
}

/// Returns the step of an operation. `of` is [`Arg::Input`], or [`Arg::Stored`] for operations on stored entries.
#[track_caller]
fn zipped<X: Steps, Z: Zip<X::Elem, X::Elem> + Default>(
    op: &'static OpSpec,
    x: &Lazy<X>,
    y: Side<X>,
    of: fn(usize) -> Arg,
) -> Lazy<X::Of<Z::Out>> {
    zipped_by(x, y, of, |operands| Call::of(op, operands), of_both::<X, Z>())
}

/// Returns the step of an operation on two operands, by its call and its implementation.
#[track_caller]
pub(super) fn zipped_by<X: Steps, U: Element>(
    x: &Lazy<X>,
    y: Side<X>,
    of: fn(usize) -> Arg,
    call: impl FnOnce([Arg; 2]) -> Call,
    implementation: StepImpl,
) -> Lazy<X::Of<U>> {
    let (y, node) = match y {
        Side::Number(number) => (Arg::element(number), None),
        Side::Array(y) => (Arg::Input(1), Some(y.node)),
        Side::Step(y) => (of(1), Some(y.node)),
    };
    let inputs = std::iter::once(Arc::clone(&x.node)).chain(node).collect();
    Lazy::of(Arc::new(step(call([of(0), y]), inputs, implementation)))
}

/// Returns the implementation of an operation.
fn of_both<X: Steps, Z: Zip<X::Elem, X::Elem> + Default>() -> StepImpl {
    step_impl!(X::Of<Z::Out>, |node, inputs| X::zipped(node.args(), inputs, Z::default()))
}

/// Returns the operand of a binary operation: a value, or an array.
fn side<'a, X: Steps>(node: &Node, input: &'a ErasedValue) -> ErasedOperand<'a, X::Elem> {
    match input.is::<X>() {
        true => operand::<X>(node, input),
        false => downcast::<ArrayD<X::Elem>>(input).erased(),
    }
}

/// Returns the gradients of both operands of an operation. A number is treated as an operand at the positions of the
/// other operand. `X` is the type of the upstream gradient.
pub(super) fn both_gradients<X, D>(node: &Node, inputs: &[ErasedValue]) -> Result<Both<X::Elem>>
where
    X: Steps<Elem: Float + Numeric>,
    D: Differentiable,
{
    match inputs {
        [x, y, g] => gradients(D::default(), &side::<X>(node, x), &side::<X>(node, y), &downcast::<X>(g).erased()),
        inputs => {
            let (x, g) = (downcast::<X>(&inputs[0]), downcast::<X>(&inputs[1]).erased());
            let y = constant(x, node.args().element("y"))?;
            gradients(D::default(), &viewed(node.args(), x), &viewed(node.args(), &y), &g)
        }
    }
}

type Both<T> = (ErasedResult<T>, ErasedResult<T>);

/// Returns the implementation of the gradients of an operation. A number does not receive a gradient.
fn gradients_of<X, D>(y: Option<&Arc<Node>>) -> StepImpl
where
    X: Steps<Elem: Float + Numeric, Of<<X as Operand>::Elem> = X>,
    D: Differentiable,
{
    match y {
        None => step_impl!(X, |node, inputs| found::<X, _>(both_gradients::<X, D>(node, inputs).map(|(dx, _)| dx))),
        Some(y) if is::<X>(y) => {
            step_impl!((X, X), |node, inputs| found_both::<X, X, _, _>(both_gradients::<X, D>(node, inputs)))
        }
        Some(_) => step_impl!((X, ArrayD<X::Elem>), |node, inputs| {
            found_both::<X, ArrayD<X::Elem>, _, _>(both_gradients::<X, D>(node, inputs))
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
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            methods! {$(
                concat!($about, "\n\nThe step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x, other: impl Beside<X>) [$bound] -> Lazy<X::Of<crate::__binary_result!($out X::Elem)>> {
                    zipped::<X, descriptors::$op>(&op::$name, x, other.side(), Arg::Input)
                }
            )*}
        }

        /// # Binary operations on stored entries
        ///
        /// Unstored positions do not have a value. Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            methods! {$(
                concat!($about, "\n\nThe step [`", stringify!($name), "`](crate::", stringify!($name), "()).") =>
                $name(x, other: impl BesideStored<P, T>) [$bound] -> Lazy<Tensor<P, crate::__binary_result!($out T)>> {
                    zipped::<Tensor<P, T>, descriptors::$op>(&op::$name, &x.x, other.entries(), Arg::Stored)
                }
            )*}
        }

        /// Returns the implementation of an operation with gradients, or of its gradients. `y` is the right operand,
        /// unless it is a number.
        fn row<T, X>(call: &Call, y: Option<&Arc<Node>>) -> Option<StepImpl>
        where
            T: Float + Numeric,
            X: Steps<Elem = T, Of<T> = X>,
        {
            $(crate::__if_some! { [$($backward)? $($of)?]
                if call.op.is(&op::$name) {
                    return Some(of_both::<X, descriptors::$op>());
                }
            })*
            $($(if call.op.is(&op::$backward) {
                return Some(gradients_of::<X, descriptors::$op>(y));
            })?)*
            None
        }
    };
}

crate::__binary! { zips }

/// Returns the implementation of an operation with gradients, or of its gradients.
pub(super) fn find_impl<T, X>(call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl>
where
    T: Float + Numeric,
    X: Steps<Elem = T, Of<T> = X>,
{
    match call.arg(1) {
        Arg::Typed(_) => row::<T, X>(call, None),
        other => {
            let y = inputs.get(other.input()?).filter(|y| is::<X>(y) || is::<ArrayD<T>>(y))?;
            row::<T, X>(call, Some(y))
        }
    }
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
        let family = family!(
            T, [P: Pattern]
            where_ => choice::<P, F>(),
            where_backward => step_impl!((Tensor<P, F>, Tensor<P, F>), |_, inputs| {
                let [yes, no, g] = [1, 2, 3].map(|at| downcast::<Tensor<P, F>>(&inputs[at]));
                ops::where_backward(downcast::<Tensor<P, bool>>(&inputs[0]), yes, no, g)
            }),
        );
        Lazy::step(call, [&self.node, &yes.node, &no.node], StepImpl { family, ..choice::<P, T>() })
    }
}

/// Returns the implementation of `where_`.
fn choice<P: Pattern, T: Element>() -> StepImpl {
    step_impl!(Tensor<P, T>, |_, inputs| {
        let [yes, no] = [1, 2].map(|at| downcast::<Tensor<P, T>>(&inputs[at]));
        ops::where_(downcast::<Tensor<P, bool>>(&inputs[0]), yes, no)
    })
}

impl<X> Sealed for Lazy<X> {}
impl<X> Sealed for &Lazy<X> {}
impl<P, T> Sealed for &Tensor<P, T> {}
impl<S: Data, D> Sealed for &ArrayBase<S, D> {}
impl<P, T> Sealed for LazyStored<P, T> {}
impl<P, T> Sealed for &LazyStored<P, T> {}
