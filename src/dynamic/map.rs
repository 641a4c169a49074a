//! Elementwise functions of dynamically typed tensors, and their gradients.
//!
//! Floats run as `f64` and are rounded once, as for static types. Integers run in 64 bits; a result that does not fit
//! the type is an overflow.

use super::reduce::no_floats;
use super::types::Complex;
use super::view::{in_format, on_operands};
use super::widen::{Beyond, Wide, bounds, changed, is_integer, no_order, not_for, rounded, widened, zeros};
use super::{AnyOperand, AnyTensor, AnyValue, Erased};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Number};
use crate::ops::{self, Isin, RunTimeOperand, RunTimeResult};

impl AnyOperand<'_> {
    /// Applies a function of floats.
    #[inline]
    fn of_floats<R: Into<RunTimeResult<f64>>>(
        self,
        operation: &'static str,
        f: impl FnOnce(&RunTimeOperand<'_, f64>) -> Result<R>,
    ) -> Result<AnyValue> {
        self.found_floats(f(&self.floats(operation)?))
    }

    /// Returns integers in the type of the operand. An integer that does not fit is an overflow.
    #[inline]
    fn of_integers(self, operation: &'static str, x: Result<impl Into<RunTimeResult<i64>>>) -> Result<AnyValue> {
        self.found_integers(x.map_err(|error| self.of_type(error)), Beyond::Overflows(operation))
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

    /// Evaluates a predicate that every type has. All integers have the same result.
    #[inline]
    fn test<R: Into<RunTimeResult<bool>>>(
        self,
        of_zeros: impl FnOnce(&RunTimeOperand<'_, bool>) -> Result<R>,
        of_floats: impl FnOnce(&RunTimeOperand<'_, f64>) -> Result<R>,
        of_complex: impl FnOnce(&RunTimeOperand<'_, Complex<f64>>) -> Result<R>,
    ) -> Result<AnyValue> {
        self.found(match self.dtype() {
            DType::Bool => of_zeros(&widened(self)?),
            dtype if is_integer(dtype) => of_zeros(&zeros(self)?),
            DType::Complex64 | DType::Complex128 => of_complex(&widened(self)?),
            _ => of_floats(&widened(self)?),
        })
    }
}

/// Defines the methods of functions of floats, and their gradients.
macro_rules! functions {
    ($($name:ident $(($arg:ident))?, $backward:ident;)*) => {
        on_operands! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are not floats.
            pub fn $name(&self, $($arg: f64)?) -> Result<AnyTensor> {
                self.of_floats(stringify!($name), |x| ops::$name(x $(, $arg)?))
            }
        )*}

        slopes! { $($name, $backward $(, $arg: f64)?;)* }
    };
}

/// Defines the methods of gradients of elementwise functions.
macro_rules! slopes {
    ($($name:ident, $backward:ident $(, $arg:ident: $type:ty)*;)*) => {
        on_operands! {$(
            #[doc = concat!("Returns the gradient of `", stringify!($name), "`: see [`grad::", stringify!($name),
                "`](crate::grad::", stringify!($name), ").")]
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`grad::", stringify!($name), "`](crate::grad::", stringify!($name),
                "); `NoOperation` or `NotRepresentable`: there are no floats.")]
            pub fn $backward<'u>(&self, upstream: impl Into<AnyOperand<'u>> $(, $arg: $type)*) -> Result<AnyTensor> {
                let upstream = upstream.into();
                let (x, g) = (self.floats(stringify!($backward))?, floats_of(upstream)?);
                self.found_floats_as(ops::$backward(&x, &g $(, $arg)*), upstream.dtype())
            }
        )*}
    };
}

functions! {
    sqrt, sqrt_backward;
    cbrt, cbrt_backward;
    exp, exp_backward;
    exp_m1, exp_m1_backward;
    ln, ln_backward;
    ln_1p, ln_1p_backward;
    log2, log2_backward;
    log10, log10_backward;
    sin, sin_backward;
    cos, cos_backward;
    tan, tan_backward;
    asin, asin_backward;
    acos, acos_backward;
    atan, atan_backward;
    sinh, sinh_backward;
    cosh, cosh_backward;
    tanh, tanh_backward;
    recip, recip_backward;
    powf(exponent), powf_backward;
}

/// Defines the methods of functions of floats without a gradient.
macro_rules! roundings {
    ($($name:ident)*) => {
        on_operands! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are not floats.
            pub fn $name(&self) -> Result<AnyTensor> {
                self.of_floats(stringify!($name), |x| ops::$name(x))
            }
        )*}
    };
}

roundings! { round floor ceil trunc }

