//! The positions of the arguments that a chunk of a result needs: the rules of `lazy/shares.rs`, by function.

use super::Fault;
use super::call::Call;
use super::options::{median_of, norm_of, quantile_of, var_of};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::shape::Shape;
use crate::dynamic::{PouredFold, PouredOptions};
use crate::lazy::any::moved_by;
use crate::lazy::shares::{self, Shares};
use crate::ops::moved::{self, Moves};
use crate::ops::{OpSpec, Split, Stream};

/// Returns whether a function with inputs at these parameters is elementwise and keeps their common pattern.
pub(super) fn is_each(op: &OpSpec, parameters: &[usize]) -> bool {
    op.split == Split::Each && op.keeps_pattern && parameters.iter().all(|&at| at < op.operands())
}

/// Returns the rule of a function that is elementwise in its first `operands` parameters.
pub(super) fn each(operands: usize, parameters: &[usize]) -> Shares {
    shares::each_of(parameters.iter().map(|&parameter| parameter < operands).collect())
}

pub(super) fn product(parameters: &[usize]) -> Option<Shares> {
    (parameters == [0, 1]).then(shares::product)
}

/// Returns the rule of a call, from its known arguments.
pub(super) fn of_call(call: &Call, parameters: &[usize]) -> Option<Shares> {
    let axis = |place, default| call.integer::<isize>(place, default).ok().map(|axis| axis as i128);
    let is_of = |wanted: &[usize]| (parameters == wanted).then_some(());
    let op = OpSpec::named(call.name)?;
    let place = op.place_of("axis");
    Some(match op.split {
        Split::Whole => return None,
        Split::Each => each(op.operands(), parameters),
        Split::Alike => is_of(&[0, 1, 2]).map(|()| shares::alike())?,
        Split::Over => is_of(&[0]).and(axes(call, op)).map(|axes| shares::reduced(&axes))?,
        Split::Back => is_of(&[0, 1]).and(axes(call, op)).map(|axes| shares::reduced_back(&axes))?,
        Split::Along => is_of(&[0]).and(axis(place?, Some(-1))).map(|axis| shares::beside(axis, |rank| rank))?,
        Split::Taken => {
            let (axis, taken) = (axis(place?, None)?, call.positions(1).ok()?.ndim());
            shares::beside(axis, move |rank| rank - 1 + taken)
        }
        Split::Among => shares::apart_from(&call.some_axes(place?).ok()?),
        Split::Scaled => {
            is_of(&[0, 2])?;
            shares::scaled(axis(place?, None)? as isize)
        }
        Split::Joined => shares::joined(axis(place?, Some(0))? as isize, call.name == "stack"),
        Split::Product => product(parameters)?,
        Split::Contracted => {
            is_of(&[0, 1])?;
            let rank = call.seen(1).ok()?.shape().rank();
            shares::beside(axis(place?, None)?, move |axes| (axes + rank).saturating_sub(2))
        }
        Split::Moved => {
            is_of(&[0])?;
            let moves = moves(call).ok()?;
            moved_by(move |_| Ok(moves.clone()))
        }
    })
}

/// Returns the streaming reduction of a call, if the operation supports chunks and the call does not have group labels.
pub(super) fn fold(call: &Call) -> Option<PouredFold> {
    let op = OpSpec::named(call.name).filter(|op| op.stream != Stream::Whole)?;
    let options = match (op.place_of("q"), ["ord", "ddof", "even"].map(|option| op.place_of(option).is_some())) {
        (Some(q), _) => PouredOptions::Quantile(call.real(q).ok()?, quantile_of(call, q + 1).ok()?),
        (None, [true, ..]) => PouredOptions::Norm(norm_of(call, 1).ok()?),
        (None, [_, true, _]) => PouredOptions::Var(var_of(call, 1).ok()?),
        (None, [.., true]) => PouredOptions::Nanmedian(median_of(call, 1).ok()?),
        (None, _) => PouredOptions::Axes(axes(call, op)?),
    };
    let is_stored = call.seen(0).ok()?.is_stored();
    let fold = PouredFold { op, options, is_stored };
    fold.options.axes().grouping().is_none().then_some(fold)
}

/// Returns the axes of a call, with `keep_dims` and group labels.
fn axes(call: &Call, op: &OpSpec) -> Option<Axes> {
    // For an operation without `by`, the labels are looked up after all parameters, where no argument is.
    call.axes(op.place_of("axis")?, op.place_of("by").unwrap_or(usize::MAX)).ok()
}

/// Returns the shape of a result that stores entries even if the operands store nothing.
pub(super) fn shape_of(call: &Call) -> Option<Shape> {
    let mut lengths = call.moving(0).ok()?.shape().to_vec();
    if let "topk" | "topk_index" = call.name {
        let axis = normalize_axis(call.integer::<isize>(2, Some(-1)).ok()? as i128, lengths.len()).ok()?;
        lengths[axis] = call.integer(1, None).ok()?;
    }
    // An array supports `softmax`, but the tensor without entries that represents the array does not.
    matches!(call.name, "topk" | "topk_index" | "argsort" | "softmax" | "log_softmax").then(|| lengths.into())
}

/// Returns the moves of a call.
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
