//! The textual form of a [`Query`], and its execution on another machine. The other machine reads, maps and reduces,
//! but does not finish reductions.

use std::fmt::Write;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use super::Lazy;
use super::broadcast_operands::unlike;
use super::call::{Arg, Call, Options};
use super::columns::{ByBytes, TensorBytes};
use super::node::{Accumulator, Body, ErasedValue};
use super::query::{Query, Reader};
use super::reductions::accumulator;
use super::value::Value;
use super::write::HEAD;
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::index::Index;
use crate::element::accumulator_bytes::{bytes_of, values_of};
use crate::element::{DType, Element, Float, Inexact, Number, Real, Ring};
use crate::kernels::partial::Reducer;
use crate::ops::{Nanmedian, Norm, OpSpec, accumulators, op};
use crate::pattern::CooPattern;
use crate::tensor::coo::CooTensor;

/// A query in textual form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryText {
    /// The element type of the tensor that is read.
    pub dtype: DType,
    /// The steps before the reduction, as a program.
    ///
    /// The inputs of the program are the tensor that is read and the broadcast operands.
    pub chain: Option<String>,
    /// The element type of each broadcast operand, and the fill of its chunks as bytes.
    pub sides: Vec<(DType, Vec<u8>)>,
    /// The reduction.
    pub fold: Folding,
    /// True if there are unstored positions.
    pub has_unstored: bool,
}

/// A reduction by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folding {
    /// The name of the operation.
    pub name: String,
    /// True if the reduction uses only stored entries.
    pub is_stored: bool,
    /// The order of a norm: 1, 2, or 0 for the largest magnitude.
    pub order: u8,
}

impl Query {
    /// Returns the textual form of the query.
    ///
    /// # Errors
    ///
    /// `Argument`: a step does not have a textual form.
    pub fn to_text(&self) -> Result<QueryText> {
        let dtype = self.reader().kind().dtype();
        let chain = self.is_mapped().then(|| self.chain(dtype)).transpose()?;
        let (sides, fold, has_unstored) = (self.side_types(), self.folding(), self.has_unstored());
        Ok(QueryText { dtype, chain, sides, fold, has_unstored })
    }

    fn folding(&self) -> Folding {
        let node = self.fold();
        let call = node.call();
        let order = match call.map(|call| call.named("ord")) {
            Some(Arg::Integer(1)) => 1,
            Some(Arg::Real(_)) => 0,
            _ => 2,
        };
        Folding { name: node.name.into(), is_stored: call.is_some_and(Call::is_stored), order }
    }

    fn chain(&self, dtype: DType) -> Result<String> {
        let mut text = format!("{HEAD}\nt0 = input(\"x\", \"{dtype}\", \"coo\", [\"?\"])\n");
        let sides = self.side_types();
        for (at, (dtype, _)) in sides.iter().enumerate() {
            let name = side_name(at);
            let _ = writeln!(text, "t{} = input(\"{name}\", \"{dtype}\", \"coo\", [\"?\"])", at + 1);
        }
        for (at, (node, inputs)) in self.steps().iter().enumerate() {
            let name = |input: usize| format!("t{}", inputs.get(input).copied().unwrap_or_default());
            let call = node.call().and_then(|call| call.to_text(None, &name));
            let none = || unlike(&format!("{} does not have a textual form for workers", node.name));
            let _ = writeln!(text, "t{} = {}", at + sides.len() + 1, call.ok_or_else(none)?);
        }
        let _ = writeln!(text, "result = [t{}]", self.steps().len() + sides.len());
        Ok(text)
    }
}

/// Returns the name of a broadcast operand in the textual form of a program.
pub fn side_name(at: usize) -> String {
    format!("y{at}")
}

impl Reader {
    /// Returns the reader of a graph that is a single read; otherwise `None`.
    pub fn of<V: Value>(lazy: &Lazy<V>) -> Option<Self> {
        match &lazy.node.body {
            Body::Source(source) => Some(Reader::new(Arc::clone(source), lazy.node.kind.by_bytes()?)),
            _ => None,
        }
    }

