//! `nanmedian`, its positions and its stored-entries form against the reference, on every format, type and layout.

use std::collections::BTreeSet;

use crate::generators::{self, AxesChoice, Drawn, Reduction, batched, endless, huge, huger, reductions};
use crate::reference::dense::{Dense, Sparse, checked_size, ravel, reduced_coords, reduced_shape};
use crate::reference::ops::{self, Even};
use crate::reference::scalar::{GradScalar, RealScalar, Scalar};
use crate::reference::structure;
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{
    Axes, CooTensor, CsrTensor, Error, EvenCount, Float, Nanmedian, Pattern, Real, Tensor, grad, nanmedian,
    nanmedian_index,
};
use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn, arr0, arr1, arr2, s};
use proptest::prelude::*;

/// A type with a median, which the library and the reference agree on.
trait Ordered: Both + Drawn + RealScalar<Median = <Self as Ordered>::Mid> + Real<Median = <Self as Ordered>::Mid> {
    type Mid: Both + Float + GradScalar;
}

impl<T, M> Ordered for T
where
    T: Both + Drawn + RealScalar<Median = M> + Real<Median = M>,
    M: Both + Float + GradScalar,
{
    type Mid = M;
}

const EVENS: [(EvenCount, Even); 2] = [(EvenCount::Mean, Even::Mean), (EvenCount::Lower, Even::Lower)];

fn over(even: EvenCount, axes: impl Into<Axes>) -> Nanmedian {
    match even {
        EvenCount::Mean => Nanmedian::over(axes),
        EvenCount::Lower => Nanmedian::over(axes).lower(),
    }
}

// ---- the dense promise and the structure promise ----

/// All forms of one tensor against the reference, which reduces `x` over the axes `normalised`.
fn assert_medians<T: Ordered, P: Pattern>(tensor: &Tensor<P, T>, x: &Sparse<T>, axes: &Axes, normalised: &[usize]) {
    let (dense, keep_dims) = (x.to_dense(), axes.keeps_dims());
    let stored = structure::reduce(&x.coords(), normalised, keep_dims);
    for (even, reference) in EVENS {
        let expected = ops::nanmedian(&dense, normalised, keep_dims, reference);
        let positions = ops::nanmedian_index(&dense, normalised, keep_dims);
        assert_tensor(&nanmedian(tensor, over(even, axes)).unwrap(), &expected, &stored);
        let (median, position) = nanmedian_index(tensor, over(even, axes)).unwrap();
        assert_tensor(&median, &expected, &stored);
        assert_tensor(&position, &positions, &stored);
        assert!(median.shares_pattern_with(&position));

        let expected = ops::nanmedian_stored(x, normalised, keep_dims, reference);
        let positions = ops::nanmedian_stored_index(x, normalised, keep_dims);
        assert_tensor(&nanmedian(&tensor.stored(), over(even, axes)).unwrap(), &expected, &stored);
        let (median, position) = nanmedian_index(&tensor.stored(), over(even, axes)).unwrap();
        assert_tensor(&median, &expected, &stored);
        assert_tensor(&position, &positions, &stored);
        assert!(median.fill().bits_equal(T::Mid::NAN) && position.fill() == u64::MAX);
        if normalised.is_empty() {
            assert!(median.shares_pattern_with(tensor) && position.shares_pattern_with(tensor));
        }
    }
}

/// Checks all formats and layouts in one property, because each further property takes time to compile for each type.
fn every_format_equals_the_reference<T: Ordered>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let (dense, axes) = (x.to_dense(), axes_of(&axes, keep_dims));
        assert_medians(&coo(&x), &x, &axes, &normalised);
        assert_medians(&csr(&x), &x, &axes, &normalised);
        let positions = ops::nanmedian_index(&dense, &normalised, keep_dims);
        for (even, reference) in EVENS {
            let expected = ops::nanmedian(&dense, &normalised, keep_dims, reference);
            for_each_layout(&dense, |_, view| {
                assert_array(&view.nanmedian(over(even, &axes)).unwrap(), &expected);
                let (median, position) = view.nanmedian_index(over(even, &axes)).unwrap();
                assert_array(&median, &expected);
                assert_array(&position, &positions);
            });
        }
    });
}

for_real_types!(every_format_equals_the_reference);

#[test]
fn every_index_type_gives_the_same() {
    check(reductions::<i16, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let axes = axes_of(&axes, keep_dims);
        assert_medians(&coo_as::<i16, u64>(&x), &x, &axes, &normalised);
        assert_medians(&csr_as::<i16, usize>(&x), &x, &axes, &normalised);
    });
}

