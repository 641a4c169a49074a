//! Weighted means along an axis, and their gradient.

use super::{group_gradient, holistic};
use crate::base::alloc;
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::Position;
use crate::element::products::{ExactSum, ProductTotal, exact_parts};
use crate::element::{Float, Real, Ring};
use crate::kernels::holistic::{Group, GroupGradient, Holistic};
use crate::kernels::op::{Op, Outcome};
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::zip::Factors;

/// The weights of the positions of an axis.
struct AxisWeights {
    /// Each weight as two floats whose sum is the weight.
    parts: Vec<[f64; 2]>,
    /// The sum of all weights.
    sum: ExactSum,
    /// The numbers of negative weights, of zeros and of positive weights.
    signs: [u64; 3],
}

/// Returns the index in [`AxisWeights::signs`] of a weight.
fn sign_of([high, low]: [f64; 2]) -> usize {
    let weight = high + low;
    1 + usize::from(weight > 0.0) - usize::from(weight < 0.0)
}

impl AxisWeights {
    /// Returns the weights of an axis of this length.
    fn new<T: Real>(weights: &impl Factors<T>, length: usize) -> Result<Self> {
        let weights = weights.numbers(length).map_err(|error| match error {
            Error::LengthMismatch { expected, found, .. } => {
                Error::LengthMismatch { what: "the weights", expected, found }
            }
            Error::RankMismatch { expected, found, .. } => Error::RankMismatch { what: "the weights", expected, found },
            error => error,
        })?;
        let parts = alloc::collect(weights.iter().map(|&weight| exact_parts(weight)))?;
        let mut signs = [0; 3];
        parts.iter().for_each(|&parts| signs[sign_of(parts)] += 1);
        Ok(AxisWeights { sum: ExactSum::of(parts.iter().copied().flatten()), parts, signs })
    }

    /// Returns the weight of a stored element of a group.
    fn at<T>(&self, group: &Group<'_, T>, within: usize) -> [f64; 2] {
        self.parts[group.place(within) as usize]
    }

    /// Returns the weights of the stored elements of a group.
    fn stored<T>(&self, group: &Group<'_, T>) -> impl Iterator<Item = [f64; 2]> {
        (0..group.stored.len()).map(|within| self.at(group, within))
    }

    /// Returns the sum of the weights of the elements that count; `None` if all elements of the axis count.
    fn sum_of<T>(&self, group: &Group<'_, T>) -> Option<ExactSum> {
        let counts_all = group.unstored.fill.is_some() || group.stored.len() == self.parts.len();
        (!counts_all).then(|| ExactSum::of(self.stored(group).flatten()))
    }

    /// Returns the sign by which the weights of the unstored positions multiply an infinity: NaN if a weight is 0, or
    /// if the weights have both signs.
    fn sign_of_unstored<T>(&self, group: &Group<'_, T>) -> f64 {
        let mut signs = self.signs;
        self.stored(group).for_each(|weight| signs[sign_of(weight)] -= 1);
        match signs {
            [0, 0, _] => 1.0,
            [_, 0, 0] => -1.0,
            _ => f64::NAN,
        }
    }
}

/// Adds the product of two values, each of which is the sum of two floats.
fn add_product(total: &mut ProductTotal, [high, low]: [f64; 2], weight: [f64; 2]) {
    let mut add = |part: f64| {
        total.add(part, weight[0]);
        if weight[1] != 0.0 {
            total.add(part, weight[1]);
        }
    };
    add(high);
    if low != 0.0 {
        add(low);
    }
}

/// The descriptor.
#[derive(Clone, Copy)]
struct Average<'a>(&'a AxisWeights);

impl Op for Average<'_> {
    fn name(&self) -> &'static str {
        op::average.name
    }
}

impl<T: Real> Holistic<T> for Average<'_> {
    type Out = T::Deviation;
    type Scratch = ();

    fn needs_positions(&self) -> bool {
        true
    }

    fn scratch(&self) {}

    fn of(&self, group: &Group<'_, T>, (): &mut ()) -> Outcome<T::Deviation> {
        let (weights, mut total) = (self.0, ProductTotal::default());
        for (within, &value) in group.stored.iter().enumerate() {
            add_product(&mut total, exact_parts(value), weights.at(group, within));
        }
        let own = weights.sum_of(group);
        let sum = own.as_ref().unwrap_or(&weights.sum);
        let fill = group.unstored.fill.filter(|_| group.unstored.count(group.stored.len()) > 0);
        Ok(match fill.map(exact_parts) {
            None | Some([0.0, 0.0]) => total.over(sum),
            Some([fill, low]) if fill.is_finite() => {
                // The unstored positions have the weights of the axis, except the weights of stored positions.
                for weight in weights.stored(group) {
                    add_product(&mut total, [-fill, -low], weight);
                }
                total.plus_times_over([fill, low], sum)
            }
            Some([fill, _]) => {
                total.add(fill, weights.sign_of_unstored(group));
                total.over(sum)
            }
        })
    }
}

/// The descriptor of the gradient.
#[derive(Clone, Copy)]
struct AverageGradient<'a>(&'a AxisWeights);

impl Op for AverageGradient<'_> {
    fn name(&self) -> &'static str {
        op::average_backward.name
    }
}

impl<T: Real, G: Float> GroupGradient<T, G> for AverageGradient<'_> {
    fn write_gradients(&self, group: &Group<'_, T>, gradient: G, received: &mut [G]) -> Outcome<()> {
        let own = self.0.sum_of(group);
        let sum = own.as_ref().unwrap_or(&self.0.sum);
        for (within, received) in received.iter_mut().enumerate() {
            let mut product = ProductTotal::default();
            add_product(&mut product, self.0.at(group, within), [gradient.to_f64(), 0.0]);
            *received = product.over(sum);
        }
        Ok(())
    }
}

