//! A set of keys that is asked without a branch on the answer, which for half of all values would be mispredicted.
//!
//! The hash of a key chooses a *line* of the cache, and a question compares the key with all that stand there: one line
//! is read, and a few wide comparisons cost less than one branch that goes wrong. Places without a key hold a *filler*,
//! a key of some line: no other value is equal to it, and one that is finds it in its own line anyway.
//!
//! A line whose last place is taken is *full*, and the keys that found no place there are in a hash set besides. So
//! whatever the keys, building is O(m) for m of them and a question O(1) expected.
//!
//! What was tried besides, and all figures, stand in `docs/performance.md`.

use std::hash::Hash;
use std::hint::black_box;
use std::ops::Range;

use hashbrown::HashSet;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::machine::in_wide_vectors;
use crate::base::threads;
use crate::element::Element;
use crate::kernels::hash::{GOLDEN, hash_by};

/// The bytes of a line of the cache.
const LINE: usize = 64;

/// Members whose lines are found before the first of them is put into its own.
const BLOCK: usize = 256;

/// Values whose lines are fetched together.
const TOGETHER: usize = 64;

/// Lines of more bytes than this (4 MiB) mostly come from beyond the second cache: below it fetching gains nothing.
/// Unoptimised far fewer, so that tests, whose inputs are small, meet both ways.
const CACHED: usize = if cfg!(debug_assertions) { 1 << 12 } else { 1 << 22 };

/// Up to so many members there is a line for each, or for two of four bytes: all lie in the first cache, and hardly
/// one is full, which for so few lines would be asked about every few values.
const SMALL: usize = 512;

/// The keys of test elements.
pub(crate) struct KeySet<T: Element> {
    /// Those of all lines, after as many as lie before the first line of the cache.
    keys: Vec<T::Key>,
    start: usize,
    lines: usize,
    filler: T::Key,
    /// The keys that found their line full.
    crowded: HashSet<T::Key>,
}

impl<T: Element> KeySet<T> {
    /// The keys of a line: those of a line of the cache, or eight if that holds fewer.
    const PLACES: usize = if size_of::<T::Key>() > LINE / 8 { 8 } else { LINE / size_of::<T::Key>() };

    /// Keys a line on the average: with half a key of eight more, 5 % of the lines are full; with half a key less the
    /// lines take a fifth more.
    const LOAD: usize = Self::PLACES * 7 / 16;

    /// The set of the keys of `members`; `None` if there are none.
    pub(crate) fn new(members: &[T]) -> Allocated<Option<Self>> {
        let Some(filler) = members.iter().find_map(|member| member.key()) else { return Ok(None) };
        let lines = Self::lines_for(members.len());
        let keys = alloc::copies(filler, (lines + 1) * Self::PLACES)?;
        let start = keys.as_ptr().align_offset(LINE).min(Self::PLACES);
        let mut set = KeySet { keys, start, lines, filler, crowded: HashSet::new() };
        set.settle(members)?;
        Ok(Some(set))
    }

    /// The lines for so many members.
    fn lines_for(members: usize) -> usize {
        members.div_ceil(if members <= SMALL { Self::PLACES / 8 } else { Self::LOAD })
    }

    /// Puts each key into its line: each thread into lines of its own.
    fn settle(&mut self, members: &[T]) -> Allocated<()> {
        let (lines, filler) = (self.lines, self.filler);
        let parts = threads::map_parts(lines, 40_000, 0, |lines| lines);
        let ends: Vec<usize> = parts.iter().map(|part| part.end * Self::PLACES).collect();
        let places = &mut self.keys[self.start..][..lines * Self::PLACES];
        let crowded = threads::map_slices(places, &ends, |part, places| {
            let own = parts[part].clone();
            let filler_line = line_of(filler, lines);
            let crowded = Ok(HashSet::new());
            let mut share = Share::<T> { lines, own, filler, filler_line, places, crowded };
            in_wide_vectors(
                #[inline(always)]
                || {
                    for members in members.chunks(BLOCK) {
                        share.insert_all(members);
                    }
                },
            );
            share.crowded
        });
        for some in crowded {
            let some = some?;
            reserve(&mut self.crowded, some.len())?;
            self.crowded.extend(some);
        }
        Ok(())
    }

    /// At least the number of keys.
    pub(crate) fn most(&self) -> usize {
        self.lines * Self::LOAD + self.crowded.len()
    }

