//! Products of matrices at the positions of a mask, and over semirings other than times and plus.

use std::fmt;

use super::{Mask, Product};
use crate::base::error::Result;
use crate::element::Element;
#[cfg(feature = "dynamic")]
use crate::element::Ring;
#[cfg(feature = "dynamic")]
use crate::kernels::semiring::DynamicSemiring;
use crate::kernels::semiring::{
    Added, And, Any, First, Folded, Greater, Lesser, Max, Min, Multiplied, Or, Pair, Plus, PlusTimes, Product as Times,
    Second, Semiring, SemiringOps, Sum,
};
use crate::ops::operand::Operand;
#[cfg(feature = "dynamic")]
use crate::ops::operand::{ErasedOperand, ErasedResult};
#[cfg(feature = "dynamic")]
use crate::pattern::AnyPattern;
use crate::pattern::Pattern;

/// The options of [`matmul_with`](matmul_with()): the semiring and the mask.
///
/// If you pass a pattern as the options, the ordinary product is computed only at positions of this pattern.
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, Matmul};
///
/// // roads and their lengths: 0 -> 1 -> 2, and 0 -> 2 directly
/// let roads = CsrTensor::new([3, 3], vec![0, 2, 3, 3], vec![1, 2, 2], vec![4.0, 9.0, 3.0], f64::INFINITY)?;
/// let by_two = roads.matmul_with(&roads, Matmul::min_plus())?;
/// assert_eq!(by_two.entries(), [(vec![0, 2], 7.0)]);
/// let ways = roads.matmul_with(&roads, Matmul::plus_pair().mask(roads.pattern()))?;
/// assert_eq!(ways.entries(), [(vec![0, 2], 1.0)]);
/// assert_eq!(roads.matmul_with(&roads, Matmul::plus_pair().without(roads.pattern()))?.nnz(), 0);
/// # Ok::<(), lacuna::Error>(())
/// ```
#[must_use]
#[derive(Clone, Copy)]
pub struct Matmul<'m, S = PlusTimes> {
    semiring: S,
    mask: Option<Mask<'m>>,
}

impl<S: fmt::Debug> fmt::Debug for Matmul<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mask = self.mask.map(|mask| (mask.pattern.shape(), mask.is_complement));
        f.debug_struct("Matmul").field("semiring", &self.semiring).field("mask", &mask).finish()
    }
}

/// Defines the constructors of common semirings.
macro_rules! semirings {
    ($($(#[$what:meta])* $name:ident: $semiring:expr, $type:ty;)*) => {
        /// # Semirings
        ///
        /// The first word of a name is the addition, and the second word is the multiplication. Two stored elements
        /// that are multiplied are a pair. Every addition except `plus` starts with the first term. The fill is the
        /// result without terms: 0, unless the function documents another value.
        impl Matmul<'static> {$(
            $(#[$what])*
            pub const fn $name() -> Matmul<'static, $type> {
                Matmul { semiring: $semiring, mask: None }
            }
        )*}

        /// The names of the semirings.
        pub(crate) const SEMIRINGS: &[&str] = &[$(stringify!($name)),*];

        /// Returns the operations of the semiring with this name.
        pub(crate) fn ways(name: &str) -> Option<SemiringOps> {
            match name {
                $(stringify!($name) => Some($semiring.into()),)*
                _ => None,
            }
        }
    };
}

/// Returns a semiring that folds its terms.
const fn folded<A: Copy, M: Copy>(add: A, multiply: M) -> Folded<A, M> {
    Folded { add, multiply }
}

