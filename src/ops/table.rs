//! The table of operations, with one row per operation. Every interface that refers to operations by name reads this
//! table. The modules hold the rows of families, from which the interfaces also define their methods.

mod along;
mod binary;
mod command;
pub(crate) mod folds;
pub(crate) mod functions;
mod parameter;

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

#[cfg_attr(any(test, not(feature = "eval")), allow(unreachable_pub))]
pub use command::{CommandKind, CommandSpec};
pub(crate) use parameter::{Parameter, ParameterKind};

/// The row of an operation.
#[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // expressions read all of it, graphs a part
pub(crate) struct OpSpec {
    /// The name in expressions. The command line uses the same name.
    pub(crate) name: &'static str,
    /// The parameters in order, as [`Parameter`] reads them.
    parameters: &'static str,
    /// How a chunk of the result is computed from chunks of the operands.
    pub(crate) split: Split,
    /// True if an elementwise operation returns the pattern of its operands.
    pub(crate) keeps_pattern: bool,
    /// True if the result has entries even if the operands do not have entries.
    pub(crate) stores: bool,
    /// How the operation reads an operand that arrives in chunks.
    pub(crate) stream: Stream,
    /// The rule for the gradient of the operation, if the operation is itself a gradient.
    pub(crate) second: Second,
    /// The operation that computes the gradient, for elementwise operations of two operands.
    backward: Option<&'static OpSpec>,
    /// The command of the command line, if the operation has one.
    command: Option<CommandSpec>,
}

/// The rule for the gradient of a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Second {
    /// The formula of the gradient is differentiated. Without a formula, the gradient does not have a gradient.
    Formula,
    /// The gradient is linear in the upstream gradient and depends on no other value.
    Linear,
    /// The gradient multiplies by a piecewise constant factor, such as the sign for `abs`.
    Again,
    /// The gradient is the upstream gradient times piecewise constant weights, as for `max`.
    Weights,
    /// The operation is linear in each operand.
    Product,
}

/// The rule for the gradient of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Gradient {
    /// Another operation computes it.
    Backward(&'static OpSpec),
    /// The upstream gradient at the entries of the operand.
    Entries,
    /// The upstream gradient, cast to the element type of the operand.
    Cast,
    /// The upstream gradient in the shape of the operand.
    Reshaped,
    /// A diagonal of the upstream gradient.
    Diagonal,
    /// The gradient of a product of entries.
    Products,
    /// The gradient of a product with one factor per position of an axis.
    Scaled,
    /// The gradient of the upstream gradient of an operand itself.
    Upstream,
    /// The operand receives no gradient.
    Zero,
    /// The operation does not have a gradient.
    None,
}

/// The rule for the shape of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShapeRule {
    /// The shape of the first operand.
    First,
    /// The shape of the second operand.
    Second,
    /// The broadcast shape of all operands.
    Broadcast,
    /// The broadcast shape of all operands. The operation itself rejects operands that cannot be broadcast.
    Choice,
    /// The shape of two operands, which must have equal shapes.
    Same,
    Reduced,
    /// The shape of the first operand, with another length of `axis`.
    Along,
    Among,
    Scaled,
    Joined,
    Stacked,
    Product,
    Moved,
    Taken,
    /// The shape of the positions on the first axis.
    Gathered,
    Outer,
    Kron,
    Tensordot,
    Einsum,
    Mttkrp,
    /// The shape of the first operand. All axes of an array of this rank, except the last axis, replace `axis`.
    Contracted(usize),
    Dots,
    Reshaped,
    Diagonal,
    /// The length of `axis` of a matrix, twice.
    Variables,
    /// The shape of a scalar, without axes.
    Scalar,
    /// An unknown shape. The values of the operands decide, or the operation has several results.
    Unknown,
}

/// The rule by which a chunk of the result depends on chunks of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// Elementwise in all leading operands.
    Each,
    /// The gradient of an elementwise operation whose operands are not broadcast.
    Alike,
    /// A reduction over `axis`.
    Over,
    /// The gradient of a reduction over `axis`.
    Back,
    /// A computation along `axis` of the first operand.
    Along,
    /// Positions of `axis`, given by the second parameter.
    Taken,
    /// A computation among the elements along `axis`.
    Among,
    /// A product with one factor per position of `axis`.
    Scaled,
    /// A concatenation along `axis`.
    Joined,
    /// A matrix product.
    Product,
    /// A product of `axis` of the first operand with the last axis of the second.
    Contracted,
    /// An operation that moves elements.
    Moved,
    /// All operands are read entirely.
    Whole,
}

