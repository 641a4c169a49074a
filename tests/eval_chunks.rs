//! Expressions on the engine for what does not fit memory have the values that they have in memory.

use lacuna::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue, Format};
use lacuna::eval::{Bound, Expression, Fault, functions, signature};
use lacuna::lazy::Chunks;
use lacuna::ndarray::ArrayD;
use lacuna::num_complex::Complex;
use lacuna::{CooTensor, Element, Error, dispatch_dtype};

use crate::support::one_of;

fn tensor<T: Element>(shape: &[usize], of: impl Fn(usize) -> Option<T>, fill: T) -> AnyTensor {
    let size = shape.iter().product();
    let (mut coords, mut values) = (vec![Vec::new(); shape.len()], Vec::new());
    for at in 0..size {
        let Some(value) = of(at) else { continue };
        let mut rest = at;
        for axis in (0..shape.len()).rev() {
            coords[axis].push((rest % shape[axis]) as u32);
            rest /= shape[axis];
        }
        values.push(value);
    }
    AnyTensor::from(CooTensor::new(shape, coords, values, fill).unwrap().with_index::<u64>().unwrap())
}

fn array<T: Element>(shape: &[usize], of: impl Fn(usize) -> T) -> AnyValue {
    let elements = (0..shape.iter().product()).map(of).collect();
    AnyArray::from(ArrayD::from_shape_vec(shape, elements).unwrap()).into()
}

/// The arrays that names stand for.
fn bound_array(name: &str) -> Option<AnyValue> {
    let some = |at: usize| (at * 29 % 13) as f64 / 4.0 - 1.5;
    Some(match name {
        "a" => array(&[5, 4], some),
        "cube" => array(&[5, 4, 3], some),
        "row" => array(&[4], |at| at as f64 - 1.5),
        "column" => array(&[5, 1], |at| 2.5 - at as f64),
        "single" => array(&[1], |_| 1.25),
        "right" => array(&[4, 3], some),
        "left" => array(&[3, 5], some),
        "along" => array(&[5], |at| at as f64 * 0.5 - 1.0),
        "ints" => array(&[5, 4], |at| at as i64 % 7 - 2),
        "truths" => array(&[5, 4], |at| at % 3 == 1),
        "narrow" => array(&[5, 4], |at| at as f32 / 8.0),
        "empty" => array(&[0, 4], |_| 1.0),
        _ => return None,
    })
}

/// Returns the operand that a name is bound to.
fn bound(name: &str, format: Format) -> Option<AnyValue> {
    bound_array(name).or_else(|| bound_tensor(name, format).map(AnyValue::from))
}

/// The tensors that names stand for.
fn bound_tensor(name: &str, format: Format) -> Option<AnyTensor> {
    let some = |at: usize| (!(at * 7).is_multiple_of(5)).then(|| (at * 37 % 11) as f64 - 4.5);
    let found = match name {
        "x" => tensor(&[5, 4, 3], some, 0.0),
        "y" => tensor(&[4, 3], |at| some(at + 3), 1.0),
        "m" => tensor(&[5, 4], |at| some(at + 1).map(|x| if at % 6 == 5 { f64::NAN } else { x }), 0.0),
        "q" => tensor(&[5, 4], some, 0.0),
        "w" => tensor(&[4, 3], |at| (at % 3 != 0).then(|| at as f64 / 8.0 - 0.7), 0.0),
        "s" => tensor(&[5, 5], some, 0.0),
        "p" => tensor(&[5, 4], |at| some(at).map(|x| x.abs() + 0.125), 2.0),
        "n" => tensor(&[5, 4], |at| (at % 3 == 1).then_some(f64::NAN), f64::NAN),
        "v" => tensor(&[4], |at| (at % 2 == 0).then_some(at as f64 - 1.0), 0.0),
        "i" => tensor(&[5, 4], |at| (at % 3 != 0).then_some(at as i64 - 9), 2),
        "j" => tensor(&[3], |at| Some([2_i64, 0, 2][at]), 0),
        "o" => tensor(&[], |_| Some(3.0), 0.0),
        "b" => tensor(&[5, 4], |at| (at % 4 == 1).then_some(true), false),
        "g" => tensor(&[5], |at| Some(at as f64 * 0.5 - 1.0), 0.0),
        "d" => tensor(&[5, 4], |at| (at % 5 == at / 4 || at % 3 == 1).then_some(at as f64 + 1.0), 0.0),
        "k" => tensor(&[5, 4], |at| (at % 7 == 1).then_some(at as f64 + 1.0), 0.0),
        "e" => tensor(&[0, 4], |_| None, 3.0),
        "c" => tensor(&[5, 4], |at| (at % 3 == 1).then(|| Complex::new(at as f64, -1.5)), Complex::new(0.0, 0.0)),
        "f" => tensor(&[5, 4], |at| (at % 7 == 3).then_some(at as f32), 0.0),
        _ => return None,
    };
    Some(found.into_format(format).unwrap())
}

