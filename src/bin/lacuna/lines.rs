//! The option `eval --jsonl`: each line of stdin is a JSON object with an expression and its tensors. Each answer is a
//! JSON object on a line of stdout.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::path::Path;

use lacuna::dynamic::{AnyOperand, AnyValue, Format};
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
            Ok(result) => Summary::new((&result).into()).json(Some(usize::MAX), &mut output),
            Err(message) => {
                let answer = serde_json::json!({ "error": message });
                serde_json::to_writer(&mut output, &answer).map_err(Into::into).and_then(|()| writeln!(output))
            }
        };
        // The client waits for the answer.
        written.and_then(|()| output.flush()).map_err(|error| Failure::of_target(Path::new("-"), error))?;
    }
}

/// Evaluates the expression on a line; an error is a message.
fn value(line: &[u8], programs: &mut Programs) -> Result<AnyValue, String> {
    let line = std::str::from_utf8(line).map_err(|error| format!("the line is not UTF-8: {error}"))?;
    let Line(members) =
        serde_json::from_str(line).map_err(|error| format!("the line is not a JSON object: {error}"))?;
    let text = members.get("eval").ok_or("the line has no \"eval\"")?;
    let text: String = serde_json::from_str(text.get()).map_err(|_| "\"eval\" must be a string, the expression")?;
    let expression = programs.get(&text).map_err(|fault| fault.to_string())?;
    let mut operands = HashMap::new();
    for (name, given) in members.iter().filter(|(name, _)| *name != "eval") {
        let operand = operand(given).map_err(|why| format!("{}: {why}", shown_word(name)))?;
        operands.insert(name.as_ref(), operand);
    }
    expression.evaluate(|name| operands.get(name).cloned()).map_err(|fault| fault.to_string())
}

/// The members of a JSON object, each in textual form; names are unique.
struct Line<'a>(HashMap<Cow<'a, str>, &'a RawValue>);

impl<'de> Deserialize<'de> for Line<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineVisitor;

        impl<'de> Visitor<'de> for LineVisitor {
            type Value = Line<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line<'de>, A::Error> {
                let mut members = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if let Some(_first) = members.insert(Cow::Owned(name), value) {
                        return Err(A::Error::custom("a name is repeated"));
                    }
                }
                Ok(Line(members))
            }
        }

        deserializer.deserialize_map(LineVisitor)
    }
}

/// A tensor in the input format. The answers use the same format.
#[derive(Deserialize)]
struct JsonTensor<'a> {
    shape: Vec<usize>,
    dtype: Cow<'a, str>,
    format: Option<Cow<'a, str>>,
    #[serde(borrow)]
    fill: Option<&'a RawValue>,
    #[serde(borrow, alias = "values")]
    entries: Vec<(Vec<usize>, &'a RawValue)>,
}

/// The members of a [`JsonTensor`] in textual form, to find the wrong member of a tensor.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    shape: Option<&'a RawValue>,
    #[serde(borrow)]
    dtype: Option<&'a RawValue>,
    #[serde(borrow)]
    format: Option<&'a RawValue>,
    #[serde(borrow, alias = "values")]
    entries: Option<&'a RawValue>,
}

/// Describes the wrong part of a tensor that could not be parsed.
fn wrong_part(text: &RawValue) -> Option<String> {
    if !text.get().starts_with('{') {
        let found = shown_word(text.get());
        return Some(format!("{found} is not an object with \"shape\", \"dtype\" and \"entries\""));
    }
    let parts: Parts<'_> = serde_json::from_str(text.get()).ok()?;
    let missing = [("shape", parts.shape), ("dtype", parts.dtype), ("entries", parts.entries)];
    if let Some((name, _)) = missing.iter().find(|(_, part)| part.is_none()) {
        return Some(format!("the tensor has no \"{name}\""));
    }
    let shape = match wrong_shape(parts.shape?) {
        Ok(shape) => shape,
        Err(wrong) => return Some(wrong),
    };
    let wrong = wrong_name("dtype", parts.dtype).or_else(|| wrong_name("format", parts.format));
    wrong.or_else(|| wrong_entries(parts.entries?, &shape))
}

/// Describes a name that is not a string.
fn wrong_name(name: &str, part: Option<&RawValue>) -> Option<String> {
    let part = part.filter(|part| !part.get().starts_with('"'))?;
    Some(format!("\"{name}\" must be a string, found {}", shown_word(part.get())))
}

