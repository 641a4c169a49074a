//! Comparisons.

use super::Partner;
use crate::base::error::Result;
use crate::element::{Element, Real};
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Zip};
use crate::ops::operand::Operand;
#[allow(unused_imports)] // for the pages
use crate::tensor::stored::Stored;

/// A comparison: its name, what it asks of a type, and what it asks of two elements. A NaN makes the same of all.
macro_rules! comparisons {
    ($($op:ident $name:literal $bound:ident $sign:tt;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $op;

        impl Op for $op {
            const NAME: &'static str = $name;
        }

        impl<T: $bound> Zip<T, T> for $op {
            type Out = bool;

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<bool> {
                Ok(a $sign b)
            }

            fn of_left_fill(&self, fill: T, _: T) -> Alone {
                if fill.isnan() { Alone::Annihilated } else { Alone::Counts }
            }

            fn of_right_fill(&self, _: T, fill: T) -> Alone {
                if fill.isnan() { Alone::Annihilated } else { Alone::Counts }
            }
        }
    )*};
}

comparisons! {
    Equal "equal" Element ==;
    NotEqual "not_equal" Element !=;
    Less "less" Real <;
    LessEqual "less_equal" Real <=;
    Greater "greater" Real >;
    GreaterEqual "greater_equal" Real >=;
}

/// Whether two elements are equal, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> = *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is false; zeros of both signs are equal. Complex numbers are equal if both parts are.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = equal(&x, &y)?;
/// assert_eq!(z.values(), [false, true, false]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.equal(2.0)?.values(), [false, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.equal`](https://numpy.org/doc/stable/reference/generated/numpy.equal.html).
#[doc(alias = "numpy.equal")]
#[doc(alias = "torch.eq")]
pub fn equal<X: Operand, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Equal)
}

/// Whether two elements differ, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ≠ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is true; zeros of both signs are equal. Complex numbers are equal if both parts are.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, not_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = not_equal(&x, &y)?;
/// assert_eq!(z.values(), [true, false, true]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, not_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().not_equal(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.not_equal(2.0)?.values(), [true, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.not_equal`](https://numpy.org/doc/stable/reference/generated/numpy.not_equal.html).
#[doc(alias = "numpy.not_equal")]
#[doc(alias = "torch.ne")]
pub fn not_equal<X: Operand, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, NotEqual)
}

/// Whether the element on the left is less, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> < *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, less};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = less(&x, &y)?;
/// assert_eq!(z.values(), [false, false, true]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, less(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().less(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.less(2.0)?.values(), [true, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, less};
///
/// let x = CooTensor::full([2], lacuna::num_complex::Complex::new(1.0, 0.0))?;
/// less(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.less`](https://numpy.org/doc/stable/reference/generated/numpy.less.html).
#[doc(alias = "numpy.less")]
#[doc(alias = "torch.lt")]
pub fn less<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Less)
}

/// Whether the element on the left is less or equal, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ≤ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, less_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = less_equal(&x, &y)?;
/// assert_eq!(z.values(), [false, true, true]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, less_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().less_equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.less_equal(2.0)?.values(), [true, false]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.less_equal`](https://numpy.org/doc/stable/reference/generated/numpy.less_equal.html).
#[doc(alias = "numpy.less_equal")]
#[doc(alias = "torch.le")]
pub fn less_equal<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, LessEqual)
}

/// Whether the element on the left is greater, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> > *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, greater};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = greater(&x, &y)?;
/// assert_eq!(z.values(), [true, false, false]);
/// assert_eq!(z.fill(), false);
/// assert_eq!(z.to_dense()?, greater(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().greater(&y)?.entries(), [(vec![1], false)]);
/// assert_eq!(x.greater(2.0)?.values(), [false, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.greater`](https://numpy.org/doc/stable/reference/generated/numpy.greater.html).
#[doc(alias = "numpy.greater")]
#[doc(alias = "torch.gt")]
pub fn greater<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, Greater)
}

/// Whether the element on the left is greater or equal, position by position.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ≥ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry it is compared with the fill of the other: the union of both patterns is stored,
/// and the fill is what the fills give. A fill of NaN gives the same beside everything: entries of the other operand
/// alone are not stored. Of [stored views](Stored) the result has the entries that both have, and a fill of `false`.
/// Beside an array or a number the pattern is shared; all positions that are not stored must come to one value.
///
/// # NaN
///
/// A comparison with NaN is false; zeros of both signs are equal. Complex numbers have no order.
///
/// # Gradient
///
/// None.
///
/// # Errors
///
/// - `NotBroadcastable`: the shapes do not fit;
/// - `FillsDiffer`: stored views of tensors with different fills;
/// - `FillVaries`: an array gives positions that are not stored different values;
/// - `TooLarge`: a sparse operand is broadcast to too many entries, or an array to too many elements.
///
/// # Complexity
///
/// O(entries of both); patterns that are equal, and that of the only sparse operand, are shared. Of arrays O(elements).
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, greater_equal};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![7.0, 3.0], 0.0)?;
/// let z = greater_equal(&x, &y)?;
/// assert_eq!(z.values(), [true, true, false]);
/// assert_eq!(z.fill(), true);
/// assert_eq!(z.to_dense()?, greater_equal(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().greater_equal(&y)?.entries(), [(vec![1], true)]);
/// assert_eq!(x.greater_equal(2.0)?.values(), [false, true]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.greater_equal`](https://numpy.org/doc/stable/reference/generated/numpy.greater_equal.html).
#[doc(alias = "numpy.greater_equal")]
#[doc(alias = "torch.ge")]
pub fn greater_equal<X: Operand<Elem: Real>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<bool>> {
    y.zip(x, GreaterEqual)
}
