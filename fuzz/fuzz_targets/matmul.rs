//! Products of matrices, of every format, against three loops.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Error, Matmul, Pattern, Real, Result, Semiring, Tensor, matmul, matmul_with};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Sparse, first_difference};
use lacuna_fuzz::reference::product::{self as reference, Multiplies, Product};
use lacuna_fuzz::reference::zip::{Arith, Computes};
use lacuna_fuzz::{Draw, sparse_of};
use libfuzzer_sys::fuzz_target;
use ndarray::ArrayD;

/// The shapes of two operands that fit, with batch axes of which some have length 1 or are left out.
fn shapes(u: &mut Unstructured<'_>) -> arbitrary::Result<[Vec<usize>; 2]> {
    let mut length = |most: usize| u.int_in_range(0..=most);
    let (m, k, n, batch) = (length(4)?, length(4)?, length(5)?, [length(2)?, length(2)?]);
    let mut of = |rows: usize, columns: usize, is_left: bool| -> arbitrary::Result<Vec<usize>> {
        let (rank, ones): (usize, u8) = (u.int_in_range(1..=4)?, u.arbitrary()?);
        if rank == 1 {
            return Ok(vec![if is_left { columns } else { rows }]);
        }
        let axes = batch.iter().enumerate().map(|(axis, &length)| if ones >> axis & 1 == 1 { 1 } else { length });
        Ok(axes.skip(4 - rank).chain([rows, columns]).collect())
    };
    Ok([of(m, k, true)?, of(k, n, false)?])
}

type Expected<T> = std::result::Result<T, Vec<usize>>;

fn assert_dense<T: Both>(found: Result<ArrayD<T>>, expected: &Expected<Dense<T>>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_array(&found, expected),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(coords, *expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn assert_sparse<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Expected<Sparse<T>>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { coords: Some(coords), .. }), Err(expected)) => assert_eq!(coords, *expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

/// With a mask of one of both formats, or its complement, or none.
fn on_mask<T: Draw + Both + Multiplies>(
    u: &mut Unstructured<'_>,
    [x, y]: [&Sparse<T>; 2],
    options: Matmul<'static, impl Semiring<T>>,
    zero: T,
    sum: impl Fn(&[(T, T)]) -> Option<T>,
) -> arbitrary::Result<()> {
    let mask = sparse_of::<bool>(u, &Product::new(&x.shape, &y.shape).shape)?;
    let how = u.int_in_range(0..=2)?;
    let lets = |at: &[usize]| how == 0 || mask.entries.contains_key(at) == (how == 1);
    let expected = reference::matmul_with(x, y, zero, lets, sum);
    let (as_coo, is_scalar) = (coo(&mask), mask.shape.is_empty());
    let on = match how {
        0 => options,
        1 => options.mask(as_coo.pattern()),
        _ => options.without(as_coo.pattern()),
    };
    assert_sparse(matmul_with(&coo(x), &csr(y), on), &expected);
    if !is_scalar && how > 0 {
        let as_csr = csr(&mask);
        let on = if how == 1 { options.mask(as_csr.pattern()) } else { options.without(as_csr.pattern()) };
        assert_sparse(matmul_with(&csr(x), &csr(y), on), &expected);
    }
    Ok(())
}

fn check<T: Draw + Both + Multiplies + Computes + Real>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let [left, right] = shapes(u)?;
    let (mut x, mut y) = (sparse_of::<T>(u, &left)?, sparse_of::<T>(u, &right)?);
    (x.fill, y.fill) = (T::zero(), T::zero());
    let expected = reference::matmul(&x.to_dense(), &y.to_dense());
    let (array_x, array_y) = (array(&x.to_dense()), array(&y.to_dense()));
    assert_dense(matmul(&csr(&x), &array_y), &expected);
    assert_dense(matmul(&array_x, &coo(&y)), &expected);
    assert_dense(matmul(&array_x, &array_y), &expected);
    let sparse = reference::matmul_stored(&x, &y);
    assert_sparse(matmul(&coo(&x).stored(), &csr(&y)), &sparse);
    match matmul(&csr(&x), &coo(&y)) {
        Err(Error::NonFinite { .. }) => {
            assert!(x.entries.values().chain(y.entries.values()).any(|value| !value.annihilated()));
        }
        found => {
            if let (Ok(found), Ok(expected)) = (&sparse, &expected) {
                assert_eq!(first_difference(&found.to_dense(), expected), None);
            }
            assert_sparse(found, &sparse);
        }
    }
    on_mask(u, [&x, &y], Matmul::plus_times(), T::zero(), T::sum_of_products)?;
    on_mask(u, [&x, &y], Matmul::max_times(), T::LOWEST, |pairs| {
        let terms: Vec<T> = pairs.iter().map(|&(a, b)| T::arith(Arith::Mul, a, b).ok()).collect::<Option<_>>()?;
        terms[1..].iter().try_fold(terms[0], |sum, &term| T::arith(Arith::Maximum, sum, term).ok())
    })
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=3) {
        Ok(0) => check::<i8>(&mut u),
        Ok(1) => check::<u64>(&mut u),
        Ok(2) => check::<bool>(&mut u),
        _ => check::<f64>(&mut u),
    };
});
