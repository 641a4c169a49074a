//! Logic: of `bool`, and bit by bit of integers.

use super::Partner;
use crate::base::error::Result;
use crate::element::Bits;
use crate::kernels::op::{Op, Outcome};
use crate::kernels::zip::{Alone, Lone, Zip};
use crate::ops::operand::Operand;
#[allow(unused_imports)] // for the pages
use crate::tensor::stored::Stored;

/// An operation: its name, its method, whether stored entries unite, and the fill that makes the same of all, if any.
macro_rules! of_bits {
    ($($op:ident $name:literal $method:ident $unites:literal $same_of_all:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $op;

        impl Op for $op {
            const NAME: &'static str = $name;
        }

        impl<T: Bits> Zip<T, T> for $op {
            type Out = T;
            const UNITES: bool = $unites;

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<T> {
                Ok(a.$method(b))
            }

            fn of_left_fill(&self, fill: T, _: T) -> Alone {
                if Some(fill) == $same_of_all { Alone::Annihilated } else { Alone::Counts }
            }

            fn of_right_fill(&self, _: T, fill: T) -> Alone {
                if Some(fill) == $same_of_all { Alone::Annihilated } else { Alone::Counts }
            }

            fn alone(&self, entry: Lone<T, T>) -> Outcome<T> {
                match entry {
                    Lone::Left(value) | Lone::Right(value) => Ok(value),
                }
            }
        }
    )*};
}

of_bits! {
    BitAnd "bit_and" and false Some(T::ZERO);
    BitOr "bit_or" or true Some(T::ONES);
    BitXor "bit_xor" xor true None;
}

/// The logical and of two operands; of integers bit by bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ∧ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry, the other gives its fill: the union of both patterns is stored, and the fill is
/// the operation of the fills, without a sign if it is zero. A fill of zero, or `false`, makes the same of everything:
/// entries of the other operand alone are not stored. Of [stored views](Stored) the result has the entries that both
/// have, and the fill of both. Beside an array or a number the pattern is shared; all positions that are not stored
/// must come to one value.
///
/// # NaN
///
/// Of `bool` and integers only.
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
/// use lacuna::{CooTensor, bit_and};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_and(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![1], 2)]);
/// assert_eq!(z.to_dense()?, bit_and(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_and(&y)?.entries(), [(vec![1], 2)]);
/// assert!(x.bit_and(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use lacuna::{CooTensor, bit_and};
///
/// let x = CooTensor::full([2], 1.0)?;
/// bit_and(&x, &x)?;
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_and`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_and.html).
#[doc(alias = "logical_and")]
#[doc(alias = "intersection")]
#[doc(alias = "numpy.bitwise_and")]
#[doc(alias = "numpy.logical_and")]
pub fn bit_and<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitAnd)
}

/// The logical or of two operands; of integers bit by bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ∨ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry, the other gives its fill: the union of both patterns is stored, and the fill is
/// the operation of the fills, without a sign if it is zero. A fill of all ones, or `true`, makes the same of
/// everything: entries of the other operand alone are not stored. Of [stored views](Stored) an entry of one side alone
/// is moved as it is, and the fill is that of both. Beside an array or a number the pattern is shared; all positions
/// that are not stored must come to one value.
///
/// # NaN
///
/// Of `bool` and integers only.
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
/// use lacuna::{CooTensor, bit_or};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_or(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1), (vec![1], 7), (vec![2], 3)]);
/// assert_eq!(z.to_dense()?, bit_or(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_or(&y)?.entries(), [(vec![0], 1), (vec![1], 7), (vec![2], 3)]);
/// assert!(x.bit_or(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_or`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_or.html).
#[doc(alias = "logical_or")]
#[doc(alias = "union")]
#[doc(alias = "numpy.bitwise_or")]
#[doc(alias = "numpy.logical_or")]
pub fn bit_or<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitOr)
}

/// The exclusive or of two operands; of integers bit by bit.
///
/// *z*<sub>k</sub> = *x*<sub>k</sub> ⊕ *y*<sub>k</sub>
///
/// # Shapes
///
/// The shapes are equal, or broadcast to one another as numpy's are. [`Partner`] says what may stand on the right. The
/// result is sparse if an operand is; of two arrays it is an array.
///
/// # Implicit values
///
/// Where one side alone has an entry, the other gives its fill: the union of both patterns is stored, and the fill is
/// the operation of the fills, without a sign if it is zero. Of [stored views](Stored) an entry of one side alone is
/// moved as it is, and the fill is that of both. Beside an array or a number the pattern is shared; all positions that
/// are not stored must come to one value.
///
/// # NaN
///
/// Of `bool` and integers only.
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
/// use lacuna::{CooTensor, bit_xor};
///
/// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1, 7], 0)?;
/// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2, 3], 0)?;
/// let z = bit_xor(&x, &y)?;
/// assert_eq!(z.entries(), [(vec![0], 1), (vec![1], 5), (vec![2], 3)]);
/// assert_eq!(z.to_dense()?, bit_xor(&x.to_dense()?, &y.to_dense()?)?);
/// assert_eq!(x.stored().bit_xor(&y)?.entries(), [(vec![0], 1), (vec![1], 5), (vec![2], 3)]);
/// assert!(x.bit_xor(6)?.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.bitwise_xor`](https://numpy.org/doc/stable/reference/generated/numpy.bitwise_xor.html).
#[doc(alias = "logical_xor")]
#[doc(alias = "symmetric_difference")]
#[doc(alias = "numpy.bitwise_xor")]
#[doc(alias = "numpy.logical_xor")]
pub fn bit_xor<X: Operand<Elem: Bits>, Y: Partner<X, Elem = X::Elem>>(x: &X, y: Y) -> Result<Y::Zipped<X::Elem>> {
    y.zip(x, BitXor)
}
