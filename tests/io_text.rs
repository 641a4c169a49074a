//! Text that is longer than a block: what several threads parse and print is what one would.

#![cfg(feature = "io")]

use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read_coo, read_csr, read_from, write, write_to};
use lacuna::{CooTensor, CsrTensor, Duplicates, Error, Triplets};
use std::fmt::Write as _;

/// Numbers without a pattern, the same in every run.
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 24
    }
}

/// A million bytes and more: lines of all lengths, with comments, blanks and blank lines among them.
struct Text {
    text: String,
    /// The entries of the lines, in order.
    entries: Vec<(usize, usize, f64)>,
    /// The number of the line of each entry.
    lines: Vec<usize>,
}

const SIDE: usize = 100_000;

fn text(count: usize, sorted: bool) -> Text {
    let mut next = numbers(count as u64 + 3);
    let mut places: Vec<u64> = (0..count).map(|_| next() % (SIDE * SIDE) as u64).collect();
    if sorted {
        places.sort_unstable();
        places.dedup();
    }
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{SIDE} {SIDE} {}\n", places.len());
    let (mut entries, mut lines, mut line) = (Vec::new(), Vec::new(), 2);
    for place in places {
        for _ in 0..[0, 0, 0, 0, 0, 0, 0, 1, 2][next() as usize % 9] {
            text.push_str(["\n", "% a comment\n", " \t\r\n", "%\n", "  % 1 1 1\n"][next() as usize % 5]);
            line += 1;
        }
        line += 1;
        let (row, column) = (place as usize / SIDE, place as usize % SIDE);
        let value = match next() % 8 {
            0 => f64::from_bits(next() << 20 ^ next()),
            1 => -(next() as f64),
            _ => next() as f64 / 1e5,
        };
        let value = if value.is_nan() { f64::NAN } else { value };
        let gap = [" ", "\t", "   "][next() as usize % 3];
        let end = ["\n", "\r\n", " \n"][next() as usize % 3];
        write!(text, "{}{gap}{} {value}{end}", row + 1, column + 1).unwrap();
        entries.push((row, column, value));
        lines.push(line);
    }
    Text { text, entries, lines }
}

fn expected(text: &Text) -> CooTensor<f64, u64> {
    let mut triplets = Triplets::new_with_index([SIDE, SIDE]).unwrap();
    for &(row, column, value) in &text.entries {
        triplets.push(&[row, column], value).unwrap();
    }
    triplets.coalesce(Duplicates::Sum).unwrap()
}

fn read(text: &str) -> lacuna::Result<CooTensor<f64, u64>> {
    read_from(text.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())?.into_coo()
}

#[test]
fn text_of_many_blocks_is_read_as_a_whole() {
    for sorted in [true, false] {
        let text = text(40_000, sorted);
        assert!(text.text.len() > 4 << 18, "{} bytes are too few blocks", text.text.len());
        assert!(read(&text.text).unwrap().same_as(&expected(&text)), "sorted: {sorted}");
        assert!(read(text.text.trim_end()).unwrap().same_as(&expected(&text)), "without the last end of line");
    }
}

#[test]
fn an_error_in_any_block_names_its_line() {
    let text = text(40_000, true);
    let lines: Vec<&str> = text.text.split_inclusive('\n').collect();
    for entry in [0, 9_000, 23_456, text.entries.len() - 1] {
        let line = text.lines[entry];
        let broken = |what: &str| [&lines[..line - 1].concat(), what, &lines[line..].concat()].concat();
        for (what, message) in [
            ("1 1 x\n", "`x` is not a float64"),
            ("1 1 1 1\n", "unexpected `1` at the end of the line"),
            ("1 100001 1\n", "column 100001 is out of bounds for 1..=100000"),
            ("1\n", "the line ends before column"),
        ] {
            assert_eq!(read(&broken(what)).unwrap_err().to_string(), format!("line {line}: {message}"));
        }
        // If there are two errors, the first is reported. An additional entry is an error at any position.
        let twice = broken("1 1 x\n").replace(lines[2], "1 1 y\n");
        assert!(entry == 0 || read(&twice).unwrap_err().to_string().contains("`y`"), "{entry}");
        let before_more = read(&broken(&format!("1 1 x\n{}", "1 1 1\n".repeat(3)))).unwrap_err().to_string();
        assert_eq!(before_more, format!("line {line}: `x` is not a float64"));
        let extra = read(&broken(&format!("{}1 1 1\n", lines[line - 1]))).unwrap_err().to_string();
        let last = text.lines[text.lines.len() - 1];
        assert_eq!(extra, format!("line {}: more entries than the {} declared", last + 1, text.entries.len()));
        let missing = read(&broken("%\n")).unwrap_err().to_string();
        assert!(missing.ends_with(&format!("but ends after {}", text.entries.len() - 1)), "{missing}");
    }
}

