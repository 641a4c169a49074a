//! Shape manipulation as steps.

use ndarray::SliceInfoElem;

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::mover;
use super::steps::{LazyStored, Steps, methods};
use crate::base::axes::Axes;
use crate::base::shape::Shape;
use crate::element::{Element, Ring};
use crate::ops::{OpSpec, op};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Returns the step of a move of elements.
#[track_caller]
fn moved<X: Steps, const N: usize>(x: &Lazy<X>, op: &'static OpSpec, args: [Arg; N]) -> Lazy<X::Of<X::Elem>> {
    let args = std::iter::once(Arg::Input(0)).chain(args);
    Lazy::step(Call::of(op, args), [&x.node], mover::<X>())
}

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "Returns the step `permute_axes` of tensors: the axes in another order." =>
        permute_axes(x, axes: impl AsRef<[isize]>) -> Lazy<X::Of<T>> {
            moved(x, &op::permute_axes, [Arg::integers(axes.as_ref())])
        }
        "Returns the step [`slice`](crate::slice())." =>
        slice(x, slices: impl AsRef<[SliceInfoElem]>) -> Lazy<X::Of<T>> {
            moved(x, &op::slice, [Arg::Slices(slices.as_ref().into())])
        }
    }
}

/// # Shape manipulation
///
/// Each method is documented at the function of the same name.
impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "The step [`flip`](crate::flip())." => flip(x, axes: impl Into<Axes>) -> Lazy<X::Of<T>> {
            moved(x, &op::flip, [Arg::Axes(axes.into())])
        }
        "The step [`roll`](crate::roll())." => roll(x, places: isize, axis: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::roll, [places, axis].map(|arg| Arg::Integer(arg as i128)))
        }
        "The step [`pad`](crate::pad())." => pad(x, widths: impl AsRef<[(usize, usize)]>) -> Lazy<X::Of<T>> {
            moved(x, &op::pad, [Arg::Pairs(widths.as_ref().into())])
        }
        "The step [`tile`](crate::tile())." => tile(x, times: impl AsRef<[usize]>) -> Lazy<X::Of<T>> {
            moved(x, &op::tile, [Arg::counts(times.as_ref())])
        }
        "The step [`repeat`](crate::repeat())." => repeat(x, times: usize, axis: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::repeat, [Arg::Integer(times as i128), Arg::Integer(axis as i128)])
        }
        "The step [`broadcast_to`](crate::broadcast_to())." => broadcast_to(x, shape: impl Into<Shape>) -> Lazy<X::Of<T>> {
            moved(x, &op::broadcast_to, [Arg::counts(&shape.into())])
        }
        "The step [`squeeze`](crate::squeeze())." => squeeze(x, axes: impl Into<Axes>) -> Lazy<X::Of<T>> {
            moved(x, &op::squeeze, [Arg::Axes(axes.into())])
        }
        "The step [`expand_dims`](crate::expand_dims())." => expand_dims(x, axes: impl Into<Axes>) -> Lazy<X::Of<T>> {
            moved(x, &op::expand_dims, [Arg::Axes(axes.into())])
        }
        "The step [`transpose`](crate::transpose())." => transpose(x) -> Lazy<X::Of<T>> {
            moved(x, &op::transpose, [])
        }
        "The step [`move_axis`](crate::move_axis())." => move_axis(x, from: isize, to: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::move_axis, [from, to].map(|arg| Arg::Integer(arg as i128)))
        }
        "The step [`tril`](crate::tril())." => tril(x, offset: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::tril, [Arg::Integer(offset as i128)])
        }
        "The step [`triu`](crate::triu())." => triu(x, offset: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::triu, [Arg::Integer(offset as i128)])
        }
        "The step [`diagonal`](crate::diagonal())." => diagonal(x, offset: isize) -> Lazy<X::Of<T>> {
            moved(x, &op::diagonal, [Arg::Integer(offset as i128)])
        }
    }
}

/// # Sums of diagonals
///
/// Each method is documented at the function of the same name.
impl<T: Ring, X: Steps<Elem = T>> Lazy<X> {
    methods! {
        "Returns [`trace`](crate::trace()) as the steps `diagonal` and `sum`." =>
        trace(x, offset: isize) -> Lazy<<X::Of<T> as Steps>::Of<T::Sum>> {
            x.diagonal(offset).sum(-1)
        }
    }
}

/// # Sums of diagonals
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Ring> LazyStored<P, T> {
    methods! {
        "Returns [`trace`](crate::trace()) of the stored entries as the steps `diagonal` and `sum`." =>
        trace(x, offset: isize) -> Lazy<Tensor<P, T::Sum>> {
            x.x.diagonal(offset).stored().sum(-1)
        }
    }
}
