//! The operations as methods: of tensors, of their stored views, and through [`Operations`] of arrays.

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{Bits, ComplexElement, Element, Float, Magnitude, Real, RealNumber, Signed};
use crate::ops::operand::Operand;
use crate::ops::{Isin, Nanmedian, Take, map, reduce, select};
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::stored::Stored;

/// The one list of methods, for elements of type `$elem`; `$reduced` and `$mapped` make the type of a result of
/// another and of the same shape.
macro_rules! operations {
    ([$($public:tt)*], $elem:ty, $reduced:ident, $mapped:ident) => {
        /// Whether any element is truthy, over the axes given: see [`any()`](crate::any()).
        ///
        /// # Errors
        ///
        /// Those of [`any()`](crate::any()).
        $($public)* fn any(&self, axes: impl Into<Axes>) -> Result<$reduced!(bool)> {
            reduce::any(self, axes)
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

        /// The number of truthy elements, over the axes given: see [`count_nonzero`](crate::count_nonzero()).
        ///
        /// # Errors
        ///
        /// Those of [`count_nonzero`](crate::count_nonzero()).
        $($public)* fn count_nonzero(&self, axes: impl Into<Axes>) -> Result<$reduced!(u64)> {
            reduce::count_nonzero(self, axes)
        }

        /// The median over axes, of the elements that are not NaN: see [`nanmedian`](crate::nanmedian()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian`](crate::nanmedian()).
        $($public)* fn nanmedian(&self, options: impl Into<Nanmedian>) -> Result<$reduced!(<$elem as Real>::Mean)>
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
        #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
        $($public)* fn nanmedian_index(
            &self,
            options: impl Into<Nanmedian>,
        ) -> Result<($reduced!(<$elem as Real>::Mean), $reduced!(u64))>
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

        operations!(@maps [$($public)*], $elem, $mapped: isinf<Element>() -> bool, isnan<Element>() -> bool,
            isfinite<Element>() -> bool, isreal<Element>() -> bool, isposinf<Real>() -> bool, isneginf<Real>() -> bool,
            sign<RealNumber>() -> $elem, square<RealNumber>() -> $elem, conj<ComplexElement>() -> $elem,
            real<ComplexElement>() -> <$elem as ComplexElement>::Part,
            imag<ComplexElement>() -> <$elem as ComplexElement>::Part);
        operations!(@slopes [$($public)*], $elem, $mapped: abs_backward(), acos_backward(), asin_backward(),
            atan_backward(), cbrt_backward(), clamp_backward(low: $elem, high: $elem), cos_backward(), cosh_backward(),
            exp_backward(), exp_m1_backward(), ln_backward(), ln_1p_backward(), log2_backward(), log10_backward(),
            neg_backward(), powf_backward(exponent: $elem), powi_backward(exponent: i32), recip_backward(),
            sin_backward(), sinh_backward(), sqrt_backward(), square_backward(), tan_backward(), tanh_backward());
    };
    // Those that arrays have by the same name from `ndarray`, or from the operators of Rust.
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
    (@slopes $public:tt, $elem:ty, $mapped:ident: $($name:ident($($arg:ident: $type:ty),*)),*) => {
        $(operations!(@slope $public, $elem, $mapped, $name, $($arg: $type),*);)*
    };
    (@slope [$($public:tt)*], $elem:ty, $mapped:ident, $name:ident, $($arg:ident: $type:ty),*) => {
        #[doc = concat!("A gradient: see [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name<U: Operand<Elem: Float>>(&self, upstream: &U $(, $arg: $type)*) -> Result<$mapped!(U::Elem)>
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
    operations!(@of_tensors [pub], T, tensor_of);
}

/// # Operations
///
/// The pages stand at the functions of the same names.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    operations!([pub], T, tensor_of, tensor_of);
    operations!(@of_tensors [pub], T, tensor_of);
}

/// The operations as methods of `ndarray` arrays and views, by the names that tensors have them under.
///
/// Where `ndarray` has a method of the name (`abs`, `exp` and the like), that is the one of an array: [`exp`](crate::exp())
/// and the other functions take arrays as well.
///
/// It is in the [prelude](crate::prelude).
pub trait Operations: Operand {
    operations!([], Self::Elem, reduced_of, mapped_of);
}

impl<S: ndarray::Data<Elem: Element>, D: ndarray::Dimension> Operations for ndarray::ArrayBase<S, D> {}
