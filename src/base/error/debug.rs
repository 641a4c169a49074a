//! Errors as `main` and `unwrap` print them.

use std::fmt;

use super::Error;

/// Implements `Debug` as the name of the variant and the message.
///
/// `main` and `unwrap` print errors by `Debug`, and the message explains what to do.
macro_rules! debug_of {
    ($($variant:ident),* $(,)?) => {
        impl fmt::Debug for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = match self {
                    $(Error::$variant { .. } => stringify!($variant),)*
                };
                write!(f, "{name}({self})")
            }
        }
    };
}

debug_of!(
    IndexOutOfBounds,
    NegativeIndex,
    NegativeOffset,
    NotSorted,
    Duplicate,
    NoTensor,
    LengthMismatch,
    RankMismatch,
    ShapeMismatch,
    NotJoinable,
    ReshapeSize,
    AxisOutOfRange,
    AxisRepeated,
    AxisOverflow,
    AxisNotOne,
    NotBroadcastable,
    SliceOutOfRange,
    ZeroStep,
    FillsDiffer,
    TooManyEntries,
    AxisTooLong,
    OffsetsStart,
    OffsetsDecrease,
    OffsetsEnd,
    UnevenBatches,
    TooLarge,
    OutOfMemory,
    Uncountable,
    PositionOutOfRange,
    TakeFromEmpty,
    SumOverflow,
    Overflow,
    EmptyGroup,
    DivisionByZero,
    NonFinite,
    FillVaries,
    Argument,
    NoOrder,
    NoOperation,
    TypesDiffer,
    Cast,
    IsinKind,
    FillNotZero,
    Format,
    NotRepresentable,
    NoGradient,
    InRange,
    Lazy,
    Engine,
    Io,
);
