//! Folders of tables in Parquet, and tensors that are written and read piece by piece: the same bits as the whole, and
//! whatever a manifest says, the answer is that tensor or an error.

#![cfg(feature = "parquet")]

use lacuna::io::{
    AnyTensor, Compression, Dataset, DatasetWriter, Format, ReadOptions, WriteOptions, read, read_header, read_slice,
    write,
};
use lacuna::{CooTensor, DType, Duplicates, Error, Result, Triplets};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A place that is removed, whatever stands there.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NAMES: AtomicUsize = AtomicUsize::new(0);
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lacuna-dataset-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }

    /// A path of a folder in it, with a separator behind it.
    fn folder(&self) -> PathBuf {
        self.0.join("x").join("")
    }

    fn manifest(&self) -> PathBuf {
        self.folder().join("_lacuna.json")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Row groups of 7 entries, parts of 14.
fn small() -> WriteOptions {
    WriteOptions::default().group_entries(7).part_entries(14)
}

/// 60 entries in rows of one to five.
fn tensor() -> CooTensor<f64, u64> {
    let mut triplets = Triplets::<f64, u64>::new_with_index([40, 9]).unwrap().with_fill(-0.0);
    let mut state = 7u64;
    for _ in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        triplets.push(&[(state >> 33) as usize % 40, (state >> 50) as usize % 9], (state >> 40) as f64 / 8.0).unwrap();
    }
    triplets.coalesce(Duplicates::Last).unwrap()
}

fn default() -> ReadOptions {
    ReadOptions::default()
}

fn written(x: &AnyTensor) -> Place {
    let place = Place::new();
    write(place.folder(), x, &small()).unwrap();
    place
}

/// The pieces put together, by their entries.
fn joined<'d>(pieces: impl Iterator<Item = Result<AnyTensor>> + 'd) -> Result<Vec<(Vec<usize>, u64)>> {
    let mut all = Vec::new();
    for piece in pieces {
        let piece = piece?.into_coo::<f64, u64>()?;
        assert!(piece.nnz() > 0 && *piece.shape() == [40, 9] && piece.fill().to_bits() == (-0.0f64).to_bits());
        all.extend(piece.entries().into_iter().map(|(at, value)| (at, value.to_bits())));
    }
    Ok(all)
}

fn entries(x: &CooTensor<f64, u64>) -> Vec<(Vec<usize>, u64)> {
    x.entries().into_iter().map(|(at, value)| (at, value.to_bits())).collect()
}

fn refused<T: std::fmt::Debug>(found: Result<T>) -> String {
    match found {
        Err(Error::Format { place, message }) => format!("{place}: {message}"),
        other => panic!("not a format error: {other:?}"),
    }
}

#[test]
fn a_folder_reads_back_as_it_was() {
    let x = tensor();
    for any in [AnyTensor::from(x.clone()), AnyTensor::from(x.clone()).into_format(Format::Csr).unwrap()] {
        let place = written(&any);
        let parts = x.nnz().div_ceil(14);
        assert_eq!(names(&place.folder()).len(), parts + 1);
        for path in [place.folder(), place.0.join("x")] {
            let again = read(path, &default()).unwrap();
            assert!(again.same_as(&AnyTensor::from(x.clone())) && again.format() == Format::Coo);
        }
        let header = read_header(place.folder(), &default()).unwrap();
        assert_eq!((header.shape().to_vec(), header.nnz(), header.dtype()), (vec![40, 9], 0, DType::Float64));
        // Each part is a table by itself, of the shape of the whole.
        let part = read(place.folder().join("part-00001.parquet"), &default()).unwrap();
        assert_eq!((part.shape(), part.nnz()), (x.shape(), 14));
    }
}

