//! Tables in Parquet: what is written reads back, what others write reads as they meant it, and whatever the bytes are,
//! the answer is a tensor or an error.

#![cfg(feature = "parquet")]

use lacuna::io::{AnyTensor, Compression, FileFormat, ReadOptions, WriteOptions, read_from, write_to};
use lacuna::{CooTensor, DType, Error, Result};
use parquet::basic::{Compression as Codec, Encoding, Repetition, Type as Kind};
use parquet::column::writer::ColumnWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;
use std::sync::Arc;

use crate::io_flips::unchecked;

fn tensor() -> AnyTensor {
    let x = CooTensor::new([3, 4], vec![vec![0, 0, 2], vec![1, 3, 0]], vec![1.5f64, -2.0, f64::NAN], -0.0).unwrap();
    x.with_index::<u64>().unwrap().into()
}

fn written(x: &AnyTensor) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, FileFormat::Parquet, x, &WriteOptions::default()).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<AnyTensor> {
    read_from(bytes, FileFormat::Parquet, &ReadOptions::default())
}

fn options(change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
    let mut options = ReadOptions::default();
    change(&mut options);
    options
}

/// Place and message of a format error.
fn refused(found: Result<AnyTensor>) -> String {
    match found {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        other => panic!("not a format error: {other:?}"),
    }
}

/// Returns whether two tensors have the same bits, including the bits of NaN.
fn same_bits(left: &AnyTensor, right: &AnyTensor) -> bool {
    lacuna::dispatch_dtype!(left.dtype(), T => {
        let [left, right] = [left, right].map(|any| any.clone().into_coo::<T, u64>().unwrap());
        let bits = |x: &CooTensor<T, u64>| {
            [x.fill()].iter().chain(x.values()).map(|value| bytes_of(*value)).collect::<Vec<_>>()
        };
        left.same_as(&right) && bits(&left) == bits(&right)
    }, else => false)
}

fn bytes_of<T: lacuna::io::FileElement>(value: T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.to_bytes(&mut bytes);
    bytes
}

/// Every element type, with values at its ends.
#[test]
fn every_type_keeps_its_bits() {
    fn of<T: lacuna::io::FileElement>(values: &[&[u8]]) -> AnyTensor {
        let values: Vec<T> = values.iter().map(|bytes| T::from_bytes(bytes, false).unwrap()).collect();
        let (count, fill) = (values.len() as u64, values[values.len() - 1]);
        CooTensor::<T, u64>::from(
            lacuna::Tensor::from_parts(
                lacuna::CooPattern::new(
                    [count as usize, 3],
                    values.len(),
                    vec![(0..count).collect(), vec![2; values.len()]],
                )
                .unwrap(),
                values,
                fill,
            )
            .unwrap(),
        )
        .into()
    }
    for dtype in DType::ALL {
        let any = lacuna::dispatch_dtype!(dtype, T => {
            let size = size_of::<T>();
            if dtype == DType::Bool {
                of::<T>(&[&[0], &[1], &[1]])
            } else {
                // All ones is a NaN with a payload, 0x80 in the last byte the least integer or -0.0.
                let [zeros, ones] = [0u8, 255].map(|byte| vec![byte; size]);
                let (mut least, mut payload) = (zeros.clone(), ones.clone());
                least[size - 1] = 0x80;
                payload[0] = 0x5a;
                let mixed: Vec<u8> = (1..=size as u8).collect();
                of::<T>(&[&zeros, &ones, &least, &mixed, &payload])
            }
        }, else => continue);
        for any in [any.clone().into_format(lacuna::io::Format::Csr).unwrap(), any] {
            for compression in [Compression::Usual, Compression::None] {
                let mut options = WriteOptions::default();
                options.compression = compression;
                let mut bytes = Vec::new();
                write_to(&mut bytes, FileFormat::Parquet, &any, &options).unwrap();
                let again = read(&bytes).unwrap();
                assert_eq!(again.dtype(), dtype);
                assert!(same_bits(&any, &again), "{dtype}: {again:?} is not {any:?}");
            }
        }
    }
}

