//! The entries that a reduction reads, and the fill of its result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::rejection;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Index;
use crate::base::shape::saturating_product;
use crate::element::Element;
use crate::kernels::group::{Groups, Unstored};
use crate::kernels::op::{FailedGroup, Outcome};
use crate::ops::operand::SparseOperand;
#[cfg(feature = "lazy")]
use crate::ops::operand::ValueStream;
use crate::pattern::{AnyPattern, by_width};
use crate::plan::group::{extents_of, labels_of, with_labels};
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// The input that a reduction reads from a sparse tensor.
pub(crate) struct Entries<'a, T> {
    pub(crate) pattern: &'a AnyPattern,
    pub(crate) values: &'a [T],
    /// The value of all other positions; `None` if unstored positions do not count.
    pub(crate) fill: Option<T>,
    /// The source of the values, if they are not stored; only folds and holistic reductions accept it.
    #[cfg(feature = "lazy")]
    pub(crate) stream: Option<ValueStream<'a, T>>,
}

impl<'a, T: Element> Entries<'a, T> {
    /// Returns the entries of an operand.
    pub(in crate::ops) fn of(x: &'a SparseOperand<'_, T>) -> Self {
        let tensor = x.sparse();
        Entries {
            pattern: tensor.pattern(),
            values: tensor.values(),
            fill: x.implicit(),
            #[cfg(feature = "lazy")]
            stream: x.stream,
        }
    }
}

impl<T: Element> Entries<'_, T> {
    pub(super) fn unstored(&self, reduction: &Reduction) -> Unstored<T> {
        Unstored { fill: self.fill, extent: reduction.extent() }
    }

    /// Returns the maximum number of entries. The pattern does not determine this number if values arrive in any order.
    pub(super) fn max_entries(&self) -> u128 {
        #[cfg(feature = "lazy")]
        if self.stream.is_some_and(|stream| stream.values.is_streamed()) {
            return u128::MAX;
        }
        self.pattern.nnz() as u128
    }

    /// Returns the number of positions of the groups with each label, if it makes a difference.
    pub(super) fn extents(&self, reduction: &Reduction) -> Allocated<Option<Vec<u128>>> {
        if self.fill.is_some() { reduction.extents() } else { Ok(None) }
    }
}

/// The fill of the result of a reduction, which matters only if an output element holds it.
pub(super) struct Fill<'a, U> {
    operation: &'static str,
    reduction: &'a Reduction,
    cells: u128,
    result: Outcome<U>,
    /// The number of positions of the groups with each label, if they differ; `of` computes the result of a number of
    /// unstored positions.
    extents: Option<&'a [u128]>,
    of: &'a dyn Fn(u128) -> Outcome<U>,
}

impl<'a, U: Copy + Debug> Fill<'a, U> {
    /// Returns the fill for at most `entries` entries. Rejects at once a missing fill that an output element must hold.
    pub(super) fn new(
        operation: &'static str,
        reduction: &'a Reduction,
        entries: u128,
        extents: Option<&'a [u128]>,
        of: &'a dyn Fn(u128) -> Outcome<U>,
    ) -> Result<Self> {
        let cells = saturating_product(reduction.kept_lengths());
        match of(reduction.extent()) {
            Err(fault) if extents.is_none() && cells > entries => Err(rejection(operation, fault, reduction, None)),
            result => Ok(Fill { operation, reduction, cells, result, extents, of }),
        }
    }

    /// Returns the result, from the output elements that hold an entry. The output elements of unused labels are stored
    /// too, unless unstored positions have the same result for every label.
    pub(super) fn complete(self, pattern: AnyPattern, values: Vec<U>, unseen: U) -> Result<Erased<U>> {
        let unused = self.unused()?;
        let fill = self.fill_for(&pattern, unseen)?;
        let Some((labels, nothing)) = unused else { return Ok(Tensor::assemble(pattern, values, fill)) };
        let (pattern, order) = with_labels(&pattern, self.reduction, &labels, size_of::<U>())?;
        let stored = values.len();
        let value = |&cell: &usize| if cell < stored { values[cell] } else { nothing };
        Ok(Tensor::assemble(pattern, alloc::collect(order.iter().map(value))?, fill))
    }

    /// Returns the unused labels and the result there, unless unstored positions have this result for all other labels.
    fn unused(&self) -> Result<Option<(Vec<usize>, U)>> {
        let Some(extents) = self.extents else { return Ok(None) };
        let labels = alloc::collect_some((0..extents.len()).filter(|&label| extents[label] == 0))?;
        if labels.is_empty() || self.cells == 0 {
            return Ok(None);
        }
        let rejection = |fault| rejection(self.operation, fault, self.reduction, None);
        let nothing = (self.of)(0).map_err(rejection)?;
        let is_same = self.of_all(extents).is_some_and(|all| is_same(all, nothing));
        Ok((!is_same).then_some((labels, nothing)))
    }

