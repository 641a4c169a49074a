//! The operations as methods of tensors and stored views, and of arrays through [`Operations`].

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{Bits, ComplexElement, Element, Float, Magnitude, Numeric, Real, RealNumber, Remainder, Ring};
use crate::ops::map::methods::functions;
use crate::ops::operand::Operand;
use crate::ops::table::functions::element_of_result;
use crate::ops::{
    Factors, GroupBy, GroupLabels, Isin, Matmul, Nanmedian, Norm, Partner, Quantile, Semiring, Take, Tolerance, Var,
    map, product, reduce, result_of, select,
};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// Defines the methods of the reductions, from their rows. `$wanted` selects the rows: `tensors` for the methods that
/// arrays do not get, because `ndarray` has methods with these names, and `everywhere` for the others.
macro_rules! folds {
    ([$public:tt $elem:ty, $reduced:ident, $wanted:ident] $(
        $name:ident $options:tt $result:tt $route:tt $stream:tt $gradient:tt $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        $(folds!(@ $wanted $methods $public $elem, $reduced, $name $options $result $sentence);)*
    };
    (@ everywhere everywhere $($row:tt)*) => {
        folds!(@method $($row)*);
    };
    (@ tensors tensors $($row:tt)*) => {
        folds!(@method $($row)*);
    };
    (@ $wanted:ident $methods:ident $($row:tt)*) => {};
    (@method [$($public:tt)*] $elem:ty, $reduced:ident, $name:ident ($options:ident $(, $q:ident)?)
        [$bound:ident -> $out:ident] $sentence:literal) => {
        #[doc = $sentence]
        ///
        #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("The errors of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name(
            &self,
            $($q: f64,)?
            options: impl Into<$options>,
        ) -> Result<$reduced!(result_of!($out $elem))>
        where
            $elem: $bound,
        {
            reduce::$name(self, $($q,)? options)
        }
    };
}

/// Defines methods with axes in one module. Each has a bound on the element type and a result type.
macro_rules! reductions {
    ([$public:vis fn] of $family:ident, $elem:ty, $reduced:ident: $(
        #[doc = $sentence:literal] fn $name:ident($options:ty $(, $bound:path)?) -> $out:ty;
    )*) => {$(
        #[doc = concat!($sentence, ": see [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $public fn $name(&self, options: impl Into<$options>) -> Result<$reduced!($out)>
        $(where $elem: $bound,)?
        {
            $family::$name(self, options)
        }
    )*};
}

/// Defines the methods for the gradients of reductions.
macro_rules! gradients {
    ([$public:vis fn] of $family:ident, $elem:ty, $reduced:ident: $(
        fn $name:ident($options:ty, $bound:path) of $forward:ident;
    )*) => {$(
        #[doc = concat!(
            "The gradient of [`", stringify!($forward), "`](crate::", stringify!($forward), "()): see [`",
            stringify!($name), "`](crate::", stringify!($name), "())."
        )]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $public fn $name<U: Operand<Elem: Float>>(
            &self,
            upstream: &U,
            options: impl Into<$options>,
        ) -> Result<$reduced!(U::Elem)>
        where
            $elem: $bound,
        {
            $family::$name(self, upstream, options)
        }
    )*};
}

/// Defines the methods of elementwise operations of two operands.
macro_rules! zips {
    ($public:tt, $elem:ty; $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(zips!(@method $public, $elem, $name, $bound, $out, $about);)*
    };
    (@method [$($public:tt)*], $elem:ty, $name:ident, $bound:ident, $out:ident, $about:literal) => {
        #[doc = $about]
        ///
        #[doc = concat!("See [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("The errors of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name<Y: Partner<Self, Elem = $elem>>(
            &self,
            other: Y,
        ) -> Result<Y::Zipped<crate::__binary_result!($out $elem)>>
        where
            $elem: $bound,
        {
            super::zip::$name(self, other)
        }
    };
}

