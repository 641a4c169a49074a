//! Archives that are odd, or wrong, as archives: read right, or refused with a clear sentence.

#![cfg(feature = "io")]

use lacuna::io::{AnyTensor, Compression, FileFormat, ReadOptions, WriteOptions, read_from, read_header, write_to};
use lacuna::{CooTensor, CsrTensor, Error, Result, dispatch};
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

fn tensor() -> AnyTensor {
    let x = CooTensor::new([3, 4], vec![vec![0, 2], vec![1, 3]], vec![1.5f64, -2.0], 0.0).unwrap();
    AnyTensor::from(x.with_index::<u64>().unwrap())
}

/// The members of the archive of [`tensor`], as name and bytes.
fn members() -> Vec<(String, Vec<u8>)> {
    members_of(&tensor())
}

fn members_of(x: &AnyTensor) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Npz, x, &WriteOptions::default()).unwrap();
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|at| {
            let mut member = zip.by_index(at).unwrap();
            let (name, mut bytes) = (member.name().unwrap().into_owned(), Vec::new());
            member.read_to_end(&mut bytes).unwrap();
            (name, bytes)
        })
        .collect()
}

fn archive_with(members: &[(String, Vec<u8>)], options: SimpleFileOptions) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn stored(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    archive_with(members, SimpleFileOptions::default().compression_method(CompressionMethod::Stored))
}

fn read(bytes: &[u8]) -> Result<AnyTensor> {
    read_from(bytes, FileFormat::Npz, &ReadOptions::default())
}

/// Place and message of a format error.
fn refused(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        other => panic!("not a format error: {other:?}"),
    }
}

/// Returns the positions of both headers of a member: the local header, and the header in the table at the end.
fn headers(bytes: &[u8], name: &str) -> [usize; 2] {
    let find = |signature: &[u8], name_at: usize| {
        let is_header =
            |&at: &usize| bytes[at..].starts_with(signature) && bytes[at + name_at..].starts_with(name.as_bytes());
        (0..bytes.len() - name_at).find(is_header).unwrap()
    };
    [find(b"PK\x03\x04", 30), find(b"PK\x01\x02", 46)]
}

/// The archive with bytes changed, at an offset in the local header of `data.npy` and at one in the table.
fn patched(local: usize, central: usize, patch: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = stored(&members());
    let [first, second] = headers(&bytes, "data.npy");
    patch(&mut bytes[first + local..]);
    patch(&mut bytes[second + central..]);
    bytes
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let mut twice = members();
    let mut other = twice.iter().find(|(name, _)| name == "data.npy").unwrap().clone();
    (other.0, other.1[128]) = ("dat2.npy".into(), 77);
    twice.push(other);
    let mut bytes = stored(&twice);
    for at in headers(&bytes, "dat2.npy").into_iter().zip([30, 46]).map(|(header, name)| header + name) {
        bytes[at..at + 8].copy_from_slice(b"data.npy");
    }
    assert_eq!(refused(&bytes), "the archive: two members have the same name, `data.npy`");
}

#[test]
fn a_wrong_checksum_names_the_member() {
    let mut bytes = stored(&members());
    let [local, _] = headers(&bytes, "data.npy");
    let data = (local..bytes.len()).find(|&at| bytes[at..].starts_with(&1.5f64.to_le_bytes())).unwrap();
    bytes[data] ^= 1;
    let message = refused(&bytes);
    assert!(message.starts_with("member data.npy, data: ") && message.contains("checksum"), "{message}");
}

#[test]
fn encryption_and_unknown_compression_name_the_member() {
    let encrypted = refused(&patched(6, 8, |flags| flags[0] |= 1));
    assert!(encrypted.starts_with("member data.npy: ") && encrypted.contains("assword"), "{encrypted}");
    let bzip2 = refused(&patched(8, 10, |method| method[0] = 12));
    assert!(
        bzip2.starts_with("member data.npy, data: ") && bzip2.contains("compression method not supported"),
        "{bzip2}"
    );
}

