//! Which axes a reduction removes, and what shape is left.

use std::sync::Arc;

use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::few::Few;
use crate::base::grouping::Grouping;
use crate::base::shape::{Shape, saturating_product};
use crate::pattern::{AnyPattern, AxisCoords};

/// A reduction over some axes of a shape.
#[derive(Clone, PartialEq)]
pub(crate) struct Reduction {
    shape: Shape,
    /// The reduced axes and the kept ones, in increasing order. One that is reduced by its labels is both: of its
    /// positions go those of one label, and the labels stay.
    reduced: Few<usize>,
    kept: Few<usize>,
    /// The lengths of the kept axes.
    kept_lengths: Few<usize>,
    /// For each axis whether it is not kept.
    is_reduced: Few<bool>,
    keep_dims: bool,
    grouping: Option<Arc<Grouping>>,
}

impl Reduction {
    pub(crate) fn new(shape: &Shape, axes: &Axes) -> Result<Self> {
        let reduced = axes.normalized(shape.rank())?;
        let mut is_reduced: Few<bool> = shape.iter().map(|_| false).collect();
        reduced.iter().for_each(|&axis| is_reduced[axis] = true);
        let grouping = axes.grouping().cloned();
        let mut result: Few<usize> = shape.iter().copied().collect();
        if let Some(grouping) = &grouping {
            let axis = grouping.axis();
            if !std::mem::replace(&mut is_reduced[axis], false) {
                let why = format!("axis {axis} has labels, and is not among the axes that are reduced");
                return Err(Error::Argument { operation: "group_by", why });
            }
            result[axis] = grouping.count();
        }
        let kept: Few<usize> = (0..shape.rank()).filter(|&axis| !is_reduced[axis]).collect();
        let kept_lengths = kept.iter().map(|&axis| result[axis]).collect();
        let (shape, keep_dims) = (shape.clone(), axes.keeps_dims());
        Ok(Reduction { shape, reduced, kept, kept_lengths, is_reduced, keep_dims, grouping })
    }

    /// Whether no axis is reduced, so that each position is a group of its own.
    pub(crate) fn is_elementwise(&self) -> bool {
        self.reduced.is_empty()
    }

    /// Whether reduced axes stay with length 1.
    pub(crate) fn keeps_dims(&self) -> bool {
        self.keep_dims
    }

    /// The reduced axes, in increasing order.
    pub(crate) fn reduced(&self) -> &[usize] {
        &self.reduced
    }

    /// The axis of the operand whose positions are those of an axis of the result, one by one; not one with labels.
    pub(crate) fn source_axis(&self, of_result: usize) -> Option<usize> {
        let source = match self.keep_dims {
            true => (self.is_reduced.get(of_result) == Some(&false)).then_some(of_result),
            false => self.kept.get(of_result).copied(),
        };
        source.filter(|&axis| self.grouping().is_none_or(|grouping| grouping.axis() != axis))
    }

    /// The axis of the result that a kept one becomes.
    pub(crate) fn result_axis(&self, of_operand: usize) -> Option<usize> {
        (0..self.is_reduced.len()).find(|&axis| self.source_axis(axis) == Some(of_operand))
    }

    /// The kept axes, in increasing order.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The lengths of the kept axes.
    pub(crate) fn kept_lengths(&self) -> &[usize] {
        &self.kept_lengths
    }

    /// The number of positions of each group, of the largest if they differ; `u128::MAX` where it does not fit.
    pub(crate) fn extent(&self) -> u128 {
        match &self.grouping {
            None => self.extent_without_labels(),
            Some(grouping) => {
                let labels = 0..grouping.count();
                labels.map(|label| self.extent_of(grouping, label)).max().unwrap_or(0)
            }
        }
    }

    /// The number of positions on the axes that go as a whole.
    fn extent_without_labels(&self) -> u128 {
        saturating_product(self.reduced.iter().filter(|&&axis| self.is_reduced[axis]).map(|&axis| &self.shape[axis]))
    }

    /// The number of positions of each group with a label.
    fn extent_of(&self, grouping: &Grouping, label: usize) -> u128 {
        self.extent_without_labels().saturating_mul(grouping.members(label).len() as u128)
    }

