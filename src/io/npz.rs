//! `.npz`: archives of arrays, in the layouts of scipy.sparse and of pydata/sparse.

use std::any::Any;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::dispatch_dtype;
use crate::element::{DType, Element, Number};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::io::MOST_AXES;
use crate::io::any::{AnyTensor, Format, no_such};
use crate::io::element::FileElement;
use crate::io::fields::quote;
use crate::io::npy::{Header, Kind, Source, descr_of, push_up_to, write_header, write_values};
use crate::io::options::{Compression, Order, ReadOptions, WriteOptions, wrap};
use crate::limit::guard;
use crate::pages::{self, Granted};
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::shape::{Shape, saturating_product, step};
use crate::tensor::Tensor;
use crate::triplets::Triplets;

/// What to do about an archive above its limit.
const TRUSTED: &str = "raise --max-memory (ReadOptions::max_memory) if you trust the file";

/// The error of a member.
fn at_member(name: &str, message: impl Into<String>) -> Error {
    Error::Format { place: format!("member {name}.npy"), message: message.into() }
}

/// An archive whose members may inflate to so many bytes together.
struct Archive<R> {
    zip: ZipArchive<R>,
    limit: u64,
    inflated: u64,
    /// The bytes of the archive that are in memory.
    held: u64,
    /// The bytes of the indices read, which are wider in memory than in the file.
    widened: u64,
}

/// A member being read. The zip crate reads no more of it than it says to have.
struct Counted<'a, R> {
    reader: R,
    inflated: &'a mut u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        *self.inflated += count as u64;
        Ok(count)
    }
}

impl<R: Read + Seek> Archive<R> {
    fn open(mut reader: R, held: u64, options: &ReadOptions) -> Result<Self> {
        let refused = |message: String| Error::Format { place: "the archive".into(), message };
        let bytes = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let zip = ZipArchive::new(reader).map_err(|error| match error {
            ZipError::Io(error) => Error::from(error),
            error => refused(error.to_string()),
        })?;
        if zip.has_duplicate_names() {
            return Err(refused("two of its members have the same name".into()));
        }
        Ok(Archive { zip, limit: options.inflated_limit(bytes), inflated: 0, held, widened: 0 })
    }

