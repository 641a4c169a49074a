//! `take` and `take_axis` and their gradients against the reference, on every format, element type and layout.

use std::collections::BTreeMap;

use crate::generators::{self, Drawn, DrawnGrad, IndicesSeed, SparseSeed};
use crate::reference::dense::{Dense, Sparse, size, unravel};
use crate::reference::ops::{Mode, TakeFault};
use crate::reference::scalar::Scalar;
use crate::reference::{gradients, ops, structure};
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{
    CooTensor, CsrTensor, Element, Error, Pattern, Position, Result, Take, TakeMode, Tensor, grad, take, take_axis,
    take_into,
};
use ndarray::{Array1, ArrayD, Axis, IxDyn, Slice, arr0, arr1, arr2};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::sample::Index;

const MODES: [(TakeMode, Mode); 3] =
    [(TakeMode::Raise, Mode::Raise), (TakeMode::Wrap, Mode::Wrap), (TakeMode::Clip, Mode::Clip)];

/// An index array as the library takes it.
fn index_array(indices: &Dense<i128>) -> ArrayD<i64> {
    array(&indices.map(|index| index as i64))
}

/// Demands the error that the reference calls a fault.
#[track_caller]
fn assert_fault(error: &Error, fault: TakeFault, size: u128, indices: &Dense<i128>) {
    match fault {
        TakeFault::OutOfBounds { entry, index } => {
            assert_eq!(*error, Error::PositionOutOfRange { position: index, size, at: entry });
        }
        TakeFault::Empty => assert_eq!(*error, Error::TakeFromEmpty { count: indices.data.len() }),
        TakeFault::Overflow => assert!(matches!(error, Error::SumOverflow { .. }), "{error}"),
    }
}

/// Returns the results of both libraries for a take. If the reference has a fault, checks the error and returns `None`.
#[track_caller]
fn both<A, B>(
    found: Result<A>,
    expected: std::result::Result<B, TakeFault>,
    size: u128,
    indices: &Dense<i128>,
) -> Option<(A, B)> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => Some((found, expected)),
        (Err(error), Err(fault)) => {
            assert_fault(&error, fault, size, indices);
            None
        }
        (Err(error), Ok(_)) => panic!("refused: {error}"),
        (Ok(_), Err(fault)) => panic!("not refused: {fault:?}"),
    }
}

#[track_caller]
fn assert_taken<P: Pattern, T: Both>(
    found: Result<Tensor<P, T>>,
    expected: std::result::Result<(Dense<T>, structure::Coords, T), TakeFault>,
    size: u128,
    indices: &Dense<i128>,
) {
    if let Some((found, (dense, stored, fill))) = both(found, expected, size, indices) {
        assert_tensor(&found, &dense, &stored);
        assert!(found.fill().bits_equal(fill));
    }
}

// ---- flattened: the dense promise and the structure promise ----

/// A take of flattened positions, with a gradient that fits.
#[derive(Debug, Clone)]
struct Flat<T, G> {
    x: Sparse<T>,
    indices: Dense<i128>,
    upstream: Sparse<G>,
}

/// `seeds` are those of the upstream gradient.
fn flat_takes<T: Drawn, G: Scalar>(seeds: BoxedStrategy<SparseSeed<G>>) -> BoxedStrategy<Flat<T, G>> {
    let indices = prop_oneof![generators::any_indices(), generators::inside_indices()];
    let build = |(x, indices, upstream): (Sparse<T>, IndicesSeed, SparseSeed<G>)| {
        let indices = indices.build(size(&x.shape));
        let upstream = upstream.build(&indices.shape);
        Flat { x, indices, upstream }
    };
    (generators::sparse::<T>(), indices, seeds).prop_map(build).boxed()
}

fn sparse_equals_the_dense_result<T: Both + Drawn>() {
    check(flat_takes::<T, f64>(generators::upstream_seeds()), |Flat { x, indices, .. }| {
        let (dense, items, n) = (x.to_dense(), index_array(&indices), size(&x.shape) as u128);
        for (mode, reference) in MODES {
            let stored = structure::take(&x.coords(), &x.shape, &indices, reference);
            let expected =
                ops::take(&dense, &indices, reference).and_then(|dense| stored.map(|stored| (dense, stored, x.fill)));
            assert_taken(coo(&x).take(Take::at(&items).mode(mode)), expected.clone(), n, &indices);
            assert_taken(take(&csr_as::<T, u64>(&x), Take::at(&items).mode(mode)), expected, n, &indices);
        }
    });
}

fn arrays_and_indices_of_any_layout_equal_the_reference<T: Both + Drawn>() {
    let inputs = (flat_takes::<T, f64>(generators::upstream_seeds()), some_of(&MODES));
    check(inputs, |(Flat { x, indices, .. }, modes)| {
        let (dense, items, n) = (x.to_dense(), indices.map(|index| index as i64), size(&x.shape) as u128);
        for (mode, reference) in modes {
            let expected = ops::take(&dense, &indices, reference);
            for_each_layout(&items, |_, items| {
                for_each_layout(&dense, |_, view| {
                    if let Some((found, expected)) =
                        both(view.take(Take::at(&items).mode(mode)), expected.clone(), n, &indices)
                    {
                        assert_array(&found, &expected);
                    }
                });
                let found = coo(&x).take(Take::at(&items).mode(mode)).map(|found| found.to_dense().unwrap());
                if let Some((found, expected)) = both(found, expected.clone(), n, &indices) {
                    assert_array(&found, &expected);
                }
            });
        }
    });
}

/// An array that is there already gets what a new one would have, or the same error.
fn buffers_are_filled_with_the_same_elements<T: Both + Drawn>() {
    let inputs = (flat_takes::<T, f64>(generators::upstream_seeds()), some_of(&MODES));
    check(inputs, |(Flat { x, indices, .. }, modes)| {
        let (dense, items, n) = (x.to_dense(), index_array(&indices), size(&x.shape) as u128);
        for (mode, reference) in modes {
            let expected = ops::take(&dense, &indices, reference);
            for_each_layout(&dense, |_, view| {
                for_each_out(&indices.shape, |out| {
                    let found = take_into(&view, Take::at(&items).mode(mode), out);
                    if let Some(((), expected)) = both(found, expected.clone(), n, &indices) {
                        assert_array(&out.to_owned(), &expected);
                    }
                });
            });
        }
    });
}

