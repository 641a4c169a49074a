//! Concatenation of several tensors.

use std::borrow::Borrow;

use super::moves::Moves;
use super::{Select, sum_overflow, sums};
use crate::base::alloc::Allocated;
use crate::base::axes::normalize_axis;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::{Position, check_axes};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::{Element, RawSlice, RawVec, by_raw};
use crate::kernels::gather::{Plain, gather, map_runs};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::pattern::{AnyPattern, Pattern};
use crate::plan::join::{bases, concatenate, joined};
use crate::plan::moves::StepLimits;
use crate::plan::selection::{Selected, Sources};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// Concatenates tensors along an existing axis.
///
/// Along the axis, the result consists of the first tensor, then the second tensor, and so on. For arrays, use
/// [`ndarray::concatenate()`].
///
/// # Shapes
///
/// All tensors have equal lengths on all other axes. The length of the axis in the result is the sum of the lengths in
/// the tensors.
///
/// # Implicit values
///
/// All tensors have the same fill, which is the fill of the result. The result stores the positions that the tensors
/// store, including stored zeros.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs. Two fills of NaN are the same.
///
/// # Gradient
///
/// [`grad::concat`](crate::grad::concat).
///
/// # Errors
///
/// - `NoTensor`: the list is empty;
/// - `AxisOutOfRange`: the tensors do not have the axis;
/// - `NotJoinable`: a tensor has a different rank, or a different length on another axis;
/// - `FillsDiffer`: the fill of a tensor differs from the fill of the first tensor;
/// - `AxisOverflow`: the length of the axis does not fit in `usize`;
/// - `AxisTooLong`: the axis is too long for the index type;
/// - `TooLarge`: the lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of the tensors.
///
/// # Complexity
///
/// Let *n* be the number of entries of all tensors. The cost along the first axis of COO is O(*n* · rank). The cost
/// along any other axis of COO is O(*n* · (rank + log *n*)). The cost along any axis of CSR is O(*n* + lanes ·
/// tensors).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, concat};
/// use lacuna::ndarray::{Axis, concatenate};
///
/// let x = CooTensor::new([1, 2], vec![vec![0], vec![1]], vec![5], 0)?;
/// let y = CooTensor::new([2, 2], vec![vec![1], vec![0]], vec![6], 0)?;
/// let z = concat(0, &[&x, &y])?; // a slice of tensors also works
/// assert_eq!(z.entries(), [(vec![0, 1], 5), (vec![2, 0], 6)]);
/// assert_eq!(z.to_dense()?, concatenate(Axis(0), &[x.to_dense()?.view(), y.to_dense()?.view()]).unwrap());
///
/// let other = y.with_fill(7);
/// let refused = concat(0, &[&x, &other]).unwrap_err();
/// let message = "the fill of tensor 1 is 7, the fill of tensor 0 is 0; make them equal with with_fill";
/// assert_eq!(refused.to_string(), message);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.concatenate`](https://numpy.org/doc/stable/reference/generated/numpy.concatenate.html).
#[doc(alias = "concatenate")]
#[doc(alias = "cat")]
#[doc(alias = "hstack")]
#[doc(alias = "vstack")]
#[doc(alias = "append")]
pub fn concat<P: Pattern, T: Element>(
    axis: impl Position,
    tensors: &[impl Borrow<Tensor<P, T>>],
) -> Result<Tensor<P, T>> {
    let tensors = erased(tensors);
    of_tensors(&Join::of(axis.to_i128(), &tensors)?, &tensors)
}

/// Returns the gradients of [`concat()`]: a part of the upstream gradient per tensor.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its tensor.
///
/// # Implicit values
///
/// Each gradient has the pattern of its tensor (shared) and a fill of 0. Positions that `upstream` does not store have
/// the fill of `upstream`.
///
/// # NaN
///
/// A gradient of `-0.0` becomes `+0.0`. All other gradients are bitwise unchanged.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`concat()`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`concat()`], and one lookup in `upstream` per entry of the tensors.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// let y = CooTensor::new([1], vec![vec![0]], vec![6.0], 0.0)?;
/// let gradients = grad::concat(&arr1(&[0.5, 0.25, 2.0]), 0, &[&x, &y])?;
/// assert_eq!((gradients[0].values(), gradients[1].values()), (&[0.25][..], &[2.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn concat_backward<P: Pattern, T: Element, U: Operand>(
    upstream: &U,
    axis: impl Position,
    tensors: &[impl Borrow<Tensor<P, T>>],
) -> Result<Vec<Tensor<P, U::Elem>>> {
    let erased = erased(tensors);
    of_gradients(&Join::of(axis.to_i128(), &erased)?, upstream, tensors, &erased)
}

