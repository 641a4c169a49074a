//! Pairing of the entries of a pattern with the entries of a broadcast operand.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::limit::default_limit;
use crate::base::shape::{Shape, saturating_product, step};
use crate::base::threads;
use crate::kernels::gather::marked;
use crate::kernels::sort;
use crate::kernels::steps::BLOCK;
use crate::pattern::{AnyPattern, AxisCoords, by_slices, for_plan, of_plan, of_width, planned};

/// A broadcast pattern, and the entries of another pattern in the shape of the result.
pub(crate) struct BroadcastMatch<'a> {
    repeated: &'a AnyPattern,
    at: &'a AnyPattern,
    axes: BroadcastAxes,
    numbers: Arc<EntryLookup>,
}

/// The axes of the result on which a broadcast pattern has its own coordinates, their lengths, and the other axes.
pub(super) struct BroadcastAxes {
    pub(super) own: Vec<usize>,
    lengths: Vec<usize>,
    repeated: Vec<usize>,
}

/// The lookup of the broadcast entry at the position of an entry.
enum EntryLookup {
    /// Every position of the broadcast pattern is stored, so the row-major position is the index.
    Positions,
    /// The entry index at each position of the broadcast pattern; [`BroadcastMatch::none`] at unstored positions.
    Table(Vec<usize>),
    /// The entry index for each entry.
    List(Vec<usize>),
}

/// The maximum number of table positions per entry of both patterns.
const POSITIONS: usize = 4;

/// The estimated picoseconds to search for an entry.
const SEARCH: usize = 100_000;

/// The memo key of the entry indices for a broadcast pattern.
#[derive(PartialEq)]
struct EntryIndicesKey(AnyPattern);

#[derive(PartialEq)]
struct MatchedKey(AnyPattern);

/// Indices of selected entries, `None` if all entries are selected; and the pattern of these entries.
#[derive(Clone)]
pub(crate) struct SelectedEntries {
    pub(crate) pattern: AnyPattern,
    pub(crate) entries: Option<Arc<Vec<usize>>>,
}

impl BroadcastAxes {
    /// Returns the axes of a pattern with these lengths, broadcast to a shape of at least the same rank.
    pub(super) fn of(lengths: &[usize], shape: &[usize]) -> Self {
        let added = shape.len() - lengths.len();
        let length = |axis: usize| if axis < added { 1 } else { lengths[axis - added] };
        let (own, repeated): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(|&axis| length(axis) != 1);
        let lengths = own.iter().map(|&axis| length(axis)).collect();
        BroadcastAxes { own, lengths, repeated }
    }

    /// Returns the coordinates in the pattern for a position of the result.
    fn project(&self, coords: &[usize], own: &mut [usize]) {
        let added = coords.len() - own.len();
        self.own.iter().for_each(|&axis| own[axis - added] = coords[axis]);
    }

    /// Returns the number of positions of `shape` per position of the pattern.
    fn times(&self, shape: &[usize]) -> u128 {
        saturating_product(self.repeated.iter().map(|&axis| &shape[axis]))
    }
}

/// Returns whether the pattern stores every position.
pub(crate) fn is_full(pattern: &AnyPattern) -> bool {
    pattern.nnz() as u128 == pattern.shape().wide_size()
}

/// Returns the lengths of a pattern, or of the entire tensor of which it is a chunk.
pub(crate) fn whole_lengths(pattern: &AnyPattern) -> &Shape {
    pattern.part_of().and_then(|whole| whole.lengths.as_ref()).unwrap_or(pattern.shape())
}

/// Returns whether the pattern, or the entire tensor of which it is a chunk, stores every position.
pub(crate) fn is_whole_full(pattern: &AnyPattern) -> bool {
    pattern.part_of().and_then(|whole| whole.is_full).unwrap_or_else(|| is_full(pattern))
}

/// Returns the number of entries of the pattern after broadcasting to a shape.
pub(crate) fn repeated_count(pattern: &AnyPattern, shape: &[usize]) -> u128 {
    (pattern.nnz() as u128).saturating_mul(occurrences(pattern, shape))
}

