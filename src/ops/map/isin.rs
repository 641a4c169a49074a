//! Membership in a set of test values.

use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;

use ndarray::{ArrayBase, Data, Dimension};

use super::Answers;
use super::apply;
use crate::base::error::{Error, Result, with_unit};
use crate::base::limit::{default_limit, guard};
use crate::convert::once_on_each;
use crate::element::Element;
use crate::kernels::isin::{Membership, Span, SpanTable};
use crate::kernels::map::Map;
use crate::ops::operand::Operand;

/// The test values of [`isin`], and its options.
///
/// These types convert to `Isin`: a scalar, an array, a slice, a `Vec`, a `HashSet`, and an `ndarray` array of any rank
/// and layout. Test values have the type of the elements that are tested. Contiguous test values are borrowed. The
/// order and the repetition of test values do not matter.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Isin};
/// use ndarray::{arr1, arr2};
///
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![1, 7], 0)?;
/// assert_eq!(x.isin([7, 8])?.values(), [false, true]);
/// assert_eq!(x.isin(&arr2(&[[7, 8], [1, 2]]))?.values(), [true, true]);
///
/// let others = x.isin(Isin::of([7, 8]).invert())?;
/// assert_eq!(others.to_dense()?, arr1(&[true, true, false, true]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Isin<'a, T: Element> {
    members: Cow<'a, [T]>,
    /// True if the results are inverted: `true` for elements that are not test values.
    pub invert: bool,
    /// A hint that the test values are distinct.
    ///
    /// With [`IsinKind::Sort`], the hint saves a pass over the test values. The hint never changes a result.
    pub assume_unique: bool,
    /// The algorithm.
    pub kind: IsinKind,
}

impl<'a, T: Element> Isin<'a, T> {
    /// Returns options for membership in `members`, with an automatic algorithm.
    pub fn of(members: impl Into<Isin<'a, T>>) -> Self {
        members.into()
    }

    fn new(members: Cow<'a, [T]>) -> Self {
        Isin { members, invert: false, assume_unique: false, kind: IsinKind::Auto }
    }

    /// Returns the same query with owned test values.
    pub(crate) fn into_owned(self) -> Isin<'static, T> {
        Isin { members: Cow::Owned(self.members.into_owned()), ..self }
    }

    /// Returns the test values, in any order.
    ///
    /// Values that an array repeats by broadcasting may appear only once.
    pub fn members(&self) -> &[T] {
        &self.members
    }

    /// Inverts the results: `true` for elements that are not test values, and for NaN.
    pub fn invert(self) -> Self {
        Isin { invert: true, ..self }
    }

    /// Hints that the test values are distinct.
    ///
    /// With [`IsinKind::Sort`], the hint saves a pass over the test values. The hint never changes a result.
    pub fn assume_unique(self) -> Self {
        Isin { assume_unique: true, ..self }
    }

    /// Selects the algorithm.
    pub fn kind(self, kind: IsinKind) -> Self {
        Isin { kind, ..self }
    }
}

impl<T: Element> From<T> for Isin<'_, T> {
    fn from(member: T) -> Self {
        Isin::new(Cow::Owned(vec![member]))
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Isin<'_, T> {
    fn from(members: [T; N]) -> Self {
        Isin::new(Cow::Owned(members.into()))
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Isin<'a, T> {
    fn from(members: &'a [T; N]) -> Self {
        Isin::new(Cow::Borrowed(members))
    }
}

impl<'a, T: Element> From<&'a [T]> for Isin<'a, T> {
    fn from(members: &'a [T]) -> Self {
        Isin::new(Cow::Borrowed(members))
    }
}

impl<T: Element> From<Vec<T>> for Isin<'_, T> {
    fn from(members: Vec<T>) -> Self {
        Isin::new(Cow::Owned(members))
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Isin<'a, T> {
    fn from(members: &'a Vec<T>) -> Self {
        Isin::new(Cow::Borrowed(members))
    }
}

impl<T: Element, H> From<&HashSet<T, H>> for Isin<'_, T> {
    fn from(members: &HashSet<T, H>) -> Self {
        Isin::new(members.iter().copied().collect())
    }
}

impl<T: Element, H> From<HashSet<T, H>> for Isin<'_, T> {
    fn from(members: HashSet<T, H>) -> Self {
        Isin::from(&members)
    }
}

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> From<&'a ArrayBase<S, D>> for Isin<'a, T> {
    fn from(members: &'a ArrayBase<S, D>) -> Self {
        match members.as_slice_memory_order() {
            Some(contiguous) => Isin::new(Cow::Borrowed(contiguous)),
            // A broadcast view may be very large: elements that an axis repeats are read once.
            None => Isin::new(once_on_each(members.view(), 0..members.ndim()).iter().copied().collect()),
        }
    }
}

