//! `any` and its surrogate gradient against the reference, on every format, element type and layout.

use crate::generators::{self, Drawn, DrawnGrad, Reduction, batched, endless, huge, reductions};
use crate::reference::dense::{Dense, Sparse, reduced_coords, reduced_shape};
use crate::reference::{gradients, ops, structure};
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{Axes, CooTensor, CsrTensor, Error, Tensor, Triplets, any, grad};
use ndarray::{ArrayD, IxDyn, arr1};
use proptest::prelude::*;

// ---- the dense promise and the structure promise ----

fn coo_equals_the_dense_result<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let expected = ops::any(&x.to_dense(), &normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), &normalised, keep_dims);
        let axes = axes_of(&axes, keep_dims);
        assert_tensor(&coo(&x).any(&axes).unwrap(), &expected, &stored);
        assert_tensor(&any(&coo_as::<T, u64>(&x), &axes).unwrap(), &expected, &stored);
    });
}

fn csr_equals_the_dense_result<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let expected = ops::any(&x.to_dense(), &normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), &normalised, keep_dims);
        let axes = axes_of(&axes, keep_dims);
        assert_tensor(&csr(&x).any(&axes).unwrap(), &expected, &stored);
        assert_tensor(&any(&csr_as::<T, usize>(&x), &axes).unwrap(), &expected, &stored);
    });
}

fn arrays_of_any_layout_equal_the_reference<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let dense = x.to_dense();
        let expected = ops::any(&dense, &normalised, keep_dims);
        for_each_layout(&dense, |_, view| {
            assert_array(&view.any(axes_of(&axes, keep_dims)).unwrap(), &expected);
        });
    });
}

for_all_types!(coo_equals_the_dense_result, csr_equals_the_dense_result, arrays_of_any_layout_equal_the_reference);

#[test]
fn batches_with_different_numbers_of_entries_reduce_lane_by_lane() {
    check((batched::<f64>(), any_bool()), |(x, keep_dims)| {
        let last = [x.shape.len() - 1];
        let expected = ops::any(&x.to_dense(), &last, keep_dims);
        let stored = structure::reduce(&x.coords(), &last, keep_dims);
        let axes = Axes::from(-1).with_keep_dims(keep_dims);
        assert_tensor(&csr(&x).any(axes).unwrap(), &expected, &stored);
    });
}

/// Shapes of more positions than memory, and than any integer, holds are reduced by what they store.
fn shapes_without_a_dense_form_are_reduced_by_what_they_store<T: Both + Drawn>() {
    let inputs = (prop_oneof![huge::<T>(), endless::<T>()], generators::axes_seeds(), any_bool());
    check(inputs, |(x, axes, keep_dims)| {
        let axes = axes.build(x.shape.len());
        let normalised = axes.normalised(x.shape.len());
        let found = coo_as::<T, u64>(&x).any(axes_of(&axes, keep_dims)).unwrap();
        assert_eq!(**found.shape(), *reduced_shape(&x.shape, &normalised, keep_dims));
        assert_eq!(stored_coords(&found), structure::reduce(&x.coords(), &normalised, keep_dims));
        for (cell, value) in found.entries() {
            assert_eq!(value, ops::any_cell(&x, &normalised, keep_dims, &cell), "cell {cell:?}");
        }
    });
}

for_all_types!(shapes_without_a_dense_form_are_reduced_by_what_they_store);

// ---- the gradient promise ----

/// The gradient in every combination of formats: of `x` and of the upstream gradient.
fn gradients_agree_with_the_reference<T: Both + Drawn>() {
    check(reductions::<T, f32>(), |Reduction { x, axes, normalised, keep_dims, upstream }| {
        let dense = gradients::any_backward(&x.shape, &normalised, keep_dims, &upstream.to_dense());
        let expected = x.pattern_of(&dense);
        let axes = axes_of(&axes, keep_dims);
        let tensor = coo(&x);
        let from_coo = grad::any(&tensor, &coo_as::<f32, u64>(&upstream), &axes).unwrap();
        assert_entries(&from_coo, &expected);
        assert!(from_coo.shares_pattern_with(&tensor));
        assert_entries(&grad::any(&tensor, &csr(&upstream), &axes).unwrap(), &expected);
        let array = array(&upstream.to_dense());
        for_each_layout(&upstream.to_dense(), |_, view| {
            assert_entries(&grad::any(&tensor, &view, &axes).unwrap(), &expected);
        });
        for_each_layout(&x.to_dense(), |_, view| {
            assert_array(&grad::any(&view, &coo(&upstream), &axes).unwrap(), &dense);
            assert_array(&grad::any(&view, &array.view(), &axes).unwrap(), &dense);
        });
    });
}

