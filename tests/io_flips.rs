//! Files with a bit that is not what was written: whatever reads them, in memory, piece by piece or in ranges, gives
//! the right answer or an error. Files without checksums are read, and it is told that they have none.

#![cfg(feature = "parquet")]

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lacuna::io::{
    AnyTensor, Compression, Dataset, FileFormat, Format, ReadOptions, WriteOptions, read, read_from, read_slice, scan,
    write, write_to,
};
use lacuna::lazy::{Chunks, Lazy};
use lacuna::{Axes, CooTensor, Error, Result};

use crate::share::one_of;

/// A folder of its own, which is removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lacuna-flips-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// A file of ours as one that has no checksums but those that Parquet has of pages: the marks of the others are no
/// marks any more.
pub(crate) fn unchecked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let is_mark = |at: &usize| bytes[*at..].starts_with(b"\xfe\xff\x03\x0elacuna");
    let of_headers: Vec<usize> = (0..bytes.len()).filter(is_mark).map(|at| at + 4).collect();
    for at in of_headers.into_iter().chain([footer_mark(&bytes)]) {
        bytes[at] = b'L';
    }
    bytes
}

/// Returns the position of the mark of the footer's checksum.
fn footer_mark(bytes: &[u8]) -> usize {
    (0..bytes.len() - 6).rfind(|&at| &bytes[at..at + 6] == b"lacuna").unwrap()
}

/// A query of a file, which returns every bit of the answer.
type IsinTest = fn(&Path) -> Result<Vec<u8>>;

fn bits_of(x: Result<AnyTensor>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Npz, &x?, &WriteOptions::default().compression(Compression::None)).unwrap();
    Ok(bytes)
}

type Graph = fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>;

/// In ranges of some positions.
fn in_ranges(path: &Path, graph: Graph) -> Result<Vec<u8>> {
    let x = scan::<f64, u32>(path, &ReadOptions::default())?;
    let found = graph(&x).on(Chunks::memory(8 << 20).positions(100)).collect()?;
    bits_of(Ok(found.with_index::<u64>()?.into()))
}

fn pieces_of(dataset: &Dataset) -> Result<Vec<u8>> {
    let pieces = dataset.pieces(1 << 16).map(bits_of).collect::<Result<Vec<_>>>()?;
    Ok(pieces.concat())
}

const OF_ALL: &[(&str, IsinTest)] = &[
    ("whole", |path| bits_of(read(path, &ReadOptions::default()))),
    ("sum", |path| in_ranges(path, |x| x.sum(Axes::all()))),
    ("pieces", |path| pieces_of(&Dataset::open(path, &ReadOptions::default())?)),
    ("the tensor", |path| in_ranges(path, |x| -x)),
];

/// The queries of tensors with one axis.
const OF_ONE_AXIS: &[(&str, IsinTest)] = &[
    ("slice", |path| in_ranges(path, |x| -x.slice(ndarray::s![1..]))),
    ("box", |path| bits_of(read_slice(path, std::slice::from_ref(&(0..1)), &ReadOptions::default()))),
];

/// The queries of matrices.
const OF_TWO_AXES: &[(&str, IsinTest)] = &[
    ("slice", |path| in_ranges(path, |x| x.slice(ndarray::s![100..200, ..]).sum(Axes::all()))),
    ("box", |path| bits_of(read_slice(path, &[300..301, 7..9], &ReadOptions::default()))),
    ("medians", |path| in_ranges(path, |x| x.nanmedian(1))),
    ("sums over rows", |path| in_ranges(path, |x| x.sum(0))),
    ("columns, partitioned out", |path| in_ranges(path, |x| x.slice(ndarray::s![.., 3..11]).nanmedian(0))),
];

