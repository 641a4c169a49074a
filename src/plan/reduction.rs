//! Reductions: the reduced axes and the shape of the result.

use std::sync::Arc;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::labels::{AxisLabels, Grouping};
use crate::base::shape::{Shape, saturating_product};
use crate::pattern::{AnyPattern, AxisCoords};

/// A reduction over some axes of a shape.
#[derive(Clone, PartialEq)]
pub(crate) struct Reduction {
    shape: Shape,
    /// The reduced and the kept axes, in increasing order. An axis with group labels is in both lists: its positions
    /// are reduced, and the result has one position per label.
    reduced: Few<usize>,
    kept: Few<usize>,
    /// The lengths of the kept axes.
    kept_lengths: Few<usize>,
    /// True for each axis that is not kept.
    is_reduced: Few<bool>,
    keep_dims: bool,
    labelled: Option<LabelledAxis>,
}

/// An axis with valid labels.
#[derive(Clone, PartialEq)]
struct LabelledAxis {
    axis: usize,
    labels: Arc<AxisLabels>,
}

impl LabelledAxis {
    fn new(labels: &Arc<AxisLabels>, shape: &Shape) -> Result<Self> {
        let axis = normalize_axis(labels.axis(), shape.rank())?;
        labels.check(shape[axis])?;
        Ok(LabelledAxis { axis, labels: Arc::clone(labels) })
    }
}

impl Reduction {
    pub(crate) fn new(shape: &Shape, axes: &Axes) -> Result<Self> {
        let reduced = axes.normalized(shape.rank())?;
        let mut is_reduced: Few<bool> = shape.iter().map(|_| false).collect();
        reduced.iter().for_each(|&axis| is_reduced[axis] = true);
        let labelled = axes.shared_labels().map(|labels| LabelledAxis::new(labels, shape)).transpose()?;
        let mut result: Few<usize> = shape.iter().copied().collect();
        if let Some(LabelledAxis { axis, labels }) = &labelled {
            is_reduced[*axis] = false;
            result[*axis] = labels.grouping().map_or(0, Grouping::count);
        }
        let kept: Few<usize> = (0..shape.rank()).filter(|&axis| !is_reduced[axis]).collect();
        let kept_lengths = kept.iter().map(|&axis| result[axis]).collect();
        let (shape, keep_dims) = (shape.clone(), axes.keeps_dims());
        Ok(Reduction { shape, reduced, kept, kept_lengths, is_reduced, keep_dims, labelled })
    }

