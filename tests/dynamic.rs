//! The operations of run-time types give what their typed forms give, and refuse what a type lacks.

use lacuna::dynamic::{AnyMatmul, AnyTensor};
use lacuna::{
    Axes, CooTensor, Element, Error, Float, Format, Isin, Matmul, Nanmedian, Number, Pattern, Real, Result, Take,
    Tensor, grad,
};
use num_complex::Complex;

/// Five entries, two of them zeros, with a fill of one.
fn tensor<T: Element>() -> CooTensor<T, u64> {
    let coords = vec![vec![0, 0, 1, 2, 2], vec![0, 2, 1, 0, 1]];
    let x = CooTensor::new([3, 3], coords, vec![T::ONE, T::ZERO, T::ONE, T::ZERO, T::ZERO], T::ONE).unwrap();
    x.with_index().unwrap()
}

/// A cell for each row, of which one is the fill.
fn upstream<T: Element>() -> CooTensor<T, u64> {
    CooTensor::new([3], vec![vec![0, 2]], vec![T::ONE, T::ZERO], T::ONE).unwrap().with_index().unwrap()
}

#[track_caller]
fn assert_same(found: Result<AnyTensor>, expected: Result<impl Into<AnyTensor>>) {
    let (found, expected) = (found.unwrap(), expected.unwrap().into());
    assert!(found.same_as(&expected), "{found:?} is not {expected:?}");
}

/// Checks the operations that every type has.
fn check<P: Pattern, T: Element>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
    Tensor<P, bool>: Into<AnyTensor>,
    Tensor<P, u64>: Into<AnyTensor>,
{
    let (any, g) = (x.clone().into(), upstream::<T>());
    let (coo, csr) = (AnyTensor::from(g.clone()), AnyTensor::from(g.to_csr().unwrap()));
    assert_same(any.any(1), x.any(1));
    assert_same(any.stored().any(Axes::all()), x.stored().any(Axes::all()));
    assert_same(any.count_nonzero(1), x.count_nonzero(1));
    assert_same(any.isin([Number::Integer(1), Number::Real(0.5)], true), x.isin(Isin::of(T::ONE).invert()));
    assert_same(any.stored().isin([], false), x.stored().isin([]));
    assert_same(any.isnan(), x.isnan());
    assert_same(any.stored().isfinite(), x.stored().isfinite());
    assert_same(any.take([8i64, -9]), x.take([8i64, -9]));
    assert_same(any.take_axis(Take::at([2i64, 4]).wrap(), -1), x.take_axis(Take::at([2i64, 4]).wrap(), -1));
    let points = vec![[1i64, -1]; x.shape().rank()];
    assert_same(any.gather(&points), x.gather(&points));
    let ends = ndarray::Array::from_elem(x.shape().to_vec(), -1i64);
    assert_same(any.take_along_axis(&ends, 0), x.take_along_axis(&ends, 0));
    assert_same(any.take_along_axis_backward(&any, &ends, 0), lacuna::grad::take_along_axis(x, x, &ends, 0));
    assert_same(any.prune(), x.prune());
    check_entries(x);
    for upstream in [coo, csr] {
        assert_same(any.any_backward(&upstream, 1), grad::any(x, &g, 1));
        assert_same(any.take_backward(&upstream, [0i64, 1, 8]), grad::take(x, &g, [0i64, 1, 8]));
        assert_same(any.take_axis_backward(&upstream, 1i64, 0), grad::take_axis(x, &g, 1i64, 0));
    }
}

/// Checks the operations on entries, with a mask that lacks some entries and has others.
fn check_entries<P: Pattern, T: Element>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
    Tensor<P, bool>: Into<AnyTensor>,
{
    let any: AnyTensor = x.clone().into();
    let coords = vec![vec![0, 1, 2, 2], vec![2, 0, 1, 2]];
    let mask = CooTensor::new([3, 3], coords, vec![false, true, true, true], false).unwrap();
    let mask = mask.with_index::<u64>().unwrap();
    for holds in [false, true] {
        let mask = mask.clone().with_fill(holds);
        let is_in = |coords: &[usize], _: T| mask.get(coords).unwrap();
        let other = AnyTensor::from(mask.to_csr().unwrap());
        assert_same(any.select(&AnyTensor::from(mask.clone())), x.filter_entries(is_in));
        assert_same(any.stored().select(&other), x.filter_entries(is_in));
        assert_same(any.select_backward(&any, &other), grad::filter_entries(x, x, is_in));
    }
    let new = [([2, 2], T::ZERO), ([0, 0], T::ZERO), ([1, 0], T::ONE), ([0, 0], T::ONE)];
    let numbers = new.map(|(coords, value)| (coords, value.to_number()));
    assert_same(any.with_entries(&numbers), x.with_entries(new));
    assert!(matches!(any.nonzero(), Err(Error::FillNotZero { .. })));
    let zero = x.clone().with_fill(T::ZERO);
    let zero: AnyTensor = zero.into();
    let found = zero.nonzero().unwrap();
    assert_eq!(found, ndarray::arr2(&[[0u64, 0], [1, 1]]).into_dyn().into());
}

