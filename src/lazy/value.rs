//! The types of values in a graph, and functions on values of erased type.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::call::{Arg, Call};
use super::columns::{self, ByBytes};
use super::kit;
use super::node::{ErasedValue, Node, StepImpl, downcast};
use super::source::{ByRanges, PairRanges, TensorRanges};
use super::text::text_of_tensor;
use crate::base::alloc;
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width};
use crate::base::limit::default_limit;
use crate::base::sealed::Sealed;
use crate::base::shape::Shape;
use crate::base::{recycle, threads};
use crate::element::{DType, Element, Float, FloatVisitor, Number, Numeric};
use crate::kernels::steps::BLOCK;
use crate::ops::{self, moved::Moves};
use crate::pattern::{AnyPattern, AxisCoords, Format, Memo, Pattern, of_width};
use crate::plan::broadcast_match::BroadcastMatch;
use crate::tensor::Tensor;
use crate::tensor::erased::{Erased, SparseRef};

/// The value of a [`Lazy`](super::Lazy): a tensor, an array, or several results of one operation.
///
/// The trait is sealed.
pub trait Value: Clone + Send + Sync + 'static + Sealed {
    #[doc(hidden)]
    const KIND: &'static dyn Kind;
}

/// The functions of a type of values, on values of erased type.
#[doc(hidden)]
pub trait Kind: Any + Send + Sync {
    /// Returns the element type; `None` for several results.
    fn dtype(&self) -> Option<DType> {
        None
    }

    /// Returns the name of the format.
    fn format(&self) -> &'static str;

    fn shape(&self, value: &ErasedValue) -> Shape;

    /// Returns the bytes of memory that the value holds.
    fn bytes(&self, value: &ErasedValue) -> usize;

    /// Returns the value on a pattern that keeps plans. If the pattern equals `before`, the plans of `before` are
    /// reused.
    fn remember(&self, value: &ErasedValue, _before: Option<&ErasedValue>) -> ErasedValue {
        Arc::clone(value)
    }

    /// Returns the value on a pattern that does not keep plans.
    fn forget(&self, value: &ErasedValue) -> ErasedValue {
        Arc::clone(value)
    }

    /// Moves the elements of a tensor or an array. The moves depend on the lengths of the axes.
    fn choose(&self, _: &ErasedValue, _: &dyn Fn(&[usize]) -> Result<Moves>) -> Result<ErasedValue> {
        Err(Error::NoTensor)
    }

    /// Returns the implementation of moves, if the value is a tensor or an array.
    fn mover(&self) -> Option<StepImpl> {
        None
    }

    /// Returns one of several results.
    fn part(&self, value: &ErasedValue, _: usize) -> ErasedValue {
        Arc::clone(value)
    }

    fn kind_of_part(&self, _: usize) -> Option<&'static dyn Kind> {
        None
    }

    /// Returns the implementation of an operation that gradients use.
    fn kit(&self, _: &Call, _: &[Arc<Node>]) -> Option<StepImpl> {
        None
    }

    /// Returns whether the element type is known only when the graph runs.
    fn is_dynamic(&self) -> bool {
        false
    }

    /// Returns a number as an element.
    fn element(&self, _: f64) -> Option<Arg> {
        None
    }

    /// Returns a gradient on the pattern of its operand.
    fn at_entries(&self, _: &ErasedValue, gradient: ErasedValue) -> Result<ErasedValue> {
        Ok(gradient)
    }

    /// Returns the textual form of a tensor with its entries, if there is one.
    fn to_text(&self, _: &ErasedValue) -> Option<String> {
        None
    }

    /// Returns how often the coordinates of a pattern, or of the plans made from the pattern, were read.
    fn reads(&self, _pattern: &ErasedValue) -> u64 {
        0
    }

    /// Returns the functions on chunks of entries, if the value is a tensor or an array.
    fn by_chunks(&self) -> Option<&dyn ByChunks> {
        None
    }

    /// Returns the functions on chunks along an axis, if the value can be split.
    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        None
    }

    /// Returns the functions on entries as columns, if the type supports columns.
    fn by_bytes(&self) -> Option<&'static dyn ByBytes> {
        None
    }
}

