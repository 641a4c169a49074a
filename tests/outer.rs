//! Products of all pairs against the reference, on every kind of operand, with their gradients.

use crate::generators::{Drawn, DrawnGrad, SparseSeed, seeds, shapes_of_rank};
use crate::reference::dense::{Dense, Sparse, ravel, size};
use crate::reference::terms::{
    Multiplies, Place, in_lanes, of_all_pairs, one_behind_the_other, one_in_the_other, sum_of_terms, term,
};
use crate::support::*;
use lacuna::{CooTensor, Error, Float, Pattern, Result, Ring, Tensor, grad, kron, outer};
use ndarray::{ArrayD, arr1, arr2};
use proptest::prelude::*;

/// Two operands with a fill of zero, mostly of finite values.
fn pairs<T: Drawn>() -> BoxedStrategy<(Sparse<T>, Sparse<T>)> {
    let parts = (shapes_of_rank(0, 3), shapes_of_rank(0, 2), seeds::<T>(), seeds::<T>(), 0..4u8);
    let build = |(left, right, x, y, wild): (Vec<usize>, Vec<usize>, SparseSeed<T>, SparseSeed<T>, u8)| {
        let of = |seed: SparseSeed<T>, shape: &[usize]| {
            let mut x = seed.build(&shape.iter().map(|&length| length.min(4)).collect::<Vec<_>>());
            x.fill = T::zero();
            let tamed = |value: T| if wild > 0 && !value.is_finite() { T::one() } else { value };
            x.entries.values_mut().for_each(|value| *value = tamed(*value));
            x
        };
        (of(x, &left), of(y, &right))
    };
    parts.prop_map(build).boxed()
}

#[track_caller]
fn assert_pairs<P: Pattern, T: Both>(found: Result<Tensor<P, T>>, expected: &Option<Sparse<T>>) {
    match expected {
        Some(expected) => assert_entries(&found.unwrap(), expected),
        None => assert!(matches!(found, Err(Error::Overflow { .. })), "{found:?}"),
    }
}

macro_rules! check_pairs {
    ($x:expr, $y:expr, $name:ident, $place:expr) => {{
        let (wanted, refused) = of_all_pairs($x, $y, $place);
        if refused {
            let found = $name(&coo($x), &coo($y));
            assert!(matches!(found, Err(Error::NonFinite { .. })), "{found:?}");
        } else {
            assert_pairs($name(&coo($x), &coo($y)), &wanted);
            assert_pairs($name(&csr($x), &csr($y)), &wanted);
            let found = $name(&array(&$x.to_dense()), &array(&$y.to_dense()));
            match &wanted {
                Some(wanted) => assert_array(&found.unwrap(), &wanted.to_dense()),
                None => assert!(found.is_err()),
            }
        }
        let (a, b) = (csr($x).with_fill(T::one()), csr($y));
        assert_pairs($name(&a.stored(), &b.stored()), &wanted);
    }};
}

fn pairs_equal_those_of_the_dense_loop<T: Both + Drawn + Multiplies + Ring>() {
    check(pairs::<T>(), |(x, y)| {
        check_pairs!(&x, &y, outer, one_behind_the_other);
        check_pairs!(&x, &y, kron, one_in_the_other);
    });
}

for_all_types!(pairs_equal_those_of_the_dense_loop);

/// The gradients at the entries of both, from a gradient for each pair of positions.
fn gradients<T: Multiplies>(x: &Sparse<T>, y: &Sparse<T>, g: &Dense<T>, place: Place) -> (Sparse<T>, Sparse<T>) {
    let at = |i: &[usize], j: &[usize]| {
        let (shape, at) = place(&x.shape, &y.shape, i, j);
        g.data[ravel(&at, &shape) as usize]
    };
    let of_left = |i: &Vec<usize>| {
        let mut terms = vec![T::nothing(); size(&y.shape).next_multiple_of(8)];
        // A term whose gradient is zero is left out.
        for (j, &b) in y.entries.iter().filter(|(j, _)| at(i, j).truthy()) {
            terms[ravel(j, &y.shape) as usize] = term(&[at(i, j), b]);
        }
        (i.clone(), in_lanes::<T>(&terms).unwrap())
    };
    let of_right = |j: &Vec<usize>| {
        let given = x.entries.iter().filter(|(i, _)| at(i, j).truthy());
        (j.clone(), sum_of_terms(given.map(|(i, &a)| vec![a, at(i, j)])).unwrap())
    };
    let sparse = |x: &Sparse<T>, entries| Sparse { shape: x.shape.clone(), entries, fill: T::zero() };
    let (dx, dy) = (x.entries.keys().map(of_left).collect(), y.entries.keys().map(of_right).collect());
    (sparse(x, dx), sparse(y, dy))
}