#[test]
fn batches_with_different_numbers_of_entries_reduce_lane_by_lane() {
    check((batched::<f64>(), proptest::bool::ANY), |(x, keep_dims)| {
        let last = x.shape.len() - 1;
        assert_medians(&csr(&x), &x, &Axes::from(-1).with_keep_dims(keep_dims), &[last]);
    });
}

// ---- shapes without a dense form ----

/// A group by its counts: each distinct value with the number of positions that hold it, in order.
struct Counted<T> {
    values: Vec<(T, u128)>,
    extent: u128,
    /// The position and the value of each entry.
    entries: Vec<(u128, T)>,
    fill: T,
}

impl<T: Ordered> Counted<T> {
    fn new(x: &Sparse<T>, normalised: &[usize], cell: &[usize]) -> Self {
        let lengths: Vec<usize> = normalised.iter().map(|&axis| x.shape[axis]).collect();
        let extent = checked_size(&lengths).unwrap_or(u128::MAX);
        let inside = x.entries.iter().filter(|(at, _)| reduced_coords(at, normalised, false) == cell);
        let position = |at: &[usize]| {
            let coords: Vec<usize> = normalised.iter().map(|&axis| at[axis]).collect();
            if extent == u128::MAX { 0 } else { ravel(&coords, &lengths) }
        };
        let entries: Vec<(u128, T)> = inside.map(|(at, &value)| (position(at), value)).collect();
        let unstored = (x.fill, extent - entries.len() as u128);
        let mut values: Vec<(T, u128)> = entries.iter().map(|&(_, value)| (value, 1)).chain([unstored]).collect();
        values.retain(|(value, count)| !Scalar::is_nan(*value) && *count > 0);
        values.sort_by(|a, b| RealScalar::order(a.0, b.0));
        Counted { values, extent, entries, fill: x.fill }
    }

    fn at_rank(&self, mut rank: u128) -> T {
        for &(value, count) in &self.values {
            if rank < count {
                return value;
            }
            rank -= count;
        }
        panic!("no such rank");
    }

    fn median(&self, even: Even) -> (T::Mid, u128) {
        let count: u128 = self.values.iter().map(|&(_, count)| count).sum();
        if count == 0 {
            return (T::Mid::NAN, u128::from(u64::MAX));
        }
        let (lower, upper) = (self.at_rank((count - 1) / 2), self.at_rank(count / 2));
        let median = if even == Even::Mean && count.is_multiple_of(2) {
            lower.mean_of_two(upper)
        } else {
            RealScalar::to_median(lower)
        };
        (median, self.first(lower))
    }

    /// The first position that holds `value`.
    fn first(&self, value: T) -> u128 {
        let stored: BTreeSet<u128> = self.entries.iter().map(|&(position, _)| position).collect();
        let equal = self.entries.iter().filter(|(_, element)| *element == value).map(|&(position, _)| position);
        let gap = (0..self.extent).find(|position| !stored.contains(position)).filter(|_| self.fill == value);
        equal.chain(gap).min().unwrap()
    }
}

fn shapes_without_a_dense_form_are_reduced_by_counting<T: Ordered>() {
    let inputs = (prop_oneof![huge::<T>(), huger::<T>(), endless::<T>()], generators::axes_seeds());
    check(inputs, |(x, axes)| {
        let axes = axes.build(x.shape.len());
        let normalised = axes.normalised(x.shape.len());
        let lengths: Vec<usize> = normalised.iter().map(|&axis| x.shape[axis]).collect();
        let countable = checked_size(&lengths).is_some_and(|extent| extent <= u128::from(u64::MAX));
        let tensor = coo_as::<T, u64>(&x);
        for (even, reference) in EVENS {
            let found = nanmedian(&tensor, over(even, axes_of(&axes, false))).unwrap();
            let indexed = nanmedian_index(&tensor, over(even, axes_of(&axes, false)));
            assert_eq!(indexed.is_ok(), countable);
            assert_eq!(**found.shape(), *reduced_shape(&x.shape, &normalised, false));
            assert_eq!(stored_coords(&found), structure::reduce(&x.coords(), &normalised, false));
            assert!(found.fill().bits_equal(RealScalar::to_median(x.fill)));
            for (cell, value) in found.entries() {
                let (median, position) = Counted::new(&x, &normalised, &cell).median(reference);
                assert!(value.bits_equal(median), "cell {cell:?}: {value:?} is not {median:?}");
                if let Ok((medians, positions)) = &indexed {
                    assert!(medians.get(&cell).unwrap().bits_equal(median));
                    assert_eq!(u128::from(positions.get(&cell).unwrap()), position, "cell {cell:?}");
                }
            }
        }
    });
}

