//! Parts of the messages of errors.

use std::fmt;
use std::path::PathBuf;

use super::Error;
use crate::base::shape::Shape;

/// What is wrong with a step that has been named: its name is not said again.
pub(super) fn without_name(operation: &str, cause: &Error) -> String {
    if let Error::InRange { cause, axis, start, end } = cause {
        return in_range(*axis, *start, *end, &without_name(operation, cause));
    }
    let told = cause.to_string();
    match told.strip_prefix(operation) {
        Some(why) if why.starts_with(": ") => why[2..].to_string(),
        Some(place) if place.starts_with(" at ") || place.starts_with(" of ") => format!("the result{place}"),
        Some(rest) if rest.starts_with(' ') => format!("it{rest}"),
        _ => told,
    }
}

/// What is wrong within a range of an axis.
pub(super) fn in_range(axis: usize, start: usize, end: usize, cause: &dyn fmt::Display) -> String {
    format!("in positions {start} to {end} of axis {axis}, counted from the first of these: {cause}")
}

/// The name of a file before what is said of it. What a terminal would obey is escaped.
pub(super) fn before_message(path: &Option<PathBuf>) -> String {
    let Some(path) = path else { return String::new() };
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let name: String = path.to_string_lossy().chars().map(escaped).collect();
    format!("{name}: ")
}

/// What an answer was made of, if that is not what it should be.
pub(super) fn entries_seen(seen: &Option<(u64, u64)>, expected: &Option<(u64, u64)>) -> String {
    let (Some((seen, hash)), Some((entries, expected))) = (seen, expected) else { return String::new() };
    format!("; it saw {seen} entries with the checksum {hash:016x}, of {entries} with {expected:016x}")
}

/// A position in words.
pub(super) fn at_position(coords: &Option<Vec<usize>>) -> String {
    coords.as_ref().map_or_else(|| "the fill".into(), |coords| format!("{coords:?}"))
}

/// Which entry it is, behind what is wrong with it.
pub(super) fn of_entry(entry: Option<usize>) -> String {
    entry.map_or_else(String::new, |entry| format!(", entry {entry}"))
}

/// What to do where the shorter of two shapes has the lengths of the first axes of the other: broadcasting aligns the
/// last ones.
pub(super) fn first_axes(left: &Shape, right: &Shape) -> String {
    let (short, long) = if left.rank() < right.rank() { (left, right) } else { (right, left) };
    if short.rank() == 0 || short.rank() == long.rank() || !long.starts_with(short) {
        return String::new();
    }
    format!("; the last axes meet: expand_dims(-1) of {short} puts one of length 1 behind its own")
}

/// A byte count in words: the largest number stands for everything above it.
pub(super) fn at_least(bytes: u128) -> String {
    if bytes == u128::MAX { "more than 2^127".into() } else { bytes.to_string() }
}
