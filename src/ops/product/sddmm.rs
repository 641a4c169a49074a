//! Dense products at the positions of a pattern.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use super::matrix::{Matrix, own_axes, rejection, width};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::element::{Float, Ring};
use crate::kernels::dots::dots;
use crate::kernels::row_products::{RowProducts, Upstream, sums_of_rows, sums_without_zeros};
use crate::kernels::zip::all_finite;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::ops::{mul, mul_nonzero};

use crate::ops::op;
use crate::pattern::{AnyPattern, CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::stored::Stored;

const NAME: &str = op::sddmm.name;

/// The two dense factors of a product at the positions of a pattern.
struct DenseFactors<'a, T: Clone> {
    left: Matrix<'a, T>,
    right: Matrix<'a, T>,
}

/// Returns the name of each factor, and the axes of a pattern with rows and columns that the factor has.
fn sides(shape: &Shape) -> [(&'static str, Vec<usize>); 2] {
    let rank = shape.rank();
    let columns = (0..rank - 2).chain([rank - 1]).collect();
    [("the left factor", (0..rank - 1).collect()), ("the right factor", columns)]
}

/// Rejects factors whose lengths do not fit a pattern of this shape.
pub(crate) fn check_factors(shape: &Shape, l: &[usize], r: &[usize]) -> Result<()> {
    if shape.rank() < 2 {
        let why = format!("a pattern of shape {shape} does not have rows and columns");
        return Err(Error::Argument { operation: NAME, why });
    }
    for ((what, axes), lengths) in sides(shape).iter().zip([l, r]) {
        own_axes(what, lengths, shape, axes)?;
    }
    match (width(l), width(r)) {
        (expected, found) if expected == found => Ok(()),
        (expected, found) => Err(Error::LengthMismatch { what: "a row of the right factor", expected, found }),
    }
}

impl<'a, T: Ring> DenseFactors<'a, T> {
    fn new(shape: &Shape, l: &ArrayViewD<'a, T>, r: &ArrayViewD<'a, T>) -> Result<Self> {
        check_factors(shape, l.shape(), r.shape())?;
        let [(of_left, rows), (of_right, columns)] = sides(shape);
        let (left, right) = (Matrix::new(of_left, l, shape, &rows)?, Matrix::new(of_right, r, shape, &columns)?);
        Ok(DenseFactors { left, right })
    }

    /// Computes the dots at the entries of a pattern.
    fn dots(&self, pattern: &AnyPattern) -> Result<Vec<T>> {
        let left = |start: usize, numbers: &mut [usize]| self.left.number(pattern, start, numbers);
        let right = |start: usize, numbers: &mut [usize]| self.right.number(pattern, start, numbers);
        dots(pattern.nnz(), &[(self.left.rows(), &left), (self.right.rows(), &right)])
            .map_err(|error| rejection::<T>(NAME, error, |entry| pattern.coords_of(entry)))
    }

    /// Computes the sums of the rows of one factor, times the values of the entries, at the rows of the other factor.
    /// Entries with an upstream gradient of zero are skipped.
    fn gathered(
        pattern: &AnyPattern,
        [values, upstream]: [&[T]; 2],
        from: &Matrix<'_, T>,
        into: &Matrix<'_, T>,
    ) -> Result<Vec<T>> {
        let number = |start: usize, numbers: &mut [usize]| from.number(pattern, start, numbers);
        let target = |start: usize, numbers: &mut [usize]| into.number(pattern, start, numbers);
        let (rows, width) = (into.count(), into.width());
        let factors = [(from.rows(), &number as _)];
        let walk = RowProducts { values, factors: &factors, into: &target, in_order: into.is_in_order(), rows, width };
        let sums = match all_finite(values) && all_finite(from.rows().items) {
            true => sums_of_rows(&walk),
            false => sums_without_zeros(&walk, Upstream::Elements(upstream)),
        };
        sums.map_err(|error| rejection::<T>(NAME, error, |_| None))
    }
}

/// Computes `sddmm` of a pattern of either format.
pub(crate) fn forward<T: Ring>(
    pattern: &AnyPattern,
    l: &ArrayViewD<'_, T>,
    r: &ArrayViewD<'_, T>,
) -> Result<Erased<T>> {
    let values = DenseFactors::new(pattern.shape(), l, r)?.dots(pattern)?;
    Ok(Tensor::from_valid(pattern.clone(), values, T::ZERO))
}

/// Computes the gradients of both factors, from the gradient of each entry and its upstream gradient.
fn backward<T: Ring>(
    pattern: &AnyPattern,
    gradients: [&[T]; 2],
    l: &ArrayViewD<'_, T>,
    r: &ArrayViewD<'_, T>,
) -> Result<(ArrayD<T>, ArrayD<T>)> {
    let DenseFactors { left, right } = DenseFactors::new(pattern.shape(), l, r)?;
    let dl = DenseFactors::gathered(pattern, gradients, &right, &left)?;
    let dr = DenseFactors::gathered(pattern, gradients, &left, &right)?;
    Ok((dense_array(&l.shape().into(), dl), dense_array(&r.shape().into(), dr)))
}

/// Computes the gradients of both factors for a pattern of either format.
pub(crate) fn gradients<T: Float>(
    pattern: &AnyPattern,
    l: &ArrayViewD<'_, T>,
    r: &ArrayViewD<'_, T>,
    upstream: &impl Operand<Elem = T>,
) -> Result<(ArrayD<T>, ArrayD<T>)> {
    check_upstream(upstream, pattern.shape())?;
    let gradients = upstream.erased().at_entries(pattern.any())?;
    backward(pattern, [&gradients; 2], l, r)
}

macro_rules! methods_of_patterns {
    ($($(#[$page:meta])* $pattern:ident;)*) => {$(
        /// # Products
        impl<I: Index> $pattern<I> {
            $(#[$page])*
            pub fn sddmm<T: Ring, L: Dimension, R: Dimension>(
                &self,
                l: &ArrayBase<impl Data<Elem = T>, L>,
                r: &ArrayBase<impl Data<Elem = T>, R>,
            ) -> Result<Tensor<Self, T>> {
                Tensor::from_erased(forward(self.any(), &l.view().into_dyn(), &r.view().into_dyn())?)
            }
        }
    )*};
}

methods_of_patterns! {
    /// Returns the products of two dense factors at only the positions of this pattern.
    ///
    /// *z*<sub>ij</sub> = Σ<sub>k</sub> *l*<sub>ik</sub> · *r*<sub>jk</sub> at every stored (i, j): *l* times *r*
    /// transposed. Axes of the pattern before the last two are batches.
    ///
    /// Each multiplication and each addition is rounded, and nothing is fused. The product of index *k* is added to
    /// partial sum *k* mod 8. The partial sums are added as ((0+1)+(2+3))+((4+5)+(6+7)). The result is therefore
    /// bitwise identical for every format and any number of threads. 16-bit floats are summed in `f32` and rounded
    /// once. Integers are exact. For `bool`, products are "and" and sums are "or".
    ///
    /// # Shapes
    ///
    /// For a pattern of shape \[…, m, n\], *l* has the shape \[…, m, columns\] and *r* has the shape \[…, n, columns\].
    /// Both factors are arrays or views of any layout. A batch axis of a factor may have length 1, and the first batch
    /// axes may be missing. lacuna uses the factor for all batches along these axes.
    ///
    /// # Implicit values
    ///
    /// The result shares the pattern, and the fill of the result is 0. Products at unstored positions are not computed.
    ///
    /// # NaN
    ///
    /// NaN times any element is NaN.
    ///
    /// # Gradient
    ///
    /// [`grad::pattern_sddmm`](crate::grad::pattern_sddmm).
    ///
    /// # Errors
    ///
    /// - `Argument`: the pattern has fewer than two axes;
    /// - `ShapeMismatch`: the rows or batch axes of a factor do not match the pattern;
    /// - `LengthMismatch`: the factors have different numbers of columns;
    /// - `Overflow`: an integer sum does not fit the element type. The error reports the coordinates of the sum.
    ///
    /// # Complexity
    ///
    /// O(nnz · columns of the factors).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooPattern;
    /// use ndarray::arr2;
    ///
    /// let pattern = CooPattern::new([2, 3], 3, vec![vec![0u32, 0, 1], vec![0, 2, 1]])?;
    /// let (l, r) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]));
    /// let z = pattern.sddmm(&l, &r)?;
    /// assert_eq!(z.values(), [1.0, 3.0, 4.0]);
    /// let product = l.dot(&r.t());
    /// assert!(z.iter().all(|(at, value)| value == product[[at[0], at[1]]]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: `(l @ r.T)[pattern]` of numpy;
    /// [`torch.sparse.sampled_addmm`](https://docs.pytorch.org/docs/stable/generated/torch.sparse.sampled_addmm.html).
    #[doc(alias = "sampled_addmm")]
    #[doc(alias = "masked_matmul")]
    CooPattern;
    /// Returns the products of two dense factors at only the positions of this pattern.
    ///
    /// See [`CooPattern::sddmm`].
    ///
    /// # Errors
    ///
    /// The errors of [`CooPattern::sddmm`].
    CsrPattern;
}

/// # Products
impl<P: Pattern, T: Ring> Stored<'_, P, T> {
    /// Returns the entries times the product of two dense factors.
    ///
    /// Each dot product is computed as in [`pattern.sddmm(l, r)`](CooPattern::sddmm) and rounded to the element type,
    /// then multiplied by the entry.
    ///
    /// *z*<sub>ij</sub> = *x*<sub>ij</sub> · Σ<sub>k</sub> *l*<sub>ik</sub> · *r*<sub>jk</sub> at every stored (i, j).
    /// The fill is 0.
    ///
    /// # Gradient
    ///
    /// [`grad::sddmm`](crate::grad::sddmm).
    ///
    /// # Errors
    ///
    /// - the errors of [`CooPattern::sddmm`];
    /// - `Overflow`: an integer product with an entry does not fit the element type.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use ndarray::arr2;
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![10.0, 1.0, 2.0], 0.0)?;
    /// let (l, r) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]));
    /// let z = x.stored().sddmm(&l, &r)?;
    /// assert_eq!(z.values(), [10.0, 3.0, 8.0]);
    /// assert!(z.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "sampled_addmm")]
    pub fn sddmm<L: Dimension, R: Dimension>(
        &self,
        l: &ArrayBase<impl Data<Elem = T>, L>,
        r: &ArrayBase<impl Data<Elem = T>, R>,
    ) -> Result<Tensor<P, T>> {
        let x = self.tensor().sparse();
        Tensor::from_erased(times(&x.to_erased(), forward(x.pattern(), &l.view().into_dyn(), &r.view().into_dyn())?)?)
    }
}

/// Returns the gradients of both factors of [`CooPattern::sddmm`].
///
/// The gradients equal the gradients of [`grad::sddmm`](crate::grad::sddmm) for a tensor whose entries are all 1.
///
/// # Shapes
///
/// `upstream` has the shape of the pattern. Each gradient of a factor has the shape of the factor.
///
/// # Implicit values
///
/// Only the stored positions of the pattern are read from `upstream`. At an unstored position of `upstream`, the fill
/// of `upstream` counts, or 0 if `upstream` is a stored view.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`CooPattern::sddmm`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the pattern.
///
/// # Complexity
///
/// O(nnz · columns of the factors). A sparse `upstream` adds at most O(rank · log nnz) per entry.
///
/// # Examples
///
/// ```
/// use lacuna::{CooPattern, grad};
/// use ndarray::{Array2, arr2};
///
/// let pattern = CooPattern::new([2, 2], 2, vec![vec![0u32, 1], vec![1, 0]])?;
/// let (l, r) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[1.0, 0.0], [0.0, 1.0]]));
/// let (dl, dr) = grad::pattern_sddmm(&pattern, &l, &r, &Array2::ones((2, 2)))?;
/// assert_eq!(dl, arr2(&[[0.0, 1.0], [1.0, 0.0]]).into_dyn());
/// assert_eq!(dr, arr2(&[[3.0, 4.0], [1.0, 2.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn pattern_sddmm_backward<P: Pattern, T: Float, L: Dimension, R: Dimension>(
    pattern: &P,
    l: &ArrayBase<impl Data<Elem = T>, L>,
    r: &ArrayBase<impl Data<Elem = T>, R>,
    upstream: &impl Operand<Elem = T>,
) -> Result<(ArrayD<T>, ArrayD<T>)> {
    gradients(pattern.any(), &l.view().into_dyn(), &r.view().into_dyn(), upstream)
}

