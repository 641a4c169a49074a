//! Reductions of dynamically typed tensors that arrive in chunks.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::routes::{Widen, by, in_type};
use super::{AnyArray, AnyOperand, AnyValue};
use crate::base::alloc::Allocated;
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::convert::elements_of;
use crate::element::Element;
use crate::kernels::stream::{FeedOutputs, ValueSource};
use crate::ops::{self, ErasedOperand, Nanmedian, Norm, OpSpec, Quantile, SparseOperand, ValueStream, Var, op};
use crate::pattern::AnyPattern;
use crate::plan::group::OutputIndices;
use crate::tensor::erased::{SparseCow, SparseRef};

/// Passes a range of the entries of a tensor or array, in chunks.
pub(crate) type Parts<'a> = dyn Fn(Range<usize>, &mut dyn FnMut(&AnyValue)) -> Result<()> + Sync + 'a;

/// A reduction, chosen by the row of its operation.
#[derive(Debug, Clone)]
pub(crate) struct StreamFold {
    pub(crate) op: &'static OpSpec,
    pub(crate) options: StreamOptions,
    /// True if the reduction reads only stored entries.
    pub(crate) is_stored: bool,
}

/// The options of a reduction.
#[derive(Debug, Clone)]
pub(crate) enum StreamOptions {
    Axes(Axes),
    Norm(Norm),
    Var(Var),
    Nanmedian(Nanmedian),
    Quantile(f64, Quantile),
}

impl StreamOptions {
    pub(crate) fn axes(&self) -> &Axes {
        match self {
            StreamOptions::Axes(axes) => axes,
            StreamOptions::Norm(options) => &options.axes,
            StreamOptions::Var(options) => &options.axes,
            StreamOptions::Nanmedian(options) => &options.axes,
            StreamOptions::Quantile(_, options) => &options.axes,
        }
    }
}

/// The data that a reduction reads.
#[derive(Clone, Copy)]
pub(crate) struct StreamInput<'a> {
    /// The pattern. If the entries arrive in any order, the pattern has only the first entry.
    pub(crate) pattern: &'a AnyPattern,
    /// A tensor with the fill and without entries, or an array without elements.
    pub(crate) none: &'a AnyValue,
    pub(crate) parts: &'a Parts<'a>,
    /// True if the chunks arrive in any order. In this case every range means all entries.
    pub(crate) is_streamed: bool,
    /// The largest number of bytes for the accumulators of all output elements.
    pub(crate) max_bytes: usize,
    /// The time to compute one element, in picoseconds.
    pub(crate) picoseconds: usize,
}

/// The values of the chunks in one type.
struct StreamValues<'a, T: Clone> {
    of: StreamInput<'a>,
    widen: Widen<T>,
    rejection: &'a Mutex<Option<Error>>,
}

/// Returns the stored values of a tensor, or the elements of an array in row-major order.
fn values_of<'a, T: Element>(part: &'a ErasedOperand<'_, T>) -> Allocated<Cow<'a, [T]>> {
    match part {
        ErasedOperand::Sparse(part) => Ok(part.sparse().values().into()),
        ErasedOperand::Array(part) => elements_of(&part.array),
    }
}

