//! What a range of the result of a function takes of its arguments: the rows of `lazy/shares.rs`, by name.

use ndarray::SliceInfoElem;

use super::Fault;
use super::call::Call;
use super::options::{median_of, norm_of, quantile_of, var_of};
use super::table::{self, signature};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::shape::Shape;
use crate::dynamic::{PouredFold, PouredOptions};
use crate::lazy::any::moved_by;
use crate::lazy::shares::{self, Shares};
use crate::ops::moved::{self, Moves};

/// How a function may be cut. Numbers are those of parameters.
enum Cut {
    /// Element by element in so many leading parameters.
    Each(usize),
    /// The gradient of such a function, of operands that are not broadcast.
    Alike,
    /// It reduces the axes there.
    Over(usize),
    /// The gradient of one that reduces the axes there.
    Back(usize),
    /// It goes along the axis there, of the first parameter.
    Along(usize),
    /// It takes positions, which stand in the second parameter, of the axis there.
    Taken(usize),
    /// It leaves elements along the axes there to each other.
    Among(usize),
    /// It multiplies along the axis there.
    Scaled(usize),
    /// It puts tensors side by side along the axis there.
    Joined(usize),
    Product,
    Moved,
    /// It takes its arguments whole.
    Whole,
}

/// What takes its arguments whole among the functions of a tensor, of two, or of one and its upstream gradient: all
/// others of these go element by element.
const WHOLE: &[&str] =
    &["stored", "dense", "unique", "unique_counts", "nonzero", "outer", "kron", "transpose_backward"];

fn cut(name: &str) -> Cut {
    match name {
        name if WHOLE.contains(&name) => Cut::Whole,
        "matmul" => Cut::Product,
        "add_backward" | "sub_backward" | "mul_backward" | "div_backward" | "pow_backward" | "minimum_backward"
        | "maximum_backward" => Cut::Alike,
        "any" | "all" | "count_nonzero" | "sum" | "mean" | "prod" | "nanprod" | "nansum" | "nanmean" | "min"
        | "max" | "nanmin" | "nanmax" | "argmin" | "argmax" | "nanargmin" | "nanargmax" | "var" | "std" | "nanvar"
        | "nanstd" | "median" | "nanmedian" | "nanmedian_index" | "norm" => Cut::Over(1),
        "quantile" | "nanquantile" => Cut::Over(2),
        "any_backward" | "sum_backward" | "mean_backward" | "prod_backward" | "nanprod_backward"
        | "nansum_backward" | "nanmean_backward" | "min_backward" | "max_backward" | "nanmin_backward"
        | "nanmax_backward" | "var_backward" | "std_backward" | "nanvar_backward" | "nanstd_backward"
        | "median_backward" | "nanmedian_backward" | "norm_backward" => Cut::Back(2),
        "quantile_backward" | "nanquantile_backward" => Cut::Back(3),
        "topk" | "topk_index" => Cut::Along(2),
        "argsort" => Cut::Along(1),
        "take" | "take_axis" => Cut::Taken(2),
        "softmax" | "log_softmax" => Cut::Among(1),
        "softmax_backward" | "log_softmax_backward" => Cut::Among(2),
        "scale" => Cut::Scaled(1),
        "concat" | "stack" => Cut::Joined(1),
        "slice" | "flip" | "roll" | "pad" | "tile" | "repeat" | "broadcast_to" | "squeeze" | "expand_dims"
        | "transpose" | "permute_axes" | "move_axis" | "tril" | "triu" | "diagonal" => Cut::Moved,
        "prune" | "cast" | "with_fill" | "to_coo" | "to_csr" | "from_dense" | "zeros_like" | "isin" | "clamp"
        | "powi" | "powf" => Cut::Each(1),
        "where_" | "mask_backward" | "without_backward" | "select_backward" => Cut::Each(3),
        "mask" | "without" | "select" | "clamp_backward" | "powi_backward" | "powf_backward" => Cut::Each(2),
        name => match signature(name).as_str() {
            "(x)" | "(x, y)" | "(x, upstream)" => Cut::Each(2),
            _ => Cut::Whole,
        },
    }
}

/// What goes element by element and has a pattern or format of its own nevertheless, or is told more than the elements.
const OWN: &[&str] = &[
    "prune",
    "to_coo",
    "to_csr",
    "from_dense",
    "isin",
    "where_",
    "mask",
    "without",
    "select",
    "mask_backward",
    "without_backward",
    "select_backward",
];

/// Whether a function of inputs in these parameters goes element by element, and keeps their pattern if it is one.
pub(super) fn is_each(name: &str, parameters: &[usize]) -> bool {
    matches!(cut(name), Cut::Each(operands) if parameters.iter().all(|&at| at < operands)) && !OWN.contains(&name)
}

/// Of a function element by element in so many leading parameters, if its inputs are in these.
pub(super) fn each(operands: usize, parameters: &[usize]) -> Shares {
    shares::each_of(parameters.iter().map(|&parameter| parameter < operands).collect())
}

pub(super) fn product(parameters: &[usize]) -> Option<Shares> {
    (parameters == [0, 1]).then(shares::product)
}

pub(super) fn sliced(parameters: &[usize], slices: Vec<SliceInfoElem>) -> Option<Shares> {
    (parameters == [0]).then(|| moved_by(move |lengths| moved::sliced(lengths, &slices)))
}

