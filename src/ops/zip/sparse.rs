//! The drivers of zips with a sparse operand, of either format.

use std::any::Any;
use std::borrow::Cow;

use ndarray::ArrayViewD;

use super::{broadcast_shape, rejection};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::index::check_axes;
use crate::base::shape::{Shape, unravel};
use crate::convert::{elements_of, once_on_each};
use crate::element::Element;
use crate::kernels::op::Outcome;
use crate::kernels::steps::{BLOCK, Filled, Keep, LEFT, MergeSteps, RIGHT};
use crate::kernels::zip::{FailedElement, FillEffect, Zip, ZipOperand, all_finite, zip_sides, zip_steps, zip_united};
use crate::ops::broadcast::in_shape;
use crate::ops::operand::{Sparse, SparseOperand};
use crate::pattern::{AnyPattern, Pattern};
use crate::plan::overlap::OverlapPlan;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// Combines two tensors of one shape.
pub(super) fn whole<A: Element, B: Element, Z: Zip<A, B>>(
    x: SparseRef<'_, A>,
    y: SparseRef<'_, B>,
    op: Z,
) -> Result<Erased<Z::Out>> {
    let (of_left, of_right) =
        (op.left_fill_effect(x.fill(), Some(y.fill())), op.right_fill_effect(Some(x.fill()), y.fill()));
    let keep = Keep { both: true, left: of_right == FillEffect::Counts, right: of_left == FillEffect::Counts };
    let OverlapPlan { pattern, steps } = OverlapPlan::new(x.pattern(), y.pattern(), keep)?;
    if let Some(steps) = &steps {
        check_left_out(op, steps, (x, of_right), (y, of_left))?;
    }
    let fill = fill_of(op, op.apply(x.fill(), y.fill()), &pattern)?;
    let values = match &steps {
        Some(steps) => zip_steps(op, steps, &Filled { left: (x.values(), x.fill()), right: (y.values(), y.fill()) }),
        None => {
            zip_sides(op, &ZipOperand::Values(x.values().into()), &ZipOperand::Values(y.values().into()), pattern.nnz())
        }
    };
    let values = values.map_err(|failed| at_entry(op.name(), failed, &pattern))?;
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// Rejects a skipped entry that is not finite, because its partner is zero.
fn check_left_out<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    steps: &MergeSteps,
    (x, of_right): (SparseRef<'_, A>, FillEffect),
    (y, of_left): (SparseRef<'_, B>, FillEffect),
) -> Result<()> {
    let left = first_left_out(steps, LEFT, x.values(), of_right).map(|entry| (x.pattern().coords_of(entry), entry));
    let right = first_left_out(steps, RIGHT, y.values(), of_left).map(|entry| (y.pattern().coords_of(entry), entry));
    // The first entry of both sides is reported, in row-major order.
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) if left.0 < right.0 => (Some(left), None),
        (Some(_), Some(right)) => (None, Some(right)),
        either => either,
    };
    let rejection = |coords: Option<Vec<usize>>, left: String, right: String| {
        Err(Error::NonFinite { operation: op.name(), left, right, coords: coords.unwrap_or_default() })
    };
    match (left, right) {
        (Some((coords, entry)), _) => rejection(coords, text(x.values()[entry]), unstored(y.fill())),
        (None, Some((coords, entry))) => rejection(coords, unstored(x.fill()), text(y.values()[entry])),
        (None, None) => Ok(()),
    }
}

/// Returns the first skipped entry of a side that is not finite, if the rule requires finite entries.
fn first_left_out<T: Element>(steps: &MergeSteps, side: u8, values: &[T], rule: FillEffect) -> Option<usize> {
    if rule != FillEffect::AnnihilatedIfFinite || all_finite(values) {
        return None;
    }
    steps.first_left_out(side, |entry| !values[entry].isfinite())
}

/// Returns the textual form of a value.
pub(super) fn text<T: Element>(value: T) -> String {
    value.to_number().to_string()
}

/// Returns the textual form of the value of an unstored position.
pub(super) fn unstored<T: Element>(value: T) -> String {
    format!("unstored {}", text(value))
}

