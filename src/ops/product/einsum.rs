//! Sums of products over named axes of any number of operands.

use std::borrow::Cow;

use super::spec::{Label, Spec, wrong};
use super::whole::Whole;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Float, Ring};
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;

/// The options of [`einsum`](einsum()); a plain string converts to it.
///
/// # Examples
///
/// ```
/// use lacuna::{Einsum, einsum};
/// use ndarray::Array2;
///
/// let x = Array2::<f64>::ones((2, 2));
/// let last_first = Einsum::of("ij,jk,kl->il").order([[1, 2], [0, 1]]);
/// assert_eq!(einsum(last_first, &[&x, &x, &x])?[[0, 0]], 4.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Einsum<'a> {
    /// The labels of all axes.
    pub spec: Cow<'a, str>,
    /// Which two are multiplied in each step, by their places in the list that is left; the product takes the place of
    /// the first. From left to right if there is none.
    pub order: Option<Vec<[usize; 2]>>,
}

impl<'a> Einsum<'a> {
    /// The sum that a string names.
    pub fn of(spec: impl Into<Cow<'a, str>>) -> Self {
        Einsum { spec: spec.into(), order: None }
    }

    /// Which two are multiplied in each step, by their places in the list that is left; the product takes the place of
    /// the first.
    pub fn order(self, order: impl Into<Vec<[usize; 2]>>) -> Self {
        Einsum { order: Some(order.into()), ..self }
    }

    /// The same, which borrows nothing.
    pub(crate) fn into_owned(self) -> Einsum<'static> {
        Einsum { spec: self.spec.into_owned().into(), order: self.order }
    }

    /// The shape of the result for operands with these lengths.
    pub(crate) fn shape(&self, lengths: &[&[usize]]) -> Result<Shape> {
        let spec = Spec::new(&self.spec, lengths)?;
        spec.check(lengths)?;
        Ok(spec.shape(lengths))
    }
}

impl<'a> From<&'a str> for Einsum<'a> {
    fn from(spec: &'a str) -> Self {
        Einsum::of(spec)
    }
}

impl From<String> for Einsum<'_> {
    fn from(spec: String) -> Self {
        Einsum::of(spec)
    }
}

impl<'a> From<&'a Einsum<'_>> for Einsum<'a> {
    fn from(options: &'a Einsum<'_>) -> Self {
        Einsum { spec: Cow::Borrowed(&options.spec), order: options.order.clone() }
    }
}

/// What one step did, so that it can be undone for gradients.
enum Done<T> {
    Diagonal { of: Whole<T>, kept: Vec<usize> },
    Sum { of: Whole<T>, axes: Vec<usize> },
    Order(Vec<usize>),
    Shape(Shape),
}

/// What was done to one operand or product, from one number to another, or to two.
enum Noted<T> {
    One(usize, Done<T>, usize),
    Two([usize; 2], Box<[Whole<T>; 2]>, usize),
}

/// Everything that was done, if anybody wants to know.
struct Notes<T> {
    list: Option<Vec<Noted<T>>>,
    numbers: usize,
}

impl<T> Notes<T> {
    fn next(&mut self) -> usize {
        self.numbers += 1;
        self.numbers - 1
    }
}

/// An operand or a product on the way, with the labels of its axes.
struct Named<T> {
    whole: Whole<T>,
    labels: Vec<Label>,
    number: usize,
    /// What it is, for errors.
    name: String,
}

