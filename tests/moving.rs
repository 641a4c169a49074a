//! Operations that move elements along axes, and slices, against the reference: both formats, arrays of any layout,
//! gradients.

use crate::generators::{self, SparseSeed};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::moves::{self, Move, Slice};
use crate::support::*;
use lacuna::ndarray::{ArrayD, SliceInfoElem};
use lacuna::{Axes, CooTensor, Pattern, Tensor};
use proptest::prelude::*;
use proptest::sample::Index;

/// An input, an upstream gradient that has no shape yet, and numbers to choose arguments by.
type Case = (Sparse<f64>, SparseSeed<f64>, Vec<Index>);

fn cases(low: usize, high: usize) -> BoxedStrategy<Case> {
    let numbers = proptest::collection::vec(any::<Index>(), 32);
    (generators::sparse_of_rank(low, high), generators::upstream_seeds(), numbers).boxed()
}

/// Numbers below a bound, one after the other.
struct Numbers<'a>(std::slice::Iter<'a, Index>);

impl Numbers<'_> {
    fn below(&mut self, end: usize) -> usize {
        self.0.next().unwrap().index(end)
    }

    /// From `-most` to `most`.
    fn around(&mut self, most: usize) -> isize {
        self.below(2 * most + 1) as isize - most as isize
    }
}

/// A result of a sparse tensor: the elements, what is stored, the fill.
#[track_caller]
fn assert_moved<P: Pattern>(found: &Tensor<P, f64>, expected: &Move, x: &Sparse<f64>) {
    assert_tensor(found, &expected.apply(&x.to_dense(), x.fill), &expected.stored(&x.coords()));
    assert_eq!(found.fill().to_bits(), x.fill.to_bits());
}

/// The operation and its gradient in both formats and on arrays, with upstream gradients of all three.
macro_rules! check_move {
    ($case:expr, $expected:expr, $name:ident $(, $arg:expr)*) => {{
        let (x, seed): (&Sparse<f64>, &SparseSeed<f64>) = $case;
        let expected: Move = $expected;
        assert_moved(&coo(x).$name($($arg.clone()),*).unwrap(), &expected, x);
        assert_moved(&lacuna::$name(&csr_as::<f64, u64>(x), $($arg.clone()),*).unwrap(), &expected, x);
        let dense = x.to_dense();
        for_each_layout(&dense, |_, view| {
            let found: ArrayD<f64> = lacuna::$name(&view, $($arg.clone()),*).unwrap();
            assert_array(&found, &expected.apply(&dense, 0.0));
        });
        let upstream = seed.build(&expected.shape);
        let gradient: Dense<f64> = expected.gradient(&x.shape, &upstream.to_dense()).unwrap();
        let plain = array(&upstream.to_dense());
        let tensor = csr(x);
        let found = lacuna::grad::$name(&tensor, &coo_as::<f64, u64>(&upstream), $($arg.clone()),*).unwrap();
        assert!(found.shares_pattern_with(&tensor));
        assert_entries(&found, &x.pattern_of(&gradient));
        assert_entries(&lacuna::grad::$name(&tensor, &plain, $($arg.clone()),*).unwrap(), &x.pattern_of(&gradient));
        let found = lacuna::grad::$name(&coo(x), &csr(&upstream), $($arg.clone()),*).unwrap();
        assert_entries(&found, &x.pattern_of(&gradient));
        let found = lacuna::grad::$name(&array(&dense), &plain.view(), $($arg.clone()),*).unwrap();
        assert_array(&found, &gradient);
    }};
}

/// A slice of each axis, of which some have a new one before them.
fn slices(shape: &[usize], numbers: &mut Numbers<'_>) -> Vec<Slice> {
    let mut slices = Vec::new();
    for &length in shape {
        if numbers.below(8) == 0 {
            slices.push(Slice::New);
        }
        let negative = |at: usize, is_negative: bool| {
            if is_negative && at < length { at as isize - length as isize } else { at as isize }
        };
        slices.push(match numbers.below(6) {
            0 => Slice::Range(0, None, 1),
            1 if length > 0 => Slice::Index(numbers.below(2 * length) as isize - length as isize),
            kind => {
                let (start, end) = (numbers.below(length + 1), numbers.below(length + 1));
                let step = if kind < 3 { 1 } else { numbers.around(3) };
                let end = (kind != 4).then(|| negative(end, kind == 5));
                Slice::Range(negative(start, kind == 5), end, if step == 0 { -1 } else { step })
            }
        });
    }
    slices
}

fn given(slices: &[Slice]) -> Vec<SliceInfoElem> {
    let given = |slice: &Slice| match *slice {
        Slice::New => SliceInfoElem::NewAxis,
        Slice::Index(at) => SliceInfoElem::Index(at),
        Slice::Range(start, end, step) => SliceInfoElem::Slice { start, end, step },
    };
    slices.iter().map(given).collect()
}

