//! The output of `Debug` and `Display` is short for any number of entries, and takes no work per position.

use std::time::{Duration, Instant};

use lacuna::{CooPattern, CooTensor, CsrPattern, CsrTensor, Element, Pattern, Tensor, Triplets};
use num_complex::Complex;

/// `count` entries on the diagonal of a square matrix.
fn diagonal(length: usize, count: u32) -> CooTensor<f64> {
    let coords: Vec<u32> = (0..count).collect();
    CooTensor::new([length, length], vec![coords.clone(), coords], vec![316.1; count as usize], 0.0).unwrap()
}

#[test]
fn debug_is_one_line_of_a_headline_and_six_entries() {
    assert_eq!(
        format!("{:?}", diagonal(10, 9)),
        "CooTensor<f64, u32> [10, 10], 9 stored of 100 (9.0 %), fill 0.0: [0, 0] 316.1, [1, 1] 316.1, [2, 2] 316.1, \
         [3, 3] 316.1, [4, 4] 316.1, [5, 5] 316.1, … 3 more"
    );
    assert_eq!(
        format!("{:?}", diagonal(2, 1).to_csr().unwrap()),
        "CsrTensor<f64, u32> [2, 2], 1 stored of 4 (25.0 %), fill 0.0: [0, 0] 316.1"
    );
}

#[test]
fn alternate_debug_is_an_entry_a_line() {
    let text = format!("{:#?}", diagonal(100, 50));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 22);
    assert_eq!(lines[0], "CooTensor<f64, u32> [100, 100], 50 stored of 10000 (0.5 %), fill 0.0");
    assert_eq!(lines[20], "[19, 19] 316.1");
    assert_eq!(lines[21], "… 30 more");
}

#[test]
fn the_share_is_never_rounded_to_all_or_nothing() {
    let headline = |length: usize, count: u32| format!("{:?}", diagonal(length, count).pattern());
    assert!(headline(1, 1).contains("1 stored of 1 (100 %)"));
    assert!(headline(1000, 1).contains("1 stored of 1000000 (1.0e-4 %)"));
    assert!(headline(100, 10).contains("10 stored of 10000 (0.1 %)"));
    assert!(headline(1000, 0).ends_with("0 stored of 1000000"));
    let nearly: Vec<u32> = (0..9_999).collect();
    let nearly = CooPattern::new([10_000], 9_999, vec![nearly]).unwrap();
    assert!(format!("{nearly:?}").contains("9999 stored of 10000 (99.9 %)"));
}

