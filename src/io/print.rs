//! Entries as lines of text, printed by several threads.

use std::io::Write;

use crate::base::error::Result;
use crate::base::threads;
use crate::io::digits::print_digits;
use crate::io::element::FileElement;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The entries that are printed at once.
const BLOCK: usize = 1 << 13;

/// Writes one line an entry, in row-major order: its coordinates, counted from 1, and its value.
pub(crate) fn write_entries<P: Pattern, T: FileElement>(writer: &mut impl Write, x: &Tensor<P, T>) -> Result<()> {
    let mut starts = (0..x.nnz()).step_by(BLOCK);
    threads::pipeline(|| Ok(starts.next()), |start| print_block(x, start), |text| Ok(writer.write_all(&text)?))
}

/// The lines of the entries from `start` on.
fn print_block<P: Pattern, T: FileElement>(x: &Tensor<P, T>, start: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(BLOCK.min(x.nnz()) * 16);
    x.pattern().walk_range(start..start + BLOCK, |entry, coords| {
        for &coord in coords {
            print_digits(&mut text, coord as u64 + 1);
            text.push(b' ');
        }
        x.values()[entry].print_entry(&mut text);
        text.push(b'\n');
        true
    });
    text
}
