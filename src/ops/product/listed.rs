//! The elements of any operand, in the order in which a product reads them.

use std::borrow::Cow;

use ndarray::{ArrayBase, Data, Dimension};

use super::matrix::in_order;
use crate::base::error::{Error, Result};
use crate::base::shape::{Shape, ravel, step, unravel};
use crate::convert::{check_result, dense_bytes};
use crate::element::Element;
use crate::ops::operand::ErasedOperand;
use crate::tensor::erased::SparseRef;

/// A function of axes in increasing order, their lengths, a first element and a buffer. The function writes the flat
/// indices of the elements within these axes, as if the axes had these lengths.
type Place<'a> = Box<dyn Fn(&[usize], &[usize], usize, &mut [usize]) + Sync + 'a>;

/// The elements that an operand holds one by one, in row-major order, and their positions.
pub(crate) struct Listed<'a, T: Clone> {
    pub(in crate::ops) values: Cow<'a, [T]>,
    pub(super) shape: Shape,
    /// The value of all other positions, if they count.
    implicit: Option<T>,
    place: Place<'a>,
}

impl<T: Element> ErasedOperand<'_, T> {
    /// Returns the elements in the order in which a product reads them.
    pub(super) fn listed(&self) -> Result<Listed<'_, T>> {
        match self {
            ErasedOperand::Sparse(x) => Ok(Listed::of_tensor(x.sparse(), x.implicit())),
            ErasedOperand::Array(x) => Listed::of_array(&x.array),
        }
    }
}

impl<'a, T: Element> Listed<'a, T> {
    /// Returns the entries of a tensor.
    pub(crate) fn of_tensor(x: SparseRef<'a, T>, implicit: Option<T>) -> Self {
        let pattern = x.pattern();
        let place = |axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]| {
            pattern.number_within(axes, lengths, start, positions);
        };
        Listed { values: x.values().into(), shape: x.shape().clone(), implicit, place: Box::new(place) }
    }

    /// Returns all elements of an array.
    pub(crate) fn of_array<D: Dimension>(x: &'a ArrayBase<impl Data<Elem = T>, D>) -> Result<Self> {
        let shape = Shape::from(x.shape());
        check_result::<T>(&shape, dense_bytes(x))?;
        let lengths_of_all = shape.clone();
        let place = move |axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]| {
            if positions.is_empty() {
                return;
            }
            let mut coords = vec![0; lengths_of_all.rank()];
            let mut own = vec![0; axes.len()];
            unravel(start, &lengths_of_all, &mut coords);
            for position in positions {
                own.iter_mut().zip(axes).for_each(|(own, &axis)| *own = coords[axis]);
                *position = ravel(&own, lengths);
                step(&mut coords, &lengths_of_all);
            }
        };
        let values = in_order(&x.view().into_dyn())?;
        let values = match values {
            Cow::Borrowed(_) => Cow::Borrowed(x.as_slice().unwrap_or_default()),
            Cow::Owned(values) => Cow::Owned(values),
        };
        Ok(Listed { values, shape, implicit: None, place: Box::new(place) })
    }

    /// Writes the flat indices of the elements from `start` on within some axes, as if these axes had the `lengths`.
    pub(super) fn place(&self, axes: &[usize], lengths: &[usize], start: usize, positions: &mut [usize]) {
        (self.place)(axes, lengths, start, positions);
    }

    /// Returns whether unstored positions count, as zeros; rejects a fill that is not zero.
    pub(super) fn has_zeros(&self, operation: &'static str) -> Result<bool> {
        let all = self.shape.wide_size() == self.values.len() as u128;
        match self.implicit.filter(|_| !all) {
            Some(fill) if fill.is_truthy() => {
                let fill = fill.to_number();
                let why = format!("the fill is {fill}, but products skip only zeros; set the fill to 0 with with_fill");
                Err(Error::Argument { operation, why: format!("{why}, or use only stored entries with x.stored()") })
            }
            implicit => Ok(implicit.is_some()),
        }
    }
}