/// The size in the table is no more trusted than any other: what the array's own header says must be there.
#[test]
fn a_size_that_is_wrong_gives_no_wrong_tensor() {
    for change in [-200i32, -8, -1, 1, 8, 200, 1 << 30, i32::MAX - 1000] {
        let changed = |size: &mut [u8]| {
            let old = i32::from_le_bytes(size[..4].try_into().unwrap());
            size[..4].copy_from_slice(&old.wrapping_add(change).to_le_bytes());
        };
        for (local, central) in [(18, 20), (22, 24)] {
            match read(&patched(local, central, changed)) {
                Ok(x) => assert!(x.same_as(&tensor()), "{change}"),
                Err(error) => {
                    let text = error.to_string();
                    let names = ["member ", "the archive", "the inflated archive"];
                    assert!(names.iter().any(|name| text.starts_with(name)), "{change}: {text}");
                }
            }
        }
    }
}

/// An array of bytes as a member.
fn member(name: &str, shape: &str, data: &[u8]) -> (String, Vec<u8>) {
    member_of_type(name, "|u1", shape, data)
}

/// An array of any type as a member.
fn member_of_type(name: &str, descr: &str, shape: &str, data: &[u8]) -> (String, Vec<u8>) {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let head = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    (format!("{name}.npy"), [&head, data].concat())
}

/// The members that scipy 1.17 writes for a COO array of one axis, or of three and more.
fn scipys_coo(shape: &[i64], coords: &[i32], data: &[f64]) -> Vec<(String, Vec<u8>)> {
    let bytes = |numbers: &[i64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let coords: Vec<u8> = coords.iter().flat_map(|coord| coord.to_le_bytes()).collect();
    vec![
        member_of_type("coords", "<i4", &format!("({}, {})", shape.len(), data.len()), &coords),
        member_of_type("format", "|S3", "()", b"coo"),
        member_of_type("shape", "<i8", &format!("({},)", shape.len()), &bytes(shape)),
        member_of_type(
            "data",
            "<f8",
            &format!("({},)", data.len()),
            &data.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        ),
        member_of_type("_is_array", "|b1", "()", &[1]),
    ]
}

#[test]
fn arrays_of_scipy_have_a_fill_of_zero() {
    let vector = read(&stored(&scipys_coo(&[6], &[1, 4], &[1.5, -2.0]))).unwrap().into_coo::<f64, u32>().unwrap();
    assert_eq!(vector.to_dense().unwrap(), ndarray::arr1(&[0.0, 1.5, 0.0, 0.0, -2.0, 0.0]).into_dyn());
    // In any order, and with repeated entries, which scipy keeps.
    let cube = scipys_coo(&[2, 2, 4], &[1, 0, 1, 0, 1, 0, 2, 3, 2], &[1.5, -2.0, 3.0]);
    let cube = read(&stored(&cube)).unwrap().into_coo::<f64, u32>().unwrap();
    assert_eq!(cube.entries(), [(vec![0, 1, 3], -2.0), (vec![1, 0, 2], 4.5)]);
    assert_eq!(read(&stored(&scipys_coo(&[0], &[], &[]))).unwrap().nnz(), 0);
    let path = std::env::temp_dir().join(format!("lacuna-scipys-{}.npz", std::process::id()));
    std::fs::write(&path, stored(&scipys_coo(&[6], &[1, 4], &[1.5, -2.0]))).unwrap();
    let header = read_header(&path, &ReadOptions::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((&header.shape()[..], header.nnz()), (&[6][..], 0));
    // Another fill may be asked for, as for scipy's matrices.
    let asked = ReadOptions::default().fill("nan");
    let x = read_from(&stored(&scipys_coo(&[6], &[1, 4], &[1.5, -2.0]))[..], FileFormat::Npz, &asked).unwrap();
    assert!(x.into_coo::<f64, u32>().unwrap().fill().is_nan());
    // Without scipy's mark it is an archive of pydata/sparse that lost its fill.
    let mut lost = scipys_coo(&[6], &[1, 4], &[1.5, -2.0]);
    lost.pop();
    assert_eq!(
        refused(&stored(&lost)),
        "member fill_value.npy: is missing; set the value of unstored positions with --fill"
    );
}

#[test]
fn a_bomb_is_refused_by_the_size_that_it_says_and_held_to_it() {
    let count = 2 << 20;
    let places = member("coords", &format!("(0, {count})"), &[]);
    let data = member("data", &format!("({count},)"), &vec![0; count]);
    let members = [member("shape", "(0,)", &[]), places, data, member("fill_value", "()", &[0])];
    let mut bytes = archive_with(&members, SimpleFileOptions::default());
    let mut options = ReadOptions::default();
    options.max_memory = Some(1 << 20);
    let error = read_from(&bytes[..], FileFormat::Npz, &options).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "the inflated archive", limit: 1_048_576, .. }), "{error:?}");
    let [local, central] = headers(&bytes, "data.npy");
    let small = [0, 0, 1, 0];
    bytes[local + 22..local + 26].copy_from_slice(&small);
    bytes[central + 24..central + 28].copy_from_slice(&small);
    let message = refused(&bytes);
    assert!(message.starts_with("member data.npy, data: ") && message.contains("larger than"), "{message}");
}

