//! The functions of expressions: one table of names and implementations.

use std::sync::OnceLock;

use super::Fault;
use super::call::Call;
use super::options::{
    choice, made, median_of, mode_of, multiplied, norm_of, of_list, of_two, one_of, one_of_two, quantile_of, var_of,
};
use super::value::Value;
use crate::dynamic::{AnyMatmul, AnyOperand, AnyTensor};
use crate::element::DType;
use crate::ops::{OpSpec, Take, Tolerance};
use crate::pattern::Format;
use crate::tensor::coo::CooTensor;

/// Evaluates a call.
type Run = fn(&Call) -> Result<Value, Fault>;

/// A function: the row of the operation, and the function that evaluates a call.
pub(super) struct Function {
    pub(super) op: &'static OpSpec,
    pub(super) run: Run,
}

impl Function {
    pub(super) fn name(&self) -> &'static str {
        self.op.name
    }

    /// Returns the parameters as text, for messages.
    pub(super) fn signature(&self) -> String {
        let shown = |name: &str| match (name.strip_suffix('?'), name.strip_suffix('*')) {
            (Some(name), _) => format!("{name}=…"),
            (_, Some(name)) => format!("{name}, …"),
            _ => name.to_string(),
        };
        format!("({})", self.op.parameters().map(shown).collect::<Vec<_>>().join(", "))
    }
}

/// Returns the function with this name.
pub(super) fn function(name: &str) -> Option<&'static Function> {
    // `where` is a keyword of Rust, so the operation is named `where_`.
    let name = if name == "where" { "where_" } else { name };
    all().iter().find(|function| function.name() == name)
}

/// Returns the names of all functions.
///
/// ```
/// assert!(lacuna::eval::functions().any(|name| name == "nanmedian"));
/// ```
pub fn functions() -> impl Iterator<Item = &'static str> {
    all().iter().map(Function::name)
}

/// Returns the parameters of a function as text, for messages.
#[doc(hidden)]
pub fn signature(name: &str) -> String {
    function(name).map_or_else(String::new, Function::signature)
}

fn all() -> &'static [Function] {
    static ALL: OnceLock<Vec<Function>> = OnceLock::new();
    ALL.get_or_init(|| TABLE.iter().flat_map(|rows| rows.iter()).map(function_of).collect())
}

fn function_of(&(name, run): &(&'static str, Run)) -> Function {
    Function { op: OpSpec::named(name).expect("each function has a row in the table of operations"), run }
}

/// Defines functions that accept the same arguments.
macro_rules! alike {
    (two $($name:ident)*) => {
        [$((stringify!($name), |call: &Call| {
            of_two(call, |x, y, upstream| x.$name(y, upstream))
        })),*]
    };
    (pairs $($name:ident)*) => {
        [$((stringify!($name), |call: &Call| {
            one_of_two(call, 3, call.seen(0)?.$name(call.seen(1)?, call.whole(2)?))
        })),*]
    };
    (map $($name:ident)*) => {
        [$((stringify!($name), |call: &Call| call.done(call.seen(0)?.$name()))),*]
    };
    (zip $($name:ident)*) => {
        [$((stringify!($name), |call: &Call| {
            super::run::zipped(stringify!($name), call.given(0)?, call.given(1)?, &call.at)
        })),*]
    };
    (slope $($name:ident)*) => {
        [$((stringify!($name), |call: &Call| {
            let upstream = call.whole(1)?;
            call.done(call.seen(0)?.$name(upstream))
        })),*]
    };
}

/// Returns the options of a reduction, from the arguments from `axis` on.
macro_rules! options {
    (Axes $call:ident $axis:ident) => {
        $call.axes($axis, $axis + 2)?
    };
    (Var $call:ident $axis:ident) => {
        var_of($call, $axis)?
    };
    (Nanmedian $call:ident $axis:ident) => {
        median_of($call, $axis)?
    };
    (Quantile $call:ident $axis:ident) => {
        quantile_of($call, $axis)?
    };
    (Norm $call:ident $axis:ident) => {
        norm_of($call, $axis)?
    };
}

/// Defines the functions of the reductions and of their gradients, from the rows.
macro_rules! folds {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) $result:tt $route:tt $stream:tt
        [$($backward:ident($($given:ident)?) $bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal;
    )*) => {
        static FOLDS: &[(&str, Run)] = &[$(
            (stringify!($name), |call| {
                let at = 1;
                $(let ($q, at) = (call.real(at)?, at + 1);)?
                let options = options!($options call at);
                call.done(call.seen(0)?.$name($($q,)? &options))
            }),
            $((stringify!($backward), |call| {
                let (upstream, at) = (call.whole(1)?, 2);
                $(let ($given, at) = (call.real(at)?, at + 1);)?
                let options = options!($options call at);
                call.done(call.seen(0)?.$backward(upstream, $($given,)? &options))
            }),)?
        )*];
    };
}

