//! Operands whose positions on one axis are reduced by group labels.

use std::borrow::Cow;
use std::sync::Arc;

use ndarray::{ArrayBase, ArrayView1, ArrayViewD, Data, Ix1};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::grouping::Grouping;
use crate::base::index::Position;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::element::{Element, Float, Real, Ring};
use crate::kernels::fold::Fold;
use crate::kernels::gather::Plain;
use crate::kernels::holistic::{Gradient, GroupGradient, Holistic};
use crate::kernels::lookup::Lookup;
use crate::kernels::map::{Function, Map};
use crate::kernels::softmax::Softmax;
use crate::kernels::zip::Zip;
use crate::ops::operand::Operand;
use crate::ops::product::factor::{Factor, ProductResult};
use crate::ops::product::listed::Listed;
use crate::ops::product::outer::Pairs;
use crate::ops::product::softmax;
use crate::ops::product::whole::Whole;
use crate::ops::reduce::ranked::{self, Ranking};
use crate::ops::select::Select;
use crate::pattern::Pattern;

/// The labels that [`group_by`] takes: one integer for each position of an axis, and how many labels there may be.
///
/// A slice, an array, a `Vec` or an `ndarray` array of rank 1 converts to it, by reference; there are then as many
/// labels as the greatest one says.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, GroupLabels};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![10, 20], 0)?;
/// assert_eq!(x.group_by(0, &[1, 0, 1])?.sum(0)?.shape(), &[2][..]);
/// assert_eq!(x.group_by(0, GroupLabels::of(&[1, 0, 1]).count(5))?.sum(0)?.shape(), &[5][..]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "num_segments")]
#[doc(alias = "dim_size")]
pub struct GroupLabels<'a, J> {
    items: ArrayView1<'a, J>,
    /// How many labels there may be: all are below it. Without it, one more than the greatest.
    pub count: Option<usize>,
}

impl<'a, J: Position> GroupLabels<'a, J> {
    /// These labels, as many as the greatest says.
    pub fn of(labels: impl Into<GroupLabels<'a, J>>) -> Self {
        labels.into()
    }

    /// There may be so many labels, from 0 on, whether positions have them or not.
    pub fn count(self, count: usize) -> Self {
        GroupLabels { count: Some(count), ..self }
    }

    /// Returns the positions of an axis of an operand with these lengths, grouped by their labels.
    pub(crate) fn group(self, axis: impl Position, lengths: &[usize]) -> Result<Arc<Grouping>> {
        let axis = normalize_axis(axis.to_i128(), lengths.len())?;
        let length = lengths[axis];
        if self.items.len() != length {
            return Err(Error::LengthMismatch { what: "the labels", expected: length, found: self.items.len() });
        }
        let mut labels = alloc::with_capacity(length)?;
        for (position, label) in self.items.iter().enumerate() {
            let limit = self.count.unwrap_or(usize::MAX);
            let known = usize::try_from(label.to_i128()).ok().filter(|&label| label < limit);
            labels.push(known.ok_or_else(|| outside(label.to_i128(), position, limit))?);
        }
        let count = self.count.unwrap_or_else(|| labels.iter().max().map_or(0, |greatest| greatest + 1));
        let instead = "number the labels from 0 on, without gaps";
        guard::<usize>("the labels that there may be", count as u128 + 1, default_limit(length * 8), instead)?;
        Ok(Arc::new(Grouping::new(axis, labels, count)?))
    }
}

/// Returns the error of a label that is out of range.
fn outside(label: i128, position: usize, limit: usize) -> Error {
    let limit = if limit == usize::MAX { String::new() } else { format!(" and below {limit}") };
    let why = format!("label {label} of position {position} is not at least 0{limit}");
    Error::Argument { operation: "group_by", why }
}

