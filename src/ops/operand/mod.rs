//! What operations take, and how each kind of operand runs each family of operations.

mod array;
mod erased;
#[cfg(feature = "dynamic")]
mod run_time;
mod sparse;

use std::borrow::Cow;

use ndarray::ArrayViewD;

use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Apart, Gradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::product::factor::{Factor, Found};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::Pairs;
use crate::ops::product::whole::Whole;
use crate::ops::reduce::ranked::Ranking;
use crate::ops::select::Select;
use crate::pattern::{AnyPattern, Pattern};

pub(crate) use erased::OperandRef;
#[cfg(feature = "dynamic")]
pub(in crate::ops) use erased::positions;
#[cfg(feature = "dynamic")]
pub(crate) use run_time::{DenseView, RunTimeOperand, RunTimeResult, SparseView};
pub(in crate::ops) use sparse::Sparse;

/// What an operation takes: a sparse tensor of either format, its [stored view](crate::Stored), or an `ndarray` array
/// or view of any layout. The trait is sealed.
///
/// Reductions and maps of a stored view look at entries alone; what chooses and moves elements does so with its whole
/// tensor. As an upstream gradient it is 0 where nothing is stored.
///
/// # Examples
///
/// A function over all of them:
///
/// ```
/// use lacuna::{CooTensor, Operand, any, isnan};
///
/// fn rows_with_a_gap<X: Operand<Elem = f64>>(x: &X) -> lacuna::Result<X::Reduced<bool>>
/// where
///     X::Mapped<bool>: Operand<Elem = bool, Reduced<bool> = X::Reduced<bool>>,
/// {
///     any(&isnan(x)?, -1)
/// }
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![f64::NAN, 1.0], 0.0)?;
/// assert_eq!(rows_with_a_gap(&x)?.to_dense()?, rows_with_a_gap(&x.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of lacuna",
    label = "not a tensor, a stored view or an `ndarray` array",
    note = "operands are `CooTensor`, `CsrTensor`, `x.stored()`, and `ndarray` arrays and views, of `lacuna::Element`s",
    note = "hand over a reference to one, `&x`; a number or a `Vec` becomes an array by `ndarray::arr0` or `arr1`"
)]
pub trait Operand: Sized + sealed::Sealed {
    // The hidden methods have names that arrays have none of: those of `ndarray` are methods of what an array derefs
    // to, which a trait's of the same name would hide from whoever imports this one.

    /// The type of the elements.
    type Elem: Element;

    /// A result of another shape, with elements of type `U`: a tensor of the same format, or an array of any rank.
    type Reduced<U>;

    /// A result of the same shape, with elements of type `U`.
    type Mapped<U: Element>;

    /// A product with an operand on the right: a tensor of the format of this one if both are sparse, else an array.
    type Product<Y: Operand>;

    /// A product with a sparse operand on the left, of pattern `P`.
    #[doc(hidden)]
    type ProductWith<P: Pattern, U>;

    /// The lengths of the axes.
    fn lengths(&self) -> &[usize];

    /// How many elements an elementwise operation looks at.
    #[doc(hidden)]
    fn element_count(&self) -> usize;

    /// The bytes that it holds, what it repeats counted once.
    #[doc(hidden)]
    fn held_bytes(&self) -> usize;

    #[doc(hidden)]
    fn by_map<M: Map<Self::Elem>>(&self, op: &M) -> Result<Self::Mapped<M::Out>>;

    /// The gradient of a map whose slope at a value is that function of it.
    #[doc(hidden)]
    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<Self::Mapped<U::Elem>>
    where
        Self::Elem: Float;

    #[doc(hidden)]
    fn by_fold<F: Fold<Self::Elem>>(&self, op: F, axes: &Axes) -> Result<Self::Reduced<F::Out>>;

    /// The gradient of a fold that gives each element that of its cell.
    #[doc(hidden)]
    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<Self::Reduced<U::Elem>>;

    #[doc(hidden)]
    fn by_holistic<H: Holistic<Self::Elem>>(&self, op: H, axes: &Axes) -> Result<Self::Reduced<H::Out>>;

    #[doc(hidden)]
    fn by_gradient<U: Operand, H: Gradient<Self::Elem, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<Self::Reduced<U::Elem>>;

    #[doc(hidden)]
    fn by_apart<U: Operand, A: Apart<Self::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<Self::Reduced<U::Elem>>;

    /// `of` the element at each rank along an axis, with its position, or of nothing.
    #[doc(hidden)]
    fn by_ranked<U: Plain>(
        &self,
        ranking: &Ranking,
        of: impl Fn(Option<(Self::Elem, u64)>) -> U + Sync + Send,
    ) -> Result<Self::Reduced<U>>
    where
        Self::Elem: Real;

