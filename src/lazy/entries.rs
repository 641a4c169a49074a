//! Binary operations on stored entries as steps. Unstored positions do not have a value.

use std::marker::PhantomData;
use std::sync::Arc;

use ndarray::ArrayD;

use super::call::{Arg, Call};
use super::kit::{constant, is};
use super::maps::filled;
use super::node::{Family, Held, Made, Node, known};
use super::steps::{LazyStored, Steps, family, found, made, operand};
use super::zips::Form;
use super::{Lazy, LazyPattern};
use crate::base::error::{Error, Result};
use crate::base::sealed::Sealed;
use crate::element::{Bits, Element, Float, FloatVisitor, Numeric, Real, RealNumber, Remainder};
use crate::kernels::zip::Zip;
use crate::ops::backward::{Differentiable, gradients};
use crate::ops::{self, OpSpec, Partner, descriptors, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The right operand of a binary operation on the stored entries of a lazy tensor.
///
/// The operand is a view of the stored entries of another lazy tensor, a lazy array, or a number of the element type.
/// The trait is sealed.
pub trait BesideStored<P: Pattern, T: Element>: Sealed {
    #[doc(hidden)]
    fn entries(self) -> Entries<P, T>;
}

/// The right operand of a binary operation on stored entries.
#[doc(hidden)]
pub enum Entries<P, T> {
    Step(LazyStored<P, T>),
    Array(Lazy<ArrayD<T>>),
    Number(T),
}

impl<P: Pattern, T: Element> BesideStored<P, T> for LazyStored<P, T> {
    fn entries(self) -> Entries<P, T> {
        Entries::Step(self)
    }
}

impl<P: Pattern, T: Element> BesideStored<P, T> for &LazyStored<P, T> {
    fn entries(self) -> Entries<P, T> {
        Entries::Step(self.clone())
    }
}

impl<P: Pattern, T: Element> BesideStored<P, T> for Lazy<ArrayD<T>> {
    fn entries(self) -> Entries<P, T> {
        Entries::Array(self)
    }
}

impl<P: Pattern, T: Element> BesideStored<P, T> for &Lazy<ArrayD<T>> {
    fn entries(self) -> Entries<P, T> {
        Entries::Array(self.clone())
    }
}

impl<P: Pattern, T: Element> BesideStored<P, T> for T {
    fn entries(self) -> Entries<P, T> {
        Entries::Number(self)
    }
}

/// Returns the step of an operation on stored entries.
#[track_caller]
fn zipped<P: Pattern, T: Element, Z: Zip<T, T> + Default>(
    op: &'static OpSpec,
    x: &LazyStored<P, T>,
    other: impl BesideStored<P, T>,
) -> Lazy<Tensor<P, Z::Out>> {
    let node = &x.x.node;
    match other.entries() {
        Entries::Number(number) => {
            let call = Call::of(op, [Arg::Stored(0), Arg::element(number)]);
            Lazy::step(call, [node], of_form::<P, T, Z>(Form::Number))
        }
        Entries::Array(array) => {
            let call = Call::of(op, [Arg::Stored(0), Arg::Input(1)]);
            Lazy::step(call, [node, &array.node], of_form::<P, T, Z>(Form::Array))
        }
        Entries::Step(other) => {
            let call = Call::of(op, [Arg::Stored(0), Arg::Stored(1)]);
            Lazy::step(call, [node, &other.x.node], of_form::<P, T, Z>(Form::Two))
        }
    }
}

/// Returns the implementation of an operation on stored entries.
fn of_form<P: Pattern, T: Element, Z: Zip<T, T> + Default>(form: Form) -> Made {
    match form {
        Form::Number => made!(Tensor<P, Z::Out>, |node, inputs| {
            let number: T = node.args().element("y");
            number.zip(&known::<Tensor<P, T>>(&inputs[0]).stored(), Z::default())
        }),
        Form::Array => made!(Tensor<P, Z::Out>, |_, inputs| {
            known::<ArrayD<T>>(&inputs[1]).zip(&known::<Tensor<P, T>>(&inputs[0]).stored(), Z::default())
        }),
        Form::Two => made!(Tensor<P, Z::Out>, |_, inputs| {
            let [x, y] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]).stored());
            y.zip(&x, Z::default())
        }),
    }
}

