//! Softmax and its logarithm within each group, and their gradients.

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::Float;
use crate::kernels::group::Groups;
use crate::kernels::softmax::{Softmax, in_groups};
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::plan::group::ReductionPlan;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
#[allow(unused_imports)] // for the pages
use crate::tensor::stored::Stored;

impl Softmax {
    fn name(self) -> &'static str {
        match self {
            Softmax::Shares => op::softmax.name,
            Softmax::Logarithms => op::log_softmax.name,
        }
    }
}

/// Returns the error for a whole sparse tensor: its unstored positions would have a different value in each group.
fn rejection<U>(form: Softmax) -> Result<U> {
    let operation = form.name();
    let why = format!("the result at unstored positions differs from group to group; x.stored().{operation}(…)");
    Err(Error::Argument { operation, why: format!("{why} computes it for stored entries only") })
}

/// Computes the softmax of the elements over `axes`, or its gradient.
fn shares<X: Operand<Elem: Float>, G: Float>(
    x: &X,
    form: Softmax,
    axes: &Axes,
    gradients: Option<Vec<G>>,
) -> Result<X::Reduced<G>> {
    if axes.labels().is_some() {
        let why = "it does not support group labels".into();
        return Err(Error::Argument { operation: form.name(), why });
    }
    x.by_kind(
        |x| match x.counts_unstored {
            true => rejection(form),
            false => sparse(x.sparse(), form, axes, gradients.as_deref()),
        },
        |x| dense(x.view(), form, axes, gradients.as_deref()),
    )
}

/// Computes the softmax, or its gradient, among the stored entries of a tensor.
fn sparse<T: Float, G: Float>(
    x: SparseRef<'_, T>,
    form: Softmax,
    axes: &Axes,
    gradients: Option<&[G]>,
) -> Result<Erased<G>> {
    let fill = match (form, &gradients) {
        (Softmax::Logarithms, None) => G::from_f64(f64::NEG_INFINITY),
        _ => G::ZERO,
    };
    let reduction = Reduction::new(x.shape(), axes)?;
    let ReductionPlan { groups, .. } = ReductionPlan::new(x.pattern(), &reduction)?;
    let order = order_of(&groups, x.nnz())?;
    let mut numbers = wide(x.values(), order.as_deref())?;
    let gradients = gradients.map(|gradients| wide(gradients, order.as_deref())).transpose()?;
    in_groups(form, &mut numbers, gradients.as_deref(), groups.starts())?;
    Ok(Tensor::from_valid(x.pattern().clone(), narrow(&numbers, order.as_deref())?, fill))
}

/// Returns the entries group by group, or `None` if they are stored in that order.
fn order_of(groups: &Groups, count: usize) -> Allocated<Option<Vec<usize>>> {
    if groups.offsets().is_some() {
        return Ok(None);
    }
    let mut order = alloc::with_capacity(count)?;
    order.extend((0..groups.len()).flat_map(|group| groups.entries(group)));
    Ok(Some(order))
}

/// Returns the values in `f64`, in the given order.
fn wide<T: Float>(values: &[T], order: Option<&[usize]>) -> Allocated<Vec<f64>> {
    match order {
        None => alloc::collect(values.iter().map(|&value| value.into())),
        Some(order) => alloc::collect(order.iter().map(|&entry| values[entry].into())),
    }
}

/// Reverses [`wide`].
fn narrow<T: Float>(numbers: &[f64], order: Option<&[usize]>) -> Allocated<Vec<T>> {
    let Some(order) = order else {
        return alloc::collect(numbers.iter().map(|&number| T::from_f64(number)));
    };
    let mut values = alloc::copies(T::ZERO, numbers.len())?;
    order.iter().zip(numbers).for_each(|(&entry, &number)| values[entry] = T::from_f64(number));
    Ok(values)
}

