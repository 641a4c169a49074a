//! Operations on what two tensors store, as steps: absent is absent.

use std::marker::PhantomData;
use std::sync::Arc;

use ndarray::ArrayD;

use super::gradient::{at_entries_of, on_pattern_of};
use super::node::{Form, Held, Node, known};
use super::rewrite::Facts;
use super::text::{Text, said};
use super::unary::{LazyStored, Steps, rule_of_all, same, step};
use super::zips::{Dense, broadcast, constant, of_two};
use super::{Lazy, LazyPattern, shares};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Bits, Element, Float, FloatVisitor, Numeric, Real, RealNumber, Remainder};
use crate::ops;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What may stand on the right of the entries of a lazy tensor: the entries of another one, an array, or a number of the
/// element type. The trait is sealed.
pub trait BesideStored<P: Pattern, T: Element>: sealed::Sealed {
    #[doc(hidden)]
    fn entries(self) -> Entries<P, T>;
}

/// What stands on the right.
#[doc(hidden)]
pub enum Entries<P, T> {
    Step(LazyStored<P, T>),
    Array(Lazy<ArrayD<T>>),
    Number(T),
}

/// The entries that stand on a pattern, or not.
type Keep<P, T> = fn(&Tensor<P, T>, &P) -> Result<Tensor<P, T>>;

/// The gradient of that.
type KeepBack<P, T> = fn(&Tensor<P, T>, &Tensor<P, T>, &P) -> Result<Tensor<P, T>>;

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

/// What arithmetic on the entries of tensors of one shape gives back to those of both, as formulas: to one alone what
/// its result received, or nothing where both have to be there. None of what is no arithmetic.
#[track_caller]
fn formulas<P: Pattern, F: Float + Numeric>(name: &str, of: [&Arc<Node>; 3]) -> Option<[Lazy<Tensor<P, F>>; 2]> {
    if of[0].shape.is_none() || of[0].shape != of[1].shape {
        return None;
    }
    let [x, y, g] = &of.map(|node| Lazy::<Tensor<P, F>>::of(Arc::clone(node)));
    let at = |of: &Lazy<Tensor<P, F>>, gradient: &Lazy<Tensor<P, F>>| of.any_backward(gradient, Axes::none());
    let met = |of: &Lazy<Tensor<P, F>>, gradient: Lazy<Tensor<P, F>>| at(of, &gradient.with_fill(F::ZERO));
    let minus = F::from_f64(-1.0);
    // Views of two fills do not go together, and gradients have a fill of 0.
    let [left, right] = [x, y].map(|of| of.with_fill(F::ZERO).stored());
    Some(match name {
        "add" => [at(x, g), at(y, g)],
        "sub" => [at(x, g), at(y, g).mul(minus)],
        "mul" | "mul_nonzero" => {
            [met(x, at(x, g).stored().mul_nonzero(&right)), met(y, at(y, g).stored().mul_nonzero(&left))]
        }
        "div" => {
            let over = right.recip().stored();
            let to_x = met(x, at(x, g).stored().mul_nonzero(&over));
            let product = met(y, to_x.stored().mul_nonzero(&left));
            let quotient = met(y, product.stored().mul_nonzero(&over));
            [to_x, quotient.mul(minus)]
        }
        _ => return None,
    })
}

