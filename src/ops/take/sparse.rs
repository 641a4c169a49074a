//! Taking entries: the patterns of both formats, and what is common to them.

use std::sync::Arc;

use super::Request;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::index::{Index, Position, check_axes};
use crate::kernels::sort::{compare, gather};
use crate::kernels::take::TakeMode;
use crate::kernels::take::{Taken, along_axis, find, scatter_add, stored_items};
use crate::limit::default_limit;
use crate::ops::indices::Indices;
use crate::ops::upstream::{Upstream, at_entries, check_shape};
use crate::pages::{self, Granted};
use crate::parallel;
use crate::pattern::{CooPattern, CsrPattern, Pattern, coords_as_slices};
use crate::shape::{Shape, checked_product};
use crate::tensor::Tensor;

/// A pattern from which entries can be taken.
pub(super) trait TakeEntries: Pattern {
    /// The lengths over which a flattened position is split to be found.
    fn split_lengths(&self) -> Vec<usize>;

    /// How many entries a position is searched among, on the average.
    fn searched(&self) -> usize;

    /// What finds the entry at coordinates within these lengths.
    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync;

    /// The bytes of the indices of an entry.
    fn index_bytes_each(rank: usize) -> usize;

    /// The pattern of `shape` that stores the positions given, flattened and in increasing order.
    fn from_positions(shape: Shape, stored: &[usize], limit: u64) -> Result<Self>;

    /// The pattern of a take along `axis`, and for each of its entries the one that it takes; there are at most `most`.
    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)>;
}

/// Where a take along an axis goes.
pub(super) struct Target<'a> {
    operation: &'static str,
    /// The lengths of the index array.
    lengths: &'a [usize],
    /// The shape of the result.
    shape: &'a Shape,
    /// The bytes of one entry of it.
    entry_bytes: usize,
    limit: u64,
}

impl Target<'_> {
    /// The most entries that the limit allows.
    fn most(&self) -> u128 {
        u128::from(self.limit) / self.entry_bytes as u128
    }

    /// Refuses a result of `entries`, more than that.
    fn refuse(&self, entries: u128) -> Error {
        let bytes = entries.saturating_mul(self.entry_bytes as u128);
        Error::TooLarge { what: "the taken entries", bytes, limit: self.limit, instead: "take fewer at a time" }
    }
}

/// The entries taken, one after the other.
pub(super) fn sources_of(taken: &[Taken]) -> Vec<usize> {
    taken.iter().flat_map(|taken| taken.entries.clone()).collect()
}

/// `of` for each of the entries taken.
pub(super) fn for_entries<U: Copy>(taken: &[Taken], of: impl Fn(&Taken) -> U) -> impl Iterator<Item = U> {
    taken.iter().flat_map(move |taken| std::iter::repeat_n(of(taken), taken.entries.len()))
}

/// The coordinates within `lengths` of row-major positions that exist; all axes of length 1 share their zeros.
pub(super) fn coords_of<I: Index>(positions: &[usize], lengths: &[usize]) -> Granted<Vec<Arc<Vec<I>>>> {
    let inner = |axis: usize| checked_product(&lengths[axis + 1..]).unwrap_or(usize::MAX);
    let coords = |axis: usize| match (inner(axis), lengths[axis]) {
        (1, length) if axis > 0 => parallel::map(positions, |position| I::from_usize(position % length)),
        (1, _) => parallel::map(positions, I::from_usize),
        (inner, length) => parallel::map(positions, |position| I::from_usize(position / inner % length)),
    };
    let zeros = Arc::new(pages::zeros(positions.len())?);
    let axis = |axis: usize| if lengths[axis] == 1 { Ok(Arc::clone(&zeros)) } else { coords(axis).map(Arc::new) };
    (0..lengths.len()).map(axis).collect()
}

impl<I: Index> TakeEntries for CooPattern<I> {
    fn split_lengths(&self) -> Vec<usize> {
        self.shape().to_vec()
    }

    fn searched(&self) -> usize {
        self.nnz()
    }

    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync {
        let axes = coords_as_slices(self.shared_coords());
        move |coords| find(&axes, self.nnz(), coords)
    }

    fn index_bytes_each(rank: usize) -> usize {
        rank * size_of::<I>()
    }

