//! Operands without the static types of their patterns and dimensions. Gradients are compiled for these, once per
//! element type.

use ndarray::{ArrayViewD, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::dense_bytes;
use crate::element::Element;
use crate::kernels::lookup::{Lookup, merge};
use crate::kernels::output_bitmap::CellMap;
use crate::ops::reduce::sparse::at_entries_of;
use crate::ops::zip::sparse::{InShape, in_shape};
use crate::pattern::AnyPattern;
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// A sparse tensor, a stored view of one, or an array.
pub struct OperandRef<'a, T>(Kind<'a, T>);

enum Kind<'a, T> {
    /// A tensor, with the value of its unstored positions; `None` for a stored view.
    Sparse(InShape<'a, T>, Option<T>),
    Array(ArrayViewD<'a, T>),
}

impl<'a, T: Element> OperandRef<'a, T> {
    pub(super) fn of_tensor(x: SparseRef<'a, T>, gap: Option<T>) -> Self {
        OperandRef(Kind::Sparse(InShape::Own(x), gap))
    }

    pub(super) fn of_array(x: ArrayViewD<'a, T>) -> Self {
        OperandRef(Kind::Array(x))
    }

    /// Returns the lengths of the axes.
    pub(in crate::ops) fn lengths(&self) -> &[usize] {
        match &self.0 {
            Kind::Sparse(x, _) => x.sparse().shape(),
            Kind::Array(x) => x.shape(),
        }
    }

    pub(in crate::ops) fn is_sparse(&self) -> bool {
        matches!(self.0, Kind::Sparse(..))
    }

    /// Returns whether unstored positions count; they do not in a stored view.
    pub(in crate::ops) fn counts_gaps(&self) -> bool {
        !matches!(self.0, Kind::Sparse(_, None))
    }

    /// Returns the number of bytes that the operand holds; repeated elements count once.
    pub(in crate::ops) fn held_bytes(&self) -> usize {
        match &self.0 {
            Kind::Sparse(x, _) => x.sparse().stored_bytes(),
            Kind::Array(x) => dense_bytes(x),
        }
    }

    /// Returns the number of stored entries; 0 for an array.
    pub(in crate::ops) fn entry_count(&self) -> usize {
        match &self.0 {
            Kind::Sparse(x, _) => x.sparse().nnz(),
            Kind::Array(_) => 0,
        }
    }

    /// Returns the entries in coordinate format; `None` for an array.
    pub(in crate::ops) fn entries(&self) -> Result<Option<AnyPattern>> {
        match &self.0 {
            Kind::Sparse(x, _) => Ok(Some(x.sparse().pattern().to_coo()?.with_part_of(None))),
            Kind::Array(_) => Ok(None),
        }
    }

    /// Returns an operand that is true at each entry and false elsewhere; `None` for an array, which has no pattern.
    pub(in crate::ops) fn marks(&self) -> Result<Option<OperandRef<'static, bool>>> {
        let Kind::Sparse(x, _) = &self.0 else { return Ok(None) };
        let (pattern, marks) = (x.sparse().pattern().clone(), alloc::copies(true, x.sparse().nnz())?);
        let marks = InShape::Wide(Tensor::from_valid(pattern, marks, false));
        Ok(Some(OperandRef(Kind::Sparse(marks, Some(false)))))
    }

    /// Returns the value and the number of the unstored positions; `None` if they do not count.
    pub(in crate::ops) fn gap(&self) -> Option<(T, u128)> {
        let Kind::Sparse(x, Some(fill)) = &self.0 else { return None };
        let x = x.sparse();
        Some((*fill, x.shape().wide_size().saturating_sub(x.nnz() as u128)))
    }

    /// Returns this operand broadcast to a shape.
    pub(in crate::ops) fn in_shape(&self, shape: &Shape) -> Result<OperandRef<'_, T>> {
        Ok(OperandRef(match &self.0 {
            Kind::Sparse(x, gap) => Kind::Sparse(in_shape(x.sparse(), shape)?, *gap),
            Kind::Array(x) => {
                Kind::Array(x.broadcast(IxDyn(shape)).expect("the shape is one that the array broadcasts to"))
            }
        }))
    }

    /// Returns the elements at the entries of a pattern of this shape. Unstored positions of a stored view are zero.
    pub(in crate::ops) fn at_entries(&self, result: &AnyPattern) -> Result<Vec<T>> {
        match &self.0 {
            Kind::Sparse(x, gap) => at_entries(x.sparse(), gap.unwrap_or(T::ZERO), result),
            Kind::Array(x) => Ok(match x.as_slice() {
                Some(elements) => threads::map(&positions(result)?, 1500, |cell| elements[cell])?,
                None => look_up(result, |cell| x[IxDyn(cell)])?,
            }),
        }
    }

    /// Returns the elements at all positions, in row-major order. There are at most as many as in an existing array.
    fn all_cells(&self) -> Result<Vec<T>> {
        match &self.0 {
            Kind::Array(x) => Ok(alloc::collect(x.iter().copied())?),
            Kind::Sparse(x, gap) => match lookup(x.sparse(), gap.unwrap_or(T::ZERO), usize::MAX)? {
                Some(Lookup::Whole(elements)) => Ok(alloc::owned(elements)?),
                _ => unreachable!("of no more cells than look-ups all are there"),
            },
        }
    }

    /// Returns the elements of `other`, of this shape: at the entries of this operand, or everywhere if it is an array.
    pub(in crate::ops) fn elements_of<U: Element>(&self, other: &OperandRef<'_, U>) -> Result<Vec<U>> {
        match &self.0 {
            Kind::Sparse(x, _) => other.at_entries(x.sparse().pattern()),
            Kind::Array(_) => other.all_cells(),
        }
    }

    /// Returns the elements of `other`, broadcast to the shape of this operand: at its entries, or everywhere if it is
    /// an array. Repeated elements are looked up at the entries.
    pub(in crate::ops) fn elements_beside<U: Element>(
        &self,
        other: &OperandRef<'_, U>,
        shape: &Shape,
    ) -> Result<Vec<U>> {
        match &self.0 {
            Kind::Sparse(x, _) => other.beside_entries(x.sparse().pattern(), shape),
            Kind::Array(_) => other.in_shape(shape)?.all_cells(),
        }
    }

    /// Returns the elements at the entries of a pattern whose shape this operand is broadcast to.
    pub(in crate::ops) fn beside_entries(&self, pattern: &AnyPattern, shape: &Shape) -> Result<Vec<T>> {
        let added = shape.rank() - self.lengths().len();
        let with_rank: Shape = std::iter::repeat_n(1, added).chain(self.lengths().iter().copied()).collect();
        let repeated: Vec<usize> = (0..shape.rank()).filter(|&axis| with_rank[axis] != shape[axis]).collect();
        let own = self.in_shape(&with_rank)?;
        if repeated.is_empty() {
            return own.at_entries(pattern);
        }
        let axes = Axes::from(repeated).with_keep_dims(true);
        match own.0 {
            Kind::Sparse(x, gap) => {
                at_entries_of(pattern, &x.into_erased().with_fill(gap.unwrap_or(T::ZERO)), &axes, |element| element)
            }
            Kind::Array(x) => at_entries_of(pattern, &x, &axes, |element| element),
        }
    }
}

