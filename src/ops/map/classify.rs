//! Predicates of single elements: infinite, NaN, finite, real.

use std::convert::Infallible;

use super::Answers;
use crate::base::error::Result;
use crate::base::threads;
use crate::element::{Element, Real};
use crate::kernels::map::Map;
use crate::ops::operand::Operand;

/// A map that returns `bool` and always has a result.
pub trait Predicate<T: Element>: Map<T, Out = bool, Fault = Infallible> {}
impl<T: Element, M: Map<T, Out = bool, Fault = Infallible>> Predicate<T> for M {}

/// The descriptor of a predicate: a function of one element, without branches.
struct Test<F>(F);

impl<T: Element, F: Fn(T) -> bool + Copy + Sync> Map<T> for Test<F> {
    type Out = bool;
    type Fault = Infallible;

    fn block(&self, values: &[T], answers: &mut [bool]) -> std::result::Result<(), Infallible> {
        threads::test_into(values, answers, 25 * size_of::<T>(), self.0);
        Ok(())
    }
}

/// Defines each predicate as a function with a page; the shared paragraphs of the pages appear here.
macro_rules! classify {
    ($($(#[$sentence:meta])* fn $name:ident, $into:ident($bound:ident) $(#[$nan:meta])* => $(#[$examples:meta])*;)*)
        => {
        $(
            $(#[$sentence])*
            ///
            /// # Shapes
            ///
            /// The result has the shape, the format and the index type of `x` (for arrays: the dimension type), and
            /// `bool` elements.
            ///
            /// # Implicit values
            ///
            /// The result stores what `x` stores (the pattern is shared), also where the answer is `false`. Its fill
            /// is the answer for the fill of `x`; of [`x.stored()`](crate::Tensor::stored), whose fill is not looked
            /// at, it is `false`, or the fill of `x` where that is a `bool`.
            ///
            /// # NaN
            ///
            $(#[$nan])*
            ///
            /// # Gradient
            ///
            /// None: the answer is constant almost everywhere.
            ///
            /// # Errors
            ///
            /// `TooLarge`: an array was broadcast to so many positions that the answers would need more than the larger
            /// of 1 GiB and 16 times the memory behind it.
            ///
            /// # Complexity
            ///
            /// O(entries), for arrays O(elements).
            ///
            /// # Examples
            ///
            $(#[$examples])*
            pub fn $name<X: Operand<Elem: $bound>>(x: &X) -> Result<X::Mapped<bool>> {
                x.by_map(&Test($bound::$name))
            }

            #[doc = concat!(
                "[`", stringify!($name), "`] into a result that is there already, whose memory is spared being found ",
                "and cleared."
            )]
            ///
            /// # Shapes
            ///
            /// `out` is a `bool` tensor of the format and index type of `x`, or a `bool` array or mutable view of its
            /// dimension type, of exactly the shape of `x` ([`Answers`]).
            ///
            /// # Implicit values
            ///
            /// `out` gets the pattern of `x` (shared), whatever it stored before; its fill is the answer for the fill
            /// of `x`.
            ///
            /// # NaN
            ///
            $(#[$nan])*
            ///
            /// # Gradient
            ///
            /// None: the answer is constant almost everywhere.
            ///
            /// # Errors
            ///
            /// `ShapeMismatch`: `out` has another shape than `x`, and stays as it was.
            ///
            /// # Complexity
            ///
            /// O(entries), for arrays O(elements), without memory for the result.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use lacuna::{", stringify!($name), ", ", stringify!($into), "};")]
            /// use ndarray::arr1;
            ///
            /// let mut answers = arr1(&[false; 2]);
            /// for x in [arr1(&[0.5, f64::INFINITY]), arr1(&[f64::NAN, -f64::INFINITY])] {
            #[doc = concat!("    ", stringify!($into), "(&x, &mut answers)?;")]
            #[doc = concat!("    assert_eq!(answers, ", stringify!($name), "(&x)?);")]
            /// }
            #[doc = concat!("assert!(", stringify!($into), "(&arr1(&[1.0]), &mut answers).is_err());")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            pub fn $into<X: Operand<Elem: $bound>>(x: &X, out: &mut impl Answers<X>) -> Result<()> {
                out.take_answers(x, &Test($bound::$name))
            }
        )*
    };
}

classify! {
    /// Whether each element is `+inf`.
    ///
    /// *y*<sub>i</sub> = (*x*<sub>i</sub> = +∞)
    ///
    /// Integers and `bool` give `false`. A complex number has no sign, so this does not exist for complex elements.
    #[doc(alias = "numpy.isposinf")]
    #[doc(alias = "torch.isposinf")]
    #[doc(alias = "is_infinite")]
    fn isposinf, isposinf_into(Real)
    /// NaN gives `false`.
    =>
    /// ```
    /// use lacuna::{CooTensor, isposinf};
    /// use ndarray::arr1;
    ///
    /// let infinity = f64::INFINITY;
    /// let x = CooTensor::new([4], vec![vec![0, 2]], vec![-infinity, infinity], f64::NAN)?;
    /// let y = isposinf(&x)?;
    /// assert_eq!(y.to_dense()?, arr1(&[false, false, true, false]).into_dyn());
    /// assert_eq!(y.to_dense()?, isposinf(&x.to_dense()?)?);
    /// assert!(y.shares_pattern_with(&x));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Complex elements do not compile, in a tensor or in an array:
    ///
    /// ```compile_fail,E0277
    /// # use {lacuna::{CooTensor, isposinf}, num_complex::Complex};
    /// isposinf(&CooTensor::full([2], Complex::new(0.0, 1.0)).unwrap());
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use {lacuna::isposinf, num_complex::Complex};
    /// isposinf(&ndarray::arr1(&[Complex::new(0.0, 1.0)]));
    /// ```
    ///
    /// Definition: [`numpy.isposinf`](https://numpy.org/doc/stable/reference/generated/numpy.isposinf.html).
    ;

    /// Whether each element is `-inf`.
    ///
    /// *y*<sub>i</sub> = (*x*<sub>i</sub> = −∞)
    ///
    /// Integers and `bool` give `false`. A complex number has no sign, so this does not exist for complex elements.
    #[doc(alias = "numpy.isneginf")]
    #[doc(alias = "torch.isneginf")]
    #[doc(alias = "is_infinite")]
    fn isneginf, isneginf_into(Real)
    /// NaN gives `false`.
    =>
    /// ```
    /// use lacuna::{CsrTensor, isneginf};
    /// use ndarray::arr2;
    ///
    /// let infinity = f64::INFINITY;
    /// let x = CsrTensor::new([2, 2], vec![0, 1, 2], vec![0, 1], vec![infinity, 0.0], -infinity)?;
    /// let y = isneginf(&x)?;
    /// assert_eq!(y.to_dense()?, arr2(&[[false, true], [true, false]]).into_dyn());
    /// assert_eq!(y.to_dense()?, isneginf(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Complex elements do not compile, in a tensor or in an array:
    ///
    /// ```compile_fail,E0277
    /// # use {lacuna::{CsrTensor, isneginf}, num_complex::Complex};
    /// isneginf(&CsrTensor::full([2, 2], Complex::new(0.0f32, 1.0)).unwrap());
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use {lacuna::isneginf, num_complex::Complex};
    /// isneginf(&ndarray::arr1(&[Complex::new(0.0f32, 1.0)]));
    /// ```
    ///
    /// Definition: [`numpy.isneginf`](https://numpy.org/doc/stable/reference/generated/numpy.isneginf.html).
    ;

    /// Whether each element is an infinity of either sign.
    ///
    /// *y*<sub>i</sub> = (|*x*<sub>i</sub>| = ∞)
    ///
    /// A complex number is infinite if either part is. Integers and `bool` give `false`.
    #[doc(alias = "numpy.isinf")]
    #[doc(alias = "torch.isinf")]
    #[doc(alias = "is_infinite")]
    fn isinf, isinf_into(Element)
    /// NaN gives `false`; a complex number with one part NaN and the other infinite is infinite, and NaN.
    =>
    /// ```
    /// use lacuna::{CooTensor, isinf};
    /// use ndarray::arr1;
    /// use num_complex::Complex;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, -f64::INFINITY], 0.0)?;
    /// assert_eq!(isinf(&x)?.to_dense()?, arr1(&[false, false, true]).into_dyn());
    /// assert_eq!(isinf(&x)?.to_dense()?, isinf(&x.to_dense()?)?);
    /// assert_eq!(isinf(&arr1(&[Complex::new(f32::NAN, f32::INFINITY)]))?, arr1(&[true]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.isinf`](https://numpy.org/doc/stable/reference/generated/numpy.isinf.html).
    ;

    /// Whether each element is NaN.
    ///
    /// *y*<sub>i</sub> = (*x*<sub>i</sub> ≠ *x*<sub>i</sub>)
    ///
    /// A complex number is NaN if either part is. Integers and `bool` give `false`.
    #[doc(alias = "numpy.isnan")]
    #[doc(alias = "torch.isnan")]
    #[doc(alias = "is_nan")]
    #[doc(alias = "isna")]
    #[doc(alias = "isnull")]
    fn isnan, isnan_into(Element)
    /// Every NaN gives `true`, whatever its sign and payload.
    =>
    /// ```
    /// use lacuna::{CooTensor, isnan};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![5.0, f64::INFINITY], f64::NAN)?;
    /// assert_eq!(isnan(&x)?.to_dense()?, arr1(&[false, true, false]).into_dyn());
    /// assert_eq!(isnan(&x)?.to_dense()?, isnan(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.isnan`](https://numpy.org/doc/stable/reference/generated/numpy.isnan.html).
    ;

    /// Whether each element is neither infinite nor NaN.
    ///
    /// *y*<sub>i</sub> = (|*x*<sub>i</sub>| < ∞)
    ///
    /// A complex number is finite if both parts are. Integers and `bool` give `true`.
    #[doc(alias = "numpy.isfinite")]
    #[doc(alias = "torch.isfinite")]
    #[doc(alias = "is_finite")]
    fn isfinite, isfinite_into(Element)
    /// NaN gives `false`.
    =>
    /// ```
    /// use lacuna::{CooTensor, isfinite};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![f64::NAN, f64::INFINITY], 0.0)?;
    /// assert_eq!(isfinite(&x)?.to_dense()?, arr1(&[false, true, false]).into_dyn());
    /// assert_eq!(isfinite(&x)?.to_dense()?, isfinite(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.isfinite`](https://numpy.org/doc/stable/reference/generated/numpy.isfinite.html).
    ;

    /// Whether each element has an imaginary part of zero.
    ///
    /// *y*<sub>i</sub> = (Im *x*<sub>i</sub> = 0)
    ///
    /// An imaginary part of `-0.0` is zero. Types without an imaginary part give `true`.
    #[doc(alias = "numpy.isreal")]
    #[doc(alias = "torch.isreal")]
    #[doc(alias = "iscomplex")]
    fn isreal, isreal_into(Element)
    /// An imaginary part that is NaN is not zero; the real part does not matter, nor does a NaN of a type without an
    /// imaginary part.
    =>
    /// ```
    /// use lacuna::{CooTensor, isreal};
    /// use ndarray::arr1;
    /// use num_complex::Complex;
    ///
    /// let values = vec![Complex::new(f64::NAN, -0.0), Complex::new(1.0, f64::NAN)];
    /// let x = CooTensor::new([3], vec![vec![0, 2]], values, Complex::new(0.0, 1.0))?;
    /// assert_eq!(isreal(&x)?.to_dense()?, arr1(&[true, false, false]).into_dyn());
    /// assert_eq!(isreal(&x)?.to_dense()?, isreal(&x.to_dense()?)?);
    /// assert_eq!(isreal(&arr1(&[f32::NAN]))?, arr1(&[true]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.isreal`](https://numpy.org/doc/stable/reference/generated/numpy.isreal.html).
    ;
}