fn csr_gradients_agree_with_the_reference<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, upstream }| {
        let dense = gradients::any_backward(&x.shape, &normalised, keep_dims, &upstream.to_dense());
        let expected = x.pattern_of(&dense);
        let axes = axes_of(&axes, keep_dims);
        let tensor = csr(&x);
        let found = grad::any(&tensor, &coo(&upstream), &axes).unwrap();
        assert_entries(&found, &expected);
        assert!(found.shares_pattern_with(&tensor));
        assert_entries(&grad::any(&tensor, &csr_as::<f64, u64>(&upstream), &axes).unwrap(), &expected);
        for_each_layout(&upstream.to_dense(), |layout, view| {
            let found = grad::any(&tensor, &view, &axes).unwrap();
            assert_entries(&found, &expected);
            assert!(found.shares_pattern_with(&tensor), "{layout}");
        });
    });
}

for_all_types!(gradients_agree_with_the_reference, csr_gradients_agree_with_the_reference);

/// The upstream gradient has a value for some of the cells that the result stores, and one where it stores none.
#[test]
fn gradients_reach_entries_of_shapes_without_a_dense_form() {
    let gradients = proptest::collection::vec(proptest::option::of(f64::gradients()), 1..8);
    check((huge::<i8>(), generators::axes_seeds(), gradients, f64::fills()), |(x, axes, gradients, fill)| {
        let axes = axes.build(x.shape.len());
        let normalised = axes.normalised(x.shape.len());
        let shape = reduced_shape(&x.shape, &normalised, false);
        let cells = x.coords().into_iter().map(|at| reduced_coords(&at, &normalised, false));
        let stored = cells.chain([vec![0; shape.len()]]).zip(gradients.into_iter().cycle());
        let entries = stored.filter_map(|(cell, gradient)| Some((cell, gradient?))).collect();
        let upstream = Sparse::new(&shape, entries, fill);
        let found = grad::any(&coo_as::<i8, u64>(&x), &coo_as::<f64, u64>(&upstream), axes_of(&axes, false)).unwrap();
        assert_eq!(stored_coords(&found), x.coords());
        for (coords, value) in found.entries() {
            let wanted = upstream.get(&reduced_coords(&coords, &normalised, false));
            assert_eq!(value.to_bits(), gradients::without_sign(wanted).to_bits());
        }
    });
}

/// A scalar broadcast to more cells than there is memory for is asked for those that are stored.
#[test]
fn a_vast_broadcast_gradient_is_not_written_out() {
    let coords = vec![vec![3, 1 << 39], vec![1, 0]];
    let x = Triplets::<f64, u64>::from_arrays_with_index([1 << 40, 2], coords, vec![1.0, 0.0]).unwrap();
    let x = x.coalesce(Default::default()).unwrap();
    let one = ndarray::arr0(2.5);
    let upstream = one.broadcast(1usize << 40).unwrap();
    assert_eq!(grad::any(&x, &upstream, -1).unwrap().values(), [2.5, 2.5]);
}

// ---- the cases that other libraries get wrong, by name ----

/// A pattern of ones and stored zeros that is different along every axis.
fn sample(shape: &[usize]) -> Sparse<f64> {
    let positions = Dense::full(shape, 0.0);
    let chosen = positions.coords().into_iter().enumerate().filter(|(at, _)| at % 3 == 0 || at % 7 == 2);
    let value = |at: usize| if at.is_multiple_of(4) { 0.0 } else { at as f64 };
    Sparse::new(shape, chosen.map(|(at, coords)| (coords, value(at))).collect(), 0.0)
}

