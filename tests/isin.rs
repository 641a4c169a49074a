//! `isin` against the reference, on every format, element type, layout, and by every algorithm.

use crate::generators::{self, Drawn, endless, huge, sparse};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::ops;
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{CooTensor, CsrTensor, Error, Isin, IsinKind, isin, isin_into};
use ndarray::{Array, ArrayD, Axis, IxDyn, Slice, arr0, arr1, arr2, arr3};
use num_complex::Complex;
use proptest::collection::vec;
use proptest::prelude::*;

const KINDS: [IsinKind; 4] = [IsinKind::Auto, IsinKind::Sort, IsinKind::Table, IsinKind::Hash];

/// The options without a set.
#[derive(Debug, Clone, Copy, Default)]
struct IsinOptions {
    invert: bool,
    assume_unique: bool,
    kind: IsinKind,
}

impl IsinOptions {
    fn of<'a, T: lacuna::Element>(self, set: impl Into<Isin<'a, T>>) -> Isin<'a, T> {
        let mut asked = Isin::of(set);
        (asked.invert, asked.assume_unique, asked.kind) = (self.invert, self.assume_unique, self.kind);
        asked
    }
}

/// Sets on both sides of every switch: 4 and 5 test elements, 16 and 17, many.
fn sets<T: Drawn>() -> BoxedStrategy<Vec<T>> {
    let of = |sizes: std::ops::RangeInclusive<usize>| vec(T::values(), sizes);
    prop_oneof![of(0..=1), of(3..=6), of(15..=18), of(60..=140)].boxed()
}

/// Sets, and options with any algorithm.
fn questions<T: Drawn>() -> BoxedStrategy<(Vec<T>, IsinOptions)> {
    let flags = (any::<bool>(), any::<bool>(), proptest::sample::select(&KINDS[..]));
    let options = flags.prop_map(|(invert, assume_unique, kind)| IsinOptions { invert, assume_unique, kind });
    (sets::<T>(), options).boxed()
}

fn by(kind: IsinKind) -> IsinOptions {
    IsinOptions { kind, ..Default::default() }
}

/// Returns whether a table of these test values would be too large for a few lookups.
fn has_no_table<T: Both>(set: &[T]) -> bool {
    let integers: Option<Vec<i128>> = set.iter().map(|&member| member.to_integer()).collect();
    let integers = integers.filter(|_| T::ZERO.to_integer().is_some());
    integers.is_none_or(|integers| match (integers.iter().min(), integers.iter().max()) {
        (Some(minimum), Some(maximum)) => (maximum - minimum) / 64 * 8 + 8 > 1 << 30,
        _ => false,
    })
}

/// The answer, or `None` where an algorithm was refused rightly.
#[track_caller]
fn unless_refused<T: Both, R>(answer: lacuna::Result<R>, set: &[T], options: IsinOptions) -> Option<R> {
    assert_eq!(answer.is_err(), options.kind == IsinKind::Table && has_no_table(set));
    answer.map_err(|error| assert!(matches!(error, Error::IsinKind { kind: "table", .. }), "{error}")).ok()
}

// ---- the dense promise and the structure promise ----

fn every_format_equals_the_dense_result<T: Both + Drawn>() {
    check((sparse::<T>(), questions::<T>()), |(x, (set, options))| {
        let dense = x.to_dense();
        let expected = ops::isin(&dense, &set, options.invert);
        let plain = ops::isin(&dense, &set, false);
        let tensor = coo(&x);
        if let Some(found) = unless_refused(tensor.isin(options.of(&set)), &set, options) {
            assert_tensor(&found, &expected, &x.coords());
            assert!(found.shares_pattern_with(&tensor));
        }
        assert_tensor(&isin(&tensor, &set).unwrap(), &plain, &x.coords());
        let tensor = csr_as::<T, u64>(&x);
        if let Some(found) = unless_refused(isin(&tensor, options.of(&set)), &set, options) {
            assert_tensor(&found, &expected, &x.coords());
            assert!(found.shares_pattern_with(&tensor));
        }
        assert_tensor(&tensor.isin(&set).unwrap(), &plain, &x.coords());
        for_each_layout(&dense, |_, view| {
            if let Some(found) = unless_refused(view.isin(options.of(&set)), &set, options) {
                assert_array(&found, &expected);
            }
            assert_array(&isin(&view, &set).unwrap(), &plain);
        });
    });
}

