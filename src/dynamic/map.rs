//! Functions of one element, of tensors whose types are known at run time only, and their gradients.
//!
//! Floats run as `f64` and are rounded once, as the typed forms do; integers as 64 bits, and what does not fit the type
//! is an overflow.

use super::reduce::no_floats;
use super::view::{View, on_both};
use super::widen::{Beyond, Wide, bounds, is_integer, no_order, not_for, rounded, widened, zeros};
use super::{AnyTensor, Erased};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::element::{DType, Element, Number};
use crate::ops::{self, Isin};
use crate::tensor::Tensor;

impl View<'_> {
    /// A map of all elements, or of the entries alone: then the fill stays, if the result has its type.
    #[inline]
    fn map<T: Element, U: Element>(
        self,
        x: Erased<T>,
        f: impl FnOnce(&Erased<T>) -> Result<Erased<U>>,
    ) -> Result<Erased<U>> {
        if !self.stored {
            return f(&x);
        }
        let own: &dyn std::any::Any = &x.fill();
        let fill = own.downcast_ref().copied().unwrap_or(U::ZERO);
        // What is absent has no result that could be an error.
        Ok(f(&x.with_fill(T::ONE))?.with_fill(fill))
    }

    /// A function of floats.
    #[inline]
    fn of_floats(
        self,
        operation: &'static str,
        f: impl FnOnce(&Erased<f64>) -> Result<Erased<f64>>,
    ) -> Result<AnyTensor> {
        self.found_floats(self.map(self.floats(operation)?, f))
    }

    /// Integers in the type of the tensor, and where they are beyond it an overflow.
    #[inline]
    fn of_integers(self, operation: &'static str, x: Result<Erased<i64>>) -> Result<AnyTensor> {
        self.found_integers(&x.map_err(|error| self.of_type(error))?, Beyond::Overflows(operation))
    }

    /// The error of 64 bits as that of the type.
    #[inline]
    pub(super) fn of_type(self, error: Error) -> Error {
        match error {
            Error::Overflow { operation, coords, .. } => {
                Error::Overflow { operation, coords, dtype: self.tensor.dtype().name() }
            }
            error => error,
        }
    }

    /// A test that every type has; integers are all alike to it, and only their pattern counts.
    #[inline]
    fn test(
        self,
        of_zeros: impl FnOnce(&Erased<bool>) -> Result<Erased<bool>>,
        of_floats: impl FnOnce(&Erased<f64>) -> Result<Erased<bool>>,
        of_complex: impl FnOnce(&Erased<super::types::Complex<f64>>) -> Result<Erased<bool>>,
    ) -> Result<AnyTensor> {
        self.found(match self.tensor.dtype() {
            DType::Bool => self.map(widened(self.tensor)?, of_zeros),
            dtype if is_integer(dtype) => self.map(zeros(self.tensor)?, of_zeros),
            DType::Complex64 | DType::Complex128 => self.map(widened(self.tensor)?, of_complex),
            _ => self.map(widened(self.tensor)?, of_floats),
        })
    }
}

/// Functions of floats.
macro_rules! functions {
    ($($name:ident $(($arg:ident))?, $backward:ident;)*) => {
        on_both! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are no floats.
            #[inline]
            pub fn $name(&self, $($arg: f64)?) -> Result<AnyTensor> {
                self.view().of_floats(stringify!($name), |x| ops::$name(x $(, $arg)?))
            }

            gradient! { $name, $backward $(, $arg: f64)? }
        )*}
    };
}

/// A gradient of a function of floats.
macro_rules! gradient {
    ($name:ident, $backward:ident $(, $arg:ident: $type:ty)*) => {
        #[doc = concat!("The gradient of `", stringify!($name), "`: see [`", stringify!($backward), "`](crate::",
            stringify!($backward), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($backward), "`](crate::", stringify!($backward),
            "()); `NoOperation` or `NotRepresentable`: there are no floats.")]
        #[inline]
        pub fn $backward(&self, upstream: &AnyTensor $(, $arg: $type)*) -> Result<AnyTensor> {
            let (view, g) = (self.view(), floats_of(upstream)?);
            let x = view.floats(stringify!($backward))?;
            view.found_floats_as(ops::$backward(&x, &g $(, $arg)*), upstream.dtype())
        }
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

/// Functions of floats without a gradient.
macro_rules! roundings {
    ($($name:ident)*) => {
        on_both! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are no floats.
            #[inline]
            pub fn $name(&self) -> Result<AnyTensor> {
                self.view().of_floats(stringify!($name), |x| ops::$name(x))
            }
        )*}
    };
}

roundings! { round floor ceil trunc }

