//! Between the coordinate and the compressed format; every entry is kept, and the arrays that do not change are shared.

use std::sync::Arc;

use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::Element;
use crate::error::Result;
use crate::index::Index;
use crate::kernels::lanes::spread;
use crate::limit::default_limit;
use crate::pages::{self, Granted};
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;

impl<I: Index> CooPattern<I> {
    /// The same pattern in compressed format. The columns are shared; the offsets are counted.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the offsets of the lanes need more than `limit` bytes.
    pub fn to_csr_with_limit(&self, limit: u64) -> Result<CsrPattern<I>> {
        let shape = self.shape();
        let columns = match self.shared_coords().last() {
            Some(columns) => Arc::clone(columns),
            None => Arc::new(vec![I::default(); self.nnz()]),
        };
        let lane_axes = shape.lane_axes();
        let coords = &self.shared_coords()[..lane_axes.len()];
        if let [rows] = coords {
            return CsrPattern::from_lane_of(shape.clone(), |entry| rows[entry].to_usize(), columns, limit);
        }
        let lane = |entry: usize| {
            let axes = coords.iter().zip(lane_axes);
            axes.fold(0usize, |lane, (axis, &length)| lane.wrapping_mul(length).wrapping_add(axis[entry].to_usize()))
        };
        CsrPattern::from_lane_of(shape.clone(), lane, columns, limit)
    }
}

impl<I: Index> CsrPattern<I> {
    /// The same pattern in coordinate format. The columns are shared; the coordinates of the lanes are written out.
    pub fn to_coo(&self) -> CooPattern<I> {
        pages::or_end(self.try_to_coo())
    }

    /// [`to_coo`](CsrPattern::to_coo), or the room that is missing.
    pub(super) fn try_to_coo(&self) -> Granted<CooPattern<I>> {
        let shape = self.shape();
        let lane_axes = shape.lane_axes();
        let coords = |axis: usize| {
            // As many lanes as the axes behind this one have positions share a coordinate.
            let (length, inner) = (lane_axes[axis], lane_axes[axis + 1..].iter().product::<usize>());
            let coord = |lane: usize| I::from_usize(if axis == 0 { lane } else { lane % length });
            spread(self.offsets(), inner, coord)
        };
        let coords: Vec<Vec<I>> = match self.nnz() {
            0 => vec![Vec::new(); lane_axes.len()],
            _ => (0..lane_axes.len()).map(coords).collect::<Granted<_>>()?,
        };
        let mut shared: Vec<_> = coords.into_iter().map(Arc::new).collect();
        if shape.rank() > 0 {
            shared.push(Arc::clone(self.shared_columns()));
        }
        Ok(CooPattern::from_valid(shape.clone(), self.nnz(), shared))
    }
}

impl<T: Element, I: Index> Tensor<CooPattern<I>, T> {
    /// The same tensor in compressed format: every entry is kept, columns and values are shared, the values until one of
    /// the two tensors is changed.
    ///
    /// All axes but the last become lanes, and there is an offset for each of them whether it stores anything or not;
    /// so a sparse tensor with vast leading axes has no compressed form.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the offsets need more than the larger of 1 GiB and 16 times this tensor's bytes.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank + lanes).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    ///
    /// let coo = CooTensor::new([3, 3], vec![vec![0, 2, 2], vec![1, 0, 2]], vec![7, 8, 9], 0)?;
    /// let csr = coo.to_csr()?;
    /// assert_eq!(csr.offsets(), [0, 1, 1, 3]);
    /// assert_eq!(csr.to_coo(), coo);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_csr(&self) -> Result<CsrTensor<T, I>> {
        self.to_csr_with_limit(default_limit(self.stored_bytes()))
    }

    /// [`to_csr`](Tensor::to_csr) with a byte limit of the caller's choice for the offsets.
    ///
    /// # Errors
    ///
    /// `TooLarge`: the offsets need more than `limit` bytes.
    pub fn to_csr_with_limit(&self, limit: u64) -> Result<CsrTensor<T, I>> {
        let pattern = self.pattern().to_csr_with_limit(limit)?;
        Ok(Tensor::from_shared(pattern, Arc::clone(self.shared_values()), self.fill()))
    }

    /// [`to_csr`](Tensor::to_csr), handing the values over: they can be changed without a copy.
    ///
    /// # Errors
    ///
    /// Those of [`to_csr`](Tensor::to_csr); the tensor is lost with them, so check with
    /// [`CooPattern::to_csr_with_limit`] where it must not be.
    pub fn into_csr(self) -> Result<CsrTensor<T, I>> {
        self.to_csr()
    }
}

impl<T: Element, I: Index> Tensor<CsrPattern<I>, T> {
    /// The same tensor in coordinate format: every entry is kept, columns and values are shared, the values until one of
    /// the two tensors is changed.
    ///
    /// # Complexity
    ///
    /// O(nnz · rank + lanes).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CsrTensor;
    ///
    /// let csr = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![7, 8, 9], 0)?;
    /// let coo = csr.to_coo();
    /// assert_eq!(coo.coords(0), [0, 1, 1]);
    /// assert_eq!(coo.to_dense()?, csr.to_dense()?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_coo(&self) -> CooTensor<T, I> {
        pages::or_end(self.try_to_coo())
    }

    /// [`to_coo`](Tensor::to_coo) for those who have an error to give where there is no room.
    pub(crate) fn try_to_coo(&self) -> Granted<CooTensor<T, I>> {
        Ok(Tensor::from_shared(self.pattern().try_to_coo()?, Arc::clone(self.shared_values()), self.fill()))
    }

    /// [`to_coo`](Tensor::to_coo), handing the values over: they can be changed without a copy.
    pub fn into_coo(self) -> CooTensor<T, I> {
        self.to_coo()
    }
}

impl<T: Element, I: Index> TryFrom<CooTensor<T, I>> for CsrTensor<T, I> {
    type Error = crate::Error;

    fn try_from(tensor: CooTensor<T, I>) -> Result<Self> {
        tensor.into_csr()
    }
}

impl<T: Element, I: Index> From<CsrTensor<T, I>> for CooTensor<T, I> {
    fn from(tensor: CsrTensor<T, I>) -> Self {
        tensor.into_coo()
    }
}
