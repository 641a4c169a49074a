//! The program, run as a shell runs it.

#![cfg(feature = "cli")]

use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lacuna-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).to_str().unwrap().into()
}

fn lacuna(arguments: &[&str]) -> Output {
    lacuna_with(arguments, b"")
}

fn lacuna_with(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lacuna"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON object that a command that succeeds prints.
fn json_of(arguments: &[&str]) -> Value {
    let output = lacuna(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn values_of(arguments: &[&str]) -> Value {
    json_of(arguments)["values"].clone()
}

/// The one sentence on stderr of a command that fails with `status`.
fn failure(status: i32, arguments: &[&str]) -> String {
    let output = lacuna(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(status != 1 || stderr(&output).trim_end().lines().count() == 1, "{}", stderr(&output));
    stderr(&output)
}

const SMALL: &str = "%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 0\n1 3 -inf\n2 1 nan\n2 2 0.1\n";

#[test]
fn info_as_text_and_as_json() {
    let text = stdout(&lacuna(&["info", &data("mauna_loa_co2.mtx")]));
    for line in [
        "shape    [44, 53]",
        "dtype    float64",
        "stored   2284 of 2332 (97.9 %)",
        "fill     0.0",
        "NaNs     59 stored",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let folder = Folder::new("info");
    let info = json_of(&["info", &folder.file("x.mtx", SMALL)]);
    let values = json!([[[0, 0], 0.0], [[0, 2], "-inf"], [[1, 0], "nan"], [[1, 1], 0.1]]);
    let expected =
        json!({"format": "coo", "shape": [2, 3], "dtype": "float64", "nnz": 4, "fill": 0.0, "values": values});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&info[key], value, "{key}");
    }
    assert_eq!((&info["stored_zeros"], &info["nans"], &info["infinities"]), (&json!(1), &json!(1), &json!(1)));
    let many = json_of(&["info", &data("mauna_loa_co2.mtx")]);
    assert!(many.get("values").is_none());
}

#[test]
fn complex_and_exact_integers_in_json() {
    assert_eq!(values_of(&["info", &data("pauli_sum.mtx")])[1], json!([[0, 1], [1.0, -1.0]]));
    let folder = Folder::new("exact");
    let file = folder
        .file("x.mtx", "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n");
    assert_eq!(values_of(&["info", &file]), json!([[[0, 0], 18446744073709551615u64]]));
}

#[test]
fn any_over_axes() {
    let small = Folder::new("any");
    let file = small.file("x.mtx", SMALL);
    assert_eq!(values_of(&["any", &file]), json!([[[], true]]));
    assert_eq!(values_of(&["any", &file, "--axis", "-1"]), json!([[[0], true], [[1], true]]));
    assert_eq!(values_of(&["any", &file, "--axis=0"]), json!([[[0], true], [[1], true], [[2], true]]));
    let kept = json_of(&["any", &file, "--axis", "-2,-1", "--keep-dims"]);
    assert_eq!((&kept["shape"], &kept["values"]), (&json!([1, 1]), &json!([[[0, 0], true]])));
    assert_eq!(values_of(&["any", &file, "--axis", "none"])[0], json!([[0, 0], false]));
    let weeks = json_of(&["any", &data("mauna_loa_co2.mtx"), "--axis", "0"]);
    assert_eq!((&weeks["shape"], &weeks["nnz"]), (&json!([53]), &json!(53)));
    assert!(failure(1, &["any", &file, "--axis", "2"]).contains("x.mtx: axis 2 is out of range for rank 2"));
    assert!(failure(1, &["any", &file, "--axis", "0,-2"]).contains("axis 0 is repeated"));
}

#[test]
fn csr_stays_csr_over_any_axes() {
    let file = data("karate_csr.npz");
    assert_eq!(json_of(&["any", &file, "--axis", "1"])["format"], "csr");
    assert_eq!(json_of(&["any", &file, "--axis", "0"])["format"], "csr");
    assert_eq!(json_of(&["any", &file, "--axis", "1", "--layout", "coo"])["format"], "coo");
    let of_csr = json_of(&["nanmedian", &file, "--axis", "0", "--layout", "csr"]);
    let of_coo = json_of(&["nanmedian", &file, "--axis", "0", "--layout", "coo"]);
    assert_eq!((&of_csr["format"], &of_csr["values"]), (&json!("csr"), &of_coo["values"]));
    let taken = json_of(&["take", &file, "--axis", "0", "--indices", "33"]);
    assert_eq!((&taken["format"], &taken["nnz"]), (&json!("csr"), &json!(17)));
}

#[test]
fn isin_reads_values_in_the_tensors_type() {
    let folder = Folder::new("isin");
    let file = folder.file("x.mtx", SMALL);
    let members = |arguments: &[&str]| {
        let values = values_of(&[&["isin", &file], arguments].concat());
        values.as_array().unwrap().iter().map(|entry| entry[1].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(members(&["--values", "-inf,nan,-0.0"]), [true, true, false, false]);
    assert_eq!(members(&["--values", "0.1", "--dtype", "float32"]), [false, false, false, true]);
    assert_eq!(members(&["--values", ""]), [false; 4]);
    assert_eq!(members(&["--values", "0", "--invert"]), [false, true, true, true]);
    assert_eq!(json_of(&["isin", &file, "--values", "0", "--invert"])["fill"], false);
    let output = lacuna(&["isin", &data("titanic.npz"), "--values", "13,300.5,1e300", "--dtype", "int16", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("300.5 is not a value of type int16; it is never a member"));
    assert!(stdout(&output).contains("[[1, 0, 0, 1], false], [[1, 0, 1, 0], false]"));
    assert_eq!(values_of(&["isin", &data("pauli_sum.mtx"), "--values", "1-1j"])[1], json!([[0, 1], true]));
    let wide = lacuna(&["isin", &file, "--values", "1e300,-inf", "--dtype", "float32", "--json"]);
    assert!(stderr(&wide).contains("1e300 is not a value of type float32"));
}

/// 9007199254740993.5 is no integer; the nearest double is one.
#[test]
fn a_number_between_integers_is_never_a_member_of_them() {
    let folder = Folder::new("between");
    let banner = "%%MatrixMarket matrix coordinate integer general";
    let file =
        folder.file("x.mtx", &format!("{banner}\n1 3 3\n1 1 9007199254740993\n1 2 9007199254740994\n1 3 -1500\n"));
    let member = |word: &str| {
        let output = lacuna(&["isin", &file, "--values", word, "--json"]);
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let found = told["values"].as_array().unwrap().iter().position(|entry| entry[1] == true);
        (found, told["fill"] == true, stderr(&output).contains(" is not a value of type int64"))
    };
    for word in ["9007199254740993.5", "0.5", "1e400", "15e-1", "1e-400", "92233720368547758080.0"] {
        assert_eq!(member(word), (None, false, true), "{word}");
    }
    for (word, at) in [
        ("9007199254740993.0", 0),
        ("9.007199254740993e15", 0),
        ("+90071992547409940E-1", 1),
        ("-1.5e3", 2),
        ("-1500.", 2),
    ] {
        assert_eq!(member(word), (Some(at), false, false), "{word}");
    }
    for zero in ["-0.0", "0e400", "0.000e-9", ".0", "-.0"] {
        assert_eq!(member(zero), (None, true, false), "{zero}");
    }
}

#[test]
fn isin_of_a_file_compares_by_exact_value() {
    let folder = Folder::new("isin-from");
    let exact = |value: &str| format!("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 {value}\n");
    let x = folder.file("x.mtx", &exact("9007199254740993"));
    let same = folder.file("same.mtx", &exact("9007199254740993"));
    let near = folder.file("near.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 9007199254740992\n");
    let half = folder.file("half.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.5\n");
    assert_eq!(values_of(&["isin", &x, "--values-from", &same]), json!([[[0, 0], true]]));
    assert_eq!(values_of(&["isin", &x, "--values-from", &near]), json!([[[0, 0], false]]));
    assert_eq!(stderr(&lacuna(&["isin", &x, "--values-from", &same])), "");
    let output = lacuna(&["isin", &x, "--values-from", &half]);
    assert_eq!(stderr(&output), "warning: 1 of the values are not values of type int64; they are never members\n");
    let mixed = folder.file("mixed.mtx", "%%MatrixMarket matrix array real general\n4 1\n0.5\nnan\n1.5\n7\n");
    let output = lacuna(&["isin", &x, "--values-from", &mixed]);
    assert_eq!(stderr(&output), "warning: 2 of the values are not values of type int64; they are never members\n");
}

/// The fill of a file is also a member, if the file has unstored positions.
#[test]
fn isin_of_a_file_counts_its_gaps() {
    let folder = Folder::new("isin-gaps");
    let file = |name: &str, columns: usize| {
        folder.file(name, &format!("%%MatrixMarket matrix coordinate real general\n1 {columns} 2\n1 1 5\n1 2 6\n"))
    };
    let (full, gap) = (file("full.mtx", 2), file("gap.mtx", 3));
    assert_eq!(json_of(&["isin", &full, "--values-from", &full])["fill"], false);
    assert_eq!(json_of(&["isin", &full, "--values-from", &gap])["fill"], true);
    assert_eq!(values_of(&["isin", &gap, "--values-from", &full]), json!([[[0, 0], true], [[0, 1], true]]));
}

/// From 2^63 on an integer fits `uint64` only.
#[test]
fn great_integers_stay_what_they_are() {
    let folder = Folder::new("great");
    let x = folder.file("x.tns", "1 18446744073709551614\n2 18446744073709551614\n3 1\n");
    let ask = |words: &[&str]| values_of(&[words, &[&x, "--dtype", "uint64"]].concat());
    assert_eq!(ask(&["nanmedian", "--stored-only"]), json!([[[], 18446744073709551614u64 as f64]]));
    let first_two = json!([[[0], true], [[1], true], [[2], false]]);
    assert_eq!(ask(&["isin", "--values", "18446744073709551614"]), first_two);
}

#[test]
fn what_is_taken_keeps_its_fill() {
    let folder = Folder::new("take-fill");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n");
    let taken = json_of(&["take", &x, "--fill", "7", "--axis", "0", "--indices", "1,0"]);
    assert_eq!((&taken["fill"], &taken["values"]), (&json!(7.0), &json!([[[1, 0], 5.0]])));
}

#[test]
fn lanes_are_told_of_two_axes_and_more() {
    let folder = Folder::new("lanes");
    let told = |name: &str, text: &str| stdout(&lacuna(&["info", &folder.file(name, text)]));
    let (vector, matrix) = (told("vector.tns", "1 2\n3 4\n"), told("matrix.tns", "1 1 2\n3 1 4\n"));
    assert!(!vector.contains("\nrows ") && matrix.contains("\nrows "), "{vector}{matrix}");
}

#[test]
fn take_in_three_modes_and_along_an_axis() {
    let titanic = data("titanic.npz");
    let taken = |arguments: &[&str]| values_of(&[&["take", &titanic], arguments].concat());
    assert_eq!(taken(&["--indices", "-1,1"]), json!([[[0], 20], [[1], 5]]));
    assert_eq!(taken(&["--indices", "33,-1", "--mode", "wrap"]), json!([[[0], 5], [[1], 20]]));
    assert_eq!(taken(&["--indices", "99,1", "--mode", "clip"]), json!([[[0], 20], [[1], 5]]));
    assert!(
        failure(1, &["take", &titanic, "--indices", "1,32"])
            .contains("indices[1] = 32 is out of range for 32 elements; use --mode wrap or --mode clip")
    );
    let crew = json_of(&["take", &titanic, "--axis", "-4", "--indices", "3"]);
    assert_eq!((&crew["shape"], &crew["nnz"]), (&json!([1, 2, 2, 2]), &json!(4)));
    let folder = Folder::new("take");
    let indices = folder.file("i.mtx", "%%MatrixMarket matrix array integer general\n2 1\n0\n-1\n");
    let npy = folder.path("i.npy");
    assert_eq!(lacuna(&["convert", &indices, &npy]).status.code(), Some(0));
    let shaped = json_of(&["take", &titanic, "--indices-from", &npy, "--mode", "raise"]);
    assert_eq!((&shaped["shape"], &shaped["dtype"]), (&json!([2, 1]), &json!("int64")));
    let floats = folder.file("f.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
    assert!(
        failure(1, &["take", &titanic, "--indices-from", &floats])
            .contains("f.mtx: positions must be integers, found float64")
    );
}

#[test]
fn nanmedian_of_positions_and_of_entries() {
    let years = ["nanmedian", &data("mauna_loa_co2.mtx"), "--axis", "1"].map(String::from);
    let years: Vec<&str> = years.iter().map(String::as_str).collect();
    assert_eq!(values_of(&years)[0], json!([[0], 314.25]));
    assert_eq!(values_of(&[&years[..], &["--stored-only"]].concat())[0], json!([[0], 315.4]));
    let folder = Folder::new("nanmedian");
    let file = folder.file("x.mtx", "%%MatrixMarket matrix array integer general\n1 2\n1\n2\n");
    assert_eq!(values_of(&["nanmedian", &file]), json!([[[], 1.5]]));
    assert_eq!(values_of(&["nanmedian", &file, "--middle", "lower"]), json!([[[], 1.0]]));
    assert_eq!(json_of(&["nanmedian", &file, "--dtype", "float32"])["dtype"], "float32");
    assert!(failure(1, &["nanmedian", &data("pauli_sum.mtx")]).contains("nanmedian is not defined for complex128"));
}

#[test]
fn count_nonzero_of_positions_and_of_entries() {
    let folder = Folder::new("count");
    let file = folder.file("x.mtx", SMALL); // 0 . -inf, nan 0.1 .
    assert_eq!(values_of(&["count_nonzero", &file]), json!([[[], 3]]));
    let rows = json_of(&["count_nonzero", &file, "--axis", "1", "--keep-dims"]);
    assert_eq!((&rows["dtype"], &rows["shape"]), (&json!("uint64"), &json!([2, 1])));
    assert_eq!(rows["values"], json!([[[0, 0], 1], [[1, 0], 2]]));
    let filled = ["count_nonzero", &file, "--fill", "7", "--axis", "0", "--layout", "csr"];
    assert_eq!(values_of(&filled), json!([[[0], 1], [[1], 2], [[2], 2]]));
    let stored = json_of(&[&filled[..], &["--stored-only"]].concat());
    assert_eq!((&stored["values"], &stored["format"]), (&json!([[[0], 1], [[1], 1], [[2], 1]]), &json!("csr")));
    let vast = folder.file("vast.tns", "4294967296 4294967296 1\n");
    let refused = failure(1, &["count_nonzero", &vast, "--fill", "1"]);
    assert!(refused.contains("count_nonzero") && refused.contains("vast.tns: "), "{refused}");
}

#[test]
fn the_classes_of_numbers() {
    let folder = Folder::new("classes");
    let file = folder.file("x.mtx", SMALL);
    let class = |verb: &str| {
        let result = json_of(&[verb, &file]);
        assert_eq!(result["dtype"], "bool");
        let values = result["values"].as_array().unwrap().iter().map(|entry| entry[1].as_bool().unwrap());
        (values.collect::<Vec<_>>(), result["fill"].as_bool().unwrap())
    };
    assert_eq!(class("isposinf"), (vec![false; 4], false));
    assert_eq!(class("isneginf"), (vec![false, true, false, false], false));
    assert_eq!(class("isinf"), (vec![false, true, false, false], false));
    assert_eq!(class("isnan"), (vec![false, false, true, false], false));
    assert_eq!(class("isfinite"), (vec![true, false, false, true], true));
    assert_eq!(class("isreal"), (vec![true; 4], true));
    assert_eq!(values_of(&["isreal", &data("pauli_sum.mtx")])[1], json!([[0, 1], false]));
    for verb in ["isposinf", "isneginf"] {
        let refused = failure(1, &[verb, &data("spin1_sy.mtx")]);
        assert!(refused.contains(&format!("spin1_sy.mtx: {verb} is not defined for complex128")), "{refused}");
    }
}

#[test]
fn gradients_of_files() {
    let folder = Folder::new("backward");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 1\n2 1 5\n2 2 7\n");
    let g = folder.file("g.mtx", "%%MatrixMarket matrix array real general\n2 1\n10\n100\n");
    let of_any = json_of(&["backward", "any", &x, "--axis", "1", "--keep-dims", "--grad", &g]);
    assert_eq!(of_any["values"], json!([[[0, 0], 10.0], [[1, 0], 100.0], [[1, 1], 100.0]]));
    assert_eq!((&of_any["dtype"], &of_any["fill"]), (&json!("float64"), &json!(0.0)));
    let median = values_of(&["backward", "nanmedian", &x, "--axis", "1", "--keep-dims", "--grad", &g]);
    assert_eq!(median, json!([[[0, 0], 5.0], [[1, 0], 50.0], [[1, 1], 50.0]]));
    let stored = ["backward", "nanmedian", &x, "--axis", "1", "--keep-dims", "--grad", &g, "--stored-only"];
    assert_eq!(values_of(&stored)[0], json!([[0, 0], 10.0]));
    let lower = ["backward", "nanmedian", &x, "--axis=1", "--keep-dims", "--grad", &g, "--middle", "lower"];
    assert_eq!(values_of(&lower), json!([[[0, 0], 0.0], [[1, 0], 100.0], [[1, 1], 0.0]]));
    let twice = folder.file("t.mtx", "%%MatrixMarket matrix array integer general\n2 2\n1\n20\n20\n300\n");
    let of_take = ["backward", "take", &x, "--axis", "0", "--indices", "-1,1", "--grad", &twice, "--layout", "csr"];
    assert_eq!(values_of(&of_take), json!([[[0, 0], 0], [[1, 0], 21], [[1, 1], 320]]));
    let wrong = failure(1, &["backward", "any", &x, "--grad", &g]);
    assert_eq!(wrong, format!("error: {g}: the upstream gradient must have shape [], found [2, 1]\n"));
    let integers = failure(1, &["backward", "nanmedian", &x, "--axis", "1", "--keep-dims", "--grad", &twice]);
    assert!(integers.contains("t.mtx: this gradient cannot hold"), "{integers}");
    assert!(integers.contains("int64; cast it to a float type"), "{integers}");
    let outside = failure(1, &["backward", "any", &x, "--axis", "5", "--grad", &g]);
    assert_eq!(outside, format!("error: {x}: axis 5 is out of range for rank 2\n"));
}

#[test]
fn a_sum_of_gradients_that_does_not_fit_names_the_file_of_the_gradients() {
    let folder = Folder::new("overflow");
    let x = folder.file("x.mtx", SMALL);
    let greatest = "%%MatrixMarket vector array integer general\n2\n9223372036854775807\n1\n";
    let g = folder.file("g.mtx", greatest);
    let take = |g: &str| failure(1, &["backward", "take", &x, "--indices", "2,2", "--grad", g]);
    assert_eq!(take(&g), format!("error: {g}: the sum at [0, 2] does not fit int64\n"));
    let narrow = folder.path("narrow.npz");
    let hundreds = folder.file("h.mtx", "%%MatrixMarket vector array integer general\n2\n100\n100\n");
    assert_eq!(json_of(&["convert", &hundreds, &narrow, "--dtype", "int8"])["dtype"], "int8");
    let refused = take(&narrow);
    assert_eq!(refused, format!("error: {narrow}: the sum at [0, 2] does not fit int8\n"));
}

const TYPES: &str = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128";

/// A file for each element type and format, of a 1 and a stored 0; named by the type.
fn for_each_type(folder: &Folder, mut check: impl FnMut(&str, &str)) {
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n2 2 0\n");
    for (format, dtype) in ["coo", "csr"].iter().flat_map(|format| TYPES.split(' ').map(move |dtype| (format, dtype))) {
        let file = folder.path(&format!("{dtype}.npz"));
        let made = json_of(&["convert", &x, &file, "--dtype", dtype, "--layout", format]);
        assert_eq!((&made["dtype"], &made["format"]), (&json!(dtype), &json!(format)));
        check(dtype, &file);
    }
}

#[test]
fn every_type_goes_through_every_verb() {
    let folder = Folder::new("types");
    for_each_type(&folder, |dtype, file| {
        assert_eq!(values_of(&["any", file, "--axis", "1"]), json!([[[0], true], [[1], false]]));
        assert_eq!(values_of(&["count_nonzero", file, "--axis", "1"]), json!([[[0], 1], [[1], 0]]));
        assert_eq!(values_of(&["isin", file, "--values", "1"]), json!([[[0, 0], true], [[1, 1], false]]));
        assert_eq!(values_of(&["isin", file, "--values-from", file]), json!([[[0, 0], true], [[1, 1], true]]));
        assert_eq!(json_of(&["take", file, "--indices", "3,0"])["dtype"], *dtype);
        assert_eq!(values_of(&["isfinite", file]), json!([[[0, 0], true], [[1, 1], true]]));
    });
    let narrow = failure(1, &["info", &data("mauna_loa_co2.mtx"), "--dtype", "int8"]);
    assert!(narrow.contains("cannot be converted to int8"), "{narrow}");
}

#[test]
fn every_type_has_its_median_and_its_gradients() {
    let folder = Folder::new("typed-gradients");
    let g = folder.path("g.npz");
    let rows = folder.file("g.mtx", "%%MatrixMarket vector array real general\n2\n10\n100\n");
    assert_eq!(json_of(&["convert", &rows, &g, "--dtype", "float32"])["dtype"], "float32");
    for_each_type(&folder, |dtype, file| {
        let (taken, values) = (folder.path("taken.npz"), values_of(&["info", file]));
        assert_eq!(json_of(&["take", file, "--indices", "3,0", "-o", &taken])["dtype"], *dtype);
        for gradient in [
            json_of(&["backward", "take", file, "--indices", "3,0", "--grad", &taken]),
            json_of(&["backward", "take", file, "--axis", "0", "--indices", "0,1", "--grad", file]),
        ] {
            assert_eq!((&gradient["dtype"], &gradient["values"]), (&json!(dtype), &values));
        }
        let median = ["backward", "nanmedian", file, "--axis", "1", "--grad", &g];
        let stored = [&median[..], &["--stored-only"]].concat();
        if dtype.starts_with("complex") {
            assert!(failure(1, &["nanmedian", file]).contains("is not defined for complex"));
            assert!(failure(1, &median).contains("is not defined for complex"));
            return;
        }
        assert_eq!(values_of(&["nanmedian", file, "--axis", "1"]), json!([[[0], 0.5], [[1], 0.0]]));
        let shares = json_of(&median);
        assert_eq!((&shares["dtype"], &shares["values"]), (&json!("float32"), &json!([[[0, 0], 5.0], [[1, 1], 50.0]])));
        assert_eq!(values_of(&stored), json!([[[0, 0], 10.0], [[1, 1], 100.0]]));
    });
}

#[cfg(feature = "half")]
#[test]
fn the_median_of_16_bit_floats_is_of_their_type() {
    let folder = Folder::new("half");
    let file = folder.file("x.mtx", "%%MatrixMarket matrix array real general\n1 2\n1\n2\n");
    for dtype in ["float16", "bfloat16"] {
        let median = |more: &[&str]| json_of(&[&["nanmedian", &file, "--dtype", dtype], more].concat());
        for more in [&[][..], &["--stored-only"], &["--axis", "1", "--layout", "csr"]] {
            let told = median(more);
            assert_eq!((&told["dtype"], &told["values"][0][1]), (&json!(dtype), &json!(1.5)), "{more:?}");
        }
    }
}

#[test]
fn positions_to_take_are_integers_of_any_type_but_bool() {
    let folder = Folder::new("positions");
    for_each_type(&folder, |dtype, file| {
        let take = ["take", file, "--indices-from", file];
        if dtype.contains("int") {
            let taken = json_of(&take);
            assert_eq!((&taken["shape"], &taken["dtype"]), (&json!([2, 2]), &json!(dtype)));
            assert_eq!(taken["values"], json!([[[0, 1], 1], [[1, 0], 1], [[1, 1], 1]]));
            return;
        }
        assert!(failure(1, &take).contains(&format!("{dtype}.npz: positions must be integers, found {dtype}")));
    });
}

#[test]
fn a_picture_is_the_same_for_every_type() {
    let folder = Folder::new("pictures");
    let (svg, png) = (folder.path("x.svg"), folder.path("x.png"));
    let (mut drawings, mut sizes) = (Vec::new(), Vec::new());
    for_each_type(&folder, |dtype, file| {
        assert_eq!(json_of(&["spy", file, "-o", &svg])["dtype"], *dtype);
        let drawn = std::fs::read_to_string(&svg).unwrap();
        assert!(drawn.contains(&format!(">{dtype}.npz</text>")), "{drawn}");
        drawings.push(drawn.replace(&format!(">{dtype}.npz</text>"), ">x</text>"));
        assert_eq!(json_of(&["spy", file, "-o", &png])["nnz"], 2);
        sizes.push(std::fs::read(&png).unwrap()[..24].to_vec());
    });
    assert!(drawings.len() == 26 && drawings.iter().all(|drawing| drawing == &drawings[0]));
    assert!(sizes[0].starts_with(b"\x89PNG\r\n") && sizes.iter().all(|size| size == &sizes[0]));
}

#[test]
fn output_is_whole_or_absent() {
    let folder = Folder::new("output");
    let cube = folder.path("cube.npz");
    let nan = folder.path("nan.npz");
    assert_eq!(
        json_of(&["take", &data("titanic.npz"), "--axis", "0", "--indices", "0", "-o", &cube])["shape"],
        json!([1, 2, 2, 2])
    );
    let refused = failure(1, &["convert", &cube, &folder.path("cube.mtx")]);
    assert!(refused.contains("cube.mtx: Matrix Market cannot hold a tensor of rank 4; write .npz"), "{refused}");
    assert_eq!(
        lacuna(&["nanmedian", &data("mauna_loa_co2_monthly.npz"), "--axis", "2", "-o", &nan]).status.code(),
        Some(0)
    );
    assert!(failure(1, &["convert", &nan, &folder.path("nan.mtx")]).contains("the fill"));
    assert_eq!(folder.names(), ["cube.npz", "nan.npz"]);
}

#[test]
fn streams() {
    let folder = Folder::new("streams");
    let bytes = std::fs::read(data("karate_csr.npz")).unwrap();
    let output = lacuna_with(&["convert", "-", "-", "--to", "mtx"], &bytes);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("%%MatrixMarket matrix coordinate real general\n34 34 156\n"));
    assert!(stderr(&output).contains("stored   156 of 1156"));
    let json = lacuna_with(&["isnan", "-", "-o", "-", "--to", "npy", "--json"], &bytes);
    assert!(json.stdout.starts_with(b"\x93NUMPY") && stderr(&json).starts_with('{'));
    let nothing = lacuna_with(&["info", "-"], b"1 2 3\n");
    assert_eq!(nothing.status.code(), Some(1));
    let told = stderr(&nothing);
    assert!(
        told.starts_with("error: stdin: the format: the first bytes do not show it; name it with --from"),
        "{told}"
    );
    let named = lacuna_with(&["info", "-", "--from", "mtx"], b"1 2 3\n");
    assert!(stderr(&named).contains("stdin: line 1: expected `%%MatrixMarket`"));
    let extensionless = failure(1, &["info", &folder.file("x.txt", "1 2 3\n")]);
    assert!(extensionless.contains("x.txt: the format: neither the extension nor the first bytes"), "{extensionless}");
    let odd = folder.file("matrix.txt", SMALL);
    assert_eq!(json_of(&["info", &odd])["nnz"], 4);
    assert_eq!(json_of(&["convert", &odd, &folder.path("x.dat"), "--to", "npy"])["nnz"], 4);
    assert_eq!(json_of(&["info", &folder.path("x.dat")])["nnz"], 3);
}

#[test]
fn reading_as_asked() {
    let folder = Folder::new("reading");
    let twice = folder.file("x.mtx", "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 3\n1 1 -4\n");
    for (duplicates, value) in [("sum", -1), ("first", 3), ("last", -4), ("min", -4), ("max", 3), ("or", 1)] {
        assert_eq!(values_of(&["info", &twice, "--duplicates", duplicates]), json!([[[0, 0], value]]));
    }
    assert!(
        failure(1, &["info", &twice, "--duplicates", "error"])
            .contains("line 4: the entry (1, 1) is already on line 3")
    );
    assert_eq!(json_of(&["info", &twice, "--fill", "-7"])["fill"], -7);
    assert_eq!(json_of(&["info", &data("titanic.npy"), "--fill", "13"])["nnz"], 29);
    assert!(failure(1, &["info", &data("titanic.npz"), "--fill", "1"]).contains("the file has the fill 0"));
    assert!(failure(1, &["info", &twice, "--shape", "2,2"]).contains("must have shape [2, 2], found [1, 2]"));
    assert!(failure(1, &["info", &data("karate_csr.npz"), "--max-memory", "100"]).contains("--max-memory"));
    assert_eq!(json_of(&["info", &data("karate_csr.npz"), "--max-memory", "1M"])["nnz"], 156);
}

#[test]
fn max_memory_holds_for_every_file_format() {
    let co2 = data("mauna_loa_co2.mtx");
    let none = failure(1, &["info", &co2, "--max-memory", "0"]);
    assert!(
        none.contains("co2.mtx: the tensor of this file would take 36544 bytes (35.7 KiB), above the limit of 0"),
        "{none}"
    );
    assert!(none.contains("raise --max-memory"));
    assert_eq!(json_of(&["info", &co2, "--max-memory", "36544"])["memory_bytes"], 36544);
    assert!(failure(1, &["info", &co2, "--max-memory", "36543"]).contains("above the limit of 36543"));
    // The mirrored half, and a wider type, count too.
    assert!(
        failure(1, &["info", &data("karate.mtx"), "--max-memory", "2K"])
            .contains("the tensor of this file would take 2496 bytes")
    );
    let wide = ["info", &co2, "--dtype", "complex128", "--max-memory", "36544"];
    assert!(failure(1, &wide).contains("the tensor would take 54816 bytes"));
    for file in ["anscombe.mtx", "titanic.npy", "titanic.npz", "titanic_gcxs.npz", "karate_csc.npz"] {
        assert!(failure(1, &["info", &data(file), "--max-memory", "0"]).contains("--max-memory"), "{file}");
    }
}

#[test]
fn wrong_usage_is_status_2() {
    let karate = data("karate.mtx");
    let file = karate.as_str();
    let wrong: [&[&str]; 15] = [
        &[],
        &["spin", file],
        &["any"],
        &["any", file, "--axis", "--json"],
        &["any", file, "--axis", "-o", "x.npz"],
        &["any", file, "--axis", "1.5"],
        &["isin", file],
        &["isin", file, "--values", "one"],
        &["isin", file, "--values", "1", "--values-from", file],
        &["take", file, "--indices", "1.5"],
        &["take", file, "--mode", "wrap"],
        &["nanmedian", file, "--middle", "upper"],
        &["info", file, "--dtype", "float63"],
        &["backward", "isin", file],
        &["info", file, "--fill", "one"],
    ];
    for arguments in wrong {
        assert!(!failure(2, arguments).is_empty());
    }
    assert!(failure(2, &["info", file, "--fill", "one"]).contains("the fill must be a number"));
    assert_eq!(lacuna(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_blank_axis_is_wrong_usage_and_not_none() {
    let karate = data("karate.mtx");
    assert!(failure(2, &["any", &karate, "--axis", " "]).contains("name the axes: all, none, or numbers"));
    assert_eq!(values_of(&["any", &karate, "--axis", " all "]), values_of(&["any", &karate, "--axis", "all"]));
}

#[test]
fn an_option_in_the_place_of_a_value_gets_a_hint() {
    let file = data("karate.mtx");
    let wrong: [&[&str]; 9] = [
        &["any", &file, "--axis", "-o", "x.npz"],
        &["any", &file, "--axis", "-ox.npz"],
        &["any", &file, "--axis", "--output", "z.npz"],
        &["any", &file, "--axis", "--keep-dims"],
        &["isin", &file, "--values", "--json"],
        &["isin", "--values", "--invert", &file],
        &["take", &file, "--indices", "--axis", "0"],
        &["info", &file, "--fill", "--json"],
        &["backward", "any", &file, "--axis", "--grad", &file],
    ];
    for arguments in wrong {
        let hint = failure(2, arguments);
        assert!(hint.contains("is an option; a value may start with one minus, such as -1"), "{arguments:?}: {hint}");
    }
    assert!(failure(2, &["any", &file, "--axis", "-o", "x"]).contains("error: --axis has no value: `-o` is an option"));
    assert!(failure(2, &["any", &file, "--axis=--json"]).contains("`--json` is an option"));
    assert!(failure(1, &["any", "--", "--axis"]).starts_with("error: --axis: "));
}

#[test]
fn wrong_usage_is_found_before_anything_is_read() {
    let target = |arguments: &[&str]| failure(2, &[&["isnan", "none.mtx", "-o"], arguments].concat());
    assert!(target(&["-"]).contains("stdout has no extension; name its format with --to"));
    let unknown =
        "the extension of x.txt is not a format (.mtx, .tns, .npy, .npz, .parquet); name the format with --to";
    assert!(target(&["x.txt"]).contains(unknown));
    assert!(failure(2, &["convert", "none.mtx", "x.txt"]).contains(unknown));
    assert!(failure(2, &["convert", "none.mtx", "-"]).contains("--to"));
    let twice: [&[&str]; 4] = [
        &["backward", "any", "-", "--grad", "-"],
        &["backward", "take", "none.mtx", "--indices-from", "-", "--grad", "-"],
        &["isin", "-", "--values-from", "-"],
        &["take", "-", "--indices-from", "-"],
    ];
    for arguments in twice {
        assert!(failure(2, arguments).contains("stdin can be read only once"), "{arguments:?}");
    }
    let neither = failure(2, &["isin", "none.mtx"]);
    assert!(neither.contains("<--values <V,V,…>|--values-from <FILE>>"), "{neither}");
    for verb in [&["take", "none.mtx"][..], &["backward", "take", "none.mtx", "--grad", "none.mtx"]] {
        let neither = failure(2, verb);
        assert!(neither.contains("<--indices <I,I,…>|--indices-from <FILE>>"), "{neither}");
    }
}

#[test]
fn an_archive_is_stored_where_that_is_asked_for() {
    let folder = Folder::new("store");
    let (deflated, stored) = (folder.path("deflated.npz"), folder.path("stored.npz"));
    json_of(&["convert", &data("titanic.npz"), &deflated]);
    json_of(&["convert", &data("titanic.npz"), &stored, "--uncompressed"]);
    let length = |path: &str| std::fs::metadata(path).unwrap().len();
    assert!(length(&stored) > length(&deflated), "{} and {} bytes", length(&stored), length(&deflated));
    assert_eq!(json_of(&["info", &stored]), json_of(&["info", &deflated]));
    let streamed = lacuna(&["isnan", &stored, "-o", "-", "--to", "npz", "--uncompressed"]).stdout;
    let named = folder.path("isnan.npz");
    json_of(&["isnan", &stored, "-o", &named, "--uncompressed"]);
    assert_eq!(streamed.len() as u64, length(&named));
    for arguments in [&["x.mtx"][..], &["x.mtx.gz"], &["x.npz", "--to", "npy"], &["-", "--to", "tns"]] {
        let told = failure(2, &[&["convert", "none.mtx", "--uncompressed"], arguments].concat());
        assert!(
            told.contains(&format!("--uncompressed does not apply to {}, which is written as .", arguments[0])),
            "{told}"
        );
    }
}

/// They were taken and did nothing.
#[test]
fn options_of_a_file_that_is_not_written_are_refused() {
    for option in [&["--uncompressed"][..], &["--to", "npz"]] {
        for verb in [&["any", "none.mtx"][..], &["prune", "none.mtx"], &["backward", "any", "x", "--grad", "none.mtx"]]
        {
            let told = failure(2, &[verb, option].concat());
            assert!(told.contains("not provided") && told.contains("--output <FILE>"), "{told}");
        }
    }
    for option in [&["--pixels", "500"][..], &["--to", "png"], &["--limit", "3"], &["--all"]] {
        let told = failure(2, &[&["spy", "none.mtx"], option].concat());
        assert!(told.contains("not provided") && told.contains("--output <FILE>"), "{told}");
    }
    for option in [&["--json"][..], &["-o", "x.png"]] {
        let told = failure(2, &[&["spy", "none.mtx", "--width", "40"], option].concat());
        assert!(told.contains("'--width <N>' cannot be used with"), "{told}");
    }
    assert_eq!(values_of(&["spy", &data("karate.mtx"), "--limit", "1"]), json!([[[0, 1], 1.0]]));
}

#[test]
fn wrong_usage_shows_the_usage_of_its_verb() {
    let usages: [(&[&str], &str); 4] = [
        (&["any", "none.mtx", "-o", "x.csv"], "Usage: lacuna any [OPTIONS] <FILE>"),
        (&["convert", "none.mtx", "x.csv"], "Usage: lacuna convert [OPTIONS] <FILE> <OUTPUT>"),
        (&["spy", "none.mtx", "-o", "x.gif"], "Usage: lacuna spy [OPTIONS] <FILE>"),
        (&["backward", "any", "none.mtx", "--axis", "--grad", "g.mtx"], "Usage: lacuna backward any [OPTIONS] --grad"),
    ];
    for (arguments, usage) in usages {
        let told = failure(2, arguments);
        assert!(told.contains(usage), "{arguments:?}: {told}");
    }
}

#[test]
fn help_lists_what_a_verb_has_of_its_own_before_the_options_for_reading() {
    let help = stdout(&lacuna(&["nanmedian", "--help"]));
    let (own, rest) = help.split_once("Options for reading:\n").expect(&help);
    let (rest, _) = rest.split_once("\nExample").expect(&help);
    let (reading, writing) = rest.split_once("Options for writing and printing:\n").expect(&help);
    let short = stdout(&lacuna(&["nanmedian", "-h"]));
    for option in ["--axis", "--keep-dims", "--middle", "--stored-only", "--output", "--json"] {
        assert!(own.contains(option) && !rest.contains(option) && short.contains(option), "{option}: {help}");
    }
    for option in ["--layout", "--dtype", "--fill", "--shape", "--duplicates", "--max-memory", "--from"] {
        assert!(reading.contains(option) && !own.contains(option) && !short.contains(option), "{option}: {help}");
    }
    for option in ["--to", "--uncompressed", "--limit"] {
        assert!(writing.contains(option) && !own.contains(option) && !short.contains(option), "{option}: {help}");
    }
    let page = stdout(&lacuna(&["man"]));
    assert!(page.contains(".SS \"OPTIONS FOR READING\""), "{page}");
}

#[test]
fn a_negative_count_is_told_what_is_expected() {
    let karate = data("karate.mtx");
    for (option, expected) in [
        ("--shape", "`-1` is not a length"),
        ("--max-memory", "expected a whole number of bytes"),
        ("--width", "expected a whole number of characters"),
    ] {
        let told = failure(2, &["spy", &karate, option, "-1"]);
        assert!(told.contains(expected) && !told.contains("-- -1"), "{told}");
    }
    assert!(failure(2, &["spy", &karate, "--width", "wide"]).contains("expected a whole number of characters"));
}

/// The options that a help lists, `--axis` and the like.
fn options_of(help: &str) -> Vec<String> {
    let listed = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let long = |line: &str| line.split_whitespace().take(2).find(|word| word.starts_with("--")).map(str::to_string);
    listed.filter_map(long).collect()
}

#[test]
fn the_manual_has_every_verb_and_every_option() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md")).unwrap();
    let mut seen = 0;
    for verb in verbs_below(&[]) {
        let verb: Vec<&str> = verb.iter().map(String::as_str).collect();
        assert!(manual.contains(&format!("`{}", verb[0])), "{verb:?}");
        for option in options_of(&stdout(&lacuna(&[&verb[..], &["--help"]].concat()))) {
            assert!(
                option == "--help" || manual.contains(&format!("`{option}")) || manual.contains(&format!(" {option}")),
                "{verb:?} {option}"
            );
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen}");
}

/// Every list of the file formats, for people: one that was added later was left out of them once.
#[test]
fn no_list_of_file_formats_leaves_one_out() {
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let sentence = |text: String, from: &str, to: &str| {
        let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("`{from}` is not in {text}"));
        rest.split(to).next().unwrap().to_string()
    };
    let manual = read("docs/cli.md");
    let lists = [
        sentence(stdout(&lacuna(&["--help"])), "Files: ", "\n\n"),
        sentence(read("docs/install.md"), "| `io` |", "\n"),
        sentence(read("Cargo.toml"), "## Matrix Market", "\nio ="),
        sentence(manual.clone(), "\n| `--from ", "\n"),
        sentence(manual.clone(), "\n| `--to ", "\n"),
        sentence(manual, "\n## Files\n", "\n## "),
        read("docs/files.md"),
        read("docs/file-formats.md"),
    ];
    for list in lists {
        for name in ["tns", "npy", "npz"] {
            assert!(list.contains(name), "{name} is not in {list}");
        }
    }
}

#[test]
fn a_number_of_bytes_has_a_unit_or_none() {
    let karate = data("karate.mtx");
    for bytes in ["3744", "4K", "4 k", "1MiB", "1gb", "1T"] {
        assert_eq!(json_of(&["info", &karate, "--max-memory", bytes])["nnz"], 156, "{bytes}");
    }
    for (bytes, hint) in [
        ("1P", "`P` is not one of K, M, G, T"),
        ("1.5G", "a whole number of bytes"),
        ("K", "a whole number of bytes"),
        ("18446744073709551616", "below 2^64"),
        ("16777216T", "below 2^64"),
    ] {
        let told = failure(2, &["info", &karate, "--max-memory", bytes]);
        assert!(told.contains(hint), "{bytes}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_is_named() {
    for arguments in [&["info", "karate.mtx"][..], &["convert", "karate.mtx", "-", "--to", "npz"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_lacuna"))
            .args(arguments)
            .current_dir(data(""))
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(command.status.code(), Some(1));
        assert!(stderr(&command).starts_with("error: stdout: "), "{}", stderr(&command));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stderr_is_no_panic() {
    let member = ["isin", "karate.mtx", "--values", "1j"];
    for (arguments, status) in [(&["info", "none.mtx"][..], 1), (&["info"], 2), (&member, 0)] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lacuna"));
        let output = command.args(arguments).current_dir(data("")).stderr(full).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
    }
}

/// The groups of commands that a help lists, each with the names of its commands.
fn groups_of(help: &str) -> Vec<(&str, Vec<&str>)> {
    let Some((_, listed)) = help.split_once(" <COMMAND>\n\n") else { return Vec::new() };
    let groups = listed.split("\n\n").take_while(|group| !group.starts_with("Options:"));
    groups
        .map(|group| {
            let (heading, lines) = group.split_once(":\n").expect(group);
            (heading, lines.lines().filter_map(|line| line.split_whitespace().next()).collect())
        })
        .collect()
}

/// The verbs that the help of a verb lists, and those below them.
fn verbs_below(verb: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
    let help = stdout(&lacuna(&words));
    let groups = groups_of(&help);
    let names = groups.iter().flat_map(|(_, names)| names);
    let verbs = names.map(|name| [verb, &[name.to_string()]].concat());
    verbs.flat_map(|verb| [vec![verb.clone()], verbs_below(&verb)].concat()).collect()
}

#[test]
fn the_help_lists_the_commands_of_the_table() {
    let names = |verb: &[String]| -> Vec<String> {
        verbs_below(verb).iter().filter(|below| below.len() == verb.len() + 1).map(|below| below.join(" ")).collect()
    };
    let (verbs, gradients) = (names(&[]), names(&["backward".to_string()]));
    let help = stdout(&lacuna(&["--help"]));
    let groups: Vec<&str> = groups_of(&help).into_iter().map(|(group, _)| group).collect();
    let all = ["Files", "Reductions", "Elementwise", "Indexing", "Products", "Expressions and gradients", "Tools"];
    assert_eq!(groups, all);
    let mut found = 0;
    for (name, _, gradient) in lacuna::eval::CommandSpec::all() {
        assert_eq!(verbs.iter().filter(|verb| *verb == name).count(), 1, "{name} in {verbs:?}");
        found += 1;
        assert_eq!(gradient.is_some(), gradients.contains(&format!("backward {name}")), "{name}");
    }
    assert!(found > 40 && verbs.len() == found + 8, "{found} operations of {verbs:?}");
}

#[cfg(unix)]
#[test]
fn the_examples_of_the_help_work() {
    let folder = Folder::new("examples");
    let verbs = [vec![vec![]], verbs_below(&[])].concat();
    assert!(verbs.len() >= 60, "{verbs:?}");
    for verb in verbs {
        let verb: Vec<&str> = verb.iter().map(String::as_str).collect();
        let help = stdout(&lacuna(&[&verb[..], &["--help"]].concat()));
        let (_, example) = help.split_once("Example: ").expect(&help);
        assert!(example.contains(&format!("lacuna {}", verb.join(" "))), "{example}");
        for command in example.lines() {
            let line = command.replace("tests/data/", &data(""));
            let line = line.replacen("lacuna ", &format!("{} ", env!("CARGO_BIN_EXE_lacuna")), 1);
            let output = Command::new("sh").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        }
    }
    let names = stdout(&lacuna(&["info", "--help"]));
    assert!(names.contains("bool, int8, int16") && names.contains("complex128"), "{names}");
}

#[test]
fn errors_name_the_file_the_line_and_the_numbers() {
    let folder = Folder::new("errors");
    let file = folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n3 1 1\n");
    assert_eq!(failure(1, &["info", &file]), format!("error: {file}: line 4: row 3 is out of bounds for 1..=2\n"));
    assert!(failure(1, &["info", "none.mtx"]).starts_with("error: none.mtx: "));
    let archive = folder.file("x.npz", "PK\x03\x04 and nothing more");
    assert!(failure(1, &["info", &archive]).contains("x.npz: the archive: "));
}

#[test]
fn files_of_gzip_are_read_and_written_by_their_names() {
    let folder = Folder::new("gzip");
    let (text, array) = (folder.path("x.mtx.gz"), folder.path("x.npy.gz"));
    assert_eq!(json_of(&["convert", &data("karate.mtx"), &text])["nnz"], 156);
    assert_eq!(json_of(&["convert", &text, &array])["nnz"], 156);
    assert_eq!(values_of(&["any", &array, "--axis", "1"]), values_of(&["any", &text, "--axis", "1"]));
    let bytes = std::fs::read(&text).unwrap();
    assert!(bytes.starts_with(&[0x1f, 0x8b]));
    let piped = lacuna_with(&["info", "-", "--json"], &bytes);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&piped)).unwrap()["nnz"], 156);
    assert_eq!(json_of(&["info", &text, "--from", "mtx"])["nnz"], 156);
    let odd = folder.path("x.txt.gz");
    assert_eq!(json_of(&["convert", &text, &odd, "--to", "mtx"])["nnz"], 156);
    assert_eq!(std::fs::read(&odd).unwrap(), bytes);
    std::fs::write(folder.0.join("cut.mtx.gz"), &bytes[..100]).unwrap();
    let cut = failure(1, &["info", &folder.path("cut.mtx.gz")]);
    assert!(cut.ends_with("cut.mtx.gz: gzip data, after 100 bytes: the gzip data are truncated\n"), "{cut}");
    let large = failure(1, &["info", &text, "--max-memory", "100"]);
    assert!(large.contains("above the limit of 100 bytes; raise --max-memory"), "{large}");
    let archive = failure(2, &["convert", &text, &folder.path("x.npz.gz")]);
    assert!(archive.contains("is not a format"), "{archive}");
}

#[test]
fn a_tensor_may_come_through_a_file_that_cannot_seek() {
    let bytes = std::fs::read(data("karate_csr.npz")).unwrap();
    if cfg!(target_os = "linux") {
        let piped = lacuna_with(&["info", "/dev/stdin", "--json"], &bytes);
        assert_eq!(serde_json::from_str::<Value>(&stdout(&piped)).unwrap()["nnz"], 156, "{}", stderr(&piped));
    }
}

#[test]
fn completions_know_the_verbs_and_the_words_of_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = lacuna(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = stdout(&output);
        assert!(["nanmedian", "max-memory"].iter().all(|word| script.contains(word)), "{shell}");
        let knows_values = ["bash", "zsh", "fish"].contains(&shell);
        assert!(!knows_values || script.contains("complex128"), "{shell}");
        // `lacuna help <TAB>` lists the commands.
        let names_of_help = "info convert eval backward spy help completions man any ";
        assert!(!knows_values || script.contains(names_of_help), "{shell}");
    }
    assert!(failure(2, &["completions", "csh"]).contains("csh"));
}

#[test]
fn the_manual_is_one_page_or_a_folder_of_pages() {
    let output = lacuna(&["man"]);
    let page = stdout(&output);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert!(page.contains(".TH lacuna 1"), "{page}");
    for verb in ["LACUNA INFO", "LACUNA NANMEDIAN", "LACUNA BACKWARD TAKE", "LACUNA MAN"] {
        assert_eq!(page.matches(&format!(".SH \"{verb}\"\n")).count(), 1, "{verb}");
    }
    assert!(page.contains("Example: lacuna info tests/data/karate.mtx"));
    assert!(page.contains(".SH EXAMPLE") && !page.contains("EXTRA"), "{page}");
    let folder = Folder::new("man");
    assert_eq!(lacuna(&["man", "--dir", &folder.path("man1")]).status.code(), Some(0));
    for name in ["lacuna.1", "lacuna-info.1", "lacuna-backward-take.1"] {
        let page = std::fs::read_to_string(folder.0.join("man1").join(name)).unwrap();
        let head = format!(".TH {} 1  \"lacuna {}\"", name.trim_end_matches(".1"), env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&head), "{page}");
        assert!(page.contains(".SH EXAMPLE\n") && !page.contains("EXTRA"), "{page}");
    }
    let file = folder.file("file", "");
    assert!(failure(1, &["man", "--dir", &file]).starts_with(&format!("error: {file}: ")));
}

#[test]
fn names_of_formats_are_read_in_either_case_and_listed_where_they_are_wrong() {
    assert_eq!(json_of(&["info", &data("karate.mtx"), "--from", "MTX"])["nnz"], 156);
    let wrong = failure(2, &["info", &data("karate.mtx"), "--from", "csv"]);
    assert!(wrong.contains("mtx") && wrong.contains("npz"), "{wrong}");
    assert!(failure(2, &["info", &data("karate.mtx"), "--dtype", "float63"]).contains("float64"));
    assert!(failure(2, &["info", &data("karate.mtx"), "--layout", "csc"]).contains("csr"));
}

// Pictures.

#[test]
fn spy_in_the_terminal() {
    let text = stdout(&lacuna(&["spy", &data("karate.mtx")]));
    assert!(text.starts_with("axis 0 ↓  axis 1 →\n"), "{text}");
    assert!(text.ends_with("karate.mtx: [34, 34], 156 stored of 1156 (13.5 %)\n"), "{text}");
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max();
    assert!((40..=80).contains(&width(&text).unwrap()), "{text}");
    let narrow = stdout(&lacuna(&["spy", &data("karate.mtx"), "--width", "30", "--layout", "csr"]));
    assert!(width(narrow.rsplit_once("karate.mtx").unwrap().0) <= Some(30), "{narrow}");
    let piped = lacuna_with(&["spy", "-"], SMALL.as_bytes());
    assert!(stdout(&piped).ends_with("stdin: [2, 3], 4 stored of 6 (66.7 %)\n"));
    assert_eq!(json_of(&["spy", &data("karate.mtx")])["nnz"], 156);
    assert!(failure(1, &["spy", "none.mtx"]).starts_with("error: none.mtx: "));
}

#[test]
fn spy_in_a_file() {
    let folder = Folder::new("spy");
    let (png, svg) = (folder.path("titanic.PNG"), folder.path("titanic.svg"));
    let told = stdout(&lacuna(&["spy", &data("titanic.npz"), "-o", &png]));
    assert!(told.starts_with("shape    [4, 2, 2, 2]\n"), "{told}");
    assert_eq!(json_of(&["spy", &data("titanic.npz"), "-o", &svg])["nnz"], 24);
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n"));
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.contains(">titanic.npz</text>") && drawn.contains(">axis 3</text>"), "{drawn}");
    let streamed = lacuna(&["spy", &data("titanic.npz"), "-o", "-", "--to", "svg", "--json"]);
    assert_eq!(stdout(&streamed), drawn);
    assert!(stderr(&streamed).starts_with('{'));
    let named = folder.path("picture");
    assert_eq!(lacuna(&["spy", &data("titanic.npz"), "-o", &named, "--to", "png"]).status.code(), Some(0));
    assert_eq!(std::fs::read(&named).unwrap(), std::fs::read(&png).unwrap());
    failure(1, &["spy", "none.mtx", "-o", &svg]);
    assert_eq!(std::fs::read_to_string(&svg).unwrap(), drawn, "an error leaves the picture as it was");
    assert_eq!(folder.names(), ["picture", "titanic.PNG", "titanic.svg"]);
}

#[test]
fn spy_of_no_known_kind_is_wrong_usage() {
    let gif = failure(2, &["spy", "none.mtx", "-o", "x.gif"]);
    assert!(
        gif.contains("the extension of x.gif is not a picture format (.png, .svg); name the format with --to"),
        "{gif}"
    );
    assert!(failure(2, &["spy", "none.mtx", "-o", "-"]).contains("--to png or --to svg"));
    assert!(failure(2, &["spy", "none.mtx", "-o", "x", "--to", "npz"]).contains("npz"));
}

#[test]
fn info_tells_ranges_rows_and_units() {
    let text = stdout(&lacuna(&["info", &data("mauna_loa_co2.mtx")]));
    for line in
        ["range    313.0 to 373.9", "rows     44, none empty; the fullest holds 53", "memory   35.69 KiB (36544 bytes)"]
    {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    let folder = Folder::new("details");
    let vector = stdout(&lacuna(&["info", &folder.file("vector.tns", "1 2\n1000 4\n")]));
    assert!(vector.contains("(0.2 %)") && !vector.contains("rows") && !vector.contains("lanes"), "{vector}");
    let alone = stdout(&lacuna(&["info", &folder.file("alone.tns", "1000 4\n")]));
    assert!(alone.contains("(0.1 %)"), "{alone}");
    let titanic = stdout(&lacuna(&["info", &data("titanic.npz")]));
    assert!(titanic.contains("lanes    16 along axis 3, 2 empty; the fullest holds 2\n"), "{titanic}");
    assert!(!titanic.contains("NaN"), "no integer is one: {titanic}");
    let keys = |name: &str, text: &str| {
        let info = json_of(&["info", &folder.file(name, text)]);
        ["min", "max", "empty_lanes", "longest_lane"].map(|key| info[key].clone())
    };
    assert_eq!(keys("x.mtx", SMALL), [json!(0.0), json!(0.1), json!(0), json!(2)]);
    let banner = "%%MatrixMarket matrix coordinate";
    let unsigned = format!("{banner} unsigned-integer general\n3 2 2\n1 1 18446744073709551615\n3 1 2\n");
    assert_eq!(keys("u.mtx", &unsigned), [json!(2), json!(u64::MAX), json!(1), json!(1)]);
    let complex = format!("{banner} complex general\n2 2 1\n1 1 1 1\n");
    assert_eq!(keys("c.mtx", &complex), [json!(null), json!(null), json!(1), json!(1)]);
    let nothing = format!("{banner} real general\n2 0 0\n");
    assert_eq!(keys("n.mtx", &nothing), [json!(null), json!(null), json!(2), json!(0)]);
    let vast = format!("{banner} real general\n9000000000000000000 3 1\n9 1 nan\n");
    assert_eq!(keys("v.mtx", &vast)[2], json!(8999999999999999999u64));
}

#[test]
fn info_of_more_positions_than_a_machine_counts_and_of_none() {
    let folder = Folder::new("extremes");
    let side = 1u64 << 40;
    let vast = folder.file("vast.tns", &format!("# shape: {side} {side} 2\n1 1 1 5\n{side} {side} 2 6\n"));
    let text = stdout(&lacuna(&["info", &vast]));
    for line in [
        "stored   2 of 2^64 or more (8.3e-23 %)",
        "lanes    2^64 or more along axis 2, 2 not empty; the fullest holds 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    assert_eq!(json_of(&["info", &vast])["empty_lanes"], json!(null));
    let longest = folder.file("longest.tns", "# shape: 18446744073709551615\n7 1\n");
    assert!(stdout(&lacuna(&["info", &longest])).contains("stored   1 of 18446744073709551615 (5.4e-18 %)\n"));
    let empty = folder.file("empty.tns", "# shape: 3 0\n");
    let text = stdout(&lacuna(&["info", &empty]));
    assert!(
        text.contains("stored   0 of 0\n") && text.contains("rows     3, 3 empty; the fullest holds 0\n"),
        "{text}"
    );
}

/// As `head` does, once it has seen enough.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let karate = std::fs::read(data("karate.mtx")).unwrap();
    for arguments in
        [&["info", "-"][..], &["info", "-", "--json"], &["convert", "-", "-", "--to", "npz"], &["spy", "-"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lacuna"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(&karate).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{arguments:?}");
    }
}

/// Nobody looks at a bar but where stderr is a terminal, which `script` makes.
#[cfg(target_os = "linux")]
#[test]
fn a_read_that_takes_long_shows_how_far_it_is_and_wipes_it_off() {
    let folder = Folder::new("bar");
    let (head, rest) = SMALL.split_at(60);
    let (head, rest) = (folder.file("head", head), folder.file("rest", rest));
    let told = |pause: &str| {
        let read = format!("(cat {head}; {pause} cat {rest}) | {} info -", env!("CARGO_BIN_EXE_lacuna"));
        let mut script = Command::new("script");
        script.args(["-qec", &read, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm").stdin(Stdio::null());
        let output = script.output().ok()?;
        assert!(output.status.success(), "{read}: {}{}", stdout(&output), stderr(&output));
        Some(stdout(&output))
    };
    let Some(long) = told("sleep 1;") else {
        eprintln!("not run: this machine has no `script`, which makes the terminal that a bar is shown in");
        return;
    };
    let (bar, summary) = long.rsplit_once("\u{1b}[2K").expect(&long);
    assert!(bar.contains(&format!("reading {} B, ", SMALL.len())) && bar.contains(" B/s"), "{bar}");
    assert!(summary.starts_with("shape    [2, 3]") && summary.contains("stored   4 of 6 (66.7 %)"), "{summary}");
    // On a busy machine it may take long without a pause too.
    assert!((0..9).any(|_| told("").as_deref() == Some(summary)), "a short read shows no bar");
}

/// The documents show what the program prints: each line behind a `$`, and all below it.
#[cfg(unix)]
#[test]
fn the_documents_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new("document");
    std::os::unix::fs::symlink(root.join("tests"), folder.0.join("tests")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_lacuna")).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let read = |page: &str| std::fs::read_to_string(root.join("docs").join(page)).unwrap();
    let document = ["cli.md", "expressions.md"].map(read).concat();
    let mut shown = 0;
    for block in document.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
            if !command.starts_with("lacuna ") {
                continue;
            }
            let mut shell = Command::new("sh");
            let run = shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).env("PATH", &path).current_dir(&folder.0);
            let printed = stdout(&run.output().unwrap());
            assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
            shown += 1;
        }
    }
    assert!(shown > 20, "{shown} examples were found");
}

#[cfg(unix)]
#[test]
fn names_of_files_are_escaped_in_messages() {
    let folder = Folder::new("names");
    let odd = folder.path("a\n\u{1b}[31mb.mtx");
    let shown = "a\\n\\u{1b}[31mb";
    assert!(failure(1, &["info", &odd]).contains(shown));
    assert!(
        failure(1, &["convert", &data("karate.mtx"), &folder.path("none\u{1b}/x.mtx")]).contains("none\\u{1b}/x.mtx")
    );
    assert!(failure(2, &["convert", &odd, "a\n\u{1b}[31mb.txt"]).contains(shown));
    assert!(failure(2, &["spy", &odd, "-o", "a\n\u{1b}[31mb.txt"]).contains(shown));
}

/// The program in a shell, which closes or bends its streams.
#[cfg(target_os = "linux")]
fn shell(command: &str) -> Output {
    let command = command.replace("lacuna ", &format!("{} ", env!("CARGO_BIN_EXE_lacuna")));
    Command::new("sh").args(["-c", &command]).current_dir(data("")).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_tensor_for_a_closed_stdout_is_an_error() {
    for command in ["convert karate.mtx - --to mtx", "isnan karate.mtx -o - --to npy", "spy karate.mtx -o - --to svg"] {
        let output = shell(&format!("lacuna {command} >&-"));
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(stderr(&output).starts_with("error: stdout: it is closed"), "{command}: {}", stderr(&output));
        assert_eq!(shell(&format!("lacuna {command} >/dev/null")).status.code(), Some(0), "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_help_that_nobody_can_get_is_an_error() {
    for words in ["--help", "--version", "take --help", "help take", "man", "completions bash", "spy karate.mtx"] {
        let output = shell(&format!("lacuna {words} >/dev/full"));
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(stderr(&output).starts_with("error: stdout: "), "{words}: {}", stderr(&output));
    }
}

#[test]
fn help_of_a_verb() {
    for verb in [&["take"][..], &["backward", "any"], &["help"], &[]] {
        let told = lacuna(&[&["help"], verb].concat());
        assert_eq!(told.status.code(), Some(0), "{verb:?}: {}", stderr(&told));
        assert_eq!(stdout(&told), stdout(&lacuna(&[verb, &["--help"]].concat())), "{verb:?}");
    }
    let wrong = failure(2, &["help", "tkae"]);
    assert!(wrong.contains("'tkae'") && wrong.contains("'take'"), "{wrong}");
    assert!(failure(2, &["help", "backward", "zzz"]).contains("`lacuna help backward` lists"));
    assert!(failure(2, &["help", "--", "--version"]).contains("`--version` is not a command"));
}

#[test]
fn an_unknown_verb_gets_a_hint() {
    for (word, hint) in
        [("tkae", "'take'"), ("nanmedain", "'nanmedian'"), ("isNaN", "'isnan'"), ("zzz", "`lacuna help` lists")]
    {
        let told = failure(2, &[word, "none.mtx"]);
        assert!(told.contains(&format!("unrecognized subcommand '{word}'")) && told.contains(hint), "{told}");
    }
    let told = failure(2, &["backward", "argmax", "none.mtx"]);
    assert!(told.contains("argmax does not have a gradient; `lacuna help backward` lists"), "{told}");
}

#[test]
fn the_name_of_a_function_leads_to_the_expression() {
    for (word, tip) in [
        ("exp", "use `lacuna eval 'exp(x)' x=FILE`"),
        ("log", "use `lacuna eval 'ln(x)' x=FILE`"),
        ("maximum", "use `lacuna eval 'maximum(x, y)' x=FILE y=FILE`"),
        ("multiply", "use `lacuna mul FILE`"),
    ] {
        let message = failure(2, &[word, "none.mtx"]);
        assert!(message.contains(tip) && !message.contains("similar"), "{message}");
    }
    let message = failure(2, &["eval", "log(x)", "x=none.mtx"]);
    assert!(message.contains("there is no function log; did you mean ln?"), "{message}");
    // A function without a command is no gradient.
    assert!(failure(2, &["backward", "exp", "none.mtx"]).contains("`lacuna help backward` lists"));
}

#[test]
fn the_text_of_a_scalar_has_its_value() {
    let karate = data("karate.mtx");
    let equal = stdout(&lacuna(&["eval", "allclose(x, x)", &format!("x={karate}")]));
    assert!(equal.contains("stored   0 of 1") && equal.ends_with("fill     true\nvalue    true\n"), "{equal}");
    assert!(stdout(&lacuna(&["sum", &karate])).ends_with("entries\n  [] 156.0\n"));
}

#[test]
fn the_beginning_of_an_option_leads_to_the_option() {
    for (word, option) in [("--stored", "--stored-only"), ("--keep", "--keep-dims"), ("--keepdims", "--keep-dims")] {
        let message = failure(2, &["sum", "none.mtx", word]);
        assert!(message.contains(&format!("a similar argument exists: '{option}'")), "{message}");
        assert!(!message.contains("--uncompressed"), "{message}");
    }
}

/// Scripts use them.
#[test]
fn former_spellings_of_options_work_and_no_help_lists_them() {
    let folder = Folder::new("former");
    let (karate, co2) = (data("karate.mtx"), data("mauna_loa_co2.mtx"));
    let pairs: [(&[&str], &[&str]); 5] = [
        (&["any", &karate, "--axis", "1", "--format", "csr"], &["any", &karate, "--axis", "1", "--layout", "csr"]),
        (&["info", &co2, "--head", "3"], &["info", &co2, "--limit", "3"]),
        (&["info", &co2, "--all"], &["info", &co2, "--limit", "all"]),
        (&["nanmedian", &co2, "--even", "lower"], &["nanmedian", &co2, "--middle", "lower"]),
        (&["spy", &karate, "--columns", "40"], &["spy", &karate, "--width", "40"]),
    ];
    for (former, new) in pairs {
        let (former, new) = (lacuna(former), lacuna(new));
        assert_eq!((former.status.code(), stdout(&former)), (Some(0), stdout(&new)));
    }
    let [former, new] = [["former.npz", "--store"], ["new.npz", "--uncompressed"]].map(|[name, option]| {
        json_of(&["convert", &karate, &folder.path(name), option]);
        std::fs::read(folder.0.join(name)).unwrap()
    });
    assert_eq!(former, new);
    let [former, new] = [["former.svg", "--size"], ["new.svg", "--pixels"]].map(|[name, option]| {
        json_of(&["spy", &karate, "-o", &folder.path(name), option, "300"]);
        std::fs::read(folder.0.join(name)).unwrap()
    });
    assert_eq!(former, new);
    let line = b"{\"eval\": \"1 + 1\"}\n";
    assert_eq!(lacuna_with(&["eval", "--lines"], line).stdout, lacuna_with(&["eval", "--jsonl"], line).stdout);
    for verb in verbs_below(&[]) {
        let words: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let listed = options_of(&stdout(&lacuna(&words)));
        let former = ["--format", "--head", "--all", "--even", "--columns", "--store", "--size", "--lines"];
        assert!(!former.iter().any(|option| listed.contains(&option.to_string())), "{verb:?}: {listed:?}");
    }
}

/// A command with its arguments, its line in the help, and its options.
fn row_of(command: &str) -> (String, String, Vec<String>) {
    let help = stdout(&lacuna(&[command, "-h"]));
    let section = |heading: &str| {
        let (_, section) = help.split_once(&format!("\n{heading}:\n")).unwrap_or_default();
        let lines = section.split("\n\n").next().unwrap().lines().map(str::trim_start);
        lines.map(|line| plain(line.trim_start_matches("-o, ").split("  ").next().unwrap())).collect::<Vec<String>>()
    };
    let words = [vec![command.to_string()], section("Arguments")].concat();
    let mut options = section("Options");
    options.retain(|option| !["--output FILE", "--json", "-h, --help"].contains(&option.as_str()));
    (words.join(" "), help.lines().next().unwrap().to_string(), options)
}

/// The word of a usage without its brackets.
fn plain(word: &str) -> String {
    word.replace(['<', '>', '[', ']'], "").replace("...", "…").replace('|', "\\|")
}

fn code(words: &[&String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The table of a group of commands. The sentence before it has the options of all commands, or of all except one.
fn table_of(commands: &[&str]) -> String {
    let rows: Vec<_> = commands.iter().map(|command| row_of(command)).collect();
    let has = |command: usize, option: &String| rows[command].2.contains(option);
    let without = |option: &String| (0..rows.len()).filter(|&row| !has(row, option)).collect::<Vec<_>>();
    let last = rows.last().map_or(&[][..], |row| &row.2);
    let most = if rows.len() > 9 { 1 } else { 0 };
    let few: Vec<&String> = last.iter().filter(|option| rows.len() > 2 && without(option).len() <= most).collect();
    let (some, shared): (Vec<&String>, _) = few.iter().partition(|option| without(option).len() == 1);
    let mut table = String::new();
    if !shared.is_empty() {
        table += &format!("All commands of this group accept {}.\n", code(&shared));
    }
    for option in &some {
        table += &format!("All except `{}` accept {}.\n", commands[without(option)[0]], code(&[option]));
    }
    table += if few.is_empty() { "" } else { "\n" };
    let own = |options: &Vec<String>| {
        let own: Vec<&String> = options.iter().filter(|option| !few.contains(option)).collect();
        code(&own)
    };
    let has_options = rows.iter().any(|(.., options)| !own(options).is_empty());
    table += if has_options {
        "| command | result | options |\n| --- | --- | --- |\n"
    } else {
        "| command | result |\n| --- | --- |\n"
    };
    for (usage, about, options) in &rows {
        let row = format!("| `{usage}` | {about} | {} |\n", own(options));
        table += &if has_options { row.replace("|  |", "| |") } else { row.replace(" |  |", " |") };
    }
    table
}

/// The table of the options below a heading of the help.
fn options_below(heading: &str) -> String {
    let help = stdout(&lacuna(&["sum", "--help"]));
    let (_, listed) = help.split_once(&format!("\n{heading}:\n")).expect(&help);
    let listed = listed.split("\nOptions ").next().unwrap().split("\nExample").next().unwrap();
    let mut table = "| option | meaning |\n| --- | --- |\n".to_string();
    for option in listed.trim_end().split("\n\n      -").map(|option| option.trim_start().trim_start_matches('-')) {
        let mut lines = option.lines().map(str::trim).filter(|line| !line.is_empty());
        let name = plain(lines.next().unwrap());
        // A list of more words is in the text below the table.
        let is_short = |line: &&str| line.split(", ").count() < 8 || !line.starts_with("[possible");
        let meaning: Vec<String> = lines.filter(is_short).map(|line| line.replace('|', "\\|")).collect();
        let meaning =
            meaning.join(" ").replace("] [possible values: ", "; one of ").replace("[possible values: ", "[one of ");
        table += &format!("| `--{name}` | {meaning} |\n");
    }
    table
}

/// `LACUNA_WRITE=1` writes the tables.
#[cfg(feature = "parquet")]
#[test]
fn the_tables_of_the_page_are_those_of_the_help() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let help = stdout(&lacuna(&["--help"]));
    let tables =
        groups_of(&help).into_iter().map(|(group, commands)| (format!("commands: {group}"), table_of(&commands)));
    let headings = ["Options for reading", "Options for writing and printing"];
    let tables = tables.chain(headings.map(|heading| (format!("options: {heading}"), options_below(heading))));
    let mut expected = page.clone();
    for (name, table) in tables {
        let start = format!("<!-- {name} -->\n");
        let (before, rest) = expected.split_once(&start).unwrap_or_else(|| panic!("no {start} in docs/cli.md"));
        let (_, after) = rest.split_once("<!-- end -->").expect("an end of the table");
        expected = format!("{before}{start}\n{table}\n<!-- end -->{after}");
    }
    if std::env::var_os("LACUNA_WRITE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(
        page == expected || std::env::var_os("LACUNA_WRITE").is_some(),
        "LACUNA_WRITE=1 writes the tables of docs/cli.md"
    );
}

/// The shape is that of a vector of as many positions as there can be.
#[test]
fn positions_from_2_to_the_63_on_are_positions() {
    let folder = Folder::new("far");
    let x = folder.file("x.tns", "# shape: 18446744073709551615\n1 5\n9223372036854775809 6\n18446744073709551615 7\n");
    let taken = |more: &[&str]| values_of(&[&["take", &x, "--dtype", "int64"], more].concat());
    let (far, half) = ("18446744073709551614", "9223372036854775808");
    let expected = json!([[[0], 7], [[1], 6], [[2], 5]]);
    assert_eq!(taken(&["--indices", &format!("{far},{half},0")]), expected);
    assert_eq!(taken(&["--axis", "0", "--indices", &format!("{far},{half},0")]), expected);
    // With such a neighbour a position that counts from the end has to be counted from the front.
    assert_eq!(taken(&["--indices", &format!("-1,{half},0")]), expected);
    assert_eq!(taken(&["--mode", "wrap", "--indices", &format!("-1,{half}")]), json!([[[0], 7], [[1], 6]]));
    assert_eq!(taken(&["--indices", &format!("{half}:{far}:9223372036854775806,-1:")])[1], json!([[1], 7]));
    let least = "-9223372036854775808";
    assert_eq!(taken(&["--mode", "clip", "--indices", &format!("{least},{half}")]), json!([[[0], 5], [[1], 6]]));
    let beyond = failure(1, &["take", &x, "--indices", "18446744073709551615"]);
    assert!(beyond.contains("indices[0] = 18446744073709551615 is out of range for 18446744073709551615"), "{beyond}");
    assert!(failure(2, &["take", &x, "--indices", "18446744073709551616"]).contains("is not a 64-bit integer"));
    // More than 2^64 elements: those that `u64` does not reach count from the end.
    let cube = folder.file("cube.tns", "# shape: 1099511627776 1099511627776\n1 1 5\n1099511627776 1099511627776 6\n");
    assert_eq!(values_of(&["take", &cube, "--indices", "-1:,0"]), json!([[[0], 6.0], [[1], 5.0]]));
    let banner = "%%MatrixMarket vector array unsigned-integer general";
    let list = folder.file("i.mtx", &format!("{banner}\n3\n{far}\n{half}\n0\n"));
    assert_eq!(taken(&["--indices-from", &list]), expected);
    let list = folder.file("i.txt", &format!("{far} {half}\n0\n"));
    assert_eq!(taken(&["--indices-from", &list]), expected);
}

#[test]
fn ranges_of_positions() {
    let folder = Folder::new("ranges");
    let x = folder.file("x.mtx", "%%MatrixMarket vector array integer general\n5\n10\n11\n12\n13\n14\n");
    let taken = |indices: &str| -> Vec<i64> {
        let told = json_of(&["take", &x, "--indices", indices]);
        let at = |at: u64| told["values"].as_array().unwrap().iter().find(|entry| entry[0][0] == at).unwrap();
        (0..told["shape"][0].as_u64().unwrap()).map(|i| at(i)[1].as_i64().unwrap()).collect()
    };
    assert_eq!(taken("0:3"), [10, 11, 12]);
    assert_eq!(taken("3:,0,1:4:2"), [13, 14, 10, 11, 13]);
    assert_eq!(taken(":"), [10, 11, 12, 13, 14]);
    assert_eq!(taken("::2"), [10, 12, 14]);
    assert_eq!(taken("::-1"), [14, 13, 12, 11, 10]);
    assert_eq!(taken("5::-2"), [14, 12, 10]);
    assert_eq!(taken("-2:"), [13, 14]);
    assert_eq!(taken("-5:-3"), [10, 11]);
    assert_eq!(taken(" 1 : 3 "), [11, 12]);
    assert_eq!(taken("3:1"), [0i64; 0]);
    assert_eq!(taken("1:3:9223372036854775807"), [11]);
    for (wrong, why) in
        [("0:6", "6 is outside -5..=5"), ("-6:", "-6 is outside -5..=5"), ("9:2", "9 is outside -5..=5")]
    {
        let told = failure(1, &["take", &x, "--indices", wrong, "--mode", "clip"]);
        assert!(told.contains(&format!("x.mtx: the range {wrong}: {why}")), "{told}");
    }
    for (wrong, why) in [
        ("1:2:0", "the step of the range `1:2:0` is 0"),
        ("1:2:3:4", "is not a range"),
        ("a:2", "is not a range"),
        ("1:2:x", "is not"),
    ] {
        let told = failure(2, &["take", &x, "--indices", wrong]);
        assert!(told.contains(why), "{wrong}: {told}");
    }
    let titanic = data("titanic.npz");
    let crew = ["--axis", "0", "--grad", &titanic, "--indices"];
    let of = |indices: &str| values_of(&[&["backward", "take", &titanic], &crew[..], &[indices]].concat());
    assert_eq!(of("0:4"), of("0,1,2,3"));
    assert!(failure(1, &["take", &titanic, "--axis", "3", "--indices", "0:3"]).contains("3 is outside -2..=2"));
    assert!(failure(1, &["take", &titanic, "--axis", "9", "--indices", "0:3"]).contains("axis 9 is out of range"));
    // A range may be longer than the machine has memory for.
    let vast = folder.file("vast.tns", "# shape: 1000000000000\n1 5\n");
    let told = failure(1, &["take", &vast, "--indices", ":"]);
    assert!(
        told.contains("8000000000000 bytes (7.3 TiB), above the limit of") && told.contains("--max-memory"),
        "{told}"
    );
    let told = failure(1, &["take", &vast, "--indices", "0:100", "--max-memory", "799"]);
    assert!(told.contains("800 bytes, above the limit of 799"), "{told}");
}

#[test]
fn positions_from_a_plain_list_and_from_tns() {
    let folder = Folder::new("lists");
    let titanic = data("titanic.npz");
    let taken = |path: &str| json_of(&["take", &titanic, "--indices-from", path]);
    let expected = json_of(&["take", &titanic, "--indices", "-1,1,30"]);
    for (name, text) in [("i.txt", "-1\n1\n30\n"), ("list", "# rows\n-1, 1,30"), ("i.csv", "\t-1,1\r\n\r\n30\r\n")] {
        assert_eq!(taken(&folder.file(name, text)), expected, "{name}");
    }
    assert_eq!(taken(&folder.file("i.tns", "1 -1\n2 1\n3 30\n")), expected);
    assert_eq!(taken(&folder.file("square.tns", "1 1 3\n2 2 4\n"))["shape"], json!([2, 2]));
    assert_eq!(taken(&folder.file("empty.txt", ""))["shape"], json!([0]));
    let streamed = lacuna_with(&["take", &titanic, "--indices-from", "-", "--json"], b"-1 1 30\n");
    assert_eq!(serde_json::from_str::<Value>(&stdout(&streamed)).unwrap(), expected);
    let wrong = failure(1, &["take", &titanic, "--indices-from", &folder.file("w.txt", "1\n2 1.5\n")]);
    assert!(wrong.ends_with("w.txt: line 2: `1.5` is not a 64-bit integer\n"), "{wrong}");
    let odd = folder.file("odd.txt", &format!("\u{1b}[31m{}", "x".repeat(100)));
    let wrong = failure(1, &["take", &titanic, "--indices-from", &odd]);
    assert!(wrong.contains("line 1: `\\u{1b}[31mxxx") && wrong.contains("xxx…` is not a 64-bit integer"), "{wrong}");
    let wrong = failure(1, &["take", &titanic, "--indices-from", &folder.file("w.tns", "1 1\n2 1.5\n")]);
    assert!(wrong.contains("w.tns: ") && wrong.contains("1.5"), "{wrong}");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"-1 1 30\n").unwrap();
    std::fs::write(folder.path("i.txt.gz"), packed.finish().unwrap()).unwrap();
    let wrong = failure(1, &["take", &titanic, "--indices-from", &folder.path("i.txt.gz")]);
    assert!(wrong.contains("gzip -dc FILE") && !wrong.contains("--from,"), "{wrong}");
    let large = ["take", &titanic, "--indices-from", &folder.file("l.txt", &"1 ".repeat(600)), "--max-memory", "1000"];
    assert!(failure(1, &large).contains("above the limit of 1000"));
    assert!(failure(1, &["take", &titanic, "--indices-from", "none.txt"]).starts_with("error: none.txt: "));
}

#[test]
fn prune_leaves_what_is_not_the_fill() {
    let folder = Folder::new("prune");
    let x = folder.file("x.mtx", SMALL);
    let pruned = json_of(&["prune", &x]);
    assert_eq!(pruned["values"], json!([[[0, 2], "-inf"], [[1, 0], "nan"], [[1, 1], 0.1]]));
    let missing = folder.path("missing.npz");
    assert_eq!(json_of(&["isnan", &data("mauna_loa_co2.mtx"), "-o", &missing])["nnz"], 2284);
    let gaps = json_of(&["prune", &missing]);
    assert_eq!((&gaps["nnz"], &gaps["values"][0]), (&json!(59), &json!([[0, 18], true])));
    assert_eq!(json_of(&["prune", &x, "--fill", "nan", "--layout", "csr"])["nnz"], 3);
    for_each_type(&folder, |dtype, file| {
        let pruned = json_of(&["prune", file]);
        assert_eq!((&pruned["nnz"], &pruned["dtype"]), (&json!(1), &json!(dtype)));
    });
}

#[test]
fn a_summary_lists_as_many_entries_as_asked_for() {
    let karate = data("karate.mtx");
    let listed = |arguments: &[&str]| {
        let text = stdout(&lacuna(arguments));
        let entries = text.lines().filter(|line| line.starts_with("  [")).count();
        (entries, text.lines().find_map(|line| line.strip_prefix("  … ").map(str::to_string)))
    };
    let folder = Folder::new("head");
    let out = folder.path("out.npz");
    for verb in [&["info", &karate][..], &["isnan", &karate], &["convert", &karate, &out], &["prune", &karate]] {
        let with = |more: &[&str]| listed(&[verb, more].concat());
        assert_eq!(with(&[]), (10, Some("146 more".into())), "{verb:?}");
        assert_eq!(with(&["--limit", "3"]), (3, Some("153 more".into())), "{verb:?}");
        assert_eq!(with(&["--limit", "0"]), (0, Some("156 more".into())), "{verb:?}");
        assert_eq!(with(&["--limit", "200"]), (156, None), "{verb:?}");
        assert_eq!(with(&["--all"]), (156, None), "{verb:?}");
        assert!(failure(2, &[verb, &["--all", "--limit", "3"]].concat()).contains("--limit"), "{verb:?}");
    }
    assert_eq!(listed(&["spy", &karate, "-o", &folder.path("x.png"), "--limit", "2"]).0, 2);
    assert!(failure(2, &["info", &karate, "--limit", "-1"]).contains("expected a whole number of entries"));
    let values = |more: &[&str]| values_of(&[&["isnan", &data("mauna_loa_co2.mtx")], more].concat());
    assert_eq!(values(&[]), Value::Null);
    assert_eq!(values(&["--limit", "2"]), json!([[[0, 12], false], [[0, 13], false]]));
    assert_eq!(values(&["--all"]).as_array().unwrap().len(), 2284);
}

#[test]
fn a_picture_is_as_wide_as_asked_for() {
    let folder = Folder::new("size");
    let width = |size: &str| {
        let svg = folder.path("x.svg");
        assert_eq!(json_of(&["spy", &data("mauna_loa_co2.mtx"), "-o", &svg, "--pixels", size])["nnz"], 2284);
        let drawn = std::fs::read_to_string(&svg).unwrap();
        drawn.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse::<usize>().unwrap()
    };
    for size in [300, 700, 1500] {
        let drawn = width(&size.to_string());
        assert!(drawn.abs_diff(size) < size / 5, "{size}: {drawn}");
    }
    assert!(failure(2, &["spy", "none.mtx", "-o", "x.png", "--pixels", "-5"]).contains("a whole number of pixels"));
}

/// A range that starts beyond 2^64 was counted from the end, which clipping sends to 0: element 0, three times.
#[test]
fn ranges_beyond_2_to_the_64_are_not_clipped_to_nothing() {
    let folder = Folder::new("vast_ranges");
    let file = folder.file("big.tns", "1 1 1 7\n4294967296 4294967296 4294967296 9\n");
    let raised = json_of(&["take", &file, "--indices=-3:"]);
    assert_eq!((&raised["shape"], &raised["values"]), (&json!([3]), &json!([[[2], 9.0]])));
    assert!(failure(1, &["take", &file, "--mode", "clip", "--indices=-3:"]).contains("--mode clip"));
}

/// A list took 48 bytes a position, and its text whatever it had, before any limit was asked.
#[test]
fn lists_of_positions_are_read_within_the_limit() {
    let folder = Folder::new("long_lists");
    let (file, list) = (folder.file("x.mtx", SMALL), folder.file("list.txt", &"0 ".repeat(100_000)));
    assert!(failure(1, &["take", &file, "--indices-from", &list, "--max-memory", "1M"]).contains("more than"));
    assert!(failure(1, &["take", &file, "--indices-from", &list, "--max-memory", "100K"]).contains("the list"));
    assert_eq!(json_of(&["take", &file, "--indices-from", &list, "--max-memory", "64M"])["shape"], json!([100_000]));
}

#[test]
#[allow(clippy::too_many_lines)] // A list.
fn verbs_of_reductions_pairs_and_parts() {
    let folder = Folder::new("verbs");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 5\n1 3 -2\n2 3 4\n");
    let y = folder.file("y.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 0.5\n2 2 nan\n");
    let w = folder.file("w.mtx", "%%MatrixMarket matrix coordinate integer general\n3 1 2\n1 1 2\n3 1 3\n");
    let m = folder.file("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 1 1\n2 1\n");
    for (arguments, expected) in [
        (&["sum", &x, "--axis", "1"][..], json!([[[0], 3], [[1], 4]])),
        (&["mean", &x, "--axis", "0", "--stored-only"], json!([[[0], 5.0], [[2], 1.0]])),
        (&["max", &x, "--axis", "-1", "--keep-dims"], json!([[[0, 0], 5], [[1, 0], 4]])),
        (&["argmin", &x], json!([[[], 2]])),
        (&["prod", &x, "--axis", "1", "--stored-only"], json!([[[0], -10], [[1], 4]])),
        (&["median", &x, "--axis", "1"], json!([[[0], 0.0], [[1], 0.0]])),
        (&["median", &x, "--stored-only", "--middle", "lower"], json!([[[], 4.0]])),
        (&["quantile", &x, "--q", "0.25", "--axis", "0", "--stored-only"], json!([[[0], 5.0], [[2], -0.5]])),
        (&["quantile", &x, "--q", "1", "--method", "nearest"], json!([[[], 5.0]])),
        (&["nanquantile", &y, "--q", "0.5", "--axis", "1"], json!([[[0], 0.0], [[1], 0.0]])),
        (&["norm", &y, "--axis", "1", "--ord", "inf"], json!([[[0], 0.5], [[1], "nan"]])),
        (&["topk", &x, "--k", "1", "--axis", "0"], json!([[[0, 0], 5], [[0, 2], 4]])),
        (&["topk", &x, "--k", "2", "--stored-only"], json!([[[0, 0], 5], [[0, 1], -2], [[1, 0], 4]])),
        (
            &["cov", &x, "--ddof", "0"],
            json!([[[0, 0], 8.666_666_666_666_666], [[0, 1], -4.0], [[1, 0], -4.0], [[1, 1], 3.555_555_555_555_555_4]]),
        ),
        (&["diff", &x, "--axis", "1"], json!([[[0, 0], -5], [[0, 1], -2], [[1, 1], 4]])),
        (&["diff", &x, "--n", "2"], json!([[[0, 0], 3], [[1, 0], 4]])),
        (&["cumsum", &x, "--axis", "1", "--stored-only"], json!([[[0, 0], 5], [[0, 2], 3], [[1, 2], 4]])),
        (&["sort", &x, "--axis", "1"], json!([[[0, 0], -2], [[0, 2], 5], [[1, 2], 4]])),
        (&["sort", &x, "--axis", "1", "--stored-only"], json!([[[0, 0], -2], [[0, 2], 5], [[1, 2], 4]])),
        (&["nansum", &y], json!([[[], 0.5]])),
        (&["var", &x, "--axis", "1", "--ddof", "1", "--stored-only"], json!([[[0], 24.5], [[1], "nan"]])),
        (&["add", &x, "-1"], json!([[[0, 0], 4], [[0, 2], -3], [[1, 2], 3]])),
        (&["div", &y, "+2.5e-1", "--stored-only"], json!([[[0, 0], 2.0], [[1, 1], "nan"]])),
        (&["mul", &y, "inf", "--stored-only"], json!([[[0, 0], "inf"], [[1, 1], "nan"]])),
        (&["sub", &x, &x, "--layout", "csr"], json!([[[0, 0], 0], [[0, 2], 0], [[1, 2], 0]])),
        (&["matmul", &x, &w], json!([[[0, 0], 4], [[1, 0], 12]])),
        (&["matmul", &x, &w, "--semiring", "max_plus"], json!([[[0, 0], 7], [[1, 0], 7]])),
        (&["matmul", &x, &w, "--mask", &m], json!([[[1, 0], 12]])),
        (&["matmul", &x, &w, "--mask", &m, "--complement", "--layout", "csr"], json!([[[0, 0], 4]])),
        (&["matmul", &x, &w, "--semiring", "plus_pair", "--mask", &m, "--complement"], json!([[[0, 0], 2]])),
        (&["slice", &x, "::-1, -1"], json!([[[0], 4], [[1], -2]])),
        (&["slice", &x, "-1"], json!([[[2], 4]])),
        (&["transpose", &x, "--axes", "-1,0"], json!([[[0, 0], 5], [[2, 0], -2], [[2, 1], 4]])),
        (
            &["concat", &x, &x, "--axis", "-1"],
            json!([[[0, 0], 5], [[0, 2], -2], [[0, 3], 5], [[0, 5], -2], [[1, 2], 4], [[1, 5], 4]]),
        ),
        (&["einsum", "ij,kj->ik", &x, &x], json!([[[0, 0], 29], [[0, 1], -8], [[1, 0], -8], [[1, 1], 16]])),
        (&["stack", &y, "--axis", "2"], json!([[[0, 0, 0], 0.5], [[1, 1, 0], "nan"]])),
    ] {
        assert_eq!(values_of(arguments), expected, "{arguments:?}");
    }
    let told = failure(1, &["matmul", &x, &w, "--mask", &x]);
    assert!(told.contains(&format!("{x}, {w}, {x}: the mask must have shape [2, 1], found [2, 3]")), "{told}");
    let told = failure(1, &["concat", &x, &x, &x, &x, &y, &x]);
    assert!(
        told.contains(&format!("{x}, {x}, {x}, {x}, and 2 more: concat: the element types int64 and float64 differ")),
        "{told}"
    );
    for (status, arguments, said) in [
        (2, &["slice", &x, "1:2:3:4"][..], "at most two colons"),
        (2, &["quantile", &x], "--q"),
        (2, &["quantile", &x, "--q", "2"], "q = 2.0 is not from 0 to 1"),
        (2, &["nanquantile", &x, "--q", "1.5"], "q = 1.5 is not from 0 to 1"),
        (2, &["quantile", &x, "--q", "-0.5"], "q = -0.5 is not from 0 to 1"),
        (2, &["quantile", &x, "--q", "nan"], "q = NaN is not from 0 to 1"),
        (2, &["quantile", &x, "--q", "half"], "`half` is not a number from 0 to 1"),
        (2, &["backward", "quantile", &x, "--q", "2", "--grad", &x], "q = 2.0 is not from 0 to 1"),
        (2, &["norm", &y, "--ord", "3"], "--ord"),
        (1, &["norm", &x], "x.mtx: norm does not support int64"),
        (1, &["topk", &x, "--k", "4"], "x.mtx: "),
        (1, &["cumsum", &x, "--axis", "0"], "--stored-only skips unstored positions"),
        (2, &["slice", &x, "0] + x[0"], "slices must be positions or ranges"),
        (2, &["einsum", "ij\", x]", &x], "is not a letter"),
        (1, &["einsum", "ij,jk->ik", &x], "x.mtx: einsum: \"ij,jk->ik\" describes 2 operands, found 1"),
        (2, &["slice", &x, ""], "an index is missing"),
        (2, &["slice", &x, "--json"], "--json"),
        (1, &["slice", &x, "5"], "x.mtx: 5 in the slice of axis 0"),
        (1, &["add", &x, "0.5"], "x.mtx: 0.5 is not a value of type int64"),
        (1, &["add", &x, &y], "y.mtx: add: the element types int64 and float64 differ; cast one of them"),
        (
            1,
            &["matmul", &x, &x],
            "x.mtx: matmul: axis 1 of the left operand has length 3, but axis 0 of the right operand has length 2",
        ),
        (1, &["matmul", &x, "2"], "x.mtx: matmul: a number does not have rows"),
        (2, &["matmul", &x, "2", "--mask", &m], "the right operand must be a file"),
        (2, &["matmul", &x, &w, "--semiring", "min_pluss"], "min_plus"),
        (2, &["matmul", &x, &w, "--complement"], "--mask"),
        (1, &["matmul", &x, &w, "--mask", "none.mtx"], "none.mtx: "),
        (1, &["add", &x, "none.mtx"], "none.mtx: "),
        (2, &["add", "-", "-"], "stdin can be read only once"),
        (1, &["sum", &x, "--axis", "2"], "x.mtx: axis 2 is out of range"),
        (1, &["nanmean", &x], "x.mtx: nanmean does not support int64"),
        (1, &["transpose", &x, "--axes", "0,0"], "x.mtx: axis 0 is repeated"),
        (2, &["transpose", &x, "--axes", "a"], "an axis must be an integer"),
        (1, &["min", &x, "--shape", "2,3", "--axis", "7"], "out of range"),
        (2, &["backward", "mul", &y, &y, "--grad", &y, "--wrt", "2"], "the operand must be 0 or 1"),
        (1, &["backward", "einsum", "ij->i", &y, "--grad", &y], "y.mtx: the upstream gradient must have shape [2]"),
        (
            1,
            &["backward", "einsum", "ij->i", &y, "--grad", &y, "--wrt", "1"],
            "wrt must be the index of one of 1 tensors, from 0",
        ),
        (1, &["backward", "nansum", &y, "--grad", &y], "y.mtx: the upstream gradient must have shape []"),
    ] {
        let told = failure(status, arguments);
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
    let g = folder.path("g.npz");
    assert_eq!(values_of(&["mean", &y, "--axis", "1", "-o", &g]), json!([[[0], 0.16666666666666666], [[1], "nan"]]));
    let third = values_of(&["backward", "nanmean", &y, "--axis", "1", "--grad", &g]);
    assert_eq!(third, json!([[[0, 0], 0.05555555555555555], [[1, 1], 0.0]]));
    assert_eq!(values_of(&["backward", "mul", &y, &y, "--grad", &y]), json!([[[0, 0], 0.25], [[1, 1], "nan"]]));
    let both = folder.path("both.npz");
    json_of(&["concat", &y, &y, "-o", &both]);
    assert_eq!(
        values_of(&["backward", "concat", &y, &y, "--grad", &both, "--wrt", "1"]),
        json!([[[0, 0], 0.5], [[1, 1], "nan"]])
    );
    let (z, g) =
        (folder.file("z.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n2 2 7\n"), folder.path("g.mtx"));
    json_of(&["einsum", "ij,kj->ik", &z, &z, "-o", &g]);
    let einsum = |wrt| values_of(&["backward", "einsum", "ij,kj->ik", &z, &z, "--grad", &g, "--wrt", wrt]);
    assert_eq!((einsum("0"), einsum("1")), (json!([[[1, 1], 343.0]]), json!([[[1, 1], 343.0]])));
    // Only stored entries are multiplied, for any fill. The right operand of `mul` is a number.
    let whole = ["einsum", "ij,kj->ik", &z, &z, "--fill", "1"];
    assert!(failure(1, &whole).contains("the fill is 1.0"));
    assert_eq!(values_of(&[&whole[..], &["--stored-only"]].concat()), json!([[[1, 1], 49.0]]));
    let backward = ["backward", "einsum", "ij,kj->ik", &z, &z, "--fill", "1", "--grad", &g, "--stored-only"];
    assert_eq!(values_of(&backward), json!([[[1, 1], 343.0]]));
    assert_eq!(values_of(&["backward", "mul", &z, "-2.5", "--grad", &z]), json!([[[1, 1], -17.5]]));
    assert_eq!(
        values_of(&["backward", "mul", &z, &z, "--grad", &z, "--fill", "1", "--stored-only"]),
        json!([[[1, 1], 49.0]])
    );
    assert!(failure(1, &["backward", "mul", &z, "1j", "--grad", &z]).contains("is not a value of type float64"));
}

#[test]
fn expressions_over_files() {
    let folder = Folder::new("eval");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 1 5\n2 3 4\n");
    let bound = format!("x={x}");
    assert_eq!(values_of(&["eval", "-x[0] * 2", &bound]), json!([[[0], -10]]));
    assert_eq!(json_of(&["eval", "to_csr(x)", &bound])["format"], "csr");
    assert_eq!(json_of(&["eval", "x + 0.5", &bound, "--dtype", "float32"])["dtype"], "float32");
    assert_eq!(json_of(&["eval", "0.25"])["fill"], json!(0.25));
    let out = folder.path("out.npz");
    assert_eq!(json_of(&["eval", "concat([x, x])", &bound, "-o", &out])["nnz"], 4);
    assert_eq!(json_of(&["info", &out])["shape"], json!([4, 3]));
    // A file whose name is not used is not read.
    assert_eq!(json_of(&["eval", "x", &bound, "y=none.mtx"])["nnz"], 2);
    for (status, arguments, said) in [
        (2, &["eval", "x +", &bound][..], "error: unexpected end of the expression\n  x +\n     ^\n"),
        (2, &["eval", "x + y", &bound], "the name y is not bound\n  x + y\n      ^\n"),
        (2, &["eval", "x + 0.5", &bound], "0.5 is not a value of type int64\n  x + 0.5\n      ^^^\n"),
        (2, &["eval", "nanmean(x)", &bound], "nanmean does not support int64"),
        (2, &["eval", "x", &bound, &bound], "the name x is bound twice"),
        (2, &["eval", "x", "x.mtx"], "expected NAME=FILE"),
        (2, &["eval", "x", &bound, "--engine", "cluster"], "threads"),
        (2, &["eval"], "required"),
        (2, &["eval", "--jsonl", "x"], "cannot be used with"),
        (2, &["eval", "x + y", "x=-", "y=-"], "stdin can be read only once"),
        (1, &["eval", "x[5]", &bound], "error: 5 in the slice of axis 0 is out of range for length 2\n"),
        (1, &["eval", "x", "x=none.mtx"], "error: none.mtx: "),
    ] {
        let told = failure(status, arguments);
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}

/// The entries of a large file were read before the expression was refused.
#[test]
fn types_and_shapes_that_headers_tell_are_refused_before_entries_are_read() {
    let folder = Folder::new("header");
    let file = folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 1\nno entry\n");
    let bound = format!("x={file}");
    let asked = |expression: &str| lacuna(&["eval", expression, &bound]);
    assert_eq!(stderr(&asked("sum(x, axis=2)")), "error: axis 2 is out of range for rank 2\n");
    assert!(stderr(&asked("x @ x")).contains("matmul: axis 1"), "{}", stderr(&asked("x @ x")));
    assert!(stderr(&asked("x & x")).contains("bit_and"), "{}", stderr(&asked("x & x")));
    for right in ["sum(x, axis=1)", "unique(x)", "take(x, [9])", "sum(x, axis=0, by=[0, 0, 7])"] {
        assert!(stderr(&asked(right)).contains("line 3"), "{right}: {}", stderr(&asked(right)));
    }
}

/// A path that ends in a separator is a folder of tables, and any verb reads one.
#[cfg(feature = "parquet")]
#[test]
fn a_folder_of_tables_is_written_and_read() {
    let folder = Folder::new("tables");
    let (karate, tables) = (data("karate.mtx"), folder.path("karate/"));
    assert!(lacuna(&["convert", &karate, &tables]).status.success());
    assert_eq!(std::fs::read_dir(&tables).unwrap().count(), 2);
    let told = |file: &str, more: &[&str]| {
        let output = lacuna(&[&["any", file, "--axis", "0", "--json"], more].concat());
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let expected = told(&karate, &[]);
    assert_eq!(told(&tables, &[]), expected);
    assert_eq!(told(tables.trim_end_matches('/'), &["--from", "parquet"]), expected);
    // Over the folder that is there, whatever its path ends in.
    assert!(lacuna(&["convert", &karate, &tables, "--to", "parquet", "--uncompressed"]).status.success());
    assert_eq!(std::fs::read_dir(&tables).unwrap().count(), 2);
    let taken = lacuna(&["take", &karate, "--axis", "0", "--indices-from", &folder.path("none/")]);
    assert!(!taken.status.success());
    let empty = lacuna(&["info", folder.0.to_str().unwrap()]);
    let message = String::from_utf8(empty.stderr).unwrap();
    assert!(message.contains("no _lacuna.json"), "{message}");
}

/// Files larger than memory are processed in chunks, with the same files and the same output.
#[cfg(feature = "parquet")]
#[test]
fn verbs_run_in_chunks() {
    let folder = Folder::new("chunks");
    let (karate, table) = (data("karate.mtx"), folder.path("karate.parquet"));
    assert!(lacuna(&["convert", &karate, &table]).status.success());
    for verb in [
        &["any", "--axis", "1"][..],
        &["sum", "--axis", "0", "--keep-dims"],
        &["nanmedian", "--axis", "-1", "--stored-only"],
        &["isnan"],
        &["max"],
        &["mean"],
        &["norm", "--stored-only"],
        &["transpose"],
        &["slice", "5:9,::-2"],
        &["topk", "--k", "2"],
        &["add", &table],
        &["concat", &table, "--axis", "1"],
        &["take", "--indices", "3,-1", "--axis", "0"],
        &["take", "--indices", "40,7"],
        &["isin", "--values", "0,2"],
        &["matmul", &table],
        &["einsum", "ij,jk->i", &table],
    ] {
        // The specification stands before the files.
        let at = 1 + usize::from(verb[0] == "einsum");
        let plain = [&verb[..at], &[&table], &verb[at..], &["--json"]].concat();
        let expected = lacuna(&plain);
        assert!(expected.status.success(), "{verb:?}: {}", stderr(&expected));
        let chunks = ["--engine", "chunks", "--max-memory", "64K", "--spill", folder.0.to_str().unwrap()];
        let found = lacuna(&[&plain[..], &chunks].concat());
        assert_eq!(stdout(&found), stdout(&expected), "{verb:?}: {}", stderr(&found));
        let out = folder.path("out.parquet");
        let written = lacuna(&[&plain[..], &chunks, &["-o", &out]].concat());
        assert_eq!(stdout(&written), stdout(&expected), "{verb:?}: {}", stderr(&written));
        let read = lacuna(&["convert", &out, &folder.path("back.npz"), "--json"]);
        assert_eq!(stdout(&read), stdout(&expected), "{verb:?}");
    }
    let refused = failure(1, &["max", &table, "--engine", "chunks", "--max-memory", "1K"]);
    assert!(refused.contains("above the limit") && refused.contains("--max-memory"), "{refused}");
    // A file that is not a table is read into memory.
    let expected = stdout(&lacuna(&["any", &karate, "--axis", "1"]));
    assert_eq!(stdout(&lacuna(&["any", &karate, "--axis", "1", "--engine", "chunks"])), expected);
}

/// Expressions are graphs, so that tables need not fit memory.
#[cfg(feature = "parquet")]
#[test]
fn expressions_run_in_chunks() {
    let folder = Folder::new("eval-chunks");
    let table = folder.path("karate.parquet");
    assert!(lacuna(&["convert", &data("karate.mtx"), &table]).status.success());
    let dense = folder.path("karate.npy");
    assert!(lacuna(&["convert", &data("karate.mtx"), &dense]).status.success());
    let (x, y, a) = (format!("x={table}"), format!("y={}", data("karate.mtx")), format!("a={dense}"));
    let chunks = ["--engine", "chunks", "--max-memory", "64K", "--spill", folder.0.to_str().unwrap()];
    for expression in [
        "sum(x * 2 + 1, axis=1)",
        "x - mean(x, axis=0)",
        "grad(sum(x * y), x, 1)",
        "stored(x) @ y",
        "7",
        "x + a",
        "x * (a[0] + 1)",
        "sum(a, axis=0)",
        "a @ x",
        "concat([a, x])",
        "from_dense(a)",
    ] {
        let plain = ["eval", expression, &x, &y, &a, "--json"];
        let expected = lacuna(&plain);
        assert!(expected.status.success(), "{expression}: {}", stderr(&expected));
        let found = lacuna(&[&plain[..], &chunks].concat());
        assert_eq!(stdout(&found), stdout(&expected), "{expression}: {}", stderr(&found));
    }
    // A table stores the elements of an array that are not 0.
    let written = folder.path("sum.parquet");
    let on_disk = ["eval", "x + a", &x, &a, "-o", &written, "--json"];
    assert_eq!(
        stdout(&lacuna(&[&on_disk[..], &chunks].concat())),
        stdout(&lacuna(&["eval", "from_dense(x + a)", &x, &a, "--json"]))
    );
    // A table that is partitioned out has the format that is asked for, and one of another name is a table by its
    // bytes.
    let columns = ["sum", &table, "--axis", "0", "--layout", "csr", "--json"];
    assert_eq!(stdout(&lacuna(&[&columns[..], &chunks].concat())), stdout(&lacuna(&columns)));
    let renamed = folder.path("karate.data");
    std::fs::copy(&table, &renamed).unwrap();
    let told = stdout(&lacuna(&[&["eval", "x * 2", &format!("x={renamed}"), "--explain"], &chunks[..]].concat()));
    assert!(told.contains("scan"), "{told}");
    let told = stdout(&lacuna(&[&["eval", "sum(x * 2, axis=1)", &x, "--explain"], &chunks[..]].concat()));
    assert!(told.ends_with("chunks: %2 in chunks of axis 0; %0 in chunks of axis 0\n"), "{told}");
    let refused = failure(2, &["eval", "sum(x", &x, "--engine", "chunks"]);
    assert!(refused.contains("missing"), "{refused}");
    let refused = failure(1, &["eval", "x * 2", &x, "--engine", "chunks", "--max-memory", "100"]);
    assert!(refused.contains("--max-memory"), "{refused}");
    assert!(failure(2, &["eval", "--jsonl", "--engine", "chunks"]).contains("--jsonl"));
}

/// Entries of a result that does not fit the memory are read again as far as they are listed.
#[cfg(feature = "parquet")]
#[test]
fn a_large_result_in_chunks_lists_the_entries_that_are_asked_for() {
    let folder = Folder::new("large-head");
    let (table, out) = (folder.path("x.parquet"), folder.path("o.parquet"));
    assert!(lacuna(&["eval", "random([300, 300], 30000, 5)", "-o", &table]).status.success());
    let x = format!("x={table}");
    let plain = ["eval", "x * 2", &x];
    let chunks = ["-o", &out, "--engine", "chunks", "--max-memory", "256K", "--spill", folder.0.to_str().unwrap()];
    for told in [&["--limit", "5"][..], &[], &["--limit", "0"], &["--all"], &["--json"], &["--json", "--limit", "5"]] {
        let expected = lacuna(&[&plain[..], told].concat());
        let found = lacuna(&[&plain[..], &chunks, told].concat());
        assert!(expected.status.success() && found.status.success(), "{told:?}: {}", stderr(&found));
        assert!(stdout(&found) == stdout(&expected), "{told:?}: {:.300}", stdout(&found));
    }
}

/// Runs a line of the shell with the program as `$LACUNA` and this folder, for a while at most.
#[cfg(unix)]
fn shell_in(folder: &Folder, line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env("LACUNA", env!("CARGO_BIN_EXE_lacuna")).current_dir(&folder.0);
    shell.stdin(Stdio::null()).output().unwrap()
}

/// Files were opened twice, once for their headers: a pipe has its bytes once.
#[cfg(unix)]
#[test]
fn expressions_read_pipes_as_other_verbs_do() {
    let folder = Folder::new("pipes");
    folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 5.5\n2 3 -2\n");
    let names: &[&str] = if cfg!(feature = "parquet") { &["x.mtx", "x.npz", "x.parquet"] } else { &["x.mtx", "x.npz"] };
    for name in names {
        assert!(*name == "x.mtx" || lacuna(&["convert", &folder.path("x.mtx"), &folder.path(name)]).status.success());
        for (expression, engine) in [("sum(x)", ""), ("sum(x + x) / 2", ""), ("sum(x)", "--engine chunks")] {
            for line in [
                format!("cat {name} | timeout 30 \"$LACUNA\" eval '{expression}' x=/dev/stdin --json {engine}"),
                format!(
                    "mkfifo p.{name}; cat {name} > p.{name} & timeout 30 \"$LACUNA\" eval '{expression}' x=p.{name} \
                     --json {engine}; found=$?; rm p.{name}; exit $found"
                ),
                format!("timeout 30 \"$LACUNA\" eval '{expression}' x=/dev/stdin --json {engine} < {name}"),
            ] {
                if cfg!(not(feature = "parquet")) && !engine.is_empty() {
                    continue;
                }
                let found = shell_in(&folder, &line);
                let told = String::from_utf8_lossy(&found.stdout).into_owned();
                assert!(told.contains("[[], 3.5]"), "{line}: {told}{}", String::from_utf8_lossy(&found.stderr));
            }
        }
    }
    let two = "cat x.mtx | timeout 30 \"$LACUNA\" eval 'sum(x @ y)' x=/dev/stdin y=x.npz";
    let told = String::from_utf8(shell_in(&folder, two).stderr).unwrap();
    assert!(told.contains("matmul"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn files_may_have_names_that_are_no_utf8() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new("names");
    let path = folder.0.join(OsString::from_vec(b"x\xff=y.mtx".to_vec()));
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 5.5\n2 3 -2\n").unwrap();
    let word = |before: &str| {
        let mut word = OsString::from(before);
        word.push(&path);
        word
    };
    for arguments in [
        vec!["sum".into(), word("")],
        vec!["eval".into(), "sum(x)".into(), word("x=")],
        vec!["sub".into(), word(""), word("")],
        vec!["backward".into(), "mul".into(), word(""), word(""), "--grad".into(), word("")],
    ] {
        let found = Command::new(env!("CARGO_BIN_EXE_lacuna")).args(&arguments).output().unwrap();
        assert!(found.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&found.stderr));
    }
    let no_name = Command::new(env!("CARGO_BIN_EXE_lacuna"))
        .args([OsString::from("eval"), "x".into(), OsString::from_vec(b"\xff=f".to_vec())])
        .output()
        .unwrap();
    assert_eq!(no_name.status.code(), Some(2));
}

/// A folder in which the program was ended by a signal of that number while it wrote a large file or folder.
#[cfg(unix)]
fn ended_by(signal: &str, number: i32, target: &str) -> Folder {
    use std::os::unix::process::ExitStatusExt;
    // On a loaded machine the program may be done before the signal comes.
    for _ in 0..20 {
        let folder = Folder::new(&format!("{signal}-{}", target.trim_matches('/')));
        let mut command = Command::new(env!("CARGO_BIN_EXE_lacuna"));
        command.args(["eval", "random([1000000, 1000000], 600000)", "-o", target]).current_dir(&folder.0);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while folder.names().is_empty() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(!folder.names().is_empty(), "it wrote nothing");
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        if let Some(by) = child.wait().unwrap().signal() {
            assert_eq!(by, number);
            return folder;
        }
    }
    panic!("no signal came before it was done")
}

#[cfg(unix)]
#[test]
fn a_signal_that_ends_the_program_leaves_no_temporary_file() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        assert_eq!(ended_by(signal, number, "o.mtx").names(), [""; 0], "{signal}");
    }
}

/// Neither parts nor the list of them stay in a folder.
#[cfg(all(unix, feature = "parquet"))]
#[test]
fn a_signal_that_ends_the_program_leaves_no_part() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let folder = ended_by(signal, number, "o/");
        assert_eq!(folder.names(), ["o"], "{signal}");
        assert_eq!(std::fs::read_dir(folder.0.join("o")).unwrap().count(), 0, "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_program_left_is_removed_by_the_next_write() {
    let folder = ended_by("KILL", 9, "o.mtx");
    assert_eq!(folder.names().len(), 1, "{:?}", folder.names());
    let small = folder.path("small.mtx");
    assert!(lacuna(&["convert", &data("cross_123.mtx"), &small]).status.success());
    assert_eq!(folder.names(), ["small.mtx"]);
    // Temporary files of one process number. In containers, the number is always 1.
    for number in 0..100 {
        folder.file(&format!(".lacuna-1-{number}.tmp"), "half");
        folder.file(&format!(".lacuna-{}-{number}.tmp", std::process::id()), "half");
    }
    assert!(lacuna(&["convert", &data("cross_123.mtx"), &small]).status.success());
    assert_eq!(folder.names(), ["small.mtx"]);
}

/// In a container the program is process 1. Not everybody may make one.
#[cfg(target_os = "linux")]
#[test]
fn a_container_writes_beside_what_others_of_its_number_left() {
    let folder = Folder::new("container");
    for number in 0..200 {
        folder.file(&format!(".lacuna-1-{number}.tmp"), "half");
    }
    folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5.5\n");
    let line = "unshare --user --map-root-user --pid --fork";
    if !shell_in(&folder, &format!("{line} true")).status.success() {
        return println!("skipped: no process may have a number space of its own");
    }
    let held = std::fs::File::open(folder.0.join(".lacuna-1-7.tmp")).unwrap();
    held.try_lock().unwrap();
    let found = shell_in(&folder, &format!("{line} \"$LACUNA\" convert x.mtx o.npz"));
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    assert_eq!(folder.names(), [".lacuna-1-7.tmp", "o.npz", "x.mtx"]);
}

/// A `.npy` file is an array beside a second operand, and a tensor alone or with an option that makes it one.
#[test]
fn arrays_are_operands() {
    let folder = Folder::new("arrays");
    let column = folder.file("c.mtx", "%%MatrixMarket matrix array real general\n3 1\n2\n4\n0.5\n");
    let matrix = folder.file("m.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n0\n2\n0\n0\n3\n");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 6\n3 1 1\n");
    let [column, matrix] = [(column, "c.npy"), (matrix, "m.npy")].map(|(text, name)| {
        let path = folder.path(name);
        assert_eq!(lacuna(&["convert", &text, &path]).status.code(), Some(0));
        path
    });
    let quotient = json_of(&["div", &x, &column]);
    assert_eq!((&quotient["format"], &quotient["values"]), (&json!("coo"), &json!([[[0, 1], 3.0], [[2, 0], 2.0]])));
    let sum = json_of(&["add", &x, &column]);
    assert_eq!((&sum["format"], &sum["nnz"], &sum["fill"]), (&json!("dense"), &json!(9), &json!(0.0)));
    assert_eq!(sum["values"][1], json!([[0, 1], 8.0]));
    let product = json_of(&["matmul", &x, &matrix]);
    assert_eq!((&product["format"], &product["nnz"], &product["shape"]), (&json!("dense"), &json!(6), &json!([3, 2])));
    assert_eq!(json_of(&["einsum", "ij,jk->ik", &x, &matrix])["values"], product["values"]);
    assert_eq!(json_of(&["mul", &matrix, "2"])["format"], json!("dense"));
    for option in [["--fill", "0"], ["--layout", "coo"]] {
        assert_eq!(json_of(&["mul", &matrix, "2", option[0], option[1]])["nnz"], json!(3), "{option:?}");
    }
    // Commands with one operand.
    assert_eq!(json_of(&["info", &matrix])["nnz"], json!(3));
    assert_eq!(json_of(&["sum", &matrix, "--axis", "0"])["format"], json!("coo"));
    let binding = format!("m={matrix}");
    assert_eq!(json_of(&["eval", "sum(m, axis=0)", &binding])["format"], json!("dense"));
    assert_eq!(json_of(&["eval", "sum(from_dense(m), axis=0)", &binding])["format"], json!("coo"));
    assert_eq!(json_of(&["eval", "m", &binding, "--dtype", "float32"])["dtype"], json!("float32"));
    assert!(
        stdout(&lacuna(&["eval", "m", &binding])).contains("format   dense\nstored   6 of 6 (100 %)\nfill     0.0\n")
    );
    // A file of another format stores what is not 0.
    let (npy, npz) = (folder.path("sum.npy"), folder.path("sum.npz"));
    for path in [&npy, &npz] {
        assert_eq!(lacuna(&["matmul", &x, &matrix, "-o", path]).status.code(), Some(0));
    }
    assert_eq!(json_of(&["info", &npz])["nnz"], json!(1));
    assert_eq!(values_of(&["eval", "y", &format!("y={npy}")]), product["values"]);
    let zero = folder.file("z.mtx", "%%MatrixMarket matrix array real general\n3 1\n2\n0\n0.5\n");
    let path = folder.path("z.npy");
    assert_eq!(lacuna(&["convert", &zero, &path]).status.code(), Some(0));
    assert!(failure(1, &["div", &x, &path]).contains("[1, 0]"));
    let joined = json_of(&["concat", &x, &matrix, "--axis", "1"]);
    assert_eq!((&joined["format"], &joined["nnz"], &joined["shape"]), (&json!("coo"), &json!(8), &json!([3, 5])));
    assert!(failure(1, &["eval", "prune(m)", &binding]).contains("from_dense(x)"));
}