/// An upstream gradient that is nowhere one, lacks cells and has others than the result.
fn sample_upstream(shape: &[usize]) -> Sparse<f64> {
    let positions = Dense::full(shape, 0.0);
    let chosen = positions.coords().into_iter().enumerate().filter(|(at, _)| at % 5 != 1);
    Sparse::new(shape, chosen.map(|(at, coords)| (coords, 0.25 + at as f64)).collect(), -2.0)
}

#[track_caller]
fn check_case<P: lacuna::Pattern>(tensor: &Tensor<P, f64>, x: &Sparse<f64>, axes: Axes, normalised: &[usize]) {
    for keep_dims in [false, true] {
        let axes = axes.clone().with_keep_dims(keep_dims);
        let expected = ops::any(&x.to_dense(), normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), normalised, keep_dims);
        assert_tensor(&tensor.any(&axes).unwrap(), &expected, &stored);
        let upstream = sample_upstream(&expected.shape);
        let dense = gradients::any_backward(&x.shape, normalised, keep_dims, &upstream.to_dense());
        assert_entries(&grad::any(tensor, &coo(&upstream), &axes).unwrap(), &x.pattern_of(&dense));
    }
}

#[track_caller]
fn check_coo_over_each_axis_and_all(shape: &[usize]) {
    let x = sample(shape);
    let rank = shape.len();
    for axis in 0..rank {
        check_case(&coo(&x), &x, Axes::from(axis as isize), &[axis]);
        check_case(&coo(&x), &x, Axes::from(axis as isize - rank as isize), &[axis]);
    }
    check_case(&coo(&x), &x, Axes::all(), &(0..rank).collect::<Vec<_>>());
}

#[test]
fn coo_of_rank_1_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[13]);
}

#[test]
fn coo_of_rank_2_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[5, 7]);
}

#[test]
fn coo_of_rank_3_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[4, 3, 5]);
}

#[test]
fn coo_of_rank_6_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[2, 3, 2, 4, 1, 3]);
}

#[test]
fn coo_of_rank_9_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[2, 1, 3, 2, 1, 2, 3, 2, 2]);
}

#[test]
fn coo_of_rank_10_over_each_axis_and_all() {
    check_coo_over_each_axis_and_all(&[2, 1, 2, 3, 1, 2, 2, 1, 3, 2]);
}

#[track_caller]
fn check_csr_over_the_last_axis_and_all(shape: &[usize]) {
    let x = sample(shape);
    let last = shape.len() - 1;
    check_case(&csr(&x), &x, Axes::from(-1), &[last]);
    check_case(&csr(&x), &x, Axes::from(last as isize), &[last]);
    check_case(&csr(&x), &x, Axes::all(), &(0..=last).collect::<Vec<_>>());
    check_case(&csr(&x), &x, Axes::none(), &[]);
}

#[test]
fn csr_of_rank_2() {
    check_csr_over_the_last_axis_and_all(&[5, 7]);
}

#[test]
fn csr_of_6_2_3() {
    check_csr_over_the_last_axis_and_all(&[6, 2, 3]);
}

/// Reduced with a stride of columns instead of rows + 1, these four come out wrong while `[6, 2, 3]` is right by
/// accident.
#[test]
fn csr_batches_whose_columns_are_not_rows_plus_1() {
    for shape in [[2, 3, 3], [2, 3, 5], [2, 2, 4], [3, 4, 4]] {
        check_csr_over_the_last_axis_and_all(&shape);
    }
}

/// An upstream gradient of ones hides a backward pass that gives every row the gradient of the last one.
#[test]
fn each_row_gets_the_gradient_of_its_own() {
    let x = CsrTensor::new([3, 2], vec![0, 1, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4], 0.0).unwrap();
    let dx = grad::any(&x, &arr1(&[10.0, 20.0, 30.0]), -1).unwrap();
    assert_eq!(dx.values(), [10.0, 20.0, 20.0, 30.0]);
}

#[test]
fn a_nan_fill_does_not_reach_a_completely_stored_group() {
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 0]], vec![0.0; 3], f64::NAN).unwrap();
    assert_eq!(x.any(1).unwrap().values(), [false, true]);
}

#[test]
fn an_empty_group_is_false_whatever_the_fill() {
    let x = CooTensor::full([2, 0], f64::NAN).unwrap();
    assert_eq!(x.any(1).unwrap().to_dense().unwrap(), arr1(&[false, false]).into_dyn());
    assert!(!x.any(Axes::all()).unwrap().get(&[]).unwrap());
}

