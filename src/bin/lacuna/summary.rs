//! What is told of a tensor: as text, or as a JSON object.

use lacuna::io::{AnyTensor, FileElement};
use lacuna::{Pattern, Tensor, dispatch};

use crate::details::Details;
use crate::values::{json_value, printed};

/// The most entries that the JSON object lists.
const MOST_VALUES: usize = 1000;

/// The entries that the text lists.
const SHOWN: usize = 10;

/// A tensor to be told, with more about it for `info`.
pub(crate) struct Summary<'a> {
    tensor: &'a AnyTensor,
    detailed: bool,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(tensor: &'a AnyTensor, detailed: bool) -> Self {
        Summary { tensor, detailed }
    }

    /// The summary for people: a line for each fact, and the first few entries.
    pub(crate) fn text(&self) -> String {
        let x = self.tensor;
        let mut text = format!("shape    {}\ndtype    {}\nformat   {}\n", x.shape(), x.dtype(), x.format());
        text += &format!("stored   {} of {}\n", x.nnz(), positions(x));
        text += &format!("fill     {}\n", dispatch!(x, x => printed(x.fill())));
        if self.detailed {
            text += &dispatch!(x, x => Details::of(x)).text(x);
        }
        let entries = dispatch!(x, x => entries(x, SHOWN));
        if !entries.is_empty() {
            text += "entries\n";
        }
        for (coords, value) in &entries {
            text += &format!("  {coords:?} {value}\n");
        }
        match x.nnz() - entries.len() {
            0 => text,
            rest => text + &format!("  … {rest} more\n"),
        }
    }

    /// The summary for programs.
    pub(crate) fn json(&self) -> String {
        let x = self.tensor;
        let (format, shape, dtype, nnz) = (x.format(), x.shape(), x.dtype(), x.nnz());
        let fill = dispatch!(x, x => json_value(x.fill()));
        let mut json =
            format!(r#"{{"format": "{format}", "shape": {shape}, "dtype": "{dtype}", "nnz": {nnz}, "fill": {fill}"#);
        if self.detailed {
            json += &dispatch!(x, x => Details::of(x)).json(x);
        }
        if nnz <= MOST_VALUES {
            json += &format!(r#", "values": [{}]"#, dispatch!(x, x => json_entries(x)));
        }
        json + "}"
    }
}

/// The number of positions, in words.
fn positions(x: &AnyTensor) -> String {
    match x.shape().saturating_size() {
        u64::MAX => format!("more than 2^64 ({})", share(x.density())),
        size if size > 0 => format!("{size} ({})", share(x.density())),
        _ => "0".into(),
    }
}

/// A share in percent; never all of it, or nothing, where that is not so.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 | 100.0 => format!("{percent} %"),
        _ if percent < 0.1 => format!("{percent:.1e} %"),
        _ => format!("{:.1} %", percent.min(99.9)),
    }
}

/// The first entries, as coordinates and text.
fn entries<P: Pattern, T: FileElement>(x: &Tensor<P, T>, most: usize) -> Vec<(Vec<usize>, String)> {
    let mut entries = Vec::new();
    x.pattern().walk(|entry, coords| {
        if entry < most {
            entries.push((coords.to_vec(), printed(x.values()[entry])));
        }
        entry + 1 < most
    });
    entries
}

fn json_entries<P: Pattern, T: FileElement>(x: &Tensor<P, T>) -> String {
    let mut entries = Vec::with_capacity(x.nnz());
    x.for_each_entry(|coords, value| entries.push(format!("[{coords:?}, {}]", json_value(value))));
    entries.join(", ")
}
