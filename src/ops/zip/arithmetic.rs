//! Sums, differences, products, quotients, remainders, minima and maxima.

use super::{Partner, fitting, is_wholly_nan};
use crate::base::error::Result;
use crate::element::{self, Element, Number, Numeric, Real, Remainder};
use crate::kernels::op::{Fault, Op, Outcome};
use crate::kernels::zip::{Alone, Lone, Zip};
use crate::ops::operand::Operand;

/// Returns the effect of a fill on entries without a partner, by whether it makes all results the same.
fn annihilated_if(same_of_all: bool) -> Alone {
    if same_of_all { Alone::Annihilated } else { Alone::Counts }
}

/// Returns an entry unchanged, from either side.
fn moved<T>(entry: Lone<T, T>) -> T {
    match entry {
        Lone::Left(value) | Lone::Right(value) => value,
    }
}

impl<T: Element> Zip<T, T> for Add {
    type Out = T;

    fn unites(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_add(b))
    }

    fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
        annihilated_if(is_wholly_nan(fill))
    }

    fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
        annihilated_if(is_wholly_nan(fill))
    }

    fn alone(&self, entry: Lone<T, T>) -> Outcome<T> {
        Ok(moved(entry))
    }
}

impl<T: Numeric> Zip<T, T> for Sub {
    type Out = T;

    fn unites(&self) -> bool {
        true
    }

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_sub(b))
    }

    fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
        annihilated_if(is_wholly_nan(fill))
    }

    fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
        annihilated_if(is_wholly_nan(fill))
    }

    fn alone(&self, entry: Lone<T, T>) -> Outcome<T> {
        match entry {
            Lone::Left(value) => Ok(value),
            Lone::Right(value) => fitting(value.checked_neg()),
        }
    }
}

impl<T: Element> Zip<T, T> for Mul {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(a.checked_mul(b))
    }

    fn of_left_fill(&self, fill: T, other: Option<T>) -> Alone {
        times(fill, other)
    }

    fn of_right_fill(&self, other: Option<T>, fill: T) -> Alone {
        times(fill, other)
    }
}

impl<T: Element> Zip<T, T> for MulNonzero {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        fitting(element::scaled(a, b))
    }

    fn of_left_fill(&self, fill: T, other: Option<T>) -> Alone {
        if fill.is_truthy() { times(fill, other) } else { Alone::Annihilated }
    }

    /// A zero on the left stays zero when it meets a fill of NaN.
    fn of_right_fill(&self, other: Option<T>, fill: T) -> Alone {
        if fill.isnan() { Alone::Counts } else { times(fill, other) }
    }
}

/// Returns the effect of the factor `fill` on entries without a partner; `other` is the fill of their operand.
fn times<T: Element>(fill: T, other: Option<T>) -> Alone {
    let is_zero = !fill.is_truthy();
    if fill.isnan() || (is_zero && fill.to_integer().is_some()) {
        Alone::Annihilated
    } else if is_zero && other.is_none_or(Element::isfinite) {
        Alone::AnnihilatedIfFinite
    } else {
        Alone::Counts
    }
}

impl<T: Numeric> Zip<T, T> for Div {
    type Out = T;

    #[inline(always)]
    fn apply(&self, a: T, b: T) -> Outcome<T> {
        a.checked_div(b)
            .ok_or_else(|| if b.is_truthy() { Fault::Overflow(T::DTYPE.name()) } else { Fault::DivisionByZero })
    }

    fn of_left_fill(&self, fill: T, other: Option<T>) -> Alone {
        // At an unstored position of the divisor, its fill would be the divisor.
        match other {
            None if !fill.is_truthy() => Alone::AnnihilatedIfFinite,
            _ => annihilated_if(is_wholly_nan(fill)),
        }
    }

    fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
        annihilated_if(fill.isnan())
    }
}

/// Defines remainders: only a fill of NaN makes all results the same.
macro_rules! remainders {
    ($($op:ident $method:ident),*) => {$(
        impl<T: Remainder> Zip<T, T> for $op {
            type Out = T;

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<T> {
                a.$method(b).ok_or(Fault::DivisionByZero)
            }

            fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
                annihilated_if(fill.isnan())
            }

            fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
                annihilated_if(fill.isnan())
            }
        }
    )*};
}

remainders!(Rem checked_rem, RemEuclid checked_rem_euclid);