impl<T: Ring> Named<T> {
    fn axis(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|&own| own == label)
    }

    /// As something else, with what was done to become that.
    fn becomes(
        self,
        whole: Whole<T>,
        labels: Vec<Label>,
        done: impl FnOnce(Whole<T>) -> Done<T>,
        notes: &mut Notes<T>,
    ) -> Self {
        let number = notes.next();
        if let Some(list) = &mut notes.list {
            list.push(Noted::One(self.number, done(self.whole), number));
        }
        Named { whole, labels, number, name: self.name }
    }

    /// Without the axes that repeat a label: of these only equal coordinates count.
    fn without_repetitions(mut self, notes: &mut Notes<T>) -> Result<Self> {
        while let Some((first, second)) = repeated(&self.labels) {
            let (whole, kept) = self.whole.diagonal(first, second)?;
            let mut labels = self.labels.clone();
            labels.remove(second);
            self = self.becomes(whole, labels, |of| Done::Diagonal { of, kept }, notes);
        }
        Ok(self)
    }

    /// Exact sums over the labels that nobody needs.
    fn summed(self, is_needed: impl Fn(Label) -> bool, notes: &mut Notes<T>) -> Result<Self> {
        let axes: Vec<usize> = (0..self.labels.len()).filter(|&axis| !is_needed(self.labels[axis])).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.iter().copied().filter(|&label| is_needed(label)).collect();
        let whole = self.whole.summed(&axes)?;
        Ok(self.becomes(whole, labels, |of| Done::Sum { of, axes }, notes))
    }

    /// With its axes in the order of some labels, which are its own.
    fn ordered(self, labels: &[Label], notes: &mut Notes<T>) -> Result<Self> {
        let order: Vec<usize> = labels.iter().filter_map(|&label| self.axis(label)).collect();
        if order.is_sorted() {
            return Ok(self);
        }
        let whole = self.whole.permuted(&order)?;
        Ok(self.becomes(whole, labels.to_vec(), |_| Done::Order(order), notes))
    }

    /// In another shape, whose axes have no labels of their own.
    fn reshaped(self, shape: &Shape, notes: &mut Notes<T>) -> Result<Self> {
        if *self.whole.lengths() == **shape {
            return Ok(self);
        }
        let (whole, labels) = (self.whole.reshaped(shape)?, self.labels.clone());
        Ok(self.becomes(whole, labels, |of| Done::Shape(of.lengths().into()), notes))
    }

    fn length_of(&self, label: Label) -> Option<usize> {
        Some(self.whole.lengths()[self.axis(label)?])
    }

    /// The product of the lengths of some labels.
    fn length(&self, labels: &[Label]) -> Result<usize> {
        let lengths: Shape = labels.iter().filter_map(|&label| self.length_of(label)).collect();
        lengths.checked_size().ok_or(Error::AxisOverflow { axis: 0 })
    }

    /// As matrices: with an axis for each of the lists of labels, the first of which may be left out.
    fn in_matrices(self, lists: [&[Label]; 3], notes: &mut Notes<T>) -> Result<Self> {
        let lengths = lists.iter().map(|labels| self.length(labels)).collect::<Result<Vec<_>>>()?;
        let from = usize::from(lists[0].is_empty());
        self.ordered(&lists.concat(), notes)?.reshaped(&lengths[from..].into(), notes)
    }

    fn text(&self) -> String {
        text(&self.labels)
    }
}

/// Two axes of one label.
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

/// The product of two operands, each label of which is needed or stands in both.
fn product<T: Ring>(
    left: Named<T>,
    right: Named<T>,
    is_needed: impl Fn(Label) -> bool,
    (step, notes): (usize, &mut Notes<T>),
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
    let whole = left.whole.product(&right.whole)?;
    let number = notes.next();
    if let Some(list) = &mut notes.list {
        list.push(Noted::Two([left.number, right.number], Box::new([left.whole, right.whole]), number));
    }
    Named { whole, labels, number, name }.reshaped(&shape, notes)
}

/// Which two are multiplied in each step, each of them there.
fn order_of(order: Option<&[[usize; 2]]>, count: usize) -> Result<Vec<[usize; 2]>> {
    let Some(order) = order else { return Ok(vec![[0, 1]; count.saturating_sub(1)]) };
    if order.len() + 1 != count {
        return wrong(format!("an order of {} steps leaves no single one of {count} operands", order.len()));
    }
    for (step, &[a, b]) in order.iter().enumerate() {
        if a == b || a.max(b) >= count - step {
            return wrong(format!("step {step} of the order takes {a} and {b} of {} operands", count - step));
        }
    }
    Ok(order.to_vec())
}

