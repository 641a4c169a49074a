//! The table of `docs/operations.md`: of each operation what it works on, found by asking the library.
//!
//! `LACUNA_WRITE=1 cargo test --all-features --test library operations_table` writes it again.

use std::collections::{BTreeMap, BTreeSet};

use lacuna::dynamic::Format;
use lacuna::eval::{Expression, functions, signature};
use lacuna::lazy::{Chunks, HasGradient, Lazy, Steps, Value, compile_as_written};
use lacuna::{CooPattern, CooTensor, DType};
use ndarray::ArrayD;

use crate::lazy_text::{ToAny, of_both, of_sparse};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations.md");
/// The steps that the package for GPUs computes on the device. A test of that package writes them.
const ON_DEVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engines/gpu/operations.txt");

/// The functions that make a tensor of no other, or are no operation.
const MAKE: [&str; 9] = ["grad", "stored", "tensor", "array", "dense", "full", "eye", "random", "zeros_like"];

/// Arguments of a call that any type may take.
fn arguments(name: &str) -> &'static str {
    match name {
        "concat" | "stack" => "[x, y]",
        "block" => "[[x, y]]",
        "einsum" => "\"ij,jk->ik\", x, y",
        "tensordot" => "x, y, 1, 0",
        "clamp" => "x, 0, 1",
        "powi" | "powf" => "x, 2",
        "quantile" | "nanquantile" => "x, 0.5",
        "topk" | "topk_index" => "x, 1",
        // A difference of unsigned integers overflows, unless they are equal.
        "diff" => "x * 0",
        "cumsum" | "cumprod" | "nancumsum" | "nancumprod" => "x, 0",
        "take" | "isin" => "x, [1]",
        "take_axis" => "x, [1], 0",
        "take_along_axis" => "x, [[1], [0], [2]]",
        "gather" => "x, [[1], [0]]",
        "slice" => "x, \"0:1\"",
        "roll" | "repeat" => "x, 2, 0",
        "move_axis" => "x, 0, 1",
        "pad" => "x, [[0, 1], [0, 0]]",
        "tile" => "x, [1, 2]",
        "broadcast_to" => "x, [2, 3, 3]",
        "reshape" => "x, [9]",
        "expand_dims" => "x, 0",
        "squeeze" => "x, []",
        "permute_axes" => "x, [1, 0]",
        "scale" => "x, 0, v",
        "select" => "x, m",
        "where_" => "m, x, y",
        "cast" => "x, \"complex128\"",
        "diag" => "v",
        "with_fill" => "x, 1",
        "with_entries" => "x, [[0, 0]], 1",
        "average" => "x, v, 1",
        "mttkrp" => "x, 0, [y]",
        "ttm" => "x, y, 1",
        "ttv" => "x, v, 1",
        "sddmm" | "pattern_sddmm" => "x, y, y",
        "matmul_on" => "x, y, m",
        "matmul_with" => "x, y, \"plus_times\"",
        "mask" | "reshape_as" | "without" => "x, y",
        _ if signature(name).starts_with("(x, y") => "x, y",
        _ => "x",
    }
}

/// Returns whether an expression has a value on tensors of a type and a format.
fn has_value(text: &str, dtype: DType, format: Format) -> bool {
    let square = CooTensor::new([3, 3], vec![vec![0, 1, 2], vec![1, 0, 2]], vec![1i64, 1, 1], 0).unwrap();
    let bound = |name: &str| {
        let tensor = match name {
            "x" | "y" => square.to_any().cast(dtype),
            "v" => CooTensor::new([3], vec![vec![0, 1, 2]], vec![1i64; 3], 0).unwrap().to_any().cast(dtype),
            "m" => square.to_any().cast(DType::Bool),
            _ => return None,
        };
        Some(tensor.unwrap().into_format(format).unwrap())
    };
    Expression::parse(text).is_ok_and(|expression| expression.evaluate(bound).is_ok())
}

/// The support of an operation by lazy graphs.
#[derive(Default, Clone)]
struct Step {
    is_of_arrays: bool,
    is_in_pass: bool,
    is_in_chunks: bool,
    has_gradient: bool,
    has_second: bool,
    has_text: bool,
}

