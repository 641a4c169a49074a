//! Products of two tensors of the same format, or of a tensor and an array.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::call::{Arg, Call, Typed};
use super::entries::pattern_of;
use super::factors::{Factor, product_back};
use super::node::{Family, Node, StepImpl, downcast};
use super::steps::{LazyStored, Steps, family, step_impl};
use super::{Lazy, LazyPattern};
use crate::element::{Element, Float, Ring};
use crate::ops::{self, Matmul, OpSpec, Operand, Semiring, op};
use crate::pattern::{CooPattern, Pattern};
use crate::tensor::Tensor;

/// Returns the implementation of a product of all pairs of elements.
fn pairs<P: Pattern, T: Ring>() -> StepImpl {
    step_impl!(Tensor<P, T>, |node, inputs| {
        let [x, y] = [0, 1].map(|at| downcast::<Tensor<P, T>>(&inputs[at]));
        if node.args().op.is(&op::kron) { ops::kron(x, y) } else { ops::outer(x, y) }
    })
}

/// Returns the implementation of the gradients of [`pairs`].
fn pairs_back<P: Pattern, T: Float>() -> StepImpl {
    step_impl!((Tensor<P, T>, Tensor<P, T>), |node, inputs| {
        let [x, y, g] = [0, 1, 2].map(|at| downcast::<Tensor<P, T>>(&inputs[at]));
        if node.args().op.is(&op::kron_backward) { ops::kron_backward(x, y, g) } else { ops::outer_backward(x, y, g) }
    })
}

/// # Products
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {
    /// Returns the step [`outer`](crate::outer()).
    #[track_caller]
    pub fn outer(&self, other: &Self) -> Self {
        self.product(&op::outer, other)
    }

    /// Returns the step [`kron`](crate::kron()).
    #[track_caller]
    pub fn kron(&self, other: &Self) -> Self {
        self.product(&op::kron, other)
    }

    #[track_caller]
    fn product(&self, op: &'static OpSpec, other: &Self) -> Self {
        let family = family!(
            T, [P: Pattern]
            outer => pairs::<P, F>(),
            kron => pairs::<P, F>(),
            outer_backward => pairs_back::<P, F>(),
            kron_backward => pairs_back::<P, F>(),
        );
        let call = Call::of(op, [Arg::Input(0), Arg::Input(1)]);
        Lazy::step(call, [&self.node, &other.node], StepImpl { family, ..pairs::<P, T>() })
    }
}

impl<P: Pattern, T: Ring> Lazy<Tensor<P, T>> {
    /// Returns the step [`matmul`](crate::matmul()).
    ///
    /// The right operand is a tensor of the same format or an array.
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
    /// Returns the step [`matmul_with`](crate::matmul_with()).
    ///
    /// The right operand is a tensor of the same format or an array. For [`plus_times`](Matmul::plus_times), the step
    /// has a gradient. Steps with functions or masks in `options` are never merged as common subexpressions.
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
        X::Product<Y>: Steps<Elem = T>,
    {
        let call = Call::of(&op::matmul_with, [Arg::Input(0), Arg::Input(1), semiring::<T, S>(options)]);
        Lazy::step(call, [&self.node, &other.node], with_family::<X, Y, CooPattern<u32>, S>())
    }

    /// Returns the step [`matmul_with`](crate::matmul_with()) at the positions that a tensor stores.
    ///
    /// The mask is the option [`mask`](Matmul::mask). For [`plus_times`](Matmul::plus_times), the step has a gradient.
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

    /// Returns the step [`matmul_with`](crate::matmul_with()) at the positions that a tensor does not store.
    ///
    /// The mask is the option [`without`](Matmul::without). For [`plus_times`](Matmul::plus_times), the step has a
    /// gradient.
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
    /// Returns the step [`Stored::matmul`](crate::Stored::matmul): products of only stored entries.
    ///
    /// The right operand is a tensor or an array. The product uses only the stored entries of a tensor, but all
    /// elements of an array.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::arr2;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 1.0)?;
    /// let w = arr2(&[[f64::NAN], [10.0]]).into_dyn();
    /// let y = x.lazy().stored().matmul(&Lazy::from(w.clone())).collect()?;
    /// assert_eq!(y[[0, 0]], 20.0); // the unstored position at NaN does not contribute
    /// assert!(y[[1, 0]].is_nan());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul<Y>(&self, other: &Lazy<Y>) -> Lazy<<Tensor<P, T> as Operand>::Product<Y>>
    where
        Y: Steps<Elem = T>,
        <Tensor<P, T> as Operand>::Product<Y>: Steps<Elem = T>,
    {
        self.x.matmul_with(other, Matmul::plus_times())
    }
}

