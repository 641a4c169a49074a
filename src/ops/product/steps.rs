//! Products of any number of operands with named axes, two at a time, and their gradients.

use super::spec::{Label, Spec, wrong};
use super::whole::Whole;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Float, Ring};
use crate::ops::op;
use crate::ops::operand::ErasedOperand;

/// The record of one step, which allows its gradient to be computed.
enum StepRecord<T> {
    Diagonal { of: Whole<T>, kept: Vec<usize> },
    Sum { of: Whole<T>, axes: Vec<usize> },
    Order(Vec<usize>),
    Shape(Shape),
}

/// A recorded step with the numbers of its operands and its result: of one operand or product, or of two.
enum RecordedStep<T> {
    One(usize, StepRecord<T>, usize),
    Two([usize; 2], Box<[Whole<T>; 2]>, usize),
}

/// The record of all steps; the list is kept only for gradients.
struct StepLog<T> {
    list: Option<Vec<RecordedStep<T>>>,
    numbers: usize,
}

impl<T> StepLog<T> {
    fn next(&mut self) -> usize {
        self.numbers += 1;
        self.numbers - 1
    }
}

/// An operand or an intermediate product, with the labels of its axes.
struct Named<T> {
    whole: Whole<T>,
    labels: Vec<Label>,
    number: usize,
    /// The description of the operand, for errors.
    name: String,
}

impl<T: Ring> Named<T> {
    fn axis(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|&own| own == label)
    }

    /// Replaces the operand by `whole`, and records the step.
    fn becomes(
        self,
        whole: Whole<T>,
        labels: Vec<Label>,
        done: impl FnOnce(Whole<T>) -> StepRecord<T>,
        notes: &mut StepLog<T>,
    ) -> Self {
        let number = notes.next();
        if let Some(list) = &mut notes.list {
            list.push(RecordedStep::One(self.number, done(self.whole), number));
        }
        Named { whole, labels, number, name: self.name }
    }

    /// Returns the operand without axes that repeat a label: only elements with equal coordinates on these axes remain.
    fn without_repetitions(mut self, notes: &mut StepLog<T>) -> Result<Self> {
        while let Some((first, second)) = repeated(&self.labels) {
            let (whole, kept) = self.whole.diagonal(first, second)?;
            let mut labels = self.labels.clone();
            labels.remove(second);
            self = self.becomes(whole, labels, |of| StepRecord::Diagonal { of, kept }, notes);
        }
        Ok(self)
    }

    /// Computes the exact sums over the labels that are not needed.
    fn summed(self, is_needed: impl Fn(Label) -> bool, notes: &mut StepLog<T>) -> Result<Self> {
        let axes: Vec<usize> = (0..self.labels.len()).filter(|&axis| !is_needed(self.labels[axis])).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.iter().copied().filter(|&label| is_needed(label)).collect();
        let whole = self.whole.summed(&axes)?;
        Ok(self.becomes(whole, labels, |of| StepRecord::Sum { of, axes }, notes))
    }

    /// Returns the operand with its axes in the order of `labels`, which are its own labels.
    fn ordered(self, labels: &[Label], notes: &mut StepLog<T>) -> Result<Self> {
        let order: Vec<usize> = labels.iter().filter_map(|&label| self.axis(label)).collect();
        if order.is_sorted() {
            return Ok(self);
        }
        let whole = self.whole.permuted(&order)?;
        Ok(self.becomes(whole, labels.to_vec(), |_| StepRecord::Order(order), notes))
    }

    /// Returns the operand in another shape, whose axes do not have labels of their own.
    fn reshaped(self, shape: &Shape, notes: &mut StepLog<T>) -> Result<Self> {
        if *self.whole.lengths() == **shape {
            return Ok(self);
        }
        let (whole, labels) = (self.whole.reshaped(shape)?, self.labels.clone());
        Ok(self.becomes(whole, labels, |of| StepRecord::Shape(of.lengths().into()), notes))
    }

    fn length_of(&self, label: Label) -> Option<usize> {
        Some(self.whole.lengths()[self.axis(label)?])
    }

    /// Returns the product of the lengths of some labels.
    fn length(&self, labels: &[Label]) -> Result<usize> {
        let lengths: Shape = labels.iter().filter_map(|&label| self.length_of(label)).collect();
        lengths.checked_size().ok_or(Error::AxisOverflow { axis: 0 })
    }

    /// Returns the operand as matrices, with one axis per list of labels; an empty first list adds no axis.
    fn in_matrices(self, lists: [&[Label]; 3], notes: &mut StepLog<T>) -> Result<Self> {
        let lengths = lists.iter().map(|labels| self.length(labels)).collect::<Result<Vec<_>>>()?;
        let from = usize::from(lists[0].is_empty());
        self.ordered(&lists.concat(), notes)?.reshaped(&lengths[from..].into(), notes)
    }

    fn text(&self) -> String {
        text(&self.labels)
    }
}

