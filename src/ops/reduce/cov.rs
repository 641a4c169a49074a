//! Covariances and correlations of the variables of a matrix.

use ndarray::ArrayD;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::convert::{dense_array, dense_bytes, elements_of};
use crate::element::products::{FloatFormat, exact_parts, format_of};
use crate::element::{Float, Real, Ring};
use crate::kernels::coords::by_width;
use crate::kernels::covariance::{RowTerms, VariableRows};
use crate::ops::op;
use crate::ops::operand::{ErasedOperand, Operand};
use crate::ops::select::{moved, select_with};
use crate::pattern::{AxisCoords, Format, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// Returns the number of variables of a matrix whose variables are on an axis.
///
/// # Errors
///
/// `RankMismatch`, `AxisOutOfRange`.
pub(crate) fn variables_of(lengths: &[usize], axis: i128) -> Result<usize> {
    match lengths {
        [_, _] => Ok(lengths[normalize_axis(axis, 2)?]),
        _ => Err(Error::RankMismatch { what: "the matrix of variables", expected: 2, found: lengths.len() }),
    }
}

/// Returns lists of floats that add up to each value, less a finite fill.
fn terms_of<T: Real>(values: impl ExactSizeIterator<Item = T> + Clone, fill: [f64; 2]) -> Allocated<Vec<Vec<f64>>> {
    let part = |at: usize| alloc::collect(values.clone().map(|value| exact_parts(value)[at]));
    let mut terms = vec![part(0)?];
    if values.clone().any(|value| exact_parts(value)[1] != 0.0) {
        terms.push(part(1)?);
    }
    for part in fill.into_iter().filter(|part| *part != 0.0) {
        terms.push(alloc::copies(-part, values.len())?);
    }
    Ok(terms)
}

/// Returns the column of each entry.
fn columns_of(columns: &AxisCoords) -> Allocated<Vec<usize>> {
    by_width!(columns, own => alloc::collect(own.iter().map(|column| column.to_usize())))
}

/// A function of the rows.
type OfRows<'a> = &'a dyn Fn(&VariableRows<'_>, FloatFormat) -> Allocated<Vec<f64>>;

/// Computes a result from the rows of a tensor.
fn of_tensor<T: Real>(x: SparseRef<'_, T>, limit: u64, of: OfRows<'_>) -> Result<Vec<f64>> {
    let (csr, fill) = (x.to_erased().in_format(Format::Csr, limit)?, exact_parts(x.fill()));
    let pattern = csr.pattern();
    let Some((offsets, columns)) = pattern.lanes() else { unreachable!("the format is compressed") };
    let (columns, is_fill_finite) = (columns_of(columns)?, fill[0].is_finite());
    let terms = terms_of(csr.values().iter().copied(), if is_fill_finite { fill } else { [0.0; 2] })?;
    let count = pattern.shape().columns();
    let entries = RowTerms { offsets, columns: Some(&columns), terms: &terms, count };
    Ok(of(&VariableRows::new(entries, is_fill_finite)?, format_of::<T::Deviation>())?)
}

/// Computes a matrix of variables by variables.
fn of_variables<T: Real>(
    operation: &'static str,
    x: &ErasedOperand<'_, T>,
    axis: i128,
    of: OfRows<'_>,
) -> Result<ArrayD<T::Deviation>> {
    let (lengths, limit) = (x.lengths(), default_limit(0));
    let count = variables_of(lengths, axis)?;
    guard::<f64>("the result", count as u128 * count as u128, limit, "select fewer variables")?;
    let is_transposed = normalize_axis(axis, 2)? == 1;
    let found = match x {
        ErasedOperand::Sparse(x) if !x.counts_unstored => {
            let why = "unstored positions count as observations; pass the tensor instead of its stored view".into();
            return Err(Error::Argument { operation, why });
        }
        ErasedOperand::Sparse(_) if is_transposed => {
            let turned = select_with(x, &moved::transposed(lengths)?)?.into_tensor();
            of_tensor(turned.sparse(), limit, of)?
        }
        ErasedOperand::Sparse(x) => of_tensor(x.sparse(), limit, of)?,
        ErasedOperand::Array(x) => {
            let view = if is_transposed { x.array.view().reversed_axes() } else { x.array.view() };
            let observations = view.shape()[1];
            let offsets = alloc::collect((0..count + 1).map(|row| row * observations))?;
            let limit = default_limit(dense_bytes(&view));
            guard::<f64>("the observations in order", view.len() as u128, limit, "compute in chunks")?;
            let values = elements_of(&view)?;
            let terms = terms_of(values.iter().copied(), [0.0; 2])?;
            let entries = RowTerms { offsets: &offsets, columns: None, terms: &terms, count: observations };
            of(&VariableRows::new(entries, true)?, format_of::<T::Deviation>())?
        }
    };
    let found = alloc::collect(found.into_iter().map(T::Deviation::from_f64))?;
    Ok(dense_array(&Shape::from([count, count]), found))
}

/// Returns the covariances of all pairs of variables, each rounded once.
///
/// *c*<sub>ij</sub> = Σ<sub>k</sub> (*x*<sub>ik</sub> − *m*<sub>i</sub>) · (*x*<sub>jk</sub> − *m*<sub>j</sub>) / (*n*
/// − ddof), for the variables *i* and *j* and the observations *k*. The number of observations is *n*, and
/// *m*<sub>i</sub> is the mean of variable *i*.
///
/// `axis` is the axis of the variables: 0 if each row is a variable, 1 if each column is a variable. The other axis is
/// the axis of the observations. A `ddof` of 1 estimates the covariances of a population from a sample.
///
/// The means, the products, the sum and the quotient are real numbers. Only the quotient is rounded, to the element type.
/// The covariances of integers and of `bool` are `f64`. The result is bitwise identical for any format and any number of
/// threads.
///
/// # Shapes
///
/// `x` has two axes. The result is an array of variables by variables, which is symmetric.
///
/// # Implicit values
///
/// Unstored positions are observations of the fill. The function uses their number, and does not visit each position.
/// [Stored views](crate::Stored) are not supported.
///
/// # NaN
///
/// If an element of a variable is NaN or infinite, all covariances of the variable are NaN. If *n* is at most `ddof`, all
/// covariances are NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `RankMismatch`: `x` does not have two axes;
/// - `AxisOutOfRange`: `axis` is not an axis of a matrix;
/// - `Argument`: `x` is a stored view;
/// - `TooLarge`: the result exceeds 1 GiB;
/// - `TooLarge`: `x` is a broadcast array, and a copy of its elements as `f64` exceeds both 1 GiB and 16 times the
///   bytes before broadcasting;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// O(variables · entries of `x` + variables²). With `axis` 1, the tensor is first transposed. For arrays, O(variables ·
/// elements of `x`).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, cov};
/// use ndarray::arr2;
///
/// // 1 . 2 .
/// // . 4 . .
/// let x = CooTensor::new([2, 4], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1.0, 2.0, 4.0], 0.0)?;
/// assert_eq!(cov(&x, 0, 0)?, arr2(&[[0.6875, -0.75], [-0.75, 3.0]]).into_dyn());
/// assert_eq!(cov(&x, 0, 0)?, cov(&x.to_dense()?, 0, 0)?);
/// assert_eq!(cov(&x, 0, 1)?, x.transpose()?.cov(1, 1)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.cov`](https://numpy.org/doc/stable/reference/generated/numpy.cov.html) of a matrix.
#[doc(alias = "covariance")]
#[doc(alias = "numpy.cov")]
#[doc(alias = "torch.cov")]
pub fn cov<X: Operand<Elem: Real>>(
    x: &X,
    axis: impl Position,
    ddof: u64,
) -> Result<ArrayD<<X::Elem as Ring>::Deviation>> {
    of_variables(op::cov.name, &x.erased(), axis.to_i128(), &|rows, kind| rows.covariances(ddof, kind))
}

/// Returns the correlations of all pairs of variables, each rounded once.
///
/// *r*<sub>ij</sub> = *c*<sub>ij</sub> / √(*c*<sub>ii</sub> · *c*<sub>jj</sub>), with the covariances *c* of [`cov`] as
/// real numbers. Only the quotient is rounded, to the element type. The correlations of integers and of `bool` are `f64`.
///
/// `axis` is the axis of the variables: 0 if each row is a variable, 1 if each column is a variable. The number `ddof`
/// does not change correlations.
///
/// # Shapes
///
/// `x` has two axes. The result is an array of variables by variables, which is symmetric.
///
/// # Implicit values
///
/// As in [`cov`].
///
/// # NaN
///
/// All correlations of a variable are NaN if an element of the variable is NaN or infinite, or if all its elements are
/// equal. Otherwise, the correlation of a variable with itself is 1.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// The errors of [`cov`].
///
/// # Complexity
///
/// As in [`cov`].
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, corrcoef};
/// use ndarray::arr2;
///
/// // 1 . 2 .
/// // 2 . 4 .
/// // . 1 . 1
/// let (rows, columns) = (vec![0, 0, 1, 1, 2, 2], vec![0, 2, 0, 2, 1, 3]);
/// let x = CooTensor::new([3, 4], vec![rows, columns], vec![1.0, 2.0, 2.0, 4.0, 1.0, 1.0], 0.0)?;
/// let r = corrcoef(&x, 0)?;
/// assert_eq!(r[[0, 1]], 1.0);
/// assert!(f64::abs(r[[0, 2]] + 0.9045340337332909) < 1e-15);
/// assert_eq!(r, corrcoef(&x.to_dense()?, 0)?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.corrcoef`](https://numpy.org/doc/stable/reference/generated/numpy.corrcoef.html) of a matrix.
#[doc(alias = "correlation")]
#[doc(alias = "pearson")]
#[doc(alias = "numpy.corrcoef")]
#[doc(alias = "torch.corrcoef")]
pub fn corrcoef<X: Operand<Elem: Real>>(x: &X, axis: impl Position) -> Result<ArrayD<<X::Elem as Ring>::Deviation>> {
    of_variables(op::corrcoef.name, &x.erased(), axis.to_i128(), &|rows, kind| rows.correlations(kind))
}

impl<P: Pattern, T: Real> Tensor<P, T> {
    /// Returns the covariances of all pairs of variables, each rounded once: see [`cov`].
    ///
    /// # Errors
    ///
    /// The errors of [`cov`].
    pub fn cov(&self, axis: impl Position, ddof: u64) -> Result<ArrayD<T::Deviation>> {
        cov(self, axis, ddof)
    }

    /// Returns the correlations of all pairs of variables, each rounded once: see [`corrcoef`].
    ///
    /// # Errors
    ///
    /// The errors of [`cov`].
    pub fn corrcoef(&self, axis: impl Position) -> Result<ArrayD<T::Deviation>> {
        corrcoef(self, axis)
    }
}
