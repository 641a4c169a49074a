//! The shared paragraphs of the pages of reductions and their gradients.

/// Returns paragraphs with their headings. The page of the operation continues the last paragraph.
macro_rules! said {
    (reduction) => {
        "# Shapes\n\n\
         The axes given are removed, or stay with length 1 under [`Axes::keep_dims`](crate::Axes::keep_dims). \
         [`Axes::all`](crate::Axes::all) gives rank 0, [`Axes::none`](crate::Axes::none) each element as a group \
         of its own. The result has the format and index type of `x`.\n\n\
         # Implicit values\n\n\
         A group (the positions that meet in one cell of the result) with a stored entry gives a stored result; \
         the others hold the fill. Positions that are not stored count, with the fill as their value, by their \
         number: none is ever written out."
    };
    (errors) => {
        "# Errors\n\n\
         - `AxisOutOfRange`, `AxisRepeated`: the axes do not fit the rank;\n\
         - `TooLarge`: the result has an offset (CSR) or an element (arrays) for each of too many cells;"
    };
    (complexity) => {
        "# Complexity\n\n\
         O(nnz · rank) where the kept axes lead, O(nnz · (rank + log nnz)) else; for trailing axes of CSR \
         O(nnz + lanes); for arrays O(elements). On several threads where that pays; the bits are the same at any \
         number of them.\n\n\
         # Examples\n"
    };
    (gradient) => {
        "# Shapes\n\n\
         `upstream` has exactly the shape of the forward result, kept axes included; the result has the shape of \
         `x`.\n\n\
         # Implicit values\n\n\
         For a sparse `x` the result has its pattern (shared) and a fill of 0. A cell where `upstream` stores \
         nothing gives its fill; entries of `upstream` at cells that hold no entry of `x` go nowhere."
    };
    (second_gradient) => {
        "# Gradient\n\n\
         [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most \
         operations."
    };
    (gradient_complexity) => {
        "# Complexity\n\n\
         O(nnz · (rank + log nnz)), O(nnz · rank) where the kept axes lead, and at most a search of \
         O(rank · log nnz) in a sparse `upstream` for each cell; for arrays O(elements).\n\n\
         # Examples\n"
    };
}
