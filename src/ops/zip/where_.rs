//! Selection of one of two elements by a condition.

use ndarray::{ArrayBase, ArrayD, CowArray, Data, Dimension, IxDyn, arr0};

use super::repeated::{as_number, elements_at};
use super::{broadcast_shape, is_repeated};
use crate::base::alloc::{self, Allocated};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::base::threads;
use crate::convert::{check_result, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::steps::{Keep, LEFT, MergeSteps, RIGHT};
use crate::ops::broadcast::in_shape;
use crate::ops::operand::Operand;
#[cfg(feature = "dynamic")]
use crate::ops::operand::{ErasedOperand, ErasedResult};
use crate::pattern::{AnyPattern, AxisCoords, Pattern};
use crate::plan::broadcast_match::whole_lengths;
use crate::plan::overlap::OverlapPlan;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// A choice of [`where_`] for a condition of type `C`.
///
/// For a sparse condition, a choice is `&tensor` of the format of the condition, or a number. For an array condition, a
/// choice is `&array` or a number. The trait is sealed.
pub trait Choice<'a, C: Operand>: Sized {
    /// The type of the elements.
    type Elem: Element;

    /// The result of two choices.
    type Chosen;

    /// A choice in the common form of its types.
    #[doc(hidden)]
    type ChoiceOperand;

    #[doc(hidden)]
    fn choice_operand(self) -> Self::ChoiceOperand;

    #[doc(hidden)]
    fn choose(condition: &C, yes: Self::ChoiceOperand, no: Self::ChoiceOperand) -> Result<Self::Chosen>;
}

/// A sparse choice.
pub enum ChoiceOperand<T> {
    /// A tensor, which shares its arrays.
    Tensor(Erased<T>),
    /// A number.
    Number(T),
    /// An array, which is looked up at the entries of the result.
    #[cfg(feature = "dynamic")]
    Array {
        array: ArrayD<T>,
        /// The lengths of the whole array, if this is a chunk.
        whole: Option<Shape>,
    },
}

macro_rules! choices {
    ($([$($generics:tt)*] $condition:ty, $choice:ty: $elem:ty, $chosen:ty, $choice_operand:ty, |$it:ident| $make:expr,
        $choose:expr;)*) => {$(
        impl<'a, $($generics)*> Choice<'a, $condition> for $choice {
            type Elem = $elem;
            type Chosen = $chosen;
            type ChoiceOperand = $choice_operand;

            fn choice_operand(self) -> Self::ChoiceOperand {
                let $it = self;
                $make
            }

            fn choose(condition: &$condition, yes: Self::ChoiceOperand, no: Self::ChoiceOperand) -> Result<Self::Chosen> {
                $choose(condition, yes, no)
            }
        }
    )*};
}

choices! {
    [P: Pattern, T: Element] Tensor<P, bool>, &'a Tensor<P, T>: T, Tensor<P, T>, ChoiceOperand<T>,
        |tensor| ChoiceOperand::Tensor(tensor.sparse().to_erased()), sparse;
    [P: Pattern, T: Element] Tensor<P, bool>, T: T, Tensor<P, T>, ChoiceOperand<T>, |number| ChoiceOperand::Number(number), sparse;
    [S: Data<Elem = bool>, D: Dimension, R: Data<Elem: Element>, E: Dimension] ArrayBase<S, D>, &'a ArrayBase<R, E>:
        R::Elem, ArrayD<R::Elem>, CowArray<'a, R::Elem, IxDyn>, |array| array.view().into_dyn().into(), dense;
    [S: Data<Elem = bool>, D: Dimension, T: Element] ArrayBase<S, D>, T: T, ArrayD<T>, CowArray<'a, T, IxDyn>,
        |number| arr0(number).into_dyn().into(), dense;
}

