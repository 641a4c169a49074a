//! The macro that defines gradients of elementwise functions.

/// Defines gradients: the function with its arguments and their values in the example, the derivative as code, and the
/// derivative as a formula.
macro_rules! gradients {
    ($(
        fn $backward:ident of $name:ident($($arg:ident: $type:ty = $value:expr),*) = $derivative:expr, $formula:literal;
        $(#[$note:meta])*
    )*) => {
    /// The gradients of this file.
    pub(crate) mod gradients {
        use super::*;

        $(
        #[doc = concat!(
            "Returns the gradient of [`", stringify!($name), "`](crate::", stringify!($name), "()): the upstream ",
            "gradient times the derivative."
        )]
        ///
        #[doc = concat!("*dx*<sub>i</sub> = *dy*<sub>i</sub> · ", $formula)]
        ///
        $(#[$note])*
        ///
        #[doc = said!(gradient)]
        /// ```
        #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), ", grad};")]
        /// use ndarray::{arr0, arr1};
        ///
        /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 0.0)?;
        /// let upstream = arr1(&[2.0, 1.0, -1.0]);
        #[doc = concat!("let dx = grad::", stringify!($name), "(&x, &upstream", $(", ", stringify!($value),)* ")?;")]
        /// assert!(dx.shares_pattern_with(&x));
        ///
        /// // The dense gradient is the same at every stored position.
        #[doc = concat!(
            "let dense = grad::", stringify!($name), "(&x.to_dense()?, &upstream", $(", ", stringify!($value),)* ")?;"
        )]
        /// assert!(dx.iter().all(|(at, gradient)| dense[&*at] == gradient));
        ///
        /// // Twice the derivative of the function.
        #[doc = concat!(
            "let f = |at: f64| ", stringify!($name), "(&arr0(at)", $(", ", stringify!($value),)*
            ").map(ndarray::Array0::into_scalar);"
        )]
        /// let derivative = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
        /// assert!((dx.values()[0] - 2.0 * derivative).abs() < 1e-6);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        #[doc(alias = "vjp")]
        pub fn $backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
            x: &X,
            upstream: &U
            $(, $arg: $type)*
        ) -> Result<X::Mapped<U::Elem>> {
            x.by_slopes(&$derivative, upstream)
        }
        )*
    }
    };
}

pub(super) use gradients;
