//! Tensors joined, masks, entries chosen and put in, and tensors made of little, against the reference; and what the
//! whole family promises by name: what is shared, what is refused, vast shapes.

use std::collections::{BTreeMap, BTreeSet};

use crate::generators::{self, SparseSeed};
use crate::reference::dense::{Dense, Sparse, size};
use crate::reference::{moves, structure};
use crate::support::*;
use lacuna::ndarray::{Array2, ArrayD, Axis, SliceInfoElem, arr1, arr2, s};
use lacuna::{
    CooPattern, CooTensor, CsrTensor, Error, Pattern, Shape, Take, Tensor, block, concat, grad, stack, take_axis,
};
use proptest::prelude::*;
use proptest::sample::Index;

// ---- joined ----

/// Arrays that differ in the length of one axis, an upstream gradient that has no shape yet.
#[derive(Debug, Clone)]
struct Joined<T> {
    parts: Vec<Sparse<T>>,
    axis: usize,
    upstream: SparseSeed<f64>,
}

fn joins<T: generators::Drawn>() -> BoxedStrategy<Joined<T>> {
    let parts = proptest::collection::vec((generators::seeds::<T>(), 0..4usize), 1..4);
    let inputs = (generators::shapes_of_rank(1, 4), any::<Index>(), parts, generators::upstream_seeds());
    type Parts<T> = Vec<(SparseSeed<T>, usize)>;
    let build = |(shape, axis, parts, upstream): (Vec<usize>, Index, Parts<T>, _)| {
        let axis = axis.index(shape.len());
        let fill = parts[0].0.fill;
        let part = |(seed, length): (SparseSeed<T>, usize)| {
            let mut shape = shape.clone();
            shape[axis] = length;
            Sparse { fill, ..seed.build(&shape) }
        };
        Joined { parts: parts.into_iter().map(part).collect(), axis, upstream }
    };
    inputs.prop_map(build).boxed()
}

fn check_joined<P: Pattern, T: Both + generators::Drawn>(
    Joined { parts, axis, upstream }: &Joined<T>,
    tensors: &[Tensor<P, T>],
    on_new_axis: bool,
) {
    // A stack is a join of parts with a new axis.
    let widened = |shape: &[usize]| [&shape[..*axis], &[1], &shape[*axis..]].concat();
    let longer = |shape: &[usize]| if on_new_axis { widened(shape) } else { shape.to_vec() };
    let shapes: Vec<_> = parts.iter().map(|part| longer(&part.shape)).collect();
    let (shape, sources) = moves::concat(&shapes, *axis);
    let at = |cell: &[usize]| if on_new_axis { [&cell[..*axis], &cell[axis + 1..]].concat() } else { cell.to_vec() };
    let expected = sources.iter().map(|(number, cell)| parts[*number].get(&at(cell))).collect();
    let expected = Dense::new(&shape, expected);
    let is_stored = |(number, cell): &&(usize, Vec<usize>)| parts[*number].entries.contains_key(&at(cell));
    let cells = expected.coords().into_iter().zip(&sources);
    let stored: BTreeSet<_> = cells.filter(|(_, source)| is_stored(source)).map(|(cell, _)| cell).collect();
    let lent: Vec<_> = tensors.iter().collect();
    let spelled = *axis as isize - shape.len() as isize;
    let found = if on_new_axis { stack(spelled, &lent) } else { concat(*axis, &lent) }.unwrap();
    assert_tensor(&found, &expected, &stored);
    assert!(found.fill().bits_equal(parts[0].fill));

    let upstream = upstream.build(&shape);
    let dense = upstream.to_dense();
    let mut gradients: Vec<Dense<f64>> = parts.iter().map(|part| Dense::full(&part.shape, 0.0)).collect();
    for ((number, cell), &g) in sources.iter().zip(&dense.data) {
        gradients[*number].set(&at(cell), if g == 0.0 { 0.0 } else { g });
    }
    let array = array(&dense);
    let found = match on_new_axis {
        true => [grad::stack(&csr(&upstream), *axis, &lent), grad::stack(&array, *axis, &lent)],
        false => [grad::concat(&coo(&upstream), *axis, &lent), grad::concat(&array, spelled, &lent)],
    };
    for found in found {
        for (((found, part), gradient), tensor) in found.unwrap().iter().zip(parts).zip(&gradients).zip(tensors) {
            assert_entries(found, &part.pattern_of(gradient));
            assert!(found.pattern().shares_arrays_with(tensor.pattern()));
        }
    }
}

