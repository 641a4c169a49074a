//! Steps of shares of entries.

use std::sync::Arc;

use ndarray::ArrayD;

use super::node::Form;
use super::reductions::Over;
use super::text::{Text, said};
use super::unary::{LazyStored, Steps, same};
use super::{Lazy, shares};
use crate::base::axes::Axes;
use crate::base::shape::Shape;
use crate::element::Float;
use crate::ops::{self};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

macro_rules! shares {
    ($($name:ident, $backward:ident;)*) => {
        /// # Shares of entries
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Float> LazyStored<P, T> {
            $(shares!(@one Tensor<P, T>, Tensor<P, U::Elem>, self => self.x, |x| &x.stored(), $name, $backward);)*
        }

        /// # Shares of the elements of arrays
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Float> Lazy<ArrayD<T>> {
            $(shares!(@one ArrayD<T>, ArrayD<U::Elem>, self => self, |x| x, $name, $backward);)*
        }
    };
    (@one $X:ty, $out:ty, $self:ident => $x:expr, |$v:ident| $view:expr, $name:ident, $backward:ident) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&$self, axes: impl Into<Axes>) -> Lazy<$X> {
            let axes: Axes = axes.into();
            let (arguments, used, apart) = (format!("{axes:?}"), axes.clone(), shares::apart_from(&axes));
            let run = move |$v: &$X| ops::$name($view, used.clone());
            let shape = |shape: &Shape| axes.shape(shape).and_then(|_| same(shape));
            let text = Text::call(stringify!($name), &["stored(%0)"], said!(axes));
            let step = $x.then(stringify!($name), arguments, Form::OfFirst, shape, run).written(text);
            step.with_shares(apart).with_rule(move |asked| {
                let [$v, g] = [&asked.inputs[0], asked.upstream].map(|node| Lazy::<$X>::of(Arc::clone(node)));
                Some(vec![Some($view.$backward(&g, axes.clone()).node)])
            })
        }

        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        #[track_caller]
        pub fn $backward<U: Steps<Elem: Float>>(&$self, upstream: &Lazy<U>, axes: impl Into<Axes>) -> Lazy<$out> {
            let axes: Axes = axes.into();
            let (arguments, apart) = (format!("{axes:?}"), shares::apart_from(&axes));
            let text = Text::call(stringify!($backward), &["stored(%0)", "%1"], said!(axes));
            let run = move |$v: &$X, g: &U| ops::$backward($view, g, axes.clone());
            let step = $x.back(stringify!($backward), arguments, Form::OfFirst, upstream, run);
            step.written(text).with_shares(apart)
        }
    };
}

shares! {
    softmax, softmax_backward;
    log_softmax, log_softmax_backward;
}
