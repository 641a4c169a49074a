//! Dense products at the positions of a pattern against the reference, in both formats, with their gradients.

use std::collections::BTreeSet;

use crate::generators::{Drawn, DrawnGrad, SparseSeed, seeds, shapes_of_rank, upstream_seeds};
use crate::reference::dense::{Dense, Sparse, size};
use crate::reference::terms::{Multiplies, sddmm as expected_dots, sddmm_gradient, term};
use crate::support::*;
use lacuna::{CooPattern, CooTensor, Error, Float, Ring, Tensor, grad};
use ndarray::{Array2, ArrayD, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;

/// A pattern with values, its factors, and an upstream gradient.
#[derive(Clone, Debug)]
struct Case<T> {
    x: Sparse<T>,
    l: Dense<T>,
    r: Dense<T>,
    upstream: Sparse<T>,
}

/// Half of the time all are zeros and ones, so that few sums of integers overflow; batch axes of the factors are there,
/// have length 1, or are left out.
#[allow(clippy::type_complexity)] // parts of a case, nothing to be named
fn cases<T: Drawn>(upstream: BoxedStrategy<SparseSeed<T>>) -> BoxedStrategy<Case<T>> {
    let values = || vec(T::values(), 1..=40);
    let parts = (shapes_of_rank(2, 4), 0..=20usize, seeds::<T>(), values(), values(), upstream, any::<bool>(), 0..3u8);
    let build = |(shape, width, x, l, r, upstream, tame, batches): (
        Vec<usize>,
        _,
        SparseSeed<T>,
        Vec<T>,
        Vec<T>,
        SparseSeed<T>,
        _,
        _,
    )| {
        let tamed = |value: T| match tame {
            true if value.truthy() => T::one(),
            true => T::zero(),
            false => value,
        };
        let batch = shape.len() - 2;
        let factor = |values: &[T], rows: usize, batches: u8| {
            let own = shape[..batch].iter().map(|&length| if batches == 1 { 1 } else { length });
            let own = own.skip(if batches == 2 { batch } else { 0 }).chain([rows, width]).collect::<Vec<_>>();
            Dense::new(&own, values.iter().cycle().map(|&value| tamed(value)).take(size(&own)).collect())
        };
        let mut x = x.build(&shape);
        x.entries.values_mut().for_each(|value| *value = tamed(*value));
        let (l, r) = (factor(&l, shape[batch], batches), factor(&r, shape[batch + 1], (batches + 1) % 3));
        let upstream = upstream.build(&x.shape);
        Case { x, l, r, upstream }
    };
    parts.prop_map(build).boxed()
}

fn dots_equal_those_of_the_reference<T: Both + Drawn + Multiplies + Ring>() {
    check(cases::<T>(seeds()), |case| {
        let (coo, csr) = (coo(&case.x), csr(&case.x));
        let expected = expected_dots(&case.x, &case.l, &case.r);
        for_each_layout(&case.l, |_, l| match &expected {
            Some(expected) => {
                let r = array(&case.r);
                let found = coo.pattern().sddmm(&l, &r).unwrap();
                assert_entries(&found, expected);
                assert!(found.shares_pattern_with(&coo));
                assert_entries(&csr.pattern().sddmm(&l, &r).unwrap(), expected);
            }
            None => {
                let refused = csr.pattern().sddmm(&l, &array(&case.r));
                assert!(matches!(refused, Err(Error::Overflow { operation: "sddmm", .. })), "{refused:?}");
            }
        });
        let times = expected.and_then(|expected| products(&case.x, &expected));
        let stored = BTreeSet::from_iter(case.x.entries.keys().cloned());
        let (l, r) = (array(&case.l), array(&case.r));
        assert_found(coo.stored().sddmm(&l, &r), &times.as_ref().map(Sparse::to_dense), &stored);
        assert_found(csr.stored().sddmm(&l, &r), &times.as_ref().map(Sparse::to_dense), &stored);
    });
}

/// The products of the entries of two arrays that store the same, each rounded.
fn products<T: Multiplies>(x: &Sparse<T>, y: &Sparse<T>) -> Option<Sparse<T>> {
    let product = |(at, &value): (&Vec<usize>, &T)| Some((at.clone(), T::narrowed(term(&[value, y.entries[at]]))?));
    let entries = x.entries.iter().map(product).collect::<Option<_>>()?;
    Some(Sparse { shape: x.shape.clone(), entries, fill: T::zero() })
}

/// The gradients times the entries of an array that stores the same: zero of a zero, whatever stands there.
fn received<T: Multiplies>(gradient: &Sparse<T>, y: &Sparse<T>) -> Sparse<T> {
    let mut all = gradient.clone();
    all.entries.values_mut().for_each(|value| *value = T::zero());
    all.entries.extend(products(&counted(gradient, gradient), y).unwrap().entries);
    all
}

/// The weights of which the gradient is not zero.
fn counted<T: Multiplies>(weights: &Sparse<T>, gradient: &Sparse<T>) -> Sparse<T> {
    let mut counted = weights.clone();
    counted.entries.retain(|at, _| gradient.entries[at].truthy());
    counted
}

for_all_types!(dots_equal_those_of_the_reference);

fn gradients_equal_those_of_the_reference<T: Both + DrawnGrad + Multiplies + Float>() {
    check(cases::<T>(upstream_seeds()), |case| {
        let (l, r) = (array(&case.l), array(&case.r));
        let gradient = case.x.pattern_of(&case.upstream.to_dense());
        let dots = expected_dots(&case.x, &case.l, &case.r).unwrap();
        let of_x = received(&gradient, &dots);
        let weights = counted(&received(&gradient, &case.x), &gradient);
        let (of_l, of_r) = both_gradients(&weights, &case);
        let (dx, dl, dr) = grad::sddmm(&coo(&case.x).stored(), &l, &r, &coo(&case.upstream)).unwrap();
        assert_entries(&dx, &of_x);
        assert_array(&dl, &of_l);
        assert_array(&dr, &of_r);
        let whole = array(&case.upstream.to_dense());
        let (dx, dl, _) = grad::sddmm(&csr(&case.x).stored(), &l, &r, &whole).unwrap();
        assert_entries(&dx, &of_x);
        assert_array(&dl, &of_l);
        let (of_l, of_r) = both_gradients(&counted(&gradient, &gradient), &case);
        let (dl, dr) = grad::pattern_sddmm(csr(&case.x).pattern(), &l, &r, &csr(&case.upstream)).unwrap();
        assert_array(&dl, &of_l);
        assert_array(&dr, &of_r);
    });
}

fn both_gradients<T: Multiplies>(weights: &Sparse<T>, case: &Case<T>) -> (Dense<T>, Dense<T>) {
    let of_l = sddmm_gradient(weights, &case.l, &case.r, true);
    (of_l, sddmm_gradient(weights, &case.r, &case.l, false))
}

stamp!(gradients_equal_those_of_the_reference: float64 = f64; half float16 = half::f16);

/// Eight lanes, and what is left of them: the order shows in the last bits.
#[test]
fn dots_are_summed_in_eight_lanes() {
    let terms = [1e16, 1.0, -1e16, 3.0, 1e-3, 7.0, -2e15, 0.5, 2.0, 1e16, -3.0];
    let (l, r) = (arr2(&[terms]), Array2::ones((1, 11)));
    let pattern = CooPattern::<u32>::new([1, 1], 1, vec![vec![0], vec![0]]).unwrap();
    let found = pattern.sddmm(&l, &r).unwrap().values()[0];
    let lanes: Vec<f64> = (0..8).map(|lane| (lane..11).step_by(8).fold(0.0, |sum, k| sum + terms[k])).collect();
    let pairs: Vec<f64> = lanes.chunks(2).map(|pair| pair[0] + pair[1]).collect();
    assert_eq!(found, (pairs[0] + pairs[1]) + (pairs[2] + pairs[3]));
    assert_ne!(found, terms.iter().sum::<f64>(), "the terms tell orders apart");
}

#[test]
fn what_is_not_finite_stays_where_it_stands() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![0.0, 2.0], 7.0).unwrap();
    let (l, r) = (arr2(&[[f64::INFINITY, 1.0], [1.0, 1.0]]), arr2(&[[1.0, 1.0], [0.0, f64::NAN]]));
    let dots = x.pattern().sddmm(&l, &r).unwrap();
    assert_eq!(dots.values()[0], f64::INFINITY);
    assert!(dots.values()[1].is_nan() && dots.fill().to_bits() == 0);
    let found = x.stored().sddmm(&l, &r).unwrap();
    assert!(found.values().iter().all(|value| value.to_bits() == f64::NAN.to_bits()), "{found:?}");
    assert_eq!(found.fill().to_bits(), 0);
    let minus = arr2(&[[-1.0, 0.0], [-0.0, 0.0]]);
    let zeros = x.pattern().sddmm(&minus, &arr2(&[[0.0, 0.0], [1.0, -1.0]])).unwrap();
    assert_eq!(zeros.values().iter().map(|value: &f64| value.to_bits()).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let pattern = CooPattern::<u32>::new([2, 3, 4], 1, vec![vec![0], vec![0], vec![0]]).unwrap();
    let zeros = |shape: &[usize]| ArrayD::<f64>::zeros(shape);
    let found = |l: &[usize], r: &[usize]| pattern.sddmm(&zeros(l), &zeros(r)).map(|_| ());
    assert_eq!([found(&[2, 3, 5], &[2, 4, 5]), found(&[1, 3, 0], &[4, 0])], [Ok(()), Ok(())]);
    for (l, r) in [([2, 4, 5], [2, 4, 5]), ([3, 3, 5], [2, 4, 5]), ([2, 1, 5], [2, 4, 5]), ([2, 3, 5], [2, 1, 5])] {
        assert!(matches!(found(&l, &r), Err(Error::ShapeMismatch { .. })), "{l:?} {r:?}");
    }
    for (l, r) in [(&[3][..], &[4, 5][..]), (&[1, 2, 3, 5], &[4, 5]), (&[], &[4, 5])] {
        assert!(matches!(found(l, r), Err(Error::ShapeMismatch { .. })), "{l:?} {r:?}");
    }
    let refused = found(&[2, 3, 5], &[2, 4, 6]).unwrap_err();
    assert_eq!(refused.to_string(), "a row of the right factor must have length 5, found 6");
    assert!(matches!(found(&[2, 3, 6], &[2, 4, 5]), Err(Error::LengthMismatch { .. })));
    let line = CooPattern::<u32>::new([4], 0, vec![vec![]]).unwrap();
    assert!(matches!(line.sddmm(&arr1(&[1.0]), &arr1(&[1.0])), Err(Error::Argument { operation: "sddmm", .. })));
    let refused = grad::pattern_sddmm(&pattern, &zeros(&[3, 5]), &zeros(&[4, 5]), &zeros(&[2, 3, 5]));
    assert!(matches!(refused, Err(Error::ShapeMismatch { what: "the upstream gradient", .. })));
}

