//! The selected rows of a row group.

use std::ops::Range;

/// Ranges of rows, in order and disjoint, and the number of rows before each range.
pub(super) struct RowSelection {
    ranges: Vec<Range<usize>>,
    before: Vec<usize>,
    count: usize,
}

impl FromIterator<Range<usize>> for RowSelection {
    fn from_iter<R: IntoIterator<Item = Range<usize>>>(ranges: R) -> Self {
        let ranges: Vec<Range<usize>> = ranges.into_iter().collect();
        let (mut before, mut count) = (Vec::with_capacity(ranges.len()), 0);
        for range in &ranges {
            before.push(count);
            count += range.len();
        }
        RowSelection { ranges, before, count }
    }
}

impl From<Range<usize>> for RowSelection {
    fn from(range: Range<usize>) -> Self {
        std::iter::once(range).collect()
    }
}

impl RowSelection {
    /// Returns the number of selected rows.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the selected rows of a page. Each range is returned with the index of its first row among all selected
    /// rows.
    pub(super) fn within(&self, page: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.ranges.partition_point(|range| range.end <= page.start);
        let from = self.ranges[first..].iter().zip(&self.before[first..]);
        from.map_while(|(range, before)| overlap(range, page).map(|rows| (before + rows.start - range.start, rows)))
    }

    /// Returns whether some rows of a page are selected.
    pub(super) fn meets(&self, page: &Range<usize>) -> bool {
        self.within(page).next().is_some()
    }

    /// Returns the rows at the given positions among the selected rows.
    pub(super) fn at_places(&self, places: &Range<usize>) -> RowSelection {
        let first = self.before.partition_point(|before| *before <= places.start).saturating_sub(1);
        let from = self.ranges[first..].iter().zip(&self.before[first..]);
        let of_range = from.map_while(|(range, &before)| {
            let own = before.max(places.start)..(before + range.len()).min(places.end);
            (before < places.end)
                .then(|| range.start + own.start - before..range.start + own.end.max(own.start) - before)
        });
        of_range.filter(|range| !range.is_empty()).collect()
    }
}

/// Returns the intersection of two ranges.
fn overlap(left: &Range<usize>, right: &Range<usize>) -> Option<Range<usize>> {
    let both = left.start.max(right.start)..left.end.min(right.end);
    (!both.is_empty()).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(ranges: &[Range<usize>]) -> RowSelection {
        ranges.iter().cloned().collect()
    }

    #[test]
    fn rows_of_a_page() {
        let picked = picked(&[2..5, 8..10, 20..30]);
        assert_eq!(picked.count(), 15);
        let within = |page: Range<usize>| picked.within(&page).collect::<Vec<_>>();
        assert_eq!(within(0..40), [(0, 2..5), (3, 8..10), (5, 20..30)]);
        assert_eq!(within(4..9), [(2, 4..5), (3, 8..9)]);
        assert_eq!(within(9..21), [(4, 9..10), (5, 20..21)]);
        assert_eq!(within(29..30), [(14, 29..30)]);
        for (page, meets) in
            [(0..2, false), (0..3, true), (5..8, false), (10..20, false), (30..40, false), (3..3, false)]
        {
            assert_eq!(picked.meets(&page), meets, "{page:?}");
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn places_among_picked_rows() {
        let picked = picked(&[2..5, 8..10, 20..30]);
        assert_eq!(picked.at_places(&(0..15)).ranges, [2..5, 8..10, 20..30]);
        assert_eq!(picked.at_places(&(1..6)).ranges, [3..5, 8..10, 20..21]);
        assert_eq!(picked.at_places(&(3..5)).ranges, [8..10]);
        assert_eq!(picked.at_places(&(4..6)).ranges, [9..10, 20..21]);
        assert_eq!(picked.at_places(&(3..3)).ranges, []);
        assert_eq!(RowSelection::from(0..0).at_places(&(0..0)).ranges, []);
    }
}
