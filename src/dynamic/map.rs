//! Elementwise functions of dynamically typed tensors, and their gradients.
//!
//! Floats run as `f64` and are rounded once, as for static types. Integers run in 64 bits; a result that does not fit
//! in the type returns an overflow error.

use super::routes::in_type;
use super::view::{in_format, on_operands};
use super::widen::{
    OverflowRule, RunType, bounds, changed, is_integer, no_floats, no_order, not_floats, not_for, widened,
    zeros_of_reals,
};
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::dispatch;
use crate::element::{DType, Element, Number};
use crate::ops::{self, ErasedOperand, ErasedResult, Isin, OpSpec, linked, op};

impl AnyOperand<'_> {
    /// Returns the error for an element type that the operation does not support.
    fn unsupported(self, op: &OpSpec, kinds: &[&str]) -> Error {
        match kinds {
            ["Float"] => not_floats(op.name, self),
            ["Complex"] => not_for(op.name, self, "cast the operand to a complex type first"),
            ["Truth", ..] => not_for(op.name, self, "cast the operand to an integer type or bool first"),
            _ => not_for(op.name, self, "cast the operand first"),
        }
    }

    /// Returns a result in the type of the operand. An integer that does not fit in the type returns an overflow error.
    #[inline]
    fn computed<T: RunType>(self, op: &OpSpec, result: Result<ErasedResult<T>>) -> Result<AnyValue> {
        self.narrowed(result.map_err(|error| self.of_type(error)), OverflowRule::Overflows(op.name))
    }

    /// Returns an overflow of 64 bits as an overflow of the operand's type.
    #[inline]
    pub(super) fn of_type(self, error: Error) -> Error {
        match error {
            Error::Overflow { operation, coords, .. } => {
                Error::Overflow { operation, coords, dtype: self.dtype().name() }
            }
            error => error,
        }
    }

    /// Returns the gradient of a function of floats, in the type of the upstream gradient.
    #[inline]
    fn gradient_of_floats(
        self,
        op: &OpSpec,
        upstream: AnyOperand<'_>,
        gradient: impl FnOnce(&ErasedOperand<'_, f64>, &ErasedOperand<'_, f64>) -> Result<ErasedResult<f64>>,
    ) -> Result<AnyValue> {
        let (x, upstream_floats) = (self.floats(op.name)?, floats_of(upstream)?);
        self.found_floats_as(gradient(&x, &upstream_floats), upstream.dtype())
    }
}

/// Defines the methods of the functions in the table and of their gradients. Each row lists the supported kinds of
/// element types; elements are converted to the widest type of their kind. A predicate has the same result for all
/// integers, so integers are replaced by zeros. The family `bits` is defined below.
macro_rules! functions {
    (tests { $($tests:tt)* } numbers { $($numbers:tt)* } bits { $($bits:tt)* } parts { $($parts:tt)* }
     floats { $($floats:tt)* }) => {
        functions! { @rows tests $($tests)* }
        functions! { @rows numbers $($numbers)* $($parts)* $($floats)* }
    };
    (@other tests $x:ident $name:ident $kinds:tt) => {
        $x.found(ops::$name(&zeros_of_reals($x, op::$name.name)?))
    };
    (@other numbers $x:ident $name:ident ($($kind:ident)*)) => {
        Err($x.unsupported(&op::$name, &[$(stringify!($kind)),*]))
    };
    (@rows $family:ident $(
        #[doc = $sentence:literal] $name:ident $element:tt ($($kind:ident)*) $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*) => {
        on_operands! {
            $(
                #[doc = concat!($sentence, ": see ", linked!($name), ".\n\n# Errors\n")]
                #[doc = concat!("- the errors of ", linked!($name), ";")]
                /// - `NoOperation` or `NoOrder`: the element type does not have the operation.
                pub fn $name(&self) -> Result<AnyTensor> {
                    let x = self;
                    in_type!([$($kind)*] x.dtype(), T => {
                        x.computed(&op::$name, ops::$name(&widened::<T>(x)?))
                    }, else => functions!(@other $family x $name ($($kind)*)))
                }
            )*
            $($(
                #[doc = concat!("Returns the gradient of `", stringify!($name), "`: see ", linked!($name in grad),
                    ".\n\n# Errors\n\n- the errors of ", linked!($name in grad), ";")]
                /// - `NoOperation` or `NotRepresentable`: the elements or the upstream gradients are not floats.
                pub fn $backward<'u>(&self, upstream: impl Into<AnyOperand<'u>>) -> Result<AnyTensor> {
                    self.gradient_of_floats(&op::$backward, upstream.into(), |x, g| ops::$backward(x, g))
                }
            )?)*
        }
    };
}

