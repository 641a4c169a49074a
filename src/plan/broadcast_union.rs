//! The union of two patterns, at least one of them broadcast, computed without repeating entries in memory.
//!
//! Positions are visited in row-major order, lane by lane. On an axis that is not broadcast, an operand has runs of
//! entries with equal coordinates. On a broadcast axis, all entries of the operand occur at every coordinate.

use std::ops::Range;

use super::broadcast_match::BroadcastAxes;
use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::index::{Index, Width};
use crate::base::shape::{Shape, ravel};
use crate::kernels::steps::BLOCK;
use crate::pattern::{AnyPattern, AxisCoords, Format, of_width, zero_offsets};

/// Two operands in the shape of their result.
pub(crate) struct BroadcastUnion<'a> {
    sides: [Repeated; 2],
    result: UnionResult<'a>,
}

/// The result, which has the format of the left operand.
#[derive(Clone, Copy)]
struct UnionResult<'a> {
    of: &'a AnyPattern,
    shape: &'a Shape,
    /// The width of all coordinates of both operands and of the result.
    width: Width,
}

/// The coordinates of an operand per axis of the result; `None` for axes along which it is broadcast.
struct Repeated {
    axes: Few<Option<AxisCoords>>,
    count: usize,
}

/// Both operands, with coordinates of type `I`.
struct UnionOperands<'a, I> {
    sides: [RepeatedSide<'a, I>; 2],
    result: UnionResult<'a>,
}

/// A [`Repeated`] operand, with coordinates of type `I`.
struct RepeatedSide<'a, I> {
    axes: Few<Option<&'a [I]>>,
    count: usize,
}

/// The remaining entries with some leading coordinates, and the smallest coordinate that they may have.
struct Frame {
    rest: [Range<usize>; 2],
    from: usize,
}

/// The entries of both operands that agree on all axes except the last.
struct Lane<'a, I> {
    sides: [LaneColumns<'a, I>; 2],
    length: usize,
}

/// The entries of one operand in a lane, starting at an entry index.
enum LaneColumns<'a, I> {
    /// Each entry has its own column.
    Own(usize, &'a [I]),
    /// One entry occurs at every column.
    Everywhere(usize),
}

/// A buffer of entry indices per position, for a visitor of many positions.
struct IndexBuffer<'a> {
    left: Vec<usize>,
    right: Vec<usize>,
    visit: &'a mut dyn FnMut(&[usize], &[usize]),
}

/// The positions visited so far: the coordinates on the leading axes, or the ends of the lanes.
enum Leading<I> {
    Coords(Vec<Vec<I>>),
    Ends(Vec<usize>),
}

impl Repeated {
    fn new(pattern: &AnyPattern, result: UnionResult<'_>) -> Allocated<Self> {
        let added = result.shape.rank() - pattern.shape().rank();
        let own = BroadcastAxes::of(pattern.shape(), result.shape).own;
        let coords = |axis: usize| match own.contains(&axis) {
            true => pattern.axis(axis - added)?.in_width(result.width).map(Some),
            false => Ok(None),
        };
        Ok(Repeated { axes: (0..result.shape.rank()).map(coords).collect::<Allocated<_>>()?, count: pattern.nnz() })
    }

    fn side<I: Index>(&self) -> RepeatedSide<'_, I> {
        RepeatedSide {
            axes: self.axes.iter().map(|axis| axis.as_ref().map(AxisCoords::view)).collect(),
            count: self.count,
        }
    }
}

impl<I: Index> RepeatedSide<'_, I> {
    /// Returns the first coordinate, from `from` on, at which at least one of these entries occurs.
    fn first(&self, axis: usize, entries: &Range<usize>, from: usize) -> Option<usize> {
        let own = || self.axes[axis].map_or(from, |coords| coords[entries.start].to_usize());
        (!entries.is_empty()).then(own)
    }

    /// Removes and returns the entries at a coordinate. No entry may have a smaller coordinate.
    fn take(&self, axis: usize, entries: &mut Range<usize>, coord: usize) -> Range<usize> {
        let Some(coords) = self.axes[axis] else { return entries.clone() };
        let run = run_at(&coords[entries.clone()], coord);
        let taken = entries.start..entries.start + run;
        entries.start = taken.end;
        taken
    }

    fn columns(&self, entries: &Range<usize>) -> LaneColumns<'_, I> {
        match self.axes.last().copied().flatten() {
            Some(columns) => LaneColumns::Own(entries.start, &columns[entries.clone()]),
            None if entries.is_empty() => LaneColumns::Own(entries.start, &[]),
            None => LaneColumns::Everywhere(entries.start),
        }
    }
}

