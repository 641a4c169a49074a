//! What the pages of reductions and of their gradients have in common, said once.

/// A reduction: its page, and itself.
macro_rules! reduces {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident>($x:ident, $options:ident: $from:ty) -> $out:ty = $result:expr;
        $(#[$implicit:meta])*
        =>
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
        #[doc = include_str!("pages/shapes.md")]
        ///
        /// # Implicit values
        ///
        #[doc = include_str!("pages/groups.md")]
        $(#[$implicit])*
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
        #[doc = include_str!("pages/axes_errors.md")]
        $(#[$errors])*
        ///
        /// # Complexity
        ///
        /// O(nnz · rank) where the kept axes lead, O(nnz · (rank + log nnz)) else; for trailing axes of CSR
        /// O(nnz + lanes); for arrays O(elements). On several threads where that pays; the bits are the same at any
        /// number of them.
        ///
        /// # Examples
        ///
        $(#[$examples])*
        pub fn $name<X: Operand<Elem: $bound>>($x: &X, $options: impl Into<$from>) -> Result<X::Reduced<$out>> {
            let $options = $options.into();
            $result
        }
    )*};
}

/// The gradient of a reduction: its page, and itself.
macro_rules! gives_back {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident> of $forward:ident($x:ident, $upstream:ident, $options:ident: $from:ty) = $result:expr;
        $(#[$nan:meta])*
        =>
        $(#[$examples:meta])*
        ;
    )*) => {$(
        $(#[$sentence])*
        ///
        /// # Shapes
        ///
        #[doc = include_str!("pages/backward_shapes.md")]
        ///
        /// # Implicit values
        ///
        #[doc = include_str!("pages/backward_implicit.md")]
        ///
        /// # NaN
        ///
        $(#[$nan])*
        ///
        /// # Gradient
        ///
        /// None: gradients of gradients are not here.
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($forward), "()`], and `ShapeMismatch` where `upstream` has another ")]
        /// shape than the forward result.
        ///
        /// # Complexity
        ///
        /// O(nnz · (rank + log nnz)), O(nnz · rank) where the kept axes lead, and at most a search of O(rank · log nnz)
        /// in a sparse `upstream` for each cell; for arrays O(elements).
        ///
        /// # Examples
        ///
        $(#[$examples])*
        pub fn $name<X: Operand<Elem: $bound>, U: Operand<Elem: Float>>(
            $x: &X,
            $upstream: &U,
            $options: impl Into<$from>,
        ) -> Result<X::Reduced<U::Elem>> {
            let $options = $options.into();
            $result
        }
    )*};
}
