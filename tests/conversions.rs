//! From one form to another: formats, dense arrays, index and element types, order and grouping of axes.

use lacuna::{
    CooPattern, CooTensor, CsrPattern, CsrTensor, DType, Duplicates, Element, Error, Number, Pattern, Shape, Tensor,
    Triplets,
};
use ndarray::{Array, ArrayD, Axis, Dimension, IxDyn, ShapeBuilder, Slice, arr0, arr1};
use num_complex::Complex;
use proptest::prelude::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Returns whether two dense arrays are the same element by element: NaN is NaN, and `-0.0` is not `0.0`.
fn same_dense<T: Element>(a: &ArrayD<T>, b: &ArrayD<T>) -> bool {
    a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| a.same(*b))
}

/// The row-major coordinates of every position.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    ndarray::indices(shape).into_iter().map(|position| position.as_array_view().to_vec()).collect()
}

fn coo() -> CooTensor<f64> {
    let coords = vec![vec![0, 0, 1, 1], vec![0, 2, 1, 2], vec![1, 0, 0, 3]];
    CooTensor::new([2, 3, 4], coords, vec![1.5, NAN, 0.0, -0.0], 0.0).unwrap()
}

#[test]
fn formats_share_what_does_not_change() {
    let coo = coo();
    let csr = coo.to_csr().unwrap();
    assert!(std::ptr::eq(csr.columns(), coo.coords(2)));
    let back = csr.to_coo().unwrap();
    assert!(std::ptr::eq(back.coords(2), coo.coords(2)));
    assert!(back.same_as(&coo));
    let values = csr.values().as_ptr();
    let moved = csr.into_coo().unwrap();
    assert_eq!(moved.values().as_ptr(), values);
    assert_eq!(moved.into_csr().unwrap().values().as_ptr(), values);
}

#[test]
fn every_stored_entry_survives_the_formats() {
    let csr = CsrTensor::try_from(coo()).unwrap();
    assert_eq!(csr.offsets(), [0, 1, 1, 2, 2, 3, 4]);
    assert_eq!(csr.nnz(), 4);
    assert!(CooTensor::try_from(csr).unwrap().same_as(&coo()));
}

#[test]
fn elementwise_results_share_the_pattern() {
    let x = coo();
    assert!(x.clone().shares_pattern_with(&x));
    assert!(x.map_values(|value| value.is_nan()).unwrap().shares_pattern_with(&x));
    assert!(x.map_values(|_| 0.0).unwrap().prune().unwrap().nnz() == 0);
    assert!(x.cast::<f32>().unwrap().shares_pattern_with(&x));
    assert!(x.clone().with_fill(7.0).shares_pattern_with(&x));
    assert!(x.clone().with_fill(7.0).prune().unwrap().shares_pattern_with(&x));
    let csr = coo().to_csr().unwrap();
    assert!(csr.cast::<f32>().unwrap().shares_pattern_with(&csr));
    assert!(csr.clone().with_fill(7.0).prune().unwrap().shares_pattern_with(&csr));
}

#[test]
fn map_values_maps_the_fill_once() {
    let x = coo().map_values(|value| if value.is_nan() { -1i32 } else { 3 }).unwrap();
    assert_eq!((x.values(), x.fill()), (&[3, -1, 3, 3][..], 3));
    let dense = coo().to_dense().unwrap().mapv(|value| if value.is_nan() { -1i32 } else { 3 });
    assert_eq!(x.to_dense().unwrap(), dense);
}

#[test]
fn from_dense_keeps_negative_zero_and_nan() {
    let dense = arr1(&[0.0, -0.0, NAN, INF, -INF, 5e-324, 0.0]).into_dyn();
    let x = CooTensor::from_dense(&dense, 0.0).unwrap();
    assert_eq!(x.coords(0), [1, 2, 3, 4, 5]);
    assert!(same_dense(&x.to_dense().unwrap(), &dense));
    for fill in [0.0, -0.0, NAN, INF, 1.0] {
        let (coo, csr) = (CooTensor::from_dense(&dense, fill).unwrap(), CsrTensor::from_dense(&dense, fill).unwrap());
        assert!(same_dense(&coo.to_dense().unwrap(), &dense), "{fill}");
        assert!(csr.to_coo().unwrap().same_as(&coo), "{fill}");
        assert!(!coo.values().iter().any(|value| value.same(fill)), "{fill}");
    }
    let parts = arr1(&[Complex::new(0.0, 0.0), Complex::new(0.0, -0.0), Complex::new(NAN, 0.0)]);
    assert_eq!(CooTensor::from_dense(&parts, Complex::ZERO).unwrap().coords(0), [1, 2]);
}

