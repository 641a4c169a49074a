//! Products with dense matrices along the axes against the reference, on every kind of operand, with their gradients.

use crate::generators::{Drawn, DrawnGrad, SparseSeed, seeds, shapes_of_rank};
use crate::reference::dense::{Dense, Sparse, size};
use crate::reference::terms::{Multiplies, contracted, contracted_but, dots, with_last_at};
use crate::support::*;
use lacuna::{CooTensor, CsrTensor, Error, Float, Result, Ring, grad, mttkrp, ttm, ttv};
use ndarray::{Array2, ArrayD, Ix2, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// An operand, a matrix for each axis, and which axis stays.
#[derive(Clone, Debug)]
struct Case<T> {
    x: Sparse<T>,
    factors: Vec<Dense<T>>,
    mode: usize,
}

fn cases<T: Drawn>(low: usize) -> BoxedStrategy<Case<T>> {
    let wild = prop_oneof![3 => Just(true), 1 => Just(false)];
    let widths = prop_oneof![6 => 0..=4usize, 1 => 15..=40usize];
    let parts = (shapes_of_rank(low, 4), widths, seeds::<T>(), vec(T::values(), 1..=60), wild, any::<Index>());
    let build = |(shape, width, x, values, tame, mode): (Vec<usize>, usize, SparseSeed<T>, Vec<T>, bool, Index)| {
        let tamed = |value: T| match tame {
            true if value.truthy() && value.is_finite() => T::one(),
            true => T::zero(),
            false => value,
        };
        let mut x = x.build(&shape);
        x.fill = T::zero();
        x.entries.values_mut().for_each(|value| *value = tamed(*value));
        let mut values = values.into_iter().cycle().map(tamed);
        let mut factor = |&length: &usize| {
            let own = [length, width];
            Dense::new(&own, values.by_ref().take(size(&own)).collect())
        };
        let factors = shape.iter().map(&mut factor).collect();
        Case { x, factors, mode: mode.index(shape.len()) }
    };
    parts.prop_map(build).boxed()
}

#[track_caller]
fn assert_sums<T: Both>(found: Result<ArrayD<T>>, expected: &Option<Dense<T>>) {
    match expected {
        Some(expected) => assert_array(&found.unwrap(), expected),
        None => assert!(matches!(found, Err(Error::Overflow { .. })), "{found:?}"),
    }
}

fn walks_equal_the_dense_loop<T: Both + Drawn + Multiplies + Ring>() {
    check(cases::<T>(2), |Case { x, factors, mode }| {
        let axes: Vec<usize> = (0..x.shape.len()).filter(|&axis| axis != mode).collect();
        let others: Vec<&Dense<T>> = axes.iter().map(|&axis| &factors[axis]).collect();
        let arrays: Vec<ArrayD<T>> = others.iter().map(|factor| array(factor)).collect();
        let arrays: Vec<&ArrayD<T>> = arrays.iter().collect();
        let expected = contracted(&x, &others, &axes, &[mode], false);
        let signed = mode as isize - x.shape.len() as isize;
        assert_sums(mttkrp(&coo(&x), mode, &arrays), &expected);
        assert_sums(mttkrp(&csr(&x), signed, &arrays), &expected);
        for_each_layout(&x.to_dense(), |_, view| assert_sums(mttkrp(&view, mode, &arrays), &expected));
        let stored = contracted(&x, &others, &axes, &[mode], true);
        assert_sums(mttkrp(&coo(&x).with_fill(T::one()).stored(), mode, &arrays), &stored);
    });
}

for_all_types!(walks_equal_the_dense_loop);

fn matrix<T: lacuna::Element>(x: ArrayD<T>) -> Array2<T> {
    x.into_dimensionality::<Ix2>().unwrap()
}

fn matrices_along_an_axis_equal_the_dense_loop<T: Both + Drawn + Multiplies + Ring>() {
    check(cases::<T>(1), |Case { x, factors, mode }| {
        let others: Vec<usize> = (0..x.shape.len()).filter(|&axis| axis != mode).collect();
        let rows = matrix(array(&factors[mode])).reversed_axes();
        let expected = contracted(&x, &[&factors[mode]], &[mode], &others, false).map(|sums| with_last_at(&sums, mode));
        assert_sums(ttm(&coo(&x), &rows, mode), &expected);
        assert_sums(ttm(&csr(&x), &rows, mode), &expected);
        assert_sums(ttm(&array(&x.to_dense()), &rows, mode), &expected);
        if let Some(column) = factors[mode].shape[1].checked_sub(1) {
            let vector = rows.row(column).into_owned();
            let one = Dense::new(&[vector.len(), 1], vector.to_vec());
            let expected = contracted(&x, &[&one], &[mode], &others, false).map(|sums| {
                let shape = sums.shape[..others.len()].to_vec();
                Dense::new(&shape, sums.data)
            });
            assert_sums(ttv(&csr(&x), &vector, mode), &expected);
            assert_sums(ttv(&coo(&x), &vector, mode), &expected);
        }
    });
}

stamp!(matrices_along_an_axis_equal_the_dense_loop: int8 = i8, float64 = f64; half float16 = half::f16);

/// The gradient of a factor is the product itself with the upstream gradient in the place of the axis that stays.
fn gradients_equal_those_of_the_reference<T: Both + DrawnGrad + Multiplies + Float>() {
    check(cases::<T>(2), |Case { x, factors, mode }| {
        let (rank, arrays) = (x.shape.len(), factors.iter().map(array).collect::<Vec<_>>());
        let others: Vec<&ArrayD<T>> = (0..rank).filter(|&axis| axis != mode).map(|axis| &arrays[axis]).collect();
        let upstream = &arrays[mode];
        let (dx, found) = grad::mttkrp(&coo(&x), mode, &others, upstream).unwrap();
        let all: Vec<&Dense<T>> = factors.iter().collect();
        assert_entries(&dx, &dots(&x, &all, mode));
        assert_entries(&grad::mttkrp(&csr(&x), mode, &others, upstream).unwrap().0, &dots(&x, &all, mode));
        let of_array = grad::mttkrp(&array(&x.to_dense()), mode, &others, upstream).unwrap();
        for (axis, (found, dense)) in (0..rank).filter(|&axis| axis != mode).zip(found.iter().zip(&of_array.1)) {
            let axes: Vec<usize> = (0..rank).filter(|&other| other != axis).collect();
            let others: Vec<&Dense<T>> = axes.iter().map(|&axis| &factors[axis]).collect();
            // A term whose gradient is zero is left out.
            let is_zero = |at: &Vec<usize>, r: usize| !factors[mode].get(&[at[mode], r]).truthy();
            let expected = contracted_but(&x, &others, &axes, &[axis], is_zero).unwrap();
            assert_array(found, &expected);
            assert_array(dense, &expected);
        }
    });
}

stamp!(gradients_equal_those_of_the_reference: float64 = f64; half float16 = half::f16);

#[test]
fn gradients_along_an_axis_are_those_of_sums_of_products() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![2, 0, 1]], vec![2.0, 3.0, 0.5], 0.0).unwrap();
    let (m, g) = (arr2(&[[1.0, 0.5, 5.0], [0.25, 1.0, 1.0]]), arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    let (dx, dm) = grad::ttm(&x, &m, 1, &g).unwrap();
    assert_eq!(dx.values(), [1.0 * 5.0 + 2.0, 3.0 + 4.0 * 0.25, 3.0 * 0.5 + 4.0]);
    assert_eq!(dm, arr2(&[[9.0, 1.5, 2.0], [12.0, 2.0, 4.0]]).into_dyn());
    let (of_array, _) = grad::ttm(&x.to_dense().unwrap(), &m, 1, &g).unwrap();
    assert_eq!(of_array, g.dot(&m).into_dyn());
    // With three axes, the first axis moves to the end in another way than it moves back.
    let y = ArrayD::from_shape_fn(vec![2, 3, 4], |at| (1 + at[0] * 12 + at[1] * 4 + at[2]) as f64);
    let (m, g) = (arr2(&[[1.0, 2.0]]), ArrayD::from_shape_fn(vec![1, 3, 4], |at| (at[1] * 10 + at[2]) as f64));
    let (dy, dm) = grad::ttm(&y, &m, 0, &g).unwrap();
    let wanted = grad::einsum("ijk,li->ljk", &[&y, &m.clone().into_dyn()], &g).unwrap();
    assert_eq!((dy, dm), (wanted[0].clone(), wanted[1].clone()));
    let (dx, dv) = grad::ttv(&x, &arr1(&[1.0, 2.0, 3.0]), 1, &arr1(&[10.0, 100.0])).unwrap();
    assert_eq!((dx.values(), dv), (&[30.0, 100.0, 200.0][..], arr1(&[300.0, 50.0, 20.0]).into_dyn()));
}

