//! Values without their type for the writers of files, so that a writer is compiled once for all types.

use std::ops::Range;

use crate::element::{DType, Number};
use crate::io::element::FileElement;
use crate::tensor::erased::SparseRef;

/// The values of a tensor, and its fill.
pub(crate) trait FileValues: Sync {
    fn dtype(&self) -> DType;

    /// Returns the kind in a `.npy` header, if numpy has the type.
    fn npy_kind(&self) -> Option<char>;

    /// Returns the bytes of a value.
    fn width(&self) -> usize;

    fn fill(&self) -> Number;

    /// Returns whether the fill is the zero that files imply at unstored positions; -0.0 is not.
    fn is_fill_zero(&self) -> bool;

    /// Appends the text of an entry in a text file.
    fn print_entry(&self, entry: usize, text: &mut Vec<u8>);

    /// Appends the bytes of the values of some entries, each in little-endian order.
    fn append_bytes(&self, entries: Range<usize>, bytes: &mut Vec<u8>);

    /// Appends the bytes of the fill.
    fn append_fill(&self, bytes: &mut Vec<u8>);
}

struct TypedValues<'a, T> {
    values: &'a [T],
    fill: T,
}

/// Returns the values of a tensor without their type.
pub(crate) fn values_of<T: FileElement>(x: SparseRef<'_, T>) -> impl FileValues {
    TypedValues { values: x.values(), fill: x.fill() }
}

/// Returns the elements of an array without their type. Unstored positions of files are zeros.
pub(crate) fn values_of_slice<T: FileElement>(values: &[T]) -> impl FileValues + use<'_, T> {
    TypedValues { values, fill: T::ZERO }
}

impl<T: FileElement> FileValues for TypedValues<'_, T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn npy_kind(&self) -> Option<char> {
        T::NPY_KIND
    }

    fn width(&self) -> usize {
        size_of::<T>()
    }

    fn fill(&self) -> Number {
        self.fill.to_number()
    }

    fn is_fill_zero(&self) -> bool {
        self.fill.same(T::ZERO)
    }

    fn print_entry(&self, entry: usize, text: &mut Vec<u8>) {
        self.values[entry].print_entry(text);
    }

    fn append_bytes(&self, entries: Range<usize>, bytes: &mut Vec<u8>) {
        for value in &self.values[entries] {
            value.to_bytes(bytes);
        }
    }

    fn append_fill(&self, bytes: &mut Vec<u8>) {
        self.fill.to_bytes(bytes);
    }
}