/// How a reduction reads an operand that arrives in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The operand is read entirely.
    Whole,
    /// One pass with an accumulator per output element.
    Fold,
    /// Several passes.
    Passes,
    /// Several passes, of which the last reads only the elements around the middle.
    Middle,
}

impl fmt::Debug for OpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for OpSpec {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl OpSpec {
    const fn new(name: &'static str, parameters: &'static str, split: Split) -> Self {
        OpSpec {
            name,
            parameters,
            split,
            keeps_pattern: true,
            stores: false,
            stream: Stream::Whole,
            second: Second::Formula,
            backward: None,
            command: None,
        }
    }

    const fn gradient_of(self, backward: &'static OpSpec) -> Self {
        OpSpec { backward: Some(backward), ..self }
    }

    const fn own_pattern(self) -> Self {
        OpSpec { keeps_pattern: false, ..self }
    }

    const fn stores(self) -> Self {
        OpSpec { stores: true, ..self }
    }

    const fn whole(self) -> Self {
        OpSpec { stream: Stream::Whole, ..self }
    }

    const fn fold(self) -> Self {
        OpSpec { stream: Stream::Fold, ..self }
    }

    const fn folds(self) -> Self {
        self.fold()
    }

    const fn passes(self) -> Self {
        OpSpec { stream: Stream::Passes, ..self }
    }

    const fn middle(self) -> Self {
        OpSpec { stream: Stream::Middle, ..self }
    }

    const fn formula(self) -> Self {
        OpSpec { second: Second::Formula, ..self }
    }

    const fn linear(self) -> Self {
        OpSpec { second: Second::Linear, ..self }
    }

    const fn again(self) -> Self {
        OpSpec { second: Second::Again, ..self }
    }

    const fn weights(self) -> Self {
        OpSpec { second: Second::Weights, ..self }
    }

    const fn product(self) -> Self {
        OpSpec { second: Second::Product, ..self }
    }

    const fn command(self, kind: CommandKind, about: &'static str, examples: &'static str) -> Self {
        OpSpec { command: Some(CommandSpec { kind, about, examples }), ..self }
    }

    /// Returns the rule for the gradient.
    pub(crate) fn gradient(&self) -> Gradient {
        if let Some(backward) = self.backward {
            return Gradient::Backward(backward);
        }
        let backward = match self.name {
            "cast" => return Gradient::Cast,
            "with_fill" | "to_coo" | "to_csr" | "dense" => return Gradient::Entries,
            "reshape" | "reshape_as" => return Gradient::Reshaped,
            "diag" => return Gradient::Diagonal,
            "matmul_with" | "matmul_on" => return Gradient::Products,
            "scale" => return Gradient::Scaled,
            "zeros_like" | "number_like" => return Gradient::Zero,
            "gradient_of" => return Gradient::Upstream,
            "permute_axes" => "transpose_backward".into(),
            name => format!("{}_backward", name.trim_end_matches('_')),
        };
        OpSpec::named(&backward).map_or(Gradient::None, Gradient::Backward)
    }

    /// Returns the operation whose gradient this operation computes.
    pub(crate) fn forward(&self) -> Option<&'static Self> {
        let forward = self.name.strip_suffix("_backward")?;
        OpSpec::named(forward).or_else(|| OpSpec::named(&format!("{forward}_")))
    }

    /// Returns the functions that return one result each, if the operation has two results in graphs.
    pub(crate) fn results(&self) -> Option<[&'static str; 2]> {
        match self.name {
            "nanmedian_index" => Some(["nanmedian", "nanmedian_index"]),
            "topk_index" => Some(["topk", "topk_index"]),
            "unique" => Some(["unique", "unique_counts"]),
            _ => None,
        }
    }

