//! Products of a tensor with dense factors, whose types are known at run time only. The factors are tensors, which are
//! made dense, and what is dense of the results is stored throughout.

use ndarray::{ArrayD, Dimension};

use super::einsum::by_products;
use super::reduce::{no_floats, on_floats};
use super::select::narrow;
use super::types::Complex;
use super::view::{View, on_both, seen};
use super::widen::{Beyond, widened, zeros};
use super::zip::check_types;
use super::{AnyTensor, Erased, on_type};
use crate::base::alloc::{self, Allocated};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::base::index::Width;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::Shape;
use crate::convert::{check_ndarray_shape, dense_array};
use crate::dispatch_dtype;
use crate::element::{DType, Element, Float, Number};
use crate::ops::{self, Operand};
use crate::pattern::{AnyPattern, AxisCoords};
use crate::tensor::Tensor;

/// A factor, which must have `D` axes.
fn dense<T: Element, D: Dimension>(what: &'static str, factor: &AnyTensor) -> Result<ndarray::Array<T, D>> {
    let found = factor.rank();
    let wrong = |_| Error::RankMismatch { what, expected: D::NDIM.unwrap_or(found), found };
    widened::<T>(factor)?.to_dense()?.into_dimensionality().map_err(wrong)
}

fn all_dense<T: Element>(factors: &[&AnyTensor]) -> Result<Vec<ArrayD<T>>> {
    factors.iter().map(|factor| dense("a factor", factor)).collect()
}

/// An array as a tensor that stores all of it.
fn all_stored<T: Element>(array: ArrayD<T>) -> Result<Erased<T>> {
    let (shape, size) = (Shape::from(array.shape()), array.len());
    let axis = |axis: usize| {
        let inner: usize = shape[axis + 1..].iter().product();
        alloc::collect((0..size).map(|at| (at / inner % shape[axis]) as u64)).map(AxisCoords::from)
    };
    let coords = (0..shape.rank()).map(axis).collect::<Allocated<Vec<_>>>()?;
    let pattern = AnyPattern::valid_coo(shape, size, Width::U64, coords);
    let values = array.as_standard_layout().into_owned().into_raw_vec_and_offset().0;
    Ok(Tensor::from_valid(pattern, values, T::ZERO))
}

/// All elements of a tensor, stored: their coordinates take memory as the elements do.
#[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
fn made_dense<T: Element>(x: &Erased<T>) -> Result<Erased<T>> {
    let each = size_of::<T>() + x.shape().rank() * size_of::<u64>();
    let bytes = x.shape().wide_size().saturating_mul(each as u128);
    guard::<u8>("all elements with their coordinates", bytes, default_limit(x.stored_bytes()), "keep the sparse form")?;
    all_stored(x.to_dense()?)
}

/// The gradient of a factor, on what it stores.
fn of_factor<T: Float>(factor: &AnyTensor, gradient: &ArrayD<T>) -> Result<AnyTensor> {
    let pattern = zeros(factor)?.pattern().clone();
    let values = gradient.at_entries(&pattern)?;
    factor.view().found(Ok(Tensor::from_valid(pattern, values, T::ZERO)))
}

/// The gradients of a tensor and of its factors.
fn gradients<T: Float>(
    x: &AnyTensor,
    dx: Erased<T>,
    factors: &[&AnyTensor],
    of_factors: &[ArrayD<T>],
) -> Result<Vec<AnyTensor>> {
    let of_factors = factors.iter().zip(of_factors).map(|(factor, gradient)| of_factor(factor, gradient));
    std::iter::once(x.view().found(Ok(dx))).chain(of_factors).collect()
}

