//! Products of two tensors of one format, or of a tensor and an array, with all their terms.

use std::marker::PhantomData;
use std::sync::Arc;

use super::factors::Factor;
use super::gradient::{linear_in_each, on_pattern_of};
use super::node::{Form, Held, Node, known, unlike};
use super::rewrite::Facts;
use super::text::{Text, said};
use super::unary::{LazyStored, Steps, rule_of_all, same, step};
use super::{Lazy, LazyPattern, shares};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber, Ring};
use crate::ops::{self, Matmul, Operand, Semiring};
use crate::pattern::Pattern;
use crate::plan::product::Contraction;
use crate::tensor::Tensor;

/// The shape of a product of matrices, or of vectors and matrices.
pub(super) fn product_shape(x: &Shape, y: &Shape) -> Result<Option<Shape>> {
    Ok(Some(Contraction::new("matmul", [x, x], [y, y])?.shape))
}

/// Products of two tensors of one format, with the shape of the result from theirs, and the gradients of both.
macro_rules! products {
    ($($vis:vis $method:ident = $name:ident |$x:ident, $y:ident| $shape:expr, $backward:ident;)*) => {
        /// # Products
        ///
        /// The pages stand at the functions of the same names.
        impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            $vis fn $method(&self, other: &Self) -> Self {
                let shape = |[$x, $y]: [&Shape; 2]| $shape;
                let run = |inputs: &[Held]| {
                    ops::$name(known::<Tensor<P, T>>(&inputs[0]), known::<Tensor<P, T>>(&inputs[1]))
                };
                let product = step(stringify!($name), String::new(), [&self.node, &other.node], Form::Own, shape, run)
                    .written(Text::call(stringify!($name), &["%0", "%1"], said!()));
                let product = match stringify!($name) {
                    "matmul" => product.with_shares(shares::product()),
                    _ => product,
                };
                rule_of_all!(product, T, [P: Pattern], (), |[x, y, g]| {
                    let [x, y, g] = [x, y, g].map(|node| Lazy::<Tensor<P, F>>::of(Arc::clone(node)));
                    let (dx, dy) = x.$backward(&y, &g).parts();
                    let again = |_: usize, of: &[Arc<Node>]| {
                        let [x, y] = [0, 1].map(|at| Lazy::<Tensor<P, F>>::of(Arc::clone(&of[at])));
                        x.$method(&y).node
                    };
                    let (given, of) = (vec![Some(dx.node), Some(dy.node)], [x.node, y.node, g.node]);
                    linear_in_each::<Tensor<P, F>, Tensor<P, F>, Tensor<P, F>>(given, &of, again)
                })
            }

            #[doc = concat!("The gradients of both operands: see [`", stringify!($backward), "`](crate::",
                stringify!($backward), "()).")]
            #[track_caller]
            pub fn $backward(&self, other: &Self, upstream: &Self) -> Lazy<(Tensor<P, T>, Tensor<P, T>)>
            where
                T: Float,
            {
                let run = |inputs: &[Held]| {
                    let [x, y, g] = [0, 1, 2].map(|at| known::<Tensor<P, T>>(&inputs[at]));
                    ops::$backward(x, y, g)
                };
                let nodes = [&self.node, &other.node, &upstream.node];
                step(stringify!($backward), String::new(), nodes, Form::Own, |[x, ..]| same(x), run)
                    .written(Text::gradients(stringify!($backward), &["%0", "%1", "%2"], said!(), 2))
                    .known(Facts::gradients_of(&[0, 1]))
            }
        )*}
    };
}

products! {
    pub(super) matmul_tensor = matmul |x, y| product_shape(x, y), matmul_backward;
    pub outer = outer |x, y| Ok(Some([&x[..], &y[..]].concat().into())), outer_backward;
    pub kron = kron |x, y| ops::Pairs::Kron.shapes(x, y).map(|(shape, _)| Some(shape)), kron_backward;
}

impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {
    /// The step [`matmul`](crate::matmul()), by a tensor of the same format or an array.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr2;
    ///
    /// let ties = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 0.0)?;
    /// let (x, w) = (ties.lazy(), arr2(&[[1.0], [10.0]]).into_dyn());
    /// assert_eq!(x.matmul(&x).collect()?.to_dense()?, arr2(&[[6.0, 0.0], [0.0, 6.0]]).into_dyn());
    /// assert_eq!(x.matmul(&Lazy::from(w.clone())).collect()?, ties.matmul(&w)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<Y: Factor<P, T>>(&self, other: &Lazy<Y>) -> Lazy<Y> {
        Y::product(self, other)
    }
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// The step [`matmul_with`](crate::matmul_with()), by a tensor of the same format or an array. Over sums of
    /// products it has a gradient. Two steps over functions, or on masks, are never taken for one.
    ///
    /// ```
    /// use lacuna::{CooTensor, Matmul};
    ///
    /// let roads = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?;
    /// let twice = roads.lazy().matmul_with(&roads.lazy(), Matmul::min_plus());
    /// assert_eq!(twice.collect()?, roads.matmul_with(&roads, Matmul::min_plus())?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul_with<Y, S>(&self, other: &Lazy<Y>, options: Matmul<'static, S>) -> Lazy<X::Product<Y>>
    where
        Y: Steps<Elem = T>,
        S: Semiring<T> + 'static,
        X::Product<Y>: Steps,
    {
        let name = options.name();
        let run = move |inputs: &[Held]| ops::matmul_with(known::<X>(&inputs[0]), known::<Y>(&inputs[1]), options);
        let shape = |[x, y]: [&Shape; 2]| product_shape(x, y);
        let arguments = name.map_or_else(unlike, str::to_string);
        let said = name.map(|name| format!("semiring=\"{name}\""));
        let product = step("matmul_with", arguments, [&self.node, &other.node], Form::Own, shape, run)
            .written(Text::call("matmul_with", &["%0", "%1"], said))
            .with_shares(shares::product());
        if name != Some("plus_times") {
            return product;
        }
        product.with_rule(move |asked| {
            let [x, y] = <&[_; 2]>::try_from(asked.inputs).ok()?.each_ref();
            let of = [x, y, asked.upstream].map(Arc::clone);
            let given = T::if_float(OfEntries::<X, Y, X::Product<Y>> { of: of.clone(), as_types: PhantomData })?;
            Some(linear_in_each::<X, Y, X::Product<Y>>(given, &of, move |_, of| {
                Lazy::<X>::of(Arc::clone(&of[0])).matmul_with(&Lazy::<Y>::of(Arc::clone(&of[1])), options).node
            }))
        })
    }

    /// The step [`matmul_with`](crate::matmul_with()) at the positions that a tensor stores: its options with
    /// [`mask`](Matmul::mask). Over sums of products it has a gradient.
    ///
    /// ```
    /// use lacuna::{CooTensor, Matmul};
    ///
    /// let roads = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?;
    /// let at = CooTensor::new([2, 2], vec![vec![0, 0], vec![0, 1]], vec![true, true], false)?;
    /// let there_and_back = roads.lazy().matmul_on(&roads.lazy(), &at.lazy().pattern(), Matmul::plus_times());
    /// assert_eq!(there_and_back.collect()?, roads.matmul_with(&roads, at.pattern())?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul_on<Y, S, Q: Pattern, U: Element>(
        &self,
        other: &Lazy<Y>,
        mask: &LazyPattern<Q, U>,
        options: Matmul<'static, S>,
    ) -> Lazy<X::Product<Y>>
    where
        Y: Steps<Elem = T>,
        S: Semiring<T> + 'static,
        X::Product<Y>: Steps<Elem = T>,
    {
        masked::<X, Y, Q, S>([&self.node, &other.node, &mask.x.node], options, false)
    }

    /// The step [`matmul_with`](crate::matmul_with()) at the positions that a tensor does not store: its options with
    /// [`without`](Matmul::without). Over sums of products it has a gradient.
    ///
    /// ```
    /// use lacuna::{CooTensor, Matmul};
    ///
    /// let roads = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?;
    /// let new = roads.lazy().matmul_without(&roads.lazy(), &roads.lazy().pattern(), Matmul::plus_times());
    /// assert_eq!(new.collect()?, roads.matmul_with(&roads, Matmul::plus_times().without(roads.pattern()))?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul_without<Y, S, Q: Pattern, U: Element>(
        &self,
        other: &Lazy<Y>,
        mask: &LazyPattern<Q, U>,
        options: Matmul<'static, S>,
    ) -> Lazy<X::Product<Y>>
    where
        Y: Steps<Elem = T>,
        S: Semiring<T> + 'static,
        X::Product<Y>: Steps<Elem = T>,
    {
        masked::<X, Y, Q, S>([&self.node, &other.node, &mask.x.node], options, true)
    }
}

impl<P: Pattern, T: Ring> LazyStored<P, T> {
    /// The step [`Stored::matmul`](crate::Stored::matmul): products of the entries alone, by the entries of a tensor or
    /// by all elements of an array.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr2;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 1.0)?;
    /// let w = arr2(&[[f64::NAN], [10.0]]).into_dyn();
    /// let y = x.lazy().stored().matmul(&Lazy::from(w.clone())).collect()?;
    /// assert_eq!(y[[0, 0]], 20.0); // the gap beside NaN is no term
    /// assert!(y[[1, 0]].is_nan());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<Y>(&self, other: &Lazy<Y>) -> Lazy<<Tensor<P, T> as Operand>::Product<Y>>
    where
        Y: Steps<Elem = T>,
        <Tensor<P, T> as Operand>::Product<Y>: Steps,
    {
        self.x.matmul_with(other, Matmul::plus_times())
    }
}

