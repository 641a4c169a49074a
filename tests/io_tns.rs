//! FROSTT's `.tns`: what is read, what is refused and where, and what is written.

#![cfg(feature = "io")]

use lacuna::io::{
    AnyTensor, FileElement, FileFormat, Format, ReadOptions, WriteOptions, read_coo, read_from, write_to,
};
use lacuna::{CooTensor, DType, Duplicates, Error, Shape, Triplets, dispatch_dtype};

fn tns(text: &str) -> lacuna::Result<AnyTensor> {
    tns_with(text, |_| {})
}

fn tns_with(text: &str, change: impl FnOnce(&mut ReadOptions)) -> lacuna::Result<AnyTensor> {
    let mut options = ReadOptions::default();
    change(&mut options);
    read_from(text.as_bytes(), FileFormat::Tns, &options)
}

fn printed(x: &AnyTensor) -> lacuna::Result<String> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Tns, x, &WriteOptions::default())?;
    Ok(String::from_utf8(bytes).unwrap())
}

fn refused(result: lacuna::Result<AnyTensor>) -> String {
    match result {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        other => panic!("not refused as a format: {other:?}"),
    }
}

/// The entries as doubles.
fn entries(x: AnyTensor) -> (Shape, Vec<(Vec<usize>, f64)>) {
    let x: CooTensor<f64, u64> = x.into_coo().unwrap();
    (x.shape().clone(), x.entries())
}

#[test]
fn the_shape_is_found_in_the_entries() {
    let (shape, entries) = entries(tns("# a comment\n\n2 2 2 6.0\r\n1 3 1\t2\n  1 2 1   1e0\n").unwrap());
    assert_eq!(shape, [2, 3, 2]);
    assert_eq!(entries, [(vec![0, 1, 0], 1.0), (vec![0, 2, 0], 2.0), (vec![1, 1, 1], 6.0)]);
}

#[test]
fn the_shape_may_be_given_or_kept_in_a_comment() {
    let given = tns_with("1 2 7\n", |options| options.shape = Some([3, 4].into())).unwrap();
    assert_eq!(*given.shape(), [3, 4]);
    assert_eq!(*tns("# shape: 3 4\n1 2 7\n").unwrap().shape(), [3, 4]);
    assert_eq!(*tns("# the shape is 3 4\n1 2 7\n").unwrap().shape(), [1, 2]);
    // The shape that the caller gives has priority.
    let both = tns_with("# shape: 3 4\n1 2 7\n", |options| options.shape = Some([5, 5].into())).unwrap();
    assert_eq!(*both.shape(), [5, 5]);
    assert_eq!(*tns("# shape: 0 4\n").unwrap().shape(), [0, 4]);
    // Other text after the same word is a comment, and not an error.
    assert_eq!(*tns("# shape: (3, 4)\n1 1 2.0\n").unwrap().shape(), [1, 1]);
    assert_eq!(*tns("# shape: 100 users by 20 movies\n2 1 2.0\n").unwrap().shape(), [2, 1]);
    assert_eq!(entries(tns("# shape:\n2.5\n").unwrap()), (Shape::from([0; 0]), vec![(vec![], 2.5)]));
}

#[test]
fn lines_of_coordinates_alone_have_the_value_one() {
    let graph = tns_with("1 2 3\n2 1 1\n", |options| options.shape = Some([2, 2, 3].into())).unwrap();
    assert_eq!(entries(graph).1, [(vec![0, 1, 2], 1.0), (vec![1, 0, 0], 1.0)]);
    // With one axis such a line is a single word, like the header of a dialect.
    let set = tns_with("3\n1\n", |options| options.shape = Some([4].into())).unwrap();
    assert_eq!(entries(set), (Shape::from([4]), vec![(vec![0], 1.0), (vec![2], 1.0)]));
}

#[test]
fn dialects_with_a_header() {
    let parti = "3\n4 5 6\n1 1 1 0.5\n4 5 6 -2\n";
    let toolbox = "sptensor\n3 \n4 5 6 \n2\n1 1 1 0.5\n4 5 6 -2\n";
    for text in [parti, toolbox] {
        let (shape, entries) = entries(tns(text).unwrap());
        assert_eq!(shape, [4, 5, 6]);
        assert_eq!(entries, [(vec![0, 0, 0], 0.5), (vec![3, 4, 5], -2.0)]);
    }
}