/// Concatenates tensors of equal shapes along a new axis.
///
/// At position *k* of the new axis, the result holds tensor *k*. For arrays, use [`ndarray::stack()`].
///
/// # Shapes
///
/// All tensors have the same shape. The length of the new axis is the number of tensors. A negative axis counts from
/// the end of the result.
///
/// # Implicit values
///
/// All tensors have the same fill, which is the fill of the result. The result stores the positions that the tensors
/// store, including stored zeros.
///
/// # NaN
///
/// Values are bitwise unchanged, including the payloads of NaNs. Two fills of NaN are the same.
///
/// # Gradient
///
/// [`grad::stack`](crate::grad::stack).
///
/// # Errors
///
/// - `NoTensor`: the list is empty;
/// - `AxisOutOfRange`: the result does not have the axis;
/// - `ShapeMismatch`: the shape of a tensor differs from the shape of the first tensor;
/// - `FillsDiffer`: the fill of a tensor differs from the fill of the first tensor;
/// - `AxisTooLong`: the new axis is too long for the index type;
/// - `TooLarge`: the lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of the tensors.
///
/// # Complexity
///
/// The complexity of [`concat()`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, stack};
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5], 0)?;
/// let y = CooTensor::new([2], vec![vec![0]], vec![6], 0)?;
/// assert_eq!(stack(0, &[&x, &y])?.entries(), [(vec![0, 1], 5), (vec![1, 0], 6)]);
/// assert_eq!(stack(-1, &vec![x, y])?.entries(), [(vec![0, 1], 6), (vec![1, 0], 5)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.stack`](https://numpy.org/doc/stable/reference/generated/numpy.stack.html).
#[doc(alias = "dstack")]
#[doc(alias = "torch.stack")]
pub fn stack<P: Pattern, T: Element>(
    axis: impl Position,
    tensors: &[impl Borrow<Tensor<P, T>>],
) -> Result<Tensor<P, T>> {
    let tensors = erased(tensors);
    of_tensors(&Join::on_new_axis(axis.to_i128(), &tensors)?, &tensors)
}

/// Returns the gradients of [`stack`]: a part of the upstream gradient per tensor.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its tensor.
///
/// # Implicit values
///
/// Each gradient has the pattern of its tensor (shared) and a fill of 0. Positions that `upstream` does not store have
/// the fill of `upstream`.
///
/// # NaN
///
/// A gradient of `-0.0` becomes `+0.0`. All other gradients are bitwise unchanged.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`stack`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`stack`], and one lookup in `upstream` per entry of the tensors.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr2;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![5.0], 0.0)?;
/// let gradients = grad::stack(&arr2(&[[0.5, 0.25], [2.0, 4.0]]), 0, &[&x, &x])?;
/// assert_eq!((gradients[0].values(), gradients[1].values()), (&[0.25][..], &[4.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn stack_backward<P: Pattern, T: Element, U: Operand>(
    upstream: &U,
    axis: impl Position,
    tensors: &[impl Borrow<Tensor<P, T>>],
) -> Result<Vec<Tensor<P, U::Elem>>> {
    let erased = erased(tensors);
    of_gradients(&Join::on_new_axis(axis.to_i128(), &erased)?, upstream, tensors, &erased)
}

/// Returns a tensor assembled from rows of blocks.
///
/// The blocks of a row are concatenated along the last axis. The rows are then concatenated along the axis before the
/// last.
///
/// # Shapes
///
/// The blocks of a row have equal lengths on all axes except the last. The rows have equal lengths on all axes except
/// the axis before the last.
///
/// # Implicit values
///
/// All blocks have the same fill, which is the fill of the result. The result stores the positions that the blocks
/// store.
///
/// # NaN
///
/// Values are bitwise unchanged.
///
/// # Gradient
///
/// Call [`grad::concat`](crate::grad::concat) for the rows, then for the blocks of each row.
///
/// # Errors
///
/// - the errors of [`concat()`] for the last axis of each row, and for the axis before the last of the concatenated
///   rows;
/// - `AxisOutOfRange`: the rank of a block is below 2.
///
/// # Complexity
///
/// The complexity of [`concat()`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, block};
/// use lacuna::ndarray::arr2;
///
/// let one = CooTensor::from_dense(&arr2(&[[1]]), 0)?;
/// let zero = CooTensor::full([1, 1], 0)?;
/// let x = block(&[&[&one, &zero], &[&zero, &one]])?;
/// assert_eq!(x.to_dense()?, arr2(&[[1, 0], [0, 1]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.block`](https://numpy.org/doc/stable/reference/generated/numpy.block.html) of a list of lists.
#[doc(alias = "bmat")]
#[doc(alias = "block_array")]
pub fn block<P: Pattern, T: Element>(rows: &[&[&Tensor<P, T>]]) -> Result<Tensor<P, T>> {
    let rows = rows.iter().map(|row| concat(-1, row)).collect::<Result<Vec<_>>>()?;
    concat(-2, &rows)
}