    /// Returns the rule for the shape of the result.
    pub(crate) fn lengths(&self) -> ShapeRule {
        let is_gradient = self.name.ends_with("_backward");
        match (self.name, self.split) {
            ("where_", _) => ShapeRule::Choice,
            ("mask" | "without", _) => ShapeRule::Same,
            ("stack", _) => ShapeRule::Stacked,
            ("einsum_backward" | "nonzero" | "unique" | "unique_counts" | "custom", _) => ShapeRule::Unknown,
            (_, Split::Each) if !is_gradient && self.operands() == 2 => ShapeRule::Broadcast,
            (_, Split::Over) => ShapeRule::Reduced,
            (_, Split::Along) => ShapeRule::Along,
            (_, Split::Taken) => ShapeRule::Taken,
            (_, Split::Among) => ShapeRule::Among,
            (_, Split::Scaled) => ShapeRule::Scaled,
            (_, Split::Joined) => ShapeRule::Joined,
            (_, Split::Product) => ShapeRule::Product,
            (_, Split::Moved) => ShapeRule::Moved,
            ("ttm", _) => ShapeRule::Contracted(2),
            ("ttv" | "average", _) => ShapeRule::Contracted(1),
            ("gather" | "take_along_axis", _) => ShapeRule::Gathered,
            ("outer", _) => ShapeRule::Outer,
            ("kron", _) => ShapeRule::Kron,
            ("tensordot", _) => ShapeRule::Tensordot,
            ("einsum", _) => ShapeRule::Einsum,
            ("mttkrp", _) => ShapeRule::Mttkrp,
            ("sddmm" | "pattern_sddmm", _) => ShapeRule::Dots,
            ("reshape", _) => ShapeRule::Reshaped,
            ("reshape_as", _) => ShapeRule::Second,
            ("diag", _) => ShapeRule::Diagonal,
            ("cov" | "corrcoef", _) => ShapeRule::Variables,
            ("allclose", _) => ShapeRule::Scalar,
            _ => ShapeRule::First,
        }
    }

    /// Returns whether an elementwise operation returns the pattern of its operands only if they share one pattern.
    pub(crate) fn is_choice(&self) -> bool {
        matches!(self.name, "where_" | "isin")
    }

    /// Returns whether the result has the pattern of the first operand.
    pub(crate) fn is_of_first(&self) -> bool {
        let is_gradient = self.forward().is_some() && self.place_of("wrt").is_none();
        is_gradient && self.name != "custom_backward"
            || matches!(self.name, "pattern_sddmm" | "sddmm" | "concat_backward" | "stack_backward")
    }

    /// Returns whether the operation is an elementwise function of one operand.
    pub(crate) fn is_function(&self) -> bool {
        self.split == Split::Each && self.operands() == 1
    }

    /// Returns whether each output element reads many elements of both operands.
    pub(crate) fn is_product(&self) -> bool {
        matches!(self.split, Split::Product | Split::Contracted)
    }

    /// Returns all operations, in the order of their rows.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        TABLE.iter().copied().flatten().copied()
    }

    /// Returns the operation with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        static BY_NAME: OnceLock<HashMap<&'static str, &'static OpSpec>> = OnceLock::new();
        BY_NAME.get_or_init(|| TABLE.iter().copied().flatten().map(|op| (op.name, *op)).collect()).get(name).copied()
    }
}

impl OpSpec {
    /// Returns the parameters in order.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter> + Clone {
        self.parameters.split_whitespace().map(Parameter::new)
    }

    /// Returns the index of a parameter.
    pub(crate) fn place_of(&self, parameter: &str) -> Option<usize> {
        self.names().position(|own| own == parameter)
    }

    /// Returns the names of the parameters in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.parameters().map(|own| own.name)
    }

    /// Returns whether both are the same row.
    pub(crate) fn is(&self, other: &'static Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Returns the number of leading operands that an elementwise operation reads element by element.
    pub(crate) fn operands(&self) -> usize {
        self.parameters().take_while(|own| own.is_operand()).count()
    }
}

/// Defines the rows: a name, the parameters, the rule for chunks, and the differences from [`OpSpec::new`].
macro_rules! operations {
    ($($name:ident $parameters:literal $split:ident $([$($set:ident $(($($argument:expr),*))?)*])?;)*) => {
        /// The rows by name.
        #[allow(non_upper_case_globals)]
        pub(crate) mod op {
            use super::CommandKind::*;
            pub(crate) use super::along::op::*;
            pub(crate) use super::binary::op::*;
            pub(crate) use super::folds::op::*;
            pub(crate) use super::functions::op::*;
            use super::{OpSpec, Split};

            $(pub(crate) static $name: OpSpec =
                OpSpec::new(stringify!($name), $parameters, Split::$split)$($(.$set($($($argument),*)?))*)?;)*
        }

        static SINGLE: &[&OpSpec] = &[$(&op::$name),*];
    };
}

/// All rows.
static TABLE: &[&[&OpSpec]] = &[folds::ROWS, SINGLE, along::ROWS, functions::ROWS, binary::ROWS];

