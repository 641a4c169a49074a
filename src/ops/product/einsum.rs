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

/// The options of [`einsum`](einsum()); a plain string converts to it.
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
    /// Which two are multiplied in each step, by their places in the list that is left; the product takes the place of
    /// the first. From left to right if there is none.
    pub order: Option<Vec<[usize; 2]>>,
}

impl<'a> Einsum<'a> {
    /// The sum that a string names.
    pub fn of(spec: impl Into<Cow<'a, str>>) -> Self {
        Einsum { spec: spec.into(), order: None }
    }

    /// Which two are multiplied in each step, by their places in the list that is left; the product takes the place of
    /// the first.
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

/// The sum of products that a string names: Einstein's convention, for any number of operands.
///
/// `einsum("ij,jk->ik", &[&x, &y])` is *z*<sub>ik</sub> = Σ<sub>j</sub> *x*<sub>ij</sub> · *y*<sub>jk</sub>.
///
/// Each letter is an axis. One that two operands share goes through both at once; one that the result has not is
/// summed; one that an operand repeats takes its diagonal. Without `->` the result has the letters that stand once, by
/// the alphabet. `...` stands for all axes that no letter names, the same in every operand, counted from the last.
/// Spaces count for nothing.
///
/// Operands are multiplied two at a time, from left to right or in the order of [`Einsum::order`]: first what one of
/// both has alone and nobody needs is summed, exactly and rounded once; then the products are added from +0.0, in
/// row-major order of the axes that go as the left one has them, each product and sum rounded, and nothing fused
/// (16-bit floats in `f32`; integers exact; `bool` "or" of "and"s). So a single operand is summed exactly, or only
/// moved.
///
/// # Shapes
///
/// Axes of one letter have one length. Operands are of one kind: tensors of one format and index type, or arrays.
///
/// # Implicit values
///
/// Unstored positions must hold zero; the result has a fill of zero, and stores a position where operands store what
/// meets there. Of stored views the entries count alone.
///
/// # NaN
///
/// NaN times anything is NaN. An entry that is not finite, of an operand or of a product on the way, is an error beside
/// zeros that are not stored, as it is for [`matmul`](crate::matmul()); not of stored views.
///
/// # Gradient
///
/// [`grad::einsum`](crate::grad::einsum).
///
/// # Errors
///
/// - `Argument`: the string says nothing that fits the operands, with the place; a fill is not zero;
/// - `NonFinite`: as above, with the step that it came from;
/// - `Overflow`: an integer sum does not fit;
/// - `TooLarge`: a product on the way, or the result, is out of proportion to the operands;
/// - `AxisTooLong`, `AxisOverflow`: axes that are gone through as one are too long for that.
///
/// # Complexity
///
/// That of the products of matrices that it comes to.
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
/// assert_eq!(refused.to_string(), "einsum: '!' at 4 is no letter, `,`, `->` or `...`");
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.einsum`](https://numpy.org/doc/stable/reference/generated/numpy.einsum.html).
#[doc(alias = "contract")]
pub fn einsum<'a, X: Operand<Elem: Ring>>(spec: impl Into<Einsum<'a>>, operands: &[&X]) -> Result<X::Reduced<X::Elem>> {
    let options = spec.into();
    let (spec, wholes) = read(&options, operands)?;
    let operands: Vec<_> = operands.iter().map(|x| x.erased()).collect();
    let counts_zeros = operands.iter().all(|x| x.counts_gaps());
    let found = contracted(&spec, options.order.as_deref(), wholes, counts_zeros)?;
    let bytes = operands.iter().fold(0, |bytes: usize, x| bytes.saturating_add(x.held_bytes()));
    let first = operands.first().ok_or(Error::NoTensor)?;
    X::restore(found.into_result(first, bytes)?)
}

/// The gradients of all operands of [`einsum`](einsum()).
///
/// Each step is undone by the rule of its kind: of a product *c* = *a* · *b* of matrices it is
/// *da*<sub>ik</sub> = Σ<sub>j</sub> *dc*<sub>ij</sub> · *b*<sub>kj</sub> in eight lanes by the position of *j*, as
/// [`sddmm`](crate::CooPattern::sddmm) has them, and *db*<sub>kj</sub> = Σ<sub>i</sub> *a*<sub>ik</sub> ·
/// *dc*<sub>ij</sub> in order; each on the pattern of its operand. Sums hand theirs back to each term.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. At an unstored position,
/// the fill of `upstream` counts, or 0 if `upstream` is a [stored view](crate::Stored).
///
/// # NaN
///
/// NaN times any element is NaN.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute second gradients of most operations.
///
/// # Errors
///
/// The errors of [`einsum`](einsum()), and `ShapeMismatch` if `upstream` does not have the shape of the result.
///
/// # Complexity
///
/// Twice that of the products of matrices that the forward pass comes to.
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