/// Records the properties of the step that computes `result`; `x` is the operand. Returns the name of the step.
fn known<V: Value>(steps: &mut BTreeMap<String, Step>, result: &Lazy<V>) -> Option<String> {
    let program = compile_as_written(result).ok()?;
    let explained = program.explain();
    let line = explained.lines().find(|line| line.contains(", result"))?;
    let name = line.split(" = ").nth(1)?.split('(').next()?.to_string();
    let step = steps.entry(name.clone()).or_default();
    step.has_text |= program.to_text().is_ok();
    step.is_of_arrays |= line.contains(" array ");
    // By itself it is in no pass: what computes the operand is in one with it.
    step.is_in_pass |= line.contains("[fused");
    step.is_in_chunks |= is_in_chunks(result, line.split(" = ").next()?);
    Some(name)
}

/// Returns whether the engine `Chunks` computes the result `number` in chunks of the first input.
fn is_in_chunks<V: Value>(result: &Lazy<V>, number: &str) -> bool {
    let told = result.on(Chunks::memory(1 << 20)).explain().unwrap_or_default();
    let ways = [format!("chunks: {number} in chunks"), format!("chunks: {number} reduces")];
    let mut lines = told.lines().filter(|line| ways.iter().any(|way| line.starts_with(way)));
    lines.any(|line| line.contains("; %0 in chunks"))
}

fn with_gradients<X>(steps: &mut BTreeMap<String, Step>, x: &Lazy<X>, results: &[Lazy<X>])
where
    X: HasGradient + Steps<Elem = f64, Of<f64> = X>,
{
    results.iter().for_each(|result| with_gradient(steps, x, result));
}

fn with_gradient<X: HasGradient, V: HasGradient>(steps: &mut BTreeMap<String, Step>, x: &Lazy<X>, result: &Lazy<V>) {
    let Some(name) = known(steps, result) else { return };
    let step = steps.entry(name).or_default();
    let first = result.gradient(x, result);
    step.has_gradient |= first.check().is_ok();
    step.has_second |= first.check().is_ok() && first.gradient(x, &first).check().is_ok();
}

/// Steps of tensors and arrays whose results are of another type.
macro_rules! of_other_types {
    ($steps:ident, $x:ident: $($step:ident($($argument:expr),*);)*) => {
        $(known($steps, &$x.$step($($argument),*));)*
    };
}

/// The elementwise operations of two operands.
macro_rules! pairs {
    ([$steps:ident, $x:ident, $bools:ident]
        $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(pairs!(@$bound $steps $x $bools $name);)*
    };
    (@Bits $steps:ident $x:ident $bools:ident $name:ident) => { known($steps, &$bools.$name($bools)) };
    (@Shift $steps:ident $x:ident $bools:ident $name:ident) => {
        known($steps, &$x.argmax(0).$name($x.argmax(0)))
    };
    (@$bound:ident $steps:ident $x:ident $bools:ident $name:ident) => { known($steps, &$x.$name($x)) };
}

/// Lists the steps of arrays and tensors. These are in a macro, because their results have many types.
macro_rules! of_any {
    ($steps:ident, $x:ident, $bools:ident) => {{
        of_other_types! {$steps, $x:
            isin(1.0); nanmedian_index(1);
        }
        lacuna::__function_names! { predicates $steps $x $bools }
        lacuna::__binary! { pairs [$steps, $x, $bools] }
        every_fold! { (of_folds) $steps $x }
    }};
}

/// Lists the predicates and the functions of bits.
macro_rules! predicates {
    ($steps:ident $x:ident $bools:ident tests [$($test:ident)*] numbers $numbers:tt bits [$($bit:ident)*]
     $($others:tt)*) => {
        of_other_types! {$steps, $x: $($test();)*}
        of_other_types! {$steps, $bools: $($bit();)*}
    };
}

/// Lists the functions of numbers and floats.
macro_rules! functions {
    ($steps:ident $x:ident tests $tests:tt numbers [$($number:ident)*] bits $bits:tt parts $parts:tt
     floats [$($float:ident)*] $($others:tt)*) => {
        of_other_types! {$steps, $x: $($number();)* $($float();)*}
    };
}

/// Lists the functions of complex numbers.
macro_rules! parts {
    ($steps:ident $x:ident tests $tests:tt numbers $numbers:tt bits $bits:tt parts [$($part:ident)*]
     $($others:tt)*) => {
        of_other_types! {$steps, $x: $($part();)*}
    };
}

