//! The type, the shape and the fill of a result. The library computes them, on operands without entries.

use std::sync::Arc;

use lacuna::lazy::engine_api::{ErasedValue, Plan};
use lacuna::{CooTensor, CsrTensor, DType, Result, Shape};

use crate::context::Words;
use crate::element::{DeviceElement, of_dtype};
use crate::tensor::{DeviceValue, Layout};

/// The element type and the fill of a result, and the flag of its step.
pub(crate) struct Outline {
    pub(crate) dtype: DType,
    /// The fill, of the element type.
    pub(crate) fill: ErasedValue,
    pub(crate) flag: Flag,
}

/// A word that a kernel sets if its step is left to the threads. All flags of a run are read at its end.
#[derive(Clone)]
pub(crate) struct Flag {
    pub(crate) words: Words,
    pub(crate) at: u32,
}

impl Outline {
    /// Computes the outline of a step. `None` if the step rejects operands without entries, or if its result is not a
    /// tensor that the device holds.
    ///
    /// `whole` are the axes whose lengths count. All other axes are cut to one position.
    pub(crate) fn of(
        plan: &Plan,
        at: usize,
        operands: &[&DeviceValue],
        whole: &[usize],
        flags: &Words,
    ) -> Option<Self> {
        let mut slots: Vec<Option<ErasedValue>> = vec![None; plan.count()];
        for (&input, operand) in plan.view(at).inputs().iter().zip(operands) {
            let cut = |(axis, &length): (usize, &usize)| if whole.contains(&axis) { length } else { length.min(1) };
            let shape: Shape = operand.pattern.shape.iter().enumerate().map(cut).collect();
            slots[input] = Some(without_entries(operand, shape)?.ok()?);
        }
        let found = plan.value(at, slots).ok()?;
        let flag = Flag { words: flags.clone(), at: at as u32 };
        if let Some((dtype, fill)) = medians_of::<f64>(&found).or_else(|| medians_of::<f32>(&found)) {
            return Some(Outline { dtype, fill, flag });
        }
        let dtype = plan.view(at).dtype()?;
        let fill = of_dtype!(dtype, T => fill_of::<T>(&found))??;
        Some(Outline { dtype, fill, flag })
    }
}

/// Returns the bits of an element.
pub(crate) fn bits_of(element: &ErasedValue, dtype: DType) -> u64 {
    of_dtype!(dtype, T => element.downcast_ref::<T>().map_or(0, |element| element.bits())).unwrap_or(0)
}

/// Returns a tensor of the format and the fill of a value, without entries.
pub(crate) fn without_entries(x: &DeviceValue, shape: Shape) -> Option<Result<ErasedValue>> {
    of_dtype!(x.dtype, T => empty::<T>(x, shape))
}

fn empty<T: DeviceElement>(x: &DeviceValue, shape: Shape) -> Result<ErasedValue> {
    Ok(match x.pattern.layout {
        Layout::Coo(_) => Arc::new(CooTensor::<T>::full(shape, x.fill::<T>())?),
        Layout::Csr { .. } => Arc::new(CsrTensor::<T>::full(shape, x.fill::<T>())?),
    })
}

/// Returns the type and the fill of medians that are paired with their positions.
fn medians_of<T: DeviceElement>(pair: &ErasedValue) -> Option<(DType, ErasedValue)> {
    let coo = pair.downcast_ref::<(CooTensor<T>, CooTensor<u64>)>().map(|(x, _)| x.fill());
    let fill = coo.or_else(|| pair.downcast_ref::<(CsrTensor<T>, CsrTensor<u64>)>().map(|(x, _)| x.fill()))?;
    Some((T::DTYPE, Arc::new(fill)))
}

fn fill_of<T: DeviceElement>(value: &ErasedValue) -> Option<ErasedValue> {
    let coo = value.downcast_ref::<CooTensor<T>>().map(|x| x.fill());
    let fill = coo.or_else(|| value.downcast_ref::<CsrTensor<T>>().map(|x| x.fill()))?;
    Some(Arc::new(fill))
}
