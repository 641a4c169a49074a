//! The elementwise functions as methods of tensors and stored views.

use crate::base::error::Result;
use crate::element::{Bits, ComplexElement, Element, Float, Inexact, Magnitude, Numeric, Real, Signed};
use crate::ops::map;
use crate::ops::table::functions::element_of_result;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// Defines the methods of elementwise functions. Arrays get the methods that the table marks with `arrays`.
macro_rules! functions {
    ([$public:vis fn] [$elem:ty] $Mapped:ident<$Own:ident> $owner:ident $($family:ident {$(
        #[doc = $sentence:literal] $name:ident [$bound:ident -> $result:ident] $kinds:tt $methods:ident $gradient:tt $(command $command:tt)?;
    )*})*) => {$($(
        functions! {
            @$owner $methods
            #[doc = concat!($sentence, ": see ", linked!($name), ".\n\n# Errors\n")]
            #[doc = concat!("The errors of ", linked!($name), ".")]
            $public fn $name(&self) -> Result<$Mapped<$Own, element_of_result!($result $elem)>>
            where
                $elem: $bound,
            {
                map::$name(self)
            }
        }
    )*)*};
    (@arrays tensors $($method:tt)*) => {};
    (@$owner:ident $methods:ident $($method:tt)*) => {
        $($method)*
    };
}

pub(in crate::ops) use functions;

/// Defines the methods of elementwise functions with other arguments.
macro_rules! functions_with_arguments {
    ($elem:ty) => {
        /// Raises each element to the power of an integer: see [`powi`](crate::powi()).
        ///
        /// # Errors
        ///
        /// The errors of [`powi`](crate::powi()).
        pub fn powi(&self, exponent: i32) -> Result<Tensor<P, $elem>>
        where
            $elem: Numeric,
        {
            map::powi(self, exponent)
        }

        /// Raises each element to the power of a number: see [`powf`](crate::powf()).
        ///
        /// # Errors
        ///
        /// The errors of [`powf`](crate::powf()).
        pub fn powf(&self, exponent: $elem) -> Result<Tensor<P, $elem>>
        where
            $elem: Float,
        {
            map::powf(self, exponent)
        }

        /// Returns each element clamped to two bounds: see [`clamp`](crate::clamp()).
        ///
        /// # Errors
        ///
        /// The errors of [`clamp`](crate::clamp()).
        pub fn clamp(&self, low: $elem, high: $elem) -> Result<Tensor<P, $elem>>
        where
            $elem: Real,
        {
            map::clamp(self, low, high)
        }
    };
}

/// # Elementwise functions
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Element> Tensor<P, T> {
    crate::__functions! { functions [pub fn] [T] Tensor<P> tensors }
    functions_with_arguments!(T);
}

/// # Elementwise functions
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    crate::__functions! { functions [pub fn] [T] Tensor<P> tensors }
    functions_with_arguments!(T);
}