/// Returns the tensors of a list, owned or borrowed, with untyped patterns.
fn erased<P: Pattern, T: Element>(tensors: &[impl Borrow<Tensor<P, T>>]) -> Few<SparseRef<'_, T>> {
    tensors.iter().map(|tensor| tensor.borrow().sparse()).collect()
}

/// Returns the result with the pattern type of its tensors.
fn of_tensors<P: Pattern, T: Element>(join: &Join, tensors: &[SparseRef<'_, T>]) -> Result<Tensor<P, T>> {
    check_axes::<P::Index>(&join.shape)?;
    Tensor::from_erased(join.tensor(tensors)?)
}

/// Returns the gradients, each on the pattern of its tensor.
fn of_gradients<P: Pattern, T: Element, U: Operand>(
    join: &Join,
    upstream: &U,
    tensors: &[impl Borrow<Tensor<P, T>>],
    erased: &[SparseRef<'_, T>],
) -> Result<Vec<Tensor<P, U::Elem>>> {
    check_upstream(upstream, &join.shape)?;
    check_axes::<P::Index>(&join.shape)?;
    let (patterns, limit) = patterns_of(erased);
    let of_each = tensors.iter().zip(join.gradients(upstream, &patterns, limit)?);
    let on_pattern = |(tensor, values): (&_, _)| {
        let tensor: &Tensor<P, T> = Borrow::borrow(tensor);
        Tensor::from_shared(tensor.pattern().clone(), values, U::Elem::ZERO)
    };
    Ok(of_each.map(on_pattern).collect())
}

/// Returns the patterns of tensors, and the byte limit for a result of them.
fn patterns_of<'a, T: Element>(tensors: &[SparseRef<'a, T>]) -> (Few<&'a AnyPattern>, u64) {
    let bytes = tensors.iter().fold(0usize, |bytes, tensor| bytes.saturating_add(tensor.stored_bytes()));
    (tensors.iter().map(SparseRef::pattern).collect(), default_limit(bytes))
}

/// The descriptor of a concatenation.
struct Join {
    axis: usize,
    /// The shape of the result.
    shape: Shape,
    /// The moves of each tensor before the concatenation; empty if there are none.
    before: Few<Moves>,
}

