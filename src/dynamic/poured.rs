//! Reductions of dynamically typed tensors that arrive in chunks.

#![cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // the steps of expressions

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::view::in_format;
use super::widen::{no_order, truth, widened};
use super::{AnyArray, AnyOperand, AnyTensor, AnyValue, Erased, on_type};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::Width;
use crate::base::shape::Shape;
use crate::element::{DType, Element};
use crate::kernels::stream::{CellsAndValues, ValueSource};
use crate::ops::{self, Fed, Nanmedian, Norm, Quantile, RunTimeOperand, SparseView, Var};
use crate::pattern::AnyPattern;
use crate::plan::group::CellsOf;
use crate::tensor::Tensor;

/// Passes a range of the entries of a tensor or array, in chunks.
pub(crate) type Parts<'a> = dyn Fn(Range<usize>, &mut dyn FnMut(&AnyValue)) -> Result<()> + Sync + 'a;

/// A reduction, chosen by the name of its operation.
#[derive(Debug, Clone)]
pub(crate) struct PouredFold {
    pub(crate) name: &'static str,
    pub(crate) options: PouredOptions,
    /// True if the reduction reads only stored entries.
    pub(crate) is_stored: bool,
}

/// The options of a reduction.
#[derive(Debug, Clone)]
pub(crate) enum PouredOptions {
    Axes(Axes),
    Norm(Norm),
    Var(Var),
    Median(Nanmedian),
    Quantile(f64, Quantile),
}

impl PouredOptions {
    pub(crate) fn axes(&self) -> &Axes {
        match self {
            PouredOptions::Axes(axes) => axes,
            PouredOptions::Norm(options) => &options.axes,
            PouredOptions::Var(options) => &options.axes,
            PouredOptions::Median(options) => &options.axes,
            PouredOptions::Quantile(_, options) => &options.axes,
        }
    }
}

/// The data that a reduction reads.
#[derive(Clone, Copy)]
pub(crate) struct Poured<'a> {
    /// The pattern. If the entries arrive in any order, the pattern has only the first entry.
    pub(crate) pattern: &'a AnyPattern,
    /// A tensor without entries, which has the fill, or an array without elements.
    pub(crate) none: &'a AnyValue,
    pub(crate) parts: &'a Parts<'a>,
    /// True if the chunks arrive in any order, and any range means all entries.
    pub(crate) is_poured: bool,
    /// The largest number of bytes for the accumulators of all output elements.
    pub(crate) most: usize,
    /// The picoseconds that one element takes to compute.
    pub(crate) picoseconds: usize,
}

/// Converts a chunk to the type in which a reduction runs.
type Widen<T> = for<'x> fn(AnyOperand<'x>) -> Result<RunTimeOperand<'x, T>>;

