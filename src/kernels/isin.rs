//! Membership in a set that is built once from the test values, then queried value by value.
//!
//! Two values are equal if they have the same [`Element::key`], which is `==`: NaN does not equal any value, and `-0.0`
//! equals `0.0`. [`Membership::auto`] chooses among four forms by the sizes:
//!
//! - *compare* with each test value, without a branch. This form does not build a structure, so it is the fastest for
//!   few test values or few values;
//! - *table*: one bit for each integer between the smallest and the largest test value. Queries of this form are the
//!   fastest;
//! - *hash*: a [`KeySet`], which is queried without a branch on the result;
//! - *sort*: the sorted keys and a binary search. This form is the smallest and never the fastest, so it is used only
//!   on request.
//!
//! For m test values, building takes O(m), plus the bits of the table, or O(m log m) for *sort*. A query takes O(1),
//! O(m) for *compare*, or O(log m) for *sort*.

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::key_filter::Filter;
use crate::kernels::key_set::KeySet;

/// Up to this number of test values, comparing is the fastest form for every type.
const VERY_FEW: usize = 4;

/// Up to this number of test values, comparing is faster than hashing for types other than integers.
///
/// The baseline target does not have a SIMD comparison of 64-bit integers.
const FEW: usize = 16;

/// The time of each comparison of a value with a test value, in picoseconds.
const COMPARED: usize = 60;

/// Up to this number of values, comparing is faster than building a table.
const VERY_FEW_VALUES: usize = 16;

/// Up to this number of values, comparing is faster than building a hash set.
const FEW_VALUES: usize = 64;

/// A table of at most this number of bits per test value is at most as large as a hash set, and faster to query.
const BITS_PER_MEMBER: u128 = 128;

/// A table of at most this number of bits per value, 8 bytes, costs less to build than its queries save.
const BITS_PER_VALUE: u128 = 64;

/// The maximum number of bits of a nearly empty table (2 MiB). A larger table does not fit in the cache, but the hash
/// set of its few keys does.
const CACHED_BITS: u128 = 1 << 24;

/// The set, in the form that is queried.
pub(crate) enum Membership<'a, T: Element> {
    /// Very few test values: the comparisons are unrolled. The test values are repeated until the array is full.
    VeryFew([T; VERY_FEW]),
    /// Few test values, compared in the same way.
    Few([T; FEW]),
    /// Any number of test values, for few values.
    All(&'a [T]),
    /// One bit for each integer in a range.
    Table(SpanTable),
    /// The hashed keys.
    Keys(KeySet<T>),
    /// The sorted keys.
    Sorted(Vec<T::Key>),
}

impl<'a, T: Element> Membership<'a, T> {
    /// Returns the fastest form for the number of values.
    pub(crate) fn auto(members: &'a [T], values: usize) -> Allocated<Self> {
        if members.len() <= VERY_FEW || values <= VERY_FEW_VALUES {
            return Ok(Membership::compare(members));
        }
        Ok(match Span::of(members) {
            // A table is the fastest form to query, so it is chosen if it is small enough.
            Some(span) if span.suits(members.len(), values) => Membership::Table(SpanTable::new(members, span)?),
            _ if members.len() <= FEW => Membership::compare(members),
            _ if values <= FEW_VALUES => Membership::All(members),
            _ => Membership::hash(members)?,
        })
    }

    /// Returns the form that compares with each test value.
    fn compare(members: &'a [T]) -> Self {
        match members.len() {
            0 => Membership::All(members),
            // Repeated test values do not change whether one of them is equal.
            count if count <= VERY_FEW => Membership::VeryFew(std::array::from_fn(|at| members[at % count])),
            count if count <= FEW => Membership::Few(std::array::from_fn(|at| members[at % count])),
            _ => Membership::All(members),
        }
    }

    /// Returns the form of hashed keys.
    pub(crate) fn hash(members: &[T]) -> Allocated<Self> {
        // If all test values are NaN, there are no keys and the set is empty.
        Ok(KeySet::new(members)?.map_or(Membership::All(&[]), Membership::Keys))
    }

    /// Returns the form of sorted keys. Removes repeated keys unless they are `unique`.
    pub(crate) fn sort(members: &[T], unique: bool) -> Allocated<Self> {
        let mut keys = alloc::with_capacity(members.len())?;
        // NaN does not have a key. NaN does not equal any value, so it is skipped.
        keys.extend(members.iter().filter_map(|member| member.key()));
        threads::sort(&mut keys, Ord::cmp);
        if !unique {
            keys.dedup();
        }
        Ok(Membership::Sorted(keys))
    }

