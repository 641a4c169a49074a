//! Medians over axes without the NaNs, with the position of the median and its gradient; and the same of the stored
//! entries only.
//!
//! Each is a function, a twin `_with` options, and a method. This file holds the traits and the checking, calling and
//! wrapping that all of them share; [`all`] and [`stored`] are the pages.

mod all;
mod dense;
mod methods;
mod stored;

pub use all::{
    nanmedian, nanmedian_backward, nanmedian_backward_with, nanmedian_index, nanmedian_index_with, nanmedian_with,
};
pub use stored::{
    nanmedian_stored, nanmedian_stored_backward, nanmedian_stored_backward_with, nanmedian_stored_index,
    nanmedian_stored_index_with, nanmedian_stored_with,
};

pub use crate::kernels::median::{EvenCount, MedianGradient};

use crate::axes::Axes;
use crate::coo::CooTensor;
use crate::csr::CsrTensor;
use crate::element::{Element, Float, Real};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::kernels::median::{
    Gaps, median_of_gaps, median_of_one, medians, medians_and_positions, share_among_entries,
};
use crate::ops::reduce::{Reduce, Reduction};
use crate::ops::upstream::{Upstream, at_entries, check_shape};
use crate::pattern::{CooPattern, CsrPattern, Pattern};
use crate::shape::saturating_product;
use crate::tensor::Tensor;

/// What [`nanmedian_with`] may be told: what the median of an even number of values is.
///
/// ```
/// use lacuna::{EvenCount, NanmedianOptions, nanmedian_with};
/// use ndarray::arr1;
///
/// let x = arr1(&[1, 2, 3, 10]);
/// let lower = NanmedianOptions { even: EvenCount::Lower };
/// assert_eq!(nanmedian_with(&x, 0, lower)?[[]], 2.0);
/// assert_eq!(nanmedian_with(&x, 0, NanmedianOptions::default())?[[]], 2.5);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NanmedianOptions {
    /// What the median of an even number of values is.
    pub even: EvenCount,
}

/// What [`nanmedian_backward_with`] may be told: what the forward pass was told, and who receives the gradient.
///
/// ```
/// use lacuna::{EvenCount, MedianGradient, NanmedianBackwardOptions, nanmedian_backward_with};
/// use ndarray::{arr0, arr1};
///
/// let x = arr1(&[1.0, 2.0, 2.0, 3.0]);
/// let first = NanmedianBackwardOptions { rule: MedianGradient::First, ..Default::default() };
/// let dx = nanmedian_backward_with(&x, &arr0(8.0), 0, first)?;
/// assert_eq!(dx, arr1(&[0.0, 4.0, 4.0, 0.0]).into_dyn());
///
/// let lower = NanmedianBackwardOptions { even: EvenCount::Lower, ..first };
/// let dx = nanmedian_backward_with(&x, &arr0(8.0), 0, lower)?;
/// assert_eq!(dx, arr1(&[0.0, 8.0, 0.0, 0.0]).into_dyn());
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NanmedianBackwardOptions {
    /// What the median of an even number of values was in the forward pass.
    pub even: EvenCount,
    /// Who receives the gradient.
    pub rule: MedianGradient,
}

/// What [`nanmedian()`] takes: tensors of both formats, and `ndarray` arrays and views, with elements that have an
/// order.
///
/// In scope (it is in the [prelude](crate::prelude)), it gives arrays the methods that tensors have of their own.
pub trait NanmedianOp {
    /// What [`nanmedian()`] gives: the same kind, with elements of the type of a median.
    type Output;
    /// What [`nanmedian_index()`] gives beside it: the same kind, with positions of type `u64`.
    type Positions;
    /// What [`nanmedian_backward`] gives: the same kind, with the elements of the upstream gradient.
    type Gradient<G: Element>;

    /// See [`nanmedian_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`].
    fn nanmedian_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Self::Output>;