/// A product at the positions that a mask stores, or at those that it does not.
#[track_caller]
fn masked<X, Y, Q, S>(nodes: [&Arc<Node>; 3], options: Matmul<'static, S>, is_complement: bool) -> Lazy<X::Product<Y>>
where
    X: Steps<Product<Y>: Steps<Elem = X::Elem>>,
    Y: Steps<Elem = X::Elem>,
    Q: Pattern,
    S: Semiring<X::Elem> + 'static,
{
    let (name, kind) = (options.name(), nodes[2].kind);
    let run = move |inputs: &[Held]| {
        // The elements of the mask may have any type, and do not count.
        let mask = kind.by_pieces().map(|kind| kind.pattern(&inputs[2]));
        let mask: &Q = mask.as_ref().and_then(|mask| mask.downcast_ref()).ok_or(Error::NoTensor)?;
        let options = if is_complement { options.without(mask) } else { options.mask(mask) };
        ops::matmul_with(known::<X>(&inputs[0]), known::<Y>(&inputs[1]), options)
    };
    let shape = |[x, y, mask]: [&Shape; 3]| match product_shape(x, y)? {
        Some(expected) if expected != *mask => {
            Err(Error::ShapeMismatch { what: "the mask", expected, found: mask.clone() })
        }
        product => Ok(product),
    };
    let arguments = format!("{}, {is_complement}", name.map_or_else(unlike, str::to_string));
    let said = name.map(|name| format!("semiring=\"{name}\", mask=%2, complement={is_complement}"));
    let product = step("matmul_on", arguments, nodes, Form::Own, shape, run)
        .written(Text::call("matmul_with", &["%0", "%1"], said))
        .with_shares(shares::product());
    if name != Some("plus_times") {
        return product;
    }
    product.with_rule(move |asked| {
        let [x, y, mask] = <&[_; 3]>::try_from(asked.inputs).ok()?.each_ref();
        // What comes elsewhere than at the entries of the product is not given back.
        let product = masked::<X, Y, Q, S>([x, y, mask], options, is_complement);
        let upstream =
            on_pattern_of::<X::Product<Y>, X::Product<Y>>(&product.node, &Lazy::of(Arc::clone(asked.upstream)))?;
        let of = [x, y, &upstream].map(Arc::clone);
        let mut given = X::Elem::if_float(OfEntries::<X, Y, X::Product<Y>> { of, as_types: PhantomData })?;
        given.push(None);
        Some(linear_in_each::<X, Y, X::Product<Y>>(given, &[x, y, mask, &upstream].map(Arc::clone), move |_, of| {
            masked::<X, Y, Q, S>([&of[0], &of[1], &of[2]], options, is_complement).node
        }))
    })
}

/// The gradients of sums of products of entries.
struct OfEntries<X, Y, Z> {
    /// The operands and the upstream gradient.
    of: [Arc<Node>; 3],
    as_types: PhantomData<fn(X, Y) -> Z>,
}

/// The gradients of both operands.
type Both<X, Y, F> = (<<X as Steps>::Of<F> as Steps>::Of<F>, <<Y as Steps>::Of<F> as Steps>::Of<F>);

impl<X: Steps, Y: Steps, Z: Steps> FloatVisitor for OfEntries<X, Y, Z> {
    type Out = Vec<Option<Arc<Node>>>;

    #[track_caller]
    fn visit<F: Float + Numeric + RealNumber>(self) -> Self::Out {
        let run = |inputs: &[Held]| {
            let (x, y) = (known::<X::Of<F>>(&inputs[0]), known::<Y::Of<F>>(&inputs[1]));
            let (dx, dy) = ops::matmul_backward(&x.entries(), &y.entries(), known::<Z::Of<F>>(&inputs[2]))?;
            Ok((<X::Of<F>>::of_entries(dx), <Y::Of<F>>::of_entries(dy)))
        };
        let seen =
            |node: &Node, at: &str| if node.kind.format() == "array" { at.into() } else { format!("stored({at})") };
        let written = [seen(&self.of[0], "%0"), seen(&self.of[1], "%1")];
        let operands = [&*written[0], &*written[1], "%2"];
        let nodes = self.of.each_ref();
        let both: Lazy<Both<X, Y, F>> =
            step("matmul_backward", "stored".into(), nodes, Form::Own, |[x, ..]| same(x), run)
                .written(Text::gradients("matmul_backward", &operands, said!(), 2))
                .known(Facts::gradients_of(&[0, 1]));
        let (dx, dy) = both.parts();
        vec![Some(dx.node), Some(dy.node)]
    }
}
