//! What moves elements along axes, as steps.

use std::sync::Arc;

use ndarray::SliceInfoElem;

use super::gradient::{at_entries_of, on_pattern_of};
use super::node::{Form, Node};
use super::reductions::{Ask, rule_of_one};
use super::rewrite::{Facts, Plan};
use super::text::{Text, said};
use super::unary::Steps;
use super::{Lazy, shares};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::ops::{Select, moved};

/// The arguments in words, and as they are written.
type Words = [Option<String>; 2];

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// A move by its name and that of its gradient.
    #[track_caller]
    fn moved(
        &self,
        [name, backward]: [&'static str; 2],
        [arguments, said]: Words,
        plan: impl Fn(&[usize]) -> Result<moved::Moves> + Send + Sync + 'static,
    ) -> Lazy<X::Of<T>> {
        let plan: Plan = Arc::new(plan);
        let (used, told) = (Arc::clone(&plan), [arguments.clone(), said.clone()]);
        let text = Text::call(name, &["%0"], said);
        let arguments = arguments.unwrap_or_default();
        let shape = |shape: &Shape| plan(shape).map(|moves| Some(moves.shape().clone()));
        let run = move |x: &X| x.by_select(&used(x.lengths())?).map(X::reduced);
        let step = self.then(name, arguments, Form::Own, shape, run).written(text);
        let step = step.known(Facts { moves: Some(Arc::clone(&plan)), ..Facts::default() });
        let cut = Arc::clone(&plan);
        let step = step.with_shares(shares::moved::<X>(move |lengths| cut(lengths)));
        rule_of_one!(step, T, [X: Steps] X::Of<F>, (plan: Plan, told: Words, name: &'static str, backward: &'static str),
            |x, g| x.moved_back([name, backward], told, plan, &g))
    }

    /// The gradient of a move.
    #[track_caller]
    fn moved_back<U: Steps>(
        &self,
        [name, backward]: [&'static str; 2],
        [arguments, said]: Words,
        plan: Plan,
        upstream: &Lazy<U>,
    ) -> Lazy<X::Of<U::Elem>> {
        let (used, told) = (Arc::clone(&plan), [arguments.clone(), said.clone()]);
        let text = Text::call(backward, &["%0", "%1"], said);
        let arguments = arguments.unwrap_or_default();
        let run = move |x: &X, g: &U| x.by_select_backward(&used(x.lengths())?, g).map(X::reduced);
        let step = self.back(backward, arguments, Form::OfFirst, upstream, run).written(text);
        // What is given back is linear in the gradient: its own is the move of what comes back here.
        step.with_rule(move |asked| {
            let up = Lazy::<X::Of<U::Elem>>::of(Arc::clone(asked.upstream));
            let up = at_entries_of::<X, _>(&asked.inputs[0], up);
            let (plan, told) = (Arc::clone(&plan), told.clone());
            let moved = up.moved([name, backward], told, move |lengths| plan(lengths));
            Some(vec![None, Some(on_pattern_of::<U, _>(&asked.inputs[1], &moved)?)])
        })
    }
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step `permute_axes` of tensors: the axes in another order.
    #[track_caller]
    pub fn permute_axes(&self, axes: impl AsRef<[isize]>) -> Lazy<X::Of<T>> {
        let axes = axes.as_ref().to_vec();
        let words = [Some(format!("{axes:?}")), Some(format!("{axes:?}"))];
        self.moved(["permute_axes", "transpose_backward"], words, move |lengths| moved::permuted(lengths, &axes))
    }
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`slice`](crate::slice()).
    #[track_caller]
    pub fn slice(&self, slices: impl AsRef<[SliceInfoElem]>) -> Lazy<X::Of<T>> {
        let slices = slices.as_ref().to_vec();
        let words = [Some(format!("{slices:?}")), said!(slices)];
        let used = Arc::new(slices);
        let known = Arc::clone(&used);
        let mut step = self.moved(["slice", "slice_backward"], words, move |lengths| moved::sliced(lengths, &**used));
        if let Some(node) = Arc::get_mut(&mut step.node) {
            node.facts.slices = Some(known);
        }
        step
    }
}

macro_rules! moves {
    ($($name:ident($($arg:ident: $type:ty $(=> $owned:expr)?),*) = $plan:path;)*) => {
        /// # Moves along axes
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, $($arg: $type),*) -> Lazy<X::Of<T>> {
                $($(let $arg = $owned;)?)*
                let arguments: &[String] = &[$(format!("{:?}", $arg)),*];
                let words = [Some(arguments.join(", ")), said!($($arg),*)];
                let names = [stringify!($name), concat!(stringify!($name), "_backward")];
                self.moved(names, words, move |lengths| $plan(lengths $(, $arg.clone())*))
            }
        )*}
    };
}

moves! {
    flip(axes: impl Into<Axes> => axes.into()) = moved::flipped;
    roll(places: isize, axis: isize) = moved::rolled;
    pad(widths: impl AsRef<[(usize, usize)]> => widths.as_ref().to_vec()) = moved::padded;
    tile(times: impl AsRef<[usize]> => times.as_ref().to_vec()) = moved::tiled;
    repeat(times: usize, axis: isize) = moved::repeated;
    broadcast_to(shape: impl Into<Shape> => shape.into()) = moved::broadcast;
    squeeze(axes: impl Into<Axes> => axes.into()) = moved::squeezed;
    expand_dims(axes: impl Into<Axes> => axes.into()) = moved::expanded;
    transpose() = moved::transposed;
    move_axis(from: isize, to: isize) = moved::moved;
    tril(offset: isize) = moved::lower;
    triu(offset: isize) = moved::upper;
    diagonal(offset: isize) = moved::on_diagonal;
}
