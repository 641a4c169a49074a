//! Membership in a set of test elements.

use std::borrow::Cow;

use ndarray::{ArrayBase, Axis, Data, Dimension, Slice};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::kernels::isin::{Membership, Span, Table};
use crate::limit::{default_limit, guard};
use crate::ops::elementwise::{Answers, Elementwise};
use crate::pattern::Pattern;
use crate::tensor::Tensor;

/// The test elements of [`isin`]: a scalar, or an array, a slice, a `Vec` or an `ndarray` array of any rank and layout,
/// of the type of the elements that are asked about.
///
/// What is contiguous is borrowed. Order and repetition do not matter.
///
/// ```
/// use lacuna::TestElements;
/// use ndarray::arr2;
///
/// assert_eq!(TestElements::from(7).as_slice(), [7]);
/// assert_eq!(TestElements::from([1.5, 2.5]).as_slice(), [1.5, 2.5]);
/// assert_eq!(TestElements::from(&arr2(&[[1, 2], [3, 4]])).as_slice(), [1, 2, 3, 4]);
/// ```
#[derive(Debug, Clone)]
pub struct TestElements<'a, T: Element>(Cow<'a, [T]>);

impl<T: Element> TestElements<'_, T> {
    /// The elements, in no promised order; those that an array repeats by broadcasting may be there once.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T: Element> From<T> for TestElements<'_, T> {
    fn from(element: T) -> Self {
        TestElements(Cow::Owned(vec![element]))
    }
}

impl<T: Element, const N: usize> From<[T; N]> for TestElements<'_, T> {
    fn from(elements: [T; N]) -> Self {
        TestElements(Cow::Owned(elements.into()))
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for TestElements<'a, T> {
    fn from(elements: &'a [T; N]) -> Self {
        TestElements(Cow::Borrowed(elements))
    }
}

impl<'a, T: Element> From<&'a [T]> for TestElements<'a, T> {
    fn from(elements: &'a [T]) -> Self {
        TestElements(Cow::Borrowed(elements))
    }
}

impl<T: Element> From<Vec<T>> for TestElements<'_, T> {
    fn from(elements: Vec<T>) -> Self {
        TestElements(Cow::Owned(elements))
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for TestElements<'a, T> {
    fn from(elements: &'a Vec<T>) -> Self {
        TestElements(Cow::Borrowed(elements))
    }
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> From<&'a ArrayBase<S, D>> for TestElements<'a, T> {
    fn from(elements: &'a ArrayBase<S, D>) -> Self {
        match elements.as_slice_memory_order() {
            Some(contiguous) => TestElements(Cow::Borrowed(contiguous)),
            None => TestElements(Cow::Owned(elements_once(elements))),
        }
    }
}

/// The elements of an array, where an axis with stride 0 repeats them only once: a broadcast view may be vast.
fn elements_once<T: Element, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Vec<T> {
    let mut view = array.view();
    for axis in (0..view.ndim()).filter(|&axis| array.strides()[axis] == 0 && array.shape()[axis] > 1) {
        view.slice_axis_inplace(Axis(axis), Slice::from(..1));
    }
    view.iter().copied().collect()
}

/// The algorithm of [`isin_with`], for those who tune; the answers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IsinKind {
    /// The fastest one for the sizes and the type; it is never `IsinKind` that refuses it.
    #[default]
    Auto,
    /// Sorts the test elements, and searches each value among them: the smallest memory.
    Sort,
    /// A table of one bit for each integer between the smallest and the greatest test element; integers and `bool`
    /// only.
    Table,
    /// A hash set of the test elements.
    Hash,
}

/// The options of [`isin_with`].
///
/// ```
/// use lacuna::{IsinKind, IsinOptions};
///
/// let options = IsinOptions { invert: true, ..IsinOptions::default() };
/// assert!(options.invert && !options.assume_unique && options.kind == IsinKind::Auto);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IsinOptions {
    /// Whether the answer is turned around: *not* a member.
    pub invert: bool,
    /// A hint that the test elements are distinct, which saves a pass; it never changes an answer.
    pub assume_unique: bool,
    /// The algorithm.
    pub kind: IsinKind,
}

/// What gives `ndarray` arrays the methods [`isin()`](IsinOp::isin) and [`isin_with`](IsinOp::isin_with) that tensors
/// have of their own, when it is in scope (it is in the [prelude](crate::prelude)).
pub trait IsinOp: Elementwise {
    /// See [`isin()`].
    fn isin<'a>(&self, test_elements: impl Into<TestElements<'a, Self::Elem>>) -> Self::Mapped<bool> {
        isin(self, test_elements)
    }

    /// See [`isin_with`].
    ///
    /// # Errors
    ///
    /// Those of [`isin_with`].
    fn isin_with<'a>(
        &self,
        test_elements: impl Into<TestElements<'a, Self::Elem>>,
        options: IsinOptions,
    ) -> Result<Self::Mapped<bool>> {
        isin_with(self, test_elements, options)
    }
}