/// Returns the number of coordinates that equal `coord`. The coordinates must be sorted, and none may be smaller than
/// `coord`.
fn run_at<I: Index>(coords: &[I], coord: usize) -> usize {
    let is_here = |at: &I| at.to_usize() == coord;
    let mut reach = 1;
    while coords.get(reach - 1).is_some_and(is_here) {
        reach *= 2;
    }
    let known = reach / 2;
    known + coords[known..coords.len().min(reach)].partition_point(is_here)
}

impl<'a> BroadcastUnion<'a> {
    pub(crate) fn new(left: &'a AnyPattern, right: &AnyPattern, shape: &'a Shape) -> Allocated<Self> {
        let result = UnionResult { of: left, shape, width: left.width_for(shape).max(right.width()) };
        Ok(BroadcastUnion { sides: [Repeated::new(left, result)?, Repeated::new(right, result)?], result })
    }

    fn walk<I: Index>(&self) -> UnionOperands<'_, I> {
        let [left, right] = &self.sides;
        UnionOperands { sides: [left.side(), right.side()], result: self.result }
    }

    /// Returns the number of positions.
    pub(crate) fn count(&self) -> Result<u128> {
        of_width!(self.result.width, I => self.walk::<I>().count())
    }

    /// Returns the pattern of the `count` positions.
    ///
    /// `visit` receives the entry indices of both operands at the next positions. If an operand does not have an entry
    /// at a position, its index is its number of entries.
    pub(crate) fn pattern(
        &self,
        count: usize,
        limit: u64,
        visit: &mut dyn FnMut(&[usize], &[usize]),
    ) -> Result<AnyPattern> {
        of_width!(self.result.width, I => self.walk::<I>().pattern(count, limit, visit))
    }

    /// Calls `visit` with patterns of up to `max_len` positions, and with the entry indices of the left operand.
    pub(crate) fn pieces(&self, max_len: usize, visit: &mut VisitPiece<'_>) -> Result<()> {
        of_width!(self.result.width, I => self.walk::<I>().pieces(max_len, visit))
    }
}

impl<I: Index> UnionOperands<'_, I> {
    /// Calls `visit` with the leading coordinates and the entries of each lane with entries.
    fn lanes(&self, mut visit: impl FnMut(&[usize], &Lane<'_, I>) -> Result<()>) -> Result<()> {
        let last = self.result.shape.lane_axes().len();
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

    /// Returns the next coordinate on an axis with entries, and the entries of both operands there.
    fn next(&self, axis: usize, frame: &mut Frame) -> Option<(usize, [Range<usize>; 2])> {
        let Frame { rest: [left, right], from } = frame;
        let [one, other] = &self.sides;
        let first = [one.first(axis, left, *from), other.first(axis, right, *from)];
        let coord = first.into_iter().flatten().min().filter(|coord| *coord < self.result.shape[axis])?;
        *from = coord + 1;
        Some((coord, [one.take(axis, left, coord), other.take(axis, right, coord)]))
    }

    fn lane(&self, [left, right]: &[Range<usize>; 2]) -> Lane<'_, I> {
        let [one, other] = &self.sides;
        Lane { sides: [one.columns(left), other.columns(right)], length: self.result.shape.columns() }
    }

    fn count(&self) -> Result<u128> {
        let mut count = 0;
        self.lanes(|_, lane| {
            count += lane.count()? as u128;
            Ok(())
        })?;
        Ok(count)
    }

    /// [`BroadcastUnion::pattern`] for coordinates of type `I`.
    fn pattern(&self, count: usize, limit: u64, visit: &mut dyn FnMut(&[usize], &[usize])) -> Result<AnyPattern> {
        let none = [0, 1].map(|side| self.sides[side].count);
        let mut leading = Leading::new(self.result, count, limit)?;
        let mut columns = alloc::with_capacity(count)?;
        let mut numbers = IndexBuffer { left: Vec::with_capacity(BLOCK), right: Vec::with_capacity(BLOCK), visit };
        self.lanes(|coords, lane| {
            lane.each(none, |column, left, right| {
                columns.push(I::from_usize(column));
                numbers.push(left, right);
                Ok(())
            })?;
            leading.end(coords, self.result.shape, columns.len());
            Ok(())
        })?;
        numbers.flush();
        leading.pattern(self.result, columns, limit)
    }

    /// [`BroadcastUnion::pieces`] for coordinates of type `I`.
    fn pieces(&self, max_len: usize, visit: &mut VisitPiece<'_>) -> Result<()> {
        let none = [0, 1].map(|side| self.sides[side].count);
        let mut piece = Piece::default();
        self.lanes(|coords, lane| {
            lane.each(none, |column, number, _| {
                if piece.numbers.is_empty() {
                    piece = Piece::new(self.result, max_len)?;
                }
                piece.columns.push(I::from_usize(column));
                piece.numbers.push(number);
                if piece.numbers.len() < max_len {
                    return Ok(());
                }
                piece.leading.end(coords, self.result.shape, max_len);
                let (at, numbers) = std::mem::take(&mut piece).finish(self.result)?;
                visit(&at, &numbers)
            })?;
            piece.leading.end(coords, self.result.shape, piece.numbers.len());
            Ok(())
        })?;
        if piece.numbers.is_empty() {
            return Ok(());
        }
        let (at, numbers) = piece.finish(self.result)?;
        visit(&at, &numbers)
    }
}

