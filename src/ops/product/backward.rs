//! The gradients of products of matrices.

use std::borrow::Cow;

use ndarray::{ArrayViewD, IxDyn};

use super::factor::{Elements, Factor, SparseFactor};
use crate::base::alloc;
use crate::base::error::Result;
use crate::base::limit::{default_limit, guard};
use crate::convert::copied;
use crate::element::{Element, Float};
use crate::kernels::matrix::MatrixEntries;
use crate::kernels::product_backward::{MatrixBatch, ProductBatch, UpstreamBatch, of_left, of_right};
use crate::kernels::zip::all_finite;
use crate::ops::broadcast::gradient_of;
use crate::ops::op;
use crate::ops::operand::Operand;
use crate::ops::reduce::check_upstream;
use crate::plan::product::Contraction;
use crate::plan::product_rows::RowEntries;

/// Returns the gradients of both operands of [`matmul`](crate::matmul()).
///
/// *dx*<sub>i,k</sub> = Σ<sub>j</sub> *dz*<sub>i,j</sub> · *y*<sub>k,j</sub>, *dy*<sub>k,j</sub> = Σ<sub>i</sub>
/// *x*<sub>i,k</sub> · *dz*<sub>i,j</sub>, where *dz* is `upstream`
///
/// Each sum of *dx* has eight partial sums. The term of each *j* is added to partial sum *j* mod 8. The partial sums
/// are added as ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). The terms of *dy* are added in the order of *i*. Each
/// multiplication and each addition is rounded. 16-bit floats are rounded only once, at the end. The gradients are
/// therefore bitwise identical for arrays and both formats.
///
/// # Shapes
///
/// `upstream` has exactly the shape of the forward result. Each gradient has the shape of its operand. If a matrix is
/// broadcast over batches, each sum of its gradient continues from one batch to the next. The batches are in row-major
/// order.
///
/// # Implicit values
///
/// The gradient of a sparse operand has the pattern of the operand (shared) and a fill of 0. The stored values equal
/// the gradient of the dense operand. `upstream` may have any format and any fill; the fill of a [stored
/// view](crate::Stored) counts as 0. Unstored positions of the operands count as zeros, unless an operand is a stored
/// view.
///
/// # NaN
///
/// As in [`matmul()`](crate::matmul()), an element of `upstream` that is not finite is multiplied by unstored zeros,
/// and the product is NaN. An element of `upstream` that is zero is skipped, even if the other factor is not finite.
///
/// # Gradient
///
/// [Lazy graphs](crate::documents::gradients#gradients-of-a-graph) compute the second gradients.
///
/// # Errors
///
/// - `ShapeMismatch`: `upstream` does not have the shape of the forward result;
/// - `TooLarge`: a row of `upstream` or the offsets of all rows exceed both 1 GiB and 16 times the bytes of all three
///   operands;
/// - `TooLarge`: an operand has more than 2³² columns;
/// - `TooLarge`: a broadcast operand needs more than the larger of 1 GiB and 16 times its bytes before broadcasting;
/// - `Argument`, `NotBroadcastable`: as in [`matmul()`](crate::matmul()).
///
/// # Complexity
///
/// O(nnz of *x* · columns of *y*), or O(pairs of entries that are multiplied) if *y* is sparse. Each element of an
/// array *x* counts as an entry.
///
/// # Examples
///
/// ```
/// use lacuna::{CooTensor, grad};
/// use ndarray::arr2;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 0.0)?;
/// let y = arr2(&[[1.0, 5.0], [7.0, 1.0]]);
/// let (dx, dy) = grad::matmul(&x, &y, &arr2(&[[1.0, 10.0], [100.0, 1000.0]]))?;
/// assert_eq!(dx.values(), [17.0, 5100.0]); // 1 * 7 + 10 * 1, and 100 * 1 + 1000 * 5
/// assert_eq!(dy, arr2(&[[300.0, 3000.0], [2.0, 20.0]]).into_dyn());
/// assert!(dx.shares_pattern_with(&x));
/// # Ok::<(), lacuna::Error>(())
/// ```
///
/// Definition: the gradient of [`torch.matmul`](https://docs.pytorch.org/docs/stable/generated/torch.matmul.html).
#[allow(clippy::type_complexity)] // a pair of results of ordinary types
pub fn matmul_backward<X, Y, U>(x: &X, y: &Y, upstream: &U) -> Result<(X::Reduced<U::Elem>, Y::Reduced<U::Elem>)>
where
    X: Operand<Elem = U::Elem>,
    Y: Operand<Elem = U::Elem>,
    U: Operand<Elem: Float>,
{
    let (of_left, of_right, upstream) = (x.erased(), y.erased(), upstream.erased());
    let (left, right) = (of_left.factor()?.whole()?, of_right.factor()?.whole()?);
    let contraction = Contraction::new(op::matmul_backward.name, left.lengths(), right.lengths())?;
    check_upstream(&upstream, &contraction.shape)?;
    let (dx, dy) = gradients(&left, &right, &upstream.factor()?.whole()?, &contraction)?;
    let dx = gradient_of(&of_left, dx, &x.lengths().into())?;
    let dy = gradient_of(&of_right, dy, &y.lengths().into())?;
    Ok((X::restore(dx)?, Y::restore(dy)?))
}