/// A buffer that is reused gets what a new result has, whatever its layout and whatever it held.
fn buffers_are_filled_with_the_same_answers<T: Both + Drawn>() {
    check((sparse::<T>(), sparse::<bool>(), questions::<T>()), |(x, other, (set, options))| {
        let dense = x.to_dense();
        let expected = ops::isin(&dense, &set, options.invert);
        for_each_layout(&dense, |_, view| {
            for_each_out(&x.shape, |out| {
                if unless_refused(isin_into(&view, options.of(&set), out), &set, options).is_some() {
                    assert_array(&out.to_owned(), &expected);
                }
            });
        });
        let (tensor, other) = (coo(&x), coo(&other));
        let mut out = CooTensor::full(&*x.shape, true).unwrap();
        if unless_refused(isin_into(&tensor, options.of(&set), &mut out), &set, options).is_some() {
            assert_tensor(&out, &expected, &x.coords());
            assert!(out.shares_pattern_with(&tensor));
        }
        if other.shape() != tensor.shape() {
            let mut out = other.clone();
            assert!(isin_into(&tensor, options.of(&set), &mut out).is_err());
            assert_eq!(out, other);
        }
        let tensor = csr_as::<T, u64>(&x);
        let mut out = tensor.isin(&set).unwrap();
        if unless_refused(isin_into(&tensor, options.of(&set), &mut out), &set, options).is_some() {
            assert_tensor(&out, &expected, &x.coords());
        }
    });
}

for_all_types!(every_format_equals_the_dense_result, buffers_are_filled_with_the_same_answers);

/// A set of each layout is the same set, and so is one with broadcast axes.
fn sets_of_any_layout_are_the_same_set<T: Both + Drawn>() {
    let set = (generators::shapes_of_rank(0, 3), vec(T::values(), 1..=30));
    check((sparse::<T>(), set), |(x, (shape, values))| {
        let size = shape.iter().product();
        let set = Dense::new(&shape, values.into_iter().cycle().take(size).collect());
        let expected = ops::isin(&x.to_dense(), &set.data, false);
        for_each_layout(&set, |_, view| {
            assert_array(&isin(&coo(&x), &view).unwrap().to_dense().unwrap(), &expected);
            let mut vast = vec![1 << 40];
            vast.extend(view.shape());
            if view.len() < 1 << 10
                && let Some(view) = view.broadcast(vast)
            {
                assert_array(&isin(&coo(&x), &view).unwrap().to_dense().unwrap(), &expected);
            }
        });
    });
}

/// Shapes of more positions than memory, and than any integer, holds are answered by what they store.
fn shapes_without_a_dense_form_are_answered_by_what_they_store<T: Both + Drawn>() {
    check((prop_oneof![huge::<T>(), endless::<T>()], sets::<T>()), |(x, set)| {
        let is_member = |value: T| ops::isin(&Dense::new(&[], vec![value]), &set, false).data[0];
        let entries = x.entries.iter().map(|(at, &value)| (at.clone(), is_member(value))).collect();
        let expected = Sparse::new(&x.shape, entries, is_member(x.fill));
        assert_entries(&isin(&coo_as::<T, usize>(&x), &set).unwrap(), &expected);
    });
}

/// The following cases do not read values, so one type per kind is enough.
macro_rules! for_one_type_of_a_kind {
    ($($property:ident),*) => {$(
        mod $property {
            #[test]
            fn int64() {
                super::$property::<i64>();
            }

            #[test]
            fn float32() {
                super::$property::<f32>();
            }

            #[test]
            fn complex128() {
                super::$property::<num_complex::Complex<f64>>();
            }
        }
    )*};
}

for_one_type_of_a_kind!(
    sets_of_any_layout_are_the_same_set,
    shapes_without_a_dense_form_are_answered_by_what_they_store
);