/// The semiring of a product. The semiring may consist of functions.
struct SemiringArg<S> {
    options: Matmul<'static, S>,
    name: Option<&'static str>,
}

impl<S> fmt::Debug for SemiringArg<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a semiring")
    }
}

impl<S: Copy + Send + Sync + 'static> Typed for SemiringArg<S> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    /// Returns false for semirings of functions, which cannot be compared.
    fn is_same(&self, other: &dyn Typed) -> bool {
        self.to_text().is_some() && self.to_text() == other.to_text()
    }

    fn to_text(&self) -> Option<String> {
        self.name.map(|name| format!("\"{name}\""))
    }
}

fn semiring<T: Element, S: Semiring<T> + 'static>(options: Matmul<'static, S>) -> Arg {
    Arg::Typed(Arc::new(SemiringArg { options, name: options.name() }))
}

/// Returns a product at the positions that a mask stores, or at the positions that the mask does not store.
#[track_caller]
fn masked<X, Y, Q, S>(nodes: [&Arc<Node>; 3], options: Matmul<'static, S>, is_complement: bool) -> Lazy<X::Product<Y>>
where
    X: Steps<Product<Y>: Steps<Elem = X::Elem>>,
    Y: Steps<Elem = X::Elem>,
    Q: Pattern,
    S: Semiring<X::Elem> + 'static,
{
    let complement = if is_complement { Arg::Flag(true) } else { Arg::Absent };
    let args = [Arg::Input(0), Arg::Input(1), semiring::<X::Elem, S>(options), Arg::Input(2), complement];
    Lazy::step_as(op::matmul_on.name, Call::of(&op::matmul_with, args), nodes, with_family::<X, Y, Q, S>())
}

/// Returns the implementation of a product of stored entries. A mask has a pattern of type `Q`.
fn by_semiring<X, Y, Q, S>() -> StepImpl
where
    X: Steps<Product<Y>: Steps>,
    Y: Steps<Elem = X::Elem>,
    Q: Pattern,
    S: Semiring<X::Elem> + 'static,
{
    step_impl!(X::Product<Y>, |node, inputs| {
        let options = node.args().data::<SemiringArg<S>>("semiring").expect("a semiring of this type").options;
        let mask = inputs.get(2).map(|mask| pattern_of::<Q>(node, 2, mask)).transpose()?;
        let options = match &mask {
            Some(mask) if node.args().flag("complement") => options.without(mask),
            Some(mask) => options.mask(mask),
            None => options,
        };
        ops::matmul_with(downcast::<X>(&inputs[0]), downcast::<Y>(&inputs[1]), options)
    })
}

/// Returns [`by_semiring`] together with the implementations that gradients use.
fn with_family<X, Y, Q, S>() -> StepImpl
where
    X: Steps<Product<Y>: Steps<Elem = X::Elem>>,
    Y: Steps<Elem = X::Elem>,
    Q: Pattern,
    S: Semiring<X::Elem> + 'static,
{
    let family: Family = |call, inputs| match call.op {
        op if op.is(&op::matmul_with) => Some(by_semiring::<X, Y, Q, S>()),
        _ => gradients::<X, Y, X::Product<Y>>()?(call, inputs),
    };
    let family = gradients::<X, Y, X::Product<Y>>().map(|_| family);
    StepImpl { family, ..by_semiring::<X, Y, Q, S>() }
}

/// Returns the implementation of the gradients of sums of products of stored entries, if the elements are floats.
fn gradients<X: Steps, Y: Steps<Elem = X::Elem>, Z: Steps<Elem = X::Elem>>() -> Option<Family> {
    family!(X::Elem, [X: Steps, Y: Steps, Z: Steps] matmul_backward => product_back::<X::Of<F>, Y::Of<F>, Z::Of<F>>())
}
