//! Parts of error messages.

use std::fmt;
use std::path::PathBuf;

use crate::base::shape::Shape;

/// Returns the message of an error within a chunk of an axis.
pub(super) fn in_range(axis: usize, start: usize, end: usize, cause: &dyn fmt::Display) -> String {
    format!("in the chunk {start}..{end} of axis {axis}, with positions counted from {start}: {cause}")
}

/// Returns the name of a file before a message. Characters that a terminal would interpret are escaped.
pub(super) fn before_message(path: &Option<PathBuf>) -> String {
    let Some(path) = path else { return String::new() };
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let name: String = path.to_string_lossy().chars().map(escaped).collect();
    format!("{name}: ")
}

/// Returns the entries and checksum of an answer and the expected ones, if both are known.
pub(super) fn entries_seen(seen: &Option<(u64, u64)>, expected: &Option<(u64, u64)>) -> String {
    let (Some((seen, hash)), Some((entries, expected))) = (seen, expected) else { return String::new() };
    format!("; it read {seen} entries with checksum {hash:016x}, expected {entries} with checksum {expected:016x}")
}

/// Returns a position as text.
pub(super) fn at_position(coords: &Option<Vec<usize>>) -> String {
    coords.as_ref().map_or_else(|| "the fill".into(), |coords| format!("{coords:?}"))
}

/// Returns the index of an entry, to append to a message.
pub(super) fn of_entry(entry: Option<usize>) -> String {
    entry.map_or_else(String::new, |entry| format!(", entry {entry}"))
}

/// Returns advice if the shorter shape equals the first axes of the longer one. Broadcasting aligns the last axes.
pub(super) fn first_axes(left: &Shape, right: &Shape) -> String {
    let (short, long) = if left.rank() < right.rank() { (left, right) } else { (right, left) };
    if short.rank() == 0 || short.rank() == long.rank() || !long.starts_with(short) {
        return String::new();
    }
    format!("; broadcasting aligns the last axes: expand_dims(-1) of {short} adds a last axis of length 1")
}

/// Returns a number of bytes as text. From 1024 bytes, the text also has a larger unit. `u128::MAX` means `u128::MAX`
/// or more.
pub(crate) fn with_unit(bytes: u128) -> String {
    if bytes == u128::MAX {
        return "more than 2^127 bytes".into();
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let larger = units.iter().zip(1..).take_while(|&(_, power)| bytes >> (10 * power) > 0).last();
    larger.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, power)| format!("{bytes} bytes ({:.1} {unit})", bytes as f64 / f64::powi(1024.0, power)),
    )
}
