//! Operands without the static types of their patterns and dimensions. Operations are compiled for these, once per
//! element type.

use std::borrow::Cow;

use ndarray::{ArrayD, ArrayViewD, CowArray, IxDyn};

use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::{copied, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::lookup::{Lookup, merge};
use crate::kernels::output_bitmap::CellMap;
#[cfg(feature = "lazy")]
use crate::kernels::stream::{States, ValueSource};
use crate::ops::operand::{ArrayMap, Operand, sealed};
use crate::pattern::{AnyPattern, Format, Pattern};
#[cfg(feature = "dynamic")]
use crate::plan::broadcast_match::whole_lengths;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseCow, SparseRef};

/// A sparse tensor, a stored view of one, or an array.
pub enum ErasedOperand<'a, T: Clone> {
    Sparse(SparseOperand<'a, T>),
    Array(DenseOperand<'a, T>),
}

/// A tensor whose unstored positions count, or do not count.
pub struct SparseOperand<'a, T> {
    pub(crate) tensor: SparseCow<'a, T>,
    pub(crate) counts_unstored: bool,
    /// The values, if the tensor does not hold them. Only reductions read them.
    #[cfg(feature = "lazy")]
    pub(crate) stream: Option<ValueStream<'a, T>>,
}

/// The values of a tensor that are computed when they are reduced.
#[cfg(feature = "lazy")]
pub(crate) struct ValueStream<'a, T> {
    pub(crate) values: &'a (dyn ValueSource<T> + 'a),
    /// The data in place of values, if another engine reads the values.
    pub(crate) states: Option<States<'a>>,
}

#[cfg(feature = "lazy")]
impl<T> Clone for ValueStream<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

#[cfg(feature = "lazy")]
impl<T> Copy for ValueStream<'_, T> {}

/// An array, or a chunk of one.
pub struct DenseOperand<'a, T: Clone> {
    pub(crate) array: CowArray<'a, T, IxDyn>,
    /// The lengths of the whole array, if this is a chunk.
    pub(crate) whole: Option<Shape>,
}

/// The result of an operation on erased operands.
pub enum ErasedResult<U> {
    Tensor(Erased<U>),
    Array(ArrayD<U>),
}

impl<'a, T: Element> SparseOperand<'a, T> {
    pub(crate) fn new(tensor: SparseRef<'a, T>, counts_unstored: bool) -> Self {
        SparseOperand::of(SparseCow::Borrowed(tensor), counts_unstored)
    }

    pub(crate) fn of(tensor: SparseCow<'a, T>, counts_unstored: bool) -> Self {
        SparseOperand {
            tensor,
            counts_unstored,
            #[cfg(feature = "lazy")]
            stream: None,
        }
    }

    /// Returns the tensor.
    pub(crate) fn sparse(&self) -> SparseRef<'_, T> {
        self.tensor.sparse()
    }

    /// Returns the value of unstored positions; `None` if they do not count.
    pub(crate) fn implicit(&self) -> Option<T> {
        self.counts_unstored.then(|| self.sparse().fill())
    }

    fn borrowed(&self) -> SparseOperand<'_, T> {
        SparseOperand { tensor: SparseCow::Borrowed(self.sparse()), ..*self }
    }
}

impl<T: Element> DenseOperand<'_, T> {
    /// Returns the array as a tensor with this fill, for results that store every element of the array.
    pub(crate) fn all_stored(&self, format: Format, fill: T) -> Result<Erased<T>> {
        let shape = Shape::from(self.array.shape());
        let limit = default_limit(dense_bytes(&self.array));
        let pattern = AnyPattern::every_position(&shape, Width::of_lengths(&shape))?.in_format(format, limit)?;
        Ok(Tensor::from_valid(pattern, copied(&self.array.view())?, fill))
    }
}

impl<T: Clone> DenseOperand<'_, T> {
    /// Returns the lengths of the array; of the whole array if this is a chunk.
    #[cfg(feature = "dynamic")]
    pub(in crate::ops) fn whole_lengths(&self) -> &[usize] {
        self.whole.as_deref().unwrap_or(self.array.shape())
    }
}

impl<'a, T: Clone> From<SparseOperand<'a, T>> for ErasedOperand<'a, T> {
    fn from(x: SparseOperand<'a, T>) -> Self {
        ErasedOperand::Sparse(x)
    }
}

