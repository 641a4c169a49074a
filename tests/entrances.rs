//! Every public way to make a tensor, a pattern or triplets, and where each invariant of what it is given is broken
//! singly. One that is not in the table fails the test, and so does a line of the table whose test is gone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Why no broken tensor comes in there.
enum Guard {
    /// These tests break each invariant singly: file and function.
    Tests(&'static [(&'static str, &'static str)]),
    /// The entrance accepts values whose invariants hold already, or values without invariants.
    Whole(&'static str),
}
use Guard::{Tests, Whole};

const COORDINATES: Guard = Tests(&[
    ("constructors", "bad_coordinates_are_refused_everywhere"),
    ("constructors", "a_bad_order_is_refused_by_patterns_and_mended_by_triplets"),
    ("constructors", "no_input_makes_a_pattern_panic_or_lie"),
]);

const LANES: Guard = Tests(&[
    ("constructors", "bad_lanes_are_refused_everywhere"),
    ("constructors", "no_input_makes_a_pattern_panic_or_lie"),
]);

const SHAPE: Guard = Tests(&[("constructors", "axes_that_do_not_fit_are_refused_by_whatever_stores_nothing")]);

const DENSE: Guard = Tests(&[
    ("conversions", "from_dense_reads_any_layout"),
    ("conversions", "ranks_0_and_1_and_empty_arrays_convert"),
    ("conversions", "broadcast_views_are_not_written_out"),
]);

const PADDLE: Guard = Tests(&[("batched", "every_broken_invariant_of_paddle_has_its_error")]);
const TORCH: Guard = Tests(&[("batched", "every_broken_invariant_of_torch_has_its_error")]);

const SPRS: Guard = Tests(&[
    ("interop_sprs", "a_slice_of_a_matrix_has_offsets_that_do_not_start_at_zero"),
    ("interop_sprs", "triplets_keep_their_order_and_repetitions"),
    ("interop_sprs", "axes_that_only_one_of_the_two_can_index"),
    ("interop_sprs", "a_matrix_by_columns_with_vast_rows_has_no_rows_here"),
]);

const FILES: Guard = Tests(&[
    ("io_hostile", "a_binary_file_cut_at_any_byte_is_refused"),
    ("io_hostile", "a_changed_byte_never_panics"),
    ("io_hostile", "a_matrix_market_file_says_which_line_is_wrong"),
    ("io_hostile", "an_array_says_which_field_is_wrong"),
    ("io_hostile", "an_archive_says_which_member_is_wrong"),
    ("io_npz", "a_coordinate_out_of_bounds_names_its_member"),
    ("io_tns", "a_file_says_which_line_is_wrong"),
    ("io", "behind_a_header_nothing_is_read"),
]);

const RECORDS: Guard = Tests(&[("io_arrow", "tables_of_others"), ("io_arrow", "a_batch_that_promises_order_keeps_it")]);

/// The file of each entrance, its name, and its guard.
const TABLE: &[(&str, &str, Guard)] = &[
    ("base/axes", "all", Whole("it makes no tensor")),
    ("base/axes", "none", Whole("it makes no tensor")),
    ("convert/batched", "from_paddle", PADDLE),
    ("convert/batched", "from_paddle_with_index", PADDLE),
    ("convert/batched", "from_torch", TORCH),
    ("convert/batched", "from_torch_with_index", TORCH),
    ("convert/coo_csr", "TryFrom<CsrTensor<T, I>> for CooTensor<T, I>", Whole("it takes a tensor")),
    ("convert/coo_csr", "TryFrom<CooTensor<T, I>> for CsrTensor<T, I>", Whole("it takes a tensor")),
    ("convert/dense", "TryFrom<&ArrayBase<S, D>> for CooTensor<T, I>", DENSE),
    ("convert/dense", "TryFrom<&ArrayBase<S, D>> for CsrTensor<T, I>", DENSE),
    ("convert/dense", "from_dense", DENSE),
    ("convert/dense", "from_dense_with_index", DENSE),
    (
        "convert/serde",
        "Deserialize<'de> for CooPattern<I>",
        Tests(&[("serde", "every_broken_invariant_of_coordinates_is_refused")]),
    ),
    (
        "convert/serde",
        "Deserialize<'de> for CsrPattern<I>",
        Tests(&[("serde", "every_broken_invariant_of_lanes_is_refused")]),
    ),
    (
        "convert/serde",
        "Deserialize<'de> for Tensor<P, T>",
        Tests(&[("serde", "every_broken_invariant_of_tensors_and_triplets_is_refused")]),
    ),
    (
        "convert/serde",
        "Deserialize<'de> for Triplets<T, I>",
        Tests(&[("serde", "every_broken_invariant_of_tensors_and_triplets_is_refused")]),
    ),
    ("convert/sprs", "TryFrom<&CsMatBase<T, J, PS, JS, DS, Iptr>> for Tensor<P, T>", SPRS),
    ("convert/sprs", "TryFrom<&TriMatBase<IS, DS>> for CooTensor<T, I>", SPRS),
    ("convert/sprs", "TryFrom<&TriMatBase<IS, DS>> for CsrTensor<T, I>", SPRS),
    ("convert/sprs", "TryFrom<&TriMatBase<IS, DS>> for Triplets<T, I>", SPRS),
    ("convert/sprs", "TryFrom<CsMatI<T, J, Iptr>> for CooTensor<T, I>", SPRS),
    ("convert/sprs", "TryFrom<CsMatI<T, J, Iptr>> for CsrTensor<T, I>", SPRS),
    ("convert/sprs", "from_sprs", SPRS),
    ("tensor/coo", "full", SHAPE),
    ("tensor/coo", "new", COORDINATES),
    ("tensor/csr", "full", SHAPE),
    ("tensor/csr", "new", LANES),
    ("io/entries", "From<TextTensor> for AnyTensor", Whole("it takes a tensor")),
    ("dynamic/product", "named", Whole("it makes no tensor")),
    ("dynamic/select", "$name", Whole("it takes tensors")),
    ("io/labels", "new", Whole("it makes no tensor")),
    ("io/progress", "new", Whole("it makes no tensor")),
    ("io/parquet/arrow", "from_record_batch", RECORDS),
    ("io/read", "read", FILES),
    ("io/read", "read_coo", FILES),
    ("io/read", "read_csr", FILES),
    ("io/read", "read_from", FILES),
    ("io/read", "read_header", FILES),
    ("io/scan", "scan", Whole("it makes a step; what that reads, `Dataset` checks")),
    (
        "lazy/broadcast_operands",
        "new",
        Tests(&[("lazy_outside", "operands_with_other_elements_than_positions_are_refused")]),
    ),
    ("io/read", "read_slice", Tests(&[("io_parquet", "a_box_is_the_slice_of_the_whole_and_leaves_out_what_it_can")])),
    ("pattern/coo", "empty", SHAPE),
    ("pattern/coo", "new", COORDINATES),
    ("pattern/csr", "empty", SHAPE),
    ("pattern/csr", "empty_with_limit", SHAPE),
    ("pattern/csr", "new", LANES),
    ("tensor/mod", "from_parts", Tests(&[("constructors", "the_wrong_number_of_values_is_refused")])),
    ("tensor/triplets", "TryFrom<&Tensor<P, T>> for Triplets<T, I>", Whole("it takes a tensor")),
    ("tensor/triplets", "from_arrays", COORDINATES),
    ("tensor/triplets", "from_arrays_with_index", COORDINATES),
    ("tensor/triplets", "new", SHAPE),
    ("tensor/triplets", "new_with_index", SHAPE),
    ("dynamic/mod", "From<Tensor<P, T>> for AnyTensor", Whole("it takes a tensor")),
    ("dynamic/einsum", "einsum", Whole("it takes tensors")),
    ("dynamic/einsum", "einsum_backward", Whole("it takes tensors")),
    ("dynamic/select", "concat", Whole("it takes tensors")),
    ("dynamic/select", "concat_backward", Whole("it takes tensors")),
    ("dynamic/select", "stack", Whole("it takes tensors")),
    ("dynamic/select", "stack_backward", Whole("it takes tensors")),
    ("eval/input", "header", Whole("it stores nothing")),
    ("eval/mod", "parse", Whole("it makes no tensor")),
    ("eval/program", "parse", Whole("it makes no tensor")),
    ("lazy/chunks/mod", "memory", Whole("it makes no tensor")),
    ("lazy/chunks/spill", "new", Whole("it makes a folder, and no tensor")),
    ("lazy/einsum", "einsum", Whole("it makes a step of those that are there")),
    ("lazy/remote", "of", Whole("it reads what a graph reads, and makes no tensor")),
    ("lazy/joins", "block", Whole("it makes a step of those that are there")),
    ("lazy/joins", "concat", Whole("it makes a step of those that are there")),
    ("lazy/joins", "stack", Whole("it makes a step of those that are there")),
    ("eval/graph", "later", Whole("it takes a tensor and a graph")),
    ("lazy/mod", "input", Whole("it stands for a tensor that is bound later, and holds none")),
    ("lazy/query", "new", Whole("it makes a question that another engine is asked, and no tensor")),
    ("ops/map/isin", "of", Whole("it makes no tensor")),
    ("io/csv/labelled", "new", Whole("it makes no tensor")),
    ("ops/product/einsum", "of", Whole("it makes no tensor")),
    ("base/axes", "by", Tests(&[("group_by", "labels_that_are_none_are_errors")])),
    ("base/labels", "of", Whole("it makes no tensor")),
    ("ops/reduce/nanmedian", "over", Whole("it makes no tensor")),
    ("ops/reduce/norm", "over", Whole("it makes no tensor")),
    ("ops/reduce/quantile", "over", Whole("it makes no tensor")),
    ("ops/reduce/var", "over", Whole("it makes no tensor")),
    ("ops/select/indices", "at", Whole("it makes no tensor")),
    ("ops/product/sddmm", "sddmm_backward", Whole("it takes a tensor")),
    ("ops/select/entries", "filter_entries_backward", Whole("it takes a tensor")),
    ("ops/select/entries", "select_backward", Whole("it takes a tensor")),
    ("ops/select/join", "block", Whole("it takes tensors")),
    ("ops/select/join", "concat", Whole("it takes tensors")),
    ("ops/select/join", "concat_backward", Whole("it takes tensors")),
    ("ops/select/join", "stack", Whole("it takes tensors")),
    ("ops/select/join", "stack_backward", Whole("it takes tensors")),
    ("ops/select/make", "diag", Whole("it makes the coordinates itself")),
    ("ops/select/make", "diag_with_index", Whole("it makes the coordinates itself")),
    ("ops/select/make", "eye", Whole("it makes the coordinates itself")),
    ("ops/select/make", "eye_with_index", Whole("it makes the coordinates itself")),
    ("ops/select/make", "random", Whole("it makes the coordinates itself")),
    ("ops/select/make", "random_with_index", Whole("it makes the coordinates itself")),
    ("ops/zip/allclose", "within", Whole("it makes no tensor")),
    ("ops/zip/mask", "mask_backward", Whole("it takes a tensor")),
    ("ops/zip/mask", "without_backward", Whole("it takes a tensor")),
    ("ops/table/command", "all", Whole("it makes no tensor")),
];

/// The types that an entrance constructs.
const MADE: &[&str] =
    &["Self", "CooTensor", "CsrTensor", "Tensor", "CooPattern", "CsrPattern", "Triplets", "AnyTensor", "$tensor"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Programs and pictures make no tensors of their own; engines are other packages.
        match path.is_dir() {
            true if !["bin", "spy", "engines"].iter().any(|name| path.ends_with(name)) => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
}

/// The code of a file on one line, without comments and tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.collect::<Vec<_>>().join(" ")
}

/// The end of what is opened by the first byte of `text`.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0;
    let mut before = ' ';
    for (at, symbol) in text.char_indices() {
        if symbol == open {
            depth += 1;
        } else if symbol == close && before != '-' {
            depth -= 1;
            if depth == 0 {
                return at + symbol.len_utf8();
            }
        }
        before = symbol;
    }
    text.len()
}

fn makes(text: &str) -> bool {
    let is_part = |symbol: char| symbol.is_alphanumeric() || symbol == '_' || symbol == '$';
    text.split(|symbol| !is_part(symbol)).any(|word| MADE.contains(&word))
}

/// The public functions without a receiver that give something that is made, by name.
fn functions(code: &str) -> Vec<String> {
    code.split("pub fn ")
        .skip(1)
        .filter_map(|text| {
            let signature = &text[..text.find(['{', ';'])?];
            let end = signature.find(['<', '('])?;
            let (name, rest) = signature.split_at(end);
            let rest = if rest.starts_with('<') { &rest[closing(rest, '<', '>')..] } else { rest };
            let (arguments, rest) = rest.split_at(closing(rest, '(', ')'));
            let has_receiver =
                arguments.split([',', ':']).next().is_some_and(|first| first.trim_end_matches(')').ends_with("self"));
            let result = rest.split_once("->")?.1.split(" where ").next()?;
            (!has_receiver && makes(result)).then(|| name.to_string())
        })
        .collect()
}

/// The conversions into something that is made, by trait and type.
fn conversions(code: &str) -> Vec<String> {
    code.split("impl")
        .skip(1)
        .filter_map(|text| {
            let text = &text[..text.find('{')?];
            let text = if text.starts_with('<') { &text[closing(text, '<', '>')..] } else { text }.trim();
            let (of, made) = text.split_once(" for ")?;
            let made = made.split(" where ").next()?.trim();
            let is_entrance = ["TryFrom<", "From<", "Deserialize<"].iter().any(|name| of.starts_with(name));
            (is_entrance && makes(made)).then(|| format!("{of} for {made}"))
        })
        .collect()
}

fn entrances() -> BTreeSet<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let code = code(&file);
        let name = file.strip_prefix(&root).unwrap().with_extension("").display().to_string().replace('\\', "/");
        for entrance in functions(&code).into_iter().chain(conversions(&code)) {
            found.insert((name.clone(), entrance));
        }
    }
    found
}

