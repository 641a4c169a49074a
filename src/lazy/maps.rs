//! Functions of one element as steps, their gradients, and what changes the form only.

use std::sync::Arc;

use super::formulas::Term;
use super::gradient::on_pattern_of;
use super::node::{Form, Node, unlike};
use super::reductions::{Ask, rule_of_one};
use super::rewrite::Facts;
use super::text::{Said, Text, WRITTEN, said};
use super::unary::{LazyStored, Steps, same};
use super::{Lazy, formulas, shares};
use crate::base::axes::Axes;
use crate::element::{
    Bits, ComplexElement, Element, Float, FloatVisitor, Magnitude, Numeric, Real, RealNumber, Signed,
};
use crate::ops::{self, Isin};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Arguments in words.
macro_rules! told {
    () => { String::new() };
    ($($arg:ident),+) => { [$(format!("{:?}", $arg)),+].join(", ") };
}

/// Functions: the bound of the element type, the arguments, the type of the result, the gradient.
macro_rules! maps {
    ($($name:ident($($arg:ident: $type:tt),*) [$bound:ident] -> $out:ty $(, $backward:ident)?;)*) => {
        /// # Functions of one element
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            $(maps!(@one $name($($arg: $type),*) [$bound] -> $out $(, $backward)?);)*
        }

        /// # Functions of one stored element
        ///
        /// The fill stays, or is the zero of another type. The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            $(maps!(@entries $name($($arg: $type),*) [$bound] -> $out $(, $backward)?);)*
        }
    };
    (@entries $name:ident($($arg:ident: $type:tt),*) [$bound:ident] -> $out:ty $(, $backward:ident)?) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&self, $($arg: $type),*) -> Lazy<Tensor<P, $out>>
        where
            T: $bound,
        {
            let run = move |x: &Tensor<P, T>| ops::$name(&x.stored() $(, $arg)*);
            let told = ["stored".to_string(), told!($($arg),*)].join(" ");
            let step = self.x.then(stringify!($name), told, Form::Each, same, run)
                .written(Text::call(stringify!($name), &["stored(%0)"], said!($($arg),*)));
            maps!(@rule $name, step, [P: Pattern] Tensor<P, F>, ($($arg: $type),*) $(, $backward)?)
        }
    };
    (@one $name:ident($($arg:ident: $type:tt),*) [$bound:ident] -> $out:ty $(, $backward:ident)?) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&self, $($arg: $type),*) -> Lazy<X::Of<$out>>
        where
            T: $bound,
        {
            let run = move |x: &X| ops::$name(x $(, $arg)*).map(X::mapped);
            let step = self.then(stringify!($name), told!($($arg),*), Form::Each, same, run)
                .written(Text::call(stringify!($name), &["%0"], said!($($arg),*)));
            maps!(@rule $name, step, [X: Steps] X::Of<F>, ($($arg: $type),*) $(, $backward)?)
        }

        maps!(@gradient $name($($arg: $type),*) $($backward)?);
    };
    (@gradient $name:ident($($arg:ident: $type:tt),*)) => {};
    (@gradient $name:ident($($arg:ident: $type:tt),*) $backward:ident) => {
        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        #[track_caller]
        pub fn $backward<U: Steps<Elem: Float>>(
            &self,
            upstream: &Lazy<U>,
            $($arg: $type),*
        ) -> Lazy<X::Of<U::Elem>>
        where
            T: Float,
        {
            let run = move |x: &X, g: &U| ops::$backward(x, g $(, $arg)*).map(X::mapped);
            self.back(stringify!($backward), told!($($arg),*), Form::EachOfFirst, upstream, run)
                .written(Text::call(stringify!($backward), &["%0", "%1"], said!($($arg),*)))
        }
    };
    (@rule $name:ident, $step:ident, [$X:ident: $of_x:ident] $of:ty, ($($arg:ident: $type:tt),*)) => { $step };
    (@rule $name:ident, $step:ident, [$X:ident: $of_x:ident] $of:ty, (), $backward:ident) => {
        rule_of_one!($step, T, [$X: $of_x] $of, (), |x, g| twice(stringify!($name), x.$backward(&g), &x, &g))
    };
    // An argument of the type of the elements is one of floats where there is a gradient.
    (@rule $name:ident, $step:ident, [$X:ident: $of_x:ident] $of:ty, ($arg:ident: i32), $backward:ident) => {
        rule_of_one!($step, T, [$X: $of_x] $of, ($arg: i32),
            |x, g| powers(x.$backward(&g, $arg), &x, &g, $arg))
    };
    (@rule $name:ident, $step:ident, [$X:ident: $of_x:ident] $of:ty, ($($arg:ident: T),*), $backward:ident) => {{
        let ($($arg,)*) = ($($arg.to_number(),)*);
        rule_of_one!($step, T, [$X: $of_x] $of, ($($arg: crate::Number),*),
            |x, g| {
                let numbers = [$(F::from_number($arg).unwrap_or(F::NAN)),*];
                let [$($arg),*] = numbers;
                of_numbers(x.$backward(&g $(, $arg)*), &x, &g, &numbers)
            })
    }};
}