/// Checks the further operations of types with an order, with an upstream gradient of type `G`.
fn check_real<P: Pattern, T: Real, G: Float>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
    Tensor<P, bool>: Into<AnyTensor>,
    Tensor<P, u64>: Into<AnyTensor>,
    Tensor<P, G>: Into<AnyTensor>,
    Tensor<P, T::Median>: Into<AnyTensor>,
{
    check(x);
    let (any, g) = (x.clone().into(), upstream::<G>());
    let upstream = AnyTensor::from(g.clone());
    let lower = Nanmedian::over(1).lower();
    assert_same(any.isposinf(), x.isposinf());
    assert_same(any.nanmedian(&lower), x.nanmedian(&lower));
    assert_same(any.stored().nanmedian(1), x.stored().nanmedian(1));
    assert_same(any.nanmedian_backward(&upstream, &lower), grad::nanmedian(x, &g, &lower));
    assert_same(any.stored().nanmedian_backward(&upstream, 1), grad::nanmedian(&x.stored(), &g, 1));
}

#[test]
fn each_gives_what_its_typed_form_gives() {
    check_real::<_, _, f32>(&tensor::<bool>());
    check_real::<_, _, f32>(&tensor::<i8>().to_csr().unwrap());
    check_real::<_, _, f64>(&tensor::<u64>());
    check_real::<_, _, f64>(&tensor::<f32>().to_csr().unwrap());
    check(&tensor::<Complex<f32>>());
}

#[test]
fn what_a_type_lacks_is_an_error() {
    let complex = AnyTensor::from(tensor::<Complex<f64>>());
    let whole = AnyTensor::from(upstream::<i64>());
    for refused in [complex.nanmedian(1), complex.isneginf(), complex.nanmedian_backward(&whole, 1)] {
        assert!(matches!(refused, Err(Error::NoOrder { dtype: "complex128", .. })), "{refused:?}");
    }
    let refused = AnyTensor::from(tensor::<f64>()).nanmedian_backward(&whole, 1);
    assert!(matches!(refused, Err(Error::NotRepresentable { .. })), "{refused:?}");
}

/// The sums of narrow integers are those of the type, as in the typed form: they were formed in 64 bits.
#[test]
fn a_sum_of_narrow_gradients_overflows_as_the_typed_one_does() {
    let g = CooTensor::new([3], vec![vec![0, 1, 2]], vec![100i8, 100, -100], 0).unwrap();
    let refused = AnyTensor::from(tensor::<f64>()).take_backward(&AnyTensor::from(g), [0i64, 0, 0]);
    assert!(matches!(refused, Err(Error::SumOverflow { dtype: "int8", .. })), "{refused:?}");
}

/// A tensor of a wide type is not copied. If only the pattern counts, no value is read.
#[test]
fn gradients_share_the_pattern() {
    let x = tensor::<f64>();
    let dx = AnyTensor::from(x.clone()).any_backward(&AnyTensor::from(upstream::<f64>()), 1).unwrap();
    let dx: CooTensor<f64, u64> = dx.into_coo().unwrap();
    assert!(dx.shares_pattern_with(&x));
}

/// Values that each operation has a reason to get wrong in a wider type: ends of the type, subnormals, zeros of both
/// signs, NaN with a payload, infinities, neighbours of 1.
fn hostile<T: Element>(bits: impl Fn(u64) -> T) -> Vec<T> {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 17
    };
    let edges = [0u64, 1, 2, 3, 0x7f, 0x80, 0x81, 0xff, 0xfe, 0x3c00, 0x3c01, 0x3bff, 0x7bff, 0x7c00, 0xfc00, 0x8001];
    let wide = [0x8000_0000, 1, 0x3f80_0000, 0x3f80_0001, 0x7f7f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_1234, 0x8000];
    edges.into_iter().chain(wide).chain((0..16).map(|_| random())).map(bits).collect()
}

/// A result, or its error, in words that tell every bit.
fn told(result: Result<impl Into<AnyTensor>>) -> String {
    match result.map(Into::into) {
        Ok(tensor) => format!("{tensor:?} {:?}", bits_of(&tensor)),
        Err(error) => format!("{error}"),
    }
}

/// The bits of the values and of the fill.
fn bits_of(x: &AnyTensor) -> Vec<u64> {
    lacuna::dispatch!(x, x => x.values().iter().chain([&x.fill()]).map(|value| match value.to_number() {
        Number::Integer(integer) => integer as u64,
        Number::Real(real) => real.to_bits(),
        Number::Complex(re, im) => re.to_bits() ^ im.to_bits().rotate_left(7),
    }).collect())
}