#[test]
fn every_entrance_is_in_the_table() {
    let listed = TABLE.iter().map(|(file, name, _)| (file.to_string(), name.to_string())).collect();
    let found = entrances();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "break each invariant of these in a test, and name it in the table: {missing:?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these are in the table only: {gone:?}");
}

#[test]
fn every_test_in_the_table_is_there() {
    for (file, name, guard) in TABLE {
        match guard {
            Tests(tests) => tests.iter().for_each(|(file, test)| {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file).with_extension("rs");
                let text = fs::read_to_string(path).unwrap();
                assert!(text.contains(&format!("fn {test}(")), "{test}");
            }),
            Whole(reason) => assert!(reason.len() > 10, "{file}: {name}"),
        }
    }
}

/// The scan sees what a new constructor would look like.
#[test]
fn the_scan_can_fail() {
    assert_eq!(functions("pub fn new(shape: impl Into<Shape>) -> Result<Self> { }"), ["new"]);
    assert_eq!(functions("pub fn of<F: Fn(usize) -> T>(f: F) -> Result<CooTensor<T, I>> where T: Element { }"), ["of"]);
    assert!(functions("pub fn len(&self) -> usize { } pub fn any(&self) -> Tensor<P, bool> { }").is_empty());
    assert!(
        functions("pub fn with_fill(mut self, fill: T) -> Self { } pub fn size(x: &Shape) -> usize { }").is_empty()
    );
    assert_eq!(conversions("impl From<Vec<T>> for CsrTensor<T> { }"), ["From<Vec<T>> for CsrTensor<T>"]);
    assert_eq!(
        conversions("impl<T, I> TryFrom<X<T>> for Triplets<T, I> where T: A { }"),
        ["TryFrom<X<T>> for Triplets<T, I>"]
    );
    assert!(conversions("impl<T> From<T> for Axes { } impl Debug for CooTensor { }").is_empty());
}
