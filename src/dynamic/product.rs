//! Products of two dynamically typed tensors.

use super::einsum::{of_one_view, of_type, shown};
use super::map::wide;
use super::routes::in_type;
use super::view::on_operands;
use super::widen::{OverflowRule, RunType, bounds, no_order};
use super::zip::RightOperand;
use super::{AnyOperand, AnyTensor, AnyValue};
use crate::base::error::{Error, Result};
use crate::element::{Number, Ring};
use crate::kernels::semiring::{DynamicSemiring, ElementOrder, SemiringOps};
use crate::ops::op;
use crate::ops::{self, SEMIRINGS, matmul_with_entries, ways};
use crate::pattern::AnyPattern;

/// Returns the product of matrices. Floats run in their own type, because each addition is rounded; integers are exact.
pub(super) fn matmul(left: AnyOperand<'_>, right: RightOperand<'_>) -> Result<AnyValue> {
    let RightOperand::Operand(right) = right else {
        let why = "a number does not have rows and columns; use mul".into();
        return Err(Error::Argument { operation: op::matmul.name, why });
    };
    let operands = of_one_view(&[left, right]);
    let view = shown(op::matmul.name, &operands)?;
    in_type!([Product] view.dtype(), T => {
        let all = of_type::<T>(&operands)?;
        let found = ops::matmul(&all[0], &all[1]).map_err(|error| left.of_type(error));
        view.narrowed::<T>(found, OverflowRule::OverflowsOfTwo(op::matmul.name))
    })
}

/// The options of [`AnyTensor::matmul_with`]: a semiring and a mask, as in [`Matmul`](crate::Matmul).
///
/// A reference to a tensor converts to the options of the ordinary product, with this tensor as the mask.
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
    /// The name is the name of a function of [`Matmul`](crate::Matmul).
    ///
    /// # Errors
    ///
    /// `Argument`: the semiring does not exist. The error lists all names.
    pub fn named(name: &str) -> Result<Self> {
        let none = || {
            let why = format!("there is no semiring {name:?}; the semirings are {}", SEMIRINGS.join(", "));
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
    /// The new mask replaces a mask that was set before.
    pub fn mask(self, tensor: &'m AnyTensor) -> Self {
        AnyMatmul { mask: Some((tensor, false)), ..self }
    }

    /// Sets a mask: the result does not have entries where `tensor` has entries.
    ///
    /// The new mask replaces a mask that was set before.
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
    /// Returns the product of stored entries, with a mask or over a semiring.
    ///
    /// See [`matmul_with`](crate::matmul_with()).
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

/// A product over a semiring, with a mask. If the flag is set, the complement of the mask is used.
struct ProductRequest<'a> {
    view: AnyOperand<'a>,
    operands: &'a [AnyOperand<'a>; 2],
    ways: SemiringOps,
    mask: Option<(&'a AnyPattern, bool)>,
}

impl ProductRequest<'_> {
    /// Runs the product on elements of one type, to which the elements of both operands are converted.
    #[inline]
    fn run<T: Ring + RunType>(&self, order: Option<ElementOrder<T>>) -> Result<AnyValue> {
        let (view, all) = (self.view, of_type::<T>(self.operands)?);
        let found = matmul_with_entries(&all[0], &all[1], DynamicSemiring::new(self.ways, order), self.mask);
        view.narrowed(found.map_err(|error| view.of_type(error)), OverflowRule::Overflows("matmul_with"))
    }
}

fn chosen(operands: &[AnyOperand<'_>; 2], AnyMatmul { ways, mask }: AnyMatmul<'_>) -> Result<AnyValue> {
    let view = shown("matmul_with", operands)?;
    let mask = mask.map(|(mask, is_complement)| (mask.pattern(), is_complement));
    let mask = mask.as_ref().map(|(mask, is_complement)| (mask, *is_complement));
    let (request, dtype) = (ProductRequest { view, operands, ways, mask }, view.dtype());
    let (min, max) = bounds(dtype);
    let integer = Number::Integer;
    in_type!([OwnFloat] dtype, T => request.run::<T>(Some(ElementOrder::of_type())), else => {
        in_type!([Truth Signed Unsigned] dtype, T => {
            request.run::<T>(Some(ElementOrder::between(wide(integer(min)), wide(integer(max)))))
        }, else => match ways.ranks() {
            true => Err(no_order("matmul_with", view)),
            false => in_type!([OwnComplex] dtype, T => request.run::<T>(None)),
        })
    })
}
