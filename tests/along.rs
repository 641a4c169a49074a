//! Differences and scans along an axis against the reference, on every format and layout.

use crate::generators::{Drawn, SparseSeed, sparse_of_rank, upstream_seeds};
use crate::reference::dense::Sparse;
use crate::reference::exact::{Summed, SummedFloat};
use crate::reference::gradients::without_sign;
use crate::reference::reductions::{self, Multiplied, along, prefixes};
use crate::reference::scalar::RealScalar;
use crate::reference::zip::{self as reference, Computes, Outcome, Refused};
use crate::support::*;
use lacuna::dynamic::AnyTensor;
use lacuna::lazy::{Chunks, Lazy};
use lacuna::{
    CooTensor, Element, Error, Float, Numeric, Pattern, Real, Result, Ring, Tensor, cumprod, cumsum, diff, grad,
    nancumprod, nancumsum, sort,
};
use ndarray::{ArrayD, arr1, arr2};
use proptest::prelude::*;

/// Returns the cause of an error of a graph.
fn cause<V>(found: Result<V>) -> Result<V> {
    found.map_err(|error| if let Error::Lazy { cause, .. } = error { *cause } else { error })
}

#[track_caller]
fn assert_outcome<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Outcome<T>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { operation, coords, .. }), Err(Refused::At(_, expected))) => {
            assert_eq!((operation, &coords), ("diff", expected));
        }
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

/// Returns the tensor with the canonical NaN in place of each NaN.
fn without_payloads<T: Both>(x: CooTensor<T, u64>) -> CooTensor<T, u64> {
    let values = x.values().iter().map(|value| value.canonical()).collect();
    CooTensor::from_parts(x.pattern().clone(), values, x.fill().canonical()).unwrap()
}

/// Returns the entries with the canonical NaN in place of each NaN.
fn canonical<T: Both>(mut x: Sparse<T>) -> Sparse<T> {
    x.entries.values_mut().for_each(|value| *value = value.canonical());
    x.fill = x.fill.canonical();
    x
}

fn differences_are_those_of_the_definition<T: Both + Drawn + Numeric + Computes>()
where
    AnyTensor: From<CooTensor<T, u64>>,
{
    check((sparse_of_rank::<T>(1, 10), any::<usize>(), 0..4usize), |(x, axis, n)| {
        let axis = axis % x.shape.len();
        let (dense, coo, csr) = (x.to_dense(), coo(&x), csr(&x));
        let expected = reference::diff(&x, n, axis, false, |value: T| Element::as_implicit(value));
        assert_outcome(diff(&coo, n, axis), &expected);
        assert_outcome(csr.diff(n, axis as isize - x.shape.len() as isize), &expected);
        assert_outcome(cause(coo.lazy().diff(n, axis as isize).collect()), &expected);
        let any = AnyTensor::from(coo.with_index::<u64>().unwrap());
        assert_outcome(any.diff(n, axis).and_then(|found| found.into_coo::<T, u64>()), &expected);
        let of_views = reference::diff(&x, n, axis, true, |value| value);
        assert_outcome(diff(&coo.stored(), n, axis), &of_views);
        assert_outcome(csr.stored().diff(n, axis), &of_views);
        assert_outcome(cause(csr.lazy().stored().diff(n, axis as isize).collect()), &of_views);
        // A dynamically typed half is subtracted in a wider type, which does not keep the payload of a NaN.
        let found = any.stored().diff(n, axis).and_then(|found| found.into_coo::<T, u64>()).map(without_payloads);
        assert_outcome(found, &of_views.map(canonical));
        let all =
            Sparse::new(&x.shape, dense.coords().into_iter().map(|at| (at.clone(), dense.get(&at))).collect(), x.fill);
        // Every position of the operand is stored, so the fill does not count.
        let expected = reference::diff(&all, n, axis, true, |value| value);
        for_each_layout(&dense, |_, view| match (diff(&view, n, axis), &expected) {
            (Ok(found), Ok(expected)) => assert_array(&found, &expected.to_dense()),
            (found, expected) => assert!(found.is_err() && expected.is_err(), "{found:?} is not {expected:?}"),
        });
    });
}