/// Lists all methods, for elements of type `$elem`. `$reduced` is the type of a result with another shape, `$mapped`
/// the type of a result with the same shape.
macro_rules! operations {
    ([$($public:tt)*], $elem:ty, $reduced:ident, $mapped:ident) => {
        operations!(@reductions [$($public)*], $elem, $reduced);
        operations!(@others [$($public)*], $elem, $reduced, $mapped);
    };
    (@reductions [$($public:tt)*], $elem:ty, $reduced:ident) => {
        crate::__folds! { (folds) [$($public)*] $elem, $reduced, everywhere }

        gradients! {
            [$($public)* fn] of reduce, $elem, $reduced:
            fn sum_backward(Axes, Real) of sum;
            fn nansum_backward(Axes, Float) of nansum;
            fn mean_backward(Axes, Real) of mean;
            fn nanmean_backward(Axes, Float) of nanmean;
            fn min_backward(Axes, Real) of min;
            fn max_backward(Axes, Real) of max;
            fn nanmin_backward(Axes, Float) of nanmin;
            fn nanmax_backward(Axes, Float) of nanmax;
            fn var_backward(Var, Real) of var;
            fn std_backward(Var, Real) of std;
            fn nanvar_backward(Var, Float) of nanvar;
            fn nanstd_backward(Var, Float) of nanstd;
            fn prod_backward(Axes, Real) of prod;
            fn nanprod_backward(Axes, Float) of nanprod;
            fn norm_backward(Norm, Float) of norm;
            fn median_backward(Nanmedian, Real) of median;
        }

        /// The surrogate gradient of `any`: see [`any_backward`](crate::any_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`any_backward`](crate::any_backward()).
        $($public)* fn any_backward<U: Operand>(
            &self,
            upstream: &U,
            axes: impl Into<Axes>,
        ) -> Result<$reduced!(U::Elem)> {
            reduce::any_backward(self, upstream, axes)
        }

        /// The median and where it stands: see [`nanmedian_index`](crate::nanmedian_index()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian_index`](crate::nanmedian_index()).
        #[allow(clippy::type_complexity)] // a pair of results of ordinary types
        $($public)* fn nanmedian_index(
            &self,
            options: impl Into<Nanmedian>,
        ) -> Result<($reduced!(<$elem as Real>::Median), $reduced!(u64))>
        where
            $elem: Real,
        {
            reduce::nanmedian_index(self, options)
        }

        /// The gradient of `nanmedian`: see [`nanmedian_backward`](crate::nanmedian_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian_backward`](crate::nanmedian_backward()).
        $($public)* fn nanmedian_backward<U: Operand<Elem: Float>>(
            &self,
            upstream: &U,
            options: impl Into<Nanmedian>,
        ) -> Result<$reduced!(U::Elem)>
        where
            $elem: Real,
        {
            reduce::nanmedian_backward(self, upstream, options)
        }
    };
    (@others [$($public:tt)*], $elem:ty, $reduced:ident, $mapped:ident) => {
        /// The greatest elements along an axis: see [`topk`](crate::topk()).
        ///
        /// # Errors
        ///
        /// Those of [`topk`](crate::topk()).
        $($public)* fn topk(&self, k: usize, axis: impl Position) -> Result<$reduced!($elem)>
        where
            $elem: Real,
        {
            reduce::topk(self, k, axis)
        }

        /// The greatest elements along an axis with their positions: see [`topk_index`](crate::topk_index()).
        ///
        /// # Errors
        ///
        /// Those of [`topk_index`](crate::topk_index()).
        #[allow(clippy::type_complexity)] // a pair of results of ordinary types
        $($public)* fn topk_index(&self, k: usize, axis: impl Position) -> Result<($reduced!($elem), $reduced!(u64))>
        where
            $elem: Real,
        {
            reduce::topk_index(self, k, axis)
        }

        /// The gradient of `topk`: see [`topk_backward`](crate::topk_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`topk_backward`](crate::topk_backward()).
        $($public)* fn topk_backward<U: Operand>(
            &self,
            upstream: &U,
            k: usize,
            axis: impl Position,
        ) -> Result<$reduced!(U::Elem)>
        where
            $elem: Real,
        {
            reduce::topk_backward(self, upstream, k, axis)
        }

        /// The distinct values and how often each stands there: see [`unique`](crate::unique()).
        ///
        /// # Errors
        ///
        /// Those of [`unique`](crate::unique()).
        $($public)* fn unique(&self) -> Result<(Vec<$elem>, Vec<u64>)>
        where
            $elem: Real,
        {
            reduce::unique(self)
        }

        /// Whether all elements are close to those of another operand: see [`allclose`](crate::allclose()).
        ///
        /// # Errors
        ///
        /// Those of [`allclose`](crate::allclose()).
        $($public)* fn allclose<Y>(&self, other: Y, tolerance: impl Into<Tolerance>) -> Result<bool>
        where
            $elem: Magnitude,
            Y: Partner<Self, Elem = $elem, Zipped<bool>: Operand<Elem = bool>>,
        {
            super::zip::allclose(self, other, tolerance)
        }

        /// The positions of the elements along an axis, in their order: see [`argsort`](crate::argsort()).
        ///
        /// # Errors
        ///
        /// Those of [`argsort`](crate::argsort()).
        $($public)* fn argsort(&self, axis: impl Position) -> Result<$reduced!(u64)>
        where
            $elem: Real,
        {
            reduce::argsort(self, axis)
        }

        /// Labels for the positions of an axis, by which it is reduced: see [`group_by`](crate::group_by()).
        ///
        /// # Errors
        ///
        /// Those of [`group_by`](crate::group_by()).
        $($public)* fn group_by<'a, J: Position>(
            &self,
            axis: impl Position,
            labels: impl Into<GroupLabels<'a, J>>,
        ) -> Result<GroupBy<'_, Self>> {
            reduce::group_by(self, axis, labels)
        }

        operations!(@quantiles [$($public)*], $elem, $reduced: quantile_backward, nanquantile_backward);

        reductions! {
            [$($public)* fn] of product, $elem, $reduced:
            /// The shares of the exponentials, over the axes given
            fn softmax(Axes, Float) -> $elem;
            /// The logarithms of these shares, over the axes given
            fn log_softmax(Axes, Float) -> $elem;
        }

        gradients! {
            [$($public)* fn] of product, $elem, $reduced:
            fn softmax_backward(Axes, Float) of softmax;
            fn log_softmax_backward(Axes, Float) of log_softmax;
        }

        /// The elements at flattened positions: see [`take`](crate::take()).
        ///
        /// # Errors
        ///
        /// Those of [`take`](crate::take()).
        $($public)* fn take<'a, J: Position>(&self, positions: impl Into<Take<'a, J>>) -> Result<$reduced!($elem)> {
            select::take(self, positions)
        }

        /// The slices at positions of one axis: see [`take_axis`](crate::take_axis()).
        ///
        /// # Errors
        ///
        /// Those of [`take_axis`](crate::take_axis()).
        $($public)* fn take_axis<'a, J: Position>(
            &self,
            positions: impl Into<Take<'a, J>>,
            axis: impl Position,
        ) -> Result<$reduced!($elem)> {
            select::take_axis(self, positions, axis)
        }

        /// The gradient of `take`: see [`take_backward`](crate::take_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`take_backward`](crate::take_backward()).
        $($public)* fn take_backward<'a, J: Position, U: Operand>(
            &self,
            upstream: &U,
            positions: impl Into<Take<'a, J>>,
        ) -> Result<$reduced!(U::Elem)> {
            select::take_backward(self, upstream, positions)
        }

        /// The gradient of `take_axis`: see [`take_axis_backward`](crate::take_axis_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`take_axis_backward`](crate::take_axis_backward()).
        $($public)* fn take_axis_backward<'a, J: Position, U: Operand>(
            &self,
            upstream: &U,
            positions: impl Into<Take<'a, J>>,
            axis: impl Position,
        ) -> Result<$reduced!(U::Elem)> {
            select::take_axis_backward(self, upstream, positions, axis)
        }

        /// Whether each element is one of the test elements: see [`isin()`](crate::isin()).
        ///
        /// # Errors
        ///
        /// Those of [`isin()`](crate::isin()).
        $($public)* fn isin<'a>(&self, members: impl Into<Isin<'a, $elem>>) -> Result<$mapped!(bool)> {
            map::isin(self, members)
        }

        operations!(@slopes [$($public)*], $elem, $mapped: abs_backward(), acos_backward(), asin_backward(),
            atan_backward(), cbrt_backward(), clamp_backward(low: $elem, high: $elem), cos_backward(), cosh_backward(),
            exp_backward(), exp_m1_backward(), ln_backward(), ln_1p_backward(), log2_backward(), log10_backward(),
            neg_backward(), powf_backward(exponent: $elem), powi_backward(exponent: i32), recip_backward(),
            sin_backward(), sinh_backward(), sqrt_backward(), square_backward(), tan_backward(), tanh_backward());
        operations!(@more_zips [$($public)*], $elem, $reduced);
        crate::__binary! { zips [$($public)*], $elem; }
    };
    (@quantiles $public:tt, $elem:ty, $reduced:ident: $($backward:ident),*) => {
        $(operations!(@quantile $public, $elem, $reduced, $backward);)*
    };
    (@quantile [$($public:tt)*], $elem:ty, $reduced:ident, $backward:ident) => {
        #[doc = concat!("A gradient: see [`", stringify!($backward), "`](crate::", stringify!($backward), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($backward), "`](crate::", stringify!($backward), "()).")]
        $($public)* fn $backward<U: Operand<Elem: Float>>(
            &self,
            upstream: &U,
            q: f64,
            options: impl Into<Quantile>,
        ) -> Result<$reduced!(U::Elem)>
        where
            $elem: Real,
        {
            reduce::$backward(self, upstream, q, options)
        }
    };
    (@more_zips [$($public:tt)*], $elem:ty, $reduced:ident) => {
        /// A function of two elements: see [`zip_with`](crate::zip_with()).
        ///
        /// # Errors
        ///
        /// Those of [`zip_with`](crate::zip_with()).
        $($public)* fn zip_with<Y: Partner<Self>, V: Element>(
            &self,
            other: Y,
            f: impl Fn($elem, Y::Elem) -> V + Sync,
        ) -> Result<Y::Zipped<V>> {
            super::zip::zip_with(self, other, f)
        }

        /// The product of matrices: see [`matmul`](crate::matmul()).
        ///
        /// # Errors
        ///
        /// Those of [`matmul`](crate::matmul()).
        $($public)* fn matmul<Y: Operand<Elem = $elem>>(&self, other: &Y) -> Result<<Self as Operand>::Product<Y>>
        where
            $elem: Ring,
        {
            product::matmul(self, other)
        }

        /// The product of matrices on a mask, or by other operations: see [`matmul_with`](crate::matmul_with()).
        ///
        /// # Errors
        ///
        /// Those of [`matmul_with`](crate::matmul_with()).
        $($public)* fn matmul_with<'m, Y: Operand<Elem = $elem>, S: Semiring<$elem>>(
            &self,
            other: &Y,
            options: impl Into<Matmul<'m, S>>,
        ) -> Result<<Self as Operand>::Product<Y>> {
            product::matmul_with(self, other, options)
        }

        /// The gradients of both operands: see [`matmul_backward`](crate::matmul_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`matmul_backward`](crate::matmul_backward()).
        #[allow(clippy::type_complexity)] // a pair of results of ordinary types
        $($public)* fn matmul_backward<Y: Operand<Elem = $elem>, U: Operand<Elem = $elem>>(
            &self,
            other: &Y,
            upstream: &U,
        ) -> Result<($reduced!($elem), Y::Reduced<$elem>)>
        where
            $elem: Float,
        {
            product::matmul_backward(self, other, upstream)
        }

        /// The product with one number for each place on an axis: see [`scale`](crate::scale()).
        ///
        /// # Errors
        ///
        /// Those of [`scale`](crate::scale()).
        $($public)* fn scale(&self, axis: impl Position, factors: impl Factors<$elem>) -> Result<$reduced!($elem)> {
            super::zip::scale(self, axis, factors)
        }

        operations!(@backward [$($public)*], $elem, $reduced: add_backward, sub_backward, mul_backward, div_backward,
            minimum_backward, maximum_backward, pow_backward);
    };
    (@backward $public:tt, $elem:ty, $reduced:ident: $($name:ident),*) => {
        $(operations!(@of_two $public, $elem, $reduced, $name);)*
    };
    (@of_two [$($public:tt)*], $elem:ty, $reduced:ident, $name:ident) => {
        #[doc = concat!("The gradients of both operands: see [`", stringify!($name), "`](crate::", stringify!($name),
            "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[allow(clippy::type_complexity)] // a pair of results of ordinary types
        $($public)* fn $name<Y: Operand<Elem = $elem>, U: Operand<Elem = $elem>>(
            &self,
            other: &Y,
            upstream: &U,
        ) -> Result<($reduced!($elem), Y::Reduced<$elem>)>
        where
            $elem: Float + Numeric,
        {
            super::zip::$name(self, other, upstream)
        }
    };
    (@slopes $public:tt, $elem:ty, $mapped:ident: $($name:ident($($arg:ident: $type:ty),*)),*) => {
        $(operations!(@slope $public, $elem, $mapped, $name, $($arg: $type),*);)*
    };
    (@slope [$($public:tt)*], $elem:ty, $mapped:ident, $name:ident, $($arg:ident: $type:ty),*) => {
        #[doc = concat!("A gradient: see [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name<U: Operand<Elem: Float>>(
            &self,
            upstream: &U
            $(, $arg: $type)*
        ) -> Result<$mapped!(U::Elem)>
        where
            $elem: Float,
        {
            map::$name(self, upstream $(, $arg)*)
        }
    };
}