/// Expressions that are cut, beside those of functions that take the same arguments.
const CUT: &[&str] = &[
    "shift_left(i, 2)",
    "shift_right(i, 1)",
    "block([[m, m], [q, q]])",
    "matmul_with(p, w, \"max_plus\")",
    "-m",
    "~b",
    "m + p * 2 - v",
    "2 ** m",
    "m ** 2",
    "(m > 0) & b | (p <= 1)",
    "m % 2",
    "-(x[1:4] * 3)",
    "square(x)[1]",
    "square(x)[:, 2]",
    "x[..., [2, 0]]",
    "x[:, 1, [0, 2]].sum(axis=1)",
    "m[:, None, [3, 3]] * 2",
    "(x * 2 + y)[-1]",
    "(x * 2 + y)[:, 0, 1:]",
    "m == m",
    "stored(m) * v",
    "stored(m) + stored(q)",
    "isin(m, [1.5, nan])",
    "isin(m, v, invert=true)",
    "isin(v, v + 1)",
    "clamp(p, 0, 1)",
    "powi(m, 3)",
    "sinc(m)",
    "nextafter(m, p)",
    "is_close(m, p, rtol=0.5)",
    "is_close(stored(m), stored(p), atol=1.0)",
    "is_close(m, 2.0)",
    "powf(p, 0.5)",
    "cast(i, \"float32\")",
    "with_fill(m, 7)",
    "to_csr(m)",
    "to_coo(m)",
    "from_dense(m)",
    "prune(m)",
    "zeros_like(m)",
    "where(b, m, v)",
    "where(b, 1, m)",
    "where(b, m, p)",
    "mask(m, b)",
    "without(m, b)",
    "select(p, b)",
    "clamp_backward(m, p, 0, 2)",
    "powi_backward(m, p, 2)",
    "powf_backward(p, m, 0.5)",
    "mask_backward(m, p, b)",
    "without_backward(m, p, b)",
    "select_backward(m, p, b)",
    "scale(x, 1, v)",
    "scale(m, 0, g)",
    "scale(stored(m), -1, v)",
    "average(m, v, 1)",
    "average(stored(x), g, axis=0)",
    "take(m, [3, -1, 0], axis=1)",
    "take(x, [[1, 2], [0, 0]], axis=1)",
    "take(m, [9, -7], axis=0, mode=\"wrap\")",
    "take_axis(stored(x), [0, 4], axis=0)",
    "take(w, j, axis=1)",
    "softmax(stored(x), axis=1)",
    "log_softmax(stored(x), axis=-1)",
    "log_softmax(stored(x), axis=0)",
    "topk(q, 2)",
    "diff(q, axis=0)",
    "diff(m, 2, axis=1)",
    "diff_backward(m, m[:, 1:], 1, axis=1)",
    "diff(stored(m), axis=1, prepend=m, append=q)",
    "cumsum(stored(m), axis=1)",
    "cumprod(stored(x), axis=0)",
    "nancumsum(stored(q), 1)",
    "nancumprod(stored(m), axis=0)",
    "cumsum_backward(stored(m), p, axis=1)",
    "cumprod_backward(stored(m), p, axis=1)",
    "nancumsum_backward(stored(m), p, axis=0)",
    "nancumprod_backward(stored(m), p, axis=1)",
    "topk_index(stored(q), 3, axis=0)",
    "argsort(stored(q))",
    "argsort(stored(q), axis=0)",
    "sort(m, axis=0)",
    "sort(q + 0.5)",
    "sort(stored(q), axis=1)",
    "sort_backward(stored(m), p, axis=1)",
    "topk_backward(m, m[:, 2:], 2)",
    "softmax_backward(stored(x), x, axis=2)",
    "log_softmax_backward(stored(x), x, axis=0)",
    "concat([m, q], axis=0)",
    "concat([m, q, m], axis=1)",
    "stack([m, q], axis=1)",
    "q @ w",
    "matmul(q, v)",
    "stored(m) @ w",
    "quantile(m, 0.3, axis=0)",
    "nanquantile(n, 0.9, axis=1, keep_dims=true)",
    "quantile(stored(m), 0.5, axis=1, method=\"lower\")",
    "var(x, axis=[0, 2], ddof=1)",
    "std(x, axis=1)",
    "nanvar(n, axis=0)",
    "nanstd(m, axis=1)",
    "median(x, axis=2)",
    "nanmedian(m, axis=0, even=\"lower\")",
    "nanmedian_index(m, axis=1)",
    "norm(x, axis=1, ord=1)",
    "norm(p, axis=0)",
    "norm_backward(p, g, axis=1)",
    "var_backward(p, g, axis=1)",
    "std_backward(p, g, axis=1)",
    "nanvar_backward(p, g, axis=1)",
    "nanstd_backward(p, g, axis=1)",
    "median_backward(m, g, axis=1)",
    "nanmedian_backward(m, v, axis=0)",
    "quantile_backward(p, g, 0.5, axis=1)",
    "nanquantile_backward(p, v, 0.5, axis=0)",
    "x[1:4, ::-2]",
    "x[2]",
    "x[:, 1, 1:]",
    "slice(x, \"::2,1:\")",
    "flip(x, axis=[0, 1])",
    "roll(x, 2, 0)",
    "pad(m, [[1, 0], [0, 0]])",
    "tile(m, [1, 2])",
    "repeat(m, 2, 0)",
    "broadcast_to(m, [3, 5, 4])",
    "squeeze(x[:, 1:2], axis=1)",
    "expand_dims(m, 1)",
    "transpose(x)",
    "transpose(x, [1, 2, 0])",
    "permute_axes(x, [2, 0, 1])",
    "move_axis(x, 2, 0)",
    "any_backward(m, p, axis=\"none\")",
    "add_backward(m, p, p)",
    "sub_backward(m, p, p, wrt=1)",
    "mul_backward(m, p, p)",
    "div_backward(m, p, p)",
    "pow_backward(p, m, p)",
    "minimum_backward(m, p, p)",
    "maximum_backward(m, p, p, wrt=1)",
    "sum(abs(x) * 2 + 1, axis=[0, 2]) - v",
    "x - mean(x, axis=1, keep_dims=true)",
    "grad(sum(p * p, axis=1), p, g)",
    "e + 1",
    "sum(e, axis=1)",
    "f + f",
    "sum(f, axis=0)",
    "argmax(m, axis=0)",
    "sum(m, axis=0, by=[0, 1, 0, 2, 2])",
    "nanmax(stored(x), axis=1, keep_dims=true, by=[3, 1, 0, 2])",
    "nanstd(m, axis=1, ddof=0, by=[0, 1, 1, 0])",
    "nanmedian(m, axis=0, by=[0, 1, 0, 1, 1])",
    "nanquantile(m, 0.25, axis=0, by=[0, 1, 0, 1, 1])",
    "norm(m, axis=1, by=[0, 1, 1, 0])",
    "concat([mean(p, axis=1, by=[0, 0, 1, 0]), p[:, :2]], axis=1)",
    "concat([max(p, axis=1, by=[0, 0, 1, 0]), p[:, :2]], axis=0)",
    "grad(nansum(m, axis=1, by=[0, 1, 2, 1]), m, p[:, :3])",
    "2 * 3",
    "ttv(q, v, 1)",
];