/// The functions on chunks of entries, of a type of tensors or arrays.
#[doc(hidden)]
pub trait ByChunks: Send + Sync {
    /// Returns the number of stored elements.
    fn count(&self, value: &ErasedValue) -> usize;

    /// Returns the stored elements in chunks; `None` for an array that is not in row-major order.
    fn pieces<'a>(&self, value: &'a ErasedValue) -> Option<Box<dyn Chunked + 'a>>;

    /// Allocates memory for the elements of a value of the same type as a chunk.
    fn gather(&self, count: usize, piece: &ErasedValue) -> Result<Box<dyn Gather>>;

    /// Returns the pattern, or the shape of an array, with erased type.
    fn pattern(&self, value: &ErasedValue) -> ErasedValue;

    /// Releases the values of a chunk for reuse.
    fn recycle(&self, piece: ErasedValue);

    /// Returns whether a value has this pattern.
    fn has_pattern(&self, _value: &ErasedValue, _pattern: &ErasedValue) -> bool {
        false
    }

    /// Returns the elements of a broadcast tensor at the entries of a pattern, with the fill of `none`.
    ///
    /// Returns `None` if the value is not a tensor, or if it is a chunk of another tensor.
    fn broadcast<'a>(
        &self,
        _value: &'a ErasedValue,
        _pattern: &'a ErasedValue,
        _none: &ErasedValue,
    ) -> Result<Option<Box<dyn Chunked + 'a>>> {
        Ok(None)
    }
}

/// A tensor or an array that is split into chunks.
#[doc(hidden)]
pub trait Chunked: Sync {
    /// Returns the entries of a range as a tensor of rank 1. If `stencil` has the same length, `stencil` is the pattern
    /// of the result. Otherwise a new pattern replaces `stencil`.
    fn piece(&self, entries: Range<usize>, stencil: &mut Option<ErasedValue>) -> Result<ErasedValue>;
}

/// The values of a result that is computed in chunks.
#[doc(hidden)]
pub trait Gather: Send {
    /// Splits the values into runs that end at `ends`.
    fn parts(&mut self, ends: &[usize]) -> Vec<Box<dyn ValueWriter + '_>>;

    /// Returns the value, after all chunks are written.
    fn finish(self: Box<Self>, pattern: &ErasedValue) -> ErasedValue;
}

/// A run of values of a result.
#[doc(hidden)]
pub trait ValueWriter: Send {
    /// Writes the values of a chunk after the values that are already written.
    fn put(&mut self, piece: &ErasedValue);
}

impl<P: Pattern, T: Element> Value for Tensor<P, T> {
    const KIND: &'static dyn Kind = &TensorKind::<P, T>(PhantomData);
}

impl<A: Value, B: Value> Value for (A, B) {
    const KIND: &'static dyn Kind = &PairKind::<A, B>(PhantomData);
}

struct TensorKind<P, T>(PhantomData<fn() -> (P, T)>);

impl<P: Pattern, T: Element> Kind for TensorKind<P, T> {
    fn dtype(&self) -> Option<DType> {
        Some(T::DTYPE)
    }

