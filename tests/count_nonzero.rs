//! `count_nonzero` against the reference, on every format, element type and layout.

use crate::generators::{Drawn, Reduction, reductions};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::{ops, structure};
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{Axes, CooPattern, CooTensor, Error, Tensor, count_nonzero};

fn every_operand_equals_the_dense_result<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let dense = x.to_dense();
        let expected = ops::count_nonzero(&dense, &normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), &normalised, keep_dims);
        let axes = axes_of(&axes, keep_dims);
        assert_tensor(&coo(&x).count_nonzero(&axes).unwrap(), &expected, &stored);
        assert_tensor(&count_nonzero(&csr_as::<T, usize>(&x), &axes).unwrap(), &expected, &stored);
        for_each_layout(&dense, |_, view| assert_array(&view.count_nonzero(&axes).unwrap(), &expected));
    });
}

/// Absent elements count as zeros.
fn stored_entries_count_alone<T: Both + Drawn>() {
    check(reductions::<T, f64>(), |Reduction { x, axes, normalised, keep_dims, .. }| {
        let absent = Sparse::new(&x.shape, x.entries.clone(), T::ZERO);
        let expected: Dense<u64> = ops::count_nonzero(&absent.to_dense(), &normalised, keep_dims);
        let stored = structure::reduce(&x.coords(), &normalised, keep_dims);
        let axes = axes_of(&axes, keep_dims);
        assert_tensor(&coo(&x).stored().count_nonzero(&axes).unwrap(), &expected, &stored);
        assert_tensor(&csr(&x).stored().count_nonzero(&axes).unwrap(), &expected, &stored);
    });
}

for_all_types!(every_operand_equals_the_dense_result, stored_entries_count_alone);

/// 2^64 positions, of which `zeros` are stored zeros at the front.
fn of_two_to_the_64(zeros: u64) -> CooTensor<f64, u64> {
    let pattern =
        CooPattern::new([1 << 32, 1 << 32], zeros as usize, vec![vec![0; zeros as usize], (0..zeros).collect()]);
    Tensor::from_parts(pattern.unwrap(), vec![0.0; zeros as usize], 1.0).unwrap()
}

#[test]
fn more_than_the_result_holds_is_an_error_that_names_the_operation() {
    let refused = of_two_to_the_64(0).count_nonzero(Axes::all()).unwrap_err();
    assert!(matches!(refused, Error::Uncountable { operation: "count_nonzero" }), "{refused}");
    assert_eq!(of_two_to_the_64(0).with_fill(0.0).count_nonzero(Axes::all()).unwrap().get(&[]).unwrap(), 0);
    assert_eq!(of_two_to_the_64(3).stored().count_nonzero(Axes::all()).unwrap().get(&[]).unwrap(), 0);
    assert_eq!(of_two_to_the_64(3).count_nonzero(0).unwrap().values(), [(1 << 32) - 1; 3]);
}

/// The fill of the result would be 2^64, but no cell holds it.
#[test]
fn a_fill_without_a_result_is_an_error_only_where_a_cell_holds_it() {
    let x = of_two_to_the_64(1);
    assert_eq!(x.count_nonzero(Axes::all()).unwrap().get(&[]).unwrap(), u64::MAX);
    let rows = |of: usize| {
        let pattern = CooPattern::new([of, 1 << 32, 1 << 32], 1, vec![vec![0u64]; 3]);
        Tensor::from_parts(pattern.unwrap(), vec![0.0], 1.0).unwrap().count_nonzero([1, 2])
    };
    assert_eq!(rows(1).unwrap().values(), [u64::MAX]);
    assert!(matches!(rows(2), Err(Error::Uncountable { .. })));
    // As many entries as cells, but all of them in one: the other one holds the fill.
    let pattern = CooPattern::new([2, 1 << 32, 1 << 32], 2, vec![vec![0u64, 0], vec![0, 0], vec![0, 1]]);
    let crowded = Tensor::from_parts(pattern.unwrap(), vec![0.0; 2], 1.0).unwrap();
    assert!(matches!(crowded.count_nonzero([1, 2]), Err(Error::Uncountable { .. })));
    let none = Tensor::from_parts(CooPattern::<u64>::empty([0, 1 << 32, 1 << 33]).unwrap(), vec![], 1.0);
    assert_eq!(none.unwrap().count_nonzero([1, 2]).unwrap().shape(), [0]);
}

/// A view broadcast along what goes is counted by its repetitions, and not read again for each.
#[test]
fn repeated_elements_count_as_often_as_they_stand_there() {
    let row = ndarray::arr1(&[0.0, -0.0, f64::NAN, 2.0]);
    let vast = row.broadcast((1 << 40, 4)).unwrap();
    assert_eq!(vast.count_nonzero(0).unwrap(), ndarray::arr1(&[0, 0, 1 << 40, 1 << 40]).into_dyn());
    assert_eq!(vast.count_nonzero([0, 1]).unwrap(), ndarray::arr0(2 << 40).into_dyn());
}