impl<X: Elementwise + ?Sized> IsinOp for X {}

/// Whether each element is one of the test elements.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ∈ *S*), for *S* the set of the test elements.
///
/// The test elements have the type of the elements of `x`: nothing is compared through a rounding. They come as
/// anything dense: a scalar, an array or a slice, a `Vec`, an `ndarray` array of any rank and layout
/// ([`TestElements`]). None at all make an empty set.
///
/// # Shapes
///
/// The result has the shape, the format and the index type of `x` (for arrays: the dimension type), and `bool`
/// elements. The shape of the test elements does not matter.
///
/// # Implicit values
///
/// The result stores what `x` stores (the pattern is shared), also where the answer is `false`. Its fill is whether
/// the fill of `x` is a member.
///
/// # NaN
///
/// NaN is never a member, not even of a set that has a NaN; nor is a complex number with a NaN in either part.
/// `-0.0` equals `0.0`, per part. An infinity equals itself.
///
/// # Gradient
///
/// None: the answer is constant almost everywhere.
///
/// # Errors
///
/// None. [`isin_with`], which lets an algorithm be named, can refuse it.
///
/// # Complexity
///
/// O(entries + test elements) expected, for arrays O(elements + test elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, isin};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![1.0, 7.0], 0.0)?;
/// let y = isin(&x, [7.0, -0.0]);
/// assert_eq!(y.to_dense()?, arr1(&[false, true, true, true]).into_dyn());
/// assert_eq!(y.to_dense()?, isin(&x.to_dense()?, [7.0, -0.0]));
/// assert!(y.fill() && y.shares_pattern_with(&x));
///
/// assert_eq!(isin(&arr1(&[1, 2, 3]), 3), arr1(&[false, false, true]));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Test elements of another type do not compile:
///
/// ```compile_fail
/// # use lacuna::isin;
/// isin(&ndarray::arr1(&[1i64, 2]), [1u64]);
/// ```
///
/// Definition: [`numpy.isin`](https://numpy.org/doc/stable/reference/generated/numpy.isin.html).
pub fn isin<'a, X: Elementwise + ?Sized>(
    x: &X,
    test_elements: impl Into<TestElements<'a, X::Elem>>,
) -> X::Mapped<bool> {
    let test_elements = test_elements.into();
    let membership = Membership::auto(test_elements.as_slice(), x.element_count());
    x.answer(|elements, answers| membership.test_each(elements, false, answers))
}

/// [`isin()`] with [`IsinOptions`]: the answer inverted, a hint, an algorithm by name.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ∈ *S*), or with `invert` *y*<sub>i</sub> = (*x*<sub>i</sub> ∉ *S*).
///
/// # Shapes
///
/// Those of [`isin()`].
///
/// # Implicit values
///
/// Those of [`isin()`]; with `invert` the fill is inverted too.
///
/// # NaN
///
/// NaN is never a member, so with `invert` it gives `true`.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// `TooLarge`: an array was broadcast to so many positions that the answers would need more than the larger of 1 GiB and
/// 16 times the memory behind it. `IsinKind`: a table was asked for, and the elements are neither integers nor `bool`, or the table would need more
/// than the larger of 1 GiB and 16 times the bytes of the elements and test elements; [`IsinKind::Auto`], the default,
/// never gives it.
///
/// # Complexity
///
/// For *n* elements and *m* test elements: O(*n* + *m*) expected by hash; by table the same, and a bit for each
/// integer of the range; O((*n* + *m*) log *m*) by sort.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, IsinKind, IsinOptions, isin_with};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![1, 7], 0)?;
/// let others = isin_with(&x, [7, 8], IsinOptions { invert: true, ..Default::default() })?;
/// assert_eq!(others.to_dense()?, arr1(&[true, true, false, true]).into_dyn());
///
/// let by_table = IsinOptions { kind: IsinKind::Table, ..Default::default() };
/// assert_eq!(isin_with(&x, [7, 8], by_table)?.values(), [false, true]);
///
/// let refused = isin_with(&arr1(&[0, 1]), [i64::MIN, i64::MAX], by_table).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "isin by table is not possible: the test elements span 18446744073709551616 integers, \
///      a table of 2305843009213693952 bytes, above the limit of 1073741824; use sort or hash",
/// );
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isin`](https://numpy.org/doc/stable/reference/generated/numpy.isin.html), where `kind` has no
/// `hash`, and `assume_unique` may change the answer.
pub fn isin_with<'a, X: Elementwise + ?Sized>(
    x: &X,
    test_elements: impl Into<TestElements<'a, X::Elem>>,
    options: IsinOptions,
) -> Result<X::Mapped<bool>> {
    let test_elements = test_elements.into();
    let instead = "ask the array that was broadcast";
    guard::<bool>("the answers", x.element_count() as u128, default_limit(x.held_bytes()), instead)?;
    let membership = membership(x, test_elements.as_slice(), options)?;
    Ok(x.answer(|elements, answers| membership.test_each(elements, options.invert, answers)))
}

/// [`isin_with`] into a result that is there already, whose memory is spared being found and cleared.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ∈ *S*), or with `invert` *y*<sub>i</sub> = (*x*<sub>i</sub> ∉ *S*).
///
/// # Shapes
///
/// `out` is a `bool` tensor of the format and index type of `x`, or a `bool` array or mutable view of its dimension
/// type, of exactly the shape of `x` ([`Answers`]).
///
/// # Implicit values
///
/// Those of [`isin_with`]: `out` gets the pattern of `x` (shared), whatever it stored before.
///
/// # NaN
///
/// NaN is never a member, so with `invert` it gives `true`.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// `ShapeMismatch`: `out` has another shape than `x`. `IsinKind` as in [`isin_with`]. After an error `out` is as it was.
///
/// # Complexity
///
/// That of [`isin_with`], without memory for the result.
///
/// # Examples
///
/// ```
/// use lacuna::{IsinOptions, isin, isin_into};
/// use ndarray::arr1;
///
/// let options = IsinOptions::default();
/// let mut found = arr1(&[false; 3]);
/// for x in [arr1(&[1, 2, 3]), arr1(&[3, 4, 5])] {
///     isin_into(&x, [3, 1], options, &mut found)?;
///     assert_eq!(found, isin(&x, [3, 1]));
/// }
/// let refused = isin_into(&arr1(&[1, 2]), 1, options, &mut found).unwrap_err();
/// assert_eq!(refused.to_string(), "the result must have shape [2], found [3]");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isin`](https://numpy.org/doc/stable/reference/generated/numpy.isin.html).
pub fn isin_into<'a, X: Elementwise + ?Sized>(
    x: &X,
    test_elements: impl Into<TestElements<'a, X::Elem>>,
    options: IsinOptions,
    out: &mut impl Answers<X>,
) -> Result<()> {
    let test_elements = test_elements.into();
    let membership = membership(x, test_elements.as_slice(), options)?;
    out.take_answers(x, |elements, answers| membership.test_each(elements, options.invert, answers))
}

