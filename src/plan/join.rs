//! Several patterns as one, one after the other along an axis.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::index::{Index, capped_product, check_axes};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::kernels::gather::{Plain, map_runs};
use crate::kernels::sort;
use crate::pattern::{Pattern, coords_as_slices, zero_offsets};
use crate::plan::moves::Room;
use crate::plan::selected::{Selected, Sources};
use crate::plan::take::runs_of;

/// The patterns one after the other along `axis`; they agree in all other axes, and `shape` is that of the result.
/// Their entries are numbered on. What is built is in proportion to what there is, but for lanes.
pub(crate) fn joined<P: Pattern>(xs: &[&P], axis: usize, shape: &Shape, room: Room) -> Result<Selected<P>> {
    check_axes::<P::Index>(shape)?;
    match xs.iter().map(|x| x.lane_offsets()).collect::<Option<Few<_>>>() {
        Some(offsets) => by_lanes(xs, &offsets, axis, shape, room),
        None => by_coords(xs, axis, shape, xs.iter().map(|x| x.nnz()).sum(), room),
    }
}

/// By the coordinates: one array after the other, which are in order if the axis is the first.
fn by_coords<P: Pattern>(xs: &[&P], axis: usize, shape: &Shape, count: usize, room: Room) -> Result<Selected<P>> {
    let coords = (0..shape.rank()).map(|at| coords_on(xs, at, at == axis));
    let coords = coords.collect::<Allocated<Few<_>>>()?;
    let order = match axis {
        0 => None,
        _ if xs.len() > FEW || count < FEW_ENTRIES => sort::row_major_order(&coords, count)?,
        _ => Some(merged(xs, axis, count)?),
    };
    let sources = order.map_or(Sources::Same, Sources::List);
    let coords = coords.into_iter().map(|axis| match &sources {
        Sources::List(order) => sort::gather(&axis, order).map(Buffer::from),
        _ => Ok(axis.into()),
    });
    let coords = coords.collect::<Allocated<_>>()?;
    Ok(Selected { pattern: P::from_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// The coordinates on an axis of all patterns, further on by the lengths of those before where that is what is joined.
fn coords_on<P: Pattern>(xs: &[&P], axis: usize, is_joined: bool) -> Allocated<Vec<P::Index>> {
    let own = xs.iter().map(|x| x.axis_coords(axis)).collect::<Allocated<Few<_>>>()?;
    let own: Few<&[P::Index]> = own.iter().map(|own| &**own).collect();
    if !is_joined {
        return behind_each_other(&own);
    }
    let before = bases(xs.iter().map(|x| x.shape()[axis]));
    let further = |run: usize| {
        let before = before[run];
        (own[run], move |coord: P::Index| P::Index::from_usize(coord.to_usize() + before))
    };
    map_runs(&ends_of(&own), further)
}

/// Lists one behind the other.
pub(crate) fn behind_each_other<T: Plain>(lists: &[&[T]]) -> Allocated<Vec<T>> {
    map_runs(&ends_of(lists), |run| (lists[run], |item| item))
}

/// Where each list begins behind those before, and the last one ends.
fn ends_of<T>(lists: &[&[T]]) -> Few<usize> {
    bases(lists.iter().map(|list| list.len()).chain([0]))
}

/// So many sorted patterns are merged, each being looked at for each run; more are sorted.
const FEW: usize = 8;

/// Fewer entries than this are sorted, too: what merging sets up takes longer. Unoptimised far fewer, so that tests,
/// whose inputs are small, meet both ways.
const FEW_ENTRIES: usize = if cfg!(debug_assertions) { 1 << 2 } else { 1 << 5 };

/// The order of the entries of several patterns by the axes before `axis`; those of one pattern before those of the
/// next where they agree there.
fn merged<P: Pattern>(xs: &[&P], axis: usize, count: usize) -> Allocated<Vec<usize>> {
    let axes = |x: &&P| (0..axis).map(|axis| x.shared_axis(axis)).collect::<Allocated<Vec<_>>>();
    let axes = xs.iter().map(axes).collect::<Allocated<Vec<_>>>()?;
    let slices: Vec<_> = axes.iter().map(|axes| coords_as_slices(axes)).collect();
    let runs = slices.iter().zip(xs).map(|(axes, x)| runs_of(axes, x.nnz())).collect::<Allocated<Vec<_>>>()?;
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

/// By whole lanes, or by the parts that each lane has of each pattern.
fn by_lanes<P: Pattern>(
    xs: &[&P],
    offsets: &[&Buffer<usize>],
    axis: usize,
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    let last = shape.rank() - 1;
    let mut ends = zero_offsets(shape, room.limit)?;
    let inner = if axis == last { 1 } else { capped_product(&shape.lane_axes()[axis + 1..]) };
    // The lanes of each pattern that stand together in the result, and how often they do.
    let lanes = |x: &P| if axis == last { 1 } else { x.shape()[axis] * inner };
    let blocks = if ends.len() == 1 { 0 } else { shape[..axis.min(last)].iter().product() };
    let mut runs = Runs::new(xs, blocks)?;
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
    let columns = runs.columns(xs, axis)?;
    let sources = Sources::Runs(runs.starts, runs.ends.into());
    Ok(Selected { pattern: P::from_lanes(shape.clone(), ends.into(), columns.into())?, sources })
}

/// How many come before each of several operands, of which each has so many.
pub(crate) fn bases(counts: impl Iterator<Item = usize>) -> Few<usize> {
    let mut before = 0;
    let base = |count| {
        before += count;
        before - count
    };
    counts.map(base).collect()
}

/// Runs of the entries of several patterns, in turn.
struct Runs {
    /// The number of the first entry of each pattern.
    bases: Few<usize>,
    starts: Vec<usize>,
    ends: Vec<usize>,
}

impl Runs {
    fn new<P: Pattern>(xs: &[&P], blocks: usize) -> Allocated<Self> {
        let bases = bases(xs.iter().map(|x| x.nnz()));
        let mut ends = alloc::with_capacity(blocks * xs.len() + 1)?;
        ends.push(0);
        Ok(Runs { bases, starts: alloc::with_capacity(blocks * xs.len())?, ends })
    }

    fn add(&mut self, number: usize, entries: Range<usize>) {
        self.starts.push(self.bases[number] + entries.start);
        self.ends.push(self.ends[self.ends.len() - 1] + entries.len());
    }

    /// The columns of the runs, further on by the columns of the patterns before where these are what is joined.
    fn columns<P: Pattern>(&self, xs: &[&P], axis: usize) -> Allocated<Vec<P::Index>> {
        let last = xs.first().map_or(0, |x| x.shape().rank() - 1);
        let axes = xs.iter().map(|x| x.axis_coords(last)).collect::<Allocated<Few<_>>>()?;
        let before = bases(xs.iter().map(|x| if axis == last { x.shape()[last] } else { 0 }));
        map_runs(&self.ends, |run| {
            let number = run % xs.len();
            let (own, before) = (&axes[number][self.starts[run] - self.bases[number]..], before[number]);
            (own, move |column: P::Index| P::Index::from_usize(column.to_usize() + before))
        })
    }
}
