//! The rows of the functions along an axis that have a result per element or per rank.

/// Passes the rows of the functions along an axis to a macro: `__along! { (callback) arguments }` calls
/// `callback! { [arguments] rows }`.
///
/// ```text
/// name(count) "parameters" [bound -> result] [route] [gradient(count) route second] methods "sentence" [differences];
/// ```
///
/// - `count`: the number that comes before the axis, if there is one;
/// - `parameters`: the parameters after `x` and `upstream`;
/// - `bound`, `result`, `route` and `methods`: as in the rows of the reductions. A gradient runs on floats;
/// - `second`: the rule for the gradient of the gradient, a method of `OpSpec`;
/// - `differences`: the differences of the row from `OpSpec::new`, such as its command.
#[doc(hidden)]
#[macro_export]
macro_rules! __along {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [$($arguments)*]
            topk(k) "k axis?" [Real -> element] [order] [topk_backward(k) values formula] everywhere
                "Returns the largest elements along an axis."
                [stores command(Topk, "Largest elements along an axis", "tests/data/karate.mtx --k 2 --axis 1")];
            sort() "axis?" [Real -> element] [order] [sort_backward() values formula] everywhere
                "Returns the elements along an axis in increasing order."
                [command(Scan, "Elements in increasing order along an axis", "tests/data/karate.mtx --axis 1")];
            argsort() "axis?" [Real -> u64] [wide] [] everywhere
                "Returns the positions along an axis, in increasing order of the elements."
                [stores];
            cumsum() "axis" [Ring -> sum] [sums] [cumsum_backward() real_zeros linear] everywhere
                "Returns the sum of the elements up to each position of an axis."
                [command(Scan, "Sums of the elements up to each position",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only")];
            cumprod() "axis" [Ring -> sum] [sums] [cumprod_backward() float_values formula] tensors
                "Returns the product of the elements up to each position of an axis."
                [];
            nancumsum() "axis" [Float -> element] [floats] [nancumsum_backward() float_values formula] everywhere
                "Returns the sum of the elements up to each position of an axis, ignoring NaN."
                [];
            nancumprod() "axis" [Float -> element] [floats] [nancumprod_backward() float_values formula] everywhere
                "Returns the product of the elements up to each position of an axis, ignoring NaN."
                [];
        }
    };
}

/// Defines the row of each function and of its gradient.
macro_rules! rows {
    ([] $(
        $name:ident($($count:ident)?) $parameters:literal $result:tt $route:tt
        [$($backward:ident($($given:ident)?) $back_route:ident $second:ident)?] $methods:ident $sentence:literal
        [$($set:ident $(($($argument:expr),*))?)*];
    )*) => {
        /// The rows by name.
        #[allow(non_upper_case_globals)]
        pub(crate) mod op {
            use super::super::{CommandKind::*, OpSpec, Split};

            $(
                pub(crate) static $name: OpSpec =
                    OpSpec::new(stringify!($name), concat!("x ", $parameters), Split::Along)
                        $(.$set($($($argument),*)?))*;

                $(
                    pub(crate) static $backward: OpSpec = OpSpec::new(
                        stringify!($backward),
                        concat!("x upstream ", $parameters),
                        Split::Along,
                    ).$second();
                )?
            )*
        }

        /// All rows.
        pub(super) static ROWS: &[&super::OpSpec] = &[$(&op::$name, $(&op::$backward,)?)*];
    };
}

crate::__along! { (rows) }