/// Defines extremes: a fill of NaN, or of the most extreme integer of its type, makes all results the same.
macro_rules! extremes {
    ($($op:ident $function:ident $beyond:literal),*) => {$(
        impl<T: Real> Zip<T, T> for $op {
            type Out = T;

    fn unites(&self) -> bool {
        true
    }

            #[inline(always)]
            fn apply(&self, a: T, b: T) -> Outcome<T> {
                Ok(element::$function(a, b))
            }

            fn of_left_fill(&self, fill: T, _: Option<T>) -> Alone {
                annihilated_if(fill.isnan() || is_last(fill, $beyond))
            }

            fn of_right_fill(&self, _: Option<T>, fill: T) -> Alone {
                annihilated_if(fill.isnan() || is_last(fill, $beyond))
            }

            fn alone(&self, entry: Lone<T, T>) -> Outcome<T> {
                Ok(moved(entry))
            }
        }
    )*};
}

extremes!(Minimum minimum -1, Maximum maximum 1);

/// Returns whether the value is an integer, and its type does not have the integer `value + beyond`.
fn is_last<T: Element>(value: T, beyond: i128) -> bool {
    value.to_integer().is_some_and(|integer| T::from_number(Number::Integer(integer + beyond)).is_none())
}

zips! {
    /// The sum of two operands, element by element.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> + *y*<sub>k</sub>
    #[doc(alias = "plus")]
    #[doc(alias = "numpy.add")]
    #[doc(alias = "torch.add")]
    fn add<Element>(Add) -> X::Elem;
    #[doc = union_of_both!()]
    /// A fill of NaN makes everything NaN: entries of the other operand alone are not stored. Of [stored
    /// views](crate::Stored) an entry of one side alone is moved as it is, and the fill is that of both; so a sparse
    /// row or column beside a view stores all that it is broadcast to, where an array leaves the view its own entries.
    =>
    /// NaN plus anything is NaN; a complex sum is formed part by part, and only a fill that is NaN in both parts makes
    /// everything the same.
    =>
    /// [`grad::add`](crate::grad::add).
    =>
    /// - `Overflow`: an integer result does not fit, with its coordinates, or as the fill;
    =>
    /// ```
    /// use lacuna::{CooTensor, add};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
    /// let z = add(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 9.0), (vec![2], 3.0)]);
    /// assert_eq!(z.to_dense()?, add(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().add(&y)?.entries(), [(vec![0], 1.0), (vec![1], 9.0), (vec![2], 3.0)]);
    /// assert!(x.add(2.0)?.shares_pattern_with(&x));
    /// assert_eq!((&x + &y).entries(), z.entries()); // panics where `add` has an error
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.add`](https://numpy.org/doc/stable/reference/generated/numpy.add.html).
    ;

    /// The difference of two operands, element by element.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> − *y*<sub>k</sub>
    #[doc(alias = "minus")]
    #[doc(alias = "subtract")]
    #[doc(alias = "numpy.subtract")]
    #[doc(alias = "torch.sub")]
    fn sub<Numeric>(Sub) -> X::Elem;
    #[doc = union_of_both!()]
    /// A fill of NaN makes everything NaN: entries of the other operand alone are not stored. Of [stored
    /// views](crate::Stored) an entry of one side alone is moved as it is, on the right with the other sign, and the
    /// fill is that of both; so a sparse row or column beside a view stores all that it is broadcast to, where an array
    /// leaves the view its own entries.
    =>
    /// NaN minus anything is NaN, and so is anything minus NaN; complex as [`add`].
    =>
    /// [`grad::sub`](crate::grad::sub).
    =>
    /// - `Overflow`: an integer result does not fit, with its coordinates, or as the fill;
    =>
    /// ```
    /// use lacuna::{CooTensor, sub};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
    /// let z = sub(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 5.0), (vec![2], -3.0)]);
    /// assert_eq!(z.to_dense()?, sub(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().sub(&y)?.entries(), [(vec![0], 1.0), (vec![1], 5.0), (vec![2], -3.0)]);
    /// assert!(x.sub(2.0)?.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0277
    /// use lacuna::{CooTensor, sub};
    ///
    /// let x = CooTensor::full([2], true)?;
    /// sub(&x, &x)?;
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.subtract`](https://numpy.org/doc/stable/reference/generated/numpy.subtract.html).
    ;

    /// The product of two operands, element by element.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> · *y*<sub>k</sub>
    #[doc(alias = "multiply")]
    #[doc(alias = "times")]
    #[doc(alias = "hadamard")]
    #[doc(alias = "numpy.multiply")]
    #[doc(alias = "torch.mul")]
    fn mul<Element>(Mul) -> X::Elem;
    /// With fills of zero the entries that both have are stored: an implicit zero makes zero of every finite element,
    /// and what is not finite is an error there (`0 * inf` is NaN). The same holds where the fill is zero of one
    /// operand and finite of the other, whose entries alone are left out; for integers and `bool`, where `*` is `and`,
    /// without a condition. A fill of NaN makes everything NaN: entries of the other operand alone are not stored. With
    /// any other fill the union is stored. Of [stored views](crate::Stored) the result has the entries that both have,
    /// and the fill of both.
    =>
    /// NaN times anything is NaN, zero included; of complex numbers in both parts.
    =>
    /// [`grad::mul`](crate::grad::mul).
    =>
    /// - `Overflow`: an integer result does not fit, with its coordinates, or as the fill;
    /// - `NonFinite`: an element that is not finite meets an implicit zero, with its coordinates; stored views look at
    ///   no gap;
    =>
    /// ```
    /// use lacuna::{CooTensor, mul};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
    /// let z = mul(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![1], 14.0)]);
    /// assert_eq!(z.to_dense()?, mul(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().mul(&y)?.entries(), [(vec![1], 14.0)]);
    /// assert!(x.mul(2.0)?.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.multiply`](https://numpy.org/doc/stable/reference/generated/numpy.multiply.html).
    ;

    /// The product of two operands, element by element, where the left one is not zero; `+0.0` elsewhere.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> · *y*<sub>k</sub> if *x*<sub>k</sub> ≠ 0, else 0
    ///
    /// Gradients are multiplied so: an upstream element of zero gives zero, whatever the derivative is there.
    fn mul_nonzero<Element>(MulNonzero) -> X::Elem;
    /// A fill of zero on the left leaves out the entries that *y* alone has. All else is as in [`mul`], except that a
    /// fill of NaN on the right leaves out no entries of *x*. Of [stored views](crate::Stored) the result has the
    /// entries that both have, and the fill of both.
    =>
    /// NaN times anything is NaN, and so is what is not zero times NaN. Zero times NaN is `+0.0`.
    =>
    /// That of [`mul`]: [`grad::mul`](crate::grad::mul).
    =>
    /// - `Overflow`, `NonFinite`: as in [`mul`];
    =>
    /// ```
    /// use lacuna::{CooTensor, mul_nonzero};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![0.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![0, 1, 2]], vec![f64::INFINITY, 2.0, f64::NAN], 0.0)?;
    /// let z = mul_nonzero(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 0.0), (vec![1], 14.0)]);
    /// assert_eq!(z.to_dense()?, mul_nonzero(&x.to_dense()?, &y.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: `numpy.where(x != 0, x * y, 0)`.
    ;

    /// The quotient of two operands, element by element: of integers cut off towards zero, as Rust has it.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> / *y*<sub>k</sub>
    #[doc(alias = "divide")]
    #[doc(alias = "true_divide")]
    #[doc(alias = "numpy.divide")]
    #[doc(alias = "torch.div")]
    fn div<Numeric>(Div) -> X::Elem;
    #[doc = union_of_both!()]
    /// So with fills of zero the fill is NaN for floats, and an error for integers. A fill of NaN makes everything NaN:
    /// entries of the other operand alone are not stored. Of [stored views](crate::Stored) the result has the entries
    /// that both have, and the fill of both.
    =>
    /// NaN by anything is NaN, and so are `0 / 0` and `inf / inf`. A complex quotient is that of Smith's method, as
    /// numpy forms it.
    =>
    /// [`grad::div`](crate::grad::div).
    =>
    /// - `Overflow`: an integer result does not fit, with its coordinates, or as the fill;
    /// - `DivisionByZero`: an integer is divided by zero, with the coordinates, or as the fill;
    =>
    /// ```
    /// use lacuna::{CooTensor, div};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![6.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 4.0], 1.0)?;
    /// let z = div(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 6.0), (vec![1], 3.5), (vec![2], 0.0)]);
    /// assert_eq!(z.to_dense()?, div(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().div(y.clone().with_fill(0.0).stored())?.entries(), [(vec![1], 3.5)]);
    /// assert!(f64::is_nan(x.div(&y.with_fill(0.0))?.fill()));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.divide`](https://numpy.org/doc/stable/reference/generated/numpy.divide.html).
    ;

    /// The remainder of a quotient that is cut off towards zero, element by element: `%` of Rust, with the sign of *x*.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> − *y*<sub>k</sub> · trunc(*x*<sub>k</sub> / *y*<sub>k</sub>)
    #[doc(alias = "modulo")]
    #[doc(alias = "numpy.fmod")]
    #[doc(alias = "torch.fmod")]
    fn rem<Remainder>(Rem) -> X::Elem;
    #[doc = union_of_both!()]
    /// So with fills of zero the fill is NaN for floats, and an error for integers. A fill of NaN makes everything NaN:
    /// entries of the other operand alone are not stored. Of [stored views](crate::Stored) the result has the entries
    /// that both have, and the fill of both.
    =>
    /// NaN on either side, a divisor of zero and an infinite *x* give NaN.
    =>
    /// None.
    =>
    /// - `DivisionByZero`: an integer is divided by zero, with the coordinates, or as the fill;
    =>
    /// ```
    /// use lacuna::{CooTensor, rem};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![4.0, 2.0], 4.0)?;
    /// let z = rem(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], -3.0), (vec![1], 3.0), (vec![2], 0.0)]);
    /// assert_eq!(z.to_dense()?, rem(&x.to_dense()?, &y.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0277
    /// use lacuna::{CooTensor, rem};
    ///
    /// let x = CooTensor::full([2], lacuna::num_complex::Complex::new(1.0, 0.0))?;
    /// rem(&x, &x)?;
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.fmod`](https://numpy.org/doc/stable/reference/generated/numpy.fmod.html).
    ;

    /// The remainder that is not negative, element by element.
    ///
    /// *z*<sub>k</sub> = *x*<sub>k</sub> mod |*y*<sub>k</sub>|
    #[doc(alias = "mod")]
    #[doc(alias = "modulo")]
    #[doc(alias = "numpy.mod")]
    #[doc(alias = "torch.remainder")]
    fn rem_euclid<Remainder>(RemEuclid) -> X::Elem;
    #[doc = union_of_both!()]
    /// So with fills of zero the fill is NaN for floats, and an error for integers. A fill of NaN makes everything NaN:
    /// entries of the other operand alone are not stored. Of [stored views](crate::Stored) the result has the entries
    /// that both have, and the fill of both.
    =>
    /// NaN on either side, a divisor of zero and an infinite *x* give NaN.
    =>
    /// None.
    =>
    /// - `DivisionByZero`: an integer is divided by zero, with the coordinates, or as the fill;
    =>
    /// ```
    /// use lacuna::{CooTensor, rem_euclid};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![-7.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![4.0, 2.0], 4.0)?;
    /// let z = rem_euclid(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 3.0), (vec![2], 0.0)]);
    /// assert_eq!(z.to_dense()?, rem_euclid(&x.to_dense()?, &y.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`f64::rem_euclid`](https://doc.rust-lang.org/std/primitive.f64.html#method.rem_euclid).
    ;

    /// The smaller one of two elements, position by position.
    ///
    /// *z*<sub>k</sub> = min(*x*<sub>k</sub>, *y*<sub>k</sub>)
    #[doc(alias = "smaller")]
    #[doc(alias = "numpy.minimum")]
    #[doc(alias = "torch.minimum")]
    fn minimum<Real>(Minimum) -> X::Elem;
    #[doc = union_of_both!()]
    /// A fill of NaN, and of integers one that is the least of its type, makes everything the same: entries of the
    /// other operand alone are not stored. Of [stored views](crate::Stored) an entry of one side alone is moved as it
    /// is, and the fill is that of both.
    =>
    /// NaN if either is; `-0.0` is below `0.0` (minimum of IEEE 754-2019).
    =>
    /// [`grad::minimum`](crate::grad::minimum).
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, minimum};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
    /// let z = minimum(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 0.0), (vec![1], 2.0), (vec![2], 0.0)]);
    /// assert_eq!(z.to_dense()?, minimum(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().minimum(&y)?.entries(), [(vec![0], 1.0), (vec![1], 2.0), (vec![2], 3.0)]);
    /// assert!(x.minimum(2.0)?.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.minimum`](https://numpy.org/doc/stable/reference/generated/numpy.minimum.html).
    ;

    /// The greater one of two elements, position by position.
    ///
    /// *z*<sub>k</sub> = max(*x*<sub>k</sub>, *y*<sub>k</sub>)
    #[doc(alias = "greater")]
    #[doc(alias = "numpy.maximum")]
    #[doc(alias = "torch.maximum")]
    fn maximum<Real>(Maximum) -> X::Elem;
    #[doc = union_of_both!()]
    /// A fill of NaN, and of integers one that is the greatest of its type, makes everything the same: entries of the
    /// other operand alone are not stored. Of [stored views](crate::Stored) an entry of one side alone is moved as it
    /// is, and the fill is that of both.
    =>
    /// NaN if either is; `0.0` is above `-0.0` (maximum of IEEE 754-2019).
    =>
    /// [`grad::maximum`](crate::grad::maximum).
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, maximum};
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 1]], vec![1.0, 7.0], 0.0)?;
    /// let y = CooTensor::new([4], vec![vec![1, 2]], vec![2.0, 3.0], 0.0)?;
    /// let z = maximum(&x, &y)?;
    /// assert_eq!(z.entries(), [(vec![0], 1.0), (vec![1], 7.0), (vec![2], 3.0)]);
    /// assert_eq!(z.to_dense()?, maximum(&x.to_dense()?, &y.to_dense()?)?);
    /// assert_eq!(x.stored().maximum(&y)?.entries(), [(vec![0], 1.0), (vec![1], 7.0), (vec![2], 3.0)]);
    /// assert!(x.maximum(2.0)?.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.maximum`](https://numpy.org/doc/stable/reference/generated/numpy.maximum.html).
    ;
}