    /// Whether the lines are more than the second cache holds.
    pub(crate) fn is_large(&self) -> bool {
        self.lines * LINE > CACHED / 2
    }

    /// All keys; the filler more than once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T::Key> + '_ {
        let places = &self.keys[self.start..][..self.lines * Self::PLACES];
        places.iter().chain(&self.crowded).copied()
    }

    /// What is read for a question.
    pub(crate) fn questions(&self) -> Questions<'_, T> {
        Questions { places: &self.keys[self.start..], lines: self.lines, filler: self.filler, crowded: &self.crowded }
    }

    /// Whether so many lines are fetched before they are looked at.
    fn are_fetched(lines: usize) -> bool {
        lines * Self::PLACES * size_of::<T::Key>() > CACHED
    }
}

/// Reads a key of each of these lines: the memory brings them all at once then, where one that is looked at before the
/// next is asked for keeps that waiting.
#[inline(always)]
fn fetch<T: Element>(places: &[T::Key], filler: T::Key, lines: impl Iterator<Item = usize>) {
    black_box(lines.fold(false, |any, line| any | (places[line * KeySet::<T>::PLACES] == filler)));
}

/// A [`KeySet`] as it is asked: small enough to stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct Questions<'a, T: Element> {
    places: &'a [T::Key],
    lines: usize,
    filler: T::Key,
    crowded: &'a HashSet<T::Key>,
}

impl<T: Element> Questions<'_, T> {
    /// Whether the key of `value` is one of the set.
    #[inline(always)]
    pub(crate) fn contains(&self, value: T) -> bool {
        let key = value.key_or_nan();
        self.is_in(line_of(key, self.lines), key)
    }

    /// Whether the key of each value is one of the set, or with `invert` whether it is not.
    #[inline(always)]
    pub(crate) fn answer(&self, values: &[T], invert: bool, answers: &mut [bool]) {
        if !KeySet::<T>::are_fetched(self.lines) {
            for (answer, &value) in answers.iter_mut().zip(values) {
                *answer = self.contains(value) != invert;
            }
            return;
        }
        let (mut keys, mut lines) = ([self.filler; TOGETHER], [0; TOGETHER]);
        for (answers, values) in answers.chunks_mut(TOGETHER).zip(values.chunks(TOGETHER)) {
            for ((key, line), &value) in keys.iter_mut().zip(&mut lines).zip(values) {
                *key = value.key_or_nan();
                *line = line_of(*key, self.lines);
            }
            fetch::<T>(self.places, self.filler, lines[..values.len()].iter().copied());
            for ((answer, &key), &line) in answers.iter_mut().zip(&keys).zip(&lines) {
                *answer = self.is_in(line, key) != invert;
            }
        }
    }

    /// Answers for the values at these positions.
    #[inline(always)]
    pub(crate) fn answer_some(&self, values: &[T], positions: &[u16], answers: &mut [bool]) {
        let (mut some, mut found) = ([T::ZERO; TOGETHER], [false; TOGETHER]);
        for positions in positions.chunks(TOGETHER) {
            some.iter_mut().zip(positions).for_each(|(value, &at)| *value = values[usize::from(at)]);
            self.answer(&some[..positions.len()], false, &mut found);
            found.iter().zip(positions).for_each(|(&found, &at)| answers[usize::from(at)] = found);
        }
    }

    /// Whether a key is one of the set, which belongs to this line.
    #[inline(always)]
    fn is_in(&self, line: usize, key: T::Key) -> bool {
        let places = KeySet::<T>::PLACES;
        let line = &self.places[line * places..][..places];
        let found = line.iter().fold(false, |found, &other| found | (other == key));
        // Full lines are rare: that branch is predicted.
        if line[places - 1] == self.filler { found } else { self.contains_crowded(found, key) }
    }

    #[cold]
    #[inline(never)]
    fn contains_crowded(&self, found: bool, key: T::Key) -> bool {
        found || self.crowded.contains(&key)
    }
}

/// The lines that a thread fills.
struct Share<'a, T: Element> {
    lines: usize,
    own: Range<usize>,
    filler: T::Key,
    filler_line: usize,
    places: &'a mut [T::Key],
    /// Without memory it stays as it is until all have been looked at.
    crowded: Allocated<HashSet<T::Key>>,
}

