//! Every variant of the error, produced by a call that a user could make, with the message that the user reads.

#[cfg(feature = "io")]
use lacuna::ErrorKind;
use lacuna::dynamic::AnyTensor;
use lacuna::{
    Axes, CooPattern, CooTensor, CsrPattern, CsrTensor, Duplicates, Error, Isin, IsinKind, Take, Tensor, Triplets, grad,
};
use ndarray::{arr1, arr2};

/// The variant's name, an error, and what its message must say.
type Case = (&'static str, Error, &'static str);

/// The error of a call that is refused.
#[track_caller]
fn refused<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("this must be refused"),
        Err(error) => error,
    }
}

/// Two triplets at one position of an `i8` matrix.
fn twice(value: i8) -> Triplets<i8> {
    Triplets::from_arrays([2, 3], vec![vec![1, 1], vec![2, 2]], vec![value, value]).unwrap()
}

fn of_constructors() -> Vec<Case> {
    vec![
        (
            "IndexOutOfBounds",
            refused(CooTensor::new([2, 5], vec![vec![0, 1], vec![4, 7]], vec![1, 2], 0)),
            "index 7 on axis 1 is out of bounds for length 5, entry 1",
        ),
        (
            "NotSorted",
            refused(CooTensor::new([2, 5], vec![vec![1, 0], vec![4, 2]], vec![1, 2], 0)),
            "entry 1 at [0, 2] comes after [1, 4] and does not increase in row-major order; build from Triplets and \
             coalesce",
        ),
        (
            "NoTensor",
            refused(lacuna::concat::<CooPattern, f64>(0, &[] as &[CooTensor<f64>])),
            "the list of tensors is empty; pass at least one tensor",
        ),
        (
            "LengthMismatch",
            refused(CooTensor::new([2], vec![vec![0, 1]], vec![1], 0)),
            "a coordinate array must have length 1, found 2",
        ),
        (
            "OffsetsStart",
            refused(CsrTensor::new([1, 3], vec![1, 1], vec![0], vec![5], 0)),
            "offsets must start at 0, found 1",
        ),
        (
            "OffsetsDecrease",
            refused(CsrTensor::new([3, 3], vec![0, 2, 1, 1], vec![0], vec![5], 0)),
            "offsets must not decrease: lane 1 starts at 2 and ends at 1",
        ),
        (
            "OffsetsEnd",
            refused(CsrTensor::new([1, 3], vec![0, 2], vec![0], vec![5], 0)),
            "offsets must end at the number of entries, 1, found 2",
        ),
        (
            "AxisTooLong",
            refused(CooPattern::<u32>::empty([3, 1 << 40])),
            "axis 1 of length 1099511627776 does not fit index type u32 (at most 4294967296); use u64",
        ),
        (
            "TooLarge",
            refused(CsrPattern::<u64>::empty([1 << 40, 2])),
            "the offsets of the lanes would take 8796093022216 bytes (8.0 TiB), above the limit of 1073741824 bytes \
             (1.0 GiB); keep the tensor in COO, or raise the limit",
        ),
        ("Duplicate", refused(twice(1).coalesce(Duplicates::Error)), "entries 0 and 1 are both at [1, 2]"),
        ("SumOverflow", refused(twice(100).coalesce(Duplicates::Sum)), "the sum at [1, 2] does not fit int8"),
        (
            "NoOrder",
            refused(Triplets::<num_complex::Complex<f64>>::new([2]).unwrap().coalesce(Duplicates::Min)),
            "minimum of duplicates does not support complex128, which has no order",
        ),
    ]
}

fn of_conversions() -> Vec<Case> {
    let x = CooTensor::full([2, 3], 7).unwrap();
    vec![
        (
            "OutOfMemory",
            refused(CooTensor::full([1 << 29, 1 << 29], 1.0).unwrap().to_dense_with_limit(u64::MAX)),
            "could not allocate 2305843009213693952 bytes (2.0 EiB); free memory",
        ),
        ("RankMismatch", refused(x.get(&[1])), "the coordinates must have rank 2, found 1"),
        (
            "ReshapeSize",
            refused(x.reshape([4])),
            "a tensor of shape [2, 3] cannot be reshaped to [4]: the numbers of positions differ",
        ),
        (
            "Cast",
            refused(CooTensor::full([1], -1).unwrap().cast::<u8>()),
            "-1 (int32) at the fill cannot be converted to uint8",
        ),
        ("FillNotZero", refused(CsrTensor::full([2, 3], 7).unwrap().to_paddle()), "the fill 7 cannot be represented: "),
        ("NegativeIndex", refused(CsrTensor::from_paddle([1, 3], &[0, 1], &[-2], vec![1])), "-2"),
        ("NegativeOffset", refused(CsrTensor::from_paddle([1, 3], &[0, -1], &[], Vec::<i32>::new())), "-1"),
        (
            "UnevenBatches",
            refused(CsrTensor::new([2, 1, 3], vec![0, 1, 1], vec![0], vec![5], 0).unwrap().to_torch()),
            "batch 1 has 0 entries, batch 0 has 1; this layout requires equal numbers of entries",
        ),
    ]
}

