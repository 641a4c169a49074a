//! Products of every element of one operand with every element of another.

use ndarray::{ArrayD, ArrayViewD};

use super::listed::Listed;
use super::matrix::{in_order, rejection};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, ravel, step, unravel};
use crate::base::threads;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::{Element, Float, Ring};
use crate::kernels::pairs::{of_left, of_right, products};
use crate::kernels::sort;
use crate::kernels::zip::all_finite;
use crate::ops::op;
use crate::ops::operand::{ErasedOperand, ErasedResult, Operand, SparseOperand, all_elements};
use crate::ops::reduce::check_upstream;
use crate::pattern::{AnyPattern, AxisCoords, Format, by_slices, by_width};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseCow, SparseRef};

/// The arrangement of the products in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// The axes of the right operand follow the axes of the left operand.
    Outer,
    /// The operands share their axes: the right operand is repeated once per element of the left operand.
    Kron,
}

impl Pairs {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pairs::Outer => op::outer.name,
            Pairs::Kron => op::kron.name,
        }
    }

    /// Returns the shape of the result, and the lengths of both operands, which share a rank for a Kronecker product.
    pub(crate) fn shapes(self, left: &[usize], right: &[usize]) -> Result<(Shape, [Vec<usize>; 2])> {
        if self == Pairs::Outer {
            return Ok((left.iter().chain(right).copied().collect(), [left.to_vec(), right.to_vec()]));
        }
        let rank = left.len().max(right.len());
        let padded = |lengths: &[usize]| [vec![1; rank - lengths.len()], lengths.to_vec()].concat();
        let both = [padded(left), padded(right)];
        let product = |(axis, (a, b)): (usize, (&usize, &usize))| a.checked_mul(*b).ok_or(Error::AxisOverflow { axis });
        let shape: Vec<usize> = both[0].iter().zip(&both[1]).enumerate().map(product).collect::<Result<_>>()?;
        Ok((shape.into(), both))
    }
}

/// A tensor, and the value of its unstored positions if they count.
type WithImplicit<'a, T> = (SparseRef<'a, T>, Option<T>);

/// The pattern of the result of two tensors, and the pair of each entry.
struct Placed {
    pattern: AnyPattern,
    /// The pair of each entry; `None` if the pairs are in order.
    numbers: Option<Vec<usize>>,
}

/// Returns the coordinates on one axis, each repeated `each` times, and their sequence repeated `all` times.
fn repeated(coords: &AxisCoords, each: usize, all: usize) -> Allocated<AxisCoords> {
    by_width!(coords, own => {
        let count = own.len();
        let repeated = threads::filled(count * each * all, 500, |range, slots: &mut [_]| {
            slots.iter_mut().zip(range).for_each(|(slot, at)| *slot = own[at / each % count]);
        })?;
        Ok(repeated.into())
    })
}

fn place(x: &AnyPattern, y: &AnyPattern, form: Pairs, value_bytes: usize, limit: u64) -> Result<Placed> {
    let (shape, [_, right]) = form.shapes(x.shape(), y.shape())?;
    let width = x.width_for(&shape).max(y.width());
    let count = x.nnz() as u128 * y.nnz() as u128;
    let bytes = shape.rank() * width.bytes() + value_bytes;
    guard::<u8>("the product", count.saturating_mul(bytes as u128), limit, "multiply in chunks")?;
    let count = count as usize;
    let of_left = |axis| repeated(&x.axis(axis)?.in_width(width)?, y.nnz(), 1);
    let of_right = |axis| repeated(&y.axis(axis)?.in_width(width)?, 1, x.nnz());
    let (rank, x_rank, y_rank) = (shape.rank(), x.shape().rank(), y.shape().rank());
    let mut coords: Vec<AxisCoords> = if form == Pairs::Outer {
        (0..x_rank).map(of_left).chain((0..y_rank).map(of_right)).collect::<Allocated<_>>()?
    } else {
        let on_axis = |axis: usize| {
            let left = (axis + x_rank).checked_sub(rank).map(of_left).transpose()?;
            let left = left.map_or_else(|| AxisCoords::zeros(count, width), Ok)?;
            match (axis + y_rank).checked_sub(rank) {
                Some(own) => left.times_plus(right[axis], &of_right(own)?),
                None => Ok(left),
            }
        };
        (0..rank).map(on_axis).collect::<Allocated<_>>()?
    };
    let numbers = by_slices!(&coords, own => sort::row_major_order(&own, count))?;
    if let Some(numbers) = &numbers {
        coords = coords.iter().map(|axis| axis.gather(numbers)).collect::<Allocated<_>>()?;
    }
    Ok(Placed { pattern: x.of_coords(shape, count, coords, limit)?, numbers })
}

