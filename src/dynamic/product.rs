//! Products of two dynamically typed tensors.

use super::einsum::{by_products, of_one_view, of_type, shown};
use super::view::on_operands;
use super::widen::{Beyond, bounds, no_order};
use super::zip::{RightOperand, check_types};
use super::{AnyOperand, AnyTensor, AnyValue};
use crate::base::error::{Error, Result};
use crate::dispatch;
use crate::element::DType;
use crate::kernels::semiring::{DynamicSemiring, ElementOrder, SemiringOps};
use crate::ops::op;
use crate::ops::{self, SEMIRINGS, matmul_with_entries, ways};
use crate::pattern::AnyPattern;

/// Returns the product of matrices. Floats run in their own type, because each sum is rounded; integers are exact.
pub(super) fn matmul(left: AnyOperand<'_>, right: RightOperand<'_>) -> Result<AnyValue> {
    let RightOperand::Operand(right) = right else {
        let why = "a number has no rows and columns; mul multiplies by it".into();
        return Err(Error::Argument { operation: op::matmul.name, why });
    };
    let operands = of_one_view(&[left, right]);
    by_products!(op::matmul.name, &operands, Beyond::OverflowsOfTwo(op::matmul.name), T => {
        let all = of_type::<T>(&operands)?;
        ops::matmul(&all[0], &all[1]).map_err(|error| left.of_type(error))
    })
}

/// The options of [`AnyTensor::matmul_with`]: a semiring and a mask, as in [`Matmul`](crate::Matmul).
///
/// A tensor converts to the options of the plain product at the entries of the tensor.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::{AnyMatmul, AnyTensor};
///
/// // roads and their lengths: 0 -> 1 -> 2, and 0 -> 2 straight
/// let roads = CooTensor::new([3, 3], vec![vec![0, 0, 1], vec![1, 2, 2]], vec![4.0, 9.0, 3.0], f64::INFINITY)?;
/// let any = AnyTensor::from(roads.clone());
/// let by_two = any.matmul_with(&any, AnyMatmul::named("min_plus")?.mask(&any))?;
/// assert_eq!(by_two.into_coo::<f64, u64>()?.entries(), [(vec![0, 2], 7.0)]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, Copy)]
pub struct AnyMatmul<'m> {
    ways: SemiringOps,
    mask: Option<(&'m AnyTensor, bool)>,
}

impl AnyMatmul<'static> {
    /// Returns the options with a named semiring, and without a mask.
    ///
    /// The name is that of a function of [`Matmul`](crate::Matmul).
    ///
    /// # Errors
    ///
    /// `Argument`: there is no such semiring. The error lists all names.
    pub fn named(name: &str) -> Result<Self> {
        let none = || {
            let why = format!("there is no semiring {name:?}; there are {}", SEMIRINGS.join(", "));
            Error::Argument { operation: "matmul_with", why }
        };
        Ok(AnyMatmul { ways: ways(name).ok_or_else(none)?, mask: None })
    }

    /// Returns the names of the semirings, `plus_times` first.
    pub fn names() -> &'static [&'static str] {
        SEMIRINGS
    }
}

impl<'m> AnyMatmul<'m> {
    /// Sets a mask: the result has entries only where `tensor` has entries.
    ///
    /// This replaces an earlier mask.
    pub fn mask(self, tensor: &'m AnyTensor) -> Self {
        AnyMatmul { mask: Some((tensor, false)), ..self }
    }

    /// Sets a mask: the result has no entries where `tensor` has entries.
    ///
    /// This replaces an earlier mask.
    pub fn without(self, tensor: &'m AnyTensor) -> Self {
        AnyMatmul { mask: Some((tensor, true)), ..self }
    }
}

impl<'m> From<&'m AnyTensor> for AnyMatmul<'m> {
    fn from(tensor: &'m AnyTensor) -> Self {
        AnyMatmul { ways: crate::kernels::semiring::PlusTimes.into(), mask: Some((tensor, false)) }
    }
}

on_operands! {
    /// Returns the product of stored entries, with a mask or over a semiring: see
    /// [`matmul_with`](crate::matmul_with()).
    ///
    /// If the formats of the tensors differ, the result is in coordinate format.
    ///
    /// # Errors
    ///
    /// - the errors of [`matmul_with`](crate::matmul_with());
    /// - `TypesDiffer`: the element types differ;
    /// - `NoOrder`: the elements are complex, and the semiring needs a minimum or a maximum.
    pub fn matmul_with<'m>(
        &self,
        other: impl Into<AnyOperand<'m>>,
        options: impl Into<AnyMatmul<'m>>,
    ) -> Result<AnyTensor> {
        chosen(&[self.stored(), other.into().stored()], options.into())
    }
}

fn chosen(operands: &[AnyOperand<'_>; 2], AnyMatmul { ways, mask }: AnyMatmul<'_>) -> Result<AnyValue> {
    check_types("matmul_with", operands)?;
    let view = shown(operands)?;
    let mask = mask.map(|(mask, is_complement)| (pattern_of(mask), is_complement));
    /// Runs the product on elements of one type, which holds the elements of both operands.
    macro_rules! on {
        ($type:ty, $order:expr) => {{
            let semiring = DynamicSemiring::<$type>::new(ways, $order);
            let all = of_type::<$type>(operands)?;
            let mask = mask.as_ref().map(|(mask, is_complement)| (mask, *is_complement));
            matmul_with_entries(&all[0], &all[1], semiring, mask).map_err(|error| view.of_type(error))
        }};
        ($type:ty) => {
            on!($type, Some(ElementOrder::of_type()))
        };
    }
    match view.dtype() {
        DType::Complex64 | DType::Complex128 if ways.ranks() => Err(no_order("matmul_with", view)),
        DType::Complex64 => view.found(on!(super::types::Complex<f32>, None)),
        DType::Complex128 => view.found(on!(super::types::Complex<f64>, None)),
        DType::Bool => view.found(on!(bool)),
        DType::UInt64 => view.found(on!(u64)),
        #[cfg(feature = "half")]
        DType::Float16 => view.found(on!(super::types::f16)),
        #[cfg(feature = "half")]
        DType::BFloat16 => view.found(on!(super::types::bf16)),
        DType::Float32 => view.found(on!(f32)),
        DType::Float64 => view.found(on!(f64)),
        dtype => {
            // The bounds fit `i64`, because a type of 64 bits has a sign here.
            let (least, greatest) = bounds(dtype);
            let found = on!(i64, Some(ElementOrder::between(least as i64, greatest as i64)))?;
            view.found_integers(Ok(found), Beyond::Overflows("matmul_with"))
        }
    }
}

fn pattern_of(x: &AnyTensor) -> AnyPattern {
    dispatch!(x, x => x.pattern().clone())
}