stamp!(differences_are_those_of_the_definition: int8 = i8, float64 = f64;
    beside uint64 = u64, complex64 = num_complex::Complex<f32>; half float16 = half::f16);

#[test]
fn gradients_of_differences_are_those_of_the_definition() {
    check((sparse_of_rank::<f32>(1, 10), any::<usize>(), 0..4usize, upstream_seeds::<f64>()), |(x, axis, n, up)| {
        let up: SparseSeed<f64> = up;
        let axis = axis % x.shape.len();
        let mut shape = x.shape.clone();
        shape[axis] = shape[axis].saturating_sub(n);
        let up = up.build(&shape);
        let found = reference::diff_backward(&x.shape, &up.to_dense(), n, axis);
        let expected = found.map(without_sign);
        let (coo, csr, dense) = (coo(&x), csr(&x), array(&x.to_dense()));
        let upstream = crate::support::csr(&up);
        assert_entries(&grad::diff(&coo, &upstream, n, axis).unwrap(), &x.pattern_of(&expected));
        assert_entries(&grad::diff(&csr.stored(), &upstream, n, axis).unwrap(), &x.pattern_of(&expected));
        assert_array(&grad::diff(&dense, &array(&up.to_dense()), n, axis).unwrap(), &expected);
        let wrong = CooTensor::full([1usize; 11], 1.0).unwrap();
        assert!(matches!(grad::diff(&coo, &wrong, n, axis), Err(Error::ShapeMismatch { .. })));
    });
}

/// Graphs have the gradient of a difference, and the gradient of that gradient.
#[test]
fn graphs_differentiate_differences_twice() {
    let x = CooTensor::new([2, 4], vec![vec![0, 0, 1], vec![0, 2, 3]], vec![1.0, 3.0, -2.0], 0.0).unwrap();
    let lazy = x.lazy();
    let y = lazy.diff(2, 1);
    let dx = y.gradient(&lazy, &y);
    assert!(dx.collect().unwrap().same_as(&grad::diff(&x, &diff(&x, 2, 1).unwrap(), 2, 1).unwrap()));
    // The gradient of <D x, D x> / 2 is Dᵀ D x, and its gradient by x with upstream x is Dᵀ D x again.
    let twice = dx.gradient(&lazy, &lazy).collect().unwrap();
    assert_eq!(twice.values(), dx.collect().unwrap().values());
    let array = arr2(&[[1.0, 4.0, 9.0], [2.0, 2.0, 2.0]]).into_dyn();
    let lazy = Lazy::from(array.clone());
    let dx: ArrayD<f64> = lazy.diff(1, 0).gradient(&lazy, &lazy.diff(1, 0)).collect().unwrap();
    assert_eq!(dx, grad::diff(&array, &diff(&array, 1, 0).unwrap(), 1, 0).unwrap());
}

/// Chunks of other axes compute the same bits, and an axis that is split is read entirely.
#[test]
fn chunks_have_the_differences_of_the_whole() {
    let x = CooTensor::<f64>::random([7, 9], 20, 3).unwrap();
    for chunks in [1, 2, 100] {
        let engine = Chunks::memory(1 << 30).positions(chunks);
        assert!(
            x.lazy().abs().diff(1, 1).on(engine).collect().unwrap().same_as(&diff(&x.abs().unwrap(), 1, 1).unwrap())
        );
        let engine = Chunks::memory(1 << 30).positions(chunks);
        assert!(x.lazy().diff(1, 0).on(engine).collect().unwrap().same_as(&diff(&x, 1, 0).unwrap()));
    }
}