for_all_types!(
    sparse_equals_the_dense_result,
    arrays_and_indices_of_any_layout_equal_the_reference,
    buffers_are_filled_with_the_same_elements
);

// ---- flattened: the gradient promise ----

#[test]
fn gradients_agree_with_the_reference() {
    check(flat_takes::<bool, f32>(generators::upstream_seeds()), |Flat { x, indices, upstream }| {
        let (items, n) = (index_array(&indices), size(&x.shape) as u128);
        let (from_coo, from_csr) = (coo_as::<f32, u64>(&upstream), csr(&upstream));
        let from_array = array(&upstream.to_dense());
        for (mode, reference) in MODES {
            let expected = gradients::take_backward::<f32>(&x.shape, &indices, reference, &upstream.to_dense());
            let found = grad::take(&coo(&x), &from_coo, Take::at(&items).mode(mode));
            let Some((found, dense)) = both(found, expected, n, &indices) else { continue };
            let sparse = x.pattern_of(&dense);
            assert_entries(&found, &sparse);
            assert_entries(&grad::take(&coo(&x), &from_csr, Take::at(&items).mode(mode)).unwrap(), &sparse);
            assert_entries(&grad::take(&coo(&x), &from_array, Take::at(&items).mode(mode)).unwrap(), &sparse);
            let tensor = csr_as::<bool, usize>(&x);
            let found = grad::take(&tensor, &from_coo, Take::at(&items).mode(mode)).unwrap();
            assert!(found.shares_pattern_with(&tensor));
            assert_entries(&found, &sparse);
            assert_entries(&grad::take(&tensor, &from_array.view(), Take::at(&items).mode(mode)).unwrap(), &sparse);
            let plain = array(&x.to_dense());
            for_each_layout(&upstream.to_dense(), |_, upstream| {
                assert_array(&grad::take(&plain, &upstream, Take::at(&items).mode(mode)).unwrap(), &dense);
            });
            assert_array(&grad::take(&plain.t().t(), &from_coo, Take::at(&items).mode(mode)).unwrap(), &dense);
            assert_array(&grad::take(&plain, &from_csr, Take::at(&items).mode(mode)).unwrap(), &dense);
        }
    });
}

/// Gradients of every type, integers that overflow among them, on dense arrays and on sparse ones that store all.
fn gradients_of_every_type_agree_with_the_reference<G: Both + Drawn>() {
    check(flat_takes::<i8, G>(generators::seeds()), |Flat { x, indices, upstream }| {
        let (items, n) = (index_array(&indices), size(&x.shape) as u128);
        for (mode, reference) in MODES {
            let expected = gradients::take_backward::<G>(&x.shape, &indices, reference, &upstream.to_dense());
            let found = grad::take(&array(&x.to_dense()), &coo(&upstream), Take::at(&items).mode(mode));
            if let Some((found, dense)) = both(found, expected.clone(), n, &indices) {
                assert_array(&found, &dense);
                assert_entries(
                    &grad::take(&coo(&x), &coo(&upstream), Take::at(&items).mode(mode)).unwrap(),
                    &x.pattern_of(&dense),
                );
            } else if x.entries.len() == size(&x.shape) {
                let fault = expected.unwrap_err();
                let error = grad::take(&csr(&x), &csr(&upstream), Take::at(&items).mode(mode)).unwrap_err();
                assert_fault(&error, fault, n, &indices);
            }
        }
    });
}

for_all_types!(gradients_of_every_type_agree_with_the_reference);

// ---- along an axis ----

/// A take along an axis, with a gradient that fits.
#[derive(Debug, Clone)]
struct Along<T, G> {
    x: Sparse<T>,
    indices: Dense<i128>,
    axis: usize,
    /// The axis as the caller spells it.
    spelt: isize,
    upstream: Sparse<G>,
}

/// Takes along any axis.
fn axis_takes<T: Drawn, G: DrawnGrad>() -> BoxedStrategy<Along<T, G>> {
    let shapes = prop_oneof![3 => generators::shapes_of_rank(1, 5), 2 => generators::shapes_of_rank(2, 2)];
    let indices = prop_oneof![generators::any_indices(), generators::inside_indices()];
    let parts = (shapes, generators::seeds::<T>(), any::<Index>(), any_bool(), indices, generators::upstream_seeds());
    let build = move |(shape, x, axis, negative, mut indices, upstream): (
        Vec<usize>,
        SparseSeed<T>,
        Index,
        bool,
        IndicesSeed,
        SparseSeed<G>,
    )| {
        let rank = shape.len();
        let axis = axis.index(rank);
        indices.shape.truncate(2);
        let indices = indices.build(shape[axis]);
        let upstream = upstream.build(&ops::take_axis_shape(&shape, &indices.shape, axis));
        let spelt = if negative { axis as isize - rank as isize } else { axis as isize };
        Along { x: x.build(&shape), indices, axis, spelt, upstream }
    };
    parts.prop_map(build).boxed()
}

type Expected<T> = std::result::Result<(Dense<T>, structure::Coords, T), TakeFault>;

fn expected_along<T: Scalar>(x: &Sparse<T>, indices: &Dense<i128>, axis: usize, mode: Mode) -> Expected<T> {
    let stored = structure::take_axis(&x.coords(), &x.shape, indices, axis, mode)?;
    Ok((ops::take_axis(&x.to_dense(), indices, axis, mode)?, stored, x.fill))
}

fn coo_along_an_axis_equals_the_dense_result<T: Both + Drawn>() {
    check(axis_takes::<T, f64>(), |Along { x, indices, axis, spelt, .. }| {
        let (items, n) = (index_array(&indices), x.shape[axis] as u128);
        for (mode, reference) in MODES {
            let expected = expected_along(&x, &indices, axis, reference);
            assert_taken(coo(&x).take_axis(Take::at(&items).mode(mode), spelt), expected, n, &indices);
        }
    });
}