// ---- the cases that other libraries get wrong, by name ----

/// The requirement of a type for the named cases: small numbers.
trait Small: Both {
    fn small(number: u8) -> Self;
}

macro_rules! small {
    ($($type:ty),*) => {$(
        impl Small for $type {
            fn small(number: u8) -> Self {
                number.into()
            }
        }
    )*};
}

small!(f32, f64, i32, i64);

fn smalls<T: Small>(numbers: &[u8]) -> Vec<T> {
    numbers.iter().map(|&number| T::small(number)).collect()
}

/// `[1 . 3 . 5]` with a fill of 2, in both formats and dense.
fn check_named<T: Small>(set: &[u8], options: IsinOptions, expected: [bool; 5]) {
    let set = smalls::<T>(set);
    let x = CooTensor::new([5], vec![vec![0, 2, 4]], smalls::<T>(&[1, 3, 5]), T::small(2)).unwrap();
    let found = x.isin(options.of(&set)).unwrap();
    assert_eq!(found.to_dense().unwrap(), arr1(&expected).into_dyn());
    assert_eq!(found.values(), [expected[0], expected[2], expected[4]]);
    assert_eq!(x.to_csr().unwrap().isin(options.of(&set)).unwrap(), found.to_csr().unwrap());
    assert_eq!(x.to_dense().unwrap().isin(options.of(&set)).unwrap(), arr1(&expected).into_dyn());
}

fn named_cases<T: Small>() {
    let plain = IsinOptions::default();
    let invert = IsinOptions { invert: true, ..plain };
    let unique = IsinOptions { assume_unique: true, ..plain };
    let few = [3, 2];
    let many: Vec<u8> = (3..200).collect();
    check_named::<T>(&[], plain, [false; 5]);
    check_named::<T>(&[], invert, [true; 5]);
    check_named::<T>(&few, plain, [false, true, true, true, false]);
    check_named::<T>(&few, invert, [true, false, false, false, true]);
    check_named::<T>(&few, unique, [false, true, true, true, false]);
    check_named::<T>(&many, plain, [false, false, true, false, true]);
    check_named::<T>(&many, unique, [false, false, true, false, true]);
    check_named::<T>(&many, IsinOptions { invert: true, ..unique }, [true, true, false, true, false]);
}

fn a_scalar_is_a_set_of_one<T: Small>() {
    let x = CooTensor::new([2], vec![vec![1]], vec![T::small(7)], T::small(0)).unwrap();
    assert_eq!(x.isin(T::small(7)).unwrap().to_dense().unwrap(), arr1(&[false, true]).into_dyn());
    assert_eq!(isin(&arr0(T::small(7)), T::small(7)).unwrap(), arr0(true));
    assert_eq!(isin(&CooTensor::full([], T::small(3)).unwrap(), T::small(3)).unwrap().get(&[]), Ok(true));
}

macro_rules! for_named_types {
    ($($case:ident),*) => {$(
        mod $case {
            #[test]
            fn float32() { super::$case::<f32>(); }
            #[test]
            fn float64() { super::$case::<f64>(); }
            #[test]
            fn int32() { super::$case::<i32>(); }
            #[test]
            fn int64() { super::$case::<i64>(); }
        }
    )*};
}

for_named_types!(named_cases, a_scalar_is_a_set_of_one);

