//! Steps that users define.

use std::sync::Arc;

use super::call::{Arg, Call};
use super::node::{Held, known, taken};
use super::{Lazy, Value};
use crate::base::error::{Error, Result};
use crate::ops::op;

impl<X: Value> Lazy<X> {
    /// Returns a custom step: the result of `f` on the tensor or the array.
    ///
    /// Two custom steps are never merged as common subexpressions.
    ///
    /// `gradient` computes the gradient of the operand from the operand and the upstream gradient. The gradient must
    /// have the shape of the operand, but may have any pattern: it is moved to the pattern of the operand. The gradient
    /// does not have a gradient itself.
    ///
    /// # Errors
    ///
    /// The returned step carries the error, with its source line: an error of `f` or of `gradient`, or `ShapeMismatch`
    /// if the gradient has another shape.
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
        let (own, gradient) = (Arg::own(), Arc::new(gradient));
        let call = Call::of(&op::custom, [Arg::Input(0), own.clone()]);
        let step = Lazy::own_step(name, call, [&self.node], |_| Ok(None), move |inputs| f(known(&inputs[0])));
        step.with_work(|work| {
            work.rule = Some(Arc::new(move |inputs, upstream| {
                let gradient = Arc::clone(&gradient);
                let run =
                    move |inputs: &[Held]| fitting::<X>(gradient(known(&inputs[0]), known(&inputs[1]))?, &inputs[0]);
                let call = Call::of(&op::custom_backward, [Arg::Input(0), Arg::Input(1), own.clone()]);
                let nodes = [&inputs[0], upstream];
                let found: Lazy<X> =
                    Lazy::own_step(op::custom_backward.name, call, nodes, |[x, _]| Ok(Some(x.clone())), run);
                Some(vec![Some(found.with_work(|work| work.rule = Some(Arc::new(|_, _| None))).node)])
            }));
        })
    }
}

/// Returns a gradient on the pattern of its operand. Rejects a gradient of another shape.
fn fitting<X: Value>(gradient: X, of: &Held) -> Result<X> {
    let gradient: Held = Arc::new(gradient);
    let (expected, found) = (X::KIND.shape(of), X::KIND.shape(&gradient));
    match expected == found {
        true => X::KIND.at_entries(of, gradient).map(taken),
        false => Err(Error::ShapeMismatch { what: "the gradient", expected, found }),
    }
}
