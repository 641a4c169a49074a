//! Graphs of dynamically typed tensors and arrays.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use ndarray::{ArcArray, Axis, IxDyn, Slice};

use super::arrays::SplitArray;
use super::call::{Arg, Call};
use super::node::{Node, StepImpl};
use super::source::{Bins, ByRanges, ErasedValue, counts, counts_of_all, downcast, slices};
use super::value::{ByChunks, Chunked, Gather, Gathered, Kind, piece};
use super::{Lazy, Value, lengths};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Width;
use crate::base::sealed::Sealed;
use crate::base::shape::Shape;
use crate::convert::dense_array;
use crate::dispatch;
use crate::dynamic::array::on_array;
use crate::dynamic::{AnyArray, AnyOperand, AnyTensor, AnyValue, Erased, chosen};
use crate::element::{Element, Number};
use crate::ops::moved::Moves;
use crate::pattern::{AnyPattern, AxisCoords, PartOf};
use crate::tensor::Tensor;

impl AnyTensor {
    /// Starts a lazy graph with this tensor.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<AnyValue> {
        Lazy::constant(self.clone().into())
    }
}

impl AnyArray {
    /// Starts a lazy graph with this array, without copying its elements.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<AnyValue> {
        Lazy::constant(self.clone().into())
    }
}

impl AnyValue {
    /// Starts a lazy graph with this tensor or array.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<AnyValue> {
        Lazy::constant(self.clone())
    }
}

impl Lazy<AnyValue> {
    /// Returns a custom step that reduces some axes.
    ///
    /// The step computes each position of the other axes independently. [`Chunks`](crate::lazy::Chunks) may split these
    /// other axes, so `f` of a chunk must equal the same chunk of the result of `f`. Two custom steps are never merged,
    /// even if they have the same inputs.
    ///
    /// The reduced axes are removed. With [`Axes::keep_dims`], they stay with length 1.
    ///
    /// ```
    /// use lacuna::dynamic::{AnyOperand, AnyTensor};
    /// use lacuna::{CooTensor, lazy::Chunks};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -1.5], 0.0)?;
    /// let sums = AnyTensor::from(x.clone()).lazy().custom_over("sums", 1, |part| AnyOperand::from(part).sum(1));
    /// let found = sums.on(Chunks::memory(64 << 20).positions(1)).collect()?;
    /// assert_eq!(found.into_tensor()?.into_coo::<f64, u32>()?, x.sum(1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn custom_over(
        &self,
        name: &'static str,
        axes: impl Into<Axes>,
        f: impl Fn(&AnyValue) -> Result<AnyValue> + Send + Sync + 'static,
    ) -> Lazy<AnyValue> {
        self.over(name, axes.into(), f)
    }
}

impl Sealed for AnyValue {}

impl Value for AnyValue {
    const KIND: &'static dyn Kind = &ANY;
}

/// The kind of values of graphs that are not constructed from expressions.
static ANY: AnyKind = AnyKind { kit: |_| None, element: |_| None };

/// The kind of dynamically typed values, with the implementations that gradients use. Expressions have all
/// implementations.
pub(crate) struct AnyKind {
    /// Finds the implementation of an operation.
    pub(crate) kit: fn(&Call) -> Option<StepImpl>,
    /// Returns a number as an element.
    pub(crate) element: fn(f64) -> Option<Arg>,
}

impl Kind for AnyKind {
    fn format(&self) -> &'static str {
        "tensor or array"
    }

    fn shape(&self, value: &ErasedValue) -> Shape {
        downcast::<AnyValue>(value).shape()
    }

    fn bytes(&self, value: &ErasedValue) -> usize {
        AnyOperand::from(downcast::<AnyValue>(value)).held_bytes()
    }

    fn choose(&self, value: &ErasedValue, moves: &dyn Fn(&[usize]) -> Result<Moves>) -> Result<ErasedValue> {
        let x = downcast::<AnyValue>(value);
        chosen(x.into(), &moves(&x.shape())?).map(|found| Arc::new(found) as ErasedValue)
    }

    fn is_dynamic(&self) -> bool {
        true
    }

    fn kit(&self, call: &Call, _: &[Arc<Node>]) -> Option<StepImpl> {
        (self.kit)(call)
    }

    fn element(&self, number: f64) -> Option<Arg> {
        (self.element)(number)
    }

    fn mover(&self) -> Option<StepImpl> {
        Some(StepImpl::new(&ANY, |node, inputs| {
            ANY.choose(&inputs[0], &|lengths| lengths::moves(node.args(), lengths))
        }))
    }

    fn by_chunks(&self) -> Option<&dyn ByChunks> {
        Some(self)
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&ANY)
    }
}

