//! Differences along an axis against the reference, on every format and layout.

use crate::generators::{Drawn, SparseSeed, sparse_of_rank, upstream_seeds};
use crate::reference::dense::Sparse;
use crate::reference::gradients::without_sign;
use crate::reference::zip::{self as reference, Computes, Outcome, Refused};
use crate::support::*;
use lacuna::dynamic::AnyTensor;
use lacuna::lazy::{Chunks, Lazy};
use lacuna::{CooTensor, Element, Error, Numeric, Pattern, Result, Tensor, diff, grad};
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

fn differences_are_those_of_the_definition<T: Both + Drawn + Numeric + Computes>()
where
    AnyTensor: From<CooTensor<T, u64>>,
{
    check((sparse_of_rank::<T>(1, 4), any::<usize>(), 0..4usize), |(x, axis, n)| {
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
        assert_outcome(any.stored().diff(n, axis).and_then(|found| found.into_coo::<T, u64>()), &of_views);
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
    check((sparse_of_rank::<f32>(1, 4), any::<usize>(), 0..4usize, upstream_seeds::<f64>()), |(x, axis, n, up)| {
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
    for n in [3, 4, usize::MAX] {
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
