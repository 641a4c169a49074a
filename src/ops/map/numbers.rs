//! Elementwise functions that integers or complex numbers have too: signs, magnitudes, squares, powers, bounds, bits,
//! parts.

use crate::base::error::{Error, Result};
use crate::element::{Bits, ComplexElement, Float, Magnitude, Real, RealNumber, Signed, math};
use crate::kernels::map::{CALL, Each};
use crate::ops::operand::Operand;

elementwise! {
    /// Each element with the other sign.
    ///
    /// *y*<sub>i</sub> = −*x*<sub>i</sub>
    ///
    /// Unsigned integers and `bool` have no other sign, and do not compile.
    #[doc(alias = "negative")]
    fn neg<Signed>() -> X::Elem = Each::quick("neg", X::Elem::negated);
    /// NaN gives the canonical NaN.
    =>
    /// [`grad::neg`](crate::grad::neg): *dx*<sub>i</sub> = −*dy*<sub>i</sub>
    =>
    /// - `Overflow`: the least integer of its type has no counterpart;
    =>
    /// ```
    /// use lacuna::{CooTensor, Error, neg};
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3i8, -4], 0)?;
    /// let y = neg(&x)?;
    /// assert_eq!(y.values(), [-3, 4]);
    /// assert_eq!(y.to_dense()?, neg(&x.to_dense()?)?);
    /// let least = CooTensor::new([3], vec![vec![0, 2]], vec![3, i8::MIN], 0)?;
    /// let refused = neg(&least).unwrap_err().to_string();
    /// assert_eq!(refused, "neg at [2] does not fit int8; cast beforehand, to float64 say");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use lacuna::{CooTensor, neg};
    /// neg(&CooTensor::full([2], 1u8).unwrap());
    /// ```
    ///
    /// Definition: [`numpy.negative`](https://numpy.org/doc/stable/reference/generated/numpy.negative.html).
    ;

    /// The magnitude of each element.
    ///
    /// *y*<sub>i</sub> = |*x*<sub>i</sub>|
    ///
    /// The magnitude of a complex number is real, within 1 unit in the last place. `bool` does not have a magnitude,
    /// and does not compile.
    #[doc(alias = "absolute")]
    #[doc(alias = "fabs")]
    #[doc(alias = "norm")]
    fn abs<Magnitude>() -> <X::Elem as Magnitude>::Magnitude = Each::quick("abs", X::Elem::magnitude);
    /// NaN gives the canonical NaN; a complex number with an infinite part is infinite, also where the other is NaN.
    =>
    /// [`grad::abs`](crate::grad::abs): *dx*<sub>i</sub> = *dy*<sub>i</sub> · sign *x*<sub>i</sub>
    =>
    /// - `Overflow`: the least integer of a signed type has a magnitude that the type does not hold;
    =>
    /// ```
    /// use lacuna::{CooTensor, Error, abs};
    /// use ndarray::arr1;
    /// use num_complex::Complex;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], -1)?;
    /// assert_eq!(abs(&x)?.to_dense()?, arr1(&[3, 1, 4]).into_dyn());
    /// assert_eq!(abs(&x)?.to_dense()?, abs(&x.to_dense()?)?);
    /// assert_eq!(abs(&arr1(&[Complex::new(3.0, -4.0)]))?, arr1(&[5.0]));
    /// let fill = CooTensor::full([2], i8::MIN)?;
    /// let refused = abs(&fill).unwrap_err().to_string();
    /// assert_eq!(refused, "abs at the fill does not fit int8; cast beforehand, to float64 say");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// Definition: [`numpy.absolute`](https://numpy.org/doc/stable/reference/generated/numpy.absolute.html).
    ;

    /// The sign of each element: -1, 0 or 1.
    ///
    /// *y*<sub>i</sub> = −1, 0, 1 for *x*<sub>i</sub> < 0, = 0, > 0
    ///
    /// Zeros keep their own sign. `bool` and complex numbers have none, and do not compile.
    #[doc(alias = "signum")]
    fn sign<RealNumber>() -> X::Elem = Each::quick("sign", |value: X::Elem| Some(value.sign()));
    /// NaN gives the canonical NaN. (`f64::signum` of a zero is ±1.)
    =>
    /// None: the result is constant almost everywhere.
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, sign};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([4], vec![vec![0, 2, 3]], vec![0.5, -0.0, -7.0], 0.0)?;
    /// assert_eq!(sign(&x)?.to_dense()?, arr1(&[1.0, 0.0, -0.0, -1.0]).into_dyn());
    /// assert_eq!(sign(&x)?.to_dense()?, sign(&x.to_dense()?)?);
    /// assert_eq!(sign(&arr1(&[7u8, 0]))?, arr1(&[1, 0]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Complex numbers do not compile:
    ///
    /// ```compile_fail,E0277
    /// # use {lacuna::sign, num_complex::Complex};
    /// sign(&ndarray::arr1(&[Complex::new(0.0, 1.0)]));
    /// ```
    ///
    /// Definition: [`numpy.sign`](https://numpy.org/doc/stable/reference/generated/numpy.sign.html).
    ;

    /// The product of each element with itself.
    ///
    /// *y*<sub>i</sub> = *x*<sub>i</sub>²
    ///
    /// The square of a float is rounded once. `bool` and complex numbers do not compile.
    fn square<RealNumber>() -> X::Elem = Each::quick("square", X::Elem::squared);
    /// NaN gives the canonical NaN.
    =>
    /// [`grad::square`](crate::grad::square): *dx*<sub>i</sub> = *dy*<sub>i</sub> · 2 *x*<sub>i</sub>
    =>
    /// - `Overflow`: the square of an integer does not fit its type;
    =>
    /// ```
    /// use lacuna::{CooTensor, square};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
    /// assert_eq!(square(&x)?.to_dense()?, arr1(&[9, 0, 16]).into_dyn());
    /// assert_eq!(square(&x)?.to_dense()?, square(&x.to_dense()?)?);
    /// let refused = square(&arr1(&[15u8, 16])).unwrap_err().to_string();
    /// assert_eq!(refused, "square at [1] does not fit uint8; cast beforehand, to float64 say");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.square`](https://numpy.org/doc/stable/reference/generated/numpy.square.html).
    ;

    /// Each bit turned around; of `bool` whether it is not.
    ///
    /// *y*<sub>i</sub> = ¬*x*<sub>i</sub>
    ///
    /// Floats and complex numbers do not compile.
    #[doc(alias = "logical_not")]
    #[doc(alias = "bitwise_not")]
    #[doc(alias = "invert")]
    fn not<Bits>() -> X::Elem = Each::quick("not", |value: X::Elem| Some(value.xor(X::Elem::ONES)));
    /// There is none among integers and `bool`.
    =>
    /// None: these types have no gradient.
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, not};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![true, false], false)?;
    /// assert_eq!(not(&x)?.to_dense()?, arr1(&[false, true, true]).into_dyn());
    /// assert_eq!(not(&x)?.to_dense()?, not(&x.to_dense()?)?);
    /// assert_eq!(not(&arr1(&[0u8, 1]))?, arr1(&[255, 254]));
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.invert`](https://numpy.org/doc/stable/reference/generated/numpy.invert.html).
    ;

    /// The complex conjugate of each element.
    ///
    /// *y*<sub>i</sub> = Re *x*<sub>i</sub> − i Im *x*<sub>i</sub>
    ///
    /// Types without an imaginary part do not compile.
    #[doc(alias = "conjugate")]
    fn conj<ComplexElement>() -> X::Elem = Each::quick("conj", |value: X::Elem| {
        let (re, im) = value.parts();
        Some(X::Elem::of_parts(canonical(re), im.negated()?))
    });
    /// A part that is NaN gives the canonical NaN.
    =>
    /// None: gradients are those of floats.
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, conj};
    /// use num_complex::Complex;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0, 2.0)], Complex::ZERO)?;
    /// assert_eq!(conj(&x)?.values(), [Complex::new(1.0, -2.0)]);
    /// assert_eq!(conj(&x)?.to_dense()?, conj(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.conj`](https://numpy.org/doc/stable/reference/generated/numpy.conj.html).
    ;

    /// The real part of each complex element.
    ///
    /// *y*<sub>i</sub> = Re *x*<sub>i</sub>
    ///
    /// Types without an imaginary part do not compile.
    fn real<ComplexElement>() -> <X::Elem as ComplexElement>::Part =
        Each::quick("real", |value: X::Elem| Some(canonical(value.parts().0)));
    /// A NaN gives the canonical NaN.
    =>
    /// None: gradients are those of floats.
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, real};
    /// use num_complex::Complex;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0f32, 2.0)], Complex::ZERO)?;
    /// assert_eq!(real(&x)?.values(), [1.0]);
    /// assert_eq!(real(&x)?.to_dense()?, real(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.real`](https://numpy.org/doc/stable/reference/generated/numpy.real.html).
    ;

    /// The imaginary part of each complex element.
    ///
    /// *y*<sub>i</sub> = Im *x*<sub>i</sub>
    ///
    /// Types without an imaginary part do not compile.
    fn imag<ComplexElement>() -> <X::Elem as ComplexElement>::Part =
        Each::quick("imag", |value: X::Elem| Some(canonical(value.parts().1)));
    /// A NaN gives the canonical NaN.
    =>
    /// None: gradients are those of floats.
    =>
    =>
    /// ```
    /// use lacuna::{CooTensor, imag};
    /// use num_complex::Complex;
    ///
    /// let x = CooTensor::new([3], vec![vec![1]], vec![Complex::new(1.0f32, 2.0)], Complex::ZERO)?;
    /// assert_eq!(imag(&x)?.values(), [2.0]);
    /// assert_eq!(imag(&x)?.to_dense()?, imag(&x.to_dense()?)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.imag`](https://numpy.org/doc/stable/reference/generated/numpy.imag.html).
    ;

    /// Each element to the power of an integer.
    ///
    /// *y*<sub>i</sub> = *x*<sub>i</sub><sup>exponent</sup>
    ///
    /// The power of a float is within 1 unit in the last place of the real number, with the same bits on every machine.
    /// A square is rounded once. `bool` and complex numbers do not compile.
    #[doc(alias = "power")]
    fn powi<RealNumber>(exponent: i32) -> X::Elem = Each {
        operation: "powi",
        picoseconds: CALL,
        f: power_of::<X::Elem>(exponent)?,
    };
    /// NaN gives the canonical NaN but to the power of 0, which is 1.
    =>
    /// [`grad::powi`](crate::grad::powi): *dx*<sub>i</sub> = *dy*<sub>i</sub> · exponent ·
    /// *x*<sub>i</sub><sup>exponent − 1</sup>
    =>
    /// - `Overflow`: the power of an integer does not fit its type;
    /// - `Argument`: an exponent below zero, of integers;
    =>
    /// ```
    /// use lacuna::{CooTensor, powi};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3, -4], 0)?;
    /// assert_eq!(powi(&x, 3)?.to_dense()?, arr1(&[27, 0, -64]).into_dyn());
    /// assert_eq!(powi(&x, 3)?.to_dense()?, powi(&x.to_dense()?, 3)?);
    /// assert_eq!(powi(&arr1(&[2.0, 0.5]), -2)?, arr1(&[0.25, 4.0]));
    /// assert_eq!(powi(&x, -1).unwrap_err().to_string(), "powi: integers have no powers of -1");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.power`](https://numpy.org/doc/stable/reference/generated/numpy.power.html).
    ;

    /// Each element, or the bound that it lies beyond.
    ///
    /// *y*<sub>i</sub> = min(max(*x*<sub>i</sub>, low), high)
    ///
    /// Zeros of both signs are as large, and keep theirs. Complex numbers have no order, and do not compile.
    #[doc(alias = "clip")]
    fn clamp<Real>(low: X::Elem, high: X::Elem) -> X::Elem = Each::quick("clamp", within(low, high)?);
    /// NaN gives the canonical NaN.
    =>
    /// [`grad::clamp`](crate::grad::clamp): *dx*<sub>i</sub> = *dy*<sub>i</sub> if low ≤ *x*<sub>i</sub> ≤ high, otherwise
    /// 0 · *dy*<sub>i</sub>
    =>
    /// - `Argument`: the lower bound is above the upper one, or one of them is NaN;
    =>
    /// ```
    /// use lacuna::{CooTensor, clamp};
    /// use ndarray::arr1;
    ///
    /// let x = CooTensor::new([3], vec![vec![0, 2]], vec![3.0, -4.0], 0.5)?;
    /// assert_eq!(clamp(&x, -1.0, 1.0)?.to_dense()?, arr1(&[1.0, 0.5, -1.0]).into_dyn());
    /// assert_eq!(clamp(&x, -1.0, 1.0)?.to_dense()?, clamp(&x.to_dense()?, -1.0, 1.0)?);
    /// let refused = clamp(&x, 2.0, 1.0).unwrap_err();
    /// assert_eq!(refused.to_string(), "clamp: the lower bound 2.0 is not at most the upper bound 1.0");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    ///
    /// Definition: [`numpy.clip`](https://numpy.org/doc/stable/reference/generated/numpy.clip.html), which takes bounds
    /// in any order.
    ;
}