/// Returns the gradients of the entries and of both factors of [`Stored::sddmm`].
///
/// *dx*<sub>ij</sub> = *dz*<sub>ij</sub> · Σ<sub>k</sub> *l*<sub>ik</sub> · *r*<sub>jk</sub> on the pattern of *x*.
/// *dl*<sub>ik</sub> = Σ<sub>j</sub> (*dz*<sub>ij</sub> · *x*<sub>ij</sub>) · *r*<sub>jk</sub> and *dr*<sub>jk</sub> =
/// Σ<sub>i</sub> (*dz*<sub>ij</sub> · *x*<sub>ij</sub>) · *l*<sub>ik</sub> are sums over the stored entries, in
/// increasing order, from +0.0. Each multiplication and each addition is rounded. 16-bit floats are summed in `f32`. A
/// factor that is used for several batches receives the sum over these batches.
///
/// # Shapes
///
/// `upstream` has the shape of *x*. Each gradient of a factor has the shape of the factor.
///
/// # Implicit values
///
/// *dx* has the pattern of *x* (shared) and a fill of 0. Only the stored positions of *x* are read from `upstream`. At
/// an unstored position of `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a stored view.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - the errors of [`Stored::sddmm`];
/// - `ShapeMismatch`: `upstream` does not have the shape of *x*.
///
/// # Complexity
///
/// O(nnz · columns of the factors). A sparse `upstream` adds at most O(rank · log nnz) per entry.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::{Array2, arr2};
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![10.0, 2.0], 0.0)?;
/// let (l, r) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr2(&[[1.0, 0.0], [0.0, 1.0]]));
/// let (dx, dl, dr) = grad::sddmm(&x.stored(), &l, &r, &Array2::ones((2, 2)))?;
/// assert_eq!(dx.values(), [2.0, 3.0]);
/// assert_eq!(dl, arr2(&[[0.0, 10.0], [2.0, 0.0]]).into_dyn());
/// assert_eq!(dr, arr2(&[[6.0, 8.0], [10.0, 20.0]]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // three results of ordinary types
pub fn sddmm_backward<P: Pattern, T: Float, L: Dimension, R: Dimension>(
    x: &Stored<'_, P, T>,
    l: &ArrayBase<impl Data<Elem = T>, L>,
    r: &ArrayBase<impl Data<Elem = T>, R>,
    upstream: &impl Operand<Elem = T>,
) -> Result<(Tensor<P, T>, ArrayD<T>, ArrayD<T>)> {
    let (x, l, r) = (x.tensor().sparse(), l.view().into_dyn(), r.view().into_dyn());
    let (dx, dl, dr) = of_entries(x, &l, &r, upstream)?;
    Ok((Tensor::from_erased(dx)?, dl, dr))
}

