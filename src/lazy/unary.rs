//! How steps are made, and the operations on the entries of a tensor alone.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD};

use super::array_first;
use super::factors::by_array;
use super::node::{Asked, Form, Held, InPieces, Node, Rule, known};
use super::rewrite::Facts;
use super::shares::Shares;
use super::text::Text;
use super::{Lazy, Value};
use crate::base::alloc::Allocated;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{Element, Ring};
use crate::kernels::fed::{CellsAndValues, Source};
use crate::kernels::zip::Zip;
use crate::ops::{self, Fed, Operand, Partner};
use crate::pattern::Pattern;
use crate::plan::group::CellsOf;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The shape of a result that has that of an operand.
pub(super) fn same(shape: &Shape) -> Result<Option<Shape>> {
    Ok(Some(shape.clone()))
}

/// A step. `shape` tells that of the result from those of the inputs, if all are known.
#[track_caller]
pub(super) fn step<V: Value, const N: usize>(
    name: &'static str,
    arguments: String,
    inputs: [&Arc<Node>; N],
    form: Form,
    shape: impl FnOnce([&Shape; N]) -> Result<Option<Shape>>,
    run: impl Fn(&[Held]) -> Result<V> + Send + Sync + 'static,
) -> Lazy<V> {
    made_of_some(name, arguments, inputs, form, Box::new(shape), Box::new(run))
}

/// A step of so many inputs as come.
#[track_caller]
pub(super) fn step_of<V: Value>(
    name: &'static str,
    arguments: String,
    inputs: Vec<Arc<Node>>,
    form: Form,
    shape: impl FnOnce(&[&Shape]) -> Result<Option<Shape>>,
    run: impl Fn(&[Held]) -> Result<V> + Send + Sync + 'static,
) -> Lazy<V> {
    let shape = shape_of(&inputs, Box::new(shape));
    made(name, arguments, inputs, form, shape, Box::new(run))
}

/// As trait objects: what takes them is compiled once for each type of result, and not for each step.
type RunOf<V> = Box<dyn Fn(&[Held]) -> Result<V> + Send + Sync>;
type ShapeOf<'a> = Box<dyn FnOnce(&[&Shape]) -> Result<Option<Shape>> + 'a>;
type ShapeOfSome<'a, const N: usize> = Box<dyn FnOnce([&Shape; N]) -> Result<Option<Shape>> + 'a>;

/// A step of a known number of inputs.
#[track_caller]
fn made_of_some<V: Value, const N: usize>(
    name: &'static str,
    arguments: String,
    inputs: [&Arc<Node>; N],
    form: Form,
    shape: ShapeOfSome<'_, N>,
    run: RunOf<V>,
) -> Lazy<V> {
    let inputs = inputs.map(Arc::clone).to_vec();
    let shape = shape_of_some(&inputs, shape);
    made(name, arguments, inputs, form, shape, run)
}

#[track_caller]
fn made<V: Value>(
    name: &'static str,
    arguments: String,
    inputs: Vec<Arc<Node>>,
    form: Form,
    shape: Result<Option<Shape>>,
    run: RunOf<V>,
) -> Lazy<V> {
    let run = Arc::new(move |inputs: &[Held]| Ok(Arc::new(run(inputs)?) as Held));
    Lazy::of(Arc::new(Node::step(V::KIND, name, arguments, inputs, form, shape, run)))
}

/// The shape of a result, if those of all inputs are known; the error of one that is refused.
fn shape_of(inputs: &[Arc<Node>], shape: ShapeOf<'_>) -> Result<Option<Shape>> {
    shapes_of(inputs)?.map_or(Ok(None), |shapes| shape(&shapes))
}

fn shape_of_some<const N: usize>(inputs: &[Arc<Node>], shape: ShapeOfSome<'_, N>) -> Result<Option<Shape>> {
    shapes_of(inputs)?.and_then(|shapes| shapes.try_into().ok()).map_or(Ok(None), shape)
}

/// The shape of a result that has that of the first input, if those of all are known.
fn shape_of_first(inputs: &[Arc<Node>]) -> Result<Option<Shape>> {
    Ok(shapes_of(inputs)?.map(|shapes| shapes[0].clone()))
}