#[test]
fn over_no_axes_the_pattern_is_shared() {
    let x = coo(&sample(&[4, 5]));
    assert!(x.any(Axes::none()).unwrap().shares_pattern_with(&x));
    let scalar = CooTensor::new([], vec![], vec![f64::NAN], 0.0).unwrap();
    assert!(scalar.any(Axes::all()).unwrap().get(&[]).unwrap());
}

#[test]
fn broadcast_views_are_reduced_like_any_other() {
    let row = arr1(&[0.0, 2.0, -0.0]);
    let view = row.broadcast((4, 3)).unwrap();
    assert_eq!(view.any(0).unwrap(), arr1(&[false, true, false]).into_dyn());
    assert_eq!(view.any(-1).unwrap(), arr1(&[true; 4]).into_dyn());
}

// ---- both sides of the switch between counting and comparing ----

/// Kept cells below and above two an entry: groups are counted on one side and sorted on the other.
#[test]
fn groups_are_the_same_by_counting_and_by_sorting() {
    for columns in [8, 16, 17, 31, 32, 33, 1000] {
        let mut x = Sparse::new(&[16, columns], Default::default(), 0.0);
        for at in 0..16usize {
            x.entries.insert(vec![at, (at * 7) % columns], if at % 3 == 0 { 0.0 } else { 1.0 });
        }
        check_case(&coo(&x), &x, Axes::from(0), &[0]);
    }
}

/// Cells as many as entries, 32 times as many, and one more each: a gradient for each cell, those stored behind a map
/// of bits, and a merge or a search for each cell of the result.
#[test]
fn gradients_are_the_same_by_table_by_bits_by_merge_and_by_search() {
    for (columns, step) in [(8, 1), (16, 1), (16, 3), (17, 1), (17, 3), (512, 7), (513, 1), (513, 7), (3000, 20)] {
        let mut x = Sparse::new(&[16, columns], Default::default(), 0.0);
        x.entries.extend((0..16).map(|at| (vec![at, at * 5 % columns], 1.0)));
        let cells = (0..columns).step_by(step).map(|cell| (vec![cell], 0.5 + cell as f64));
        let upstream = Sparse::new(&[columns], cells.collect(), -2.0);
        let dense = gradients::any_backward(&x.shape, &[0], false, &upstream.to_dense());
        let expected = x.pattern_of(&dense);
        let array = array(&upstream.to_dense());
        let reversed = array.slice(ndarray::s![..;-1]).as_standard_layout().into_owned();
        assert_entries(&grad::any(&coo(&x), &coo_as::<f64, u64>(&upstream), 0).unwrap(), &expected);
        assert_entries(&grad::any(&coo(&x), &csr(&upstream), 0).unwrap(), &expected);
        assert_entries(&grad::any(&coo(&x), &array, 0).unwrap(), &expected);
        assert_entries(&grad::any(&coo(&x), &reversed.slice(ndarray::s![..;-1]), 0).unwrap(), &expected);
    }
}

/// Over no axes: the pattern of the gradient is that of `x`, has others besides, lacks some, or has many more.
#[test]
fn gradients_of_each_entry_are_merged_or_searched() {
    let every = |step: usize, count: usize| {
        let at = (0..count).map(|entry| (vec![entry * step / 60, entry * step % 60], 1.5 + entry as f64));
        Sparse::new(&[50, 60], at.collect(), -0.25)
    };
    let patterns = [every(1, 3000), every(3, 1000), every(7, 30), every(2, 400), every(1, 0)];
    for x in &patterns {
        for upstream in &patterns {
            let expected = x.pattern_of(&upstream.to_dense());
            assert_entries(&grad::any(&coo(x), &coo(upstream), Axes::none()).unwrap(), &expected);
            assert_entries(&grad::any(&coo(x), &csr_as::<f64, u64>(upstream), Axes::none()).unwrap(), &expected);
            assert_entries(&grad::any(&csr(x), &coo_as::<f64, u64>(upstream), Axes::none()).unwrap(), &expected);
            assert_entries(&grad::any(&csr(x), &csr(upstream), Axes::none()).unwrap(), &expected);
            let array = array(&upstream.to_dense());
            assert_entries(&grad::any(&csr(x), &array, Axes::none()).unwrap(), &expected);
            let turned = array.t().as_standard_layout().into_owned();
            assert_entries(&grad::any(&coo(x), &turned.t(), Axes::none()).unwrap(), &expected);
        }
    }
}

