//! Exact covariances and correlations of the rows of a matrix.
//!
//! The covariance of two rows of *n* values is (*n* Σ *ab* − Σ *a* Σ *b*) / (*n* (*n* − ddof)). A number that is
//! subtracted from all values does not change the covariance. The fill is subtracted, so only entries count.

use crate::base::alloc::{self, Allocated};
use crate::base::threads;
use crate::element::products::{ExactSum, FloatFormat, Numerator, ProductTotal};

/// The entries of a matrix by rows.
pub(crate) struct RowTerms<'a> {
    /// The start of each row, then the total number of entries.
    pub(crate) offsets: &'a [usize],
    /// The column of each entry; `None` if each row has an entry in each column.
    pub(crate) columns: Option<&'a [usize]>,
    /// Lists of floats. The sum of the floats of an entry is its value, less the fill.
    pub(crate) terms: &'a [Vec<f64>],
    /// The number of columns.
    pub(crate) count: usize,
}

/// The rows of a matrix, with the sum of each row; `None` if an element of the row is not finite.
pub(crate) struct VariableRows<'a> {
    entries: RowTerms<'a>,
    sums: Vec<Option<ExactSum>>,
    count: ExactSum,
}

impl<'a> VariableRows<'a> {
    /// Returns the rows. `is_fill_finite` is false if unstored positions are not finite.
    pub(crate) fn new(entries: RowTerms<'a>, is_fill_finite: bool) -> Allocated<Self> {
        let sum_of = |row: usize| {
            let range = entries.offsets[row]..entries.offsets[row + 1];
            let is_finite = is_fill_finite || range.len() == entries.count;
            let sum = ExactSum::of(entries.terms.iter().flat_map(|term| term[range.clone()].iter().copied()));
            Some(sum).filter(|sum| is_finite && sum.is_finite())
        };
        let work = entries.offsets.last().copied().unwrap_or(0);
        let sums = threads::map_heavy(entries.offsets.len() - 1, work, None, || (), |(), row| sum_of(row))?;
        Ok(VariableRows { count: ExactSum::of_counts(entries.count as u128, 1), sums, entries })
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns the numerator of the covariance of two rows; `None` if an element is not finite.
    fn numerator(&self, left: usize, right: usize) -> Option<Numerator> {
        let sums = [self.sums[left].as_ref()?, self.sums[right].as_ref()?];
        Some(Numerator::new(&self.count, &self.products(left, right), sums))
    }

    /// Returns the sum of the products of two rows.
    fn products(&self, left: usize, right: usize) -> ProductTotal {
        let RowTerms { offsets, columns, terms, .. } = &self.entries;
        let [left, right] = [left, right].map(|row| offsets[row]..offsets[row + 1]);
        let mut total = ProductTotal::default();
        let Some(columns) = columns else {
            for (a, b) in pairs(terms) {
                total.add_slices(&a[left.clone()], &b[right.clone()]);
            }
            return total;
        };
        let (mut at, mut other) = (left.start, right.start);
        while at < left.end && other < right.end {
            let (column, of_other) = (columns[at], columns[other]);
            if column == of_other {
                pairs(terms).for_each(|(a, b)| total.add(a[at], b[other]));
            }
            at += usize::from(column <= of_other);
            other += usize::from(of_other <= column);
        }
        total
    }

    /// Returns the covariances of all pairs of rows, rounded to a float type.
    pub(crate) fn covariances(&self, ddof: u64, kind: FloatFormat) -> Allocated<Vec<f64>> {
        let count = self.entries.count as u128;
        let divisor = ExactSum::of_counts(count, count.saturating_sub(ddof.into()));
        self.of_pairs(|left, right| self.numerator(left, right).map_or(f64::NAN, |found| found.over(&divisor, kind)))
    }

    /// Returns the correlations of all pairs of rows, rounded to a float type.
    pub(crate) fn correlations(&self, kind: FloatFormat) -> Allocated<Vec<f64>> {
        let work = self.entries.offsets.last().copied().unwrap_or(0);
        let own = |row: usize| self.numerator(row, row).map(Numerator::into_number);
        let own = threads::map_heavy(self.len(), work, None, || (), |(), row| own(row))?;
        self.of_pairs(|left, right| match (&own[left], &own[right]) {
            (Some(a), Some(b)) => {
                let found = self.numerator(left, right).map(Numerator::into_number);
                found.map_or(f64::NAN, |found| found.over_root(&a.times(b), kind))
            }
            _ => f64::NAN,
        })
    }

    /// Returns a symmetric matrix from a function of pairs of rows.
    fn of_pairs(&self, of: impl Fn(usize, usize) -> f64 + Sync + Send) -> Allocated<Vec<f64>> {
        let (rows, entries) = (self.len(), self.entries.offsets.last().copied().unwrap_or(0));
        // A result without products takes as long as several products.
        let work = rows.saturating_mul(entries.saturating_add(rows.saturating_mul(RESULT))) / 2;
        let row = |(): &mut (), left: usize| alloc::collect((left..rows).map(|right| of(left, right)));
        let upper = threads::try_map_heavy(rows, work, Vec::new(), || (), row)?;
        let mut all = alloc::zeros(rows * rows)?;
        for (left, found) in upper.into_iter().enumerate() {
            for (value, right) in found.into_iter().zip(left..) {
                (all[left * rows + right], all[right * rows + left]) = (value, value);
            }
        }
        Ok(all)
    }
}

/// The time of a result in products.
const RESULT: usize = 32;

/// Returns all pairs of two lists of floats.
fn pairs(terms: &[Vec<f64>]) -> impl Iterator<Item = (&[f64], &[f64])> {
    terms.iter().flat_map(|a| terms.iter().map(|b| (&a[..], &b[..])))
}
