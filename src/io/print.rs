//! Entries as lines of text, printed by several threads.

use std::io::Write;

use crate::base::error::Result;
use crate::base::threads::pipeline::pipeline;
use crate::io::digits::print_digits;
use crate::io::values::FileValues;
use crate::pattern::AnyPattern;

/// The number of entries that are printed at once.
const BLOCK: usize = 1 << 13;

/// Writes one line per entry, in row-major order: its coordinates, counted from 1, and its value.
pub(crate) fn write_entries(writer: &mut dyn Write, pattern: &AnyPattern, values: &dyn FileValues) -> Result<()> {
    let mut starts = (0..pattern.nnz()).step_by(BLOCK);
    let print = |start| print_block(pattern, values, start);
    pipeline(|| Ok(starts.next()), print, |text| Ok(writer.write_all(&text)?))
}

/// Returns the lines of a block of entries from `start` on.
fn print_block(pattern: &AnyPattern, values: &dyn FileValues, start: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(BLOCK.min(pattern.nnz()) * 16);
    pattern.walk_range(start..start + BLOCK, &mut |entry, coords| {
        for &coord in coords {
            print_digits(&mut text, coord as u64 + 1);
            text.push(b' ');
        }
        values.print_entry(entry, &mut text);
        text.push(b'\n');
        true
    });
    text
}
