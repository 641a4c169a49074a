//! Traces, weighted means and covariances against the reference, on every format and layout.

use crate::generators::{Drawn, SparseSeed, sparse_of_rank, upstream_seeds};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::exact::{Summed, SummedFloat};
use crate::reference::gradients::without_sign;
use crate::reference::reductions::Spread;
use crate::reference::{moves, reductions, structure, weighted};
use crate::support::*;
use lacuna::dynamic::AnyTensor;
use lacuna::lazy::{Chunks, Lazy};
use lacuna::{CooTensor, Error, Real, Ring, average, corrcoef, cov, grad, trace};
use ndarray::{ArrayD, arr1, arr2};
use proptest::prelude::*;

// ---- traces ----

fn traces_are_sums_of_diagonals<T>()
where
    T: Both + Drawn + Summed + Ring<Sum = <T as Summed>::Sum>,
    <T as Summed>::Sum: Both,
{
    check((sparse_of_rank::<T>(2, 10), -3..4isize), |(x, offset)| {
        let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
        let (last, diagonal) = (x.shape.len() - 2, moves::diagonal(&x.shape, offset));
        let (all, stored) = (diagonal.apply(&dense, T::zero()), diagonal.stored(&x.coords()));
        let expected = reductions::reduce(&all, &[last], false, reductions::sum::<T>);
        for_each_layout(&dense, |_, view| match &expected {
            Some(expected) => assert_array(&trace(&view, offset).unwrap(), expected),
            None => assert!(trace(&view, offset).is_err()),
        });
        let cells = structure::reduce(&stored, &[last], false);
        assert_found(trace(&coo, offset), &expected, &cells);
        assert_found(csr.trace(offset), &expected, &cells);
        assert_found(coo.lazy().trace(offset).collect(), &expected, &cells);
        let entries =
            Sparse::new(&all.shape, stored.into_iter().map(|at| (at.clone(), all.get(&at))).collect(), x.fill);
        let zero = T::sum_from(&T::zero().parts()).unwrap();
        let of_entries = reductions::reduce_stored(&entries, &[last], false, reductions::sum::<T>, zero);
        for found in [coo.stored().trace(offset), coo.lazy().stored().trace(offset).collect()] {
            match &of_entries {
                Some(expected) => assert_entries(&found.unwrap(), expected),
                None => assert!(found.is_err(), "{found:?}"),
            }
        }
    });
}

stamp!(traces_are_sums_of_diagonals: int8 = i8, float64 = f64;
    beside uint64 = u64, complex64 = num_complex::Complex<f32>; half float16 = half::f16);

#[test]
fn gradients_of_traces_are_on_the_diagonal() {
    check((sparse_of_rank::<f32>(2, 10), -3..4isize, upstream_seeds::<f64>()), |(x, offset, up)| {
        let up: SparseSeed<f64> = up;
        let (batch, diagonal) = (x.shape.len() - 2, moves::diagonal(&x.shape, offset));
        let up = up.build(&x.shape[..batch]);
        let of_diagonal = diagonal.apply(&Dense::full(&x.shape, 0.0f64), 0.0);
        let spread = of_diagonal.coords().iter().map(|at| without_sign(up.get(&at[..batch]))).collect();
        let expected = diagonal.gradient(&x.shape, &Dense::new(&diagonal.shape, spread)).unwrap();
        let (coo, csr, dense) = (coo(&x), csr(&x), array(&x.to_dense()));
        let upstream = crate::support::csr(&up);
        assert_entries(&grad::trace(&coo, &upstream, offset).unwrap(), &x.pattern_of(&expected));
        assert_entries(&grad::trace(&csr.stored(), &upstream, offset).unwrap(), &x.pattern_of(&expected));
        assert_array(&grad::trace(&dense, &array(&up.to_dense()), offset).unwrap(), &expected);
        let wrong = CooTensor::full([1usize; 11], 1.0).unwrap();
        assert!(matches!(grad::trace(&coo, &wrong, offset), Err(Error::ShapeMismatch { .. })));
    });
}