    /// Refuses entries whose coordinates, and the sorting of them, take more memory than the bytes read allow.
    fn guard_entries<T>(&self, count: usize, shape: &Shape, options: &ReadOptions) -> Result<()> {
        options.guard_entries::<T>(count, shape.rank(), Order::Any, options.tensor_room(self.inflated, self.held))
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Reads one member: its header, and then what `read` takes of it.
    fn member<U>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Source<Counted<'_, zip::read::ZipFile<'_, R>>>, &Header) -> Result<U>,
    ) -> Result<U> {
        let file = self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => at_member(name, "is missing"),
            error => at_member(name, error.to_string()),
        })?;
        let bytes = self.inflated.saturating_add(file.size());
        guard::<u8>("the inflated archive", bytes.into(), self.limit, TRUSTED)?;
        let counted = Counted { reader: file, inflated: &mut self.inflated };
        let mut source = Source::new(counted, format!("member {name}.npy"));
        let header = Header::read(&mut source)?;
        read(&mut source, &header)
    }

    /// The elements of a member of one axis.
    fn values<T: FileElement>(&mut self, name: &str) -> Result<Vec<T>> {
        self.member(name, |source, header| {
            if header.shape.rank() != 1 {
                return Err(source.error("field shape", format!("{} is not of rank 1", header.shape)));
            }
            let mut values = Vec::new();
            let count = header.count(source)?;
            source.for_each(count, header.big_endian, |value| Ok(push_up_to(&mut values, value, count)?))?;
            source.end()?;
            Ok(values)
        })
    }

    /// The elements of a member of integers that are not negative, in as many rows as `rows` says for its shape.
    fn counts(&mut self, name: &str, rows: impl FnOnce(&Shape) -> Result<usize>) -> Result<Vec<Vec<u64>>> {
        let (limit, before) = (self.limit, self.widened);
        let (counts, widened) = self.member(name, |source, header| {
            let dtype = header.dtype(source)?;
            let rows = rows(&header.shape)?;
            let count = header.count(source)?;
            let widened = before.saturating_add((count as u64).saturating_mul(size_of::<u64>() as u64));
            guard::<u8>("the indices of the archive", widened.into(), limit, TRUSTED)?;
            let counts = dispatch_dtype!(dtype, T => {
                read_counts::<T>(source, header, count, rows)
            }, else => Err(no_such(dtype)))?;
            source.end()?;
            Ok((counts, widened))
        })?;
        self.widened = widened;
        Ok(counts)
    }

    /// The elements of a member of one axis of integers that are not negative.
    fn list(&mut self, name: &str) -> Result<Vec<u64>> {
        let counts = self.counts(name, |shape| match shape.rank() {
            1 => Ok(1),
            _ => Err(at_member(name, format!("its shape {shape} is not of rank 1"))),
        })?;
        Ok(counts.into_iter().next().unwrap_or_default())
    }

    /// The element type of the data, and the number of elements that its header declares.
    fn data(&mut self) -> Result<(DType, usize)> {
        self.member("data", |source, header| Ok((header.dtype(source)?, header.count(source)?)))
    }

    /// The name of the layout, in lower case: what the member `format` says, or what the other members tell.
    fn layout(&mut self) -> Result<String> {
        if self.has("format") {
            return self.text("format");
        }
        let told = [("coords", "coo"), ("row", "coo"), ("compressed_axes", "gcxs")];
        match told.into_iter().find(|(member, _)| self.has(member)) {
            Some((_, layout)) => Ok(layout.into()),
            None => {
                let names: Vec<String> = self.zip.file_names_raw().take(8).map(quote).collect();
                let message = "is missing, and no other member tells the layout; the first members are";
                Err(at_member("format", format!("{message} [{}]", names.join(", "))))
            }
        }
    }

    /// A short text.
    fn text(&mut self, name: &str) -> Result<String> {
        self.member(name, |source, header| {
            let (width, size) = match header.kind {
                Kind::Bytes(count) => (1, count),
                Kind::Unicode(count) => (4, count),
                Kind::Number(dtype) => return Err(source.error("field descr", format!("{dtype} is no text"))),
            };
            if header.shape.saturating_size() != 1 || size > 16 {
                return Err(source.error("field shape", "is not one short text"));
            }
            let mut bytes = Vec::new();
            source.for_each::<u8>(width * size, false, |byte| {
                bytes.push(byte);
                Ok(())
            })?;
            source.end()?;
            let bytes: Vec<u8> = bytes.into_iter().filter(|&byte| byte != 0).collect();
            Ok(String::from_utf8_lossy(&bytes).to_ascii_lowercase())
        })
    }

    /// The fill, where the layout has one.
    fn fill(&mut self) -> Result<Option<Fill>> {
        if !self.has("fill_value") {
            return Ok(None);
        }
        self.member("fill_value", |source, header| {
            let dtype = header.dtype(source)?;
            if header.shape.saturating_size() != 1 {
                return Err(source.error("field shape", format!("{} is not one value", header.shape)));
            }
            dispatch_dtype!(dtype, T => {
                let mut fill = T::ZERO;
                source.for_each::<T>(1, header.big_endian, |value| {
                    fill = value;
                    Ok(())
                })?;
                source.end()?;
                Ok(Some(Fill { number: fill.to_number(), exact: Box::new(fill) }))
            }, else => Err(no_such(dtype)))
        })
    }
}

/// Reads integers that are not negative into so many rows of one length.
fn read_counts<T: FileElement>(
    source: &mut Source<impl Read>,
    header: &Header,
    count: usize,
    rows: usize,
) -> Result<Vec<Vec<u64>>> {
    check_integers::<T>(source, count)?;
    let mut counts = vec![Vec::new(); rows];
    let length = count.checked_div(rows).unwrap_or(0);
    let (mut read, mut row) = (0, 0);
    let mut negative = None;
    source.for_each::<T>(count, header.big_endian, |value| {
        let value = value.to_integer().unwrap_or(-1);
        if value < 0 && negative.is_none() {
            negative = Some((read, value));
        }
        push_up_to(&mut counts[row], u64::try_from(value).unwrap_or(0), length)?;
        read += 1;
        row = match header.fortran_order {
            true => (row + 1) % rows,
            false => row + usize::from(counts[row].len() == length),
        };
        Ok(())
    })?;
    let refused = |(at, value)| Err(source.error(&format!("element {at}"), format!("{value} is negative")));
    negative.map_or(Ok(counts), refused)
}