/// A quotient, a power or a shift may have two errors, one at the fill and one at an entry. Either error may be reported.
#[track_caller]
fn assert_agree(found: &str, expected: &str, case: &str) {
    let two = ["div at ", "div_floor at ", "pow at ", "shift_left at ", "shift_right at "];
    let are_errors = two.iter().any(|name| found.starts_with(name) && expected.starts_with(name));
    assert!(found == expected || are_errors, "{case}: {found} is not {expected}");
}

/// Each operation on all pairs of hostile values: as operands of one entry, with other values as fills.
macro_rules! pairs_agree {
    ([$type:ty, $kind:ident, $bits:expr]
        $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {{
        let values: Vec<$type> = hostile($bits);
        let of = |at, value, fill| {
            CooTensor::new([2], vec![vec![at]], vec![value], fill).unwrap().with_index::<u64>().unwrap()
        };
        for (at, &a) in values.iter().enumerate() {
            for (step, &b) in values.iter().enumerate() {
                let (c, d) = (values[(at * 7 + step) % values.len()], values[(at + step * 5) % values.len()]);
                // At one place, or at two, so that each is alone.
                let (x, y) = (of(0, a, c), of(step as u32 % 2, b, d));
                let (any_x, any_y) = (AnyTensor::from(x.clone()), AnyTensor::from(y.clone()));
                $(lacuna::__if_kind! { $kind $bound {
                    let case = format!("{} {a:?} {b:?} with fills {c:?} {d:?}", stringify!($name));
                    assert_agree(&told(any_x.$name(&any_y)), &told(x.$name(&y)), &case);
                    let stored = told(any_x.stored().$name(any_y.stored()));
                    assert_agree(&stored, &told(x.stored().$name(y.stored())), &case);
                    assert_agree(&told(any_x.$name(b.to_number())), &told(x.$name(b)), &case);
                }})*
            }
        }
    }};
}

#[test]
fn integers_worked_on_in_64_bits_are_those_of_their_type() {
    lacuna::__binary! { pairs_agree [i8, integer, |bits| bits as i8] }
    lacuna::__binary! { pairs_agree [u8, integer, |bits| bits as u8] }
    lacuna::__binary! { pairs_agree [u64, integer, |bits| bits << 17 | bits] }
    lacuna::__binary! { pairs_agree [bool, bool, |bits| bits % 2 == 1] }
}

#[test]
fn floats_worked_on_in_64_bits_are_rounded_as_those_of_their_type() {
    lacuna::__binary! {
        pairs_agree [f32, float, |bits| f32::from_bits((bits as u32) ^ ((bits >> 8) as u32 & 0x00ff_ffff))]
    }
    #[cfg(feature = "half")]
    lacuna::__binary! { pairs_agree [half::f16, float, |bits| half::f16::from_bits(bits as u16)] }
    #[cfg(feature = "half")]
    lacuna::__binary! { pairs_agree [half::bf16, float, |bits| half::bf16::from_bits(bits as u16)] }
    lacuna::__binary! {
        pairs_agree [Complex<f32>, complex,
            |bits| Complex::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 5) as u32))]
    }
}

#[test]
fn products_are_those_of_the_type() {
    let of = |values: Vec<f64>| CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], values, 0.0).unwrap();
    let x = of(vec![1.5, -2.0, 3.25]).with_index::<u64>().unwrap();
    let any = AnyTensor::from(x.clone());
    assert_eq!(any.matmul(&any).unwrap(), AnyTensor::from(x.matmul(&x).unwrap()));
    let csr = AnyTensor::from(x.to_csr().unwrap());
    assert_eq!(csr.matmul(&csr).unwrap().format(), Format::Csr);
    assert_eq!(csr.matmul(&any).unwrap(), any.matmul(&any).unwrap());
    let filled = AnyTensor::from(x.clone().with_fill(2.0));
    assert!(filled.matmul(&any).is_err());
    assert_eq!(filled.stored().matmul(&any).unwrap(), any.matmul(&any).unwrap());
    // each sum is rounded in the type of the operands
    let third = x.map_values(|value| value as f32 / 3.0).unwrap();
    assert_eq!(
        AnyTensor::from(third.clone()).matmul(&third.clone().into()).unwrap(),
        third.matmul(&third).unwrap().into()
    );
    let small = x.map_values(|value| (value * 4.0) as i8 * 5).unwrap();
    let told = small.matmul(&small).unwrap_err().to_string();
    let narrow = AnyTensor::from(small);
    assert_eq!(narrow.matmul(&narrow).unwrap_err().to_string(), told);
    assert!(any.matmul(&narrow).is_err() && any.matmul(Number::Integer(2)).is_err());
    let (dx, dy) = any.matmul_backward(&any, &any).unwrap();
    let (own_dx, own_dy) = grad::matmul(&x, &x, &x).unwrap();
    assert_eq!((dx, dy), (own_dx.into(), own_dy.into()));
}