    /// Returns the path of the file or folder, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.source().root()
    }

    /// Returns the number of entries and the sum of their hashes, if known.
    pub fn checks(&self) -> Option<(u64, u64)> {
        self.source().checks()
    }

    /// Returns the element type of the files, and the checksum of all their facts.
    ///
    /// The facts are the facts about the tensor. The tensor may be read as another type.
    pub fn fingerprint(&self) -> Option<(DType, String)> {
        self.source().fingerprint()
    }

    /// Returns the fill, in the type that is read.
    pub fn fill(&self) -> Result<Number> {
        Ok(self.kind().fill(&self.source().none()?))
    }

    /// Returns a tensor of rank 1 with these values, given as bytes.
    ///
    /// If `has_unstored`, one additional unstored position has the fill.
    pub fn piece(&self, values: &[u8], has_unstored: bool) -> Result<ErasedValue> {
        self.kind().piece(&self.source().none()?, values, has_unstored)
    }
}

/// Returns the bytes of all values.
pub fn value_bytes<T: Element, I: Index>(x: &CooTensor<T, I>) -> Vec<u8> {
    bytes_of(x.values()).to_vec()
}

/// Returns a COO tensor of rank 1 with these elements, given as bytes.
///
/// If `has_unstored`, one additional unstored position has the fill.
///
/// # Errors
///
/// `Argument`: the bytes are not elements of this type.
pub fn piece<T: Element>(fill: &[u8], values: &[u8], has_unstored: bool) -> Result<ErasedValue> {
    let kind = TensorBytes::<CooPattern<u64>, T>(PhantomData);
    kind.piece(&kind.filled(fill)?, values, has_unstored)
}

/// Defines a function of a [`Folding`] for the elements of one bound. The function selects the accumulator by the row.
macro_rules! accumulators {
    ([] $(
        $name:ident ($options:ident $(, $q:ident)?) [$bound:ident -> $out:ident] $route:tt $stream:tt $gradient:tt
        $methods:ident $sentence:literal $(command $command:tt)?;
    )*) => {
        impl Folding {
            /// Returns how elements of any type are reduced; `None` for other reductions.
            pub fn of_any<T: Ring>(&self, fill: T) -> Option<Reducer> {
                self.reducer(fill, &[$((&op::$name, accumulator!(@any $bound $stream T, $name, $options))),*])
            }

            /// Returns how ordered elements are reduced; `None` for other reductions.
            pub fn of_real<T: Real>(&self, fill: T) -> Option<Reducer> {
                self.reducer(fill, &[$((&op::$name, accumulator!(@real $bound $stream T, $name, $options))),*])
            }

            /// Returns how complex numbers are reduced by what only they and floats have; `None` for other reductions.
            pub fn of_inexact<T: Inexact>(&self, fill: T) -> Option<Reducer> {
                self.reducer(fill, &[$((&op::$name, accumulator!(@inexact $bound $stream T, $name, $options))),*])
            }

            /// Returns how floats are reduced; `None` for other reductions.
            pub fn of_float<T: Float>(&self, fill: T) -> Option<Reducer> {
                self.reducer(fill, &[$((&op::$name, accumulator!(@float $bound $stream T, $name, $options))),*])
            }
        }
    };
}

crate::__folds! { (accumulators) }

impl Folding {
    /// Returns how elements are reduced, from the accumulators of reductions.
    fn reducer<T: Element>(&self, fill: T, rows: &[(&'static OpSpec, Option<Accumulator>)]) -> Option<Reducer> {
        let call = self.call()?;
        let (_, accumulator) = rows.iter().find(|(op, _)| call.op.is(op))?;
        // If the reduction uses only stored entries, unstored positions do not count.
        let implicit = [fill];
        accumulator.as_ref()?(&call, (!self.is_stored).then(|| bytes_of(&implicit)))
    }

    /// Returns the call of the reduction over all axes.
    fn call(&self) -> Option<Call> {
        let op = OpSpec::named(&self.name)?;
        let call = Call::of(op, [Arg::Input(0), Arg::Axes(Axes::all())]);
        Some(match (op.place_of("ord"), self.order) {
            (Some(_), 0) => call.with("ord", Arg::Real(f64::INFINITY)),
            (Some(_), 1) => call.with("ord", Arg::Integer(1)),
            _ => call,
        })
    }
}
