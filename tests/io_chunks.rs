//! Graphs that begin and end with files, in ranges.

#![cfg(feature = "parquet")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lacuna::io::{ReadOptions, WriteOptions, read_coo, scan, write};
use lacuna::lazy::{Chunks, Lazy, Threads, concat};
use lacuna::{Axes, CooTensor, Error, Triplets};

use crate::share::one_of;

/// A folder of its own, which is removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("lacuna-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn is_empty(&self, name: &str) -> bool {
        fs::read_dir(self.0.join(name)).unwrap().next().is_none()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Some 6000 entries of 40 x 60 x 5, most of them in few rows, with a fill of NaN.
fn readings() -> CooTensor<f64> {
    let mut triplets = Triplets::new([40, 60, 5]).unwrap();
    let mut state = 7_u64;
    for at in 0..12_000_usize {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        if state >> 33 & 1 == 0 || at < 1200 {
            triplets.push(&[at / 300, at / 5 % 60, at % 5], (state >> 40) as f64 / 1e4 - 800.0).unwrap();
        }
    }
    triplets.with_fill(f64::NAN).coalesce(lacuna::Duplicates::Error).unwrap()
}

fn scanned(path: &Path) -> Lazy<CooTensor<f64>> {
    scan(path, &ReadOptions::default()).unwrap()
}

type Graph = fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>;

const GRAPHS: &[(&str, Graph)] = &[
    ("chain", |x| (x.abs() + 1.0).sqrt()),
    ("nanmedian of rows", |x| x.nanmedian([1, 2])),
    ("nanmedian over rows", |x| x.nanmedian(0)),
    ("sum of all", |x| x.nansum(Axes::all())),
    ("slice", |x| x.slice(ndarray::s![7..30, 2, ..]).square()),
    ("less its means", |x| x - x.nanmean(Axes::from(0).keep_dims())),
    ("transpose", |x| x.transpose().abs()),
    ("slice, partitioned out", |x| x.slice(ndarray::s![7..30, 2..50, ..]).nansum(0)),
    ("slice of all axes, partitioned out", |x| x.slice(ndarray::s![3..39, 20.., 1..4]).nanmedian([0, 2])),
    ("joined rows", |x| concat(0, &[x.clone(), x.slice(ndarray::s![5..30, .., ..]).square()])),
    ("sums of joined rows", |x| concat(0, &[x.abs(), x.clone()]).slice(ndarray::s![20..70, .., 1..]).nansum([1, 2])),
    ("over joined rows, partitioned out", |x| concat(0, &[x.clone(), x.square()]).nanmedian(0)),
    ("two orders", |x| x.nansum([0, 2]) * x.slice(ndarray::s![1, .., 2])),
];

/// Files, and folders of them, in few and many ranges, collected and written.
#[test]
fn what_is_scanned_in_ranges_is_what_is_read() {
    let folder = Folder::new("scan");
    let x = readings();
    let mut options = WriteOptions::default();
    write(folder.path("x.parquet"), &x, &options).unwrap();
    (options.group_entries, options.part_entries) = (Some(700), Some(2000));
    write(folder.path("x/"), &x, &options).unwrap();
    fs::create_dir(folder.path("spill")).unwrap();
    for (at, (name, graph)) in GRAPHS.iter().enumerate() {
        let expected = graph(&x.lazy()).collect().unwrap();
        for file in ["x.parquet", "x/"] {
            let graph = graph(&scanned(&folder.path(file)));
            assert!(graph.collect().unwrap().same_as(&expected), "{name} of {file}");
            let engines = [Chunks::memory(1 << 30).positions(3), Chunks::memory(1 << 20), Chunks::memory(1 << 30)];
            let turn = (at + usize::from(file == "x/")) % one_of(3);
            for engine in engines.into_iter().skip(turn).step_by(one_of(3)) {
                let on = graph.on(engine.spill(folder.path("spill")));
                let found = on.collect().unwrap_or_else(|error| panic!("{name} of {file}: {error}"));
                assert!(found.same_as(&expected), "{name} of {file}: {}", on.explain().unwrap());
                on.sink(folder.path("y.parquet"), &WriteOptions::default()).unwrap();
                let written: CooTensor<f64> = read_coo(folder.path("y.parquet"), &ReadOptions::default()).unwrap();
                assert!(written.same_as(&expected), "{name} of {file}, written: {}", on.explain().unwrap());
                assert!(folder.is_empty("spill"), "{name} of {file} left files");
            }
        }
    }
}