/// Refuses what is not finite beside zeros that are not stored.
fn check_finite<T: Ring>(named: &Named<T>, is_left: bool) -> Result<()> {
    let Some((coords, value)) = named.whole.first_not_finite() else { return Ok(()) };
    let found = format!("{} in {}", value.to_number(), named.name);
    let zero = "an implicit 0".to_string();
    let (left, right) = if is_left { (found, zero) } else { (zero, found) };
    Err(Error::NonFinite { operation: "einsum", left, right, coords })
}

/// The sum of products of operands, which have the first numbers; where zeros that are not stored count, what is not
/// finite is refused.
fn contract<T: Ring>(
    spec: &Spec,
    order: Option<&[[usize; 2]]>,
    wholes: Vec<Whole<T>>,
    counts_zeros: bool,
    notes: &mut Notes<T>,
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
        if counts_zeros {
            check_finite(&left, true)?;
            check_finite(&right, false)?;
        }
        let product = product(left, right, is_needed, (step, notes))?;
        list.insert(if a < b { a } else { a - 1 }, product);
    }
    let Some(last) = list.pop() else { return wrong("there are no operands".into()) };
    let last = last.summed(|label| spec.result.contains(&label), notes)?;
    last.ordered(&spec.result, notes)
}

/// The gradients of the operands, from that of the result.
fn undo<T: Float>(notes: Notes<T>, last: usize, gradient: Whole<T>, count: usize) -> Result<Vec<Option<Whole<T>>>> {
    let mut gradients: Vec<Option<Whole<T>>> = (0..notes.numbers).map(|_| None).collect();
    gradients[last] = Some(gradient);
    for noted in notes.list.unwrap_or_default().into_iter().rev() {
        match noted {
            Noted::One(from, done, to) => {
                let Some(gradient) = gradients[to].take() else { continue };
                gradients[from] = Some(done.undo(&gradient)?);
            }
            Noted::Two([left, right], wholes, to) => {
                let Some(gradient) = gradients[to].take() else { continue };
                let (of_left, of_right) = wholes[0].product_backward(&wholes[1], &gradient)?;
                (gradients[left], gradients[right]) = (Some(of_left), Some(of_right));
            }
        }
    }
    gradients.truncate(count);
    Ok(gradients)
}

impl<T: Float> Done<T> {
    fn undo(self, gradient: &Whole<T>) -> Result<Whole<T>> {
        match self {
            Done::Diagonal { of, kept } => of.put_back(gradient, &kept),
            Done::Sum { of, axes } => of.spread(gradient, &axes),
            Done::Shape(shape) => gradient.reshaped(&shape),
            Done::Order(order) => {
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
                gradient.permuted(&back)
            }
        }
    }
}

/// The labels and the operands, which fit each other.
fn read<X: Operand<Elem: Ring>>(options: &Einsum<'_>, operands: &[&X]) -> Result<(Spec, Vec<Whole<X::Elem>>)> {
    let lengths: Vec<&[usize]> = operands.iter().map(|x| x.lengths()).collect();
    let spec = Spec::new(&options.spec, &lengths)?;
    spec.check(&lengths)?;
    operands.iter().try_for_each(|x| x.listed()?.has_zeros("einsum").map(|_| ()))?;
    let wholes = operands.iter().map(|x| x.whole()).collect::<Result<_>>()?;
    Ok((spec, wholes))
}