/// The tensor as one of run-time types.
fn any<T: lacuna::Element>(x: CooTensor<T>) -> AnyTensor {
    x.with_index::<u64>().unwrap().into()
}

fn of_two_operands() -> Vec<Case> {
    let x = CooTensor::new([2, 3], vec![vec![1], vec![2]], vec![100_i8], 0).unwrap();
    let y = CooTensor::new([2, 3], vec![vec![1], vec![2]], vec![f64::NAN], 0.0).unwrap();
    let none = CooTensor::full([2, 3], 0.0).unwrap();
    let lazy = y.lazy();
    vec![
        (
            "NotBroadcastable",
            refused(x.add(&CooTensor::full([2], 0).unwrap())),
            "shape [2, 3] does not broadcast together with [2]; broadcasting aligns the last axes: expand_dims(-1) of \
             [2] adds",
        ),
        ("Overflow", refused(x.add(&x)), "add at [1, 2] does not fit int8"),
        ("Lazy", refused(x.lazy().sum(2).check()), "axis 2 is out of range for rank 2"),
        (
            "InRange",
            {
                let late = CooTensor::new([3, 2], vec![vec![2, 2], vec![0, 1]], vec![i64::MAX, 1], 0).unwrap();
                let rows = lacuna::lazy::Chunks::memory(1 << 20).positions(2);
                match refused(late.lazy().sum(1).on(rows).collect()) {
                    Error::Lazy { cause, .. } => *cause,
                    other => other,
                }
            },
            "in the chunk 2..3 of axis 0, with positions counted from 2: sum at [0] does not fit int64",
        ),
        (
            "NoGradient",
            match refused(lazy.round().gradient(&lazy, &lazy).check()) {
                Error::Lazy { cause, .. } => *cause,
                other => other,
            },
            "round is not differentiable",
        ),
        (
            "NoOperation",
            refused(any(CooTensor::full([2], 1_u8).unwrap()).neg()),
            "neg does not support uint8; cast the operand first",
        ),
        (
            "TypesDiffer",
            refused(any(x.clone()).add(&any(y.clone()))),
            "add: the element types int8 and float64 differ; cast one of them",
        ),
        ("DivisionByZero", refused(x.div(&x)), "div at the fill divides by zero"),
        (
            "NonFinite",
            refused(none.mul(&y)),
            "mul: the result of unstored 0.0 and NaN at [1, 2] is not 0; x.stored() and y.stored() combine stored",
        ),
        (
            "FillVaries",
            refused(none.add(&arr1(&[1.0, 1.0, 2.0]))),
            "add of the fill is 2.0 at [.., 2] and 1.0 at [.., 0], but a sparse tensor has one fill",
        ),
        (
            "FillsDiffer",
            refused(none.stored().add(y.with_fill(1.0).stored())),
            "the fill of tensor 1 is 1.0, the fill of tensor 0 is 0.0; make them equal with with_fill",
        ),
    ]
}

fn of_moves() -> Vec<Case> {
    let x = CooTensor::full([2, 3], 7).unwrap();
    let long = CooPattern::<u64>::empty([1 << 63, 2]).unwrap();
    let long = Tensor::from_parts(long, vec![], 1.5).unwrap();
    vec![
        ("AxisOverflow", refused(long.tile([4, 1])), "axis 0"),
        (
            "NotJoinable",
            refused(lacuna::concat(0, &[&x, &x, &x.tile([1, 2]).unwrap()])),
            "tensor 2 of shape [2, 6] cannot be joined with shape [2, 3] along axis 0: all other axes must be equal",
        ),
        ("AxisNotOne", refused(x.squeeze(1)), "axis 1"),
        ("NotBroadcastable", refused(x.broadcast_to([2, 4])), "shape [2, 3] does not broadcast to [2, 4]"),
        ("SliceOutOfRange", refused(x.slice(ndarray::s![.., ..5])), "5"),
        (
            "ZeroStep",
            refused(x.slice(&[ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 0 }; 2][..])),
            "is 0",
        ),
        ("TooManyEntries", refused(CooTensor::random([2, 3], 7, 1)), "7 entries do not fit 6 positions"),
        ("EmptyGroup", refused(CooTensor::full([2, 0], 7).unwrap().min(1)), "min of no elements: axis 1 has length 0"),
    ]
}