#[test]
fn graphs_and_run_time_types_have_traces() {
    let x = CooTensor::new([2, 3, 3], vec![vec![0, 0, 1], vec![0, 1, 2], vec![0, 0, 2]], vec![1.0, 3.0, -2.0], 0.5);
    let x = x.unwrap();
    let (lazy, any) = (x.lazy(), AnyTensor::from(x.with_index::<u64>().unwrap()));
    let y = lazy.trace(0);
    let dx = y.gradient(&lazy, &y);
    assert!(dx.collect().unwrap().same_as(&grad::trace(&x, &trace(&x, 0).unwrap(), 0).unwrap()));
    assert_eq!(dx.gradient(&lazy, &lazy).collect().unwrap().values(), [1.0, 0.0, -2.0]);
    let narrow = |found: AnyTensor| found.into_coo::<f64, u32>().unwrap();
    assert!(narrow(any.trace(-1).unwrap()).same_as(&x.trace(-1).unwrap()));
    assert!(narrow(any.stored().trace(0).unwrap()).same_as(&x.stored().trace(0).unwrap()));
    let dx = any.trace_backward(&any.trace(0).unwrap(), 0).unwrap();
    assert!(narrow(dx).same_as(&grad::trace(&x, &x.trace(0).unwrap(), 0).unwrap()));
    let array = x.to_dense().unwrap();
    let dense: ArrayD<f64> = Lazy::from(array.clone()).trace(1).collect().unwrap();
    assert_eq!(dense, trace(&array, 1).unwrap());
    for chunks in [1, 2, 100] {
        let engine = Chunks::memory(1 << 30).positions(chunks);
        assert!(lazy.abs().trace(0).on(engine).collect().unwrap().same_as(&x.abs().unwrap().trace(0).unwrap()));
    }
    assert!(matches!(x.sum(0).unwrap().sum(0).unwrap().trace(0), Err(Error::RankMismatch { .. })));
    assert_eq!(trace(&arr2(&[[i64::MAX, 0], [0, -1]]), 0).unwrap()[[]], i64::MAX - 1);
    assert!(matches!(trace(&arr2(&[[i64::MAX, 0], [0, 1]]), 0), Err(Error::Overflow { operation: "sum", .. })));
    assert_eq!(trace(&arr2(&[[1e100, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1e100]]), 0).unwrap()[[]], 1.0);
    assert_eq!(trace(&arr2(&[[1.0]]), isize::MIN).unwrap()[[]], 0.0);
}

// ---- weighted means ----

/// Returns weights for an axis. In most cases all weights are finite.
fn weights_of<T: Drawn>(drawn: &[T], are_finite: bool, length: usize) -> Vec<T> {
    let finite = |value: T| if are_finite && !value.is_finite() { T::one() } else { value };
    drawn.iter().cycle().take(length).map(|&value| finite(value)).collect()
}

fn weighted_means_are_exact_quotients<T>()
where
    T: Both + Drawn + Summed + Spread + Real<Deviation = <T as Spread>::Spread>,
    <T as Spread>::Spread: Both + SummedFloat,
{
    let drawn = (proptest::collection::vec(T::values(), 1..8), prop::bool::weighted(0.8));
    check((sparse_of_rank::<T>(1, 10), any::<usize>(), drawn), |(x, axis, (drawn, are_finite))| {
        let axis = axis % x.shape.len();
        let weights = weights_of(&drawn, are_finite, x.shape[axis]);
        let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
        let of = |group: &reductions::Group<T>| weighted::average(group, &weights);
        let expected = reductions::reduce(&dense, &[axis], false, of);
        for_each_layout(&dense, |_, view| {
            assert_array(&average(&view, &weights, axis).unwrap(), expected.as_ref().unwrap());
        });
        let cells = structure::reduce(&x.coords(), &[axis], false);
        assert_found(average(&coo, &weights, axis), &expected, &cells);
        assert_found(csr.average(&weights[..], axis as isize - x.shape.len() as isize), &expected, &cells);
        let lazy = Lazy::from(arr1(&weights).into_dyn());
        assert_found(csr.lazy().average(&lazy, axis as isize).collect(), &expected, &cells);
        let nan = <T as Spread>::Spread::narrow(f64::NAN);
        let entries = reductions::reduce_stored(&x, &[axis], false, of, nan).unwrap();
        assert_entries(&average(&coo.stored(), &arr1(&weights), axis).unwrap(), &entries);
        assert_entries(&csr.stored().average(&weights, axis).unwrap(), &entries);
        assert_entries(&coo.lazy().stored().average(&lazy, axis as isize).collect().unwrap(), &entries);
    });
}