/// The sum of products that a string names: Einstein's convention, for any number of operands.
///
/// `einsum("ij,jk->ik", &[&x, &y])` is *z*<sub>ik</sub> = Σ<sub>j</sub> *x*<sub>ij</sub> · *y*<sub>jk</sub>.
///
/// Each letter is an axis. One that two operands share goes through both at once; one that the result has not is
/// summed; one that an operand repeats takes its diagonal. Without `->` the result has the letters that stand once, by
/// the alphabet. `...` stands for all axes that no letter names, the same in every operand, counted from the last.
/// Spaces count for nothing.
///
/// Operands are multiplied two at a time, from left to right or in the order of [`Einsum::order`]: first what one of
/// both has alone and nobody needs is summed, exactly and rounded once; then the products are added from +0.0, in
/// row-major order of the axes that go as the left one has them, each product and sum rounded, and nothing fused
/// (16-bit floats in `f32`; integers exact; `bool` "or" of "and"s). So a single operand is summed exactly, or only
/// moved.
///
/// # Shapes
///
/// Axes of one letter have one length. Operands are of one kind: tensors of one format and index type, or arrays.
///
/// # Implicit values
///
/// Fills must be zero; the result has a fill of zero, and stores a position where operands store what meets there. Of
/// stored views the entries count alone.
///
/// # NaN
///
/// NaN times anything is NaN. An entry that is not finite, of an operand or of a product on the way, is an error beside
/// zeros that are not stored, as it is for [`matmul`](crate::matmul()); not of stored views.
///
/// # Gradient
///
/// [`einsum_backward`].
///
/// # Errors
///
/// - `Argument`: the string says nothing that fits the operands, with the place; a fill is not zero;
/// - `NonFinite`: as above, with the step that it came from;
/// - `Overflow`: an integer sum does not fit;
/// - `TooLarge`: a product on the way, or the result, is out of proportion to the operands;
/// - `AxisTooLong`, `AxisOverflow`: axes that are gone through as one are too long for that.
///
/// # Complexity
///
/// That of the products of matrices that it comes to.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, einsum};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 1]], vec![5.0, 7.0], 0.0)?;
/// let z = einsum("ij,jk->ik", &[&x, &y])?;
/// assert_eq!(z.entries(), [(vec![0, 1], 14.0), (vec![1, 1], 15.0)]);
/// assert_eq!(z.to_dense()?, einsum("ij,jk->ik", &[&x.to_dense()?, &y.to_dense()?])?);
/// assert_eq!(einsum("ij,ji", &[&x, &y])?.item()?, 15.0);
/// let refused = einsum("ij,j!->i", &[&x, &y]).unwrap_err();
/// assert_eq!(refused.to_string(), "einsum: '!' at 4 is no letter, `,`, `->` or `...`");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.einsum`](https://numpy.org/doc/stable/reference/generated/numpy.einsum.html).
#[doc(alias = "contract")]
pub fn einsum<'a, X: Operand<Elem: Ring>>(spec: impl Into<Einsum<'a>>, operands: &[&X]) -> Result<X::Reduced<X::Elem>> {
    let options = spec.into();
    let (spec, wholes) = read(&options, operands)?;
    let counts_zeros = operands.iter().all(|x| x.counts_gaps());
    let mut notes = Notes { list: None, numbers: 0 };
    let found = contract(&spec, options.order.as_deref(), wholes, counts_zeros, &mut notes)?;
    X::of_whole(found.whole, operands.iter().fold(0, |bytes, x| bytes.saturating_add(x.held_bytes())))
}

/// The gradients of all operands of [`einsum`](einsum()).
///
/// Each step is undone by the rule of its kind: of a product *c* = *a* · *b* of matrices it is
/// *da*<sub>ik</sub> = Σ<sub>j</sub> *dc*<sub>ij</sub> · *b*<sub>kj</sub> in eight lanes by the position of *j*, as
/// [`sddmm`](crate::CooPattern::sddmm) has them, and *db*<sub>kj</sub> = Σ<sub>i</sub> *a*<sub>ik</sub> ·
/// *dc*<sub>ij</sub> in order; each on the pattern of its operand. Sums hand theirs back to each term.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result; each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has its pattern (shared) and a fill of 0. Where `upstream` stores nothing its fill counts, or 0
/// if it is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times anything is NaN.
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`einsum`](einsum()), and `ShapeMismatch` where `upstream` has another shape than the result.
///
/// # Complexity
///
/// Twice that of the products of matrices that the forward pass comes to.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, einsum_backward};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 1]], vec![5.0, 7.0], 0.0)?;
/// let upstream = arr2(&[[1.0, 10.0], [100.0, 1000.0]]);
/// let gradients = einsum_backward("ij,jk->ik", &[&x, &y], &upstream)?;
/// assert_eq!(gradients[0].values(), [70.0, 5000.0]);
/// assert_eq!(gradients[1].values(), [3000.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn einsum_backward<'a, X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    spec: impl Into<Einsum<'a>>,
    operands: &[&X],
    upstream: &U,
) -> Result<Vec<X::Reduced<X::Elem>>> {
    let options = spec.into();
    let (spec, wholes) = read(&options, operands)?;
    let lengths: Vec<&[usize]> = operands.iter().map(|x| x.lengths()).collect();
    check_upstream(upstream, &spec.shape(&lengths))?;
    let mut notes = Notes { list: Some(Vec::new()), numbers: 0 };
    let found = contract(&spec, options.order.as_deref(), wholes, false, &mut notes)?;
    let gradient = found.whole.gradient_at(upstream)?;
    let gradients = undo(notes, found.number, gradient, operands.len())?;
    let own = gradients.into_iter().zip(operands).map(|(gradient, x)| {
        let Some(gradient) = gradient else { return wrong("an operand has no part in the result".into()) };
        X::of_whole(gradient, x.held_bytes())
    });
    own.collect()
}