/// Returns the implementation of the gradients of an operation on stored entries.
fn gradients_of_form<P: Pattern, T: Float + Numeric, D: Differentiable>(form: Form) -> Made {
    match form {
        Form::Number => made!(Tensor<P, T>, |node, inputs| {
            let [x, g] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
            let y = constant(x, node.args().element("y"))?;
            gradients(D::default(), &x.stored(), &y.stored(), g).map(|(dx, _)| dx)
        }),
        Form::Array => made!((Tensor<P, T>, ArrayD<T>), |_, inputs| {
            let (x, g) = (known::<Tensor<P, T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[2]));
            gradients(D::default(), &x.stored(), known::<ArrayD<T>>(&inputs[1]), g)
        }),
        Form::Two => made!((Tensor<P, T>, Tensor<P, T>), |_, inputs| {
            let [x, y, g] = [0, 1, 2].map(|at| known::<Tensor<P, T>>(&inputs[at]));
            gradients(D::default(), &x.stored(), &y.stored(), g)
        }),
    }
}

/// Defines the methods, and the implementations of the operations that gradients use.
macro_rules! entries {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        /// # Binary operations on stored entries
        ///
        /// Unstored positions do not have a value. Each method is documented at the function of the same name.
        impl<P: Pattern, T: Element> LazyStored<P, T> {$(
            #[doc = $about]
            ///
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, other: impl BesideStored<P, T>) -> Lazy<Tensor<P, crate::__binary_result!($out T)>>
            where
                T: $bound,
            {
                zipped::<P, T, descriptors::$op>(&op::$name, self, other)
            }
        )*}

        /// Returns the implementation of an operation on stored entries with gradients, or of its gradients.
        pub(super) fn made<P: Pattern, T: Float + Numeric + RealNumber>(
            call: &Call,
            inputs: &[Arc<Node>],
        ) -> Option<Made> {
            if call.op.is(&op::with_fill) {
                return Some(filled::<P, T>());
            }
            if !call.is_stored() {
                return None;
            }
            if call.op.is(&op::recip) {
                return Some(made!(Tensor<P, T>, |_, inputs| ops::recip(&known::<Tensor<P, T>>(&inputs[0]).stored())));
            }
            let form = match call.arg(1) {
                Arg::Typed(_) => Form::Number,
                Arg::Stored(_) => Form::Two,
                Arg::Input(at) if is::<ArrayD<T>>(inputs.get(*at)?) => Form::Array,
                _ => return None,
            };
            $(crate::__if_some! { [$($backward)? $($of)?]
                if call.op.is(&op::$name) {
                    return Some(of_form::<P, T, descriptors::$op>(form));
                }
            })*
            $($(if call.op.is(&op::$backward) {
                return Some(gradients_of_form::<P, T, descriptors::$op>(form));
            })?)*
            None
        }
    };
}

crate::__binary! { entries }

/// Returns the implementations of `scale`, and of the operations that its gradients use.
fn scale_family<X: Steps, Y: Steps<Elem = X::Elem>>() -> Option<Family> {
    struct Find<X, Y>(PhantomData<fn() -> (X, Y)>);
    impl<X: Steps, Y: Steps> FloatVisitor for Find<X, Y> {
        type Out = Family;

        fn visit<F: Float + Numeric + RealNumber>(self) -> Family {
            |call, inputs| match call.op {
                op if op.is(&op::scale) => Some(scaled::<X::Of<F>, Y::Of<F>>()),
                op if op.is(&op::any_backward) && is::<Y::Of<F>>(&inputs[0]) && is::<X::Of<F>>(&inputs[1]) => {
                    Some(made!(Y::Of<F>, |node, inputs| {
                        let (x, g) = (known::<Y::Of<F>>(&inputs[0]), known::<X::Of<F>>(&inputs[1]));
                        ops::any_backward(x, g, node.args().axes()).map(<Y::Of<F>>::reduced)
                    }))
                }
                _ => None,
            }
        }
    }
    X::Elem::if_float(Find::<X, Y>(PhantomData))
}

/// Returns the implementation of `scale`, for all elements or for stored entries.
fn scaled<X: Steps, Y: Steps<Elem = X::Elem>>() -> Made {
    made!(X::Of<X::Elem>, |node, inputs| {
        let axis = node.args().position("axis", 0);
        found::<X, _>(known::<Y>(&inputs[1]).scales(&operand::<X>(node, &inputs[0]), axis))
    })
}

