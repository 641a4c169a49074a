//! Which axes a reduction removes, and what shape is left.

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::{Shape, saturating_product};

/// A reduction over some axes of a shape.
pub(crate) struct Reduction {
    shape: Shape,
    /// The reduced axes and the kept ones, in increasing order.
    reduced: Vec<usize>,
    kept: Vec<usize>,
    /// The lengths of the kept axes.
    kept_lengths: Vec<usize>,
    /// For each axis whether it is reduced.
    is_reduced: Vec<bool>,
    keep_dims: bool,
}

impl Reduction {
    pub(crate) fn new(shape: &Shape, axes: &Axes) -> Result<Self> {
        let reduced = axes.normalize(shape.rank())?;
        let mut is_reduced = vec![false; shape.rank()];
        reduced.iter().for_each(|&axis| is_reduced[axis] = true);
        let kept: Vec<usize> = (0..shape.rank()).filter(|&axis| !is_reduced[axis]).collect();
        let kept_lengths = kept.iter().map(|&axis| shape[axis]).collect();
        Ok(Reduction { shape: shape.clone(), reduced, kept, kept_lengths, is_reduced, keep_dims: axes.keeps_dims() })
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

    /// The kept axes, in increasing order.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The lengths of the kept axes.
    pub(crate) fn kept_lengths(&self) -> &[usize] {
        &self.kept_lengths
    }

    /// The number of positions of each group, `u128::MAX` where it does not fit.
    pub(crate) fn extent(&self) -> u128 {
        saturating_product(self.reduced.iter().map(|&axis| &self.shape[axis]))
    }

    /// The first reduced axis of length 0; the first axis of all if there is none.
    pub(crate) fn first_empty(&self) -> usize {
        self.reduced.iter().copied().find(|&axis| self.shape[axis] == 0).unwrap_or(0)
    }

    /// The shape of the result.
    pub(crate) fn result_shape(&self) -> Shape {
        if !self.keep_dims {
            return self.kept_lengths.as_slice().into();
        }
        let lengths = self.shape.iter().enumerate();
        lengths.map(|(axis, &length)| if self.is_reduced[axis] { 1 } else { length }).collect()
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
        self.is_reduced.is_sorted()
    }

    /// The arrays of all axes of the result, from those of the kept axes; `ones` is that of an axis of length 1.
    pub(crate) fn result_axes<A>(&self, kept: impl IntoIterator<Item = A>, ones: impl Fn() -> A) -> Vec<A> {
        let mut kept = kept.into_iter();
        let axis = |&reduced: &bool| if reduced { self.keep_dims.then(&ones) } else { kept.next() };
        self.is_reduced.iter().filter_map(axis).collect()
    }
}
