//! The operands of operations, and how each kind of operand runs each family of operations.

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
pub(super) use crate::base::sealed;
use crate::base::shape::Shape;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Gradient, GroupGradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::product::factor::{Factor, ProductResult};
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

/// An operand of an operation: a sparse tensor of either format, its [stored view](crate::Stored), or an `ndarray`
/// array or view of any layout. The trait is sealed.
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
    // The hidden methods have names that arrays do not use. The `ndarray` methods belong to the type that an array
    // dereferences to. A trait method with the same name would hide them from importers of this trait.

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

    /// Returns the number of elements that an elementwise operation reads.
    #[doc(hidden)]
    fn element_count(&self) -> usize;

    /// Returns the number of bytes that the operand holds; repeated elements count once.
    #[doc(hidden)]
    fn held_bytes(&self) -> usize;

    #[doc(hidden)]
    fn by_map<M: Map<Self::Elem>>(&self, op: &M) -> Result<Self::Mapped<M::Out>>;

    /// Computes the gradient of a map; `slope` is its derivative as a function of the value.
    #[doc(hidden)]
    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<Self::Mapped<U::Elem>>
    where
        Self::Elem: Float;

    #[doc(hidden)]
    fn by_fold<F: Fold<Self::Elem>>(&self, op: F, axes: &Axes) -> Result<Self::Reduced<F::Out>>;

    /// Computes the gradient of a fold that passes each element the upstream gradient of its output element.
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
    fn by_apart<U: Operand, A: GroupGradient<Self::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<Self::Reduced<U::Elem>>;

    /// Applies `of` to the element at each rank along an axis, with its position; to `None` if there is no such
    /// element.
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

    /// Returns the elements that are held one by one, and the value and number of all other positions.
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // two parts, without a name of their own
    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [Self::Elem]>, Option<(Self::Elem, u128)>)>;

    /// Converts a result of pairs to a pair of results.
    #[doc(hidden)]
    fn unzip<A: Copy, B: Copy>(pairs: Self::Reduced<(A, B)>) -> Allocated<(Self::Reduced<A>, Self::Reduced<B>)>;

    #[doc(hidden)]
    fn by_select<S: Select>(&self, op: &S) -> Result<Self::Reduced<Self::Elem>>;

    #[doc(hidden)]
    fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<Self::Reduced<U::Elem>>;

    /// Returns the elements of an upstream gradient at the entries of `result`, in their order.
    #[doc(hidden)]
    fn at_entries(&self, result: &AnyPattern) -> Result<Vec<Self::Elem>>;

    /// Combines this operand with an array on the right.
    #[doc(hidden)]
    fn zip_array<B: Element, Z: Zip<Self::Elem, B>>(
        &self,
        array: ArrayViewD<'_, B>,
        op: Z,
    ) -> Result<Self::Reduced<Z::Out>>;

    /// Returns this operand without the static type of its pattern or dimension.
    #[doc(hidden)]
    fn operand_ref(&self) -> OperandRef<'_, Self::Elem>;

    /// Computes the softmax of the elements over `axes`, or its gradient.
    #[doc(hidden)]
    fn by_softmax<G: Float>(&self, form: Softmax, axes: &Axes, gradients: Option<Vec<G>>) -> Result<Self::Reduced<G>>
    where
        Self::Elem: Float;

    /// Computes the products of all pairs of this operand and another operand of this kind.
    #[doc(hidden)]
    fn by_pairs(&self, other: &Self, form: Pairs) -> Result<Self::Reduced<Self::Elem>>
    where
        Self::Elem: Ring;

    /// Computes the gradients of both operands of [`by_pairs`](Operand::by_pairs).
    #[doc(hidden)]
    #[allow(clippy::type_complexity)] // a pair of results of ordinary types
    fn by_pairs_backward<U: Operand<Elem = Self::Elem>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(Self::Reduced<Self::Elem>, Self::Reduced<Self::Elem>)>
    where
        Self::Elem: Float;

    /// Returns the operand of an einsum, without the static type of its pattern.
    #[doc(hidden)]
    fn whole(&self) -> Result<Whole<Self::Elem>>;

    /// Converts the result of an einsum to its static type; `bytes` is the number of bytes that the operands held.
    #[doc(hidden)]
    fn of_whole(whole: Whole<Self::Elem>, bytes: usize) -> Result<Self::Reduced<Self::Elem>>;

    /// Returns whether unstored positions count; they do not in a stored view.
    #[doc(hidden)]
    fn counts_gaps(&self) -> bool;

    /// Returns the elements in the order in which a product reads them.
    #[doc(hidden)]
    fn listed(&self) -> Result<Listed<'_, Self::Elem>>;

    /// Returns a gradient of this operand, from the gradients of its elements broadcast to `shape`. If the operand was
    /// broadcast, the gradients of each element are summed exactly.
    #[doc(hidden)]
    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<Self::Reduced<U>>;

    /// Returns the elements of an upstream gradient by flat index, for `entries` lookups; `None` if there are too many
    /// positions for that.
    #[doc(hidden)]
    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, Self::Elem>>>;

    /// Returns the operand of a product.
    #[doc(hidden)]
    fn factor(&self) -> Result<Factor<'_, Self::Elem>>;

    /// Converts the product of this operand and an operand on the right to its static type.
    #[doc(hidden)]
    fn of_found<Y: Operand<Elem = Self::Elem>>(&self, found: ProductResult<Self::Elem>) -> Result<Self::Product<Y>>;

    /// Converts the product of a sparse operand on the left and this operand to its static type.
    #[doc(hidden)]
    fn of_found_with<P: Pattern>(found: ProductResult<Self::Elem>) -> Result<Self::ProductWith<P, Self::Elem>>;
}
/// Returns the axes of `shape` along which an operand with these lengths repeats its elements.
pub(in crate::ops) fn repeated_axes(lengths: &[usize], shape: &Shape) -> Vec<usize> {
    let added = shape.rank() - lengths.len();
    (0..shape.rank()).filter(|&axis| axis < added || lengths[axis - added] != shape[axis]).collect()
}

impl<S: ndarray::RawData, D> sealed::Sealed for ndarray::ArrayBase<S, D> {}
impl<P, T> sealed::Sealed for crate::ops::reduce::fed::Fed<'_, P, T> {}
#[cfg(feature = "dynamic")]
impl<P, T> sealed::Sealed for SparseView<P, T> {}
impl<X> sealed::Sealed for crate::ops::reduce::GroupBy<'_, X> {}
