//! Movements along axes, as a list: for each position of the result, the position that it holds, or none.

use super::dense::{Dense, size, unravel};
use super::gradients::scatter_add;
use super::ops::TakeFault;
use super::scalar::Scalar;
use super::structure::Coords;

/// The shape of a result, and for each of its positions, row-major, the position of the input that it holds.
#[derive(Clone, Debug)]
pub struct Move {
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The coordinates in the input; none where there is only the fill.
    pub sources: Vec<Option<Vec<usize>>>,
}

impl Move {
    /// A move by the rule that says what a position of the result holds.
    pub fn new(shape: Vec<usize>, source: impl Fn(&[usize]) -> Option<Vec<usize>>) -> Self {
        let sources = (0..size(&shape)).map(|at| source(&unravel(at as u128, &shape))).collect();
        Move { shape, sources }
    }

    /// The result.
    pub fn apply<T: Scalar>(&self, x: &Dense<T>, fill: T) -> Dense<T> {
        let element = |source: &Option<Vec<usize>>| source.as_ref().map_or(fill, |source| x.get(source));
        Dense::new(&self.shape, self.sources.iter().map(element).collect())
    }

    /// The positions that the result stores: those that hold a stored one.
    pub fn stored(&self, stored: &Coords) -> Coords {
        let cells = self.sources.iter().enumerate();
        let kept = cells.filter(|(_, source)| source.as_ref().is_some_and(|source| stored.contains(source)));
        kept.map(|(at, _)| unravel(at as u128, &self.shape)).collect()
    }

    /// The gradient for an input of a shape.
    pub fn gradient<G: Scalar>(&self, shape: &[usize], upstream: &Dense<G>) -> Result<Dense<G>, TakeFault> {
        let pairs = self.sources.iter().zip(&upstream.data);
        scatter_add(shape, pairs.filter_map(|(source, &g)| Some((source.clone()?, g))).collect())
    }
}

/// A slice of one axis.
#[derive(Clone, Debug)]
pub enum Slice {
    /// The positions from start to end, each of them or every so many, from the end on if the step is negative.
    Range(isize, Option<isize>, isize),
    /// One position.
    Index(isize),
    /// A new axis.
    New,
}

/// A position that may count from the end.
fn absolute(at: isize, length: usize) -> usize {
    usize::try_from(if at < 0 { at + length as isize } else { at }).expect("not before the first one")
}

/// The positions of an axis that a range names, one after the other.
fn positions(length: usize, start: isize, end: Option<isize>, step: isize) -> Vec<usize> {
    let (start, end) = (absolute(start, length), absolute(end.unwrap_or(length as isize), length));
    let mut all: Vec<usize> = (start..end).collect();
    if step < 0 {
        all.reverse();
    }
    all.into_iter().step_by(step.unsigned_abs()).collect()
}

/// One position after the other, of which each list has the coordinate on an axis.
pub fn gather(shape: &[usize], lists: &[Vec<isize>]) -> Move {
    let count = lists.first().map_or(1, Vec::len);
    let found = if lists.is_empty() { Vec::new() } else { vec![count] };
    let source = |cell: &[usize]| {
        let coord = |(list, &length): (&Vec<isize>, &usize)| absolute(list[cell[0]], length);
        Some(lists.iter().zip(shape).map(coord).collect())
    };
    Move::new(found, source)
}

/// The elements along an axis at positions, of which each element of the result has one.
pub fn take_along_axis(shape: &[usize], positions: &Dense<i64>, axis: usize) -> Move {
    let source = |cell: &[usize]| {
        let mut at = cell.to_vec();
        at[axis] = absolute(positions.get(cell) as isize, shape[axis]);
        Some(at)
    };
    Move::new(positions.shape.clone(), source)
}

/// The slices of all axes.
pub fn slice(shape: &[usize], slices: &[Slice]) -> Move {
    let mut lengths = shape.iter();
    let mut parts: Vec<(bool, Option<Vec<usize>>)> = Vec::new();
    for slice in slices {
        parts.push(match *slice {
            Slice::New => (true, None),
            Slice::Index(at) => (false, Some(vec![absolute(at, *lengths.next().unwrap())])),
            Slice::Range(start, end, step) => (true, Some(positions(*lengths.next().unwrap(), start, end, step))),
        });
    }
    let kept = parts.iter().filter(|part| part.0);
    let result = kept.map(|part| part.1.as_ref().map_or(1, Vec::len)).collect();
    Move::new(result, |cell| {
        let mut cell = cell.iter();
        let mut source = Vec::new();
        for (stays, positions) in &parts {
            let at = if *stays { *cell.next().unwrap() } else { 0 };
            source.extend(positions.as_ref().map(|positions| positions[at]));
        }
        Some(source)
    })
}

/// The cell with one coordinate changed.
fn with(cell: &[usize], axis: usize, coord: usize) -> Vec<usize> {
    let mut changed = cell.to_vec();
    changed[axis] = coord;
    changed
}

/// The axes turned round.
pub fn flip(shape: &[usize], axes: &[usize]) -> Move {
    let turned = |axis: usize, at: usize| if axes.contains(&axis) { shape[axis] - 1 - at } else { at };
    Move::new(shape.to_vec(), |cell| Some(cell.iter().enumerate().map(|(axis, &at)| turned(axis, at)).collect()))
}

