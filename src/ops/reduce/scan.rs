//! Running sums and running products along an axis, and their gradients.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayD;

use super::check_upstream;
use super::ranked::{from_lanes, lanes};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::shape::{Shape, unravel};
use crate::base::threads;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::{Element, Float, Ring};
use crate::kernels::gather::Plain;
use crate::kernels::group::Groups;
use crate::kernels::op::{FailedGroup, GroupError, Outcomes};
use crate::kernels::scan;
use crate::ops::op;
use crate::ops::operand::{Operand, all_elements};
use crate::pattern::AnyPattern;
use crate::plan::group::ReductionPlan;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
#[allow(unused_imports)] // for the pages
use crate::tensor::stored::Stored;

/// The reason that a scan rejects a whole tensor.
const SEVERAL_RESULTS: &str = "the results between two entries differ from the fill; x.stored() skips unstored \
                               positions, and the dense form counts them";

/// The name and the axis of an operation that returns a result per element of a lane.
#[derive(Clone, Copy)]
pub(super) struct ScanAxis {
    name: &'static str,
    pub(super) axis: usize,
}

impl ScanAxis {
    fn new(name: &'static str, lengths: &[usize], axis: impl Position) -> Result<Self> {
        Ok(ScanAxis { name, axis: normalize_axis(axis.to_i128(), lengths.len())? })
    }

    /// Returns the error of a whole tensor.
    fn no_whole(self, why: &str) -> Error {
        Error::Argument { operation: self.name, why: why.into() }
    }

    /// Returns the entries of each lane.
    pub(super) fn groups(self, pattern: &AnyPattern) -> Result<Arc<Groups>> {
        let reduction = Reduction::new(pattern.shape(), &Axes::from(self.axis))?;
        Ok(ReductionPlan::new(pattern, &reduction)?.groups)
    }

    /// Returns the error of an element without a result.
    pub(super) fn rejection(self, failed: FailedGroup, coords: impl FnOnce(usize) -> Option<Vec<usize>>) -> Error {
        let ScanAxis { name: operation, .. } = self;
        match failed.fault {
            GroupError::Overflow(dtype) => Error::Overflow { operation, coords: coords(failed.group), dtype },
            GroupError::Memory(failure) => failure.into(),
            GroupError::DivisionByZero | GroupError::Uncountable | GroupError::Empty => {
                Error::Uncountable { operation }
            }
        }
    }

    /// Returns the results of the entries of a pattern.
    fn of_entries<I: Copy + Sync, U: Element>(
        self,
        pattern: &AnyPattern,
        items: &[I],
        lane: &(impl Fn(&[I], &mut [U]) -> Outcomes<()> + Sync),
    ) -> Result<Vec<U>> {
        let groups = self.groups(pattern)?;
        let found = in_lanes(items, &groups, &|_, items: &[I], found: &mut [U]| lane(items, found));
        let found = found.map_err(|failed| self.rejection(failed, |at| pattern.coords_of(at)))?;
        Ok(groups.in_stored_order(found)?)
    }

    /// Returns the results of the elements of an array, which are listed with the axis last.
    fn of_elements<I: Copy + Sync, U: Element>(
        self,
        shape: &Shape,
        items: &[I],
        lane: &(impl Fn(&[I], &mut [U]) -> Outcomes<()> + Sync),
    ) -> Result<ArrayD<U>> {
        let length = shape[self.axis];
        let count = items.len().checked_div(length).unwrap_or(0);
        let starts = alloc::collect((0..count + 1).map(|lane| lane * length))?;
        let coords = |at: usize| {
            let mut lengths = shape.to_vec();
            lengths.remove(self.axis);
            let mut coords = vec![0; lengths.len()];
            unravel(at / length, &lengths, &mut coords);
            coords.insert(self.axis, at % length);
            Some(coords)
        };
        let groups = Groups::of_offsets(starts.into())?;
        let found = in_lanes(items, &groups, &|_, items: &[I], found: &mut [U]| lane(items, found));
        let found = found.map_err(|failed| self.rejection(failed, coords))?;
        from_lanes(found, shape, self.axis)
    }
}