    /// Writes whether each value is a test value, or with `invert` whether it is not. Each form has its own tight loop.
    pub(crate) fn test_each(&self, values: &[T], invert: bool, answers: &mut [bool]) {
        match self {
            // The array is copied into the loop. Through a reference, the array would be read again for each value.
            &Membership::VeryFew(members) => {
                threads::test_into(values, answers, VERY_FEW * COMPARED, move |value| {
                    equals_any(&members, value) != invert
                });
            }
            &Membership::Few(members) => {
                threads::test_into(values, answers, FEW * COMPARED, move |value| equals_any(&members, value) != invert);
            }
            Membership::All(members) => {
                let cost = members.len().saturating_mul(COMPARED);
                threads::test_into(values, answers, cost, move |value| equals_any(members, value) != invert);
            }
            Membership::Table(table) => threads::chunks_into(values, answers, 1000, |values, answers| {
                in_wide_vectors(
                    #[inline(always)]
                    || look_up(table.minimum, &table.words, values, invert, answers),
                );
            }),
            Membership::Keys(keys) => {
                // The filter is built once, for all threads.
                let (filter, keys) = (Filter::before(keys, values), keys.view());
                threads::chunks_into(values, answers, 2500, |values, answers| {
                    in_wide_vectors(
                        #[inline(always)]
                        || {
                            // A local copy stays in registers.
                            let own = keys;
                            match &filter {
                                Some(filter) => filter.test_into(own, values, invert, answers),
                                None => own.test_into(values, invert, answers),
                            }
                        },
                    );
                });
            }
            Membership::Sorted(keys) => threads::map_into(values, answers, 20_000, move |value| {
                value.key().is_some_and(|key| keys.binary_search(&key).is_ok()) != invert
            }),
        }
    }
}

/// Returns whether `value` equals any of `members`. Compares with all of them, so no branch is mispredicted.
fn equals_any<T: Element>(members: &[T], value: T) -> bool {
    members.iter().fold(false, |found, &member| found | (member == value))
}

/// The integers from the smallest to the largest test value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    minimum: i128,
    bits: u128,
}

impl Span {
    /// Returns the span of the test values. Without test values, the span is empty. Returns `None` for a type that is
    /// not an integer type.
    pub(crate) fn of<T: Element>(members: &[T]) -> Option<Span> {
        T::ZERO.to_integer()?;
        let smallest = members.iter().copied().reduce(|a, b| a.smaller(b).unwrap_or(a));
        let max = members.iter().copied().reduce(|a, b| a.greater(b).unwrap_or(a));
        let Some((minimum, maximum)) = smallest.and_then(T::to_integer).zip(max.and_then(T::to_integer)) else {
            return Some(Span { minimum: 0, bits: 0 });
        };
        Some(Span { minimum, bits: (maximum - minimum) as u128 + 1 })
    }

    /// Returns the number of integers.
    pub(crate) fn bits(self) -> u128 {
        self.bits
    }

    /// Returns the number of words of a table.
    pub(crate) fn words(self) -> u128 {
        self.bits.div_ceil(64)
    }

    /// Returns whether a table of this size is faster for this number of test values and values.
    fn suits(self, members: usize, values: usize) -> bool {
        let pays = self.bits <= BITS_PER_VALUE * values as u128;
        self.bits <= BITS_PER_MEMBER * members as u128 || (pays && self.bits <= CACHED_BITS)
    }
}

/// One bit for each integer of a span, set for the test values.
pub(crate) struct SpanTable {
    /// The smallest integer, modulo 2^64.
    minimum: u64,
    /// The bits, and a last word of zeros for all values above the span.
    words: Vec<u64>,
}

