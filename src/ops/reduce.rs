//! What all reductions share: which axes go, what shape is left, and which entries meet in one cell.

use std::sync::Arc;

use crate::axes::Axes;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::kernels::any::{any_of_lanes, spread_table};
use crate::kernels::cells::CellMap;
use crate::kernels::group::Groups;
use crate::kernels::lanes::{count_stored, spread, stored_lanes};
use crate::kernels::merge::any_merged;
use crate::kernels::runs::any_of_runs;
use crate::kernels::sort;
use crate::limit::default_limit;
use crate::ops::upstream::Upstream;
use crate::pages::Granted;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::shape::{Shape, saturating_product};

/// A reduction over some axes of a shape.
pub(crate) struct Reduction {
    shape: Shape,
    /// The axes that go, in increasing order.
    reduced: Vec<usize>,
    /// For each axis whether it goes.
    goes: Vec<bool>,
    keep_dims: bool,
}

impl Reduction {
    pub(crate) fn new(shape: &Shape, axes: &Axes) -> Result<Self> {
        let reduced = axes.normalize(shape.rank())?;
        let mut goes = vec![false; shape.rank()];
        reduced.iter().for_each(|&axis| goes[axis] = true);
        Ok(Reduction { shape: shape.clone(), reduced, goes, keep_dims: axes.keeps_dims() })
    }

    /// Whether no axis goes, so that each position is a group of its own.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.reduced.is_empty()
    }

    /// The axes that go, in increasing order.
    pub(crate) fn reduced(&self) -> &[usize] {
        &self.reduced
    }

    /// The axes that stay, in increasing order.
    pub(crate) fn kept(&self) -> Vec<usize> {
        (0..self.shape.rank()).filter(|&axis| !self.goes[axis]).collect()
    }

    /// The lengths of the axes that go.
    pub(crate) fn reduced_lengths(&self) -> Vec<usize> {
        self.reduced.iter().map(|&axis| self.shape[axis]).collect()
    }

    /// The lengths of the axes that stay.
    pub(crate) fn kept_lengths(&self) -> Vec<usize> {
        self.kept().iter().map(|&axis| self.shape[axis]).collect()
    }

    /// The number of positions of each group, `u64::MAX` where it does not fit.
    pub(crate) fn extent(&self) -> u64 {
        u64::try_from(saturating_product(&self.reduced_lengths())).unwrap_or(u64::MAX)
    }

    /// The shape of the result.
    pub(crate) fn result_shape(&self) -> Shape {
        if !self.keep_dims {
            return self.kept_lengths().into();
        }
        let lengths = self.shape.iter().enumerate();
        lengths.map(|(axis, &length)| if self.goes[axis] { 1 } else { length }).collect()
    }

    /// Whether no axis stays.
    fn goes_all(&self) -> bool {
        self.reduced.len() == self.shape.rank()
    }

    /// Refuses other axes than the last one, the only one that the compressed format reduces alone.
    fn check_last(&self, operation: &'static str) -> Result<()> {
        let rank = self.shape.rank();
        if self.reduced == [rank - 1] {
            return Ok(());
        }
        let instead = format!("x.to_coo().{}", self.spelled_call(operation));
        Err(Error::CsrAxes { operation, axes: self.reduced.clone(), rank, instead })
    }

    /// The call of `operation` over these axes, as a user writes it.
    fn spelled_call(&self, operation: &str) -> String {
        let axes = match (&self.reduced[..], self.keep_dims) {
            ([axis], false) => axis.to_string(),
            (axes, false) => format!("{axes:?}"),
            (axes, true) => format!("Axes::from({axes:?}).keep_dims()"),
        };
        let upstream = if operation.contains("backward") { "&upstream, " } else { "" };
        let options = if operation.ends_with("with") { ", options" } else { "" };
        format!("{operation}({upstream}{axes}{options})")
    }
}

/// A pattern that can be reduced over axes.
pub(crate) trait Reduce: Pattern {
    /// The pattern of the result, and for each of its entries the group of entries that meet there.
    ///
    /// The reduction is not elementwise: that case shares the pattern.
    fn reduce(&self, operation: &'static str, reduction: &Reduction) -> Result<(Self, Groups)>;

    /// The pattern of the result, and for each of its entries whether any of `values` that meet there is truthy, without
    /// groups; `None` where they are needed.
    fn any_by_map<T: Element>(&self, reduction: &Reduction, values: &[T]) -> Result<Option<(Self, Vec<bool>)>>;

    /// The upstream gradient of the cell that each entry is reduced into, without groups; `None` where they are needed.
    fn spread<U: Upstream>(&self, reduction: &Reduction, upstream: &U) -> Result<Option<Vec<U::Elem>>>;
}

impl<I: Index> Reduce for CooPattern<I> {
    fn reduce(&self, _: &'static str, reduction: &Reduction) -> Result<(Self, Groups)> {
        let kept = reduction.kept();
        let coords: Vec<&[I]> = kept.iter().map(|&axis| self.coords(axis)).collect();
        let groups = match kept.is_empty() {
            true => Groups::of_all(self.nnz()),
            false => Groups::of_coords(&coords, self.nnz())?,
        };
        let firsts = groups.firsts();
        let zeros = Arc::new(vec![I::default(); firsts.len()]);
        let axes = (0..self.shape().rank()).filter_map(|axis| match reduction.goes[axis] {
            false => Some(sort::gather(self.coords(axis), &firsts).map(Arc::new)),
            true => reduction.keep_dims.then(|| Ok(Arc::clone(&zeros))),
        });
        let axes = axes.collect::<Granted<_>>()?;
        Ok((CooPattern::from_valid(reduction.result_shape(), firsts.len(), axes), groups))
    }