impl<T: Element> From<Erased<T>> for ErasedOperand<'_, T> {
    fn from(tensor: Erased<T>) -> Self {
        SparseOperand::of(SparseCow::Owned(tensor), true).into()
    }
}

impl<'a, T: Clone> From<ArrayViewD<'a, T>> for ErasedOperand<'a, T> {
    fn from(array: ArrayViewD<'a, T>) -> Self {
        ErasedOperand::Array(DenseOperand { array: array.into(), whole: None })
    }
}

impl<T: Clone> From<ArrayD<T>> for ErasedOperand<'_, T> {
    fn from(array: ArrayD<T>) -> Self {
        ErasedOperand::Array(DenseOperand { array: array.into(), whole: None })
    }
}

impl<U> From<Erased<U>> for ErasedResult<U> {
    fn from(tensor: Erased<U>) -> Self {
        ErasedResult::Tensor(tensor)
    }
}

impl<U> From<ArrayD<U>> for ErasedResult<U> {
    fn from(array: ArrayD<U>) -> Self {
        ErasedResult::Array(array)
    }
}

impl<U: Element> From<ErasedResult<U>> for ErasedOperand<'static, U> {
    fn from(found: ErasedResult<U>) -> Self {
        match found {
            ErasedResult::Tensor(x) => x.into(),
            ErasedResult::Array(x) => x.into(),
        }
    }
}

impl<T: Element> From<ErasedOperand<'_, T>> for ErasedResult<T> {
    fn from(operand: ErasedOperand<'_, T>) -> Self {
        match operand {
            ErasedOperand::Sparse(x) => x.tensor.into_erased().into(),
            ErasedOperand::Array(x) => x.array.into_owned().into(),
        }
    }
}

impl<T: Element> ErasedOperand<'_, T> {
    /// Returns a result as an operand that counts the same positions as this operand.
    pub(in crate::ops) fn like<'a, U: Element>(&self, found: ErasedResult<U>) -> ErasedOperand<'a, U> {
        match found {
            ErasedResult::Tensor(found) => {
                let counts_unstored = !matches!(self, ErasedOperand::Sparse(x) if !x.counts_unstored);
                SparseOperand::of(SparseCow::Owned(found), counts_unstored).into()
            }
            ErasedResult::Array(found) => found.into(),
        }
    }
}

impl<U> ErasedResult<U> {
    pub(crate) fn into_tensor(self) -> Erased<U> {
        match self {
            ErasedResult::Tensor(x) => x,
            ErasedResult::Array(_) => unreachable!("the result of sparse operands is a tensor"),
        }
    }

    pub(crate) fn into_array(self) -> ArrayD<U> {
        match self {
            ErasedResult::Array(x) => x,
            ErasedResult::Tensor(_) => unreachable!("the result of arrays is an array"),
        }
    }
}

impl<A: Copy, B: Copy> ErasedResult<(A, B)> {
    /// Converts a result of pairs to a pair of results.
    pub(in crate::ops) fn unzip(self) -> Allocated<(ErasedResult<A>, ErasedResult<B>)> {
        Ok(match self {
            ErasedResult::Tensor(pairs) => {
                let (firsts, seconds) = pairs.unzip()?;
                (firsts.into(), seconds.into())
            }
            ErasedResult::Array(pairs) => {
                let firsts = alloc::collect(pairs.iter().map(|pair| pair.0))?;
                let seconds = alloc::collect(pairs.iter().map(|pair| pair.1))?;
                let shape = pairs.shape().into();
                (dense_array(&shape, firsts).into(), dense_array(&shape, seconds).into())
            }
        })
    }
}

impl<'a, T: Element> ErasedOperand<'a, T> {
    /// Returns the lengths of the axes.
    pub(crate) fn lengths(&self) -> &[usize] {
        match self {
            ErasedOperand::Sparse(x) => x.sparse().shape(),
            ErasedOperand::Array(x) => x.array.shape(),
        }
    }

    pub(in crate::ops) fn is_sparse(&self) -> bool {
        matches!(self, ErasedOperand::Sparse(_))
    }

