//! A set of keys that is asked without a branch on the answer, which for half of all values would be mispredicted.
//!
//! One half of a key's hash chooses a *line* of eight places, the other half and the *seed* of the line one of them.
//! Seeds are found by trial, so that no two keys of a line meet: a question reads one seed and one key, and compares.
//! A place without a key holds a key that belongs elsewhere, which no value asked for here can equal.
//!
//! For a *crowded* line, of more keys than places or without a seed, its keys are in a hash set besides. So whatever
//! the keys, building is O(m) for m of them (at most 255 trials a line) and a question O(1) expected.
//!
//! 10^7 values of `f64`, half of them members, took 0.25 to 0.35 of the time of a hash set of the same 10^4 keys, 0.5 for
//! 10^5. Where the branch is predicted it is a matter of the cache: see the switch in [`super::isin`].

use std::hash::{Hash, Hasher};

use hashbrown::HashSet;

use crate::element::Element;

/// The places of a line: 64 bytes, for keys of 8.
const PLACES: usize = 8;

/// Keys a line on the average. Of 10^4 keys, 2 % are then in crowded lines; with half a key more 5 %, and questions
/// take 35 ms for 31.
const LOAD: usize = 3;

/// In the place of its seed where a line is crowded.
const CROWDED: u8 = u8::MAX;

/// The keys of test elements.
pub(crate) struct KeySet<T: Element> {
    /// The places of all lines.
    keys: Vec<T::Key>,
    /// One for each line.
    seeds: Vec<u8>,
    /// The keys of crowded lines.
    crowded: HashSet<T::Key>,
}

impl<T: Element> KeySet<T> {
    /// The set of the keys of `members`, fewer than 2^32; `None` if there are none.
    pub(crate) fn new(members: &[T]) -> Option<Self> {
        let filler = members.iter().find_map(|member| member.key())?;
        let lines = members.len().div_ceil(LOAD);
        let keys = vec![filler; lines * PLACES];
        let mut set = KeySet { keys, seeds: vec![0; lines], crowded: HashSet::new() };
        // The filler stands in all places already, and would be taken for a repetition.
        set.seeds[line_of(hash(filler), lines)] = 1;
        members.iter().filter_map(|member| member.key()).for_each(|key| set.insert(key));
        set.settle(filler);
        Some(set)
    }

    /// Whether the key of `value` is one of them.
    #[inline]
    pub(crate) fn contains(&self, value: T) -> bool {
        let key = value.key_or_nan();
        let hash = hash(key);
        let line = line_of(hash, self.seeds.len());
        let seed = self.seeds[line];
        let found = self.keys[line * PLACES + place_of(hash, seed)] == key;
        if seed == CROWDED { self.crowded.contains(&key) } else { found }
    }

    /// Puts a key into its line, behind those that it has, and none twice. Until [`settle`](Self::settle) the seed of a
    /// line is the number of its keys, or one more than places if they did not all fit.
    fn insert(&mut self, key: T::Key) {
        let line = line_of(hash(key), self.seeds.len());
        let places = &mut self.keys[line * PLACES..][..PLACES];
        let count = &mut self.seeds[line];
        let known = places.iter().fold(false, |known, &other| known | (other == key));
        match places.get_mut(usize::from(*count)) {
            _ if known => {}
            Some(place) => {
                *place = key;
                *count += 1;
            }
            None => {
                self.crowded.insert(key);
                *count = PLACES as u8 + 1;
            }
        }
    }

    /// Finds the seed of each line, and moves its keys to their places.
    fn settle(&mut self, filler: T::Key) {
        for (places, seed) in self.keys.chunks_exact_mut(PLACES).zip(&mut self.seeds) {
            let keys: [T::Key; PLACES] = std::array::from_fn(|at| places[at]);
            let count = usize::from(*seed);
            let known = &keys[..count.min(PLACES)];
            let hashes = keys.map(hash);
            *seed = if count > PLACES { CROWDED } else { seed_of(&hashes[..count]) };
            if *seed == CROWDED {
                self.crowded.extend(known);
                continue;
            }
            places.fill(filler);
            known.iter().zip(&hashes).for_each(|(&key, &hash)| places[place_of(hash, *seed)] = key);
        }
    }
}