/// A product of finite factors that is infinite is left out as well, where the upstream gradient is zero.
#[test]
fn zeros_of_the_upstream_gradient_leave_out_products_that_overflow() {
    let x = CooTensor::new([2, 2, 4], vec![vec![0], vec![0], vec![3]], vec![4e33], 0.0).unwrap();
    let (b, c) = (arr2(&[[4.5e274], [0.0]]), Array2::<f64>::from_elem((4, 1), 1e300));
    for upstream in [0.0, -0.0] {
        let (dx, found) = grad::mttkrp(&x, 1, &[&b, &c], &arr2(&[[upstream], [1.0]])).unwrap();
        assert_eq!(dx.values()[0].to_bits(), 0);
        assert!(found.iter().flatten().all(|gradient| gradient.to_bits() == 0), "{found:?}");
    }
}

/// A zero that is not stored times infinity is NaN, as one that is.
#[test]
fn factors_that_are_not_finite_meet_what_is_not_stored() {
    let x = CooTensor::new([3, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![1.0, 2.0, 3.0], 0.0).unwrap();
    let b = arr2(&[[1.0, f64::INFINITY], [2.0, 1.0]]);
    let found = mttkrp(&x, 0, &[&b]).unwrap();
    assert_eq!([found[[0, 0]], found[[1, 0]], found[[2, 0]], found[[0, 1]]], [5.0, 6.0, 0.0, f64::INFINITY]);
    assert!(found[[1, 1]].is_nan() && found[[2, 1]].is_nan());
    let stored = mttkrp(&x.stored(), 0, &[&b]).unwrap();
    assert_eq!([stored[[1, 1]], stored[[2, 1]]], [3.0, 0.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = CsrTensor::<f64>::full([2, 3, 4], 1.0).unwrap();
    let (b, c) = (Array2::<f64>::zeros((3, 5)), Array2::<f64>::zeros((4, 5)));
    let why = mttkrp(&x, 0, &[&b, &c]).unwrap_err().to_string();
    assert!(why.contains("with_fill") && why.contains("stored()"), "{why}");
    let x = x.with_fill(0.0);
    assert!(mttkrp(&x, 0, &[&b, &c]).is_ok());
    assert!(matches!(mttkrp(&x, 0, &[&c, &b]), Err(Error::ShapeMismatch { what: "a factor", .. })));
    assert!(matches!(mttkrp(&x, 0, &[&b]), Err(Error::Argument { operation: "mttkrp", .. })));
    assert!(matches!(mttkrp(&x, 3, &[&b, &c]), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(
        mttkrp(&x.to_coo().unwrap(), 0, &[&b, &c.slice_move(ndarray::s![.., ..4])]),
        Err(Error::ShapeMismatch { .. })
    ));
    assert!(matches!(ttm(&x, &b, 1), Err(Error::LengthMismatch { expected: 3, found: 5, .. })));
    assert!(matches!(ttv(&x, &arr1(&[1.0]), 0), Err(Error::LengthMismatch { .. })));
    let vast = CooTensor::<f64>::full([1 << 30, 2], 0.0).unwrap();
    let refused = mttkrp(&vast, 0, &[&Array2::<f64>::zeros((2, 16))]);
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    assert!(matches!(ttv(&vast, &arr1(&[1.0, 2.0]), 1), Err(Error::TooLarge { .. })));
    let whole = CooTensor::new([1, 2], vec![vec![0, 0], vec![0, 1]], vec![100i8, 100], 0).unwrap();
    let Err(Error::Overflow { operation: "ttv", coords, .. }) = ttv(&whole, &arr1(&[1i8, 1]), 1) else { panic!() };
    // The result has one axis; the error named the cell among the axes of x.
    assert_eq!(coords, Some(vec![0]));
    assert_eq!(ttv(&whole, &arr1(&[1i8, -1]), 1).unwrap(), arr1(&[0i8]).into_dyn());
}
