//! The memory of the readers of text: under 64 MiB and 16 bytes for each byte read, whatever the lines say.

#![cfg(feature = "io")]

use crate::share::one_of;
use crate::{MEMORY, was_run_apart};
use lacuna::io::{FileFormat, ReadOptions, read_from};
use lacuna::{Error, Result};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// With a smaller text, less memory is promised beside what is counted for its bytes: the bound stays as tight.
const PART: usize = one_of(4);
const BYTES: usize = (8 << 20) / PART;

/// Reads text in a format, and checks that the peak of memory stays below the promise.
fn measured(what: &str, text: &str, format: FileFormat) -> Result<usize> {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = Instant::now();
    let told = read_from(text.as_bytes(), format, &ReadOptions::default()).map(|x| x.nnz());
    let (time, peak) = (start.elapsed(), MEMORY.peak_usage() - before);
    let promised = (64 << 20) / PART + 16 * text.len();
    println!("{what}: {} of {} MiB in {time:?}, text {} bytes: {told:?}", peak >> 20, promised >> 20, text.len());
    assert!(peak < promised, "{what}: {peak} bytes at the peak, {promised} promised");
    assert!(time < Duration::from_secs(60), "{what}: {time:?}");
    told
}

/// A header, and a line repeated up to the size of the tests.
fn repeated(header: impl Fn(usize) -> String, line: &str) -> String {
    let count = BYTES / line.len();
    header(count) + &line.repeat(count)
}

fn coordinate(field: &str, symmetry: &str) -> impl Fn(usize) -> String {
    move |count| format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n9 9 {count}\n")
}

/// Distinct entries, in order or backwards.
fn distinct(backwards: bool) -> String {
    let count = BYTES / 17;
    let mut text = coordinate("real", "general")(count).replace("9 9", "3000 3000");
    for at in 0..count {
        let at = if backwards { count - 1 - at } else { at };
        writeln!(text, "{} {} {}.5", at / 3000 + 1, at % 3000 + 1, at).unwrap();
    }
    text
}

#[test]
fn text_takes_the_memory_that_is_promised() {
    if was_run_apart() {
        return;
    }
    use FileFormat::{MatrixMarket, Tns};
    assert!(measured("sorted", &distinct(false), MatrixMarket).is_ok());
    assert!(measured("backwards", &distinct(true), MatrixMarket).is_ok());
    let header = |count| format!("%%MatrixMarket matrix array real general\n{count} 1\n");
    let dense = |rows: &str| repeated(header, rows);
    assert!(measured("array", &dense("0.25 \n"), MatrixMarket).is_ok());
    let complex = |count| format!("%%MatrixMarket matrix array complex general\n{count} 1\n");
    // Lines so short that what they say may be refused, but never beyond what is promised.
    let shortest = [
        ("array of digits", dense("0\n"), MatrixMarket),
        ("repeated", repeated(coordinate("pattern", "general"), "1 1\n"), MatrixMarket),
        ("zigzag", repeated(|count| coordinate("pattern", "general")(4 * count), "1 1\n1 2\n1 1\n2 1\n"), MatrixMarket),
        ("mirrored", repeated(coordinate("pattern", "symmetric"), "2 1\n"), MatrixMarket),
        ("complex", repeated(coordinate("complex", "hermitian"), "2 1 0 1\n"), MatrixMarket),
        ("both triangles", repeated(coordinate("pattern", "symmetric"), "2 1\n3 1\n1 2\n"), MatrixMarket),
        ("blank lines", repeated(complex, "\n\n\n\n0 1\n"), MatrixMarket),
        ("ten axes", repeated(|_| String::new(), "1 1 1 1 1 1 1 1 1 1 7\n"), Tns),
        ("one axis", repeated(|_| String::new(), "1 1\n"), Tns),
    ];
    for (what, text, format) in &shortest {
        let told = measured(what, text, *format);
        assert!(matches!(told, Ok(_) | Err(Error::TooLarge { .. } | Error::Format { .. })), "{what}: {told:?}");
        assert!(told.is_ok() || *what != "array of digits", "{told:?}");
    }
    let claims = format!("{}1 1\n", coordinate("pattern", "general")(1 << 60));
    assert!(peak_of_refused("a claim", &claims) < 2 << 20);
    // The list of sizes grew with the line, before anybody asked how many axes there may be.
    let sizes = format!("%%MatrixMarket tensor coordinate real general\n{}\n", "1 ".repeat(500_000));
    assert!(peak_of_refused("sizes without end", &sizes) < 4 << 20);
}

/// The peak of memory of a Matrix Market file that is refused.
fn peak_of_refused(what: &str, text: &str) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    assert!(measured(what, text, FileFormat::MatrixMarket).is_err());
    let peak = MEMORY.peak_usage() - before;
    println!("{what}: {peak} bytes");
    peak
}
