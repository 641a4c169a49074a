//! Products of matrices.
//!
//! Operands are [`Factor`]s without the static types of their patterns, and the result is a [`ProductResult`]. The
//! driver is therefore compiled only per element type and [`Semiring`].

mod backward;
mod contracted;
mod einsum;
pub(in crate::ops) mod factor;
pub(in crate::ops) mod listed;
mod matmul;
mod matmul_with;
mod matrix;
mod mttkrp;
pub(in crate::ops) mod outer;
mod sddmm;
pub(in crate::ops) mod softmax;
mod spec;
mod steps;
mod tensordot;
pub(in crate::ops) mod whole;

pub use crate::kernels::semiring::Semiring;
pub use einsum::{Einsum, einsum};
pub use matmul::matmul;
#[cfg(feature = "dynamic")]
pub(crate) use matmul_with::matmul_with_entries;
pub use matmul_with::{Matmul, matmul_with};
pub(crate) use matmul_with::{SEMIRINGS, ways};
pub use mttkrp::{mttkrp, ttm, ttv};
pub(crate) use outer::Pairs;
pub use outer::{kron, outer};
pub(crate) use sddmm::{check_factors, forward as dots_at, gradients as dots_at_backward};
pub use softmax::{log_softmax, softmax};
pub use tensordot::tensordot;
pub(crate) use tensordot::tensordot_shape;
// Inside the crate, a gradient is called `NAME_backward`.
pub(crate) use {backward::*, einsum::*, mttkrp::*, outer::*, sddmm::*, softmax::*, tensordot::*};

/// The gradients, by the names of their functions.
pub(super) mod grad {
    pub use super::backward::matmul_backward as matmul;
    pub use super::einsum::einsum_backward as einsum;
    pub use super::mttkrp::{mttkrp_backward as mttkrp, ttm_backward as ttm, ttv_backward as ttv};
    pub use super::outer::{kron_backward as kron, outer_backward as outer};
    pub use super::sddmm::{pattern_sddmm_backward as pattern_sddmm, sddmm_backward as sddmm};
    pub use super::softmax::{log_softmax_backward as log_softmax, softmax_backward as softmax};
    pub use super::tensordot::tensordot_backward as tensordot;
}

use factor::{Elements, Entries, Factor, ProductResult, SparseFactor, check_finite};

use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::unravel;
use crate::convert::check_result;
use crate::element::Element;
use crate::kernels::dense_sparse::{self, ProductLengths};
use crate::kernels::matrix::{MatrixEntries, Missing, RowMask};
use crate::kernels::nonfinite::{spread_nan_from_left, spread_nan_from_right};
use crate::kernels::sparse_dense;
use crate::kernels::sparse_sparse::{self, RowOperands};
use crate::kernels::zip::all_finite;
use crate::plan::product::Contraction;
use crate::plan::product_rows::{ByRows, ProductRows, RowEntries, masked_lines};

/// The positions at which a product is computed: the positions of a pattern, or all other positions.
#[derive(Clone, Copy)]
pub(super) struct Mask<'m> {
    pattern: &'m dyn ByRows,
    is_complement: bool,
}

/// A product: its name for errors, its semiring, and the treatment of unstored positions.
#[derive(Clone, Copy)]
pub(super) struct Product<S, T> {
    pub(super) operation: &'static str,
    pub(super) semiring: S,
    /// The result at positions without terms.
    pub(super) fill: T,
    /// True if unstored positions count, as zeros.
    pub(super) counts_unstored: bool,
}

impl<T: Element, S: Semiring<T>> Product<S, T> {
    /// Computes the product of two operands.
    pub(super) fn of(self, left: &Factor<'_, T>, right: &Factor<'_, T>) -> Result<ProductResult<T>> {
        if let (Factor::Entries(left), Factor::Entries(right)) = (left, right) {
            return Ok(ProductResult::Entries(Box::new(self.of_entries(left, right)?)));
        }
        let contraction = Contraction::new(self.operation, left.lengths(), right.lengths())?;
        let bytes = left.bytes().saturating_add(right.bytes());
        let limit = default_limit(bytes);
        check_result::<T>(&contraction.shape, bytes)?;
        let (shape, size) = (contraction.shape.clone(), contraction.shape.wide_size() as usize);
        if let Factor::Entries(entries) = left {
            self.check_fill(entries, "left")?;
        } else if let Factor::Entries(entries) = right {
            self.check_fill(entries, "right")?;
        }
        if contraction.is_trivial() {
            return Ok(ProductResult::Array(shape, alloc::copies(self.fill, size)?));
        }
        let items = match (left, right) {
            (Factor::Entries(left), Factor::Array(right)) => self.of_sparse(left, right, &contraction, limit)?,
            (Factor::Array(left), Factor::Entries(right)) => self.of_dense(left, right, &contraction, limit)?,
            (Factor::Array(left), Factor::Array(right)) => self.of_arrays(left, right, &contraction)?,
            (Factor::Entries(_), Factor::Entries(_)) => unreachable!("both are sparse"),
        };
        Ok(ProductResult::Array(shape, items))
    }