/// Number of merge steps that cost as much as one search.
const STEPS_PER_SEARCH: usize = 16;

/// Returns the elements at the entries of `result`; `fill` at the positions that this tensor does not store.
fn at_entries<T: Element>(tensor: SparseRef<'_, T>, fill: T, result: &AnyPattern) -> Result<Vec<T>> {
    if tensor.pattern() == result {
        return Ok(threads::map(tensor.values(), 300, |gradient| gradient)?);
    }
    if tensor.shape().checked_size().is_none() || result.nnz() < tensor.nnz() / STEPS_PER_SEARCH {
        let at = |cell: &[usize]| tensor.pattern().find(cell).map_or(fill, |entry| tensor.values()[entry]);
        return Ok(look_up(result, at)?);
    }
    Ok(merge(&positions(result)?, &positions(tensor.pattern())?, tensor.values(), fill)?)
}

/// Returns a lookup of the elements by flat index; `fill` at the positions that the tensor does not store.
pub(super) fn lookup<T: Element>(
    tensor: SparseRef<'_, T>,
    fill: T,
    entries: usize,
) -> Allocated<Option<Lookup<'_, T>>> {
    let cells = tensor.shape().checked_size().filter(|&cells| CellMap::pays(cells as u128, entries));
    let number = |start, numbers: &mut [usize]| tensor.pattern().number(start, numbers);
    cells.map(|cells| Lookup::new(cells, entries, tensor.values(), fill, number)).transpose()
}

/// Returns the flat indices of the entries; the caller ensures that they fit.
pub(in crate::ops) fn positions(pattern: &AnyPattern) -> Allocated<Vec<usize>> {
    threads::filled(pattern.nnz(), 1000, |range, positions| pattern.number(range.start, positions))
}

/// Returns the result of one lookup per entry of `result`.
fn look_up<G: Element>(result: &AnyPattern, gradient: impl Fn(&[usize]) -> G) -> Allocated<Vec<G>> {
    let mut gradients = alloc::with_capacity(result.nnz())?;
    result.walk_range(0..result.nnz(), &mut |_, cell| {
        gradients.push(gradient(cell));
        true
    });
    Ok(gradients)
}
