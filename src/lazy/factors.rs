//! Products of a tensor or an array and an array, and of an array and a tensor.

use std::sync::Arc;

use ndarray::ArrayD;

use super::arrays::{OfFloats, TWO, two_of};
use super::gradient::linear_in_each;
use super::node::{Form, Held, Node, known};
use super::products::product_shape;
use super::text::{Text, said};
use super::unary::{Steps, rule_of_all, step};
use super::{Lazy, Value, shares};
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber, Ring};
use crate::ops::{self, Operand};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What may stand on the right in [`Lazy::matmul`]: a tensor of the same format, or an array. The trait is sealed.
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
        by_array(x, y)
    }
}

/// What may stand on the right of an array in [`Lazy::matmul`]: an array, or a tensor. The trait is sealed.
pub trait ArrayFactor<T: Ring>: Value {
    #[doc(hidden)]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>>;
}

impl<T: Ring> ArrayFactor<T> for ArrayD<T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        by_array(x, y)
    }
}

impl<P: Pattern, T: Ring> ArrayFactor<T> for Tensor<P, T> {
    #[track_caller]
    fn product_of_array(x: &Lazy<ArrayD<T>>, y: &Lazy<Self>) -> Lazy<ArrayD<T>> {
        let shape = |[x, y]: [&Shape; 2]| product_shape(x, y);
        let run = |inputs: &[Held]| ops::matmul(known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]));
        let product: Lazy<ArrayD<T>> = step("matmul", String::new(), [&x.node, &y.node], Form::Own, shape, run);
        let product = product.written(Text::call("matmul", &["%0", "%1"], said!()));
        rule_of_all!(product, T, [P: Pattern], (), |[x, y, g]| {
            let run = |inputs: &[Held]| {
                let (x, g) = (known::<ArrayD<F>>(&inputs[0]), known::<ArrayD<F>>(&inputs[2]));
                ops::matmul_backward(x, known::<Tensor<P, F>>(&inputs[1]), g)
            };
            let given = two_of::<ArrayD<F>, Tensor<P, F>, 3>("matmul_backward", String::new(), TWO, [x, y, g], run);
            let of = [x, y, g].map(Arc::clone);
            linear_in_each::<ArrayD<F>, Tensor<P, F>, ArrayD<F>>(given.into(), &of, |_, of| {
                let (x, y) = (Lazy::of(Arc::clone(&of[0])), Lazy::of(Arc::clone(&of[1])));
                <Tensor<P, F>>::product_of_array(&x, &y).node
            })
        })
    }
}

impl<T: Ring> Lazy<ArrayD<T>> {
    /// The step [`matmul`](crate::matmul()), by an array or a tensor.
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

/// The product of a tensor or an array and an array.
#[track_caller]
pub(super) fn by_array<T: Ring, X>(x: &Lazy<X>, y: &Lazy<ArrayD<T>>) -> Lazy<ArrayD<T>>
where
    X: Steps<Elem = T> + Operand<Product<ArrayD<T>> = ArrayD<T>>,
{
    let shape = |[x, y]: [&Shape; 2]| product_shape(x, y);
    let run = |inputs: &[Held]| ops::matmul(known::<X>(&inputs[0]), known::<ArrayD<T>>(&inputs[1]));
    let product: Lazy<ArrayD<T>> = step("matmul", String::new(), [&x.node, &y.node], Form::Own, shape, run);
    let product = product.with_shares(shares::product()).written(Text::call("matmul", &["%0", "%1"], said!()));
    rule_of_all!(product, T, [X: Steps], (), |[x, y, g]| {
        let run = |inputs: &[Held]| {
            let (y, g) = (known::<ArrayD<F>>(&inputs[1]), known::<ArrayD<F>>(&inputs[2]));
            let (dx, dy) = ops::matmul_backward(known::<X::Of<F>>(&inputs[0]), y, g)?;
            Ok((<X::Of<F>>::reduced(dx), dy))
        };
        let given = two_of::<OfFloats<X, F>, ArrayD<F>, 3>("matmul_backward", String::new(), TWO, [x, y, g], run);
        let of = [x, y, g].map(Arc::clone);
        linear_in_each::<X::Of<F>, ArrayD<F>, ArrayD<F>>(given.into(), &of, |_, of| {
            X::Of::<F>::times(&Lazy::of(Arc::clone(&of[0])), &Lazy::of(Arc::clone(&of[1]))).node
        })
    })
}
