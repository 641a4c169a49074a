//! Writing an archive, in the layout of scipy if this layout supports the tensor, otherwise in the layout of
//! pydata/sparse.

use std::io::Write;

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::deflate;
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::io::compression::Compression;
use crate::io::limits::MAX_AXES;
use crate::io::npy::{BlockWriter, descr_of, write_header, write_values};
use crate::io::options::WriteOptions;
use crate::io::values::FileValues;
use crate::pattern::{AnyPattern, AxisCoords, by_slices};

/// The size in bytes from which on a member gets lengths of 64 bits, for any compressed size.
const LARGE: usize = u32::MAX as usize / 2;

/// An archive being written.
struct ArchiveWriter<'a> {
    zip: ZipWriter<StreamWriter<&'a mut dyn Write>>,
    method: CompressionMethod,
}

/// A function that writes the elements of a member.
type WriteElements<'a> = dyn FnMut(&mut dyn Write) -> Result<()> + 'a;

impl ArchiveWriter<'_> {
    /// Adds a member: its header, and its elements with `write`.
    fn add(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[usize],
        bytes: usize,
        write: &mut WriteElements<'_>,
    ) -> Result<()> {
        let name = format!("{name}.npy");
        if self.method == CompressionMethod::Deflated && bytes <= deflate::MAX_DEFLATED {
            let mut member = deflate::DeflatedMember::new(name);
            write_header(&mut member, descr, shape)?;
            write(&mut member)?;
            let mut archive = member.finish()?;
            let member = archive.by_index_raw(0).map_err(std::io::Error::from)?;
            return Ok(self.zip.raw_copy_file(member).map_err(std::io::Error::from)?);
        }
        let options = SimpleFileOptions::default().compression_method(self.method).large_file(bytes >= LARGE);
        self.zip.start_file(name, options).map_err(std::io::Error::from)?;
        write_header(&mut self.zip, descr, shape)?;
        write(&mut self.zip)
    }

    fn text(&mut self, name: &str, descr: &str, text: &[u8]) -> Result<()> {
        self.add(name, descr, &[], text.len(), &mut |zip| Ok(zip.write_all(text)?))
    }

    /// Adds the values of all `count` entries.
    fn data(&mut self, values: &dyn FileValues, count: usize) -> Result<()> {
        let (descr, bytes) = (descr_of(values)?, count * values.width());
        self.add("data", &descr, &[count], bytes, &mut |zip| write_values(zip, values, count))
    }

    fn fill(&mut self, values: &dyn FileValues) -> Result<()> {
        self.add("fill_value", &descr_of(values)?, &[], values.width(), &mut |zip| {
            let mut bytes = Vec::new();
            values.append_fill(&mut bytes);
            Ok(zip.write_all(&bytes)?)
        })
    }

    /// Adds coordinates as integers of 32 or 64 bits.
    fn coords(&mut self, name: &str, shape: &[usize], wide: bool, axes: &[AxisCoords]) -> Result<()> {
        by_slices!(axes, own => self.indices(name, shape, wide, &own))
    }

    /// Adds lists of indices one after another, as int32, or as int64 if `wide` is set.
    fn indices<I: Index>(&mut self, name: &str, shape: &[usize], wide: bool, lists: &[&[I]]) -> Result<()> {
        let bytes = shape.iter().product::<usize>().saturating_mul(if wide { 8 } else { 4 });
        let descr = if wide { "<i8" } else { "<i4" };
        self.add(name, descr, shape, bytes, &mut |zip| {
            let mut blocks = BlockWriter::new(zip);
            for index in lists.iter().copied().flatten() {
                let index = index.to_usize() as u64;
                blocks.append(|bytes| match wide {
                    true => bytes.extend_from_slice(&index.to_le_bytes()),
                    false => bytes.extend_from_slice(&(index as u32).to_le_bytes()),
                })?;
            }
            blocks.finish()
        })
    }

    /// Adds the shape, always as int64.
    fn shape(&mut self, shape: &Shape) -> Result<()> {
        let lengths: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
        self.indices("shape", &[shape.rank()], true, &[&lengths])
    }
}