#[test]
fn tensors_of_every_kind_are_folders() {
    let empty = Triplets::<f32, u64>::new_with_index([3, 0]).unwrap().coalesce(Duplicates::Error).unwrap();
    let mut scalar = Triplets::<u8, u64>::new_with_index([0usize; 0]).unwrap();
    scalar.push(&[], 7).unwrap();
    let scalar = scalar.with_fill(3).coalesce(Duplicates::Error).unwrap();
    let complex = CooTensor::new([5], vec![vec![4]], vec![num_complex_of(1.0, -0.0)], num_complex_of(0.0, f64::NAN));
    for any in [AnyTensor::from(empty), scalar.into(), complex.unwrap().with_index::<u64>().unwrap().into()] {
        let place = written(&any);
        assert!(read(place.folder(), &default()).unwrap().same_as(&any), "{any:?}");
        let pieces = Dataset::open(place.folder(), &default()).unwrap();
        let found: Vec<_> = pieces.pieces(1).map(Result::unwrap).collect();
        assert_eq!(found.len(), any.nnz());
        assert!(found.iter().all(|piece| piece.same_as(&any)));
    }
}

fn num_complex_of(re: f64, im: f64) -> num_complex::Complex<f64> {
    num_complex::Complex::new(re, im)
}

/// In every size, of a folder and of one file, all and by rows.
#[test]
fn pieces_are_the_entries_in_order() {
    let x = tensor();
    let place = written(&x.clone().into());
    let file = place.0.join("x.parquet");
    write(&file, &x, &small()).unwrap();
    for path in [place.folder(), file] {
        let dataset = Dataset::open(&path, &default()).unwrap();
        assert_eq!((dataset.nnz(), dataset.dtype(), dataset.shape()), (x.nnz() as u64, DType::Float64, x.shape()));
        assert!(dataset.fill().unwrap() == lacuna::Number::Real(-0.0));
        // An entry takes 2 * (2 * 4 + 8) + 8 bytes.
        for (memory, most) in [(0, 1), (40, 1), (3 * 40, 3), (1 << 20, 7)] {
            assert_eq!(joined(dataset.pieces(memory)).unwrap(), entries(&x), "{memory}");
            let largest = dataset.pieces(memory).map(|piece| piece.unwrap().nnz()).max();
            assert_eq!(largest, Some(most), "{memory}");
            for rows in [0..40, 0..1, 39..40, 5..9, 13..13, 17..40] {
                let found = joined(dataset.pieces_within(rows.clone(), memory).unwrap()).unwrap();
                let expected: Vec<_> = entries(&x).into_iter().filter(|(at, _)| rows.contains(&at[0])).collect();
                assert_eq!(found, expected, "{rows:?}");
            }
        }
        assert!(matches!(dataset.pieces_within(3..41, 1), Err(Error::SliceOutOfRange { index: 41, axis: 0, .. })));
        assert!(dataset.pieces_within(Range { start: 4, end: 3 }, 1).is_err());
    }
}

#[test]
fn pieces_have_the_type_that_is_asked_for() {
    let place = written(&tensor().into());
    let mut options = ReadOptions::default();
    options.dtype = Some(DType::Float32);
    let dataset = Dataset::open(place.folder(), &options).unwrap();
    assert!(dataset.pieces(999).all(|piece| piece.unwrap().dtype() == DType::Float32));
    assert_eq!((dataset.dtype(), dataset.header().unwrap().dtype()), (DType::Float32, DType::Float32));
    options.shape = Some([40, 8].into());
    assert!(matches!(Dataset::open(place.folder(), &options), Err(Error::ShapeMismatch { .. })));
    options = ReadOptions::default();
    options.fill = Some("1".into());
    assert!(refused(Dataset::open(place.folder(), &options)).contains("not the requested fill"));
}

