//! Lowering of an index, as in `x[1:3, [0, 2]]`: a slice, and positions or a mask of one axis.

use std::ops::Range;

use super::argument::Low;
use super::fault::{CallPositions, wrong};
use super::index::{IndexPart, text_of};
use super::lower::Lowering;
use super::{Fault, Id, IndexItem};
use crate::lazy::call::{Arg, Call};
use crate::ops::op;

type Found<T> = Result<T, Fault>;

impl Lowering<'_> {
    /// Returns the step of an index. A list, a tensor or an array selects positions of an axis.
    pub(super) fn index(&mut self, x: Id, items: &[IndexItem], at: &Range<usize>) -> Found<Low> {
        let indexed = self.found[x].clone();
        if indexed.step().is_none() {
            return wrong(&self.nodes[x].at, format!("{} cannot be indexed", indexed.kind()));
        }
        let lists: Vec<(usize, Id)> =
            items.iter().enumerate().filter_map(|(place, item)| Some((place, self.list(item)?))).collect();
        let mut ranges = items.to_vec();
        lists.iter().for_each(|&(place, _)| ranges[place] = IndexItem::Slice([None; 3]));
        let parts = self.parts(&ranges)?;
        match lists[..] {
            [] => Ok(self.sliced(&indexed, &parts, at)),
            [(place, list)] => {
                self.check_adjacent(&parts, place, list)?;
                let sliced = if is_whole(&parts, place) { indexed } else { self.sliced(&indexed, &parts, at) };
                Ok(self.taken(&sliced, list, axis_of(&parts, place), at))
            }
            [_, (_, second), ..] => {
                let ones = parts.iter().filter(|part| matches!(part, IndexPart::One(_))).count();
                if ones + lists.len() < parts.len() {
                    let message = "several lists are pointwise and need one for each axis; index twice for all \
                                   combinations, as in x[[0, 2]][:, [1]]";
                    return wrong(&self.nodes[second].at, message);
                }
                let sliced = if ones == 0 { indexed } else { self.sliced(&indexed, &parts, at) };
                let lists: Vec<Id> = lists.iter().map(|&(_, list)| list).collect();
                Ok(self.gathered(&sliced, &lists, at))
            }
        }
    }

    /// Returns the node of an item that selects positions of an axis.
    fn list(&self, item: &IndexItem) -> Option<Id> {
        let IndexItem::One(id) = *item else { return None };
        matches!(self.found[id], Low::List(_) | Low::Step(_)).then_some(id)
    }

    fn sliced(&mut self, x: &Low, parts: &[IndexPart], at: &Range<usize>) -> Low {
        let mut inputs = Vec::new();
        let args = [x.arg(&mut inputs), Arg::Text(text_of(parts).into())];
        self.push(Call::of(&op::slice, args), inputs, CallPositions { call: at.clone(), arguments: Vec::new() })
    }

    /// Returns the step that takes positions of an axis.
    fn taken(&mut self, x: &Low, list: Id, axis: i128, at: &Range<usize>) -> Low {
        let mut inputs = Vec::new();
        let args = [x.arg(&mut inputs), self.found[list].arg(&mut inputs), Arg::Integer(axis)];
        let arguments = vec![at.clone(), self.nodes[list].at.clone()];
        self.push(Call::of(&op::take_axis, args), inputs, CallPositions { call: at.clone(), arguments })
    }

    /// Returns the step that selects positions with one list per axis.
    fn gathered(&mut self, x: &Low, lists: &[Id], at: &Range<usize>) -> Low {
        let mut inputs = Vec::new();
        let of_x = x.arg(&mut inputs);
        let lists = lists.iter().map(|&list| self.found[list].arg(&mut inputs)).collect();
        let places = CallPositions { call: at.clone(), arguments: Vec::new() };
        self.push(Call::of(&op::gather, [of_x, Arg::List(lists)]), inputs, places)
    }

    /// Rejects a range between an integer and a list, because numpy moves the axis of the list to the front.
    fn check_adjacent(&self, parts: &[IndexPart], place: usize, list: Id) -> Found<()> {
        let is_position = |&own: &usize| own == place || matches!(parts[own], IndexPart::One(_));
        let positions: Vec<usize> = (0..parts.len()).filter(is_position).collect();
        match positions[..] {
            [first, .., last] if last - first >= positions.len() => {
                let message = "a range between an integer and a list is not supported; index twice, as in x[0][:, [1]]";
                wrong(&self.nodes[list].at, message)
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a slice of these items would only check the rank that the axis of the list checks too.
fn is_whole(parts: &[IndexPart], place: usize) -> bool {
    let are_whole = |parts: &[IndexPart]| parts.iter().all(|part| matches!(part, IndexPart::Range([None, None, None])));
    match (&parts[..place], &parts[place + 1..]) {
        (before, [] | [IndexPart::Ellipsis]) if are_whole(before) => true,
        ([IndexPart::Ellipsis], after) => are_whole(after),
        _ => false,
    }
}

/// Returns the axis of the slice to which an item belongs. After an ellipsis, the axis is counted from the end.
fn axis_of(parts: &[IndexPart], place: usize) -> i128 {
    let is_axis = |part: &&IndexPart| matches!(part, IndexPart::Range(_) | IndexPart::NewAxis);
    let axes = |parts: &[IndexPart]| parts.iter().filter(is_axis).count() as i128;
    match parts[..place].iter().any(|part| matches!(part, IndexPart::Ellipsis)) {
        true => -1 - axes(&parts[place + 1..]),
        false => axes(&parts[..place]),
    }
}
