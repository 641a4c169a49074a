//! Semirings: the two operations of a matrix product.

use crate::element::{Dot, Element, Real, Ring, maximum, minimum};

/// Two operations on elements of type `T`, for matrix products.
///
/// The first operation forms a term from a left and a right element. The second operation adds terms in order.
///
/// The functions of [`Matmul`](crate::Matmul) construct all semirings.
pub trait Semiring<T>: Copy + Send + Sync {
    /// The type of partial sums.
    #[doc(hidden)]
    type Sum: Copy + Send + Sync;

    /// Returns the sum of no terms.
    #[doc(hidden)]
    fn zero(self) -> T;

    /// Returns the initial partial sum.
    #[doc(hidden)]
    fn nothing(self) -> Self::Sum;

    /// Returns the sum with the term of two more elements.
    #[doc(hidden)]
    #[must_use]
    fn plus(self, sum: Self::Sum, left: T, right: T) -> Self::Sum;

    /// Returns the sum as an element; `None` if it does not fit in the type.
    #[doc(hidden)]
    fn value(self, sum: Self::Sum) -> Option<T>;

    /// Returns the names of addition and multiplication; `None` for a user-defined function.
    #[doc(hidden)]
    fn words(self) -> [Option<&'static str>; 2] {
        [None, None]
    }
}

/// The usual products and sums.
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
        // Integers accumulate in more than 64 bits, so only the total is tested against the type.
        sum.value()
    }

    fn words(self) -> [Option<&'static str>; 2] {
        [Some("plus"), Some("times")]
    }
}

/// A function that forms a term of two elements.
pub trait Multiply<T>: Copy + Send + Sync {
    /// The name, if the function has one.
    const WORD: Option<&'static str> = None;

    /// Returns the term; `None` if it does not fit in the type.
    fn term(self, left: T, right: T) -> Option<T>;
}

/// A function that adds terms.
pub trait Add<T>: Copy + Send + Sync {
    /// The name, if the function has one.
    const WORD: Option<&'static str> = None;

    /// Returns the sum of no terms.
    fn zero(self) -> T;

    /// Returns the sum with one more term.
    fn add(self, sum: T, term: T) -> T;
}

