//! Operations on two operands whose types are known at run time only, and their gradients.
//!
//! They run on the widest type of a kind, and in one driver for each: of `+ - * / %` on floats the result in `f64`
//! rounded again is that of the narrower type, which has less than half of the bits; integers that do not fit are an
//! overflow. Complex numbers run in their own type, because a product of them is rounded on the way.

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

/// What stands on the right of an [`AnyTensor`] in an elementwise operation: a tensor of the same element type, what is
/// stored of one, or a number.
///
/// A number is rounded to the element type of the tensor as a literal is; one that is no value of it is an error.
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
    /// All of a tensor.
    Tensor(&'a AnyTensor),
    /// Its entries alone: then those of the left one alone count too.
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

/// The operand on the right in the type of the left one.
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

/// The format of a result of several operands: coordinates, unless all tensors have lanes.
pub(super) fn common_format(operands: &[AnyOperand<'_>]) -> Format {
    let mut formats = operands.iter().filter_map(|operand| operand.format()).peekable();
    let all_have_lanes = formats.peek().is_some() && formats.all(|format| format == Format::Csr);
    if all_have_lanes { Format::Csr } else { Format::Coo }
}

/// The tensor with its pattern in a format.
pub(super) fn brought<T: Element>(x: &Erased<T>, format: Format) -> Result<Erased<T>> {
    let pattern = x.pattern().in_format(format, u64::MAX)?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()))
}

/// The operand with its pattern in a format, if it is a tensor.
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

/// The result of an operation: of the type of its operands, or of a comparison.
enum Zipped<T> {
    Same(RunTimeResult<T>),
    Asked(RunTimeResult<bool>),
}

/// An elementwise operation, by its name.
#[derive(Clone, Copy)]
struct Request {
    operation: &'static str,
    /// The integer that makes the same of all others in a type narrower than the one that is worked on.
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

/// The operation of two operands, by its name; with the left one on the right if it is swapped.
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
    /// Runs it on elements of one type, and brings results of that type back.
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

/// The error of an operation that has no name of its own in the drivers.
fn named(operation: &'static str, error: Error) -> Error {
    match error {
        Error::Overflow { coords, dtype, .. } => Error::Overflow { operation, coords, dtype },
        Error::DivisionByZero { coords, .. } => Error::DivisionByZero { operation, coords },
        Error::NonFinite { left, right, coords, .. } => Error::NonFinite { operation, left, right, coords },
        error => error,
    }
}

/// The list of methods.
macro_rules! zips {
    ($($name:ident)*) => {
        zips! { @tensors [AnyTensor] $($name)* }
        zips! { @tensors [AnyStored<'_>] $($name)* }

        #[allow(clippy::should_implement_trait)] // the names of the typed forms, which return errors
        impl AnyOperand<'_> {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) with another operand.")]
            ///
            /// An array with a sparse operand counts as a tensor that stores every element. The result has the pattern
            /// of the sparse operand if its fill absorbs the elements of the array. Otherwise it is an array.
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
            /// Of tensors in different formats the result is in coordinates.
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

/// The list of gradients. If one of both is a view, both are.
macro_rules! gradients {
    ($($name:ident)*) => {
        on_operands! {$(
            #[doc = concat!("The gradients of both operands: see [`", stringify!($name), "`](crate::",
                stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `TypesDiffer`, `NoOperation`: the element types.")]
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
                /// Runs it in the type of the floats, because a quotient is rounded more than once.
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
    /// The gradients of both choices: see [`where_backward`](crate::where_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`where_backward`](crate::where_backward()), and where an element type does not have it.
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
    /// Whether two operands of one element type are equal but for a tolerance: see [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// Those of [`allclose`](crate::allclose()); `TypesDiffer`, `NoOperation`: the element types.
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
    /// Whether two tensors of one element type are equal but for a tolerance: see [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// Those of [`allclose`](crate::allclose()); `TypesDiffer`, `NoOperation`: the element types.
    #[inline]
    pub fn allclose(&self, other: &AnyTensor, tolerance: impl Into<Tolerance>) -> Result<bool> {
        self.view().allclose(other, tolerance)
    }
}

/// The product with one number for each place on an axis; a zero gives zero if it is a gradient.
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
    /// Runs it on elements of one type.
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
    /// The product with one number for each place on an axis: see [`scale`](crate::scale()).
    ///
    /// # Errors
    ///
    /// Those of [`scale`](crate::scale()); `TypesDiffer`: the element types differ; `RankMismatch`: the factors are no
    /// vector.
    pub fn scale<'r>(
        &self,
        axis: impl crate::base::index::Position,
        factors: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        scaled(self, axis, factors.into(), false)
    }

    /// The gradients of the tensor and of the factors of `scale`: `scale` of what comes at the entries, and the sums of
    /// what comes times the tensor, on what the factors store.
    ///
    /// # Errors
    ///
    /// `AxisOutOfRange`, `LengthMismatch`, `ShapeMismatch`: the shapes do not go together; `TypesDiffer`,
    /// `NoOperation`: the element types.
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