fn joined_tensors_equal_the_reference<T: Both + generators::Drawn>() {
    check(joins::<T>(), |joined| {
        let parts = &joined.parts;
        check_joined(&joined, &parts.iter().map(coo).collect::<Vec<_>>(), false);
        check_joined(&joined, &parts.iter().map(csr_as::<T, u64>).collect::<Vec<_>>(), false);
        // The parts of one shape, as `stack` needs.
        let first = parts[0].shape.clone();
        let same = parts.iter().filter(|part| part.shape == first).cloned().collect();
        let joined = Joined { parts: same, ..joined };
        check_joined(&joined, &joined.parts.iter().map(coo_as::<T, usize>).collect::<Vec<_>>(), true);
        check_joined(&joined, &joined.parts.iter().map(csr).collect::<Vec<_>>(), true);
    });
}

stamp!(joined_tensors_equal_the_reference: float64 = f64; beside complex64 = num_complex::Complex<f32>; half);

#[test]
fn blocks_are_joined_in_rows_and_columns() {
    let x = CooTensor::from_dense(&arr2(&[[1, 2]]), 0).unwrap();
    let (y, z) = (CooTensor::full([1, 1], 0).unwrap(), CooTensor::full([2, 3], 0).unwrap());
    let found = block(&[&[&x, &y], &[&z]]).unwrap();
    assert_eq!(found.to_dense().unwrap(), arr2(&[[1, 2, 0], [0, 0, 0], [0, 0, 0]]).into_dyn());
    assert!(matches!(block::<CooPattern, i32>(&[]), Err(Error::NoTensor)));
    assert!(matches!(block(&[&[&x][..], &[]]), Err(Error::NoTensor)));
    // The last two axes, however many there are: a mutant that took the first ones lived.
    let x = CooTensor::new([2, 1, 1], vec![vec![1], vec![0], vec![0]], vec![5], 0).unwrap();
    assert_eq!(block(&[&[&x, &x], &[&x, &x]]).unwrap().shape(), [2, 2, 2]);
}

#[test]
fn what_does_not_fit_is_not_joined() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let y = CooTensor::full([2, 4], 0.0).unwrap();
    assert!(matches!(concat(0, &[&x, &y]), Err(Error::NotJoinable { tensor: 1, axis: 0, .. })));
    assert_eq!(*concat(1, &[&x, &y]).unwrap().shape(), [2, 7]);
    assert!(matches!(stack(0, &[&x, &y]), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(concat(2, &[&x]), Err(Error::AxisOutOfRange { axis: 2, rank: 2 })));
    assert!(matches!(stack(3, &[&x]), Err(Error::AxisOutOfRange { axis: 3, rank: 3 })));
    let low = CooTensor::full([2], 0.0).unwrap();
    assert!(matches!(concat(1, &[&x, &low]), Err(Error::NotJoinable { tensor: 1, axis: 1, .. })));
    let refused = concat(0, &[&x, &x, &x.clone().with_fill(-0.0)]).unwrap_err();
    assert_eq!(refused, Error::FillsDiffer { tensor: 2, expected: "0.0".into(), found: "-0.0".into() });
    let nan = x.clone().with_fill(f64::NAN);
    assert!(concat(0, &[&nan, &nan.clone().with_fill(f64::from_bits(0x7ff8_0000_dead_beef))]).is_ok());
    let long = CooTensor::full([1 << 31, 1], 0.0).unwrap();
    assert!(concat(0, &[&long, &long]).is_ok());
    assert!(matches!(concat(0, &[&long, &long, &low.reshape([2, 1]).unwrap()]), Err(Error::AxisTooLong { .. })));
    let longest = Tensor::from_parts(CooPattern::<u64>::empty([usize::MAX]).unwrap(), vec![], 0.0).unwrap();
    assert!(matches!(concat(0, &[&longest, &longest]), Err(Error::AxisOverflow { axis: 0 })));
}

// ---- masks and ranges ----