/// Computes the softmax, or its gradient, among the elements of an array.
fn dense<T: Float, G: Float>(
    x: ArrayViewD<'_, T>,
    form: Softmax,
    axes: &Axes,
    gradients: Option<&[G]>,
) -> Result<ArrayD<G>> {
    let shape = Shape::from(x.shape());
    let reduction = Reduction::new(&shape, axes)?;
    check_result::<f64>(&shape, dense_bytes(&x))?;
    // The axes of each group are last, so that its elements are contiguous.
    let order: Vec<usize> = reduction.kept().iter().chain(reduction.reduced()).copied().collect();
    let moved = x.view().permuted_axes(order.clone());
    let mut numbers = alloc::collect(moved.iter().map(|&value| value.into()))?;
    let gradients = match gradients {
        None => None,
        Some(gradients) => {
            let gradients = ArrayViewD::from_shape(IxDyn(&shape), gradients).expect("one gradient for each element");
            let gradients = gradients.permuted_axes(order.clone());
            Some(alloc::collect(gradients.iter().map(|&gradient| gradient.into()))?)
        }
    };
    let extent = reduction.extent().max(1) as usize;
    let starts = alloc::collect((0..numbers.len() / extent + 1).map(|group| group * extent))?;
    in_groups(form, &mut numbers, gradients.as_deref(), &starts)?;
    let results = dense_array(&Shape::from(moved.shape()), numbers);
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    let results = results.permuted_axes(back);
    Ok(dense_array(&shape, alloc::collect(results.iter().map(|&number| G::from_f64(number)))?))
}

/// Returns the softmax of each group over the given axes.
///
/// *y*<sub>k,r</sub> = exp(*x*<sub>k,r</sub> − max<sub>s</sub> *x*<sub>k,s</sub>) / Σ<sub>s</sub>
/// exp(*x*<sub>k,s</sub> − max<sub>s</sub> *x*<sub>k,s</sub>), for *k* over the other axes and *r*, *s* over the
/// given axes.
///
/// Each step is computed in `f64`. The sum is exact and rounded once. The result is also rounded once. The result is
/// therefore bitwise identical for any order, format and number of threads.
///
/// # Shapes
///
/// The result has the shape of *x*.
///
/// # Implicit values
///
/// For [`x.stored()`](Stored), the groups consist of stored entries. The result shares the pattern of *x*, and the fill
/// of the result is 0. An unstored position has the weight 0, as if its element were minus infinity. The function
/// rejects a sparse tensor that is not a stored view, because unstored positions of the result would have several
/// values.
///
/// # NaN
///
/// If a group has a NaN or plus infinity, all results of the group are NaN. If all elements of a group are minus
/// infinity, all results are also NaN.
///
/// # Gradient
///
/// [`grad::softmax`](crate::grad::softmax).
///
/// # Errors
///
/// - `AxisOutOfRange`: *x* does not have an axis;
/// - `AxisRepeated`: an axis appears twice;
/// - `Argument`: *x* is a sparse tensor that is not a stored view;
/// - `Argument`: the axes have group labels;
/// - `TooLarge`: the elements of a broadcast array *x* in `f64` exceed both 1 GiB and 16 times the bytes of the array
///   before broadcasting.
///
/// # Complexity
///
/// O(nnz · rank) if the other axes come before the given axes, otherwise O(nnz · (rank + log nnz)). For arrays,
/// O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Operations, softmax};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![5.0, 5.0, -7.0], 0.0)?;
/// let y = softmax(&x.stored(), 1)?;
/// assert_eq!(y.values(), [0.5, 0.5, 1.0]);
/// let absent = arr2(&[[5.0, f64::NEG_INFINITY, 5.0], [f64::NEG_INFINITY, -7.0, f64::NEG_INFINITY]]);
/// assert_eq!(y.to_dense()?, softmax(&absent, 1)?);
/// assert_eq!((x.stored().softmax(1)?, absent.softmax(1)?), (y, softmax(&absent, 1)?));
/// assert!(x.softmax(1).unwrap_err().to_string().contains("stored()")); // unstored positions are rejected
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition:
/// [`scipy.special.softmax`](https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html). For
/// stored entries, [`torch.sparse.softmax`](https://docs.pytorch.org/docs/stable/generated/torch.sparse.softmax.html).
#[doc(alias = "attention")]
pub fn softmax<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    shares(x, Softmax::Shares, &axes.into(), None)
}