    /// Returns the fill for the unstored output elements. If no output element holds the fill, returns the value that
    /// such an element would hold. A chunk of a tensor therefore has the fill of the entire tensor. Returns `unseen` if
    /// this value does not exist.
    fn fill_for(&self, stored: &AnyPattern, unseen: U) -> Result<U> {
        if let Some(extents) = self.extents {
            return Ok(self.of_labels(extents, stored)?.or_else(|| self.of_all(extents)).unwrap_or(unseen));
        }
        match self.result {
            Err(fault) if self.cells > stored.nnz() as u128 => {
                Err(rejection(self.operation, fault, self.reduction, None))
            }
            result => Ok(result.unwrap_or(unseen)),
        }
    }

    /// Returns the value of all unstored output elements, if it is the same for all labels in use.
    fn of_labels(&self, extents: &[u128], stored: &AnyPattern) -> Result<Option<U>> {
        let mut first: Option<(usize, U)> = None;
        for label in labels_with_unstored(self.reduction, extents, stored)? {
            let rejection = |fault| rejection(self.operation, fault, self.reduction, None);
            let found = (self.of)(extents[label]).map_err(rejection)?;
            let (at, expected) = *first.get_or_insert((label, found));
            if !is_same(expected, found) {
                let [expected, found] = [expected, found].map(|fill| format!("{fill:?}"));
                let [first, at] = [at, label].map(|label| place_of(self.reduction, label));
                return Err(Error::FillVaries { operation: self.operation, expected, first, found, at });
            }
        }
        Ok(first.map(|(_, found)| found))
    }

    /// Returns the result of unstored positions, if it is the same for each number of them.
    fn of_all(&self, extents: &[u128]) -> Option<U> {
        let extents: BTreeSet<_> = extents.iter().filter(|&&extent| extent > 0).collect();
        let mut results = extents.into_iter().map(|&extent| (self.of)(extent).ok());
        let first = results.next()??;
        results.all(|found| found.is_some_and(|found| is_same(found, first))).then_some(first)
    }
}

/// Returns whether two results are one value. The debug strings distinguish signs of zero, but not NaNs.
fn is_same<U: Debug>(a: U, b: U) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// Returns the first label for each number of positions, among labels in use with an unstored output element.
fn labels_with_unstored(reduction: &Reduction, extents: &[u128], stored: &AnyPattern) -> Allocated<Vec<usize>> {
    let place = reduction.place_of_labels().unwrap_or(0);
    let others = reduction.kept_lengths().iter().enumerate().filter(|(at, _)| *at != place);
    let cells = saturating_product(others.map(|(_, length)| length));
    let mut counts: Vec<usize> = alloc::zeros(extents.len())?;
    by_width!(&labels_of(stored, reduction)?, labels => {
        labels.iter().for_each(|label| counts[label.to_usize()] += 1);
    });
    let mut labels = BTreeMap::new();
    for label in (0..extents.len()).filter(|&label| extents[label] > 0 && cells > counts[label] as u128) {
        labels.entry(extents[label]).or_insert(label);
    }
    let mut labels: Vec<usize> = labels.into_values().collect();
    labels.sort_unstable();
    Ok(labels)
}

/// Returns the output elements with a label as a string.
fn place_of(reduction: &Reduction, label: usize) -> String {
    let place = reduction.place_of_labels();
    let word = |at| if Some(at) == place { label.to_string() } else { "..".into() };
    let words = (0..reduction.kept().len()).map(word);
    format!("[{}]", reduction.result_axes(words, || "0".into()).join(", "))
}

/// Returns the number of positions of each output element, from the number for each label.
pub(super) fn each_extent(
    cells: &AnyPattern,
    reduction: &Reduction,
    extents: Option<&[u128]>,
) -> Allocated<Option<Vec<u128>>> {
    extents.map(|extents| extents_of(cells, reduction, extents)).transpose()
}

/// Returns the error of a group of entries without a result.
pub(super) fn group_error(
    pattern: &AnyPattern,
    operation: &'static str,
    failure: FailedGroup,
    reduction: &Reduction,
    groups: &Groups,
) -> Error {
    let entry = if failure.group < groups.len() { groups.entry(failure.group, 0) } else { 0 };
    entry_error(pattern, operation, FailedGroup { group: entry, ..failure }, reduction)
}

/// Returns the error of the output element that an entry belongs to, which does not have a result.
pub(super) fn entry_error(
    pattern: &AnyPattern,
    operation: &'static str,
    FailedGroup { fault, group: entry }: FailedGroup,
    reduction: &Reduction,
) -> Error {
    let kept = reduction.kept().iter().map(|&axis| reduction.kept_coord(axis, pattern.coord(entry, axis)));
    rejection(operation, fault, reduction, (entry < pattern.nnz()).then(|| kept.collect()))
}