#[test]
fn from_dense_reads_any_layout() {
    let dense = Array::from_iter(0..24).into_shape_with_order((2, 3, 4)).unwrap().mapv(|value: i32| value % 3);
    let fortran = Array::from_shape_fn((2, 3, 4).f(), |index| dense[index]);
    let row = arr1(&[0, 1, 2, 0]);
    let steps = [Slice::new(0, None, -1), Slice::from(1..), Slice::new(0, None, 2)];
    let cases = [
        dense.view().into_dyn(),
        fortran.view().into_dyn(),
        dense.slice_each_axis(|axis| steps[axis.axis.index()]).into_dyn(),
        dense.view().reversed_axes().into_dyn(),
        dense.index_axis(Axis(1), 2).into_dyn(),
        row.broadcast((2, 3, 4)).unwrap().into_dyn(),
        dense.slice_axis(Axis(1), Slice::from(1..1)).into_dyn(),
    ];
    for view in cases {
        let coo = CooTensor::from_dense(&view, 0).unwrap();
        assert_eq!(coo.to_dense().unwrap(), view);
        assert_eq!(coo.entries().len(), view.iter().filter(|&&value| value != 0).count());
        assert_eq!(CsrTensor::<_, usize>::from_dense_with_index(&view, 0).unwrap().to_dense().unwrap(), view);
    }
}

#[test]
fn ranks_0_and_1_and_empty_arrays_convert() {
    for value in [0, 7] {
        let scalar = arr0(value).into_dyn();
        assert_eq!(CooTensor::from_dense(&scalar, 0).unwrap().to_dense().unwrap(), scalar);
        assert_eq!(CsrTensor::from_dense(&scalar, 0).unwrap().to_dense().unwrap(), scalar);
    }
    for shape in [vec![0], vec![0, 3], vec![3, 0], vec![2, 0, 3], vec![0, 0]] {
        let dense = ArrayD::<f32>::zeros(IxDyn(&shape));
        assert_eq!(CooTensor::<f32>::try_from(&dense).unwrap().to_dense().unwrap(), dense);
        let csr = CsrTensor::<f32>::try_from(&dense).unwrap();
        assert_eq!(ArrayD::try_from(&csr).unwrap(), dense);
        assert_eq!(csr.to_coo().unwrap().to_csr().unwrap(), csr);
    }
}

/// As many positions as the axes behind the first one have are more than a `usize` counts.
#[test]
fn a_compressed_tensor_without_lanes_has_coordinates_beside_vast_axes() {
    let pattern = CsrPattern::<u64>::empty([0, 1 << 40, 1 << 40, 3]).unwrap();
    let coo = Tensor::from_parts(pattern, vec![], 0.0).unwrap().to_coo().unwrap();
    assert_eq!((&**coo.shape(), coo.nnz()), (&[0, 1 << 40, 1 << 40, 3][..], 0));
}

#[test]
fn a_dense_array_beyond_the_limit_is_refused_with_its_bytes() {
    let x = CooTensor::full([1000, 1000], 0f64).unwrap();
    let error = x.to_dense_with_limit(7_999_999).unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes: 8_000_000, limit: 7_999_999, .. }));
    assert!(x.to_dense_with_limit(8_000_000).is_ok());
    let vast = CooPattern::<usize>::empty([usize::MAX; 32]).unwrap();
    let vast = Tensor::from_parts(vast, vec![], 0u8).unwrap();
    assert!(matches!(vast.to_dense_with_limit(u64::MAX), Err(Error::TooLarge { bytes: u128::MAX, .. })));
    let no_array = CsrPattern::<u64>::empty([usize::MAX, 0, 9]).unwrap();
    let no_array = Tensor::from_parts(no_array, vec![], 0u8).unwrap().into_coo().unwrap();
    assert!(matches!(no_array.to_dense(), Err(Error::TooLarge { .. })));
}

#[test]
fn index_types_change_without_a_copy_where_they_do_not() {
    let (coo, csr) = (coo(), coo().to_csr().unwrap());
    assert!(std::ptr::eq(coo.with_index::<u32>().unwrap().coords(1), coo.coords(1)));
    assert!(std::ptr::eq(csr.with_index::<u32>().unwrap().columns(), csr.columns()));
    assert!(std::ptr::eq(csr.with_index::<u64>().unwrap().offsets(), csr.offsets()));
    assert!(coo.with_index::<u64>().unwrap().with_index::<usize>().unwrap().with_index().unwrap().same_as(&coo));
    let longest = CooTensor::new([1 << 32], vec![vec![u32::MAX]], vec![1u8], 0).unwrap();
    let wide = longest.with_index::<u64>().unwrap();
    assert_eq!(wide.coords(0), [u64::from(u32::MAX)]);
    assert_eq!(wide.with_index::<u32>().unwrap(), longest);
}

/// `0` and `1` in one element type, cast to another and back.
fn cast_there_and_back<T: Element, U: Element>() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![T::ONE, T::ZERO], T::ZERO).unwrap();
    let y = x.cast::<U>().unwrap();
    assert_eq!((y.values(), y.fill()), (&[U::ONE, U::ZERO][..], U::ZERO), "{} to {}", T::DTYPE, U::DTYPE);
    assert!(y.cast::<T>().unwrap().same_as(&x));
    assert!(y.shares_pattern_with(&x));
}

/// Casts one element type to every other type.
macro_rules! cast_to_all {
    ($from:ty) => {
        cast_to_all!($from: bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Complex<f32>, Complex<f64>);
        #[cfg(feature = "half")]
        cast_to_all!($from: half::f16, half::bf16);
    };
    ($from:ty: $($to:ty),*) => {
        $(cast_there_and_back::<$from, $to>(); cast_there_and_back::<$to, $from>();)*
    };
}