/// Two halves that are in order by themselves, the later one first.
#[test]
fn a_long_file_whose_halves_are_swapped_is_put_in_order() {
    const HALF: usize = 40_000;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n2 {HALF} {}\n", 2 * HALF);
    for (row, column) in [2, 1].into_iter().flat_map(|row| (1..=HALF).map(move |column| (row, column))) {
        writeln!(text, "{row} {column} {row}").unwrap();
    }
    let x = read(&text).unwrap();
    let in_order = |entry: usize| {
        let (row, column) = ((entry / HALF) as u64, (entry % HALF) as u64);
        (x.coords(0)[entry], x.coords(1)[entry], x.values()[entry]) == (row, column, row as f64 + 1.0)
    };
    assert!(x.nnz() == 2 * HALF && (0..2 * HALF).all(in_order));
}

#[test]
fn a_reader_that_fails_after_a_wrong_line_is_told_after_it() {
    struct Fails<'a>(&'a [u8]);
    impl std::io::Read for Fails<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.len() {
                0 => Err(std::io::ErrorKind::ConnectionReset.into()),
                _ => self.0.read(buffer),
            }
        }
    }
    let text = text(40_000, true).text;
    let read = |text: &str| read_from(Fails(text.as_bytes()), FileFormat::MatrixMarket, &ReadOptions::default());
    assert!(matches!(read(&text), Err(Error::Io { kind: std::io::ErrorKind::ConnectionReset, .. })));
    let wrong = text.replacen("\n% a comment\n", "\nnoise\n", 1);
    assert!(matches!(read(&wrong), Err(Error::Format { .. })));
}

#[test]
fn a_line_longer_than_a_megabyte_is_refused() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let long = "7".repeat((1 << 20) + 1);
    for (text, line) in [
        (format!("%%MatrixMarket{long}"), 1),
        (format!("{head}%{long}\n1 1 0\n"), 2),
        (format!("{head}1 1 1\n%{long}\n1 1 1\n"), 3),
        (format!("{head}1 1 1\n1 1 {long}\n"), 3),
        (format!("{head}1 1 1\n1 1 {long}"), 3),
        // After the last entry too, where it is no entry too many.
        (format!("{head}1 1 1\n1 1 1\n%{long}\n"), 4),
        (format!("{head}1 1 1\n1 1 1\n{}", " ".repeat(long.len())), 4),
    ] {
        let message = read(&text).unwrap_err().to_string();
        assert_eq!(message, format!("line {line}: the line is longer than 1048576 bytes"));
    }
    let comment = format!("%{}\n", &long[..1_000_000]);
    assert_eq!(read(&format!("{head}{comment}1 1 1\n{comment}1 1 2.5\n{comment}")).unwrap().values(), [2.5]);
}

#[test]
fn what_many_threads_print_is_one_text_in_order() {
    let text = text(40_000, true);
    let x = expected(&text);
    let rows = |value: f64| if value.is_nan() { "nan".into() } else { format!("{value:?}") };
    for format in [FileFormat::MatrixMarket, FileFormat::Tns] {
        let mut printed = Vec::new();
        write_to(&mut printed, format, &x, &WriteOptions::default()).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let header = printed.lines().count() - x.nnz();
        for (line, (row, column, value)) in printed.lines().skip(header).zip(&text.entries) {
            let mut words = line.split(' ');
            assert_eq!((words.next(), words.next()), (Some(&*(row + 1).to_string()), Some(&*(column + 1).to_string())));
            let word = words.next().unwrap();
            assert_eq!(rows(word.parse().unwrap()), rows(*value), "{line}");
        }
        let mut compressed = Vec::new();
        write_to(&mut compressed, format, &x.to_csr().unwrap(), &WriteOptions::default()).unwrap();
        assert!(compressed == printed.as_bytes(), "CSR prints what COO prints");
        let mut options = ReadOptions::default();
        options.shape = Some([SIDE, SIDE].into());
        let back = read_from(printed.as_bytes(), format, &options).unwrap().into_coo::<f64, u64>().unwrap();
        assert!(back.same_as(&x));
    }
}

