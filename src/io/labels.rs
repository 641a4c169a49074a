//! The labels of an axis, and their indices.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::base::alloc::{self, AllocError, Allocated};
use crate::base::error::Result;

/// The labels of an axis, numbered 0, 1, … by position.
///
/// You can look up a label by its number, and a number by its label.
///
/// ```
/// use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv_from};
///
/// let text = "city\nOslo\nRoma\nOslo\n";
/// let table: Labelled<u64> = read_csv_from(text.as_bytes(), &CsvColumns::new(["city"]), &ReadOptions::default())?;
/// let cities = &table.labels[0];
/// assert_eq!((cities.number("Roma"), cities.number("Bern")), (Some(1), None));
/// assert_eq!(cities.iter().collect::<Vec<_>>(), ["Oslo", "Roma"]);
/// assert_eq!(table.tensor.values(), [2, 1]);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone, Default)]
pub struct Labels {
    /// All labels, one after another, and the end of each label.
    text: String,
    ends: Vec<usize>,
    /// The indices, by the hashes of their labels. The hash key is random, because files are not trusted.
    numbers: HashTable<usize>,
    hasher: RandomState,
}

impl Labels {
    /// Constructs labels in the given order; a repeated label is skipped.
    ///
    /// [`read_csv`](crate::io::read_csv) numbers the labels of a table in the same way.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: an allocation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::io::Labels;
    ///
    /// let (spring, summer) = (Labels::new(["May", "April"])?, Labels::new(["June", "May"])?);
    /// let both = Labels::new(spring.iter().chain(summer.iter()))?;
    /// assert_eq!(both.iter().collect::<Vec<_>>(), ["May", "April", "June"]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn new<S: AsRef<str>>(labels: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut numbered = Labels::default();
        for label in labels {
            numbered.number_or_next(label.as_ref())?;
        }
        Ok(numbered)
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of a label, if the list has the label.
    ///
    /// The lookup takes O(length of the label).
    pub fn number(&self, label: &str) -> Option<usize> {
        self.numbers.find(self.hasher.hash_one(label), |&number| self.at(number) == label).copied()
    }

    /// Returns the label with the given number, if it exists.
    pub fn label(&self, number: usize) -> Option<&str> {
        (number < self.len()).then(|| self.at(number))
    }

    /// Returns the labels in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|number| self.at(number))
    }

    fn at(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// Returns the index of a label: the next index if the label is new.
    pub(crate) fn number_or_next(&mut self, label: &str) -> Allocated<usize> {
        if let Some(number) = self.number(label) {
            return Ok(number);
        }
        let number = self.len();
        let Labels { text, ends, numbers, hasher } = self;
        text.try_reserve(label.len()).map_err(|_| AllocError::of::<u8>(text.len() + label.len()))?;
        alloc::reserve(ends, 1)?;
        let hash = |text: &str, ends: &[usize], number: usize| {
            let start = number.checked_sub(1).map_or(0, |before| ends[before]);
            hasher.hash_one(&text[start..ends[number]])
        };
        let rejection = |_| AllocError::of::<usize>(number.saturating_mul(2));
        numbers.try_reserve(1, |&number| hash(text, ends, number)).map_err(rejection)?;
        text.push_str(label);
        ends.push(text.len());
        numbers.insert_unique(hasher.hash_one(label), number, |&number| hash(text, ends, number));
        Ok(number)
    }

    /// Returns the bytes that the labels take.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.numbers.allocation_size()) as u64
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Eq for Labels {}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