fn wide_part<T: Element>(part: AnyOperand<'_>) -> Result<RunTimeOperand<'_, T>> {
    widened(part)
}

fn truth_part(part: AnyOperand<'_>) -> Result<RunTimeOperand<'_, bool>> {
    truth(part)
}

/// The values of the chunks in one type.
struct Values<'a, T: Clone> {
    of: Poured<'a>,
    widen: Widen<T>,
    refused: &'a Mutex<Option<Error>>,
}

/// Returns the stored values of a tensor, or the elements of an array in row-major order.
fn values_of<'a, T: Element>(part: &'a RunTimeOperand<'_, T>) -> Allocated<Cow<'a, [T]>> {
    match part {
        RunTimeOperand::Sparse(part) => Ok(part.tensor.values().into()),
        RunTimeOperand::Array(part) => match part.array.as_slice() {
            Some(elements) => Ok(elements.into()),
            None => Ok(alloc::collect(part.array.iter().copied())?.into()),
        },
    }
}

impl<T: Element> Values<'_, T> {
    /// Passes each chunk of a range with its values. Returns false if a chunk could not be computed.
    fn each(&self, entries: Range<usize>, take: &mut dyn FnMut(&RunTimeOperand<'_, T>, &[T])) -> bool {
        let mut one = |part: &AnyValue| -> Result<()> {
            let part = (self.widen)(part.into())?;
            take(&part, &values_of(&part)?);
            Ok(())
        };
        let done = (self.of.parts)(entries, &mut |part| one(part).unwrap_or_else(|error| self.refuse(error)));
        done.map_err(|error| self.refuse(error)).is_ok()
    }

    fn refuse(&self, error: Error) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl<T: Element> ValueSource<T> for Values<'_, T> {
    fn feed(&self, entries: Range<usize>, take: &mut dyn FnMut(&[T])) -> bool {
        self.each(entries, &mut |_, values| take(values))
    }

    fn is_poured(&self) -> bool {
        self.of.is_poured
    }

    fn feed_cells(&self, axes: &[usize], lengths: &[usize], take: &mut CellsAndValues<'_, T>) -> Allocated<bool> {
        let mut cells = CellsOf::new(axes, lengths);
        let is_done = self.each(0..usize::MAX, &mut |part, values| match part {
            RunTimeOperand::Sparse(part) => cells.give(part.tensor.pattern(), values, take),
            RunTimeOperand::Array(part) => cells.give_all(part.array.shape(), values, take),
        });
        cells.finish().map(|()| is_done)
    }

    fn most(&self) -> usize {
        self.of.most
    }

    fn picoseconds(&self) -> usize {
        self.of.picoseconds
    }
}

/// Runs a reduction of floats in their own type, and other code for other elements.
macro_rules! by_own {
    ($fold:ident, $of:ident, $view:ident, $x:ident => $body:expr, $otherwise:expr) => {
        match $view.dtype() {
            DType::Float32 => $view.found($fold.of::<f32, _>($of, wide_part, |$x| $body)),
            DType::Float64 => $view.found($fold.of::<f64, _>($of, wide_part, |$x| $body)),
            #[cfg(feature = "half")]
            DType::Float16 => $view.found($fold.of::<super::types::f16, _>($of, wide_part, |$x| $body)),
            #[cfg(feature = "half")]
            DType::BFloat16 => $view.found($fold.of::<super::types::bf16, _>($of, wide_part, |$x| $body)),
            _ => $otherwise,
        }
    };
}

/// Runs a reduction of sums. Integers run in the type of their sums.
macro_rules! by_sums {
    ($fold:ident, $of:ident, $view:ident, $x:ident => $body:expr) => {
        by_own!($fold, $of, $view, $x => $body, match $view.dtype() {
            DType::Complex64 => $view.found($fold.of::<super::types::Complex<f32>, _>($of, wide_part, |$x| $body)),
            DType::Complex128 => $view.found($fold.of::<super::types::Complex<f64>, _>($of, wide_part, |$x| $body)),
            DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => {
                $view.found($fold.of::<i64, _>($of, wide_part, |$x| $body))
            }
            _ => $view.found($fold.of::<u64, _>($of, wide_part, |$x| $body)),
        })
    };
}

/// Runs a reduction whose result is one of the elements, in the widest type of a kind.
macro_rules! by_order {
    ($fold:ident, $of:ident, $view:ident, $x:ident => $body:expr) => {
        match $view.dtype() {
            DType::Bool => $view.found($fold.of::<bool, _>($of, truth_part, |$x| $body)),
            DType::UInt64 => $view.found($fold.of::<u64, _>($of, wide_part, |$x| $body)),
            DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => {
                $view.found_floats($fold.of::<f64, _>($of, wide_part, |$x| $body))
            }
            DType::Complex64 | DType::Complex128 => Err(no_order($fold.name, $view)),
            _ => $view.found_among($fold.of::<i64, _>($of, wide_part, |$x| $body)),
        }
    };
}

/// Runs a reduction that returns medians. Floats have medians in their own type, other elements have medians of `f64`.
macro_rules! by_medians {
    ($fold:ident, $of:ident, $view:ident, $x:ident => $body:expr) => {
        by_own!($fold, $of, $view, $x => $body, match $view.dtype() {
            DType::Bool => $view.found($fold.of::<bool, _>($of, truth_part, |$x| $body)),
            DType::UInt64 => $view.found($fold.of::<u64, _>($of, wide_part, |$x| $body)),
            DType::Complex64 | DType::Complex128 => Err(no_order($fold.name, $view)),
            _ => $view.found($fold.of::<i64, _>($of, wide_part, |$x| $body)),
        })
    };
}

impl PouredFold {
    /// Runs the reduction on elements of type `T`.
    fn of<T: Element, U: Element>(
        &self,
        of: Poured<'_>,
        widen: Widen<T>,
        run: impl FnOnce(&Fed<'_, AnyPattern, T>) -> Result<Erased<U>>,
    ) -> Result<Erased<U>> {
        let RunTimeOperand::Sparse(SparseView { tensor: none, .. }) = widen(of.none.into())? else {
            return Err(self.unlike());
        };
        let refused = Mutex::new(None);
        let source = Box::new(Values { of, widen, refused: &refused });
        let gap = (!self.is_stored).then_some(none.fill());
        let found = run(&Fed { pattern: of.pattern, none: &none, gap, source, states: None });
        refused.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(found, Err)
    }

    /// Returns the result in the format of the tensor. The result of an array is an array.
    pub(crate) fn run(&self, of: Poured<'_>) -> Result<AnyValue> {
        if let AnyValue::Array(none) = of.none {
            return self.run_array(of, none);
        }
        match &self.options {
            PouredOptions::Axes(axes) => self.over(of, axes),
            PouredOptions::Norm(options) => {
                let view = self.view(&of);
                by_own!(self, of, view, x => ops::norm(x, options), Err(self.unlike()))
            }
            PouredOptions::Var(options) => self.spread(of, options),
            PouredOptions::Median(options) => self.median(of, options),
            PouredOptions::Quantile(q, options) => self.quantile(of, *q, options),
        }
    }

    /// Reduces an array. Every element of an array is stored, so every output element is stored too.
    fn run_array(&self, of: Poured<'_>, none: &AnyArray) -> Result<AnyValue> {
        if self.is_stored {
            AnyOperand::Array(none).sparse("stored")?;
        }
        let none = AnyValue::from(none.from_dense()?);
        let found = self.run(Poured { none: &none, ..of })?;
        Ok(AnyOperand::from(&found).to_array()?.into())
    }

    fn view<'a>(&self, of: &Poured<'a>) -> AnyOperand<'a> {
        let whole = AnyOperand::from(of.none);
        if self.is_stored { whole.stored() } else { whole }
    }

    /// Returns the error of an operand that does not arrive in chunks.
    fn unlike(&self) -> Error {
        Error::Argument { operation: self.name, why: "its operand does not come in parts".into() }
    }

    fn over(&self, of: Poured<'_>, axes: &Axes) -> Result<AnyValue> {
        let view = self.view(&of);
        match self.name {
            "any" => view.found(self.of::<bool, _>(of, truth_part, |x| ops::any(x, axes))),
            "all" => view.found(self.of::<bool, _>(of, truth_part, |x| ops::all(x, axes))),
            "count_nonzero" => view.found(self.of::<bool, _>(of, truth_part, |x| ops::count_nonzero(x, axes))),
            "sum" => by_sums!(self, of, view, x => ops::sum(x, axes)),
            "mean" => by_sums!(self, of, view, x => ops::mean(x, axes)),
            "nansum" => by_own!(self, of, view, x => ops::nansum(x, axes), Err(self.unlike())),
            "nanmean" => by_own!(self, of, view, x => ops::nanmean(x, axes), Err(self.unlike())),
            "min" => by_order!(self, of, view, x => ops::min(x, axes)),
            "max" => by_order!(self, of, view, x => ops::max(x, axes)),
            "nanmin" => view.found_floats(self.of::<f64, _>(of, wide_part, |x| ops::nanmin(x, axes))),
            "nanmax" => view.found_floats(self.of::<f64, _>(of, wide_part, |x| ops::nanmax(x, axes))),
            _ => Err(self.unlike()),
        }
    }

    fn spread(&self, of: Poured<'_>, options: &Var) -> Result<AnyValue> {
        let view = self.view(&of);
        match self.name {
            "var" => by_sums!(self, of, view, x => ops::var(x, options)),
            "std" => by_sums!(self, of, view, x => ops::std(x, options)),
            "nanvar" => by_own!(self, of, view, x => ops::nanvar(x, options), Err(self.unlike())),
            "nanstd" => by_own!(self, of, view, x => ops::nanstd(x, options), Err(self.unlike())),
            _ => Err(self.unlike()),
        }
    }

    fn median(&self, of: Poured<'_>, options: &Nanmedian) -> Result<AnyValue> {
        let view = self.view(&of);
        match self.name {
            "median" => by_medians!(self, of, view, x => ops::median(x, options)),
            "nanmedian" => by_medians!(self, of, view, x => ops::nanmedian(x, options)),
            _ => Err(self.unlike()),
        }
    }

    fn quantile(&self, of: Poured<'_>, q: f64, options: &Quantile) -> Result<AnyValue> {
        let view = self.view(&of);
        match self.name {
            "quantile" => by_medians!(self, of, view, x => ops::quantile(x, q, options)),
            "nanquantile" => by_medians!(self, of, view, x => ops::nanquantile(x, q, options)),
            _ => Err(self.unlike()),
        }
    }
}

impl AnyTensor {
    /// Returns the pattern in either format.
    pub(crate) fn pattern(&self) -> AnyPattern {
        on_type!(self, x => x.pattern().clone())
    }

    /// Returns a tensor of the given shape that stores only the first entry, if there is one.
    pub(crate) fn first_in(&self, shape: &Shape) -> Result<AnyTensor> {
        let (own, count) = (self.pattern(), self.nnz().min(1));
        let of_axis = |axis| (0..count).map(|entry| own.coord(entry, axis) as u64).collect::<Vec<_>>();
        let coords = (0..shape.rank()).map(|axis| of_axis(axis).into()).collect();
        let pattern = AnyPattern::valid_coo(shape.clone(), count, Width::U64, coords);
        on_type!(self, x => {
            let first = Tensor::from_shared(pattern, x.shared_values().slice(0..count), x.fill());
            in_format(&first, self.format(), 0)
        })
    }
}
