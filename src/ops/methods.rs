//! The operations as methods of tensors and stored views, and of arrays through [`Operations`].

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{
    Bits, ComplexElement, Element, Float, Magnitude, Numeric, Real, RealNumber, Remainder, Ring, Signed,
};
use crate::ops::operand::Operand;
use crate::ops::{
    Factors, GroupBy, GroupLabels, Isin, Matmul, Nanmedian, Norm, Partner, Quantile, Semiring, Take, Tolerance, Var,
    map, product, reduce, select,
};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// Defines the methods of the reductions in one module. Each has axes or options, a bound on the element type and a
/// result type.
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

/// Defines the methods that arrays do not get, because `ndarray` has methods with these names.
macro_rules! tensor_operations {
    ([$($public:tt)*], $elem:ty, $reduced:ident) => {
        reductions! {
            [$($public)* fn] of reduce, $elem, $reduced:
            /// The exact sum, over the axes given
            fn sum(Axes, Ring) -> <$elem as Ring>::Sum;
            /// The mean, of the exact sum, over the axes given
            fn mean(Axes, Ring) -> <$elem as Ring>::Mean;
            /// The variance, over the axes given
            fn var(Var, Ring) -> <$elem as Ring>::Deviation;
            /// The standard deviation, over the axes given
            fn std(Var, Ring) -> <$elem as Ring>::Deviation;
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
        reductions! {
            [$($public)* fn] of reduce, $elem, $reduced:
            /// Whether any element is truthy, over the axes given
            fn any(Axes) -> bool;
            /// The number of truthy elements, over the axes given
            fn count_nonzero(Axes) -> u64;
            /// Whether all elements are truthy, over the axes given
            fn all(Axes) -> bool;
            /// The exact sum of the elements that are not NaN, over the axes given
            fn nansum(Axes, Float) -> $elem;
            /// The mean of the elements that are not NaN, over the axes given
            fn nanmean(Axes, Float) -> $elem;
            /// The least element, over the axes given
            fn min(Axes, Real) -> $elem;
            /// The greatest element, over the axes given
            fn max(Axes, Real) -> $elem;
            /// The least element that is not NaN, over the axes given
            fn nanmin(Axes, Float) -> $elem;
            /// The greatest element that is not NaN, over the axes given
            fn nanmax(Axes, Float) -> $elem;
            /// The position of the least element, over the axes given
            fn argmin(Axes, Real) -> u64;
            /// The position of the greatest element, over the axes given
            fn argmax(Axes, Real) -> u64;
            /// The position of the least element that is not NaN, over the axes given
            fn nanargmin(Axes, Float) -> u64;
            /// The position of the greatest element that is not NaN, over the axes given
            fn nanargmax(Axes, Float) -> u64;
            /// The variance of the elements that are not NaN, over the axes given
            fn nanvar(Var, Float) -> $elem;
            /// The standard deviation of the elements that are not NaN, over the axes given
            fn nanstd(Var, Float) -> $elem;
            /// The product, over the axes given
            fn prod(Axes, Ring) -> <$elem as Ring>::Sum;
            /// The product of the elements that are not NaN, over the axes given
            fn nanprod(Axes, Float) -> $elem;
            /// The norm, over the axes given
            fn norm(Norm, Float) -> $elem;
            /// The median, over the axes given
            fn median(Nanmedian, Real) -> <$elem as Real>::Median;
        }

        /// The median over axes, of the elements that are not NaN: see [`nanmedian`](crate::nanmedian()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian`](crate::nanmedian()).
        $($public)* fn nanmedian(&self, options: impl Into<Nanmedian>) -> Result<$reduced!(<$elem as Real>::Median)>
        where
            $elem: Real,
        {
            reduce::nanmedian(self, options)
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

        operations!(@quantiles [$($public)*], $elem, $reduced: quantile, nanquantile);

        reductions! {
            [$($public)* fn] of product, $elem, $reduced:
            /// The shares of the exponentials, over the axes given
            fn softmax(Axes, Float) -> $elem;
            /// The logarithms of these shares, over the axes given
            fn log_softmax(Axes, Float) -> $elem;
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

        /// Whether each element is one of the test elements: see [`isin()`](crate::isin()).
        ///
        /// # Errors
        ///
        /// Those of [`isin()`](crate::isin()).
        $($public)* fn isin<'a>(&self, members: impl Into<Isin<'a, $elem>>) -> Result<$mapped!(bool)> {
            map::isin(self, members)
        }

        operations!(@maps [$($public)*], $elem, $mapped: isinf<Element>() -> bool, isnan<Element>() -> bool,
            isfinite<Element>() -> bool, isreal<Element>() -> bool, isposinf<Real>() -> bool, isneginf<Real>() -> bool,
            sign<RealNumber>() -> $elem, square<RealNumber>() -> $elem, conj<ComplexElement>() -> $elem,
            real<ComplexElement>() -> <$elem as ComplexElement>::Part,
            imag<ComplexElement>() -> <$elem as ComplexElement>::Part);
        operations!(@more_zips [$($public)*], $elem, $reduced);
        operations!(@zips [$($public)*], $elem: add Element $elem, sub Numeric $elem, mul Element $elem,
            mul_nonzero Element $elem,
            div Numeric $elem, rem Remainder $elem, rem_euclid Remainder $elem, pow RealNumber $elem,
            minimum Real $elem, maximum Real $elem,
            equal Element bool, not_equal Element bool, less Real bool, less_equal Real bool, greater Real bool,
            greater_equal Real bool, bit_and Bits $elem, bit_or Bits $elem, bit_xor Bits $elem);
    };
    (@quantiles $public:tt, $elem:ty, $reduced:ident: $($name:ident),*) => {
        $(operations!(@quantile $public, $elem, $reduced, $name);)*
    };
    (@quantile [$($public:tt)*], $elem:ty, $reduced:ident, $name:ident) => {
        #[doc = concat!("The quantile at `q`: see [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name(&self, q: f64, options: impl Into<Quantile>) -> Result<$reduced!(<$elem as Real>::Median)>
        where
            $elem: Real,
        {
            reduce::$name(self, q, options)
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

        /// The product with one number for each place on an axis: see [`scale`](crate::scale()).
        ///
        /// # Errors
        ///
        /// Those of [`scale`](crate::scale()).
        $($public)* fn scale(&self, axis: impl Position, factors: impl Factors<$elem>) -> Result<$reduced!($elem)> {
            super::zip::scale(self, axis, factors)
        }
    };
    (@zips $public:tt, $elem:ty: $($name:ident $bound:ident $out:ty),*) => {
        $(operations!(@zip $public, $elem, $name, $bound, $out);)*
    };
    (@zip [$($public:tt)*], $elem:ty, $name:ident, $bound:ident, $out:ty) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name),
            "()) with another operand, or a number.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name<Y: Partner<Self, Elem = $elem>>(&self, other: Y) -> Result<Y::Zipped<$out>>
        where
            $elem: $bound,
        {
            super::zip::$name(self, other)
        }
    };
    // Methods that arrays have under the same name from `ndarray`, or from the operators of Rust.
    (@of_tensors [$($public:tt)*], $elem:ty, $mapped:ident) => {
        operations!(@maps [$($public)*], $elem, $mapped: neg<Signed>() -> $elem, not<Bits>() -> $elem,
            abs<Magnitude>() -> <$elem as Magnitude>::Magnitude, sqrt<Float>() -> $elem, cbrt<Float>() -> $elem,
            exp<Float>() -> $elem, exp_m1<Float>() -> $elem, ln<Float>() -> $elem, ln_1p<Float>() -> $elem,
            log2<Float>() -> $elem, log10<Float>() -> $elem, sin<Float>() -> $elem, cos<Float>() -> $elem,
            tan<Float>() -> $elem, asin<Float>() -> $elem, acos<Float>() -> $elem, atan<Float>() -> $elem,
            sinh<Float>() -> $elem, cosh<Float>() -> $elem, tanh<Float>() -> $elem, recip<Float>() -> $elem,
            round<Float>() -> $elem, floor<Float>() -> $elem, ceil<Float>() -> $elem, trunc<Float>() -> $elem,
            powi<RealNumber>(exponent: i32) -> $elem, powf<Float>(exponent: $elem) -> $elem,
            clamp<Real>(low: $elem, high: $elem) -> $elem);
    };
    (@maps $public:tt, $elem:ty, $mapped:ident:
        $($name:ident<$bound:ident>($($arg:ident: $type:ty),*) -> $out:ty),*) => {
        $(operations!(@map $public, $elem, $mapped!($out), $name, $bound, $($arg: $type),*);)*
    };
    (@map [$($public:tt)*], $elem:ty, $out:ty, $name:ident, $bound:ident, $($arg:ident: $type:ty),*) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name(&self $(, $arg: $type)*) -> Result<$out>
        where
            $elem: $bound,
        {
            map::$name(self $(, $arg)*)
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
    tensor_operations!([pub], T, tensor_of);
    operations!(@of_tensors [pub], T, tensor_of);
}

/// # Operations
///
/// The pages stand at the functions of the same names.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    operations!([pub], T, tensor_of, tensor_of);
    tensor_operations!([pub], T, tensor_of);
    operations!(@of_tensors [pub], T, tensor_of);
}

/// # Reductions
///
/// The pages stand at the functions of the same names.
impl<X: Operand> GroupBy<'_, X> {
    operations!(@reductions [pub], X::Elem, reduced_of);
    operations!(@quantiles [pub], X::Elem, reduced_of: quantile, nanquantile);
    tensor_operations!([pub], X::Elem, reduced_of);
}

/// The operations as methods of `ndarray` arrays and views, by the names that tensors have them under.
///
/// Where `ndarray` has a method of the name (`abs`, `exp` and the like), that is the one of an array:
/// [`exp`](crate::exp()) and the other functions take arrays as well.
///
/// It is in the [prelude](crate::prelude).
pub trait Operations: Operand {
    operations!([], Self::Elem, reduced_of, mapped_of);
}

impl<S: ndarray::Data<Elem: Element>, D: ndarray::Dimension> Operations for ndarray::ArrayBase<S, D> {}
