//! The type, the shape and the fill of a result. The library computes them, on operands without entries.

use std::sync::Arc;

use lacuna::lazy::engine_api::{Held, Plan};
use lacuna::{CooTensor, CsrTensor, DType, Result, Shape};

use crate::element::{DeviceElement, of_dtype};
use crate::tensor::{DeviceValue, Layout};

/// The element type and the fill of a result.
pub(crate) struct Outline {
    pub(crate) dtype: DType,
    /// The fill, of the element type.
    pub(crate) fill: Held,
}

impl Outline {
    /// Computes the outline of a step. `None` if the step rejects operands without entries, or if its result is not a
    /// tensor that the device holds.
    ///
    /// `whole` are the axes whose lengths count. All other axes are cut to one position.
    pub(crate) fn of(plan: &Plan, at: usize, operands: &[&DeviceValue], whole: &[usize]) -> Option<Self> {
        let mut slots: Vec<Option<Held>> = vec![None; plan.count()];
        for (&input, operand) in plan.view(at).inputs().iter().zip(operands) {
            let cut = |(axis, &length): (usize, &usize)| if whole.contains(&axis) { length } else { length.min(1) };
            let shape: Shape = operand.pattern.shape.iter().enumerate().map(cut).collect();
            slots[input] = Some(without_entries(operand, shape)?.ok()?);
        }
        let found = plan.value(at, slots).ok()?;
        let dtype = plan.view(at).dtype()?;
        let fill = of_dtype!(dtype, T => fill_of::<T>(&found))??;
        Some(Outline { dtype, fill })
    }
}

/// Returns the bits of an element.
pub(crate) fn bits_of(element: &Held, dtype: DType) -> u64 {
    of_dtype!(dtype, T => element.downcast_ref::<T>().map_or(0, |element| element.bits())).unwrap_or(0)
}

/// Returns a tensor of the format and the fill of a value, without entries.
pub(crate) fn without_entries(x: &DeviceValue, shape: Shape) -> Option<Result<Held>> {
    of_dtype!(x.dtype, T => empty::<T>(x, shape))
}

fn empty<T: DeviceElement>(x: &DeviceValue, shape: Shape) -> Result<Held> {
    Ok(match x.pattern.layout {
        Layout::Coo(_) => Arc::new(CooTensor::<T>::full(shape, x.fill::<T>())?),
        Layout::Csr { .. } => Arc::new(CsrTensor::<T>::full(shape, x.fill::<T>())?),
    })
}

fn fill_of<T: DeviceElement>(value: &Held) -> Option<Held> {
    let coo = value.downcast_ref::<CooTensor<T>>().map(|x| x.fill());
    let fill = coo.or_else(|| value.downcast_ref::<CsrTensor<T>>().map(|x| x.fill()))?;
    Some(Arc::new(fill))
}