/// Combines the stored entries of two tensors of one shape.
pub(super) fn stored_alike<A: Element, B: Element, Z: Zip<A, B>>(
    x: SparseRef<'_, A>,
    y: SparseRef<'_, B>,
    op: Z,
) -> Result<Erased<Z::Out>> {
    let fill = one_of_fills(op, x.fill(), y.fill())?;
    let keep = if op.counts_unpaired() { Keep::UNION } else { Keep::BOTH };
    let OverlapPlan { pattern, steps } = OverlapPlan::new(x.pattern(), y.pattern(), keep)?;
    let values = match &steps {
        None => {
            zip_sides(op, &ZipOperand::Values(x.values().into()), &ZipOperand::Values(y.values().into()), pattern.nnz())
        }
        Some(steps) if op.counts_unpaired() => zip_united(op, steps, x.values(), y.values()),
        Some(steps) => zip_steps(op, steps, &Filled { left: (x.values(), A::ZERO), right: (y.values(), B::ZERO) }),
    };
    let values = values.map_err(|failed| at_entry(op.name(), failed, &pattern))?;
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// Returns a fill in the type of the results, if it has that type.
pub(super) fn own_fill<T: Element, U: Element>(fill: T) -> Option<U> {
    let fill: &dyn Any = &fill;
    fill.downcast_ref().copied()
}

/// Returns the common fill of both operands if it has the type of the results, and zero otherwise.
pub(super) fn one_of_fills<A: Element, B: Element, Z: Zip<A, B>>(_: Z, a: A, b: B) -> Result<Z::Out> {
    match (own_fill::<_, Z::Out>(a), own_fill::<_, Z::Out>(b)) {
        (Some(one), Some(other)) if !one.same(other) => {
            Err(Error::FillsDiffer { tensor: 1, expected: text(a), found: text(b) })
        }
        (Some(fill), _) | (None, Some(fill)) => Ok(fill),
        (None, None) => Ok(Z::Out::ZERO),
    }
}

/// Combines a sparse operand and a number.
pub(super) fn with_number<X: Sparse, B: Element, Z: Zip<X::Value, B>>(
    x: &X,
    number: B,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    Tensor::from_erased(of_number(&x.sparse_operand(), number, op)?)
}

/// Combines an operand without the static type of its pattern with a number.
pub(super) fn of_number<A: Element, B: Element, Z: Zip<A, B>>(
    x: &SparseOperand<'_, A>,
    number: B,
    op: Z,
) -> Result<Erased<Z::Out>> {
    let (tensor, unstored_result) = (x.sparse(), x.implicit().map(|implicit| op.apply(implicit, number)));
    let left = ZipOperand::Values(tensor.values().into());
    let own = own_fill(tensor.fill());
    on_pattern(op, tensor.pattern(), &left, &ZipOperand::One(number), unstored_result, own)
}

/// Computes the results on a pattern. The fill is the result for unstored positions, or else the fill of the operand,
/// or else zero.
pub(super) fn on_pattern<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    pattern: &AnyPattern,
    left: &ZipOperand<'_, A>,
    right: &ZipOperand<'_, B>,
    unstored_result: Option<Outcome<Z::Out>>,
    own: Option<Z::Out>,
) -> Result<Erased<Z::Out>> {
    let fill = match unstored_result {
        Some(outcome) => fill_of(op, outcome, pattern)?,
        None => own.unwrap_or(Z::Out::ZERO),
    };
    let values = zip_sides(op, left, right, pattern.nnz()).map_err(|failed| at_entry(op.name(), failed, pattern))?;
    Ok(Tensor::from_valid(pattern.clone(), values, fill))
}

/// Returns the computed fill of a result. A fill without a value is an error if the result has an unstored position.
pub(super) fn fill_of<A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    fill: Outcome<Z::Out>,
    pattern: &AnyPattern,
) -> Result<Z::Out> {
    match fill {
        Ok(fill) => Ok(fill.as_implicit()),
        Err(fault) if pattern.shape().wide_size() > pattern.nnz() as u128 => Err(rejection(op.name(), fault, None)),
        Err(_) => Ok(Z::Out::ZERO),
    }
}

/// Returns the error of an entry of the result.
pub(super) fn at_entry(operation: &'static str, failed: FailedElement, pattern: &AnyPattern) -> Error {
    rejection(operation, failed.fault, pattern.coords_of(failed.at))
}

/// Combines a sparse operand and an array.
pub(in crate::ops) fn with_array<X: Sparse, B: Element, Z: Zip<X::Value, B>>(
    x: &X,
    array: ArrayViewD<'_, B>,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    let shape = broadcast_shape(x.pattern().shape(), array.shape())?;
    check_axes::<<X::Pattern as Pattern>::Index>(&shape)?;
    let x = x.sparse_operand();
    Tensor::from_erased(of_array(x.sparse(), x.implicit(), array, &shape, op)?)
}

