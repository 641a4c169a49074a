//! Events between any two bytes, in file systems and pipes: short reads and writes, interruptions, an error at every
//! byte. A kill may end a write at any moment.

#![cfg(feature = "io")]

use std::io::{Error as IoError, ErrorKind, Read, Result as IoResult, Write};

use lacuna::io::{AnyTensor, Compression, FileFormat, Format, ReadOptions, WriteOptions, read_from, write_to};
use lacuna::{Error, Triplets};

use crate::share::one_of;

/// A matrix and a tensor of rank 3, in both sparse formats: between them every member that an archive can have.
fn tensors() -> Vec<AnyTensor> {
    let tensor = |shape: &[usize], fill: f64| {
        let mut triplets = Triplets::<f64, u64>::new_with_index(shape).unwrap().with_fill(fill);
        for at in [0, 1, 3, 4] {
            let coords: Vec<usize> = shape.iter().map(|length| at * 7 % length).collect();
            triplets.push(&coords, 0.1 * at as f64 - 1e100).unwrap();
        }
        AnyTensor::from(triplets.coalesce(lacuna::Duplicates::Last).unwrap())
    };
    let both = |x: AnyTensor| [x.clone(), x.into_format(Format::Csr).unwrap()];
    [both(tensor(&[3, 4], 0.0)), both(tensor(&[3, 2, 5], 1.5))].concat()
}

/// Each format, compressed and not, of the tensors that it can hold: the tensor as it comes back, and its bytes.
fn files() -> Vec<(FileFormat, WriteOptions, AnyTensor, Vec<u8>)> {
    let mut files = Vec::new();
    for format in FileFormat::ALL {
        for compression in [Compression::Usual, Compression::None, Compression::Gzip] {
            let mut options = WriteOptions::default();
            options.compression = compression;
            for x in tensors() {
                let mut bytes = Vec::new();
                match write_to(&mut bytes, format, &x, &options) {
                    Ok(()) => files.push((format, options.clone(), x, bytes)),
                    Err(Error::NotRepresentable { .. }) => assert_ne!(format, FileFormat::Npz),
                    Err(error) => panic!("{format}: {error}"),
                }
            }
        }
    }
    assert!(files.len() > 20);
    files
}

/// Gives or takes a few bytes at a time, is interrupted every third time, and fails once so many bytes have passed.
struct Line<S> {
    end: S,
    step: usize,
    passed: usize,
    fails_at: usize,
    calls: usize,
}

impl<S> Line<S> {
    fn new(end: S, step: usize, fails_at: usize) -> Self {
        Line { end, step, passed: 0, fails_at, calls: 0 }
    }

    /// Returns the number of bytes, out of `wanted`, that pass this time.
    fn admit(&mut self, wanted: usize) -> IoResult<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(IoError::new(ErrorKind::Interrupted, "a signal"));
        }
        let count = wanted.min(self.step).min(self.fails_at - self.passed);
        match count == 0 && wanted > 0 {
            true => Err(IoError::new(ErrorKind::ConnectionReset, "unplugged")),
            false => Ok(count),
        }
    }
}

fn unplugged() -> Error {
    Error::from(IoError::new(ErrorKind::ConnectionReset, "unplugged"))
}

impl<S: Read> Read for Line<S> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let count = self.admit(buffer.len())?;
        let count = self.end.read(&mut buffer[..count])?;
        self.passed += count;
        Ok(count)
    }
}

impl<S: Write> Write for Line<S> {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        let count = self.admit(bytes.len())?;
        let count = self.end.write(&bytes[..count])?;
        self.passed += count;
        Ok(count)
    }

    fn flush(&mut self) -> IoResult<()> {
        self.end.flush()
    }
}

/// With the format said, and told by the first bytes.
fn formats(format: FileFormat) -> [Option<FileFormat>; 2] {
    [Some(format), None]
}

#[test]
fn pieces_and_interruptions_make_no_difference_to_a_reader() {
    for (format, _, _, bytes) in files() {
        for step in [1, 2, 7, 4096] {
            for said in formats(format) {
                let line = Line::new(&bytes[..], step, usize::MAX);
                match (
                    read_from(line, said, &ReadOptions::default()),
                    read_from(&bytes[..], said, &ReadOptions::default()),
                ) {
                    (Ok(found), Ok(expected)) => assert!(found.same_as(&expected), "{format} by {step}"),
                    (found, expected) => assert_eq!(found.unwrap_err(), expected.unwrap_err(), "{format} by {step}"),
                }
            }
        }
    }
}