#[test]
fn every_pair_of_element_types_casts() {
    cast_to_all!(bool);
    cast_to_all!(i8);
    cast_to_all!(i16);
    cast_to_all!(i32);
    cast_to_all!(i64);
    cast_to_all!(u8);
    cast_to_all!(u16);
    cast_to_all!(u32);
    cast_to_all!(u64);
    cast_to_all!(f32);
    cast_to_all!(f64);
    cast_to_all!(Complex<f32>);
    cast_to_all!(Complex<f64>);
    #[cfg(feature = "half")]
    cast_to_all!(half::f16);
    #[cfg(feature = "half")]
    cast_to_all!(half::bf16);
}

/// Casts one value to another type.
fn cast_one<T: Element, U: Element>(value: T) -> Result<U, Error> {
    CooTensor::new([1], vec![vec![0]], vec![value], T::ZERO)?.cast::<U>()?.get(&[0])
}

#[test]
fn what_does_not_fit_is_named() {
    let message = |error: Error| error.to_string();
    let refused = |value: f64| message(cast_one::<f64, i16>(value).unwrap_err());
    assert_eq!(refused(1.5), "1.5 (float64) at entry 0 cannot be converted to int16");
    assert_eq!(refused(NAN), "NaN (float64) at entry 0 cannot be converted to int16");
    assert_eq!(refused(-INF), "-inf (float64) at entry 0 cannot be converted to int16");
    assert_eq!(refused(32768.0), "32768.0 (float64) at entry 0 cannot be converted to int16");
    assert_eq!(cast_one::<f64, i16>(-32768.0), Ok(i16::MIN));
    assert_eq!(cast_one::<f64, u8>(-0.0), Ok(0));
    assert!(cast_one::<i8, u64>(-1).is_err());
    assert!(cast_one::<u8, bool>(2).is_err());
    assert!(cast_one::<f64, f32>(1e300).is_err());
    assert_eq!(cast_one::<f64, f32>(INF), Ok(f32::INFINITY));
    assert_eq!(cast_one::<f64, f32>(1e-300), Ok(0.0));
    assert_eq!(cast_one::<u64, f64>(u64::MAX), Ok(18446744073709551616.0));
    assert!(cast_one::<f64, u64>(18446744073709551616.0).is_err());
    assert_eq!(cast_one::<Complex<f64>, i8>(Complex::new(3.0, -0.0)), Ok(3));
    let imaginary = cast_one::<Complex<f64>, f64>(Complex::new(1.0, 2.0)).unwrap_err();
    assert_eq!(message(imaginary), "1.0+2.0j (complex128) at entry 0 cannot be converted to float64");
    let fill = CooTensor::full([1], 300).unwrap().cast::<u8>().unwrap_err();
    assert_eq!(message(fill), "300 (int32) at the fill cannot be converted to uint8");
}

#[test]
fn a_number_is_a_float_unless_it_has_an_imaginary_part() {
    assert_eq!(Number::Integer((1 << 53) + 1).float(), Some(9007199254740992.0));
    assert_eq!(Number::Integer(-3).float(), Some(-3.0));
    assert_eq!(Number::Real(-INF).float(), Some(-INF));
    assert_eq!(Number::Complex(2.5, -0.0).float(), Some(2.5));
    assert_eq!((Number::Complex(2.5, 1.0).float(), Number::Complex(2.5, NAN).float()), (None, None));
    assert_eq!(Number::Complex(2.0, 0.0).integer(), Some(2));
    assert_eq!((Number::Real(2.5).integer(), Number::Complex(2.0, 1.0).integer()), (None, None));
}

#[test]
fn complex_numbers_are_neither_smaller_nor_greater() {
    let (one, two) = (Complex::new(1.0, 0.0), Complex::new(2.0, 0.0));
    assert_eq!((one.smaller(two), one.greater(two)), (None, None));
    assert_eq!((1.0.smaller(2.0), 1.0.greater(2.0)), (Some(1.0), Some(2.0)));
}

/// A cast that goes through `f64` rounds twice: the sticky bit is lost, and a tie appears that is none.
#[test]
fn integers_and_floats_round_once() {
    let above_tie = (1i64 << 60) + (1 << 36) + 1;
    assert_eq!(cast_one::<i64, f32>(above_tie), Ok(above_tie as f32));
    assert_eq!(cast_one::<i64, f32>(-above_tie), Ok(-above_tie as f32));
    assert_eq!(cast_one::<u64, Complex<f32>>(above_tie as u64), Ok(Complex::new(above_tie as f32, 0.0)));
    assert_eq!(cast_one::<i64, f64>(i64::MAX), Ok(i64::MAX as f64));
}

