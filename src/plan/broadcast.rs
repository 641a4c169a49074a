//! A pattern repeated along axes, so that it has a larger shape.

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, check_axes};
use crate::base::shape::{Shape, saturating_product};
use crate::kernels::sort::gather;
use crate::pattern::Pattern;
use crate::plan::take::Selected;

/// The entries of `pattern` in `shape`, which it is broadcast to: axes are added in front, and those of length 1 are
/// repeated. Values of `value_bytes` are counted with the rest against `limit`.
pub(crate) fn broadcast<P: Pattern>(pattern: &P, shape: &Shape, value_bytes: usize, limit: u64) -> Result<Selected<P>> {
    check_axes::<P::Index>(shape)?;
    let added = shape.rank() - pattern.shape().rank();
    let repeats = |axis: &usize| *axis < added || pattern.shape()[axis - added] != shape[*axis];
    let repeated: Vec<usize> = (0..shape.rank()).filter(repeats).collect();
    let times = saturating_product(repeated.iter().map(|&axis| &shape[axis]));
    let entry_bytes = shape.rank() * size_of::<P::Index>() + value_bytes + size_of::<usize>();
    let bytes = times.saturating_mul(pattern.nnz() as u128).saturating_mul(entry_bytes as u128);
    if bytes > u128::from(limit) {
        let instead = "broadcast a part of it, or an array";
        return Err(Error::TooLarge { what: "the entries of a tensor that is broadcast", bytes, limit, instead });
    }
    let mut plan = Repeated { sources: alloc::collect(0..pattern.nnz())?, axes: Vec::new() };
    for &axis in repeated.iter().rev() {
        plan.repeat(pattern, axis, axis.saturating_sub(added), shape[axis])?;
    }
    let Repeated { sources, mut axes } = plan;
    let coords = (0..shape.rank()).map(|axis| match axes.last() {
        Some((repeated, _)) if *repeated == axis => Ok(axes.pop().map(|(_, coords)| coords.into()).unwrap_or_default()),
        _ => gather(&pattern.axis_coords(axis - added)?, &sources).map(Buffer::from),
    });
    let coords = coords.collect::<Allocated<_>>()?;
    Ok(Selected { pattern: P::from_coords(shape.clone(), sources.len(), coords, limit)?, sources })
}

/// Entries that are repeated along some axes, the last axes first.
struct Repeated<I> {
    /// Of each the entry that it comes from.
    sources: Vec<usize>,
    /// The coordinates on the axes so far.
    axes: Vec<(usize, Vec<I>)>,
}

impl<I: Index> Repeated<I> {
    /// Repeats the entries that agree on the axes before `own` of `pattern`, together, so many times.
    fn repeat<P: Pattern<Index = I>>(&mut self, pattern: &P, axis: usize, own: usize, times: usize) -> Allocated<()> {
        let before = (0..own).map(|axis| pattern.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
        let agree = |a: &usize, b: &usize| before.iter().all(|axis| axis[*a] == axis[*b]);
        let total = self.sources.len() * times;
        let (mut sources, mut coords) = (alloc::with_capacity(total)?, alloc::with_capacity(total)?);
        let mut lists = self.axes.iter().map(|_| alloc::with_capacity(total)).collect::<Allocated<Vec<_>>>()?;
        let mut start = 0;
        for run in self.sources.chunk_by(agree) {
            let range = start..start + run.len();
            for coord in 0..times {
                sources.extend_from_slice(run);
                coords.resize(sources.len(), I::from_usize(coord));
                let known = lists.iter_mut().zip(&self.axes);
                known.for_each(|(list, (_, coords))| list.extend_from_slice(&coords[range.clone()]));
            }
            start = range.end;
        }
        self.sources = sources;
        self.axes.iter_mut().zip(lists).for_each(|((_, coords), list)| *coords = list);
        self.axes.push((axis, coords));
        Ok(())
    }
}