macro_rules! tensor_of {
    ($elem:ty) => {
        Tensor<P, $elem>
    };
}

macro_rules! reduced_of {
    ($elem:ty) => {
        <Self as Operand>::Reduced<$elem>
    };
}

macro_rules! mapped_of {
    ($elem:ty) => {
        <Self as Operand>::Mapped<$elem>
    };
}

/// # Operations
///
/// The pages stand at the functions of the same names.
impl<P: Pattern, T: Element> Tensor<P, T> {
    operations!([pub], T, tensor_of, tensor_of);
    crate::__folds! { (folds) [pub] T, tensor_of, tensors }
}

/// # Operations
///
/// The pages stand at the functions of the same names.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    operations!([pub], T, tensor_of, tensor_of);
    crate::__folds! { (folds) [pub] T, tensor_of, tensors }
}

/// # Reductions
///
/// The pages stand at the functions of the same names.
impl<X: Operand> GroupBy<'_, X> {
    operations!(@reductions [pub], X::Elem, reduced_of);
    operations!(@quantiles [pub], X::Elem, reduced_of: quantile_backward, nanquantile_backward);
    crate::__folds! { (folds) [pub] X::Elem, reduced_of, tensors }
}

/// The operations as methods of `ndarray` arrays and views, by the names that tensors have them under.
///
/// Where `ndarray` has a method of the name (`abs`, `exp` and the like), that is the one of an array:
/// [`exp`](crate::exp()) and the other functions take arrays as well.
///
/// It is in the [prelude](crate::prelude).
pub trait Operations: Operand {
    operations!([], Self::Elem, reduced_of, mapped_of);
    crate::__functions! { functions [fn] [Self::Elem] mapped_of arrays }
}

impl<S: ndarray::Data<Elem: Element>, D: ndarray::Dimension> Operations for ndarray::ArrayBase<S, D> {}
