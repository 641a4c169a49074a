//! What takes more than a tensor and its options: quantiles, choices by position, shares of entries, and the user's own
//! steps.

use std::sync::Arc;

use ndarray::ArrayD;

use super::gradient::on_pattern_of;
use super::node::{Form, Held, Node, known, taken, unlike};
use super::reductions::{Ask, Over, fed, rule_of_one};
use super::rewrite::Facts;
use super::text::{Text, WRITTEN, said, with_option};
use super::unary::{LazyStored, Steps, rule_of_all, same, step};
use super::{Lazy, Value, shares};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position};
use crate::base::shape::{self, Shape};
use crate::element::{Element, Float, FloatVisitor, Numeric, Real, RealNumber};
use crate::ops::{self, Nanmedian, Operand, Quantile, Request, Select, Take, TakeMode};
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;

/// So many positions are told one by one.
const LISTED: usize = 100;

macro_rules! quantiles {
    ($($name:ident, $backward:ident;)*) => {
        /// # Quantiles
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            quantiles!(@one whole, "%0", [X: Steps] X, X::Of<F>, self => self, |x| x, $name, $backward);
        )*}

        /// # Quantiles of what is stored
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyStored<P, T> {$(
            quantiles!(@one entries, "stored(%0)", [P: Pattern] Tensor<P, T>, Tensor<P, F>, self => self.x,
                |x| &x.stored(), $name, $backward);
        )*}
    };
    (@one $seen:ident, $written:expr, [$G:ident: $bound:ident] $X:ty, $of:ty, $self:ident => $x:expr,
        |$v:ident| $view:expr, $name:ident, $backward:ident) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(
            &$self,
            q: f64,
            options: impl Into<Quantile>,
        ) -> Lazy<<$X as Steps>::Of<<T as Real>::Median>>
        where
            T: Real,
        {
            let options: Quantile = options.into();
            let (arguments, used) = (format!("{} {q:?}, {options:?}", stringify!($seen)), options.clone());
            let shape = |shape: &Shape| options.shape(shape);
            let run = move |$v: &$X| ops::$name($view, q, used.clone()).map(<$X>::reduced);
            let text = Text::call(stringify!($name), &[$written], with_option(said!(q), options.said()));
            let step = $x.then(stringify!($name), arguments, Form::Own, shape, run).written(text);
            let step = step.known(Facts::over(options.axes())).with_shares(shares::reduced(options.axes()));
            let step = fed!($seen, $x, $X, step, options, |x, options| ops::$name(x, q, options));
            rule_of_one!(step, T, [$G: $bound] $of, (q: f64, options: Quantile), |$v, g| $view.$backward(&g, q, options))
        }

        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        #[track_caller]
        pub fn $backward<U: Steps<Elem: Float>>(
            &$self,
            upstream: &Lazy<U>,
            q: f64,
            options: impl Into<Quantile>,
        ) -> Lazy<<$X as Steps>::Of<U::Elem>>
        where
            T: Real,
        {
            let options: Quantile = options.into();
            let arguments = format!("{} {q:?}, {options:?}", stringify!($seen));
            let text = Text::call(stringify!($backward), &[$written, "%1"], with_option(said!(q), options.said()));
            let facts = Facts::over(options.axes());
            let kept = shares::reduced_back(options.axes());
            let run = move |$v: &$X, g: &U| ops::$backward($view, g, q, options.clone()).map(<$X>::reduced);
            let step = $x.back(stringify!($backward), arguments, Form::OfFirst, upstream, run);
            step.written(text).known(facts).with_shares(kept)
        }
    };
}

