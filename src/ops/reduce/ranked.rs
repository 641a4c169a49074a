//! The drivers of operations that rank the elements along an axis.

use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;

use ndarray::{ArrayD, ArrayViewD, Axis};

use super::check_upstream;
use super::entries::Entries;
use crate::base::alloc::{self, Allocated};
use crate::base::axes::{Axes, normalize_axis};
use crate::base::error::{Error, Result};
use crate::base::index::{Index, Position, Width};
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, saturating_product};
use crate::base::threads;
use crate::convert::{check_result, copied, dense_array, dense_bytes};
use crate::element::{Element, Real, without_sign};
use crate::kernels::extreme::missing;
use crate::kernels::gather::Plain;
use crate::kernels::group::{Groups, Unstored};
use crate::kernels::holistic::Group;
use crate::kernels::ranked::{self, Direction, NOTHING, Ranked, UNSTORED};
use crate::kernels::sort;
use crate::ops::operand::{ErasedOperand, ErasedResult, Operand, all_elements};
use crate::pattern::{AnyPattern, AxisCoords, by_slices, of_width};
use crate::plan::group::ReductionPlan;
use crate::plan::reduction::Reduction;
use crate::tensor::Tensor;
use crate::tensor::erased::Erased;

/// A ranking of the elements along one axis.
pub(crate) struct Ranking {
    name: &'static str,
    axis: usize,
    /// The number of ranks.
    count: usize,
    direction: Direction,
    /// The shape of the result.
    shape: Shape,
    /// True if positions are requested, which unstored positions do not have.
    needs_positions: bool,
}

impl Ranking {
    /// Returns a ranking of an operand with these lengths, with `count` ranks, or with one rank per element.
    pub(super) fn new(
        name: &'static str,
        lengths: &[usize],
        (axis, count): (impl Position, Option<usize>),
        needs_positions: bool,
    ) -> Result<Self> {
        let axis = normalize_axis(axis.to_i128(), lengths.len())?;
        let direction = if count.is_some() { Direction::Descending } else { Direction::Ascending };
        let count = count.unwrap_or(lengths[axis]);
        let mut shape = lengths.to_vec();
        shape[axis] = count;
        Ok(Ranking { name, axis, count, direction, shape: shape.into(), needs_positions })
    }

    /// Rejects more ranks than elements, if the type does not have a value for missing elements.
    fn check_count<T: Real>(&self, length: usize) -> Result<()> {
        if self.count <= length || missing::<T>().is_some() {
            return Ok(());
        }
        let Ranking { count, axis, .. } = self;
        let why =
            format!("k = {count} exceeds the {length} positions of axis {axis}; a larger k requires a float type");
        Err(Error::Argument { operation: self.name, why })
    }
}

/// Applies `of` to the element at each rank along an axis, with its position; to `None` if the element is missing.
pub(super) fn rank<X: Operand<Elem: Real>, U: Plain>(
    x: &X,
    ranking: &Ranking,
    of: impl Fn(Option<(X::Elem, u64)>) -> U + Sync + Send,
) -> Result<ErasedResult<U>> {
    X::check_result_shape(&ranking.shape)?;
    Ok(match x.erased() {
        ErasedOperand::Sparse(x) => sparse(&Entries::of(&x), x.sparse().fill(), ranking, of)?.into(),
        ErasedOperand::Array(x) => dense(x.array.view(), ranking, of)?.into(),
    })
}

/// Computes the gradient of a ranking: each chosen element receives the gradient of its rank.
pub(super) fn rank_backward<X: Operand<Elem: Real>, U: Operand>(
    x: &X,
    ranking: &Ranking,
    upstream: &U,
) -> Result<X::Reduced<U::Elem>> {
    X::check_result_shape(&ranking.shape)?;
    let upstream = &upstream.erased();
    x.by_kind(
        |x| sparse_backward(&Entries::of(x), x.sparse().fill(), ranking, upstream),
        |x| dense_backward(x.view(), ranking, upstream),
    )
}

/// The element at each rank of the groups of a sparse operand that hold an entry.
struct Ranks {
    pattern: AnyPattern,
    /// An entry of the operand per rank, or [`UNSTORED`], or [`NOTHING`].
    ranked: Vec<Ranked>,
}