#[test]
fn types_known_at_compile_time_are_read_and_written() {
    let folder = std::env::temp_dir().join(format!("lacuna-typed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let x = CooTensor::new([3, 4], vec![vec![0, 2], vec![3, 1]], vec![7i16, -2], 0).unwrap();
    let options = ReadOptions::default();
    for name in ["x.mtx", "x.tns", "x.npy", "x.npz", "x.mtx.gz"] {
        let path = folder.join(name);
        write(&path, &x, &WriteOptions::default()).unwrap();
        let mut options = options.clone();
        options.shape = Some([3, 4].into());
        let back: CooTensor<i16> = read_coo(&path, &options).unwrap();
        assert_eq!(back, x, "{name}");
        write(&path, &x.to_csr().unwrap(), &WriteOptions::default()).unwrap();
        let back: CsrTensor<i16, usize> = read_csr(&path, &options).unwrap();
        assert_eq!(back.to_coo().unwrap().with_index().unwrap(), x, "{name}");
        let wide: CooTensor<num_complex::Complex<f32>, u64> = read_coo(&path, &options).unwrap();
        assert_eq!(wide.cast::<i16>().unwrap().with_index().unwrap(), x, "{name}");
        let refused: Result<CooTensor<u8>, Error> = read_coo(&path, &options);
        assert!(matches!(refused, Err(Error::Cast { .. } | Error::Format { .. })), "{name}: {refused:?}");
        options.shape = Some([4, 3].into());
        let refused: Result<CooTensor<i16>, Error> = read_coo(&path, &options);
        assert!(refused.is_err(), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_field_of_a_file_is_read_in_its_own_type_and_in_a_wider_one() {
    use num_complex::Complex;
    let path = std::env::temp_dir().join(format!("lacuna-fields-{}.mtx", std::process::id()));
    let file = |field: &str, value: &str| {
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate {field} general\n2 2 1\n1 2 {value}\n"))
            .unwrap();
        ReadOptions::default()
    };
    let exact: CooTensor<u64> = read_coo(&path, &file("unsigned-integer", "18446744073709551615")).unwrap();
    assert_eq!(exact.entries(), [(vec![0, 1], u64::MAX)]);
    let float: CsrTensor<f64> = read_csr(&path, &file("unsigned-integer", "9")).unwrap();
    assert_eq!(float.entries(), [(vec![0, 1], 9.0)]);
    let complex: CooTensor<Complex<f64>> = read_coo(&path, &file("complex", "1 -2")).unwrap();
    assert_eq!(complex.entries(), [(vec![0, 1], Complex::new(1.0, -2.0))]);
    let real: CooTensor<f64> = read_coo(&path, &file("complex", "0.5 0")).unwrap();
    assert_eq!(real.entries(), [(vec![0, 1], 0.5)]);
    let imaginary: Result<CooTensor<f64>, Error> = read_coo(&path, &file("complex", "0.5 1"));
    assert!(matches!(imaginary, Err(Error::Cast { .. })), "{imaginary:?}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_typed_tensor_has_the_fill_and_the_shape_asked_for() {
    let path = std::env::temp_dir().join(format!("lacuna-typed-{}.mtx", std::process::id()));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate integer symmetric\n5000000000 5000000000 1\n2 1 3\n")
        .unwrap();
    let mut options = ReadOptions::default();
    options.fill = Some("0.5".into());
    let x: CooTensor<f32, u64> = read_coo(&path, &options).unwrap();
    assert_eq!((x.fill(), x.entries()), (0.5, vec![(vec![0, 1], 3.0), (vec![1, 0], 3.0)]));
    let narrow: Result<CooTensor<f32>, Error> = read_coo(&path, &options);
    assert!(matches!(narrow, Err(Error::AxisTooLong { axis: 0, .. })));
    let vast: Result<CsrTensor<f32, u64>, Error> = read_csr(&path, &options);
    assert!(matches!(vast, Err(Error::TooLarge { .. })));
    options.fill = Some("half".into());
    let refused: Result<CooTensor<f32, u64>, Error> = read_coo(&path, &options);
    assert!(matches!(refused, Err(Error::Format { .. })));
    std::fs::remove_file(&path).unwrap();
}

/// Blocks of 2^18 bytes end with a line of 16 bytes, so the two entries of one position come from two blocks.
#[test]
fn entries_that_repeat_across_the_border_of_two_blocks_are_seen() {
    let mut text = String::from("%%MatrixMarket matrix coordinate pattern general\n9999999 9999999 20000\n");
    for entry in 0..20_000 {
        let place = if entry < 1 << 14 { entry } else { entry - 1 };
        writeln!(text, "{:07} {:07}", place / 99 + 1, place % 99 + 1).unwrap();
    }
    let x = read(&text).unwrap();
    assert_eq!(x.nnz(), 19_999);
    let last_of_the_block = (1 << 14) - 1;
    assert_eq!(x.get(&[last_of_the_block / 99, last_of_the_block % 99]).unwrap(), 2.0);
    let mut options = ReadOptions::default();
    options.duplicates = Duplicates::Error;
    let refused = read_from(text.as_bytes(), FileFormat::MatrixMarket, &options);
    let told = refused.unwrap_err().to_string();
    assert!(told.starts_with("line 16387: ") && told.ends_with(" is already on line 16386"), "{told}");
}

/// Text is read as `f64` and then rounded to the type asked for. The shortest digits of this number, read so, are the
/// middle between it and its neighbour: it came back as that.
#[test]
fn a_float_whose_digits_are_rounded_twice_comes_back() {
    let one = f32::from_bits(363_742_205);
    assert_eq!(
        (format!("{one:e}"), format!("{one:e}").parse::<f64>().unwrap() as f32),
        ("7.038531e-26".into(), f32::from_bits(363_742_206))
    );
    let x = CooTensor::new([1, 3], vec![vec![0; 3], vec![0, 1, 2]], vec![one, -one, 0.1], 0.0).unwrap();
    for format in [FileFormat::MatrixMarket, FileFormat::Tns] {
        let mut text = Vec::new();
        write_to(&mut text, format, &x, &WriteOptions::default()).unwrap();
        assert!(text.ends_with(b" 0.1\n"));
        let mut options = ReadOptions::default();
        options.dtype = Some(lacuna::DType::Float32);
        assert!(read_from(&text[..], format, &options).unwrap().same_as(&x.with_index::<u64>().unwrap().into()));
    }
    let z = x.map_values(|value| num_complex::Complex::new(0.0, value)).unwrap();
    let mut text = Vec::new();
    write_to(&mut text, FileFormat::MatrixMarket, &z, &WriteOptions::default()).unwrap();
    let mut options = ReadOptions::default();
    options.dtype = Some(lacuna::DType::Complex64);
    let read = read_from(&text[..], None, &options).unwrap();
    assert!(read.same_as(&z.with_index::<u64>().unwrap().into()));
}

/// The mirror images of the two lines were named, which stand before them in the tensor and nowhere in the file.
#[test]
fn entries_that_a_symmetric_file_repeats_are_named_as_they_stand_there() {
    let text = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 7\n2 1 3\n3 3 1\n2 1 4\n";
    let mut options = ReadOptions::default();
    options.duplicates = Duplicates::Error;
    let error = read_from(text.as_bytes(), None, &options).unwrap_err();
    assert_eq!(error.to_string(), "line 6: the entry (2, 1) is already on line 4");
}

/// Vectors were read, and could not be written.
#[test]
fn a_vector_is_written_as_matrix_market() {
    let x = CooTensor::new([5], vec![vec![1, 4]], vec![2.5, -1.0], 0.0).unwrap();
    for csr in [false, true] {
        let mut text = Vec::new();
        let (format, options) = (FileFormat::MatrixMarket, WriteOptions::default());
        match csr {
            true => write_to(&mut text, format, &x.to_csr().unwrap(), &options).unwrap(),
            false => write_to(&mut text, format, &x, &options).unwrap(),
        }
        let expected = "%%MatrixMarket vector coordinate real general\n5 2\n2 2.5\n5 -1.0\n";
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
        let back = read_from(&text[..], format, &ReadOptions::default()).unwrap().into_coo::<f64, u32>().unwrap();
        assert!(back.same_as(&x));
    }
}

/// 2^64 entries are not more than 2^64, and an axis in parentheses is a number to Python.
#[test]
fn sizes_that_do_not_fit_are_told_as_they_are() {
    let array = format!("%%MatrixMarket matrix array real general\n{} {}\n", 1u64 << 32, 1u64 << 32);
    let refused = read_from(array.as_bytes(), None, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(refused, "line 2: an array of shape [4294967296, 4294967296] has 2^64 entries or more");
}

#[test]
fn a_length_in_parentheses_is_no_shape() {
    let array = |shape: &str| {
        let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([1, 2, 3]);
        read_from(&bytes[..], None, &ReadOptions::default())
    };
    assert_eq!(array("(3,)").unwrap().nnz(), 3);
    assert_eq!(array("( 3 , 1 )").unwrap().rank(), 2);
    let message = "field shape: `(3)` is a number in Python; write one axis as `(3,)`";
    assert_eq!(array("(3)").unwrap_err().to_string(), message);
    assert_eq!(array("( 3 )").unwrap_err().to_string(), message);
}

/// Returns the error of reading a text, with options.
fn told(text: &str, format: FileFormat, change: impl FnOnce(&mut ReadOptions)) -> String {
    let mut options = ReadOptions::default();
    change(&mut options);
    read_from(text.as_bytes(), format, &options).unwrap_err().to_string()
}

/// Entries had numbers from 0, which nobody counts in a file, and after sorting those of no file.
#[test]
fn what_is_wrong_with_entries_together_names_their_lines() {
    let matrix = |symmetry: &str, entries: &str| {
        let count = entries.lines().filter(|line| !line.is_empty() && !line.starts_with('%')).count();
        format!("%%MatrixMarket matrix coordinate real {symmetry}\n% a comment\n\n9 9 {count}\n{entries}\n")
    };
    let error = |options: &mut ReadOptions| options.duplicates = Duplicates::Error;
    let text = matrix("general", "2 3 1\n% between\n\n1 1 1\n2 3 1");
    let twice = "line 9: the entry (2, 3) is already on line 5";
    assert_eq!(told(&text, FileFormat::MatrixMarket, error), twice);
    let text = matrix("symmetric", "3 1 1\n\n5 5 1\n3 1 2");
    let twice = "line 8: the entry (3, 1) is already on line 5";
    assert_eq!(told(&text, FileFormat::MatrixMarket, error), twice);
    let text = "# first\n1 1 2 7\n\n1 1 3 7\n1 1 2 8\n";
    assert_eq!(told(text, FileFormat::Tns, error), "line 5: the entry (1, 1, 2) is already on line 2");
    let text = matrix("symmetric", "3 1 1\n4 1 1\n% between\n1 3 2");
    let mirrored = "line 8: the file is symmetric, but also has the mirror image of this entry (1, 3) on line 5";
    assert_eq!(told(&text, FileFormat::MatrixMarket, |_| ()), mirrored);

    let int8 = |options: &mut ReadOptions| options.dtype = Some(lacuna::DType::Int8);
    let ordered = matrix("general", "1 1 1\n% between\n2 3 300\n");
    let line = "300.0 (float64) at line 7 cannot be converted to int8";
    assert_eq!(told(&ordered, FileFormat::MatrixMarket, int8), line);
    let unordered = matrix("general", "2 3 1\n1 4 1.5\n");
    let line = "1.5 (float64) at line 6 cannot be converted to int8";
    assert_eq!(told(&unordered, FileFormat::MatrixMarket, int8), line);
}

/// The number of an entry said nothing once entries were sorted: unsorted and symmetric files named coordinates.
#[test]
fn conversions_of_unsorted_and_mirrored_entries_name_lines() {
    let to_text_as = |dtype, symmetry: &str, entries: &str| {
        let count = entries.lines().count();
        let text = format!("%%MatrixMarket matrix coordinate integer {symmetry}\n9 9 {count}\n{entries}\n");
        told(&text, FileFormat::MatrixMarket, |options| options.dtype = Some(dtype))
    };
    let int8 = |symmetry, entries| to_text_as(lacuna::DType::Int8, symmetry, entries);
    // The first in row-major order, wherever it stands.
    let found = int8("general", "7 1 300\n5 5 1\n2 2 400\n2 1 500");
    assert_eq!(found, "500 (int64) at line 6 cannot be converted to int8");
    // Only the mirror image comes first; both are the entry that was read.
    let found = int8("symmetric", "1 1 1\n2 2 2\n8 3 300\n9 2 400\n9 9 500");
    assert_eq!(found, "400 (int64) at line 6 cannot be converted to int8");
    let found = int8("symmetric", "1 1 1\n2 2 2\n8 3 300\n5 5 300");
    assert_eq!(found, "300 (int64) at line 5 cannot be converted to int8");
    // The image alone does not fit, as it has the other sign.
    let found = to_text_as(lacuna::DType::UInt8, "skew-symmetric", "4 2 7\n3 1 5");
    assert_eq!(found, "-5 (int64) at line 4 cannot be converted to uint8");
    // A sum of several entries has no line.
    let found = int8("general", "5 5 100\n1 1 1\n5 5 100");
    assert_eq!(found, "200 (int64) at entry (5, 5) cannot be converted to int8");
    let text = "3 1 2 1\n1 9 1 2.5\n1 2 7 300.5\n";
    let found = told(text, FileFormat::Tns, |options| options.dtype = Some(lacuna::DType::Bool));
    assert_eq!(found, "300.5 (float64) at line 3 cannot be converted to bool");
    let path = std::env::temp_dir().join(format!("lacuna-unsorted-{}.mtx", std::process::id()));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate integer symmetric\n9 9 2\n5 4 1\n3 1 300\n").unwrap();
    let typed = read_coo::<u8, u32>(&path, &ReadOptions::default()).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(typed, "300 (int64) at line 4 cannot be converted to uint8");
}

#[test]
fn the_lines_of_long_files_are_counted_across_blocks() {
    let mut text = String::from("%%MatrixMarket matrix coordinate integer general\n100001 1 100001\n");
    for row in 1..=100_000 {
        text += &format!("{}{row} 1 {}\n", if row % 30_000 == 0 { "% a comment\n" } else { "" }, row % 100);
    }
    let repeated = text.clone() + "70000 1 5\n";
    let error = told(&repeated, FileFormat::MatrixMarket, |options| options.duplicates = Duplicates::Error);
    assert_eq!(error, "line 100006: the entry (70000, 1) is already on line 70004");
    text += "100001 1 777\n";
    let path = std::env::temp_dir().join(format!("lacuna-lines-{}.mtx", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let typed = read_coo::<i8, u32>(&path, &ReadOptions::default()).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    let line = "777 (int64) at line 100006 cannot be converted to int8";
    assert_eq!(
        (typed.as_str(), told(&text, FileFormat::MatrixMarket, |options| options.dtype = Some(lacuna::DType::Int8))),
        (line, line.to_string())
    );
}

/// A comment between any two entries makes as many runs of lines as entries: their list has an end.
#[test]
fn lines_that_are_too_scattered_to_be_kept_are_not_named() {
    let mut text = String::from("%%MatrixMarket matrix coordinate integer general\n70001 1 70001\n");
    (1..=70_000).for_each(|row| text += &format!("%\n{row} 1 1\n"));
    let error = told(&(text + "5 1 1\n"), FileFormat::MatrixMarket, |options| options.duplicates = Duplicates::Error);
    assert_eq!(error, "entries 4 and 70000 are both at [4, 0]");
}

/// The path was missing, and the error of the system lost.
#[test]
fn an_error_of_the_system_names_the_file_and_keeps_its_source() {
    use std::error::Error as _;
    let path = std::env::temp_dir().join("lacuna-no-such\u{1b}[31m\nfolder/x.mtx");
    let options = ReadOptions::default();
    let x = CooTensor::full([2, 2], 0.0).unwrap();
    let errors = [
        lacuna::io::read(&path, &options).unwrap_err(),
        read_coo::<f64, u32>(&path, &options).unwrap_err(),
        write(&path, &x, &WriteOptions::default()).unwrap_err(),
    ];
    for error in errors {
        let Error::Io { kind: std::io::ErrorKind::NotFound, path: Some(named), message, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*named, path);
        assert_eq!(error.source().map(ToString::to_string).as_ref(), Some(message));
        let escaped = "lacuna-no-such\\u{1b}[31m\\nfolder";
        assert!(error.to_string().contains(escaped) && error.to_string().ends_with(message), "{error}");
        assert_eq!(Error::from(std::io::Error::from(error.clone())), error);
    }
}