/// Lists the reductions.
macro_rules! of_folds {
    ([$steps:ident $x:ident] $($name:ident ($($q:expr,)?) $out:ident $stream:ident [$($backward:ident)?];)*) => {
        of_other_types! {$steps, $x: $($name($($q,)? 1);)*}
    };
}

fn of_tensors(steps: &mut BTreeMap<String, Step>, constant: &CooTensor<f64>) {
    let chain = &constant.lazy().abs().sqrt();
    with_gradients(
        steps,
        chain,
        &[of_both(chain, &chain.sin()), of_sparse::<CooPattern>(chain, &chain.sin())].concat(),
    );
    let bools = &chain.isnan().not();
    of_any!(steps, chain, bools);
    // Along the last axis: there most is done in one pass, and in ranges of the others.
    let along = [chain.flip(1), chain.pad([(0, 0), (1, 1)]), chain.min(1), chain.std(1), chain.nanstd(1)];
    with_gradients(steps, chain, &along);
    let stored = chain.stored();
    with_gradients(steps, chain, &[stored.softmax(1), stored.log_softmax(1), chain.diff(1, 1)]);
    with_gradients(steps, chain, &[stored.cumsum(1), stored.cumprod(1), stored.nancumsum(1), stored.nancumprod(1)]);
    with_gradient(steps, chain, &stored.sort(1));
    of_other_types! {steps, stored: argsort(1); topk_index(1, 1);}
    with_gradient(steps, chain, &chain.reshape([20]));
    with_gradient(steps, chain, &chain.select(|value| value > 0.5));
    with_gradient(steps, chain, &chain.reshape_as(chain));
    with_gradients(steps, chain, &[chain.tensordot(chain, [1], [1]), chain.sum(0).diag(1)]);
    with_gradient(steps, chain, &chain.with_entries([([0, 0], 1.0)]));
    of_other_types! {steps, chain: unique(); allclose(chain, (0.1, 0.1)); is_close(chain, (0.1, 0.1));}
    let (turned, square) = (&constant.transpose().unwrap().lazy(), constant.matmul(&constant.transpose().unwrap()));
    let at = square.unwrap().lazy().pattern();
    named(steps, "matmul_on", |own| {
        with_gradient(own, chain, &chain.matmul_on(turned, &at, lacuna::Matmul::plus_times()));
    });
    // The result is an array, and the operand is not.
    named(steps, "nonzero", |own| drop(known(own, &chain.nonzero())));
    // A matrix of blocks is a step `concat` of such steps, and `unique` finds both.
    for (name, of) in [("block", "concat"), ("unique_counts", "unique")] {
        let step = steps[of].clone();
        steps.insert(name.into(), step);
    }
    // A trace is a sum of a diagonal.
    named(steps, "trace", |own| with_gradient(own, chain, &chain.trace(0)));
    let complex = chain.cast::<num_complex::Complex<f64>>().conj();
    lacuna::__function_names! { parts steps complex }
    let csr = chain.to_csr();
    with_gradient(steps, chain, &csr);
    with_gradient(steps, chain, &csr.to_coo());
    let [rows, columns] = [4, 5].map(|length| Lazy::from(ArrayD::<f64>::ones(vec![length, 2])));
    with_gradient(steps, chain, &chain.ttm(&Lazy::from(ArrayD::<f64>::ones(vec![2, 5])), 1));
    with_gradient(steps, chain, &chain.ttv(&Lazy::from(ArrayD::<f64>::ones(vec![5])), 1));
    with_gradient(steps, chain, &chain.average(&Lazy::from(ArrayD::<f64>::ones(vec![5])), 1));
    of_other_types! {steps, chain: cov(0, 1); corrcoef(1);}
    with_gradient(steps, chain, &chain.mttkrp(0, &[&columns]));
    with_gradient(steps, chain, &chain.pattern().sddmm(&rows, &columns));
    // The product with stored entries is a product with the dot products at the pattern. The gradient is a gradient of
    // both steps.
    let (dots, mut product) = (steps["pattern_sddmm"].clone(), BTreeMap::new());
    with_gradient(&mut product, chain, &chain.stored().sddmm(&rows, &columns));
    let has_second = product.values().any(|step| step.has_second);
    steps.insert("sddmm".into(), Step { has_second, ..dots });
}

/// Records the properties of a step that is written as a call of another name.
fn named(steps: &mut BTreeMap<String, Step>, name: &str, know: impl FnOnce(&mut BTreeMap<String, Step>)) {
    let mut own = BTreeMap::new();
    know(&mut own);
    let step = own.into_values().next().unwrap_or_default();
    steps.insert(name.into(), Step { is_of_arrays: false, ..step });
}