#[test]
fn shapes_of_any_size_are_printed_at_once() {
    let start = Instant::now();
    let vast = CooPattern::<usize>::new([usize::MAX; 32], 1, vec![vec![7]; 32]).unwrap();
    assert!(format!("{vast}").contains("1 stored of more than 10^38\n[7, 7, 7"));
    let coo = Triplets::<f64, u64>::new_with_index([1 << 40, 1 << 40]).unwrap().coalesce(Default::default()).unwrap();
    assert_eq!(
        coo.to_string(),
        "CooTensor<f64, u64> [1099511627776, 1099511627776], 0 stored of 1208925819614629174706176, fill 0.0"
    );
    let lanes = CsrTensor::full([1 << 22, 3], 0u8).unwrap();
    assert_eq!(format!("{lanes:?}"), "CsrTensor<u8, u32> [4194304, 3], 0 stored of 12582912, fill 0");
    let none = CooTensor::full([0, 4], true).unwrap();
    assert_eq!(none.to_string(), "CooTensor<bool, u32> [0, 4], 0 stored of 0, fill true");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn entries_after_many_empty_lanes_are_found_without_a_walk() {
    let mut offsets = vec![0; 1 << 22];
    offsets.push(1);
    let pattern = CsrPattern::new([1 << 22, 2], offsets, vec![1u32]).unwrap();
    let start = Instant::now();
    for _ in 0..1000 {
        assert!(format!("{pattern:?}").ends_with(": [4194303, 1]"));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn coords_of_undoes_find_in_both_formats() {
    let x = Triplets::from_arrays([2, 3, 2], vec![vec![0u32, 1, 1, 1], vec![2, 0, 2, 2], vec![1, 0, 0, 1]], vec![1; 4]);
    let coo = x.unwrap().coalesce(Default::default()).unwrap();
    let csr = coo.to_csr().unwrap();
    for (entry, (coords, _)) in coo.entries().into_iter().enumerate() {
        assert_eq!(coo.pattern().coords_of(entry).as_ref(), Some(&coords));
        assert_eq!(csr.pattern().coords_of(entry).as_ref(), Some(&coords));
        assert_eq!(csr.pattern().find(&coords), Some(entry));
    }
    assert_eq!(coo.pattern().coords_of(4), None);
    assert_eq!(csr.pattern().coords_of(usize::MAX), None);
}

#[test]
fn display_of_a_small_matrix_is_an_aligned_table() {
    let x = CooTensor::new([3, 3], vec![vec![0, 2, 2], vec![1, 0, 2]], vec![7, -100, 9], 0).unwrap();
    let table = "   . 7 .\n   . . .\n-100 . 9";
    assert_eq!(x.to_string(), table);
    assert_eq!(x.to_csr().unwrap().to_string(), table);
    assert_eq!(x.clone().with_fill(-1).to_string(), format!("{table}\n. is -1"));
    assert_eq!(x.pattern().to_string(), ". x .\n. . .\nx . x");
    assert_eq!(x.to_csr().unwrap().pattern().to_string(), ". x .\n. . .\nx . x");
}

#[test]
fn display_of_rank_0_and_1_is_a_row() {
    let row = CooTensor::new([4], vec![vec![1, 3]], vec![0.5, f64::NEG_INFINITY], f64::NAN).unwrap();
    assert_eq!(row.to_string(), ". 0.5 . -inf\n. is NaN");
    assert_eq!(row.to_csr().unwrap().to_string(), row.to_string());
    assert_eq!(CooTensor::new([], vec![], vec![5], 0).unwrap().to_string(), "5");
    assert_eq!(CooTensor::full([], 5).unwrap().to_string(), ".\n. is 5");
    assert_eq!(
        format!("{:?}", CooTensor::new([], vec![], vec![5], 0).unwrap().to_csr().unwrap()),
        "CsrTensor<i32, u32> [], 1 stored of 1 (100 %), fill 0: [] 5"
    );
}

#[test]
fn a_negative_zero_fill_is_told() {
    assert_eq!(CooTensor::full([2], -0.0).unwrap().to_string(), ". .\n. is -0.0");
}

#[test]
fn a_table_ends_where_it_would_be_too_large() {
    assert_eq!(CooTensor::full([40, 20], 0u8).unwrap().to_string().lines().count(), 40);
    assert_eq!(CooTensor::full([41, 20], 0u8).unwrap().to_string().lines().count(), 1);
    assert_eq!(CooTensor::full([40, 21], 0u8).unwrap().to_string().lines().count(), 1);
    assert_eq!(CooTensor::full([1, 2, 3], 0u8).unwrap().to_string().lines().count(), 1);
    assert_eq!(diagonal(60, 30).to_string().lines().count(), 22);
}

#[test]
fn precision_is_heeded() {
    let x = CooTensor::new([2], vec![vec![1]], vec![2.0 / 3.0], 0.0).unwrap();
    assert_eq!(format!("{x:.2}"), ". 0.67");
    assert_eq!(format!("{x:.1?}"), "CooTensor<f64, u32> [2], 1 stored of 2 (50.0 %), fill 0.0: [1] 0.7");
}

fn fill_line<T: Element>(fill: T) -> String {
    format!("{:?}", CooTensor::full([0], fill).unwrap())
}

#[test]
fn every_element_type_has_its_name_in_rust() {
    let line = |name: &str, fill: &str| format!("CooTensor<{name}, u32> [0], 0 stored of 0, fill {fill}");
    assert_eq!(fill_line(true), line("bool", "true"));
    assert_eq!(fill_line(-1i8), line("i8", "-1"));
    assert_eq!(fill_line(-1i16), line("i16", "-1"));
    assert_eq!(fill_line(-1i32), line("i32", "-1"));
    assert_eq!(fill_line(-1i64), line("i64", "-1"));
    assert_eq!(fill_line(1u8), line("u8", "1"));
    assert_eq!(fill_line(1u16), line("u16", "1"));
    assert_eq!(fill_line(1u32), line("u32", "1"));
    assert_eq!(fill_line(u64::MAX), line("u64", "18446744073709551615"));
    assert_eq!(fill_line(0.1f32), line("f32", "0.1"));
    assert_eq!(fill_line(1e300), line("f64", "1e300"));
    assert_eq!(fill_line(Complex::new(0.1f32, -0.0)), line("Complex<f32>", "0.1-0.0j"));
    assert_eq!(fill_line(Complex::new(f64::NAN, f64::INFINITY)), line("Complex<f64>", "NaN+infj"));
}

#[cfg(feature = "half")]
#[test]
fn half_types_have_theirs() {
    assert!(fill_line(half::f16::from_f32(1.5)).starts_with("CooTensor<f16, u32> [0], 0 stored of 0, fill 1.5"));
    assert!(fill_line(half::bf16::from_f32(1.5)).starts_with("CooTensor<bf16, u32> [0], 0 stored of 0, fill 1.5"));
}

#[test]
fn triplets_and_patterns_are_short_too() {
    let mut triplets = Triplets::new([9, 9]).unwrap();
    (0..8).for_each(|k| triplets.push(&[8 - k, k], k as f32).unwrap());
    assert_eq!(
        format!("{triplets:?}"),
        "Triplets<f32, u32> [9, 9], 8 triplets, fill 0.0: [8, 0] 0.0, [7, 1] 1.0, [6, 2] 2.0, [5, 3] 3.0, [4, 4] 4.0, \
         [3, 5] 5.0, … 2 more"
    );
    let pattern = diagonal(9, 8).into_parts().unwrap().0;
    assert_eq!(
        format!("{pattern:?}"),
        "CooPattern<u32> [9, 9], 8 stored of 81 (9.9 %): [0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], … 2 more"
    );
    let x = Tensor::from_parts(pattern, vec![1u8; 8], 0).unwrap().with_index::<u64>().unwrap().to_csr().unwrap();
    assert!(
        format!("{:#?}", x.pattern()).starts_with("CsrPattern<u64> [9, 9], 8 stored of 81 (9.9 %)\n[0, 0]\n[1, 1]")
    );
}
