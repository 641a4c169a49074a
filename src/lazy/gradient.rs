//! Gradients as steps that are appended to the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

use ndarray::ArrayD;

use super::node::{Asked, Body, Form, Held, Node, known, placed, reachable};
use super::text::{Text, said};
use super::unary::{Steps, step};
use super::{Lazy, Value};
use crate::base::alloc;
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What has a gradient: tensors and arrays of floats. The trait is part of the sealed [`Value`].
pub trait HasGradient: Value {
    /// Zeros on the pattern of `x`.
    #[doc(hidden)]
    fn zeros(x: &Lazy<Self>) -> Lazy<Self>;

    /// The upstream gradient of `x` itself, on its pattern.
    #[doc(hidden)]
    fn own(x: &Lazy<Self>, upstream: Lazy<Self>) -> Lazy<Self>;
}

impl<P: Pattern, F: Float> HasGradient for Tensor<P, F> {
    #[track_caller]
    fn zeros(x: &Lazy<Self>) -> Lazy<Self> {
        let same = |shape: &Shape| Ok(Some(shape.clone()));
        x.then("zeros", String::new(), Form::Each, same, |x| x.clone().with_fill(F::ZERO).map_values(|_| F::ZERO))
            .written(Text::call("zeros_like", &["%0"], said!()))
            .with_rule(|_| Some(vec![None]))
    }

    #[track_caller]
    fn own(x: &Lazy<Self>, upstream: Lazy<Self>) -> Lazy<Self> {
        x.any_backward(&upstream, Axes::none())
    }
}

impl<F: Float> HasGradient for ArrayD<F> {
    #[track_caller]
    fn zeros(x: &Lazy<Self>) -> Lazy<Self> {
        let run = |inputs: &[Held]| {
            let x = known::<Self>(&inputs[0]);
            Ok(dense_array(&x.shape().into(), alloc::zeros(x.len())?))
        };
        step("zeros", String::new(), [&x.node], Form::Own, |[x]| Ok(Some(x.clone())), run)
            .written(Text::call("zeros_like", &["%0"], said!()))
            .with_rule(|_| Some(vec![None]))
    }

    fn own(_: &Lazy<Self>, upstream: Lazy<Self>) -> Lazy<Self> {
        upstream
    }
}

impl<V: HasGradient> Lazy<V> {
    /// The gradient of this result by `x`, a step that it was made from, for the gradient `upstream` of this result.
    ///
    /// It is the chain of the backward functions, as steps: fused and run with the others. What several steps give to
    /// one is added in the order in which these were made. It has the pattern of `x`, a fill of 0 and no entry where
    /// `x` has none, as each gradient of the library. By an input that the result was not made from it is 0.
    ///
    /// A loss of rank 0 takes an `upstream` of rank 0: `CooTensor::full([0; 0], 1.0)?.lazy()`, or of an array
    /// `Lazy::from(arr0(1.0).into_dyn())`.
    ///
    /// # Errors
    ///
    /// Carried, as always: `NoGradient` where a step on the way has none, with its line; `ShapeMismatch` where
    /// `upstream` has not the shape of this result; `Argument` where `x` is a value that is there, or a step, and the
    /// result was not made from it. Each call of `lazy()` begins a graph of its own, and a step that is made again is
    /// another one: keep it, and ask for the gradient by that.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::lazy::{Lazy, compile};
    /// use lacuna::{CooTensor, mul_backward, sum_backward};
    ///
    /// let day = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1.0, 2.0, -3.0], 0.0)?;
    /// let weight = CooTensor::new([2], vec![vec![0, 1]], vec![10.0, 100.0], 0.0)?;
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [2, 3]);
    /// let (z, dz) = ((&x * &x).sum(1), weight.lazy());
    /// let step = compile((&z, &z.gradient(&x, &dz)))?;
    /// let (sums, dx) = step.run([x.is(&day)])?;
    /// assert_eq!(sums.to_vec(&[])?, [5.0, 9.0]);
    /// assert_eq!(dx.values(), [20.0, 40.0, -600.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn gradient<X: HasGradient>(&self, x: &Lazy<X>, upstream: &Self) -> Lazy<X> {
        let mut found = found(&self.node, &upstream.node, &[&x.node]);
        x.or_zeros(found.pop().unwrap_or(Ok(None)), upstream)
    }

    /// The gradients of this result by several steps of one type, each as [`gradient`](Lazy::gradient) has it: what
    /// they share is one step.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2], vec![vec![0, 1]], vec![2.0, 3.0], 0.0)?.lazy();
    /// let y = CooTensor::new([2], vec![vec![0, 1]], vec![5.0, 7.0], 0.0)?.lazy();
    /// let [dx, dy] = (&x * &y).gradients([&x, &y], &x);
    /// assert_eq!((dx.value()?.values(), dy.value()?.values()), (&[10.0, 21.0][..], &[4.0, 9.0][..]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn gradients<X: HasGradient, const N: usize>(&self, by: [&Lazy<X>; N], upstream: &Self) -> [Lazy<X>; N] {
        let mut found = found(&self.node, &upstream.node, &by.map(|x| &x.node)).into_iter();
        by.map(|x| x.or_zeros(found.next().unwrap_or(Ok(None)), upstream))
    }
}