/// Expressions of arrays, with tensors and without, that are cut.
const OF_ARRAYS: &[&str] = &[
    "abs(a) * 2 - row",
    "m + a",
    "a - m",
    "m * a",
    "a * m",
    "m + row",
    "row * m",
    "m / (row + 9)",
    "m + column",
    "m * column",
    "column - m",
    "k * column",
    "m * single",
    "m + single",
    "single - m",
    "m > a",
    "m == column",
    "minimum(k, column)",
    "stored(m) * a",
    "stored(m) + a",
    "stored(m) + row",
    "stored(m) * column",
    "column * stored(m)",
    "column - stored(m)",
    "x * right",
    "x + row[:3]",
    "sum(k, axis=1, keep_dims=true) * a",
    "sum(k, axis=1, keep_dims=true) + a",
    "sum(d, axis=1, keep_dims=true) * row",
    "sum(k, axis=0) * column",
    "mean(d) * a",
    "mean(d) + column",
    "(m + column) * row",
    "sum(a * 2, axis=0) - m",
    "where(a > 0, m, p)",
    "where(b, a, m)",
    "where(b, m, a)",
    "where(m > row, column, m)",
    "where(b, column, m)",
    "where(column > 0, m, a)",
    "where(k > 0, single, column)",
    "isin(a, [1.75, 2])",
    "isin(m, row)",
    "isin(a, v, invert=true)",
    "isin(ints, [1, 3])",
    "~truths & b",
    "narrow + f",
    "clamp(a, -1, 1)",
    "powi(a, 3)",
    "cast(ints, \"float32\")",
    "select(p, a > 0)",
    "scale(m, 1, row)",
    "scale(a, 0, along)",
    "scale(a, 0, g)",
    "from_dense(a)",
    "from_dense(a) * row",
    "zeros_like(a)",
    "take(a, [3, -1, 0], axis=1)",
    "take(cube, [[1, 2], [0, 0]], axis=1)",
    "take_axis(cube, [0, 4], axis=0)",
    "a[1:4, ::-2]",
    "a[2]",
    "cube[:, 1, 1:]",
    "(m + column)[1:2]",
    "(m * column)[2:3, 1:]",
    "(a * 3)[::2]",
    "(cube * row[:3] + 1)[2]",
    "(x + row[:3])[:, 1]",
    "flip(cube, axis=[0, 1])",
    "roll(a, 2, 0)",
    "pad(a, [[1, 0], [0, 0]])",
    "tile(a, [1, 2])",
    "broadcast_to(row, [5, 4])",
    "transpose(cube, [1, 2, 0])",
    "concat([a, a * 2], axis=0)",
    "concat([a, a, a], axis=1)",
    "stack([a, a * 2], axis=1)",
    "concat([m, a], axis=0)",
    "concat([ints, i - 2], axis=1)",
    "concat([a, k, a * 2], axis=0) * 2",
    "stack([a, q], axis=1)",
    "sum(concat([a, q], axis=1), axis=0)",
    "m @ right",
    "left @ m",
    "a @ w",
    "a @ right",
    "stored(m) @ right",
    "left @ stored(m)",
    "a @ v",
    "sum(a, axis=0)",
    "sum(a, axis=1, keep_dims=true)",
    "sum(m + a, axis=0)",
    "sum(m + column, axis=0)",
    "mean(m + row, axis=0)",
    "norm(m + row, axis=0)",
    "max(m + column, axis=1)",
    "any(a > 2, axis=0)",
    "sum(ints, axis=0)",
    "min(narrow, axis=0)",
    "var(cube, axis=[0, 2], ddof=1)",
    "median(a, axis=1)",
    "quantile(a, 0.3, axis=0)",
    "argmax(a, axis=0)",
    "topk(a, 2)",
    "diff(a, axis=0)",
    "cumsum(a, axis=1)",
    "cumsum_backward(a, a, axis=1)",
    "argsort(a, axis=1)",
    "sort(a, axis=0)",
    "sort_backward(a, a, axis=1)",
    "softmax(a, axis=1)",
    "softmax(m + row, axis=1)",
    "sum(a, axis=0, by=[0, 1, 0, 2, 2])",
    "sum(empty, axis=1)",
    "empty * 2",
    "sum_backward(a, g, axis=1)",
    "sum_backward(m, along, axis=1)",
    "mul_backward(m, a, p)",
    "mul_backward(m, a, p, wrt=1)",
    "grad(sum(m * a, axis=1), m, g)",
    "grad(sum(a * a, axis=1), a, along)",
    "ttm(q, transpose(right), 1)",
];

