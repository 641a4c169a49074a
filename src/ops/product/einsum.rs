//! Sums of products over named axes of any number of operands.

use std::borrow::Cow;

use super::spec::Spec;
use super::steps::{contracted, contracted_backward};
use super::whole::Whole;
use crate::base::error::{Error, Result};
use crate::base::shape::Shape;
use crate::element::{Float, Ring};
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;

/// The options of [`einsum`](einsum()).
///
/// A plain string converts to this type.
///
/// # Examples
///
/// ```
/// use lacuna::{Einsum, einsum};
/// use ndarray::Array2;
///
/// let x = Array2::<f64>::ones((2, 2));
/// let last_first = Einsum::of("ij,jk,kl->il").order([[1, 2], [0, 1]]);
/// assert_eq!(einsum(last_first, &[&x, &x, &x])?[[0, 0]], 4.0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Einsum<'a> {
    /// The labels of all axes.
    pub spec: Cow<'a, str>,
    /// The two operands that each step multiplies, as indices in the list of operands.
    ///
    /// After a step, the product replaces the operand of the first index, and the operand of the second index is
    /// removed from the list. If `None`, operands are multiplied from left to right.
    pub order: Option<Vec<[usize; 2]>>,
}

impl<'a> Einsum<'a> {
    /// Returns the options for a specification, such as `ij,jk->ik`.
    pub fn of(spec: impl Into<Cow<'a, str>>) -> Self {
        Einsum { spec: spec.into(), order: None }
    }

    /// Sets the order of the products: two operand indices per step.
    ///
    /// After a step, the product replaces the operand of the first index in the list of operands. The operand of the
    /// second index is removed from the list.
    pub fn order(self, order: impl Into<Vec<[usize; 2]>>) -> Self {
        Einsum { order: Some(order.into()), ..self }
    }

    /// Returns the same options without borrowed data.
    pub(crate) fn into_owned(self) -> Einsum<'static> {
        Einsum { spec: self.spec.into_owned().into(), order: self.order }
    }

    /// Returns the shape of the result for operands with these lengths.
    pub(crate) fn shape(&self, lengths: &[&[usize]]) -> Result<Shape> {
        let spec = Spec::new(&self.spec, lengths)?;
        spec.check(lengths)?;
        Ok(spec.shape(lengths))
    }
}

impl<'a> From<&'a str> for Einsum<'a> {
    fn from(spec: &'a str) -> Self {
        Einsum::of(spec)
    }
}

impl From<String> for Einsum<'_> {
    fn from(spec: String) -> Self {
        Einsum::of(spec)
    }
}

impl<'a> From<&'a Einsum<'_>> for Einsum<'a> {
    fn from(options: &'a Einsum<'_>) -> Self {
        Einsum { spec: Cow::Borrowed(&options.spec), order: options.order.clone() }
    }
}

/// Returns the labels and the operands, after checking that they fit together.
fn read<X: Operand<Elem: Ring>>(options: &Einsum<'_>, operands: &[&X]) -> Result<(Spec, Vec<Whole<X::Elem>>)> {
    let lengths: Vec<&[usize]> = operands.iter().map(|x| x.lengths()).collect();
    let spec = Spec::new(&options.spec, &lengths)?;
    spec.check(&lengths)?;
    operands.iter().try_for_each(|x| x.erased().listed()?.has_zeros(op::einsum.name).map(|_| ()))?;
    let wholes = operands.iter().map(|x| Whole::of(&x.erased())).collect::<Result<_>>()?;
    Ok((spec, wholes))
}