#[test]
fn masks_take_what_is_marked() {
    let inputs = (generators::sparse_of_rank::<f64>(1, 4), any::<Index>(), proptest::collection::vec(any::<bool>(), 8));
    check(inputs, |(x, axis, marks)| {
        let axis = axis.index(x.shape.len());
        let mask: Vec<bool> = (0..x.shape[axis]).map(|at| marks[at % marks.len()]).collect();
        let positions: Vec<usize> = (0..mask.len()).filter(|&at| mask[at]).collect();
        let tensor = csr(&x);
        assert!(tensor.take_axis(&mask[..], axis).unwrap().same_as(&tensor.take_axis(&positions, axis).unwrap()));
        let dense = array(&x.to_dense());
        let expected = dense.select(Axis(axis), &positions);
        for found in [coo(&x).take_axis(&mask, axis), tensor.to_coo().unwrap().take_axis(&positions, axis)] {
            assert_array(&found.unwrap().to_dense().unwrap(), &dense_of(&expected.view()));
        }
        let found = tensor.take_axis(&mask, axis).unwrap();
        assert_array(&found.to_dense().unwrap(), &dense_of(&expected.view()));
        assert_eq!(found.nnz(), x.entries.keys().filter(|at| mask[at[axis]]).count());
        assert_array(&take_axis(&dense, &mask, axis).unwrap(), &dense_of(&expected.view()));
        let upstream = expected.mapv(|_| 0.5);
        let found = grad::take_axis(&tensor, &upstream, &mask, axis).unwrap();
        assert!(found.same_as(&grad::take_axis(&tensor, &upstream, &positions, axis).unwrap()));
    });
}

#[test]
fn a_mask_is_as_long_as_what_it_marks() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![5, 6], 0).unwrap();
    let refused = x.take_axis(&[true, false], 1).unwrap_err();
    assert_eq!(refused, Error::LengthMismatch { what: "the mask", expected: 3, found: 2 });
    assert!(x.take(&[true; 5]).is_err());
    assert_eq!(x.take(&[false, true, true, false, false, true]).unwrap().values(), [5, 6]);
    assert_eq!(*x.take_axis(&[false; 3], 1).unwrap().shape(), [2, 0]);
    // Also where it comes to nothing, and with options.
    assert!(x.take_axis(Take::at(&[false; 4]).wrap(), 1).is_err());
    assert_eq!(*x.take_axis(Take::at(&[true, false]).wrap(), 0).unwrap().shape(), [1, 3]);
}

#[test]
fn ranges_are_windows() {
    let x = CooTensor::new([4, 2], vec![vec![0, 1, 2, 3], vec![1, 0, 1, 0]], vec![5, 6, 7, 8], 0).unwrap();
    let taken = x.take_axis(1..3, 0).unwrap();
    assert_eq!(taken.entries(), [(vec![0, 0], 6), (vec![1, 1], 7)]);
    assert!(std::ptr::eq(taken.values(), &x.values()[1..3]));
    assert!(x.take_axis(2..5, 0).is_err());
    assert_eq!(x.take_axis(-2..0, 0).unwrap().values(), [7, 8]);
    assert_eq!(x.take_axis(Take::at(3..6).wrap(), 0).unwrap().values(), [8, 5, 6]);
}

// ---- entries chosen and put in ----

#[test]
fn chosen_entries_equal_the_reference() {
    check(generators::sparse::<f64>(), |x| {
        let kept = |keep: &dyn Fn(&[usize], f64) -> bool| {
            let mut kept = x.clone();
            kept.entries.retain(|at, value| keep(at, *value));
            kept
        };
        assert_entries(&coo(&x).select(|value| value > 0.0).unwrap(), &kept(&|_, value| value > 0.0));
        assert_entries(&csr(&x).select(|value| value > 0.0).unwrap(), &kept(&|_, value| value > 0.0));
        let even = |at: &[usize], value: f64| at.iter().sum::<usize>() % 2 == 0 && !value.is_nan();
        assert_entries(&coo(&x).filter_entries(even).unwrap(), &kept(&even));
        assert_entries(&csr_as::<f64, u64>(&x).filter_entries(even).unwrap(), &kept(&even));

        let truthy: Vec<_> = x.entries.iter().filter(|(_, value)| **value != 0.0).map(|(at, _)| at.clone()).collect();
        let axis = |axis: usize| truthy.iter().map(|at| at[axis] as u32).collect::<Vec<_>>();
        match coo(&x).nonzero() {
            Ok(found) => assert_eq!(found, (0..x.shape.len()).map(axis).collect::<Vec<_>>()),
            Err(error) => assert!(x.fill != 0.0 && matches!(error, Error::FillNotZero { .. }), "{error}"),
        }
        assert_eq!(csr(&x).nonzero(), coo(&x).nonzero());
    });
}