/// Returns two axes with the same label.
fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    let first = |second: usize| labels[..second].iter().position(|&own| own == labels[second]);
    (1..labels.len()).find_map(|second| Some((first(second)?, second)))
}

fn text(labels: &[Label]) -> String {
    let char = |label: &Label| match label {
        Label::Dots(_) => '.',
        Label::Letter(letter) => *letter,
    };
    labels.iter().map(char).collect()
}

/// Computes the product of two operands; each label is needed or belongs to both.
fn product<T: Ring>(
    left: Named<T>,
    right: Named<T>,
    is_needed: impl Fn(Label) -> bool,
    (step, notes): (usize, &mut StepLog<T>),
    counts_zeros: bool,
) -> Result<Named<T>> {
    let of_left =
        |is: &dyn Fn(Label) -> bool| left.labels.iter().copied().filter(|&label| is(label)).collect::<Vec<_>>();
    let in_both = |label: Label| right.axis(label).is_some();
    let batch = of_left(&|label| in_both(label) && is_needed(label));
    let contracted = of_left(&|label| in_both(label) && !is_needed(label));
    let rows = of_left(&|label| !in_both(label));
    let columns: Vec<Label> = right.labels.iter().copied().filter(|&label| left.axis(label).is_none()).collect();
    let labels = [&batch[..], &rows, &columns].concat();
    let length = |&label: &Label| left.length_of(label).or_else(|| right.length_of(label)).unwrap_or(1);
    let shape: Shape = labels.iter().map(length).collect();
    let name = format!("the result of step {step}, {},{}->{}", left.text(), right.text(), text(&labels));
    let left = left.in_matrices([&batch, &rows, &contracted], notes)?;
    let right = right.in_matrices([&batch, &contracted, &columns], notes)?;
    let whole = left.whole.product(&right.whole, counts_zeros.then_some(T::ZERO))?;
    let number = notes.next();
    if let Some(list) = &mut notes.list {
        list.push(RecordedStep::Two([left.number, right.number], Box::new([left.whole, right.whole]), number));
    }
    Named { whole, labels, number, name }.reshaped(&shape, notes)
}

/// Returns the two operands of each step, after checking that they exist.
fn order_of(order: Option<&[[usize; 2]]>, count: usize) -> Result<Vec<[usize; 2]>> {
    let Some(order) = order else { return Ok(vec![[0, 1]; count.saturating_sub(1)]) };
    if order.len() + 1 != count {
        return wrong(format!(
            "the order has {} steps; {count} operands require {}",
            order.len(),
            count.saturating_sub(1)
        ));
    }
    for (step, &[a, b]) in order.iter().enumerate() {
        if a == b || a.max(b) >= count - step {
            return wrong(format!("step {step} of the order contracts operands {a} and {b} of {}", count - step));
        }
    }
    Ok(order.to_vec())
}

/// Rejects values that are not finite; the other operand has unstored zeros.
fn check_finite<T: Ring>(named: &Named<T>, is_left: bool) -> Result<()> {
    let Some((coords, value)) = named.whole.first_not_finite() else { return Ok(()) };
    let found = format!("{} in {}", value.to_number(), named.name);
    let zero = "unstored 0".to_string();
    let (left, right) = if is_left { (found, zero) } else { (zero, found) };
    Err(Error::NonFinite { operation: op::einsum.name, left, right, coords })
}

