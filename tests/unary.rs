//! The operations of one element, and their gradients, against the reference.

use crate::generators::{Drawn, DrawnGrad, huge, seeds, shapes, sparse, upstream_seeds};
use crate::reference::complex;
use crate::reference::dense::{Dense, Sparse};
use crate::reference::scalar::Scalar;
use crate::reference::unary::{self, FloatScalar};
use crate::support::*;
use lacuna::{CooTensor, CsrTensor, Error, Float, Numeric, Operand, Result, grad};
use ndarray::{ArrayD, ArrayViewD, arr1, arr2};
use num_complex::Complex;

/// One operation on each kind of operand: by the function, by the method of tensors, and of their stored views.
struct Unary<T, U> {
    name: &'static str,
    coo: fn(&CooTensor<T>) -> Result<CooTensor<U>>,
    csr: fn(&CsrTensor<T>) -> Result<CsrTensor<U>>,
    stored: fn(&CooTensor<T>) -> Result<CooTensor<U>>,
    array: fn(&ArrayViewD<'_, T>) -> Result<ArrayD<U>>,
}

macro_rules! unary {
    ($($name:ident)*) => {
        unary!($($name())*)
    };
    ($($name:ident($($arg:expr),*))*) => {
        vec![$(Unary {
            name: stringify!($name),
            coo: |x| lacuna::$name(x $(, $arg)*),
            csr: |x| x.$name($($arg),*),
            stored: |x| x.stored().$name($($arg),*),
            array: |x| lacuna::$name(x $(, $arg)*),
        }),*]
    };
}

/// Demands that `op` gives `f` of every element, on every operand, and shares the pattern.
fn assert_is_map<T: Both, U: Both>(op: &Unary<T, U>, x: &Sparse<T>, f: impl Fn(T) -> U) {
    let entries = x.entries.iter().map(|(at, &value)| (at.clone(), f(value))).collect();
    let expected = Sparse::new(&x.shape, entries, f(x.fill).as_implicit());
    let (tensor, compressed) = (coo(x), csr(x));
    let found = (op.coo)(&tensor).unwrap();
    assert!(found.shares_pattern_with(&tensor));
    assert_entries(&found, &expected);
    let found = (op.csr)(&compressed).unwrap();
    assert!(found.shares_pattern_with(&compressed));
    assert_entries(&found, &expected);
    let kept: &dyn std::any::Any = &x.fill;
    let kept = kept.downcast_ref().copied().unwrap_or(U::ZERO);
    assert_entries(&(op.stored)(&tensor).unwrap(), &Sparse { fill: kept, ..expected });
    let dense = x.to_dense();
    let expected = dense.map(f);
    for_each_layout(&dense, |_, view| assert_array(&(op.array)(&view).unwrap(), &expected));
}

/// The operations of floats without arguments.
fn of_floats<T: Float + lacuna::Signed + lacuna::Magnitude<Magnitude = T>>() -> Vec<Unary<T, T>> {
    macro_rules! of_table {
        (tests $tests:tt numbers [$($number:ident)*] bits $bits:tt parts $parts:tt floats [$($float:ident)*]
         gradients $gradients:tt) => {
            unary! { $($number)* $($float)* }
        };
    }
    lacuna::__function_names! { of_table }
}

fn floats_equal_the_dense_result<T>()
where
    T: Both + Drawn + FloatScalar + Float + lacuna::Signed + lacuna::Magnitude<Magnitude = T>,
{
    let ops = of_floats::<T>();
    check((sparse::<T>(), some_of(&[0, 1, 2])), |(x, parts)| {
        for op in parts.iter().flat_map(|&part| ops.iter().skip(part).step_by(3)) {
            assert_is_map(op, &x, |value| T::nearest(unary::function(op.name, value.exact())));
        }
    });
}

#[test]
fn float64() {
    floats_equal_the_dense_result::<f64>();
}

more! {
    #[test]
    fn float32() {
        floats_equal_the_dense_result::<f32>();
    }
}

#[cfg(feature = "half")]
#[test]
fn float16_and_bfloat16() {
    floats_equal_the_dense_result::<half::f16>();
    if ALL {
        floats_equal_the_dense_result::<half::bf16>();
    }
}

/// Operations with arguments.
#[test]
fn powers_and_bounds_of_floats() {
    check(sparse::<f64>(), |x| {
        let powi = |op: Vec<Unary<f64, f64>>, n: i32| {
            assert_is_map(&op[0], &x, |value| unary::power(value, n.into()));
        };
        powi(unary!(powi(0)), 0);
        powi(unary!(powi(2)), 2);
        powi(unary!(powi(3)), 3);
        powi(unary!(powi(-1)), -1);
        let powf: Vec<Unary<f64, f64>> = unary!(powf(2.5) powf(-0.5) powf(0.0) powf(f64::NAN));
        for (op, exponent) in powf.iter().zip([2.5, -0.5, 0.0, f64::NAN]) {
            assert_is_map(op, &x, |value| unary::power(value, exponent));
        }
        let clamp: Vec<Unary<f64, f64>> = unary!(clamp(-1.0, 2.0) clamp(0.0, f64::INFINITY) clamp(-0.0, 0.0));
        for (op, (low, high)) in clamp.iter().zip([(-1.0, 2.0), (0.0, f64::INFINITY), (-0.0, 0.0)]) {
            assert_is_map(op, &x, |value| unary::bounded(value, low, high));
        }
    });
}

/// The result of an operation that may overflow: of a sparse operand the fill counts where a position holds it.
fn checked<T: Both, U: Both>(op: &Unary<T, U>, x: &Sparse<T>, f: impl Fn(T) -> Option<U>) {
    let dense = x.to_dense();
    let refused = |coords| Error::Overflow { operation: op.name, coords, dtype: U::DTYPE.name() };
    let stored = x.entries.iter().find(|&(_, &value)| f(value).is_none()).map(|(at, _)| refused(Some(at.clone())));
    let has_gaps = dense.data.len() > x.entries.len();
    let of_fill = (has_gaps && f(x.fill).is_none()).then(|| refused(None));
    match stored.or(of_fill) {
        Some(error) => {
            assert_eq!((op.coo)(&coo(x)).unwrap_err(), error);
            assert_eq!((op.csr)(&csr(x)).unwrap_err(), error);
        }
        None => {
            let whole = Sparse { fill: if has_gaps { x.fill } else { T::ZERO }, ..x.clone() };
            assert_is_map(op, &whole, |value| f(value).unwrap());
            // If no position holds the fill, a fill without a result is not an error.
            assert!((op.coo)(&coo(x)).is_ok() && (op.csr)(&csr(x)).is_ok());
        }
    }
    let first = dense.data.iter().position(|&value| f(value).is_none()).map(|at| dense.coords()[at].clone());
    for_each_layout(&dense, |_, view| {
        assert_eq!((op.array)(&view).err(), first.clone().map(|coords| refused(Some(coords))));
    });
}

/// Integers: the result without a bound, if the type holds it.
fn integers_are_exact_or_an_error<T>(of_both_signs: Vec<Unary<T, T>>)
where
    T: Both + Drawn + Numeric + lacuna::Real + lacuna::Magnitude<Magnitude = T> + TryFrom<i128> + Into<i128>,
{
    let ops: Vec<Unary<T, T>> = unary! { abs sign square };
    let powers: Vec<Unary<T, T>> = unary! { powi(0) powi(1) powi(2) powi(5) };
    check(sparse::<T>(), |x| {
        for op in ops.iter().chain(&of_both_signs) {
            checked(op, &x, |value| unary::of_integer(op.name, value.into())?.try_into().ok());
        }
        for (op, exponent) in powers.iter().zip([0, 1, 2, 5]) {
            checked(op, &x, |value| value.into().checked_pow(exponent)?.try_into().ok());
        }
        let (low, high) = (T::ZERO, T::ONE);
        let clamp = Unary::<T, T> {
            name: "clamp",
            coo: |x| x.clamp(T::ZERO, T::ONE),
            csr: |x| x.clamp(T::ZERO, T::ONE),
            stored: |x| x.stored().clamp(T::ZERO, T::ONE),
            array: |x| lacuna::clamp(x, T::ZERO, T::ONE),
        };
        assert_is_map(&clamp, &x, |value| {
            if value < low {
                low
            } else if value > high {
                high
            } else {
                value
            }
        });
    });
}

#[test]
fn signed_integers() {
    integers_are_exact_or_an_error::<i8>(unary! { neg });
    integers_are_exact_or_an_error::<i64>(unary! { neg });
}

#[test]
fn unsigned_integers() {
    integers_are_exact_or_an_error::<u64>(vec![]);
}

#[test]
fn bits_are_turned_around() {
    let of_bool: Vec<Unary<bool, bool>> = unary! { not };
    let of_bytes: Vec<Unary<u8, u8>> = unary! { not };
    let of_signed: Vec<Unary<i64, i64>> = unary! { not };
    check(sparse::<bool>(), |x| assert_is_map(&of_bool[0], &x, |value| !value));
    check(sparse::<u8>(), |x| assert_is_map(&of_bytes[0], &x, |value| !value));
    check(sparse::<i64>(), |x| assert_is_map(&of_signed[0], &x, |value| !value));
}

#[test]
fn parts_and_magnitudes_of_complex_numbers() {
    let own: Vec<Unary<Complex<f64>, Complex<f64>>> = unary! { neg conj };
    let real: Vec<Unary<Complex<f64>, f64>> = unary! { abs real imag angle };
    let single: Vec<Unary<Complex<f32>, f32>> = unary! { abs real imag angle };
    check(sparse::<Complex<f64>>(), |x| {
        assert_is_map(&own[0], &x, |value| (-value).canonical());
        assert_is_map(&own[1], &x, |value| value.conj().canonical());
        assert_is_map(&real[0], &x, unary::magnitude);
        assert_is_map(&real[1], &x, |value| value.re.canonical());
        assert_is_map(&real[2], &x, |value| value.im.canonical());
        assert_is_map(&real[3], &x, |value| libm::atan2(value.im, value.re).canonical());
    });
    check(sparse::<Complex<f32>>(), |x| {
        assert_is_map(&single[0], &x, unary::magnitude);
        assert_is_map(&single[1], &x, |value| value.re.canonical());
        assert_is_map(&single[2], &x, |value| value.im.canonical());
        assert_is_map(&single[3], &x, |value| f32::nearest(libm::atan2(value.im.into(), value.re.into())));
    });
}

/// The functions of complex numbers.
fn of_complex<T: lacuna::Inexact>() -> Vec<Unary<T, T>> {
    unary! { exp ln sqrt square recip sign }
}

fn functions_of_complex_numbers<F: FloatScalar + Float>()
where
    Complex<F>: Both + Drawn + lacuna::Inexact,
{
    let (ops, powers) = (of_complex::<Complex<F>>(), unary!(powi(0) powi(1) powi(2) powi(-3)));
    let wide = |value: Complex<F>| Complex::new(value.re.exact(), value.im.exact());
    let narrow = |value: Complex<f64>| Complex::new(F::nearest(value.re), F::nearest(value.im));
    check((sparse::<Complex<F>>(), some_of(&[0, 1])), |(x, parts)| {
        for op in parts.iter().flat_map(|&part| ops.iter().skip(part).step_by(2)) {
            assert_is_map(op, &x, |value| narrow(complex::function(op.name, wide(value))));
        }
        for (op, exponent) in powers.iter().zip([0.0, 1.0, 2.0, -3.0]) {
            assert_is_map(op, &x, |value| narrow(complex::pow(wide(value), Complex::new(exponent, 0.0))));
        }
    });
}

#[test]
fn functions_of_complex128() {
    functions_of_complex_numbers::<f64>();
}

more! {
    #[test]
    fn functions_of_complex64() {
        functions_of_complex_numbers::<f32>();
    }
}

/// The values of Annex G of C99, and of numpy for the functions that C does not have.
#[test]
fn complex_numbers_with_special_parts() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let ops = of_complex::<Complex<f64>>();
    let assert_value = |name: &str, x: (f64, f64), expected: (f64, f64)| {
        let op = ops.iter().find(|op| op.name == name).unwrap();
        let found = (op.array)(&arr1(&[Complex::new(x.0, x.1)]).into_dyn().view()).unwrap()[0];
        let expected = Complex::new(expected.0, expected.1);
        assert!(found.bits_equal(expected), "{name} of {x:?}: {found:?} is not {expected:?}");
    };
    for sign in [1.0, -1.0] {
        let (zero, inf, one) = (0f64.copysign(sign), INF.copysign(sign), sign);
        for (x, expected) in [
            ((0.0, zero), (1.0, zero)),
            ((-0.0, zero), (1.0, zero)),
            ((1.0, inf), (NAN, NAN)),
            ((1.0, NAN), (NAN, NAN)),
            ((INF, zero), (INF, zero)),
            ((-INF, one), (0.0, zero)),
            ((-INF, 3.0 * sign), (-0.0, zero)),
            ((INF, one), (INF, inf)),
            ((INF, 3.0 * sign), (-INF, inf)),
            ((-INF, inf), (0.0, zero)),
            ((INF, inf), (INF, NAN)),
            ((-INF, NAN), (0.0, 0.0)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, zero), (NAN, zero)),
            ((NAN, one), (NAN, NAN)),
            ((NAN, NAN), (NAN, NAN)),
        ] {
            assert_value("exp", x, expected);
        }
        let pi = std::f64::consts::PI * sign;
        for (x, expected) in [
            ((-0.0, zero), (-INF, pi)),
            ((0.0, zero), (-INF, zero)),
            ((1.0, inf), (INF, pi / 2.0)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, one), (INF, pi)),
            ((INF, one), (INF, zero)),
            ((-INF, inf), (INF, 0.75 * pi)),
            ((INF, inf), (INF, pi / 4.0)),
            ((INF, NAN), (INF, NAN)),
            ((-INF, NAN), (INF, NAN)),
            ((NAN, one), (NAN, NAN)),
            ((NAN, inf), (INF, NAN)),
        ] {
            assert_value("ln", x, expected);
        }
        for (x, expected) in [
            ((0.0, zero), (0.0, zero)),
            ((-0.0, zero), (0.0, zero)),
            ((-4.0, zero), (0.0, 2.0 * sign)),
            ((1.0, inf), (INF, inf)),
            ((NAN, inf), (INF, inf)),
            ((1.0, NAN), (NAN, NAN)),
            ((-INF, one), (0.0, inf)),
            ((INF, one), (INF, zero)),
            ((-INF, NAN), (NAN, INF)),
            ((INF, NAN), (INF, NAN)),
            ((NAN, one), (NAN, NAN)),
        ] {
            assert_value("sqrt", x, expected);
        }
        for (x, expected) in [
            ((0.0, zero), (0.0, 0.0)),
            ((inf, 1.0), (one, 0.0)),
            ((1.0, inf), (0.0, one)),
            ((inf, INF), (NAN, NAN)),
            ((NAN, inf), (0.0, one)),
            ((NAN, one), (NAN, NAN)),
        ] {
            assert_value("sign", x, expected);
        }
        assert_value("recip", (zero, 0.0), (NAN, NAN));
        assert_value("recip", (inf, 0.0), (zero, -0.0));
        assert_value("recip", (1.0, inf), (0.0, -zero));
        assert_value("recip", (NAN, 1.0), (NAN, NAN));
        assert_value("square", (inf, 1.0), (INF, inf));
        assert_value("square", (1e200, 1e200 * sign), (0.0, inf));
        assert_value("square", (-1.0, sign), (0.0, -2.0 * sign));
    }
}