stamp!(shapes_without_a_dense_form_are_reduced_by_counting: int8 = i8, float32 = f32;
    beside bool = bool, uint64 = u64; half);

#[test]
fn a_quadrillion_positions_take_no_time() {
    let start = std::time::Instant::now();
    let coords = vec![vec![3u64, 1 << 39, 1 << 39], vec![9, 0, 1 << 38]];
    let pattern = lacuna::CooPattern::new([1 << 40, 1 << 40], 3, coords).unwrap();
    let x = Tensor::from_parts(pattern, vec![-4.0, 7.0, f64::NAN], 1.5).unwrap();
    assert_eq!(x.nanmedian(Axes::all()).unwrap().get(&[]).unwrap(), 1.5);
    assert_eq!(x.nanmedian(0).unwrap().values(), [1.5, 1.5, 1.5]);
    let (median, position) = x.nanmedian_index(0).unwrap();
    assert_eq!((median.fill(), position.fill(), position.values()), (1.5, 0, &[0, 0, 0][..]));
    assert_eq!(x.stored().nanmedian(Axes::all()).unwrap().get(&[]).unwrap(), 1.5);
    assert!(start.elapsed().as_secs() < 5);
}

// ---- the named cases: axes and NaNs ----

/// Rows with no, some, many and only NaNs.
fn with_nans() -> Array2<f64> {
    let nan = f64::NAN;
    arr2(&[
        [4.0, 1.0, 3.0, 2.0],
        [nan, 7.0, 5.0, 6.0],
        [nan, nan, -8.0, nan],
        [nan, nan, nan, nan],
        [0.0, nan, nan, 1.0],
    ])
}

#[track_caller]
fn assert_over(axes: Axes, expected: &[f64], shape: &[usize]) {
    let dense = with_nans();
    let expected = Dense::new(shape, expected.to_vec());
    assert_array(&nanmedian(&dense, &axes).unwrap(), &expected);
    let coo = CooTensor::from_dense(&dense, f64::NAN).unwrap();
    assert_array(&nanmedian(&coo, &axes).unwrap().to_dense().unwrap(), &expected);
    let coo = CooTensor::from_dense(&dense, 0.0).unwrap();
    assert_array(&coo.nanmedian(&axes).unwrap().to_dense().unwrap(), &expected);
    if let Ok(found) = coo.to_csr().unwrap().nanmedian(&axes) {
        assert_array(&found.to_dense().unwrap(), &expected);
    }
}

#[test]
fn over_all_axes() {
    assert_over(Axes::all(), &[2.5], &[]);
    assert_over(Axes::all().keep_dims(), &[2.5], &[1, 1]);
    assert_over(Axes::from([1, 0]), &[2.5], &[]);
    assert_over(Axes::from([0, -1]).keep_dims(), &[2.5], &[1, 1]);
}

#[test]
fn over_one_axis() {
    let rows = [2.5, 6.0, -8.0, f64::NAN, 0.5];
    assert_over(Axes::from(1), &rows, &[5]);
    assert_over(Axes::from(-1).keep_dims(), &rows, &[5, 1]);
    assert_over(Axes::from(0), &[2.0, 4.0, 3.0, 2.0], &[4]);
    assert_over(Axes::from(-2).keep_dims(), &[2.0, 4.0, 3.0, 2.0], &[1, 4]);
}

#[test]
fn over_no_axes() {
    let elements: Vec<f64> = with_nans().iter().copied().collect();
    assert_over(Axes::none(), &elements, &[5, 4]);
    let x = CooTensor::new([3], vec![vec![1, 2]], vec![-0.0, f64::from_bits(0xfff8_0000_0000_0001)], -0.0).unwrap();
    let found = x.nanmedian(Axes::none()).unwrap();
    assert!(found.shares_pattern_with(&x));
    assert_eq!(found.fill().to_bits(), 0);
    assert_eq!(found.values()[0].to_bits(), 0);
    assert_eq!(found.values()[1].to_bits(), f64::NAN.to_bits());
}

#[test]
fn of_rank_0() {
    assert_eq!(nanmedian(&arr0(3u8), Axes::all()).unwrap(), arr0(3.0).into_dyn());
    let x = CooTensor::full([], 3u8).unwrap();
    assert_eq!(x.nanmedian(Axes::all()).unwrap().get(&[]).unwrap(), 3.0);
    assert!(x.stored().nanmedian(Axes::all()).unwrap().get(&[]).unwrap().is_nan());
}

