//! Binary operations of dynamically typed operands, and their gradients.
//!
//! The operations run on the widest type of a kind, with one driver per kind. For `+ - * / %` on floats, the result in
//! `f64` is rounded again to the narrower type. The result equals the result in the narrower type, because this type
//! has less than half of the bits. Integers that do not fit in the narrower type return an overflow error. Complex
//! numbers run in their own type, because their products are rounded more than once.

use super::map::{in_type_of, wide};
use super::routes::{in_type, on_upstream};
use super::view::{AnyStored, OperandResult, on_operands};
use super::widen::{OverflowRule, RunType, bounds, condition, is_integer, not_floats, not_for, widened, zeros};
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::element::{DType, Element, Float, Magnitude, Number, Numeric};
use crate::ops::backward::{Differentiable, gradients};
use crate::ops::chosen::{AnyZip, Chooses, Chosen};
use crate::ops::descriptors::*;
use crate::ops::{self, Closeness, ErasedOperand, ErasedResult, Partner, SparseOperand, Tolerance, linked, op};
use crate::pattern::Format;
use crate::tensor::Tensor;
use crate::tensor::erased::SparseCow;

/// The right operand of an elementwise operation on an [`AnyTensor`].
///
/// The operand is a tensor of the same element type, its stored entries, or a number.
///
/// The operation converts a number to the element type of the tensor. For floats and complex numbers, the number is
/// rounded to the nearest value of this type. If the number does not fit in the type, the operation returns the error
/// `Cast`. For example, 2.5 and 300 do not fit in `u8`. A matrix product with a number returns the error `Argument`.
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
/// assert!(x.sub(Right::from(&twice)).is_err()); // 7 - 14 is not a u8
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// All elements of a tensor: its stored entries and its unstored positions.
    Tensor(&'a AnyTensor),
    /// The stored entries of a tensor. With this variant, the operation also uses only the stored entries of the left
    /// operand.
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
enum RightOperandIn<'a, T: Clone> {
    Operand(ErasedOperand<'a, T>),
    Number(T),
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
pub(super) fn brought_operand<T: Element>(x: ErasedOperand<'_, T>, format: Format) -> Result<ErasedOperand<'_, T>> {
    Ok(match x {
        ErasedOperand::Sparse(x) => {
            SparseOperand::of(SparseCow::Owned(brought(&x.sparse().to_erased(), format)?), x.counts_unstored).into()
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

/// An elementwise operation, and its left operand.
struct ZipRequest<'a> {
    operation: &'static str,
    view: AnyOperand<'a>,
    right: RightOperand<'a>,
    /// The common format of the tensors.
    format: Format,
    is_swapped: bool,
}

impl ZipRequest<'_> {
    /// Runs the operation on elements of type `T`.
    fn run<T: Chooses + RunType>(&self) -> Result<AnyValue> {
        let lacking = || not_for(self.operation, self.view, "cast the operand first");
        let op = T::zip_of(self.operation).ok_or_else(lacking)?;
        let (x, y) = self.operands::<T>()?;
        match op {
            AnyZip::Computes(op) => {
                self.view.narrowed(self.zip(&x, &y, op), OverflowRule::OverflowsOfTwo(self.operation))
            }
            AnyZip::Compares(op) => self.view.found(self.zip(&x, &y, op)),
        }
    }

    /// Returns both operands in the type in which the operation runs.
    fn operands<T: Element>(&self) -> Result<(ErasedOperand<'_, T>, RightOperandIn<'_, T>)> {
        let y = match self.right {
            RightOperand::Operand(y) => RightOperandIn::Operand(brought_operand(widened(y)?, self.format)?),
            RightOperand::Number(number) => RightOperandIn::Number(wide(in_type_of(self.view.dtype(), number)?)),
        };
        Ok((widened(self.view)?, y))
    }

    /// Compares elements of type `T` within a tolerance.
    fn is_close<T: Magnitude>(&self, tolerance: Tolerance) -> Result<AnyValue> {
        let (x, y) = self.operands::<T>()?;
        let op = Closeness::new(tolerance).swapped_if(self.is_swapped);
        let found = match y {
            RightOperandIn::Operand(y) => y.zip(&x, op),
            RightOperandIn::Number(number) => number.zip(&x, op),
        };
        self.view.found(found.map(ErasedResult::<bool>::from))
    }

    fn zip<T: Element, U: Element>(
        &self,
        x: &ErasedOperand<'_, T>,
        y: &RightOperandIn<'_, T>,
        op: Chosen<T, U>,
    ) -> Result<ErasedResult<U>> {
        let dtype = self.view.dtype();
        let op = if is_integer(dtype) { op.on_integers(bounds(dtype)) } else { op.on_floats(dtype) };
        let op = op.swapped_if(self.is_swapped);
        let found = match y {
            RightOperandIn::Operand(y) => y.zip(x, op),
            RightOperandIn::Number(number) => (*number).zip(x, op),
        };
        found.map(Into::into).map_err(|error| named(self.operation, self.view.of_type(error)))
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
    if operation == op::matmul.name {
        return super::product::matmul(left, right);
    }
    requested(
        operation,
        left,
        right,
        is_swapped,
        |request| in_type!([Truth Signed Unsigned Float OwnComplex] request.view.dtype(), T => request.run::<T>()),
    )
}

/// Compares two operands within a tolerance. If `is_swapped`, the left operand is on the right side.
#[inline]
pub(crate) fn is_close(
    left: AnyOperand<'_>,
    right: RightOperand<'_>,
    is_swapped: bool,
    tolerance: Tolerance,
) -> Result<AnyValue> {
    let operation = op::is_close.name;
    requested(operation, left, right, is_swapped, |request| {
        in_type!([Signed Unsigned Float Complex] request.view.dtype(), T => request.is_close::<T>(tolerance), else => {
            Err(not_for(operation, request.view, "cast the operands to a number type first"))
        })
    })
}

/// Checks the operands of an operation, and runs the operation on operands of one format.
fn requested(
    operation: &'static str,
    left: AnyOperand<'_>,
    right: RightOperand<'_>,
    is_swapped: bool,
    run: impl FnOnce(&ZipRequest<'_>) -> Result<AnyValue>,
) -> Result<AnyValue> {
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
    run(&ZipRequest { operation, view, right, format, is_swapped })
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

/// Defines the methods of binary operations and of their gradients.
macro_rules! zips {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        zips! { @methods $($name $about;)* }
        zips! { @gradients $($($backward $name $op;)?)* }
    };
    (@methods $($name:ident $about:literal;)*) => {
        zips! { @tensors [AnyTensor] $($name $about;)* }
        zips! { @tensors [AnyStored<'_>] $($name $about;)* }

        #[allow(clippy::should_implement_trait)] // the names of the typed forms, which return errors
        impl AnyOperand<'_> {$(
            #[doc = concat!($about, "\n\nSee ", linked!($name), ".")]
            ///
            /// In an elementwise operation of a tensor and an array, the array counts as a tensor that stores every
            /// element. If the fill of the tensor absorbs the elements of the array, as 0 does in a product, the result
            /// has the pattern of the tensor. Otherwise the result is an array.
            ///
            /// # Errors
            ///
            #[doc = concat!("- the errors of ", linked!($name), ";")]
            /// - `TypesDiffer`: the element types differ;
            /// - `NoOperation`: the element type does not have the operation.
            pub fn $name<'r>(self, right: impl Into<AnyOperand<'r>>) -> Result<AnyValue> {
                zip(op::$name.name, self, RightOperand::Operand(right.into()), false)
            }
        )*}
    };
    (@tensors [$operand:ty] $($name:ident $about:literal;)*) => {
        impl $operand {$(
            #[doc = concat!($about, "\n\nSee ", linked!($name), ".")]
            /// If the formats of the tensors differ, the result is in coordinate format.
            ///
            /// # Errors
            ///
            #[doc = concat!("- the errors of ", linked!($name), ";")]
            /// - `TypesDiffer`: the element types differ;
            /// - `NoOperation`: the element type does not have the operation;
            /// - `Cast`: the right operand is a number that does not fit in the element type.
            #[inline]
            pub fn $name<'r>(&self, right: impl Into<Right<'r>>) -> Result<AnyTensor> {
                zip(op::$name.name, self.into(), right.into().into(), false).map(OperandResult::of)
            }
        )*}
    };
    (@gradients $($name:ident $forward:ident $of:ty;)*) => {
        on_operands! {$(
            #[doc = concat!("Returns the gradients of both operands: see ", linked!($forward in grad),
                ".\n\n# Errors\n\n- the errors of ", linked!($forward in grad), ";")]
            /// - `TypesDiffer`: the element types differ;
            /// - `NoOperation`: the elements are not floats.
            pub fn $name<'r>(
                &self,
                other: impl Into<AnyOperand<'r>>,
                upstream: impl Into<AnyOperand<'r>>,
            ) -> Result<(AnyTensor, AnyTensor)> {
                pair_gradients::<$of>(op::$name.name, self, other.into(), upstream.into())
            }
        )*}
    };
}

crate::__binary! { zips }

zips! { @methods matmul "Returns the matrix product of two operands."; }
zips! { @gradients matmul_backward matmul MatmulGradients; }

/// The gradients of both operands of a product or of an elementwise operation, for elements of any float type.
trait PairGradients {
    fn of<T: Float + Numeric>(
        x: &ErasedOperand<'_, T>,
        y: &ErasedOperand<'_, T>,
        upstream: &ErasedOperand<'_, T>,
    ) -> Result<(ErasedResult<T>, ErasedResult<T>)>;
}

impl<D: Differentiable> PairGradients for D {
    fn of<T: Float + Numeric>(
        x: &ErasedOperand<'_, T>,
        y: &ErasedOperand<'_, T>,
        upstream: &ErasedOperand<'_, T>,
    ) -> Result<(ErasedResult<T>, ErasedResult<T>)> {
        gradients(D::default(), x, y, upstream)
    }
}

/// The gradients of a matrix product.
struct MatmulGradients;

impl PairGradients for MatmulGradients {
    fn of<T: Float + Numeric>(
        x: &ErasedOperand<'_, T>,
        y: &ErasedOperand<'_, T>,
        upstream: &ErasedOperand<'_, T>,
    ) -> Result<(ErasedResult<T>, ErasedResult<T>)> {
        ops::matmul_backward(x, y, upstream)
    }
}

/// Returns the gradients of both operands. If one operand is a stored view, both operands become stored views. The
/// gradients are computed in the type of the floats, because a quotient is rounded more than once.
fn pair_gradients<G: PairGradients>(
    operation: &'static str,
    left: AnyOperand<'_>,
    right: AnyOperand<'_>,
    upstream: AnyOperand<'_>,
) -> Result<(AnyValue, AnyValue)> {
    check_types(operation, &[left, right, upstream])?;
    let (left, right) = match left.is_stored() || right.is_stored() {
        true => (left.stored(), right.stored()),
        false => (left, right),
    };
    in_type!([OwnFloat] left.dtype(), T => {
        let (dx, dy) = G::of::<T>(&widened(left)?, &widened(right)?, &widened(upstream)?)?;
        Ok((left.found(Ok(dx))?, right.found(Ok(dy))?))
    }, else => Err(not_floats(operation, left)))
}

on_operands! {
    /// Returns the gradients of both choices: see [`where_backward`](crate::grad::where_()).
    ///
    /// # Errors
    ///
    /// - the errors of [`where_backward`](crate::grad::where_());
    /// - `NoOperation`: the elements of the condition are not `bool`;
    /// - `NotRepresentable`: the elements of the upstream gradient are not floats.
    pub fn where_backward<'r>(
        &self,
        yes: impl Into<AnyOperand<'r>>,
        no: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let (yes, no) = (yes.into().whole(), no.into().whole());
        let condition = condition(op::where_backward.name, self)?;
        let (of_yes, of_no) = (zeros(yes)?, zeros(no)?);
        on_upstream!([OwnFloat] upstream, g => {
            let (dyes, dno) = ops::where_backward(&condition, &of_yes, &of_no, g)?;
            Ok((yes.found(Ok(dyes))?, no.found(Ok(dno))?))
        })
    }
}

impl AnyOperand<'_> {
    /// Returns whether two operands of the same type are equal within a tolerance.
    ///
    /// See [`allclose`](crate::allclose()).
    ///
    /// # Errors
    ///
    /// - the errors of [`allclose`](crate::allclose());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the elements are `bool`.
    pub fn allclose<'r>(self, other: impl Into<AnyOperand<'r>>, tolerance: impl Into<Tolerance>) -> Result<bool> {
        let (other, tolerance, operation) = (other.into(), tolerance.into(), op::allclose.name);
        check_types(operation, &[self, other])?;
        let format = common_format(&[self, other]);
        in_type!([Signed Unsigned Float Complex] self.dtype(), T => {
            let [x, y] = [brought_operand(widened::<T>(self)?, format)?, brought_operand(widened(other)?, format)?];
            ops::allclose(&x, &y, tolerance)
        }, else => {
            Err(not_for(operation, self, "cast the operands to a number type first"))
        })
    }
}