#[test]
fn the_first_sum_of_integers_that_does_not_fit_is_named() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1, 1], vec![0, 0, 1]], vec![1i8, 1, 3], 0).unwrap();
    let (l, r) = (arr2(&[[1i8, 2], [100, 100]]), arr2(&[[1i8, -1], [1, 1]]));
    let Err(Error::Overflow { operation: "sddmm", coords, dtype: "int8" }) = x.pattern().sddmm(&l, &r) else {
        panic!()
    };
    assert_eq!(coords, Some(vec![1, 1]));
    let x = CooTensor::new([2, 2], vec![vec![1], vec![0]], vec![3i8], 0).unwrap();
    let (l, r) = (arr2(&[[0i8, 0], [100, 100]]), arr2(&[[1i8, 0], [0, 0]]));
    let refused = x.stored().sddmm(&l, &r).unwrap_err();
    assert_eq!(refused.to_string().split(" does").next(), Some("mul at [1, 0]"));
}

/// Batches of which no machine holds a dense form.
#[test]
fn a_vast_pattern_costs_its_entries() {
    let shape = [1 << 40, 1 << 20, 3];
    let pattern = CooPattern::<u64>::new(shape, 2, vec![vec![5, 1 << 39], vec![1, 1 << 19], vec![2, 0]]).unwrap();
    let l = ndarray::Array::from_shape_fn((1 << 20, 2), |(row, k)| (row + k) as f64);
    let r = arr2(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let found: Tensor<_, f64> = pattern.sddmm(&l, &r).unwrap();
    let row = (1 << 19) as f64;
    assert_eq!(found.values(), [5.0 + 2.0 * 6.0, row + 2.0 * (row + 1.0)]);
}