fn gradients_equal_those_of_the_dense_loop<T: Both + DrawnGrad + Multiplies + Float>() {
    let cases = (pairs::<T>(), proptest::collection::vec(T::gradients(), 1..=40));
    check(cases, |((x, y), values)| {
        let places: [Place; 2] = [one_behind_the_other, one_in_the_other];
        for (at, place) in places.into_iter().enumerate() {
            let (shape, _) = place(&x.shape, &y.shape, &vec![0; x.shape.len()], &vec![0; y.shape.len()]);
            let g = Dense::new(&shape, values.iter().copied().cycle().take(size(&shape)).collect());
            let (dx, dy) = gradients(&x, &y, &g, place);
            let upstream = array(&g);
            let (a, b) = (coo(&x), coo(&y));
            let found = if at == 0 { grad::outer(&a, &b, &upstream) } else { grad::kron(&a, &b, &upstream) };
            let (of_x, of_y) = found.unwrap();
            assert_entries(&of_x, &dx);
            assert_entries(&of_y, &dy);
            let (a, b, sparse) = (csr(&x), csr(&y), coo(&g.to_sparse(T::zero())));
            let found = if at == 0 { grad::outer(&a, &b, &sparse) } else { grad::kron(&a, &b, &sparse) };
            assert_entries(&found.unwrap().1, &dy);
            let all = |x: &Sparse<T>| {
                let dense = x.to_dense();
                Sparse::new(
                    &x.shape,
                    dense.coords().into_iter().map(|at| (at.clone(), dense.get(&at))).collect(),
                    T::zero(),
                )
            };
            let (dx, dy) = gradients(&all(&x), &all(&y), &g, place);
            let (a, b): (ArrayD<T>, ArrayD<T>) = (array(&x.to_dense()), array(&y.to_dense()));
            let found = if at == 0 { grad::outer(&a, &b, &upstream) } else { grad::kron(&a, &b, &upstream) };
            let (of_x, of_y) = found.unwrap();
            assert_array(&of_x, &dx.to_dense());
            assert_array(&of_y, &dy.to_dense());
        }
    });
}

stamp!(gradients_equal_those_of_the_dense_loop: float64 = f64; half float16 = half::f16);

/// The gradient of the right one went to rows that an empty left one does not have, and panicked.
#[test]
fn an_operand_without_entries_has_gradients() {
    let (none, one) = (CooTensor::full([2], 0.0).unwrap(), CooTensor::new([2], vec![vec![1]], vec![3.0], 0.0).unwrap());
    let upstream = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    let (of_none, of_one) = grad::outer(&none, &one, &upstream).unwrap();
    assert_eq!((of_none.values(), of_one.values()), (&[][..], &[0.0][..]));
    assert_eq!(grad::outer(&one, &none, &upstream).unwrap().0.values(), [0.0]);
}

#[test]
fn the_first_product_that_does_not_fit_is_named() {
    let (x, y) = (arr1(&[1i8, 100]).into_dyn(), arr1(&[1i8, 2, 3]).into_dyn());
    let told = |error: Error| error.to_string();
    assert!(told(outer(&x, &y).unwrap_err()).starts_with("outer at [1, 1] does not fit int8"));
    let (x, y) = (CooTensor::from_dense(&x, 0).unwrap(), CooTensor::from_dense(&y, 0).unwrap());
    assert!(told(outer(&x, &y).unwrap_err()).starts_with("outer at [1, 1] does not fit int8"));
    assert!(told(kron(&x, &y).unwrap_err()).starts_with("kron at [4] does not fit int8"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = CooTensor::new([2], vec![vec![1]], vec![f64::INFINITY], 0.0).unwrap();
    let Err(Error::NonFinite { operation: "outer", left, coords, .. }) = outer(&x, &x) else { panic!() };
    assert_eq!((left.as_str(), coords), ("inf", vec![1]));
    assert_eq!(outer(&x.stored(), &x.stored()).unwrap().values(), [f64::INFINITY]);
    let whole = x.clone().with_fill(1.0);
    assert!(matches!(outer(&whole, &x), Err(Error::Argument { operation: "outer", .. })));
    let x = CooTensor::new([2], vec![vec![1]], vec![100i8], 0).unwrap();
    let Err(Error::Overflow { operation: "kron", coords, .. }) = kron(&x, &x) else { panic!() };
    assert_eq!(coords, Some(vec![3]));
    assert!(matches!(kron(&arr1(&[100i8]), &arr1(&[2])), Err(Error::Overflow { .. })));
    let many = CooTensor::new([1 << 17], vec![(0..1 << 17).collect()], vec![1.0; 1 << 17], 0.0).unwrap();
    assert!(matches!(outer(&many, &many), Err(Error::TooLarge { .. })));
    let long = CooTensor::<f64>::full([1 << 20], 0.0).unwrap();
    assert!(matches!(kron(&long, &long), Err(Error::AxisTooLong { .. })));
    let wide = ndarray::Array1::<f64>::zeros(1 << 20);
    assert!(matches!(outer(&wide, &wide), Err(Error::TooLarge { .. })));
    let zeros = outer(&arr1(&[0.0, -0.0]), &arr1(&[-3.0, 3.0])).unwrap();
    assert!(zeros.iter().all(|value: &f64| value.to_bits() == 0));
    assert_eq!(kron(&arr2(&[[1, 2]]), &arr2(&[[1], [3]])).unwrap(), arr2(&[[1, 2], [3, 6]]).into_dyn());
}

/// A lane is told by the position of an element on the right, not by how many are stored before it: with another lane
/// the sum is another number here.
#[test]
fn gradients_of_the_left_are_sums_in_eight_lanes_by_position() {
    let values: Vec<f64> = (0..20).map(|at| [1e16, 1.0, -1e16, 3.5, 0.1][at % 5] + at as f64).collect();
    let in_lanes = |lane: fn(usize) -> usize| {
        let mut lanes = [0.0; 8];
        values.iter().enumerate().for_each(|(at, value)| lanes[lane(at) % 8] += value * 1.0);
        let [a, b, c, d, e, f, g, h] = lanes;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    };
    assert_ne!(in_lanes(|at| at), in_lanes(|at| at / 2));
    let x = CooTensor::new([1], vec![vec![0]], vec![2.0], 0.0).unwrap();
    let y = CooTensor::new([20], vec![(0..20).collect()], values.clone(), 0.0).unwrap();
    let ones = CooTensor::new([1, 20], vec![vec![0; 20], (0..20).collect()], vec![1.0; 20], 0.0).unwrap();
    let (dx, _) = grad::outer(&x, &y, &ones).unwrap();
    assert_eq!(dx.values(), [in_lanes(|at| at)]);
}