/// The test elements in the form that is asked for, or is fastest for `x`.
fn membership<'a, X: Elementwise + ?Sized>(
    x: &X,
    members: &'a [X::Elem],
    options: IsinOptions,
) -> Result<Membership<'a, X::Elem>> {
    Ok(match options.kind {
        IsinKind::Auto => Membership::auto(members, x.element_count()),
        IsinKind::Sort => Membership::sort(members, options.assume_unique),
        IsinKind::Table => Membership::Table(checked_table(members, x.held_bytes())?),
        IsinKind::Hash => Membership::hash(members),
    })
}

/// The table of the test elements, unless their type or its size forbids one.
fn checked_table<T: Element>(members: &[T], held_bytes: usize) -> Result<Table> {
    let refuse = |why| Error::IsinKind { kind: "table", why };
    let span = Span::of(members)
        .ok_or_else(|| refuse(format!("it takes integers and bool, not {}; use sort or hash", T::DTYPE)))?;
    let limit = default_limit(held_bytes.saturating_add(size_of_val(members)));
    guard::<u64>("the table", span.words(), limit, "use sort or hash").map_err(|_| {
        let (integers, bytes) = (span.bits(), span.words() * size_of::<u64>() as u128);
        refuse(format!(
            "the test elements span {integers} integers, a table of {bytes} bytes, above the limit of {limit}; \
             use sort or hash"
        ))
    })?;
    Ok(Table::new(members, span))
}

impl<P: Pattern, T: Element> Tensor<P, T> {
    /// Whether each element is one of the test elements: see [`isin()`](crate::isin()).
    pub fn isin<'a>(&self, test_elements: impl Into<TestElements<'a, T>>) -> Tensor<P, bool> {
        isin(self, test_elements)
    }

    /// `isin` with options: see [`isin_with`](crate::isin_with()).
    ///
    /// # Errors
    ///
    /// Those of [`isin_with`](crate::isin_with()).
    pub fn isin_with<'a>(
        &self,
        test_elements: impl Into<TestElements<'a, T>>,
        options: IsinOptions,
    ) -> Result<Tensor<P, bool>> {
        isin_with(self, test_elements, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 times the bytes of 2^30 elements of 8 bytes, and of 2 test elements.
    #[test]
    fn the_limit_of_a_table_grows_with_the_input() {
        let refused = checked_table(&[0, i64::MAX], 8 << 30).err().unwrap();
        assert!(refused.to_string().contains("above the limit of 137438953728"), "{refused}");
        assert!(checked_table(&[0.5], usize::MAX).is_err());
    }
}