/// Any cut of the entries gives the same file, byte by byte, as the whole at once.
#[test]
fn pushes_of_any_size_give_the_same_files() {
    let x = tensor();
    let whole = written(&x.clone().into());
    for rows in [1, 3, 13, 40] {
        let place = Place::new();
        let mut writer = DatasetWriter::create(place.folder(), &small()).unwrap();
        for start in (0..40).step_by(rows) {
            let end = (start + rows).min(40);
            let part = x.entries().into_iter().filter(|(at, _)| (start..end).contains(&at[0]));
            let mut triplets = Triplets::<f64, u64>::new_with_index([40, 9]).unwrap().with_fill(-0.0);
            part.for_each(|(at, value)| triplets.push(&at, value).unwrap());
            writer.push(&triplets.coalesce(Duplicates::Error).unwrap()).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(names(&place.folder()), names(&whole.folder()));
        for name in names(&whole.folder()) {
            let [left, right] = [&place, &whole].map(|place| fs::read(place.folder().join(&name)).unwrap());
            assert!(left == right, "{name} by {rows} rows");
        }
    }
}

/// Pages ended a little later where pieces were no multiples of what the writer looks at at once: the same entries made
/// other files.
#[test]
fn pages_end_where_they_do_however_entries_come() {
    let (place, count) = (Place::new(), 50_000_u32);
    let piece = |entries: std::ops::Range<u32>| {
        let coords = vec![entries.clone().map(|at| at / 7).collect(), entries.clone().map(|at| at % 7).collect()];
        CooTensor::new([10_000, 7], coords, entries.map(f64::from).collect(), 0.0).unwrap()
    };
    let files = [count, 999, 20_481].map(|step| {
        let path = place.0.join(format!("{step}.parquet"));
        let mut writer = DatasetWriter::create(&path, &WriteOptions::default()).unwrap();
        (0..count).step_by(step as usize).for_each(|at| writer.push(&piece(at..count.min(at + step))).unwrap());
        writer.finish().unwrap();
        fs::read(path).unwrap()
    });
    assert!(files[1] == files[0] && files[2] == files[0]);
}

#[test]
fn a_piece_that_does_not_follow_is_refused_and_others_may_come() {
    let place = Place::new();
    let file = place.0.join("x.parquet");
    let one = |shape: [usize; 2], at: u32, fill: f64| {
        CooTensor::new(shape, vec![vec![at], vec![1]], vec![1.0], fill).unwrap()
    };
    let mut writer = DatasetWriter::create(&file, &small()).unwrap();
    writer.push(&one([5, 2], 2, 0.0)).unwrap();
    assert!(matches!(writer.push(&one([5, 2], 2, 0.0)), Err(Error::NotSorted { .. })));
    assert!(matches!(writer.push(&one([6, 2], 3, 0.0)), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(writer.push(&one([5, 2], 3, -0.0)), Err(Error::FillsDiffer { .. })));
    let other = CooTensor::<f32>::new([5, 2], vec![vec![4], vec![0]], vec![1.0], 0.0).unwrap();
    assert!(matches!(writer.push(&other), Err(Error::TypesDiffer { .. })));
    writer.push(&one([5, 2], 4, 0.0)).unwrap();
    assert!(!file.exists());
    writer.finish().unwrap();
    assert_eq!(read(&file, &default()).unwrap().nnz(), 2);
    let writer = DatasetWriter::create(&file, &small()).unwrap();
    assert!(matches!(writer.finish(), Err(Error::Argument { .. })));
    assert_eq!(names(&place.0), ["x.parquet"]);
}

#[test]
fn what_is_not_finished_is_not_there() {
    let place = Place::new();
    let mut writer = DatasetWriter::create(place.folder(), &small()).unwrap();
    writer.push(&tensor()).unwrap();
    assert!(names(&place.folder()).len() > 1);
    assert!(refused(read(place.folder(), &default())).contains("no _lacuna.json"));
    drop(writer);
    assert_eq!(names(&place.0), [""; 0]);
    // An existing tensor remains.
    write(place.folder(), &tensor(), &small()).unwrap();
    let before = names(&place.folder());
    let mut writer = DatasetWriter::create(place.folder(), &small()).unwrap();
    writer.push(&tensor()).unwrap();
    drop(writer);
    assert_eq!(names(&place.folder()), before);
    assert!(read(place.folder(), &default()).unwrap().same_as(&tensor().into()));
}

/// A reader that opened the old tensor gets its parts or an error; the new one has other names.
#[test]
fn a_folder_is_written_anew() {
    let place = written(&tensor().into());
    let (old, before) = (Dataset::open(place.folder(), &default()).unwrap(), names(&place.folder()));
    let y = CooTensor::new([3], vec![vec![1]], vec![5i8], 1).unwrap().with_index::<u64>().unwrap();
    write(place.folder(), &y, &small()).unwrap();
    assert!(read(place.folder(), &default()).unwrap().same_as(&y.into()));
    let after = names(&place.folder());
    assert!(after.len() == 2 && !before.contains(&after[1]), "{after:?}");
    assert!(matches!(joined(old.pieces(1)), Err(Error::Io { .. })));
}

/// Files of a running writer remain, and so do files that the manifest names.
#[test]
fn what_killed_writers_left_goes_with_the_next_write() {
    let place = written(&tensor().into());
    let folder = place.folder();
    let write_to = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let before = names(&folder);
    let other = folder.parent().unwrap().join("part-00070.parquet");
    fs::write(&other, "another folder").unwrap();
    write_to(".lacuna-1-0.tmp", "half");
    write_to(".lacuna-1-1.parts", "part-00070.parquet\npart-00000.parquet\n../part-00070.parquet\n_lacuna.json\npar");
    write_to(".lacuna-2-0.parts", "part-00080.parquet\n");
    write_to("part-00070.parquet", "half");
    write_to("part-00080.parquet", "half");
    let living = fs::File::open(folder.join(".lacuna-2-0.parts")).unwrap();
    living.lock().unwrap();
    drop(DatasetWriter::create(&folder, &small()).unwrap());
    let kept = [vec![".lacuna-2-0.parts".to_string()], before, vec!["part-00080.parquet".to_string()]].concat();
    assert_eq!(names(&folder), kept);
    assert!(other.exists() && read(&folder, &default()).unwrap().same_as(&tensor().into()));
    fs::remove_file(other).unwrap();
}

/// Writers of the same folder at the same time, as processes are.
#[test]
fn writers_at_once_leave_the_parts_of_one() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for writer in 0..6_u64 {
            let folder = place.folder();
            scope.spawn(move || {
                for round in 0..10 {
                    let values = (0..5).map(|at| 100 * writer + 10 * round + at).collect();
                    let x = CooTensor::new([5], vec![vec![0, 1, 2, 3, 4]], values, 0).unwrap();
                    write(&folder, &x, &WriteOptions::default().group_entries(2).part_entries(2)).unwrap();
                }
            });
        }
    });
    let left = names(&place.folder());
    let found = read(place.folder(), &default()).unwrap().into_coo::<u64, u32>().unwrap();
    let first = found.values()[0];
    assert!(found.values().iter().copied().eq(first..first + 5) && left.len() == 4, "{found:?} in {left:?}");
}

