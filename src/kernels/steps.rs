//! Steps: the order in which two sorted lists of entries are merged. At each step one list has an entry, or both lists
//! have an entry.
//!
//! ```text
//! left     2   5 6   9
//! right    2 4   6 7
//! steps    3 2 1 3 2 1     1: left alone, 2: right alone, 3: both
//! ```
//!
//! A step is one byte. A result reads coordinates and values of both lists by the steps, so no positions or values are
//! stored in between.

use std::hint::select_unpredictable;
use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::threads;

/// The bit of a step at which the left list has an entry.
pub(crate) const LEFT: u8 = 1;
/// The bit of a step at which the right list has an entry.
pub(crate) const RIGHT: u8 = 2;

/// The number of steps processed together; their keys or values stay in the L1 cache.
pub(crate) const BLOCK: usize = 512;

/// The steps at which a result has an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// True to keep steps at which both lists have an entry.
    pub(crate) both: bool,
    /// True to keep steps at which only the left list has an entry.
    pub(crate) left: bool,
    /// True to keep steps at which only the right list has an entry.
    pub(crate) right: bool,
}

impl Keep {
    pub(crate) const UNION: Keep = Keep { both: true, left: true, right: true };
    pub(crate) const BOTH: Keep = Keep { both: true, left: false, right: false };
    /// The entries of the left list.
    pub(crate) const LEFT: Keep = Keep { both: true, left: true, right: false };
    /// The entries of the left list without the entries of the right list.
    pub(crate) const WITHOUT: Keep = Keep { both: false, left: true, right: false };

    /// Returns whether the entries of the result are exactly the entries of one list.
    pub(super) fn is_one_list(self) -> bool {
        self.both && self.left != self.right
    }

    /// Returns the maximum number of entries of the result, given the number of entries of both lists.
    pub(super) fn max_entries(self, left: usize, right: usize) -> usize {
        match (self.left, self.right) {
            (false, false) => left.min(right),
            (of_left, of_right) => usize::from(of_left) * left + usize::from(of_right) * right,
        }
    }

    /// Returns whether steps with an entry only on this side are kept.
    pub(super) fn holds(self, side: u8) -> bool {
        self.mask() >> side & 1 == 1
    }

    /// Returns a mask with one bit per kind of step.
    pub(super) fn mask(self) -> u8 {
        u8::from(self.left) << LEFT | u8::from(self.right) << RIGHT | u8::from(self.both) << (LEFT | RIGHT)
    }

    /// Returns the number of entries of the result, given the entries on both sides and the number of steps.
    pub(super) fn count(self, left: usize, right: usize, steps: usize) -> usize {
        // Each step has an entry on the left, on the right, or both, so `left + right - steps` steps have both.
        let both = left + right - steps;
        let [of_both, of_left, of_right] = [self.both, self.left, self.right].map(usize::from);
        of_both * both + of_left * (left - both) + of_right * (right - both)
    }
}

/// The steps of a range of both lists.
pub(crate) struct MergePart {
    pub(crate) left: Range<usize>,
    pub(crate) right: Range<usize>,
    pub(crate) steps: Vec<u8>,
}

/// The steps of two lists, in parts for the threads.
pub(crate) struct MergeSteps {
    pub(crate) parts: Few<MergePart>,
    pub(crate) keep: Keep,
}

impl MergeSteps {
    /// Returns the index after the last entry of the result, for each part.
    pub(crate) fn ends(&self) -> Few<usize> {
        let mut end = 0;
        let count = |part: &MergePart| {
            end += self.count_of(part);
            end
        };
        self.parts.iter().map(count).collect()
    }

    /// Returns the number of entries of the result in a part.
    fn count_of(&self, part: &MergePart) -> usize {
        self.keep.count(part.left.len(), part.right.len(), part.steps.len())
    }

    /// Returns the number of entries of the result.
    pub(crate) fn count(&self) -> usize {
        self.parts.iter().map(|part| self.count_of(part)).sum()
    }

    /// Returns the number of steps of all parts.
    fn work(&self) -> usize {
        self.parts.iter().map(|part| part.steps.len()).sum()
    }

    /// Calls `write` with each part and its slots of a list as long as the result; returns the first error.
    pub(crate) fn fill<U: Zeroable + Send, E: From<alloc::AllocError> + Send>(
        &self,
        write: impl Fn(&MergePart, usize, &mut [U]) -> Result<(), E> + Sync + Send,
    ) -> Result<Vec<U>, E> {
        let mut items = alloc::zeros(self.count())?;
        if let [all] = &self.parts[..] {
            return write(all, 0, &mut items).map(|()| items);
        }
        let ends = self.ends();
        let shares = self.parts.iter().zip(threads::split_at_ends(&mut items, &ends)).zip(&ends).collect();
        let written = threads::map_each(
            shares,
            self.work(),
            || (),
            |(), ((part, items), end)| {
                let start = end - items.len();
                write(part, start, items)
            },
        );
        // Parts are in order, so the first error of the parts is the first error of the result.
        written.into_iter().collect::<Result<(), E>>()?;
        Ok(items)
    }