/// Functions of integers, floats, and where there is a branch for them of complex numbers.
macro_rules! numbers {
    ($($name:ident($($arg:ident: $type:ty),*), unsigned $unsigned:tt, complex $complex:tt;)*) => {
        on_both! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name),
                "()); `NoOperation`: the element type does not have it.")]
            #[inline]
            pub fn $name(&self, $($arg: $type),*) -> Result<AnyTensor> {
                let view = self.view();
                let lacking = || not_for(stringify!($name), view.tensor, "cast beforehand");
                match Wide::of(view.tensor)? {
                    Wide::Float(x) => view.found_floats(view.map(x, |x| ops::$name(x $(, $arg)*))),
                    Wide::Signed(_) if !$unsigned && bounds(view.tensor.dtype()).0 == 0 => Err(lacking()),
                    Wide::Signed(x) => {
                        view.of_integers(stringify!($name), view.map(x, |x| ops::$name(x $(, $arg)*)))
                    }
                    Wide::Unsigned(x) => numbers!(@unsigned $unsigned view x $name lacking $($arg)*),
                    Wide::Complex(x) => numbers!(@complex $complex view x $name lacking $($arg)*),
                    Wide::Truth(_) => Err(lacking()),
                }
            }
        )*}
    };
    (@unsigned true $view:ident $x:ident $name:ident $lacking:ident $($arg:ident)*) => {
        $view.found($view.map($x, |x| ops::$name(x $(, $arg)*)))
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
        $view.$narrow($view.map($x, |x| ops::$name(x $(, $arg)*)))
    };
}

numbers! {
    neg(), unsigned false, complex found_complex;
    abs(), unsigned true, complex found_parts;
    sign(), unsigned true, complex none;
    square(), unsigned true, complex none;
    powi(exponent: i32), unsigned true, complex none;
}