#[cfg(feature = "half")]
#[test]
fn half_types_round_once() {
    use half::{bf16, f16};
    let ulp = 2f64.powi(-10);
    assert_eq!(cast_one::<f64, f16>(1.0 + ulp / 2.0), Ok(f16::from_f32(1.0)));
    assert_eq!(cast_one::<f64, f16>(1.0 + ulp / 2.0 + 1e-13), Ok(f16::from_f32(1.0 + ulp as f32)));
    assert_eq!(cast_one::<f64, f16>(1.0 + ulp * 1.5 - 1e-13), Ok(f16::from_f32(1.0 + ulp as f32)));
    assert_eq!(cast_one::<f64, bf16>(-1.0 - 2f64.powi(-8) - 1e-13), Ok(bf16::from_f32(-1.0 - 2f32.powi(-7))));
    assert_eq!(cast_one::<u64, bf16>((1 << 60) + (1 << 52) + 1), Ok(bf16::from_f32(((1u64 << 60) + (1 << 53)) as f32)));
    assert!(cast_one::<f64, f16>(65520.0).is_err());
    assert_eq!(cast_one::<f64, f16>(65519.9), Ok(f16::MAX));
    assert_eq!(cast_one::<f64, f16>(-1e-300).map(f16::to_bits), Ok(0x8000));
    assert!(cast_one::<f64, f16>(NAN).unwrap().is_nan());
    assert!(cast_one::<f64, bf16>(f64::MAX).is_err());
}

#[test]
fn dtypes_have_names_both_ways() {
    for dtype in DType::ALL {
        assert_eq!(DType::from_name(dtype.name()), Some(dtype));
    }
    assert_eq!(DType::from_name("float128"), None);
}

#[test]
fn get_finds_stored_values_and_the_fill() {
    let x = coo().with_fill(9.0);
    let dense = x.to_dense().unwrap();
    let csr = x.to_csr().unwrap();
    for position in positions(&[2, 3, 4]) {
        assert!(x.get(&position).unwrap().same(dense[&*position]));
        assert!(csr.get(&position).unwrap().same(dense[&*position]));
    }
    let rank = Error::RankMismatch { what: "the coordinates", expected: 3, found: 2 };
    assert_eq!(x.get(&[0, 0]).unwrap_err(), rank);
    assert_eq!(csr.get(&[0, 0]).unwrap_err(), rank);
    let outside = Error::IndexOutOfBounds { index: 4, axis: 2, length: 4, entry: None };
    assert_eq!(csr.get(&[0, 0, 4]).unwrap_err(), outside);
    assert_eq!(x.pattern().find(&[0, 0, 4]), None);
    assert_eq!(csr.pattern().find(&[0, 0, 4]), None);
    for wrong_rank in [&[][..], &[1], &[1, 0], &[1, 0, 0, 0]] {
        assert_eq!((x.pattern().find(wrong_rank), csr.pattern().find(wrong_rank)), (None, None), "{wrong_rank:?}");
    }
}

#[test]
fn prune_drops_what_is_the_same_as_the_fill_only() {
    assert_eq!(coo().prune().unwrap().coords(2), [1, 0, 3]);
    assert_eq!(coo().with_fill(-0.0).prune().unwrap().coords(2), [1, 0, 0]);
    assert_eq!(coo().with_fill(NAN).prune().unwrap().coords(2), [1, 0, 3]);
    for fill in [0.0, -0.0, NAN, 1.5] {
        let x = coo().with_fill(fill);
        assert!(same_dense(&x.prune().unwrap().to_dense().unwrap(), &x.to_dense().unwrap()));
        assert!(x.to_csr().unwrap().prune().unwrap().to_coo().unwrap().same_as(&x.prune().unwrap()));
    }
}

#[test]
fn equality_is_of_what_is_stored() {
    let a = CooTensor::new([2], vec![vec![0]], vec![0.0], 0.0).unwrap();
    assert_ne!(a, CooTensor::full([2], 0.0).unwrap());
    assert_eq!(a, a.map_values(|value: f64| -value).unwrap());
    assert!(!a.same_as(&a.map_values(|value| -value).unwrap()));
    assert_ne!(coo(), coo());
    assert!(coo().same_as(&coo()));
    assert_ne!(a, a.reshape([2, 1]).unwrap());
    assert_ne!(a, a.clone().with_fill(1.0));
}

#[test]
fn axes_that_do_not_move_entries_share_their_arrays() {
    let x = CooTensor::new([1, 3, 1, 4], vec![vec![0, 0], vec![0, 2], vec![0, 0], vec![3, 1]], vec![1, 2], 0).unwrap();
    let y = x.permute_axes([1, 3, 0, 2]).unwrap();
    assert_eq!(*y.shape(), [3, 4, 1, 1]);
    assert!(std::ptr::eq(y.coords(0), x.coords(1)) && std::ptr::eq(y.coords(1), x.coords(3)));
    assert!(std::ptr::eq(y.values(), x.values()));
    assert!(x.permute_axes([0, 1, -2, -1]).unwrap().shares_pattern_with(&x));
    let csr = x.to_csr().unwrap();
    assert!(csr.permute_axes([0, 1, 2, 3]).unwrap().shares_pattern_with(&csr));
}

