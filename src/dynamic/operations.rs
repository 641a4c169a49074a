//! The operations of tensors whose types are known at run time only.
//!
//! What only moves values is compiled for every element type in both formats. What computes with them runs on the
//! widest type of a kind ([widened](super::widen), which copies nothing where the type is wide already), on the truth
//! of the values, or on zeros where the pattern alone counts; upstream gradients come in coordinates. So the compiled
//! copies stay few, and the results are those of the typed forms.
//!
//! All of it is generic or `inline`, so that a program which uses none of it has none compiled.

use super::widen::{Wide, no_order, on_wide, truth, zeros};
use super::{AnyFormat, AnyTensor};
use crate::base::alloc::{self, Allocated};
use crate::base::axes::Axes;
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::dispatch;
use crate::element::{Element, Number};
use crate::ops::{Isin, Nanmedian, Take};
use crate::tensor::coo::CooTensor;

/// The entries of a tensor whose types are known at run time only: see [`Stored`](crate::Stored).
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::AnyTensor;
///
/// let x = CooTensor::new([4], vec![vec![1, 2]], vec![3i8, 5], 0)?.with_index::<u64>()?;
/// let any = AnyTensor::from(x);
/// assert_eq!(any.nanmedian(0)?.into_coo::<f64, u64>()?.values(), [1.5]); // of 0, 3, 5, 0
/// assert_eq!(any.stored().nanmedian(0)?.into_coo::<f64, u64>()?.values(), [4.0]); // of 3, 5
/// # Ok::<(), lacuna::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AnyStored<'a> {
    tensor: &'a AnyTensor,
}

/// Runs code on a tensor of one element type in either format.
macro_rules! on_format {
    ($tensor:expr, $x:ident => $body:expr) => {
        match $tensor {
            AnyFormat::Coo($x) => $body,
            AnyFormat::Csr($x) => $body,
        }
    };
}

/// Runs code on an upstream gradient of any type, as a tensor in coordinates.
macro_rules! on_upstream {
    ([$($Real:ident $real:ty),*] [$($Complex:ident $complex:ty),*] ($upstream:expr) $g:ident ($body:expr)) => {
        match $upstream {
            $(AnyTensor::$Real($g) => { let $g = &in_coords($g)?; $body })*
            $(AnyTensor::$Complex($g) => { let $g = &in_coords($g)?; $body })*
        }
    };
}

/// Runs a test that every type has; integers are all alike to it, and only their pattern counts.
macro_rules! test_any {
    ($tensor:expr, $name:ident, $of:ident) => {
        match $tensor {
            AnyTensor::Complex64(x) => $of!(x),
            AnyTensor::Complex128(x) => $of!(x),
            real => test_real!(real, $name, $of),
        }
    };
}

/// Runs a test that types with an order have.
macro_rules! test_real {
    ($tensor:expr, $name:ident, $of:ident) => {
        match $tensor {
            AnyTensor::Bool(x) => $of!(x),
            AnyTensor::Float32(x) => $of!(x),
            AnyTensor::Float64(x) => $of!(x),
            #[cfg(feature = "half")]
            AnyTensor::Float16(x) => $of!(x),
            #[cfg(feature = "half")]
            AnyTensor::BFloat16(x) => $of!(x),
            x @ (AnyTensor::Complex64(_) | AnyTensor::Complex128(_)) => Err(no_order(stringify!($name), x)),
            integers => $of!(&zeros(integers)?),
        }
    };
}