impl<X: HasGradient> Lazy<X> {
    /// The gradient that was found by this step: zeros where the result does not depend on it.
    #[track_caller]
    fn or_zeros<V>(&self, found: Result<Option<Arc<Node>>>, upstream: &Lazy<V>) -> Self {
        match found {
            // This step is the result, of whatever pattern the upstream gradient is.
            Ok(Some(node)) if node.id == upstream.node.id => X::own(self, Self::of(node)),
            Ok(Some(node)) => Lazy::of(node),
            Ok(None) => X::zeros(self),
            Err(error) => Lazy::refused(Node::new::<X>("gradient", Body::Refused(error.clone()), None), error),
        }
    }
}

/// The gradients of a result by some of the steps that it was made from; none for what it does not depend on.
#[track_caller]
fn found(result: &Arc<Node>, upstream: &Arc<Node>, by: &[&Arc<Node>]) -> Vec<Result<Option<Arc<Node>>>> {
    // Rules are closures, which know no caller.
    let gradients = placed(|| all(result, upstream, by, false));
    let of = |gradients: &BTreeMap<u64, Arc<Node>>, node: &Arc<Node>| gradients.get(&node.id).cloned();
    let of_one = |node: &Arc<Node>| match &gradients {
        Ok(found) => {
            of(found, node).map_or_else(|| stranger(result, node).map_or(Ok(None), Err), |node| Ok(Some(node)))
        }
        Err(error) => Err(error.clone()),
    };
    by.iter().map(|node| of_one(node)).collect()
}

/// What is wrong with a value that a result was not made from: with most it is that of another call of `lazy()`, or a
/// step that was made again, and zeros would be a wrong answer. An input may well have no part in a result.
fn stranger(result: &Arc<Node>, by: &Arc<Node>) -> Option<Error> {
    let why = match by.body {
        Body::Input { .. } | Body::Refused(_) => return None,
        Body::Step { .. } => "the result was not made from this step: one that is made again is another, so keep one",
        _ => "the result was not made from this value: each call of lazy() begins a graph of its own, so keep one",
    };
    let is_known = reachable(&[Arc::clone(result)], |_| false).iter().any(|step| step.id == by.id);
    (!is_known).then(|| Error::Argument { operation: "gradient", why: why.into() })
}

/// What a step that stands for a formula gives to those that it is made of: the gradients of the formula by them, each
/// told once. None where a step of the formula has no gradient.
pub(super) fn through(formula: &Arc<Node>, asked: &Asked<'_>) -> Option<Vec<Option<Arc<Node>>>> {
    let by: Vec<&Arc<Node>> = asked.inputs.iter().collect();
    let mut found = all(formula, asked.upstream, &by, true).ok()?;
    Some(asked.inputs.iter().map(|node| found.remove(&node.id)).collect())
}

