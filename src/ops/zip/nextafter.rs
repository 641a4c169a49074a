//! The next float after one operand, toward the other.

use super::Partner;
use super::descriptors::Nextafter;
use crate::base::error::Result;
use crate::element::{DType, Float};
use crate::kernels::op::Outcome;
use crate::kernels::zip::{FillEffect, PairFunction, Zip};
use crate::ops::operand::Operand;

/// Returns the next number of type `N`, for numbers of this type that are widened.
fn in_steps_of<N: Float, T: Float>(a: T, b: T) -> Outcome<T> {
    let next = N::from_f64(a.into()).next_toward(N::from_f64(b.into()));
    Ok(T::from_f64(next.into()))
}

impl<T: Float> Zip<T, T> for Nextafter {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        Ok(a.next_toward(b))
    }

    fn left_fill_effect(&self, fill: T, _: Option<T>) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    fn right_fill_effect(&self, _: Option<T>, fill: T) -> FillEffect {
        FillEffect::annihilated_if(fill.isnan())
    }

    /// A step of a narrow type is longer than a step of the type in which the operation runs.
    fn in_narrow_floats(&self, dtype: DType) -> Option<PairFunction<T, T, T>> {
        match dtype {
            DType::Float32 => Some(in_steps_of::<f32, T>),
            #[cfg(feature = "half")]
            DType::Float16 => Some(in_steps_of::<half::f16, T>),
            #[cfg(feature = "half")]
            DType::BFloat16 => Some(in_steps_of::<half::bf16, T>),
            _ => None,
        }
    }
}

/// Returns the next float after the left element, toward the right element.
///
/// *z*<sub>k</sub> is the number of the element type next to *x*<sub>k</sub> in the direction of *y*<sub>k</sub>. If
/// both elements are equal, *z*<sub>k</sub> is *y*<sub>k</sub>.
///
/// The next number after the largest finite number is infinity. The next numbers after zero are the smallest numbers of
/// both signs.
///
/// # Shapes
#[doc = page!(shapes)]
/// # Implicit values
#[doc = page!(union)]
/// If the fill of an operand is NaN, all results with that fill are NaN, so entries of only the other operand are not
/// stored. For [stored views](crate::Stored), the result has the common entries and the common fill.
#[doc = page!(implicit)]
/// # NaN
///
/// NaN in either element yields the canonical NaN.
///
/// # Gradient
///
/// None.
///
/// # Errors
#[doc = page!(errors)]
/// # Complexity
#[doc = page!(complexity)]
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, nextafter};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, -1.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![0, 2]], vec![2.0, 5.0], 0.0)?;
/// let z = nextafter(&x, &y)?;
/// let expected = [(vec![0], 1.0 + f64::EPSILON), (vec![1], -1.0 + f64::EPSILON / 2.0), (vec![2], 5e-324)];
/// assert_eq!(z.entries(), expected);
/// assert_eq!(z.to_dense()?, nextafter(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.cast::<f32>()?.nextafter(f32::INFINITY)?.values()[0], 1.0 + f32::EPSILON);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.nextafter`](https://numpy.org/doc/stable/reference/generated/numpy.nextafter.html).
#[doc(alias = "numpy.nextafter")]
#[doc(alias = "torch.nextafter")]
#[doc(alias = "next_up")]
#[doc(alias = "next_down")]
pub fn nextafter<X: Operand<Elem: Float>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, Nextafter)
}