/// Returns both gradients, with one element per entry of a sparse operand or per position of an array.
fn gradients<T: Float>(
    left: &Factor<'_, T>,
    right: &Factor<'_, T>,
    upstream: &Factor<'_, T>,
    contraction: &Contraction,
) -> Result<(Vec<T>, Vec<T>)> {
    let is_view = |factor: &Factor<'_, T>| matches!(factor, Factor::Entries(SparseFactor { implicit: None, .. }));
    let are_sparse = matches!((left, right), (Factor::Entries(_), Factor::Entries(_)));
    if !(are_sparse && (is_view(left) || is_view(right))) {
        check_fill(left, "left")?;
        check_fill(right, "right")?;
    }
    let (of_left, of_right) = (count(left), count(right));
    if contraction.is_trivial() {
        return Ok((alloc::zeros(of_left)?, alloc::zeros(of_right)?));
    }
    let limit = default_limit(left.bytes().saturating_add(right.bytes()).saturating_add(upstream.bytes()));
    guard::<T>("a row of the upstream gradient", contraction.width as u128, limit, "multiply in chunks")?;
    for length in [contraction.width, contraction.inner] {
        guard::<u8>("the columns", length as u128, 1 << 32, "multiply in chunks")?;
    }
    let (left, right) =
        (HeldOperand::new(left, false, limit)?, HeldOperand::new(right, !contraction.has_axis[1], limit)?);
    let upstream = HeldOperand::of_upstream(upstream, contraction, limit)?;
    walked(&left, &right, &upstream, contraction)
}

fn walked<T: Float>(
    left: &HeldOperand<'_, T>,
    right: &HeldOperand<'_, T>,
    upstream: &HeldOperand<'_, T>,
    contraction: &Contraction,
) -> Result<(Vec<T>, Vec<T>)> {
    let (rows, inner) = (contraction.rows, contraction.inner);
    let (left_of, right_of) = (|place| contraction.left.of(place), |place| contraction.right.of(place));
    let count = contraction.count().unwrap_or(usize::MAX);
    let walk = ProductBatch { count, rows, inner, width: contraction.width, left: &left_of, right: &right_of };
    let fill = upstream.implicit.unwrap_or(T::ZERO);
    let is_unbounded = !fill.isfinite() || !all_finite(upstream.values());
    let above = UpstreamBatch { side: upstream.side(), fill, is_unbounded };
    let strict = left.implicit.is_some() && right.implicit.is_some();
    let matrices = [left.rows(inner) / rows, right.rows(contraction.width) / inner];
    let dx = of_left(left.side(), right.side(), above, walk, (matrices[0], strict))?;
    let dy = of_right(left.side(), right.side(), above, walk, (matrices[1], strict))?;
    Ok((dx, dy))
}