    fn from_positions(shape: Shape, stored: &[usize], _: u64) -> Result<Self> {
        let coords = coords_of(stored, &shape)?;
        Ok(CooPattern::from_valid(shape, stored.len(), coords))
    }

    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let axes = coords_as_slices(self.shared_coords());
        let runs = runs_of(&axes[..axis], self.nnz());
        let taken = along_axis(axes[axis], &runs, positions, self.shape()[axis], target.most())?;
        let taken = taken.map_err(|entries| target.refuse(entries))?;
        let sources = sources_of(&taken);
        let items: Vec<usize> = for_entries(&taken, |taken| taken.item).collect();
        let gathered =
            |axes: &[&[I]]| axes.iter().map(|axis| gather(axis, &sources).map(Arc::new)).collect::<Granted<Vec<_>>>();
        let mut coords = gathered(&axes[..axis])?;
        coords.extend(coords_of(&items, target.lengths)?);
        coords.extend(gathered(&axes[axis + 1..])?);
        Ok((CooPattern::from_valid(target.shape.clone(), sources.len(), coords), sources))
    }
}

/// The offsets of the entries that agree on all of `axes`.
pub(super) fn runs_of<I: Index>(axes: &[&[I]], count: usize) -> Vec<usize> {
    if axes.is_empty() {
        return vec![0, count];
    }
    let opens = |&entry: &usize| entry == 0 || compare(axes, entry - 1, entry).is_ne();
    (0..count).filter(opens).chain([count]).collect()
}

impl<I: Index> TakeEntries for CsrPattern<I> {
    fn split_lengths(&self) -> Vec<usize> {
        vec![self.lanes(), self.shape().columns()]
    }

    fn searched(&self) -> usize {
        self.nnz() / self.lanes().max(1)
    }

    fn finder(&self) -> impl Fn(&[usize]) -> Option<usize> + Send + Sync {
        |coords| {
            let (lane, column) = (coords[0], coords[1]);
            let within = self.lane(lane).binary_search_by(|index| index.to_usize().cmp(&column)).ok()?;
            Some(self.offsets()[lane] + within)
        }
    }

    /// The offsets are not those of entries, and refused by themselves.
    fn index_bytes_each(_: usize) -> usize {
        size_of::<I>()
    }

    fn from_positions(shape: Shape, stored: &[usize], limit: u64) -> Result<Self> {
        let width = shape.columns();
        let columns = parallel::map(stored, |position| I::from_usize(position % width))?;
        CsrPattern::from_lanes(shape, stored.iter().map(|position| position / width), Arc::new(columns), limit)
    }

    fn take_along(&self, axis: usize, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let rank = self.shape().rank();
        match axis {
            _ if axis + 1 == rank => self.take_columns(positions, target),
            0 if rank == 2 => self.take_lanes(positions, target),
            _ => {
                let upstream = if target.operation == "take_axis" { "" } else { "&upstream, " };
                let instead = format!("x.to_coo().{}(indices, {upstream}{axis}, mode)", target.operation);
                Err(Error::CsrAxes { operation: target.operation, axes: vec![axis], rank, instead })
            }
        }
    }
}

impl<I: Index> CsrPattern<I> {
    fn take_lanes(&self, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let entries = |&lane: &usize| self.offsets()[lane]..self.offsets()[lane + 1];
        let total = positions.iter().map(|lane| entries(lane).len() as u128).sum();
        if total > target.most() {
            return Err(target.refuse(total));
        }
        let sources: Vec<usize> = positions.iter().flat_map(entries).collect();
        let columns = Arc::new(gather(self.columns(), &sources)?);
        let lanes = positions.iter().enumerate();
        let lanes = lanes.flat_map(|(item, lane)| std::iter::repeat_n(item, entries(lane).len()));
        Ok((CsrPattern::from_lanes(target.shape.clone(), lanes, columns, target.limit)?, sources))
    }