    fn format(&self) -> &'static str {
        match P::FORMAT {
            Format::Coo => "coo",
            Format::Csr => "csr",
        }
    }

    fn shape(&self, value: &ErasedValue) -> Shape {
        downcast::<Tensor<P, T>>(value).shape().clone()
    }

    fn bytes(&self, value: &ErasedValue) -> usize {
        downcast::<Tensor<P, T>>(value).stored_bytes()
    }

    fn remember(&self, value: &ErasedValue, before: Option<&ErasedValue>) -> ErasedValue {
        let before = before.and_then(|before| before.downcast_ref::<P>());
        with_pattern(downcast::<Tensor<P, T>>(value), |pattern| remembered(pattern, before.map(Pattern::any)))
    }

    fn forget(&self, value: &ErasedValue) -> ErasedValue {
        with_pattern(downcast::<Tensor<P, T>>(value), |pattern| pattern.clone().with_memo(None))
    }

    fn reads(&self, pattern: &ErasedValue) -> u64 {
        pattern.downcast_ref::<P>().and_then(|pattern| pattern.any().memo()).map_or(0, |memo| memo.reads())
    }

    fn choose(&self, value: &ErasedValue, moves: &dyn Fn(&[usize]) -> Result<Moves>) -> Result<ErasedValue> {
        kit::choose::<Tensor<P, T>>(value, moves)
    }

    fn mover(&self) -> Option<StepImpl> {
        Some(kit::mover::<Tensor<P, T>>())
    }

    fn kit(&self, call: &Call, inputs: &[Arc<Node>]) -> Option<StepImpl> {
        kit::of_tensors::<P, T>(call, inputs)
    }

    fn element(&self, number: f64) -> Option<Arg> {
        T::from_number(Number::Real(number)).map(Arg::element)
    }

    fn at_entries(&self, of: &ErasedValue, gradient: ErasedValue) -> Result<ErasedValue> {
        let (x, g) = (downcast::<Tensor<P, T>>(of), downcast::<Tensor<P, T>>(&gradient));
        if x.pattern() == g.pattern() && g.fill().same(T::ZERO) {
            return Ok(gradient);
        }
        match at_entries(x.sparse(), g.sparse())? {
            Some(at) => Ok(Arc::new(Tensor::<P, T>::from_erased(at)?)),
            None => Ok(gradient),
        }
    }

    fn to_text(&self, value: &ErasedValue) -> Option<String> {
        text_of_tensor(downcast::<Tensor<P, T>>(value).sparse())
    }

    fn by_chunks(&self) -> Option<&dyn ByChunks> {
        Some(self)
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&TensorRanges::<P, T>(PhantomData))
    }

    fn by_bytes(&self) -> Option<&'static dyn ByBytes> {
        Some(&columns::TensorBytes::<P, T>(PhantomData))
    }
}

impl<P: Pattern, T: Element> ByChunks for TensorKind<P, T> {
    fn count(&self, value: &ErasedValue) -> usize {
        downcast::<Tensor<P, T>>(value).nnz()
    }

    fn pieces<'a>(&self, value: &'a ErasedValue) -> Option<Box<dyn Chunked + 'a>> {
        let x = downcast::<Tensor<P, T>>(value).sparse();
        Some(Box::new(Faces::<P, T>(Box::new(move |entries, stencil| piece(x, entries, stencil)), PhantomData)))
    }

    fn gather(&self, count: usize, _: &ErasedValue) -> Result<Box<dyn Gather>> {
        let elements: Elements<T> =
            |piece| (downcast::<Tensor<P, T>>(piece).values(), downcast::<Tensor<P, T>>(piece).fill());
        Ok(Box::new(Gathered::new(count, elements, |pattern, elements, fill| {
            Some(Arc::new(Tensor::from_valid(pattern.downcast_ref::<P>()?.clone(), elements, fill)))
        })?))
    }

    fn pattern(&self, value: &ErasedValue) -> ErasedValue {
        Arc::new(downcast::<Tensor<P, T>>(value).pattern().clone())
    }

    fn recycle(&self, piece: ErasedValue) {
        if let Some(Ok(piece)) = piece.downcast::<Tensor<P, T>>().ok().map(Arc::try_unwrap) {
            piece.into_shared_values().recycle();
        }
    }

    fn has_pattern(&self, value: &ErasedValue, pattern: &ErasedValue) -> bool {
        pattern.downcast_ref::<P>() == Some(downcast::<Tensor<P, T>>(value).pattern())
    }

    fn broadcast<'a>(
        &self,
        value: &'a ErasedValue,
        pattern: &'a ErasedValue,
        none: &ErasedValue,
    ) -> Result<Option<Box<dyn Chunked + 'a>>> {
        let (y, fill) = (downcast::<Tensor<P, T>>(value), downcast::<Tensor<P, T>>(none).fill());
        let Some(at) = pattern.downcast_ref::<P>() else { return Ok(None) };
        let Some(looked_up) = BroadcastLookup::new(y.sparse(), at.any(), fill)? else { return Ok(None) };
        let piece = move |entries, stencil: &mut Option<ErasedValue>| looked_up.piece(entries, stencil);
        Ok(Some(Box::new(Faces::<P, T>(Box::new(piece), PhantomData))))
    }
}