impl<'a> ArchiveWriter<'a> {
    fn new(writer: &'a mut dyn Write, options: &WriteOptions) -> Self {
        let method = match options.compression {
            Compression::None => CompressionMethod::Stored,
            Compression::Usual | Compression::Gzip => CompressionMethod::Deflated,
        };
        ArchiveWriter { zip: ZipWriter::new_stream(writer), method }
    }

    fn finish(self) -> Result<()> {
        self.zip.finish().map_err(std::io::Error::from)?;
        Ok(())
    }
}

/// Rejects tensors that could not be read back: more than [`MAX_AXES`] axes, and lengths above `i64::MAX`, the largest
/// index of numpy.
fn check_writable(shape: &Shape) -> Result<()> {
    let rank = shape.rank();
    if rank > MAX_AXES {
        let what = format!("{rank} axes");
        return Err(Error::NotRepresentable { format: ".npz", what, instead: "reshape it to at most 64" });
    }
    match shape.iter().find(|&&length| i64::try_from(length).is_err()) {
        None => Ok(()),
        Some(length) => Err(Error::NotRepresentable {
            format: ".npz",
            what: format!("an axis of length {length}, because its indices are int64"),
            instead: "keep it in memory",
        }),
    }
}

/// Returns whether coordinates, or offsets up to `nnz`, need int64.
fn needs_wide(shape: &Shape, nnz: usize) -> bool {
    shape.iter().chain([&nnz]).any(|&length| length > i32::MAX as usize)
}

/// Writes an archive with coordinates: a matrix with a fill of zero in the layout of scipy, otherwise in the layout of
/// pydata/sparse.
fn write_coo(
    writer: &mut dyn Write,
    pattern: &AnyPattern,
    values: &dyn FileValues,
    options: &WriteOptions,
) -> Result<()> {
    let (shape, count) = (pattern.shape(), pattern.nnz());
    check_writable(shape)?;
    let mut members = ArchiveWriter::new(writer, options);
    let wide = needs_wide(shape, 0);
    let coords = pattern.axes()?;
    if is_scipys(shape, values) {
        members.text("format", "|S3", b"coo")?;
        members.coords("row", &[count], wide, &coords[..1])?;
        members.coords("col", &[count], wide, &coords[1..])?;
    } else {
        members.text("format", "<U3", &utf32("coo"))?;
        members.coords("coords", &[shape.rank(), count], wide, &coords)?;
        members.fill(values)?;
    }
    members.shape(shape)?;
    members.data(values, count)?;
    members.finish()
}

/// Writes a tensor in its format; a CSR tensor with less than two axes is written with coordinates.
pub(crate) fn write(
    writer: &mut dyn Write,
    pattern: &AnyPattern,
    values: &dyn FileValues,
    options: &WriteOptions,
) -> Result<()> {
    match pattern.lanes() {
        Some(lanes) if pattern.shape().rank() >= 2 => write_csr(writer, (pattern.shape(), lanes), values, options),
        _ => write_coo(writer, pattern, values, options),
    }
}

/// Writes an archive with offsets, in a layout chosen as by [`write_coo`]. The tensor has at least two axes.
fn write_csr(
    writer: &mut dyn Write,
    (shape, (offsets, columns)): (&Shape, (&Buffer<usize>, &AxisCoords)),
    values: &dyn FileValues,
    options: &WriteOptions,
) -> Result<()> {
    let count = columns.len();
    check_writable(shape)?;
    let mut members = ArchiveWriter::new(writer, options);
    let wide = needs_wide(shape, count);
    if is_scipys(shape, values) {
        members.text("format", "|S3", b"csr")?;
    } else {
        members.text("format", "<U4", &utf32("gcxs"))?;
        let axes: Vec<u64> = (0..shape.rank() as u64 - 1).collect();
        members.indices("compressed_axes", &[axes.len()], true, &[&axes])?;
        members.fill(values)?;
    }
    members.coords("indices", &[count], wide, std::slice::from_ref(columns))?;
    members.indices("indptr", &[offsets.len()], wide, &[offsets])?;
    members.shape(shape)?;
    members.data(values, count)?;
    members.finish()
}

/// Returns whether the layout of scipy supports the tensor: a matrix with a fill of zero.
fn is_scipys(shape: &Shape, values: &dyn FileValues) -> bool {
    shape.rank() == 2 && values.is_fill_zero()
}

/// Returns a text in the form of numpy's `<U`.
fn utf32(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect()
}
