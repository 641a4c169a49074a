//! Selections: the pattern of a result, and the source of each entry.

use std::ops::Range;

use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::element::{Element, RawSlice, RawVec, by_raw};
use crate::kernels::gather::{Plain, gather, gather_runs};
use crate::pattern::{AnyPattern, AxisCoords, by_width};

/// The plan of a selection.
pub(crate) struct Selected {
    pub(crate) pattern: AnyPattern,
    pub(crate) sources: Sources,
}

/// The source entry of each entry of a result. Entries of several operands are numbered consecutively.
#[derive(Debug, Clone)]
pub(crate) enum Sources {
    /// All entries, in order; values are shared.
    Same,
    /// The entries of a range, in order; values are shared as a slice.
    Range(Range<usize>),
    /// Runs of consecutive entries: the start of each run, and the offsets of the runs in the result.
    Runs(Vec<usize>, Buffer<usize>),
    /// A list of entries.
    List(Vec<usize>),
}

impl Sources {
    /// Returns the sources for a range of `count` entries.
    pub(crate) fn range(range: Range<usize>, count: usize) -> Self {
        if range == (0..count) { Sources::Same } else { Sources::Range(range) }
    }

    /// Returns the number of selected entries, out of `count`.
    pub(crate) fn len(&self, count: usize) -> usize {
        match self {
            Sources::Same => count,
            Sources::Range(range) => range.len(),
            Sources::Runs(_, ends) => ends.last().copied().unwrap_or(0),
            Sources::List(list) => list.len(),
        }
    }

    /// Returns the items of the selected entries.
    pub(crate) fn of<T: Plain>(&self, items: &Buffer<T>) -> Allocated<Buffer<T>> {
        self.shared(items).map_or_else(|| self.gathered(items).map(Buffer::from), Ok)
    }

    /// Returns the values of the selected entries, moved as bits.
    pub(crate) fn of_values<T: Element>(&self, values: &Buffer<T>) -> Allocated<Buffer<T>> {
        let gathered = || self.gathered_raw(T::raw(values)).map(T::from_raw);
        self.shared(values).map_or_else(|| gathered().map(Buffer::from), Ok)
    }

    /// Returns the items without a copy, for contiguous entries in order.
    fn shared<T>(&self, items: &Buffer<T>) -> Option<Buffer<T>> {
        match self {
            Sources::Same => Some(items.clone()),
            Sources::Range(range) => Some(items.slice(range.clone())),
            _ => None,
        }
    }

    fn gathered<T: Plain>(&self, items: &[T]) -> Allocated<Vec<T>> {
        match self {
            Sources::Same => alloc::collect(items.iter().copied()),
            Sources::Range(range) => alloc::collect(items[range.clone()].iter().copied()),
            Sources::Runs(starts, ends) => gather_runs(items, starts, ends),
            Sources::List(list) => gather(items, list),
        }
    }

    fn gathered_raw(&self, values: RawSlice<'_>) -> Allocated<RawVec> {
        by_raw!(values, own => self.gathered(own).map(RawVec::from))
    }

    /// Returns the coordinates of the selected entries.
    pub(crate) fn of_coords(&self, coords: &AxisCoords) -> Allocated<AxisCoords> {
        by_width!(coords, own => self.of(own).map(AxisCoords::from))
    }

    /// Returns the selected entries as a list, out of `count` entries.
    pub(crate) fn into_list(self, count: usize) -> Allocated<Vec<usize>> {
        match self {
            Sources::Same => alloc::collect(0..count),
            Sources::Range(range) => alloc::collect(range),
            Sources::List(list) => Ok(list),
            Sources::Runs(starts, ends) => {
                let mut list = alloc::with_capacity(ends.last().copied().unwrap_or(0))?;
                let lengths = ends.windows(2).map(|ends| ends[1] - ends[0]);
                starts.iter().zip(lengths).for_each(|(&start, length)| list.extend(start..start + length));
                Ok(list)
            }
        }
    }

    /// Returns the composition: the sources, out of `count` entries, of the entries that `later` selects from this
    /// selection.
    fn then(self, later: Sources, count: usize) -> Allocated<Sources> {
        Ok(match (self, later) {
            (sources, Sources::Same) | (Sources::Same, sources) => sources,
            (Sources::Range(first), Sources::Range(then)) => {
                Sources::Range(first.start + then.start..first.start + then.end)
            }
            (Sources::Range(first), Sources::Runs(mut starts, ends)) => {
                starts.iter_mut().for_each(|start| *start += first.start);
                Sources::Runs(starts, ends)
            }
            (Sources::Range(first), Sources::List(mut list)) => {
                list.iter_mut().for_each(|entry| *entry += first.start);
                Sources::List(list)
            }
            (sources, later) => Sources::List(later.of(&sources.into_list(count)?.into())?.into_vec()?),
        })
    }
}

impl Selected {
    /// Returns the selection of all entries, with another pattern.
    pub(crate) fn same(pattern: AnyPattern) -> Self {
        Selected { pattern, sources: Sources::Same }
    }

    /// Returns the selection composed with `sources`, which select among `count` entries.
    pub(crate) fn then_of(self, sources: Sources, count: usize) -> Result<Self> {
        Ok(Selected { pattern: self.pattern, sources: sources.then(self.sources, count)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the composition of each form of sources with each form.
    #[test]
    fn a_choice_of_a_choice_is_a_choice() {
        let items: Buffer<usize> = (100..130).collect::<Vec<_>>().into();
        let choices = |range| {
            [
                Sources::Same,
                Sources::Range(range),
                Sources::Runs(vec![4, 0, 1], vec![0, 2, 5, 6].into()),
                Sources::List(vec![3, 3, 0, 2, 1, 5]),
            ]
        };
        for first in choices(2..9) {
            for later in choices(1..5) {
                let expected = later.of(&first.of(&items).unwrap()).unwrap();
                let both = first.clone().then(later, items.len()).unwrap();
                assert_eq!(both.of(&items).unwrap(), expected);
                assert_eq!(*gather(&items, &both.into_list(items.len()).unwrap()).unwrap(), *expected);
            }
        }
    }
}
