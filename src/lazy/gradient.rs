//! Gradients as steps that are appended to the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ndarray::ArrayD;

use super::node::{Body, Node, placed, reachable};
use super::{Lazy, Value, rules};
use crate::base::error::{Error, Result};
use crate::element::Float;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// What has a gradient: tensors and arrays of floats. The trait is part of the sealed [`Value`].
pub trait HasGradient: Value {}

impl<P: Pattern, F: Float> HasGradient for Tensor<P, F> {}

impl<F: Float> HasGradient for ArrayD<F> {}

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
        let none = || Error::NoGradient { operation: self.node.name };
        let found = found.and_then(|found| {
            placed(|| match found {
                // This step is the result, of whatever pattern the upstream gradient is.
                Some(node) if node.id == upstream.node.id => rules::own(&self.node, &node),
                Some(node) => Some(node),
                None => rules::zeros(&self.node),
            })
            .ok_or_else(none)
        });
        match found {
            Ok(node) => Lazy::of(node),
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

/// The gradients of all steps between `by` and the result, by their numbers; those of `by` go no further where
/// `is_cut`.
pub(super) fn all(
    result: &Arc<Node>,
    upstream: &Arc<Node>,
    by: &[&Arc<Node>],
    is_cut: bool,
) -> Result<BTreeMap<u64, Arc<Node>>> {
    if let Some(error) = result.refusal().or(upstream.refusal()) {
        return Err(error.clone());
    }
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
        let none = || no_gradient(step);
        let given = rules::rule(step, &upstream).ok_or_else(none)?;
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
                Some(before) => rules::sum(&gradient, before).ok_or_else(none)?,
                None => gradient,
            };
            gradients.insert(input.id, sum);
        }
    }
    Ok(gradients)
}

/// The error of a step without a gradient. One of several results is told by the step that has them.
fn no_gradient(step: &Node) -> Error {
    match (&step.body, step.inputs.first()) {
        (Body::Part(_), Some(whole)) => no_gradient(whole),
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
