//! What a Rust user tries first: loops over entries, tuples for shapes, appending from an iterator.

use std::collections::{HashMap, HashSet};

use crate::generators::{Drawn, sparse};
use crate::support::*;
use lacuna::{Axes, CooTensor, Coords, CsrTensor, Duplicates, Element, Error, Pattern, Shape, Tensor, Triplets};

/// All ways through the entries tell the same.
fn assert_loops<P: Pattern, T: Element>(x: &Tensor<P, T>) {
    let expected = x.entries();
    let same = |found: Vec<(Coords, T)>| {
        found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && a.1.same(b.1))
    };
    assert!(same(x.iter().collect()) && same(x.into_iter().collect()) && same(x.clone().into_iter().collect()));
    let mut rest = x.iter();
    for left in (0..x.nnz()).rev() {
        assert!(rest.next().is_some());
        assert_eq!(rest.len(), left);
    }
    assert!(rest.next().is_none() && rest.next().is_none());
}

fn loops_give_every_entry_once<T: Both + Drawn>() {
    check(sparse::<T>(), |x| {
        assert_loops(&coo(&x));
        assert_loops(&csr(&x));
    });
}

for_all_types!(loops_give_every_entry_once);

#[test]
fn loops_pass_empty_lanes_and_rank_0() {
    let x = CsrTensor::new([3, 2, 2], vec![0, 0, 1, 1, 1, 3, 3], vec![1, 0, 1], vec![5, 6, 7], 0).unwrap();
    assert_loops(&x);
    assert_eq!(format!("{:?}", x.iter()), "[([0, 1, 1], 5), ([2, 0, 0], 6), ([2, 0, 1], 7)]");
    let scalar = CooTensor::new([], vec![], vec![4], 0).unwrap();
    assert_loops(&scalar);
    assert_loops(&scalar.to_csr().unwrap());
    assert_loops(&CsrTensor::full([0, 3], 1).unwrap());
}

/// Entries are looked up a block at a time: at the ends of blocks, and from a clone in the middle of one.
#[test]
fn loops_go_on_from_block_to_block() {
    for nnz in [127, 128, 129, 256, 300] {
        let x = CooTensor::new([2, 300], vec![vec![1; nnz], (0..nnz as u32).collect()], vec![7u8; nnz], 0).unwrap();
        assert_loops(&x);
        assert_loops(&x.to_csr().unwrap());
        let mut rest = x.iter();
        rest.nth(99);
        let (one, other): (Vec<_>, Vec<_>) = (rest.clone().collect(), rest.collect());
        assert_eq!((one.len(), &one), (nnz - 100, &other));
    }
}

/// More axes than stand in the value itself.
#[test]
fn coordinates_of_nine_axes_are_all_there() {
    let coords = (0..9).map(|axis| vec![axis, 9]).collect();
    let x = CooTensor::new([10; 9], coords, vec![1, 2], 0).unwrap();
    assert_loops(&x);
    let found: Vec<Coords> = x.iter().map(|(coords, _)| coords).collect();
    assert_eq!(found[0], (0..9).collect::<Vec<usize>>());
    assert_eq!(found[1][..], [9; 9]);
    assert_ne!(found[0], found[1]);
}

#[test]
fn coordinates_are_keys_of_a_map_and_slices() -> Result<(), Error> {
    let x = CooTensor::new((2, 3), vec![vec![0, 1], vec![1, 2]], vec![1.5, -2.0], 0.0)?;
    let map: HashMap<Coords, f64> = x.iter().collect();
    for (coords, value) in &x {
        assert_eq!((map[&coords], x.get(&coords)?), (value, value));
        assert!(coords == coords.to_vec() && coords[..] == *coords && coords.as_ref().len() == 2);
    }
    let mut sums = [0.0; 3];
    for (coords, value) in x.map_values(|value: f64| value.abs())? {
        sums[coords[1]] += value;
    }
    assert_eq!(sums, [0.0, 1.5, 2.0]);
    Ok(())
}

#[test]
fn entries_are_mapped_with_their_coordinates_and_the_fill_stays() {
    let x = CsrTensor::new([2, 2, 3], vec![0, 1, 1, 3, 3], vec![2, 0, 1], vec![5, 6, 7], -9).unwrap();
    let place = |coords: &[usize], value: i32| value + (coords[0] * 100 + coords[1] * 10 + coords[2]) as i32 * 10;
    let y = x.map_entries(place).unwrap();
    assert_eq!((y.values(), y.fill()), (&[25, 1006, 1017][..], -9));
    assert!(y.shares_pattern_with(&x));
    assert_eq!(x.to_coo().unwrap().map_entries(place).unwrap().entries(), y.entries());
    let negative = CooTensor::full([4], -0.0_f64).unwrap().map_entries(|_, value| value).unwrap();
    assert!(negative.fill().is_sign_negative(), "a fill that is not computed keeps its bits");
}

