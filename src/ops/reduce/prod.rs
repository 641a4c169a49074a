//! Products over axes, and their gradients.

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::element::{Element, Float, ProductFactor, Real, Ring};
use crate::kernels::group::Gaps;
use crate::kernels::holistic::{Group, GroupGradient, Holistic};
use crate::kernels::op::{GroupError, Op, Outcome};
use crate::kernels::prod::{Between, ProductTree, others};
use crate::ops::op;
use crate::ops::operand::Operand;

/// The descriptor of products.
#[derive(Clone, Copy)]
struct Prod {
    skips_nan: bool,
}

impl Op for Prod {
    fn name(&self) -> &'static str {
        if self.skips_nan { op::nanprod.name } else { op::prod.name }
    }
}

/// Returns a function that maps each element to its `factor`, and a skipped NaN to 1.
fn counted<T: Element, F: ProductFactor>(skips_nan: bool, factor: impl Fn(T) -> F + Copy) -> impl Fn(T) -> F + Copy {
    move |value| if skips_nan && value.isnan() { F::ONE } else { factor(value) }
}

/// Returns the unstored positions of a group as factors, or a fault if the group has too many positions.
fn gaps_of<T: Element, F>(group: &Group<'_, T>, factor: impl Fn(T) -> F) -> Outcome<Between<F>> {
    let Gaps { fill, extent } = group.gaps;
    if extent == u128::MAX {
        return Err(GroupError::Uncountable);
    }
    Ok(Between { fill: fill.map(factor), count: group.gaps.count(group.stored.len()), extent })
}

impl<T: Ring> Holistic<T> for Prod {
    type Out = T::Sum;
    type Scratch = ProductTree<T::Factor>;

    fn looks_at_positions(&self) -> bool {
        true
    }

    fn numbers_positions(&self) -> bool {
        false
    }

    fn scratch(&self) -> Self::Scratch {
        ProductTree::new()
    }

    fn of(&self, group: &Group<'_, T>, scratch: &mut Self::Scratch) -> Outcome<T::Sum> {
        let factor = counted(self.skips_nan, T::factor);
        let entry = |within: usize| factor(group.stored[within]);
        let found = T::product_of(scratch.of(group.stored.len(), group.position, entry, gaps_of(group, factor)?));
        let found = found.ok_or(GroupError::Overflow(T::Sum::DTYPE.name()))?;
        // The product of unstored positions only is a fill, whose zero does not have a sign.
        Ok(if group.stored.is_empty() { found.as_implicit() } else { found })
    }
}

/// The descriptor of the gradients.
#[derive(Clone, Copy)]
struct ProdShares {
    skips_nan: bool,
}

impl Op for ProdShares {
    fn name(&self) -> &'static str {
        if self.skips_nan { op::nanprod_backward.name } else { op::prod_backward.name }
    }
}

impl<T: Real, G: Float> GroupGradient<T, G> for ProdShares {
    fn give(&self, group: &Group<'_, T>, gradient: G, received: &mut [G]) -> Outcome<()> {
        let factor = counted(self.skips_nan, |value: T| value.to_f64().factor());
        let at = |within: usize| ((group.position)(within), factor(group.stored[within]));
        let give = |within: usize, others: G::Factor| {
            let share = G::product_of(others.times(gradient.factor())).unwrap_or(G::NAN);
            received[within] = if self.skips_nan && group.stored[within].isnan() { G::ZERO } else { share };
        };
        Ok(others(group.stored.len(), at, gaps_of(group, factor)?, give)?)
    }
}

