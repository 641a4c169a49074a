//! The ranks of a median or quantile among the sorted numbers of a group.

use crate::element::{Accumulator, Float, Ring};

/// The definition of the median for an even number of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EvenCount {
    /// The mean of the two middle values, as in numpy.
    #[default]
    Mean,
    /// The lower of the two middle values, as in PyTorch: always an element of the group.
    Lower,
}

/// The definition of a quantile whose rank is between two elements.
///
/// The names are the names in numpy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QuantileMethod {
    /// The linear interpolation between the two elements.
    #[default]
    Linear,
    /// The lower element.
    Lower,
    /// The higher element.
    Higher,
    /// The value halfway between both elements.
    Midpoint,
    /// The nearer element; at equal distance, the element at the even rank.
    Nearest,
}

/// The value to compute: a median or a quantile.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// The value in the middle.
    Middle(EvenCount),
    /// The value at a fraction, from 0 to 1, of the way from the first to the last element.
    At(f64, QuantileMethod),
}

/// One rank, or two neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankPosition {
    pub(crate) low: u128,
    pub(crate) high: u128,
    /// The fraction of the way from the lower to the higher value: 0 for a single rank, otherwise less than 1.
    pub(crate) weight: f64,
}

impl Rule {
    /// Returns the approximate fraction of the way from the first to the last element.
    pub(crate) fn part(self) -> f64 {
        match self {
            Rule::Middle(_) => 0.5,
            Rule::At(part, _) => part,
        }
    }

    /// Returns the ranks among `count` numbers. `count` must be at least 1.
    pub(crate) fn place(self, count: u128) -> RankPosition {
        let last = count - 1;
        // A rounded rank may exceed `last`, so single ranks are limited to `last`.
        let single = |rank: u128| RankPosition { low: rank.min(last), high: rank.min(last), weight: 0.0 };
        let (part, method) = match self {
            Rule::Middle(even) if even == EvenCount::Lower || last.is_multiple_of(2) => return single(last / 2),
            Rule::Middle(_) => return RankPosition { low: last / 2, high: last / 2 + 1, weight: 0.5 },
            Rule::At(part, method) => (part, method),
        };
        let rank = times(part, last);
        let weight = match method {
            QuantileMethod::Linear => rank - rank.floor(),
            QuantileMethod::Midpoint => 0.5,
            QuantileMethod::Lower => return single(rank.floor() as u128),
            QuantileMethod::Higher => return single(rank.ceil() as u128),
            QuantileMethod::Nearest => return single(rank.round_ties_even() as u128),
        };
        let low = rank.floor() as u128;
        // A fractional rank is below `last`, so `low + 1` exists.
        if rank == rank.floor() { single(low) } else { RankPosition { low, high: low + 1, weight } }
    }
}

/// Returns the product with an integer, correctly rounded.
fn times(part: f64, count: u128) -> f64 {
    // The accumulator is exact, so the only rounding is the conversion to `f64`.
    let mut total = <f64 as Ring>::Total::default();
    total.add_times(part, count);
    f64::mean_of(&total, 1)
}

impl RankPosition {
    /// Returns the value between the values at the two ranks.
    pub(crate) fn value<M: Float>(self, low: M, high: M) -> M {
        if self.weight == 0.0 { low.midpoint_of(low) } else { low.between(high, self.weight) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(part: f64, method: QuantileMethod, count: u128) -> (u128, u128, f64) {
        let RankPosition { low, high, weight } = Rule::At(part, method).place(count);
        (low, high, weight)
    }

    #[test]
    fn the_rank_is_rounded_once_and_within_the_group() {
        use QuantileMethod::{Higher, Linear, Lower, Midpoint, Nearest};
        assert_eq!(at(0.25, Linear, 4), (0, 1, 0.75));
        assert_eq!(at(0.25, Midpoint, 4), (0, 1, 0.5));
        assert_eq!(at(0.25, Linear, 5), (1, 1, 0.0));
        assert_eq!(at(0.25, Midpoint, 5), (1, 1, 0.0));
        assert_eq!((at(0.25, Lower, 4), at(0.25, Higher, 4)), ((0, 0, 0.0), (1, 1, 0.0)));
        assert_eq!((at(0.5, Nearest, 4), at(0.5, Nearest, 2)), ((2, 2, 0.0), (0, 0, 0.0)));
        for count in [1, 2, 1 << 53, (1 << 53) + 1, 1 << 64, (1 << 100) + 7, u128::MAX - 1, u128::MAX] {
            for method in [Linear, Lower, Higher, Midpoint, Nearest] {
                assert_eq!(at(0.0, method, count), (0, 0, 0.0));
                let (low, high, _) = at(1.0, method, count);
                assert!(low == high && low < count && low as f64 == (count - 1) as f64);
            }
        }
        // The count 2^53 + 3 is not an `f64`, and must not be rounded before the product.
        assert_eq!(times(1.0 / 3.0, (1 << 53) + 3), (3_002_399_751_580_331f64) + 1.0 - 0.5);
    }
}
