//! Products of matrices on masks, and by other operations, against loops.

use crate::generators::{Drawn, SparseSeed, seeds};
use crate::matmul::{Pair, all_of, assert_dense, assert_sparse, pairs};
use crate::reference::dense::Sparse;
use crate::reference::product::{self as reference, Multiplies, Product};
use crate::reference::zip::{Arith, Computes};
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{
    CooPattern, CooTensor, CsrPattern, CsrTensor, Error, Matmul, Real, Semiring, Tensor, grad, matmul, matmul_with,
};
use ndarray::{arr1, arr2};
use proptest::prelude::*;

/// Operands, a mask of the shape of their product, and how it is taken: not at all, as it is, or its complement.
#[derive(Clone, Debug)]
struct Masked<T> {
    pair: Pair<T>,
    mask: Sparse<bool>,
    how: usize,
}

impl<T> Masked<T> {
    fn lets(&self, at: &[usize]) -> bool {
        match self.how {
            0 => true,
            1 => self.mask.entries.contains_key(at),
            _ => !self.mask.entries.contains_key(at),
        }
    }
}

/// The options of a case, with a mask of a format.
macro_rules! on {
    ($options:expr, $case:expr, $pattern:expr) => {
        match $case.how {
            0 => $options,
            1 => $options.mask($pattern),
            _ => $options.without($pattern),
        }
    };
}

/// Cases with masks of some entries, of none and of all.
fn cases<T: Drawn + Multiplies>() -> BoxedStrategy<Masked<T>> {
    let build = |(pair, mask, fills, how): (Pair<T>, SparseSeed<bool>, (u8, T), usize)| {
        let mut pair = pair;
        // The fills do not matter.
        (pair.x.fill, pair.y.fill) = (fills.1, T::one());
        let mut mask = mask.build(&Product::new(&pair.x.shape, &pair.y.shape).shape);
        match fills.0 {
            0 => mask.entries.clear(),
            1 => mask = all_of(&mask.to_dense()),
            _ => {}
        }
        Masked { pair, mask, how }
    };
    let fills = (0..8_u8, seeds::<T>().prop_map(|seed| seed.build(&[]).fill));
    (pairs::<T>(), seeds(), fills, 0..3_usize).prop_map(build).boxed()
}

/// A sum of terms from the first one on; none where the type has none of a term or of a sum.
fn fold<T: Copy>(pairs: &[(T, T)], term: impl Fn(T, T) -> Option<T>, add: impl Fn(T, T) -> Option<T>) -> Option<T> {
    // A term that there is not is missed in the end, whatever stands beside it.
    let terms = pairs.iter().map(|&(a, b)| term(a, b)).collect::<Option<Vec<T>>>()?;
    terms[1..].iter().try_fold(terms[0], |sum, &term| add(sum, term))
}

fn arith<T: Computes>(op: Arith) -> impl Fn(T, T) -> Option<T> {
    move |a, b| T::arith(op, a, b).ok()
}

fn first<T>(a: T, _: T) -> Option<T> {
    Some(a)
}

fn second<T>(_: T, b: T) -> Option<T> {
    Some(b)
}

fn of_sparse_operands<T: Both + Drawn + Multiplies>(
    case: &Masked<T>,
    options: Matmul<'static, impl Semiring<T>>,
    zero: T,
    sum: impl Fn(&[(T, T)]) -> Option<T>,
) {
    let (x, y) = (&case.pair.x, &case.pair.y);
    let expected = reference::matmul_with(x, y, zero, |at| case.lets(at), &sum);
    let mask = coo(&case.mask);
    assert_sparse(coo(x).matmul_with(&csr(y), on!(options, case, mask.pattern())), &expected);
    let mask = coo_as::<bool, u64>(&case.mask);
    assert_sparse(csr(x).stored().matmul_with(&coo(y), on!(options, case, mask.pattern())), &expected);
    if !case.mask.shape.is_empty() {
        let mask = csr(&case.mask);
        assert_sparse(coo(x).matmul_with(&coo(y), on!(options, case, mask.pattern())), &expected);
    }
}