/// Returns the weighted mean along an axis, rounded once.
///
/// *y*<sub>k</sub> = Σ<sub>j</sub> *x*<sub>k,j</sub> · *w*<sub>j</sub> / Σ<sub>j</sub> *w*<sub>j</sub>, for *j* over the
/// positions of the axis, *k* over the positions of all other axes, and the weights *w*.
///
/// The sum of the products, the sum of the weights and the quotient are real numbers. Only the quotient is rounded, to
/// the element type. The mean of integers and of `bool` is an `f64`. No intermediate sum overflows, and the weighted
/// mean of equal elements is that element.
///
/// # Shapes
///
/// The number of weights is the length of the axis. The weights are a slice, a `Vec`, or an array or a tensor of rank 1,
/// as `&weights`. The weights and the elements of `x` have one type. The result does not have the axis, and has the
/// format and index type of `x`.
///
/// # Implicit values
///
/// Unstored positions have the fill as their value. A lane with a stored entry has a stored result. All other output
/// elements hold the fill, which is the weighted mean of a lane in which each position holds the fill of `x`. For
/// [`x.stored()`](crate::Tensor::stored), only stored entries and their weights count, and the fill of the result is NaN.
///
/// # NaN
///
/// A NaN in a lane yields NaN. If the weights that count add up to 0, the result is NaN; `numpy.average` raises an error.
/// A weight that is not finite yields NaN in each lane in which it counts. If only infinities of one sign are in a lane,
/// the result is an infinity. An infinity with a weight of 0 yields NaN.
///
/// # Gradient
///
/// [`grad::average`](crate::grad::average), with respect to `x`. The weights do not have a gradient.
///
/// # Errors
///
/// - `AxisOutOfRange`: `x` does not have the axis;
/// - `LengthMismatch`: the number of weights differs from the length of the axis;
/// - `RankMismatch`: an array or a tensor of weights does not have rank 1;
/// - `TooLarge`: the result of an array needs more than the larger of 1 GiB and 16 times the bytes of the array;
/// - `TooLarge`: the offsets of a CSR result need more than the larger of 1 GiB and 16 times the bytes of the indices of
///   `x`;
/// - `OutOfMemory`: an allocation fails.
///
/// # Complexity
///
/// O(weights + entries of `x` · (rank + log entries)), or O(elements of `x`) for arrays.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, average};
/// use ndarray::arr1;
///
/// // 4 . 1
/// // . . .
/// let x = CooTensor::new([2, 3], vec![vec![0, 0], vec![0, 2]], vec![4.0, 1.0], 0.0)?;
/// let weights = [1.0, 5.0, 2.0];
/// let y = average(&x, &weights, 1)?;
/// assert_eq!(y.to_dense()?, arr1(&[0.75, 0.0]).into_dyn());
/// assert_eq!(y.to_dense()?, average(&x.to_dense()?, &weights, 1)?);
/// assert_eq!(x.stored().average(&weights, 1)?.values(), [2.0]); // (4 * 1 + 1 * 2) / (1 + 2)
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: [`numpy.average`](https://numpy.org/doc/stable/reference/generated/numpy.average.html).
#[doc(alias = "numpy.average")]
#[doc(alias = "weighted_mean")]
pub fn average<X: Operand<Elem: Real>>(
    x: &X,
    weights: impl Factors<X::Elem>,
    axis: impl Position,
) -> Result<X::Reduced<<X::Elem as Ring>::Deviation>> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    let weights = AxisWeights::new(&weights, x.lengths()[axis])?;
    holistic(x, Average(&weights), &Axes::from(axis))
}

/// Returns the gradient of [`average`] with respect to the operand.
///
/// *dx*<sub>k,j</sub> = *dy*<sub>k</sub> · *w*<sub>j</sub> / Σ<sub>i</sub> *w*<sub>i</sub>, with the upstream gradient
/// *dy* and the weights *w*. The product and the sum are real numbers, and the quotient is rounded once.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the result of [`average`]. The gradient has the shape of `x`.
///
/// # Implicit values
///
/// For a sparse `x`, the gradient has the pattern of `x` (shared) and a fill of 0. Positions that `upstream` does not
/// store have the fill of `upstream`, or 0 if `upstream` is a stored view. For [`x.stored()`](crate::Tensor::stored),
/// the sum is over the weights of the stored entries of a lane.
///
/// # NaN
///
/// Elements of `x` do not change the gradient. If the weights that count add up to 0, or if a weight that counts is not
/// finite, the gradient is NaN. If an element of `upstream` is 0, its group receives the gradient 0.
///
/// # Gradient
///
#[doc = page!(second_gradient)]
///
/// # Errors
///
/// - the errors of [`average`];
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result.
///
/// # Complexity
///
/// The cost of [`average`], and one lookup in `upstream` per entry of `x`.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr1;
///
/// let x = CooTensor::new([2, 3], vec![vec![0, 0], vec![0, 2]], vec![4.0, 1.0], 0.0)?;
/// let dx = grad::average(&x, &arr1(&[8.0, 1.0]), &[1.0, 5.0, 2.0], 1)?;
/// assert_eq!(dx.values(), [1.0, 2.0]);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Source: the derivative of [`average`].
pub fn average_backward<X: Operand<Elem: Real>, U: Operand<Elem: Float>>(
    x: &X,
    upstream: &U,
    weights: impl Factors<X::Elem>,
    axis: impl Position,
) -> Result<X::Reduced<U::Elem>> {
    let axis = normalize_axis(axis.to_i128(), x.lengths().len())?;
    let weights = AxisWeights::new(&weights, x.lengths()[axis])?;
    group_gradient(x, AverageGradient(&weights), upstream, &Axes::from(axis))
}
