//! The elementwise functions of one operand, with one row per function.

use super::{CommandKind, OpSpec, Second, Split};

/// Passes the rows to a macro: `__functions! { make }` calls `make! { families }`, and
/// `__functions! { make arguments }` calls `make! { arguments families }`.
///
/// A family is `name { rows }`. All functions of a family run in the same way on dynamically typed operands. A row is
///
/// ```text
/// /// Sentence
/// name [Bound -> Result] (Kind …) methods [name_backward: Second, |x, g| formula] command(…);
/// ```
///
/// | part | content |
/// | --- | --- |
/// | sentence | the first line of the pages of all methods, without a period |
/// | `Bound` | the trait of the element types that have the function |
/// | `Result` | the element type of the result: `Same`, `Bool`, `Magnitude` or `Part` |
/// | `Kind …` | the supported kinds of element types; other types of a kind are widened |
/// | `methods` | `arrays` if arrays have the method, `tensors` if `ndarray` or an operator has this name |
/// | `name_backward` | the gradient, if there is one |
/// | `Second` | the rule for the gradient of the gradient |
/// | `command(…)` | the command of the command line, if there is one |
/// | `formula` | the gradient of `x` for an upstream gradient `g`, in other functions |
///
/// A formula multiplies with `mul_nonzero`, so that a zero upstream gradient remains zero.
#[doc(hidden)]
#[macro_export]
macro_rules! __functions {
    ($make:ident $($arguments:tt)*) => {
        $crate::__functions! { ($make) $($arguments)* }
    };
    (($($make:tt)*) $($arguments:tt)*) => {
        $($make)*! {
            $($arguments)*
            tests {
                /// Returns whether each element is positive infinity
                isposinf [Real -> Bool] (Truth Float) arrays []
                    command(Plain, "Test whether each element is +inf", "tests/data/mauna_loa_co2_monthly.npz");
                /// Returns whether each element is negative infinity
                isneginf [Real -> Bool] (Truth Float) arrays []
                    command(Plain, "Test whether each element is -inf", "tests/data/mauna_loa_co2_monthly.npz");
                /// Returns whether each element is negative or −0.0
                signbit [Real -> Bool] (Truth Signed Unsigned Float) arrays [];
                /// Returns whether each element is an infinity of either sign
                isinf [Element -> Bool] (Truth Float Complex) arrays []
                    command(Plain, "Test whether each element is infinite", "tests/data/mauna_loa_co2_monthly.npz");
                /// Returns whether each element is NaN
                isnan [Element -> Bool] (Truth Float Complex) arrays []
                    command(Plain, "Test whether each element is NaN", "tests/data/mauna_loa_co2.mtx -o missing.npz");
                /// Returns whether each element is neither infinite nor NaN
                isfinite [Element -> Bool] (Truth Float Complex) arrays []
                    command(Plain, "Test whether each element is finite", "tests/data/mauna_loa_co2.mtx");
                /// Returns whether each element has an imaginary part of zero
                isreal [Element -> Bool] (Truth Float Complex) arrays []
                    command(Plain, "Test whether each element is real", "tests/data/pauli_sum.mtx");
            }
            numbers {
                /// Returns the negative of each element
                neg [Signed -> Same] (Signed Float Complex) tensors [neg_backward: Formula, |_x, g| g * -1.0];
                /// Returns the magnitude of each element
                abs [Magnitude -> Magnitude] (Signed Unsigned Float Complex) tensors [abs_backward: Again];
                /// Returns the sign of each element: -1, 0 or 1
                sign [Numeric -> Same] (Signed Unsigned Float Complex) arrays [];
                /// Returns the square of each element
                square [Numeric -> Same] (Signed Unsigned Float Complex) arrays
                    [square_backward: Formula, |x, g| g.mul_nonzero(&(x * 2.0))];
            }
            bits {
                /// Returns each element with all bits inverted; for `bool`, the negation
                not [Bits -> Same] (Truth Signed Unsigned) tensors [];
            }
            parts {
                /// Returns the complex conjugate of each element
                conj [ComplexElement -> Same] (Complex) arrays [];
                /// Returns the real part of each element
                real [ComplexElement -> Part] (Complex) arrays [];
                /// Returns the imaginary part of each element
                imag [ComplexElement -> Part] (Complex) arrays [];
                /// Returns the angle of each element in the complex plane, between −π and π
                angle [ComplexElement -> Part] (Complex) arrays [];
            }
            floats {
                /// Returns the square root of each element
                sqrt [Inexact -> Same] (Float Complex) tensors
                    [sqrt_backward: Formula, |x, g| g.mul_nonzero(&(x.sqrt() * 2.0).recip())];
                /// Returns the cube root of each element
                cbrt [Float -> Same] (Float) tensors
                    [cbrt_backward: Formula, |x, g| g.mul_nonzero(&(x.cbrt().square() * 3.0).recip())];
                /// Returns the exponential of each element
                exp [Inexact -> Same] (Float Complex) tensors [exp_backward: Formula, |x, g| g.mul_nonzero(&x.exp())];
                /// Returns 2 to the power of each element
                exp2 [Float -> Same] (Float) tensors
                    [exp2_backward: Formula, |x, g| g.mul_nonzero(&(x.exp2() * LN_2))];
                /// Returns the exponential of each element minus 1, accurate near zero
                exp_m1 [Float -> Same] (Float) tensors [exp_m1_backward: Formula, |x, g| g.mul_nonzero(&x.exp())];
                /// Returns the natural logarithm of each element
                ln [Inexact -> Same] (Float Complex) tensors [ln_backward: Formula, |x, g| g.mul_nonzero(&x.recip())];
                /// Returns the natural logarithm of 1 plus each element, accurate near zero
                ln_1p [Float -> Same] (Float) tensors
                    [ln_1p_backward: Formula, |x, g| g.mul_nonzero(&(x + 1.0).recip())];
                /// Returns the base-2 logarithm of each element
                log2 [Float -> Same] (Float) tensors
                    [log2_backward: Formula, |x, g| g.mul_nonzero(&(x * LN_2).recip())];
                /// Returns the base-10 logarithm of each element
                log10 [Float -> Same] (Float) tensors
                    [log10_backward: Formula, |x, g| g.mul_nonzero(&(x * LN_10).recip())];
                /// Returns the sine of each element, an angle in radians
                sin [Float -> Same] (Float) tensors [sin_backward: Formula, |x, g| g.mul_nonzero(&x.cos())];
                /// Returns the normalized sinc of each element: sin(πx) / (πx), and 1 at 0
                sinc [Float -> Same] (Float) tensors [sinc_backward: Formula];
                /// Returns the cosine of each element, an angle in radians
                cos [Float -> Same] (Float) tensors [cos_backward: Formula, |x, g| g.mul_nonzero(&(x.sin() * -1.0))];
                /// Returns the tangent of each element, an angle in radians
                tan [Float -> Same] (Float) tensors
                    [tan_backward: Formula, |x, g| g.mul_nonzero(&(x.tan().square() + 1.0))];
                /// Returns the arc sine of each element, between −π/2 and π/2
                asin [Float -> Same] (Float) tensors
                    [asin_backward: Formula, |x, g| g.mul_nonzero(&(x.square() * -1.0 + 1.0).sqrt().recip())];
                /// Returns the arc cosine of each element, between 0 and π
                acos [Float -> Same] (Float) tensors
                    [acos_backward: Formula, |x, g| g.mul_nonzero(&((x.square() * -1.0 + 1.0).sqrt() * -1.0).recip())];
                /// Returns the arc tangent of each element, between −π/2 and π/2
                atan [Float -> Same] (Float) tensors
                    [atan_backward: Formula, |x, g| g.mul_nonzero(&(x.square() + 1.0).recip())];
                /// Returns the hyperbolic sine of each element
                sinh [Float -> Same] (Float) tensors [sinh_backward: Formula, |x, g| g.mul_nonzero(&x.cosh())];
                /// Returns the hyperbolic cosine of each element
                cosh [Float -> Same] (Float) tensors [cosh_backward: Formula, |x, g| g.mul_nonzero(&x.sinh())];
                /// Returns the hyperbolic tangent of each element
                tanh [Float -> Same] (Float) tensors
                    [tanh_backward: Formula, |x, g| g.mul_nonzero(&(x.tanh().square() * -1.0 + 1.0))];
                /// Returns the inverse hyperbolic sine of each element
                asinh [Float -> Same] (Float) tensors
                    [asinh_backward: Formula, |x, g| g.mul_nonzero(&(x.square() + 1.0).sqrt().recip())];
                /// Returns the inverse hyperbolic cosine of each element
                acosh [Float -> Same] (Float) tensors
                    [acosh_backward: Formula, |x, g| g.mul_nonzero(&x.acosh().sinh().recip())];
                /// Returns the inverse hyperbolic tangent of each element
                atanh [Float -> Same] (Float) tensors
                    [atanh_backward: Formula, |x, g| g.mul_nonzero(&(x.square() * -1.0 + 1.0).recip())];
                /// Returns the reciprocal of each element
                recip [Inexact -> Same] (Float Complex) tensors
                    [recip_backward: Formula, |x, g| g.mul_nonzero(&(x.square() * -1.0).recip())];
                /// Returns the integer nearest to each element; a tie rounds to the even integer
                round [Float -> Same] (Float) tensors [];
                /// Returns the largest integer that is at most each element
                floor [Float -> Same] (Float) tensors [];
                /// Returns the smallest integer that is at least each element
                ceil [Float -> Same] (Float) tensors [];
                /// Returns each element truncated toward zero
                trunc [Float -> Same] (Float) tensors [];
            }
        }
    };
}

