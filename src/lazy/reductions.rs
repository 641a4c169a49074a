//! Reductions as steps: one row an operation, its gradient beside it.

use std::sync::Arc;

use super::formulas;
use super::gradient::{at_entries_of, on_pattern_of};
use super::node::{Asked, Body, Form, Held, Node, known};
use super::rewrite::Facts;
use super::text::{Text, said, said_of_reduced, with_option};
use super::unary::{LazyStored, Right, Steps, same, step};
use super::zips::zeros_of;
use super::{Lazy, Value, shares};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::grouping::Grouping;
use crate::base::index::Position;
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, Real, RealNumber, Ring};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::Zip;
use crate::ops::{
    self, EvenCount, GroupLabels, MedianGradient, Nanmedian, Norm, NormOrder, OpSpec, Quantile, QuantileMethod, Stream,
    Var,
};
use crate::pattern::Pattern;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;

/// Options of a reduction, which name its axes.
pub(super) trait Over: std::fmt::Debug {
    fn axes(&self) -> &Axes;

    fn axes_mut(&mut self) -> &mut Axes;

    /// The options as they are written; none where a text has no words for them.
    fn said(&self) -> Option<String>;

    /// The shape of the result.
    fn shape(&self, of: &Shape) -> Result<Option<Shape>> {
        Ok(Some(Reduction::new(of, self.axes())?.result_shape()))
    }

    /// Whether its operand may come in pieces, as far as is known.
    fn is_fed(&self, of: Option<&Shape>) -> bool {
        let fed = |shape| Reduction::new(shape, self.axes()).is_ok_and(|reduction| reduction.is_fed());
        of.map_or(self.axes().grouping().is_none(), fed)
    }
}

impl Over for Axes {
    fn said(&self) -> Option<String> {
        said_of_reduced(self)
    }

    fn axes(&self) -> &Axes {
        self
    }

    fn axes_mut(&mut self) -> &mut Axes {
        self
    }
}

macro_rules! over {
    ($($options:ty, |$self:ident| $option:expr;)*) => {$(
        impl Over for $options {
            fn said(&self) -> Option<String> {
                let $self = self;
                with_option(said_of_reduced(&self.axes), $option)
            }

            fn axes(&self) -> &Axes {
                &self.axes
            }

            fn axes_mut(&mut self) -> &mut Axes {
                &mut self.axes
            }
        }
    )*};
}

over! {
    Var, |var| (var.ddof != 0).then(|| format!("ddof={}", var.ddof));
    Norm, |norm| match norm.order {
        NormOrder::One => Some("ord=1".into()),
        NormOrder::Two => None,
        NormOrder::Infinity => Some("ord=inf".into()),
    };
    Nanmedian, |median| {
        if median.rule != MedianGradient::default() || median.spread_nan {
            return None;
        }
        (median.even == EvenCount::Lower).then(|| "even=\"lower\"".into())
    };
    Quantile, |quantile| {
        if quantile.rule != MedianGradient::default() {
            return None;
        }
        let method = match quantile.method {
            QuantileMethod::Linear => return said_of_reduced(&quantile.axes),
            QuantileMethod::Lower => "lower",
            QuantileMethod::Higher => "higher",
            QuantileMethod::Midpoint => "midpoint",
            QuantileMethod::Nearest => "nearest",
        };
        Some(format!("method=\"{method}\""))
    };
}

/// What a rule finds the gradient of: a tensor, its upstream gradient, and the arguments of the operation.
pub(super) struct Ask<A> {
    pub(super) x: Arc<Node>,
    pub(super) upstream: Arc<Node>,
    pub(super) arguments: A,
}

impl<A> Ask<A> {
    pub(super) fn new(asked: &Asked<'_>, arguments: A) -> Self {
        Ask { x: Arc::clone(&asked.inputs[0]), upstream: Arc::clone(asked.upstream), arguments }
    }

    pub(super) fn x<V: Value>(&self) -> Lazy<V> {
        Lazy::of(Arc::clone(&self.x))
    }

    pub(super) fn upstream<V: Value>(&self) -> Lazy<V> {
        Lazy::of(Arc::clone(&self.upstream))
    }
}

