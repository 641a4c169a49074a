//! Products of matrices against three loops.

use crate::generators::{Drawn, DrawnGrad, SparseSeed, seeds, upstream_seeds};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::product::{self as reference, Lanes, Multiplies, Product};
use crate::reference::scalar::Scalar;
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{CooTensor, CsrTensor, Element, Error, Pattern, Result, Tensor, grad, matmul};
use ndarray::{ArrayD, arr1, arr2};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::sample::select;

/// Two operands whose shapes fit.
#[derive(Clone, Debug)]
pub(crate) struct Pair<T> {
    pub(crate) x: Sparse<T>,
    pub(crate) y: Sparse<T>,
}

/// Lengths of the axes `m` and `k`, `k` and `n`, and of two batch axes.
type Lengths = (usize, usize, usize, usize, usize);

/// The shapes of two operands, of some ranks.
fn shapes_of(kind: usize, (m, k, n, b, c): Lengths) -> (Vec<usize>, Vec<usize>) {
    match kind {
        0 => (vec![k], vec![k]),
        1 => (vec![k], vec![k, n]),
        2 => (vec![m, k], vec![k]),
        3 => (vec![b, m, k], vec![b, k, n]),
        4 => (vec![b, m, k], vec![k, n]),
        5 => (vec![m, k], vec![b, k, n]),
        6 => (vec![b, 1, m, k], vec![c, k, n]),
        7 => (vec![b, m, k], vec![k]),
        8 => (vec![k], vec![b, k, n]),
        9 => (vec![1, m, k], vec![b, k, n]),
        10 => (vec![b, c, m, k], vec![1, c, k, n]),
        _ => (vec![m, k], vec![k, n]),
    }
}

/// Pairs of all kinds; most of the time what is not finite is made 1.
pub(crate) fn pairs<T: Drawn + Multiplies>() -> BoxedStrategy<Pair<T>> {
    let short = (0..=4_usize, 0..=5_usize, 0..=5_usize, 0..=3_usize, 0..=3_usize);
    let long = (1..=10_usize, 1..=5_usize, 15..=23_usize, 1..=2_usize, 1..=2_usize);
    let lengths = prop_oneof![3 => short, 1 => long];
    let build = |(kind, lengths, x, y, finite): (usize, Lengths, SparseSeed<T>, SparseSeed<T>, bool)| {
        let (left, right) = shapes_of(kind, lengths);
        let (mut x, mut y) = (x.build(&left), y.build(&right));
        for x in [&mut x, &mut y] {
            x.fill = T::zero();
            if finite {
                x.entries.values_mut().filter(|value| !value.annihilated()).for_each(|value| *value = T::one());
            }
        }
        Pair { x, y }
    };
    let parts = (0..16_usize, lengths, seeds(), seeds(), select(&[true, true, true, false][..]));
    parts.prop_map(build).boxed()
}

/// Returns an array as a sparse array that stores every element.
pub(crate) fn all_of<T: Multiplies>(x: &Dense<T>) -> Sparse<T> {
    let entries = x.coords().into_iter().map(|at| (at.clone(), x.get(&at)));
    Sparse::new(&x.shape, entries.collect(), T::zero())
}

/// The outcome of the reference.
pub(crate) type Expected<T> = std::result::Result<T, Vec<usize>>;