#[test]
fn shapes_of_every_kind() {
    let vast = CooTensor::<i8, u64>::from(
        lacuna::Tensor::from_parts(
            lacuna::CooPattern::new([usize::MAX, 2], 2, vec![vec![5, u64::MAX - 1], vec![1, 0]]).unwrap(),
            vec![1i8, -1],
            0,
        )
        .unwrap(),
    );
    let scalar = |stored| {
        let mut triplets = lacuna::Triplets::<u8, u64>::new_with_index([0usize; 0]).unwrap();
        if stored {
            triplets.push(&[], 7).unwrap();
        }
        triplets.with_fill(3).coalesce(lacuna::Duplicates::Error).unwrap()
    };
    let empty = |shape: &[usize]| lacuna::Triplets::<f32, u64>::new_with_index(shape).unwrap();
    let empty = |shape: &[usize]| empty(shape).coalesce(lacuna::Duplicates::Error).unwrap();
    let vector = CooTensor::new([9], vec![vec![0, 8]], vec![true, false], true).unwrap().with_index::<u64>().unwrap();
    for any in [
        AnyTensor::from(vast),
        scalar(true).into(),
        scalar(false).into(),
        empty(&[3]).into(),
        empty(&[0, 4]).into(),
        empty(&[1 << 40, 1 << 40, 7]).into(),
        vector.into(),
        tensor(),
    ] {
        let again = read(&written(&any)).unwrap();
        assert!(same_bits(&any, &again), "{again:?} is not {any:?}");
        let header = lacuna::io::read_header(saved(&written(&any)).path(), &ReadOptions::default()).unwrap();
        assert_eq!((header.shape(), header.dtype(), header.nnz()), (any.shape(), any.dtype(), 0));
    }
}

/// A file that is removed.
struct Saved(std::path::PathBuf);

