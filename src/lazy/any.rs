//! Graphs over tensors whose types are known at run time only.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::node::InPieces;
use super::shares::{self, Shares};
use super::source::{Bins, ByRanges, Held, counts, known, slices};
use super::value::{ByPieces, Gather, Gathered, Kind, Move, Pieced, Pieces, Sealed, piece};
use super::{Lazy, Value};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::shape::Shape;
use crate::dispatch;
use crate::dynamic::{AnyTensor, Erased, Poured, PouredFold, chosen, on_type};
use crate::element::{DType, Element};
use crate::ops::moved::Moves;
use crate::pattern::PartOf;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;

impl AnyTensor {
    /// This tensor as the beginning of a graph.
    #[track_caller]
    pub fn lazy(&self) -> Lazy<AnyTensor> {
        Lazy::constant(self.clone())
    }
}

impl Lazy<AnyTensor> {
    /// A step of the user's own that reduces some axes, or goes along them, and treats positions along all others apart
    /// from each other: so [`Chunks`](crate::lazy::Chunks) may cut these. `f` of a part must be the part of `f`. Two of
    /// them are never taken for one.
    ///
    /// The axes that are reduced go, or stay with length 1 as [`Axes::keep_dims`] has it.
    ///
    /// ```
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::{CooTensor, lazy::Chunks};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -1.5], 0.0)?;
    /// let sums = AnyTensor::from(x.clone()).lazy().custom_over("sums", 1, |part| part.sum(1));
    /// let found = sums.on(Chunks::memory(64 << 20).positions(1)).collect()?;
    /// assert_eq!(found.into_coo::<f64, u32>()?, x.sum(1)?);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    #[track_caller]
    pub fn custom_over(
        &self,
        name: &'static str,
        axes: impl Into<Axes>,
        f: impl Fn(&AnyTensor) -> Result<AnyTensor> + Send + Sync + 'static,
    ) -> Lazy<AnyTensor> {
        self.over(name, axes.into(), f)
    }
}

impl Lazy<AnyTensor> {
    /// The same step, of which nobody knows yet, with what it is of an operand that comes in parts.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // the steps of expressions
    pub(crate) fn folding(self, fold: PouredFold) -> Self {
        let operand = self.node.inputs.first().and_then(|operand| operand.shape.as_ref());
        let reduction = operand.and_then(|shape| Reduction::new(shape, fold.options.axes()).ok());
        // All elements of one cell may come in parts wherever its axes stand.
        let may_be_fed = |reduction: Reduction| reduction.is_fed() || reduction.result_shape().wide_size() == 1;
        self.with_pieces(reduction.is_some_and(may_be_fed), move |feed| {
            let pattern = feed.pattern.downcast_ref()?;
            let parts = |entries, take: &mut dyn FnMut(&AnyTensor)| (feed.run)(entries, &mut |part| take(known(part)));
            let InPieces { is_poured, most, picoseconds, .. } = *feed;
            Some(fold.run(Poured { pattern, none: known(feed.none), parts: &parts, is_poured, most, picoseconds }))
        })
    }
}

/// The share of its operand that a range of the result of a move takes.
pub(crate) fn moved_by(plan: impl Fn(&[usize]) -> Result<Moves> + Send + Sync + 'static) -> Shares {
    let choose = |x: &Held, moves: &dyn Fn(&[usize]) -> Moves| {
        let x = known::<AnyTensor>(x);
        chosen(x, &moves(x.shape())).map(|found| Arc::new(found) as Held)
    };
    shares::moved_by(move |lengths| plan(lengths).ok(), choose)
}

impl Sealed for AnyTensor {}

impl Value for AnyTensor {
    const KIND: &'static dyn Kind = &OfAny;
}

struct OfAny;

impl Kind for OfAny {
    fn dtype(&self) -> Option<DType> {
        None
    }

    fn format(&self) -> &'static str {
        "tensor"
    }

    fn shape(&self, value: &Held) -> Shape {
        known::<AnyTensor>(value).shape().clone()
    }

    fn bytes(&self, value: &Held) -> usize {
        known::<AnyTensor>(value).stored_bytes()
    }

    fn remember(&self, value: &Held, _: Option<&Held>) -> Held {
        Arc::clone(value)
    }

    fn forget(&self, value: &Held) -> Held {
        Arc::clone(value)
    }

    fn reads(&self, _: &Held) -> u64 {
        0
    }

    fn moved(&self, node: &Arc<super::Node>, to: Move) -> Option<Arc<super::Node>> {
        let (cut, plan) = (Arc::clone(&to.plan), Arc::clone(&to.plan));
        let run = move |x: &AnyTensor| chosen(x, &plan(x.shape())?);
        to.step_by(node, moved_by(move |lengths| cut(lengths)), run)
    }

    fn sum(&self, _: &Arc<super::Node>, _: &Arc<super::Node>) -> Option<Arc<super::Node>> {
        None
    }

    fn by_pieces(&self) -> Option<&dyn ByPieces> {
        Some(self)
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&OfAny)
    }
}

impl ByPieces for OfAny {
    fn count(&self, value: &Held) -> usize {
        known::<AnyTensor>(value).nnz()
    }