stamp!(weighted_means_are_exact_quotients: int64 = i64, float64 = f64;
    beside uint64 = u64, bool = bool, float32 = f32; half float16 = half::f16);

#[test]
fn gradients_of_weighted_means_are_shares() {
    let drawn = (proptest::collection::vec(f32::values(), 1..8), prop::bool::weighted(0.8));
    let cases = (sparse_of_rank::<f32>(1, 10), any::<usize>(), drawn, upstream_seeds::<f64>());
    check(cases, |(x, axis, (drawn, are_finite), up): (_, _, _, SparseSeed<f64>)| {
        let axis = axis % x.shape.len();
        let weights = weights_of(&drawn, are_finite, x.shape[axis]);
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let up = up.build(&shape);
        let shares = |group: &reductions::Group<f32>, g| weighted::average_shares(group, g, &weights);
        let expected = reductions::backward(&x.to_dense(), &[axis], false, &up.to_dense(), shares);
        let (coo, csr, dense) = (coo(&x), csr(&x), array(&x.to_dense()));
        let upstream = crate::support::csr(&up);
        assert_entries(&grad::average(&coo, &upstream, &weights, axis).unwrap(), &x.pattern_of(&expected));
        assert_entries(&grad::average(&csr, &array(&up.to_dense()), &weights, axis).unwrap(), &x.pattern_of(&expected));
        assert_array(&grad::average(&dense, &upstream, &weights, axis).unwrap(), &expected);
        let wrong = CooTensor::full([1usize; 11], 1.0).unwrap();
        assert!(matches!(grad::average(&coo, &wrong, &weights, axis), Err(Error::ShapeMismatch { .. })));
    });
}

#[test]
fn graphs_and_run_time_types_have_weighted_means() {
    let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![4.0, 1.0, 8.0], 0.0).unwrap();
    let (lazy, any) = (x.lazy(), AnyTensor::from(x.with_index::<u64>().unwrap()));
    let (weights, given) = (Lazy::from(arr1(&[1.0, 5.0, 2.0]).into_dyn()), [1.0, 5.0, 2.0]);
    let y = lazy.average(&weights, 1);
    let dx = y.gradient(&lazy, &y);
    let by_hand = grad::average(&x, &x.average(&given, 1).unwrap(), &given, 1).unwrap();
    assert!(dx.collect().unwrap().same_as(&by_hand));
    // The gradient of the gradient: the weighted mean of the entries of x.
    let twice = dx.gradient(&lazy, &lazy).collect().unwrap();
    assert!(twice.same_as(&by_hand));
    let y = lazy.stored().average(&weights, 1);
    let upstream = x.stored().average(&given, 1).unwrap();
    let of_entries = grad::average(&x.stored(), &upstream, &given, 1).unwrap();
    assert_eq!(of_entries.values(), [2.0 / 3.0, 4.0 / 3.0, 8.0]);
    assert!(y.gradient(&lazy, &y).collect().unwrap().same_as(&of_entries));
    let narrow = |found: AnyTensor| found.into_coo::<f64, u32>().unwrap();
    let array = lacuna::dynamic::AnyArray::from(arr1(&given).into_dyn());
    assert!(narrow(any.average(&array, 1).unwrap()).same_as(&x.average(&given, 1).unwrap()));
    assert!(narrow(any.stored().average(&array, 1).unwrap()).same_as(&upstream));
    let dx = any.average_backward(&any.average(&array, 1).unwrap(), &array, 1).unwrap();
    assert!(narrow(dx).same_as(&by_hand));
    for chunks in [1, 2, 100] {
        let engine = Chunks::memory(1 << 30).positions(chunks);
        let found = lazy.abs().average(&weights, 1).on(engine).collect().unwrap();
        assert!(found.same_as(&x.average(&given, 1).unwrap()));
    }
    assert!(matches!(x.average(&[1.0], 1), Err(Error::LengthMismatch { what: "the weights", expected: 3, found: 1 })));
    assert!(matches!(x.average(&arr2(&[[1.0]]), 1), Err(Error::RankMismatch { what: "the weights", .. })));
    assert!(matches!(x.average(&given, 2), Err(Error::AxisOutOfRange { .. })));
    assert!(any.average(&AnyTensor::from(CooTensor::full([3], 1i8).unwrap()), 1).is_err());
    // Sums that a float does not hold.
    let large = arr1(&[f64::MAX, f64::MAX, -f64::MAX]);
    assert_eq!(average(&large, &[3.0, 1.0, 3.0], 0).unwrap()[[]], f64::MAX / 7.0);
    assert_eq!(average(&arr1(&[1e-300, 3e-300]), &[1e-300, 1e-300], 0).unwrap()[[]], 2e-300);
    let (small, weights) = (arr1(&[5e-324, -5e-324]), [5e-324, f64::MIN_POSITIVE]);
    assert_eq!(average(&small, &weights, 0).unwrap()[[]], -5e-324);
    assert_eq!(average(&arr1(&[i64::MAX, i64::MAX]), &[i64::MAX, 1], 0).unwrap()[[]], i64::MAX as f64);
}