#[test]
fn an_empty_group_gives_nan_whatever_the_fill() {
    let x = CooTensor::full([2, 0], 7i16).unwrap();
    assert_eq!(x.nanmedian(1).unwrap().fill().to_bits(), f64::NAN.to_bits());
    assert!(x.nanmedian(Axes::all()).unwrap().get(&[]).unwrap().is_nan());
    assert_eq!(x.nanmedian(0).unwrap().nnz(), 0);
    assert_eq!(x.nanmedian_index(1).unwrap().1.fill(), u64::MAX);
    assert!(nanmedian(&x.to_dense().unwrap(), 1).unwrap().iter().all(|median: &f64| median.is_nan()));
}

#[test]
fn a_nan_fill_does_not_reach_a_completely_stored_group() {
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 0]], vec![1.0, 3.0, 5.0], f64::NAN).unwrap();
    let (median, position) = x.nanmedian_index(1).unwrap();
    assert_eq!((median.values(), position.values()), (&[2.0, 5.0][..], &[0, 0][..]));
    assert!(median.fill().is_nan());
}

// ---- the named cases: values ----

fn median_of<T: Real>(values: &[T]) -> T::Median {
    nanmedian(&arr1(values), 0).unwrap()[[]]
}

#[test]
fn integers_are_compared_as_they_are_and_averaged_as_f64() {
    assert_eq!(median_of(&[i32::MAX, i32::MAX]), 2147483647.0);
    assert_eq!(median_of(&[i32::MIN, i32::MIN]), -2147483648.0);
    assert_eq!(median_of(&[i64::MAX, i64::MAX]), 9223372036854775807.0);
    assert_eq!(median_of(&[i64::MIN, i64::MAX]), 0.0);
    assert_eq!(median_of(&[u64::MAX, u64::MAX]), 18446744073709551615.0);
    assert_eq!(median_of(&[u8::MAX, u8::MAX]), 255.0);
    assert_eq!(median_of(&[1i16, 2]), 1.5);
    assert_eq!(median_of(&[true, false]), 0.5);
    // As f64 the first two are equal; as they are, the greater one stands first.
    let x = arr1(&[(1i64 << 53) + 1, 1 << 53, i64::MIN]);
    assert_eq!(nanmedian_index(&x, 0).unwrap().1[[]], 1);
}

