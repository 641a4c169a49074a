//! The gradients of binary operations.
//!
//! The gradient of a repeated operand is an exact sum over the positions to which it is repeated. With a sparse
//! upstream gradient the sum visits only stored entries. Unstored positions are added by their count.

use super::{broadcast_shape, has_other_lengths};
use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::base::threads;
use crate::element::{Accumulator, Element, Float, Numeric, Ring};
use crate::kernels::sort;
use crate::kernels::steps::Keep;
use crate::ops::broadcast::gradient_of;
use crate::ops::operand::{ErasedOperand, Operand};
use crate::ops::reduce::check_upstream;
use crate::pattern::AnyPattern;
use crate::plan::broadcast_match::{BroadcastMatch, occurrences, repeated_count};
use crate::plan::broadcast_union::BroadcastUnion;
use crate::plan::overlap::OverlapPlan;

/// Returns the shape of the result; rejects an upstream gradient of another shape.
fn shape_of<X: Operand, Y: Operand, U: Operand>(x: &X, y: &Y, upstream: &U) -> Result<Shape> {
    let shape = broadcast_shape(x.lengths(), y.lengths())?;
    check_upstream(upstream, &shape)?;
    Ok(shape)
}

/// A function that writes the gradients of one operand. Its arguments are upstream gradients, elements on the left,
/// elements on the right, and the results.
type Block<T> = fn(&[T], &[T], &[T], &mut [T]);

/// Applies `of` to each gradient and its elements. The result of a zero gradient is +0.0, for any elements.
fn each<T: Float>(gradients: &[T], left: &[T], right: &[T], slots: &mut [T], of: impl Fn(T, T, T) -> Option<T>) {
    let elements = left.iter().zip(right);
    for ((slot, &gradient), (&left, &right)) in slots.iter_mut().zip(gradients).zip(elements) {
        // Operations on floats always have a result.
        let contribution = if gradient.is_truthy() { of(gradient, left, right) } else { None };
        *slot = contribution.unwrap_or(T::ZERO);
    }
}

/// One of two operands, with the rules for the gradients of its elements.
struct GradientSide<'a, T: Clone> {
    own: &'a ErasedOperand<'a, T>,
    other: &'a ErasedOperand<'a, T>,
    is_left: bool,
    block: Block<T>,
    /// The gradient of a stored entry without a partner, if its result is stored; for stored views only.
    unpaired: Option<fn(T) -> T>,
}

/// The gradients of the elements of an operand, and their shape: its own shape, or a shape that it is broadcast to.
type Received<T> = (Vec<T>, Shape);