fn of_operations() -> Vec<Case> {
    let x = CooTensor::full([2, 3], 7).unwrap();
    let vast = CooPattern::<u64>::empty([1 << 40, 1 << 40]).unwrap();
    let vast = Tensor::from_parts(vast, vec![], 1.5).unwrap();
    vec![
        (
            "ShapeMismatch",
            refused(grad::any(&x, &arr1(&[1.0; 3]), 1)),
            "the upstream gradient must have shape [2], found [3]",
        ),
        ("AxisOutOfRange", refused(x.any(-3)), "axis -3 is out of range for rank 2"),
        ("AxisRepeated", refused(x.any([1, -1])), "axis 1 is repeated (rank 2)"),
        ("Uncountable", refused(vast.nanmedian_index(Axes::all())), "u64::MAX"),
        (
            "PositionOutOfRange",
            refused(x.take([5, -7])),
            "indices[1] = -7 is out of range for 6 elements; use .wrap() or .clip()",
        ),
        (
            "TakeFromEmpty",
            refused(CooTensor::full([0, 3], 0).unwrap().take(Take::at(arr2(&[[0, 1]])).wrap())),
            "cannot take 2 elements from an empty tensor or axis",
        ),
        ("Overflow", refused(lacuna::abs(&arr2(&[[1, i8::MIN]]))), "abs at [0, 1] does not fit int8"),
        ("Argument", refused(x.powi(-1)), "powi: integers do not support the exponent -1; cast to a float type first"),
        (
            "IsinKind",
            refused(lacuna::isin(&arr1(&[1.0]), Isin::of([1.0]).kind(IsinKind::Table))),
            "isin by table is not possible: it supports integers and bool, not float64; use sort or hash",
        ),
    ]
}

#[cfg(feature = "io")]
fn of_files() -> Vec<Case> {
    use lacuna::io::{FileFormat, ReadOptions, WriteOptions, read, read_from, write_to};
    let banner = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 5\n";
    let cube = AnyTensor::from(CooTensor::full([2, 2, 2], 0).unwrap().with_index::<u64>().unwrap());
    let to_mtx = write_to(Vec::new(), FileFormat::MatrixMarket, &cube, &WriteOptions::default());
    vec![
        ("Format", refused(read_from(banner.as_bytes(), FileFormat::MatrixMarket, &ReadOptions::default())), "line 3"),
        ("NotRepresentable", refused(to_mtx), "rank 3"),
        ("Io", refused(read("no/such/file.mtx", &ReadOptions::default())), "No such file"),
    ]
}

#[test]
fn messages_name_the_numbers() {
    let mut cases = [of_constructors(), of_conversions(), of_operations(), of_two_operands(), of_moves()].concat();
    #[cfg(feature = "io")]
    cases.extend(of_files());
    for (variant, error, message) in &cases {
        assert!(error.to_string().contains(message), "{variant}:\n{error}\ndoes not say\n{message}");
        // `main` and `unwrap` print the sentence too.
        assert_eq!(format!("{error:?}"), format!("{variant}({error})"));
    }
}

/// The table above has a line for each variant of the enum.
#[cfg(feature = "io")]
#[test]
fn every_variant_is_produced() {
    let cases = all_cases();
    // Engines are packages of their own: their tests have it.
    for variant in variants().iter().filter(|&name| name != "Engine") {
        assert!(cases.iter().any(|(name, ..)| name == variant), "no case for {variant}");
    }
}

#[cfg(feature = "io")]
fn all_cases() -> Vec<Case> {
    [of_constructors(), of_conversions(), of_operations(), of_two_operands(), of_moves(), of_files()].concat()
}

/// The names of the variants of the enum, as its source lists them.
#[cfg(feature = "io")]
fn variants() -> Vec<String> {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/base/error.rs")).unwrap();
    let body = source.split("pub enum Error {").nth(1).unwrap().split("\n}").next().unwrap();
    let variants: Vec<String> = body
        .lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     ") && line.ends_with('{'))
        .map(|line| line.trim().trim_end_matches(" {").to_string())
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .collect();
    assert!(variants.len() > 25, "found {variants:?}");
    variants
}

