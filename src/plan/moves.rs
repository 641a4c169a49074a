//! Moves of entries along the axes, step by step: what is cut out, turned round, repeated, padded, and other axes.
//!
//! A step knows the shapes before and after it, where a position of its result comes from (which is its definition, and
//! all that arrays need), and how it changes a pattern: with the coordinates of all entries, or by whole lanes.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, check_axes};
use crate::base::shape::{Shape, ravel, step};
use crate::base::threads;
use crate::kernels::gather::{Steps, marked};
use crate::kernels::lanes::accumulate;
use crate::kernels::sort;
use crate::pattern::{Pattern, zero_offsets};
use crate::plan::selected::{Selected, Sources};
use crate::plan::take::runs_of;

/// The positions `first, first + step, …` of an axis, `length` of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) length: usize,
}

impl Cut {
    /// A step that no second position takes is 1.
    pub(crate) fn new(first: usize, step: usize, length: usize) -> Self {
        Cut { first, step: if length < 2 { 1 } else { step }, length }
    }

    /// All of an axis.
    pub(crate) fn whole(length: usize) -> Self {
        Cut::new(0, 1, length)
    }

    /// One more than the last position.
    fn end(&self) -> usize {
        self.first + self.length.saturating_sub(1) * self.step + usize::from(self.length > 0)
    }

    fn steps(&self) -> Steps {
        Steps::new(self.first, self.end(), self.step)
    }

    /// The range of those of increasing coordinates that lie between the first position and the last one.
    fn range_in<I: Index>(&self, coords: &[I]) -> Range<usize> {
        if self.length == 0 {
            return 0..0;
        }
        let start = if self.first == 0 { 0 } else { coords.partition_point(|coord| coord.to_usize() < self.first) };
        match coords.last().is_none_or(|last| last.to_usize() < self.end()) {
            true => start..coords.len(),
            false => start..start + coords[start..].partition_point(|coord| coord.to_usize() < self.end()),
        }
    }
}

/// What becomes of the positions of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// The last one comes first.
    Reverse,
    /// Each goes so many places on, and those at the end come in at the start.
    Rotate(usize),
    /// All of them, so many times.
    Tile(usize),
    /// Each of them, so many times.
    Each(usize),
}

impl Order {
    /// How often a position stands in the result.
    fn times(self) -> usize {
        match self {
            Order::Reverse | Order::Rotate(_) => 1,
            Order::Tile(times) | Order::Each(times) => times,
        }
    }

    /// Which of `length` positions stands at place `at` of the result.
    fn source(self, at: usize, length: usize) -> usize {
        match self {
            Order::Reverse => length - 1 - at,
            Order::Rotate(places) => {
                if at < places {
                    at + length - places
                } else {
                    at - places
                }
            }
            Order::Tile(_) => at % length,
            Order::Each(times) => at / times,
        }
    }
}

/// A step of a move.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Of each axis some positions.
    Cut(Vec<Cut>),
    /// The positions of one axis in another order, or repeated.
    Order(usize, Order),
    /// So many positions before those of each axis, which hold the fill; the shape tells how many come behind.
    Pad(Vec<usize>),
    /// The axes that are there, each one of those before or a new one of length 1. One that is left out has length 1.
    Axes(Vec<Option<usize>>),
    /// Of the last two axes the positions whose column is so many behind their row, from the least to the most; zero
    /// elsewhere.
    Band(i128, i128),
    /// The positions whose column is so many behind their row, as the last axis.
    Diagonal(i128),
}

/// What a step may need.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The bytes of a value of the result.
    pub(crate) value_bytes: usize,
    /// The most bytes of the result and of the lists beside it.
    pub(crate) limit: u64,
}

impl Room {
    /// Refuses `count` entries times `times` above the limit, each with so many bytes of coordinates, a value, and a
    /// number in a list.
    fn admit(&self, count: usize, times: usize, index_bytes: usize) -> Result<usize> {
        let entries = count as u128 * times as u128;
        let bytes = entries.saturating_mul((index_bytes + self.value_bytes + size_of::<usize>()) as u128);
        match bytes <= u128::from(self.limit) {
            true => Ok(entries as usize),
            false => {
                let instead = "work on the tensor before it is repeated";
                Err(Error::TooLarge { what: "the repeated entries", bytes, limit: self.limit, instead })
            }
        }
    }
}

