//! A tensor with the labels of its axes, and the columns of its table.

use std::ops::{Bound, Range, RangeBounds};

use ndarray::SliceInfoElem;

use crate::base::alloc;
use crate::base::axes::normalize_axis;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position};
use crate::element::Element;
use crate::io::labels::Labels;
use crate::ops::op;
use crate::ops::slice_of;
use crate::tensor::Tensor;
use crate::tensor::coo::CooTensor;
use crate::tensor::erased::Erased;

/// The columns of a `.csv` file that contain the labels and the values.
///
/// ```
/// use lacuna::io::CsvColumns;
///
/// let ratings = CsvColumns::new(["user", "film"]).value("stars");
/// let visits = CsvColumns::new(["day", "page"]).delimiter(b'\t'); // each record has the value 1
/// # drop((ratings, visits));
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvColumns {
    /// The names of the columns that contain the labels, one column per axis.
    pub axes: Vec<String>,
    /// The name of the column that contains the values.
    ///
    /// Without this column, each record has the value 1.
    pub value: Option<String>,
    /// The byte between two fields: a comma by default.
    pub delimiter: u8,
}

impl CsvColumns {
    /// Selects one column per axis; each record has the value 1.
    pub fn new<S: Into<String>>(axes: impl IntoIterator<Item = S>) -> Self {
        CsvColumns { axes: axes.into_iter().map(Into::into).collect(), value: None, delimiter: b',' }
    }

    /// Sets the column that contains the values.
    pub fn value(self, name: impl Into<String>) -> Self {
        CsvColumns { value: Some(name.into()), ..self }
    }

    /// Sets the byte between two fields.
    pub fn delimiter(self, delimiter: u8) -> Self {
        CsvColumns { delimiter, ..self }
    }
}

/// A tensor with labels for the positions of its axes.
///
/// [`read_csv`](crate::io::read_csv) returns a `Labelled`, and [`write_csv`](crate::io::write_csv) writes a `Labelled`.
#[must_use]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Labelled<T: Element, I: Index = u32> {
    /// The tensor.
    pub tensor: CooTensor<T, I>,
    /// The labels of each axis.
    pub labels: Vec<Labels>,
}