/// Computes the results of a sparse operand whose own fill is `own`. `of` receives an element with its position, or
/// `None`.
fn sparse<T: Real, U: Plain>(
    x: &Entries<'_, T>,
    own: T,
    ranking: &Ranking,
    of: impl Fn(Option<(T, u64)>) -> U + Sync + Send,
) -> Result<Erased<U>> {
    if ranking.needs_positions && x.fill.is_some() {
        let why = "only stored entries can be ranked; call it on x.stored()".into();
        return Err(Error::Argument { operation: ranking.name, why });
    }
    let (fill, ranks) = (fill(x, own, ranking)?, Ranks::of(x, ranking)?);
    let position = |entry| match ranking.needs_positions {
        true => x.pattern.coord(entry, ranking.axis) as u64,
        false => u64::MAX,
    };
    let value = |entry| match entry {
        NOTHING => of(None),
        UNSTORED => of(Some((own, u64::MAX))),
        entry => of(Some((x.values[entry], position(entry)))),
    };
    let values = threads::map(&ranks.ranked, 3000, value)?;
    if ranks.pattern.nnz() as u128 != saturating_product(ranking.shape.iter()) {
        check_fill(x, fill, ranking)?;
    }
    Ok(Tensor::assemble(ranks.pattern, values, of(fill.map(|fill| (fill, u64::MAX)))))
}

/// Returns the fill of a result; `None` if it is NaN, as for groups without numbers.
fn fill<T: Real>(x: &Entries<'_, T>, own: T, ranking: &Ranking) -> Result<Option<T>> {
    let length = x.pattern.shape()[ranking.axis];
    match x.fill {
        None => return Ok(Some(own)),
        Some(_) => ranking.check_count::<T>(length)?,
    }
    Ok(Some(own).filter(|own| !own.isnan() && (length > 0 || ranking.count == 0)))
}

/// Rejects a fill that holds at some ranks of a group without entries, but not at the ranks after its elements.
fn check_fill<T: Real>(x: &Entries<'_, T>, fill: Option<T>, ranking: &Ranking) -> Result<()> {
    let length = x.pattern.shape()[ranking.axis];
    let (Some(_), Some(fill), true) = (x.fill, fill, length < ranking.count) else { return Ok(()) };
    let place = |rank: usize| {
        let word = |axis| if axis == ranking.axis { rank.to_string() } else { "..".into() };
        format!("[{}]", (0..ranking.shape.rank()).map(word).collect::<Vec<String>>().join(", "))
    };
    let (expected, found) = (fill.to_number().to_string(), "NaN".into());
    Err(Error::FillVaries { operation: ranking.name, expected, first: place(0), found, at: place(length) })
}

/// Computes the gradient of a sparse operand: each chosen element receives the gradient of its rank.
fn sparse_backward<T: Real, G: Element>(
    x: &Entries<'_, T>,
    own: T,
    ranking: &Ranking,
    upstream: &ErasedOperand<'_, G>,
) -> Result<Erased<G>> {
    check_upstream(upstream, &ranking.shape)?;
    fill(x, own, ranking)?;
    let Ranks { pattern, ranked } = Ranks::of(x, ranking)?;
    let mut received: Vec<G> = alloc::zeros(x.values.len())?;
    for (entry, gradient) in ranked.into_iter().zip(upstream.at_entries(&pattern)?) {
        if let Some(slot) = received.get_mut(entry) {
            *slot = without_sign(gradient);
        }
    }
    Ok(Tensor::from_valid(x.pattern.clone(), received, G::ZERO))
}