impl Saved {
    fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn saved(bytes: &[u8]) -> Saved {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NAMES: AtomicUsize = AtomicUsize::new(0);
    let number = NAMES.fetch_add(1, Ordering::Relaxed);
    // The extension is another one: the first bytes tell.
    let path = std::env::temp_dir().join(format!("lacuna-parquet-{}-{number}.bin", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    Saved(path)
}

/// A number that the ones beside it tell nothing of.
fn value_at(entry: u32) -> i32 {
    entry.wrapping_mul(2_654_435_761) as i32
}

/// Several row groups and many pages.
fn large() -> AnyTensor {
    let count = (1u32 << 20) + 70_000;
    let coords = vec![(0..count).map(|at| at / 1000).collect(), (0..count).map(|at| at % 1000 * 3).collect()];
    let values = (0..count).map(value_at).collect();
    CooTensor::new([5000, 3000], coords, values, 0).unwrap().with_index::<u64>().unwrap().into()
}

/// The crate's own reader, which shares nothing with ours, sees the same rows and what is said of them.
#[test]
fn another_reader_sees_the_same_table() {
    let bytes = written(&large());
    assert!(same_bits(&read(&bytes).unwrap(), &large()));
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let metadata = file.metadata();
    let rows: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [1 << 20, 70_000]);
    let sorted = metadata.row_group(1).sorting_columns().unwrap();
    assert_eq!(sorted.iter().map(|column| column.column_idx).collect::<Vec<_>>(), [0, 1]);
    assert!(metadata.row_group(0).column(0).column_index_offset().is_some());
    let keys = metadata.file_metadata().key_value_metadata().unwrap();
    let key = |name: &str| keys.iter().find(|key| key.key == name).unwrap().value.clone().unwrap();
    let said: serde_json::Value = serde_json::from_str(&key("lacuna")).unwrap();
    assert_eq!(
        (said["version"].as_u64(), said["dtype"].as_str(), said["fill"].as_str()),
        (Some(1), Some("int32"), Some("00000000"))
    );
    assert_eq!((said["first"][1].as_u64(), said["last"][0].as_u64()), (Some(0), Some(1118)));
    let binsparse: serde_json::Value = serde_json::from_str(&key("binsparse")).unwrap();
    assert_eq!(binsparse["binsparse"]["shape"], serde_json::json!([5000, 3000]));
    let row = file.get_row_iter(None).unwrap().nth((1 << 20) + 5).unwrap().unwrap();
    let fields: Vec<Field> = row.get_column_iter().map(|(_, field)| field.clone()).collect();
    assert_eq!(fields, [Field::UInt(1048), Field::UInt(581 * 3), Field::Int(value_at((1 << 20) + 5))]);
}

/// A box of every kind is the slice of the whole, and a small one is found without reading the file.
#[test]
fn a_box_is_the_slice_of_the_whole_and_leaves_out_what_it_can() {
    use lacuna::io::{Progress, read_slice};
    use std::sync::atomic::{AtomicU64, Ordering};
    let bytes = written(&large());
    let file = saved(&bytes);
    let whole = large().into_coo::<i32, u64>().unwrap();
    for (ranges, most) in [
        ([700..701, 0..3000], 4),
        ([1040..1060, 1000..1010], 3),
        ([0..5000, 0..3000], 1),
        ([4000..5000, 0..3000], 4),
        ([5..5, 0..1], 4),
        ([0..5000, 2994..3000], 1),
    ] {
        let seen = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&seen);
        let options = options(|options| {
            options.progress = Some(Progress::new(move |bytes| told.store(bytes, Ordering::Relaxed)));
        });
        let part = read_slice(file.path(), &ranges, &options).unwrap().into_coo::<i32, u64>().unwrap();
        let [rows, columns] = ranges.clone();
        let expected = whole.slice(ndarray::s![rows, columns]).unwrap();
        assert!(part.same_as(&expected), "{ranges:?}: {part:?}");
        let read = seen.load(Ordering::Relaxed);
        println!("{ranges:?}: {read} of {} bytes", bytes.len());
        assert!(read * most <= bytes.len() as u64 * if most == 1 { 2 } else { 1 }, "{ranges:?}: {read}");
    }
    let default = ReadOptions::default();
    let one_axis = std::slice::from_ref(&(0..1));
    assert!(matches!(read_slice(file.path(), one_axis, &default), Err(Error::RankMismatch { .. })));
    assert!(matches!(read_slice(file.path(), &[0..1, 0..3001], &default), Err(Error::SliceOutOfRange { axis: 1, .. })));
    let plain = saved(&Plain::default().bytes(&ROWS, None));
    let part = read_slice(plain.path(), &[0..4, 1..4], &named()).unwrap().into_coo::<f64, u64>().unwrap();
    assert_eq!((part.entries(), part.shape().to_vec()), (vec![(vec![0, 2], 5.0)], vec![4, 3]));
}

/// A table that another program could have written.
struct Plain {
    codec: Codec,
    encoding: Option<Encoding>,
    version: WriterVersion,
    repetition: Repetition,
    /// The rows of a page.
    page: usize,
    keys: Vec<KeyValue>,
}

impl Default for Plain {
    fn default() -> Self {
        let (version, repetition) = (WriterVersion::PARQUET_1_0, Repetition::OPTIONAL);
        Plain { codec: Codec::UNCOMPRESSED, encoding: None, version, repetition, page: 20_000, keys: Vec::new() }
    }
}

impl Plain {
    /// Rows of `user`, `item` and `rating`; `missing` is a row without a rating.
    fn bytes(&self, rows: &[(i64, i32, f64)], missing: Option<usize>) -> Vec<u8> {
        let field = |name: &str, kind| {
            Arc::new(Type::primitive_type_builder(name, kind).with_repetition(self.repetition).build().unwrap())
        };
        let fields = vec![field("user", Kind::INT64), field("item", Kind::INT32), field("rating", Kind::DOUBLE)];
        let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build().unwrap());
        let mut properties = WriterProperties::builder()
            .set_compression(self.codec)
            .set_writer_version(self.version)
            .set_data_page_row_count_limit(self.page)
            .set_data_page_size_limit(usize::MAX)
            .set_write_batch_size(self.page.min(1 << 10));
        if let Some(encoding) = self.encoding {
            properties = properties.set_dictionary_enabled(false).set_encoding(encoding);
        }
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build())).unwrap();
        let mut group = file.next_row_group().unwrap();
        let levels: Vec<i16> = (0..rows.len()).map(|row| i16::from(missing != Some(row))).collect();
        let levels = (self.repetition == Repetition::OPTIONAL).then_some(&levels[..]);
        let all = vec![1; rows.len()];
        let ones = levels.map(|_| &all[..]);
        while let Some(mut column) = group.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let users: Vec<i64> = rows.iter().map(|row| row.0).collect();
                    writer.write_batch(&users, ones, None).unwrap()
                }
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let items: Vec<i32> = rows.iter().map(|row| row.1).collect();
                    writer.write_batch(&items, ones, None).unwrap()
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let kept = rows.iter().enumerate().filter(|(row, _)| missing != Some(*row));
                    let ratings: Vec<f64> = kept.map(|(_, row)| row.2).collect();
                    writer.write_batch(&ratings, levels, None).unwrap()
                }
                _ => unreachable!(),
            };
            column.close().unwrap();
        }
        group.close().unwrap();
        self.keys.iter().for_each(|key| file.append_key_value_metadata(key.clone()));
        file.into_inner().unwrap()
    }
}