    fn check_fill(self, entries: &SparseFactor<'_, T>, side: &str) -> Result<()> {
        if self.counts_unstored { entries.check_fill(self.operation, side) } else { Ok(()) }
    }

    /// Computes the product of a sparse operand and an array.
    fn of_sparse(
        self,
        left: &SparseFactor<'_, T>,
        right: &Elements<'_, T>,
        contraction: &Contraction,
        limit: u64,
    ) -> Result<Vec<T>> {
        let lines = left.pattern.lines(false, false, false, limit)?;
        guard::<u8>("the rows of the array", contraction.inner as u128, 1 << 32, "multiply in chunks")?;
        let entries = MatrixEntries { rows: lines.rows(), values: left.values };
        let (width, row_map) = (contraction.width, |row| contraction.row_map(row));
        let rows = contraction.shape.wide_size() as usize / width;
        let right_rows = (&right.elements[..], contraction.inner);
        let mut items = sparse_dense::of_entries(self.semiring, entries, right_rows, (rows, width), &row_map)
            .map_err(|missing| self.missing(missing, contraction))?;
        if self.counts_unstored && left.implicit.is_some() && !all_finite(&right.elements) {
            spread_nan_from_right(entries, &right.elements, (contraction.inner, width), &row_map, &mut items)?;
        }
        Ok(items)
    }

    /// Computes the product of an array and a sparse operand.
    fn of_dense(
        self,
        left: &Elements<'_, T>,
        right: &SparseFactor<'_, T>,
        contraction: &Contraction,
        limit: u64,
    ) -> Result<Vec<T>> {
        let is_column = !contraction.has_axis[1];
        let lines = right.pattern.lines(is_column, false, false, limit)?;
        guard::<u8>("the columns of the result", contraction.width as u128, 1 << 32, "multiply in chunks")?;
        let Contraction { rows, inner, width, .. } = *contraction;
        let lengths = ProductLengths { count: contraction.count().unwrap_or(usize::MAX), rows, inner, width };
        let (entries, row_map) =
            (MatrixEntries { rows: lines.rows(), values: right.values }, |row| contraction.row_map(row));
        let mut items = dense_sparse::of_array(self.semiring, &left.elements, entries, lengths, &row_map)
            .map_err(|missing| self.missing(missing, contraction))?;
        if self.counts_unstored && right.implicit.is_some() && !all_finite(&left.elements) {
            spread_nan_from_left(&left.elements, lines.rows(), (inner, width), &row_map, &mut items)?;
        }
        Ok(items)
    }

    /// Computes the product of two arrays.
    fn of_arrays(self, left: &Elements<'_, T>, right: &Elements<'_, T>, contraction: &Contraction) -> Result<Vec<T>> {
        let (inner, width) = (contraction.inner, contraction.width);
        let (rows, left) = (contraction.shape.wide_size() as usize / width, (&*left.elements, inner));
        let row_map = |row| contraction.row_map(row);
        sparse_dense::of_arrays(self.semiring, left, &right.elements, (rows, width), &row_map)
            .map_err(|missing| self.missing(missing, contraction))
    }

    /// Returns the error of a dense result.
    fn missing(self, missing: Missing, contraction: &Contraction) -> Error {
        self.missing_at(missing, |place| {
            let mut coords = vec![0; contraction.shape.rank()];
            unravel(place, &contraction.shape, &mut coords);
            coords
        })
    }

    fn missing_at(self, missing: Missing, coords: impl Fn(usize) -> Vec<usize>) -> Error {
        match missing {
            Missing::Overflow(place) => {
                let (operation, dtype) = (self.operation, T::DTYPE.name());
                Error::Overflow { operation, coords: Some(coords(place)), dtype }
            }
            Missing::Memory(rejection) => rejection.into(),
        }
    }

    /// Computes the product of two operands at the positions of a mask only.
    pub(super) fn on(self, left: &Factor<'_, T>, right: &Factor<'_, T>, mask: Mask<'_>) -> Result<ProductResult<T>> {
        let (of_left, of_right) = (left.positions(), right.positions());
        let (scattered_left, scattered_right) = (left.scattered(&of_left), right.scattered(&of_right));
        if let (Factor::Entries(_), Factor::Entries(_)) = (left, right) {
            return Ok(ProductResult::Entries(Box::new(self.of_masked(
                &scattered_left,
                &scattered_right,
                Some(mask),
            )?)));
        }
        let contraction = Contraction::new(self.operation, left.lengths(), right.lengths())?;
        check_result::<T>(&contraction.shape, left.bytes().saturating_add(right.bytes()))?;
        self.of_masked(&scattered_left, &scattered_right, Some(mask))?.into_elements()
    }

