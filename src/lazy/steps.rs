//! Construction of steps from calls, and views of stored entries.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayD;

use super::call::{Arg, Call};
use super::node::{Body, ChunkedInput, ErasedValue, Form, Node, Run, StepImpl, Work, downcast};
use super::{Lazy, Value, lengths};
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::kernels::map::Each;
use crate::kernels::stream::{FeedOutputs, ValueSource};
use crate::kernels::zip::Zip;
use crate::ops::{self, ErasedOperand, ErasedResult, OpSpec, Operand, Partner, SparseOperand, Split, ValueStream};
use crate::pattern::Pattern;
use crate::plan::group::OutputIndices;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::{SparseCow, SparseRef};

/// Returns a typed implementation, from the type of the result and a function of the node and the values of its inputs.
macro_rules! step_impl {
    ($type:ty, |$node:pat_param, $inputs:ident| $body:expr) => {
        $crate::lazy::node::StepImpl::new(
            <$type as $crate::lazy::Value>::KIND,
            |$node: &$crate::lazy::node::Node, $inputs: &[$crate::lazy::node::ErasedValue]| {
                let found: $crate::Result<$type> = $body;
                found.map(|found| std::sync::Arc::new(found) as $crate::lazy::node::ErasedValue)
            },
        )
    };
}
pub(super) use step_impl;

/// Defines methods that return steps: the documentation, the name and the parameters, the bound of the element type,
/// the result, and the body.
macro_rules! methods {
    ($($doc:expr => $name:ident($x:ident $(, $arg:ident: $type:ty)*) $([$bound:ident])? -> $out:ty { $($body:tt)* })*) => {$(
        #[doc = $doc]
        #[track_caller]
        pub fn $name(&self, $($arg: $type),*) -> $out
        $(where
            T: $bound,)?
        {
            let $x = self;
            $($body)*
        }
    )*};
}
pub(super) use methods;

/// Finds the implementations that gradients use, if the elements are floats. The element type is `F`. The
/// implementations are a table by operation, or a function of a call and its inputs.
macro_rules! family {
    ($T:ty, [$($X:ident: $bound:ident),*] |$call:pat_param, $inputs:pat_param| $find:expr) => {{
        struct Find<$($X),*>(std::marker::PhantomData<fn($($X),*)>);
        impl<$($X: $bound),*> $crate::element::FloatVisitor for Find<$($X),*> {
            type Out = $crate::lazy::node::Family;

            fn visit<F: $crate::element::Float + $crate::element::Numeric>(self) -> Self::Out {
                |$call, $inputs| $find
            }
        }
        <$T as $crate::element::Element>::if_float(Find::<$($X),*>(std::marker::PhantomData))
    }};
    ($T:ty, [$($X:ident: $bound:ident),*] $($op:ident => $step_impl:expr),* $(,)?) => {
        $crate::lazy::steps::family!($T, [$($X: $bound),*] |call, _| {
            $crate::lazy::steps::row_of(call, &[$((&op::$op, $step_impl)),*])
        })
    };
}
pub(super) use family;

/// Returns the node of a call. The call refers to `inputs` by index.
#[track_caller]
pub(super) fn step(call: Call, inputs: Vec<Arc<Node>>, step_impl: StepImpl) -> Node {
    step_as(call.op.name, call, inputs, step_impl)
}

/// Returns the node of a call, under the name of a method.
#[track_caller]
pub(super) fn step_as(name: &'static str, call: Call, inputs: Vec<Arc<Node>>, step_impl: StepImpl) -> Node {
    let rejection = inputs.iter().find_map(|input| input.rejection()).cloned();
    let shapes = inputs.iter().map(|input| input.shape.as_ref()).collect::<Option<Vec<_>>>();
    let shape = match (rejection, &shapes) {
        (Some(error), _) => Err(error),
        // The arguments of a call in an expression are values.
        (None, Some(shapes)) if shapes.is_empty() && step_impl.kind.is_dynamic() => Ok(None),
        (None, Some(shapes)) => lengths::of_call(&call, shapes),
        (None, None) => Ok(None),
    };
    let first = shapes.as_ref().and_then(|shapes| shapes.first().copied());
    let work = Work {
        family: step_impl.family,
        takes_chunks: step_impl.reduce_chunks.is_some() && takes_chunks(&call, first),
        reduce_chunks: step_impl.reduce_chunks.map(|pieces| Arc::new(pieces) as _),
        accumulator: step_impl.accumulator,
        ..Work::new(form_of(&call, &inputs), call, Arc::new(step_impl.run))
    };
    work.node(name, step_impl.kind, inputs, shape)
}

