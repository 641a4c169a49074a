//! A set of keys that is queried without a branch on the result. Such a branch could be mispredicted for half of the
//! values.
//!
//! The hash of a key selects a *line* of the cache, and a query compares the key with all keys in the line. Reading one
//! line and a few SIMD comparisons cost less than one mispredicted branch. Free slots hold a *filler*, a key of some
//! line. Only the filler itself equals the content of a free slot, and the filler is in the set.
//!
//! A line is *full* if its last slot is used. Keys whose line is full are stored in an additional hash set. For any
//! keys, building therefore takes O(m) for m keys, and a query takes O(1) expected time.
//!
//! Alternatives and benchmarks are in `docs/speed-log.md`.

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

/// The number of keys whose lines are computed before the first key is inserted.
const BLOCK: usize = 256;

/// The number of values whose lines are fetched together.
const BATCH: usize = 64;

/// Above this number of bytes (4 MiB), most lines are not in the L2 cache, so fetching lines in advance saves time.
///
/// Unoptimized builds use a smaller number, so that tests with small inputs cover both cases.
const CACHED: usize = if cfg!(debug_assertions) { 1 << 12 } else { 1 << 22 };

/// Up to this number of keys there are at least eight slots per key.
///
/// All lines fit in the L1 cache, and few lines are full. If one of few lines were full, a large part of the queries
/// would search the additional set.
const SMALL: usize = 512;

/// The keys of the test values.
pub(crate) struct KeySet<T: Element> {
    /// The keys of all lines, after the slots before the first cache line.
    keys: Vec<T::Key>,
    start: usize,
    lines: usize,
    filler: T::Key,
    /// The keys whose line was full.
    crowded: HashSet<T::Key>,
}

impl<T: Element> KeySet<T> {
    /// The number of slots of a line: the number of keys that fit in a cache line, but at least eight.
    const PLACES: usize = if size_of::<T::Key>() > LINE / 8 { 8 } else { LINE / size_of::<T::Key>() };

    /// The average number of keys per line.
    ///
    /// With 4 keys per eight slots (instead of 3.5), 5 % of the lines would be full. With 3 keys, the lines would take
    /// a fifth more memory.
    const LOAD: usize = Self::PLACES * 7 / 16;

    /// Returns the set of the keys of `members`, or `None` if the set would be empty.
    pub(crate) fn new(members: &[T]) -> Allocated<Option<Self>> {
        let Some(filler) = members.iter().find_map(|member| member.key()) else { return Ok(None) };
        let lines = Self::lines_for(members.len());
        // There is one additional line, so that the first line can start at a multiple of 64 bytes.
        let keys = alloc::copies(filler, (lines + 1) * Self::PLACES)?;
        let start = keys.as_ptr().align_offset(LINE).min(Self::PLACES);
        let mut set = KeySet { keys, start, lines, filler, crowded: HashSet::new() };
        set.settle(members)?;
        Ok(Some(set))
    }

    /// Returns the number of lines for this number of keys.
    fn lines_for(members: usize) -> usize {
        members.div_ceil(if members <= SMALL { Self::PLACES / 8 } else { Self::LOAD })
    }

    /// Inserts each key into its line. Each thread fills its own lines.
    fn settle(&mut self, members: &[T]) -> Allocated<()> {
        let (lines, filler) = (self.lines, self.filler);
        let parts = threads::map_parts(lines, 40_000, 0, |lines| lines);
        let ends: Vec<usize> = parts.iter().map(|part| part.end * Self::PLACES).collect();
        let places = &mut self.keys[self.start..][..lines * Self::PLACES];
        let crowded = threads::map_slices(places, &ends, |part, places| {
            let own = parts[part].clone();
            let filler_line = line_of(filler, lines);
            let crowded = Ok(HashSet::new());
            let mut share = LineRange::<T> { lines, own, filler, filler_line, places, crowded };
            in_wide_vectors(
                #[inline(always)]
                || {
                    // Each thread reads all keys, and inserts only keys of its own lines. Lines are therefore not
                    // shared.
                    for members in members.chunks(BLOCK) {
                        share.insert_all(members);
                    }
                },
            );
            share.crowded
        });
        // A key has one line, so the sets of the threads are disjoint.
        for some in crowded {
            let some = some?;
            reserve(&mut self.crowded, some.len())?;
            self.crowded.extend(some);
        }
        Ok(())
    }

