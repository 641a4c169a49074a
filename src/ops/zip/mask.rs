//! Stored entries at the positions that a pattern stores, or does not store.

use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::kernels::spread::without_signs;
use crate::kernels::steps::{Keep, LEFT};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::pattern::{AnyPattern, Pattern};
use crate::plan::overlap::OverlapPlan;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::stored::Stored;

impl<P: Pattern, T: Element> Stored<'_, P, T> {
    /// Keeps the entries at positions that `mask` stores; the fill is unchanged.
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the mask does not have the shape of the tensor.
    ///
    /// # Complexity
    ///
    /// O(entries of both patterns). If all entries are kept, nothing is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooPattern, CooTensor};
    ///
    /// let x = CooTensor::new([5], vec![vec![0, 2, 3]], vec![1.0, 2.0, 3.0], 0.0)?;
    /// let mask = CooPattern::new([5], 2, vec![vec![1, 2]])?;
    /// assert_eq!(x.stored().mask(&mask)?.entries(), [(vec![2], 2.0)]);
    /// assert_eq!(x.stored().without(&mask)?.entries(), [(vec![0], 1.0), (vec![3], 3.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "sparse_mask")]
    #[doc(alias = "intersection")]
    pub fn mask(&self, mask: &P) -> Result<Tensor<P, T>> {
        Tensor::from_erased(kept(self.tensor().sparse(), mask.any(), Keep::BOTH)?)
    }

    /// Keeps the entries at positions that `mask` does not store; the fill is unchanged.
    ///
    /// For an example, see [`mask`](Stored::mask).
    ///
    /// # Errors
    ///
    /// `ShapeMismatch`: the mask does not have the shape of the tensor.
    #[doc(alias = "difference")]
    pub fn without(&self, mask: &P) -> Result<Tensor<P, T>> {
        Tensor::from_erased(kept(self.tensor().sparse(), mask.any(), Keep::WITHOUT)?)
    }
}

/// Returns the gradient of [`Stored::mask`].
///
/// The entries at positions that `mask` stores receive the upstream gradient. All other entries receive 0.
///
/// # Shapes
///
/// `upstream` and `mask` have the shape of the tensor.
///
/// # Implicit values
///
/// The result has the pattern of the tensor (shared) and a fill of 0. Positions that `upstream` does not store have the
/// fill of `upstream`.
///
/// # Errors
///
/// `ShapeMismatch`: the mask or `upstream` does not have the shape of the tensor.
///
/// # Complexity
///
/// O(entries of both patterns) if `upstream` has the pattern of the tensor. Otherwise, each entry of the tensor adds a
/// search in `upstream` of at most O(rank · log(entries of `upstream`)).
///
/// # Examples
///
/// ```
/// use lacuna::{CooPattern, CooTensor, grad};
///
/// let x = CooTensor::new([5], vec![vec![0, 2, 3]], vec![1.0, 2.0, 3.0], 0.0)?;
/// let mask = CooPattern::new([5], 2, vec![vec![1, 2]])?;
/// let upstream = ndarray::arr1(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert_eq!(grad::mask(&x.stored(), &upstream, &mask)?.values(), [0.0, 3.0, 0.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn mask_backward<P: Pattern, T: Element, U: Operand>(
    x: &Stored<'_, P, T>,
    upstream: &U,
    mask: &P,
) -> Result<Tensor<P, U::Elem>> {
    handed_to(x.tensor().pattern(), upstream, mask, Keep::BOTH)
}

/// Returns the gradient of [`Stored::without`].
///
/// The entries at positions that `mask` does not store receive the upstream gradient. All other entries receive 0.
///
/// # Shapes
///
/// `upstream` and `mask` have the shape of the tensor.
///
/// # Implicit values
///
/// The result has the pattern of the tensor (shared) and a fill of 0. Positions that `upstream` does not store have the
/// fill of `upstream`.
///
/// # Errors
///
/// `ShapeMismatch`: the mask or `upstream` does not have the shape of the tensor.
///
/// # Complexity
///
/// The complexity of [`grad::mask`](crate::grad::mask).
///
/// # Examples
///
/// ```
/// use lacuna::{CooPattern, CooTensor, grad};
///
/// let x = CooTensor::new([5], vec![vec![0, 2, 3]], vec![1.0, 2.0, 3.0], 0.0)?;
/// let mask = CooPattern::new([5], 2, vec![vec![1, 2]])?;
/// let upstream = ndarray::arr1(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert_eq!(grad::without(&x.stored(), &upstream, &mask)?.values(), [1.0, 0.0, 4.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn without_backward<P: Pattern, T: Element, U: Operand>(
    x: &Stored<'_, P, T>,
    upstream: &U,
    mask: &P,
) -> Result<Tensor<P, U::Elem>> {
    handed_to(x.tensor().pattern(), upstream, mask, Keep::WITHOUT)
}

fn handed_to<P: Pattern, U: Operand>(x: &P, upstream: &U, mask: &P, keep: Keep) -> Result<Tensor<P, U::Elem>> {
    check_upstream(upstream, x.shape())?;
    let gradients = without_signs(upstream.erased().at_entries(x.any())?);
    Tensor::from_erased(handed_to_kept(x.any(), gradients, mask.any(), keep)?)
}

/// Returns the gradients of the entries that a mask keeps, and 0 for all other entries.
fn handed_to_kept<G: Element>(x: &AnyPattern, gradients: Vec<G>, mask: &AnyPattern, keep: Keep) -> Result<Erased<G>> {
    let all = Tensor::from_valid(x.clone(), gradients, G::ZERO);
    let gradients = kept(all.sparse(), mask, keep)?.erased().at_entries(x)?;
    Ok(Tensor::from_valid(x.clone(), gradients, G::ZERO))
}

fn kept<T: Element>(x: SparseRef<'_, T>, mask: &AnyPattern, keep: Keep) -> Result<Erased<T>> {
    if x.shape() != mask.shape() {
        let (expected, found) = (x.shape().clone(), mask.shape().clone());
        return Err(Error::ShapeMismatch { what: "the mask", expected, found });
    }
    let OverlapPlan { pattern, steps } = OverlapPlan::new(x.pattern(), mask, keep)?;
    match steps {
        Some(steps) if steps.count() < x.nnz() => {
            Ok(Tensor::from_valid(pattern, steps.take(LEFT, x.values(), x.fill())?, x.fill()))
        }
        _ => Ok(x.to_erased()),
    }
}
