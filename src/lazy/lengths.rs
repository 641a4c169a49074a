//! The shapes of results, from calls and the shapes of their inputs: one rule for each family of operations.

use super::call::{Arg, Call};
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::shape::{self, Shape};
use crate::ops::moved::{self, Moves};
use crate::ops::{self, Select, ShapeRule, op};
use crate::plan::product::Contraction;
use crate::plan::reduction::Reduction;

/// Returns the shape of the result of a call; `None` if the shapes of the inputs do not determine the shape.
///
/// # Errors
///
/// The errors of the operation that depend only on shapes and arguments.
pub(super) fn of_call(call: &Call, inputs: &[&Shape]) -> Result<Option<Shape>> {
    let operands: Vec<&Shape> = call.inputs().into_iter().filter_map(|at| inputs.get(at).copied()).collect();
    let first = operands.first().copied();
    let two = || operands.first().copied().zip(operands.get(1).copied());
    Ok(match call.op.lengths() {
        ShapeRule::Unknown => None,
        ShapeRule::Scalar => two().map(|(x, y)| together(x, y)).transpose()?.map(|_| [].into()),
        ShapeRule::First => first.cloned(),
        ShapeRule::Second => operands.get(1).copied().cloned(),
        ShapeRule::Broadcast => match two() {
            Some((x, y)) => Some(together(x, y)?),
            None => first.cloned(),
        },
        ShapeRule::Choice => operands.split_first().and_then(|(condition, both)| {
            both.iter().try_fold(Shape::clone(condition), |shape, operand| shape::broadcast(&shape, operand))
        }),
        ShapeRule::Same => match two() {
            Some((x, mask)) if x != mask => return Err(unlike("the mask", x, mask)),
            _ => first.cloned(),
        },
        // Labels and slices that are not yet bound to the shape of an operand do not determine the result.
        ShapeRule::Reduced if !matches!(call.named("by"), Arg::Absent) => None,
        ShapeRule::Moved if matches!(call.named("slices"), Arg::Text(_)) => None,
        ShapeRule::Reduced => first.map(|x| Reduction::new(x, &call.axes())).transpose()?.map(|it| it.result_shape()),
        ShapeRule::Among => first.map(|x| Reduction::new(x, &call.axes()).map(|_| x.clone())).transpose()?,
        ShapeRule::Along => first.map(|x| along(call, x)).transpose()?,
        ShapeRule::Scaled => two().map(|(x, factors)| scaled(call, x, factors)).transpose()?,
        ShapeRule::Joined | ShapeRule::Stacked => Some(joined(call, &operands)?),
        ShapeRule::Product => two().map(|(x, y)| product(call, x, y, operands.get(2).copied())).transpose()?,
        ShapeRule::Moved => first.map(|x| moves(call, x)).transpose()?.map(|moves| moves.shape().clone()),
        ShapeRule::Taken => first.map(|x| taken(call, x)).transpose()?.flatten(),
        ShapeRule::Gathered => first.map(|x| gathered(call, x)).transpose()?.flatten(),
        ShapeRule::Outer => two().map(|(x, y)| [&x[..], &y[..]].concat().into()),
        ShapeRule::Kron => two().map(|(x, y)| ops::Pairs::Kron.shapes(x, y)).transpose()?.map(|(shape, _)| shape),
        ShapeRule::Tensordot => two().map(|(x, y)| tensordot(call, x, y)).transpose()?,
        ShapeRule::Einsum => super::einsum::shape_of(call, &operands)?,
        ShapeRule::Mttkrp => factored(call, &operands)?,
        ShapeRule::Contracted(rank) => two().map(|(x, y)| contracted(call, x, y, rank)).transpose()?,
        ShapeRule::Dots => match operands[..] {
            [x, left, right] => ops::check_factors(x, left, right).map(|()| Some(x.clone()))?,
            _ => None,
        },
        ShapeRule::Reshaped => first.map(|x| reshaped(call, x)).transpose()?.flatten(),
        ShapeRule::Variables => {
            let side = |x: &Shape| ops::variables_of(x, call.position("axis", 0) as i128);
            first.map(side).transpose()?.map(|side| [side, side].into())
        }
        ShapeRule::Diagonal => {
            let side = |x| ops::diagonal_side(x, call.position("offset", 0));
            first.map(side).transpose()?.map(|side| [side, side].into())
        }
    })
}