macro_rules! entries {
    ($($name:ident [$bound:ident] -> $out:ty $(, $backward:ident)?;)*) => {
        /// # Operations on what two operands store
        ///
        /// Absent is absent. The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyStored<P, T> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, other: impl BesideStored<P, T>) -> Lazy<Tensor<P, $out>>
            where
                T: $bound,
            {
                match other.entries() {
                    Entries::Number(number) => {
                        let run = move |x: &Tensor<P, T>| ops::$name(&x.stored(), number);
                        let step = self.x.then(stringify!($name), format!("stored {number:?}"), Form::Each, same, run)
                            .written(Text::call(stringify!($name), &["stored(%0)"], said!(number)));
                        entries!(@of_number step, number $(, $backward)?)
                    }
                    Entries::Array(array) => {
                        let run = |inputs: &[Held]| {
                            ops::$name(&known::<Tensor<P, T>>(&inputs[0]).stored(), known::<ArrayD<T>>(&inputs[1]))
                        };
                        let nodes = [&self.x.node, &array.node];
                        let text = Text::call(stringify!($name), &["stored(%0)", "stored(%1)"], said!());
                        let step = step(stringify!($name), "stored, array".into(), nodes, Form::Own, broadcast, run)
                            .written(text.in_format(self.x.node.kind.format()))
                            .with_shares(shares::zipped());
                        entries!(@of_array step $(, $backward)?)
                    }
                    Entries::Step(other) => {
                        let run = |inputs: &[Held]| {
                            let [x, y] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
                            ops::$name(&x.stored(), &y.stored())
                        };
                        let nodes = [&self.x.node, &other.x.node];
                        let step = step(stringify!($name), "stored".into(), nodes, Form::Each, broadcast, run)
                            .written(Text::call(stringify!($name), &["stored(%0)", "stored(%1)"], said!()));
                        entries!(@of_two $name, step $(, $backward)?)
                    }
                }
            }
        )*}
    };
    (@of_number $step:ident, $number:ident) => { $step };
    (@of_number $step:ident, $number:ident, $backward:ident) => {{
        let number = $number.to_number();
        rule_of_all!($step, T, [P: Pattern], (number: crate::Number), |[x, g]| {
            let number = F::from_number(number).unwrap_or(F::NAN);
            let run = move |inputs: &[Held]| {
                let [x, g] = [0, 1].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::$backward(&x.stored(), &constant(x, number)?.stored(), g).map(|(dx, _)| dx)
            };
            let told = format!("stored {number:?}");
            let dx: Lazy<Tensor<P, F>> =
                step(stringify!($backward), told, [x, g], Form::OfFirst, |[x, _]| same(x), run);
            let said = said!(number).map(|number| format!("{number}, %1, wrt=0"));
            vec![Some(dx.written(Text::call(stringify!($backward), &["stored(%0)"], said)).node)]
        })
    }};
    (@of_array $step:ident) => { $step };
    (@of_array $step:ident, $backward:ident) => {
        rule_of_all!($step, T, [P: Pattern], (), |[x, y, g]| {
            let run = |inputs: &[Held]| {
                let (x, g) = (known::<Tensor<P, F>>(&inputs[0]), known::<Tensor<P, F>>(&inputs[2]));
                ops::$backward(&x.stored(), known::<ArrayD<F>>(&inputs[1]), g)
            };
            let name = stringify!($backward);
            let both: Lazy<(Tensor<P, F>, ArrayD<F>)> =
                step(name, "stored, array".into(), [x, y, g], Form::Own, |[x, ..]| same(x), run)
                    .written(Text::gradients(name, &["stored(%0)", "stored(%1)", "%2"], said!(), 2))
                    .known(Facts::gradients_of(&[0, 1]));
            let (dx, dy) = both.parts();
            vec![Some(dx.node), Some(dy.node)]
        })
    };
    (@of_two $name:ident, $step:ident) => { $step };
    (@of_two $name:ident, $step:ident, $backward:ident) => {
        rule_of_all!($step, T, [P: Pattern], (), |[x, y, g]| {
            let run = |inputs: &[Held]| {
                let [x, y, g] = [0, 1, 2].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::$backward(&x.stored(), &y.stored(), g)
            };
            let name = stringify!($backward);
            let both: Lazy<(Tensor<P, F>, Tensor<P, F>)> =
                step(name, "stored".into(), [x, y, g], Form::Own, |[x, ..]| same(x), run)
                    .written(Text::gradients(name, &["stored(%0)", "stored(%1)", "%2"], said!(), 2))
                    .known(Facts::gradients_of(&[0, 1]));
            let (dx, dy) = both.parts();
            let dx = dx.with_formula([x, y, g], 0, |of| formulas(stringify!($name), of).map(|[dx, _]| dx));
            let dy = dy.with_formula([x, y, g], 1, |of| formulas(stringify!($name), of).map(|[_, dy]| dy));
            vec![Some(dx.node), Some(dy.node)]
        })
    };
}

of_two!(entries);

/// The shape of what is scaled, if there is a factor for each position of the axis.
fn scaled(x: &Shape, factors: &Shape, axis: isize) -> Result<Option<Shape>> {
    let expected = x[normalize_axis(axis as i128, x.rank())?];
    match factors[..] {
        [found] if found == expected => same(x),
        [found] => Err(Error::LengthMismatch { what: "the factors", expected, found }),
        _ => Err(Error::RankMismatch { what: "the factors", expected: 1, found: factors.rank() }),
    }
}

