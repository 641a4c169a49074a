//! Operands that are broadcast along axes of a tensor whose entries an engine reads one by one.
//!
//! Each operand stores every element, and results have the entries of the tensor that is read. An engine therefore
//! looks up one element per entry, and does not compute a pattern.

use std::sync::Arc;

use super::columns::ByBytes;
use super::node::{ErasedValue, Node};
use crate::base::alloc;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::DType;

/// A tensor that stores every element, for lookups by an engine.
#[derive(Clone)]
pub struct Side {
    lengths: Vec<usize>,
    width: usize,
    bytes: Arc<[u8]>,
}

/// Returns the error for a request of an engine that does not match the plan.
pub(super) fn unlike(why: &str) -> Error {
    Error::Argument { operation: "on", why: why.into() }
}

impl Side {
    /// Returns a tensor with these lengths.
    ///
    /// `bytes` are the elements in row-major order, with `width` bytes per element.
    ///
    /// # Errors
    ///
    /// `Argument`: the number of elements differs from the number of positions, or `width` is 0.
    pub fn new(lengths: Vec<usize>, width: usize, bytes: Arc<[u8]>) -> Result<Self> {
        let positions = lengths.iter().try_fold(1, |size: usize, &length| size.checked_mul(length));
        match positions.and_then(|positions| positions.checked_mul(width)) == Some(bytes.len()) && width > 0 {
            true => Ok(Side { lengths, width, bytes }),
            false => Err(unlike("an operand combined with the source does not have one element per position")),
        }
    }

    /// Returns the lengths of the axes.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Returns the bytes per element.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns all elements in row-major order.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the elements at the positions of some entries, in order.
    ///
    /// `coords` are the coordinates of `count` entries, axis by axis. Coordinates along broadcast axes are ignored.
    ///
    /// # Errors
    ///
    /// `Argument`: a coordinate is out of range for an axis that is not broadcast.
    pub fn at(&self, coords: &[Vec<u64>], count: usize) -> Result<Vec<u8>> {
        let outside = || unlike("an entry is outside the operand combined with it");
        let own = coords.get(coords.len().wrapping_sub(self.lengths.len())..).ok_or_else(outside)?;
        let mut found = alloc::with_capacity(count.saturating_mul(self.width))?;
        for entry in 0..count {
            let mut position = 0;
            for (&length, coords) in self.lengths.iter().zip(own).filter(|(length, _)| **length != 1) {
                let coord = usize::try_from(coords[entry]).ok().filter(|&coord| coord < length);
                position = position * length + coord.ok_or_else(outside)?;
            }
            let start = position * self.width;
            found.extend_from_slice(self.bytes.get(start..start + self.width).ok_or_else(outside)?);
        }
        Ok(found)
    }
}

/// A broadcast operand of some steps, and the fill of its chunks.
pub(super) struct BroadcastOperand {
    kind: &'static dyn ByBytes,
    pub(super) value: ErasedValue,
    lengths: Vec<usize>,
    /// A chunk without elements, which has the fill.
    pub(super) none: Option<ErasedValue>,
}

impl BroadcastOperand {
    /// Returns the operand with the value of a node. Rejects a value that does not store every element.
    pub(super) fn new(node: &Node, value: &ErasedValue) -> Result<Self> {
        let kind = node.kind.by_bytes().ok_or_else(|| unlike("an operand is not a tensor of one element type"))?;
        let shape = node.kind.shape(value);
        let stored = kind.values(value).len() / kind.width().max(1);
        match stored as u128 == shape.wide_size() {
            true => Ok(BroadcastOperand { kind, value: Arc::clone(value), lengths: shape.to_vec(), none: None }),
            false => Err(unlike("a repeated operand does not store every element")),
        }
    }

    /// Returns all elements, for lookups by an engine.
    pub(super) fn side(&self) -> Side {
        let bytes = self.kind.values(&self.value).into();
        Side { lengths: self.lengths.clone(), width: self.kind.width(), bytes }
    }

    /// Returns the element type, and the bytes of the fill of chunks.
    pub(super) fn dtype_and_fill(&self) -> (DType, Vec<u8>) {
        (self.kind.dtype(), self.none.as_ref().map_or(Vec::new(), |none| self.kind.fill_bytes(none)))
    }

    /// Returns a chunk with these elements, given as bytes. If `has_unstored`, the chunk ends with an unstored
    /// position.
    pub(super) fn piece(&self, bytes: &[u8], has_unstored: bool) -> Result<ErasedValue> {
        let none = self.none.as_ref().ok_or_else(|| unlike("an operand is not used by a step"))?;
        self.kind.piece(none, bytes, has_unstored)
    }

    /// Returns the possible fills of chunks: the fills of inputs in `beside`, and the first element of the operand.
    fn fills(&self, inputs: &[StepInput<'_>]) -> Result<Vec<ErasedValue>> {
        if let Some(none) = &self.none {
            return Ok(vec![Arc::clone(none)]);
        }
        let alike = inputs.iter().filter_map(|input| match input {
            StepInput::Entries(kind, none) if kind.dtype() == self.kind.dtype() => Some(Arc::clone(none)),
            _ => None,
        });
        let mut fills: Vec<ErasedValue> = alike.collect();
        if let Some(first) = self.kind.values(&self.value).get(..self.kind.width()) {
            fills.push(self.kind.filled(first)?);
        }
        Ok(fills)
    }
}

/// An input of a step: a chunk without entries, or a broadcast operand by index.
enum StepInput<'a> {
    Entries(&'static dyn ByBytes, &'a ErasedValue),
    Side(usize),
}