/// Enough entries for several threads: each part starts at its own entry, in lanes of uneven length.
#[test]
fn many_entries_are_mapped_where_they_stand() {
    let (lanes, width) = (3_000, 400);
    let counts = (0..lanes).map(|lane| lane * 7 % 131);
    let offsets: Vec<usize> = [0]
        .into_iter()
        .chain(counts.scan(0, |end, count| {
            Some({
                *end += count;
                *end
            })
        }))
        .collect();
    let columns =
        offsets.windows(2).flat_map(|pair| (0..(pair[1] - pair[0]) as u32).map(|column| column * 3)).collect();
    let values = (0..offsets[lanes] as i64).collect();
    let x = CsrTensor::new([lanes / 3, 3, width], offsets, columns, values, -1).unwrap();
    assert!(x.nnz() > 150_000);
    let y = x.map_entries(|at, value| value * 1_000_000_000 + ((at[0] * 3 + at[1]) * width + at[2]) as i64).unwrap();
    let coo = x
        .to_coo()
        .unwrap()
        .map_entries(|at, value| value * 1_000_000_000 + ((at[0] * 3 + at[1]) * width + at[2]) as i64);
    assert_eq!(y.values(), coo.unwrap().values());
    for ((at, value), number) in y.iter().zip(0..) {
        assert_eq!(value, number * 1_000_000_000 + ((at[0] * 3 + at[1]) * width + at[2]) as i64);
    }
}

#[test]
fn shapes_are_made_of_tuples() {
    assert_eq!(Shape::from((7,)), [7]);
    assert_eq!(Shape::from((1, 2)), [1, 2]);
    assert_eq!(Shape::from((1, 2, 3)), [1, 2, 3]);
    assert_eq!(Shape::from((1, 2, 3, 4)), [1, 2, 3, 4]);
    assert_eq!(Shape::from((1, 2, 3, 4, 5)), [1, 2, 3, 4, 5]);
    assert_eq!(Shape::from((1, 2, 3, 4, 5, 6)), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn triplets_take_iterators_up_to_the_entry_that_is_refused() {
    let mut triplets = Triplets::new((2, 2)).unwrap();
    let refused = triplets.try_extend([(vec![0, 1], 5), (vec![2, 0], 6), (vec![0, 0], 7)]).unwrap_err();
    assert!(matches!(refused, Error::IndexOutOfBounds { index: 2, axis: 0, length: 2, entry: 1 }), "{refused:?}");
    assert!(matches!(triplets.try_extend([([0], 1)]), Err(Error::RankMismatch { .. })));
    let x = triplets.coalesce(Duplicates::Error).unwrap();
    assert_eq!(x.entries(), [(vec![0, 1], 5)]);
    let mut copied = Triplets::new((2, 2)).unwrap();
    copied.try_extend(x.to_csr().unwrap()).unwrap();
    assert_eq!(copied.coalesce(Duplicates::Error).unwrap(), x);
}

#[test]
fn axes_positions_and_members_come_in_many_forms() -> Result<(), Error> {
    let x = CooTensor::new([2, 3, 2], vec![vec![0, 1], vec![1, 2], vec![0, 1]], vec![5, 6], 0)?;
    let both = x.any([1, 2])?;
    for axes in [Axes::from(1..3), (1..=2).into(), (1isize..=-1 + 3).into(), (1usize..=2).into(), (-2..=-1).into()] {
        assert_eq!(x.any(axes)?, both);
    }
    #[allow(clippy::reversed_empty_ranges)] // it is what is asked
    let nothing = x.any(2..=1)?;
    assert_eq!(nothing.shape(), x.shape());
    let last = x.take_axis([1, 0], 2)?;
    assert_eq!(
        [x.take_axis([1, 0], -1)?, x.take_axis(vec![1u8, 0], 2usize)?, x.take_axis([1, 0], 2u8)?],
        [last.clone(), last.clone(), last.clone()]
    );
    let members = HashSet::from([5]);
    assert_eq!(x.isin(&members)?, x.isin(members)?);
    // What has been gone through is empty.
    let mut gone = 0..=1;
    gone.by_ref().for_each(drop);
    assert_eq!(*x.take_axis(gone.clone(), 2)?.shape(), *x.take_axis(1..1, 2)?.shape());
    assert_eq!(x.any(gone)?.shape(), x.shape());
    assert_eq!(x.take_axis(0..=1, -1isize)?, x.take_axis([0, 1], 2)?);
    let upstream = last.map_values(|value| value)?;
    assert_eq!(x.take_axis_backward(&upstream, [1, 0], -1)?, x.take_axis_backward(&upstream, [1, 0], 2usize)?);
    Ok(())
}

/// Two axes that no `isize` holds were none.
#[test]
fn vast_axes_are_out_of_range() {
    let x = CooTensor::full([2, 2], 1).unwrap();
    let is_refused = |axes: Axes| matches!(x.any(axes), Err(Error::AxisOutOfRange { rank: 2, .. }));
    assert!(is_refused((usize::MAX - 1..usize::MAX).into()) && is_refused((usize::MAX..=usize::MAX).into()));
    assert!(is_refused((0..usize::MAX).into()) && is_refused((isize::MIN..=isize::MAX).into()));
    assert!(matches!(x.take_axis([0], u64::MAX), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(x.take_axis([0], i64::MIN), Err(Error::AxisOutOfRange { .. })));
}
