//! Reads every file of a folder of real files, named by `LACUNA_SHARED_DATA`, and compares with what is known of them
//! (`EXPECT.json` in that folder). Without the variable the test says so and passes.

#![cfg(feature = "io")]

use lacuna::io::{AnyTensor, Format, ReadOptions, read};
use lacuna::{Axes, DType, Duplicates, Element, Number, dispatch, dispatch_real};
use num_complex::Complex;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("LACUNA_SHARED_DATA").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: LACUNA_SHARED_DATA names no folder");
    }
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The files that are not tensor files.
const NOTES: &[&str] = &["EXPECT.json", "PROVENANCE.md"];

/// Files that this library refuses: they are not what their names say, with the reason for each.
const REFUSED: &[(&str, &str)] = &[
    ("sprs_hermitian.mtx", "its diagonal has an imaginary part, so that it is not Hermitian"),
    ("fmm_invalid/", "written to be wrong"),
    ("fmm_overflow/overflow_dim_gt_int64.mtx", "an axis longer than an index can say"),
    ("fmm_overflow/overflow_index_gt_int64.mtx", "an index beyond every axis"),
    ("fmm_overflow/overflow_value_gt_int64.mtx", "an integer beyond the type"),
    ("linprog_AFIRO.npz", "dense arrays, no tensor"),
    ("linprog_CZPROB.npz", "dense arrays, no tensor"),
    ("matrix_fp64.mtx", "real values under the field integer"),
    ("matrix_uint64.mtx", "values above int64 under the field integer"),
    ("splatt_small4_zeroidx.tns", "coordinates counted from 0"),
];

/// A graph whose lines are coordinates only, which nothing but the shape tells from three axes and a value.
const WITHOUT_VALUES: &str = "KG_WikiPeople_4_ids_1based.tns";

fn options_for(name: &str, known: &Value) -> ReadOptions {
    let mut options = ReadOptions::default();
    if name == WITHOUT_VALUES {
        let shape: Vec<usize> = serde_json::from_value(known["min_shape"].clone()).unwrap();
        options.shape = Some(shape.into());
    }
    options
}

fn is_refused(name: &str) -> bool {
    REFUSED.iter().any(|(refused, _)| name.starts_with(refused))
}

/// Returns the facts of `EXPECT.json` by file. Infinities are not JSON, so they become strings.
fn facts(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("EXPECT.json")).unwrap();
    let text = text.replace("Infinity", "\"inf\"").replace("-\"inf\"", "\"-inf\"").replace("NaN", "\"nan\"");
    serde_json::from_str(&text).unwrap()
}

