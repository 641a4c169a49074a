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
