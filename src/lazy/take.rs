//! Steps that take elements at positions.

use std::any::Any;
use std::sync::Arc;

use super::Lazy;
use super::call::{Arg, Call, Typed, word_of_mode};
use super::node::{StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, step_impl};
use super::text::WRITTEN;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::{self, OpSpec, PointwiseTake, Request, Select, Take, TakeMode, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The largest number of positions for which two steps are compared.
const COMPARED: usize = 100;

/// The positions of a step. The graph does not know their type.
#[derive(Debug)]
struct TakenPositions<J: 'static>(Take<'static, J>);

impl<J: Position> Typed for TakenPositions<J> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Typed) -> bool {
        let Some(TakenPositions(other)) = other.as_any().downcast_ref::<Self>() else { return false };
        let are_few = self.0.len() <= COMPARED && other.len() <= COMPARED;
        are_few && format!("{:?}", self.0) == format!("{other:?}")
    }

    fn to_text(&self) -> Option<String> {
        let items = Some(&self.0).filter(|take| take.len() <= WRITTEN)?.items(0).ok()?;
        let items: Option<Vec<i64>> = items.iter().map(|item| item.to_i64()).collect();
        nested(&items?, self.0.shape())
    }

    fn taken_shape(&self, of: &Shape, axis: Option<i128>) -> Option<Result<Shape>> {
        Some(Request::new(of, (&self.0).into(), axis).map(|request| request.shape().clone()))
    }

    fn positions(&self, size: usize) -> Option<Vec<usize>> {
        Request::new(&[size], (&self.0).into(), None).ok()?.positions(size, size_of::<usize>()).ok()
    }

    fn rank(&self) -> usize {
        self.0.shape().rank()
    }
}

/// Returns items in row-major order as nested lists; `None` if the lists would not determine the shape.
fn nested(items: &[i64], shape: &Shape) -> Option<String> {
    let has_text = !items.is_empty() || shape.rank() == 1;
    let mut parts: Vec<String> = items.iter().map(i64::to_string).collect();
    for &length in shape.iter().rev().filter(|_| has_text) {
        parts = match length {
            0 => vec!["[]".into()],
            _ => parts.chunks(length).map(|row| format!("[{}]", row.join(", "))).collect(),
        };
    }
    parts.pop().filter(|_| has_text && parts.is_empty())
}

/// Returns the request of a call on elements of these lengths.
fn request<'a, J: Position>(call: &'a Call, lengths: &[usize]) -> Result<Request<'a, J>> {
    let positions = call.data::<TakenPositions<J>>("indices").expect("positions of this type");
    Request::new(lengths, (&positions.0).into(), call.integer("axis"))
}

/// Returns the implementation of `take` and `take_axis`.
fn taken<X: Steps, J: Position>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let x = downcast::<X>(&inputs[0]);
        ops::select_with(x, &request::<J>(node.args(), x.lengths())?).map(X::reduced)
    })
}

/// The implementation of the gradient.
fn taken_back<X: Steps, J: Position>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let [x, g] = [0, 1].map(|at| downcast::<X>(&inputs[at]));
        ops::select_with_backward(x, &request::<J>(node.args(), x.lengths())?, g).map(X::reduced)
    })
}

/// Returns the descriptor of a call of `gather` or `take_along_axis` on elements of these lengths.
fn points<J: Position>(call: &Call, lengths: &[usize]) -> Result<PointwiseTake> {
    if let Some(TakenPositions(take)) = call.data::<TakenPositions<J>>("indices") {
        return PointwiseTake::along(lengths, take.into(), call.position("axis", -1));
    }
    let Arg::List(lists) = call.named("indices") else { return Err(Error::NoTensor) };
    let lists = lists.iter().filter_map(|list| match list {
        Arg::Typed(data) => data.as_any().downcast_ref::<TakenPositions<J>>(),
        _ => None,
    });
    PointwiseTake::new(lengths, lists.map(|TakenPositions(take)| take))
}

/// Returns the implementation of `gather` and `take_along_axis`.
fn gathered<X: Steps, J: Position>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let x = downcast::<X>(&inputs[0]);
        ops::select_with(x, &points::<J>(node.args(), x.lengths())?).map(X::reduced)
    })
}

/// The implementation of the gradient of [`gathered`].
fn gathered_back<X: Steps, J: Position>() -> StepImpl {
    step_impl!(X::Of<X::Elem>, |node, inputs| {
        let [x, g] = [0, 1].map(|at| downcast::<X>(&inputs[at]));
        ops::select_with_backward(x, &points::<J>(node.args(), x.lengths())?, g).map(X::reduced)
    })
}

