//! Products over axes, and their gradients.

use super::{group_gradient, holistic};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Element, Float, Inexact, ProductFactor, Real, Ring};
use crate::kernels::group::Unstored;
use crate::kernels::holistic::{Group, GroupGradient, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::prod::{Between, ProductTree, others};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of products.
#[derive(Clone, Copy)]
struct Prod {
    skips_nan: bool,
}

impl Op for Prod {
    fn name(&self) -> &'static str {
        if self.skips_nan { op::nanprod.name } else { op::prod.name }
    }
}

/// Returns a function that maps each element to its `factor`, and a skipped NaN to 1.
fn counted<T: Element, F: ProductFactor>(skips_nan: bool, factor: impl Fn(T) -> F + Copy) -> impl Fn(T) -> F + Copy {
    move |value| if skips_nan && value.isnan() { F::ONE } else { factor(value) }
}

/// Returns the unstored positions of a group as factors, or a fault if the group has too many positions.
fn unstored_factors<T: Element, F>(group: &Group<'_, T>, factor: impl Fn(T) -> F) -> Outcome<Between<F>> {
    let Unstored { fill, extent } = group.unstored;
    if extent == u128::MAX {
        return Err(GroupError::Uncountable);
    }
    Ok(Between { fill: fill.map(factor), count: group.unstored.count(group.stored.len()), extent })
}

impl<T: Ring> Holistic<T> for Prod {
    type Out = T::Sum;
    type Scratch = ProductTree<T::Factor>;

    fn needs_positions(&self) -> bool {
        true
    }

    fn numbers_positions(&self) -> bool {
        false
    }

    fn scratch(&self) -> Self::Scratch {
        ProductTree::new()
    }

    fn of(&self, group: &Group<'_, T>, scratch: &mut Self::Scratch) -> Outcome<T::Sum> {
        let factor = counted(self.skips_nan, T::factor);
        let entry = |within: usize| factor(group.stored[within]);
        let found =
            T::product_of(scratch.of(group.stored.len(), group.position, entry, unstored_factors(group, factor)?));
        let found = found.ok_or(GroupError::Overflow(T::Sum::DTYPE.name()))?;
        // The product of unstored positions only is a fill, whose zero does not have a sign.
        Ok(if group.stored.is_empty() { found.as_implicit() } else { found })
    }
}

/// The descriptor of the gradients.
#[derive(Clone, Copy)]
struct ProdGradient {
    skips_nan: bool,
}

impl Op for ProdGradient {
    fn name(&self) -> &'static str {
        if self.skips_nan { op::nanprod_backward.name } else { op::prod_backward.name }
    }
}

impl<T: Real, G: Float> GroupGradient<T, G> for ProdGradient {
    fn write_gradients(&self, group: &Group<'_, T>, gradient: G, received: &mut [G]) -> Outcome<()> {
        let factor = counted(self.skips_nan, |value: T| value.to_f64().factor());
        let at = |within: usize| ((group.position)(within), factor(group.stored[within]));
        let write_gradients = |within: usize, others: G::Factor| {
            let share = G::product_of(others.times(gradient.factor())).unwrap_or(G::NAN);
            received[within] = if self.skips_nan && group.stored[within].isnan() { G::ZERO } else { share };
        };
        Ok(others(group.stored.len(), at, unstored_factors(group, factor)?, write_gradients)?)
    }
}

/// Returns the product over the given axes.
///
/// *y*<sub>k</sub> = Π<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over the reduced axes.
///
/// For floats and complex numbers, the result has the type of the elements. Integers are multiplied exactly. The
/// product of signed integers is an `i64`, and the product of unsigned integers or `bool` is a `u64`. If an integer
/// factor is zero, the product is zero, even if the product of all other factors does not fit in 64 bits. The real and
/// the imaginary part of a complex product are sums of products, and each of these operations is rounded to 53 bits.
///
#[doc = page!(prod_numbers)]
///
#[doc = page!(reduction)]
/// The fill of the result is the fill of `x` to the power of the number of positions of a group, by repeated squaring.
#[doc = page!(prod_fill)]
///
/// # NaN
///
/// If a group has a NaN, the result is NaN. [`nanprod`] skips NaNs. Zero times infinity is NaN. The sign of a zero
/// product is the product of the signs of all factors.
///
/// # Gradient
///
/// [`grad::prod`](crate::grad::prod()).
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Overflow`: a product of integers does not fit in 64 bits. The error reports the output element.
/// - `Uncountable`: a group of a sparse tensor or of a stored view has at least 2<sup>128</sup> − 1 positions.
///
/// # Complexity
///
#[doc = page!(prod_complexity)]
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, prod};
/// use ndarray::arr1;
///
/// // 3 1 -6
/// // 1 1e300 1e300
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, -6.0, 1e300, 1e300f64], 1.0)?;
/// let y = prod(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[-18.0, f64::INFINITY]).into_dyn());
/// assert_eq!(y.to_dense()?, prod(&x.to_dense()?, 1)?);
/// let zeros = prod(&x.with_fill(-0.0), Axes::all())?;
/// assert_eq!(zeros.get(&[])?, 0.0); // -0.0: three factors have a negative sign
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.prod`](https://numpy.org/doc/stable/reference/generated/numpy.prod.html), which multiplies in
/// another order.
#[doc(alias = "numpy.prod")]
#[doc(alias = "product")]
pub fn prod<X: Operand<Elem: Ring>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
    holistic(x, Prod { skips_nan: false }, &axes.into())
}