#[test]
fn a_reader_that_fails_at_any_byte_is_an_error_of_the_reader() {
    for (format, _, _, bytes) in files() {
        for fails_at in (0..=bytes.len()).step_by(one_of(5)) {
            for step in [1, 4096] {
                let line = Line::new(&bytes[..], step, fails_at);
                let error = read_from(line, format, &ReadOptions::default()).unwrap_err();
                assert_eq!(error, unplugged(), "{format} after {fails_at} of {}", bytes.len());
            }
        }
    }
}

/// The first block of a file is read as a whole to see what it is; a header that goes on behind it is read line by
/// line.
#[test]
fn a_header_longer_than_a_block_may_be_interrupted() {
    let comments = |mark: &str| format!("{mark} {}\n", "c".repeat(998)).repeat(700);
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n{}2 2 1\n1 2 5\n", comments("%"));
    let tensor = format!("{}1 2 5\n", comments("#"));
    for (format, text) in [(FileFormat::MatrixMarket, matrix), (FileFormat::Tns, tensor)] {
        let read = |step| read_from(Line::new(text.as_bytes(), step, usize::MAX), format, &ReadOptions::default());
        assert_eq!(read(4096).unwrap().nnz(), 1);
        let whole = read_from(text.as_bytes(), format, &ReadOptions::default()).unwrap();
        assert!(read(999).unwrap().same_as(&whole));
    }
}

#[test]
fn pieces_and_interruptions_make_no_difference_to_a_writer() {
    for (format, options, x, bytes) in files() {
        for step in [1, 2, 7, 4096] {
            let mut written = Vec::new();
            write_to(&mut Line::new(&mut written, step, usize::MAX), format, &x, &options).unwrap();
            assert_eq!(written, bytes, "{format} by {step}");
        }
    }
}

#[test]
fn a_writer_that_fails_at_any_byte_is_an_error_of_the_writer() {
    for (format, options, x, bytes) in files() {
        for fails_at in (0..bytes.len()).step_by(one_of(5)) {
            let mut written = Vec::new();
            let error = write_to(&mut Line::new(&mut written, 5, fails_at), format, &x, &options).unwrap_err();
            assert_eq!(error, unplugged(), "{format} after {fails_at} of {}", bytes.len());
            assert_eq!(written, bytes[..fails_at], "{format}: what passed is the beginning of the file");
        }
    }
}

/// Killed at any moment while it overwrites a file, the program leaves the old one or the new one.
#[cfg(feature = "cli")]
#[test]
fn a_killed_program_leaves_the_old_file_or_the_new_one() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = std::env::temp_dir().join(format!("lacuna-killed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let spawn = |source: &str, target: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lacuna"));
        command.args(["convert", source, target]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // Two files of different lengths; the seed of each is its number of entries.
    let sources = [("a.mtx", 4000), ("b.mtx", 9000)].map(|(name, entries)| {
        let lines = (1..=entries).map(|at| format!("{} {} {}\n", at, at * 17 % 9000 + 1, 0.37 * f64::from(at)));
        let text = lines.collect::<String>();
        std::fs::write(
            file(name),
            format!("%%MatrixMarket matrix coordinate real general\n9000 9000 {entries}\n{text}"),
        )
        .unwrap();
        file(name)
    });
    let target = file("target.tns");
    let mut longest = Duration::ZERO;
    let whole: Vec<Vec<u8>> = (0..2)
        .map(|source| {
            let start = Instant::now();
            assert!(spawn(&sources[source], &target).wait().unwrap().success());
            longest = longest.max(start.elapsed());
            std::fs::read(&target).unwrap()
        })
        .collect();
    assert_ne!(whole[0], whole[1]);
    let (mut kept, mut replaced) = (0, 0);
    for kill in (0..100u32).step_by(one_of(3)) {
        let before = std::fs::read(&target).unwrap();
        let source = usize::from(before == whole[0]);
        let mut child = spawn(&sources[source], &target);
        // From nothing to two whole runs and, in case that the machine has become busy, a few much longer, in an order
        // without a pattern.
        let hundredths = if kill % 20 == 18 { 1000 } else { kill * 71 % 200 };
        std::thread::sleep(longest * hundredths / 100);
        // The child may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
        let after = std::fs::read(&target).unwrap();
        assert!(after == before || after == whole[source], "kill {kill}: {} bytes", after.len());
        if after == before { kept += 1 } else { replaced += 1 }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(kept > 0 && replaced > 0, "{kept} old files, {replaced} new ones");
}
