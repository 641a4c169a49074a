//! Operations on two operands as steps, and the operators of Rust.

use std::ops as operators;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayD, Data, Dimension};

use super::formulas::{self, Term};
use super::gradient::linear_in_each;
use super::node::{Form, Held, Node, known};
use super::rewrite::Facts;
use super::text::{Text, said};
use super::unary::{Right, Steps, rule_of_all, same, step};
use super::{Lazy, shares};
use crate::base::error::{Error, Result};
use crate::base::shape::{self, Shape};
use crate::element::{Bits, Element, Float, FloatVisitor, Numeric, Real, RealNumber, Remainder};
use crate::kernels::map::Each;
use crate::ops::{self, Operand};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What may stand on the right of a lazy tensor: another one of the same format and element type, `&y` or `y`, a tensor
/// that is there, an array, lazy or there, or a number of the element type. On the left of a tensor may stand an array or
/// a number, in operators. The trait is sealed.
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
pub trait Beside<X: Steps>: sealed::Sealed {
    #[doc(hidden)]
    fn side(self) -> Side<X>;
}

/// What stands on the right.
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

pub(super) fn broadcast([left, right]: [&Shape; 2]) -> Result<Option<Shape>> {
    match shape::broadcast(left, right) {
        Some(shape) => Ok(Some(shape)),
        None => Err(Error::NotBroadcastable { left: left.clone(), how: "together with", right: right.clone() }),
    }
}

/// What a rule finds both gradients of.
struct Two {
    left: Arc<Node>,
    right: Arc<Node>,
    upstream: Arc<Node>,
}

/// What an operation with a number or an array gives back to the left: a multiple of the upstream gradient.
fn beside<F: Float + Numeric, Y: Steps<Elem = F, Of<F> = Y>>(
    name: &str,
    g: &Arc<Node>,
    other: impl Beside<Y>,
) -> Option<Lazy<Y>> {
    let g = Lazy::<Y>::of(Arc::clone(g));
    Some(match name {
        "add" | "sub" => g.mul(F::from_f64(1.0)),
        "mul" | "mul_nonzero" => g.mul_nonzero(other),
        "div" => match other.side() {
            Side::Number(number) => g.div(number),
            Side::Array(array) => g.mul_nonzero(Dense(array.recip())),
            Side::Step(step) => g.mul_nonzero(step.recip()),
        },
        _ => return None,
    })
}

/// What a sum or difference gives back to an array in it: the upstream gradient, which has all elements then, as gaps
/// have one value and those of an array more. A quotient may have gaps beside an array, and has none.
pub(super) fn of_added<F: Float + Numeric, Y: Steps<Elem = F, Of<F> = Y>>(
    name: &str,
    g: &Arc<Node>,
    is_negative: bool,
) -> Option<Lazy<ArrayD<F>>> {
    let sign = F::from_f64(if is_negative { -1.0 } else { 1.0 });
    matches!(name, "add" | "sub").then(|| Y::all(&Lazy::of(Arc::clone(g))).mul(sign))
}

/// An array beside a tensor or an array, whichever it is.
pub(super) struct Dense<T>(pub(super) Lazy<ArrayD<T>>);

impl<X: Steps> Beside<X> for Dense<X::Elem> {
    fn side(self) -> Side<X> {
        Side::Array(self.0)
    }
}

/// A number at all elements of a value: a gradient beside it is looked for at these alone, and at no others of a number
/// that is broadcast.
pub(super) fn constant<X: Steps>(x: &X, number: X::Elem) -> Result<X::Of<X::Elem>> {
    x.by_map(&Each::quick("constant", move |_| Some(number))).map(X::mapped)
}