/// Computes the gradients of the entries and of both factors, for the product of the entries with the dots.
#[allow(clippy::type_complexity)] // three results of ordinary types
fn of_entries<T: Float>(
    x: SparseRef<'_, T>,
    l: &ArrayViewD<'_, T>,
    r: &ArrayViewD<'_, T>,
    upstream: &impl Operand<Elem = T>,
) -> Result<(Erased<T>, ArrayD<T>, ArrayD<T>)> {
    check_upstream(upstream, x.shape())?;
    let gradient = Tensor::from_valid(x.pattern().clone(), upstream.erased().at_entries(x.pattern())?, T::ZERO);
    let dx = received(&gradient, forward(x.pattern(), l, r)?)?;
    let of_dots = received(&gradient, x.to_erased())?;
    let (dl, dr) = backward(x.pattern(), [of_dots.values(), gradient.values()], l, r)?;
    Ok((dx, dl, dr))
}

/// Computes the gradients times the entries of another tensor with the same pattern; zero gradients give zero.
fn received<T: Ring>(gradient: &Erased<T>, y: Erased<T>) -> Result<Erased<T>> {
    mul_nonzero(&gradient.stored(), y.with_fill(gradient.fill()).stored())
}

/// Computes the products of the entries of two tensors with the same pattern.
fn times<T: Ring>(x: &Erased<T>, y: Erased<T>) -> Result<Erased<T>> {
    Ok(mul(&x.stored(), y.with_fill(x.fill()).stored())?.with_fill(T::ZERO))
}