fn csr_along_an_axis_equals_the_dense_result<T: Both + Drawn>() {
    check(axis_takes::<T, f64>(), |Along { x, indices, axis, spelt, .. }| {
        let (items, n) = (index_array(&indices), x.shape[axis] as u128);
        for (mode, reference) in MODES {
            let expected = expected_along(&x, &indices, axis, reference);
            assert_taken(take_axis(&csr_as::<T, u64>(&x), Take::at(&items).mode(mode), spelt), expected, n, &indices);
        }
    });
}

fn arrays_along_an_axis_equal_the_reference<T: Both + Drawn>() {
    check(axis_takes::<T, f64>(), |Along { x, indices, axis, spelt, .. }| {
        let (dense, items, n) = (x.to_dense(), index_array(&indices), x.shape[axis] as u128);
        for (mode, reference) in MODES {
            let expected = ops::take_axis(&dense, &indices, axis, reference);
            for_each_layout(&dense, |_, view| {
                if let Some((found, expected)) =
                    both(view.take_axis(Take::at(&items).mode(mode), spelt), expected.clone(), n, &indices)
                {
                    assert_array(&found, &expected);
                }
            });
        }
    });
}

#[test]
fn gradients_along_an_axis_agree_with_the_reference() {
    check(axis_takes::<i8, f64>(), |Along { x, indices, axis, spelt, upstream }| {
        let (items, n) = (index_array(&indices), x.shape[axis] as u128);
        let from_array = array(&upstream.to_dense());
        for (mode, reference) in MODES {
            let expected =
                gradients::take_axis_backward::<f64>(&x.shape, &indices, axis, reference, &upstream.to_dense());
            let tensor = coo(&x);
            let found = grad::take_axis(&tensor, &coo_as::<f64, u64>(&upstream), Take::at(&items).mode(mode), spelt);
            let Some((found, dense)) = both(found, expected, n, &indices) else { continue };
            let sparse = x.pattern_of(&dense);
            assert!(found.shares_pattern_with(&tensor));
            assert_entries(&found, &sparse);
            assert_entries(
                &grad::take_axis(&tensor, &from_array, Take::at(&items).mode(mode), spelt).unwrap(),
                &sparse,
            );
            assert_array(
                &grad::take_axis(&array(&x.to_dense()), &from_array, Take::at(&items).mode(mode), spelt).unwrap(),
                &dense,
            );
            for_each_layout(&x.to_dense(), |_, view| {
                assert_array(
                    &grad::take_axis(&view, &csr(&upstream), Take::at(&items).mode(mode), spelt).unwrap(),
                    &dense,
                );
            });
            let found = grad::take_axis(&csr(&x), &csr(&upstream), Take::at(&items).mode(mode), spelt).unwrap();
            assert_entries(&found, &sparse);
        }
    });
}

for_all_types!(
    coo_along_an_axis_equals_the_dense_result,
    csr_along_an_axis_equals_the_dense_result,
    arrays_along_an_axis_equal_the_reference
);

#[test]
fn batches_with_different_numbers_of_entries_are_taken_from_lane_by_lane() {
    check((generators::batched::<f64>(), generators::inside_indices()), |(x, mut indices)| {
        let last = x.shape.len() - 1;
        indices.shape.truncate(2);
        let indices = indices.build(x.shape[last]);
        let expected = expected_along(&x, &indices, last, Mode::Raise);
        let found = csr(&x).take_axis(index_array(&indices), -1);
        assert_taken(found, expected, x.shape[last] as u128, &indices);
    });
}

// ---- shapes without a dense form ----

fn huge_shapes_are_taken_from_by_what_they_store<T: Both + Drawn>() {
    check(generators::huge_takes::<T>(), |(x, indices)| {
        for (mode, reference) in MODES {
            let expected = ops::take_sparse(&x, &indices, reference).unwrap();
            let stored = structure::take(&x.coords(), &x.shape, &indices, reference).unwrap();
            let found = coo_as::<T, u64>(&x).take(Take::at(index_array(&indices)).mode(mode)).unwrap();
            assert_tensor(&found, &expected, &stored);
        }
    });
}

for_all_types!(huge_shapes_are_taken_from_by_what_they_store);

/// The picks are coordinates that are stored on the axis, and their neighbours.
#[test]
fn huge_axes_are_taken_along_by_what_they_store() {
    let takes = prop_oneof![generators::huge::<f64>(), generators::huger::<f64>(), generators::endless::<f64>()];
    let picks = proptest::collection::vec((any::<Index>(), -1..=1_i64), 0..8);
    check((takes, any::<Index>(), picks), |(x, axis, picks)| {
        let axis = axis.index(x.shape.len());
        let places: Vec<i128> = x.entries.keys().map(|at| at[axis] as i128).chain([1]).collect();
        let last = x.shape[axis] as i128 - 1;
        let items = picks.iter().map(|(pick, step)| (pick.get(&places) + i128::from(*step)).clamp(0, last));
        let indices = Dense::new(&[picks.len()], items.collect());
        let items: Vec<u64> = indices.data.iter().map(|&item| item as u64).collect();
        let found = coo_as::<f64, u64>(&x).take_axis(&items, axis as isize).unwrap();
        let stored = structure::take_axis(&x.coords(), &x.shape, &indices, axis, Mode::Raise).unwrap();
        assert_eq!(stored_coords(&found), stored);
        let positions = ops::resolve_indices(&indices, x.shape[axis] as u128, Mode::Raise).unwrap();
        for (cell, value) in found.entries() {
            let source = ops::take_axis_source(&cell, &indices.shape, &positions, axis);
            assert!(value.bits_equal(x.get(&source)));
        }
    });
}

