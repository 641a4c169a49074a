//! Reductions of dense arrays of any layout: the elements of each group, one after the other.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use ndarray::{ArrayBase, ArrayD, ArrayView1, ArrayViewD, ArrayViewMut2, Axis, Data, Dimension, Ix2, Slice};

use crate::base::alloc::{self, Allocated};
use crate::base::error::Result;
use crate::base::labels::Grouping;
use crate::base::limit::{default_limit, guard};
use crate::base::shape::{Shape, step, unravel};
use crate::base::threads;
use crate::convert::{check_result, copied, dense_array, dense_bytes};
use crate::element::Element;
use crate::kernels::op::{FailedGroup, GroupError, Outcome, Outcomes};
use crate::plan::reduction::Reduction;

/// The required order of the elements of a lane.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    RowMajor,
    /// Any order; the fastest order is used.
    Any,
}

/// Returns the result of a reduction from its row-major output elements within `lengths`. A length is 1 if all output
/// elements along the axis are the same.
pub(super) fn repeat_cells<U: Copy>(cells: Vec<U>, lengths: Vec<usize>, reduction: &Reduction) -> Allocated<ArrayD<U>> {
    let shape = reduction.result_shape();
    // Iterators are compared, not slices: for empty slices the SIMD comparison of glibc reads an unmapped address,
    // which is slow.
    if lengths.iter().eq(reduction.kept_lengths()) {
        return Ok(dense_array(&shape, cells));
    }
    let cells = dense_array(&lengths.into(), cells);
    let repeated = cells.broadcast(reduction.kept_lengths()).expect("only axes of length 1 have grown");
    Ok(dense_array(&shape, copied(&repeated)?))
}

/// Constructs the working memory of a thread.
pub(super) type Make<'a, S> = dyn Fn() -> S + Sync + 'a;

/// Returns the result of a lane. The compiler instantiates the code that copies lanes once per element type and result
/// type, because this is a trait object. One call handles one lane.
pub(super) type Finish<'a, T, S, U> = dyn Fn(&mut S, &[T]) -> Outcome<U> + Sync + 'a;

/// A function that returns the results of all lanes between offsets, several at a time.
pub(super) type LanesFn<'a, T, U> = &'a dyn Fn(&[usize], &[T]) -> Outcomes<Vec<U>>;

/// Applies `finish` to the consecutive elements of each group, for a view without repeated lanes. Groups are
/// distributed over the threads, with one `scratch` per thread. `blank` is any result.
///
/// Contiguous lanes are read in place; short lanes are passed to `at_once`, if there is one. All other lanes are
/// copied, several neighbours at a time.
pub(super) fn map_distinct_lanes<T: Element, S, U: Copy + Send + Sync>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    order: Order,
    blank: U,
    scratch: &Make<'_, S>,
    finish: &Finish<'_, T, S, U>,
    at_once: Option<LanesFn<'_, T, U>>,
) -> Outcomes<Vec<U>> {
    let (mut kept, mut reduced) = (reduction.kept().to_vec(), reduction.reduced().to_vec());
    sort_by_stride(&mut kept, view.strides());
    if order == Order::Any {
        sort_by_stride(&mut reduced, view.strides());
    }
    let lengths = lengths_of(view.shape(), &kept);
    let lanes_last = view.permuted_axes([&kept[..], &reduced].concat());
    let extent = reduction.extent() as usize;
    let results = match (lanes_last.as_slice(), at_once) {
        (Some(elements), Some(at_once)) if are_short::<T>(extent) => {
            at_once(&ends(elements.len() / extent, extent)?, elements)
        }
        (Some(elements), _) => {
            let of_lane = |scratch: &mut S, cell| {
                finish(scratch, &elements[cell * extent..(cell + 1) * extent]).map_err(|fault| fault.of(cell))
            };
            threads::try_map_heavy(lengths.iter().product(), elements.len(), blank, scratch, of_lane)
        }
        (None, _) => map_copied_lanes(lanes_last, kept.len(), extent, scratch, finish),
    };
    match results {
        Ok(results) => Ok(in_axis_order(results, &kept, &lengths)?),
        Err(failure @ FailedGroup { fault: GroupError::Memory(_), .. }) => Err(failure),
        Err(FailedGroup { fault, group }) => Err(fault.of(number_in_axis_order(group, &kept, &lengths))),
    }
}

