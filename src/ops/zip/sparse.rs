//! The drivers of zips with a sparse operand, of either format.

use std::any::Any;
use std::borrow::Cow;

use ndarray::ArrayViewD;

use super::repeated::{Broadcast, on_pattern};
use super::{broadcast_shape, refused};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::{Shape, unravel};
use crate::convert::once_on_each;
use crate::element::Element;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::steps::{BLOCK, Filled, Keep, LEFT, RIGHT, Steps};
use crate::kernels::zip::{Alone, Failed, Side, Zip, all_finite, zip_sides, zip_steps, zip_united};
use crate::ops::operand::Sparse;
use crate::ops::select::broadcast_to;
use crate::pattern::Pattern;
use crate::plan::overlap::Join;
use crate::tensor::Tensor;

/// Of two sparse operands; if one is a stored view, both are.
pub(super) fn pair<X: Sparse, Y: Sparse<Pattern = X::Pattern>, Z: Zip<X::Value, Y::Value>>(
    x: &X,
    y: &Y,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    let (a, b) = (x.tensor(), y.tensor());
    let counts_gaps = x.gap().is_some() && y.gap().is_some();
    let shape = match a.shape() == b.shape() {
        true => a.shape().clone(),
        false => broadcast_shape(a.shape(), b.shape())?,
    };
    if let Some(broadcast) = Broadcast::new(a, b, &shape) {
        return broadcast.zip(counts_gaps, op);
    }
    let (a, b) = (in_shape(a, &shape)?, in_shape(b, &shape)?);
    if counts_gaps { whole(&a, &b, op) } else { stored_alike(&a, &b, op) }
}

/// The tensor broadcast to a shape: itself where it has it.
pub(in crate::ops) fn in_shape<'a, P: Pattern, T: Element>(
    x: &'a Tensor<P, T>,
    shape: &Shape,
) -> Result<Cow<'a, Tensor<P, T>>> {
    if x.shape() == shape { Ok(Cow::Borrowed(x)) } else { broadcast_to(x, shape.clone()).map(Cow::Owned) }
}

/// Of two tensors of one shape.
fn whole<P: Pattern, A: Element, B: Element, Z: Zip<A, B>>(
    x: &Tensor<P, A>,
    y: &Tensor<P, B>,
    op: Z,
) -> Result<Tensor<P, Z::Out>> {
    let (of_left, of_right) = (op.of_left_fill(x.fill(), Some(y.fill())), op.of_right_fill(Some(x.fill()), y.fill()));
    let keep = Keep { both: true, left: of_right == Alone::Counts, right: of_left == Alone::Counts };
    let Join { pattern, steps } = Join::new(x.pattern(), y.pattern(), keep)?;
    if let Some(steps) = &steps {
        check_left_out(op, steps, (x, of_right), (y, of_left))?;
    }
    let fill = fill_of(op, op.apply(x.fill(), y.fill()), &pattern)?;
    let values = match &steps {
        Some(steps) => zip_steps(op, steps, &Filled { left: (x.values(), x.fill()), right: (y.values(), y.fill()) }),
        None => zip_sides(op, &Side::Values(x.values().into()), &Side::Values(y.values().into()), pattern.nnz()),
    };
    let values = values.map_err(|failed| at_entry(op, failed, &pattern))?;
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// Refuses an entry that is left out, as its partner is zero, where it is not finite.
fn check_left_out<P: Pattern, A: Element, B: Element, Z: Zip<A, B>>(
    _: Z,
    steps: &Steps,
    (x, of_right): (&Tensor<P, A>, Alone),
    (y, of_left): (&Tensor<P, B>, Alone),
) -> Result<()> {
    let left = first_left_out(steps, LEFT, x.values(), of_right).map(|entry| (x.pattern().coords_of(entry), entry));
    let right = first_left_out(steps, RIGHT, y.values(), of_left).map(|entry| (y.pattern().coords_of(entry), entry));
    // The first of all, in row-major order.
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) if left.0 < right.0 => (Some(left), None),
        (Some(_), Some(right)) => (None, Some(right)),
        either => either,
    };
    let refused = |coords: Option<Vec<usize>>, left: String, right: String| {
        Err(Error::NonFinite { operation: Z::NAME, left, right, coords: coords.unwrap_or_default() })
    };
    match (left, right) {
        (Some((coords, entry)), _) => refused(coords, text(x.values()[entry]), text(y.fill())),
        (None, Some((coords, entry))) => refused(coords, text(x.fill()), text(y.values()[entry])),
        (None, None) => Ok(()),
    }
}