/// The one list of methods: `$operand` is what each asks, of the tensor `$x`.
macro_rules! operations {
    ($x:ident => $operand:expr) => {
        /// Whether any element is truthy, over the axes given: see [`any()`](crate::any()).
        ///
        /// # Errors
        ///
        /// Those of [`any()`](crate::any()).
        pub fn any(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
            let (truth, axes) = (truth(self.tensor())?, axes.into());
            on_format!(&truth, $x => $operand.any(axes).map(AnyTensor::from))
        }

        /// The surrogate gradient of `any`: see [`any_backward`](crate::any_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`any_backward`](crate::any_backward()).
        pub fn any_backward(&self, upstream: &AnyTensor, axes: impl Into<Axes>) -> Result<AnyTensor> {
            let (zeros, axes) = (zeros(self.tensor())?, axes.into());
            crate::__with_dtypes! { (on_upstream) (upstream) g (
                on_format!(&zeros, x => x.any_backward(g, axes).map(AnyTensor::from))
            ) }
        }

        /// The number of truthy elements, over the axes given: see [`count_nonzero`](crate::count_nonzero()).
        ///
        /// # Errors
        ///
        /// Those of [`count_nonzero`](crate::count_nonzero()).
        pub fn count_nonzero(&self, axes: impl Into<Axes>) -> Result<AnyTensor> {
            let (truth, axes) = (truth(self.tensor())?, axes.into());
            on_format!(&truth, $x => $operand.count_nonzero(axes).map(AnyTensor::from))
        }

        /// The median over axes, of the elements that are not NaN: see [`nanmedian`](crate::nanmedian()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian`](crate::nanmedian()), and `NoOrder`: the elements are complex.
        pub fn nanmedian(&self, options: impl Into<Nanmedian>) -> Result<AnyTensor> {
            let (x, options) = (self.tensor(), options.into());
            match x {
                AnyTensor::Float32(x) => on_format!(x, $x => $operand.nanmedian(options).map(AnyTensor::from)),
                #[cfg(feature = "half")]
                AnyTensor::Float16(x) => on_format!(x, $x => $operand.nanmedian(options).map(AnyTensor::from)),
                #[cfg(feature = "half")]
                AnyTensor::BFloat16(x) => on_format!(x, $x => $operand.nanmedian(options).map(AnyTensor::from)),
                _ => on_wide!(&Wide::of(x)?, $x => $operand.nanmedian(options).map(AnyTensor::from),
                    _ => Err(no_order("nanmedian", x))),
            }
        }

        /// The gradient of `nanmedian`: see [`nanmedian_backward`](crate::nanmedian_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`nanmedian_backward`](crate::nanmedian_backward()); `NoOrder`: the elements are complex;
        /// `NotRepresentable`: the upstream gradient is of no type of floats.
        pub fn nanmedian_backward(&self, upstream: &AnyTensor, options: impl Into<Nanmedian>) -> Result<AnyTensor> {
            let (x, options) = (Wide::of(self.tensor())?, options.into());
            macro_rules! of {
                ($g:expr) => {{
                    let g = &in_coords($g)?;
                    on_wide!(&x, $x => $operand.nanmedian_backward(g, options).map(AnyTensor::from),
                        _ => Err(no_order("nanmedian", self.tensor())))
                }};
            }
            match upstream {
                AnyTensor::Float32(g) => of!(g),
                AnyTensor::Float64(g) => of!(g),
                #[cfg(feature = "half")]
                AnyTensor::Float16(g) => of!(g),
                #[cfg(feature = "half")]
                AnyTensor::BFloat16(g) => of!(g),
                _ if matches!(x, Wide::Complex(_)) => Err(no_order("nanmedian", self.tensor())),
                other => Err(no_floats(other)),
            }
        }

        /// Whether each element is one of `members`, or with `invert` none of them: see [`isin()`](crate::isin()).
        ///
        /// Numbers are compared as such: one that is no value of the element type is never a member.
        ///
        /// # Errors
        ///
        /// Those of [`isin()`](crate::isin()).
        pub fn isin(&self, members: impl AsRef<[Number]>, invert: bool) -> Result<AnyTensor> {
            macro_rules! of {
                ($elements:expr) => {{
                    let mut isin = Isin::of(exactly(members.as_ref())?);
                    isin.invert = invert;
                    $elements.isin(isin).map(AnyTensor::from)
                }};
            }
            on_wide!(&Wide::of(self.tensor())?, $x => of!($operand), wide => on_format!(wide, $x => of!($operand)))
        }

        /// The elements at flattened positions: see [`take`](crate::take()).
        ///
        /// # Errors
        ///
        /// Those of [`take`](crate::take()).
        pub fn take<'p, J: Position>(&self, positions: impl Into<Take<'p, J>>) -> Result<AnyTensor> {
            let positions = positions.into();
            dispatch!(self.tensor(), $x => $operand.take(positions).map(AnyTensor::from))
        }

        /// The slices at positions of one axis: see [`take_axis`](crate::take_axis()).
        ///
        /// # Errors
        ///
        /// Those of [`take_axis`](crate::take_axis()).
        pub fn take_axis<'p, J: Position>(
            &self,
            positions: impl Into<Take<'p, J>>,
            axis: impl Position,
        ) -> Result<AnyTensor> {
            let positions = positions.into();
            dispatch!(self.tensor(), $x => $operand.take_axis(positions, axis).map(AnyTensor::from))
        }

        /// The gradient of `take`: see [`take_backward`](crate::take_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`take_backward`](crate::take_backward()).
        pub fn take_backward<'p, J: Position>(
            &self,
            upstream: &AnyTensor,
            positions: impl Into<Take<'p, J>>,
        ) -> Result<AnyTensor> {
            let (zeros, positions) = (zeros(self.tensor())?, positions.into());
            crate::__with_dtypes! { (on_upstream) (upstream) g (
                on_format!(&zeros, x => x.take_backward(g, positions).map(AnyTensor::from))
            ) }
        }

        /// The gradient of `take_axis`: see [`take_axis_backward`](crate::take_axis_backward()).
        ///
        /// # Errors
        ///
        /// Those of [`take_axis_backward`](crate::take_axis_backward()).
        pub fn take_axis_backward<'p, J: Position>(
            &self,
            upstream: &AnyTensor,
            positions: impl Into<Take<'p, J>>,
            axis: impl Position,
        ) -> Result<AnyTensor> {
            let (zeros, positions) = (zeros(self.tensor())?, positions.into());
            crate::__with_dtypes! { (on_upstream) (upstream) g (
                on_format!(&zeros, x => x.take_axis_backward(g, positions, axis).map(AnyTensor::from))
            ) }
        }

        operations!(@tests $x => $operand, test_any, ".": isinf isnan isfinite isreal);
        operations!(@tests $x => $operand, test_real, ", and `NoOrder`: the elements are complex.": isposinf isneginf);
    };
    (@tests $x:ident => $operand:expr, $on:ident, $more:literal: $($name:ident)*) => {
        $(operations!(@test $x => $operand, $on, $more, $name);)*
    };
    (@test $x:ident => $operand:expr, $on:ident, $more:literal, $name:ident) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each element.")]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`](crate::", stringify!($name), "())", $more)]
        #[inline]
        pub fn $name(&self) -> Result<AnyTensor> {
            macro_rules! of {
                ($elements:expr) => {
                    on_format!($elements, $x => $operand.$name().map(AnyTensor::from))
                };
            }
            $on!(self.tensor(), $name, of)
        }
    };
}