#[test]
fn entries_put_in_replace_what_was_there() {
    check((generators::sparse::<f64>(), generators::seeds::<f64>(), generators::seeds::<f64>()), |(x, new, again)| {
        let new: Vec<_> = [new, again].iter().flat_map(|seed| seed.build(&x.shape).entries).collect();
        let mut expected = x.clone();
        expected.entries.extend(new.clone());
        assert_entries(&coo(&x).with_entries(new.clone()).unwrap(), &expected);
        assert_entries(&csr_as::<f64, usize>(&x).with_entries(new).unwrap(), &expected);
    });
    let x = CooTensor::full([2, 2], 0).unwrap();
    assert!(matches!(x.with_entries([([0], 1)]), Err(Error::RankMismatch { .. })));
    assert!(matches!(x.with_entries([([0, 2], 1)]), Err(Error::IndexOutOfBounds { index: 2, axis: 1, .. })));
}

fn distinct_values_are_counted<T: Both + generators::Drawn + lacuna::Real>() {
    check(generators::sparse::<T>(), |x| {
        // Each element is compared with the values before it.
        let mut expected: Vec<(T, u64)> = Vec::new();
        for value in x.to_dense().data {
            let same = |other: T| value == other || (value.is_nan() && other.is_nan());
            match expected.iter_mut().find(|(other, _)| same(*other)) {
                Some((_, count)) => *count += 1,
                None => expected.push((if value == T::zero() { T::zero() } else { value.canonical() }, 1)),
            }
        }
        let (nans, mut numbers): (Vec<_>, Vec<_>) = expected.into_iter().partition(|(value, _)| value.is_nan());
        numbers.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
        let expected = [numbers, nans].concat();
        let whole = array(&x.to_dense());
        for (values, counts) in [coo(&x).unique(), csr(&x).unique(), lacuna::unique(&whole.t())].map(Result::unwrap) {
            assert_eq!(counts, expected.iter().map(|(_, count)| *count).collect::<Vec<_>>());
            assert!(values.iter().zip(&expected).all(|(found, (value, _))| found.bits_equal(*value)), "{values:?}");
        }
    });
}

stamp!(distinct_values_are_counted: float64 = f64, int8 = i8; half);

#[test]
fn more_gaps_than_can_be_counted_are_refused() {
    let vast = CooTensor::full([1 << 31, 1 << 31], 7).unwrap();
    assert_eq!(vast.unique().unwrap(), (vec![7], vec![1 << 62]));
    let wider = CooTensor::full([1 << 32, 1 << 32], 7).unwrap();
    assert_eq!(wider.unique(), Err(Error::Uncountable { operation: "unique" }));
}

/// Selected entries receive their gradient, other entries receive 0.
#[test]
fn gradients_of_chosen_entries_are_theirs() {
    let cases = (generators::shapes(), generators::seeds::<f64>(), generators::upstream_seeds::<f64>());
    check(cases, |(shape, x, upstream)| {
        let (x, upstream) = (x.build(&shape), upstream.build(&shape));
        let dense = upstream.to_dense();
        let expected = |passes: &dyn Fn(&[usize], f64) -> bool| {
            let given = |(at, &value): (&Vec<usize>, &f64)| {
                (at.clone(), if passes(at, value) && upstream.get(at) != 0.0 { upstream.get(at) } else { 0.0 })
            };
            Sparse::new(&shape, x.entries.iter().map(given).collect(), 0.0)
        };
        let even = |at: &[usize], _: f64| at.iter().sum::<usize>().is_multiple_of(2);
        assert_entries(&grad::select(&coo(&x), &array(&dense), |v| v > 0.0).unwrap(), &expected(&|_, v| v > 0.0));
        assert_entries(&grad::filter_entries(&csr(&x), &coo(&upstream), even).unwrap(), &expected(&even));
        let mask = coo(&upstream);
        let inside = |at: &[usize], _: f64| upstream.entries.contains_key(at);
        let found = grad::mask(&coo(&x).stored(), &csr(&upstream), mask.pattern()).unwrap();
        assert_entries(&found, &expected(&inside));
        let found = grad::without(&csr(&x).stored(), &mask, csr(&upstream).pattern()).unwrap();
        assert_entries(&found, &expected(&|at, v| !inside(at, v)));
        assert!(grad::select(&coo(&x), &ndarray::arr1(&[0.0; 600]), |_| true).is_err());
    });
}

#[test]
fn what_passes_altogether_is_shared() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![5, 6], 0).unwrap();
    assert!(x.select(|_| true).unwrap().shares_pattern_with(&x));
    assert!(x.filter_entries(|_, _| true).unwrap().shares_pattern_with(&x));
    assert!(x.select(|value| value == 5).unwrap().with_fill(1).nonzero().is_err());
}

// ---- tensors made of little ----