    /// The number of positions of the groups with each label, where these differ.
    pub(crate) fn extents(&self) -> Allocated<Option<Vec<u128>>> {
        let Some(grouping) = &self.grouping else { return Ok(None) };
        let extents = alloc::collect((0..grouping.count()).map(|label| self.extent_of(grouping, label)))?;
        Ok(extents.windows(2).any(|pair| pair[0] != pair[1]).then_some(extents))
    }

    /// The labels by which an axis is reduced.
    pub(crate) fn grouping(&self) -> Option<&Grouping> {
        self.grouping.as_deref()
    }

    /// Where the axis with labels stands among the kept ones.
    pub(crate) fn place_of_labels(&self) -> Option<usize> {
        let axis = self.grouping()?.axis();
        self.kept.iter().position(|&kept| kept == axis)
    }

    /// The coordinate on an axis of the result that one of the operand comes to.
    pub(crate) fn kept_coord(&self, axis: usize, coord: usize) -> usize {
        self.grouping().filter(|grouping| grouping.axis() == axis).map_or(coord, |grouping| grouping.label(coord))
    }

    /// The coordinates of entries on an axis of the result.
    pub(crate) fn kept_coords(&self, entries: &AnyPattern, axis: usize) -> Allocated<AxisCoords> {
        let (coords, width) = (entries.axis(axis)?, entries.width_for(&self.kept_lengths));
        match self.grouping().filter(|grouping| grouping.axis() == axis) {
            None => coords.in_width(width),
            Some(grouping) => coords.map(width, 2000, |coord| grouping.label(coord)),
        }
    }

    /// The row-major position within its group of an element, whose coordinate on each axis is told.
    pub(crate) fn position_in_group(&self, coord: impl Fn(usize) -> usize) -> u128 {
        self.reduced.iter().fold(0, |position, &axis| {
            let (coord, length) = match self.grouping().filter(|grouping| grouping.axis() == axis) {
                Some(grouping) => grouping.place(coord(axis)),
                None => (coord(axis), self.shape[axis]),
            };
            position * length as u128 + coord as u128
        })
    }

    /// The first reduced axis of length 0; the first axis of all if there is none.
    pub(crate) fn first_empty(&self) -> usize {
        self.reduced.iter().copied().find(|&axis| self.shape[axis] == 0).unwrap_or(0)
    }

    /// The first label that no position has.
    pub(crate) fn first_unused_label(&self) -> Option<usize> {
        let grouping = self.grouping()?;
        (0..grouping.count()).find(|&label| grouping.members(label).is_empty())
    }

    /// The shape of the result.
    pub(crate) fn result_shape(&self) -> Shape {
        if !self.keep_dims {
            return (*self.kept_lengths).into();
        }
        self.result_axes(self.kept_lengths.iter().copied(), || 1).into()
    }

    /// Where some leading axes are kept and all after them reduced: how many lanes, along the last axis, a cell has.
    pub(crate) fn lanes_a_cell(&self) -> Option<usize> {
        let (_, lanes) = self.reduced.split_last().filter(|_| self.keeps_leading() && !self.kept().is_empty())?;
        let product = lanes.iter().try_fold(1, |product: usize, &axis| product.checked_mul(self.shape[axis]));
        product.filter(|&lanes| lanes > 0)
    }

    /// Whether the last axis is reduced, so that entries which meet often stand side by side.
    pub(crate) fn reduces_last(&self) -> bool {
        self.is_reduced.last() == Some(&true)
    }

    /// Whether the kept axes stand before the reduced ones, so that entries which meet stand side by side.
    pub(crate) fn keeps_leading(&self) -> bool {
        self.is_reduced.is_sorted() && self.grouping.is_none()
    }

    /// Whether groups are runs of entries, which may be reduced while these are computed.
    pub(crate) fn is_fed(&self) -> bool {
        self.keeps_leading() && !self.is_elementwise()
    }

    /// The arrays of all axes of the result, from those of the kept axes; `ones` is that of an axis of length 1.
    pub(crate) fn result_axes<A>(&self, kept: impl IntoIterator<Item = A>, ones: impl Fn() -> A) -> Vec<A> {
        let mut kept = kept.into_iter();
        let axis = |&reduced: &bool| if reduced { self.keep_dims.then(&ones) } else { kept.next() };
        self.is_reduced.iter().filter_map(axis).collect()
    }
}
