//! The accumulators of the reductions that an engine runs on values that only the engine reads.

use super::*;
use crate::base::axes::Axes;
use crate::element::{Element, Float, Inexact, Real, Ring};
use crate::kernels::holistic::Holistic;
use crate::kernels::partial::{Reducer, partial};
use quantile::QuantileRanks;
use totals::Totals;

/// Defines a function for each reduction with an accumulator or an order of values. The function returns how values are
/// reduced, from the options and from the value of unstored positions, if they count.
macro_rules! accumulators {
    ([] $(
        $name:ident ($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt $stream:tt $gradient:tt
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        $(accumulators!(@ $stream $name $options $bound);)*
    };
    (@ [fold $descriptor:expr] $name:ident $options:ident $bound:ident) => {
        pub(crate) fn $name<T: $bound>(_: &$options, _: Option<T>) -> Option<Reducer> {
            Some(Reducer::Fold(partial::<T, _>($descriptor)))
        }
    };
    (@ [folds $($choice:tt)*] $name:ident $options:ident $bound:ident) => {
        pub(crate) fn $name<T: $bound>(options: &$options, _: Option<T>) -> Option<Reducer> {
            Some(Reducer::Fold($($choice)*::<T>(options)))
        }
    };
    (@ [middle $descriptor:path] $name:ident $options:ident $bound:ident) => {
        pub(crate) fn $name<T: $bound>(options: &$options, implicit: Option<T>) -> Option<Reducer> {
            $descriptor(options).middles(implicit).map(Reducer::Median)
        }
    };
    (@ [$stream:ident] $name:ident $options:ident $bound:ident) => {};
}

crate::__folds! { (accumulators) }
