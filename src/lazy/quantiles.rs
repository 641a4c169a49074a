//! Steps of quantiles.

use std::sync::Arc;

use super::node::{Form, Node};
use super::reductions::{Ask, Over, fed, linear, rule_of_one, seen};
use super::rewrite::Facts;
use super::text::{Text, said, with_option};
use super::unary::{LazyStored, Steps};
use super::{Lazy, shares};
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, Real, RealNumber};
use crate::ops::{self, Quantile};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

macro_rules! quantiles {
    ($($name:ident, $backward:ident;)*) => {
        /// # Quantiles
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            quantiles!(@one whole, "%0", [X: Steps] X, X::Of<F>, self => self, |x| x, $name, $backward);
        )*}

        /// # Quantiles of what is stored
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyStored<P, T> {$(
            quantiles!(@one entries, "stored(%0)", [P: Pattern] Tensor<P, T>, Tensor<P, F>, self => self.x,
                |x| &x.stored(), $name, $backward);
        )*}
    };
    (@one $seen:ident, $written:expr, [$G:ident: $bound:ident] $X:ty, $of:ty, $self:ident => $x:expr,
        |$v:ident| $view:expr, $name:ident, $backward:ident) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(
            &$self,
            q: f64,
            options: impl Into<Quantile>,
        ) -> Lazy<<$X as Steps>::Of<<T as Real>::Median>>
        where
            T: Real,
        {
            let options: Quantile = options.into();
            let (arguments, used) = (format!("{} {q:?}, {options:?}", stringify!($seen)), options.clone());
            let shape = |shape: &Shape| options.shape(shape);
            let run = move |$v: &$X| ops::$name($view, q, used.clone()).map(<$X>::reduced);
            let text = Text::call(stringify!($name), &[$written], with_option(said!(q), options.said()));
            let step = $x.then(stringify!($name), arguments, Form::Own, shape, run).written(text);
            let step = step.known(Facts::over(options.axes())).with_shares(shares::reduced(options.axes()));
            let step = fed!($seen, $x, $X, step, options, |x, options| ops::$name(x, q, options));
            rule_of_one!(step, T, [$G: $bound] $of, (q: f64, options: Quantile), |$v, g| $view.$backward(&g, q, options))
        }

        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        #[track_caller]
        pub fn $backward<U: Steps<Elem: Float>>(
            &$self,
            upstream: &Lazy<U>,
            q: f64,
            options: impl Into<Quantile>,
        ) -> Lazy<<$X as Steps>::Of<U::Elem>>
        where
            T: Real,
        {
            let options: Quantile = options.into();
            let arguments = format!("{} {q:?}, {options:?}", stringify!($seen));
            let text = Text::call(stringify!($backward), &[$written, "%1"], with_option(said!(q), options.said()));
            let facts = Facts::over(options.axes());
            let kept = shares::reduced_back(options.axes());
            let (used, axes) = (options.clone(), options.axes().clone());
            let run = move |$v: &$X, g: &U| ops::$backward($view, g, q, options.clone()).map(<$X>::reduced);
            let step = $x.back(stringify!($backward), arguments, Form::OfFirst, upstream, run);
            let step = step.written(text).known(facts).with_shares(kept);
            let of_ones = move |x: &Lazy<$X>, ones: &Lazy<U>| seen!($seen, x).$backward(ones, q, used.clone());
            linear::<$X, U, _>(stringify!($name), stringify!($seen) == "entries", step, axes, of_ones)
        }
    };
}

quantiles! {
    quantile, quantile_backward;
    nanquantile, nanquantile_backward;
}
