//! Labels of the positions of an axis. A reduction groups the positions by these labels.

use std::fmt;

use ndarray::{ArrayBase, ArrayView1, Data, Ix1};

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::limit::{default_limit, guard};

/// The labels of [`Axes::by`](crate::Axes::by): one integer per position of an axis.
///
/// [`count`](Self::count()) can set the number of possible labels.
///
/// A slice, an array, a `Vec` or an `ndarray` array of rank 1 converts to labels by reference. By default, the number
/// of possible labels is the largest label plus 1.
///
/// # Examples
///
/// ```
/// use lacuna::{Axes, CooTensor, GroupLabels};
///
/// let x = CooTensor::new([3], vec![vec![0, 2]], vec![10, 20], 0)?;
/// assert_eq!(x.sum(Axes::by(0, &[1, 0, 1]))?.shape(), &[2][..]);
/// assert_eq!(x.sum(Axes::by(0, GroupLabels::of(&[1, 0, 1]).count(5)))?.shape(), &[5][..]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "num_segments")]
#[doc(alias = "dim_size")]
pub struct GroupLabels<'a, J> {
    items: ArrayView1<'a, J>,
    /// The number of possible labels, which are 0, 1, …, `count - 1`.
    ///
    /// `None` means the largest label plus 1.
    pub count: Option<usize>,
}

impl<'a, J: Position> GroupLabels<'a, J> {
    /// Constructs labels from one integer per position of an axis.
    ///
    /// The number of possible labels is the largest label plus 1.
    pub fn of(labels: impl Into<GroupLabels<'a, J>>) -> Self {
        labels.into()
    }

    /// Sets the number of possible labels, including labels without positions.
    pub fn count(self, count: usize) -> Self {
        GroupLabels { count: Some(count), ..self }
    }

    /// Returns the labels on an axis of a reduction.
    pub(crate) fn on(self, axis: isize) -> AxisLabels {
        AxisLabels { axis, length: self.items.len(), grouping: self.grouping() }
    }

    fn grouping(self) -> std::result::Result<Grouping, LabelFault> {
        let limit = self.count.unwrap_or(usize::MAX);
        let mut labels = alloc::with_capacity(self.items.len())?;
        for (position, label) in self.items.iter().enumerate() {
            let known = usize::try_from(label.to_i128()).ok().filter(|&label| label < limit);
            labels.push(known.ok_or(LabelFault::Outside { label: label.to_i128(), position, limit })?);
        }
        let count = self.count.unwrap_or_else(|| labels.iter().max().map_or(0, |max| max + 1));
        guard_count(count, labels.len()).map_err(|_| LabelFault::TooMany { count })?;
        Ok(Grouping::new(labels, count)?)
    }
}

/// Rejects a number of labels that is far larger than the number of positions of the axis.
fn guard_count(count: usize, length: usize) -> Result<()> {
    let instead = "number the labels consecutively from 0";
    guard::<usize>("the table of labels", count as u128 + 1, default_limit(length * 8), instead)
}

impl<'a, J: Position, S: Data<Elem = J>> From<&'a ArrayBase<S, Ix1>> for GroupLabels<'a, J> {
    fn from(items: &'a ArrayBase<S, Ix1>) -> Self {
        GroupLabels { items: items.view(), count: None }
    }
}

impl<'a, J: Position> From<&'a [J]> for GroupLabels<'a, J> {
    fn from(items: &'a [J]) -> Self {
        GroupLabels { items: items.into(), count: None }
    }
}

impl<'a, J: Position> From<&'a Vec<J>> for GroupLabels<'a, J> {
    fn from(items: &'a Vec<J>) -> Self {
        items.as_slice().into()
    }
}

impl<'a, J: Position, const N: usize> From<&'a [J; N]> for GroupLabels<'a, J> {
    fn from(items: &'a [J; N]) -> Self {
        items.as_slice().into()
    }
}

/// The labels on one of the axes of a reduction.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct AxisLabels {
    axis: isize,
    /// The number of labels, which must be the length of the axis.
    length: usize,
    grouping: std::result::Result<Grouping, LabelFault>,
}