crate::__folds! { (folds) }

static TABLE: &[&[(&str, Run)]] = &[
    FOLDS,
    &alike!(two add_backward sub_backward mul_backward div_backward pow_backward minimum_backward maximum_backward
        matmul_backward),
    &alike!(pairs outer_backward kron_backward),
    &alike!(map isinf isnan isfinite isreal isposinf isneginf neg abs sign square not conj real imag sqrt cbrt exp
        exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan sinh cosh tanh recip round floor ceil trunc),
    &alike!(zip add sub mul mul_nonzero div rem rem_euclid pow minimum maximum equal not_equal less less_equal greater
        greater_equal bit_and bit_or bit_xor matmul),
    &alike!(slope neg_backward abs_backward square_backward sqrt_backward cbrt_backward exp_backward exp_m1_backward
        ln_backward ln_1p_backward log2_backward log10_backward sin_backward cos_backward tan_backward asin_backward
        acos_backward atan_backward sinh_backward cosh_backward tanh_backward recip_backward),
    SINGLE,
];

/// Defines functions with individual arguments.
macro_rules! single {
    ($($name:ident |$call:ident| $body:expr;)*) => {
        &[$((stringify!($name), |$call| $body)),*]
    };
}

static SINGLE: &[(&str, Run)] = single! {
    // In the graph of an expression, the steps of the gradient replace this call.
    grad |call| super::run::wrong(&call.at, "there is no gradient in an index");
    stored |call| Ok(Value::Stored(call.tensor(0)?.clone()));
    prune |call| call.done(call.tensor(0)?.prune());
    cast |call| match DType::from_name(call.text(1)?) {
        Some(dtype) => call.done(call.whole(0)?.to_value().cast(dtype)),
        None => super::run::wrong(&call.given(1)?.at, format!("there is no element type {}", call.text(1)?)),
    };
    with_fill |call| {
        let x = call.tensor(0)?;
        call.done(x.with_fill(call.number(1, x.dtype())?))
    };
    to_coo |call| call.done(call.tensor(0)?.clone().into_format(Format::Coo));
    to_csr |call| call.done(call.tensor(0)?.clone().into_format(Format::Csr));
    from_dense |call| call.done(match call.whole(0)? {
        AnyOperand::Array(x) => x.from_dense(),
        tensor => tensor.sparse(call.name).and_then(AnyTensor::prune),
    });
    nanmedian_index |call| {
        let options = median_of(call, 1)?;
        call.done(call.seen(0)?.nanmedian_index(&options).map(|(_, index)| index))
    };
    topk |call| {
        let (k, axis): (_, isize) = (call.integer(1, None)?, call.integer(2, Some(-1))?);
        call.done(call.seen(0)?.topk(k, axis))
    };
    topk_index |call| {
        let (k, axis): (_, isize) = (call.integer(1, None)?, call.integer(2, Some(-1))?);
        call.done(call.seen(0)?.topk_index(k, axis).map(|(_, index)| index))
    };
    topk_backward |call| {
        let (upstream, k, axis): (_, _, isize) = (call.whole(1)?, call.integer(2, None)?, call.integer(3, Some(-1))?);
        call.done(call.seen(0)?.topk_backward(upstream, k, axis))
    };
    argsort |call| {
        let axis: isize = call.integer(1, Some(-1))?;
        call.done(call.seen(0)?.argsort(axis))
    };
    unique |call| call.done(call.seen(0)?.unique().map(|(values, _)| values));
    unique_counts |call| call.done(call.seen(0)?.unique().map(|(_, counts)| counts));
    eye |call| {
        let n = call.integer(0, None)?;
        call.done(made(&[n].into(), || CooTensor::eye(n), || CooTensor::eye_with_index(n)))
    };
    full |call| {
        let (shape, given) = (call.shape(0)?, call.given(1)?);
        let Value::Number(number) = &given.value else {
            return super::run::wrong(&given.at, format!("this is {}, and not a number", given.value.kind()));
        };
        call.done(super::run::tensor_of(number, number.dtype(), &given.at)?.broadcast_to(shape))
    };
    zeros_like |call| {
        let x = call.whole(0)?;
        call.done(x.isin([], false).and_then(|zeros| zeros.cast(x.dtype())))
    };
    tensor |call| super::constant::tensor(call);
    array |call| super::constant::array(call);
    dense |call| call.done(call.moving(0)?.to_array());
    random |call| {
        let (shape, nnz, seed) = (call.shape(0)?, call.integer(1, None)?, call.integer(2, Some(0))?);
        let narrow = || CooTensor::random(shape.clone(), nnz, seed);
        call.done(made(&shape, narrow, || CooTensor::random_with_index(shape.clone(), nnz, seed)))
    };
    allclose |call| {
        let (rtol, atol) = (call.real_or(2, 1e-5)?, call.real_or(3, 1e-8)?);
        let tolerance = Tolerance::within(rtol, atol);
        let tolerance = if call.flag(4)? { tolerance.equal_nan() } else { tolerance };
        let is_close = call.whole(0)?.allclose(call.whole(1)?, tolerance);
        let one = |is_close| Ok(AnyTensor::from(CooTensor::full([0usize; 0], is_close)?.with_index::<u64>()?));
        call.done(is_close.and_then(one))
    };
    isin |call| {
        let (invert, dtype) = (call.flag(2)?, call.dtype(0)?);
        let members = call.members(1, dtype)?;
        call.done(call.seen(0)?.isin(&members, invert))
    };
    clamp |call| {
        let dtype = call.dtype(0)?;
        let (low, high) = (call.number(1, dtype)?, call.number(2, dtype)?);
        call.done(call.seen(0)?.clamp(low, high))
    };
    clamp_backward |call| {
        let (upstream, low, high) = (call.whole(1)?, call.real(2)?, call.real(3)?);
        call.done(call.seen(0)?.clamp_backward(upstream, low, high))
    };
    powi |call| {
        let exponent = call.integer(1, None)?;
        call.done(call.seen(0)?.powi(exponent))
    };
    powi_backward |call| {
        let (upstream, exponent) = (call.whole(1)?, call.integer(2, None)?);
        call.done(call.seen(0)?.powi_backward(upstream, exponent))
    };
    powf |call| {
        let exponent = call.exponent(1)?;
        call.done(call.seen(0)?.powf(exponent))
    };
    powf_backward |call| {
        let (upstream, exponent) = (call.whole(1)?, call.real(2)?);
        call.done(call.seen(0)?.powf_backward(upstream, exponent))
    };
    where_ |call| {
        let (yes, no) = (choice(call, 1, 2)?, choice(call, 2, 1)?);
        call.done(call.whole(0)?.where_(&yes, &no))
    };
    scale |call| {
        let (axis, factors): (isize, _) = (call.integer(1, None)?, call.whole(2)?);
        call.done(call.seen(0)?.scale(axis, factors))
    };
    scale_backward |call| {
        let (axis, factors, upstream): (isize, _, _) = (call.integer(1, None)?, call.whole(2)?, call.whole(3)?);
        one_of_two(call, 4, call.seen(0)?.scale_backward(axis, factors, upstream))
    };
    mask |call| {
        let mask = call.whole(1)?;
        call.done(call.seen(0)?.mask(mask))
    };
    without |call| {
        let mask = call.whole(1)?;
        call.done(call.seen(0)?.without(mask))
    };
    select |call| {
        let mask = call.whole(1)?;
        call.done(call.seen(0)?.select(mask))
    };
    select_backward |call| {
        let (upstream, mask) = (call.whole(1)?, call.whole(2)?);
        call.done(call.seen(0)?.select_backward(upstream, mask))
    };
    nonzero |call| call.done(call.tensor(0)?.nonzero());
    with_entries |call| {
        let x = call.tensor(0)?;
        let indices = call.coordinates(1, x.rank())?;
        let values = call.numbers(2, x.dtype(), indices.len())?;
        call.done(x.with_entries(&indices.into_iter().zip(values).collect::<Vec<_>>()))
    };
    diag |call| call.done(call.tensor(0)?.diag(call.integer(1, Some(0))?));
    mask_backward |call| {
        let (upstream, mask) = (call.whole(1)?, call.whole(2)?);
        call.done(call.seen(0)?.mask_backward(upstream, mask))
    };
    without_backward |call| {
        let (upstream, mask) = (call.whole(1)?, call.whole(2)?);
        call.done(call.seen(0)?.without_backward(upstream, mask))
    };
    take |call| {
        let (indices, mode) = (call.positions(1)?, mode_of(call, 3)?);
        let taken = Take::at(&indices).mode(mode);
        match call.is_given(2) {
            false => call.done(call.seen(0)?.take(&taken)),
            true => {
                let axis: isize = call.integer(2, None)?;
                call.done(call.seen(0)?.take_axis(&taken, axis))
            }
        }
    };
    take_axis |call| {
        let (indices, mode, axis) = (call.positions(1)?, mode_of(call, 3)?, call.integer::<isize>(2, None)?);
        let taken = Take::at(&indices).mode(mode);
        call.done(call.seen(0)?.take_axis(&taken, axis))
    };
    take_backward |call| {
        let (upstream, indices, mode) = (call.whole(1)?, call.positions(2)?, mode_of(call, 4)?);
        let taken = Take::at(&indices).mode(mode);
        match call.is_given(3) {
            false => call.done(call.seen(0)?.take_backward(upstream, &taken)),
            true => {
                let axis: isize = call.integer(3, None)?;
                call.done(call.seen(0)?.take_axis_backward(upstream, &taken, axis))
            }
        }
    };
    take_axis_backward |call| {
        let (upstream, indices, mode) = (call.whole(1)?, call.positions(2)?, mode_of(call, 4)?);
        let (taken, axis) = (Take::at(&indices).mode(mode), call.integer::<isize>(3, None)?);
        call.done(call.seen(0)?.take_axis_backward(upstream, &taken, axis))
    };
    einsum |call| {
        call.done(AnyOperand::einsum(call.text(0)?, &call.factors(1)?))
    };
    einsum_backward |call| {
        let (operands, wrt): (_, usize) = (call.factors(1)?, call.integer(3, Some(0))?);
        if wrt >= operands.len() {
            return super::run::wrong(&call.at, format!("wrt is the number of one of {} tensors", operands.len()));
        }
        let all = AnyOperand::einsum_backward(call.whole(2)?, call.text(0)?, &operands);
        call.done(all.map(|mut all| all.swap_remove(wrt)))
    };
    matmul_with |call| {
        let options = AnyMatmul::named(AnyMatmul::names()[call.word(2, AnyMatmul::names())?]);
        multiplied(call, super::run::at(&call.at, options)?, 3)
    };
    matmul_on |call| multiplied(call, AnyMatmul::from(call.tensor(2)?), 2);
    outer |call| call.done(call.seen(0)?.outer(call.seen(1)?));
    kron |call| call.done(call.seen(0)?.kron(call.seen(1)?));
    tensordot |call| {
        let (left, right) = (call.integers::<isize>(2)?, call.integers::<isize>(3)?);
        call.done(call.seen(0)?.tensordot(call.seen(1)?, &left, &right))
    };
    tensordot_backward |call| {
        let (left, right) = (call.integers::<isize>(3)?, call.integers::<isize>(4)?);
        one_of_two(call, 5, call.seen(0)?.tensordot_backward(call.seen(1)?, call.whole(2)?, &left, &right))
    };
    mttkrp |call| {
        let mode: isize = call.integer(1, None)?;
        let factors = call.operands(2)?;
        call.done(call.seen(0)?.mttkrp(mode, &factors))
    };
    mttkrp_backward |call| {
        let mode: isize = call.integer(1, None)?;
        let (factors, upstream) = (call.operands(2)?, call.whole(3)?);
        one_of(call, 4, call.seen(0)?.mttkrp_backward(mode, &factors, upstream))
    };
    ttm |call| {
        let (matrix, axis) = (call.whole(1)?, call.integer::<isize>(2, None)?);
        call.done(call.seen(0)?.ttm(matrix, axis))
    };
    ttm_backward |call| {
        let axis: isize = call.integer(2, None)?;
        let (matrix, upstream) = (call.whole(1)?, call.whole(3)?);
        one_of_two(call, 4, call.seen(0)?.ttm_backward(matrix, axis, upstream))
    };
    ttv |call| {
        let (vector, axis) = (call.whole(1)?, call.integer::<isize>(2, None)?);
        call.done(call.seen(0)?.ttv(vector, axis))
    };
    ttv_backward |call| {
        let axis: isize = call.integer(2, None)?;
        let (vector, upstream) = (call.whole(1)?, call.whole(3)?);
        one_of_two(call, 4, call.seen(0)?.ttv_backward(vector, axis, upstream))
    };
    sddmm |call| {
        let (l, r) = (call.whole(1)?, call.whole(2)?);
        call.done(call.seen(0)?.sddmm(l, r))
    };
    sddmm_backward |call| {
        let (l, r, upstream) = (call.whole(1)?, call.whole(2)?, call.whole(3)?);
        one_of(call, 4, call.seen(0)?.sddmm_backward(l, r, upstream))
    };
    pattern_sddmm |call| call.done(call.moving(0)?.pattern_sddmm(call.whole(1)?, call.whole(2)?));
    pattern_sddmm_backward |call| {
        let (l, r, upstream) = (call.whole(1)?, call.whole(2)?, call.whole(3)?);
        one_of_two(call, 4, call.moving(0)?.pattern_sddmm_backward(l, r, upstream))
    };
    softmax |call| {
        let axes = call.some_axes(1)?;
        call.done(call.seen(0)?.softmax(axes))
    };
    softmax_backward |call| {
        let (upstream, axes) = (call.whole(1)?, call.some_axes(2)?);
        call.done(call.seen(0)?.softmax_backward(upstream, axes))
    };
    log_softmax_backward |call| {
        let (upstream, axes) = (call.whole(1)?, call.some_axes(2)?);
        call.done(call.seen(0)?.log_softmax_backward(upstream, axes))
    };
    log_softmax |call| {
        let axes = call.some_axes(1)?;
        call.done(call.seen(0)?.log_softmax(axes))
    };
    concat |call| {
        call.done(AnyOperand::concat(call.integer::<isize>(1, Some(0))?, &call.operands(0)?))
    };
    stack |call| {
        call.done(AnyOperand::stack(call.integer::<isize>(1, Some(0))?, &call.operands(0)?))
    };
    block |call| {
        let rows = call.rows(0)?;
        let joined = rows.iter().map(|row| AnyOperand::concat(-1, row)).collect::<crate::base::error::Result<Vec<_>>>();
        call.done(joined.and_then(|rows| AnyOperand::concat(-2, &rows.iter().map(Into::into).collect::<Vec<_>>())))
    };
    concat_backward |call| {
        of_list(call, |axis, upstream, operands| AnyOperand::concat_backward(upstream, axis, operands))
    };
    stack_backward |call| {
        of_list(call, |axis, upstream, operands| AnyOperand::stack_backward(upstream, axis, operands))
    };
    where_backward |call| {
        let (yes, no) = (choice(call, 1, 2)?, choice(call, 2, 1)?);
        let both = call.whole(0)?.where_backward(&yes, &no, call.whole(3)?);
        one_of_two(call, 4, both)
    };
    slice |call| {
        let x = call.moving(0)?;
        call.done(x.slice(&call.slices(1, x)?))
    };
    slice_backward |call| {
        let x = call.moving(0)?;
        call.done(x.slice_backward(call.whole(1)?, &call.slices(2, x)?))
    };
    flip |call| call.done(call.moving(0)?.flip(call.some_axes(1)?));
    flip_backward |call| {
        call.done(call.moving(0)?.flip_backward(call.whole(1)?, call.some_axes(2)?))
    };
    roll |call| {
        call.done(call.moving(0)?.roll(call.integer(1, None)?, call.integer::<isize>(2, None)?))
    };
    roll_backward |call| {
        let (places, axis) = (call.integer(2, None)?, call.integer::<isize>(3, None)?);
        call.done(call.moving(0)?.roll_backward(call.whole(1)?, places, axis))
    };
    pad |call| call.done(call.moving(0)?.pad(&call.pairs(1)?));
    pad_backward |call| {
        call.done(call.moving(0)?.pad_backward(call.whole(1)?, &call.pairs(2)?))
    };
    tile |call| call.done(call.moving(0)?.tile(&call.integers::<usize>(1)?));
    tile_backward |call| {
        call.done(call.moving(0)?.tile_backward(call.whole(1)?, &call.integers::<usize>(2)?))
    };
    repeat |call| {
        call.done(call.moving(0)?.repeat(call.integer(1, None)?, call.integer::<isize>(2, None)?))
    };
    repeat_backward |call| {
        let (times, axis) = (call.integer(2, None)?, call.integer::<isize>(3, None)?);
        call.done(call.moving(0)?.repeat_backward(call.whole(1)?, times, axis))
    };
    broadcast_to |call| call.done(call.moving(0)?.broadcast_to(call.shape(1)?));
    broadcast_to_backward |call| {
        call.done(call.moving(0)?.broadcast_to_backward(call.whole(1)?, call.shape(2)?))
    };
    reshape_as |call| call.done(call.moving(0)?.reshape(call.moving(1)?.shape()));
    reshape |call| call.done(call.moving(0)?.reshape(call.shape(1)?));
    squeeze |call| call.done(call.moving(0)?.squeeze(call.some_axes(1)?));
    squeeze_backward |call| {
        call.done(call.moving(0)?.squeeze_backward(call.whole(1)?, call.some_axes(2)?))
    };
    expand_dims |call| call.done(call.moving(0)?.expand_dims(call.some_axes(1)?));
    expand_dims_backward |call| {
        call.done(call.moving(0)?.expand_dims_backward(call.whole(1)?, call.some_axes(2)?))
    };
    transpose |call| match call.is_given(1) {
        false => call.done(call.moving(0)?.transpose()),
        true => call.done(call.moving(0)?.permute_axes(&call.integers::<isize>(1)?)),
    };
    transpose_backward |call| match call.is_given(2) {
        false => call.done(call.moving(0)?.transpose_backward(call.whole(1)?)),
        true => call.done(call.moving(0)?.permute_axes_backward(call.whole(1)?, &call.integers::<isize>(2)?)),
    };
    permute_axes |call| call.done(call.moving(0)?.permute_axes(&call.integers::<isize>(1)?));
    move_axis |call| {
        let (from, to) = (call.integer::<isize>(1, None)?, call.integer::<isize>(2, None)?);
        call.done(call.moving(0)?.move_axis(from, to))
    };
    move_axis_backward |call| {
        let (from, to) = (call.integer::<isize>(2, None)?, call.integer::<isize>(3, None)?);
        call.done(call.moving(0)?.move_axis_backward(call.whole(1)?, from, to))
    };
    tril |call| call.done(call.moving(0)?.tril(call.integer(1, Some(0))?));
    tril_backward |call| {
        call.done(call.moving(0)?.tril_backward(call.whole(1)?, call.integer(2, Some(0))?))
    };
    triu |call| call.done(call.moving(0)?.triu(call.integer(1, Some(0))?));
    triu_backward |call| {
        call.done(call.moving(0)?.triu_backward(call.whole(1)?, call.integer(2, Some(0))?))
    };
    diagonal |call| call.done(call.moving(0)?.diagonal(call.integer(1, Some(0))?));
    diagonal_backward |call| {
        call.done(call.moving(0)?.diagonal_backward(call.whole(1)?, call.integer(2, Some(0))?))
    };
};