macro_rules! labels_from {
    ($([$($generics:tt)*] $from:ty, |$items:ident| $view:expr;)*) => {$(
        impl<'a, J: Position, $($generics)*> From<$from> for GroupLabels<'a, J> {
            fn from($items: $from) -> Self {
                GroupLabels { items: $view, count: None }
            }
        }
    )*};
}

labels_from! {
    [] &'a [J], |items| items.into();
    [] &'a Vec<J>, |items| items.into();
    [const N: usize] &'a [J; N], |items| items.into();
    [S: Data<Elem = J>] &'a ArrayBase<S, Ix1>, |items| items.view();
}

/// An operand whose positions on one axis have labels: what [`group_by`] gives.
///
/// Reductions over that axis, and their gradients, are by label. All else sees the operand as it is.
#[must_use]
#[derive(Debug, Clone)]
pub struct GroupBy<'x, X> {
    operand: &'x X,
    grouping: Arc<Grouping>,
}

impl<X> GroupBy<'_, X> {
    /// Returns the axes, with the group labels of one of them.
    fn axes(&self, axes: &Axes) -> Result<Axes> {
        match axes.grouping() {
            None => Ok(axes.grouped(self.grouping.clone())),
            Some(_) => Err(Error::Argument { operation: "group_by", why: "one axis has labels already".into() }),
        }
    }
}

/// Labels for the positions of an axis: a reduction over that axis is then one of the positions of each label.
///
/// *y*<sub>…l…</sub> = *f*({ *x*<sub>…r…</sub> : the label of *r* is *l* })
///
/// The result is an operand of every reduction and of its gradient: `x.group_by(0, &labels)?.mean(0)`, or
/// `mean(&x.group_by(0, &labels)?, 0)`. Group by a stored view, `x.stored().group_by(…)`, and the entries count alone.
///
/// # Shapes
///
/// There are as many labels as the axis is long. The axes of the reduction name this axis, and may name more, which go
/// with it; in the result it stays, with a place for each label: one more than the greatest, or as many as
/// [`GroupLabels::count`] says. Positions that a reduction gives (`argmax`) count the positions of the label, in their
/// order.
///
/// # Implicit values
///
/// As in each reduction. The fill of `x` is reduced over as many positions as a label has: where labels have different
/// numbers of positions, and that makes different fills, what is not stored must all be of labels with one of them.
/// (`mean`, `min` and `max` of a fill do not depend on its number.) A label without a position is a group of nothing: 0
/// as a sum, 1 as a product, NaN as a mean. If that is not the fill of the other labels, its cells are stored.
///
/// # NaN
///
/// As in each reduction.
///
/// # Gradient
///
/// That of each reduction, of the same operand: `grad::sum(&x.group_by(0, &labels)?, &upstream, 0)`. Each position
/// receives its share of the gradient at its label.
///
/// # Errors
///
/// Here: `AxisOutOfRange`; `LengthMismatch` for the number of labels; `Argument` for a label below 0, or not below the
/// count; `TooLarge` where the greatest label is out of proportion. In a reduction: those of its page, and
///
/// - `Argument`: its axes do not name the one with labels, or there is no result for a label without a position, which
///   is named;
/// - `TooLarge`: labels without a position have too many cells;
/// - `FillVaries`: positions that are not stored would hold different values;
/// - `AxisTooLong`: the index type does not hold the labels.
///
/// # Complexity
///
/// O(length of the axis + labels), and that of the reduction: entries are added to a table of cells where there are few
/// of these, and sorted by label elsewhere.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::{arr1, arr2};
///
/// // the ratings of four films by three people, and the genre of each film
/// // 5 . 3
/// // . 4 .
/// // 1 . 2
/// // . . 4
/// let (films, people) = (vec![0, 0, 1, 2, 2, 3], vec![0, 2, 1, 0, 2, 2]);
/// let x = CooTensor::new([4, 3], vec![films, people], vec![5.0, 3.0, 4.0, 1.0, 2.0, 4.0], 0.0)?;
/// let genres = [0, 1, 0, 1];
///
/// let by_genre = x.group_by(0, &genres)?;
/// assert_eq!(by_genre.sum(0)?.to_dense()?, arr2(&[[6.0, 0.0, 5.0], [0.0, 4.0, 4.0]]).into_dyn());
/// assert_eq!(by_genre.max([0, 1])?.to_dense()?, arr1(&[5.0, 4.0]).into_dyn());
/// assert_eq!(x.stored().group_by(0, &genres)?.nanmedian([0, 1])?.values(), [2.5, 4.0]); // of 5 3 1 2; of 4 4
///
/// // its dense equivalent
/// let dense = x.to_dense()?;
/// assert_eq!(by_genre.sum(0)?.to_dense()?, lacuna::sum(&lacuna::group_by(&dense, 0, &genres)?, 0)?);
/// let dx = grad::sum(&by_genre, &arr1(&[10.0, 20.0]), [0, 1])?;
/// assert_eq!(dx.values(), [10.0, 10.0, 20.0, 10.0, 10.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`pandas.DataFrame.groupby`](https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.groupby.html)
/// by an array of labels.
#[doc(alias = "groupby")]
#[doc(alias = "segment_sum")]
#[doc(alias = "scatter_add")]
#[doc(alias = "scatter_reduce")]
#[doc(alias = "bincount")]
pub fn group_by<'x, 'a, X: Operand, J: Position>(
    x: &'x X,
    axis: impl Position,
    labels: impl Into<GroupLabels<'a, J>>,
) -> Result<GroupBy<'x, X>> {
    Ok(GroupBy { operand: x, grouping: labels.into().group(axis, x.lengths())? })
}