/// Applies `lane` to the number and the items of each group, and returns the results group by group. A failure has the
/// index of an item.
pub(super) fn in_lanes<I: Copy + Sync, U: Plain>(
    items: &[I],
    groups: &Groups,
    lane: &(impl Fn(usize, &[I], &mut [U]) -> Outcomes<()> + Sync),
) -> Outcomes<Vec<U>> {
    let of_part = |part: Range<usize>| {
        let starts = groups.starts();
        let mut found = alloc::zeros(starts[part.end] - starts[part.start])?;
        let (mut slots, mut scratch) = (&mut found[..], Vec::new());
        for group in part {
            let (own, others) = slots.split_at_mut(groups.size(group));
            let items = groups.values(group, items, &mut scratch)?;
            lane(group, items, own).map_err(|failed| failed.fault.of(groups.entry(group, failed.group)))?;
            slots = others;
        }
        Ok(found)
    };
    let picoseconds = 5_000 * (1 + items.len() / groups.len().max(1));
    let parts = threads::map_parts(groups.len(), picoseconds, 0, of_part);
    Ok(alloc::concat(parts.into_iter().collect::<Outcomes<Vec<_>>>()?)?)
}

/// Computes a scan of the stored entries of a view, or of an array.
fn forward<X: Operand, U: Element>(
    x: &X,
    name: &'static str,
    axis: impl Position,
    lane: impl Fn(&[X::Elem], &mut [U]) -> Outcomes<()> + Sync,
) -> Result<X::Reduced<U>> {
    forward_or(x, name, axis, lane, |scan, _| Err(scan.no_whole(SEVERAL_RESULTS)))
}

/// Computes a result per element of the stored entries of a view, or of an array. `whole` computes the result of a whole
/// tensor.
pub(super) fn forward_or<X: Operand, U: Element>(
    x: &X,
    name: &'static str,
    axis: impl Position,
    lane: impl Fn(&[X::Elem], &mut [U]) -> Outcomes<()> + Sync,
    whole: impl FnOnce(ScanAxis, SparseRef<'_, X::Elem>) -> Result<Erased<U>>,
) -> Result<X::Reduced<U>> {
    let scan = ScanAxis::new(name, x.lengths(), axis)?;
    x.by_kind(
        |x| {
            if x.counts_unstored {
                return whole(scan, x.sparse());
            }
            let x = x.sparse();
            let values = scan.of_entries(x.pattern(), x.values(), &lane)?;
            Ok(Tensor::from_valid(x.pattern().clone(), values, same_number(x.fill())))
        },
        |x| {
            let shape = Shape::from(x.shape());
            check_result::<U>(&shape, dense_bytes(x))?;
            scan.of_elements(&shape, &lanes(x, scan.axis)?, &lane)
        },
    )
}

/// Returns a fill in the type of the results, in which it fits.
fn same_number<T: Element, U: Element>(fill: T) -> U {
    let own: &dyn Any = &fill;
    own.downcast_ref().copied().or_else(|| U::from_number(fill.to_number())).unwrap_or(U::ZERO)
}

/// Computes the gradient of a scan, from the elements of each lane and their upstream gradients.
fn backward<X: Operand, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    name: &'static str,
    axis: impl Position,
    lane: impl Fn(&[(X::Elem, U::Elem)], &mut [U::Elem]) -> Outcomes<()> + Sync,
) -> Result<X::Reduced<U::Elem>> {
    backward_or(x, upstream, name, axis, lane, SEVERAL_RESULTS)
}