/// Returns the value on another pattern of its entries.
pub(super) fn with_pattern<P: Pattern, T: Element>(
    x: &Tensor<P, T>,
    of: impl FnOnce(&AnyPattern) -> AnyPattern,
) -> ErasedValue {
    let erased = Tensor::from_shared(of(x.pattern().any()), x.shared_values().clone(), x.fill());
    Arc::new(Tensor::<P, T>::from_erased(erased).expect("the shape is the same"))
}

/// Returns the pattern with a memo for plans. If `before` is the same pattern, its memo is reused.
fn remembered(pattern: &AnyPattern, before: Option<&AnyPattern>) -> AnyPattern {
    match before {
        Some(before) if before == pattern => {
            before.memo().into_iter().for_each(|memo| memo.next_run());
            before.clone()
        }
        _ => pattern.clone().with_memo(Some(Arc::<Memo>::default())),
    }
}

/// The chunks of a tensor, computed without the static type of the pattern.
struct Faces<'a, P, T>(Box<ErasedChunks<'a, T>>, PhantomData<fn() -> P>);

type ErasedChunks<'a, T> = dyn Fn(Range<usize>, &mut Option<ErasedValue>) -> Result<Erased<T>> + Sync + 'a;

impl<P: Pattern, T: Element> Chunked for Faces<'_, P, T> {
    fn piece(&self, entries: Range<usize>, stencil: &mut Option<ErasedValue>) -> Result<ErasedValue> {
        let piece = (self.0)(entries, stencil)?;
        Ok(Arc::new(Tensor::<P, T>::from_erased(piece)?))
    }
}

/// The elements of a broadcast tensor at the entries of a pattern.
struct BroadcastLookup<'a, T> {
    values: &'a [T],
    broadcast: BroadcastMatch<'a>,
    like: &'a AnyPattern,
    fill: T,
    has_unstored: bool,
}

impl<'a, T: Element> BroadcastLookup<'a, T> {
    /// Returns `None` if either tensor is a chunk of another tensor. Chunks must be combined by the patterns of the
    /// entire tensors.
    fn new(y: SparseRef<'a, T>, at: &'a AnyPattern, fill: T) -> Result<Option<Self>> {
        if at.part_of().or(y.pattern().part_of()).is_some() {
            return Ok(None);
        }
        let has_unstored = at.shape().wide_size() > at.nnz() as u128;
        let broadcast = BroadcastMatch::new(y.pattern(), at)?;
        Ok(Some(BroadcastLookup { values: y.values(), broadcast, like: at, fill, has_unstored }))
    }

    fn piece(&self, entries: Range<usize>, stencil: &mut Option<ErasedValue>) -> Result<Erased<T>> {
        let mut values = recycle::items(entries.len())?;
        let mut numbers = [0; BLOCK];
        for (slots, start) in values.chunks_mut(BLOCK).zip(entries.clone().step_by(BLOCK)) {
            let numbers = &mut numbers[..slots.len()];
            self.broadcast.number(start, numbers);
            slots.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = self.values[*number]);
        }
        let pattern = on_stencil(self.like, entries.len(), self.has_unstored, stencil)?;
        Ok(Tensor::from_valid(pattern, values, self.fill))
    }
}