/// Positions from both ends of a shape that has more of them than any integer counts.
#[test]
fn endless_shapes_are_taken_from_at_both_ends() {
    let shapes = prop_oneof![Just(generators::ENDLESS_SHAPE), Just([usize::MAX; 32]), Just([(1 << 32) - 5; 32])];
    check((shapes, proptest::collection::vec(0..i64::MAX, 1..8)), |(shape, positions)| {
        let mut entries = BTreeMap::new();
        for &position in &positions {
            let coords = unravel(position as u128, &shape);
            let mirrored = coords.iter().zip(&shape).map(|(coord, length)| length - 1 - coord).collect();
            entries.insert(coords, position as f64);
            entries.insert(mirrored, -(position as f64));
        }
        let x = coo_as::<f64, u64>(&Sparse::new(&shape, entries, 0.5));
        let from_end: Vec<i64> = positions.iter().map(|position| -1 - position).collect();
        for mode in [TakeMode::Raise, TakeMode::Wrap] {
            let values: Vec<f64> = positions.iter().map(|&position| position as f64).collect();
            assert_eq!(x.take(Take::at(&positions).mode(mode)).unwrap().values(), values);
            let values: Vec<f64> = values.iter().map(|value| -value).collect();
            assert_eq!(x.take(Take::at(&from_end).mode(mode)).unwrap().values(), values);
        }
        let first = x.get(&[0; 32]).unwrap();
        assert_eq!(
            x.take(Take::at(&from_end).clip()).unwrap().to_dense().unwrap(),
            ArrayD::from_elem(IxDyn(&[from_end.len()]), first)
        );
        assert_eq!(x.take(Take::at(u64::MAX).clip()).unwrap().nnz(), 0);
    });
}

// ---- the cases that other libraries get wrong, by name ----

/// Three modes on positions inside, from the end, and outside on both sides, of a tensor of six elements.
fn three_modes_of<T: Both + Element>() {
    let element = |number: i128| T::from_number(lacuna::Number::Integer(number)).unwrap();
    let elements: Vec<T> = (1..=6).map(element).collect();
    let dense = ArrayD::from_shape_vec(IxDyn(&[2, 3]), elements.clone()).unwrap();
    let tensor = CooTensor::from_dense(&dense, element(4)).unwrap();
    assert_eq!(tensor.nnz(), 5);
    let cases: [(TakeMode, &[i64], &[usize]); 3] = [
        (TakeMode::Raise, &[0, 5, -1, -6, 3, 3], &[0, 5, 5, 0, 3, 3]),
        (TakeMode::Wrap, &[6, 7, -1, -7, 600, -601, 2], &[0, 1, 5, 5, 0, 5, 2]),
        (TakeMode::Clip, &[6, 7, -1, -7, 600, -601, 2], &[5, 5, 0, 0, 5, 0, 2]),
    ];
    for (mode, indices, positions) in cases {
        let expected: ArrayD<T> = positions.iter().map(|&at| elements[at]).collect::<ndarray::Array1<_>>().into_dyn();
        assert_eq!(tensor.take(Take::at(indices).mode(mode)).unwrap().to_dense().unwrap(), expected);
        assert_eq!(tensor.to_csr().unwrap().take(Take::at(indices).mode(mode)).unwrap().to_dense().unwrap(), expected);
        assert_eq!(dense.take(Take::at(indices).mode(mode)).unwrap(), expected);
        assert_eq!(dense.t().take_axis(Take::at(indices).wrap(), 1).unwrap().shape(), [3, indices.len()]);
    }
}

#[test]
fn three_modes_of_i32() {
    three_modes_of::<i32>();
}

#[test]
fn three_modes_of_i64() {
    three_modes_of::<i64>();
}

#[test]
fn three_modes_of_f32() {
    three_modes_of::<f32>();
}

#[test]
fn three_modes_of_f64() {
    three_modes_of::<f64>();
}

/// Raise must accept `-n..n` and nothing else: one below, one above, and what an implementation that accepts
/// `-2n..n` lets through.
#[test]
fn raise_refuses_what_is_outside() {
    let dense = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let tensor = CooTensor::from_dense(&dense, 0.0).unwrap();
    let lanes = tensor.to_csr().unwrap();
    for outside in [-7i64, 6, -12, i64::MIN, i64::MAX] {
        let refused = Error::PositionOutOfRange { position: outside.into(), size: 6, at: 1 };
        let indices = [-6, outside, 5, 1_000];
        assert_eq!(tensor.take(indices).unwrap_err(), refused);
        assert_eq!(lanes.take(indices).unwrap_err(), refused);
        assert_eq!(dense.take(indices).unwrap_err(), refused);
        assert_eq!(grad::take(&tensor, &arr1(&[1.0; 4]), indices).unwrap_err(), refused);
        assert_eq!(grad::take(&dense, &arr1(&[1.0; 4]), indices).unwrap_err(), refused);
    }
    for outside in [-4i64, 3, -6] {
        let refused = Error::PositionOutOfRange { position: outside.into(), size: 3, at: 0 };
        assert_eq!(tensor.take_axis(outside, -1).unwrap_err(), refused);
        assert_eq!(lanes.take_axis(outside, -1).unwrap_err(), refused);
        assert_eq!(dense.take_axis(outside, -1).unwrap_err(), refused);
    }
    assert_eq!(tensor.take([-6, 5]).unwrap().values(), [1.0, 6.0]);
}

/// Every index type in every mode, at its own ends.
fn index_type<J: Position + num_traits::Bounded>() {
    let dense = ArrayD::from_shape_fn(IxDyn(&[3, 5]), |at| (at[0] * 5 + at[1]) as i64);
    let tensor = CooTensor::from_dense(&dense, 7).unwrap();
    let ends = [J::min_value(), J::max_value()];
    let wide = Dense::new(&[2], ends.iter().map(|end| end.to_i128()).collect());
    for (mode, reference) in MODES {
        let expected = ops::take(&dense_of(&dense.view()), &wide, reference);
        if let Some((found, expected)) = both(dense.take(Take::at(ends).mode(mode)), expected.clone(), 15, &wide) {
            assert_array(&found, &expected);
        }
        if let Some((found, expected)) = both(tensor.take(Take::at(ends.as_slice()).mode(mode)), expected, 15, &wide) {
            assert_array(&found.to_dense().unwrap(), &expected);
        }
    }
}

