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

/// A value that can have a gradient: a tensor or an array of floats.
///
/// The trait is sealed, because [`Value`] is sealed.
pub trait HasGradient: Value {}

impl<P: Pattern, F: Float> HasGradient for Tensor<P, F> {}

impl<F: Float> HasGradient for ArrayD<F> {}

impl<V: HasGradient> Lazy<V> {
    /// Returns the gradient of this result with respect to the step `x`.
    ///
    /// `x` is a step of the graph of this result, and `upstream` is the upstream gradient of this result. The gradient
    /// consists of the backward functions as steps, which are fused and run like other steps. If several steps
    /// contribute to one gradient, their contributions are added, beginning with the last step.
    ///
    /// The gradient has the pattern of `x` and a fill of 0. If `x` is an input and the result does not depend on `x`,
    /// the gradient is 0.
    ///
    /// If this result is a loss of rank 0, `upstream` also has rank 0. For a tensor, pass
    /// `CooTensor::full([0; 0], 1.0)?.lazy()`. For an array, pass `Lazy::from(arr0(1.0).into_dyn())`.
    ///
    /// # Errors
    ///
    /// The returned step carries the error:
    ///
    /// - `NoGradient`: a step between `x` and the result does not have a gradient. The error names the source line of
    ///   the step.
    /// - `ShapeMismatch`: `upstream` does not have the shape of this result.
    /// - `Argument`: `x` is a value or a step that is not part of the graph of the result.
    ///
    /// Each call of `lazy()` starts a new graph, and a repeated call of an operation is a new step. Keep the original
    /// step, and pass it as `x`.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::lazy::{Lazy, compile};
    /// use lacuna::CooTensor;
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

    /// Returns the gradients of this result with respect to steps of the same type.
    ///
    /// Each gradient is the result of [`gradient`](Lazy::gradient), but common steps are computed once.
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
    /// Returns the gradient of this step, or zeros if the result does not depend on this step.
    #[track_caller]
    fn or_zeros<V>(&self, found: Result<Option<Arc<Node>>>, upstream: &Lazy<V>) -> Self {
        let none = || Error::NoGradient { operation: self.node.name };
        let found = found.and_then(|found| {
            placed(|| match found {
                // This step is the result, and the upstream gradient may have any pattern.
                Some(node) if node.id == upstream.node.id => rules::own(&self.node, &node),
                Some(node) => Some(node),
                None => rules::zeros(&self.node),
            })
            .ok_or_else(none)
        });
        match found {
            Ok(node) => Lazy::of(node),
            Err(error) => Lazy::invalid(Node::new::<X>("gradient", Body::Invalid(error.clone()), None), error),
        }
    }
}

/// Returns the gradients of a result with respect to some steps; `None` for an input that the result does not depend
/// on.
#[track_caller]
fn found(result: &Arc<Node>, upstream: &Arc<Node>, by: &[&Arc<Node>]) -> Vec<Result<Option<Arc<Node>>>> {
    // Gradient rules are closures, so their steps get the source line of this call.
    let gradients = placed(|| all(result, upstream, by, false, &mut |_, _| {})).map_err(|rejection| rejection.error);
    let of_one = |node: &&Arc<Node>| match gradients.as_ref().map(|found| found.get(&node.id)) {
        Ok(Some(found)) => Ok(Some(Arc::clone(found))),
        Ok(None) => unrelated(result, node).map_or(Ok(None), Err),
        Err(error) => Err(error.clone()),
    };
    by.iter().map(of_one).collect()
}

/// Returns the error for a value or step that is not part of the graph of a result. Usually the value is from another
/// call of `lazy()`, or the step was constructed again, so zeros would be wrong. Inputs are allowed, because a result
/// does not need to use every input.
fn unrelated(result: &Arc<Node>, by: &Arc<Node>) -> Option<Error> {
    let why = match by.body {
        Body::Input { .. } | Body::Invalid(_) => return None,
        Body::Step { .. } => {
            "the result was not computed from this step; a step that is built again is another step, so reuse the \
             first one"
        }
        _ => {
            "the result was not computed from this value; each call of lazy() starts a new graph, so reuse the first \
             one"
        }
    };
    let is_known = reachable(&[Arc::clone(result)], |_| false).iter().any(|step| step.id == by.id);
    (!is_known).then(|| Error::Argument { operation: "gradient", why: why.into() })
}

/// The step without a gradient, and the error.
pub(crate) struct MissingGradient {
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // expressions know where a step is in the text
    pub(crate) step: Arc<Node>,
    pub(crate) error: Error,
}

/// Returns the gradients of all steps between `by` and the result, by the numbers of the steps. If `is_cut`, gradients
/// are not propagated beyond `by`. `found` is called with each step and the gradient of each of its inputs.
pub(super) fn all(
    result: &Arc<Node>,
    upstream: &Arc<Node>,
    by: &[&Arc<Node>],
    is_cut: bool,
    found: &mut dyn FnMut(&Arc<Node>, &Arc<Node>),
) -> std::result::Result<BTreeMap<u64, Arc<Node>>, Box<MissingGradient>> {
    let rejection = |error| Err(Box::new(MissingGradient { step: Arc::clone(result), error }));
    if let Some(error) = result.rejection().or(upstream.rejection()) {
        return rejection(error.clone());
    }
    if let (Some(expected), Some(found)) = (&result.shape, &upstream.shape)
        && expected != found
    {
        let (expected, found) = (expected.clone(), found.clone());
        return rejection(Error::ShapeMismatch { what: "the upstream gradient", expected, found });
    }
    let mut depends: BTreeSet<u64> = by.iter().map(|node| node.id).collect();
    // The graph before these steps is not visited.
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
        let none = || Box::new(MissingGradient { step: Arc::clone(step), error: no_gradient(step) });
        let rule_gradients = rules::rule(step, &upstream).ok_or_else(none)?;
        for (at, (input, gradient)) in sources.iter().zip(rule_gradients).enumerate() {
            if !depends.contains(&input.id) {
                continue;
            }
            let Some(mut gradient) = gradient else {
                // Conditions and positions do not receive a gradient.
                match step.call().is_some_and(|call| rules::is_parameter(call, at)) {
                    true => return Err(none()),
                    false => continue,
                }
            };
            // A step that returns several gradients does not have the shape of each gradient.
            if let Some(node) = Arc::get_mut(&mut gradient)
                && node.shape.is_none()
                && node.rejection().is_none()
            {
                node.shape.clone_from(&input.shape);
            }
            let sum = match gradients.get(&input.id) {
                Some(before) => rules::sum(&gradient, before).ok_or_else(none)?,
                None => gradient,
            };
            found(step, &sum);
            gradients.insert(input.id, sum);
        }
    }
    Ok(gradients)
}

/// Returns the error of a step without a gradient. For one of several results, the error names the step that computes
/// them.
fn no_gradient(step: &Node) -> Error {
    match (&step.body, step.inputs.first()) {
        (Body::Part(_), Some(whole)) => no_gradient(whole),
        _ => step.error(Error::NoGradient { operation: step.name }),
    }
}

/// Returns the numbers of some steps, and of all steps that depend on them. `steps` are in order.
fn reachable_from(steps: &[Arc<Node>], from: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut found = from.clone();
    for step in steps {
        if step.inputs.iter().any(|input| found.contains(&input.id)) {
            found.insert(step.id);
        }
    }
    found
}