/// Returns the number of positions of a shape per position of a broadcast pattern.
pub(crate) fn occurrences(pattern: &AnyPattern, shape: &[usize]) -> u128 {
    BroadcastAxes::of(pattern.shape(), shape).times(shape)
}

impl<'a> BroadcastMatch<'a> {
    pub(crate) fn new(repeated: &'a AnyPattern, at: &'a AnyPattern) -> Result<Self> {
        let axes = BroadcastAxes::of(repeated.shape(), at.shape());
        let numbers = match at.memo() {
            None => Arc::new(EntryLookup::of(repeated, at, &axes)?),
            Some(_) => planned(
                at,
                || EntryIndicesKey(repeated.clone().with_memo(None)),
                || EntryLookup::of(repeated, at, &axes)?.listed(at, &axes).map_err(Into::into),
            )?,
        };
        Ok(BroadcastMatch { repeated, at, axes, numbers })
    }

    /// Returns the index that means "no entry".
    pub(crate) fn none(&self) -> usize {
        self.repeated.nnz()
    }

    /// Writes the indices of the broadcast entries at the positions of the entries from `start` on.
    pub(crate) fn number(&self, start: usize, numbers: &mut [usize]) {
        self.numbers.write(self.at, &self.axes, start, numbers);
    }

    /// Calls `visit` with the index of the broadcast entry at the position of each entry.
    pub(crate) fn visit(&self, mut visit: impl FnMut(usize)) {
        let mut numbers = [0; BLOCK];
        for start in (0..self.at.nnz()).step_by(BLOCK) {
            let numbers = &mut numbers[..BLOCK.min(self.at.nnz() - start)];
            self.number(start, numbers);
            numbers.iter().for_each(|&number| visit(number));
        }
    }

    /// Returns the entries whose position has a broadcast entry.
    pub(crate) fn matched(&self) -> Result<SelectedEntries> {
        if is_full(self.repeated) {
            return Ok(SelectedEntries { pattern: self.at.clone(), entries: None });
        }
        let kept = planned(
            self.at,
            || MatchedKey(self.repeated.clone().with_memo(None)),
            || {
                let entries = self.met_entries()?;
                if entries.len() == self.at.nnz() {
                    return Ok(SelectedEntries { pattern: for_plan(self.at, self.at.clone()), entries: None });
                }
                let pattern = for_plan(self.at, self.at.retain(&entries)?);
                Ok(SelectedEntries { pattern, entries: Some(Arc::new(entries)) })
            },
        )?;
        Ok(SelectedEntries { pattern: of_plan(self.at, &kept.pattern), entries: kept.entries.clone() })
    }

    fn met_entries(&self) -> Allocated<Vec<usize>> {
        marked(self.at.nnz(), |range, marks| {
            let mut numbers = [0; BLOCK];
            for (marks, start) in marks.chunks_mut(BLOCK).zip(range.step_by(BLOCK)) {
                let numbers = &mut numbers[..marks.len()];
                self.number(start, numbers);
                marks.iter_mut().zip(numbers).for_each(|(mark, number)| *mark = *number != self.none());
            }
        })
    }

    /// Returns the number of entries at the positions of each broadcast entry. The last item is the number of entries
    /// without a broadcast entry.
    pub(crate) fn counts(&self) -> Allocated<Vec<usize>> {
        let mut counts = alloc::zeros(self.none() + 1)?;
        self.visit(|number| counts[number] += 1);
        Ok(counts)
    }
}