#[test]
fn every_index_type_at_its_ends() {
    index_type::<i8>();
    index_type::<i16>();
    index_type::<i32>();
    index_type::<i64>();
    index_type::<isize>();
    index_type::<u8>();
    index_type::<u16>();
    index_type::<u32>();
    index_type::<u64>();
    index_type::<usize>();
}

#[test]
fn every_index_type_inside() {
    let x = CooTensor::new([4], vec![vec![1, 3]], vec![10, 30], 0).unwrap();
    let expected = arr1(&[30, 0, 10]).into_dyn();
    macro_rules! check_types {
        ($($type:ty),*) => {$(
            let indices: [$type; 3] = [3, 0, 1];
            assert_eq!(x.take(indices).unwrap().to_dense().unwrap(), expected);
        )*};
    }
    check_types!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
    assert_eq!(x.take([-1i8, -4]).unwrap().to_dense().unwrap(), arr1(&[30, 0]).into_dyn());
}

/// Integer literals infer, and every container of them is taken.
#[test]
fn indices_come_in_every_container() {
    let x = CooTensor::new([4], vec![vec![1, 3]], vec![10, 30], 0).unwrap();
    let expected = [30, 10];
    let (listed, vector): (&[i32; 2], &Vec<i32>) = (&[-1, 1], &vec![-1, 1]);
    assert_eq!(*x.take(-1).unwrap().shape(), []);
    assert_eq!(x.take([-1, 1]).unwrap().values(), expected);
    assert_eq!(x.take(listed).unwrap().values(), expected);
    assert_eq!(x.take(&[-1, 1][..]).unwrap().values(), expected);
    assert_eq!(x.take(vec![-1, 1]).unwrap().values(), expected);
    assert_eq!(x.take(vector).unwrap().values(), expected);
    assert_eq!(x.take(arr1(&[-1, 1])).unwrap().values(), expected);
    let backwards = arr1(&[1, 0, -1]);
    let backwards = backwards.slice_axis(Axis(0), Slice::new(0, None, -2));
    assert_eq!(x.take(&backwards).unwrap().values(), expected);
    let indices = Take::from([-1, 1]);
    assert_eq!(x.take(&indices).unwrap(), x.take(indices.clone()).unwrap());
    assert_eq!((indices.len(), indices.is_empty()), (2, false));
    assert!(Take::<i32>::from([]).is_empty());
}

#[test]
fn the_result_has_the_shape_of_the_indices_whatever_their_rank() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![5, 6], 0).unwrap();
    for rank in 0..=10 {
        let indices = ArrayD::from_elem(IxDyn(&vec![1; rank]), 2);
        let taken = x.take(&indices).unwrap();
        assert_eq!(**taken.shape(), *vec![1; rank]);
        assert_eq!(taken.entries(), [(vec![0; rank], 6)]);
        assert_eq!(x.to_csr().unwrap().take(&indices).unwrap().to_coo().unwrap(), taken);
    }
}

#[test]
fn of_rank_0_there_is_one_position() {
    let stored = CooTensor::new([], vec![], vec![5], 0).unwrap();
    let fill = CooTensor::full([], 7).unwrap();
    assert_eq!(stored.take([0, -1]).unwrap().values(), [5, 5]);
    assert_eq!(stored.to_csr().unwrap().take(Take::at([9, -9]).wrap()).unwrap().values(), [5, 5]);
    assert_eq!(stored.take(Take::at([9, -9]).clip()).unwrap().values(), [5, 5]);
    assert_eq!(fill.take([0]).unwrap().to_dense().unwrap(), arr1(&[7]).into_dyn());
    assert_eq!(arr0(5).take([0, -1]).unwrap(), arr1(&[5, 5]).into_dyn());
    let refused = Error::PositionOutOfRange { position: 1, size: 1, at: 0 };
    assert_eq!(stored.take(1).unwrap_err(), refused);
    assert_eq!(stored.take_axis(0, 0).unwrap_err(), Error::AxisOutOfRange { axis: 0, rank: 0 });
    assert_eq!(arr0(5).take_axis(0, -1).unwrap_err(), Error::AxisOutOfRange { axis: -1, rank: 0 });
}

// ---- nothing ----

#[test]
fn something_of_nothing_is_refused_in_every_mode() {
    for (mode, _) in MODES {
        let refused = Error::TakeFromEmpty { count: 2 };
        let x = CooTensor::full([3, 0], 1.5).unwrap();
        assert_eq!(x.take(Take::at([0, 0]).mode(mode)).unwrap_err(), refused);
        assert_eq!(x.to_csr().unwrap().take(Take::at([0, 0]).mode(mode)).unwrap_err(), refused);
        assert_eq!(x.to_dense().unwrap().take(Take::at([0, 0]).mode(mode)).unwrap_err(), refused);
        assert_eq!(x.take_axis(Take::at([0, 0]).mode(mode), 1).unwrap_err(), refused);
        assert_eq!(x.to_csr().unwrap().take_axis(Take::at([0, 0]).mode(mode), 1).unwrap_err(), refused);
        assert_eq!(x.to_dense().unwrap().take_axis(Take::at([0, 0]).mode(mode), 1).unwrap_err(), refused);
        assert_eq!(grad::take(&x, &arr1(&[1.0; 2]), Take::at([0, 0]).mode(mode)).unwrap_err(), refused);
    }
}

#[test]
fn nothing_of_anything_is_nothing() {
    let none: [i32; 0] = [];
    for (mode, _) in MODES {
        for shape in [vec![], vec![0], vec![3, 0], vec![2, 2]] {
            let x = CooTensor::full(shape, 1.5).unwrap();
            assert_eq!(*x.take(Take::at(none).mode(mode)).unwrap().shape(), [0]);
            assert_eq!(x.to_dense().unwrap().take(Take::at(none).mode(mode)).unwrap().shape(), [0]);
            assert_eq!(*x.to_csr().unwrap().take(Take::at(none).mode(mode)).unwrap().shape(), [0]);
            let dx = grad::take(&x, &arr1::<f32>(&[]), Take::at(none).mode(mode)).unwrap();
            assert_eq!(dx.shape(), x.shape());
        }
    }
}