fn unlike(what: &'static str, expected: &Shape, found: &Shape) -> Error {
    Error::ShapeMismatch { what, expected: expected.clone(), found: found.clone() }
}

/// Returns the broadcast shape of both operands.
fn together(left: &Shape, right: &Shape) -> Result<Shape> {
    let unlike = || Error::NotBroadcastable { left: left.clone(), how: "together with", right: right.clone() };
    shape::broadcast(left, right).ok_or_else(unlike)
}

/// Returns the shape of a result along an axis. The length of the axis may change.
fn along(call: &Call, x: &Shape) -> Result<Shape> {
    let axis = normalize_axis(call.position("axis", -1) as i128, x.rank())?;
    let mut lengths = x.to_vec();
    if call.integer("k").is_some() {
        lengths[axis] = call.count("k");
    }
    if call.op.is(&op::diff) {
        lengths[axis] = lengths[axis].saturating_sub(call.order());
    }
    Ok(lengths.into())
}

/// Returns the shape of a scaled tensor. Rejects factors if their number differs from the length of the axis.
fn scaled(call: &Call, x: &Shape, factors: &Shape) -> Result<Shape> {
    let expected = x[normalize_axis(call.position("axis", 0) as i128, x.rank())?];
    match factors[..] {
        [found] if found == expected => Ok(x.clone()),
        [found] => Err(Error::LengthMismatch { what: "the factors", expected, found }),
        _ => Err(Error::RankMismatch { what: "the factors", expected: 1, found: factors.rank() }),
    }
}

fn joined(call: &Call, operands: &[&Shape]) -> Result<Shape> {
    let first = operands.first().ok_or(Error::NoTensor)?;
    let (is_new, lengths) = (call.op.lengths() == ShapeRule::Stacked, operands.iter().map(|shape| &***shape));
    let axis = normalize_axis(call.position("axis", 0) as i128, first.rank() + usize::from(is_new))?;
    if is_new { ops::stacked_shape(axis, lengths) } else { ops::joined_shape(axis, lengths) }
}

/// Returns the shape of a product of matrices, or of vectors and matrices. A mask must have this shape.
fn product(_: &Call, x: &Shape, y: &Shape, mask: Option<&Shape>) -> Result<Shape> {
    let expected = Contraction::new("matmul", [x, x], [y, y])?.shape;
    match mask {
        Some(mask) if *mask != expected => Err(unlike("the mask", &expected, mask)),
        _ => Ok(expected),
    }
}

fn tensordot(call: &Call, x: &Shape, y: &Shape) -> Result<Shape> {
    let axes = ["left", "right"].map(|side| call.integers::<isize>(side));
    ops::tensordot_shape([x, y], [&axes[0], &axes[1]])
}

/// Returns the shape of a product with one factor matrix per axis, except one axis.
fn factored(call: &Call, shapes: &[&Shape]) -> Result<Option<Shape>> {
    let [x, factors @ ..] = shapes else { return Ok(None) };
    let mode = normalize_axis(call.position("mode", 0) as i128, x.rank())?;
    let Some(&width) = factors.first().and_then(|factor| factor.last()) else { return Ok(None) };
    let axes = (0..x.rank()).filter(|&axis| axis != mode);
    for (expected, &found) in axes.map(|axis| Shape::from([x[axis], width])).zip(factors) {
        if expected != *found {
            return Err(unlike("a factor", &expected, found));
        }
    }
    // The operation itself reports a wrong number of factors.
    Ok((factors.len() + 1 == x.rank()).then(|| [x[mode], width].into()))
}

/// Returns the error for an array whose rank an operation does not accept.
pub(super) fn wrong_rank(operation: &'static str, rank: usize) -> Error {
    Error::Argument { operation, why: format!("an array of rank {rank} is not supported") }
}

/// Returns the shape of a product of one axis with the last axis of an array of this rank.
fn contracted(call: &Call, x: &Shape, y: &Shape, rank: usize) -> Result<Shape> {
    let axis = normalize_axis(call.position("axis", 0) as i128, x.rank())?;
    let (expected, mut shape) = (x[axis], x.to_vec());
    match (y.rank() == rank).then(|| y.split_last()).flatten() {
        None => Err(wrong_rank(call.op.name, y.rank())),
        Some((&found, _)) if found != expected => {
            Err(Error::LengthMismatch { what: "a row of the matrix", expected, found })
        }
        Some((_, rows)) => {
            shape.splice(axis..=axis, rows.iter().copied());
            Ok(shape.into())
        }
    }
}