/// The gradient of a function, with its own.
fn twice<F: Float + Numeric + RealNumber, Y: Steps<Elem = F, Of<F> = Y>>(
    name: &'static str,
    step: Lazy<Y>,
    x: &Lazy<Y>,
    g: &Lazy<Y>,
) -> Lazy<Y> {
    if name == "abs" {
        // What it gives back depends on the sign alone.
        return step.with_rule(move |asked| {
            let [x, g] = asked.inputs else { return None };
            let (x, came) = (Lazy::<Y>::of(Arc::clone(x)), Lazy::<Y>::of(Arc::clone(asked.upstream)));
            Some(vec![None, on_pattern_of::<Y, Y>(g, &twice(name, x.abs_backward(&came), &x, &came))])
        });
    }
    step.with_formula([&x.node, &g.node], 0, move |[x, g]| formulas::of_one(name, Term::of(x), Term::of(g)))
}

/// The gradient of a power, with its own.
fn powers<F: Float + Numeric + RealNumber, Y: Steps<Elem = F, Of<F> = Y>>(
    step: Lazy<Y>,
    x: &Lazy<Y>,
    g: &Lazy<Y>,
    exponent: i32,
) -> Lazy<Y> {
    step.with_formula([&x.node, &g.node], 0, move |[x, g]| {
        let (x, g) = (Lazy::<Y>::of(Arc::clone(x)), Lazy::<Y>::of(Arc::clone(g)));
        // The slope of a constant is 0, at zeros too.
        let below = if exponent == 0 { 0 } else { exponent.checked_sub(1)? };
        Some(g.mul_nonzero(x.powi(below).mul(F::from_f64(exponent.into()))))
    })
}

/// The gradient of a function with real numbers for arguments, with its own: of [`Lazy::powf`] a formula, of
/// [`Lazy::clamp`] what keeps and drops the same.
fn of_numbers<F: Float + Numeric + RealNumber, Y: Steps<Elem = F, Of<F> = Y>>(
    step: Lazy<Y>,
    x: &Lazy<Y>,
    g: &Lazy<Y>,
    numbers: &[F],
) -> Lazy<Y> {
    if let &[low, high] = numbers {
        return clamped(step, low, high);
    }
    let &[exponent] = numbers else { return step };
    step.with_formula([&x.node, &g.node], 0, move |[x, g]| {
        let (x, g) = (Lazy::<Y>::of(Arc::clone(x)), Lazy::<Y>::of(Arc::clone(g)));
        let below = if exponent.to_f64() == 0.0 { 0.0 } else { exponent.to_f64() - 1.0 };
        Some(g.mul_nonzero(x.powf(F::from_f64(below)).mul(exponent)))
    })
}

/// The gradient of [`Lazy::clamp`], whose own drops the same.
fn clamped<F: Float + Numeric + RealNumber, Y: Steps<Elem = F, Of<F> = Y>>(step: Lazy<Y>, low: F, high: F) -> Lazy<Y> {
    step.with_rule(move |asked| {
        let [x, g] = asked.inputs else { return None };
        let (x, came) = (Lazy::<Y>::of(Arc::clone(x)), Lazy::<Y>::of(Arc::clone(asked.upstream)));
        let kept = clamped(x.clamp_backward(&came, low, high), low, high);
        Some(vec![None, on_pattern_of::<Y, Y>(g, &kept)])
    })
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// The step [`Tensor::cast`]: elements of another type.
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Lazy<Tensor<P, U>> {
        let step = self
            .then("cast", U::DTYPE.to_string(), Form::Each, same, |x| x.clone().cast::<U>())
            .written(Text::call("cast", &["%0"], Some(format!("\"{}\"", U::DTYPE))))
            .known(Facts { cast: Some([T::DTYPE, U::DTYPE]), ..Facts::default() });
        struct Back<P, U>(Ask<()>, std::marker::PhantomData<fn() -> (P, U)>);
        impl<P: Pattern, U: Element> FloatVisitor for Back<P, U> {
            type Out = Option<Arc<Node>>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Option<Arc<Node>> {
                struct IsFloat;
                impl FloatVisitor for IsFloat {
                    type Out = ();
                    fn visit<F: Float + Numeric + RealNumber>(self) {}
                }
                U::if_float(IsFloat).map(|()| {
                    let g = self.0.upstream::<Tensor<P, U>>().cast::<F>();
                    // On the pattern of the operand itself.
                    Arc::clone(&self.0.x::<Tensor<P, F>>().any_backward(&g, Axes::none()).node)
                })
            }
        }
        step.with_rule(|asked| {
            let gradient = T::if_float(Back::<P, U>(Ask::new(&asked, ()), std::marker::PhantomData))?;
            gradient.map(|gradient| vec![Some(gradient)])
        })
    }

    /// The step [`Tensor::with_fill`]: the same entries, another value everywhere else.
    #[track_caller]
    pub fn with_fill(&self, fill: T) -> Lazy<Tensor<P, T>> {
        // The entries hand their gradient back as it is.
        let mut told = format!("{fill:?}");
        // The bits of a NaN are kept, and its words do not tell them.
        if fill.isnan() {
            told += &unlike();
        }
        let step = self
            .then("with_fill", told, Form::Each, same, move |x| Ok(x.clone().with_fill(fill)))
            .written(Text::call("with_fill", &["%0"], said!(fill)));
        rule_of_one!(step, T, [P: Pattern] Tensor<P, F>, (), |x, g| x.any_backward(&g, Axes::none()))
    }

    /// The step [`Tensor::prune`]. What it stores depends on values, so it has no gradient.
    #[track_caller]
    pub fn prune(&self) -> Lazy<Tensor<P, T>> {
        let step = self.then("prune", String::new(), Form::Own, same, Tensor::prune);
        step.written(Text::call("prune", &["%0"], said!())).with_shares(shares::same())
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// The step [`isin`](crate::isin()); the members are copied.
    #[track_caller]
    pub fn isin<'a>(&self, members: impl Into<Isin<'a, T>>) -> Lazy<Tensor<P, bool>> {
        let isin = members.into().into_owned();
        let text = Text::call("isin", &["stored(%0)"], said_of_members(&isin));
        let told = format!("stored {isin:?}");
        let step = self.x.then("isin", told, form_of(&isin), same, move |x| ops::isin(&x.stored(), &isin));
        step.written(text).with_shares(shares::same())
    }
}