/// The shapes of the inputs of a step, if all are known; the error of one that is refused.
fn shapes_of(inputs: &[Arc<Node>]) -> Result<Option<Vec<&Shape>>> {
    match inputs.iter().find_map(|input| input.refusal()) {
        Some(error) => Err(error.clone()),
        None => Ok(inputs.iter().map(|input| input.shape.as_ref()).collect()),
    }
}

impl<V: Value> Lazy<V> {
    /// The same step, of which nobody knows yet, with the rule for its gradients.
    pub(super) fn with_rule(
        mut self,
        rule: impl Fn(Asked<'_>) -> Option<Vec<Option<Arc<Node>>>> + Send + Sync + 'static,
    ) -> Self {
        set_rule(&mut self.node, Box::new(rule));
        self
    }
}

/// Outside what is compiled again for each rule.
fn set_rule(node: &mut Arc<Node>, rule: Rule) {
    if let Some(node) = Arc::get_mut(node) {
        node.rule = Some(rule);
    }
}

impl<V: Value> Lazy<V> {
    /// The same step, of which nobody knows yet, with what a range of its result takes of its inputs.
    pub(super) fn with_shares(mut self, shares: Shares) -> Self {
        if let Some(node) = Arc::get_mut(&mut self.node) {
            node.shares = Some(shares);
        }
        self
    }

    /// The same step, of which nobody knows yet, as it is written.
    pub(super) fn written(mut self, text: Text) -> Self {
        if let Some(node) = Arc::get_mut(&mut self.node) {
            node.text = text;
        }
        self
    }

    /// The same step, of which nobody knows yet, with what is known of it.
    pub(super) fn known(mut self, facts: Facts) -> Self {
        if let Some(node) = Arc::get_mut(&mut self.node) {
            node.facts = facts;
        }
        self
    }

    /// The same step, of which nobody knows yet, with what computes it from pieces of its operand.
    pub(super) fn with_pieces(
        mut self,
        is_fed: bool,
        run: impl Fn(&InPieces<'_>) -> Option<Result<V>> + Send + Sync + 'static,
    ) -> Self {
        if let Some(node) = Arc::get_mut(&mut self.node) {
            node.is_fed = is_fed;
            node.from_pieces = Some(Arc::new(move |feed| Some(run(feed)?.map(|value| Arc::new(value) as Held))));
        }
        self
    }
}

/// What has steps element by element, reductions and moves: tensors and arrays. The trait is part of the sealed
/// [`Value`].
pub trait Steps: Value + Operand {
    /// The same form, with elements of another type.
    type Of<U: Element>: Steps<Elem = U, Of<U> = Self::Of<U>>;

    #[doc(hidden)]
    fn mapped<U: Element>(found: Self::Mapped<U>) -> Self::Of<U>;

    #[doc(hidden)]
    fn reduced<U: Element>(found: Self::Reduced<U>) -> Self::Of<U>;

    /// What reductions take of a value that comes in pieces.
    #[doc(hidden)]
    type Fed<'a>: Operand<Elem = Self::Elem>;

    /// A value that comes in pieces, or its entries alone; none of an array, which is taken as a whole.
    #[doc(hidden)]
    fn fed<'a>(feed: &'a InPieces<'a>, is_stored: bool) -> Option<Self::Fed<'a>>;

    #[doc(hidden)]
    fn of_fed<'a, U: Element>(found: <Self::Fed<'a> as Operand>::Reduced<U>) -> Self::Of<U>;

    /// What is stored alone: a view of a tensor, and of an array all of it.
    #[doc(hidden)]
    type Entries<'a>: Operand<Elem = Self::Elem>;

    #[doc(hidden)]
    fn entries(&self) -> Self::Entries<'_>;

    #[doc(hidden)]
    fn of_entries<'a, U: Element>(found: <Self::Entries<'a> as Operand>::Reduced<U>) -> Self::Of<U>;

    /// `x` scaled by these along an axis.
    #[doc(hidden)]
    fn scales<X: Operand<Elem = Self::Elem>>(&self, x: &X, axis: isize) -> Result<X::Reduced<Self::Elem>>;

    /// Its product with an array.
    #[doc(hidden)]
    fn times(x: &Lazy<Self>, y: &Lazy<ArrayD<Self::Elem>>) -> Lazy<ArrayD<Self::Elem>>
    where
        Self::Elem: Ring;