#[test]
fn means_neither_overflow_nor_keep_a_negative_zero() {
    assert_eq!(median_of(&[f64::MAX, f64::MAX]), f64::MAX);
    assert_eq!(median_of(&[f32::MAX, f32::MAX]), f32::MAX);
    assert_eq!(median_of(&[f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    assert_eq!(median_of(&[f64::INFINITY, 1.0, f64::NEG_INFINITY]), 1.0);
    assert_eq!(median_of(&[f64::NEG_INFINITY, f64::INFINITY]).to_bits(), f64::NAN.to_bits());
    assert_eq!(median_of(&[-0.0f64]).to_bits(), 0);
    assert_eq!(median_of(&[-0.0f64, -0.0]).to_bits(), 0);
    assert_eq!(median_of(&[-1.0f32, 1.0]).to_bits(), 0);
    assert_eq!(median_of(&[-f32::from_bits(1), -0.0]).to_bits(), 0);
}

#[cfg(feature = "half")]
#[test]
fn the_16_bit_floats_are_averaged_in_f32() {
    use half::{bf16, f16};
    assert_eq!(median_of(&[f16::MAX, f16::MAX]), f16::MAX);
    assert_eq!(median_of(&[bf16::MAX, bf16::MAX]), bf16::MAX);
    assert_eq!(median_of(&[f16::from_f32(60000.0), f16::from_f32(65504.0)]), f16::from_f32(62752.0));
    assert_eq!(median_of(&[bf16::from_f32(1.0), bf16::from_f32(2.0), bf16::NAN]), bf16::from_f32(1.5));
}

#[test]
fn the_lower_option_gives_an_element() {
    let x = CooTensor::new([6], vec![vec![0, 1, 2]], vec![3, 5, 4], 9).unwrap();
    let lower = |axes| over(EvenCount::Lower, axes);
    assert_eq!(x.nanmedian(lower(0)).unwrap().get(&[]).unwrap(), 5.0);
    assert_eq!(x.nanmedian(0).unwrap().get(&[]).unwrap(), 7.0);
    assert_eq!(x.stored().nanmedian(lower(0)).unwrap().get(&[]).unwrap(), 4.0);
    let infinities = arr1(&[f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(nanmedian(&infinities, lower(0)).unwrap()[[]], f32::NEG_INFINITY);
}

#[test]
fn functions_and_methods_of_positions_give_the_same() {
    let x = CsrTensor::new([2, 3], vec![0, 2, 3], vec![0, 2, 1], vec![3, 5, 4], 0).unwrap();
    for even in [EvenCount::Mean, EvenCount::Lower] {
        let (median, position) = x.nanmedian_index(over(even, 1)).unwrap();
        assert_eq!((median.values(), position.values()), (&[3.0, 0.0][..], &[0, 0][..]));
        assert_eq!(nanmedian_index(&x, over(even, 1)).unwrap(), (median, position));
        let (median, position) = x.stored().nanmedian_index(over(even, 1)).unwrap();
        assert_eq!((median.values()[1], position.values()), (4.0, &[0, 1][..]));
        assert_eq!(median.values()[0], if even == EvenCount::Lower { 3.0 } else { 4.0 });
        assert_eq!(nanmedian_index(&x.stored(), over(even, 1)).unwrap().1, position);
    }
    let (median, position) = nanmedian_index(&x.stored(), 1).unwrap();
    assert_eq!((median.values(), position.values()), (&[4.0, 4.0][..], &[0, 1][..]));
}

// ---- the named cases: positions ----

#[test]
fn the_first_equal_element_may_be_stored_or_not() {
    let at = |entries: &[u32], values: Vec<i32>, fill: i32| {
        let x = CooTensor::new([6], vec![entries.to_vec()], values, fill).unwrap();
        let dense = nanmedian_index(&x.to_dense().unwrap(), 0).unwrap().1[[]];
        let found = x.nanmedian_index(0).unwrap().1.get(&[]).unwrap();
        assert_eq!(found, dense);
        found
    };
    assert_eq!(at(&[0, 1], vec![5, 5], 0), 2); // behind the entries
    assert_eq!(at(&[1, 2], vec![5, 5], 0), 0); // before them
    assert_eq!(at(&[0, 1, 3], vec![5, 0, 5], 0), 1); // a stored element that holds the fill
    assert_eq!(at(&[0, 1, 4], vec![9, 9, 0], 0), 2); // a gap before it
    assert_eq!(at(&[2, 3, 4, 5], vec![7, 1, 1, 1], 9), 3); // a stored element below the fill
    assert_eq!(at(&[0, 1, 2, 3, 4, 5], vec![9, 8, 7, 6, 5, 4], 0), 3); // no gap
}

#[test]
fn positions_are_row_major_within_the_axes_that_go() {
    let x = CooTensor::new([2, 3, 4], vec![vec![1, 1], vec![0, 2], vec![0, 3]], vec![1.0, 2.0], f64::NAN).unwrap();
    let position = |axes: Axes, cell: &[usize]| x.nanmedian_index(axes).unwrap().1.get(cell).unwrap();
    assert_eq!(position(Axes::all(), &[]), 12);
    assert_eq!(position(Axes::from([0, 2]), &[2]), 7);
    assert_eq!(position(Axes::from([2, 0]), &[2]), 7);
    assert_eq!(position(Axes::from([1, 2]), &[1]), 0);
    assert_eq!(position(Axes::from([1, 2]), &[0]), u64::MAX);
    let csr = x.to_csr().unwrap();
    assert_eq!(csr.nanmedian_index(Axes::all()).unwrap().1.get(&[]).unwrap(), 12);
    assert_eq!(csr.nanmedian_index(-1).unwrap().1.get(&[1, 2]).unwrap(), 3);
}

#[test]
fn zeros_of_both_signs_are_equal() {
    let x = CooTensor::new([5], vec![vec![1, 3]], vec![0.0, 7.0], -0.0f64).unwrap();
    let (median, position) = x.nanmedian_index(0).unwrap();
    assert_eq!((median.get(&[]).unwrap().to_bits(), position.get(&[]).unwrap()), (0, 0));
    let (_, position) = x.stored().nanmedian_index(0).unwrap();
    assert_eq!(position.get(&[]).unwrap(), 1);
}

// ---- the named cases: stored entries only ----

#[test]
fn the_stored_form_is_the_median_with_a_nan_as_fill() {
    check(reductions::<f64, f64>(), |Reduction { x, axes, keep_dims, .. }| {
        let axes = axes_of(&axes, keep_dims);
        let with_nan = coo(&x).with_fill(f64::NAN).nanmedian(&axes).unwrap();
        assert!(nanmedian(&coo(&x).stored(), &axes).unwrap().same_as(&with_nan));
    });
}

#[test]
fn stored_zeros_count_and_a_group_without_a_stored_number_gives_nan() {
    let (rows, columns) = (vec![0, 0, 0, 1], vec![0, 1, 4, 2]);
    let x = CooTensor::new([3, 5], vec![rows, columns], vec![0.0, 0.0, 8.0, f64::NAN], 4.0).unwrap();
    let found = x.stored().nanmedian(1).unwrap();
    assert_eq!(found.nnz(), 2);
    assert_eq!(found.values()[0], 0.0);
    assert!(found.values()[1].is_nan() && found.fill().is_nan());
    assert_eq!(x.stored().nanmedian_index(1).unwrap().1.values(), [0, u64::MAX]);
    let integers = CooTensor::new([3], vec![vec![1]], vec![5u64], 0).unwrap();
    assert_eq!(integers.stored().nanmedian(0).unwrap().get(&[]).unwrap(), 5.0);
}

// ---- both sides of the switches: groups by counting and by sorting, one thread and several ----

#[test]
fn many_groups_are_the_same_as_lanes_of_an_array() {
    for (rows, columns) in [(2000, 9), (9, 2000), (127, 128), (129, 64), (70_000, 3)] {
        let values = (0..rows * columns).map(|at| f64::from((at * 7919 % 101) as u32) - 60.0);
        let mut dense = Array2::from_shape_vec((rows, columns), values.collect()).unwrap();
        dense.map_inplace(|value| *value = if *value > 0.0 { 0.0 } else { *value });
        let x = CooTensor::from_dense(&dense, 0.0).unwrap();
        for axes in [Axes::from(0), Axes::from(1), Axes::all(), Axes::none()] {
            let expected = nanmedian_index(&dense, &axes).unwrap();
            let found = x.nanmedian_index(&axes).unwrap();
            assert_eq!(found.0.to_dense().unwrap(), expected.0);
            assert_eq!(found.1.to_dense().unwrap(), expected.1);
        }
        assert_eq!(x.to_csr().unwrap().nanmedian(1).unwrap().to_dense().unwrap(), nanmedian(&dense, 1).unwrap());
    }
}

#[test]
fn broadcast_views_are_reduced_like_any_other() {
    let row = arr1(&[1.0, f64::NAN, -3.0]);
    let view = row.broadcast((4, 3)).unwrap();
    assert_eq!(view.nanmedian(1).unwrap(), arr1(&[-1.0; 4]).into_dyn());
    assert_array(&view.nanmedian(0).unwrap(), &Dense::new(&[3], vec![1.0, f64::NAN, -3.0]));
    assert_eq!(view.nanmedian_index(Axes::all()).unwrap().1[[]], 2);
}

// ---- dense arrays large enough for samples, tiles and threads ----

/// Numbers in no order, of which one in ten is NaN and some are repeated.
fn mixed(shape: &[usize]) -> ArrayD<f64> {
    let mut state = 7u64;
    ArrayD::from_shape_fn(IxDyn(shape), |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 40 & 1023 < 100 { f64::NAN } else { (state >> 33 & 0xfffff) as f64 - 5e5 }
    })
}

/// Medians, positions and gradients as those of each lane, copied and sorted.
#[track_caller]
fn assert_lane_by_lane(view: ArrayViewD<'_, f64>, axes: &[isize]) {
    let (reduced, kept): (Vec<usize>, Vec<usize>) = (0..view.ndim()).partition(|axis| axes.contains(&(*axis as isize)));
    let lanes_last = view.view().permuted_axes([&kept[..], &reduced].concat());
    let extent: usize = reduced.iter().map(|&axis| view.len_of(Axis(axis))).product();
    let lanes = Array2::from_shape_vec((view.len() / extent, extent), lanes_last.iter().copied().collect()).unwrap();
    let (found, positions) = view.nanmedian_index(axes).unwrap();
    let bits = |x: &ArrayD<f64>| x.mapv(f64::to_bits);
    assert_eq!(bits(&view.nanmedian(axes).unwrap()), bits(&found));
    let upstream = found.mapv(|_| 8.0);
    let dx = grad::nanmedian(&view, &upstream, axes).unwrap();
    assert!(dx.is_standard_layout());
    let dx = dx.permuted_axes([&kept[..], &reduced].concat());
    let mut gradients = dx.iter();
    for (lane, (&found, &position)) in lanes.rows().into_iter().zip(found.iter().zip(&positions)) {
        let mut numbers: Vec<f64> = lane.iter().copied().filter(|value| !value.is_nan()).collect();
        if numbers.is_empty() {
            assert!(found.is_nan() && position == u64::MAX && gradients.by_ref().take(extent).all(|&item| item == 0.0));
            continue;
        }
        numbers.sort_by(f64::total_cmp);
        let (lower, upper) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
        assert_eq!(found, (lower + upper) / 2.0);
        assert_eq!(position, lane.iter().position(|&value| value == lower).unwrap() as u64);
        let equal = |middle: f64| numbers.iter().filter(|&&value| value == middle).count() as f64;
        for value in lane {
            let share = |middle: f64| if *value == middle { 4.0 / equal(middle) } else { 0.0 };
            assert_eq!(*gradients.next().unwrap(), share(lower) + share(upper));
        }
    }
}

#[test]
fn tiles_of_every_layout_are_copied_whole() {
    let x = mixed(&[3, 20, 300]);
    let backwards = x.slice(s![..;-1, ..;2, ..;-1]);
    let inside = x.slice(s![1..3, 2..19, 7..290]);
    for axes in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]] {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            assert_lane_by_lane(x.view().permuted_axes(&order[..]), axes);
            assert_lane_by_lane(backwards.view().permuted_axes(order).into_dyn(), axes);
            assert_lane_by_lane(inside.view().permuted_axes(order).into_dyn(), axes);
        }
    }
}

#[test]
fn long_lanes_are_copied_a_few_at_a_time() {
    let x = mixed(&[70_000, 11]);
    assert_lane_by_lane(x.view(), &[0]);
    assert_lane_by_lane(x.t().into_dyn(), &[0, 1]);
    let one = mixed(&[1, 90]);
    let broadcast = one.broadcast(IxDyn(&[70_000, 90])).unwrap();
    let expected = one.mapv(|value| if value.is_nan() { f64::NAN } else { value });
    assert_array(&broadcast.nanmedian(0).unwrap(), &Dense::new(&[90], expected.iter().copied().collect()));
}

#[test]
fn dense_results_are_the_same_at_any_number_of_threads() {
    let x = mixed(&[3000, 200]);
    let outcome = || {
        let bits = |x: ArrayD<f64>| x.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
        let of = |axes: Axes| {
            let (median, position) = x.nanmedian_index(&axes).unwrap();
            let dx = grad::nanmedian(&x, &median, &axes).unwrap();
            (bits(x.nanmedian(&axes).unwrap()), position, bits(dx))
        };
        [of(Axes::all()), of(Axes::from(0)), of(Axes::from(1))]
    };
    let expected = outcome();
    for threads in [1, 2, 3, 8].into_iter().skip(one_of(2) - 1).step_by(one_of(2)) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(outcome), expected);
    }
}

