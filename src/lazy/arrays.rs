//! Arrays in a graph, and products with them along axes and at patterns.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayView, Dimension, Ix1, Ix2};

use super::einsum::part;
use super::gradient::linear_in_each;
use super::node::{Form, Held, Node, known};
use super::rewrite::Facts;
use super::source::{ByRanges, OfArrays};
use super::text::{Text, list_from, said, said_of_array};
use super::unary::{LazyStored, Steps, rule_of_all, same, step, step_of};
use super::value::{ByPieces, Gather, Gathered, Kind, Move, Pieced, Pieces, Value};
use super::{Lazy, shares};
use crate::base::alloc;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::base::spare;
use crate::convert::dense_array;
use crate::element::{DType, Element, Float, FloatVisitor, Numeric, RealNumber, Ring};
use crate::ops;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

impl<T: Element> Value for ArrayD<T> {
    const KIND: &'static dyn Kind = &OfArray::<T>(PhantomData);
}

struct OfArray<T>(PhantomData<fn() -> T>);

impl<T: Element> Kind for OfArray<T> {
    fn dtype(&self) -> Option<DType> {
        Some(T::DTYPE)
    }

    fn format(&self) -> &'static str {
        "array"
    }

    fn shape(&self, value: &Held) -> Shape {
        known::<ArrayD<T>>(value).shape().into()
    }

    fn bytes(&self, value: &Held) -> usize {
        known::<ArrayD<T>>(value).len().saturating_mul(size_of::<T>())
    }

    fn remember(&self, value: &Held, _: Option<&Held>) -> Held {
        Arc::clone(value)
    }

    fn forget(&self, value: &Held) -> Held {
        Arc::clone(value)
    }

    fn reads(&self, _: &Held) -> u64 {
        0
    }

    fn moved(&self, node: &Arc<Node>, to: Move) -> Option<Arc<Node>> {
        to.step::<ArrayD<T>>(node)
    }

    fn said(&self, value: &Held) -> Option<String> {
        said_of_array(known::<ArrayD<T>>(value))
    }

    #[track_caller]
    fn sum(&self, left: &Arc<Node>, right: &Arc<Node>) -> Option<Arc<Node>> {
        let [left, right] = [left, right].map(|node| Lazy::<ArrayD<T>>::of(Arc::clone(node)));
        Some(Arc::clone(&left.add(&right).node))
    }

    fn by_pieces(&self) -> Option<&dyn ByPieces> {
        Some(self)
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&OfArrays::<T>(PhantomData))
    }
}

impl<T: Element> ByPieces for OfArray<T> {
    fn count(&self, value: &Held) -> usize {
        known::<ArrayD<T>>(value).len()
    }

    fn pieces<'a>(&self, value: &'a Held) -> Option<Box<dyn Pieces + 'a>> {
        Some(Box::new(Row(known::<ArrayD<T>>(value).as_slice()?)))
    }

    fn gather(&self, count: usize, _: &Held) -> Result<Box<dyn Gather>> {
        Ok(Box::new(Gathered::of::<ArrayD<T>>(count)?))
    }

    fn pattern(&self, value: &Held) -> Held {
        Arc::new(self.shape(value))
    }

    fn spare(&self, piece: Held) {
        if let Some(Ok(piece)) = piece.downcast::<ArrayD<T>>().ok().map(Arc::try_unwrap) {
            spare::keep(piece.into_raw_vec_and_offset().0);
        }
    }
}

/// The elements of an array in row-major order.
struct Row<'a, T>(&'a [T]);

impl<T: Element> Pieces for Row<'_, T> {
    fn piece(&self, elements: Range<usize>, _: &mut Option<Held>) -> Result<Held> {
        let elements = alloc::collect(self.0[elements].iter().copied())?;
        Ok(Arc::new(dense_array(&[elements.len()].into(), elements)))
    }
}

impl<T: Element> Pieced for ArrayD<T> {
    type Item = T;

    fn elements(&self) -> (&[T], T) {
        (self.as_slice().expect("the elements of a piece lie in order"), T::ZERO)
    }

    fn whole(shape: &Held, elements: Vec<T>, _: T) -> Option<Self> {
        Some(dense_array(shape.downcast_ref::<Shape>()?, elements))
    }
}

