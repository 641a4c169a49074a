//! Where among the numbers of a group, in order, the value stands that a median or a quantile asks for.

use crate::element::{Accumulator, Float, Ring};

/// What the median of an even number of values is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EvenCount {
    /// The mean of the two middle values, as in numpy.
    #[default]
    Mean,
    /// The lower of the two middle values, as in PyTorch: always an element of the group.
    Lower,
}

/// What a quantile is whose rank falls between two elements. The names are numpy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QuantileMethod {
    /// What lies between them in proportion.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// What lies in the middle between them.
    Midpoint,
    /// The nearer one, and of two equally near the one at the even rank.
    Nearest,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// The value in the middle.
    Middle(EvenCount),
    /// The value at this part, from 0 to 1, of the way from the first to the last one.
    At(f64, QuantileMethod),
}

/// One rank, or two neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) low: u128,
    pub(crate) high: u128,
    /// How far from the lower to the higher one the value lies: 0 of a single rank, else less than 1.
    pub(crate) weight: f64,
}

impl Rule {
    /// About how far from the first to the last one that is.
    pub(crate) fn part(self) -> f64 {
        match self {
            Rule::Middle(_) => 0.5,
            Rule::At(part, _) => part,
        }
    }

    /// The place among `count` numbers, of which there is one.
    pub(crate) fn place(self, count: u128) -> Place {
        let last = count - 1;
        let single = |rank: u128| Place { low: rank.min(last), high: rank.min(last), weight: 0.0 };
        let (part, method) = match self {
            Rule::Middle(even) if even == EvenCount::Lower || last.is_multiple_of(2) => return single(last / 2),
            Rule::Middle(_) => return Place { low: last / 2, high: last / 2 + 1, weight: 0.5 },
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
        if rank == rank.floor() { single(low) } else { Place { low, high: low + 1, weight } }
    }
}

/// The product with an integer, rounded once.
fn times(part: f64, count: u128) -> f64 {
    let mut total = <f64 as Ring>::Total::default();
    total.add_times(part, count);
    f64::mean_of(&total, 1)
}

impl Place {
    /// The value there, between those at the two ranks.
    pub(crate) fn value<M: Float>(self, low: M, high: M) -> M {
        if self.weight == 0.0 { low.midpoint_of(low) } else { low.between(high, self.weight) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(part: f64, method: QuantileMethod, count: u128) -> (u128, u128, f64) {
        let Place { low, high, weight } = Rule::At(part, method).place(count);
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
        // 2^53 + 1 thirds: the count is not rounded before the product is.
        assert_eq!(times(1.0 / 3.0, (1 << 53) + 3), (3_002_399_751_580_331f64) + 1.0 - 0.5);
    }
}