quantiles! {
    quantile, quantile_backward;
    nanquantile, nanquantile_backward;
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`take`](crate::take()).
    #[track_caller]
    pub fn take<J: Position + 'static>(&self, positions: impl Into<Take<'static, J>>) -> Lazy<X::Of<T>> {
        self.taken("take", positions.into(), None)
    }

    /// The step [`take_axis`](crate::take_axis()).
    #[track_caller]
    pub fn take_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<X::Of<T>> {
        self.taken("take_axis", positions.into(), Some(axis as i128))
    }

    #[track_caller]
    fn taken<J: Position + 'static>(
        &self,
        name: &'static str,
        take: Take<'static, J>,
        axis: Option<i128>,
    ) -> Lazy<X::Of<T>> {
        let take = Arc::new(take);
        // The words of a long list leave some out.
        let list = if take.len() <= LISTED { format!("{take:?}") } else { unlike() };
        let (arguments, used) = (format!("{list}, {axis:?}"), Arc::clone(&take));
        let (told, told_axes) = (arguments.clone(), take.shape().rank());
        let shape = |lengths: &Shape| Ok(Some(Request::new(lengths, (&*take).into(), axis)?.shape().clone()));
        let run = move |x: &X| x.by_select(&Request::new(x.lengths(), (&*used).into(), axis)?).map(X::reduced);
        let said = said_of_take(&take, axis);
        let mut step = self.then(name, arguments, Form::Own, shape, run).written(Text::call(name, &["%0"], said));
        if let Some(axis) = axis {
            let axes = told_axes;
            step = step.with_shares(shares::beside(axis, move |rank| (rank + axes).saturating_sub(1)));
        }
        struct Rule<X, J: 'static>(
            Ask<(Arc<Take<'static, J>>, Option<i128>, String)>,
            std::marker::PhantomData<fn() -> X>,
        );
        impl<X: Steps, J: Position + 'static> FloatVisitor for Rule<X, J> {
            type Out = Arc<Node>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
                let (x, g) = (self.0.x::<X::Of<F>>(), self.0.upstream::<X::Of<F>>());
                let (take, axis, told) = self.0.arguments;
                let used = Arc::clone(&take);
                let run = move |x: &X::Of<F>, g: &X::Of<F>| {
                    let request = Request::new(x.lengths(), (&*used).into(), axis)?;
                    x.by_select_backward(&request, g).map(<X::Of<F>>::reduced)
                };
                let said = said_of_take(&take, axis);
                let step: Lazy<X::Of<F>> = x.back("take_backward", told, Form::OfFirst, &g, run).written(Text::call(
                    "take_backward",
                    &["%0", "%1"],
                    said,
                ));
                // What is given back is linear in the gradient: its own is what is taken of what comes back here.
                let step = step.with_rule(move |asked| {
                    let up = Lazy::<X::Of<F>>::of(Arc::clone(asked.upstream));
                    let taken = up.taken(if axis.is_some() { "take_axis" } else { "take" }, Take::clone(&take), axis);
                    Some(vec![None, Some(on_pattern_of::<X::Of<F>, _>(&asked.inputs[1], &taken)?)])
                });
                Arc::clone(&step.node)
            }
        }
        step.with_rule(move |asked| {
            let ask = Ask::new(&asked, (Arc::clone(&take), axis, told.clone()));
            T::if_float(Rule::<X, J>(ask, std::marker::PhantomData)).map(|gradient| vec![Some(gradient)])
        })
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// The step [`take`](crate::take()): what is taken is a tensor, whose gaps are those of this one.
    #[track_caller]
    pub fn take<J: Position + 'static>(&self, positions: impl Into<Take<'static, J>>) -> Lazy<Tensor<P, T>> {
        self.x.take(positions)
    }

    /// The step [`take_axis`](crate::take_axis()), likewise.
    #[track_caller]
    pub fn take_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<Tensor<P, T>> {
        self.x.take_axis(positions, axis)
    }
}

impl<X: Value> Lazy<X> {
    /// A step of the user's own: `f` of the tensor or the array. Two of them are never taken for one.
    ///
    /// `gradient` gives the gradient of the operand from the operand and that of the result. It has the shape of the
    /// operand, and is brought onto its pattern, whatever it stores. It has no gradient itself.
    ///
    /// # Errors
    ///
    /// Carried, with the line: those of `f` and of `gradient`; `ShapeMismatch`: a gradient of another shape.
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![-2.0, 3.0], 0.0)?.lazy();
    /// let relu = x.custom("relu", |x| x.maximum(0.0), |x, g| x.greater(0.0)?.cast::<f64>()?.mul(g));
    /// assert_eq!(relu.collect()?.values(), [0.0, 3.0]);
    /// let dx = relu.gradient(&x, &(&x * &x));
    /// assert_eq!(dx.collect()?.values(), [0.0, 9.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn custom<Y: Value>(
        &self,
        name: &'static str,
        f: impl Fn(&X) -> Result<Y> + Send + Sync + 'static,
        gradient: impl Fn(&X, &Y) -> Result<X> + Send + Sync + 'static,
    ) -> Lazy<Y> {
        let number = unlike();
        let (gradient, told) = (Arc::new(gradient), number.clone());
        let run = move |inputs: &[Held]| f(known(&inputs[0]));
        step(name, number, [&self.node], Form::Own, |_| Ok(None), run).with_rule(move |asked| {
            let gradient = Arc::clone(&gradient);
            let run = move |inputs: &[Held]| fitting::<X>(gradient(known(&inputs[0]), known(&inputs[1]))?, &inputs[0]);
            let nodes = [&asked.inputs[0], asked.upstream];
            let found: Lazy<X> = step("custom_backward", told.clone(), nodes, Form::Own, |[x, _]| same(x), run);
            Some(vec![Some(found.node)])
        })
    }
}

