//! Steps from one format to the other.

use std::sync::Arc;

use super::node::{Form, Node};
use super::reductions::Ask;
use super::text::{Text, said};
use super::unary::same;
use super::{Lazy, shares};
use crate::base::axes::Axes;
use crate::base::index::Index;
use crate::element::{Element, Float, FloatVisitor, Numeric, RealNumber};
use crate::pattern::{CooPattern, CsrPattern};
use crate::tensor::Tensor;

/// A change of the format, and back for its gradient.
macro_rules! formats {
    ($($from:ident $name:ident $back:ident $to:ident;)*) => {$(
        impl<I: Index, T: Element> Lazy<Tensor<$from<I>, T>> {
            #[doc = concat!("The same tensor in the other format: the step `", stringify!($name), "` of tensors.")]
            #[track_caller]
            pub fn $name(&self) -> Lazy<Tensor<$to<I>, T>> {
                let step = self
                    .then(stringify!($name), String::new(), Form::Own, same, |x| x.$name())
                    .written(Text::call(stringify!($name), &["%0"], said!()))
                    .with_shares(shares::same());
                struct Rule<I>(Ask<()>, std::marker::PhantomData<fn() -> I>);
                impl<I: Index> FloatVisitor for Rule<I> {
                    type Out = Arc<Node>;

                    #[track_caller]
                    fn visit<F: Float + Numeric + RealNumber>(self) -> Arc<Node> {
                        let g = self.0.upstream::<Tensor<$to<I>, F>>().$back();
                        // On the pattern of the operand itself.
                        Arc::clone(&self.0.x::<Tensor<$from<I>, F>>().any_backward(&g, Axes::none()).node)
                    }
                }
                step.with_rule(|asked| {
                    let rule = Rule::<I>(Ask::new(&asked, ()), std::marker::PhantomData);
                    T::if_float(rule).map(|gradient| vec![Some(gradient)])
                })
            }
        }
    )*};
}

formats! {
    CooPattern to_csr to_coo CsrPattern;
    CsrPattern to_coo to_csr CooPattern;
}
