//! Indices: the items between brackets, as text and as slices.

use std::ops::Range;

use ndarray::SliceInfoElem;

use super::Fault;
use super::fault::{at, wrong};
use crate::base::error::{Error, Result as Outcome};
use crate::base::shape::Shape;
use crate::ops::slice_of;

type Found<T> = Result<T, Fault>;

/// An item of an index: an integer, the integers of `start:stop:step`, all axes without an item (`...`), or a new axis
/// (`None`).
pub(super) enum IndexPart {
    One(i128),
    Range([Option<i128>; 3]),
    Ellipsis,
    NewAxis,
}

/// The item for all axes without an item.
pub(super) const ELLIPSIS: &str = "...";

/// The item for a new axis of length 1.
pub(super) const NEW_AXIS: &str = "None";

/// Returns the items of an index as text.
pub(super) fn text_of(parts: &[IndexPart]) -> String {
    let end = |end: &Option<i128>| end.map_or_else(String::new, |end| end.to_string());
    let text = |part: &IndexPart| match part {
        IndexPart::One(index) => index.to_string(),
        IndexPart::Range([start, stop, None]) => format!("{}:{}", end(start), end(stop)),
        IndexPart::Range([start, stop, step]) => format!("{}:{}:{}", end(start), end(stop), end(step)),
        IndexPart::Ellipsis => ELLIPSIS.into(),
        IndexPart::NewAxis => NEW_AXIS.into(),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the items of an index, from the text that [`text_of`] wrote.
fn parts(text: &str) -> Option<Vec<IndexPart>> {
    let end = |text: &str| match text.trim() {
        "" => Some(None),
        end => end.parse().ok().map(Some),
    };
    let part = |text: &str| {
        match text.trim() {
            ELLIPSIS => return Some(IndexPart::Ellipsis),
            NEW_AXIS => return Some(IndexPart::NewAxis),
            _ => {}
        }
        let mut ends = text.split(':').map(end);
        match (ends.next()?, ends.next(), ends.next(), ends.next()) {
            (one, None, ..) => one?.map(IndexPart::One),
            (start, Some(stop), step, None) => Some(IndexPart::Range([start?, stop?, step.unwrap_or(Some(None))?])),
            _ => None,
        }
    };
    match text.trim() {
        "" => Some(Vec::new()),
        text => text.split(',').map(part).collect(),
    }
}

/// Returns the text of an index as slices, one per axis. `call` is the position of the call.
pub(super) fn slices_of(text: &str, shape: &Shape, call: &Range<usize>) -> Found<Vec<SliceInfoElem>> {
    match parts(text) {
        Some(parts) => slices(&parts, shape, call),
        None => wrong(call, format!("{text} is not an index")),
    }
}

/// Returns the items of an index as slices, one per axis. An axis without an item is selected entirely.
fn slices(parts: &[IndexPart], shape: &Shape, place: &Range<usize>) -> Found<Vec<SliceInfoElem>> {
    let found = parts.iter().filter(|part| matches!(part, IndexPart::One(_) | IndexPart::Range(_))).count();
    let Some(mut others) = shape.rank().checked_sub(found) else {
        return at(place, Err(Error::RankMismatch { what: "the slice", expected: shape.rank(), found }));
    };
    let (mut slices, mut axis) = (Vec::with_capacity(parts.len() + others), 0);
    for part in parts.iter().chain([&IndexPart::Ellipsis]) {
        let slice = match part {
            IndexPart::One(index) => one(*index, axis, shape),
            IndexPart::Range(ends) => range(*ends, axis, shape),
            IndexPart::NewAxis => {
                slices.push(SliceInfoElem::NewAxis);
                continue;
            }
            IndexPart::Ellipsis => {
                axis += others;
                let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
                // An index without an ellipsis ends with one.
                slices.extend(std::iter::repeat_n(whole, std::mem::take(&mut others)));
                continue;
            }
        };
        slices.push(at(place, slice)?);
        axis += 1;
    }
    Ok(slices)
}

/// Returns the slice of one position. A position that does not fit in `isize` is counted from the end.
fn one(index: i128, axis: usize, shape: &Shape) -> Outcome<SliceInfoElem> {
    let length = shape[axis] as i128;
    let from_end = if index < length { index.saturating_sub(length) } else { index };
    match isize::try_from(index).or_else(|_| isize::try_from(from_end)) {
        Ok(index) => Ok(SliceInfoElem::Index(index)),
        Err(_) => out_of_range(index, axis, shape),
    }
}

fn out_of_range<T>(index: i128, axis: usize, shape: &Shape) -> Outcome<T> {
    let index = index.clamp(isize::MIN as i128, isize::MAX as i128) as isize;
    Err(Error::SliceOutOfRange { index, axis, length: shape[axis] })
}

/// Returns the slice of `start:stop:step` as in Python, except that an end outside the axis returns an error. A
/// negative step walks the range backwards from its end, as in ndarray.
fn range([start, stop, step]: [Option<i128>; 3], axis: usize, shape: &Shape) -> Outcome<SliceInfoElem> {
    let (length, step) = (shape[axis] as i128, step.unwrap_or(1));
    if let Some(end) = [start, stop].into_iter().flatten().find(|end| !(-length..=length).contains(end)) {
        return out_of_range(end, axis, shape);
    }
    if step == 0 {
        return Err(Error::ZeroStep { axis });
    }
    let from_front = |end: i128| if end < 0 { end + length } else { end };
    let (start, stop) = (start.map(from_front), stop.map(from_front));
    let (low, high) = match step > 0 {
        true => (start.unwrap_or(0), stop.unwrap_or(length)),
        // The positions from `start` down to the position after `stop`.
        false => (stop.map_or(0, |stop| stop + 1), start.map_or(length, |start| (start + 1).min(length))),
    };
    let step = step.clamp(-(isize::MAX as i128), isize::MAX as i128) as isize;
    Ok(slice_of(low.min(high) as usize..high as usize, shape[axis], step))
}
