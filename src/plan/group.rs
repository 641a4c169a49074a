//! The groups of a reduction, and the pattern of the output elements that have entries.

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::limit::{default_limit, guard};
#[cfg(all(feature = "eval", not(test)))]
use crate::base::shape::step;
use crate::base::shape::{saturating_product, unravel};
use crate::base::threads;
use crate::kernels::group::Groups;
use crate::kernels::lanes::{ReduceLanes, Reduced, reduce_stored};
use crate::kernels::sort;
use crate::kernels::stream::FeedOutputs;
use crate::pattern::{
    AnyPattern, AxisCoords, by_slices, by_width, for_plan, of_plan, of_width, planned, slices, zero_offsets,
};
use crate::plan::reduction::Reduction;

/// The rule by which entries form groups.
pub(crate) enum GroupRule<'a> {
    /// The entries of consecutive lanes, if trailing axes are reduced. The offsets are the start of each group, then
    /// the end of the last group.
    Lanes(Cow<'a, [usize]>),
    /// The entries with equal coordinates on the kept axes; all entries if every axis is reduced.
    Coords(Few<AxisCoords>),
}

impl<'a> GroupRule<'a> {
    pub(crate) fn new(entries: &'a AnyPattern, reduction: &Reduction) -> Allocated<Self> {
        let lanes = reduction.lanes_per_output().zip(entries.lane_offsets());
        Ok(match lanes {
            Some((1, offsets)) => GroupRule::Lanes(Cow::Borrowed(offsets)),
            Some((lanes, offsets)) => GroupRule::Lanes(Cow::Owned(every(lanes, offsets)?)),
            None => {
                let kept = reduction.kept().iter().map(|&axis| reduction.kept_coords(entries, axis));
                GroupRule::Coords(kept.collect::<Allocated<_>>()?)
            }
        })
    }
}

/// The plan that a memo keeps: the coordinates on the kept axes, if entries are grouped by them.
pub(crate) struct KeptCoords(Vec<AxisCoords>);

impl KeptCoords {
    pub(crate) fn of(entries: &AnyPattern, reduction: &Reduction) -> Result<Arc<Self>> {
        let coords = |&axis: &usize| reduction.kept_coords(entries, axis);
        let by_lanes = reduction.lanes_per_output().zip(entries.lane_offsets());
        let kept = if by_lanes.is_some() { &[] } else { reduction.kept() };
        let key = || ("coords", reduction.clone());
        planned(entries, key, || Ok(KeptCoords(kept.iter().map(coords).collect::<Allocated<_>>()?)))
    }

    /// Returns the rule by which the entries of the pattern form groups.
    pub(crate) fn group_rule<'a>(&self, entries: &'a AnyPattern, reduction: &Reduction) -> Allocated<GroupRule<'a>> {
        match &self.0[..] {
            [] => GroupRule::new(entries, reduction),
            axes => Ok(GroupRule::Coords(axes.iter().cloned().collect())),
        }
    }
}

/// Returns the pattern of the output elements. If plans are kept, each call returns the same pattern.
pub(crate) fn kept_outputs(entries: &AnyPattern, reduction: &Reduction, cells: AnyPattern) -> Result<AnyPattern> {
    if entries.memo().is_none() {
        return Ok(cells);
    }
    let key = || ("cells", reduction.clone());
    let kept = planned(entries, key, || Ok(for_plan(entries, cells)))?;
    Ok(of_plan(entries, &kept))
}

/// Returns the offsets of groups of `lanes` consecutive lanes.
fn every(lanes: usize, offsets: &[usize]) -> Allocated<Vec<usize>> {
    threads::filled((offsets.len() - 1) / lanes + 1, 1000, |range, starts| {
        starts.iter_mut().zip(range).for_each(|(start, lane)| *start = offsets[lane * lanes]);
    })
}

/// The plan of a reduction, shared by forward and backward passes over one pattern and axes.
#[derive(Clone)]
pub(crate) struct ReductionPlan {
    /// The output elements that have an entry.
    pub(crate) pattern: AnyPattern,
    /// The entries of each of these output elements.
    pub(crate) groups: Arc<Groups>,
}

impl ReductionPlan {
    pub(crate) fn new(entries: &AnyPattern, reduction: &Reduction) -> Result<Self> {
        let of = || ReductionPlan::of(entries, reduction, GroupRule::new(entries, reduction)?);
        if entries.memo().is_none() {
            return of();
        }
        let cells = planned(entries, || ("groups", reduction.clone()), of)?;
        let pattern = kept_outputs(entries, reduction, cells.pattern.clone())?;
        Ok(ReductionPlan { pattern, groups: Arc::clone(&cells.groups) })
    }