#[test]
fn sets_come_as_anything_dense() {
    let x = CooTensor::new([4], vec![vec![0, 1, 2]], vec![1, 2, 3], 9).unwrap();
    let expected = [true, false, true];
    let vector = vec![1, 3];
    assert_eq!(x.isin([1, 3]).unwrap().values(), expected);
    let borrowed: &[i32; 2] = &[1, 3];
    assert_eq!(x.isin(borrowed).unwrap().values(), expected);
    assert_eq!(x.isin(&vector[..]).unwrap().values(), expected);
    assert_eq!(x.isin(&vector).unwrap().values(), expected);
    assert_eq!(x.isin(vector).unwrap().values(), expected);
    assert_eq!(x.isin(&arr0(3)).unwrap().values(), [false, false, true]);
    assert_eq!(x.isin(&arr1(&[1, 3])).unwrap().values(), expected);
    assert_eq!(x.isin(&arr2(&[[1], [3]])).unwrap().values(), expected);
    assert_eq!(x.isin(&arr3(&[[[3, 1]], [[1, 3]]])).unwrap().values(), expected);
    let table = arr2(&[[1, 2, 3, 2], [2, 2, 2, 2], [3, 2, 1, 2]]);
    let mut view = table.slice_axis(Axis(0), Slice::new(0, None, -2));
    view.slice_axis_inplace(Axis(1), Slice::new(0, None, 2));
    assert_eq!(x.isin(&view).unwrap().values(), expected);
    assert_eq!(x.isin(&table.slice_axis(Axis(0), Slice::from(2..2))).unwrap().values(), [false; 3]);
}

#[test]
fn contiguous_sets_are_borrowed() {
    let array = Array::from_shape_fn((3, 4), |(row, column)| (row * 4 + column) as i32);
    let items = array.as_slice().unwrap();
    assert!(std::ptr::eq(Isin::from(&array).members(), items));
    assert!(std::ptr::eq(Isin::from(&array.t()).members(), items));
    assert!(std::ptr::eq(Isin::from(items).members(), items));
    assert_eq!(Isin::from(&array.slice_axis(Axis(1), Slice::new(0, None, 2))).members(), [0, 2, 4, 6, 8, 10]);
}

/// A view that repeats one row 2^40 times, or nothing as often, is no set of 2^40 elements.
#[test]
fn broadcast_axes_of_a_set_are_read_once() {
    let rows = arr1(&[1, 3]);
    let view = rows.broadcast((1 << 40, 2)).unwrap();
    assert_eq!(Isin::from(&view).members(), [1, 3]);
    let nothing = arr1(&[0i32; 0]);
    assert_eq!(Isin::from(&nothing.broadcast((1 << 40, 0)).unwrap()).members(), [0i32; 0]);
}

#[test]
fn a_broadcast_view_is_asked_like_any_other_array() {
    let row = arr1(&[0.0, 2.0, -0.0]);
    let view = row.broadcast((2, 3)).unwrap();
    assert_eq!(view.isin(0.0).unwrap(), arr2(&[[true, false, true], [true, false, true]]));
}

#[test]
fn the_dimension_type_and_the_layout_of_an_array_stay() {
    let x = arr2(&[[1, 2, 3], [4, 5, 6]]);
    let found: ndarray::Array2<bool> = x.t().isin([2, 6]).unwrap();
    assert_eq!(found, arr2(&[[false, false], [true, false], [false, true]]));
    assert_eq!(found.strides(), [1, 3]);
}

#[test]
fn nothing_is_a_member_of_an_empty_set_and_an_empty_tensor_has_an_answer() {
    for kind in KINDS {
        let x = CooTensor::new([3], vec![vec![1]], vec![0u8], 5).unwrap();
        let found = x.isin(by(kind).of([])).unwrap();
        assert_eq!((found.values(), found.fill()), (&[false][..], false));
        let inverted = x.isin(IsinOptions { invert: true, ..by(kind) }.of([])).unwrap();
        assert_eq!((inverted.values(), inverted.fill()), (&[true][..], true));
        let empty = CsrTensor::full([2, 0], 5u8).unwrap();
        assert!(empty.isin(by(kind).of([5])).unwrap().fill());
        assert_eq!(arr1(&[0u8; 0]).isin(by(kind).of([5])).unwrap().len(), 0);
        assert_eq!(arr2::<u8, 0>(&[]).isin(by(kind).of([])).unwrap().dim(), (0, 0));
    }
}

/// Fills a set with numbers that are in no `x` here, so that it is on the far side of every switch.
fn padded(members: &[f64], count: usize) -> Vec<f64> {
    members.iter().copied().chain((1000..).map(f64::from)).take(count).collect()
}

