//! Selection of entries by value or coordinates, and insertion of entries.

use crate::base::alloc::Allocated;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::gather::{gather_values, marked};
use crate::kernels::spread::without_signs;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::pattern::{AnyPattern, AxisCoords, Pattern};
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};
use crate::tensor::triplets::{Duplicates, Triplets};

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Keeps the entries whose value passes a test; all other positions hold the fill.
    ///
    /// The test is not applied to the fill. If all entries pass, the result shares all arrays with this tensor.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the result fails.
    ///
    /// # Complexity
    ///
    /// O(entries · rank), on several threads if there are many entries. Each value is tested once.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![3.0, -1.0, 8.0], 0.0)?;
    /// assert_eq!(x.select(|value| value > 1.0)?.entries(), [(vec![0], 3.0), (vec![3], 8.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "filter")]
    #[doc(alias = "where")]
    pub fn select(&self, test: impl Fn(T) -> bool + Send + Sync) -> Result<Self> {
        Tensor::from_erased(kept(self.sparse(), &threads::map(self.values(), 1000, test)?)?)
    }

    /// Keeps the entries whose coordinates and value pass a test.
    ///
    /// All other positions hold the fill, as in [`select`](Tensor::select).
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: the allocation of the result fails.
    ///
    /// # Complexity
    ///
    /// O(entries · rank), on several threads if there are many entries. Each entry is tested once.
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, -1.0, 8.0], 0.0)?;
    /// let off_diagonal = x.filter_entries(|coords, _| coords[0] != coords[1])?;
    /// assert_eq!(off_diagonal.entries(), [(vec![0, 1], -1.0)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "retain")]
    pub fn filter_entries(&self, test: impl Fn(&[usize], T) -> bool + Send + Sync) -> Result<Self> {
        Tensor::from_erased(kept(self.sparse(), &marks(self.sparse(), test)?)?)
    }

    /// Returns the coordinates of the nonzero elements, with one array per axis.
    ///
    /// The coordinates are in row-major order. NaN counts as nonzero, and `-0.0` counts as zero.
    ///
    /// # Errors
    ///
    /// `FillNotZero`: the fill is not zero, so the result would list every unstored position.
    ///
    /// # Complexity
    ///
    /// O(entries · rank).
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 0.0, 8.0], 0.0)?;
    /// assert_eq!(x.nonzero()?, [[0, 1], [0, 1]]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "argwhere")]
    #[doc(alias = "flatnonzero")]
    pub fn nonzero(&self) -> Result<Vec<Vec<P::Index>>> {
        if self.fill().is_truthy() {
            let fill = self.fill().to_number().to_string();
            return Err(Error::FillNotZero { fill, target: "the coordinates of nonzero elements" });
        }
        let coords = coords_of_truthy(self.sparse())?.into_iter();
        Ok(coords.map(|axis| axis.in_width(P::Index::WIDTH)?.into_vec()).collect::<Allocated<_>>()?)
    }

    /// Returns the tensor with the given entries inserted.
    ///
    /// Each new entry is a pair `(coordinates, value)`.
    ///
    /// A new entry replaces an existing entry at its position. If two new entries have the same position, the result
    /// has the value of the later entry.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of coordinates of a new entry differs from the rank of the tensor;
    /// - `IndexOutOfBounds`: a coordinate of a new entry is outside the tensor;
    /// - `TooLarge`: the lanes of CSR need more than the larger of 1 GiB and 16 times the bytes of this tensor.
    ///
    /// # Complexity
    ///
    /// O(*n* · (rank + log *n*)) for *n* old and new entries. CSR adds O(lanes).
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![3, 8], 0)?;
    /// let y = x.with_entries([([0, 1], 4), ([0, 0], 1), ([0, 1], 5)])?;
    /// assert_eq!(y.entries(), [(vec![0, 0], 1), (vec![0, 1], 5), (vec![1, 1], 8)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "setitem")]
    #[doc(alias = "insert")]
    #[doc(alias = "index_put")]
    pub fn with_entries<C: AsRef<[usize]>>(&self, entries: impl IntoIterator<Item = (C, T)>) -> Result<Self> {
        let mut triplets: Triplets<T, P::Index> = Triplets::try_from(self)?;
        triplets.try_extend(entries)?;
        let merged = triplets.coalesce(Duplicates::Last)?;
        let limit = default_limit(self.stored_bytes());
        let pattern = P::from_any(merged.pattern().any().in_format(self.pattern().any().format(), limit)?)?;
        Ok(Tensor::from_shared(pattern, merged.shared_values().clone(), self.fill()))
    }
}

