//! Entries as columns of coordinates and bytes, for engines that know no type of elements.

use std::marker::PhantomData;
use std::sync::Arc;

use super::node::{Held, known};
use super::value::one_lane;
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Width};
use crate::base::limit::default_limit;
use crate::base::shape::Shape;
use crate::element::saved::{bytes_of, values_of};
use crate::element::{DType, Element, Number};
use crate::pattern::{AnyPattern, AxisCoords, Pattern, of_width};
use crate::tensor::Tensor;

/// What is known of a type of tensors whose entries go out and come in as columns.
#[doc(hidden)]
pub trait ByBytes: Send + Sync {
    /// The element type.
    fn dtype(&self) -> DType;

    /// The bytes of a value.
    fn width(&self) -> usize;

    /// A tensor of rank 1 of the values that these bytes are, and of one position more that holds the fill of `like`,
    /// if there is one.
    fn piece(&self, like: &Held, values: &[u8], has_gap: bool) -> Result<Held>;

    /// A tensor of that shape without entries, which has the fill of `like`.
    fn none(&self, like: &Held, shape: &Shape) -> Result<Held>;

    /// A tensor without positions, which has the fill that these bytes are.
    fn filled(&self, value: &[u8]) -> Result<Held>;

    /// The fill.
    fn fill(&self, value: &Held) -> Number;

    /// The bytes of the fill.
    fn fill_bytes(&self, value: &Held) -> Vec<u8>;

    /// The bytes of all values.
    fn values<'a>(&self, value: &'a Held) -> &'a [u8];

    /// The coordinates of all entries, axis by axis.
    fn coords(&self, value: &Held) -> Result<Vec<Vec<u64>>>;

    /// The pattern of so many entries.
    fn pattern(&self, shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<Held>;
}

pub(super) struct OfTensors<P, T>(pub(super) PhantomData<fn() -> (P, T)>);

impl<P: Pattern, T: Element> ByBytes for OfTensors<P, T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn width(&self) -> usize {
        size_of::<T>()
    }

    fn piece(&self, like: &Held, values: &[u8], has_gap: bool) -> Result<Held> {
        let values = values_of::<T>(values).ok_or_else(|| refused("bytes that came back are no values"))?;
        let (count, fill) = (values.len(), known::<Tensor<P, T>>(like).fill());
        let pattern = one_lane(P::FORMAT, P::Index::WIDTH, count, count + usize::from(has_gap))?;
        Ok(Arc::new(Tensor::from_valid(P::from_any(pattern)?, values, fill)))
    }

    fn none(&self, like: &Held, shape: &Shape) -> Result<Held> {
        // A tensor of that shape is there, and has as many offsets.
        let coords = vec![AxisCoords::empty(P::Index::WIDTH); shape.rank()];
        let pattern = AnyPattern::from_coords(P::FORMAT, shape.clone(), 0, P::Index::WIDTH, coords, u64::MAX)?;
        Ok(Arc::new(Tensor::from_valid(P::from_any(pattern)?, Vec::new(), known::<Tensor<P, T>>(like).fill())))
    }

    fn filled(&self, value: &[u8]) -> Result<Held> {
        let fill = values_of::<T>(value).and_then(|values| values.first().copied());
        let pattern = P::from_any(one_lane(P::FORMAT, P::Index::WIDTH, 0, 0)?)?;
        Ok(Arc::new(Tensor::from_valid(pattern, Vec::new(), fill.ok_or_else(|| refused("bytes are no value"))?)))
    }

    fn fill(&self, value: &Held) -> Number {
        known::<Tensor<P, T>>(value).fill().to_number()
    }

    fn fill_bytes(&self, value: &Held) -> Vec<u8> {
        bytes_of(&[known::<Tensor<P, T>>(value).fill()]).to_vec()
    }

    fn values<'a>(&self, value: &'a Held) -> &'a [u8] {
        bytes_of(known::<Tensor<P, T>>(value).values())
    }

    fn coords(&self, value: &Held) -> Result<Vec<Vec<u64>>> {
        let axes = known::<Tensor<P, T>>(value).pattern().any().axes()?.into_iter();
        Ok(axes.map(|axis| axis.in_width(Width::U64)?.into_vec()).collect::<Allocated<_>>()?)
    }

    fn pattern(&self, shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<Held> {
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

fn refused(why: &str) -> Error {
    Error::Argument { operation: "collect", why: why.into() }
}

/// Refuses coordinates that are no entries of such a shape in row-major order.
fn check(shape: &Shape, count: usize, coords: &[Vec<u64>]) -> Result<()> {
    if coords.len() != shape.rank() || coords.iter().any(|axis| axis.len() != count) {
        return Err(refused("coordinates that came back are not as many as they should be"));
    }
    let within = coords.iter().zip(shape.iter()).all(|(axis, &length)| axis.iter().all(|&coord| coord < length as u64));
    let at = |entry: usize| coords.iter().map(move |axis| axis[entry]);
    match within && (1..count).all(|entry| at(entry - 1).lt(at(entry))) {
        true => Ok(()),
        false => Err(refused("coordinates that came back are not in their place, or not in order")),
    }
}