/// Combines a tensor and an array, in the shape of both. If `implicit` is `None`, only the stored entries of the tensor
/// count.
pub(super) fn of_array<A: Element, B: Element, Z: Zip<A, B>>(
    x: SparseRef<'_, A>,
    implicit: Option<A>,
    array: ArrayViewD<'_, B>,
    shape: &Shape,
    op: Z,
) -> Result<Erased<Z::Out>> {
    let wide = in_shape(x, shape)?;
    let tensor = wide.sparse();
    let once = once_on_each(array.view(), 0..array.ndim());
    let cells = BroadcastCells::new(&once, tensor.pattern())?;
    let own = own_fill(tensor.fill()).unwrap_or(Z::Out::ZERO);
    let fill = match implicit {
        Some(implicit) => cells.fill(op.name(), &|element| op.apply(implicit, element))?.unwrap_or(own),
        None => own,
    };
    let number = |start, numbers: &mut [usize]| cells.grid.number(start, numbers);
    let side = ZipOperand::Numbered(&cells.elements, &number);
    let values = zip_sides(op, &ZipOperand::Values(tensor.values().into()), &side, tensor.nnz())
        .map_err(|failed| at_entry(op.name(), failed, tensor.pattern()))?;
    Ok(Tensor::from_valid(tensor.pattern().clone(), values, fill))
}

/// The elements of an array that is combined with a sparse tensor. The positions to which one element is broadcast are
/// a cell.
struct BroadcastCells<'a, T: Clone> {
    elements: Cow<'a, [T]>,
    grid: BroadcastGrid<'a>,
}

/// The cells of an array on a pattern, by the axes along which the array does not repeat its elements.
struct BroadcastGrid<'a> {
    axes: Vec<usize>,
    lengths: Vec<usize>,
    pattern: &'a AnyPattern,
}

impl<'a, T: Element> BroadcastCells<'a, T> {
    /// Returns the cells of an array that can be broadcast to the shape of the pattern.
    fn new(array: &'a ArrayViewD<'_, T>, pattern: &'a AnyPattern) -> Result<Self> {
        Ok(BroadcastCells { elements: elements_of(array)?, grid: BroadcastGrid::new(array.shape(), pattern) })
    }

    /// Returns the value of all unstored positions; `of` computes it from the element of their cell. Returns `None` if
    /// every position is stored.
    fn fill<U: Element>(&self, operation: &'static str, of: &dyn Fn(T) -> Outcome<U>) -> Result<Option<U>> {
        let of = |element: T| of(element).map(Element::as_implicit);
        let Some(&first) = self.elements.first() else { return Ok(None) };
        if let Ok(first) = of(first)
            && self.elements.iter().all(|&element| of(element).is_ok_and(|other| other.same(first)))
        {
            return Ok(self.grid.has_unstored().then_some(first));
        }
        let mut expected = None;
        for cell in self.grid.cells_with_unstored(self.elements.len())? {
            let found = of(self.elements[cell]).map_err(|fault| rejection(operation, fault, None))?;
            let (first, fill) = *expected.get_or_insert((cell, found));
            if !fill.same(found) {
                let [first, at] = [first, cell].map(|cell| self.grid.place(cell));
                let [expected, found] = [fill, found].map(text);
                return Err(Error::FillVaries { operation, expected, first, found, at });
            }
        }
        Ok(expected.map(|(_, fill)| fill))
    }
}

impl<'a> BroadcastGrid<'a> {
    fn new(lengths: &[usize], pattern: &'a AnyPattern) -> Self {
        let added = pattern.shape().rank() - lengths.len();
        let own = lengths.iter().enumerate().filter(|(_, length)| **length != 1);
        let (axes, lengths) = own.map(|(at, &length)| (at + added, length)).unzip();
        BroadcastGrid { axes, lengths, pattern }
    }

    /// Writes the cell of each entry from `start` on.
    fn number(&self, start: usize, numbers: &mut [usize]) {
        self.pattern.number_within(&self.axes, &self.lengths, start, numbers);
    }

    fn has_unstored(&self) -> bool {
        self.pattern.shape().wide_size() > self.pattern.nnz() as u128
    }

    /// Returns the cells with unstored positions; `cells` is the number of all cells.
    fn cells_with_unstored(&self, cells: usize) -> Result<Vec<usize>> {
        let mut counts: Vec<usize> = alloc::zeros(cells)?;
        let mut numbers = [0; BLOCK];
        for start in (0..self.pattern.nnz()).step_by(BLOCK) {
            let numbers = &mut numbers[..BLOCK.min(self.pattern.nnz() - start)];
            self.number(start, numbers);
            numbers.iter().for_each(|&cell| counts[cell] += 1);
        }
        let extent = self.pattern.shape().wide_size() / cells as u128;
        let incomplete =
            counts.iter().enumerate().filter(|(_, count)| (**count as u128) < extent).map(|(cell, _)| cell);
        Ok(alloc::collect_some(incomplete)?)
    }

    /// Returns the positions of a cell as a string.
    fn place(&self, cell: usize) -> String {
        let mut coords = vec![0; self.lengths.len()];
        unravel(cell, &self.lengths, &mut coords);
        let mut words = vec!["..".to_string(); self.pattern.shape().rank()];
        self.axes.iter().zip(coords).for_each(|(&axis, coord)| words[axis] = coord.to_string());
        format!("[{}]", words.join(", "))
    }
}