#[test]
fn a_header_and_the_shape_asked_for_are_one() {
    for header in ["2\n3 4\n", "sptensor\n2\n3 4\n1\n"] {
        let asked =
            |shape: [usize; 2]| tns_with(&format!("{header}1 1 5\n"), |options| options.shape = Some(shape.into()));
        assert_eq!(asked([3, 4]).unwrap().shape(), &Shape::from([3, 4]));
        let what = "the header of the file";
        let expected = Error::ShapeMismatch { what, expected: [4, 3].into(), found: [3, 4].into() };
        assert_eq!(asked([4, 3]).unwrap_err(), expected);
    }
}

#[test]
fn sixty_four_axes_are_not_too_many() {
    let (ones, entry) = ("1 ".repeat(64), format!("{}5\n", "1 ".repeat(64)));
    for header in [String::new(), format!("# shape: {ones}\n"), format!("64\n{ones}\n")] {
        let x = tns(&format!("{header}{entry}")).unwrap();
        assert_eq!((x.shape().rank(), x.nnz()), (64, 1));
    }
}

#[test]
fn a_file_says_which_line_is_wrong() {
    let huge = u64::MAX;
    let wrong = [
        ("".to_string(), "line 1: there is no entry to show the shape; name the shape with --shape"),
        ("# only\n\n".into(), "line 3: there is no entry"),
        ("1 1 3 0 2.0\n".into(), "line 1: index `0` is not a number from 1 up"),
        ("1 1 2\n0 1 2.0\n".into(), "line 2: index `0` is not a number from 1 up"),
        ("1 1 2\n-1 1 2.0\n".into(), "line 2: index `-1` is not a number from 1 up"),
        ("1 1 2\n1.5 1 2.0\n".into(), "line 2: index `1.5` is not a number from 1 up"),
        (format!("1 1 2\n{huge}0 1 2.0\n"), "line 2: index `184467440737095516150` is not a number from 1 up"),
        ("# c\n1 1 2\n\n1 2\n".into(), "line 4: the line ends before its value"),
        ("1 1 2\n1 1 2 2\n".into(), "line 2: unexpected `2` at the end of the line"),
        ("1 1 two\n".into(), "line 1: `two` is not a float64"),
        ("1 1 1+2j\n".into(), "line 1: the value `1+2j` does not fit float64"),
        ("# shape: 2 2\n1 3 1\n".into(), "line 2: index 3 is out of bounds for 1..=2"),
        (
            "# shape: 3 3 3 2\n1 1 1 2\n".into(),
            "line 2: 4 fields for 4 axes; if there is no value column, name the shape with --shape",
        ),
        ("# shape: 2\n1 1 1 1\n".into(), "line 2: the line has 4 fields, expected 1 coordinates and a value"),
        ("3\n4 5\n".into(), "line 2: the line ends before a length"),
        ("3\n".into(), "line 1: the file ends before a length"),
        ("65\n".into(), "line 1: 65 axes are more than 64"),
        ("18446744073709551616\n".into(), "line 1: the number of axes `18446744073709551616` is not a number below"),
        (format!("{}1\n", "1 ".repeat(65)), "line 1: 65 axes are more than 64"),
        (format!("# shape:{}\n", " 1".repeat(65)), "line 2: there is no entry to show the shape"),
        ("sptensor\n1\n4\n2\n1 1\n".into(), "line 5: the file declares 2 entries, but ends after 1"),
        ("sptensor\n1\n4\n1\n1 1\n2 1\n".into(), "line 6: more entries than the 1 declared"),
        ("sptensor\n1\n4\n1\n1 1\nnoise\n".into(), "line 6: more entries than the 1 declared"),
        ("\u{0}\u{1}\u{2}".into(), "line 1: the number of axes `\\x00\\x01\\x02` is not a number"),
    ];
    for (text, expected) in wrong {
        let message = refused(tns(&text));
        assert!(message.starts_with(expected), "{text:?}: {message}\nexpected {expected}");
    }
}