// The factors are tensors of the same element type, which are made dense. Results that are arrays in the typed forms are
// tensors that store all of their elements; the gradient of a factor is on what the factor stores.
on_both! {
    /// The product of an unfolded tensor with those of its factors: see [`mttkrp()`](crate::mttkrp()).
    ///
    /// # Errors
    ///
    /// Those of [`mttkrp()`](crate::mttkrp()); `TypesDiffer`: the element types differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2, 3], 0)?;
    /// let any = AnyTensor::from(x.clone());
    /// let dense = lacuna::mttkrp(&x, 0, &[&x.to_dense()?])?;
    /// assert_eq!(any.mttkrp(0, &[&any])?.into_coo::<i32, u64>()?.to_dense()?, dense);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn mttkrp(&self, mode: impl Position, factors: &[&AnyTensor]) -> Result<AnyTensor> {
        let mode = narrow(mode.to_i128());
        let view = self.view();
        check_types("mttkrp", &[&[view.tensor], factors].concat())?;
        by_products!("mttkrp", as view, T => {
            let arrays = all_dense::<T>(factors)?;
            let arrays: Vec<_> = arrays.iter().collect();
            all_stored(seen!(view, widened::<T>(view.tensor)?, x => ops::mttkrp(x, mode, &arrays)?))
        })
    }

    /// The gradients of the tensor and of all factors of `mttkrp`: see
    /// [`mttkrp_backward`](crate::mttkrp_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`mttkrp_backward`](crate::mttkrp_backward()); `TypesDiffer`, and where the elements are no floats.
    pub fn mttkrp_backward(
        &self,
        mode: impl Position,
        factors: &[&AnyTensor],
        upstream: &AnyTensor,
    ) -> Result<Vec<AnyTensor>> {
        let mode = narrow(mode.to_i128());
        let view = self.view();
        check_types("mttkrp_backward", &[&[view.tensor, upstream], factors].concat())?;
        on_floats!(upstream, g => {
            let (arrays, g) = (all_dense(factors)?, g.to_dense()?);
            let arrays: Vec<_> = arrays.iter().collect();
            let both = seen!(view, widened(view.tensor)?, x => ops::mttkrp_backward(x, mode, &arrays, &g));
            let (dx, of_factors) = both?;
            gradients(view.tensor, dx, factors, &of_factors)
        })
    }

    /// A matrix along an axis: see [`ttm()`](crate::ttm()).
    ///
    /// # Errors
    ///
    /// Those of [`ttm()`](crate::ttm()); `RankMismatch`: it is no matrix; `TypesDiffer`: the element types differ.
    pub fn ttm(&self, matrix: &AnyTensor, axis: impl Position) -> Result<AnyTensor> {
        let axis = narrow(axis.to_i128());
        let view = self.view();
        check_types("ttm", &[view.tensor, matrix])?;
        by_products!("ttm", as view, T => {
            let matrix = dense("the matrix", matrix)?;
            all_stored(seen!(view, widened::<T>(view.tensor)?, x => ops::ttm(x, &matrix, axis)?))
        })
    }

    /// The gradients of both operands of `ttm`: see [`ttm_backward`](crate::ttm_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`ttm_backward`](crate::ttm_backward()); `TypesDiffer`, and where the elements are no floats.
    pub fn ttm_backward(
        &self,
        matrix: &AnyTensor,
        axis: impl Position,
        upstream: &AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let axis = narrow(axis.to_i128());
        let view = self.view();
        check_types("ttm_backward", &[view.tensor, matrix, upstream])?;
        on_floats!(upstream, g => {
            let (own, g) = (dense("the matrix", matrix)?, g.to_dense()?);
            let both = seen!(view, widened(view.tensor)?, x => ops::ttm_backward(x, &own, axis, &g));
            let (dx, dm) = both?;
            Ok((view.found(Ok(dx))?, of_factor(matrix, &dm)?))
        })
    }

    /// A vector along an axis: see [`ttv()`](crate::ttv()).
    ///
    /// # Errors
    ///
    /// Those of [`ttv()`](crate::ttv()); `RankMismatch`: it is no vector; `TypesDiffer`: the element types differ.
    pub fn ttv(&self, vector: &AnyTensor, axis: impl Position) -> Result<AnyTensor> {
        let axis = narrow(axis.to_i128());
        let view = self.view();
        check_types("ttv", &[view.tensor, vector])?;
        by_products!("ttv", as view, T => {
            let vector = dense("the vector", vector)?;
            all_stored(seen!(view, widened::<T>(view.tensor)?, x => ops::ttv(x, &vector, axis)?))
        })
    }

    /// The gradients of both operands of `ttv`: see [`ttv_backward`](crate::ttv_backward()).
    ///
    /// # Errors
    ///
    /// Those of [`ttv_backward`](crate::ttv_backward()); `TypesDiffer`, and where the elements are no floats.
    pub fn ttv_backward(
        &self,
        vector: &AnyTensor,
        axis: impl Position,
        upstream: &AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let axis = narrow(axis.to_i128());
        let view = self.view();
        check_types("ttv_backward", &[view.tensor, vector, upstream])?;
        on_floats!(upstream, g => {
            let (own, g) = (dense("the vector", vector)?, g.to_dense()?);
            let both = seen!(view, widened(view.tensor)?, x => ops::ttv_backward(x, &own, axis, &g));
            let (dx, dv) = both?;
            Ok((view.found(Ok(dx))?, of_factor(vector, &dv)?))
        })
    }
}

