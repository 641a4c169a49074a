//! Arrays in a graph, and products with arrays along axes and at patterns.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayView, Dimension, Ix1, Ix2};

use super::call::{Arg, Call};
use super::lengths::wrong_rank;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::source::{ArrayRanges, ByRanges};
use super::steps::{LazyStored, Steps, family, found, methods, operand, step, step_impl};
use super::text::text_of_array;
use super::value::{ByChunks, Chunked, Elements, Gather, Gathered, Kind, Value};
use super::{Lazy, kit};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::recycle;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{DType, Element, Float, Number, Numeric, Real, Ring};
use crate::ops::moved::Moves;
use crate::ops::{self, OpSpec, Operand, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

impl<T: Element> Value for ArrayD<T> {
    const KIND: &'static dyn Kind = &ArrayKind::<T>(PhantomData);
}

struct ArrayKind<T>(PhantomData<fn() -> T>);

impl<T: Element> Kind for ArrayKind<T> {
    fn dtype(&self) -> Option<DType> {
        Some(T::DTYPE)
    }

    fn format(&self) -> &'static str {
        "array"
    }

    fn shape(&self, value: &ErasedValue) -> Shape {
        downcast::<ArrayD<T>>(value).shape().into()
    }

    fn bytes(&self, value: &ErasedValue) -> usize {
        downcast::<ArrayD<T>>(value).len().saturating_mul(size_of::<T>())
    }

    fn choose(&self, value: &ErasedValue, moves: &dyn Fn(&[usize]) -> Result<Moves>) -> Result<ErasedValue> {
        kit::choose::<ArrayD<T>>(value, moves)
    }

    fn mover(&self) -> Option<StepImpl> {
        Some(kit::mover::<ArrayD<T>>())
    }

    fn kit(&self, call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl> {
        kit::of_arrays::<T>(call, inputs)
    }

    fn element(&self, number: f64) -> Option<Arg> {
        T::from_number(Number::Real(number)).map(Arg::element)
    }

    fn to_text(&self, value: &ErasedValue) -> Option<String> {
        text_of_array(downcast::<ArrayD<T>>(value))
    }

    fn by_chunks(&self) -> Option<&dyn ByChunks> {
        Some(self)
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&ArrayRanges::<T>(PhantomData))
    }
}

impl<T: Element> ByChunks for ArrayKind<T> {
    fn count(&self, value: &ErasedValue) -> usize {
        downcast::<ArrayD<T>>(value).len()
    }

    fn pieces<'a>(&self, value: &'a ErasedValue) -> Option<Box<dyn Chunked + 'a>> {
        Some(Box::new(SplitArray(downcast::<ArrayD<T>>(value).as_slice()?, |piece| Arc::new(piece))))
    }

    fn gather(&self, count: usize, _: &ErasedValue) -> Result<Box<dyn Gather>> {
        let elements: Elements<T> =
            |piece| (downcast::<ArrayD<T>>(piece).as_slice().expect("the elements of a chunk are in order"), T::ZERO);
        Ok(Box::new(Gathered::new(count, elements, |shape, elements, _| {
            Some(Arc::new(dense_array(shape.downcast_ref::<Shape>()?, elements)))
        })?))
    }

    fn pattern(&self, value: &ErasedValue) -> ErasedValue {
        Arc::new(self.shape(value))
    }

    fn recycle(&self, piece: ErasedValue) {
        if let Some(Ok(piece)) = piece.downcast::<ArrayD<T>>().ok().map(Arc::try_unwrap) {
            recycle::keep(piece.into_raw_vec_and_offset().0);
        }
    }
}

/// The elements of an array in row-major order, and the value of a chunk of them.
pub(super) struct SplitArray<'a, T>(pub(super) &'a [T], pub(super) fn(ArrayD<T>) -> ErasedValue);

impl<T: Element> Chunked for SplitArray<'_, T> {
    fn piece(&self, elements: Range<usize>, _: &mut Option<ErasedValue>) -> Result<ErasedValue> {
        let elements = alloc::collect(self.0[elements].iter().copied())?;
        Ok((self.1)(dense_array(&[elements.len()].into(), elements)))
    }
}