/// Defines each product and its gradient as functions with pages; the shared paragraphs of the pages appear here.
macro_rules! products {
    ($(
        $alias:literal, $numbers:literal, $skips:literal, $bound:ident, $backward_bound:ident, $name:ident,
        $backward:ident, $types:literal, $gaps:literal, $nan:literal, $given:literal;
    )*) => {$(
        #[doc = concat!("The product over the axes given", $numbers, ".")]
        ///
        /// *y*<sub>k</sub> = Π<sub>r</sub> *x*<sub>k,r</sub>, for *k* over the kept axes and *r* over those that go.
        ///
        #[doc = $types]
        ///
        /// Floats are multiplied by a fixed binary tree over the positions of a group, a block of 2<sup>k</sup> of them
        /// that starts at a multiple of 2<sup>k</sup> as the product of its halves. Each product is rounded to 53 bits,
        /// with an exponent apart, so nothing overflows on the way, and the last one is rounded to the type. So neither
        /// format nor layout nor threads change a bit.
        ///
        #[doc = said!(reduction)]
        #[doc = $gaps]
        /// A block of gaps is the square of its half. Of [`x.stored()`](crate::Tensor::stored) the entries count alone,
        /// at their positions, and the fill of the result is 1.
        ///
        /// # NaN
        ///
        #[doc = $nan]
        /// Zero times infinity is NaN. A product that is zero has the sign that the signs of all factors make.
        ///
        /// # Gradient
        ///
        #[doc = concat!("[`grad::", stringify!($name), "`](crate::grad::", stringify!($name), "()).")]
        ///
        #[doc = said!(errors)]
        /// - `Overflow`: a product of integers does not fit 64 bits; the cell is named;
        /// - `Uncountable`: a group of a sparse tensor has 2<sup>128</sup> positions or more.
        ///
        /// # Complexity
        ///
        /// O(nnz · rank) where the kept axes lead, O(nnz · (rank + log nnz)) else, and O(log positions) more for each
        /// entry beside gaps whose product is rounded: neither 0 nor a power of two. For arrays O(elements).
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use lacuna::{Axes, CooTensor, ", stringify!($name), "};")]
        /// use ndarray::arr1;
        ///
        /// // 3 1 -6
        /// // 1 1e300 1e300
        /// let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 2, 1, 2]);
        /// let x = CooTensor::new([2, 3], vec![rows, columns], vec![3.0, -6.0, 1e300, 1e300f64], 1.0)?;
        #[doc = concat!("let y = ", stringify!($name), "(&x, 1)?;")]
        /// assert_eq!(y.to_dense()?, arr1(&[-18.0, f64::INFINITY]).into_dyn());
        #[doc = concat!("assert_eq!(y.to_dense()?, ", stringify!($name), "(&x.to_dense()?, 1)?);")]
        #[doc = concat!("let zeros = ", stringify!($name), "(&x.with_fill(-0.0), Axes::all())?;")]
        /// assert_eq!(zeros.get(&[])?, 0.0); // -0.0: three signs, with those of the gaps
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        ///
        #[doc = concat!(
            "Definition: [`numpy.", stringify!($name), "`](https://numpy.org/doc/stable/reference/generated/numpy.",
            stringify!($name), ".html), whose order of products is another."
        )]
        #[doc(alias = $alias)]
        #[doc(alias = "product")]
        pub fn $name<X: Operand<Elem: $bound>>(
            x: &X,
            axes: impl Into<Axes>,
        ) -> Result<X::Reduced<<X::Elem as Ring>::Sum>> {
            x.by_holistic(Prod { skips_nan: $skips }, &axes.into())
        }

        #[doc = concat!("The gradient of [`", stringify!($name), "`]: to each element the product of all others.")]
        ///
        /// *dx*<sub>k,r</sub> = *dy*<sub>k</sub> Π<sub>s≠r</sub> *x*<sub>k,s</sub>
        ///
        /// Nothing is divided, so zeros are no exception. The product of the others is that of the blocks beside those
        /// that the element is in, from the whole group down to itself, in the tree of the forward product; it is
        /// multiplied by *dy*<sub>k</sub> and rounded to the type.
        ///
        #[doc = said!(gradient)]
        ///
        /// # NaN
        ///
        #[doc = $given]
        ///
        #[doc = said!(second_gradient)]
        ///
        /// # Errors
        ///
        #[doc = concat!("Those of [`", stringify!($name), "`] but for overflows, and `ShapeMismatch` where `upstream` \
             has ")]
        /// another shape than the forward result.
        ///
        /// # Complexity
        ///
        #[doc = concat!("That of [`", stringify!($name), "`], and of a long group as much for each halving, at most \
             128 times.")]
        ///
        /// # Examples
        ///
        /// ```
        /// use lacuna::{CooTensor, grad};
        /// use ndarray::arr1;
        ///
        /// let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![3.0, 0.0, 7.0], 2.0)?;
        #[doc = concat!("let dx = grad::", stringify!($name), "(&x, &arr1(&[1.0, 10.0]), 1)?;")]
        /// assert_eq!(dx.values(), [0.0, 3.0, 20.0]);
        /// # Ok::<(), lacuna::Error>(())
        /// ```
        ///
        #[doc = concat!("Source: the derivative of [`", stringify!($name), "`].")]
        pub fn $backward<X: Operand<Elem: $backward_bound>, U: Operand<Elem: Float>>(
            x: &X,
            upstream: &U,
            axes: impl Into<Axes>,
        ) -> Result<X::Reduced<U::Elem>> {
            x.by_apart(ProdShares { skips_nan: $skips }, upstream, &axes.into())
        }
    )*};
}

products! {
    "numpy.prod", "", false, Ring, Real, prod, prod_backward,
    "Floats and complex numbers keep their type. Integers are multiplied exactly, signed ones to an `i64`, unsigned \
     ones and `bool` to a `u64`; a zero makes zero, whatever the others would. Both parts of complex numbers are made \
     of products and sums as `*` has them, each of which is rounded as below.",
    "The fill of the result is the fill of `x` to the power of the number of positions of a group, by squares.",
    "A NaN gives NaN; [`nanprod`] leaves NaNs out.",
    "A NaN gives NaN to all others of its group.";
    "numpy.nanprod", ", of the elements that are not NaN", true, Float, Float, nanprod, nanprod_backward,
    "A NaN is a factor 1, at its position.",
    "The fill of the result is the fill of `x` to the power of the number of positions of a group, by squares; 1 where \
     it is NaN.",
    "NaNs are left out; a group of nothing else gives 1.",
    "A NaN receives 0.";
}