/// Refuses elements that are no integers. numpy has none in an empty list: the shape of a scalar is an array of float64
/// without elements.
fn check_integers<T: FileElement>(source: &Source<impl Read>, count: usize) -> Result<()> {
    match count > 0 && (T::ZERO.to_integer().is_none() || T::DTYPE == DType::Bool) {
        true => Err(source.error("field descr", format!("{} is no integer type", T::DTYPE))),
        false => Ok(()),
    }
}

/// Where the entries are, as the archive has it.
enum Places {
    /// A coordinate array an axis, in any order, and how many entries there are: without axes no array tells.
    Coords { coords: Vec<Vec<u64>>, nnz: usize },
    /// The offsets of the lanes and strictly increasing columns: our own compressed layout.
    Lanes { offsets: Vec<usize>, columns: Vec<u64> },
    /// Offsets over some axes, `compressed`, and positions that are linear over the others.
    Compressed { compressed: Vec<usize>, offsets: Vec<usize>, indices: Vec<u64> },
}

impl Places {
    fn nnz(&self) -> usize {
        match self {
            Places::Coords { nnz, .. } => *nnz,
            Places::Lanes { columns, .. } => columns.len(),
            Places::Compressed { indices, .. } => indices.len(),
        }
    }
}

/// Whether an archive, or a member of one, begins with these bytes.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads an archive from a stream whose first bytes are `head`; to its end first, because its table stands there.
pub(crate) fn read_stream(head: &[u8], reader: impl Read, options: &ReadOptions) -> Result<AnyTensor> {
    // A stream may have no end: one that is no archive is not waited for.
    if !(0..head.len()).any(|at| is_archive(&head[at..])) {
        let message = format!("its first {} bytes hold no sign of a zip archive", head.len());
        return Err(Error::Format { place: "the archive".into(), message });
    }
    let mut bytes = Vec::new();
    let most = options.max_memory.unwrap_or(u64::MAX);
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    options.check_memory("the archive", bytes.len() as u128)?;
    bytes.shrink_to_fit();
    let held = bytes.len() as u64;
    read(Cursor::new(bytes), held, options)
}

/// Reads an archive, of which `held` bytes are in memory.
pub(crate) fn read(reader: impl Read + Seek, held: u64, options: &ReadOptions) -> Result<AnyTensor> {
    let mut archive = Archive::open(reader, held, options)?;
    let layout = archive.layout()?;
    let shape = read_shape(&mut archive)?;
    let (places, own_format) = match layout.as_str() {
        "coo" => (read_coords(&mut archive, &shape)?, Format::Coo),
        "csr" | "csc" | "gcxs" => (read_compressed(&mut archive, &layout, &shape)?, Format::Csr),
        other => {
            let message = format!("`{}` is not one of csr, csc, coo, gcxs", quote(other.as_bytes()));
            return Err(at_member("format", message));
        }
    };
    let fill = archive.fill()?;
    if let (Some(fill), Some(asked)) = (&fill, &options.fill) {
        let message = format!("the file names its fill, {}; the fill `{asked}` cannot be asked for", fill.number);
        return Err(at_member("fill_value", message));
    }
    let (dtype, declared) = archive.data()?;
    check_declared(declared, places.nnz())?;
    let tensor = dispatch_dtype!(dtype, T => {
        read_tensor::<T>(&mut archive, shape, places, fill, options)
    }, else => Err(no_such(dtype)))?;
    options.finish(tensor, own_format, archive.inflated)
}

fn read_shape<R: Read + Seek>(archive: &mut Archive<R>) -> Result<Shape> {
    let lengths = archive.list("shape")?;
    if lengths.len() > MOST_AXES {
        return Err(at_member("shape", format!("{} axes are more than {MOST_AXES}", lengths.len())));
    }
    let fits = |&length: &u64| usize::try_from(length).map_err(|_| at_member("shape", format!("{length} is too long")));
    lengths.iter().map(fits).collect()
}