    /// Returns an upper bound of the number of keys.
    pub(crate) fn max_keys(&self) -> usize {
        self.lines * Self::LOAD + self.crowded.len()
    }

    /// Returns whether the lines do not fit in the L2 cache.
    pub(crate) fn is_large(&self) -> bool {
        self.lines * LINE > CACHED / 2
    }

    /// Returns all keys. The filler appears more than once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T::Key> + '_ {
        let places = &self.keys[self.start..][..self.lines * Self::PLACES];
        places.iter().chain(&self.crowded).copied()
    }

    /// Returns the data that queries read.
    pub(crate) fn view(&self) -> KeySetView<'_, T> {
        KeySetView { places: &self.keys[self.start..], lines: self.lines, filler: self.filler, crowded: &self.crowded }
    }

    /// Returns whether this number of lines is fetched before they are compared.
    fn are_fetched(lines: usize) -> bool {
        lines * Self::PLACES * size_of::<T::Key>() > CACHED
    }
}

/// Reads a key of each of these lines.
///
/// The processor then loads all lines at the same time, instead of waiting for each line before it requests the next
/// line.
#[inline(always)]
fn fetch<T: Element>(places: &[T::Key], filler: T::Key, lines: impl Iterator<Item = usize>) {
    // `black_box` keeps the compiler from removing reads whose result is unused.
    black_box(lines.fold(false, |any, line| any | (places[line * KeySet::<T>::PLACES] == filler)));
}

/// A [`KeySet`] in the form that is queried, small enough to stay in registers.
#[derive(Clone, Copy)]
pub(crate) struct KeySetView<'a, T: Element> {
    places: &'a [T::Key],
    lines: usize,
    filler: T::Key,
    crowded: &'a HashSet<T::Key>,
}

impl<T: Element> KeySetView<'_, T> {
    /// Returns whether the key of `value` is in the set.
    #[inline(always)]
    pub(crate) fn contains(&self, value: T) -> bool {
        let key = value.key_or_nan();
        self.is_in(line_of(key, self.lines), key)
    }

    /// Writes whether the key of each value is in the set, or with `invert` whether it is not.
    #[inline(always)]
    pub(crate) fn test_into(&self, values: &[T], invert: bool, answers: &mut [bool]) {
        if !KeySet::<T>::are_fetched(self.lines) {
            for (answer, &value) in answers.iter_mut().zip(values) {
                *answer = self.contains(value) != invert;
            }
            return;
        }
        let (mut keys, mut lines) = ([self.filler; BATCH], [0; BATCH]);
        for (answers, values) in answers.chunks_mut(BATCH).zip(values.chunks(BATCH)) {
            for ((key, line), &value) in keys.iter_mut().zip(&mut lines).zip(values) {
                *key = value.key_or_nan();
                *line = line_of(*key, self.lines);
            }
            // The last chunk may be shorter. Older keys and lines after its values are not read.
            fetch::<T>(self.places, self.filler, lines[..values.len()].iter().copied());
            for ((answer, &key), &line) in answers.iter_mut().zip(&keys).zip(&lines) {
                *answer = self.is_in(line, key) != invert;
            }
        }
    }

    /// Writes answers for the values at these positions.
    #[inline(always)]
    pub(crate) fn test_some_into(&self, values: &[T], positions: &[u16], answers: &mut [bool]) {
        let (mut some, mut found) = ([T::ZERO; BATCH], [false; BATCH]);
        for positions in positions.chunks(BATCH) {
            some.iter_mut().zip(positions).for_each(|(value, &at)| *value = values[usize::from(at)]);
            self.test_into(&some[..positions.len()], false, &mut found);
            found.iter().zip(positions).for_each(|(&found, &at)| answers[usize::from(at)] = found);
        }
    }

    /// Returns whether a key of this line is in the set.
    #[inline(always)]
    fn is_in(&self, line: usize, key: T::Key) -> bool {
        let places = KeySet::<T>::PLACES;
        let line = &self.places[line * places..][..places];
        // All slots are compared, so no branch depends on the position of the key.
        let found = line.iter().fold(false, |found, &other| found | (other == key));
        // Full lines are rare, so the branch is predicted.
        if line[places - 1] == self.filler { found } else { self.contains_crowded(found, key) }
    }

    #[cold]
    #[inline(never)]
    fn contains_crowded(&self, found: bool, key: T::Key) -> bool {
        found || self.crowded.contains(&key)
    }
}

