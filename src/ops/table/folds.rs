//! The rows of the reductions. Every interface that names reductions reads them.

/// Passes the rows of the reductions to a macro: `__folds! { (callback) arguments }` calls
/// `callback! { [arguments] rows }`.
///
/// ```text
/// name(options, q) [bound -> result] [route] [stream] [gradient(q) bound route second] methods "sentence" command(…);
/// ```
///
/// - `options`: the type of the options, which decides the parameters, and `q` if a quantile comes before the options;
/// - `bound`: the bound on the element type;
/// - `result`: the element type of the result, as `result_of!` reads it;
/// - `route`: the type in which elements of a type known at run time are reduced, as `by!` in `dynamic/routes.rs` reads
///   it; `back!` reads the route of the gradient;
/// - `stream`: how an operand in chunks is read. `fold` and `folds` have an accumulator per output element, from a
///   descriptor or from a function that the options choose by; `middle` ranks values, `passes` reads them several
///   times, and `whole` reads the entire operand;
/// - `second`: the rule for the gradient of the gradient, a method of `OpSpec`;
/// - `command(…)`: the command of the command line, if there is one;
/// - `methods`: `tensors` if `ndarray` has a method of this name, so that arrays do not get it.
#[doc(hidden)]
#[macro_export]
macro_rules! __folds {
    (($($callback:tt)*) $($arguments:tt)*) => {
        $($callback)*! {
            [$($arguments)*]
            any(Axes) [Element -> bool] [truth] [fold any::Any] [any_backward() Element any_zeros linear] everywhere
                "Returns whether any element is nonzero, over the given axes."
                command(Reduce, "Test whether any element is nonzero, over axes", "tests/data/titanic.npz --axis 3");
            count_nonzero(Axes) [Element -> u64] [truth] [fold count_nonzero::CountNonzero] [] everywhere
                "Returns the number of nonzero elements over the given axes."
                command(Fold, "Number of nonzero elements over axes", "tests/data/mauna_loa_co2.mtx --axis 1");
            all(Axes) [Element -> bool] [truth] [fold all::All] [] everywhere
                "Returns whether all elements are nonzero, over the given axes."
                command(Fold, "Test whether all elements are nonzero, over axes", "tests/data/titanic.npz --axis 3");
            sum(Axes) [Ring -> sum] [sums] [fold Totals(sum::Sum::<false>)]
                [sum_backward() Real real_zeros linear] tensors
                "Returns the exact sum over the given axes, rounded once."
                command(Fold, "Correctly rounded sum over axes", "tests/data/karate.mtx --axis 1");
            mean(Axes) [Ring -> mean] [sums] [fold Totals(sum::Mean::<false>)]
                [mean_backward() Real real_zeros linear] tensors
                "Returns the mean over the given axes."
                command(Fold, "Correctly rounded mean over axes", "tests/data/titanic.npz --axis 3");
            prod(Axes) [Ring -> sum] [sums] [whole] [prod_backward() Real values formula] everywhere
                "Returns the product over the given axes."
                command(Fold, "Product over axes", "tests/data/titanic.npz --axis 3 --stored-only");
            nanprod(Axes) [Inexact -> element] [inexact] [whole] [nanprod_backward() Float float_values formula] everywhere
                "Returns the product over the given axes, ignoring NaN."
                command(Fold, "Product over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only");
            min(Axes) [Real -> element] [order] [fold extreme::Extreme::<false, false>]
                [min_backward() Real values weights] everywhere
                "Returns the smallest element over the given axes."
                command(Fold, "Smallest element over axes", "tests/data/titanic.npz --axis 0,1");
            max(Axes) [Real -> element] [order] [fold extreme::Extreme::<true, false>]
                [max_backward() Real values weights] everywhere
                "Returns the largest element over the given axes."
                command(Fold, "Largest element over axes", "tests/data/titanic.npz --axis 0,1");
            argmin(Axes) [Real -> u64] [wide] [whole] [] everywhere
                "Returns the position of the smallest element over the given axes."
                command(Fold, "Position of the smallest element over axes", "tests/data/karate.mtx --axis 1");
            argmax(Axes) [Real -> u64] [wide] [whole] [] everywhere
                "Returns the position of the largest element over the given axes."
                command(Fold, "Position of the largest element over axes", "tests/data/karate.mtx --axis 1");
            nansum(Axes) [Inexact -> element] [inexact] [fold Totals(sum::Sum::<true>)]
                [nansum_backward() Float float_values weights] everywhere
                "Returns the exact sum over the given axes, ignoring NaN."
                command(Fold, "Sum over axes, ignoring NaN", "tests/data/mauna_loa_co2.mtx --axis 0");
            nanmean(Axes) [Inexact -> element] [inexact] [fold Totals(sum::Mean::<true>)]
                [nanmean_backward() Float float_values weights] everywhere
                "Returns the mean over the given axes, ignoring NaN."
                command(Fold, "Mean over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only");
            nanmin(Axes) [Float -> element] [float_order] [fold extreme::Extreme::<false, true>]
                [nanmin_backward() Float float_values weights] everywhere
                "Returns the smallest element over the given axes, ignoring NaN."
                command(Fold, "Smallest element over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only");
            nanmax(Axes) [Float -> element] [float_order] [fold extreme::Extreme::<true, true>]
                [nanmax_backward() Float float_values weights] everywhere
                "Returns the largest element over the given axes, ignoring NaN."
                command(Fold, "Largest element over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1");
            nanargmin(Axes) [Float -> u64] [float_wide] [whole] [] everywhere
                "Returns the position of the smallest element, ignoring NaN."
                command(Fold, "Position of the smallest element over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1");
            nanargmax(Axes) [Float -> u64] [float_wide] [whole] [] everywhere
                "Returns the position of the largest element, ignoring NaN."
                command(Fold, "Position of the largest element over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1");
            var(Var) [Ring -> deviation] [sums] [passes] [var_backward() Real values formula] tensors
                "Returns the variance over the given axes."
                command(Var, "Variance over axes", "tests/data/titanic.npz --axis 3 --ddof 1");
            std(Var) [Ring -> deviation] [sums] [passes] [std_backward() Real values formula] tensors
                "Returns the standard deviation over the given axes."
                command(Var, "Standard deviation over axes", "tests/data/titanic.npz --axis 3");
            nanvar(Var) [Float -> element] [floats] [passes] [nanvar_backward() Float float_values formula] everywhere
                "Returns the variance over the given axes, ignoring NaN."
                command(Var, "Variance over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only");
            nanstd(Var) [Float -> element] [floats] [passes] [nanstd_backward() Float float_values formula] everywhere
                "Returns the standard deviation over the given axes, ignoring NaN."
                command(Var, "Standard deviation over axes, ignoring NaN", "tests/data/mauna_loa_co2.mtx --axis 1");
            median(Nanmedian) [Real -> median] [medians] [middle QuantileRanks::median]
                [median_backward() Real values weights] everywhere
                "Returns the median over the given axes."
                command(Median, "Median over axes", "tests/data/titanic.npz --axis 1,2,3");
            nanmedian(Nanmedian) [Real -> median] [medians] [middle QuantileRanks::nanmedian]
                [nanmedian_backward() Real values weights] everywhere
                "Returns the median over the given axes, ignoring NaN."
                command(Median, "Median over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --stored-only");
            quantile(Quantile, q) [Real -> median] [medians] [passes]
                [quantile_backward(q) Real values weights] everywhere
                "Returns the quantile at `q` over the given axes."
                command(Quantile, "Quantile over axes", "tests/data/titanic.npz --axis 3 --q 0.9");
            nanquantile(Quantile, q) [Real -> median] [medians] [passes]
                [nanquantile_backward(q) Real values weights] everywhere
                "Returns the quantile at `q` over the given axes, ignoring NaN."
                command(Quantile, "Quantile over axes, ignoring NaN",
                    "tests/data/mauna_loa_co2.mtx --axis 1 --q 0.9 --stored-only");
            norm(Norm) [Float -> element] [floats] [folds norm::accumulator]
                [norm_backward() Float float_values formula] everywhere
                "Returns the norm over the given axes."
                command(Norm, "Norm over axes", "tests/data/karate.mtx --axis 1 --ord 1");
            logsumexp(Axes) [Float -> element] [floats] [passes]
                [logsumexp_backward() Float float_values formula] everywhere
                "Returns the logarithm of the sum of the exponentials over the given axes."
                command(Fold, "Logarithm of the sum of exponentials over axes", "tests/data/karate.mtx --axis 1");
        }
    };
}

