//! What a product of matrices multiplies and adds by.

use crate::element::{Dot, Element, Real, Ring, maximum, minimum};

/// Two operations of elements of type `T`: one makes a term of an element of the left operand and one of the right, the
/// other adds up the terms, in order. The functions of [`Matmul`](crate::Matmul) make all there are.
pub trait Semiring<T>: Copy + Send + Sync {
    /// What is added up.
    #[doc(hidden)]
    type Sum: Copy + Send + Sync;

    /// What no terms come to.
    #[doc(hidden)]
    fn zero(self) -> T;

    /// Nothing yet.
    #[doc(hidden)]
    fn nothing(self) -> Self::Sum;

    /// The sum with the term of two elements more.
    #[doc(hidden)]
    #[must_use]
    fn plus(self, sum: Self::Sum, left: T, right: T) -> Self::Sum;

    /// The sum as an element, if the type has it.
    #[doc(hidden)]
    fn value(self, sum: Self::Sum) -> Option<T>;

    /// The words for how it adds and multiplies; none where one of them is a function.
    #[doc(hidden)]
    fn words(self) -> [Option<&'static str>; 2] {
        [None, None]
    }
}

/// Products and sums as everybody knows them.
#[derive(Debug, Clone, Copy)]
pub struct PlusTimes;

impl<T: Ring> Semiring<T> for PlusTimes {
    type Sum = T::Dot;

    fn zero(self) -> T {
        T::ZERO
    }

    #[inline(always)]
    fn nothing(self) -> T::Dot {
        T::Dot::NOTHING
    }

    #[inline(always)]
    fn plus(self, sum: T::Dot, left: T, right: T) -> T::Dot {
        sum.plus(left, right)
    }

    #[inline(always)]
    fn value(self, sum: T::Dot) -> Option<T> {
        sum.value()
    }

    fn words(self) -> [Option<&'static str>; 2] {
        [Some("plus"), Some("times")]
    }
}

/// Makes a term of two elements, if the type has it.
pub trait Multiply<T>: Copy + Send + Sync {
    /// Its word, if it has one.
    const WORD: Option<&'static str> = None;

    /// The term.
    fn term(self, left: T, right: T) -> Option<T>;
}

/// Adds up terms.
pub trait Add<T>: Copy + Send + Sync {
    /// Its word, if it has one.
    const WORD: Option<&'static str> = None;

    /// What no terms come to.
    fn zero(self) -> T;

    /// The sum with one term more.
    fn add(self, sum: T, term: T) -> T;
}