/// Powers with a base or an exponent of 0, and with infinite parts.
#[test]
fn powers_of_complex_numbers_with_special_parts() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (x, y, expected) in [
        ((nan, 1.0), (0.0, -0.0), (1.0, 0.0)),
        ((0.0, -0.0), (0.5, 7.0), (0.0, 0.0)),
        ((0.0, 0.0), (-1.0, 0.0), (nan, nan)),
        ((0.0, 0.0), (0.0, 1.0), (nan, nan)),
        ((2.0, -3.0), (1.0, 0.0), (2.0, -3.0)),
        ((0.0, 1.0), (98.0, 0.0), (-1.0, 0.0)),
        ((1e200, 0.0), (2.0, 0.0), (inf, 0.0)),
        ((1.5e308, 1.5e308), (2.0, 0.0), (0.0, inf)),
        ((inf, 0.0), (2.0, 0.0), (inf, 0.0)),
        ((inf, 0.0), (-2.0, 0.0), (0.0, 0.0)),
        ((1.0, 0.0), (inf, 0.0), (nan, nan)),
        ((nan, 0.0), (2.0, 0.0), (nan, nan)),
    ] {
        let [x, y, expected] = [x, y, expected].map(|(re, im)| Complex::new(re, im));
        let found = lacuna::pow(&arr1(&[x]), y).unwrap()[0];
        assert!(found.bits_equal(expected), "{x} to the power of {y}: {found:?} is not {expected:?}");
    }
    // The power does not overflow, although the fourth power of a part does.
    let found = lacuna::powi(&arr1(&[Complex::new(1e90, 1e90)]), -4).unwrap()[0];
    assert_eq!(found, Complex::new(0.0, 0.0));
}