impl Join {
    fn of<T: Element>(axis: i128, tensors: &[SparseRef<'_, T>]) -> Result<Self> {
        let axis = normalize_axis(axis, first(tensors)?.rank())?;
        check_fills(tensors)?;
        let shape = joined_shape(axis, tensors.iter().map(|tensor| &**tensor.shape()))?;
        Ok(Join { axis, shape, before: Few::default() })
    }

    fn on_new_axis<T: Element>(axis: i128, tensors: &[SparseRef<'_, T>]) -> Result<Self> {
        let rank = first(tensors)?.rank() + 1;
        let axis = normalize_axis(axis, rank)?;
        check_fills(tensors)?;
        let with_axis = |tensor: &SparseRef<'_, T>| {
            let mut axes: Vec<_> = (0..tensor.rank()).map(Some).collect();
            axes.insert(axis.min(tensor.rank()), None);
            Moves::of(tensor.shape()).axes(axes)
        };
        let shape = stacked_shape(axis, tensors.iter().map(|tensor| &**tensor.shape()))?;
        Ok(Join { axis, shape, before: tensors.iter().map(with_axis).collect() })
    }

    fn plan(&self, patterns: &[&AnyPattern], room: StepLimits) -> Result<Selected> {
        if self.before.is_empty() {
            return joined(patterns, self.axis, &self.shape, room);
        }
        // The preceding moves keep the order of the entries, so only their patterns are needed.
        let moved = patterns.iter().zip(&self.before).map(|(x, moves)| Ok(moves.plan(x, room)?.pattern));
        let moved = moved.collect::<Result<Few<_>>>()?;
        joined(&moved.iter().collect::<Few<_>>(), self.axis, &self.shape, room)
    }

    fn tensor<T: Element>(&self, tensors: &[SparseRef<'_, T>]) -> Result<Erased<T>> {
        let (patterns, limit) = patterns_of(tensors);
        let Selected { pattern, sources } = self.plan(&patterns, StepLimits { value_bytes: size_of::<T>(), limit })?;
        let values: Few<_> = tensors.iter().map(|tensor| T::raw(tensor.values())).collect();
        Ok(Tensor::from_valid(pattern, T::from_raw(gather_raw(&values, &sources)?), first(tensors)?.fill()))
    }

    /// Returns the gradients of the entries of each tensor.
    fn gradients<U: Operand>(
        &self,
        upstream: &U,
        patterns: &[&AnyPattern],
        limit: u64,
    ) -> Result<Few<Buffer<U::Elem>>> {
        let Selected { pattern, sources } =
            self.plan(patterns, StepLimits { value_bytes: size_of::<U::Elem>(), limit })?;
        let gradients = sums(pattern.nnz(), &sources, upstream.erased().at_entries(&pattern)?)?;
        let gradients: Buffer<U::Elem> = gradients.map_err(|_| sum_overflow::<U::Elem>(Vec::new()))?.into();
        let mut start = 0;
        let of_each = |pattern: &&AnyPattern| {
            let range = start..start + pattern.nnz();
            start = range.end;
            gradients.slice(range)
        };
        Ok(patterns.iter().map(of_each).collect())
    }
}

/// Returns the shape of operands concatenated along `axis`, or an error if the list is empty.
pub(crate) fn joined_shape<'a>(axis: usize, shapes: impl IntoIterator<Item = &'a [usize]>) -> Result<Shape> {
    let mut shapes = shapes.into_iter().enumerate();
    let (_, first) = shapes.next().ok_or(Error::NoTensor)?;
    let mut shape = first.to_vec();
    for (tensor, found) in shapes {
        let mut axes = first.iter().zip(found).enumerate();
        if first.len() != found.len() || !axes.all(|(at, (own, found))| at == axis || own == found) {
            return Err(Error::NotJoinable { tensor, axis, first: first.into(), found: found.into() });
        }
        shape[axis] = shape[axis].checked_add(found[axis]).ok_or(Error::AxisOverflow { axis })?;
    }
    Ok(shape.into())
}

/// Returns the shape of operands of one shape, stacked along a new axis, which is at most their rank.
pub(crate) fn stacked_shape<'a>(axis: usize, shapes: impl IntoIterator<Item = &'a [usize]>) -> Result<Shape> {
    let mut shapes = shapes.into_iter();
    let first = shapes.next().ok_or(Error::NoTensor)?;
    let mut count = 1;
    for found in shapes {
        if found != first {
            let (expected, found) = (first.into(), found.into());
            return Err(Error::ShapeMismatch { what: "each tensor of a stack", expected, found });
        }
        count += 1;
    }
    let mut shape = first.to_vec();
    shape.insert(axis, count);
    Ok(shape.into())
}

/// Rejects an empty list, and tensors whose fills differ.
fn check_fills<T: Element>(tensors: &[SparseRef<'_, T>]) -> Result<()> {
    let fill = first(tensors)?.fill();
    let Some(tensor) = tensors.iter().position(|tensor| !tensor.fill().same(fill)) else { return Ok(()) };
    let [expected, found] = [fill, tensors[tensor].fill()].map(|fill| fill.to_number().to_string());
    Err(Error::FillsDiffer { tensor, expected, found })
}

fn first<'a, T: Element>(tensors: &[SparseRef<'a, T>]) -> Result<SparseRef<'a, T>> {
    tensors.first().copied().ok_or(Error::NoTensor)
}

/// Returns the values of several tensors, whose entries are numbered consecutively.
fn gather_raw(values: &[RawSlice<'_>], sources: &Sources) -> Allocated<RawVec> {
    by_raw!(values[0], first => gather_lists(&lists_like(first, values), sources).map(RawVec::from))
}

/// Returns the lists as slices of their common type.
fn lists_like<'a, V>(_: &'a [V], values: &[RawSlice<'a>]) -> Few<&'a [V]>
where
    &'a [V]: From<RawSlice<'a>>,
{
    values.iter().map(|&list| list.into()).collect()
}

fn gather_lists<V: Plain>(values: &[&[V]], sources: &Sources) -> Allocated<Vec<V>> {
    if let Sources::Runs(starts, ends) = sources {
        let bases = bases(values.iter().map(|values| values.len()));
        return map_runs(ends, |run| {
            let number = run % values.len();
            (&values[number][starts[run] - bases[number]..], |value| value)
        });
    }
    let gathered = concatenate(values)?;
    match sources {
        Sources::List(list) => gather(&gathered, list),
        _ => Ok(gathered),
    }
}
