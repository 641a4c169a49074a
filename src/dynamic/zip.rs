//! Binary operations of dynamically typed operands, and their gradients.
//!
//! The operations run on the widest type of a kind, with one driver per kind. For `+ - * / %` on floats, the result in
//! `f64` is rounded again to the narrower type. This equals the result in the narrower type, which has less than half
//! of the bits. Integers that do not fit are an overflow. Complex numbers run in their own type, because their products
//! are rounded more than once.

use super::map::{in_type_of, wide};
use super::reduce::on_floats;
use super::view::{AnyStored, OfOperands, on_operands};
use super::widen::{Beyond, Wide, bounds, is_integer, not_for, widened, zeros};
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Number};
use crate::ops::chosen::{AnyZip, Chooses, Chosen};
use crate::ops::{self, Partner, RunTimeOperand, RunTimeResult, SparseView, Tolerance};
use crate::pattern::Format;
use crate::tensor::Tensor;

/// The right operand of an elementwise operation on an [`AnyTensor`].
///
/// The operand is a tensor of the same element type, its stored entries, or a number.
///
/// A number is rounded to the element type of the tensor, as a literal is. A number that is not a value of the type is
/// an error.
///
/// # Examples
///
/// ```
/// use lacuna::dynamic::{AnyTensor, Right};
/// use lacuna::{CooTensor, Number};
///
/// let x = AnyTensor::from(CooTensor::new([3], vec![vec![1]], vec![7u8], 0)?);
/// let twice = x.add(&x)?;
/// assert_eq!(twice, x.mul(Number::Integer(2))?);
/// assert!(x.sub(Right::from(&twice)).is_err()); // 7 - 14 is no u8
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// All positions of a tensor.
    Tensor(&'a AnyTensor),
    /// The stored entries of a tensor. Then only the stored entries of the left operand count too.
    Stored(AnyStored<'a>),
    /// A number.
    Number(Number),
}

impl<'a> From<&'a AnyTensor> for Right<'a> {
    fn from(tensor: &'a AnyTensor) -> Self {
        Right::Tensor(tensor)
    }
}

impl<'a> From<AnyStored<'a>> for Right<'a> {
    fn from(stored: AnyStored<'a>) -> Self {
        Right::Stored(stored)
    }
}

impl From<Number> for Right<'_> {
    fn from(number: Number) -> Self {
        Right::Number(number)
    }
}

/// The right operand of an elementwise operation: an operand of any kind, or a number.
#[derive(Clone, Copy)]
pub(crate) enum RightOperand<'a> {
    Operand(AnyOperand<'a>),
    Number(Number),
}

impl<'a> From<Right<'a>> for RightOperand<'a> {
    fn from(right: Right<'a>) -> Self {
        match right {
            Right::Tensor(tensor) => RightOperand::Operand(tensor.into()),
            Right::Stored(stored) => RightOperand::Operand(stored.into()),
            Right::Number(number) => RightOperand::Number(number),
        }
    }
}

/// The right operand, in the type of the left operand.
enum Side<'a, T: Clone> {
    Operand(RunTimeOperand<'a, T>),
    Number(T),
}

/// Two operands of one element type.
struct Pair<'a, T: Clone> {
    x: RunTimeOperand<'a, T>,
    y: Side<'a, T>,
}

impl<T: Element> Pair<'_, T> {
    fn zip<U: Element>(&self, op: Chosen<T, U>) -> Result<RunTimeResult<U>> {
        match &self.y {
            Side::Operand(y) => y.zip(&self.x, op),
            Side::Number(number) => (*number).zip(&self.x, op),
        }
        .map(Into::into)
    }
}

/// Returns the format of a result of several operands: CSR if all tensors are in CSR, otherwise coordinates.
pub(super) fn common_format(operands: &[AnyOperand<'_>]) -> Format {
    let mut formats = operands.iter().filter_map(|operand| operand.format()).peekable();
    let all_have_lanes = formats.peek().is_some() && formats.all(|format| format == Format::Csr);
    if all_have_lanes { Format::Csr } else { Format::Coo }
}

/// Returns the tensor with its pattern in a format.
pub(super) fn brought<T: Element>(x: &Erased<T>, format: Format) -> Result<Erased<T>> {
    let pattern = x.pattern().in_format(format, u64::MAX)?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()))
}

/// Returns the operand. If the operand is a tensor, its pattern is in the given format.
pub(super) fn brought_operand<T: Element>(x: RunTimeOperand<'_, T>, format: Format) -> Result<RunTimeOperand<'_, T>> {
    Ok(match x {
        RunTimeOperand::Sparse(x) => {
            let counts_gaps = x.counts_gaps;
            RunTimeOperand::Sparse(SparseView { tensor: brought(&x.tensor, format)?, counts_gaps })
        }
        array => array,
    })
}

/// Rejects operands of different element types.
pub(super) fn check_types(operation: &'static str, operands: &[AnyOperand<'_>]) -> Result<()> {
    let Some(first) = operands.first() else { return Ok(()) };
    match operands.iter().find(|operand| operand.dtype() != first.dtype()) {
        None => Ok(()),
        Some(other) => {
            let [left, right] = [first.dtype().name(), other.dtype().name()];
            Err(Error::TypesDiffer { operation, left, right })
        }
    }
}