#[test]
fn slices_equal_the_reference() {
    check(cases(0, 6), |(x, seed, numbers)| {
        let slices = slices(&x.shape, &mut Numbers(numbers.iter()));
        check_move!((&x, &seed), moves::slice(&x.shape, &slices), slice, given(&slices));
    });
}

#[test]
fn points_equal_the_reference() {
    let numbers = proptest::collection::vec(any::<Index>(), 1 + 11 * 10);
    let cases = (generators::sparse_of_rank(0, 10), generators::upstream_seeds(), numbers);
    check(cases, |(x, seed, numbers)| {
        let mut numbers = Numbers(numbers.iter());
        let count = if x.shape.contains(&0) { 0 } else { numbers.below(11) };
        let point = |length: usize, numbers: &mut Numbers<'_>| numbers.below(2 * length) as isize - length as isize;
        let on_axis = |&length: &usize| (0..count).map(|_| point(length, &mut numbers)).collect();
        let lists: Vec<Vec<isize>> = x.shape.iter().map(on_axis).collect();
        check_move!((&x, &seed), moves::gather(&x.shape, &lists), gather, lists);
        assert!(coo(&x).stored().gather(&lists).unwrap().same_as(&coo(&x).gather(&lists).unwrap()));
    });
}

#[test]
fn positions_along_an_axis_equal_the_reference() {
    let numbers = proptest::collection::vec(any::<Index>(), 200);
    let cases = (generators::sparse_of_rank(1, 10), generators::upstream_seeds(), numbers);
    check(cases, |(x, seed, numbers)| {
        let mut numbers = numbers.iter().cycle();
        let mut below = |end: usize| numbers.next().unwrap().index(end);
        let axis = below(x.shape.len());
        let (length, mut shape) = (x.shape[axis], x.shape.clone());
        shape[axis] = if length == 0 { 0 } else { below(4) };
        let count = shape.iter().product::<usize>();
        let positions = (0..count).map(|_| below(2 * length) as i64 - length as i64).collect();
        let positions = Dense::new(&shape, positions);
        let listed = array(&positions);
        let expected = moves::take_along_axis(&x.shape, &positions, axis);
        check_move!((&x, &seed), expected, take_along_axis, &listed, axis as isize - x.shape.len() as isize);
        let (of_stored, found) =
            (coo(&x).stored().take_along_axis(&listed, axis), coo(&x).take_along_axis(&listed, axis));
        assert!(of_stored.unwrap().same_as(&found.unwrap()));
    });
}

#[test]
fn positions_along_an_axis_have_the_errors_of_positions() {
    use lacuna::{Error, Take, grad, take_along_axis};
    let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2, 3, 4], 0).unwrap();
    let (csr, dense) = (x.to_csr().unwrap(), x.to_dense().unwrap());
    let column = |positions: [i64; 2]| ndarray::arr2(&[[positions[0]], [positions[1]]]);
    let wrapped = x.take_along_axis(Take::at(column([4, -4])).wrap(), 1).unwrap();
    assert_eq!(wrapped.entries(), [(vec![0, 0], 2), (vec![1, 0], 4)]);
    assert_eq!(csr.take_along_axis(Take::at(column([9, -9])).clip(), 1).unwrap().entries(), [(vec![1, 0], 3)]);
    let errors = |positions: &ndarray::ArrayD<i64>, axis: isize| {
        let found = take_along_axis(&x, positions, axis).unwrap_err();
        assert_eq!(take_along_axis(&csr, positions, axis).unwrap_err(), found);
        assert_eq!(take_along_axis(&dense, positions, axis).unwrap_err(), found);
        assert_eq!(grad::take_along_axis(&x, &x, positions, axis).unwrap_err(), found);
        let of_graph = x.lazy().take_along_axis(positions.clone(), axis).collect().unwrap_err();
        assert!(matches!(of_graph, Error::Lazy { cause, .. } if *cause == found));
        found
    };
    let column = |positions| column(positions).into_dyn();
    assert_eq!(errors(&column([0, 3]), 1), Error::PositionOutOfRange { position: 3, size: 3, at: 1 });
    assert!(matches!(errors(&column([0, 0]), 2), Error::AxisOutOfRange { .. }));
    assert!(matches!(errors(&column([0, 0]), 0), Error::ShapeMismatch { what: "the positions", .. }));
    let row = ndarray::arr1(&[0i64, 1]).into_dyn();
    assert!(matches!(errors(&row, 1), Error::RankMismatch { expected: 2, found: 1, .. }));
    let none = CooTensor::full([2, 0], 1).unwrap();
    assert_eq!(none.take_along_axis(column([0, 0]), 1).unwrap_err(), Error::TakeFromEmpty { count: 2 });
}