operations! {
    // The position of a median. The rows of the other reductions are in `table/folds.rs`.
    nanmedian_index "x axis+? keep_dims? even? by?" Over;
    // Gradients of masks and choices.
    scale_backward "x axis factors upstream wrt?" Whole [product];
    select_backward "x upstream mask" Each [own_pattern linear];
    mask_backward "x upstream mask" Each [own_pattern linear];
    without_backward "x upstream mask" Each [own_pattern linear];
    where_backward "condition yes no upstream wrt?" Whole;
    // Products and their gradients.
    matmul_backward "x y upstream wrt?" Whole [product];
    outer_backward "x y upstream wrt?" Whole [product];
    kron_backward "x y upstream wrt?" Whole [product];
    matmul "x y" Product
        [command(Matmul, "Product of two matrices or batches of matrices",
            "tests/data/karate.mtx tests/data/karate.mtx\n\
             tests/data/karate.mtx tests/data/karate.mtx --semiring plus_pair --mask tests/data/karate.mtx")];
    einsum "spec tensors*" Whole
        [command(Einsum, "Sum of products over labeled axes",
            "'ij,jk->ik' tests/data/karate.mtx tests/data/karate.mtx")];
    einsum_backward "spec tensors upstream wrt?" Whole [product];
    matmul_with "x y semiring? mask? complement?" Product;
    matmul_on "x y mask complement?" Whole;
    outer "x y" Whole;
    kron "x y" Whole;
    tensordot "x y left right" Whole;
    tensordot_backward "x y upstream left right wrt?" Whole [product];
    mttkrp "x mode factors" Whole [stores];
    mttkrp_backward "x mode factors upstream wrt?" Whole [product];
    ttm "x matrix axis" Contracted [stores];
    ttm_backward "x matrix axis upstream wrt?" Whole [product];
    ttv "x vector axis" Contracted [stores];
    ttv_backward "x vector axis upstream wrt?" Whole [product];
    sddmm "x l r" Whole;
    sddmm_backward "x l r upstream wrt?" Whole [product];
    pattern_sddmm "x l r" Whole;
    pattern_sddmm_backward "x l r upstream wrt?" Whole [product];
    // Conversions, and elementwise functions with other arguments.
    prune "x" Each
        [own_pattern command(Plain, "Remove the entries that are identical to the fill",
            "lacuna isnan tests/data/mauna_loa_co2.mtx -o missing.npz\nmissing.npz --limit all")];
    cast "x dtype" Each;
    with_fill "x fill" Each;
    to_coo "x" Each [own_pattern];
    to_csr "x" Each [own_pattern];
    from_dense "x" Each [own_pattern];
    zeros_like "x" Each;
    isin "x members invert?" Each
        [own_pattern command(Isin, "Test whether each element is in a set of values",
            "tests/data/titanic.npz --values 0,13,14")];
    clamp "x low high" Each;
    powi "x exponent" Each;
    powf "x exponent" Each;
    // Masks and choices.
    allclose "x y rtol? atol? equal_nan?" Whole;
    is_close "x y rtol? atol? equal_nan?" Each;
    where_ "condition yes no" Each [own_pattern];
    scale "x axis factors" Scaled;
    mask "x mask" Each [own_pattern];
    without "x mask" Each [own_pattern];
    select "x mask" Each [own_pattern];
    // Gradients of elementwise functions with other arguments.
    clamp_backward "x upstream low high" Each [again];
    powi_backward "x upstream exponent" Each;
    powf_backward "x upstream exponent" Each;
    // Constructors, views and other functions of expressions.
    grad "y x dy" Whole;
    stored "x" Whole;
    eye "n" Whole [stores];
    full "shape value" Whole;
    tensor "dtype format shape fill indices values" Whole [stores];
    array "dtype shape values" Whole [stores];
    dense "x" Whole [stores];
    random "shape nnz seed?" Whole [stores];
    with_entries "x indices values" Whole;
    diag "x offset?" Whole [stores];
    block "rows" Whole;
    // The sum of a diagonal. In graphs, `diagonal` and `sum` are its steps.
    trace "x offset?" Whole;
    // Weighted means, and covariances of variables.
    cov "x axis? ddof?" Whole
        [stores command(Cov, "Covariances of the rows or the columns of a matrix",
            "tests/data/karate.mtx --axis 1 --limit 3")];
    corrcoef "x axis?" Whole [stores];
    average "x weights axis" Contracted;
    average_backward "x upstream weights axis" Whole [linear];
    // Order and softmax. The other functions along an axis are in `table/along.rs`.
    topk_index "x k axis?" Along [stores];
    unique "x" Whole;
    unique_counts "x" Whole;
    nonzero "x" Whole;
    softmax "x axis+?" Among;
    softmax_backward "x upstream axis+?" Among;
    log_softmax_backward "x upstream axis+?" Among;
    log_softmax "x axis+?" Among;
    // Indexing, shapes and concatenation.
    take "x indices axis? mode?" Taken
        [command(Take, "Elements at positions, flattened (row-major) or along an axis",
            "tests/data/karate.mtx --axis 0 --indices 0,-1")];
    take_axis "x indices axis mode?" Taken;
    take_backward "x upstream indices axis? mode?" Whole [linear];
    take_axis_backward "x upstream indices axis mode?" Whole [linear];
    gather "x indices mode?" Whole;
    gather_backward "x upstream indices mode?" Whole [linear];
    take_along_axis "x indices axis? mode?" Whole;
    take_along_axis_backward "x upstream indices axis? mode?" Whole [linear];
    concat "tensors axis?" Joined
        [command(Join, "Concatenate tensors along an axis",
            "tests/data/karate.mtx tests/data/karate.mtx --axis 1")];
    stack "tensors axis?" Joined
        [command(Join, "Stack tensors along a new axis",
            "tests/data/karate.mtx tests/data/karate.mtx --axis 0 -o both.npz")];
    concat_backward "tensors upstream axis? wrt?" Whole;
    stack_backward "tensors upstream axis? wrt?" Whole;
    slice "x slices" Moved
        [command(Slice, "Select a position or a range on each axis", "tests/data/karate.mtx '10:20,::2'")];
    slice_backward "x upstream slices" Whole [linear];
    diff "x n? axis? prepend? append?" Along
        [command(Diff, "Differences of neighbours along an axis",
            "tests/data/karate.mtx --axis 1\ntests/data/karate.mtx --axis 1 --n 2 --stored-only")];
    diff_backward "x upstream n? axis?" Along [linear];
    flip "x axis+?" Moved;
    flip_backward "x upstream axis+?" Whole [linear];
    roll "x places axis" Moved;
    roll_backward "x upstream places axis" Whole [linear];
    pad "x widths" Moved;
    pad_backward "x upstream widths" Whole [linear];
    tile "x times+" Moved;
    tile_backward "x upstream times+" Whole [linear];
    repeat "x times axis" Moved;
    repeat_backward "x upstream times axis" Whole [linear];
    broadcast_to "x shape" Moved;
    broadcast_to_backward "x upstream shape" Whole [linear];
    reshape_as "x like" Whole;
    reshape "x shape+" Whole;
    squeeze "x axis+?" Moved;
    squeeze_backward "x upstream axis+?" Whole [linear];
    expand_dims "x axis+" Moved;
    expand_dims_backward "x upstream axis+" Whole [linear];
    transpose "x axes?" Moved
        [command(Transpose, "Permute the axes", "tests/data/titanic.npz --axes 3,0,1,2")];
    transpose_backward "x upstream axes?" Whole [linear];
    permute_axes "x axes" Moved;
    move_axis "x from to" Moved;
    move_axis_backward "x upstream from to" Whole [linear];
    tril "x offset?" Moved;
    tril_backward "x upstream offset?" Whole [linear];
    triu "x offset?" Moved;
    triu_backward "x upstream offset?" Whole [linear];
    diagonal "x offset?" Moved;
    diagonal_backward "x upstream offset?" Whole [linear];
    // Steps of graphs, which expressions have no functions for.
    number_like "x number" Each;
    gradient_of "x upstream" Alike;
    custom "x f" Whole;
    custom_backward "x upstream f" Whole;
    filter_entries "x test" Whole;
    filter_entries_backward "x upstream test" Whole;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_own_name_and_the_parameters_of_its_rule() {
        for op in TABLE.iter().copied().flatten() {
            assert!(std::ptr::eq(OpSpec::named(op.name).unwrap(), *op), "{} has two rows", op.name);
            let needs_axis =
                !matches!(op.split, Split::Each | Split::Alike | Split::Product | Split::Moved | Split::Whole);
            assert!(!needs_axis || op.place_of("axis").is_some(), "{}", op.name);
            assert!(op.split != Split::Each || op.operands() > 0, "{}", op.name);
            assert!(op.stream == Stream::Whole || op.split == Split::Over, "{}", op.name);
        }
    }
}
