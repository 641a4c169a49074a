//! The first attempts of a Rust user: loops over entries, tuples for shapes, appending from an iterator.

use std::collections::{HashMap, HashSet};

use crate::generators::{Drawn, sparse};
use crate::support::*;
use lacuna::{Axes, CooTensor, Coords, CsrTensor, Duplicates, Element, Error, Pattern, Shape, Tensor, Triplets, grad};

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
    assert!(matches!(refused, Error::IndexOutOfBounds { index: 2, axis: 0, length: 2, entry: Some(1) }), "{refused:?}");
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
    // An exhausted range is empty.
    let mut gone = 0..=1;
    gone.by_ref().for_each(drop);
    assert_eq!(*x.take_axis(gone.clone(), 2)?.shape(), *x.take_axis(1..1, 2)?.shape());
    assert_eq!(x.any(gone)?.shape(), x.shape());
    assert_eq!(x.take_axis(0..=1, -1isize)?, x.take_axis([0, 1], 2)?);
    let upstream = last.map_values(|value| value)?;
    assert_eq!(grad::take_axis(&x, &upstream, [1, 0], -1)?, grad::take_axis(&x, &upstream, [1, 0], 2usize)?);
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

/// Triplets can be collected, with a shape that fits the entries: by `try_from_entries` and by `collect`.
#[test]
fn triplets_are_collected_and_extended() {
    let entries = [([1, 2], 5), ([0, 4], 6), ([1, 2], 1)];
    let triplets: Triplets<i32> = entries.into_iter().collect();
    assert!(triplets == Triplets::try_from_entries(entries).unwrap());
    assert_eq!((triplets.shape(), triplets.len()), (&Shape::from([2, 5]), 3));
    let mut all = Triplets::new([2, 5]).unwrap();
    all.extend(entries);
    all.extend(&triplets.coalesce(Duplicates::Sum).unwrap());
    assert_eq!(all.coalesce(Duplicates::Sum).unwrap().entries(), [(vec![0, 4], 12), (vec![1, 2], 12)]);
    let none: Triplets<f32, u64> = std::iter::empty::<([usize; 3], f32)>().collect();
    assert_eq!(none.coalesce(Duplicates::Error).unwrap().shape(), [0, 0, 0]);
    let scalars = Triplets::<i8>::try_from_entries([([], 1), ([], 2)]).unwrap();
    assert_eq!(scalars.coalesce(Duplicates::Sum).unwrap().item(), Ok(3));
    for far in [usize::MAX, usize::MAX - 1] {
        let refused = Triplets::<i8>::try_from_entries([([3, far], 1)]);
        assert!(matches!(refused, Err(Error::AxisTooLong { axis: 1, .. })));
    }
    let refused = Triplets::<i8, u64>::try_from_entries([([usize::MAX], 1)]);
    assert!(matches!(refused, Err(Error::IndexOutOfBounds { index: u64::MAX, .. })));
}

#[test]
#[should_panic(expected = "index 2 on axis 0 is out of bounds for length 2")]
fn extending_by_what_does_not_exist_panics_with_the_message_of_the_named_form() {
    Triplets::new([2]).unwrap().extend([([2], 1)]);
}

#[test]
fn the_only_element_is_an_item() {
    assert_eq!(CooTensor::full([], 4).unwrap().item(), Ok(4));
    assert_eq!(CsrTensor::full([1, 1], 4).unwrap().item(), Ok(4));
    assert_eq!(CooTensor::new([1, 1], vec![vec![0], vec![0]], vec![7], 0).unwrap().item(), Ok(7));
    for shape in [&[2][..], &[0], &[1, 3], &[usize::MAX, usize::MAX]] {
        let x = Tensor::from_parts(lacuna::CooPattern::<usize>::empty(shape).unwrap(), vec![], 1).unwrap();
        assert!(matches!(x.item(), Err(Error::Argument { operation: "item", .. })), "{shape:?}");
    }
}