/// Returns a sum of products in Einstein notation, for any number of operands.
///
/// `einsum("ij,jk->ik", &[&x, &y])` is *z*<sub>ik</sub> = Σ<sub>j</sub> *x*<sub>ij</sub> · *y*<sub>jk</sub>.
///
/// Each letter is an axis. Operands that share a letter are aligned on that axis. A letter that the result does not
/// have is summed. A letter that an operand repeats selects its diagonal. Without `->`, the result has the axes of
/// `...`, then the letters that appear once, in alphabetical order. `...` represents all axes without a letter. These
/// axes of different operands are aligned from the last axis. Spaces are ignored.
///
/// Operands are multiplied two at a time, from left to right or in the order of [`Einsum::order`]. A letter that only
/// one of the two operands has, and that is not needed later, is summed first, exactly and rounded once. The products
/// are then added from +0.0, in row-major order of the summed axes of the left operand. Each product and each sum is
/// rounded, without fused multiply-add. 16-bit floats are added in `f32`. Integers are added exactly. For `bool`,
/// products are "and" and sums are "or". If there is a single operand, it is therefore summed exactly, or its elements
/// are only moved.
///
/// # Shapes
///
/// All axes with the same letter have equal lengths, and so have all aligned axes of `...`: no axis is broadcast. All
/// operands have the same type: tensors of the same format and index type, or arrays.
///
/// # Implicit values
///
/// Unstored positions must hold zero. The result has a fill of zero, and stores a position if all operands store the
/// elements of a term. For stored views, only stored entries count.
///
/// # NaN
///
/// NaN times any element is NaN. The function returns an error if one factor of a product has an entry that is not
/// finite, and the other factor has unstored zeros. [`matmul`](crate::matmul()) has the same rule. Intermediate
/// products are also factors. If an operand is a stored view, the function does not return this error.
///
/// # Gradient
///
/// [`grad::einsum`](crate::grad::einsum).
///
/// # Errors
///
/// - `Argument`: the string is invalid, or does not match the operands;
/// - `Argument`: the order does not have one step fewer than there are operands, or a step has an invalid index;
/// - `Argument`: an operand has unstored positions, and its fill is not zero;
/// - `NonFinite`: one factor of a product has an entry that is not finite, and the other factor has unstored zeros;
/// - `Overflow`: an integer sum does not fit the element type;
/// - `TooLarge`: an intermediate product or the result needs more than the larger of 1 GiB and 16 times the bytes of
///   its factors;
/// - `AxisTooLong`, `AxisOverflow`: an axis that is merged from several axes is too long.
///
/// # Complexity
///
/// The cost of the equivalent products of matrices.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, einsum};
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 1]], vec![5.0, 7.0], 0.0)?;
/// let z = einsum("ij,jk->ik", &[&x, &y])?;
/// assert_eq!(z.entries(), [(vec![0, 1], 14.0), (vec![1, 1], 15.0)]);
/// assert_eq!(z.to_dense()?, einsum("ij,jk->ik", &[&x.to_dense()?, &y.to_dense()?])?);
/// assert_eq!(einsum("ij,ji", &[&x, &y])?.item()?, 15.0);
/// let refused = einsum("ij,j!->i", &[&x, &y]).unwrap_err();
/// assert_eq!(refused.to_string(), "einsum: '!' at 4 is not a letter, `,`, `->` or `...`");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.einsum`](https://numpy.org/doc/stable/reference/generated/numpy.einsum.html).
#[doc(alias = "contract")]
pub fn einsum<'a, X: Operand<Elem: Ring>>(spec: impl Into<Einsum<'a>>, operands: &[&X]) -> Result<X::Reduced<X::Elem>> {
    let options = spec.into();
    let (spec, wholes) = read(&options, operands)?;
    let operands: Vec<_> = operands.iter().map(|x| x.erased()).collect();
    let counts_zeros = operands.iter().all(|x| x.counts_unstored());
    let found = contracted(&spec, options.order.as_deref(), wholes, counts_zeros)?;
    let bytes = operands.iter().fold(0, |bytes: usize, x| bytes.saturating_add(x.held_bytes()));
    let first = operands.first().ok_or(Error::NoTensor)?;
    X::restore(found.into_result(first, bytes)?)
}

/// Returns the gradients of all operands of [`einsum`](einsum()).
///
/// The gradient of each step is computed by the rule of that step. For a product of matrices *c* = *a* · *b*,
/// *da*<sub>ik</sub> = Σ<sub>j</sub> *dc*<sub>ij</sub> · *b*<sub>kj</sub> is added in eight partial sums by the
/// position of *j*, as in [`sddmm`](crate::CooPattern::sddmm). *db*<sub>kj</sub> = Σ<sub>i</sub> *a*<sub>ik</sub> ·
/// *dc*<sub>ij</sub> is added in the order of *i*. Each gradient has the pattern of its operand. Each term of a sum
/// receives the gradient of the sum.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. At an unstored position of
/// `upstream`, the fill of `upstream` counts, or 0 if `upstream` is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times a nonzero element of `upstream` is NaN. An element of `upstream` that is zero is skipped, even if the
/// other factor is not finite.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - `ShapeMismatch`: `upstream` does not have the shape of the result;
/// - the errors of [`einsum`](einsum()), except `NonFinite`.
///
/// # Complexity
///
/// The cost of the forward pass, and twice the cost of its products of matrices.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 1]], vec![5.0, 7.0], 0.0)?;
/// let upstream = arr2(&[[1.0, 10.0], [100.0, 1000.0]]);
/// let gradients = grad::einsum("ij,jk->ik", &[&x, &y], &upstream)?;
/// assert_eq!(gradients[0].values(), [70.0, 5000.0]);
/// assert_eq!(gradients[1].values(), [3000.0, 20.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
pub fn einsum_backward<'a, X: Operand<Elem: Float>, U: Operand<Elem = X::Elem>>(
    spec: impl Into<Einsum<'a>>,
    operands: &[&X],
    upstream: &U,
) -> Result<Vec<X::Reduced<X::Elem>>> {
    let options = spec.into();
    let (spec, wholes) = read(&options, operands)?;
    let lengths: Vec<&[usize]> = operands.iter().map(|x| x.lengths()).collect();
    check_upstream(upstream, &spec.shape(&lengths))?;
    let gradients = contracted_backward(&spec, options.order.as_deref(), wholes, &upstream.erased())?;
    let restored = |(gradient, x): (Whole<X::Elem>, &&X)| {
        let x = x.erased();
        X::restore(gradient.into_result(&x, x.held_bytes())?)
    };
    gradients.into_iter().zip(operands).map(restored).collect()
}