impl<T: Element> From<ArrayD<T>> for Lazy<ArrayD<T>> {
    /// An array as the beginning of a chain.
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
    /// All elements as an array: the step [`Tensor::to_dense`], for what is small, such as a loss beside those of arrays.
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
        let step = self.then("to_dense", String::new(), Form::Own, same, |x| x.to_dense());
        let step = step.written(Text::call("dense", &["%0"], said!()));
        rule_of_all!(step, T, [P: Pattern], (), |[x, g]| {
            let (x, g) = (Lazy::<Tensor<P, F>>::of(Arc::clone(x)), Lazy::<ArrayD<F>>::of(Arc::clone(g)));
            vec![Some(x.any_backward(&g, Axes::none()).node)]
        })
    }
}

/// Two operands and the upstream gradient, as they are written.
pub(super) const TWO: &[&str] = &["%0", "%1", "%2"];

/// The two gradients that a step finds at once, which is written with these arguments: those of the two inputs before
/// the upstream gradient.
#[track_caller]
pub(super) fn two_of<A: Value, B: Value, const N: usize>(
    name: &'static str,
    arguments: String,
    said: &[&str],
    inputs: [&Arc<Node>; N],
    run: impl Fn(&[Held]) -> Result<(A, B)> + Send + Sync + 'static,
) -> [Option<Arc<Node>>; 2] {
    let both: Lazy<(A, B)> = step(name, arguments, inputs, Form::Own, |shapes| same(shapes[0]), run);
    let both = both.written(Text::gradients(name, said, said!(), 2));
    let both = both.known(Facts::gradients_of(if N == 3 { &[0, 1] } else { &[1, 2] }));
    let (first, second) = both.parts();
    [Some(first.node), Some(second.node)]
}

/// An array of that rank, which an operation asks for.
fn of_rank<'a, D: Dimension, T: Element>(name: &'static str, array: &'a ArrayD<T>) -> Result<ArrayView<'a, T, D>> {
    array.view().into_dimensionality().map_err(|_| wrong_rank(name, array.ndim()))
}

fn wrong_rank(operation: &'static str, rank: usize) -> Error {
    Error::Argument { operation, why: format!("an array of rank {rank} is none of the rank that it takes") }
}

/// The shape of a product along one axis with an array of so many axes, the last of which goes along it.
fn along(operation: &'static str, [x, y]: [&Shape; 2], axis: isize, rank: usize) -> Result<Option<Shape>> {
    let axis = normalize_axis(axis as i128, x.rank())?;
    let (expected, mut shape) = (x[axis], x.to_vec());
    match (y.rank() == rank).then(|| y.split_last()).flatten() {
        None => Err(wrong_rank(operation, y.rank())),
        Some((&found, _)) if found != expected => {
            Err(Error::LengthMismatch { what: "a row of the matrix", expected, found })
        }
        Some((_, rows)) => {
            shape.splice(axis..=axis, rows.iter().copied());
            Ok(Some(shape.into()))
        }
    }
}

/// The gradient of an operand.
pub(super) type OfFloats<X, F> = <<X as Steps>::Of<F> as Steps>::Of<F>;

/// The gradients of an operand and of several arrays.
type OfAll<X, F> = (OfFloats<X, F>, Vec<ArrayD<F>>);