/// A visitor of the pattern of a chunk of positions and the entry indices there.
type VisitPiece<'a> = dyn FnMut(&AnyPattern, &[usize]) -> Result<()> + 'a;

/// Consecutive positions.
#[derive(Default)]
struct Piece<I> {
    leading: Leading<I>,
    columns: Vec<I>,
    numbers: Vec<usize>,
}

impl<I: Index> Piece<I> {
    fn new(result: UnionResult<'_>, max_len: usize) -> Result<Self> {
        let leading = Leading::new(result, max_len, u64::MAX)?;
        Ok(Piece { leading, columns: alloc::with_capacity(max_len)?, numbers: alloc::with_capacity(max_len)? })
    }

    fn finish(self, result: UnionResult<'_>) -> Result<(AnyPattern, Vec<usize>)> {
        Ok((self.leading.pattern(result, self.columns, u64::MAX)?, self.numbers))
    }
}

impl<I: Index> Lane<'_, I> {
    fn count(&self) -> Result<usize> {
        Ok(match &self.sides {
            [LaneColumns::Everywhere(_), _] | [_, LaneColumns::Everywhere(_)] => self.length,
            [LaneColumns::Own(_, []), LaneColumns::Own(_, some)]
            | [LaneColumns::Own(_, some), LaneColumns::Own(_, [])] => some.len(),
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

    /// Calls `visit` with each column and the entry indices there; `none` replaces missing entries.
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

/// The position within the entries of a lane.
struct Cursor<'a, I> {
    columns: &'a LaneColumns<'a, I>,
    passed: usize,
    none: usize,
}

impl<I: Index> LaneColumns<'_, I> {
    fn cursor(&self, none: usize) -> Cursor<'_, I> {
        Cursor { columns: self, passed: 0, none }
    }
}

impl<I: Index> Cursor<'_, I> {
    /// Returns the first column, from `from` on, that has an entry.
    fn next(&self, from: usize) -> usize {
        match self.columns {
            LaneColumns::Own(_, columns) => columns.get(self.passed).map_or(usize::MAX, |column| column.to_usize()),
            LaneColumns::Everywhere(_) => from,
        }
    }

    /// Returns the entry index at a column and advances past this entry. No remaining entry may be before the column.
    fn at(&mut self, column: usize) -> usize {
        match self.columns {
            LaneColumns::Own(start, columns) => {
                let is_here = columns.get(self.passed).is_some_and(|at| at.to_usize() == column);
                let number = if is_here { start + self.passed } else { self.none };
                self.passed += usize::from(is_here);
                number
            }
            LaneColumns::Everywhere(number) => *number,
        }
    }
}