/// The lines that a thread fills.
struct LineRange<'a, T: Element> {
    lines: usize,
    own: Range<usize>,
    filler: T::Key,
    filler_line: usize,
    places: &'a mut [T::Key],
    /// The keys whose line was full, or the first allocation error.
    crowded: Allocated<HashSet<T::Key>>,
}

impl<T: Element> LineRange<'_, T> {
    /// Inserts the keys of a block that belong to lines of this thread.
    #[inline(always)]
    fn insert_all(&mut self, members: &[T]) {
        let mut own = [(0, self.filler); BLOCK];
        let mut count = 0;
        for &member in members {
            let key = member.key_or_nan();
            let line = line_of(key, self.lines);
            // Every key is written, but `count` advances only for keys of own lines. NaN does not equal any value, so
            // it is skipped.
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

    /// Inserts a key into its line after the existing keys, if the line does not contain it.
    #[inline(always)]
    fn insert(&mut self, line: usize, key: T::Key) {
        let places = KeySet::<T>::PLACES;
        // In this line, the filler in the first slot is a key.
        let has_filler = line == self.filler_line;
        let line = &mut self.places[(line - self.own.start) * places..][..places];
        // Invariant: the first slots of a line contain its keys, and all later slots contain the filler.
        let known = line.iter().fold(false, |known, &other| known | (other == key));
        let free = line.iter().map(|&other| usize::from(other == self.filler)).sum::<usize>();
        // The index of the first free slot. The index is out of range if the line is full.
        match line.get_mut(places - free + usize::from(has_filler)) {
            _ if known => {}
            Some(place) => *place = key,
            None => self.crowd(key),
        }
    }

    /// Inserts a key into the additional set.
    #[cold]
    fn crowd(&mut self, key: T::Key) {
        let Ok(crowded) = &mut self.crowded else { return };
        match reserve(crowded, 1) {
            Ok(()) => drop(crowded.insert(key)),
            Err(rejection) => self.crowded = Err(rejection),
        }
    }
}

/// Reserves memory for `count` more keys.
fn reserve<K: Eq + Hash>(keys: &mut HashSet<K>, count: usize) -> Allocated<()> {
    keys.try_reserve(count).map_err(|_| AllocError::of::<K>(keys.len().saturating_add(count)))
}

/// Returns the line of a key, by the upper bits of its hash.
#[inline(always)]
fn line_of<K: Hash>(key: K, lines: usize) -> usize {
    // The hash is below 2^64, so the product divided by 2^64 is below `lines`.
    ((u128::from(hash(key)) * lines as u128) >> 64) as usize
}

/// Returns the hash of a key. The folded product makes the upper bits depend on all bits of the key.
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

    /// Checks that the set contains all keys of `members` and none of `others`.
    fn check<T: Element>(members: &[T], others: &[T]) -> KeySet<T> {
        let set = KeySet::new(members).unwrap().unwrap();
        let values: Vec<T> = members.iter().chain(others).copied().collect();
        let mut answers = vec![false; values.len()];
        for invert in [false, true] {
            set.view().test_into(&values, invert, &mut answers);
            for (at, (&answer, value)) in answers.iter().zip(&values).enumerate() {
                let is_member = at < members.len() && !value.isnan();
                assert_eq!(answer, is_member != invert, "{value:?}");
            }
        }
        set
    }

    /// [`check`] for keys in no special order. Few of these keys may be in the additional set.
    fn check_spread<T: Element>(members: &[T], others: &[T]) {
        let crowded = check(members, others).crowded.len();
        assert!(crowded <= members.len() / 50 + 8, "{}, {}: {crowded}", T::DTYPE, members.len());
    }

    /// Tests sets of 5 * 10^5 keys or more, whose lines are filled by two or more threads.
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

    /// A query of a full line costs a mispredicted branch, so small sets must not have full lines.
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

    /// Tests that keys of one full line are in the additional set, for any thread that fills the line.
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

    /// Tests that the key in free slots is in its own line only once, and that this line can contain as many keys as
    /// any other line.
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
        assert!(set.view().contains(0.0) && !set.view().contains(f64::from_bits(1)));
        assert!(KeySet::new(&[nan, -nan]).unwrap().is_none());
        assert!(KeySet::<f64>::new(&[]).unwrap().is_none());
    }
}
