//! Table lookups in panel order. A panel is a part of the table that fits in a cache. All lookups of one panel precede
//! the lookups of the next panel.

use crate::base::alloc::{self, Allocated};

/// The bytes of a panel. Debug builds use much smaller panels, so that tests with small inputs cover several panels.
const PANEL: usize = if cfg!(debug_assertions) { 1 << 7 } else { 1 << 22 };

/// The smallest average number of lookups per row for which panel order is faster.
const LOOKUPS: usize = 4;

/// The largest number of panels. With more panels, entries would be scattered to too many memory positions.
const MAX_PANELS: usize = 1 << 8;

/// The number of entries processed together.
const BLOCK: usize = 256;

/// A function that writes, for consecutive entries from a given entry on, the row that each entry looks up.
pub(crate) type Numbers<'a> = &'a (dyn Fn(usize, &mut [usize]) + Sync);

/// The order in which results read a table panel by panel. Each result looks up rows in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PanelOrder {
    /// The number of rows per panel.
    pub(crate) panel: usize,
    /// The number of results that read a panel before the next panel is read.
    pub(crate) at_once: usize,
}

/// An entry, and the rows that it looks up in two tables.
pub(crate) type Lookup = [u32; 3];

/// The second of two tables.
#[derive(Clone, Copy)]
pub(crate) struct TableSize {
    pub(crate) rows: usize,
    pub(crate) bytes_of_row: usize,
}

impl TableSize {
    /// Returns the binary logarithm of the rows per panel, if panel order is faster for `count` entries.
    fn panel(self, count: usize) -> Option<u32> {
        let pays = self.rows.saturating_mul(self.bytes_of_row) >= 2 * PANEL && count / LOOKUPS >= self.rows;
        // At least `rows / MAX_PANELS` rows per panel, so there are at most `MAX_PANELS` panels.
        let rows = (PANEL / self.bytes_of_row.max(1)).max(self.rows.div_ceil(MAX_PANELS)).max(1);
        (pays && u32::try_from(count).is_ok()).then(|| rows.next_power_of_two().ilog2())
    }

    /// Returns the traversal of the table, if it is faster, for results with `lookups` lookups each on average.
    ///
    /// `bytes_of_sums` is the size of the partial sums of one result per thread, summed over all threads. All partial
    /// sums that are kept between panels take at most a quarter of the bytes of the table.
    pub(crate) fn walk(self, lookups: usize, bytes_of_sums: usize) -> Option<PanelOrder> {
        let (bytes, panel) = (self.rows.saturating_mul(self.bytes_of_row), PANEL / self.bytes_of_row.max(1));
        let walk = PanelOrder { panel, at_once: bytes / 4 / bytes_of_sums.max(1) };
        let pays = bytes >= 2 * PANEL
            && panel > 0
            && lookups >= self.rows.div_ceil(panel).saturating_mul(LOOKUPS / 2)
            && lookups.saturating_mul(walk.at_once) / LOOKUPS >= self.rows;
        pays.then_some(walk)
    }
}

/// Returns `count` entries from `start` on, ordered by panel of the second table and by entry within a panel.
///
/// The list is empty if panel order is not faster.
pub(crate) fn by_panels(
    start: usize,
    count: usize,
    numbers: [Numbers<'_>; 2],
    table: TableSize,
) -> Allocated<Vec<Lookup>> {
    let Some(panel) = table.panel(count) else { return Ok(Vec::new()) };
    let mut places = alloc::zeros((table.rows >> panel) + 1)?;
    for_each(start, count, numbers, |[_, _, row]| places[(row >> panel) as usize] += 1);
    // Counts become starts: `places[p]` is the number of lookups in panels before `p`.
    let mut end = 0;
    places.iter_mut().for_each(|place| end += std::mem::replace(place, end));
    let mut lookups: Vec<Lookup> = alloc::zeros(count)?;
    for_each(start, count, numbers, |lookup| {
        // Entries are visited in order, so entries of one panel keep their order. `place` stays within the slots of its
        // panel.
        let place: &mut usize = &mut places[(lookup[2] >> panel) as usize];
        lookups[*place] = lookup;
        *place += 1;
    });
    Ok(lookups)
}

/// Calls `visit` with the lookups of each entry, in order; entries are counted from `start` on.
fn for_each(start: usize, count: usize, numbers: [Numbers<'_>; 2], mut visit: impl FnMut(Lookup)) {
    let mut block = [[0; BLOCK]; 2];
    for first in (0..count).step_by(BLOCK) {
        let length = BLOCK.min(count - first);
        numbers.iter().zip(&mut block).for_each(|(number, block)| number(start + first, &mut block[..length]));
        for (at, (&left, &right)) in block[0][..length].iter().zip(&block[1]).enumerate() {
            // `TableSize::panel` limits entries and right rows to `u32`; the caller limits left rows.
            visit([(first + at) as u32, left as u32, right as u32]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_panel_by_panel_and_in_order_within() {
        let left =
            |start: usize, numbers: &mut [usize]| numbers.iter_mut().zip(start..).for_each(|(n, at)| *n = at / 9);
        let right = |start: usize, numbers: &mut [usize]| {
            numbers.iter_mut().zip(start..).for_each(|(number, at)| *number = at * 7 % 40);
        };
        let table = TableSize { rows: 40, bytes_of_row: PANEL / 8 };
        let found = by_panels(300, 700, [&left, &right], table).unwrap();
        let mut expected: Vec<Lookup> =
            (0..700).map(|entry| [entry, (300 + entry) / 9, (300 + entry) * 7 % 40]).collect();
        expected.sort_by_key(|[_, _, row]| row / 8);
        assert_eq!(found, expected);
    }

    #[test]
    fn few_look_ups_and_small_tables_are_left_alone() {
        let none = |_: usize, numbers: &mut [usize]| numbers.fill(0);
        let panels = |count: usize, rows: usize, bytes_of_row: usize| {
            !by_panels(0, count, [&none, &none], TableSize { rows, bytes_of_row }).unwrap().is_empty()
        };
        assert!(panels(4000, 1000, PANEL / 100));
        assert!(!panels(3999, 1000, PANEL / 100));
        assert!(!panels(4000, 100, PANEL / 100));
        assert!(!panels(0, 0, 0) && !panels(100, 10, 0));
    }

    #[test]
    fn results_with_few_look_ups_go_through_a_table_at_once() {
        let row = PANEL / 8;
        let walk = |lookups: usize, rows: usize| TableSize { rows, bytes_of_row: row }.walk(lookups, row);
        // The conditions of panel order: at least two panels, two lookups per result and panel, and four lookups per
        // row by the results of one step.
        assert_eq!(walk(16, 16), Some(PanelOrder { panel: 8, at_once: 4 }));
        assert_eq!((walk(15, 16), walk(99, 15)), (None, None));
        assert_eq!((walk(19, 80), walk(20, 80)), (None, Some(PanelOrder { panel: 8, at_once: 20 })));
        assert_eq!(TableSize { rows: 16, bytes_of_row: row }.walk(100, 64 * row), None);
        assert_eq!(TableSize { rows: 9, bytes_of_row: 2 * PANEL }.walk(100, row), None);
        assert_eq!(TableSize { rows: 0, bytes_of_row: 0 }.walk(0, 0), None);
    }
}