/// Makes the types of some ways to multiply, and a value for each.
macro_rules! multiply {
    ($($(#[$what:meta])* $name:ident $word:literal: $bound:ident, $left:ident $right:ident $term:expr;)*) => {
        /// A way to multiply that is known at run time only.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Multiplying {
            $($(#[$what])* $name),*
        }
        $(
        $(#[$what])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl<T: $bound> Multiply<T> for $name {
            const WORD: Option<&'static str> = Some($word);

            #[inline(always)]
            fn term(self, $left: T, $right: T) -> Option<T> {
                $term
            }
        }

        impl From<$name> for Multiplying {
            fn from(_: $name) -> Self {
                Multiplying::$name
            }
        }
    )*};
}

multiply! {
    /// The sum of both.
    Sum "plus": Element, left right left.checked_add(right);
    /// The product.
    Product "times": Element, left right left.checked_mul(right);
    /// The element on the left.
    First "first": Element, left _right Some(left);
    /// The element on the right.
    Second "second": Element, _left right Some(right);
    /// One, whatever the elements.
    Pair "pair": Element, _left _right Some(T::ONE);
    /// The lesser one.
    Lesser "min": Real, left right Some(minimum(left, right));
    /// The greater one.
    Greater "max": Real, left right Some(maximum(left, right));
    /// One, if both are truthy.
    And "and": Element, left right Some(if left.is_truthy() & right.is_truthy() { T::ONE } else { T::ZERO });
}

/// Makes the types of some ways to add, and a value for each.
macro_rules! add {
    ($($(#[$what:meta])* $name:ident $word:literal: $bound:ident, $zero:expr, $sum:ident $term:ident $add:expr;)*) => {
        /// A way to add that is known at run time only.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Adding {
            /// As the type adds products.
            Plus,
            $($(#[$what])* $name),*
        }
        $(
        $(#[$what])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl<T: $bound> Add<T> for $name {
            const WORD: Option<&'static str> = Some($word);

            fn zero(self) -> T {
                $zero
            }

            #[inline(always)]
            fn add(self, $sum: T, $term: T) -> T {
                $add
            }
        }

        impl From<$name> for Adding {
            fn from(_: $name) -> Self {
                Adding::$name
            }
        }
    )*};
}

add! {
    /// The least term.
    Min "min": Real, T::HIGHEST, sum term minimum(sum, term);
    /// The greatest term.
    Max "max": Real, T::LOWEST, sum term maximum(sum, term);
    /// The first term.
    Any "any": Element, T::ZERO, sum _term sum;
    /// The first term that is truthy, else the last.
    Or "or": Element, T::ZERO, sum term if sum.is_truthy() { sum } else { term };
}

/// A way to multiply that is a function.
#[derive(Debug, Clone, Copy)]
pub struct Multiplied<F>(pub(crate) F);

impl<T, F: Fn(T, T) -> T + Copy + Send + Sync> Multiply<T> for Multiplied<F> {
    #[inline(always)]
    fn term(self, left: T, right: T) -> Option<T> {
        Some((self.0)(left, right))
    }
}

/// A way to add that is a function, and what no terms come to.
#[derive(Debug, Clone, Copy)]
pub struct Added<T, F> {
    pub(crate) zero: T,
    pub(crate) add: F,
}

impl<T: Element, F: Fn(T, T) -> T + Copy + Send + Sync> Add<T> for Added<T, F> {
    fn zero(self) -> T {
        self.zero
    }

    #[inline(always)]
    fn add(self, sum: T, term: T) -> T {
        (self.add)(sum, term)
    }
}

/// Sums of terms, which the type adds as it does those of products.
#[derive(Debug, Clone, Copy)]
pub struct Plus<M>(pub(crate) M);

impl<T: Ring, M: Multiply<T>> Semiring<T> for Plus<M> {
    type Sum = T::Dot;

    fn zero(self) -> T {
        T::ZERO
    }

    #[inline(always)]
    fn nothing(self) -> T::Dot {
        T::Dot::NOTHING
    }

    #[inline(always)]
    fn plus(self, sum: T::Dot, left: T, right: T) -> T::Dot {
        // Only such multiply here as have a term of any two.
        self.0.term(left, right).map_or(sum, |term| sum.add(T::Dot::term(term)))
    }

    #[inline(always)]
    fn value(self, sum: T::Dot) -> Option<T> {
        sum.value()
    }

    fn words(self) -> [Option<&'static str>; 2] {
        [Some("plus"), M::WORD]
    }
}

/// Terms that are added up from the first one on: so what no terms come to is in no sum.
#[derive(Debug, Clone, Copy)]
pub struct Folded<A, M> {
    pub(crate) add: A,
    pub(crate) multiply: M,
}

/// A sum on its way.
#[derive(Debug, Clone, Copy)]
pub enum Fold<T> {
    /// No terms yet.
    Nothing,
    /// The sum of some.
    Of(T),
    /// A term was none of the type.
    Lost,
}

impl<T: Element, A: Add<T>, M: Multiply<T>> Semiring<T> for Folded<A, M> {
    type Sum = Fold<T>;

    fn zero(self) -> T {
        self.add.zero()
    }

    #[inline(always)]
    fn nothing(self) -> Fold<T> {
        Fold::Nothing
    }

    #[inline(always)]
    fn plus(self, sum: Fold<T>, left: T, right: T) -> Fold<T> {
        sum.with(self.multiply.term(left, right), |sum, term| self.add.add(sum, term))
    }

    #[inline(always)]
    fn value(self, sum: Fold<T>) -> Option<T> {
        sum.value(self.add.zero())
    }

    fn words(self) -> [Option<&'static str>; 2] {
        [A::WORD, M::WORD]
    }
}

impl<T> Fold<T> {
    /// The sum with one term more, if the type has that term.
    #[inline(always)]
    fn with(self, term: Option<T>, add: impl FnOnce(T, T) -> T) -> Self {
        match (self, term) {
            (Fold::Nothing, Some(term)) => Fold::Of(term),
            (Fold::Of(sum), Some(term)) => Fold::Of(add(sum, term)),
            (Fold::Lost, _) | (_, None) => Fold::Lost,
        }
    }

    /// The sum; `zero` of no terms.
    #[inline(always)]
    fn value(self, zero: T) -> Option<T> {
        match self {
            Fold::Nothing => Some(zero),
            Fold::Of(sum) => Some(sum),
            Fold::Lost => None,
        }
    }
}

/// The two operations of a semiring, known at run time only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways {
    add: Adding,
    multiply: Multiplying,
}

impl From<PlusTimes> for Ways {
    fn from(_: PlusTimes) -> Self {
        Ways { add: Adding::Plus, multiply: Multiplying::Product }
    }
}

impl<M: Into<Multiplying>> From<Plus<M>> for Ways {
    fn from(Plus(multiply): Plus<M>) -> Self {
        Ways { add: Adding::Plus, multiply: multiply.into() }
    }
}

impl<A: Into<Adding>, M: Into<Multiplying>> From<Folded<A, M>> for Ways {
    fn from(Folded { add, multiply }: Folded<A, M>) -> Self {
        Ways { add: add.into(), multiply: multiply.into() }
    }
}

impl Ways {
    /// Whether elements are put in order.
    pub(crate) fn ranks(self) -> bool {
        matches!(self.add, Adding::Min | Adding::Max)
            || matches!(self.multiply, Multiplying::Lesser | Multiplying::Greater)
    }
}

/// How elements are ordered, and which of them a narrower type holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<T> {
    lesser: fn(T, T) -> T,
    greater: fn(T, T) -> T,
    least: T,
    greatest: T,
}

impl<T: Real> Order<T> {
    /// That of all elements of the type.
    pub(crate) fn of_type() -> Self {
        Order::between(T::LOWEST, T::HIGHEST)
    }

    /// That of the elements between two: the bounds of a narrower type of integers.
    pub(crate) fn between(least: T, greatest: T) -> Self {
        Order { lesser: minimum, greater: maximum, least, greatest }
    }
}

impl<T: Element> Order<T> {
    /// Whether the narrower type holds an integer; all floats are held.
    fn holds(&self, term: T) -> bool {
        let kept = (self.greater)((self.lesser)(term, self.greatest), self.least);
        kept.same(term) || term.to_integer().is_none()
    }
}

/// A semiring that is known at run time only, compiled once for all: it asks at each term which one it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<T> {
    ways: Ways,
    order: Option<Order<T>>,
}

/// A sum on its way: as the type adds products, or from the first term on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Gathered<D, T> {
    /// As the type adds.
    Dot(D),
    /// From the first one on.
    Fold(Fold<T>),
}

impl<T: Ring> Chosen<T> {
    /// With the order of the type, which [`Ways::ranks`] asks for.
    pub(crate) fn new(ways: Ways, order: Option<Order<T>>) -> Self {
        Chosen { ways, order }
    }

    fn term(self, left: T, right: T) -> Option<T> {
        let ranked = |order: Option<fn(T, T) -> T>| order.map(|of| of(left, right));
        let term = match self.ways.multiply {
            Multiplying::Sum => Sum.term(left, right),
            Multiplying::Product => Product.term(left, right),
            Multiplying::First => First.term(left, right),
            Multiplying::Second => Second.term(left, right),
            Multiplying::Pair => Pair.term(left, right),
            Multiplying::And => And.term(left, right),
            Multiplying::Lesser => ranked(self.order.map(|order| order.lesser)),
            Multiplying::Greater => ranked(self.order.map(|order| order.greater)),
        };
        term.filter(|&term| self.order.is_none_or(|order| order.holds(term)))
    }

    fn add(self, sum: T, term: T) -> T {
        match (self.ways.add, self.order) {
            (Adding::Min, Some(order)) => (order.lesser)(sum, term),
            (Adding::Max, Some(order)) => (order.greater)(sum, term),
            (Adding::Or, _) => Or.add(sum, term),
            _ => sum,
        }
    }
}

impl<T: Ring> Semiring<T> for Chosen<T> {
    type Sum = Gathered<T::Dot, T>;

    fn zero(self) -> T {
        match (self.ways.add, self.order) {
            (Adding::Min, Some(order)) => order.greatest,
            (Adding::Max, Some(order)) => order.least,
            _ => T::ZERO,
        }
    }

    fn nothing(self) -> Self::Sum {
        match self.ways.add {
            Adding::Plus => Gathered::Dot(T::Dot::NOTHING),
            _ => Gathered::Fold(Fold::Nothing),
        }
    }

    fn plus(self, sum: Self::Sum, left: T, right: T) -> Self::Sum {
        match sum {
            Gathered::Dot(sum) if self.ways.multiply == Multiplying::Product => Gathered::Dot(sum.plus(left, right)),
            Gathered::Dot(sum) => Gathered::Dot(self.term(left, right).map_or(sum, |term| sum.add(T::Dot::term(term)))),
            Gathered::Fold(sum) => Gathered::Fold(sum.with(self.term(left, right), |sum, term| self.add(sum, term))),
        }
    }

    fn value(self, sum: Self::Sum) -> Option<T> {
        match sum {
            Gathered::Dot(sum) => sum.value(),
            Gathered::Fold(sum) => sum.value(self.zero()),
        }
    }
}