fn of_any_operands<T: Both + Drawn + Multiplies>(
    case: &Masked<T>,
    options: Matmul<'static, impl Semiring<T>>,
    zero: T,
    sum: impl Fn(&[(T, T)]) -> Option<T>,
) {
    of_sparse_operands(case, options, zero, &sum);
    let (x, y) = (&case.pair.x, &case.pair.y);
    let (dense_x, dense_y) = (x.to_dense(), y.to_dense());
    let (all_x, all_y) = (all_of(&dense_x), all_of(&dense_y));
    let dense = |x: &Sparse<T>, y: &Sparse<T>| {
        reference::matmul_with(x, y, zero, |at| case.lets(at), &sum).map(|sparse| sparse.to_dense())
    };
    let mask = coo(&case.mask);
    let options = on!(options, case, mask.pattern());
    for_each_layout(&dense_y, |_, view| assert_dense(csr(x).matmul_with(&view, options), &dense(x, &all_y)));
    assert_dense(array(&dense_x).matmul_with(&coo(y), options), &dense(&all_x, y));
    assert_dense(matmul_with(&array(&dense_x), &array(&dense_y), options), &dense(&all_x, &all_y));
}

fn products_by_other_operations_are_those_of_loops<T: Both + Drawn + Multiplies + Computes + Real>() {
    check(cases::<T>(), |case| {
        of_any_operands(&case, Matmul::plus_times(), T::zero(), T::sum_of_products);
        let (least, greatest) = (arith(Arith::Minimum), arith(Arith::Maximum));
        of_any_operands(&case, Matmul::min_plus(), T::HIGHEST, |pairs| fold(pairs, arith(Arith::Add), &least));
        of_any_operands(&case, Matmul::max_first(), T::LOWEST, |pairs| fold(pairs, first, &greatest));
        // The order of the terms shows.
        let by = Matmul::by(T::one(), |sum, term| if sum == term { T::zero() } else { term }, |a, _| a);
        let add = |sum, term| Some(if sum == term { T::zero() } else { term });
        of_any_operands(&case, by, T::one(), |pairs| fold(pairs, first, add));
    });
}

for_real_types!(products_by_other_operations_are_those_of_loops);

fn every_semiring_is_what_it_is_called<T: Both + Drawn + Multiplies + Computes + Real>() {
    check(cases::<T>(), |case| {
        let (plus, times) = (arith(Arith::Add), arith(Arith::Mul));
        let (least, greatest) = (arith(Arith::Minimum), arith(Arith::Maximum));
        let (low, high, zero) = (T::LOWEST, T::HIGHEST, T::zero());
        let one = |_, _| Some(T::one());
        let sum_of = |pairs: &[(T, T)], of: fn((T, T)) -> T| {
            T::sum_of_products(&pairs.iter().map(|&pair| (of(pair), T::one())).collect::<Vec<_>>())
        };
        of_sparse_operands(&case, Matmul::plus_first(), zero, |pairs| sum_of(pairs, |(a, _)| a));
        of_sparse_operands(&case, Matmul::plus_second(), zero, |pairs| sum_of(pairs, |(_, b)| b));
        of_sparse_operands(&case, Matmul::plus_pair(), zero, |pairs| sum_of(pairs, |_| T::one()));
        of_sparse_operands(&case, Matmul::max_plus(), low, |pairs| fold(pairs, &plus, &greatest));
        of_sparse_operands(&case, Matmul::min_times(), high, |pairs| fold(pairs, &times, &least));
        of_sparse_operands(&case, Matmul::max_times(), low, |pairs| fold(pairs, &times, &greatest));
        of_sparse_operands(&case, Matmul::min_max(), high, |pairs| fold(pairs, &greatest, &least));
        of_sparse_operands(&case, Matmul::max_min(), low, |pairs| fold(pairs, &least, &greatest));
        of_sparse_operands(&case, Matmul::min_first(), high, |pairs| fold(pairs, first, &least));
        of_sparse_operands(&case, Matmul::min_second(), high, |pairs| fold(pairs, second, &least));
        of_sparse_operands(&case, Matmul::max_second(), low, |pairs| fold(pairs, second, &greatest));
        of_sparse_operands(&case, Matmul::any_first(), zero, |pairs| fold(pairs, first, first));
        of_sparse_operands(&case, Matmul::any_second(), zero, |pairs| fold(pairs, second, first));
        of_sparse_operands(&case, Matmul::any_pair(), zero, |pairs| fold(pairs, one, first));
        let truth = |is_true: bool| Some(if is_true { T::one() } else { T::zero() });
        let and_or = |pairs: &[(T, T)]| truth(pairs.iter().any(|&(a, b)| a.truthy() && b.truthy()));
        of_sparse_operands(&case, Matmul::or_and(), zero, and_or);
    });
}

