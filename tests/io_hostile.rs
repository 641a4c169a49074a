//! Files that lie, that are cut, and that are noise: an error that says where, never a panic, never a wrong tensor.

#![cfg(feature = "io")]

use lacuna::io::{AnyTensor, FileFormat, Format, ReadOptions, WriteOptions, read_from, write_to};
use lacuna::{Duplicates, Error, Triplets};
use std::io::{Cursor, ErrorKind, Read, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn read(bytes: &[u8], format: FileFormat) -> lacuna::Result<AnyTensor> {
    read_from(bytes, format, &ReadOptions::default())
}

fn mtx(text: &str) -> lacuna::Result<AnyTensor> {
    read(text.as_bytes(), FileFormat::MatrixMarket)
}

fn refused(result: lacuna::Result<AnyTensor>) -> String {
    match result {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        Err(other) => panic!("not a format error: {other:?}"),
        Ok(x) => panic!("it was read: {x:?}"),
    }
}

fn sample(format: FileFormat, of: Format, rank: usize) -> Vec<u8> {
    let mut triplets =
        Triplets::<f64, u64>::new_with_index(vec![3; rank]).unwrap().with_fill(if rank == 2 { 0.0 } else { 1.5 });
    triplets.push(&vec![0; rank], 75.25).unwrap();
    triplets.push(&vec![2; rank], -1e100).unwrap();
    let x = AnyTensor::from(triplets.coalesce(Duplicates::Sum).unwrap()).into_format(of).unwrap();
    let mut bytes = Vec::new();
    write_to(&mut bytes, format, &x, &WriteOptions::default()).unwrap();
    bytes
}

fn binary_samples() -> Vec<(FileFormat, Vec<u8>)> {
    vec![
        (FileFormat::Npy, sample(FileFormat::Npy, Format::Coo, 2)),
        (FileFormat::Npz, sample(FileFormat::Npz, Format::Coo, 2)),
        (FileFormat::Npz, sample(FileFormat::Npz, Format::Csr, 2)),
        (FileFormat::Npz, sample(FileFormat::Npz, Format::Coo, 3)),
        (FileFormat::Npz, sample(FileFormat::Npz, Format::Csr, 3)),
        #[cfg(feature = "parquet")]
        (FileFormat::Parquet, sample(FileFormat::Parquet, Format::Coo, 2)),
        #[cfg(feature = "parquet")]
        (FileFormat::Parquet, sample(FileFormat::Parquet, Format::Csr, 3)),
    ]
}

#[test]
fn the_longest_header_of_an_array_is_read() {
    let array = |length: usize| {
        let mut dict = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }".to_vec();
        dict.resize(length, b' ');
        let head = [&b"\x93NUMPY\x02\x00"[..], &(length as u32).to_le_bytes()].concat();
        [head, dict, vec![7]].concat()
    };
    assert_eq!(read(&array(1 << 20), FileFormat::Npy).unwrap().nnz(), 1);
    let message = refused(read(&array((1 << 20) + 1), FileFormat::Npy));
    assert_eq!(message, "header length: 1048577 is above 1048576");
}

#[test]
fn a_binary_file_cut_at_any_byte_is_refused() {
    for (format, bytes) in binary_samples() {
        assert!(read(&bytes, format).is_ok());
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end], format).is_err(), "{format} cut at {end} of {}", bytes.len());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(format == FileFormat::Npz || read(&longer, format).is_err());
    }
}

#[test]
fn a_text_file_cut_before_its_last_value_is_refused() {
    let coordinate = "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 1 75.25\n3 3 -1e100\n";
    let array = "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 -3\n4 0.0\n";
    for (text, last) in [(coordinate, "-1e100\n"), (array, "0.0\n")] {
        assert!(mtx(text).is_ok());
        for end in 0..text.len() - last.len() {
            assert!(mtx(&text[..end]).is_err(), "cut at {end}");
        }
    }
}

#[test]
fn a_changed_byte_never_panics() {
    let text = b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 75\n3 1 -8\n".to_vec();
    let mut samples = binary_samples();
    samples.push((FileFormat::MatrixMarket, text));
    for (format, bytes) in samples {
        for at in 0..bytes.len() {
            for change in [0x01, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let _ = read(&changed, format);
            }
        }
    }
}