/// Points of many entries are searched in their order, and one point may repeat.
#[test]
fn many_points_are_found_among_many_entries() {
    let count = 1 << 18;
    let numbers = |step: usize| (0..count).map(move |at: usize| at.wrapping_mul(step) >> 7 & 511);
    let at: Vec<u32> = (0..count as u32).collect();
    let x = CooTensor::new(
        [1 << 9, 1 << 9],
        vec![at.iter().map(|at| at >> 9).collect(), at.iter().map(|at| at & 511).collect()],
        at.clone(),
        7,
    )
    .unwrap();
    let lists: [Vec<usize>; 2] = [numbers(0x9E37_79B9_7F4A_7C15).collect(), numbers(0xC2B2_AE3D_27D4_EB4F).collect()];
    let expected: Vec<u32> = lists[0].iter().zip(&lists[1]).map(|(row, column)| (row * 512 + column) as u32).collect();
    assert_eq!(x.gather(&lists).unwrap().values(), expected);
    assert_eq!(x.to_csr().unwrap().gather(&lists).unwrap().values(), expected);
    assert_eq!(lacuna::gather(&x.to_dense().unwrap(), &lists).unwrap().into_raw_vec_and_offset().0, expected);
}

#[test]
fn points_have_the_options_and_errors_of_positions() {
    use lacuna::{Error, Take, gather, grad};
    let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![2, 3, 4], 0).unwrap();
    let (csr, dense) = (x.to_csr().unwrap(), x.to_dense().unwrap());
    let wrapped = [Take::at([3, -2]).wrap(), Take::at([-1, 9]).wrap()];
    assert_eq!(x.gather(&wrapped).unwrap().entries(), [(vec![0], 4)]);
    assert_eq!(x.gather([Take::at([5, -1]).clip(), Take::at([9, 1]).clip()]).unwrap().values(), [4, 2]);
    assert_eq!(x.gather([[0, 1]]).unwrap_err().to_string(), "the positions must have rank 2, found 1");
    let square = lacuna::ndarray::arr2(&[[0, 1], [1, 1]]);
    assert_eq!(*x.gather([&square, &square]).unwrap().shape(), [2, 2]);
    assert_eq!(csr.gather([0..2, 1..3]).unwrap().values(), [2, 4]);
    let errors = |lists: [Vec<i64>; 2]| {
        let all = [x.gather(&lists).unwrap_err(), csr.gather(&lists).unwrap_err(), gather(&dense, &lists).unwrap_err()];
        assert!(all.iter().all(|error| *error == all[0]));
        let upstream = lacuna::ndarray::arr1(&[1]);
        assert_eq!(grad::gather(&x, &upstream, &lists).unwrap_err(), all[0]);
        all[0].clone()
    };
    assert_eq!(errors([vec![0, 2], vec![0, 0]]), Error::PositionOutOfRange { position: 2, size: 2, at: 1 });
    assert_eq!(errors([vec![0], vec![-4]]), Error::PositionOutOfRange { position: -4, size: 3, at: 0 });
    assert!(matches!(errors([vec![0], vec![0, 1]]), Error::ShapeMismatch { what: "the positions of each axis", .. }));
    let none = CooTensor::full([0, 3], 1).unwrap();
    assert_eq!(none.gather([[0], [0]]).unwrap_err(), Error::TakeFromEmpty { count: 1 });
    assert_eq!(*none.gather([[0_i64; 0]; 2]).unwrap().shape(), [0]);
    let refused = grad::gather(&x, &lacuna::ndarray::arr1(&[1, 2]), [[0], [0]]).unwrap_err();
    assert!(matches!(refused, Error::ShapeMismatch { .. }), "{refused}");
    let bytes = x.map_values(|v| v as i8).unwrap();
    let refused = grad::gather(&bytes, &lacuna::ndarray::arr1(&[100_i8, 100]), [[0, 0], [1, 1]]).unwrap_err();
    assert_eq!(refused, Error::SumOverflow { coords: vec![0, 1], dtype: "int8" });
    let shape = [usize::MAX; 3];
    let pattern = lacuna::CooPattern::new(shape, 1, vec![vec![u64::MAX - 1]; 3]).unwrap();
    let far = CooTensor::<f64, u64>::from_parts(pattern, vec![2.5], 0.0).unwrap();
    assert_eq!(far.gather([[-1, 0]; 3]).unwrap().entries(), [(vec![0], 2.5)]);
}

#[test]
fn axes_turned_round_equal_the_reference() {
    check((cases(0, 6), generators::axes_seeds()), |((x, seed, _), axes)| {
        let axes = axes.build(x.shape.len());
        let expected = moves::flip(&x.shape, &axes.normalised(x.shape.len()));
        check_move!((&x, &seed), expected, flip, axes_of(&axes, false));
    });
}