/// As numpy has it: `np.take(np.zeros((0, 3)), [0], axis=1)` has the shape (0, 1).
#[test]
fn an_axis_of_an_empty_tensor_is_taken_along() {
    let x = CooTensor::full([0, 3], 1.5).unwrap();
    assert_eq!(*x.take_axis([0], 1).unwrap().shape(), [0, 1]);
    assert_eq!(*x.to_csr().unwrap().take_axis([0], 1).unwrap().shape(), [0, 1]);
    assert_eq!(x.to_dense().unwrap().take_axis([0], 1).unwrap().shape(), [0, 1]);
    assert_eq!(*x.take_axis([0i32; 0], 0).unwrap().shape(), [0, 3]);
}

// ---- values and gradients, bit for bit ----

#[test]
fn payloads_and_signs_are_kept() {
    let nan = f64::from_bits(0x7ff8_0000_dead_beef);
    let x = CooTensor::new([3], vec![vec![0, 1]], vec![nan, -0.0], 0.0).unwrap();
    let taken = x.take([1, 0, 2, 0]).unwrap();
    let bits: Vec<u64> = taken.values().iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, [(-0.0f64).to_bits(), nan.to_bits(), nan.to_bits()]);
    assert_eq!(taken.nnz(), 3);
}

/// A lone contribution is stored, not added; a zero of it has no sign.
#[test]
fn gradients_of_zero_have_no_sign_taken_or_not() {
    let x = CooTensor::new([3], vec![vec![0, 1, 2]], vec![1.0; 3], 0.0).unwrap();
    let bits = |dx: &[f64]| dx.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let expected = bits(&[0.0; 3]);
    let upstream = arr1(&[-0.0, -0.0, -0.0]);
    assert_eq!(bits(grad::take(&x, &upstream, [0, 2, 2]).unwrap().values()), expected);
    let dense = grad::take(&x.to_dense().unwrap(), &upstream, [0, 2, 2]).unwrap();
    assert_eq!(bits(dense.as_slice().unwrap()), expected);
}

/// From left to right in the order of the index array: any other order gives another sum.
#[test]
fn sums_run_from_left_to_right() {
    let x = CooTensor::new([2], vec![vec![1]], vec![0.0f32], 0.0).unwrap();
    let upstream = arr1(&[1e30f32, 5.0, -1e30, 1.0]);
    assert_eq!(grad::take(&x, &upstream, [1, 1, 1, 1]).unwrap().values(), [1.0]);
    let dense = grad::take(&arr1(&[0.0f32; 2]), &upstream, [1, 1, 1, 1]).unwrap();
    assert_eq!(dense, arr1(&[0.0, 1.0]).into_dyn());
}

#[test]
fn a_sum_of_integers_that_does_not_fit_is_refused() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![1, 1], 0).unwrap();
    let upstream = arr1(&[100i8, 100, -100]);
    let refused = |coords: &[usize]| Error::SumOverflow { coords: coords.to_vec(), dtype: "int8" };
    assert_eq!(grad::take(&x, &upstream, [2, 2, 2]).unwrap_err(), refused(&[1, 0]));
    assert_eq!(grad::take(&x.to_csr().unwrap(), &upstream, [2, 2, 2]).unwrap_err(), refused(&[1, 0]));
    let dense = x.to_dense().unwrap();
    assert_eq!(grad::take(&dense, &upstream, [3, 3, 0]).unwrap_err(), refused(&[1, 1]));
    let rows = arr2(&[[100i8, 100], [100, 100]]);
    assert_eq!(grad::take_axis(&dense, &rows, [1, 1], 0).unwrap_err(), refused(&[1, 0]));
    assert_eq!(grad::take_axis(&x, &rows, [0, 0], 0).unwrap_err(), refused(&[0, 1]));
    // Nothing is summed at a position that is not stored.
    assert_eq!(grad::take(&x, &upstream, [3, 3, 0]).unwrap().values(), [0, 0]);
    let flags = arr1(&[true, true, false]);
    assert_eq!(grad::take(&x, &flags, [2, 2, 1]).unwrap().values(), [false, true]);
}

#[test]
fn complex_gradients_are_summed_by_parts() {
    let x = CooTensor::new([2], vec![vec![0]], vec![1.0], 0.0).unwrap();
    let upstream = arr1(&[Complex::new(1.0f64, -0.0), Complex::new(0.5, -0.0)]);
    let dx = grad::take(&x, &upstream, [0, 0]).unwrap();
    assert_eq!(dx.values(), [Complex::new(1.5, -0.0)]);
    assert!(dx.values()[0].im.is_sign_negative());
}

// ---- both sides of each switch of algorithm ----

/// Numbers that look random, and repeat from run to run.
fn scattered(count: usize, below: u64) -> Vec<u64> {
    let step = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some((*state >> 33) % below)
    };
    std::iter::successors(Some(7), |state: &u64| Some(*state)).scan(7, |state, _| step(state)).take(count).collect()
}

/// From 2^14 items and 2^17 entries on the items are searched in the order of their positions, from 2^16 on in chunks.
#[test]
fn many_items_are_found_among_many_entries() {
    let shape = [40, 100, 100];
    let n = size(&shape);
    for entries in [(1 << 17) - 1, 1 << 17] {
        let stored = (0..n).filter(|at| at % 3 > 0).take(entries);
        let stored = stored.map(|at| (unravel(at as u128, &shape), at as f64));
        let x = Sparse::new(&shape, stored.collect(), -1.0);
        let (dense, coo, csr) = (x.to_dense(), coo(&x), csr(&x));
        for items in [(1 << 14) - 1, 1 << 14, 70_000] {
            let indices = Dense::new(&[items], scattered(items, n as u64).into_iter().map(i128::from).collect());
            let expected = ops::take(&dense, &indices, Mode::Raise).unwrap();
            let found = coo.take(index_array(&indices)).unwrap();
            assert_array(&found.to_dense().unwrap(), &expected);
            assert_eq!(found.nnz(), expected.data.iter().filter(|&&value| value >= 0.0).count());
            let found = csr.take(index_array(&indices)).unwrap();
            assert_array(&found.to_dense().unwrap(), &expected);
            let found = array(&dense).t().take(Take::at(index_array(&indices)).wrap()).unwrap();
            let turned = dense_of(&array(&dense).t().as_standard_layout().view());
            assert_array(&found, &ops::take(&turned, &indices, Mode::Wrap).unwrap());
        }
    }
}

