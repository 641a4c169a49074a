//! The greatest elements, orders and distinct values against the reference, on every format and layout.

use std::collections::BTreeMap;

use crate::generators::{Drawn, SparseSeed, sparse_of_rank, upstream_seeds};
use crate::reference::dense::{Dense, Sparse, unravel};
use crate::reference::reductions::{lists, sorted, topk as reference_topk};
use crate::reference::scalar::RealScalar;
use crate::support::*;
use lacuna::{CooTensor, CsrTensor, Error, Pattern, Real, Result, Tensor, argsort, grad, topk, topk_index};
use ndarray::Array;
use proptest::prelude::*;

/// NaN, if there is one.
fn nothing<T: Real>() -> Option<T> {
    T::from_number(lacuna::Number::Real(f64::NAN))
}

/// The row-major positions along an axis of the entries of each line, and their values: what a stored view ranks.
fn lines<T: Copy>(x: &Sparse<T>, axis: usize) -> BTreeMap<Vec<usize>, Vec<(u64, T)>> {
    let mut lines = BTreeMap::<Vec<usize>, Vec<(u64, T)>>::new();
    for (at, &value) in &x.entries {
        let mut line = at.clone();
        line[axis] = 0;
        lines.entry(line).or_default().push((at[axis] as u64, value));
    }
    lines
}

/// Returns the expected result of a stored view, in which each lane has a list of a given length.
fn of_lines<T: Copy, U: lacuna::Element + crate::reference::scalar::Scalar>(
    x: &Sparse<T>,
    (axis, length): (usize, usize),
    fill: U,
    of: impl Fn(&[(u64, T)]) -> Vec<U>,
) -> Sparse<U> {
    let mut shape = x.shape.clone();
    shape[axis] = length;
    let mut entries = BTreeMap::new();
    for (line, group) in lines(x, axis) {
        for (rank, value) in of(&group).into_iter().enumerate() {
            let mut at = line.clone();
            at[axis] = rank;
            entries.insert(at, value);
        }
    }
    Sparse::new(&shape, entries, fill)
}

/// Demands of the whole of a tensor what the dense form gives, where one fill does.
#[track_caller]
fn assert_whole<P: Pattern, T: Both + Real>(
    found: Result<Tensor<P, T>>,
    expected: &Option<Dense<T>>,
    x: &Sparse<T>,
    axis: usize,
) {
    let Some(expected) = expected else { return assert!(matches!(found, Err(Error::Argument { .. })), "{found:?}") };
    let lines = lines(x, axis);
    let is_stored = |at: &Vec<usize>| {
        let mut line = at.clone();
        line[axis] = 0;
        lines.contains_key(&line)
    };
    let (stored, gaps): (Vec<_>, Vec<_>) = expected.coords().into_iter().partition(is_stored);
    if gaps.iter().all(|at| expected.get(at).bits_equal(expected.get(&gaps[0]))) {
        assert_tensor(&found.unwrap(), expected, &stored.into_iter().collect());
    } else {
        assert!(matches!(found, Err(Error::FillVaries { .. })), "{found:?}");
    }
}

fn rankings_equal_the_dense_ones<T: Both + Drawn + Real + RealScalar>() {
    let cases = (sparse_of_rank::<T>(1, 4), any::<usize>(), 0..9usize, upstream_seeds::<f64>());
    check(cases, |(x, axis, k, upstream): (_, _, _, SparseSeed<f64>)| {
        let axis = axis % x.shape.len();
        let (dense, coo, csr, none) = (x.to_dense(), coo(&x), csr(&x), nothing::<T>());
        let is_possible = none.is_some() || k <= x.shape[axis];
        let (shape, chosen) = lists(&dense, axis, k, |group| reference_topk(group, k));
        let value = |found: &Option<(u64, T)>| found.map_or(none.unwrap_or(T::ZERO), |(_, value)| value);
        let expected = is_possible.then(|| Dense::new(&shape, chosen.iter().map(value).collect()));
        assert_whole(topk(&coo, k, axis), &expected, &x, axis);
        assert_whole(csr.topk(k, axis), &expected, &x, axis);
        let places = chosen.iter().map(|found| found.map_or(u64::MAX, |(at, _)| at)).collect();
        let places = Dense::new(&shape, places);
        let orders = lists(&dense, axis, x.shape[axis], sorted).1;
        let orders = Dense::new(&x.shape, orders.iter().map(|found| found.unwrap().0).collect());
        for_each_layout(&dense, |_, view| {
            assert_array(&argsort(&view, axis).unwrap(), &orders);
            match &expected {
                None => assert!(topk(&view, k, axis).is_err()),
                Some(expected) => {
                    let (values, positions) = topk_index(&view, k, axis).unwrap();
                    assert_array(&values, expected);
                    assert_array(&positions, &places);
                }
            }
        });
        assert!(matches!(coo.argsort(axis), Err(Error::Argument { .. })));

        let view = csr.stored();
        let pad = |mut list: Vec<(u64, T)>, group: &[(u64, T)]| {
            list.resize(k.min(group.len()), (u64::MAX, none.unwrap_or(T::ZERO)));
            list
        };
        let of_line = |group: &[(u64, T)]| pad(reference_topk(group, k), group);
        let values = of_lines(&x, (axis, k), x.fill, |group| of_line(group).iter().map(|found| found.1).collect());
        let places = of_lines(&x, (axis, k), u64::MAX, |group| of_line(group).iter().map(|found| found.0).collect());
        assert_entries(&view.topk(k, axis).unwrap(), &values);
        let (found, positions) = topk_index(&coo.stored(), k, axis).unwrap();
        assert_entries(&found, &values);
        assert_entries(&positions, &places);
        let orders = of_lines(&x, (axis, x.shape[axis]), u64::MAX, |group| {
            sorted(group).into_iter().map(|found| found.0).collect()
        });
        assert_entries(&view.argsort(axis).unwrap(), &orders);

        if is_possible {
            let upstream = upstream.build(&shape);
            let gradients = upstream.to_dense();
            let mut given = Dense::full(&x.shape, 0.0);
            for (position, found) in chosen.iter().enumerate() {
                if let Some((at, _)) = found {
                    let mut coords = unravel(position as u128, &shape);
                    coords[axis] = *at as usize;
                    given.set(&coords, crate::reference::gradients::without_sign(gradients.data[position]));
                }
            }
            let upstream = crate::support::coo(&upstream);
            assert_array(&grad::topk(&array(&dense), &upstream, k, axis).unwrap(), &given);
            let expected = x.pattern_of(&given);
            assert_entries(&grad::topk(&coo, &array(&gradients), k, axis).unwrap(), &expected);
            assert_entries(&grad::topk(&csr, &upstream, k, axis).unwrap(), &expected);
        }
    });
}