/// Returns the lengths of some axes. Here and below, code that does not depend on the operation has its own functions.
/// Closures in a generic function would be compiled again per operation.
fn lengths_of(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|&axis| shape[axis]).collect()
}

/// Returns the start of each lane, and the end of the last lane; all lanes have one length.
fn ends(lanes: usize, length: usize) -> Allocated<Vec<usize>> {
    alloc::collect((0..lanes + 1).map(|lane| lane * length))
}

/// Sorts axes so that neighbours along the last axis are nearest in memory.
fn sort_by_stride(axes: &mut [usize], strides: &[isize]) {
    axes.sort_by_key(|&axis| Reverse(strides[axis].unsigned_abs()));
}

/// Returns whether lanes are short enough that several at a time are faster. Their offsets must take at most a quarter
/// of their bytes.
fn are_short<T>(extent: usize) -> bool {
    extent <= 64 && extent * size_of::<T>() >= 4 * size_of::<usize>()
}

/// Converts the flat index of an item of an array with the axes `kept` to the flat index for the same axes in
/// increasing order.
fn number_in_axis_order(number: usize, kept: &[usize], lengths: &[usize]) -> usize {
    let mut coords = vec![0; kept.len()];
    unravel(number, lengths, &mut coords);
    places_of(kept).into_iter().fold(0, |number, place| number * lengths[place] + coords[place])
}

/// Returns the positions of the axes in `kept`, in increasing order of the axes.
fn places_of(kept: &[usize]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..kept.len()).collect();
    places.sort_by_key(|&place| kept[place]);
    places
}

/// Reorders row-major items of an array with the axes `kept` to row-major order of the axes in increasing order.
fn in_axis_order<U: Copy>(items: Vec<U>, kept: &[usize], lengths: &[usize]) -> Allocated<Vec<U>> {
    if kept.is_sorted() {
        return Ok(items);
    }
    let array = dense_array(&Shape::from(lengths), items);
    copied(&array.permuted_axes(places_of(kept)).view())
}

/// The output elements of a reduction by labels, and the location of their groups in an array with its lanes last.
struct LabelledLanes<'a> {
    grouping: &'a Grouping,
    /// The axes of the output elements, with the labelled axis last, and their lengths.
    kept: Vec<usize>,
    lengths: Vec<usize>,
    /// The number of positions of the reduced axes before the labelled axis, from it on, and after it.
    outer: usize,
    extent: usize,
    inner: usize,
}

impl<'a> LabelledLanes<'a> {
    fn new(reduction: &'a Reduction, shape: &[usize]) -> Self {
        let grouping = reduction.grouping().expect("only a reduction by labels reaches this");
        let labelled = reduction.labelled_axis().expect("only a reduction by labels reaches this");
        let reduced = reduction.reduced();
        let mut kept: Vec<usize> = reduction.kept().iter().copied().filter(|&axis| axis != labelled).collect();
        let size = |axes: &[usize]| axes.iter().map(|&axis| shape[axis]).product::<usize>();
        let place = reduced.partition_point(|&axis| axis < labelled);
        let (outer, extent, inner) = (size(&reduced[..place]), size(&reduced[place..]), size(&reduced[place + 1..]));
        let mut lengths = lengths_of(shape, &kept);
        kept.push(labelled);
        lengths.push(grouping.count());
        LabelledLanes { grouping, kept, lengths, outer, extent, inner }
    }

