//! Steps that choose elements by their positions.

use std::sync::Arc;

use super::gradient::{at_entries_of, on_pattern_of};
use super::node::{Form, Node, unlike};
use super::reductions::Ask;
use super::text::{Text, WRITTEN};
use super::unary::{LazyStored, Steps};
use super::{Lazy, shares};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::ops::{Operand, Request, Select, Take, TakeMode};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// So many positions are told one by one.
const LISTED: usize = 100;

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
                    let up = at_entries_of::<X::Of<F>, _>(&asked.inputs[0], up);
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