#[test]
fn wide_and_prefixed_archives_are_read() {
    let wide = archive_with(&members(), SimpleFileOptions::default().large_file(true));
    assert!(read(&wide).unwrap().same_as(&tensor()));
    let prefixed = [&b"#!/bin/sh\nexit 0\n"[..], &stored(&members())].concat();
    assert!(read(&prefixed).unwrap().same_as(&tensor()));
}

#[test]
fn members_in_folders_are_listed() {
    let moved: Vec<_> = members().into_iter().map(|(name, bytes)| (format!("x/{name}"), bytes)).collect();
    let message = refused(&stored(&moved));
    assert!(message.starts_with("member format.npy: is missing"), "{message}");
    assert!(message.contains("the first members are [x/format.npy, x/row.npy, x/col.npy"), "{message}");
}

#[test]
fn a_coordinate_out_of_bounds_names_its_member() {
    let refusal = |x: &AnyTensor, name: &str, back: usize| {
        let mut wrong = members_of(x);
        let bytes = &mut wrong.iter_mut().find(|(member, _)| *member == format!("{name}.npy")).unwrap().1;
        let at = bytes.len() - back;
        bytes[at] = 9;
        refused(&stored(&wrong))
    };
    let outside = |name: &str, axis: usize, length: usize| {
        format!("member {name}.npy: index 9 on axis {axis} is out of bounds for length {length}, entry 1")
    };
    assert_eq!(refusal(&tensor(), "row", 4), outside("row", 0, 3));
    assert_eq!(refusal(&tensor(), "col", 4), outside("col", 1, 4));
    // pydata/sparse has all coordinates in one member, axis after axis; so it has those of a tensor with a fill.
    let filled = dispatch!(tensor(), x => x.with_fill(lacuna::Element::ONE).into());
    assert_eq!(refusal(&filled, "coords", 12), outside("coords", 0, 3));
    assert_eq!(refusal(&filled, "coords", 4), outside("coords", 1, 4));
}

#[test]
fn cuts_and_changes_of_a_stored_archive_are_no_panic_and_no_wrong_tensor() {
    for compression in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = archive_with(&members(), SimpleFileOptions::default().compression_method(compression));
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x11;
            if let Ok(x) = read(&changed) {
                assert!(x.same_as(&tensor()), "byte {at}, {compression}");
            }
        }
    }
}

/// The fill of an archive went through `f64`, which made a quiet NaN of a signalling one of fewer bits: the values kept
/// theirs, the fill did not.
#[test]
fn a_fill_keeps_the_bits_of_its_nan() {
    let signalling = f32::from_bits(0x7f80_0001);
    let x = CooTensor::full([2, 3, 1], signalling).unwrap();
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Npz, &x, &WriteOptions::default()).unwrap();
    let again = read(&bytes).unwrap().into_coo::<f32, u32>().unwrap();
    assert_eq!(again.fill().to_bits(), signalling.to_bits());
}

#[test]
fn the_name_of_the_layout_is_a_short_text() {
    let named = |width: usize| {
        let mut members = members();
        let mut text = b"coo".to_vec();
        text.resize(width, 0);
        let format = members.iter_mut().find(|(name, _)| name == "format.npy").unwrap();
        *format = member_of_type("format", &format!("|S{width}"), "()", &text);
        stored(&members)
    };
    assert!(read(&named(16)).unwrap().same_as(&tensor()));
    assert_eq!(refused(&named(17)), "member format.npy, field shape: is not one short string");
}

/// numpy makes the shape of a scalar, an empty list, an array of float64.
#[test]
fn the_shape_of_a_scalar_may_be_an_empty_list_of_floats() {
    let shape = member_of_type("shape", "<f8", "(0,)", &[]);
    let fill = member("fill_value", "()", &[0]);
    let scalar = stored(&[shape, member("coords", "(0, 1)", &[]), member("data", "(1,)", &[7]), fill]);
    let expected = CooTensor::new([], vec![], vec![7u8], 0).unwrap().with_index::<u64>().unwrap();
    assert!(read(&scalar).unwrap().same_as(&AnyTensor::from(expected)));
}

