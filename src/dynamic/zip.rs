//! Operations on two tensors whose types are known at run time only, and their gradients.
//!
//! They run on the widest type of a kind, and in one driver for each: of `+ - * / %` on floats the result in `f64`
//! rounded again is that of the narrower type, which has less than half of the bits; integers that do not fit are an
//! overflow. Complex numbers run in their own type, because a product of them is rounded on the way.

use super::map::{in_type_of, wide};
use super::reduce::{no_floats, on_floats};
use super::view::{AnyStored, View, on_both, seen};
use super::widen::{Beyond, Wide, bounds, is_integer, not_for, widened, zeros};
use super::{AnyTensor, Erased};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Number};
use crate::ops::chosen::{AnyZip, Chooses, Chosen};
use crate::ops::{self, Partner, Tolerance};
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

/// The operand on the right in the type of the left one.
enum Side<T> {
    Tensor(Erased<T>),
    Number(T),
}

/// Two operands of one element type, and how an operation takes them.
struct Pair<T> {
    x: Erased<T>,
    y: Side<T>,
    stored: bool,
}

impl<T: Element> Pair<T> {
    fn zip<U: Element, const UNITES: bool>(&self, op: Chosen<T, U, UNITES>) -> Result<Erased<U>> {
        match (&self.y, self.stored) {
            (Side::Tensor(y), false) => y.zip(&self.x, op),
            (Side::Tensor(y), true) => y.stored().zip(&self.x.stored(), op),
            (Side::Number(number), false) => (*number).zip(&self.x, op),
            (Side::Number(number), true) => (*number).zip(&self.x.stored(), op),
        }
    }
}

/// The format of a result of several tensors: coordinates, unless all have lanes.
pub(super) fn common_format(tensors: &[&AnyTensor]) -> Format {
    let all_have_lanes = tensors.iter().all(|tensor| tensor.format() == Format::Csr);
    if all_have_lanes { Format::Csr } else { Format::Coo }
}

/// The tensor with its pattern in a format.
pub(super) fn brought<T: Element>(x: &Erased<T>, format: Format) -> Result<Erased<T>> {
    let pattern = x.pattern().in_format(format, u64::MAX)?;
    Ok(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill()))
}

/// Refuses tensors of different element types.
pub(super) fn check_types(operation: &'static str, tensors: &[&AnyTensor]) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    match tensors.iter().find(|tensor| tensor.dtype() != first.dtype()) {
        None => Ok(()),
        Some(other) => {
            let [left, right] = [first.dtype().name(), other.dtype().name()];
            Err(Error::TypesDiffer { operation, left, right })
        }
    }
}

/// The result of an operation: of the type of its operands, or of a comparison.
enum Zipped<T> {
    Same(Erased<T>),
    Asked(Erased<bool>),
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

    fn run<T: Chooses>(self, view: View<'_>, x: Erased<T>, right: Right<'_>) -> Result<Zipped<T>> {
        let lacking = || not_for(self.operation, view.tensor, "cast beforehand");
        let op = T::zip_of(self.operation).ok_or_else(lacking)?;
        let y = match right {
            Right::Tensor(y) | Right::Stored(AnyStored { tensor: y }) => {
                Side::Tensor(brought(&widened(y)?, view.tensor.format())?)
            }
            Right::Number(number) => Side::Number(wide(in_type_of(view.tensor, number)?)),
        };
        let (pair, same_of_all) = (Pair { x, y, stored: view.stored }, self.same_of_all.map(wide));
        let found = match op {
            AnyZip::Unites(op) => pair.zip(op.with(same_of_all, self.is_swapped)).map(Zipped::Same),
            AnyZip::Meets(op) => pair.zip(op.with(same_of_all, self.is_swapped)).map(Zipped::Same),
            AnyZip::Asks(op) => pair.zip(op.with(None, self.is_swapped)).map(Zipped::Asked),
        };
        found.map_err(|error| named(self.operation, view.of_type(error)))
    }
}