impl<T: Element, I: Index> Labelled<T, I> {
    /// Constructs a tensor with labels for each axis, for [`write_csv`](crate::io::write_csv).
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of lists of labels differs from the rank;
    /// - `LengthMismatch`: the length of an axis differs from the number of its labels.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::io::{Labelled, Labels};
    ///
    /// let x = CooTensor::new([2, 1], vec![vec![1], vec![0]], vec![4.5], 0.0)?;
    /// let table = Labelled::new(x, vec![Labels::new(["ann", "bob"])?, Labels::new(["film"])?])?;
    /// assert_eq!(table.get(&["bob", "film"])?, 4.5);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn new(tensor: CooTensor<T, I>, labels: Vec<Labels>) -> Result<Self> {
        let (expected, found) = (tensor.rank(), labels.len());
        if expected != found {
            return Err(Error::RankMismatch { what: "the labels", expected, found });
        }
        for (labels, &expected) in labels.iter().zip(&**tensor.shape()) {
            let found = labels.len();
            if expected != found {
                return Err(Error::LengthMismatch { what: "the labels of an axis", expected, found });
            }
        }
        Ok(Labelled { tensor, labels })
    }

    /// Returns a table with coordinates of type `I`.
    pub(super) fn typed((tensor, labels): (Erased<T>, Vec<Labels>)) -> Result<Self> {
        Ok(Labelled { tensor: Tensor::from_erased(tensor)?, labels })
    }

    /// Returns the coordinates of the position with these labels, one label per axis.
    ///
    /// # Errors
    ///
    /// - `RankMismatch`: the number of labels differs from the rank;
    /// - `Argument`: an axis does not have the requested label.
    pub fn coords(&self, labels: &[&str]) -> Result<Vec<usize>> {
        let (expected, found) = (self.labels.len(), labels.len());
        if expected != found {
            return Err(Error::RankMismatch { what: "the labels", expected, found });
        }
        labels.iter().enumerate().map(|(axis, label)| number_of(&self.labels[axis], "coords", axis, label)).collect()
    }

    /// Returns the element at these labels, stored or not.
    ///
    /// # Errors
    ///
    /// The errors of [`coords`](Labelled::coords).
    pub fn get(&self, labels: &[&str]) -> Result<T> {
        self.tensor.get(&self.coords(labels)?)
    }

    /// Returns the same table with other labels on an axis.
    ///
    /// `labels` has all labels of the axis, in any order, and may have more. Positions with a new label have the value
    /// of the fill.
    ///
    /// Each file numbers its labels independently, so give two tables the same labels before you concatenate or compare
    /// them. If the labels are sorted, a range of labels is a slice.
    ///
    /// # Errors
    ///
    /// - `AxisOutOfRange`: the axis does not exist;
    /// - `Argument`: a label of the axis is missing in `labels`;
    /// - the errors of [`take_axis`](crate::take_axis).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::io::{CsvColumns, Labelled, Labels, ReadOptions, read_csv_from};
    ///
    /// let read = |text: &str| -> lacuna::Result<Labelled<i64>> {
    ///     read_csv_from(text.as_bytes(), &CsvColumns::new(["city", "day"]).value("n"), &ReadOptions::default())
    /// };
    /// let monday = read("city,day,n\nRoma,1,5\nOslo,1,7\n")?;
    /// let tuesday = read("city,day,n\nBern,2,3\nRoma,2,4\n")?; // Roma has index 0 in `monday`, and 1 in `tuesday`
    ///
    /// let mut cities: Vec<_> = monday.labels[0].iter().chain(tuesday.labels[0].iter()).collect();
    /// cities.sort();
    /// let cities = Labels::new(cities)?;
    /// let (monday, tuesday) = (monday.with_labels(0, &cities)?, tuesday.with_labels(0, &cities)?);
    /// let both = lacuna::concat(1, &[&monday.tensor, &tuesday.tensor])?;
    /// assert_eq!(cities.iter().collect::<Vec<_>>(), ["Bern", "Oslo", "Roma"]);
    /// assert_eq!(both.entries(), [(vec![0, 1], 3), (vec![1, 0], 7), (vec![2, 0], 5), (vec![2, 1], 4)]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn with_labels(&self, axis: impl Position, labels: &Labels) -> Result<Self> {
        let at = self.axis(axis)?;
        let gap = self.tensor.shape()[at];
        let from = numbers_with_gaps(&self.labels[at], at, labels, gap)?;
        // An additional last position has the fill, for new labels.
        let mut widths = vec![(0, 0); self.tensor.rank()];
        widths[at] = (0, 1);
        Ok(self.with_axis(at, self.tensor.pad(widths)?.take_axis(from, at)?, labels.clone()))
    }

    /// Returns the part of the table with these labels on an axis, in this order.
    ///
    /// # Errors
    ///
    /// - `AxisOutOfRange`: the axis does not exist;
    /// - `Argument`: a requested label is not on the axis, or is requested twice;
    /// - the errors of [`take_axis`](crate::take_axis).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv_from};
    ///
    /// let text = "city,day,n\nRoma,1,5\nOslo,1,7\nBern,2,3\n";
    /// let columns = CsvColumns::new(["city", "day"]).value("n");
    /// let table: Labelled<i64> = read_csv_from(text.as_bytes(), &columns, &ReadOptions::default())?;
    /// let two = table.select(0, ["Bern", "Roma"])?;
    /// assert_eq!(two.tensor.entries(), [(vec![0, 1], 3), (vec![1, 0], 5)]);
    /// assert!(table.select(0, ["Paris"]).is_err());
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[doc(alias = "loc")]
    pub fn select<S: AsRef<str>>(&self, axis: impl Position, labels: impl IntoIterator<Item = S>) -> Result<Self> {
        let at = self.axis(axis)?;
        let (chosen, numbers) = selected(&self.labels[at], at, labels)?;
        Ok(self.with_axis(at, self.tensor.take_axis(numbers, at)?, chosen))
    }

    /// Returns the part of the table between two labels of an axis.
    ///
    /// The order of the labels is the order in which they were read, or the order of
    /// [`with_labels`](Labelled::with_labels). `"a"..="c"` includes the last label, `"a".."c"` does not. A range
    /// without a start begins at the first label, and a range without an end ends at the last label.
    ///
    /// # Errors
    ///
    /// - `AxisOutOfRange`: the axis does not exist;
    /// - `Argument`: a label of the range is not on the axis, or the range ends before it starts;
    /// - the errors of [`slice`](crate::slice).
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::io::{CsvColumns, Labelled, ReadOptions, read_csv_from};
    ///
    /// let text = "month,n\nMay,5\nJune,7\nJuly,3\n";
    /// let columns = CsvColumns::new(["month"]).value("n");
    /// let table: Labelled<i64> = read_csv_from(text.as_bytes(), &columns, &ReadOptions::default())?;
    /// let summer = table.slice(0, "June"..="July")?;
    /// assert_eq!((summer.tensor.values(), summer.get(&["July"])?), (&[7, 3][..], 3));
    /// assert_eq!(table.slice(0, .."June")?.labels[0].iter().collect::<Vec<_>>(), ["May"]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn slice<'l>(&self, axis: impl Position, labels: impl RangeBounds<&'l str>) -> Result<Self> {
        let at = self.axis(axis)?;
        let range = range_between(&self.labels[at], at, labels)?;
        let labels = Labels::new(self.labels[at].iter().skip(range.start).take(range.len()))?;
        let part = slice_of(range, self.tensor.shape()[at], 1);
        let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        let slices: Vec<_> = (0..self.tensor.rank()).map(|axis| if axis == at { part } else { whole }).collect();
        Ok(self.with_axis(at, self.tensor.slice(slices)?, labels))
    }

    /// Returns the index of an axis that has labels.
    fn axis(&self, axis: impl Position) -> Result<usize> {
        normalize_axis(axis.to_i128(), self.labels.len().min(self.tensor.rank()))
    }

    /// Returns a tensor with these labels, except for the labels of one axis.
    fn with_axis(&self, axis: usize, tensor: CooTensor<T, I>, labels: Labels) -> Self {
        let mut all = self.labels.clone();
        all[axis] = labels;
        Labelled { tensor, labels: all }
    }
}