/// Of a call, with what is known of its arguments.
pub(super) fn of_call(call: &Call, parameters: &[usize]) -> Option<Shares> {
    let axis = |place, default| call.integer::<isize>(place, default).ok().map(|axis| axis as i128);
    let is_of = |wanted: &[usize]| (parameters == wanted).then_some(());
    Some(match cut(call.name) {
        Cut::Whole => return None,
        Cut::Each(operands) => each(operands, parameters),
        Cut::Alike => is_of(&[0, 1, 2]).map(|()| shares::alike())?,
        Cut::Over(place) => is_of(&[0]).and(axes(call, place)).map(|axes| shares::reduced(&axes))?,
        Cut::Back(place) => is_of(&[0, 1]).and(axes(call, place)).map(|axes| shares::reduced_back(&axes))?,
        Cut::Along(place) => is_of(&[0]).and(axis(place, Some(-1))).map(|axis| shares::beside(axis, |rank| rank))?,
        Cut::Taken(place) => {
            let (axis, taken) = (axis(place, None)?, call.positions(1).ok()?.ndim());
            shares::beside(axis, move |rank| rank - 1 + taken)
        }
        Cut::Among(place) => shares::apart_from(&call.some_axes(place).ok()?),
        Cut::Scaled(place) => {
            is_of(&[0, 2])?;
            shares::scaled(axis(place, None)? as isize)
        }
        Cut::Joined(place) => shares::joined(axis(place, Some(0))? as isize, call.name == "stack"),
        Cut::Product => product(parameters)?,
        Cut::Moved => {
            is_of(&[0])?;
            let moves = moves(call).ok()?;
            moved_by(move |_| Ok(moves.clone()))
        }
    })
}

/// The reduction that a call is, without labels, if its operand may come in parts.
pub(super) fn fold(call: &Call) -> Option<PouredFold> {
    let options = match call.name {
        "any" | "all" | "count_nonzero" | "sum" | "nansum" | "mean" | "nanmean" | "min" | "max" | "nanmin"
        | "nanmax" => PouredOptions::Axes(axes(call, 1)?),
        "norm" => PouredOptions::Norm(norm_of(call, 1).ok()?),
        "var" | "std" | "nanvar" | "nanstd" => PouredOptions::Var(var_of(call, 1).ok()?),
        "median" | "nanmedian" => PouredOptions::Median(median_of(call, 1).ok()?),
        "quantile" | "nanquantile" => PouredOptions::Quantile(call.real(1).ok()?, quantile_of(call, 2).ok()?),
        _ => return None,
    };
    let is_stored = call.seen(0).ok()?.is_stored();
    let fold = PouredFold { name: call.name, options, is_stored };
    fold.options.axes().grouping().is_none().then_some(fold)
}

/// The axes at a place, whether they are kept, and labels of one.
fn axes(call: &Call, place: usize) -> Option<Axes> {
    call.axes(place, labels(call.name)?).ok()
}

/// Where the labels of a reduction stand; behind all arguments where it takes none.
fn labels(name: &str) -> Option<usize> {
    let function = table::function(name)?;
    Some(function.parameters().position(|name| name == "by?").unwrap_or(usize::MAX))
}

/// The shape of what a call gives that stores something where its operands store nothing.
pub(super) fn shape_of(call: &Call) -> Option<Shape> {
    let mut lengths = call.moving(0).ok()?.shape().to_vec();
    if let "topk" | "topk_index" = call.name {
        let axis = normalize_axis(call.integer::<isize>(2, Some(-1)).ok()? as i128, lengths.len()).ok()?;
        lengths[axis] = call.integer(1, None).ok()?;
    }
    // An array has a softmax, and the tensor that stands for it has none.
    matches!(call.name, "topk" | "topk_index" | "argsort" | "softmax" | "log_softmax").then(|| lengths.into())
}

/// The move that a call is.
fn moves(call: &Call) -> Result<Moves, Fault> {
    let x = call.moving(0)?;
    let lengths: &[usize] = &x.shape();
    let axis = |place| call.integer::<isize>(place, None);
    let found = match call.name {
        "slice" => moved::sliced(lengths, &call.slices(1, x)?),
        "flip" => moved::flipped(lengths, call.some_axes(1)?),
        "roll" => moved::rolled(lengths, axis(1)?, axis(2)?),
        "pad" => moved::padded(lengths, &call.pairs(1)?),
        "tile" => moved::tiled(lengths, &call.integers::<usize>(1)?),
        "repeat" => moved::repeated(lengths, call.integer(1, None)?, axis(2)?),
        "broadcast_to" => moved::broadcast(lengths, call.shape(1)?),
        "squeeze" => moved::squeezed(lengths, call.some_axes(1)?),
        "expand_dims" => moved::expanded(lengths, call.some_axes(1)?),
        "transpose" if !call.is_given(1) => moved::transposed(lengths),
        "transpose" | "permute_axes" => moved::permuted(lengths, &call.integers::<isize>(1)?),
        "move_axis" => moved::moved(lengths, axis(1)?, axis(2)?),
        "tril" => moved::lower(lengths, call.integer(1, Some(0))?),
        "triu" => moved::upper(lengths, call.integer(1, Some(0))?),
        _ => moved::on_diagonal(lengths, call.integer(1, Some(0))?),
    };
    found.map_err(Fault::Run)
}