stamp!(every_semiring_is_what_it_is_called: int8 = i8, float64 = f64; half float16 = half::f16);

#[test]
fn a_pattern_alone_is_the_plain_product_on_it() {
    let x = CooTensor::from_dense(&arr2(&[[1, 2], [3, 4]]), 0).unwrap();
    let mask = CsrPattern::new([2, 2], vec![0, 1, 2], vec![1u32, 0]).unwrap();
    let product = x.matmul_with(&x, &mask).unwrap();
    assert_eq!(product.entries(), [(vec![0, 1], 10), (vec![1, 0], 15)]);
    let dense = x.to_dense().unwrap().matmul_with(&x, &mask).unwrap();
    assert_eq!(dense, arr2(&[[0, 10], [15, 0]]).into_dyn());
    assert_eq!(format!("{:?}", Matmul::from(&mask)), "Matmul { semiring: PlusTimes, mask: Some(([2, 2], false)) }");
}

#[test]
fn masks_of_another_shape_are_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let mask = CooPattern::<u32>::new([2, 3], 0, vec![vec![]; 2]).unwrap();
    let error = x.matmul_with(&x.transpose().unwrap(), &mask).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch { what: "the mask", .. }), "{error}");
    assert!(x.matmul_with(&arr1(&[1.0, 2.0, 3.0]), &mask).is_err());
}

/// Products outside a mask are not computed, and cannot overflow.
#[test]
fn only_what_a_mask_lets_through_overflows() {
    let x = CooTensor::from_dense(&arr2(&[[100i8, 1], [1, 1]]), 0).unwrap();
    let corner = CooPattern::new([2, 2], 1, vec![vec![0u32], vec![0]]).unwrap();
    let error = x.matmul_with(&x, &corner).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul_with at [0, 0] does not fit int8; cast the operand first, for example to float64"
    );
    assert_eq!(x.matmul_with(&x, Matmul::plus_times().without(&corner)).unwrap().values(), [101, 101, 2]);
    assert!(x.matmul_with(&x, Matmul::min_plus()).unwrap_err().to_string().contains("[0, 0]"));
    // least of what fits, beside what does not
    let array = x.to_dense().unwrap();
    assert_eq!(array.matmul_with(&x, Matmul::min_plus().without(&corner)).unwrap()[[1, 1]], 2);
}

/// A function is asked for elements that meet, and for no others.
#[test]
fn functions_see_no_elements_but_those_that_meet() {
    let quotients = Matmul::by(0, |sum, term| sum + term, |a: i64, b| a / b + b / a);
    let x = CsrTensor::new([3, 3], vec![0, 1, 2, 3], vec![1, 2, 0], vec![2, 4, 8], 0).unwrap();
    assert_eq!(x.matmul_with(&x, quotients).unwrap().values(), [2, 2, 4]);
    let array = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert_eq!(array.matmul_with(&x, quotients).unwrap(), arr2(&[[2, 2, 2], [1, 2, 1]]).into_dyn());
    assert_eq!(x.matmul_with(&array.t(), quotients).unwrap(), arr2(&[[2, 2], [1, 1], [8, 2]]).into_dyn());
}

