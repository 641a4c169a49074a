//! Steps of shares of entries.

use std::sync::Arc;

use ndarray::ArrayD;

use super::formulas;
use super::node::{Form, Node};
use super::reductions::{Ask, Over, rule_of_one};
use super::text::{Text, said};
use super::unary::{LazyStored, Steps, same};
use super::{Lazy, shares};
use crate::base::axes::Axes;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::ops::{self};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

macro_rules! shares {
    ($($name:ident, $backward:ident;)*) => {
        /// # Shares of entries
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Float> LazyStored<P, T> {
            $(shares!(@one [P: Pattern] Tensor<P, T>, Tensor<P, U::Elem>, Tensor<P, F>, self => self.x, |x| &x.stored(),
                $name, $backward);)*
        }

        /// # Shares of the elements of arrays
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Float> Lazy<ArrayD<T>> {
            $(shares!(@one [T: Element] ArrayD<T>, ArrayD<U::Elem>, ArrayD<F>, self => self, |x| x,
                $name, $backward);)*
        }
    };
    (@one [$of:ident: $bound:ident] $X:ty, $out:ty, $floats:ty, $self:ident => $x:expr, |$v:ident| $view:expr,
        $name:ident, $backward:ident) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&$self, axes: impl Into<Axes>) -> Lazy<$X> {
            let axes: Axes = axes.into();
            let (arguments, used, apart) = (format!("{axes:?}"), axes.clone(), shares::apart_from(&axes));
            let run = move |$v: &$X| ops::$name($view, used.clone());
            let shape = |shape: &Shape| axes.shape(shape).and_then(|_| same(shape));
            let text = Text::call(stringify!($name), &["stored(%0)"], said!(axes));
            let step = $x.then(stringify!($name), arguments, Form::OfFirst, shape, run).written(text);
            let step = step.with_shares(apart);
            rule_of_one!(step, T, [$of: $bound] $floats, (axes: Axes), |$v, g| {
                let (dx, nodes) = ($view.$backward(&g, &axes), [&$v.node, &g.node]);
                dx.with_formula(nodes, 0, move |[x, g]| {
                    let $v = Lazy::<$floats>::of(Arc::clone(x));
                    let shares = $view.softmax(&axes);
                    Some(formulas::of_shares(stringify!($name), &$v, &shares, &Lazy::of(Arc::clone(g)), &axes))
                })
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