impl IndexBuffer<'_> {
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
    fn new(result: UnionResult<'_>, count: usize, limit: u64) -> Result<Self> {
        let shape = result.shape;
        Ok(match result.of.format() {
            Format::Coo => {
                let axis = |_| alloc::with_capacity(count);
                Leading::Coords(shape.lane_axes().iter().map(axis).collect::<Allocated<_>>()?)
            }
            Format::Csr => Leading::Ends(zero_offsets(shape, limit)?),
        })
    }

    /// Assigns these coordinates to all positions up to `count` that do not have coordinates yet.
    fn end(&mut self, coords: &[usize], shape: &Shape, count: usize) {
        match self {
            Leading::Coords(axes) => {
                axes.iter_mut().zip(coords).for_each(|(axis, &coord)| axis.resize(count, I::from_usize(coord)));
            }
            Leading::Ends(ends) => ends[ravel(coords, shape.lane_axes()) + 1] = count,
        }
    }

    fn pattern(self, result: UnionResult<'_>, columns: Vec<I>, limit: u64) -> Result<AnyPattern> {
        let shape = result.shape.clone();
        match self {
            Leading::Coords(mut axes) => {
                let count = columns.len();
                // A position of rank 0 does not have a column.
                axes.extend((shape.rank() > 0).then_some(columns));
                result.of.of_coords(shape, count, axes.into_iter().map(AxisCoords::from).collect(), limit)
            }
            Leading::Ends(mut ends) => {
                // A lane without positions has the same end as the lane before.
                let mut end = 0;
                ends.iter_mut().for_each(|of_lane| {
                    end = end.max(*of_lane);
                    *of_lane = end;
                });
                result.of.of_lanes(shape, ends.into(), columns.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::broadcast_match::{BroadcastMatch, CommonEntries};

    /// Returns a column and a row with coordinates of these widths, and the broadcast shape.
    fn operands(format: Format, [left, right]: [Width; 2]) -> ([AnyPattern; 2], Shape) {
        let zeros = AxisCoords::zeros(3, Width::U32).unwrap();
        let make = |shape: [usize; 2], coords, width: Width| {
            let pattern = AnyPattern::from_coords(format, Shape::from(shape), 3, Width::U32, coords, u64::MAX).unwrap();
            pattern.in_width(width).unwrap()
        };
        let column = make([5, 1], vec![vec![0u32, 2, 4].into(), zeros.clone()], left);
        let row = make([1, 4], vec![zeros, vec![0u32, 1, 3].into()], right);
        ([column, row], Shape::from([5, 4]))
    }

    #[test]
    fn operands_of_any_width_and_format_are_united_and_paired() {
        for format in [Format::Coo, Format::Csr] {
            for widths in [[Width::U32, Width::U32], [Width::U32, Width::U64], [Width::U64, Width::U32]] {
                let ([column, row], shape) = operands(format, widths);
                let united = BroadcastUnion::new(&column, &row, &shape).unwrap();
                let (count, mut numbers) = (united.count().unwrap(), Vec::new());
                let visit = &mut |left: &[usize], right: &[usize]| {
                    numbers.extend(left.iter().copied().zip(right.iter().copied()));
                };
                let found = united.pattern(count as usize, u64::MAX, visit).unwrap();
                let expected = (0..20).filter_map(|at| {
                    let number = |of: &AnyPattern, coords: [usize; 2]| of.find(&coords).unwrap_or(3);
                    let numbers = (number(&column, [at / 4, 0]), number(&row, [0, at % 4]));
                    (numbers != (3, 3)).then_some(numbers)
                });
                assert!(expected.eq(numbers) && found.format() == format && found.nnz() == 18);

                let CommonEntries { pattern, left, right } =
                    CommonEntries::new(&column, &row, &shape, &|_| Ok(())).unwrap();
                assert_eq!((left, right), (vec![0, 0, 0, 1, 1, 1, 2, 2, 2], vec![0, 1, 2, 0, 1, 2, 0, 1, 2]));
                assert!(pattern.format() == format && pattern.find(&[2, 3]) == Some(5));
                assert!(BroadcastMatch::new(&row, &found).unwrap().matched().unwrap().pattern.nnz() == 15);
            }
        }
    }
}