/// Defines the types of operations, and an enum with a variant for each and further variants.
macro_rules! operations {
    ($trait:ident, $(#[$about:meta])* $all:ident { $($more:tt)* }
     $($(#[$what:meta])* $name:ident $word:literal $bound:ident { $($function:item)* })*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $all {
            $($(#[$what])* $name,)*
            $($more)*
        }
        $(
            $(#[$what])*
            #[derive(Debug, Clone, Copy)]
            pub struct $name;

            impl<T: $bound> $trait<T> for $name {
                const WORD: Option<&'static str> = Some($word);
                $(#[inline(always)] $function)*
            }

            impl From<$name> for $all {
                fn from(_: $name) -> Self {
                    $all::$name
                }
            }
        )*
    };
}

operations! {
    Multiply,
    /// A dynamically typed multiplication.
    Multiplying {}
    /// The sum of both elements.
    Sum "plus" Element { fn term(self, left: T, right: T) -> Option<T> { left.checked_add(right) } }
    /// The product of both elements.
    Product "times" Element { fn term(self, left: T, right: T) -> Option<T> { left.checked_mul(right) } }
    /// The left element.
    First "first" Element { fn term(self, left: T, _: T) -> Option<T> { Some(left) } }
    /// The right element.
    Second "second" Element { fn term(self, _: T, right: T) -> Option<T> { Some(right) } }
    /// One, for all elements.
    Pair "pair" Element { fn term(self, _: T, _: T) -> Option<T> { Some(T::ONE) } }
    /// The smaller element.
    Lesser "min" Real { fn term(self, left: T, right: T) -> Option<T> { Some(minimum(left, right)) } }
    /// The larger element.
    Greater "max" Real { fn term(self, left: T, right: T) -> Option<T> { Some(maximum(left, right)) } }
    /// One if both elements are nonzero, otherwise zero.
    And "and" Element {
        fn term(self, left: T, right: T) -> Option<T> {
            Some(if left.is_truthy() & right.is_truthy() { T::ONE } else { T::ZERO })
        }
    }
}

operations! {
    Add,
    /// A dynamically typed addition.
    Adding {
        /// The addition that the type uses for products.
        Plus,
    }
    /// The smallest term.
    Min "min" Real {
        fn zero(self) -> T { T::HIGHEST }
        fn add(self, sum: T, term: T) -> T { minimum(sum, term) }
    }
    /// The largest term.
    Max "max" Real {
        fn zero(self) -> T { T::LOWEST }
        fn add(self, sum: T, term: T) -> T { maximum(sum, term) }
    }
    /// The first term.
    Any "any" Element {
        fn zero(self) -> T { T::ZERO }
        fn add(self, sum: T, _: T) -> T { sum }
    }
    /// The first nonzero term, otherwise the last term.
    Or "or" Element {
        fn zero(self) -> T { T::ZERO }
        fn add(self, sum: T, term: T) -> T { if sum.is_truthy() { sum } else { term } }
    }
}

/// A multiplication by a user-defined function.
#[derive(Debug, Clone, Copy)]
pub struct Multiplied<F>(pub(crate) F);

impl<T, F: Fn(T, T) -> T + Copy + Send + Sync> Multiply<T> for Multiplied<F> {
    #[inline(always)]
    fn term(self, left: T, right: T) -> Option<T> {
        // A user-defined function returns an element, so its term always fits in the type.
        Some((self.0)(left, right))
    }
}

/// An addition by a user-defined function, and the sum of no terms.
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

/// Sums of terms, with the addition that the type uses for products.
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
        // `None` does not occur, because the terms of the multiplications used here always fit in the type.
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

/// Sums that start with the first term, so the sum of no terms is not part of any sum.
#[derive(Debug, Clone, Copy)]
pub struct Folded<A, M> {
    pub(crate) add: A,
    pub(crate) multiply: M,
}

/// A partial sum.
#[derive(Debug, Clone, Copy)]
pub enum PartialSum<T> {
    /// No terms.
    Nothing,
    /// The sum of at least one term.
    Of(T),
    /// A term did not fit in the type.
    Lost,
}

impl<T: Element, A: Add<T>, M: Multiply<T>> Semiring<T> for Folded<A, M> {
    type Sum = PartialSum<T>;

    fn zero(self) -> T {
        self.add.zero()
    }

    #[inline(always)]
    fn nothing(self) -> PartialSum<T> {
        PartialSum::Nothing
    }

    #[inline(always)]
    fn plus(self, sum: PartialSum<T>, left: T, right: T) -> PartialSum<T> {
        // If a term does not fit in the type, the sum becomes `PartialSum::Lost`, and `value` returns `None`.
        sum.with(self.multiply.term(left, right), |sum, term| self.add.add(sum, term))
    }

    #[inline(always)]
    fn value(self, sum: PartialSum<T>) -> Option<T> {
        sum.value(self.add.zero())
    }

    fn words(self) -> [Option<&'static str>; 2] {
        [A::WORD, M::WORD]
    }
}

impl<T> PartialSum<T> {
    /// Returns the sum with one more term, or [`PartialSum::Lost`] if the term does not fit in the type.
    #[inline(always)]
    fn with(self, term: Option<T>, add: impl FnOnce(T, T) -> T) -> Self {
        // The first term starts the sum, so the zero of the semiring is not added.
        match (self, term) {
            (PartialSum::Nothing, Some(term)) => PartialSum::Of(term),
            (PartialSum::Of(sum), Some(term)) => PartialSum::Of(add(sum, term)),
            // A lost sum stays lost, also after later terms.
            (PartialSum::Lost, _) | (_, None) => PartialSum::Lost,
        }
    }

    /// Returns the sum, or `zero` for a sum without terms.
    #[inline(always)]
    fn value(self, zero: T) -> Option<T> {
        match self {
            PartialSum::Nothing => Some(zero),
            PartialSum::Of(sum) => Some(sum),
            PartialSum::Lost => None,
        }
    }
}

/// The two operations of a semiring, dynamically typed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SemiringOps {
    add: Adding,
    multiply: Multiplying,
}

impl From<PlusTimes> for SemiringOps {
    fn from(_: PlusTimes) -> Self {
        SemiringOps { add: Adding::Plus, multiply: Multiplying::Product }
    }
}

impl<M: Into<Multiplying>> From<Plus<M>> for SemiringOps {
    fn from(Plus(multiply): Plus<M>) -> Self {
        SemiringOps { add: Adding::Plus, multiply: multiply.into() }
    }
}

impl<A: Into<Adding>, M: Into<Multiplying>> From<Folded<A, M>> for SemiringOps {
    fn from(Folded { add, multiply }: Folded<A, M>) -> Self {
        SemiringOps { add: add.into(), multiply: multiply.into() }
    }
}

impl SemiringOps {
    /// Returns whether the semiring compares elements by size.
    pub(crate) fn ranks(self) -> bool {
        // Only these operations compare two elements.
        matches!(self.add, Adding::Min | Adding::Max)
            || matches!(self.multiply, Multiplying::Lesser | Multiplying::Greater)
    }
}

/// The order of elements, and the range of elements that fit in a narrower type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElementOrder<T> {
    lesser: fn(T, T) -> T,
    greater: fn(T, T) -> T,
    min: T,
    max: T,
}

impl<T: Real> ElementOrder<T> {
    /// Returns the order of all elements of the type.
    pub(crate) fn of_type() -> Self {
        ElementOrder::between(T::LOWEST, T::HIGHEST)
    }

    /// Returns the order of the elements between the bounds of a narrower integer type.
    pub(crate) fn between(min: T, max: T) -> Self {
        ElementOrder { lesser: minimum, greater: maximum, min, max }
    }
}

impl<T: Element> ElementOrder<T> {
    /// Returns whether an integer fits in the narrower type; true for every float.
    fn holds(&self, term: T) -> bool {
        // Clamping changes only integers outside the bounds; floats pass the second test.
        let kept = (self.greater)((self.lesser)(term, self.max), self.min);
        kept.same(term) || term.to_integer().is_none()
    }
}

/// A dynamically typed semiring, compiled once for all operations: each term dispatches on the operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DynamicSemiring<T> {
    ways: SemiringOps,
    order: Option<ElementOrder<T>>,
}

/// A partial sum: with the addition that the type uses for products, or a fold that starts with the first term.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Accumulated<D, T> {
    /// The addition that the type uses for products.
    Dot(D),
    /// A fold from the first term on.
    Fold(PartialSum<T>),
}

impl<T: Ring> DynamicSemiring<T> {
    /// Returns the semiring with the order of the type, which is required if [`SemiringOps::ranks`] is true.
    pub(crate) fn new(ways: SemiringOps, order: Option<ElementOrder<T>>) -> Self {
        DynamicSemiring { ways, order }
    }

    fn term(self, left: T, right: T) -> Option<T> {
        // Operations that compare require an order; without an order, their terms are treated as terms that do not fit
        // in the type.
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
        // A term outside the bounds of the narrower type is treated as a term that does not fit in the type.
        term.filter(|&term| self.order.is_none_or(|order| order.holds(term)))
    }

    fn add(self, sum: T, term: T) -> T {
        match (self.ways.add, self.order) {
            (Adding::Min, Some(order)) => (order.lesser)(sum, term),
            (Adding::Max, Some(order)) => (order.greater)(sum, term),
            (Adding::Or, _) => Or.add(sum, term),
            // `Any` keeps the first term. `Plus` uses a dot product and does not reach this branch.
            _ => sum,
        }
    }
}

impl<T: Ring> Semiring<T> for DynamicSemiring<T> {
    type Sum = Accumulated<T::Dot, T>;

    fn zero(self) -> T {
        // The minimum of no terms is the upper bound, the maximum of no terms is the lower bound.
        match (self.ways.add, self.order) {
            (Adding::Min, Some(order)) => order.max,
            (Adding::Max, Some(order)) => order.min,
            _ => T::ZERO,
        }
    }

    fn nothing(self) -> Self::Sum {
        match self.ways.add {
            // `Plus` accumulates like sums of products. All other additions fold from the first term on.
            Adding::Plus => Accumulated::Dot(T::Dot::NOTHING),
            _ => Accumulated::Fold(PartialSum::Nothing),
        }
    }

    fn plus(self, sum: Self::Sum, left: T, right: T) -> Self::Sum {
        // `nothing` determined the variant of `sum`, and steps do not change the variant.
        match sum {
            Accumulated::Dot(sum) if self.ways.multiply == Multiplying::Product => {
                Accumulated::Dot(sum.plus(left, right))
            }
            Accumulated::Dot(sum) => {
                Accumulated::Dot(self.term(left, right).map_or(sum, |term| sum.add(T::Dot::term(term))))
            }
            Accumulated::Fold(sum) => {
                Accumulated::Fold(sum.with(self.term(left, right), |sum, term| self.add(sum, term)))
            }
        }
    }

    fn value(self, sum: Self::Sum) -> Option<T> {
        match sum {
            Accumulated::Dot(sum) => sum.value(),
            Accumulated::Fold(sum) => sum.value(self.zero()),
        }
    }
}