#[test]
fn axes_that_are_no_permutation_are_refused() {
    let (x, csr) = (coo(), coo().to_csr().unwrap());
    let cases: [(&[isize], Error); 5] = [
        (&[0, 1], Error::RankMismatch { what: "the list of axes", expected: 3, found: 2 }),
        (&[0, 1, 3], Error::AxisOutOfRange { axis: 3, rank: 3 }),
        (&[0, 1, -4], Error::AxisOutOfRange { axis: -4, rank: 3 }),
        (&[0, 1, isize::MIN], Error::AxisOutOfRange { axis: isize::MIN, rank: 3 }),
        (&[0, 2, -1], Error::AxisRepeated { axis: 2, rank: 3 }),
    ];
    for (axes, error) in cases {
        assert_eq!(x.permute_axes(axes).unwrap_err(), error);
        assert_eq!(csr.permute_axes(axes).unwrap_err(), error);
    }
    assert!(CooTensor::full([], 0).unwrap().permute_axes([]).is_ok());
}

#[test]
fn vast_axes_permute_as_coordinates_and_not_as_lanes() {
    let x = Triplets::<_, u64>::from_arrays_with_index([1 << 40, 3], vec![vec![1 << 39, 5], vec![0, 2]], vec![1, 2])
        .unwrap();
    let x = x.coalesce(Duplicates::Sum).unwrap();
    let transposed = x.permute_axes([1, 0]).unwrap();
    assert_eq!(transposed.entries(), [(vec![0, 1 << 39], 1), (vec![2, 5], 2)]);
    let csr = transposed.to_csr().unwrap();
    assert!(matches!(csr.permute_axes([1, 0]), Err(Error::TooLarge { .. })));
    assert!(matches!(csr.reshape([1 << 40, 3]), Err(Error::TooLarge { .. })));
    assert!(matches!(csr.reshape_with_limit([1 << 20, 3 << 20], 1 << 20), Err(Error::TooLarge { .. })));
    assert_eq!(csr.reshape_with_limit([1 << 20, 3 << 20], 1 << 24).unwrap().nnz(), 2);
}

#[test]
fn unit_axes_come_and_go_without_a_copy() {
    let x = coo();
    let wide = x.reshape([1, 2, 1, 1, 3, 4, 1]).unwrap();
    for (old, new) in [(0, 1), (1, 4), (2, 5)] {
        assert!(std::ptr::eq(x.coords(old), wide.coords(new)));
    }
    let back = wide.reshape([2, 3, 4]).unwrap();
    assert!(back.shares_pattern_with(&x) && back.same_as(&x));
    let csr = x.to_csr().unwrap();
    let same_lanes = csr.reshape([1, 6, 1, 4]).unwrap();
    assert!(std::ptr::eq(same_lanes.offsets(), csr.offsets()) && std::ptr::eq(same_lanes.columns(), csr.columns()));
}

#[test]
fn sizes_that_differ_are_refused() {
    let cases: [(&[usize], &[usize]); 8] = [
        (&[2, 3], &[5]),
        (&[2, 3], &[2, 3, 2]),
        (&[2, 3], &[]),
        (&[], &[2]),
        (&[2, 3], &[0]),
        (&[0], &[1]),
        (&[1 << 32, 1 << 32], &[0, 1 << 32]),
        (&[1 << 32, 1 << 32, 1 << 32], &[1 << 32, 1 << 32]),
    ];
    for (from, to) in cases {
        let error = Error::ReshapeSize { from: from.into(), to: to.into() };
        assert_eq!(CooTensor::full(from, 0u8).unwrap().reshape(to).unwrap_err(), error);
    }
    let csr = CsrTensor::full([2, 3], 0u8).unwrap();
    assert_eq!(csr.reshape([3]).unwrap_err(), Error::ReshapeSize { from: [2, 3].into(), to: [3].into() });
    assert!(matches!(csr.reshape([2, (1 << 32) + 1]), Err(Error::AxisTooLong { axis: 1, .. })));
    assert!(matches!(coo().reshape([24, 1 << 33]), Err(Error::AxisTooLong { axis: 1, .. })));
}

#[test]
fn products_beyond_128_bits_reshape_block_by_block() {
    let far = usize::MAX - 1;
    let pattern = CooPattern::<usize>::new([usize::MAX; 32], 2, vec![vec![3, far]; 32]).unwrap();
    let x = Tensor::from_parts(pattern, vec![1u8, 2], 0).unwrap();
    let mut shape = vec![usize::MAX; 31];
    shape.extend([1, usize::MAX / 3, 3]);
    let y = x.reshape(shape).unwrap();
    assert!(std::ptr::eq(y.coords(30), x.coords(30)));
    assert_eq!((y.coords(32), y.coords(33)), (&[1, far / 3][..], &[0, far % 3][..]));
    assert_eq!(y.reshape([usize::MAX; 32]).unwrap(), x);
    let mut merged = vec![usize::MAX; 29];
    merged.extend([usize::MAX / 3, usize::MAX, usize::MAX, 3]);
    assert_eq!(x.reshape(merged).unwrap().reshape([usize::MAX; 32]).unwrap(), x);
}

#[test]
fn empty_shapes_reshape_to_any_other() {
    let x = CooTensor::full([1 << 32, 0, 1 << 32], 1.5).unwrap();
    assert_eq!(*x.reshape([0]).unwrap().shape(), [0]);
    let csr = CsrTensor::full([3, 0], 1.5).unwrap();
    assert_eq!(csr.reshape([0, 7]).unwrap().offsets(), [0]);
    assert_eq!(csr.reshape([2, 2, 0]).unwrap().offsets(), [0; 5]);
    assert_eq!(csr.reshape([0]).unwrap().offsets(), [0, 0]);
}