/// Few items search a run; more of them are partitioned out to its entries, by a table on short axes, by galloping on
/// long.
#[test]
fn items_meet_entries_by_searching_and_by_dealing() {
    for length in [100, 129, 500, 1 << 40] {
        let stored =
            (0..3).flat_map(|row| (0..100).map(move |column| (vec![row, column], (row * 100 + column) as f64)));
        let x = Sparse::new(&[3, length], stored.filter(|(at, _)| at[1] % 3 < 2).collect(), 0.5);
        let tensor = coo_as::<f64, u64>(&x);
        for count in [1, 2, 3, 40, 300] {
            let items = scattered(count, 110.min(length as u64));
            let indices = Dense::new(&[count], items.iter().map(|&item| i128::from(item)).collect());
            let stored = structure::take_axis(&x.coords(), &x.shape, &indices, 1, Mode::Raise).unwrap();
            let found = tensor.take_axis(&items, 1).unwrap();
            assert_eq!(stored_coords(&found), stored);
            found.for_each_entry(|cell, value| assert_eq!(value, x.get(&[cell[0], items[cell[1]] as usize])));
            let lanes = tensor.to_csr().unwrap().take_axis(&items, 1).unwrap();
            assert_eq!(lanes.to_coo().unwrap(), found);
        }
    }
}

// ---- arrays that repeat what they have ----

#[test]
fn broadcast_views_are_taken_from_like_any_other() {
    let row = arr1(&[1.0, 2.0, 3.0]);
    let vast = row.broadcast((1 << 40, 3)).unwrap();
    assert_eq!(vast.take([-1i64, 3, 1 << 40]).unwrap(), arr1(&[3.0, 1.0, 2.0]).into_dyn());
    let found = vast.take_axis([1i64 << 39, 0], 0).unwrap();
    assert_eq!(found, arr2(&[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]).into_dyn());
    let index = arr0(2);
    assert_eq!(row.take(&index.broadcast(4).unwrap()).unwrap(), arr1(&[3.0; 4]).into_dyn());
}

// ---- errors ----

#[test]
fn results_out_of_proportion_are_refused() {
    let x = CooTensor::new([1 << 20], vec![(0..1 << 16).collect()], vec![1u8; 1 << 16], 0).unwrap();
    let one = arr0(5i64);
    let vast = one.broadcast(1 << 32).unwrap();
    assert!(matches!(x.take(&vast), Err(Error::TooLarge { .. })));
    assert!(matches!(x.to_csr().unwrap().take(&vast), Err(Error::TooLarge { .. })));
    assert!(matches!(x.to_dense().unwrap().take(&vast), Err(Error::TooLarge { .. })));

    let rows = CooTensor::new([1, 1 << 16], vec![vec![0; 1 << 16], (0..1 << 16).collect()], vec![1u8; 1 << 16], 0);
    let (rows, often) = (rows.unwrap(), vec![0i8; 1 << 16]);
    let entry_bytes = |error: Error| match error {
        Error::TooLarge { bytes, .. } => bytes >> 32,
        other => panic!("{other}"),
    };
    // Indices, a value, and of COO the lists beside them: where an entry comes from, and the item that takes it.
    let (each, each_of_csr) = (2 * 4 + 1 + 2 * 8, 4 + 1);
    assert_eq!(entry_bytes(rows.take_axis(&often, 0).unwrap_err()), each);
    let lanes = rows.to_csr().unwrap();
    assert_eq!(entry_bytes(lanes.take_axis(&often, 0).unwrap_err()), each_of_csr);
    assert_eq!(entry_bytes(rows.to_dense().unwrap().take_axis(&often, 0).unwrap_err()), 1);
    let upstream = arr0(1u8);
    let upstream = upstream.broadcast((1 << 16, 1 << 16)).unwrap();
    assert!(matches!(grad::take_axis(&rows, &upstream, &often, 0), Err(Error::TooLarge { .. })));
}

/// A byte that an index array repeats asked for 5 GB of lists of positions.
#[test]
fn lists_of_positions_are_counted() {
    let x = CsrTensor::new([2, 1], vec![0, 1, 2], vec![0; 2], vec![true; 2], false).unwrap();
    let zero = arr0(0u8);
    let often = zero.broadcast(110_000_000).unwrap();
    let refused = x.take_axis(&often, 1).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "the expanded index array", bytes: 4_510_000_000, .. }));
    let refused = x.take(&often).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "the expanded index array", bytes: 6_380_000_000, .. }));
    // Each with what is taken for it, also where the result alone would not be refused.
    let (x, zero) = (arr1(&[7u8]), arr0(0i64));
    let refused = x.take(&zero.broadcast(1 << 27).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "the expanded index array", bytes: 0x4800_0000, .. }));
}

/// 16 times the bytes of what is taken from and of the index array; nobody reads its 2^27 bytes of zeros.
#[test]
fn the_limit_of_a_take_grows_with_the_index_array() {
    let (x, items) = (arr0(1u8), Array1::<i64>::zeros(1 << 24));
    let refused = x.broadcast((300, 1)).unwrap().take_axis(&items, 1).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { limit: 2_147_483_664, .. }), "{refused}");
}

