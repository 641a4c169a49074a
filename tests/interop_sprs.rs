//! To and from the matrices of sprs: both orders, both formats, every index type, and no copy where none is needed.
#![cfg(feature = "sprs")]

use lacuna::{CooTensor, CsrTensor, Duplicates, Error, Pattern, Triplets};
use num_complex::Complex;
use proptest::prelude::*;
use sprs::{CsMat, CsMatI, CsMatViewI, SpIndex, TriMatI};

/// ```text
/// . 2 .
/// . . .
/// 3 . 4
/// ```
fn coo() -> CooTensor<f64> {
    CooTensor::new([3, 3], vec![vec![0, 2, 2], vec![1, 0, 2]], vec![2.0, 3.0, 4.0], 0.0).unwrap()
}

fn by_rows<I: SpIndex, P: SpIndex>() -> CsMatI<f64, I, P> {
    let index = |indices: &[usize]| indices.iter().map(|&index| I::from_usize(index)).collect();
    let offsets = [0, 1, 1, 3].map(P::from_usize).to_vec();
    CsMatI::new((3, 3), offsets, index(&[1, 0, 2]), vec![2.0, 3.0, 4.0])
}

/// Every conversion of one pair of foreign types.
fn all_ways<I: SpIndex + 'static, P: SpIndex + 'static>() {
    let (rows, columns) = (by_rows::<I, P>(), by_rows::<I, P>().into_csc());
    let csr = coo().to_csr().unwrap();
    for matrix in [rows, columns] {
        assert_eq!(CsrTensor::<f64>::try_from(&matrix).unwrap(), csr);
        assert_eq!(CooTensor::<f64>::try_from(&matrix.view()).unwrap(), coo());
        assert_eq!(CsrTensor::<f64, u64>::try_from(matrix.clone()).unwrap(), csr.with_index().unwrap());
        assert_eq!(CooTensor::<f64, usize>::try_from(matrix).unwrap(), coo().with_index().unwrap());
    }
}

#[test]
fn every_index_type_of_sprs_comes_in() {
    all_ways::<u16, u16>();
    all_ways::<u32, u32>();
    all_ways::<u64, u64>();
    all_ways::<usize, usize>();
    all_ways::<i16, u16>();
    all_ways::<i32, i32>();
    all_ways::<i64, u32>();
    all_ways::<isize, isize>();
    all_ways::<u32, usize>();
}

#[test]
fn a_matrix_by_rows_gives_its_arrays_and_gets_them_back() {
    let matrix = by_rows::<u32, usize>();
    let pointers = (matrix.indptr().raw_storage().as_ptr(), matrix.indices().as_ptr(), matrix.data().as_ptr());
    let x = CsrTensor::from_sprs(matrix).unwrap();
    assert_eq!((x.offsets().as_ptr(), x.columns().as_ptr(), x.values().as_ptr()), pointers);
    let view = x.as_sprs().unwrap();
    assert_eq!((view.indptr().raw_storage().as_ptr(), view.indices().as_ptr(), view.data().as_ptr()), pointers);
    let back = x.into_sprs().unwrap();
    assert_eq!((back.indptr().raw_storage().as_ptr(), back.indices().as_ptr(), back.data().as_ptr()), pointers);
}

#[test]
fn the_default_matrix_of_sprs_keeps_its_arrays() {
    let matrix: CsMat<f64> = by_rows();
    let indices = matrix.indices().as_ptr();
    let x: CsrTensor<f64, usize> = matrix.try_into().unwrap();
    assert_eq!(x.columns().as_ptr(), indices);
    let coo = CooTensor::try_from(x).unwrap();
    assert_eq!(coo.coords(1).as_ptr(), indices);
}

#[test]
fn a_matrix_by_columns_becomes_rows() {
    let matrix = by_rows::<u32, u32>().into_csc();
    let x = CsrTensor::from_sprs(matrix).unwrap();
    assert_eq!(x, coo().to_csr().unwrap());
}

