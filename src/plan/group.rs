//! Which entries meet in one cell of a reduction, and the pattern of the cells that hold any.

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::index::Index;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{saturating_product, unravel};
use crate::base::threads;
use crate::kernels::cells::number;
use crate::kernels::fed::CellsAndValues;
use crate::kernels::group::Groups;
use crate::kernels::lanes::{Reduced, reduce_stored};
use crate::kernels::sort;
use crate::pattern::{Pattern, for_plan, of_plan, planned, zero_offsets};
use crate::plan::reduction::Reduction;

/// How it is known which entries meet in a cell.
pub(crate) enum Meeting<'a, I: Index> {
    /// Those of a lane meet: the trailing axes go. Where the entries of each kept lane start, and where the last ends.
    Lanes(Cow<'a, [usize]>),
    /// Those with equal coordinates on the kept axes meet, all of them if there are no kept axes.
    Coords(Few<Cow<'a, [I]>>),
}

impl<'a, I: Index> Meeting<'a, I> {
    pub(crate) fn new<P: Pattern<Index = I>>(entries: &'a P, reduction: &Reduction) -> Allocated<Self> {
        let lanes = reduction.lanes_a_cell().zip(entries.lane_offsets());
        Ok(match lanes {
            Some((1, offsets)) => Meeting::Lanes(Cow::Borrowed(offsets)),
            Some((lanes, offsets)) => Meeting::Lanes(Cow::Owned(every(lanes, offsets)?)),
            None => {
                let kept = reduction.kept().iter().map(|&axis| reduction.kept_coords(entries, axis));
                Meeting::Coords(kept.collect::<Allocated<_>>()?)
            }
        })
    }
}

/// What is kept where a pattern keeps plans: the coordinates on the kept axes, if it is by these that entries meet.
pub(crate) struct KeptCoords<I>(Vec<Buffer<I>>);

impl<I: Index> KeptCoords<I> {
    pub(crate) fn of<P: Pattern<Index = I>>(entries: &P, reduction: &Reduction) -> Result<Arc<Self>> {
        let coords = |&axis: &usize| match reduction.kept_coords(entries, axis)? {
            Cow::Owned(coords) => Ok(Buffer::from(coords)),
            Cow::Borrowed(_) => entries.shared_axis(axis),
        };
        let by_lanes = reduction.lanes_a_cell().zip(entries.lane_offsets());
        let kept = if by_lanes.is_some() { &[] } else { reduction.kept() };
        let question = || ("coords", reduction.clone());
        planned(entries, question, || Ok(KeptCoords(kept.iter().map(coords).collect::<Allocated<_>>()?)))
    }

    /// How the entries of the pattern meet.
    pub(crate) fn meeting<'a, P: Pattern<Index = I>>(
        &'a self,
        entries: &'a P,
        reduction: &Reduction,
    ) -> Allocated<Meeting<'a, I>> {
        match &self.0[..] {
            [] => Meeting::new(entries, reduction),
            axes => Ok(Meeting::Coords(axes.iter().map(|axis| Cow::Borrowed(&**axis)).collect())),
        }
    }
}

/// The pattern of the cells that hold an entry: one and the same each time where plans are kept.
pub(crate) fn kept_cells<P: Pattern>(entries: &P, reduction: &Reduction, cells: P) -> Result<P> {
    if entries.memo().is_none() {
        return Ok(cells);
    }
    let question = || ("cells", reduction.clone());
    let kept = planned(entries, question, || Ok(for_plan(entries, cells)))?;
    Ok(of_plan(entries, &kept))
}

/// The offsets of runs of so many lanes.
fn every(lanes: usize, offsets: &[usize]) -> Allocated<Vec<usize>> {
    threads::filled((offsets.len() - 1) / lanes + 1, 1000, |range, starts| {
        starts.iter_mut().zip(range).for_each(|(start, lane)| *start = offsets[lane * lanes]);
    })
}

/// The plan of a reduction, the same for forward and backward passes over one pattern and axes.
#[derive(Clone)]
pub(crate) struct Cells<P> {
    /// The cells that an entry falls into.
    pub(crate) pattern: P,
    /// The entries of each of these cells.
    pub(crate) groups: Arc<Groups>,
}

