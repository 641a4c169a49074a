//! The shape of a matrix product, and the rows that it multiplies.

use crate::base::error::{Error, Result};
use crate::base::shape::{self, Shape, checked_product, unravel};

/// A product of matrices, or of batches of matrices, by the lengths of its axes.
///
/// A vector is a matrix with one row if it is the left operand, and with one column if it is the right operand.
pub(crate) struct Contraction {
    /// The shape of the result.
    pub(crate) shape: Shape,
    /// The lengths of the batch axes of the result.
    pub(crate) batch: Shape,
    /// The number of rows of each matrix of the result.
    pub(crate) rows: usize,
    /// The number of terms of each sum.
    pub(crate) inner: usize,
    /// The number of columns of each matrix of the result.
    pub(crate) width: usize,
    /// True if the result has an axis of rows, and true if it has an axis of columns.
    pub(crate) has_axis: [bool; 2],
    /// The matrices of each operand.
    pub(crate) left: Batch,
    pub(crate) right: Batch,
}

impl Contraction {
    /// Returns the product for operands of these shapes.
    ///
    /// Each operand also has a shape of the elements in memory, in which broadcast batch axes have length 1.
    pub(crate) fn new(
        operation: &'static str,
        [left, held_left]: [&[usize]; 2],
        [right, held_right]: [&[usize]; 2],
    ) -> Result<Self> {
        let argument = |why: String| Error::Argument { operation, why };
        let (Some((&inner, left_lead)), true) = (left.split_last(), !right.is_empty()) else {
            return Err(argument("an operand of rank 0 does not have rows and columns; use mul".into()));
        };
        let axis = right.len().saturating_sub(2);
        if right[axis] != inner {
            return Err(argument(format!(
                "axis {} of the left operand has length {inner}, but axis {axis} of the right operand has length {}",
                left.len() - 1,
                right[axis]
            )));
        }
        let (rows, left_batch) = left_lead.split_last().map_or((1, left_lead), |(&rows, batch)| (rows, batch));
        let (width, right_batch) = (right.get(axis + 1).copied().unwrap_or(1), &right[..axis]);
        let batch = shape::broadcast(left_batch, right_batch).ok_or_else(|| Error::NotBroadcastable {
            left: Shape::from(left_batch),
            how: "together with",
            right: Shape::from(right_batch),
        })?;
        let has_axis = [left.len() > 1, right.len() > 1];
        let own = [(rows, has_axis[0]), (width, has_axis[1])];
        let own = own.iter().filter(|(_, there)| *there).map(|(length, _)| *length);
        let shape = batch.iter().copied().chain(own).collect();
        let (of_left, of_right) =
            (Batch::new(&held_left[..left_batch.len()], &batch), Batch::new(&held_right[..axis], &batch));
        Ok(Contraction { shape, batch, rows, inner, width, has_axis, left: of_left, right: of_right })
    }

    /// Returns the number of matrices of the result, if it fits in `usize`.
    pub(crate) fn count(&self) -> Option<usize> {
        checked_product(&self.batch)
    }

    /// Returns whether the result is empty or every sum is empty.
    pub(crate) fn is_trivial(&self) -> bool {
        self.inner == 0 || self.shape.is_empty_space()
    }

    /// Returns the left row for a row of the result, and the first row of the matrix on the right.
    pub(crate) fn row_map(&self, row: usize) -> (usize, usize) {
        if self.left.is_whole && self.right.is_one {
            return (row, 0);
        }
        let (matrix, within) = (row / self.rows, row % self.rows);
        (self.left.of(matrix) * self.rows + within, self.right.of(matrix) * self.inner)
    }

    /// Returns the coordinates of an element of the result, from its row over all matrices and its column.
    pub(crate) fn coords(&self, row: usize, column: usize) -> Vec<usize> {
        let mut coords = vec![0; self.batch.rank()];
        unravel(row / self.rows.max(1), &self.batch, &mut coords);
        let own = [(row % self.rows.max(1), self.has_axis[0]), (column, self.has_axis[1])];
        coords.extend(own.iter().filter(|(_, there)| *there).map(|(coord, _)| *coord));
        coords
    }
}

/// The matrix of an operand for each position on the batch axes of the result.
pub(crate) struct Batch {
    /// The lengths of the batch axes of the result, and the change of the matrix index per step along each batch axis.
    lengths: Shape,
    steps: Vec<usize>,
    /// True if each position has its own matrix.
    pub(crate) is_whole: bool,
    /// True if all positions have the same matrix.
    pub(crate) is_one: bool,
}

impl Batch {
    fn new(own: &[usize], all: &Shape) -> Self {
        let added = all.rank() - own.len();
        let mut steps = vec![0; all.rank()];
        let mut step = 1usize;
        for (axis, &length) in own.iter().enumerate().rev() {
            if length != 1 {
                steps[added + axis] = step;
            }
            step = step.saturating_mul(length);
        }
        let is_whole = (0..all.rank()).all(|axis| all[axis] == 1 || steps[axis] > 0);
        Batch { lengths: all.clone(), is_whole, is_one: own.iter().all(|&length| length == 1), steps }
    }

    /// Returns the matrix at a position of the batch axes.
    pub(crate) fn of(&self, place: usize) -> usize {
        if self.is_whole {
            return place;
        }
        let (mut rest, mut at) = (place, 0);
        for (&length, step) in self.lengths.iter().zip(&self.steps).rev() {
            at += rest % length * step;
            rest /= length;
        }
        at
    }
}