/// # Products with one factor per position of an axis
///
/// The method is documented at the function of the same name.
impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`scale`](crate::scale()). The factors are an array or a tensor of rank 1.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let weights = Lazy::from(arr1(&[10.0, 100.0]).into_dyn());
    /// let z = x.scale(0, &weights);
    /// assert_eq!(z.collect()?.values(), [30.0, 500.0]);
    /// assert_eq!(z.gradient(&weights, &z).collect()?, arr1(&[90.0, 2500.0]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn scale<Y: Steps<Elem = T>>(&self, axis: isize, factors: &Lazy<Y>) -> Lazy<X::Of<T>> {
        let call = Call::of(&op::scale, [Arg::Input(0), Arg::Integer(axis as i128), Arg::Input(1)]);
        let made = Made { family: scale_family::<X, Y>(), ..scaled::<X, Y>() };
        Lazy::step(call, [&self.node, &factors.node], made)
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Returns the step [`scale`](crate::scale()) of the stored entries. The fill stays the same.
    #[track_caller]
    pub fn scale<Y: Steps<Elem = T>>(&self, axis: isize, factors: &Lazy<Y>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::scale, [Arg::Stored(0), Arg::Integer(axis as i128), Arg::Input(1)]);
        let made = Made { family: scale_family::<Tensor<P, T>, Y>(), ..scaled::<Tensor<P, T>, Y>() };
        Lazy::step(call, [&self.x.node, &factors.node], made)
    }

    /// Returns the step [`mask`](crate::Stored::mask): the entries at positions that `mask` stores.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let other = CooTensor::new([3], vec![vec![1, 2]], vec![1.0, 1.0], 0.0)?.lazy();
    /// assert_eq!(x.stored().mask(&other.pattern()).collect()?.values(), [5.0]);
    /// assert_eq!(x.stored().without(&other.pattern()).collect()?.values(), [3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn mask<U: Element>(&self, mask: &LazyPattern<P, U>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::mask, [Arg::Stored(0), Arg::Input(1)]);
        Lazy::step(call, [&self.x.node, &mask.x.node], masked::<P, T>())
    }

    /// Returns the step [`without`](crate::Stored::without): the entries at positions that `mask` does not store.
    #[track_caller]
    pub fn without<U: Element>(&self, mask: &LazyPattern<P, U>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::without, [Arg::Stored(0), Arg::Input(1)]);
        Lazy::step(call, [&self.x.node, &mask.x.node], masked::<P, T>())
    }
}

/// Returns the implementation of `mask` or `without`, and of the gradient.
fn masked<P: Pattern, T: Element>() -> Made {
    let family = family!(T, [P: Pattern] Tensor<P, F>, |call, _inputs| match call.op {
        op if op.is(&op::mask) || op.is(&op::without) => Some(masked::<P, F>()),
        op if op.is(&op::mask_backward) || op.is(&op::without_backward) => Some(made!(Tensor<P, F>, |node, inputs| {
            let (x, g) = (known::<Tensor<P, F>>(&inputs[0]), known::<Tensor<P, F>>(&inputs[1]));
            with_mask::<P, _>(node, &inputs[2], 2, |mask| match node.args().op.is(&op::mask_backward) {
                true => ops::mask_backward(&x.stored(), g, mask),
                false => ops::without_backward(&x.stored(), g, mask),
            })
        })),
        _ => None,
    });
    let run = made!(Tensor<P, T>, |node, inputs| {
        let x = known::<Tensor<P, T>>(&inputs[0]).stored();
        with_mask::<P, _>(node, &inputs[1], 1, |mask| match node.args().op.is(&op::mask) {
            true => x.mask(mask),
            false => x.without(mask),
        })
    });
    Made { family, ..run }
}

/// Calls `keep` with the pattern of a mask. The elements of the mask may have any type, and are ignored.
fn with_mask<P: Pattern, R>(node: &Node, mask: &Held, input: usize, keep: impl FnOnce(&P) -> Result<R>) -> Result<R> {
    let mask = node.inputs[input].kind.by_pieces().map(|kind| kind.pattern(mask));
    keep(mask.as_ref().and_then(|mask| mask.downcast_ref()).ok_or(Error::NoTensor)?)
}

impl<P, T> Sealed for LazyStored<P, T> {}
impl<P, T> Sealed for &LazyStored<P, T> {}