impl Ranks {
    fn of<T: Real>(x: &Entries<'_, T>, ranking: &Ranking) -> Result<Self> {
        let reduction = Reduction::new(x.pattern.shape(), &Axes::from(ranking.axis))?;
        let ReductionPlan { pattern: cells, groups } = ReductionPlan::new(x.pattern, &reduction)?;
        let size = |group| if x.fill.is_some() { ranking.count } else { ranking.count.min(groups.size(group)) };
        let total = (0..groups.len()).fold(0u128, |total, group| total + size(group) as u128);
        let limit = default_limit(x.pattern.index_bytes().saturating_add(size_of_val(x.values)));
        let width = x.pattern.width_for(&ranking.shape);
        let bytes = ranking.shape.rank() * width.bytes() + size_of::<T>() + 2 * size_of::<Ranked>();
        guard::<u8>("the ranked entries", total.saturating_mul(bytes as u128), limit, "use a smaller k")?;
        let unstored = Unstored { fill: x.fill, extent: reduction.extent() };
        let part = |part| rank_groups(x, &groups, unstored, ranking, part, size);
        let picoseconds = 30_000 * (1 + x.values.len() / groups.len().max(1));
        let ranked = threads::map_parts(groups.len(), picoseconds, 0, part);
        let ranked = alloc::concat(ranked.into_iter().collect::<Allocated<Vec<_>>>()?)?;
        let sizes = Sizes { groups: groups.len(), of: &size, total: ranked.len() };
        Ranks::in_order(x.pattern, ranking, sizes.coords(&cells, ranking, width)?, ranked, limit)
    }

    /// Returns the elements at these coordinates, in row-major order.
    fn in_order(
        x: &AnyPattern,
        ranking: &Ranking,
        mut coords: Vec<AxisCoords>,
        mut ranked: Vec<Ranked>,
        limit: u64,
    ) -> Result<Self> {
        if let Some(order) = by_slices!(&coords, own => sort::row_major_order(&own, ranked.len()))? {
            coords = coords.iter().map(|axis| axis.gather(&order)).collect::<Allocated<_>>()?;
            ranked = sort::gather(&ranked, &order)?;
        }
        Ok(Ranks { pattern: x.of_coords(ranking.shape.clone(), ranked.len(), coords, limit)?, ranked })
    }
}

/// The number of ranks of each group.
struct Sizes<'a> {
    groups: usize,
    of: &'a dyn Fn(usize) -> usize,
    total: usize,
}

impl Sizes<'_> {
    /// Returns the coordinates of the ranks of all groups, from the output elements of the groups.
    fn coords(&self, cells: &AnyPattern, ranking: &Ranking, width: Width) -> Allocated<Vec<AxisCoords>> {
        of_width!(width, I => self.coords_as::<I>(cells, ranking))
    }

    fn coords_as<I: Index>(&self, cells: &AnyPattern, ranking: &Ranking) -> Allocated<Vec<AxisCoords>> {
        let axis = |axis| {
            let mut coords = alloc::with_capacity(self.total)?;
            if axis == ranking.axis {
                (0..self.groups).for_each(|group| coords.extend((0..(self.of)(group)).map(I::from_usize)));
            } else {
                let kept = cells.axis(axis - usize::from(axis > ranking.axis))?.in_width(I::WIDTH)?;
                let kept = kept.view().iter().enumerate();
                kept.for_each(|(group, &coord): (usize, &I)| coords.extend(repeat_n(coord, (self.of)(group))));
            }
            Ok(AxisCoords::from(coords))
        };
        (0..ranking.shape.rank()).map(axis).collect()
    }
}

/// Returns the elements at the ranks of some groups; `size` returns the number of ranks of a group.
fn rank_groups<T: Real>(
    x: &Entries<'_, T>,
    groups: &Groups,
    unstored: Unstored<T>,
    ranking: &Ranking,
    part: Range<usize>,
    size: impl Fn(usize) -> usize,
) -> Allocated<Vec<Ranked>> {
    let mut all = alloc::zeros(part.clone().map(&size).sum())?;
    let (mut slots, mut scratch) = (&mut all[..], Vec::new());
    for group in part {
        let (own, others) = slots.split_at_mut(size(group));
        let position = |within| x.pattern.coord(groups.entry(group, within), ranking.axis) as u128;
        let stored = groups.values(group, x.values, &mut scratch)?;
        ranked::rank(&Group { stored, unstored, position: &position }, ranking.direction, own)?;
        own.iter_mut().filter(|slot| **slot < UNSTORED).for_each(|slot| *slot = groups.entry(group, *slot));
        slots = others;
    }
    Ok(all)
}

/// Returns the elements of an array with the ranked axis last.
pub(super) fn lanes<'a, T: Element>(x: &'a ArrayViewD<'_, T>, axis: usize) -> Result<Cow<'a, [T]>> {
    check_result::<T>(&x.shape().into(), dense_bytes(x))?;
    let mut order: Vec<usize> = (0..x.ndim()).filter(|&other| other != axis).collect();
    order.push(axis);
    let lanes = x.view().permuted_axes(order);
    Ok(match lanes.to_slice() {
        Some(elements) => Cow::Borrowed(elements),
        None => Cow::Owned(copied(&lanes)?),
    })
}