#[test]
fn a_shared_pattern_is_copied_on_the_way_out_and_stays() {
    let x = coo().to_csr().unwrap();
    let y = x.map_values(|value| value + 0.0).unwrap();
    let matrix = x.clone().into_sprs().unwrap();
    assert_ne!(matrix.indices().as_ptr(), y.columns().as_ptr());
    assert!(x.shares_pattern_with(&y));
}

#[test]
fn both_orders_go_out_of_both_formats() {
    let (coo, csr) = (coo(), coo().to_csr().unwrap());
    let expected = by_rows::<u32, usize>();
    assert_eq!(CsMatI::try_from(coo.clone()).unwrap(), expected);
    assert_eq!(CsMatI::try_from(csr.clone()).unwrap(), expected);
    assert_eq!(CsMatViewI::try_from(&csr).unwrap(), expected.view());
    assert_eq!(coo.to_sprs_csc().unwrap(), expected.to_csc());
    assert_eq!(csr.to_sprs_csc().unwrap(), expected.to_csc());
}

#[test]
fn a_slice_of_a_matrix_has_offsets_that_do_not_start_at_zero() {
    let matrix = by_rows::<u32, u32>();
    let slice = matrix.slice_outer(1..3);
    assert!(!slice.indptr().is_proper());
    let x = CsrTensor::<f64>::try_from(&slice).unwrap();
    assert_eq!(x.offsets(), [0, 0, 2]);
    assert_eq!(x.entries(), [(vec![1, 0], 3.0), (vec![1, 2], 4.0)]);
    let owned = CsMatI::<f64, u32, usize>::new((1, 2), vec![5, 6], vec![1], vec![9.0]);
    assert_eq!(CooTensor::<f64>::try_from(owned).unwrap().entries(), [(vec![0, 1], 9.0)]);
}

#[test]
fn triplets_keep_their_order_and_repetitions() {
    let matrix = TriMatI::<i32, i16>::from_triplets((2, 3), vec![1, 0, 1], vec![2, 1, 2], vec![3, 4, 5]);
    let triplets = Triplets::<i32>::try_from(&matrix).unwrap();
    assert_eq!((triplets.coords(0), triplets.coords(1)), (&[1, 0, 1][..], &[2, 1, 2][..]));
    assert_eq!(triplets.values(), [3, 4, 5]);
    assert_eq!(CooTensor::<i32>::try_from(&matrix).unwrap().entries(), [(vec![0, 1], 4), (vec![1, 2], 8)]);
    assert_eq!(CsrTensor::<i32, u64>::try_from(&matrix.view()).unwrap().offsets(), [0, 1, 2]);
    let first = triplets.clone().coalesce(Duplicates::First).unwrap();
    assert_eq!(first.get(&[1, 2]).unwrap(), 3);
    let rows = triplets.coords(0).as_ptr();
    let back = triplets.into_sprs().unwrap();
    assert_eq!(back.row_inds().as_ptr(), rows);
    assert_eq!(back.shape(), (2, 3));
}

#[test]
fn coordinates_move_out_as_triplets() {
    let x = coo();
    let pointers = (x.coords(0).as_ptr(), x.coords(1).as_ptr(), x.values().as_ptr());
    let matrix = x.into_sprs().unwrap();
    assert_eq!((matrix.row_inds().as_ptr(), matrix.col_inds().as_ptr(), matrix.data().as_ptr()), pointers);
    assert_eq!(CooTensor::from_sprs(&matrix, Duplicates::Error).unwrap(), coo());
    assert_eq!(TriMatI::try_from(coo()).unwrap(), matrix);
    let triplets = Triplets::try_from(&coo()).unwrap();
    assert_eq!(TriMatI::try_from(triplets).unwrap(), matrix);
}