impl AnyOperand<'_> {
    /// Returns whether each element is close to the element of another operand.
    ///
    /// See [`is_close`](crate::is_close()).
    ///
    /// # Errors
    ///
    /// - the errors of [`is_close`](crate::is_close());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the elements are `bool`.
    pub fn is_close<'r>(self, other: impl Into<AnyOperand<'r>>, tolerance: impl Into<Tolerance>) -> Result<AnyValue> {
        is_close(self, RightOperand::Operand(other.into()), false, tolerance.into())
    }
}

impl AnyStored<'_> {
    /// Returns whether each stored entry is close to the element of another operand or to a number.
    ///
    /// See [`is_close`](crate::is_close()).
    ///
    /// # Errors
    ///
    /// The errors of [`AnyTensor::is_close`].
    pub fn is_close<'r>(&self, right: impl Into<Right<'r>>, tolerance: impl Into<Tolerance>) -> Result<AnyTensor> {
        is_close(self.into(), right.into().into(), false, tolerance.into()).map(OperandResult::of)
    }
}

impl AnyTensor {
    /// Returns whether each element is close to the element of another operand or to a number.
    ///
    /// See [`is_close`](crate::is_close()). If the formats of the tensors differ, the result is in coordinate format.
    ///
    /// # Errors
    ///
    /// - the errors of [`is_close`](crate::is_close());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the elements are `bool`;
    /// - `Cast`: the number cannot be converted to the element type.
    pub fn is_close<'r>(&self, right: impl Into<Right<'r>>, tolerance: impl Into<Tolerance>) -> Result<AnyTensor> {
        is_close(self.into(), right.into().into(), false, tolerance.into()).map(OperandResult::of)
    }

    /// Returns whether two tensors of the same type are equal within a tolerance.
    ///
    /// See [`allclose`](crate::allclose()).
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
fn scaled(view: AnyOperand<'_>, axis: impl Position, factors: AnyOperand<'_>, is_gradient: bool) -> Result<AnyValue> {
    let operation = op::scale.name;
    check_types(operation, &[view, factors])?;
    if factors.rank() != 1 {
        return Err(Error::RankMismatch { what: "the list of factors", expected: 1, found: factors.rank() });
    }
    let is_narrow = is_integer(view.dtype()) && view.dtype() != DType::UInt64;
    let named_here = |error| if is_narrow { named(operation, view.of_type(error)) } else { error };
    in_type!([Truth Signed Unsigned Float OwnComplex] view.dtype(), T => {
        let (x, factors) = (widened::<T>(view)?, widened::<T>(factors)?);
        let factors = factors.dense()?.into_dimensionality::<ndarray::Ix1>().expect("factors of rank 1");
        let found = match is_gradient {
            true => ops::scale_nonzero(&x, axis, factors.view()),
            false => ops::scale(&x, axis, factors.view()),
        };
        view.narrowed(found.map_err(named_here), OverflowRule::OverflowsOfTwo(operation))
    })
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
        axis: impl Position,
        factors: impl Into<AnyOperand<'r>>,
    ) -> Result<AnyTensor> {
        scaled(self, axis, factors.into(), false)
    }

    /// Returns the gradients of the tensor and of the factors of `scale`.
    ///
    /// The gradient of the tensor is `scale` of the upstream gradient, at the entries of the tensor. The gradient of a
    /// factor is the sum of the upstream gradient times the elements that the factor scales. Only stored factors have a
    /// gradient.
    ///
    /// # Errors
    ///
    /// - `AxisOutOfRange`: the operand does not have the axis;
    /// - `RankMismatch`: the factors are not a vector;
    /// - `LengthMismatch`: the number of factors differs from the length of the axis;
    /// - `ShapeMismatch`: the upstream gradient does not have the shape of the operand;
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOperation`: the element type does not have the operation.
    pub fn scale_backward<'r>(
        &self,
        axis: impl Position,
        factors: impl Into<AnyOperand<'r>>,
        upstream: impl Into<AnyOperand<'r>>,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let (x, factors, upstream, axis) = (self.whole(), factors.into().whole(), upstream.into(), axis.to_i128());
        check_types(op::scale_backward.name, &[x, factors, upstream])?;
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