/// Returns the elements of `yes` or of `no`, selected by a condition.
///
/// *z*<sub>k</sub> = *a*<sub>k</sub> if *c*<sub>k</sub>, otherwise *b*<sub>k</sub>, at each position *k* of the result
/// *z*. Here, *c* is the `condition`, *a* is `yes`, and *b* is `no`.
///
/// # Shapes
///
/// The three shapes are equal, or are broadcast as in numpy. If the condition is sparse, *a* and *b* are tensors of the
/// format of the condition, or numbers. If the condition is an array, *a* and *b* are arrays or numbers.
///
/// # Implicit values
///
/// Elements are copied unchanged. At an unstored position of the condition, the fill of the condition selects the
/// choice. If that fill is `true`, the result stores the entries of *c* and of *a*, and has the fill of *a*. Otherwise
/// the result stores the entries of *c* and of *b*, and has the fill of *b*. Entries of only the other choice are not
/// stored. A tensor that consists of one stored element counts as a number, unless the result also has one position.
/// lacuna looks up the elements of the choice that the fill does not select. This choice is therefore never copied
/// along an axis.
///
/// # NaN
///
/// NaN is copied like any other value, including its payload.
///
/// # Gradient
///
/// [`grad::where_`](crate::grad::where_).
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes cannot be broadcast together;
/// - `TooLarge`: a broadcast operand or the result needs more than the larger of 1 GiB and 16 times the bytes of the
///   operands.
///
/// # Complexity
///
/// O(entries of all three operands after broadcasting), or O(elements of the result) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, where_};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-2.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 3]], vec![5.0, 6.0], 1.0)?;
/// let clipped = where_(&x.less(0.0)?, 0.0, &x)?;
/// assert_eq!(clipped.values(), [0.0, 7.0]);
/// let z = where_(&x.less(&y)?, &x, &y)?;
/// assert_eq!(z.to_dense()?, where_(&x.to_dense()?.less(&y.to_dense()?)?, &x.to_dense()?, &y.to_dense()?)?);
/// # use lacuna::prelude::*;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.where`](https://numpy.org/doc/stable/reference/generated/numpy.where.html), with three
/// arguments.
#[doc(alias = "where")]
#[doc(alias = "select")]
#[doc(alias = "if_else")]
#[doc(alias = "numpy.where")]
#[doc(alias = "torch.where")]
pub fn where_<'a, C, A, B>(condition: &C, yes: A, no: B) -> Result<A::Chosen>
where
    C: Operand<Elem = bool>,
    A: Choice<'a, C>,
    B: Choice<'a, C, Elem = A::Elem, ChoiceOperand = A::ChoiceOperand>,
{
    A::choose(condition, yes.choice_operand(), no.choice_operand())
}

fn sparse<P: Pattern, T: Element>(
    c: &Tensor<P, bool>,
    yes: ChoiceOperand<T>,
    no: ChoiceOperand<T>,
) -> Result<Tensor<P, T>> {
    Tensor::from_erased(chosen(c.sparse(), yes, no)?)
}

fn chosen<T: Element>(c: SparseRef<'_, bool>, yes: ChoiceOperand<T>, no: ChoiceOperand<T>) -> Result<Erased<T>> {
    let shape = broadcast_shape(&broadcast_shape(c.shape(), yes.lengths())?, no.lengths())?;
    let whole = broadcast_shape(&broadcast_shape(whole_lengths(c.pattern()), yes.whole())?, no.whole())?;
    let c = match as_number(c, whole_lengths(c.pattern()), &whole) {
        Some(condition) => everywhere(condition, &shape, c.pattern())?,
        None => in_shape(c, &shape)?.into_erased(),
    };
    let (main, other) = if c.fill() { (yes, no) } else { (no, yes) };
    let main = match main.numbered(&whole) {
        ChoiceOperand::Tensor(main) => in_shape(main.sparse(), &shape)?.into_erased(),
        ChoiceOperand::Number(number) => everywhere(number, &shape, c.pattern())?,
        #[cfg(feature = "dynamic")]
        ChoiceOperand::Array { .. } => {
            unreachable!("the result is an array if the choice of unstored positions is one")
        }
    };
    let OverlapPlan { pattern, steps } = OverlapPlan::new(c.pattern(), main.pattern(), Keep::UNION)?;
    let conditions = at_entries(steps.as_deref(), LEFT, c.sparse())?;
    let of_main = at_entries(steps.as_deref(), RIGHT, main.sparse())?;
    let of_other = match other.numbered(&whole) {
        ChoiceOperand::Number(number) => alloc::copies(number, pattern.nnz())?.into(),
        #[cfg(feature = "dynamic")]
        ChoiceOperand::Array { array, .. } => array.erased().in_shape(&shape)?.at_entries(&pattern)?.into(),
        ChoiceOperand::Tensor(other) if is_repeated(whole_lengths(other.pattern()), &whole) => {
            elements_at(other.sparse(), &pattern)?.into()
        }
        ChoiceOperand::Tensor(other) => {
            let other = in_shape(other.sparse(), &shape)?.into_erased();
            at_entries(
                OverlapPlan::new(&pattern, other.pattern(), Keep::LEFT)?.steps.as_deref(),
                RIGHT,
                other.sparse(),
            )?
        }
    };
    let values = threads::filled(pattern.nnz(), 700, |range, slots| {
        let sides = of_main[range.clone()].iter().zip(&of_other[range.clone()]);
        let choices = slots.iter_mut().zip(&conditions[range]).zip(sides);
        choices.for_each(|((slot, &found), (main, other))| *slot = if found == c.fill() { *main } else { *other });
    })?;
    Ok(Tensor::from_valid(pattern, values, main.fill()))
}