/// Computes the gradient of the stored entries of a view, or of an array. `no_whole` is the reason that a whole tensor
/// does not have a gradient.
pub(super) fn backward_or<X: Operand, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    name: &'static str,
    axis: impl Position,
    lane: impl Fn(&[(X::Elem, U::Elem)], &mut [U::Elem]) -> Outcomes<()> + Sync,
    no_whole: &str,
) -> Result<X::Reduced<U::Elem>> {
    let scan = ScanAxis::new(name, x.lengths(), axis)?;
    check_upstream(upstream, &Shape::from(x.lengths()))?;
    let upstream = &upstream.erased();
    x.by_kind(
        |x| {
            if x.counts_unstored {
                return Err(scan.no_whole(no_whole));
            }
            let x = x.sparse();
            let items = pairs(x.values(), &upstream.at_entries(x.pattern())?)?;
            let gradients = scan.of_entries(x.pattern(), &items, &lane)?;
            Ok(Tensor::from_valid(x.pattern().clone(), gradients, U::Elem::ZERO))
        },
        |x| {
            let shape = Shape::from(x.shape());
            check_result::<U::Elem>(&shape, dense_bytes(x))?;
            let gradients = dense_array(&shape, alloc::owned(all_elements(upstream)?)?);
            let items = pairs(&lanes(x, scan.axis)?, &lanes(&gradients.view(), scan.axis)?)?;
            scan.of_elements(&shape, &items, &lane)
        },
    )
}

/// Returns each element together with its upstream gradient.
fn pairs<T: Copy, G: Copy>(values: &[T], gradients: &[G]) -> Allocated<Vec<(T, G)>> {
    alloc::collect(values.iter().copied().zip(gradients.iter().copied()))
}

/// Ignores no element.
fn none<T: Element>(_: T) -> bool {
    false
}

/// Returns `instead` for NaN.
fn unless_nan<T: Element>(value: T, instead: T) -> T {
    if value.isnan() { instead } else { value }
}

/// Returns the sum of the elements up to each position of an axis.
///
/// *y*<sub>k</sub> = *x*<sub>0</sub> + … + *x*<sub>k</sub> for each position *k* on the axis.
///
/// Each sum is [exact](crate::sum()) and rounded once. The last sum of a lane is therefore [`sum`](crate::sum()) of the
/// lane, bitwise. The results are identical for any number of threads.
///
#[doc = page!(scan)]
///
/// # NaN
///
/// The sums from the first NaN on are NaN, and so are sums of infinities of both signs. [`nancumsum`] skips NaN.
///
/// # Gradient
///
/// [`grad::cumsum`](crate::grad::cumsum).
///
#[doc = page!(scan_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, cumsum};
/// use lacuna::ndarray::{arr1, arr2};
///
/// // 3 . 1
/// // . 5 .
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![3_i64, 1, 5], 0)?;
/// let y = cumsum(&x.stored(), 1)?;
/// assert_eq!(y.values(), [3, 4, 5]);
/// assert!(y.shares_pattern_with(&x));
/// assert_eq!(cumsum(&x.to_dense()?, 1)?, arr2(&[[3, 3, 4], [0, 5, 5]]).into_dyn());
/// assert!(x.cumsum(1).unwrap_err().to_string().contains("x.stored()"));
/// // each sum is exact
/// assert_eq!(cumsum(&arr1(&[1e16, 1.0, 1.0]), 0)?, arr1(&[1e16, 1e16, 1e16 + 2.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.cumsum`](https://numpy.org/doc/stable/reference/generated/numpy.cumsum.html) with an axis,
/// without rounding between the terms.
#[doc(alias = "cumulative_sum")]
#[doc(alias = "scan")]
#[doc(alias = "prefix_sum")]
pub fn cumsum<X: Operand<Elem: Ring>>(x: &X, axis: impl Position) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
    forward(x, op::cumsum.name, axis, |lane, found| scan::sums(lane.iter().copied(), found.iter_mut()))
}

/// Returns the sum of the elements up to each position of an axis, ignoring NaN.
///
/// The result is the same as the result of [`cumsum`] with 0 in place of each NaN.
///
#[doc = page!(scan)]
///
/// # NaN
///
/// A NaN counts as 0. At the position of a NaN, the result is the sum of the earlier elements that are not NaN, or 0
/// without such elements. The sum of infinities of both signs is NaN.
///
/// # Gradient
///
/// [`grad::nancumsum`](crate::grad::nancumsum).
///
#[doc = page!(scan_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::nancumsum;
/// use lacuna::ndarray::arr1;
///
/// let y = nancumsum(&arr1(&[f64::NAN, 2.0, f64::NAN, 3.0]), 0)?;
/// assert_eq!(y, arr1(&[0.0, 2.0, 2.0, 5.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nancumsum`](https://numpy.org/doc/stable/reference/generated/numpy.nancumsum.html) with an axis.
pub fn nancumsum<X: Operand<Elem: Float>>(x: &X, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    let value = |&value: &X::Elem| unless_nan(value, X::Elem::ZERO);
    forward(x, op::nancumsum.name, axis, |lane, found| scan::sums(lane.iter().map(value), found.iter_mut()))
}

