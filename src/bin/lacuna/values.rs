//! How one value is told: as text, and in JSON.

use lacuna::DType;
use lacuna::io::FileElement;

/// The shortest text that means the value.
pub(crate) fn printed<T: FileElement>(value: T) -> String {
    let mut text = Vec::new();
    value.print(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A value in JSON: NaN and infinities as strings, complex as a pair.
pub(crate) fn json_value<T: FileElement>(value: T) -> String {
    let quoted = |word: &str| match word {
        "nan" | "inf" | "-inf" => format!("\"{word}\""),
        word => word.to_string(),
    };
    if !matches!(T::DTYPE, DType::Complex64 | DType::Complex128) {
        return quoted(&printed(value));
    }
    let mut parts = Vec::new();
    value.print_entry(&mut parts);
    let parts = String::from_utf8_lossy(&parts).split(' ').map(quoted).collect::<Vec<_>>();
    format!("[{}]", parts.join(", "))
}