/// The gradient of a step with one input, by a visitor of the type of its elements.
macro_rules! rule_of_one {
    ($lazy:expr, $T:ident, [$X:ident: $bound:ident] $of:ty, ($($arg:ident: $type:ty),*),
        |$x:ident, $g:ident| $gradient:expr) => {{
        struct Rule<X>(Ask<($($type,)*)>, std::marker::PhantomData<fn() -> X>);
        impl<$X: $bound> FloatVisitor for Rule<$X> {
            type Out = Arc<Node>;

            #[track_caller]
            fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
                let ($x, $g) = (self.0.x::<$of>(), self.0.upstream::<$of>());
                let ($($arg,)*) = self.0.arguments;
                Arc::clone(&$gradient.node)
            }
        }
        let arguments = ($($arg.clone(),)*);
        $lazy.with_rule(move |asked| {
            // A result that is no float, as that of `any`, hands nothing back.
            if asked.upstream.kind.dtype() != Some($T::DTYPE) {
                return None;
            }
            let ask = Ask::new(&asked, arguments.clone());
            $T::if_float(Rule::<$X>(ask, std::marker::PhantomData)).map(|gradient| vec![Some(gradient)])
        })
    }};
}
pub(super) use rule_of_one;

/// What is not computed yet, with labels for the positions of an axis: what [`GroupBy`](crate::GroupBy) is to a value.
#[must_use = "labels do nothing until something is reduced by them"]
#[derive(Debug, Clone)]
pub struct LazyGroupBy<S> {
    of: S,
    /// None where they were refused, as `of` says.
    grouping: Option<Arc<Grouping>>,
}

impl<S> LazyGroupBy<S> {
    fn label(&self, axes: &mut Axes) {
        if let Some(grouping) = &self.grouping {
            *axes = axes.grouped(Arc::clone(grouping));
        }
    }
}

impl<X: Steps> Lazy<X> {
    /// Labels for the positions of an axis, by which reductions over it are: see [`group_by`](crate::group_by()).
    ///
    /// The lengths of the axes must be known.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([3, 2], vec![vec![0, 1, 2], vec![0, 1, 0]], vec![5.0, 4.0, 1.0], 0.0)?;
    /// let lazy = x.lazy();
    /// let sums = lazy.group_by(0, &[0, 1, 0]).sum(0);
    /// assert_eq!(sums.collect()?, x.group_by(0, &[0, 1, 0])?.sum(0)?);
    /// assert_eq!(sums.gradient(&lazy, &sums).collect()?.values(), [6.0, 4.0, 6.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn group_by<'a, J: Position>(&self, axis: isize, labels: impl Into<GroupLabels<'a, J>>) -> LazyGroupBy<Self> {
        let open = || Error::Argument { operation: "group_by", why: "the lengths of the axes are not known".into() };
        let known = self.node.shape.as_ref().ok_or_else(open);
        match known.and_then(|shape| labels.into().group(axis, shape)) {
            Ok(grouping) => LazyGroupBy { of: self.clone(), grouping: Some(grouping) },
            Err(error) => {
                let error = self.node.refusal().cloned().unwrap_or(error);
                let node = Node::new::<X>("group_by", Body::Refused(error.clone()), None);
                LazyGroupBy { of: Lazy::refused(node, error), grouping: None }
            }
        }
    }
}

impl<P: Pattern, T: Element> LazyStored<P, T> {
    /// Labels for the positions of an axis, by which reductions of the entries over it are.
    #[track_caller]
    pub fn group_by<'a, J: Position>(&self, axis: isize, labels: impl Into<GroupLabels<'a, J>>) -> LazyGroupBy<Self> {
        let LazyGroupBy { of, grouping } = self.x.group_by(axis, labels);
        LazyGroupBy { of: of.stored(), grouping }
    }
}

