//! Sums of products over letters against the definition, on every kind of operand, with their gradients.

use std::collections::BTreeSet;

use crate::generators::Drawn;
use crate::reference::dense::{Dense, Sparse, size};
use crate::reference::exact::{Summed, total};
use crate::reference::terms::{Lettered, Multiplies, einsum as expected_sum, element_at, length_of, places};
use crate::support::*;
use lacuna::{CooTensor, CsrTensor, Einsum, Error, Ring, einsum, grad, tensordot};
use ndarray::{Array2, ArrayD, arr0, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;

/// Operands with letters, and the letters of the result.
#[derive(Clone, Debug)]
struct Case<T> {
    operands: Vec<(Vec<char>, Sparse<T>)>,
    result: Vec<char>,
}

impl<T: Copy> Case<T> {
    fn text(&self) -> String {
        let operands: Vec<String> = self.operands.iter().map(|(letters, _)| letters.iter().collect()).collect();
        format!("{}->{}", operands.join(","), self.result.iter().collect::<String>())
    }
}

const LETTERS: [char; 5] = ['i', 'j', 'K', 'a', 'b'];

#[allow(clippy::type_complexity)] // parts of a case, nothing to be named
fn cases<T: Drawn>(values: BoxedStrategy<T>) -> BoxedStrategy<Case<T>> {
    let letters = || vec(0..LETTERS.len(), 0..=3);
    let operand = (letters(), vec((any::<bool>(), values), 1..=30));
    let lengths = vec(prop_oneof![5 => 1..=3usize, 1 => Just(0)], LETTERS.len());
    let parts = (vec(operand, 1..=3), lengths, letters());
    let build = |(operands, lengths, result): (Vec<(Vec<usize>, Vec<(bool, T)>)>, Vec<usize>, Vec<usize>)| {
        let used: BTreeSet<usize> = operands.iter().flat_map(|(letters, _)| letters.clone()).collect();
        let mut kept: Vec<usize> = Vec::new();
        result.into_iter().for_each(|letter| {
            if used.contains(&letter) && !kept.contains(&letter) {
                kept.push(letter);
            }
        });
        let operand = |(letters, values): (Vec<usize>, Vec<(bool, T)>)| {
            let shape: Vec<usize> = letters.iter().map(|&letter| lengths[letter]).collect();
            let dense = Dense::new(&shape, values.iter().cycle().map(|(_, value)| *value).take(size(&shape)).collect());
            let stored = dense.coords().into_iter().zip(values.iter().cycle()).filter(|(_, (is_stored, _))| *is_stored);
            let entries = stored.map(|(at, _)| (at.clone(), dense.get(&at))).collect();
            (letters.into_iter().map(|letter| LETTERS[letter]).collect(), Sparse::new(&shape, entries, T::zero()))
        };
        let operands = operands.into_iter().map(operand).collect();
        Case { operands, result: kept.into_iter().map(|letter| LETTERS[letter]).collect() }
    };
    parts.prop_map(build).boxed()
}

/// The positions that a result stores: where operands store what meets there.
fn stored_of<T: Copy>(case: &Case<T>) -> BTreeSet<Vec<usize>> {
    let masks: Vec<Lettered<bool>> = case
        .operands
        .iter()
        .map(|(letters, x)| {
            let mut mask = Dense::full(&x.shape, false);
            x.entries.keys().for_each(|at| mask.set(at, true));
            (letters.clone(), mask)
        })
        .collect();
    let mask = expected_sum(&masks, &case.result, |all| Some(all.iter().any(|&stored| stored))).unwrap();
    mask.coords().into_iter().filter(|at| mask.get(at)).collect()
}

fn sums_equal_those_of_the_definition<T>(values: BoxedStrategy<T>)
where
    T: Both + Drawn + Multiplies + Summed<Sum = T> + Ring,
{
    check(cases::<T>(values), |case| {
        let lettered: Vec<Lettered<T>> =
            case.operands.iter().map(|(letters, x)| (letters.clone(), x.to_dense())).collect();
        let expected = expected_sum(&lettered, &case.result, |all| T::sum_from(&total(all)));
        let (text, stored) = (case.text(), stored_of(&case));
        let coos: Vec<CooTensor<T>> = case.operands.iter().map(|(_, x)| coo(x)).collect();
        let csrs: Vec<CsrTensor<T>> = case.operands.iter().map(|(_, x)| csr(x)).collect();
        let arrays: Vec<ArrayD<T>> = lettered.iter().map(|(_, x)| array(x)).collect();
        assert_found(einsum(text.as_str(), &coos.iter().collect::<Vec<_>>()), &expected, &stored);
        assert_found(einsum(text.as_str(), &csrs.iter().collect::<Vec<_>>()), &expected, &stored);
        let stored_views: Vec<_> = coos.iter().map(|x| x.stored()).collect();
        assert_found(einsum(text.as_str(), &stored_views.iter().collect::<Vec<_>>()), &expected, &stored);
        let found = einsum(text.as_str(), &arrays.iter().collect::<Vec<_>>());
        match expected {
            Some(expected) => assert_array(&found.unwrap(), &expected),
            None => assert!(found.is_err(), "{found:?}"),
        }
    });
}

#[test]
fn sums_of_floats() {
    let rounded = prop_oneof![-2.0..2.0f64, Just(0.1), Just(-0.0), Just(1e16), Just(-1e-3)];
    sums_equal_those_of_the_definition::<f64>(rounded.boxed());
}

#[test]
fn sums_of_integers() {
    sums_equal_those_of_the_definition::<i64>(i64::values());
}

#[cfg(feature = "half")]
#[test]
fn sums_of_narrow_floats() {
    let values = (-40..=40i8).prop_map(|value| half::f16::from_f32(f32::from(value) * 0.37));
    sums_equal_those_of_the_definition::<half::f16>(values.boxed());
}

/// For integers in floats, every order gives the same gradient: the sum over all letters of the product of the other
/// operands.
#[test]
fn gradients_are_sums_of_what_stands_beside() {
    let small = (-3..=3i8).prop_map(f64::from).boxed();
    check((cases::<f64>(small), 1..9u8), |(case, seed)| {
        let lettered: Vec<Lettered<f64>> =
            case.operands.iter().map(|(letters, x)| (letters.clone(), x.to_dense())).collect();
        let all: Vec<&Lettered<f64>> = lettered.iter().collect();
        let shape: Vec<usize> = case.result.iter().map(|&letter| length_of(&all, letter)).collect();
        let data = (0..size(&shape)).map(|at| f64::from((at * usize::from(seed) % 7) as u8) - 3.0).collect();
        let g: Lettered<f64> = (case.result.clone(), Dense::new(&shape, data));
        let letters: Vec<char> =
            LETTERS.into_iter().filter(|letter| all.iter().any(|(own, _)| own.contains(letter))).collect();
        let expected: Vec<Dense<f64>> = (0..all.len())
            .map(|wanted| {
                let mut gradient = Dense::full(&all[wanted].1.shape, 0.0);
                for place in places(&all, &letters) {
                    let beside =
                        (0..all.len()).filter(|&other| other != wanted).map(|other| element_at(all[other], &place));
                    let term: f64 = beside.product::<f64>() * element_at(&g, &place);
                    let at: Vec<usize> = all[wanted]
                        .0
                        .iter()
                        .map(|letter| place.iter().find(|(own, _)| own == letter).unwrap().1)
                        .collect();
                    gradient.set(&at, gradient.get(&at) + term);
                }
                gradient
            })
            .collect();
        let (text, upstream) = (case.text(), array(&g.1));
        let coos: Vec<CooTensor<f64>> = case.operands.iter().map(|(_, x)| coo(x)).collect();
        let csrs: Vec<CsrTensor<f64>> = case.operands.iter().map(|(_, x)| csr(x)).collect();
        let arrays: Vec<ArrayD<f64>> = lettered.iter().map(|(_, x)| array(x)).collect();
        let of_coo = grad::einsum(text.as_str(), &coos.iter().collect::<Vec<_>>(), &upstream).unwrap();
        let sparse = coo(&g.1.to_sparse(0.0));
        let of_csr = grad::einsum(text.as_str(), &csrs.iter().collect::<Vec<_>>(), &sparse).unwrap();
        let of_arrays = grad::einsum(text.as_str(), &arrays.iter().collect::<Vec<_>>(), &upstream).unwrap();
        for (at, expected) in expected.iter().enumerate() {
            let wanted = case.operands[at].1.pattern_of(expected);
            let plain =
                |x: Sparse<f64>| Sparse { entries: x.entries.into_iter().map(|(at, v)| (at, v + 0.0)).collect(), ..x };
            let of = |x: &CooTensor<f64>| x.map_values(|value| value + 0.0).unwrap();
            assert_entries(&of(&of_coo[at]), &plain(wanted.clone()));
            assert_entries(&of(&of_csr[at].to_coo().unwrap()), &plain(wanted));
            assert_array(&of_arrays[at].mapv(|value| value + 0.0), &expected.map(|value| value + 0.0));
        }
    });
}

/// The left gradient is summed in eight lanes, in every format.
#[test]
fn gradients_of_the_left_operand_are_summed_in_lanes() {
    let terms: Vec<f64> = (0..21).map(|at| [1e16, 1.0, -1e16, 3.0, 1e-3][at % 5] * (1.0 + at as f64)).collect();
    let g = Array2::from_shape_vec((1, 21), terms.clone()).unwrap();
    let (x, y) = (arr2(&[[2.0]]), Array2::<f64>::ones((1, 21)));
    let mut lanes = [0.0; 8];
    terms.iter().enumerate().for_each(|(at, term)| lanes[at % 8] += term);
    let expected = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    assert_ne!(expected, terms.iter().sum::<f64>());
    assert_eq!(grad::einsum("ij,jk->ik", &[&x, &y], &g).unwrap()[0][[0, 0]], expected);
    let (x, y) = (CsrTensor::from_dense(&x, 0.0).unwrap(), CsrTensor::from_dense(&y, 0.0).unwrap());
    assert_eq!(grad::einsum("ij,jk->ik", &[&x, &y], &g).unwrap()[0].values(), [expected]);
    assert_eq!(grad::einsum("ij,jk->ik", &[&x, &y], &g).unwrap()[1].values()[3], 2.0 * terms[3]);
}

#[test]
fn an_order_is_taken_by_places_in_what_is_left() {
    let x = |rows: usize, columns: usize| {
        ArrayD::from_shape_fn(vec![rows, columns], |at| 0.1 * (1.0 + at[0] as f64) + at[1] as f64)
    };
    let (a, b, c) = (x(2, 3), x(3, 4), x(4, 2));
    let all = [&a, &b, &c];
    let right_first = einsum("jk,kl->jl", &[&b, &c]).unwrap();
    let expected = einsum("ij,jl->il", &[&a, &right_first]).unwrap();
    assert_eq!(einsum(Einsum::of("ij,jk,kl->il").order([[1, 2], [0, 1]]), &all).unwrap(), expected);
    let swapped = einsum("kl,jk->lj", &[&c, &b]).unwrap();
    let expected = einsum("lj,ij->il", &[&swapped, &a]).unwrap();
    assert_eq!(einsum(Einsum::of("ij,jk,kl->il").order([[2, 1], [1, 0]]), &all).unwrap(), expected);
    for order in [vec![], vec![[0, 1]], vec![[0, 0], [0, 1]], vec![[0, 3], [0, 1]], vec![[0, 1], [0, 2]]] {
        let refused = einsum(Einsum::of("ij,jk,kl->il").order(order.clone()), &all);
        assert!(matches!(refused, Err(Error::Argument { operation: "einsum", .. })), "{order:?}");
    }
}

/// Whichever is taken first is the left one, whose axes say in which order the terms are added.
#[test]
fn the_first_of_a_step_is_on_its_left() {
    // By rows these come to 1, by columns to 2.
    let terms = arr2(&[[1e16, 1.0], [-1e16, 1.0]]).into_dyn();
    let (ones, eye) = (arr2(&[[1.0, 1.0], [1.0, 1.0]]).into_dyn(), arr2(&[[1.0, 0.0], [0.0, 1.0]]).into_dyn());
    let sum = |order, operands: &[&ArrayD<f64>], spec| einsum(Einsum::of(spec).order(order), operands).unwrap()[[]];
    assert_eq!(sum(vec![[0, 1]], &[&terms, &ones], "ij,ji->"), 1.0);
    assert_eq!(sum(vec![[1, 0]], &[&terms, &ones], "ij,ji->"), 2.0);
    // The result of a step takes the position of its first operand.
    assert_eq!(sum(vec![[1, 2], [0, 1]], &[&terms, &ones, &eye], "ij,jk,ki->"), 1.0);
    assert_eq!(sum(vec![[2, 1], [0, 1]], &[&terms, &eye, &ones], "ij,jk,ki->"), 1.0);
    assert_eq!(sum(vec![[1, 2], [1, 0]], &[&terms, &ones, &eye], "ij,jk,ki->"), 2.0);
}

#[test]
fn dots_stand_for_the_axes_that_no_letter_names() {
    let x = ArrayD::from_shape_fn(vec![2, 3, 4], |at| (at[0] * 100 + at[1] * 10 + at[2]) as i64);
    let y = arr1(&[1i64, 2, 3, 4]).into_dyn();
    assert_eq!(einsum("...k,k->...", &[&x, &y]).unwrap(), einsum("ijk,k->ij", &[&x, &y]).unwrap());
    assert_eq!(einsum("i...->...i", &[&x]).unwrap(), einsum("ijk->jki", &[&x]).unwrap());
    assert_eq!(einsum("i...", &[&x]).unwrap().shape(), [3, 4, 2]);
    let why = einsum("...,i...->i", &[&y, &x]).unwrap_err().to_string();
    assert!(why.contains("operands have \"...\""), "{why}");
    let why = einsum("...i,...i->...", &[&y, &x]).map(|_| ());
    assert!(why.is_ok(), "{why:?}");
}

#[test]
fn what_is_wrong_is_an_error() {
    let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![1.0], 0.0).unwrap();
    let why = |spec: &str, count: usize| einsum(spec, &vec![&x; count]).unwrap_err().to_string();
    assert_eq!(why("ij,jk->i2", 2), "einsum: '2' at 8 is not a letter, `,`, `->` or `...`");
    assert!(why("ij", 2).contains("describes 1 operands, found 2"));
    assert!(why("", 0).contains("describes 1 operands, found 0"));
    let y = CooTensor::new([3], vec![vec![0]], vec![1.0], 0.0).unwrap();
    let refused = einsum("i,i", &[&y, &CooTensor::full([2], 0.0).unwrap()]).unwrap_err();
    assert_eq!(refused.to_string(), "einsum: 'i' has length 3, but axis 0 of operand 1 has length 2");
    let filled = x.clone().with_fill(2.0);
    assert!(matches!(einsum("ij->ji", &[&filled]), Err(Error::Argument { operation: "einsum", .. })));
    assert_eq!(einsum("ij->ji", &[&filled.stored()]).unwrap().entries(), [(vec![1, 0], 1.0)]);
    let refused = grad::einsum("ij,jk->ik", &[&x, &x], &arr0(1.0));
    assert!(matches!(refused, Err(Error::ShapeMismatch { what: "the upstream gradient", .. })));
}

