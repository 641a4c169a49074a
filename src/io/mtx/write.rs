//! Writing a tensor as Matrix Market text.

use std::io::Write;

use crate::base::error::{Error, Result};
use crate::element::DType;
use crate::io::print::write_entries;
use crate::io::values::FileValues;
use crate::pattern::AnyPattern;

/// Writes a matrix or a vector as `coordinate general`; `bool` as the integers 0 and 1.
pub(crate) fn write(writer: &mut dyn Write, pattern: &AnyPattern, values: &dyn FileValues) -> Result<()> {
    let shape = pattern.shape();
    let Some(object) = object(shape.rank()) else {
        let what = format!("a tensor of rank {}", shape.rank());
        return Err(Error::NotRepresentable { format: "Matrix Market", what, instead: "write .npz" });
    };
    if !values.is_fill_zero() {
        let what = format!("the fill {}, because its unstored positions are zeros", values.fill());
        return Err(Error::NotRepresentable { format: "Matrix Market", what, instead: "write .npz" });
    }
    let lengths: String = shape.iter().map(|length| format!("{length} ")).collect();
    let head =
        format!("%%MatrixMarket {object} coordinate {} general\n{lengths}{}\n", field(values.dtype()), pattern.nnz());
    writer.write_all(head.as_bytes())?;
    write_entries(writer, pattern, values)
}

/// Returns the name of a tensor of the given rank, if other programs read a name for this rank.
fn object(rank: usize) -> Option<&'static str> {
    match rank {
        1 => Some("vector"),
        2 => Some("matrix"),
        _ => None,
    }
}

/// Returns the name of the field for an element type.
fn field(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => "integer",
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => "unsigned-integer",
        DType::Complex64 | DType::Complex128 => "complex",
        _ => "real",
    }
}