/// The first entry of a side that is left out though it is not finite, where that matters.
fn first_left_out<T: Element>(steps: &Steps, side: u8, values: &[T], rule: Alone) -> Option<usize> {
    if rule != Alone::AnnihilatedIfFinite || all_finite(values) {
        return None;
    }
    steps.first_left_out(side, |entry| !values[entry].isfinite())
}

/// A value in words.
pub(super) fn text<T: Element>(value: T) -> String {
    value.to_number().to_string()
}

/// Of the stored entries of two tensors of one shape.
pub(super) fn stored_alike<P: Pattern, A: Element, B: Element, Z: Zip<A, B>>(
    x: &Tensor<P, A>,
    y: &Tensor<P, B>,
    op: Z,
) -> Result<Tensor<P, Z::Out>> {
    let fill = one_of_fills(op, x.fill(), y.fill())?;
    let keep = if Z::UNITES { Keep::UNION } else { Keep::BOTH };
    let Join { pattern, steps } = Join::new(x.pattern(), y.pattern(), keep)?;
    let values = match &steps {
        None => zip_sides(op, &Side::Values(x.values().into()), &Side::Values(y.values().into()), pattern.nnz()),
        Some(steps) if Z::UNITES => zip_united(op, steps, x.values(), y.values()),
        Some(steps) => zip_steps(op, steps, &Filled { left: (x.values(), A::ZERO), right: (y.values(), B::ZERO) }),
    };
    let values = values.map_err(|failed| at_entry(op, failed, &pattern))?;
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// A fill in the type of the results, if it has that.
pub(super) fn own_fill<T: Element, U: Element>(fill: T) -> Option<U> {
    let fill: &dyn Any = &fill;
    fill.downcast_ref().copied()
}

/// The fill that both operands have, as far as it has the type of the results; else zero.
pub(super) fn one_of_fills<A: Element, B: Element, Z: Zip<A, B>>(_: Z, a: A, b: B) -> Result<Z::Out> {
    match (own_fill::<_, Z::Out>(a), own_fill::<_, Z::Out>(b)) {
        (Some(one), Some(other)) if !one.same(other) => {
            Err(Error::FillsDiffer { tensor: 1, expected: text(a), found: text(b) })
        }
        (Some(fill), _) | (None, Some(fill)) => Ok(fill),
        (None, None) => Ok(Z::Out::ZERO),
    }
}

/// Of a sparse operand and a number.
pub(super) fn with_number<X: Sparse, B: Element, Z: Zip<X::Value, B>>(
    x: &X,
    number: B,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    let tensor = x.tensor();
    let of_gap = x.gap().map(|gap| op.apply(gap, number));
    let left = Side::Values(tensor.values().into());
    on_pattern(op, tensor.pattern(), &left, &Side::One(number), of_gap, own_fill(tensor.fill()))
}

/// The computed fill of a result: what has none is an error where the result has a gap.
pub(super) fn fill_of<P: Pattern, A: Element, B: Element, Z: Zip<A, B>>(
    op: Z,
    fill: Outcome<Z::Out>,
    pattern: &P,
) -> Result<Z::Out> {
    match fill {
        Ok(fill) => Ok(fill.as_implicit()),
        Err(fault) if pattern.shape().wide_size() > pattern.nnz() as u128 => Err(refused(op, fault, None)),
        Err(_) => Ok(Z::Out::ZERO),
    }
}

/// The error of an entry of the result.
pub(super) fn at_entry<O: Op, P: Pattern>(op: O, failed: Failed, pattern: &P) -> Error {
    refused(op, failed.fault, pattern.coords_of(failed.at))
}

/// Of a sparse operand and an array.
pub(in crate::ops) fn with_array<X: Sparse, B: Element, Z: Zip<X::Value, B>>(
    x: &X,
    array: ArrayViewD<'_, B>,
    op: Z,
) -> Result<Tensor<X::Pattern, Z::Out>> {
    let shape = broadcast_shape(x.tensor().shape(), array.shape())?;
    let tensor = in_shape(x.tensor(), &shape)?;
    let once = once_on_each(array.view(), 0..array.ndim());
    let cells = Cells::new(&once, tensor.pattern())?;
    let own = own_fill(tensor.fill()).unwrap_or(Z::Out::ZERO);
    let fill = match x.gap() {
        Some(gap) => cells.fill(op, |element| op.apply(gap, element))?.unwrap_or(own),
        None => own,
    };
    let number = |start, numbers: &mut [usize]| cells.number(start, numbers);
    let side = Side::Numbered(&cells.elements, &number);
    let values = zip_sides(op, &Side::Values(tensor.values().into()), &side, tensor.nnz())
        .map_err(|failed| at_entry(op, failed, tensor.pattern()))?;
    Ok(Tensor::from_valid(tensor.pattern().clone(), values, fill))
}

/// The elements of an array beside a sparse tensor: each stands for a cell, on the axes along which it does not repeat.
struct Cells<'a, P, T: Clone> {
    elements: Cow<'a, [T]>,
    axes: Vec<usize>,
    lengths: Vec<usize>,
    pattern: &'a P,
}