/// Coordinates: one member with an axis a row, or scipy's `row` and `col`.
fn read_coords<R: Read + Seek>(archive: &mut Archive<R>, shape: &Shape) -> Result<Places> {
    if !archive.has("coords") {
        check_matrix(shape)?;
        let coords = vec![archive.list("row")?, archive.list("col")?];
        return Ok(Places::Coords { nnz: coords[0].len(), coords });
    }
    let (_, declared) = archive.data()?;
    let mut nnz = 0;
    let coords = archive.counts("coords", |found| {
        if found.rank() != 2 || found[0] != shape.rank() {
            let message = format!("its shape {found} does not give coordinates for shape {shape}");
            return Err(at_member("coords", message));
        }
        nnz = found[1];
        check_declared(declared, nnz).map(|()| shape.rank())
    })?;
    Ok(Places::Coords { coords, nnz })
}

/// Refuses data of another length than there are places, before it is read.
fn check_declared(declared: usize, places: usize) -> Result<()> {
    if declared == places {
        return Ok(());
    }
    Err(at_member("data", format!("{declared} elements for {places} places")))
}

/// Refuses scipy's matrix layouts for another rank.
fn check_matrix(shape: &Shape) -> Result<()> {
    match shape.rank() {
        2 => Ok(()),
        rank => Err(at_member("shape", format!("a matrix has two axes, found {rank}"))),
    }
}

/// Offsets and indices, compressed along any axes.
fn read_compressed<R: Read + Seek>(archive: &mut Archive<R>, layout: &str, shape: &Shape) -> Result<Places> {
    let compressed = compressed_axes(archive, layout, shape)?;
    let indices = archive.list("indices")?;
    let offsets = read_offsets(archive, compressed.iter().map(|&axis| shape[axis]).collect(), indices.len())?;
    let ours = compressed.iter().copied().eq(0..shape.rank().saturating_sub(1));
    let increasing = |pair: &[usize]| indices[pair[0]..pair[1]].is_sorted_by(|a, b| a < b);
    if ours && offsets.windows(2).all(increasing) {
        return Ok(Places::Lanes { offsets, columns: indices });
    }
    Ok(Places::Compressed { compressed, offsets, indices })
}

/// The axes that the offsets run over.
fn compressed_axes<R: Read + Seek>(archive: &mut Archive<R>, layout: &str, shape: &Shape) -> Result<Vec<usize>> {
    match layout {
        "csr" => check_matrix(shape).map(|()| vec![0]),
        "csc" => check_matrix(shape).map(|()| vec![1]),
        _ => {
            let axes: Vec<usize> = archive.list("compressed_axes")?.into_iter().map(|axis| axis as usize).collect();
            let repeated = |at: usize| axes[..at].contains(&axes[at]);
            match (0..axes.len()).find(|&at| axes[at] >= shape.rank() || repeated(at)) {
                None => Ok(axes),
                Some(at) => {
                    let message = format!("axis {} is repeated, or not below the rank {}", axes[at], shape.rank());
                    Err(at_member("compressed_axes", message))
                }
            }
        }
    }
}

/// The offsets of lanes of the lengths given, checked: one more than the lanes, from 0 to `nnz`, never down.
fn read_offsets<R: Read + Seek>(archive: &mut Archive<R>, lengths: Vec<usize>, nnz: usize) -> Result<Vec<usize>> {
    let offsets: Vec<usize> = archive.list("indptr")?.into_iter().map(|offset| offset as usize).collect();
    let lanes = saturating_product(&lengths);
    if offsets.len() as u128 != lanes.saturating_add(1) {
        return Err(at_member("indptr", format!("{} offsets do not belong to {lanes} lanes", offsets.len())));
    }
    if let Some(lane) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(at_member("indptr", format!("it decreases after element {lane}, {}", offsets[lane])));
    }
    if offsets[0] != 0 || offsets[offsets.len() - 1] != nnz {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        return Err(at_member("indptr", format!("it runs from {first} to {last}, not from 0 to {nnz}")));
    }
    Ok(offsets)
}

