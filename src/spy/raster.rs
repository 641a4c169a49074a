//! How many entries stand in each cell: one pass over the pattern, whatever the number of panels.

use super::axis::Axis;
use crate::pattern::Pattern;

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
}

/// The pairs of axes that are shown, as `(row axis, column axis)`: each earlier axis with each later one.
pub(super) fn pairs(axes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..axes).flat_map(move |row| (row + 1..axes).map(move |column| (row, column)))
}

/// The raster of each of the [`pairs`] of axes.
pub(super) fn count<P: Pattern>(pattern: &P, axes: &[Axis]) -> Vec<Raster> {
    let pairs: Vec<_> = pairs(axes.len()).collect();
    let mut rasters: Vec<_> = pairs.iter().map(|&(row, column)| Raster::new(&axes[row], &axes[column])).collect();
    let mut cells = vec![0; axes.len()];
    pattern.walk(|_, coords| {
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
