//! The functions of expressions: one table of names and implementations.

use std::sync::OnceLock;

use super::Fault;
use super::arithmetic::tensor_of;
use super::fault::{at, wrong};
use super::options::{
    choice, mode_of, multiplied, of_list, of_two, one_of, one_of_two, with_narrow_index, zipped, zipped_by,
};
use super::running::Running;
use crate::base::axes::Axes;
use crate::dynamic::{AnyMatmul, AnyOperand, AnyTensor, AnyValue, chosen, chosen_backward, is_close};
use crate::lazy::{call::Call, completed, moves};
use crate::ops::{Nanmedian, Norm, OpSpec, Parameter, Quantile, Split, Take, Tolerance, Var};
use crate::pattern::Format;
use crate::tensor::coo::CooTensor;

/// Evaluates a call.
type Run = fn(&Running<'_>) -> Result<AnyValue, Fault>;

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
        let shown = |Parameter { name, is_optional, takes_rest, .. }: Parameter| match (is_optional, takes_rest) {
            (true, _) => format!("{name}=…"),
            (_, true) => format!("{name}, …"),
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

/// Names of functions in numpy, scipy or PyTorch, each with the equivalent function of expressions.
const NUMPY_NAMES: &str = "absolute=abs amax=max amin=min arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh \
    arctan=atan arctan2=atan2 arctanh=atanh argwhere=nonzero \
    astype=cast bitwise_and=bit_and bitwise_or=bit_or bitwise_xor=bit_xor cat=concat clip=clamp concatenate=concat \
    conjugate=conj dot=matmul divide=div expm1=exp_m1 fabs=abs fix=trunc floor_divide=div_floor fmod=rem \
    getnnz=count_nonzero hstack=concat identity=eye isclose=is_close index_select=take left_shift=shift_left log=ln log1p=ln_1p \
    logical_not=not masked_select=select moveaxis=move_axis movedim=move_axis multiply=mul \
    negative=neg permute=permute_axes power=pow rand=random reciprocal=recip remainder=rem_floor \
    repeat_interleave=repeat right_shift=shift_right rint=round \
    spmm=matmul subtract=sub swapaxes=permute_axes toarray=dense \
    T=transpose todense=dense tocoo=to_coo tocsr=to_csr to_dense=dense true_divide=div unsqueeze=expand_dims vstack=concat";

/// Returns names in other libraries, each with the function of the same meaning here.
#[doc(hidden)]
pub fn names_elsewhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    NUMPY_NAMES.split_whitespace().filter_map(|pair| pair.split_once('='))
}

/// Returns the function with this name, also for a name from numpy, scipy or PyTorch.
#[doc(hidden)]
pub fn function_called(name: &str) -> Option<&'static str> {
    let own = names_elsewhere().find(|(other, _)| *other == name).map(|(_, own)| own);
    function(own.unwrap_or(name)).map(Function::name)
}

/// Returns the arguments of `lacuna eval` that call a function on files.
#[doc(hidden)]
pub fn example(name: &str) -> String {
    let example = |function: &Function| {
        let required = function.op.parameters().filter(|parameter| !parameter.is_optional);
        let names: Vec<&str> = required.clone().map(|parameter| parameter.name).collect();
        let files =
            required.filter(|parameter| parameter.is_operand()).map(|operand| format!(" {}=FILE", operand.name));
        format!("'{}({})'{}", function.name(), names.join(", "), files.collect::<String>())
    };
    function(name).map_or_else(String::new, example)
}

/// Returns the parameters of a function as text, for messages.
#[doc(hidden)]
pub fn signature(name: &str) -> String {
    function(name).map_or_else(String::new, Function::signature)
}

fn all() -> &'static [Function] {
    static ALL: OnceLock<Vec<Function>> = OnceLock::new();
    ALL.get_or_init(|| {
        let own = TABLE.iter().flat_map(|rows| rows.iter()).map(function_of);
        own.chain(OpSpec::all().filter_map(move_of)).collect()
    })
}