/// Parts that nobody holds and no manifest names, though no list tells of them either.
#[test]
fn parts_that_nobody_names_go_with_the_next_write() {
    let place = written(&tensor().into());
    let (folder, before) = (place.folder(), names(&place.folder()));
    fs::write(folder.join("part-00070.parquet"), "lost").unwrap();
    fs::write(folder.join("notes.txt"), "words").unwrap();
    drop(DatasetWriter::create(&folder, &small()).unwrap());
    assert_eq!(names(&folder), [&before[..1], &["notes.txt".to_string()], &before[1..]].concat());
    // And those of a writer that lives stay, also when another one finishes.
    let mut living = DatasetWriter::create(&folder, &small()).unwrap();
    living.push(&tensor()).unwrap();
    let parts = names(&folder).into_iter().filter(|name| name.starts_with("part-") && !before.contains(name));
    let parts: Vec<String> = parts.collect();
    write(&folder, &tensor(), &small()).unwrap();
    assert!(!parts.is_empty() && parts.iter().all(|part| folder.join(part).exists()), "{parts:?}");
    living.finish().unwrap();
    assert!(read(&folder, &default()).unwrap().same_as(&tensor().into()));
    assert_eq!(names(&folder).len(), before.len() + 1);
}

/// A folder without a manifest may be of another program, whatever its files are called.
#[test]
fn tables_of_others_stay_where_they_are() {
    let place = Place::new();
    fs::create_dir(place.folder()).unwrap();
    fs::write(place.folder().join("part-00000.parquet"), "theirs").unwrap();
    fs::write(place.folder().join(".lacuna-1-0.parts"), "part-00001.parquet\n").unwrap();
    fs::write(place.folder().join("part-00001.parquet"), "of a writer that was killed").unwrap();
    let error = write(place.folder(), &tensor(), &small()).unwrap_err();
    assert!(error.to_string().contains("has files that are not a tensor"), "{error}");
    assert_eq!(names(&place.folder()), ["part-00000.parquet"]);
}