/// Expressions of arrays of which a step takes all of its inputs.
const WHOLE_OF_ARRAYS: &[&str] = &[
    "dense(a)",
    "dense(m) + column",
    "unique(a)",
    "norm(cast(unique(a), \"float64\"), axis=0)",
    "m * row + cast(unique_counts(row), \"float64\")",
    "take(a, [3, 19])",
    "reshape(a, [20]) * 2",
    "reshape(a, [-1, 5]) * 2",
    "einsum(\"ij,jk->ik\", a, w)",
    "outer(along, row)",
    "outer(g, row)",
    "kron(a, right)",
    "kron(a, w)",
    "outer_backward(g, row, outer(g, row))",
    "concat_backward([m, a], concat([m, a]))",
    "tril(a[:4])",
    "prod(a)",
];

/// Expressions of which a step takes all of its inputs.
const WHOLE: &[&str] = &[
    "stored(m)[0, 1]",
    "dense(m)",
    "array(\"float64\", [2], [1, 2])",
    "scale_backward(m, 0, g, p)",
    "pattern_sddmm(s, eye(5), eye(5))",
    "pattern_sddmm_backward(s, eye(5), eye(5), s)",
    "reshape_as(m, transpose(m))",
    "unique(m)",
    "unique_counts(i)",
    "eye(3)",
    "full([2, 3], 0.5)",
    "random([4, 4], 5)",
    "allclose(m, m)",
    "nonzero(m)",
    "with_entries(m, [[1, 2]], [9])",
    "diag(v)",
    "take(m, [3, 19])",
    "m[[0, 4, -1], [1, 0, 2]] * 2",
    "gather(m, [[0, 4], [1, 0]])",
    "take_along_axis(m, [[0], [3], [-1], [1], [2]], axis=1)",
    "take_along_axis_backward(m, m[:, :1], [[0], [3], [-1], [1], [2]], axis=1)",
    "m[:, v > 0]",
    "m[b[:, 1]] * 2",
    "gather_backward(m, g[:2], [[0, 0], [1, 1]])",
    "take_backward(m, g, [0, 1, 2, 3, 4])",
    "take_axis_backward(m, m[:, :2], [1, 1], axis=1)",
    "einsum(\"ij,jk->ik\", q, w)",
    "einsum_backward(\"ij,jk->ik\", [q, w], q @ w)",
    "matmul_on(s, s, eye(5))",
    "outer(g, v)",
    "kron(q, w)",
    "tensordot(q, w, [1], [0])",
    "tensordot_backward(q, w, q @ w, [1], [0])",
    "mttkrp(s, 0, [eye(5)])",
    "mttkrp_backward(s, 0, [eye(5)], s)",
    "ttm(q, eye(4), 1)",
    "ttm_backward(q, eye(4), 1, q)",
    "ttv_backward(q, v, 1, g)",
    "sddmm(s, eye(5), eye(5))",
    "sddmm_backward(s, eye(5), eye(5), s)",
    "concat_backward([m, m], concat([m, m]))",
    "stack_backward([m, m], stack([m, m]))",
    "where_backward(b, m, p, p)",
    "slice_backward(x, x[1:], \"1:\")",
    "flip_backward(m, m)",
    "roll_backward(m, m, 1, 0)",
    "pad_backward(m, pad(m, [[1, 0], [0, 0]]), [[1, 0], [0, 0]])",
    "tile_backward(m, tile(m, [2, 1]), [2, 1])",
    "repeat_backward(m, repeat(m, 2, 1), 2, 1)",
    "broadcast_to_backward(v, p, [5, 4])",
    "reshape(x, [20, 3])",
    "squeeze_backward(x[:, :1], x[:, 0])",
    "expand_dims_backward(m, expand_dims(m, 0), 0)",
    "transpose_backward(m, transpose(m))",
    "move_axis_backward(x, move_axis(x, 0, 1), 0, 1)",
    "tril_backward(s, s)",
    "triu_backward(s, s)",
    "diagonal_backward(s, g)",
    "pad(m, [[1, 0], [2, 3]])",
    "tril(s)",
    "triu(s)",
    "diagonal(s)",
    "trace(s)",
    "average_backward(m, m[:, 0], v, axis=1)",
    "cov(q)",
    "corrcoef(q, axis=1)",
    "tensor(\"int8\", \"coo\", [2], 0, [[0]], [3])",
    "matmul_backward(q, w, q @ w)",
    "outer_backward(g, v, outer(g, v))",
    "kron_backward(g, v, kron(g, v))",
    "tensor(\"float64\", \"coo\", [2], 0, [[1]], [2])",
    "prod(q)",
    "sum(x, axis=2, by=j)",
    "sum(v, axis=0, by=[0, 1, 1, 0])",
    "grad(sum(x[1:3]), x, 1)",
    "add_backward(p, v, p)",
];