impl ByChunks for AnyKind {
    fn count(&self, value: &ErasedValue) -> usize {
        stored(downcast(value))
    }

    fn pieces<'a>(&self, value: &'a ErasedValue) -> Option<Box<dyn Chunked + 'a>> {
        match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => Some(dispatch!(x, x => Box::new(SplitAnyTensor(x.clone())))),
            AnyValue::Array(x) => on_array!(x, x => {
                Some(Box::new(SplitArray(x.as_slice()?, |piece| held(AnyArray::from(piece)))) as Box<dyn Chunked>)
            }),
        }
    }

    fn gather(&self, count: usize, piece: &ErasedValue) -> Result<Box<dyn Gather>> {
        match downcast::<AnyValue>(piece) {
            AnyValue::Tensor(piece) => dispatch!(piece, piece => gathered(piece, count)),
            AnyValue::Array(piece) => on_array!(piece, piece => gathered_array(piece, count)),
        }
    }

    fn pattern(&self, value: &ErasedValue) -> ErasedValue {
        match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => Arc::new(x.pattern()),
            AnyValue::Array(x) => Arc::new(Shape::from(x.shape())),
        }
    }

    fn recycle(&self, piece: ErasedValue) {
        if let Some(Ok(AnyValue::Tensor(piece))) = piece.downcast::<AnyValue>().ok().map(Arc::try_unwrap) {
            dispatch!(piece, x => x.into_shared_values().recycle());
        }
    }
}

/// Returns the number of stored elements.
fn stored(x: &AnyValue) -> usize {
    match x {
        AnyValue::Tensor(x) => x.nnz(),
        AnyValue::Array(x) => x.len(),
    }
}

/// A tensor that is split into chunks of its format.
struct SplitAnyTensor<T>(Erased<T>);

impl<T: Element> Chunked for SplitAnyTensor<T> {
    fn piece(&self, entries: Range<usize>, stencil: &mut Option<ErasedValue>) -> Result<ErasedValue> {
        Ok(held(AnyTensor::from(piece(self.0.sparse(), entries, stencil)?)))
    }
}

/// Returns the pattern of the first position, or an empty pattern if `count` is 0.
fn first_position(shape: &Shape, count: usize) -> AnyPattern {
    let coords = shape.iter().map(|_| AxisCoords::from(vec![0_u64; count])).collect();
    AnyPattern::valid_coo(shape.clone(), count, Width::U64, coords)
}

/// Returns the fill of a chunk that has unstored positions. Only such a chunk has the fill of the entire tensor.
fn fill_if_used(part: &AnyValue) -> Option<Number> {
    match part {
        AnyValue::Tensor(x) if x.shape().wide_size() > x.nnz() as u128 => Some(x.fill()),
        _ => None,
    }
}

fn held(value: impl Into<AnyValue>) -> ErasedValue {
    Arc::new(value.into())
}

fn gathered<T: Element>(_: &Erased<T>, count: usize) -> Result<Box<dyn Gather>> {
    let whole = |pattern: &ErasedValue, elements, fill| {
        let pattern = pattern.downcast_ref::<AnyPattern>()?.clone();
        Some(held(AnyTensor::from(Tensor::from_valid(pattern, elements, fill))))
    };
    Ok(Box::new(Gathered::<T>::new(count, elements_of::<T>, whole)?))
}

fn gathered_array<T: Element>(_: &ArcArray<T, IxDyn>, count: usize) -> Result<Box<dyn Gather>> {
    let whole = |shape: &ErasedValue, elements, _| {
        Some(held(AnyArray::from(dense_array::<T>(shape.downcast_ref::<Shape>()?, elements))))
    };
    Ok(Box::new(Gathered::<T>::new(count, elements_of::<T>, whole)?))
}

/// Returns the elements of a chunk, and the fill. All chunks have one element type.
fn elements_of<T: Element>(piece: &ErasedValue) -> (&[T], T) {
    let alike = "chunks have one type, and their elements are in order";
    match downcast::<AnyValue>(piece) {
        AnyValue::Tensor(x) => {
            let x: &dyn Any = dispatch!(x, x => x);
            let x = x.downcast_ref::<Erased<T>>().expect(alike);
            (x.values(), x.fill())
        }
        AnyValue::Array(x) => (x.view().and_then(|x| x.to_slice()).expect(alike), T::ZERO),
    }
}