    pub(crate) fn of(entries: &AnyPattern, reduction: &Reduction, group_rule: GroupRule<'_>) -> Result<Self> {
        let kept = match group_rule {
            GroupRule::Lanes(offsets) => {
                let listed = |_, _: &[usize], _: &mut [()]| Ok(());
                let (pattern, _) = of_lanes(entries, &offsets, reduction, &listed)?;
                return Ok(ReductionPlan { pattern, groups: Groups::of_offsets(offsets)?.into() });
            }
            GroupRule::Coords(kept) => kept,
        };
        let groups = match kept.is_empty() {
            true => Groups::of_all(entries.nnz()),
            false => by_slices!(&kept, own => Groups::of_coords(&own, entries.nnz()))?,
        };
        let firsts = groups.firsts()?;
        let kept = kept.iter().map(|axis| axis.gather(&firsts)).collect::<Allocated<Vec<_>>>()?;
        Ok(ReductionPlan { pattern: of_coords(entries, reduction, kept, groups.len())?, groups: groups.into() })
    }
}

/// Returns the pattern of `count` output elements, from their coordinates on the kept axes.
pub(crate) fn of_coords(
    entries: &AnyPattern,
    reduction: &Reduction,
    kept: Vec<AxisCoords>,
    count: usize,
) -> Result<AnyPattern> {
    let width = kept.first().map_or(entries.width(), AxisCoords::width);
    let zeros = reduction.keeps_dims().then(|| AxisCoords::zeros(count, width)).transpose()?;
    let axes = reduction.result_axes(kept, || zeros.clone().unwrap_or_else(|| AxisCoords::empty(width)));
    entries.of_coords(reduction.result_shape(), count, axes, default_limit(entries.index_bytes()))
}

/// Returns the pattern of output elements, from their row-major indices in order.
pub(crate) fn of_numbers(entries: &AnyPattern, reduction: &Reduction, cells: &[usize]) -> Result<AnyPattern> {
    let lengths = reduction.kept_lengths();
    let kept = of_width!(entries.width_for(lengths), I => coords_of::<I>(cells, lengths))?;
    of_coords(entries, reduction, kept, cells.len())
}

/// Returns the coordinates within `lengths` for row-major indices.
fn coords_of<I: Index>(cells: &[usize], lengths: &[usize]) -> Allocated<Vec<AxisCoords>> {
    let (mut coords, mut axes) = (vec![0; lengths.len()], Vec::new());
    for _ in lengths {
        axes.push(alloc::with_capacity(cells.len())?);
    }
    for &cell in cells {
        unravel(cell, lengths, &mut coords);
        axes.iter_mut().zip(&coords).for_each(|(axis, &coord)| axis.push(I::from_usize(coord)));
    }
    Ok(axes.into_iter().map(AxisCoords::from).collect())
}

/// The output elements of entries that arrive in chunks, as row-major indices over some axes.
pub(crate) struct OutputIndices<'a> {
    axes: &'a [usize],
    lengths: &'a [usize],
    /// The indices of one chunk.
    numbers: Vec<usize>,
    done: Allocated<()>,
}

impl<'a> OutputIndices<'a> {
    pub(crate) fn new(axes: &'a [usize], lengths: &'a [usize]) -> Self {
        OutputIndices { axes, lengths, numbers: Vec::new(), done: Ok(()) }
    }

    /// Passes the values of a chunk with their output elements to `take`, unless an earlier allocation failed.
    pub(crate) fn feed<T>(&mut self, piece: &AnyPattern, values: &[T], take: &mut FeedOutputs<'_, T>) {
        if self.done.is_ok() {
            self.done = self.number(piece);
            self.done.iter().for_each(|()| take(&self.numbers, values));
        }
    }

    fn number(&mut self, piece: &AnyPattern) -> Allocated<()> {
        self.numbers.clear();
        alloc::reserve(&mut self.numbers, piece.nnz())?;
        self.numbers.resize(piece.nnz(), 0);
        let coords = self.axes.iter().map(|&axis| piece.axis(axis)).collect::<Allocated<Few<_>>>()?;
        slices(&coords).number(self.lengths, 0, &mut self.numbers);
        Ok(())
    }

    /// Returns an error if an allocation failed.
    pub(crate) fn finish(self) -> Allocated<()> {
        self.done
    }
}

#[cfg(all(feature = "eval", not(test)))]
impl OutputIndices<'_> {
    /// [`feed`](Self::feed) for a chunk of an array, whose values are in row-major order.
    pub(crate) fn feed_all<T>(&mut self, lengths: &[usize], values: &[T], take: &mut FeedOutputs<'_, T>) {
        if self.done.is_ok() {
            self.done = self.number_all(lengths, values.len());
            self.done.iter().for_each(|()| take(&self.numbers, values));
        }
    }

    fn number_all(&mut self, lengths: &[usize], size: usize) -> Allocated<()> {
        // The change of the output index per step along each axis of the chunk.
        let [mut steps, mut coords]: [Vec<usize>; 2] = [alloc::zeros(lengths.len())?, alloc::zeros(lengths.len())?];
        let mut all = 1;
        for (&axis, &length) in self.axes.iter().zip(self.lengths).rev() {
            steps[axis] = all;
            all *= length;
        }
        self.numbers.clear();
        alloc::reserve(&mut self.numbers, size)?;
        for _ in 0..size {
            self.numbers.push(coords.iter().zip(&steps).map(|(coord, step)| coord * step).sum());
            step(&mut coords, lengths);
        }
        Ok(())
    }
}

