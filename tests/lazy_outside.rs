//! The view that an engine of another package has of a graph. A small engine reads a file in parts, reduces each part
//! by itself, and merges the accumulators as bytes.

#![cfg(feature = "parquet")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use lacuna::io::{ReadOptions, WriteOptions, scan, write};
use lacuna::lazy::engine_api::{ErasedValue, Found, Part, Partial, Plan, Query, Rows, Sealed, Side};
use lacuna::lazy::{Engine, Lazy};
use lacuna::{Axes, CooTensor, Error, Norm, Result, Triplets};

/// Folds the first result of a plan in so many parts. What comes of these goes through `change` on its way.
struct InParts(usize, fn(&mut Vec<Found>));

impl Sealed for InParts {}

impl Engine for InParts {
    fn values(&self, plan: &Plan, slots: Vec<Option<ErasedValue>>) -> Result<Vec<ErasedValue>> {
        let fold = plan.results()[0];
        let is_read = |at: &usize| plan.view(*at).source().is_some();
        let read = (0..plan.count()).find(is_read).expect("a plan that reads");
        let sides: Vec<(usize, ErasedValue)> =
            slots.iter().enumerate().filter_map(|(at, slot)| Some((at, slot.clone()?))).collect();
        let steps: Vec<usize> = (0..fold).filter(|&at| at != read && slots[at].is_none()).collect();
        assert!(steps.iter().all(|&at| plan.view(at).is_elementwise()));
        let query = Query::new(plan, fold, &steps, read, &sides)?;
        let mut found = grouped(&query, self.0)?;
        let all =
            (found.iter().map(|group| group.count).sum(), plan.view(read).source().and_then(|read| read.checks()));
        assert_eq!(Some(all.0), all.1.map(|(entries, _)| entries));
        (self.1)(&mut found);
        query.finish(&found).map(|value| vec![value])
    }

    fn for_each_chunk(
        &self,
        _: &Plan,
        _: Vec<Option<ErasedValue>>,
        _: &mut dyn FnMut(&ErasedValue) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }

    fn explain(&self, plan: &Plan, _: &[Option<ErasedValue>]) -> String {
        plan.to_text()
    }
}

/// Returns the accumulator of each group after all parts. The last part is read first.
fn grouped(query: &Query, parts: usize) -> Result<Vec<Found>> {
    let (mut groups, mut merged) = (BTreeMap::<Vec<u64>, (usize, u64)>::new(), query.partial().expect("a fold"));
    let mut hash = 0_u64;
    for number in (0..parts).rev() {
        let mut of_part = BTreeMap::<Vec<u64>, (Box<dyn Partial>, u64)>::new();
        query.reader().read(Part { number, of: parts, memory: 1 << 10 }, &mut |rows| {
            hash = rows.hashes.iter().fold(hash, |sum, hash| sum.wrapping_add(*hash));
            add(query, &rows, &mut of_part)
        })?;
        for (coords, (mut partial, count)) in of_part {
            let (next, mut state) = (groups.len(), Vec::new());
            let (group, sum) = groups.entry(coords).or_insert((next, 0));
            *sum += count;
            partial.take(0, &mut state);
            merged.resize(*group + 1).unwrap();
            assert!(merged.merge(*group, &state));
        }
    }
    let mut state = |group| {
        let mut state = Vec::new();
        merged.take(group, &mut state);
        state
    };
    Ok(groups.into_iter().map(|(coords, (group, count))| Found { coords, count, state: state(group) }).collect())
}

