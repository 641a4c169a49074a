//! Reading a `.npy` file.

use std::io::Read;
use std::mem::replace;

#[cfg(feature = "dynamic")]
use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use super::header::Header;
use super::source::BinarySource;
use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::shape::step;
#[cfg(feature = "dynamic")]
use crate::convert::check_ndarray_shape;
use crate::dispatch_dtype;
#[cfg(feature = "dynamic")]
use crate::dynamic::AnyArray;
use crate::dynamic::{AnyTensor, Format, no_such};
use crate::element::Element;
use crate::io::element::FileElement;
use crate::io::finish::without_entries;
use crate::io::options::{EntryOrder, ReadOptions};
use crate::pattern::AnyPattern;
use crate::pattern::CoordLists;
use crate::tensor::Tensor;

/// Reads a `.npy` file as a tensor: elements other than the fill are stored.
pub(crate) fn read(reader: &mut dyn Read, options: &ReadOptions) -> Result<AnyTensor> {
    let mut source = BinarySource::new(reader, "");
    let header = Header::read(&mut source)?;
    let dtype = header.dtype(&source)?;
    let tensor = dispatch_dtype!(dtype, T => match options.only_header {
        true => without_entries::<T>(header.shape.clone(), T::ZERO),
        false => read_dense::<T>(&mut source, &header, options),
    }, else => Err(no_such(dtype)))?;
    if !options.only_header {
        source.end()?;
    }
    options.finish(tensor, Format::Coo, source.bytes())
}

/// Reads a `.npy` file as an array.
#[cfg(feature = "dynamic")]
pub(crate) fn read_array(reader: &mut dyn Read, options: &ReadOptions) -> Result<AnyArray> {
    let mut source = BinarySource::new(reader, "");
    let header = Header::read(&mut source)?;
    let dtype = header.dtype(&source)?;
    options.check_shape(&header.shape)?;
    let array =
        dispatch_dtype!(dtype, T => read_elements::<T>(&mut source, &header, options), else => Err(no_such(dtype)))?;
    source.end()?;
    options.dtype.map_or(Ok(array.clone()), |dtype| array.cast(dtype))
}