impl<T: Element> Share<'_, T> {
    /// Puts the keys of a block of members into those of its lines that they belong to.
    #[inline(always)]
    fn insert_all(&mut self, members: &[T]) {
        let mut own = [(0, self.filler); BLOCK];
        let mut count = 0;
        for &member in members {
            let key = member.key_or_nan();
            let line = line_of(key, self.lines);
            own[count] = (line, key);
            count += usize::from(self.own.contains(&line) & !member.isnan());
        }
        if KeySet::<T>::are_fetched(self.own.len()) {
            fetch::<T>(self.places, self.filler, own[..count].iter().map(|(line, _)| line - self.own.start));
        }
        for &(line, key) in &own[..count] {
            self.insert(line, key);
        }
    }

    /// Puts a key into its line, behind those that it has, and none twice.
    #[inline(always)]
    fn insert(&mut self, line: usize, key: T::Key) {
        let places = KeySet::<T>::PLACES;
        // Its first place holds the filler as a key.
        let has_filler = line == self.filler_line;
        let line = &mut self.places[(line - self.own.start) * places..][..places];
        let known = line.iter().fold(false, |known, &other| known | (other == key));
        let free = line.iter().map(|&other| usize::from(other == self.filler)).sum::<usize>();
        match line.get_mut(places - free + usize::from(has_filler)) {
            _ if known => {}
            Some(place) => *place = key,
            None => self.crowd(key),
        }
    }

    /// Puts a key beside the lines.
    #[cold]
    fn crowd(&mut self, key: T::Key) {
        let Ok(crowded) = &mut self.crowded else { return };
        match reserve(crowded, 1) {
            Ok(()) => drop(crowded.insert(key)),
            Err(refused) => self.crowded = Err(refused),
        }
    }
}

/// Room for `count` keys more.
fn reserve<K: Eq + Hash>(keys: &mut HashSet<K>, count: usize) -> Allocated<()> {
    keys.try_reserve(count).map_err(|_| AllocError::of::<K>(keys.len().saturating_add(count)))
}

/// The line of a key, by the upper bits of its hash.
#[inline(always)]
fn line_of<K: Hash>(key: K, lines: usize) -> usize {
    ((u128::from(hash(key)) * lines as u128) >> 64) as usize
}