/// Returns the product of the elements up to each position of an axis.
///
/// *y*<sub>k</sub> = *x*<sub>0</sub> · … · *x*<sub>k</sub> for each position *k* on the axis, multiplied from left to
/// right.
///
/// Each multiplication of floats rounds to 53 bits, with an exponent of any size. Each result is then rounded to the
/// element type. A product out of range therefore does not change later products: `1e200, 1e200, 1e-300` yields
/// `1e200, inf, 1e100`. The results are identical for any number of threads. [`prod`](crate::prod()) multiplies in
/// another order, so the last bits of its result can differ.
///
#[doc = page!(scan)]
///
/// # NaN
///
/// The products from the first NaN on are NaN, as are products of 0 and infinity. [`nancumprod`] skips NaN.
///
/// # Gradient
///
/// [`grad::cumprod`](crate::grad::cumprod).
///
#[doc = page!(scan_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, cumprod};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([5], vec![vec![0, 2, 3]], vec![2i8, -5, 100], 0)?;
/// let y = cumprod(&x.stored(), 0)?;
/// assert_eq!(y.values(), [2i64, -10, -1000]);
/// assert_eq!(cumprod(&x.to_dense()?, 0)?, arr1(&[2, 0, 0, 0, 0]).into_dyn());
/// assert_eq!(cumprod(&arr1(&[1e200, 1e200, 1e-300]), 0)?[[2]], 1e100);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.cumprod`](https://numpy.org/doc/stable/reference/generated/numpy.cumprod.html) with an axis.
#[doc(alias = "cumulative_prod")]
pub fn cumprod<X: Operand<Elem: Ring>>(x: &X, axis: impl Position) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
    forward(x, op::cumprod.name, axis, |lane, found| scan::products(lane.iter().copied(), found.iter_mut()))
}

/// Returns the product of the elements up to each position of an axis, ignoring NaN.
///
/// The result is the same as the result of [`cumprod`] with 1 in place of each NaN.
///
#[doc = page!(scan)]
///
/// # NaN
///
/// A NaN counts as 1. At the position of a NaN, the result is the product of the earlier elements that are not NaN, or
/// 1 without such elements. A product of 0 and infinity is NaN.
///
/// # Gradient
///
/// [`grad::nancumprod`](crate::grad::nancumprod).
///
#[doc = page!(scan_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::nancumprod;
/// use lacuna::ndarray::arr1;
///
/// let y = nancumprod(&arr1(&[f64::NAN, 2.0, f64::NAN, 3.0]), 0)?;
/// assert_eq!(y, arr1(&[1.0, 2.0, 2.0, 6.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nancumprod`](https://numpy.org/doc/stable/reference/generated/numpy.nancumprod.html) with an
/// axis.
pub fn nancumprod<X: Operand<Elem: Float>>(x: &X, axis: impl Position) -> Result<X::Reduced<X::Elem>> {
    let value = |&value: &X::Elem| unless_nan(value, X::Elem::ONE);
    forward(x, op::nancumprod.name, axis, |lane, found| scan::products(lane.iter().map(value), found.iter_mut()))
}