#[test]
fn indices_are_as_wide_as_the_longest_axis_needs() {
    let width_of = |length: usize| {
        let x = CooTensor::new([length, 2], vec![vec![0], vec![1]], vec![1.5], 0.0).unwrap();
        let members = members_of(&AnyTensor::from(x.with_index::<u64>().unwrap()));
        let (_, rows) = members.into_iter().find(|(name, _)| name == "row.npy").unwrap();
        ["<i4", "<i8"].into_iter().find(|descr| rows.windows(3).any(|bytes| bytes == descr.as_bytes())).unwrap()
    };
    assert_eq!((width_of(i32::MAX as usize), width_of(1 << 31)), ("<i4", "<i8"));
}

/// scipy keeps a vector as one compressed row: its archive was refused, as a matrix has two axes.
#[test]
fn a_compressed_vector_of_scipy_is_read() {
    let x = CsrTensor::new([1, 4], vec![0, 2], vec![1, 3], vec![1.0, 3.0], 0.0).unwrap();
    let mut members = members_of(&AnyTensor::from(x.with_index::<u64>().unwrap()));
    let shape = &mut members.iter_mut().find(|(name, _)| name == "shape.npy").unwrap().1;
    let axes = shape.windows(4).position(|bytes| bytes == b"(2,)").unwrap() + 1;
    shape[axes] = b'1';
    shape.truncate(shape.len() - 16);
    shape.extend(4i64.to_le_bytes());
    let read = read(&stored(&members)).unwrap();
    let expected = CsrTensor::new([4], vec![0, 2], vec![1, 3], vec![1.0, 3.0], 0.0).unwrap();
    assert!(read.same_as(&AnyTensor::from(expected.with_index::<u64>().unwrap())), "{read:?}");
}

/// A damaged name in the directory hid the member of the fill, and what is not stored was read as 0.
#[test]
fn a_damaged_name_of_a_member_is_no_missing_member() {
    let filled: AnyTensor = dispatch!(tensor(), x => x.with_fill(lacuna::Element::ONE).into());
    for x in [filled.clone(), filled.into_format(lacuna::io::Format::Csr).unwrap()] {
        let bytes = stored(&members_of(&x));
        let [local, central] = headers(&bytes, "fill_value.npy").map(|header| header + 4);
        for name in [local + 26..local + 40, central + 42..central + 56] {
            for at in name {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                let message = refused(&damaged);
                assert!(message.contains("has a different name in its local header, `"), "byte {at}: {message}");
            }
        }
    }
}

#[test]
fn the_layouts_of_pydata_name_their_fill() {
    let filled: AnyTensor = dispatch!(tensor(), x => x.with_fill(lacuna::Element::ONE).into());
    for x in [filled.clone(), filled.into_format(lacuna::io::Format::Csr).unwrap()] {
        let mut members = members_of(&x);
        members.retain(|(name, _)| name != "fill_value.npy");
        let bytes = stored(&members);
        assert_eq!(
            refused(&bytes),
            "member fill_value.npy: is missing; set the value of unstored positions with --fill"
        );
        let mut options = ReadOptions::default();
        options.fill = Some("1".into());
        assert!(read_from(&bytes[..], None, &options).unwrap().same_as(&x));
    }
}

/// Zeros were left out wherever they stood.
#[test]
fn the_name_of_the_layout_is_read_to_its_last_byte() {
    let named = |descr: &str, text: &[u8]| {
        let mut members = members();
        let format = members.iter_mut().find(|(name, _)| name == "format.npy").unwrap();
        *format = member_of_type("format", descr, "()", text);
        stored(&members)
    };
    let utf32 = |text: &str| text.chars().flat_map(|c| (c as u32).to_be_bytes()).collect::<Vec<u8>>();
    assert!(read(&named(">U4", &utf32("coo\0"))).unwrap().same_as(&tensor()));
    let unknown = |word: &str| format!("member format.npy: `{word}` is not one of csr, csc, coo, gcxs");
    assert_eq!(refused(&named("|S4", b"c\0oo")), unknown("c\\x00oo"));
    assert_eq!(refused(&named("|S4", b"\0coo")), unknown("\\x00coo"));
    assert_eq!(refused(&named(">U4", &utf32("co\0o"))), unknown("co\\x00o"));
    assert_eq!(refused(&named("|S3", b"co\xff")), unknown("co\\xff"));
    assert_eq!(refused(&named(">U1", &[0, 0x11, 0, 0])), "member format.npy, data: is not text");
}

