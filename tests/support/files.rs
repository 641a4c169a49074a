//! The promises of the readers for any bytes. The fuzz targets run these checks, and so does the replay of their
//! corpus.

use std::io::{Cursor, Read, Write};

use lacuna::Error;
#[cfg(feature = "parquet")]
use lacuna::io::Dataset;
use lacuna::io::{AnyTensor, FileFormat, ReadOptions, WriteOptions, read_from, write_to};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A target: its name, the format that it reads, and the file that its bytes stand for.
pub type Target = (&'static str, FileFormat, fn(&[u8]) -> Vec<u8>);

/// The targets that read files.
pub const TARGETS: &[Target] = &[
    ("read_mtx", FileFormat::MatrixMarket, <[u8]>::to_vec),
    ("read_tns", FileFormat::Tns, <[u8]>::to_vec),
    ("read_npy", FileFormat::Npy, <[u8]>::to_vec),
    ("read_npz", FileFormat::Npz, archive_of),
    #[cfg(feature = "parquet")]
    ("read_parquet", FileFormat::Parquet, <[u8]>::to_vec),
];

/// Runs the target of that name on one input.
pub fn run_target(name: &str, data: &[u8]) {
    let (_, format, file_of) = TARGETS.iter().find(|(target, ..)| *target == name).expect("a target of that name");
    let file = file_of(data);
    reads_alike_in_pieces(&file, *format);
    read_and_write_back(&file, *format);
}

/// Reads `data` as a table whose columns are found by their names.
#[cfg(feature = "parquet")]
pub fn read_plain_table(data: &[u8]) {
    for rank in [1, 2] {
        let mut options = ReadOptions::default();
        options.shape = Some(vec![9; rank].into());
        if let Ok(tensor) = read_from(data, FileFormat::Parquet, &options) {
            assert!(tensor.shape().iter().all(|&length| length == 9) && tensor.rank() == rank);
        }
    }
}

/// Reads what `data` makes of a folder of tables: changes to its manifest, whose checksum is made right again, or a
/// manifest of its own. All at once and piece by piece give the same, or both refuse.
#[cfg(feature = "parquet")]
pub fn read_folder(data: &[u8]) {
    let folder = FOLDER.get_or_init(Folder::new);
    let manifest = if data.starts_with(b"{") { data.to_vec() } else { folder.changed(data) };
    std::fs::write(folder.path.join("_lacuna.json"), manifest).expect("a folder that can be written to");
    read_in_pieces(&folder.path);
}

/// Reads `data` as a file all at once and piece by piece.
#[cfg(feature = "parquet")]
pub fn read_table_in_pieces(data: &[u8]) {
    let path = FOLDER.get_or_init(Folder::new).path.join("table.parquet");
    std::fs::write(&path, data).expect("a folder that can be written to");
    read_in_pieces(&path);
}

#[cfg(feature = "parquet")]
fn read_in_pieces(path: &std::path::Path) {
    let options = ReadOptions::default();
    let whole = lacuna::io::read(path, &options);
    let Ok(dataset) = Dataset::open(path, &options) else {
        return assert!(!path.is_dir() || whole.is_err(), "{whole:?}");
    };
    let pieces: lacuna::Result<Vec<AnyTensor>> = dataset.pieces(500).collect();
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            let mut from = 0;
            for piece in pieces {
                // The entries are compared by their numbers.
                from += assert_entries(&whole, &piece, from);
            }
            assert_eq!(from, whole.nnz());
        }
        (Ok(whole), Err(error)) => panic!("{error:?}, but {whole:?}"),
        (Err(Error::TooLarge { .. }), _) | (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => panic!("the pieces are read, but not the whole: {error:?}"),
    }
}

/// Compares the entries of a piece with those of the whole from that number on, and tells how many they are.
#[cfg(feature = "parquet")]
fn assert_entries(whole: &AnyTensor, piece: &AnyTensor, from: usize) -> usize {
    assert!(piece.shape() == whole.shape() && piece.fill().to_string() == whole.fill().to_string());
    lacuna::dispatch_dtype!(whole.dtype(), T => {
        let [whole, piece] = [whole, piece].map(|any| any.clone().into_coo::<T, u64>().expect("its own type"));
        for at in 0..piece.nnz() {
            assert_eq!(lacuna::Pattern::coords_of(piece.pattern(), at), lacuna::Pattern::coords_of(whole.pattern(), from + at));
            let bytes = |value: T| {
                let mut bytes = Vec::new();
                lacuna::io::FileElement::to_bytes(value, &mut bytes);
                bytes
            };
            assert_eq!(bytes(piece.values()[at]), bytes(whole.values()[from + at]));
        }
    }, else => panic!("no such type"));
    piece.nnz()
}

/// A tensor in three parts, and the manifest of it.
#[cfg(feature = "parquet")]
struct Folder {
    path: std::path::PathBuf,
    manifest: Vec<u8>,
}

#[cfg(feature = "parquet")]
static FOLDER: std::sync::OnceLock<Folder> = std::sync::OnceLock::new();