impl<T: Element> StreamValues<'_, T> {
    /// Passes each chunk of a range with its values. Returns false if a chunk could not be computed.
    fn each(&self, entries: Range<usize>, take: &mut dyn FnMut(&ErasedOperand<'_, T>, &[T])) -> bool {
        let mut one = |part: &AnyValue| -> Result<()> {
            let part = (self.widen)(part.into())?;
            take(&part, &values_of(&part)?);
            Ok(())
        };
        let done = (self.of.parts)(entries, &mut |part| one(part).unwrap_or_else(|error| self.reject(error)));
        done.map_err(|error| self.reject(error)).is_ok()
    }

    fn reject(&self, error: Error) {
        self.rejection.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl<T: Element> ValueSource<T> for StreamValues<'_, T> {
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool {
        self.each(entries, &mut |_, values| take(values))
    }

    fn is_streamed(&self) -> bool {
        self.of.is_streamed
    }

    fn feed_cells(&self, axes: &[usize], lengths: &[usize], take: &mut FeedOutputs<'_, T>) -> Allocated<bool> {
        let mut cells = OutputIndices::new(axes, lengths);
        let is_done = self.each(0..usize::MAX, &mut |part, values| match part {
            ErasedOperand::Sparse(part) => cells.feed(part.sparse().pattern(), values, take),
            ErasedOperand::Array(part) => cells.feed_all(part.array.shape(), values, take),
        });
        cells.finish().map(|()| is_done)
    }

    fn max_bytes(&self) -> usize {
        self.of.max_bytes
    }

    fn picoseconds(&self) -> usize {
        self.of.picoseconds
    }
}

/// An operand that arrives in chunks, for the routes of reductions.
struct ChunkedOperand<'a> {
    of: StreamInput<'a>,
    op: &'static OpSpec,
    is_stored: bool,
}

impl<'a> ChunkedOperand<'a> {
    fn view(&self) -> AnyOperand<'a> {
        let whole = AnyOperand::from(self.of.none);
        if self.is_stored { whole.stored() } else { whole }
    }

    /// Runs the reduction on elements of type `T`.
    fn read<T: Element, R>(&self, widen: Widen<T>, run: impl FnOnce(&ErasedOperand<'_, T>) -> Result<R>) -> Result<R> {
        let ErasedOperand::Sparse(none) = widen(self.of.none.into())? else {
            return Err(unlike(self.op));
        };
        let rejection = Mutex::new(None);
        let values = StreamValues { of: self.of, widen, rejection: &rejection };
        let tensor = SparseCow::Borrowed(SparseRef::streamed(self.of.pattern, none.sparse()));
        let stream = Some(ValueStream { values: &values, states: None });
        let found = run(&SparseOperand { tensor, counts_unstored: !self.is_stored, stream }.into());
        rejection.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(found, Err)
    }
}

/// Returns the error of an operand that does not arrive in chunks.
fn unlike(op: &OpSpec) -> Error {
    Error::Argument { operation: op.name, why: "its operand is not read in chunks".into() }
}

/// Defines the run of a reduction on chunks, from the rows. Rows that read the entire operand are left out.
macro_rules! reductions {
    ([] $(
        $name:ident($options:ident $(, $q:ident)?) $result:tt [$route:ident] $stream:tt $gradient:tt
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        fn reduced(from: &ChunkedOperand<'_>, options: &StreamOptions) -> Result<AnyValue> {
            $(reductions!(@ $stream from, options, $name ($options $(, $q)?) $route);)*
            Err(unlike(from.op))
        }
    };
    (@ [whole] $($row:tt)*) => {};
    (@ $stream:tt $from:ident, $given:ident, $name:ident ($options:ident $(, $q:ident)?) $route:ident) => {
        if let (true, StreamOptions::$options($($q,)? options)) = ($from.op.is(&op::$name), $given) {
            return by!($route $from, op::$name, x => ops::$name(x, $(*$q,)? options));
        }
    };
}

crate::__folds! { (reductions) }

impl StreamFold {
    /// Returns the result in the format of the tensor. The result of an array is an array.
    pub(crate) fn run(&self, of: StreamInput<'_>) -> Result<AnyValue> {
        match of.none {
            AnyValue::Array(none) => self.run_array(of, none),
            AnyValue::Tensor(_) => {
                reduced(&ChunkedOperand { of, op: self.op, is_stored: self.is_stored }, &self.options)
            }
        }
    }

    /// Reduces an array. Every element of an array is stored, so every output element is stored too.
    fn run_array(&self, of: StreamInput<'_>, none: &AnyArray) -> Result<AnyValue> {
        if self.is_stored {
            AnyOperand::Array(none).sparse("stored")?;
        }
        let none = AnyValue::from(none.from_dense()?);
        let found = self.run(StreamInput { none: &none, ..of })?;
        Ok(AnyOperand::from(&found).to_array()?.into())
    }
}