/// Defines the methods of functions of integers and floats. A function of complex numbers has a `complex` branch.
macro_rules! numbers {
    ($($name:ident($($arg:ident: $type:ty),*), unsigned $unsigned:tt, complex $complex:tt;)*) => {
        on_operands! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `NoOperation`: the element type does not have it.")]
            pub fn $name(&self, $($arg: $type),*) -> Result<AnyTensor> {
                let view = self;
                let lacking = || not_for(stringify!($name), view, "cast beforehand");
                match &Wide::of(view)? {
                    Wide::Float(x) => view.found_floats(ops::$name(x $(, $arg)*)),
                    Wide::Signed(_) if !$unsigned && bounds(view.dtype()).0 == 0 => Err(lacking()),
                    Wide::Signed(x) => view.of_integers(stringify!($name), ops::$name(x $(, $arg)*)),
                    Wide::Unsigned(x) => numbers!(@unsigned $unsigned view x $name lacking $($arg)*),
                    Wide::Complex(x) => numbers!(@complex $complex view x $name lacking $($arg)*),
                    Wide::Truth(_) => Err(lacking()),
                }
            }
        )*}
    };
    (@unsigned true $view:ident $x:ident $name:ident $lacking:ident $($arg:ident)*) => {
        $view.found(ops::$name($x $(, $arg)*))
    };
    (@unsigned false $view:ident $x:ident $name:ident $lacking:ident $($arg:ident)*) => {{
        let _ = $x;
        Err($lacking())
    }};
    (@complex none $view:ident $x:ident $name:ident $lacking:ident $($arg:ident)*) => {{
        let _ = $x;
        Err($lacking())
    }};
    (@complex $narrow:ident $view:ident $x:ident $name:ident $lacking:ident $($arg:ident)*) => {
        $view.$narrow(ops::$name($x $(, $arg)*))
    };
}

numbers! {
    neg(), unsigned false, complex found_complex;
    abs(), unsigned true, complex found_parts;
    sign(), unsigned true, complex none;
    square(), unsigned true, complex none;
    powi(exponent: i32), unsigned true, complex none;
}

/// Defines the methods of functions of complex numbers.
macro_rules! complex {
    ($($name:ident $narrow:ident;)*) => {
        on_operands! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are not complex.
            pub fn $name(&self) -> Result<AnyTensor> {
                match &Wide::of(self)? {
                    Wide::Complex(x) => self.$narrow(ops::$name(x)),
                    _ => Err(not_for(stringify!($name), self, "it is an operation on complex numbers")),
                }
            }
        )*}
    };
}

complex! {
    conj found_complex;
    real found_parts;
    imag found_parts;
}

impl AnyOperand<'_> {
    /// Returns complex numbers in the type of the operand.
    #[inline]
    fn found_complex(self, x: Result<impl Into<RunTimeResult<Complex<f64>>>>) -> Result<AnyValue> {
        let x = x?.into();
        if self.dtype() != DType::Complex64 {
            return self.found(Ok(x));
        }
        let narrow = |value: Complex<f64>| Complex::new(value.re as f32, value.im as f32);
        self.found(changed(x, narrow, narrow))
    }

    /// Returns real numbers in the type of the parts of the operand.
    #[inline]
    fn found_parts(self, x: Result<impl Into<RunTimeResult<f64>>>) -> Result<AnyValue> {
        match self.dtype() {
            DType::Complex64 => self.found(rounded::<f32>(x?.into(), |nan| nan as f32)),
            _ => self.found(x),
        }
    }
}

slopes! {
    neg, neg_backward;
    abs, abs_backward;
    square, square_backward;
    powi, powi_backward, exponent: i32;
    clamp, clamp_backward, low: f64, high: f64;
}

