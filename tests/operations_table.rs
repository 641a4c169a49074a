//! The table of `docs/operations.md`: of each operation what it works on, found by asking the library.
//!
//! `LACUNA_WRITE=1 cargo test --all-features --test library operations_table` writes it again.

use std::collections::BTreeMap;

use lacuna::dynamic::Format;
use lacuna::eval::{Expression, functions, signature};
use lacuna::lazy::{HasGradient, Lazy, Steps, Value, compile};
use lacuna::{CooPattern, CooTensor, DType};
use ndarray::ArrayD;

use crate::lazy_text::{ToAny, of_both, of_sparse};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations.md");

/// The functions that make a tensor of no other, or are no operation.
const MAKE: [&str; 7] = ["grad", "stored", "tensor", "full", "eye", "random", "zeros_like"];

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
        "take" | "isin" => "x, [1]",
        "take_axis" => "x, [1], 0",
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
        "with_fill" => "x, 1",
        "with_entries" => "x, [[0, 0]], 1",
        "mttkrp" => "x, 0, [y]",
        "ttm" => "x, y, 1",
        "ttv" => "x, v, 1",
        "sddmm" => "x, y, y",
        "matmul_on" => "x, y, m",
        "matmul_with" => "x, y, \"plus_times\"",
        "add" | "sub" | "mul" | "div" | "rem" | "rem_euclid" | "pow" | "minimum" | "maximum" | "equal"
        | "not_equal" | "less" | "less_equal" | "greater" | "greater_equal" | "bit_and" | "bit_or" | "bit_xor"
        | "matmul" | "mask" | "without" | "outer" | "kron" | "allclose" => "x, y",
        _ => "x",
    }
}

/// Whether an expression has a value on tensors of a type and a format.
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

/// What lazy graphs have of an operation.
#[derive(Default, Clone)]
struct Step {
    is_of_arrays: bool,
    is_in_pass: bool,
    has_gradient: bool,
    has_second: bool,
    has_text: bool,
}

/// What is known of the step that a result is; `x` is what it is made of.
fn known<V: Value>(steps: &mut BTreeMap<String, Step>, result: &Lazy<V>) -> Option<String> {
    let program = compile(result).ok()?;
    let explained = program.explain();
    let line = explained.lines().find(|line| line.contains(", result"))?;
    let name = line.split(" = ").nth(1)?.split('(').next()?.to_string();
    let step = steps.entry(name.clone()).or_default();
    step.has_text |= program.to_text().is_ok();
    step.is_of_arrays |= line.contains(" array ");
    // By itself it is in no pass: what computes the operand is in one with it.
    step.is_in_pass |= line.contains("[fused");
    Some(name)
}

fn with_gradients<X>(steps: &mut BTreeMap<String, Step>, x: &Lazy<X>, results: &[Lazy<X>])
where
    X: HasGradient + Steps<Elem = f64, Of<f64> = X>,
{
    for result in results {
        let Some(name) = known(steps, result) else { continue };
        let step = steps.get_mut(&name).unwrap();
        let first = result.gradient(x, result);
        step.has_gradient |= first.check().is_ok();
        step.has_second |= first.check().is_ok() && first.gradient(x, &first).check().is_ok();
    }
}

fn steps() -> BTreeMap<String, Step> {
    let mut steps = BTreeMap::new();
    let x = Lazy::<CooTensor<f64>>::input("x", [4, 5]);
    let chain = x.abs().sqrt();
    let both = |x: &Lazy<CooTensor<f64>>| [of_both(x, &x.sin()), of_sparse::<CooPattern>(x, &x.sin())].concat();
    with_gradients(&mut steps, &chain, &both(&chain));
    let others = [chain.isnan(), chain.isfinite(), chain.isinf(), chain.isreal(), chain.isposinf(), chain.isneginf()];
    let compared = [chain.equal(&chain), chain.not_equal(&chain), chain.less(&chain), chain.less_equal(&chain)];
    let more = [chain.greater(&chain), chain.greater_equal(&chain), chain.isin(1.0), chain.any(1), chain.all(1)];
    others.iter().chain(&compared).chain(&more).for_each(|step| drop(known(&mut steps, step)));
    for step in [
        chain.count_nonzero(1),
        chain.argmin(1),
        chain.argmax(1),
        chain.nanargmin(1),
        chain.nanargmax(1),
        chain.stored().argsort(1),
    ] {
        known(&mut steps, &step);
    }
    let bools = Lazy::<CooTensor<bool>>::input("x", [4, 5]);
    let bools = bools.not();
    for step in [bools.bit_and(&bools), bools.bit_or(&bools), bools.bit_xor(&bools), bools.not()] {
        known(&mut steps, &step);
    }
    let complex = Lazy::<CooTensor<num_complex::Complex<f64>>>::input("x", [4, 5]);
    known(&mut steps, &complex.conj().conj());
    known(&mut steps, &complex.conj().real());
    known(&mut steps, &complex.conj().imag());
    known(&mut steps, &chain.to_csr());
    known(&mut steps, &chain.to_csr().to_coo());
    let array = Lazy::<ArrayD<f64>>::input("x", [4, 5]);
    let mut of_arrays = BTreeMap::new();
    with_gradients(&mut of_arrays, &array.abs(), &of_both(&array.abs(), &array.sin()));
    of_arrays.keys().for_each(|name| steps.entry(name.clone()).or_default().is_of_arrays = true);
    steps
}

fn mark(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "" }
}

fn table() -> String {
    let mut text = String::from(HEAD);
    let steps = steps();
    let mut names: Vec<&str> =
        functions().filter(|name| !name.ends_with("_backward") && !MAKE.contains(name)).collect();
    names.sort_unstable();
    for name in names {
        let call = format!("{name}({})", arguments(name));
        let on = |dtype: DType| [Format::Coo, Format::Csr].iter().any(|format| has_value(&call, dtype, *format));
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
        let stored = call.replacen("(x", "(stored(x)", 1).replacen(", y)", ", stored(y))", 1);
        let is_stored =
            stored != call && (of(&stored, Format::Coo) || of(&call.replacen("(x", "(stored(x)", 1), Format::Coo));
        let backward = Expression::parse(&format!("grad({call}, x, 1)")).is_ok();
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
            of_step(|step| step.has_text).into(),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

const HEAD: &str = "# Operations

What each operation works on, as the library answers when it is asked; a test fails when this table is out of date, and
`LACUNA_WRITE=1 cargo test --all-features --test library operations_table` writes it again. The operations are called as
in expressions ([the command line](cli.md)); what they compute is on the pages of the library.

- **types**: `b` bool, `i` and `u` integers with and without a sign, `f` floats, `c` complex numbers, of tensors of
  types known at run time.
- **COO**, **CSR**: tensors of that format; **entries**: what a tensor stores, alone (`stored(x)`); **array**: dense
  arrays, as steps of lazy graphs.
- **gradient**: by its first operand, in expressions; **second**: the gradient of that, in lazy graphs.
- **lazy**: it is a step of lazy graphs; **pass**: on the engine `Threads`, which runs all of them, it is computed in
  one pass with the steps that it follows, by pieces; **text**: a program with it can be written as text.

| operation | types | COO | CSR | entries | array | gradient | second | lazy | pass | text |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
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
