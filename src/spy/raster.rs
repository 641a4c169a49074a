//! Counts of entries per cell, in one pass over the pattern for any number of panels.

use super::axis::Axis;
use crate::pattern::AnyPattern;

/// The counts of a panel: its cells, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raster {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) counts: Vec<u64>,
}

impl Raster {
    fn new(rows: &Axis, columns: &Axis) -> Self {
        let (rows, columns) = (rows.scale.cells(), columns.scale.cells());
        Raster { rows, columns, counts: vec![0; rows * columns] }
    }

    /// Returns the stored fraction of the positions of each cell; `size` is the number of positions of the tensor.
    fn shares(&self, rows: &Axis, columns: &Axis, size: f64) -> Vec<f64> {
        let after = size / (rows.scale.length as f64 * columns.scale.length as f64);
        let share = |(cell, &count): (usize, &u64)| {
            let (row, column) = (cell / self.columns, cell % self.columns);
            count as f64 / (rows.scale.positions_of(row) as f64 * columns.scale.positions_of(column) as f64) / after
        };
        self.counts.iter().enumerate().map(share).collect()
    }
}

/// Returns the pairs of axes that are shown, as `(row axis, column axis)`: each axis with each later axis.
pub(super) fn pairs(axes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..axes).flat_map(move |row| (row + 1..axes).map(move |column| (row, column)))
}

/// Returns the raster of each of the [`pairs`] of axes.
pub(super) fn count(pattern: &AnyPattern, axes: &[Axis]) -> Vec<Raster> {
    let pairs: Vec<_> = pairs(axes.len()).collect();
    let mut rasters: Vec<_> = pairs.iter().map(|&(row, column)| Raster::new(&axes[row], &axes[column])).collect();
    let mut cells = vec![0; axes.len()];
    pattern.walk_range(0..pattern.nnz(), &mut |_, coords| {
        for (cell, axis) in cells.iter_mut().zip(axes) {
            *cell = axis.number.map_or(0, |number| axis.scale.cell_of(coords[number]));
        }
        for (raster, &(row, column)) in rasters.iter_mut().zip(&pairs) {
            raster.counts[cells[row] * raster.columns + cells[column]] += 1;
        }
        true
    });
    rasters
}

/// If more than half of the cells have an entry, keeps only the fuller half of the cells. Returns the smallest stored
/// fraction of a kept cell; `None` if no cell was removed. `size` is the number of all positions.
pub(super) fn thin(rasters: &mut [Raster], axes: &[Axis], size: f64) -> Option<f64> {
    let shares: Vec<Vec<f64>> =
        rasters.iter().zip(pairs(axes.len())).map(|(raster, (r, c))| raster.shares(&axes[r], &axes[c], size)).collect();
    let mut held: Vec<f64> = shares.iter().flatten().copied().filter(|&share| share > 0.0).collect();
    held.sort_unstable_by(|a, b| b.total_cmp(a));
    let half = shares.iter().map(Vec::len).sum::<usize>() / 2;
    let middle = *held.get(half)?;
    // Cells with the same density as the middle cell are either all kept or all removed, whichever is closer to half of
    // the cells.
    let (above, with) = (held.partition_point(|&s| s > middle), held.partition_point(|&s| s >= middle));
    let min = if above > 0 && half - above < with - half { held[above - 1] } else { middle };
    for (raster, shares) in rasters.iter_mut().zip(&shares) {
        raster.counts.iter_mut().zip(shares).filter(|(_, share)| **share < min).for_each(|(count, _)| *count = 0);
    }
    held.last().is_some_and(|&last| last < min).then_some(min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::CooPattern;
    use crate::spy::axis::Scale;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Generates a shape, its entries, and the cell lengths of its axes.
    fn cases() -> impl Strategy<Value = (Vec<usize>, BTreeSet<Vec<usize>>, Vec<usize>)> {
        let length = prop_oneof![Just(0), 1usize..9, Just(usize::MAX)];
        prop::collection::vec(length, 2..5).prop_flat_map(|shape| {
            let at = |&length: &usize| prop_oneof![0..length.max(1), 0..length.clamp(1, 20)];
            let entries = prop::collection::btree_set(shape.iter().map(at).collect::<Vec<_>>(), 0..40);
            let cut = |&length: &usize| length.div_ceil(10).max(1)..=length.div_ceil(10).max(1).saturating_mul(3);
            let cuts = shape.iter().map(cut).collect::<Vec<_>>();
            let empty = shape.contains(&0);
            (Just(shape), entries.prop_map(move |some| if empty { BTreeSet::new() } else { some }), cuts)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn counts_are_those_of_each_cell_by_itself((shape, entries, cuts) in cases()) {
            let coords = (0..shape.len()).map(|axis| entries.iter().map(|at| at[axis]).collect()).collect();
            let pattern = CooPattern::<usize>::new(shape.clone(), entries.len(), coords).unwrap();
            let axis = |(number, (&length, &per_cell))| {
                Axis { number: Some(number), scale: Scale { length, per_cell, unit: 1 } }
            };
            let axes: Vec<_> = shape.iter().zip(&cuts).enumerate().map(axis).collect();
            let rasters = count(pattern.any(), &axes);
            prop_assert_eq!(rasters.len(), shape.len() * (shape.len() - 1) / 2);
            for (raster, (row, column)) in rasters.iter().zip(pairs(shape.len())) {
                prop_assert_eq!(raster.counts.len(), axes[row].scale.cells() * axes[column].scale.cells());
                for (cell, &found) in raster.counts.iter().enumerate() {
                    let (r, c) = (cell / raster.columns, cell % raster.columns);
                    let within = |at: &&Vec<usize>| at[row] / cuts[row] == r && at[column] / cuts[column] == c;
                    prop_assert_eq!(found, entries.iter().filter(within).count() as u64);
                }
            }
        }
    }
}