// ---- errors ----

#[test]
fn axes_that_do_not_fit_are_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let dense = x.to_dense().unwrap();
    assert_eq!(x.nanmedian(2).unwrap_err(), Error::AxisOutOfRange { axis: 2, rank: 2 });
    assert_eq!(dense.nanmedian(-3).unwrap_err(), Error::AxisOutOfRange { axis: -3, rank: 2 });
    assert_eq!(x.nanmedian_index([0, -3]).unwrap_err(), Error::AxisOutOfRange { axis: -3, rank: 2 });
    assert_eq!(x.stored().nanmedian([1, -1]).unwrap_err(), Error::AxisRepeated { axis: 1, rank: 2 });
    assert_eq!(dense.nanmedian_index([1, -1]).unwrap_err(), Error::AxisRepeated { axis: 1, rank: 2 });
    let scalar = CooTensor::full([], 0.0).unwrap();
    assert_eq!(scalar.nanmedian(0).unwrap_err(), Error::AxisOutOfRange { axis: 0, rank: 0 });
    assert_eq!(scalar.stored().nanmedian_index(-1).unwrap_err(), Error::AxisOutOfRange { axis: -1, rank: 0 });
}

#[test]
fn positions_that_cannot_be_counted_are_refused() {
    let x = lacuna::Triplets::<f64, u64>::new_with_index([1 << 40, 1 << 40, 3]).unwrap();
    let x = x.coalesce(lacuna::Duplicates::Sum).unwrap();
    let error = x.nanmedian_index(Axes::all()).unwrap_err();
    assert_eq!(error, Error::Uncountable { operation: "nanmedian_index" });
    assert!(error.to_string().contains("positions are limited to u64::MAX"));
    assert!(matches!(x.stored().nanmedian_index([0, 1]), Err(Error::Uncountable { .. })));
    assert!(x.nanmedian_index([0, 2]).is_ok());
    // Without a group there is nothing to count.
    let pattern = lacuna::CooPattern::<u64>::empty([0, 1 << 40, 1 << 40]).unwrap();
    let none = lacuna::Tensor::from_parts(pattern, vec![], 0.0).unwrap();
    assert_eq!(none.nanmedian_index([1, 2]).unwrap().1.shape(), [0]);
    assert_eq!(
        grad::nanmedian(&none, &none.nanmedian([1, 2]).unwrap(), lacuna::Nanmedian::over([1, 2]).first())
            .unwrap()
            .nnz(),
        0
    );
    assert!(x.nanmedian(Axes::all()).is_ok());
    let longest = lacuna::Triplets::<u8, u64>::new_with_index([usize::MAX]).unwrap();
    assert_eq!(longest.coalesce(lacuna::Duplicates::Sum).unwrap().nanmedian_index(0).unwrap().1.get(&[]).unwrap(), 0);
}

