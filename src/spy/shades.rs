//! Which shade a count has: classes of counts, from the lightest shade to the darkest.

use super::raster::Raster;
use super::ticks::round_numbers;

/// The shades, from light to dark in even steps of lightness. The lightest is plain to see on white.
pub(super) const SHADES: [[u8; 3]; 8] = [
    [0x31, 0xaf, 0xd0],
    [0x00, 0x97, 0xc9],
    [0x00, 0x7d, 0xbf],
    [0x00, 0x63, 0xb1],
    [0x17, 0x4a, 0x9c],
    [0x23, 0x32, 0x82],
    [0x23, 0x1d, 0x64],
    [0x1d, 0x0a, 0x44],
];

/// The classes that all counts of a picture fall into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Classes {
    /// The least count of each class, in rising order; the first is the least count that there is.
    pub(super) starts: Vec<u64>,
    /// The greatest count.
    pub(super) greatest: u64,
}

impl Classes {
    /// The classes of the counts that are not zero; none if there are none.
    pub(super) fn of(rasters: &[Raster]) -> Option<Self> {
        let counts = || rasters.iter().flat_map(|raster| &raster.counts).copied().filter(|&count| count > 0);
        Some(Classes::between(counts().min()?, counts().max()?))
    }

    /// A class for each count where these are few, even steps within a decade, else steps of a ratio.
    fn between(least: u64, greatest: u64) -> Self {
        let starts = match greatest - least < SHADES.len() as u64 {
            true => (least..=greatest).collect(),
            false if greatest / 10 < least => even_starts(least, greatest),
            false => ratio_starts(least, greatest),
        };
        Classes { starts, greatest }
    }

    /// Whether each class holds one count.
    pub(super) fn are_single(&self) -> bool {
        self.greatest - self.starts[0] < self.starts.len() as u64
    }

    /// The shade of a class.
    pub(super) fn shade_of_class(&self, class: usize) -> usize {
        match self.starts.len() {
            1 => SHADES.len() - 1,
            classes => class * (SHADES.len() - 1) / (classes - 1),
        }
    }

    /// The shade of a count, if it is not zero.
    pub(super) fn shade(&self, count: u64) -> Option<usize> {
        let below = self.starts.partition_point(|&start| start <= count);
        below.checked_sub(1).map(|class| self.shade_of_class(class))
    }
}

/// The least count and the multiples of a round number above it.
fn even_starts(least: u64, greatest: u64) -> Vec<u64> {
    let starts = |step: u64| {
        let multiples = (least / step + 1..=greatest / step).map(|multiple| multiple * step);
        let starts: Vec<u64> = std::iter::once(least).chain(multiples.take(SHADES.len())).collect();
        (starts.len() <= SHADES.len()).then_some(starts)
    };
    round_numbers().find_map(starts).unwrap_or_else(|| vec![least])
}

/// The least count and the numbers above it of the finest row that gives few enough classes: 1, 2, 5, 10 …, or 1, 3,
/// 10, 30 …, or one of the powers of 10, 100, ….
fn ratio_starts(least: u64, greatest: u64) -> Vec<u64> {
    let decades = |exponents: usize| (0..20).step_by(exponents).map(|exponent| 10u64.pow(exponent));
    let rows = [round_numbers().collect::<Vec<_>>(), decades(1).flat_map(|d| [d, d.saturating_mul(3)]).collect()];
    let rows = rows.into_iter().chain((1..).map(|exponents| decades(exponents).collect()));
    let starts = |row: Vec<u64>| {
        let above = row.into_iter().filter(|start| (least + 1..=greatest).contains(start));
        let starts: Vec<u64> = std::iter::once(least).chain(above).collect();
        (starts.len() <= SHADES.len()).then_some(starts)
    };
    rows.into_iter().find_map(starts).unwrap_or_else(|| vec![least])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_counts_are_told_apart_and_many_are_classed() {
        assert_eq!(Classes::between(1, 8).starts, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Classes::between(100, 144).starts, [100, 110, 120, 130, 140]);
        assert_eq!(Classes::between(1, 144).starts, [1, 2, 5, 10, 20, 50, 100]);
        assert_eq!(Classes::between(1, 2000).starts, [1, 3, 10, 30, 100, 300, 1000]);
        assert_eq!(Classes::between(1, 100_000_000).starts, [1, 100, 10_000, 1_000_000, 100_000_000]);
        assert_eq!(Classes::between(1, u64::MAX).starts.len(), 7);
        assert_eq!(Classes::between(u64::MAX - 100, u64::MAX).starts.len(), 6);
    }

    #[test]
    fn shades_run_from_the_lightest_to_the_darkest() {
        let classes = Classes::between(1, 144);
        assert_eq!([0, 1, 2, 144].map(|count| classes.shade(count)), [None, Some(0), Some(1), Some(7)]);
        assert_eq!(Classes::between(1, 1).shade(1), Some(7));
    }
}
