//! What all elementwise operations share: one function of every element, in the format that the elements came in.

use ndarray::{Array, ArrayBase, Data, DataMut, Dimension, ShapeBuilder};

use crate::convert::dense_bytes;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pages;
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The elements that are gathered at once: enough for several threads, few enough for the cache.
const PIECE: usize = 1 << 17;

/// What elementwise operations take: tensors of both formats, and `ndarray` arrays and views of any layout.
///
/// The result of an array holds one element for each of its positions; a view that was broadcast to more than memory
/// holds cannot be given one, and the operations that return no `Result` then abort, as `ndarray`'s `mapv` does.
///
/// The trait is sealed. Its operations are functions of the crate, methods of [`Tensor`], and for arrays methods of
/// the traits in the [prelude](crate::prelude).
pub trait Elementwise: sealed::Sealed {
    /// The type of the elements.
    type Elem: Element;
    /// The same kind with elements of another type: the same pattern, or the same shape and dimension type.
    type Mapped<U: Element>;

    /// The number of elements that are worked on: the stored entries and the fill, or all elements of an array.
    #[doc(hidden)]
    fn element_count(&self) -> usize;

    /// The bytes of memory behind them; a broadcast array has no more than what it repeats.
    #[doc(hidden)]
    fn held_bytes(&self) -> usize;

    /// The answers of `f` about all elements, slice by slice: it writes one for each element that it is given, and
    /// looks at each alone.
    ///
    /// Slices, so that the loops of an operation are compiled once for a type of elements, not once for a format.
    #[doc(hidden)]
    fn answer(&self, f: impl Fn(&[Self::Elem], &mut [bool])) -> Self::Mapped<bool>;
}

/// What the `_into` forms of the elementwise operations on `X` fill: for a tensor a tensor of its kind, for an array
/// an array or a mutable view of its dimension type and any layout. Its elements are `bool`.
///
/// What it held before makes no difference. Of a tensor the buffer of the values is reused, and grows if it is too
/// short; the pattern is shared with `X`, as that of a new result would be.
///
/// The trait is sealed.
pub trait Answers<X: Elementwise + ?Sized>: sealed::Sealed {
    /// Takes the answers of `f` about the elements of `x`, as [`Elementwise::answer`] gives them.
    #[doc(hidden)]
    fn take_answers(&mut self, x: &X, f: impl Fn(&[X::Elem], &mut [bool])) -> Result<()>;
}

/// Refuses a result of `found` where an operation has one of `expected`.
pub(crate) fn check_out_shape(found: &[usize], expected: &[usize]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ShapeMismatch { what: "the result", expected: expected.into(), found: found.into() })
}

impl<P: Pattern, T: Element> Elementwise for Tensor<P, T> {
    type Elem = T;
    type Mapped<U: Element> = Tensor<P, U>;

    fn element_count(&self) -> usize {
        self.nnz().saturating_add(1)
    }

    fn held_bytes(&self) -> usize {
        self.stored_bytes()
    }

    fn answer(&self, f: impl Fn(&[T], &mut [bool])) -> Tensor<P, bool> {
        let mut answers = pages::or_end(pages::zeros(self.nnz()));
        f(self.values(), &mut answers);
        Tensor::from_valid(self.pattern().clone(), answers, answer_one(self.fill(), f))
    }
}

impl<P: Pattern, T: Element> Answers<Tensor<P, T>> for Tensor<P, bool> {
    fn take_answers(&mut self, x: &Tensor<P, T>, f: impl Fn(&[T], &mut [bool])) -> Result<()> {
        check_out_shape(self.shape(), x.shape())?;
        let fill = answer_one(x.fill(), &f);
        f(x.values(), self.reuse(x.pattern().clone(), fill));
        Ok(())
    }
}

/// The answer about one element.
fn answer_one<T: Element>(element: T, f: impl Fn(&[T], &mut [bool])) -> bool {
    let mut answer = [false];
    f(&[element], &mut answer);
    answer[0]
}

impl<S: Data<Elem: Element>, D: Dimension> Elementwise for ArrayBase<S, D> {
    type Elem = S::Elem;
    type Mapped<U: Element> = Array<U, D>;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn held_bytes(&self) -> usize {
        dense_bytes(self)
    }

    fn answer(&self, f: impl Fn(&[S::Elem], &mut [bool])) -> Array<bool, D> {
        let mut answers = pages::or_end(pages::zeros(self.len()));
        let columns_first = match (self.as_slice(), self.t().to_slice()) {
            (Some(rows), _) => {
                f(rows, &mut answers);
                false
            }
            (None, Some(columns)) => {
                f(columns, &mut answers);
                true
            }
            (None, None) => {
                answer_gathered(self.iter().copied(), answers.iter_mut(), f);
                false
            }
        };
        Array::from_shape_vec(self.raw_dim().set_f(columns_first), answers).expect("one answer for each position")
    }
}

impl<S, O, D> Answers<ArrayBase<S, D>> for ArrayBase<O, D>
where
    S: Data<Elem: Element>,
    O: DataMut<Elem = bool>,
    D: Dimension,
{
    fn take_answers(&mut self, x: &ArrayBase<S, D>, f: impl Fn(&[S::Elem], &mut [bool])) -> Result<()> {
        check_out_shape(self.shape(), x.shape())?;
        if let (Some(rows), Some(answers)) = (x.as_slice(), self.as_slice_mut()) {
            f(rows, answers);
        } else if let (Some(columns), Some(answers)) =
            (x.t().to_slice(), self.view_mut().reversed_axes().as_slice_mut())
        {
            f(columns, answers);
        } else {
            answer_gathered(x.iter().copied(), self.iter_mut(), f);
        }
        Ok(())
    }
}

/// The answers of `f` about elements that do not lie in one slice, or whose answers do not: piece by piece.
fn answer_gathered<'a, T: Element>(
    mut elements: impl ExactSizeIterator<Item = T>,
    mut answers: impl Iterator<Item = &'a mut bool>,
    f: impl Fn(&[T], &mut [bool]),
) {
    let mut piece = Vec::with_capacity(elements.len().min(PIECE));
    let mut answered = vec![false; elements.len().min(PIECE)];
    while elements.len() > 0 {
        piece.clear();
        piece.extend(elements.by_ref().take(PIECE));
        let answered = &mut answered[..piece.len()];
        f(&piece, answered);
        answered.iter().zip(&mut answers).for_each(|(&from, to)| *to = from);
    }
}

mod sealed {
    pub trait Sealed {}
    impl<P, T> Sealed for super::Tensor<P, T> {}
    impl<S: ndarray::RawData, D> Sealed for super::ArrayBase<S, D> {}
}