#[cfg(feature = "parquet")]
impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("lacuna-fuzz-{}", std::process::id()));
        let coords = vec![(0..9).collect(), (0..9).map(|at| at % 4).collect()];
        let x = lacuna::CooTensor::new([9, 4], coords, (0..9).map(f64::from).collect(), 0.5).expect("entries in order");
        let mut options = WriteOptions::default();
        (options.group_entries, options.part_entries) = (Some(2), Some(4));
        lacuna::io::write(path.join(""), &x, &options).expect("a folder that can be written to");
        let manifest = std::fs::read(path.join("_lacuna.json")).expect("it was written");
        Folder { path, manifest }
    }

    /// The manifest with a byte changed for each three of `data`, and the checksum of what stands there then.
    fn changed(&self, data: &[u8]) -> Vec<u8> {
        let mut manifest = self.manifest.clone();
        for change in data.chunks_exact(3).take(8) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % manifest.len();
            manifest[at] = change[2];
        }
        let text = String::from_utf8_lossy(&manifest).into_owned();
        let ends = text.find("\"version\":1").map(|at| at + 11).zip(text.find(",\n\"checksum\""));
        match ends.filter(|(start, end)| start < end) {
            Some((start, end)) => {
                let hash = checksum(&text.as_bytes()[start..end]);
                format!("{},\n\"checksum\":\"{hash:016x}\"}}\n", &text[..end]).into_bytes()
            }
            None => manifest,
        }
    }
}

/// The checksum of a text, as the documents have it: `docs/file-formats.md`.
#[cfg(feature = "parquet")]
pub fn checksum(text: &[u8]) -> u64 {
    let mix = |mut number: u64| {
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    };
    let words = text.chunks(8).map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    let words = words.chain([text.len() as u64]);
    words.fold(0x9e37_79b9_7f4a_7c15, |hash, word| mix(hash ^ word))
}

/// Reads `data` in one format; what it says is a tensor is written and read again, and must be the same.
fn read_and_write_back(data: &[u8], format: FileFormat) {
    let Ok(tensor) = read(data, format) else { return };
    let mut written = Vec::new();
    match write_to(&mut written, format, &tensor, &WriteOptions::default()) {
        Ok(()) => {
            let again = read(&written[..], format).expect("what was written can be read");
            assert!(again.same_as(&tensor), "{again:?} is not {tensor:?}");
        }
        Err(error) => assert!(matches!(error, Error::NotRepresentable { .. } | Error::TooLarge { .. }), "{error}"),
    }
}

/// A stream that arrives in pieces is the same file, down to the words of the error.
fn reads_alike_in_pieces(data: &[u8], format: FileFormat) {
    match (read(data, format), read(Pieces(data), format)) {
        (Ok(whole), Ok(pieces)) => assert!(pieces.same_as(&whole), "{pieces:?} is not {whole:?}"),
        (Err(whole), Err(pieces)) => assert_eq!(pieces.to_string(), whole.to_string()),
        (whole, pieces) => panic!("{pieces:?} is not {whole:?}"),
    }
}

fn read(reader: impl Read, format: FileFormat) -> lacuna::Result<AnyTensor> {
    read_from(reader, format, &ReadOptions::default())
}

/// At most three bytes at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(3);
        self.0.read(&mut buffer[..room])
    }
}

const MEMBERS: [&str; 10] =
    ["format", "shape", "data", "row", "col", "indices", "indptr", "coords", "fill_value", "compressed_axes"];
const DESCRS: [&str; 12] = ["<i8", "<i4", "|u1", "<u8", "<f8", "<f4", "|b1", "<c16", "|S4", "<U4", ">i8", "|O"];

/// An archive that passes its own check sums, whatever the bytes: changes at random to a real one do not get past
/// them. Bytes that start like a real one are taken as they are.
///
/// A member is its name, element type, layout and lengths, then the length of its data and the data.
pub fn archive_of(data: &[u8]) -> Vec<u8> {
    if data.starts_with(b"PK") {
        return data.to_vec();
    }
    let mut rest = data.iter().copied();
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    while let (Some(name), Some(descr), Some(layout)) = (rest.next(), rest.next(), rest.next()) {
        let name = format!("{}.npy", MEMBERS[usize::from(name) % MEMBERS.len()]);
        let lengths: Vec<u64> = rest.by_ref().take(usize::from(layout & 3)).map(length_of).collect();
        let mut member = header_of(DESCRS[usize::from(descr) % DESCRS.len()], layout & 4 != 0, &lengths);
        // Few members need a decoder for what they can break, and an encoder takes longer than all else.
        let method = if layout & 0xf0 == 0xf0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let bytes = rest.next().map_or(0, usize::from);
        member.extend(rest.by_ref().take(bytes));
        // A name that is there already is refused: the first member of it counts.
        if zip.start_file(name, SimpleFileOptions::default().compression_method(method)).is_ok() {
            zip.write_all(&member).expect("memory takes all");
        }
    }
    zip.finish().expect("memory takes all").into_inner()
}

fn length_of(byte: u8) -> u64 {
    if byte < 250 { byte.into() } else { u64::MAX >> (255 - byte) }
}

fn header_of(descr: &str, fortran: bool, lengths: &[u64]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let lengths: String = lengths.iter().map(|length| format!("{length},")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({lengths}), }}\n");
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}