#[test]
fn differences_of_short_axes_are_empty() {
    let x = CooTensor::new([3], vec![vec![1]], vec![5i8], 0).unwrap();
    assert_eq!(diff(&x, 1, 0).unwrap().entries(), [(vec![0], 5), (vec![1], -5)]);
    assert_eq!(x.diff(2, 0).unwrap().entries(), [(vec![0], -10)]);
    for n in [3, 4, 16] {
        assert_eq!(x.diff(n, 0).unwrap().shape()[..], [0]);
        assert_eq!(diff(&arr1(&[1, 2, 4]), n, 0).unwrap().shape(), [0]);
    }
    assert_eq!(diff(&arr1(&[1, 2, 4]), 0, 0).unwrap(), arr1(&[1, 2, 4]).into_dyn());
    assert!(x.diff(0, 0).unwrap().shares_pattern_with(&x));
    assert!(matches!(x.diff(1, 1), Err(Error::AxisOutOfRange { .. })));
    let refused = diff(&arr1(&[100i8, -100]), 1, 0).unwrap_err();
    assert!(matches!(refused, Error::Overflow { operation: "diff", coords: Some(at), .. } if at == [0]));
    // Intermediate results have the element type on every front.
    let x = CooTensor::new([3], vec![vec![1]], vec![1u8], 0).unwrap();
    let any = AnyTensor::from(x.with_index::<u64>().unwrap());
    for refused in [x.diff(2, 0).map(drop), any.diff(2, 0).map(drop)] {
        assert!(matches!(refused, Err(Error::Overflow { operation: "diff", .. })));
    }
}

/// Every position of an array as an entry.
fn all_of<T: Both>(x: &Sparse<T>) -> Sparse<T> {
    let dense = x.to_dense();
    Sparse::new(&x.shape, dense.coords().into_iter().map(|at| (at.clone(), dense.get(&at))).collect(), x.fill)
}

