//! Operations of a sparse tensor and an array whose result is an array.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use super::descriptors::{Add, Div, Mul, Sub};
use super::{broadcast_shape, dense};
use crate::base::error::Result;
use crate::base::limit::{default_limit, guard};
use crate::convert::dense_bytes;
use crate::element::{Element, Numeric};
use crate::kernels::zip::Zip;
use crate::pattern::Pattern;
use crate::tensor::Tensor;
use crate::tensor::erased::SparseRef;

/// Computes the results at all positions, under the limit for the bytes of both operands.
pub(super) fn of_all<A: Element, B: Element, Z: Zip<A, B>>(
    x: SparseRef<'_, A>,
    array: ArrayViewD<'_, B>,
    op: Z,
) -> Result<ArrayD<Z::Out>> {
    let shape = broadcast_shape(x.shape(), array.shape())?;
    let limit = default_limit(x.stored_bytes().saturating_add(dense_bytes(&array)));
    guard::<Z::Out>("the dense result", shape.wide_size(), limit, "take a part of both, or x.stored()")?;
    dense::pair(x.to_erased().to_dense_with_limit(limit)?.view(), array, op)
}

macro_rules! to_dense {
    ($($name:ident $op:ident $bound:ident $forward:literal $results:literal;)*) => {
        /// # Arrays as results
        impl<P: Pattern, T: Element> Tensor<P, T> {$(
            #[doc = concat!("[`", $forward, "`](crate::", $forward, "()) of each position, as an array.")]
            ///
            /// Beside an array, the operators ask that all positions which are not stored come to one value. This does
            /// not.
            ///
            /// # Errors
            ///
            #[doc = concat!("Those of [`", $forward, "`](crate::", $forward,
                "()) of two arrays; and `TooLarge` where the")]
            /// result needs more than the larger of 1 GiB and 16 times what both hold.
            ///
            /// # Complexity
            ///
            /// O(positions); the dense form of `x` is built.
            ///
            /// ```
            /// use lacuna::CooTensor;
            /// use ndarray::arr1;
            ///
            /// let x = CooTensor::new([3], vec![vec![1]], vec![4.0], 0.0)?;
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(&arr1(&[1.0, 2.0, 4.0]))?, arr1(&", $results,
                ").into_dyn());")]
            #[doc = concat!("assert!(x.", $forward, "(&arr1(&[f64::NAN, 2.0, 4.0])).is_err());")]
            /// # Ok::<(), lacuna::Error>(())
            /// ```
            pub fn $name(&self, array: &ArrayBase<impl Data<Elem = T>, impl Dimension>) -> Result<ArrayD<T>>
            where
                T: $bound,
            {
                of_all(self.sparse(), array.view().into_dyn(), $op)
            }
        )*}
    };
}

to_dense! {
    add_dense Add Element "add" "[1.0, 6.0, 4.0]";
    sub_dense Sub Numeric "sub" "[-1.0, 2.0, -4.0]";
    mul_dense Mul Element "mul" "[0.0, 8.0, 0.0]";
    div_dense Div Numeric "div" "[0.0, 2.0, 0.0]";
}
