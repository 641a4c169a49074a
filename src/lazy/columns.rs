//! Entries as columns of coordinates and bytes, for engines that do not know element types.

use std::marker::PhantomData;
use std::sync::Arc;

use super::node::{ErasedValue, downcast};
use super::value::one_lane;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::accumulator_bytes::{bytes_of, values_of};
use crate::element::{DType, Element, Number};
use crate::pattern::{AnyPattern, AxisCoords, Pattern, of_width};
use crate::tensor::Tensor;

/// The functions on entries as columns, of a type of tensors.
#[doc(hidden)]
pub trait ByBytes: Send + Sync {
    /// Returns the element type.
    fn dtype(&self) -> DType;

    /// Returns the bytes per value.
    fn width(&self) -> usize;

    /// Returns a tensor of rank 1 with these values, given as bytes. If `has_unstored`, one additional unstored
    /// position has the fill of `like`.
    fn piece(&self, like: &ErasedValue, values: &[u8], has_unstored: bool) -> Result<ErasedValue>;

    /// Returns a tensor of this shape without entries, with the fill of `like`.
    fn none(&self, like: &ErasedValue, shape: &Shape) -> Result<ErasedValue>;

    /// Returns a tensor without positions, with this fill, given as bytes.
    fn filled(&self, value: &[u8]) -> Result<ErasedValue>;

    /// Returns the fill.
    fn fill(&self, value: &ErasedValue) -> Number;

    /// Returns the bytes of the fill.
    fn fill_bytes(&self, value: &ErasedValue) -> Vec<u8>;

    /// Returns the bytes of all values.
    fn values<'a>(&self, value: &'a ErasedValue) -> &'a [u8];

    /// Returns the coordinates of all entries, axis by axis.
    fn coords(&self, value: &ErasedValue) -> Result<Vec<Vec<u64>>>;

    /// Returns the pattern of `count` entries with these coordinates.
    fn pattern(&self, shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<ErasedValue>;
}

pub(super) struct TensorBytes<P, T>(pub(super) PhantomData<fn() -> (P, T)>);

impl<P: Pattern, T: Element> ByBytes for TensorBytes<P, T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn width(&self) -> usize {
        size_of::<T>()
    }

    fn piece(&self, like: &ErasedValue, values: &[u8], has_unstored: bool) -> Result<ErasedValue> {
        let values = values_of::<T>(values).ok_or_else(|| rejection("the returned bytes are not values"))?;
        let (count, fill) = (values.len(), downcast::<Tensor<P, T>>(like).fill());
        let pattern = one_lane(P::FORMAT, P::Index::WIDTH, count, count + usize::from(has_unstored))?;
        Ok(Arc::new(Tensor::from_valid(P::from_any(pattern)?, values, fill)))
    }

    fn none(&self, like: &ErasedValue, shape: &Shape) -> Result<ErasedValue> {
        // A tensor of this shape with the same number of offsets exists, so no limit is needed.
        let coords = vec![AxisCoords::empty(P::Index::WIDTH); shape.rank()];
        let pattern = AnyPattern::from_coords(P::FORMAT, shape.clone(), 0, P::Index::WIDTH, coords, u64::MAX)?;
        Ok(Arc::new(Tensor::from_valid(P::from_any(pattern)?, Vec::new(), downcast::<Tensor<P, T>>(like).fill())))
    }

    fn filled(&self, value: &[u8]) -> Result<ErasedValue> {
        let fill = values_of::<T>(value).and_then(|values| values.first().copied());
        let pattern = P::from_any(one_lane(P::FORMAT, P::Index::WIDTH, 0, 0)?)?;
        Ok(Arc::new(Tensor::from_valid(
            pattern,
            Vec::new(),
            fill.ok_or_else(|| rejection("the bytes are not a value"))?,
        )))
    }

    fn fill(&self, value: &ErasedValue) -> Number {
        downcast::<Tensor<P, T>>(value).fill().to_number()
    }

    fn fill_bytes(&self, value: &ErasedValue) -> Vec<u8> {
        bytes_of(&[downcast::<Tensor<P, T>>(value).fill()]).to_vec()
    }

    fn values<'a>(&self, value: &'a ErasedValue) -> &'a [u8] {
        bytes_of(downcast::<Tensor<P, T>>(value).values())
    }

    fn coords(&self, value: &ErasedValue) -> Result<Vec<Vec<u64>>> {
        let axes = downcast::<Tensor<P, T>>(value).pattern().any().axes()?.into_iter();
        Ok(axes.map(|axis| axis.in_width(Width::U64)?.into_vec()).collect::<Allocated<_>>()?)
    }

    fn pattern(&self, shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<ErasedValue> {
        check(shape, count, coords)?;
        let narrow = |axis: &Vec<u64>| {
            of_width!(P::Index::WIDTH, I => {
                let coords = axis.iter().map(|&coord| I::from_usize(coord as usize));
                alloc::collect(coords).map(|coords: Vec<I>| AxisCoords::from(coords))
            })
        };
        let coords = coords.iter().map(narrow).collect::<Allocated<Vec<_>>>()?;
        let (shape, width) = (shape.clone(), P::Index::WIDTH);
        let pattern = AnyPattern::from_coords(P::FORMAT, shape, count, width, coords, default_limit(0))?;
        Ok(Arc::new(P::from_any(pattern)?))
    }
}

fn rejection(why: &str) -> Error {
    Error::Argument { operation: "collect", why: why.into() }
}

/// Rejects coordinates that are not entries of this shape in row-major order.
fn check(shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<()> {
    if coords.len() != shape.rank() || coords.iter().any(|axis| axis.len() != count) {
        return Err(rejection("the number of returned coordinates is wrong"));
    }
    let within = coords.iter().zip(shape.iter()).all(|(axis, &length)| axis.iter().all(|&coord| coord < length as u64));
    let at = |entry: usize| coords.iter().map(move |axis| axis[entry]);
    match within && (1..count).all(|entry| at(entry - 1).lt(at(entry))) {
        true => Ok(()),
        false => Err(rejection("the returned coordinates are out of range or out of order")),
    }
}