#[cfg(feature = "dynamic")]
fn read_elements<T: FileElement>(
    source: &mut BinarySource<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<AnyArray> {
    let count = header.count(source)?;
    check_ndarray_shape(&header.shape)?;
    let width = options.dtype.map_or(size_of::<T>(), |dtype| dispatch_dtype!(dtype, U => size_of::<U>(), else => 0));
    options.check_memory("the array", (count as u128).saturating_mul(width.max(size_of::<T>()) as u128))?;
    let mut elements = Vec::new();
    source.for_each::<T>(count, header.big_endian, |value| Ok(push_up_to(&mut elements, value, count)?))?;
    let shape = IxDyn(&header.shape).set_f(header.fortran_order);
    Ok(ArrayD::from_shape_vec(shape, elements).expect("one element for each position").into())
}

fn read_dense<T: FileElement>(
    source: &mut BinarySource<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<AnyTensor> {
    let unstored = options.fill_in::<T>()?;
    let count = header.count(source)?;
    let width = Width::of_lengths(&header.shape);
    let bytes_each = header.shape.rank() * width.bytes();
    let (mut is_stored, mut values, mut bytes) = (StoredBits::default(), Vec::new(), 0);
    source.for_each::<T>(count, header.big_endian, |value| {
        bytes += size_of::<T>() as u64;
        let stored = !unstored.is_some_and(|unstored| value.same(unstored));
        is_stored.push(stored)?;
        if stored {
            push_up_to(&mut values, value, count)?;
            let ordered = if header.fortran_order { values.len() } else { 0 };
            let besides = is_stored.bytes() + (values.capacity() - values.len() + ordered) * size_of::<T>();
            let budget = options.tensor_budget(bytes, besides as u64);
            options.guard_entries::<T>(values.len(), bytes_each, EntryOrder::Dense, budget)?;
        }
        Ok(())
    })?;
    let (coords, values) = match header.fortran_order {
        true => out_of_fortran_order(header, &is_stored, &values)?,
        false => (coords_in_order(header, &is_stored, values.len())?, values),
    };
    let pattern = AnyPattern::valid_coo(header.shape.clone(), values.len(), width, coords.into_coords());
    Ok(Tensor::from_valid(pattern, values, T::ZERO).into())
}

/// Returns the coordinates of the `nnz` stored elements of a file in row-major order.
fn coords_in_order(header: &Header, is_stored: &StoredBits, nnz: usize) -> Allocated<CoordLists> {
    let mut coords = CoordLists::with_capacity(header.shape.rank(), Width::of_lengths(&header.shape), nnz)?;
    let mut position = vec![0; header.shape.rank()];
    for index in 0..is_stored.count {
        if is_stored.is_set(index) {
            coords.push_all(&position)?;
        }
        step(&mut position, &header.shape);
    }
    Ok(coords)
}

/// Returns the coordinates and the values of the stored elements in row-major order, from a file in column-major order.
fn out_of_fortran_order<T: Copy>(
    header: &Header,
    is_stored: &StoredBits,
    values: &[T],
) -> Allocated<(CoordLists, Vec<T>)> {
    // Strides saturate for the long axes of an array without elements. The strides of such an array are not used.
    let step_over = |stride: &mut usize, &length: &usize| Some(replace(stride, stride.saturating_mul(length)));
    let strides: Vec<usize> = header.shape.iter().scan(1, step_over).collect();
    let before = is_stored.counts()?;
    let mut coords = CoordLists::with_capacity(header.shape.rank(), Width::of_lengths(&header.shape), values.len())?;
    let mut ordered = alloc::with_capacity(values.len())?;
    let mut position = vec![0; header.shape.rank()];
    for _ in 0..is_stored.count {
        let at = position.iter().zip(&strides).map(|(coord, stride)| coord * stride).sum();
        if let Some(entry) = is_stored.entry(at, &before) {
            coords.push_all(&position)?;
            ordered.push(values[entry]);
        }
        step(&mut position, &header.shape);
    }
    Ok((coords, ordered))
}

/// One bit per element of a dense array, set for stored elements. The coordinates are constructed after the stored
/// elements are counted.
#[derive(Default)]
struct StoredBits {
    words: Vec<u64>,
    count: usize,
}

impl StoredBits {
    fn push(&mut self, bit: bool) -> Allocated<()> {
        if self.count.is_multiple_of(64) {
            alloc::push(&mut self.words, 0)?;
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.count % 64);
        }
        self.count += 1;
        Ok(())
    }

    /// Returns the bytes of the bits, including the [`StoredBits::counts`].
    fn bytes(&self) -> usize {
        (self.words.capacity() + self.words.len()) * size_of::<u64>()
    }

    fn is_set(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    /// Returns the number of set bits before each word.
    fn counts(&self) -> Allocated<Vec<usize>> {
        let mut set = 0;
        alloc::collect(self.words.iter().map(|word| {
            set += word.count_ones() as usize;
            set - word.count_ones() as usize
        }))
    }

    /// Returns the number of set bits before the bit `at`, if this bit is set; `before` are the [`StoredBits::counts`].
    fn entry(&self, at: usize, before: &[usize]) -> Option<usize> {
        let before_bit = self.words[at / 64] & ((1 << (at % 64)) - 1);
        self.is_set(at).then(|| before[at / 64] + before_bit.count_ones() as usize)
    }
}

/// Appends to a list of at most `max_len` items. The capacity grows with the items so far, and never exceeds `max_len`.
pub(crate) fn push_up_to<T>(items: &mut Vec<T>, item: T, max_len: usize) -> Allocated<()> {
    alloc::make_room(items, max_len)?;
    items.push(item);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_grows_by_half_and_not_beyond_what_may_come() {
        let (mut items, mut capacities) = (Vec::new(), Vec::new());
        for item in 0..10_000u32 {
            push_up_to(&mut items, item, 10_000).unwrap();
            capacities.push(items.capacity());
        }
        capacities.dedup();
        assert_eq!(capacities, [1024, 2048, 3072, 4608, 6912, 10_000]);
    }
}