/// Reductions: the options, the bound of the element type, the type of the result, the gradient.
macro_rules! reductions {
    ($($name:ident($options:ty) [$bound:ident] -> $out:ty $(, $backward:ident [$of:ident])?;)*) => {
        /// # Reductions
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
            $(reductions!(@one whole, [X], self => self, $name($options) [$bound] -> $out $(, $backward [$of])?);)*
        }

        /// # Reductions of what is stored
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyStored<P, T> {
            $(reductions!(@one entries, [Tensor<P, T>], self => self.x,
                $name($options) [$bound] -> $out $(, $backward [$of])?);)*
        }

        /// # Reductions by label
        ///
        /// The pages stand at the functions of the same names.
        impl<T: Element, X: Steps<Elem = T>> LazyGroupBy<Lazy<X>> {
            $(reductions!(@by_label [X], $name($options) [$bound] -> $out);)*
        }

        /// # Reductions of what is stored, by label
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Element> LazyGroupBy<LazyStored<P, T>> {
            $(reductions!(@by_label [Tensor<P, T>], $name($options) [$bound] -> $out);)*
        }
    };
    (@by_label [$X:ty], $name:ident($options:ty) [$bound:ident] -> $out:ty) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()), by label.")]
        #[track_caller]
        pub fn $name(&self, options: impl Into<$options>) -> Lazy<<$X as Steps>::Of<$out>>
        where
            T: $bound,
        {
            let mut options: $options = options.into();
            self.label(options.axes_mut());
            self.of.$name(options)
        }
    };
    (@one $seen:ident, [$X:ty], $self:ident => $x:expr, $name:ident($options:ty) [$bound:ident] -> $out:ty
        $(, $backward:ident [$of:ident])?) => {
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&$self, options: impl Into<$options>) -> Lazy<<$X as Steps>::Of<$out>>
        where
            T: $bound,
        {
            let options: $options = options.into();
            let (arguments, used) = (told(stringify!($seen), &options), options.clone());
            let shape = |shape: &Shape| options.shape(shape);
            let run = move |x: &$X| ops::$name($seen!(x), used.clone()).map(<$X>::reduced);
            let text = Text::call(stringify!($name), &[looked_at!($seen)], options.said());
            let step = $x.then(stringify!($name), arguments, Form::Own, shape, run).written(text);
            let step = step.known(facts!($name, $seen, $X, options)).with_shares(shares::reduced(options.axes()));
            let step = fed!($seen, $x, $X, step, options, |x, options| ops::$name(x, options));
            reductions!(@rule step, options: $options, $seen $(, $backward)?)
        }

        $(
            #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
                stringify!($backward), "()).")]
            #[track_caller]
            pub fn $backward<U: Steps<Elem: Float>>(
                &$self,
                upstream: &Lazy<U>,
                options: impl Into<$options>,
            ) -> Lazy<<$X as Steps>::Of<U::Elem>>
            where
                T: $of,
            {
                let options: $options = options.into();
                let (arguments, used) = (told(stringify!($seen), &options), options.axes().clone());
                let again = options.clone();
                let text = Text::call(stringify!($backward), &[looked_at!($seen), "%1"], options.said());
                let run =
                    move |x: &$X, g: &U| ops::$backward($seen!(x), g, options.clone()).map(<$X>::reduced);
                let step = $x.back(stringify!($backward), arguments, Form::OfFirst, upstream, run).written(text);
                let step = step.known(Facts::over(&used)).with_shares(shares::reduced_back(&used));
                let of_ones = move |x: &Lazy<$X>, ones: &Lazy<U>| seen!($seen, x).$backward(ones, again.clone());
                linear::<$X, U, _>(stringify!($name), stringify!($seen) == "entries", step, used, of_ones)
            }
        )?
    };
    (@rule $step:ident, $options:ident: $type:ty, $seen:ident) => { $step };
    (@rule $step:ident, $options:ident: $type:ty, whole, $backward:ident) => {
        rule_of_one!($step, T, [X: Steps] X::Of<F>, ($options: $type), |x, g| curved!($backward, whole, x, g, $options))
    };
    (@rule $step:ident, $options:ident: $type:ty, entries, $backward:ident) => {
        rule_of_one!($step, T, [P: Pattern] Tensor<P, F>, ($options: $type),
            |x, g| curved!($backward, entries, x, g, $options))
    };
}

/// Returns how a step reads an operand in chunks.
pub(super) fn stream(node: &Node) -> Stream {
    let op = OpSpec::named(node.name).filter(|_| node.from_pieces.is_some());
    op.map_or(Stream::Whole, |op| op.stream)
}