/// The column functions and an empty chunk of each input and step; `None` for a broadcast operand.
pub(super) type Nones = Vec<Option<(&'static dyn ByBytes, ErasedValue)>>;

/// Runs steps on no entries, and appends the resulting chunks to the chunks of the inputs.
///
/// Each step has the indices of its inputs; broadcast operands have the indices from `first` on. Sets the fills of
/// broadcast operands so that chunks give the same results as the entire operands. Rejects a step whose entries may
/// differ from the entries of its inputs of this shape.
pub(super) fn without_entries<'a>(
    steps: impl Iterator<Item = (&'a Node, &'a [usize])>,
    mut values: Nones,
    (first, sides): (usize, &mut [BroadcastOperand]),
    (shape, has_unstored): (&Shape, bool),
) -> Result<Nones> {
    for (node, inputs) in steps {
        let input = |&at: &usize| match &values[at] {
            Some((kind, none)) => StepInput::Entries(*kind, none),
            None => StepInput::Side(at - first),
        };
        let inputs: Vec<StepInput<'_>> = inputs.iter().map(input).collect();
        let found = on_entries(node, &inputs, sides, shape, has_unstored)?;
        let kind = node.kind.by_bytes().ok_or_else(|| unlike("it is not a tensor of one element type"))?;
        values.push(Some((kind, found)));
    }
    Ok(values)
}

/// Runs one step on no entries.
fn on_entries(
    node: &Node,
    inputs: &[StepInput<'_>],
    sides: &mut [BroadcastOperand],
    shape: &Shape,
    has_unstored: bool,
) -> Result<ErasedValue> {
    let own: Vec<usize> =
        inputs.iter().filter_map(|input| if let StepInput::Side(at) = input { Some(*at) } else { None }).collect();
    if own.is_empty() {
        return node.run(&pieces(inputs, sides, has_unstored)?);
    }
    let whole = inputs.iter().map(|input| match input {
        StepInput::Entries(kind, none) => kind.none(none, shape),
        StepInput::Side(side) => Ok(Arc::clone(&sides[*side].value)),
    });
    let found = node.run(&whole.collect::<Result<Vec<_>>>()?)?;
    let kind = node.kind.by_bytes().ok_or_else(|| unlike("it is not a tensor of one element type"))?;
    if !kind.values(&found).is_empty() {
        return Err(unlike("it stores elements where the source has none"));
    }
    let fills = own.iter().map(|&at| sides[at].fills(inputs)).collect::<Result<Vec<_>>>()?;
    for choice in 0..fills.iter().map(Vec::len).product() {
        let mut choice: usize = choice;
        for (&at, fills) in own.iter().zip(&fills) {
            sides[at].none = Some(Arc::clone(&fills[choice % fills.len()]));
            choice /= fills.len();
        }
        if let Ok(piece) = node.run(&pieces(inputs, sides, has_unstored)?)
            && kind.fill(&piece).to_string() == kind.fill(&found).to_string()
        {
            return Ok(piece);
        }
    }
    Err(unlike("its fill differs from the fill of its chunks"))
}

/// Returns the inputs as chunks without entries.
fn pieces(inputs: &[StepInput<'_>], sides: &[BroadcastOperand], has_unstored: bool) -> Result<Vec<ErasedValue>> {
    let piece = |input: &StepInput<'_>| match input {
        StepInput::Entries(kind, none) => kind.piece(none, &[], has_unstored),
        StepInput::Side(side) => sides[*side].piece(&[], has_unstored),
    };
    inputs.iter().map(piece).collect()
}

/// Returns whether the value of a step has the entries of an input.
pub(super) fn has_entries_of(node: &Node, found: &ErasedValue, input: usize, inputs: &[ErasedValue]) -> bool {
    let of_input = node.inputs.get(input).and_then(|input| input.kind.by_chunks()).zip(inputs.get(input));
    let pattern = of_input.map(|(kind, value)| kind.pattern(value));
    node.kind.by_chunks().zip(pattern).is_some_and(|(kind, pattern)| kind.has_pattern(found, &pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_looked_up_along_the_axes_that_are_not_repeated() {
        let column = Side::new(vec![3, 1], 2, Arc::from(*b"aabbcc")).unwrap();
        let coords = [vec![9, 9, 9], vec![2, 0, 1], vec![5, 6, 7]];
        assert_eq!(column.at(&coords, 3).unwrap(), *b"ccaabb");
        let number = Side::new(Vec::new(), 1, Arc::from(*b"x")).unwrap();
        assert_eq!((number.at(&coords, 3).unwrap(), number.at(&[], 1).unwrap()), (b"xxx".to_vec(), b"x".to_vec()));
        assert!(column.at(&[vec![3], vec![0]], 1).is_err() && column.at(&coords[..1], 3).is_err());
        assert!(
            Side::new(vec![2], 2, Arc::from(*b"aab")).is_err()
                && Side::new(vec![usize::MAX, 3], 1, Arc::from(*b"")).is_err()
        );
    }
}