/// Lanes of up to a hundred entries in several blocks, some empty: tested by words of bits, or each up to its first
/// truthy value.
#[test]
fn lanes_of_all_lengths_are_reduced_alike() {
    for (rows, longest) in [(70, 3), (70, 100), (200, 70)] {
        let mut x = Sparse::new(&[2, rows, 128], Default::default(), 0.0);
        for lane in 0..2 * rows {
            for entry in 0..lane * 37 % (longest + 1) {
                let value = if (lane + entry) % 64 == 0 { 1.0 } else { -0.0 };
                x.entries.insert(vec![lane / rows, lane % rows, entry], value);
            }
        }
        check_case(&csr(&x), &x, Axes::from(-1), &[2]);
        check_case(&coo(&x), &x, Axes::from(-1), &[2]);
        check_case(&coo(&x), &x, Axes::from([1, 2]), &[1, 2]);
        check_case(&coo(&x), &x, Axes::from([0, 2]), &[0, 2]);
    }
}

// ---- errors ----

#[test]
fn axes_that_do_not_fit_are_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    assert_eq!(x.any(2).unwrap_err(), Error::AxisOutOfRange { axis: 2, rank: 2 });
    assert_eq!(x.any(-3).unwrap_err(), Error::AxisOutOfRange { axis: -3, rank: 2 });
    assert_eq!(x.any([1, -1]).unwrap_err(), Error::AxisRepeated { axis: 1, rank: 2 });
    let scalar = CooTensor::full([], 0.0).unwrap();
    assert_eq!(scalar.any(0).unwrap_err(), Error::AxisOutOfRange { axis: 0, rank: 0 });
    assert_eq!(scalar.any(-1).unwrap_err(), Error::AxisOutOfRange { axis: -1, rank: 0 });
}

#[test]
fn an_upstream_gradient_of_another_shape_is_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let error = grad::any(&x, &arr1(&[1.0, 2.0, 3.0]), 1).unwrap_err();
    assert_eq!(error.to_string(), "the upstream gradient must have shape [2], found [3]");
    let kept = Axes::from(1).keep_dims();
    assert!(matches!(grad::any(&x, &arr1(&[1.0, 2.0]), kept), Err(Error::ShapeMismatch { .. })));
}

#[test]
fn results_out_of_proportion_are_refused() {
    let x = ArrayD::<f64>::zeros(IxDyn(&[1 << 40, 0]));
    assert!(matches!(x.any(1), Err(Error::TooLarge { bytes: 0x100_0000_0000, .. })));
    let lanes = CsrTensor::full([1 << 32, 0, 5], 0.0).unwrap();
    assert!(matches!(lanes.any(-1), Err(Error::TooLarge { .. })));
}

#[test]
fn axes_come_as_whatever_lists_them() {
    let x = CooTensor::new([2, 3, 2], vec![vec![1], vec![2], vec![0]], vec![1.0], 0.0).unwrap();
    let expected = x.any([0, -1]).unwrap();
    assert_eq!(expected.entries(), [(vec![2], true)]);
    let list = vec![0, -1];
    for axes in [Axes::from(&[0, -1]), Axes::from(&list[..]), Axes::from(&list), Axes::from(list.clone())] {
        assert_eq!(x.any(&axes).unwrap(), expected);
        assert_eq!(x.any(axes).unwrap(), expected);
    }
}

fn any_bool() -> impl Strategy<Value = bool> {
    proptest::bool::ANY
}

/// A broadcast view of 2^40 elements costs its owner eight bytes; a result for each of them was let through.
#[test]
fn a_broadcast_view_counts_the_memory_that_it_repeats() {
    let one = ndarray::arr0(1.0);
    let vast = one.broadcast((1 << 20, 1 << 20)).unwrap();
    assert!(matches!(vast.any(Axes::none()), Err(Error::TooLarge { bytes: 0x100_0000_0000, .. })));
    assert!(matches!(grad::any(&vast, &vast, Axes::none()), Err(Error::TooLarge { .. })));
}

