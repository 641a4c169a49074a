//! From a tensor to Matrix Market text.

use std::io::Write;

use crate::base::error::{Error, Result};
use crate::element::DType;
use crate::io::element::FileElement;
use crate::io::print::write_entries;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// Writes a matrix or a vector as `coordinate general`; `bool` as the integers 0 and 1.
pub(crate) fn write<P: Pattern, T: FileElement>(writer: &mut impl Write, x: &Tensor<P, T>) -> Result<()> {
    let Some(object) = object(x.rank()) else {
        let what = format!("a tensor of rank {}", x.rank());
        return Err(Error::NotRepresentable { format: "Matrix Market", what, instead: "write .npz" });
    };
    if !x.fill().same(T::ZERO) {
        let what = format!("the fill {}: its gaps are zeros", x.fill().to_number());
        return Err(Error::NotRepresentable { format: "Matrix Market", what, instead: "write .npz" });
    }
    let lengths: String = x.shape().iter().map(|length| format!("{length} ")).collect();
    let head = format!("%%MatrixMarket {object} coordinate {} general\n{lengths}{}\n", field(T::DTYPE), x.nnz());
    writer.write_all(head.as_bytes())?;
    write_entries(writer, x)
}

/// The name of a tensor of that rank, where it has one that others read.
fn object(rank: usize) -> Option<&'static str> {
    match rank {
        1 => Some("vector"),
        2 => Some("matrix"),
        _ => None,
    }
}

/// The name of the field that holds a type.
fn field(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => "integer",
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => "unsigned-integer",
        DType::Complex64 | DType::Complex128 => "complex",
        _ => "real",
    }
}
