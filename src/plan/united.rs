//! The positions at which one of two operands has an entry, or both, where at least one is repeated along some axes.
//!
//! They are walked in row-major order, lane by lane. On its own axes an operand has runs of entries with one
//! coordinate; on those that it is repeated along all its entries stand at every coordinate. So nothing is repeated in
//! memory.

use std::borrow::Cow;
use std::ops::Range;

use super::beside::Axes;
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::index::Index;
use crate::base::shape::{Shape, ravel};
use crate::kernels::steps::BLOCK;
use crate::pattern::{CooPattern, Format, Pattern, zero_offsets};

/// Two operands in the shape of their result.
pub(crate) struct United<'a, P: Pattern> {
    sides: [Repeated<'a, P::Index>; 2],
    shape: &'a Shape,
}

/// The coordinates of an operand on each axis of the result; none on the axes that it is repeated along.
struct Repeated<'a, I: Clone> {
    axes: Vec<Option<Cow<'a, [I]>>>,
    count: usize,
}

/// The entries that are left of those with some leading coordinates, and the first coordinate that they may have.
struct Frame {
    rest: [Range<usize>; 2],
    from: usize,
}

/// The entries of both operands that have the same coordinates on all axes but the last.
struct Lane<'a, I> {
    sides: [Columns<'a, I>; 2],
    length: usize,
}

/// The entries of one operand in a lane, from a number on.
enum Columns<'a, I> {
    /// Each stands at a column of its own.
    Own(usize, &'a [I]),
    /// One stands at every column.
    Everywhere(usize),
}

/// The numbers of the entries at positions, for a visitor that takes many at once.
struct Numbers<'a> {
    left: Vec<usize>,
    right: Vec<usize>,
    visit: &'a mut dyn FnMut(&[usize], &[usize]),
}

/// The positions so far, as the format has them: the coordinates on the leading axes, or else the ends of the lanes.
enum Leading<I> {
    Coords(Vec<Vec<I>>),
    Ends(Vec<usize>),
}

impl<'a, I: Index> Repeated<'a, I> {
    fn new<P: Pattern<Index = I>>(pattern: &'a P, shape: &Shape) -> Allocated<Self> {
        let added = shape.rank() - pattern.shape().rank();
        let own = Axes::of(pattern.shape(), shape).own;
        let coords = |axis: usize| match own.contains(&axis) {
            true => pattern.axis_coords(axis - added).map(Some),
            false => Ok(None),
        };
        Ok(Repeated { axes: (0..shape.rank()).map(coords).collect::<Allocated<_>>()?, count: pattern.nnz() })
    }

    /// The first coordinate from `from` on at which some of these entries stand.
    fn first(&self, axis: usize, entries: &Range<usize>, from: usize) -> Option<usize> {
        let own = || self.axes[axis].as_ref().map_or(from, |coords| coords[entries.start].to_usize());
        (!entries.is_empty()).then(own)
    }

    /// Takes those at a coordinate out of the entries; none of them is before it.
    fn take(&self, axis: usize, entries: &mut Range<usize>, coord: usize) -> Range<usize> {
        let Some(coords) = &self.axes[axis] else { return entries.clone() };
        let run = run_at(&coords[entries.clone()], coord);
        let taken = entries.start..entries.start + run;
        entries.start = taken.end;
        taken
    }

    fn columns(&self, entries: &Range<usize>) -> Columns<'_, I> {
        match self.axes.last().and_then(Option::as_ref) {
            Some(columns) => Columns::Own(entries.start, &columns[entries.clone()]),
            None if entries.is_empty() => Columns::Own(entries.start, &[]),
            None => Columns::Everywhere(entries.start),
        }
    }
}

/// How many of the coordinates, which are in order and not below that one, are that one.
fn run_at<I: Index>(coords: &[I], coord: usize) -> usize {
    let is_here = |at: &I| at.to_usize() == coord;
    let mut reach = 1;
    while coords.get(reach - 1).is_some_and(is_here) {
        reach *= 2;
    }
    let known = reach / 2;
    known + coords[known..coords.len().min(reach)].partition_point(is_here)
}

impl<'a, P: Pattern> United<'a, P> {
    pub(crate) fn new(left: &'a P, right: &'a P, shape: &'a Shape) -> Allocated<Self> {
        Ok(United { sides: [Repeated::new(left, shape)?, Repeated::new(right, shape)?], shape })
    }

