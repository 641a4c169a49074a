//! Concatenation of patterns along an axis.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::index::{Index, Width, capped_product};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::gather::{Plain, map_runs};
use crate::pattern::{AnyPattern, AxisCoords, of_width, zero_offsets};
use crate::plan::moves::StepLimits;
use crate::plan::row_major::order_of;
use crate::plan::selection::{Selected, Sources};
use crate::plan::take::runs_of;

/// Returns the concatenation of patterns along `axis`.
///
/// The lengths of all other axes are equal, and `shape` is the shape of the result. Entries are numbered consecutively
/// over all patterns. Memory is proportional to the number of entries, except for the offsets of lanes. The result has
/// the format of the first pattern, and the largest width of all patterns.
pub(crate) fn joined(xs: &[&AnyPattern], axis: usize, shape: &Shape, room: StepLimits) -> Result<Selected> {
    match xs.iter().map(|x| x.lane_offsets()).collect::<Option<Few<_>>>() {
        Some(offsets) => by_lanes(xs, &offsets, axis, shape, room),
        None => by_coords(xs, axis, shape, xs.iter().map(|x| x.nnz()).sum(), room),
    }
}

/// Concatenates coordinate arrays. Entries are sorted, except along the first axis, where they are already in order.
fn by_coords(xs: &[&AnyPattern], axis: usize, shape: &Shape, count: usize, room: StepLimits) -> Result<Selected> {
    let width = common_width(xs, shape);
    let coords = (0..shape.rank()).map(|at| coords_on(xs, at, at == axis, width));
    let coords = coords.collect::<Allocated<Vec<_>>>()?;
    let order = match axis {
        0 => None,
        _ if xs.len() > FEW || count < FEW_ENTRIES => order_of(&coords, count)?,
        _ => Some(of_width!(width, I => merged::<I>(xs, axis, count)?)),
    };
    let sources = order.map_or(Sources::Same, Sources::List);
    let coords = coords.into_iter().map(|axis| sources.of_coords(&axis)).collect::<Allocated<_>>()?;
    Ok(Selected { pattern: xs[0].of_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Returns the coordinates of all patterns on an axis, shifted by the preceding lengths on the concatenation axis.
fn coords_on(xs: &[&AnyPattern], axis: usize, is_joined: bool, width: Width) -> Allocated<AxisCoords> {
    let own = axis_of_each(xs, axis, width)?;
    let before = is_joined.then(|| bases(xs.iter().map(|x| x.shape()[axis])));
    of_width!(width, I => {
        let views: Few<_> = own.iter().map(AxisCoords::view).collect();
        all_coords::<I>(&views, before).map(AxisCoords::from)
    })
}

/// Returns the coordinates of each pattern on an axis, in one width.
fn axis_of_each(xs: &[&AnyPattern], axis: usize, width: Width) -> Allocated<Few<AxisCoords>> {
    xs.iter().map(|x| x.axis(axis)?.in_width(width)).collect()
}

/// Returns the width in which the coordinates of all patterns and of `shape` fit.
fn common_width(xs: &[&AnyPattern], shape: &Shape) -> Width {
    xs.iter().fold(Width::of_lengths(shape), |width, x| width.max(x.width()))
}

/// Concatenates coordinates. Each list is shifted by the number of positions before it.
fn all_coords<I: Index>(own: &[&[I]], before: Option<Few<usize>>) -> Allocated<Vec<I>> {
    let Some(before) = before else { return concatenate(own) };
    let further = |run: usize| {
        let before = before[run];
        (own[run], move |coord: I| I::from_usize(coord.to_usize() + before))
    };
    map_runs(&ends_of(own), further)
}

/// Concatenates lists.
pub(crate) fn concatenate<T: Plain>(lists: &[&[T]]) -> Allocated<Vec<T>> {
    map_runs(&ends_of(lists), |run| (lists[run], |item| item))
}

/// Returns the start of each list in the concatenation, then the total length.
fn ends_of<T>(lists: &[&[T]]) -> Few<usize> {
    bases(lists.iter().map(|list| list.len()).chain([0]))
}

/// The maximum number of sorted patterns that are merged. Merging compares all patterns for each run, so the entries of
/// more patterns are sorted instead.
const FEW: usize = 8;

/// The smallest number of entries that are merged. Fewer entries are sorted, because merging has a fixed cost. Debug
/// builds use a smaller limit, so tests with small inputs cover both paths.
const FEW_ENTRIES: usize = if cfg!(debug_assertions) { 1 << 2 } else { 1 << 5 };

/// Returns the order of the entries of several patterns by the axes before `axis`.
///
/// Entries that agree on these axes are ordered by pattern.
fn merged<I: Index>(xs: &[&AnyPattern], axis: usize, count: usize) -> Allocated<Vec<usize>> {
    let axes = |x: &&AnyPattern| (0..axis).map(|axis| x.axis(axis)?.in_width(I::WIDTH)).collect::<Allocated<Vec<_>>>();
    let axes = xs.iter().map(axes).collect::<Allocated<Vec<_>>>()?;
    let slices: Vec<Few<&[I]>> = axes.iter().map(|axes| axes.iter().map(AxisCoords::view).collect()).collect();
    let runs = axes.iter().zip(xs).map(|(axes, x)| runs_of(axes, x.nnz())).collect::<Allocated<Vec<_>>>()?;
    let (bases, mut next) = (bases(xs.iter().map(|x| x.nnz())), vec![0; xs.len()]);
    let mut order = alloc::with_capacity(count)?;
    let coords = |number: usize, run: usize| slices[number].iter().zip([runs[number][run]].into_iter().cycle());
    while let Some(number) = (0..xs.len()).filter(|&number| next[number] + 1 < runs[number].len()).min_by(|&a, &b| {
        let [a, b] = [a, b].map(|number| coords(number, next[number]).map(|(axis, entry)| axis[entry]));
        a.cmp(b)
    }) {
        let run = next[number];
        order.extend(bases[number] + runs[number][run]..bases[number] + runs[number][run + 1]);
        next[number] += 1;
    }
    Ok(order)
}

/// Concatenates entire lanes, or the parts of each lane in each pattern.
fn by_lanes(
    xs: &[&AnyPattern],
    offsets: &[&Buffer<usize>],
    axis: usize,
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let last = shape.rank() - 1;
    let mut ends = zero_offsets(shape, room.limit)?;
    let inner = if axis == last { 1 } else { capped_product(&shape.lane_axes()[axis + 1..]) };
    // The number of lanes of each pattern that are contiguous in the result, and the number of such blocks.
    let lanes = |x: &AnyPattern| if axis == last { 1 } else { x.shape()[axis] * inner };
    let blocks = if ends.len() == 1 { 0 } else { shape[..axis.min(last)].iter().product() };
    let mut runs = EntryRuns::new(xs, blocks)?;
    let mut lane = 0;
    for block in 0..blocks {
        for (number, x) in xs.iter().enumerate() {
            let block = block * lanes(x)..(block + 1) * lanes(x);
            runs.add(number, offsets[number][block.start]..offsets[number][block.end]);
            if axis != last {
                let (own, before) = (&offsets[number][block.start..=block.end], ends[lane]);
                let first = own[0];
                threads::map_into(&own[1..], &mut ends[lane + 1..lane + own.len()], 500, |end| end - first + before);
                lane += own.len() - 1;
            }
        }
        if axis == last {
            ends[lane + 1] = runs.ends[runs.ends.len() - 1];
            lane += 1;
        }
    }
    let width = common_width(xs, shape);
    let columns = of_width!(width, I => AxisCoords::from(runs.columns::<I>(xs, axis)?));
    let sources = Sources::Runs(runs.starts, runs.ends.into());
    Ok(Selected { pattern: xs[0].of_lanes(shape.clone(), ends.into(), columns)?, sources })
}

/// Returns the sum of the counts before each operand.
pub(crate) fn bases(counts: impl Iterator<Item = usize>) -> Few<usize> {
    let mut before = 0;
    let base = |count| {
        before += count;
        before - count
    };
    counts.map(base).collect()
}

/// Runs of entries of several patterns, one run per pattern in turn.
struct EntryRuns {
    /// The index of the first entry of each pattern.
    bases: Few<usize>,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl EntryRuns {
    fn new(xs: &[&AnyPattern], blocks: usize) -> Allocated<Self> {
        let bases = bases(xs.iter().map(|x| x.nnz()));
        let mut ends = alloc::with_capacity(blocks * xs.len() + 1)?;
        ends.push(0);
        Ok(EntryRuns { bases, starts: alloc::with_capacity(blocks * xs.len())?, ends })
    }

    fn add(&mut self, number: usize, entries: Range<usize>) {
        self.starts.push(self.bases[number] + entries.start);
        self.ends.push(self.ends[self.ends.len() - 1] + entries.len());
    }

    /// Returns the columns of the runs, shifted by the preceding columns on the concatenation axis.
    fn columns<I: Index>(&self, xs: &[&AnyPattern], axis: usize) -> Allocated<Vec<I>> {
        let last = xs.first().map_or(0, |x| x.shape().rank() - 1);
        let axes = axis_of_each(xs, last, I::WIDTH)?;
        let axes: Few<&[I]> = axes.iter().map(AxisCoords::view).collect();
        let before = bases(xs.iter().map(|x| if axis == last { x.shape()[last] } else { 0 }));
        map_runs(&self.ends, |run| {
            let number = run % xs.len();
            let (own, before) = (&axes[number][self.starts[run] - self.bases[number]..], before[number]);
            (own, move |column: I| I::from_usize(column.to_usize() + before))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{CooPattern, Format};

    /// Concatenates patterns of both widths and both formats along both axes.
    #[test]
    fn patterns_of_different_widths_are_joined_in_the_wider() {
        let coords = vec![vec![0, 1], vec![1, u32::MAX]];
        let narrow = CooPattern::<u32>::new([2, 1 << 32], 2, coords).unwrap();
        let wide = narrow.with_index::<u64>().unwrap();
        let room = StepLimits { value_bytes: 1, limit: 1 << 20 };
        for format in [Format::Coo, Format::Csr] {
            let [narrow, wide] = [narrow.any(), wide.any()].map(|x| x.in_format(format, u64::MAX).unwrap());
            for (xs, axis, width) in [
                ([&narrow, &narrow], 0, Width::U32),
                ([&narrow, &narrow], 1, Width::U64),
                ([&narrow, &wide], 0, Width::U64),
                ([&wide, &narrow], 1, Width::U64),
            ] {
                let mut shape = [2, 1 << 32];
                shape[axis] *= 2;
                let found = joined(&xs, axis, &Shape::from(shape), room).unwrap().pattern;
                assert_eq!((found.format(), found.width(), found.nnz()), (format, width, 4));
                let last = if axis == 0 { [3, u32::MAX as usize] } else { [1, u32::MAX as usize + (1 << 32)] };
                assert_eq!((found.find(&[0, 1]), found.find(&last)), (Some(0), Some(3)));
            }
        }
    }
}