/// A range of which all positions are stored has a fill of its own; the others have that of the tensor, or there is
/// none.
#[test]
fn ranges_without_gaps_are_written_with_the_fill_of_the_others() {
    let folder = Folder::new("fills");
    let mut parts = WriteOptions::default();
    (parts.group_entries, parts.part_entries) = (Some(1), Some(1));
    let full = |rows: &[u32]| rows.iter().flat_map(|&row| [(row, 0), (row, 1)]).collect::<Vec<(u32, u32)>>();
    let cases = [
        ("the last row has a gap", [full(&[0, 1, 2]), vec![(3, 1)]].concat()),
        ("the first row has a gap", [vec![(0, 1)], full(&[1, 2, 3])].concat()),
        ("a row between has gaps", [full(&[0]), full(&[2, 3])].concat()),
        ("no row has a gap", full(&[0, 1, 2, 3])),
        ("two rows have gaps", [full(&[0]), vec![(1, 0)], full(&[2]), vec![(3, 1)]].concat()),
    ];
    for (name, cells) in cases {
        let (rows, columns): (Vec<u32>, Vec<u32>) = cells.into_iter().unzip();
        let is_full = |row: u32| rows.iter().filter(|&&it| it == row).count() == 2;
        let factors = (0..4).map(|row| if is_full(row) { f64::from(row) + 2.0 } else { 7.0 }).collect();
        let values = (0..rows.len()).map(|at| at as f64 + 0.5).collect();
        let x = CooTensor::new([4, 2], vec![rows.clone(), columns.clone()], values, 1.0).unwrap();
        write(folder.path("x.parquet"), &x, &WriteOptions::default()).unwrap();
        let factors = CooTensor::new([4], vec![(0..4).collect()], factors, 0.0).unwrap().lazy();
        let scaled = scanned(&folder.path("x.parquet")).scale(0, &factors);
        let expected = scaled.collect().unwrap();
        for positions in [1, 2, 3, 4] {
            for target in ["y.parquet", "y/"] {
                let on = scaled.on(Chunks::memory(1 << 20).positions(positions));
                on.sink(folder.path(target), &parts).unwrap_or_else(|error| panic!("{name}, {positions}: {error}"));
                let written: CooTensor<f64> = read_coo(folder.path(target), &ReadOptions::default()).unwrap();
                assert!(written.same_as(&expected), "{name}, {positions}: {written:?} {expected:?}");
            }
        }
    }
}

