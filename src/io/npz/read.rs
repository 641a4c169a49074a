//! Reading an archive: its layout, its entries, and the tensor of these entries.

use std::io::{Cursor, Read, Seek};

use super::archive::{Archive, at_member, rejection};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width};
use crate::base::shape::{Shape, saturating_product, step};
use crate::dispatch_dtype;
use crate::dynamic::{AnyTensor, Format, no_such};
use crate::element::Element;
use crate::io::element::FileElement;
use crate::io::fields::quote;
use crate::io::finish::without_entries;
use crate::io::limits::MAX_AXES;
use crate::io::options::ReadOptions;
use crate::pattern::{AnyPattern, AxisCoords, by_width, of_width};
use crate::tensor::Tensor;
use crate::tensor::triplets::Unsorted;

/// The positions of the entries, as the layout of the archive stores them.
enum EntryPositions {
    /// An array of coordinates per axis, in any order, and the number of entries. This number is needed for rank 0,
    /// without arrays.
    Coords { coords: Vec<AxisCoords>, nnz: usize },
    /// The offsets of the lanes and strictly increasing columns: the CSR format of lacuna.
    Lanes { offsets: Vec<usize>, columns: AxisCoords },
    /// Offsets over the axes `compressed`, and indices that are linear over the other axes.
    Compressed { compressed: Vec<usize>, offsets: Vec<usize>, indices: AxisCoords },
}

impl EntryPositions {
    fn nnz(&self) -> usize {
        match self {
            EntryPositions::Coords { nnz, .. } => *nnz,
            EntryPositions::Lanes { columns, .. } => columns.len(),
            EntryPositions::Compressed { indices, .. } => indices.len(),
        }
    }
}

/// Returns whether bytes are the beginning of an archive, or of a member.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Returns the error for a file whose first bytes contain no signature of an archive. Other data may precede an
/// archive.
fn no_sign_of(head: &[u8]) -> Option<Error> {
    let holds_sign = (0..head.len()).any(|at| is_archive(&head[at..]));
    (!holds_sign)
        .then(|| rejection(format!("its first {} bytes do not have the signature of a zip archive", head.len())))
}

/// Reads an archive from a file whose first bytes are `head`.
pub(crate) fn read_file(head: &[u8], mut reader: impl Read + Seek, options: &ReadOptions) -> Result<AnyTensor> {
    let mut archive = Archive::open(&mut reader, 0, options).map_err(|error| match (&error, no_sign_of(head)) {
        (Error::Format { .. }, Some(no_sign)) => no_sign,
        _ => error,
    })?;
    read(&mut archive, options)
}

/// Reads an archive from a stream whose first bytes are `head`. The stream is first read to its end, because the
/// directory is at the end.
pub(crate) fn read_stream(head: &[u8], reader: &mut dyn Read, options: &ReadOptions) -> Result<AnyTensor> {
    // A stream may be infinite, so a stream without a signature is rejected early.
    if let Some(error) = no_sign_of(head) {
        return Err(error);
    }
    let mut bytes = Vec::new();
    let max_memory = options.max_memory.unwrap_or(u64::MAX);
    reader.take(max_memory.saturating_add(1)).read_to_end(&mut bytes)?;
    options.check_memory("the archive", bytes.len() as u128)?;
    bytes.shrink_to_fit();
    let held = bytes.len() as u64;
    read(&mut Archive::open(&mut Cursor::new(bytes), held, options)?, options)
}

fn read(archive: &mut Archive<'_>, options: &ReadOptions) -> Result<AnyTensor> {
    let layout = archive.layout()?;
    let shape = read_shape(archive)?;
    let (places, own_format) = match &layout[..] {
        b"coo" if options.only_header => (None, Format::Coo),
        b"csr" | b"csc" | b"gcxs" if options.only_header => (None, Format::Csr),
        b"coo" => (Some(read_coords(archive, &shape)?), Format::Coo),
        b"csr" | b"csc" | b"gcxs" => (Some(read_compressed(archive, &layout, &shape)?), Format::Csr),
        other => {
            let message = format!("`{}` is not one of csr, csc, coo, gcxs", quote(other));
            return Err(at_member("format", message));
        }
    };
    let fill = archive.fill()?;
    if fill.is_none() && options.fill.is_none() && names_its_fill(archive, &layout) {
        return Err(at_member("fill_value", "is missing; set the value of unstored positions with --fill"));
    }
    if let (Some(fill), Some(asked)) = (&fill, &options.fill) {
        let message = format!("the file has the fill {}, not the requested fill `{asked}`", fill.number);
        return Err(at_member("fill_value", message));
    }
    let (dtype, declared) = archive.data()?;
    if let Some(places) = &places {
        check_declared(declared, places.nnz())?;
    }
    let tensor = dispatch_dtype!(dtype, T => {
        let fill = fill.map_or(Ok(T::ZERO), |fill| fill.typed())?;
        match places {
            None => without_entries(shape, fill),
            Some(places) => read_tensor::<T>(archive, shape, places, fill, options),
        }
    }, else => Err(no_such(dtype)))?;
    options.finish(tensor, own_format, archive.inflated)
}