/// A gradient on the pattern of what it is of, if it has its shape.
fn fitting<X: Value>(gradient: X, of: &Held) -> Result<X> {
    let gradient: Held = Arc::new(gradient);
    let (expected, found) = (X::KIND.shape(of), X::KIND.shape(&gradient));
    match expected == found {
        true => X::KIND.at_entries(of, gradient).map(taken),
        false => Err(Error::ShapeMismatch { what: "the gradient", expected, found }),
    }
}

/// The shape with the length of one axis changed, or left as it is.
fn with_length(shape: &Shape, axis: isize, length: Option<usize>) -> Result<Option<Shape>> {
    let axis = normalize_axis(axis as i128, shape.rank())?;
    let mut lengths = shape.to_vec();
    lengths[axis] = length.unwrap_or(lengths[axis]);
    Ok(Some(lengths.into()))
}

/// # What ranks elements
///
/// The pages stand at the functions of the same names.
impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`topk`](crate::topk()).
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize) -> Lazy<X::Of<T>> {
        let step = topk_of(self, "", "%0", k, axis, |x, k, axis| ops::topk(x, k, axis).map(X::reduced));
        rule_of_one!(step, T, [X: Steps] X::Of<F>, (k: usize, axis: isize), |x, g| x.topk_backward(&g, k, axis))
    }

    /// The gradient of `topk`: see [`topk_backward`](crate::topk_backward()).
    #[track_caller]
    pub fn topk_backward<U: Steps>(&self, upstream: &Lazy<U>, k: usize, axis: isize) -> Lazy<X::Of<U::Elem>> {
        let run = move |x: &X, g: &U| ops::topk_backward(x, g, k, axis).map(X::reduced);
        self.back("topk_backward", format!("{k}, {axis}"), Form::OfFirst, upstream, run).written(Text::call(
            "topk_backward",
            &["%0", "%1"],
            said!(k, axis),
        ))
    }

    /// The step [`nanmedian_index`](crate::nanmedian_index()): the medians, and where they stand.
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    #[track_caller]
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Lazy<(X::Of<T::Median>, X::Of<u64>)> {
        let options: Nanmedian = options.into();
        let (arguments, used) = (format!("{options:?}"), options.clone());
        let text = both_of(["nanmedian", "nanmedian_index"], "%0", options.said());
        let shape = |shape: &Shape| options.shape(shape);
        let run = move |x: &X| {
            ops::nanmedian_index(x, used.clone()).map(|(medians, places)| (X::reduced(medians), X::reduced(places)))
        };
        let (facts, kept) = (Facts::over(options.axes()), shares::reduced(options.axes()));
        let step = self.then("nanmedian_index", arguments, Form::Own, shape, run);
        step.written(text).known(facts).with_shares(kept)
    }
}

/// The greatest elements of a value, or of its entries.
#[track_caller]
fn topk_of<T: Element, X: Steps<Elem = T>>(
    x: &Lazy<X>,
    seen: &str,
    written: &str,
    k: usize,
    axis: isize,
    run: impl Fn(&X, usize, isize) -> Result<X::Of<T>> + Send + Sync + 'static,
) -> Lazy<X::Of<T>> {
    let shape = |shape: &Shape| with_length(shape, axis, Some(k));
    let step = x.then("topk", format!("{seen}{k}, {axis}"), Form::Own, shape, move |x| run(x, k, axis));
    let step = step.written(Text::call("topk", &[written], said!(k, axis)));
    step.with_shares(shares::beside(axis as i128, |rank| rank))
}

