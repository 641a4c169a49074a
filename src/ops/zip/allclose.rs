//! Comparison of two operands up to a tolerance.

use super::Partner;
use crate::base::error::{Error, Result};
use crate::element::{Element, Magnitude, Number};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{FillEffect, Zip};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The maximum difference of two elements for [`is_close`] and [`allclose`]: `atol + rtol · |b|`.
///
/// *b* is the second element. The default is the tolerance of numpy. A pair `(rtol, atol)` converts to this type.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Tolerance {
    /// The factor of the magnitude of the second element; the default is 1e-5.
    pub rtol: f64,
    /// The constant term of the tolerance; the default is 1e-8.
    pub atol: f64,
    /// True if NaN counts as close to NaN; the default is `false`.
    pub equal_nan: bool,
}

impl Tolerance {
    /// Returns a tolerance of `atol + rtol · |b|` for the second element *b*.
    pub fn within(rtol: f64, atol: f64) -> Self {
        Tolerance { rtol, atol, equal_nan: false }
    }

    /// Treats NaN as close to NaN.
    pub fn equal_nan(self) -> Self {
        Tolerance { equal_nan: true, ..self }
    }

    /// Returns whether a distance is within the tolerance; `magnitude` is the absolute value of the second element.
    fn holds(&self, apart: f64, magnitude: f64) -> bool {
        apart <= self.atol + self.rtol * magnitude
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance::within(1e-5, 1e-8)
    }
}

impl From<(f64, f64)> for Tolerance {
    fn from((rtol, atol): (f64, f64)) -> Self {
        Tolerance::within(rtol, atol)
    }
}

/// The descriptor of [`is_close`] and [`allclose`].
#[derive(Clone, Copy)]
pub(crate) struct Closeness {
    tolerance: Tolerance,
    is_swapped: bool,
    /// True if the result is whether two elements are too far apart. Results of stored views have a fill of `false`, so
    /// unstored positions are never too far apart.
    inverts: bool,
}

impl Closeness {
    pub(crate) fn new(tolerance: Tolerance) -> Self {
        Closeness { tolerance, is_swapped: false, inverts: false }
    }

    /// Returns the comparison with its operands swapped if `is_swapped`.
    #[cfg(feature = "dynamic")]
    pub(crate) fn swapped_if(self, is_swapped: bool) -> Self {
        Closeness { is_swapped, ..self }
    }

    /// Returns the effect of a fill. NaN is not close to any element, unless NaN is close to NaN.
    fn fill_effect<T: Element>(self, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan() && !self.tolerance.equal_nan)
    }
}

impl Op for Closeness {
    fn name(&self) -> &'static str {
        if self.inverts { op::allclose.name } else { op::is_close.name }
    }
}

/// Returns the real and the imaginary part.
fn parts<T: Element>(value: T) -> (f64, f64) {
    match value.to_number() {
        Number::Integer(value) => (value as f64, 0.0),
        Number::Real(value) => (value, 0.0),
        Number::Complex(re, im) => (re, im),
    }
}

/// Returns whether an element is close to a second element.
fn are_close<T: Element>(a: T, b: T, tolerance: &Tolerance) -> bool {
    if a.isnan() || b.isnan() {
        return tolerance.equal_nan && a.isnan() && b.isnan();
    }
    if !(a.isfinite() && b.isfinite()) {
        return a == b;
    }
    let ((a, other_a), (b, other_b)) = (parts(a), parts(b));
    // The magnitude of a real number is exact.
    let magnitude = |re: f64, im: f64| if im == 0.0 { re.abs() } else { crate::element::math::hypot(re, im) };
    tolerance.holds(magnitude(a - b, other_a - other_b), magnitude(b, other_b))
}

impl<T: Magnitude> Zip<T, T> for Closeness {
    type Out = bool;

    fn apply(&self, a: T, b: T) -> Outcome<bool> {
        let (a, b) = if self.is_swapped { (b, a) } else { (a, b) };
        Ok(are_close(a, b, &self.tolerance) != self.inverts)
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        self.fill_effect(fill)
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        self.fill_effect(fill)
    }
}