on_operands! {
    /// Applies [`not`](crate::not()) to each element, to integers bitwise.
    ///
    /// # Errors
    ///
    /// `NoOperation`: the elements are neither integers nor `bool`.
    pub fn not(&self) -> Result<AnyTensor> {
        // All ones of an unsigned type are not -1 in a wider type.
        let (least, greatest) = bounds(self.dtype());
        match Wide::of(self)? {
            Wide::Truth(x) => self.found(ops::not(&x)),
            Wide::Unsigned(x) => self.found(ops::not(&x)),
            Wide::Signed(x) => {
                let mirror = |value: i64| (least + greatest) as i64 - value;
                let is_stored = self.is_stored();
                let of_fill = |fill| if is_stored { fill } else { mirror(fill) };
                self.of_integers("not", changed(x.into(), mirror, of_fill))
            }
            _ => Err(not_for("not", self, "it is an operation on integers and bool")),
        }
    }

    /// Applies [`clamp`](crate::clamp()) to each element, with bounds in its type.
    ///
    /// # Errors
    ///
    /// - the errors of [`clamp`](crate::clamp());
    /// - `Cast`: a bound is not a value of the type;
    /// - `NoOrder`: the elements are complex.
    pub fn clamp(&self, low: Number, high: Number) -> Result<AnyTensor> {
        let (low, high) = (in_type_of(self.dtype(), low)?, in_type_of(self.dtype(), high)?);
        match &Wide::of(self)? {
            Wide::Truth(x) => self.found(ops::clamp(x, wide(low), wide(high))),
            Wide::Signed(x) => self.of_integers("clamp", ops::clamp(x, wide(low), wide(high))),
            Wide::Unsigned(x) => self.found(ops::clamp(x, wide(low), wide(high))),
            Wide::Float(x) => self.found_floats(ops::clamp(x, wide(low), wide(high))),
            Wide::Complex(_) => Err(no_order("clamp", self)),
        }
    }

    /// Returns whether each element is one of `members`: see [`isin()`](crate::isin()).
    ///
    /// If `invert` is true, returns whether each element is none of `members`. Numbers are compared exactly. A number
    /// that is not a value of the element type is never a member.
    ///
    /// # Errors
    ///
    /// The errors of [`isin()`](crate::isin()).
    pub fn isin(&self, members: impl AsRef<[Number]>, invert: bool) -> Result<AnyTensor> {
        let members = members.as_ref();
        self.found(match &Wide::of(self)? {
            Wide::Truth(x) => is_member(x, members, invert),
            Wide::Signed(x) => is_member(x, members, invert),
            Wide::Unsigned(x) => is_member(x, members, invert),
            Wide::Float(x) => is_member(x, members, invert),
            Wide::Complex(x) => is_member(x, members, invert),
        })
    }
}

/// Defines the predicates of all types, and the predicates of types with an order.
macro_rules! tests {
    ($($name:ident)*; $($ordered:ident)*) => {
        on_operands! {
            $(
                #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
                ///
                /// # Errors
                ///
                #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
                pub fn $name(&self) -> Result<AnyTensor> {
                    self.test(|x| ops::$name(x), |x| ops::$name(x), |x| ops::$name(x))
                }
            )*
            $(
                #[doc = concat!("[`", stringify!($ordered), "`](crate::", stringify!($ordered), "()) of each element.")]
                ///
                /// # Errors
                ///
                #[doc = concat!("Those of [`", stringify!($ordered), "`](crate::", stringify!($ordered),
                    "()), and `NoOrder`: the elements are complex.")]
                pub fn $ordered(&self) -> Result<AnyTensor> {
                    self.test(
                        |x| ops::$ordered(x),
                        |x| ops::$ordered(x),
                        |_| Err(no_order(stringify!($ordered), self)),
                    )
                }
            )*
        }
    };
}

tests! { isinf isnan isfinite isreal; isposinf isneginf }

impl AnyTensor {
    /// Returns the tensor without stored entries that equal the fill: see [`Tensor::prune`](crate::Tensor::prune).
    ///
    /// # Errors
    ///
    /// The errors of [`Tensor::prune`](crate::Tensor::prune).
    pub fn prune(&self) -> Result<AnyTensor> {
        super::on_type!(self, x => in_format(&x.clone().prune()?, self.format(), self.stored_bytes()))
    }

    /// Returns the same entries with another fill: see [`Tensor::with_fill`](crate::Tensor::with_fill).
    ///
    /// # Errors
    ///
    /// `Cast`: the number is not a value of the element type.
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
        super::on_type!(self, x => {
            let fill = value(x, fill)?;
            in_format(&x.clone().with_fill(fill), self.format(), self.stored_bytes())
        })
    }
}

/// Returns the upstream gradient as `f64`.
#[inline]
fn floats_of(upstream: AnyOperand<'_>) -> Result<RunTimeOperand<'_, f64>> {
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

/// Returns a number in a type that is known to hold it.
pub(super) fn wide<T: Element>(number: Number) -> T {
    T::from_number(number).unwrap_or(T::ZERO)
}

fn is_member<T: Element>(x: &RunTimeOperand<'_, T>, members: &[Number], invert: bool) -> Result<RunTimeResult<bool>> {
    let mut isin = Isin::of(exactly(members)?);
    isin.invert = invert;
    ops::isin(x, isin)
}

/// Returns the numbers that are values of the type.
fn exactly<T: Element>(numbers: &[Number]) -> Allocated<Vec<T>> {
    let value = |&number: &Number| T::from_number(number).filter(|value| value.to_number() == number);
    let mut values = alloc::with_capacity(numbers.len())?;
    values.extend(numbers.iter().filter_map(value));
    Ok(values)
}