// ---- covariances ----

fn covariances_are_exact_quotients<T>()
where
    T: Both + Drawn + Summed + Spread + Real<Deviation = <T as Spread>::Spread>,
    <T as Spread>::Spread: Both + SummedFloat,
{
    check((sparse_of_rank::<T>(2, 2), 0..3u64, prop::bool::weighted(0.7)), |(mut x, ddof, are_finite)| {
        if are_finite {
            x.entries
                .values_mut()
                .chain([&mut x.fill])
                .filter(|value| !value.is_finite())
                .for_each(|it| *it = T::one());
        }
        let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
        for axis in [0, 1] {
            let (variables, count) = (x.shape[axis], x.shape[1 - axis]);
            let at = |variable, k| if axis == 0 { dense.get(&[variable, k]) } else { dense.get(&[k, variable]) };
            let rows: Vec<Vec<T>> = (0..variables).map(|row| (0..count).map(|k| at(row, k)).collect()).collect();
            let pairs = || rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b)));
            let of = |values| Dense::new(&[variables, variables], values);
            let expected = of(pairs().map(|(a, b)| weighted::covariance(a, b, ddof)).collect());
            assert_array(&cov(&coo, axis, ddof).unwrap(), &expected);
            assert_array(&csr.cov(axis as isize - 2, ddof).unwrap(), &expected);
            for_each_layout(&dense, |_, view| assert_array(&cov(&view, axis, ddof).unwrap(), &expected));
            assert_array(&csr.lazy().cov(axis as isize, ddof).collect().unwrap(), &expected);
            let expected = of(pairs().map(|(a, b)| weighted::correlation(a, b)).collect());
            assert_array(&csr.corrcoef(axis).unwrap(), &expected);
            assert_array(&corrcoef(&coo, axis).unwrap(), &expected);
            for_each_layout(&dense, |_, view| assert_array(&corrcoef(&view, axis).unwrap(), &expected));
            assert_array(&coo.lazy().corrcoef(axis as isize).collect().unwrap(), &expected);
        }
    });
}

stamp!(covariances_are_exact_quotients: int64 = i64, float64 = f64;
    beside uint64 = u64, bool = bool, float32 = f32; half float16 = half::f16);