/// Functions and reductions of hostile values, one by one and in rows.
macro_rules! values_agree {
    ($type:ty, $bits:expr; $($map:ident)*; $($fold:ident)*; $($powers:literal)*) => {{
        let values: Vec<$type> = hostile($bits);
        for row in values.chunks(3).chain(values.windows(2)) {
            let coords = vec![(0..row.len() as u32).collect()];
            let x = CooTensor::new([row.len() + 1], coords, row.to_vec(), row[0]).unwrap().with_index::<u64>().unwrap();
            let any = AnyTensor::from(x.clone());
            $(
                assert_eq!(told(any.$map()), told(x.$map()), "{} {row:?}", stringify!($map));
                assert_eq!(told(any.stored().$map()), told(x.stored().$map()), "{} {row:?}", stringify!($map));
            )*
            $(
                assert_eq!(told(any.$fold(0)), told(x.$fold(0)), "{} {row:?}", stringify!($fold));
                assert_eq!(told(any.stored().$fold(0)), told(x.stored().$fold(0)), "{} {row:?}", stringify!($fold));
            )*
            $(assert_eq!(told(any.powi($powers)), told(x.powi($powers)), "{row:?}");)*
            assert_eq!(told(any.clamp(row[0].to_number(), row[1 % row.len()].to_number())),
                told(x.clamp(row[0], row[1 % row.len()])), "{row:?}");
        }
    }};
}

#[test]
fn functions_and_reductions_in_wider_types_are_those_of_their_own() {
    values_agree!(i8, |bits| bits as i8; neg abs sign square not isnan;
        sum mean min max argmin argmax var std all; 2 3 -1);
    values_agree!(u16, |bits| bits as u16; abs sign square not; sum mean min max argmax var; 2);
    macro_rules! of_table {
        (tests [$($test:ident)*] numbers [$($number:ident)*] bits $bits:tt parts $parts:tt floats [$($float:ident)*]
         gradients $gradients:tt) => {
            values_agree!(f32, |bits| f32::from_bits(bits as u32); $($test)* $($number)* $($float)*;
                sum mean nansum nanmean min max nanmin nanmax argmin nanargmax var nanstd; 3 -2);
        };
    }
    lacuna::__function_names! { of_table }
    #[cfg(feature = "half")]
    values_agree!(half::f16, |bits| half::f16::from_bits(bits as u16); abs exp square floor; sum mean max std; 2);
}

/// Functions and reductions of complex numbers are those of their type.
macro_rules! complex_agree {
    ($part:ty, $bits:expr; $($map:ident)*; $($fold:ident)*) => {{
        let values: Vec<$part> = hostile($bits);
        let numbers: Vec<Complex<$part>> = values.iter().zip(values.iter().skip(3)).map(|(&re, &im)| Complex::new(re, im)).collect();
        for row in numbers.windows(2) {
            let x = CooTensor::new([3], vec![vec![0, 1]], row.to_vec(), row[1]).unwrap().with_index::<u64>().unwrap();
            let any = AnyTensor::from(x.clone());
            $(
                assert_eq!(told(any.$map()), told(x.$map()), "{} {row:?}", stringify!($map));
                assert_eq!(told(any.stored().$map()), told(x.stored().$map()), "{} {row:?}", stringify!($map));
            )*
            $(assert_eq!(told(any.$fold(0)), told(x.$fold(0)), "{} {row:?}", stringify!($fold));)*
            assert_eq!(told(any.powi(2)), told(x.powi(2)), "{row:?}");
        }
    }};
}

#[test]
fn functions_of_complex_numbers_are_those_of_their_type() {
    let plain = |value: f64| if value.is_nan() { f64::NAN } else { value };
    complex_agree!(f32, |bits| plain(f32::from_bits(bits as u32).into()) as f32;
        exp ln sqrt square recip sign abs neg conj angle; nansum nanmean nanprod);
    complex_agree!(f64, |bits| plain(f64::from_bits(bits << 32 | bits >> 7));
        exp ln sqrt square recip sign angle; nansum nanmean nanprod);
}

