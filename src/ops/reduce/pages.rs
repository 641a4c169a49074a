//! Macros for the shared paragraphs of the pages of reductions and their gradients.

/// Paragraphs that are also used outside of the macros below.
macro_rules! said {
    (shapes) => {
        "The axes given are removed, or stay with length 1 under [`Axes::keep_dims`](crate::Axes::keep_dims). \
         [`Axes::all`](crate::Axes::all) gives rank 0, [`Axes::none`](crate::Axes::none) each element as a group \
         of its own. The result has the format and index type of `x`."
    };
    (groups) => {
        "A group (the positions that meet in one cell of the result) with a stored entry gives a stored result; \
         the others hold the fill. Positions that are not stored count, with the fill as their value, by their \
         number: none is ever written out."
    };
    (axes_errors) => {
        "- `AxisOutOfRange`, `AxisRepeated`: the axes do not fit the rank;\n\
         - `TooLarge`: the result has an offset (CSR) or an element (arrays) for each of too many cells;"
    };
    (backward_shapes) => {
        "`upstream` has exactly the shape of the forward result, kept axes included; the result has the shape of \
         `x`."
    };
    (backward_implicit) => {
        "For a sparse `x` the result has its pattern (shared) and a fill of 0. A cell where `upstream` stores \
         nothing gives its fill; entries of `upstream` at cells that hold no entry of `x` go nowhere."
    };
}

/// Defines a reduction with its page.
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
        #[doc = said!(shapes)]
        ///
        /// # Implicit values
        ///
        #[doc = said!(groups)]
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
        #[doc = said!(axes_errors)]
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

/// Defines the gradient of a reduction with its page.
macro_rules! gives_back {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident> of $forward:ident($x:ident, $upstream:ident, $options:ident: $from:ty) =
            $result:expr;
        $(#[$nan:meta])*
        =>
        $(#[$examples:meta])*
        ;
    )*) => {$(
        $(#[$sentence])*
        ///
        /// # Shapes
        ///
        #[doc = said!(backward_shapes)]
        ///
        /// # Implicit values
        ///
        #[doc = said!(backward_implicit)]
        ///
        /// # NaN
        ///
        $(#[$nan])*
        ///
        /// # Gradient
        ///
        /// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations.
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