/// Computes the sum of products of the operands, which have the first numbers. If unstored zeros count, values that are
/// not finite are rejected if they are multiplied by unstored zeros.
fn contract<T: Ring>(
    spec: &Spec,
    order: Option<&[[usize; 2]]>,
    wholes: Vec<Whole<T>>,
    counts_zeros: bool,
    notes: &mut StepLog<T>,
) -> Result<Named<T>> {
    let order = order_of(order, wholes.len())?;
    notes.numbers = wholes.len();
    let mut list = Vec::new();
    for (number, (whole, labels)) in wholes.into_iter().zip(&spec.operands).enumerate() {
        let named = Named { whole, labels: labels.clone(), number, name: format!("operand {number}") };
        list.push(named.without_repetitions(notes)?);
    }
    for (step, [a, b]) in order.into_iter().enumerate() {
        let (first, second) = (a.min(b), a.max(b));
        let (later, earlier) = (list.remove(second), list.remove(first));
        let (left, right) = if a < b { (earlier, later) } else { (later, earlier) };
        let is_needed =
            |label: Label| spec.result.contains(&label) || list.iter().any(|other| other.axis(label).is_some());
        let (of_left, of_right) = (left.labels.clone(), right.labels.clone());
        let left = left.summed(|label| is_needed(label) || of_right.contains(&label), notes)?;
        let right = right.summed(|label| is_needed(label) || of_left.contains(&label), notes)?;
        if counts_zeros && right.whole.has_zeros() {
            check_finite(&left, true)?;
        }
        if counts_zeros && left.whole.has_zeros() {
            check_finite(&right, false)?;
        }
        let product = product(left, right, is_needed, (step, notes), counts_zeros)?;
        list.insert(if a < b { a } else { a - 1 }, product);
    }
    let Some(last) = list.pop() else { return wrong("there are no operands".into()) };
    let last = last.summed(|label| spec.result.contains(&label), notes)?;
    last.ordered(&spec.result, notes)
}

/// Returns the gradients of the operands, from the gradient of the result.
fn undo<T: Float>(notes: StepLog<T>, last: usize, gradient: Whole<T>, count: usize) -> Result<Vec<Option<Whole<T>>>> {
    let mut gradients: Vec<Option<Whole<T>>> = (0..notes.numbers).map(|_| None).collect();
    gradients[last] = Some(gradient);
    for noted in notes.list.unwrap_or_default().into_iter().rev() {
        match noted {
            RecordedStep::One(from, done, to) => {
                let Some(gradient) = gradients[to].take() else { continue };
                gradients[from] = Some(done.undo(&gradient)?);
            }
            RecordedStep::Two([left, right], wholes, to) => {
                let Some(gradient) = gradients[to].take() else { continue };
                let (of_left, of_right) = wholes[0].product_backward(&wholes[1], &gradient)?;
                (gradients[left], gradients[right]) = (Some(of_left), Some(of_right));
            }
        }
    }
    gradients.truncate(count);
    Ok(gradients)
}

impl<T: Float> StepRecord<T> {
    fn undo(self, gradient: &Whole<T>) -> Result<Whole<T>> {
        match self {
            StepRecord::Diagonal { of, kept } => of.put_back(gradient, &kept),
            StepRecord::Sum { of, axes } => of.spread(gradient, &axes),
            StepRecord::Shape(shape) => gradient.reshaped(&shape),
            StepRecord::Order(order) => {
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
                gradient.permuted(&back)
            }
        }
    }
}

/// Computes the sum of products of operands. If unstored zeros count, values that are not finite are rejected if they
/// are multiplied by unstored zeros.
pub(super) fn contracted<T: Ring>(
    spec: &Spec,
    order: Option<&[[usize; 2]]>,
    wholes: Vec<Whole<T>>,
    counts_zeros: bool,
) -> Result<Whole<T>> {
    Ok(contract(spec, order, wholes, counts_zeros, &mut StepLog { list: None, numbers: 0 })?.whole)
}

/// Computes the gradients of the operands of a sum of products.
pub(super) fn contracted_backward<T: Float>(
    spec: &Spec,
    order: Option<&[[usize; 2]]>,
    wholes: Vec<Whole<T>>,
    upstream: &ErasedOperand<'_, T>,
) -> Result<Vec<Whole<T>>> {
    let (count, mut notes) = (wholes.len(), StepLog { list: Some(Vec::new()), numbers: 0 });
    let found = contract(spec, order, wholes, false, &mut notes)?;
    let gradient = found.whole.gradient_at(upstream)?;
    let gradients = undo(notes, found.number, gradient, count)?.into_iter().collect::<Option<_>>();
    gradients.map_or_else(|| wrong("the result does not depend on an operand".into()), Ok)
}