/// A view of 2^62 equal elements was drained after its first truthy one: it never came back.
#[test]
fn what_a_broadcast_axis_repeats_is_asked_once() {
    let one = ndarray::arr0(1.0);
    let vast = one.broadcast((1 << 31, 1 << 31)).unwrap();
    assert_eq!(vast.any(Axes::all()).unwrap(), ndarray::arr0(true).into_dyn());
    let row = arr1(&[0.0, 2.0]);
    let tall = row.broadcast((1 << 40, 2)).unwrap();
    assert_eq!(tall.any(Axes::from(0).keep_dims()).unwrap(), ndarray::arr2(&[[false, true]]).into_dyn());
    // Also with a kept axis: a row of a million elements, a million times.
    let zeros = ndarray::Array1::<u8>::zeros(1 << 20);
    let rows = zeros.broadcast((1 << 20, 1 << 20)).unwrap();
    assert_eq!(rows.any(1).unwrap(), ndarray::Array1::from_elem(1 << 20, false).into_dyn());
    assert_eq!(*rows.any(Axes::from(1).keep_dims()).unwrap().shape(), [1 << 20, 1]);
}

/// Two patterns of rank 0 share all their arrays, having none; and a reshape shares arrays, but is another pattern.
#[test]
fn patterns_are_shared_only_with_the_same_shape_and_entries() {
    let (empty, full) = (CooTensor::full([], 1.0).unwrap(), CooTensor::new([], vec![], vec![2.0], 1.0).unwrap());
    assert!(!empty.shares_pattern_with(&full));
    let lanes = CsrTensor::full([2, 2, 3], 0.0).unwrap();
    assert!(!lanes.shares_pattern_with(&lanes.reshape([4, 3]).unwrap()));
}

/// The map of cells multiplied the lengths that are kept, and overflowed where one of length 0 made nothing of vast
/// ones.
#[test]
fn a_kept_axis_of_length_0_makes_vast_others_harmless() {
    let vast = 1 << 31;
    for shape in
        [[0, vast, vast, vast, 3], [vast, vast, vast, 0, 3], [3, 0, vast, vast, vast], [3, vast, vast, vast, 0]]
    {
        let over = if shape[0] == 3 { 0 } else { 4 };
        for fill in [0.0, 1.0] {
            let x = CooTensor::<f64>::full(shape, fill).unwrap();
            let y = x.any(over).unwrap();
            assert_eq!((y.rank(), y.nnz(), y.fill()), (4, 0, fill == 1.0));
            let dx = grad::any(&x, &y.map_values(|_| 0.5).unwrap(), over).unwrap();
            assert!(dx.shares_pattern_with(&x));
        }
    }
}

/// A group with a true element is true if the element is repeated too.
#[test]
fn truths_that_a_broadcast_view_repeats_do_not_cancel() {
    let twice = arr1(&[1.0, 1.0]);
    assert!(twice.broadcast((3, 2)).unwrap().any(lacuna::Axes::all()).unwrap()[[]]);
    let stored = CooTensor::new([4], vec![vec![1]], vec![2.0], 3.0).unwrap();
    assert_eq!(stored.any(0).unwrap().values(), [true]);
}

/// Rows are read where they lie, go on over the axes that continue them, and are shared out where they are long.
#[test]
fn the_one_true_element_of_an_array_is_found_wherever_it_lies() {
    let shape = [2, 1, 35_000, 3];
    let strides = [105_000, 105_000, 3, 1];
    let places: &[usize] = if ALL { &[0, 1, 104_999, 105_000, 209_999, 70_001] } else { &[0, 105_000, 209_999] };
    for &at in places {
        let mut elements = vec![0.0; 210_000];
        elements[at] = f64::NAN;
        let x = ArrayD::from_shape_vec(&shape[..], elements).unwrap();
        let coords: Vec<usize> = (0..4).map(|axis| at / strides[axis] % shape[axis]).collect();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let view = x.view().permuted_axes(&order[..]);
            let coords: Vec<usize> = order.iter().map(|&axis| coords[axis]).collect();
            for axes in [vec![], vec![0], vec![3], vec![0, 2], vec![1, 3], vec![0, 1, 2], vec![0, 1, 2, 3]] {
                let found = view.any(axes.iter().map(|&axis| axis as isize).collect::<Vec<_>>()).unwrap();
                let cell: Vec<usize> = (0..4).filter(|axis| !axes.contains(axis)).map(|axis| coords[axis]).collect();
                assert_eq!(found.iter().filter(|&&truth| truth).count(), 1, "{at} {order:?} {axes:?}");
                assert!(found[&cell[..]], "{at} {order:?} {axes:?}");
            }
        }
    }
}