impl Work {
    /// Returns a call that is computed by `run` from entire inputs.
    pub(super) fn new(form: Form, call: Call, run: Run) -> Self {
        Work {
            call,
            run,
            form,
            family: None,
            reduce_chunks: None,
            accumulator: None,
            takes_chunks: false,
            rule: None,
            reduced: None,
        }
    }

    /// Returns the node of a step. If `shape` is an error, the node carries this error.
    #[track_caller]
    pub(super) fn node(
        self,
        name: &'static str,
        kind: &'static dyn super::value::Kind,
        inputs: Vec<Arc<Node>>,
        shape: Result<Option<Shape>>,
    ) -> Node {
        let mut node = Node::of_kind(kind, name, Body::Step(Box::new(self)), None);
        match shape {
            Ok(shape) => (node.shape, node.inputs) = (shape, inputs),
            Err(cause) => node.body = Body::Invalid(node.error(cause)),
        }
        node
    }
}

/// Returns whether the operand of a reduction is known to support chunks.
pub(super) fn takes_chunks(call: &Call, operand: Option<&Shape>) -> bool {
    let axes = call.axes();
    let takes_chunks = |shape| Reduction::new(shape, &axes).is_ok_and(|reduction| reduction.takes_chunks());
    operand.map_or(axes.labels().is_none(), takes_chunks)
}

/// Returns the relation between the pattern of a result and the patterns of the inputs.
fn form_of(call: &Call, inputs: &[Arc<Node>]) -> Form {
    let is_array = |input: &&Arc<Node>| input.kind.format() == "array";
    let arrays = inputs.iter().filter(is_array).count();
    let is_gradient = call.op.forward().is_some();
    match call.op.split {
        Split::Each if call.op.keeps_pattern && is_gradient => Form::EachOfFirst,
        // A long set needs a table, which is too expensive to build again for each chunk.
        Split::Each if call.named("members").is_long() => Form::OfFirst,
        Split::Each if arrays > 0 && arrays < inputs.len() => Form::Own,
        Split::Each if call.op.keeps_pattern || call.op.is_choice() => Form::Each,
        // The gradient of an operand that is combined with a number.
        Split::Alike if call.wrt().is_some() => Form::OfFirst,
        Split::Back | Split::Among | Split::Scaled => Form::OfFirst,
        _ if call.op.is_of_first() => Form::OfFirst,
        _ => Form::Own,
    }
}

impl<V: Value> Lazy<V> {
    /// Returns the step of a call.
    #[track_caller]
    pub(super) fn step<const N: usize>(call: Call, inputs: [&Arc<Node>; N], step_impl: StepImpl) -> Self {
        Lazy::of(Arc::new(step(call, inputs.map(Arc::clone).to_vec(), step_impl)))
    }

    /// Returns the step of a call, under the name of a method.
    #[track_caller]
    pub(super) fn step_as<const N: usize>(
        name: &'static str,
        call: Call,
        inputs: [&Arc<Node>; N],
        step_impl: StepImpl,
    ) -> Self {
        Lazy::of(Arc::new(step_as(name, call, inputs.map(Arc::clone).to_vec(), step_impl)))
    }

    /// Returns the step of a closure. The step equals only itself.
    #[track_caller]
    pub(super) fn own_step<const N: usize>(
        name: &'static str,
        call: Call,
        inputs: [&Arc<Node>; N],
        shape: impl FnOnce([&Shape; N]) -> Result<Option<Shape>>,
        run: impl Fn(&[ErasedValue]) -> Result<V> + Send + Sync + 'static,
    ) -> Self {
        let inputs = inputs.map(Arc::clone).to_vec();
        let shape = match inputs.iter().find_map(|input| input.rejection()) {
            Some(error) => Err(error.clone()),
            None => {
                let shapes: Option<Vec<&Shape>> = inputs.iter().map(|input| input.shape.as_ref()).collect();
                shapes.and_then(|shapes| shapes.try_into().ok()).map_or(Ok(None), shape)
            }
        };
        let run = move |_: &Node, inputs: &[ErasedValue]| Ok(Arc::new(run(inputs)?) as ErasedValue);
        let work = Work::new(form_of(&call, &inputs), call, Arc::new(run));
        Lazy::of(Arc::new(work.node(name, V::KIND, inputs, shape)))
    }