/// The operation of two operands, by its name; with the left one on the right if it is swapped.
#[inline]
pub(crate) fn zip(operation: &'static str, left: View<'_>, right: Right<'_>, is_swapped: bool) -> Result<AnyTensor> {
    if operation == "matmul" {
        return super::product::matmul(left, right);
    }
    let mut tensors = vec![left.tensor];
    if let Right::Tensor(y) | Right::Stored(AnyStored { tensor: y }) = right {
        tensors.push(y);
        check_types(operation, &tensors)?;
    }
    let format = common_format(&tensors);
    let tensor = if left.tensor.format() == format { left.tensor } else { &left.tensor.clone().into_format(format)? };
    let view = View { tensor, stored: left.stored || matches!(right, Right::Stored(_)) };
    let request = Request::new(operation, tensor.dtype(), is_swapped);
    /// Runs it on elements of one type, and brings results of that type back.
    macro_rules! on {
        ($x:expr, $found:ident => $back:expr) => {
            match request.run(view, $x, right)? {
                Zipped::Same($found) => $back,
                Zipped::Asked(asked) => view.found(Ok(asked)),
            }
        };
    }
    if let AnyTensor::Complex64(x) = tensor {
        return on!(x.clone(), x => view.found(Ok(x)));
    }
    match Wide::of(tensor)? {
        Wide::Truth(x) => on!(x, x => view.found(Ok(x))),
        Wide::Signed(x) => on!(x, x => view.found_integers(&x, Beyond::OverflowsOfTwo(operation))),
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
        on_both! {$(
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
                zip(stringify!($name), self.view(), right.into(), false)
            }
        )*}
    };
}

zips! {
    add sub mul mul_nonzero div rem rem_euclid pow minimum maximum equal not_equal less less_equal greater greater_equal
    bit_and bit_or bit_xor matmul
}

/// The operand on the right, which is no number.
fn other_view<'r>(operation: &'static str, right: Right<'r>) -> Result<View<'r>> {
    match right {
        Right::Tensor(tensor) => Ok(View { tensor, stored: false }),
        Right::Stored(AnyStored { tensor }) => Ok(View { tensor, stored: true }),
        Right::Number(_) => {
            let why = "a number receives no gradient; make it a tensor".into();
            Err(Error::Argument { operation, why })
        }
    }
}

/// The list of gradients. If one of both is a view, both are.
macro_rules! gradients {
    ($($name:ident)*) => {
        on_both! {$(
            #[doc = concat!("The gradients of both operands: see [`", stringify!($name), "`](crate::",
                stringify!($name), "()).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `TypesDiffer`, `NoOperation`: the element types.")]
            #[inline]
            pub fn $name<'r>(
                &self,
                other: impl Into<Right<'r>>,
                upstream: &AnyTensor,
            ) -> Result<(AnyTensor, AnyTensor)> {
                let (left, right) = (self.view(), other_view(stringify!($name), other.into())?);
                let other = right.tensor;
                check_types(stringify!($name), &[left.tensor, other, upstream])?;
                /// Runs it in the type of the floats, because a quotient is rounded more than once.
                macro_rules! on {
                    ($float:ty) => {{
                        let (x, y, g) = (widened::<$float>(left.tensor)?, widened(other)?, widened(upstream)?);
                        let (dx, dy) = match left.stored || right.stored {
                            true => ops::$name(&x.stored(), &y.stored(), &g)?,
                            false => ops::$name(&x, &y, &g)?,
                        };
                        Ok((left.found(Ok(dx))?, right.found(Ok(dy))?))
                    }};
                }
                match left.tensor.dtype() {
                    DType::Float32 => on!(f32),
                    DType::Float64 => on!(f64),
                    #[cfg(feature = "half")]
                    DType::Float16 => on!(super::types::f16),
                    #[cfg(feature = "half")]
                    DType::BFloat16 => on!(super::types::bf16),
                    _ => Err(not_for(stringify!($name), left.tensor, super::reduce::FLOATS)),
                }
            }
        )*}
    };
}

gradients! {
    add_backward sub_backward mul_backward div_backward pow_backward minimum_backward maximum_backward
    matmul_backward
}

impl AnyTensor {
    /// The gradients of both choices: see [`where_backward`](crate::where_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`where_backward`](crate::where_backward()), and where an element type does not have it.
    #[inline]
    pub fn where_backward(
        &self,
        yes: &AnyTensor,
        no: &AnyTensor,
        upstream: &AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let condition: Erased<bool> = widened(self)?;
        let (of_yes, of_no) = (zeros(yes)?, zeros(no)?);
        on_floats!(upstream, g => {
            let (dyes, dno) = ops::where_backward(&condition, &of_yes, &of_no, g)?;
            Ok((yes.view().found(Ok(dyes))?, no.view().found(Ok(dno))?))
        })
    }