    fn cells(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Returns the lengths of the axes of the output elements, in the order of the axes.
    fn lengths_in_order(&self, reduction: &Reduction) -> Vec<usize> {
        let place = |axis: &usize| self.kept.iter().position(|of| of == axis);
        reduction.kept().iter().filter_map(place).map(|at| self.lengths[at]).collect()
    }

    /// Collects the elements of the group of an output element.
    fn gather<T: Element>(&self, elements: &[T], cell: usize, group: &mut Vec<T>) -> Allocated<()> {
        let count = self.grouping.count();
        group.clear();
        for block in (0..self.outer).map(|at| (cell / count * self.outer + at) * self.extent) {
            for start in self.grouping.members(cell % count).iter().map(|member| block + member * self.inner) {
                alloc::reserve(group, self.inner)?;
                group.extend_from_slice(&elements[start..start + self.inner]);
            }
        }
        Ok(())
    }
}

/// Returns the elements of an array in the order of some axes.
fn in_order_of<'a, T: Element>(view: &'a ArrayViewD<'_, T>, axes: Vec<usize>) -> Allocated<Cow<'a, [T]>> {
    let elements = view.view().permuted_axes(axes);
    Ok(match elements.to_slice() {
        Some(elements) => Cow::Borrowed(elements),
        None => Cow::Owned(copied(&elements)?),
    })
}

/// Applies `finish` to the group of each output element of a reduction by labels. The elements of a group are
/// consecutive, in row-major order. Also returns the lengths of the axes of the output elements. There is one `scratch`
/// per thread; `blank` is any result.
pub(super) fn map_labelled_lanes<T: Element, S, U: Copy + Send + Sync>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    blank: U,
    scratch: &Make<'_, S>,
    finish: &Finish<'_, T, S, U>,
) -> Outcomes<(Vec<U>, Vec<usize>)> {
    let labelled = LabelledLanes::new(reduction, view.shape());
    let (kept, lengths) = (&labelled.kept, &labelled.lengths);
    let elements = in_order_of(&view, [&kept[..kept.len() - 1], reduction.reduced()].concat())?;
    let of_cell = |(group, scratch): &mut (Vec<T>, S), cell: usize| {
        labelled.gather(&elements, cell, group)?;
        finish(scratch, group).map_err(|fault| fault.of(cell))
    };
    let results = threads::try_map_heavy(labelled.cells(), elements.len(), blank, || (Vec::new(), scratch()), of_cell);
    let results =
        results.map_err(|FailedGroup { fault, group }| fault.of(number_in_axis_order(group, kept, lengths)))?;
    Ok((in_axis_order(results, kept, lengths)?, labelled.lengths_in_order(reduction)))
}

/// Returns an array of the shape of `view`, with zeros except for the items that `write_gradients` writes. The
/// arguments of `write_gradients` are each element, its item, its output element in a reduction by labels, and its
/// position in the group.
pub(super) fn labelled_gradients<T: Element, G: Element>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    write_gradients: &mut dyn FnMut(T, &mut G, usize, usize),
) -> Result<ArrayD<G>> {
    let shape = Shape::from(view.shape());
    let mut gradients = alloc::zeros(view.len())?;
    let mut at = vec![0; shape.rank()];
    for (item, &value) in gradients.iter_mut().zip(&view) {
        let kept = reduction.kept().iter().zip(reduction.kept_lengths());
        let cell = kept.fold(0, |cell, (&axis, length)| cell * length + reduction.kept_coord(axis, at[axis]));
        write_gradients(value, item, cell, reduction.position_in_group(|axis| at[axis]) as usize);
        step(&mut at, &shape);
    }
    Ok(dense_array(&shape, gradients))
}

/// Returns the axes so that neighbours along the last axis are nearest in memory; axes of length 1 come first.
fn by_distance(lengths: &[usize], strides: &[isize]) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..lengths.len()).collect();
    axes.sort_by_key(|&axis| (lengths[axis] > 1, Reverse(strides[axis].unsigned_abs())));
    axes
}

/// Calls `visit` for each row of elements, with the output element of its first element, and the step from one output
/// element to the next. The step is 0 within a lane.
///
/// Rows are on the axis whose neighbours are nearest in memory, and include the axes that are contiguous with it.
pub(super) fn visit_rows<T: Element>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    mut visit: impl FnMut(ArrayView1<'_, T>, usize, usize),
) {
    if view.is_empty() {
        return;
    }
    let steps = steps(&Shape::from(view.shape()), reduction.kept());
    let axes = by_distance(view.shape(), view.strides());
    let steps: Vec<usize> = axes.iter().map(|&axis| steps[axis]).collect();
    // An array of rank 0 counts as a row of one element.
    let mut view = if axes.is_empty() { view.insert_axis(Axis(0)) } else { view.permuted_axes(axes) };
    let (&last, outer) = steps.split_last().unwrap_or((&0, &[]));
    let row = Axis(outer.len());
    let _ =
        (0..outer.len()).rev().all(|axis| outer[axis] == last * view.len_of(row) && view.merge_axes(Axis(axis), row));
    let lengths = &view.shape()[..outer.len()];
    let mut at = vec![0; outer.len()];
    for row in view.rows() {
        visit(row, dot(&at, outer), last);
        step(&mut at, lengths);
    }
}

/// The location of a row of elements: in one lane, or across the lanes of several output elements.
pub(super) struct Place {
    /// The output element of the first element.
    pub(super) cell: usize,
    /// The index of the first element within its lane.
    pub(super) within: usize,
    /// True if the elements are neighbours in one lane; false if they have the same index in consecutive lanes.
    pub(super) is_lane: bool,
}