#[test]
fn an_index_that_the_type_asked_for_does_not_hold_is_refused() {
    let path = std::env::temp_dir().join(format!("lacuna-wide-{}.tns", std::process::id()));
    std::fs::write(&path, "4294967297 1 2.5\n").unwrap();
    let narrow: lacuna::Result<CooTensor<f64>> = read_coo(&path, &ReadOptions::default());
    assert_eq!(narrow.unwrap_err().to_string(), "line 1: index 4294967297 is out of bounds for 1..=4294967296");
    let wide: CooTensor<f64, u64> = read_coo(&path, &ReadOptions::default()).unwrap();
    assert_eq!(wide.entries(), [(vec![1 << 32, 0], 2.5)]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn integers_are_exact_where_integers_are_asked_for() {
    let text = "1 9223372036854775807\n2 -9223372036854775808\n3 4.000000\n";
    let read = |dtype| tns_with(text, |options| options.dtype = Some(dtype));
    let exact: CooTensor<i64, u64> = read(DType::Int64).unwrap().into_coo().unwrap();
    assert_eq!(exact.values(), [i64::MAX, i64::MIN, 4]);
    assert!(read(DType::Int32).unwrap_err().to_string().contains("9223372036854775807"));
    assert!(refused(read(DType::UInt64)).starts_with("line 2: the value `-9223372036854775808` does not fit uint64"));
    let broken = tns_with("1 0.5\n", |options| options.dtype = Some(DType::Int64));
    assert_eq!(refused(broken), "line 1: the value `0.5` does not fit int64");
    let unsigned = tns_with("1 18446744073709551615\n", |options| options.dtype = Some(DType::UInt64)).unwrap();
    assert_eq!(unsigned.into_coo::<u64, u32>().unwrap().values(), [u64::MAX]);
    let narrow = |value: &str, dtype| tns_with(&format!("1 {value}\n"), |options| options.dtype = Some(dtype));
    for (dtype, greatest, above) in
        [(DType::UInt8, "255", "256"), (DType::UInt16, "65535", "65536"), (DType::UInt32, "4294967295", "4294967296")]
    {
        let x = narrow(greatest, dtype).unwrap();
        assert_eq!((x.dtype(), entries(x.cast(DType::Float64).unwrap()).1[0].1), (dtype, greatest.parse().unwrap()));
        assert!(narrow(above, dtype).unwrap_err().to_string().contains(above), "{dtype}");
    }
}

#[test]
fn entries_that_repeat_are_summed_unless_asked_otherwise() {
    let text = "2 1 0.5\n1 1 4\n2 1 0.25\n";
    for (duplicates, value) in [(Duplicates::Sum, 0.75), (Duplicates::First, 0.5), (Duplicates::Max, 0.5)] {
        let x = tns_with(text, |options| options.duplicates = duplicates).unwrap();
        assert_eq!(entries(x).1, [(vec![0, 0], 4.0), (vec![1, 0], value)]);
    }
    let refused = tns_with(text, |options| options.duplicates = Duplicates::Error);
    assert_eq!(refused.unwrap_err().to_string(), "line 3: the entry (2, 1) is already on line 1");
}

#[test]
fn the_fill_and_the_format_are_as_asked() {
    let x = tns_with("2 1 0.5\n", |options| {
        options.fill = Some("nan".into());
        options.format = Some(Format::Csr);
    });
    let x = x.unwrap();
    assert_eq!((x.format(), x.fill().to_string().as_str()), (Format::Csr, "NaN"));
    let vast = tns_with("1000000000000 1 0.5\n", |options| options.format = Some(Format::Csr));
    assert!(matches!(vast, Err(Error::TooLarge { .. })), "{vast:?}");
}

fn shapes() -> [&'static [usize]; 8] {
    [&[], &[0], &[1], &[7], &[3, 4], &[3, 0, 2], &[2, 3, 4, 5], &[usize::MAX, 2, usize::MAX]]
}

/// A tensor with entries at both ends of each axis, and other values than fit any narrower type.
fn sample<T: FileElement>(shape: &[usize], texts: &[&str]) -> AnyTensor {
    let mut triplets = Triplets::<T, u64>::new_with_index(shape).unwrap();
    if !shape.contains(&0) {
        for (at, value) in texts.iter().filter_map(|text| T::parse(text)).enumerate() {
            let position: Vec<usize> = shape.iter().map(|&length| [0, length / 2, length - 1][at % 3]).collect();
            triplets.push(&position, value).unwrap();
        }
    }
    let x = triplets.coalesce(Duplicates::Last).unwrap();
    AnyTensor::from(x)
}

#[test]
fn what_is_written_reads_back_bit_for_bit_in_every_type_and_shape() {
    let texts = "0 1 -1 127 -128 255 32767 65535 -2147483648 4294967295 9223372036854775807 18446744073709551615 nan inf \
                 -inf -0.0 0.1 5e-324 1.7976931348623157e308";
    let texts: Vec<&str> = texts.split_whitespace().collect();
    let mut written = 0;
    for shape in shapes() {
        for dtype in DType::ALL {
            for texts in texts.chunks(3) {
                let x = dispatch_dtype!(dtype, T => Some(sample::<T>(shape, texts)), else => None);
                let Some(x) = x else { continue };
                if matches!(dtype, DType::Complex64 | DType::Complex128) {
                    let message = printed(&x).unwrap_err().to_string();
                    assert!(message.contains(".tns") && message.contains(".npz"), "{message}");
                    continue;
                }
                let text = printed(&x).unwrap();
                let back = tns_with(&text, |options| options.dtype = Some(dtype)).unwrap();
                assert!(back.same_as(&x), "{dtype} {shape:?}\n{text}");
                written += 1;
            }
        }
    }
    assert!(written >= 8 * 11 * 7);
}

#[test]
fn the_shape_is_written_only_where_the_entries_do_not_tell_it() {
    let told = tns("2 3 0.5\n1 1 -1\n").unwrap();
    assert_eq!(printed(&told).unwrap(), "1 1 -1.0\n2 3 0.5\n");
    let untold = tns("# shape: 2 4\n2 3 0.5\n").unwrap();
    assert_eq!(printed(&untold).unwrap(), "# shape: 2 4\n2 3 0.5\n");
    let csr = untold.into_format(Format::Csr).unwrap();
    assert_eq!(printed(&csr).unwrap(), "# shape: 2 4\n2 3 0.5\n");
}

#[test]
fn what_it_cannot_hold_is_refused() {
    let filled = tns_with("1 1\n", |options| options.fill = Some("2".into())).unwrap();
    let message = printed(&filled).unwrap_err().to_string();
    assert!(message.contains("fill 2") && message.contains("write .npz"), "{message}");
    let axes =
        AnyTensor::from(Triplets::<f64, u64>::new_with_index(vec![1; 65]).unwrap().coalesce(Duplicates::Sum).unwrap());
    assert!(printed(&axes).unwrap_err().to_string().contains("65 axes"));
    let complex = CooTensor::full([2], num_complex::Complex::new(0.0, 0.0)).unwrap().with_index::<u64>().unwrap();
    let message = printed(&complex.into()).unwrap_err().to_string();
    assert_eq!(message, ".tns cannot hold elements of type complex128; write .npz");
}

/// Found by fuzzing: the shape [0] was taken for one that the entries tell, and without entries nothing tells it.
#[test]
fn a_file_without_entries_keeps_a_shape_of_zeros() {
    for text in ["1\n0\n", "# shape: 0 0\n"] {
        let x = tns(text).unwrap();
        let again = tns(&printed(&x).unwrap()).unwrap();
        assert_eq!((again.shape(), again.nnz()), (x.shape(), 0));
    }
}

/// Found by fuzzing: another shape, from a comment or the caller, took the place of the header's, and its rank too.
#[test]
fn the_header_of_a_dialect_is_not_overruled() {
    tns("# shape: \nsptensor\n3\n5 3 4\n0\n1 1 1 2\n1 1 1 3\n").unwrap_err();
    tns("# shape: 5\n2\n5 4\n1 1 2\n1 3 2\n").unwrap_err();
    let read = |header: &str, shape: &[usize]| {
        tns_with(&format!("{header}1 1 2.5\n2 1 3.5\n"), |options| options.shape = Some(shape.into()))
    };
    for header in ["sptensor\n2\n5 4\n2\n", "2\n5 4\n"] {
        assert_eq!(read(header, &[5, 4]).unwrap().nnz(), 2);
        for shape in [&[5, 5][..], &[5, 4, 1]] {
            assert!(matches!(read(header, shape), Err(Error::ShapeMismatch { .. })), "{header} {shape:?}");
        }
        for shape in [&[][..], &[5]] {
            read(header, shape).unwrap_err();
        }
    }
}