crate::__functions! { functions }

on_operands! {
    /// Returns each element with all bits inverted; for `bool`, the negation.
    ///
    /// See [`not`](crate::not()).
    ///
    /// # Errors
    ///
    /// `NoOperation`: the elements are neither integers nor `bool`.
    pub fn not(&self) -> Result<AnyTensor> {
        match self.dtype() {
            DType::Bool => self.computed(&op::not, ops::not(&widened::<bool>(self)?)),
            DType::UInt64 => self.computed(&op::not, ops::not(&widened::<u64>(self)?)),
            dtype if is_integer(dtype) => {
                // In an unsigned type, the number with all bits set is not -1 in a wider type.
                let (min, max) = bounds(dtype);
                let mirror = |value: i64| (min + max) as i64 - value;
                let is_stored = self.is_stored();
                let of_fill = |fill| if is_stored { fill } else { mirror(fill) };
                self.computed(&op::not, changed(widened::<i64>(self)?.into(), mirror, of_fill))
            }
            _ => Err(self.unsupported(&op::not, &["Truth"])),
        }
    }

    /// Raises each element to the power of an integer: see [`powi`](crate::powi()).
    ///
    /// # Errors
    ///
    /// - the errors of [`powi`](crate::powi());
    /// - `NoOperation`: the elements are `bool`.
    pub fn powi(&self, exponent: i32) -> Result<AnyTensor> {
        in_type!([Signed Unsigned Float Complex] self.dtype(), T => {
            self.computed(&op::powi, ops::powi(&widened::<T>(self)?, exponent))
        }, else => Err(self.unsupported(&op::powi, &[])))
    }

    /// Raises each element to the power of a number: see [`powf`](crate::powf()).
    ///
    /// # Errors
    ///
    /// `NoOperation`: the elements are not floats.
    pub fn powf(&self, exponent: f64) -> Result<AnyTensor> {
        self.computed(&op::powf, ops::powf(&self.floats(op::powf.name)?, exponent))
    }

    /// Returns the gradient of `powi`: see [`grad::powi`](crate::grad::powi()).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::powi`](crate::grad::powi());
    /// - `NoOperation` or `NotRepresentable`: the elements or the upstream gradients are not floats.
    pub fn powi_backward<'u>(&self, upstream: impl Into<AnyOperand<'u>>, exponent: i32) -> Result<AnyTensor> {
        self.gradient_of_floats(&op::powi_backward, upstream.into(), |x, g| ops::powi_backward(x, g, exponent))
    }

    /// Returns the gradient of `powf`: see [`grad::powf`](crate::grad::powf()).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::powf`](crate::grad::powf());
    /// - `NoOperation` or `NotRepresentable`: the elements or the upstream gradients are not floats.
    pub fn powf_backward<'u>(&self, upstream: impl Into<AnyOperand<'u>>, exponent: f64) -> Result<AnyTensor> {
        self.gradient_of_floats(&op::powf_backward, upstream.into(), |x, g| ops::powf_backward(x, g, exponent))
    }

    /// Returns the gradient of `clamp`: see [`grad::clamp`](crate::grad::clamp()).
    ///
    /// # Errors
    ///
    /// - the errors of [`grad::clamp`](crate::grad::clamp());
    /// - `NoOperation` or `NotRepresentable`: the elements or the upstream gradients are not floats.
    pub fn clamp_backward<'u>(&self, upstream: impl Into<AnyOperand<'u>>, low: f64, high: f64) -> Result<AnyTensor> {
        self.gradient_of_floats(&op::clamp_backward, upstream.into(), |x, g| ops::clamp_backward(x, g, low, high))
    }

    /// Returns each element clamped to two bounds of its type: see [`clamp`](crate::clamp()).
    ///
    /// # Errors
    ///
    /// - the errors of [`clamp`](crate::clamp());
    /// - `Cast`: a bound cannot be converted to the element type;
    /// - `NoOrder`: the elements are complex.
    pub fn clamp(&self, low: Number, high: Number) -> Result<AnyTensor> {
        let (low, high) = (in_type_of(self.dtype(), low)?, in_type_of(self.dtype(), high)?);
        in_type!([Truth Signed Unsigned Float] self.dtype(), T => {
            self.computed(&op::clamp, ops::clamp(&widened::<T>(self)?, wide(low), wide(high)))
        }, else => Err(no_order(op::clamp.name, self)))
    }

    /// Returns whether each element is one of `members`: see [`isin()`](crate::isin()).
    ///
    /// If `invert` is true, returns whether each element differs from all `members`. Numbers are compared exactly. A
    /// number that is not a value of the element type is never a member.
    ///
    /// # Errors
    ///
    /// The errors of [`isin()`](crate::isin()).
    pub fn isin(&self, members: impl AsRef<[Number]>, invert: bool) -> Result<AnyTensor> {
        let members = members.as_ref();
        in_type!([Truth Signed Unsigned Float Complex] self.dtype(), T => {
            let mut isin = Isin::of(exactly::<T>(members)?);
            isin.invert = invert;
            self.found(ops::isin(&widened::<T>(self)?, isin))
        })
    }
}