/// Returns the lengths of the axes, or a description of the first wrong length.
fn wrong_shape(text: &RawValue) -> Result<Vec<usize>, String> {
    let Ok(lengths) = serde_json::from_str::<Vec<&RawValue>>(text.get()) else {
        return Err(format!("\"shape\" must be a list of lengths, found {}", shown_word(text.get())));
    };
    let length = |(axis, text): (usize, &&RawValue)| {
        let found = || format!("shape[{axis}] = {} is not an integer from 0 to {}", shown_word(text.get()), usize::MAX);
        text.get().parse().map_err(|_| found())
    };
    lengths.iter().enumerate().map(length).collect()
}

/// Describes the first wrong entry of a list.
fn wrong_entries(text: &RawValue, shape: &[usize]) -> Option<String> {
    match serde_json::from_str::<Vec<&RawValue>>(text.get()) {
        Ok(entries) => entries.into_iter().enumerate().find_map(|entry| wrong_entry(entry, shape)),
        Err(_) => Some(format!("\"entries\" must be a list, found {}", shown_word(text.get()))),
    }
}

/// Describes an entry that is not coordinates with a value.
fn wrong_entry((entry, text): (usize, &RawValue), shape: &[usize]) -> Option<String> {
    let Ok((coords, _)) = serde_json::from_str::<(Vec<&RawValue>, &RawValue)>(text.get()) else {
        let found = shown_word(text.get());
        return Some(format!(
            "entries[{entry}] = {found} is not a list of coordinates and a value, such as [[0, 1], 2.5]"
        ));
    };
    let axis = coords.iter().position(|coord| coord.get().parse::<usize>().is_err())?;
    let last = match shape.get(axis) {
        Some(&length) if length > 0 => length - 1,
        _ => usize::MAX,
    };
    let found = shown_word(coords[axis].get());
    Some(format!("entries[{entry}][0][{axis}] = {found} is not an integer from 0 to {last}, the range of axis {axis}"))
}

fn operand(text: &RawValue) -> Result<AnyValue, String> {
    let given = serde_json::from_str::<JsonTensor<'_>>(text.get());
    let given = given.map_err(|error| wrong_part(text).unwrap_or_else(|| error.to_string()))?;
    let no_type = || format!("unknown element type {}", shown_word(&given.dtype));
    let dtype = DType::from_name(&given.dtype).ok_or_else(no_type)?;
    let format = match given.format.as_deref() {
        None | Some("coo") => Some(Format::Coo),
        Some("csr") => Some(Format::Csr),
        Some("dense") => None,
        Some(other) => return Err(format!("unknown format {}", shown_word(other))),
    };
    let tensor = dispatch_dtype!(dtype, T => typed::<T>(&given), else => Err(no_type()))?;
    let operand = match format {
        Some(format) => tensor.into_format(format).map(AnyValue::from),
        None => AnyOperand::from(&tensor).to_array().map(AnyValue::from),
    };
    operand.map_err(|error| error.to_string())
}

/// Returns the tensor with elements of type `T`.
fn typed<T: FileElement>(given: &JsonTensor<'_>) -> Result<AnyTensor, String> {
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

/// Parses a JSON value: a number; NaN and infinities as strings; a complex number as a list of two parts.
fn element<T: FileElement>(text: &RawValue) -> Result<T, String> {
    let refused = || format!("{} is not a value of type {}", shown_word(text.get()), T::DTYPE);
    let word = |text: &str| -> Option<T> {
        let is_text = text.starts_with('"');
        let value = T::parse(text.trim_matches('"'))?;
        // A JSON number must be finite, and a string must not be finite.
        (value.isfinite() != is_text).then_some(value)
    };
    let found = match text.get().as_bytes() {
        [b'[', ..] => parts(text).and_then(|[re, im]| T::from_number(lacuna::Number::Complex(re, im))),
        _ => word(text.get()),
    };
    found.ok_or_else(refused)
}

/// Returns the two parts of a complex number.
fn parts(text: &RawValue) -> Option<[f64; 2]> {
    let parts: [&RawValue; 2] = serde_json::from_str(text.get()).ok()?;
    Some([element(parts[0]).ok()?, element(parts[1]).ok()?])
}
