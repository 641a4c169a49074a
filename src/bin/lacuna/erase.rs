//! Fewer types than files have: what keeps an operation from being compiled once for each element type.
//!
//! Each step here is exact. Whether a number is a member, a NaN or a middle value does not change when it is widened; a
//! gradient that only looks at the pattern, or an operation that only moves values, runs on the numbers of the entries.

use lacuna::io::{AnyFormat, AnyTensor};
use lacuna::{DType, Element, Error, Number, Pattern, Tensor, dispatch};
use num_complex::Complex;

/// Runs code on a tensor of one element type in either format.
macro_rules! on_format {
    ($tensor:expr, $x:ident => $body:expr) => {
        match $tensor {
            lacuna::io::AnyFormat::Coo($x) => $body,
            lacuna::io::AnyFormat::Csr($x) => $body,
        }
    };
}

/// Runs code on a widened tensor; a complex one takes the other branch.
macro_rules! on_wide_real {
    ($wide:expr, $x:ident => $body:expr, else => $otherwise:expr) => {
        match $wide {
            $crate::erase::Wide::Signed(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Unsigned(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Real(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Complex(_) => $otherwise,
        }
    };
}

/// Runs code on a widened tensor.
macro_rules! on_wide {
    ($wide:expr, $x:ident => $body:expr) => {
        match $wide {
            $crate::erase::Wide::Signed(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Unsigned(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Real(x) => $crate::erase::on_format!(x, $x => $body),
            $crate::erase::Wide::Complex(x) => $crate::erase::on_format!(x, $x => $body),
        }
    };
}

pub(crate) use {on_format, on_wide, on_wide_real};

/// A tensor in the widest type of its kind.
pub(crate) enum Wide {
    /// `bool` and the signed integers, and the unsigned ones that `i64` holds.
    Signed(AnyFormat<i64>),
    /// `u64`.
    Unsigned(AnyFormat<u64>),
    /// The floats.
    Real(AnyFormat<f64>),
    /// The complex numbers.
    Complex(AnyFormat<Complex<f64>>),
}

impl Wide {
    pub(crate) fn of(x: &AnyTensor) -> lacuna::Result<Wide> {
        Ok(match x.dtype() {
            DType::UInt64 => Wide::Unsigned(converted(x)?),
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Wide::Real(converted(x)?),
            DType::Complex64 | DType::Complex128 => Wide::Complex(converted(x)?),
            _ => Wide::Signed(converted(x)?),
        })
    }
}

/// The tensor in a type that holds all its values exactly.
fn converted<U: Element>(x: &AnyTensor) -> lacuna::Result<AnyFormat<U>> {
    let convert = |number: Number| U::from_number(number).unwrap_or(U::ZERO);
    dispatch!(x, x => mapped(x, |value| convert(value.to_number())).map(AnyFormat::from))
}

/// The values and the fill through `f`, one after the other; the pattern is shared.
fn mapped<P: Pattern, T: Element, U: Element>(x: &Tensor<P, T>, f: impl Fn(T) -> U) -> lacuna::Result<Tensor<P, U>> {
    let values = x.values().iter().map(|&value| f(value)).collect();
    Tensor::from_parts(x.pattern().clone(), values, f(x.fill()))
}

/// Whether each value is truthy.
pub(crate) fn truth(x: &AnyTensor) -> lacuna::Result<AnyFormat<bool>> {
    dispatch!(x, x => mapped(x, Element::is_truthy).map(AnyFormat::from))
}

/// The number that stands for the fill.
const FILL: u64 = u64::MAX;

/// Each stored value replaced by the number of its entry.
pub(crate) fn numbered(x: &AnyTensor) -> lacuna::Result<AnyFormat<u64>> {
    fn numbers<P: Pattern, T: Element>(x: &Tensor<P, T>) -> lacuna::Result<Tensor<P, u64>> {
        Tensor::from_parts(x.pattern().clone(), (0..x.nnz() as u64).collect(), FILL)
    }
    dispatch!(x, x => numbers(x).map(AnyFormat::from))
}

/// A tensor whose values are entry numbers of `source`, with the values that they stand for. The fill is that of
/// `source`, or zero for a gradient.
pub(crate) fn renumbered(of: &AnyFormat<u64>, source: &AnyTensor, gradient: bool) -> lacuna::Result<AnyTensor> {
    fn value<P: Pattern, T: Element>(source: &Tensor<P, T>, entry: u64) -> T {
        source.values().get(entry as usize).copied().unwrap_or(source.fill())
    }
    fn fill<P: Pattern, T: Element>(source: &Tensor<P, T>, gradient: bool) -> T {
        if gradient { T::ZERO } else { source.fill() }
    }
    dispatch!(source, source => {
        let fill = fill(source, gradient);
        on_format!(of, of => mapped(of, |entry| value(source, entry)).map(|x| AnyTensor::from(x.with_fill(fill))))
    })
}

/// The error for an operation that complex numbers do not have.
pub(crate) fn no_order(operation: &'static str, x: &AnyTensor) -> Error {
    Error::NoOrder { operation, dtype: x.dtype().name() }
}