/// The labels of a product over pairs of axes of two operands.
fn spec_of(lengths: [&[usize]; 2], axes: [&[isize]; 2]) -> Result<Spec> {
    if axes[0].len() != axes[1].len() {
        let (expected, found) = (axes[0].len(), axes[1].len());
        return Err(Error::LengthMismatch { what: "the axes of the right operand", expected, found });
    }
    let mut labels: Vec<Vec<Label>> = Vec::new();
    for lengths in lengths {
        let before: usize = labels.iter().map(Vec::len).sum();
        labels.push((before..before + lengths.len()).map(Label::Dots).collect());
    }
    let rank = |side: usize| lengths[side].len();
    let normalized = |side: usize| -> Result<Vec<usize>> {
        let own = axes[side].iter().map(|&axis| normalize_axis(axis, rank(side))).collect::<Result<Vec<_>>>()?;
        match (1..own.len()).find(|&at| own[..at].contains(&own[at])) {
            Some(at) => Err(Error::AxisRepeated { axis: own[at], rank: rank(side) }),
            None => Ok(own),
        }
    };
    let (left, right) = (normalized(0)?, normalized(1)?);
    for (&a, &b) in left.iter().zip(&right) {
        if lengths[0][a] != lengths[1][b] {
            let (expected, found) = (lengths[0][a], lengths[1][b]);
            let why =
                format!("axis {a} of the left operand has length {expected}, and axis {b} of the right one {found}");
            return Err(Error::Argument { operation: "tensordot", why });
        }
        labels[1][b] = labels[0][a];
    }
    let is_kept = |label: &&Label| !(labels[0].contains(label) && labels[1].contains(label));
    let result = labels.iter().flatten().filter(is_kept).copied().collect();
    Ok(Spec { operands: labels, result })
}

/// The shape of a product over pairs of axes.
pub(crate) fn tensordot_shape(lengths: [&[usize]; 2], axes: [&[isize]; 2]) -> Result<Shape> {
    Ok(spec_of(lengths, axes)?.shape(&lengths))
}

