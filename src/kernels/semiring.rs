//! What a product of matrices multiplies and adds by.

use crate::element::{Dot, Ring};

/// Two operations of elements: one joins an element of the left operand and one of the right, the other gathers what
/// comes of that, in order.
pub(crate) trait Semiring<T>: Copy + Send + Sync {
    /// What is gathered.
    type Sum: Copy + Send + Sync;

    /// Nothing yet.
    fn nothing(self) -> Self::Sum;

    /// The sum with what comes of two elements more.
    fn plus(self, sum: Self::Sum, left: T, right: T) -> Self::Sum;

    /// The sum as an element, if the type has it.
    fn value(self, sum: Self::Sum) -> Option<T>;
}

/// Products and sums as everybody knows them.
#[derive(Clone, Copy)]
pub(crate) struct PlusTimes;

impl<T: Ring> Semiring<T> for PlusTimes {
    type Sum = T::Dot;

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
}