/// Functions of complex numbers.
macro_rules! complex {
    ($($name:ident $narrow:ident;)*) => {
        on_both! {$(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
            ///
            /// # Errors
            ///
            /// `NoOperation`: the elements are not complex.
            #[inline]
            pub fn $name(&self) -> Result<AnyTensor> {
                let view = self.view();
                match Wide::of(view.tensor)? {
                    Wide::Complex(x) => view.$narrow(view.map(x, |x| ops::$name(x))),
                    _ => Err(not_for(stringify!($name), view.tensor, "it is an operation on complex numbers")),
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

impl View<'_> {
    /// Complex numbers in the type of the tensor.
    #[inline]
    fn found_complex(self, x: Result<Erased<super::types::Complex<f64>>>) -> Result<AnyTensor> {
        let x = x?;
        if self.tensor.dtype() != DType::Complex64 {
            return self.found(Ok(x));
        }
        let narrow = |value: super::types::Complex<f64>| super::types::Complex::new(value.re as f32, value.im as f32);
        let values: Vec<_> = alloc::collect(x.values().iter().map(|&value| narrow(value)))?;
        self.found(Ok(Tensor::from_valid(x.pattern().clone(), values, narrow(x.fill()))))
    }

    /// Parts of complex numbers in the type of the tensor.
    #[inline]
    fn found_parts(self, x: Result<Erased<f64>>) -> Result<AnyTensor> {
        match self.tensor.dtype() {
            DType::Complex64 => self.found(rounded::<f32>(&x?, |nan| nan as f32)),
            _ => self.found(x),
        }
    }
}

on_both! {
    gradient! { neg, neg_backward }
    gradient! { abs, abs_backward }
    gradient! { square, square_backward }
    gradient! { powi, powi_backward, exponent: i32 }
    gradient! { clamp, clamp_backward, low: f64, high: f64 }

    /// [`not`](crate::not()) of each element: of integers bit by bit.
    ///
    /// # Errors
    ///
    /// `NoOperation`: the elements are neither integers nor `bool`.
    #[inline]
    pub fn not(&self) -> Result<AnyTensor> {
        let view = self.view();
        // All ones of an unsigned type are no -1 in a wider one.
        let (least, greatest) = bounds(view.tensor.dtype());
        match Wide::of(view.tensor)? {
            Wide::Truth(x) => view.found(view.map(x, ops::not)),
            Wide::Unsigned(x) => view.found(view.map(x, ops::not)),
            Wide::Signed(x) => {
                let mirror = (least + greatest) as i64;
                let of_integers = |x: &Erased<i64>| {
                    Ok(x.map_values(|value| mirror - value)?.with_fill(mirror - x.fill()))
                };
                view.of_integers("not", view.map(x, of_integers))
            }
            _ => Err(not_for("not", view.tensor, "it is an operation on integers and bool")),
        }
    }

    /// [`clamp`](crate::clamp()) of each element, between numbers that are values of its type.
    ///
    /// # Errors
    ///
    /// Those of [`clamp`](crate::clamp()); `Cast`: a bound is no value of the type; `NoOrder`: the elements are
    /// complex.
    #[inline]
    pub fn clamp(&self, low: Number, high: Number) -> Result<AnyTensor> {
        let view = self.view();
        let (low, high) = (in_type_of(view.tensor, low)?, in_type_of(view.tensor, high)?);
        macro_rules! within {
            ($x:ident) => {
                view.map($x, |x| ops::clamp(x, wide(low), wide(high)))
            };
        }
        match Wide::of(view.tensor)? {
            Wide::Truth(x) => view.found(within!(x)),
            Wide::Signed(x) => view.of_integers("clamp", within!(x)),
            Wide::Unsigned(x) => view.found(within!(x)),
            Wide::Float(x) => view.found_floats(within!(x)),
            Wide::Complex(_) => Err(no_order("clamp", view.tensor)),
        }
    }

    /// Whether each element is one of `members`, or with `invert` none of them: see [`isin()`](crate::isin()).
    ///
    /// Numbers are compared as such: one that is no value of the element type is never a member.
    ///
    /// # Errors
    ///
    /// Those of [`isin()`](crate::isin()).
    #[inline]
    pub fn isin(&self, members: impl AsRef<[Number]>, invert: bool) -> Result<AnyTensor> {
        let (view, members) = (self.view(), members.as_ref());
        match Wide::of(view.tensor)? {
            Wide::Truth(x) => view.found(view.map(x, |x| is_member(x, members, invert))),
            Wide::Signed(x) => view.found(view.map(x, |x| is_member(x, members, invert))),
            Wide::Unsigned(x) => view.found(view.map(x, |x| is_member(x, members, invert))),
            Wide::Float(x) => view.found(view.map(x, |x| is_member(x, members, invert))),
            Wide::Complex(x) => view.found(view.map(x, |x| is_member(x, members, invert))),
        }
    }
}

/// The tests that every type has, and those of types with an order.
macro_rules! tests {
    ($($name:ident)*; $($ordered:ident)*) => {
        on_both! {
            $(
                #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
                ///
                /// # Errors
                ///
                #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
                #[inline]
                pub fn $name(&self) -> Result<AnyTensor> {
                    self.view().test(|x| ops::$name(x), |x| ops::$name(x), |x| ops::$name(x))
                }
            )*
            $(
                #[doc = concat!("[`", stringify!($ordered), "`](crate::", stringify!($ordered), "()) of each element.")]
                ///
                /// # Errors
                ///
                #[doc = concat!("Those of [`", stringify!($ordered), "`](crate::", stringify!($ordered),
                    "()), and `NoOrder`: the elements are complex.")]
                #[inline]
                pub fn $ordered(&self) -> Result<AnyTensor> {
                    let view = self.view();
                    let refused = |_: &_| Err(no_order(stringify!($ordered), view.tensor));
                    view.test(|x| ops::$ordered(x), |x| ops::$ordered(x), refused)
                }
            )*
        }
    };
}

tests! { isinf isnan isfinite isreal; isposinf isneginf }

impl AnyTensor {
    /// The same tensor without its stored entries that are the fill: see [`Tensor::prune`].
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::prune`].
    #[inline]
    pub fn prune(&self) -> Result<AnyTensor> {
        super::on_type!(self, x => self.view().found(x.clone().prune()))
    }

    /// The same entries with another fill, a value of the element type: see [`Tensor::with_fill`].
    ///
    /// # Errors
    ///
    /// `Cast`: the number is no value of the type.
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
    #[inline]
    pub fn with_fill(&self, fill: Number) -> Result<AnyTensor> {
        fn value<T: Element>(_: &Erased<T>, fill: Number) -> Result<T> {
            crate::tensor::number_in(fill, T::DTYPE, || "the fill".into())
        }
        super::on_type!(self, x => {
            let fill = value(x, fill)?;
            self.view().found(Ok(x.clone().with_fill(fill)))
        })
    }
}

/// The upstream gradient as `f64`.
#[inline]
fn floats_of(upstream: &AnyTensor) -> Result<Erased<f64>> {
    upstream.view().floats("").map_err(|_| no_floats(upstream))
}

/// A number rounded to the type of a tensor.
#[inline]
pub(super) fn in_type_of(x: &AnyTensor, number: Number) -> Result<Number> {
    let place = || "the number".to_string();
    crate::dispatch_dtype!(x.dtype(), T => {
        crate::tensor::number_in::<T>(number, T::DTYPE, place).map(Element::to_number)
    }, else => Ok(number))
}

/// A number that the type is known to hold.
pub(super) fn wide<T: Element>(number: Number) -> T {
    T::from_number(number).unwrap_or(T::ZERO)
}

fn is_member<T: Element>(x: &Erased<T>, members: &[Number], invert: bool) -> Result<Erased<bool>> {
    let mut isin = Isin::of(exactly(members)?);
    isin.invert = invert;
    ops::isin(x, isin)
}

/// The numbers that are values of the type.
fn exactly<T: Element>(numbers: &[Number]) -> Allocated<Vec<T>> {
    let value = |&number: &Number| T::from_number(number).filter(|value| value.to_number() == number);
    let mut values = alloc::with_capacity(numbers.len())?;
    values.extend(numbers.iter().filter_map(value));
    Ok(values)
}