/// Products along one axis: the rank of the array, and the gradient.
macro_rules! products_along {
    ($($name:ident($array:ident: $dimension:ty) $backward:ident;)*) => {$(
        #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[track_caller]
        pub fn $name(&self, $array: &Lazy<ArrayD<T>>, axis: isize) -> Lazy<ArrayD<T>> {
            let (name, rank) = (stringify!($name), <$dimension as Dimension>::NDIM.unwrap_or(0));
            let run = move |inputs: &[Held]| {
                let array = of_rank::<$dimension, T>(name, known(&inputs[1]))?;
                ops::$name(known::<X>(&inputs[0]), &array, axis)
            };
            let nodes = [&self.node, &$array.node];
            let shape = |shapes: [&Shape; 2]| along(name, shapes, axis, rank);
            let product = step(name, axis.to_string(), nodes, Form::Own, shape, run);
            let product = product.with_shares(shares::beside(axis as i128, move |axes| (axes + rank).saturating_sub(2)));
            let product = product.written(Text::call(name, &["%0", "%1"], said!(axis)));
            rule_of_all!(product, T, [X: Steps], (axis: isize), |[x, array, g]| {
                let run = move |inputs: &[Held]| {
                    let array = of_rank::<$dimension, F>(stringify!($backward), known(&inputs[1]))?;
                    let g = known::<ArrayD<F>>(&inputs[2]);
                    let (dx, dy) = ops::$backward(known::<X::Of<F>>(&inputs[0]), &array, axis, g)?;
                    Ok((<X::Of<F>>::reduced(dx), dy.into_dyn()))
                };
                let (name, nodes) = (stringify!($backward), [x, array, g]);
                let said = ["%0", "%1", &axis.to_string(), "%2"];
                let given = two_of::<OfFloats<X, F>, ArrayD<F>, 3>(name, axis.to_string(), &said, nodes, run);
                linear_in_each::<X::Of<F>, ArrayD<F>, ArrayD<F>>(given.into(), &nodes.map(Arc::clone), move |_, of| {
                    Lazy::<X::Of<F>>::of(Arc::clone(&of[0])).$name(&Lazy::of(Arc::clone(&of[1])), axis).node
                })
            })
        }
    )*};
}

/// # Products along axes
///
/// The pages stand at the functions of the same names.
impl<T: Ring, X: Steps<Elem = T>> Lazy<X> {
    products_along! {
        ttm(matrix: Ix2) ttm_backward;
        ttv(vector: Ix1) ttv_backward;
    }

    /// The step [`mttkrp`](crate::mttkrp()).
    #[track_caller]
    pub fn mttkrp(&self, mode: isize, factors: &[impl Borrow<Lazy<ArrayD<T>>>]) -> Lazy<ArrayD<T>> {
        let nodes = factors.iter().map(|factor| Arc::clone(&factor.borrow().node));
        let inputs = std::iter::once(Arc::clone(&self.node)).chain(nodes).collect();
        let run = move |inputs: &[Held]| {
            let [x, factors @ ..] = inputs else { return Err(Error::NoTensor) };
            ops::mttkrp(known::<X>(x), mode, &factors.iter().map(known).collect::<Vec<&ArrayD<T>>>())
        };
        let shape = |shapes: &[&Shape]| factored(shapes, mode);
        let listed = list_from(1, factors.len());
        let product = step_of("mttkrp", mode.to_string(), inputs, Form::Own, shape, run).written(Text::call(
            "mttkrp",
            &["%0", &mode.to_string(), &listed],
            said!(),
        ));
        rule_of_all!(product, T, [X: Steps], (mode: isize), |[inputs @ .., g]| {
            let run = move |inputs: &[Held]| {
                let [x, factors @ .., g] = inputs else { return Err(Error::NoTensor) };
                let factors: Vec<&ArrayD<F>> = factors.iter().map(known).collect();
                let (dx, rest) = ops::mttkrp_backward(known::<X::Of<F>>(x), mode, &factors, known::<ArrayD<F>>(g))?;
                Ok((<X::Of<F>>::reduced(dx), rest))
            };
            let nodes: Vec<Arc<Node>> = inputs.iter().chain([g]).map(Arc::clone).collect();
            let all: Lazy<OfAll<X, F>> =
                step_of("mttkrp_backward", mode.to_string(), nodes.clone(), Form::Own, |shapes| same(shapes[0]), run);
            let count = inputs.len();
            let said = ["%0", &mode.to_string(), &list_from(1, count - 1), &format!("%{count}")];
            let all = all.written(Text::gradients("mttkrp_backward", &said, said!(), count));
            let all = all.known(Facts::gradients_of(&[0]));
            let (dx, rest) = all.parts();
            let of_factors = (1..inputs.len()).map(|number| Some(part(&rest, number - 1).node));
            let given = std::iter::once(Some(dx.node)).chain(of_factors).collect();
            linear_in_each::<X::Of<F>, ArrayD<F>, ArrayD<F>>(given, &nodes, move |_, of| {
                let factors: Vec<Lazy<ArrayD<F>>> = of[1..].iter().map(|node| Lazy::of(Arc::clone(node))).collect();
                Lazy::<X::Of<F>>::of(Arc::clone(&of[0])).mttkrp(mode, &factors).node
            })
        })
    }
}

