//! Comparison of two operands up to a tolerance.

use super::Partner;
use crate::base::error::{Error, Result};
use crate::element::{Element, Magnitude, Number};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::Zip;
use crate::ops::op;
use crate::ops::operand::Operand;

/// The maximum difference of two elements for [`allclose`]: `atol + rtol · |b|`.
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

/// The descriptor of [`allclose`]: the result is true if two elements are too far apart. Results of stored views have a
/// fill of `false`, so unstored positions are never too far apart.
#[derive(Clone, Copy)]
struct Apart(Tolerance);

impl Op for Apart {
    fn name(&self) -> &'static str {
        op::allclose.name
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

impl<T: Magnitude> Zip<T, T> for Apart {
    type Out = bool;

    fn apply(&self, a: T, b: T) -> Outcome<bool> {
        if a.isnan() || b.isnan() {
            return Ok(!(self.0.equal_nan && a.isnan() && b.isnan()));
        }
        if !(a.isfinite() && b.isfinite()) {
            return Ok(a != b);
        }
        let ((a, other_a), (b, other_b)) = (parts(a), parts(b));
        // The magnitude of a real number is exact.
        let magnitude = |re: f64, im: f64| if im == 0.0 { re.abs() } else { crate::element::math::hypot(re, im) };
        Ok(!self.0.holds(magnitude(a - b, other_a - other_b), magnitude(b, other_b)))
    }
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
#[doc(alias = "isclose")]
#[doc(alias = "numpy.allclose")]
#[doc(alias = "approx_eq")]
pub fn allclose<X, Y>(x: &X, y: Y, tolerance: impl Into<Tolerance>) -> Result<bool>
where
    X: Operand<Elem: Magnitude>,
    Y: Partner<X, Elem = X::Elem, Zipped<bool>: Operand<Elem = bool>>,
{
    let apart = match y.zip(x, Apart(tolerance.into())) {
        Ok(apart) => apart,
        // Some unstored positions are close, and some are not.
        Err(Error::FillVaries { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let apart = apart.erased();
    Ok(!apart.held_elements()?.contains(&true)
        && apart.implicit_with_count().is_none_or(|(apart, count)| !apart || count == 0))
}