/// The product of two operands over pairs of axes: those of the left one that are named, with those of the right one.
///
/// *z*<sub>i…j…</sub> = Σ<sub>k…</sub> *x*<sub>i…k…</sub> · *y*<sub>k…j…</sub>: the axes that stay of *x*, then those
/// of *y*. The positions are summed in row-major order of the axes of *x*, whatever order they are named in; all else
/// is as for [`einsum`](einsum()).
///
/// # Shapes
///
/// The axes that are named have the same lengths, pair by pair. The result has the other axes of *x*, then those of *y*.
///
/// # Implicit values
///
/// As of [`einsum`](einsum()): fills must be zero, and the result has a fill of zero. Of stored views the entries count alone.
///
/// # NaN
///
/// As of [`einsum`](einsum()).
///
/// # Gradient
///
/// [`tensordot_backward`].
///
/// # Errors
///
/// - `LengthMismatch`: there are not as many axes of both;
/// - `AxisOutOfRange`, `AxisRepeated`: an axis is none of its operand, or is named twice;
/// - `Argument`: two axes have different lengths, or a fill is not zero;
/// - those of [`einsum`](einsum()).
///
/// # Complexity
///
/// That of the product of matrices that it comes to.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, tensordot};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2, 3], 0)?;
/// assert_eq!(tensordot(&x, &x, [1], [1])?.entries(), [(vec![0, 0], 4), (vec![1, 1], 9)]);
/// assert_eq!(tensordot(&x, &x, [0, 1], [0, 1])?.item()?, 13);
/// let dense = x.to_dense()?;
/// assert_eq!(tensordot(&x, &x, [1], [1])?.to_dense()?, tensordot(&dense, &dense, [1], [1])?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.tensordot`](https://numpy.org/doc/stable/reference/generated/numpy.tensordot.html).
pub fn tensordot<X: Operand<Elem: Ring>>(
    x: &X,
    y: &X,
    left: impl AsRef<[isize]>,
    right: impl AsRef<[isize]>,
) -> Result<X::Reduced<X::Elem>> {
    let spec = spec_of([x.lengths(), y.lengths()], [left.as_ref(), right.as_ref()])?;
    for operand in [x, y] {
        operand.listed()?.has_zeros("tensordot")?;
    }
    let mut notes = Notes { list: None, numbers: 0 };
    let counts_zeros = x.counts_gaps() && y.counts_gaps();
    let found = contract(&spec, None, vec![x.whole()?, y.whole()?], counts_zeros, &mut notes).map_err(of_tensordot)?;
    X::of_whole(found.whole, x.held_bytes().saturating_add(y.held_bytes()))
}

/// An error of the einsum that a tensordot is, by the name that the caller knows.
fn of_tensordot(mut error: Error) -> Error {
    if let Error::Overflow { operation, .. } | Error::NonFinite { operation, .. } = &mut error {
        *operation = "tensordot";
    }
    error
}

/// The gradients of both operands of [`tensordot`]: see [`einsum_backward`].
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result; each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has its pattern (shared) and a fill of 0. Where `upstream` stores nothing its fill counts, or 0
/// if it is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times anything is NaN.
///
/// # Gradient
///
/// None: gradients of gradients are not here.
///
/// # Errors
///
/// Those of [`tensordot`], and `ShapeMismatch` where `upstream` has another shape than the result.
///
/// # Complexity
///
/// Twice that of the products of matrices that the forward pass comes to.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, tensordot_backward};
/// use ndarray::arr0;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 1]], vec![5.0, 7.0], 0.0)?;
/// let (dx, dy) = tensordot_backward(&x, &y, [0, 1], [0, 1], &arr0(10.0))?;
/// assert_eq!((dx.values(), dy.values()), (&[50.0, 0.0][..], &[20.0, 0.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
#[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
pub fn tensordot_backward<X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    x: &X,
    y: &X,
    left: impl AsRef<[isize]>,
    right: impl AsRef<[isize]>,
    upstream: &U,
) -> Result<(X::Reduced<X::Elem>, X::Reduced<X::Elem>)> {
    let lengths: [&[usize]; 2] = [x.lengths(), y.lengths()];
    let spec = spec_of(lengths, [left.as_ref(), right.as_ref()])?;
    check_upstream(upstream, &spec.shape(&lengths))?;
    let mut notes = Notes { list: Some(Vec::new()), numbers: 0 };
    let found = contract(&spec, None, vec![x.whole()?, y.whole()?], false, &mut notes)?;
    let gradient = found.whole.gradient_at(upstream)?;
    let mut gradients = undo(notes, found.number, gradient, 2)?.into_iter().flatten();
    match (gradients.next(), gradients.next()) {
        (Some(dx), Some(dy)) => Ok((X::of_whole(dx, x.held_bytes())?, X::of_whole(dy, y.held_bytes())?)),
        _ => wrong("an operand has no part in the result".into()),
    }
}
