//! The one error type of the crate: every variant carries the numbers that explain it.

mod debug;
mod source;
mod words;

pub use source::IoSource;

use std::path::PathBuf;

use words::{at_least, at_position, before_message, entries_seen, first_axes, in_range, of_entry, without_name};

use crate::base::alloc::AllocError;
use crate::base::shape::Shape;

/// What every fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an input was refused.
///
/// Each message is one sentence that names the numbers involved and, where there is one, the call that
/// works instead. The variants hold the same numbers as fields, for programs. `Debug`, by which `main` prints an error
/// that it returns, has the sentence too.
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
    #[error("index {index} on axis {axis} is out of bounds for length {length}{}", of_entry(*entry))]
    IndexOutOfBounds {
        /// The coordinate.
        index: u64,
        /// The axis that it stands on.
        axis: usize,
        /// The length of that axis.
        length: usize,
        /// Which entry it belongs to, counted from 0; none where a position was asked for.
        entry: Option<usize>,
    },

    /// A coordinate is negative; foreign layouts have signed ones.
    #[error("index {index} on axis {axis} is negative, entry {entry}")]
    NegativeIndex {
        /// The coordinate.
        index: i64,
        /// The axis that it stands on.
        axis: usize,
        /// Which entry it belongs to, counted from 0.
        entry: usize,
    },

    /// An offset of a compressed format is negative; foreign layouts have signed ones.
    #[error("offset {offset} is negative, item {at} of the offsets")]
    NegativeOffset {
        /// The offset.
        offset: i64,
        /// Which item of the offsets it is, counted from 0.
        at: usize,
    },

    /// Entries do not increase strictly in row-major order.
    #[error(
        "entry {entry} at {coords:?} comes after {previous:?} and does not increase in row-major order; \
         build from Triplets and coalesce"
    )]
    NotSorted {
        /// The first entry that is not greater than the one before it.
        entry: usize,
        /// Its coordinates.
        coords: Vec<usize>,
        /// The coordinates of the entry before it.
        previous: Vec<usize>,
    },

    /// Two triplets share a position, and [`Duplicates::Error`](crate::Duplicates::Error) was asked for.
    #[error("entries {first} and {second} both stand at {coords:?}")]
    Duplicate {
        /// The earlier one, counted in input order.
        first: usize,
        /// The later one.
        second: usize,
        /// The position that they share.
        coords: Vec<usize>,
    },

    /// A list of tensors, to be joined or multiplied, has none.
    #[error("the list of tensors is empty; it must hold one at least")]
    NoTensor,

    /// An array has the wrong number of items.
    #[error("{what} must have length {expected}, found {found}")]
    LengthMismatch {
        /// Which array.
        what: &'static str,
        /// The length that the other arguments demand.
        expected: usize,
        /// The length that it has.
        found: usize,
    },

    /// A tensor, a coordinate or a list of axes has the wrong rank.
    #[error("{what} must have rank {expected}, found {found}")]
    RankMismatch {
        /// What was measured.
        what: &'static str,
        /// The rank that is needed.
        expected: usize,
        /// The rank that it has.
        found: usize,
    },

    /// Two shapes that must be equal are not.
    #[error("{what} must have shape {expected}, found {found}")]
    ShapeMismatch {
        /// Whose shape.
        what: &'static str,
        /// The shape that is needed.
        expected: Shape,
        /// The shape that it has.
        found: Shape,
    },

    /// Tensors that are to be joined along an axis differ in another one.
    #[error(
        "tensor {tensor} of shape {found} does not join one of shape {first} along axis {axis}: all other axes must be alike"
    )]
    NotJoinable {
        /// Which tensor, from 0 on.
        tensor: usize,
        /// The axis that may differ.
        axis: usize,
        /// The shape of the first one.
        first: Shape,
        /// The shape of this one.
        found: Shape,
    },

    /// A reshape would change the number of positions.
    #[error("a tensor of shape {from} cannot be reshaped to {to}: the numbers of positions differ")]
    ReshapeSize {
        /// The shape of the tensor.
        from: Shape,
        /// The shape that was asked for.
        to: Shape,
    },

    /// An axis is outside `-rank..rank`.
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange {
        /// The axis as it was given.
        axis: isize,
        /// The rank of the tensor.
        rank: usize,
    },

    /// An axis is named twice.
    #[error("axis {axis} is repeated (rank {rank})")]
    AxisRepeated {
        /// The axis, counted from the front.
        axis: usize,
        /// The rank of the tensor.
        rank: usize,
    },

    /// An axis of the result would be longer than `usize` counts.
    #[error("axis {axis} of the result would have more positions than usize counts")]
    AxisOverflow {
        /// The axis.
        axis: usize,
    },

    /// An axis that is to be left out has more positions than one, or none.
    #[error("axis {axis} has length {length}, not 1")]
    AxisNotOne {
        /// The axis.
        axis: usize,
        /// Its length.
        length: usize,
    },

    /// A shape does not broadcast: two axes have different lengths, and not one of them, or not the one that may, is 1.
    #[error("shape {left} does not broadcast {how} {right}{}", first_axes(.left, .right))]
    NotBroadcastable {
        /// The shape of the tensor, or of the operand on the left.
        left: Shape,
        /// `to`, or `together with`.
        how: &'static str,
        /// The shape that was asked for, or that of the operand on the right.
        right: Shape,
    },

    /// A slice reaches out of an axis.
    #[error("{index} in the slice of axis {axis} is out of range for length {length}")]
    SliceOutOfRange {
        /// The start, the end or the position as it was given.
        index: isize,
        /// The axis.
        axis: usize,
        /// Its length.
        length: usize,
    },

    /// A slice takes steps of length 0.
    #[error("the step in the slice of axis {axis} is 0")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },

    /// Tensors that are to become one have different fills.
    #[error("the fill of tensor {tensor} is {found}, that of tensor 0 is {expected}; with_fill sets another one")]
    FillsDiffer {
        /// The first tensor whose fill differs, counted from 0.
        tensor: usize,
        /// The fill of the first tensor.
        expected: String,
        /// The fill of that tensor.
        found: String,
    },

    /// More entries are asked for than there are positions.
    #[error("{count} entries do not fit {size} positions")]
    TooManyEntries {
        /// The entries that were asked for.
        count: usize,
        /// The number of positions.
        size: u128,
    },

    /// An axis is too long for the index type.
    #[error("axis {axis} of length {length} does not fit index type {index_type} (at most {maximum}); use {instead}")]
    AxisTooLong {
        /// The axis.
        axis: usize,
        /// Its length.
        length: usize,
        /// The index type that is too narrow.
        index_type: &'static str,
        /// The longest axis that it can index.
        maximum: u128,
        /// An index type that is wide enough.
        instead: &'static str,
    },

    /// The first offset of a compressed format is not 0.
    #[error("offsets must start at 0, found {found}")]
    OffsetsStart {
        /// The first offset.
        found: usize,
    },

    /// An offset is smaller than the one before it.
    #[error("offsets must not decrease: lane {lane} starts at {start} and ends at {end}")]
    OffsetsDecrease {
        /// The lane (row) between the two offsets.
        lane: usize,
        /// Its first offset.
        start: usize,
        /// The offset after it.
        end: usize,
    },

    /// The last offset is not the number of entries.
    #[error("offsets must end at the number of entries, {expected}, found {found}")]
    OffsetsEnd {
        /// The number of entries.
        expected: usize,
        /// The last offset.
        found: usize,
    },

    /// The batches do not hold equally many entries, and the layout asked for needs them to.
    #[error("batch {batch} holds {found} entries where batch 0 holds {expected}; this layout needs equally many")]
    UnevenBatches {
        /// The first batch that differs.
        batch: usize,
        /// The number of entries of batch 0.
        expected: usize,
        /// The number of entries of that batch.
        found: usize,
    },

    /// The result would take more memory than the limit.
    #[error("{what} would take {} bytes, above the limit of {limit}; {instead}", at_least(*.bytes))]
    TooLarge {
        /// What would be allocated.
        what: &'static str,
        /// The bytes that it needs; `u128::MAX` stands for more than that.
        bytes: u128,
        /// The limit in bytes.
        limit: u64,
        /// What to do about it.
        instead: &'static str,
    },

    /// The machine does not have as much memory left. Any function that returns this crate's `Result` may say so.
    #[error("the machine did not give {bytes} bytes of memory; close something, or work on a part")]
    OutOfMemory {
        /// The bytes that were needed at once; an array that grows asks for up to twice as many.
        bytes: u128,
    },

    /// A group of a reduction is too large for its positions to be numbered or counted.
    #[error(
        "{operation} cannot number or count the positions of a group: positions and counts end at u64::MAX, sizes of \
         groups at u128::MAX; reduce fewer axes at once"
    )]
    Uncountable {
        /// The operation.
        operation: &'static str,
    },

    /// A taken position does not exist.
    #[error("position {position} is out of range for {size} elements, index {at}")]
    PositionOutOfRange {
        /// The position as it was given.
        position: i128,
        /// The number of elements; `u128::MAX` stands for more than that.
        size: u128,
        /// The first offending item of the index array, in row-major order.
        at: usize,
    },

    /// A take of something from nothing.
    #[error("cannot take {count} elements from a tensor (or an axis) that has none")]
    TakeFromEmpty {
        /// The number of items of the index array.
        count: usize,
    },

    /// A sum does not fit its integer type.
    #[error("the sum at {coords:?} does not fit {dtype}")]
    SumOverflow {
        /// The position whose contributions were summed.
        coords: Vec<usize>,
        /// The type.
        dtype: &'static str,
    },

    /// A result does not fit its integer type.
    #[error("{operation} at {} does not fit {dtype}; cast beforehand, to float64 say", at_position(.coords))]
    Overflow {
        /// The operation.
        operation: &'static str,
        /// The position, or the cell of a reduction; none for the fill.
        coords: Option<Vec<usize>>,
        /// The type.
        dtype: &'static str,
    },

    /// A group has no element that a reduction could give.
    #[error("{operation} of no elements: axis {axis} has length 0")]
    EmptyGroup {
        /// The operation.
        operation: &'static str,
        /// The first reduced axis without a position.
        axis: usize,
    },

    /// An elementwise operation divides an integer by zero.
    #[error("{operation} at {} divides by zero", at_position(.coords))]
    DivisionByZero {
        /// The operation.
        operation: &'static str,
        /// The position; none for the fill.
        coords: Option<Vec<usize>>,
    },

    /// An element that is not finite meets an implicit zero: what they give is not zero.
    #[error(
        "{operation} of {left} and {right} at {coords:?}, where one of them is not stored, is not zero; \
         a.stored() and b.stored() look at what both store"
    )]
    NonFinite {
        /// The operation.
        operation: &'static str,
        /// The element on the left, stored or not.
        left: String,
        /// The element on the right.
        right: String,
        /// The position.
        coords: Vec<usize>,
    },

    /// Positions that are not stored would hold different values.
    #[error(
        "{operation} of the fill is {found} at {at} and {expected} at {first}, and a sparse tensor has one fill; \
         x.stored() leaves what is not stored alone"
    )]
    FillVaries {
        /// The operation.
        operation: &'static str,
        /// What it gives at the first position of which nothing is stored.
        expected: String,
        /// That position; `..` stands for any coordinate.
        first: String,
        /// What it gives at another one.
        found: String,
        /// That other position.
        at: String,
    },

    /// An argument is none that an operation takes.
    #[error("{operation}: {why}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// The reason, with its numbers.
        why: String,
    },

    /// A complex type has no order.
    #[error("{operation} is no operation on {dtype}, which has no order")]
    NoOrder {
        /// The operation.
        operation: &'static str,
        /// The type.
        dtype: &'static str,
    },

    /// An element type does not have an operation.
    #[error("{operation} is no operation on {dtype}; {instead}")]
    NoOperation {
        /// The operation.
        operation: &'static str,
        /// The type.
        dtype: &'static str,
        /// What there is.
        instead: &'static str,
    },

    /// Operands whose types are known at run time only have different ones.
    #[error("{operation} of {left} and {right}: cast one of them")]
    TypesDiffer {
        /// The operation.
        operation: &'static str,
        /// The element type of the first operand.
        left: &'static str,
        /// That of another one.
        right: &'static str,
    },

    /// A value has no counterpart in the type asked for.
    #[error("{value} ({from}) at {place} cannot be converted to {to}")]
    Cast {
        /// The value.
        value: String,
        /// Its type.
        from: &'static str,
        /// The type asked for.
        to: &'static str,
        /// `entry N`, or `the fill`.
        place: String,
    },

    /// The algorithm asked for is not available for this input.
    #[error("isin by {kind} is not possible: {why}")]
    IsinKind {
        /// The algorithm.
        kind: &'static str,
        /// The reason, with its numbers.
        why: String,
    },

    /// The target format has an implicit zero and the tensor another fill.
    #[error("the fill {fill} cannot be represented: {target} leaves out zeros only")]
    FillNotZero {
        /// The fill.
        fill: String,
        /// The format that cannot hold it.
        target: &'static str,
    },

    /// A file does not say what its format demands.
    #[error("{place}: {message}")]
    Format {
        /// The line (text) or the member and field (binary).
        place: String,
        /// What is wrong.
        message: String,
    },

    /// A tensor cannot be written in a format.
    #[error("{format} cannot hold {what}; {instead}")]
    NotRepresentable {
        /// The format.
        format: &'static str,
        /// What it cannot hold.
        what: String,
        /// A format that can.
        instead: &'static str,
    },

    /// A gradient was asked through an operation that has none for the elements.
    #[error("{operation} has no gradient; ask for one of steps behind it, or write it as operations that have one")]
    NoGradient {
        /// The operation.
        operation: &'static str,
    },

    /// Something is wrong within a range of an axis, from whose start positions are counted.
    #[error("{}", in_range(*.axis, *.start, *.end, .cause))]
    InRange {
        /// What is wrong.
        cause: Box<Error>,
        /// The axis that is cut into ranges.
        axis: usize,
        /// The first position of the range.
        start: usize,
        /// One more than its last position.
        end: usize,
    },

    /// A step of a lazy graph has no result.
    #[error("{operation} at {file}:{line}: {}", without_name(.operation, .cause))]
    Lazy {
        /// The operation.
        operation: &'static str,
        /// The file whose line made the step.
        file: &'static str,
        /// That line.
        line: u32,
        /// Why it has none.
        cause: Box<Error>,
    },

    /// An engine that is no part of this crate has no answer, however often it was asked.
    #[error("the engine {engine} gave no answer, asked {attempts} times: {cause}{}", entries_seen(.seen, .expected))]
    Engine {
        /// The engine.
        engine: &'static str,
        /// How often it was asked.
        attempts: u32,
        /// The cause of each attempt.
        cause: String,
        /// The number of entries that its answer was made of, and the sum of their hashes, if it gave one.
        seen: Option<(u64, u64)>,
        /// Those that it should have been made of.
        expected: Option<(u64, u64)>,
    },

    /// Reading or writing failed.
    #[error("{}{message}", before_message(.path))]
    Io {
        /// The kind of failure.
        kind: std::io::ErrorKind,
        /// The operating system's words.
        message: String,
        /// The file, where one was named.
        path: Option<PathBuf>,
        /// The error of the operating system, or of the reader or writer that was handed over.
        source: Option<IoSource>,
    },
}

impl From<AllocError> for Error {
    fn from(refused: AllocError) -> Self {
        Error::OutOfMemory { bytes: refused.bytes }
    }
}
