//! The lines of entries in a text file, for errors that are found after the tensor is constructed.

use crate::base::error::Error;
use crate::io::lines::at_line;

/// The maximum number of runs that are kept. They take one megabyte.
const MAX_RUNS: usize = 1 << 16;

/// The lines of entries, as runs of entries on consecutive lines. A run is its first entry and the distance from the
/// entry's index to its line, modulo 2^64. The distance is negative if several entries are on one line.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineNumbers {
    runs: Vec<(usize, u64)>,
    /// True if there were more runs than are kept.
    is_lost: bool,
    /// The first entry, in row-major order, that a conversion rejects.
    rejected: Option<RejectedEntry>,
}

/// An entry, described by facts that sorting does not change.
#[derive(Debug, Clone)]
struct RejectedEntry {
    coords: Vec<usize>,
    value: String,
    line: u64,
}

impl LineNumbers {
    /// Records the line of the next entry.
    #[inline]
    pub(crate) fn note(&mut self, entry: usize, line: u64) {
        let ahead = line.wrapping_sub(entry as u64);
        if self.runs.last().is_none_or(|&(_, before)| before != ahead) {
            self.begin_run(entry, ahead);
        }
    }

    #[cold]
    fn begin_run(&mut self, entry: usize, ahead: u64) {
        match self.runs.len() < MAX_RUNS {
            true => self.runs.push((entry, ahead)),
            false => self.is_lost = true,
        }
    }

    /// Appends the lines of a block, after `entries` entries and `lines` lines.
    pub(crate) fn append(&mut self, next: &LineNumbers, entries: usize, lines: u64) {
        self.is_lost |= next.is_lost;
        for &(entry, ahead) in &next.runs {
            self.note(entries + entry, ahead.wrapping_add(entry as u64).wrapping_add(lines));
        }
    }

    /// Returns the line of an entry, if it is known.
    pub(crate) fn line(&self, entry: usize) -> Option<u64> {
        let run = self.runs.partition_point(|&(first, _)| first <= entry).checked_sub(1)?;
        (!self.is_lost).then(|| self.runs[run].1.wrapping_add(entry as u64))
    }

    /// Records the first entry that a conversion rejects.
    pub(crate) fn note_rejected(&mut self, entry: usize, coords: Vec<usize>, value: String) {
        self.rejected = self.line(entry).map(|line| RejectedEntry { coords, value, line });
    }

    /// Returns the facts that stay valid after sorting, which changes the indices of entries.
    pub(crate) fn sorted(self) -> Self {
        LineNumbers { rejected: self.rejected, ..LineNumbers::default() }
    }

    /// Replaces the indices of two entries in an error by their lines.
    pub(crate) fn repeated(&self, error: Error) -> Error {
        match &error {
            Error::Duplicate { first, second, coords } => match (self.line(*first), self.line(*second)) {
                (Some(first), Some(second)) => {
                    at_line(second, format!("the entry {} is already on line {first}", one_based(coords)))
                }
                _ => error,
            },
            _ => error,
        }
    }

    /// Replaces the index of an entry in an error by its line, otherwise by its coordinates in the file. `coords`
    /// returns the coordinates of an entry.
    pub(crate) fn rejected(&self, error: Error, coords: impl FnOnce(usize) -> Option<Vec<usize>>) -> Error {
        let Error::Cast { value, from, to, place } = error else { return error };
        let entry = place.strip_prefix("entry ").and_then(|entry| entry.parse().ok());
        let place = entry.and_then(|entry| self.place(entry, &value, coords)).unwrap_or(place);
        Error::Cast { value, from, to, place }
    }

    /// Returns the position of an entry with the given value: its line, otherwise its coordinates.
    fn place(&self, entry: usize, value: &str, coords: impl FnOnce(usize) -> Option<Vec<usize>>) -> Option<String> {
        if let Some(line) = self.line(entry) {
            return Some(format!("line {line}"));
        }
        let coords = coords(entry)?;
        // A value that combines duplicates does not have a line.
        let known = self.rejected.as_ref().filter(|known| known.coords == coords && known.value == value);
        Some(known.map_or_else(|| format!("entry {}", one_based(&coords)), |known| format!("line {}", known.line)))
    }
}

/// Formats coordinates as a text file has them, counted from 1.
pub(crate) fn one_based(coords: &[usize]) -> String {
    let coords: Vec<String> = coords.iter().map(|coord| (*coord as u128 + 1).to_string()).collect();
    format!("({})", coords.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_blocks_follow_each_other() {
        let origin = |lines: &[u64]| {
            let mut origin = LineNumbers::default();
            lines.iter().enumerate().for_each(|(entry, &line)| origin.note(entry, line));
            origin
        };
        let mut all = origin(&[3, 4, 6]);
        all.append(&origin(&[1, 2, 5]), 3, 6);
        all.append(&origin(&[]), 6, 11);
        all.append(&origin(&[2]), 6, 12);
        let lines: Vec<_> = (0..7).map(|entry| all.line(entry).unwrap()).collect();
        assert_eq!(lines, [3, 4, 6, 7, 8, 11, 14]);
        assert_eq!(all.runs, [(0, 3), (2, 4), (5, 6), (6, 8)]);
    }
}