/// Returns the logarithm of [`softmax`](softmax()), without loss of precision.
///
/// *y*<sub>k,r</sub> = (*x*<sub>k,r</sub> − max<sub>s</sub> *x*<sub>k,s</sub>) − ln Σ<sub>s</sub> exp(*x*<sub>k,s</sub>
/// − max<sub>s</sub> *x*<sub>k,s</sub>), with each step in `f64` and an exact sum. For [`x.stored()`](Stored), the fill
/// is minus infinity. Everything else follows [`softmax`](softmax()).
///
/// # Shapes
///
/// The result has the shape of *x*. The elements along the given axes form a group for each position on the other axes.
///
/// # Implicit values
///
/// For a stored view, an unstored position has minus infinity, the logarithm of the weight 0. The result shares the
/// pattern of *x*, as in [`softmax`](softmax()).
///
/// # NaN
///
/// As in [`softmax`](softmax()).
///
/// # Gradient
///
/// [`grad::log_softmax`](crate::grad::log_softmax).
///
/// # Errors
///
/// The errors of [`softmax`](softmax()).
///
/// # Complexity
///
/// The same as [`softmax`](softmax()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, log_softmax};
///
/// let x = CooTensor::new([4], vec![vec![1, 3]], vec![1000.0, 0.0], 0.0)?;
/// let y = log_softmax(&x.stored(), 0)?;
/// assert_eq!((y.values(), y.fill()), (&[0.0, -1000.0][..], f64::NEG_INFINITY));
/// let absent = ndarray::arr1(&[f64::NEG_INFINITY, 1000.0, f64::NEG_INFINITY, 0.0]);
/// assert_eq!(y.to_dense()?, log_softmax(&absent, 0)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log_softmax<X: Operand<Elem: Float>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    shares(x, Softmax::Logarithms, &axes.into(), None)
}

/// Returns the gradient of [`softmax`](softmax()).
///
/// *dx*<sub>k,r</sub> = *y*<sub>k,r</sub> · (*dy*<sub>k,r</sub> − Σ<sub>s</sub> *y*<sub>k,s</sub> ·
/// *dy*<sub>k,s</sub>), where *y* is the softmax in `f64`. The products are rounded, the sum over the products is
/// exact, and each step is in `f64`.
///
/// # Shapes
///
/// `upstream` and the gradient have exactly the shape of *x*.
///
/// # Implicit values
///
/// For [`x.stored()`](Stored), the gradient has the pattern of *x* (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a stored view.
///
/// # NaN
///
/// If a group has a NaN or plus infinity, or only minus infinity, all gradients of the group are NaN. If all upstream
/// gradients of such a group are 0, all gradients of the group are 0 instead.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// - the errors of [`softmax`](softmax());
/// - `ShapeMismatch`: `upstream` does not have the shape of *x*.
///
/// # Complexity
///
/// The same as [`softmax`](softmax()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![1, 3]], vec![7.0, 7.0], 0.0)?;
/// let dx = grad::softmax(&x.stored(), &arr1(&[9.0, 1.0, 9.0, 3.0]), 0)?;
/// assert_eq!(dx.values(), [-0.5, 0.5]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn softmax_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, Softmax::Shares, &axes.into())
}

/// Returns the gradient of [`log_softmax`].
///
/// *dx*<sub>k,r</sub> = *dy*<sub>k,r</sub> − *p*<sub>k,r</sub> · Σ<sub>s</sub> *dy*<sub>k,s</sub>, where *p* is the
/// softmax in `f64`, the sum is exact, and each step is in `f64`.
///
/// # Shapes
///
/// `upstream` and the gradient have exactly the shape of *x*.
///
/// # Implicit values
///
/// For [`x.stored()`](Stored), the gradient has the pattern of *x* (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a stored view.
///
/// # NaN
///
/// If a group has a NaN or plus infinity, or only minus infinity, all gradients of the group are NaN. If all upstream
/// gradients of such a group are 0, all gradients of the group are 0 instead.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient.
///
/// # Errors
///
/// The errors of [`grad::softmax`](crate::grad::softmax).
///
/// # Complexity
///
/// The same as [`softmax`](softmax()).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![1, 3]], vec![7.0, 7.0], 0.0)?;
/// let dx = grad::log_softmax(&x.stored(), &arr1(&[9.0, 1.0, 9.0, 3.0]), 0)?;
/// assert_eq!(dx.values(), [-1.0, 1.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn log_softmax_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    backward(x, upstream, Softmax::Logarithms, &axes.into())
}

fn backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    form: Softmax,
    axes: &Axes,
) -> Result<X::Reduced<U::Elem>> {
    check_upstream(upstream, &Shape::from(x.lengths()))?;
    let gradients = x.erased().elements_of(&upstream.erased())?;
    shares(x, form, axes, Some(gradients))
}