fn named() -> ReadOptions {
    options(|options| {
        options.shape = Some([50, 4].into());
        options.columns = Some(["user", "item", "rating"].map(String::from).into());
    })
}

fn read_plain(bytes: &[u8]) -> Result<AnyTensor> {
    read_from(bytes, FileFormat::Parquet, &named())
}

const ROWS: [(i64, i32, f64); 4] = [(49, 1, 2.0), (3, 0, 4.5), (3, 0, -1.0), (0, 3, 5.0)];

#[test]
fn tables_of_others_in_every_encoding() {
    let expected = [(vec![0, 3], 5.0), (vec![3, 0], 3.5), (vec![49, 1], 2.0)];
    let codecs = [Codec::UNCOMPRESSED, Codec::ZSTD(Default::default())];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for repetition in [Repetition::REQUIRED, Repetition::OPTIONAL] {
            for codec in codecs {
                for encoding in [None, Some(Encoding::PLAIN), Some(Encoding::BYTE_STREAM_SPLIT)] {
                    let bytes = Plain { codec, encoding, version, repetition, ..Plain::default() }.bytes(&ROWS, None);
                    let x = read_plain(&bytes).unwrap().into_coo::<f64, u32>().unwrap();
                    assert_eq!(x.entries(), expected, "{codec:?} {encoding:?} {version:?} {repetition:?}");
                }
            }
        }
    }
}

/// Small pages are read several at once and large ones one by one, with buffers that go from one to the next: the rows
/// come in order whatever the sizes, the codec and the number of threads.
#[test]
fn pages_of_all_sizes_are_read_in_order() {
    let rows: Vec<(i64, i32, f64)> = (0..150_000).map(|row| (row / 3000, (row % 3000) as i32, row as f64)).collect();
    let options = options(|options| {
        options.shape = Some([50, 3000].into());
        options.columns = Some(["user", "item", "rating"].map(String::from).into());
    });
    for (page, codec) in
        [70_000, 300, 150_000].into_iter().zip([Codec::ZSTD(Default::default()), Codec::SNAPPY].into_iter().cycle())
    {
        let bytes = Plain { codec, encoding: Some(Encoding::PLAIN), page, ..Plain::default() }.bytes(&rows, None);
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
        let pages = file.get_row_group(0).unwrap().get_column_page_reader(2).unwrap().count();
        assert!(if page == 300 { pages > 100 } else { pages <= 3 }, "{page}: {pages}");
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let x = pool.install(|| read_from(&bytes[..], FileFormat::Parquet, &options)).unwrap();
            let x = x.into_coo::<f64, u64>().unwrap();
            assert!(x.values().iter().zip(0..).all(|(&value, row)| value == f64::from(row)), "{page}, {threads}");
            assert_eq!((x.nnz(), x.coords(0)[149_999], x.coords(1)[149_999]), (150_000, 49, 2999));
        }
    }
}

#[test]
fn what_a_table_does_not_say_must_be_asked_for() {
    let bytes = Plain::default().bytes(&ROWS, None);
    let message = refused(read(&bytes));
    assert!(message.contains("name the shape with --shape"), "{message}");
    let shape = options(|options| options.shape = Some([50, 4].into()));
    let message = refused(read_from(&bytes[..], None, &shape));
    assert_eq!(message, "column `indices_0`: is missing; the first columns are `user`, `item`, `rating`");
    let mut short = named();
    short.columns = Some(vec!["user".into()]);
    assert!(
        refused(read_from(&bytes[..], None, &short))
            .contains("1 names, expected 2 for the axes and one for the values")
    );
    let mut swapped = named();
    swapped.columns = Some(["rating", "item", "user"].map(String::from).into());
    assert!(refused(read_from(&bytes[..], None, &swapped)).contains("it does not hold coordinates"));
    let message = refused(read_plain(&Plain::default().bytes(&ROWS, Some(1))));
    assert!(message.contains("column `rating`: a value is missing (null)"), "{message}");
    let negative = read_plain(&Plain::default().bytes(&[(0, 1, 1.0), (0, -1, 1.0)], None)).unwrap_err();
    assert_eq!(negative, Error::NegativeIndex { index: -1, axis: 1, entry: 1 });
    let outside = refused(read_plain(&Plain::default().bytes(&[(0, 4, 1.0)], None)));
    assert_eq!(outside, "the entries: index 4 on axis 1 is out of bounds for length 4, entry 0");
    let mut filled = named();
    filled.fill = Some("nan".into());
    assert!(read_from(&bytes[..], None, &filled).unwrap().into_coo::<f64, u32>().unwrap().fill().is_nan());
    let asked = read_from(&written(&tensor())[..], None, &options(|options| options.fill = Some("1".into())));
    assert!(refused(asked).contains("the file has its own fill"));
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_error() {
    let bytes = written(&tensor());
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "{end} of {}", bytes.len());
    }
    for start in 1..bytes.len().min(64) {
        assert!(read(&bytes[start..]).is_err());
    }
}