    /// Calls `visit` with the leading coordinates and the entries of each lane that has some.
    fn lanes(&self, mut visit: impl FnMut(&[usize], &Lane<'_, P::Index>) -> Result<()>) -> Result<()> {
        let last = self.shape.rank() - 1;
        let mut coords = vec![0; last];
        let mut frames = vec![Frame { rest: [0, 1].map(|side| 0..self.sides[side].count), from: 0 }];
        while let (axis, Some(frame)) = (frames.len().wrapping_sub(1), frames.last_mut()) {
            if axis == last {
                visit(&coords, &self.lane(&frame.rest))?;
                frames.pop();
                continue;
            }
            match self.next(axis, frame) {
                Some((coord, rest)) => {
                    coords[axis] = coord;
                    frames.push(Frame { rest, from: 0 });
                }
                None => drop(frames.pop()),
            }
        }
        Ok(())
    }

    /// The next coordinate on an axis at which entries stand, and those of both operands.
    fn next(&self, axis: usize, frame: &mut Frame) -> Option<(usize, [Range<usize>; 2])> {
        let Frame { rest: [left, right], from } = frame;
        let [one, other] = &self.sides;
        let first = [one.first(axis, left, *from), other.first(axis, right, *from)];
        let coord = first.into_iter().flatten().min().filter(|coord| *coord < self.shape[axis])?;
        *from = coord + 1;
        Some((coord, [one.take(axis, left, coord), other.take(axis, right, coord)]))
    }

    fn lane(&self, [left, right]: &[Range<usize>; 2]) -> Lane<'_, P::Index> {
        let [one, other] = &self.sides;
        let length = self.shape[self.shape.rank() - 1];
        Lane { sides: [one.columns(left), other.columns(right)], length }
    }

    /// How many positions there are.
    pub(crate) fn count(&self) -> Result<u128> {
        let mut count = 0;
        self.lanes(|_, lane| {
            count += lane.count()? as u128;
            Ok(())
        })?;
        Ok(count)
    }

    /// The pattern of the positions, of which there are `count`. `visit` gets the numbers of the entries at the next
    /// positions, on either side; an operand that has none there gives the number of its entries.
    pub(crate) fn pattern(&self, count: usize, limit: u64, visit: &mut dyn FnMut(&[usize], &[usize])) -> Result<P> {
        let none = [0, 1].map(|side| self.sides[side].count);
        let mut leading = Leading::new::<P>(self.shape, count, limit)?;
        let mut columns = alloc::with_capacity(count)?;
        let mut numbers = Numbers { left: Vec::with_capacity(BLOCK), right: Vec::with_capacity(BLOCK), visit };
        self.lanes(|coords, lane| {
            lane.each(none, |column, left, right| {
                columns.push(P::Index::from_usize(column));
                numbers.push(left, right);
                Ok(())
            })?;
            leading.end(coords, self.shape, columns.len());
            Ok(())
        })?;
        numbers.flush();
        leading.pattern(self.shape, columns, limit)
    }
}

impl United<'_, CooPattern<u64>> {
    /// Calls `visit` with the positions, `most` at a time, and the numbers of the entries there on the left.
    pub(crate) fn pieces(&self, most: usize, visit: &mut VisitPiece<'_>) -> Result<()> {
        let none = [0, 1].map(|side| self.sides[side].count);
        let mut piece = Piece::default();
        self.lanes(|coords, lane| {
            lane.each(none, |column, number, _| {
                if piece.numbers.is_empty() {
                    piece = Piece::new(self.shape, most)?;
                }
                piece.columns.push(column as u64);
                piece.numbers.push(number);
                if piece.numbers.len() < most {
                    return Ok(());
                }
                piece.leading.end(coords, self.shape, most);
                let (at, numbers) = std::mem::take(&mut piece).finish(self.shape)?;
                visit(&at, &numbers)
            })?;
            piece.leading.end(coords, self.shape, piece.numbers.len());
            Ok(())
        })?;
        if piece.numbers.is_empty() {
            return Ok(());
        }
        let (at, numbers) = piece.finish(self.shape)?;
        visit(&at, &numbers)
    }
}

/// Takes the positions of a piece and the numbers of the entries there.
type VisitPiece<'a> = dyn FnMut(&CooPattern<u64>, &[usize]) -> Result<()> + 'a;

/// Positions that follow each other.
#[derive(Default)]
struct Piece {
    leading: Leading<u64>,
    columns: Vec<u64>,
    numbers: Vec<usize>,
}

impl Piece {
    fn new(shape: &Shape, most: usize) -> Result<Self> {
        let leading = Leading::new::<CooPattern<u64>>(shape, most, u64::MAX)?;
        Ok(Piece { leading, columns: alloc::with_capacity(most)?, numbers: alloc::with_capacity(most)? })
    }