    /// See [`nanmedian_index_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`].
    fn nanmedian_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<(Self::Output, Self::Positions)>;

    /// See [`nanmedian_backward_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward_with`].
    fn nanmedian_backward_with<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
        options: NanmedianBackwardOptions,
    ) -> Result<Self::Gradient<U::Elem>>;

    /// See [`nanmedian()`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`].
    fn nanmedian(&self, axes: impl Into<Axes>) -> Result<Self::Output> {
        self.nanmedian_with(axes, NanmedianOptions::default())
    }

    /// See [`nanmedian_index()`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`].
    fn nanmedian_index(&self, axes: impl Into<Axes>) -> Result<(Self::Output, Self::Positions)> {
        self.nanmedian_index_with(axes, NanmedianOptions::default())
    }

    /// See [`nanmedian_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_backward`].
    fn nanmedian_backward<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
    ) -> Result<Self::Gradient<U::Elem>> {
        self.nanmedian_backward_with(upstream, axes, NanmedianBackwardOptions::default())
    }
}

/// What [`nanmedian_stored`] takes: tensors of both formats. A dense array stores everything, so for it
/// [`nanmedian()`] is the same.
pub trait NanmedianStoredOp: NanmedianOp {
    /// See [`nanmedian_stored_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`].
    fn nanmedian_stored_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Self::Output>;

    /// See [`nanmedian_stored_index_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`].
    fn nanmedian_stored_index_with(
        &self,
        axes: impl Into<Axes>,
        options: NanmedianOptions,
    ) -> Result<(Self::Output, Self::Positions)>;

    /// See [`nanmedian_stored_backward_with`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_stored_backward_with`].
    fn nanmedian_stored_backward_with<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
        options: NanmedianBackwardOptions,
    ) -> Result<Self::Gradient<U::Elem>>;

    /// See [`nanmedian_stored`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian()`].
    fn nanmedian_stored(&self, axes: impl Into<Axes>) -> Result<Self::Output> {
        self.nanmedian_stored_with(axes, NanmedianOptions::default())
    }

    /// See [`nanmedian_stored_index`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_index()`].
    fn nanmedian_stored_index(&self, axes: impl Into<Axes>) -> Result<(Self::Output, Self::Positions)> {
        self.nanmedian_stored_index_with(axes, NanmedianOptions::default())
    }

    /// See [`nanmedian_stored_backward`].
    ///
    /// # Errors
    ///
    /// Those of [`nanmedian_stored_backward`].
    fn nanmedian_stored_backward<U: Upstream<Elem: Float>>(
        &self,
        upstream: &U,
        axes: impl Into<Axes>,
    ) -> Result<Self::Gradient<U::Elem>> {
        self.nanmedian_stored_backward_with(upstream, axes, NanmedianBackwardOptions::default())
    }
}