    fn any_by_map<T: Element>(&self, reduction: &Reduction, values: &[T]) -> Result<Option<(Self, Vec<bool>)>> {
        let (kept, lengths) = (reduction.kept(), reduction.kept_lengths());
        if kept.is_empty() {
            return Ok(None);
        }
        let coords: Vec<&[I]> = kept.iter().map(|&axis| self.coords(axis)).collect();
        let in_runs = reduction.goes.last() == Some(&true);
        let (coords, truths) = if reduction.goes.is_sorted() {
            any_of_runs(&coords, values)?
        } else if CellMap::pays(saturating_product(&lengths), self.nnz()) {
            CellMap::of_values(&coords, &lengths, values, in_runs).into_arrays(&lengths)?
        } else {
            any_merged(&coords, self.nnz(), |entry| values[entry].is_truthy())?
        };
        let mut coords = coords.into_iter().map(Arc::new);
        let zeros = Arc::new(vec![I::default(); if reduction.keep_dims { truths.len() } else { 0 }]);
        let axes = (0..self.shape().rank()).filter_map(|axis| match reduction.goes[axis] {
            false => coords.next(),
            true => reduction.keep_dims.then(|| Arc::clone(&zeros)),
        });
        let axes = axes.collect();
        Ok(Some((CooPattern::from_valid(reduction.result_shape(), truths.len(), axes), truths)))
    }

    fn spread<U: Upstream>(&self, reduction: &Reduction, upstream: &U) -> Result<Option<Vec<U::Elem>>> {
        let coords: Vec<&[I]> = reduction.kept().into_iter().map(|axis| self.coords(axis)).collect();
        let table = upstream.table(self.nnz());
        let spread = table.map(|table| spread_table(&table, &coords, &reduction.kept_lengths(), self.nnz()));
        Ok(spread.transpose()?)
    }
}

impl<I: Index> Reduce for CsrPattern<I> {
    fn reduce(&self, operation: &'static str, reduction: &Reduction) -> Result<(Self, Groups)> {
        if reduction.goes_all() {
            let groups = Groups::of_all(self.nnz());
            let columns = Arc::new(vec![I::default(); groups.len()]);
            let limit = default_limit(self.index_bytes());
            let lanes = (0..groups.len()).map(|_| 0);
            return Ok((CsrPattern::from_lanes(reduction.result_shape(), lanes, columns, limit)?, groups));
        }
        reduction.check_last(operation)?;
        Ok((self.stored_lanes(reduction)?, Groups::of_offsets(self.offsets())))
    }

    fn any_by_map<T: Element>(&self, reduction: &Reduction, values: &[T]) -> Result<Option<(Self, Vec<bool>)>> {
        if reduction.goes_all() {
            return Ok(None);
        }
        reduction.check_last("any")?;
        Ok(Some((self.stored_lanes(reduction)?, any_of_lanes(self.offsets(), values)?)))
    }

    fn spread<U: Upstream>(&self, reduction: &Reduction, upstream: &U) -> Result<Option<Vec<U::Elem>>> {
        if reduction.goes_all() {
            let gradient = upstream.at(&vec![0; reduction.result_shape().rank()]);
            return Ok(Some(vec![gradient; self.nnz()]));
        }
        reduction.check_last("any_backward")?;
        let table = upstream.table(self.offsets().len());
        Ok(table.map(|table| spread(self.offsets(), 1, |lane| table.get(lane))).transpose()?)
    }
}

impl<I: Index> CsrPattern<I> {
    /// The pattern of a result without the last axis: it stores the lanes that store anything.
    fn stored_lanes(&self, reduction: &Reduction) -> Result<Self> {
        let width = if reduction.keep_dims { 1 } else { self.shape()[self.shape().rank() - 2] };
        let columns = Arc::new(stored_lanes(self.offsets(), width)?);
        let count = |row: usize| count_stored(&self.offsets()[row * width..=(row + 1) * width]);
        CsrPattern::from_counts(reduction.result_shape(), count, columns, default_limit(self.index_bytes()))
    }
}
