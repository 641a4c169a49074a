//! Steps of the device that threads compute again.

use std::hash::{DefaultHasher, Hash, Hasher};

use lacuna::lazy::engine_api::{ErasedValue, OnDevice, Plan};
use lacuna::{CooTensor, CsrTensor, Error, Pattern, Result, Tensor};

use crate::element::{DeviceElement, of_dtype};
use crate::tensor::DeviceValue;

/// Computes a step on threads, from its operands on the device, and rejects a difference.
pub(crate) fn check(plan: &Plan, at: usize, operands: &[&DeviceValue], found: &DeviceValue) -> Result<()> {
    let mut slots: Vec<Option<ErasedValue>> = vec![None; plan.count()];
    for (&input, operand) in plan.view(at).inputs().iter().zip(operands) {
        slots[input] = Some(operand.fetch()?);
    }
    let expected = plan.value(at, slots)?;
    let found_checks = checks_of(&found.fetch()?, found);
    let expected_checks = checks_of(&expected, found);
    if found_checks.is_some() && found_checks == expected_checks {
        return Ok(());
    }
    let cause = format!("%{at} {} has other entries than on threads", plan.view(at).name());
    let (seen, expected) = (found_checks.map(|(checks, _)| checks), expected_checks.map(|(checks, _)| checks));
    Err(Error::Engine { engine: "gpu", attempts: 1, cause, seen, expected })
}

/// The number of entries and the sum of their hashes, and the shape and the fill as text.
type Checks = ((u64, u64), String);

/// Returns the checks of a value with the format and the type of a value on the device.
fn checks_of(value: &ErasedValue, like: &DeviceValue) -> Option<Checks> {
    of_dtype!(like.dtype, T => checks_as::<T>(value))?
}

fn checks_as<T: DeviceElement>(value: &ErasedValue) -> Option<Checks> {
    if let Some(x) = value.downcast_ref::<CooTensor<T>>() {
        return Some(checks(x));
    }
    if let Some(x) = value.downcast_ref::<CsrTensor<T>>() {
        return Some(checks(x));
    }
    if let Some((x, positions)) = value.downcast_ref::<(CooTensor<T>, CooTensor<u64>)>() {
        return Some(both(checks(x), checks(positions)));
    }
    let (x, positions) = value.downcast_ref::<(CsrTensor<T>, CsrTensor<u64>)>()?;
    Some(both(checks(x), checks(positions)))
}

fn checks<P: Pattern, T: DeviceElement>(x: &Tensor<P, T>) -> Checks {
    let hash = |(coords, value): (&[usize], T)| {
        let mut hasher = DefaultHasher::new();
        (coords, value.bits()).hash(&mut hasher);
        hasher.finish()
    };
    let sum = x.iter().map(|(coords, value)| hash((&coords, value))).fold(0, u64::wrapping_add);
    ((x.nnz() as u64, sum), format!("{} {:x}", x.shape(), x.fill().bits()))
}

fn both(((count, sum), text): Checks, ((_, other), also): Checks) -> Checks {
    ((count, sum.wrapping_add(other)), text + &also)
}