/// Every row of every tensor, in both formats.
#[test]
fn rows_are_vectors() {
    check(sparse::<f64>(), |x| {
        let (dense, columns) = (x.to_dense(), x.shape.last().copied().unwrap_or(1));
        let bits = |row: &[f64]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for (at, row) in dense.coords().iter().step_by(columns.max(1)).zip(dense.data.chunks(columns.max(1))) {
            let at = &at[..at.len().saturating_sub(1)];
            assert_eq!(bits(&coo(&x).to_vec(at).unwrap()), bits(row));
            assert_eq!(bits(&csr(&x).to_vec(at).unwrap()), bits(row));
        }
    });
    let x = CooTensor::full([2, 3], 1).unwrap();
    assert!(matches!(x.to_vec(&[]), Err(Error::RankMismatch { expected: 1, found: 0, .. })));
    assert!(matches!(x.to_vec(&[2]), Err(Error::IndexOutOfBounds { index: 2, axis: 0, length: 2, .. })));
    let vast = Tensor::from_parts(lacuna::CooPattern::<u64>::empty([2, 1 << 40]).unwrap(), vec![], 1).unwrap();
    assert!(matches!(vast.to_vec(&[1]), Err(Error::TooLarge { .. })));
}

#[test]
fn entries_are_visited_until_an_error() {
    let x = CsrTensor::new([2, 3], vec![0, 1, 3], vec![1, 0, 2], vec![5, 6, 7], 0).unwrap();
    let mut seen = Vec::new();
    let found = x.try_for_each_entry(|at, value| {
        seen.push(value);
        if at == [1, 0] { Err("there") } else { Ok(()) }
    });
    assert_eq!((found, seen), (Err("there"), vec![5, 6]));
    assert_eq!(x.try_for_each_entry(|_, _| Ok::<(), ()>(())), Ok(()));
}

/// Methods of arrays mean what they mean without the prelude.
#[test]
fn arrays_keep_the_methods_of_ndarray() {
    use lacuna::prelude::*;

    let a = ndarray::arr2(&[[1, 2], [3, 4]]);
    assert_eq!(a.map(|x| x * 2), ndarray::arr2(&[[2, 4], [6, 8]]));
    assert_eq!(a.fold(0, |sum, x| sum + x), 10);
    assert_eq!(a.select(ndarray::Axis(1), &[1]), ndarray::arr2(&[[2], [4]]));
    assert_eq!((a.sum(), a.mean(), a.iter().max()), (10, Some(2), Some(&4)));
    assert_eq!(a.any(1).unwrap().into_raw_vec_and_offset().0, [true, true]);
}

/// Factors come in any form that holds as many numbers, in any layout.
#[test]
fn factors_are_lists_arrays_and_tensors() -> Result<(), Error> {
    let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1, 2, 3], 0)?;
    let factors = ndarray::arr1(&[3, 2, 1]);
    let scaled = x.scale(1, &[3, 2, 1])?;
    assert_eq!(scaled.values(), [3, 2, 6]);
    let backwards = ndarray::arr1(&[1, 2, 3]);
    assert_eq!(x.scale(1, &factors.to_vec())?, scaled);
    assert_eq!(x.scale(1, &factors)?, scaled);
    assert_eq!(x.scale(1, backwards.slice(ndarray::s![..;-1]))?, scaled);
    assert_eq!(x.scale(1, &factors.clone().into_dyn())?, scaled);
    assert_eq!(x.scale(1, &CsrTensor::<_, u64>::from_dense_with_index(&factors, 2)?)?, scaled);
    assert!(matches!(x.scale(1, &x), Err(Error::RankMismatch { what: "the factors", expected: 1, found: 2 })));
    assert!(matches!(x.scale(0, &factors), Err(Error::LengthMismatch { what: "the factors", .. })));
    Ok(())
}

#[test]
fn tensors_are_joined_whoever_owns_them() -> Result<(), Error> {
    let x = [CooTensor::full([2], 1)?, CooTensor::full([3], 1)?];
    assert_eq!(lacuna::concat(0, &x)?, lacuna::concat(0, &[&x[0], &x[1]])?);
    assert_eq!(lacuna::stack(0, &vec![x[0].clone(); 3])?.shape()[..], [3, 2]);
    assert_eq!(lacuna::grad::concat(&ndarray::arr1(&[1.0; 5]), 0, &x)?[1].shape()[..], [3]);
    Ok(())
}

#[test]
fn flat_positions_have_coordinates() {
    let shape = Shape::from([2, 0, 3]);
    assert_eq!(shape.unravel(0), None);
    assert_eq!(Shape::from([2, 3]).unravel(5), Some(vec![1, 2]));
    assert_eq!(Shape::from([]).unravel(0), Some(vec![]));
    assert_eq!(Shape::from([]).unravel(1), None);
    assert_eq!(Shape::from([usize::MAX; 3]).unravel(u64::MAX), Some(vec![0, 1, 0]));
}
