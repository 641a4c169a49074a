//! The shades of counts: classes of counts, from the lightest shade to the darkest.

use super::raster::Raster;
use super::ticks::round_numbers;

/// The shades, from light to dark in even steps of lightness. The lightest shade is clearly visible on white.
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

/// The classes of all counts of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Classes {
    /// The smallest count of each class, in increasing order; the first is the smallest count of the picture.
    pub(super) starts: Vec<u64>,
    /// The largest count.
    pub(super) max: u64,
}

impl Classes {
    /// Returns the classes of the nonzero counts; `None` if all counts are zero.
    pub(super) fn of(rasters: &[Raster]) -> Option<Self> {
        let counts = || rasters.iter().flat_map(|raster| &raster.counts).copied().filter(|&count| count > 0);
        Some(Classes::between(counts().min()?, counts().max()?))
    }

    /// Returns a class per count if there are few counts; otherwise even steps within a decade, or steps of a ratio.
    fn between(min: u64, max: u64) -> Self {
        let starts = match max - min < SHADES.len() as u64 {
            true => (min..=max).collect(),
            false if max / 10 < min => even_starts(min, max),
            false => ratio_starts(min, max),
        };
        Classes { starts, max }
    }

    /// Returns whether each class has a single count.
    pub(super) fn are_single(&self) -> bool {
        self.max - self.starts[0] < self.starts.len() as u64
    }

    /// Returns the shade of a class.
    pub(super) fn shade_of_class(&self, class: usize) -> usize {
        match self.starts.len() {
            1 => SHADES.len() - 1,
            classes => class * (SHADES.len() - 1) / (classes - 1),
        }
    }

    /// Returns the shade of a count; `None` for zero.
    pub(super) fn shade(&self, count: u64) -> Option<usize> {
        let below = self.starts.partition_point(|&start| start <= count);
        below.checked_sub(1).map(|class| self.shade_of_class(class))
    }
}

/// Returns the smallest count, and the multiples of a round number above it.
fn even_starts(min: u64, max: u64) -> Vec<u64> {
    let starts = |step: u64| {
        let multiples = (min / step + 1..=max / step).map(|multiple| multiple * step);
        let starts: Vec<u64> = std::iter::once(min).chain(multiples.take(SHADES.len())).collect();
        (starts.len() <= SHADES.len()).then_some(starts)
    };
    round_numbers().find_map(starts).unwrap_or_else(|| vec![min])
}

/// Returns the smallest count, and the larger numbers of the finest row with few enough classes. The rows are 1, 2, 5,
/// 10 …, then 1, 3, 10, 30 …, then the powers of 10, of 100, and so on.
fn ratio_starts(min: u64, max: u64) -> Vec<u64> {
    let decades = |exponents: usize| (0..20).step_by(exponents).map(|exponent| 10u64.pow(exponent));
    let rows = [round_numbers().collect::<Vec<_>>(), decades(1).flat_map(|d| [d, d.saturating_mul(3)]).collect()];
    let rows = rows.into_iter().chain((1..).map(|exponents| decades(exponents).collect()));
    let starts = |row: Vec<u64>| {
        let above = row.into_iter().filter(|start| (min + 1..=max).contains(start));
        let starts: Vec<u64> = std::iter::once(min).chain(above).collect();
        (starts.len() <= SHADES.len()).then_some(starts)
    };
    rows.into_iter().find_map(starts).unwrap_or_else(|| vec![min])
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