/// The shape of a product with a factor for each axis but one.
fn factored(shapes: &[&Shape], mode: isize) -> Result<Option<Shape>> {
    let [x, factors @ ..] = shapes else { return Ok(None) };
    let mode = normalize_axis(mode as i128, x.rank())?;
    let Some(&width) = factors.first().and_then(|factor| factor.last()) else { return Ok(None) };
    let axes = (0..x.rank()).filter(|&axis| axis != mode);
    for (expected, &found) in axes.map(|axis| Shape::from([x[axis], width])).zip(factors) {
        if expected != *found {
            return Err(Error::ShapeMismatch { what: "a factor", expected, found: found.clone() });
        }
    }
    // Where there are too few or too many, the operation says so.
    Ok((factors.len() + 1 == x.rank()).then(|| [x[mode], width].into()))
}

/// The pattern of a tensor that is not computed yet.
#[must_use = "a pattern is looked at by its methods"]
#[derive(Debug, Clone)]
pub struct LazyPattern<P, T> {
    pub(super) x: Lazy<Tensor<P, T>>,
}

impl<P: Pattern, T: Element> Lazy<Tensor<P, T>> {
    /// Its pattern, which products of arrays are asked at: see [`LazyPattern::sddmm`].
    pub fn pattern(&self) -> LazyPattern<P, T> {
        LazyPattern { x: self.clone() }
    }
}

impl<P: Pattern, T: Ring> LazyPattern<P, T> {
    /// The step [`CooPattern::sddmm`](crate::CooPattern::sddmm): the dots of rows of two arrays at the pattern.
    ///
    /// ```
    /// use lacuna::{Axes, CooTensor};
    /// use lacuna::lazy::{Lazy, compile};
    /// use ndarray::{ArrayD, arr2};
    ///
    /// // Ratings as products of what each user likes and each film has; gaps are ratings that nobody gave.
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
        let run = |inputs: &[Held]| {
            let (left, right) = (known::<ArrayD<T>>(&inputs[1]), known::<ArrayD<T>>(&inputs[2]));
            let pattern = known::<Tensor<P, T>>(&inputs[0]).pattern().any();
            Tensor::<P, T>::from_erased(ops::dots_at(pattern, &left.view(), &right.view())?)
        };
        let shape = |[x, left, right]: [&Shape; 3]| {
            ops::check_factors(x, left, right)?;
            same(x)
        };
        let nodes = [&self.x.node, &left.node, &right.node];
        let dots: Lazy<Tensor<P, T>> = step("sddmm", "pattern".into(), nodes, Form::OfFirst, shape, run);
        let dots = dots.written(Text::call("pattern_sddmm", &["%0", "%1", "%2"], said!()));
        rule_of_all!(dots, T, [P: Pattern], (), |[x, left, right, g]| {
            let run = |inputs: &[Held]| {
                let [left, right] = [1, 2].map(|at| known::<ArrayD<F>>(&inputs[at]).view());
                let (x, g) = (known::<Tensor<P, F>>(&inputs[0]), known::<Tensor<P, F>>(&inputs[3]));
                ops::dots_at_backward(x.pattern().any(), &left, &right, g)
            };
            let nodes = [x, left, right, g];
            let (name, said) = ("pattern_sddmm_backward", ["%0", "%1", "%2", "%3"]);
            let [left, right] = two_of::<ArrayD<F>, ArrayD<F>, 4>(name, String::new(), &said, nodes, run);
            // The values of the tensor have no part in it.
            let given = vec![None, left, right];
            linear_in_each::<Tensor<P, F>, ArrayD<F>, Tensor<P, F>>(given, &nodes.map(Arc::clone), |_, of| {
                let [left, right] = [1, 2].map(|at| Lazy::of(Arc::clone(&of[at])));
                Lazy::<Tensor<P, F>>::of(Arc::clone(&of[0])).pattern().sddmm(&left, &right).node
            })
        })
    }
}

impl<P: Pattern, T: Ring + Numeric> LazyStored<P, T> {
    /// The step [`Stored::sddmm`](crate::Stored::sddmm): the entries times the dots of rows of two arrays.
    #[track_caller]
    pub fn sddmm(&self, left: &Lazy<ArrayD<T>>, right: &Lazy<ArrayD<T>>) -> Lazy<Tensor<P, T>> {
        self.x.pattern().sddmm(left, right).mul(self.x.with_fill(T::ZERO))
    }
}