/// The result of an operation: in the type of the operands, or the `bool` of a comparison.
enum Zipped<T> {
    Same(RunTimeResult<T>),
    Asked(RunTimeResult<bool>),
}

/// An elementwise operation, by its name.
#[derive(Clone, Copy)]
struct Request {
    operation: &'static str,
    /// The absorbing integer of the elements' own type, which may be narrower than the type of the computation.
    same_of_all: Option<Number>,
    is_swapped: bool,
}

impl Request {
    fn new(operation: &'static str, dtype: DType, is_swapped: bool) -> Self {
        let (least, greatest) = bounds(dtype);
        let integer = match operation {
            "minimum" => Some(least),
            "maximum" => Some(greatest),
            "bit_or" if least == 0 => Some(greatest),
            _ => None,
        };
        let same_of_all = integer.filter(|_| is_integer(dtype)).map(Number::Integer);
        Request { operation, same_of_all, is_swapped }
    }

    fn run<'a, T: Chooses>(
        self,
        view: AnyOperand<'_>,
        x: RunTimeOperand<'a, T>,
        (right, format): (RightOperand<'a>, Format),
    ) -> Result<Zipped<T>> {
        let lacking = || not_for(self.operation, view, "cast beforehand");
        let op = T::zip_of(self.operation).ok_or_else(lacking)?;
        let y = match right {
            RightOperand::Operand(y) => Side::Operand(brought_operand(widened(y)?, format)?),
            RightOperand::Number(number) => Side::Number(wide(in_type_of(view.dtype(), number)?)),
        };
        let (pair, same_of_all) = (Pair { x, y }, self.same_of_all.map(wide));
        let found = match op {
            AnyZip::Computes(op) => pair.zip(op.with(same_of_all, self.is_swapped)).map(Zipped::Same),
            AnyZip::Compares(op) => pair.zip(op.with(None, self.is_swapped)).map(Zipped::Asked),
        };
        found.map_err(|error| named(self.operation, view.of_type(error)))
    }
}

/// Runs a binary operation, chosen by its name. If `is_swapped`, the left operand is on the right side.
#[inline]
pub(crate) fn zip(
    operation: &'static str,
    left: AnyOperand<'_>,
    right: RightOperand<'_>,
    is_swapped: bool,
) -> Result<AnyValue> {
    if operation == "matmul" {
        return super::product::matmul(left, right);
    }
    let mut operands = vec![left];
    if let RightOperand::Operand(y) = right {
        operands.push(y);
        check_types(operation, &operands)?;
    }
    let format = common_format(&operands);
    let converted;
    let view = match left.tensor() {
        Some(x) if x.format() != format => {
            converted = x.clone().into_format(format)?;
            if left.is_stored() { AnyOperand::Stored(&converted) } else { AnyOperand::Tensor(&converted) }
        }
        _ => left,
    };
    let request = Request::new(operation, view.dtype(), is_swapped);
    /// Runs the operation on elements of one type, and converts results of that type back.
    macro_rules! on {
        ($x:expr, $found:ident => $back:expr) => {
            match request.run(view, $x, (right, format))? {
                Zipped::Same($found) => $back,
                Zipped::Asked(asked) => view.found(Ok(asked)),
            }
        };
    }
    if view.dtype() == DType::Complex64 {
        return on!(widened::<super::types::Complex<f32>>(view)?, x => view.found(Ok(x)));
    }
    match Wide::of(view)? {
        Wide::Truth(x) => on!(x, x => view.found(Ok(x))),
        Wide::Signed(x) => on!(x, x => view.found_integers(Ok(x), Beyond::OverflowsOfTwo(operation))),
        Wide::Unsigned(x) => on!(x, x => view.found(Ok(x))),
        Wide::Float(x) => on!(x, x => view.found_floats(Ok(x))),
        Wide::Complex(x) => on!(x, x => view.found(Ok(x))),
    }
}

/// Returns the error with the name of the operation, because the drivers do not know the name.
fn named(operation: &'static str, error: Error) -> Error {
    match error {
        Error::Overflow { coords, dtype, .. } => Error::Overflow { operation, coords, dtype },
        Error::DivisionByZero { coords, .. } => Error::DivisionByZero { operation, coords },
        Error::NonFinite { left, right, coords, .. } => Error::NonFinite { operation, left, right, coords },
        error => error,
    }
}