impl SpanTable {
    /// Returns the table of the test values with this span. The caller limits the number of words.
    pub(crate) fn new<T: Element>(members: &[T], span: Span) -> Allocated<Self> {
        let mut table = SpanTable { minimum: span.minimum as u64, words: alloc::zeros(span.words() as usize + 1)? };
        for &member in members {
            // The span covers all test values, so the word exists.
            let bit = distance(member, table.minimum);
            table.words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Ok(table)
    }
}

/// Returns the distance to the smallest integer, modulo 2^64.
///
/// Integers of one type are within 2^64 of each other, so distinct integers have distinct distances. A value outside
/// the span therefore never has the distance of a value inside the span.
#[inline(always)]
fn distance<T: Element>(value: T, minimum: u64) -> u64 {
    (value.to_integer().unwrap_or(0) as u64).wrapping_sub(minimum)
}

/// Writes whether the bit of each value is set in a table, or with `invert` whether it is not.
///
/// In a separate function, the compiler knows that the arguments are disjoint and that the words exist. This lets the
/// compiler use gathers with AVX-512.
#[inline(always)]
fn look_up<T: Element>(minimum: u64, words: &[u64], values: &[T], invert: bool, answers: &mut [bool]) {
    let Some(last) = words.len().checked_sub(1) else { return };
    for (&value, answer) in values.iter().zip(answers) {
        let bit = distance(value, minimum);
        // A minimum replaces a branch, which would be mispredicted if half of the values are outside.
        let at = (bit / 64).min(last as u64) as usize;
        *answer = (words[at] >> (bit % 64) & 1 == 1) != invert;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form<T: Element>(membership: &Membership<'_, T>) -> &'static str {
        match membership {
            Membership::VeryFew(_) => "very few",
            Membership::Few(_) => "few",
            Membership::All(_) => "all",
            Membership::Table(_) => "table",
            Membership::Keys(_) => "keys",
            Membership::Sorted(_) => "sorted",
        }
    }

    fn chosen<T: Element>(members: &[T], values: usize) -> &'static str {
        form(&Membership::auto(members, values).unwrap())
    }

    #[test]
    fn each_form_is_chosen_on_its_side_of_the_switch() {
        let floats: Vec<f64> = (0..100).map(f64::from).collect();
        let many = FEW_VALUES + 1;
        assert_eq!(chosen(&floats[..0], many), "all");
        assert_eq!(chosen(&floats[..1], many), "very few");
        assert_eq!(chosen(&floats[..VERY_FEW], many), "very few");
        assert_eq!(chosen(&floats[..VERY_FEW + 1], many), "few");
        assert_eq!(chosen(&floats[..FEW], many), "few");
        assert_eq!(chosen(&floats[..FEW + 1], FEW_VALUES), "all");
        assert_eq!(chosen(&floats[..FEW + 1], many), "keys");
        assert_eq!(chosen(&[false; VERY_FEW], many), "very few");
        assert_eq!(chosen(&[false; VERY_FEW + 1], VERY_FEW_VALUES), "few");
        assert_eq!(chosen(&[false; VERY_FEW + 1], VERY_FEW_VALUES + 1), "table");
    }

    #[test]
    fn a_table_is_chosen_where_it_is_small_for_its_members_or_its_values() {
        let spread_to = |bits: u128| -> Vec<i64> { (0..20).chain([bits as i64 - 1]).collect() };
        assert_eq!(chosen(&spread_to(21 * BITS_PER_MEMBER), VERY_FEW_VALUES + 1), "table");
        assert_eq!(chosen(&spread_to(21 * BITS_PER_MEMBER + 1), VERY_FEW_VALUES + 1), "all");
        assert_eq!(chosen(&spread_to(1000 * BITS_PER_VALUE), 1000), "table");
        assert_eq!(chosen(&spread_to(1000 * BITS_PER_VALUE + 1), 1000), "keys");
        assert_eq!(chosen(&spread_to(CACHED_BITS), usize::MAX), "table");
        assert_eq!(chosen(&spread_to(CACHED_BITS + 1), usize::MAX), "keys");
    }

    #[test]
    fn a_span_holds_the_extremes_of_every_integer_type() {
        assert_eq!(Span::of(&[i64::MAX, i64::MIN]), Some(Span { minimum: i64::MIN.into(), bits: 1 << 64 }));
        assert_eq!(Span::of(&[u64::MAX, 0]), Some(Span { minimum: 0, bits: 1 << 64 }));
        assert_eq!(Span::of(&[7u8]), Some(Span { minimum: 7, bits: 1 }));
        assert_eq!(Span::of::<i8>(&[]), Some(Span { minimum: 0, bits: 0 }));
        assert_eq!(Span::of(&[1.0f32]), None);
    }

    fn contains<T: Element>(table: &SpanTable, value: T) -> bool {
        let mut answer = [false];
        look_up(table.minimum, &table.words, &[value], false, &mut answer);
        answer[0]
    }

    #[test]
    fn a_table_does_not_take_what_is_far_outside_for_a_member() {
        let high = [u64::MAX - 3, u64::MAX];
        let table = SpanTable::new(&high, Span::of(&high).unwrap()).unwrap();
        assert!(contains(&table, u64::MAX) && !contains(&table, u64::MAX - 1));
        assert!(!contains(&table, 0u64) && !contains(&table, u64::MAX - 4) && !contains(&table, 1u64 << 63));
        let low = [i64::MIN, i64::MIN + 100];
        let table = SpanTable::new(&low, Span::of(&low).unwrap()).unwrap();
        assert!(contains(&table, i64::MIN) && !contains(&table, i64::MAX) && !contains(&table, -1i64));
    }

    #[test]
    fn a_sorted_set_drops_repeats_unless_it_is_told_that_there_are_none() {
        let keys = |unique| match Membership::sort(&[2, 1, 2], unique) {
            Ok(Membership::Sorted(keys)) => keys,
            _ => Vec::new(),
        };
        assert_eq!(keys(false), [1, 2]);
        assert_eq!(keys(true), [1, 2, 2]);
    }
}