    /// Returns whether no axis is reduced, so that each position is its own group.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.reduced.is_empty()
    }

    /// Returns whether reduced axes remain with length 1.
    pub(crate) fn keeps_dims(&self) -> bool {
        self.keep_dims
    }

    /// Returns the reduced axes, in increasing order.
    pub(crate) fn reduced(&self) -> &[usize] {
        &self.reduced
    }

    /// Returns the axis of the operand with the same positions as an axis of the result; `None` for an axis with
    /// labels.
    pub(crate) fn source_axis(&self, of_result: usize) -> Option<usize> {
        let source = match self.keep_dims {
            true => (self.is_reduced.get(of_result) == Some(&false)).then_some(of_result),
            false => self.kept.get(of_result).copied(),
        };
        source.filter(|&axis| self.labelled_axis() != Some(axis))
    }

    /// Returns the axis of the result for a kept axis.
    pub(crate) fn result_axis(&self, of_operand: usize) -> Option<usize> {
        (0..self.is_reduced.len()).find(|&axis| self.source_axis(axis) == Some(of_operand))
    }

    /// Returns the kept axes, in increasing order.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Returns the lengths of the kept axes.
    pub(crate) fn kept_lengths(&self) -> &[usize] {
        &self.kept_lengths
    }

    /// Returns the number of positions of the largest group; `u128::MAX` if it does not fit in `u128`.
    pub(crate) fn extent(&self) -> u128 {
        match self.grouping() {
            None => self.extent_without_labels(),
            Some(grouping) => {
                let labels = 0..grouping.count();
                labels.map(|label| self.extent_of(grouping, label)).max().unwrap_or(0)
            }
        }
    }

    /// Returns the number of positions on the axes that are entirely reduced.
    fn extent_without_labels(&self) -> u128 {
        saturating_product(self.reduced.iter().filter(|&&axis| self.is_reduced[axis]).map(|&axis| &self.shape[axis]))
    }

    /// Returns the number of positions of each group with a label.
    fn extent_of(&self, grouping: &Grouping, label: usize) -> u128 {
        self.extent_without_labels().saturating_mul(grouping.members(label).len() as u128)
    }

    /// Returns the number of positions of a group for each label, if these numbers differ.
    pub(crate) fn extents(&self) -> Allocated<Option<Vec<u128>>> {
        let Some(grouping) = self.grouping() else { return Ok(None) };
        let extents = alloc::collect((0..grouping.count()).map(|label| self.extent_of(grouping, label)))?;
        Ok(extents.windows(2).any(|pair| pair[0] != pair[1]).then_some(extents))
    }

    /// Returns the group labels of an axis.
    pub(crate) fn grouping(&self) -> Option<&Grouping> {
        self.labelled.as_ref()?.labels.grouping()
    }

    /// Returns the axis with group labels.
    pub(crate) fn labelled_axis(&self) -> Option<usize> {
        self.labelled.as_ref().map(|labelled| labelled.axis)
    }

    /// Returns the group labels of an axis, if the axis has labels.
    fn grouping_of(&self, axis: usize) -> Option<&Grouping> {
        self.grouping().filter(|_| self.labelled_axis() == Some(axis))
    }

    /// Returns the index of the axis with labels among the kept axes.
    pub(crate) fn place_of_labels(&self) -> Option<usize> {
        let axis = self.labelled_axis()?;
        self.kept.iter().position(|&kept| kept == axis)
    }

    /// Returns the coordinate in the result for a coordinate of the operand.
    pub(crate) fn kept_coord(&self, axis: usize, coord: usize) -> usize {
        self.grouping_of(axis).map_or(coord, |grouping| grouping.label(coord))
    }

    /// Returns the coordinates of entries on an axis of the result.
    pub(crate) fn kept_coords(&self, entries: &AnyPattern, axis: usize) -> Allocated<AxisCoords> {
        let (coords, width) = (entries.axis(axis)?, entries.width_for(&self.kept_lengths));
        match self.grouping_of(axis) {
            None => coords.in_width(width),
            Some(grouping) => coords.map(width, 2000, |coord| grouping.label(coord)),
        }
    }

    /// Returns the row-major position of an element within its group; `coord` returns the coordinate of the element on
    /// an axis.
    pub(crate) fn position_in_group(&self, coord: impl Fn(usize) -> usize) -> u128 {
        self.reduced.iter().fold(0, |position, &axis| {
            let (coord, length) = match self.grouping_of(axis) {
                Some(grouping) => grouping.place(coord(axis)),
                None => (coord(axis), self.shape[axis]),
            };
            position * length as u128 + coord as u128
        })
    }

    /// Returns the first reduced axis of length 0, or 0 if no such axis exists.
    pub(crate) fn first_empty(&self) -> usize {
        self.reduced.iter().copied().find(|&axis| self.shape[axis] == 0).unwrap_or(0)
    }

    /// Returns the first label without positions.
    pub(crate) fn first_unused_label(&self) -> Option<usize> {
        let grouping = self.grouping()?;
        (0..grouping.count()).find(|&label| grouping.members(label).is_empty())
    }

    /// Returns the shape of the result.
    pub(crate) fn result_shape(&self) -> Shape {
        if !self.keep_dims {
            return (*self.kept_lengths).into();
        }
        self.result_axes(self.kept_lengths.iter().copied(), || 1).into()
    }

    /// Returns the number of lanes per output element, if some leading axes are kept and all others are reduced.
    pub(crate) fn lanes_per_output(&self) -> Option<usize> {
        let (_, lanes) = self.reduced.split_last().filter(|_| self.keeps_leading() && !self.kept().is_empty())?;
        let product = lanes.iter().try_fold(1, |product: usize, &axis| product.checked_mul(self.shape[axis]));
        product.filter(|&lanes| lanes > 0)
    }

    /// Returns whether the last axis is reduced, so that entries of one group are often neighbours.
    pub(crate) fn reduces_last(&self) -> bool {
        self.is_reduced.last() == Some(&true)
    }

    /// Returns whether all kept axes precede all reduced axes, so that the entries of a group are contiguous.
    pub(crate) fn keeps_leading(&self) -> bool {
        self.is_reduced.is_sorted() && self.labelled.is_none()
    }

    /// Returns whether groups are runs of entries, which can be reduced while values are computed.
    pub(crate) fn takes_chunks(&self) -> bool {
        self.keeps_leading() && !self.is_elementwise()
    }

    /// Returns an item per axis of the result, from the items of the kept axes; `ones` is used for axes of length 1.
    pub(crate) fn result_axes<A>(&self, kept: impl IntoIterator<Item = A>, ones: impl Fn() -> A) -> Vec<A> {
        let mut kept = kept.into_iter();
        let axis = |&reduced: &bool| if reduced { self.keep_dims.then(&ones) } else { kept.next() };
        self.is_reduced.iter().filter_map(axis).collect()
    }
}