/// A binary search among numbers in the order of their values misses infinity where NaN stands behind it.
#[test]
fn infinities_are_members_by_every_algorithm() {
    let infinity = f64::INFINITY;
    let x = arr1(&[infinity, -infinity, f64::MAX, f64::MIN, f64::NAN]);
    for count in [2, 4, 5, 16, 17, 100] {
        for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Hash] {
            let both = x.isin(by(kind).of(padded(&[f64::NAN, infinity, -infinity], count.max(3)))).unwrap();
            assert_eq!(both, arr1(&[true, true, false, false, false]), "{kind:?} {count}");
            let one = x.isin(by(kind).of(padded(&[-infinity, f64::NAN], count))).unwrap();
            assert_eq!(one, arr1(&[false, true, false, false, false]), "{kind:?} {count}");
        }
    }
}

#[test]
fn zeros_of_both_signs_are_one_member_by_every_algorithm() {
    let x = arr1(&[0.0, -0.0, 1.0, f64::MIN_POSITIVE, -f64::from_bits(1)]);
    for count in [1, 4, 5, 16, 17, 100] {
        for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Hash] {
            for zero in [0.0, -0.0] {
                let found = x.isin(by(kind).of(padded(&[zero], count))).unwrap();
                assert_eq!(found, arr1(&[true, true, false, false, false]), "{kind:?} {count}");
            }
        }
    }
    let both = [Complex::new(0.0, -0.0), Complex::new(-0.0, 0.0)];
    for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Hash] {
        assert_eq!(arr1(&both).isin(by(kind).of(both[0])).unwrap(), arr1(&[true, true]));
        assert_eq!(arr1(&both).isin(by(kind).of(both[1])).unwrap(), arr1(&[true, true]));
    }
}

#[test]
fn nan_is_never_a_member_whatever_its_bits() {
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    for count in [3, 5, 17, 100] {
        for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Hash] {
            let set = padded(&nans, count);
            assert_eq!(arr1(&nans).isin(by(kind).of(&set)).unwrap(), arr1(&[false; 3]));
            let invert = IsinOptions { invert: true, ..by(kind) };
            assert_eq!(arr1(&nans).isin(invert.of(&set)).unwrap(), arr1(&[true; 3]));
        }
    }
    let parts = [Complex::new(f64::NAN, 1.0), Complex::new(1.0, f64::NAN), Complex::new(1.0, 1.0)];
    for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Hash] {
        assert_eq!(arr1(&parts).isin(by(kind).of(parts)).unwrap(), arr1(&[false, false, true]));
    }
}

/// As floats, or as signed numbers, these would meet.
#[test]
fn integers_are_compared_as_they_are() {
    let top = 1u64 << 63;
    let x = arr1(&[0, 1, top - 1, top, top + 1, u64::MAX - 1, u64::MAX]);
    let y = arr1(&[i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]);
    for count in [1, 5, 17, 100] {
        for kind in KINDS {
            let from = |first: u64| (0..count).map(|step| first + 2 * step).collect::<Vec<_>>();
            let found = x.isin(by(kind).of(from(top))).unwrap();
            assert_eq!(found, arr1(&[false, false, false, true, false, false, false]), "{kind:?}");
            let found = x.isin(by(kind).of(from(u64::MAX - 2 * count + 2))).unwrap();
            assert_eq!(found, arr1(&[false, false, false, false, false, false, true]), "{kind:?}");
            let found = y.isin(by(kind).of((0..count as i64).map(|step| i64::MIN + 2 * step).collect::<Vec<_>>()));
            assert_eq!(found.unwrap(), arr1(&[true, false, false, false, false, false, false]), "{kind:?}");
            let found = y.isin(by(kind).of((0..count as i64).map(|step| -1 - 2 * step).collect::<Vec<_>>()));
            assert_eq!(found.unwrap(), arr1(&[false, false, true, false, false, false, false]), "{kind:?}");
        }
    }
    let neighbours = arr1(&[(1i64 << 53) + 1]);
    assert_eq!(neighbours.isin(1 << 53).unwrap(), arr1(&[false]));
}