#[test]
fn diagonals_are_made_and_found_again() {
    for offset in [-3, -1, 0, 2] {
        for values in [vec![], vec![4.0], vec![1.0, 0.0, f64::NAN]] {
            let side = values.len() + isize::unsigned_abs(offset);
            let mut expected = Sparse::new(&[side, side], BTreeMap::new(), 0.0);
            let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
            expected.entries.extend(values.iter().enumerate().map(|(at, &v)| (vec![at + down, at + right], v)));
            let x = CooTensor::diag(values.clone(), offset).unwrap();
            assert_entries(&x, &expected);
            assert_entries(&CsrTensor::diag(values.clone(), offset).unwrap(), &expected);
            assert_eq!(x.diagonal(offset).unwrap().values().len(), values.len());
        }
    }
    assert_eq!(CooTensor::<i8>::eye(4).unwrap().to_dense().unwrap(), Array2::<i8>::eye(4).into_dyn());
    assert_eq!(CsrTensor::<f64>::eye(0).unwrap().nnz(), 0);
    let narrow = CsrTensor::<f32>::eye(3).unwrap();
    assert_eq!(CsrTensor::<f32, u64>::eye_with_index(3).unwrap(), narrow.with_index().unwrap());
    let wide = CooTensor::<i8, u64>::diag_with_index(vec![5], 1 << 40).unwrap();
    assert_eq!(wide.entries(), [(vec![0, 1 << 40], 5)]);
    assert!(matches!(CooTensor::<f64>::eye(1 << 40), Err(Error::AxisTooLong { .. })));
    assert!(matches!(CooTensor::<f64>::eye(1 << 31), Err(Error::TooLarge { bytes, .. }) if bytes == 16 << 31));
    assert!(matches!(CooTensor::diag(vec![1], isize::MIN), Err(Error::AxisTooLong { .. })));
    assert!(matches!(CsrTensor::diag(vec![1], 1 << 30), Err(Error::TooLarge { .. })));
}

#[test]
fn chance_is_a_function_of_the_seed() {
    let x = CooTensor::random([50, 40], 2000, 3).unwrap();
    assert_eq!((x.nnz(), x.density()), (2000, 1.0));
    let few = CooTensor::random([50, 40], 700, 3).unwrap();
    // More entries are the same ones and others.
    assert!(few.entries().iter().all(|(at, value)| x.get(at) == Ok(*value)));
    assert_ne!(few, CooTensor::random([50, 40], 700, 4).unwrap());
    assert_eq!(CsrTensor::random([50, 40], 700, 3).unwrap().to_coo().unwrap(), few);
    let mean = x.values().iter().sum::<f64>() / 2000.0;
    assert!((0.45..0.55).contains(&mean) && x.values().iter().all(|value| (0.0..1.0).contains(value)));
    let of_rows = few.count_nonzero(1).unwrap();
    assert!(of_rows.values().iter().all(|&count| (2..30).contains(&count)), "{of_rows:?}");
    let wide = CooTensor::<f64, u64>::random_with_index([50, 40], 700, 3).unwrap();
    assert_eq!(wide, few.with_index().unwrap());
    let long = CooTensor::<f64, u64>::random_with_index([1 << 40, 2], 3, 0).unwrap();
    assert_eq!((long.nnz(), long.shape()[0]), (3, 1 << 40));
    assert!(matches!(CooTensor::random([1 << 40, 2], 3, 0), Err(Error::AxisTooLong { .. })));
    let vast = CooTensor::random([1 << 32, 1 << 32, 1 << 32, 1 << 32, 5], 100, 9).unwrap();
    assert_eq!(vast.nnz(), 100);
    assert_eq!(CooTensor::random([0, 7], 0, 1).unwrap().nnz(), 0);
    assert_eq!(CooTensor::random([], 1, 1).unwrap().nnz(), 1);
    assert_eq!(CooTensor::random([2, 3], 7, 1), Err(Error::TooManyEntries { count: 7, size: 6 }));
    assert!(matches!(CooTensor::random([1 << 30, 1 << 30], 1 << 40, 1), Err(Error::TooLarge { .. })));
}

/// A seed has the same result on every machine, and in every version.
#[test]
fn chance_stays_as_it_was() {
    let x = CooTensor::random([1000, 1000], 3, 42).unwrap();
    let bits: Vec<_> = x.entries().into_iter().map(|(at, value)| (at, value.to_bits())).collect();
    let expected =
        [([315, 29], 4603551454749123616), ([344, 674], 4589014765290357040), ([713, 150], 4588646384333301104)];
    assert_eq!(bits, expected.map(|(at, bits): ([usize; 2], u64)| (at.to_vec(), bits)));
}

