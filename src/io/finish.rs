//! The last steps of reading a file: element type, fill, format, and the check of the shape.

use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::dispatch;
use crate::dynamic::{AnyTensor, Format};
use crate::io::element::FileElement;
use crate::io::entries::TextFile;
use crate::io::options::{ReadOptions, parse_fill};
use crate::pattern::{AnyPattern, AxisCoords};
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

impl ReadOptions {
    /// Applies the options after the entries are read: element type, fill, format, and the check of the shape.
    ///
    /// `own_format` is the format of the file; `bytes` is the number of bytes read.
    pub(crate) fn finish(&self, tensor: AnyTensor, own_format: Format, bytes: u64) -> Result<AnyTensor> {
        self.check_shape(tensor.shape())?;
        let tensor = match self.dtype {
            Some(dtype) => tensor.cast(dtype)?,
            None => tensor,
        };
        let tensor = match &self.fill {
            Some(text) => with_fill(tensor, text)?,
            None => tensor,
        };
        let held = tensor.stored_bytes() as u64;
        let tensor = self.formatted(tensor, own_format, self.tensor_budget(bytes, held))?;
        self.check_memory("the tensor", tensor.stored_bytes() as u128)?;
        Ok(tensor)
    }

    /// Runs [`finish`](ReadOptions::finish) for text; errors name lines of the file.
    pub(crate) fn finish_text(&self, text: TextFile, bytes: u64) -> Result<AnyTensor> {
        let (tensor, pattern) = (AnyTensor::from(text.tensor), text.pattern);
        let finished = self.finish(tensor, Format::Coo, bytes);
        finished.map_err(|error| text.origin.rejected(error, |entry| pattern.coords_of(entry)))
    }

    /// Runs [`finish`](ReadOptions::finish) for text, and returns a tensor with elements of type `T`.
    pub(crate) fn finish_typed<T: FileElement>(&self, text: TextFile) -> Result<Erased<T>> {
        self.check_shape(text.pattern.shape())?;
        let tensor = text.tensor.into_typed::<T>();
        let tensor = tensor.map_err(|error| text.origin.rejected(error, |entry| text.pattern.coords_of(entry)))?;
        let tensor = match &self.fill {
            Some(text) => tensor.with_fill(parse_fill(text)?),
            None => tensor,
        };
        self.check_memory("the tensor", tensor.stored_bytes() as u128)?;
        Ok(tensor)
    }

    pub(crate) fn check_shape(&self, found: &Shape) -> Result<()> {
        match &self.shape {
            Some(expected) if expected != found => {
                Err(Error::ShapeMismatch { what: "the file", expected: expected.clone(), found: found.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Returns the tensor in the requested format, otherwise in the format of the file. CSR files whose offsets exceed
    /// `limit` become COO.
    fn formatted(&self, tensor: AnyTensor, own_format: Format, limit: u64) -> Result<AnyTensor> {
        match self.format {
            Some(format) => tensor.into_format_with_limit(format, limit),
            None if own_format == Format::Csr && offsets_fit(&tensor, limit) => {
                tensor.into_format_with_limit(Format::Csr, limit)
            }
            None => tensor.into_format(Format::Coo),
        }
    }
}

/// Returns the tensor of a header, without entries.
pub(crate) fn without_entries<T: FileElement>(shape: Shape, fill: T) -> Result<AnyTensor> {
    let (width, rank) = (Width::of_lengths(&shape), shape.rank());
    let pattern = AnyPattern::valid_coo(shape, 0, width, vec![AxisCoords::empty(width); rank]);
    Ok(Tensor::from_parts(pattern, Vec::new(), fill)?.into())
}

/// Returns whether the CSR offsets of `tensor` take at most `limit` bytes.
fn offsets_fit(tensor: &AnyTensor, limit: u64) -> bool {
    let lanes = crate::base::shape::saturating_product(tensor.shape().lane_axes());
    lanes.saturating_add(1).saturating_mul(size_of::<usize>() as u128) <= u128::from(limit)
}

/// Returns the same stored entries with another fill, read from `text`.
fn with_fill(tensor: AnyTensor, text: &str) -> Result<AnyTensor> {
    dispatch!(tensor, x => {
        let fill = parse_fill(text)?;
        Ok(AnyTensor::from(x.with_fill(fill)))
    })
}