    fn take_columns(&self, positions: &[usize], target: &Target<'_>) -> Result<(Self, Vec<usize>)> {
        let length = self.shape().columns();
        let taken = along_axis(self.columns(), self.offsets(), positions, length, target.most())?;
        let taken = taken.map_err(|entries| target.refuse(entries))?;
        // The lane and the column of the cell where an item of a lane goes: one index leaves the last axis of the
        // lanes as the new columns, an index array brings its own columns and as many lanes to each lane as it has.
        // A lane that does not fit is not read: its offsets are refused first.
        let width = target.shape.columns();
        let cell = |taken: &Taken| match target.lengths.is_empty() {
            true => (taken.run / width, taken.run % width),
            false => {
                (taken.run.wrapping_mul(positions.len() / width).wrapping_add(taken.item / width), taken.item % width)
            }
        };
        let columns = for_entries(&taken, |taken| I::from_usize(cell(taken).1)).collect();
        let lanes = for_entries(&taken, |taken| cell(taken).0);
        let pattern = CsrPattern::from_lanes(target.shape.clone(), lanes, Arc::new(columns), target.limit)?;
        Ok((pattern, sources_of(&taken)))
    }
}

/// The pattern of what is taken, and for each of its entries the one that it takes; `x_bytes` are those of the input,
/// `value_bytes` those of a value of the result.
pub(super) fn take_entries<P: TakeEntries, J: Position>(
    pattern: &P,
    request: &Request<'_, J>,
    x_bytes: usize,
    value_bytes: usize,
) -> Result<(P, Vec<usize>)> {
    let shape = &request.shape;
    check_axes::<P::Index>(shape)?;
    let limit = default_limit(x_bytes.saturating_add(request.indices.owned_bytes()));
    let entry_bytes = P::index_bytes_each(shape.rank()) + value_bytes;
    if let Some(axis) = request.axis {
        let positions = request.positions(pattern.shape()[axis], 0)?;
        let (operation, lengths) = (request.operation, &**request.indices.shape());
        return pattern.take_along(axis, &positions, &Target { operation, lengths, shape, entry_bytes, limit });
    }
    let items = request.indices.items(size_of::<J>() + entry_bytes + size_of::<Taken>())?;
    let size = pattern.shape().wide_size();
    request.check(&items, size)?;
    let lengths = pattern.split_lengths();
    let stored = stored_items(&items, &lengths, size, request.mode, pattern.searched(), pattern.finder())?;
    let (stored, sources): (Vec<_>, Vec<_>) = stored.into_iter().unzip();
    Ok((P::from_positions(shape.clone(), &stored, limit)?, sources))
}

pub(super) fn take_sparse<P: TakeEntries, T: Element, J: Position>(
    x: &Tensor<P, T>,
    indices: Indices<'_, J>,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<Tensor<P, T>> {
    let request = Request::new("take_axis", x.shape(), indices, axis, mode)?;
    let (pattern, sources) = take_entries(x.pattern(), &request, x.stored_bytes(), size_of::<T>())?;
    Ok(Tensor::from_valid(pattern, gather(x.values(), &sources)?, x.fill()))
}

pub(super) fn take_backward_sparse<P: TakeEntries, T: Element, J: Position, U: Upstream>(
    x: &Tensor<P, T>,
    indices: Indices<'_, J>,
    upstream: &U,
    axis: Option<isize>,
    mode: TakeMode,
) -> Result<Tensor<P, U::Elem>> {
    let request = Request::new("take_axis_backward", x.shape(), indices, axis, mode)?;
    check_shape(upstream, &request.shape)?;
    let (cells, sources) = take_entries(x.pattern(), &request, x.stored_bytes(), size_of::<U::Elem>())?;
    let gradients = at_entries(upstream, &cells)?;
    let values = scatter_add(x.nnz(), sources.into_iter().zip(gradients))
        .map_err(|entry| sum_overflow::<U::Elem>(entry_coords(x.pattern(), entry)))?;
    Ok(Tensor::from_valid(x.pattern().clone(), values, U::Elem::ZERO))
}

pub(super) fn sum_overflow<G: Element>(coords: Vec<usize>) -> Error {
    Error::SumOverflow { coords, dtype: G::DTYPE.name() }
}

/// The coordinates of one entry, for a message.
pub(super) fn entry_coords<P: Pattern>(pattern: &P, entry: usize) -> Vec<usize> {
    let mut found = Vec::new();
    pattern.walk(|number, coords| {
        found = coords.to_vec();
        number < entry
    });
    found
}