    /// Whether two tensors of one element type are equal but for a tolerance: see [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// Those of [`allclose`](crate::allclose()); `TypesDiffer`, `NoOperation`: the element types.
    #[inline]
    pub fn allclose(&self, other: &AnyTensor, tolerance: impl Into<Tolerance>) -> Result<bool> {
        check_types("allclose", &[self, other])?;
        let (other, tolerance) = (other.clone().into_format(self.format())?, tolerance.into());
        match (Wide::of(self)?, Wide::of(&other)?) {
            (Wide::Signed(x), Wide::Signed(y)) => ops::allclose(&x, &y, tolerance),
            (Wide::Unsigned(x), Wide::Unsigned(y)) => ops::allclose(&x, &y, tolerance),
            (Wide::Float(x), Wide::Float(y)) => ops::allclose(&x, &y, tolerance),
            (Wide::Complex(x), Wide::Complex(y)) => ops::allclose(&x, &y, tolerance),
            _ => Err(not_for("allclose", self, "numbers have a distance, and truth is cast to them beforehand")),
        }
    }
}

/// The product with one number for each place on an axis; a zero gives zero if it is a gradient.
fn scaled(
    view: View<'_>,
    axis: impl crate::base::index::Position,
    factors: &AnyTensor,
    is_gradient: bool,
) -> Result<AnyTensor> {
    check_types("scale", &[view.tensor, factors])?;
    if factors.rank() != 1 {
        return Err(Error::RankMismatch { what: "the list of factors", expected: 1, found: factors.rank() });
    }
    /// Runs it on elements of one type.
    macro_rules! on {
        ($x:expr, $factors:expr) => {{
            let factors = $factors.to_dense()?.into_dimensionality::<ndarray::Ix1>();
            let factors = factors.expect("factors of rank 1");
            seen!(view, $x, x => match is_gradient {
                true => ops::scale_nonzero(x, axis, factors.view()),
                false => ops::scale(x, axis, factors.view()),
            })
        }};
    }
    let overflows = |error| named("scale", view.of_type(error));
    if let (AnyTensor::Complex64(x), AnyTensor::Complex64(factors)) = (view.tensor, factors) {
        return view.found(on!(x.clone(), factors.clone()));
    }
    match (Wide::of(view.tensor)?, Wide::of(factors)?) {
        (Wide::Truth(x), Wide::Truth(y)) => view.found(on!(x, y)),
        (Wide::Signed(x), Wide::Signed(y)) => {
            view.found_integers(&on!(x, y).map_err(overflows)?, Beyond::OverflowsOfTwo("scale"))
        }
        (Wide::Unsigned(x), Wide::Unsigned(y)) => view.found(on!(x, y)),
        (Wide::Float(x), Wide::Float(y)) => view.found_floats(on!(x, y)),
        (Wide::Complex(x), Wide::Complex(y)) => view.found(on!(x, y)),
        _ => Err(not_for("scale", factors, "the factors have the type of the tensor")),
    }
}

on_both! {
    /// The product with one number for each place on an axis: see [`scale`](crate::scale()).
    ///
    /// # Errors
    ///
    /// Those of [`scale`](crate::scale()); `TypesDiffer`: the element types differ; `RankMismatch`: the factors are no
    /// vector.
    #[inline]
    pub fn scale(&self, axis: impl crate::base::index::Position, factors: &AnyTensor) -> Result<AnyTensor> {
        scaled(self.view(), axis, factors, false)
    }

    /// The gradients of the tensor and of the factors of `scale`: `scale` of what comes at the entries, and the sums of
    /// what comes times the tensor, on what the factors store.
    ///
    /// # Errors
    ///
    /// `AxisOutOfRange`, `LengthMismatch`, `ShapeMismatch`: the shapes do not go together; `TypesDiffer`,
    /// `NoOperation`: the element types.
    pub fn scale_backward(
        &self,
        axis: impl crate::base::index::Position,
        factors: &AnyTensor,
        upstream: &AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let (view, axis) = (self.view(), axis.to_i128());
        let x = view.tensor;
        check_types("scale_backward", &[x, factors, upstream])?;
        let axis = normalize_axis(axis, x.rank())?;
        let others: Vec<usize> = (0..x.rank()).filter(|&other| other != axis).collect();
        let at_entries = x.any_backward(upstream, Axes::none())?;
        let of_x = scaled(View { stored: true, ..at_entries.view() }, axis as i64, factors, true)?;
        let products = match view.stored {
            true => at_entries.mul_nonzero(&x.with_fill(Number::Integer(0))?)?,
            false => upstream.mul_nonzero(x)?,
        };
        Ok((of_x, factors.any_backward(&products.sum(Axes::from(others))?, Axes::none())?))
    }
}
