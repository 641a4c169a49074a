//! How the positions of an axis are cut into cells, and how large a cell is drawn.

/// What a canvas gives to an axis. A unit is what the canvas counts in: a pixel, or a dot of braille.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    /// The units that there are.
    pub(super) units: usize,
    /// The most cells.
    pub(super) cells: usize,
    /// The most units a cell.
    pub(super) unit: usize,
}

/// An axis cut into cells of equal length, so that equal shades mean equal density; the last cell may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// The positions of the axis.
    pub(super) length: usize,
    /// The positions that a cell stands for.
    pub(super) per_cell: usize,
    /// The units that a cell takes.
    pub(super) unit: usize,
}

impl Scale {
    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.length.div_ceil(self.per_cell)
    }

    /// The cell that a position stands in.
    pub(super) fn cell_of(&self, position: usize) -> usize {
        position / self.per_cell
    }

    /// The positions that a cell has: the last one may have fewer.
    pub(super) fn positions_of(&self, cell: usize) -> usize {
        self.per_cell.min(self.length - cell * self.per_cell)
    }

    /// The units that all cells take.
    pub(super) fn extent(&self) -> usize {
        self.cells() * self.unit
    }

    /// The middle of the cell of a position, in units from the start of the axis.
    pub(super) fn middle_of(&self, position: usize) -> usize {
        self.cell_of(position) * self.unit + self.unit / 2
    }
}

/// An axis of the picture: one of the tensor, or the one position that a missing axis stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Its number in the tensor; none for what a tensor of rank 0 or 1 lacks of a plane.
    pub(super) number: Option<usize>,
    pub(super) scale: Scale,
}

impl Axis {
    /// What it is called, if it is one of the tensor's.
    pub(super) fn name(&self) -> Option<String> {
        self.number.map(|number| format!("axis {number}"))
    }
}

/// Axes that differ in length by more than this are not drawn to one scale: the picture would be a sliver.
const SLIVER: usize = 5;

/// The least number of positions a cell so that the axis has no more cells than there is space for.
fn per_cell(length: usize, space: &Space) -> usize {
    length.div_ceil(space.cells.max(1)).max(1)
}

/// The units that a cell may take.
fn unit(length: usize, per_cell: usize, space: &Space) -> usize {
    (space.units / length.div_ceil(per_cell).max(1)).clamp(1, space.unit.max(1))
}

/// The scales of axes in their spaces: one for all where their lengths are comparable, else each its own.
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

/// Enlarges all cells alike as long as the axes that stand beside each other, and those below each other, keep within
/// their units.
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