/// Rejects a value that is not finite, if the other operand has unstored zeros.
fn check_zeros<T: Element>(x: &Listed<'_, T>, is_left: bool, other: bool, form: Pairs) -> Result<()> {
    if !other || all_finite(&x.values) {
        return Ok(());
    }
    let Some(entry) = x.values.iter().position(|value| !value.isfinite()) else { return Ok(()) };
    let mut coords = vec![0; x.shape.rank()];
    for (axis, coord) in coords.iter_mut().enumerate() {
        x.place(&[axis], &[x.shape[axis]], entry, std::slice::from_mut(coord));
    }
    let (value, zero) = (x.values[entry].to_number().to_string(), "unstored 0".to_string());
    let (left, right) = if is_left { (value, zero) } else { (zero, value) };
    Err(Error::NonFinite { operation: form.name(), left, right, coords })
}

/// Computes the products of two sparse operands.
fn sparse<T: Ring>((x, of_x): WithImplicit<'_, T>, (y, of_y): WithImplicit<'_, T>, form: Pairs) -> Result<Erased<T>> {
    let (left, right) = (Listed::of_tensor(x, of_x), Listed::of_tensor(y, of_y));
    let (of_left, of_right) = (left.has_zeros(form.name())?, right.has_zeros(form.name())?);
    check_zeros(&left, true, of_right, form)?;
    check_zeros(&right, false, of_left, form)?;
    let limit = default_limit(x.stored_bytes().saturating_add(y.stored_bytes()));
    let Placed { pattern, numbers } = place(x.pattern(), y.pattern(), form, size_of::<T>(), limit)?;
    let values = products(x.values(), y.values(), numbers.as_deref())
        .map_err(|error| rejection::<T>(form.name(), error, |entry| pattern.coords_of(entry)))?;
    Ok(Tensor::from_valid(pattern, values, T::ZERO))
}

/// Returns the flat index of each entry, wrapped around; its low bits are enough.
fn positions<T: Element>(x: &Listed<'_, T>) -> Allocated<Vec<usize>> {
    let mut positions: Vec<usize> = alloc::zeros(x.values.len())?;
    let mut coords = alloc::zeros(x.values.len())?;
    for axis in 0..x.shape.rank() {
        x.place(&[axis], &[x.shape[axis]], 0, &mut coords);
        for (position, &coord) in positions.iter_mut().zip(&coords) {
            *position = position.wrapping_mul(x.shape[axis]).wrapping_add(coord);
        }
    }
    Ok(positions)
}

/// Returns the gradients of both operands, from the gradients of the pairs in the order of the result.
fn both<T: Float>(
    left: &Listed<'_, T>,
    right: &Listed<'_, T>,
    mut gradients: Vec<T>,
    numbers: Option<&[usize]>,
) -> Allocated<(Vec<T>, Vec<T>)> {
    if let Some(numbers) = numbers {
        let mut in_order = alloc::zeros(gradients.len())?;
        numbers.iter().zip(&gradients).for_each(|(&number, &gradient)| in_order[number] = gradient);
        gradients = in_order;
    }
    let dx = match right.values.is_empty() {
        true => alloc::zeros(left.values.len())?,
        false => of_left(&gradients, &right.values, &positions(right)?)?,
    };
    Ok((dx, of_right(&gradients, &left.values, right.values.len())?))
}

