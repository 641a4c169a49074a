//! Slicing: selects some positions of each axis.

use std::ops::Range;

use super::axis::{StepLimits, StepRange, mapped};
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::shape::{Shape, step, unravel};
use crate::base::threads;
use crate::kernels::gather::marked;
use crate::kernels::lanes::{accumulate, offsets_among};
use crate::pattern::{AnyPattern, AxisCoords, by_width, zero_offsets};
use crate::plan::selection::{Selected, Sources};

/// Returns the coordinates of selected entries relative to the positions of a cut.
fn placed(sources: &Sources, coords: &AxisCoords, cut: &StepRange) -> Allocated<AxisCoords> {
    let steps = cut.steps();
    match (cut.first, cut.step) {
        (0, 1) => sources.of_coords(coords),
        (first, 1) => mapped(sources, coords, |coord| coord - first),
        _ => mapped(sources, coords, |coord| steps.place(coord)),
    }
}

/// Returns the entries within the bounds of the leading cuts, and the number of axes that are fully checked.
///
/// The fully checked axes are the leading axes with one remaining position, and the next axis if its step is 1.
fn window(axes: &[AxisCoords], cuts: &[StepRange], count: usize) -> (Range<usize>, usize) {
    let mut window = 0..count;
    for (axis, cut) in cuts.iter().enumerate() {
        let range = by_width!(&axes[axis], own => cut.range_in(&own[window.clone()]));
        window = window.start + range.start..window.start + range.end;
        if cut.length != 1 {
            return (window, axis + usize::from(cut.step == 1));
        }
    }
    (window, cuts.len())
}