/// Long rows, whose sums floats hold, and rows of many magnitudes, whose sums need all digits.
#[test]
fn covariances_of_long_rows_have_every_digit() {
    let value = prop_oneof![
        4 => (-1000..1000i32).prop_map(|value| f64::from(value) / 8.0),
        1 => -1e300..1e300f64,
        1 => (-300..300i32, -1.0..1.0f64).prop_map(|(exponent, value)| value * 10f64.powi(exponent)),
    ];
    let rows = proptest::collection::vec((value.clone(), value), 0..300);
    check((rows, 0..3u64, any::<bool>()), |(pairs, ddof, is_small)| {
        let small = |value: f64| if is_small { value.clamp(-100.0, 100.0) } else { value };
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().map(|(a, b)| (small(a), small(b))).unzip();
        let x = ndarray::Array2::from_shape_fn((2, a.len()), |(row, at)| [&a, &b][row][at]);
        let sparse = CooTensor::from_dense(&x, 0.0).unwrap();
        let expected = |(left, right): (usize, usize)| weighted::covariance([&a, &b][left], [&a, &b][right], ddof);
        let correlation = |(left, right): (usize, usize)| weighted::correlation([&a, &b][left], [&a, &b][right]);
        for found in [cov(&x, 0, ddof).unwrap(), sparse.cov(0, ddof).unwrap(), cov(&x.t(), 1, ddof).unwrap()] {
            assert_array(&found, &Dense::new(&[2, 2], [(0, 0), (0, 1), (1, 0), (1, 1)].map(expected).to_vec()));
        }
        for found in [corrcoef(&x, 0).unwrap(), sparse.corrcoef(0).unwrap()] {
            assert_array(&found, &Dense::new(&[2, 2], [(0, 0), (0, 1), (1, 0), (1, 1)].map(correlation).to_vec()));
        }
    });
}

#[test]
fn covariances_name_what_they_cannot_do() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![1.0, -1.0], 0.0).unwrap();
    assert!(matches!(x.cov(2, 0), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(cov(&arr1(&[1.0]), 0, 0), Err(Error::RankMismatch { expected: 2, found: 1, .. })));
    assert!(matches!(corrcoef(&x.stored(), 0), Err(Error::Argument { operation: "corrcoef", .. })));
    assert!(x.lazy().cov(2, 0).check().is_err());
    let wide = CooTensor::new([1 << 20, 1 << 20], vec![vec![0], vec![2]], vec![1.0], 0.0).unwrap();
    assert!(matches!(wide.cov(0, 0), Err(Error::TooLarge { .. })));
    // A long axis of observations costs nothing.
    let long = CooTensor::new([1, 1 << 31], vec![vec![0], vec![1 << 30]], vec![2.0], 0.0).unwrap();
    let n = f64::from(1u32 << 31);
    assert_eq!(long.cov(0, 0).unwrap()[[0, 0]], 4.0 * (n - 1.0) / (n * n));
    assert_eq!(*cov(&ndarray::Array2::<f64>::zeros((0, 3)), 0, 0).unwrap().shape(), [0, 0]);
    assert!(cov(&ndarray::Array2::<f64>::zeros((1, 0)), 0, 0).unwrap()[[0, 0]].is_nan());
    let any = AnyTensor::from(x.with_index::<u64>().unwrap());
    let array = |found: ArrayD<f64>| lacuna::dynamic::AnyArray::from(found);
    assert_eq!(any.cov(0, 1).unwrap(), array(x.cov(0, 1).unwrap()));
    assert_eq!(any.corrcoef(0).unwrap(), array(x.corrcoef(0).unwrap()));
    assert!(any.stored().cov(0, 1).is_err());
}

#[test]
fn a_broadcast_array_is_not_copied_without_bound() {
    let one = ndarray::arr0(1.0);
    let vast = one.broadcast((2, 1 << 31)).unwrap();
    assert!(matches!(lacuna::cov(&vast, 0, 0), Err(lacuna::Error::TooLarge { .. })));
}

/// The fast rounding of a product without an exponent keeps the sign of what underflows.
#[cfg(feature = "half")]
#[test]
fn a_product_of_halves_that_underflows_keeps_its_sign() {
    let x = ndarray::arr1(&[half::f16::from_f32(-1e-4), half::f16::from_f32(1e-4)]);
    let found = lacuna::prod(&x, lacuna::Axes::all()).unwrap();
    assert_eq!(found.first().unwrap().to_bits(), half::f16::NEG_ZERO.to_bits());
    let x = ndarray::arr1(&[half::bf16::from_f32(-1e-30), half::bf16::from_f32(1e-30)]);
    assert_eq!(lacuna::cumprod(&x, 0).unwrap()[[1]].to_bits(), half::bf16::NEG_ZERO.to_bits());
}