semirings! {
    /// Adds products, as in [`matmul`](crate::matmul()). The result without terms is 0.
    ///
    /// For `bool`, products are "and" and sums are "or".
    plus_times: PlusTimes, PlusTimes;
    /// Adds the left elements of all pairs.
    plus_first: Plus(First), Plus<First>;
    /// Adds the right elements of all pairs.
    plus_second: Plus(Second), Plus<Second>;
    /// Counts the pairs of elements: triangles, or paths of two steps.
    #[doc(alias = "plus_one")]
    plus_pair: Plus(Pair), Plus<Pair>;
    /// Selects the smallest sum of a pair: shortest paths.
    ///
    /// The result without terms is `inf`, or the largest integer.
    #[doc(alias = "tropical")]
    min_plus: folded(Min, Sum), Folded<Min, Sum>;
    /// Selects the largest sum of a pair: longest paths.
    ///
    /// If the elements are logarithms of probabilities, the results are the most likely paths. The result without terms
    /// is `-inf`, or the smallest integer.
    max_plus: folded(Max, Sum), Folded<Max, Sum>;
    /// Selects the smallest product of a pair.
    ///
    /// The result without terms is the same as for [`min_plus`](Matmul::min_plus).
    min_times: folded(Min, Times), Folded<Min, Times>;
    /// Selects the largest product of a pair: most likely paths.
    ///
    /// The result without terms is the same as for [`max_plus`](Matmul::max_plus).
    #[doc(alias = "viterbi")]
    max_times: folded(Max, Times), Folded<Max, Times>;
    /// Selects the minimum of the larger element of each pair: minimax paths.
    ///
    /// The result without terms is the same as for [`min_plus`](Matmul::min_plus).
    min_max: folded(Min, Greater), Folded<Min, Greater>;
    /// Selects the maximum of the smaller element of each pair: widest paths.
    ///
    /// The result without terms is the same as for [`max_plus`](Matmul::max_plus).
    #[doc(alias = "bottleneck")]
    max_min: folded(Max, Lesser), Folded<Max, Lesser>;
    /// Selects the smallest left element of all pairs.
    ///
    /// The result without terms is the same as for [`min_plus`](Matmul::min_plus).
    min_first: folded(Min, First), Folded<Min, First>;
    /// Selects the smallest right element of all pairs.
    ///
    /// The result without terms is the same as for [`min_plus`](Matmul::min_plus).
    min_second: folded(Min, Second), Folded<Min, Second>;
    /// Selects the largest left element of all pairs.
    ///
    /// The result without terms is the same as for [`max_plus`](Matmul::max_plus).
    max_first: folded(Max, First), Folded<Max, First>;
    /// Selects the largest right element of all pairs.
    ///
    /// The result without terms is the same as for [`max_plus`](Matmul::max_plus).
    max_second: folded(Max, Second), Folded<Max, Second>;
    /// Returns 1 if at least one pair has two nonzero elements, otherwise 0.
    #[doc(alias = "lor_land")]
    or_and: folded(Or, And), Folded<Or, And>;
    /// Selects the left element of the first pair.
    any_first: folded(Any, First), Folded<Any, First>;
    /// Selects the right element of the first pair.
    any_second: folded(Any, Second), Folded<Any, Second>;
    /// Returns 1 if there is at least one pair of elements: reachability.
    #[doc(alias = "any_one")]
    any_pair: folded(Any, Pair), Folded<Any, Pair>;
}

impl Matmul<'static> {
    /// Returns a semiring of two functions, and the result without terms.
    ///
    /// The result without terms is the fill of the result, and is not part of any sum. A sum adds its terms in order,
    /// and starts with the first term unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::{CooTensor, Matmul};
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 0]], vec![6u32, 4, 7], 0)?;
    /// let bits = Matmul::by(0, |sum, term| sum | term, |a, b| a & b);
    /// assert_eq!(x.matmul_with(&x, bits)?.values(), [6 & 6 | 4 & 7, 6 & 4, 7 & 6, 7 & 4]);
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub const fn by<T, A, M>(zero: T, add: A, multiply: M) -> Matmul<'static, Folded<Added<T, A>, Multiplied<M>>>
    where
        T: Element,
        A: Fn(T, T) -> T + Copy + Send + Sync,
        M: Fn(T, T) -> T + Copy + Send + Sync,
    {
        Matmul { semiring: Folded { add: Added { zero, add }, multiply: Multiplied(multiply) }, mask: None }
    }
}

/// # Masks
impl<S> Matmul<'_, S> {
    /// Restricts the result to the positions that the pattern stores.
    ///
    /// The new mask replaces a mask that was set before.
    pub fn mask<P: Pattern>(self, pattern: &P) -> Matmul<'_, S> {
        Matmul { semiring: self.semiring, mask: Some(Mask { pattern: pattern.any(), is_complement: false }) }
    }

    /// Restricts the result to the positions that the pattern does not store.
    ///
    /// The new mask replaces a mask that was set before.
    #[doc(alias = "complement")]
    pub fn without<P: Pattern>(self, pattern: &P) -> Matmul<'_, S> {
        Matmul { semiring: self.semiring, mask: Some(Mask { pattern: pattern.any(), is_complement: true }) }
    }
}

impl<S> Matmul<'_, S> {
    /// Returns the name of the semiring, unless it does not have a name or a mask is set.
    pub(crate) fn name<T>(&self) -> Option<&'static str>
    where
        S: Semiring<T>,
    {
        let [Some(add), Some(multiply)] = self.semiring.words() else { return None };
        let is_it = |name: &&&str| name.split_once('_') == Some((add, multiply));
        SEMIRINGS.iter().find(is_it).copied().filter(|_| self.mask.is_none())
    }
}

impl<'m, P: Pattern> From<&'m P> for Matmul<'m> {
    fn from(pattern: &'m P) -> Self {
        Matmul::plus_times().mask(pattern)
    }
}