/// Defines the methods of binary operations.
macro_rules! zips {
    ($($name:ident)*) => {
        zips! { @tensors [AnyTensor] $($name)* }
        zips! { @tensors [AnyStored<'_>] $($name)* }

        #[allow(clippy::should_implement_trait)] // the names of the typed forms, which return errors
        impl AnyOperand<'_> {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) with another operand.")]
            ///
            /// If the other operand is sparse, an array counts as a tensor that stores every element. If the fill of
            /// the sparse operand absorbs the elements of the array, the result has the pattern of the sparse operand.
            /// Otherwise the result is an array.
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `TypesDiffer`, `NoOperation`: the element types.")]
            pub fn $name<'r>(self, right: impl Into<AnyOperand<'r>>) -> Result<AnyValue> {
                zip(stringify!($name), self, RightOperand::Operand(right.into()), false)
            }
        )*}
    };
    (@tensors [$operand:ty] $($name:ident)*) => {
        impl $operand {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) with another operand.")]
            ///
            /// If the formats of the tensors differ, the result is in coordinate format.
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `TypesDiffer`, `NoOperation`: the element types; `Cast`: the number is no value of it.")]
            #[inline]
            pub fn $name<'r>(&self, right: impl Into<Right<'r>>) -> Result<AnyTensor> {
                zip(stringify!($name), self.into(), right.into().into(), false).map(OfOperands::of)
            }
        )*}
    };
}

zips! {
    add sub mul mul_nonzero div rem rem_euclid pow minimum maximum equal not_equal less less_equal greater greater_equal
    bit_and bit_or bit_xor matmul
}

/// Defines the methods of gradients. If one operand is a stored view, both operands become stored views.
macro_rules! gradients {
    ($($name:ident)*) => {
        on_operands! {$(
            /// Returns the gradients of both operands: see [`grad`](crate::grad).
            ///
            /// # Errors
            ///
            /// - the errors of the function in [`grad`](crate::grad);
            /// - `TypesDiffer`, `NoOperation`: the element types do not have the gradient.
            pub fn $name<'r>(
                &self,
                other: impl Into<AnyOperand<'r>>,
                upstream: impl Into<AnyOperand<'r>>,
            ) -> Result<(AnyTensor, AnyTensor)> {
                let (left, right, upstream) = (self, other.into(), upstream.into());
                check_types(stringify!($name), &[left, right, upstream])?;
                let (left, right) = match left.is_stored() || right.is_stored() {
                    true => (left.stored(), right.stored()),
                    false => (left, right),
                };
                /// Runs the gradient in the type of the floats, because a quotient is rounded more than once.
                macro_rules! on {
                    ($float:ty) => {{
                        let (x, y, g) = (widened::<$float>(left)?, widened(right)?, widened(upstream)?);
                        let (dx, dy) = ops::$name(&x, &y, &g)?;
                        Ok((left.found(Ok(dx))?, right.found(Ok(dy))?))
                    }};
                }
                match left.dtype() {
                    DType::Float32 => on!(f32),
                    DType::Float64 => on!(f64),
                    #[cfg(feature = "half")]
                    DType::Float16 => on!(super::types::f16),
                    #[cfg(feature = "half")]
                    DType::BFloat16 => on!(super::types::bf16),
                    _ => Err(not_for(stringify!($name), left, super::reduce::FLOATS)),
                }
            }
        )*}
    };
}

gradients! {
    add_backward sub_backward mul_backward div_backward pow_backward minimum_backward maximum_backward
    matmul_backward
}

on_operands! {
    /// Returns the gradients of both choices: see [`grad::where_`](crate::grad::where_).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::where_`](crate::grad::where_);
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn where_backward<'r>(
        &self,
        yes: impl Into<AnyOperand<'r>>,
        no: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let (yes, no) = (yes.into().whole(), no.into().whole());
        let condition = widened::<bool>(self.whole())?;
        let (of_yes, of_no) = (zeros(yes)?, zeros(no)?);
        on_floats!(upstream, g => {
            let (dyes, dno) = ops::where_backward(&condition, &of_yes, &of_no, g)?;
            Ok((yes.found(Ok(dyes))?, no.found(Ok(dno))?))
        })
    }
}