#[test]
fn a_folder_of_something_else_is_neither_read_nor_written() {
    let place = Place::new();
    fs::create_dir(place.folder()).unwrap();
    fs::write(place.folder().join("thesis.txt"), "words").unwrap();
    assert!(refused(read(place.folder(), &default())).contains("no _lacuna.json"));
    let error = write(place.folder(), &tensor(), &small()).unwrap_err();
    assert!(error.to_string().contains("has files that are not a tensor"), "{error}");
    assert_eq!(names(&place.folder()), ["thesis.txt"]);
    assert!(matches!(write(place.0.join("a/b/"), &tensor(), &small()), Err(Error::Io { .. })));
}

#[test]
fn a_box_leaves_out_parts() {
    let (x, place) = (tensor(), written(&tensor().into()));
    let last = x.entries().last().unwrap().0[0];
    for (rows, columns) in [(0..40, 0..9), (3..20, 2..5), (last..40, 0..9), (7..7, 0..1)] {
        let found = read_slice(place.folder(), &[rows.clone(), columns.clone()], &default()).unwrap();
        let expected = x.slice(ndarray::s![rows, columns]).unwrap();
        assert!(found.same_as(&expected.into()));
    }
    // The first part is not looked at where nothing of it is asked for.
    fs::remove_file(place.folder().join("part-00000.parquet")).unwrap();
    assert!(read_slice(place.folder(), &[last..40, 0..9], &default()).is_ok());
    assert!(matches!(read_slice(place.folder(), &[0..40, 0..9], &default()), Err(Error::Io { .. })));
    assert!(matches!(read(place.folder(), &default()), Err(Error::Io { .. })));
}

/// The checksum of a manifest as the documents have it, so that a lie can have the right one.
fn signed(text: &str) -> String {
    let mix = |mut number: u64| {
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ number >> 31
    };
    let start = text.find("\"version\":1").unwrap() + 11;
    let end = text.find(",\n\"checksum\"").unwrap();
    let members = &text[start..end];
    let mut hash = 0x9e37_79b9_7f4a_7c15u64;
    for chunk in members.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    hash = mix(hash ^ members.len() as u64);
    format!("{},\n\"checksum\":\"{hash:016x}\"}}\n", &text[..end])
}

#[test]
fn the_checksum_is_the_documented_one() {
    let place = written(&tensor().into());
    let text = fs::read_to_string(place.manifest()).unwrap();
    assert_eq!(signed(&text), text);
}

