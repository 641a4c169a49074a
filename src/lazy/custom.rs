//! Steps that users define.

use std::sync::Arc;

use super::call::{Arg, Call};
use super::node::{ErasedValue, Node, downcast, downcast_owned};
use super::{Lazy, Value};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::ops::{OpSpec, op};

impl<X: Value> Lazy<X> {
    /// Returns a custom step: the result of `f` on the tensor or the array.
    ///
    /// Two custom steps are never merged as common subexpressions.
    ///
    /// `gradient` computes the gradient of the operand from the operand and the upstream gradient. The gradient must
    /// have the shape of the operand, but may have any pattern. lacuna moves the gradient to the pattern of the
    /// operand. The gradient does not have a second gradient.
    ///
    /// # Errors
    ///
    /// A run of the graph returns `Lazy` if `f` or `gradient` fails, or if the gradient does not have the shape of the
    /// operand. The error names the source line of the step.
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
        let own = Arg::own();
        let call = Call::of(&op::custom, [Arg::Input(0), own.clone()]);
        let step = Lazy::own_step(name, call, [&self.node], |_| Ok(None), move |inputs| f(downcast(&inputs[0])));
        step.with_gradient(&op::custom_backward, own, move |inputs| {
            fitting::<X>(gradient(downcast(&inputs[0]), downcast(&inputs[1]))?, &inputs[0])
        })
    }
}

impl<V: Value> Lazy<V> {
    /// Returns this step of a closure with a gradient. The gradient cannot be differentiated again. `run` computes the
    /// gradient from the operand and the upstream gradient, and `own` is the argument that identifies both closures.
    pub(super) fn with_gradient<X: Value>(
        self,
        op: &'static OpSpec,
        own: Arg,
        run: impl Fn(&[ErasedValue]) -> Result<X> + Send + Sync + 'static,
    ) -> Self {
        let run = Arc::new(run);
        let rule = move |inputs: &[Arc<Node>], upstream: &Arc<Node>| {
            let (call, run) = (Call::of(op, [Arg::Input(0), Arg::Input(1), own.clone()]), Arc::clone(&run));
            let shape = |[x, _]: [&Shape; 2]| Ok(Some(x.clone()));
            let dx: Lazy<X> = Lazy::own_step(op.name, call, [&inputs[0], upstream], shape, move |inputs| run(inputs));
            Some(vec![Some(dx.with_work(|work| work.rule = Some(Arc::new(|_, _| None))).node)])
        };
        self.with_work(|work| work.rule = Some(Arc::new(rule)))
    }
}

/// Returns a gradient on the pattern of its operand. Rejects a gradient of another shape.
fn fitting<X: Value>(gradient: X, of: &ErasedValue) -> Result<X> {
    let gradient: ErasedValue = Arc::new(gradient);
    let (expected, found) = (X::KIND.shape(of), X::KIND.shape(&gradient));
    match expected == found {
        true => X::KIND.at_entries(of, gradient).map(downcast_owned),
        false => Err(Error::ShapeMismatch { what: "the gradient", expected, found }),
    }
}