/// One axis rolled.
pub fn roll(shape: &[usize], places: isize, axis: usize) -> Move {
    let from = |at: usize| (at as i128 - places as i128).rem_euclid(shape[axis] as i128) as usize;
    Move::new(shape.to_vec(), |cell| Some(with(cell, axis, from(cell[axis]))))
}

/// Positions before and behind each axis.
pub fn pad(shape: &[usize], widths: &[(usize, usize)]) -> Move {
    let padded = shape.iter().zip(widths).map(|(length, (before, behind))| before + length + behind).collect();
    Move::new(padded, |cell| {
        let inside = |axis: usize| cell[axis].checked_sub(widths[axis].0).filter(|&at| at < shape[axis]);
        (0..shape.len()).map(inside).collect()
    })
}

/// The axes of two lists side by side from the last ones on, with ones before the shorter list.
fn aligned(shape: &[usize], rank: usize) -> Vec<usize> {
    let mut longer = vec![1; rank.saturating_sub(shape.len())];
    longer.extend(shape);
    longer
}

/// All of it several times.
pub fn tile(shape: &[usize], times: &[usize]) -> Move {
    let (old, times) = (aligned(shape, times.len()), aligned(times, shape.len()));
    let result = old.iter().zip(&times).map(|(length, times)| length * times).collect();
    let new = old.len() - shape.len();
    Move::new(result, |cell| Some(cell.iter().zip(&old).skip(new).map(|(at, length)| at % length).collect()))
}

/// Each position of an axis several times.
pub fn repeat(shape: &[usize], times: usize, axis: usize) -> Move {
    Move::new(with(shape, axis, shape[axis] * times), |cell| Some(with(cell, axis, cell[axis] / times)))
}

/// Axes of length 1 repeated.
pub fn broadcast_to(shape: &[usize], to: &[usize]) -> Move {
    let new = to.len() - shape.len();
    let source = |(&at, &length): (&usize, &usize)| if length == 1 { 0 } else { at };
    Move::new(to.to_vec(), |cell| Some(cell[new..].iter().zip(shape).map(source).collect()))
}

/// Without some axes of length 1.
pub fn squeeze(shape: &[usize], gone: &[usize]) -> Move {
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !gone.contains(axis)).collect();
    Move::new(kept.iter().map(|&axis| shape[axis]).collect(), |cell| {
        let at = |axis| kept.iter().position(|&kept| kept == axis).map_or(0, |place| cell[place]);
        Some((0..shape.len()).map(at).collect())
    })
}

/// With new axes of length 1, at these places of the result.
pub fn expand_dims(shape: &[usize], new: &[usize]) -> Move {
    let mut lengths = shape.iter();
    let axis = |axis: usize| if new.contains(&axis) { 1 } else { *lengths.next().unwrap() };
    let result: Vec<usize> = (0..shape.len() + new.len()).map(axis).collect();
    let old = |cell: &[usize]| (0..cell.len()).filter(|axis| !new.contains(axis)).map(|axis| cell[axis]).collect();
    Move::new(result, |cell| Some(old(cell)))
}

/// The result's axis `k` is the input's axis `order[k]`.
pub fn permute(shape: &[usize], order: &[usize]) -> Move {
    Move::new(order.iter().map(|&axis| shape[axis]).collect(), |cell| {
        let mut source = vec![0; shape.len()];
        order.iter().zip(cell).for_each(|(&axis, &at)| source[axis] = at);
        Some(source)
    })
}

/// The positions of the last two axes whose column is so far behind their row.
pub fn band(shape: &[usize], inside: impl Fn(i128) -> bool) -> Move {
    Move::new(shape.to_vec(), |cell| {
        let [.., row, column] = *cell else { panic!("no matrix") };
        inside(column as i128 - row as i128).then(|| cell.to_vec())
    })
}

/// A diagonal of the last two axes, as the last one.
pub fn diagonal(shape: &[usize], offset: isize) -> Move {
    let [batch @ .., rows, columns] = shape else { panic!("no matrix") };
    let start = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
    let on = |at: usize| Some((start.0.checked_add(at)?, start.1.checked_add(at)?));
    let length = (0..).take_while(|&at| on(at).is_some_and(|(row, column)| row < *rows && column < *columns)).count();
    Move::new([batch, &[length]].concat(), |cell| {
        let (row, column) = on(cell[batch.len()])?;
        Some([&cell[..batch.len()], &[row, column]].concat())
    })
}

/// Several inputs one after the other along an axis: for each position of the result the input that it comes from, by
/// its number, and the position there.
pub fn concat(shapes: &[Vec<usize>], axis: usize) -> (Vec<usize>, Vec<(usize, Vec<usize>)>) {
    let shape = with(&shapes[0], axis, shapes.iter().map(|shape| shape[axis]).sum());
    let source = |position: usize| {
        let mut cell = unravel(position as u128, &shape);
        let mut number = 0;
        while cell[axis] >= shapes[number][axis] {
            cell[axis] -= shapes[number][axis];
            number += 1;
        }
        (number, cell)
    };
    let sources = (0..size(&shape)).map(source).collect();
    (shape, sources)
}