/// Each lie by itself, with a checksum that is right.
#[test]
fn a_manifest_that_lies_is_refused() {
    let place = written(&tensor().into());
    let text = fs::read_to_string(place.manifest()).unwrap();
    let nnz = tensor().nnz();
    let parts: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"file\"")).collect();
    let swapped = text
        .replace(parts[0].trim_end_matches(','), "#")
        .replace(parts[1].trim_end_matches(','), parts[0].trim_end_matches(','))
        .replace('#', parts[1].trim_end_matches(','));
    let twice = text.replace("part-00001", "part-00000");
    let of = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let lies = [
        (of(&format!("\"entries\":{nnz}"), "\"entries\":9"), "entries: their total"),
        (of("\"entries\":14", "\"entries\":18446744073709551615"), "the number of entries exceeds"),
        (of("\"entries\":14", "\"entries\":13"), "entries: their total"),
        (of("part-00000.parquet", "../x/part-00000.parquet"), "is not the name of a file"),
        (of("part-00000.parquet", "/etc/passwd"), "is not the name of a file"),
        (of("part-00000.parquet", "sub\\\\part"), "is not the name of a file"),
        (of("part-00000.parquet", ".hidden"), "is not the name of a file"),
        (of("part-00000.parquet", ""), "is not the name of a file"),
        (twice, "its file is also the file of another part"),
        (swapped, "are not sorted after the entries of the previous part"),
        (of("\"shape\":[40,9]", "\"shape\":[40,9,1]"), "its first is invalid"),
        (of("\"dtype\":\"float64\"", "\"dtype\":\"float99\""), "not an element type"),
        (of("\"dtype\":\"float64\"", "\"dtype\":\"int8\""), "its fill is not a value of type int8"),
        (of("\"version\":1", "\"version\":2"), "a later version"),
        (of("\"parts\":[", "\"parts\":3,\"p\":["), "parts: it is not a list"),
    ];
    for (lie, expected) in lies {
        let lie = if lie.contains("\"version\":1") { signed(&lie) } else { lie };
        fs::write(place.manifest(), lie).unwrap();
        let message = refused(read(place.folder(), &default()));
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    // Only the parts can show these errors.
    for (lie, expected) in [
        (of("\"shape\":[40,9]", "\"shape\":[99,9]"), "part-00000.parquet: the part: its description differs"),
        (of("\"fill\":\"80", "\"fill\":\"00"), "part-00000.parquet: the part: its description differs"),
        (of("\"dtype\":\"float64\"", "\"dtype\":\"int64\""), "part-00000.parquet: the part: its description differs"),
        (of("\"bytes\":", "\"bytes\":1"), "lists 1"),
    ] {
        fs::write(place.manifest(), signed(&lie)).unwrap();
        for message in [refused(read(place.folder(), &default())), refused(joined_any(&place.folder()))] {
            assert!(message.contains(expected), "{message}\nexpected {expected}");
        }
    }
    // Another byte, and a text that ends early.
    let changed = text.replacen("\"first\":[", "\"first\":[1", 2).replacen("\"first\":[1", "\"first\":[", 1);
    fs::write(place.manifest(), changed).unwrap();
    assert!(refused(read(place.folder(), &default())).contains("the file is damaged"));
    for end in (0..text.len() - 1).step_by(7) {
        fs::write(place.manifest(), &text[..end]).unwrap();
        refused(read(place.folder(), &default()));
    }
    fs::write(place.manifest(), " ".repeat(5 << 20)).unwrap();
    assert!(matches!(read(place.folder(), &default()), Err(Error::TooLarge { .. })));
}

fn joined_any(folder: &Path) -> Result<usize> {
    Dataset::open(folder, &default())?.pieces(1 << 20).map(|piece| piece.map(|piece| piece.nnz())).sum()
}

#[test]
fn a_part_that_was_changed_is_told() {
    let place = written(&tensor().into());
    let path = place.folder().join("part-00001.parquet");
    let bytes = fs::read(&path).unwrap();
    let other = fs::read(place.folder().join("part-00002.parquet")).unwrap();
    let both = |expected: &str| {
        for message in [refused(read(place.folder(), &default())), refused(joined_any(&place.folder()))] {
            assert!(message.starts_with("part-00001.parquet: ") && message.contains(expected), "{message}");
        }
    };
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    both("");
    fs::write(&path, &other).unwrap();
    both("");
    // Another tensor of as many bytes.
    let x = tensor();
    let values = x.values().iter().map(|value| value + 1.0).collect();
    let y: CooTensor<f64, u64> = lacuna::Tensor::from_parts(x.pattern().clone(), values, x.fill()).unwrap();
    let beside = written(&y.into());
    let changed = fs::read(beside.folder().join("part-00001.parquet")).unwrap();
    if changed.len() == bytes.len() {
        fs::write(&path, changed).unwrap();
        both("it was changed");
    }
    // Any byte of the pages, which nothing but the checksum tells of where they are not compressed.
    write(place.folder(), &tensor(), &small().compression(Compression::None)).unwrap();
    let path = place.folder().join(&names(&place.folder())[2]);
    let bytes = fs::read(&path).unwrap();
    let mut told = 0;
    for at in (4..bytes.len() / 3).step_by(5) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        fs::write(&path, &changed).unwrap();
        let (whole, pieces) = (read(place.folder(), &default()), joined_any(&place.folder()));
        match whole {
            // A byte that nobody needs.
            Ok(x) => assert!(x.same_as(&tensor().into()) && pieces.unwrap() == tensor().nnz()),
            Err(_) => {
                assert!(pieces.is_err(), "byte {at}");
                told += 1;
            }
        }
    }
    assert!(told > 10, "{told}");
    #[cfg(unix)]
    {
        fs::rename(&path, place.0.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.0.join("elsewhere"), &path).unwrap();
        assert!(refused(read(place.folder(), &default())).contains("it is not a regular file"));
        assert!(refused(joined_any(&place.folder())).contains("it is not a regular file"));
    }
}