/// The hash of a key: a product folded, which leaves every bit of the key a say in the upper bits.
#[inline(always)]
fn hash<K: Hash>(key: K) -> u64 {
    hash_by(key, 0x5851_f42d_4c95_7f2d, |state, word| {
        let product = u128::from(state ^ word) * u128::from(GOLDEN);
        product as u64 ^ (product >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exactly the members are found, among them and as many others.
    fn check<T: Element>(members: &[T], others: &[T]) -> KeySet<T> {
        let set = KeySet::new(members).unwrap().unwrap();
        let values: Vec<T> = members.iter().chain(others).copied().collect();
        let mut answers = vec![false; values.len()];
        for invert in [false, true] {
            set.questions().answer(&values, invert, &mut answers);
            for (at, (&answer, value)) in answers.iter().zip(&values).enumerate() {
                let is_member = at < members.len() && !value.isnan();
                assert_eq!(answer, is_member != invert, "{value:?}");
            }
        }
        set
    }

    /// The same for members that lie in no special way: few of them find their line full.
    fn check_spread<T: Element>(members: &[T], others: &[T]) {
        let crowded = check(members, others).crowded.len();
        assert!(crowded <= members.len() / 50 + 8, "{}, {}: {crowded}", T::DTYPE, members.len());
    }

    /// From 5 * 10^5 members on, two threads and more fill the lines.
    #[test]
    fn members_are_found_and_nothing_else() {
        for count in [1, 2, 3, 4, 7, 63, 64, 65, 1000, 40_000, 500_000] {
            let members: Vec<i64> = (0..count).map(|number| number * number).collect();
            let others: Vec<i64> = (1..=count).map(|number| -number).chain([2, 3, 5, i64::MIN, i64::MAX]).collect();
            check_spread(&members, &others);
            let floats: Vec<f64> = members.iter().map(|&member| member as f64).collect();
            check_spread(&floats, &others.iter().map(|&other| other as f64 + 0.5).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_of_every_width_are_found() {
        check_spread::<u8>(&[0, 1, 7, 255], &[2, 254]);
        check_spread(&(0..200).collect::<Vec<u8>>(), &(200..=255).collect::<Vec<u8>>());
        check_spread(&(0..20_000).map(|number| number as i16).collect::<Vec<_>>(), &[-1, 20_000, i16::MIN]);
        check_spread(&(0..70_000).map(|number| number as f32).collect::<Vec<_>>(), &[-1.0, 0.5, f32::NAN]);
        let complex = |number: i32| num_complex::Complex::new(f64::from(number % 300), f64::from(number / 300));
        let others = [complex(70_000), complex(3) - 0.5, num_complex::Complex::new(f64::NAN, 1.0)];
        check_spread(&(0..70_000).map(complex).collect::<Vec<_>>(), &others);
        check_spread(&[true], &[false]);
    }

    #[test]
    fn keys_in_steps_of_any_size_are_dealt_out_evenly() {
        for step in [1, 8, 4096, 1 << 20, 1 << 32, 1 << 44, 1 << 48] {
            let members: Vec<u64> = (0..10_000).map(|number| number * step).collect();
            let set = check(&members, &[1 << 63, u64::MAX]);
            assert!(set.crowded.len() < 1000, "{step}: {}", set.crowded.len());
        }
    }

    /// A full line costs a branch that goes wrong at every question for it: 64 members met one of 22.
    #[test]
    fn few_members_find_no_full_line() {
        for count in [17, 64, 300, SMALL, SMALL + 1] {
            let set = check(&(0..count).map(|number| (number * number) as f64 + 0.5).collect::<Vec<_>>(), &[0.0, -1.0]);
            let places = KeySet::<f64>::PLACES;
            let full = set.keys[set.start..].chunks_exact(places).filter(|line| line[places - 1] != set.filler).count();
            assert!(full * 50 <= if count <= SMALL { 0 } else { 4 * set.lines }, "{count}: {full} of {}", set.lines);
        }
    }

    #[test]
    fn repeated_members_take_one_place() {
        let members: Vec<i32> = (0..30_000).map(|number| number % 7).collect();
        assert!(check(&members, &[-1, 7, 8]).crowded.is_empty());
        assert!(check(&[5u8; 100], &[4]).crowded.is_empty());
    }

    /// Keys that all belong to one line are found in the hash set, whichever thread fills the line.
    #[test]
    fn crowded_lines_answer_too() {
        for (count, line) in [(100, 20), (500_000, 3), (500_000, 166_000)] {
            let lines = KeySet::<u64>::lines_for(count);
            let of_a_line = (0..).filter(|&key| line_of(key, lines) == line);
            let of_a_line: Vec<u64> = of_a_line.take(if count == 100 { 200 } else { 24 }).collect();
            let places = KeySet::<u64>::PLACES;
            for distinct in [places - 1, places, places + 1, of_a_line.len() / 2] {
                let (members, others) = of_a_line.split_at(distinct);
                let padded: Vec<u64> = members.iter().copied().cycle().take(count).collect();
                assert_eq!(check(&padded, others).crowded.len(), distinct.saturating_sub(places));
            }
        }
    }

    /// Places that are free hold a key of another line; that line has it once, and places for as many others as any.
    #[test]
    fn the_filler_takes_one_place_of_its_own_line() {
        let lines = KeySet::<u64>::lines_for(100);
        let of_a_line: Vec<u64> = (0..).filter(|&key| line_of(key, lines) == 5).take(9).collect();
        let elsewhere = (0..).filter(|&key| line_of(key, lines) != 5);
        let members: Vec<u64> = of_a_line[..8].iter().copied().chain(elsewhere.take(92)).collect();
        assert!(check(&members, &of_a_line[8..]).crowded.iter().all(|&key| line_of(key, lines) != 5));
        assert!(check(&of_a_line[..1], &of_a_line[1..]).crowded.is_empty());
    }

    #[test]
    fn nan_is_no_member_and_zeros_are_one() {
        let nan = f64::NAN;
        let set = check(&[nan, -0.0, 1.0, nan], &[-nan, 2.0]);
        assert!(set.questions().contains(0.0) && !set.questions().contains(f64::from_bits(1)));
        assert!(KeySet::new(&[nan, -nan]).unwrap().is_none());
        assert!(KeySet::<f64>::new(&[]).unwrap().is_none());
    }
}