/// A bit that is damaged is told, but for one that no reader needs.
#[test]
fn each_changed_bit_is_an_error_or_changes_nothing() {
    for x in [tensor(), read(&written(&tensor())).unwrap().cast(DType::Float32).unwrap()] {
        let bytes = written(&x);
        let mut harmless = 0;
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                if let Ok(read) = read(&damaged) {
                    harmless += 1;
                    assert!(same_bits(&read, &x), "byte {at}, bit {bit}: {read:?}");
                }
            }
        }
        println!("{harmless} of {} bits are harmless", 8 * bytes.len());
    }
}

/// The bytes of a file with `from` put as `to` everywhere, which is as long.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|&at| &bytes[at..at + from.len()] == from).collect();
    assert!(!places.is_empty(), "{}", String::from_utf8_lossy(from));
    places.iter().for_each(|&at| bytes[at..at + from.len()].copy_from_slice(to));
    bytes
}

#[test]
fn what_is_said_must_hold() {
    let bytes = unchecked(&written(&tensor()));
    for (from, to, expected) in [
        (
            "\"shape\":[3,4],\"d",
            "\"shape\":[2,4],\"d",
            "the entries: index 2 on axis 0 is out of bounds for length 2, entry 2",
        ),
        (
            "\"first\":[0,1]",
            "\"first\":[0,0]",
            "the entries: the first or the last entry differs from the description of the file",
        ),
        (
            "\"last\":[2,0]",
            "\"last\":[2,1]",
            "the entries: the first or the last entry differs from the description of the file",
        ),
        ("\"entries\":3", "\"entries\":4", "the entries: found 3 of 4"),
        ("\"version\":1", "\"version\":2", "key lacuna: its version is not 1; a later version of lacuna wrote it"),
        (
            "\"float64\",\"fill\"",
            "\"float32\",\"fill\"",
            "column `values`: it holds float64, but its description says float32",
        ),
        (
            "\"fill\":\"8000000000000000\"",
            "\"fill\":\"80000000000000 0\"",
            "key lacuna: its fill is not a value in hexadecimal digits",
        ),
        (
            "\"fill\":\"8000000000000000\"",
            "\"fill\":\"80000000000000\"  ",
            "key lacuna: its fill is not a value of type float64",
        ),
        ("\"entries_hash\":\"", "\"entries_hash\":\" ", "key lacuna: its entries_hash is invalid"),
        ("{\"version\":1", "{\"version\":[", "key lacuna: it is not JSON"),
    ] {
        if from.len() == to.len() {
            // Without the checksum, whose name is another one then.
            let unsigned = replaced(&bytes, b"\"checksum\"", b"\"checkzum\"");
            assert_eq!(refused(read(&replaced(&unsigned, from.as_bytes(), to.as_bytes()))), expected);
        }
    }
    let signed = "key lacuna: its checksum does not match its contents; the file is damaged";
    for (from, to) in
        [("\"shape\":[3,4]", "\"shape\":[3,5]"), ("\"fill\":\"80", "\"fill\":\"00"), ("\"last\":[2", "\"last\":[1")]
    {
        assert_eq!(refused(read(&replaced(&bytes, from.as_bytes(), to.as_bytes()))), signed);
    }
    let bytes = replaced(&bytes, b"\"checksum\"", b"\"checkzum\"");
    let hash = bytes.windows(16).position(|word| word == b"\"entries_hash\":\"").unwrap() + 16;
    let mut damaged = bytes.clone();
    damaged[hash] = if damaged[hash] == b'0' { b'1' } else { b'0' };
    assert!(refused(read(&damaged)).starts_with("the entries: their checksum differs from the description"));
}