impl<P: Pattern, T: Real> LazyStored<P, T> {
    /// The step [`topk`](crate::topk()) of the entries.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 2]], vec![-5.0, -2.0, 3.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let best = lazy.stored().topk(1, 1);
    /// assert_eq!(best.collect()?.to_dense()?, ndarray::arr2(&[[-2.0], [3.0]]).into_dyn());
    /// assert_eq!(best.gradient(&lazy, &best).collect()?.values(), [0.0, -2.0, 3.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn topk(&self, k: usize, axis: isize) -> Lazy<Tensor<P, T>> {
        let run = |x: &Tensor<P, T>, k, axis| ops::topk(&x.stored(), k, axis);
        let step = topk_of(&self.x, "stored ", "stored(%0)", k, axis, run);
        rule_of_one!(step, T, [P: Pattern] Tensor<P, F>, (k: usize, axis: isize),
            |x, g| x.stored().topk_backward(&g, k, axis))
    }

    /// The gradient of `topk`: see [`topk_backward`](crate::topk_backward()).
    #[track_caller]
    pub fn topk_backward<U: Steps>(&self, upstream: &Lazy<U>, k: usize, axis: isize) -> Lazy<Tensor<P, U::Elem>> {
        let run = move |x: &Tensor<P, T>, g: &U| ops::topk_backward(&x.stored(), g, k, axis);
        let step = self.x.back("topk_backward", format!("stored {k}, {axis}"), Form::OfFirst, upstream, run);
        step.written(Text::call("topk_backward", &["stored(%0)", "%1"], said!(k, axis)))
    }

    /// The step [`nanmedian_index`](crate::nanmedian_index()) of the entries: the medians, and where they stand.
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    #[track_caller]
    pub fn nanmedian_index(&self, options: impl Into<Nanmedian>) -> Lazy<(Tensor<P, T::Median>, Tensor<P, u64>)> {
        let options: Nanmedian = options.into();
        let (arguments, used) = (format!("stored, {options:?}"), options.clone());
        let shape = |shape: &Shape| options.shape(shape);
        let run = move |x: &Tensor<P, T>| ops::nanmedian_index(&x.stored(), used.clone());
        let step = self.x.then("nanmedian_index", arguments, Form::Own, shape, run);
        let step = step.written(both_of(["nanmedian", "nanmedian_index"], "stored(%0)", options.said()));
        step.known(Facts::over(options.axes())).with_shares(shares::reduced(options.axes()))
    }

    /// The step [`topk_index`](crate::topk_index()): the elements, and their positions.
    #[track_caller]
    pub fn topk_index(&self, k: usize, axis: isize) -> Lazy<(Tensor<P, T>, Tensor<P, u64>)> {
        let shape = |shape: &Shape| with_length(shape, axis, Some(k));
        self.x
            .then("topk_index", format!("{k}, {axis}"), Form::Own, shape, move |x| {
                ops::topk_index(&x.stored(), k, axis)
            })
            .written(both_of(["topk", "topk_index"], "stored(%0)", said!(k, axis)))
            .with_shares(shares::beside(axis as i128, |rank| rank))
    }

    /// The step [`argsort`](crate::argsort()), which sparse tensors have for what they store.
    #[track_caller]
    pub fn argsort(&self, axis: isize) -> Lazy<Tensor<P, u64>> {
        let shape = |shape: &Shape| with_length(shape, axis, None);
        self.x
            .then("argsort", axis.to_string(), Form::Own, shape, move |x| ops::argsort(&x.stored(), axis))
            .written(Text::call("argsort", &["stored(%0)"], said!(axis)))
            .with_shares(shares::beside(axis as i128, |rank| rank))
    }
}

/// The two results of one operation, each by a function of its own.
fn both_of(names: [&str; 2], x: &str, arguments: Option<String>) -> Text {
    let calls = names.map(|name| match Text::call(name, &[x], arguments.clone()) {
        Text::Calls(calls) => calls,
        _ => Vec::new(),
    });
    let calls = calls.concat();
    if calls.is_empty() { Text::None } else { Text::Calls(calls) }
}

/// The positions, the axis and the mode, if they can be written.
fn said_of_take<J: Position>(take: &Take<'_, J>, axis: Option<i128>) -> Option<String> {
    let items = Some(take).filter(|take| take.len() <= WRITTEN)?.items(0).ok()?;
    let items: Option<Vec<i64>> = items.iter().map(|item| item.to_i64()).collect();
    let mut said = nested(&items?, take.shape())?;
    if let Some(axis) = axis {
        said += &format!(", axis={axis}");
    }
    match take.mode {
        TakeMode::Raise => {}
        TakeMode::Wrap => said += ", mode=\"wrap\"",
        TakeMode::Clip => said += ", mode=\"clip\"",
    }
    Some(said)
}