/// Returns the shape of a reshape; `None` if no length completes the shape, which the operation itself reports.
fn reshaped(call: &Call, from: &Shape) -> Result<Option<Shape>> {
    match completed(call, from) {
        Some(to) if from.wide_size() != to.wide_size() => Err(Error::ReshapeSize { from: from.clone(), to }),
        to => Ok(to),
    }
}

/// Returns the shape in the argument `shape`, in which the length that remains of `from` replaces -1. Returns `None` if
/// there is not exactly one such length.
pub(crate) fn completed(call: &Call, from: &Shape) -> Option<Shape> {
    let given = call.integers::<i128>("shape");
    let Some(open) = given.iter().position(|&length| length == -1) else { return Some(call.shape()) };
    let (size, others) = (from.wide_size(), call.shape().wide_size());
    let is_exact = size < u128::MAX && size.checked_rem(others) == Some(0);
    let length = is_exact.then(|| usize::try_from(size / others).ok()).flatten()?;
    let mut lengths = call.shape().to_vec();
    lengths.insert(open, length);
    Some(lengths.into())
}

/// Returns the shape of the elements that are taken at positions.
fn taken(call: &Call, x: &Shape) -> Result<Option<Shape>> {
    let Arg::Typed(positions) = call.named("indices") else { return Ok(None) };
    positions.taken_shape(x, call.integer("axis")).transpose()
}

/// Returns the shape of the elements at positions, with one list of indices per axis or with the positions along one
/// axis.
fn gathered(call: &Call, x: &Shape) -> Result<Option<Shape>> {
    match call.named("indices") {
        Arg::Typed(positions) => {
            let axis = normalize_axis(call.position("axis", -1) as i128, x.rank())?;
            let of_axis = positions.taken_shape(&[x[axis]].into(), None).transpose()?;
            of_axis.map(|positions| ops::along_shape(x, &positions, axis)).transpose()
        }
        Arg::List(lists) if lists.len() != x.rank() => {
            Err(Error::RankMismatch { what: "the positions", expected: x.rank(), found: lists.len() })
        }
        Arg::List(lists) => match lists.first() {
            Some(Arg::Typed(positions)) => positions.taken_shape(&[x[0]].into(), None).transpose(),
            Some(_) => Ok(None),
            None => Ok(Some([].into())),
        },
        _ => Ok(None),
    }
}

/// Returns the moves of a call, for an operand of these lengths.
pub(crate) fn moves(call: &Call, lengths: &[usize]) -> Result<Moves> {
    let axis = |parameter| call.position(parameter, 0);
    let permutation = || call.integers::<isize>("axes");
    match call.op {
        op if op.is(&op::slice) => moved::sliced(lengths, call.slices().map_or(&[][..], |slices| slices)),
        op if op.is(&op::flip) => moved::flipped(lengths, call.axes()),
        op if op.is(&op::roll) => moved::rolled(lengths, axis("places"), axis("axis")),
        op if op.is(&op::pad) => match call.named("widths") {
            Arg::Pairs(widths) => moved::padded(lengths, widths),
            _ => moved::padded(lengths, []),
        },
        op if op.is(&op::tile) => moved::tiled(lengths, call.integers::<usize>("times")),
        op if op.is(&op::repeat) => moved::repeated(lengths, call.count("times"), axis("axis")),
        op if op.is(&op::broadcast_to) => moved::broadcast(lengths, call.shape()),
        op if op.is(&op::squeeze) => moved::squeezed(lengths, call.axes()),
        op if op.is(&op::expand_dims) => moved::expanded(lengths, call.axes()),
        op if op.is(&op::transpose) && matches!(call.named("axes"), Arg::Absent) => moved::transposed(lengths),
        op if op.is(&op::transpose) || op.is(&op::permute_axes) => moved::permuted(lengths, &permutation()),
        op if op.is(&op::move_axis) => moved::moved(lengths, axis("from"), axis("to")),
        op if op.is(&op::tril) => moved::lower(lengths, axis("offset")),
        op if op.is(&op::triu) => moved::upper(lengths, axis("offset")),
        _ => moved::on_diagonal(lengths, axis("offset")),
    }
}
