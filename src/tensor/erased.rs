//! Tensors without the static types of their pattern. Kernels and drivers are compiled for these tensors, once per
//! element type.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::limit::{default_limit, filled};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::sort::gather;
use crate::pattern::{AnyPattern, Format, Pattern};
use crate::tensor::{Tensor, check_position, partition_point};

/// A tensor with dynamically typed format and coordinate width.
pub(crate) type Erased<T> = Tensor<AnyPattern, T>;

/// The borrowed parts of a tensor with any pattern. Operations accept it and return an [`Erased`] tensor.
pub(crate) struct SparseRef<'a, T> {
    pattern: &'a AnyPattern,
    values: &'a Buffer<T>,
    fill: T,
}

impl<T: Copy> Clone for SparseRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy> Copy for SparseRef<'_, T> {}

/// A borrowed or owned tensor with any pattern.
pub(crate) enum SparseCow<'a, T> {
    Borrowed(SparseRef<'a, T>),
    Owned(Erased<T>),
}

impl<T: Element> SparseCow<'_, T> {
    /// Returns the parts of the tensor.
    pub(crate) fn sparse(&self) -> SparseRef<'_, T> {
        match self {
            SparseCow::Borrowed(x) => *x,
            SparseCow::Owned(x) => x.sparse(),
        }
    }

    /// Returns the tensor as an owned tensor. A borrowed tensor shares its arrays with the result.
    pub(crate) fn into_erased(self) -> Erased<T> {
        match self {
            SparseCow::Borrowed(x) => x.to_erased(),
            SparseCow::Owned(x) => x,
        }
    }
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Returns a borrowed view without the static type of the pattern.
    pub(crate) fn sparse(&self) -> SparseRef<'_, T> {
        SparseRef { pattern: self.pattern().any(), values: self.shared_values(), fill: self.fill() }
    }
}

impl<P: Pattern, T> Tensor<P, T> {
    /// Returns the tensor without the static type of its pattern; its arrays are moved.
    pub(crate) fn into_erased(self) -> Erased<T> {
        Tensor { pattern: self.pattern.into_any(), values: self.values, fill: self.fill }
    }

    /// Converts the tensor that an operation computed to this static type.
    ///
    /// # Errors
    ///
    /// `AxisTooLong`: an axis is too long for the type of the coordinates.
    pub(crate) fn from_erased(erased: Erased<T>) -> Result<Self> {
        Ok(Tensor { pattern: P::from_any(erased.pattern)?, values: erased.values, fill: erased.fill })
    }
}

impl<T: Element> Erased<T> {
    /// Returns the same tensor in `format`; offsets of more than `limit` bytes are rejected.
    pub(crate) fn in_format(&self, format: Format, limit: u64) -> Result<Self> {
        let pattern = self.pattern().in_format(format, limit)?;
        Ok(Tensor::from_shared(pattern, self.shared_values().clone(), self.fill()))
    }
}

impl<'a, T: Element> SparseRef<'a, T> {
    /// Returns the pattern of a tensor, and a tensor without entries. A stream passes the values separately.
    #[cfg(feature = "lazy")]
    pub(crate) fn streamed(pattern: &'a AnyPattern, none: SparseRef<'a, T>) -> Self {
        SparseRef { pattern, ..none }
    }

    pub(crate) fn pattern(&self) -> &'a AnyPattern {
        self.pattern
    }

    pub(crate) fn shape(&self) -> &'a Shape {
        self.pattern.shape()
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape().rank()
    }

    pub(crate) fn nnz(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn values(&self) -> &'a [T] {
        self.values
    }

    pub(crate) fn shared_values(&self) -> &'a Buffer<T> {
        self.values
    }

    pub(crate) fn fill(&self) -> T {
        self.fill
    }

    /// Returns the number of bytes that the index arrays and the values occupy.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.pattern.index_bytes() + size_of_val(self.values())
    }

    /// Returns a tensor that shares every array.
    pub(crate) fn to_erased(self) -> Erased<T> {
        Tensor::from_shared(self.pattern.clone(), self.values.clone(), self.fill)
    }
}

/// The methods of [`Tensor`] with the same names.
impl<T: Element> SparseRef<'_, T> {
    pub(crate) fn to_vec(self, at: &[usize]) -> Result<Vec<T>> {
        check_position(&Shape::from(self.shape().lane_axes()), at, None)?;
        let limit = default_limit(self.stored_bytes());
        let columns = self.shape().columns();
        let mut row = filled("the row", self.fill(), columns as u128, limit, "iterate over the entries: x.iter()")?;
        let last = at.len();
        let is_before = |entry| (0..last).map(|axis| self.pattern().coord(entry, axis)).lt(at.iter().copied());
        let first = partition_point(self.nnz(), is_before);
        self.pattern().walk_range(first..first.saturating_add(columns), &mut |entry, coords| {
            let is_in_row = coords[..last] == *at;
            if is_in_row {
                row[coords.last().copied().unwrap_or(0)] = self.values()[entry];
            }
            is_in_row
        });
        Ok(row)
    }

    pub(crate) fn entries(self) -> Vec<(Vec<usize>, T)> {
        let mut entries = Vec::with_capacity(self.nnz());
        self.for_each_entry(|coords, value| entries.push((coords.to_vec(), value)));
        entries
    }

    pub(crate) fn for_each_entry(self, mut visit: impl FnMut(&[usize], T)) {
        self.pattern().walk_range(0..self.nnz(), &mut |entry, coords| {
            visit(coords, self.values()[entry]);
            true
        });
    }

    /// Returns the values of [`map_entries`](Tensor::map_entries).
    pub(crate) fn mapped(self, f: impl Fn(&[usize], T) -> T + Send + Sync) -> Allocated<Vec<T>> {
        threads::filled(self.nnz(), 3000, |entries, mapped: &mut [T]| {
            let mut slots = mapped.iter_mut().zip(&self.values()[entries.clone()]);
            let mut walk =
                |_: usize, coords: &[usize]| slots.next().map(|(slot, &value)| *slot = f(coords, value)).is_some();
            self.pattern().walk_range(entries, &mut walk);
        })
    }

    pub(crate) fn prune(self) -> Result<Erased<T>> {
        let kept = alloc::collect_some((0..self.nnz()).filter(|&entry| !self.values()[entry].same(self.fill())))?;
        if kept.len() == self.nnz() {
            return Ok(self.to_erased());
        }
        Ok(Tensor::from_valid(self.pattern().retain(&kept)?, gather(self.values(), &kept)?, self.fill()))
    }

    pub(crate) fn same_as(self, other: Self) -> bool {
        self.pattern() == other.pattern()
            && self.fill().same(other.fill())
            && self.values().iter().zip(other.values()).all(|(a, b)| a.same(*b))
    }
}