/// Computes the gradients of [`sparse`].
fn sparse_backward<T: Float>(
    (x, of_x): WithImplicit<'_, T>,
    (y, of_y): WithImplicit<'_, T>,
    form: Pairs,
    upstream: &ErasedOperand<'_, T>,
) -> Result<(Erased<T>, Erased<T>)> {
    let limit = default_limit(x.stored_bytes().saturating_add(y.stored_bytes()));
    check_upstream(upstream, &form.shapes(x.shape(), y.shape())?.0)?;
    let Placed { pattern, numbers } = place(x.pattern(), y.pattern(), form, size_of::<T>(), limit)?;
    let gradients = upstream.at_entries(&pattern)?;
    let (left, right) = (Listed::of_tensor(x, of_x), Listed::of_tensor(y, of_y));
    let (dx, dy) = both(&left, &right, gradients, numbers.as_deref())?;
    let of = |x: SparseRef<'_, T>, values| Tensor::from_valid(x.pattern().clone(), values, T::ZERO);
    Ok((of(x, dx), of(y, dy)))
}

/// Returns the pair of each element of a result of arrays; `None` if the pairs are in order.
fn numbers_of_arrays(shape: &Shape, [left, right]: &[Vec<usize>; 2], form: Pairs) -> Allocated<Option<Vec<usize>>> {
    if form == Pairs::Outer || shape.is_empty_space() {
        return Ok(None);
    }
    let count: usize = right.iter().product();
    let mut at = vec![0; shape.rank()];
    let mut numbers = alloc::with_capacity(shape.iter().product())?;
    for _ in 0..numbers.capacity() {
        let part = |of: fn(usize, usize) -> usize| at.iter().zip(right).map(|(&at, &length)| of(at, length)).collect();
        let (a, b): (Vec<usize>, Vec<usize>) = (part(|at, length| at / length), part(|at, length| at % length));
        numbers.push(ravel(&a, left) * count + ravel(&b, right));
        step(&mut at, shape);
    }
    Ok(Some(numbers))
}

/// Computes the products of two arrays.
fn dense<T: Ring>(x: ArrayViewD<'_, T>, y: ArrayViewD<'_, T>, form: Pairs) -> Result<ArrayD<T>> {
    let (shape, both) = form.shapes(x.shape(), y.shape())?;
    check_result::<T>(&shape, dense_bytes(&x).saturating_add(dense_bytes(&y)))?;
    let numbers = numbers_of_arrays(&shape, &both, form)?;
    let items = products(&in_order(&x)?, &in_order(&y)?, numbers.as_deref()).map_err(|error| {
        rejection::<T>(form.name(), error, |at| {
            let mut coords = vec![0; shape.rank()];
            unravel(at, &shape, &mut coords);
            Some(coords)
        })
    })?;
    Ok(dense_array(&shape, items))
}

/// Computes the gradients of [`dense`].
fn dense_backward<T: Float>(
    x: ArrayViewD<'_, T>,
    y: ArrayViewD<'_, T>,
    form: Pairs,
    upstream: &ErasedOperand<'_, T>,
) -> Result<(ArrayD<T>, ArrayD<T>)> {
    let (shape, lengths) = form.shapes(x.shape(), y.shape())?;
    check_upstream(upstream, &shape)?;
    check_result::<T>(&shape, dense_bytes(&x).saturating_add(dense_bytes(&y)))?;
    let cells = all_elements(upstream)?;
    let numbers = numbers_of_arrays(&shape, &lengths, form)?;
    let gradients = alloc::collect(cells.iter().copied())?;
    let (left, right) = (Listed::of_array(&x)?, Listed::of_array(&y)?);
    let (dx, dy) = both(&left, &right, gradients, numbers.as_deref())?;
    Ok((dense_array(&x.shape().into(), dx), dense_array(&y.shape().into(), dy)))
}

/// Computes the products of all pairs of elements of two operands of one kind.
pub(crate) fn pairs<X: Operand<Elem: Ring>>(x: &X, y: &X, form: Pairs) -> Result<X::Reduced<X::Elem>> {
    X::restore(match (&x.erased(), &y.erased()) {
        (ErasedOperand::Array(x), ErasedOperand::Array(y)) => dense(x.array.view(), y.array.view(), form)?.into(),
        (x, y) => {
            let (left, right) = (broadcast_stored(x, y)?, broadcast_stored(y, x)?);
            sparse((left.sparse(), left.implicit()), (right.sparse(), right.implicit()), form)?.into()
        }
    })
}