/// Returns the array of `shape` from items with this axis last.
pub(super) fn from_lanes<U: Copy>(items: Vec<U>, shape: &Shape, axis: usize) -> Result<ArrayD<U>> {
    let rank = shape.rank();
    let lengths: Shape = (0..rank).filter(|&other| other != axis).chain([axis]).map(|axis| shape[axis]).collect();
    let order: Vec<usize> = (0..axis).chain([rank - 1]).chain(axis..rank - 1).collect();
    let array = dense_array(&lengths, items).permuted_axes(order);
    Ok(if array.is_standard_layout() { array } else { dense_array(shape, copied(&array.view())?) })
}

/// Calls `visit` for each lane, with its index and the elements at its ranks.
fn rank_lanes<T: Real>(
    elements: &[T],
    (lanes, length): (usize, usize),
    ranking: &Ranking,
    mut visit: impl FnMut(usize, &[Ranked]),
) -> Allocated<()> {
    let mut ranked = alloc::zeros(ranking.count)?;
    for lane in 0..lanes {
        let group = Group::of_slice(&elements[lane * length..(lane + 1) * length]);
        ranked::rank(&group, ranking.direction, &mut ranked)?;
        visit(lane, &ranked);
    }
    Ok(())
}

/// Computes the results of an array.
fn dense<T: Real, U: Plain>(
    x: ArrayViewD<'_, T>,
    ranking: &Ranking,
    of: impl Fn(Option<(T, u64)>) -> U + Sync + Send,
) -> Result<ArrayD<U>> {
    let length = x.len_of(Axis(ranking.axis));
    ranking.check_count::<T>(length)?;
    check_result::<U>(&ranking.shape, dense_bytes(&x))?;
    let (elements, cells) = (lanes(&x, ranking.axis)?, ranking.shape.iter().product::<usize>());
    let of_part = |part: Range<usize>| {
        let mut items = alloc::with_capacity(part.len() * ranking.count)?;
        let elements = &elements[part.start * length..part.end * length];
        rank_lanes(elements, (part.len(), length), ranking, |lane, ranked| {
            let lane = &elements[lane * length..(lane + 1) * length];
            items.extend(ranked.iter().map(|&at| of(lane.get(at).map(|&value| (value, at as u64)))));
        })?;
        Ok(items)
    };
    let count = cells.checked_div(ranking.count).unwrap_or(0);
    let items = threads::map_parts(count, 30_000 * (1 + length), 0, of_part);
    let items = alloc::concat(items.into_iter().collect::<Allocated<Vec<_>>>()?)?;
    from_lanes(items, &ranking.shape, ranking.axis)
}

/// Computes the gradient of an array.
fn dense_backward<T: Real, G: Element>(
    x: ArrayViewD<'_, T>,
    ranking: &Ranking,
    upstream: &ErasedOperand<'_, G>,
) -> Result<ArrayD<G>> {
    let (shape, length) = (Shape::from(x.shape()), x.len_of(Axis(ranking.axis)));
    check_upstream(upstream, &ranking.shape)?;
    ranking.check_count::<T>(length)?;
    check_result::<G>(&shape, dense_bytes(&x))?;
    check_result::<G>(&ranking.shape, dense_bytes(&x))?;
    let elements = lanes(&x, ranking.axis)?;
    let gradients = dense_array(&ranking.shape, alloc::owned(all_elements(upstream)?)?);
    let view = gradients.view();
    let gradients = lanes(&view, ranking.axis)?;
    let mut received: Vec<G> = alloc::zeros(elements.len())?;
    let count = elements.len().checked_div(length).unwrap_or(0);
    rank_lanes(&elements, (count, length), ranking, |lane, ranked| {
        let received = &mut received[lane * length..(lane + 1) * length];
        for (&at, &gradient) in ranked.iter().zip(&gradients[lane * ranking.count..]) {
            if let Some(slot) = received.get_mut(at) {
                *slot = without_sign(gradient);
            }
        }
    })?;
    from_lanes(received, &shape, ranking.axis)
}
