//! Expressions: what they mean, what is said of those that are wrong, and that nothing hostile ends the program.

#![cfg(feature = "cli")]

use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

use lacuna::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue, Format};
use lacuna::eval::{Expression, Fault, Program, Programs, functions};
use lacuna::{CooPattern, CooTensor, DType, Element, Error, Number, Tolerance};
use ndarray::ArrayD;
use serde_json::{Value, json};

use crate::exports::{exported_functions, exported_gradients};

/// Returns the output of `eval --jsonl`.
#[track_caller]
fn told(lines: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lacuna"))
        .args(["eval", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The answers of `eval --jsonl`, one for each line.
#[track_caller]
fn answers(lines: &str) -> Vec<Value> {
    told(lines).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn answer(line: &Value) -> Value {
    answers(&format!("{line}\n")).remove(0)
}

fn tensor<T: Element>(shape: &[usize], entries: &[(&[u32], T)], fill: T) -> AnyTensor {
    let coords = (0..shape.len()).map(|axis| entries.iter().map(|(at, _)| at[axis]).collect()).collect();
    let values = entries.iter().map(|entry| entry.1).collect();
    CooTensor::new(shape, coords, values, fill).unwrap().with_index::<u64>().unwrap().into()
}

/// Returns the tensor that a name of the expressions is bound to.
fn bound(name: &str) -> Option<AnyTensor> {
    Some(match name {
        "x" => tensor(&[2, 3], &[(&[0, 1], 2.5f64), (&[1, 0], -4.0), (&[1, 2], f64::NAN)], 0.0),
        "y" => tensor(&[2, 3], &[(&[0, 1], 2.0f64), (&[0, 2], 3.0)], 0.0).into_format(Format::Csr).unwrap(),
        "i" => tensor(&[3], &[(&[1], 7i64), (&[2], -2)], 0),
        "n" => tensor(&[3], &[(&[1], 7i8), (&[2], -2)], 0),
        "b" => tensor(&[3], &[(&[1], true)], false),
        "f" => tensor(&[3], &[(&[1], 0.1f32)], 0.0),
        "c" => tensor(&[2], &[(&[1], num_complex_of(1.0, 2.0))], num_complex_of(0.0, 0.0)),
        "g" => tensor(&[2], &[(&[0], 1.0f64), (&[1], 2.0)], 0.0),
        "e" => tensor::<f64>(&[0, 2], &[], 0.0),
        "s" => tensor(&[], &[(&[], 3.0f64)], 0.0),
        "t" => tensor(&[2, 2, 2], &[(&[0, 1, 0], 5i32), (&[1, 1, 1], 6)], 0).into_format(Format::Csr).unwrap(),
        _ => return None,
    })
}

fn num_complex_of(re: f64, im: f64) -> lacuna::num_complex::Complex<f64> {
    lacuna::num_complex::Complex::new(re, im)
}

fn eval(text: &str) -> Result<AnyTensor, Fault> {
    Ok(Expression::parse(text)?.evaluate(bound)?.into_tensor()?)
}

#[track_caller]
fn value(text: &str) -> AnyTensor {
    eval(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

#[track_caller]
fn wrong(text: &str) -> String {
    match eval(text) {
        Err(Fault::Wrong(wrong)) => wrong.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn refused(text: &str) -> String {
    match eval(text) {
        Err(Fault::Run(error)) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn assert_means(text: &str, with_brackets: &str) {
    let (found, expected) = (value(text), value(with_brackets));
    assert!(found.same_as(&expected), "{text}: {found:?} is not {with_brackets}: {expected:?}");
}

#[test]
fn operators_bind_as_the_table_says() {
    for (text, with_brackets) in [
        ("b | b & b", "b | (b & b)"),
        ("b & i == i", "b & (i == i)"),
        ("b | ~b & b", "b | ((~b) & b)"),
        ("i + 1 < i * 2", "(i + 1) < (i * 2)"),
        ("i - 1 - 2", "(i - 1) - 2"),
        ("x / 2 / 4", "(x / 2) / 4"),
        ("-7 // 2 * i", "-4 * i"),
        ("7 // -2 // 2 + x", "-2 + x"),
        ("x * (7.5 // 2)", "x * 3"),
        ("2 * 7 // 4 + x", "3 + x"),
        ("-1e-300 // 3 + x", "x - 1"),
        ("i + i * 2 % 3", "i + ((i * 2) % 3)"),
        ("-i ** 2", "-(i ** 2)"),
        ("i ** 2 ** 3", "i ** 8"),
        ("-i[1]", "-(i[1])"),
        ("~-i", "~(-i)"),
        ("2 ** -1 * x", "0.5 * x"),
        ("i[1:][0] + 1", "(i[1:])[0] + 1"),
    ] {
        assert_means(text, with_brackets);
    }
    assert_means("i == 7 | i != i & b", "(i == 7) | ((i != i) & b)");
    assert!(wrong("i < 3 < 4").starts_with("comparisons cannot be chained"));
    assert!(wrong("i < 3 + 1 == i").starts_with("comparisons cannot be chained"));
    assert_means("(i < 3) == b", "b == (i < 3)");
}

#[test]
fn numbers_take_the_type_that_they_meet() {
    let AnyTensor::Float32(_) = value("f + 0.1") else { panic!() };
    assert_alike("(f + 0.1)[1]", "(f + f[1])[1]");
    assert_means("1 - n", "-(n - 1)");
    assert_means("2 / (x * x)", "recip(x * x) * 2");
    assert_means("i + 9223372036854775800", "i + (9223372036854775807 - 7)");
    assert_means("i - 9223372036854775805", "i + -9223372036854775805");
    assert_means("b & true", "b");
    assert_means("c * 2j", "(c * (1 + 1j)) - c * (1 - 1j)");
    assert_means("n * 2.0", "n + n");
    for (text, said) in [
        ("i + 0.5", "0.5 is not a value of type int64"),
        ("n + 128", "128 is not a value of type int8"),
        ("i + 1e400", "1e400 is not a value of type int64"),
        ("f + 1e39", "1e39 is not a value of type float32"),
        ("i + 9007199254740993.0", "9007199254740993.0 is not a value of type int64"),
        ("b + 2", "2 is not a value of type bool"),
        ("x * 2j", "0.0+2.0j is not a value of type float64"),
        ("i + nan", "NaN is not a value of type int64"),
        ("i + true + x", "add: the element types int64 and float64 differ; cast one of them"),
    ] {
        assert!(wrong(text).starts_with(said), "{text}: {}", wrong(text));
    }
    assert_eq!(value("2 ** 63 - 1").dtype(), DType::Int64);
    assert_eq!(value("2 ** 64 - 1").fill(), Number::Integer(i128::from(u64::MAX)));
    assert!(wrong("2 ** 64").starts_with("18446744073709551616 is not a value of type uint64"));
    let smallest = format!("({} - 1)", -i128::MAX);
    for text in ["2 ** 1000", &format!("{smallest} // -1"), "1 // 0"] {
        assert!(wrong(text).starts_with("the operator does not have a result"), "{text}: {}", wrong(text));
    }
    assert_eq!(value("1 / 4").fill(), Number::Real(0.25));
    assert_eq!(value("1 < 2").dtype(), DType::Bool);
    assert_eq!(value("-0.0").fill().to_string(), "-0.0");
}

#[test]
fn slices_are_those_of_python_but_for_ends_outside() {
    let one = |text: &str| value(text).into_coo::<i64, u64>().unwrap().entries();
    assert_eq!(one("i[::-1]"), [(vec![0], -2), (vec![1], 7)]);
    assert_eq!(one("i[-1:]"), [(vec![0], -2)]);
    assert_eq!(one("i[2:0:-1]"), [(vec![0], -2), (vec![1], 7)]);
    assert_eq!(one("i[:0:-2]"), [(vec![0], -2)]);
    assert_eq!(one("i[1]"), [(vec![], 7)]);
    assert_eq!(value("i[2:1]").shape()[..], [0]);
    assert_eq!(value("i[3:3:-1]").shape()[..], [0]);
    assert_eq!(value("i[::9223372036854775807]").shape()[..], [1]);
    assert_eq!(value("i[::-9223372036854775808]").shape()[..], [1]);
    assert_eq!(value("t[:, 1]").shape()[..], [2, 2]);
    assert_eq!(value("t[1]").format(), Format::Csr);
    assert_eq!(value("t[0 + 1, -1:, ::2]").shape()[..], [1, 1]);
    assert_means("slice(t, \"1, :, ::-1\")", "t[1, :, ::-1]");
    assert_means("stored(i)[1:]", "i[1:]");
    for (text, said) in [
        ("i[4:]", "4 in the slice of axis 0 is out of range for length 3"),
        ("i[:-4]", "-4 in the slice"),
        ("i[3]", "3 in the slice"),
        ("i[99999999999999999999999]", "9223372036854775807 in the slice"),
        ("i[::0]", "the step in the slice of axis 0 is 0"),
        ("i[0, 0]", "the slice must have rank 1, found 2"),
        ("s[0]", "the slice must have rank 0, found 1"),
    ] {
        assert!(refused(text).starts_with(said), "{text}: {}", refused(text));
    }
    for text in ["i[]", "i[1:2:3:4]", "i[1,,2]", "i[\"a\"]", "i[1.5]", "3[0]", "slice(i, \"1]\")", "slice(i, \"\")"] {
        wrong(text);
    }
}

#[test]
fn ellipses_and_new_axes_are_those_of_python() {
    for (text, same) in [
        ("t[..., 0]", "t[:, :, 0]"),
        ("t[0, ..., 1:]", "t[0, :, 1:]"),
        ("t[0, ...]", "t[0]"),
        ("t[0, 1, 0, ...]", "t[0, 1, 0]"),
        ("t[ ... , 0, 1, 0]", "t[0, 1, 0]"),
        ("t[...]", "t"),
        ("s[...]", "s"),
        ("s[None]", "expand_dims(s, 0)"),
        ("x[:, None]", "expand_dims(x, 1)"),
        ("x[None, :, ::-1, None]", "expand_dims(x[:, ::-1], [0, 3])"),
        ("x[..., None]", "expand_dims(x, -1)"),
        ("x[..., None, 1:]", "expand_dims(x[:, 1:], 1)"),
        ("x[1, None]", "expand_dims(x[1], 0)"),
        ("x[None][...,0]", "expand_dims(x[:, 0], 0)"),
        ("slice(x, \"..., None, 0\")", "expand_dims(x[:, 0], 1)"),
        ("i[:, None] * i", "outer(i, i)"),
        ("grad(sum(y[:, None, 1:]), y, 1)", "stored(y) / y"),
    ] {
        assert_means(text, same);
    }
    for (text, shown) in [
        ("x[..., ...]", "an index has at most one ellipsis; write : for one axis\n  x[..., ...]\n         ^^^"),
        ("x[..1]", "invalid number\n  x[..1]\n    ^^^"),
        ("x[None + 1]", "the name None is not bound\n  x[None + 1]\n    ^^^^"),
        ("x[...:1]", "unexpected colon; write a range in an index, as in x[1:3]\n  x[...:1]\n       ^"),
        ("...", "invalid number\n  ...\n  ^^^"),
    ] {
        assert_eq!(wrong(text), shown, "{text}");
    }
    assert!(refused("i[..., 0, 0]").starts_with("the slice must have rank 1, found 2"));
    assert!(wrong("slice(x, \"..., ...\")").starts_with("an index has at most one ellipsis"));
    let told = Expression::parse("y[..., None]").unwrap().explain(bound).unwrap();
    assert!(told.contains("%1 = slice(%0, \"0:, 0:, None\"): float64 csr [2, 3, 1]"), "{told}");
}

#[test]
fn lists_and_masks_take_positions_of_an_axis() {
    for (text, same) in [
        ("x[[1, 0, 1]]", "take_axis(x, [1, 0, 1], 0)"),
        ("x[[0, -1], :]", "x"),
        ("x[:, [2, 0]]", "take_axis(x, [2, 0], 1)"),
        ("x[..., [2, 0]]", "take_axis(x, [2, 0], 1)"),
        ("t[..., [1, 1], :]", "take_axis(t, [1, 1], 1)"),
        ("t[1, [1], ::-1]", "take_axis(t[1, :, ::-1], [1], 0)"),
        ("t[:, [1], 0]", "take_axis(t[:, :, 0], [1], 1)"),
        ("t[..., 1, [0, 0]]", "take_axis(t[..., 1, :], [0, 0], 1)"),
        ("x[:, [[0, 1], [2, 2]]]", "take_axis(x, [[0, 1], [2, 2]], 1)"),
        ("x[None, [1], 1:]", "expand_dims(x[1:, 1:], 0)"),
        ("x[[1], None]", "expand_dims(x[1:], 1)"),
        ("x[[]]", "x[:0]"),
        ("y[[1, 0]][:, [1]]", "y[::-1, 1:2]"),
        ("stored(i)[[2, 1]]", "i[2:0:-1]"),
        ("i[argsort(dense(i))]", "take_axis(i, [2, 0, 1], 0)"),
        ("x[[true, false]]", "x[:1]"),
        ("x[:, b]", "x[:, 1:2]"),
        ("x[:, ~b]", "x[:, ::2]"),
        ("x[:, dense(b)]", "x[:, 1:2]"),
        ("x[0, b]", "x[0, 1:2]"),
        ("x[[0, 1], [1, -1]]", "stack([x[0, 1], x[1, 2]])"),
        ("x[[0, 1], [1, -1]]", "gather(x, [[0, 1], [1, 2]])"),
        ("t[[0, 1], 1, [0, 1]]", "stack([t[0, 1, 0], t[1, 1, 1]])"),
        ("t[[[0, 1]], [[1, 1]], [[0, 1]]]", "expand_dims(gather(t, [[0, 1], [1, 1], [0, 1]]), 0)"),
        ("x.gather([[2], [-1]], mode=\"wrap\")", "x[[0], [2]]"),
        ("gather(i, [argsort(dense(i))])", "take(i, [2, 0, 1])"),
        ("gather(y, transpose(nonzero(y)))", "y[[0, 0], [1, 2]]"),
        ("gather(s, [])", "s"),
        ("take_along_axis(dense(x), argsort(dense(x)))", "sort(dense(x))"),
        ("x.take_along_axis([[2, 5, 0]], 0, mode=\"wrap\")", "x[[0, 1, 0], [0, 1, 2]].expand_dims(0)"),
        ("stored(y)[[0, 0], [0, 2]]", "y[0, [0, 2]]"),
        ("grad(y[[0, 0, 0], [1, 1, 2]] ** 2, y, 1)", "with_entries(y, [[0, 1], [0, 2]], [8, 6])"),
        ("gather_backward(y, g, [[0, 0], [1, 1]])", "with_entries(y, [[0, 1], [0, 2]], [3, 0])"),
        ("x[:, b & ~b]", "x[:, :0]"),
        ("take_axis(x, b, -1)", "x[:, 1:2]"),
        ("y[sum(y, axis=1) > 1]", "y[:1]"),
        ("grad(y[[0, 0]], y, 1)", "2 * (stored(y) / y)"),
        ("grad(y[:, i != 0] ** 2, y, 1)", "2 * y"),
    ] {
        assert_alike(text, same);
    }
    let masked = Expression::parse("x[:, i > 0] * 2").unwrap();
    assert!(masked.check(bound).is_ok());
    let told = masked.explain(bound).unwrap();
    assert!(told.contains("take_axis(%0, %2, 1): open"), "{told}");
    let of_arrays = |text: &str| {
        let array = |name: &str| Some(AnyValue::from(AnyOperand::from(&bound(name)?).to_array().unwrap()));
        Expression::parse(text).unwrap().evaluate(array).unwrap()
    };
    assert!(matches!(of_arrays("x[:, b]"), AnyValue::Array(array) if array.shape()[..] == [2, 1]));
    for (text, said) in [
        (
            "t[[0, 1], [1, 1], :]",
            "several lists are pointwise and need one for each axis; index twice for all combinations, as in x[[0, 2]][:, [1]]\n  t[[0, 1], [1, 1], :]\n            ^^^^^^",
        ),
        ("x[[0, 1], b]", "the positions of gather must be integers, found bool"),
        ("x[[0, 1], [true, false]]", "expected an integer, found true"),
        ("gather(i, 1)", "expected a list of positions for each axis"),
        ("gather(i, s)", "the positions of gather must be integers, found float64"),
        ("gather(i, cast(s, \"int8\"))", "expected a list of positions for each axis"),
        (
            "t[0, :, [1]]",
            "a range between an integer and a list is not supported; index twice, as in x[0][:, [1]]\n  t[0, :, [1]]\n          ^^^",
        ),
        ("t[[1], ..., 0]", "a range between an integer and a list"),
        ("x[[0, 0.5]]", "expected an integer, found 0.5\n  x[[0, 0.5]]\n    ^^^^^^^^"),
        ("x[[true, 1]]", "expected an integer, found true"),
        ("x[g]", "the positions of take_axis must be integers, found float64\n  x[g]\n    ^"),
        (
            "x[x != 0]",
            "a mask of take_axis must have rank 1, found 2; select(x, mask) keeps the shape\n  x[x != 0]\n    ^^^^^^",
        ),
        ("x[[[0], [1, 2]]]", "the nested lists differ in length"),
        ("x[stored(b)]", "expected an integer as index, found the entries of a tensor"),
        ("x[\"a\"]", "expected an integer as index, found a string"),
        ("slice(x, \"[0, 1]\")", "expected an integer as index, found a list"),
        ("3[[0]]", "a number cannot be indexed"),
    ] {
        assert!(wrong(text).starts_with(said), "{text}: {}", wrong(text));
    }
    for (text, said) in [
        ("x[b]", "the mask must have length 2, found 3"),
        ("x[[true]]", "the mask must have length 2, found 1"),
        ("x[[0, 1], [1, 2], 0]", "the slice must have rank 2, found 3"),
        ("x[[0, 1], [1, 3]]", "indices[1] = 3 is out of range for 3 elements"),
        ("x[[0, 1], [1]]", "the positions of each axis must have shape [2], found [1]"),
        ("t[[0, 1], [1, 1]]", "the positions must have rank 3, found 2"),
        ("x[[2]]", "indices[0] = 2 is out of range for 2 elements"),
        ("i[[0], :]", "the slice must have rank 1, found 2"),
        ("i[:, [0]]", "axis 1 is out of range for rank 1"),
        ("s[[0]]", "axis 0 is out of range for rank 0"),
    ] {
        assert!(refused(text).starts_with(said), "{text}: {}", refused(text));
    }
}

#[test]
fn functions_are_methods_of_their_first_argument() {
    for (text, same) in [
        ("x.sum(axis=1)", "sum(x, axis=1)"),
        ("x.stored().sum(axis=0)", "sum(stored(x), axis=0)"),
        ("(x + y).transpose()", "transpose(x + y)"),
        ("-x.abs() ** 2", "-(abs(x) ** 2)"),
        ("x.abs()[0].sum() + 1", "sum(abs(x)[0]) + 1"),
        ("x .reshape( [-1] )\n  .take([1, 2])", "take(reshape(x, [-1]), [1, 2])"),
        ("x[1].max(axis=0, keep_dims=true)", "max(x[1], axis=0, keep_dims=true)"),
        ("y.matmul(y.transpose())", "y @ transpose(y)"),
        ("x.grad(x, 1)", "grad(x, x, 1)"),
        ("y.sum().grad(y, 1)", "grad(sum(y), y, 1)"),
        ("(y * 2).cast(\"float32\").dense().from_dense()", "cast(y * 2, \"float32\")"),
        ("i.isin([7, 0])", "isin(i, [7, 0])"),
        ("[x, x].concat", "x"),
    ] {
        if text.starts_with('[') {
            assert!(wrong(text).starts_with("brackets are missing; write .concat()"), "{}", wrong(text));
            continue;
        }
        assert_alike(text, same);
    }
    for (text, shown) in [
        ("x.summ()", "there is no function summ; did you mean sum?\n  x.summ()\n    ^^^^"),
        ("x.T", "brackets are missing; write .transpose()\n  x.T\n    ^"),
        ("x.sum", "brackets are missing; write .sum()\n  x.sum\n    ^^^"),
        ("x.shape", "there is no function shape; did you mean reshape?\n  x.shape\n    ^^^^^"),
        ("x.astype(\"int8\")", "there is no function astype; did you mean cast?\n  x.astype(\"int8\")\n    ^^^^^^"),
        ("x.sum(x=y)", "x is set twice\n  x.sum(x=y)\n        ^"),
        ("x.sum(axes=0)", "the arguments of sum are (x, axis=…, keep_dims=…, by=…)\n  x.sum(axes=0)\n        ^^^^"),
        ("x.take()", "take needs indices; its arguments are (x, indices, axis=…, mode=…)\n  x.take()\n    ^^^^"),
        ("b.where(i, 0)", "where is not a method; write where(condition, yes, no)\n  b.where(i, 0)\n    ^^^^^"),
        (
            "[x, x].concat()",
            "concat is not a method; write concat(tensors, axis=…)\n  [x, x].concat()\n         ^^^^^^",
        ),
        ("x.eye()", "eye is not a method; write eye(n)\n  x.eye()\n    ^^^"),
        (
            "\"i->i\".einsum(i)",
            "einsum is not a method; write einsum(spec, tensors, …)\n  \"i->i\".einsum(i)\n         ^^^^^^",
        ),
        ("2.sum()", "invalid number\n  2.sum()\n  ^^^^^"),
        ("(2).sum()", "expected a tensor, found a number\n  (2).sum()\n   ^"),
        ("x.", "a function must follow the dot, as in x.sum()\n  x.\n   ^"),
        ("x.5", "a function must follow the dot, as in x.sum()\n  x.5\n   ^"),
        ("x. sum()", "a function must follow the dot, as in x.sum()\n  x. sum()\n   ^"),
        ("x.sum(", "unexpected end of the expression\n  x.sum(\n        ^"),
        (
            "i.nanmean()",
            "nanmean does not support int64; cast the operand to a float type first\n  i.nanmean()\n  ^^^^^^^^^^^",
        ),
        (
            "x.neg().sum(axis=\"foo\")",
            "expected an integer, found a string\n  x.neg().sum(axis=\"foo\")\n                   ^^^^^",
        ),
    ] {
        assert_eq!(wrong(text), shown, "{text}");
    }
    // A long chain is not nested.
    assert_means(&format!("i{}", ".neg()".repeat(20_000)), "i");
    assert_means(&format!("i{}", "[:]".repeat(20_000)), "i");
    assert!(wrong(&format!("i{}", ".add(i".repeat(20_000))).starts_with("more than 100 nested brackets"));
    assert!(wrong(&format!("x{}", ".".repeat(20_000))).starts_with("a function must follow the dot"));
    let program =
        "lacuna program 1\nt0 = input(\"x\", \"float64\", \"coo\", [2, 3])\nresult = [t0.sum(axis=0).neg()]\n";
    let written = Program::parse(program).unwrap().to_string();
    assert!(written.contains("t1 = sum(t0, axis=0)\nt2 = neg(t1)\n"), "{written}");
}

#[test]
fn statements_set_names_of_values() {
    for (text, same) in [
        ("z = x * 2; z + z", "x * 2 + x * 2"),
        ("z = y * 2;\n\nw = sum(z, axis=1);\nz * w[:, None]\n", "y * 2 * sum(y * 2, axis=1)[:, None]"),
        ("z = x; z", "x"),
        ("z=stored(y);sum(z)", "sum(stored(y))"),
        ("rows = [1, 0]; x[rows] + x[rows, :]", "x[[1, 0]] * 2"),
        ("k = 1; x.sum(axis=k) * k", "sum(x, axis=1)"),
        ("k = 2; i ** k", "i ** 2"),
        ("name = \"float32\"; cast(y, name)", "cast(y, \"float32\")"),
        ("sum = 2; sum(i) * sum", "sum(i) * 2"),
        ("z = y; grad(sum(z * z), y, 1)", "2 * y"),
        ("ends = 1; y[ends:, -ends]", "y[1:, -1]"),
        ("z = x == x; z", "x == x"),
        ("unused = x / 0; y", "y"),
        ("x == x", "~(x != x)"),
        (" 名 = 2 ; y * 名 ", "y * 2"),
    ] {
        assert_alike(text, same);
    }
    for (text, shown) in [
        ("x = y", "a statement ends with ; and an expression follows it; compare with ==\n  x = y\n    ^"),
        ("z = y;", "an expression must follow the last statement\n  z = y;\n        ^"),
        ("z = ; y", "an operand is missing here\n  z = ; y\n      ^"),
        ("z = y; x;", "a statement is name = expression;\n  z = y; x;\n          ^"),
        ("y; x", "a statement is name = expression;\n  y; x\n   ^"),
        ("; x", "an operand is missing here\n  ; x\n  ^"),
        ("z = y * 2\nsum(z)", "line 2, column 1: an operator or ; is missing before this\n  sum(z)\n  ^"),
        ("z = y) ; z", "unmatched closing bracket\n  z = y) ; z\n       ^"),
        ("z = w = y; z", "= sets a name or an argument of a function; compare with ==\n  z = w = y; z\n        ^"),
        ("(z = y); z", "= sets a name or an argument of a function; compare with ==\n  (z = y); z\n     ^"),
        ("z = 1; z = 2; y * z", "an earlier statement sets z; choose another name\n  z = 1; z = 2; y * z\n         ^"),
        ("y = y * 2; y", "y is an operand; choose another name\n  y = y * 2; y\n  ^"),
        ("nan = 2; y", "nan has a value; choose another name\n  nan = 2; y\n  ^^^"),
        ("None = 2; y", "None has a value; choose another name\n  None = 2; y\n  ^^^^"),
        ("y = 2; x * y", "y is an operand; choose another name\n  y = 2; x * y\n  ^"),
        ("z = w; w = 1; z", "w is an operand; choose another name\n  z = w; w = 1; z\n         ^"),
        (
            "z = x * 2; grad(sum(z), z, 1)",
            "the second argument of grad must be an operand\n  z = x * 2; grad(sum(z), z, 1)\n                          ^",
        ),
        (
            "k = 0.5;\nsum(x, axis=k)",
            "line 2, column 13: expected an integer, found 0.5\n  sum(x, axis=k)\n              ^",
        ),
        (
            "z = cast(x, \"int8\");\nz.nanmean()",
            "line 2, column 1: nanmean does not support int8; cast the operand to a float type first\n  z.nanmean()\n  ^^^^^^^^^^^",
        ),
        ("z = [1]; z", "a list is not a result\n  z = [1]; z\n           ^"),
    ] {
        assert_eq!(wrong(text), shown, "{text}");
    }
    let bound_too = Expression::parse("z = x * 2; z").unwrap();
    assert_eq!(bound_too.names(), ["x"]);
    assert!(bound_too.check_names(|name| name == "x").is_ok());
    let refused = bound_too.check_names(|_| true).unwrap_err().to_string();
    assert_eq!(refused, "z is an operand; choose another name\n  z = x * 2; z\n  ^");
    assert!(bound_too.check(|_| bound("x")).is_err() && bound_too.explain(|_| bound("x")).is_err());
}

#[test]
fn many_statements_are_small() {
    // Each name is a use of the name before it, and a value is computed once.
    let chain = |first: &str, each: &str| {
        let line = |number: usize| format!("v{} = {};", number + 1, each.replace('#', &format!("v{number}")));
        format!("v0 = {first};{}v3000", (0..3000).map(line).collect::<String>())
    };
    assert_means(&chain("i", "# + # - #"), "i");
    assert_means(&chain("i", "#"), "i");
    assert_means(&format!("{}v0 * 2", (0..20_000).map(|at| format!("v{at} = i;")).collect::<String>()), "i * 2");
    assert!(wrong(&chain("[1]", "[#]")).starts_with("more than 100 nested lists"));
    let too_many = "the uses of names repeat more than 100000 items and characters; use an array";
    assert!(wrong(&chain("[1]", "[#, #]")).starts_with(too_many));
    let literals =
        [format!("\"{}\"", "a".repeat(5000)), format!("0.{}", "1".repeat(5000)), format!("[{}]", "1, ".repeat(5000))];
    for long in literals {
        let uses = "take(i, z) + ".repeat(30);
        assert!(wrong(&format!("z = {long}; {uses} i")).starts_with(too_many), "{long:.20}");
        wrong(&format!("w = {long}; z = -w; {uses} i"));
    }
    let deep = 100_000;
    for text in [
        "a=".repeat(deep),
        "a;".repeat(deep),
        ";".repeat(deep),
        "a=1;".repeat(deep),
        "a=a;".repeat(deep),
        "a=(".repeat(deep),
        "a=b;\n".repeat(deep),
    ] {
        wrong(&text);
    }
}

#[test]
fn indices_of_programs_are_written_and_read() {
    let text = "lacuna program 1\nt0 = input(\"x\", \"float64\", \"coo\", [2, 3])\nt1 = t0[..., None, 1:]\n\
        t2 = t1[[0, -1], :]\nt3 = sum(t2, axis=[1, 2])\nt4 = t3 > 1\nt5 = t2[t4]\nt6 = t0[[[true, false]], 0]\nt7 = t0[[0, 1], [2, 0]]\nresult = [t5, t6, t7]\n";
    assert_eq!(Program::parse(text).unwrap().to_string(), text);
}

/// Positions that `isize` does not count were cut off: a slice of all of a long axis had ten of its positions.
#[test]
fn slices_of_axes_beyond_isize_lose_nothing() {
    let length = (1_usize << 63) + 5;
    let pattern = CooPattern::new([length], 3, vec![vec![0, 1 << 63, (1 << 63) + 4]]).unwrap();
    let long = AnyTensor::from(CooTensor::<f64, u64>::from_parts(pattern, vec![1.0, 2.0, 3.0], 0.0).unwrap());
    let found =
        |text: &str| Expression::parse(text).unwrap().evaluate(|_| Some(long.clone())).unwrap().into_tensor().unwrap();
    for text in ["x[:]", "x[0:9223372036854775813]", "slice(x, \":\")", "flip(x[::-1])"] {
        assert_eq!((found(text).shape()[0], found(text).nnz()), (length, 3), "{text}");
    }
    assert_eq!((found("x[:9223372036854775812]").shape()[0], found("x[1:-1]").nnz()), (length - 1, 1));
    assert_eq!((found("x[9223372036854775808:]").shape()[0], found("x[-5:]").nnz()), (5, 2));
    let sum = found("x[-1] + x[9223372036854775812] + x[9223372036854775808]");
    assert_eq!(sum.into_coo::<f64, u64>().unwrap().item().unwrap(), 8.0);
    assert_eq!(found("x[9223372036854775813:]").shape()[0], 0);
}

/// An array without elements whose other axes no `ndarray` holds was a panic.
#[test]
fn arrays_that_cannot_be_held_are_refused() {
    for text in
        ["array(\"float64\", [4294967296, 4294967296, 0], [])", "array(\"int8\", [18446744073709551615, 0], [])"]
    {
        assert!(refused(text).starts_with("the strides of the dense array"), "{}", refused(text));
    }
}

#[test]
fn a_number_is_no_truth_to_be_denied() {
    assert_eq!((value("~true").dtype(), value("~true").fill()), (DType::Bool, Number::Integer(0)));
    for text in ["~0", "~1", "i & ~1", "~1.5"] {
        assert!(wrong(text).starts_with("~ requires a tensor of bool"), "{text}: {}", wrong(text));
    }
}

#[test]
fn a_wrong_expression_is_shown_with_carets_below_the_place() {
    for (text, shown) in [
        ("sum(x", "the matching `)` is missing\n  sum(x\n     ^"),
        ("summ(x)", "there is no function summ; did you mean sum?\n  summ(x)\n  ^^^^"),
        ("x + q", "the name q is not bound\n  x + q\n      ^"),
        ("x + sum", "the name sum is not bound; call the function as sum(…)\n  x + sum\n      ^^^"),
        ("", "unexpected end of the expression\n  \n  ^"),
        ("x +", "unexpected end of the expression\n  x +\n     ^"),
        ("x $ y", "an operator is missing before this\n  x $ y\n    ^"),
        ("x + x = y", "= sets a name or an argument of a function; compare with ==\n  x + x = y\n        ^"),
        ("x) + 1", "unmatched closing bracket\n  x) + 1\n   ^"),
        ("+x", "there is no unary +\n  +x\n  ^"),
        ("2x", "invalid number\n  2x\n  ^^"),
        ("\"a", "the closing quote is missing\n  \"a\n  ^"),
        ("é + ☃", "an operand is missing here\n  é + ☃\n      ^"),
        // Two places a character, none, and signs that turn the line around.
        ("名 + 山", "the name 名 is not bound\n  名 + 山\n  ^^"),
        ("(名前) $", "an operator is missing before this\n  (名前) $\n         ^"),
        ("e\u{301} $", "an operator is missing before this\n  e\u{301} $\n   ^"),
        ("x\t+\u{202E}$", "an operand is missing here\n  x + $\n     ^"),
        ("sum(x, y=2)", "the arguments of sum are (x, axis=…, keep_dims=…, by=…)\n  sum(x, y=2)\n         ^"),
        ("sum(x, axis=0, axis=1)", "axis is set twice\n  sum(x, axis=0, axis=1)\n                 ^^^^"),
        ("sum()", "sum needs x; its arguments are (x, axis=…, keep_dims=…, by=…)\n  sum()\n  ^^^"),
        ("sum(axis=0, x)", "a positional argument follows a named argument\n  sum(axis=0, x)\n              ^"),
        ("i ** 2.5", "2.5 is not a valid exponent for int64\n  i ** 2.5\n       ^^^"),
        ("i ** 3000000000", "3000000000 is not a valid exponent for int64\n  i ** 3000000000\n       ^^^^^^^^^^"),
        (
            "grad(x + x, x * 2, x)",
            "the second argument of grad must be a name\n  grad(x + x, x * 2, x)\n              ^^^^^",
        ),
        ("grad(sum(floor(x)), x, 1)", "floor is not differentiable\n  grad(sum(floor(x)), x, 1)\n           ^^^^^^^^"),
        ("grad(x < y, x, x)", "less is not differentiable\n  grad(x < y, x, x)\n       ^^^^^"),
        ("grad(prune(x), x, x)", "prune is not differentiable\n  grad(prune(x), x, x)\n       ^^^^^^^^"),
        ("grad(i, i, 1)", "int64 is not differentiable; cast it to a float type\n  grad(i, i, 1)\n  ^^^^^^^^^^^^^"),
        (
            "nanmean(i)",
            "nanmean does not support int64; cast the operand to a float type first\n  nanmean(i)\n  ^^^^^^^^^^",
        ),
        ("c < c", "less does not support complex128; cast the operand first\n  c < c\n  ^^^^^"),
        ("max(c)", "max is not defined for complex128\n  max(c)\n  ^^^^^^"),
        ("\"a\"", "a string is not a result\n  \"a\"\n  ^^^"),
        ("[x]", "a list is not a result\n  [x]\n  ^^^"),
        ("stored(1)", "expected a tensor, found a number\n  stored(1)\n         ^"),
        ("sum(x, axis=\"foo\")", "expected an integer, found a string\n  sum(x, axis=\"foo\")\n              ^^^^^"),
        ("eye(-1)", "expected an integer of at least 0, found -1\n  eye(-1)\n       ^"),
        ("with_fill(x, y)", "expected a number, found a tensor\n  with_fill(x, y)\n               ^"),
        ("sum(x, keep_dims=2)", "expected true or false, found a number\n  sum(x, keep_dims=2)\n                   ^"),
        ("cast(x, \"float\")", "unknown element type float\n  cast(x, \"float\")\n          ^^^^^^^"),
        (
            "nanmedian(x, even=\"upper\")",
            "expected one of \"mean\", \"lower\"\n  nanmedian(x, even=\"upper\")\n                    ^^^^^^^",
        ),
    ] {
        assert_eq!(wrong(text), shown, "{text}");
    }
    // If an expression is long, the error shows the part around the position.
    let long = format!("{}q + {}", "x + ".repeat(100), "x + ".repeat(100));
    assert!(wrong(&format!("{long}x")).lines().all(|line| line.chars().count() < 130));
}

#[test]
fn nothing_hostile_is_more_than_an_error() {
    let deep = 100_000;
    for text in [
        "(".repeat(deep),
        "[".repeat(deep),
        "-".repeat(deep) + "x",
        "~".repeat(deep),
        "sum(".repeat(deep),
        "x[".repeat(deep),
        "2**".repeat(deep) + "2",
        "(x)[".repeat(deep),
        "x[0:".repeat(deep),
        "sum(x=".repeat(deep),
        "1e".repeat(deep),
        ".".repeat(deep),
        "\u{feff}x".into(),
        "x\u{202e}+y".into(),
        "\0".into(),
        "x[\u{1f600}]".into(),
        "a\u{301}".into(),
        "''''".into(),
        "0x10".into(),
        "1_000".into(),
        "x..y".into(),
        "1.e5.5".into(),
        "x(1)(2)".into(),
        "9".repeat(deep) + "j(",
    ] {
        let fault = eval(&text).unwrap_err();
        let Fault::Wrong(wrong) = &fault else { panic!("{fault}") };
        assert!(wrong.place().end <= text.len() && !fault.to_string().is_empty());
    }
    // A long chain is no deep one, and numbers may be long.
    assert_means(&("i".to_string() + &" + i".repeat(2000)), "i * 2001");
    assert_means(&format!("x + 0.{}1", "0".repeat(deep)), "x + 0");
    assert_means(&format!("x * {}", "0".repeat(deep) + "1"), "x");
    assert!(wrong(&format!("x + {}", "9".repeat(deep))).contains("is not a value of type float64"));
    let nested = |depth| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert_means(&nested(90), "x");
    assert!(wrong(&nested(101)).starts_with("more than 100 nested brackets"));
    // Names are free to choose, those of functions and constants too.
    let one = |_: &str| Some(tensor(&[], &[], 1.0f64));
    for name in ["sum", "inf", "nan", "true", "_", "é", "eval", "x1", "数"] {
        let found =
            Expression::parse(&format!("{name} + {name}")).unwrap().evaluate(one).unwrap().into_tensor().unwrap();
        assert_eq!(found.fill(), Number::Real(2.0), "{name}");
    }
}

#[test]
fn products_of_views_are_those_of_what_is_stored() {
    for (text, same) in [
        ("einsum(\"ij,kj->ik\", stored(with_fill(y, 9)), y)", "y @ transpose(y)"),
        ("einsum(\"ij,kj->ik\", [with_fill(y, 9), stored(y)])", "y @ transpose(y)"),
        ("einsum(\"ij->i\", stored(with_fill(y, 9)))", "sum(y, 1)"),
        ("outer(stored(with_fill(y, 9)), g)", "outer(y, g)"),
        ("kron(y, stored(with_fill(y, 9)))", "kron(y, y)"),
        ("tensordot(stored(with_fill(y, 9)), x, 1, 1)", "stored(y) @ transpose(x)"),
        ("mttkrp(stored(with_fill(y, 9)), 0, [transpose(y)])", "mttkrp(y, 0, [transpose(y)])"),
        ("ttm(stored(with_fill(y, 9)), y, 1)", "ttm(y, y, 1)"),
        ("ttv(stored(with_fill(y, 9)), g, 0)", "ttv(y, g, 0)"),
        (
            "einsum_backward(\"ij,kj->ik\", [stored(with_fill(y, 9)), y], eye(2), wrt=1)",
            "einsum_backward(\"ij,kj->ik\", [y, y], eye(2), wrt=1)",
        ),
        ("outer_backward(stored(with_fill(g, 9)), g, eye(2), wrt=1)", "g * 1"),
        ("kron_backward(g, stored(with_fill(g, 9)), kron(g, g))", "5 * g"),
        ("tensordot_backward(stored(with_fill(y, 9)), y, eye(3), 0, 0)", "mask(y, y)"),
        (
            "mttkrp_backward(stored(with_fill(y, 9)), 0, [transpose(y)], eye(2))",
            "mttkrp_backward(y, 0, [transpose(y)], eye(2))",
        ),
        ("ttm_backward(stored(with_fill(y, 9)), y, 1, eye(2), wrt=1)", "ttm_backward(y, y, 1, eye(2), wrt=1)"),
        ("ttv_backward(stored(with_fill(y, 9)), g, 0, y[0])", "ttv_backward(y, g, 0, y[0])"),
        ("grad(einsum(\"ij,kj->ik\", stored(y), y), y, eye(2))", "grad(y @ transpose(y), y, eye(2))"),
    ] {
        assert_means(text, same);
    }
}

#[test]
fn functions_have_the_arguments_of_rust_and_the_defaults_of_python() {
    for (text, same) in [
        ("any(x, axis=-1, keep_dims=true)", "any(x, -1, true)"),
        ("sum(i)", "sum(i, axis=\"all\")"),
        ("sum(x, [0, 1])", "sum(x)"),
        ("sum(x, axis=\"none\")", "sum(x, [])"),
        ("isin(i, [7, 0], invert=true)", "~isin(i, [0, 7])"),
        ("isin(i, [7.5, 7])", "isin(i, 7)"),
        ("take(x, [2, 0], axis=1)", "take_axis(x, [2, 0], 1)"),
        ("take(i, [[4, -1]], mode=\"wrap\")", "reshape(take(i, [1, 2]), [1, 2])"),
        ("nanmedian(x, axis=1, even=\"lower\")", "nanmedian(x, 1, false, \"lower\")"),
        ("where(b, i, 0)", "where_(b, i, 0)"),
        ("where(b, 1, 2)", "2 - cast(b, \"int64\")"),
        ("where(b, 1, 0.5)", "cast(b, \"float64\") * 0.5 + 0.5"),
        ("einsum(\"i,i->\", [i, i])", "sum(i * i)"),
        ("einsum(\"i,i->\", i, i)", "sum(i * i)"),
        ("einsum(\"i,i,i->\", i, i, i)", "sum(i * i * i)"),
        ("einsum(\"ijk->kji\", t)", "transpose(t)"),
        ("einsum(\"ijk->kji\", [t])", "transpose(t)"),
        ("concat([i, i], axis=0)", "tile(i, 2)"),
        ("stack([i, i])", "reshape(concat([i, i]), [2, 3])"),
        ("reshape(x, [-1, 2])", "reshape(x, [3, 2])"),
        ("reshape(x, -1)", "reshape(x, [6])"),
        ("reshape(e, [-1, 2])", "e"),
        ("reshape(s, [-1])", "expand_dims(s, 0)"),
        ("grad(sum(reshape(g, [-1, 1]), axis=1), g, g)", "g * 1"),
        ("block([[x, x], [x, x]])", "tile(x, [2, 2])"),
        ("trace(x, 1)", "sum(diagonal(x, 1), axis=-1)"),
        ("stored(t).trace()", "sum(stored(diagonal(t)), axis=-1)"),
        ("grad(trace(x), x, 2)", "grad(sum(diagonal(x), axis=-1), x, 2)"),
        ("cov(x, 1)", "transpose(x).cov(ddof=1)"),
        ("transpose(t, axes=[2, 0, 1])", "move_axis(t, 2, 0)"),
        ("with_fill(i, 9)[0]", "i[0] + 9"),
        ("to_coo(to_csr(x))", "x"),
        ("from_dense(x - x)", "prune(x - x)"),
        ("squeeze(expand_dims(x, [0, 3]))", "x"),
        ("pad(i, [[1, 0]])[1:]", "i"),
        ("roll(i, 1, 0)[1:]", "i[:2]"),
        ("tril(x[:, :2]) + triu(x[:, :2], offset=1)", "x[:, :2]"),
        ("clamp(n, -1, 1)", "minimum(maximum(n, -1), 1)"),
        ("scale(x, 0, g)", "x * expand_dims(g, 1)"),
        ("add(x, 1)", "1 + x"),
        ("powi(i, 2)", "square(i)"),
        ("is_close(i, 2, rtol=0, atol=1)", "(i >= 1) & (i <= 3)"),
        ("is_close(2, i, rtol=0, atol=1)", "(i >= 1) & (i <= 3)"),
        ("sinc(x - x)", "x - x + 1"),
        ("c ** 2", "square(c)"),
        ("exp(ln(c * 0 + 1))", "c * 0 + 1"),
        ("x ** 0.5", "powf(x, 0.5)"),
        ("sum_backward(y, g, axis=1)", "mask(broadcast_to(expand_dims(g, 1), [2, 3]), y)"),
        ("mul_backward(x, y, y, wrt=1)", "mul_backward(y, to_csr(x), y)"),
        ("outer(i, i)", "einsum(\"i,j->ij\", i, i)"),
        ("kron(y, y)[:2, :3]", "y[0, 0] * y"),
        ("kron(y, y)[2:, 3:6]", "y[1, 1] * y"),
        ("tensordot(y, y, [1, 0], [1, 0])", "einsum(\"ij,ij->\", y, y)"),
        ("tensordot(y, y, 0, 0)", "transpose(y) @ y"),
        ("outer_backward(g, g, eye(2), wrt=1)", "g * 1"),
        ("kron_backward(g, g, kron(g, g), wrt=1)", "5 * g"),
        ("tensordot_backward(y, y, eye(3), 0, 0)", "mask(y, y)"),
        ("sum(y, axis=0, by=[0, 0])", "sum(y, axis=0, keep_dims=true)"),
        ("sum(y, 1, by=[1, 0, 1])", "stack([y[:, 1], y[:, 0] + y[:, 2]], axis=1)"),
        ("sum(y, axis=-1, by=i * i)", "sum(y, axis=-1, by=[0, 49, 4])"),
        ("var(stored(y), 1, ddof=0, by=[0, 1, 1])", "stack([var(stored(y[:, :1]), 1), var(stored(y[:, 1:]), 1)], 1)"),
        ("median(y, 0, by=[1, 0])", "flip(y, 0)"),
        ("quantile(y, 0.5, 0, by=[0, 1])", "y"),
        ("norm(y, 0, by=[0, 1], ord=1)", "y"),
        ("sum_backward(y, full([2, 3], 2.0), axis=1, by=[2, 1, 0])", "sum_backward(y, full([2], 2.0), axis=1)"),
        ("eye(2) @ y", "y"),
        ("full([2, 3], 2.5) - 0.5", "y * 0 + 2"),
        ("random([4, 5], 7, seed=3) * 0 + 1", "cast(random([4, 5], 7, 3) < 2, \"float64\")"),
        ("stored(x) @ transpose(x)", "matmul(to_csr(x), stored(transpose(x)))"),
    ] {
        assert_alike(text, same);
    }
    assert_eq!(value("mask(x, y)").nnz(), 1);
    assert_eq!(value("nanmedian_index(i)").into_coo::<u64, u64>().unwrap().item().unwrap(), 0);
    let listed =
        |text: &str| dense(&Expression::parse(text).unwrap().evaluate(bound).unwrap()).into_raw_vec_and_offset().0;
    assert_eq!(
        (listed("unique(y)"), listed("cast(unique_counts(y), \"float64\")")),
        (vec![0., 2., 3.], vec![4., 1., 1.])
    );
    assert_eq!(listed("unique(stored(y))"), [2.0, 3.0]);
    assert_eq!(value("unique(n)").dtype(), DType::Int8);
    assert_eq!((value("random([4, 5], 7)").nnz(), value("full([4], true)").dtype()), (7, DType::Bool));
    assert!(wrong("unique(c)").contains("unique is not defined for complex128"));
    assert!(wrong("sum(x, by=[0, 1])").contains("labels require axis=…"));
    assert!(wrong("sum(x, axis=0, by=[[0, 1]])").contains("a list of labels"));
    assert!(wrong("sum(x, axis=0, by=g)").starts_with("the labels of sum must be integers, found float64"));
    assert!(wrong("take(x, b)").starts_with("the positions of take must be integers, found bool"));
    assert!(wrong("sum(x, axis=[0, 1], by=[0, 1])").contains("an integer"));
    assert!(refused("sum(x, axis=0, by=[0, 1, 2])").contains("the labels"));
    assert!(refused("sum(x, axis=0, by=[0, -1])").contains("labels[1] = -1 is not"));
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    assert!(refused("random([2], 3)").contains("3 entries do not fit 2 positions"));
    assert!(refused("with_fill(reshape(i, [4]), 1)").contains("reshaped"));
    assert!(refused("sum(x, axis=2)").contains("axis 2 is out of range for rank 2"));
    // 1.28 GB of elements.
    assert!(refused("dense(random([4000, 40000], 9))").contains("above the limit"));
    assert!(refused("concat([x, y[0]])").contains("cannot be joined with shape"));
    assert!(refused("stack([x, x, x[0:1]])").contains("each tensor of a stack must have shape"));
    let twice = "tensor(\"int64\", \"coo\", [3, 2], 0, [[0, 1], [2, 0], [0, 1]], [1, 2, 3])";
    assert!(wrong(twice).starts_with("position [0, 1] is repeated"), "{}", wrong(twice));
    assert!(wrong("concat([x, i])").contains("cast one of them"));
}

#[test]
fn one_length_of_reshape_is_found() {
    for (text, said) in [
        (
            "reshape(x, [4, -1])",
            "not exactly one length for -1 in a tensor of shape [2, 3]\n  reshape(x, [4, -1])\n             ^^^^^^^",
        ),
        ("reshape(e, [0, -1])", "not exactly one length for -1 in a tensor of shape [0, 2]"),
        ("reshape(x, [-1, -1])", "only one length may be -1\n  reshape(x, [-1, -1])\n             ^^^^^^^^"),
        ("reshape(x, [-1, -2])", "expected integers of at least 0, or -1 once, found -2"),
        ("broadcast_to(i, [-1, 3])", "expected an integer of at least 0, found -1"),
    ] {
        assert!(wrong(text).contains(said), "{text}: {}", wrong(text));
    }
}

#[test]
fn entries_are_chosen_listed_and_put_in() {
    for (text, same) in [
        ("select(y, y > 2)", "where(y > 2, y, 0)"),
        ("select(stored(y), y == 0)", "y * 0"),
        ("select(y + 7, y == 0)", "where(y == 0, y + 7, 7)"),
        ("select_backward(y, full([2, 3], 5.0), y > 2)", "y * where(y > 2, 5.0, 0.0) / 3"),
        ("grad(select(y, y > 2), y, 5)", "select_backward(y, full([2, 3], 5.0), y > 2)"),
        ("grad(mask(y, x), y, 5) + grad(without(y, x), y, 5)", "sum_backward(y, full([], 5.0))"),
        ("mask_backward(y, full([2, 3], 5.0), x)", "mask(y, x) * 2.5"),
        ("without_backward(stored(y), full([2, 3], 6.0), x)", "without(y, x) * 2"),
        ("with_entries(y * 0, nonzero(y), 7)", "cast(y != 0, \"float64\") * 7"),
        ("with_entries(y, [[1, 0], [0, 1], [1, 0]], [4, 5, 6])[:, :2]", "6 * eye(2)[::-1] - 0.5 * y[:, :2]"),
        ("diag(g)", "eye(2) * expand_dims(g, 0)"),
        ("diag(g, 1)", "pad(diag(g), [[0, 1], [1, 0]])"),
        ("diag(i, -2)", "pad(diag(i), [[2, 0], [0, 2]])"),
    ] {
        assert_alike(text, same);
    }
    let positions = Expression::parse("nonzero(x)").unwrap().evaluate(bound).unwrap();
    assert_eq!(positions, AnyArray::from(ndarray::arr2(&[[0u64, 1], [1, 0], [1, 2]]).into_dyn()).into());
    let put = value("with_entries(n, [0, 2], [1, -128])").into_coo::<i8, u64>().unwrap();
    assert_eq!(put.values(), [1, 7, -128]);
    assert_eq!(value("nonzero(s)").shape()[..], [1, 0]);
    assert_eq!((value("select(y, y == 0)").nnz(), value("diag(y[0])").nnz()), (0, 2));
    assert!(refused("nonzero(x + 1)").contains("the fill 1.0"));
    assert!(refused("diag(i + 2)[0] + diag(x)").contains("the fill 2"));
    assert!(refused("diag(x)").contains("rank 1, found 2"));
    assert!(wrong("select(x, x)").contains("the mask must be bool"));
    assert!(refused("select(x, b)").contains("the mask must have shape [2, 3], found [3]"));
    assert!(refused("with_entries(x, [[0, 3]], 1)").contains("index 3 on axis 1"));
    assert!(wrong("with_entries(x, [0, 1], 1)").contains("each a list of 2 integers"));
    assert!(wrong("with_entries(x, [[0, -1]], 1)").contains("coordinates must not be negative"));
    assert!(wrong("with_entries(x, [[0, 1]], [1, 2])").contains("found 2 numbers for 1 positions"));
    assert!(wrong("with_entries(n, [1], 128)").contains("128 is not a value of type int8"));
}

#[test]
fn products_with_dense_factors_are_those_of_einsum() {
    for (text, same) in [
        ("mttkrp(t, 0, [t[0], t[1]])", "einsum(\"ijk,jr,kr->ir\", t, t[0], t[1])"),
        ("mttkrp(t, -1, [t[0], t[1]])", "einsum(\"ijk,ir,jr->kr\", t, t[0], t[1])"),
        ("ttm(y, y, axis=1)", "einsum(\"ij,kj->ik\", y, y)"),
        ("ttm(y, transpose(y), axis=-2)", "einsum(\"ij,ki->kj\", y, transpose(y))"),
        ("ttv(y, g, 0)", "einsum(\"ij,i->j\", y, g)"),
        ("ttv(n, n, 0)", "einsum(\"i,i->\", n, n)"),
        ("sddmm(y, full([2, 1], 2.0), full([3, 1], 3.0))", "6 * y"),
        ("sddmm(stored(y), y, full([3, 3], 1.0))", "y * 5"),
    ] {
        assert_alike(text, same);
    }
    assert!(matches!(Expression::parse("ttm(y, y, 1)").unwrap().evaluate(bound), Ok(AnyValue::Array(_))));
    assert_eq!(value("sddmm(y, y, full([3, 3], 1.0))").nnz(), 2);
    assert!(refused("ttm(y, g, 0)").contains("the matrix must have rank 2, found 1"));
    assert!(refused("ttv(y, y, 0)").contains("the vector must have rank 1, found 2"));
    assert!(wrong("ttm(y, t[0], 0)").contains("cast one of them"));
    assert!(wrong("ttv_backward(y, g, 0, y[0], wrt=2)").contains("wrt must be 0 or 1"));
    assert!(wrong("mttkrp_backward(y, 0, [transpose(y)], y @ transpose(y), wrt=2)").contains("one of 2 tensors"));
}

#[test]
fn products_over_semirings_have_words() {
    for (text, same) in [
        ("matmul_with(y, transpose(y))", "y @ transpose(y)"),
        ("matmul_with(stored(x), transpose(y), \"plus_times\")", "stored(x) @ transpose(y)"),
        (
            "matmul_with(y, transpose(y), semiring=\"plus_pair\")",
            "cast(y != 0, \"float64\") @ cast(transpose(y) != 0, \"float64\")",
        ),
        ("matmul_on(y, transpose(x), eye(2))", "mask(stored(matmul_with(y, transpose(x))), eye(2))"),
        (
            "matmul_on(y, transpose(x), eye(2), complement=true)",
            "without(stored(matmul_with(y, transpose(x))), eye(2))",
        ),
        ("matmul_with(y, transpose(y), \"max_plus\", eye(2))", "with_entries(full([2, 2], -inf), [[0, 0]], [6.0])"),
    ] {
        assert_alike(text, same);
    }
    assert!(wrong("matmul_with(y, y, \"min_pluss\")").contains("one of \"plus_times\", \"plus_first\""));
    assert!(wrong("matmul_with(y, y, complement=true)").contains("complement=… requires a mask"));
    assert!(refused("matmul_on(y, transpose(y), y)").contains("the mask"));
}

/// Alike but for the format, and for what is stored of what is equal.
#[track_caller]
fn assert_alike(text: &str, same: &str) {
    let dense = |text| {
        let tensor = value(text).into_format(Format::Coo).unwrap();
        let shape = tensor.shape().clone();
        (shape, lacuna::dispatch!(tensor, x => format!("{:?}", x.to_dense().unwrap())))
    };
    assert_eq!(dense(text), dense(same), "{text} and {same}");
}

/// The functions that the library has and expressions have not, each with its reason.
const LACKING: &[(&str, &str)] = &[
    ("zip_with", "takes a function of Rust"),
    ("random_with_index", "chooses the width of coordinates, which expressions choose by the shape"),
    ("diag_with_index", "chooses the width of coordinates, which expressions choose by the shape"),
    ("eye_with_index", "chooses the width of coordinates, which expressions choose by the shape"),
    ("filter_entries", "takes a function of Rust: a mask for select says the same"),
    ("filter_entries_backward", "is select_backward"),
    ("trace_backward", "is diagonal_backward of sum_backward, the gradient of the steps of trace"),
    ("add_dense", "is the operation on an array and the dense form"),
    ("sub_dense", "is the operation on an array and the dense form"),
    ("mul_dense", "is the operation on an array and the dense form"),
    ("div_dense", "is the operation on an array and the dense form"),
    ("isfinite_into", "fills a result that is there"),
    ("isinf_into", "fills a result that is there"),
    ("isnan_into", "fills a result that is there"),
    ("isneginf_into", "fills a result that is there"),
    ("isposinf_into", "fills a result that is there"),
    ("isreal_into", "fills a result that is there"),
    ("signbit_into", "fills a result that is there"),
    ("isin_into", "fills a result that is there"),
    ("take_into", "fills a result that is there"),
];

fn sources(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![std::fs::read_to_string(path).unwrap()] })
        .collect()
}

/// The operations that are methods or constructors of tensors, and no functions.
fn methods_of_tensors(source: &str) -> Vec<&str> {
    let (mut is_tensor, mut names) = (false, Vec::new());
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("impl") {
            is_tensor = ["Tensor<", "Stored<", "$pattern<I>"].iter().any(|owner| line.contains(owner))
                && !line.contains(" for ");
        }
        let name = line.strip_prefix("pub fn ").filter(|name| is_tensor && !name.starts_with('$'));
        names.extend(name.and_then(|name| name.split(['(', '<']).next()));
    }
    names
}

#[test]
fn every_operation_of_the_library_is_a_function() {
    let operations: Vec<String> = exported_functions().into_iter().chain(exported_gradients()).collect();
    assert!(operations.len() > 150, "the lists are found: {}", operations.len());
    let sources = sources(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops").as_ref());
    let methods: HashSet<&str> = sources.iter().flat_map(|source| methods_of_tensors(source)).collect();
    assert!(["diag", "nonzero", "sddmm", "mask"].iter().all(|name| methods.contains(name)), "{methods:?}");
    let operations: Vec<&str> = operations.iter().map(String::as_str).chain(methods).collect();
    let known: HashSet<&str> = functions().collect();
    assert_eq!(known.len(), functions().count(), "no name stands twice");
    let excepted = |name: &str| LACKING.iter().any(|(lacking, _)| *lacking == name);
    let lacking: Vec<_> = operations.iter().filter(|name| !known.contains(**name) && !excepted(name)).collect();
    assert!(lacking.is_empty(), "expressions lack {lacking:?}");
    for (name, reason) in LACKING {
        assert!(operations.contains(name) && !known.contains(name), "{name}, which {reason}, is no exception");
    }
}

/// The comparison with other libraries fails if no line asks an operation. It needs Python; this test does not.
#[test]
fn every_operation_is_in_the_comparison_with_other_libraries() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/");
    let scripts =
        ["differential.py", "differential_lines.py"].map(|name| std::fs::read_to_string(format!("{folder}{name}")));
    let words: Vec<String> = scripts.into_iter().flat_map(|script| quoted(&script.unwrap())).collect();
    let asked: HashSet<&str> = words.iter().map(String::as_str).collect();
    let lacking: Vec<&str> = functions().filter(|name| !name.ends_with("_backward") && !asked.contains(name)).collect();
    assert!(lacking.is_empty(), "tests/differential_lines.py has no line for {lacking:?}");
    assert!(!asked.contains("nanmedian_backward"), "gradients are not asked");
}

/// Returns the texts in double quotes.
fn quoted(script: &str) -> Vec<String> {
    script.lines().flat_map(|line| line.split('"').skip(1).step_by(2)).map(String::from).collect()
}

#[test]
fn lines_are_answered_one_by_one_in_order() {
    let x = json!({"shape": [2, 3], "dtype": "float64", "format": "csr", "fill": 0,
        "entries": [[[1, 0], "nan"], [[0, 1], 2.5]]});
    let lines = [
        json!({"eval": "sum(x, axis=0)", "x": x}).to_string(),
        "nonsense".into(),
        String::new(),
        json!({"eval": "x[1]", "x": x}).to_string(),
        json!({"eval": "x", "x": {"shape": [2], "dtype": "int8", "entries": [[[0], 1], [[0], 2]]}}).to_string(),
        json!({"x": x}).to_string(),
        json!({"eval": 3}).to_string(),
        "[1]".into(),
        json!({"eval": "2"}).to_string(),
    ];
    // The last line has no end.
    let answers = answers(&lines.join("\n"));
    assert_eq!(answers.len(), lines.len());
    assert_eq!(
        answers[0],
        json!({"format": "csr", "shape": [3], "dtype": "float64", "nnz": 2, "fill": 0.0,
            "values": [[[0], "nan"], [[1], 2.5]]})
    );
    assert_eq!(answers[3]["values"], json!([[[0], "nan"]]));
    assert_eq!(answers[8]["fill"], json!(2));
    for (at, said) in [
        (1, "not a JSON object"),
        (2, "not a JSON object"),
        (4, "x: entries"),
        (5, "no \"eval\""),
        (6, "must be a string"),
        (7, "not a JSON object"),
    ] {
        let error = answers[at]["error"].as_str().unwrap();
        assert!(error.contains(said), "{at}: {error}");
    }
}

/// As text, because a number that is parsed and printed is not always what it was.
/// What stores all of its result was computed twice, once to check its shape, and kept until all was checked.
#[test]
fn what_is_stored_without_entries_is_not_made_for_a_check() {
    let check = |text: &str| Expression::parse(text).unwrap().check(bound);
    assert!(check("sum(x, axis=7)").is_err());
    for made in ["eye(3)", "random([2, 2], 1)", "argsort(x)", "topk(x, 1)", "ttv(x, [1, 2, 3], 1)", "diag(g)"] {
        let text = format!("sum({made}, axis=7)");
        assert!(check(&text).is_ok(), "{text}");
    }
    refused("sum(eye(3), axis=7)");
}

#[test]
fn an_expression_that_comes_again_is_not_parsed_again() {
    let mut programs = Programs::default();
    for _ in 0..3 {
        let x = programs.get("grad(sum(x * x), x, 1)").unwrap().evaluate(bound).unwrap().into_tensor().unwrap();
        assert!(x.same_as(&value("x * 2")));
        assert!(matches!(programs.get("sum("), Err(Fault::Wrong(_))));
    }
    assert_eq!(programs.parsed(), 1);
}

/// A program that answers lines for months must not grow with every text that it was asked.
#[test]
fn expressions_that_are_too_many_make_way() {
    let mut programs = Programs::default();
    let text = |number: usize| format!("x + {number}{}", " ".repeat(40_000));
    for number in 0..4 {
        programs.get(&text(number)).unwrap();
    }
    programs.get(&text(3)).unwrap();
    assert_eq!(programs.parsed(), 4);
    programs.get(&text(0)).unwrap();
    assert_eq!(programs.parsed(), 5);
}

/// Constructors stopped at axes of 2^32, and advised an index type that expressions cannot name.
#[test]
fn tensors_are_made_with_axes_of_any_length() {
    let long = value("random([1000000000000, 2], 3)");
    assert_eq!((long.nnz(), &long.shape()[..]), (3, &[1_000_000_000_000, 2][..]));
    assert!(long.same_as(&value("random([1000000000000, 2], 3, 0)")));
    assert_eq!(value("random([4294967296, 2], 3)").nnz(), 3);
    assert_eq!(value("random([4294967297, 2], 3)").nnz(), 3);
    assert_eq!(value("sum(random([7, 1000000000000], 3) > 1, axis=1)").shape()[..], [7]);
    let told = |text: &str| Expression::parse(text).unwrap().evaluate(bound).unwrap_err().to_string();
    for text in ["eye(4294967296)", "eye(5000000000)"] {
        assert!(told(text).contains("the identity matrix"), "{}", told(text));
    }
}

#[test]
fn what_a_line_gives_comes_back_as_it_was() {
    for (dtype, fill, values) in [
        ("float64", "-0.0", r#"5e-324 "-inf" "nan" 0.1 -0.0 1.7976931348623157e+308"#),
        ("float32", r#""inf""#, "1e-45 3.4028235e+38 0.1 -0.0"),
        ("int64", "-1", "-9223372036854775808 9223372036854775807 9007199254740993"),
        ("uint64", "18446744073709551615", "18446744073709551614 0"),
        ("int8", "-128", "127 0"),
        ("bool", "true", "false true"),
        ("complex128", "[0.0, -0.0]", r#"[-0.0,"nan"] ["inf",5e-324]"#),
        ("complex64", r#"["nan", 0.0]"#, r#"[0.1,-0.0] ["-inf",1e-45]"#),
    ] {
        let values: Vec<String> = values.split(' ').map(|value| value.replace(',', ", ")).collect();
        let entries: Vec<String> = values.iter().enumerate().map(|(at, value)| format!("[[{at}], {value}]")).collect();
        let tensor = |entries: &[String]| {
            let (count, entries) = (entries.len(), entries.join(", "));
            format!(
                r#""shape": [{count}], "dtype": "{dtype}", "nnz": {count}, "fill": {fill}, "values": [{entries}]}}"#
            )
        };
        let shuffled: Vec<String> = entries.iter().rev().cloned().collect();
        let line = |tensor: &str| format!("{{\"eval\": \"x\", \"x\": {tensor}}}\n");
        let found = told(&line(&format!("{{{}", tensor(&shuffled))));
        assert_eq!(found, format!("{{\"format\": \"coo\", {}\n", tensor(&entries)));
        assert_eq!(told(&line(found.trim_end())), found);
    }
}

#[test]
fn a_line_that_gives_what_is_no_tensor_is_answered_with_an_error() {
    let given = |shape: Value, dtype: &str, entries: Value| json!({"shape": shape, "dtype": dtype, "entries": entries});
    for (x, said) in [
        (given(json!([2]), "float64", json!([[[2], 1]])), "x: index 2 on axis 0 is out of bounds"),
        (given(json!([2]), "float64", json!([[[0, 0], 1]])), "rank"),
        (given(json!([2]), "float65", json!([])), "unknown element type float65"),
        (given(json!([2]), "int8", json!([[[0], 128]])), "128 is not a value of type int8"),
        (given(json!([2]), "int8", json!([[[0], 1.5]])), "1.5 is not a value of type int8"),
        (given(json!([2]), "int8", json!([[[0], "1"]])), "is not a value of type int8"),
        (given(json!([2]), "float64", json!([[[0], "1.0"]])), "is not a value of type float64"),
        (given(json!([2]), "float64", json!([[[0], null]])), "null is not a value"),
        (given(json!([2]), "float64", json!([[[0], [1, 2]]])), "is not a value of type float64"),
        (given(json!([2]), "complex128", json!([[[0], [1, 2, 3]]])), "is not a value of type complex128"),
        (given(json!([2]), "bool", json!([[[0], 2]])), "2 is not a value of type bool"),
        (given(json!([2, -3]), "bool", json!([])), "x: shape[1] = -3 is not an integer from 0 to 18446744073709551615"),
        (given(json!([2.5]), "bool", json!([])), "x: shape[0] = 2.5 is not an integer from 0 to"),
        (given(json!([1e30]), "bool", json!([])), "x: shape[0] = 1e+30 is not an integer from 0 to"),
        (given(json!(["2"]), "bool", json!([])), "x: shape[0] = \"2\" is not an integer from 0 to"),
        (given(json!(2), "bool", json!([])), "x: \"shape\" must be a list of lengths, found 2"),
        (given(json!([2]), "bool", json!(7)), "x: \"entries\" must be a list, found 7"),
        (
            given(json!([2]), "bool", json!([[[0]]])),
            "x: entries[0] = [[0]] is not a list of coordinates and a value, such as [[0, 1], 2.5]",
        ),
        (given(json!([2]), "bool", json!([[[0], true], [1, true]])), "x: entries[1] = [1,true] is not a list of coord"),
        (
            given(json!([9, 5]), "bool", json!([[[0, 1], true], [[0, -3], true]])),
            "x: entries[1][0][1] = -3 is not an integer from 0 to 4, the range of axis 1",
        ),
        (
            given(json!([9, 5]), "bool", json!([[[0.5, 1], true]])),
            "x: entries[0][0][0] = 0.5 is not an integer from 0 to 8",
        ),
        (
            given(json!([2]), "bool", json!([[["0"], true]])),
            "x: entries[0][0][0] = \"0\" is not an integer from 0 to 1",
        ),
        (
            given(json!([2]), "bool", json!([[[1e30], true]])),
            "x: entries[0][0][0] = 1e+30 is not an integer from 0 to 1",
        ),
        (json!({"shape": [2], "dtype": "bool"}), "x: the tensor has no \"entries\""),
        (json!({"dtype": "bool", "entries": []}), "x: the tensor has no \"shape\""),
        (json!({"shape": [2], "entries": []}), "x: the tensor has no \"dtype\""),
        (json!({"shape": [2], "dtype": 7, "entries": []}), "x: \"dtype\" must be a string, found 7"),
        (json!({"shape": [2], "dtype": "bool", "format": 7, "entries": []}), "x: \"format\" must be a string, found 7"),
        (json!(3), "x: 3 is not an object with \"shape\", \"dtype\" and \"entries\""),
    ] {
        let error = answer(&json!({"eval": "x", "x": x}))["error"].as_str().unwrap().to_string();
        assert!(error.contains(said), "{x}: {error}");
    }
    let repeated = r#"{"eval": "x", "x": {"shape": [], "dtype": "bool", "entries": []}, "x": 1}"#;
    assert!(answers(repeated)[0]["error"].as_str().unwrap().contains("a name is repeated"));
    let wide = r#"{"eval": "x", "x": {"shape": [2], "dtype": "bool", "entries": [[[18446744073709551616], true]]}}"#;
    let told = answers(wide)[0]["error"].as_str().unwrap().to_string();
    assert_eq!(told, "x: entries[0][0][0] = 18446744073709551616 is not an integer from 0 to 1, the range of axis 0");
    let huge = r#"{"eval": "x", "x": {"shape": [1], "dtype": "float64", "entries": [[[0], 1e999]]}}"#;
    assert!(answers(huge)[0]["error"].as_str().unwrap().contains("1e999 is not a value"));
    let vast =
        json!({"eval": "sum(x)", "x": {"shape": [u64::MAX, u64::MAX], "dtype": "float64", "entries": [[[7, 9], 2]]}});
    assert_eq!(answer(&vast)["values"], json!([[[], 2.0]]));
}

/// Returns the operands of gradients: floats at which derivatives exist, with and without unstored positions.
fn smooth(name: &str) -> Option<AnyTensor> {
    Some(match name {
        "x" => tensor(&[2, 3], &[(&[0, 1], 0.5f64), (&[1, 0], 0.25), (&[1, 2], 0.75)], 0.0),
        "y" => tensor(&[2, 3], &[(&[0, 1], 1.5f64), (&[0, 2], 2.25)], 0.0).into_format(Format::Csr).unwrap(),
        "z" => tensor(&[2, 3], &[(&[0, 0], 3.0f64), (&[1, 2], 1.25)], 1.5),
        "d" => tensor(&[2, 3], &[(&[0, 0], 1.0f64), (&[0, 1], -2.0), (&[1, 0], 3.0), (&[1, 2], 0.5)], 0.125),
        "r" => tensor(&[2], &[(&[0], 2.0f64), (&[1], -3.0)], 0.0),
        "c" => tensor(&[2, 3], &[(&[0, 1], true), (&[1, 1], true)], false),
        "o" => tensor(&[], &[(&[], 2.0f64)], 0.0),
        _ => return None,
    })
}

#[track_caller]
fn slope(text: &str) -> AnyTensor {
    let found = Expression::parse(text).and_then(|e| e.evaluate(smooth));
    found.unwrap_or_else(|fault| panic!("{text}: {fault}")).into_tensor().unwrap()
}

#[test]
fn gradients_are_the_backward_functions_bit_for_bit() {
    for (text, same) in [
        ("grad(exp(x), x, d)", "exp_backward(x, d)"),
        ("grad(-x, x, d)", "neg_backward(x, d)"),
        ("grad(x * y, x, d)", "mul_backward(x, y, d)"),
        ("grad(x * y, y, d)", "mul_backward(x, y, d, wrt=1)"),
        ("grad(x * 2.5, x, d)", "mul_backward(x, 2.5, d)"),
        ("grad(2.5 / z, z, d)", "div_backward(2.5, z, d, wrt=1)"),
        ("grad(x ** 3, x, d)", "powi_backward(x, d, 3)"),
        ("grad(x ** 2.5, x, d)", "powf_backward(x, d, 2.5)"),
        ("grad(2 ** x, x, d)", "pow_backward(2, x, d, wrt=1)"),
        ("grad(x * x, x, d)", "mul_backward(x, x, d, wrt=1) + mul_backward(x, x, d)"),
        (
            "grad(sum(exp(x) * y, axis=1), x, r)",
            "exp_backward(x, mul_backward(exp(x), y, sum_backward(exp(x) * y, r, axis=1)))",
        ),
        ("grad(sum(stored(x), 1), x, r)", "sum_backward(stored(x), r, 1)"),
        ("grad(nanmedian(x, axis=1, even=\"lower\"), x, r)", "nanmedian_backward(x, r, axis=1, even=\"lower\")"),
        ("grad(quantile(x, 0.3, 1), x, r)", "quantile_backward(x, r, 0.3, 1)"),
        ("grad(where(c, x, z), z, d)", "where_backward(c, x, z, d, wrt=1)"),
        ("grad(where(c, 0.0, z), z, d)", "where_backward(c, 0.0, z, d, wrt=1)"),
        (
            "grad(concat([x, y, x]), x, concat([d, d, flip(d)]))",
            "concat_backward([x, y, x], concat([d, d, flip(d)]), wrt=2) + \
            concat_backward([x, y, x], concat([d, d, flip(d)]), wrt=0)",
        ),
        ("grad(block([[x, y], [y, x]]), x, block([[d, d * 1], [d * 1, d]]))", "grad(x, x, d) + grad(x, x, d)"),
        ("grad(einsum(\"ij,kj->ik\", x, y), y, eye(2))", "einsum_backward(\"ij,kj->ik\", [x, y], eye(2), wrt=1)"),
        ("grad(einsum(\"ij->ji\", x), x, transpose(d))", "grad(x, x, d)"),
        ("grad(x @ transpose(y), x, eye(2))", "matmul_backward(x, transpose(y), eye(2))"),
        ("grad(x[:, 1:], x, d[:, 1:])", "slice_backward(x, d[:, 1:], \":, 1:\")"),
        ("grad(permute_axes(x, [1, 0]), x, transpose(d))", "transpose_backward(x, transpose(d))"),
        ("grad(reshape(x, [3, 2]), x, reshape(d, [3, 2]))", "grad(x, x, d)"),
        ("grad(reshape_as(x, reshape(y, [3, 2])), x, reshape(d, [3, 2]))", "grad(x, x, d)"),
        ("grad(diag(r, offset=1), r, diag(r, offset=1) * 3.0)", "r * 3.0"),
        ("grad(diag(r), r, 2.5)", "any_backward(r, full([2], 2.5), axis=\"none\")"),
        ("grad(take(x, [1, 1], axis=0), x, d)", "take_backward(x, d, [1, 1], axis=0)"),
        ("grad(cast(x, \"float32\"), x, cast(d, \"float32\"))", "grad(x, x, d)"),
        ("grad(to_csr(with_fill(x, 7.0)), x, d)", "grad(x, x, d)"),
        ("grad(x, x, d)", "any_backward(x, d, axis=\"none\")"),
        ("grad(y, x, d)", "any_backward(x, full([2, 3], 0.0), axis=\"none\")"),
        ("grad(x, x, 1)", "any_backward(x, full([2, 3], 1.0), axis=\"none\")"),
        ("grad(sum(x * x) * grad(sum(y), y, 1)[0, 1], x, 1)", "grad(sum(x * x) * 1, x, 1)"),
    ] {
        let (found, expected) = (slope(text), slope(same));
        assert!(found.same_as(&expected), "{text}: {found:?} is not {same}: {expected:?}");
    }
}

/// The gradient of a number by `x` is what it changes by, for each entry.
#[track_caller]
fn check_differences(text: &str) {
    let step = 1e-6;
    let dx = slope(&format!("grad({text}, x, 1)")).into_coo::<f64, u64>().unwrap();
    for (at, value) in dx.entries() {
        let moved = |by: f64| {
            let bound = |name: &str| {
                let found = smooth(name)?;
                if name != "x" {
                    return Some(found);
                }
                let x = found.into_coo::<f64, u64>().unwrap();
                let moved = x.entries().into_iter().map(|(c, v)| if c == at { v + by } else { v });
                Some(CooTensor::from_parts(x.pattern().clone(), moved.collect(), 0.0).unwrap().into())
            };
            let found = Expression::parse(text).unwrap().evaluate(bound).unwrap();
            found.into_tensor().unwrap().into_coo::<f64, u64>().unwrap().item().unwrap()
        };
        let expected = (moved(step) - moved(-step)) / (2.0 * step);
        assert!((value - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{text} at {at:?}: {value}, {expected}");
    }
}

#[test]
fn gradients_agree_with_central_differences() {
    for text in [
        "sum(exp(x) * y + x * x)",
        "sum(sqrt(abs(x + 2)) / z)",
        "norm(x * z - y)",
        "prod(x + 1)",
        "mean(tanh(x) ** 3)",
        "sum((x @ transpose(y)) ** 2)",
        "std(x * 3 + z, ddof=1)",
        "sum(minimum(x, z) * maximum(x, y))",
        "sum(softmax(stored(x), 1) * z)",
        "sum(x[:, ::-1] * x[:, :1])",
        "sum(outer(x[0], x[1]) ** 2)",
        "sum(where(c, x * x, ln(x + 1)))",
        "sum(topk(x, 2) ** 2)",
        "median(x + z) * sum(x) - 1 / sum(z - x)",
        "sum(tile(x, [2, 1]) * concat([x, y]))",
        "sum(2 ** x)",
        "sum(mttkrp(x, 0, [transpose(x)]) ** 2)",
        "sum(ttm(x, x[:, ::-1] * z, -1) ** 2)",
        "sum(ttv(x, x[1] + 1, 1) ** 2)",
        "sum(sddmm(x, x, transpose(x) @ y) ** 2)",
        "sum((diag(sum(x, axis=0)) @ transpose(x)) ** 2)",
    ] {
        check_differences(text);
    }
}

/// A gradient of a gradient is that of the formula which the backward function stands for.
#[test]
fn gradients_of_gradients_agree_with_central_differences() {
    macro_rules! of_table {
        (tests $tests:tt numbers $numbers:tt bits $bits:tt parts $parts:tt floats $floats:tt
         gradients [$($name:ident $backward:ident)*]) => {
            [$(stringify!($name)),*]
        };
    }
    // The gradient of `sinc` does not have a gradient.
    for name in lacuna::__function_names! { of_table }.into_iter().filter(|name| *name != "sinc") {
        // The elements of `x` are below 1, where `acosh` is NaN.
        let of = if name == "acosh" { "x + 2" } else { "x" };
        check_differences(&format!("sum(grad({name}({of}) * x, x, z) * d)"));
        check_differences(&format!("sum(grad({name}(stored({of})) * x, x, z) * d)"));
    }
    for of in [
        "x ** 3 - x ** 2.5",
        "x ** 1 + x ** 0",
        "x + (x - y) * (2 - x)",
        "x * x / (z + x) / 3",
        "(x * x[:1]) ** 2",
        "transpose(x) ** 3",
        "square(permute_axes(x, [1, 0])) * mean(x * x, axis=0, keep_dims=true)[0, 1]",
        "square(move_axis(x, 0, 1))",
        "square(expand_dims(x, 0)) + squeeze(expand_dims(x, 0)) * x",
        "square(broadcast_to(x, [4, 2, 3]))",
        "exp(flip(x)) * roll(x, 1, 1)",
        "exp(pad(x, [[1, 0], [0, 2]]) / 2)",
        "square(tile(x, [2, 1])) + square(repeat(x, 2, 0))",
        "tril(x) * x + square(triu(x, offset=1))",
        "square(diagonal(x))",
        "square(x[:, ::2]) + square(take_axis(x, [2, 2], 1))",
        "cast(cast(x * x, \"float32\"), \"float64\") * 0 + reshape(square(x), [3, 2])[0, 0]",
        "exp(sum(x * x, axis=1, keep_dims=true) / 3)",
        "square(x @ move_axis(y, 0, 1)) + square(y @ transpose(x)) * x[0, 1]",
        "square(transpose(x) @ x) @ transpose(x)",
        "exp(scale(x * y, 1, z[1]))",
        "square(take(x, [1, 1, 0], axis=0)) + take(x * y, [4], mode=\"wrap\")",
        "stored(x) ** 3 - stored(x) ** 2.5 + 2 / stored(x)",
        "(stored(x) + y) * (stored(y) - stored(x)) * stored(x)",
        "stored(x * x) / stored(y) - y / stored(x * x)",
        "square(stored(with_fill(y, 3)) * stored(with_fill(x * x, 3)))",
        "exp(sum(stored(x * x), axis=1) / 9) * mean(stored(x * x * x), 1)",
        "square(stored(x) @ move_axis(y, 0, 1)) + square(y @ stored(transpose(x))) * x[0, 1]",
        "exp(scale(stored(x * y), 1, z[1]))",
        "exp(softmax(stored(x), 1)) * z",
        "square(log_softmax(stored(x * x), axis=0)) * softmax(stored(x))",
        "norm(x * y + z, axis=1) ** 3",
        "norm(stored(x * x), axis=0, keep_dims=true) * x",
        "exp(var(x * x, axis=1))",
        "std(x * 3 + z, ddof=1) * var(x, axis=0, keep_dims=true) * x",
        "exp(norm(x * x + z, by=[0, 1, 0], axis=1) / 9)",
        "square(where(c, x * x, exp(x / 9)))",
        "square(where(c, x[:1] * x[:1], z))",
        "square(mask(stored(x * x), z)) + exp(without(stored(x * x), z))",
        "outer(x[0], x[1] * x[0]) ** 2",
        "kron(x, x * y) ** 2",
        "square(tensordot(x, x * y, [1], [1])) + square(tensordot(stored(x), y, [0], [0]))[0, 0]",
        "einsum(\"ij,kj,kl->il\", [x, x * x, y]) ** 2",
        "einsum(\"ij,kl->j\", [x, x * x])",
        "mttkrp(x, 0, [transpose(x)]) ** 2",
        "square(ttm(x, x[:, ::-1] * z, -1)) + ttv(x * x, x[1] + 1, 1)[0]",
        "square(sddmm(x, x, transpose(x) @ y)) + square(pattern_sddmm(x, x, transpose(x) @ y))",
        "square(scale(x, 1, x[0] * x[1]))",
        "square(matmul_with(x, transpose(x * x), \"plus_times\"))",
        "square(matmul_on(x, transpose(x * y), x @ transpose(y)))",
        "clamp(x * x, 0.3, 2.0) * x",
        "nansum(x * x, axis=1) * nanmean(x, 1) * min(x, axis=1) * max(stored(x), axis=1)",
        "square(nanmin(x, axis=0) + nanmax(x * x, 0)) * median(x + z, axis=0)",
        "nanmedian(stored(x * x), axis=1, even=\"lower\") * quantile(x, 0.3, axis=1) * nanquantile(stored(x), 0.8, 1)",
        "square(max(x * x, by=[0, 1, 0], axis=1))",
    ] {
        check_differences(&format!("sum(grad(sum({of}), x, 1.5) * d)"));
    }
    for refused in ["norm(x, ord=1)", "var(x, by=[0, 1, 0], axis=1)", "var(stored(x))", "prod(x)"] {
        let text = format!("grad(grad({refused} * sum(x), x, 1), x, 1)");
        let refused = Expression::parse(&text).unwrap_err().to_string();
        assert!(refused.contains("_backward is not differentiable"), "{refused}");
    }
    check_differences("sum(grad(sum(grad(sum(x ** 4), x, 1) * z), x, 1) * d)");
    assert_eq!(slope("grad(grad(x ** 0, x, 1), x, 1)").nnz(), 3);
    let refused = Expression::parse("grad(grad(prod(x * x), x, 1), x, 1)").unwrap_err().to_string();
    assert!(refused.contains("prod_backward is not differentiable"), "{refused}");
}

/// An expression in place of an operand receives no gradient itself. An equal expression elsewhere may receive a
/// gradient. If `wrt` is not the number of an operand, there is no gradient. Arithmetic of numbers is a number.
#[test]
fn what_stands_for_an_operand_receives_nothing() {
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], vec![1.0, -2.0, 0.5, 3.0], 0.0).unwrap();
    let y = x.map_values(|value: f64| value * value - 1.0).unwrap().with_fill(0.0);
    let bound = |name: &str| Some(AnyTensor::from(if name == "x" { &x } else { &y }.with_index::<u64>().unwrap()));
    let found = Expression::parse("grad(grad(y @ x, x, grad(x, x, x * x)), x, x * x)").unwrap().evaluate(bound);
    let found = found.unwrap().into_tensor().unwrap().into_coo::<f64, u64>().unwrap();
    let (x, y) = (x.lazy(), y.lazy());
    let squares = &x * &x;
    let first = y.matmul(&x).gradient(&x, &x.gradient(&x, &squares));
    let expected = first.gradient(&x, &squares).collect().unwrap().with_index::<u64>().unwrap();
    assert!(found.same_as(&expected), "{found:?} {expected:?}");
    let refused = Expression::parse("grad(matmul_backward(x, y, x, wrt=5), x, 1)").unwrap_err().to_string();
    assert!(refused.contains("not differentiable"), "{refused}");
    let [one, other] = ["1", "2 - 1"].map(|wrt| {
        let text = format!("grad(matmul_backward(x, y, x, wrt={wrt}), x, 1)");
        Expression::parse(&text).unwrap().evaluate(bound).unwrap().into_tensor().unwrap()
    });
    assert!(one.same_as(&other), "{one:?} {other:?}");
}

/// Beside shares of 0 too, which a NaN or an infinite value was multiplied by.
#[test]
fn second_gradients_of_extremes_leave_others_out() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![f64::NEG_INFINITY, 2.0], 0.0).unwrap();
    for of in ["max(x)", "max(stored(x))", "quantile(x, 1)"] {
        let text = format!("grad(grad({of}, x, {of}), x, x)");
        let x = AnyTensor::from(x.with_index::<u64>().unwrap());
        let found = Expression::parse(&text).unwrap().evaluate(|_| Some(x.clone())).unwrap();
        assert_eq!(found.into_tensor().unwrap().into_coo::<f64, u64>().unwrap().values(), [0.0, 2.0], "{of}");
    }
}

/// Shares of entries beside gaps of any fill: that of NaN was multiplied by 0 and added up.
#[test]
fn second_gradients_of_shares_leave_the_fill_out() {
    for name in ["softmax", "log_softmax"] {
        let of = |fill: &str| {
            let x = format!("with_fill(x, {fill})");
            slope(&format!("grad(sum(grad({name}(stored({x}), 1), x, z) * d), x, 1)")).into_coo::<f64, u64>().unwrap()
        };
        assert!(of("0").values().iter().all(|value| value.is_finite()), "{name}");
        for fill in ["nan", "inf", "3"] {
            assert_eq!(of(fill).values(), of("0").values(), "{name} beside {fill}");
        }
    }
}

/// Second gradients use only the positions that the first gradient stores.
#[test]
fn second_gradients_use_what_the_first_stores_alone() {
    let x = CooTensor::new([4, 2], vec![vec![0, 1, 2, 3], vec![0, 1, 0, 1]], vec![1.0, 2.0, 3.0, 4.0], 0.0).unwrap();
    let square = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![1.0, 2.0], 0.0).unwrap();
    for (x, of) in [
        (&x, "sum(x) * sum(x)"),
        (&x, "mean(x) * mean(x)"),
        (&x, "sum(x, axis=0) * sum(x * x, axis=0)"),
        (&square, "tril(x) * x"),
        (&square, "exp(pad(x, [[1, 0], [0, 1]])) * 2"),
    ] {
        let found = |text: String| {
            let x = AnyTensor::from(x.clone().with_index::<u64>().unwrap());
            let found = Expression::parse(&text).unwrap().evaluate(|_| Some(x.clone())).unwrap().into_tensor().unwrap();
            found.into_coo::<f64, u64>().unwrap()
        };
        let (once, twice) = (format!("grad({of}, x, 1)"), found(format!("grad(grad({of}, x, 1), x, 1)")));
        assert!(twice.same_as(&found(format!("grad(sum({once}), x, 1)"))), "{of}: {twice:?}");
    }
}

/// Second gradients also use only stored positions for steps that the graph contains, such as slices and changes of
/// shape.
#[test]
fn second_gradients_by_upstreams_use_what_the_first_stores_alone() {
    let vector = |coords: Vec<u32>, values: Vec<f64>| {
        AnyTensor::from(CooTensor::new([3], vec![coords], values, 0.0).unwrap().with_index::<u64>().unwrap())
    };
    let (x, all) = (vector(vec![0], vec![2.0]), vector(vec![0, 1, 2], vec![1.0; 3]));
    for (of, expected) in [
        ("x[::-1]", &[0.0, 0.0, 1.0][..]),
        ("x[0:2]", &[1.0, 0.0]),
        ("with_fill(x, 0)", &[1.0, 0.0, 0.0]),
        ("reshape(x, [3])", &[1.0, 0.0, 0.0]),
        ("flip(x)", &[0.0, 0.0, 1.0]),
    ] {
        let text = format!("grad(grad({of}, x, z), z, u)");
        let bind = |name: &str| match name {
            "x" => Some(x.clone()),
            "z" if of == "x[0:2]" => Some(all.slice(&[ndarray::SliceInfoElem::from(0..2)]).unwrap()),
            _ => Some(all.clone()),
        };
        let found = Expression::parse(&text).unwrap().evaluate(bind).unwrap().into_tensor().unwrap();
        let found = found.into_coo::<f64, u64>().unwrap();
        assert_eq!(found.to_dense().unwrap().into_raw_vec_and_offset().0, expected, "{of}");
    }
}

/// Numbers that have a name are numbers.
#[test]
fn upstream_gradients_by_a_name_of_a_number() {
    let first = |text: &str| slope(text).into_coo::<f64, u64>().unwrap().values()[0];
    assert_eq!(first("grad(x * 2, x, inf)"), f64::INFINITY);
    assert!(first("grad(x, x, nan)").is_nan());
}

#[test]
fn each_function_with_a_backward_function_has_a_gradient() {
    let names: HashSet<&str> = functions().collect();
    for name in names.iter().filter(|name| names.contains(format!("{name}_backward").as_str())) {
        let arguments = match *name {
            "concat" | "stack" => "[x, z]",
            "einsum" => "\"ij,ij->i\", x, z",
            "tensordot" => "x, z, 1, 1",
            "clamp" => "x, 0, 1",
            "powi" | "powf" | "quantile" | "nanquantile" | "topk" => "x, 1",
            "take" => "x, [0]",
            "gather" => "x, [[0], [0]]",
            "take_axis" | "repeat" => "x, 1, 0",
            "take_along_axis" => "x, [[0], [0]]",
            "cumsum" | "cumprod" | "nancumsum" | "nancumprod" => "x, 0",
            "slice" => "x, \":\"",
            "roll" | "move_axis" => "x, 0, 1",
            "pad" => "x, [[0, 0], [0, 0]]",
            "tile" => "x, [1, 1]",
            "broadcast_to" => "x, [2, 3]",
            "expand_dims" => "x, 0",
            "scale" => "x, 0, r",
            "average" => "x, r, 0",
            "select" => "x, c",
            "mttkrp" => "x, 0, [z]",
            "ttm" | "ttv" => "x, z, 1",
            "sddmm" | "pattern_sddmm" => "x, r, r",
            "mask" | "without" => "x, y",
            _ if lacuna::eval::signature(name) == "(x, y)" => "x, z",
            _ => "x",
        };
        let text = format!("grad({name}({arguments}), x, d)");
        assert!(Expression::parse(&text).is_ok(), "{text}: {:?}", Expression::parse(&text));
    }
}

#[test]
fn gradients_of_hostile_texts_end() {
    for text in [
        format!("grad({}x, x, x)", "x * ".repeat(20_000)),
        format!("{}x", "grad(x * x, x, 1) + ".repeat(5_000)),
        format!("{}x{}", "grad(".repeat(90), ", x, x)".repeat(90)),
        format!("{}x{}", "grad(exp(".repeat(45), "), x, x)".repeat(45)),
        "grad([x], x, 1)".into(),
        "grad(\"a\", x, 1)".into(),
        "grad(1, x, 1)".into(),
        "grad(x, x)".into(),
        "grad(block(x), x, x)".into(),
        "grad(concat(x), x, x)".into(),
        "grad(concat([]), x, x)".into(),
        "grad(einsum(\"i\", []), x, x)".into(),
        "grad(x[x], x, x)".into(),
        "grad(take(x, x), x, x)".into(),
        "slice(x, \"grad(x, x, 1)\")".into(),
    ] {
        let _ = Expression::parse(&text).and_then(|e| e.evaluate(smooth));
    }
}

#[test]
fn the_steps_are_explained_and_not_run() {
    let explain = |text: &str| Expression::parse(text).unwrap().explain(bound);
    let told = explain("grad(sum(x * x + t[0, :, 0][0], axis=1), x, 1)");
    assert!(matches!(told, Err(Fault::Wrong(_))), "{told:?}");
    let told = explain("sum(y * y, axis=1) + sum(y * y, axis=1) * s").unwrap();
    assert_eq!(
        told,
        "%0 = input \"y\": float64 csr [2, 3]\n%1 = mul(%0, %0): float64 csr [2, 3], pattern of %0 [fused: pass 1]\n\
        %2 = sum(%1, axis=1): float64 csr [2] [fused: pass 1]\n%3 = input \"s\": float64 coo []\n\
        %4 = mul(%2, %3): float64 coo [2]\n%5 = add(%2, %4): float64 coo [2], result\n"
    );
    // Elementwise steps on one pattern run together.
    let told = explain("exp(y * 2) + y * 3").unwrap();
    assert_eq!(told.matches("pattern of %0 [fused: pass 1]\n").count(), 3, "{told}");
    assert!(told.ends_with("%4 = add(%2, %3): float64 csr [2, 3], pattern of %0, result [fused: pass 1]\n"), "{told}");
    // A shape that depends on values is open, and errors that depend on values are not reported.
    assert!(explain("nonzero(x)").unwrap().ends_with("%1 = nonzero(%0): open, result\n"));
    assert!(explain("unique(x) + 1").unwrap().contains("%2 = add(%1, 1): open, "));
    assert!(explain("i / 0").unwrap().contains("%1 = div(%0, 0): tensor or array ["));
    // Labels that stand in the fourth place were taken for what has a shape without its values.
    for text in ["sum(x, axis=1, by=i)", "sum(x, 1, false, i)"] {
        assert!(explain(text).unwrap().ends_with(": open, result\n"), "{text}");
    }
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    /// A small number, which is 0 in a third of all cases.
    fn number(&mut self) -> f64 {
        [0.0, 0.0, 0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.0][self.below(9) as usize]
    }

    fn array(&mut self, shape: &[usize]) -> ArrayD<f64> {
        ArrayD::from_shape_simple_fn(shape, || self.number())
    }
}

/// The elements of a value at all positions; a zero without its sign.
fn dense(value: &AnyValue) -> ArrayD<f64> {
    let array = AnyOperand::from(value).to_array().unwrap().cast(DType::Float64).unwrap();
    array.view::<f64>().unwrap().mapv(|element| element + 0.0)
}

/// The value of an expression of a tensor `x` and an array `a`.
fn of_both(text: &str, x: &AnyTensor, a: &ArrayD<f64>) -> Result<AnyValue, Fault> {
    let a = AnyArray::from(a.clone());
    Expression::parse(text)?.evaluate(|name| match name {
        "x" => Some(AnyValue::from(x.clone())),
        "a" => Some(AnyValue::from(a.clone())),
        _ => None,
    })
}

/// An array with a tensor has the values of both dense forms, and the pattern of the tensor only where its fill
/// absorbs.
#[test]
fn arrays_beside_tensors_have_the_values_of_dense_forms() {
    let mut numbers = Numbers(1);
    let shapes: [(&[usize], &[usize]); 6] = [
        (&[3, 4], &[3, 4]),
        (&[3, 4], &[3, 1]),
        (&[3, 4], &[4]),
        (&[3, 1], &[1, 4]),
        (&[4], &[3, 4]),
        (&[2, 3], &[1, 1]),
    ];
    let (mut absorbed, mut arrays, mut rejected) = (0, 0, 0);
    for round in 0..300 {
        let (of_x, of_a) = shapes[round % shapes.len()];
        let (x, a) = (numbers.array(of_x), numbers.array(of_a));
        let fill = if numbers.below(3) == 0 { 2.0 } else { 0.0 };
        let tensor = AnyTensor::from(CooTensor::from_dense(&x, fill).unwrap().with_index::<u64>().unwrap());
        let format = if numbers.below(2) == 0 { Format::Coo } else { Format::Csr };
        let tensor = tensor.into_format(format).unwrap();
        for sign in ["+", "-", "*", "/", "<", ">=", "=="] {
            for (text, swapped) in [(format!("x {sign} a"), false), (format!("a {sign} x"), true)] {
                let (left, right) = if swapped { (&a, &x) } else { (&x, &a) };
                let truth = |z: ArrayD<bool>| z.mapv(|holds| f64::from(u8::from(holds)));
                let expected = match sign {
                    "+" => lacuna::add(left, right),
                    "-" => lacuna::sub(left, right),
                    "*" => lacuna::mul(left, right),
                    "/" => lacuna::div(left, right),
                    "<" => lacuna::less(left, right).map(truth),
                    ">=" => lacuna::greater_equal(left, right).map(truth),
                    _ => lacuna::equal(left, right).map(truth),
                };
                let expected = expected.unwrap().mapv(|element| element + 0.0);
                match of_both(&text, &tensor, &a) {
                    Ok(found) => {
                        let same = |(one, other): (&f64, &f64)| one == other || (one.is_nan() && other.is_nan());
                        let is_same = dense(&found).iter().zip(&expected).all(same);
                        assert!(is_same && *found.shape() == *expected.shape(), "{text} of {x} and {a}: {found:?}");
                        match found {
                            AnyValue::Tensor(found) => {
                                let is_single = a.len() == 1;
                                assert!(is_single || (fill == 0.0 && ["*", "/"].contains(&sign)), "{text} {found:?}");
                                assert_eq!(found.format(), format, "{text}");
                                absorbed += 1;
                            }
                            AnyValue::Array(_) => arrays += 1,
                        }
                    }
                    // An element of the array that gives another value than the fill at an unstored position.
                    Err(Fault::Run(Error::NonFinite { coords, .. })) => {
                        assert!(
                            expected[&coords[..]].is_nan()
                                && x.broadcast(expected.shape()).unwrap()[&coords[..]] == 0.0
                        );
                        rejected += 1;
                    }
                    Err(fault) => panic!("{text} of {x} and {a}: {fault}"),
                }
            }
        }
    }
    assert!(absorbed > 500 && arrays > 2000 && rejected > 5, "{absorbed} {arrays} {rejected}");
}

/// Expressions of a tensor `x` and an array `a`, and whether each is an array.
const OF_ARRAYS: &[(&str, bool)] = &[
    ("a", true),
    ("a * 2 + a", true),
    ("2 / a", true),
    ("a ** 2", true),
    ("-abs(a)", true),
    ("exp(a) > 1", true),
    ("isnan(a) | (a < 1)", true),
    ("sum(a, axis=0)", true),
    ("nanmedian(a, axis=1, keep_dims=true)", true),
    ("var(a)", true),
    ("argmax(a, axis=1)", true),
    ("norm(a, axis=0)", true),
    ("quantile(a, 0.25, axis=1)", true),
    ("mean(a, axis=0, by=[1, 0, 1])", true),
    ("topk(a, 2, axis=1)", true),
    ("a[1:, ::2]", true),
    ("take_axis(a, [2, 0], axis=1)", true),
    ("take(a, [[0, 5], [7, 1]])", true),
    ("transpose(a)", true),
    ("roll(flip(a, axis=0), 1, axis=1)", true),
    ("pad(a, [[1, 0], [0, 2]])", true),
    ("tril(a, 1)", true),
    ("reshape(a, [2, 6])", true),
    ("concat([a, a * 2], axis=1)", true),
    ("stack([a, a], axis=0)", true),
    ("block([[a, a], [a, a]])", true),
    ("cast(a, \"float32\")", true),
    ("isin(a, [0, 3])", true),
    ("clamp(a, -1, 1)", true),
    ("zeros_like(a)", true),
    ("a @ transpose(a)", true),
    ("x @ transpose(a)", true),
    ("transpose(a) @ x", true),
    ("stored(x) @ transpose(a)", true),
    ("einsum(\"ij,kj->ik\", x, a)", true),
    ("einsum(\"ij,ij->\", stored(x), a)", true),
    ("tensordot(a, x, [0], [0])", true),
    ("outer(a, a)", true),
    ("kron(a, a)", true),
    ("where(a > 0, x, a)", true),
    ("where(x > 0, a, x)", false),
    ("where(x > 0, x, a)", true),
    ("scale(x, 0, a[:, 0])", false),
    ("stored(x) * a", false),
    ("stored(x) + a", true),
    ("stored(x) + a[:, :1]", false),
    ("x / (a[:, :1] + 9)", false),
    ("x / (a + 9)", true),
    ("select(x, a > 0)", false),
    ("sddmm(x, a, transpose(a) @ a)", false),
    ("ttm(x, a, 1)", true),
    ("from_dense(a)", false),
    ("from_dense(a) * x", false),
    ("grad(sum(x * a), x, 1)", false),
    ("grad(sum(x * a), a, 1)", true),
    ("grad(sum(square(x + a), axis=0), x, 1)", false),
    ("grad(sum(square(x + a), axis=0), a, 1)", true),
    ("grad(x @ transpose(a), a, x @ transpose(a))", true),
    ("grad(einsum(\"ij,kj->ik\", x, a), x, x @ transpose(a))", false),
    ("grad(concat([a, a], axis=0), a, concat([a, a * 2], axis=0))", true),
    ("grad(stack([a, a * 3], axis=1), a, stack([a, a], axis=1))", true),
    ("grad(median(a, axis=1), a, 1)", true),
    ("grad(a[1:, :2], a, a[1:, :2])", true),
    ("sum_backward(x, sum(a, axis=0), axis=0)", false),
    ("mul_backward(x, a, a)", false),
    ("concat([x, a], axis=0)", false),
    ("concat([a, x, a], axis=1)", false),
    ("stack([a, x], axis=1)", false),
    ("block([[x, a], [a, x]])", false),
    ("outer(x, a)", false),
    ("outer(a, stored(x))", false),
    ("kron(x, a)", false),
    ("kron(a[0], x)", false),
    ("grad(concat([x, a], axis=0), a, concat([a, a * 2], axis=0))", true),
    ("grad(concat([x, a], axis=0), x, concat([a, a * 2], axis=0))", false),
    ("grad(stack([x, a], axis=1), x, stack([a, x], axis=1))", false),
    ("grad(outer(x, a), a, outer(a, a))", true),
    ("grad(kron(x, a), x, kron(a, a))", false),
];

/// Whatever an expression does with an array, it does with a tensor that stores every element.
#[test]
fn expressions_of_arrays_have_the_values_of_tensors_that_store_everything() {
    let mut numbers = Numbers(2);
    for round in 0..20 {
        let (x, a) = (numbers.array(&[3, 4]), numbers.array(&[3, 4]));
        let tensor = AnyTensor::from(CooTensor::from_dense(&x, 0.0).unwrap().with_index::<u64>().unwrap());
        let format = [Format::Coo, Format::Csr][round % 2];
        let tensor = tensor.into_format(format).unwrap();
        let coords =
            (0..2).map(|axis| (0..12u32).map(|at| if axis == 0 { at / 4 } else { at % 4 }).collect()).collect();
        let stored = CooTensor::new([3, 4], coords, a.iter().copied().collect(), 0.0).unwrap();
        let stored = stored.with_index::<u64>().unwrap();
        for &(text, is_array) in OF_ARRAYS {
            let found = of_both(text, &tensor, &a).unwrap_or_else(|fault| panic!("{text}: {fault}"));
            let bound = |name: &str| match name {
                "x" => Some(tensor.clone()),
                "a" => Some(AnyTensor::from(stored.clone())),
                _ => None,
            };
            let expected =
                Expression::parse(text).unwrap().evaluate(bound).unwrap_or_else(|fault| panic!("{text}: {fault}"));
            assert_eq!(matches!(found, AnyValue::Array(_)), is_array, "{text}");
            assert_eq!(format!("{:?}", dense(&found)), format!("{:?}", dense(&expected)), "{text} of {x} and {a}");
        }
    }
}

/// A function that has no form for arrays says which function makes a tensor.
#[test]
fn functions_without_a_form_for_arrays_name_from_dense() {
    let x = tensor(&[2, 2], &[(&[0, 1], 2.0f64)], 0.0);
    let a = ndarray::arr2(&[[1.0, 0.0], [2.0, 3.0]]).into_dyn();
    for text in [
        "stored(a)",
        "prune(a)",
        "to_csr(a)",
        "with_fill(a, 1)",
        "nonzero(a)",
        "diag(a[0])",
        "mask(x, a)",
        "mask(a, x)",
        "select(a, a > 0)",
        "sddmm(a, a, a)",
        "matmul_with(x, x, mask=a)",
    ] {
        let Err(fault) = of_both(text, &x, &a) else { panic!("{text} has a value") };
        assert!(fault.to_string().contains("from_dense(x)"), "{text}: {fault}");
    }
    for text in ["x / a[:, 1:]", "x * (a / 0)"] {
        let Err(fault) = of_both(text, &x, &a) else { panic!("{text} has a value") };
        assert!(fault.to_string().contains("at [0, 0]"), "{text}: {fault}");
    }
}

/// The format of each step is the format of its value, without a value being computed.
#[test]
fn explained_arrays_are_dense() {
    let x = tensor(&[3, 4], &[(&[0, 1], 2.0f64), (&[2, 3], -1.0)], 0.0);
    let a = ndarray::Array::from_shape_fn([3, 4], |(i, k)| i as f64 - k as f64 + 0.25).into_dyn();
    let bound = |name: &str| match name {
        "x" => Some(AnyValue::from(x.clone())),
        "a" => Some(AnyArray::from(a.clone()).into()),
        _ => None,
    };
    for text in [
        "x + a",
        "x * a",
        "x / (a + 9)",
        "(x / (a + 9)) + a[0]",
        "x + a[0:1, :1]",
        "sum(a, axis=0) * x",
        "sum(x, axis=1, keep_dims=true) + a",
        "stored(x) + a[:, :1]",
        "stored(x) + a",
        "x @ transpose(a)",
        "reshape(a * 2, [6, 2])",
        "take(a, [2, -1], axis=0)",
        "concat([x, a], axis=1)",
        "concat([a, a])",
        "where(x > 0, x, a)",
        "where(x > 0, a, x)",
        "select(x, a > 0)",
        "dense(x) + 1",
        "from_dense(a) * 2",
        "ttm(x, a, 1)",
        "sum_backward(x, sum(a, axis=0), axis=0)",
        "mul_backward(x, a, a, wrt=1)",
    ] {
        let expression = Expression::parse(text).unwrap();
        let explained = expression.explain(bound).unwrap();
        let last = explained.lines().last().unwrap();
        let format = match expression.evaluate(bound).unwrap() {
            AnyValue::Tensor(found) => found.format().to_string().to_lowercase(),
            AnyValue::Array(_) => "dense".into(),
        };
        assert!(last.contains(&format!(": float64 {format} [")), "{text}: {last}");
    }
    // Values decide whether a tensor of one position counts as a number.
    let open = Expression::parse("sum(x) + a").unwrap().explain(bound).unwrap();
    assert!(open.ends_with(": float64 [3, 4], result\n"), "{open}");
}

/// A condition of one position that is not repeated has a pattern, and is no number.
#[test]
fn a_single_condition_that_is_not_repeated_is_a_tensor() {
    let given = |format: &str, dtype: &str, entries: Value| json!({"shape": [1], "dtype": dtype, "format": format, "entries": entries});
    let condition = given("coo", "bool", json!([[[0], true]]));
    let (x, a) = (given("coo", "float64", json!([])), given("dense", "float64", json!([[[0], 2.5]])));
    for (text, expected) in [("where(c, x, a)", 0.0), ("where(c, a, x)", 2.5)] {
        let found = answer(&json!({"eval": text, "c": condition, "x": x, "a": a}));
        let values = found["values"].as_array().unwrap();
        assert_eq!(values.first().map_or(0.0, |entry| entry[1].as_f64().unwrap()), expected, "{text}: {found}");
    }
}

#[test]
fn lines_take_and_answer_arrays() {
    let given =
        |format: &str| json!({"shape": [2], "dtype": "float64", "format": format, "entries": [[[0], 1.5], [[1], 0.0]]});
    let found = answer(&json!({"eval": "a + 1", "a": given("dense")}));
    let expected = json!({"format": "dense", "shape": [2], "dtype": "float64", "nnz": 2, "fill": 0.0,
                          "values": [[[0], 2.5], [[1], 1.0]]});
    assert_eq!(found, expected);
    assert_eq!(answer(&json!({"eval": "from_dense(a)", "a": given("dense")}))["nnz"], json!(1));
    assert_eq!(answer(&json!({"eval": "x + a", "x": given("csr"), "a": given("dense")}))["format"], json!("dense"));
    assert_eq!(answer(&json!({"eval": "x + y", "x": given("csr"), "y": given("csr")}))["format"], json!("csr"));
    // An answer is an operand of a later line.
    assert_eq!(answer(&json!({"eval": "a * 2", "a": found}))["values"], json!([[[0], 5.0], [[1], 2.0]]));
}

/// Gradients of gradients name their operand by number. Numbers, complex constants and stored entries took a wrong
/// path.
#[test]
fn second_gradients_are_those_of_the_operand_with_the_number() {
    let tensor = |values: [f64; 4]| {
        let pattern = vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]];
        CooTensor::new([2, 2], pattern, values.to_vec(), 0.0).unwrap().with_index::<u64>().unwrap()
    };
    let [x, y, u] = [[2.0, -1.5, 0.5, 3.0], [1.25, -2.0, 4.0, 0.75], [1.0, 0.5, -2.0, 3.0]].map(tensor);
    let bound = |name: &str| match name {
        "x" | "nan" => Some(AnyTensor::from(x.clone())),
        "y" => Some(AnyTensor::from(y.clone())),
        "u" => Some(AnyTensor::from(u.clone())),
        _ => None,
    };
    let value = |text: &str| {
        let found = Expression::parse(text).and_then(|expression| expression.evaluate(bound));
        found.unwrap_or_else(|error| panic!("{text}: {error}")).into_tensor().unwrap()
    };
    for (text, expected) in [
        ("grad(grad(x @ y, y, u), x, u)", "u @ transpose(u)"),
        ("grad(grad(einsum(\"ij,jk->ik\", x, y), y, u), x, u)", "u @ transpose(u)"),
        ("grad(grad(matmul_with(x, y), x, u), y, u)", "transpose(u) @ u"),
        ("grad(grad(stored(x) * stored(y), x, u), y, u)", "u * u"),
        ("grad(grad(kron(x, y), x, kron(u, u)), y, u)", "grad(sum(u * u) * y, y, u)"),
        ("grad(grad(scale(x, 0, y[0]), x, u), y, u)", "pad(reshape(sum(u * u, axis=1), [1, 2]), [[0, 1], [0, 0]])"),
        ("grad(mul_backward(x, y, u, 1), x, u)", "u * u"),
        ("grad(div_backward(x, y, u, 0), y, u)", "u * u / (y * y) * -1"),
        ("grad(where_backward(x > 1, x, y, u, 1), u, u)", "where(x > 1, zeros_like(u), u)"),
        ("grad(grad(2 / x, x, u), x, u)", "u * u * 4 / (x * x * x)"),
        ("grad(grad(sum(x ** 3), x, 1), x, 1)", "x * 6"),
        ("grad(nan[0] * 2, nan, 1)", "grad(x[0] * 2, x, 1)"),
        ("cast(x, \"complex128\") * (1+2j) - cast(x, \"complex128\") * (3+2j)", "cast(x, \"complex128\") * -2"),
    ] {
        let (found, expected) = (value(text), value(expected));
        let is_close = AnyOperand::from(&found).allclose(&expected, Tolerance::default());
        assert!(is_close.unwrap(), "{text}: {found:?} is not {expected:?}");
    }
    for text in [
        "[x, y]",
        "stored(dense(x))",
        "slice(x, \"-170141183460469231731687303715884105727 - 1\")",
        "grad(powi_backward(x, u, -170141183460469231731687303715884105727 - 1), x, u)",
    ] {
        let found = Expression::parse(text).and_then(|expression| expression.evaluate(bound));
        assert!(found.is_err(), "{text}");
    }
}

#[test]
fn names_of_other_libraries_lead_to_functions() {
    let is_function = |name: &str| lacuna::eval::functions().any(|own| own == name);
    let mut seen = 0;
    for (other, own) in lacuna::eval::names_elsewhere() {
        assert!(is_function(own) && !is_function(other), "{other} is {own}");
        assert_eq!(lacuna::eval::function_called(other), Some(own));
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
    assert_eq!(lacuna::eval::function_called("nobody"), None);
}

#[test]
fn the_example_of_each_function_of_files_is_an_expression() {
    let mut seen = 0;
    assert_eq!(lacuna::eval::example("maximum"), "'maximum(x, y)' x=FILE y=FILE");
    for name in lacuna::eval::functions() {
        let example = lacuna::eval::example(name);
        let expression = example.split('\'').nth(1).unwrap();
        // Other arguments, such as a probability, stand for what the user writes there.
        if example.ends_with("(x)' x=FILE") || example.ends_with("(x, y)' x=FILE y=FILE") {
            lacuna::eval::Expression::parse(expression).unwrap_or_else(|error| panic!("{example}: {error:?}"));
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
}