/// Computes the gradients of both operands of [`pairs`].
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
fn pairs_backward<X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    x: &X,
    y: &X,
    form: Pairs,
    upstream: &U,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)> {
    let upstream = &upstream.erased();
    let (dx, dy) = match (&x.erased(), &y.erased()) {
        (ErasedOperand::Array(x), ErasedOperand::Array(y)) => {
            let (dx, dy) = dense_backward(x.array.view(), y.array.view(), form, upstream)?;
            (dx.into(), dy.into())
        }
        (x, y) => {
            let (left, right) = (broadcast_stored(x, y)?, broadcast_stored(y, x)?);
            let (left, right) = ((left.sparse(), left.implicit()), (right.sparse(), right.implicit()));
            let (dx, dy) = sparse_backward(left, right, form, upstream)?;
            (in_kind_of(x, dx)?, in_kind_of(y, dy)?)
        }
    };
    Ok((X::restore(dx)?, X::restore(dy)?))
}

/// Returns an operand of a product whose result stores every element of an array with each entry of `other`.
fn broadcast_stored<'a, T: Element>(
    x: &'a ErasedOperand<'_, T>,
    other: &ErasedOperand<'_, T>,
) -> Result<SparseOperand<'a, T>> {
    match x {
        ErasedOperand::Sparse(x) => Ok(SparseOperand::new(x.sparse(), x.counts_unstored)),
        ErasedOperand::Array(x) => {
            Ok(SparseOperand::of(SparseCow::Owned(x.all_stored(Format::Coo, T::ZERO)?), other.counts_unstored()))
        }
    }
}

/// Returns a gradient on the pattern of an operand as an array if the operand is an array.
fn in_kind_of<T: Element>(x: &ErasedOperand<'_, T>, gradient: Erased<T>) -> Result<ErasedResult<T>> {
    match x {
        ErasedOperand::Sparse(_) => Ok(gradient.into()),
        ErasedOperand::Array(_) => Ok(gradient.to_dense()?.into()),
    }
}

/// Returns the products of all pairs of elements of two operands.
///
/// *z*<sub>i…j…</sub> = *x*<sub>i…</sub> · *y*<sub>j…</sub>, added to +0.0, so a zero is always `+0.0`.
///
/// # Shapes
///
/// The result has the axes of *x*, then the axes of *y*. Both operands have the same type: tensors of the same format
/// and index type, or arrays.
///
/// # Implicit values
///
/// Unstored positions must hold zero. The result stores a product if both operands store its factors. For stored views,
/// only stored entries count.
///
/// # NaN
///
/// NaN times any element is NaN. If an entry is not finite and the other operand has unstored zeros, the function
/// returns an error.
///
/// # Gradient
///
/// [`grad::outer`](crate::grad::outer).
///
/// # Errors
///
/// - `Argument`: an operand has unstored positions, and its fill is not zero;
/// - `NonFinite`: an entry is not finite, and the other operand has unstored zeros;
/// - `Overflow`: an integer product does not fit the element type;
/// - `TooLarge`: the result needs more than the larger of 1 GiB and 16 times the bytes of the operands.
///
/// # Complexity
///
/// O(entries of *x* · entries of *y*).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, outer};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![2, 3], 0)?;
/// let y = CooTensor::new([2], vec![vec![1]], vec![10], 0)?;
/// let z = outer(&x, &y)?;
/// assert_eq!(z.to_dense()?, arr2(&[[0, 20], [0, 0], [0, 30]]).into_dyn());
/// assert_eq!(z.to_dense()?, outer(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.multiply.outer`](https://numpy.org/doc/stable/reference/generated/numpy.ufunc.outer.html).
#[doc(alias = "tensor_product")]
pub fn outer<X: Operand<Elem: Ring>>(x: &X, y: &X) -> Result<X::Reduced<X::Elem>> {
    pairs(x, y, Pairs::Outer)
}

