//! Printing one value: as text, and in JSON.

use lacuna::DType;
use lacuna::io::FileElement;
use serde_json::value::RawValue;

/// A value in JSON, with its digits as printed.
pub(crate) type Json = Box<RawValue>;

/// A value of any element type.
pub(crate) trait Printed {
    /// Returns the value as text.
    fn text(&self) -> String;
    /// Returns the value in JSON.
    fn json(&self) -> Json;
}

impl<T: FileElement> Printed for T {
    fn text(&self) -> String {
        printed(*self)
    }

    fn json(&self) -> Json {
        json_value(*self)
    }
}

/// Returns the shortest text that parses to the value.
pub(crate) fn printed<T: FileElement>(value: T) -> String {
    let mut text = Vec::new();
    value.print(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns a value in JSON: NaN and infinities as strings, complex numbers as pairs.
pub(crate) fn json_value<T: FileElement>(value: T) -> Json {
    if !matches!(T::DTYPE, DType::Complex64 | DType::Complex128) {
        return json(quoted(&printed(value)));
    }
    let mut parts = Vec::new();
    value.print_entry(&mut parts);
    let parts = String::from_utf8_lossy(&parts).split(' ').map(quoted).collect::<Vec<_>>();
    json(format!("[{}]", parts.join(", ")))
}

/// Returns a text as JSON. The text of a number is valid JSON, and keeps the digits of its type.
pub(crate) fn json(text: String) -> Json {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn quoted(word: &str) -> String {
    match word {
        "nan" | "inf" | "-inf" => format!("\"{word}\""),
        word => word.to_string(),
    }
}

/// Formats a number of positions or lanes; `None` is an overflow.
pub(crate) fn counted(count: Option<usize>) -> String {
    count.map_or("2^64 or more".into(), |count| count.to_string())
}