fn steps() -> BTreeMap<String, Step> {
    let (mut steps, mut of_arrays) = (BTreeMap::new(), BTreeMap::new());
    let constant = CooTensor::new([4, 5], vec![vec![0, 1, 3], vec![2, 0, 4]], vec![0.5, 2.0, 1.0], 0.0).unwrap();
    of_tensors(&mut steps, &constant);
    let array = Lazy::from(constant.to_dense().unwrap());
    let (of_array, chain) = (&mut of_arrays, &array.abs());
    with_gradients(of_array, chain, &of_both(chain, &array.sin()));
    let bools = &chain.isnan().not();
    of_any!(of_array, chain, bools);
    with_gradients(of_array, chain, &[chain.softmax(1), chain.log_softmax(1), chain.diff(1, 1)]);
    with_gradients(
        of_array,
        chain,
        &[chain.sort(1), chain.cumsum(1), chain.cumprod(1), chain.nancumsum(1), chain.nancumprod(1)],
    );
    known(of_array, &chain.matmul(&chain.transpose()));
    with_gradient(of_array, chain, &chain.average(&Lazy::from(ArrayD::<f64>::ones(vec![5])), 1));
    of_other_types! {of_array, chain: cov(0, 1); corrcoef(1);}
    named(of_array, "trace", |own| with_gradient(own, chain, &chain.trace(0)));
    of_arrays.keys().for_each(|name: &String| steps.entry(name.clone()).or_default().is_of_arrays = true);
    steps
}

fn mark(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "" }
}

