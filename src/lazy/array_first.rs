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
        "div" => g.mul_nonzero(&array).mul_nonzero(x.square().recip()).mul(F::from_f64(-1.0)),
        _ => return None,
    })
}

/// The steps, which have gradients of both if they have a backward function.
macro_rules! steps {
    ($($name:ident [$bound:ident] $($backward:ident)?;)*) => {$(
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name),
            "()) of an array and a tensor.")]
        #[track_caller]
        pub(super) fn $name<P: Pattern, T: $bound>(
            array: &Lazy<ArrayD<T>>,
            x: &Lazy<Tensor<P, T>>,
        ) -> Lazy<Tensor<P, T>> {
            let run =
                |inputs: &[Held]| ops::$name(known::<ArrayD<T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]));
            let step = step(stringify!($name), "array".into(), [&array.node, &x.node], Form::Own, broadcast, run)
                .written(Text::call(stringify!($name), &["%0", "%1"], said!()).in_format(x.node.kind.format()))
                .with_shares(shares::zipped());
            steps!(@rule step, $name $(, $backward)?)
        }
    )*};
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
            if matches!(name, "mul" | "mul_nonzero") {
                let again = |place: usize, of: &[Arc<Node>]| {
                    let array = Lazy::<ArrayD<F>>::of(Arc::clone(&of[0]));
                    let x = Lazy::<Tensor<P, F>>::of(Arc::clone(&of[1]));
                    match place {
                        0 => mul_nonzero(&array, &x).node,
                        _ => x.mul_nonzero(&array).node,
                    }
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

steps! {
    add [Element] add_backward;
    sub [Numeric] sub_backward;
    mul [Element] mul_backward;
    mul_nonzero [Element] mul_backward;
    div [Numeric] div_backward;
    rem [Remainder];
}

/// The operators.
macro_rules! array_first {
    ($($op:ident $name:ident [$bound:ident];)*) => {$(
        impl<P: Pattern, T: $bound> operators::$op<&Lazy<Tensor<P, T>>> for &Lazy<ArrayD<T>> {
            type Output = Lazy<Tensor<P, T>>;

            #[track_caller]
            fn $name(self, x: &Lazy<Tensor<P, T>>) -> Lazy<Tensor<P, T>> {
                $name(self, x)
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