/// Returns whether an archive of this layout has its own fill, as archives of pydata/sparse do. The fill of scipy is 0.
/// scipy COO arrays that are not matrices have both `coords` and `_is_array`.
fn names_its_fill(archive: &Archive<'_>, layout: &[u8]) -> bool {
    layout == b"gcxs" || (archive.has("coords") && !archive.has("_is_array"))
}

fn read_shape(archive: &mut Archive<'_>) -> Result<Shape> {
    let lengths = archive.numbers("shape")?;
    if lengths.len() > MAX_AXES {
        return Err(at_member("shape", format!("{} axes are more than {MAX_AXES}", lengths.len())));
    }
    let fits = |&length: &u64| usize::try_from(length).map_err(|_| at_member("shape", format!("{length} is too long")));
    lengths.iter().map(fits).collect()
}

/// Reads coordinates: one member with a row per axis, or the members `row` and `col` of scipy.
fn read_coords(archive: &mut Archive<'_>, shape: &Shape) -> Result<EntryPositions> {
    let width = Width::of_lengths(shape);
    if !archive.has("coords") {
        check_matrix(shape)?;
        let coords = vec![archive.list("row", width)?, archive.list("col", width)?];
        return Ok(EntryPositions::Coords { nnz: coords[0].len(), coords });
    }
    let (_, declared) = archive.data()?;
    let mut nnz = 0;
    let coords = archive.counts("coords", width, |found| {
        if found.rank() != 2 || found[0] != shape.rank() {
            let message = format!("its shape {found} does not fit the coordinates of shape {shape}");
            return Err(at_member("coords", message));
        }
        nnz = found[1];
        check_declared(declared, nnz).map(|()| shape.rank())
    })?;
    Ok(EntryPositions::Coords { coords: coords.into_coords(), nnz })
}

/// Rejects data whose length differs from the number of positions, before the data are read.
fn check_declared(declared: usize, places: usize) -> Result<()> {
    if declared == places {
        return Ok(());
    }
    Err(at_member("data", format!("{declared} elements for {places} positions")))
}

/// Rejects the matrix layouts of scipy for another rank.
fn check_matrix(shape: &Shape) -> Result<()> {
    match shape.rank() {
        2 => Ok(()),
        rank => Err(at_member("shape", format!("a matrix must have two axes, found {rank}"))),
    }
}

/// Reads offsets and indices, compressed along any axes.
fn read_compressed(archive: &mut Archive<'_>, layout: &[u8], shape: &Shape) -> Result<EntryPositions> {
    let compressed = compressed_axes(archive, layout, shape)?;
    let indices = archive.list("indices", Width::of_lengths(shape))?;
    let offsets = read_offsets(archive, compressed.iter().map(|&axis| shape[axis]).collect(), indices.len())?;
    let own = compressed.iter().copied().eq(0..shape.rank().saturating_sub(1));
    let increase = || {
        by_width!(&indices, own => {
            offsets.windows(2).all(|pair| own[pair[0]..pair[1]].is_sorted_by(|a, b| a < b))
        })
    };
    if own && increase() {
        return Ok(EntryPositions::Lanes { offsets, columns: indices });
    }
    Ok(EntryPositions::Compressed { compressed, offsets, indices })
}

/// Returns the axes that the offsets run over.
fn compressed_axes(archive: &mut Archive<'_>, layout: &[u8], shape: &Shape) -> Result<Vec<usize>> {
    match layout {
        // scipy compresses a vector as one row.
        b"csr" if shape.rank() == 1 => Ok(Vec::new()),
        b"csr" => check_matrix(shape).map(|()| vec![0]),
        b"csc" => check_matrix(shape).map(|()| vec![1]),
        _ => {
            let axes: Vec<usize> = archive.numbers("compressed_axes")?.into_iter().map(|axis| axis as usize).collect();
            let repeated = |at: usize| axes[..at].contains(&axes[at]);
            match (0..axes.len()).find(|&at| axes[at] >= shape.rank() || repeated(at)) {
                None => Ok(axes),
                Some(at) => {
                    let message = format!("axis {} is repeated or out of range for rank {}", axes[at], shape.rank());
                    Err(at_member("compressed_axes", message))
                }
            }
        }
    }
}