/// The kinds and their variants. `InRange` and `Lazy` have the kinds of their causes.
#[cfg(feature = "io")]
const KINDS: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::Shape,
        &[
            "NoTensor",
            "LengthMismatch",
            "RankMismatch",
            "ShapeMismatch",
            "NotJoinable",
            "ReshapeSize",
            "AxisOutOfRange",
            "AxisRepeated",
            "AxisNotOne",
            "NotBroadcastable",
            "SliceOutOfRange",
            "ZeroStep",
        ],
    ),
    (
        ErrorKind::Index,
        &[
            "IndexOutOfBounds",
            "NegativeIndex",
            "NegativeOffset",
            "NotSorted",
            "Duplicate",
            "OffsetsStart",
            "OffsetsDecrease",
            "OffsetsEnd",
            "PositionOutOfRange",
            "TakeFromEmpty",
        ],
    ),
    (ErrorKind::Type, &["NoOrder", "NoOperation", "TypesDiffer", "NoGradient"]),
    (
        ErrorKind::Value,
        &[
            "FillsDiffer",
            "SumOverflow",
            "Overflow",
            "EmptyGroup",
            "DivisionByZero",
            "NonFinite",
            "FillVaries",
            "Argument",
            "Cast",
            "IsinKind",
            "FillNotZero",
            "TooManyEntries",
        ],
    ),
    (ErrorKind::Limit, &["AxisOverflow", "AxisTooLong", "TooLarge", "OutOfMemory", "Uncountable"]),
    (ErrorKind::Format, &["UnevenBatches", "Format", "NotRepresentable"]),
    (ErrorKind::Io, &["Io"]),
    (ErrorKind::Engine, &["Engine"]),
];

#[cfg(feature = "io")]
#[test]
fn every_variant_has_its_kind() {
    let wanted = |variant: &str| KINDS.iter().find(|(_, names)| names.contains(&variant)).map(|(kind, _)| *kind);
    for variant in variants().iter().filter(|name| !["InRange", "Lazy"].contains(&name.as_str())) {
        assert!(wanted(variant).is_some(), "no kind for {variant}");
    }
    for (variant, error, _) in all_cases() {
        let kind = match &error {
            Error::InRange { cause, .. } | Error::Lazy { cause, .. } => cause.kind(),
            _ => wanted(variant).unwrap(),
        };
        assert_eq!(error.kind(), kind, "{variant}");
    }
    let engine = Error::Engine { engine: "it", attempts: 1, cause: "none".into(), seen: None, expected: None };
    assert_eq!(engine.kind(), ErrorKind::Engine);
    let of_cause = |cause: Error| Error::InRange { cause: Box::new(cause), axis: 0, start: 0, end: 1 }.kind();
    assert_eq!([of_cause(Error::NoTensor), of_cause(engine)], [ErrorKind::Shape, ErrorKind::Engine]);
}

/// Others who read and write through this crate's errors know them by their kind.
#[test]
fn errors_have_a_kind_for_std_io() {
    use std::io::{self, ErrorKind};
    let kind = |error: Error| io::Error::from(error).kind();
    assert_eq!(kind(Error::from(io::Error::from(ErrorKind::BrokenPipe))), ErrorKind::BrokenPipe);
    let limit = Error::TooLarge { what: "it", bytes: 2, limit: 1, instead: "less" };
    assert_eq!(kind(limit), ErrorKind::QuotaExceeded);
    assert_eq!(kind(Error::OutOfMemory { bytes: 7 }), ErrorKind::OutOfMemory);
    assert_eq!(kind(Error::OffsetsStart { found: 1 }), ErrorKind::InvalidData);
}

/// The kinds in the order of the page, each with its heading.
#[cfg(feature = "io")]
const HEADINGS: &[(ErrorKind, &str)] = &[
    (ErrorKind::Shape, "Shapes and axes"),
    (ErrorKind::Index, "Coordinates and positions"),
    (ErrorKind::Type, "Element types and gradients"),
    (ErrorKind::Value, "Values and arguments"),
    (ErrorKind::Limit, "Memory and sizes"),
    (ErrorKind::Format, "Formats"),
    (ErrorKind::Io, "Reading and writing"),
    (ErrorKind::Engine, "Engines"),
];

