//! Operators with an array on the left of a tensor: as on its right, they make a tensor.

use std::ops as operators;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::arrays::{TWO, two_of};
use super::gradient::linear_in_each;
use super::node::{Form, Held, Node, known};
use super::text::{Text, said};
use super::unary::{rule_of_all, step};
use super::zips::{broadcast, of_added};
use super::{Lazy, shares};
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber, Remainder};
use crate::ops;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What an operator gives back to the tensor, as a formula.
#[track_caller]
fn formula<P: Pattern, F: Float + Numeric + RealNumber>(
    name: &str,
    [array, x, g]: [&Arc<Node>; 3],
) -> Option<Lazy<Tensor<P, F>>> {
    let [x, g] = [x, g].map(|node| Lazy::<Tensor<P, F>>::of(Arc::clone(node)));
    let array = Lazy::<ArrayD<F>>::of(Arc::clone(array));
    Some(match name {
        "add" => g.mul(F::from_f64(1.0)),
        "sub" => g.mul(F::from_f64(-1.0)),
        "div" => g.mul(&array).div(x.square()).mul(F::from_f64(-1.0)),
        _ => return None,
    })
}

/// The step of an operator, which has gradients of both if it has a backward function.
macro_rules! array_first {
    ($($op:ident $name:ident [$bound:ident] $($backward:ident)?;)*) => {$(
        impl<P: Pattern, T: $bound> operators::$op<&Lazy<Tensor<P, T>>> for &Lazy<ArrayD<T>> {
            type Output = Lazy<Tensor<P, T>>;

            #[track_caller]
            fn $name(self, x: &Lazy<Tensor<P, T>>) -> Lazy<Tensor<P, T>> {
                let run = |inputs: &[Held]| {
                    ops::$name(known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]))
                };
                let step = step(stringify!($name), "array".into(), [&self.node, &x.node], Form::Own, broadcast, run)
                    .written(Text::call(stringify!($name), &["%0", "%1"], said!()).in_format(x.node.kind.format()))
                    .with_shares(shares::zipped());
                array_first!(@rule step, $name $(, $backward)?)
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
    (@rule $step:ident, $name:ident) => { $step };
    (@rule $step:ident, $name:ident, $backward:ident) => {
        rule_of_all!($step, T, [P: Pattern], (), |[array, x, g]| {
            let run = |inputs: &[Held]| {
                let (x, g) = (known::<Tensor<P, F>>(&inputs[1]), known::<Tensor<P, F>>(&inputs[2]));
                ops::$backward(known::<ArrayD<F>>(&inputs[0]), x, g)
            };
            let of = [array, x, g];
            let (name, backward) = (stringify!($name), stringify!($backward));
            let given = two_of::<ArrayD<F>, Tensor<P, F>, 3>(backward, "array".into(), TWO, of, run);
            if name == "mul" {
                let again = |of: &[Arc<Node>]| {
                    let array = Lazy::<ArrayD<F>>::of(Arc::clone(&of[0]));
                    (array * Lazy::<Tensor<P, F>>::of(Arc::clone(&of[1]))).node
                };
                let of = of.map(Arc::clone);
                return linear_in_each::<ArrayD<F>, Tensor<P, F>, Tensor<P, F>>(given.into(), &of, again);
            }
            let [to_array, to_x] = given;
            let own = |of: [&Arc<Node>; 3]| formula::<P, F>(name, of);
            let with_own = |to_x| Lazy::<Tensor<P, F>>::of(to_x).with_formula(of, 1, own).node;
            let added = |[_, _, g]: [&Arc<Node>; 3]| of_added::<F, Tensor<P, F>>(name, g, false);
            let with_sum = |to_array| Lazy::<ArrayD<F>>::of(to_array).with_formula(of, 0, added).node;
            vec![to_array.map(with_sum), to_x.map(with_own)]
        })
    };
}

array_first! {
    Add add [Element] add_backward;
    Sub sub [Numeric] sub_backward;
    Mul mul [Element] mul_backward;
    Div div [Numeric] div_backward;
    Rem rem [Remainder];
}