#[test]
fn results_and_lanes_out_of_proportion_are_refused() {
    let x = ArrayD::<f64>::zeros(IxDyn(&[1 << 40, 0]));
    assert!(matches!(x.nanmedian(1), Err(Error::TooLarge { bytes: 0x800_0000_0000, .. })));
    assert_eq!(ArrayD::<f64>::zeros(IxDyn(&[0, 1 << 40])).nanmedian(1).unwrap().len(), 0);
    let lanes = CsrTensor::full([1 << 32, 0, 5], 0.0).unwrap();
    assert!(matches!(lanes.nanmedian(-1), Err(Error::TooLarge { .. })));
    let one = arr1(&[1.0]);
    let view = one.broadcast(1 << 40).unwrap();
    let error = view.nanmedian(0).unwrap_err();
    let (what, instead) = ("the copy of one group", "reduce fewer axes, or reduce before broadcasting the array");
    assert_eq!(error, Error::TooLarge { what, bytes: 1 << 43, limit: 1 << 30, instead });
    assert!(matches!(view.nanmedian_index(0), Err(Error::TooLarge { .. })));
    assert!(matches!(view.nanmedian(Axes::none()), Err(Error::TooLarge { bytes: 0x800_0000_0000, .. })));
    assert!(matches!(one.broadcast(1 << 62).unwrap().any(Axes::none()), Err(Error::TooLarge { .. })));
}

