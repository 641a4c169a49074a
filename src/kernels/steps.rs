//! The steps in which two lists of entries in order are walked side by side: at each one of them has an entry, or both.
//!
//! ```text
//! left     2   5 6   9
//! right    2 4   6 7
//! steps    3 2 1 3 2 1     1: left alone, 2: right alone, 3: both
//! ```
//!
//! A step is a byte. What a result needs of either list (coordinates, values) is taken from there by the steps, so that
//! neither places nor values wait in memory.

use std::hint::select_unpredictable;
use std::ops::Range;

use bytemuck::Zeroable;

use crate::base::alloc::{self, Allocated};
use crate::base::few::Few;
use crate::base::threads;

/// The bit of a step where the left list has an entry.
pub(crate) const LEFT: u8 = 1;
/// The bit of a step where the right list has one.
pub(crate) const RIGHT: u8 = 2;

/// The steps that are looked at together, whose keys or values stay in the first cache.
pub(crate) const BLOCK: usize = 512;

/// Which steps a result has an entry for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Where both lists have one.
    pub(crate) both: bool,
    /// Where left has one alone.
    pub(crate) left: bool,
    /// Where right has one alone.
    pub(crate) right: bool,
}

impl Keep {
    pub(crate) const UNION: Keep = Keep { both: true, left: true, right: true };
    pub(crate) const BOTH: Keep = Keep { both: true, left: false, right: false };
    /// As the left list has them.
    pub(crate) const LEFT: Keep = Keep { both: true, left: true, right: false };
    /// As the left list has them, but for those of the right one.
    pub(crate) const WITHOUT: Keep = Keep { both: false, left: true, right: false };

    /// Whether the entries of the result are no others than those of one list, as it has them.
    pub(super) fn is_one_list(self) -> bool {
        self.both && self.left != self.right
    }

    /// How many entries the result has at most of so many on the left and on the right.
    pub(super) fn most(self, left: usize, right: usize) -> usize {
        match (self.left, self.right) {
            (false, false) => left.min(right),
            (of_left, of_right) => usize::from(of_left) * left + usize::from(of_right) * right,
        }
    }

    /// Whether it keeps the steps where only this side has an entry.
    pub(super) fn holds(self, side: u8) -> bool {
        self.mask() >> side & 1 == 1
    }

    /// A bit for each kind of step.
    pub(super) fn mask(self) -> u8 {
        u8::from(self.left) << LEFT | u8::from(self.right) << RIGHT | u8::from(self.both) << (LEFT | RIGHT)
    }

    /// How many entries the result has of so many on the left, on the right, and steps with any.
    pub(super) fn count(self, left: usize, right: usize, steps: usize) -> usize {
        let both = left + right - steps;
        let [of_both, of_left, of_right] = [self.both, self.left, self.right].map(usize::from);
        of_both * both + of_left * (left - both) + of_right * (right - both)
    }
}

/// The steps of a part of both lists.
pub(crate) struct Part {
    pub(crate) left: Range<usize>,
    pub(crate) right: Range<usize>,
    pub(crate) steps: Vec<u8>,
}

/// The steps of two lists, in parts that threads share.
pub(crate) struct Steps {
    pub(crate) parts: Few<Part>,
    pub(crate) keep: Keep,
}

impl Steps {
    /// Where the entries of the result end that each part has.
    pub(crate) fn ends(&self) -> Few<usize> {
        let mut end = 0;
        let count = |part: &Part| {
            end += self.count_of(part);
            end
        };
        self.parts.iter().map(count).collect()
    }

    /// The number of entries of the result that a part has.
    fn count_of(&self, part: &Part) -> usize {
        self.keep.count(part.left.len(), part.right.len(), part.steps.len())
    }

    /// The number of entries of the result.
    pub(crate) fn count(&self) -> usize {
        self.parts.iter().map(|part| self.count_of(part)).sum()
    }

    /// The steps of all parts together.
    fn work(&self) -> usize {
        self.parts.iter().map(|part| part.steps.len()).sum()
    }

    /// Calls `write` with each part and its entries of a list that is as long as the result; the first of the errors.
    pub(crate) fn fill<U: Zeroable + Send, E: From<alloc::AllocError> + Send>(
        &self,
        write: impl Fn(&Part, usize, &mut [U]) -> Result<(), E> + Sync + Send,
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
        written.into_iter().collect::<Result<(), E>>()?;
        Ok(items)
    }

    /// What the result has of two lists that agree where both have an entry: coordinates.
    pub(crate) fn pick<T: Copy + Zeroable + Send + Sync>(&self, left: &[T], right: &[T]) -> Allocated<Vec<T>> {
        let mask = self.keep.mask();
        self.fill(|part, _, items| {
            pick_part(&part.steps, mask, &left[part.left.clone()], &right[part.right.clone()], items);
            Ok(())
        })
    }

    /// What one list has for each entry of the result, `fill` where it has nothing.
    pub(crate) fn take<T: Copy + Zeroable + Send + Sync>(&self, side: u8, values: &[T], fill: T) -> Allocated<Vec<T>> {
        let mask = self.keep.mask();
        self.fill(|part, _, items| {
            let values = &values[if side == LEFT { part.left.clone() } else { part.right.clone() }];
            let (mut entry, mut at) = (0, 0);
            for &step in &part.steps {
                // As in `pick_part`.
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

    /// The first entry of one list that the result leaves out and `test` says yes to.
    pub(crate) fn first_left_out(&self, side: u8, test: impl Fn(usize) -> bool) -> Option<usize> {
        let of_part = |part: &Part| {
            let mut entry = if side == LEFT { part.left.start } else { part.right.start };
            part.steps.iter().find_map(|step| {
                let found = *step == side && test(entry);
                entry += usize::from(step & side != 0);
                found.then(|| entry - 1)
            })
        };
        self.parts.iter().find_map(of_part)
    }
}

/// [`Steps::pick`] of one part: without branches that cannot be foretold.
fn pick_part<T: Copy + Zeroable>(steps: &[u8], mask: u8, left: &[T], right: &[T], items: &mut [T]) {
    let (nothing, mut i, mut j, mut at) = (T::zeroed(), 0, 0, 0);
    for &step in steps {
        // Which of them counts is as good as random, so a place is chosen and no branch taken. Only at the end is one
        // of the lists over.
        let (one, other) = (left.get(i).unwrap_or(&nothing), right.get(j).unwrap_or(&nothing));
        if let Some(slot) = items.get_mut(at) {
            *slot = *select_unpredictable(step & LEFT != 0, one, other);
        }
        i += usize::from(step & LEFT);
        j += usize::from(step >> 1);
        at += usize::from(mask >> step & 1);
    }
}

/// The values of two lists, and what stands where they have none.
pub(crate) struct Filled<'a, A, B> {
    pub(crate) left: (&'a [A], A),
    pub(crate) right: (&'a [B], B),
}

impl<A: Copy, B: Copy> Filled<'_, A, B> {
    /// What both lists have at the steps that are kept, of a block at most; how many these are. The values that were
    /// gone through are behind us then.
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
            // As in `pick_part`.
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