// ---- what is shared, refused, and vast ----

#[test]
fn windows_copy_nothing() {
    let x = CooTensor::new([4, 2, 3], vec![vec![0, 1, 1, 3], vec![1, 0, 1, 0], vec![2, 0, 2, 1]], vec![5, 6, 7, 8], 0);
    let x = x.unwrap();
    let rows = x.slice(s![1..3, .., ..]).unwrap();
    assert!(std::ptr::eq(rows.values(), &x.values()[1..3]) && std::ptr::eq(rows.coords(1), &x.coords(1)[1..3]));
    assert_eq!(rows.coords(0), [0, 0]);
    let first = x.slice(s![..2, .., ..]).unwrap();
    assert!((0..3).all(|axis| std::ptr::eq(first.coords(axis), &x.coords(axis)[..3])));
    let within = x.slice(s![1, 1.., ..]).unwrap();
    assert!(std::ptr::eq(within.values(), &x.values()[2..3]) && std::ptr::eq(within.coords(1), &x.coords(2)[2..3]));
    let csr = x.to_csr().unwrap();
    let rows = csr.slice(s![1..3, .., ..]).unwrap();
    assert!(std::ptr::eq(rows.values(), &csr.values()[1..3]) && std::ptr::eq(rows.columns(), &csr.columns()[1..3]));
    let first = csr.slice(s![..2, .., ..]).unwrap();
    assert!(std::ptr::eq(first.offsets(), &csr.offsets()[..5]));
    // All of it is the tensor itself; so is what moves nothing.
    assert!(x.slice(s![.., .., ..]).unwrap().shares_pattern_with(&x));
    assert!(x.roll(8, 0).unwrap().shares_pattern_with(&x) && x.tile([1, 1]).unwrap().shares_pattern_with(&x));
    assert!(csr.triu(-2).unwrap().shares_pattern_with(&csr));
    let wider = csr.expand_dims(0).unwrap();
    assert!(std::ptr::eq(wider.offsets(), csr.offsets()) && std::ptr::eq(wider.values(), csr.values()));
    let padded = csr.pad([(0, 0), (0, 0), (0, 9)]).unwrap();
    assert!(std::ptr::eq(padded.offsets(), csr.offsets()) && std::ptr::eq(padded.columns(), csr.columns()));
}

#[test]
fn slices_that_reach_out_are_refused() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![5, 6], 0).unwrap();
    let out = |index, axis, length| Err(Error::SliceOutOfRange { index, axis, length });
    assert_eq!(x.slice(s![2, ..]), out(2, 0, 2));
    assert_eq!(x.slice(s![-3, ..]), out(-3, 0, 2));
    assert_eq!(x.slice(s![.., ..4]), out(4, 1, 3));
    assert_eq!(x.slice(s![.., -4..]), out(-4, 1, 3));
    assert_eq!(x.slice(s![.., 4..;-1]), out(4, 1, 3));
    assert_eq!(x.slice([SliceInfoElem::Index(isize::MIN), SliceInfoElem::Index(0)]), out(isize::MIN, 0, 2));
    let nothing = ndarray::Slice::new(2, Some(1), 1).into();
    assert_eq!(*x.slice([SliceInfoElem::Index(0), nothing]).unwrap().shape(), [0]);
    assert_eq!(*x.slice(s![2.., 3..]).unwrap().shape(), [0, 0]);
    let zero = SliceInfoElem::Slice { start: 0, end: None, step: 0 };
    assert_eq!(x.slice([SliceInfoElem::Index(0), zero]), Err(Error::ZeroStep { axis: 1 }));
    let ranks = Error::RankMismatch { what: "the slice", expected: 2, found: 1 };
    assert_eq!(x.slice(s![0]), Err(ranks.clone()));
    assert_eq!(x.slice([SliceInfoElem::NewAxis, SliceInfoElem::Index(0)]), Err(ranks));
    // An index from the end of an axis that is longer than it counts.
    let last = lacuna::CooPattern::new([usize::MAX], 1, vec![vec![u64::MAX - 1]]).unwrap();
    let long = CooTensor::from_parts(last, vec![5], 0).unwrap();
    assert_eq!(long.slice(s![-1]).unwrap().item().unwrap(), 5);
    let far = SliceInfoElem::Slice { start: 0, end: None, step: isize::MIN };
    assert_eq!(x.slice([far, far]).unwrap().entries(), [(vec![0, 0], 6)]);
}