#[test]
fn every_element_type_goes_through() {
    let x = CsrTensor::new([1, 2], vec![0, 1], vec![1], vec![true], false).unwrap();
    assert_eq!(CsrTensor::try_from(x.to_sprs_csc().unwrap()).unwrap(), x);
    let z = x.cast::<Complex<f32>>().unwrap();
    assert_eq!(CsrTensor::try_from(z.to_sprs_csc().unwrap()).unwrap(), z);
}

#[test]
fn what_sprs_cannot_hold_is_refused() {
    let rank = |found| Error::RankMismatch { what: "an sprs matrix", expected: 2, found };
    let fill = |fill: &str| Error::FillNotZero { fill: fill.into(), target: "an sprs matrix" };
    for length in [0usize, 1, 3] {
        let shape = vec![2; length];
        let (coo, csr) = (CooTensor::full(shape.clone(), 0.0).unwrap(), CsrTensor::full(shape.clone(), 0.0).unwrap());
        assert_eq!(coo.to_sprs_csc().unwrap_err(), rank(length));
        assert_eq!(csr.to_sprs_csc().unwrap_err(), rank(length));
        assert_eq!(csr.as_sprs().unwrap_err(), rank(length));
        assert_eq!(csr.into_sprs().unwrap_err(), rank(length));
        assert_eq!(CsMatI::try_from(coo.clone()).unwrap_err(), rank(length));
        assert_eq!(coo.into_sprs().unwrap_err(), rank(length));
        assert_eq!(Triplets::<f32>::new(shape).unwrap().into_sprs().unwrap_err(), rank(length));
    }
    let csr = coo().to_csr().unwrap();
    assert_eq!(coo().with_fill(-0.0).into_sprs().unwrap_err(), fill("-0.0"));
    assert_eq!(coo().with_fill(f64::NAN).to_sprs_csc().unwrap_err(), fill("NaN"));
    assert_eq!(csr.clone().with_fill(1.5).as_sprs().unwrap_err(), fill("1.5"));
    assert_eq!(csr.with_fill(1.5).into_sprs().unwrap_err(), fill("1.5"));
    assert_eq!(Triplets::new([1, 1]).unwrap().with_fill(7).into_sprs().unwrap_err(), fill("7"));
}

#[test]
fn axes_that_only_one_of_the_two_can_index() {
    let matrix = CsMatI::<u8, u64, usize>::new((1, (1 << 32) + 1), vec![0, 0], vec![], vec![]);
    assert!(matches!(CsrTensor::<u8, u32>::try_from(&matrix), Err(Error::AxisTooLong { axis: 1, .. })));
    assert!(matches!(CooTensor::<u8, u32>::try_from(matrix.clone()), Err(Error::AxisTooLong { .. })));
    assert_eq!(CsrTensor::from_sprs(matrix).unwrap().shape()[1], (1 << 32) + 1);
    let longest = CsrTensor::new([1, 1 << 32], vec![0, 1], vec![u32::MAX], vec![1u8], 0).unwrap();
    assert!(matches!(longest.as_sprs(), Err(Error::NotRepresentable { .. })));
    assert!(matches!(longest.clone().into_sprs(), Err(Error::NotRepresentable { .. })));
    let tall = CooTensor::new([1 << 32, 1], vec![vec![u32::MAX], vec![0]], vec![1u8], 0).unwrap();
    assert!(matches!(tall.to_sprs_csc(), Err(Error::NotRepresentable { .. })));
    assert_eq!(tall.with_index::<u64>().unwrap().to_sprs_csc().unwrap().indices(), [u64::from(u32::MAX)]);
    let triplets = TriMatI::<u8, u64>::new(((1 << 32) + 1, 1));
    assert!(matches!(Triplets::<u8, u32>::try_from(&triplets), Err(Error::AxisTooLong { axis: 0, .. })));
    assert_eq!(Triplets::from_sprs(&triplets).unwrap().shape()[0], (1 << 32) + 1);
    assert!(longest.with_index::<u64>().unwrap().as_sprs().is_ok());
}