/// Number of bytes of lanes that are copied together, which stay in the L2 cache: 26 lanes of 10^4 `f64`.
const TILE_BYTES: usize = 2 << 20;

/// Applies `finish` to each lane of a view whose first `kept` axes number the lanes. Lanes that are neighbours on the
/// last of these axes are copied together.
fn map_copied_lanes<T: Element, S, U: Copy + Send + Sync>(
    view: ArrayViewD<'_, T>,
    kept: usize,
    extent: usize,
    scratch: &Make<'_, S>,
    finish: &Finish<'_, T, S, U>,
) -> Outcomes<Vec<U>> {
    let (view, kept) = without_ones(view, kept);
    // The view needs at least one axis of lanes, and one axis of elements.
    let (view, kept) = if kept == 0 { (view.insert_axis(Axis(0)), 1) } else { (view, kept) };
    let mut view = if kept == view.ndim() { view.insert_axis(Axis(kept)) } else { view };
    merge_axes(&mut view, 0..kept);
    let axes = kept..view.ndim();
    merge_axes(&mut view, axes);
    let (outer, neighbours) = (&view.shape()[..kept - 1], view.len_of(Axis(kept - 1)));
    let width = tile_width(&view, kept, extent);
    let tiles = neighbours.div_ceil(width.max(1));
    let scratch = || (Vec::new(), scratch());
    // A broadcast view may have lanes that are longer than its memory. There is then one copy instead of one per
    // thread, and each lane is distributed over the threads by itself.
    let outgrows = width * extent * size_of::<T>() > dense_bytes(&view);
    let work = if outgrows { 0 } else { view.len() };
    let count = outer.iter().product::<usize>() * tiles;
    let results = threads::try_map_heavy(count, work, Vec::new(), scratch, |(copy, scratch), at| {
        if copy.is_empty() {
            *copy = alloc::zeros(width * extent)?;
        }
        let mut tile = view.view();
        let mut cell = vec![0; kept - 1];
        unravel(at / tiles, outer, &mut cell);
        cell.iter().for_each(|&index| tile.index_axis_inplace(Axis(0), index));
        let start = at % tiles * width;
        tile.slice_axis_inplace(Axis(0), Slice::from(start..neighbours.min(start + width)));
        let copied = ArrayViewMut2::from_shape((tile.len_of(Axis(0)), extent), &mut copy[..tile.len()]);
        copy_lanes(tile.view(), copied.expect("the copy is as large as a tile"));
        let lanes = copy.chunks_exact(extent).take(tile.len_of(Axis(0)));
        let first = at / tiles * neighbours + start;
        let finished = |(lane, values)| finish(scratch, values).map_err(|fault| fault.of(first + lane));
        alloc::try_collect(lanes.enumerate().map(finished))
    })?;
    Ok(alloc::concat(results)?)
}

/// Returns a view without its axes of length 1, and how many of the first `kept` axes remain. There may be more such
/// axes than recursive calls fit on the stack.
fn without_ones<T>(mut view: ArrayViewD<'_, T>, mut kept: usize) -> (ArrayViewD<'_, T>, usize) {
    for axis in (0..view.ndim()).rev().filter(|&axis| view.len_of(Axis(axis)) == 1).collect::<Vec<_>>() {
        view = view.index_axis_move(Axis(axis), 0);
        kept -= usize::from(axis < kept);
    }
    (view, kept)
}

/// Merges axes into the last of them, up to the first axis that is not contiguous with it. This gives lanes more
/// neighbours on the last axis if there are many short axes.
fn merge_axes<T>(view: &mut ArrayViewD<'_, T>, axes: Range<usize>) {
    let last = axes.end - 1;
    let _ = (axes.start..last).rev().all(|axis| view.merge_axes(Axis(axis), Axis(last)));
}

/// Returns the number of lanes that are copied together.
fn tile_width<T>(view: &ArrayViewD<'_, T>, kept: usize, extent: usize) -> usize {
    let lane_bytes = (extent * size_of::<T>()).max(1);
    let least = if runs_across(view, kept - 1) { 64 / size_of::<T>() } else { 1 };
    // The copy is at most as large as the array; a broadcast view may have many more lanes than that.
    let most = view.len_of(Axis(kept - 1)).min(dense_bytes(view) / lane_bytes).clamp(1, 128);
    (TILE_BYTES / lane_bytes).clamp(least.min(most), most)
}

