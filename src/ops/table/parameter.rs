//! The parameters of operations. The kind of a parameter decides which arguments it accepts.

use crate::ops::SEMIRINGS;

/// A parameter of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: ParameterKind,
    pub(crate) is_optional: bool,
    /// True if the parameter receives all remaining arguments.
    pub(crate) takes_rest: bool,
}

/// The kind of the argument of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    /// An operand that receives a gradient, or a list of such operands.
    Operand,
    /// An operand that selects which elements receive a gradient.
    Choice,
    /// Positions, labels, members or numbers: constants, or an operand that receives no gradient.
    Data,
    /// One axis or several axes.
    Axes,
    Integer,
    /// An integer that is at least 0.
    Count,
    Integers,
    /// Integers that are at least 0.
    Counts,
    /// The lengths of a shape. At most one of them is -1, which is the length that remains.
    Lengths,
    /// Pairs of integers that are at least 0.
    Pairs,
    Flag,
    /// One of these words. The first is the default.
    Word(&'static [&'static str]),
    Text,
    /// The items of an index.
    Slices,
    Real,
    /// The order of a norm: 1, 2 or infinity.
    Order,
    /// A number in the element type of an operand.
    Number,
    Closure,
}

impl Parameter {
    /// Reads a parameter. The name of an optional parameter ends with `?`, of a list of operands with `*`, and of one
    /// or several integers with `+`.
    pub(super) fn new(text: &'static str) -> Self {
        let name = text.trim_end_matches(['?', '*', '+']);
        let is_optional = text.ends_with('?');
        let takes_rest = text.ends_with('*');
        Parameter { name, kind: ParameterKind::of(name, text.contains('+'), is_optional), is_optional, takes_rest }
    }

    /// Returns whether an operation with this first parameter is a method of its operand in expressions.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))]
    pub(crate) fn has_methods(self) -> bool {
        // Lists of operands do not have methods, and a condition is the second argument of other libraries.
        matches!(self.name, "x" | "y")
    }

    /// Returns whether the parameter is an operand that is read element by element.
    pub(crate) fn is_operand(self) -> bool {
        matches!(self.kind, ParameterKind::Operand | ParameterKind::Choice)
    }
}

impl ParameterKind {
    /// Returns the kind of a parameter. Each name has one kind, except `axis` and `times`, which may be lists, `shape`,
    /// whose list may have a length of -1, and `mode`, which is an axis if it is required.
    fn of(name: &str, is_list: bool, is_optional: bool) -> Self {
        match (name, is_list) {
            ("y" | "yes" | "no" | "l" | "r" | "matrix" | "vector" | "factors" | "tensors" | "rows", _) => Self::Operand,
            ("x" | "prepend" | "append", _) => Self::Operand,
            ("condition" | "mask" | "like" | "upstream", _) => Self::Choice,
            ("axis", true) => Self::Axes,
            ("axis" | "places" | "from" | "to" | "offset", _) => Self::Integer,
            ("mode", _) if !is_optional => Self::Integer,
            ("k" | "n" | "nnz" | "seed" | "ddof" | "wrt" | "times", false) => Self::Count,
            ("axes" | "left" | "right", _) => Self::Integers,
            ("shape", true) => Self::Lengths,
            ("shape" | "times", _) => Self::Counts,
            ("widths", _) => Self::Pairs,
            ("keep_dims" | "invert" | "complement" | "equal_nan", _) => Self::Flag,
            ("even", _) => Self::Word(&["mean", "lower"]),
            ("method", _) => Self::Word(&["linear", "lower", "higher", "midpoint", "nearest"]),
            ("mode", _) => Self::Word(&["raise", "wrap", "clip"]),
            ("format", _) => Self::Word(&["coo", "csr"]),
            ("semiring", _) => Self::Word(SEMIRINGS),
            ("dtype" | "spec", _) => Self::Text,
            ("slices", _) => Self::Slices,
            ("q" | "rtol" | "atol", _) => Self::Real,
            ("ord", _) => Self::Order,
            ("low" | "high" | "fill" | "value" | "number" | "exponent", _) => Self::Number,
            ("f" | "test", _) => Self::Closure,
            _ => Self::Data,
        }
    }
}
