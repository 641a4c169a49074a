//! Arrays in a graph: the dense operands of products, and their gradients.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayD;

use super::Lazy;
use super::more::product_shape;
use super::node::{Form, Held, Node, known};
use super::unary::{LazyStored, rule_of_all, step};
use super::value::{ByPieces, Gather, Gathered, Kind, Pieced, Pieces, Value};
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::shape::Shape;
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

    #[track_caller]
    fn sum(&self, left: &Arc<Node>, right: &Arc<Node>) -> Option<Arc<Node>> {
        let run = |inputs: &[Held]| ops::add(known::<ArrayD<T>>(&inputs[0]), known::<ArrayD<T>>(&inputs[1]));
        Some(step::<ArrayD<T>, 2>("add", String::new(), [left, right], Form::Own, |[x, _]| same(x), run).node)
    }

    fn by_pieces(&self) -> Option<&dyn ByPieces> {
        Some(self)
    }
}

impl<T: Element> ByPieces for OfArray<T> {
    fn count(&self, value: &Held) -> usize {
        known::<ArrayD<T>>(value).len()
    }

    fn pieces<'a>(&self, value: &'a Held) -> Option<Box<dyn Pieces + 'a>> {
        Some(Box::new(Row(known::<ArrayD<T>>(value).as_slice()?)))
    }

    fn gather(&self, count: usize) -> Result<Box<dyn Gather>> {
        Gathered::<ArrayD<T>>::boxed(count)
    }

    fn pattern(&self, value: &Held) -> Held {
        Arc::new(self.shape(value))
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

fn same(shape: &Shape) -> Result<Option<Shape>> {
    Ok(Some(shape.clone()))
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

/// What may stand on the right in [`Lazy::matmul`]: a tensor of the same format, or an array. The trait is sealed.
pub trait Factor<P: Pattern, T: Element>: Value {
    #[doc(hidden)]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self>;
}

impl<P: Pattern, T: Ring> Factor<P, T> for Tensor<P, T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        x.matmul_tensor(y)
    }
}

impl<P: Pattern, T: Ring> Factor<P, T> for ArrayD<T> {
    #[track_caller]
    fn product(x: &Lazy<Tensor<P, T>>, y: &Lazy<Self>) -> Lazy<Self> {
        let shape = |[x, y]: [&Shape; 2]| product_shape(x, y);
        let run = |inputs: &[Held]| ops::matmul(known::<Tensor<P, T>>(&inputs[0]), known::<ArrayD<T>>(&inputs[1]));
        let product: Lazy<Self> = step("matmul", String::new(), [&x.node, &y.node], Form::Own, shape, run);
        rule_of_all!(product, T, P, (), |[x, y, g]| {
            let run = |inputs: &[Held]| {
                let (y, g) = (known::<ArrayD<F>>(&inputs[1]), known::<ArrayD<F>>(&inputs[2]));
                ops::matmul_backward(known::<Tensor<P, F>>(&inputs[0]), y, g)
            };
            two_of::<Tensor<P, F>, ArrayD<F>, 3>("matmul_backward", [x, y, g], run).to_vec()
        })
    }
}

/// The two gradients that a step finds at once.
#[track_caller]
fn two_of<A: Value, B: Value, const N: usize>(
    name: &'static str,
    inputs: [&Arc<Node>; N],
    run: impl Fn(&[Held]) -> Result<(A, B)> + Send + Sync + 'static,
) -> [Option<Arc<Node>>; 2] {
    let both: Lazy<(A, B)> = step(name, String::new(), inputs, Form::Own, |shapes| same(shapes[0]), run);
    let (first, second) = both.parts();
    [Some(first.node), Some(second.node)]
}

/// The pattern of a tensor that is not computed yet.
#[must_use = "a pattern is looked at by its methods"]
#[derive(Debug, Clone)]
pub struct LazyPattern<P, T> {
    x: Lazy<Tensor<P, T>>,
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
    /// let one = CooTensor::from_parts(lacuna::CooPattern::empty([0; 0])?, vec![], 1.0)?;
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
            ops::dots_at(known::<Tensor<P, T>>(&inputs[0]).pattern(), &left.view(), &right.view())
        };
        let shape = |[x, left, right]: [&Shape; 3]| {
            ops::check_factors(x, left, right)?;
            same(x)
        };
        let nodes = [&self.x.node, &left.node, &right.node];
        let dots: Lazy<Tensor<P, T>> = step("sddmm", "pattern".into(), nodes, Form::OfFirst, shape, run);
        rule_of_all!(dots, T, P, (), |[x, left, right, g]| {
            let run = |inputs: &[Held]| {
                let [left, right] = [1, 2].map(|at| known::<ArrayD<F>>(&inputs[at]).view());
                let (x, g) = (known::<Tensor<P, F>>(&inputs[0]), known::<Tensor<P, F>>(&inputs[3]));
                ops::dots_at_backward(x.pattern(), &left, &right, g)
            };
            let nodes = [x, left, right, g];
            let [left, right] = two_of::<ArrayD<F>, ArrayD<F>, 4>("pattern_sddmm_backward", nodes, run);
            // The values of the tensor have no part in it.
            vec![None, left, right]
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