/// Returns the first position of `shape` that has an entry of `own` and does not have an entry of `other`.
///
/// Both patterns are broadcast to the shape. The number of searches is the number of entries of `other` before the
/// position, plus 1.
pub(crate) fn first_unstored(
    own: &AnyPattern,
    entry: usize,
    other: &AnyPattern,
    shape: &[usize],
) -> Option<Vec<usize>> {
    if shape.contains(&0) {
        return None;
    }
    let axes = BroadcastAxes::of(own.shape(), shape);
    let mut coords = vec![0; shape.len()];
    axes.own.iter().for_each(|&axis| coords[axis] = own.coord(entry, axis - (shape.len() - own.shape().rank())));
    let lengths: Vec<usize> = axes.repeated.iter().map(|&axis| shape[axis]).collect();
    let (mut along, mut source) = (vec![0; lengths.len()], vec![0; other.shape().rank()]);
    let of_other = BroadcastAxes::of(other.shape(), shape);
    loop {
        axes.repeated.iter().zip(&along).for_each(|(&axis, &coord)| coords[axis] = coord);
        of_other.project(&coords, &mut source);
        if other.find(&source).is_none() {
            return Some(coords);
        }
        step(&mut along, &lengths);
        if along.iter().all(|&coord| coord == 0) {
            return None;
        }
    }
}

/// The entries that two broadcast patterns have in common, in row-major order: their pattern and both entry indices.
pub(crate) struct CommonEntries {
    pub(crate) pattern: AnyPattern,
    pub(crate) left: Vec<usize>,
    pub(crate) right: Vec<usize>,
}

impl CommonEntries {
    /// Returns the common entries. `admit` receives the number of common entries before they are listed.
    pub(crate) fn new(
        x: &AnyPattern,
        y: &AnyPattern,
        shape: &Shape,
        admit: &dyn Fn(u128) -> Result<()>,
    ) -> Result<Self> {
        let width = x.width_for(shape).max(y.width_for(shape));
        let [of_x, of_y] = [x, y].map(|pattern| BroadcastAxes::of(pattern.shape(), shape));
        let common: Vec<usize> = of_x.own.iter().copied().filter(|axis| of_y.own.contains(axis)).collect();
        let key = |pattern: &AnyPattern| {
            let added = shape.rank() - pattern.shape().rank();
            common.iter().map(|&axis| pattern.axis(axis - added)?.in_width(width)).collect::<Allocated<Vec<_>>>()
        };
        let (key_x, key_y) = (key(x)?, key(y)?);
        let (left, right) = of_width!(width, I => {
            let [key_x, key_y] = [&key_x, &key_y].map(|key| key.iter().map(AxisCoords::view::<I>).collect::<Vec<_>>());
            pairs(&key_x, &key_y, (x.nnz(), y.nnz()), admit)?
        });
        let axis = |axis: usize| {
            let of = |pattern: &AnyPattern| pattern.axis(axis + pattern.shape().rank() - shape.rank());
            match (of_x.own.contains(&axis), of_y.own.contains(&axis)) {
                (true, _) => of(x)?.gather(&left)?.in_width(width),
                (false, true) => of(y)?.gather(&right)?.in_width(width),
                (false, false) => AxisCoords::zeros(left.len(), width),
            }
        };
        let coords = (0..shape.rank()).map(axis).collect::<Allocated<Vec<_>>>()?;
        CommonEntries::sorted(
            x,
            shape,
            coords,
            (left, right),
            default_limit(x.index_bytes().saturating_add(y.index_bytes())),
        )
    }

    fn sorted(
        x: &AnyPattern,
        shape: &Shape,
        coords: Vec<AxisCoords>,
        (left, right): (Vec<usize>, Vec<usize>),
        limit: u64,
    ) -> Result<Self> {
        let order = by_slices!(&coords, own => sort::row_major_order(&own, left.len()))?;
        let (coords, left, right) = match order {
            None => (coords, left, right),
            Some(order) => {
                let coords = coords.iter().map(|axis| axis.gather(&order)).collect::<Allocated<_>>()?;
                (coords, sort::gather(&left, &order)?, sort::gather(&right, &order)?)
            }
        };
        Ok(CommonEntries { pattern: x.of_coords(shape.clone(), left.len(), coords, limit)?, left, right })
    }
}

