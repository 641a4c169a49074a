//! Matrix products in which at least one operand is an array.

use ndarray::ArrayD;

use super::call::{Arg, Call};
use super::node::{Made, known};
use super::steps::{family, made};
use super::{Lazy, Value};
use crate::element::{Element, Float, Numeric, RealNumber, Ring};
use crate::ops::{self, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The right operand of a lazy tensor in [`Lazy::matmul`]: a tensor or an array.
///
/// A tensor must have the same format. The trait is sealed.
pub trait Factor<P: Pattern, T: Element>: Value {
    #[doc(hidden)]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self>;
}

impl<P: Pattern, T: Ring> Factor<P, T> for Tensor<P, T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        x.matmul_tensor(y)
    }
}

impl<P: Pattern, T: Ring> Factor<P, T> for ArrayD<T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        tensor_by_array(x, y)
    }
}

/// The right operand of a lazy array in [`Lazy::matmul`]: an array or a tensor.
///
/// The trait is sealed.
pub trait ArrayFactor<T: Ring>: Value {
    #[doc(hidden)]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>>;
}

impl<T: Ring> ArrayFactor<T> for ArrayD<T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        array_by_array(x, y)
    }
}

impl<P: Pattern, T: Ring> ArrayFactor<T> for Tensor<P, T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        let call = Call::of(&op::matmul, [Arg::Input(0), Arg::Input(1)]);
        let family = family!(T, [P: Pattern] P, |call, _inputs| match call.op {
            op if op.is(&op::matmul) => Some(by_tensor::<P, F>()),
            op if op.is(&op::matmul_backward) => Some(made!((ArrayD<F>, Tensor<P, F>), |_, inputs| {
                let (x, g) = (known::<ArrayD<F>>(&inputs[0]), known::<ArrayD<F>>(&inputs[2]));
                ops::matmul_backward(x, known::<Tensor<P, F>>(&inputs[1]), g)
            })),
            _ => None,
        });
        Lazy::step(call, [&x.node, &y.node], Made { family, ..by_tensor::<P, T>() })
    }
}

fn by_tensor<P: Pattern, T: Ring>() -> Made {
    made!(ArrayD<T>, |_, inputs| ops::matmul(known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1])))
}

impl<T: Ring> Lazy<ArrayD<T>> {
    /// Returns the step [`matmul`](crate::matmul()). The right operand is an array or a tensor.
    ///
    /// ```
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr2;
    ///
    /// let features = Lazy::from(arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
    /// let weights = Lazy::from(arr2(&[[1.0], [10.0]]).into_dyn());
    /// let scores = features.matmul(&weights);
    /// assert_eq!(scores.collect()?, arr2(&[[21.0], [43.0]]).into_dyn());
    /// assert_eq!(scores.gradient(&weights, &scores).collect()?, arr2(&[[150.0], [214.0]]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<Y: ArrayFactor<T>>(&self, other: &Lazy<Y>) -> Self {
        Y::product_of_array(self, other)
    }
}

/// Defines products with an array on the right.
macro_rules! by_arrays {
    ($($name:ident [$of:ident: $bound:ident] [$($generics:tt)*] $x:ty, $floats:ty;)*) => {$(
        #[track_caller]
        fn $name<$($generics)*>(x: &Lazy<$x>, y: &Lazy<ArrayD<T>>) -> Lazy<ArrayD<T>> {
            let call = Call::of(&op::matmul, [Arg::Input(0), Arg::Input(1)]);
            let run = made!(ArrayD<T>, |_, inputs| {
                ops::matmul(known::<$x>(&inputs[0]), known::<ArrayD<T>>(&inputs[1]))
            });
            let family = family!(T, [$of: $bound] $x, |call, _inputs| match call.op {
                op if op.is(&op::matmul) => Some(made!(ArrayD<F>, |_, inputs| {
                    ops::matmul(known::<$floats>(&inputs[0]), known::<ArrayD<F>>(&inputs[1]))
                })),
                op if op.is(&op::matmul_backward) => Some(made!(($floats, ArrayD<F>), |_, inputs| {
                    let (y, g) = (known::<ArrayD<F>>(&inputs[1]), known::<ArrayD<F>>(&inputs[2]));
                    ops::matmul_backward(known::<$floats>(&inputs[0]), y, g)
                })),
                _ => None,
            });
            Lazy::step(call, [&x.node, &y.node], Made { family, ..run })
        }
    )*};
}

by_arrays! {
    tensor_by_array [P: Pattern] [P: Pattern, T: Ring] Tensor<P, T>, Tensor<P, F>;
    array_by_array [T: Element] [T: Ring] ArrayD<T>, ArrayD<F>;
}