/// Which positions count, and the name of the operation under which they do.
#[derive(Clone, Copy)]
enum Scope {
    /// All positions: those not stored hold the fill.
    All(&'static str),
    /// Those that are stored.
    Stored(&'static str),
}

impl Scope {
    fn operation(self) -> &'static str {
        match self {
            Scope::All(operation) | Scope::Stored(operation) => operation,
        }
    }

    /// What each group of `extent` positions holds beside its entries.
    fn gaps<T: Real>(self, fill: T, extent: u64) -> Gaps<T> {
        match self {
            Scope::All(_) => Gaps::new(fill, extent),
            Scope::Stored(_) => Gaps::none(),
        }
    }
}

/// The name of the form of an operation that these options belong to.
fn spelled<O: Default + PartialEq>(options: O, [plain, with_options]: [&'static str; 2]) -> &'static str {
    if options == O::default() { plain } else { with_options }
}

/// A pattern that knows where in its group an entry stands.
trait PositionInGroup: Reduce {
    /// The row-major position of an entry within the axes that go, whose positions fit `u64`.
    fn position_in_group(&self, reduction: &Reduction, entry: usize) -> u64;
}

impl<I: Index> PositionInGroup for CooPattern<I> {
    fn position_in_group(&self, reduction: &Reduction, entry: usize) -> u64 {
        reduction.reduced().iter().fold(0, |position, &axis| {
            position * self.shape()[axis] as u64 + self.coords(axis)[entry].to_usize() as u64
        })
    }
}

impl<I: Index> PositionInGroup for CsrPattern<I> {
    fn position_in_group(&self, reduction: &Reduction, entry: usize) -> u64 {
        let column = self.columns()[entry].to_usize() as u64;
        if reduction.reduced().len() < self.shape().rank() || self.lanes() == 1 {
            return column;
        }
        let lane = self.offsets().partition_point(|&offset| offset <= entry) - 1;
        lane as u64 * self.shape().columns() as u64 + column
    }
}

/// Refuses groups with more positions than `u64` counts.
fn check_countable(reduction: &Reduction, what: &'static str) -> Result<()> {
    let positions = saturating_product(&reduction.reduced_lengths());
    if positions <= u128::from(u64::MAX) { Ok(()) } else { Err(Error::Uncountable { what }) }
}

/// The median of either sparse format.
fn median_sparse<P: Reduce, T: Real>(
    x: &Tensor<P, T>,
    axes: &Axes,
    options: NanmedianOptions,
    scope: Scope,
) -> Result<Tensor<P, T::Median>> {
    let reduction = Reduction::new(x.shape(), axes)?;
    let gaps = scope.gaps(x.fill(), reduction.extent());
    let fill = median_of_gaps(&gaps);
    if reduction.is_elementwise() {
        return Ok(x.map_values(median_of_one).with_fill(fill));
    }
    let (pattern, groups) = x.pattern().reduce(scope.operation(), &reduction)?;
    let values = medians(&groups, x.values(), gaps, options.even);
    Ok(Tensor::from_valid(pattern, values, fill))
}

/// The position of the one element of a group, and of nothing in a group without a number.
fn position_of_one<T: Element>(value: T) -> u64 {
    if value.isnan() { u64::MAX } else { 0 }
}

/// What the one element of a group receives of its gradient: all of it, and nothing where it is no number.
fn gradient_of_one<T: Element, G: Float>(gradient: G, value: T) -> G {
    if value.isnan() { G::ZERO } else { gradient.share(1.0, 1) }
}

/// What a median with its position is, in one format.
type MedianAndPosition<P, T> = (Tensor<P, <T as Real>::Median>, Tensor<P, u64>);

/// The median and its position, of either sparse format.
fn index_sparse<P: PositionInGroup, T: Real>(
    x: &Tensor<P, T>,
    axes: &Axes,
    options: NanmedianOptions,
    scope: Scope,
) -> Result<MedianAndPosition<P, T>> {
    let reduction = Reduction::new(x.shape(), axes)?;
    check_countable(&reduction, "the position of a median")?;
    let gaps = scope.gaps(x.fill(), reduction.extent());
    let fill = median_of_gaps(&gaps);
    let position_fill = position_of_one(fill);
    if reduction.is_elementwise() {
        let positions = x.map_values(position_of_one).with_fill(position_fill);
        return Ok((x.map_values(median_of_one).with_fill(fill), positions));
    }
    let (pattern, groups) = x.pattern().reduce(scope.operation(), &reduction)?;
    let position = |entry: usize| x.pattern().position_in_group(&reduction, entry);
    let (values, positions) = medians_and_positions(&groups, x.values(), gaps, options.even, &position);
    let positions = Tensor::from_valid(pattern.clone(), positions, position_fill);
    Ok((Tensor::from_valid(pattern, values, fill), positions))
}

/// The gradient of the median, of either sparse format.
fn backward_sparse<P: PositionInGroup, T: Real, U: Upstream<Elem: Float>>(
    x: &Tensor<P, T>,
    upstream: &U,
    axes: &Axes,
    options: NanmedianBackwardOptions,
    scope: Scope,
) -> Result<Tensor<P, U::Elem>> {
    let reduction = Reduction::new(x.shape(), axes)?;
    if options.rule == MedianGradient::First {
        check_countable(&reduction, "the first of equal elements")?;
    }
    check_shape(upstream, &reduction.result_shape())?;
    let values = if reduction.is_elementwise() {
        let gradients = at_entries(upstream, x.pattern())?.into_iter().zip(x.values());
        gradients.map(|(gradient, &value)| gradient_of_one(gradient, value)).collect()
    } else {
        let (cells, groups) = x.pattern().reduce(scope.operation(), &reduction)?;
        let gaps = scope.gaps(x.fill(), reduction.extent());
        let gradients = at_entries(upstream, &cells)?;
        let position = |entry: usize| x.pattern().position_in_group(&reduction, entry);
        share_among_entries(&groups, x.values(), gaps, &gradients, (options.even, options.rule), &position)
    };
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

/// The same lines for each format, as each gives its own kind back.
macro_rules! impl_nanmedian {
    ($tensor:ident) => {
        impl<T: Real, I: Index> NanmedianOp for $tensor<T, I> {
            type Output = $tensor<T::Median, I>;
            type Positions = $tensor<u64, I>;
            type Gradient<G: Element> = $tensor<G, I>;

            fn nanmedian_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Self::Output> {
                median_sparse(
                    self,
                    &axes.into(),
                    options,
                    Scope::All(spelled(options, ["nanmedian", "nanmedian_with"])),
                )
            }

            fn nanmedian_index_with(
                &self,
                axes: impl Into<Axes>,
                options: NanmedianOptions,
            ) -> Result<(Self::Output, Self::Positions)> {
                index_sparse(
                    self,
                    &axes.into(),
                    options,
                    Scope::All(spelled(options, ["nanmedian_index", "nanmedian_index_with"])),
                )
            }

            fn nanmedian_backward_with<U: Upstream<Elem: Float>>(
                &self,
                upstream: &U,
                axes: impl Into<Axes>,
                options: NanmedianBackwardOptions,
            ) -> Result<Self::Gradient<U::Elem>> {
                backward_sparse(
                    self,
                    upstream,
                    &axes.into(),
                    options,
                    Scope::All(spelled(options, ["nanmedian_backward", "nanmedian_backward_with"])),
                )
            }
        }

        impl<T: Real, I: Index> NanmedianStoredOp for $tensor<T, I> {
            fn nanmedian_stored_with(&self, axes: impl Into<Axes>, options: NanmedianOptions) -> Result<Self::Output> {
                median_sparse(
                    self,
                    &axes.into(),
                    options,
                    Scope::Stored(spelled(options, ["nanmedian_stored", "nanmedian_stored_with"])),
                )
            }

            fn nanmedian_stored_index_with(
                &self,
                axes: impl Into<Axes>,
                options: NanmedianOptions,
            ) -> Result<(Self::Output, Self::Positions)> {
                index_sparse(
                    self,
                    &axes.into(),
                    options,
                    Scope::Stored(spelled(options, ["nanmedian_stored_index", "nanmedian_stored_index_with"])),
                )
            }

            fn nanmedian_stored_backward_with<U: Upstream<Elem: Float>>(
                &self,
                upstream: &U,
                axes: impl Into<Axes>,
                options: NanmedianBackwardOptions,
            ) -> Result<Self::Gradient<U::Elem>> {
                backward_sparse(
                    self,
                    upstream,
                    &axes.into(),
                    options,
                    Scope::Stored(spelled(options, ["nanmedian_stored_backward", "nanmedian_stored_backward_with"])),
                )
            }
        }
    };
}

impl_nanmedian!(CooTensor);
impl_nanmedian!(CsrTensor);