impl ByRanges for AnyKind {
    fn slice(&self, value: &ErasedValue, axis: usize, range: Range<usize>) -> Result<ErasedValue> {
        Ok(match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => held(x.slice(&slices(x.shape(), axis, range))?),
            AnyValue::Array(x) => on_array!(x, x => {
                held(AnyArray::from(x.slice_axis(Axis(axis), Slice::from(range)).to_owned()))
            }),
        })
    }

    fn join(&self, axis: usize, values: &[ErasedValue]) -> Result<ErasedValue> {
        let values: Vec<&AnyValue> = values.iter().map(downcast).collect();
        let fill = values.iter().find_map(|part| fill_if_used(part));
        let with_it = |&part: &&AnyValue| match (part, fill) {
            (AnyValue::Tensor(x), Some(fill)) if fill_if_used(part).is_none() => Ok(x.with_fill(fill)?.into()),
            // Every chunk stores all of its positions.
            (AnyValue::Tensor(x), None) if values.iter().any(|part| matches!(part, AnyValue::Array(_))) => {
                Ok(AnyOperand::from(x).to_array()?.into())
            }
            _ => Ok(part.clone()),
        };
        let parts = values.iter().map(with_it).collect::<Result<Vec<AnyValue>>>()?;
        Ok(Arc::new(AnyOperand::concat(axis, &parts.iter().map(AnyOperand::from).collect::<Vec<_>>())?))
    }

    fn counts(&self, value: &ErasedValue, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => counts(&x.pattern(), axis, bins),
            AnyValue::Array(x) => Ok(counts_of_all(x.shape(), axis, bins)),
        }
    }

    fn stored(&self, value: &ErasedValue) -> usize {
        stored(downcast(value))
    }

    fn part_of(&self, value: &ErasedValue, whole: Option<PartOf>) -> ErasedValue {
        match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => dispatch!(x, x => {
                let pattern = x.pattern();
                let part_of = whole.map(|whole| Arc::new(whole.merged_with(pattern.part_of())));
                let pattern = pattern.clone().with_part_of(part_of);
                held(AnyTensor::from(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill())))
            }),
            AnyValue::Array(x) => held(x.part_of(whole.and_then(|whole| whole.lengths))),
        }
    }

    fn recycle(&self, value: ErasedValue) {
        if let Some(Ok(AnyValue::Tensor(value))) = value.downcast::<AnyValue>().ok().map(Arc::try_unwrap) {
            dispatch!(value, x => x.recycle());
        }
    }

    fn is_streamed(&self) -> bool {
        true
    }

    fn first(&self, value: &ErasedValue, shape: &Shape) -> Result<Option<[ErasedValue; 2]>> {
        let (first, pattern) = match downcast::<AnyValue>(value) {
            AnyValue::Tensor(x) => {
                let first = x.first_in(shape)?;
                let pattern = first.pattern();
                (held(first), pattern)
            }
            AnyValue::Array(x) => {
                let first = if x.is_empty() { AnyOperand::from(x).reshape(shape.clone())? } else { x.clone().into() };
                (held(first), first_position(shape, x.len().min(1)))
            }
        };
        Ok(Some([first, Arc::new(pattern)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CooTensor;

    /// Tests counts by coordinates, because a short range of positions can have all entries.
    #[test]
    fn entries_are_counted_where_they_stand() {
        let x = CooTensor::new([4, 2], vec![vec![0, 0, 3], vec![0, 1, 1]], vec![1, 2, 3], 0).unwrap();
        let x = x.with_index::<u64>().unwrap();
        let counts = |held: ErasedValue, kind: &dyn Kind, axis| {
            kind.by_ranges().unwrap().counts(&held, axis, &Bins::new(0..[4, 2][axis], 4)).unwrap()
        };
        for (axis, expected) in [(0, vec![2, 0, 0, 1]), (1, vec![1, 2])] {
            assert_eq!(counts(held(AnyTensor::from(x.clone())), AnyValue::KIND, axis), expected);
            assert_eq!(counts(held(AnyTensor::from(x.to_csr().unwrap())), AnyValue::KIND, axis), expected);
        }
    }
}
