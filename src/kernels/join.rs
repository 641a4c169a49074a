//! Merges of two sorted lists of entries: the [`MergeSteps`], and the coordinates of the result.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::threads;
use crate::kernels::packing::{Packing, split_axes};
use crate::kernels::steps::{BLOCK, Keep, LEFT, MergePart, MergeSteps, RIGHT};

/// The steps of two lists, and the coordinates of the result if they were computed along with the steps.
pub(crate) struct Joined<I> {
    pub(crate) steps: MergeSteps,
    pub(crate) coords: Option<Vec<Vec<I>>>,
}

/// The smallest number of entries whose coordinates are packed into keys. Fewer entries are compared axis by axis,
/// because packing would take longer.
///
/// Unoptimized builds use a smaller number, so that tests with small inputs cover both methods.
const FEW: usize = if cfg!(debug_assertions) { 1 << 3 } else { 1 << 7 };

/// Merges entries by their coordinates on axes of these `lengths`.
pub(crate) fn by_coords<I: Index>(
    left: &[&[I]],
    right: &[&[I]],
    counts: (usize, usize),
    lengths: &[usize],
    keep: Keep,
) -> Allocated<Joined<I>> {
    let order = |one: usize, other: usize| {
        let mut axes = left.iter().zip(right).map(|(left, right)| left[one].cmp(&right[other]));
        axes.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let parts = split(counts, order);
    // Packed keys have the row-major order of the coordinates, so both methods have the same steps.
    let packing = if counts.0 + counts.1 < FEW { None } else { Packing::of_lengths(lengths) };
    let Some(packing) = packing else {
        let merge = |(): &mut (), (left, right): Ranges| {
            let steps = merge_by(left.clone(), right.clone(), order)?;
            Ok(MergePart { left, right, steps })
        };
        let merged = threads::map_each(parts, counts.0 + counts.1, || (), merge);
        let steps = MergeSteps { parts: merged.into_iter().collect::<Allocated<_>>()?, keep };
        return Ok(Joined { steps, coords: None });
    };
    // If the result has exactly the entries of one list, no coordinates are written.
    let axes = if keep.is_one_list() { 0 } else { lengths.len() };
    let room = ResultSlots::new(&parts, keep);
    // Each part writes to its own slots, so the parts can be merged by different threads.
    let mut coords = (0..axes).map(|_| alloc::zeros(room.total())).collect::<Allocated<Vec<Vec<I>>>>()?;
    let shares = parts.into_iter().zip(split_axes(&mut coords, &room.ends)).collect();
    let merge = |(): &mut (), ((one, other), coords): (Ranges, Vec<&mut [I]>)| {
        let lists = (Keys::new(&packing, left, one.clone()), Keys::new(&packing, right, other.clone()));
        Ok(MergePart { left: one, right: other, steps: merge_keys(lists.0, lists.1, keep, coords)? })
    };
    let merged = threads::map_each(shares, counts.0 + counts.1, || (), merge);
    let steps = MergeSteps { parts: merged.into_iter().collect::<Allocated<_>>()?, keep };
    let ends = steps.ends();
    coords.iter_mut().for_each(|axis| room.compact(axis, &ends));
    Ok(Joined { steps, coords: Some(coords).filter(|coords| coords.len() == lengths.len()) })
}

/// The slots for the result of each part. The exact number is known only after merging.
struct ResultSlots {
    ends: Few<usize>,
}

impl ResultSlots {
    fn new(parts: &[Ranges], keep: Keep) -> Self {
        let mut end = 0;
        let max_entries = |(left, right): &Ranges| {
            end += keep.max_entries(left.len(), right.len());
            end
        };
        ResultSlots { ends: parts.iter().map(max_entries).collect() }
    }

    fn total(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Moves the results of the parts together. `ends` are the ends of the parts afterward. Frees the remaining memory.
    fn compact<T: Copy>(&self, items: &mut Vec<T>, ends: &[usize]) {
        let mut before = 0;
        for (start, &end) in std::iter::once(&0).chain(&self.ends).zip(ends) {
            // A part never writes more than its slots, so `before <= start` and no result is overwritten.
            items.copy_within(*start..start + (end - before), before);
            before = end;
        }
        items.truncate(before);
        items.shrink_to_fit();
    }
}

/// A range of each list.
type Ranges = (Range<usize>, Range<usize>);

/// Splits two lists at the same positions, into parts of similar size: one per thread if there are enough entries.
fn split((left, right): (usize, usize), order: impl Fn(usize, usize) -> Ordering + Sync + Send) -> Few<Ranges> {
    let split_point = |entries: usize| {
        // Invariant: the number of left entries among the first `entries` entries of the merged lists is in
        // `low..=high`.
        let (mut low, mut high) = (entries.saturating_sub(right), entries.min(left));
        while low < high {
            // `middle < left` and `entries - 1 - middle < right`, by the bounds of `low` and `high`.
            let middle = low.midpoint(high);
            if order(middle, entries - 1 - middle).is_le() { low = middle + 1 } else { high = middle }
        }
        let other = entries - low;
        // An entry of both lists is not split between two parts.
        let is_common = low > 0 && other < right && order(low - 1, other).is_eq();
        (low, other + usize::from(is_common))
    };
    let ends = threads::map_parts(left + right, 1500, 0, |part| split_point(part.end));
    let mut start = (0, 0);
    let part = |end: (usize, usize)| {
        let before = std::mem::replace(&mut start, end);
        (before.0..end.0, before.1..end.1)
    };
    ends.into_iter().map(part).collect()
}

/// The keys of a range of entries. Some keys are packed in advance.
struct Keys<'a, I> {
    packing: &'a Packing,
    coords: &'a [&'a [I]],
    /// The entries that are not packed yet.
    rest: Range<usize>,
    keys: [u64; BLOCK],
    /// The range of `keys` that is not consumed yet.
    ahead: Range<usize>,
}

