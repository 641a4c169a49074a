//! Writing an archive, in the layout of scipy where it can hold the tensor, else in that of pydata/sparse.

use std::io::Write;

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::deflate;
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::Shape;
use crate::element::Element;
use crate::io::MOST_AXES;
use crate::io::compression::Compression;
use crate::io::element::FileElement;
use crate::io::npy::{descr_of, write_header, write_values};
use crate::io::options::WriteOptions;
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::tensor::Tensor;

/// From so many bytes on the lengths of a member need 64 bits, whatever becomes of it.
const LARGE: usize = u32::MAX as usize / 2;

/// An archive being written.
struct Members<W: Write> {
    zip: ZipWriter<StreamWriter<W>>,
    method: CompressionMethod,
}

impl<W: Write> Members<W> {
    /// One member: its header, and its elements by `write`.
    fn add(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[usize],
        bytes: usize,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let name = format!("{name}.npy");
        if self.method == CompressionMethod::Deflated && bytes <= deflate::MOST {
            let mut member = deflate::Member::new(name);
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
        self.add(name, descr, &[], text.len(), |zip| Ok(zip.write_all(text)?))
    }

    fn values<T: FileElement>(&mut self, name: &str, shape: &[usize], values: &[T]) -> Result<()> {
        let descr = descr_of::<T>()?;
        self.add(name, &descr, shape, size_of_val(values), |zip| write_values(zip, values.iter().copied()))
    }

    /// Indices of the width given: int32 or int64.
    fn indices<'a, I: Index>(
        &mut self,
        name: &str,
        shape: &[usize],
        wide: bool,
        indices: impl Iterator<Item = &'a I>,
    ) -> Result<()> {
        let bytes = shape.iter().product::<usize>().saturating_mul(if wide { 8 } else { 4 });
        match wide {
            true => self.add(name, "<i8", shape, bytes, |zip| write_values(zip, indices.map(|&i| i.to_usize() as i64))),
            false => {
                self.add(name, "<i4", shape, bytes, |zip| write_values(zip, indices.map(|&i| i.to_usize() as i32)))
            }
        }
    }

    /// The shape, always int64.
    fn shape(&mut self, shape: &Shape) -> Result<()> {
        let lengths: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
        self.indices("shape", &[shape.rank()], true, lengths.iter())
    }
}

impl<W: Write> Members<W> {
    fn new(writer: W, options: &WriteOptions) -> Self {
        let method = match options.compression {
            Compression::None => CompressionMethod::Stored,
            Compression::Usual | Compression::Gzip => CompressionMethod::Deflated,
        };
        Members { zip: ZipWriter::new_stream(writer), method }
    }

    fn finish(self) -> Result<()> {
        self.zip.finish().map_err(std::io::Error::from)?;
        Ok(())
    }
}

/// Refuses what could not be read back: more than [`MOST_AXES`] axes, and lengths above `i64::MAX`, which no index of
/// numpy reaches.
fn check_writable(shape: &Shape) -> Result<()> {
    let rank = shape.rank();
    if rank > MOST_AXES {
        let what = format!("{rank} axes");
        return Err(Error::NotRepresentable { format: ".npz", what, instead: "reshape it to at most 64" });
    }
    match shape.iter().find(|&&length| i64::try_from(length).is_err()) {
        None => Ok(()),
        Some(length) => Err(Error::NotRepresentable {
            format: ".npz",
            what: format!("an axis of length {length}: its indices are int64"),
            instead: "keep it in memory",
        }),
    }
}

/// Whether coordinates or offsets up to `nnz` need int64.
fn needs_wide(shape: &Shape, nnz: usize) -> bool {
    shape.iter().chain([&nnz]).any(|&length| length > i32::MAX as usize)
}

/// Writes an archive: in scipy's layout a matrix with a fill of zero, else in that of pydata/sparse.
pub(crate) fn write_coo<T: FileElement, I: Index>(
    writer: impl Write,
    x: &Tensor<CooPattern<I>, T>,
    options: &WriteOptions,
) -> Result<()> {
    check_writable(x.shape())?;
    let mut members = Members::new(writer, options);
    let wide = needs_wide(x.shape(), 0);
    if is_scipys(x) {
        members.text("format", "|S3", b"coo")?;
        members.indices("row", &[x.nnz()], wide, x.coords(0).iter())?;
        members.indices("col", &[x.nnz()], wide, x.coords(1).iter())?;
    } else {
        members.text("format", "<U3", &utf32("coo"))?;
        let coords = (0..x.rank()).flat_map(|axis| x.coords(axis));
        members.indices("coords", &[x.rank(), x.nnz()], wide, coords)?;
        members.values("fill_value", &[], &[x.fill()])?;
    }
    members.shape(x.shape())?;
    members.values("data", &[x.nnz()], x.values())?;
    members.finish()
}

/// Writes an archive as [`write_coo`] does; a tensor of less than two axes as COO.
pub(crate) fn write_csr<T: FileElement, I: Index>(
    writer: impl Write,
    x: &Tensor<CsrPattern<I>, T>,
    options: &WriteOptions,
) -> Result<()> {
    if x.rank() < 2 {
        return write_coo(writer, &x.to_coo()?, options);
    }
    check_writable(x.shape())?;
    let mut members = Members::new(writer, options);
    let wide = needs_wide(x.shape(), x.nnz());
    if is_scipys(x) {
        members.text("format", "|S3", b"csr")?;
    } else {
        members.text("format", "<U4", &utf32("gcxs"))?;
        let axes: Vec<u64> = (0..x.rank() as u64 - 1).collect();
        members.indices("compressed_axes", &[axes.len()], true, axes.iter())?;
        members.values("fill_value", &[], &[x.fill()])?;
    }
    members.indices("indices", &[x.nnz()], wide, x.columns().iter())?;
    members.indices("indptr", &[x.offsets().len()], wide, x.offsets().iter())?;
    members.shape(x.shape())?;
    members.values("data", &[x.nnz()], x.values())?;
    members.finish()
}

/// Whether scipy's layout can hold it: a matrix whose gaps are zeros.
fn is_scipys<P: Pattern, T: Element>(x: &Tensor<P, T>) -> bool {
    x.rank() == 2 && x.fill().same(T::ZERO)
}

/// A text as numpy's `<U` has it.
fn utf32(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect()
}