fn table() -> String {
    let (mut text, on_device) = (String::from(HEAD), std::fs::read_to_string(ON_DEVICE).unwrap());
    let steps = steps();
    let mut names: Vec<&str> =
        functions().filter(|name| !name.ends_with("_backward") && !MAKE.contains(name)).collect();
    names.sort_unstable();
    for name in names {
        let call = format!("{name}({})", arguments(name));
        let of_stored = match call.contains("(x") {
            true => call.replacen("(x", "(stored(x)", 1),
            false => call.replacen(", x", ", stored(x)", 1),
        };
        let on = |dtype: DType| {
            let formats = [Format::Coo, Format::Csr];
            formats.iter().any(|format| [&call, &of_stored].iter().any(|call| has_value(call, dtype, *format)))
        };
        let types: Vec<&str> = [
            (DType::Bool, "b"),
            (DType::Int64, "i"),
            (DType::UInt64, "u"),
            (DType::Float64, "f"),
            (DType::Complex128, "c"),
        ]
        .into_iter()
        .filter(|(dtype, _)| on(*dtype))
        .map(|(_, letter)| letter)
        .collect();
        let of = |text: &str, format| DType::ALL.iter().any(|dtype| has_value(text, *dtype, format));
        let both_stored = of_stored.replacen(", y)", ", stored(y))", 1);
        let is_stored = of_stored != call && (of(&both_stored, Format::Coo) || of(&of_stored, Format::Coo));
        let first = if name == "diag" { "v" } else { "x" };
        let backward = Expression::parse(&format!("grad({call}, {first}, 1)")).is_ok();
        let step = steps.get(name).cloned();
        let of_step = |is_so: fn(&Step) -> bool| mark(step.as_ref().is_some_and(is_so));
        let cells = [
            format!("`{}{}`", name, signature(name)),
            types.join(" "),
            mark(of(&call, Format::Coo)).into(),
            mark(of(&call, Format::Csr)).into(),
            mark(is_stored).into(),
            of_step(|step| step.is_of_arrays).into(),
            mark(backward).into(),
            of_step(|step| step.has_second).into(),
            mark(step.is_some()).into(),
            of_step(|step| step.is_in_pass).into(),
            of_step(|step| step.is_in_chunks).into(),
            of_step(|step| step.has_text).into(),
            mark(on_device.lines().any(|step| step == name)).into(),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

const HEAD: &str = "# Operations

This table lists the operations, and the kinds of operands that each operation accepts. The first column has the names
and arguments of [expressions](expressions.md). The rustdoc of the library defines each operation. A test compares the
table with the library. To generate the table again, run
`LACUNA_WRITE=1 cargo test --all-features --test library operations_table`.

- **types**: element types of dynamically typed tensors. `b` is bool, `i` signed integers, `u` unsigned integers, `f`
  floats, and `c` complex numbers.
- **COO**, **CSR**: tensors of that format. **entries**: stored views (`stored(x)`). **array**: dense arrays, as
  operands of lazy graphs. The functions of the library accept arrays even if this column is empty, such as
  `lacuna::topk_index(&array, 3, 0)`.
- **gradient**: expressions have the gradient with respect to the first operand. **second**: lazy graphs have the
  gradient of this gradient.
- **lazy**: the operation is a step of lazy graphs, which the engine `Threads` computes. **pass**: `Threads` computes
  the step in one pass with the steps before it. **chunks**: the engine `Chunks` computes the step chunk by chunk
  ([larger than memory](larger-than-memory.md)). For other steps, `Chunks` needs the operands in memory. **text**: a
  program with the step has a textual form.
- **GPU**: the engine of [`lacuna-gpu`](gpu.md) computes the operation on the device. The page on GPUs lists the
  operands.

| operation | types | COO | CSR | entries | array | gradient | second | lazy | pass | chunks | text | GPU |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

#[test]
fn the_table_of_operations_is_up_to_date() {
    let table = table();
    if std::env::var_os("LACUNA_WRITE").is_some() {
        std::fs::write(PATH, &table).unwrap();
    }
    let written = std::fs::read_to_string(PATH).unwrap_or_default();
    for (found, expected) in written.lines().zip(table.lines()) {
        assert_eq!(found, expected, "write docs/operations.md again: LACUNA_WRITE=1");
    }
    assert_eq!(written, table, "write docs/operations.md again: LACUNA_WRITE=1");
}

/// The names between backticks in a part of the page of gradients.
fn names_on_the_page(from: &str, to: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gradients.md")).unwrap();
    let (_, rest) = page.split_once(from).unwrap();
    let part = rest.split(to).next().unwrap();
    part.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// The operations of the table whose cells are so.
fn names_in_the_table(is_so: impl Fn(&[&str]) -> bool) -> BTreeSet<String> {
    let table = std::fs::read_to_string(PATH).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.map(|line| line.split(" | ").map(str::trim).collect::<Vec<_>>()).filter(|cells| is_so(cells));
    rows.map(|cells| cells[0].trim_start_matches("| `").split('(').next().unwrap().to_string()).collect()
}

/// Writes the names of operations without a second gradient into the page of gradients.
fn write_names(names: &BTreeSet<String>) {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gradients.md");
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(WITHOUT_SECOND).unwrap();
    let (_, after) = rest.split_once('.').unwrap();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    std::fs::write(PAGE, format!("{before}{WITHOUT_SECOND}\n{}.{after}", names.join(", "))).unwrap();
}

const WITHOUT_SECOND: &str = "no second gradient:";

#[test]
fn the_page_of_gradients_names_the_operations_without_one() {
    let without = names_on_the_page("## Operations without a gradient\n", "\n## ");
    assert_eq!(without, names_in_the_table(|cells| cells[6].is_empty()));
    let expected = names_in_the_table(|cells| cells[6] == "yes" && cells[7].is_empty());
    if std::env::var_os("LACUNA_WRITE").is_some() {
        write_names(&expected);
    }
    assert_eq!(names_on_the_page(WITHOUT_SECOND, "."), expected, "write docs/gradients.md again: LACUNA_WRITE=1");
}

/// The steps of what a tensor stores.
fn steps_of_entries() -> BTreeMap<String, Step> {
    let constant = CooTensor::new([4, 5], vec![vec![0, 1, 3], vec![2, 0, 4]], vec![0.5, 2.0, 1.0], 0.0).unwrap();
    let (x, mut own) = (constant.lazy(), BTreeMap::new());
    let (stored, steps) = (&x.stored(), &mut own);
    of_other_types! {steps, stored:
        powi(2); powf(0.5); clamp(0.0, 1.0); is_close(stored, (0.1, 0.1)); topk(1, 1); topk_index(1, 1); sort(1); argsort(1); softmax(1); log_softmax(1); take([1]);
        diff(1, 1); cumsum(1); cumprod(1); nancumsum(1); nancumprod(1);
        take_axis([1], 1); gather([[1], [0]]); take_along_axis(ndarray::Array2::<i64>::zeros((4, 1)), 1); unique(); mask(&x.pattern()); without(&x.pattern()); scale(1, &x.sum(0));
        matmul(&x.transpose()); average(&Lazy::from(ArrayD::<f64>::ones(vec![5])), 1);
    }
    lacuna::__function_names! { functions steps stored }
    let bools = &x.isnan().stored();
    of_any!(steps, stored, bools);
    let complex = x.cast::<num_complex::Complex<f64>>().stored();
    lacuna::__function_names! { parts steps complex }
    let arrays = [4, 5].map(|length| Lazy::from(ArrayD::<f64>::ones(vec![length, 2])));
    // The names of what they are written as.
    for (name, of) in [("matmul", "matmul_with"), ("unique_counts", "unique"), ("sddmm", "mul"), ("trace", "sum")] {
        let step = steps[of].clone();
        steps.insert(name.into(), step);
    }
    assert!(stored.sddmm(&arrays[0], &arrays[1]).check().is_ok());
    own
}

/// Functions of what a tensor stores that are the same of the tensor, so that no step of entries stands for them.
const SAME_OF_ENTRIES: &[&str] = &[
    "broadcast_to",
    "diagonal",
    "expand_dims",
    "flip",
    "matmul_on",
    "move_axis",
    "pad",
    "pattern_sddmm",
    "permute_axes",
    "repeat",
    "reshape",
    "reshape_as",
    "roll",
    "select",
    "slice",
    "squeeze",
    "tile",
    "transpose",
    "tril",
    "triu",
    "where_",
];

/// Functions of what a tensor stores that no lazy step stands for: with a fill of 0, those of tensors are the same
/// where all elements are finite.
const NO_STEP_OF_ENTRIES: &[&str] = &["einsum", "kron", "mttkrp", "outer", "tensordot", "ttm", "ttv"];

/// On a fill that is not 0, where they take one.
#[test]
fn moves_of_entries_are_those_of_the_tensor() {
    let x = CooTensor::new([3, 3], vec![vec![0, 1, 2], vec![1, 0, 2]], vec![1.5, 2.0, 3.0], 7.0).unwrap();
    let vector = CooTensor::new([3], vec![vec![0, 1, 2]], vec![1.0, 2.0, 3.0], 0.0).unwrap();
    let bound = |name: &str| match name {
        "v" => Some(vector.to_any()),
        "m" => Some(x.not_equal(7.0).unwrap().to_any()),
        _ => Some(x.to_any()),
    };
    for name in SAME_OF_ENTRIES {
        let call = format!("{name}({})", arguments(name));
        let of = |call: &str| Expression::parse(call).unwrap().evaluate(bound);
        // A choice has its condition first.
        let of_stored = if *name == "where_" {
            call.replacen(", x", ", stored(x)", 1)
        } else {
            call.replacen("(x", "(stored(x)", 1)
        };
        match (of(&of_stored), of(&call)) {
            (Ok(of_stored), Ok(of_tensor)) => {
                assert!(of_stored.into_tensor().unwrap().same_as(&of_tensor.into_tensor().unwrap()), "{call}");
            }
            (of_stored, of_tensor) => {
                assert!(name.starts_with("tri") && of_stored.is_err() && of_tensor.is_err(), "{call}");
            }
        }
    }
}

#[test]
fn every_function_of_entries_has_its_step() {
    let steps = steps_of_entries();
    let table = std::fs::read_to_string(PATH).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect::<Vec<_>>());
    let of_entries = rows
        .filter(|cells| cells[4].trim() == "yes")
        .map(|cells| cells[0].trim_start_matches("| `").split('(').next().unwrap().to_string());
    let is_lacking = |name: &String| !steps.contains_key(name) && !SAME_OF_ENTRIES.contains(&name.as_str());
    let lacking: Vec<String> = of_entries.filter(is_lacking).collect();
    assert_eq!(lacking, NO_STEP_OF_ENTRIES);
}

/// Functions of expressions that no lazy step stands for, and why.
const NO_STEP: &[(&str, &str)] =
    &[("from_dense", "which elements are stored is asked of values before a graph begins: `CooTensor::from_dense`")];

#[test]
fn every_function_has_its_step() {
    let steps = steps();
    let is_operation = |name: &&str| !name.ends_with("_backward") && !MAKE.contains(name);
    let mut lacking: Vec<&str> = functions().filter(is_operation).filter(|name| !steps.contains_key(*name)).collect();
    lacking.sort_unstable();
    assert_eq!(lacking, NO_STEP.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}