/// The coordinates of entries that are compressed over some axes and linear over the rest.
fn expand(shape: &Shape, compressed: &[usize], offsets: &[usize], indices: &[u64]) -> Result<Vec<Vec<u64>>> {
    let rest: Vec<usize> = (0..shape.rank()).filter(|axis| !compressed.contains(axis)).collect();
    let lengths: Vec<usize> = compressed.iter().map(|&axis| shape[axis]).collect();
    let mut coords = shape.iter().map(|_| pages::zeros(indices.len())).collect::<Granted<Vec<Vec<u64>>>>()?;
    let mut lane = vec![0; lengths.len()];
    for pair in offsets.windows(2) {
        for entry in pair[0]..pair[1] {
            compressed.iter().zip(&lane).for_each(|(&axis, &coord)| coords[axis][entry] = coord as u64);
            let mut index = indices[entry];
            for &axis in rest.iter().rev() {
                let length = (shape[axis] as u64).max(1);
                coords[axis][entry] = index % length;
                index /= length;
            }
            if index > 0 {
                let message = format!("element {entry}: {} is out of bounds for shape {shape}", indices[entry]);
                return Err(at_member("indices", message));
            }
        }
        step(&mut lane, &lengths);
    }
    Ok(coords)
}

/// The fill of an archive, whose type may be another than that of the data.
struct Fill {
    number: Number,
    /// The element itself: a number has no bits of a NaN but those of `f64`.
    exact: Box<dyn Any>,
}

impl Fill {
    /// The fill as one of the data's type.
    fn typed<T: FileElement>(&self) -> Result<T> {
        let refused = || at_member("fill_value", format!("{} does not fit the data's type, {}", self.number, T::DTYPE));
        self.exact.downcast_ref().copied().or_else(|| T::from_number(self.number)).ok_or_else(refused)
    }
}

/// Reads the values and puts the tensor together.
fn read_tensor<T: FileElement>(
    archive: &mut Archive<impl Read + Seek>,
    shape: Shape,
    places: Places,
    fill: Option<Fill>,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let fill = fill.map_or(Ok(T::ZERO), |fill| fill.typed())?;
    let values = archive.values::<T>("data")?;
    let in_member = |name: &'static str| move |error: Error| at_member(name, error.to_string());
    let (coords, name) = match places {
        Places::Lanes { offsets, columns } => {
            let pattern = CsrPattern::new(shape, offsets, columns).map_err(in_member("indices"))?;
            return Ok(wrap(Tensor::from_parts(pattern, values, fill)?));
        }
        Places::Coords { coords, .. } => {
            archive.guard_entries::<T>(values.len(), &shape, options)?;
            (coords, None)
        }
        Places::Compressed { compressed, offsets, indices } => {
            archive.guard_entries::<T>(values.len(), &shape, options)?;
            (expand(&shape, &compressed, &offsets, &indices)?, Some("indices"))
        }
    };
    let at_coords = |error| at_member(name.unwrap_or_else(|| coords_member(archive, &error)), error.to_string());
    let triplets = Triplets::from_arrays_with_index(shape, coords, values).map_err(at_coords)?;
    Ok(wrap(triplets.with_fill(fill).coalesce(options.duplicates)?))
}

/// The member that a wrong coordinate stands in.
fn coords_member<R: Read + Seek>(archive: &Archive<R>, error: &Error) -> &'static str {
    match error {
        Error::IndexOutOfBounds { axis: 0, .. } if archive.has("row") => "row",
        Error::IndexOutOfBounds { axis: 1, .. } if archive.has("col") => "col",
        _ => "coords",
    }
}

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
        write: impl FnOnce(&mut ZipWriter<StreamWriter<W>>) -> Result<()>,
    ) -> Result<()> {
        let options =
            SimpleFileOptions::default().compression_method(self.method).large_file(bytes >= u32::MAX as usize / 2);
        self.zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::from)?;
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
        let bytes = shape.iter().product::<usize>().saturating_mul(8);
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
        return write_coo(writer, &x.try_to_coo()?, options);
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