#[test]
fn a_name_that_stands_twice_is_named() {
    let mut twice = members();
    twice.push(("dat\x1b.npy".into(), Vec::new()));
    twice.push(("dat2.npy".into(), Vec::new()));
    let mut bytes = stored(&twice);
    for at in headers(&bytes, "dat2.npy").into_iter().zip([30, 46]).map(|(header, name)| header + name) {
        bytes[at..at + 8].copy_from_slice(b"dat\x1b.npy");
    }
    assert_eq!(refused(&bytes), "the archive: two members have the same name, `dat\\x1b.npy`");
}

/// The error for text in place of an archive says that there is no archive.
#[test]
fn text_that_is_named_as_an_archive_is_told_to_be_none() {
    let path = std::env::temp_dir().join(format!("lacuna-text-{}.npz", std::process::id()));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n1 1 0\n").unwrap();
    let told = lacuna::io::read(&path, &ReadOptions::default()).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(told, "the archive: its first 52 bytes do not have the signature of a zip archive");
}

/// Members are deflated in blocks of 1 MiB, sixteen at once: what is written is one stream of deflated data all the
/// same.
#[test]
fn members_of_many_blocks_are_deflated_and_read_back() {
    for count in [131_056, 131_057, 131_058, 300_000, 2_200_000] {
        let values = (0..count).map(|at| (at as f64 * 0.37).sin()).collect();
        let x = CooTensor::new([count], vec![(0..count as u32).collect()], values, 0.0).unwrap();
        let x = AnyTensor::from(x.with_index::<u64>().unwrap());
        let mut bytes = Vec::new();
        write_to(&mut bytes, FileFormat::Npz, &x, &WriteOptions::default()).unwrap();
        let mut zip = ZipArchive::new(Cursor::new(&bytes[..])).unwrap();
        for at in 0..zip.len() {
            let member = zip.by_index_raw(at).unwrap();
            assert_eq!((member.compression(), member.unix_mode()), (CompressionMethod::Deflated, Some(0o100_644)));
            assert_eq!(member.last_modified().map(|time| (time.year(), time.month(), time.day())), Some((1980, 1, 1)));
        }
        assert!(read(&bytes).is_ok_and(|read| read.same_as(&x)), "{count}: {:?}", read(&bytes).err());
    }
}

/// The fields of the table at the end of an archive, per member: flags, compressed size, position of the local header.
fn table_of(archive: &[u8]) -> Vec<[usize; 3]> {
    let number = |at: usize, bytes: usize| {
        (0..bytes).rev().fold(0, |number, byte| number << 8 | usize::from(archive[at + byte]))
    };
    let end = archive.len() - 22;
    let (count, mut at) = (number(end + 10, 2), number(end + 16, 4));
    let entry = |_| {
        assert_eq!(archive[at..at + 4], *b"PK\x01\x02");
        let fields = [number(at + 8, 2), number(at + 20, 4), number(at + 42, 4)];
        at += 46 + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
        fields
    };
    (0..count).map(entry).collect()
}

/// Programs such as `unzip` reject an archive whose members do not end where their flags say.
#[test]
fn members_follow_each_other_without_a_gap() {
    for compression in [Compression::Usual, Compression::None] {
        let mut options = WriteOptions::default();
        options.compression = compression;
        let mut archive = Vec::new();
        write_to(&mut archive, FileFormat::Npz, &tensor(), &options).unwrap();
        let members = table_of(&archive);
        assert!(members.len() > 3);
        let length = |at: usize| usize::from(archive[at]) | usize::from(archive[at + 1]) << 8;
        let table = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let ends = members[1..].iter().map(|[.., start]| *start).chain([table]);
        for ([flags, size, start], end) in members.iter().zip(ends) {
            let data = start + 30 + length(start + 26) + length(start + 28) + size;
            if flags & 8 == 0 {
                assert_eq!(data, end, "{compression:?}");
            } else {
                assert_eq!(archive[data..data + 4], *b"PK\x07\x08", "{compression:?}: the descriptor after the data");
                assert!([data + 16, data + 24].contains(&end), "{compression:?}: {data} and {end}");
            }
        }
    }
}