impl<T: Element> ChoiceOperand<T> {
    fn lengths(&self) -> &[usize] {
        match self {
            ChoiceOperand::Tensor(tensor) => tensor.shape(),
            ChoiceOperand::Number(_) => &[],
            #[cfg(feature = "dynamic")]
            ChoiceOperand::Array { array, .. } => array.shape(),
        }
    }

    /// Returns the lengths of the whole operand that this is a chunk of.
    fn whole(&self) -> &[usize] {
        match self {
            ChoiceOperand::Tensor(tensor) => whole_lengths(tensor.pattern()),
            ChoiceOperand::Number(_) => &[],
            #[cfg(feature = "dynamic")]
            ChoiceOperand::Array { array, whole } => whole.as_deref().unwrap_or(array.shape()),
        }
    }

    /// Returns a number, if the choice is a single stored element that is repeated.
    fn numbered(self, whole: &Shape) -> Self {
        match self {
            ChoiceOperand::Tensor(tensor) => as_number(tensor.sparse(), whole_lengths(tensor.pattern()), whole)
                .map_or(ChoiceOperand::Tensor(tensor), ChoiceOperand::Number),
            other => other,
        }
    }
}

/// Returns a tensor without entries in the format of `like`; each position holds the number.
fn everywhere<T: Element>(number: T, shape: &Shape, like: &AnyPattern) -> Result<Erased<T>> {
    let axes = vec![AxisCoords::empty(like.width_for(shape)); shape.rank()];
    Ok(Tensor::from_valid(like.of_coords(shape.clone(), 0, axes, default_limit(0))?, Vec::new(), number))
}

/// Returns the element of a tensor for each entry of a join; all values of the tensor if the list of steps is empty.
fn at_entries<T: Element>(steps: Option<&MergeSteps>, side: u8, x: SparseRef<'_, T>) -> Allocated<Buffer<T>> {
    match steps {
        Some(steps) => steps.take(side, x.values(), x.fill()).map(Buffer::from),
        None => Ok(x.shared_values().clone()),
    }
}

/// Selects one of two elements of dynamically typed operands. The result is an array if the condition is an array, or
/// the choice of unstored positions.
#[cfg(feature = "dynamic")]
pub(crate) fn where_run_time<T: Element>(
    condition: &ErasedOperand<'_, bool>,
    yes: &ErasedOperand<'_, T>,
    no: &ErasedOperand<'_, T>,
) -> Result<ErasedResult<T>> {
    let choice_operand = |choice: &ErasedOperand<'_, T>| match choice {
        ErasedOperand::Sparse(x) => ChoiceOperand::Tensor(x.sparse().to_erased()),
        ErasedOperand::Array(x) => ChoiceOperand::Array { array: x.array.to_owned(), whole: x.whole.clone() },
    };
    if let ErasedOperand::Sparse(c) = condition {
        let c = c.sparse();
        let own = whole_lengths(c.pattern());
        let whole = broadcast_shape(&broadcast_shape(own, yes.whole_lengths())?, no.whole_lengths())?;
        let fill_choice = as_number(c, own, &whole).unwrap_or(c.fill());
        let is_sparse = |choice: &ErasedOperand<'_, T>| matches!(choice, ErasedOperand::Sparse(_));
        if if fill_choice { is_sparse(yes) } else { is_sparse(no) } {
            return Ok(chosen(c, choice_operand(yes), choice_operand(no))?.into());
        }
    }
    Ok(dense(&condition.dense()?, yes.dense()?, no.dense()?)?.into())
}

fn dense<S: Data<Elem = bool>, D: Dimension, T: Element>(
    c: &ArrayBase<S, D>,
    yes: CowArray<'_, T, IxDyn>,
    no: CowArray<'_, T, IxDyn>,
) -> Result<ArrayD<T>> {
    let shape = broadcast_shape(&broadcast_shape(c.shape(), yes.shape())?, no.shape())?;
    check_result::<T>(&shape, dense_bytes(c).saturating_add(dense_bytes(&yes)).saturating_add(dense_bytes(&no)))?;
    let in_shape = "the shape is that of all";
    let c = c.view().into_dyn();
    let c = c.broadcast(IxDyn(&shape)).expect(in_shape);
    let sides = (yes.broadcast(IxDyn(&shape)).expect(in_shape), no.broadcast(IxDyn(&shape)).expect(in_shape));
    let choices = c.iter().zip(sides.0.iter().zip(&sides.1));
    let mut chosen = alloc::with_capacity(c.len())?;
    chosen.extend(choices.map(|(&condition, (&yes, &no))| if condition { yes } else { no }));
    Ok(dense_array(&shape, chosen))
}
