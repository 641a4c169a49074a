//! Conversions between formats as steps.

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{Family, StepImpl, downcast};
use super::steps::{family, step_impl};
use crate::base::index::Index;
use crate::element::Element;
use crate::ops::op;
use crate::pattern::{CooPattern, CsrPattern};
use crate::tensor::Tensor;

fn to_coo<I: Index, T: Element>() -> StepImpl {
    step_impl!(Tensor<CooPattern<I>, T>, |_, inputs| downcast::<Tensor<CsrPattern<I>, T>>(&inputs[0]).to_coo())
}

fn to_csr<I: Index, T: Element>() -> StepImpl {
    step_impl!(Tensor<CsrPattern<I>, T>, |_, inputs| downcast::<Tensor<CooPattern<I>, T>>(&inputs[0]).to_csr())
}

/// Returns the implementations of both conversions, for gradients.
fn family<I: Index, T: Element>() -> Option<Family> {
    family!(T, [I: Index] to_coo => to_coo::<I, F>(), to_csr => to_csr::<I, F>())
}

impl<I: Index, T: Element> Lazy<Tensor<CooPattern<I>, T>> {
    /// Returns the same tensor in CSR format: the step `to_csr`.
    #[track_caller]
    pub fn to_csr(&self) -> Lazy<Tensor<CsrPattern<I>, T>> {
        let step_impl = StepImpl { family: family::<I, T>(), ..to_csr::<I, T>() };
        Lazy::step(Call::of(&op::to_csr, [Arg::Input(0)]), [&self.node], step_impl)
    }
}

impl<I: Index, T: Element> Lazy<Tensor<CsrPattern<I>, T>> {
    /// Returns the same tensor in COO format: the step `to_coo`.
    #[track_caller]
    pub fn to_coo(&self) -> Lazy<Tensor<CooPattern<I>, T>> {
        let step_impl = StepImpl { family: family::<I, T>(), ..to_coo::<I, T>() };
        Lazy::step(Call::of(&op::to_coo, [Arg::Input(0)]), [&self.node], step_impl)
    }
}
