//! Products, of every format, against loops: of matrices, on masks, by other operations; of all pairs, along axes, at a
//! pattern; shares of exponentials; gradients. Fills that are not zero are refused.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{
    CooTensor, Error, Matmul, Pattern, Real, Result, Ring, Semiring, Tensor, grad, kron, log_softmax, matmul,
    matmul_with, mttkrp, outer, softmax, tensordot, ttm, ttv,
};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Sparse, first_difference, size};
use lacuna_fuzz::reference::product::{self as reference, Multiplies, Product};
use lacuna_fuzz::reference::softmax::{by_rule, logarithms, shares};
use lacuna_fuzz::reference::terms;
use lacuna_fuzz::reference::zip::{Arith, Computes};
use lacuna_fuzz::{Draw, Reduction, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, Ix1, Ix2};

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

/// Whether something that is not zero stands where nothing is stored.
fn fills_gaps<T: Draw + Ring>(x: &Sparse<T>) -> bool {
    x.fill != T::ZERO && x.entries.len() < size(&x.shape)
}

/// A fill that is not zero is an error, which names the way out.
fn assert_refused<R: std::fmt::Debug>(found: Result<R>, name: &str) {
    match found {
        Err(Error::Argument { operation, why }) => assert!(operation == name && why.contains("stored()"), "{why}"),
        found => panic!("{found:?}"),
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
    let (filled_x, filled_y) = (sparse_of::<T>(u, &left)?, sparse_of::<T>(u, &right)?);
    let (x, y) = (Sparse { fill: T::zero(), ..filled_x.clone() }, Sparse { fill: T::zero(), ..filled_y.clone() });
    let expected = reference::matmul(&x.to_dense(), &y.to_dense());
    let (array_x, array_y) = (array(&x.to_dense()), array(&y.to_dense()));
    assert_dense(matmul(&csr(&x), &array_y), &expected);
    assert_dense(matmul(&array_x, &coo(&y)), &expected);
    assert_dense(matmul(&array_x, &array_y), &expected);
    let sparse = reference::matmul_stored(&x, &y);
    assert_sparse(matmul(&coo(&filled_x).stored(), &csr(&filled_y)), &sparse);
    if fills_gaps(&filled_x) {
        assert_refused(matmul(&csr(&filled_x), &array_y), "matmul");
        assert_refused(matmul(&coo(&filled_x), &csr(&y)), "matmul");
    }
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

/// Some lengths.
fn lengths(u: &mut Unstructured<'_>, least: usize, most: usize) -> arbitrary::Result<Vec<usize>> {
    (0..u.int_in_range(least..=most)?).map(|_| u.int_in_range(0..=3)).collect()
}

/// An operand whose gaps are zeros.
fn operand<T: Draw>(u: &mut Unstructured<'_>, shape: &[usize]) -> arbitrary::Result<Sparse<T>> {
    Ok(Sparse { fill: T::zero(), ..sparse_of(u, shape)? })
}

/// What a product of sparse operands gives, which are refused where one of them is not finite.
fn assert_product<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Option<Dense<T>>, is_wild: bool) {
    match (found, expected) {
        (Err(Error::NonFinite { .. }), _) => assert!(is_wild),
        (Ok(found), Some(expected)) => assert_array(&found.to_dense().unwrap(), expected),
        (Err(Error::Overflow { .. }), None) => {}
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn assert_sums<T: Both>(found: Result<ArrayD<T>>, expected: &Option<Dense<T>>) {
    match (found, expected) {
        (Ok(found), Some(expected)) => assert_array(&found, expected),
        (Err(Error::Overflow { .. }), None) => {}
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn is_wild<T: Draw>(x: &Sparse<T>) -> bool {
    x.entries.values().any(|value| !value.is_finite())
}

/// `outer` and `kron`.
fn all_pairs<T: Draw + Both + terms::Multiplies + Ring>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (left, right) = (lengths(u, 0, 2)?, lengths(u, 0, 2)?);
    let (x, y) = (operand::<T>(u, &left)?, operand::<T>(u, &right)?);
    let places: [terms::Place; 2] = [terms::one_behind_the_other, terms::one_in_the_other];
    for (of, place) in [outer::<CooTensor<T>>, kron].into_iter().zip(places) {
        let (expected, is_refused) = terms::of_all_pairs(&x, &y, place);
        match (of(&coo(&x), &coo(&y)), expected) {
            (Err(Error::NonFinite { .. }), _) => assert!(is_refused),
            (Ok(found), Some(expected)) if !is_refused => assert_entries(&found, &expected),
            (Err(Error::Overflow { .. }), None) => assert!(!is_refused),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }
    Ok(())
}

fn dotted<T: Draw + Both + terms::Multiplies + Ring>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (left, shared, right) = (lengths(u, 0, 1)?, lengths(u, 1, 2)?, lengths(u, 0, 1)?);
    let is_turned: bool = u.arbitrary()?;
    let (mut shared_right, mut axes): (Vec<usize>, Vec<isize>) = (shared.clone(), (0..shared.len() as isize).collect());
    if is_turned {
        shared_right.reverse();
        axes.reverse();
    }
    let shared_letters: Vec<char> = "pq".chars().take(shared.len()).collect();
    let of_left: Vec<char> = "i".chars().take(left.len()).chain(shared_letters.iter().copied()).collect();
    let of_right = axes.iter().map(|&axis| shared_letters[axis as usize]);
    let of_right: Vec<char> = of_right.chain("j".chars().take(right.len())).collect();
    let result: Vec<char> =
        "ij".chars().filter(|letter| of_left.contains(letter) || of_right.contains(letter)).collect();
    let x = operand::<T>(u, &[&left[..], &shared].concat())?;
    let y = operand::<T>(u, &[&shared_right[..], &right].concat())?;
    // Nothing is summed beforehand, so no other sum is asked for.
    let expected = terms::einsum(&[(of_left, x.to_dense()), (of_right, y.to_dense())], &result, |_| None);
    let lefts: Vec<isize> = (0..shared.len()).map(|at| (left.len() + at) as isize).collect();
    let is_wild = is_wild(&x) || is_wild(&y);
    assert_product(tensordot(&coo(&x), &coo(&y), &lefts, &axes), &expected, is_wild);
    assert_product(tensordot(&csr(&x), &csr(&y), &lefts, &axes), &expected, is_wild);
    assert_sums(tensordot(&array(&x.to_dense()), &array(&y.to_dense()), &lefts, &axes), &expected);
    Ok(())
}

/// `mttkrp`, `ttm` and `ttv`.
fn along_axes<T: Draw + Both + terms::Multiplies + Ring>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let shape = lengths(u, 2, 4)?;
    let (mode, width) = (u.int_in_range(0..=shape.len() - 1)?, u.int_in_range(0..=9)?);
    let x = operand::<T>(u, &shape)?;
    let factor = |&length: &usize| Ok(operand::<T>(u, &[length, width])?.to_dense());
    let factors = shape.iter().map(factor).collect::<arbitrary::Result<Vec<_>>>()?;
    let others: Vec<usize> = (0..shape.len()).filter(|&axis| axis != mode).collect();
    let of_others: Vec<&Dense<T>> = others.iter().map(|&axis| &factors[axis]).collect();
    let arrays: Vec<ArrayD<T>> = of_others.iter().map(|factor| array(factor)).collect();
    let arrays: Vec<&ArrayD<T>> = arrays.iter().collect();
    let expected = terms::contracted(&x, &of_others, &others, &[mode], false);
    assert_sums(mttkrp(&coo(&x), mode, &arrays), &expected);
    assert_sums(mttkrp(&csr(&x), mode, &arrays), &expected);
    assert_sums(mttkrp(&array(&x.to_dense()), mode, &arrays), &expected);
    let filled = Sparse { fill: T::draw(u)?, ..x.clone() };
    if fills_gaps(&filled) {
        assert_refused(mttkrp(&coo(&filled), mode, &arrays), "mttkrp");
    }
    let rows = array(&factors[mode]).into_dimensionality::<Ix2>().unwrap().reversed_axes();
    let expected = terms::contracted(&x, &[&factors[mode]], &[mode], &others, false);
    let expected = expected.map(|sums| terms::with_last_at(&sums, mode));
    assert_sums(ttm(&coo(&x), &rows, mode), &expected);
    assert_sums(ttm(&csr(&x), &rows, mode), &expected);
    let vector = operand::<T>(u, &[shape[mode]])?.to_dense();
    let one = Dense::new(&[shape[mode], 1], vector.data.clone());
    let expected = terms::contracted(&x, &[&one], &[mode], &others, false);
    let expected = expected.map(|sums| Dense::new(&sums.shape[..others.len()], sums.data));
    let vector = array(&vector).into_dimensionality::<Ix1>().unwrap();
    assert_sums(ttv(&coo(&x), &vector, mode), &expected);
    assert_sums(ttv(&csr(&x), &vector, mode), &expected);
    Ok(())
}

fn assert_dots<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Option<Sparse<T>>) {
    match (found, expected) {
        (Ok(found), Some(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { .. }), None) => {}
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn at_a_pattern<T: Draw + Both + terms::Multiplies + Ring>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (rows, columns, width) = (u.int_in_range(0..=4)?, u.int_in_range(0..=4)?, u.int_in_range(0..=20)?);
    let (x, l) = (operand::<T>(u, &[rows, columns])?, operand::<T>(u, &[rows, width])?.to_dense());
    let r = operand::<T>(u, &[columns, width])?.to_dense();
    let expected = terms::sddmm(&x, &l, &r);
    assert_dots(coo(&x).pattern().sddmm(&array(&l), &array(&r)), &expected);
    assert_dots(csr(&x).pattern().sddmm(&array(&l), &array(&r)), &expected);
    Ok(())
}

fn shares_of_entries(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<f64>(u)?;
    let Reduction { normalised, axes, .. } = Reduction::draw(u, x.shape.len())?;
    let axes = axes.with_keep_dims(false);
    let no_gradient = x.to_dense();
    let expected = by_rule(&x, &normalised, &no_gradient, 0.0, shares);
    assert_entries(&softmax(&coo(&x).stored(), axes.clone()).unwrap(), &expected);
    assert_entries(&softmax(&csr(&x).stored(), axes.clone()).unwrap(), &expected);
    let expected = by_rule(&x, &normalised, &no_gradient, f64::NEG_INFINITY, logarithms);
    assert_entries(&log_softmax(&csr(&x).stored(), axes).unwrap(), &expected);
    Ok(())
}

fn gradients_of_matrices(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let [left, right] = shapes(u)?;
    let (x, y) = (operand::<f64>(u, &left)?, operand::<f64>(u, &right)?);
    let g = sparse_of::<f64>(u, &Product::new(&left, &right).shape)?;
    let (dense_x, dense_y, dense_g) = (x.to_dense(), y.to_dense(), g.to_dense());
    let (dx, dy) = reference::matmul_backward(&dense_x, &dense_y, &dense_g);
    let (of_x, of_y) = grad::matmul(&coo(&x), &array(&dense_y), &array(&dense_g)).unwrap();
    assert_entries(&of_x, &x.pattern_of(&dx));
    assert_array(&of_y, &dy);
    let (of_x, of_y) = grad::matmul(&array(&dense_x), &csr(&y), &coo(&g)).unwrap();
    assert_array(&of_x, &dx);
    assert_entries(&of_y, &y.pattern_of(&dy));
    let (of_x, of_y) = grad::matmul(&csr(&x), &coo(&y), &coo(&g)).unwrap();
    assert_entries(&of_x, &x.pattern_of(&dx));
    assert_entries(&of_y, &y.pattern_of(&dy));
    Ok(())
}

fn gradients_along_axes(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let shape = lengths(u, 2, 4)?;
    let (mode, width) = (u.int_in_range(0..=shape.len() - 1)?, u.int_in_range(0..=9)?);
    let x = operand::<f64>(u, &shape)?;
    let factor = |&length: &usize| Ok(operand::<f64>(u, &[length, width])?.to_dense());
    let factors = shape.iter().map(factor).collect::<arbitrary::Result<Vec<_>>>()?;
    let all: Vec<&Dense<f64>> = factors.iter().collect();
    let arrays: Vec<ArrayD<f64>> = factors.iter().map(array).collect();
    let others: Vec<usize> = (0..shape.len()).filter(|&axis| axis != mode).collect();
    let given: Vec<&ArrayD<f64>> = others.iter().map(|&axis| &arrays[axis]).collect();
    let (dx, found) = grad::mttkrp(&coo(&x), mode, &given, &arrays[mode]).unwrap();
    assert_entries(&dx, &terms::dots(&x, &all, mode));
    assert_entries(&grad::mttkrp(&csr(&x), mode, &given, &arrays[mode]).unwrap().0, &terms::dots(&x, &all, mode));
    for (&axis, found) in others.iter().zip(&found) {
        let axes: Vec<usize> = (0..shape.len()).filter(|&other| other != axis).collect();
        let with: Vec<&Dense<f64>> = axes.iter().map(|&axis| &factors[axis]).collect();
        let is_zero = |at: &Vec<usize>, r: usize| factors[mode].get(&[at[mode], r]) == 0.0;
        assert_array(found, &terms::contracted_but(&x, &with, &axes, &[axis], is_zero).unwrap());
    }
    Ok(())
}

fn gradients_at_a_pattern(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (rows, columns, width) = (u.int_in_range(0..=4)?, u.int_in_range(0..=4)?, u.int_in_range(0..=20)?);
    let (x, l) = (operand::<f64>(u, &[rows, columns])?, operand::<f64>(u, &[rows, width])?.to_dense());
    let (r, g) = (operand::<f64>(u, &[columns, width])?.to_dense(), sparse_of::<f64>(u, &[rows, columns])?);
    let weights = x.pattern_of(&g.to_dense());
    let (dl, dr) = grad::pattern_sddmm(csr(&x).pattern(), &array(&l), &array(&r), &coo(&g)).unwrap();
    assert_array(&dl, &terms::sddmm_gradient(&weights, &l, &r, true));
    assert_array(&dr, &terms::sddmm_gradient(&weights, &r, &l, false));
    Ok(())
}

fn gradients(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    match u.int_in_range(0..=2)? {
        0 => gradients_of_matrices(u),
        1 => gradients_along_axes(u),
        _ => gradients_at_a_pattern(u),
    }
}

fn others<T: Draw + Both + terms::Multiplies + Ring>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    match u.int_in_range(0..=4)? {
        0 => all_pairs::<T>(u),
        1 => dotted::<T>(u),
        2 => along_axes::<T>(u),
        3 => at_a_pattern::<T>(u),
        _ => shares_of_entries(u),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=7) {
        Ok(0) => check::<i8>(&mut u),
        Ok(1) => check::<u64>(&mut u),
        Ok(2) => check::<bool>(&mut u),
        Ok(3) => check::<f64>(&mut u),
        Ok(4) => others::<i8>(&mut u),
        Ok(5) => others::<f32>(&mut u),
        Ok(6) => others::<f64>(&mut u),
        _ => gradients(&mut u),
    };
});