#[test]
fn noise_is_refused() {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for length in 0..200 {
        let noise: Vec<u8> = (0..length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        for format in FileFormat::ALL {
            assert!(read(&noise, format).is_err());
        }
    }
}

#[test]
fn a_matrix_market_file_says_which_line_is_wrong() {
    let coordinate = "%%MatrixMarket matrix coordinate real general\n";
    let huge = "1000000000000000000";
    let wrong = [
        ("", "line 1: the file is empty"),
        ("%%MatrixMarket\n", "line 1: the line ends before the object"),
        ("%%MatrixMarkt matrix coordinate real general\n", "line 1: expected `%%MatrixMarket`"),
        ("%%MatrixMarket matrix coordinate real general x\n", "line 1: unexpected `x` at the end of the line"),
        ("%%MatrixMarket matrix coordinate float general\n", "line 1: the field `float` is not one of real"),
        ("%%MatrixMarket matrix array pattern general\n", "line 1: an array has values"),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "line 1: this field does not have negative"),
        ("%%MatrixMarket vector coordinate real symmetric\n", "line 1: only a matrix can be symmetric"),
        ("%%MatrixMarket tensor array real general\n", "line 1: a tensor must have the layout `coordinate`"),
        (coordinate, "line 2: the file ends before the line of sizes"),
        (&format!("{coordinate}% only a comment"), "line 3: the file ends before the line of sizes"),
        (&format!("{coordinate}3 3\n"), "line 2: the line ends before the number of entries"),
        (&format!("{coordinate}3 3 1 1\n"), "line 2: unexpected `1` at the end of the line"),
        (&format!("{coordinate}-3 3 1\n"), "line 2: the number of rows `-3` is not a number from 0 up"),
        (
            &format!("{coordinate}18446744073709551617 3 1\n"),
            "line 2: the number of rows `18446744073709551617` is not a number below 2^64",
        ),
        (
            &format!("{coordinate}3 3 {huge}\n1 1 1\n"),
            "line 3: the file declares 1000000000000000000 entries, but ends after 1",
        ),
        (&format!("%%MatrixMarket matrix array real general\n{huge} {huge}\n1\n"), "line 2: an array of shape"),
        ("%%MatrixMarket matrix array real general\n4294967296 4294967296\n", "line 2: an array of shape"),
        (
            &format!("%%MatrixMarket matrix array real general\n{huge} 1\n1\n"),
            "line 3: the file declares 1000000000000000000 entries",
        ),
        ("%%MatrixMarket matrix coordinate real symmetric\n3 2 0\n", "line 2: a matrix of 3 x 2 cannot be symmetric"),
        (&format!("{coordinate}3 3 1\n1 1 1\n2 2 2\n"), "line 4: more entries than the 1 declared"),
        (&format!("{coordinate}3 3 1\n1 1 1 1\n"), "line 3: unexpected `1` at the end of the line"),
        (&format!("{coordinate}3 3 1\n1 1\n"), "line 3: the line ends before its value"),
        (&format!("{coordinate}3 3 1\n\n%\n0 1 1\n"), "line 5: row 0 is out of bounds for 1..=3"),
        (&format!("{coordinate}3 3 1\n1 4 1\n"), "line 3: column 4 is out of bounds for 1..=3"),
        (&format!("{coordinate}3 3 1\n1 -1 1\n"), "line 3: column -1 is out of bounds for 1..=3"),
        (&format!("{coordinate}3 3 1\n1 2.0 1\n"), "line 3: column `2.0` is not a number from 1 up"),
        (&format!("{coordinate}3 3 1\n+1 2 1\n"), "line 3: row `+1` is not a number from 1 up"),
        (&format!("{coordinate}3 3 1\n1 -x 1\n"), "line 3: column `-x` is not a number from 1 up"),
        (
            &format!("{coordinate}3 3 1\n1 18446744073709551617 1\n"),
            "line 3: column 18446744073709551617 is out of bounds",
        ),
        (&format!("{coordinate}3 3 1\n1 1 one\n"), "line 3: `one` is not a float64"),
        (&format!("{coordinate}3 3 1\n1 1 0x10\n"), "line 3: `0x10` is not a float64"),
        (
            "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n",
            "line 3: the value `1.5` does not fit int64",
        ),
        (
            "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 -1\n",
            "line 3: the value `-1` does not fit uint64",
        ),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
            "line 3: the diagonal of a skew-symmetric matrix must be zero",
        ),
        (
            "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
            "line 3: -9223372036854775808 cannot be mirrored",
        ),
        (
            "%%MatrixMarket matrix array integer skew-symmetric\n2 2\n-9223372036854775808\n",
            "line 3: -9223372036854775808 cannot be mirrored",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 5\n1 2 5\n",
            "line 4: the file is symmetric, but also has the mirror image of this entry (1, 2) on line 3",
        ),
        ("%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n", "line 5: more entries than the 2 declared"),
    ];
    for (text, expected) in wrong {
        let message = refused(mtx(text));
        assert!(message.starts_with(expected), "{message}\nexpected {expected}");
    }
    let axes = format!("%%MatrixMarket tensor coordinate real general\n{}0\n", "1 ".repeat(65));
    assert_eq!(refused(mtx(&axes)), "line 2: 65 axes are more than 64");
    let ones = "1 ".repeat(64);
    let deepest = mtx(&format!("%%MatrixMarket tensor coordinate real general\n{ones}1\n{ones}2.5\n")).unwrap();
    assert_eq!((deepest.shape().rank(), deepest.nnz()), (64, 1));
}