#[test]
fn a_false_promise_of_distinct_test_elements_changes_no_answer() {
    let x = arr1(&[1, 2, 3, 4]);
    for kind in KINDS {
        for set in [vec![3; 2], vec![3, 1, 3, 1, 1], vec![3; 50], [3, 1].repeat(50)] {
            let options = IsinOptions { assume_unique: true, ..by(kind) };
            assert_eq!(x.isin(options.of(&set)), x.isin(by(kind).of(&set)), "{kind:?}");
            assert_eq!(x.isin(options.of(&set)).unwrap(), x.mapv(|value| set.contains(&value)), "{kind:?}");
        }
    }
}

/// Values by the hundred thousand are shared out among threads; so is the sorting of as many test elements.
#[test]
fn many_values_and_test_elements_have_the_same_answers_by_every_algorithm() {
    let x = Array::from_iter((0..200_000i64).map(|at| (at * 7919) % 300_000 - 1000));
    let floats = x.mapv(|value| value as f64);
    for (count, step) in [(3, 50_000), (10, 20_000), (300, 700), (100_000, 3)] {
        let set: Vec<i64> = (0..count).map(|at| at * step - 999).collect();
        let float_set: Vec<f64> = set.iter().map(|&value| value as f64).collect();
        let is_member = |value: i64| (value + 999) % step == 0 && (0..count).contains(&((value + 999) / step));
        let expected = x.mapv(is_member);
        for kind in KINDS {
            assert_eq!(x.isin(by(kind).of(&set)).unwrap(), expected, "{kind:?} {count}");
            if kind != IsinKind::Table {
                assert_eq!(floats.isin(by(kind).of(&float_set)).unwrap(), expected, "{kind:?} {count}");
            }
        }
    }
}

// ---- errors ----

#[test]
fn a_table_of_what_is_no_integer_is_refused() {
    let why = |dtype: &str| format!("it supports integers and bool, not {dtype}; use sort or hash");
    let error = arr1(&[1.0f64]).isin(by(IsinKind::Table).of([1.0])).unwrap_err();
    assert_eq!(error, Error::IsinKind { kind: "table", why: why("float64") });
    let x = CsrTensor::full([2, 3], Complex::new(0.0f32, 0.0)).unwrap();
    let error = x.isin(by(IsinKind::Table).of([])).unwrap_err();
    assert_eq!(error, Error::IsinKind { kind: "table", why: why("complex64") });
    assert_eq!(error.to_string(), format!("isin by table is not possible: {}", why("complex64")));
}

/// 16 times the bytes of what is asked about and of the test elements; nobody reads the 2^27 bytes of zeros.
#[test]
fn the_limit_of_a_table_grows_with_what_is_held() {
    let (array, lanes) = (ArrayD::zeros(IxDyn(&[1 << 24])), CsrTensor::full([(1 << 24) - 1, 1], 0i64).unwrap());
    let widest = by(IsinKind::Table).of([i64::MIN, i64::MAX]);
    for error in [array.isin(&widest).unwrap_err(), lanes.isin(&widest).unwrap_err()] {
        assert!(error.to_string().contains("above the limit of 2147483904"), "{error}");
    }
}

#[test]
fn a_table_above_the_limit_is_refused_with_its_bytes() {
    let x = CooTensor::full([4], 0u64).unwrap();
    let limit_bits = 8u64 << 30;
    assert!(x.isin(by(IsinKind::Table).of([5, limit_bits + 4])).is_ok());
    let error = x.isin(by(IsinKind::Table).of([5, limit_bits + 5])).unwrap_err();
    let why = "the test values span 8589934593 integers, a table of 1073741832 bytes (1.0 GiB), above the limit of \
               1073741824 bytes (1.0 GiB); use sort or hash";
    assert_eq!(error, Error::IsinKind { kind: "table", why: why.into() });
    assert!(x.isin(by(IsinKind::Auto).of([0, u64::MAX])).is_ok());
    let widest = ArrayD::<i64>::zeros(IxDyn(&[2])).isin(by(IsinKind::Table).of([i64::MIN, i64::MAX]));
    assert!(widest.unwrap_err().to_string().contains("2305843009213693952 bytes"));
}