/// A gradient on the pattern of what it is one of.
#[track_caller]
pub(super) fn on_pattern_of<X: Steps, G: Steps<Elem = X::Elem>>(
    x: &Arc<Node>,
    gradient: &Lazy<G>,
) -> Option<Arc<Node>> {
    struct On<X, G>(Arc<Node>, Arc<Node>, PhantomData<fn() -> (X, G)>);
    impl<X: Steps, G: Steps> FloatVisitor for On<X, G> {
        type Out = Arc<Node>;

        #[track_caller]
        fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
            let (x, gradient) = (Lazy::<X::Of<F>>::of(self.0), Lazy::<G::Of<F>>::of(self.1));
            Arc::clone(&x.any_backward(&gradient, Axes::none()).node)
        }
    }
    X::Elem::if_float(On::<X, G>(Arc::clone(x), Arc::clone(&gradient.node), PhantomData))
}

/// What comes back to a gradient of a value, without what stands where that gradient stores nothing.
#[track_caller]
pub(super) fn at_entries_of<X: Steps, Y: Steps>(x: &Arc<Node>, upstream: Lazy<Y>) -> Lazy<Y> {
    struct At<X, Y>(Arc<Node>, Arc<Node>, PhantomData<fn() -> (X, Y)>);
    impl<X: Steps, Y: Steps> FloatVisitor for At<X, Y> {
        type Out = Arc<Node>;

        #[track_caller]
        fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
            let upstream = Lazy::<Y::Of<F>>::of(self.1);
            Arc::clone(&Lazy::<X>::of(self.0).any_backward(&upstream, Axes::none()).node)
        }
    }
    let at = At::<X, Y>(Arc::clone(x), Arc::clone(&upstream.node), PhantomData);
    match x.kind.format() {
        "array" => upstream,
        _ => Y::Elem::if_float(at).map_or(upstream, Lazy::of),
    }
}

impl<Y: Steps<Elem: Float>> Lazy<Y> {
    /// The same gradient, of which nobody knows yet, with that of a formula of what it is made `of` for its own: that
    /// of the shape that both operands have together, where it was summed to that of one of them. It is that of the
    /// value at `place` among those.
    pub(super) fn with_formula<const N: usize>(
        self,
        of: [&Arc<Node>; N],
        place: usize,
        formula: impl Fn([&Arc<Node>; N]) -> Option<Lazy<Y>> + Send + Sync + 'static,
    ) -> Self {
        let nodes = of.map(Arc::clone).to_vec();
        let mut step = self.with_rule(move |asked| {
            let formula = formula(asked.inputs.iter().collect::<Vec<_>>().try_into().ok()?)?;
            let upstream = at_entries_of::<Y, Y>(&asked.inputs[place], Lazy::of(Arc::clone(asked.upstream)));
            let wide = match formula.node.shape.clone() {
                Some(shape) if upstream.node.shape.as_ref() != Some(&shape) => upstream.broadcast_to(shape).node,
                _ => upstream.node,
            };
            through(&formula.node, &Asked { upstream: &wide, ..asked })
        });
        if let Some(node) = Arc::get_mut(&mut step.node) {
            node.of = nodes;
        }
        step
    }
}

/// The gradients of an operation that is linear in each operand, with their own. An operand that has a gradient is of
/// the type `A` if it is the first, or else of `B`; in `of` the upstream gradient, a `Z`, stands behind all. What comes to
/// the gradient of an operand takes the place of that operand: the others receive what they would then, and the upstream
/// gradient what `again` makes of them, which is told the place.
pub(super) fn linear_in_each<A: Steps, B: Steps, Z: Steps>(
    mut gradients: Vec<Option<Arc<Node>>>,
    of: &[Arc<Node>],
    again: impl Fn(usize, &[Arc<Node>]) -> Arc<Node> + Clone + Send + Sync + 'static,
) -> Vec<Option<Arc<Node>>> {
    for (place, gradient) in gradients.iter_mut().enumerate() {
        let Some(node) = gradient.as_mut().and_then(Arc::get_mut) else { continue };
        let again = again.clone();
        node.of = of.to_vec();
        node.rule = Some(Box::new(move |asked| {
            let (g, operands) = asked.inputs.split_last()?;
            let (mut operands, came) = (operands.to_vec(), Arc::clone(asked.upstream));
            operands[place] = match place {
                0 => at_entries_of::<A, A>(&operands[0], Lazy::of(came)).node,
                _ => at_entries_of::<B, B>(&operands[place], Lazy::of(came)).node,
            };
            let result = again(place, &operands);
            // The result may have the operands in another order.
            let order = order_of(&result.inputs, &operands);
            let inputs: Vec<Arc<Node>> = order.iter().map(|&at| Arc::clone(&operands[at])).collect();
            let found = result.rule.as_ref()?(Asked { inputs: &inputs, upstream: g })?;
            let mut given: Vec<Option<Arc<Node>>> = operands.iter().map(|_| None).collect();
            order.iter().zip(found).for_each(|(&at, found)| given[at] = found);
            given[place] = None;
            given.push(on_pattern_of::<Z, Z>(g, &Lazy::of(result)));
            Some(given)
        }));
    }
    gradients
}