/// A byte that was broadcast to a million lanes of a million each kept one thread busy for a day.
#[test]
fn lanes_that_a_broadcast_view_repeats_are_gone_through_once() {
    let one = ndarray::arr0(3u8);
    let view = one.broadcast((1 << 20, 1 << 20)).unwrap();
    assert_eq!(view.nanmedian(1).unwrap(), ndarray::Array1::from_elem(1 << 20, 3.0).into_dyn());
    let (medians, positions) = view.nanmedian_index(Axes::from(0).keep_dims()).unwrap();
    assert_eq!((medians.shape(), positions.shape()), (&[1, 1 << 20][..], &[1, 1 << 20][..]));
    assert!(medians.iter().all(|&median| median == 3.0) && positions.iter().all(|&position| position == 0));
    let rows = arr2(&[[1.0, 5.0, 3.0], [2.0, 0.0, f64::NAN]]);
    let turned = rows.broadcast((4, 2, 3)).unwrap();
    let turned = turned.permuted_axes([1, 0, 2]);
    assert_eq!(turned.nanmedian(-1).unwrap(), arr2(&[[3.0; 4], [1.0; 4]]).into_dyn());
}

/// Lanes were copied by a call for each axis, also for those of length 1: of a few thousand the stack was no more.
#[test]
fn an_array_of_thousands_of_axes_is_reduced() {
    let mut shape = vec![1; 6000];
    (shape[0], shape[3000], shape[5999]) = (2, 3, 4);
    let x = ArrayD::from_shape_vec(IxDyn(&shape), (0..24).map(f64::from).collect()).unwrap();
    let found = std::thread::Builder::new().stack_size(1 << 20);
    let others: Vec<isize> = (0..6000).filter(|&axis| axis != 3000).collect();
    let found = found.spawn(move || x.nanmedian(others).unwrap()).unwrap().join().unwrap();
    assert_eq!(found.iter().copied().collect::<Vec<_>>(), [7.5, 11.5, 15.5]);
}

/// The gradient of an array without elements has none either; what each of its lanes would share was refused as too
/// much.
#[test]
fn the_gradient_of_nothing_is_nothing() {
    let x = ndarray::Array2::<f64>::zeros((1 << 26, 0));
    let zero = ndarray::arr0(0.0f32);
    let dx = grad::nanmedian(&x, &zero.broadcast(1 << 26).unwrap(), 1).unwrap();
    assert_eq!(dx.shape(), [1 << 26, 0]);
}

/// The axes of a choice are what the tests above believe them to be.
#[test]
fn an_empty_list_reduces_nothing() {
    assert_eq!(axes_of(&AxesChoice::List(vec![]), false), Axes::none());
    assert_eq!(median_of(&[2.0f32; 0]).to_bits(), f32::NAN.to_bits());
}
