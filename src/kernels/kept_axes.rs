//! The axes that a reduction keeps. Their coordinates determine the output element of an entry.

use crate::base::index::Width;
use crate::kernels::coords::CoordSlices;
use crate::kernels::group::Unstored;

/// The coordinates of entries on the kept axes. There is at least one kept axis.
pub(crate) struct KeptAxes<'a> {
    pub(crate) coords: CoordSlices<'a>,
    /// The lengths of the kept axes.
    pub(crate) lengths: &'a [usize],
    /// True if the kept axes are the first axes, so that the entries of an output element are adjacent.
    pub(crate) lead: bool,
    /// True if the last axis is reduced, so that adjacent entries often belong to one output element.
    pub(crate) in_runs: bool,
    /// The size of a group of each label, and the number of adjacent output elements with one label. `None` if all
    /// groups are equally large.
    pub(crate) extents: Option<(&'a [u128], usize)>,
}

impl KeptAxes<'_> {
    /// Writes the flat indices of the output elements of the entries from `start` on.
    pub(crate) fn number(&self, start: usize, numbers: &mut [usize]) {
        self.coords.number(self.lengths, start, numbers);
    }

    /// Returns the lengths of the kept axes, and the width of their coordinates.
    pub(crate) fn cells_of_result(&self) -> (&[usize], Width) {
        (self.lengths, self.coords.width())
    }

    /// Returns the number of output elements.
    pub(crate) fn cells(&self) -> u128 {
        self.lengths.iter().fold(1, |cells: u128, &length| cells.saturating_mul(length as u128))
    }

    /// Returns the unstored positions of an output element, from the unstored positions of the largest output element.
    pub(crate) fn unstored<T: Copy>(&self, unstored: &Unstored<T>, cell: usize) -> Unstored<T> {
        // `inner` adjacent output elements share a label, and the labels repeat along the earlier axes.
        let extent = |(extents, inner): (&[u128], usize)| extents[cell / inner % extents.len()];
        Unstored { extent: self.extents.map_or(unstored.extent, extent), ..*unstored }
    }
}