#[test]
fn each_element_is_close_as_in_the_typed_form() {
    fn checked<T: lacuna::Magnitude>(values: [T; 3], number: T)
    where
        CooTensor<T, u64>: Into<AnyTensor>,
    {
        let of = |values: Vec<T>, fill| {
            CooTensor::new([4], vec![vec![0, 2, 3]], values, fill).unwrap().with_index::<u64>().unwrap()
        };
        let (x, y) = (of(values.to_vec(), values[0]), of(values.iter().rev().copied().collect(), values[1]));
        let (any, other): (AnyTensor, AnyTensor) = (x.clone().into(), y.clone().into());
        for tolerance in [lacuna::Tolerance::within(0.5, 0.25), lacuna::Tolerance::within(0.0, 1.0).equal_nan()] {
            assert_same(any.is_close(&other, tolerance), x.is_close(&y, tolerance));
            assert_same(any.stored().is_close(other.stored(), tolerance), x.stored().is_close(y.stored(), tolerance));
            assert_same(any.is_close(number.to_number(), tolerance), x.is_close(number, tolerance));
        }
    }
    checked([1i8, 100, -100], 99);
    checked([u64::MAX, 7, 0], 6);
    checked([0.5f32, f32::NAN, f32::INFINITY], 0.7);
    checked([Complex::new(0.5, -2.0), Complex::new(f64::NAN, 1.0), Complex::ZERO], Complex::new(0.5, -2.1));
    let bools = AnyTensor::from(tensor::<bool>());
    let refused = bools.is_close(&bools, lacuna::Tolerance::default());
    assert!(matches!(refused, Err(Error::NoOperation { operation: "is_close", dtype: "bool", .. })), "{refused:?}");
}

/// Checks that moved elements keep their bits in both formats, and that the gradient adds in the type of the upstream
/// gradient.
fn check_moves<P: Pattern, T: Element>(x: &Tensor<P, T>)
where
    Tensor<P, T>: Into<AnyTensor>,
{
    let any: AnyTensor = x.clone().into();
    let slices = lacuna::ndarray::s![..;-2, 1..];
    let g = CooTensor::<i8>::full([2, 2], 60).unwrap().with_index::<u64>().unwrap();
    assert_same(any.slice(slices.as_ref()), x.slice(slices.as_ref()));
    assert_same(
        any.slice_backward(&AnyTensor::from(g.clone()), slices.as_ref()),
        grad::slice(x, &g, slices.as_ref()).and_then(|dx| AnyTensor::from(coo_of(&dx)).into_format(any.format())),
    );
    assert_same(any.flip(0), x.flip(0));
    assert_same(any.roll(2, -1), x.roll(2, -1));
    assert_same(any.pad(&[(1, 0), (2, 3)]), x.pad([(1, 0), (2, 3)]));
    assert_same(any.tile(&[2, 1, 2]), x.tile([2, 1, 2]));
    assert_same(any.repeat(3, 1), x.repeat(3, 1));
    assert_same(any.expand_dims([0, -1]), x.expand_dims([0, -1]));
    assert_same(any.transpose(), x.transpose());
    assert_same(any.permute_axes(&[1, 0]), x.transpose());
    assert_same(any.move_axis(0, 1), x.move_axis(0, 1));
    assert_same(any.diagonal(1), x.diagonal(1));
    assert_same(any.broadcast_to([2, 3, 3]), x.broadcast_to([2, 3, 3]));
    assert_same(AnyTensor::concat(1, &[&any, &any]), lacuna::concat(1, &[x, x]));
    assert_same(AnyTensor::stack(-1, &[&any, &any]), lacuna::stack(-1, &[x, x]));
    let reshaped = any.reshape([9]).unwrap();
    assert_eq!((reshaped.format(), reshaped.nnz()), (any.format(), any.nnz()));
    assert!(reshaped.reshape([3, 3]).unwrap().same_as(&any));
    assert!(any.tril(0).is_err(), "the fill is one");
    let (mask, flipped) = (any.transpose().unwrap(), any.flip(1).unwrap());
    assert_same(any.mask(&mask), x.stored().mask(x.transpose().unwrap().pattern()));
    assert_same(any.stored().without(&mask), x.stored().without(x.transpose().unwrap().pattern()));
    let condition = any.equal(&flipped).unwrap();
    let chosen = condition.where_(&any, &flipped).unwrap();
    assert!(chosen.equal(&flipped).unwrap().all(Axes::all()).unwrap().fill() == Number::Integer(1));
}

fn coo_of<P: Pattern, T: Element>(x: &Tensor<P, T>) -> CooTensor<T, u64> {
    let coords = (0..x.rank()).map(|axis| x.entries().iter().map(|(at, _)| at[axis] as u32).collect()).collect();
    CooTensor::new(x.shape().clone(), coords, x.values().to_vec(), x.fill()).unwrap().with_index().unwrap()
}