impl<T: Float + Numeric> GradientSide<'_, T> {
    /// Computes the gradient of the operand for a result of this shape.
    fn gradient(&self, upstream: &ErasedOperand<'_, T>, shape: &Shape) -> Result<Received<T>> {
        if has_other_lengths(self.own.lengths(), shape) {
            let sums = match self.positions(upstream, shape)? {
                Some(at) => self.summed(upstream, &at, shape)?,
                None => self.summed_in_pieces(upstream, shape)?,
            };
            return Ok((sums, Shape::from(self.own.lengths())));
        }
        let own = self.own.in_shape(shape)?;
        let gradients = own.elements_of(upstream)?;
        let received =
            self.received(&gradients, &own.elements_of(&own)?, &own.elements_at_result(self.other, shape)?)?;
        let is_met = |marks: &ErasedOperand<'_, bool>| own.elements_at_result(marks, shape);
        Ok((self.of_entries(received, gradients, &is_met)?, shape.clone()))
    }

    fn counts_unstored(&self) -> bool {
        self.own.counts_unstored() && self.other.counts_unstored()
    }

    /// Applies the block to each gradient and the elements of both operands.
    fn received(&self, gradients: &[T], own: &[T], other: &[T]) -> Result<Vec<T>> {
        let (left, right) = if self.is_left { (own, other) } else { (other, own) };
        let block = self.block;
        Ok(threads::filled(gradients.len(), 2000, |range, slots| {
            block(&gradients[range.clone()], &left[range.clone()], &right[range], slots);
        })?)
    }

    /// Returns the gradients of the entries of an operand. If an operand is a stored view, an entry keeps its received
    /// gradient only if the other operand has an element too. An entry without a partner receives the gradient of its
    /// own result, if that result exists. An array element without a partner does not have a result.
    fn of_entries(&self, received: Vec<T>, gradients: Vec<T>, is_met: &HasPartner<'_>) -> Result<Vec<T>> {
        let marks = if self.counts_unstored() { None } else { self.other.marks()? };
        let Some(marks) = marks else { return Ok(received) };
        let unpaired = if self.own.is_sparse() { self.unpaired } else { None };
        let of_alone =
            |gradient: T| unpaired.filter(|_| gradient.is_truthy()).map_or(T::ZERO, |unpaired| unpaired(gradient));
        let all = received.into_iter().zip(gradients).zip(is_met(&marks)?);
        Ok(alloc::collect(all.map(|((met, gradient), is_met)| if is_met { met } else { of_alone(gradient) }))?)
    }

    /// Returns the positions of the result that a sum for a repeated operand visits one by one. `None` means all
    /// positions at which the operand has an entry. At all other positions the upstream gradient is equal to its fill.
    /// The other operand is equal to its fill there too, unless the fill of the upstream gradient is zero. For stored
    /// views, the positions are the entries of an operand that is not repeated: these are all positions of the result.
    fn positions(&self, upstream: &ErasedOperand<'_, T>, shape: &Shape) -> Result<Option<AnyPattern>> {
        let is_other_alike = !has_other_lengths(self.other.lengths(), shape);
        if !self.counts_unstored() {
            return match is_other_alike {
                true => self.other.in_shape(shape)?.entries(),
                false => Ok(None),
            };
        }
        let Some(entries) = upstream.entries()? else { return Ok(None) };
        if nonzero_fill(upstream).is_none() {
            return Ok(Some(entries));
        }
        match is_other_alike {
            true => match self.other.in_shape(shape)?.entries()? {
                Some(other) => Ok(Some(OverlapPlan::new(&entries, &other, Keep::UNION)?.pattern)),
                None => Ok(None),
            },
            false => Ok(None),
        }
    }

    /// Computes the gradient of each entry of a repeated operand: the sum over the given positions and over all other
    /// positions.
    fn summed(&self, upstream: &ErasedOperand<'_, T>, at: &AnyPattern, shape: &Shape) -> Result<Vec<T>> {
        let pattern = every_entry(self.own)?;
        let (own, other) = (self.own.at_result_entries(at, shape)?, self.other.at_result_entries(at, shape)?);
        let received = self.received(&upstream.at_entries(at)?, &own, &other)?;
        let (mut totals, broadcast_match) = (GradientSums::new(pattern.nnz())?, BroadcastMatch::new(&pattern, at)?);
        totals.add_visited(|add| broadcast_match.visit(add), &received);
        let implicit = if self.counts_unstored() { nonzero_fill(upstream) } else { None };
        if let Some(implicit) = implicit {
            let other = self.other.implicit_with_count().map_or(T::ZERO, |(fill, _)| fill);
            let (own, count) = (self.own.elements_of(self.own)?, pattern.nnz());
            let of_unstored = self.received(&alloc::copies(implicit, count)?, &own, &alloc::copies(other, count)?)?;
            totals.add_times(&of_unstored, &broadcast_match.counts()?, occurrences(&pattern, shape));
        }
        totals.sums()
    }

    /// Computes the gradient of each entry of a repeated operand: the sum over all positions to which it is repeated.
    /// The positions are written out in chunks.
    fn summed_in_pieces(&self, upstream: &ErasedOperand<'_, T>, shape: &Shape) -> Result<Vec<T>> {
        let own = self.own.elements_of(self.own)?;
        summed_in_pieces(self.own, shape, (upstream, self.other), &mut |at, numbers| {
            let gradients = upstream.at_entries(at)?;
            let other = self.other.at_result_entries(at, shape)?;
            let received = self.received(&gradients, &sort::gather(&own, numbers)?, &other)?;
            self.of_entries(received, gradients, &|marks| marks.at_result_entries(at, shape))
        })
    }
}

/// A function that returns for each entry whether the other operand has an element there, according to its marks.
type HasPartner<'a> = dyn Fn(&ErasedOperand<'_, bool>) -> Result<Vec<bool>> + 'a;

/// The sums of the gradients that the entries of a repeated operand receive.
struct GradientSums<T: Float>(Vec<<T as Ring>::Total>);

impl<T: Float> GradientSums<T> {
    /// Returns empty sums for `entries` entries, and one more for positions without an entry.
    fn new(entries: usize) -> Allocated<Self> {
        let mut totals = alloc::with_capacity(entries + 1)?;
        totals.resize(entries + 1, <T as Ring>::Total::default());
        Ok(GradientSums(totals))
    }

    /// Adds the received gradients, in the order in which `visit` reports the indices of their entries.
    fn add_visited(&mut self, visit: impl FnOnce(&mut dyn FnMut(usize)), received: &[T]) {
        let mut received = received.iter();
        visit(&mut |number| received.next().into_iter().for_each(|&received| self.0[number].add(received)));
    }