/// Returns whether neighbours on `axis` are closer in memory than neighbours on the last axis.
fn runs_across<T>(view: &ArrayViewD<'_, T>, axis: usize) -> bool {
    view.strides()[axis].unsigned_abs() < view.strides()[view.ndim() - 1].unsigned_abs()
}

/// Copies lanes, which the first axis numbers, into the rows of `copy`.
fn copy_lanes<T: Element>(lanes: ArrayViewD<'_, T>, mut copy: ArrayViewMut2<'_, T>) {
    let length = copy.len_of(Axis(1));
    let Ok(pairs) = lanes.view().into_dimensionality::<Ix2>() else {
        let inner = (length / lanes.len_of(Axis(1)).max(1)).max(1);
        let parts = copy.axis_chunks_iter_mut(Axis(1), inner);
        return lanes.axis_iter(Axis(1)).zip(parts).for_each(|(lanes, copy)| copy_lanes(lanes, copy));
    };
    // If neighbours share cache lines, a few elements of each lane are copied at a time.
    let step = if runs_across(&lanes, 0) { 16 } else { length.max(1) };
    let parts = pairs.axis_chunks_iter(Axis(1), step).zip(copy.axis_chunks_iter_mut(Axis(1), step));
    parts.for_each(|(part, mut copy)| copy.assign(&part));
}

/// Returns an array of the shape of `view`, with zeros except for the items that `write_gradients` writes.
/// `write_gradients` is called for each row of the last axis, with the elements of the row, their items, and the
/// location of the row.
pub(super) fn give_back<T: Element, G: Element>(
    view: ArrayViewD<'_, T>,
    reduction: &Reduction,
    write_gradients: impl Fn(&[T], &mut [G], Place) + Sync,
) -> Result<ArrayD<G>> {
    let shape = Shape::from(view.shape());
    check_result::<G>(&shape, dense_bytes(&view))?;
    let mut gradients = alloc::zeros(view.len())?;
    if gradients.is_empty() {
        return Ok(dense_array(&shape, gradients));
    }
    let rows = ArrayRows::new(view, reduction);
    let ends = threads::map_parts(gradients.len(), 1000, 0, |part| part.end / rows.width * rows.width);
    let done = threads::map_slices(&mut gradients, &ends, |part, gradients| {
        rows.write_gradients(if part == 0 { 0 } else { ends[part - 1] }, gradients, &write_gradients)
    });
    done.into_iter().collect::<Allocated<()>>()?;
    Ok(dense_array(&shape, gradients))
}

/// The rows of an array along its last axis, which is not empty, and their location in the reduction.
struct ArrayRows<'a, T> {
    /// The array; its leading axes are merged if they are contiguous.
    view: ArrayViewD<'a, T>,
    /// The lengths of all axes but the last.
    outer: Vec<usize>,
    width: usize,
    /// The step of each axis among the output elements, and within a lane.
    cell_steps: Vec<usize>,
    lane_steps: Vec<usize>,
    is_lane: bool,
}

impl<'a, T: Element> ArrayRows<'a, T> {
    fn new(view: ArrayViewD<'a, T>, reduction: &Reduction) -> Self {
        let shape = Shape::from(view.shape());
        // An array of rank 0 counts as a row of one element.
        let view = if view.ndim() == 0 { view.insert_axis(Axis(0)) } else { view };
        let last = view.ndim() - 1;
        let outer = view.shape()[..last].to_vec();
        let is_lane = reduction.reduced().contains(&last);
        let mut view = view;
        if last > 0 {
            merge_axes(&mut view, 0..last);
        }
        ArrayRows {
            outer,
            is_lane,
            width: view.len_of(Axis(last)),
            cell_steps: steps(&shape, reduction.kept()),
            lane_steps: steps(&shape, reduction.reduced()),
            view,
        }
    }

    /// Calls `write_gradients` for the rows from the element `start` on, while there are items.
    fn write_gradients<G>(
        &self,
        start: usize,
        gradients: &mut [G],
        write_gradients: &impl Fn(&[T], &mut [G], Place),
    ) -> Allocated<()> {
        let first = start / self.width;
        let mut at = vec![0; self.outer.len()];
        unravel(first, &self.outer, &mut at);
        let (view, passed) = self.starting_at(first);
        for (row, items) in view.rows().into_iter().skip(passed).zip(gradients.chunks_mut(self.width)) {
            let (cell, within) = (dot(&at, &self.cell_steps), dot(&at, &self.lane_steps));
            let place = Place { cell, within, is_lane: self.is_lane };
            match row.to_slice() {
                Some(row) => write_gradients(row, items, place),
                None => write_gradients(&alloc::collect(row.iter().copied())?, items, place),
            }
            step(&mut at, &self.outer);
        }
        Ok(())
    }