/// Passes only the names to a macro: `__function_names! { make }` calls `make! { tests [isinf …] numbers [neg …] …
/// gradients [neg neg_backward …] }`.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_names {
    (@rows [$make:ident $($arguments:tt)*] $($family:ident {$(
        #[$sentence:meta] $name:ident $element:tt $kinds:tt $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*})*) => {
        $make! { $($arguments)* $($family [$($name)*])* gradients [$($($($name $backward)?)*)*] }
    };
    ($($make:tt)*) => {
        $crate::__functions! { ($crate::__function_names) @rows [$($make)*] }
    };
}

/// Expands to the element type of a result, for elements of type `$element`.
macro_rules! element_of_result {
    (Same $element:ty) => {
        $element
    };
    (Bool $element:ty) => {
        bool
    };
    (Magnitude $element:ty) => {
        <$element as $crate::element::Magnitude>::Magnitude
    };
    (Part $element:ty) => {
        <$element as $crate::element::ComplexElement>::Part
    };
}

pub(crate) use element_of_result;

/// Defines the static rows.
macro_rules! rows {
    ($($family:ident {$(
        #[$sentence:meta] $name:ident $element:tt $kinds:tt $methods:ident
        [$($backward:ident: $second:ident $(, $formula:expr)?)?] $(command $command:tt)?;
    )*})*) => {
        /// The rows by name.
        #[allow(non_upper_case_globals)]
        pub(super) mod op {
            use super::{CommandKind::*, OpSpec, Second, Split};

            $($(
                pub(crate) static $name: OpSpec =
                    OpSpec::new(stringify!($name), "x", Split::Each)$(.command $command)?;
                $(pub(crate) static $backward: OpSpec = OpSpec {
                    second: Second::$second,
                    ..OpSpec::new(stringify!($backward), "x upstream", Split::Each)
                };)?
            )*)*
        }

        pub(super) static ROWS: &[&OpSpec] = &[$($(&op::$name, $(&op::$backward,)?)*)*];
    };
}

crate::__functions! { rows }
