//! Reductions of a tensor whose values come in pieces: the operand, and the drivers.

use super::sparse::{Entries, refused_group};
use crate::base::error::{Error, Result};
use crate::element::Element;
use crate::kernels::fed::{Source, fold_fed, fold_poured, reduce_fed};
use crate::kernels::fold::Fold;
use crate::kernels::group::Gaps;
use crate::kernels::holistic::Holistic;
use crate::kernels::op::Op;
use crate::pattern::Pattern;
use crate::plan::group::{Cells, position_in_group};
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;

/// A tensor, or its stored view, whose values are computed when they are reduced. Folds and holistic reductions alone
/// are asked of it.
pub struct Fed<'a, P, T> {
    pub(crate) pattern: &'a P,
    /// A tensor without entries.
    pub(crate) none: &'a Tensor<P, T>,
    /// The value of what is absent; none where that does not count.
    pub(crate) gap: Option<T>,
    pub(crate) source: Box<dyn Source<T> + 'a>,
}

/// Why there is no result: whoever feeds it computes all values, and asks for that of these.
fn not_fed<O: Op>(_: O) -> Error {
    Error::Argument { operation: O::NAME, why: "its elements do not come in pieces".into() }
}

/// The cells of a reduction whose entries stand side by side.
fn cells<P: Pattern, O: Op>(pattern: &P, op: O, reduction: &Reduction) -> Result<Cells<P>> {
    match reduction.is_fed() {
        true => Cells::new(pattern, reduction),
        false => Err(not_fed(op)),
    }
}

/// The cells that hold an entry, and the results of a fold there.
pub(super) fn fold<P: Pattern, T: Element, F: Fold<T>>(
    x: &Entries<'_, P, T>,
    source: &dyn Source<T>,
    op: F,
    reduction: &Reduction,
    gaps: &Gaps<T>,
) -> Result<(P, Vec<F::Out>)> {
    let Cells { pattern, groups } = cells(x.pattern, op, reduction)?;
    let offsets = groups.offsets().ok_or_else(|| not_fed(op))?;
    let found = match source.is_poured() {
        true => fold_poured(op, source, gaps).map(|found| found.map(|found| vec![found])),
        false => fold_fed(op, offsets, source, gaps),
    };
    let found = found.map_err(|refusal| refused_group(x, op, refusal, reduction, &groups))?;
    Ok((pattern, found.ok_or_else(|| not_fed(op))?))
}

/// The cells that hold an entry, and the results of a holistic reduction there.
pub(super) fn holistic<P: Pattern, T: Element, H: Holistic<T>>(
    x: &Entries<'_, P, T>,
    source: &dyn Source<T>,
    op: H,
    reduction: &Reduction,
    gaps: &Gaps<T>,
    blank: H::Out,
) -> Result<(P, Vec<H::Out>)> {
    let Cells { pattern, groups } = cells(x.pattern, op, reduction)?;
    let offsets = groups.offsets().ok_or_else(|| not_fed(op))?;
    let position = |entry: usize| position_in_group(x.pattern, reduction, entry);
    let found = reduce_fed(op, offsets, source, gaps, &position, blank);
    let found = found.map_err(|refusal| refused_group(x, op, refusal, reduction, &groups))?;
    Ok((pattern, found.ok_or_else(|| not_fed(op))?))
}