impl AnyTensor {
    /// Removes the stored entries that are the same as the fill.
    ///
    /// See [`Tensor::prune`](crate::Tensor::prune).
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::prune`](crate::Tensor::prune).
    pub fn prune(&self) -> Result<AnyTensor> {
        dispatch!(self, x => in_format(&x.clone().prune()?, self.format(), self.stored_bytes()))
    }

    /// Returns the same entries with another fill: see [`Tensor::with_fill`](crate::Tensor::with_fill).
    ///
    /// # Errors
    ///
    /// `Cast`: the number cannot be converted to the element type.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::{CooTensor, Number};
    ///
    /// let x = AnyTensor::from(CooTensor::new([3], vec![vec![1]], vec![7u8], 0)?);
    /// assert_eq!(x.with_fill(Number::Integer(9))?.fill(), Number::Integer(9));
    /// assert!(x.with_fill(Number::Integer(256)).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn with_fill(&self, fill: Number) -> Result<AnyTensor> {
        fn value<T: Element>(_: &Erased<T>, fill: Number) -> Result<T> {
            crate::tensor::number_in(fill, T::DTYPE, || "the fill".into())
        }
        dispatch!(self, x => {
            let fill = value(x, fill)?;
            in_format(&x.clone().with_fill(fill), self.format(), self.stored_bytes())
        })
    }
}

/// Returns the upstream gradient as `f64`.
#[inline]
fn floats_of(upstream: AnyOperand<'_>) -> Result<ErasedOperand<'_, f64>> {
    upstream.floats("").map_err(|_| no_floats(upstream))
}

/// Returns a number rounded to an element type.
#[inline]
pub(super) fn in_type_of(dtype: DType, number: Number) -> Result<Number> {
    let place = || "the number".to_string();
    crate::dispatch_dtype!(dtype, T => {
        crate::tensor::number_in::<T>(number, T::DTYPE, place).map(Element::to_number)
    }, else => Ok(number))
}

/// Returns a number in a type in which it is known to fit.
pub(super) fn wide<T: Element>(number: Number) -> T {
    T::from_number(number).unwrap_or(T::ZERO)
}

/// Returns the numbers that are values of the type.
fn exactly<T: Element>(numbers: &[Number]) -> Allocated<Vec<T>> {
    let value = |&number: &Number| T::from_number(number).filter(|value| value.to_number() == number);
    let mut values = alloc::with_capacity(numbers.len())?;
    values.extend(numbers.iter().filter_map(value));
    Ok(values)
}