#[test]
fn of_a_value_the_word_that_is_wrong_is_named() {
    let value = |field: &str, words: &str| {
        refused(mtx(&format!("%%MatrixMarket matrix coordinate {field} general\n1 1 1\n1 1 {words}\n")))
    };
    assert_eq!(value("complex", "2 0x1"), "line 3: `0x1` is not a float64");
    assert_eq!(value("complex", "two 1"), "line 3: `two` is not a float64");
    assert_eq!(value("complex", "2"), "line 3: the line ends before its imaginary part");
    assert_eq!(value("complex", "1-2"), "line 3: `1-2` is not a float64");
    assert_eq!(value("complex", ""), "line 3: the line ends before its value");
    assert_eq!(value("integer", "1.0"), "line 3: `1.0` is not an int64");
    assert_eq!(value("integer", "1e30"), "line 3: the value `1e30` does not fit int64");
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

#[test]
fn an_array_says_which_field_is_wrong() {
    let wrong = [
        (header("|O", "(1,)"), "field descr: `|O`: pickled objects are not supported"),
        (header("<f3", "(1,)"), "field descr: `<f3`: not an element type"),
        (header("=f8", "(1,)"), "field descr: `=f8`: the byte order"),
        (header("<f", "(1,)"), "field descr: `<f`: the size is not a number"),
        (header("<U3", "(1,)"), "field descr: the elements are strings"),
        (header("<f8", "(-1,)"), "field shape: `-1` is not a length"),
        (header("<f8", "(1.5,)"), "field shape: "),
        (header("<f8", "(18446744073709551617,)"), "field shape: `18446744073709551617` is not a length"),
        (header("<f8", "(4294967296, 4294967296)"), "field shape: [4294967296, 4294967296] has 2^64 elements or more"),
        (header("<f8", "(1000000000000000000,)"), "data: ends after 1 of 1000000000000000000 elements"),
        (header("<f8", "(2,)"), "data: ends after 1 of 2 elements"),
        (header("<f8", "(0,)"), "data: there are more bytes"),
        (header("<f8", "[1]"), "field shape: expected `(`"),
        (header("<f8", &format!("({})", "1,".repeat(65))), "field shape: has more than 64 axes"),
        (
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }".into(),
            "field descr: the elements are records",
        ),
        ("{'descr': '<f8', 'fortran_order': 1, 'shape': (1,), }".into(), "field fortran_order: `1` is neither"),
        ("{'descr': '<f8', 'shape': (1,), }".into(), "field fortran_order: is missing"),
        ("{'descr': '<f8', 'fortran_order': False, }".into(), "field shape: is missing"),
        ("{'fortran_order': False, 'shape': (1,), }".into(), "field descr: is missing"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}".into(), "header: has an unknown key `x`"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x".into(), "header: has data after its end"),
        ("".into(), "header: expected `{`"),
        ("{'descr': '<f8, }".into(), "field descr: has a string without a closing quote"),
        ("{\"descr\": \"<f8', }".into(), "field descr: has a string without a closing quote"),
        ("{descr: '<f8'}".into(), "header: expected `'` at `descr: "),
    ];
    for (header, expected) in wrong {
        let message = refused(read(&npy(&header, &[0; 8]), FileFormat::Npy));
        assert!(message.starts_with(expected), "{message}\nexpected {expected}");
    }
    assert_eq!(
        refused(read(&npy(&header("|b1", "(2,)"), &[1, 7]), FileFormat::Npy)),
        "element 1: a bool must be 0 or 1"
    );
    let mut later = npy(&header("<f8", "(1,)"), &[0; 8]);
    later[6] = 9;
    assert!(refused(read(&later, FileFormat::Npy)).starts_with("version: 9.0"));
    let mut latin = npy(&header("<f8", "(1,)"), &[0; 8]);
    latin[12] = 0xff;
    assert_eq!(refused(read(&latin, FileFormat::Npy)), "header: is not text");
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    assert!(refused(read(&long, FileFormat::Npy)).starts_with("header length: 4294967295 is above"));
}