#[test]
fn triplets_of_a_tensor_give_it_back() {
    let x = coo().with_fill(4.0);
    assert!(Triplets::try_from(&x).unwrap().coalesce(Duplicates::Error).unwrap().same_as(&x));
    let csr = x.to_csr().unwrap();
    assert!(Triplets::try_from(&csr).unwrap().coalesce_csr(Duplicates::Error).unwrap().same_as(&csr));
}

/// A dense array of special values, mostly zero, and a fill.
fn dense() -> impl Strategy<Value = (ArrayD<f64>, f64)> {
    let values = prop::sample::select(vec![0.0, 0.0, 0.0, 0.0, -0.0, 1.0, -2.5, NAN, INF, -INF]);
    let shape = prop::collection::vec(prop::sample::select(vec![0usize, 1, 1, 2, 3, 4]), 0..5);
    (shape, values.clone()).prop_flat_map(move |(shape, fill)| {
        let items = prop::collection::vec(values.clone(), shape.iter().product::<usize>());
        items.prop_map(move |items| (ArrayD::from_shape_vec(IxDyn(&shape), items).unwrap(), fill))
    })
}

proptest! {
    #[test]
    fn formats_and_dense_arrays_round_trip((dense, fill) in dense()) {
        let coo = CooTensor::from_dense(&dense, fill).unwrap();
        let csr = CsrTensor::from_dense(&dense, fill).unwrap();
        prop_assert!(same_dense(&coo.to_dense().unwrap(), &dense));
        prop_assert!(same_dense(&csr.to_dense().unwrap(), &dense));
        prop_assert!(coo.to_csr().unwrap().same_as(&csr));
        prop_assert!(csr.to_coo().unwrap().same_as(&coo));
        prop_assert_eq!(csr.entries().len(), coo.nnz());
        let stored: Vec<_> = coo.entries().into_iter().map(|(coords, _)| coords).collect();
        for position in positions(dense.shape()) {
            prop_assert!(coo.get(&position).unwrap().same(dense[&*position]));
            prop_assert_eq!(coo.pattern().find(&position), stored.binary_search(&position).ok());
            prop_assert_eq!(csr.pattern().find(&position), stored.binary_search(&position).ok());
        }
    }

    #[test]
    fn a_permutation_is_that_of_the_dense_array((dense, fill) in dense(), seed in any::<u64>()) {
        let mut axes: Vec<usize> = (0..dense.ndim()).collect();
        axes.sort_by_key(|&axis| (seed >> (8 * axis)) & 0xff);
        let turns = (seed & 1) as isize * axes.len() as isize;
        let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize - turns).collect();
        let expected = dense.clone().permuted_axes(axes);
        let coo = CooTensor::from_dense(&dense, fill).unwrap().permute_axes(&signed).unwrap();
        let csr = CsrTensor::from_dense(&dense, fill).unwrap().permute_axes(&signed).unwrap();
        prop_assert!(same_dense(&coo.to_dense().unwrap(), &expected));
        prop_assert!(coo.to_csr().unwrap().same_as(&csr));
    }

    #[test]
    fn a_reshape_is_that_of_the_dense_array((dense, fill) in dense(), cuts in any::<[bool; 8]>()) {
        let mut shape: Vec<usize> = Vec::new();
        for (axis, &length) in dense.shape().iter().enumerate() {
            match shape.last_mut().filter(|_| cuts[axis]) {
                Some(last) => *last *= length,
                None => shape.push(length),
            }
            if length == 4 && cuts[axis + 4] {
                *shape.last_mut().unwrap() /= 2;
                shape.push(2);
            }
            shape.extend(cuts[7 - axis].then_some(1));
        }
        if dense.ndim() == 0 {
            shape = vec![1; usize::from(cuts[0]) + usize::from(cuts[1])];
        }
        let expected = dense.to_shape(shape.clone()).unwrap().to_owned();
        let coo = CooTensor::from_dense(&dense, fill).unwrap();
        let csr = coo.to_csr().unwrap();
        prop_assert!(same_dense(&coo.reshape(shape.clone()).unwrap().to_dense().unwrap(), &expected));
        prop_assert!(csr.reshape(shape.clone()).unwrap().same_as(&coo.reshape(shape).unwrap().to_csr().unwrap()));
        prop_assert!(csr.reshape(Shape::from(dense.shape())).unwrap().shares_pattern_with(&csr));
    }

    #[test]
    fn pruning_and_mapping_follow_the_dense_array(
        (dense, fill) in dense(),
        other in prop::sample::select(vec![0.0, 1.0, NAN]),
    ) {
        let x = CooTensor::from_dense(&dense, fill).unwrap();
        let mapped = x.map_values(|value| value * 0.0 + other).unwrap();
        prop_assert!(same_dense(&mapped.to_dense().unwrap(), &dense.mapv(|value| value * 0.0 + other)));
        let pruned = mapped.prune().unwrap();
        prop_assert!(same_dense(&pruned.to_dense().unwrap(), &mapped.to_dense().unwrap()));
        prop_assert!(pruned.values().iter().all(|value| !value.same(pruned.fill())));
        prop_assert!(mapped.to_csr().unwrap().prune().unwrap().same_as(&pruned.to_csr().unwrap()));
    }

    #[test]
    fn casts_round_as_rust_does(integer in any::<i64>(), float in any::<f64>()) {
        prop_assert_eq!(cast_one::<i64, f32>(integer), Ok(integer as f32));
        prop_assert_eq!(cast_one::<u64, f32>(integer as u64), Ok(integer as u64 as f32));
        prop_assert_eq!(cast_one::<i64, f64>(integer), Ok(integer as f64));
        prop_assert_eq!(cast_one::<i64, i32>(integer).ok(), i32::try_from(integer).ok());
        let narrow = float as f32;
        let fits = narrow.is_finite() || float.is_infinite();
        prop_assert_eq!(cast_one::<f64, f32>(float).ok(), fits.then_some(narrow));
    }
}

