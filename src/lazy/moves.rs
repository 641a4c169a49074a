//! Shape manipulation as steps.

use ndarray::SliceInfoElem;

use super::Lazy;
use super::call::{Arg, Call};
use super::kit::mover;
use super::steps::Steps;
use crate::base::axes::Axes;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::ops::op;

impl<T: Element, X: Steps<Elem = T>> Lazy<X> {
    /// Returns the step `permute_axes` of tensors: the axes in another order.
    #[track_caller]
    pub fn permute_axes(&self, axes: impl AsRef<[isize]>) -> Lazy<X::Of<T>> {
        let axes = Arg::integers(axes.as_ref());
        Lazy::step(Call::of(&op::permute_axes, [Arg::Input(0), axes]), [&self.node], mover::<X>())
    }

    /// Returns the step [`slice`](crate::slice()).
    #[track_caller]
    pub fn slice(&self, slices: impl AsRef<[SliceInfoElem]>) -> Lazy<X::Of<T>> {
        let slices = Arg::Slices(slices.as_ref().into());
        Lazy::step(Call::of(&op::slice, [Arg::Input(0), slices]), [&self.node], mover::<X>())
    }
}

macro_rules! moves {
    ($($name:ident($($arg:ident: $type:ty => $as_arg:expr),*);)*) => {
        /// # Shape manipulation
        ///
        /// Each method is documented at the function of the same name.
        impl<T: Element, X: Steps<Elem = T>> Lazy<X> {$(
            #[doc = concat!("The step [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
            #[track_caller]
            pub fn $name(&self, $($arg: $type),*) -> Lazy<X::Of<T>> {
                Lazy::step(Call::of(&op::$name, [Arg::Input(0), $($as_arg),*]), [&self.node], mover::<X>())
            }
        )*}
    };
}

moves! {
    flip(axes: impl Into<Axes> => Arg::Axes(axes.into()));
    roll(places: isize => Arg::Integer(places as i128), axis: isize => Arg::Integer(axis as i128));
    pad(widths: impl AsRef<[(usize, usize)]> => Arg::Pairs(widths.as_ref().into()));
    tile(times: impl AsRef<[usize]> => Arg::counts(times.as_ref()));
    repeat(times: usize => Arg::Integer(times as i128), axis: isize => Arg::Integer(axis as i128));
    broadcast_to(shape: impl Into<Shape> => Arg::counts(&shape.into()));
    squeeze(axes: impl Into<Axes> => Arg::Axes(axes.into()));
    expand_dims(axes: impl Into<Axes> => Arg::Axes(axes.into()));
    transpose();
    move_axis(from: isize => Arg::Integer(from as i128), to: isize => Arg::Integer(to as i128));
    tril(offset: isize => Arg::Integer(offset as i128));
    triu(offset: isize => Arg::Integer(offset as i128));
    diagonal(offset: isize => Arg::Integer(offset as i128));
}