#[test]
fn a_header_that_is_cut_off_says_where() {
    let whole = npy(&header("<f8", "(1,)"), &[0; 8]);
    for (kept, expected) in [
        (6, "version: ends after 0 of 2 bytes"),
        (7, "version: ends after 1 of 2 bytes"),
        (8, "header length: ends after 0 of 2 bytes"),
        (9, "header length: ends after 1 of 2 bytes"),
    ] {
        assert_eq!(refused(read(&whole[..kept], FileFormat::Npy)), expected);
    }
    assert!(refused(read(&whole[..12], FileFormat::Npy)).starts_with("header: ends after 2 of "));
}

#[test]
fn byte_orders_versions_and_fortran_order() {
    let expect = |bytes: &[u8], values: [f64; 2]| {
        let x = read(bytes, FileFormat::Npy).unwrap().cast(lacuna::DType::Float64).unwrap();
        let AnyTensor::Float64(x) = x else { panic!() };
        assert_eq!(x.values(), values);
    };
    expect(&npy(&header(">f8", "(2,)"), &[1.5f64.to_be_bytes(), 2.5f64.to_be_bytes()].concat()), [1.5, 2.5]);
    expect(&npy(&header("<i2", "(2L,)"), &[1, 0, 0xfe, 0xff]), [1.0, -2.0]);
    expect(&npy(&header(">u4", "(2,)"), &[0, 0, 1, 0, 0, 0, 0, 2]), [256.0, 2.0]);
    expect(&npy(&header("<i2", "(2,)").replace('\'', "\""), &[1, 0, 0xfe, 0xff]), [1.0, -2.0]);
    let fortran = header("|i1", "(2, 2)").replace("False", "True");
    expect(&npy(&fortran, &[0, 3, 4, 0]), [4.0, 3.0]);
    let empty = header("|i1", "(4294967296, 4294967296, 4294967296, 0)").replace("False", "True");
    assert_eq!(read(&npy(&empty, &[]), FileFormat::Npy).unwrap().nnz(), 0);
    let cube: Vec<u8> = (0..24).collect();
    let fortran = npy(&header("|u1", "(2, 3, 4)").replace("False", "True"), &cube);
    let AnyTensor::UInt8(x) = read(&fortran, FileFormat::Npy).unwrap() else { panic!() };
    assert_eq!(x.nnz(), 23);
    assert!((0..24u8).all(|at| x.get(&[at % 2, at / 2 % 3, at / 6].map(usize::from)).unwrap() == at));
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    let text = header("|u1", "(2,)");
    second.extend_from_slice(&(text.len() as u32).to_le_bytes());
    second.extend_from_slice(text.as_bytes());
    second.extend_from_slice(&[8, 9]);
    expect(&second, [8.0, 9.0]);
    second[6] = 3;
    expect(&second, [8.0, 9.0]);
}

