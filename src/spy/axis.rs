//! The division of an axis into cells, and the size of a cell in a drawing.

/// The space of a canvas for an axis. The unit depends on the canvas: a pixel, or a braille dot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// The number of units.
    pub(super) units: usize,
    /// The maximum number of cells.
    pub(super) cells: usize,
    /// The maximum number of units per cell.
    pub(super) unit: usize,
}

/// An axis divided into cells of equal length, so that equal shades mean equal density. The last cell may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// The number of positions on the axis.
    pub(super) length: usize,
    /// The number of positions per cell.
    pub(super) per_cell: usize,
    /// The number of units per cell.
    pub(super) unit: usize,
}

impl Scale {
    /// Returns the number of cells.
    pub(super) fn cells(&self) -> usize {
        self.length.div_ceil(self.per_cell)
    }

    /// Returns the cell of a position.
    pub(super) fn cell_of(&self, position: usize) -> usize {
        position / self.per_cell
    }

    /// Returns the number of positions in a cell; the last cell may have fewer.
    pub(super) fn positions_of(&self, cell: usize) -> usize {
        self.per_cell.min(self.length - cell * self.per_cell)
    }

    /// Returns the number of units of all cells.
    pub(super) fn extent(&self) -> usize {
        self.cells() * self.unit
    }

    /// Returns the middle of the cell of a position, in units from the start of the axis.
    pub(super) fn middle_of(&self, position: usize) -> usize {
        self.cell_of(position) * self.unit + self.unit / 2
    }
}

/// An axis of the picture: an axis of the tensor, or a single position in place of a missing axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// The index of the axis in the tensor; `None` for a missing axis of a tensor of rank 0 or 1.
    pub(super) number: Option<usize>,
    pub(super) scale: Scale,
}

impl Axis {
    /// Returns the name of the axis, if it is an axis of the tensor.
    pub(super) fn name(&self) -> Option<String> {
        self.number.map(|number| format!("axis {number}"))
    }
}

/// The ratio of lengths above which axes have different scales: with one scale, the picture would be too narrow.
const SLIVER: usize = 5;

/// Returns the smallest number of positions per cell for which the cells fit in the space.
fn per_cell(length: usize, space: &Space) -> usize {
    length.div_ceil(space.cells.max(1)).max(1)
}

/// Returns the number of units that a cell may take.
fn unit(length: usize, per_cell: usize, space: &Space) -> usize {
    (space.units / length.div_ceil(per_cell).max(1)).clamp(1, space.unit.max(1))
}

/// Returns the scales of axes in their spaces. If their lengths are comparable, all axes have one scale; otherwise each
/// axis has its own scale.
pub(super) fn fit(axes: &[(usize, Space)]) -> Vec<Scale> {
    let lengths = || axes.iter().map(|(length, _)| *length).filter(|&length| length > 0);
    let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let alone = |(length, space): &(usize, Space)| {
        let per_cell = per_cell(*length, space);
        Scale { length: *length, per_cell, unit: unit(*length, per_cell, space) }
    };
    if longest / SLIVER > shortest {
        return axes.iter().map(alone).collect();
    }
    let per_cell = axes.iter().map(|(length, space)| per_cell(*length, space)).max().unwrap_or(1);
    let unit = axes.iter().map(|(length, space)| unit(*length, per_cell, space)).min().unwrap_or(1);
    axes.iter().map(|&(length, _)| Scale { length, per_cell, unit }).collect()
}

/// Enlarges all cells equally, as long as the panels next to each other, and the panels below each other, fit into
/// `units`.
pub(super) fn stretch(scales: &mut [Scale], units: usize, largest: usize) {
    let extent = |scales: &[Scale]| scales.iter().map(Scale::extent).sum::<usize>();
    let Some(last) = scales.len().checked_sub(1) else { return };
    let taken = extent(&scales[1..]).max(extent(&scales[..last])).max(1);
    for scale in scales {
        scale.unit = (scale.unit * units / taken).clamp(scale.unit, largest.max(scale.unit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space { units: 640, cells: 256, unit: 64 };

    fn scales(lengths: &[usize]) -> Vec<(usize, usize)> {
        let axes: Vec<_> = lengths.iter().map(|&length| (length, SPACE)).collect();
        fit(&axes).iter().map(|scale| (scale.per_cell, scale.unit)).collect()
    }

    #[test]
    fn comparable_axes_share_a_scale() {
        assert_eq!(scales(&[34, 34]), [(1, 18); 2]);
        assert_eq!(scales(&[300, 100]), [(2, 4); 2]);
        assert_eq!(scales(&[0, 3]), [(1, 64); 2]);
    }

    #[test]
    fn a_sliver_is_widened() {
        assert_eq!(scales(&[1_000_000, 10]), [(3907, 2), (1, 64)]);
        assert_eq!(scales(&[1, usize::MAX]), [(1, 64), (usize::MAX.div_ceil(256), 2)]);
    }
}