/// The reason why labels do not group positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LabelFault {
    Outside {
        label: i128,
        position: usize,
        limit: usize,
    },
    TooMany {
        count: usize,
    },
    /// Two axes have labels.
    TwoAxes,
    Memory(AllocError),
}

impl From<AllocError> for LabelFault {
    fn from(error: AllocError) -> Self {
        LabelFault::Memory(error)
    }
}

impl AxisLabels {
    /// Returns labels that no reduction accepts, because another axis has labels as well.
    pub(crate) fn with_duplicate_axis(&self) -> Self {
        AxisLabels { grouping: Err(LabelFault::TwoAxes), ..*self }
    }

    /// Returns the axis. A negative axis counts from the end.
    pub(crate) fn axis(&self) -> isize {
        self.axis
    }

    /// Rejects labels that are not valid for an axis of this length.
    pub(crate) fn check(&self, length: usize) -> Result<()> {
        if self.grouping == Err(LabelFault::TwoAxes) {
            let why = "another axis has labels already; group by one axis at a time".into();
            return Err(Error::Argument { operation: "group labels", why });
        }
        if self.length != length {
            return Err(Error::LengthMismatch { what: "the labels", expected: length, found: self.length });
        }
        match &self.grouping {
            Ok(_) | Err(LabelFault::TwoAxes) => Ok(()),
            Err(LabelFault::TooMany { count }) => guard_count(*count, length),
            Err(LabelFault::Memory(error)) => Err((*error).into()),
            Err(LabelFault::Outside { label, position, limit }) => {
                let limit = if *limit == usize::MAX { String::new() } else { format!(" and below {limit}") };
                let why = format!("labels[{position}] = {label} is not at least 0{limit}");
                Err(Error::Argument { operation: "group labels", why })
            }
        }
    }

    /// Returns the positions in groups, if the labels are valid.
    pub(crate) fn grouping(&self) -> Option<&Grouping> {
        self.grouping.as_ref().ok()
    }
}

/// Up to this number of labels are printed one by one.
const LISTED: usize = 100;

impl fmt::Debug for AxisLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (axis, length) = (self.axis, self.length);
        match &self.grouping {
            Err(fault) => write!(f, "{length} labels on axis {axis} ({fault:?})"),
            Ok(groups) if length <= LISTED => {
                write!(f, "labels {:?} below {} on axis {axis}", groups.labels, groups.count())
            }
            Ok(groups) => {
                write!(f, "{length} labels below {} ({:016x}) on axis {axis}", groups.count(), hash(&groups.labels))
            }
        }
    }
}

/// The positions of an axis, grouped by their labels.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Grouping {
    /// The label of each position.
    labels: Vec<usize>,
    /// The positions in the order of their labels.
    members: Vec<usize>,
    /// The start of each label in `members`, and the end of the last label.
    starts: Vec<usize>,
}

/// Returns the FNV-1a hash. The hash is the same in every run.
fn hash(labels: &[usize]) -> u64 {
    let bytes = labels.iter().flat_map(|&label| (label as u64).to_le_bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

impl Grouping {
    /// Groups the positions of an axis by their labels, each of which is below `count`.
    fn new(labels: Vec<usize>, count: usize) -> Allocated<Self> {
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
        // Each item of `starts` is now the end of its label.
        starts.rotate_right(1);
        starts[0] = 0;
        Ok(Grouping { labels, members, starts })
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
        let grouping = Grouping::new(vec![3, 0, 3, 1, 0], 5).unwrap();
        let members: Vec<&[usize]> = (0..5).map(|label| grouping.members(label)).collect();
        assert_eq!(members, [&[1, 4][..], &[3], &[], &[0, 2], &[]]);
        assert_eq!((grouping.place(2), grouping.place(3)), ((1, 2), (0, 1)));
        assert_eq!(Grouping::new(vec![], 0).unwrap().count(), 0);
    }
}
