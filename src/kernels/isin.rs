//! Membership in a set: built once from the test elements, then asked value by value.
//!
//! Equal are two values with the same [`Element::key`], which is `==`: a NaN is equal to nothing, `-0.0` to `0.0`.
//! Four ways to ask, among which [`Membership::auto`] chooses by the sizes:
//!
//! - *compare* with each test element, without a branch: nothing is built, so it wins where there are few of them, or
//!   few values;
//! - *table*: one bit for each integer between the smallest and the greatest test element; the fastest to ask;
//! - *hash*: a [`KeySet`], which is asked without a branch on the answer;
//! - *sort*: the keys in order, and a binary search. Smallest, and never the fastest, so only on request.
//!
//! For m test elements building is O(m), with the bits of the table, and O(m log m) for *sort*; a question is O(1),
//! O(m) by comparison, O(log m) by *sort*.

use crate::base::alloc::{self, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::key_filter::Filter;
use crate::kernels::key_set::KeySet;

/// Up to so many test elements comparing wins for every type.
const VERY_FEW: usize = 4;

/// Up to so many test elements comparing beats hashing, for the types that are no integers: integers of 64 bits have no
/// comparison on the baseline target.
const FEW: usize = 16;

/// The picoseconds of a comparison, one of several for a value.
const COMPARED: usize = 60;

/// Up to so many values comparing beats the building of a table.
const VERY_FEW_VALUES: usize = 16;

/// Up to so many values comparing beats the building of a hash set.
const FEW_VALUES: usize = 64;

/// A table of so many bits a test element is no larger than their hash set, and quicker to ask.
const BITS_A_MEMBER: u128 = 128;

/// A table of so many bits a value, 8 bytes, costs less to build than its questions save.
const BITS_A_VALUE: u128 = 64;

/// Above so many bits (2 MiB) a table that is nearly empty falls out of the cache that its hash set stays in.
const CACHED_BITS: u128 = 1 << 24;

/// The set, in the form in which it is asked.
pub(crate) enum Membership<'a, T: Element> {
    /// So few that the comparisons are unrolled; repeated to fill the array.
    VeryFew([T; VERY_FEW]),
    /// Few, in the same way.
    Few([T; FEW]),
    /// Any number, for few values.
    All(&'a [T]),
    /// One bit for each integer in a range.
    Table(Table),
    /// The keys, hashed.
    Keys(KeySet<T>),
    /// The keys, in order.
    Sorted(Vec<T::Key>),
}

impl<'a, T: Element> Membership<'a, T> {
    /// The form that is fastest for so many values.
    pub(crate) fn auto(members: &'a [T], values: usize) -> Allocated<Self> {
        if members.len() <= VERY_FEW || values <= VERY_FEW_VALUES {
            return Ok(Membership::compare(members));
        }
        Ok(match Span::of(members) {
            Some(span) if span.suits(members.len(), values) => Membership::Table(Table::new(members, span)?),
            _ if members.len() <= FEW => Membership::compare(members),
            _ if values <= FEW_VALUES => Membership::All(members),
            _ => Membership::hash(members)?,
        })
    }

    /// Compares with each.
    fn compare(members: &'a [T]) -> Self {
        match members.len() {
            0 => Membership::All(members),
            count if count <= VERY_FEW => Membership::VeryFew(std::array::from_fn(|at| members[at % count])),
            count if count <= FEW => Membership::Few(std::array::from_fn(|at| members[at % count])),
            _ => Membership::All(members),
        }
    }

    /// Hashes the keys.
    pub(crate) fn hash(members: &[T]) -> Allocated<Self> {
        Ok(KeySet::new(members)?.map_or(Membership::All(&[]), Membership::Keys))
    }

    /// Sorts the keys, and drops repeated ones unless they are said to be `unique`.
    pub(crate) fn sort(members: &[T], unique: bool) -> Allocated<Self> {
        let mut keys = alloc::with_capacity(members.len())?;
        keys.extend(members.iter().filter_map(|member| member.key()));
        threads::sort(&mut keys, Ord::cmp);
        if !unique {
            keys.dedup();
        }
        Ok(Membership::Sorted(keys))
    }

    /// Whether each value is a member, or with `invert` whether it is not: one tight loop for each form of the set.
    pub(crate) fn test_each(&self, values: &[T], invert: bool, answers: &mut [bool]) {
        match self {
            // Copied into the loop: behind a reference they would be read again for each value.
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
                let (filter, keys) = (Filter::before(keys, values), keys.questions());
                threads::chunks_into(values, answers, 2500, |values, answers| {
                    in_wide_vectors(
                        #[inline(always)]
                        || {
                            // A copy of its own, which stays in registers.
                            let own = keys;
                            match &filter {
                                Some(filter) => filter.answer(own, values, invert, answers),
                                None => own.answer(values, invert, answers),
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

/// Whether `value` is equal to any of `members`; leaves none out, so that no branch is mispredicted.
fn equals_any<T: Element>(members: &[T], value: T) -> bool {
    members.iter().fold(false, |found, &member| found | (member == value))
}

/// The integers from the smallest to the greatest test element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    minimum: i128,
    bits: u128,
}

impl Span {
    /// The span of the test elements, nothing of no elements; `None` for a type that is not an integer.
    pub(crate) fn of<T: Element>(members: &[T]) -> Option<Span> {
        T::ZERO.to_integer()?;
        let smallest = members.iter().copied().reduce(|a, b| a.smaller(b).unwrap_or(a));
        let greatest = members.iter().copied().reduce(|a, b| a.greater(b).unwrap_or(a));
        let Some((minimum, maximum)) = smallest.and_then(T::to_integer).zip(greatest.and_then(T::to_integer)) else {
            return Some(Span { minimum: 0, bits: 0 });
        };
        Some(Span { minimum, bits: (maximum - minimum) as u128 + 1 })
    }

    /// The number of integers.
    pub(crate) fn bits(self) -> u128 {
        self.bits
    }

    /// The number of words of a table.
    pub(crate) fn words(self) -> u128 {
        self.bits.div_ceil(64)
    }

    /// Whether a table is worth its size for so many test elements and values.
    fn suits(self, members: usize, values: usize) -> bool {
        let pays = self.bits <= BITS_A_VALUE * values as u128;
        self.bits <= BITS_A_MEMBER * members as u128 || (pays && self.bits <= CACHED_BITS)
    }
}

/// One bit for each integer of a span, set for the test elements.
pub(crate) struct Table {
    /// The smallest integer, modulo 2^64.
    minimum: u64,
    /// The bits, and a word of zeros at the end that all values above the span are led to.
    words: Vec<u64>,
}

impl Table {
    /// The table of the test elements, whose span this is; its words fit memory.
    pub(crate) fn new<T: Element>(members: &[T], span: Span) -> Allocated<Self> {
        let mut table = Table { minimum: span.minimum as u64, words: alloc::zeros(span.words() as usize + 1)? };
        for &member in members {
            let bit = distance(member, table.minimum);
            table.words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Ok(table)
    }
}

/// The distance to the smallest integer, modulo 2^64.
///
/// The integers of one type lie within 2^64 of each other, so no two of them have the same distance: what is outside
/// the span never looks as if it were inside.
#[inline(always)]
fn distance<T: Element>(value: T, minimum: u64) -> u64 {
    (value.to_integer().unwrap_or(0) as u64).wrapping_sub(minimum)
}

/// Whether the bit of each value is set in the words of a table, or with `invert` whether it is not.
///
/// A function of its own, that knows its arguments to be apart and the words to be there: the compiler makes gathers of
/// the look-ups then, where there are vectors of 512 bits.
#[inline(always)]
fn look_up<T: Element>(minimum: u64, words: &[u64], values: &[T], invert: bool, answers: &mut [bool]) {
    let Some(last) = words.len().checked_sub(1) else { return };
    for (&value, answer) in values.iter().zip(answers) {
        let bit = distance(value, minimum);
        // A minimum, not a branch, which is mispredicted where half of the values lie outside.
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
        assert_eq!(chosen(&spread_to(21 * BITS_A_MEMBER), VERY_FEW_VALUES + 1), "table");
        assert_eq!(chosen(&spread_to(21 * BITS_A_MEMBER + 1), VERY_FEW_VALUES + 1), "all");
        assert_eq!(chosen(&spread_to(1000 * BITS_A_VALUE), 1000), "table");
        assert_eq!(chosen(&spread_to(1000 * BITS_A_VALUE + 1), 1000), "keys");
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

    fn contains<T: Element>(table: &Table, value: T) -> bool {
        let mut answer = [false];
        look_up(table.minimum, &table.words, &[value], false, &mut answer);
        answer[0]
    }

    #[test]
    fn a_table_does_not_take_what_is_far_outside_for_a_member() {
        let high = [u64::MAX - 3, u64::MAX];
        let table = Table::new(&high, Span::of(&high).unwrap()).unwrap();
        assert!(contains(&table, u64::MAX) && !contains(&table, u64::MAX - 1));
        assert!(!contains(&table, 0u64) && !contains(&table, u64::MAX - 4) && !contains(&table, 1u64 << 63));
        let low = [i64::MIN, i64::MIN + 100];
        let table = Table::new(&low, Span::of(&low).unwrap()).unwrap();
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