fn check_fill<T: Element>(factor: &Factor<'_, T>, side: &str) -> Result<()> {
    match factor {
        Factor::Entries(entries) => entries.check_fill(op::matmul_backward.name, side),
        Factor::Array(_) => Ok(()),
    }
}

/// Returns the number of elements of a gradient.
fn count<T: Element>(factor: &Factor<'_, T>) -> usize {
    match factor {
        Factor::Entries(entries) => entries.values.len(),
        Factor::Array(array) => array.elements.len(),
    }
}

/// An operand by rows.
struct HeldOperand<'a, T: Clone> {
    kind: FactorItems<'a, T>,
    implicit: Option<T>,
}

enum FactorItems<'a, T: Clone> {
    Entries(RowEntries, &'a [T]),
    Array(Cow<'a, [T]>),
}

impl<'a, T: Element> HeldOperand<'a, T> {
    fn new(factor: &'a Factor<'_, T>, is_column: bool, limit: u64) -> Result<Self> {
        Ok(match factor {
            Factor::Array(array) => {
                HeldOperand { kind: FactorItems::Array(Cow::Borrowed(&array.elements)), implicit: Some(T::ZERO) }
            }
            Factor::Entries(entries) => {
                let lines = entries.pattern.lines(is_column, false, false, limit)?;
                HeldOperand { kind: FactorItems::Entries(lines, entries.values), implicit: entries.implicit }
            }
        })
    }

    /// Returns an upstream gradient by rows. Without a column axis each element is a row, so all elements are written
    /// out.
    fn of_upstream(factor: &'a Factor<'_, T>, contraction: &Contraction, limit: u64) -> Result<Self> {
        match factor {
            Factor::Entries(entries) if !contraction.has_axis[1] => {
                let fill = entries.implicit.unwrap_or(T::ZERO);
                guard::<T>("the upstream gradient", contraction.shape.wide_size(), limit, "multiply in chunks")?;
                let mut elements = alloc::copies(fill, contraction.shape.wide_size() as usize)?;
                let places = entries.pattern.places()?;
                places.iter().zip(entries.values).for_each(|(&place, &value)| elements[place] = value);
                Ok(HeldOperand { kind: FactorItems::Array(Cow::Owned(elements)), implicit: Some(fill) })
            }
            _ => HeldOperand::new(factor, false, limit),
        }
    }

    /// Returns the number of rows, each of `width` columns.
    fn rows(&self, width: usize) -> usize {
        match &self.kind {
            FactorItems::Entries(lines, _) => lines.count(),
            FactorItems::Array(elements) => elements.len() / width,
        }
    }

    fn values(&self) -> &[T] {
        match &self.kind {
            FactorItems::Entries(_, values) => values,
            FactorItems::Array(elements) => elements,
        }
    }

    fn side(&self) -> MatrixBatch<'_, T> {
        match &self.kind {
            FactorItems::Entries(lines, values) => MatrixBatch::Entries(MatrixEntries { rows: lines.rows(), values }),
            FactorItems::Array(elements) => MatrixBatch::Array(elements),
        }
    }
}

impl<'a, T: Element> Factor<'a, T> {
    /// Returns the operand with its repeated elements written out.
    fn whole(self) -> Result<Self> {
        match self {
            Factor::Array(Elements { lengths, held, elements, bytes }) if lengths != held => {
                let view = ArrayViewD::from_shape(IxDyn(&held), &elements).expect("one element per position");
                let view = view.broadcast(IxDyn(&lengths)).expect("the elements are repeated");
                guard::<T>("the elements in order", view.len() as u128, default_limit(bytes), "multiply in chunks")?;
                let all = copied(&view)?;
                Ok(Factor::Array(Elements { held: lengths.clone(), lengths, elements: Cow::Owned(all), bytes }))
            }
            same => Ok(same),
        }
    }
}