/// Memory was measured by the entries that are said of a file, and taken by the rows in it: a few kilobytes that said
/// one entry could ask for gigabytes. Nothing is read of such a file.
#[test]
fn a_file_with_other_rows_than_are_said_is_not_opened() {
    let bytes = replaced(&unchecked(&written(&tensor())), b"\"checksum\"", b"\"checkzum\"");
    let bytes = replaced(&bytes, b"\"entries\":3", b"\"entries\":1");
    let path = std::env::temp_dir().join(format!("lacuna-rows-{}.parquet", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let refused = lacuna::io::Dataset::open(&path, &ReadOptions::default()).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(refused.ends_with("the entries: found 3 of 1"), "{refused}");
}

/// Another program wrote the rows of a file in another order, and kept what the file said of itself.
#[test]
fn rows_out_of_order_are_refused_in_a_file_that_promises_order() {
    let x = CooTensor::new([50], vec![vec![2, 7]], vec![1f64, 2.0], 0.0).unwrap().with_index::<u64>().unwrap();
    let ours = SerializedFileReader::new(bytes::Bytes::from(written(&x.into()))).unwrap();
    let keys = ours.metadata().file_metadata().key_value_metadata().unwrap().clone();
    let read = |rows: &[(i64, i32, f64)]| {
        let bytes = Plain { keys: keys.clone(), ..Plain::default() }.bytes(rows, None);
        let mut options = ReadOptions::default();
        options.columns = Some(["user", "rating"].map(String::from).into());
        read_from(&bytes[..], FileFormat::Parquet, &options)
    };
    assert_eq!(read(&[(2, 0, 1.0), (7, 0, 2.0)]).unwrap().nnz(), 2);
    let error = refused(read(&[(7, 0, 2.0), (2, 0, 1.0)]));
    assert!(error.starts_with("the entries: "), "{error}");
}

#[test]
fn gzip_and_streams() {
    let bytes = written(&tensor());
    assert!(same_bits(&read_from(&bytes[..], None, &ReadOptions::default()).unwrap(), &tensor()));
    assert_eq!(FileFormat::from_path("x.parquet"), Some(FileFormat::Parquet));
    assert_eq!(FileFormat::from_path("x.parquet.gz"), None);
    let endless = std::io::repeat(7);
    assert!(refused(read_from(endless, FileFormat::Parquet, &ReadOptions::default())).contains("PAR1"));
    let small = options(|options| options.max_memory = Some(50));
    assert!(matches!(read_from(&bytes[..], None, &small), Err(Error::TooLarge { limit: 50, .. })));
}

/// Tables of another program, in all its codecs and encodings, changed at some places: an error, or a tensor of the
/// shape asked for. `LACUNA_ROUNDS` asks for more of them.
#[test]
fn changed_tables_of_others_are_errors_or_tensors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/read_parquet.zip");
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let rounds = std::env::var("LACUNA_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap());
    let (mut state, mut read_as) = (7u64, [0usize; 2]);
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for at in 0..archive.len() {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_index(at).unwrap(), &mut bytes).unwrap();
        let asked = |rank: usize| options(|options| options.shape = Some(vec![9; rank].into()));
        let plain = archive.by_index(at).unwrap().name().unwrap().starts_with("plain_");
        let whole = [1, 2].map(|rank| read_from(&bytes[..], FileFormat::Parquet, &asked(rank)).is_ok());
        assert!(!plain || whole.contains(&true), "input {at}");
        for _ in 0..rounds {
            let mut changed = bytes.clone();
            for _ in 0..=random(3) {
                let place = random(changed.len());
                match random(4) {
                    0 => changed[place] ^= 1 << random(8),
                    1 => changed[place] = [0, 1, 127, 128, 255][random(5)],
                    2 => drop(changed.drain(place..(place + random(4)).min(changed.len()))),
                    _ => changed.insert(place, random(256) as u8),
                }
            }
            let rank = 1 + random(2);
            let found = read_from(&changed[..], FileFormat::Parquet, &asked(rank));
            read_as[usize::from(found.is_ok())] += 1;
            if let Ok(x) = found {
                assert!(x.rank() == rank && x.shape().iter().all(|&length| length == 9));
                assert!(same_bits(&read(&written(&x)).unwrap(), &x));
            }
        }
    }
    println!("{} errors, {} tensors", read_as[0], read_as[1]);
    assert!(read_as.iter().all(|&count| count > 0));
}
