//! The operations as methods: of tensors, of their stored views, and through [`Operations`] of arrays.

use ndarray::ArrayView1;

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{Bits, Element, Float, Numeric, Real, Remainder};
use crate::ops::operand::Operand;
use crate::ops::{Isin, Nanmedian, Partner, Take, map, reduce, select};
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

        operations!(@tests [$($public)*], $elem, $mapped: isinf Element, isnan Element, isfinite Element,
            isreal Element, isposinf Real, isneginf Real);
        operations!(@more_zips [$($public)*], $elem, $reduced);
        operations!(@zips [$($public)*], $elem: add Element $elem, sub Numeric $elem, mul Element $elem,
            div Numeric $elem, rem Remainder $elem, rem_euclid Remainder $elem, minimum Real $elem, maximum Real $elem,
            equal Element bool, not_equal Element bool, less Real bool, less_equal Real bool, greater Real bool,
            greater_equal Real bool, bit_and Bits $elem, bit_or Bits $elem, bit_xor Bits $elem);
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

        /// The product with one number for each place on an axis: see [`scale`](crate::scale()).
        ///
        /// # Errors
        ///
        /// Those of [`scale`](crate::scale()).
        $($public)* fn scale<'a>(
            &self,
            axis: impl Position,
            factors: impl Into<ArrayView1<'a, $elem>>,
        ) -> Result<$reduced!($elem)> {
            super::zip::scale(self, axis, factors)
        }

        operations!(@backward [$($public)*], $elem, $reduced: add_backward, sub_backward, mul_backward, div_backward);
    };
    (@backward $public:tt, $elem:ty, $reduced:ident: $($name:ident),*) => {
        $(operations!(@of_two $public, $elem, $reduced, $name);)*
    };
    (@of_two [$($public:tt)*], $elem:ty, $reduced:ident, $name:ident) => {
        #[doc = concat!("The gradients of both operands: see [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        #[allow(clippy::type_complexity)] // two results, each as it is spelled elsewhere
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
    (@zips $public:tt, $elem:ty: $($name:ident $bound:ident $out:ty),*) => {
        $(operations!(@zip $public, $elem, $name, $bound, $out);)*
    };
    (@zip [$($public:tt)*], $elem:ty, $name:ident, $bound:ident, $out:ty) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) with another operand, or a number.")]
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
    (@tests $public:tt, $elem:ty, $mapped:ident: $($name:ident $bound:ident),*) => {
        $(operations!(@test $public, $elem, $mapped, $name, $bound);)*
    };
    (@test [$($public:tt)*], $elem:ty, $mapped:ident, $name:ident, $bound:ident) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "()).")]
        $($public)* fn $name(&self) -> Result<$mapped!(bool)>
        where
            $elem: $bound,
        {
            map::$name(self)
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
}

/// # Operations
///
/// The pages stand at the functions of the same names.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    operations!([pub], T, tensor_of, tensor_of);
}

/// The operations as methods of `ndarray` arrays and views, by the names that tensors have them under.
///
/// It is in the [prelude](crate::prelude).
pub trait Operations: Operand {
    operations!([], Self::Elem, reduced_of, mapped_of);
}

impl<S: ndarray::Data<Elem: Element>, D: ndarray::Dimension> Operations for ndarray::ArrayBase<S, D> {}