stamp!(rankings_equal_the_dense_ones: int8 = i8, float64 = f64; beside uint8 = u8; half float16 = half::f16);

// ---- edges, by name ----

#[test]
fn zeros_of_both_signs_are_equal_and_stay_in_order() {
    let x = CooTensor::new([1, 4], vec![vec![0, 0], vec![1, 3]], vec![-0.0, -0.0], 0.0f64).unwrap();
    let bits = |x: CooTensor<f64>| x.values().iter().map(|value| value.is_sign_negative()).collect::<Vec<_>>();
    assert_eq!(bits(x.topk(3, 1).unwrap()), [false, true, false]);
    let x = x.with_fill(1.0);
    assert_eq!(x.topk(3, 1).unwrap().values(), [1.0, 1.0, -0.0]);
}

#[test]
fn a_rank_without_an_element_is_an_error_that_says_why() {
    let message = |error: Error| error.to_string();
    let x = CooTensor::full([2, 3], 1u8).unwrap();
    let few = "topk: k = 4 exceeds the 3 positions of axis 1; a larger k requires a float type";
    assert_eq!(message(x.topk(4, 1).unwrap_err()), few);
    assert_eq!(message(topk(&x.to_dense().unwrap(), 4, 1).unwrap_err()), few);
    assert_eq!(x.stored().topk(4, 1).unwrap().shape(), &[2, 4][..]);
    let whole = "argsort: only stored entries can be ranked; call it on x.stored()";
    assert_eq!(message(x.argsort(0).unwrap_err()), whole);
    assert!(matches!(x.topk_index(1, 0), Err(Error::Argument { operation: "topk_index", .. })));
    let varies = CooTensor::full([2, 3], 1.0).unwrap().topk(5, 1).unwrap_err();
    assert!(message(varies).starts_with("topk of the fill is NaN at [.., 3] and 1.0 at [.., 0]"));
    assert!(CooTensor::full([2, 0], 1.0f64).unwrap().topk(2, 1).unwrap().fill().is_nan());
    assert_eq!(CooTensor::full([2, 0], 1.0).unwrap().topk(0, 1).unwrap().fill(), 1.0);
    assert!(matches!(x.topk(1, 2), Err(Error::AxisOutOfRange { .. })));
    let vast = CooTensor::new([1, 1 << 31], vec![vec![0], vec![7]], vec![1.0], 0.0).unwrap();
    assert!(matches!(vast.topk(1 << 30, 1), Err(Error::TooLarge { .. })));
    assert_eq!(vast.topk(3, 1).unwrap().values(), [1.0, 0.0, 0.0]);
    assert!(matches!(vast.topk((1 << 32) + 1, 1), Err(Error::AxisTooLong { .. })));
}

/// Many groups are shared out, and give the same.
#[test]
fn many_groups_are_ranked_alike_at_any_number_of_threads() {
    let values = Array::from_shape_fn((3000, 40), |(row, column)| ((row * 7919 + column * 104_729) % 1009) as f64);
    let x = CsrTensor::from_dense(&values, 0.0).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (x.topk(5, 1).unwrap(), x.topk(5, 0).unwrap(), topk(&values, 5, 1).unwrap()))
    };
    let one = run(1);
    assert_eq!(one.0.to_dense().unwrap(), one.2);
    assert_eq!(one, run(3));
}