/// Returns the gradient of [`Tensor::select`] for the same test.
///
/// The entries that pass the test receive the upstream gradient. All other entries receive 0.
///
/// # Shapes
///
/// `upstream` has the shape of the tensor.
///
/// # Implicit values
///
/// The result has the pattern of the tensor (shared) and a fill of 0. Positions that `upstream` does not store have the
/// fill of `upstream`.
///
/// # Errors
///
/// `ShapeMismatch`: `upstream` does not have the shape of the tensor.
///
/// # Complexity
///
/// O(entries) if `upstream` has the pattern of the tensor. Otherwise, each entry adds a search in `upstream` of at most
/// O(rank · log(entries of `upstream`)).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
///
/// let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![3.0, -1.0, 8.0], 0.0)?;
/// let dx = grad::select(&x, &ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]), |value| value > 1.0)?;
/// assert_eq!(dx.values(), [1.0, 0.0, 4.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn select_backward<P: Pattern, T: Element, U: Operand>(
    x: &Tensor<P, T>,
    upstream: &U,
    test: impl Fn(T) -> bool + Send + Sync,
) -> Result<Tensor<P, U::Elem>> {
    let gradients = handed_to(x.pattern().any(), upstream, &threads::map(x.values(), 1000, test)?)?;
    Ok(Tensor::from_valid(x.pattern().clone(), gradients, U::Elem::ZERO))
}

/// Returns the gradient of [`Tensor::filter_entries`] for the same test.
///
/// The entries that pass the test receive the upstream gradient. All other entries receive 0.
///
/// # Shapes
///
/// `upstream` has the shape of the tensor.
///
/// # Implicit values
///
/// The result has the pattern of the tensor (shared) and a fill of 0. Positions that `upstream` does not store have the
/// fill of `upstream`.
///
/// # Errors
///
/// `ShapeMismatch`: `upstream` does not have the shape of the tensor.
///
/// # Complexity
///
/// The complexity of [`grad::select`](crate::grad::select).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
///
/// let x = CooTensor::new([4], vec![vec![0, 1, 3]], vec![3.0, -1.0, 8.0], 0.0)?;
/// let dx = grad::filter_entries(&x, &ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]), |at, _| at[0] > 0)?;
/// assert_eq!(dx.values(), [0.0, 2.0, 4.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn filter_entries_backward<P: Pattern, T: Element, U: Operand>(
    x: &Tensor<P, T>,
    upstream: &U,
    test: impl Fn(&[usize], T) -> bool + Send + Sync,
) -> Result<Tensor<P, U::Elem>> {
    let gradients = handed_to(x.pattern().any(), upstream, &marks(x.sparse(), test)?)?;
    Ok(Tensor::from_valid(x.pattern().clone(), gradients, U::Elem::ZERO))
}

/// Returns the gradients of the marked entries; all other entries receive 0.
fn handed_to<U: Operand>(x: &AnyPattern, upstream: &U, marks: &[bool]) -> Result<Vec<U::Elem>> {
    check_upstream(upstream, x.shape())?;
    let mut gradients = without_signs(upstream.erased().at_entries(x)?);
    gradients.iter_mut().zip(marks).filter(|(_, mark)| !**mark).for_each(|(slot, _)| *slot = U::Elem::ZERO);
    Ok(gradients)
}

/// Returns whether each entry passes a test.
fn marks<T: Element>(x: SparseRef<'_, T>, test: impl Fn(&[usize], T) -> bool + Send + Sync) -> Result<Vec<bool>> {
    Ok(threads::filled(x.nnz(), 3000, |entries, marks: &mut [bool]| {
        let mut slots = marks.iter_mut().zip(&x.values()[entries.clone()]);
        x.pattern().walk_range(entries, &mut |_, coords| {
            slots.next().map(|(mark, &value)| *mark = test(coords, value)).is_some()
        });
    })?)
}

/// Returns the tensor of the marked entries.
fn kept<T: Element>(x: SparseRef<'_, T>, marks: &[bool]) -> Result<Erased<T>> {
    let kept = marked(marks.len(), |range, slots| slots.copy_from_slice(&marks[range]))?;
    if kept.len() == x.nnz() {
        return Ok(x.to_erased());
    }
    Ok(Tensor::from_valid(x.pattern().retain(&kept)?, gather_values(x.values(), &kept)?, x.fill()))
}

/// Returns the coordinates of the nonzero entries, on each axis.
fn coords_of_truthy<T: Element>(x: SparseRef<'_, T>) -> Allocated<Vec<AxisCoords>> {
    let values = x.values();
    let kept = marked(values.len(), |range, marks| {
        marks.iter_mut().zip(&values[range]).for_each(|(mark, value)| *mark = value.is_truthy());
    })?;
    (0..x.rank()).map(|axis| x.pattern().axis(axis)?.gather(&kept)).collect()
}
