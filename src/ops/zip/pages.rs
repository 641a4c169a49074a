//! Macros for the shared paragraphs of the pages of binary operations.

/// The paragraph about entries and fill, for an operation that unites the patterns.
macro_rules! union_of_both {
    () => {
        "Where one side alone has an entry, the other gives its fill: the union of both patterns is stored, and the \
         fill is the operation of the fills, without a sign if it is zero."
    };
}

/// Defines a binary operation: its descriptor, its page and its function.
macro_rules! zips {
    ($(
        $(#[$sentence:meta])*
        fn $name:ident<$bound:ident>($op:ident) -> $out:ty;
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
        #[derive(Clone, Copy)]
        pub(super) struct $op;

        impl Op for $op {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
        }

        $(#[$sentence])*
        ///
        /// # Shapes
        ///
        /// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`](crate::Partner) says what may
        /// stand on the right. The result is sparse if an operand is; of two arrays it is an array.
        ///
        /// # Implicit values
        ///
        $(#[$implicit])*
        /// With an array or a number the pattern is shared; all positions that are not stored must come to one value,
        /// whatever their sign of zero. A sparse operand that is repeated along an axis is looked up, never repeated:
        /// [semantics](crate::documents::semantics#a-small-operand-with-a-large-one) has the patterns.
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
        /// - `NotBroadcastable`: the shapes do not fit;
        $(#[$errors])*
        /// - `FillsDiffer`: stored views of tensors with different fills;
        /// - `FillVaries`: an array gives positions that are not stored different values;
        /// - `NonFinite`: an element of a repeated operand meets unstored positions, and does not give the fill there;
        /// - `TooLarge`: the result of broadcast operands has too many entries or elements.
        ///
        /// # Complexity
        ///
        /// O(entries of both and of the result); patterns that are equal, and that of the only sparse operand, are shared. Of arrays
        /// O(elements).
        ///
        /// # Examples
        ///
        $(#[$examples])*
        pub fn $name<X: Operand<Elem: $bound>, Y: Partner<X, Elem = X::Elem>>(
            x: &X,
            y: Y,
        ) -> Result<Y::Zipped<$out>> {
            y.zip(x, $op)
        }
    )*};
}