/// Returns the Kronecker product: one scaled copy of *y* per element of *x*.
///
/// For matrices, *z*<sub>i·n + k, j·m + l</sub> = *x*<sub>ij</sub> · *y*<sub>kl</sub>, where *y* has *n* rows and *m*
/// columns. Operands of any rank follow the same rule on each axis. Everything else follows [`outer`].
///
/// # Shapes
///
/// The length of each axis is the product of the lengths in both operands. An operand of smaller rank gets axes of
/// length 1 before its first axis.
///
/// # Implicit values
///
/// As in [`outer`], unstored positions must hold zero, and the result stores a product if both operands store its
/// factors.
///
/// # NaN
///
/// As in [`outer`].
///
/// # Gradient
///
/// [`grad::kron`](crate::grad::kron).
///
/// # Errors
///
/// - the errors of [`outer`];
/// - `AxisOverflow`: the length of a result axis does not fit in `usize`;
/// - `AxisTooLong`: an axis of the result is too long for the index type.
///
/// # Complexity
///
/// O(entries of *x* · entries of *y*), and a sort if the products are not in order.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, CooPattern, kron};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![1, 2], 0)?;
/// let y = CooTensor::new([1, 2], vec![vec![0, 0], vec![0, 1]], vec![3, 4], 0)?;
/// assert_eq!(kron(&x, &y)?.to_dense()?, arr2(&[[3, 4, 0, 0], [0, 0, 6, 8]]).into_dyn());
/// assert_eq!(kron(&x, &y)?.to_dense()?, kron(&x.to_dense()?, &y.to_dense()?)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.kron`](https://numpy.org/doc/stable/reference/generated/numpy.kron.html).
#[doc(alias = "kronecker")]
pub fn kron<X: Operand<Elem: Ring>>(x: &X, y: &X) -> Result<X::Reduced<X::Elem>> {
    pairs(x, y, Pairs::Kron)
}

/// Returns the gradients of both operands of [`outer`].
///
/// *dx*<sub>i</sub> = Σ<sub>j</sub> *dz*<sub>ij</sub> · *y*<sub>j</sub> is added in eight partial sums by the position
/// of *j*, as in [`sddmm`](crate::CooPattern::sddmm). *dy*<sub>j</sub> = Σ<sub>i</sub> *x*<sub>i</sub> ·
/// *dz*<sub>ij</sub> is added in the order of *i*. For sparse operands, the sums contain only stored entries.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times a nonzero element of `upstream` is NaN. An element of `upstream` that is zero is skipped, even if the
/// other factor is not finite.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - `ShapeMismatch`: `upstream` does not have the shape of the result;
/// - `TooLarge`: the result of [`outer`] needs more than the larger of 1 GiB and 16 times the bytes of *x* and *y*.
///
/// Fills are not checked. Unstored positions of the operands count as zeros.
///
/// # Complexity
///
/// O(entries of *x* · entries of *y*), and a search per product in a sparse `upstream`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::Array2;
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([2], vec![vec![1]], vec![10.0], 0.0)?;
/// let (dx, dy) = grad::outer(&x, &y, &Array2::ones((3, 2)))?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 10.0][..], &[5.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn outer_backward<X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    x: &X,
    y: &X,
    upstream: &U,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)> {
    pairs_backward(x, y, Pairs::Outer, upstream)
}

/// Returns the gradients of both operands of [`kron`].
///
/// The gradients are sums over the pairs of elements, as in [`grad::outer`](crate::grad::outer).
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times a nonzero element of `upstream` is NaN. An element of `upstream` that is zero is skipped, even if the
/// other factor is not finite.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`grad::outer`](crate::grad::outer);
/// - `AxisOverflow`: the length of an axis of the result of [`kron`] does not fit in `usize`.
///
/// # Complexity
///
/// O(entries of *x* · entries of *y*), and a search per product in a sparse `upstream`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2], vec![vec![1]], vec![2.0], 0.0)?;
/// let (dx, dy) = grad::kron(&x, &x, &arr1(&[1.0, 2.0, 3.0, 4.0]))?;
/// assert_eq!((dx.values(), dy.values()), (&[8.0][..], &[8.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn kron_backward<X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    x: &X,
    y: &X,
    upstream: &U,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)> {
    pairs_backward(x, y, Pairs::Kron, upstream)
}