/// Returns whether each element is close to the element of another operand.
///
/// *z*<sub>k</sub> is `true` if |*x*<sub>k</sub> − *y*<sub>k</sub>| ≤ atol + rtol · |*y*<sub>k</sub>|, computed in `f64`.
///
/// The `tolerance` contains rtol and atol. An infinity is close only to itself. The comparison is not symmetric: the
/// tolerance depends on the magnitude of the right element.
///
/// # Shapes
///
/// The operands have equal shapes, or are broadcast as in numpy. [`Partner`] lists the types of right operands. The
/// elements have any type except `bool`. The result has `bool` elements.
///
/// # Implicit values
///
/// If only one operand has an entry at a position, the entry is compared with the fill of the other operand. The result
/// stores the union of both patterns. The fill of the result is the result for both fills. If the fill of an operand is
/// NaN, all results with that fill are `false`, so entries of only the other operand are not stored. With
/// [`Tolerance::equal_nan`], these entries are stored. For [stored views](crate::Stored), the result has the common
/// entries and a fill of `false`.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN is not close to any element, except to NaN with [`Tolerance::equal_nan`]. A complex number is NaN if either part
/// is NaN.
///
/// # Gradient
///
/// None: the result is constant almost everywhere.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Tolerance, is_close};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 5.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![0, 2]], vec![1.0 + 1e-9, 3.0], 0.0)?;
/// let z = is_close(&x, &y, Tolerance::default())?;
/// assert_eq!(z.entries(), [(vec![0], true), (vec![1], false), (vec![2], false)]);
/// assert!(z.fill());
/// assert_eq!(z.to_dense()?, is_close(&x.to_dense()?, &y.to_dense()?, Tolerance::default())?);
/// assert_eq!(x.is_close(4.5, (0.0, 0.5))?.values(), [false, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isclose`](https://numpy.org/doc/stable/reference/generated/numpy.isclose.html).
#[doc(alias = "isclose")]
#[doc(alias = "numpy.isclose")]
pub fn is_close<X, Y>(x: &X, y: Y, tolerance: impl Into<Tolerance>) -> Result<Y::Zipped<bool>>
where
    X: Operand<Elem: Magnitude>,
    Y: Partner<X, Elem = X::Elem>,
{
    y.zip(x, Closeness::new(tolerance.into()))
}

/// Returns whether all elements of two operands are close to each other.
///
/// The result is `true` if |*x*<sub>k</sub> − *y*<sub>k</sub>| ≤ atol + rtol · |*y*<sub>k</sub>| at all positions *k*,
/// computed in `f64`.
///
/// An infinity is close only to itself.
///
/// # Shapes
///
/// The operands have equal shapes, or are broadcast as in numpy. [`Partner`] lists the types of right operands. The
/// elements have any type except `bool`.
///
/// # Implicit values
///
/// At unstored positions, the fills are compared. For [stored views](crate::Stored), only positions that both operands
/// store are compared.
///
/// # NaN
///
/// NaN is not close to any element, except to NaN with [`Tolerance::equal_nan`]. A complex number is NaN if either part
/// is NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes cannot be broadcast together;
/// - `AxisTooLong`: an axis of an array operand is too long for the index type of the sparse operand;
/// - `TooLarge`: the comparison of broadcast operands needs more than the larger of 1 GiB and 16 times the bytes of the
///   operands.
///
/// # Complexity
///
/// O(entries of both operands after broadcasting), or O(elements of the broadcast shape) for two arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Tolerance, allclose};
///
/// let x = CooTensor::new([1000, 1000], vec![vec![0], vec![7]], vec![1.0], 0.0)?;
/// let y = x.add(1e-9)?;
/// assert!(allclose(&x, &y, Tolerance::default())?);
/// assert!(!allclose(&x, &y, (0.0, 1e-10))?);
/// assert!(allclose(&x, &y.to_dense()?, (1e-5, 1e-8))?);
/// assert!(CooTensor::full([2], f64::NAN)?.allclose(f64::NAN, Tolerance::default().equal_nan())?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.allclose`](https://numpy.org/doc/stable/reference/generated/numpy.allclose.html).
#[doc(alias = "numpy.allclose")]
#[doc(alias = "approx_eq")]
pub fn allclose<X, Y>(x: &X, y: Y, tolerance: impl Into<Tolerance>) -> Result<bool>
where
    X: Operand<Elem: Magnitude>,
    Y: Partner<X, Elem = X::Elem, Zipped<bool>: Operand<Elem = bool>>,
{
    let apart = match y.zip(x, Closeness { inverts: true, ..Closeness::new(tolerance.into()) }) {
        Ok(apart) => apart,
        // Some unstored positions are close, and some are not.
        Err(Error::FillVaries { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let apart = apart.erased();
    Ok(!apart.held_elements()?.contains(&true)
        && apart.implicit_with_count().is_none_or(|(apart, count)| !apart || count == 0))
}