impl<T: Element> From<ArrayD<T>> for Lazy<ArrayD<T>> {
    /// Starts a graph with an array.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::Lazy;
    /// use ndarray::{arr1, arr2};
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let w = Lazy::from(arr1(&[10.0, 1.0]).into_dyn());
    /// assert_eq!(x.matmul(&w).collect()?, arr1(&[3.0, 50.0]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    fn from(array: ArrayD<T>) -> Self {
        Lazy::constant(array)
    }
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Returns all elements as an array: the step [`Tensor::to_dense`].
    ///
    /// Use the step for small results, for example to add a loss of tensors to a loss of arrays.
    ///
    /// ```
    /// use lacuna::lazy::Lazy;
    /// use lacuna::{Axes, CooTensor};
    /// use ndarray::{arr0, arr1};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3.0, 5.0], 0.0)?.lazy();
    /// let w = Lazy::from(arr1(&[1.0, -2.0]).into_dyn());
    /// let loss = x.square().sum(Axes::all()).to_dense() + w.square().sum(Axes::all()) * 0.1;
    /// assert_eq!(loss.collect()?, arr0(34.5).into_dyn());
    /// assert_eq!(loss.gradient(&x, &Lazy::from(arr0(1.0).into_dyn())).collect()?.values(), [6.0, 10.0]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn to_dense(&self) -> Lazy<ArrayD<T>> {
        let run = step_impl!(ArrayD<T>, |_, inputs| downcast::<Tensor<P, T>>(&inputs[0]).to_dense());
        Lazy::step(Call::of(&op::dense, [Arg::Input(0)]), [&self.node], run)
    }
}

/// Returns a view of an array with the rank that an operation requires. Other ranks are rejected.
fn of_rank<'a, D: Dimension, T: Element>(name: &'static str, array: &'a ArrayD<T>) -> Result<ArrayView<'a, T, D>> {
    array.view().into_dimensionality().map_err(|_| wrong_rank(name, array.ndim()))
}

/// Returns the implementation of a product with a matrix or a vector along one axis.
fn along<T: Ring, X: Steps<Elem = T>>() -> StepImpl {
    step_impl!(ArrayD<T>, |node, inputs| {
        let (x, y) = (downcast::<X>(&inputs[0]).erased(), downcast::<ArrayD<T>>(&inputs[1]));
        let axis = node.args().position("axis", 0);
        match node.args().op.is(&op::ttm) {
            true => ops::ttm(&x, &of_rank::<Ix2, T>(node.name, y)?, axis),
            false => ops::ttv(&x, &of_rank::<Ix1, T>(node.name, y)?, axis),
        }
    })
}

/// Returns the implementation of the gradients of [`along`].
fn along_back<T: Float, X: Steps<Elem = T>>() -> StepImpl {
    step_impl!((X::Of<T>, ArrayD<T>), |node, inputs| {
        let (x, y) = (downcast::<X>(&inputs[0]).erased(), downcast::<ArrayD<T>>(&inputs[1]));
        let (axis, g) = (node.args().position("axis", 0), downcast::<ArrayD<T>>(&inputs[2]));
        let (dx, dy) = match node.args().op.is(&op::ttm_backward) {
            true => ops::ttm_backward(&x, &of_rank::<Ix2, T>(node.name, y)?, axis, g)?,
            false => {
                ops::ttv_backward(&x, &of_rank::<Ix1, T>(node.name, y)?, axis, g).map(|(dx, dy)| (dx, dy.into_dyn()))?
            }
        };
        Ok((found::<X, _>(Ok(dx))?, dy))
    })
}

/// # Products along axes
///
/// Each method is documented at the function of the same name.
impl<T: Ring, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "The step [`ttm`](crate::ttm())." => ttm(x, matrix: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<ArrayD<T>> {
            x.along(&op::ttm, matrix, axis)
        }
        "The step [`ttv`](crate::ttv())." => ttv(x, vector: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<ArrayD<T>> {
            x.along(&op::ttv, vector, axis)
        }
    }

    #[track_caller]
    fn along(&self, op: &'static OpSpec, array: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<ArrayD<T>> {
        let call = Call::of(op, [Arg::Input(0), Arg::Input(1), Arg::Integer(axis as i128)]);
        let family = family!(
            T, [X: Steps]
            ttm => along::<F, X::Of<F>>(),
            ttv => along::<F, X::Of<F>>(),
            ttm_backward => along_back::<F, X::Of<F>>(),
            ttv_backward => along_back::<F, X::Of<F>>(),
        );
        Lazy::step(call, [&self.node, &array.node], StepImpl { family, ..along::<T, X>() })
    }
}

/// Returns the implementation of weighted means.
fn averaged<X: Steps<Elem: Real>>() -> StepImpl {
    step_impl!(X::Of<<X::Elem as Ring>::Deviation>, |node, inputs| {
        let (x, weights) = (operand::<X>(node, &inputs[0]), downcast::<ArrayD<X::Elem>>(&inputs[1]));
        found::<X, _>(ops::average(&x, weights, node.args().position("axis", 0)))
    })
}