macro_rules! zips {
    ($($name:ident [$bound:ident] -> $out:ty $(, $backward:ident)?;)*) => {
        /// # Operations on two operands
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            $(zips!(@one $name [$bound] -> $out $(, $backward)?);)*
        }
    };
    (@one $name:ident [$bound:ident] -> $out:ty $(, $backward:ident)?) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&self, other: impl Beside<X>) -> Lazy<X::Of<$out>>
        where
            T: $bound,
        {
            match other.side() {
                Side::Number(number) => {
                    let run = move |x: &X| ops::$name(x, Right::Number(number));
                    let same = |shape: &Shape| Ok(Some(shape.clone()));
                    let step = self.then(stringify!($name), format!("{number:?}"), Form::Each, same, run)
                        .written(Text::call(stringify!($name), &["%0"], said!(number)));
                    zips!(@of_number $name, step, number $(, $backward)?)
                }
                Side::Array(other) => {
                    let run = |inputs: &[Held]| ops::$name(known::<X>(&inputs[0]), Right::Array(known(&inputs[1])));
                    let nodes = [&self.node, &other.node];
                    let text = Text::call(stringify!($name), &["%0", "%1"], said!());
                    let step = step(stringify!($name), "array".into(), nodes, Form::Own, broadcast, run)
                        .written(text.in_format(self.node.kind.format()))
                        .with_shares(shares::zipped());
                    zips!(@of_array $name, step $(, $backward)?)
                }
                Side::Step(other) => {
                    let run = |inputs: &[Held]| ops::$name(known::<X>(&inputs[0]), Right::Value(known(&inputs[1])));
                    let nodes = [&self.node, &other.node];
                    let step = step(stringify!($name), String::new(), nodes, Form::Each, broadcast, run)
                        .written(Text::call(stringify!($name), &["%0", "%1"], said!()));
                    zips!(@of_two $name, step $(, $backward)?)
                }
            }
        }

        $(zips!(@back $name $backward);)?
    };
    // It has those of `mul`.
    (@back mul_nonzero $backward:ident) => {};
    (@back $name:ident $backward:ident) => {
            #[doc = concat!("The gradients of both operands: see [`", stringify!($backward), "`](crate::",
                stringify!($backward), "()).")]
            #[track_caller]
            pub fn $backward<U: Steps<Elem = T>>(
                &self,
                other: &Self,
                upstream: &Lazy<U>,
            ) -> Lazy<(X::Of<T>, X::Of<T>)>
            where
                T: Float + Numeric,
            {
                let run = |inputs: &[Held]| {
                    let (x, y) = (known::<X>(&inputs[0]), known::<X>(&inputs[1]));
                    let (dx, dy) = ops::$backward(x, y, known::<U>(&inputs[2]))?;
                    Ok((X::reduced(dx), X::reduced(dy)))
                };
                let nodes = [&self.node, &other.node, &upstream.node];
                let text = Text::gradients(stringify!($backward), &["%0", "%1", "%2"], said!(), 2);
                step(stringify!($backward), String::new(), nodes, Form::Own, |[x, ..]| Ok(Some(x.clone())), run)
                    .written(text)
                    .known(Facts::gradients_of(&[0, 1]))
            }
    };
    (@of_number $name:ident, $step:ident, $number:ident) => { $step };
    (@of_number $name:ident, $step:ident, $number:ident, $backward:ident) => {{
        struct Rule<X>(Two, crate::Number, std::marker::PhantomData<fn() -> X>);
        impl<X: Steps> FloatVisitor for Rule<X> {
            type Out = Vec<Option<Arc<Node>>>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
                let number = F::from_number(self.1).unwrap_or(F::NAN);
                let run = move |inputs: &[Held]| {
                    let (x, g) = (known::<X::Of<F>>(&inputs[0]), known::<X::Of<F>>(&inputs[1]));
                    ops::$backward(x, &constant(x, number)?, g).map(|(dx, _)| <X::Of<F>>::reduced(dx))
                };
                let same = |[x, _]: [&Shape; 2]| Ok(Some(x.clone()));
                let nodes = [&self.0.left, &self.0.upstream];
                let gradient: Lazy<X::Of<F>> =
                    step(stringify!($backward), self.1.to_string(), nodes, Form::OfFirst, same, run);
                let number = F::from_number(self.1).unwrap_or(F::NAN);
                let text = said!(number).map(|number| format!("{number}, %1, wrt=0"));
                let gradient = gradient.written(Text::call(stringify!($backward), &["%0"], text));
                let gradient = gradient.with_formula(nodes, 0, move |[_, g]| beside(stringify!($name), g, number));
                vec![Some(gradient.node)]
            }
        }
        let number = $number.to_number();
        $step.with_rule(move |asked| {
            let x = &asked.inputs[0];
            let two = Two { left: Arc::clone(x), right: Arc::clone(x), upstream: Arc::clone(asked.upstream) };
            T::if_float(Rule::<X>(two, number, std::marker::PhantomData))
        })
    }};
    (@of_array $name:ident, $step:ident) => { $step };
    (@of_array $name:ident, $step:ident, $backward:ident) => {
        rule_of_all!($step, T, [X: Steps], (), |[x, y, g]| {
            let run = |inputs: &[Held]| {
                let (x, g) = (known::<X::Of<F>>(&inputs[0]), known::<X::Of<F>>(&inputs[2]));
                let (dx, dy) = ops::$backward(x, known::<ArrayD<F>>(&inputs[1]), g)?;
                Ok((<X::Of<F>>::reduced(dx), dy))
            };
            let (name, backward) = (stringify!($name), stringify!($backward));
            let both: Lazy<(X::Of<F>, ArrayD<F>)> =
                step(backward, "array".into(), [x, y, g], Form::Own, |[x, ..]| same(x), run)
                    .written(Text::gradients(backward, &["%0", "%1", "%2"], said!(), 2))
                    .known(Facts::gradients_of(&[0, 1]));
            let (dx, dy) = both.parts();
            if matches!(name, "mul" | "mul_nonzero") {
                let (given, of) = (vec![Some(dx.node), Some(dy.node)], [x, y, g].map(Arc::clone));
                return linear_in_each::<X::Of<F>, ArrayD<F>, X::Of<F>>(given, &of, |place, of| {
                    let (x, array) = (Lazy::<X::Of<F>>::of(Arc::clone(&of[0])), Lazy::of(Arc::clone(&of[1])));
                    match place {
                        0 => x.mul_nonzero(Dense(array)).node,
                        _ => X::Of::<F>::of_array(&array, &x).node,
                    }
                });
            }
            let of_x = |[_, y, g]: [&Arc<Node>; 3]| beside(name, g, Dense(Lazy::<ArrayD<F>>::of(Arc::clone(y))));
            let dy = dy.with_formula([x, y, g], 1, move |[_, _, g]| of_added::<F, X::Of<F>>(name, g, name == "sub"));
            vec![Some(dx.with_formula([x, y, g], 0, of_x).node), Some(dy.node)]
        })
    };
    (@of_two $name:ident, $step:ident) => { $step };
    (@of_two $name:ident, $step:ident, $backward:ident) => {{
        struct Rule<X>(Two, std::marker::PhantomData<fn() -> X>);
        impl<X: Steps> FloatVisitor for Rule<X> {
            type Out = Vec<Option<Arc<Node>>>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
                let [x, y, g] = [self.0.left, self.0.right, self.0.upstream].map(Lazy::<X::Of<F>>::of);
                let (dx, dy) = x.$backward(&y, &g).parts();
                let of = [&x.node, &y.node, &g.node];
                let dx = dx.with_formula(of, 0, |of| formulas::of_two(stringify!($name), 0, of.map(Term::of)));
                let dy = dy.with_formula(of, 1, |of| formulas::of_two(stringify!($name), 1, of.map(Term::of)));
                vec![Some(dx.node), Some(dy.node)]
            }
        }
        $step.with_rule(|asked| {
            let [left, right] = [0, 1].map(|at| Arc::clone(&asked.inputs[at]));
            let two = Two { left, right, upstream: Arc::clone(asked.upstream) };
            T::if_float(Rule::<X>(two, std::marker::PhantomData))
        })
    }};
}

