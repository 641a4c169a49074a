//! The paragraphs that the pages of binary operations share.

/// Expands to a paragraph, for `#[doc = page!(name)]`.
macro_rules! page {
    (shapes) => {
        "The shapes are equal, or broadcast to one another as numpy's are. [`Partner`](crate::Partner) lists the right \
         operands. The result is sparse if an operand is; the result of two arrays is an array."
    };
    (union) => {
        "Where only one side has an entry, the other contributes its fill: the union of both patterns is stored, and \
         the fill is the operation of the fills, without a sign if it is zero."
    };
    (compared) => {
        "Where only one side has an entry, it is compared with the fill of the other: the union of both patterns is \
         stored, and the fill is the comparison of the fills. A fill of NaN has the same result with every element, so \
         entries of only the other operand are not stored. For [stored views](crate::Stored), the result has the \
         common entries, and a fill of `false`."
    };
    (implicit) => {
        "With an array or a number the pattern is shared. All unstored positions must have one value, whatever its \
         sign of zero. A sparse operand that is repeated along an axis is looked up, never repeated: \
         [semantics](crate::documents::semantics#a-small-operand-with-a-large-one) lists the patterns."
    };
    (errors) => {
        "- `NotBroadcastable`: the shapes do not match;\n\
         - `FillsDiffer`: stored views of tensors with different fills;\n\
         - `FillVaries`: an array gives unstored positions different values;\n\
         - `NonFinite`: an element of a repeated operand meets unstored positions, and does not give the fill there;\n\
         - `TooLarge`: the result of broadcast operands has too many entries or elements."
    };
    (complexity) => {
        "O(entries of both operands and of the result). Equal patterns, and the pattern of the only sparse operand, \
         are shared. For arrays, O(elements)."
    };
    (gradient_shapes) => {
        "`upstream` has exactly the shape of the forward result; each gradient has the shape of its operand. An \
         element that was broadcast receives the sum over its positions, [exact](crate::sum()) and rounded once."
    };
    (gradient_implicit) => {
        "The gradient of a sparse operand has its pattern (shared) and a fill of 0. At its entries, it is the gradient \
         of the dense operand: unstored positions of the other operand and of `upstream` count with their fills. If an \
         operand is a [stored view](crate::Stored), an entry without a partner receives the gradient of its own \
         result, and 0 if it has none."
    };
    (second_gradient) => {
        "[Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations."
    };
    (gradient_errors) => {
        "- `NotBroadcastable`: the shapes do not match;\n\
         - `ShapeMismatch`: `upstream` does not have the shape of the forward result;\n\
         - `TooLarge`: a sparse operand is broadcast to too many entries."
    };
    (gradient_complexity) => {
        "O(nnz) of each, and at most a search of O(rank · log nnz) per entry. A repeated sparse operand costs O(nnz) \
         of `upstream` if that is sparse with a fill of 0, and O(elements) if it is an array."
    };
}