/// The gradient of a reduction, with its own where what it gives back are shares of the upstream gradient that do not
/// change with the elements, but where these change places: sums of what comes back by the same shares.
pub(super) fn linear<X: Steps, U: Steps<Elem: Float>, Y: Steps<Elem = U::Elem, Of<U::Elem> = Y>>(
    name: &'static str,
    is_stored: bool,
    step: Lazy<Y>,
    axes: Axes,
    of_ones: impl Fn(&Lazy<X>, &Lazy<U>) -> Lazy<Y> + Send + Sync + 'static,
) -> Lazy<Y> {
    let has_shares = match name {
        "any" | "sum" | "mean" => is_stored && name == "mean",
        "nansum" | "nanmean" | "min" | "max" | "nanmin" | "nanmax" | "median" | "nanmedian" | "quantile"
        | "nanquantile" => true,
        _ => return step,
    };
    step.with_rule(move |asked| {
        let [x, g] = asked.inputs else { return None };
        let up = at_entries_of::<X, Y>(x, Lazy::of(Arc::clone(asked.upstream)));
        let sums = if has_shares {
            let ones = zeros_of(&Lazy::<U::Of<U::Elem>>::of(Arc::clone(g))).add(U::Elem::from_f64(1.0));
            shared(&up, &of_ones(&Lazy::of(Arc::clone(x)), &Lazy::of(ones.node))).sum(&axes).node
        } else if name == "mean" {
            up.mean(&axes).node
        } else {
            up.sum(&axes).node
        };
        on_pattern_of::<U, Y>(g, &Lazy::of(sums)).map(|gradient| vec![None, Some(gradient)])
    })
}

/// What comes at an entry times its share; nothing where it has none, whatever comes.
#[derive(Clone, Copy)]
struct Shared;

impl Op for Shared {
    fn name(&self) -> &'static str {
        "mul"
    }
}

impl<F: Float> Zip<F, F> for Shared {
    type Out = F;

    #[inline(always)]
    fn apply(&self, came: F, share: F) -> Outcome<F> {
        Ok(came.checked_mul(share).filter(|_| share.is_truthy()).unwrap_or(F::ZERO))
    }
}

fn shared<F: Float, Y: Steps<Elem = F, Of<F> = Y>>(came: &Lazy<Y>, shares: &Lazy<Y>) -> Lazy<Y> {
    let run = |inputs: &[Held]| known::<Y>(&inputs[0]).zipped(Right::Value(known(&inputs[1])), Shared);
    let nodes = [&came.node, &shares.node];
    let step: Lazy<Y> = step("shared", String::new(), nodes, Form::Each, |[came, _]| same(came), run);
    let step = step.written(Text::call("where_", &["not_equal(%1, 0)", "mul(%0, %1)", "zeros_like(%1)"], said!()));
    step.with_rule(|asked| {
        let [_, shares] = asked.inputs else { return None };
        let [came, shares] = [asked.upstream, shares].map(|node| Lazy::<Y>::of(Arc::clone(node)));
        Some(vec![Some(shared(&came, &shares).node), None])
    })
}

/// The gradient of a reduction, with its own where it is a formula of more than the upstream gradient.
macro_rules! curved {
    (var_backward, whole, $x:ident, $g:ident, $options:ident) => { curved!(@deviations var_backward, $x, $g, $options) };
    (std_backward, whole, $x:ident, $g:ident, $options:ident) => { curved!(@deviations std_backward, $x, $g, $options) };
    (@deviations $backward:ident, $x:ident, $g:ident, $options:ident) => {{
        let (dx, nodes) = ($x.$backward(&$g, $options.clone()), [&$x.node, &$g.node]);
        dx.with_formula(nodes, 0, move |[x, g]| {
            let [x, g] = [x, g].map(|node| Lazy::of(Arc::clone(node)));
            formulas::of_deviations(stringify!($backward), &x, &g, &$options)
        })
    }};
    (norm_backward, $seen:ident, $x:ident, $g:ident, $options:ident) => {{
        let (dx, nodes) = (seen!($seen, $x).norm_backward(&$g, $options.clone()), [&$x.node, &$g.node]);
        dx.with_formula(nodes, 0, move |[x, g]| {
            let [x, g] = [x, g].map(|node| Lazy::of(Arc::clone(node)));
            formulas::of_norm(&x, &g, &seen!($seen, x).norm($options.clone()), &$options)
        })
    }};
    ($backward:ident, $seen:ident, $x:ident, $g:ident, $options:ident) => {
        seen!($seen, $x).$backward(&$g, $options)
    };
}