    /// Returns whether unstored positions count; they do not in a stored view.
    pub(in crate::ops) fn counts_unstored(&self) -> bool {
        !matches!(self, ErasedOperand::Sparse(SparseOperand { counts_unstored: false, .. }))
    }

    /// Returns the number of bytes that the operand holds; repeated elements count once.
    pub(in crate::ops) fn held_bytes(&self) -> usize {
        match self {
            ErasedOperand::Sparse(x) => x.sparse().stored_bytes(),
            ErasedOperand::Array(x) => dense_bytes(&x.array),
        }
    }

    /// Returns the number of stored entries; 0 for an array.
    pub(in crate::ops) fn entry_count(&self) -> usize {
        match self {
            ErasedOperand::Sparse(x) => x.sparse().nnz(),
            ErasedOperand::Array(_) => 0,
        }
    }

    /// Returns the number of elements that an elementwise operation reads.
    pub(in crate::ops) fn element_count(&self) -> usize {
        match self {
            ErasedOperand::Sparse(x) => x.sparse().nnz().saturating_add(1),
            ErasedOperand::Array(x) => x.array.len(),
        }
    }

    /// Returns the entries in coordinate format; `None` for an array.
    pub(in crate::ops) fn entries(&self) -> Result<Option<AnyPattern>> {
        match self {
            ErasedOperand::Sparse(x) => Ok(Some(x.sparse().pattern().to_coo()?.with_part_of(None))),
            ErasedOperand::Array(_) => Ok(None),
        }
    }

    /// Returns an operand that is true at each entry and false elsewhere; `None` for an array, which does not have a
    /// pattern.
    pub(in crate::ops) fn marks(&self) -> Result<Option<ErasedOperand<'static, bool>>> {
        let ErasedOperand::Sparse(x) = self else { return Ok(None) };
        let (pattern, marks) = (x.sparse().pattern().clone(), alloc::copies(true, x.sparse().nnz())?);
        Ok(Some(Tensor::from_valid(pattern, marks, false).into()))
    }

    /// Returns the value and the number of the unstored positions; `None` if they do not count.
    pub(in crate::ops) fn implicit_with_count(&self) -> Option<(T, u128)> {
        let ErasedOperand::Sparse(operand) = self else { return None };
        let x = operand.sparse();
        Some((operand.implicit()?, x.shape().wide_size().saturating_sub(x.nnz() as u128)))
    }

    /// Returns the elements that are held one by one, in any order.
    pub(in crate::ops) fn held_elements(&self) -> Allocated<Cow<'_, [T]>> {
        match self {
            ErasedOperand::Sparse(x) => Ok(Cow::Borrowed(x.sparse().values())),
            ErasedOperand::Array(DenseOperand { array, .. }) => match array.as_slice_memory_order() {
                Some(elements) => Ok(Cow::Borrowed(elements)),
                None => copied(&array.view()).map(Cow::Owned),
            },
        }
    }

    /// Returns the elements at the entries of a pattern of this shape. Unstored positions of a stored view are zero.
    pub(crate) fn at_entries(&self, result: &AnyPattern) -> Result<Vec<T>> {
        match self {
            ErasedOperand::Sparse(x) => at_entries(x.sparse(), x.implicit().unwrap_or(T::ZERO), result),
            ErasedOperand::Array(DenseOperand { array: x, .. }) => Ok(match x.as_slice() {
                Some(elements) => threads::map(&positions(result)?, 1500, |cell| elements[cell])?,
                None => look_up(result, |cell| x[IxDyn(cell)])?,
            }),
        }
    }

    /// Returns a lookup of the elements by flat index, for `entries` lookups; `None` if there are too many positions
    /// for that.
    pub(in crate::ops) fn lookup(&self, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
        let x = match self {
            ErasedOperand::Sparse(x) => return lookup(x.sparse(), x.implicit().unwrap_or(T::ZERO), entries),
            ErasedOperand::Array(x) => &x.array,
        };
        Ok(match x.as_slice() {
            Some(elements) => Some(Lookup::Whole(Cow::Borrowed(elements))),
            None if x.len() <= entries => Some(Lookup::Whole(Cow::Owned(copied(&x.view())?))),
            None => None,
        })
    }

    /// Returns the elements of `other`, of this shape: at the entries of this operand, or everywhere if it is an array.
    pub(in crate::ops) fn elements_of<U: Element>(&self, other: &ErasedOperand<'_, U>) -> Result<Vec<U>> {
        match self {
            ErasedOperand::Sparse(x) => other.at_entries(x.sparse().pattern()),
            ErasedOperand::Array(_) => Ok(alloc::owned(all_elements(other)?)?),
        }
    }

    /// Returns the elements as an array, which is built if the operand is a tensor.
    #[cfg(feature = "dynamic")]
    pub(crate) fn dense(&self) -> Result<CowArray<'_, T, IxDyn>> {
        match self {
            ErasedOperand::Sparse(x) => Ok(x.sparse().to_erased().to_dense()?.into()),
            ErasedOperand::Array(x) => Ok(x.array.view().into()),
        }
    }

    /// Returns the lengths of the operand; of the whole operand if this is a chunk.
    #[cfg(feature = "dynamic")]
    pub(in crate::ops) fn whole_lengths(&self) -> &[usize] {
        match self {
            ErasedOperand::Sparse(x) => whole_lengths(x.sparse().pattern()),
            ErasedOperand::Array(x) => x.whole_lengths(),
        }
    }

    fn borrowed(&self) -> ErasedOperand<'_, T> {
        match self {
            ErasedOperand::Sparse(x) => x.borrowed().into(),
            ErasedOperand::Array(x) => {
                ErasedOperand::Array(DenseOperand { array: x.array.view().into(), whole: x.whole.clone() })
            }
        }
    }
}