    /// Changes how this step is computed. A step that another graph shares stays unchanged.
    pub(super) fn with_work(mut self, change: impl FnOnce(&mut Work)) -> Self {
        if let Some(Body::Step(work)) = Arc::get_mut(&mut self.node).map(|node| &mut node.body) {
            change(work);
        }
        self
    }
}

impl Arg {
    /// Returns whether the argument is a set with more than [`FEW`] members.
    fn is_long(&self) -> bool {
        matches!(self, Arg::Typed(data) if data.count() > FEW)
    }
}

/// The largest number of members that are compared one by one.
const FEW: usize = 16;

/// A value with elementwise operations and reductions: a tensor or an array.
///
/// These values also have the methods of shape manipulation. The trait is sealed, because [`Value`] is sealed.
pub trait Steps: Value + Operand {
    /// A value of the same form with another element type.
    type Of<U: Element>: Steps<Elem = U, Of<U> = Self::Of<U>>;

    #[doc(hidden)]
    fn reduced<U: Element>(found: Self::Reduced<U>) -> Self::Of<U>;

    /// Runs a reduction of a tensor that arrives in chunks, or of its stored entries. Returns `None` for an array,
    /// which is read entirely.
    #[doc(hidden)]
    fn in_chunks<R>(_: &ChunkedInput<'_>, _: bool, _: impl FnOnce(&ErasedOperand<'_, Self::Elem>) -> R) -> Option<R> {
        None
    }

    /// Returns the stored entries of a tensor, or all elements of an array.
    #[doc(hidden)]
    fn stored_operand(&self) -> ErasedOperand<'_, Self::Elem> {
        self.erased()
    }

    /// Returns the result of a binary operation on a value of this type and a value, an array or a number.
    #[doc(hidden)]
    fn zipped<Z: Zip<Self::Elem, Self::Elem>>(call: &Call, inputs: &[ErasedValue], op: Z) -> Result<Self::Of<Z::Out>>;
}

impl<P: Pattern, T: Element> Steps for Tensor<P, T> {
    type Of<U: Element> = Tensor<P, U>;

    fn reduced<U: Element>(found: Tensor<P, U>) -> Tensor<P, U> {
        found
    }

    fn in_chunks<R>(
        feed: &ChunkedInput<'_>,
        is_stored: bool,
        run: impl FnOnce(&ErasedOperand<'_, T>) -> R,
    ) -> Option<R> {
        let (pattern, none) = (feed.pattern.downcast_ref::<P>()?, feed.none.downcast_ref::<Tensor<P, T>>()?);
        let values = Streamed::<P, T> { feed, of: PhantomData };
        let tensor = SparseCow::Borrowed(SparseRef::streamed(pattern.any(), none.sparse()));
        let stream = Some(ValueStream { values: &values, states: feed.states });
        Some(run(&SparseOperand { tensor, counts_unstored: !is_stored, stream }.into()))
    }

    fn stored_operand(&self) -> ErasedOperand<'_, T> {
        SparseOperand::new(self.sparse(), false).into()
    }

    fn zipped<Z: Zip<T, T>>(call: &Call, inputs: &[ErasedValue], op: Z) -> Result<Tensor<P, Z::Out>> {
        let x = downcast::<Self>(&inputs[0]);
        let Some(other) = inputs.get(1) else {
            let number = call.element::<T>("y");
            return if call.is_stored() { number.zip(&x.stored(), op) } else { number.zip(x, op) };
        };
        match (other.downcast_ref::<Self>(), call.is_stored()) {
            (Some(y), false) => y.zip(x, op),
            (Some(y), true) => y.stored().zip(&x.stored(), op),
            (None, false) => downcast::<ArrayD<T>>(other).zip(x, op),
            (None, true) => downcast::<ArrayD<T>>(other).zip(&x.stored(), op),
        }
    }
}

impl<T: Element> Steps for ArrayD<T> {
    type Of<U: Element> = ArrayD<U>;

    fn reduced<U: Element>(found: ArrayD<U>) -> ArrayD<U> {
        found
    }