#[test]
fn rolled_and_repeated_axes_equal_the_reference() {
    check(cases(1, 6), |(x, seed, numbers)| {
        let mut numbers = Numbers(numbers.iter());
        let axis = numbers.below(x.shape.len());
        let (places, times) = (numbers.around(9), numbers.below(4));
        let spelled = axis as isize - x.shape.len() as isize;
        check_move!((&x, &seed), moves::roll(&x.shape, places, axis), roll, places, spelled);
        check_move!((&x, &seed), moves::repeat(&x.shape, times, axis), repeat, times, axis);
    });
}

#[test]
fn padded_and_tiled_tensors_equal_the_reference() {
    check(cases(0, 4), |(x, seed, numbers)| {
        let mut numbers = Numbers(numbers.iter());
        let widths: Vec<_> = x.shape.iter().map(|_| (numbers.below(3), numbers.below(3))).collect();
        check_move!((&x, &seed), moves::pad(&x.shape, &widths), pad, widths);
        let times: Vec<_> = (0..numbers.below(x.shape.len() + 2)).map(|_| numbers.below(3)).collect();
        check_move!((&x, &seed), moves::tile(&x.shape, &times), tile, times);
    });
}

#[test]
fn other_axes_equal_the_reference() {
    check(cases(0, 5), |(mut x, seed, numbers)| {
        let mut numbers = Numbers(numbers.iter());
        let rank = x.shape.len();
        let reversed: Vec<usize> = (0..rank).rev().collect();
        check_move!((&x, &seed), moves::permute(&x.shape, &reversed), transpose);
        if rank > 0 {
            let (from, to) = (numbers.below(rank), numbers.below(rank));
            let mut order: Vec<usize> = (0..rank).filter(|&axis| axis != from).collect();
            order.insert(to, from);
            let to = to as isize - rank as isize;
            check_move!((&x, &seed), moves::permute(&x.shape, &order), move_axis, from, to);
        }
        let new: Vec<usize> = (0..rank + 2).filter(|_| numbers.below(3) == 0).take(2).collect();
        let new: Vec<usize> = new.iter().copied().filter(|&axis| axis < rank + new.len()).collect();
        if new.iter().all(|&axis| axis < rank + new.len()) {
            check_move!((&x, &seed), moves::expand_dims(&x.shape, &new), expand_dims, new);
        }
        // Some axes of length 1 and one before all others, to be broadcast and left out.
        for axis in 0..rank {
            if numbers.below(2) == 0 {
                x.entries.retain(|at, _| at[axis] == 0);
                x.shape[axis] = x.shape[axis].min(1);
            }
        }
        let longer = x.shape.iter().map(|&length| if length == 1 { numbers.below(4) } else { length }).collect();
        let to: Vec<usize> = [vec![2; numbers.below(2)], longer].concat();
        check_move!((&x, &seed), moves::broadcast_to(&x.shape, &to), broadcast_to, to);
        let ones: Vec<usize> = (0..rank).filter(|&axis| x.shape[axis] == 1).collect();
        check_move!((&x, &seed), moves::squeeze(&x.shape, &ones), squeeze, ones);
        check_move!((&x, &seed), moves::squeeze(&x.shape, &ones), squeeze, Axes::all());
    });
}

#[test]
fn triangles_and_diagonals_equal_the_reference() {
    check(cases(2, 5), |(mut x, seed, numbers)| {
        let offset = Numbers(numbers.iter()).around(5);
        let inside = i128::from(offset as i64);
        check_move!((&x, &seed), moves::diagonal(&x.shape, offset), diagonal, offset);
        x.fill = 0.0;
        let lower = moves::band(&x.shape, |behind| behind <= inside);
        check_move!((&x, &seed), lower, tril, offset);
        let upper = moves::band(&x.shape, |behind| behind >= inside);
        check_move!((&x, &seed), upper, triu, offset);
    });
}

/// A tensor that stores nothing was repeated as often as asked for, which took years.
#[test]
fn nothing_is_repeated_without_counting() {
    let far = usize::MAX - 1;
    let x = CooTensor::full([2, 1], 2.5).unwrap().with_index::<u64>().unwrap();
    let lanes = x.to_csr().unwrap();
    let wide = [x.broadcast_to([2, far]).unwrap(), x.tile([1, far]).unwrap(), x.repeat(far, 1).unwrap()];
    assert!(wide.iter().all(|y| (y.shape()[1], y.nnz(), y.fill()) == (far, 0, 2.5)));
    let wide = [lanes.broadcast_to([2, far]).unwrap(), lanes.tile([1, far]).unwrap(), lanes.repeat(far, 1).unwrap()];
    assert!(wide.iter().all(|y| (y.shape()[1], y.nnz(), y.fill()) == (far, 0, 2.5)));
}