/// A reduction reads chunks along a reduced axis if the accumulators of all output elements fit part of the memory.
/// Otherwise the file is repartitioned along a kept axis. Both have the same bits.
#[test]
fn folds_over_the_first_axis_hold_the_states_of_their_cells_where_these_fit() {
    let folder = Folder::new("cells");
    let graphs: &[(&str, Graph)] = &[
        ("sum", |x| x.sum(0)),
        ("sum of what is stored", |x| x.stored().sum(0)),
        ("sums beside others", |x| x.nansum(0).sqrt() - x.nansum([0, 1])),
        ("mean", |x| (x.with_fill(1.5) * 1e300).mean(Axes::from(0).keep_dims())),
        ("mean without NaNs", |x| x.nanmean([0, 2])),
        ("norm", |x| x.norm(0)),
        ("min", |x| x.min([0, 2])),
        ("max of what is stored", |x| x.stored().nanmax(Axes::from(0).keep_dims())),
        ("any", |x| x.with_fill(0.0).any([0, 1]).cast()),
        ("count", |x| x.with_fill(0.0).count_nonzero(0).cast()),
        ("of a chain", |x| ((x.abs() * 2.0).sqrt() - x.square()).nansum(0)),
        ("of joined rows", |x| concat(0, &[x.clone(), x.abs()]).nansum([0, 2])),
        ("of a slice", |x| x.slice(ndarray::s![30.., 5..50, ..]).nansum(0)),
        ("of nothing", |x| x.slice(ndarray::s![..0, .., ..]).sum(0)),
    ];
    let x = readings();
    let mut options = WriteOptions::default();
    options.group_entries = Some(700);
    write(folder.path("x.parquet"), &x, &options).unwrap();
    write(folder.path("none.parquet"), &CooTensor::<f64>::full([40, 60, 5], 2.0).unwrap(), &options).unwrap();
    let mut ways = [0, 0];
    for (name, graph) in graphs {
        for file in ["x.parquet", "none.parquet"] {
            let all: CooTensor<f64> = read_coo(folder.path(file), &ReadOptions::default()).unwrap();
            let expected = graph(&all.lazy()).collect().unwrap();
            let graph = graph(&scanned(&folder.path(file)));
            // In 100 kB states take more than one pass, and in 90 results of 300 cells are too much.
            let engines = [1 << 30, 100_000, 90_000].map(Chunks::memory);
            for engine in engines.into_iter().chain([Chunks::memory(1 << 30).positions(3)]) {
                let on = graph.on(engine.spill(&folder.0));
                let told = on.explain().unwrap();
                let found = on.collect().unwrap_or_else(|error| panic!("{name} of {file}: {error}\n{told}"));
                assert!(found.same_as(&expected), "{name} of {file}: {told}\n{found:?}\n{expected:?}");
                ways[usize::from(told.contains(" reduces "))] += 1;
            }
        }
    }
    assert!(ways.iter().all(|&way| way > 10), "{ways:?} are partitioned out and folded");
    // Steps after a reduction do not hinder it.
    let behind = (scanned(&folder.path("x.parquet")).nansum(0).sqrt() * 2.0).abs();
    let told = behind.on(Chunks::memory(1 << 30)).explain().unwrap();
    assert!(told.contains(" reduces ") && !told.contains("%0 in chunks of axis 1"), "{told}");
    // Sums of squares, whose states are large, would take too many passes.
    for (memory, does_fold) in [(1 << 20, [true; 2]), (250_000, [true, false])] {
        let x = scanned(&folder.path("x.parquet"));
        let told = [x.sum(0), x.norm(0)].map(|step| step.on(Chunks::memory(memory)).explain().unwrap());
        assert_eq!(told.each_ref().map(|told| told.contains(" reduces ")), does_fold, "{told:?}");
    }
    let refused = scanned(&folder.path("x.parquet")).cast::<i64>().with_fill(i64::MAX).sum(0);
    let error = refused.collect().unwrap_err().to_string();
    assert_eq!(refused.on(Chunks::memory(1 << 30)).collect().unwrap_err().to_string(), error);
}

/// Few rows, each of which takes more than the memory: a fold of them goes along the other axis, and so does one of
/// columns, of a file that is partitioned out or not.
#[test]
fn folds_of_few_long_rows_or_columns_need_none_of_them_as_a_whole() {
    let folder = Folder::new("long");
    let count = 60_000_u32;
    let entries = || (0..3 * count).filter(|at| at % 7 != 3);
    let values = |at: u32| f64::from(at % 1013) * 0.37 - 11.0;
    let x = CooTensor::new(
        [3, count as usize],
        vec![entries().map(|at| at / count).collect(), entries().map(|at| at % count).collect()],
        entries().map(values).collect(),
        0.25,
    );
    let x = x.unwrap();
    let y = x.transpose().unwrap();
    let memory = 1 << 20;
    for (tensor, axis) in [(&x, 1), (&y, 0)] {
        let mut options = WriteOptions::default();
        options.group_entries = Some(20_000);
        write(folder.path("t.parquet"), tensor, &options).unwrap();
        let graph = scanned(&folder.path("t.parquet")).square().sum(axis);
        let on = graph.on(Chunks::memory(memory).spill(&folder.0));
        assert!(on.explain().unwrap().contains(" reduces "), "{}", on.explain().unwrap());
        let found = on.collect().unwrap_or_else(|error| panic!("over axis {axis}: {error}"));
        assert!(found.same_as(&tensor.square().unwrap().sum(axis).unwrap()));
        let all = scanned(&folder.path("t.parquet"));
        let medians = all.nanmedian(Axes::all()).on(Chunks::memory(memory).spill(&folder.0)).collect().unwrap();
        assert!(medians.same_as(&tensor.nanmedian(Axes::all()).unwrap()));
    }
}

