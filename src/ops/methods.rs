//! The operations as methods of tensors and stored views, and of arrays through [`Operations`].

use super::zip as binary;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Position;
use crate::element::{Bits, ComplexElement, Element, Float, Inexact, Magnitude, Numeric, Real, Remainder, Ring, Shift};
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

/// Defines methods from their signatures, or from the rows of the reductions (`@folds`), of the functions along an axis
/// (`@along`) and of the binary operations (`@binary`). The sentence is the first line of the page; the path is that of the function.
///
/// `$wanted` selects rows: `tensors` for the methods that arrays do not get, because `ndarray` has methods with
/// these names, and `everywhere` for the others.
macro_rules! methods {
    ([$public:vis fn] $(
        $(#[$attribute:meta])* $about:literal
        $family:ident::$name:ident [$($generics:tt)*] ($($arg:ident: $type:ty),*) -> $found:ty [$($bounds:tt)*];
    )*) => {$(
        #[doc = concat!($about, ": see ", linked!($name), ".\n\n# Errors\n\nThe errors of ", linked!($name), ".")]
        $(#[$attribute])*
        $public fn $name $($generics)* (&self, $($arg: $type),*) -> Result<$found> $($bounds)* {
            $family::$name(self, $($arg),*)
        }
    )*};
    (@row [$public:vis fn] $about:literal
     $family:ident::$name:ident [$($generics:tt)*] ($($arg:ident: $type:ty),*) -> $found:ty [$($bounds:tt)*]) => {
        #[doc = concat!($about, "\n\nSee ", linked!($name), ".\n\n# Errors\n\nThe errors of ", linked!($name), ".")]
        $public fn $name $($generics)* (&self, $($arg: $type),*) -> Result<$found> $($bounds)* {
            $family::$name(self, $($arg),*)
        }
    };
    ([@folds $public:tt $elem:ty, $Reduced:ident<$Own:ident>, $wanted:ident] $(
        $name:ident $options:tt $result:tt $route:tt $stream:tt $gradient:tt $methods:ident
        $about:literal $(command $command:tt)?;
    )*) => {
        $(methods!(@fold $wanted $methods $public $elem, $Reduced<$Own>, $name $options $result $about);)*
    };
    ([@along $public:tt $elem:ty, $Reduced:ident<$Own:ident>, $wanted:ident] $(
        $name:ident $count:tt $parameters:literal $result:tt $route:tt $gradient:tt $methods:ident
        $about:literal $set:tt;
    )*) => {
        $(methods!(@along $wanted $methods $public $elem, $Reduced<$Own>, $name $count $result $about);)*
    };
    (@along $wanted:ident $methods:ident
     $public:tt $elem:ty, $Reduced:ident<$Own:ident>, $name:ident ($($count:ident)?)
     [$bound:ident -> $out:ident] $about:literal) => {
        methods!(@if $wanted $methods @row $public $about
            reduce::$name [] ($($count: usize,)? axis: impl Position)
                -> $Reduced<$Own, result_of!($out $elem)> [where $elem: $bound]);
    };
    (@if everywhere tensors $($row:tt)*) => {};
    (@if tensors everywhere $($row:tt)*) => {};
    (@if $wanted:ident $methods:ident $($row:tt)*) => { methods! { $($row)* } };
    (@fold $wanted:ident $methods:ident
     $public:tt $elem:ty, $Reduced:ident<$Own:ident>, $name:ident ($options:ident $(, $q:ident)?)
     [$bound:ident -> $out:ident] $about:literal) => {
        methods!(@if $wanted $methods @row $public $about
            reduce::$name [] ($($q: f64,)? options: impl Into<$options>)
                -> $Reduced<$Own, result_of!($out $elem)> [where $elem: $bound]);
    };
    (@binary $public:tt $elem:ty; $(
        $name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;
    )*) => {$(
        methods! {
            @row $public $about
            binary::$name [<Y: Partner<Self, Elem = $elem>>] (other: Y)
                -> Y::Zipped<crate::__binary_result!($out $elem)> [where $elem: $bound]
        }
    )*};
}

/// Lists all methods, for elements of type `$elem`. `$Reduced<$Own, U>` is the type of a result with another shape, and
/// `$Tests` the type of a result of `bool` with the same shape. The methods of `@tensors` have names of `ndarray`, so
/// arrays do not get them.
macro_rules! operations {
    (@tensors $public:tt, $elem:ty, $Reduced:ident<$Own:ident>) => {
        methods! {
            $public
            "Returns the differences of neighbours along an axis"
            binary::diff [] (n: usize, axis: impl Position) -> $Reduced<$Own, $elem> [where $elem: Numeric];
        }
    };
    ([$($public:tt)*], $elem:ty, $Reduced:ident<$Own:ident>, $Tests:ty) => {
        crate::__folds! { (methods) @folds [$($public)*] $elem, $Reduced<$Own>, everywhere }
        crate::__along! { (methods) @along [$($public)*] $elem, $Reduced<$Own>, everywhere }

        methods! {
            [$($public)*]
            #[allow(clippy::type_complexity)] // a pair of results of ordinary types
            "Returns the median and its position, ignoring NaN"
            reduce::nanmedian_index [] (options: impl Into<Nanmedian>)
                -> ($Reduced<$Own, <$elem as Real>::Median>, $Reduced<$Own, u64>) [where $elem: Real];
            #[allow(clippy::type_complexity)] // a pair of results of ordinary types
            "Returns the largest elements along an axis with their positions"
            reduce::topk_index [] (k: usize, axis: impl Position)
                -> ($Reduced<$Own, $elem>, $Reduced<$Own, u64>) [where $elem: Real];
            "Returns the exact sum of a diagonal of each matrix, rounded once"
            reduce::trace [] (offset: isize) -> $Reduced<$Own, result_of!(sum $elem)> [where $elem: Ring];
            "Returns the weighted mean along an axis, rounded once"
            reduce::average [] (weights: impl Factors<$elem>, axis: impl Position)
                -> $Reduced<$Own, result_of!(deviation $elem)> [where $elem: Real];
            "Returns the distinct values and their counts"
            reduce::unique [] () -> (Vec<$elem>, Vec<u64>) [where $elem: Real];
            "Returns whether all elements are close to the elements of another operand"
            binary::allclose [<Y>] (other: Y, tolerance: impl Into<Tolerance>) -> bool [where
                $elem: Magnitude,
                Y: Partner<Self, Elem = $elem, Zipped<bool>: Operand<Elem = bool>>];
            "Returns whether each element is close to the element of another operand"
            binary::is_close [<Y>] (other: Y, tolerance: impl Into<Tolerance>) -> Y::Zipped<bool> [where
                $elem: Magnitude, Y: Partner<Self, Elem = $elem>];
            "Returns the softmax over the given axes"
            product::softmax [] (options: impl Into<Axes>) -> $Reduced<$Own, $elem> [where $elem: Float];
            "Returns the logarithm of the softmax over the given axes"
            product::log_softmax [] (options: impl Into<Axes>) -> $Reduced<$Own, $elem> [where $elem: Float];
            "Returns the elements at flat positions"
            select::take [<'a, J: Position>] (positions: impl Into<Take<'a, J>>) -> $Reduced<$Own, $elem> [];
            "Returns the slices at positions of one axis"
            select::take_axis [<'a, J: Position>] (positions: impl Into<Take<'a, J>>, axis: impl Position)
                -> $Reduced<$Own, $elem> [];
            "Returns the elements along an axis at positions, with one position per element of the result"
            select::take_along_axis [<'a, J: Position>] (positions: impl Into<Take<'a, J>>, axis: impl Position)
                -> $Reduced<$Own, $elem> [];
            "Returns the elements at positions, with one list of indices per axis"
            select::gather [<'a, J: Position>] (positions: impl IntoIterator<Item = impl Into<Take<'a, J>>>)
                -> $Reduced<$Own, $elem> [];
        }

        /// Returns whether each element is one of the test values: see [`isin()`](crate::isin()).
        ///
        /// # Errors
        ///
        /// The errors of [`isin()`](crate::isin()).
        $($public)* isin<'a>(&self, members: impl Into<Isin<'a, $elem>>) -> Result<$Tests> {
            map::isin(self, members)
        }

        methods! {
            [$($public)*]
            "Returns the results of a function of two elements at each position"
            binary::zip_with [<Y: Partner<Self>, V: Element>] (other: Y, f: impl Fn($elem, Y::Elem) -> V + Sync)
                -> Y::Zipped<V> [];
            "Returns the product of matrices"
            product::matmul [<Y: Operand<Elem = $elem>>] (other: &Y) -> <Self as Operand>::Product<Y>
                [where $elem: Ring];
            "Returns the product of matrices with a mask, or over a semiring"
            product::matmul_with [<'m, Y: Operand<Elem = $elem>, S: Semiring<$elem>>] (
                other: &Y,
                options: impl Into<Matmul<'m, S>>
            ) -> <Self as Operand>::Product<Y> [];
            "Returns the product with one number per position of an axis"
            binary::scale [] (axis: impl Position, factors: impl Factors<$elem>) -> $Reduced<$Own, $elem> [];
        }

        crate::__binary! { methods @binary [$($public)*] $elem; }
    };
}

/// The result of an operation on an operand of type `X`, with another shape.
type ReducedOf<X, U> = <X as Operand>::Reduced<U>;

/// The result of an operation on an operand of type `X`, with the same shape.
type MappedOf<X, U> = <X as Operand>::Mapped<U>;

/// # Operations
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Element> Tensor<P, T> {
    operations!([pub fn], T, Tensor<P>, Tensor<P, bool>);
    operations!(@tensors [pub fn], T, Tensor<P>);
    crate::__folds! { (methods) @folds [pub fn] T, Tensor<P>, tensors }
    crate::__along! { (methods) @along [pub fn] T, Tensor<P>, tensors }
}

/// # Operations
///
/// Each method is documented at the function of the same name.
impl<P: Pattern, T: Element> Stored<'_, P, T> {
    operations!([pub fn], T, Tensor<P>, Tensor<P, bool>);
    operations!(@tensors [pub fn], T, Tensor<P>);
    crate::__folds! { (methods) @folds [pub fn] T, Tensor<P>, tensors }
    crate::__along! { (methods) @along [pub fn] T, Tensor<P>, tensors }
}

/// The operations as methods of `ndarray` arrays and views.
///
/// The methods have the names of the methods of tensors.
///
/// If `ndarray` has a method with the name of an operation, such as `abs` or `exp`, this trait does not define the
/// method. Functions such as [`exp`](crate::exp()) accept arrays.
///
/// The trait is in the [prelude](crate::prelude).
pub trait Operations: Operand {
    operations!([fn], Self::Elem, ReducedOf<Self>, MappedOf<Self, bool>);
    crate::__functions! { functions [fn] [Self::Elem] MappedOf<Self> arrays }
}

impl<S: ndarray::Data<Elem: Element>, D: ndarray::Dimension> Operations for ndarray::ArrayBase<S, D> {}