impl Step {
    /// Where a position of the result stands before the step, in a tensor of shape `x`; false where it holds no
    /// position, but the fill.
    pub(crate) fn source(&self, x: &[usize], cell: &mut Vec<usize>) -> bool {
        match self {
            Step::Cut(cuts) => {
                cell.iter_mut().zip(cuts).for_each(|(coord, cut)| *coord = cut.first + *coord * cut.step);
            }
            Step::Order(axis, order) => cell[*axis] = order.source(cell[*axis], x[*axis]),
            Step::Pad(before) => {
                cell.iter_mut().zip(before).for_each(|(coord, &before)| *coord = coord.wrapping_sub(before));
            }
            Step::Axes(axes) => {
                let mut source = vec![0; x.len()];
                axes.iter().zip(&*cell).for_each(|(axis, &coord)| axis.map_or((), |axis| source[axis] = coord));
                *cell = source;
            }
            Step::Band(least, most) => {
                let behind = behind(cell[x.len() - 2], cell[x.len() - 1]);
                return *least <= behind && behind <= *most;
            }
            Step::Diagonal(offset) => {
                let at = cell.pop().unwrap_or(0);
                let forth = |by: i128| at + by.max(0) as usize;
                cell.extend([forth(-offset), forth(*offset)]);
            }
        }
        cell.iter().zip(x).all(|(coord, length)| coord < length)
    }

    /// What a pattern becomes, whose shape is then `shape`.
    pub(crate) fn plan<P: Pattern>(&self, x: &P, shape: &Shape, room: Room) -> Result<Selected<P>> {
        check_axes::<P::Index>(shape)?;
        let rank = x.shape().rank();
        match (self, x.lane_offsets()) {
            (Step::Cut(cuts), _) if cuts.iter().zip(&**x.shape()).all(|(cut, &length)| *cut == Cut::whole(length)) => {
                Ok(Selected::same(x.clone()))
            }
            (Step::Cut(cuts), None) => cut_coords(x, cuts, shape, room),
            (Step::Cut(cuts), Some(offsets)) => cut_lanes(x, offsets, cuts, shape, room),
            (Step::Order(axis, order), None) => order_coords(x, *axis, *order, shape, room),
            (Step::Order(axis, order), Some(offsets)) if axis + 1 == rank => {
                order_columns(x, offsets, *order, shape, room)
            }
            (Step::Order(axis, order), Some(offsets)) => order_lanes(x, offsets, *axis, *order, shape, room),
            (Step::Pad(before), None) => {
                let axes = (0..rank).map(|axis| shifted(&x.shared_axis(axis)?, before[axis]));
                let coords = axes.collect::<Allocated<_>>()?;
                Ok(Selected::same(P::from_coords(shape.clone(), x.nnz(), coords, room.limit)?))
            }
            (Step::Pad(before), Some(offsets)) => pad_lanes(x, offsets, before, shape, room),
            (Step::Axes(axes), _) => other_axes(x, axes, shape, room),
            (Step::Band(least, most), _) => band(x, *least, *most),
            (Step::Diagonal(offset), _) => diagonal(x, *offset, shape, room),
        }
    }
}

/// How many positions a column is behind a row.
fn behind(row: usize, column: usize) -> i128 {
    column as i128 - row as i128
}

/// The coordinates of all entries on each axis, shared where the format holds them.
fn shared_axes<P: Pattern>(x: &P) -> Allocated<Vec<Buffer<P::Index>>> {
    (0..x.shape().rank()).map(|axis| x.shared_axis(axis)).collect()
}

/// Coordinates so many positions further on.
fn shifted<I: Index>(coords: &Buffer<I>, by: usize) -> Allocated<Buffer<I>> {
    if by == 0 { Ok(coords.clone()) } else { mapped(&Sources::Same, coords, |coord| coord + by) }
}

/// `f` of the coordinates of the entries of a result.
fn mapped<I: Index>(
    sources: &Sources,
    coords: &Buffer<I>,
    f: impl Fn(usize) -> usize + Sync + Send,
) -> Allocated<Buffer<I>> {
    let new = |coord: I| I::from_usize(f(coord.to_usize()));
    Ok(match sources {
        Sources::List(list) => threads::map(list, 1500, |entry| new(coords[entry]))?.into(),
        others => threads::map(&others.of(coords)?, 500, new)?.into(),
    })
}

