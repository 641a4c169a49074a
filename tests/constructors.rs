//! Every constructor refuses every invariant that is broken singly, with the variant and the numbers that say which;
//! and shapes too large for any product do no harm. Foreign layouts have files of their own.

use lacuna::{
    CooPattern, CooTensor, CsrPattern, CsrTensor, Duplicates, Error, Index, Pattern, Shape, Tensor, Triplets,
};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use proptest::prelude::*;

/// Index arrays with one thing wrong: the shape, the arrays, and what is said against them.
type Bad<A> = (&'static str, Vec<usize>, A, Error);

fn length(what: &'static str, expected: usize, found: usize) -> Error {
    Error::LengthMismatch { what, expected, found }
}

fn outside(index: u64, axis: usize, length: usize, entry: usize) -> Error {
    Error::IndexOutOfBounds { index, axis, length, entry: Some(entry) }
}

fn unsorted(entry: usize, coords: &[usize], previous: &[usize]) -> Error {
    Error::NotSorted { entry, coords: coords.to_vec(), previous: previous.to_vec() }
}

fn too_long(axis: usize, length: usize) -> Error {
    Error::AxisTooLong { axis, length, index_type: "u32", maximum: 1 << 32, instead: "u64" }
}

/// Returns invalid coordinates of two entries, in any order.
fn bad_coordinates() -> Vec<Bad<Vec<Vec<u32>>>> {
    let list = "the list of coordinate arrays";
    let array = "a coordinate array";
    vec![
        ("an array too many", vec![2], vec![vec![0, 1], vec![0, 0]], length(list, 1, 2)),
        ("an array too few", vec![2, 3], vec![vec![0, 1]], length(list, 2, 1)),
        ("arrays on rank 0", vec![], vec![vec![0, 0]], length(list, 0, 1)),
        ("no arrays", vec![2, 3], vec![], length(list, 2, 0)),
        ("a short array", vec![2, 3], vec![vec![0, 1], vec![2]], length(array, 2, 1)),
        ("a long array", vec![2, 3], vec![vec![0, 1, 1], vec![2, 0]], length(array, 2, 3)),
        ("a coordinate at the length", vec![2, 3], vec![vec![0, 1], vec![3, 0]], outside(3, 1, 3, 0)),
        ("the greatest coordinate", vec![2, 3], vec![vec![0, u32::MAX], vec![1, 0]], outside(u32::MAX.into(), 0, 2, 1)),
        ("a coordinate on an empty axis", vec![2, 0], vec![vec![0, 1], vec![0, 0]], outside(0, 1, 0, 0)),
        ("an axis too long", vec![2, (1 << 32) + 1], vec![vec![0, 1], vec![0, 0]], too_long(1, (1 << 32) + 1)),
        ("a vast axis", vec![usize::MAX, 2], vec![vec![0, 1], vec![0, 0]], too_long(0, usize::MAX)),
    ]
}

/// Returns coordinates that are invalid only because of their order.
fn bad_order() -> Vec<Bad<Vec<Vec<u32>>>> {
    vec![
        ("a step back", vec![2, 3], vec![vec![1, 0], vec![0, 1]], unsorted(1, &[0, 1], &[1, 0])),
        ("a step back on the last axis", vec![2, 3], vec![vec![1, 1], vec![2, 1]], unsorted(1, &[1, 1], &[1, 2])),
        ("a repetition", vec![2, 3], vec![vec![1, 1], vec![2, 2]], unsorted(1, &[1, 2], &[1, 2])),
        ("two entries on rank 0", vec![], vec![], unsorted(1, &[], &[])),
    ]
}

/// Returns invalid offsets and columns. If one part is invalid, the other part is as valid as possible.
fn bad_lanes() -> Vec<Bad<(Vec<usize>, Vec<u32>)>> {
    let offsets = "the offsets";
    let (what, instead) = ("the offsets of the lanes", "keep the tensor in COO");
    let too_many_offsets = Error::TooLarge { what, bytes: ((1 << 64) + 1) * 8, limit: u64::MAX, instead };
    vec![
        ("no offsets", vec![2, 3], (vec![], vec![]), length(offsets, 3, 0)),
        ("an offset too few", vec![2, 3], (vec![0, 2], vec![0, 1]), length(offsets, 3, 2)),
        ("an offset too many", vec![2, 3], (vec![0, 1, 2, 2], vec![0, 1]), length(offsets, 3, 4)),
        ("offsets of columns, not rows", vec![2, 2, 3], (vec![0; 4], vec![]), length(offsets, 5, 4)),
        ("no offset for no lane", vec![0, 3], (vec![], vec![]), length(offsets, 1, 0)),
        ("one lane on rank 1", vec![3], (vec![0], vec![]), length(offsets, 2, 1)),
        ("one lane on rank 0", vec![], (vec![0], vec![]), length(offsets, 2, 1)),
        // Their number was given as the greatest that there is.
        ("more lanes than numbers", vec![1 << 32, 1 << 32, 3], (vec![0], vec![]), too_many_offsets),
        ("a late start", vec![2, 3], (vec![1, 1, 2], vec![0, 1]), Error::OffsetsStart { found: 1 }),
        ("a step down", vec![2, 3], (vec![0, 3, 2], vec![0, 1]), Error::OffsetsDecrease { lane: 1, start: 3, end: 2 }),
        ("an early end", vec![2, 3], (vec![0, 0, 1], vec![0, 1]), Error::OffsetsEnd { expected: 2, found: 1 }),
        ("a late end", vec![2, 3], (vec![0, 0, 9], vec![0, 1]), Error::OffsetsEnd { expected: 2, found: 9 }),
        (
            "a vast end",
            vec![1, 3],
            (vec![0, usize::MAX], vec![0]),
            Error::OffsetsEnd { expected: 1, found: usize::MAX },
        ),
        ("a column at the length", vec![2, 3], (vec![0, 1, 2], vec![2, 3]), outside(3, 1, 3, 1)),
        ("a column on no columns", vec![2, 0], (vec![0, 1, 1], vec![0]), outside(0, 1, 0, 0)),
        ("a second column on rank 0", vec![], (vec![0, 1], vec![1]), outside(1, 0, 1, 0)),
        ("columns that decrease", vec![2, 3], (vec![0, 0, 2], vec![2, 1]), unsorted(1, &[1, 1], &[1, 2])),
        ("a repeated column", vec![2, 2, 3], (vec![0, 0, 0, 1, 3], vec![2, 0, 0]), unsorted(2, &[1, 1, 0], &[1, 1, 0])),
        ("a repetition late in a lane", vec![2, 3], (vec![0, 1, 4], vec![2, 0, 1, 1]), unsorted(3, &[1, 1], &[1, 1])),
        ("a long last axis", vec![1, (1 << 32) + 1], (vec![0, 0], vec![]), too_long(1, (1 << 32) + 1)),
        ("a long first axis", vec![(1 << 32) + 1, 0, 1], (vec![0], vec![]), too_long(0, (1 << 32) + 1)),
    ]
}

#[test]
fn bad_coordinates_are_refused_everywhere() {
    for (what, shape, coords, error) in bad_coordinates() {
        assert_eq!(CooPattern::new(shape.clone(), 2, coords.clone()).unwrap_err(), error, "{what}");
        assert_eq!(CooTensor::new(shape.clone(), coords.clone(), vec![1, 2], 0).unwrap_err(), error, "{what}");
        assert_eq!(Triplets::from_arrays(shape, coords, vec![1, 2]).unwrap_err(), error, "{what}");
    }
}

#[test]
fn a_bad_order_is_refused_by_patterns_and_mended_by_triplets() {
    for (what, shape, coords, error) in bad_order() {
        assert_eq!(CooPattern::new(shape.clone(), 2, coords.clone()).unwrap_err(), error, "{what}");
        assert_eq!(CooTensor::new(shape.clone(), coords.clone(), vec![1, 2], 0).unwrap_err(), error, "{what}");
        let triplets = Triplets::from_arrays(shape, coords, vec![1, 2]).unwrap();
        let coo = triplets.clone().coalesce(Duplicates::Sum).unwrap();
        assert_eq!(coo.values().iter().sum::<i32>(), 3, "{what}");
        assert_eq!(triplets.coalesce_csr(Duplicates::Sum).unwrap(), coo.to_csr().unwrap(), "{what}");
    }
}

#[test]
fn bad_lanes_are_refused_everywhere() {
    for (what, shape, (offsets, columns), error) in bad_lanes() {
        let values = vec![0.5; columns.len()];
        assert_eq!(CsrPattern::new(shape.clone(), offsets.clone(), columns.clone()).unwrap_err(), error, "{what}");
        assert_eq!(CsrTensor::new(shape, offsets, columns, values, 0.0).unwrap_err(), error, "{what}");
    }
}

#[test]
fn the_wrong_number_of_values_is_refused() {
    let coo = CooPattern::new([3], 2, vec![vec![0u32, 2]]).unwrap();
    let csr = CsrPattern::new([3], vec![0, 2], vec![0u32, 2]).unwrap();
    for found in [0, 1, 3] {
        let (values, error) = (vec![1.0; found], length("the values", 2, found));
        assert_eq!(Tensor::from_parts(coo.clone(), values.clone(), 0.0).unwrap_err(), error);
        assert_eq!(Tensor::from_parts(csr.clone(), values.clone(), 0.0).unwrap_err(), error);
        assert_eq!(CsrTensor::new([3], vec![0, 2], vec![0, 2], values.clone(), 0.0).unwrap_err(), error);
        let error = length("a coordinate array", found, 2);
        assert_eq!(CooTensor::new([3], vec![vec![0, 2]], values.clone(), 0.0).unwrap_err(), error);
        assert_eq!(Triplets::from_arrays([3], vec![vec![0u32, 2]], values).unwrap_err(), error);
    }
}

#[test]
fn axes_that_do_not_fit_are_refused_by_whatever_stores_nothing() {
    let shape = [3, (1 << 32) + 1];
    let error = too_long(1, shape[1]);
    assert_eq!(CooPattern::<u32>::empty(shape).unwrap_err(), error);
    assert_eq!(CooTensor::full(shape, 0).unwrap_err(), error);
    assert_eq!(CsrPattern::<u32>::empty(shape).unwrap_err(), error);
    assert_eq!(CsrPattern::<u32>::empty_with_limit(shape, u64::MAX).unwrap_err(), error);
    assert_eq!(CsrTensor::full(shape, 0).unwrap_err(), error);
    assert_eq!(Triplets::<u8>::new(shape).unwrap_err(), error);
    let dense = ArrayD::<u8>::zeros(IxDyn(&[0, (1 << 32) + 1]));
    assert_eq!(CooTensor::from_dense(&dense, 0).unwrap_err(), error);
    assert_eq!(CsrTensor::from_dense(&dense, 0).unwrap_err(), error);
    assert_eq!(CooPattern::<u64>::empty(shape).unwrap().with_index::<u32>().unwrap_err(), error);
    assert_eq!(CsrPattern::<u64>::empty(shape).unwrap().with_index::<u32>().unwrap_err(), error);
    assert!(CooTensor::full([3, 1 << 32], 0).is_ok());
    assert!(CsrTensor::full([3, 1 << 32], 0).is_ok());
}

#[test]
fn pushing_refuses_what_is_no_position_and_appends_nothing() {
    let mut triplets = Triplets::new([2, 3]).unwrap();
    triplets.push(&[1, 2], 5).unwrap();
    let rank = |found| Error::RankMismatch { what: "the coordinates", expected: 2, found };
    assert_eq!(triplets.push(&[], 1).unwrap_err(), rank(0));
    assert_eq!(triplets.push(&[0, 0, 0], 1).unwrap_err(), rank(3));
    assert_eq!(triplets.push(&[2, 0], 1).unwrap_err(), outside(2, 0, 2, 1));
    assert_eq!(triplets.push(&[0, usize::MAX], 1).unwrap_err(), outside(u64::MAX, 1, 3, 1));
    assert_eq!(triplets.coalesce(Duplicates::Sum).unwrap().entries(), [(vec![1, 2], 5)]);
}

#[test]
fn room_for_triplets_is_made_once_and_holds_none() {
    let mut triplets = Triplets::new([9, 9]).unwrap();
    triplets.reserve(100).unwrap();
    assert!(triplets.is_empty() && triplets.coords(0).is_empty());
    let addresses = |triplets: &Triplets<f64>| [0, 1].map(|axis| triplets.coords(axis).as_ptr());
    let (before, values) = (addresses(&triplets), triplets.values().as_ptr());
    (0..100).for_each(|at| triplets.push(&[at % 9, 8], 0.5).unwrap());
    assert!(!triplets.is_empty());
    assert_eq!((addresses(&triplets), triplets.values().as_ptr(), triplets.len()), (before, values, 100));
}

#[test]
fn a_shape_is_made_of_whatever_lists_lengths() {
    let shape = Shape::from(vec![2, 0, 5]);
    assert_eq!(shape, [2, 0, 5]);
    assert_eq!(Shape::from([2, 0, 5]), shape);
    assert_eq!(Shape::from(&[2, 0, 5]), shape);
    assert_eq!(Shape::from(&[2, 0, 5][..]), shape);
    assert_eq!(Shape::from(&vec![2, 0, 5]), shape);
    assert_eq!(Shape::from(&shape), shape);
    assert_eq!([2, 0, 5].into_iter().collect::<Shape>(), shape);
}

fn pair<T: lacuna::Element>(first: T, second: T, duplicates: Duplicates) -> lacuna::Result<T> {
    let x = Triplets::from_arrays([4, 4], vec![vec![2u32, 0, 2], vec![3, 0, 3]], vec![first, T::ZERO, second])?;
    x.coalesce(duplicates)?.get(&[2, 3])
}

#[test]
fn duplicates_become_what_was_asked_for() {
    assert_eq!(pair(3, -1, Duplicates::Sum), Ok(2));
    assert_eq!(pair(3, -1, Duplicates::First), Ok(3));
    assert_eq!(pair(3, -1, Duplicates::Last), Ok(-1));
    assert_eq!(pair(3, -1, Duplicates::Min), Ok(-1));
    assert_eq!(pair(3, -1, Duplicates::Max), Ok(3));
    assert_eq!(pair(3, -1, Duplicates::LogicalOr), Ok(1));
    assert_eq!(pair(true, true, Duplicates::Sum), Ok(true));
    assert_eq!(pair(0.0, -0.0, Duplicates::LogicalOr), Ok(0.0));
    // As in `min` and `max`, of which the order of the input is no part: the first one stayed before.
    for (one, other) in [(0.0_f64, -0.0), (-0.0, 0.0)] {
        assert!(pair(one, other, Duplicates::Min).unwrap().is_sign_negative());
        assert!(pair(one, other, Duplicates::Max).unwrap().is_sign_positive());
    }
    for duplicates in [Duplicates::Min, Duplicates::Max, Duplicates::Sum] {
        assert!(pair(1.0, f64::NAN, duplicates).unwrap().is_nan());
        assert!(pair(f32::NAN, 1.0, duplicates).unwrap().is_nan());
    }
}

#[test]
fn duplicates_that_cannot_be_merged_are_errors() {
    let at = || vec![2, 3];
    assert_eq!(pair(1, 1, Duplicates::Error), Err(Error::Duplicate { first: 0, second: 2, coords: at() }));
    assert_eq!(pair(i8::MAX, 1, Duplicates::Sum), Err(Error::SumOverflow { coords: at(), dtype: "int8" }));
    assert_eq!(pair(u64::MAX, 1, Duplicates::Sum), Err(Error::SumOverflow { coords: at(), dtype: "uint64" }));
    let z = Complex::new(1.0f32, 2.0);
    let no_order = |operation| Err(Error::NoOrder { operation, dtype: "complex64" });
    assert_eq!(pair(z, z, Duplicates::Min), no_order("minimum of duplicates"));
    assert_eq!(pair(z, z, Duplicates::Max), no_order("maximum of duplicates"));
    assert_eq!(pair(z, z, Duplicates::Sum), Ok(z + z));
}

#[test]
fn a_sum_of_zero_stays_stored_and_a_lone_value_keeps_its_bits() {
    let payload = f64::from_bits(0x7ff8_0000_0000_1234);
    let x = Triplets::from_arrays([9], vec![vec![4u32, 4, 1]], vec![2.5, -2.5, payload]).unwrap();
    let x = x.coalesce(Duplicates::Sum).unwrap();
    assert_eq!(x.coords(0), [1, 4]);
    assert_eq!(x.values()[0].to_bits(), payload.to_bits());
    assert_eq!(x.values()[1].to_bits(), 0);
}

#[test]
fn sums_go_left_to_right_in_input_order_at_any_size() {
    for count in [10usize, 1 << 17] {
        let coords: Vec<u32> = (0..count as u32).map(|entry| (entry * 7919) % 5).collect();
        let values: Vec<f64> = (0..count).map(|entry| 1.0 / (entry + 1) as f64).collect();
        let mut expected = [0.0; 5];
        coords.iter().zip(&values).for_each(|(&coord, value)| expected[coord as usize] += value);
        let x = Triplets::from_arrays([5], vec![coords], values).unwrap().coalesce(Duplicates::Sum).unwrap();
        assert_eq!(x.values(), expected);
    }
}

/// `[70000, 70000]` has more positions than 32 bits count: linearised keys that wrap mix up these four.
#[test]
fn keys_do_not_wrap() {
    let coords = vec![vec![61_356u32, 0, 61_357, 69_999], vec![47_296, 0, 0, 69_999]];
    let x = Triplets::from_arrays([70_000, 70_000], coords, vec![1, 2, 3, 4]).unwrap();
    let x = x.coalesce(Duplicates::Error).unwrap();
    let expected = [(vec![0, 0], 2), (vec![61_356, 47_296], 1), (vec![61_357, 0], 3), (vec![69_999, 69_999], 4)];
    assert_eq!(x.entries(), expected);
    assert_eq!(x.to_csr().unwrap().entries(), expected);
}

fn two_far_apart<I: Index>(shape: impl Into<Shape>) {
    let shape = shape.into();
    let last: Vec<usize> = shape.iter().map(|length| length - 1).collect();
    let mut triplets = Triplets::<u8, I>::new_with_index(shape.clone()).unwrap();
    for (coords, value) in [(&last, 1), (&vec![0; shape.rank()], 2), (&last, 3)] {
        triplets.push(coords, value).unwrap();
    }
    let x = triplets.coalesce(Duplicates::Sum).unwrap();
    assert_eq!(x.values(), [2, 4]);
    assert_eq!(x.get(&last), Ok(4));
    assert_eq!(x.pattern().find(&last), Some(1));
    assert!(matches!(x.to_dense(), Err(Error::TooLarge { .. })));
    assert!(matches!(x.to_csr(), Err(Error::TooLarge { .. })));
    assert!(matches!(x.into_csr(), Err(Error::TooLarge { .. })));
}

#[test]
fn shapes_beyond_every_product_work_as_coordinates() {
    two_far_apart::<u64>([1 << 40, 1 << 40]);
    two_far_apart::<usize>([usize::MAX; 32]);
    two_far_apart::<u32>([1 << 32; 10]);
    two_far_apart::<u32>([1 << 30, 4]);
}

#[test]
fn the_bytes_that_are_refused_are_named() {
    let error = CsrTensor::full([1 << 30, 4], 0u8).unwrap_err();
    let bytes = 8 * ((1 << 30) + 1);
    let instead = "keep the tensor in COO, or raise the limit";
    assert_eq!(error, Error::TooLarge { what: "the offsets of the lanes", bytes, limit: 1 << 30, instead });
    let beyond = CsrPattern::<usize>::empty([usize::MAX; 32]).unwrap_err();
    assert!(matches!(beyond, Error::TooLarge { bytes: u128::MAX, .. }));
    assert_eq!(
        CsrPattern::<u32>::empty_with_limit([9, 4], 79).unwrap_err().to_string().split(',').next(),
        Some("the offsets of the lanes would take 80 bytes")
    );
    assert_eq!(CsrPattern::<u32>::empty_with_limit([9, 4], 80).unwrap().lanes(), 9);
}

#[test]
fn a_zero_length_axis_makes_vast_others_harmless() {
    for shape in [[1 << 50, 0, 3], [0, 1 << 50, 3], [usize::MAX, 0, usize::MAX]] {
        let csr = CsrPattern::<u64>::empty(shape).unwrap();
        assert_eq!((csr.lanes(), csr.nnz()), (0, 0));
        assert_eq!(csr.to_coo().unwrap(), CooPattern::empty(shape).unwrap());
        let coo = Triplets::<f32, u64>::new_with_index(shape).unwrap().coalesce(Duplicates::Sum).unwrap();
        assert_eq!(coo.to_csr().unwrap().into_parts().unwrap().0, csr);
        assert_eq!(coo.density(), 1.0);
    }
    assert!(matches!(CsrPattern::<u64>::empty([1 << 50, 0]), Err(Error::TooLarge { .. })));
    assert!(matches!(CsrTensor::full([1 << 50, 0, 3], 0), Err(Error::AxisTooLong { axis: 0, .. })));
    assert_eq!(CsrTensor::full([1 << 32, 0, 3], 0).unwrap().offsets(), [0]);
    assert!(CooTensor::full([1 << 32, 0, 3], 0).unwrap().to_dense().is_ok());
}

#[test]
fn what_a_tensor_holds_is_told_by_the_byte() {
    let coo = CooTensor::new([3, 2], vec![vec![0, 2, 2], vec![1, 0, 1]], vec![5.0, 6.0, 7.0], 0.0).unwrap();
    let csr = coo.to_csr().unwrap();
    assert_eq!((coo.pattern().index_bytes(), coo.stored_bytes()), (3 * 2 * 4, 3 * 2 * 4 + 3 * 8));
    assert_eq!((csr.pattern().index_bytes(), csr.stored_bytes()), (4 * 8 + 3 * 4, 4 * 8 + 3 * 4 + 3 * 8));
    assert_eq!(coo.with_index::<u64>().unwrap().stored_bytes(), 3 * 2 * 8 + 3 * 8);
}

#[test]
fn empty_lanes_at_the_end_have_offsets() {
    let mut triplets = Triplets::new([6, 2, 4]).unwrap();
    triplets.push(&[1, 0, 3], 7).unwrap();
    let x = triplets.coalesce_csr(Duplicates::Sum).unwrap();
    assert_eq!(x.offsets(), [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(x.lane_values(11), [0; 0]);
    let (offsets, columns) = (vec![0, 1, 1, 3], vec![1, 0, 1]);
    let lanes = CsrTensor::new([3, 2], offsets, columns, vec![5, 6, 7], 0).unwrap();
    assert_eq!([0, 1, 2].map(|lane| lanes.lane_values(lane)), [&[5][..], &[], &[6, 7]]);
}

#[test]
fn offsets_count_past_every_narrow_integer() {
    for count in [32_768usize, 65_536, 70_000] {
        let columns: Vec<u32> = (0..count as u32).collect();
        let x = CsrTensor::new([2, 70_000], vec![0, count, count], columns.clone(), vec![1u8; count], 0).unwrap();
        let coo = x.to_coo().unwrap();
        assert_eq!(coo.to_csr().unwrap(), x);
        let triplets = Triplets::from_arrays([2, 70_000], vec![vec![0; count], columns], vec![1u8; count]).unwrap();
        assert_eq!(triplets.coalesce_csr(Duplicates::Error).unwrap().offsets(), [0, count, count]);
    }
}

#[test]
fn rank_0_holds_one_entry_or_none() {
    let one = CooTensor::new([], vec![], vec![5], 1).unwrap();
    assert_eq!((one.get(&[]), one.entries()), (Ok(5), vec![(vec![], 5)]));
    let csr = CsrTensor::new([], vec![0, 1], vec![0], vec![5], 1).unwrap();
    assert_eq!(one.to_csr().unwrap(), csr);
    assert_eq!(csr.to_coo().unwrap(), one);
    let mut triplets = Triplets::new([]).unwrap();
    (1..=4).for_each(|value| triplets.push(&[], value).unwrap());
    assert_eq!(triplets.coalesce(Duplicates::Sum).unwrap().get(&[]), Ok(10));
    assert_eq!(CooTensor::full([], 3).unwrap().get(&[]), Ok(3));
}

#[test]
fn thirty_two_axes_and_more() {
    for rank in [32, 64] {
        let coords: Vec<Vec<u32>> = (0..rank).map(|axis| vec![0, u32::from(axis == rank - 1)]).collect();
        let x = CooTensor::new(vec![2; rank], coords, vec![1, 2], 0).unwrap();
        assert_eq!(x.pattern().coords_of(1).unwrap()[rank - 1], 1);
        assert_eq!(x.values(), [1, 2]);
    }
}

proptest! {
    /// Whatever the arrays are, a pattern comes out valid or not at all.
    #[test]
    fn no_input_makes_a_pattern_panic_or_lie(
        shape in prop::collection::vec(0usize..4, 0..4),
        nnz in 0usize..4,
        coords in prop::collection::vec(prop::collection::vec(0u32..4, 0..4), 0..4),
        offsets in prop::collection::vec(0usize..5, 0..6),
        columns in prop::collection::vec(0u32..4, 0..5),
    ) {
        if let Ok(pattern) = CooPattern::new(shape.clone(), nnz, coords) {
            let entries: Vec<_> = (0..nnz).map(|entry| pattern.coords_of(entry).unwrap()).collect();
            prop_assert!(entries.is_sorted_by(|a, b| a < b));
            prop_assert!(entries.iter().flatten().zip(shape.iter().cycle()).all(|(coord, length)| coord < length));
        }
        if let Ok(pattern) = CsrPattern::new(shape.clone(), offsets, columns) {
            let entries: Vec<_> = (0..pattern.nnz()).map(|entry| pattern.coords_of(entry).unwrap()).collect();
            prop_assert!(entries.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(pattern.lanes(), shape.iter().rev().skip(1).product::<usize>());
        }
    }

    /// Coalescing is what a map from coordinates to sums is, whichever way the keys are compared.
    #[test]
    fn coalescing_sums_as_a_sorted_map_does(
        entries in prop::collection::vec((0u64..5, 0u64..5, -9i64..9), 0..40),
        stretch in prop::sample::select(vec![1u64, 1 << 14, 1 << 40]),
    ) {
        let shape = [(4 * stretch + 1) as usize; 2];
        let mut triplets = Triplets::<i64, u64>::new_with_index(shape).unwrap();
        let mut expected = std::collections::BTreeMap::new();
        for &(row, column, value) in &entries {
            let coords = vec![(row * stretch) as usize, (column * stretch) as usize];
            triplets.push(&coords, value).unwrap();
            *expected.entry(coords).or_insert(0) += value;
        }
        let x = triplets.coalesce(Duplicates::Sum).unwrap();
        prop_assert_eq!(x.entries(), expected.into_iter().collect::<Vec<_>>());
    }
}