/// Numbers are no condition, also for the gradient.
#[test]
fn a_choice_wants_truth_values() {
    let x = AnyTensor::from(CooTensor::new([2], vec![vec![0]], vec![2.0], 0.0).unwrap().with_index::<u64>().unwrap());
    let refused = [x.where_(&x, &x).map(drop), x.where_backward(&x, &x, &x).map(drop)];
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(error, Error::NoOperation { .. }), "{error}");
        assert!(error.to_string().contains("the condition must be bool"), "{error}");
    }
}

#[test]
fn what_moves_elements_keeps_format_and_type() {
    check_moves(&tensor::<bool>());
    check_moves(&tensor::<i16>().to_csr().unwrap());
    check_moves(&tensor::<Complex<f64>>());
}

/// Gradients that read values, in the type of the upstream one.
#[test]
fn gradients_of_reductions_and_pairs_are_those_of_the_typed_forms() {
    let values = hostile(|bits| f32::from_bits((bits as u32 & 0x0fff_ffff) | 0x3000_0000));
    for row in values.chunks(4).filter(|row| row.len() == 4) {
        let x = CooTensor::new([2, 3], vec![vec![0, 0, 1, 1], vec![0, 2, 0, 1]], row.to_vec(), row[1]).unwrap();
        let x = x.with_index::<u64>().unwrap();
        let g = CooTensor::new([2], vec![vec![0, 1]], row[..2].to_vec(), 0.0).unwrap().with_index::<u64>().unwrap();
        let (any, upstream) = (AnyTensor::from(x.clone()), AnyTensor::from(g.clone()));
        assert_same(any.sum_backward(&upstream, 1), grad::sum(&x, &g, 1));
        assert_same(any.mean_backward(&upstream, 1), grad::mean(&x, &g, 1));
        assert_same(any.stored().mean_backward(&upstream, 1), grad::mean(&x.stored(), &g, 1));
        assert_same(any.max_backward(&upstream, 1), grad::max(&x, &g, 1));
        assert_same(any.nanmin_backward(&upstream, 1), grad::nanmin(&x, &g, 1));
        assert_same(any.var_backward(&upstream, 1), grad::var(&x, &g, 1));
        assert_same(any.exp_backward(&any), grad::exp(&x, &x));
        assert_same(any.powf_backward(&any, 1.5), grad::powf(&x, &x, 1.5));
        let (dx, dy) = grad::div(&x, &x.flip(1).unwrap(), &x).unwrap();
        let (any_dx, any_dy) = any.div_backward(&any.flip(1).unwrap(), &any).unwrap();
        assert_same(Ok(any_dx), Ok(dx));
        assert_same(Ok(any_dy), Ok(dy));
    }
}

/// Operands of different formats give coordinates; of different types, an error that names both.
#[test]
fn operands_that_differ_are_brought_together_or_refused() {
    let (coo, csr) = (AnyTensor::from(tensor::<f64>()), AnyTensor::from(tensor::<f64>().to_csr().unwrap()));
    for (x, y) in [(&coo, &csr), (&csr, &coo)] {
        assert_same(x.add(y), tensor::<f64>().add(&tensor::<f64>()));
        assert_same(AnyTensor::concat(0, &[x, y]), lacuna::concat(0, &[&tensor::<f64>(), &tensor::<f64>()]));
    }
    assert_eq!(csr.mul(&csr).unwrap().format(), csr.format());
    let refused = coo.add(&AnyTensor::from(tensor::<f32>()));
    assert!(matches!(refused, Err(Error::TypesDiffer { left: "float64", right: "float32", .. })), "{refused:?}");
    let refused = AnyTensor::from(tensor::<Complex<f32>>()).rem(&AnyTensor::from(tensor::<Complex<f32>>()));
    assert!(matches!(refused, Err(Error::NoOperation { operation: "rem", dtype: "complex64", .. })), "{refused:?}");
    let refused = AnyTensor::from(tensor::<u8>()).neg();
    assert!(matches!(refused, Err(Error::NoOperation { operation: "neg", dtype: "uint8", .. })), "{refused:?}");
    assert!(matches!(AnyTensor::from(tensor::<u8>()).add(Number::Integer(256)), Err(Error::Cast { .. })));
}