    /// Adds the gradient of each entry for `times` positions, minus the positions that `counts` has for the entry.
    fn add_times(&mut self, received: &[T], counts: &[usize], times: u128) {
        for ((total, &received), &count) in self.0.iter_mut().zip(received).zip(counts) {
            total.add_times(received, times.saturating_sub(count as u128));
        }
    }

    fn sums(mut self) -> Result<Vec<T>> {
        self.0.pop();
        Ok(alloc::collect(self.0.iter().map(|total| T::sum_of(total).unwrap_or(T::NAN)))?)
    }
}

/// A function that returns the gradients of the entries with these indices at the positions of a pattern.
type Receive<'a, T> = dyn FnMut(&AnyPattern, &[usize]) -> Result<Vec<T>> + 'a;

/// Computes the sum of the gradients that each entry of a repeated operand receives, over all its positions. For each
/// chunk of positions, `receive` returns the gradients of the entries there. `receive` looks up the elements of the
/// other operands.
fn summed_in_pieces<O: Element, A: Element, B: Element, T: Float>(
    own: &ErasedOperand<'_, O>,
    shape: &Shape,
    (a, b): (&ErasedOperand<'_, A>, &ErasedOperand<'_, B>),
    receive: &mut Receive<'_, T>,
) -> Result<Vec<T>> {
    let pattern = every_entry(own)?;
    let count = repeated_count(&pattern, shape);
    let limit = default_limit(own.held_bytes().saturating_add(a.held_bytes()).saturating_add(b.held_bytes()));
    guard::<T>("the elements of a repeated operand", count, limit, "use an upstream gradient with fill 0")?;
    let mut totals = GradientSums::new(pattern.nnz())?;
    if count > 0 {
        // A lookup may walk all entries of an operand, so a chunk has at least as many positions.
        let most = PIECE.max(a.entry_count()).max(b.entry_count()).min(count as usize);
        BroadcastUnion::new(&pattern, &pattern, shape)?.pieces(most, &mut |at, numbers| {
            let received = receive(at, numbers)?;
            totals.add_visited(|add| numbers.iter().copied().for_each(add), &received);
            Ok(())
        })?;
    }
    totals.sums()
}

/// Minimum number of positions of a chunk, unless there are fewer in total.
const PIECE: usize = 1 << 18;

/// Returns the entries of a sparse operand, or all positions of an array.
fn every_entry<T: Element>(operand: &ErasedOperand<'_, T>) -> Result<AnyPattern> {
    match operand.entries()? {
        Some(entries) => Ok(entries),
        None => Ok(AnyPattern::every_position(&Shape::from(operand.lengths()), Width::U64)?),
    }
}

/// Returns the value of an upstream gradient at unstored positions, if there are any and it is not zero.
fn nonzero_fill<G: Element>(upstream: &ErasedOperand<'_, G>) -> Option<G> {
    upstream.implicit_with_count().filter(|(fill, count)| fill.is_truthy() && *count > 0).map(|(fill, _)| fill)
}

/// The gradients of both operands of an operation.
pub(crate) type Gradients<X, Y, T> = (<X as Operand>::Reduced<T>, <Y as Operand>::Reduced<T>);

/// The gradients of stored entries without a partner, on the left and on the right.
pub(crate) type Unpaired<T> = [Option<fn(T) -> T>; 2];

/// The gradient of a binary operation, element by element. `None` is a gradient of 0.
pub(crate) trait Differentiable: Copy + Default {
    /// Returns the gradient of the left element.
    fn to_left<T: Float + Numeric>(gradient: T, left: T, right: T) -> Option<T>;

    /// Returns the gradient of the right element.
    fn to_right<T: Float + Numeric>(gradient: T, left: T, right: T) -> Option<T>;

    /// Returns the gradient of a stored entry without a partner on either side, if its result is stored.
    fn unpaired<T: Float + Numeric>() -> Unpaired<T> {
        [None, None]
    }
}

/// Returns the gradients of both operands of an operation.
pub(crate) fn gradients<D, X, Y, U>(_: D, x: &X, y: &Y, upstream: &U) -> Result<Gradients<X, Y, U::Elem>>
where
    D: Differentiable,
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float + Numeric>,
{
    let shape = shape_of(x, y, upstream)?;
    let [alone_left, alone_right] = D::unpaired();
    let (of_left, of_right, upstream) = (x.erased(), y.erased(), upstream.erased());
    let block: Block<U::Elem> = |g, x, y, slots| each(g, x, y, slots, D::to_left);
    let left = GradientSide { own: &of_left, other: &of_right, is_left: true, block, unpaired: alone_left };
    let (dx, dx_shape) = left.gradient(&upstream, &shape)?;
    let dx = X::restore(gradient_of(&of_left, dx, &dx_shape)?)?;
    let block: Block<U::Elem> = |g, x, y, slots| each(g, x, y, slots, D::to_right);
    let right = GradientSide { own: &of_right, other: &of_left, is_left: false, block, unpaired: alone_right };
    let (dy, dy_shape) = right.gradient(&upstream, &shape)?;
    Ok((dx, Y::restore(gradient_of(&of_right, dy, &dy_shape)?)?))
}