/// The values of a table that was made with 1500 bits.
#[test]
fn functions_of_complex_numbers_are_as_near_as_their_pages_say() {
    let ops = of_complex::<Complex<f64>>();
    let table = include_str!("data/complex_functions.txt").lines().filter(|line| !line.starts_with('#'));
    for line in table.clone() {
        let words: Vec<&str> = line.split(' ').collect();
        let numbers: Vec<f64> =
            words[1..].iter().map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap())).collect();
        let x = arr1(&[Complex::new(numbers[0], numbers[1])]).into_dyn();
        if words[0] == "pow" {
            let (y, expected) = (Complex::new(numbers[2], numbers[3]), Complex::new(numbers[4], numbers[5]));
            let is_integer = y.im == 0.0 && y.re == y.re.trunc() && y.re.abs() < 100.0;
            let most = if is_integer { 1.0 + y.re.abs() } else { 3.0 * (1.0 + (y * x[0].ln()).norm()) };
            let found = lacuna::pow(&x, y).unwrap()[0];
            let error = (found - expected).norm() / expected.norm() / (f64::EPSILON / 2.0);
            assert!(error <= most, "{line}: {found} is not {expected}: {error}");
            continue;
        }
        let found = (ops.iter().find(|op| op.name == words[0]).unwrap().array)(&x.view()).unwrap()[0];
        let most = if ["exp", "ln"].contains(&words[0]) { 3 } else { 2 };
        for (found, expected) in [(found.re, numbers[2]), (found.im, numbers[3])] {
            // A real part of a square that underflows is +0.0.
            let is_near = (found == 0.0 && expected == 0.0) || units(found, expected) <= most;
            assert!(is_near, "{line}: {found:?} is not {expected:?}");
        }
    }
    assert!(table.count() > 200);
}