/// Axes whose product is infinite as a float, and one of length zero: the density was NaN.
#[test]
fn the_density_of_no_positions_is_one_however_long_the_other_axes_are() {
    let mut shape = vec![usize::MAX; 32];
    shape.push(0);
    let pattern = CooPattern::<u64>::empty(shape).unwrap();
    assert_eq!(Tensor::from_parts(pattern, vec![], 0.0).unwrap().density(), 1.0);
}

#[test]
fn iter_and_entries_and_for_each_entry_agree() {
    let x = CsrTensor::new([2, 2, 3], vec![0, 1, 1, 3, 3], vec![2, 0, 1], vec![5, 6, 7], 0).unwrap();
    let mut visited = Vec::new();
    x.for_each_entry(|coords, value| visited.push((coords.to_vec(), value)));
    assert_eq!(x.iter().map(|(coords, value)| (coords.to_vec(), value)).collect::<Vec<_>>(), visited);
    assert_eq!(x.entries(), visited);
    assert_eq!(x.to_coo().unwrap().iter().len(), 3);
}

/// A broadcast view costs its owner eight bytes; the entries that it stands for were pushed until memory ran out.
#[test]
fn broadcast_views_are_not_written_out() {
    let one = arr0(1.0);
    let vast = one.broadcast((1 << 20, 1 << 20)).unwrap();
    assert!(matches!(CooTensor::from_dense(&vast, 0.0), Err(Error::TooLarge { .. })));
    assert!(matches!(CsrTensor::from_dense(&vast, 0.0), Err(Error::TooLarge { .. })));
    assert_eq!(CooTensor::from_dense(&one.broadcast((3, 4)).unwrap(), 0.0).unwrap().nnz(), 12);
    // Nothing to be stored at 2^62 positions: they were gone through one by one.
    let zeros = arr0(0u8);
    let vaster = zeros.broadcast((1 << 31, 1 << 31)).unwrap();
    assert_eq!(CooTensor::from_dense(&vaster, 0).unwrap(), CooTensor::full([1 << 31, 1 << 31], 0).unwrap());
    assert!(matches!(lacuna::isin(&vast, [1.0]), Err(Error::TooLarge { .. })));
}

/// The limit may be raised above what the machine has; then the machine's refusal is the error, not an abort.
#[test]
fn a_dense_array_that_the_machine_refuses_is_an_error() {
    let x = CooTensor::full([1 << 29, 1 << 29], 1.0).unwrap();
    assert!(matches!(x.to_dense_with_limit(u64::MAX), Err(Error::OutOfMemory { bytes }) if bytes == 1 << 61));
}

/// Thousands of axes of length 1 cost one array of zeros, not one each: a 40 kB shape asked for 20 GB.
#[test]
fn axes_of_length_1_share_their_zeros() {
    let x = CooTensor::from_dense(&Array::from_elem(1000, 1.5), 0.0).unwrap();
    let mut shape = vec![1; 5000];
    shape.extend([10, 1, 100]);
    let reshaped = x.reshape(&shape).unwrap();
    assert!(std::ptr::eq(reshaped.coords(0), reshaped.coords(4999)));
    assert!(std::ptr::eq(reshaped.coords(0), reshaped.coords(5001)));
    assert!(reshaped.reshape([1000]).unwrap().same_as(&x));
}

/// A conversion and a clone share the values with their source, until one of the two is changed.
#[test]
fn a_change_of_shared_values_is_seen_by_nobody_else() {
    let x = CooTensor::new([2, 3], vec![vec![0, 1, 1], vec![1, 0, 2]], vec![1.0, 2.0, 3.0], 0.0).unwrap();
    let mut csr = x.to_csr().unwrap();
    assert_eq!(csr.values().as_ptr(), x.values().as_ptr());
    assert_eq!(csr.to_coo().unwrap().values().as_ptr(), x.values().as_ptr());
    let copy = csr.clone();
    csr.values_mut().unwrap()[1] = 9.0;
    assert_eq!(csr.values(), [1.0, 9.0, 3.0]);
    assert_eq!((x.values(), copy.values()), (&[1.0, 2.0, 3.0][..], &[1.0, 2.0, 3.0][..]));
    let (_, mut parts, _) = copy.into_parts().unwrap();
    parts[0] = 7.0;
    assert_eq!(x.values(), [1.0, 2.0, 3.0]);
    // The last one to hold the values gives them away as they are.
    let address = x.values().as_ptr();
    assert_eq!(x.into_parts().unwrap().1.as_ptr(), address);
}

