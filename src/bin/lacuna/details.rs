//! What `info` tells beyond the summary: the values that are stored, where they stand, and what they take.

use indicatif::BinaryBytes;
use lacuna::io::{AnyTensor, FileElement};
use lacuna::{DType, Element, Number, Pattern, Shape, Tensor, dispatch_dtype};
use serde::Serialize;

use crate::summary::counted;
use crate::values::{Json, json, json_value, printed};

/// What `info` tells of the stored values and of where they stand.
pub(crate) struct Details {
    zeros: usize,
    nans: usize,
    infinities: usize,
    /// The least and the greatest finite value, as text; none of complex numbers and `bool`.
    range: Option<(String, String)>,
    lanes: Lanes,
}

/// How many entries the lanes have along the last axis: the rows, of a matrix.
struct Lanes {
    /// How many there are; none if that is more than a machine counts.
    all: Option<usize>,
    /// How many hold an entry.
    held: usize,
    /// The entries of the longest one.
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

    /// A line for each fact that the tensor can have: no integer is a NaN.
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

    /// The keys of `info`, after those of every summary.
    pub(crate) fn told(&self, x: &AnyTensor) -> DetailsTold {
        let (min, max) = self.range.clone().unzip();
        DetailsTold {
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

/// What `info` tells, as the keys of JSON.
#[derive(Serialize)]
pub(crate) struct DetailsTold {
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
    /// The entries of a lane follow each other in both formats.
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

    /// How many hold no entry.
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

/// The least and the greatest finite value, where values have an order that says something.
fn range<T: FileElement>(values: &[T]) -> Option<(String, String)> {
    let mut finite = values.iter().copied().filter(|value| value.isfinite());
    let first = finite.next().filter(|_| T::DTYPE != DType::Bool)?;
    let (least, greatest) = finite
        .try_fold((first, first), |(least, greatest), value| Some((least.smaller(value)?, greatest.greater(value)?)))?;
    // One complex number alone has met no other that it cannot be compared with.
    least.smaller(greatest).map(|least| (printed(least), printed(greatest)))
}

/// Whether the elements may be NaN or infinite.
fn may_be_nan(dtype: DType) -> bool {
    dispatch_dtype!(dtype, T => T::from_number(Number::Real(f64::NAN)).is_some(), else => true)
}

/// A number of bytes, and in a unit that a person reads where it is large.
fn bytes(count: usize) -> String {
    match count {
        ..1024 => format!("{count} bytes"),
        _ => format!("{} ({count} bytes)", BinaryBytes(count as u64)),
    }
}