/// An archive of members given as name, descr, shape and bytes.
fn archive(members: &[(&str, &str, &str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, descr, shape, data) in members {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&npy(&header(descr, shape), data)).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn int64(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

type Member = (&'static str, &'static str, &'static str, Vec<u8>);

/// The fill that pydata always writes.
fn fill() -> Member {
    ("fill_value", "|u1", "()", vec![0])
}

fn csr() -> Vec<Member> {
    vec![
        ("format", "|S3", "()", b"csr".to_vec()),
        ("shape", "<i8", "(2,)", int64(&[2, 3])),
        ("indptr", "<i8", "(3,)", int64(&[0, 1, 3])),
        ("indices", "<i8", "(3,)", int64(&[2, 0, 1])),
        ("data", "<i8", "(3,)", int64(&[5, 6, 7])),
    ]
}

/// The error of the archive with one member in place of that of its name.
fn csr_with(member: Member) -> String {
    let mut members = csr();
    members.retain(|(name, ..)| *name != member.0);
    members.push(member);
    refused(read(&archive(&members), FileFormat::Npz))
}

#[test]
fn an_archive_says_which_member_is_wrong() {
    assert_eq!(read(&archive(&csr()), FileFormat::Npz).unwrap().format(), Format::Csr);
    for (at, name) in ["format", "shape", "indptr", "indices", "data"].into_iter().enumerate() {
        let mut members = csr();
        members.remove(at);
        assert!(
            refused(read(&archive(&members), FileFormat::Npz)).starts_with(&format!("member {name}.npy: is missing"))
        );
    }
    let wrong: [(Member, &str); 26] = [
        (("format", "|S3", "()", b"bsr".to_vec()), "member format.npy: `bsr` is not one of csr, csc, coo, gcxs"),
        (("format", "<i8", "()", int64(&[1])), "member format.npy, field descr: int64 is not a string type"),
        (("format", "|S3", "(2,)", b"csrcsr".to_vec()), "member format.npy, field shape: is not one short string"),
        (("format", "|S17", "()", vec![b'r'; 17]), "member format.npy, field shape: is not one short string"),
        (("fill_value", "<i8", "(2,)", int64(&[0, 0])), "member fill_value.npy, field shape: [2] is not one value"),
        (
            ("fill_value", "<f8", "()", 0.5f64.to_le_bytes().to_vec()),
            "member fill_value.npy: 0.5 does not fit the data's type, int64",
        ),
        (("fill_value", "|S1", "()", b"0".to_vec()), "member fill_value.npy, field descr: the elements are strings"),
        (("fill_value", "<i8", "()", vec![0; 4]), "member fill_value.npy, data: ends after 0 of 1 elements"),
        (("fill_value", "<i8", "()", vec![0; 16]), "member fill_value.npy, data: there are more bytes"),
        (("shape", "<i8", "(65,)", int64(&[1; 65])), "member shape.npy: 65 axes are more than 64"),
        (("shape", "<i8", "(3,)", int64(&[2, 3, 1])), "member shape.npy: a matrix must have two axes, found 3"),
        (("shape", "<i8", "(2,)", int64(&[-2, 3])), "member shape.npy, element 0: -2 is negative"),
        (
            ("shape", "<i8", "(2,)", int64(&[2, 2])),
            "member indices.npy: index 2 on axis 1 is out of bounds for length 2, entry 0",
        ),
        (
            ("shape", "<i8", "(2,)", int64(&[i64::MAX, 3])),
            "member indptr.npy: 3 offsets do not fit 9223372036854775807 lanes",
        ),
        (("indptr", "<i8", "(3,)", int64(&[0, 4, 3])), "member indptr.npy: the offsets decrease after element 1, 4"),
        (
            ("indptr", "<i8", "(3,)", int64(&[1, 1, 3])),
            "member indptr.npy: the offsets run from 1 to 3, not from 0 to 3",
        ),
        (
            ("indptr", "<i8", "(3,)", int64(&[0, 1, 2])),
            "member indptr.npy: the offsets run from 0 to 2, not from 0 to 3",
        ),
        (
            ("indptr", "<f8", "(3,)", int64(&[0, 1, 3])),
            "member indptr.npy, field descr: float64 is not an integer type",
        ),
        (("indices", "<i8", "(3, 1)", int64(&[2, 0, 1])), "member indices.npy: its shape [3, 1] is not of rank 1"),
        (("indices", "<i8", "(3,)", int64(&[2, -1, 1])), "member indices.npy, element 1: -1 is negative"),
        (("data", "<i8", "(2,)", int64(&[5, 6])), "member data.npy: 2 elements for 3 positions"),
        (("data", "<i8", "(4,)", int64(&[5, 6, 7])), "member data.npy: 4 elements for 3 positions"),
        (("data", "<i8", "(3,)", int64(&[5, 6])), "member data.npy, data: ends after 2 of 3 elements"),
        (("data", "|S4", "(3,)", vec![0; 12]), "member data.npy, field descr: the elements are strings, not numbers"),
        (
            ("data", "<i8", "(4294967296, 4294967296)", vec![]),
            "member data.npy, field shape: [4294967296, 4294967296] has 2^64 elements or more",
        ),
        (("data", "|O", "(3,)", vec![0; 24]), "member data.npy, field descr: `|O`: pickled objects are not supported"),
    ];
    for (member, expected) in wrong {
        let message = csr_with(member);
        assert!(message.starts_with(expected), "{message}\nexpected {expected}");
    }
}

fn gcxs(shape: &[i64], axes: &[i64], indptr: &[i64], indices: &[i64]) -> lacuna::Result<AnyTensor> {
    let data = vec![1; indices.len()];
    let members: Vec<(&str, &str, String, Vec<u8>)> =
        [("shape", shape), ("compressed_axes", axes), ("indptr", indptr), ("indices", indices), ("data", &data[..])]
            .map(|(name, list)| (name, "<i8", format!("({},)", list.len()), int64(list)))
            .into();
    let members = members.iter().map(|(name, descr, shape, data)| (*name, *descr, shape.as_str(), data.clone()));
    let members: Vec<_> = members.chain([fill()]).collect();
    read(&archive(&members), FileFormat::Npz)
}

#[test]
fn compressed_axes_of_every_kind() {
    let x = gcxs(&[2, 3, 2], &[0, 1], &[0, 1, 1, 1, 1, 1, 2], &[1, 0]).unwrap();
    assert_eq!((x.format(), x.nnz()), (Format::Csr, 2));
    assert!(gcxs(&[2, 3, 2], &[1], &[0, 1, 1, 2], &[1, 2]).unwrap().same_as(&x));
    assert!(gcxs(&[2, 3, 2], &[2, 0], &[0, 0, 1, 2, 2], &[2, 0]).unwrap().same_as(&x));
    assert!(gcxs(&[2, 3, 2], &[], &[0, 2], &[10, 1]).unwrap().same_as(&x));
    assert!(refused(gcxs(&[2, 3, 2], &[1, 1], &[0; 10], &[])).contains("axis 1 is repeated"));
    assert!(refused(gcxs(&[2, 3, 2], &[3], &[0; 4], &[])).contains("axis 3 is repeated or out of range for rank 3"));
    assert!(refused(gcxs(&[2, 3, 2], &[1], &[0, 1, 1, 2], &[4, 2])).contains("element 0: 4 is out of bounds"));
    // Compressed over a short axis, with more of our lanes than the file could pay for.
    let long = 1 << 40;
    assert_eq!(gcxs(&[long, 2], &[1], &[0, 0, 1], &[long - 1]).unwrap().format(), Format::Coo);
}

#[test]
fn unsorted_and_repeated_columns_are_put_in_order() {
    let mut members = csr();
    members[3].3 = int64(&[2, 1, 1]);
    let x = read(&archive(&members), FileFormat::Npz).unwrap();
    let x: lacuna::CsrTensor<i64, u64> = x.into_csr().unwrap();
    assert_eq!((x.values(), x.columns()), (&[5, 13][..], &[2, 1][..]));
    let mut options = ReadOptions::default();
    options.duplicates = Duplicates::Error;
    let repeated = read_from(&archive(&members)[..], FileFormat::Npz, &options);
    assert_eq!(repeated.unwrap_err(), Error::Duplicate { first: 1, second: 2, coords: vec![1, 1] });
}

#[test]
fn an_archive_bomb_is_refused_and_names_the_option() {
    let data = vec![0u8; 80 << 20];
    let length = format!("({},)", data.len() / 8);
    let bomb = archive(&[("format", "|S3", "()", b"coo".to_vec()), ("shape", "<i8", &length, data)]);
    assert!(bomb.len() < 1 << 18);
    let error = read(&bomb, FileFormat::Npz).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 67_108_864, .. }), "{error}");
    assert!(error.to_string().contains("--max-memory"));
}

#[test]
fn a_dense_file_may_not_explode_in_memory() {
    let dense = npy(&header("|u1", &format!("({}2000000)", "1,".repeat(63))), &vec![1; 2_000_000]);
    let error = read(&dense, FileFormat::Npy).unwrap_err();
    assert!(error.to_string().contains("name its most frequent value with --fill"), "{error}");
    let mut options = ReadOptions::default();
    options.fill = Some("1".into());
    assert_eq!(read_from(&dense[..], FileFormat::Npy, &options).unwrap().nnz(), 0);
}

#[test]
fn only_a_dense_file_is_told_of_the_fill() {
    let mut options = ReadOptions::default();
    options.max_memory = Some(100);
    let dense = npy(&header("<f8", "(9,)"), &[1; 72]);
    let array = format!("%%MatrixMarket matrix array real general\n3 3\n{}", "1\n".repeat(9));
    let coordinate =
        format!("%%MatrixMarket matrix coordinate real general\n9 1 9\n{}", "1 1 1\n2 1 1\n3 1 1\n".repeat(3));
    let files: [(&[u8], FileFormat, bool); 4] = [
        (&dense, FileFormat::Npy, true),
        (array.as_bytes(), FileFormat::MatrixMarket, true),
        (coordinate.as_bytes(), FileFormat::MatrixMarket, false),
        (b"1 2 3\n1 3 4\n2 1 1\n3 4 1\n9 7 1\n9 8 1\n9 9 9\n", FileFormat::Tns, false),
    ];
    for (bytes, format, is_dense) in files {
        let error = read_from(bytes, format, &options).unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 100, .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.contains("raise --max-memory"), "{message}");
        assert_eq!(message.contains("with --fill"), is_dense, "{message}");
    }
    assert!(!read(&narrow_coords(10 << 20), FileFormat::Npz).unwrap_err().to_string().contains("with --fill"));
}