    fn finish(self, shape: &Shape) -> Result<(CooPattern<u64>, Vec<usize>)> {
        Ok((self.leading.pattern(shape, self.columns, u64::MAX)?, self.numbers))
    }
}

impl<I: Index> Lane<'_, I> {
    fn count(&self) -> Result<usize> {
        Ok(match &self.sides {
            [Columns::Everywhere(_), _] | [_, Columns::Everywhere(_)] => self.length,
            [Columns::Own(_, []), Columns::Own(_, some)] | [Columns::Own(_, some), Columns::Own(_, [])] => some.len(),
            _ => {
                let mut count = 0;
                self.each([0, 0], |_, _, _| {
                    count += 1;
                    Ok(())
                })?;
                count
            }
        })
    }

    /// Calls `visit` with each column, and the numbers of the entries there, or else those that stand for none.
    fn each(&self, none: [usize; 2], mut visit: impl FnMut(usize, usize, usize) -> Result<()>) -> Result<()> {
        let [left, right] = &self.sides;
        let (mut left, mut right) = (left.cursor(none[0]), right.cursor(none[1]));
        let mut column = left.next(0).min(right.next(0));
        while column < self.length {
            visit(column, left.at(column), right.at(column))?;
            column = left.next(column + 1).min(right.next(column + 1));
        }
        Ok(())
    }
}

/// The place in the entries of a lane.
struct Cursor<'a, I> {
    columns: &'a Columns<'a, I>,
    passed: usize,
    none: usize,
}

impl<I: Index> Columns<'_, I> {
    fn cursor(&self, none: usize) -> Cursor<'_, I> {
        Cursor { columns: self, passed: 0, none }
    }
}

impl<I: Index> Cursor<'_, I> {
    /// The first column from `from` on that has an entry.
    fn next(&self, from: usize) -> usize {
        match self.columns {
            Columns::Own(_, columns) => columns.get(self.passed).map_or(usize::MAX, |column| column.to_usize()),
            Columns::Everywhere(_) => from,
        }
    }

    /// The number of the entry at a column, which no entry of the rest is before; passes that entry.
    fn at(&mut self, column: usize) -> usize {
        match self.columns {
            Columns::Own(start, columns) => {
                let is_here = columns.get(self.passed).is_some_and(|at| at.to_usize() == column);
                let number = if is_here { start + self.passed } else { self.none };
                self.passed += usize::from(is_here);
                number
            }
            Columns::Everywhere(number) => *number,
        }
    }
}

impl Numbers<'_> {
    fn push(&mut self, left: usize, right: usize) {
        self.left.push(left);
        self.right.push(right);
        if self.left.len() == BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        (self.visit)(&self.left, &self.right);
        self.left.clear();
        self.right.clear();
    }
}

impl<I> Default for Leading<I> {
    fn default() -> Self {
        Leading::Coords(Vec::new())
    }
}

impl<I: Index> Leading<I> {
    fn new<P: Pattern<Index = I>>(shape: &Shape, count: usize, limit: u64) -> Result<Self> {
        Ok(match P::FORMAT {
            Format::Coo => {
                let axis = |_| alloc::with_capacity(count);
                Leading::Coords(shape.lane_axes().iter().map(axis).collect::<Allocated<_>>()?)
            }
            Format::Csr => Leading::Ends(zero_offsets(shape, limit)?),
        })
    }

    /// The positions up to that number have these coordinates, or come before.
    fn end(&mut self, coords: &[usize], shape: &Shape, count: usize) {
        match self {
            Leading::Coords(axes) => {
                axes.iter_mut().zip(coords).for_each(|(axis, &coord)| axis.resize(count, I::from_usize(coord)));
            }
            Leading::Ends(ends) => ends[ravel(coords, shape.lane_axes()) + 1] = count,
        }
    }

    fn pattern<P: Pattern<Index = I>>(self, shape: &Shape, columns: Vec<I>, limit: u64) -> Result<P> {
        match self {
            Leading::Coords(mut axes) => {
                let count = columns.len();
                axes.push(columns);
                P::from_coords(shape.clone(), count, axes.into_iter().map(Buffer::from).collect(), limit)
            }
            Leading::Ends(mut ends) => {
                // A lane without positions ends where the one before it does.
                let mut end = 0;
                ends.iter_mut().for_each(|of_lane| {
                    end = end.max(*of_lane);
                    *of_lane = end;
                });
                P::from_lanes(shape.clone(), ends.into(), columns.into())
            }
        }
    }
}