/// Shapes of more positions than memory holds.
#[test]
fn shapes_without_a_dense_form_are_mapped_by_what_they_store() {
    check(huge::<i64>(), |x| {
        let entries = x.entries.iter().map(|(at, &value)| (at.clone(), !value)).collect();
        assert_entries(&coo_as::<_, usize>(&x).not().unwrap(), &Sparse::new(&x.shape, entries, !x.fill));
    });
}

// ---- gradients ----

/// A gradient on each kind of operand, for an upstream gradient of each kind.
struct Backward<T, G> {
    name: &'static str,
    coo_by_csr: fn(&CooTensor<T>, &CsrTensor<G>) -> Result<CooTensor<G>>,
    csr_by_coo: fn(&CsrTensor<T>, &CooTensor<G>) -> Result<CsrTensor<G>>,
    coo_by_array: fn(&CooTensor<T>, &ArrayViewD<'_, G>) -> Result<CooTensor<G>>,
    array_by_coo: fn(&ArrayViewD<'_, T>, &CooTensor<G>) -> Result<ArrayD<G>>,
    array_by_array: fn(&ArrayViewD<'_, T>, &ArrayViewD<'_, G>) -> Result<ArrayD<G>>,
}

macro_rules! backward {
    ($($name:ident($($arg:expr),*))*) => {
        vec![$(Backward {
            name: stringify!($name),
            coo_by_csr: |x, dy| grad::$name(x, dy $(, $arg)*),
            csr_by_coo: |x, dy| grad::$name(x, dy $(, $arg)*),
            coo_by_array: |x, dy| grad::$name(&x.stored(), dy $(, $arg)*),
            array_by_coo: |x, dy| grad::$name(x, dy $(, $arg)*),
            array_by_array: |x, dy| grad::$name(x, dy $(, $arg)*),
        }),*]
    };
}

fn gradients<T: Float, G: Float>() -> Vec<Backward<T, G>> {
    macro_rules! of_table {
        (tests $tests:tt numbers $numbers:tt bits $bits:tt parts $parts:tt floats $floats:tt
         gradients [$($name:ident $backward:ident)*]) => {
            backward! { $($name())* }
        };
    }
    lacuna::__function_names! { of_table }
}

/// Demands that every element receives its gradient times the slope there, on every pair of operands.
fn assert_is_gradient<T, G>(op: &Backward<T, G>, x: &Sparse<T>, upstream: &Sparse<G>, slope: impl Fn(f64) -> f64)
where
    T: Both + FloatScalar,
    G: Both + FloatScalar,
{
    let (dense, gradients) = (x.to_dense(), upstream.to_dense());
    let pairs = dense.data.iter().zip(&gradients.data);
    let received = pairs.map(|(value, &gradient)| unary::received(gradient, slope(value.exact())));
    let expected = Dense::new(&x.shape, received.collect());
    let on_pattern = x.pattern_of(&expected);
    let found = (op.coo_by_csr)(&coo(x), &csr(upstream)).unwrap();
    assert_entries(&found, &on_pattern);
    assert_entries(&(op.csr_by_coo)(&csr(x), &coo(upstream)).unwrap(), &on_pattern);
    for_each_layout(&gradients, |_, dy| {
        assert_entries(&(op.coo_by_array)(&coo(x), &dy).unwrap(), &on_pattern);
        assert_array(&(op.array_by_array)(&array(&dense).view(), &dy).unwrap(), &expected);
    });
    for_each_layout(&dense, |_, view| assert_array(&(op.array_by_coo)(&view, &coo(upstream)).unwrap(), &expected));
}

fn gradients_equal_the_dense_ones<T, G>()
where
    T: Both + Drawn + FloatScalar + Float,
    G: Both + DrawnGrad + FloatScalar + Float,
{
    let ops = gradients::<T, G>();
    let built = |(shape, x, dy): (Vec<usize>, crate::generators::SparseSeed<T>, crate::generators::SparseSeed<G>)| {
        (x.build(&shape), dy.build(&shape))
    };
    use proptest::strategy::Strategy;
    check(
        ((shapes(), seeds::<T>(), upstream_seeds::<G>()).prop_map(built), some_of(&[0, 1, 2])),
        |((x, dy), parts)| {
            for op in parts.iter().flat_map(|&part| ops.iter().skip(part).step_by(3)) {
                assert_is_gradient(op, &x, &dy, |value| unary::slope(op.name, value));
            }
        },
    );
}

#[test]
fn gradients_of_float64() {
    gradients_equal_the_dense_ones::<f64, f64>();
}

#[test]
fn gradients_of_float32_in_float64() {
    gradients_equal_the_dense_ones::<f32, f64>();
}

#[cfg(feature = "half")]
#[test]
fn gradients_of_float64_in_float16() {
    gradients_equal_the_dense_ones::<f64, half::f16>();
}

#[test]
fn gradients_of_powers_and_bounds() {
    use proptest::strategy::Strategy;
    let built =
        |(shape, x, dy): (Vec<usize>, crate::generators::SparseSeed<f64>, crate::generators::SparseSeed<f64>)| {
            (x.build(&shape), dy.build(&shape))
        };
    let powers: Vec<Backward<f64, f64>> = backward! { powf(2.5) powf(0.0) powf(1.0) };
    let of_integers: Vec<Backward<f64, f64>> = backward! { powi(3) powi(0) powi(-2) };
    let bounds: Vec<Backward<f64, f64>> = backward! { clamp(-1.0, 2.0) };
    check((shapes(), seeds::<f64>(), upstream_seeds::<f64>()).prop_map(built), |(x, dy)| {
        for (op, exponent) in powers.iter().chain(&of_integers).zip([2.5, 0.0, 1.0, 3.0, 0.0, -2.0]) {
            assert_is_gradient(op, &x, &dy, |value| unary::slope_of_power(value, exponent));
        }
        assert_is_gradient(&bounds[0], &x, &dy, |value| unary::slope_of_bounded(value, -1.0, 2.0));
    });
}

/// By central differences, at points of every domain.
#[test]
fn gradients_are_the_slopes_of_their_functions() {
    let functions = of_floats::<f64>();
    let one = |at: f64| CooTensor::new([2], vec![vec![0]], vec![at], 0.0).unwrap();
    for backward in gradients::<f64, f64>() {
        let function = functions.iter().find(|function| function.name == backward.name).unwrap();
        let f = |at: f64| (function.coo)(&one(at)).unwrap().values()[0];
        for at in [-0.9, -0.3, 0.2, 0.6, 0.95, 1.4] {
            let difference = (f(at + 1e-6) - f(at - 1e-6)) / 2e-6;
            let slope = (backward.coo_by_array)(&one(at), &arr1(&[1.0, 0.0]).into_dyn().view()).unwrap().values()[0];
            let is_outside = difference.is_nan();
            assert!(is_outside || (slope - difference).abs() < 1e-6 * (1.0 + slope.abs()), "{} at {at}", backward.name);
        }
    }
}

#[test]
fn an_upstream_gradient_of_another_shape_is_refused() {
    let x = CooTensor::full([2, 3], 1.0).unwrap();
    let error = grad::exp(&x, &arr1(&[1.0; 3])).unwrap_err();
    let expected = Error::ShapeMismatch { what: "the upstream gradient", expected: [2, 3].into(), found: [3].into() };
    assert_eq!(error, expected);
    assert_eq!(grad::exp(&arr2(&[[1.0; 3]; 2]), &arr1(&[1.0; 3])).unwrap_err(), expected);
}

// ---- the true values ----

/// Returns the distance of two numbers, in units in the last place.
fn units(found: f64, expected: f64) -> u64 {
    assert_eq!(found.is_sign_negative(), expected.is_sign_negative());
    found.to_bits().abs_diff(expected.to_bits())
}

/// The values of a table that was made with 1500 bits.
#[test]
fn functions_are_as_near_as_their_pages_say() {
    let table = include_str!("data/functions.txt").lines().filter(|line| !line.starts_with('#'));
    let ops = of_floats::<f64>();
    let mut count = 0;
    for line in table {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| f64::from_bits(u64::from_str_radix(words[at], 16).unwrap());
        let (x, expected) = (arr1(&[number(1)]).into_dyn(), number(words.len() - 1));
        let found = match words[0] {
            "powf" => lacuna::powf(&x, number(2)).unwrap()[0],
            name => (ops.iter().find(|op| op.name == name).unwrap().array)(&x.view()).unwrap()[0],
        };
        let most = match words[0] {
            "cbrt" => 0,
            "asinh" | "acosh" | "atanh" | "sinh" | "cosh" | "tanh" => 2,
            _ => 1,
        };
        assert!(units(found, expected) <= most, "{line}: {found:?} is not {expected:?}");
        count += 1;
    }
    assert!(count > 200);
}

/// Numbers below the least that is not zero, and in the middle of two: `f32` and 16 bits are rounded once.
#[test]
fn narrow_types_are_rounded_once() {
    assert_eq!(lacuna::exp(&arr1(&[-103.9f32])).unwrap()[0].to_bits(), 1);
    assert_eq!(lacuna::sqrt(&arr1(&[2.0f32])).unwrap()[0], 2f32.sqrt());
    assert_eq!(lacuna::recip(&arr1(&[3.0f32])).unwrap()[0], 1.0 / 3.0);
    #[cfg(feature = "half")]
    {
        use half::f16;
        let every: ndarray::Array1<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let found = lacuna::exp_m1(&every).unwrap();
        for (x, y) in every.iter().zip(&found) {
            assert!(y.bits_equal(f16::nearest(unary::function("exp_m1", f64::from(*x)))), "{x:?}");
        }
    }
}

// ---- the edges, by name ----

#[test]
fn bounds_that_are_none_are_refused() {
    let x = CooTensor::new([2], vec![vec![0]], vec![1.0], 0.0).unwrap();
    for (low, high) in [(1.0, 0.5), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        for error in [x.clamp(low, high).unwrap_err(), grad::clamp(&x, &x, low, high).unwrap_err()] {
            let why = format!("the lower bound {low:?} is above the upper bound {high:?}");
            assert_eq!(error, Error::Argument { operation: "clamp", why });
        }
    }
    assert_eq!(x.clamp(0.5, 0.5).unwrap().to_dense().unwrap(), arr1(&[0.5, 0.5]).into_dyn());
    assert!(CooTensor::full([2], true).unwrap().clamp(false, false).unwrap().get(&[0]) == Ok(false));
}

#[test]
fn integers_have_no_powers_below_zero() {
    let error = CooTensor::full([0], 1).unwrap().powi(-3).unwrap_err();
    assert_eq!(error.to_string(), "powi: integers do not support the exponent -3; cast to a float type first");
    assert_eq!(lacuna::powi(&arr1(&[2.0f32]), -3).unwrap()[0], 0.125);
}

/// The entry counts before the fill, and a fill that no position holds not at all.
#[test]
fn what_overflows_is_named() {
    let of = |values: Vec<i8>, fill| {
        CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 0]], values, fill).unwrap().abs().unwrap_err().to_string()
    };
    assert_eq!(
        of(vec![1, i8::MIN], 0),
        "abs at [2, 0] does not fit int8; cast the operand first, for example to float64"
    );
    assert_eq!(
        of(vec![1, i8::MIN], i8::MIN),
        "abs at [2, 0] does not fit int8; cast the operand first, for example to float64"
    );
    assert_eq!(
        of(vec![1, 2], i8::MIN),
        "abs at the fill does not fit int8; cast the operand first, for example to float64"
    );
    let whole = CooTensor::new([2], vec![vec![0, 1]], vec![-1, -2], i8::MIN).unwrap();
    assert_eq!((whole.abs().unwrap().values(), whole.abs().unwrap().fill()), (&[1, 2][..], 0));
    assert_eq!(CooTensor::full([0, 3], i8::MIN).unwrap().neg().unwrap().nnz(), 0);
    let columns = arr2(&[[1i8, i8::MIN, 2], [i8::MIN, 3, 4]]);
    let refused = lacuna::neg(&columns.t()).unwrap_err().to_string();
    assert_eq!(
        refused, "neg at [0, 1] does not fit int8; cast the operand first, for example to float64",
        "the first in the order of rows, not of the memory"
    );
}