#[test]
fn a_reader_that_fails_is_no_wrong_array() {
    let array = npy(&header("<f8", "(2000,)"), &[1; 8000]);
    for kind in [ErrorKind::Other, ErrorKind::UnexpectedEof, ErrorKind::InvalidData, ErrorKind::ConnectionReset] {
        let reader = array.chain(Failing(kind));
        let error = read_from(reader, FileFormat::Npy, &ReadOptions::default()).unwrap_err();
        assert_eq!(error, Error::from(std::io::Error::new(kind, "unplugged")));
    }
}

struct Failing(ErrorKind);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::new(self.0, "unplugged"))
    }
}

/// A reader that no archive reader has any business with.
struct Forbidden;

impl Read for Forbidden {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        panic!("nobody needs so many bytes")
    }
}

#[test]
fn a_stream_without_end_is_not_read_to_its_end_for_an_archive() {
    let endless = |head: &'static [u8]| head.chain(std::io::repeat(0).take(8 << 20)).chain(Forbidden);
    let no_archive = read_from(endless(b""), FileFormat::Npz, &ReadOptions::default());
    assert_eq!(refused(no_archive), "the archive: its first 4096 bytes do not have the signature of a zip archive");
    let mut options = ReadOptions::default();
    options.max_memory = Some(1 << 20);
    let error = read_from(endless(b"PK\x03\x04"), FileFormat::Npz, &options).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 1_048_576, .. }), "{error:?}");
}