impl<'a, I: Index> Keys<'a, I> {
    fn new(packing: &'a Packing, coords: &'a [&'a [I]], rest: Range<usize>) -> Self {
        Keys { packing, coords, rest, keys: [0; BLOCK], ahead: 0..0 }
    }

    /// Packs more keys if few are left. Returns the number of packed keys. The number is 0 only at the end of the
    /// range.
    fn fill(&mut self) -> usize {
        if self.ahead.len() < BLOCK / 4 && !self.rest.is_empty() {
            // Invariant: `keys[ahead]` are the keys of the entries just before `rest`.
            self.keys.copy_within(self.ahead.clone(), 0);
            let kept = self.ahead.len();
            let more = self.rest.len().min(BLOCK - kept);
            let end = self.rest.start + more;
            self.packing.pack(self.coords, self.rest.start..end, 0, &mut self.keys[kept..kept + more]);
            (self.rest.start, self.ahead) = (end, 0..kept + more);
        }
        self.ahead.len()
    }

    /// Returns the entries that are not consumed, packed or not.
    fn left(&self) -> Range<usize> {
        self.rest.start - self.ahead.len()..self.rest.end
    }
}

/// Returns the steps of two ranges of keys. Writes the coordinates of the result to `coords`.
fn merge_keys<I: Index>(
    mut left: Keys<'_, I>,
    mut right: Keys<'_, I>,
    keep: Keep,
    mut coords: Vec<&mut [I]>,
) -> Allocated<Vec<u8>> {
    let mut steps = alloc::zeros(left.rest.len() + right.rest.len())?;
    let (mask, mut done, mut written, mut kept) = (keep.mask(), 0, 0, [0; BLOCK]);
    loop {
        // Each step consumes at most one key per list, so neither list ends within `count` steps.
        let count = left.fill().min(right.fill());
        if count == 0 {
            break;
        }
        let (mut i, mut j, mut at) = (left.ahead.start, right.ahead.start, 0);
        for step in &mut steps[done..done + count] {
            // `i` and `j` stay below `BLOCK`. The remainder only removes the bounds check.
            let (one, other) = (left.keys[i % BLOCK], right.keys[j % BLOCK]);
            let (is_left, is_right) = (one <= other, other <= one);
            *step = u8::from(is_left) | u8::from(is_right) << 1;
            // The key is written in each step; `at` advances only if the result has the entry.
            kept[at % BLOCK] = one.min(other);
            i += usize::from(is_left);
            j += usize::from(is_right);
            at += usize::from(mask >> *step & 1);
        }
        left.packing.unpack(&kept[..at], &mut coords, written);
        (left.ahead.start, right.ahead.start) = (i, j);
        (done, written) = (done + count, written + at);
    }
    // At most one list has entries left. Each remaining entry is a step of this list.
    let (rest, side) = if left.left().is_empty() { (&right, RIGHT) } else { (&left, LEFT) };
    let range = rest.left();
    steps[done..done + range.len()].fill(side);
    steps.truncate(done + range.len());
    if keep.holds(side) {
        let axes = coords.iter_mut().zip(rest.coords);
        axes.for_each(|(to, from)| to[written..written + range.len()].copy_from_slice(&from[range.clone()]));
    }
    Ok(steps)
}

/// Returns the steps of two ranges of entries, with one comparison per step.
fn merge_by(
    mut left: Range<usize>,
    mut right: Range<usize>,
    order: impl Fn(usize, usize) -> Ordering,
) -> Allocated<Vec<u8>> {
    let mut steps = alloc::with_capacity(left.len() + right.len())?;
    while !left.is_empty() || !right.is_empty() {
        let order = match (left.is_empty(), right.is_empty()) {
            (false, false) => order(left.start, right.start),
            (_, right_is_over) => {
                if right_is_over {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        };
        // An entry in both lists advances both, so each iteration consumes an entry and the loop ends.
        steps.push(u8::from(order.is_le()) | u8::from(order.is_ge()) << 1);
        left.start += usize::from(order.is_le());
        right.start += usize::from(order.is_ge());
    }
    Ok(steps)
}

/// The entries of lanes: the offsets, one more than there are lanes, and the columns.
#[derive(Clone, Copy)]
pub(crate) struct LaneEntries<'a, I> {
    pub(crate) offsets: &'a [usize],
    pub(crate) columns: &'a [I],
}

impl<'a, I> LaneEntries<'a, I> {
    /// Returns the columns of one lane.
    fn lane(&self, lane: usize) -> &'a [I] {
        &self.columns[self.offsets[lane]..self.offsets[lane + 1]]
    }

    /// Returns the entries of some lanes.
    fn entries(&self, lanes: &Range<usize>) -> Range<usize> {
        self.offsets[lanes.start]..self.offsets[lanes.end]
    }
}

/// Merged entries in lanes: the steps, the offsets of the lanes and the columns of the result.
pub(crate) struct JoinedLanes<I> {
    pub(crate) steps: MergeSteps,
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<I>,
}

/// Merges entries of the same number of lanes on both sides.
pub(crate) fn by_lanes<I: Index>(
    left: LaneEntries<'_, I>,
    right: LaneEntries<'_, I>,
    keep: Keep,
) -> Allocated<JoinedLanes<I>> {
    let lanes = left.offsets.len() - 1;
    // Each lane counts as one unit of work, so the sum increases strictly and empty lanes are also split.
    let before = |lane: usize| left.offsets[lane] + right.offsets[lane] + lane;
    let parts = threads::map_parts(before(lanes), 1500, 0, |part| {
        let lane = |work: usize| partition_point(lanes, |lane| before(lane) < work);
        lane(part.start)..lane(part.end)
    });
    let entries: Few<_> = parts.iter().map(|lanes| (left.entries(lanes), right.entries(lanes))).collect();
    let room = ResultSlots::new(&entries, keep);
    let (mut offsets, mut columns) = (alloc::zeros(lanes + 1)?, alloc::zeros(room.total())?);
    let ends: Few<usize> = parts.iter().map(|part| part.end).collect();
    let shares = parts.into_iter().zip(threads::split_at_ends(&mut offsets[1..], &ends));
    let shares = shares.zip(threads::split_at_ends(&mut columns, &room.ends)).collect();
    let merge = |(): &mut (), ((lanes, counts), columns): ((Range<usize>, &mut [usize]), &mut [I])| {
        merge_lanes(left, right, keep, lanes, counts, columns)
    };
    let merged = threads::map_each(shares, before(lanes), || (), merge);
    let steps = MergeSteps { parts: merged.into_iter().collect::<Allocated<_>>()?, keep };
    // `offsets[1..]` held the number of entries of each lane.
    super::lanes::accumulate(&mut offsets);
    room.compact(&mut columns, &steps.ends());
    Ok(JoinedLanes { steps, offsets, columns })
}

/// Returns the first number below `count` that is not `below`, or `count`.
fn partition_point(count: usize, below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    // Invariant: all numbers before `low` are below, and none from `high` on.
    while low < high {
        let middle = low.midpoint(high);
        if below(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Merges some lanes for [`by_lanes`]. Writes the number of result entries per lane, and their columns.
fn merge_lanes<I: Index>(
    left: LaneEntries<'_, I>,
    right: LaneEntries<'_, I>,
    keep: Keep,
    lanes: Range<usize>,
    counts: &mut [usize],
    mut columns: &mut [I],
) -> Allocated<MergePart> {
    let (of_left, of_right) = (left.entries(&lanes), right.entries(&lanes));
    let mut steps = alloc::zeros(of_left.len() + of_right.len())?;
    let mut done = 0;
    for (lane, count) in lanes.zip(counts) {
        let (one, other) = (left.lane(lane), right.lane(lane));
        let taken = merge_lane(one, other, keep, &mut steps[done..done + one.len() + other.len()], columns);
        *count = keep.count(one.len(), other.len(), taken);
        // Invariant: `columns` starts after the kept columns of all lanes before.
        columns = &mut columns[*count..];
        done += taken;
    }
    steps.truncate(done);
    Ok(MergePart { left: of_left, right: of_right, steps })
}

/// Writes the steps of two lists of columns, and the columns of the result. Returns the number of steps.
fn merge_lane<I: Index>(left: &[I], right: &[I], keep: Keep, steps: &mut [u8], columns: &mut [I]) -> usize {
    let (mask, mut i, mut j, mut done, mut at) = (keep.mask(), 0, 0, 0, 0);
    while let (Some(one), Some(other)) = (left.get(i), right.get(j)) {
        let (is_left, is_right) = (one <= other, other <= one);
        let step = u8::from(is_left) | u8::from(is_right) << 1;
        steps[done] = step;
        // A column that is not kept is overwritten by the next one, or dropped at the end.
        if let Some(column) = columns.get_mut(at) {
            *column = *one.min(other);
        }
        i += usize::from(is_left);
        j += usize::from(is_right);
        at += usize::from(mask >> step & 1);
        done += 1;
    }
    // At most one list has columns left.
    let (rest, side) = if i < left.len() { (&left[i..], LEFT) } else { (&right[j..], RIGHT) };
    steps[done..done + rest.len()].fill(side);
    if keep.holds(side) {
        columns[at..at + rest.len()].copy_from_slice(rest);
    }
    done + rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns entries on three axes: each number below `count` whose remainder by 7 is in `rests`.
    fn coords(count: usize, rests: &[usize], shift: u32) -> [Vec<u64>; 3] {
        let chosen = (0..count).filter(|at| rests.contains(&(at % 7)));
        let places: Vec<usize> = chosen.collect();
        let axis = |of: fn(usize) -> usize| places.iter().map(|&at| (of(at) as u64) << shift).collect();
        [axis(|at| at / 600), axis(|at| at / 20 % 30), axis(|at| at % 20)]
    }

    fn slices(coords: &[Vec<u64>; 3]) -> Vec<&[u64]> {
        coords.iter().map(Vec::as_slice).collect()
    }

    /// Returns the steps of all parts.
    fn steps_of(steps: &MergeSteps) -> Vec<u8> {
        steps.parts.iter().flat_map(|part| part.steps.iter().copied()).collect()
    }

    fn expected(left: &[usize], right: &[usize]) -> Vec<u8> {
        let all: BTreeSet<usize> = left.iter().chain(right).copied().collect();
        let has = |list: &[usize], at: &usize| u8::from(list.binary_search(at).is_ok());
        all.iter().map(|at| has(left, at) | has(right, at) << 1).collect()
    }

    #[test]
    fn steps_say_who_has_an_entry() {
        let choices: [&[usize]; 6] = [&[], &[0], &[0, 1, 2, 3, 4, 5, 6], &[1, 2, 3], &[3, 4, 5], &[6]];
        // In unoptimized builds, even a seventh of these entries is split between two threads.
        let many = if cfg!(debug_assertions) { 120_000 } else { 300_000 };
        for count in [0, 1, 7, 3 * BLOCK, many] {
            let pairs = choices.iter().flat_map(|left| choices.iter().map(move |right| (left, right)));
            // Unoptimized builds are slow with many entries, so they test only some of the pairs.
            let every = if count == many && cfg!(debug_assertions) { 5 } else { 1 };
            for (rests, others) in pairs.skip(every / 2).step_by(every) {
                let listed = |rests: &&[usize]| (0..count).filter(|at| rests.contains(&(at % 7))).collect::<Vec<_>>();
                let (left, right) = (listed(rests), listed(others));
                let wanted = expected(&left, &right);
                // With shift 0 the coordinates fit in a key; with shift 40 they do not.
                for shift in [0, 40] {
                    let (one, other) = (coords(count, rests, shift), coords(count, others, shift));
                    let lengths = [1usize << (20 + shift.min(43)), 1 << (10 + shift), 1 << (10 + shift)];
                    let counts = (left.len(), right.len());
                    let joined = |keep| by_coords(&slices(&one), &slices(&other), counts, &lengths, keep).unwrap();
                    for keep in [Keep::UNION, Keep::BOTH, Keep::WITHOUT] {
                        let Joined { steps, coords } = joined(keep);
                        assert_eq!(coords.is_some(), shift == 0 && counts.0 + counts.1 >= FEW);
                        let picked = |axis: usize| steps.pick(&one[axis], &other[axis]).unwrap();
                        assert!(coords.into_iter().flatten().enumerate().all(|(axis, found)| found == picked(axis)));
                    }
                    let Joined { steps, .. } = joined(Keep::UNION);
                    assert!(steps_of(&steps) == wanted);
                    assert_eq!(steps.count(), wanted.len());
                    let keys = steps.pick(&left, &right).unwrap();
                    assert!(keys.is_sorted() && keys.len() == wanted.len());
                    let both = MergeSteps { keep: Keep::BOTH, ..steps };
                    assert!(both.pick(&left, &right).unwrap().iter().all(|at| right.binary_search(at).is_ok()));
                    assert_eq!(both.count(), wanted.iter().filter(|&&step| step == 3).count());
                    let alone = |side: u8| wanted.iter().position(|&step| step == side).map(|at| keys[at]);
                    let first = |side, list: &[usize]| both.first_left_out(side, |_| true).map(|entry| list[entry]);
                    assert_eq!((first(LEFT, &left), first(RIGHT, &right)), (alone(LEFT), alone(RIGHT)));
                }
            }
        }
    }

    #[test]
    fn lanes_are_walked_one_by_one() {
        let (lanes, width) = (40_000, 9);
        let make = |rest: usize| {
            let has = |lane: usize, column: usize| (lane * 5 + column * rest) % 4 < 2 && !lane.is_multiple_of(11);
            let columns = (0..lanes * width).filter(|at| has(at / width, at % width));
            let places: Vec<usize> = columns.collect();
            let offsets = (0..=lanes).map(|lane| places.partition_point(|at| at / width < lane)).collect::<Vec<_>>();
            (places.clone(), offsets, places.iter().map(|at| (at % width) as u32).collect::<Vec<_>>())
        };
        let ((left, offsets, columns), (right, others, of_other)) = (make(1), make(2));
        let sides = (
            LaneEntries { offsets: &offsets, columns: &columns },
            LaneEntries { offsets: &others, columns: &of_other },
        );
        for keep in [Keep::UNION, Keep::BOTH, Keep::LEFT, Keep::WITHOUT] {
            let JoinedLanes { steps, offsets: ends, columns: found } = by_lanes(sides.0, sides.1, keep).unwrap();
            assert!(steps_of(&steps) == expected(&left, &right));
            let kept = steps.pick(&left, &right).unwrap();
            assert!(kept.iter().map(|at| (at % width) as u32).eq(found));
            assert!((0..=lanes).all(|lane| ends[lane] == kept.partition_point(|at| at / width < lane)));
        }
    }
}