/// Page indexes determine the chunks of a large file, in which some rows are a hundred times as full as others. The
/// bits equal those in memory, for one thread and several, with chunks read ahead or not.
#[test]
fn ranges_by_lists_of_pages_give_the_bits_of_memory() {
    let folder = Folder::new("pages");
    // More than a row group has, so that there are two.
    let count = 1_120_000_u32;
    // Rows of 1000 entries, and behind them rows of 10.
    let row = |at: u32| if at < count / 2 { at / 1000 } else { count / 2000 + 3 + (at - count / 2) / 10 };
    let coords = vec![(0..count).map(row).collect(), (0..count).map(|at| at % 1000).collect::<Vec<u32>>()];
    let x = CooTensor::new([70_000, 1000], coords, (0..count).map(f64::from).collect(), -0.5).unwrap();
    write(folder.path("x.parquet"), &x, &WriteOptions::default()).unwrap();
    let (sums, all) = (x.sum(1).unwrap(), x.sum(Axes::all()).unwrap());
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let scanned = scanned(&folder.path("x.parquet"));
            for memory in [2 << 20, 12 << 20].into_iter().skip(threads / 2 % one_of(2)).step_by(one_of(2)) {
                let found = scanned.sum(1).on(Chunks::memory(memory)).collect().unwrap();
                assert!(found.same_as(&sums), "{threads} threads, {memory} bytes");
            }
            let found = scanned.sum(Axes::all()).on(Chunks::memory(1 << 20)).collect().unwrap();
            assert!(found.same_as(&all), "{threads} threads");
        });
    }
}

/// A slice needs memory only for its own entries, wherever other entries are.
#[test]
fn a_slice_is_measured_by_its_own_entries() {
    let folder = Folder::new("measured");
    let (rows, columns) = (0..5000).map(|at| (u32::from(at == 4999) * 7, at)).unzip();
    let x = CooTensor::new([1000, 5000], vec![rows, columns], vec![1.5; 5000], 0.0).unwrap();
    write(folder.path("x.parquet"), &x, &WriteOptions::default()).unwrap();
    let taken = |rows| scanned(&folder.path("x.parquet")).slice(ndarray::s![rows.., ..]).take(vec![34_999_usize, 4998]);
    let engine = Chunks::memory(20_000);
    assert_eq!(taken(1).on(engine.clone()).collect().unwrap().to_vec(&[]).unwrap(), [1.5, 0.0]);
    let error = taken(0).on(engine).collect().unwrap_err().to_string();
    assert!(error.contains("above the limit"), "{error}");
}

/// A slice of what is scanned, behind steps element by element or not, reads its ranges alone: it is told, it gives the
/// bits of the slice of all, and parts of a folder outside of it need not be there.
#[test]
fn a_slice_of_what_is_scanned_reads_its_ranges_alone() {
    use ndarray::{SliceInfo, s};
    type Part = SliceInfo<Vec<ndarray::SliceInfoElem>, ndarray::IxDyn, ndarray::IxDyn>;
    let folder = Folder::new("slices");
    let x = readings();
    let mut options = WriteOptions::default();
    write(folder.path("x.parquet"), &x, &options).unwrap();
    (options.group_entries, options.part_entries) = (Some(700), Some(2000));
    write(folder.path("x/"), &x, &options).unwrap();
    let graphs: [(&str, Graph); 5] = [
        ("itself", |x| x.clone()),
        ("chain", |x| (x.abs() + 1.0).sqrt()),
        ("itself and its root", |x| x.isnan().where_(x, &x.abs().sqrt())),
        ("less the means", |x| x.sub(x.square().with_fill(0.0))),
        ("fill", |x| x.with_fill(2.0) * -1.0),
    ];
    let parts: [Part; 7] = [
        Part::try_from(s![1..3, .., ..].as_ref().to_vec()).unwrap(),
        Part::try_from(s![-3.., 5..20;2, 1].as_ref().to_vec()).unwrap(),
        Part::try_from(s![..;-1, 59, ..;-2].as_ref().to_vec()).unwrap(),
        Part::try_from(s![39, 0, 0].as_ref().to_vec()).unwrap(),
        Part::try_from(s![5..5, .., 1..].as_ref().to_vec()).unwrap(),
        Part::try_from(s![.., ndarray::NewAxis, 3..9, -1].as_ref().to_vec()).unwrap(),
        Part::try_from(s![10..;-3, -10..-1, ..].as_ref().to_vec()).unwrap(),
    ];
    for (number, (name, graph)) in graphs.into_iter().enumerate() {
        for (at, part) in parts.iter().enumerate() {
            let expected = graph(&x.lazy()).collect().unwrap().slice(part).unwrap();
            for file in ["x.parquet", "x/"] {
                let step = graph(&scanned(&folder.path(file))).slice(part);
                let told = step.explain().unwrap();
                assert!(told.contains("is moved before") && told.contains("\"["), "{name} {part:?}: {told}");
                assert!(step.collect().unwrap().same_as(&expected), "{name} {part:?}: {told}");
                for positions in [1, 4, 1000].into_iter().skip((number + at) % one_of(3)).step_by(one_of(3)) {
                    let on = step.on(Chunks::memory(1 << 30).positions(positions));
                    assert!(on.collect().unwrap().same_as(&expected), "{name} {part:?}: {}", on.explain().unwrap());
                }
            }
        }
    }
    // Two slices of one scan read it once.
    let scan = scanned(&folder.path("x/"));
    let sums = scan.slice(s![0..2, .., ..]).sum(0) + scan.slice(s![2..4, .., ..]).sum(0);
    assert!(!sums.explain().unwrap().contains("is moved before"), "{}", sums.explain().unwrap());
    let expected =
        x.slice(s![0..2, .., ..]).unwrap().sum(0).unwrap() + &x.slice(s![2..4, .., ..]).unwrap().sum(0).unwrap();
    assert!(sums.collect().unwrap().same_as(&expected));

    let scan = scanned(&folder.path("x/"));
    let last = fs::read_dir(folder.path("x")).unwrap().map(|entry| entry.unwrap().path());
    let last = last.filter(|path| path.extension().is_some_and(|it| it == "parquet")).max().unwrap();
    fs::remove_file(last).unwrap();
    assert!(scan.abs().collect().is_err(), "a part is not there");
    let first = scan.abs().slice(s![0..2, .., ..]);
    assert!(first.collect().unwrap().same_as(&x.abs().unwrap().slice(s![0..2, .., ..]).unwrap()));
    assert!(first.on(Chunks::memory(1 << 20)).collect().is_ok());
}