/// The numbers of some operands in the order in which a step has them; their own order if it is not made of these alone.
fn order_of(inputs: &[Arc<Node>], operands: &[Arc<Node>]) -> Vec<usize> {
    let number = |input: &Arc<Node>| operands.iter().position(|operand| operand.id == input.id);
    let order: BTreeSet<usize> = inputs.iter().filter_map(number).collect();
    match order.len() == operands.len() && inputs.len() == operands.len() {
        true => inputs.iter().filter_map(number).collect(),
        false => (0..operands.len()).collect(),
    }
}

/// The gradients of all steps between `by` and the result, by their numbers; those of `by` go no further where
/// `is_cut`.
fn all(result: &Arc<Node>, upstream: &Arc<Node>, by: &[&Arc<Node>], is_cut: bool) -> Result<BTreeMap<u64, Arc<Node>>> {
    if let (Some(expected), Some(found)) = (&result.shape, &upstream.shape)
        && expected != found
    {
        let (expected, found) = (expected.clone(), found.clone());
        return Err(Error::ShapeMismatch { what: "the upstream gradient", expected, found });
    }
    let mut depends: BTreeSet<u64> = by.iter().map(|node| node.id).collect();
    // A formula ends there, and the graph below it is not gone through again for each step.
    let steps = reachable(&[Arc::clone(result)], |node| is_cut && depends.contains(&node.id));
    depends.extend(reachable_from(&steps, &depends));
    let mut gradients = BTreeMap::new();
    if depends.contains(&result.id) {
        gradients.insert(result.id, Arc::clone(upstream));
    }
    for step in steps.iter().rev().filter(|step| depends.contains(&step.id)) {
        let Some(upstream) = gradients.get(&step.id).cloned() else { continue };
        let (sources, is_end) = (step.sources(), is_cut && by.iter().any(|node| node.id == step.id));
        if is_end || !sources.iter().any(|input| depends.contains(&input.id)) {
            continue;
        }
        let asked = Asked { inputs: sources, upstream: &upstream };
        let none = || no_gradient(step);
        let given = step.rule.as_ref().and_then(|rule| rule(asked)).ok_or_else(none)?;
        for (input, gradient) in sources.iter().zip(given) {
            if !depends.contains(&input.id) {
                continue;
            }
            // A condition chooses, and receives nothing.
            let Some(mut gradient) = gradient else { continue };
            // Steps that find several gradients at once do not tell the shape of each.
            if let Some(node) = Arc::get_mut(&mut gradient)
                && node.shape.is_none()
                && node.refusal().is_none()
            {
                node.shape.clone_from(&input.shape);
            }
            let sum = match gradients.get(&input.id) {
                Some(before) => input.kind.sum(&gradient, before).ok_or_else(none)?,
                None => gradient,
            };
            gradients.insert(input.id, sum);
        }
    }
    Ok(gradients)
}

/// The error of a step without a gradient. One of several results is told by the step that has them.
fn no_gradient(step: &Node) -> Error {
    match (&step.text, step.inputs.first()) {
        (Text::Part(_), Some(whole)) => no_gradient(whole),
        _ => step.error(Error::NoGradient { operation: step.name }),
    }
}

/// The numbers of the steps, in order, that are made from some, directly or not.
fn reachable_from(steps: &[Arc<Node>], from: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut found = from.clone();
    for step in steps {
        if step.inputs.iter().any(|input| found.contains(&input.id)) {
            found.insert(step.id);
        }
    }
    found
}