/// Lists in lists, of items in row-major order; none where a text does not tell the shape.
fn nested(items: &[i64], shape: &Shape) -> Option<String> {
    let is_told = !items.is_empty() || shape.rank() == 1;
    let mut parts: Vec<String> = items.iter().map(i64::to_string).collect();
    for &length in shape.iter().rev().filter(|_| is_told) {
        parts = match length {
            0 => vec!["[]".into()],
            _ => parts.chunks(length).map(|row| format!("[{}]", row.join(", "))).collect(),
        };
    }
    parts.pop().filter(|_| is_told && parts.is_empty())
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
        rule_of_all!(chosen, T, [P: Pattern], (), |[c, yes, no, g]| {
            let run = |inputs: &[Held]| {
                let [yes, no, g] = [1, 2, 3].map(|at| known::<Tensor<P, F>>(&inputs[at]));
                ops::where_backward(known::<Tensor<P, bool>>(&inputs[0]), yes, no, g)
            };
            let both: Lazy<(Tensor<P, F>, Tensor<P, F>)> =
                step("where_backward", String::new(), [c, yes, no, g], Form::Own, |[_, yes, ..]| same(yes), run)
                    .written(Text::gradients("where_backward", &["%0", "%1", "%2", "%3"], said!(), 2))
                    .known(Facts::gradients_of(&[1, 2]));
            let (yes, no) = both.parts();
            vec![None, Some(yes.node), Some(no.node)]
        })
    }
}

macro_rules! shares {
    ($($name:ident, $backward:ident;)*) => {
        /// # Shares of entries
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Float> LazyStored<P, T> {
            $(shares!(@one Tensor<P, T>, Tensor<P, U::Elem>, self => self.x, |x| &x.stored(), $name, $backward);)*
        }

        /// # Shares of the elements of arrays
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Float> Lazy<ArrayD<T>> {
            $(shares!(@one ArrayD<T>, ArrayD<U::Elem>, self => self, |x| x, $name, $backward);)*
        }
    };
    (@one $X:ty, $out:ty, $self:ident => $x:expr, |$v:ident| $view:expr, $name:ident, $backward:ident) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&$self, axes: impl Into<Axes>) -> Lazy<$X> {
            let axes: Axes = axes.into();
            let (arguments, used, apart) = (format!("{axes:?}"), axes.clone(), shares::apart_from(&axes));
            let run = move |$v: &$X| ops::$name($view, used.clone());
            let shape = |shape: &Shape| axes.shape(shape).and_then(|_| same(shape));
            let text = Text::call(stringify!($name), &["stored(%0)"], said!(axes));
            let step = $x.then(stringify!($name), arguments, Form::OfFirst, shape, run).written(text);
            step.with_shares(apart).with_rule(move |asked| {
                let [$v, g] = [&asked.inputs[0], asked.upstream].map(|node| Lazy::<$X>::of(Arc::clone(node)));
                Some(vec![Some($view.$backward(&g, axes.clone()).node)])
            })
        }

        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        #[track_caller]
        pub fn $backward<U: Steps<Elem: Float>>(&$self, upstream: &Lazy<U>, axes: impl Into<Axes>) -> Lazy<$out> {
            let axes: Axes = axes.into();
            let (arguments, apart) = (format!("{axes:?}"), shares::apart_from(&axes));
            let text = Text::call(stringify!($backward), &["stored(%0)", "%1"], said!(axes));
            let run = move |$v: &$X, g: &U| ops::$backward($view, g, axes.clone());
            let step = $x.back(stringify!($backward), arguments, Form::OfFirst, upstream, run);
            step.written(text).with_shares(apart)
        }
    };
}

shares! {
    softmax, softmax_backward;
    log_softmax, log_softmax_backward;
}

/// A change of the format, and back for its gradient.
macro_rules! formats {
    ($($from:ident $name:ident $back:ident $to:ident;)*) => {$(
        impl<I: Index, T: Element> Lazy<Tensor<$from<I>, T>> {
            #[doc = concat!("The same tensor in the other format: the step `", stringify!($name), "` of tensors.")]
            #[track_caller]
            pub fn $name(&self) -> Lazy<Tensor<$to<I>, T>> {
                let step = self
                    .then(stringify!($name), String::new(), Form::Own, same, |x| x.$name())
                    .written(Text::call(stringify!($name), &["%0"], said!()))
                    .with_shares(shares::same());
                struct Rule<I>(Ask<()>, std::marker::PhantomData<fn() -> I>);
                impl<I: Index> FloatVisitor for Rule<I> {
                    type Out = Arc<Node>;

                    #[track_caller]
                    fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
                        let g = self.0.upstream::<Tensor<$to<I>, F>>().$back();
                        // On the pattern of the operand itself.
                        Arc::clone(&self.0.x::<Tensor<$from<I>, F>>().any_backward(&g, Axes::none()).node)
                    }
                }
                step.with_rule(|asked| {
                    let rule = Rule::<I>(Ask::new(&asked, ()), std::marker::PhantomData);
                    T::if_float(rule).map(|gradient| vec![Some(gradient)])
                })
            }
        }
    )*};
}

formats! {
    CooPattern to_csr to_coo CsrPattern;
    CsrPattern to_coo to_csr CooPattern;
}
