//! `eval --lines`: a JSON object with an expression and its tensors on each line, and one with the answer for each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::path::Path;

use lacuna::eval::Programs;
use lacuna::io::{AnyTensor, FileElement};
use lacuna::{DType, Duplicates, Shape, Triplets, dispatch_dtype};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::names::shown_word;
use crate::summary::Summary;

/// Answers the lines of standard input until its end.
pub(crate) fn answer() -> Result<(), Failure> {
    let (mut input, mut output) = (stdin().lock(), BufWriter::new(stdout().lock()));
    let (mut line, mut programs) = (Vec::new(), Programs::default());
    loop {
        line.clear();
        let count = input.read_until(b'\n', &mut line);
        if count.map_err(|error| Failure::of_file(Path::new("-"), error))? == 0 {
            return Ok(());
        }
        let written = match value(&line, &mut programs) {
            Ok(result) => Summary::new(&result).json(Some(usize::MAX), &mut output),
            Err(message) => {
                let told = serde_json::json!({ "error": message });
                serde_json::to_writer(&mut output, &told).map_err(Into::into).and_then(|()| writeln!(output))
            }
        };
        // Whoever asked waits for it.
        written.and_then(|()| output.flush()).map_err(|error| Failure::of_target(Path::new("-"), error))?;
    }
}

/// The value of the expression on a line, or what is wrong.
fn value(line: &[u8], programs: &mut Programs) -> Result<AnyTensor, String> {
    let line = std::str::from_utf8(line).map_err(|error| format!("the line is no UTF-8: {error}"))?;
    let Line(members) = serde_json::from_str(line).map_err(|error| format!("the line is no JSON object: {error}"))?;
    let text = members.get("eval").ok_or("the line has no \"eval\"")?;
    let text: String = serde_json::from_str(text.get()).map_err(|_| "\"eval\" is a text, the expression")?;
    let expression = programs.get(&text).map_err(|fault| fault.to_string())?;
    let mut tensors = HashMap::new();
    for (name, given) in members.iter().filter(|(name, _)| *name != "eval") {
        let tensor = tensor(given).map_err(|why| format!("{}: {why}", shown_word(name)))?;
        tensors.insert(name.as_ref(), tensor);
    }
    expression.evaluate(|name| tensors.get(name).cloned()).map_err(|fault| fault.to_string())
}

/// The members of an object, each with its text; none is there twice.
struct Line<'a>(HashMap<Cow<'a, str>, &'a RawValue>);

impl<'de> Deserialize<'de> for Line<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Line<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
                let mut members = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if let Some(_first) = members.insert(Cow::Owned(name), value) {
                        return Err(A::Error::custom("a name stands there twice"));
                    }
                }
                Ok(Line(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A tensor as it is given. An answer can be one.
#[derive(Deserialize)]
struct Given<'a> {
    shape: Vec<usize>,
    dtype: Cow<'a, str>,
    format: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fill: Option<&'a RawValue>,
    #[serde(borrow, alias = "values")]
    entries: Vec<(Vec<usize>, &'a RawValue)>,
}

fn tensor(text: &RawValue) -> Result<AnyTensor, String> {
    let given: Given<'_> = serde_json::from_str(text.get()).map_err(|error| error.to_string())?;
    let no_type = || format!("there is no element type {}", shown_word(&given.dtype));
    let dtype = DType::from_name(&given.dtype).ok_or_else(no_type)?;
    let format = match given.format.as_deref() {
        None | Some("coo") => lacuna::dynamic::Format::Coo,
        Some("csr") => lacuna::dynamic::Format::Csr,
        Some(other) => return Err(format!("there is no format {}", shown_word(other))),
    };
    let tensor = dispatch_dtype!(dtype, T => typed::<T>(&given), else => Err(no_type()));
    tensor?.into_format(format).map_err(|error| error.to_string())
}

/// The tensor of an element type.
fn typed<T: FileElement>(given: &Given<'_>) -> Result<AnyTensor, String> {
    let fill = given.fill.map_or(Ok(T::ZERO), element)?;
    let triplets =
        Triplets::<T, u64>::new_with_index(Shape::from(&given.shape[..])).map_err(|error| error.to_string())?;
    let mut triplets = triplets.with_fill(fill);
    for (coords, value) in &given.entries {
        triplets.push(coords, element(value)?).map_err(|error| error.to_string())?;
    }
    let tensor = triplets.coalesce(Duplicates::Error).map_err(|error| error.to_string())?;
    Ok(tensor.into())
}

/// A value as JSON has it: a number; NaN and infinities as texts; the two parts of a complex number as a list.
fn element<T: FileElement>(text: &RawValue) -> Result<T, String> {
    let refused = || format!("{} is no value of type {}", shown_word(text.get()), T::DTYPE);
    let word = |text: &str| -> Option<T> {
        let is_text = text.starts_with('"');
        let value = T::parse(text.trim_matches('"'))?;
        // A number is finite, and a text is not.
        (value.isfinite() != is_text).then_some(value)
    };
    let found = match text.get().as_bytes() {
        [b'[', ..] => parts(text).and_then(|[re, im]| T::from_number(lacuna::Number::Complex(re, im))),
        _ => word(text.get()),
    };
    found.ok_or_else(refused)
}

/// The parts of a complex number.
fn parts(text: &RawValue) -> Option<[f64; 2]> {
    let parts: [&RawValue; 2] = serde_json::from_str(text.get()).ok()?;
    Some([element(parts[0]).ok()?, element(parts[1]).ok()?])
}