/// The gradients of a product with a number for each position of an axis: of what comes at the entries the same
/// product, and the sums of what comes times the tensor.
struct Scaled<X, Y> {
    x: Arc<Node>,
    factors: Arc<Node>,
    upstream: Arc<Node>,
    axis: isize,
    of: PhantomData<fn() -> (X, Y)>,
}

impl<X: Steps, Y: Steps> FloatVisitor for Scaled<X, Y> {
    type Out = Option<Vec<Option<Arc<Node>>>>;

    #[track_caller]
    fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
        let rank = self.x.shape.as_ref()?.rank();
        let others = beside(self.axis, rank);
        let (x, g) = (Lazy::<X::Of<F>>::of(self.x), Lazy::<X::Of<F>>::of(self.upstream));
        let factors = Lazy::<Y::Of<F>>::of(self.factors);
        let given = x.any_backward(&g, Axes::none());
        // With an axis of its own for each behind that of the factors.
        let behind: Vec<usize> = (1..rank - normalize_axis(self.axis as i128, rank).ok()?).collect();
        let dx = given.mul_nonzero(Dense(Y::Of::<F>::all(&factors).expand_dims(behind)));
        let sums = g.mul_nonzero(&x).sum(others);
        Some(vec![Some(dx.node), Some(factors.any_backward(&sums, Axes::none()).node)])
    }
}

/// The axes other than one, of an operand of that rank.
fn beside(axis: isize, rank: usize) -> Axes {
    let axis = normalize_axis(axis as i128, rank).unwrap_or(rank);
    Axes::from((0..rank).filter(|&other| other != axis).collect::<Vec<_>>())
}

/// What is stored of `x`, scaled; its fill stays.
#[track_caller]
fn entries_scaled<T: Element, X: Steps<Elem = T>, Y: Steps<Elem = T>>(
    x: &Lazy<X>,
    axis: isize,
    factors: &Lazy<Y>,
) -> Lazy<X::Of<T>> {
    let run = move |inputs: &[Held]| {
        let (x, factors) = (known::<X>(&inputs[0]), known::<Y>(&inputs[1]));
        factors.scales(&x.entries(), axis).map(X::of_entries)
    };
    let shape = |[x, factors]: [&Shape; 2]| scaled(x, factors, axis);
    let seen = if x.node.kind.format() == "array" { "%0" } else { "stored(%0)" };
    let step = step("scale", format!("stored {axis}"), [&x.node, &factors.node], Form::OfFirst, shape, run)
        .written(Text::call("scale", &[seen], said!(axis).map(|axis| format!("{axis}, %1"))))
        .with_shares(shares::scaled(axis));
    step.with_rule(move |asked| {
        let [x, factors] = asked.inputs else { return None };
        // Of what is stored the fill has no part in it.
        let x = on_pattern_of::<X, X>(x, &Lazy::of(Arc::clone(x)))?;
        let upstream = on_pattern_of::<X, X>(&x, &Lazy::of(Arc::clone(asked.upstream)))?;
        let all = Scaled::<X, Y> { x, factors: Arc::clone(factors), upstream, axis, of: PhantomData };
        T::if_float(all)?
    })
}

