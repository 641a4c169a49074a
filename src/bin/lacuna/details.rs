//! Details that `info` prints after the summary: stored values, entries per lane, and memory.

use indicatif::BinaryBytes;
use lacuna::io::{AnyTensor, FileElement};
use lacuna::{DType, Element, Number, Pattern, Shape, Tensor, dispatch_dtype};
use serde::Serialize;

use crate::values::{Json, counted, json, json_value, printed};

/// The stored values and the entries per lane, as `info` prints them.
pub(crate) struct Details {
    zeros: usize,
    nans: usize,
    infinities: usize,
    /// The smallest and the largest finite value, in textual form; `None` for complex numbers and `bool`.
    range: Option<(String, String)>,
    lanes: Lanes,
}

/// Counts of entries per lane along the last axis: the rows of a matrix.
struct Lanes {
    /// The number of lanes; `None` if it overflows.
    all: Option<usize>,
    /// The number of lanes that hold an entry.
    held: usize,
    /// The number of entries in the longest lane.
    longest: usize,
}

impl Details {
    pub(crate) fn of<P: Pattern, T: FileElement>(x: &Tensor<P, T>) -> Self {
        let among = |is: fn(T) -> bool| x.values().iter().filter(|&&value| is(value)).count();
        Details {
            zeros: among(|value| !value.is_truthy()),
            nans: among(T::isnan),
            infinities: among(T::isinf),
            range: range(x.values()),
            lanes: Lanes::of(x.pattern()),
        }
    }

    /// Returns a line per fact that applies to the element type: an integer is never NaN.
    pub(crate) fn text(&self, x: &AnyTensor) -> String {
        let mut text = String::new();
        if let Some((least, greatest)) = &self.range {
            text += &format!("range    {least} to {greatest}\n");
        }
        text += &format!("zeros    {} stored\n", self.zeros);
        if may_be_nan(x.dtype()) {
            text += &format!("NaNs     {} stored\ninf      {} stored\n", self.nans, self.infinities);
        }
        if let Some(last) = x.rank().checked_sub(1).filter(|&last| last > 0) {
            text += &self.lanes.text(last);
        }
        text + &format!("memory   {}\n", bytes(x.stored_bytes()))
    }

    /// Returns the JSON keys that `info` adds to every summary.
    pub(crate) fn json(&self, x: &AnyTensor) -> DetailsJson {
        let (min, max) = self.range.clone().unzip();
        DetailsJson {
            density: json_value(x.density()),
            stored_zeros: self.zeros,
            nans: self.nans,
            infinities: self.infinities,
            min: min.map(json),
            max: max.map(json),
            empty_lanes: self.lanes.empty(),
            longest_lane: self.lanes.longest,
            memory_bytes: x.stored_bytes(),
        }
    }
}

/// The details, as keys of a JSON object.
#[derive(Serialize)]
pub(crate) struct DetailsJson {
    density: Json,
    stored_zeros: usize,
    nans: usize,
    infinities: usize,
    min: Option<Json>,
    max: Option<Json>,
    empty_lanes: Option<usize>,
    longest_lane: usize,
    memory_bytes: usize,
}

impl Lanes {
    /// Counts the entries of each lane, which are contiguous in both formats.
    fn of<P: Pattern>(pattern: &P) -> Self {
        let shape = pattern.shape();
        let mut lanes = Lanes { all: Shape::from(shape.lane_axes()).checked_size(), held: 0, longest: 0 };
        let (mut lane, mut length) = (Vec::new(), 0);
        pattern.walk(|entry, coords| {
            let at = &coords[..coords.len().saturating_sub(1)];
            if entry == 0 || lane != at {
                lane.clear();
                lane.extend_from_slice(at);
                lanes.held += 1;
                length = 0;
            }
            length += 1;
            lanes.longest = lanes.longest.max(length);
            true
        });
        lanes
    }

    /// Returns the number of lanes without entries.
    fn empty(&self) -> Option<usize> {
        self.all.map(|all| all - self.held)
    }

    fn text(&self, last: usize) -> String {
        let (what, along) = if last == 1 { ("rows ", String::new()) } else { ("lanes", format!(" along axis {last}")) };
        let all = counted(self.all);
        let empty = match self.empty() {
            Some(0) => "none empty".into(),
            Some(empty) => format!("{empty} empty"),
            None => format!("{} not empty", self.held),
        };
        format!("{what}    {all}{along}, {empty}; the fullest holds {}\n", self.longest)
    }
}

/// Returns the smallest and the largest finite value; `None` if the type does not have a meaningful order.
fn range<T: FileElement>(values: &[T]) -> Option<(String, String)> {
    let mut finite = values.iter().copied().filter(|value| value.isfinite());
    let first = finite.next().filter(|_| T::DTYPE != DType::Bool)?;
    let (least, greatest) = finite
        .try_fold((first, first), |(least, greatest), value| Some((least.smaller(value)?, greatest.greater(value)?)))?;
    // A single value was not compared above. Comparing it with itself excludes complex numbers.
    least.smaller(greatest).map(|least| (printed(least), printed(greatest)))
}

/// Returns whether elements may be NaN or infinite.
fn may_be_nan(dtype: DType) -> bool {
    dispatch_dtype!(dtype, T => T::from_number(Number::Real(f64::NAN)).is_some(), else => true)
}

/// Formats a number of bytes, from 1024 bytes on also in a larger unit.
fn bytes(count: usize) -> String {
    match count {
        ..1024 => format!("{count} bytes"),
        _ => format!("{} ({count} bytes)", BinaryBytes(count as u64)),
    }
}