    /// The product of an array and this, where the array is not zero.
    #[doc(hidden)]
    fn of_array(array: &Lazy<ArrayD<Self::Elem>>, x: &Lazy<Self>) -> Lazy<Self::Of<Self::Elem>>;

    /// All elements as an array.
    #[doc(hidden)]
    fn all(x: &Lazy<Self>) -> Lazy<ArrayD<Self::Elem>>;

    #[doc(hidden)]
    fn zipped<Z: Zip<Self::Elem, Self::Elem>>(&self, right: Right<'_, Self>, op: Z) -> Result<Self::Of<Z::Out>>;
}

/// What stands on the right of a value in a run.
#[doc(hidden)]
pub enum Right<'a, X: Operand> {
    Value(&'a X),
    Array(&'a ArrayD<X::Elem>),
    Number(X::Elem),
}

impl<X: Steps> Partner<X> for Right<'_, X> {
    type Elem = X::Elem;
    type Zipped<U: Element> = X::Of<U>;

    fn zip<Z: Zip<X::Elem, X::Elem>>(self, x: &X, op: Z) -> Result<X::Of<Z::Out>> {
        x.zipped(self, op)
    }
}

macro_rules! steps {
    ($([$($generics:tt)*] $of_t:ty, $of_u:ty, $fed:ty, $make:expr, $entries:ty,
        |$x:ident| $seen:expr, |$of:ident| $all:expr, $times:path;)*) => {$(
        impl<$($generics)*> Steps for $of_t {
            type Of<U: Element> = $of_u;

            fn mapped<U: Element>(found: Self::Mapped<U>) -> $of_u {
                found
            }

            fn reduced<U: Element>(found: Self::Reduced<U>) -> $of_u {
                found
            }

            type Fed<'a> = $fed;

            fn fed<'a>(feed: &'a InPieces<'a>, is_stored: bool) -> Option<$fed> {
                $make(feed, is_stored)
            }

            fn of_fed<'a, U: Element>(found: <$fed as Operand>::Reduced<U>) -> $of_u {
                found
            }

            type Entries<'a> = $entries;

            fn entries(&self) -> Self::Entries<'_> {
                let $x = self;
                $seen
            }

            fn of_entries<'a, U: Element>(found: <$entries as Operand>::Reduced<U>) -> $of_u {
                found
            }

            fn scales<X: Operand<Elem = T>>(&self, x: &X, axis: isize) -> Result<X::Reduced<T>> {
                ops::scale(x, axis, self)
            }

            #[track_caller]
            fn times(x: &Lazy<Self>, y: &Lazy<ArrayD<T>>) -> Lazy<ArrayD<T>>
            where
                T: Ring,
            {
                by_array(x, y)
            }

            #[track_caller]
            fn of_array(array: &Lazy<ArrayD<T>>, x: &Lazy<Self>) -> Lazy<Self> {
                $times(array, x)
            }

            #[track_caller]
            fn all($of: &Lazy<Self>) -> Lazy<ArrayD<T>> {
                $all
            }

            fn zipped<Z: Zip<T, T>>(&self, right: Right<'_, Self>, op: Z) -> Result<Self::Of<Z::Out>> {
                match right {
                    Right::Value(y) => Partner::zip(y, self, op),
                    Right::Array(y) => Partner::zip(y, self, op),
                    Right::Number(number) => Partner::zip(number, self, op),
                }
            }
        }
    )*};
}

steps! {
    [P: Pattern, T: Element] Tensor<P, T>, Tensor<P, U>, Fed<'a, P, T>, fed_of, Stored<'a, P, T>,
        |x| x.stored(), |x| x.to_dense(), array_first::mul_nonzero;
    [T: Element] ArrayD<T>, ArrayD<U>, ArrayD<T>, |_, _| None, ArrayViewD<'a, T>, |x| x.view(), |x| x.clone(),
        Lazy::mul_nonzero;
}

/// A tensor that comes in pieces.
fn fed_of<'a, P: Pattern, T: Element>(feed: &'a InPieces<'a>, is_stored: bool) -> Option<Fed<'a, P, T>> {
    let (pattern, none) = (feed.pattern.downcast_ref()?, feed.none.downcast_ref::<Tensor<P, T>>()?);
    let gap = (!is_stored).then_some(none.fill());
    let source = Box::new(Poured::<P, T> { feed, of: PhantomData });
    Some(Fed { pattern, none, gap, source, states: feed.states })
}