/// # Operations
///
/// Each gives what its typed form gives; the pages stand at the functions of the same names.
impl AnyTensor {
    operations!(x => x);

    /// What is stored alone: see [`Tensor::stored`](crate::Tensor::stored).
    pub fn stored(&self) -> AnyStored<'_> {
        AnyStored { tensor: self }
    }

    /// The same tensor without its stored entries that are the fill: see [`Tensor::prune`](crate::Tensor::prune).
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::prune`](crate::Tensor::prune).
    #[inline]
    pub fn prune(&self) -> Result<AnyTensor> {
        dispatch!(self, x => x.prune().map(AnyTensor::from))
    }

    fn tensor(&self) -> &AnyTensor {
        self
    }
}

/// # Operations
///
/// Each gives what its typed form gives; the pages stand at the functions of the same names.
impl<'a> AnyStored<'a> {
    operations!(x => x.stored());

    /// The tensor whose entries these are.
    pub fn tensor(&self) -> &'a AnyTensor {
        self.tensor
    }
}

/// An upstream gradient in coordinates.
fn in_coords<G: Element>(upstream: &AnyFormat<G>) -> Result<CooTensor<G, u64>> {
    match upstream {
        AnyFormat::Coo(upstream) => Ok(upstream.clone()),
        AnyFormat::Csr(upstream) => upstream.to_coo(),
    }
}

/// The numbers that are values of the type.
fn exactly<T: Element>(numbers: &[Number]) -> Allocated<Vec<T>> {
    let value = |&number: &Number| T::from_number(number).filter(|value| value.to_number() == number);
    let mut values = alloc::with_capacity(numbers.len())?;
    values.extend(numbers.iter().filter_map(value));
    Ok(values)
}

/// The error for an upstream gradient of a type that has no such gradient.
fn no_floats(upstream: &AnyTensor) -> Error {
    Error::NotRepresentable {
        format: "this gradient",
        what: format!("an upstream gradient of type {}", upstream.dtype()),
        instead: "give one of floats",
    }
}
