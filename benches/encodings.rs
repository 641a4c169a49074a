//! What the encodings of Parquet cost: `cargo bench --features parquet --bench encodings` prints the table of
//! `docs/speed-log.md`. Real matrices are those of the folder that `LACUNA_SHARED_DATA` names.

#[allow(dead_code)]
mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use lacuna::io::{AnyTensor, Compression, FileFormat, ReadOptions, WriteOptions, read, write, write_to};
use lacuna::{CooTensor, DType, Duplicates, Tensor, Triplets};
use parquet::basic::{Compression as Codec, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use support::{Numbers, matrix};

/// Encodings of the coordinates and of the values, `None` for a dictionary, and a codec.
type Candidate = (Option<Encoding>, Option<Encoding>, Codec);

fn zstd(level: i32) -> Codec {
    Codec::ZSTD(ZstdLevel::try_new(level).unwrap())
}

fn candidates() -> Vec<Candidate> {
    use Encoding::{BYTE_STREAM_SPLIT as SPLIT, DELTA_BINARY_PACKED as DELTA, PLAIN};
    let default = zstd(3);
    vec![
        (Some(PLAIN), Some(PLAIN), Codec::UNCOMPRESSED),
        (Some(PLAIN), Some(PLAIN), default),
        (None, None, default),
        (Some(DELTA), Some(PLAIN), default),
        (Some(DELTA), None, default),
        (Some(DELTA), Some(SPLIT), Codec::UNCOMPRESSED),
        (Some(DELTA), Some(SPLIT), Codec::SNAPPY),
        (Some(DELTA), Some(SPLIT), zstd(1)),
        (Some(DELTA), Some(SPLIT), default),
        (Some(DELTA), Some(SPLIT), zstd(9)),
        (Some(DELTA), Some(DELTA), default),
    ]
}

fn name(encoding: Option<Encoding>) -> &'static str {
    match encoding {
        None => "dictionary",
        Some(Encoding::PLAIN) => "plain",
        Some(Encoding::DELTA_BINARY_PACKED) => "differences",
        Some(_) => "split",
    }
}

/// The least of several times.
fn least<R>(mut run: impl FnMut() -> R) -> f64 {
    let time = |_| {
        let start = Instant::now();
        drop(run());
        start.elapsed().as_secs_f64()
    };
    (0..7).map(time).fold(f64::INFINITY, f64::min)
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Input {
    name: String,
    any: AnyTensor,
    /// Coordinates, and the bits of the values.
    coords: Vec<Vec<u64>>,
    values: Vec<u64>,
}

impl Input {
    fn new(name: &str, any: AnyTensor) -> Input {
        fn columns<T: lacuna::Element>(x: &CooTensor<T, u64>, bits: impl Fn(T) -> u64) -> (Vec<Vec<u64>>, Vec<u64>) {
            let coords = (0..x.rank()).map(|axis| x.pattern().coords(axis).to_vec()).collect();
            (coords, x.values().iter().map(|&value| bits(value)).collect())
        }
        let (coords, values) = match any.dtype() {
            DType::Float64 => columns(&any.clone().into_coo().unwrap(), f64::to_bits),
            _ => columns(&any.clone().into_coo().unwrap(), |value: i64| value as u64),
        };
        Input { name: format!("{name}, {} entries", values.len()), any, coords, values }
    }

    /// Bytes, and nanoseconds of writing and of reading, for an entry.
    fn cell(&self, path: &std::path::Path, write: impl Fn()) -> String {
        let count = self.values.len() as f64;
        let wrote = least(&write);
        let bytes = std::fs::metadata(path).unwrap().len() as f64;
        let reading = least(|| read(path, &ReadOptions::default()).unwrap());
        let again = read(path, &ReadOptions::default()).unwrap();
        assert!(again.same_as(&self.any));
        let [wrote, reading] = [wrote, reading].map(|seconds| (seconds * 1e9 / count).round());
        format!("{:.2} / {wrote} / {reading}", bytes / count)
    }

    /// A table in those encodings, which says what ours says.
    fn encoded(&self, ours: &SerializedFileReader<std::fs::File>, (indices, values, codec): Candidate) -> Vec<u8> {
        let metadata = ours.metadata().file_metadata();
        let mut builder = WriterProperties::builder()
            .set_compression(codec)
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(20 << 10)
            .set_max_row_group_row_count(None);
        for (column, field) in metadata.schema_descr().columns().iter().enumerate() {
            let path = ColumnPath::new(vec![field.name().to_string()]);
            builder = match if column < self.coords.len() { indices } else { values } {
                Some(encoding) => builder.set_column_encoding(path, encoding),
                None => builder.set_column_dictionary_enabled(path, true),
            };
        }
        let schema = metadata.schema_descr().root_schema_ptr();
        let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(builder.build())).unwrap();
        let mut group = file.next_row_group().unwrap();
        for column in self.coords.iter().chain([&self.values]) {
            let mut target = group.next_column().unwrap().unwrap();
            match target.untyped() {
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let items: Vec<i32> = column.iter().map(|&item| item as i32).collect();
                    writer.write_batch(&items, None, None).unwrap()
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let items: Vec<i64> = column.iter().map(|&item| item as i64).collect();
                    writer.write_batch(&items, None, None).unwrap()
                }
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let items: Vec<f64> = column.iter().map(|&item| f64::from_bits(item)).collect();
                    writer.write_batch(&items, None, None).unwrap()
                }
                _ => unreachable!(),
            };
            target.close().unwrap();
        }
        group.close().unwrap();
        for key in metadata.key_value_metadata().unwrap() {
            file.append_key_value_metadata(key.clone());
        }
        file.into_inner().unwrap()
    }
}