/// Returns the step of the weighted means of all elements or of stored entries.
#[track_caller]
fn average<X: Steps<Elem: Real>>(
    x: &Lazy<X>,
    of: Arg,
    weights: &Lazy<ArrayD<X::Elem>>,
    axis: isize,
) -> Lazy<X::Of<<X::Elem as Ring>::Deviation>> {
    let call = Call::of(&op::average, [of, Arg::Input(1), Arg::Integer(axis as i128)]);
    let family = family!(
        X::Elem, [X: Steps]
        average => averaged::<X::Of<F>>(),
        average_backward => step_impl!(X::Of<F>, |node, inputs| {
            let (x, g) = (operand::<X::Of<F>>(node, &inputs[0]), downcast::<X::Of<F>>(&inputs[1]));
            let (weights, axis) = (downcast::<ArrayD<F>>(&inputs[2]), node.args().position("axis", 0));
            found::<X::Of<F>, _>(ops::average_backward(&x, g, weights, axis))
        }),
    );
    Lazy::step(call, [&x.node, &weights.node], StepImpl { family, ..averaged::<X>() })
}

/// # Statistics of variables
///
/// Each method is documented at the function of the same name.
impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "The step [`cov`](crate::cov())." => cov(x, axis: isize, ddof: u64) -> Lazy<ArrayD<T::Deviation>> {
            let run = step_impl!(ArrayD<T::Deviation>, |node, inputs| {
                let ddof = node.args().integer("ddof").map_or(1, |ddof| ddof as u64);
                ops::cov(downcast::<X>(&inputs[0]), node.args().position("axis", 0), ddof)
            });
            let args = [Arg::Input(0), Arg::Integer(axis as i128), Arg::Integer(ddof.into())];
            Lazy::step(Call::of(&op::cov, args), [&x.node], run)
        }
        "The step [`corrcoef`](crate::corrcoef())." => corrcoef(x, axis: isize) -> Lazy<ArrayD<T::Deviation>> {
            let run = step_impl!(ArrayD<T::Deviation>, |node, inputs| {
                ops::corrcoef(downcast::<X>(&inputs[0]), node.args().position("axis", 0))
            });
            Lazy::step(Call::of(&op::corrcoef, [Arg::Input(0), Arg::Integer(axis as i128)]), [&x.node], run)
        }
    }
}

/// # Weighted means
///
/// Each method is documented at the function of the same name.
impl<T: Real, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "The step [`average`](crate::average())." =>
        average(x, weights: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<X::Of<T::Deviation>> {
            average(x, Arg::Input(0), weights, axis)
        }
    }
}

/// # Weighted means
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Real> LazyStored<P, T> {
    methods! {
        "The step [`average`](crate::average()) of the stored entries." =>
        average(x, weights: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<Tensor<P, T::Deviation>> {
            average(&x.x, Arg::Stored(0), weights, axis)
        }
    }
}

/// # Products with one factor per axis
///
/// The method is documented at the function of the same name.
impl<T: Ring, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step [`mttkrp`](crate::mttkrp()).
    #[track_caller]
    pub fn mttkrp(&self, mode: isize, factors: &[impl Borrow<Lazy<ArrayD<T>>>]) -> Lazy<ArrayD<T>> {
        let nodes = factors.iter().map(|factor| Arc::clone(&factor.borrow().node));
        let inputs = std::iter::once(Arc::clone(&self.node)).chain(nodes).collect();
        let listed = Arg::List((1..=factors.len()).map(Arg::Input).collect());
        let call = Call::of(&op::mttkrp, [Arg::Input(0), Arg::Integer(mode as i128), listed]);
        let family = family!(
            T, [X: Steps]
            mttkrp => by_factors::<F, X::Of<F>>(),
            mttkrp_backward => step_impl!((X::Of<F>, Vec<ArrayD<F>>), |node, inputs| {
                let [x, factors @ .., g] = inputs else { return Err(Error::NoTensor) };
                let factors: Vec<&ArrayD<F>> = factors.iter().map(downcast).collect();
                let (mode, g) = (node.args().position("mode", 0), downcast::<ArrayD<F>>(g));
                let (dx, rest) = ops::mttkrp_backward(&downcast::<X::Of<F>>(x).erased(), mode, &factors, g)?;
                Ok((found::<X::Of<F>, _>(Ok(dx))?, rest))
            }),
        );
        Lazy::of(Arc::new(step(call, inputs, StepImpl { family, ..by_factors::<T, X>() })))
    }
}