/// Reads the offsets of lanes with the given lengths. There is one offset more than lanes, and the offsets run from 0
/// to `nnz` without decreasing.
fn read_offsets(archive: &mut Archive<'_>, lengths: Vec<usize>, nnz: usize) -> Result<Vec<usize>> {
    let offsets: Vec<usize> = archive.numbers("indptr")?.into_iter().map(|offset| offset as usize).collect();
    let lanes = saturating_product(&lengths);
    if offsets.len() as u128 != lanes.saturating_add(1) {
        return Err(at_member("indptr", format!("{} offsets do not fit {lanes} lanes", offsets.len())));
    }
    if let Some(lane) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(at_member("indptr", format!("the offsets decrease after element {lane}, {}", offsets[lane])));
    }
    if offsets[0] != 0 || offsets[offsets.len() - 1] != nnz {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        return Err(at_member("indptr", format!("the offsets run from {first} to {last}, not from 0 to {nnz}")));
    }
    Ok(offsets)
}

/// Returns the coordinates of entries that are compressed over some axes and linear over the other axes.
fn expand(shape: &Shape, compressed: &[usize], offsets: &[usize], indices: &AxisCoords) -> Result<Vec<AxisCoords>> {
    by_width!(indices, own => of_width!(Width::of_lengths(shape), I => {
        Ok(expanded::<_, I>(shape, compressed, offsets, own)?.into_iter().map(AxisCoords::from).collect())
    }))
}

fn expanded<I: Index, J: Index>(
    shape: &Shape,
    compressed: &[usize],
    offsets: &[usize],
    indices: &[I],
) -> Result<Vec<Vec<J>>> {
    let rest: Vec<usize> = (0..shape.rank()).filter(|axis| !compressed.contains(axis)).collect();
    let lengths: Vec<usize> = compressed.iter().map(|&axis| shape[axis]).collect();
    let mut coords = shape.iter().map(|_| alloc::zeros(indices.len())).collect::<Allocated<Vec<Vec<J>>>>()?;
    let mut lane = vec![0; lengths.len()];
    for pair in offsets.windows(2) {
        for entry in pair[0]..pair[1] {
            compressed.iter().zip(&lane).for_each(|(&axis, &coord)| coords[axis][entry] = J::from_usize(coord));
            let mut index = indices[entry].to_usize();
            for &axis in rest.iter().rev() {
                let length = shape[axis].max(1);
                coords[axis][entry] = J::from_usize(index % length);
                index /= length;
            }
            if index > 0 {
                let message =
                    format!("element {entry}: {} is out of bounds for shape {shape}", indices[entry].to_usize());
                return Err(at_member("indices", message));
            }
        }
        step(&mut lane, &lengths);
    }
    Ok(coords)
}

/// Reads the values and constructs the tensor.
fn read_tensor<T: FileElement>(
    archive: &mut Archive<'_>,
    shape: Shape,
    places: EntryPositions,
    fill: T,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let values = archive.values::<T>("data")?;
    if !matches!(places, EntryPositions::Lanes { .. }) {
        archive.guard_entries::<T>(values.len(), &shape, options)?;
    }
    let (coords, name) = match places {
        EntryPositions::Lanes { offsets, columns } => {
            return Ok(Tensor::from_parts(lanes(shape, offsets, &columns)?, values, fill)?.into());
        }
        EntryPositions::Coords { coords, .. } => (coords, None),
        EntryPositions::Compressed { compressed, offsets, indices } => {
            (expand(&shape, &compressed, &offsets, &indices)?, Some("indices"))
        }
    };
    let at_coords = |error| at_member(name.unwrap_or_else(|| coords_member(archive, &error)), error.to_string());
    let listed = Unsorted::new(shape, coords, values, fill).map_err(at_coords)?;
    Ok(listed.coalesce(options.duplicates)?.into())
}

/// Returns the pattern of entries in the CSR format of lacuna.
fn lanes(shape: Shape, offsets: Vec<usize>, columns: &AxisCoords) -> Result<AnyPattern> {
    let columns = columns.in_width(columns.width().max(Width::of_lengths(&shape)))?;
    AnyPattern::csr(shape, offsets.into(), columns).map_err(|error| at_member("indices", error.to_string()))
}

/// Returns the member that has an invalid coordinate.
fn coords_member(archive: &Archive<'_>, error: &Error) -> &'static str {
    match error {
        Error::IndexOutOfBounds { axis: 0, .. } if archive.has("row") => "row",
        Error::IndexOutOfBounds { axis: 1, .. } if archive.has("col") => "col",
        _ => "coords",
    }
}