/// Sums of products in the type that each tensor has, and softmax, which is of `f64` in every type of floats.
#[test]
fn products_are_those_of_the_types() {
    fn checked<T: Element + lacuna::Ring>(values: [T; 3])
    where
        CooTensor<T, u64>: Into<AnyTensor>,
    {
        let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], values.to_vec(), T::ZERO).unwrap();
        let x = x.with_index::<u64>().unwrap();
        let any: AnyTensor = x.clone().into();
        for (found, expected) in [
            (AnyTensor::einsum("ij,jk->ik", &[&any, &any]), lacuna::einsum("ij,jk->ik", &[&x, &x])),
            (any.outer(&any), lacuna::outer(&x, &x)),
            (any.kron(&any), lacuna::kron(&x, &x)),
            (any.tensordot(&any, &[-1], &[0]), lacuna::tensordot(&x, &x, [-1], [0])),
        ] {
            match found {
                Ok(found) => assert_same(Ok(found), expected),
                Err(error) => assert_eq!(Err(error), expected.map(|_| ())),
            }
        }
        let matrix = x.to_dense().unwrap().into_dimensionality().unwrap();
        let vector = matrix.row(0).to_owned();
        let row = AnyTensor::from(CooTensor::from_dense(&vector, T::ZERO).unwrap().with_index::<u64>().unwrap());
        for (found, expected) in [
            (any.mttkrp(1, &[(&any).into()]), lacuna::mttkrp(&x, 1, &[&matrix])),
            (any.ttm(&any, -2), lacuna::ttm(&x, &matrix, -2)),
            (any.ttv(&row, 1), lacuna::ttv(&x, &vector, 1)),
        ] {
            let found = found.map(|z| z.view::<T>().unwrap().to_owned());
            assert_eq!(
                found.map(|z| z.iter().copied().collect::<Vec<_>>()),
                expected.map(|z| z.iter().copied().collect())
            );
        }
        let elements = |z: ndarray::ArrayD<T>| z.iter().copied().collect::<Vec<_>>();
        let found = any.sddmm(&any, &any).and_then(|z| z.into_coo::<T, u64>()?.to_dense()).map(elements);
        assert_eq!(found, x.stored().sddmm(&matrix, &matrix).and_then(|z| z.to_dense()).map(elements));
    }
    checked([0.1f32, 1e8, -0.3]);
    checked([0.1f64, 1e16, -0.3]);
    checked([3i8, -5, 7]);
    checked([100i8, 100, 100]);
    checked([u64::MAX, 1, 0]);
    checked([true, false, true]);
    checked([Complex::new(0.1f32, 2.0), Complex::new(1.0, -1.0), Complex::new(0.0, 0.5)]);
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![0.3f32, -2.0, 7.0], 0.0).unwrap();
    let x = x.with_index::<u64>().unwrap();
    let any = AnyTensor::from(x.clone());
    assert_same(any.stored().softmax(1), x.stored().softmax(1));
    assert_same(any.stored().log_softmax(0), x.stored().log_softmax(0));
    assert_same(any.sort(1), x.sort(1));
    assert_same(any.stored().sort(0), x.stored().sort(0));
    assert_same(any.stored().sort_backward(&any, 1), grad::sort(&x.stored(), &x, 1));
    assert_same(any.stored().nancumsum(1), x.stored().nancumsum(1));
    assert_same(any.stored().nancumprod(1), x.stored().nancumprod(1));
    assert_same(any.stored().cumsum_backward(&any, 1), grad::cumsum(&x.stored(), &x, 1));
    assert_same(any.stored().cumprod_backward(&any, 1), grad::cumprod(&x.stored(), &x, 1));
    assert_same(any.stored().nancumsum_backward(&any, 1), grad::nancumsum(&x.stored(), &x, 1));
    assert_same(any.stored().nancumprod_backward(&any, 1), grad::nancumprod(&x.stored(), &x, 1));
    assert_same(any.diff_backward(&any.diff(1, 1).unwrap(), 1, 1), grad::diff(&x, &x.diff(1, 1).unwrap(), 1, 1));
    assert_same(any.stored().softmax_backward(&any, 1), grad::softmax(&x.stored(), &x, 1));
    assert_same(any.stored().log_softmax_backward(&any, 1), grad::log_softmax(&x.stored(), &x, 1));
    assert!(any.softmax(1).unwrap_err().to_string().contains("x.stored().softmax"));
    let gradients = AnyTensor::einsum_backward(&any, "ij,jk->ik", &[&any, &any]).unwrap();
    let expected = lacuna::grad::einsum("ij,jk->ik", &[&x, &x], &x).unwrap();
    gradients.into_iter().zip(expected).for_each(|(found, expected)| assert_same(Ok(found), Ok(expected)));
    let (wide, pairs) = (any.outer(&any).unwrap(), lacuna::outer(&x, &x).unwrap());
    let found = any.outer_backward(&any, &wide).unwrap();
    let expected = lacuna::grad::outer(&x, &x, &pairs).unwrap();
    assert_same(Ok(found.0), Ok(expected.0));
    assert_same(Ok(found.1), Ok(expected.1));
    let (wide, pairs) = (any.kron(&any).unwrap(), lacuna::kron(&x, &x).unwrap());
    let expected = lacuna::grad::kron(&x, &x, &pairs).unwrap();
    assert_same(any.kron_backward(&any, &wide).map(|both| both.1), Ok(expected.1));
    let expected = lacuna::grad::tensordot(&x, &x, [1], [0], &x).unwrap();
    assert_same(any.tensordot_backward(&any, &any, &[1], &[0]).map(|both| both.0), Ok(expected.0));
    let other = AnyTensor::from(tensor::<f64>());
    assert!(matches!(any.outer(&other), Err(Error::TypesDiffer { .. })));
    assert!(matches!(AnyTensor::einsum("ij,jk->ik", &[&any, &other]), Err(Error::TypesDiffer { .. })));
    assert!(AnyTensor::einsum("", &[]).is_err());
    let vector = AnyTensor::from(CooTensor::new([2], vec![vec![0, 1]], vec![5i8, 0], 3).unwrap());
    for offset in [-2, 0, 1] {
        let expected = CooTensor::diag(vec![5i8, 0], offset).unwrap().with_index::<u64>();
        assert_same(vector.diag(offset), expected);
    }
    assert!(matches!(vector.into_format(Format::Csr).unwrap().diag(isize::MIN), Err(Error::TooLarge { .. })));
}

