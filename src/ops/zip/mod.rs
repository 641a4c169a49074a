//! Elementwise binary operations.
//!
//! A descriptor is a [`Zip`]. The drivers are for two sparse tensors and for a sparse tensor with an array or a number
//! ([`sparse`]), and for two arrays ([`dense`]). The [`Partner`] selects the driver.

mod allclose;
pub(crate) mod backward;
mod bits;
pub(crate) mod chosen;
mod compare;
mod copysign;
pub(super) mod dense;
pub(crate) mod descriptors;
mod diff;
mod extremes;
mod logaddexp;
mod mask;
mod nextafter;
mod operators;
mod polar;
mod pow;
mod products;
mod remainders;
mod repeated;
#[cfg(feature = "dynamic")]
mod run_time;
mod scale;
mod shifts;
pub(super) mod sparse;
mod sparse_pair;
mod sums;
mod to_dense;
mod where_;
mod zip_with;

#[cfg(any(feature = "dynamic", feature = "lazy"))]
pub(crate) use allclose::Closeness;
pub use allclose::{Tolerance, allclose, is_close};
pub use bits::{bit_and, bit_or, bit_xor};
pub use compare::{equal, greater, greater_equal, less, less_equal, not_equal};
pub use copysign::copysign;
pub use diff::diff;
pub use extremes::{maximum, minimum};
pub use logaddexp::logaddexp;
pub use nextafter::nextafter;
pub use polar::{atan2, hypot};
pub use pow::pow;
pub use products::{div, mul, mul_nonzero};
pub use remainders::{div_floor, rem, rem_euclid, rem_floor};
pub(crate) use scale::scale_nonzero;
pub use scale::{Factors, scale};
pub use shifts::{shift_left, shift_right};
pub use sums::{add, sub};
#[cfg(feature = "dynamic")]
pub(crate) use where_::where_run_time;
pub use where_::{Choice, where_};
pub use zip_with::zip_with;
// Inside the crate, a gradient is called `NAME_backward`.
pub(crate) use {backward::*, diff::*, mask::*};

/// The gradients, by the names of their functions.
pub(super) mod grad {
    pub use super::backward::where_backward as where_;
    pub use super::copysign::copysign_backward as copysign;
    pub use super::diff::diff_backward as diff;
    pub use super::extremes::{maximum_backward as maximum, minimum_backward as minimum};
    pub use super::logaddexp::logaddexp_backward as logaddexp;
    pub use super::mask::{mask_backward as mask, without_backward as without};
    pub use super::polar::{atan2_backward as atan2, hypot_backward as hypot};
    pub use super::pow::pow_backward as pow;
    pub use super::products::{div_backward as div, mul_backward as mul};
    pub use super::sums::{add_backward as add, sub_backward as sub};
}

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, arr0};

use crate::base::error::{Error, Result};
use crate::base::shape::{self, Shape};
use crate::element::{Element, Number};
use crate::kernels::op::{GroupError, Outcome};
use crate::kernels::zip::{Swapped, UnpairedEntry, Zip};
#[cfg(feature = "dynamic")]
use crate::ops::operand::ErasedOperand;
use crate::ops::operand::Operand;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The right operand of an elementwise operation whose left operand is `X`.
///
/// | left | right | result |
/// | --- | --- | --- |
/// | tensor | `&tensor` or `tensor`, of the same format and index type | tensor |
/// | tensor | view (`x.stored()`) | tensor of stored entries |
/// | view | `&tensor`, `tensor` or view | tensor of stored entries |
/// | tensor or view | `&array` | tensor |
/// | array | `&tensor`, `tensor` or a view | tensor |
/// | array | `&array` | array |
/// | tensor or view | number of the element type | tensor |
/// | array | number of the element type | array |
///
/// Tensors of different formats do not compile: `to_coo` and `to_csr` convert them, at a documented cost. The trait is
/// sealed.
///
/// ```compile_fail,E0277
/// use lacuna::CooTensor;
///
/// let x = CooTensor::full([2, 2], 1.0)?;
/// let sum = x.add(&x.to_csr()?)?; // x.add(&y.to_coo()?)
/// # Ok::<(), lacuna::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with `{X}` in an elementwise operation",
    label = "not a tensor of the same format, a view, an array or a number of the element type",
    note = "pass a reference to a tensor or array, `&y`; convert operands to the same type with `to_coo`, `to_csr` \
            and `cast`"
)]
pub trait Partner<X: Operand>: Sized {
    /// The element type of the right operand.
    type Elem: Element;