impl<'a, T: Element> From<&'a Isin<'_, T>> for Isin<'a, T> {
    fn from(isin: &'a Isin<'_, T>) -> Self {
        Isin { members: Cow::Borrowed(&isin.members), ..*isin }
    }
}

/// The algorithm of [`isin()`], which changes only the time and the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IsinKind {
    /// The fastest algorithm for the element type and the numbers of elements and test values.
    #[default]
    Auto,
    /// Sorts the test values, and searches for each element among the test values.
    ///
    /// This algorithm uses less memory than a hash set.
    Sort,
    /// A table with one bit per integer from the smallest to the largest test value, for integers and `bool`.
    Table,
    /// A hash set of the test values.
    Hash,
}

/// Returns whether each element is one of the test values.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ∈ *S*), or (*x*<sub>i</sub> ∉ *S*) with [`Isin::invert`], at each position *i* of
/// the result *y*, where *S* is the set of the test values.
///
/// The test values have the type of the elements of `x`, so no comparison involves rounding. The test values are a
/// scalar, an array, a slice, a `Vec`, a `HashSet`, or an `ndarray` array of any rank and layout. [`Isin`] lists the
/// options. An empty list of test values is the empty set.
///
/// # Shapes
///
/// The result has `bool` elements, and the shape, the format and the index type of `x`. For arrays, the result has the
/// dimension type of `x`. The shape of the test values does not matter.
///
/// # Implicit values
///
/// The result shares the pattern of `x`, and stores a value even if the value is `false`. The fill of the result is the
/// result for the fill of `x`. For [`x.stored()`](crate::Tensor::stored), the fill is not tested. In this case, the
/// fill of the result is `false`, or the fill of `x` if `x` has `bool` elements.
///
/// # NaN
///
/// NaN is never a member, even if the set has a NaN, so NaN yields `true` with `invert`. A complex number with NaN in
/// either part is never a member. `-0.0` equals `0.0`, in each part. An infinity equals itself.
///
/// # Gradient
///
/// None: the result is constant almost everywhere.
///
/// # Errors
///
/// - `TooLarge`: the result for a broadcast array `x` exceeds both 1 GiB and 16 times the bytes of the array before
///   broadcasting;
/// - `IsinKind`: [`IsinKind::Table`] is selected, and the elements are neither integers nor `bool`. This error also
///   occurs if the table exceeds both 1 GiB and 16 times the bytes of the elements and test values. [`IsinKind::Auto`],
///   the default, never leads to this error;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// For *n* tested elements (the entries of a sparse `x`) and *m* test values: O(*n* + *m*) expected with a hash set.
/// With a table: O(*n* + *m*), plus one bit per integer from the smallest to the largest test value. With sorting:
/// O((*n* + *m*) log *m*).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, Isin, IsinKind, isin};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([4], vec![vec![0, 2]], vec![1.0, 7.0], 0.0)?;
/// let y = isin(&x, [7.0, -0.0])?;
/// assert_eq!(y.to_dense()?, arr1(&[false, true, true, true]).into_dyn());
/// assert_eq!(y.to_dense()?, isin(&x.to_dense()?, [7.0, -0.0])?);
/// assert!(y.fill() && y.shares_pattern_with(&x));
///
/// assert_eq!(isin(&arr1(&[1, 2, 3]), 3)?, arr1(&[false, false, true]));
///
/// let by_table = Isin::of([i64::MIN, i64::MAX]).kind(IsinKind::Table);
/// assert_eq!(
///     isin(&arr1(&[0, 1]), by_table).unwrap_err().to_string(),
///     "isin by table is not possible: the test values span 18446744073709551616 integers, a table of \
///      2305843009213693952 bytes (2.0 EiB), above the limit of 1073741824 bytes (1.0 GiB); use sort or hash",
/// );
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Test values of another type do not compile:
///
/// ```compile_fail
/// # use lacuna::isin;
/// isin(&ndarray::arr1(&[1i64, 2]), [1u64]).unwrap();
/// ```
///
/// Definition: [`numpy.isin`](https://numpy.org/doc/stable/reference/generated/numpy.isin.html), which does not have
/// `kind` `hash`, and in which `assume_unique` may change the result.
#[doc(alias = "numpy.isin")]
#[doc(alias = "contains")]
#[doc(alias = "is_in")]
#[doc(alias = "in1d")]
#[doc(alias = "torch.isin")]
pub fn isin<'a, X: Operand>(x: &X, members: impl Into<Isin<'a, X::Elem>>) -> Result<X::Mapped<bool>> {
    let isin = members.into();
    apply(x, &IsinTest::new(x, &isin)?)
}