fn number(known: &Value) -> f64 {
    known.as_f64().or_else(|| known.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{known} is no number"))
}

fn as_f64(value: impl Element) -> f64 {
    match value.to_number() {
        Number::Real(value) => value,
        other => panic!("the median is {other:?}"),
    }
}

/// A file that was read, with what is compared.
struct Tensor {
    path: PathBuf,
    options: ReadOptions,
    x: AnyTensor,
    values: Vec<Complex<f64>>,
}

impl Tensor {
    fn new(path: PathBuf, options: ReadOptions, x: AnyTensor) -> Self {
        let x = x.into_format(Format::Coo).unwrap();
        let values = match x.clone().cast(DType::Complex128).unwrap() {
            AnyTensor::Complex128(x) => x.values().to_vec(),
            other => panic!("{other:?}"),
        };
        Tensor { path, options, x, values }
    }

    fn count(&self, is: impl Fn(&Complex<f64>) -> bool) -> Value {
        self.values.iter().filter(|value| is(value)).count().into()
    }

    /// Returns whether the file repeats no position: a reader that rejects repetitions accepts the file.
    fn repeats_nothing(&self) -> bool {
        let mut options = self.options.clone();
        options.duplicates = Duplicates::Error;
        read(&self.path, &options).is_ok()
    }

    /// Returns how many elements of `any` over one axis are true.
    fn any_true(&self, axis: usize) -> Value {
        let true_ones = |any: &[bool]| any.iter().filter(|&&any| any).count();
        dispatch!(&self.x, x => true_ones(x.any(axis as isize).unwrap().values())).into()
    }

    /// Returns whether the median equals the known median. Complex numbers have none, and neither do tensors without
    /// numbers.
    fn median_is(&self, stored: bool, known: &Value) -> bool {
        let median = dispatch_real!(&self.x, x => {
            let median = if stored { x.stored().nanmedian(Axes::all()) } else { x.nanmedian(Axes::all()) };
            as_f64(median.unwrap().get(&[]).unwrap())
        }, else => f64::NAN);
        if known.is_null() { median.is_nan() } else { median == number(known) }
    }

    /// The sum of what is finite, up to rounding.
    fn sums_to(&self, re: &Value, im: &Value) -> bool {
        let finite: Vec<_> = self.values.iter().filter(|value| value.is_finite()).collect();
        let (sum, magnitude): (Complex<f64>, f64) =
            (finite.iter().copied().sum(), finite.iter().map(|v| v.norm()).sum());
        (sum.re - number(re)).abs() <= 1e-12 * magnitude && (sum.im - number(im)).abs() <= 1e-12 * magnitude
    }

    /// Returns whether a fact holds. A fact of an unknown name does not hold.
    fn agrees(&self, fact: &str, known: &Value) -> bool {
        let shape = || self.x.shape().iter().map(|&length| Value::from(length)).collect::<Vec<_>>();
        let infinite = |value: &Complex<f64>| !value.is_nan() && (value.re.is_infinite() || value.im.is_infinite());
        match fact {
            "shape" | "min_shape" => Value::from(shape()) == *known,
            "order" => *known == self.x.rank(),
            "dtype" => self.x.dtype().name() == known,
            "nnz" | "entries_after_merge" => *known == self.x.nnz(),
            "nonzero" => self.count(|value| *value != Complex::ZERO) == *known,
            "entries_after_symmetry" => self.repeats_nothing() == (*known == self.x.nnz()),
            "duplicate_coordinates" => self.repeats_nothing() == (*known == 0),
            "explicit_zeros" => self.count(|value| *value == Complex::ZERO) == *known,
            "nan" => self.count(|value| value.is_nan()) == *known,
            "inf" => self.count(infinite) == *known,
            "finite_sum" => self.sums_to(&known[0], &known[1]),
            "sum_finite" => self.sums_to(known, &Value::from(0)),
            "any_axis0_true" => self.any_true(0) == *known,
            "any_axis1_true" => self.any_true(1) == *known,
            "any_per_axis_true" => (0..self.x.rank()).map(|axis| self.any_true(axis)).collect::<Value>() == *known,
            "nanmedian_of_stored" => self.median_is(true, known),
            "nanmedian" => self.median_is(false, known),
            _ => panic!("no such fact: {fact}"),
        }
    }

    /// Returns the number of known facts of the file, and the facts that do not hold.
    fn check(&self, known: &Value) -> (usize, Vec<String>) {
        let known = known.as_object().cloned().unwrap_or_default();
        // For an archive, the shapes of the members are known.
        if known.contains_key("data") {
            let agrees = known["data"][0][0] == self.x.nnz();
            return (1, if agrees { vec![] } else { vec![format!("data {}", known["data"])] });
        }
        let wrong = known.iter().filter(|(fact, known)| !self.agrees(fact, known));
        (known.len(), wrong.map(|(fact, known)| format!("{fact} {known}")).collect())
    }
}

/// Returns the outcome of one file, and the errors in that outcome.
fn outcome(path: &Path, name: &str, known: &Value) -> (String, usize, Vec<String>) {
    let options = options_for(name, known);
    match (read(path, &options), is_refused(name)) {
        (Err(error), true) => (format!("refused: {error}"), 0, vec![]),
        (Err(error), false) => (format!("refused: {error}"), 0, vec!["is not to be refused".into()]),
        (Ok(x), true) => (format!("{} {}", x.shape(), x.dtype()), 0, vec!["is to be refused".into()]),
        (Ok(x), false) => {
            let line = format!("{} {}, {} stored", x.shape(), x.dtype(), x.nnz());
            // If scipy rejects a file that is read here, there are no known facts.
            let known = if known["scipy_error"].is_string() { &Value::Null } else { known };
            let (count, wrong) = Tensor::new(path.to_path_buf(), options, x).check(known);
            (format!("{line}, {count} facts"), count, wrong)
        }
    }
}

#[test]
fn every_file_reads_as_known_or_is_refused() {
    let Some(folder) = folder() else { return };
    let known = facts(&folder);
    let (mut files_of, mut all_facts, mut all_wrong) = ([0; 3], 0, Vec::new());
    for path in files(&folder) {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_string();
        if NOTES.contains(&name.as_str()) {
            continue;
        }
        let (line, facts, wrong) = outcome(&path, &name, &known[&name]);
        println!("{name:60} {line}");
        let kind = if is_refused(&name) { 2 } else { usize::from(facts == 0) };
        files_of[kind] += 1;
        all_facts += facts;
        all_wrong.extend(wrong.iter().map(|wrong| format!("{name}: {wrong}")));
    }
    let [agreed, only_read, refused] = files_of;
    println!("\n{agreed} files agree in {all_facts} facts, {only_read} are read, {refused} are refused:");
    REFUSED.iter().for_each(|(name, why)| println!("  {name:60} {why}"));
    assert!(all_wrong.is_empty(), "{}", all_wrong.join("\n"));
    assert!(agreed >= 94 && all_facts >= 988 && refused >= 40);
}

#[test]
fn a_symmetric_file_equals_its_general_twin() {
    let Some(folder) = folder() else { return };
    let mut options = ReadOptions::default();
    options.duplicates = Duplicates::Error;
    let mut pairs = 0;
    for path in files(&folder) {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let twin = path.with_file_name(format!("{stem}_general.mtx"));
        if twin.exists() {
            let (a, b) = (read(&path, &options).unwrap(), read(&twin, &options).unwrap());
            assert_eq!(a, b, "{stem}");
            pairs += 1;
        }
    }
    assert!(pairs >= 8, "{pairs}");
}

#[test]
fn the_archives_hold_what_their_sources_hold() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| read(folder.join(name), &ReadOptions::default()).unwrap();
    assert!(read("IL2_coo.npz").same_as(&read("IL2_Response_Tensor.npy")));
    let (text, archive) = (read("west0067.mtx"), read("west0067_scipy_csr.npz"));
    assert!(archive.into_format(Format::Coo).unwrap().same_as(&text));
}