#[test]
fn results_out_of_proportion_are_refused() {
    let one = ndarray::arr0(0.5);
    let vast = one.broadcast(1 << 40).unwrap();
    for refused in [lacuna::exp(&vast).unwrap_err(), grad::exp(&vast, &vast).unwrap_err()] {
        assert!(matches!(refused, Error::TooLarge { bytes: 0x800_0000_0000, .. }), "{refused}");
    }
}

#[test]
fn round_goes_to_the_even_one_and_zeros_keep_their_sign() {
    let x = arr1(&[0.5, 1.5, 2.5, -0.5, -1.5, -0.0, 4503599627370497.5, f64::INFINITY]);
    let found = lacuna::round(&x).unwrap();
    let expected = [0.0, 2.0, 2.0, -0.0, -2.0, -0.0, 4503599627370498.0, f64::INFINITY];
    assert!(found.iter().zip(expected).all(|(found, expected)| found.bits_equal(expected)), "{found}");
    let signs = lacuna::sign(&arr1(&[-0.0, 0.0, -f64::NAN, -f64::INFINITY])).unwrap();
    assert!(signs.iter().zip([-0.0, 0.0, f64::NAN, -1.0]).all(|(found, expected)| found.bits_equal(expected)));
}

/// Found by the target `map`: with optimisation the NaN of a square root kept its payload, as LLVM takes any NaN for as
/// good as the canonical one.
#[test]
fn a_nan_of_a_square_root_is_the_canonical_one() {
    let payloads = [0xfff8_0000_0000_0000, 0x7ff8_0000_dead_beef, 0x7ff0_0000_0000_0001, 0xbff0_0000_0000_0000];
    let x = arr1(&payloads.map(f64::from_bits));
    assert!(lacuna::sqrt(&x).unwrap().iter().all(|root| root.to_bits() == f64::NAN.to_bits()));
    let narrow = x.mapv(|value| value as f32);
    assert!(lacuna::sqrt(&narrow).unwrap().iter().all(|root| root.to_bits() == f32::NAN.to_bits()));
}