fn by_factors<T: Ring, X: Steps<Elem = T>>() -> StepImpl {
    step_impl!(ArrayD<T>, |node, inputs| {
        let [x, factors @ ..] = inputs else { return Err(Error::NoTensor) };
        let factors: Vec<&ArrayD<T>> = factors.iter().map(downcast).collect();
        ops::mttkrp(&downcast::<X>(x).erased(), node.args().position("mode", 0), &factors)
    })
}

/// The pattern of a lazy tensor.
#[must_use = "a pattern does nothing until its methods are called"]
#[derive(Debug, Clone)]
pub struct LazyPattern<P, T> {
    pub(super) x: Lazy<Tensor<P, T>>,
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Returns the pattern, for products of arrays at its positions and for masks.
    ///
    /// See [`LazyPattern::sddmm`], [`LazyStored::mask`] and [`Lazy::matmul_on`].
    pub fn pattern(&self) -> LazyPattern<P, T> {
        LazyPattern { x: self.clone() }
    }
}

impl<P: Pattern, T: Ring> LazyPattern<P, T> {
    /// Returns the step [`sddmm`](crate::CooPattern::sddmm): dot products of rows of two arrays at the pattern.
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    /// use lacuna::lazy::{Lazy, compile};
    /// use ndarray::{ArrayD, arr2};
    ///
    /// // Predicted ratings are products of user factors and film factors. Unstored positions are unknown ratings.
    /// let ratings = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![4.0, 6.0], 0.0)?.lazy();
    /// let [users, films] = ["users", "films"].map(|name| Lazy::<ArrayD<f64>>::input(name, [2, 1]));
    /// let wrong = ratings.pattern().sddmm(&users, &films) - &ratings;
    /// let loss = wrong.square().sum(Axes::all());
    /// let one = CooTensor::full([0; 0], 1.0)?;
    /// let [of_users, of_films] = loss.gradients([&users, &films], &one.lazy());
    ///
    /// let step = compile((&loss, &of_users, &of_films))?;
    /// let (u, f) = (arr2(&[[1.0], [2.0]]).into_dyn(), arr2(&[[3.0], [1.0]]).into_dyn());
    /// let (loss, of_users, _) = step.run([users.is(&u), films.is(&f)])?;
    /// assert_eq!(loss.item()?, 17.0); // (1 * 3 - 4)² + (2 * 1 - 6)²
    /// assert_eq!(of_users, arr2(&[[-6.0], [-8.0]]).into_dyn());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn sddmm(&self, left: &Lazy<ArrayD<T>>, right: &Lazy<ArrayD<T>>) -> Lazy<Tensor<P, T>> {
        let call = Call::of(&op::pattern_sddmm, [Arg::Input(0), Arg::Input(1), Arg::Input(2)]);
        let family = family!(
            T, [P: Pattern]
            pattern_sddmm => dots::<P, F>(),
            pattern_sddmm_backward => step_impl!((ArrayD<F>, ArrayD<F>), |_, inputs| {
                let [left, right] = [1, 2].map(|at| downcast::<ArrayD<F>>(&inputs[at]).view());
                let (x, g) = (downcast::<Tensor<P, F>>(&inputs[0]), downcast::<Tensor<P, F>>(&inputs[3]));
                ops::dots_at_backward(x.pattern().any(), &left, &right, g)
            }),
        );
        let step_impl = StepImpl { family, ..dots::<P, T>() };
        Lazy::step_as(op::sddmm.name, call, [&self.x.node, &left.node, &right.node], step_impl)
    }
}

fn dots<P: Pattern, T: Ring>() -> StepImpl {
    step_impl!(Tensor<P, T>, |_, inputs| {
        let [left, right] = [1, 2].map(|at| downcast::<ArrayD<T>>(&inputs[at]).view());
        let pattern = downcast::<Tensor<P, T>>(&inputs[0]).pattern().any();
        Tensor::<P, T>::from_erased(ops::dots_at(pattern, &left, &right)?)
    })
}

impl<P: Pattern, T: Ring + Numeric> LazyStored<P, T> {
    /// Returns the step [`sddmm`](crate::Stored::sddmm): the entries times dot products of rows of arrays.
    #[track_caller]
    pub fn sddmm(&self, left: &Lazy<ArrayD<T>>, right: &Lazy<ArrayD<T>>) -> Lazy<Tensor<P, T>> {
        self.x.pattern().sddmm(left, right).mul(self.x.with_fill(T::ZERO))
    }
}
