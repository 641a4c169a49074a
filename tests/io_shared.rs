//! Reads every file of a folder of real files, named by `LACUNA_SHARED_DATA`, and compares with what is known of them
//! (`EXPECT.json` in that folder). Without the variable the test says so and passes.

#![cfg(feature = "io")]

use lacuna::io::{AnyFormat, AnyTensor, FileFormat, Format, ReadOptions, read};
use lacuna::{DType, Duplicates};
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

/// Files that scipy refuses and this library reads, or the other way round, with the reason.
const VECTORS: &str = "fmm_valid/vector_";
const ARCHIVES_OF_OTHER_THINGS: &[&str] = &["linprog_AFIRO.npz", "linprog_CZPROB.npz"];

fn complex_values(x: AnyTensor) -> Vec<Complex<f64>> {
    match x.cast(DType::Complex128).unwrap().into_format(Format::Coo).unwrap() {
        AnyTensor::Complex128(AnyFormat::Coo(x)) => x.values().to_vec(),
        other => panic!("{other:?}"),
    }
}

fn check(name: &str, x: AnyTensor, expected: &Value) {
    let shape: Vec<u64> = x.shape().iter().map(|&length| length as u64).collect();
    assert_eq!(serde_json::json!(shape), expected["shape"], "{name}");
    assert_eq!(x.dtype().name(), expected["dtype"], "{name}");
    assert_eq!(x.nnz() as u64, expected["entries_after_merge"].as_u64().unwrap(), "{name}");
    let values = complex_values(x);
    let count = |is: fn(&&Complex<f64>) -> bool| values.iter().filter(is).count() as u64;
    assert_eq!(count(|value| value.is_nan()), expected["nan"], "{name}");
    let infinite = |value: &Complex<f64>| !value.is_nan() && (value.re.is_infinite() || value.im.is_infinite());
    assert_eq!(values.iter().filter(|&value| infinite(value)).count() as u64, expected["inf"], "{name}");
    // A sum over entries before merging would count the zeros of the array layout too; after it, so does this.
    assert!(count(|value| **value == Complex::ZERO) >= expected["explicit_zeros"].as_u64().unwrap(), "{name}");
    let finite: Complex<f64> = values.iter().filter(|value| value.is_finite()).sum();
    let magnitude: f64 = values.iter().filter(|value| value.is_finite()).map(|value| value.norm()).sum();
    let sum = &expected["finite_sum"];
    for (found, known) in [(finite.re, &sum[0]), (finite.im, &sum[1])] {
        assert!((found - known.as_f64().unwrap()).abs() <= 1e-12 * magnitude, "{name}: {found} {known}");
    }
}

#[test]
fn every_file_reads_as_known_or_is_refused() {
    let Some(folder) = folder() else { return };
    let text = std::fs::read_to_string(folder.join("EXPECT.json")).unwrap().replace("Infinity", "null");
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (mut agreed, mut refused) = (0, 0);
    for path in files(&folder).into_iter().filter(|path| FileFormat::from_path(path).is_some()) {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_string();
        let known = &expected[&name];
        let result = read(&path, &ReadOptions::default());
        let invalid = name.starts_with("fmm_invalid") || ARCHIVES_OF_OTHER_THINGS.contains(&name.as_str());
        if invalid || (known["scipy_error"].is_string() && !name.starts_with(VECTORS)) {
            println!("{name}: {}", result.expect_err(&name));
            refused += 1;
        } else if known["entries_after_merge"].is_u64() {
            check(&name, result.unwrap_or_else(|error| panic!("{name}: {error}")), known);
            agreed += 1;
        } else {
            let x = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name}: {} {} {}", x.shape(), x.dtype(), x.nnz());
        }
    }
    println!("{agreed} files agree, {refused} are refused");
    assert!(agreed > 70 && refused > 30);
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
