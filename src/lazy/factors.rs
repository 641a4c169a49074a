//! Products of a tensor or an array and an array, and what their gradients are, as formulas.

use std::sync::Arc;

use ndarray::ArrayD;

use super::arrays::{OfFloats, TWO, two_of};
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
            with_formulas(given, [x, y, g], of_product_by_tensor::<P, F>)
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
        with_formulas(given, [x, y, g], of_product_by_array::<F, X::Of<F>>)
    })
}

/// What a formula gives to both operands, if there is one of their ranks.
type Formulas<A, B> = Option<(Lazy<A>, Lazy<B>)>;

/// Two gradients with those of formulas of the operands and the upstream gradient for their own.
fn with_formulas<A: Steps<Elem: Float>, B: Steps<Elem: Float>>(
    [dx, dy]: [Option<Arc<Node>>; 2],
    of: [&Arc<Node>; 3],
    formulas: fn([&Arc<Node>; 3]) -> Formulas<A, B>,
) -> Vec<Option<Arc<Node>>> {
    let dx = dx.map(|dx| Lazy::of(dx).with_formula(of, 0, move |of| Some(formulas(of)?.0)).node);
    let dy = dy.map(|dy| Lazy::of(dy).with_formula(of, 1, move |of| Some(formulas(of)?.1)).node);
    vec![dx, dy]
}

/// Two operands and the gradient of their product as matrices, where neither is a batch of these: a vector on the left
/// is a row, one on the right a column.
type Matrices<X, Y> = (Lazy<X>, Lazy<Y>, Lazy<ArrayD<<X as Operand>::Elem>>);

fn matrices<F: Float, X, Y>([x, y, g]: [&Arc<Node>; 3]) -> Option<Matrices<X, Y>>
where
    X: Steps<Elem = F, Of<F> = X>,
    Y: Steps<Elem = F, Of<F> = Y>,
{
    let rank = |node: &Arc<Node>| node.shape.as_ref().map(|shape| shape.rank());
    let (mut g, x_rank, y_rank) = (Lazy::<ArrayD<F>>::of(Arc::clone(g)), rank(x)?, rank(y)?);
    let (mut x, mut y) = (Lazy::<X>::of(Arc::clone(x)), Lazy::<Y>::of(Arc::clone(y)));
    if y_rank == 1 {
        (y, g) = (y.expand_dims(1), g.expand_dims(-1));
    }
    if x_rank == 1 {
        (x, g) = (x.expand_dims(0), g.expand_dims(0));
    }
    (x_rank.max(y_rank) <= 2).then_some((x, y, g))
}

/// What a product with an array gives back to both: the dots of rows of arrays at the elements of the left operand.
#[track_caller]
fn of_product_by_array<F, X>(of: [&Arc<Node>; 3]) -> Formulas<X, ArrayD<F>>
where
    F: Float + Ring,
    X: Steps<Elem = F, Of<F> = X>,
{
    let (x, y, g) = matrices::<F, X, ArrayD<F>>(of)?;
    let (dx, dy) = (X::dots(&x, &g, &y), X::times(&x.transpose(), &g));
    Some((like(of[0], dx, 0), like(of[1], dy, 1)))
}

/// The same of the product of an array with a tensor.
#[track_caller]
fn of_product_by_tensor<P: Pattern, F: Float + Ring>(of: [&Arc<Node>; 3]) -> Formulas<ArrayD<F>, Tensor<P, F>> {
    let (x, y, g) = matrices::<F, ArrayD<F>, Tensor<P, F>>(of)?;
    let dx = g.matmul(&y.transpose());
    let dy = y.pattern().sddmm(&x.transpose(), &g.transpose());
    Some((like(of[0], dx, 0), like(of[1], dy, 1)))
}

/// A gradient in the form of its operand, of which a vector was a matrix of one position along that axis.
#[track_caller]
fn like<T: Element, X: Steps<Elem = T, Of<T> = X>>(operand: &Arc<Node>, gradient: Lazy<X>, axis: i32) -> Lazy<X> {
    match operand.shape.as_ref().map(|shape| shape.rank()) {
        Some(1) => gradient.squeeze(axis),
        _ => gradient,
    }
}