/// Returns the gradient of [`cumsum`]: the sums of the upstream gradient from the end.
///
/// *dx*<sub>k</sub> = *dy*<sub>k</sub> + … + *dy*<sub>n - 1</sub> for each position *k* on an axis of length *n*. Each
/// sum is exact and rounded once.
///
#[doc = page!(scan_gradient)]
///
/// # NaN
///
/// If `upstream` is NaN at a position, the gradients at this position and at all earlier positions of the lane are NaN.
#[doc = page!(second_gradient)]
///
#[doc = page!(scan_gradient_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use lacuna::ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![1, 3]], vec![7.0, 7.0], 0.0)?;
/// let dx = grad::cumsum(&x.stored(), &arr1(&[9.0, 1.0, 9.0, 3.0]), 0)?;
/// assert_eq!(dx.values(), [4.0, 3.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.cumsum`](https://docs.pytorch.org/docs/stable/generated/torch.cumsum.html).
pub fn cumsum_backward<X: Operand, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, op::cumsum.name, axis, |lane, found| scan::sum_gradients(lane, found, none))
}

/// Returns the gradient of [`nancumsum`]: the gradient of [`cumsum`], but 0 for NaN.
///
#[doc = page!(scan_gradient)]
///
/// # NaN
///
/// The gradient of a NaN is 0.
///
/// # Gradient
///
/// This gradient does not have a gradient.
///
#[doc = page!(scan_gradient_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::grad;
/// use lacuna::ndarray::arr1;
///
/// let dx = grad::nancumsum(&arr1(&[1.0, f64::NAN, 2.0]), &arr1(&[1.0, 10.0, 100.0]), 0)?;
/// assert_eq!(dx, arr1(&[111.0, 0.0, 100.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nancumsum_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, op::nancumsum.name, axis, |lane, found| scan::sum_gradients(lane, found, X::Elem::isnan))
}

/// Returns the gradient of [`cumprod`].
///
/// *dx*<sub>k</sub> = *p*<sub>k</sub> · *s*<sub>k</sub> for each position *k* on the axis. *p*<sub>k</sub> is the
/// product of the elements before *x*<sub>k</sub>. *s*<sub>k</sub> is *dy*<sub>k</sub> + *x*<sub>k + 1</sub> ·
/// *s*<sub>k + 1</sub>, or *dy*<sub>k</sub> at the last position.
///
/// The computation does not divide, so the gradient is also correct if elements are 0. Each operation is rounded to
/// `f64`, and the result once to the type of `upstream`. The exponent of *p*<sub>k</sub> can have any size.
///
#[doc = page!(scan_gradient)]
///
/// # NaN
///
/// A NaN element makes the gradients of all other elements of its lane NaN. The exceptions are elements after the last
/// nonzero upstream gradient of the lane: their gradient is 0, and they do not change other gradients.
///
/// # Gradient
///
/// This gradient does not have a gradient.
///
#[doc = page!(scan_gradient_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::grad;
/// use lacuna::ndarray::arr1;
///
/// let dx = grad::cumprod(&arr1(&[2.0, 0.0, 3.0]), &arr1(&[1.0, 10.0, 100.0]), 0)?;
/// assert_eq!(dx, arr1(&[1.0, 2.0 * (10.0 + 3.0 * 100.0), 0.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the rule of calculus; [`torch.cumprod`](https://docs.pytorch.org/docs/stable/generated/torch.cumprod.html).
pub fn cumprod_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, op::cumprod.name, axis, |lane, found| scan::product_gradients(lane, found, none))
}

/// Returns the gradient of [`nancumprod`].
///
/// The gradient equals the gradient of [`cumprod`] with 1 in place of each NaN. Each NaN receives 0.
///
#[doc = page!(scan_gradient)]
///
/// # NaN
///
/// The gradient of a NaN is 0.
///
/// # Gradient
///
/// This gradient does not have a gradient.
///
#[doc = page!(scan_gradient_errors)]
///
/// # Examples
///
/// ```
/// use lacuna::grad;
/// use lacuna::ndarray::arr1;
///
/// let dx = grad::nancumprod(&arr1(&[2.0, f64::NAN, 3.0]), &arr1(&[0.0, 1.0, 10.0]), 0)?;
/// assert_eq!(dx, arr1(&[31.0, 0.0, 20.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn nancumprod_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, op::nancumprod.name, axis, |lane, found| scan::product_gradients(lane, found, X::Elem::isnan))
}