/// The calls of functions that take the same arguments, of operands whose types they have.
fn alike() -> Vec<String> {
    let mut found = Vec::new();
    for name in functions() {
        let of = match signature(name).as_str() {
            "(x)" => &["({})"][..],
            "(x, y)" => &["({}, p)", "({}, i)", "({}, b)", "({}, v)"],
            "(x, upstream)" => &["({}, p)"],
            "(x, y, upstream, wrt=…)" => &["({}, p, p)", "(p, {}, p, wrt=1)"],
            "(x, axis=…, keep_dims=…, by=…)" => {
                &["({}, axis=1)", "(stored({}), axis=-2)", "({}, axis=0, keep_dims=true)"]
            }
            "(x, upstream, axis=…, keep_dims=…, by=…)" => &["({}, g, axis=1)", "({}, v, axis=0)"],
            _ => continue,
        };
        let calls =
            of.iter().flat_map(|of| ["m", "p", "i", "b", "n", "c"].map(|x| format!("{name}{}", of.replace("{}", x))));
        let before = found.len();
        found.extend(calls.filter(|call| {
            let named = |text: &&&str| text.starts_with(&format!("{name}("));
            !WHOLE.iter().any(|text| named(&text)) && expected(call, Format::Coo).is_ok()
        }));
        let is_listed = CUT.iter().chain(WHOLE).any(|text| text.contains(&format!("{name}(")));
        assert!(found.len() > before || is_listed, "no call of {name} is right");
    }
    found
}

fn expected(text: &str, format: Format) -> Result<AnyValue, Fault> {
    Expression::parse(text)?.evaluate(|name| bound(name, format))
}

/// Returns whether a result in chunks equals the result in memory: a tensor in the same format, or an array.
fn is_same(found: &AnyValue, expected: &AnyValue) -> bool {
    match (found, expected) {
        (AnyValue::Tensor(found), AnyValue::Tensor(expected)) => {
            found.format() == expected.format() && found.same_as(expected)
        }
        (AnyValue::Array(found), AnyValue::Array(expected)) => {
            (found.dtype(), found.shape(), elements(found)) == (expected.dtype(), expected.shape(), elements(expected))
        }
        _ => false,
    }
}

/// The elements of an array in words, which tell the sign of a zero.
fn elements(x: &AnyArray) -> Vec<String> {
    dispatch_dtype!(x.dtype(), T => {
        x.view::<T>().unwrap().iter().map(|element| format!("{element:?}")).collect()
    }, else => unreachable!())
}

/// Compares the values of an expression, and tells whether a step takes all of its inputs.
fn is_whole(text: &str, format: Format) -> bool {
    let expected = expected(text, format).unwrap_or_else(|error| panic!("{text}: {error}"));
    let graph = Expression::parse(text).unwrap().graph(|name| bound(name, format).map(Bound::from)).unwrap();
    for positions in [1, 3, 64] {
        let found = graph.on(Chunks::memory(1 << 20).positions(positions)).collect();
        let found = found.unwrap_or_else(|error| panic!("{text} by {positions}: {error}"));
        assert!(is_same(&found, &expected), "{text} by {positions}: {found:?} is not {expected:?}");
    }
    graph.on(Chunks::memory(1 << 20)).explain().unwrap().contains("from its entire inputs")
}