/// A product on the way that overflowed is named by its step.
#[test]
fn what_is_not_finite_names_where_it_comes_from() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![1e200, 1e200], 0.0).unwrap();
    let Err(Error::NonFinite { operation: "einsum", left, coords, .. }) = einsum("ij,jk,kl->il", &[&x, &x, &x]) else {
        panic!()
    };
    assert_eq!((left.as_str(), coords), ("inf in the result of step 0, ij,jk->ik", vec![0, 0]));
    let found = einsum("ij,jk,kl->il", &[&x.stored(); 3]).unwrap();
    assert_eq!(found.values(), [f64::INFINITY, f64::INFINITY]);
    let wild = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![f64::NAN], 0.0).unwrap();
    let Err(Error::NonFinite { right, .. }) = einsum("ij,jk->ik", &[&x, &wild]) else { panic!() };
    assert_eq!(right, "NaN in operand 1");
}

#[test]
fn a_single_operand_is_moved_or_summed_exactly() {
    let x = arr2(&[[1e16, 1.0, -1e16], [-0.0, f64::NAN, 2.0], [0.5, 0.5, -0.0]]);
    assert_eq!(einsum("ij->i", &[&x]).unwrap()[[0]], 1.0);
    assert_eq!(einsum("ij->ji", &[&x]).unwrap()[[0, 1]].to_bits(), (-0.0f64).to_bits());
    assert_eq!(einsum("ii->i", &[&x]).unwrap()[[2]].to_bits(), (-0.0f64).to_bits());
    let y = arr1(&[100i8, 100]);
    assert!(matches!(einsum("i->", &[&y]), Err(Error::Overflow { operation: "einsum", dtype: "int8", .. })));
    assert_eq!(einsum("i,i->", &[&y, &arr1(&[1i8, -1])]).unwrap()[[]], 0);
    assert!(einsum("i->", &[&arr1(&[true, true, false])]).unwrap()[[]]);
}