/// Takes rows in, one by one.
fn add(query: &Query, rows: &Rows, groups: &mut BTreeMap<Vec<u64>, (Box<dyn Partial>, u64)>) -> Result<()> {
    let sides =
        query.sides().iter().map(|side| side.at(&rows.coords, rows.hashes.len())).collect::<Result<Vec<_>>>()?;
    let values = query.map(&rows.values, &sides.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    for (row, value) in values.chunks(query.width()).enumerate() {
        let coords = query.kept().iter().map(|&axis| rows.coords[axis][row]).collect();
        let (partial, count) = groups.entry(coords).or_insert_with(|| (query.partial().expect("a fold"), 0));
        partial.resize(1).unwrap();
        assert!(partial.add(value, &[0]));
        *count += 1;
    }
    Ok(())
}

/// A file that is removed with this.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A scanned file with values of all magnitudes.
fn scanned(name: &str) -> (File, Lazy<CooTensor<f64>>) {
    let mut triplets = Triplets::new([6, 5, 4]).unwrap();
    let values = [1e300, -1e300, 0.1, -0.0, f64::NAN, 3.0, 1e-300, f64::INFINITY, -7.5, 1e16];
    for at in (0..120).filter(|at| at % 3 != 1) {
        triplets.push(&[at / 20, at / 4 % 5, at % 4], values[at * at % 11 % 10]).unwrap();
    }
    let x = triplets.with_fill(0.5).coalesce(lacuna::Duplicates::Error).unwrap();
    let path = std::env::temp_dir().join(format!("lacuna-outside-{name}-{}.parquet", std::process::id()));
    write(&path, &x, &WriteOptions::default().group_entries(7)).unwrap();
    let lazy = scan(&path, &ReadOptions::default()).unwrap();
    (File(path), lazy)
}

/// The bits of values and fill, and the coordinates.
fn bits(x: &CooTensor<f64>) -> (Vec<u64>, Vec<Vec<usize>>) {
    let bits = x.values().iter().chain([&x.fill()]).map(|value| value.to_bits()).collect();
    (bits, x.iter().map(|(coords, _)| coords.to_vec()).collect())
}

#[test]
fn parts_are_merged_to_the_same_bits() {
    let (_file, x) = scanned("merged");
    for axes in [Axes::all(), Axes::from(0), Axes::from([0, 2]).keep_dims(), Axes::from(2)] {
        let (y, stored) = ((&x * 3.0).sqrt(), x.stored());
        let folds = [x.sum(&axes), y.nansum(&axes), stored.mean(&axes), x.nanmax(&axes), stored.min(&axes)];
        let norms = [x.norm(Norm::over(&axes)), y.norm(Norm::over(&axes).one()), x.norm(Norm::over(&axes).infinity())];
        for fold in folds.into_iter().chain(norms) {
            for parts in [1, 3, 100] {
                let found = fold.on(InParts(parts, |_| ())).collect().unwrap();
                assert_eq!(bits(&found), bits(&fold.collect().unwrap()), "{fold:?} over {axes:?} in {parts} parts");
            }
        }
        let found = x.isnan().any(&axes).on(InParts(5, |_| ())).collect().unwrap();
        assert_eq!(found, x.isnan().any(&axes).collect().unwrap());
    }
}

/// Operands that are repeated are looked up for each entry, where the result has the entries that are read.
#[test]
fn repeated_operands_are_looked_up() {
    let (_file, x) = scanned("sides");
    let row = CooTensor::new([4], vec![vec![0, 1, 2, 3]], vec![2.0, -1.0, 0.5, 3.0], 7.0).unwrap();
    let number = CooTensor::new([1, 1, 1], vec![vec![0]; 3], vec![1.5], 0.0).unwrap();
    for axes in [Axes::all(), Axes::from(0), Axes::from([0, 2]).keep_dims()] {
        let of_row = x.stored().mul(row.lazy().stored()).sum(&axes);
        for fold in [of_row, (&(&x - &number) * &number).nansum(&axes), (&x * &number).max(&axes)] {
            for parts in [1, 3, 100] {
                let found = fold.on(InParts(parts, |_| ())).collect().unwrap();
                assert_eq!(bits(&found), bits(&fold.collect().unwrap()), "{fold:?} over {axes:?} in {parts} parts");
            }
        }
    }
    let gaps = CooTensor::new([4], vec![vec![1]], vec![2.0], 7.0).unwrap();
    for (step, why) in [(&x + &row, "it stores elements where the source has none"), (&x + &gaps, "every element")] {
        let error = step.sum(0).on(InParts(2, |_| ())).collect().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn operands_with_other_elements_than_positions_are_refused() {
    let side = |lengths: &[usize], width, bytes: &[u8]| Side::new(lengths.to_vec(), width, bytes.into());
    assert_eq!(side(&[2, 1], 2, b"abcd").unwrap().at(&[vec![1, 0], vec![7, 8]], 2).unwrap(), b"cdab");
    assert!(side(&[2], 2, b"abc").is_err() && side(&[2], 0, b"").is_err() && side(&[usize::MAX, 3], 1, b"").is_err());
    assert!(side(&[2], 2, b"abcd").unwrap().at(&[vec![2]], 1).is_err());
}

#[test]
fn what_comes_back_wrong_is_refused() {
    let (_file, x) = scanned("wrong");
    type Spoil = fn(&mut Vec<Found>);
    let wrong: [(&str, Spoil); 7] = [
        ("a state is cut", |found| found[0].state.truncate(1)),
        ("a state is longer", |found| found[2].state.push(0)),
        ("a state is another", |found| found[1].state = vec![9; 40]),
        ("two groups change places", |found| found.swap(0, 1)),
        ("a group comes twice", |found| found.insert(1, found[0].clone())),
        ("a coordinate is beyond the axis", |found| found[3].coords[0] = 1 << 40),
        ("a coordinate is missing", |found| found[3].coords.clear()),
    ];
    for (told, change) in wrong {
        let found = x.sum([1, 2]).on(InParts(2, change)).collect();
        assert!(matches!(found, Err(Error::Argument { .. } | Error::Lazy { .. })), "{told}: {found:?}");
    }
}
