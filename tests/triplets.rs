//! Triplets in any order, with repetitions, coalesced under every rule, against the reference.

use crate::generators::{Drawn, RawTriplets, triplets};
use crate::reference::dense::Sparse;
use crate::reference::structure::{self, CoalesceFault};
use crate::support::*;
use lacuna::{Duplicates, Error, Triplets};

const RULES: [(Duplicates, structure::Duplicates); 7] = [
    (Duplicates::Sum, structure::Duplicates::Sum),
    (Duplicates::First, structure::Duplicates::First),
    (Duplicates::Last, structure::Duplicates::Last),
    (Duplicates::Min, structure::Duplicates::Min),
    (Duplicates::Max, structure::Duplicates::Max),
    (Duplicates::LogicalOr, structure::Duplicates::LogicalOr),
    (Duplicates::Error, structure::Duplicates::Error),
];

/// Checks that the error is the fault of the reference, with its numbers.
#[track_caller]
fn assert_fault(error: Error, fault: CoalesceFault) {
    match (error, fault) {
        (Error::SumOverflow { coords, .. }, CoalesceFault::Overflow(expected)) => assert_eq!(coords, expected),
        (Error::Duplicate { coords, first, second }, CoalesceFault::Repeated(expected)) => {
            assert_eq!(coords, expected);
            assert!(first < second);
        }
        (Error::NoOrder { .. }, CoalesceFault::NoOrder) => {}
        (error, fault) => panic!("{error:?} is not {fault:?}"),
    }
}

/// One by one and from arrays, to both formats, with any fill: the fill is never added.
fn every_rule_agrees_with_the_reference<T: Both + Drawn>() {
    check((triplets::<T>(), T::fills()), |(RawTriplets { shape, entries }, fill)| {
        let mut pushed = Triplets::<T, u64>::new_with_index(shape.clone()).unwrap().with_fill(fill);
        entries.iter().for_each(|(coords, value)| pushed.push(coords, *value).unwrap());
        let axis = |axis: usize| entries.iter().map(|(coords, _)| coords[axis] as u64).collect();
        let coords = (0..shape.len()).map(axis).collect();
        let values = entries.iter().map(|(_, value)| *value).collect();
        let arrays = Triplets::from_arrays_with_index(shape.clone(), coords, values).unwrap().with_fill(fill);
        for (rule, reference_rule) in RULES {
            match structure::coalesce(&entries, reference_rule) {
                Ok(expected) => {
                    let expected = Sparse::new(&shape, expected, fill);
                    assert_entries(&pushed.clone().coalesce(rule).unwrap(), &expected);
                    assert_entries(&arrays.clone().coalesce(rule).unwrap(), &expected);
                    match arrays.clone().coalesce_csr(rule) {
                        Ok(csr) => assert_entries(&csr, &expected),
                        Err(error) => assert!(matches!(error, Error::TooLarge { .. }), "{error}"),
                    }
                }
                Err(fault) => assert_fault(pushed.clone().coalesce(rule).unwrap_err(), fault),
            }
        }
    });
}

for_all_types!(every_rule_agrees_with_the_reference);

/// Entries that agree on one group of axes after another were sorted by a call within a call: a few thousand axes too
/// long to share a key ended the process.
#[test]
fn entries_that_agree_on_thousands_of_axes_are_sorted() {
    let (rank, count) = (3000, 256);
    let mut coords = vec![vec![1u64 << 40; count]; rank];
    coords[rank - 1] = (0..count as u64).rev().collect();
    let triplets = Triplets::from_arrays_with_index(vec![1 << 41; rank], coords, (0..count as i32).collect()).unwrap();
    let sorted = std::thread::Builder::new().stack_size(1 << 20);
    let x = sorted.spawn(move || triplets.coalesce(Duplicates::Error).unwrap()).unwrap().join().unwrap();
    assert!(x.values().iter().copied().eq((0..count as i32).rev()));
}

/// A run longer than the shares of several threads begins in one of them; the others have nothing to open.
#[test]
fn a_run_longer_than_the_shares_of_threads_is_merged_once() {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for longest in [400_000, 0] {
            let rows: Vec<u32> = (0..7).chain(vec![7; longest]).chain(8..100_000).collect();
            let (count, ones) = (rows.len() as i64, vec![1i64; rows.len()]);
            let triplets = Triplets::from_arrays([100_000], vec![rows], ones).unwrap();
            let x = pool.install(|| triplets.coalesce(Duplicates::Sum)).unwrap();
            assert_eq!(x.values().iter().sum::<i64>(), count);
            assert_eq!((x.nnz(), x.get(&[7]).unwrap()), (100_000 - usize::from(longest == 0), longest as i64));
        }
    }
}