/// Returns the output elements of a reduction over trailing axes, and their results.
///
/// The output elements are the lanes that have an entry; `offsets` are the offsets of all lanes. `reduce` computes the
/// results, as in [`reduce_stored`].
pub(crate) fn of_lanes<U: Zeroable + Copy + Send>(
    entries: &AnyPattern,
    offsets: &[usize],
    reduction: &Reduction,
    reduce: &ReduceLanes<'_, U, Error>,
) -> Result<(AnyPattern, Vec<U>)> {
    let shape = reduction.result_shape();
    let mut cells = zero_offsets(&shape, default_limit(entries.index_bytes()))?;
    let Reduced { row_ends, columns, results } = reduce_stored(offsets, shape.columns(), entries.width(), reduce)?;
    // Rows without lanes are not in `row_ends` and keep an end of 0.
    cells[1..].iter_mut().zip(row_ends).for_each(|(end, stored)| *end = stored);
    Ok((entries.of_lanes(shape, cells.into(), columns)?, results))
}

/// Returns the row-major position of an entry within its group.
pub(crate) fn position_in_group(entries: &AnyPattern, reduction: &Reduction, entry: usize) -> u128 {
    reduction.position_in_group(|axis| entries.coord(entry, axis))
}

/// Returns the number of positions per output element of a reduction by labels, from the number per label.
pub(crate) fn extents_of(cells: &AnyPattern, reduction: &Reduction, extents: &[u128]) -> Allocated<Vec<u128>> {
    by_width!(&labels_of(cells, reduction)?, labels => threads::map(labels, 1000, |label| extents[label.to_usize()]))
}

/// Returns the output elements of a reduction by labels, extended by all output elements of labels without entries.
///
/// The list has one item per output element: its index among the given output elements, or a larger index for an added
/// output element.
pub(crate) fn with_labels(
    cells: &AnyPattern,
    reduction: &Reduction,
    labels: &[usize],
    value_bytes: usize,
) -> Result<(AnyPattern, Vec<usize>)> {
    let (lengths, place) = (reduction.kept_lengths(), reduction.place_of_labels().unwrap_or(0));
    let own = |axis: usize| if axis == place { labels.len() } else { lengths[axis] };
    let own: Vec<usize> = (0..lengths.len()).map(own).collect();
    let width = cells.width_for(lengths);
    let bytes = lengths.len() * width.bytes() + value_bytes;
    let count = guard_cells(saturating_product(&own).saturating_add(cells.nnz() as u128), bytes, cells.index_bytes())?;
    let number = |number: usize, at: &mut [usize]| {
        unravel(number, &own, at);
        at[place] = labels[at[place]];
    };
    let coords = of_width!(width, I => coords_and_more::<I>(cells, reduction, count, &number))?;
    let order = match by_slices!(&coords, own => sort::row_major_order(&own, count))? {
        Some(order) => order,
        None => alloc::collect(0..count)?,
    };
    let coords = coords.iter().map(|axis| axis.gather(&order)).collect::<Allocated<_>>()?;
    Ok((of_coords(cells, reduction, coords, count)?, order))
}

/// Returns the coordinates of output elements on the kept axes, followed by coordinates of added output elements. The
/// total number is `count`.
///
/// `more` writes the coordinates of an added output element, given its index.
fn coords_and_more<I: Index>(
    cells: &AnyPattern,
    reduction: &Reduction,
    count: usize,
    more: &dyn Fn(usize, &mut [usize]),
) -> Allocated<Vec<AxisCoords>> {
    let (mut coords, mut at) = (Vec::new(), vec![0; reduction.kept().len()]);
    for (axis, &of_operand) in reduction.kept().iter().enumerate() {
        let held = cells.axis(if reduction.keeps_dims() { of_operand } else { axis })?;
        let mut all = alloc::with_capacity::<I>(count)?;
        all.extend_from_slice(held.in_width(I::WIDTH)?.view());
        coords.push(all);
    }
    for number in 0..count - cells.nnz() {
        more(number, &mut at);
        coords.iter_mut().zip(&at).for_each(|(axis, &coord)| axis.push(I::from_usize(coord)));
    }
    Ok(coords.into_iter().map(AxisCoords::from).collect())
}

/// Returns the number of output elements, or an error if they need too much memory.
fn guard_cells(count: u128, bytes: usize, held: usize) -> Result<usize> {
    let what = "the output elements of unused labels";
    guard::<u8>(
        what,
        count.saturating_mul(bytes as u128),
        default_limit(held),
        "number the labels consecutively from 0",
    )?;
    Ok(count as usize)
}

/// Returns the label of each output element of a reduction by labels.
pub(crate) fn labels_of(cells: &AnyPattern, reduction: &Reduction) -> Allocated<AxisCoords> {
    let place = reduction.place_of_labels().unwrap_or(0);
    cells.axis(if reduction.keeps_dims() { reduction.kept()[place] } else { place })
}