/// Writes one byte of a file. A file that is written as a whole waits for the disk.
fn write_byte(file: &Path, at: usize, byte: u8) {
    let mut file = fs::File::options().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// Asks all questions of a file at `path` with that bit another one; how many of them were refused.
fn flipped(path: &Path, file: &Path, bytes: &[u8], bit: usize, right: &[(&str, IsinTest, Vec<u8>)]) -> usize {
    let (at, byte) = (bit / 8, bytes[bit / 8]);
    write_byte(file, at, byte ^ 1 << (bit % 8));
    let answers = right.iter().filter(|(name, question, right)| match question(path) {
        Ok(answer) => {
            assert!(answer == *right, "{name}: byte {at}, bit {}", bit % 8);
            false
        }
        Err(_) => true,
    });
    let refused = answers.count();
    write_byte(file, at, byte);
    refused
}

fn asked(path: &Path, questions: &[&[(&'static str, IsinTest)]]) -> Vec<(&'static str, IsinTest, Vec<u8>)> {
    let questions = questions.concat().into_iter();
    questions.map(|(name, question)| (name, question, question(path).unwrap())).collect()
}

/// A file of two numbers, and the same as a folder with a manifest.
#[test]
fn each_bit_of_a_small_file_is_refused_or_changes_nothing() {
    let folder = Folder::new("small");
    let x = CooTensor::new([2], vec![vec![0, 1]], vec![1.5, 2.5], 0.0).unwrap();
    let of_few = [&OF_ALL[..2], &OF_ONE_AXIS[..1]];
    let of_many = [OF_ALL, OF_ONE_AXIS];
    for (place, name, questions, step) in [
        ("m.parquet", "m.parquet", &of_few[..], one_of(3)),
        ("m/", "m/part-00000.parquet", &of_many, 3 * one_of(3)),
        ("m/", "m/_lacuna.json", &of_many, 3 * one_of(3)),
    ] {
        let (place, name) = (folder.path(place), folder.path(name));
        let _ = fs::remove_dir_all(&place);
        write(&place, &x, &WriteOptions::default()).unwrap();
        let (bytes, right) = (fs::read(&name).unwrap(), asked(&place, questions));
        let bits = (0..8 * bytes.len()).step_by(step);
        let refused: usize = bits.map(|bit| flipped(&place, &name, &bytes, bit, &right)).sum();
        assert!(refused > bytes.len(), "{refused}");
    }
}

/// Several row groups with several pages each, in order of rows, as one file and as a folder.
fn matrix() -> CooTensor<f64> {
    let (mut state, entries) = (5, 0..45_000_u32);
    let values = entries.clone().map(|_| random(&mut state, 1 << 30) as f64 / 1e3 - 1e5).collect();
    let coords = vec![entries.clone().map(|at| at / 100).collect(), entries.map(|at| at % 100 * 2).collect()];
    CooTensor::new([450, 200], coords, values, 0.0).unwrap()
}

/// The least entries of a row group that has two pages.
const GROUP: usize = 21_000;

#[test]
fn bits_of_a_larger_file_are_refused_or_change_nothing() {
    let (folder, mut state) = (Folder::new("large"), 3);
    let x = AnyTensor::from(matrix().with_index::<u64>().unwrap());
    let plain = WriteOptions::default().compression(Compression::None);
    for (x, options, place, name) in [
        (x.clone(), WriteOptions::default().group_entries(GROUP), "x.parquet", "x.parquet"),
        (x.clone().into_format(Format::Csr).unwrap(), plain, "y.parquet", "y.parquet"),
        (x.clone(), WriteOptions::default().group_entries(GROUP).part_entries(GROUP), "z/", "z/part-00001.parquet"),
        (x, WriteOptions::default().part_entries(GROUP), "z/", "z/_lacuna.json"),
    ] {
        let place = folder.path(place);
        let _ = fs::remove_dir_all(&place);
        write(&place, &x, &options).unwrap();
        let (name, right) = (folder.path(name), asked(&place, &[OF_ALL, OF_TWO_AXES]));
        let bytes = fs::read(&name).unwrap();
        // Headers, page indexes and the footer have fewer bytes than values, and more ways to fail.
        let headers = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"\x0elacuna")).map(|at| at.max(40) - 40);
        let headers: Vec<usize> = headers.chain(bytes.len().checked_sub(4_000)).collect();
        let mut refused = 0;
        for round in 0..120 / one_of(5) {
            let at = match headers.get(round / 3 % headers.len().max(1)) {
                Some(start) if round % 3 > 0 => start + random(&mut state, 55 + 3_900 * (round % 2)),
                _ => random(&mut state, bytes.len()),
            };
            refused += flipped(&place, &name, &bytes, 8 * at.min(bytes.len() - 1) + random(&mut state, 8), &right);
        }
        assert!(refused > 120 / one_of(5), "{refused}");
    }
}

/// Writes a tensor with a wrong bit in a value of the last page: values follow the coordinates, 8 bytes each.
fn write_damaged(path: &Path, x: &CooTensor<f64>) {
    write(path, x, &WriteOptions::default().compression(Compression::None)).unwrap();
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() - 20_000;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// The entries of a page that is damaged are in no piece, though pieces before it are right.
#[test]
fn what_is_damaged_leaves_the_reader_in_no_piece() {
    let folder = Folder::new("pieces");
    let (path, x) = (folder.path("x.parquet"), matrix());
    write_damaged(&path, &x);
    let dataset = Dataset::open(&path, &ReadOptions::default()).unwrap();
    let (mut seen, mut errors) = (0, 0);
    for piece in dataset.pieces(1 << 18) {
        match piece {
            Ok(piece) => {
                let piece = piece.into_coo::<f64, u32>().unwrap();
                assert_eq!(piece.values(), &x.values()[seen..seen + piece.nnz()]);
                seen += piece.nnz();
            }
            Err(error) => {
                assert!(error.to_string().contains("a page: its checksum does not match its bytes"), "{error}");
                errors += 1;
            }
        }
    }
    assert!(seen > 20_480 && seen < x.nnz() && errors == 1, "{seen}");
}

/// Engines that read ranges name the file, whatever they read first: coordinates along an axis, or all to deal them
/// out.
#[test]
fn what_engines_refuse_is_told_with_its_file() {
    let folder = Folder::new("named");
    let (path, x) = (folder.path("x.parquet"), matrix());
    write(&path, &x, &WriteOptions::default().compression(Compression::None)).unwrap();
    let (bytes, mut refused) = (fs::read(&path).unwrap(), 0);
    // A page of coordinates, one of values, and the list of pages.
    for at in [200, bytes.len() - 20_000, bytes.len() - 4_000] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let lazy = scan::<f64, u32>(&path, &ReadOptions::default());
        let graphs = lazy.map(|x| [x.nanmedian(0), x.sum(1), x.slice(ndarray::s![.., 3..11]).argmax(0).cast(), -&x]);
        for graph in graphs.into_iter().flatten() {
            if let Err(error) = graph.on(Chunks::memory(8 << 20).positions(100)).collect() {
                assert!(error.to_string().contains("x.parquet: "), "{at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 8, "{refused}");
}

/// Rows beside the damage are read: nothing else of the file is looked at.
#[test]
fn a_slice_beside_the_damage_is_right() {
    let folder = Folder::new("beside");
    let (path, x) = (folder.path("x.parquet"), matrix());
    write_damaged(&path, &x);
    let part = |rows: std::ops::Range<usize>| read_slice(&path, &[rows, 0..200], &ReadOptions::default());
    assert!(part(0..150).unwrap().into_coo::<f64, u32>().unwrap().same_as(&x.slice(ndarray::s![..150, ..]).unwrap()));
    assert!(part(350..450).unwrap_err().to_string().contains("row group 0, column `values`: a page: its checksum"));
}

/// As an earlier version wrote it, or another program that keeps what a file says of itself.
#[test]
fn a_file_without_checksums_is_read_and_told_of() {
    let folder = Folder::new("unchecked");
    let (path, x) = (folder.path("x.parquet"), matrix());
    write(&path, &x, &WriteOptions::default()).unwrap();
    let explained = || {
        let x = scan::<f64, u32>(&path, &ReadOptions::default()).unwrap();
        x.sum(0).on(Chunks::memory(1 << 20)).explain().unwrap()
    };
    let (bytes, right) = (fs::read(&path).unwrap(), asked(&path, &[OF_ALL, OF_TWO_AXES]));
    assert!(!explained().contains("checksum"), "{}", explained());
    fs::write(&path, unchecked(&bytes)).unwrap();
    assert!(explained().contains("x.parquet\", without checksums of its pages: float64"), "{}", explained());
    for (name, question, right) in &right {
        assert!(question(&path).unwrap() == *right, "{name}");
    }
    // A file without only the checksum of its footer is damaged.
    let mut damaged = bytes.clone();
    damaged[footer_mark(&bytes)] = b'L';
    fs::write(&path, damaged).unwrap();
    for (name, question, _) in &right {
        let error = question(&path).unwrap_err().to_string();
        assert!(error.contains("the header of a page: its checksum"), "{name}: {error}");
    }
}

/// The CRC-32 of bytes.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    })
}

/// A checksum as page headers have it.
fn in_header(crc: u32) -> Vec<u8> {
    let signed = crc as i32;
    let mut left = ((signed << 1) ^ (signed >> 31)) as u32;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// A file without checksums of ours, with another value in a page that has the checksum of the page then.
fn with_another_value(bytes: &[u8], values: &[f64]) -> Vec<u8> {
    let page: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let find = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).position(|window| window == part).unwrap();
    let (mut bytes, at, before) = (unchecked(bytes), find(bytes, &page), in_header(crc(&page)));
    // Numbers in headers are as long as they need to be.
    let (changed, crc) = (1_u8..)
        .find_map(|change| {
            let mut changed = page.clone();
            changed[8] ^= change;
            let crc = in_header(crc(&changed));
            (crc.len() == before.len()).then_some((changed, crc))
        })
        .unwrap();
    let header = at - 200 + find(&bytes[at - 200..at], &before);
    bytes[header..header + crc.len()].copy_from_slice(&crc);
    bytes[at..at + changed.len()].copy_from_slice(&changed);
    bytes
}

/// Whatever reads all entries compares them with the hash that the file keeps of them, if no checksum does.
#[test]
fn ranges_of_all_rows_are_compared_with_the_hash_of_the_file() {
    let folder = Folder::new("hash");
    let (path, x) = (folder.path("x.parquet"), matrix().slice(ndarray::s![..150, ..]).unwrap());
    write(&path, &x, &WriteOptions::default().compression(Compression::None)).unwrap();
    let right = asked(&path, &[OF_ALL]);
    fs::write(&path, with_another_value(&fs::read(&path).unwrap(), x.values())).unwrap();
    for (name, question, _) in &right {
        let error = question(&path).unwrap_err().to_string();
        assert!(error.contains("the entries: their checksum"), "{name}: {error}");
    }
    // The entries that an engine reads have the same name in the error.
    let error = OF_ALL[1].1(&path).unwrap_err().to_string();
    assert!(error.contains("x.parquet: the entries"), "{error}");
}

/// A folder whose manifest says that all parts have checksums has no others.
#[test]
fn a_part_without_checksums_is_not_the_one_that_was_written() {
    let folder = Folder::new("unchecked-part");
    let (place, x) = (folder.path("x/"), matrix());
    write(&place, &x, &WriteOptions::default().group_entries(GROUP).part_entries(GROUP)).unwrap();
    let part = place.join("part-00001.parquet");
    fs::write(&part, unchecked(&fs::read(&part).unwrap())).unwrap();
    for (name, question, ..) in [OF_ALL, OF_TWO_AXES].concat() {
        match question(&place) {
            Err(error) => assert!(error.to_string().contains("it does not have the checksums"), "{name}: {error}"),
            // The rows of this part are not needed.
            Ok(_) => assert_eq!(name, "slice"),
        }
    }
}

/// Tables of others have them of the bytes of their pages, if of anything.
#[test]
fn checksums_of_pages_are_compared_whoever_wrote_them() {
    let (x, mut theirs) = (matrix(), Vec::new());
    let any = AnyTensor::from(x.with_index::<u64>().unwrap());
    write_to(&mut theirs, FileFormat::Parquet, &any, &WriteOptions::default().compression(Compression::None)).unwrap();
    // Nothing of ours stays but the columns.
    for word in [&b"lacuna"[..], b"binsparse"] {
        let places: Vec<usize> = (0..theirs.len()).filter(|&at| theirs[at..].starts_with(word)).collect();
        places.into_iter().for_each(|at| theirs[at] = b'X');
    }
    let mut options = ReadOptions::default();
    options.shape = Some([450, 200].into());
    let read = |bytes: &[u8]| read_from(bytes, FileFormat::Parquet, &options);
    assert!(read(&theirs).unwrap().into_coo::<f64, u32>().unwrap().same_as(&x));
    let (mut state, mut told) = (11, 0);
    for _ in 0..60 {
        let mut damaged = theirs.clone();
        // Behind the coordinates nearly all is values.
        let at = 100_000 + random(&mut state, theirs.len() - 110_000);
        damaged[at] ^= 1 << random(&mut state, 8);
        match read(&damaged) {
            Err(Error::Format { message, .. }) if message.starts_with("a page: its checksum does not match") => {
                told += 1;
            }
            Err(_) => {}
            Ok(found) => panic!("byte {at}: {found:?}"),
        }
    }
    assert!(told > 50, "{told}");
}