impl<T: Clone> sealed::Sealed for ErasedOperand<'_, T> {}

impl<T: Element> Operand for ErasedOperand<'_, T> {
    type Elem = T;
    type Reduced<U> = ErasedResult<U>;
    type Mapped<U: Element> = ErasedResult<U>;
    type Product<Y: Operand> = ErasedResult<T>;
    type ProductWith<P: Pattern, U> = ErasedResult<U>;

    fn lengths(&self) -> &[usize] {
        ErasedOperand::lengths(self)
    }

    fn erased(&self) -> ErasedOperand<'_, T> {
        self.borrowed()
    }

    fn restore<U>(found: ErasedResult<U>) -> Result<ErasedResult<U>> {
        Ok(found)
    }

    fn by_kind<U>(
        &self,
        of_tensor: impl FnOnce(&SparseOperand<'_, T>) -> Result<Erased<U>>,
        of_array: impl FnOnce(&ArrayViewD<'_, T>) -> Result<ArrayD<U>>,
    ) -> Result<ErasedResult<U>> {
        Ok(match self {
            ErasedOperand::Sparse(x) => of_tensor(x)?.into(),
            ErasedOperand::Array(x) => of_array(&x.array.view())?.into(),
        })
    }

    fn mapped_by_kind<U: Element>(
        &self,
        of_tensor: impl FnOnce(&SparseOperand<'_, T>) -> Result<Erased<U>>,
        of_array: impl ArrayMap<T, U>,
    ) -> Result<ErasedResult<U>> {
        self.by_kind(of_tensor, |x| of_array.of(x.view()))
    }

    fn restore_product<Y: Operand>(found: ErasedResult<T>) -> Result<ErasedResult<T>> {
        Ok(found)
    }

    fn restore_product_with<P: Pattern, U>(found: ErasedResult<U>) -> Result<ErasedResult<U>> {
        Ok(found)
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
fn lookup<T: Element>(tensor: SparseRef<'_, T>, fill: T, entries: usize) -> Allocated<Option<Lookup<'_, T>>> {
    let cells = tensor.shape().checked_size().filter(|&cells| CellMap::pays(cells as u128, entries));
    let number = |start, numbers: &mut [usize]| tensor.pattern().number(start, numbers);
    cells.map(|cells| Lookup::new(cells, entries, tensor.values(), fill, number)).transpose()
}

/// Returns the elements at all positions, in row-major order. There are at most as many as in an existing array.
pub(in crate::ops) fn all_elements<'a, T: Element>(x: &'a ErasedOperand<'_, T>) -> Allocated<Cow<'a, [T]>> {
    match x.lookup(usize::MAX)? {
        Some(Lookup::Whole(elements)) => Ok(elements),
        _ => unreachable!("if there are at most as many cells as lookups, all cells are present"),
    }
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