/// The slice goes before the sum of squares that overflows: what is written, as what is collected, refuses with the
/// place in the whole. Written alone it named that in the slice. Whether an operand that is repeated stores every
/// position is asked of all of it, and not of a range.
#[test]
fn repeated_operands_from_files_decide_as_a_whole() {
    let folder = Folder::new("whole");
    let x = CooTensor::random([6, 400], 800, 7).unwrap();
    let column = |fill: f64| {
        let coords = vec![(0..5).collect::<Vec<u32>>(), vec![0; 5]];
        CooTensor::new([6, 1], coords, vec![1.0, 2.0, 3.0, 4.0, 5.0], fill).unwrap()
    };
    let row = CooTensor::new([400], vec![(1..400).collect::<Vec<u32>>()], vec![2.0; 399], 1.0).unwrap();
    for (number, y) in [column(1.0), column(0.0), column(f64::INFINITY), row].into_iter().enumerate() {
        let [of_x, of_y] = ["x", "y"].map(|name| folder.path(&format!("{number}-{name}.parquet")));
        for (path, tensor) in [(&of_x, &x), (&of_y, &y)] {
            write(path, tensor, &WriteOptions::default().group_entries(100)).unwrap();
        }
        let (x, y) = (scanned(&of_x), scanned(&of_y));
        let part = if y.shape().unwrap().len() == 2 { y.slice(ndarray::s![1..5, ..]) } else { y.clone() };
        let graphs = [
            &x / &y,
            &x * &y,
            (x.abs() / &y).slice(ndarray::s![1..5, ..]),
            &x.slice(ndarray::s![1..5, ..]) / &part,
            (&x / &y).nanmedian(0),
            (&x / &y).stored().count_nonzero(1).cast(),
        ];
        for (at, graph) in graphs.iter().enumerate() {
            let expected = graph.collect().map_err(|error| error.to_string());
            for engine in [Chunks::memory(1 << 30).positions(1), Chunks::memory(1 << 20), Chunks::memory(1 << 22)] {
                match (&expected, graph.on(engine).collect()) {
                    (Ok(expected), Ok(found)) => {
                        assert!(found.same_as(expected), "{number} {at}: {found:?}\n{expected:?}");
                    }
                    (expected, found) => {
                        assert!(expected.is_err() && found.is_err(), "{number} {at}: {found:?}\n{expected:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_refused_while_it_is_written_is_told_as_it_was_asked_for() {
    let folder = Folder::new("refused");
    let x = CooTensor::new([9, 1], vec![vec![1, 6], vec![0, 0]], vec![1, i64::MAX], 0).unwrap();
    write(folder.path("x.parquet"), &x, &WriteOptions::default()).unwrap();
    let scan: Lazy<CooTensor<i64>> = scan(folder.path("x.parquet"), &ReadOptions::default()).unwrap();
    let on = scan.square().slice(ndarray::s![5.., ..]).on(Threads);
    assert!(on.explain().unwrap().contains("rewritten"));
    let written = on.sink(folder.path("y.parquet"), &WriteOptions::default()).unwrap_err().to_string();
    assert_eq!(written, on.collect().unwrap_err().to_string());
    assert!(written.contains("[6, 0]"), "{written}");
    assert!(!folder.path("y.parquet").exists());
}

#[test]
fn an_error_leaves_no_files_and_what_was_there() {
    let folder = Folder::new("errors");
    let x = CooTensor::new([4, 3], vec![vec![0, 2, 3], vec![1, 1, 1]], vec![1, i64::MAX, 1], 0).unwrap();
    write(folder.path("x.parquet"), &x, &WriteOptions::default()).unwrap();
    fs::create_dir(folder.path("spill")).unwrap();
    fs::write(folder.path("y.parquet"), "before").unwrap();
    let x: Lazy<CooTensor<i64>> = scan(folder.path("x.parquet"), &ReadOptions::default()).unwrap();
    let on = x.square().median(0).on(Chunks::memory(1 << 20).positions(1).spill(folder.path("spill")));
    let error = on.sink(folder.path("y.parquet"), &WriteOptions::default()).unwrap_err().to_string();
    assert!(error.contains("square at tests/io_chunks.rs"), "{error}");
    assert!(error.contains("in the chunk 1..2 of axis 0, with positions counted from 1: "), "{error}");
    assert_eq!(fs::read(folder.path("y.parquet")).unwrap(), b"before");
    assert!(folder.is_empty("spill"));

    // The operand of a step that is not computed in chunks must fit memory, and so must a file.
    let big: Lazy<CooTensor<f64>> = {
        write(folder.path("big.parquet"), &readings(), &WriteOptions::default()).unwrap();
        scanned(&folder.path("big.parquet"))
    };
    let Error::Lazy { operation, cause, .. } = big.take(vec![3usize]).on(Chunks::memory(10_000)).collect().unwrap_err()
    else {
        panic!("a file of 200 kB fits no 10 kB")
    };
    assert_eq!(operation, "scan");
    assert!(matches!(*cause, Error::TooLarge { limit: 10_000, .. }), "{cause:?}");
}

/// A folder whose process is gone is removed, and no other.
#[test]
fn folders_of_processes_that_were_killed_go() {
    let folder = Folder::new("stale");
    write(folder.path("x.parquet"), &readings(), &WriteOptions::default()).unwrap();
    let left = ["lacuna-spill-1-0", "lacuna-spill-2-0", "others"].map(|name| folder.path("spill").join(name));
    for folder in &left {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("0.parquet"), "left").unwrap();
        fs::write(folder.join("lock"), "").unwrap();
    }
    let living = File::options().write(true).open(left[1].join("lock")).unwrap();
    living.lock().unwrap();
    let engine = Chunks::memory(1 << 20).spill(folder.path("spill"));
    let medians = scanned(&folder.path("x.parquet")).nanmedian(0).on(engine).collect().unwrap();
    assert_eq!(*medians.shape(), [60, 5]);
    assert_eq!(left.map(|folder| folder.exists()), [false, true, true]);
}

/// By one bit of the lists of pages, or of what a row group says of its coordinates, pages were left out in silence:
/// 79520 for 100000 entries of 1.
#[test]
fn damaged_bounds_are_refused_or_make_no_difference() {
    let folder = Folder::new("damaged-bounds");
    let (whole, damaged) = (folder.path("whole.parquet"), folder.path("damaged.parquet"));
    let entries = 0..50_000_u32;
    let coords = vec![entries.clone().map(|at| at / 100).collect(), entries.clone().map(|at| at % 100 * 2).collect()];
    let x = CooTensor::<i64>::new([500, 200], coords, vec![1; 50_000], 0).unwrap();
    write(&whole, &x, &WriteOptions::default()).unwrap();
    let bytes = fs::read(&whole).unwrap();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let (first, last) = (bytes.len() - 8 - footer - 500, bytes.len() - 8);
    let mut refused = 0;
    for at in (first..last).step_by(9 * one_of(3)) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at / 9 % 8);
        fs::write(&damaged, &bytes).unwrap();
        let sum = scan::<i64, u32>(&damaged, &ReadOptions::default())
            .and_then(|x| x.sum(Axes::all()).on(Chunks::memory(1 << 20).positions(100)).collect());
        match sum {
            Ok(sum) => assert_eq!(sum.values(), [50_000], "byte {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 8, "{refused}");
}