/// Returns the index of a label on an axis.
fn number_of(labels: &Labels, operation: &'static str, axis: usize, label: &str) -> Result<usize> {
    let why = || format!("axis {axis} has no label {label:?}");
    labels.number(label).ok_or_else(|| Error::Argument { operation, why: why() })
}

/// Returns the old index of each label in `others`, or `gap` for a new label. Rejects `others` if an old label is
/// missing.
fn numbers_with_gaps(labels: &Labels, axis: usize, others: &Labels, gap: usize) -> Result<Vec<usize>> {
    if let Some(lost) = labels.iter().find(|label| others.number(label).is_none()) {
        let why = format!("axis {axis} has the label {lost:?}, which the new labels do not have");
        return Err(Error::Argument { operation: "with_labels", why });
    }
    Ok(alloc::collect(others.iter().map(|label| labels.number(label).unwrap_or(gap)))?)
}

/// Returns the selected labels and their indices on an axis; rejects a repeated label.
fn selected<S: AsRef<str>>(
    labels: &Labels,
    axis: usize,
    asked: impl IntoIterator<Item = S>,
) -> Result<(Labels, Vec<usize>)> {
    let (mut chosen, mut numbers) = (Labels::default(), Vec::new());
    for label in asked {
        let label = label.as_ref();
        if chosen.number_or_next(label)? < numbers.len() {
            let why = format!("the label {label:?} is selected twice");
            return Err(Error::Argument { operation: op::select.name, why });
        }
        alloc::push(&mut numbers, number_of(labels, op::select.name, axis, label)?)?;
    }
    Ok((chosen, numbers))
}

/// Returns the range of indices between two labels of an axis.
fn range_between<'l>(labels: &Labels, axis: usize, asked: impl RangeBounds<&'l str>) -> Result<Range<usize>> {
    let number = |label: &str| number_of(labels, op::slice.name, axis, label);
    let start = match asked.start_bound() {
        Bound::Included(label) => number(label)?,
        Bound::Excluded(label) => number(label)? + 1,
        Bound::Unbounded => 0,
    };
    let end = match asked.end_bound() {
        Bound::Included(label) => number(label)? + 1,
        Bound::Excluded(label) => number(label)?,
        Bound::Unbounded => labels.len(),
    };
    if end < start {
        let why = format!("the end of the label range is before its start, on axis {axis}");
        return Err(Error::Argument { operation: op::slice.name, why });
    }
    Ok(start..end)
}