/// Where the coordinates of the entries of a result, each one of the positions of a cut, stand among these.
fn placed<I: Index>(sources: &Sources, coords: &Buffer<I>, cut: &Cut) -> Allocated<Buffer<I>> {
    let steps = cut.steps();
    match (cut.first, cut.step) {
        (0, 1) => sources.of(coords),
        (first, 1) => mapped(sources, coords, |coord| coord - first),
        _ => mapped(sources, coords, |coord| steps.place(coord)),
    }
}

/// The entries between the first and the last position of the leading axes, and how many axes leave out none of them:
/// the first axis, and one behind another of which one position is left.
fn window<I: Index>(axes: &[Buffer<I>], cuts: &[Cut], count: usize) -> (Range<usize>, usize) {
    let mut window = 0..count;
    for (axis, cut) in cuts.iter().enumerate() {
        let range = cut.range_in(&axes[axis][window.clone()]);
        window = window.start + range.start..window.start + range.end;
        if cut.length != 1 {
            return (window, axis + usize::from(cut.step == 1));
        }
    }
    (window, cuts.len())
}

/// Some positions of each axis, by the coordinates.
fn cut_coords<P: Pattern>(x: &P, cuts: &[Cut], shape: &Shape, room: Room) -> Result<Selected<P>> {
    let axes = shared_axes(x)?;
    let (window, settled) = window(&axes, cuts, x.nnz());
    let is_left = |&axis: &usize| cuts[axis] != Cut::whole(x.shape()[axis]);
    let tests = (settled..axes.len()).filter(is_left).map(|axis| (&axes[axis][window.clone()], cuts[axis].steps()));
    let tests: Vec<_> = tests.collect();
    let sources = match tests.is_empty() {
        true => Sources::range(window, x.nnz()),
        false => {
            let mark = |range: Range<usize>, marks: &mut [bool]| {
                tests.iter().for_each(|(coords, steps)| steps.mark(&coords[range.clone()], marks));
            };
            let mut kept = marked(window.len(), mark)?;
            kept.iter_mut().for_each(|entry| *entry += window.start);
            Sources::List(kept)
        }
    };
    let count = sources.len(x.nnz());
    let has_single = cuts.iter().any(|cut| cut.length == 1);
    let zeros = Buffer::from(alloc::zeros(if has_single { count } else { 0 })?);
    let coords = axes.iter().zip(cuts).map(|(axis, cut)| match cut.length {
        1 => Ok(zeros.clone()),
        _ => placed(&sources, axis, cut),
    });
    let coords = coords.collect::<Allocated<_>>()?;
    Ok(Selected { pattern: P::from_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Some positions of each axis, by the lanes and the columns in each of them.
fn cut_lanes<P: Pattern>(
    x: &P,
    offsets: &Buffer<usize>,
    cuts: &[Cut],
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    let Some((columns_cut, lane_cuts)) = cuts.split_last() else { return Ok(Selected::same(x.clone())) };
    let columns = x.shared_axis(lane_cuts.len())?;
    let lane_axes = x.shape().lane_axes();
    if let Some(lanes) = lane_window(lane_cuts, lane_axes).filter(|_| *columns_cut == Cut::whole(x.shape().columns())) {
        let entries = offsets[lanes.start]..offsets[lanes.end];
        let offsets = match entries.start {
            0 => offsets.slice(lanes.start..lanes.end + 1),
            start => threads::map(&offsets[lanes.start..=lanes.end], 500, |offset| offset - start)?.into(),
        };
        let pattern = P::from_lanes(shape.clone(), offsets, columns.slice(entries.clone()))?;
        return Ok(Selected { pattern, sources: Sources::range(entries, x.nnz()) });
    }
    let mut ends = zero_offsets(shape, room.limit)?;
    let mut starts = alloc::with_capacity(ends.len() - 1)?;
    let mut at = vec![0; lane_cuts.len()];
    let has_all = *columns_cut == Cut::whole(x.shape().columns());
    for count in &mut ends[1..] {
        let lane = at.iter().zip(lane_cuts).zip(lane_axes);
        let lane = lane.fold(0, |lane, ((at, cut), length)| lane * length + cut.first + at * cut.step);
        let lane = offsets[lane]..offsets[lane + 1];
        let within = if has_all { 0..lane.len() } else { columns_cut.range_in(&columns[lane.clone()]) };
        starts.push(lane.start + within.start);
        *count = within.len();
        step(&mut at, shape.lane_axes());
    }
    accumulate(&mut ends);
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    if columns_cut.step == 1 {
        let pattern = P::from_lanes(shape.clone(), ends, placed(&sources, &columns, columns_cut)?)?;
        return Ok(Selected { pattern, sources });
    }
    every_column(&sources.of(&columns)?, &ends, columns_cut, shape)?.then_of(sources, x.nnz())
}

/// Of lanes whose columns lie between the first and the last position of a cut those that are one of them.
fn every_column<P: Pattern>(
    columns: &Buffer<P::Index>,
    offsets: &[usize],
    cut: &Cut,
    shape: &Shape,
) -> Result<Selected<P>> {
    let steps = cut.steps();
    let kept = marked(columns.len(), |range, marks| steps.mark(&columns[range], marks))?;
    let mut below = 0;
    let kept_below = |&offset: &usize| {
        below += kept[below..].iter().take_while(|&&entry| entry < offset).count();
        below
    };
    let offsets = alloc::collect(offsets.iter().map(kept_below))?;
    let sources = Sources::List(kept);
    let columns = placed(&sources, columns, cut)?;
    Ok(Selected { pattern: P::from_lanes(shape.clone(), offsets.into(), columns)?, sources })
}

/// The lanes that cuts leave, where these are one after the other.
fn lane_window(cuts: &[Cut], lengths: &[usize]) -> Option<Range<usize>> {
    let single = cuts.iter().take_while(|cut| cut.length == 1).count();
    let behind = cuts.iter().zip(lengths).skip(single + 1);
    let is_window = behind.clone().all(|(cut, &length)| *cut == Cut::whole(length));
    let is_window = is_window && cuts.get(single).is_none_or(|cut| cut.step == 1);
    let count = cuts.iter().map(|cut| cut.length).product::<usize>();
    let first = cuts.iter().zip(lengths).fold(0, |lane, (cut, length)| lane * length + cut.first);
    is_window.then(|| if count == 0 { 0..0 } else { first..first + count })
}

/// Entries in a new order, with the coordinates that they get on one axis.
struct Ordered<I> {
    sources: Vec<usize>,
    coords: Vec<I>,
}

impl<I: Index> Ordered<I> {
    /// The entries of each run, which agree on all axes before this one and have its coordinates in order.
    fn new(coords: &[I], runs: &[usize], length: usize, order: Order, count: usize) -> Allocated<Self> {
        let mut ordered = Ordered { sources: alloc::with_capacity(count)?, coords: alloc::with_capacity(count)? };
        // Nothing is not repeated: there may be no time to count how often.
        for run in runs.windows(2).map(|ends| ends[0]..ends[1]).filter(|run| !run.is_empty()) {
            match order {
                Order::Reverse => ordered.reverse(coords, run, length),
                Order::Rotate(places) => {
                    let split = run.start + coords[run.clone()].partition_point(|at| at.to_usize() < length - places);
                    ordered.put(coords, split..run.end, |at| at - (length - places));
                    ordered.put(coords, run.start..split, |at| at + places);
                }
                Order::Tile(times) => {
                    (0..times).for_each(|time| ordered.put(coords, run.clone(), |at| time * length + at));
                }
                Order::Each(times) => ordered.each(coords, run, times),
            }
        }
        Ok(ordered)
    }

    fn put(&mut self, coords: &[I], entries: Range<usize>, place: impl Fn(usize) -> usize) {
        self.coords.extend(coords[entries.clone()].iter().map(|at| I::from_usize(place(at.to_usize()))));
        self.sources.extend(entries);
    }

    fn reverse(&mut self, coords: &[I], run: Range<usize>, length: usize) {
        let mut end = run.end;
        for equal in coords[run].chunk_by(|a, b| a == b).rev() {
            self.put(coords, end - equal.len()..end, |at| length - 1 - at);
            end -= equal.len();
        }
    }

    fn each(&mut self, coords: &[I], run: Range<usize>, times: usize) {
        let mut start = run.start;
        for equal in coords[run].chunk_by(|a, b| a == b) {
            (0..times).for_each(|time| self.put(coords, start..start + equal.len(), |at| at * times + time));
            start += equal.len();
        }
    }
}

/// Another order of one axis, by the coordinates.
fn order_coords<P: Pattern>(x: &P, axis: usize, order: Order, shape: &Shape, room: Room) -> Result<Selected<P>> {
    let count = room.admit(x.nnz(), order.times(), shape.rank() * size_of::<P::Index>())?;
    let axes = shared_axes(x)?;
    let runs = runs_of(&axes[..axis], x.nnz())?;
    let ordered = Ordered::new(&axes[axis], &runs, x.shape()[axis], order, count)?;
    let sources = Sources::List(ordered.sources);
    let mut coords = axes.iter().enumerate().map(|(at, coords)| match at < axis && order.times() == 1 {
        // Entries that change places agree there.
        true => Ok(coords.clone()),
        false if at == axis => Ok(Buffer::default()),
        false => sources.of(coords),
    });
    let mut coords = coords.by_ref().collect::<Allocated<Vec<_>>>()?;
    coords[axis] = ordered.coords.into();
    Ok(Selected { pattern: P::from_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// Another order of the last axis, in each lane.
fn order_columns<P: Pattern>(
    x: &P,
    offsets: &Buffer<usize>,
    order: Order,
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    let count = room.admit(x.nnz(), order.times(), size_of::<P::Index>())?;
    let columns = x.shared_axis(shape.rank() - 1)?;
    let ordered = Ordered::new(&columns, offsets, x.shape().columns(), order, count)?;
    let offsets = match order.times() {
        1 => offsets.clone(),
        times => threads::map(offsets, 500, |offset| offset * times)?.into(),
    };
    let pattern = P::from_lanes(shape.clone(), offsets, ordered.coords.into())?;
    Ok(Selected { pattern, sources: Sources::List(ordered.sources) })
}

/// Another order of an axis of the lanes: whole lanes.
fn order_lanes<P: Pattern>(
    x: &P,
    offsets: &[usize],
    axis: usize,
    order: Order,
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    room.admit(x.nnz(), order.times(), size_of::<P::Index>())?;
    let mut ends = zero_offsets(shape, room.limit)?;
    let mut starts = alloc::with_capacity(ends.len() - 1)?;
    let lane_axes = x.shape().lane_axes();
    let (length, inner) = (lane_axes[axis], lane_axes[axis + 1..].iter().product::<usize>());
    // Blocks of nothing may be more than there is time to count.
    let blocks = if ends.len() == 1 { 0 } else { lane_axes[..axis].iter().product() };
    for block in 0..blocks {
        for at in 0..shape[axis] {
            let first = (block * length + order.source(at, length)) * inner;
            for lane in offsets[first..=first + inner].windows(2) {
                starts.push(lane[0]);
                ends[starts.len()] = lane[1] - lane[0];
            }
        }
    }
    accumulate(&mut ends);
    let ends = Buffer::from(ends);
    let sources = Sources::Runs(starts, ends.clone());
    let columns = sources.of(&x.shared_axis(shape.rank() - 1)?)?;
    Ok(Selected { pattern: P::from_lanes(shape.clone(), ends, columns)?, sources })
}

/// Positions before and behind those that there are: lanes without entries, and columns further on.
fn pad_lanes<P: Pattern>(
    x: &P,
    offsets: &Buffer<usize>,
    before: &[usize],
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    let Some((&columns_before, lanes_before)) = before.split_last() else { return Ok(Selected::same(x.clone())) };
    let lane_axes = x.shape().lane_axes();
    let offsets = match lane_axes == shape.lane_axes() {
        true => offsets.clone(),
        false => {
            let mut ends = zero_offsets(shape, room.limit)?;
            let mut at = lanes_before.to_vec();
            for lane in offsets.windows(2) {
                ends[ravel(&at, shape.lane_axes()) + 1] = lane[1] - lane[0];
                step_from(&mut at, lanes_before, lane_axes);
            }
            accumulate(&mut ends);
            ends.into()
        }
    };
    let columns = shifted(&x.shared_axis(lanes_before.len())?, columns_before)?;
    Ok(Selected::same(P::from_lanes(shape.clone(), offsets, columns)?))
}

/// Steps `coords` to the next of the positions of `lengths` that start at `first`.
fn step_from(coords: &mut [usize], first: &[usize], lengths: &[usize]) {
    for ((coord, first), length) in coords.iter_mut().zip(first).zip(lengths).rev() {
        *coord += 1;
        if *coord < first + length {
            return;
        }
        *coord = *first;
    }
}

/// Other axes: a permutation, with axes of length 1 left out or added.
fn other_axes<P: Pattern>(x: &P, axes: &[Option<usize>], shape: &Shape, room: Room) -> Result<Selected<P>> {
    let long = axes.iter().flatten().filter(|&&axis| x.shape()[axis] != 1);
    let is_sorted = long.is_sorted();
    if let (Some(offsets), true) = (x.lane_offsets(), is_sorted)
        && axes.last().is_some_and(|&last| last.is_some_and(|last| last + 1 == x.shape().rank()))
    {
        let columns = x.shared_axis(x.shape().rank() - 1)?;
        return Ok(Selected::same(P::from_lanes(shape.clone(), offsets.clone(), columns)?));
    }
    let zeros = Buffer::from(alloc::zeros(if axes.contains(&None) { x.nnz() } else { 0 })?);
    let coords = axes.iter().map(|axis| axis.map_or_else(|| Ok(zeros.clone()), |axis| x.shared_axis(axis)));
    // Entries that agree on all axes before these come in order.
    let settled = axes.windows(2).rev().take_while(|pair| pair[0] < pair[1]).count() + 1;
    in_order(coords.collect::<Allocated<_>>()?, x.nnz(), if is_sorted { axes.len() } else { settled }, shape, room)
}

/// The pattern of `count` entries with these coordinates, sorted unless all axes are `settled`: those that agree on the
/// axes before so many come in order.
fn in_order<P: Pattern>(
    coords: Vec<Buffer<P::Index>>,
    count: usize,
    settled: usize,
    shape: &Shape,
    room: Room,
) -> Result<Selected<P>> {
    let sorted = match settled == coords.len() {
        true => None,
        false => sort::row_major(&coords, settled, &alloc::collect(0..count)?)?,
    };
    let (coords, sources) = match sorted {
        None => (coords, Sources::Same),
        Some((coords, order)) => (coords.into_iter().map(Buffer::from).collect(), Sources::List(order)),
    };
    Ok(Selected { pattern: P::from_coords(shape.clone(), count, coords, room.limit)?, sources })
}

/// The entries of the last two axes whose column is so many behind their row.
fn in_band<P: Pattern>(x: &P, least: i128, most: i128) -> Result<Vec<usize>> {
    let rank = x.shape().rank();
    let (rows, columns) = (x.axis_coords(rank - 2)?, x.axis_coords(rank - 1)?);
    Ok(marked(x.nnz(), |range, marks| {
        let pairs = rows[range.clone()].iter().zip(&columns[range]);
        for (mark, (row, column)) in marks.iter_mut().zip(pairs) {
            let behind = behind(row.to_usize(), column.to_usize());
            *mark &= (least <= behind) & (behind <= most);
        }
    })?)
}

fn band<P: Pattern>(x: &P, least: i128, most: i128) -> Result<Selected<P>> {
    let kept = in_band(x, least, most)?;
    match kept.len() == x.nnz() {
        true => Ok(Selected::same(x.clone())),
        false => Ok(Selected { pattern: x.retain(&kept)?, sources: Sources::List(kept) }),
    }
}

fn diagonal<P: Pattern>(x: &P, offset: i128, shape: &Shape, room: Room) -> Result<Selected<P>> {
    let kept = in_band(x, offset, offset)?;
    let rank = x.shape().rank();
    let sources = Sources::List(kept);
    // The lesser of both coordinates.
    let last = if offset < 0 { rank - 1 } else { rank - 2 };
    let axes = (0..rank - 2).chain([last]).map(|axis| sources.of(&x.shared_axis(axis)?));
    let (axes, count) = (axes.collect::<Allocated<Vec<_>>>()?, sources.len(x.nnz()));
    // They increase as the rows do.
    in_order(axes, count, rank - 1, shape, room)?.then_of(sources, x.nnz())
}
