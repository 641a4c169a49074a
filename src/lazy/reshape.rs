//! Another shape with the same elements in row-major order, as a step.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Lazy;
use super::gradient::on_pattern_of;
use super::node::{Asked, Form, Held, Node, known};
use super::text::{Text, said};
use super::unary::step;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;

/// The formats whose tensors have another shape without copying values.
#[doc(hidden)]
pub trait Reshapes: Pattern {
    fn reshaped<T: Element>(x: &Tensor<Self, T>, shape: Shape) -> Result<Tensor<Self, T>>;
}

macro_rules! reshapes {
    ($($pattern:ident)*) => {$(
        impl<I: Index> Reshapes for $pattern<I> {
            fn reshaped<T: Element>(x: &Tensor<Self, T>, shape: Shape) -> Result<Tensor<Self, T>> {
                x.reshape(shape)
            }
        }
    )*};
}

reshapes!(CooPattern CsrPattern);

impl<P: Reshapes, T: Element> Lazy<Tensor<P, T>> {
    /// The step [`reshape`](crate::CooTensor::reshape): the same elements in another shape.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, 5.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let flat = lazy.reshape([6]).square();
    /// assert_eq!(flat.collect()?, x.reshape([6])?.square()?);
    /// assert_eq!(flat.gradient(&lazy, &flat).collect()?.values(), [54.0, 250.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let to: Shape = shape.into();
        let (used, text) = (to.clone(), Text::call("reshape", &["%0"], said!(to)));
        let shape = |from: &Shape| match from.wide_size() == to.wide_size() {
            true => Ok(Some(to.clone())),
            false => Err(Error::ReshapeSize { from: from.clone(), to: to.clone() }),
        };
        let step = self.then("reshape", to.to_string(), Form::Own, shape, move |x| P::reshaped(x, used.clone()));
        step.written(text).with_rule(|asked| back::<P, T>(&asked).map(|gradient| vec![Some(gradient)]))
    }

    /// This tensor in the shape of another one, which need not be known before the program runs.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, 5.0], 0.0)?;
    /// let [flat, like] = ["flat", "like"].map(|name| Lazy::<CooTensor<f64>>::input(name, [None, None]));
    /// let program = compile(&flat.reshape_as(&like))?;
    /// assert_eq!(program.run([flat.is(&x.reshape([1, 6])?), like.is(&x)])?, x);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape_as(&self, like: &Self) -> Self {
        let run = |inputs: &[Held]| {
            let [x, like] = [0, 1].map(|at| known::<Tensor<P, T>>(&inputs[at]));
            P::reshaped(x, like.shape().clone())
        };
        let shape = |[_, like]: [&Shape; 2]| Ok(Some(like.clone()));
        let step = step("reshape_as", String::new(), [&self.node, &like.node], Form::Own, shape, run)
            .written(Text::call("reshape_as", &["%0", "%1"], said!()));
        step.with_rule(|asked| back::<P, T>(&asked).map(|gradient| vec![Some(gradient), None]))
    }
}

/// What comes to a tensor that was brought to another shape, on its pattern.
#[track_caller]
fn back<P: Reshapes, T: Element>(asked: &Asked<'_>) -> Option<Arc<Node>> {
    struct Back<P>(Arc<Node>, Arc<Node>, PhantomData<fn() -> P>);
    impl<P: Reshapes> FloatVisitor for Back<P> {
        type Out = Option<Arc<Node>>;

        #[track_caller]
        fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
            let (x, g) = (Lazy::<Tensor<P, F>>::of(self.0), Lazy::<Tensor<P, F>>::of(self.1));
            on_pattern_of::<Tensor<P, F>, _>(&x.node, &g.reshape_as(&x))
        }
    }
    T::if_float(Back::<P>(Arc::clone(&asked.inputs[0]), Arc::clone(asked.upstream), PhantomData))?
}