/// The first and the last paragraph of the documentation of a variant: its cause, and advice.
#[cfg(feature = "io")]
fn documentation(variant: &str) -> [String; 2] {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/base/error.rs")).unwrap();
    let heads = [format!("\n    {variant} {{\n"), format!("\n    {variant},\n")];
    let end = heads.iter().find_map(|head| source.find(head.as_str())).unwrap();
    let start =
        source[..end].rfind("\n\n").map_or(0, |at| at + 2).max(source[..end].rfind("pub enum Error {").unwrap());
    let lines = source[start..end].lines().filter_map(|line| line.trim_start().strip_prefix("///"));
    let text: String = lines.map(|line| if line.trim().is_empty() { "\n".into() } else { line.to_string() }).collect();
    let paragraphs: Vec<&str> = text.split('\n').map(str::trim).collect();
    assert!(paragraphs.len() > 1, "no advice for {variant}");
    [paragraphs[0], paragraphs[paragraphs.len() - 1]].map(|paragraph| {
        // Links of rustdoc are plain code on the page.
        let (mut plain, mut rest) = (String::new(), paragraph);
        while let Some((before, link)) = rest.split_once("[`") {
            let (name, after) = link.split_once("`]").unwrap();
            plain += &format!("{before}`{name}`");
            rest = after.strip_prefix('(').map_or(after, |target| target.split_once(')').unwrap().1);
        }
        plain + rest
    })
}

/// The page of errors.
#[cfg(feature = "io")]
fn page() -> String {
    let mut text = PAGE.to_string();
    let engine = Error::Engine {
        engine: "datafusion",
        attempts: 3,
        cause: "connection refused".into(),
        seen: None,
        expected: None,
    };
    // The text of the system differs from system to system.
    let io = Error::Io {
        kind: std::io::ErrorKind::NotFound,
        message: "No such file or directory".into(),
        path: Some("x.mtx".into()),
        source: None,
    };
    let cases = [vec![("Engine", engine, ""), ("Io", io, "")], all_cases()].concat();
    let row = |text: &mut String, variant: &str| {
        let (_, error, _) = cases.iter().find(|(name, ..)| *name == variant).unwrap();
        let [cause, advice] = documentation(variant);
        let message = error.to_string().replace('|', "\\|");
        let mark = if message.contains('`') { "``" } else { "`" };
        *text += &format!("| `{variant}` | {cause} | {mark}{message}{mark} | {advice} |\n");
    };
    for (kind, heading) in HEADINGS {
        text += &format!("\n## {heading}\n\nKind: `ErrorKind::{kind:?}`.\n\n{COLUMNS}");
        KINDS.iter().find(|(other, _)| kind == other).unwrap().1.iter().for_each(|variant| row(&mut text, variant));
    }
    text += &format!("\n## Errors within a chunk or a step\n\nThe kind is the kind of the cause.\n\n{COLUMNS}");
    ["InRange", "Lazy"].iter().for_each(|variant| row(&mut text, variant));
    text + END
}

#[cfg(feature = "io")]
const COLUMNS: &str = "| error | cause | message | what to do |\n| --- | --- | --- | --- |\n";

#[cfg(feature = "io")]
const PAGE: &str = "# Errors

This page lists the errors of lacuna: the cause, an example of the message, and what to do.

```rust
use lacuna::{CooTensor, Error, ErrorKind};

let error = CooTensor::new([2, 5], vec![vec![0, 1], vec![4, 7]], vec![1.0, 2.0], 0.0).unwrap_err();
assert_eq!(error.kind(), ErrorKind::Index);
assert_eq!(error.to_string(), \"index 7 on axis 1 is out of bounds for length 5, entry 1\");
assert!(matches!(error, Error::IndexOutOfBounds { axis: 1, length: 5, .. }));
```

Each error is a variant of `Error`, with the numbers of its message as fields. `kind` returns one of eight kinds. The
command line prints the same messages with its own options, and expressions print them with a mark below the
expression. To generate this page again, run `LACUNA_WRITE=1 cargo test --all-features --test library errors`.
";

#[cfg(feature = "io")]
const END: &str = "
Next: [when an operation returns an error][concepts], [recipes][cookbook].

[concepts]: concepts.md
[cookbook]: cookbook.md
";

#[cfg(feature = "io")]
#[test]
fn the_page_of_errors_is_up_to_date() {
    let (path, page) = (concat!(env!("CARGO_MANIFEST_DIR"), "/docs/errors.md"), page());
    if std::env::var_os("LACUNA_WRITE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page, "write docs/errors.md again: LACUNA_WRITE=1");
}