/// Counts as of clicks: small integers, in rows of very different lengths.
fn counts(entries: usize) -> AnyTensor {
    let mut numbers = Numbers(7);
    let mut triplets = Triplets::<i64, u64>::new_with_index([100_000, 20_000]).unwrap();
    for _ in 0..entries {
        let row = numbers.below(100_000) * numbers.below(100_000) / 100_000;
        let value = 1 + (numbers.below(1 << 20) + 1).leading_zeros() as i64 - 43;
        triplets.push(&[row as usize, numbers.below(20_000) as usize], value).unwrap();
    }
    triplets.coalesce(Duplicates::First).unwrap().into()
}

/// The matrix, with values of all bits at random.
fn random(entries: usize) -> AnyTensor {
    let x = matrix(entries).with_index::<u64>().unwrap();
    let mut numbers = Numbers(3);
    let values = (0..x.nnz()).map(|_| (numbers.next() >> 11) as f64 / (1u64 << 53) as f64).collect();
    Tensor::from_parts(x.pattern().clone(), values, 0.0).unwrap().into()
}

fn inputs() -> Vec<Input> {
    let mut inputs = Vec::new();
    if let Some(folder) = std::env::var_os("LACUNA_SHARED_DATA").map(PathBuf::from) {
        for name in ["bcsstk13.mtx", "ani4.mtx", "ParTI_3D_12031.tns"] {
            inputs.push(Input::new(name, read(folder.join(name), &ReadOptions::default()).unwrap()));
        }
    }
    inputs.push(Input::new("counts", counts(1_000_000)));
    inputs.push(Input::new("random", random(1_000_000)));
    inputs
}

fn main() {
    let folder = Scratch(std::env::temp_dir().join(format!("lacuna-encodings-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let at = |name: &str| folder.0.join(name);
    let inputs = inputs();
    let head: Vec<&str> = inputs.iter().map(|input| &*input.name).collect();
    println!("| coordinates | values | codec | {} |", head.join(" | "));
    println!("| --- | --- | --- |{}", " --- |".repeat(inputs.len()));
    let row = |told: &str, cell: &dyn Fn(&Input) -> String| {
        let cells: Vec<String> = inputs.iter().map(cell).collect();
        println!("| {told} | {} |", cells.join(" | "));
    };
    for candidate in candidates() {
        let codec = match candidate.2 {
            Codec::UNCOMPRESSED => "none".into(),
            Codec::ZSTD(level) => format!("zstd {}", level.compression_level()),
            other => format!("{other:?}").to_lowercase(),
        };
        row(&format!("{} | {} | {codec}", name(candidate.0), name(candidate.1)), &|input| {
            // No differences of floats.
            if candidate.1 == Some(Encoding::DELTA_BINARY_PACKED) && input.any.dtype() == DType::Float64 {
                return "".into();
            }
            write(at("ours.parquet"), &input.any, &WriteOptions::default()).unwrap();
            let ours = SerializedFileReader::new(std::fs::File::open(at("ours.parquet")).unwrap()).unwrap();
            let path = at("theirs.parquet");
            input.cell(&path, || std::fs::write(&path, input.encoded(&ours, candidate)).unwrap())
        });
    }
    for (told, file, compression) in [
        ("`.parquet`, as it is written | |", "x.parquet", Compression::Usual),
        ("`.npz` | |", "x.npz", Compression::Usual),
        ("`.npz`, stored | |", "x.npz", Compression::None),
    ] {
        let mut options = WriteOptions::default();
        options.compression = compression;
        let format = FileFormat::from_path(file).unwrap();
        row(told, &|input| {
            input.cell(&at(file), || {
                let mut bytes = Vec::new();
                write_to(&mut bytes, format, &input.any, &options).unwrap();
                std::fs::write(at(file), bytes).unwrap();
            })
        });
    }
    row("in memory, coordinates of 32 bits | |", &|input| format!("{}", 4 * input.coords.len() + 8));
}
