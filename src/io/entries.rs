//! Entries as a text file lists them, and the tensors that they make.

use std::any::Any;
use std::sync::Arc;

use num_complex::Complex;

use crate::coo::CooTensor;
use crate::element::Element;
use crate::error::Result;
use crate::index::Index;
use crate::io::any::AnyTensor;
use crate::io::fields::{Fields, LineResult};
use crate::io::lines::Block;
use crate::io::options::{Order, ReadOptions};
use crate::kernels::sort;
use crate::pattern::CooPattern;
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::triplets::{Duplicates, Triplets};

/// Entries in the order of the file; the arrays grow with the lines, whatever a header declares.
pub(crate) struct Entries<T, I> {
    pub(crate) coords: Vec<Vec<I>>,
    pub(crate) values: Vec<T>,
    /// Whether they increase strictly in row-major order.
    increasing: bool,
}

impl<T: Element, I: Index> Entries<T, I> {
    pub(crate) fn new(rank: usize) -> Self {
        Entries { coords: vec![Vec::new(); rank], values: Vec::new(), increasing: true }
    }

    /// The entries of a block: `parse` pushes the coordinates and the value of each line.
    pub(crate) fn of_block(
        rank: usize,
        block: &mut Block<'_>,
        mut parse: impl FnMut(&mut Self, &mut Fields<'_>) -> LineResult<()>,
    ) -> Self {
        let mut entries = Entries::new(rank);
        let room = block.len() / (4 * (rank + 2));
        entries.coords.iter_mut().for_each(|axis| axis.reserve(room));
        entries.values.reserve(room);
        block.for_each_line(|fields| parse(&mut entries, fields));
        entries.increasing = sort::first_not_increasing(&entries.coords, entries.values.len()).is_none();
        entries
    }

    /// Refuses entries that take more memory than is allowed for so many bytes of text.
    pub(crate) fn check_memory(&self, options: &ReadOptions, bytes: u64) -> Result<()> {
        let limit = options.tensor_room(bytes, 0);
        let order = if self.increasing { Order::Increasing } else { Order::Any };
        options.guard_entries::<T>(self.values.len(), self.coords.len(), order, limit)
    }

    /// Room for exactly so many entries more.
    pub(crate) fn reserve_exact(&mut self, count: usize) {
        self.coords.iter_mut().for_each(|axis| axis.reserve_exact(count));
        self.values.reserve_exact(count);
    }

    /// Reads the coordinates of an entry, counted from 1; `name` says what an axis is called.
    pub(crate) fn push_coords(
        &mut self,
        fields: &mut Fields<'_>,
        shape: &[usize],
        name: impl Fn(usize) -> &'static str,
    ) -> LineResult<()> {
        for (axis, (array, &length)) in self.coords.iter_mut().zip(shape).enumerate() {
            array.push(I::from_usize(fields.index(name(axis), length)?));
        }
        Ok(())
    }

    /// Puts an entry behind the others; where it is out of order, [`unordered`](Entries::unordered) is called as well.
    pub(crate) fn push(&mut self, coords: impl IntoIterator<Item = I>, value: T) {
        self.coords.iter_mut().zip(coords).for_each(|(axis, coord)| axis.push(coord));
        self.values.push(value);
    }

    /// The shortest axes that the entries fit.
    pub(crate) fn least_shape(&self) -> Shape {
        let length = |axis: &Vec<I>| axis.iter().max().map_or(0, |&coord| coord.to_usize() + 1);
        self.coords.iter().map(length).collect()
    }

    /// Gives up the order of the entries.
    pub(crate) fn unordered(&mut self) {
        self.increasing = false;
    }

    /// Makes room at once for all entries that are `declared`, as soon as the `bytes` of text that were read allow it:
    /// arrays that grow step by step are copied each time.
    pub(crate) fn make_room(&mut self, declared: usize, bytes: u64) {
        let entry = (self.coords.len() * size_of::<I>() + size_of::<T>()) as u64;
        let missing = declared.saturating_sub(self.values.len());
        if missing > 0 && (declared as u64).saturating_mul(entry) <= bytes.saturating_mul(16) {
            self.reserve_exact(missing);
        }
    }

    /// Puts the entries of the next block behind these.
    pub(crate) fn append(&mut self, next: &Entries<T, I>) {
        let at = |entries: &Self, entry: usize| entries.coords.iter().map(|axis| axis[entry]).collect::<Vec<I>>();
        if let (Some(last), false) = (self.values.len().checked_sub(1), next.values.is_empty()) {
            self.increasing &= at(self, last) < at(next, 0);
        }
        self.increasing &= next.increasing;
        self.coords.iter_mut().zip(&next.coords).for_each(|(axis, next)| axis.extend_from_slice(next));
        self.values.extend_from_slice(&next.values);
    }

    /// The tensor of these entries.
    pub(crate) fn into_tensor(mut self, shape: Shape, duplicates: Duplicates) -> Result<CooTensor<T, I>> {
        self.coords.iter_mut().for_each(Vec::shrink_to_fit);
        self.values.shrink_to_fit();
        if !self.increasing {
            return Triplets::from_arrays_with_index(shape, self.coords, self.values)?.coalesce(duplicates);
        }
        let coords = self.coords.into_iter().map(Arc::new).collect();
        let pattern = CooPattern::from_valid(shape, self.values.len(), coords);
        Ok(Tensor::from_valid(pattern, self.values, T::ZERO))
    }
}

/// A tensor as a text file holds it: of one of the few types that text has, with coordinates of the caller's.
pub(crate) enum TextTensor<I> {
    Real(CooTensor<f64, I>),
    Integer(CooTensor<i64, I>),
    Unsigned(CooTensor<u64, I>),
    Complex(CooTensor<Complex<f64>, I>),
}

impl<I: Index> TextTensor<I> {
    pub(crate) fn shape(&self) -> &Shape {
        match self {
            TextTensor::Real(tensor) => tensor.shape(),
            TextTensor::Integer(tensor) => tensor.shape(),
            TextTensor::Unsigned(tensor) => tensor.shape(),
            TextTensor::Complex(tensor) => tensor.shape(),
        }
    }

    /// The tensor with elements of type `T`, by a checked conversion; moved where that is its own type.
    pub(crate) fn into_typed<T: Element>(self) -> Result<CooTensor<T, I>> {
        fn cast<V: Element, T: Element, I: Index>(tensor: CooTensor<V, I>) -> Result<CooTensor<T, I>> {
            if T::DTYPE != V::DTYPE {
                return tensor.cast();
            }
            let tensor: Box<dyn Any> = Box::new(tensor);
            Ok(*tensor.downcast().expect("one element type has one name"))
        }
        match self {
            TextTensor::Real(tensor) => cast(tensor),
            TextTensor::Integer(tensor) => cast(tensor),
            TextTensor::Unsigned(tensor) => cast(tensor),
            TextTensor::Complex(tensor) => cast(tensor),
        }
    }
}

impl From<TextTensor<u64>> for AnyTensor {
    fn from(tensor: TextTensor<u64>) -> Self {
        match tensor {
            TextTensor::Real(tensor) => tensor.into(),
            TextTensor::Integer(tensor) => tensor.into(),
            TextTensor::Unsigned(tensor) => tensor.into(),
            TextTensor::Complex(tensor) => tensor.into(),
        }
    }
}
