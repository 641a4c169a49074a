//! The name and the kind of each error.

use std::fmt;

use super::Error;

/// The kind of an [`Error`], for programs that handle several errors in the same way.
///
/// A new variant of [`Error`] has one of these kinds. An error within a chunk or a step of a graph
/// ([`Error::InRange`], [`Error::Lazy`]) has the kind of its cause.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Error, ErrorKind};
///
/// let x = CooTensor::new([2], vec![vec![0]], vec![5], 0)?;
/// let kind_of = |result: Result<CooTensor<i32>, Error>| result.map_err(|error| error.kind());
/// assert_eq!(kind_of(x.reshape([3])), Err(ErrorKind::Shape));
/// assert_eq!(kind_of(x.take([7])), Err(ErrorKind::Index));
/// assert_eq!(kind_of(x.mul(i32::MAX)), Err(ErrorKind::Value));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes, ranks, axes or slices are invalid or do not match. The error does not depend on values or coordinates.
    Shape,
    /// A coordinate, an offset or a position is out of range, or entries are out of order or repeated.
    Index,
    /// The element types do not support the operation, or the operation does not have a gradient.
    Type,
    /// A value, a fill or an argument is outside the domain of the operation, or the result does not fit its type.
    Value,
    /// The result is too large for the memory limit, for the available memory, or for the index type.
    Limit,
    /// A file or a layout does not follow its format, or the format cannot hold the tensor.
    Format,
    /// Reading or writing failed.
    Io,
    /// An engine from another package did not return a result.
    Engine,
}

/// Defines the kind of each variant. Implements `Debug`, which prints the name of the variant and the message.
///
/// `main` and `unwrap` print errors with `Debug`, and the message explains what to do.
macro_rules! kinds {
    ($($kind:ident: $($variant:ident)*;)* [cause]: $($wrapper:ident)*;) => {
        impl Error {
            /// Returns the kind of the error.
            pub fn kind(&self) -> ErrorKind {
                match self {
                    $($(Error::$variant { .. })|* => ErrorKind::$kind,)*
                    $(Error::$wrapper { cause, .. })|* => cause.kind(),
                }
            }
        }

        impl fmt::Debug for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = match self {
                    $($(Error::$variant { .. } => stringify!($variant),)*)*
                    $(Error::$wrapper { .. } => stringify!($wrapper),)*
                };
                write!(f, "{name}({self})")
            }
        }
    };
}

kinds! {
    Shape: NoTensor LengthMismatch RankMismatch ShapeMismatch NotJoinable ReshapeSize AxisOutOfRange
        AxisRepeated AxisNotOne NotBroadcastable SliceOutOfRange ZeroStep;
    Index: IndexOutOfBounds NegativeIndex NegativeOffset NotSorted Duplicate OffsetsStart OffsetsDecrease
        OffsetsEnd PositionOutOfRange TakeFromEmpty;
    Type: NoOrder NoOperation TypesDiffer NoGradient;
    Value: FillsDiffer SumOverflow Overflow EmptyGroup DivisionByZero NonFinite FillVaries Argument Cast
        IsinKind FillNotZero TooManyEntries;
    Limit: AxisOverflow AxisTooLong TooLarge OutOfMemory Uncountable;
    Format: UnevenBatches Format NotRepresentable;
    Io: Io;
    Engine: Engine;
    [cause]: InRange Lazy;
}