#[test]
fn a_matrix_by_columns_with_vast_rows_has_no_rows_here() {
    let matrix = CsMatI::<u8, u64, usize>::new_csc((1 << 40, 1), vec![0, 1], vec![1 << 39], vec![7]);
    assert!(matches!(CsrTensor::<u8, u64>::try_from(&matrix), Err(Error::TooLarge { .. })));
    let x = CooTensor::<u8, u64>::try_from(matrix).unwrap();
    assert_eq!(x.entries(), [(vec![1 << 39, 0], 7)]);
    assert_eq!(x.to_sprs_csc().unwrap().indices(), [1 << 39]);
}

#[test]
fn empty_rows_at_the_end_and_empty_matrices() {
    let mut matrix = TriMatI::<f32, u32>::new((5, 0));
    assert_eq!(CsrTensor::<f32>::try_from(&matrix).unwrap().offsets(), [0; 6]);
    matrix = TriMatI::new((5, 2));
    matrix.add_triplet(1, 1, 1.0);
    assert_eq!(CsrTensor::<f32>::try_from(&matrix).unwrap().offsets(), [0, 0, 1, 1, 1, 1]);
    let none = CsrTensor::full([0, 3], 0u8).unwrap();
    assert_eq!(CsrTensor::try_from(none.to_sprs_csc().unwrap()).unwrap(), none);
}

/// Entries of a small matrix, repeated ones too.
fn entries() -> impl Strategy<Value = (usize, usize, Vec<(usize, usize, i64)>)> {
    (1usize..6, 1usize..6).prop_flat_map(|(rows, columns)| {
        let entries = prop::collection::vec((0..rows, 0..columns, -9i64..9), 0..20);
        entries.prop_map(move |entries| (rows, columns, entries))
    })
}

proptest! {
    #[test]
    fn sprs_and_lacuna_agree_on_every_sum_and_order((rows, columns, entries) in entries()) {
        let mut theirs = TriMatI::<i64, u32>::new((rows, columns));
        entries.iter().for_each(|&(row, column, value)| theirs.add_triplet(row, column, value));
        let coo = CooTensor::<i64>::try_from(&theirs).unwrap();
        let (by_rows, by_columns): (CsMatI<_, _, usize>, CsMatI<_, _, usize>) = (theirs.to_csr(), theirs.to_csc());
        prop_assert_eq!(&coo.to_csr().unwrap().into_sprs().unwrap(), &by_rows);
        prop_assert_eq!(&coo.to_sprs_csc().unwrap(), &by_columns);
        prop_assert_eq!(&coo.to_dense().unwrap(), &by_rows.to_dense().into_dyn());
        prop_assert_eq!(&CooTensor::try_from(by_rows).unwrap(), &coo);
        prop_assert_eq!(&CsrTensor::from_sprs(by_columns).unwrap().into_coo().unwrap(), &coo);
        prop_assert_eq!(coo.pattern().nnz(), coo.nnz());
    }
}

/// The refusal named a call that takes a limit, which this one does not.
#[test]
fn too_many_columns_for_offsets_are_refused_with_what_works() {
    let wide = CooTensor::new([1, 1 << 30], vec![vec![0], vec![7]], vec![1.0], 0.0).unwrap();
    let told = |refused: Result<_, Error>| refused.map(|_: sprs::CsMatI<f64, u32, usize>| ()).unwrap_err().to_string();
    let start = "the offsets of the columns would take 8589934600 bytes (8.0 GiB), above the limit of 1073741824 \
                 bytes (1.0 GiB); ";
    assert_eq!(told(wide.to_sprs_csc()), format!("{start}into_sprs returns triplets, without offsets"));
    assert_eq!(told(wide.to_csr().unwrap().to_sprs_csc()), format!("{start}as_sprs stores it by rows"));
}
