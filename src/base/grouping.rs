//! The positions of an axis, grouped by their labels.

use std::fmt;

use crate::base::alloc::{self, Allocated};

/// The labels of the positions of an axis.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Grouping {
    axis: usize,
    /// The label of each position.
    labels: Vec<usize>,
    /// The positions in the order of their labels.
    members: Vec<usize>,
    /// The start of the positions of each label in `members`, and the end of the last one.
    starts: Vec<usize>,
}

/// Up to this number of labels are printed one by one.
const LISTED: usize = 100;

impl fmt::Debug for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (axis, count) = (self.axis, self.count());
        if self.labels.len() <= LISTED {
            return write!(f, "labels {:?} below {count} on axis {axis}", self.labels);
        }
        write!(f, "{} labels below {count} ({:016x}) on axis {axis}", self.labels.len(), hash(&self.labels))
    }
}

/// Returns the FNV-1a hash, which is the same in every run.
fn hash(labels: &[usize]) -> u64 {
    let bytes = labels.iter().flat_map(|&label| (label as u64).to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

impl Grouping {
    /// Groups the positions of `axis` by their labels, each of which is below `count`.
    pub(crate) fn new(axis: usize, labels: Vec<usize>, count: usize) -> Allocated<Self> {
        let mut starts: Vec<usize> = alloc::zeros(count + 1)?;
        labels.iter().for_each(|&label| starts[label] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += std::mem::replace(start, end);
        }
        let mut members = alloc::zeros(labels.len())?;
        for (position, &label) in labels.iter().enumerate() {
            members[starts[label]] = position;
            starts[label] += 1;
        }
        // Each start is now the end of its label.
        starts.rotate_right(1);
        starts[0] = 0;
        Ok(Grouping { axis, labels, members, starts })
    }

    /// Returns the axis.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// Returns the number of possible labels.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the label of each position.
    pub(crate) fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Returns the label of a position.
    pub(crate) fn label(&self, position: usize) -> usize {
        self.labels[position]
    }

    /// Returns the positions of a label, in increasing order.
    pub(crate) fn members(&self, label: usize) -> &[usize] {
        &self.members[self.starts[label]..self.starts[label + 1]]
    }

    /// Returns the index of a position among those with its label, and the number of these positions.
    pub(crate) fn place(&self, position: usize) -> (usize, usize) {
        let members = self.members(self.labels[position]);
        (members.partition_point(|&member| member < position), members.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_in_order_with_their_number() {
        let grouping = Grouping::new(2, vec![3, 0, 3, 1, 0], 5).unwrap();
        let members: Vec<&[usize]> = (0..5).map(|label| grouping.members(label)).collect();
        assert_eq!(members, [&[1, 4][..], &[3], &[], &[0, 2], &[]]);
        assert_eq!((grouping.place(2), grouping.place(3)), ((1, 2), (0, 1)));
        assert_eq!(Grouping::new(0, vec![], 0).unwrap().count(), 0);
    }
}