/// An index array without items costs its owner nothing, whatever its shape.
#[test]
fn shapes_without_positions_are_refused_where_they_cost() {
    let x = CooTensor::full([4], 1.5).unwrap();
    let indices = ArrayD::<i32>::zeros(IxDyn(&[1 << 40, 0]));
    let error = x.take(&indices).unwrap_err();
    assert!(matches!(error, Error::AxisTooLong { axis: 0, length: 0x100_0000_0000, .. }), "{error}");
    let wide = x.with_index::<u64>().unwrap();
    assert_eq!(*wide.take(&indices).unwrap().shape(), [1 << 40, 0]);
    assert!(matches!(wide.to_csr().unwrap().take(&indices), Err(Error::TooLarge { .. })));
    assert!(matches!(wide.to_csr().unwrap().take_axis(&indices, 0), Err(Error::TooLarge { .. })));

    let empty = ArrayD::<f64>::zeros(IxDyn(&[1 << 40, 3, 0]));
    assert_eq!(empty.take_axis([2, 0], 1).unwrap().shape(), [1 << 40, 2, 0]);
    assert!(matches!(empty.take_axis(&indices, 1), Err(Error::TooLarge { .. })));
    let none = empty.take_axis([0i32; 0], 2).unwrap();
    assert_eq!(none.shape(), [1 << 40, 3, 0]);
    let dx = grad::take_axis(&empty, &none, [0i32; 0], 2).unwrap();
    assert_eq!(dx.shape(), empty.shape());
}

#[test]
fn axes_that_do_not_fit_are_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    assert_eq!(x.take_axis(0, 2).unwrap_err(), Error::AxisOutOfRange { axis: 2, rank: 2 });
    assert_eq!(x.take_axis(0, -3).unwrap_err(), Error::AxisOutOfRange { axis: -3, rank: 2 });
}

#[test]
fn an_upstream_gradient_of_another_shape_is_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let upstream = arr1(&[1.0, 2.0]);
    let error = grad::take(&x, &upstream, [0, 1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "the upstream gradient must have shape [3], found [2]");
    let dense = x.to_dense().unwrap();
    assert!(matches!(grad::take(&dense, &upstream, 0), Err(Error::ShapeMismatch { .. })));
    let error = grad::take_axis(&x.to_csr().unwrap(), &upstream, [0], -1).unwrap_err();
    assert_eq!(error.to_string(), "the upstream gradient must have shape [2, 1], found [2]");
    assert!(matches!(grad::take_axis(&dense, &upstream, 0, 0), Err(Error::ShapeMismatch { .. })));
}

#[test]
fn a_buffer_of_another_shape_is_refused_and_stays() {
    let x = arr1(&[1, 2, 3]);
    let mut out = arr1(&[7, 8]);
    let error = take_into(&x, [0, 1, 2], &mut out).unwrap_err();
    assert_eq!(error.to_string(), "the result must have shape [3], found [2]");
    assert!(matches!(take_into(&x, Take::at(0).clip(), &mut out), Err(Error::ShapeMismatch { .. })));
    assert_eq!(out, arr1(&[7, 8]));
}

/// Items by the hundred thousand are shared out among threads; the offender that is named is the first of all.
#[test]
fn many_items_are_taken_as_few_are() {
    let x = ndarray::Array1::from_iter(0..1000i64);
    let items: Vec<i64> = (0..200_000).map(|at| at * 7919 % 3000 - 1000).collect();
    let near = |item: i64| item.clamp(0, 999);
    assert_eq!(
        take(&x, Take::at(&items).clip()).unwrap(),
        items.iter().map(|&item| near(item)).collect::<ndarray::Array1<_>>().into_dyn()
    );
    let around = |item: i64| item.rem_euclid(1000);
    assert_eq!(
        take(&x, Take::at(&items).wrap()).unwrap(),
        items.iter().map(|&item| around(item)).collect::<ndarray::Array1<_>>().into_dyn()
    );
    let mut inside: Vec<i64> = items.iter().map(|item| item % 1000).collect();
    let expected = inside.iter().map(|&item| around(item)).collect::<ndarray::Array1<_>>().into_dyn();
    assert_eq!(take(&x, &inside).unwrap(), expected);
    let mut out = ndarray::Array1::zeros(inside.len());
    take_into(&x, &inside, &mut out).unwrap();
    assert_eq!(out.into_dyn(), expected);
    (inside[150_000], inside[190_000]) = (-1001, 1000);
    let refused = take(&x, &inside).unwrap_err();
    assert_eq!(refused, Error::PositionOutOfRange { position: -1001, size: 1000, at: 150_000 });
}

fn any_bool() -> impl Strategy<Value = bool> {
    proptest::bool::ANY
}

/// A range was written out before anything could be refused: `0..u64::MAX` panicked, and `0..1 << 40` ended the
/// program.
#[test]
fn vast_ranges_are_refused_and_short_ones_taken() {
    let x = CooTensor::new([5], vec![vec![0, 3]], vec![10, 40], 0).unwrap();
    assert_eq!(x.take(1..5).unwrap().to_dense().unwrap(), arr1(&[0, 0, 40, 0]).into_dyn());
    assert_eq!(x.take(-2i8..0).unwrap().values(), [40]);
    assert_eq!(x.take(3..3).unwrap().nnz(), 0);
    assert_eq!(x.to_dense().unwrap().take(Take::at(3..6u8).clip()).unwrap(), arr1(&[40, 0, 0]).into_dyn());
    assert_eq!(x.take(Take::at(i64::MAX - 1..i64::MAX).wrap()).unwrap().shape().to_vec(), [1]);
    for error in [x.take(0..u64::MAX).unwrap_err(), x.take(i64::MIN..i64::MAX).unwrap_err()] {
        assert!(matches!(error, Error::TooLarge { .. } | Error::AxisTooLong { .. }), "{error}");
    }
    assert!(matches!(x.take_axis(0i64..1 << 40, 0), Err(Error::TooLarge { .. } | Error::AxisTooLong { .. })));
    assert!(matches!(x.to_dense().unwrap().take(0..1u64 << 40), Err(Error::TooLarge { .. })));
}
