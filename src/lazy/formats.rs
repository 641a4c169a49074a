//! Conversions between formats as steps.

use std::marker::PhantomData;

use super::Lazy;
use super::call::{Arg, Call};
use super::node::{Family, Made, known};
use super::steps::made;
use crate::base::index::Index;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::ops::op;
use crate::pattern::{CooPattern, CsrPattern};
use crate::tensor::Tensor;

/// Returns the implementations of both conversions, for gradients.
fn family<I: Index, T: Element>() -> Option<Family> {
    struct FormatFamily<I>(PhantomData<fn() -> I>);
    impl<I: Index> FloatVisitor for FormatFamily<I> {
        type Out = Family;

        fn visit<F: Float + Numeric + RealNumber>(self) -> Family {
            |call, _| match call.op {
                op if op.is(&op::to_coo) => Some(to_coo::<I, F>()),
                op if op.is(&op::to_csr) => Some(to_csr::<I, F>()),
                _ => None,
            }
        }
    }
    T::if_float(FormatFamily::<I>(PhantomData))
}

/// Defines conversions between formats.
macro_rules! formats {
    ($($from:ident $name:ident $to:ident;)*) => {$(
        fn $name<I: Index, T: Element>() -> Made {
            made!(Tensor<$to<I>, T>, |_, inputs| known::<Tensor<$from<I>, T>>(&inputs[0]).$name())
        }

        impl<I: Index, T: Element> Lazy<Tensor<$from<I>, T>> {
            #[doc = concat!("The same tensor in the other format: the step `", stringify!($name), "` of tensors.")]
            #[track_caller]
            pub fn $name(&self) -> Lazy<Tensor<$to<I>, T>> {
                let made = Made { family: family::<I, T>(), ..$name::<I, T>() };
                Lazy::step(Call::of(&op::$name, [Arg::Input(0)]), [&self.node], made)
            }
        }
    )*};
}

formats! {
    CooPattern to_csr CsrPattern;
    CsrPattern to_coo CooPattern;
}