#[test]
fn tables_of_others_have_no_pieces() {
    use std::sync::Arc;
    let place = Place::new();
    let field = parquet::schema::types::Type::primitive_type_builder("a", parquet::basic::Type::INT64).build().unwrap();
    let schema =
        parquet::schema::types::Type::group_type_builder("t").with_fields(vec![Arc::new(field)]).build().unwrap();
    let path = place.0.join("theirs.parquet");
    let file = fs::File::create(&path).unwrap();
    parquet::file::writer::SerializedFileWriter::new(file, Arc::new(schema), Default::default())
        .unwrap()
        .close()
        .unwrap();
    let mut options = ReadOptions::default();
    options.shape = Some([3].into());
    options.columns = Some(vec!["a".into(), "a".into()]);
    assert!(refused(Dataset::open(&path, &options)).contains("convert it first"));
}

/// Row groups that change places: the sum of their hashes, the first entry and the last one stay.
#[test]
fn row_groups_in_another_order_are_told() {
    use parquet::column::writer::ColumnWriter;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let place = Place::new();
    let x = tensor();
    let (ours, theirs) = (place.0.join("ours.parquet"), place.0.join("theirs.parquet"));
    write(&ours, &x, &small()).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&ours).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let schema = metadata.schema_descr().root_schema_ptr();
    for order in [[0, 1, 2, 3], [0, 2, 1, 3]] {
        let file = fs::File::create(&theirs).unwrap();
        let mut writer =
            parquet::file::writer::SerializedFileWriter::new(file, schema.clone(), Default::default()).unwrap();
        for group in order {
            // The last group has all remaining rows.
            let rows = 7 * group..if group == 3 { x.nnz() } else { 7 * group + 7 };
            let mut target = writer.next_row_group().unwrap();
            for axis in 0..3 {
                let mut column = target.next_column().unwrap().unwrap();
                match column.untyped() {
                    ColumnWriter::Int32ColumnWriter(writer) => {
                        let coords: Vec<i32> =
                            x.pattern().coords(axis)[rows.clone()].iter().map(|&at| at as i32).collect();
                        writer.write_batch(&coords, None, None).unwrap()
                    }
                    ColumnWriter::DoubleColumnWriter(writer) => {
                        writer.write_batch(&x.values()[rows.clone()], None, None).unwrap()
                    }
                    _ => unreachable!(),
                };
                column.close().unwrap();
            }
            target.close().unwrap();
        }
        metadata.key_value_metadata().unwrap().iter().for_each(|key| writer.append_key_value_metadata(key.clone()));
        writer.close().unwrap();
        let (whole, pieces) =
            (read(&theirs, &default()), joined(Dataset::open(&theirs, &default()).unwrap().pieces(1 << 20)));
        match order[1] {
            1 => assert!(whole.unwrap().same_as(&x.clone().into()) && pieces.unwrap() == entries(&x)),
            _ => {
                refused(whole);
                assert!(refused(pieces).contains("is not sorted after"));
            }
        }
    }
}