/// Returns the upstream gradient at the entries of a tensor, with fill 0; `None` if the elements are not floats.
fn at_entries<T: Element>(x: SparseRef<'_, T>, gradient: SparseRef<'_, T>) -> Result<Option<Erased<T>>> {
    let both: [ErasedValue; 2] = [Arc::new(x.to_erased()), Arc::new(gradient.to_erased())];
    let found = T::if_float(AtEntries(&both)).transpose()?;
    Ok(found.map(|found| downcast::<Erased<T>>(&found).clone()))
}

struct AtEntries<'a>(&'a [ErasedValue; 2]);

impl FloatVisitor for AtEntries<'_> {
    type Out = Result<ErasedValue>;

    fn visit<F: Float + Numeric>(self) -> Result<ErasedValue> {
        let [x, g] = self.0.each_ref().map(downcast::<Erased<F>>);
        ops::any_backward(x, g, Axes::none()).map(|gradient| Arc::new(gradient) as ErasedValue)
    }
}

/// Returns consecutive entries of a tensor as a tensor of rank 1.
pub(super) fn piece<T: Element>(
    x: SparseRef<'_, T>,
    entries: Range<usize>,
    stencil: &mut Option<ErasedValue>,
) -> Result<Erased<T>> {
    let has_unstored = x.shape().wide_size() > x.nnz() as u128;
    let pattern = on_stencil(x.pattern(), entries.len(), has_unstored, stencil)?;
    Ok(Tensor::from_shared(pattern, x.shared_values().slice(entries), x.fill()))
}

/// Returns the pattern of a chunk of `count` entries, in the format and index type of `like`. If `stencil` has the same
/// number of entries, it is reused.
fn on_stencil(
    like: &AnyPattern,
    count: usize,
    has_unstored: bool,
    stencil: &mut Option<ErasedValue>,
) -> Result<AnyPattern> {
    let is_alike = |before: &&AnyPattern| {
        before.nnz() == count && before.format() == like.format() && before.width() == like.width()
    };
    let before = stencil.as_ref().and_then(|stencil| stencil.downcast_ref::<AnyPattern>());
    if let Some(pattern) = before.filter(is_alike) {
        return Ok(pattern.clone());
    }
    let pattern = one_lane(like.format(), like.width(), count, count + usize::from(has_unstored))?;
    *stencil = Some(Arc::new(pattern.clone()));
    Ok(pattern)
}

/// Returns the pattern of entries at the first positions of one lane.
pub(super) fn one_lane(format: Format, width: Width, count: usize, length: usize) -> Result<AnyPattern> {
    let coords = of_width!(width, I => AxisCoords::from(alloc::collect((0..count).map(I::from_usize))?));
    AnyPattern::from_coords(format, Shape::from([length]), count, width, vec![coords], default_limit(0))
}

/// The elements of all chunks.
pub(super) struct Gathered<T> {
    values: Vec<T>,
    fill: Mutex<T>,
    elements: Elements<T>,
    whole: fn(&ErasedValue, Vec<T>, T) -> Option<ErasedValue>,
}

/// Returns the stored elements of a chunk, and the fill.
pub(super) type Elements<T> = for<'a> fn(&'a ErasedValue) -> (&'a [T], T);

impl<T: Element> Gathered<T> {
    /// Allocates memory for the elements of chunks of one type. `whole` returns `None` if a pattern does not match.
    pub(super) fn new(
        count: usize,
        elements: Elements<T>,
        whole: fn(&ErasedValue, Vec<T>, T) -> Option<ErasedValue>,
    ) -> Result<Self> {
        Ok(Gathered { values: alloc::zeros(count)?, fill: Mutex::new(T::ZERO), elements, whole })
    }
}

impl<T: Element> Gather for Gathered<T> {
    fn parts(&mut self, ends: &[usize]) -> Vec<Box<dyn ValueWriter + '_>> {
        let (fill, elements) = (&self.fill, self.elements);
        let lefts = threads::split_at_ends(&mut self.values, ends).into_iter();
        lefts.map(|left| Box::new(SliceWriter { left, fill, elements }) as Box<dyn ValueWriter>).collect()
    }

    fn finish(self: Box<Self>, pattern: &ErasedValue) -> ErasedValue {
        let fill = self.fill.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.whole)(pattern, self.values, fill).expect("the pattern has the type of its values")
    }
}