fn function_of(&(name, run): &(&'static str, Run)) -> Function {
    Function { op: OpSpec::named(name).expect("each function has a row in the table of operations"), run }
}

/// Returns the function of a shape manipulation, or of its gradient.
fn move_of(op: &'static OpSpec) -> Option<Function> {
    let is_move = |op: &OpSpec| op.split == Split::Moved;
    let run: Run = match op.forward() {
        None if is_move(op) => |call| {
            let x = call.moving("x")?;
            call.done(moves(call.call(), &x.shape()).and_then(|moves| chosen(x, &moves)))
        },
        Some(forward) if is_move(forward) => |call| {
            let (x, upstream, call_of_x) = (call.moving("x")?, call.whole("upstream")?, call.call().forward());
            call.done(moves(&call_of_x, &x.shape()).and_then(|moves| chosen_backward(x, upstream, &moves)))
        },
        _ => return None,
    };
    Some(Function { op, run })
}

/// Lists functions with their names: functions with individual arguments, and the rows of the reductions, of the
/// functions along an axis, of the elementwise functions, and of the binary operations.
macro_rules! listed {
    ($($name:ident |$call:ident| $body:expr;)*) => {
        &[$((stringify!($name), |$call| $body)),*]
    };
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) $result:tt $route:tt $stream:tt
        [$($backward:ident($($given:ident)?) $bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        static FOLDS: &[(&str, Run)] = listed! {$(
            $name |call| {
                $(let $q = call.real(stringify!($q))?;)?
                call.done(call.seen("x")?.$name($($q,)? call.options::<$options>()))
            };
            $($backward |call| {
                let upstream = call.whole("upstream")?;
                $(let $given = call.real(stringify!($given))?;)?
                call.done(call.seen("x")?.$backward(upstream, $($given,)? call.options::<$options>()))
            };)?
        )*};
    };
    ([] $(
        $name:ident($($count:ident)?) $parameters:literal $result:tt $route:tt
        [$($backward:ident($($given:ident)?) $back_route:ident $second:ident)?] $methods:ident $sentence:literal $set:tt;
    )*) => {
        static ALONG: &[(&str, Run)] = listed! {$(
            $name |call| {
                call.done(call.seen("x")?.$name($(call.count(stringify!($count)),)? call.last_axis()))
            };
            $($backward |call| {
                let upstream = call.whole("upstream")?;
                call.done(call.seen("x")?.$backward(
                    upstream,
                    $(call.count(stringify!($given)),)?
                    call.last_axis(),
                ))
            };)?
        )*};
    };
    ($($family:ident {$(
        #[$sentence:meta] $name:ident $element:tt $kinds:tt $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*})*) => {
        static FUNCTIONS: &[(&str, Run)] = listed! { $($($name |call| call.done(call.seen("x")?.$name());)*)* };
        static GRADIENTS_OF_FUNCTIONS: &[(&str, Run)] = listed! { $($($($backward |call| {
            let upstream = call.whole("upstream")?;
            call.done(call.seen("x")?.$backward(upstream))
        };)?)*)* };
    };
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        static BINARY: &[(&str, Run)] = listed! { $($name |call| zipped(call);)* matmul |call| zipped(call); };
        static BINARY_GRADIENTS: &[(&str, Run)] = listed! {
            $($($backward |call| of_two(call, |x, y, upstream| x.$backward(y, upstream));)?)*
            matmul_backward |call| of_two(call, |x, y, upstream| x.matmul_backward(y, upstream));
        };
    };
}

crate::__folds! { (listed) }
crate::__along! { (listed) }
crate::__functions! { listed }
crate::__binary! { listed }

static TABLE: &[&[(&str, Run)]] =
    &[FOLDS, ALONG, BINARY_GRADIENTS, PAIR_GRADIENTS, FUNCTIONS, BINARY, GRADIENTS_OF_FUNCTIONS, SINGLE];

static PAIR_GRADIENTS: &[(&str, Run)] = listed! {
    outer_backward |call| one_of_two(call, call.seen("x")?.outer_backward(call.seen("y")?, call.whole("upstream")?));
    kron_backward |call| one_of_two(call, call.seen("x")?.kron_backward(call.seen("y")?, call.whole("upstream")?));
};

static SINGLE: &[(&str, Run)] = listed! {
    // In the graph of an expression, the steps of the gradient replace this call.
    grad |call| wrong(call.at(), "an index cannot contain a gradient");
    stored |call| Ok(call.tensor("x")?.clone().into());
    prune |call| call.done(call.tensor("x")?.prune());
    cast |call| call.done(call.whole("x")?.to_value().cast(call.dtype()?));
    with_fill |call| {
        let x = call.tensor("x")?;
        call.done(x.with_fill(call.number("fill", x.dtype())?))
    };
    to_coo |call| call.done(call.tensor("x")?.clone().into_format(Format::Coo));
    to_csr |call| call.done(call.tensor("x")?.clone().into_format(Format::Csr));
    from_dense |call| call.done(match call.whole("x")? {
        AnyOperand::Array(x) => x.from_dense(),
        tensor => tensor.sparse(call.op().name).and_then(AnyTensor::prune),
    });
    nanmedian_index |call| {
        call.done(call.seen("x")?.nanmedian_index(call.options::<Nanmedian>()).map(|(_, index)| index))
    };
    softmax |call| call.done(call.seen("x")?.softmax(call.options::<Axes>()));
    log_softmax |call| call.done(call.seen("x")?.log_softmax(call.options::<Axes>()));
    softmax_backward |call| {
        let upstream = call.whole("upstream")?;
        call.done(call.seen("x")?.softmax_backward(upstream, call.options::<Axes>()))
    };
    log_softmax_backward |call| {
        let upstream = call.whole("upstream")?;
        call.done(call.seen("x")?.log_softmax_backward(upstream, call.options::<Axes>()))
    };
    topk_index |call| call.done(call.seen("x")?.topk_index(call.count("k"), call.last_axis()).map(|(_, index)| index));
    diff |call| call.done(call.seen("x")?.diff(call.call().order(), call.last_axis()));
    diff_backward |call| {
        let upstream = call.whole("upstream")?;
        call.done(call.seen("x")?.diff_backward(upstream, call.call().order(), call.last_axis()))
    };
    cov |call| {
        let ddof = call.call().integer("ddof").map_or(1, |ddof| ddof as u64);
        call.done(call.whole("x")?.cov(call.position("axis"), ddof))
    };
    corrcoef |call| call.done(call.whole("x")?.corrcoef(call.position("axis")));
    average |call| {
        let weights = call.whole("weights")?;
        call.done(call.seen("x")?.average(weights, call.position("axis")))
    };
    average_backward |call| {
        let (upstream, weights) = (call.whole("upstream")?, call.whole("weights")?);
        call.done(call.seen("x")?.average_backward(upstream, weights, call.position("axis")))
    };
    // In the graph of an expression, the steps `diagonal` and `sum` replace this call.
    trace |call| wrong(call.at(), "an index cannot contain a trace");
    unique |call| call.done(call.seen("x")?.unique().map(|(values, _)| values));
    unique_counts |call| call.done(call.seen("x")?.unique().map(|(_, counts)| counts));
    eye |call| {
        let n = call.count("n");
        call.done(with_narrow_index(&[n].into(), || CooTensor::eye(n), || CooTensor::eye_with_index(n)))
    };
    full |call| {
        let number = call.number_opt("value")?;
        call.done(tensor_of(&number, number.dtype(), &call.at_of("value"))?.broadcast_to(call.shape()))
    };
    zeros_like |call| {
        let x = call.whole("x")?;
        call.done(x.isin([], false).and_then(|zeros| zeros.cast(x.dtype())))
    };
    tensor |call| super::constant::tensor(call);
    array |call| super::constant::array(call);
    dense |call| call.done(call.moving("x")?.to_array());
    random |call| {
        let (shape, nnz, seed) = (call.shape(), call.count("nnz"), call.call().integer("seed").unwrap_or(0) as u64);
        let narrow = || CooTensor::random(shape.clone(), nnz, seed);
        call.done(with_narrow_index(&shape, narrow, || CooTensor::random_with_index(shape.clone(), nnz, seed)))
    };
    is_close |call| {
        let tolerance = tolerance_of(call)?;
        zipped_by(call, |left, right, is_swapped| is_close(left, right, is_swapped, tolerance))
    };
    allclose |call| {
        let is_close = call.whole("x")?.allclose(call.whole("y")?, tolerance_of(call)?);
        let one = |is_close| Ok(AnyTensor::from(CooTensor::full([0usize; 0], is_close)?.with_index::<u64>()?));
        call.done(is_close.and_then(one))
    };
    isin |call| {
        let x = call.seen("x")?;
        call.done(x.isin(&call.members(x.dtype())?, call.call().flag("invert")))
    };
    clamp |call| {
        let x = call.seen("x")?;
        let (low, high) = (call.number("low", x.dtype())?, call.number("high", x.dtype())?);
        call.done(x.clamp(low, high))
    };
    clamp_backward |call| {
        let (upstream, low, high) = (call.whole("upstream")?, call.real("low")?, call.real("high")?);
        call.done(call.seen("x")?.clamp_backward(upstream, low, high))
    };
    powi |call| call.done(call.seen("x")?.powi(call.integer("exponent")?));
    powi_backward |call| {
        let upstream = call.whole("upstream")?;
        call.done(call.seen("x")?.powi_backward(upstream, call.integer("exponent")?))
    };
    powf |call| call.done(call.seen("x")?.powf(call.exponent()?));
    powf_backward |call| {
        let upstream = call.whole("upstream")?;
        call.done(call.seen("x")?.powf_backward(upstream, call.real("exponent")?))
    };
    where_ |call| {
        let (yes, no) = (choice(call, "yes", "no")?, choice(call, "no", "yes")?);
        call.done(call.whole("condition")?.where_(&yes, &no))
    };
    where_backward |call| {
        let (yes, no) = (choice(call, "yes", "no")?, choice(call, "no", "yes")?);
        one_of_two(call, call.whole("condition")?.where_backward(&yes, &no, call.whole("upstream")?))
    };
    scale |call| {
        let factors = call.whole("factors")?;
        call.done(call.seen("x")?.scale(call.position("axis"), factors))
    };
    scale_backward |call| {
        let (factors, upstream) = (call.whole("factors")?, call.whole("upstream")?);
        one_of_two(call, call.seen("x")?.scale_backward(call.position("axis"), factors, upstream))
    };
    mask |call| {
        let mask = call.whole("mask")?;
        call.done(call.seen("x")?.mask(mask))
    };
    without |call| {
        let mask = call.whole("mask")?;
        call.done(call.seen("x")?.without(mask))
    };
    select |call| {
        let mask = call.whole("mask")?;
        call.done(call.seen("x")?.select(mask))
    };
    select_backward |call| {
        let (upstream, mask) = (call.whole("upstream")?, call.whole("mask")?);
        call.done(call.seen("x")?.select_backward(upstream, mask))
    };
    mask_backward |call| {
        let (upstream, mask) = (call.whole("upstream")?, call.whole("mask")?);
        call.done(call.seen("x")?.mask_backward(upstream, mask))
    };
    without_backward |call| {
        let (upstream, mask) = (call.whole("upstream")?, call.whole("mask")?);
        call.done(call.seen("x")?.without_backward(upstream, mask))
    };
    nonzero |call| call.done(call.tensor("x")?.nonzero());
    with_entries |call| {
        let x = call.tensor("x")?;
        let indices = call.coordinates("indices", x.rank())?;
        let values = call.numbers("values", x.dtype(), indices.len())?;
        call.done(x.with_entries(&indices.into_iter().zip(values).collect::<Vec<_>>()))
    };
    diag |call| call.done(call.tensor("x")?.diag(call.position("offset")));
    take |call| taken(call);
    take_axis |call| taken(call);
    take_backward |call| taken_backward(call);
    take_axis_backward |call| taken_backward(call);
    gather |call| {
        let (lists, mode) = (call.lists("indices")?, mode_of(call));
        call.done(call.seen("x")?.gather(lists.iter().map(|list| Take::at(list).mode(mode))))
    };
    gather_backward |call| {
        let (upstream, lists, mode) = (call.whole("upstream")?, call.lists("indices")?, mode_of(call));
        call.done(call.seen("x")?.gather_backward(upstream, lists.iter().map(|list| Take::at(list).mode(mode))))
    };
    take_along_axis |call| {
        let (indices, mode) = (call.positions("indices")?, mode_of(call));
        call.done(call.seen("x")?.take_along_axis(Take::at(&indices).mode(mode), call.last_axis()))
    };
    take_along_axis_backward |call| {
        let (upstream, indices, mode) = (call.whole("upstream")?, call.positions("indices")?, mode_of(call));
        let positions = Take::at(&indices).mode(mode);
        call.done(call.seen("x")?.take_along_axis_backward(upstream, positions, call.last_axis()))
    };
    einsum |call| call.done(AnyOperand::einsum(call.call().word("spec"), &call.factors("tensors")?));
    einsum_backward |call| {
        let (operands, wrt) = (call.factors("tensors")?, call.count("wrt"));
        if wrt >= operands.len() {
            return wrong(call.at(), format!("wrt must be the index of one of {} tensors, from 0", operands.len()));
        }
        one_of(call, AnyOperand::einsum_backward(call.whole("upstream")?, call.call().word("spec"), &operands))
    };
    matmul_with |call| {
        let semiring = match call.call().word("semiring") {
            "" => AnyMatmul::names()[0],
            named => named,
        };
        multiplied(call, at(call.at(), AnyMatmul::named(semiring))?)
    };
    matmul_on |call| multiplied(call, AnyMatmul::from(call.tensor("mask")?));
    outer |call| call.done(call.seen("x")?.outer(call.seen("y")?));
    kron |call| call.done(call.seen("x")?.kron(call.seen("y")?));
    tensordot |call| {
        let [left, right] = sides(call.call());
        call.done(call.seen("x")?.tensordot(call.seen("y")?, &left, &right))
    };
    tensordot_backward |call| {
        let [left, right] = sides(call.call());
        let both = call.seen("x")?.tensordot_backward(call.seen("y")?, call.whole("upstream")?, &left, &right);
        one_of_two(call, both)
    };
    mttkrp |call| {
        let factors = call.operands("factors")?;
        call.done(call.seen("x")?.mttkrp(call.position("mode"), &factors))
    };
    mttkrp_backward |call| {
        let (factors, upstream) = (call.operands("factors")?, call.whole("upstream")?);
        one_of(call, call.seen("x")?.mttkrp_backward(call.position("mode"), &factors, upstream))
    };
    ttm |call| {
        let matrix = call.whole("matrix")?;
        call.done(call.seen("x")?.ttm(matrix, call.position("axis")))
    };
    ttm_backward |call| {
        let (matrix, upstream) = (call.whole("matrix")?, call.whole("upstream")?);
        one_of_two(call, call.seen("x")?.ttm_backward(matrix, call.position("axis"), upstream))
    };
    ttv |call| {
        let vector = call.whole("vector")?;
        call.done(call.seen("x")?.ttv(vector, call.position("axis")))
    };
    ttv_backward |call| {
        let (vector, upstream) = (call.whole("vector")?, call.whole("upstream")?);
        one_of_two(call, call.seen("x")?.ttv_backward(vector, call.position("axis"), upstream))
    };
    sddmm |call| {
        let (l, r) = (call.whole("l")?, call.whole("r")?);
        call.done(call.seen("x")?.sddmm(l, r))
    };
    sddmm_backward |call| {
        let (l, r, upstream) = (call.whole("l")?, call.whole("r")?, call.whole("upstream")?);
        one_of(call, call.seen("x")?.sddmm_backward(l, r, upstream))
    };
    pattern_sddmm |call| call.done(call.moving("x")?.pattern_sddmm(call.whole("l")?, call.whole("r")?));
    pattern_sddmm_backward |call| {
        let (l, r, upstream) = (call.whole("l")?, call.whole("r")?, call.whole("upstream")?);
        one_of_two(call, call.moving("x")?.pattern_sddmm_backward(l, r, upstream))
    };
    concat |call| call.done(AnyOperand::concat(call.position("axis"), &call.operands("tensors")?));
    stack |call| call.done(AnyOperand::stack(call.position("axis"), &call.operands("tensors")?));
    // In the graph of an expression, concatenations replace this call.
    block |call| wrong(call.at(), "an index cannot contain a block");
    concat_backward |call| {
        of_list(call, |axis, upstream, operands| AnyOperand::concat_backward(upstream, axis, operands))
    };
    stack_backward |call| {
        of_list(call, |axis, upstream, operands| AnyOperand::stack_backward(upstream, axis, operands))
    };
    reshape_as |call| call.done(call.moving("x")?.reshape(call.moving("like")?.shape()));
    reshape |call| {
        let x = call.moving("x")?;
        match completed(call.call(), &x.shape()) {
            Some(shape) => call.done(x.reshape(shape)),
            None => {
                let why = format!("there is not exactly one length for -1 in a tensor of shape {}", x.shape());
                wrong(&call.at_of("shape"), why)
            }
        }
    };
};

/// Returns the tolerance of a comparison.
fn tolerance_of(call: &Running<'_>) -> Result<Tolerance, Fault> {
    let tolerance = Tolerance::within(call.real_or("rtol", 1e-5)?, call.real_or("atol", 1e-8)?);
    Ok(if call.call().flag("equal_nan") { tolerance.equal_nan() } else { tolerance })
}

/// Returns the axes of both operands that `tensordot` contracts.
fn sides(call: &Call) -> [Vec<isize>; 2] {
    ["left", "right"].map(|side| call.integers(side))
}

/// Takes elements at positions, of all elements or along an axis.
fn taken(call: &Running<'_>) -> Result<AnyValue, Fault> {
    let indices = call.taken()?;
    let (taken, x) = (Take::at(&indices).mode(mode_of(call)), call.seen("x")?);
    match call.is_given("axis") {
        false => call.done(x.take(&taken)),
        true => call.done(x.take_axis(&taken, call.position("axis"))),
    }
}

fn taken_backward(call: &Running<'_>) -> Result<AnyValue, Fault> {
    let (upstream, indices) = (call.whole("upstream")?, call.taken()?);
    let (taken, x) = (Take::at(&indices).mode(mode_of(call)), call.seen("x")?);
    match call.is_given("axis") {
        false => call.done(x.take_backward(upstream, &taken)),
        true => call.done(x.take_axis_backward(upstream, &taken, call.position("axis"))),
    }
}