    /// Computes the product of two sparse operands. If one is a stored view, both count as stored views.
    pub(super) fn of_entries(self, left: &SparseFactor<'_, T>, right: &SparseFactor<'_, T>) -> Result<Entries<T>> {
        self.of_masked(left, right, None)
    }

    fn of_masked(
        self,
        left: &SparseFactor<'_, T>,
        right: &SparseFactor<'_, T>,
        mask: Option<Mask<'_>>,
    ) -> Result<Entries<T>> {
        let contraction = Contraction::new(self.operation, left.lengths(), right.lengths())?;
        if let Some(mask) = mask.filter(|mask| *mask.pattern.shape() != contraction.shape) {
            let (expected, found) = (contraction.shape.clone(), mask.pattern.shape().clone());
            return Err(Error::ShapeMismatch { what: "the mask", expected, found });
        }
        let limit = default_limit(left.bytes.saturating_add(right.bytes));
        if self.counts_unstored && left.implicit.is_some() && right.implicit.is_some() {
            self.check_fill(left, "left")?;
            self.check_fill(right, "right")?;
            check_finite(self.operation, left, right)?;
        }
        // Only rows with entries are listed, unless the left operand is broadcast: then the result has as many rows
        // anyway.
        let may_list = contraction.left.is_whole;
        let mut of_left = left.pattern.lines(false, may_list, false, limit)?;
        let mut of_right = right.pattern.lines(!contraction.has_axis[1], may_list, true, limit)?;
        let is_linked = may_list && RowEntries::link(&mut of_left, &mut of_right, &contraction)?;
        let (placed, values) =
            self.meet((left, &of_left), (right, &of_right), &contraction, (is_linked, mask), limit)?;
        let placed = ProductRows { listed: of_left.listed, narrowed: of_right.narrowed, ..placed };
        let has_lanes = left.pattern.has_lanes();
        Ok(Entries { contraction, placed, values, fill: self.fill, has_lanes, limit })
    }

    fn meet(
        self,
        (left, of_left): (&SparseFactor<'_, T>, &RowEntries),
        (right, of_right): (&SparseFactor<'_, T>, &RowEntries),
        contraction: &Contraction,
        (is_linked, mask): (bool, Option<Mask<'_>>),
        limit: u64,
    ) -> Result<(ProductRows, Vec<T>)> {
        let row_map = |row| match is_linked {
            true => (row, 0),
            false if of_left.listed.is_some() => (row, contraction.row_map(of_left.number(row)).1),
            false => contraction.row_map(row),
        };
        let rows = self.rows(of_left, contraction, limit)?;
        let width = of_right.width(contraction.width);
        let lines = mask.map(|mask| masked_lines(mask.pattern, contraction, [of_left, of_right], rows, limit));
        let lines = lines.transpose()?;
        let mask = lines.as_ref().zip(mask);
        let mask = mask.map(|(lines, mask)| RowMask { rows: lines.rows(), is_complement: mask.is_complement });
        let operands =
            RowOperands { left: of_left.rows(), right: of_right.rows(), width, rows, row_map: &row_map, mask };
        let work = operands.work()?;
        // The work counts one more unit per row.
        let pairs = work.last().map_or(0, |work| work.saturating_sub(rows));
        let each = size_of::<T>() + size_of::<u32>();
        let bytes = (pairs as u128).saturating_mul(each as u128);
        let rejection = guard::<u8>("the product", bytes, limit, "multiply in chunks");
        if rejection.is_err() && operands.count(&work, usize::try_from(limit).unwrap_or(usize::MAX) / each)?.is_none() {
            rejection?;
        }
        let places = operands.places(&work)?;
        let placed = |places: sparse_sparse::ProductPattern| {
            let (listed, narrowed) = (of_left.listed.clone(), of_right.narrowed.clone());
            ProductRows { offsets: places.offsets, columns: places.columns, listed, narrowed }
        };
        match sparse_sparse::values(self.semiring, (left.values, right.values), &operands, (&places, &work)) {
            Ok(values) => Ok((ProductRows { listed: None, narrowed: None, ..placed(places) }, values)),
            Err(missing) => {
                let placed = placed(places);
                Err(self.missing_at(missing, |entry| placed.coords(entry, contraction)))
            }
        }
    }

    /// Returns the number of rows of the result: the listed rows, or all rows.
    fn rows(self, left: &RowEntries, contraction: &Contraction, limit: u64) -> Result<usize> {
        if contraction.left.is_whole {
            return Ok(left.count());
        }
        let rows = contraction.batch.wide_size().saturating_mul(contraction.rows as u128);
        guard::<usize>("the rows of the product", rows, limit, "multiply in chunks")?;
        Ok(rows as usize)
    }
}
