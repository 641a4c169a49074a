//! Steps that rank elements.

use std::sync::Arc;

use super::node::{Form, Node};
use super::reductions::{Ask, Over, rule_of_one};
use super::rewrite::Facts;
use super::text::{Text, said};
use super::unary::{LazyStored, Steps};
use super::{Lazy, shares};
use crate::base::axes::normalize_axis;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, Real, RealNumber};
use crate::ops::{self, Nanmedian};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

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