#[test]
fn the_coordinates_of_an_archive_have_a_row_for_each_axis() {
    let with_coords = |shape, coords: &[i64]| {
        let members = [
            ("shape", "<i8", "(3,)", int64(&[2, 3, 4])),
            ("coords", "<i8", shape, int64(coords)),
            fill(),
            ("data", "<i8", "(2,)", int64(&[5, 6])),
        ];
        read(&archive(&members), FileFormat::Npz)
    };
    let x = with_coords("(3, 2)", &[0, 1, 2, 0, 3, 3]).unwrap().into_coo::<i64, u32>().unwrap();
    assert_eq!(x.entries(), [(vec![0, 2, 3], 5), (vec![1, 0, 3], 6)]);
    for (shape, coords) in [("(2, 3)", &[0; 6][..]), ("(6,)", &[0; 6]), ("(3, 2, 1)", &[0; 6]), ("()", &[0])] {
        let message = refused(with_coords(shape, coords));
        assert!(message.starts_with("member coords.npy: its shape ["), "{message}");
        assert!(message.ends_with("] does not fit the coordinates of shape [2, 3, 4]"), "{message}");
    }
}

#[test]
fn a_scalar_archive_needs_a_value_for_each_of_its_empty_coordinates() {
    let scalar = |nnz: usize, values: &[i64]| {
        let (coords, data) = (format!("(0, {nnz})"), format!("({},)", values.len()));
        let members = [
            ("format", "<U3", "()", "coo".bytes().flat_map(|byte| [byte, 0, 0, 0]).collect()),
            ("shape", "<i8", "(0,)", vec![]),
            ("coords", "<i8", &coords, vec![]),
            fill(),
            ("data", "<i8", &data, int64(values)),
        ];
        read(&archive(&members), FileFormat::Npz)
    };
    assert_eq!(refused(scalar(5, &[1; 10])), "member data.npy: 10 elements for 5 positions");
    assert_eq!(refused(scalar(0, &[1])), "member data.npy: 1 elements for 0 positions");
    assert_eq!((scalar(1, &[7]).unwrap().nnz(), scalar(0, &[]).unwrap().nnz()), (1, 0));
}