#[test]
fn other_arguments_are_refused() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![1, 2]], vec![5, 6], 0).unwrap();
    assert!(matches!(x.flip([0, -2]), Err(Error::AxisRepeated { .. })));
    assert!(matches!(x.roll(1, 2), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(x.pad([(0, 1)]), Err(Error::RankMismatch { expected: 2, found: 1, .. })));
    assert!(matches!(x.pad([(usize::MAX, 0), (0, 0)]), Err(Error::AxisOverflow { axis: 0 })));
    assert!(matches!(x.pad([(0, 0), (0, 1 << 40)]), Err(Error::AxisTooLong { axis: 1, .. })));
    assert!(matches!(x.tile([usize::MAX]), Err(Error::AxisOverflow { axis: 1 })));
    assert!(matches!(x.repeat(1 << 40, 0), Err(Error::AxisTooLong { axis: 0, .. })));
    assert!(matches!(x.squeeze(0), Err(Error::AxisNotOne { axis: 0, length: 2 })));
    assert!(matches!(x.expand_dims([0, 0]), Err(Error::AxisRepeated { .. })));
    assert!(matches!(x.expand_dims(3), Err(Error::AxisOutOfRange { axis: 3, rank: 3 })));
    assert!(matches!(x.expand_dims(0..1isize << 60), Err(Error::AxisOutOfRange { .. })));
    assert!(matches!(x.broadcast_to([2, 4]), Err(Error::NotBroadcastable { .. })));
    assert!(matches!(x.broadcast_to([3]), Err(Error::NotBroadcastable { .. })));
    assert!(matches!(x.move_axis(0, 2), Err(Error::AxisOutOfRange { .. })));
    let line = CooTensor::full([3], 0.0).unwrap();
    assert!(matches!(line.tril(0), Err(Error::RankMismatch { expected: 2, found: 1, .. })));
    assert!(matches!(line.diagonal(0), Err(Error::RankMismatch { .. })));
    assert!(matches!(x.clone().with_fill(7).triu(0), Err(Error::FillNotZero { .. })));
    assert_eq!(*x.diagonal(isize::MAX).unwrap().shape(), [0]);
    assert_eq!(x.tril(isize::MIN).unwrap().nnz(), 0);
    let upstream = arr1(&[1.0]);
    assert!(matches!(grad::flip(&x, &upstream, 0), Err(Error::ShapeMismatch { .. })));
    let integers = arr2(&[[i64::MAX; 3], [1; 3], [1; 3], [1; 3]]);
    assert!(matches!(grad::tile(&x, &integers, [2, 1]), Err(Error::SumOverflow { coords, .. }) if coords == [0, 1]));
}