#[test]
fn vast_arrays_of_nothing_are_not_walked() {
    let x = ArrayD::<f64>::from_shape_vec(vec![1 << 40, 0], vec![]).unwrap();
    assert_eq!(x.any(0).unwrap().shape(), [0]);
    assert!(!x.any(lacuna::Axes::all()).unwrap()[[]]);
    assert!(matches!(x.any(1), Err(Error::TooLarge { .. })));
    assert_eq!(grad::any(&x, &ArrayD::<f64>::zeros(vec![0]), 0).unwrap().shape(), [1 << 40, 0]);
}

/// Absent elements do not count in a stored view. The view equals the tensor with a falsy fill, and so does its
/// gradient.
fn stored_views_count_entries_alone<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, upstream }| {
        let axes = axes_of(&axes, keep_dims);
        let zero = Sparse::new(&x.shape, x.entries.clone(), T::ZERO);
        let expected = ops::any(&zero.to_dense(), &normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), &normalised, keep_dims);
        assert_tensor(&coo(&x).stored().any(&axes).unwrap(), &expected, &stored);
        assert_tensor(&csr(&x).stored().any(&axes).unwrap(), &expected, &stored);
        let whole = grad::any(&csr(&x), &coo(&upstream), &axes).unwrap();
        assert!(grad::any(&csr(&x).stored(), &coo(&upstream), &axes).unwrap().same_as(&whole));
    });
}

for_all_types!(stored_views_count_entries_alone);

/// A range of axes was listed before its length met the rank: `0..usize::MAX` panicked.
#[test]
fn vast_ranges_of_axes_are_refused() {
    let x = CooTensor::new([2, 3], vec![vec![0], vec![1]], vec![1.0], 0.0).unwrap();
    assert_eq!(x.any(0..2).unwrap(), x.any(Axes::all()).unwrap());
    assert_eq!(x.any(-2..-1).unwrap(), x.any(0).unwrap());
    assert_eq!(x.any(1..1usize).unwrap(), x.any(Axes::none()).unwrap());
    assert_eq!(x.any(0..usize::MAX).unwrap_err(), Error::AxisOutOfRange { axis: 2, rank: 2 });
    assert_eq!(x.any(-1..i32::MAX).unwrap_err(), Error::AxisRepeated { axis: 1, rank: 2 });
    assert_eq!(x.any(isize::MIN..0).unwrap_err(), Error::AxisOutOfRange { axis: isize::MIN, rank: 2 });
    let many = CooTensor::full(vec![1; 100], 0).unwrap();
    assert_eq!(many.any(0..100).unwrap().shape().to_vec(), [0usize; 0]);
}

/// If unstored positions decide, no value is read: a tensor of `true` with many stored `false`.
#[test]
fn gaps_that_are_truthy_settle_their_cells() {
    let (rows, columns): (Vec<u32>, Vec<u32>) = (0..60_000).map(|entry| (entry % 300, entry / 300)).unzip();
    let mut triplets = lacuna::Triplets::new([300, 201]).unwrap().with_fill(true);
    rows.iter()
        .zip(&columns)
        .for_each(|(&row, &column)| triplets.push(&[row as usize, column as usize], false).unwrap());
    let x = triplets.coalesce(lacuna::Duplicates::Error).unwrap();
    for axes in [Axes::from(0), Axes::from(1), Axes::all()] {
        assert_eq!(x.any(&axes).unwrap().to_dense().unwrap(), x.to_dense().unwrap().any(&axes).unwrap());
    }
    assert!(!x.any(0).unwrap().values()[0] && x.any(1).unwrap().values()[0]);
}
