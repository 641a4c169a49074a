//! What all reductions share: which axes go, what shape is left, and which entries meet in one cell.

use std::sync::Arc;

use crate::axes::Axes;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::kernels::cells::CellMap;
use crate::kernels::group::Groups;
use crate::kernels::merge::any_merged;
use crate::kernels::sort;
use crate::limit::default_limit;
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

    /// The call of `operation` over these axes, as a user writes it.
    fn spelled_call(&self, operation: &str) -> String {
        let axes = match (&self.reduced[..], self.keep_dims) {
            ([axis], false) => axis.to_string(),
            (axes, false) => format!("{axes:?}"),
            (axes, true) => format!("Axes::from({axes:?}).keep_dims()"),
        };
        let upstream = if operation.ends_with("backward") { "&upstream, " } else { "" };
        format!("{operation}({upstream}{axes})")
    }

    /// The cell of the result that the position `coords` is reduced into.
    pub(crate) fn cell_of(&self, coords: &[usize], cell: &mut Vec<usize>) {
        cell.clear();
        for (axis, &coord) in coords.iter().enumerate() {
            match self.goes[axis] {
                false => cell.push(coord),
                true if self.keep_dims => cell.push(0),
                true => {}
            }
        }
    }
}

/// A pattern that can be reduced over axes.
pub(crate) trait Reduce: Pattern {
    /// The pattern of the result, and for each of its entries the group of entries that meet there.
    ///
    /// The reduction is not elementwise: that case shares the pattern.
    fn reduce(&self, operation: &'static str, reduction: &Reduction) -> Result<(Self, Groups)>;

    /// The pattern of the result, and for each of its entries whether any of `values` that meet there is truthy; `None`
    /// where a map of the cells would be larger than what it saves.
    fn any_by_map<T: Element>(&self, _: &Reduction, _: &[T]) -> Option<(Self, Vec<bool>)> {
        None
    }
}

impl<I: Index> Reduce for CooPattern<I> {
    fn reduce(&self, _: &'static str, reduction: &Reduction) -> Result<(Self, Groups)> {
        let kept = reduction.kept();
        let coords: Vec<&[I]> = kept.iter().map(|&axis| self.coords(axis)).collect();
        let groups = match kept.is_empty() {
            true => Groups::of_all(self.nnz()),
            false => Groups::of_coords(&coords, self.nnz()),
        };
        let firsts = groups.firsts();
        let zeros = Arc::new(vec![I::default(); firsts.len()]);
        let axes = (0..self.shape().rank()).filter_map(|axis| match reduction.goes[axis] {
            false => Some(Arc::new(sort::gather(self.coords(axis), &firsts))),
            true => reduction.keep_dims.then(|| Arc::clone(&zeros)),
        });
        Ok((CooPattern::from_valid(reduction.result_shape(), firsts.len(), axes.collect()), groups))
    }

    fn any_by_map<T: Element>(&self, reduction: &Reduction, values: &[T]) -> Option<(Self, Vec<bool>)> {
        let (kept, lengths) = (reduction.kept(), reduction.kept_lengths());
        if kept.is_empty() {
            return None;
        }
        let coords: Vec<&[I]> = kept.iter().map(|&axis| self.coords(axis)).collect();
        let (coords, truths) = match CellMap::pays(saturating_product(&lengths), self.nnz()) {
            true => CellMap::of_values(&coords, &lengths, values).into_arrays(&lengths),
            false => any_merged(&coords, self.nnz(), |entry| values[entry].is_truthy()),
        };
        let mut coords = coords.into_iter().map(Arc::new);
        let zeros = Arc::new(vec![I::default(); if reduction.keep_dims { truths.len() } else { 0 }]);
        let axes = (0..self.shape().rank()).filter_map(|axis| match reduction.goes[axis] {
            false => coords.next(),
            true => reduction.keep_dims.then(|| Arc::clone(&zeros)),
        });
        let axes = axes.collect();
        Some((CooPattern::from_valid(reduction.result_shape(), truths.len(), axes), truths))
    }
}

impl<I: Index> Reduce for CsrPattern<I> {
    fn reduce(&self, operation: &'static str, reduction: &Reduction) -> Result<(Self, Groups)> {
        let rank = self.shape().rank();
        let limit = default_limit(self.index_bytes());
        let shape = reduction.result_shape();
        if reduction.reduced.len() == rank {
            let groups = Groups::of_all(self.nnz());
            let columns = Arc::new(vec![I::default(); groups.len()]);
            let lanes = (0..groups.len()).map(|_| 0);
            return Ok((CsrPattern::from_lanes(shape, lanes, columns, limit)?, groups));
        }
        if reduction.reduced != [rank - 1] {
            let instead = format!("x.to_coo().{}", reduction.spelled_call(operation));
            return Err(Error::CsrAxes { operation, axes: reduction.reduced.clone(), rank, instead });
        }
        let width = if reduction.keep_dims { 1 } else { self.shape()[rank - 2] };
        let (lanes, columns) = stored_lanes(self.offsets(), width);
        let pattern = CsrPattern::from_lane_of(shape, |entry| lanes[entry], Arc::new(columns), limit)?;
        Ok((pattern, Groups::of_offsets(self.offsets())))
    }
}

/// The lanes that store anything, as row-major positions of a tensor with so many columns: their rows and columns.
fn stored_lanes<I: Index>(offsets: &[usize], width: usize) -> (Vec<usize>, Vec<I>) {
    let stored = offsets.windows(2).filter(|ends| ends[0] < ends[1]).count();
    let (mut rows, mut columns) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
    let (mut row, mut column) = (0, 0);
    for ends in offsets.windows(2) {
        if ends[0] < ends[1] {
            rows.push(row);
            columns.push(I::from_usize(column));
        }
        // Counted, not divided: a division for each lane would take longer than all else.
        column += 1;
        if column == width {
            (row, column) = (row + 1, 0);
        }
    }
    (rows, columns)
}