/// Returns the gradients of [`where_`](crate::where_()): *dz* for the selected choice.
///
/// *da* = *dz* if the condition holds, otherwise 0; *db* = 0 if the condition holds, otherwise *dz*. Here, *da* is the
/// gradient of `yes`, *db* is the gradient of `no`, and *dz* is `upstream`.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand. The gradient of
/// a broadcast element is the sum over all its positions, [exact](crate::sum()) and rounded once. The gradient of a
/// number is a value of rank 0, `ndarray::arr0`.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. Its stored values are
/// equal to the gradient of the dense operand at the same positions. At unstored positions, the condition and
/// `upstream` have their fills.
///
/// # NaN
///
/// Gradients are passed on unchanged, except that a zero is `+0.0`.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradient. The condition does not
/// have a gradient.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes cannot be broadcast together;
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `TooLarge`: the elements of a broadcast choice exceed both 1 GiB and 16 times the bytes of the choice, the
///   condition and `upstream`.
///
/// # Complexity
///
/// O(entries) per sparse operand after broadcasting and O(elements) per array, and a search of at most O(rank ·
/// log(entries)) per entry.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
///
/// let x = CooTensor::new([3], vec![vec![0, 1]], vec![-2.0, 7.0], 0.0)?;
/// let y = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, 6.0], 0.0)?;
/// let upstream = ndarray::arr1(&[10.0, 20.0, 30.0]);
/// let (dx, dy) = grad::where_(&x.less(0.0)?, &x, &y, &upstream)?;
/// assert_eq!((dx.values(), dy.values()), (&[10.0, 0.0][..], &[0.0, 30.0][..]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: [`torch.where`](https://docs.pytorch.org/docs/stable/generated/torch.where.html) and its gradient.
pub fn where_backward<C, A, B, U>(condition: &C, yes: &A, no: &B, upstream: &U) -> Result<Gradients<A, B, U::Elem>>
where
    C: Operand<Elem = bool>,
    A: Operand,
    B: Operand,
    U: Operand<Elem: Float>,
{
    let shape = broadcast_shape(&broadcast_shape(condition.lengths(), yes.lengths())?, no.lengths())?;
    check_upstream(upstream, &shape)?;
    let (condition, upstream) = (condition.erased(), upstream.erased());
    let (yes, no) = (yes.erased(), no.erased());
    let (of_yes, yes_shape) = chosen(&yes, &condition, true, &upstream, &shape)?;
    let of_yes = A::restore(gradient_of(&yes, of_yes, &yes_shape)?)?;
    let (of_no, no_shape) = chosen(&no, &condition, false, &upstream, &shape)?;
    Ok((of_yes, B::restore(gradient_of(&no, of_no, &no_shape)?)?))
}

/// Computes the gradient of one choice: the upstream gradient if the condition is `choice`, and +0.0 otherwise.
fn chosen<T: Element, G: Float>(
    own: &ErasedOperand<'_, T>,
    condition: &ErasedOperand<'_, bool>,
    choice: bool,
    upstream: &ErasedOperand<'_, G>,
    shape: &Shape,
) -> Result<Received<G>> {
    let contribution = |gradients: Vec<G>, conditions: Vec<bool>| {
        let is_given = |(g, found): (G, bool)| if found == choice && g.is_truthy() { g } else { G::ZERO };
        alloc::collect(gradients.into_iter().zip(conditions).map(is_given))
    };
    if !has_other_lengths(own.lengths(), shape) {
        let wide = own.in_shape(shape)?;
        let elements = contribution(wide.elements_of(upstream)?, wide.elements_at_result(condition, shape)?)?;
        return Ok((elements, shape.clone()));
    }
    let received =
        |at: &AnyPattern| Ok(contribution(upstream.at_entries(at)?, condition.at_result_entries(at, shape)?)?);
    let sums = match upstream.entries()? {
        Some(at) if nonzero_fill(upstream).is_none() => {
            let pattern = every_entry(own)?;
            let mut totals = GradientSums::new(pattern.nnz())?;
            let broadcast_match = BroadcastMatch::new(&pattern, &at)?;
            totals.add_visited(|add| broadcast_match.visit(add), &received(&at)?);
            totals.sums()?
        }
        _ => summed_in_pieces(own, shape, (upstream, condition), &mut |at, _| received(at))?,
    };
    Ok((sums, Shape::from(own.lengths())))
}