/// Returns the product of matrices on a mask, over a semiring, or both.
///
/// *z*<sub>i,j</sub> = ⊕<sub>k</sub> *x*<sub>i,k</sub> ⊗ *y*<sub>k,j</sub>, over the *k* that both operands store,
/// in increasing order
///
/// The terms are combined from left to right. If the addition is plus, sums are computed as in
/// [`matmul`](crate::matmul()). In this case, a sum starts from `+0.0`, 16-bit floats are added in `f32`, and integers
/// are added exactly.
///
/// # Shapes
///
/// The same as for [`matmul`](crate::matmul()). A mask has the shape of the result, and any format and index type.
///
/// # Implicit values
///
/// Operands count as [stored views](crate::Stored), for any fills: an unstored position is not a term. An array stores
/// all its elements. The fill of a sparse result is the result without terms, which the functions of [`Matmul`]
/// document.
///
/// The result stores a position if both operands store the elements of a term, and the mask allows the position.
/// [`mask`](Matmul::mask) allows the positions that the mask stores, and [`without`](Matmul::without) allows all other
/// positions. The values of a mask do not matter. If an operand is an array, the result is an array, with the fill at
/// all other positions.
///
/// # NaN
///
/// The minimum and the maximum of NaN and any element are NaN. A single term that is an element of an operand is
/// bitwise unchanged. Otherwise a NaN in the result is the canonical NaN.
///
/// # Gradient
///
/// Only the semiring of products and sums, `plus_times`, has a gradient. Its gradient is [`grad::matmul(&x.stored(),
/// &y, &dz)`](crate::grad::matmul), where `dz` is the upstream gradient with 0 at the positions that the mask excludes:
/// `upstream.stored().mask(…)` or `without(…)`.
///
/// # Errors
///
/// - `Argument`: an operand has rank 0;
/// - `Argument`: the contracted lengths differ;
/// - `NotBroadcastable`, `TooLarge`, `AxisTooLong`: as in [`matmul`](crate::matmul());
/// - `ShapeMismatch`: the mask does not have the shape of the result;
/// - `Overflow`: a term or a sum at a position of the mask does not fit the integer type.
///
/// # Complexity
///
/// O(pairs of entries that are multiplied). With [`Matmul::mask`], only the rows in which the mask has a position are
/// computed. With an array and no mask, the cost is the cost of [`matmul`](crate::matmul()).
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, Matmul, matmul_with};
///
/// // 0 - 1, 1 - 2, 2 - 0, 2 - 3: one triangle
/// let columns = vec![1, 2, 0, 2, 0, 1, 3, 2];
/// let ties = CsrTensor::new([4, 4], vec![0, 2, 4, 7, 8], columns, vec![1u64; 8], 0)?;
/// let triangles = matmul_with(&ties, &ties, Matmul::plus_pair().mask(ties.pattern()))?;
/// assert_eq!(triangles.sum([0, 1])?.item()?, 6); // each from three corners, in two directions
///
/// let plain = matmul_with(&ties, &ties, ties.pattern())?;
/// assert_eq!(plain, ties.stored().matmul(&ties)?.stored().mask(ties.pattern())?);
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: `GrB_mxm` of the [GraphBLAS](https://graphblas.org/docs/GraphBLAS_API_C_v2.1.0.pdf), with a structural
/// mask, `replace`, and a fixed summation order.
#[doc(alias = "mxm")]
#[doc(alias = "mxv")]
#[doc(alias = "vxm")]
#[doc(alias = "masked")]
#[doc(alias = "GraphBLAS")]
pub fn matmul_with<'m, X: Operand, Y: Operand<Elem = X::Elem>, S: Semiring<X::Elem>>(
    x: &X,
    y: &Y,
    options: impl Into<Matmul<'m, S>>,
) -> Result<X::Product<Y>> {
    let Matmul { semiring, mask } = options.into();
    let product = Product { operation: "matmul_with", semiring, fill: semiring.zero(), counts_unstored: false };
    let (x, y) = (x.erased(), y.erased());
    let (left, right) = (x.factor()?, y.factor()?);
    let found = match mask {
        Some(mask) => product.on(&left, &right, mask)?,
        None => product.of(&left, &right)?,
    };
    X::restore_product::<Y>(found.into_result(&x)?)
}

/// Computes the product of dynamically typed operands over a dynamically typed semiring, optionally on a mask or on its
/// complement.
#[cfg(feature = "dynamic")]
pub(crate) fn matmul_with_entries<T: Ring>(
    x: &ErasedOperand<'_, T>,
    y: &ErasedOperand<'_, T>,
    semiring: DynamicSemiring<T>,
    mask: Option<(&AnyPattern, bool)>,
) -> Result<ErasedResult<T>> {
    let product = Product { operation: "matmul_with", semiring, fill: semiring.zero(), counts_unstored: false };
    let (left, right) = (x.factor()?, y.factor()?);
    let found = match mask {
        Some((pattern, is_complement)) => product.on(&left, &right, Mask { pattern, is_complement })?,
        None => product.of(&left, &right)?,
    };
    found.into_result(x)
}
