//! The rows of the elementwise operations of two operands.
//!
//! Everything that refers to these operations by name is expanded from the rows: methods, lazy steps, dynamically typed
//! operations, functions of expressions, exports, and the lists of the tests.

use super::{CommandKind, OpSpec, Split};

/// Passes the rows to the macro `$make`, after the tokens `$with`.
///
/// A row has the name, the descriptor, the bound on the element type, the type of the results (`same` or `bool`), the
/// gradient in brackets, a sentence, and the command if there is one. `= name` is the gradient of another row.
#[doc(hidden)]
#[macro_export]
macro_rules! __binary {
    ($make:ident $($with:tt)*) => {
        $make! {
            $($with)*
            add: Add, Element -> same [add_backward] "Returns the sum of two operands."
                command(Zip, "Elementwise sum of two tensors", "tests/data/karate.mtx tests/data/karate.mtx");
            sub: Sub, Numeric -> same [sub_backward] "Returns the difference of two operands."
                command(Zip, "Elementwise difference of two tensors", "tests/data/karate.mtx 1");
            mul: Mul, Element -> same [mul_backward] "Returns the product of two operands, element by element."
                command(Zip, "Elementwise product of two tensors", "tests/data/karate.mtx -2.5");
            mul_nonzero: MulNonzero, Element -> same [= mul_backward]
                "Returns the product of two operands, or 0 if the left element is zero.";
            div: Div, Numeric -> same [div_backward]
                "Returns the quotient of two operands; integers are truncated toward zero."
                command(Zip, "Elementwise quotient of two tensors", "tests/data/karate.mtx 2");
            rem: Rem, Remainder -> same []
                "Returns the remainder of truncated division, with the sign of the left operand.";
            rem_euclid: RemEuclid, Remainder -> same []
                "Returns the nonnegative remainder of the division of two operands.";
            div_floor: DivFloor, Remainder -> same [] "Returns the quotient of two operands, rounded down to an integer.";
            rem_floor: RemFloor, Remainder -> same []
                "Returns the remainder of floor division, with the sign of the right operand.";
            pow: Pow, Numeric -> same [pow_backward] "Returns the left operand to the power of the right operand.";
            minimum: Minimum, Real -> same [minimum_backward] "Returns the smaller of two elements.";
            maximum: Maximum, Real -> same [maximum_backward] "Returns the larger of two elements.";
            copysign: Copysign, Float -> same [copysign_backward]
                "Returns the magnitude of the left operand with the sign of the right operand.";
            hypot: Hypot, Float -> same [hypot_backward]
                "Returns the square root of the sum of the squares of two elements.";
            atan2: Atan2, Float -> same [atan2_backward]
                "Returns the angle of a point whose ordinate is the left operand, in radians.";
            nextafter: Nextafter, Float -> same []
                "Returns the next float after the left element, toward the right element.";
            logaddexp: Logaddexp, Float -> same [logaddexp_backward]
                "Returns the logarithm of the sum of the exponentials of two elements.";
            equal: Equal, Element -> bool [] "Returns whether two elements are equal.";
            not_equal: NotEqual, Element -> bool [] "Returns whether two elements differ.";
            less: Less, Real -> bool [] "Returns whether the left element is smaller.";
            less_equal: LessEqual, Real -> bool [] "Returns whether the left element is smaller or equal.";
            greater: Greater, Real -> bool [] "Returns whether the left element is larger.";
            greater_equal: GreaterEqual, Real -> bool [] "Returns whether the left element is larger or equal.";
            bit_and: BitAnd, Bits -> same [] "Returns the logical \"and\"; for integers, the \"and\" of each bit.";
            bit_or: BitOr, Bits -> same [] "Returns the logical \"or\"; for integers, the \"or\" of each bit.";
            bit_xor: BitXor, Bits -> same []
                "Returns the exclusive \"or\"; for integers, the exclusive \"or\" of each bit.";
            shift_left: ShiftLeft, Shift -> same []
                "Returns the left operand times 2 to the power of the right operand.";
            shift_right: ShiftRight, Shift -> same []
                "Returns the left operand divided by 2 to the power of the right, rounded down.";
        }
    };
}

/// Expands to the type of the results of a row, for elements of type `$T`.
#[doc(hidden)]
#[macro_export]
macro_rules! __binary_result {
    (same $T:ty) => {
        $T
    };
    (bool $T:ty) => {
        bool
    };
}

/// Expands to the code if the brackets are not empty, such as the gradient of a row.
#[doc(hidden)]
#[macro_export]
macro_rules! __if_some {
    ([] $($code:tt)*) => {};
    ([$($some:tt)+] $($code:tt)*) => { $($code)* };
}

/// Expands to the code if the element types of a kind have a bound: `bool`, `integer`, `float` or `complex`.
#[doc(hidden)]
#[macro_export]
macro_rules! __if_kind {
    (bool Numeric $($code:tt)*) => {};
    (bool Remainder $($code:tt)*) => {};
    (bool Float $($code:tt)*) => {};
    (bool Shift $($code:tt)*) => {};
    (integer Float $($code:tt)*) => {};
    (float Bits $($code:tt)*) => {};
    (float Shift $($code:tt)*) => {};
    (complex Real $($code:tt)*) => {};
    (complex Remainder $($code:tt)*) => {};
    (complex Float $($code:tt)*) => {};
    (complex Bits $($code:tt)*) => {};
    (complex Shift $($code:tt)*) => {};
    ($kind:ident $bound:ident $($code:tt)*) => { $($code)* };
}

/// Defines the rows of the operations and of their gradients.
macro_rules! rows {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        /// The rows by name.
        #[allow(non_upper_case_globals)]
        pub(crate) mod op {
            use super::{CommandKind::*, OpSpec, Split};

            $(
                pub(crate) static $name: OpSpec =
                    OpSpec::new(stringify!($name), "x y", Split::Each)
                        $(.gradient_of(&$backward))?
                        $(.gradient_of(&$of))?
                        $(.command $command)?;
                $(pub(crate) static $backward: OpSpec =
                    OpSpec::new(stringify!($backward), "x y upstream wrt?", Split::Alike);)?
            )*
        }

        pub(super) static ROWS: &[&OpSpec] = &[$(&op::$name, $(&op::$backward,)?)*];
    };
}

crate::__binary! { rows }
