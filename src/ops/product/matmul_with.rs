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

/// The options of [`matmul_with`](matmul_with()): what it multiplies and adds by, and where. A plain pattern converts
/// to the plain product on it.
///
/// # Examples
///
/// ```
/// use lacuna::{CsrTensor, Matmul};
///
/// // roads and their lengths: 0 -> 1 -> 2, and 0 -> 2 straight
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
        /// The first word adds, from the first term on; what no terms come to is the fill. The second word multiplies.
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
    /// Sums of products, as [`matmul`](crate::matmul()) has them: of `bool` "or" of "and"s. No terms: 0.
    plus_times: PlusTimes, PlusTimes;
    /// Sums of the elements on the left that meet something.
    plus_first: Plus(First), Plus<First>;
    /// Sums of the elements on the right that meet something.
    plus_second: Plus(Second), Plus<Second>;
    /// How many pairs meet: triangles, ways of two steps.
    #[doc(alias = "plus_one")]
    plus_pair: Plus(Pair), Plus<Pair>;
    /// The least sum of two: shortest paths. No terms: `inf`, or the largest integer.
    #[doc(alias = "tropical")]
    min_plus: folded(Min, Sum), Folded<Min, Sum>;
    /// The greatest sum of two: longest or most likely paths, by logarithms. No terms: `-inf`, or the least integer.
    max_plus: folded(Max, Sum), Folded<Max, Sum>;
    /// The least product. No terms: as for [`min_plus`](Matmul::min_plus).
    min_times: folded(Min, Times), Folded<Min, Times>;
    /// The greatest product: most likely paths. No terms: as for [`max_plus`](Matmul::max_plus).
    #[doc(alias = "viterbi")]
    max_times: folded(Max, Times), Folded<Max, Times>;
    /// The least of the greater ones of two: paths whose worst step is best. No terms: as for
    /// [`min_plus`](Matmul::min_plus).
    min_max: folded(Min, Greater), Folded<Min, Greater>;
    /// The greatest of the lesser ones of two: the widest paths. No terms: as for [`max_plus`](Matmul::max_plus).
    #[doc(alias = "bottleneck")]
    max_min: folded(Max, Lesser), Folded<Max, Lesser>;
    /// The least element on the left that meets something.
    min_first: folded(Min, First), Folded<Min, First>;
    /// The least element on the right that meets something.
    min_second: folded(Min, Second), Folded<Min, Second>;
    /// The greatest element on the left that meets something.
    max_first: folded(Max, First), Folded<Max, First>;
    /// The greatest element on the right that meets something.
    max_second: folded(Max, Second), Folded<Max, Second>;
    /// 1 where two truthy elements meet, else 0.
    #[doc(alias = "lor_land")]
    or_and: folded(Or, And), Folded<Or, And>;
    /// The element on the left of the first pair that meets.
    any_first: folded(Any, First), Folded<Any, First>;
    /// The element on the right of the first pair that meets.
    any_second: folded(Any, Second), Folded<Any, Second>;
    /// 1 where anything meets: what can be reached.
    #[doc(alias = "any_one")]
    any_pair: folded(Any, Pair), Folded<Any, Pair>;
}

impl Matmul<'static> {
    /// Functions that multiply and add, and what no terms come to, which is the fill of the result and is in no sum. A
    /// sum takes its terms in order, the first as it is.
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
    /// The result has entries where the pattern has some, and nowhere else; it takes the place of another mask.
    pub fn mask<P: Pattern>(self, pattern: &P) -> Matmul<'_, S> {
        Matmul { semiring: self.semiring, mask: Some(Mask { pattern: pattern.any(), is_complement: false }) }
    }

    /// The result has no entries where the pattern has some; it takes the place of another mask.
    #[doc(alias = "complement")]
    pub fn without<P: Pattern>(self, pattern: &P) -> Matmul<'_, S> {
        Matmul { semiring: self.semiring, mask: Some(Mask { pattern: pattern.any(), is_complement: true }) }
    }
}

impl<S> Matmul<'_, S> {
    /// Returns the name of the semiring, if it has a name and there is no mask.
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

/// The product of matrices at the positions of a mask, or by other operations than times and plus, or both.
///
/// *z*<sub>i,j</sub> = ⊕<sub>k</sub> *x*<sub>i,k</sub> ⊗ *y*<sub>k,j</sub>, over the *k* that are stored on both sides,
/// in their order
///
/// The sum is that of its first term with the second one, of this with the third one, and so on: no other order, for
/// any number of threads. Where plus adds, it does as in [`matmul`](crate::matmul()): from `+0.0`, 16-bit floats in
/// `f32`, integers exactly.
///
/// # Shapes
///
/// As for [`matmul`](crate::matmul()). A mask has the shape of the result; its format and index type are its own.
///
/// # Implicit values
///
/// Operands count as [stored views](crate::Stored), whatever their fills: what is not stored is no term. All elements
/// of an array are. The fill of a sparse result is what no terms come to, which the functions of [`Matmul`] tell.
/// Stored is what some *k* is stored for on both sides, where the mask has an entry ([`mask`](Matmul::mask)) or has
/// none ([`without`](Matmul::without)); the values of a mask do not matter. Beside an array the result is an array,
/// with the fill at all other places.
///
/// # NaN
///
/// The least and the greatest of anything and NaN is NaN. A term that is alone, and is an element of an operand, is
/// moved as it is; else NaN of the result is the canonical one.
///
/// # Gradient
///
/// For sums of products it is the gradient of the stored views, for an upstream gradient that is 0 where the mask lets
/// nothing through: [`grad::matmul(&x.stored(), &y, &dz)`](crate::grad::matmul), where `dz` is
/// `upstream.stored().mask(…)` or `without(…)`. Other operations have none.
///
/// # Errors
///
/// - `Argument`, `NotBroadcastable`, `TooLarge`: as for [`matmul`](crate::matmul());
/// - `ShapeMismatch`: the mask has another shape than the result;
/// - `Overflow`: the integer type does not hold a term or a sum that the mask lets through.
///
/// # Complexity
///
/// O(pairs of entries that meet, in rows where the mask lets anything through), and that of [`matmul`](crate::matmul())
/// beside an array without a mask.
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
/// mask, `replace`, and the order of its sums fixed.
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
    let product = Product { operation: "matmul_with", semiring, fill: semiring.zero(), counts_gaps: false };
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
    let product = Product { operation: "matmul_with", semiring, fill: semiring.zero(), counts_gaps: false };
    let (left, right) = (x.factor()?, y.factor()?);
    let found = match mask {
        Some((pattern, is_complement)) => product.on(&left, &right, Mask { pattern, is_complement })?,
        None => product.of(&left, &right)?,
    };
    found.into_result(x)
}