/// A matrix of one axis of coordinates in bytes, all zeros, with as many values.
fn narrow_coords(nnz: usize) -> Vec<u8> {
    let (coords, data) = (format!("(2, {nnz})"), format!("({nnz},)"));
    archive(&[
        ("shape", "<i8", "(2,)", int64(&[3, 3])),
        ("coords", "|u1", &coords, vec![0; 2 * nnz]),
        fill(),
        ("data", "|u1", &data, vec![0; nnz]),
    ])
}

#[test]
fn narrow_indices_are_charged_for_the_width_that_they_get_in_memory() {
    let bomb = narrow_coords(10 << 20);
    assert!(bomb.len() < 1 << 16);
    let error = read(&bomb, FileFormat::Npz).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 67_108_864, bytes: 83_886_096, .. }), "{error:?}");
    assert!(error.to_string().contains("--max-memory"));
    assert_eq!(read(&narrow_coords(1000), FileFormat::Npz).unwrap().nnz(), 1);
}

#[test]
fn coordinates_in_fortran_order_go_to_their_axes() {
    let mut fortran = npy(&header("|u1", "(2, 3)").replace("False", "True"), &[0, 1, 1, 2, 2, 0]);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let lists = [("shape", "(2,)", vec![3, 3]), ("data", "(3,)", vec![5, 6, 7])];
    let members = lists.map(|(name, shape, list)| (name, npy(&header("<i8", shape), &int64(&list))));
    let zero = npy(&header("|u1", "()"), &[0]);
    for (name, bytes) in members.into_iter().chain([("coords", std::mem::take(&mut fortran)), ("fill_value", zero)]) {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    let fortran = read(&zip.finish().unwrap().into_inner(), FileFormat::Npz).unwrap();
    let same = archive(&[
        ("shape", "<i8", "(2,)", int64(&[3, 3])),
        ("coords", "|u1", "(2, 3)", vec![0, 1, 2, 1, 2, 0]),
        fill(),
        ("data", "<i8", "(3,)", int64(&[5, 6, 7])),
    ]);
    assert!(fortran.same_as(&read(&same, FileFormat::Npz).unwrap()));
}
