//! Macros for elementwise functions, with the shared paragraphs of their pages.

/// Defines a function of each element, with its page.
macro_rules! elementwise {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident>($($arg:ident: $type:ty),*) -> $out:ty = $op:expr;
        $(#[$nan:meta])*
        =>
        $(#[$gradient:meta])*
        =>
        $(#[$errors:meta])*
        =>
        $(#[$examples:meta])*
        ;
    )*) => {$(
        $(#[$sentence])*
        ///
        /// # Shapes
        ///
        /// The result has the shape, the format and the index type of `x` (for arrays: the dimension type).
        ///
        /// # Implicit values
        ///
        /// The result stores what `x` stores (the pattern is shared), also where a value becomes zero. Its fill is that
        /// of the fill of `x`, a zero without a sign; of [`x.stored()`](crate::Tensor::stored), whose fill is not
        /// looked at, it stays as it is, or is zero where the result has another type.
        ///
        /// # NaN
        ///
        $(#[$nan])*
        ///
        /// # Gradient
        ///
        $(#[$gradient])*
        ///
        /// # Errors
        ///
        $(#[$errors])*
        /// - `TooLarge`: an array was broadcast to so many positions that the result would need more than the larger of
        ///   1 GiB and 16 times the memory behind it;
        /// - `OutOfMemory`: there is no memory for the result.
        ///
        /// # Complexity
        ///
        /// O(entries), for arrays O(elements).
        ///
        /// # Examples
        ///
        $(#[$examples])*
        pub fn $name<X: Operand<Elem: $bound>>(x: &X $(, $arg: $type)*) -> Result<X::Mapped<$out>> {
            x.by_map(&$op)
        }
    )*};
}

/// Defines a function of floats with a gradient: [`elementwise!`] with the paragraphs that these functions share.
macro_rules! functions {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident($($arg:ident: $type:ty = $value:expr),*) = $op:expr, $exact:literal;
        $(#[$nan:meta])*
        =>
        fn $backward:ident, $formula:literal;
        $(#[$examples:meta])*
        ;
    )*) => {
        elementwise! {$(
            $(#[$sentence])*
            ///
            #[doc = concat!(
                "It is ", $exact, ", with the same bits on every machine. `f32` and types of 16 bits take the result \
                 in ",
                "`f64` and round it once."
            )]
            fn $name<Float>($($arg: $type),*) -> X::Elem = $op;
            $(#[$nan])*
            =>
            #[doc = concat!(
                "[`grad::", stringify!($name), "`](crate::grad::", stringify!($name), "): *dx*<sub>i</sub> = ",
                "*dy*<sub>i</sub> · ", $formula
            )]
            =>
            =>
            /// ```
            #[doc = concat!("use lacuna::{CooTensor, ", stringify!($name), "};")]
            /// use ndarray::arr1;
            ///
            /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.25, 0.5], 1.0)?;
            #[doc = concat!("let y = ", stringify!($name), "(&x", $(", ", stringify!($value),)* ")?;")]
            #[doc = concat!(
                "assert_eq!(y.to_dense()?, ", stringify!($name), "(&x.to_dense()?", $(", ", stringify!($value),)* ")?);"
            )]
            /// assert!(y.shares_pattern_with(&x));
            $(#[$examples])*
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            ///
            #[doc = concat!(
                "Definition: [`", stringify!($name), "`](https://doc.rust-lang.org/std/primitive.f64.html#method.",
                stringify!($name), ") of the real numbers."
            )]
            ;
        )*}
    };
}

/// Defines the gradient of a function of each element, with its page.
macro_rules! gradients {
    ($(
        fn $backward:ident of $name:ident($($arg:ident: $type:ty = $value:expr),*) = $slope:expr, $formula:literal;
        $(#[$note:meta])*
    )*) => {$(
        #[doc = concat!(
            "The gradient of [`", stringify!($name), "`]: that of each result times the slope of the function at its ",
            "element."
        )]
        ///
        #[doc = concat!("*dx*<sub>i</sub> = *dy*<sub>i</sub> · ", $formula)]
        ///
        /// The slope and the product are formed in `f64`, the latter rounded to the type of the gradient once.
        ///
        $(#[$note])*
        ///
        /// # Shapes
        ///
        /// `upstream` has the shape of `x`, and so has the result.
        ///
        /// # Implicit values
        ///
        /// For a sparse `x` the result has its pattern (shared) and a fill of 0. Where `upstream` stores nothing it
        /// gives its fill; its entries where `x` has none go nowhere.
        ///
        /// # NaN
        ///
        /// A gradient of 0 gives `+0.0`, whatever the element is. Otherwise a NaN element, or a NaN gradient, gives the
        /// canonical NaN; so does an infinite gradient where the slope is 0.
        ///
        /// # Gradient
        ///
        /// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations.
        ///
        /// # Errors
        ///
        /// - `ShapeMismatch`: `upstream` has another shape than `x`;
        /// - `TooLarge`, `OutOfMemory`: there is no room for the result.
        ///
        /// # Complexity
        ///
        /// O(nnz) where `upstream` has the pattern of `x`, and at most a search of O(rank · log nnz) for each entry
        /// else; for arrays O(elements).
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use lacuna::{CooTensor, grad, ", stringify!($name), "};")]
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
        /// // Twice the slope of the function.
        #[doc = concat!(
            "let f = |at: f64| ", stringify!($name), "(&arr0(at)", $(", ", stringify!($value),)*
            ").map(ndarray::Array0::into_scalar);"
        )]
        /// let slope = (f(0.25 + 1e-6)? - f(0.25 - 1e-6)?) / 2e-6;
        /// assert!((dx.values()[0] - 2.0 * slope).abs() < 1e-6);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        ///
        /// Source: the rules of calculus.
        #[doc(alias = "grad")]
        #[doc(alias = "vjp")]
        pub fn $backward<X: Operand<Elem: Float>, U: Operand<Elem: Float>>(
            x: &X,
            upstream: &U
            $(, $arg: $type)*
        ) -> Result<X::Mapped<U::Elem>> {
            x.by_slopes(&$slope, upstream)
        }
    )*};
}