impl<P: Pattern> Cells<P> {
    pub(crate) fn new(entries: &P, reduction: &Reduction) -> Result<Self> {
        let of = || Cells::of(entries, reduction, Meeting::new(entries, reduction)?);
        if entries.memo().is_none() {
            return of();
        }
        let cells = planned(entries, || ("groups", reduction.clone()), of)?;
        let pattern = kept_cells(entries, reduction, cells.pattern.clone())?;
        Ok(Cells { pattern, groups: Arc::clone(&cells.groups) })
    }

    pub(crate) fn of(entries: &P, reduction: &Reduction, meeting: Meeting<'_, P::Index>) -> Result<Self> {
        let kept = match meeting {
            Meeting::Lanes(offsets) => {
                let listed = |_, _: &[usize], _: &mut [()]| Ok(());
                let (pattern, _) = of_lanes(entries, &offsets, reduction, listed)?;
                return Ok(Cells { pattern, groups: Groups::of_offsets(offsets)?.into() });
            }
            Meeting::Coords(kept) => kept,
        };
        let groups = match kept.is_empty() {
            true => Groups::of_all(entries.nnz()),
            false => Groups::of_coords(&kept, entries.nnz())?,
        };
        let firsts = groups.firsts()?;
        let kept = kept.iter().map(|axis| sort::gather(axis, &firsts)).collect::<Allocated<Vec<_>>>()?;
        Ok(Cells { pattern: of_coords(entries, reduction, kept, groups.len())?, groups: groups.into() })
    }
}

/// The pattern of `count` cells, by their coordinates on the kept axes.
pub(crate) fn of_coords<P: Pattern>(
    entries: &P,
    reduction: &Reduction,
    kept: Vec<Vec<P::Index>>,
    count: usize,
) -> Result<P> {
    let zeros = reduction.keeps_dims().then(|| alloc::zeros(count)).transpose()?.map(Buffer::from);
    let axes = reduction.result_axes(kept.into_iter().map(Buffer::from), || zeros.clone().unwrap_or_default());
    P::from_coords(reduction.result_shape(), count, axes, default_limit(entries.index_bytes()))
}

/// The pattern of cells by their row-major numbers, in order.
pub(crate) fn of_numbers<P: Pattern>(entries: &P, reduction: &Reduction, cells: &[usize]) -> Result<P> {
    let lengths = reduction.kept_lengths();
    let (mut coords, mut kept) = (vec![0; lengths.len()], Vec::new());
    for _ in lengths {
        kept.push(alloc::with_capacity(cells.len())?);
    }
    for &cell in cells {
        unravel(cell, lengths, &mut coords);
        kept.iter_mut().zip(&coords).for_each(|(axis, &coord)| axis.push(P::Index::from_usize(coord)));
    }
    of_coords(entries, reduction, kept, cells.len())
}

/// The cells of some axes that entries fall into which come in pieces, by their row-major numbers.
pub(crate) struct CellsOf<'a> {
    axes: &'a [usize],
    lengths: &'a [usize],
    /// Those of one piece.
    numbers: Vec<usize>,
    done: Allocated<()>,
}

impl<'a> CellsOf<'a> {
    pub(crate) fn new(axes: &'a [usize], lengths: &'a [usize]) -> Self {
        CellsOf { axes, lengths, numbers: Vec::new(), done: Ok(()) }
    }

    /// Hands over the values of a piece with their cells, unless one before had no memory for them.
    pub(crate) fn give<P: Pattern, T>(&mut self, piece: &P, values: &[T], take: &mut CellsAndValues<'_, T>) {
        if self.done.is_ok() {
            self.done = self.number(piece);
            self.done.iter().for_each(|()| take(&self.numbers, values));
        }
    }

    fn number<P: Pattern>(&mut self, piece: &P) -> Allocated<()> {
        self.numbers.clear();
        alloc::reserve(&mut self.numbers, piece.nnz())?;
        self.numbers.resize(piece.nnz(), 0);
        let coords = self.axes.iter().map(|&axis| piece.axis_coords(axis)).collect::<Allocated<Vec<_>>>()?;
        let coords: Vec<&[P::Index]> = coords.iter().map(|coords| &**coords).collect();
        number(&coords, self.lengths, 0, &mut self.numbers);
        Ok(())
    }