fn is_take(op: &'static OpSpec) -> bool {
    op.is(&op::take) || op.is(&op::take_axis)
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`take`](crate::take()).
    #[track_caller]
    pub fn take<J: Position + 'static>(&self, positions: impl Into<Take<'static, J>>) -> Lazy<X::Of<T>> {
        self.taken(&op::take, positions.into(), Arg::Absent)
    }

    /// Returns the step [`take_axis`](crate::take_axis()).
    #[track_caller]
    pub fn take_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<X::Of<T>> {
        self.taken(&op::take_axis, positions.into(), Arg::Integer(axis as i128))
    }

    /// Returns the step [`gather`](crate::gather()).
    #[track_caller]
    pub fn gather<J: Position + 'static>(
        &self,
        positions: impl IntoIterator<Item = impl Into<Take<'static, J>>>,
    ) -> Lazy<X::Of<T>> {
        let lists: Vec<Take<'static, J>> = positions.into_iter().map(Into::into).collect();
        let mode = lists.first().map_or(TakeMode::Raise, |first| first.mode);
        let has_text = lists.iter().all(|list| list.mode == mode);
        let lists = lists.into_iter().map(|list| Arg::Typed(Arc::new(TakenPositions(list))));
        let call = Call::of(&op::gather, [Arg::Input(0), Arg::List(lists.collect()), word_of_mode(mode)]);
        self.pointwise::<J>(if has_text { call } else { call.without_text() })
    }

    /// Returns the step [`take_along_axis`](crate::take_along_axis()).
    #[track_caller]
    pub fn take_along_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<X::Of<T>> {
        let take = positions.into();
        let (axis, mode) = (Arg::Integer(axis as i128), word_of_mode(take.mode));
        let positions = Arg::Typed(Arc::new(TakenPositions(take)));
        self.pointwise::<J>(Call::of(&op::take_along_axis, [Arg::Input(0), positions, axis, mode]))
    }

    /// Returns the step of a call of `gather` or `take_along_axis`.
    #[track_caller]
    fn pointwise<J: Position>(&self, call: Call) -> Lazy<X::Of<T>> {
        let family = family!(X::Elem, [X: Steps, J: Position] |call, _| match call.op {
            op if op.is(&op::gather) || op.is(&op::take_along_axis) => Some(gathered::<X::Of<F>, J>()),
            op if op.is(&op::gather_backward) || op.is(&op::take_along_axis_backward) => {
                Some(gathered_back::<X::Of<F>, J>())
            }
            _ => None,
        });
        Lazy::step(call, [&self.node], StepImpl { family, ..gathered::<X, J>() })
    }

    #[track_caller]
    fn taken<J: Position>(&self, op: &'static OpSpec, take: Take<'static, J>, axis: Arg) -> Lazy<X::Of<T>> {
        let mode = word_of_mode(take.mode);
        let call = Call::of(op, [Arg::Input(0), Arg::Typed(Arc::new(TakenPositions(take))), axis, mode]);
        let family = family!(X::Elem, [X: Steps, J: Position] |call, _| match call.op.forward() {
            None => is_take(call.op).then(taken::<X::Of<F>, J>),
            Some(forward) => is_take(forward).then(taken_back::<X::Of<F>, J>),
        });
        Lazy::step(call, [&self.node], StepImpl { family, ..taken::<X, J>() })
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Returns the step [`take`](crate::take()).
    ///
    /// If the tensor does not store a selected element, this element is unstored in the result.
    #[track_caller]
    pub fn take<J: Position + 'static>(&self, positions: impl Into<Take<'static, J>>) -> Lazy<Tensor<P, T>> {
        self.x.take(positions)
    }

    /// Returns the step [`gather`](crate::gather()).
    ///
    /// If the tensor does not store a selected element, this element is unstored in the result.
    #[track_caller]
    pub fn gather<J: Position + 'static>(
        &self,
        positions: impl IntoIterator<Item = impl Into<Take<'static, J>>>,
    ) -> Lazy<Tensor<P, T>> {
        self.x.gather(positions)
    }

    /// Returns the step [`take_axis`](crate::take_axis()).
    ///
    /// If the tensor does not store a selected element, this element is unstored in the result.
    #[track_caller]
    pub fn take_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<Tensor<P, T>> {
        self.x.take_axis(positions, axis)
    }

    /// Returns the step [`take_along_axis`](crate::take_along_axis()).
    ///
    /// Elements that this tensor does not store are unstored in the result.
    #[track_caller]
    pub fn take_along_axis<J: Position + 'static>(
        &self,
        positions: impl Into<Take<'static, J>>,
        axis: isize,
    ) -> Lazy<Tensor<P, T>> {
        self.x.take_along_axis(positions, axis)
    }
}