/// An implicit zero has no sign, and an implicit NaN no payload, where they are computed; one that is given keeps its
/// bits.
#[test]
fn computed_fills_are_canonical() {
    let payload = f64::from_bits(0x7ff8_dead_beef_0001);
    let x = CooTensor::new([3], vec![vec![1]], vec![-4.0f64], 0.0).unwrap();
    assert_eq!(x.map_values(|value| -value).unwrap().fill().to_bits(), 0);
    assert_eq!(x.map_values(|_| payload).unwrap().fill().to_bits(), f64::NAN.to_bits());
    assert_eq!(x.map_values(|_| payload).unwrap().values()[0].to_bits(), payload.to_bits());
    assert_eq!(x.clone().with_fill(-0.0).fill().to_bits(), (-0.0f64).to_bits());
    let y = x.map_values(|value| Complex::new(-value, payload)).unwrap();
    assert_eq!((y.fill().re.to_bits(), y.fill().im.to_bits()), (0, f64::NAN.to_bits()));
}

/// A conversion computes, so of a NaN nothing is kept but that it is one.
#[test]
fn a_nan_of_another_type_is_the_canonical_one() {
    let payload = f64::from_bits(0xfff8_dead_beef_0001);
    let x = CooTensor::new([2], vec![vec![1]], vec![payload], payload).unwrap();
    let narrow = x.cast::<f32>().unwrap();
    assert_eq!((narrow.values()[0].to_bits(), narrow.fill().to_bits()), (f32::NAN.to_bits(), f32::NAN.to_bits()));
    assert_eq!(narrow.cast::<f64>().unwrap().fill().to_bits(), f64::NAN.to_bits());
    assert_eq!(x.cast::<f64>().unwrap().fill().to_bits(), payload.to_bits());
}

/// Axes with more positions together than `u128` holds were refused, in words that called positions bytes and advised
/// steps that there are not.
#[test]
fn axes_wider_than_any_integer_are_regrouped() {
    let most = usize::MAX;
    let last = (most - 1) as u64;
    let coords = vec![vec![0, 0, last], vec![0, 1, last], vec![1, 0, 1u64]];
    let pattern = lacuna::CooPattern::new([most, most, 2], 3, coords).unwrap();
    let x = Tensor::from_parts(pattern, vec![1, 2, 3], 0).unwrap();
    let y = x.reshape([2, most, most]).unwrap();
    assert_eq!(y.entries(), [(vec![0, 0, 1], 1), (vec![0, 0, 2], 2), (vec![1, most - 1, most - 1], 3)]);
    assert_eq!(y.reshape([most, most, 2]).unwrap(), x);
    assert!(matches!(x.reshape([3, most, most]), Err(Error::ReshapeSize { .. })));
    assert!(matches!(x.reshape([most, most]), Err(Error::ReshapeSize { .. })));
}

/// Entries of `rows` that `is_there` says hold one, turned, against the same sorted.
fn check_turned(rows: usize, width: usize, is_there: impl Fn(usize, usize) -> bool) {
    let all = (0..rows).flat_map(|row| (0..width).map(move |column| (row, column)));
    let entries: Vec<_> = all.filter(|&(row, column)| is_there(row, column)).collect();
    let axis = |of: fn(&(usize, usize)) -> usize| entries.iter().map(|entry| of(entry) as u32).collect::<Vec<_>>();
    let values = (0..entries.len() as i64).collect();
    let coo = CooTensor::new([rows, width], vec![axis(|at| at.0), axis(|at| at.1)], values, 0).unwrap();
    let mut expected: Vec<_> = entries.iter().zip(0i64..).map(|(&(row, column), value)| (column, row, value)).collect();
    expected.sort_unstable();
    let turned = coo.transpose().unwrap();
    let coords = turned.coords(0).iter().zip(turned.coords(1)).zip(turned.values());
    assert!(
        coords.map(|((&column, &row), &value)| (column as usize, row as usize, value)).eq(expected.iter().copied())
    );
    assert!(coo.to_csr().unwrap().transpose().unwrap().same_as(&turned.to_csr().unwrap()));
}

#[test]
fn axes_of_all_lengths_are_turned_by_counting_or_by_keys() {
    for rows in [2, 3, 9, 40] {
        for width in (2..20).chain([63, 64, 65, 300]) {
            check_turned(rows, width, |row, column| (row * 7 + column * 5) % 3 < 2);
            check_turned(rows, width, |row, column| (row * 5 + column * 3) % 17 == 0);
            // All in few columns, and a first one that is empty.
            check_turned(rows, width, |row, column| column + 2 > width && (row + column) % 5 > 0);
        }
    }
}

/// The lower bits of a coordinate are held in two bytes, where the axis is not longer than that allows.
#[test]
fn the_longest_axis_that_is_counted_and_a_longer_one_are_turned() {
    for width in [(1 << 18) - 1, 1 << 18, (1 << 18) + 1] {
        check_turned(3, width, |row, column| row == 2 || (row + column) % 2 == 0);
    }
}