    /// The type of the result, with elements of type `U`.
    type Zipped<U: Element>;

    #[doc(hidden)]
    fn zip<Z: Zip<X::Elem, Self::Elem>>(self, x: &X, op: Z) -> Result<Self::Zipped<Z::Out>>;
}

/// Implements [`Partner`] for pairs of types, from the element type, the type of the results, and the driver.
macro_rules! partners {
    ($([$($generics:tt)*] $x:ty, $y:ty: $elem:ty => $zipped:ty, |$left:ident, $right:ident, $op:ident| $zip:expr;)*)
        => {$(
        impl<$($generics)*> Partner<$x> for $y {
            type Elem = $elem;
            type Zipped<U: Element> = $zipped;

            fn zip<Z: Zip<<$x as Operand>::Elem, $elem>>(self, $left: &$x, $op: Z) -> Result<Self::Zipped<Z::Out>> {
                let $right = self;
                $zip
            }
        }
    )*};
}

partners! {
    [P: Pattern, A: Element, B: Element] Tensor<P, A>, &Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, y, op);
    [P: Pattern, A: Element, B: Element] Tensor<P, A>, Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, &y, op);
    [P: Pattern, A: Element, B: Element] Tensor<P, A>, Stored<'_, P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, &y, op);
    [P: Pattern, A: Element, B: Element] Tensor<P, A>, &Stored<'_, P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, y, op);
    ['s, P: Pattern, A: Element, B: Element] Stored<'s, P, A>, &Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, y, op);
    ['s, P: Pattern, A: Element, B: Element] Stored<'s, P, A>, Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, &y, op);
    ['s, P: Pattern, A: Element, B: Element] Stored<'s, P, A>, Stored<'_, P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, &y, op);
    ['s, P: Pattern, A: Element, B: Element] Stored<'s, P, A>, &Stored<'_, P, B>: B => Tensor<P, U>,
        |x, y, op| sparse_pair::pair(x, y, op);
    [P: Pattern, A: Element, S: Data<Elem: Element>, D: Dimension] Tensor<P, A>, &ArrayBase<S, D>:
        S::Elem => Tensor<P, U>, |x, y, op| sparse::with_array(x, y.view().into_dyn(), op);
    ['s, P: Pattern, A: Element, S: Data<Elem: Element>, D: Dimension] Stored<'s, P, A>, &ArrayBase<S, D>:
        S::Elem => Tensor<P, U>, |x, y, op| sparse::with_array(x, y.view().into_dyn(), op);
    [P: Pattern, T: Element] Tensor<P, T>, T: T => Tensor<P, U>, |x, y, op| sparse::with_number(x, y, op);
    ['s, P: Pattern, T: Element] Stored<'s, P, T>, T: T => Tensor<P, U>, |x, y, op| sparse::with_number(x, y, op);
    [P: Pattern, B: Element, S: Data<Elem: Element>, D: Dimension] ArrayBase<S, D>, &Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse::with_array(y, x.view().into_dyn(), Swapped(op));
    [P: Pattern, B: Element, S: Data<Elem: Element>, D: Dimension] ArrayBase<S, D>, Tensor<P, B>: B => Tensor<P, U>,
        |x, y, op| sparse::with_array(&y, x.view().into_dyn(), Swapped(op));
    [P: Pattern, B: Element, S: Data<Elem: Element>, D: Dimension] ArrayBase<S, D>, Stored<'_, P, B>: B => Tensor<P, U>,
        |x, y, op| sparse::with_array(&y, x.view().into_dyn(), Swapped(op));
    [P: Pattern, B: Element, S: Data<Elem: Element>, D: Dimension] ArrayBase<S, D>, &Stored<'_, P, B>:
        B => Tensor<P, U>, |x, y, op| sparse::with_array(y, x.view().into_dyn(), Swapped(op));
    [S: Data<Elem: Element>, R: Data<Elem: Element>, D: Dimension, E: Dimension] ArrayBase<S, D>, &ArrayBase<R, E>:
        R::Elem => ArrayD<U>, |x, y, op| dense::pair(x.view().into_dyn(), y.view().into_dyn(), op);
    [T: Element, S: Data<Elem = T>, D: Dimension] ArrayBase<S, D>, T: T => Array<U, D>, |x, y, op| {
        let result = dense::pair(x.view().into_dyn(), arr0(y).view().into_dyn(), op)?;
        Ok(result.into_dimensionality().expect("a number changes no shape"))
    };
}

#[cfg(feature = "dynamic")]
partners! {
    ['s, T: Element] ErasedOperand<'s, T>, &ErasedOperand<'_, T>: T => ErasedOperand<'static, U>,
        |x, y, op| run_time::pair(x, y, op).map(Into::into);
    ['s, T: Element] ErasedOperand<'s, T>, T: T => ErasedOperand<'static, U>,
        |x, y, op| run_time::with_number(x, y, op).map(Into::into);
}

/// Returns the shape of the result of operands with two shapes.
fn broadcast_shape(left: &[usize], right: &[usize]) -> Result<Shape> {
    shape::broadcast(left, right).ok_or_else(|| Error::NotBroadcastable {
        left: left.into(),
        how: "together with",
        right: right.into(),
    })
}

/// Returns whether an operand of these lengths is repeated along an axis of a shape that it is broadcast to. The shape
/// is longer on such an axis.
fn is_repeated(lengths: &[usize], shape: &[usize]) -> bool {
    let (added, own) = shape.split_at(shape.len() - lengths.len());
    added.iter().any(|&length| length > 1) || lengths.iter().zip(own).any(|(own, whole)| own < whole)
}

/// Returns whether an operand of these lengths differs from a shape that it is broadcast to, ignoring missing axes of
/// length 1.
fn has_other_lengths(lengths: &[usize], shape: &[usize]) -> bool {
    let (added, own) = shape.split_at(shape.len() - lengths.len());
    added.iter().any(|&length| length != 1) || lengths != own
}

/// Returns the error of an operation without a result: at the coordinates, or for the fill if there are none.
fn rejection(operation: &'static str, fault: GroupError, coords: Option<Vec<usize>>) -> Error {
    match fault {
        GroupError::Overflow(dtype) => Error::Overflow { operation, coords, dtype },
        GroupError::DivisionByZero => Error::DivisionByZero { operation, coords },
        GroupError::Uncountable | GroupError::Empty => Error::Uncountable { operation },
        GroupError::Memory(rejection) => rejection.into(),
    }
}

/// Returns the result of an integer operation, or a fault if it overflows.
#[inline(always)]
fn fitting<T: Element>(result: Option<T>) -> Outcome<T> {
    result.ok_or(GroupError::Overflow(T::DTYPE.name()))
}

/// Returns an entry unchanged, from either side.
fn moved<T>(entry: UnpairedEntry<T, T>) -> T {
    match entry {
        UnpairedEntry::Left(value) | UnpairedEntry::Right(value) => value,
    }
}

/// Returns whether a value is NaN in all its parts.
fn is_wholly_nan<T: Element>(value: T) -> bool {
    match value.to_number() {
        Number::Complex(re, im) => re.is_nan() && im.is_nan(),
        _ => value.isnan(),
    }
}