    fn zipped<Z: Zip<T, T>>(call: &Call, inputs: &[ErasedValue], op: Z) -> Result<ArrayD<Z::Out>> {
        let x = downcast::<Self>(&inputs[0]);
        match inputs.get(1) {
            Some(y) => Partner::zip(downcast::<Self>(y), x, op),
            None => Partner::zip(call.element::<T>("y"), x, op),
        }
    }
}

/// Returns the operand of a step: all positions of a value, or its stored entries if the call reads only stored
/// entries.
pub(super) fn operand<'a, X: Steps>(node: &Node, input: &'a ErasedValue) -> ErasedOperand<'a, X::Elem> {
    viewed(node.args(), downcast::<X>(input))
}

/// Returns all positions of a value, or its stored entries if the call reads only stored entries.
pub(super) fn viewed<'a, X: Steps>(call: &Call, x: &'a X) -> ErasedOperand<'a, X::Elem> {
    if call.is_stored() { x.stored_operand() } else { x.erased() }
}

/// Returns a value like `x` with one number at all elements. The gradient of an operation on both values then reads
/// only the elements of `x`. A broadcast number would be at every position.
pub(super) fn constant<X: Steps>(x: &X, number: X::Elem) -> Result<X::Of<X::Elem>> {
    found::<X, _>(ops::apply(&x.erased(), &Each::quick("constant", move |_| Some(number))))
}

/// Returns whether elements of a type are floats, which have gradients.
pub(super) fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}

/// Returns the implementation of the operation of a call, if it is in a table.
pub(super) fn row_of(call: &Call, rows: &[(&'static OpSpec, StepImpl)]) -> Option<StepImpl> {
    rows.iter().find(|(op, _)| call.op.is(op)).map(|(_, step_impl)| *step_impl)
}

/// Returns the result of an operation on the operand of a step as a value.
pub(super) fn found<X: Steps, U: Element>(found: Result<ErasedResult<U>>) -> Result<X::Of<U>> {
    found.and_then(X::restore).map(X::reduced)
}

/// Returns the results of an operation on two operands as values.
pub(super) fn found_both<A: Steps, B: Steps, U: Element, W: Element>(
    both: Result<(ErasedResult<U>, ErasedResult<W>)>,
) -> Result<(A::Of<U>, B::Of<W>)> {
    let (left, right) = both?;
    Ok((found::<A, _>(Ok(left))?, found::<B, _>(Ok(right))?))
}

/// The values of a tensor that arrives in chunks.
struct Streamed<'a, P, T> {
    feed: &'a ChunkedInput<'a>,
    of: PhantomData<fn() -> Tensor<P, T>>,
}

impl<P: Pattern, T: Element> ValueSource<T> for Streamed<'_, P, T> {
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool {
        (self.feed.run)(entries, &mut |piece| take(downcast::<Tensor<P, T>>(piece).values())).is_ok()
    }

    fn is_streamed(&self) -> bool {
        self.feed.is_streamed
    }

    fn feed_cells(&self, axes: &[usize], lengths: &[usize], take: &mut FeedOutputs<'_, T>) -> Allocated<bool> {
        let mut cells = OutputIndices::new(axes, lengths);
        let done = (self.feed.run)(0..usize::MAX, &mut |piece| {
            let piece = downcast::<Tensor<P, T>>(piece);
            cells.feed(piece.pattern().any(), piece.values(), take);
        });
        cells.finish().map(|()| done.is_ok())
    }

    fn max_bytes(&self) -> usize {
        self.feed.max_bytes
    }

    fn picoseconds(&self) -> usize {
        self.feed.picoseconds
    }
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Returns a view of the stored entries: see [`Tensor::stored`].
    ///
    /// Operations on the view ignore unstored positions.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 0], vec![1, 2]], vec![3.0, 5.0], 0.0_f64)?;
    /// assert_eq!(x.lazy().stored().mean(1).collect()?.get(&[0])?, 4.0);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn stored(&self) -> LazyStored<P, T> {
        LazyStored { x: self.clone() }
    }
}

/// The stored entries of a lazy tensor.
///
/// [`Stored`](crate::Stored) is the same view of a tensor that is not lazy.
#[must_use = "a view does nothing until its methods are called"]
#[derive(Debug, Clone)]
pub struct LazyStored<P, T> {
    pub(super) x: Lazy<Tensor<P, T>>,
}