/// Writes the results of [`isin()`] into an existing buffer.
///
/// *y*<sub>i</sub> = (*x*<sub>i</sub> ∈ *S*), or (*x*<sub>i</sub> ∉ *S*) with [`Isin::invert`], at each position *i*,
/// where *y* is `out` and *S* is the set of the test values.
///
/// # Shapes
///
/// For a sparse `x`, `out` is a `bool` tensor of the format and index type of `x`. For an array, `out` is a `bool`
/// array or mutable view of the dimension type of `x`. `out` has exactly the shape of `x`. [`Answers`] lists the types.
///
/// # Implicit values
///
/// `out` receives the pattern of `x` (shared), and the values and the fill that [`isin()`] returns. The previous
/// contents of `out` do not matter.
///
/// # NaN
///
/// NaN is never a member, so NaN yields `true` with [`Isin::invert`].
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `ShapeMismatch`: `out` does not have the shape of `x`;
/// - `IsinKind`: [`IsinKind::Table`] is selected, and the elements are neither integers nor `bool`. This error also
///   occurs if the table exceeds both 1 GiB and 16 times the bytes of the elements and test values;
/// - `OutOfMemory`: an allocation fails.
///
/// After an error, `out` is unchanged.
///
/// # Complexity
///
/// The complexity of [`isin()`]. For a sparse `x`, the results reuse the allocation of `out` if the allocation is large
/// enough and not shared with another tensor.
///
/// # Examples
///
/// ```
/// use lacuna::{isin, isin_into};
/// use ndarray::arr1;
///
/// let mut found = arr1(&[false; 3]);
/// for x in [arr1(&[1, 2, 3]), arr1(&[3, 4, 5])] {
///     isin_into(&x, [3, 1], &mut found)?;
///     assert_eq!(found, isin(&x, [3, 1])?);
/// }
/// let refused = isin_into(&arr1(&[1, 2]), 1, &mut found).unwrap_err();
/// assert_eq!(refused.to_string(), "the result must have shape [2], found [3]");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.isin`](https://numpy.org/doc/stable/reference/generated/numpy.isin.html).
pub fn isin_into<'a, X: Operand>(
    x: &X,
    members: impl Into<Isin<'a, X::Elem>>,
    out: &mut impl Answers<X>,
) -> Result<()> {
    let isin = members.into();
    out.take_answers(x, &IsinTest::new(x, &isin)?)
}

/// The descriptor of [`isin()`]: the prepared set of test values, and whether the result is inverted.
struct IsinTest<'a, T: Element> {
    membership: Membership<'a, T>,
    invert: bool,
}

impl<'a, T: Element> IsinTest<'a, T> {
    fn new<X: Operand<Elem = T>>(x: &X, isin: &'a Isin<'_, T>) -> Result<Self> {
        let members = isin.members();
        let membership = match isin.kind {
            IsinKind::Auto => Membership::auto(members, x.erased().element_count())?,
            IsinKind::Sort => Membership::sort(members, isin.assume_unique)?,
            IsinKind::Table => Membership::Table(checked_table(members, x.erased().held_bytes())?),
            IsinKind::Hash => Membership::hash(members)?,
        };
        Ok(IsinTest { membership, invert: isin.invert })
    }
}

impl<T: Element> Map<T> for IsinTest<'_, T> {
    type Out = bool;
    type Fault = Infallible;

    fn block(&self, values: &[T], answers: &mut [bool]) -> std::result::Result<(), Infallible> {
        self.membership.test_each(values, self.invert, answers);
        Ok(())
    }
}

/// Returns the table of the test values, or an error if their type or its size does not allow a table.
fn checked_table<T: Element>(members: &[T], held_bytes: usize) -> Result<SpanTable> {
    let reject = |why| Error::IsinKind { kind: "table", why };
    let span = Span::of(members)
        .ok_or_else(|| reject(format!("it supports integers and bool, not {}; use sort or hash", T::DTYPE)))?;
    let limit = default_limit(held_bytes.saturating_add(size_of_val(members)));
    guard::<u64>("the table", span.words(), limit, "use sort or hash").map_err(|_| {
        let bytes = span.words() * size_of::<u64>() as u128;
        reject(format!(
            "the test values span {} integers, a table of {}, above the limit of {}; use sort or hash",
            span.bits(),
            with_unit(bytes),
            with_unit(limit.into())
        ))
    })?;
    Ok(SpanTable::new(members, span)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit is 16 times the bytes of 2^30 elements of 8 bytes and of 2 test values.
    #[test]
    fn the_limit_of_a_table_grows_with_the_input() {
        let rejection = checked_table(&[0, i64::MAX], 8 << 30).err().unwrap();
        assert!(rejection.to_string().contains("above the limit of 137438953728"), "{rejection}");
        assert!(checked_table(&[0.5], usize::MAX).is_err());
    }
}