/// Axes that are far longer than what is stored are no dearer with a mask.
#[test]
fn masks_of_vast_shapes_cost_what_they_store() {
    let vast = [1 << 40, 1 << 50];
    let tensor = |shape: [usize; 2], coords: [[u64; 2]; 2], values: [i64; 2]| {
        let pattern = CooPattern::new(shape, 2, coords.map(|axis| axis.to_vec()).to_vec()).unwrap();
        Tensor::from_parts(pattern, values.to_vec(), 0).unwrap()
    };
    let x = tensor(vast, [[5, 12], [1 << 45, (1 << 45) + 9]], [2, 3]);
    let y = tensor([vast[1], vast[0]], [[1 << 45, (1 << 45) + 9], [3, 1 << 39]], [5, 7]);
    let mask = |rows: [u64; 2], columns: [u64; 2]| {
        CooPattern::new([vast[0]; 2], 2, vec![rows.to_vec(), columns.to_vec()]).unwrap()
    };
    let one = mask([5, 13], [3, 1 << 39]);
    assert_eq!(x.matmul_with(&y, &one).unwrap().entries(), [(vec![5, 3], 10)]);
    let other = x.matmul_with(&y, Matmul::plus_times().without(&one)).unwrap();
    assert_eq!(other.entries(), [(vec![12, 1 << 39], 21)]);
    assert_eq!(x.matmul_with(&y, &mask([5, 12], [4, (1 << 39) + 1])).unwrap().nnz(), 0);
    let v = Tensor::from_parts(CooPattern::new([vast[1]], 1, vec![vec![1u64 << 45]]).unwrap(), vec![100], 0).unwrap();
    let places = CooPattern::new([vast[0]], 1, vec![vec![5u64]]).unwrap();
    assert_eq!(x.matmul_with(&v, &places).unwrap().entries(), [(vec![5], 200)]);
    assert_eq!(x.matmul_with(&v, Matmul::any_pair().without(&places)).unwrap().nnz(), 0);
}

/// The gradient that the page names, beside that of the dense product with the rest cut out.
#[test]
fn gradients_of_masked_products_are_those_of_views_and_masked_upstreams() {
    let x = CsrTensor::from_dense(&arr2(&[[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]), 0.0).unwrap();
    let y = CsrTensor::from_dense(&arr2(&[[5.0, 0.0], [6.0, 7.0], [0.0, 8.0]]), 0.0).unwrap();
    let mask = CsrPattern::new([2, 2], vec![0, 1, 2], vec![0, 1]).unwrap();
    let upstream = CsrTensor::from_dense(&arr2(&[[1.0, 10.0], [100.0, 1000.0]]), 0.0).unwrap();
    for (dz, cut) in [
        (upstream.stored().mask(&mask).unwrap(), arr2(&[[1.0, 0.0], [0.0, 1000.0]])),
        (upstream.stored().without(&mask).unwrap(), arr2(&[[0.0, 10.0], [100.0, 0.0]])),
    ] {
        let (dx, dy) = grad::matmul(&x.stored(), &y, &dz).unwrap();
        let (of_x, of_y) = grad::matmul(&x.to_dense().unwrap(), &y.to_dense().unwrap(), &cut).unwrap();
        dx.for_each_entry(|at, value| assert_eq!(value, of_x[at]));
        dy.for_each_entry(|at, value| assert_eq!(value, of_y[at]));
    }
}

/// The pattern of a result depends only on the patterns of the operands and of the mask.
#[test]
fn patterns_are_functions_of_patterns() {
    let x = CsrTensor::new([2, 2], vec![0, 2, 3], vec![0, 1, 0], vec![0.0, f64::NAN, -1.0], 7.0).unwrap();
    let ones = x.map_values(|_| 1.0).unwrap();
    let mask = CsrPattern::new([2, 2], vec![0, 1, 3], vec![1u32, 0, 1]).unwrap();
    for options in [Matmul::from(&mask), Matmul::plus_times().without(&mask), Matmul::plus_times()] {
        let (found, expected) = (x.matmul_with(&x, options).unwrap(), ones.matmul_with(&ones, options).unwrap());
        assert_eq!(found.pattern(), expected.pattern());
        assert_eq!(found.fill(), 0.0);
    }
    assert_eq!(
        matmul(&x.stored(), &x).unwrap().pattern(),
        ones.matmul_with(&ones, Matmul::min_plus()).unwrap().pattern()
    );
}