impl<'a, P: Pattern, T: Element> Cells<'a, P, T> {
    /// Those of an array that can be broadcast to the shape of the pattern.
    fn new(array: &'a ArrayViewD<'_, T>, pattern: &'a P) -> Result<Self> {
        let added = pattern.shape().rank() - array.ndim();
        let (axes, lengths) = array
            .shape()
            .iter()
            .enumerate()
            .filter(|(_, length)| **length != 1)
            .map(|(at, &l)| (at + added, l))
            .unzip();
        let elements = match array.as_slice() {
            Some(elements) => Cow::Borrowed(elements),
            None => Cow::Owned(alloc::collect(array.iter().copied())?),
        };
        Ok(Cells { elements, axes, lengths, pattern })
    }

    /// Writes the cells of the entries from `start` on.
    fn number(&self, start: usize, numbers: &mut [usize]) {
        self.pattern.number_within(&self.axes, &self.lengths, start, numbers);
    }

    /// What all positions that are not stored hold, by what `of` gives for the element of their cell; none where every
    /// position is stored.
    fn fill<U: Element, O: crate::kernels::op::Op>(&self, op: O, of: impl Fn(T) -> Outcome<U>) -> Result<Option<U>> {
        let of = |element: T| of(element).map(Element::as_implicit);
        let Some(&first) = self.elements.first() else { return Ok(None) };
        if let Ok(first) = of(first)
            && self.elements.iter().all(|&element| of(element).is_ok_and(|other| other.same(first)))
        {
            return Ok((self.pattern.shape().wide_size() > self.pattern.nnz() as u128).then_some(first));
        }
        let mut expected = None;
        for cell in self.cells_with_gaps()? {
            let found = of(self.elements[cell]).map_err(|fault| refused(op, fault, None))?;
            let (first, fill) = *expected.get_or_insert((cell, found));
            if !fill.same(found) {
                let [first, at] = [first, cell].map(|cell| self.place(cell));
                let [expected, found] = [fill, found].map(text);
                return Err(Error::FillVaries { operation: O::NAME, expected, first, found, at });
            }
        }
        Ok(expected.map(|(_, fill)| fill))
    }

    /// The cells of which not every position is stored.
    fn cells_with_gaps(&self) -> Result<Vec<usize>> {
        let mut counts: Vec<usize> = alloc::zeros(self.elements.len())?;
        let mut numbers = [0; BLOCK];
        for start in (0..self.pattern.nnz()).step_by(BLOCK) {
            let numbers = &mut numbers[..BLOCK.min(self.pattern.nnz() - start)];
            self.number(start, numbers);
            numbers.iter().for_each(|&cell| counts[cell] += 1);
        }
        let extent = self.pattern.shape().wide_size() / self.elements.len() as u128;
        let gaps = counts.iter().enumerate().filter(|(_, count)| (**count as u128) < extent).map(|(cell, _)| cell);
        Ok(alloc::collect_some(gaps)?)
    }

    /// The positions of a cell, in words.
    fn place(&self, cell: usize) -> String {
        let mut coords = vec![0; self.lengths.len()];
        unravel(cell, &self.lengths, &mut coords);
        let mut words = vec!["..".to_string(); self.pattern.shape().rank()];
        self.axes.iter().zip(coords).for_each(|(&axis, coord)| words[axis] = coord.to_string());
        format!("[{}]", words.join(", "))
    }
}