/// A set that needs a table is not to be built again for each piece.
fn form_of<T: Element>(isin: &Isin<'_, T>) -> Form {
    if isin.members().len() <= FEW { Form::Each } else { Form::OfFirst }
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`isin`](crate::isin()); the members are copied.
    #[track_caller]
    pub fn isin<'a>(&self, members: impl Into<Isin<'a, T>>) -> Lazy<X::Of<bool>> {
        let isin = members.into().into_owned();
        let text = Text::call("isin", &["%0"], said_of_members(&isin));
        let told = format!("{isin:?}");
        let step = self.then("isin", told, form_of(&isin), same, move |x| ops::isin(x, &isin).map(X::mapped));
        step.written(text).with_shares(shares::same())
    }
}

/// The members, if they can be written.
fn said_of_members<T: Element>(isin: &Isin<'_, T>) -> Option<String> {
    let members = Some(isin.members()).filter(|members| members.len() <= WRITTEN)?;
    let members: Option<Vec<String>> = members.iter().map(Said::said).collect();
    let invert = if isin.invert { ", invert=true" } else { "" };
    members.map(|members| format!("[{}]{invert}", members.join(", ")))
}

/// So many members are compared one by one.
const FEW: usize = 16;

maps! {
    isinf() [Element] -> bool;
    isnan() [Element] -> bool;
    isfinite() [Element] -> bool;
    isreal() [Element] -> bool;
    isposinf() [Real] -> bool;
    isneginf() [Real] -> bool;
    sign() [RealNumber] -> T;
    square() [RealNumber] -> T, square_backward;
    conj() [ComplexElement] -> T;
    real() [ComplexElement] -> <T as ComplexElement>::Part;
    imag() [ComplexElement] -> <T as ComplexElement>::Part;
    neg() [Signed] -> T, neg_backward;
    not() [Bits] -> T;
    abs() [Magnitude] -> <T as Magnitude>::Magnitude, abs_backward;
    sqrt() [Float] -> T, sqrt_backward;
    cbrt() [Float] -> T, cbrt_backward;
    exp() [Float] -> T, exp_backward;
    exp_m1() [Float] -> T, exp_m1_backward;
    ln() [Float] -> T, ln_backward;
    ln_1p() [Float] -> T, ln_1p_backward;
    log2() [Float] -> T, log2_backward;
    log10() [Float] -> T, log10_backward;
    sin() [Float] -> T, sin_backward;
    cos() [Float] -> T, cos_backward;
    tan() [Float] -> T, tan_backward;
    asin() [Float] -> T, asin_backward;
    acos() [Float] -> T, acos_backward;
    atan() [Float] -> T, atan_backward;
    sinh() [Float] -> T, sinh_backward;
    cosh() [Float] -> T, cosh_backward;
    tanh() [Float] -> T, tanh_backward;
    recip() [Float] -> T, recip_backward;
    round() [Float] -> T;
    floor() [Float] -> T;
    ceil() [Float] -> T;
    trunc() [Float] -> T;
    powi(exponent: i32) [RealNumber] -> T, powi_backward;
    powf(exponent: T) [Float] -> T, powf_backward;
    clamp(low: T, high: T) [Real] -> T, clamp_backward;
}