/// Returns the gradient of [`prod`]: the product of all other elements of the group.
///
#[doc = page!(prod_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// If the upstream gradient of a group is 0, each element of the group receives `+0.0`. Otherwise, a NaN element yields
/// NaN for all other elements of its group.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`prod`] except `Overflow`;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`prod`]. A group of more than 4096 entries is split into two parts repeatedly, until each part has at
/// most 4096 entries. Each level of parts adds the cost of [`prod`], at most 128 times.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 0.0, 7.0], 2.0)?;
/// let dx = grad::prod(&x, &arr1(&[1.0, 10.0]), 1)?;
/// assert_eq!(dx.values(), [0.0, 3.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`prod`].
pub fn prod_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    group_gradient(x, ProdGradient { skips_nan: false }, upstream, &axes.into())
}

/// Returns the product over the given axes, ignoring NaN.
///
/// *y*<sub>k</sub> = Π<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over the reduced axes. Each
/// NaN counts as a factor of 1.
///
#[doc = page!(prod_numbers)]
///
#[doc = page!(reduction)]
/// The fill of the result is the fill of `x` to the power of the number of positions of a group, by repeated squaring.
/// If the fill of `x` is NaN, the fill of the result is 1.
#[doc = page!(prod_fill)]
///
/// # NaN
///
/// NaNs are skipped. A complex number is NaN if either part is NaN. A group with only NaN yields 1. Zero times infinity
/// is NaN. The sign of a zero product of floats is the product of the signs of all factors.
///
/// # Gradient
///
/// [`grad::nanprod`](crate::grad::nanprod()), only for floats.
///
#[doc = page!(errors)]
#[doc = page!(group_errors)]
/// - `Uncountable`: a group of a sparse tensor or of a stored view has at least 2<sup>128</sup> − 1 positions.
///
/// # Complexity
///
#[doc = page!(prod_complexity)]
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, nanprod};
/// use ndarray::arr1;
///
/// // 3 1 -6
/// // 1 1e300 1e300
/// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
/// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, -6.0, 1e300, 1e300f64], 1.0)?;
/// let y = nanprod(&x, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[-18.0, f64::INFINITY]).into_dyn());
/// assert_eq!(y.to_dense()?, nanprod(&x.to_dense()?, 1)?);
/// let zeros = nanprod(&x.with_fill(-0.0), Axes::all())?;
/// assert_eq!(zeros.get(&[])?, 0.0); // -0.0: three factors have a negative sign
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nanprod`](https://numpy.org/doc/stable/reference/generated/numpy.nanprod.html), which multiplies
/// in another order.
#[doc(alias = "numpy.nanprod")]
#[doc(alias = "product")]
pub fn nanprod<X: Operand<Elem: Inexact>>(x: &X, axes: impl Into<Axes>) -> Result<X::Reduced<X::Elem>> {
    holistic(x, Prod { skips_nan: true }, &axes.into())
}

/// Returns the gradient of [`nanprod`]: the product of all other elements of the group.
///
#[doc = page!(prod_gradient)]
///
#[doc = page!(gradient)]
///
/// # NaN
///
/// A NaN element receives 0.
///
#[doc = page!(no_second_gradient)]
///
/// # Errors
///
/// - the errors of [`nanprod`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`nanprod`]. A group of more than 4096 entries is split into two parts repeatedly, until each part has
/// at most 4096 entries. Each level of parts adds the cost of [`nanprod`], at most 128 times.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 0.0, 7.0], 2.0)?;
/// let dx = grad::nanprod(&x, &arr1(&[1.0, 10.0]), 1)?;
/// assert_eq!(dx.values(), [0.0, 3.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`nanprod`].
pub fn nanprod_backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    axes: impl Into<Axes>,
) -> Result<X::Reduced<U::Elem>> {
    group_gradient(x, ProdGradient { skips_nan: true }, upstream, &axes.into())
}