#[track_caller]
pub(crate) fn assert_dense<T: Both>(found: Result<ArrayD<T>>, expected: &Expected<Dense<T>>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_array(&found, expected),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(coords, *expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_sparse<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Expected<Sparse<T>>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(coords, *expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

/// The first entry of either that is not finite, on the left first.
fn not_finite<T: Multiplies>(case: &Pair<T>) -> Option<Vec<usize>> {
    let first = |x: &Sparse<T>| x.entries.iter().find(|(_, value)| !value.annihilated()).map(|(at, _)| at.clone());
    // If an operand stores every element, entries of the other operand meet no zero.
    let has_zeros = |x: &Sparse<T>| x.entries.len() < crate::reference::dense::size(&x.shape);
    let of_x = first(&case.x).filter(|_| has_zeros(&case.y));
    of_x.or_else(|| first(&case.y).filter(|_| has_zeros(&case.x)))
}

fn products_are_those_of_the_definition<T: Both + Drawn + Multiplies + lacuna::Ring>() {
    check(pairs::<T>(), |case| {
        let (x, y) = (&case.x, &case.y);
        let (dense_x, dense_y) = (x.to_dense(), y.to_dense());
        let (coo_x, coo_y, csr_x, csr_y) = (coo(x), coo(y), csr(x), csr(y));
        let expected = reference::matmul(&dense_x, &dense_y);
        let (array_x, array_y) = (array(&dense_x), array(&dense_y));
        assert_dense(coo_x.matmul(&array_y), &expected);
        assert_dense(array_x.matmul(&csr_y), &expected);
        for_each_layout(&dense_x, |_, view| {
            assert_dense(matmul(&view, &coo_y), &expected);
            assert_dense(matmul(&view, &array_y), &expected);
        });
        for_each_layout(&dense_y, |_, view| assert_dense(matmul(&csr_x, &view), &expected));

        let sparse = reference::matmul_stored(x, y);
        match not_finite(&case) {
            Some(expected) => match matmul(&coo_x, &csr_y) {
                Err(Error::NonFinite { coords, .. }) => assert_eq!(coords, expected),
                other => panic!("{other:?}, though an entry at {expected:?} is not finite"),
            },
            None => {
                assert_sparse(matmul(&coo_x, &coo_y), &sparse);
                assert_sparse(matmul(&csr_x, &csr_y), &sparse);
                if let (Ok(sparse), Ok(expected)) = (&sparse, &expected) {
                    assert_eq!(crate::reference::dense::first_difference(&sparse.to_dense(), expected), None);
                }
            }
        }
        assert_sparse(coo_x.stored().matmul(&csr_y.stored()), &sparse);
        assert_sparse(csr_x.matmul(&coo_as::<T, u64>(y).stored()), &sparse);
    });
}

for_all_types!(products_are_those_of_the_definition);

/// An array that no cache holds is gone through panel by panel, which changes no bit. Unoptimised, a panel is small.
#[test]
fn panels_of_a_large_array_change_no_bit() {
    let of = |at: usize| match at % 37 {
        36 => f64::NAN,
        rest => (rest as f64 - 20.0) * 1e9_f64.powi(at as i32 % 3 - 1),
    };
    for (shape, others) in
        [(vec![25, 40], vec![40, 4]), (vec![3, 9, 60], vec![3, 60, 3]), (vec![2, 20, 64], vec![64, 2])]
    {
        let made =
            |shape: &[usize]| ArrayD::from_shape_vec(shape, (0..shape.iter().product()).map(of).collect()).unwrap();
        let (x, y) = (made(&shape), made(&others));
        let expected = x.matmul(&y).unwrap();
        let sparse = CooTensor::from_dense(&x, 0.0).unwrap();
        for found in [sparse.matmul(&y).unwrap(), sparse.to_csr().unwrap().matmul(&y).unwrap()] {
            assert!(found.iter().zip(&expected).all(|(found, expected)| Element::same(*found, *expected)), "{shape:?}");
        }
    }
}

/// Beside an array what a view does not store counts nothing, whatever the array holds there.
fn views_beside_arrays_look_at_entries<T: Both + Drawn + Multiplies + lacuna::Ring>() {
    check(pairs::<T>(), |case| {
        let (x, y) = (&case.x, &case.y);
        let dense_of = |sparse: Expected<Sparse<T>>| sparse.map(|sparse| sparse.to_dense());
        let expected = dense_of(reference::matmul_stored(x, &all_of(&y.to_dense())));
        let filled = csr(x).with_fill(T::one());
        assert_dense(filled.stored().matmul(&array(&y.to_dense())), &expected);
        let expected = dense_of(reference::matmul_stored(&all_of(&x.to_dense()), y));
        let filled = coo(y).with_fill(T::one());
        assert_dense(array(&x.to_dense()).matmul(&filled.stored()), &expected);
    });
}

for_all_types!(views_beside_arrays_look_at_entries);

/// Two operands, and a gradient of the shape of their product, mostly of finite numbers.
fn gradients<T: DrawnGrad + Lanes>() -> BoxedStrategy<(Pair<T>, Sparse<T>)> {
    let build = |(case, upstream): (Pair<T>, SparseSeed<T>)| {
        let upstream = upstream.build(&Product::new(&case.x.shape, &case.y.shape).shape);
        (case, upstream)
    };
    (pairs::<T>(), upstream_seeds()).prop_map(build).boxed()
}

/// A gradient with the pattern of its operand.
#[track_caller]
fn assert_like<P: Pattern, T: Both>(found: &Tensor<P, T>, x: &Tensor<P, T>, expected: &Dense<T>) {
    assert!(found.shares_pattern_with(x));
    assert_eq!(found.fill(), T::zero());
    found.for_each_entry(|coords, value| assert!(Scalar::same(value, expected.get(coords)), "{found:?} {expected:?}"));
}

fn gradients_are_those_of_the_definition<T: Both + DrawnGrad + Lanes + lacuna::Float>() {
    check(gradients::<T>(), |(case, upstream)| {
        let (x, y) = (&case.x, &case.y);
        let (dense_x, dense_y, dense_g) = (x.to_dense(), y.to_dense(), upstream.to_dense());
        let (array_x, array_y, array_g) = (array(&dense_x), array(&dense_y), array(&dense_g));
        let (coo_x, csr_y) = (coo(x), csr(y));
        let (dx, dy) = reference::matmul_backward(&dense_x, &dense_y, &dense_g);
        let (of_x, of_y) = grad::matmul(&array_x, &array_y, &coo(&upstream)).unwrap();
        assert_array(&of_x, &dx);
        assert_array(&of_y, &dy);
        let (of_x, of_y) = grad::matmul(&coo_x, &array_y, &csr(&upstream)).unwrap();
        assert_like(&of_x, &coo_x, &dx);
        assert_array(&of_y, &dy);
        let (of_x, of_y) = grad::matmul(&array_x, &csr_y, &array_g).unwrap();
        assert_array(&of_x, &dx);
        assert_like(&of_y, &csr_y, &dy);
        let (of_x, of_y) = grad::matmul(&coo_x, &csr_y, &coo(&upstream)).unwrap();
        assert_like(&of_x, &coo_x, &dx);
        assert_like(&of_y, &csr_y, &dy);
    });
}

stamp!(gradients_are_those_of_the_definition: float64 = f64; half float16 = half::f16);

/// Unstored positions of views do not count, whatever the upstream gradient is there.
#[test]
fn gradients_of_views_look_at_entries() {
    check(gradients::<f64>(), |(case, upstream)| {
        let (mut x, mut y) = (case.x.clone(), case.y.clone());
        let finite: Vec<_> =
            upstream.entries.iter().map(|(at, &g)| (at.clone(), if g.is_finite() { g } else { 1.0 })).collect();
        let upstream = Sparse::new(&upstream.shape, finite.into_iter().collect(), 0.5);
        let (dx, dy) = reference::matmul_backward(&x.to_dense(), &y.to_dense(), &upstream.to_dense());
        (x.fill, y.fill) = (2.0, f64::NAN);
        let (x, y) = (csr(&x), coo(&y));
        let (of_x, of_y) = grad::matmul(&x.stored(), &y, &coo(&upstream)).unwrap();
        assert_like(&of_x, &x, &dx);
        assert_like(&of_y, &y, &dy);
        // Their fills count where some position holds them.
        let has_gap = [(x.nnz(), x.shape()), (y.nnz(), y.shape())]
            .iter()
            .any(|(nnz, shape)| shape.iter().product::<usize>() > *nnz);
        assert_eq!(grad::matmul(&x, &y, &coo(&upstream)).is_err(), has_gap);
    });
}

#[test]
fn gradients_of_repeated_arrays_have_all_their_places() {
    let one = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    let many = one.broadcast((3, 2, 2)).unwrap();
    let (dx, dy) = grad::matmul(&many, &one, &many).unwrap();
    assert_eq!(dx.shape(), [3, 2, 2]);
    assert_eq!(dy, arr2(&[[30.0, 42.0], [42.0, 60.0]]).into_dyn());
    assert!(matches!(grad::matmul(&many, &one, &one), Err(Error::ShapeMismatch { .. })));
}

fn matrix(rows: &[[f64; 3]; 2]) -> CooTensor<f64> {
    CooTensor::from_dense(&arr2(rows), 0.0).unwrap()
}

#[test]
fn fills_of_both_zeros_are_zero_and_others_name_the_ways_out() {
    let x = matrix(&[[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]);
    let y = x.transpose().unwrap();
    let product = matmul(&x, &y).unwrap();
    assert!(matmul(&x.clone().with_fill(-0.0), &y).unwrap().same_as(&product));
    for (left, right, side) in [(1.5, 0.0, "left"), (0.0, 1.5, "right")] {
        let (left, right) = (x.clone().with_fill(left), y.clone().with_fill(right));
        let message = matmul(&left, &right).unwrap_err().to_string();
        assert!(message.contains("1.5") && message.contains(side), "{message}");
        assert!(message.contains("with_fill") && message.contains("stored()"), "{message}");
        assert!(left.stored().matmul(&right).unwrap().same_as(&product));
    }
    let array = y.to_dense().unwrap();
    assert!(matmul(&x.clone().with_fill(f64::NAN), &array).is_err());
    assert!(matmul(&array, &x.with_fill(1.0)).is_err());
}

#[test]
fn sums_that_cancel_stay_and_are_no_negative_zeros() {
    let x = CsrTensor::new([1, 3], vec![0, 3], vec![0, 1, 2], vec![1.0_f64, -1.0, -0.0], 0.0).unwrap();
    let y = CsrTensor::new([3, 2], vec![0, 1, 2, 3], vec![0, 0, 1], vec![5.0, 5.0, 7.0], 0.0).unwrap();
    let product = matmul(&x, &y).unwrap();
    assert_eq!((product.columns(), product.fill().to_bits()), (&[0, 1][..], 0));
    assert_eq!(product.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>(), [0, 0]);
}

/// The order of the terms shows: any other gives another sum.
#[test]
fn sums_take_their_terms_in_order() {
    let values = vec![1e16, 1.0, -1e16, 1.0];
    let x = CooTensor::new([1, 4], vec![vec![0; 4], vec![0, 1, 2, 3]], values.clone(), 0.0).unwrap();
    let ones = CooTensor::new([4], vec![vec![0, 1, 2, 3]], vec![1.0; 4], 0.0).unwrap();
    assert_eq!(matmul(&x, &ones).unwrap().values(), [1.0]);
    assert_eq!(matmul(&x, &arr1(&[1.0; 4])).unwrap(), arr1(&[1.0]).into_dyn());
    assert_eq!(matmul(&arr1(&values), &ones).unwrap(), ndarray::arr0(1.0).into_dyn());
    // 1 + 2 eps is what the product comes to exactly; fused with the sum it would leave eps squared
    let e = 1.0 + f64::EPSILON;
    let (left, right) = (arr1(&[e, -1.0]), arr1(&[e, 1.0 + 2.0 * f64::EPSILON]));
    assert_eq!(matmul(&left, &right).unwrap(), ndarray::arr0(0.0).into_dyn());
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_their_lengths() {
    let x = CooTensor::full([2, 3, 4], 0.0).unwrap();
    let message = |y: &CooTensor<f64>| matmul(&x, y).unwrap_err().to_string();
    let y = CooTensor::full([5, 6], 0.0).unwrap();
    assert_eq!(
        message(&y),
        "matmul: axis 2 of the left operand has length 4, but axis 0 of the right operand has length 5"
    );
    let y = CooTensor::full([3, 4, 6], 0.0).unwrap();
    assert_eq!(message(&y), "shape [2] does not broadcast together with [3]");
    let y = CooTensor::full([], 0.0).unwrap();
    assert!(message(&y).contains("rank 0") && matmul(&y, &x).is_err());
}

/// Columns far apart and close together, in rows of all lengths, that go through all of what finds them.
#[test]
fn products_of_long_rows_are_those_of_short_ones() {
    let width = 300_000_u32;
    let columns: Vec<u32> = (0..width).filter(|column| column % 4096 < 3 || column % 70_001 == 5).collect();
    let rows = vec![0; columns.len()];
    let values = columns.iter().map(|&column| f64::from(column % 97) - 40.0).collect();
    let row = CooTensor::new([1, width as usize], vec![rows, columns.clone()], values, 0.0).unwrap();
    let many = vec![(0..200).collect(), vec![0; 200]];
    let column = CooTensor::new([200, 1], many, (0..200).map(|at| f64::from(at) * 0.5).collect(), 0.0).unwrap();
    let product = column.matmul(&row.to_csr().unwrap()).unwrap();
    assert_eq!(product.nnz(), 200 * columns.len());
    let expected: Vec<u32> = columns.iter().copied().cycle().take(product.nnz()).collect();
    assert_eq!(product.coords(1), expected);
    product.for_each_entry(|at, value| {
        assert_eq!(value, at[0] as f64 * 0.5 * (f64::from(at[1] as u32 % 97) - 40.0), "{at:?}");
    });
}

/// The axis of the sums is longer than anything that could be held, and so are the others.
#[test]
fn vast_axes_cost_what_is_stored() {
    let vast = [1 << 40, 1 << 50];
    let coords = |a: u64, b: u64| vec![vec![a, a + 7], vec![b, b + 9]];
    let tensor = |shape: [usize; 2], coords: Vec<Vec<u64>>, values: [i64; 2]| {
        let pattern = lacuna::CooPattern::new(shape, 2, coords).unwrap();
        Tensor::from_parts(pattern, values.to_vec(), 0).unwrap()
    };
    let x = tensor(vast, coords(5, 1 << 45), [2, 3]);
    let y = tensor([vast[1], vast[0]], coords(1 << 45, 1 << 39), [5, 7]);
    let product = matmul(&x, &y).unwrap();
    assert_eq!(product.entries(), [(vec![5, 1 << 39], 10)]);
    let both = tensor([vast[1], vast[0]], vec![vec![1 << 45, (1 << 45) + 9], vec![3, 1 << 39]], [5, 7]);
    assert_eq!(matmul(&x, &both).unwrap().entries(), [(vec![5, 3], 10), (vec![12, 1 << 39], 21)]);
    // a vector of the same axis
    let pattern = lacuna::CooPattern::new([vast[1]], 1, vec![vec![(1u64 << 45) + 9]]).unwrap();
    let v = Tensor::from_parts(pattern, vec![100], 0).unwrap();
    assert_eq!(matmul(&x, &v).unwrap().entries(), [(vec![12], 300)]);
    assert_eq!(matmul(&v, &both).unwrap().entries(), [(vec![1 << 39], 700)]);
    // what cannot be held is refused
    assert!(matches!(matmul(&x, &arr2(&[[1i64]]).broadcast((vast[1], 1)).unwrap()), Err(Error::TooLarge { .. })));
}

/// Matrices of a batch with a vast axis have separate lanes.
#[test]
fn vast_axes_of_batches_are_kept_apart() {
    let (vast, at) = (1 << 50, 1u64 << 45);
    let tensor = |shape: [usize; 3], coords: [[u64; 2]; 3], values: [i64; 2]| {
        let pattern = lacuna::CooPattern::new(shape, 2, coords.map(|axis| axis.to_vec()).to_vec()).unwrap();
        Tensor::from_parts(pattern, values.to_vec(), 0).unwrap()
    };
    let x = tensor([2, 2, vast], [[0, 1], [0, 1], [at, at]], [2, 3]);
    let y = tensor([2, vast, 2], [[0, 1], [at, at], [0, 1]], [5, 7]);
    assert_eq!(matmul(&x, &y).unwrap().entries(), [(vec![0, 0, 0], 10), (vec![1, 1, 1], 21)]);
}

/// A product that is far larger than its operands is counted before it is made.
#[test]
fn products_above_the_limit_are_refused_with_their_bytes() {
    let count = 12_000;
    let column = CooTensor::new([count, 1], vec![(0..count as u32).collect(), vec![0; count]], vec![1.0; count], 0.0);
    let row = CooTensor::new([1, count], vec![vec![0; count], (0..count as u32).collect()], vec![1.0; count], 0.0);
    match matmul(&column.unwrap(), &row.unwrap()) {
        Err(Error::TooLarge { bytes, .. }) => assert_eq!(bytes, 12 * 144_000_000),
        other => panic!("{:?}", other.map(|product| product.nnz())),
    }
}

/// A batch axis along which an array repeats itself is an axis of the result all the same.
#[test]
fn repeated_batches_are_read_once() {
    let one = arr2(&[[1, 2], [3, 4]]);
    let many = one.broadcast((3, 2, 2)).unwrap();
    let sparse = CooTensor::from_dense(&one, 0).unwrap();
    let expected = arr2(&[[7, 10], [15, 22]]);
    let expected = expected.broadcast((3, 2, 2)).unwrap().into_dyn();
    assert_eq!(matmul(&many, &one).unwrap(), expected);
    assert_eq!(matmul(&sparse, &many).unwrap(), expected);
    assert_eq!(matmul(&many, &sparse).unwrap(), expected);
    assert_eq!(matmul(&many, &many).unwrap(), expected);
    let none = many.broadcast((0, 3, 2, 2)).unwrap();
    assert_eq!(matmul(&sparse, &none).unwrap().shape(), [0, 3, 2, 2]);
}

#[test]
fn integers_are_exact_on_the_way() {
    let x = CsrTensor::new([1, 3], vec![0, 3], vec![0, 1, 2], vec![i64::MAX, i64::MAX, 1], 0).unwrap();
    let y = CsrTensor::new([3, 1], vec![0, 1, 2, 3], vec![0; 3], vec![4, -4, 9], 0).unwrap();
    assert_eq!(matmul(&x, &y).unwrap().values(), [9]);
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![7u8, 100], 0).unwrap();
    let error = matmul(&x, &x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul at [1, 1] does not fit uint8; cast the operand first, for example to float64"
    );
    assert_eq!(matmul(&x, &x.to_dense().unwrap()).unwrap_err(), error);
}

#[test]
fn an_infinity_beside_a_gap_is_nan_in_its_column_alone() {
    let x = matrix(&[[1.0, 2.0, 0.0], [0.0, 3.0, 0.0]]);
    let y = arr2(&[[f64::INFINITY, 1.0], [1.0, 1.0], [0.0, 1.0]]);
    let product = matmul(&x, &y).unwrap();
    assert_eq!((product[[0, 0]], product[[0, 1]], product[[1, 1]]), (f64::INFINITY, 3.0, 3.0));
    assert_eq!(product[[1, 0]].to_bits(), f64::NAN.to_bits());
    assert_eq!(x.stored().matmul(&y).unwrap(), arr2(&[[f64::INFINITY, 3.0], [3.0, 3.0]]).into_dyn());
}

#[test]
fn complex_numbers_round_each_part_of_a_product() {
    let of = |re: f64, im: f64| Complex::new(re, im);
    let x = CooTensor::new([1, 1], vec![vec![0], vec![0]], vec![of(1.0, 2.0)], of(0.0, 0.0)).unwrap();
    let y = CooTensor::new([1], vec![vec![0]], vec![of(3.0, -1.0)], of(0.0, 0.0)).unwrap();
    assert_eq!(matmul(&x, &y).unwrap().values(), [of(5.0, 5.0)]);
}

/// Columns of the result are taken so many at a time, and a single one for itself.
#[test]
fn results_of_all_widths_are_those_of_the_loop() -> Result<()> {
    let value = |at: usize| [1e16, 1.0, -1e16, 3.0, 0.1][at % 5] * (1.0 + at as f64);
    let dense =
        |rows: usize, columns: usize| ndarray::Array2::from_shape_fn((rows, columns), |(i, j)| value(i * 7 + j));
    let x = dense(9, 6);
    for width in (1..6).chain([15, 16, 17, 31, 32, 33, 35, 36, 47, 48, 49, 67, 96]) {
        let y = dense(6, width);
        let expected =
            ndarray::Array2::from_shape_fn((9, width), |(i, j)| (0..6).fold(0.0, |sum, k| sum + x[[i, k]] * y[[k, j]]));
        let bits = |found: ArrayD<f64>| found.iter().map(|element| element.to_bits()).collect::<Vec<_>>();
        let expected = bits(expected.into_dyn());
        assert_eq!(bits(matmul(&CsrTensor::from_dense(&x, 0.0)?, &y)?), expected, "{width}");
        assert_eq!(bits(matmul(&x, &CooTensor::from_dense(&y, 0.0)?)?), expected, "{width}");
        if width == 1 {
            let column = y.column(0).to_owned();
            assert_eq!(bits(matmul(&CsrTensor::from_dense(&x, 0.0)?, &column)?), expected);
        }
    }
    Ok(())
}

#[test]
fn the_first_sum_that_does_not_fit_is_told_in_results_of_all_widths() -> Result<()> {
    for width in [1, 2, 20, 40, 70] {
        let at = [3, width - 1];
        let x = ndarray::Array2::from_shape_fn((12, 2), |(i, _)| if i == 3 || i == 7 { 100i8 } else { 1 });
        let y = ndarray::Array2::from_shape_fn((2, width), |(_, j)| if j == width - 1 { 60i8 } else { 0 });
        let told = |found: Result<ArrayD<i8>>| match found {
            Err(Error::Overflow { coords, .. }) => coords.map(|coords| coords.to_vec()),
            _ => None,
        };
        assert_eq!(told(matmul(&CsrTensor::from_dense(&x, 0)?, &y)), Some(at.to_vec()));
        assert_eq!(told(matmul(&x, &CsrTensor::from_dense(&y, 0)?)), Some(at.to_vec()));
        let (row, column) = (x.row(3).to_owned(), y.column(width - 1).to_owned());
        assert_eq!(told(matmul(&row, &CsrTensor::from_dense(&y, 0)?)), Some(vec![width - 1]));
        assert_eq!(told(matmul(&CsrTensor::from_dense(&x, 0)?, &column)), Some(vec![3]));
    }
    Ok(())
}

/// Products leave out zeros only, and refused a fill that no position holds: of what has no position, and of what
/// stores every element.
#[test]
fn fills_that_no_position_holds_do_not_matter() {
    let row = CooTensor::<f64>::new([1, 0], vec![vec![], vec![]], vec![], f64::NAN).unwrap();
    let column = CooTensor::<f64>::new([0, 1], vec![vec![], vec![]], vec![], 7.0).unwrap();
    let nothing = ndarray::arr2(&[[0.0]]).into_dyn();
    assert_eq!(row.matmul(&column).unwrap().to_dense().unwrap(), nothing);
    assert_eq!(row.to_csr().unwrap().matmul(&column.to_csr().unwrap()).unwrap().to_dense().unwrap(), nothing);
    assert_eq!(row.matmul(&column.to_dense().unwrap()).unwrap(), nothing);
    assert_eq!(lacuna::matmul(&row.to_dense().unwrap(), &column).unwrap(), nothing);
    assert_eq!(lacuna::tensordot(&row, &column, [1], [0]).unwrap().to_dense().unwrap(), nothing);
    assert_eq!(lacuna::einsum("ij,jk->ik", &[&row, &column]).unwrap().to_dense().unwrap(), nothing);

    let (rows, columns) = (vec![0, 0, 1, 1], vec![0, 1, 0, 1]);
    let x = CooTensor::new([2, 2], vec![rows, columns], vec![1.0, 2.0, f64::INFINITY, 4.0], f64::NAN).unwrap();
    let y = x.map_values(|value| value.min(9.0)).unwrap().with_fill(5.0);
    let array = |x: &CooTensor<f64>| x.to_dense().unwrap();
    let expected = lacuna::matmul(&array(&x), &array(&y)).unwrap();
    assert_eq!(x.matmul(&y).unwrap().to_dense().unwrap(), expected);
    assert_eq!(x.to_csr().unwrap().matmul(&y.to_csr().unwrap()).unwrap().to_dense().unwrap(), expected);
    assert_eq!(x.matmul(&array(&y)).unwrap(), expected);
    assert_eq!(lacuna::matmul(&array(&x), &y).unwrap(), expected);
    assert_eq!(lacuna::tensordot(&x, &y, [1], [0]).unwrap().to_dense().unwrap(), expected);
    assert_eq!(lacuna::einsum("ij,jk->ik", &[&x, &y]).unwrap().to_dense().unwrap(), expected);
    let batched = |x: &CooTensor<f64>| x.reshape([1, 2, 2]).unwrap();
    let product = batched(&x).matmul(&batched(&y)).unwrap().reshape([2, 2]).unwrap();
    assert_eq!(product.to_dense().unwrap(), expected);
    assert_eq!(x.lazy().matmul(&y.lazy()).collect().unwrap().to_dense().unwrap(), expected);
    for (found, dense) in [
        (lacuna::outer(&y, &y).unwrap().to_dense().unwrap(), lacuna::outer(&array(&y), &array(&y)).unwrap()),
        (lacuna::kron(&y, &y).unwrap().to_dense().unwrap(), lacuna::kron(&array(&y), &array(&y)).unwrap()),
        (lacuna::mttkrp(&y, 0, &[&array(&y)]).unwrap(), lacuna::mttkrp(&array(&y), 0, &[&array(&y)]).unwrap()),
    ] {
        assert_eq!(found, dense);
    }
    let (matrix, vector) = (ndarray::arr2(&[[1.0, 2.0]]), ndarray::arr1(&[1.0, 2.0]));
    assert_eq!(lacuna::ttm(&y, &matrix, 1).unwrap(), lacuna::ttm(&array(&y), &matrix, 1).unwrap());
    assert_eq!(lacuna::ttv(&y, &vector, 0).unwrap(), lacuna::ttv(&array(&y), &vector, 0).unwrap());
    // The gradients are those of the arrays.
    let up = ndarray::arr2(&[[1.0, 0.5], [2.0, -1.0]]);
    let (dx, dy) = lacuna::grad::matmul(&y, &x, &up).unwrap();
    let (dense_x, dense_y) = lacuna::grad::matmul(&array(&y), &array(&x), &up).unwrap();
    assert_eq!((dx.to_dense().unwrap(), dy.to_dense().unwrap()), (dense_x, dense_y));

    // A gap holds its fill, and what is not finite meets a zero that is not stored.
    let gap = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![3.0], 0.0).unwrap();
    assert!(gap.clone().with_fill(1.0).matmul(&y).is_err() && y.matmul(&gap.clone().with_fill(1.0)).is_err());
    assert!(matches!(x.matmul(&gap), Err(lacuna::Error::NonFinite { .. })));
    assert!(matches!(lacuna::einsum("ij,jk->ik", &[&gap, &x]), Err(lacuna::Error::NonFinite { .. })));
}

/// Nor do they in expressions, which are checked before entries are read, in memory or in ranges.
#[cfg(feature = "cli")]
#[test]
fn fills_that_no_position_holds_do_not_matter_in_expressions() {
    use lacuna::dynamic::AnyTensor;
    use lacuna::eval::Expression;
    use lacuna::lazy::Chunks;
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], vec![1.0, 2.0, 3.0, 4.0], f64::NAN);
    let x = AnyTensor::from(x.unwrap().with_index::<u64>().unwrap());
    let squared = CooTensor::new([2, 2], vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], vec![7.0, 10.0, 15.0, 22.0], 0.0);
    let squared = AnyTensor::from(squared.unwrap().with_index::<u64>().unwrap());
    for text in ["x @ x", "tensordot(x, x, [1], [0])", "einsum(\"ij,jk->ik\", x, x)"] {
        let expression = Expression::parse(text).unwrap();
        expression.check(|_| Some(x.clone())).unwrap();
        assert!(expression.evaluate(|_| Some(x.clone())).unwrap().into_tensor().unwrap().same_as(&squared), "{text}");
        let graph = expression.graph(|_| Some(x.clone().into())).unwrap();
        let found = graph.on(Chunks::memory(1 << 20).positions(1)).collect().unwrap();
        assert!(found.into_tensor().unwrap().same_as(&squared), "{text}");
    }
    let gap = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![1.0], 7.0).unwrap().with_index::<u64>().unwrap();
    assert!(Expression::parse("x @ x").unwrap().evaluate(|_| Some(AnyTensor::from(gap.clone()))).is_err());
}