/// Two entries far apart in 2^40 x 2^20 positions: no work and no memory grows with the lengths.
#[test]
fn vast_tensors_are_moved_without_work() {
    let (rows, columns) = (1usize << 40, 1usize << 20);
    let pattern = CooPattern::<u64>::new([rows, columns], 2, vec![vec![3, 1 << 39], vec![7, 1 << 19]]).unwrap();
    let x = Tensor::from_parts(pattern, vec![5.0, 6.0], 0.0).unwrap();
    let coords = |x: &lacuna::Result<CooTensor<f64, u64>>| {
        x.as_ref().unwrap().entries().into_iter().map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(coords(&x.slice(s![3..;3, ..;-1])), [[0, columns - 8]]);
    assert_eq!(coords(&x.flip([0, 1])), [[(1 << 39) - 1, (1 << 19) - 1], [rows - 4, columns - 8]]);
    assert_eq!(coords(&x.roll(-4, 0)), [[(1 << 39) - 4, 1 << 19], [rows - 1, 7]]);
    assert_eq!(coords(&x.transpose()), [[7, 3], [1 << 19, 1 << 39]]);
    assert_eq!(coords(&x.pad([(1, 1 << 50), (0, 0)])), [[4, 7], [(1 << 39) + 1, 1 << 19]]);
    assert_eq!(x.tile([1 << 10, 3]).unwrap().nnz(), 6 << 10);
    assert_eq!(coords(&x.repeat(2, 1))[1..3], [[3, 15], [1 << 39, 1 << 20]]);
    assert_eq!(coords(&x.tril(0)), [[1 << 39, 1 << 19]]);
    assert_eq!(coords(&x.diagonal(4)), [[3]]);
    assert_eq!(
        *x.expand_dims([0, 1]).unwrap().broadcast_to([2, 2, rows, columns]).unwrap().shape(),
        [2, 2, rows, columns]
    );
    assert!(matches!(x.tile([1 << 23, 1 << 20]), Err(Error::TooLarge { bytes, .. }) if bytes > 1 << 43));
    assert_eq!(stack(1, &[&x, &x]).unwrap().nnz(), 4);
    assert_eq!(x.with_entries([([0, 0], 1.0)]).unwrap().nnz(), 3);
    // Axes of nothing, however many positions there are beside them.
    let nothing = CsrTensor::full([1 << 20, 0, 1 << 20], 0.0);
    let nothing = nothing.unwrap();
    assert_eq!(*nothing.flip([0, 2]).unwrap().roll(1, 0).unwrap().shape(), [1 << 20, 0, 1 << 20]);
    assert_eq!(*concat(2, &[&nothing, &nothing]).unwrap().shape(), [1 << 20, 0, 1 << 21]);
    assert_eq!(*nothing.slice(s![..;2, .., 5]).unwrap().shape(), [1 << 19, 0]);
    let wide = CooTensor::full(vec![1 << 31; 40], 0u8).unwrap();
    assert_eq!(wide.slice(vec![SliceInfoElem::Index(-1); 40]).unwrap().rank(), 0);
}

#[test]
fn lanes_above_the_limit_are_refused() {
    let x = CsrTensor::new([1, 2], vec![0, 1], vec![1], vec![5.0], 0.0).unwrap();
    let refused = |found: lacuna::Result<CsrTensor<f64>>| {
        assert!(matches!(found, Err(Error::TooLarge { bytes, .. }) if bytes > 1 << 30), "{found:?}");
    };
    refused(x.pad([(0, 1 << 31), (0, 0)]));
    refused(x.tile([1 << 31, 1]));
    refused(x.repeat(1 << 31, 0));
    refused(x.pad([(0, 0), (0, 1 << 31)]).unwrap().transpose());
    refused(x.broadcast_to([1 << 20, 1 << 20, 2]));
    // The entries are counted before anything is built.
    let full = CooTensor::from_dense(&Array2::<f64>::ones([1000, 1000]), 0.0).unwrap();
    let refused = full.tile([1 << 16, 1]).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { bytes, .. } if bytes == (1_000_000u128 << 16) * (4 + 4 + 8 + 8)));
}

/// Shapes of up to ten axes, of which some have no position.
#[test]
fn structure_is_a_function_of_the_pattern() {
    check((generators::sparse_of_rank::<bool>(0, 10), generators::seeds::<bool>()), |(x, other)| {
        let mut other = Sparse { fill: x.fill, ..other.build(&x.shape) };
        other.entries = x.entries.keys().map(|at| (at.clone(), false)).collect();
        let axes: Vec<isize> = (0..x.shape.len() as isize).collect();
        let coords = |x: &Sparse<bool>| -> structure::Coords { stored_coords(&coo(x).flip(&axes).unwrap()) };
        assert_eq!(coords(&x), coords(&other));
        assert_eq!(size(&x.shape), csr(&x).flip(&axes).unwrap().shape().iter().product::<usize>());
        let twice = coo(&x).flip(&axes).unwrap().flip(&axes).unwrap();
        assert_eq!(twice, coo(&x));
    });
}

#[test]
fn moved_values_keep_their_bits() {
    let odd = f64::from_bits(0x7ff8_0000_dead_beef);
    let x =
        CooTensor::new([3], vec![vec![0, 1, 2]], vec![odd, -0.0, 1.0], f64::from_bits(0xfff8_0000_0000_0001)).unwrap();
    let bits = |x: lacuna::Result<CooTensor<f64>>| {
        let x = x.unwrap();
        (x.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>(), x.fill().to_bits())
    };
    let (values, fill) = bits(Ok(x.clone()));
    let reversed: Vec<_> = values.iter().rev().copied().collect();
    assert_eq!(bits(x.flip(0)), (reversed, fill));
    assert_eq!(bits(x.pad([(1, 1)])), (values.clone(), fill));
    assert_eq!(bits(stack(0, &[&x, &x])), ([values.clone(), values].concat(), fill));
    let dx = grad::roll(&x, &arr1(&[1.0, odd, -0.0]), 1, 0).unwrap();
    assert_eq!(dx.values()[0].to_bits(), odd.to_bits());
    assert_eq!(dx.values()[1].to_bits(), 0); // a gradient of zero has no sign
    let _: (ArrayD<f64>, Shape) = (x.to_dense().unwrap(), x.shape().clone());
}