struct SliceWriter<'a, T> {
    left: &'a mut [T],
    fill: &'a Mutex<T>,
    elements: Elements<T>,
}

impl<T: Element> ValueWriter for SliceWriter<'_, T> {
    fn put(&mut self, piece: &ErasedValue) {
        let (elements, fill) = (self.elements)(piece);
        let (places, left) = std::mem::take(&mut self.left).split_at_mut(elements.len());
        places.copy_from_slice(elements);
        self.left = left;
        *self.fill.lock().unwrap_or_else(PoisonError::into_inner) = fill;
    }
}

struct PairKind<A, B>(PhantomData<fn() -> (A, B)>);

impl<A: Value, B: Value> PairKind<A, B> {
    fn split(value: &ErasedValue) -> [ErasedValue; 2] {
        let (first, second) = downcast::<(A, B)>(value).clone();
        [Arc::new(first), Arc::new(second)]
    }
}

impl<A: Value, B: Value> Kind for PairKind<A, B> {
    fn part(&self, value: &ErasedValue, number: usize) -> ErasedValue {
        let both = downcast::<(A, B)>(value);
        if number == 0 { Arc::new(both.0.clone()) } else { Arc::new(both.1.clone()) }
    }

    fn kind_of_part(&self, number: usize) -> Option<&'static dyn Kind> {
        [A::KIND, B::KIND].get(number).copied()
    }

    fn format(&self) -> &'static str {
        "pair"
    }

    fn shape(&self, value: &ErasedValue) -> Shape {
        A::KIND.shape(&self.part(value, 0))
    }

    fn bytes(&self, value: &ErasedValue) -> usize {
        let [first, second] = Self::split(value);
        A::KIND.bytes(&first).saturating_add(B::KIND.bytes(&second))
    }

    fn forget(&self, value: &ErasedValue) -> ErasedValue {
        let [first, second] = Self::split(value);
        let (first, second) = (A::KIND.forget(&first), B::KIND.forget(&second));
        Arc::new((downcast::<A>(&first).clone(), downcast::<B>(&second).clone()))
    }

    fn by_ranges(&self) -> Option<&'static dyn ByRanges> {
        Some(&PairRanges::<A, B>(PhantomData))
    }
}

/// Several results of one operation.
impl<V: Value> Value for Vec<V> {
    const KIND: &'static dyn Kind = &ListKind::<V>(PhantomData);
}

struct ListKind<V>(PhantomData<fn() -> V>);

impl<V: Value> ListKind<V> {
    fn items(value: &ErasedValue) -> impl Iterator<Item = ErasedValue> {
        downcast::<Vec<V>>(value).iter().map(|item| Arc::new(item.clone()) as ErasedValue)
    }
}

impl<V: Value> Kind for ListKind<V> {
    fn part(&self, value: &ErasedValue, number: usize) -> ErasedValue {
        Arc::new(downcast::<Vec<V>>(value)[number].clone())
    }

    fn kind_of_part(&self, _: usize) -> Option<&'static dyn Kind> {
        Some(V::KIND)
    }

    fn format(&self) -> &'static str {
        "list"
    }

    fn shape(&self, _: &ErasedValue) -> Shape {
        Shape::from([0; 0])
    }

    fn bytes(&self, value: &ErasedValue) -> usize {
        Self::items(value).fold(0, |bytes, item| bytes.saturating_add(V::KIND.bytes(&item)))
    }

    fn forget(&self, value: &ErasedValue) -> ErasedValue {
        Arc::new(Self::items(value).map(|item| downcast::<V>(&V::KIND.forget(&item)).clone()).collect::<Vec<V>>())
    }
}

impl<A, B> Sealed for (A, B) {}
impl<V> Sealed for Vec<V> {}