    /// Returns the items of the result, such as coordinates. At steps with two entries, their items must be equal.
    pub(crate) fn pick<T: Copy + Zeroable + Send + Sync>(&self, left: &[T], right: &[T]) -> Allocated<Vec<T>> {
        let mask = self.keep.mask();
        self.fill(|part, _, items| {
            pick_part(&part.steps, mask, &left[part.left.clone()], &right[part.right.clone()], items);
            Ok(())
        })
    }

    /// Returns the items of one list for each entry of the result, or `fill` if the list does not have the entry.
    pub(crate) fn take<T: Copy + Zeroable + Send + Sync>(&self, side: u8, values: &[T], fill: T) -> Allocated<Vec<T>> {
        let mask = self.keep.mask();
        self.fill(|part, _, items| {
            let values = &values[if side == LEFT { part.left.clone() } else { part.right.clone() }];
            let (mut entry, mut at) = (0, 0);
            for &step in &part.steps {
                // No branch, as in `pick_part`. The slot is rewritten until `at` advances, so only kept steps remain.
                let (has, value) = (step & side != 0, values.get(entry).unwrap_or(&fill));
                if let Some(slot) = items.get_mut(at) {
                    *slot = *select_unpredictable(has, value, &fill);
                }
                entry += usize::from(has);
                at += usize::from(mask >> step & 1);
            }
            Ok(())
        })
    }

    /// Returns the first entry of one list that the result does not keep and that `test` accepts.
    pub(crate) fn first_left_out(&self, side: u8, test: impl Fn(usize) -> bool) -> Option<usize> {
        let of_part = |part: &MergePart| {
            let mut entry = if side == LEFT { part.left.start } else { part.right.start };
            part.steps.iter().find_map(|step| {
                let found = *step == side && test(entry);
                // After this line `entry` is the index of the next entry, so the found entry is `entry - 1`.
                entry += usize::from(step & side != 0);
                found.then(|| entry - 1)
            })
        };
        self.parts.iter().find_map(of_part)
    }
}

/// [`MergeSteps::pick`] for one part, without unpredictable branches.
fn pick_part<T: Copy + Zeroable>(steps: &[u8], mask: u8, left: &[T], right: &[T], items: &mut [T]) {
    let (nothing, mut i, mut j, mut at) = (T::zeroed(), 0, 0, 0);
    for &step in steps {
        // The kind of step is nearly random, so a pointer is selected instead of branching. At the end one list may be
        // exhausted.
        let (one, other) = (left.get(i).unwrap_or(&nothing), right.get(j).unwrap_or(&nothing));
        // Invariant: `i`, `j` and `at` count the left entries, the right entries and the kept steps before this step.
        if let Some(slot) = items.get_mut(at) {
            *slot = *select_unpredictable(step & LEFT != 0, one, other);
        }
        i += usize::from(step & LEFT);
        j += usize::from(step >> 1);
        at += usize::from(mask >> step & 1);
    }
}

/// The values of two lists, and the values for steps without an entry.
pub(crate) struct Filled<'a, A, B> {
    pub(crate) left: (&'a [A], A),
    pub(crate) right: (&'a [B], B),
}

impl<A: Copy, B: Copy> Filled<'_, A, B> {
    /// Writes the values of both lists at the kept steps of at most one block, and returns their number.
    ///
    /// The values read are removed from the front of both lists.
    pub(crate) fn expand(
        &mut self,
        steps: &[u8],
        keep: Keep,
        of_left: &mut [A; BLOCK],
        of_right: &mut [B; BLOCK],
    ) -> usize {
        let ((left, nothing), (right, none)) = (self.left, self.right);
        let (mask, mut i, mut j, mut at) = (keep.mask(), 0, 0, 0);
        for &step in steps {
            // No branch, as in `pick_part`. `at` is below `BLOCK` for kept steps; the remainder removes the bounds
            // check.
            let (one, other) = (left.get(i).unwrap_or(&nothing), right.get(j).unwrap_or(&none));
            of_left[at % BLOCK] = *select_unpredictable(step & LEFT != 0, one, &nothing);
            of_right[at % BLOCK] = *select_unpredictable(step & RIGHT != 0, other, &none);
            i += usize::from(step & LEFT);
            j += usize::from(step >> 1);
            at += usize::from(mask >> step & 1);
        }
        (self.left.0, self.right.0) = (&left[i..], &right[j..]);
        at
    }
}