/// All of them, for a macro that makes steps of them.
macro_rules! of_two {
    ($make:ident) => {
        $make! {
            add [Element] -> T, add_backward;
            sub [Numeric] -> T, sub_backward;
            mul [Element] -> T, mul_backward;
            mul_nonzero [Element] -> T, mul_backward;
            div [Numeric] -> T, div_backward;
            rem [Remainder] -> T;
            rem_euclid [Remainder] -> T;
            pow [RealNumber] -> T, pow_backward;
            minimum [Real] -> T, minimum_backward;
            maximum [Real] -> T, maximum_backward;
            equal [Element] -> bool;
            not_equal [Element] -> bool;
            less [Real] -> bool;
            less_equal [Real] -> bool;
            greater [Real] -> bool;
            greater_equal [Real] -> bool;
            bit_and [Bits] -> T;
            bit_or [Bits] -> T;
            bit_xor [Bits] -> T;
        }
    };
}
pub(super) use of_two;

of_two!(zips);

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

/// A number at all elements of a value, to which no gradient comes back.
#[track_caller]
fn constant_of<X: Steps<Of<<X as Operand>::Elem> = X>>(
    x: &Lazy<X>,
    (name, arguments): (&'static str, String),
    number: X::Elem,
) -> Lazy<X> {
    let same = |shape: &Shape| Ok(Some(shape.clone()));
    x.then(name, arguments, Form::Each, same, move |x| constant(x, number)).with_rule(|_| Some(vec![None]))
}

/// The same: added to zeros, if that gives the number, as texts can tell it then.
#[track_caller]
fn everywhere<X: Steps<Of<<X as Operand>::Elem> = X>>(x: &Lazy<X>, number: X::Elem, is_sum: bool) -> Lazy<X> {
    if !is_sum {
        return constant_of(x, ("number", format!("{number:?}")), number);
    }
    zeros_of(x).add(number)
}

/// Zeros where a value has elements, to which no gradient comes back.
#[track_caller]
pub(super) fn zeros_of<X: Steps<Of<<X as Operand>::Elem> = X>>(x: &Lazy<X>) -> Lazy<X> {
    let zeros = constant_of(x, ("zeros", String::new()), X::Elem::ZERO);
    zeros.written(Text::call("zeros_like", &["%0"], said!()))
}

/// Whether a number is what comes of adding it to 0, as `-0.0` is not.
fn is_sum<T: Element + Default + operators::Add<Output = T>>(number: T) -> bool {
    (T::default() + number).same(number)
}

impl<P: Pattern> Lazy<Tensor<P, bool>> {
    /// The step [`where_`](crate::where_()): of each element `yes` or `no`. The condition needs no gradient.
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
        let shape = |[c, yes, no]: [&Shape; 3]| {
            let both = shape::broadcast(yes, no).and_then(|both| shape::broadcast(c, &both));
            Ok(both) // Where there is none, the operation says so.
        };
        let run = |inputs: &[Held]| {
            let [yes, no] = [1, 2].map(|at| known::<Tensor<P, T>>(&inputs[at]));
            ops::where_(known::<Tensor<P, bool>>(&inputs[0]), yes, no)
        };
        let chosen = step("where_", String::new(), [&self.node, &yes.node, &no.node], Form::Each, shape, run)
            .written(Text::call("where_", &["%0", "%1", "%2"], said!()));
        rule_of_all!(chosen, T, [P: Pattern], (), |[c, yes_of, no_of, g]| {
            let run = |inputs: &[Held]| {
                let [yes, no, g] = [1, 2, 3].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::where_backward(known::<Tensor<P, bool>>(&inputs[0]), yes, no, g)
            };
            let both: Lazy<(Tensor<P, F>, Tensor<P, F>)> =
                step("where_backward", String::new(), [c, yes_of, no_of, g], Form::Own, |[_, yes, ..]| same(yes), run)
                    .written(Text::gradients("where_backward", &["%0", "%1", "%2", "%3"], said!(), 2))
                    .known(Facts::gradients_of(&[1, 2]));
            let (yes, no) = both.parts();
            let of = [c, yes_of, no_of, g];
            let to_yes = yes.with_formula(of, 1, |[c, .., g]| Some(chosen_of::<P, F>(c, g, true)));
            let to_no = no.with_formula(of, 2, |[c, .., g]| Some(chosen_of::<P, F>(c, g, false)));
            vec![None, Some(to_yes.node), Some(to_no.node)]
        })
    }
}

/// What a choice gives back to one of both: the upstream gradient where it was chosen, 0 elsewhere.
#[track_caller]
fn chosen_of<P: Pattern, F: Float>(condition: &Arc<Node>, upstream: &Arc<Node>, is_yes: bool) -> Lazy<Tensor<P, F>> {
    let g = Lazy::<Tensor<P, F>>::of(Arc::clone(upstream));
    let zeros = zeros_of(&g);
    let (yes, no) = if is_yes { (&g, &zeros) } else { (&zeros, &g) };
    Lazy::<Tensor<P, bool>>::of(Arc::clone(condition)).where_(yes, no)
}

/// A number on the left, as no rule of Rust lets one impl have for all types.
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

mod sealed {
    use super::{Lazy, Tensor};
    use crate::element::Element;

    pub trait Sealed {}
    impl<X> Sealed for Lazy<X> {}
    impl<X> Sealed for &Lazy<X> {}
    impl<P, T> Sealed for &Tensor<P, T> {}
    impl<S: super::Data, D> Sealed for &super::ArrayBase<S, D> {}
    impl<T> Sealed for super::Dense<T> {}
    impl<T: Element> Sealed for T {}
}