/// The first seed under which no two of the hashes meet.
fn seed_of(hashes: &[u64]) -> u8 {
    let apart = |&seed: &u8| {
        let taken = hashes.iter().fold(0u32, |taken, &hash| taken | 1 << place_of(hash, seed));
        taken.count_ones() as usize == hashes.len()
    };
    (0..CROWDED).find(apart).unwrap_or(CROWDED)
}

/// The line of a hash: its upper half decides.
#[inline]
fn line_of(hash: u64, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// The place of a hash in its line: the lower half and the seed decide.
#[inline]
fn place_of(hash: u64, seed: u8) -> usize {
    ((hash as u32 ^ u32::from(seed)).wrapping_mul(0x9e37_79b1) >> 29) as usize
}

/// The hash of a key: a product folded, which leaves every bit of the key a say in both halves.
#[inline]
fn hash<K: Hash>(key: K) -> u64 {
    let mut folded = Folded(0x5851_f42d_4c95_7f2d);
    key.hash(&mut folded);
    folded.0
}

struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exactly the members are found, among them and as many others.
    fn check<T: Element>(members: &[T], others: &[T]) -> KeySet<T> {
        let set = KeySet::new(members).unwrap();
        members.iter().for_each(|&member| assert_eq!(set.contains(member), !member.isnan(), "{member:?}"));
        others.iter().for_each(|&other| assert!(!set.contains(other), "{other:?}"));
        set
    }

    #[test]
    fn members_are_found_and_nothing_else() {
        for count in [1, 2, 3, 4, 7, 63, 64, 65, 1000, 40_000, 200_000] {
            let members: Vec<i64> = (0..count).map(|number| number * number).collect();
            let others: Vec<i64> = (1..=count).map(|number| -number).chain([2, 3, 5, i64::MIN, i64::MAX]).collect();
            let set = check(&members, &others);
            assert!(set.crowded.len() <= members.len() / 20 + 8, "{count}: {}", set.crowded.len());
            let floats: Vec<f64> = members.iter().map(|&member| member as f64).collect();
            check(&floats, &others.iter().map(|&other| other as f64 + 0.5).collect::<Vec<_>>());
        }
    }

    #[test]
    fn keys_in_steps_of_any_size_are_dealt_out_evenly() {
        for step in [1, 8, 4096, 1 << 20, 1 << 32, 1 << 44, 1 << 48] {
            let members: Vec<u64> = (0..10_000).map(|number| number * step).collect();
            let set = check(&members, &[1 << 63, u64::MAX]);
            assert!(set.crowded.len() < 1000, "{step}: {}", set.crowded.len());
        }
    }

    #[test]
    fn repeated_members_take_one_place() {
        let members: Vec<i32> = (0..30_000).map(|number| number % 7).collect();
        assert!(check(&members, &[-1, 7, 8]).crowded.is_empty());
        assert!(check(&[5u8; 100], &[4]).crowded.is_empty());
    }

    /// Keys that all belong to one line are found in the hash set.
    #[test]
    fn crowded_lines_answer_too() {
        let lines = 100usize.div_ceil(LOAD);
        let of_a_line: Vec<u64> = (0..).filter(|&key| line_of(hash(key), lines) == 20).take(200).collect();
        let (members, others) = of_a_line.split_at(100);
        assert_eq!(check(members, others).crowded.len(), 100);
        let (members, others) = of_a_line.split_at(PLACES + 1);
        let padded: Vec<u64> = members.iter().copied().cycle().take(100).collect();
        assert_eq!(check(&padded, others).crowded.len(), PLACES + 1);
    }

    #[test]
    fn a_line_without_a_seed_is_crowded() {
        assert_eq!(seed_of(&[1, 1]), CROWDED);
        assert_eq!(seed_of(&[]), 0);
        let seed = seed_of(&[1, 2, 3, 4]);
        let mut places = [1, 2, 3, 4].map(|hash| place_of(hash, seed));
        places.sort_unstable();
        assert!(seed < CROWDED && places.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn nan_is_no_member_and_zeros_are_one() {
        let nan = f64::NAN;
        let set = check(&[nan, -0.0, 1.0, nan], &[-nan, 2.0]);
        assert!(set.contains(0.0) && !set.contains(f64::from_bits(1)));
        assert!(KeySet::new(&[nan, -nan]).is_none());
        assert!(KeySet::<f64>::new(&[]).is_none());
    }
}