/// An implicit zero has no sign, and an implicit NaN is the canonical one; so results concatenate and export.
#[test]
fn a_computed_fill_has_no_sign() {
    let fill = |x: f64| CooTensor::full([2], x).unwrap();
    assert!(fill(0.0).neg().unwrap().fill().is_sign_positive());
    assert!(fill(-0.0).sqrt().unwrap().fill().is_sign_positive());
    assert!(fill(-0.25).round().unwrap().fill().is_sign_positive());
    assert_eq!(fill(-1.0).ln().unwrap().fill().to_bits(), f64::NAN.to_bits());
    let view = fill(-0.0);
    assert!(view.stored().neg().unwrap().fill().is_sign_negative(), "that of a view is not computed");
}

/// Operands that a generic caller may hold.
#[test]
fn a_generic_function_maps_any_operand() {
    fn softplus<X: Operand<Elem = f64>>(x: &X) -> Result<X::Mapped<f64>>
    where
        X::Mapped<f64>: Operand<Elem = f64, Mapped<f64> = X::Mapped<f64>>,
    {
        lacuna::ln_1p(&lacuna::exp(x)?)
    }
    let x = CsrTensor::new([1, 2], vec![0, 1], vec![1], vec![0.5], 0.0).unwrap();
    assert_eq!(softplus(&x).unwrap().to_dense().unwrap(), softplus(&x.to_dense().unwrap()).unwrap());
}

/// The function `acosh` of libm returns numbers for large negative arguments.
#[test]
fn acosh_below_one_is_nan() {
    let found = lacuna::acosh(&arr1(&[-12345.678, -24691.356, -2.0, 0.0, f64::NEG_INFINITY])).unwrap();
    assert!(found.iter().all(|value| value.to_bits() == f64::NAN.to_bits()));
}
