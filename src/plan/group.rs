//! Which entries meet in one cell of a reduction, and the pattern of the cells that hold any.

use crate::base::alloc;
use crate::base::alloc::Allocated;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::kernels::group::Groups;
use crate::kernels::lanes::{accumulate, count_stored, stored_lanes};
use crate::kernels::sort;
use crate::pattern::{Pattern, zero_offsets};
use crate::plan::reduction::Reduction;

/// The plan of a reduction: forward and backward passes over the same pattern and axes share it.
pub(crate) struct Cells<P> {
    /// The cells that an entry falls into.
    pub(crate) pattern: P,
    /// The entries of each of these cells.
    pub(crate) groups: Groups,
}

impl<P: Pattern> Cells<P> {
    pub(crate) fn new(entries: &P, reduction: &Reduction) -> Result<Self> {
        if let Some(offsets) = entries.lane_offsets().filter(|_| reduction.is_last()) {
            return Ok(Cells { pattern: of_lanes(entries, offsets, reduction)?, groups: Groups::of_offsets(offsets)? });
        }
        let kept = reduction.kept().into_iter().map(|axis| entries.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
        let groups = match kept.is_empty() {
            true => Groups::of_all(entries.nnz()),
            false => Groups::of_coords(&kept, entries.nnz())?,
        };
        let firsts = groups.firsts()?;
        let kept = kept.iter().map(|axis| sort::gather(axis, &firsts)).collect::<Allocated<Vec<_>>>()?;
        Ok(Cells { pattern: of_coords(entries, reduction, kept, groups.len())?, groups })
    }
}

/// The pattern of `count` cells, by their coordinates on the kept axes.
pub(crate) fn of_coords<P: Pattern>(
    entries: &P,
    reduction: &Reduction,
    kept: Vec<Vec<P::Index>>,
    count: usize,
) -> Result<P> {
    let zeros = Buffer::from(alloc::zeros(if reduction.keeps_dims() { count } else { 0 })?);
    let axes = reduction.result_axes(kept.into_iter().map(Buffer::from), || zeros.clone());
    P::from_coords(reduction.result_shape(), count, axes, default_limit(entries.index_bytes()))
}

/// The pattern of the cells of a reduction over the last axis alone: the lanes, by their `offsets`, that hold an entry.
pub(crate) fn of_lanes<P: Pattern>(entries: &P, offsets: &[usize], reduction: &Reduction) -> Result<P> {
    let shape = reduction.result_shape();
    let width = shape.columns();
    let columns = stored_lanes(offsets, width)?.into();
    let mut cells = zero_offsets(&shape, default_limit(entries.index_bytes()))?;
    for (row, count) in cells[1..].iter_mut().enumerate() {
        *count = count_stored(&offsets[row * width..=(row + 1) * width]);
    }
    accumulate(&mut cells);
    P::from_lanes(shape, cells, columns)
}

/// The row-major position of an entry within its group.
pub(crate) fn position_in_group<P: Pattern>(entries: &P, reduction: &Reduction, entry: usize) -> u64 {
    reduction
        .reduced()
        .iter()
        .fold(0, |position, &axis| position * entries.shape()[axis] as u64 + entries.coord(entry, axis) as u64)
}
