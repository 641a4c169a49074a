//! The operations as methods of tensors and stored views, and of arrays through [`Operations`].

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{Bits, ComplexElement, Element, Float, Magnitude, Numeric, Real, RealNumber, Remainder, Ring};
use crate::ops::map::methods::functions;
use crate::ops::operand::Operand;
use crate::ops::table::functions::element_of_result;
use crate::ops::{
    Factors, Isin, Matmul, Nanmedian, Norm, Partner, Quantile, Semiring, Take, Tolerance, Var, map, product, reduce,
    result_of, select,
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

        operations!(@more_zips [$($public)*], $elem, $reduced);
        crate::__binary! { zips [$($public)*], $elem; }
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