/// A product on the way that no memory holds is refused before it is made.
#[test]
fn intermediates_are_counted_before_they_are_made() {
    let x = CooTensor::new([1 << 17], vec![(0..1 << 17).collect()], vec![1.0; 1 << 17], 0.0).unwrap();
    let refused = einsum("i,j,i,j->", &[&x, &x, &x, &x]);
    assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
    let paired = Einsum::of("i,j,i,j->").order([[0, 2], [1, 2], [0, 1]]);
    assert_eq!(einsum(paired, &[&x, &x, &x, &x]).unwrap().item().unwrap(), (1u64 << 34) as f64);
    let wide = ndarray::Array1::<f64>::zeros(1 << 20);
    assert!(matches!(einsum("i,j->ij", &[&wide, &wide]), Err(Error::TooLarge { .. })));
}

#[test]
fn tensordot_sums_in_the_order_of_the_left_operand() {
    let x = ArrayD::from_shape_fn(vec![2, 3, 4], |at| 0.1 * (at[0] * 12 + at[1] * 4 + at[2]) as f64);
    let y = ArrayD::from_shape_fn(vec![4, 2, 3], |at| 0.3 * (at[0] + at[1] * 5 + at[2] * 2) as f64);
    let found = tensordot(&x, &y, [2, 1], [0, 2]).unwrap();
    assert_eq!(found, tensordot(&x, &y, [1, -1], [2, 0]).unwrap());
    assert_eq!(found, einsum("ijk,klj->il", &[&x, &y]).unwrap());
    let (a, b) = (CsrTensor::from_dense(&x, 0.0).unwrap(), CsrTensor::from_dense(&y, 0.0).unwrap());
    assert_eq!(tensordot(&a, &b, [2, 1], [0, 2]).unwrap().to_dense().unwrap(), found);
    let g = Array2::<f64>::ones((2, 2));
    let gradients = grad::einsum("ijk,klj->il", &[&a, &b], &g).unwrap();
    let (dx, dy) = grad::tensordot(&a, &b, [2, 1], [0, 2], &g).unwrap();
    assert!(dx.same_as(&gradients[0]) && dy.same_as(&gradients[1]));
    assert!(matches!(tensordot(&x, &y, [0], [0]), Err(Error::Argument { operation: "tensordot", .. })));
    assert!(matches!(tensordot(&x, &y, [0, 0], [1, 1]), Err(Error::AxisRepeated { axis: 0, .. })));
    assert!(matches!(tensordot(&x, &y, [3], [1]), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(tensordot(&x, &y, [0, 1], [1]), Err(Error::LengthMismatch { .. })));
    assert_eq!(tensordot(&x, &y, [], []).unwrap().shape(), [2, 3, 4, 4, 2, 3]);
    for (left, right) in [(&a, &b.clone().with_fill(1.0)), (&a.clone().with_fill(1.0), &b)] {
        let refused = tensordot(left, right, [2, 1], [0, 2]);
        assert!(matches!(refused, Err(Error::Argument { operation: "tensordot", .. })), "{refused:?}");
    }
}

proptest! {
    /// No text makes it panic.
    #[test]
    fn any_text_is_read_or_refused(text in "[ijK.,>\\- é0]{0,12}") {
        let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![1.0], 0.0).unwrap();
        for operands in [&[][..], &[&x], &[&x, &x], &[&x, &x, &x]] {
            if let Ok(found) = einsum(text.as_str(), operands) {
                prop_assert!(found.rank() <= 4);
            }
        }
    }
}