/// What a lazy operation looks at.
macro_rules! seen {
    (whole, $x:ident) => {
        $x
    };
    (entries, $x:ident) => {
        $x.stored()
    };
}

/// A reduction, and how it is computed from pieces of its operand.
macro_rules! fed {
    ($seen:ident, $x:expr, $X:ty, $step:ident, $options:ident, |$fed:ident, $used:ident| $run:expr) => {{
        let options = $options.clone();
        $step.with_pieces($options.is_fed($x.node.shape.as_ref()), move |feed| {
            let ($fed, $used) = (&<$X>::fed(feed, stringify!($seen) == "entries")?, options.clone());
            Some($run.map(<$X>::of_fed))
        })
    }};
}
pub(super) use {fed, seen};

/// What an operation looks at: the tensor.
macro_rules! whole {
    ($x:ident) => {
        $x
    };
}

/// What an operation looks at: its entries.
macro_rules! entries {
    ($x:ident) => {
        &$x.stored()
    };
}

/// What is known of a reduction: of those that are told by one element alone, how two of them are one.
macro_rules! facts {
    (any, $seen:ident, $X:ty, $options:ident) => { facts!(@again any, $seen, $X, $options) };
    (all, $seen:ident, $X:ty, $options:ident) => { facts!(@again all, $seen, $X, $options) };
    (@again $name:ident, $seen:ident, $X:ty, $options:ident) => {{
        let again = |x: &Arc<Node>, axes: Axes| {
            let x = Lazy::<$X>::of(Arc::clone(x));
            $seen!(x).$name(axes).node
        };
        Facts { again: Some(($options.clone(), Arc::new(again))), ..Facts::over(&$options) }
    }};
    ($name:ident, $seen:ident, $X:ty, $options:ident) => { Facts::over($options.axes()) };
}

/// The operand as it is written.
macro_rules! looked_at {
    (whole) => {
        "%0"
    };
    (entries) => {
        "stored(%0)"
    };
}

/// The arguments in words.
fn told(seen: &str, options: &impl std::fmt::Debug) -> String {
    if seen == "entries" { format!("stored, {options:?}") } else { format!("{options:?}") }
}

reductions! {
    any(Axes) [Element] -> bool, any_backward [Element];
    all(Axes) [Element] -> bool;
    count_nonzero(Axes) [Element] -> u64;
    sum(Axes) [Ring] -> <T as Ring>::Sum, sum_backward [Real];
    nansum(Axes) [Float] -> T, nansum_backward [Float];
    mean(Axes) [Ring] -> <T as Ring>::Mean, mean_backward [Real];
    nanmean(Axes) [Float] -> T, nanmean_backward [Float];
    prod(Axes) [Ring] -> <T as Ring>::Sum, prod_backward [Real];
    nanprod(Axes) [Float] -> T, nanprod_backward [Float];
    var(Var) [Ring] -> <T as Ring>::Deviation, var_backward [Real];
    std(Var) [Ring] -> <T as Ring>::Deviation, std_backward [Real];
    nanvar(Var) [Float] -> T, nanvar_backward [Float];
    nanstd(Var) [Float] -> T, nanstd_backward [Float];
    min(Axes) [Real] -> T, min_backward [Real];
    max(Axes) [Real] -> T, max_backward [Real];
    nanmin(Axes) [Float] -> T, nanmin_backward [Float];
    nanmax(Axes) [Float] -> T, nanmax_backward [Float];
    argmin(Axes) [Real] -> u64;
    argmax(Axes) [Real] -> u64;
    nanargmin(Axes) [Float] -> u64;
    nanargmax(Axes) [Float] -> u64;
    norm(Norm) [Float] -> T, norm_backward [Float];
    median(Nanmedian) [Real] -> <T as Real>::Median, median_backward [Real];
    nanmedian(Nanmedian) [Real] -> <T as Real>::Median, nanmedian_backward [Real];
}