/// The values of a tensor that comes in pieces.
struct Poured<'a, P, T> {
    feed: &'a InPieces<'a>,
    of: PhantomData<fn() -> Tensor<P, T>>,
}

impl<P: Pattern, T: Element> Source<T> for Poured<'_, P, T> {
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool {
        (self.feed.run)(entries, &mut |piece| take(known::<Tensor<P, T>>(piece).values())).is_ok()
    }

    fn is_poured(&self) -> bool {
        self.feed.is_poured
    }

    fn feed_cells(&self, axes: &[usize], lengths: &[usize], take: &mut CellsAndValues<'_, T>) -> Allocated<bool> {
        let mut cells = CellsOf::new(axes, lengths);
        let done = (self.feed.run)(0..usize::MAX, &mut |piece| {
            let piece = known::<Tensor<P, T>>(piece);
            cells.give(piece.pattern().any(), piece.values(), take);
        });
        cells.finish().map(|()| done.is_ok())
    }

    fn most(&self) -> usize {
        self.feed.most
    }

    fn picoseconds(&self) -> usize {
        self.feed.picoseconds
    }
}

/// The gradients of all inputs of a step: `$gradients` finds them from the nodes of the inputs and, behind these, that
/// of the upstream gradient, where the elements are of a type `F` of floats.
macro_rules! rule_of_all {
    ($lazy:expr, $T:ident, [$X:ident: $bound:ident], ($($arg:ident: $type:ty),*),
        |$nodes:pat_param| $gradients:expr) => {{
        struct Rule<X>(Vec<Arc<Node>>, ($($type,)*), std::marker::PhantomData<fn() -> X>);
        impl<$X: $bound> FloatVisitor for Rule<$X> {
            type Out = Vec<Option<Arc<Node>>>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
                let ($($arg,)*) = self.1;
                // A step with another number of inputs has no gradient.
                let $nodes = &self.0[..] else { return Vec::new() };
                $gradients
            }
        }
        let arguments = ($($arg.clone(),)*);
        $lazy.with_rule(move |asked| {
            let nodes = asked.inputs.iter().chain([asked.upstream]).map(Arc::clone).collect();
            $T::if_float(Rule::<$X>(nodes, arguments.clone(), std::marker::PhantomData))
        })
    }};
}
pub(super) use rule_of_all;

impl<X: Steps> Lazy<X> {
    /// A step of this tensor or array.
    #[track_caller]
    pub(super) fn then<V: Value>(
        &self,
        name: &'static str,
        arguments: String,
        form: Form,
        shape: impl FnOnce(&Shape) -> Result<Option<Shape>>,
        run: impl Fn(&X) -> Result<V> + Send + Sync + 'static,
    ) -> Lazy<V> {
        // Without `step` and its closures, which would be compiled for each operation on each type.
        let inputs = vec![Arc::clone(&self.node)];
        let shape = match self.node.known_shape() {
            Ok(Some(x)) => shape(x),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        made(name, arguments, inputs, form, shape, Box::new(move |inputs| run(known(&inputs[0]))))
    }

    /// A gradient on the pattern of this tensor.
    #[track_caller]
    pub(super) fn back<U: Steps>(
        &self,
        name: &'static str,
        arguments: String,
        form: Form,
        upstream: &Lazy<U>,
        run: impl Fn(&X, &U) -> Result<X::Of<U::Elem>> + Send + Sync + 'static,
    ) -> Lazy<X::Of<U::Elem>> {
        let inputs = vec![Arc::clone(&self.node), Arc::clone(&upstream.node)];
        let shape = shape_of_first(&inputs);
        let run = move |inputs: &[Held]| run(known(&inputs[0]), known(&inputs[1]));
        made(name, arguments, inputs, form, shape, Box::new(run))
    }
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Its entries alone: absent is absent. See [`Tensor::stored`].
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

/// The entries alone of a tensor that is not computed yet: what [`Stored`](crate::Stored) is to a tensor.
#[must_use = "a view is looked at by its methods"]
#[derive(Debug, Clone)]
pub struct LazyStored<P, T> {
    pub(super) x: Lazy<Tensor<P, T>>,
}