impl AnyOperand<'_> {
    /// Returns whether two operands of one element type are equal within a tolerance: see
    /// [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// - the errors of [`allclose`](crate::allclose());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the elements are `bool`.
    pub fn allclose<'r>(self, other: impl Into<AnyOperand<'r>>, tolerance: impl Into<Tolerance>) -> Result<bool> {
        let (other, tolerance) = (other.into(), tolerance.into());
        check_types("allclose", &[self, other])?;
        let format = common_format(&[self, other]);
        macro_rules! on {
            ($x:ident, $y:ident) => {
                ops::allclose(&brought_operand($x, format)?, &brought_operand($y, format)?, tolerance)
            };
        }
        match (Wide::of(self)?, Wide::of(other)?) {
            (Wide::Signed(x), Wide::Signed(y)) => on!(x, y),
            (Wide::Unsigned(x), Wide::Unsigned(y)) => on!(x, y),
            (Wide::Float(x), Wide::Float(y)) => on!(x, y),
            (Wide::Complex(x), Wide::Complex(y)) => on!(x, y),
            _ => Err(not_for("allclose", self, "numbers have a distance, and truth is cast to them beforehand")),
        }
    }
}

impl AnyTensor {
    /// Returns whether two tensors of one element type are equal within a tolerance: see
    /// [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// - the errors of [`allclose`](crate::allclose());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the elements are `bool`.
    #[inline]
    pub fn allclose(&self, other: &AnyTensor, tolerance: impl Into<Tolerance>) -> Result<bool> {
        self.view().allclose(other, tolerance)
    }
}

/// Returns the product with one factor per position on an axis. In a gradient, zero times any factor is zero.
fn scaled(
    view: AnyOperand<'_>,
    axis: impl crate::base::index::Position,
    factors: AnyOperand<'_>,
    is_gradient: bool,
) -> Result<AnyValue> {
    check_types("scale", &[view, factors])?;
    if factors.rank() != 1 {
        return Err(Error::RankMismatch { what: "the list of factors", expected: 1, found: factors.rank() });
    }
    /// Runs the product on elements of one type.
    macro_rules! on {
        ($x:expr, $factors:expr) => {{
            let (x, factors) = ($x, $factors);
            let factors = factors.dense()?.into_dimensionality::<ndarray::Ix1>();
            let factors = factors.expect("factors of rank 1");
            match is_gradient {
                true => ops::scale_nonzero(&x, axis, factors.view()),
                false => ops::scale(&x, axis, factors.view()),
            }
        }};
    }
    let overflows = |error| named("scale", view.of_type(error));
    if view.dtype() == DType::Complex64 {
        return view.found(on!(widened::<super::types::Complex<f32>>(view)?, widened(factors)?));
    }
    match (Wide::of(view)?, Wide::of(factors)?) {
        (Wide::Truth(x), Wide::Truth(y)) => view.found(on!(x, y)),
        (Wide::Signed(x), Wide::Signed(y)) => {
            view.found_integers(on!(x, y).map_err(overflows), Beyond::OverflowsOfTwo("scale"))
        }
        (Wide::Unsigned(x), Wide::Unsigned(y)) => view.found(on!(x, y)),
        (Wide::Float(x), Wide::Float(y)) => view.found_floats(on!(x, y)),
        (Wide::Complex(x), Wide::Complex(y)) => view.found(on!(x, y)),
        _ => Err(not_for("scale", factors, "the factors have the type of the tensor")),
    }
}

on_operands! {
    /// Multiplies each position on an axis by its own factor: see [`scale`](crate::scale()).
    ///
    /// # Errors
    ///
    /// - the errors of [`scale`](crate::scale());
    /// - `TypesDiffer`: the element types differ;
    /// - `RankMismatch`: the factors are not a vector.
    pub fn scale<'r>(
        &self,
        axis: impl crate::base::index::Position,
        factors: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        scaled(self, axis, factors.into(), false)
    }

    /// Returns the gradients of the tensor and of the factors of `scale`.
    ///
    /// The gradient of the tensor is `scale` of the upstream gradient at the entries. The gradient of the factors sums
    /// the upstream gradient times the tensor, at the stored factors.
    ///
    /// # Errors
    ///
    /// - `AxisOutOfRange`, `LengthMismatch`, `ShapeMismatch`: the axis or the shapes do not match;
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the element type does not have the operation.
    pub fn scale_backward<'r>(
        &self,
        axis: impl crate::base::index::Position,
        factors: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let (x, factors, upstream, axis) = (self.whole(), factors.into().whole(), upstream.into(), axis.to_i128());
        check_types("scale_backward", &[x, factors, upstream])?;
        let axis = normalize_axis(axis, x.rank())?;
        let others: Vec<usize> = (0..x.rank()).filter(|&other| other != axis).collect();
        let at_entries = x.any_backward(upstream, Axes::none())?;
        let of_x = scaled(AnyOperand::from(&at_entries).stored(), axis as i64, factors, true)?;
        let products = match self {
            AnyOperand::Stored(x) => {
                AnyOperand::from(&at_entries).mul_nonzero(&x.with_fill(Number::Integer(0))?)?
            }
            _ => upstream.mul_nonzero(x)?,
        };
        let sums = AnyOperand::from(&products).sum(Axes::from(others))?;
        Ok((of_x, factors.any_backward(&sums, Axes::none())?))
    }
}