/// Checks for the same result, or for the same error.
#[track_caller]
fn assert_answers(found: Result<AnyTensor>, expected: Result<impl Into<AnyTensor>>) {
    match (found, expected) {
        (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
        (found, expected) => assert_same(found, expected),
    }
}

/// Semirings by their names, on masks, beside the functions of the same names.
#[test]
fn products_over_semirings_are_those_of_the_type() {
    macro_rules! agree {
        ($type:ty, $values:expr; $($name:ident)*) => {{
            let coords = vec![vec![0, 0, 1, 1, 2], vec![0, 1, 0, 2, 1]];
            let values: [$type; 5] = $values;
            let x = CooTensor::new([3, 3], coords, values.to_vec(), values[4]).unwrap().with_index::<u64>().unwrap();
            let coords = vec![vec![0, 1, 1], vec![2, 0, 2]];
            let y = CooTensor::new([3, 3], coords, values[1..4].to_vec(), values[0]).unwrap();
            let y = y.with_index::<u64>().unwrap();
            let (any_x, any_y) = (AnyTensor::from(x.clone()), AnyTensor::from(y.clone()));
            $(
                let (typed, named) = (Matmul::$name(), AnyMatmul::named(stringify!($name)).unwrap());
                assert_answers(any_x.matmul_with(&any_y, named), x.matmul_with(&y, typed));
                let on = typed.mask(y.pattern());
                assert_answers(any_x.matmul_with(&any_y, named.mask(&any_y)), x.matmul_with(&y, on));
                let off = typed.without(y.pattern());
                let csr = any_x.clone().into_format(Format::Csr).unwrap();
                let found = csr.matmul_with(&any_y.clone().into_format(Format::Csr).unwrap(), named.without(&any_y));
                assert!(found.as_ref().is_ok_and(|found| found.format() == Format::Csr) || found.is_err());
                let found = found.map(|found| found.into_format(Format::Coo).unwrap());
                assert_answers(found, x.matmul_with(&y, off));
            )*
        }};
    }
    agree!(i8, [100, -3, 7, 0, 99]; plus_times plus_first plus_second plus_pair min_plus max_plus min_times max_times
        min_max max_min min_first min_second max_first max_second or_and any_first any_second any_pair);
    agree!(u64, [u64::MAX, 3, 7, 0, 1 << 63]; plus_times plus_first min_plus max_plus min_times max_times min_max
        or_and);
    agree!(bool, [true, false, true, true, false]; plus_times plus_pair min_plus max_min or_and any_first);
    agree!(f32, [0.1, -0.0, f32::MAX, 3e38, -7.5]; plus_times plus_first plus_second min_plus max_plus min_times
        max_times min_max max_min min_first max_second or_and any_second);
    agree!(f64, [f64::INFINITY, f64::NAN, -0.0, 1e308, f64::NEG_INFINITY]; plus_first min_plus max_plus min_times
        max_min or_and any_first any_pair);
    agree!(Complex<f32>, [1.0, 2.0, 0.5, 0.0, -1.0].map(|part| Complex::new(part, 1.0 - part)); plus_times plus_second
        or_and any_first any_pair);
    let complex = AnyTensor::from(CooTensor::<Complex<f64>>::eye(2).unwrap().with_index::<u64>().unwrap());
    let refused = complex.matmul_with(&complex, AnyMatmul::named("min_plus").unwrap()).unwrap_err();
    assert!(matches!(refused, Error::NoOrder { .. }), "{refused}");
    let unknown = AnyMatmul::named("min_pluss").unwrap_err().to_string();
    assert!(unknown.contains("no semiring \"min_pluss\"; the semirings are plus_times, plus_first"), "{unknown}");
    assert_eq!(AnyMatmul::names().len(), 18);
    assert_eq!(complex.matmul_with(&complex, &complex).unwrap(), complex);
}