/// # Products with a number for each position of an axis
///
/// The page stands at the function of the same name.
impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`scale`](crate::scale()), by an array or a tensor of rank 1.
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
        let run = move |inputs: &[Held]| {
            let (x, factors) = (known::<X>(&inputs[0]), known::<Y>(&inputs[1]));
            factors.scales(x, axis).map(X::reduced)
        };
        let shape = |[x, factors]: [&Shape; 2]| scaled(x, factors, axis);
        let step = step("scale", axis.to_string(), [&self.node, &factors.node], Form::OfFirst, shape, run)
            .written(Text::call("scale", &["%0"], said!(axis).map(|axis| format!("{axis}, %1"))))
            .with_shares(shares::scaled(axis));
        step.with_rule(move |asked| {
            let [x, factors] = <&[_; 2]>::try_from(asked.inputs).ok()?.each_ref().map(Arc::clone);
            let all = Scaled::<X, Y> { x, factors, upstream: Arc::clone(asked.upstream), axis, of: PhantomData };
            T::if_float(all)?
        })
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// The step [`scale`](crate::scale()) of the entries: the fill stays.
    #[track_caller]
    pub fn scale<Y: Steps<Elem = T>>(&self, axis: isize, factors: &Lazy<Y>) -> Lazy<Tensor<P, T>> {
        entries_scaled(&self.x, axis, factors)
    }

    /// The entries at positions that a tensor stores: the step [`Stored::mask`](crate::Stored::mask).
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
        self.masked(
            ["mask", "mask_backward"],
            &mask.x.node,
            |x, mask| x.stored().mask(mask),
            |x, g, mask| x.stored().mask_backward(g, mask),
        )
    }

    /// The entries at positions that a tensor does not store: the step [`Stored::without`](crate::Stored::without).
    #[track_caller]
    pub fn without<U: Element>(&self, mask: &LazyPattern<P, U>) -> Lazy<Tensor<P, T>> {
        self.masked(
            ["without", "without_backward"],
            &mask.x.node,
            |x, mask| x.stored().without(mask),
            |x, g, mask| x.stored().without_backward(g, mask),
        )
    }

    #[track_caller]
    fn masked(
        &self,
        [name, backward]: [&'static str; 2],
        mask: &Arc<Node>,
        keep: Keep<P, T>,
        back: KeepBack<P, T>,
    ) -> Lazy<Tensor<P, T>> {
        let kind = mask.kind;
        // Its elements may have any type, and do not count.
        let of_mask = move |mask: &Held| kind.by_pieces().map(|kind| kind.pattern(mask));
        let run = move |inputs: &[Held]| {
            let mask = of_mask(&inputs[1]);
            keep(known(&inputs[0]), mask.as_ref().and_then(|mask| mask.downcast_ref()).ok_or(Error::NoTensor)?)
        };
        let shape = |[x, mask]: [&Shape; 2]| match x == mask {
            true => same(x),
            false => Err(Error::ShapeMismatch { what: "the mask", expected: x.clone(), found: mask.clone() }),
        };
        let step = step(name, "stored".into(), [&self.x.node, mask], Form::Own, shape, run)
            .written(Text::call(name, &["stored(%0)", "%1"], said!()))
            .with_shares(shares::same());
        step.with_rule(move |asked| {
            let [x, mask] = asked.inputs else { return None };
            T::if_float(IsFloat)?;
            let run = move |inputs: &[Held]| {
                let mask = of_mask(&inputs[2]);
                let mask = mask.as_ref().and_then(|mask| mask.downcast_ref()).ok_or(Error::NoTensor)?;
                back(known(&inputs[0]), known(&inputs[1]), mask)
            };
            let nodes = [x, asked.upstream, mask];
            let dx: Lazy<Tensor<P, T>> =
                super::unary::step(backward, "stored".into(), nodes, Form::OfFirst, |[x, ..]| same(x), run);
            let dx = dx.written(Text::call(backward, &["stored(%0)", "%1", "%2"], said!())).with_shares(shares::same());
            // What is kept of the upstream gradient is kept of what comes back to it.
            let dx = dx.with_rule(move |asked| {
                let up = at_entries_of::<Tensor<P, T>, _>(&asked.inputs[0], Lazy::of(Arc::clone(asked.upstream)));
                let kept: Lazy<Tensor<P, T>> = up.stored().masked([name, backward], &asked.inputs[2], keep, back);
                let to_upstream = on_pattern_of::<Tensor<P, T>, _>(&asked.inputs[1], &kept)?;
                Some(vec![None, Some(to_upstream), None])
            });
            Some(vec![Some(dx.node), None])
        })
    }
}

/// Asks whether a type is one of floats.
struct IsFloat;

impl FloatVisitor for IsFloat {
    type Out = ();

    fn visit<F: Float + Numeric + RealNumber>(self) {}
}

mod sealed {
    use super::{ArrayD, Lazy, LazyStored};
    use crate::element::Element;

    pub trait Sealed {}
    impl<P, T> Sealed for LazyStored<P, T> {}
    impl<P, T> Sealed for &LazyStored<P, T> {}
    impl<T> Sealed for Lazy<ArrayD<T>> {}
    impl<T> Sealed for &Lazy<ArrayD<T>> {}
    impl<T: Element> Sealed for T {}
}
