//! Steps of the user's own.

use std::sync::Arc;

use super::node::{Form, Held, known, taken, unlike};
use super::unary::{same, step};
use super::{Lazy, Value};
use crate::base::error::{Error, Result};

impl<X: Value> Lazy<X> {
    /// A step of the user's own: `f` of the tensor or the array. Two of them are never taken for one.
    ///
    /// `gradient` gives the gradient of the operand from the operand and that of the result. It has the shape of the
    /// operand, and is brought onto its pattern, whatever it stores. It has no gradient itself.
    ///
    /// # Errors
    ///
    /// Carried, with the line: those of `f` and of `gradient`; `ShapeMismatch`: a gradient of another shape.
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
        let number = unlike();
        let (gradient, told) = (Arc::new(gradient), number.clone());
        let run = move |inputs: &[Held]| f(known(&inputs[0]));
        step(name, number, [&self.node], Form::Own, |_| Ok(None), run).with_rule(move |asked| {
            let gradient = Arc::clone(&gradient);
            let run = move |inputs: &[Held]| fitting::<X>(gradient(known(&inputs[0]), known(&inputs[1]))?, &inputs[0]);
            let nodes = [&asked.inputs[0], asked.upstream];
            let found: Lazy<X> = step("custom_backward", told.clone(), nodes, Form::Own, |[x, _]| same(x), run);
            Some(vec![Some(found.node)])
        })
    }
}

/// A gradient on the pattern of what it is of, if it has its shape.
fn fitting<X: Value>(gradient: X, of: &Held) -> Result<X> {
    let gradient: Held = Arc::new(gradient);
    let (expected, found) = (X::KIND.shape(of), X::KIND.shape(&gradient));
    match expected == found {
        true => X::KIND.at_entries(of, gradient).map(taken),
        false => Err(Error::ShapeMismatch { what: "the gradient", expected, found }),
    }
}