/// Reductions with the labels; rankings and shares, which go by axes, are refused; all else as the operand has it.
impl<X: Operand> Operand for GroupBy<'_, X> {
    type Elem = X::Elem;
    type Reduced<U> = X::Reduced<U>;
    type Mapped<U: Element> = X::Mapped<U>;

    fn lengths(&self) -> &[usize] {
        self.operand.lengths()
    }

    fn element_count(&self) -> usize {
        self.operand.element_count()
    }

    fn held_bytes(&self) -> usize {
        self.operand.held_bytes()
    }

    fn by_map<M: Map<X::Elem>>(&self, op: &M) -> Result<X::Mapped<M::Out>> {
        self.operand.by_map(op)
    }

    fn by_slopes<U: Operand<Elem: Float>>(&self, slope: Function<'_>, upstream: &U) -> Result<X::Mapped<U::Elem>>
    where
        X::Elem: Float,
    {
        self.operand.by_slopes(slope, upstream)
    }

    fn by_fold<F: Fold<X::Elem>>(&self, op: F, axes: &Axes) -> Result<X::Reduced<F::Out>> {
        self.operand.by_fold(op, &self.axes(axes)?)
    }

    fn by_spread<U: Operand>(&self, upstream: &U, axes: &Axes) -> Result<X::Reduced<U::Elem>> {
        self.operand.by_spread(upstream, &self.axes(axes)?)
    }

    fn by_holistic<H: Holistic<X::Elem>>(&self, op: H, axes: &Axes) -> Result<X::Reduced<H::Out>> {
        self.operand.by_holistic(op, &self.axes(axes)?)
    }

    fn by_gradient<U: Operand, H: Gradient<X::Elem, U::Elem>>(
        &self,
        op: H,
        upstream: &U,
        axes: &Axes,
    ) -> Result<X::Reduced<U::Elem>> {
        self.operand.by_gradient(op, upstream, &self.axes(axes)?)
    }

    fn by_apart<U: Operand, A: GroupGradient<X::Elem, U::Elem>>(
        &self,
        op: A,
        upstream: &U,
        axes: &Axes,
    ) -> Result<X::Reduced<U::Elem>> {
        self.operand.by_apart(op, upstream, &self.axes(axes)?)
    }

    fn by_ranked<U: Plain>(
        &self,
        ranking: &Ranking,
        _: impl Fn(Option<(X::Elem, u64)>) -> U + Sync + Send,
    ) -> Result<X::Reduced<U>>
    where
        X::Elem: Real,
    {
        ranked::refused_by_label(ranking)
    }

    fn by_ranked_backward<U: Operand>(&self, ranking: &Ranking, _: &U) -> Result<X::Reduced<U::Elem>>
    where
        X::Elem: Real,
    {
        ranked::refused_by_label(ranking)
    }

    fn values_and_gaps(&self) -> Allocated<(Cow<'_, [X::Elem]>, Option<(X::Elem, u128)>)> {
        self.operand.values_and_gaps()
    }

    fn unzip<A: Copy, B: Copy>(pairs: X::Reduced<(A, B)>) -> Allocated<(X::Reduced<A>, X::Reduced<B>)> {
        X::unzip(pairs)
    }

    fn by_select<S: Select>(&self, op: &S) -> Result<X::Reduced<X::Elem>> {
        self.operand.by_select(op)
    }

    fn by_select_backward<S: Select, U: Operand>(&self, op: &S, upstream: &U) -> Result<X::Reduced<U::Elem>> {
        self.operand.by_select_backward(op, upstream)
    }

    fn at_entries(&self, result: &crate::pattern::AnyPattern) -> Result<Vec<X::Elem>> {
        self.operand.at_entries(result)
    }

    fn zip_array<B: Element, Z: Zip<X::Elem, B>>(&self, array: ArrayViewD<'_, B>, op: Z) -> Result<X::Reduced<Z::Out>> {
        self.operand.zip_array(array, op)
    }

    fn operand_ref(&self) -> crate::ops::operand::OperandRef<'_, X::Elem> {
        self.operand.operand_ref()
    }

    fn by_softmax<G: Float>(&self, form: Softmax, _: &Axes, _: Option<Vec<G>>) -> Result<X::Reduced<G>>
    where
        X::Elem: Float,
    {
        softmax::refused_by_label(form)
    }

    fn by_pairs(&self, other: &Self, form: Pairs) -> Result<X::Reduced<X::Elem>>
    where
        X::Elem: Ring,
    {
        self.operand.by_pairs(other.operand, form)
    }

    fn by_pairs_backward<U: Operand<Elem = X::Elem>>(
        &self,
        other: &Self,
        form: Pairs,
        upstream: &U,
    ) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)>
    where
        X::Elem: Float,
    {
        self.operand.by_pairs_backward(other.operand, form, upstream)
    }

    fn whole(&self) -> Result<Whole<X::Elem>> {
        self.operand.whole()
    }

    fn of_whole(whole: Whole<X::Elem>, bytes: usize) -> Result<X::Reduced<X::Elem>> {
        X::of_whole(whole, bytes)
    }

    fn counts_gaps(&self) -> bool {
        self.operand.counts_gaps()
    }

    fn listed(&self) -> Result<Listed<'_, X::Elem>> {
        self.operand.listed()
    }

    fn gradient_of<U: Float>(&self, elements: Vec<U>, shape: &Shape) -> Result<X::Reduced<U>> {
        self.operand.gradient_of(elements, shape)
    }

    fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, X::Elem>>> {
        self.operand.lookup(entries)
    }

    type Product<Y: Operand> = X::Product<Y>;
    type ProductWith<P: Pattern, U> = X::ProductWith<P, U>;

    fn factor(&self) -> Result<Factor<'_, X::Elem>> {
        self.operand.factor()
    }

    fn of_found<Y: Operand<Elem = X::Elem>>(&self, found: ProductResult<X::Elem>) -> Result<X::Product<Y>> {
        self.operand.of_found::<Y>(found)
    }

    fn of_found_with<P: Pattern>(found: ProductResult<X::Elem>) -> Result<X::ProductWith<P, X::Elem>> {
        X::of_found_with::<P>(found)
    }
}