/// Returns the indices of all left and right entries with equal keys, in the order of the left entries.
fn pairs<I: Index>(
    key_x: &[&[I]],
    key_y: &[&[I]],
    (of_x, of_y): (usize, usize),
    admit: &dyn Fn(u128) -> Result<()>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let compare = |number: &usize, entry: usize| {
        key_y.iter().zip(key_x).map(|(of_y, of_x)| of_y[*number].cmp(&of_x[entry])).find(|order| order.is_ne())
    };
    let mut order = alloc::collect(0..of_y)?;
    // The comparison by index keeps entries with equal keys in order.
    threads::sort(&mut order, |&a, &b| {
        key_y.iter().map(|axis| axis[a].cmp(&axis[b])).find(|order| order.is_ne()).unwrap_or(a.cmp(&b))
    });
    let run = |entry: usize| {
        let start = order.partition_point(|number| compare(number, entry) == Some(Ordering::Less));
        start..start + order[start..].partition_point(|number| compare(number, entry).is_none())
    };
    let count = (0..of_x).fold(0, |count: u128, entry| count.saturating_add(run(entry).len() as u128));
    admit(count)?;
    let [mut left, mut right] = [alloc::with_capacity(count as usize)?, alloc::with_capacity(count as usize)?];
    for entry in 0..of_x {
        let run = run(entry);
        left.extend(std::iter::repeat_n(entry, run.len()));
        right.extend_from_slice(&order[run]);
    }
    Ok((left, right))
}

impl EntryLookup {
    fn of(repeated: &AnyPattern, at: &AnyPattern, axes: &BroadcastAxes) -> Allocated<Self> {
        if is_full(repeated) {
            return Ok(EntryLookup::Positions);
        }
        let entries = repeated.nnz().saturating_add(at.nnz());
        match repeated.shape().checked_size().filter(|&positions| positions <= entries.saturating_mul(POSITIONS)) {
            Some(positions) => EntryLookup::in_table(repeated, positions).map(EntryLookup::Table),
            None => threads::filled(at.nnz(), SEARCH, |range, slots| {
                search(repeated, at, axes, range, slots);
            })
            .map(EntryLookup::List),
        }
    }

    fn in_table(repeated: &AnyPattern, positions: usize) -> Allocated<Vec<usize>> {
        let mut table = alloc::copies(repeated.nnz(), positions)?;
        let mut places = [0; BLOCK];
        for start in (0..repeated.nnz()).step_by(BLOCK) {
            let places = &mut places[..BLOCK.min(repeated.nnz() - start)];
            repeated.number(start, places);
            places.iter().enumerate().for_each(|(further, &place)| table[place] = start + further);
        }
        Ok(table)
    }

    /// Returns the lookup as a list with the index for each entry. Coordinates are then not read again.
    fn listed(self, at: &AnyPattern, axes: &BroadcastAxes) -> Allocated<Self> {
        threads::filled(at.nnz(), 3000, |range, slots: &mut [usize]| self.write(at, axes, range.start, slots))
            .map(EntryLookup::List)
    }

    fn write(&self, at: &AnyPattern, axes: &BroadcastAxes, start: usize, numbers: &mut [usize]) {
        match self {
            EntryLookup::List(list) => numbers.copy_from_slice(&list[start..start + numbers.len()]),
            EntryLookup::Positions => at.number_within(&axes.own, &axes.lengths, start, numbers),
            EntryLookup::Table(table) => {
                at.number_within(&axes.own, &axes.lengths, start, numbers);
                numbers.iter_mut().for_each(|number| *number = table[*number]);
            }
        }
    }
}

/// Searches the broadcast entry at the position of each entry of a range.
fn search(repeated: &AnyPattern, at: &AnyPattern, axes: &BroadcastAxes, entries: Range<usize>, slots: &mut [usize]) {
    let mut own = vec![0; repeated.shape().rank()];
    let first = entries.start;
    at.walk_range(entries, &mut |entry, coords| {
        axes.project(coords, &mut own);
        slots[entry - first] = repeated.find(&own).unwrap_or(repeated.nnz());
        true
    });
}