/// Selects positions of each axis by coordinates.
pub(super) fn cut_coords(x: &AnyPattern, cuts: &[StepRange], shape: &Shape, room: StepLimits) -> Result<Selected> {
    let axes = x.axes()?;
    let (window, settled) = window(&axes, cuts, x.nnz());
    let is_left = |&axis: &usize| cuts[axis] != StepRange::whole(x.shape()[axis]);
    let tests = (settled..axes.len()).filter(is_left).map(|axis| (&axes[axis], cuts[axis].steps()));
    let tests: Vec<_> = tests.collect();
    let sources = match tests.is_empty() {
        true => Sources::range(window, x.nnz()),
        false => {
            let mark = |range: Range<usize>, marks: &mut [bool]| {
                let range = window.start + range.start..window.start + range.end;
                for (coords, steps) in &tests {
                    by_width!(coords, own => steps.mark(&own[range.clone()], marks));
                }
            };
            let mut kept = marked(window.len(), mark)?;
            kept.iter_mut().for_each(|entry| *entry += window.start);
            Sources::List(kept)
        }
    };
    let count = sources.len(x.nnz());
    let has_single = cuts.iter().any(|cut| cut.length == 1);
    let zeros = AxisCoords::zeros(if has_single { count } else { 0 }, x.width())?;
    let coords = axes.iter().zip(cuts).map(|(axis, cut)| match cut.length {
        1 => Ok(zeros.clone()),
        _ => placed(&sources, axis, cut),
    });
    let coords = coords.collect::<Allocated<_>>()?;
    Ok(Selected { pattern: x.of_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Selects positions of each axis by lanes and by the columns within them.
pub(super) fn cut_lanes(
    x: &AnyPattern,
    offsets: &Buffer<usize>,
    cuts: &[StepRange],
    shape: &Shape,
    room: StepLimits,
) -> Result<Selected> {
    let Some((columns_cut, lane_cuts)) = cuts.split_last() else { return Ok(Selected::same(x.clone())) };
    let columns = x.axis(lane_cuts.len())?;
    let lane_axes = x.shape().lane_axes();
    if let Some(lanes) =
        lane_window(lane_cuts, lane_axes).filter(|_| *columns_cut == StepRange::whole(x.shape().columns()))
    {
        let entries = offsets[lanes.start]..offsets[lanes.end];
        let offsets = match entries.start {
            0 => offsets.slice(lanes.start..lanes.end + 1),
            start => threads::map(&offsets[lanes.start..=lanes.end], 500, |offset| offset - start)?.into(),
        };
        let pattern = x.of_lanes(shape.clone(), offsets, columns.slice(entries.clone()))?;
        return Ok(Selected { pattern, sources: Sources::range(entries, x.nnz()) });
    }
    let has_all = *columns_cut == StepRange::whole(x.shape().columns());
    let within = |at: &[usize]| {
        let lane = at.iter().zip(lane_cuts).zip(lane_axes);
        let lane = lane.fold(0, |lane, ((at, cut), length)| lane * length + cut.first + at * cut.step);
        let lane = offsets[lane]..offsets[lane + 1];
        let within = match has_all {
            true => 0..lane.len(),
            false => by_width!(&columns, own => columns_cut.range_in(&own[lane.clone()])),
        };
        lane.start + within.start..lane.start + within.end
    };
    let (starts, ends) = runs_of_lanes(shape, room, within)?;
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    if columns_cut.step == 1 {
        let pattern = x.of_lanes(shape.clone(), ends, placed(&sources, &columns, columns_cut)?)?;
        return Ok(Selected { pattern, sources });
    }
    every_column(x, &sources.of_coords(&columns)?, &ends, columns_cut, shape)?.then_of(sources, x.nnz())
}

/// Returns the first entry of each lane of a result, and the offsets of its lanes.
///
/// `within` returns the entries of a lane for its coordinates.
fn runs_of_lanes(
    shape: &Shape,
    room: StepLimits,
    within: impl Fn(&[usize]) -> Range<usize> + Sync,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut ends = zero_offsets(shape, room.limit)?;
    let lanes = ends.len() - 1;
    let mut starts: Vec<usize> = alloc::zeros(lanes)?;
    // Each lane needs several searches.
    let parts = threads::map_parts(lanes, LANE, 0, |part| part.end);
    let shares = threads::split_at_ends(&mut starts, &parts).into_iter();
    let shares = shares.zip(threads::split_at_ends(&mut ends[1..], &parts)).zip(parts.iter());
    let write = |(): &mut (), ((starts, counts), &end): ((&mut [usize], &mut [usize]), &usize)| {
        // A shape with an axis of length 0 does not have a first lane.
        if starts.is_empty() {
            return;
        }
        let mut at = vec![0; shape.lane_axes().len()];
        unravel(end - starts.len(), shape.lane_axes(), &mut at);
        for (start, count) in starts.iter_mut().zip(counts) {
            let entries = within(&at);
            (*start, *count) = (entries.start, entries.len());
            step(&mut at, shape.lane_axes());
        }
    };
    threads::map_each(shares.collect(), usize::MAX, || (), write);
    accumulate(&mut ends);
    Ok((starts, ends))
}

/// The estimated picoseconds to find the entries of a lane.
const LANE: usize = 12_000;

/// Selects the columns of a cut, in lanes whose columns are all within the bounds of the cut.
fn every_column(
    x: &AnyPattern,
    columns: &AxisCoords,
    offsets: &[usize],
    cut: &StepRange,
    shape: &Shape,
) -> Result<Selected> {
    let steps = cut.steps();
    let kept = by_width!(columns, own => marked(own.len(), |range, marks| steps.mark(&own[range], marks)))?;
    let offsets = offsets_among(&kept, offsets)?;
    let sources = Sources::List(kept);
    let columns = placed(&sources, columns, cut)?;
    Ok(Selected { pattern: x.of_lanes(shape.clone(), offsets.into(), columns)?, sources })
}

/// Returns the range of lanes that cuts select, if these lanes are contiguous.
fn lane_window(cuts: &[StepRange], lengths: &[usize]) -> Option<Range<usize>> {
    let single = cuts.iter().take_while(|cut| cut.length == 1).count();
    let after = cuts.iter().zip(lengths).skip(single + 1);
    let is_window = after.clone().all(|(cut, &length)| *cut == StepRange::whole(length));
    let is_window = is_window && cuts.get(single).is_none_or(|cut| cut.step == 1);
    if cuts.iter().any(|cut| cut.length == 0) {
        return is_window.then_some(0..0);
    }
    let count = cuts.iter().map(|cut| cut.length).product::<usize>();
    let first = cuts.iter().zip(lengths).fold(0, |lane, (cut, length)| lane * length + cut.first);
    is_window.then(|| first..first + count)
}