#[track_caller]
fn assert_scan<P: Pattern, U: Both>(
    found: Result<Tensor<P, U>>,
    expected: &std::result::Result<Sparse<U>, Vec<usize>>,
) {
    match (cause(found), expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(&coords, expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

#[track_caller]
fn assert_scan_of_array<U: Both>(found: Result<ArrayD<U>>, expected: &std::result::Result<Sparse<U>, Vec<usize>>) {
    match (cause(found), expected) {
        (Ok(found), Ok(expected)) => assert_array(&found, &expected.to_dense()),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(&coords, expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

/// Returns a fill in another type, in which it fits. A fill of the same type keeps its bits.
fn fill_of<T: Both, U: Both>(fill: T) -> U {
    let own: &dyn std::any::Any = &fill;
    own.downcast_ref().copied().unwrap_or_else(|| U::from_number(fill.to_number()).unwrap())
}

fn running_sums_are_exact<T: Both + Drawn + Summed + Ring<Sum = <T as Summed>::Sum>>()
where
    <T as Summed>::Sum: Both,
    AnyTensor: From<CooTensor<T, u64>>,
{
    check((sparse_of_rank::<T>(1, 10), any::<usize>()), |(x, axis)| {
        let axis = axis % x.shape.len();
        let (coo, csr) = (coo(&x), csr(&x));
        let expected = along(&x, axis, fill_of(x.fill), prefixes(reductions::sum::<T>));
        assert_scan(cumsum(&coo.stored(), axis), &expected);
        assert_scan(csr.stored().cumsum(axis as isize - x.shape.len() as isize), &expected);
        assert_scan(csr.lazy().stored().cumsum(axis as isize).collect(), &expected);
        let any = AnyTensor::from(coo.with_index::<u64>().unwrap());
        assert_scan(any.stored().cumsum(axis).and_then(|found| found.into_coo::<_, u64>()), &expected);
        let expected = along(&all_of(&x), axis, fill_of(x.fill), prefixes(reductions::sum::<T>));
        for_each_layout(&x.to_dense(), |_, view| assert_scan_of_array(cumsum(&view, axis), &expected));
        let lazy = Lazy::from(array(&x.to_dense()));
        assert_scan_of_array(lazy.cumsum(axis as isize).collect(), &expected);
    });
}

stamp!(running_sums_are_exact: int8 = i8, float64 = f64;
    beside uint64 = u64, bool = bool, int64 = i64, float32 = f32; half float16 = half::f16);

fn running_products_round_once<T: Both + Drawn + Multiplied + SummedFloat + Float>() {
    check((sparse_of_rank::<T>(1, 10), any::<usize>()), |(x, axis)| {
        let axis = axis % x.shape.len();
        let (coo, csr) = (coo(&x), csr(&x));
        let expected = along(&x, axis, x.fill, reductions::products::<T>);
        assert_scan(cumprod(&coo.stored(), axis), &expected);
        assert_scan(csr.stored().cumprod(axis), &expected);
        assert_scan(coo.lazy().stored().cumprod(axis as isize).collect(), &expected);
        let expected = along(&all_of(&x), axis, x.fill, reductions::products::<T>);
        for_each_layout(&x.to_dense(), |_, view| assert_scan_of_array(cumprod(&view, axis), &expected));

        let without_nan = |one: T| {
            let mut x = x.clone();
            x.entries.values_mut().filter(|value| Element::isnan(**value)).for_each(|value| *value = one);
            x
        };
        let expected = along(&without_nan(T::ONE), axis, x.fill, reductions::products::<T>);
        assert_scan(nancumprod(&csr.stored(), axis), &expected);
        assert_scan(csr.lazy().stored().nancumprod(axis as isize).collect(), &expected);
        let expected = along(&without_nan(T::ZERO), axis, x.fill, prefixes(reductions::sum::<T>));
        assert_scan(coo.stored().nancumsum(axis), &expected);
        assert_scan(csr.lazy().stored().nancumsum(axis as isize).collect(), &expected);
        let dense = array(&without_nan(T::ONE).to_dense());
        let same = |found: Result<ArrayD<T>>, of: Result<ArrayD<T>>| {
            assert_array(&found.unwrap(), &dense_of(&of.unwrap().view()));
        };
        if !Element::isnan(x.fill) {
            same(nancumprod(&array(&x.to_dense()), axis), cumprod(&dense, axis));
            same(nancumsum(&array(&x.to_dense()), axis), cumsum(&array(&without_nan(T::ZERO).to_dense()), axis));
        }
    });
}

stamp!(running_products_round_once: float64 = f64;
    beside float32 = f32; half float16 = half::f16, bfloat16 = half::bf16);

#[test]
fn running_products_of_integers_fit_or_name_their_position() {
    check((sparse_of_rank::<i8>(1, 10), any::<usize>()), |(x, axis)| {
        let axis = axis % x.shape.len();
        let expected = along(&x, axis, fill_of(x.fill), prefixes(reductions::prod_of_integers::<i8>));
        assert_scan(cumprod(&coo(&x).stored(), axis), &expected);
        let any = AnyTensor::from(coo(&x).with_index::<u64>().unwrap());
        assert_scan(any.stored().cumprod(axis).and_then(|found| found.into_coo::<i64, u64>()), &expected);
        let expected = along(&all_of(&x), axis, fill_of(x.fill), prefixes(reductions::prod_of_integers::<i8>));
        for_each_layout(&x.to_dense(), |_, view| assert_scan_of_array(cumprod(&view, axis), &expected));
    });
    let refused = cumsum(&arr2(&[[1i64, 2], [i64::MAX, 1]]), 1).unwrap_err();
    assert!(
        matches!(refused, Error::Overflow { operation: "cumsum", coords: Some(at), dtype: "int64" } if at == [1, 1])
    );
    let refused = cumprod(&arr2(&[[1u64, 1 << 40], [1, 1 << 40]]), 0).unwrap_err();
    assert!(matches!(refused, Error::Overflow { operation: "cumprod", coords: Some(at), .. } if at == [1, 1]));
}

/// The gradient of a sum is exact, from the other end. NaNs that are ignored receive 0.
#[test]
fn gradients_of_running_sums_are_exact() {
    let cases = (sparse_of_rank::<f32>(1, 10), any::<usize>(), upstream_seeds::<f64>());
    check(cases, |(x, axis, up): (_, _, SparseSeed<f64>)| {
        let axis = axis % x.shape.len();
        let up = up.build(&x.shape);
        let expected = |x: &Sparse<f32>, skips_nan: bool| {
            let g = x.pattern_of(&up.to_dense());
            let mut found = along(&g, axis, 0.0, |group| {
                let upstream: Vec<f64> = group.iter().map(|(_, g)| *g).collect();
                reductions::sum_gradients(&upstream).into_iter().map(Some).collect()
            })
            .unwrap();
            let is_ignored = |at: &Vec<usize>| skips_nan && x.entries[at].is_nan();
            found.entries.iter_mut().filter(|(at, _)| is_ignored(at)).for_each(|(_, g)| *g = 0.0);
            found
        };
        let upstream = crate::support::csr(&up);
        assert_entries(&grad::cumsum(&coo(&x).stored(), &upstream, axis).unwrap(), &expected(&x, false));
        assert_entries(&grad::cumsum(&csr(&x).stored(), &array(&up.to_dense()), axis).unwrap(), &expected(&x, false));
        assert_entries(&grad::nancumsum(&csr(&x).stored(), &upstream, axis).unwrap(), &expected(&x, true));
        let all = expected(&all_of(&x), false).to_dense();
        for_each_layout(&x.to_dense(), |_, view| assert_array(&grad::cumsum(&view, &upstream, axis).unwrap(), &all));
        let all = expected(&all_of(&x), true).to_dense();
        assert_array(&grad::nancumsum(&array(&x.to_dense()), &upstream, axis).unwrap(), &all);
    });
}

/// Small integers make every term and sum exact, so the gradient is the definition bit for bit, zeros included.
#[test]
fn gradients_of_running_products_do_not_divide() {
    let numbers = prop::collection::vec((-3..4i8, -2..3i8, any::<bool>()), 0..9);
    check(numbers, |lane| {
        let x: Vec<f64> = lane.iter().map(|(x, ..)| f64::from(*x)).collect();
        let g: Vec<f64> = lane.iter().map(|(_, g, _)| f64::from(*g)).collect();
        let expected = reductions::product_gradients(&x, &g);
        let found = grad::cumprod(&arr1(&x), &arr1(&g), 0).unwrap();
        assert_eq!(found, arr1(&expected).into_dyn());
        // In a tensor, each lane counts only its entries; NaN is a 1 whose gradient is 0.
        let entries: Vec<u32> = (0..x.len() as u32).collect();
        let tensor =
            |values: Vec<f64>| CooTensor::new([10, 2], vec![entries.clone(), vec![1; x.len()]], values, 7.0).unwrap();
        let upstream = tensor(g.clone());
        assert_eq!(grad::cumprod(&tensor(x.clone()).stored(), &upstream, 0).unwrap().values(), expected);
        let with_nan: Vec<f64> =
            lane.iter().map(|(x, _, is_nan)| if *is_nan { f64::NAN } else { f64::from(*x) }).collect();
        let ones: Vec<f64> = with_nan.iter().map(|x| if x.is_nan() { 1.0 } else { *x }).collect();
        let mut expected = reductions::product_gradients(&ones, &g);
        expected.iter_mut().zip(&with_nan).filter(|(_, x)| x.is_nan()).for_each(|(g, _)| *g = 0.0);
        assert_eq!(grad::nancumprod(&tensor(with_nan).stored(), &upstream, 0).unwrap().values(), expected);
    });
    let wild = arr1(&[2.0, 3.0, f64::INFINITY, f64::NAN]);
    assert_eq!(grad::cumprod(&wild, &arr1(&[1.0, 1.0, 0.0, 0.0]), 0).unwrap(), arr1(&[4.0, 2.0, 0.0, 0.0]).into_dyn());
    // The exponent of a product has any size.
    let found = grad::cumprod(&arr1(&[1e200, 1e200, 1.0]), &arr1(&[0.0, 0.0, 1e-200]), 0).unwrap();
    let ratio: f64 = found[[2]] / 1e200;
    assert!((ratio - 1.0).abs() < 1e-15);
}

#[test]
fn the_whole_of_a_sparse_tensor_has_no_scan() {
    let x = CooTensor::new([2, 2], vec![vec![0], vec![0]], vec![1.0], 0.0).unwrap();
    let whole = [x.cumsum(1), x.cumprod(1), x.nancumsum(1), x.nancumprod(1), grad::cumsum(&x, &x, 1)];
    for refused in whole {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("x.stored()") && refused.contains("the dense form"), "{refused}");
    }
    assert!(matches!(x.stored().cumsum(2), Err(Error::AxisOutOfRange { .. })));
    let wrong = grad::cumsum(&x.stored(), &arr1(&[1.0]), 1);
    assert!(matches!(wrong, Err(Error::ShapeMismatch { what: "the upstream gradient", .. })));
}

/// Sums that two floats do not hold are exact too, as are the sums after them.
#[test]
fn sums_that_need_the_accumulator_are_exact() {
    let values = [1e300, 1.0, 1e-300, -1e300, -1.0, f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, 2.0];
    let found = cumsum(&arr1(&values), 0).unwrap();
    let expected = [1e300, 1e300, 1e300, 1.0, 1e-300, f64::MAX, f64::INFINITY, f64::MAX, 1e-300, 2.0];
    assert_eq!(found, arr1(&expected).into_dyn());
    let wild = [f64::INFINITY, 1.0, f64::NEG_INFINITY, 1.0];
    let found = cumsum(&arr1(&wild), 0).unwrap();
    assert_eq!(
        found.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>(),
        [f64::INFINITY, f64::INFINITY, f64::NAN, f64::NAN].map(f64::to_bits)
    );
    assert_eq!(cumsum(&arr1(&[-0.0f64]), 0).unwrap()[[0]].to_bits(), 0);
}

fn sorted_lanes_equal_the_dense_ones<T: Both + Drawn + Real + RealScalar>()
where
    AnyTensor: From<CooTensor<T, u64>>,
{
    check((sparse_of_rank::<T>(1, 10), any::<usize>()), |(x, axis)| {
        let axis = axis % x.shape.len();
        let (coo, csr) = (coo(&x), csr(&x));
        let lane = |group: &[(u64, T)]| reductions::sorted(group).into_iter().map(|(_, value)| Some(value)).collect();
        let all = along(&all_of(&x), axis, x.fill, lane);
        for_each_layout(&x.to_dense(), |_, view| assert_scan_of_array(sort(&view, axis), &all));
        assert_scan_of_array(Lazy::from(array(&x.to_dense())).sort(axis as isize).collect(), &all);

        let whole = reductions::sorted_lines(&x, axis);
        assert_array(&array(&whole.to_dense()), &all.unwrap().to_dense());
        assert_entries(&sort(&coo, axis).unwrap(), &whole);
        assert_entries(&csr.sort(axis as isize - x.shape.len() as isize).unwrap(), &whole);
        assert_entries(&csr.lazy().sort(axis as isize).collect().unwrap(), &whole);
        let any = AnyTensor::from(coo.with_index::<u64>().unwrap());
        let found = without_payloads(any.sort(axis).unwrap().into_coo::<T, u64>().unwrap());
        assert_entries(&found, &canonical(whole));

        let entries = along(&x, axis, x.fill, lane);
        assert_scan(sort(&coo.stored(), axis), &entries);
        assert_scan(csr.stored().sort(axis), &entries);
        assert_scan(coo.lazy().stored().sort(axis as isize).collect(), &entries);
        assert!(csr.stored().sort(axis).unwrap().shares_pattern_with(&csr));
    });
}

stamp!(sorted_lanes_equal_the_dense_ones: int8 = i8, float64 = f64;
    beside uint64 = u64, bool = bool, float32 = f32; half float16 = half::f16);

/// Each element receives the upstream gradient at its position in the sorted lane.
#[test]
fn gradients_of_sorted_lanes_find_their_elements() {
    let cases = (sparse_of_rank::<f32>(1, 10), any::<usize>(), upstream_seeds::<f64>());
    check(cases, |(x, axis, up): (_, _, SparseSeed<f64>)| {
        let axis = axis % x.shape.len();
        let up = up.build(&x.shape);
        let dense = up.to_dense();
        let expected = |x: &Sparse<f32>| {
            let mut entries = std::collections::BTreeMap::new();
            for at in x.entries.keys() {
                let is_of_line = |other: &&Vec<usize>| (0..at.len()).all(|own| own == axis || other[own] == at[own]);
                let line: Vec<&Vec<usize>> = x.entries.keys().filter(is_of_line).collect();
                let group: Vec<(u64, f32)> = line.iter().map(|&at| (at[axis] as u64, x.entries[at])).collect();
                let place = |(found, _): &(u64, f32)| *found == at[axis] as u64;
                let rank = reductions::sorted(&group).iter().position(place).unwrap();
                entries.insert(at.clone(), without_sign(dense.get(line[rank])));
            }
            Sparse::new(&x.shape, entries, 0.0)
        };
        let (of_entries, upstream) = (expected(&x), crate::support::csr(&up));
        assert_entries(&grad::sort(&coo(&x).stored(), &upstream, axis).unwrap(), &of_entries);
        assert_entries(&grad::sort(&csr(&x).stored(), &array(&dense), axis).unwrap(), &of_entries);
        let all = expected(&all_of(&x)).to_dense();
        for_each_layout(&x.to_dense(), |_, view| assert_array(&grad::sort(&view, &upstream, axis).unwrap(), &all));
    });
}

/// Short lanes are sorted by counting and long ones by comparison. Zeros and NaNs keep their order in both.
#[test]
fn lanes_of_any_length_keep_the_order_of_equal_elements() {
    let element = prop_oneof![
        (-3..4i8).prop_map(f64::from),
        Just(-0.0),
        Just(f64::INFINITY),
        (1..5u64).prop_map(|payload| f64::from_bits(f64::NAN.to_bits() | payload)),
    ];
    check((prop::collection::vec(element, 0..64), -2..3i8), |(lane, fill)| {
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let mut expected = lane.clone();
        expected
            .sort_by(|a, b| a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)));
        let found = sort(&arr1(&lane), 0).unwrap();
        assert_eq!(bits(found.as_slice().unwrap()), bits(&expected));
        let coords = (0..lane.len() as u32).map(|at| at * 2).collect();
        let x = CooTensor::new([200], vec![coords], lane.clone(), f64::from(fill)).unwrap();
        assert_eq!(bits(x.stored().sort(0).unwrap().values()), bits(&expected));
        let whole = x.sort(0).unwrap().to_dense().unwrap();
        assert_eq!(bits(whole.as_slice().unwrap()), bits(sort(&x.to_dense().unwrap(), 0).unwrap().as_slice().unwrap()));
        let (zeros, expected) = (vec![-0.0; lane.len()], vec![0.0; lane.len()]);
        let found = grad::sort(&arr1(&lane), &arr1(&zeros), 0).unwrap();
        assert_eq!(bits(found.as_slice().unwrap()), bits(&expected));
    });
}

#[test]
fn sorting_names_what_it_cannot_do() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![1.0, -1.0], 0.0).unwrap();
    assert!(matches!(x.sort(2), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(
        CooTensor::new([0usize; 0], vec![], vec![1.0], 0.0).unwrap().sort(0),
        Err(Error::AxisOutOfRange { .. })
    ));
    let refused = grad::sort(&x, &x, 1).unwrap_err().to_string();
    assert!(refused.contains("x.stored()") && refused.contains("depends on values"), "{refused}");
    let wrong = grad::sort(&x.stored(), &arr1(&[1.0]), 1);
    assert!(matches!(wrong, Err(Error::ShapeMismatch { what: "the upstream gradient", .. })));
    // A long axis costs nothing.
    let long = CooTensor::new([1 << 31], vec![vec![5, 1 << 30]], vec![2.0, -3.0], 0.5).unwrap().sort(0).unwrap();
    assert_eq!(long.entries(), [(vec![0], -3.0), (vec![(1 << 31) - 1], 2.0)]);
}

#[test]
fn graphs_have_the_gradients_of_scans() {
    let x = CooTensor::new([2, 4], vec![vec![0, 0, 1], vec![0, 2, 3]], vec![1.0, 3.0, -2.0], 0.0).unwrap();
    let (lazy, array) = (x.lazy(), Lazy::from(x.to_dense().unwrap()));
    let y = lazy.stored().cumsum(1);
    let (dx, up) = (y.gradient(&lazy, &y), cumsum(&x.stored(), 1).unwrap());
    assert!(dx.collect().unwrap().same_as(&grad::cumsum(&x.stored(), &up, 1).unwrap()));
    // The gradient of the scan from the other end is the scan.
    assert_eq!(
        dx.gradient(&lazy, &lazy).collect().unwrap().values(),
        grad::cumsum(&x.stored(), &up, 1).unwrap().values()
    );
    let y = lazy.stored().sort(1);
    let up = x.stored().sort(1).unwrap();
    assert!(y.gradient(&lazy, &y).collect().unwrap().same_as(&grad::sort(&x.stored(), &up, 1).unwrap()));
    let y = lazy.stored().cumprod(1);
    let up = cumprod(&x.stored(), 1).unwrap();
    assert!(y.gradient(&lazy, &y).collect().unwrap().same_as(&grad::cumprod(&x.stored(), &up, 1).unwrap()));
    let y = array.nancumprod(0);
    let dense = x.to_dense().unwrap();
    let up = nancumprod(&dense, 0).unwrap();
    assert_eq!(y.gradient(&array, &y).collect().unwrap(), grad::nancumprod(&dense, &up, 0).unwrap());
    let chunks = |count| Chunks::memory(1 << 30).positions(count);
    for count in [1, 3] {
        assert!(
            lazy.abs()
                .stored()
                .cumsum(1)
                .on(chunks(count))
                .collect()
                .unwrap()
                .same_as(&x.abs().unwrap().stored().cumsum(1).unwrap())
        );
        assert!(lazy.stored().cumsum(0).on(chunks(count)).collect().unwrap().same_as(&x.stored().cumsum(0).unwrap()));
    }
}

#[test]
fn threads_change_no_bit() {
    let x = CooTensor::<f64>::random([300, 400], 60_000, 1).unwrap();
    let dense = x.to_dense().unwrap();
    let run = || {
        [0, 1].map(|axis| {
            let bits = |x: CooTensor<f64>| x.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let of_array = cumsum(&dense, axis).unwrap();
            let view = x.stored();
            (
                bits(view.cumsum(axis).unwrap()),
                bits(view.cumprod(axis).unwrap()),
                bits(view.sort(axis).unwrap()),
                bits(x.sort(axis).unwrap()),
                of_array,
                bits(x.diff(1, axis).unwrap()),
            )
        })
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(run);
    let four = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap().install(run);
    assert_eq!(one, four);
}

/// An order has a limit, so that no small call takes hours or memory without bound.
#[test]
fn an_order_above_sixteen_is_an_error() {
    let x = CooTensor::new([1 << 30], vec![vec![1 << 29]], vec![1.0], 0.0).unwrap();
    assert_eq!(diff(&x, 16, 0).unwrap().nnz(), 17);
    let any = AnyTensor::from(x.with_index::<u64>().unwrap());
    for n in [17, usize::MAX] {
        let refused = |error: Error| {
            let text = error.to_string();
            assert!(text.contains(&format!("n = {n} exceeds 16; take the differences of a result again")), "{text}");
        };
        refused(diff(&x, n, 0).unwrap_err());
        refused(x.stored().diff(n, 0).unwrap_err());
        refused(diff(&arr1(&[1, 2]), n, 0).unwrap_err());
        refused(any.diff(n, 0).unwrap_err());
        refused(grad::diff(&x, &x, n, 0).unwrap_err());
    }
}