gradients! {
    fn neg_backward of neg() = |_| -1.0, "−1";
    fn abs_backward of abs() = math::sign, "sign *x*<sub>i</sub>";
    /// The derivative at zero is 0.
    fn square_backward of square() = |x| 2.0 * x, "2 *x*<sub>i</sub>";
    fn powi_backward of powi(exponent: i32 = 3) = |x| math::slope_of_pow(x, exponent.into()),
        "exponent · *x*<sub>i</sub><sup>exponent − 1</sup>";
    /// The slope of a constant, to the power of 0, is 0 everywhere.
    fn clamp_backward of clamp(low: X::Elem = 0.1, high: X::Elem = 0.3) = {
        let (low, high) = checked_bounds(low.to_f64(), high.to_f64())?;
        move |x: f64| if x.is_nan() { x } else { f64::from(u8::from((low..=high).contains(&x))) }
    }, "1 where low ≤ *x*<sub>i</sub> ≤ high, 0 else";
    /// Bounds that [`clamp`] refuses are an `Argument` error here too.
}

/// Returns the same number; NaN becomes the canonical NaN.
fn canonical<T: Float>(value: T) -> T {
    if value.isnan() { T::NAN } else { value }
}

/// Returns the function that raises a value to `exponent`, or an error if the type does not have such powers.
fn power_of<T: RealNumber>(exponent: i32) -> Result<impl Fn(T) -> Option<T> + Copy + Sync> {
    if exponent < 0 && T::ZERO.to_integer().is_some() {
        let why = format!("integers have no powers of {exponent}");
        return Err(Error::Argument { operation: "powi", why });
    }
    Ok(move |value: T| value.raised(exponent))
}

/// Returns the bounds, or an error if the lower bound is above the upper bound or either is NaN.
fn checked_bounds<T: Real>(low: T, high: T) -> Result<(T, T)> {
    if low <= high {
        return Ok((low, high));
    }
    let (low, high) = (low.to_number(), high.to_number());
    let why = format!("the lower bound {low} is not at most the upper bound {high}");
    Err(Error::Argument { operation: "clamp", why })
}

/// Returns the function that clamps a value to the bounds.
fn within<T: Real>(low: T, high: T) -> Result<impl Fn(T) -> Option<T> + Copy + Sync> {
    let (low, high) = checked_bounds(low, high)?;
    Ok(move |value: T| {
        let bounded = if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        };
        Some(if value.isnan() { value.as_implicit() } else { bounded })
    })
}