/// Returns the element type of the result of a reduction, from the element type of the operand.
macro_rules! result_of {
    (bool $T:ty) => {
        bool
    };
    (u64 $T:ty) => {
        u64
    };
    (element $T:ty) => {
        $T
    };
    (sum $T:ty) => {
        <$T as $crate::element::Ring>::Sum
    };
    (mean $T:ty) => {
        <$T as $crate::element::Ring>::Mean
    };
    (deviation $T:ty) => {
        <$T as $crate::element::Ring>::Deviation
    };
    (median $T:ty) => {
        <$T as $crate::element::Real>::Median
    };
}
pub(crate) use result_of;

/// Returns the parameters of a reduction after `x` and `upstream`, by the type of its options.
macro_rules! parameters {
    (Axes) => {
        "axis+? keep_dims? by?"
    };
    (Var) => {
        "axis+? keep_dims? ddof? by?"
    };
    (Nanmedian) => {
        "axis+? keep_dims? even? by?"
    };
    (Quantile) => {
        "axis+? keep_dims? method? by?"
    };
    (Norm) => {
        "axis+? keep_dims? ord? by?"
    };
}

/// Defines the row of each reduction and of its gradient.
macro_rules! rows {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] [$route:ident]
        [$stream:ident $($descriptor:tt)*]
        [$($backward:ident($($given:ident)?) $back_bound:ident $back_route:ident $second:ident)?]
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        /// The rows by name.
        #[allow(non_upper_case_globals)]
        pub(crate) mod op {
            use super::super::{CommandKind::*, OpSpec, Split};

            $(
                pub(crate) static $name: OpSpec = OpSpec::new(
                    stringify!($name),
                    concat!("x ", $(stringify!($q), " ",)? parameters!($options)),
                    Split::Over,
                ).$stream()$(.command $command)?;

                $(
                    pub(crate) static $backward: OpSpec = OpSpec::new(
                        stringify!($backward),
                        concat!("x upstream ", $(stringify!($given), " ",)? parameters!($options)),
                        Split::Back,
                    ).$second();
                )?
            )*
        }

        /// All rows.
        pub(super) static ROWS: &[&super::OpSpec] = &[$(&op::$name, $(&op::$backward,)?)*];
    };
}

crate::__folds! { (rows) }
