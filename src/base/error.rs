//! The error type of the crate. Every variant has the numbers that explain it.

mod kind;
mod source;
mod std_io;
mod words;

pub use kind::ErrorKind;
pub use source::IoSource;
pub(crate) use words::with_unit;

use std::path::PathBuf;

use words::{at_position, before_message, entries_seen, first_axes, in_range, of_entry};

use crate::base::alloc::AllocError;
use crate::base::shape::Shape;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an operation failed.
///
/// Each message is one sentence with the relevant numbers and, if there is an alternative, the call that works instead.
/// The fields of the variants have the same numbers, for programs. [`kind`](Error::kind) returns the kind of the error.
/// `Debug` includes the message, since `main` prints errors by `Debug`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Error};
///
/// let refused = CooTensor::new([2, 5], vec![vec![0, 1], vec![4, 7]], vec![1.0, 2.0], 0.0);
/// let error = refused.unwrap_err();
/// assert_eq!(error, Error::IndexOutOfBounds { index: 7, axis: 1, length: 5, entry: Some(1) });
/// assert_eq!(error.to_string(), "index 7 on axis 1 is out of bounds for length 5, entry 1");
/// assert_eq!(format!("{error:?}"), format!("IndexOutOfBounds({error})"));
/// ```
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A coordinate is not smaller than the length of its axis.
    ///
    /// Correct the coordinate, or pass a longer axis in the shape.
    #[error("index {index} on axis {axis} is out of bounds for length {length}{}", of_entry(*entry))]
    IndexOutOfBounds {
        /// The coordinate.
        index: u64,
        /// The axis of the coordinate.
        axis: usize,
        /// The length of the axis.
        length: usize,
        /// The index of the entry, counted from 0. `None` for the coordinate of a requested position.
        entry: Option<usize>,
    },

    /// A coordinate is negative. Layouts of other libraries have signed coordinates.
    ///
    /// Correct the coordinate. Negative coordinates do not count from the end.
    #[error("index {index} on axis {axis} is negative, entry {entry}")]
    NegativeIndex {
        /// The coordinate.
        index: i64,
        /// The axis of the coordinate.
        axis: usize,
        /// The index of the entry, counted from 0.
        entry: usize,
    },

    /// An offset of a compressed format is negative. Layouts of other libraries have signed offsets.
    ///
    /// Correct the offsets, or construct the tensor in COO format.
    #[error("offset {offset} is negative, item {at} of the offsets")]
    NegativeOffset {
        /// The offset.
        offset: i64,
        /// The index of the offset, counted from 0.
        at: usize,
    },

    /// Entries do not increase strictly in row-major order.
    ///
    /// Build from `Triplets`, and call `coalesce`.
    #[error(
        "entry {entry} at {coords:?} comes after {previous:?} and does not increase in row-major order; \
         build from Triplets and coalesce"
    )]
    NotSorted {
        /// The index of the first entry that does not follow the previous entry in row-major order.
        entry: usize,
        /// The coordinates of the entry.
        coords: Vec<usize>,
        /// The coordinates of the previous entry.
        previous: Vec<usize>,
    },

    /// Two triplets have the same position under [`Duplicates::Error`](crate::Duplicates::Error).
    ///
    /// Choose another rule, such as `Duplicates::Sum` or `Duplicates::Last`.
    #[error("entries {first} and {second} are both at {coords:?}")]
    Duplicate {
        /// The first of the two triplets, counted in input order.
        first: usize,
        /// The second of the two triplets.
        second: usize,
        /// The position of both triplets.
        coords: Vec<usize>,
    },

    /// A list of tensors for a concatenation or a product is empty.
    ///
    /// Pass at least one tensor.
    #[error("the list of tensors is empty; pass at least one tensor")]
    NoTensor,

    /// An array has the wrong number of items.
    ///
    /// Pass an array of the expected length.
    #[error("{what} must have length {expected}, found {found}")]
    LengthMismatch {
        /// The name of the array.
        what: &'static str,
        /// The length that the other arguments require.
        expected: usize,
        /// The length of the array.
        found: usize,
    },

    /// A tensor, a coordinate or a list of axes has the wrong rank.
    ///
    /// Add axes with `expand_dims`, remove axes with `squeeze`, or use `reshape`.
    #[error("{what} must have rank {expected}, found {found}")]
    RankMismatch {
        /// The name of the argument with the wrong rank.
        what: &'static str,
        /// The required rank.
        expected: usize,
        /// The rank of the argument.
        found: usize,
    },

    /// Two shapes that must be equal differ.
    ///
    /// Pass a tensor of the expected shape, or use `reshape`, `broadcast_to` or `slice`.
    #[error("{what} must have shape {expected}, found {found}")]
    ShapeMismatch {
        /// The name of the argument with the wrong shape.
        what: &'static str,
        /// The required shape.
        expected: Shape,
        /// The shape of the argument.
        found: Shape,
    },

    /// Tensors to be concatenated differ in rank, or in the length of another axis.
    ///
    /// Make the lengths of all other axes equal with `slice` or `pad`.
    #[error(
        "tensor {tensor} of shape {found} cannot be joined with shape {first} along axis {axis}: all other axes must \
         be equal"
    )]
    NotJoinable {
        /// The index of the tensor, counted from 0.
        tensor: usize,
        /// The concatenated axis, on which the lengths may differ.
        axis: usize,
        /// The shape of the first tensor.
        first: Shape,
        /// The shape of the tensor with this index.
        found: Shape,
    },

    /// A reshape would change the number of positions.
    ///
    /// Choose lengths whose product is the number of positions.
    #[error("a tensor of shape {from} cannot be reshaped to {to}: the numbers of positions differ")]
    ReshapeSize {
        /// The shape of the tensor.
        from: Shape,
        /// The requested shape.
        to: Shape,
    },

    /// An axis is outside `-rank..rank`.
    ///
    /// Pass an axis from `-rank` to `rank - 1`.
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange {
        /// The axis as it was passed.
        axis: isize,
        /// The rank of the tensor.
        rank: usize,
    },

    /// An axis is named twice.
    ///
    /// Name each axis once.
    #[error("axis {axis} is repeated (rank {rank})")]
    AxisRepeated {
        /// The axis, counted from the front.
        axis: usize,
        /// The rank of the tensor.
        rank: usize,
    },

    /// An axis of the result would have more than `usize::MAX` positions.
    ///
    /// Concatenate fewer tensors, or request a smaller result.
    #[error("axis {axis} of the result would have more than usize::MAX positions")]
    AxisOverflow {
        /// The axis.
        axis: usize,
    },

    /// An axis to be removed does not have length 1.
    ///
    /// Select one position of the axis with `slice`, or reduce the axis.
    #[error("axis {axis} has length {length}, not 1")]
    AxisNotOne {
        /// The axis.
        axis: usize,
        /// The length of the axis.
        length: usize,
    },

    /// Two lengths on an axis differ, and the length to repeat is not 1.
    ///
    /// Align the axes with `expand_dims` or `permute_axes`.
    #[error("shape {left} does not broadcast {how} {right}{}", first_axes(.left, .right))]
    NotBroadcastable {
        /// The shape of the tensor, or of the left operand.
        left: Shape,
        /// `to`, or `together with`.
        how: &'static str,
        /// The requested shape, or the shape of the right operand.
        right: Shape,
    },

    /// A slice is out of range for an axis.
    ///
    /// Pass a start, an end or a position within the axis.
    #[error("{index} in the slice of axis {axis} is out of range for length {length}")]
    SliceOutOfRange {
        /// The start, the end or the position as it was passed.
        index: isize,
        /// The axis.
        axis: usize,
        /// The length of the axis.
        length: usize,
    },

    /// A slice has a step of 0.
    ///
    /// Pass a positive or a negative step.
    #[error("the step in the slice of axis {axis} is 0")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },

    /// Tensors that must have the same fill, such as operands of `concat`, have different fills.
    ///
    /// Call `with_fill` on one of the tensors.
    #[error(
        "the fill of tensor {tensor} is {found}, the fill of tensor 0 is {expected}; make them equal with with_fill"
    )]
    FillsDiffer {
        /// The first tensor whose fill differs, counted from 0.
        tensor: usize,
        /// The fill of the first tensor.
        expected: String,
        /// The fill of the tensor that differs.
        found: String,
    },

    /// More entries are requested than there are positions.
    ///
    /// Request fewer entries, or a larger shape.
    #[error("{count} entries do not fit {size} positions")]
    TooManyEntries {
        /// The number of requested entries.
        count: usize,
        /// The number of positions.
        size: u128,
    },

    /// An axis is too long for the index type.
    ///
    /// Use the wider index type that the message names.
    #[error("axis {axis} of length {length} does not fit index type {index_type} (at most {maximum}); use {instead}")]
    AxisTooLong {
        /// The axis.
        axis: usize,
        /// The length of the axis.
        length: usize,
        /// The index type that is too narrow.
        index_type: &'static str,
        /// The longest axis that the index type allows.
        maximum: u128,
        /// An index type that is wide enough.
        instead: &'static str,
    },

    /// The first offset of a compressed format is not 0.
    ///
    /// Correct the offsets, or construct the tensor in COO format.
    #[error("offsets must start at 0, found {found}")]
    OffsetsStart {
        /// The first offset.
        found: usize,
    },

    /// An offset is smaller than the offset before it.
    ///
    /// Correct the offsets, or construct the tensor in COO format.
    #[error("offsets must not decrease: lane {lane} starts at {start} and ends at {end}")]
    OffsetsDecrease {
        /// The lane (row) between the two offsets.
        lane: usize,
        /// The first offset of the lane.
        start: usize,
        /// The offset after the lane.
        end: usize,
    },

    /// The last offset differs from the number of entries.
    ///
    /// Correct the offsets, or construct the tensor in COO format.
    #[error("offsets must end at the number of entries, {expected}, found {found}")]
    OffsetsEnd {
        /// The number of entries.
        expected: usize,
        /// The last offset.
        found: usize,
    },

    /// The batches have different numbers of entries, but the layout requires equal numbers.
    ///
    /// Keep the CSR format of lacuna, whose batches may store different numbers of entries.
    #[error("batch {batch} has {found} entries, batch 0 has {expected}; this layout requires equal numbers of entries")]
    UnevenBatches {
        /// The first batch that differs.
        batch: usize,
        /// The number of entries of batch 0.
        expected: usize,
        /// The number of entries of the first batch that differs.
        found: usize,
    },

    /// The result would take more memory than the limit.
    ///
    /// Use the alternative that the message names, or set a higher limit.
    #[error(
        "{what} would take {}, above the limit of {}; {instead}",
        with_unit(*.bytes),
        with_unit(u128::from(*.limit))
    )]
    TooLarge {
        /// The result or buffer that would be allocated.
        what: &'static str,
        /// The required number of bytes. `u128::MAX` means `u128::MAX` or more.
        bytes: u128,
        /// The limit in bytes.
        limit: u64,
        /// The recommended action.
        instead: &'static str,
    },

    /// An allocation failed. Any function with the `Result` of this crate may return this error.
    ///
    /// Free memory, or process the data in chunks.
    #[error("could not allocate {}; free memory, or process the data in chunks", with_unit(*.bytes))]
    OutOfMemory {
        /// The bytes of the allocation. A growing array allocates up to twice the bytes it needs.
        bytes: u128,
    },

    /// A group of a reduction has too many positions to count.
    ///
    /// Reduce fewer axes at once.
    #[error(
        "{operation} cannot count the positions of a group: positions are limited to u64::MAX and group sizes to \
         u128::MAX; reduce fewer axes at once"
    )]
    Uncountable {
        /// The operation.
        operation: &'static str,
    },

    /// A position that was passed to `take` does not exist.
    ///
    /// Correct the position, or use `.wrap()` or `.clip()`.
    #[error("indices[{at}] = {position} is out of range for {size} elements; use .wrap() or .clip()")]
    PositionOutOfRange {
        /// The position as it was passed.
        position: i128,
        /// The number of elements. `u128::MAX` means `u128::MAX` or more.
        size: u128,
        /// The index of the first wrong item of the index array, in row-major order.
        at: usize,
    },

    /// A `take` selects elements from a tensor or an axis without elements.
    ///
    /// Pass an empty list of positions, or a tensor with elements.
    #[error("cannot take {count} elements from an empty tensor or axis")]
    TakeFromEmpty {
        /// The number of items of the index array.
        count: usize,
    },

    /// A sum of integers does not fit the type of the result.
    ///
    /// Cast to a wider type before the sum.
    #[error("the sum at {coords:?} does not fit {dtype}")]
    SumOverflow {
        /// The position of the sum.
        coords: Vec<usize>,
        /// The type.
        dtype: &'static str,
    },

    /// A result does not fit the integer type of the elements.
    ///
    /// Cast to a wider type or to floats before the operation.
    #[error(
        "{operation} at {} does not fit {dtype}; cast the operand first, for example to float64",
        at_position(.coords)
    )]
    Overflow {
        /// The operation.
        operation: &'static str,
        /// The position or output element; `None` for the fill.
        coords: Option<Vec<usize>>,
        /// The type.
        dtype: &'static str,
    },

    /// A group does not have an element that a reduction could return.
    ///
    /// Reduce another axis, or add positions to the reduced axis.
    #[error("{operation} of no elements: axis {axis} has length 0")]
    EmptyGroup {
        /// The operation.
        operation: &'static str,
        /// The first reduced axis without a position.
        axis: usize,
    },

    /// An elementwise operation divides an integer by zero.
    ///
    /// Replace the zeros with `where_`, or cast to floats.
    #[error("{operation} at {} divides by zero", at_position(.coords))]
    DivisionByZero {
        /// The operation.
        operation: &'static str,
        /// The position; `None` for the fill.
        coords: Option<Vec<usize>>,
    },

    /// An infinite or NaN element and an unstored zero have a nonzero result.
    ///
    /// Operate on `x.stored()` and `y.stored()`, which combine only stored entries.
    #[error(
        "{operation}: the result of {left} and {right} at {coords:?} is not 0; x.stored() and y.stored() combine \
         stored entries only"
    )]
    NonFinite {
        /// The operation.
        operation: &'static str,
        /// The left element, after the word `unstored` if it is not stored.
        left: String,
        /// The right element, after the word `unstored` if it is not stored.
        right: String,
        /// The position.
        coords: Vec<usize>,
    },

    /// The unstored positions of the result would have different values.
    ///
    /// Operate on `x.stored()`, or convert to an array with `to_dense`.
    #[error(
        "{operation} of the fill is {found} at {at} and {expected} at {first}, but a sparse tensor has one fill; \
         x.stored() skips unstored positions"
    )]
    FillVaries {
        /// The operation.
        operation: &'static str,
        /// The result at the first position without a stored entry.
        expected: String,
        /// The coordinates of the first position without a stored entry; `..` means any coordinate.
        first: String,
        /// The result at another position.
        found: String,
        /// The coordinates of the other position.
        at: String,
    },

    /// An operation does not accept an argument.
    ///
    /// Change the argument as the message says.
    #[error("{operation}: {why}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// The reason, with its numbers.
        why: String,
    },

    /// A complex type does not have an order.
    ///
    /// Compare absolute values, real parts or imaginary parts.
    #[error("{operation} does not support {dtype}, which has no order")]
    NoOrder {
        /// The operation.
        operation: &'static str,
        /// The type.
        dtype: &'static str,
    },

    /// An element type does not support an operation.
    ///
    /// Use the alternative that the message names.
    #[error("{operation} does not support {dtype}; {instead}")]
    NoOperation {
        /// The operation.
        operation: &'static str,
        /// The type.
        dtype: &'static str,
        /// The alternative.
        instead: &'static str,
    },

    /// Dynamically typed operands have different types.
    ///
    /// Cast one of the operands.
    #[error("{operation}: the element types {left} and {right} differ; cast one of them")]
    TypesDiffer {
        /// The operation.
        operation: &'static str,
        /// The element type of the first operand.
        left: &'static str,
        /// The element type of another operand.
        right: &'static str,
    },

    /// A value cannot be converted to the requested type.
    ///
    /// Choose a type that holds the value, or replace the value first.
    #[error("{value} ({from}) at {place} cannot be converted to {to}")]
    Cast {
        /// The value.
        value: String,
        /// The type of the value.
        from: &'static str,
        /// The requested type.
        to: &'static str,
        /// `entry N`, or `the fill`.
        place: String,
    },

    /// The requested algorithm is not available for this input.
    ///
    /// Use the default algorithm.
    #[error("isin by {kind} is not possible: {why}")]
    IsinKind {
        /// The algorithm.
        kind: &'static str,
        /// The reason, with its numbers.
        why: String,
    },

    /// The target omits only zeros, but the fill of the tensor is not 0.
    ///
    /// Call `with_fill`, or use a format that can store another fill.
    #[error("the fill {fill} cannot be represented: {target} omits only zeros")]
    FillNotZero {
        /// The fill.
        fill: String,
        /// The format that cannot represent the fill.
        target: &'static str,
    },

    /// A file does not follow its format.
    ///
    /// Correct the file at the place that the message names.
    #[error("{place}: {message}")]
    Format {
        /// The line (text) or the member and field (binary).
        place: String,
        /// The description of the error.
        message: String,
    },

    /// A file format cannot store a tensor.
    ///
    /// Follow the advice of the message, such as another format.
    #[error("{format} cannot hold {what}; {instead}")]
    NotRepresentable {
        /// The format.
        format: &'static str,
        /// The property that the format cannot hold.
        what: String,
        /// A format with this property.
        instead: &'static str,
    },

    /// A gradient was requested through an operation without a gradient.
    ///
    /// Differentiate with respect to a later step, or define the gradient with `custom`.
    #[error("{operation} is not differentiable; differentiate with respect to a later step, or use `custom`")]
    NoGradient {
        /// The operation.
        operation: &'static str,
    },

    /// An error occurred in a chunk. Positions in the cause are relative to the chunk.
    ///
    /// See the cause. Add the start of the chunk to positions in the cause.
    #[error("{}", in_range(*.axis, *.start, *.end, .cause))]
    InRange {
        /// The error within the chunk.
        cause: Box<Error>,
        /// The axis that is split into chunks.
        axis: usize,
        /// The first position of the chunk.
        start: usize,
        /// The position after the last position of the chunk.
        end: usize,
    },

    /// A step of a lazy graph failed.
    ///
    /// See the cause, and the source line of the step.
    #[error("{operation} at {file}:{line}: {}", without_name(.operation, .cause))]
    Lazy {
        /// The operation.
        operation: &'static str,
        /// The source file of the line that created the step.
        file: &'static str,
        /// The line that created the step.
        line: u32,
        /// The reason why the step failed.
        cause: Box<Error>,
    },

    /// An engine from another package did not return an answer after all attempts.
    ///
    /// Check the workers or the device, or run on `Threads`.
    #[error(
        "the engine {engine} did not return a result after {attempts} attempts: {cause}{}",
        entries_seen(.seen, .expected)
    )]
    Engine {
        /// The engine.
        engine: &'static str,
        /// The number of attempts.
        attempts: u32,
        /// The causes of the failed attempts.
        cause: String,
        /// The number of entries in the answer and the sum of their hashes, if the engine returned one.
        seen: Option<(u64, u64)>,
        /// The expected number of entries and sum of their hashes.
        expected: Option<(u64, u64)>,
    },

    /// Reading or writing failed.
    ///
    /// Check the path, the permissions and the free space.
    #[error("{}{message}", before_message(.path))]
    Io {
        /// The kind of failure.
        kind: std::io::ErrorKind,
        /// The message of the operating system.
        message: String,
        /// The file, if one is known.
        path: Option<PathBuf>,
        /// The original error of the operating system, reader or writer.
        source: Option<IoSource>,
    },
}

impl From<AllocError> for Error {
    fn from(rejection: AllocError) -> Self {
        Error::OutOfMemory { bytes: rejection.bytes }
    }
}

/// Returns the message of an error of a step whose name is already printed. The name is not repeated.
fn without_name(operation: &str, cause: &Error) -> String {
    if let Error::InRange { cause, axis, start, end } = cause {
        return in_range(*axis, *start, *end, &without_name(operation, cause));
    }
    let text = cause.to_string();
    match text.strip_prefix(operation) {
        Some(why) if why.starts_with(": ") => why[2..].to_string(),
        Some(place) if place.starts_with(" at ") || place.starts_with(" of ") => format!("the result{place}"),
        Some(rest) if rest.starts_with(' ') => format!("it{rest}"),
        _ => text,
    }
}
