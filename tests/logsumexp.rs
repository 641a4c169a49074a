//! Logarithms of sums of exponentials and their gradient against the reference, and their corners.

use crate::generators::{Drawn, DrawnGrad, reductions};
use crate::reference::exact::SummedFloat;
use crate::reference::reductions as reference;
use crate::support::*;
use lacuna::lazy::Chunks;
use lacuna::{Axes, CooTensor, CsrTensor, Error, Float, logsumexp};
use ndarray::{Array2, arr0, arr1};
use std::convert::identity;

fn results_equal_the_dense_result<T: Both + Drawn + Float + SummedFloat>() {
    check(reductions::<T, f64>(), |case| {
        check_reduction!(&case, logsumexp, identity, reference::logsumexp, T::narrow(f64::NEG_INFINITY));
    });
}

stamp!(results_equal_the_dense_result: float64 = f64; beside float32 = f32; half float16 = half::f16);

fn gradients_equal_the_dense_ones<T, G>()
where
    T: Both + Drawn + Float + SummedFloat,
    G: Both + DrawnGrad + Float + SummedFloat,
{
    check(reductions::<T, G>(), |case| {
        check_gradient!(&case, logsumexp, identity::<Axes>, reference::weights);
    });
}

#[test]
fn gradients_of_floats_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<f64, f64>();
}

#[test]
fn narrow_gradients_of_narrow_floats_equal_the_dense_ones() {
    gradients_equal_the_dense_ones::<f32, f32>();
}

fn row(values: &[f64], fill: f64, length: usize) -> CooTensor<f64> {
    let columns = (0..values.len() as u32).collect();
    CooTensor::new([length], vec![columns], values.to_vec(), fill).unwrap()
}

fn of(values: &[f64], fill: f64, length: usize) -> f64 {
    logsumexp(&row(values, fill, length), 0).unwrap().get(&[]).unwrap()
}

#[test]
fn infinities_and_nothing() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    assert_eq!(of(&[], 0.0, 0), -inf);
    assert_eq!(of(&[-inf, -inf], -inf, 5), -inf);
    assert_eq!(of(&[1.0, inf], -inf, 3), inf);
    assert_eq!(of(&[1.0], inf, 3), inf);
    assert!(of(&[inf, nan], 0.0, 2).is_nan() && of(&[inf], nan, 2).is_nan());
    assert_eq!(row(&[], 0.0, 0).stored().logsumexp(0).unwrap().fill(), -inf);
    // No exponential overflows or vanishes.
    assert_eq!(of(&[1e300, 1e300], 0.0, 9), 1e300);
    assert_eq!(of(&[-1000.0], -1000.0, 2), -1000.0 + 2f64.ln());
    // A zero has no sign.
    assert_eq!(of(&[-0.0], 5.0, 1).to_bits(), 0);
}

#[test]
fn unstored_positions_count_by_their_number() {
    let vast = CooTensor::new([1 << 31, 1 << 31], vec![vec![3], vec![5]], vec![2.0f64], 0.0).unwrap();
    let found = vast.logsumexp(Axes::all()).unwrap().get(&[]).unwrap();
    assert!((found - 62.0 * 2f64.ln()).abs() < 1e-12, "{found}");
    let wide = CooTensor::full([1 << 31, 1 << 31, 1 << 31, 1 << 31, 1 << 31], 0.0f64).unwrap();
    assert!(matches!(wide.logsumexp(Axes::all()), Err(Error::Uncountable { operation: "logsumexp" })));
    let nothing = wide.with_fill(f64::NEG_INFINITY).logsumexp(Axes::all()).unwrap();
    assert_eq!(nothing.get(&[]).unwrap(), f64::NEG_INFINITY);
}

#[test]
fn groups_by_label_are_those_of_their_positions() {
    let x = row(&[0.5, -2.0, 3.0, 1.0], 0.25, 6);
    let found = logsumexp(&x, Axes::by(0, &[1, 0, 1, 0, 3, 1])).unwrap();
    let dense = logsumexp(&x.to_dense().unwrap(), Axes::by(0, &[1, 0, 1, 0, 3, 1])).unwrap();
    let expected = [of(&[-2.0, 1.0], 0.0, 2), of(&[0.5, 3.0, 0.25], 0.0, 3), f64::NEG_INFINITY, 0.25];
    assert_eq!(found.to_dense().unwrap(), arr1(&expected).into_dyn());
    assert_eq!(dense, arr1(&expected).into_dyn());
}

/// A group that is shared by threads or read in chunks has the bits of one that is read at once.
#[test]
fn long_groups_have_the_same_bits_at_any_number_of_threads_and_in_chunks() {
    let values: Vec<f64> = (0..300_000).map(|at| (at * 37 % 1009) as f64 / 64.0 - 6.5).collect();
    let x = row(&values, 0.5, 400_000);
    let csr: CsrTensor<f64> = x.reshape([1, 400_000]).unwrap().to_csr().unwrap();
    let run = || (x.logsumexp(0).unwrap().get(&[]).unwrap(), csr.logsumexp(1).unwrap().get(&[0]).unwrap());
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
    let (one, of_csr) = on(1);
    assert_eq!(one.to_bits(), of_csr.to_bits());
    for threads in [2, 3, 7] {
        assert_eq!(on(threads).0.to_bits(), one.to_bits(), "{threads} threads");
    }
    let in_chunks = x.lazy().logsumexp(0).on(Chunks::memory(1 << 20)).collect().unwrap();
    assert_eq!(in_chunks.get(&[]).unwrap().to_bits(), one.to_bits());
}

#[test]
fn gradients_are_central_differences() {
    let values = [0.5, -1.25, 3.0, 2.0];
    let x = row(&values, 0.75, 6);
    for (is_stored, given) in [
        (false, lacuna::grad::logsumexp(&x, &arr0(1.5), 0).unwrap()),
        (true, lacuna::grad::logsumexp(&x.stored(), &arr0(1.5), 0).unwrap()),
    ] {
        let step = 1e-6;
        for entry in 0..values.len() {
            let moved = |by: f64| {
                let mut x = x.clone();
                x.values_mut().unwrap()[entry] += by;
                let found = if is_stored { x.stored().logsumexp(0) } else { x.logsumexp(0) };
                1.5 * found.unwrap().get(&[]).unwrap()
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!((slope - given.values()[entry]).abs() < 1e-8, "{slope} {given:?}");
        }
    }
}

/// The second gradient is the derivative of the softmax.
#[test]
fn second_gradients_are_those_of_the_softmax() {
    let dense = Array2::from_shape_fn((3, 4), |(i, j)| 1.0 + (i * 3 + j * j) as f64 / 8.0);
    let x = CooTensor::from_dense(&dense, 0.0).unwrap();
    let lazy = x.lazy();
    let ones = CooTensor::full([3], 1.0).unwrap().lazy();
    let first = lazy.logsumexp(1).gradient(&lazy, &ones);
    let found = first.gradient(&lazy, &lazy).collect().unwrap();
    let softmax = lazy.stored().softmax(1);
    let expected = softmax.gradient(&lazy, &lazy).collect().unwrap();
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}