    fn pieces<'a>(&self, value: &'a Held) -> Option<Box<dyn Pieces + 'a>> {
        Some(on_type!(known::<AnyTensor>(value), x => Box::new(Cut(x.clone()))))
    }

    fn gather(&self, count: usize, piece: &Held) -> Result<Box<dyn Gather>> {
        on_type!(known::<AnyTensor>(piece), x => gathered(x, count))
    }

    fn pattern(&self, value: &Held) -> Held {
        Arc::new(known::<AnyTensor>(value).pattern())
    }

    fn spare(&self, piece: Held) {
        if let Some(Ok(piece)) = piece.downcast::<AnyTensor>().ok().map(Arc::try_unwrap) {
            on_type!(piece, x => x.into_shared_values().spare());
        }
    }
}

/// A tensor cut into pieces of its format.
struct Cut<T>(Erased<T>);

impl<T: Element> Pieces for Cut<T> {
    fn piece(&self, entries: Range<usize>, stencil: &mut Option<Held>) -> Result<Held> {
        Ok(Arc::new(AnyTensor::from(piece(self.0.sparse(), entries, stencil)?)))
    }
}

fn gathered<T: Element>(_: &Erased<T>, count: usize) -> Result<Box<dyn Gather>> {
    let whole = |pattern: &Held, elements, fill| {
        let whole = Erased::<T>::whole(pattern, elements, fill)?;
        Some(Arc::new(AnyTensor::from(whole)) as Held)
    };
    Ok(Box::new(Gathered::<T>::new(count, elements_of::<T>, whole)?))
}

/// The elements of a piece, of which all have one type.
fn elements_of<T: Element>(piece: &Held) -> (&[T], T) {
    let piece: &dyn Any = on_type!(known::<AnyTensor>(piece), x => x);
    let piece = piece.downcast_ref::<Erased<T>>().expect("pieces have one type");
    (piece.values(), piece.fill())
}

impl ByRanges for OfAny {
    fn cut(&self, value: &Held, axis: usize, range: Range<usize>) -> Result<Held> {
        let x = known::<AnyTensor>(value);
        Ok(Arc::new(x.slice(&slices(x.shape(), axis, range))?))
    }

    fn join(&self, axis: usize, values: &[Held]) -> Result<Held> {
        let values: Vec<&AnyTensor> = values.iter().map(known).collect();
        // A part that stores all of its positions has the fill of the others, which it could not know.
        let has_gaps = |part: &AnyTensor| part.shape().wide_size() > part.nnz() as u128;
        let fill = values.iter().find(|part| has_gaps(part)).map(|part| part.fill());
        let with_it = |&part: &&AnyTensor| match fill {
            Some(fill) if !has_gaps(part) => part.with_fill(fill),
            _ => Ok(part.clone()),
        };
        let values = values.iter().map(with_it).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(AnyTensor::concat(axis, &values.iter().collect::<Vec<_>>())?))
    }

    fn counts(&self, value: &Held, axis: usize, bins: &Bins) -> Result<Vec<u64>> {
        counts(&known::<AnyTensor>(value).pattern(), axis, bins)
    }

    fn stored(&self, value: &Held) -> usize {
        known::<AnyTensor>(value).nnz()
    }

    fn part_of(&self, value: &Held, whole: Option<PartOf>) -> Held {
        dispatch!(known::<AnyTensor>(value), x => {
            let pattern = x.pattern();
            let part_of = whole.map(|whole| Arc::new(whole.beside(pattern.part_of())));
            let pattern = pattern.clone().with_part_of(part_of);
            Arc::new(AnyTensor::from(Tensor::from_shared(pattern, x.shared_values().clone(), x.fill())))
        })
    }

    fn spare(&self, value: Held) {
        if let Some(Ok(value)) = value.downcast::<AnyTensor>().ok().map(Arc::try_unwrap) {
            on_type!(value, x => x.spare());
        }
    }

    fn is_poured(&self) -> bool {
        true
    }

    fn first(&self, value: &Held, shape: &Shape) -> Result<Option<[Held; 2]>> {
        let first = known::<AnyTensor>(value).first_in(shape)?;
        let pattern = first.pattern();
        Ok(Some([Arc::new(first), Arc::new(pattern)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CooTensor;

    /// They were taken to be even, so that a range of few positions that hold all was believed small.
    #[test]
    fn entries_are_counted_where_they_stand() {
        let x = CooTensor::new([4, 2], vec![vec![0, 0, 3], vec![0, 1, 1]], vec![1, 2, 3], 0).unwrap();
        let x = x.with_index::<u64>().unwrap();
        let counts = |held: Held, kind: &dyn Kind, axis| {
            kind.by_ranges().unwrap().counts(&held, axis, &Bins::new(0..[4, 2][axis], 4)).unwrap()
        };
        for (axis, expected) in [(0, vec![2, 0, 0, 1]), (1, vec![1, 2])] {
            assert_eq!(counts(Arc::new(AnyTensor::from(x.clone())), AnyTensor::KIND, axis), expected);
            assert_eq!(counts(Arc::new(AnyTensor::from(x.to_csr().unwrap())), AnyTensor::KIND, axis), expected);
        }
    }
}