#[test]
fn expressions_have_their_values_in_ranges() {
    for (number, format) in [Format::Coo, Format::Csr].into_iter().enumerate() {
        let cut = CUT.iter().map(|text| text.to_string()).chain(alike());
        for text in cut.skip(3 * number % one_of(4)).step_by(one_of(4)) {
            // A tensor whose shape values decide, and matrices that become vectors, may not be asked in CSR.
            if expected(&text, format).is_ok() {
                assert!(!is_whole(&text, format), "{text} is taken whole");
            }
        }
        for text in WHOLE.iter().filter(|text| expected(text, format).is_ok()) {
            assert!(is_whole(text, format), "{text} is cut");
        }
    }
    let refused: Vec<_> =
        WHOLE.iter().chain(CUT).filter_map(|text| Some((text, expected(text, Format::Coo).err()?))).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

/// One position of a broadcast sum has rank 0, which the union of both patterns did not expect.
#[test]
fn one_position_of_broadcast_operands_is_computed() {
    for format in [Format::Coo, Format::Csr] {
        for row in ["y[0]", "y[:, 0]", "take(y, [0, 1, 2])", "select(y, y > 1)[2]"] {
            for scalar in ["sum(m[0, 1:3])", "w[0, 0]", "w[0, 1]", "o * 0"] {
                for operator in ["+", "-", "*", "<"] {
                    let text = format!("(({scalar}) {operator} {row})");
                    for index in ["0", "1", "2"] {
                        let found = expected(&format!("{text}[{index}]"), format)
                            .unwrap_or_else(|error| panic!("{text}: {error}"));
                        let whole = expected(&format!("take({text}, {index})"), format).unwrap();
                        assert!(is_same(&found, &whole), "{text}[{index}]: {found:?} is not {whole:?}");
                    }
                }
            }
        }
    }
}

/// Operands, and ends of texts with indices and methods, of which many have no value.
const OPERANDS: [&str; 12] = ["x", "m", "v", "i", "b", "cube", "row", "g", "w", "e", "o", "stored(m)"];
const ENDS: [&str; 24] = [
    "[..., 0]",
    "[:, None]",
    "[None, ..., [0]]",
    "[[0, 2]]",
    "[:, [1, -1]]",
    "[..., [[0, 1]], :]",
    "[v > 0]",
    "[:, v > 0]",
    "[..., row > 0]",
    "[[true, false, true, true]]",
    "[[0, 1], [2, 1]]",
    "[[0, 1], 1, [2, -1]]",
    "[1, [0, 1]]",
    "[[]]",
    "[..., ::-1]",
    ".sum(axis=0)",
    ".abs()",
    ".reshape([-1])",
    ".reshape([-1, 2])",
    ".reshape([2, -1])",
    ".stored().sum(axis=-1)",
    ".transpose()",
    ".gather([[0, -1], [1, 0]])",
    ".isnan()",
];

/// A text of operands with some ends, and of statements.
fn indexed(numbers: &mut impl FnMut(usize) -> usize) -> String {
    let one = |numbers: &mut dyn FnMut(usize) -> usize| {
        let ends: String = (0..numbers(4)).map(|_| ENDS[numbers(ENDS.len())]).collect();
        format!("{}{ends}", OPERANDS[numbers(OPERANDS.len())])
    };
    let (left, right) = (one(numbers), one(numbers));
    match numbers(5) {
        0 => format!("{left} * {right}"),
        1 => format!("z = {left}; z + z{}", ENDS[numbers(ENDS.len())]),
        2 => format!("k = {right} > 0;\nz = {left};\nz[k]"),
        3 => format!("grad({left}, m, 1)"),
        _ => left,
    }
}

/// An index that is checked by types and shapes is not refused where it has a value, which is the same in ranges.
#[test]
fn random_indices_and_methods_have_their_values_in_ranges() {
    let (mut state, mut found) = (7_u64, 0);
    let mut numbers = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    for case in 0..if one_of(4) == 1 { 20_000 } else { 1500 } {
        let (text, format) = (indexed(&mut numbers), [Format::Coo, Format::Csr][case % 2]);
        let Ok(expression) = Expression::parse(&text) else { continue };
        let has_value = expected(&text, format).is_ok();
        let _ = expression.explain(|name| bound(name, format));
        if has_value {
            let checked = expression.check(|name| bound(name, format));
            assert!(checked.is_ok(), "{text}: {checked:?}");
            is_whole(&text, format);
            found += 1;
        }
    }
    assert!(found > 300, "{found} texts have values");
}

/// Axes given by position are those given by name. A move of a scalar was merged with the next move as if it had no
/// axes, and an engine panicked.
#[test]
fn moves_after_moves_have_the_axes_of_their_arguments() {
    for text in [
        "transpose(expand_dims(o, 0))",
        "tile(expand_dims(o, 0), [3])",
        "reshape(tile(expand_dims(o, 0), [3]), [3]) ** 0.5",
        "flip(expand_dims(expand_dims(o, 0), [0]), 1)",
        "transpose(expand_dims(m, 0))",
        "transpose(expand_dims(m, axis=[0, 2]))",
        "move_axis(squeeze(expand_dims(m, 1), 1), 0, 1)",
        "flip(flip(x, 2), 0)",
        "transpose(transpose(x, [1, 2, 0]), axes=[2, 0, 1])",
        "grad(transpose(expand_dims(m * m, 0)), m, 1)",
    ] {
        for format in [Format::Coo, Format::Csr] {
            if expected(text, format).is_ok() {
                is_whole(text, format);
            }
        }
        assert!(expected(text, Format::Coo).is_ok(), "{text}");
    }
}

/// An array stays an array in every step: the result in chunks has the kind and the bits of the result in memory.
#[test]
fn arrays_stay_arrays_in_ranges() {
    let pools = [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let texts = OF_ARRAYS.iter().map(|text| (text, false)).chain(WHOLE_OF_ARRAYS.iter().map(|text| (text, true)));
    for (text, takes_all) in texts {
        for (format, pool) in
            [Format::Coo, Format::Csr].into_iter().flat_map(|format| pools.each_ref().map(|pool| (format, pool)))
        {
            if format == Format::Coo || expected(text, format).is_ok() {
                assert_eq!(pool.install(|| is_whole(text, format)), takes_all, "{text}");
            }
        }
    }
    let is_array = |text: &str| matches!(expected(text, Format::Coo).unwrap(), AnyValue::Array(_));
    assert!(is_array("m + column") && is_array("left @ m") && !is_array("m * column") && !is_array("m + single"));
}

/// A row, a column or a number with a tensor: patterns and fills are those of the wholes, however these are cut.
#[test]
fn repeated_operands_give_in_ranges_what_they_give_as_a_whole() {
    // All rows of `p` and `d` store something, not all of `m` and `k`.
    const ROWS: &[&str] = &[
        "x / sum(x)",
        "m - mean(k)",
        "k > mean(k)",
        "k / max(k)",
        "d / sum(d, axis=1, keep_dims=true)",
        "k / sum(k, axis=1, keep_dims=true)",
        "stored(k) / sum(k, axis=1, keep_dims=true)",
        "d / sum(d, axis=1, keep_dims=true) * 2 + v",
        "sum(d / sum(d, axis=1, keep_dims=true), axis=0)",
        "k * sum(k, axis=0)",
        "k * sum(k, axis=1, keep_dims=true)",
        "stored(k) - mean(k, axis=0)",
        "mean(k, axis=0) - stored(k)",
        "stored(k) * v",
        "stored(k) > mean(k, axis=1, keep_dims=true)",
        "k - mean(k, axis=0)",
        "minimum(k, sum(k, axis=1, keep_dims=true))",
        "n + sum(k, axis=1, keep_dims=true)",
        "k * mean(stored(k), axis=0)",
        "sum(k, axis=0) * sum(k, axis=1, keep_dims=true)",
        "where(k > mean(k), k, max(k))",
        "where(k > mean(k, axis=0), sum(k, axis=0), k)",
    ];
    for format in [Format::Coo, Format::Csr] {
        for text in ROWS {
            is_whole(text, format);
        }
    }
}

/// Returns the name of a reduction that reads chunks, if it has no argument `q`.
macro_rules! name_of_fold {
    (whole $name:ident $q:tt) => {
        None
    };
    ($stream:ident $name:ident ()) => {
        Some(stringify!($name))
    };
    ($stream:ident $name:ident ($q:expr,)) => {
        None
    };
}

/// Lists the names of the reductions that read chunks.
macro_rules! names_of_folds {
    ([] $($name:ident $q:tt $out:ident $stream:ident [$($backward:ident)?];)*) => {
        [$(name_of_fold!($stream $name $q)),*]
    };
}

/// Reductions over all elements process one chunk after the other: for each type, for stored entries only, and for no
/// elements.
#[test]
fn folds_of_all_elements_take_parts() {
    let mut asked = 0;
    let operands = ["x", "y", "m", "p", "n", "v", "i", "b", "f", "c", "e", "m * 1e300", "cast(i, \"int8\")"];
    for x in operands.into_iter().chain(["cube", "m + row", "ints", "truths", "narrow", "column", "empty"]) {
        let of = [format!("({x})"), format!("(stored({x}))"), format!("({x}, keep_dims=true)")];
        let of_all = format!("({x}, axis={})", if ["x", "cube"].contains(&x) { "[0, 1, 2]" } else { "\"all\"" });
        let names = every_fold! { (names_of_folds) }.into_iter().flatten();
        let all = names.flat_map(|name| of.iter().chain([&of_all]).map(move |of| (name, of)));
        for (name, of) in all.skip(asked % one_of(3)).step_by(one_of(3)) {
            for format in [Format::Coo, Format::Csr] {
                let text = format!("{name}{of}");
                if expected(&text, format).is_ok() {
                    assert!(!is_whole(&text, format), "{text} is taken whole");
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 850 / one_of(3), "{asked} folds were asked");
    for text in [
        "quantile(m, 0.3)",
        "nanquantile(m, 0.75, keep_dims=true)",
        "quantile(stored(i), 0.5, method=\"lower\")",
        "nanmedian(stored(n), even=\"lower\")",
        "median(stored(v), even=\"lower\")",
        "var(stored(p), ddof=2)",
        "quantile(f, 1)",
        "quantile(b, 0)",
    ] {
        assert!(!is_whole(text, Format::Coo), "{text} is taken whole");
    }
}

/// Returns operands that are long enough for chunks.
fn long(name: &str, format: Format) -> Option<AnyTensor> {
    let some = |at: usize| (!(at * 7).is_multiple_of(5)).then(|| (at * 37 % 1009) as f64 / 64.0 - 6.5);
    let shape = [150, 80];
    let found = match name {
        "x" => tensor(&shape, some, 0.0),
        "m" => tensor(&shape, |at| some(at).map(|x| if at % 601 == 5 { f64::NAN } else { x }), -0.5),
        "n" => tensor(&shape, some, f64::NAN),
        "d" => tensor(&shape, |at| Some((at % 97) as f64), 0.0),
        "i" => tensor(&shape, |at| some(at).map(|x| x as i64), 2),
        "b" => tensor(&shape, |at| some(at).map(|x| x > 0.0), false),
        "c" => tensor(&shape, |at| some(at).map(|x| Complex::new(x, -1.5)), Complex::new(0.0, 0.0)),
        "f" => tensor(&shape, |at| some(at).map(|x| x as f32), 1.0),
        "u" => tensor(&shape, |at| some(at).map(|x| x.abs() as u8), 1),
        "s" => tensor(&shape, |at| some(at).map(|x| x as i16), 0),
        "k" => tensor(&shape, |at| some(at).map(|x| Complex::new(0.5, x as f32)), Complex::new(1.0, 0.0)),
        "e" => tensor(&[0, 80], |_| None, 3.0),
        _ => return None,
    };
    Some(found.into_format(format).unwrap())
}

/// Steps element by element of longer tensors are computed piece by piece, and so are folds of them.
#[test]
fn steps_of_long_tensors_go_in_pieces() {
    let calls = |x: &str| {
        let of = |name: &str| match signature(name).as_str() {
            "(x)" => Some(format!("{name}({x})")),
            "(x, y)" | "(x, upstream)" => Some(format!("{name}({x}, {x})")),
            _ => None,
        };
        let more = [
            format!("clamp({x}, -1, 2)"),
            format!("powi({x}, 3)"),
            format!("with_fill({x}, 1)"),
            format!("where({x} == {x}, {x}, 1)"),
            format!("isin({x}, [1.5, 2])"),
            format!("mask({x}, {x} == {x})"),
            format!("{x} * 2 - {x}"),
            format!("stored({x}) + {x}"),
            format!("2 ** {x}"),
            format!("powf(abs({x}), 0.5)"),
            format!("clamp_backward({x}, {x} * 2, -1, 2)"),
            format!("powi_backward({x}, {x} * 2, 3)"),
            format!("powf_backward(abs({x}), {x}, 1.5)"),
            format!("mul_backward({x}, {x}, {x} * 2)"),
        ];
        functions().filter_map(of).chain(more).collect::<Vec<_>>()
    };
    let (mut asked, mut fused, mut arrays) = (0, 0, 0);
    let pools = [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for (number, x) in ["x", "m", "n", "d", "i", "b", "c", "f", "u", "s", "k", "e"].into_iter().enumerate() {
        let made = [Format::Coo, Format::Csr].map(|format| AnyValue::from(long(x, format).unwrap()));
        let array = AnyValue::from(AnyOperand::from(&made[0]).to_array().unwrap());
        let made = [&made[1], &made[0], &made[0], &array];
        for call in calls(x).into_iter().skip(number % one_of(5)).step_by(one_of(5)) {
            let texts = [
                format!("cast({call}, \"complex128\")"),
                format!("sum({call} == {x}, axis=1)"),
                format!("nansum(cast({call}, \"float32\"), axis=1, keep_dims=true)"),
                format!("max(stored(neg({call})))"),
                format!("norm(cast({call}, \"float64\"), axis=0)"),
            ];
            // Two of them, each of a tensor in a format or of an array, and with a number of threads of its own.
            let (first, of) = (asked, made[asked / 2 % 4]);
            let right = (0..texts.len()).map(|at| &texts[(at + first) % texts.len()]).filter_map(|text| {
                let expression = Expression::parse(text).unwrap();
                Some((text, expression.evaluate(|_| Some(of.clone())).ok()?, expression))
            });
            for (text, expected, expression) in right.take(2) {
                arrays += usize::from(matches!(of, AnyValue::Array(_)));
                let graph = expression.graph(|_| Some(Bound::from(of.clone()))).unwrap();
                let found = pools[asked % 2].install(|| graph.collect());
                let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
                assert!(is_same(&found, &expected), "{text} of {of:?}: {found:?} is not {expected:?}");
                fused += usize::from(graph.explain().unwrap().contains("fused"));
                asked += 1;
            }
        }
    }
    assert!(asked > 500 / one_of(5) && fused > asked * 2 / 3, "{fused} of {asked} were fused");
    assert!(arrays > asked / 5, "{arrays} of {asked} were of arrays");
}

/// An error in a chunk is the error of the entire computation.
#[test]
fn what_pieces_refuse_is_told_as_the_whole_tells_it() {
    for text in [
        "cast(cast(i, \"float64\") * 3, \"uint8\")",
        "sum(cast(i > 0, \"int64\") * 9223372036854775807, axis=1)",
        "abs(i) * 2000000000000000000",
        "i / (i - i)",
    ] {
        let expression = Expression::parse(text).unwrap();
        let Err(Fault::Run(expected)) = expression.evaluate(|name| long(name, Format::Coo)) else { panic!("{text}") };
        let graph = expression.graph(|name| long(name, Format::Coo).map(Bound::from)).unwrap();
        let Err(Error::Lazy { cause, .. }) = graph.collect() else { panic!("{text}") };
        assert_eq!(cause.to_string(), expected.to_string(), "{text}");
    }
}

/// All elements of one cell come in parts, also where an axis of length 1 that is kept stands behind them.
#[test]
fn folds_of_a_column_take_parts() {
    for (text, of) in [("sum(t, axis=0)", "t"), ("norm(x[:, :1, 0], axis=0)", "x"), ("max(t[:, 0:1], axis=0)", "t")] {
        let column = tensor(&[5, 1], |at| (at != 2).then_some(at as f64), 0.5);
        let value = |name: &str| if name == "t" { Some(column.clone().into()) } else { bound(name, Format::Coo) };
        let expression = Expression::parse(text).unwrap();
        let on =
            expression.graph(|name| value(name).map(Bound::from)).unwrap().on(Chunks::memory(1 << 20).positions(1));
        assert!(on.explain().unwrap().contains(" reduces "), "{text}: {}", on.explain().unwrap());
        assert!(is_same(&on.collect().unwrap(), &expression.evaluate(value).unwrap()), "{text} of {of}");
    }
}

/// Steps that leave only the reduced axis to be split: the fold takes parts of arrays, cell by cell.
#[test]
fn folds_of_arrays_take_parts() {
    for text in [
        "sum(take(a, [3, -1, 0], axis=1), axis=0)",
        "norm(take(m + row, [0, 2, 2], axis=1), axis=0, keep_dims=true)",
        "max(take(cube, [1, 0], axis=2), axis=[0, 1])",
        "mean(take(ints, [3, 0], axis=1), axis=0)",
        "nanmin(take(narrow, [3, 1, 1], axis=1), axis=0)",
        "any(take(truths, [3, 0], axis=1), axis=0)",
        "count_nonzero(take(cube - 0.25, [3, 0], axis=1), axis=[0, 2])",
    ] {
        let graph = Expression::parse(text).unwrap().graph(|name| bound(name, Format::Coo).map(Bound::from)).unwrap();
        let explained = graph.on(Chunks::memory(1 << 20)).explain().unwrap();
        assert!(explained.contains(" reduces "), "{text}: {explained}");
        assert!(!is_whole(text, Format::Coo), "{text} is taken whole");
    }
}

/// A function that nobody thought of would be taken for one of each element.
#[test]
fn each_function_is_asked_in_ranges() {
    let asked: Vec<String> = CUT.iter().chain(WHOLE).map(|text| text.to_string()).chain(alike()).collect();
    for name in functions() {
        let call = format!("{}(", name.trim_end_matches('_'));
        assert!(asked.iter().any(|text| text.contains(&call)), "no expression has {name}");
    }
}

/// Errors of types and shapes occur before anything runs. Errors of values occur when the graph runs.
#[test]
fn what_is_wrong_is_told_when_the_graph_is_made() {
    let graph =
        |text: &str| Expression::parse(text).and_then(|x| x.graph(|name| bound(name, Format::Coo).map(Bound::from)));
    assert!(matches!(graph("sum(x, axis=3)"), Err(Fault::Run(_))));
    assert!(matches!(graph("m & p"), Err(Fault::Wrong(_))));
    assert!(matches!(graph("nothing + 1"), Err(Fault::Wrong(_))));
    let late = graph("i / (i - i)").unwrap().on(Chunks::memory(1 << 20).positions(1)).collect();
    assert!(late.is_err(), "{late:?}");
    let sums = graph("sum(cast(m > 0, \"int64\") * 9223372036854775807, axis=1)").unwrap();
    let late = sums.on(Chunks::memory(1 << 20).positions(1)).collect().unwrap_err();
    assert!(late.to_string().contains("sum"), "{late}");
}