impl AnyTensor {
    /// The same elements, all of them stored, in coordinates and with a fill of 0.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    pub(crate) fn all_stored(&self) -> Result<AnyTensor> {
        on_type!(self, x => Ok(made_dense(x)?.into()))
    }

    /// A tensor that stores all of these elements, which stand in row-major order.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    pub(crate) fn of_all(dtype: DType, shape: &Shape, elements: &[Number]) -> Result<AnyTensor> {
        fn made<T: Element>(shape: &Shape, elements: &[Number]) -> Result<AnyTensor> {
            check_ndarray_shape(shape)?;
            let elements = alloc::collect(elements.iter().map(|&element| T::from_number(element).unwrap_or(T::ZERO)))?;
            Ok(all_stored(dense_array(shape, elements))?.into())
        }
        dispatch_dtype!(dtype, T => made::<T>(shape, elements), else => Err(super::no_such(dtype)))
    }

    /// A number everywhere, on the pattern.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    pub(crate) fn constant(&self, number: Number) -> Result<AnyTensor> {
        let zeros = self.isin([], false)?.cast(self.dtype())?;
        zeros.stored().add(number)?.with_fill(number)
    }

    /// Ones where something is stored, and zeros elsewhere.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    fn ones(&self) -> Result<AnyTensor> {
        self.constant(Number::Integer(1))?.with_fill(Number::Integer(0))
    }

    /// The dots of rows of two dense factors at what is stored.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    pub(crate) fn pattern_sddmm(&self, l: &AnyTensor, r: &AnyTensor) -> Result<AnyTensor> {
        self.ones()?.sddmm(l, r)
    }

    /// The gradients of both factors of `pattern_sddmm`.
    #[cfg_attr(any(test, not(feature = "eval")), allow(dead_code))] // functions of expressions
    pub(crate) fn pattern_sddmm_backward(
        &self,
        l: &AnyTensor,
        r: &AnyTensor,
        upstream: &AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor)> {
        let mut all = self.ones()?.sddmm_backward(l, r, upstream)?;
        match (all.pop(), all.pop()) {
            (Some(dr), Some(dl)) => Ok((dl, dr)),
            _ => Err(Error::NoTensor),
        }
    }
}

on_both! {
    /// The entries times the dots of rows of two dense factors: see [`Stored::sddmm`](crate::Stored::sddmm).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::sddmm`](crate::Stored::sddmm); `TypesDiffer`: the element types differ.
    pub fn sddmm(&self, l: &AnyTensor, r: &AnyTensor) -> Result<AnyTensor> {
        let x = self.view().tensor;
        check_types("sddmm", &[x, l, r])?;
        let pattern = zeros(x)?.pattern().clone();
        let dots = by_products!("sddmm", as x.view(), T => {
            ops::dots_at(&pattern, &dense::<T, _>("a factor", l)?.view(), &dense("a factor", r)?.view())
        })?;
        x.stored().mul(dots.with_fill(x.fill())?.stored())?.with_fill(Number::Integer(0))
    }

    /// The gradients of the entries and of both factors of `sddmm`: see
    /// [`Stored::sddmm_backward`](crate::Stored::sddmm_backward).
    ///
    /// # Errors
    ///
    /// Those of [`Stored::sddmm_backward`](crate::Stored::sddmm_backward); `TypesDiffer`, and where the elements are
    /// no floats.
    pub fn sddmm_backward(&self, l: &AnyTensor, r: &AnyTensor, upstream: &AnyTensor) -> Result<Vec<AnyTensor>> {
        let x = self.view().tensor;
        check_types("sddmm_backward", &[x, l, r, upstream])?;
        on_floats!(upstream, g => {
            let factors = all_dense(&[l, r])?;
            let (dx, dl, dr) = widened(x)?.stored().sddmm_backward(&factors[0], &factors[1], g)?;
            gradients(x, dx, &[l, r], &[dl, dr])
        })
    }
}