    /// Whether there was memory for all of them.
    pub(crate) fn finish(self) -> Allocated<()> {
        self.done
    }
}

/// The cells of a reduction over trailing axes: the lanes, by their `offsets`, that hold an entry, and what `reduce`
/// makes of them, as [`reduce_stored`] says.
pub(crate) fn of_lanes<P: Pattern, U: Zeroable + Copy + Send>(
    entries: &P,
    offsets: &[usize],
    reduction: &Reduction,
    reduce: impl Fn(usize, &[usize], &mut [U]) -> Result<()> + Sync + Send,
) -> Result<(P, Vec<U>)> {
    let shape = reduction.result_shape();
    let mut cells = zero_offsets(&shape, default_limit(entries.index_bytes()))?;
    let Reduced { row_ends, columns, results } = reduce_stored(offsets, shape.columns(), reduce)?;
    // Rows without lanes have no end there.
    cells[1..].iter_mut().zip(row_ends).for_each(|(end, stored)| *end = stored);
    Ok((P::from_lanes(shape, cells.into(), columns.into())?, results))
}

/// The row-major position of an entry within its group.
pub(crate) fn position_in_group<P: Pattern>(entries: &P, reduction: &Reduction, entry: usize) -> u128 {
    reduction.position_in_group(|axis| entries.coord(entry, axis))
}

/// The number of positions of each of the cells of a reduction by labels, from that of each label.
pub(crate) fn extents_of<P: Pattern>(cells: &P, reduction: &Reduction, extents: &[u128]) -> Allocated<Vec<u128>> {
    let labels = labels_of(cells, reduction)?;
    threads::map(&labels, 1000, |label| extents[label.to_usize()])
}

/// The cells of a reduction by labels, and all cells of labels that none of these has; with the number of each among the
/// cells that there were, or one beyond these.
pub(crate) fn with_labels<P: Pattern>(
    cells: &P,
    reduction: &Reduction,
    labels: &[usize],
    value_bytes: usize,
) -> Result<(P, Vec<usize>)> {
    let (lengths, place) = (reduction.kept_lengths(), reduction.place_of_labels().unwrap_or(0));
    let own = |axis: usize| if axis == place { labels.len() } else { lengths[axis] };
    let own: Vec<usize> = (0..lengths.len()).map(own).collect();
    let bytes = lengths.len() * size_of::<P::Index>() + value_bytes;
    let count = guard_cells(saturating_product(&own).saturating_add(cells.nnz() as u128), bytes, cells.index_bytes())?;
    let (mut coords, mut at) = (Vec::new(), vec![0; lengths.len()]);
    for axis in 0..lengths.len() {
        let of_result = if reduction.keeps_dims() { reduction.kept()[axis] } else { axis };
        let mut all = alloc::with_capacity(count)?;
        all.extend_from_slice(&cells.axis_coords(of_result)?);
        coords.push(all);
    }
    for number in 0..count - cells.nnz() {
        unravel(number, &own, &mut at);
        at[place] = labels[at[place]];
        coords.iter_mut().zip(&at).for_each(|(axis, &coord)| axis.push(P::Index::from_usize(coord)));
    }
    let order = match sort::row_major_order(&coords, count)? {
        Some(order) => order,
        None => alloc::collect(0..count)?,
    };
    Ok((of_coords(cells, reduction, sort::gather_axes(&coords, &order)?, count)?, order))
}

/// So many cells, unless they need too much memory.
fn guard_cells(count: u128, bytes: usize, held: usize) -> Result<usize> {
    let what = "the cells of labels that no position has";
    guard::<u8>(what, count.saturating_mul(bytes as u128), default_limit(held), "number the labels without gaps")?;
    Ok(count as usize)
}

/// The label of each of the cells of a reduction by labels.
pub(crate) fn labels_of<'a, P: Pattern>(cells: &'a P, reduction: &Reduction) -> Allocated<Cow<'a, [P::Index]>> {
    let place = reduction.place_of_labels().unwrap_or(0);
    cells.axis_coords(if reduction.keeps_dims() { reduction.kept()[place] } else { place })
}