    /// Returns a part of the view, and the index of the row `first` in this part. An iterator over all rows would visit
    /// each skipped row.
    fn starting_at(&self, first: usize) -> (ArrayViewD<'_, T>, usize) {
        let mut view = self.view.view();
        let lengths = &self.view.shape()[..self.view.ndim() - 1];
        let Some(axis) = lengths.iter().position(|&length| length > 1) else { return (view, first) };
        let inner: usize = lengths[axis + 1..].iter().product();
        view.slice_axis_inplace(Axis(axis), Slice::from(first / inner..));
        (view, first % inner)
    }
}

/// Returns the step of each axis in row-major order of `axes`; 0 for all other axes.
fn steps(shape: &Shape, axes: &[usize]) -> Vec<usize> {
    let mut steps = vec![0; shape.rank()];
    axes.iter().rev().fold(1, |step, &axis| {
        steps[axis] = step;
        step * shape[axis]
    });
    steps
}

fn dot(coords: &[usize], steps: &[usize]) -> usize {
    coords.iter().zip(steps).map(|(coord, step)| coord * step).sum()
}

/// Rejects lanes that are too long to be copied one at a time, as in a broadcast view.
pub(super) fn check_lane<S: Data, D: Dimension>(array: &ArrayBase<S, D>, reduction: &Reduction) -> Result<()> {
    let longest = if array.is_empty() { 0 } else { reduction.extent() };
    let instead = "reduce fewer axes, or reduce before broadcasting the array";
    guard::<S::Elem>("the copy of one group", longest, default_limit(dense_bytes(array)), instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// Returns the number of lanes that are copied together, for an array with its lanes on the axis `reduced`.
    fn width(rows: usize, columns: usize, reduced: usize) -> usize {
        let array = Array2::<f64>::zeros((rows, columns)).into_dyn();
        let extent = array.len_of(Axis(reduced));
        let view = array.view().permuted_axes(vec![1 - reduced, reduced]);
        tile_width(&view, 1, extent)
    }

    #[test]
    fn lanes_are_copied_together_as_many_as_stay_in_the_cache() {
        assert_eq!(width(10_000, 100, 0), 26);
        // Neither more lanes than there are, nor more than 128, are copied.
        assert_eq!(width(10_000, 20, 0), 20);
        assert_eq!(width(1_000, 500, 0), 128);
        // Longer lanes are copied one cache line wide, if neighbours share it.
        assert_eq!(width(TILE_BYTES, 9, 0), 8);
        assert_eq!(width(TILE_BYTES, 3, 0), 3);
        assert_eq!(width(9, TILE_BYTES, 1), 1);
    }

    #[test]
    fn a_broadcast_array_is_not_copied_to_more_than_it_holds() {
        let array = Array2::<f64>::zeros((1, 1_000)).into_dyn();
        let lanes = |count| tile_width(&array.broadcast(vec![count, 1_000]).unwrap(), 1, 1_000);
        assert_eq!((lanes(1), lanes(50)), (1, 1));
        let array = Array2::<f64>::zeros((4, 1_000)).into_dyn();
        assert_eq!(tile_width(&array.broadcast(vec![50, 4, 1_000]).unwrap().permuted_axes(vec![1, 0, 2]), 2, 1_000), 4);
    }

    #[test]
    fn short_axes_are_merged_into_one() {
        let array = Array2::<f64>::zeros((8, 6)).into_shape_with_order(vec![2, 4, 2, 3]).unwrap();
        let mut view = array.view();
        merge_axes(&mut view, 0..2);
        assert_eq!(view.shape(), [1, 8, 2, 3]);
        merge_axes(&mut view, 2..4);
        assert_eq!(view.shape(), [1, 8, 1, 6]);
        // An axis that is not contiguous with the next axis is not merged.
        let mut view = array.view().permuted_axes(vec![1, 0, 2, 3]);
        merge_axes(&mut view, 0..4);
        assert_eq!(view.shape(), [4, 2, 1, 6]);
    }
}