    #[doc(hidden)]
    fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, upstream: &U) -> Result<Self::Reduced<U::Elem>>
    where
        Self::Elem: Real;

    /// The elements that it holds one by one, and the element that all other positions hold, with their number.
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // two things, nothing to be named
    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [Self::Elem]>, Option<(Self::Elem, u128)>)>;

    /// A result of pairs as a pair of results.
    #[doc(hidden)]
    fn unzip<A: Copy, B: Copy>(pairs: Self::Reduced<(A, B)>) -> Allocated<(Self::Reduced<A>, Self::Reduced<B>)>;

    #[doc(hidden)]
    fn by_select<S: Select>(&self, op: &S) -> Result<Self::Reduced<Self::Elem>>;

    #[doc(hidden)]
    fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<Self::Reduced<U::Elem>>;

    /// As an upstream gradient: the elements at the cells that a result of this shape stores, in its order.
    #[doc(hidden)]
    fn at_entries(&self, result: &AnyPattern) -> Result<Vec<Self::Elem>>;

    /// With an array on the right.
    #[doc(hidden)]
    fn zip_array<B: Element, Z: Zip<Self::Elem, B>>(
        &self,
        array: ArrayViewD<'_, B>,
        op: Z,
    ) -> Result<Self::Reduced<Z::Out>>;

    /// This operand without the type of its pattern or dimension.
    #[doc(hidden)]
    fn operand_ref(&self) -> OperandRef<'_, Self::Elem>;

    /// The softmax of the elements over some axes, or the gradient of it.
    #[doc(hidden)]
    fn by_softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<Self::Reduced<G>>
    where
        Self::Elem: Float;

    /// The products of all pairs with another operand of this kind.
    #[doc(hidden)]
    fn by_pairs(&self, other: &Self, form: Pairs) -> Result<Self::Reduced<Self::Elem>>
    where
        Self::Elem: Ring;

    /// The gradients of both.
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
    fn by_pairs_backward<U: Operand<Elem = Self::Elem>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(Self::Reduced<Self::Elem>, Self::Reduced<Self::Elem>)>
    where
        Self::Elem: Float;

    /// As an operand of an einsum: without the type of its pattern.
    #[doc(hidden)]
    fn whole(&self) -> Result<Whole<Self::Elem>>;

    /// What an einsum came to, whose operands held so many bytes.
    #[doc(hidden)]
    fn of_whole(whole: Whole<Self::Elem>, bytes: usize) -> Result<Self::Reduced<Self::Elem>>;

    /// Whether positions that are not stored count: not in a stored view.
    #[doc(hidden)]
    fn counts_gaps(&self) -> bool;

    /// The elements as a product goes through them.
    #[doc(hidden)]
    fn listed(&self) -> Result<Listed<'_, Self::Elem>>;

    /// A gradient of this operand, from as many elements as it has in a shape that it was broadcast to: exact sums, if
    /// it was.
    #[doc(hidden)]
    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<Self::Reduced<U>>;

    /// As an upstream gradient: the elements by their row-major number, for so many look-ups; `None` where there are
    /// too many cells for that.
    #[doc(hidden)]
    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, Self::Elem>>>;

    /// As an operand of a product.
    #[doc(hidden)]
    fn factor(&self) -> Result<Factor<'_, Self::Elem>>;

    /// What was found of this and of an operand on the right, in its type.
    #[doc(hidden)]
    fn of_found<Y: Operand<Elem = Self::Elem>>(&self, found: Found<Self::Elem>) -> Result<Self::Product<Y>>;

    /// What was found of a sparse operand on the left and this, in its type.
    #[doc(hidden)]
    fn of_found_with<P: Pattern>(found: Found<Self::Elem>) -> Result<Self::ProductWith<P, Self::Elem>>;
}
/// The axes of `shape` along which an operand with these lengths repeats itself.
pub(in crate::ops) fn repeated_axes(lengths: &[usize], shape: &Shape) -> Vec<usize> {
    let added = shape.rank() - lengths.len();
    (0..shape.rank()).filter(|&axis| axis < added || lengths[axis - added] != shape[axis]).collect()
}

pub(super) mod sealed {
    use crate::tensor::Tensor;
    use crate::tensor::stored::Stored;

    pub trait Sealed {}
    impl<P, T> Sealed for Tensor<P, T> {}
    impl<P, T> Sealed for Stored<'_, P, T> {}
    impl<S: ndarray::RawData, D> Sealed for ndarray::ArrayBase<S, D> {}
    impl<P, T> Sealed for crate::ops::reduce::fed::Fed<'_, P, T> {}
    #[cfg(feature = "dynamic")]
    impl<P, T> Sealed for super::SparseView<P, T> {}
    impl<X> Sealed for crate::ops::reduce::GroupBy<'_, X> {}
}
