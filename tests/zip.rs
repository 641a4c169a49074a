//! Elementwise operations of two operands against the reference.

use crate::generators::{Drawn, SparseSeed, endless, huge, seeds, shapes};
use crate::reference::dense::{Dense, Sparse, ravel, size};
use crate::reference::exact::{Summed, total};
use crate::reference::scalar::Scalar;
use crate::reference::zip::{self as reference, Arith, Computes, Outcome, Refused, Rule, Why};
use crate::support::*;
use lacuna::lazy::{Chunks, Lazy};
use lacuna::prelude::*;
use lacuna::{CooTensor, CsrTensor, Element, Error, Pattern, Result, Tensor, grad};
use ndarray::{ArrayD, ArrayViewD, Axis, Dimension, IxDyn};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::sample::select;

/// Two sparse arrays of one shape, and a number.
#[derive(Clone, Debug)]
struct Pair<T> {
    x: Sparse<T>,
    y: Sparse<T>,
    number: T,
}

/// The relation between the patterns of the two operands.
#[derive(Clone, Copy, Debug)]
enum Common {
    Whatever,
    Everything,
    Nothing,
    Half,
}

impl Common {
    fn apply<T: Scalar>(self, x: &Sparse<T>, y: &mut Sparse<T>) {
        let values: Vec<T> = y.entries.values().copied().chain([y.fill]).collect();
        let of_x = x.entries.keys().enumerate().map(|(at, coords)| (coords.clone(), values[at % values.len()]));
        match self {
            Common::Whatever => {}
            Common::Everything => y.entries = of_x.collect(),
            Common::Nothing => y.entries.retain(|at, _| !x.entries.contains_key(at)),
            Common::Half => y.entries.extend(of_x.step_by(2).collect::<Vec<_>>()),
        }
    }
}

/// Pairs of one shape; half of the time with values that no sum or product of integers overflows.
fn pairs<T: Drawn + Tame>() -> BoxedStrategy<Pair<T>> {
    let common = select(&[Common::Whatever, Common::Everything, Common::Nothing, Common::Half][..]);
    let parts = (shapes(), seeds(), seeds(), T::values(), common, any::<bool>());
    let build = |(shape, x, y, number, common, tame): (_, SparseSeed<T>, SparseSeed<T>, T, Common, bool)| {
        let shape: Vec<usize> = shape;
        let (mut x, mut y) = (x.build(&shape), y.build(&shape));
        common.apply(&x, &mut y);
        if tame {
            [&mut x, &mut y].into_iter().for_each(|x| {
                x.entries.values_mut().for_each(|value| *value = value.tame());
                x.fill = x.fill.tame();
            });
        }
        Pair { x, y, number: if tame { number.tame() } else { number } }
    };
    parts.prop_map(build).boxed()
}

/// A type with small values that are not zero.
trait Tame: Sized {
    fn tame(self) -> Self {
        self
    }
}

macro_rules! tame {
    ($($type:ty: $tame:expr;)*) => {$(
        impl Tame for $type {
            fn tame(self) -> Self {
                $tame(self)
            }
        }
    )*};
}

tame! {
    bool: |x| x;
    i8: |x: i8| x.rem_euclid(3) + 1;
    u64: |x: u64| x % 3 + 2;
    f32: |x| x;
    f64: |x| x;
    Complex<f32>: |x| x;
    Complex<f64>: |x| x;
}
#[cfg(feature = "half")]
tame! { half::f16: |x| x; half::bf16: |x| x; }
macro_rules! tame_like {
    ($($type:ty),*) => { tame! { $($type: |x: $type| x % 3 + 3;)* } };
}
tame_like!(i16, i32, i64, u8, u16, u32);

/// One operation of the library, on every kind of operands.
struct Library<T, U> {
    name: &'static str,
    coo: fn(&CooTensor<T>, &CooTensor<T>) -> Result<CooTensor<U>>,
    csr: fn(&CsrTensor<T>, &CsrTensor<T>) -> Result<CsrTensor<U>>,
    coo_stored: fn(&CooTensor<T>, &CooTensor<T>) -> Result<CooTensor<U>>,
    csr_stored: fn(&CsrTensor<T>, &CsrTensor<T>) -> Result<CsrTensor<U>>,
    number: fn(&CooTensor<T>, T) -> Result<CooTensor<U>>,
    stored_number: fn(&CsrTensor<T>, T) -> Result<CsrTensor<U>>,
    arrays: fn(&ArrayViewD<'_, T>, &ArrayViewD<'_, T>) -> Result<ArrayD<U>>,
    array_number: fn(&ArrayViewD<'_, T>, T) -> Result<ArrayD<U>>,
    coo_array: fn(&CooTensor<T>, &ArrayViewD<'_, T>) -> Result<CooTensor<U>>,
    csr_array: fn(&CsrTensor<T>, &ArrayViewD<'_, T>) -> Result<CsrTensor<U>>,
    array_coo: fn(&ArrayViewD<'_, T>, &CooTensor<T>) -> Result<CooTensor<U>>,
    stored_array: fn(&CsrTensor<T>, &ArrayViewD<'_, T>) -> Result<CsrTensor<U>>,
}

macro_rules! library {
    ($name:ident) => {
        Library {
            name: stringify!($name),
            coo: |x, y| lacuna::$name(x, y),
            csr: |x, y| x.$name(y),
            coo_stored: |x, y| x.stored().$name(y.stored()),
            csr_stored: |x, y| lacuna::$name(x, &y.stored()),
            number: |x, number| x.$name(number),
            stored_number: |x, number| x.stored().$name(number),
            arrays: |x, y| lacuna::$name(x, y),
            array_number: |x, number| x.$name(number),
            coo_array: |x, y| x.$name(y),
            csr_array: |x, y| x.$name(y),
            array_coo: |x, y| x.$name(y),
            stored_array: |x, y| x.stored().$name(y),
        }
    };
}

/// The comparison within a tolerance, on every kind of operands.
macro_rules! is_close_library {
    ($tolerance:expr) => {
        Library {
            name: "is_close",
            coo: |x, y| lacuna::is_close(x, y, $tolerance),
            csr: |x, y| x.is_close(y, $tolerance),
            coo_stored: |x, y| x.stored().is_close(y.stored(), $tolerance),
            csr_stored: |x, y| lacuna::is_close(x, &y.stored(), $tolerance),
            number: |x, number| x.is_close(number, $tolerance),
            stored_number: |x, number| x.stored().is_close(number, $tolerance),
            arrays: |x, y| lacuna::is_close(x, y, $tolerance),
            array_number: |x, number| x.is_close(number, $tolerance),
            coo_array: |x, y| x.is_close(y, $tolerance),
            csr_array: |x, y| x.is_close(y, $tolerance),
            array_coo: |x, y| x.is_close(y, $tolerance),
            stored_array: |x, y| x.stored().is_close(y, $tolerance),
        }
    };
}

/// The definition of an operation.
struct Definition<'a, T, U> {
    rule: Rule<'a, T, U>,
    /// Among stored entries, what one alone gives on the left or on the right.
    alone: Option<&'a dyn Fn(T, bool) -> std::result::Result<U, Why>>,
    /// A value as a computed fill.
    implicit: fn(U) -> U,
    /// The fill in the type of the results, zero if it has another.
    own: fn(T) -> U,
    /// True if views of different fills are rejected.
    of_one_fill: bool,
}

/// Returns the part of an error that the library and the reference have in common.
fn refusal(error: &Error) -> Refused {
    match error.clone() {
        Error::NonFinite { coords, .. } => Refused::NotFinite(coords),
        Error::Overflow { coords, .. } => Refused::At(Why::Overflow, coords),
        Error::DivisionByZero { coords, .. } => Refused::At(Why::ByZero, coords),
        Error::FillsDiffer { .. } => Refused::Fills,
        other => panic!("{other}"),
    }
}

#[track_caller]
fn assert_outcome<P: Pattern, U: Both>(found: Result<Tensor<P, U>>, expected: &Outcome<U>, name: &str) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(error), Err(expected)) => assert_eq!(&refusal(&error), expected, "{name}"),
        (found, expected) => panic!("{name}: {found:?} is not {expected:?}"),
    }
}

fn agree<T: Both, U: Both>(case: &Pair<T>, library: &Library<T, U>, definition: &Definition<'_, T, U>) {
    let (Pair { x, y, number }, name) = (case, library.name);
    let Definition { rule, alone, implicit, own, of_one_fill } = definition;
    let (coo_x, coo_y, csr_x, csr_y) = (coo(x), coo(y), csr(x), csr(y));
    let expected = reference::whole(x, y, rule, implicit);
    assert_outcome((library.coo)(&coo_x, &coo_y), &expected, name);
    assert_outcome((library.csr)(&csr_x, &csr_y), &expected, name);

    let expected = match *of_one_fill && !Scalar::same(x.fill, y.fill) {
        true => Err(Refused::Fills),
        false => reference::stored(x, y, rule, *alone, own(x.fill)),
    };
    assert_outcome((library.coo_stored)(&coo_x, &coo_y), &expected, name);
    assert_outcome((library.csr_stored)(&csr_x, &csr_y), &expected, name);

    let expected = reference::beside_number(x, *number, rule, implicit);
    assert_outcome((library.number)(&coo_x, *number), &expected, name);
    let numbers = Dense::full(&x.shape, *number);
    let expected = reference::entries_beside(x, &numbers, rule, own(x.fill));
    assert_outcome((library.stored_number)(&csr_x, *number), &expected, name);
    arrays_agree(case, library, definition);
}

/// The part of [`agree`] where an operand is an array.
fn arrays_agree<T: Both, U: Both>(case: &Pair<T>, library: &Library<T, U>, definition: &Definition<'_, T, U>) {
    let (Pair { x, y, number }, name) = (case, library.name);
    let Definition { rule, implicit, own, .. } = definition;
    let (coo_x, csr_x, dense_x, dense_y) = (coo(x), csr(x), x.to_dense(), y.to_dense());
    let expected = reference::dense(&dense_x, &dense_y, rule);
    let with_number = reference::dense(&dense_x, &Dense::full(&x.shape, *number), rule);
    let check = |found: Result<ArrayD<U>>, expected: &std::result::Result<Dense<U>, Refused>| match (found, expected) {
        (Ok(found), Ok(expected)) => assert_array(&found, expected),
        (Err(error), Err(Refused::At(why, _))) => {
            assert!(matches!(refusal(&error), Refused::At(found, Some(_)) if found == *why));
        }
        (found, expected) => panic!("{name}: {found:?} is not {expected:?}"),
    };
    let plain = array(&dense_y);
    for_each_layout(&dense_x, |_, view| {
        check((library.arrays)(&view, &plain.view()), &expected);
        check((library.array_number)(&view, *number), &with_number);
    });
    for_each_layout(&dense_y, |_, view| check((library.arrays)(&array(&dense_x).view(), &view), &expected));

    let beside = reference::beside_dense(x, &dense_y, rule, implicit, own(x.fill));
    let turned = Rule { of: &|a, b| (rule.of)(b, a), makes_all_one: rule.makes_all_one };
    let turned = reference::beside_dense(x, &dense_y, &turned, implicit, own(x.fill));
    assert_beside((library.coo_array)(&coo_x, &plain.view()), &beside, name);
    assert_beside((library.csr_array)(&csr_x, &plain.view()), &beside, name);
    assert_beside((library.array_coo)(&plain.view(), &coo_x), &turned, name);
    let expected = reference::entries_beside(x, &dense_y, rule, own(x.fill));
    assert_outcome((library.stored_array)(&csr_x, &plain.view()), &expected, name);
}

/// Checks that the result of a tensor and an array has a single fill, or is rejected.
#[track_caller]
fn assert_beside<P: Pattern, U: Both>(found: Result<Tensor<P, U>>, expected: &Option<Outcome<U>>, name: &str) {
    match (found, expected) {
        (found, Some(expected)) => assert_outcome(found, expected, name),
        (Err(Error::FillVaries { .. }), None) => {}
        (Err(Error::Overflow { coords: None, .. } | Error::DivisionByZero { coords: None, .. }), None) => {}
        (found, None) => panic!("{name}: {found:?}, though what is not stored comes to several values"),
    }
}

/// Operations that give the type that they take, by name and by what the reference calls them.
macro_rules! arithmetic {
    ($agree:ident, $case:expr, $type:ty: $($name:ident $op:ident),*) => {$({
        let rule = Rule {
            of: &|a, b| <$type>::arith(Arith::$op, a, b),
            makes_all_one: &|fill, other, left| <$type>::makes_all_one(Arith::$op, fill, other, left),
        };
        let alone = reference::alone::<$type>(Arith::$op);
        let alone = alone.as_ref().map(|alone| alone as &dyn Fn($type, bool) -> std::result::Result<$type, Why>);
        let (implicit, own) = (|value: $type| Element::as_implicit(value), |fill| fill);
        let definition = Definition { rule, alone, implicit, own, of_one_fill: true };
        $agree::<$type, $type>($case, &library!($name), &definition);
    })*};
}

/// The operations of a type of a kind, by the table of the library.
macro_rules! all_of {
    ([$agree:ident, $case:expr, $type:ty, $kind:ident]
        $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(lacuna::__if_kind! { $kind $bound all_of!(@$out $agree, $case, $type, $name $op); })*
    };
    (@same $agree:ident, $case:expr, $type:ty, $name:ident $op:ident) => {
        arithmetic!($agree, $case, $type: $name $op)
    };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident Equal) => { comparisons!($agree, $case, $type: $name ==) };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident NotEqual) => { comparisons!($agree, $case, $type: $name !=) };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident Less) => { comparisons!($agree, $case, $type: $name <) };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident LessEqual) => { comparisons!($agree, $case, $type: $name <=) };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident Greater) => { comparisons!($agree, $case, $type: $name >) };
    (@bool $agree:ident, $case:expr, $type:ty, $name:ident GreaterEqual) => {
        comparisons!($agree, $case, $type: $name >=)
    };
}

/// Comparisons.
macro_rules! comparisons {
    ($agree:ident, $case:expr, $type:ty: $($name:ident $sign:tt),*) => {$({
        let rule = Rule {
            of: &|a: $type, b: $type| Ok(a $sign b),
            makes_all_one: &|fill, _, _| Scalar::is_nan(fill).then_some(true),
        };
        let is_bool = std::any::TypeId::of::<$type>() == std::any::TypeId::of::<bool>();
        let own = if is_bool { |fill: $type| fill.truthy() } else { |_: $type| false };
        let definition = Definition { rule, alone: None, implicit: |value| value, own, of_one_fill: is_bool };
        $agree::<$type, bool>($case, &library!($name), &definition);
    })*};
}

/// Checks a comparison of floats.
fn agree_compared(case: &Pair<f64>, library: &Library<f64, bool>, rule: Rule<'_, f64, bool>) {
    let definition = Definition { rule, alone: None, implicit: |value| value, own: |_| false, of_one_fill: false };
    agree::<f64, bool>(case, library, &definition);
}

/// Checks the operations that every type has.
fn sums_products_and_equality_are_those_of_the_definition<T: Both + Drawn + Tame + Computes>() {
    check(pairs::<T>(), |case| {
        arithmetic!(agree, &case, T: add Add, mul Mul, mul_nonzero MulNonzero);
        comparisons!(agree, &case, T: equal ==);
    });
}

for_all_types!(sums_products_and_equality_are_those_of_the_definition);

#[test]
fn floats_have_all_of_them() {
    check(pairs::<f64>(), |case| {
        lacuna::__binary! { all_of [agree, &case, f64, float] }
    });
}

#[test]
fn integers_have_all_of_them() {
    check(pairs::<i8>(), |case| {
        lacuna::__binary! { all_of [agree, &case, i8, integer] }
    });
    check(pairs::<u64>(), |case| {
        arithmetic!(agree, &case, u64: sub Sub, div Div, maximum Maximum, pow Pow);
    });
}

#[test]
fn booleans_have_logic() {
    check(pairs::<bool>(), |case| {
        lacuna::__binary! { all_of [agree, &case, bool, bool] }
    });
}

#[test]
fn complex_numbers_have_the_four_operations() {
    check(pairs::<Complex<f64>>(), |case| {
        lacuna::__binary! { all_of [agree, &case, Complex<f64>, complex] }
    });
}

#[cfg(feature = "half")]
#[test]
fn floats_of_16_bits_are_rounded_once() {
    check(pairs::<half::f16>(), |case| {
        lacuna::__binary! { all_of [agree, &case, half::f16, float] }
    });
    check(pairs::<half::bf16>(), |case| {
        arithmetic!(agree, &case, half::bf16: mul Mul, minimum Minimum);
    });
}

/// Shapes of more positions than memory, and than any integer, holds.
#[test]
fn shapes_without_a_dense_form_are_joined_by_what_they_store() {
    check((prop_oneof![huge::<f64>(), endless::<f64>()], any::<bool>(), -2..2_i8), |(x, half, fill)| {
        let kept = |at: usize| !half || at.is_multiple_of(2);
        let entries =
            x.entries.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, (at, v))| (at.clone(), v + 1.0));
        let y = Sparse::new(&x.shape, entries.collect(), f64::from(fill));
        for op in [Arith::Add, Arith::Mul] {
            let rule = Rule {
                of: &|a, b| f64::arith(op, a, b),
                makes_all_one: &|fill, other, left| f64::makes_all_one(op, fill, other, left),
            };
            let expected = reference::whole(&x, &y, &rule, Element::as_implicit);
            let (one, other) = (coo_as::<_, usize>(&x), coo_as::<_, usize>(&y));
            let found = if op == Arith::Add { one.add(&other) } else { one.mul(&other) };
            assert_outcome(found, &expected, "huge");
        }
    });
}

// ---- broadcasting, choices, masks, gradients ----

/// The shape with some axes of length 1, and some in front left out: it is broadcast to the whole one.
fn smaller(shape: &[usize], ones: u16, left_out: usize) -> Vec<usize> {
    let one = |(axis, &length): (usize, &usize)| if ones >> axis & 1 == 1 { 1 } else { length };
    shape.iter().enumerate().map(one).skip(left_out.min(shape.len())).collect()
}

/// The special relation between two operands of different shapes.
#[derive(Clone, Copy, Debug)]
enum Special {
    Whatever,
    /// The second one stores every position.
    Full,
    /// The second one is a single stored number.
    Number,
    /// The first one has a fill of zero, and the second one stores every position.
    Zero,
}

/// Two sparse arrays whose shapes are broadcast together, each larger on some axes.
fn broadcast_pairs<T: Drawn + Tame>() -> BoxedStrategy<Pair<T>> {
    let special = select(&[Special::Whatever, Special::Full, Special::Number, Special::Zero][..]);
    let parts = (shapes(), seeds(), seeds(), any::<(u16, u16)>(), 0..3_usize, T::values(), special, any::<bool>());
    type Parts<T> = (Vec<usize>, SparseSeed<T>, SparseSeed<T>, (u16, u16), usize, T, Special, bool);
    let build = |(shape, x, y, (ones, others), left_out, number, special, is_wide): Parts<T>| {
        let (ones, others) = match special {
            Special::Number => (0, u16::MAX),
            // No axis is cut on both sides, which would be another case of a smaller shape.
            _ if is_wide => (0, others),
            _ => (ones, others & !ones),
        };
        let mut x = x.build(&smaller(&shape, ones, 0));
        let mut y = y.build(&smaller(&shape, others, left_out));
        y.entries.values_mut().for_each(|value| *value = value.tame());
        if !matches!(special, Special::Whatever) {
            let given = |at: Vec<usize>| (y.entries.get(&at).copied().unwrap_or(number), at);
            y.entries = y.to_dense().coords().into_iter().map(given).map(|(value, at)| (at, value)).collect();
        }
        if matches!(special, Special::Zero) {
            x.fill = T::zero();
        }
        Pair { x, y, number }
    };
    parts.prop_map(build).boxed()
}

/// Tensors and views of shapes that are broadcast together.
fn agree_broadcast<T: Both, U: Both>(case: &Pair<T>, library: &Library<T, U>, definition: &Definition<'_, T, U>) {
    let (Pair { x, y, .. }, name) = (case, library.name);
    let Definition { rule, alone, implicit, own, of_one_fill } = definition;
    for (x, y) in [(x, y), (y, x)] {
        let expected = reference::broadcast_whole(x, y, rule, implicit);
        assert_outcome((library.coo)(&coo(x), &coo(y)), &expected, name);
        assert_outcome((library.csr)(&csr(x), &csr(y)), &expected, name);
        let expected = reference::broadcast_stored(x, y, rule, *alone, own, *of_one_fill);
        assert_outcome((library.coo_stored)(&coo(x), &coo(y)), &expected, name);
        assert_outcome((library.csr_stored)(&csr(x), &csr(y)), &expected, name);
    }
}

fn broadcasts_as_the_definition_does<T: Both + Drawn + Tame + Computes>() {
    check(broadcast_pairs::<T>(), |case| {
        arithmetic!(agree_broadcast, &case, T: add Add, mul Mul, mul_nonzero MulNonzero);
        comparisons!(agree_broadcast, &case, T: equal ==);
        broadcasts_arrays(&case);
    });
}

fn broadcasts_arrays<T: Both + Drawn + Tame + Computes>(Pair { x, y, .. }: &Pair<T>) {
    let shape = reference::broadcast_shape(&x.shape, &y.shape).unwrap();
    let (wide_x, wide_y) = (reference::broadcast(x, &shape), reference::broadcast(y, &shape));
    for op in [Arith::Add, Arith::Mul] {
        let rule = Rule {
            of: &|a, b| T::arith(op, a, b),
            makes_all_one: &|fill, other, left| T::makes_all_one(op, fill, other, left),
        };
        let is_sum = op == Arith::Add;
        let beside = reference::beside_dense(&wide_x, &wide_y.to_dense(), &rule, Element::as_implicit, wide_x.fill);
        for_each_layout(&y.to_dense(), |_, view| {
            assert_beside(if is_sum { coo(x).add(&view) } else { coo(x).mul(&view) }, &beside, "array");
            assert_beside(if is_sum { csr(x).add(&view) } else { csr(x).mul(&view) }, &beside, "array");
        });
        let expected = reference::dense(&wide_x.to_dense(), &wide_y.to_dense(), &rule);
        let (one, other) = (array(&x.to_dense()), array(&y.to_dense()));
        match (if is_sum { one.add(&other) } else { one.mul(&other) }, expected) {
            (Ok(found), Ok(expected)) => assert_array(&found, &expected),
            (Err(error), Err(expected)) => assert_eq!(refusal(&error), expected),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }
}

for_real_types!(broadcasts_as_the_definition_does);

#[test]
fn a_row_beside_a_matrix_has_all_operations() {
    check(broadcast_pairs::<f64>(), |case| {
        lacuna::__binary! { all_of [agree_broadcast, &case, f64, float] }
    });
    check(broadcast_pairs::<i8>(), |case| {
        arithmetic!(agree_broadcast, &case, i8: sub Sub, div Div, maximum Maximum,
            bit_and BitAnd, bit_or BitOr);
    });
    check(broadcast_pairs::<Complex<f64>>(), |case| {
        arithmetic!(agree_broadcast, &case, Complex<f64>: mul Mul, div Div);
    });
}

/// A step, whole and in ranges, is the operation, and is refused where that is.
#[track_caller]
fn assert_step<P: Pattern, T: Element>(step: &Lazy<Tensor<P, T>>, expected: &Result<Tensor<P, T>>) {
    let engines = [1, 2, 64].map(|positions| Chunks::memory(1 << 30).positions(positions));
    let in_ranges = engines.map(|engine| step.on(engine).collect());
    for (way, found) in std::iter::once(step.collect()).chain(in_ranges).enumerate() {
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert!(found.same_as(expected), "{way}: {found:?} is not {expected:?}"),
            (Err(_), Err(_)) => {}
            (found, expected) => panic!("{way}: {found:?} is not {expected:?}"),
        }
    }
}

fn assert_steps_beside<P: Pattern, T: Element>(x: &Tensor<P, T>, y: &ArrayD<T>) {
    let (lazy, array) = (x.lazy(), Lazy::from(y.clone()));
    assert_step(&(&lazy + &array), &x.add(y));
    assert_step(&(&lazy * &array), &x.mul(y));
    assert_step(&lazy.stored().mul(&array), &x.stored().mul(y));
}

fn steps_beside_arrays_are_the_operations<T: Both + Drawn + Tame + Computes>() {
    check(broadcast_pairs::<T>(), |Pair { x, y, .. }| {
        let array = array(&y.to_dense());
        assert_steps_beside(&coo(&x), &array);
        assert_steps_beside(&csr(&x), &array);
    });
}

for_real_types!(steps_beside_arrays_are_the_operations);

/// For all fills and shapes, the gradients of a step equal the backward function. If the function fails, the step fails
/// too.
#[test]
fn gradients_beside_arrays_are_those_of_the_operations() {
    check(broadcast_pairs::<f64>(), |Pair { x, y, .. }| {
        let (x, y) = (coo(&x), array(&y.to_dense()));
        let (lazy, array) = (x.lazy(), Lazy::from(y.clone()));
        let Ok(upstream) = x.mul(&y) else { return };
        for (step, expected) in [
            (&lazy + &array, grad::add(&x, &y, &upstream)),
            (&lazy * &array, grad::mul(&x, &y, &upstream)),
            (&lazy / &array, grad::div(&x, &y, &upstream)),
        ] {
            let g = upstream.lazy();
            match (step.gradient(&lazy, &g).collect(), step.gradient(&array, &g).collect(), expected) {
                (Ok(found_x), Ok(found_y), Ok((dx, dy))) => {
                    assert!(found_x.same_as(&dx), "{found_x:?} is not {dx:?}");
                    assert!(found_y.iter().zip(&dy).all(|(found, of)| Element::same(*found, *of)), "{found_y:?}");
                }
                (Err(_), Err(_), Err(_)) => {}
                found => panic!("{found:?}"),
            }
        }
    });
}

/// Seeds of a condition and of two arrays, and which of their axes have length 1.
type ChoiceSeeds = (SparseSeed<bool>, [SparseSeed<f64>; 2], [u16; 3]);

/// A condition and two sparse arrays, whose shapes are broadcast together.
fn choices() -> BoxedStrategy<(Sparse<bool>, Sparse<f64>, Sparse<f64>)> {
    let seeds = (seeds::<bool>(), [seeds(), seeds()], any::<[u16; 3]>());
    let build = |(shape, (c, [a, b], [x, y, z])): (Vec<usize>, ChoiceSeeds)| {
        // On each axis, at least one of the operands has the entire length.
        let ones = [x & y, y & z & !(x & y), x & z & !(x & y) & !(y & z)];
        let of = |at: usize| smaller(&shape, ones[at], at);
        (c.build(&of(0)), a.build(&of(1)), b.build(&of(2)))
    };
    (shapes(), seeds).prop_map(build).boxed()
}

#[test]
fn conditions_choose_and_move() {
    check(choices(), |(c, a, b)| {
        let shape = reference::broadcast_shape(&c.shape, &a.shape).unwrap();
        let shape = reference::broadcast_shape(&shape, &b.shape).unwrap();
        let (wide_c, wide_a, wide_b) =
            (reference::broadcast(&c, &shape), reference::broadcast(&a, &shape), reference::broadcast(&b, &shape));
        // One stored number that is repeated is that number.
        let (wide_c, wide_a, wide_b) = (
            reference::number_everywhere(&c, &shape).unwrap_or(wide_c),
            reference::number_everywhere(&a, &shape).unwrap_or(wide_a),
            reference::number_everywhere(&b, &shape).unwrap_or(wide_b),
        );
        let expected = |a: &Sparse<f64>, b: &Sparse<f64>| {
            let main = if wide_c.fill { a } else { b };
            let stored = wide_c.coords().union(&main.coords()).cloned().collect::<Vec<_>>();
            let value = |at: &Vec<usize>| if wide_c.get(at) { a.get(at) } else { b.get(at) };
            Sparse::new(&shape, stored.into_iter().map(|at| (at.clone(), value(&at))).collect(), main.fill)
        };
        assert_entries(&lacuna::where_(&coo(&c), &coo(&a), &coo(&b)).unwrap(), &expected(&wide_a, &wide_b));
        assert_entries(&lacuna::where_(&csr(&c), &csr(&a), &csr(&b)).unwrap(), &expected(&wide_a, &wide_b));
        let number = Sparse::new(&shape, Default::default(), f64::NAN);
        let found = lacuna::where_(&csr(&c), &csr(&a), f64::NAN);
        if reference::broadcast_shape(&c.shape, &a.shape).as_ref() == Some(&shape) {
            assert_entries(&found.unwrap(), &expected(&wide_a, &number));
        }
        let dense = |c: &Sparse<bool>, a: &Sparse<f64>, b: &Sparse<f64>| {
            let (c, a, b) = (array(&c.to_dense()), array(&a.to_dense()), array(&b.to_dense()));
            lacuna::where_(&c, &a, &b).unwrap()
        };
        assert_array(&dense(&c, &a, &b), &expected(&wide_a, &wide_b).to_dense());
    });
}

#[test]
fn masks_keep_or_leave_out() {
    check(pairs::<f64>(), |Pair { x, y, .. }| {
        let kept = |stays: &dyn Fn(&Vec<usize>) -> bool| {
            let entries = x.entries.iter().filter(|(at, _)| stays(at)).map(|(at, &value)| (at.clone(), value));
            Sparse::new(&x.shape, entries.collect(), x.fill)
        };
        let (inside, outside) = (kept(&|at| y.entries.contains_key(at)), kept(&|at| !y.entries.contains_key(at)));
        let (coo_x, coo_y, csr_x, csr_y) = (coo(&x), coo(&y), csr(&x), csr(&y));
        assert_entries(&coo_x.stored().mask(coo_y.pattern()).unwrap(), &inside);
        assert_entries(&csr_x.stored().mask(csr_y.pattern()).unwrap(), &inside);
        assert_entries(&coo_x.stored().without(coo_y.pattern()).unwrap(), &outside);
        assert_entries(&csr_x.stored().without(csr_y.pattern()).unwrap(), &outside);
        assert!(coo_x.stored().mask(coo_x.pattern()).unwrap().shares_pattern_with(&coo_x));
    });
}

#[test]
fn each_place_on_an_axis_is_scaled_by_its_own_factor() {
    check((pairs::<f64>(), any::<prop::sample::Index>()), |(Pair { x, y, .. }, axis)| {
        if x.shape.is_empty() {
            assert!(matches!(coo(&x).scale(0, &[1.0]), Err(Error::AxisOutOfRange { axis: 0, rank: 0 })));
            return;
        }
        let axis = axis.index(x.shape.len());
        let values: Vec<f64> = y.entries.values().copied().chain([y.fill]).collect();
        let factors: Vec<f64> = values.iter().copied().cycle().take(x.shape[axis]).collect();
        let mut places = vec![1; x.shape.len()];
        places[axis] = factors.len();
        let wide = reference::broadcast_dense(&Dense::new(&places, factors.clone()), &x.shape);
        let rule = Rule {
            of: &|a, b| f64::arith(Arith::Mul, a, b),
            makes_all_one: &|fill, other, left| f64::makes_all_one(Arith::Mul, fill, other, left),
        };
        let beside = reference::beside_dense(&x, &wide, &rule, Element::as_implicit, x.fill);
        assert_beside(coo(&x).scale(axis, &factors), &beside, "scale");
        assert_beside(csr(&x).scale(axis as isize - x.shape.len() as isize, &factors), &beside, "scale");
        let stored = reference::entries_beside(&x, &wide, &rule, x.fill);
        assert_outcome(csr(&x).stored().scale(axis, &factors), &stored, "scale");
        let dense = reference::dense(&x.to_dense(), &wide, &rule).unwrap();
        for_each_layout(&x.to_dense(), |_, view| assert_array(&view.scale(axis, &factors).unwrap(), &dense));
        let short = [factors, vec![1.0]].concat();
        assert!(matches!(coo(&x).scale(axis, &short), Err(Error::LengthMismatch { what: "the factors", .. })));
    });
}

#[test]
fn any_function_zips() {
    let closure = |a: f64, b: f64| if a < b { 1_i8 } else { -3 };
    check(pairs::<f64>(), |Pair { x, y, number }| {
        let rule = Rule { of: &|a, b| Ok(closure(a, b)), makes_all_one: &|_, _, _| None };
        let expected = reference::whole(&x, &y, &rule, |fill| fill);
        assert_outcome(coo(&x).zip_with(&coo(&y), closure), &expected, "zip_with");
        assert_outcome(lacuna::zip_with(&csr(&x), &csr(&y), closure), &expected, "zip_with");
        let expected = reference::stored(&x, &y, &rule, None, 0);
        assert_outcome(coo(&x).stored().zip_with(&coo(&y), closure), &expected, "zip_with");
        let expected = reference::beside_number(&x, number, &rule, |fill| fill);
        assert_outcome(coo(&x).zip_with(number, closure), &expected, "zip_with");
    });
}

/// Returns the gradient of an array of a shape, whose elements were repeated to these positions: the exact sum per
/// element.
fn received(shape: &[usize], positions: &[Vec<usize>], given: &[f64]) -> Dense<f64> {
    let mut lists = Dense::new(shape, (0..size(shape)).collect()).map(|_| 0.0);
    let mut of_each = vec![Vec::new(); lists.data.len()];
    for (at, &gradient) in positions.iter().zip(given) {
        let own = &at[at.len() - shape.len()..];
        let own: Vec<usize> = own.iter().zip(shape).map(|(&at, &length)| if length == 1 { 0 } else { at }).collect();
        of_each[ravel(&own, shape) as usize].push(gradient);
    }
    let is_lone = of_each.len() == positions.len() && positions.first().is_none_or(|at| at.len() == shape.len());
    let sum = |list: &Vec<f64>| if is_lone { list[0] } else { f64::sum_from(&total(list)).unwrap() };
    lists.data = of_each.iter().map(sum).map(Scalar::canonical).collect();
    lists
}

macro_rules! gradients {
    ([$x:expr, $y:expr, $up:expr] $($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        $($(gradients!(@of $name $backward, $op, $x, $y, $up);)?)*
    };
    (@of $name:ident $backward:ident, $op:ident, $x:expr, $y:expr, $up:expr) => {{
        let (x, y, up) = ($x, $y, $up);
        let wide = |x: &Sparse<f64>| reference::broadcast(x, &up.shape).to_dense();
        let (wide_x, wide_y, dense_up) = (wide(x), wide(y), up.to_dense());
        // A zero gives zero, whatever the operands are.
        let given = |x, y, g| if g == 0.0 { (0.0, 0.0) } else { reference::gradients(Arith::$op, x, y, g) };
        let each = dense_up.coords().into_iter().map(|at| given(wide_x.get(&at), wide_y.get(&at), dense_up.get(&at)));
        let (dx, dy): (Vec<f64>, Vec<f64>) = each.unzip();
        let (dx, dy) = (received(&x.shape, &dense_up.coords(), &dx), received(&y.shape, &dense_up.coords(), &dy));
        let (found_x, found_y) = lacuna::grad::$name(&coo(x), &csr(y), &csr(up)).unwrap();
        assert_entries(&found_x.map_values(Scalar::canonical).unwrap(), &x.pattern_of(&dx));
        assert_entries(&found_y.map_values(Scalar::canonical).unwrap(), &y.pattern_of(&dy));
        let (found_x, found_y) = lacuna::grad::$name(&csr(x), &array(&y.to_dense()), &array(&dense_up)).unwrap();
        assert_entries(&found_x.map_values(Scalar::canonical).unwrap(), &x.pattern_of(&dx));
        assert_array(&found_y.mapv(Scalar::canonical), &dy);
    }};
}

#[test]
fn gradients_are_those_of_the_dense_operands_at_the_entries() {
    let cases = (prop_oneof![pairs::<f64>(), broadcast_pairs::<f64>()], crate::generators::upstream_seeds::<f64>());
    check(cases, |(Pair { x, y, .. }, up)| {
        let up = up.build(&reference::broadcast_shape(&x.shape, &y.shape).unwrap());
        lacuna::__binary! { gradients [&x, &y, &up] }
    });
}

#[test]
fn gradients_of_a_choice_go_to_the_chosen() {
    check((choices(), crate::generators::upstream_seeds::<f64>()), |((c, a, b), up)| {
        let shape = reference::broadcast_shape(&c.shape, &a.shape).unwrap();
        let shape = reference::broadcast_shape(&shape, &b.shape).unwrap();
        let (up, wide_c) = (up.build(&shape), reference::broadcast(&c, &shape).to_dense());
        let dense_up = up.to_dense();
        let of = |chosen: bool| {
            let given =
                dense_up.data.iter().zip(&wide_c.data).map(|(&g, &c)| if c == chosen && g != 0.0 { g } else { 0.0 });
            given.collect::<Vec<f64>>()
        };
        let (da, db) = (of(true), of(false));
        let (da, db) = (received(&a.shape, &wide_c.coords(), &da), received(&b.shape, &wide_c.coords(), &db));
        let (found_a, found_b) = lacuna::grad::where_(&coo(&c), &coo(&a), &csr(&b), &coo(&up)).unwrap();
        assert_entries(&found_a.map_values(Scalar::canonical).unwrap(), &a.pattern_of(&da));
        assert_entries(&found_b.map_values(Scalar::canonical).unwrap(), &b.pattern_of(&db));
        let (array_c, array_a) = (array(&c.to_dense()), array(&a.to_dense()));
        let (found_a, _) = lacuna::grad::where_(&array_c, &array_a, &coo(&b), &array(&up.to_dense())).unwrap();
        assert_array(&found_a.mapv(Scalar::canonical), &da);
    });
}

/// If an upstream element is zero, its factor makes no difference. This also holds for stored views, and for sums over
/// repeated elements.
#[test]
fn zero_upstream_gives_zero_beside_what_is_not_finite() {
    let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let x = CooTensor::new(
        [5, 5],
        vec![(0..5).flat_map(|at| [at; 5]).collect(), (0..25).map(|at| at % 5).collect()],
        (0..25).map(|at| wild[at as usize / 5]).collect(),
        0.0,
    )
    .unwrap();
    let y = ndarray::Array2::from_shape_fn((5, 5), |(_, column)| wild[column]);
    let row = CooTensor::new([5], vec![(0..5).collect()], wild.to_vec(), 0.0).unwrap();
    let same = CooTensor::new(
        [5, 5],
        vec![(0..5).flat_map(|at| [at; 5]).collect(), (0..25).map(|at| at % 5).collect()],
        y.iter().copied().collect(),
        0.0,
    )
    .unwrap();
    for zero in [0.0, -0.0] {
        let up = ndarray::Array2::from_elem((5, 5), zero);
        macro_rules! all_zero {
            ($($name:ident: $op:ident, $bound:ident -> $out:ident
                [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {$($({
                let _ = stringify!($backward);
                let none = |given: &[f64]| assert!(given.iter().all(|g| g.to_bits() == 0), "{given:?}");
                let (dx, dy) = lacuna::grad::$name(&x, &y, &up).unwrap();
                none(dx.values());
                none(dy.as_slice().unwrap());
                let (dx, dy) = lacuna::grad::$name(&x, &row, &up).unwrap();
                none(dx.values());
                none(dy.values());
                let (dx, dy) = lacuna::grad::$name(&x.stored(), &same.stored(), &up).unwrap();
                none(dx.values());
                none(dy.values());
            })?)*};
        }
        lacuna::__binary! { all_zero }
        let (dx, dy) = lacuna::grad::where_(&x.isnan().unwrap(), &x, &same, &up).unwrap();
        assert!(dx.values().iter().chain(dy.values()).all(|g| g.to_bits() == 0));
    }
}

/// The gradient of each is what the result changes by.
#[test]
fn gradients_of_two_are_central_differences() {
    let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![1.5, 0.75, 2.5], 3.0).unwrap();
    let y = CooTensor::new([3], vec![vec![0, 1, 2]], vec![2.25, 1.25, 0.5f64], 0.0).unwrap();
    let up = ndarray::arr2(&[[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]]);
    let of = |z: Result<CooTensor<f64>>| (z.unwrap().to_dense().unwrap() * &up).sum();
    let step = 1e-6;
    macro_rules! check {
        ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {$($({
            let _ = stringify!($backward);
            let (dx, dy) = lacuna::grad::$name(&x, &y, &up).unwrap();
            for entry in 0..3 {
                let moved = |by: f64, which: usize| {
                    let (mut x, mut y) = (x.clone(), y.clone());
                    (if which == 0 { &mut x } else { &mut y }).values_mut().unwrap()[entry] += by;
                    of(x.$name(&y))
                };
                for (which, given) in [&dx, &dy].into_iter().enumerate() {
                    let slope = (moved(step, which) - moved(-step, which)) / (2.0 * step);
                    assert!((slope - given.values()[entry]).abs() < 1e-6, "{slope} {given:?} {entry}");
                }
            }
        })?)*};
    }
    lacuna::__binary! { check }
}

/// The dense result, whatever the positions that are not stored come to.
#[test]
fn results_may_be_arrays() {
    check(broadcast_pairs::<f64>(), |Pair { x, y, .. }| {
        let dense_x = array(&x.to_dense());
        for_each_layout(&y.to_dense(), |_, view| {
            let same = |found: Result<ArrayD<f64>>, expected: Result<ArrayD<f64>>| {
                assert_array(&found.unwrap(), &dense_of(&expected.unwrap().view()));
            };
            same(coo(&x).add_dense(&view), lacuna::add(&dense_x, &view));
            same(csr(&x).sub_dense(&view), lacuna::sub(&dense_x, &view));
            same(csr(&x).mul_dense(&view), lacuna::mul(&dense_x, &view));
            same(coo(&x).div_dense(&view), lacuna::div(&dense_x, &view));
        });
    });
    let vast = CooTensor::full([1 << 20, 1 << 20], 1.0).unwrap();
    assert!(matches!(vast.add_dense(&ndarray::arr1(&[1.0])), Err(Error::TooLarge { .. })));
}

/// Word by word, at every position.
#[test]
fn closeness_is_that_of_numpy() {
    let close = |a: f64, b: f64, nan: bool| {
        if a.is_nan() || b.is_nan() {
            return nan && a.is_nan() && b.is_nan();
        }
        a == b || (a.is_finite() && b.is_finite() && (a - b).abs() <= 0.5 + 0.25 * b.abs())
    };
    check((broadcast_pairs::<f64>(), any::<bool>(), any::<bool>()), |(Pair { x, y, number }, nan, alike)| {
        let shape = reference::broadcast_shape(&x.shape, &y.shape).unwrap();
        let y = if alike { Sparse::new(&y.shape, Default::default(), x.fill) } else { y };
        let wide = |x: &Sparse<f64>| reference::broadcast(x, &shape).to_dense();
        let expected = wide(&x).data.iter().zip(&wide(&y).data).all(|(&a, &b)| close(a, b, nan));
        let tolerance = lacuna::Tolerance::within(0.25, 0.5);
        let tolerance = if nan { tolerance.equal_nan() } else { tolerance };
        let (dense_x, dense_y) = (array(&x.to_dense()), array(&y.to_dense()));
        assert_eq!(lacuna::allclose(&coo(&x), &coo(&y), tolerance).unwrap(), expected);
        assert_eq!(csr(&x).allclose(&dense_y, tolerance).unwrap(), expected);
        assert_eq!(lacuna::allclose(&dense_x, &dense_y, tolerance).unwrap(), expected);
        let with_number = x.to_dense().data.iter().all(|&a| close(a, number, nan));
        assert_eq!(coo(&x).allclose(number, tolerance).unwrap(), with_number);
        let stored = x.entries.values().all(|&a| close(a, number, nan));
        assert_eq!(csr(&x).stored().allclose(number, tolerance).unwrap(), stored);
        let stored = x.entries.iter().all(|(at, &a)| y.entries.get(at).is_none_or(|&b| close(a, b, nan)));
        if x.shape == y.shape {
            let y = coo(&y).with_fill(x.fill);
            assert_eq!(coo(&x).allclose(y.stored(), tolerance).unwrap(), stored);
        }
    });
    let x = ndarray::arr1(&[Complex::new(3.0, 4.0)]);
    assert!(lacuna::allclose(&x, Complex::new(3.0, 4.5), (0.0, 0.5)).unwrap());
    assert!(!lacuna::allclose(&x, Complex::new(3.5, 4.5), (0.0, 0.5)).unwrap());
    assert!(lacuna::allclose(&ndarray::arr1(&[u8::MAX]), u8::MAX - 1, (0.0, 1.0)).unwrap());
}

/// Each element is compared as `allclose` compares it. A fill of NaN leaves out the entries of the other operand.
#[test]
fn each_element_is_close_within_a_tolerance() {
    check((pairs::<f64>(), any::<bool>()), |(case, nan)| {
        let close = |a: f64, b: f64| match a.is_nan() || b.is_nan() {
            true => nan && a.is_nan() && b.is_nan(),
            false => a == b || (a.is_finite() && b.is_finite() && (a - b).abs() <= 0.5 + 0.25 * b.abs()),
        };
        if nan {
            let library = is_close_library!(lacuna::Tolerance::within(0.25, 0.5).equal_nan());
            let rule = Rule { of: &|a, b| Ok(close(a, b)), makes_all_one: &|_, _, _| None };
            agree_compared(&case, &library, rule);
        } else {
            let library = is_close_library!(lacuna::Tolerance::within(0.25, 0.5));
            let makes_all_one = |fill: f64, _: Option<f64>, _: bool| fill.is_nan().then_some(true);
            let rule = Rule { of: &|a, b| Ok(close(a, b)), makes_all_one: &makes_all_one };
            agree_compared(&case, &library, rule);
        }
    });
    let x = ndarray::arr1(&[Complex::new(3.0, 4.0), Complex::new(f64::NAN, 1.0)]);
    let found = lacuna::is_close(&x, Complex::new(3.0, 4.5), (0.0, 0.5)).unwrap();
    assert_eq!(found, ndarray::arr1(&[true, false]));
    assert_eq!(ndarray::arr1(&[u8::MAX, 0]).is_close(u8::MAX - 1, (0.0, 1.0)).unwrap(), ndarray::arr1(&[true, false]));
    let wrong = lacuna::is_close(&x, &ndarray::arr1(&[Complex::ZERO; 3]), (0.0, 0.5));
    assert!(matches!(wrong, Err(Error::NotBroadcastable { .. })));
}

#[test]
fn operators_of_one_operand_are_the_named_forms() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.5, -2.0], 0.0).unwrap();
    assert!((-&x).same_as(&x.neg().unwrap()));
    assert!((-x.to_csr().unwrap().stored()).same_as(&x.to_csr().unwrap().stored().neg().unwrap()));
    let flags = x.less(0.0).unwrap();
    assert_eq!((!&flags).to_dense().unwrap(), ndarray::arr1(&[true, true, false]).into_dyn());
    assert!((!flags.stored()).same_as(&flags.stored().not().unwrap()));
    let least = CooTensor::full([1], i8::MIN).unwrap();
    assert!(std::panic::catch_unwind(|| -&least).is_err());
}

/// `x? + y?` needed a reference to what nobody else has, and `2.0 * x` as well.
#[test]
fn operators_take_what_they_own() {
    let (x, y) = (vector(&[0, 2], &[1.0, 2.0], 0.0), vector(&[2, 3], &[10.0, 20.0], 0.0));
    let sum = &x + &y;
    let array = ndarray::Array1::linspace(0.0, 5.0, 6);
    assert!((x.clone() + y.clone()).same_as(&sum) && (&x + y.clone()).same_as(&sum) && (x.clone() + &y).same_as(&sum));
    assert!((x.stored() * y.clone()).same_as(&(x.stored() * &y)));
    assert!((2.0 * x.clone()).same_as(&(&x * 2.0)) && (1.0 / y.stored()).same_as(&y.stored().recip().unwrap()));
    assert!((&array * &x).same_as(&x.mul(&array).unwrap()) && (&array * &y.to_csr().unwrap()).nnz() == 2);
    assert!(array.mul(x.clone()).unwrap().same_as(&x.mul(&array).unwrap()));
    let (some, all) = (x.greater(0.0).unwrap(), CooTensor::full([6], true).unwrap());
    assert!((&some & &all).same_as(&some) && (&some | some.clone()).same_as(&some));
    assert_eq!((some.clone() ^ some).count_nonzero(..).unwrap().item().unwrap(), 0);
}

/// Only 0, 1 and -1 have powers that large.
#[test]
fn powers_of_integers_fit_or_are_refused() {
    let power = |x: i64, y: i64| lacuna::pow(&ndarray::arr0(x), y).map(|z| z[()]);
    assert_eq!((power(-1, i64::MAX), power(-1, i64::MAX - 1), power(0, i64::MAX)), (Ok(-1), Ok(1), Ok(0)));
    assert_eq!((power(1, i64::MAX), power(-2, 63), power(7, 0)), (Ok(1), Ok(i64::MIN), Ok(1)));
    assert!(power(2, 63).is_err() && power(1, -1).is_err() && power(1, i64::MIN).is_err());
    let message = power(3, 41).unwrap_err().to_string();
    assert_eq!(message, "pow at [] does not fit int64; cast the operand first, for example to float64");
}

// ---- by name ----

fn vector(at: &[u32], values: &[f64], fill: f64) -> CooTensor<f64> {
    CooTensor::new([6], vec![at.to_vec()], values.to_vec(), fill).unwrap()
}

#[test]
fn tensors_of_missing_data_are_intersected() {
    let (x, y) = (vector(&[0, 2, 3], &[1.0, 2.0, 3.0], f64::NAN), vector(&[2, 3, 5], &[10.0, 20.0, 30.0], f64::NAN));
    for (found, values) in
        [(&x + &y, [12.0, 23.0]), (&x - &y, [-8.0, -17.0]), (&x * &y, [20.0, 60.0]), (&x / &y, [0.2, 0.15])]
    {
        assert_eq!((found.coords(0), found.values()), (&[2, 3][..], &values[..]));
        assert!(found.fill().is_nan());
    }
    assert_eq!(x.minimum(&y).unwrap().values(), [2.0, 3.0]);
    assert_eq!(x.less(&y).unwrap().coords(0), [2, 3]);
}

#[test]
fn a_pattern_is_shared_where_the_result_has_it() {
    let (x, part) = (vector(&[0, 2, 3], &[1.0, 2.0, 3.0], 0.0), vector(&[2], &[7.0], 0.0));
    assert!((&x + &part).shares_pattern_with(&x) && (&part + &x).shares_pattern_with(&x));
    assert!((&x * &part).shares_pattern_with(&part) && (&part * &x).shares_pattern_with(&part));
    assert!((&x - &x.clone()).shares_pattern_with(&x));
    let other = vector(&[0, 2, 3], &[0.0; 3], 1.0); // equal, in memory of its own
    assert!((&x / &other).shares_pattern_with(&x));
    assert!((&x * 2.0).shares_pattern_with(&x) && (x.stored() + &ndarray::arr1(&[1.0; 6])).shares_pattern_with(&x));
}

#[test]
fn what_is_not_finite_meets_no_implicit_zero() {
    let (x, y) = (vector(&[0, 4], &[1.0, f64::INFINITY], 0.0), vector(&[0, 1], &[3.0, f64::NAN], -0.0));
    let refused = x.mul(&y).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "mul: the result of unstored 0.0 and NaN at [1] is not 0; x.stored() and y.stored() combine stored entries only"
    );
    let swapped = y.mul(&x).unwrap_err();
    assert!(matches!(swapped, Error::NonFinite { coords, left, .. } if coords == [1] && left == "NaN"));
    let (y, x) = (y.with_fill(0.0), x);
    assert_eq!(x.stored().mul(&y).unwrap().entries(), [(vec![0], 3.0)]);
}

#[test]
fn integers_say_where_they_do_not_fit() {
    let x = CooTensor::new([3], vec![vec![1]], vec![100_i8], 0).unwrap();
    assert_eq!(
        x.add(100).unwrap_err().to_string(),
        "add at [1] does not fit int8; cast the operand first, for example to float64"
    );
    assert_eq!(
        x.with_fill(100).add(100).unwrap_err().to_string(),
        "add at the fill does not fit int8; cast the operand first, for example to float64"
    );
    let x = CooTensor::new([3], vec![vec![0, 1, 2]], vec![1_i8, 0, i8::MIN], 0).unwrap();
    assert_eq!(x.div(&x).unwrap_err().to_string(), "div at [1] divides by zero");
    let y = CooTensor::new([3], vec![vec![2]], vec![-1_i8], 1).unwrap();
    assert_eq!(
        x.div(&y).unwrap_err().to_string(),
        "div at [2] does not fit int8; cast the operand first, for example to float64"
    );
    assert_eq!(x.rem(&y).unwrap().values(), [0, 0, 0]);
    // No position holds the fill: what it would be does not matter.
    let full = CooTensor::new([2], vec![vec![0, 1]], vec![4_u8, 6], 0).unwrap();
    assert_eq!(full.div(&full).unwrap().values(), [1, 1]);
    assert!(matches!(full.stored().sub(&CooTensor::full([2], 0).unwrap()), Ok(found) if found.values() == [4, 6]));
    let none = CooTensor::full([2], 0_u8).unwrap();
    assert!(matches!(none.stored().sub(&full), Err(Error::Overflow { coords: Some(at), .. }) if at == [0]));
}

#[test]
fn arrays_that_give_gaps_several_values_are_refused() {
    let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![5.0], 0.0).unwrap();
    let refused = x.mul(&ndarray::arr1(&[1.0, f64::INFINITY])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "mul of the fill is NaN at [.., 1] and 0.0 at [.., 0], but a sparse tensor has one fill; x.stored() skips \
         unstored positions"
    );
    assert_eq!(x.stored().mul(&ndarray::arr1(&[1.0, f64::INFINITY])).unwrap().values(), [f64::INFINITY]);
    // A column that is stored completely may come to anything.
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 1]], vec![5.0, 6.0], 0.0).unwrap();
    assert_eq!(x.add(&ndarray::arr1(&[0.0, 1.0])).unwrap().values(), [6.0, 7.0]);
    assert!(matches!(x.add(&ndarray::arr1(&[0.0, 1.0, 2.0])), Err(Error::NotBroadcastable { .. })));
}

/// Unstored positions are counted block by block. A partial last block counts only its own positions.
#[test]
fn gaps_beside_an_array_are_counted_over_many_entries() {
    let with_rows = |stored: [u32; 2]| {
        let at = |row: u32| (0..stored[row as usize]).map(move |column| (row, column));
        let (rows, columns): (Vec<_>, Vec<_>) = at(0).chain(at(1)).unzip();
        let values = vec![1.0; rows.len()];
        CooTensor::new([2, 700], vec![rows, columns], values, 0.0).unwrap()
    };
    let column = ndarray::arr2(&[[10.0], [20.0]]);
    for (stored, fill) in [([700, 690], 20.0), ([600, 700], 10.0), ([700, 700], 0.0)] {
        let x = with_rows(stored);
        assert_eq!(x.add(&column).unwrap().fill(), fill);
        assert_eq!(x.to_csr().unwrap().add(&column).unwrap().fill(), fill);
    }
    assert!(matches!(with_rows([690, 690]).add(&column), Err(Error::FillVaries { .. })));
    assert!(matches!(with_rows([690, 690]).to_csr().unwrap().add(&column), Err(Error::FillVaries { .. })));
}

#[test]
fn views_have_one_fill() {
    let (x, y) = (vector(&[0], &[1.0], 0.0), vector(&[0], &[2.0], 1.0));
    let refused = x.stored().add(&y).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the fill of tensor 1 is 1.0, the fill of tensor 0 is 0.0; make them equal with with_fill"
    );
    assert_eq!(x.stored().less(&y).unwrap().entries(), [(vec![0], true)]);
    let payload = f64::from_bits(0x7ff8_0000_dead_beef);
    let moved = vector(&[1], &[payload], 0.0).stored().add(&x).unwrap();
    assert_eq!(moved.values()[1].to_bits(), payload.to_bits());
}

#[test]
#[should_panic(expected = "shape [6] does not broadcast together with [5]")]
fn operators_panic_with_the_words_of_the_named_form() {
    let _ = &vector(&[0], &[1.0], 0.0) + &CooTensor::full([5], 1.0).unwrap();
}

/// A result is the left operand of the next operator: `&(&x * 2.0) + &x` was what one had to write.
#[test]
fn operators_take_results_as_they_come() {
    let x = vector(&[0, 2], &[4.0, -1.0], 0.0);
    let found = x.clone() * 2.0 + &x - 1.0;
    assert!(found.same_as(&(&(&(&x * 2.0) + &x) - 1.0)));
    assert!((-x.clone()).same_as(&-&x));
    assert_eq!((x.sum(0).unwrap() / 3.0).item().unwrap(), 1.0);
}

#[test]
fn what_a_broadcast_would_store_is_counted_first() {
    let row = CooTensor::new([1 << 20], vec![vec![0]], vec![1.0], 0.0).unwrap();
    let matrix = CooTensor::full([1 << 31, 1 << 20], 1.0).unwrap();
    let error = row.add(&matrix).unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes, .. } if bytes == 16 << 31), "{error}");
    assert!(error.to_string().contains("x.stored()") && error.to_string().contains("x.scale("), "{error}");
    // Few entries, and 2^34 lanes: their offsets count too.
    let of = |shape: [usize; 3]| CsrTensor::new(shape, vec![0; shape[0] * shape[1] + 1], vec![], vec![], 0.0).unwrap();
    let (x, y) = (of([1 << 17, 1, 4]), of([1, 1 << 17, 1]));
    assert!(matches!(x.add(&y), Err(Error::TooLarge { .. })) && matches!(x.mul(&y), Err(Error::TooLarge { .. })));
    assert!(matches!(x.stored().add(&y), Err(Error::TooLarge { .. })));
    // One stored number is that number.
    let one =
        CooTensor::full([1, 1], 1.0).unwrap().add(&CooTensor::new([1, 1], vec![vec![0]; 2], vec![1.0], 0.0).unwrap());
    assert!(one.unwrap().add(&matrix).unwrap().same_as(&CooTensor::full([1 << 31, 1 << 20], 3.0).unwrap()));
}

/// A square matrix with so many entries in each row, none of which is zero.
fn square(side: u32, each: u32) -> CooTensor<f64> {
    let columns = |row: u32| {
        let mut columns: Vec<u32> = (0..each).map(|k| (row * 31 + k * (side / each)) % side).collect();
        columns.sort_unstable();
        columns
    };
    let rows = (0..side).flat_map(|row| vec![row; each as usize]).collect();
    let values = (0..side * each).map(|entry| f64::from(entry % 17) - 8.5).collect();
    CooTensor::new([side as usize; 2], vec![rows, (0..side).flat_map(columns).collect()], values, 0.0).unwrap()
}

/// Each was refused, or stored every position: a row with a matrix is the first thing that people write.
#[test]
fn a_vector_with_a_large_matrix_keeps_the_pattern() {
    for x in [square(30_000, 3), square(4_000, 2)] {
        let side = x.shape()[0];
        let v = CooTensor::new([side], vec![(0..side as u32).collect()], vec![2.0; side], 0.0).unwrap();
        let column = v.expand_dims(1).unwrap();
        assert!(x.mul(&v).unwrap().same_as(&x.mul(2.0).unwrap()) && x.mul(&v).unwrap().shares_pattern_with(&x));
        assert!(
            x.div(&column).unwrap().same_as(&x.div(2.0).unwrap()) && v.mul(&x).unwrap().same_as(&x.mul(2.0).unwrap())
        );
        assert!(x.stored().mul(&v).unwrap().same_as(&x.mul(2.0).unwrap()));
        assert!(x.stored().sub(&v).unwrap().same_as(&x.stored().sub(2.0).unwrap()));
        assert!(x.to_csr().unwrap().mul(&v.to_csr().unwrap()).unwrap().same_as(&x.to_csr().unwrap().mul(2.0).unwrap()));
        let (dx, dv) = grad::mul(&x, &v, &x).unwrap();
        assert!(dx.same_as(&x.mul(2.0).unwrap()) && dv.same_as(&x.square().unwrap().sum(0).unwrap()));
        let sums = x.sum(lacuna::Axes::from(1).keep_dims()).unwrap();
        let quotient = x.stored().div(&sums).unwrap();
        assert!(quotient.shares_pattern_with(&x) && quotient.fill() == 0.0);
    }
}

#[test]
fn a_single_stored_number_is_that_number() {
    let x = CooTensor::new([100_000; 2], vec![vec![3, 7], vec![5, 9]], vec![1.0, 3.0], 0.0).unwrap();
    let all = lacuna::Axes::all;
    let check = |found: Result<CooTensor<f64>>, values: [f64; 2], fill: f64| {
        let found = found.unwrap();
        assert!(found.shares_pattern_with(&x) && found.values() == values && found.fill() == fill, "{found:?}");
    };
    check(x.div(&x.sum(all()).unwrap()), [0.25, 0.75], 0.0);
    check(x.sub(&x.mean(all()).unwrap()), [1.0 - 4e-10, 3.0 - 4e-10], -4e-10);
    check(x.div(&x.max(all()).unwrap()), [1.0 / 3.0, 1.0], 0.0);
    check(x.div(&x.norm(all()).unwrap()), [1.0 / 10f64.sqrt(), 3.0 / 10f64.sqrt()], 0.0);
    check(x.stored().sub(&x.mean(all()).unwrap()), [1.0 - 4e-10, 3.0 - 4e-10], 0.0);
    let above = x.greater(&x.mean(all()).unwrap()).unwrap();
    assert!(above.values() == [true, true] && !above.fill() && above.shares_pattern_with(&x));
    let chosen = lacuna::where_(&above, &x, &x.max(all()).unwrap()).unwrap();
    assert!(chosen.values() == [1.0, 3.0] && chosen.fill() == 3.0 && chosen.nnz() == 2);
}

/// A quotient by sums stores what is divided, unless a sum is missing.
#[test]
fn quotients_by_sums_are_zero_where_nothing_is_stored() {
    let x = CooTensor::new([2, 4], vec![vec![0, 1], vec![2, 1]], vec![3.0, 1.0], 0.0).unwrap();
    let kept = || lacuna::Axes::from(1).keep_dims();
    let by_all = x.div(&x.sum(lacuna::Axes::all()).unwrap()).unwrap();
    let by_rows = x.div(&x.sum(kept()).unwrap()).unwrap();
    assert_eq!((by_all.values(), by_all.fill()), (&[0.75, 0.25][..], 0.0));
    assert_eq!((by_rows.values(), by_rows.fill()), (&[1.0, 1.0][..], 0.0));
    // The second row is empty, so its sum is not stored: 0 / 0.
    let gappy = CooTensor::new([2, 4], vec![vec![0], vec![2]], vec![3.0], 0.0).unwrap();
    let whole = gappy.div(&gappy.sum(kept()).unwrap()).unwrap();
    assert!(whole.nnz() == 4 && whole.fill().is_nan());
    let stored = gappy.stored().div(&gappy.sum(kept()).unwrap()).unwrap();
    assert_eq!((stored.entries(), stored.fill()), (vec![(vec![0, 2], 1.0)], 0.0));
}

/// The elements of a repeated operand are checked at unstored positions, if there are any.
#[test]
fn elements_that_do_not_give_the_fill_are_named() {
    let x = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 1, 0]], vec![1.0, 2.0, 3.0], 0.0).unwrap();
    let row = |values: [f64; 3]| CooTensor::new([3], vec![vec![0, 1, 2]], values.to_vec(), 0.0).unwrap();
    let coords = |found: Result<CooTensor<f64>>| match found.unwrap_err() {
        error @ Error::NonFinite { .. } => {
            assert!(error.to_string().contains("stored()"), "{error}");
            let Error::NonFinite { coords, left, right, .. } = error else { unreachable!() };
            (coords, left, right)
        }
        error => panic!("{error}"),
    };
    let infinite = row([f64::INFINITY, 1.0, f64::NAN]);
    assert_eq!(coords(x.mul(&infinite)), (vec![0, 2], "unstored 0.0".into(), "NaN".into()));
    assert_eq!(coords(infinite.mul(&x)), (vec![0, 2], "NaN".into(), "unstored 0.0".into()));
    assert_eq!(coords(x.div(&row([0.0, 0.0, 1.0]))), (vec![1, 1], "unstored 0.0".into(), "0.0".into()));
    // The first column is stored completely.
    assert_eq!(x.mul(&row([f64::INFINITY, 1.0, 1.0])).unwrap().values(), [f64::INFINITY, 2.0, f64::INFINITY]);
    assert_eq!(x.stored().mul(&infinite).unwrap().values(), [f64::INFINITY, 2.0, f64::INFINITY]);
    let x = CooTensor::new([2, 2], vec![vec![0], vec![0]], vec![6], 0).unwrap();
    let divisors = CooTensor::new([2], vec![vec![0, 1]], vec![2, 0], 0).unwrap();
    assert!(matches!(x.div(&divisors), Err(Error::DivisionByZero { coords: Some(at), .. }) if at == [0, 1]));
}

/// A row and a column, of which neither has the positions of the result, combine as tensors of its shape do.
#[test]
fn two_repeated_operands_combine_as_in_one_shape() {
    let row = CooTensor::new([1, 2], vec![vec![0], vec![0]], vec![7.0], 0.0).unwrap();
    for (last, fill) in [(0.0, 3.0), (1.0, 3.0), (1.0, 0.0), (1.0, f64::NAN)] {
        let column = CooTensor::new([2, 1], vec![vec![0, 1], vec![0, 0]], vec![7.0, last], fill).unwrap();
        let [wide_row, wide_column] = [&row, &column].map(|x| x.broadcast_to([2, 2]).unwrap());
        let same = |found: Result<CooTensor<f64>>, expected: Result<CooTensor<f64>>| match (found, expected) {
            (Ok(found), Ok(expected)) => assert!(found.same_as(&expected), "{found:?}\n{expected:?}"),
            (found, expected) => assert_eq!(found.is_err(), expected.is_err(), "{found:?}\n{expected:?}"),
        };
        same(row.div(&column), wide_row.div(&wide_column));
        same(column.div(&row), wide_column.div(&wide_row));
        same(row.mul(&column), wide_row.mul(&wide_column));
        same(row.maximum(&column), wide_row.maximum(&wide_column));
    }
    let long = CooTensor::full([1 << 20, 1], 1.0).unwrap();
    let other = CooTensor::new([1, 1 << 20], vec![vec![0], vec![3]], vec![2.0], 1.0).unwrap();
    let dense = CooTensor::from_dense(&ndarray::Array::from_elem([1 << 20, 1], 2.0), 0.0).unwrap();
    assert_eq!(long.add(&other).unwrap().nnz(), 1 << 20);
    let error = dense.stored().add(other.stored()).unwrap_err().to_string();
    assert!(!error.contains("scale"), "{error}");
}

/// The sums of a gradient go over more positions than one piece of them has.
#[test]
fn gradients_of_repeated_operands_sum_over_all_pieces() {
    let lengths = [3, 400, 5, 100];
    let number = |salt: usize| move |at: IxDyn| (at.slice().iter().fold(salt, |n, c| n * 31 + c) % 7) as f64 - 3.0;
    let array = |shape: [usize; 4], salt| ArrayD::from_shape_fn(&shape[..], number(salt));
    let (x, y, upstream) = (array([3, 1, 5, 1], 1), array([1, 400, 5, 100], 2), array(lengths, 3));
    let received = &upstream * &y;
    let sum = received.sum_axis(Axis(3)).insert_axis(Axis(3)).sum_axis(Axis(1)).insert_axis(Axis(1));
    let sparse = |array: &ArrayD<f64>| CooTensor::<f64>::from_dense(array, 0.0).unwrap();
    let (a, b) = (sparse(&x), sparse(&y));
    for dx in [
        grad::mul(&a, &y, &upstream).unwrap().0,
        grad::mul(&a, &b, &upstream).unwrap().0,
        grad::mul(&a, &b, &sparse(&upstream)).unwrap().0,
        grad::mul(&a, &b, &CooTensor::<f64>::from_dense(&upstream, 1.0).unwrap()).unwrap().0,
        grad::mul(&a.to_csr().unwrap(), &y, &upstream).unwrap().0.to_coo().unwrap(),
    ] {
        assert!(dx.pattern() == a.pattern());
        for (entry, value) in dx.values().iter().enumerate() {
            let coords = a.pattern().coords_of(entry).unwrap();
            assert_eq!(*value, sum[&coords[..]], "{coords:?}");
        }
    }
    assert_eq!(grad::mul(&x, &y, &upstream).unwrap().0, sum);
}

/// No operand is repeated along an axis on which the result is not longer.
#[test]
fn an_operand_of_one_row_beside_none_is_not_repeated() {
    let none = CooTensor::<f64>::new([0, 1], vec![vec![]; 2], vec![], 0.0).unwrap();
    let row = CooTensor::new([1, 3], vec![vec![0], vec![1]], vec![2.0], 5.0).unwrap();
    let left = none.stored().sub(row.stored()).unwrap();
    assert_eq!((left.shape().to_vec(), left.nnz(), left.fill()), (vec![0, 3], 0, 5.0));
    let right = row.stored().div(none.stored()).unwrap();
    assert_eq!((right.shape().to_vec(), right.nnz(), right.fill()), (vec![0, 3], 0, 5.0));
    let whole = row.mul(&none).unwrap();
    assert_eq!((whole.shape().to_vec(), whole.nnz(), whole.fill()), (vec![0, 3], 0, 0.0));
    let (of_none, of_row) = grad::mul(&none, &row, &whole).unwrap();
    assert_eq!((of_none.nnz(), of_row.values()), (0, &[0.0][..]));
}

/// A table of the positions of the row would be vast: its entries are searched.
#[test]
fn entries_of_a_sparse_row_are_found_in_vast_shapes() {
    let last = (1 << 31) - 1;
    let coords = vec![vec![0, 0, 7, 9], vec![5, 8, 5, last]];
    let x = CooTensor::new([1 << 31; 2], coords, vec![1.0, 2.0, 4.0, 8.0], 0.0).unwrap();
    let y = CooTensor::new([1 << 31], vec![vec![5, last]], vec![3.0, 5.0], 0.0).unwrap();
    let at = |row: usize, column: usize, value: f64| (vec![row, column], value);
    let met = [at(0, 5, 3.0), at(7, 5, 12.0), at(9, last as usize, 40.0)];
    assert_eq!(x.mul(&y).unwrap().entries(), met);
    assert_eq!(x.stored().mul(&y).unwrap().entries(), met);
    assert_eq!(x.stored().sub(&y).unwrap().values(), [-2.0, 2.0, 1.0, 3.0]);
    assert_eq!(y.sub(x.stored()).unwrap().values(), [2.0, -2.0, -1.0, -3.0]);
    let (dx, dy) = grad::mul(&x, &y, &x).unwrap();
    assert_eq!((dx.values(), dy.values()), (&[3.0, 0.0, 12.0, 40.0][..], &[17.0, 64.0][..]));
}

/// The plans of a row are kept with the pattern, and go with other values.
#[test]
fn a_program_keeps_the_plans_of_a_row() {
    let (x, row) = (Lazy::<CooTensor<f64>>::input("x", [3, 4]), Lazy::<CooTensor<f64>>::input("row", [4]));
    let (product, difference, sums) = (&x * &row, x.stored().sub(row.stored()), (&x + &row).sum(0));
    let program = lacuna::lazy::compile((&product, &difference, &sums)).unwrap();
    let base = CooTensor::new([3, 4], vec![vec![0, 0, 2], vec![0, 1, 3]], vec![1.0, 2.0, 4.0], 0.0).unwrap();
    let of_columns = |columns: Vec<u32>| CooTensor::new([4], vec![columns], vec![3.0, 5.0], 0.0).unwrap();
    for (times, columns) in [(1.0, vec![1, 2]), (2.0, vec![1, 2]), (3.0, vec![0, 3]), (1.0, vec![1, 2])] {
        let (given, row_of) = (base.mul(times).unwrap(), of_columns(columns));
        let (product, difference, sums) = program.run([x.is(&given), row.is(&row_of)]).unwrap();
        assert!(product.same_as(&given.mul(&row_of).unwrap()), "{product:?}");
        assert!(difference.same_as(&given.stored().sub(&row_of).unwrap()), "{difference:?}");
        assert!(sums.same_as(&given.add(&row_of).unwrap().sum(0).unwrap()), "{sums:?}");
    }
}

/// The fill of a quotient depends on the sum, and patterns behind it on that fill.
#[test]
fn a_program_plans_again_where_a_fill_changes() {
    let x = Lazy::<CooTensor<f64>>::input("x", [3, 4]);
    let z = Lazy::<CooTensor<f64>>::input("z", [3, 4]);
    let w = &x / &x.sum(lacuna::Axes::all());
    let program = lacuna::lazy::compile((&w, &(&w * &z), &(&w + &z).sum(0))).unwrap();
    let pattern = vec![vec![0, 2], vec![1, 3]];
    let given = |values: [f64; 2]| CooTensor::new([3, 4], pattern.clone(), values.to_vec(), 0.0).unwrap();
    let others = CooTensor::new([3, 4], vec![vec![0, 1], vec![1, 1]], vec![5.0, 7.0], 0.0).unwrap();
    for values in [[1.0, 3.0], [1.0, 3.0], [2.0, -2.0], [1.0, 3.0]] {
        let given = given(values);
        let (found, product, sums) = program.run([x.is(&given), z.is(&others)]).unwrap();
        let expected = given.div(&given.sum(lacuna::Axes::all()).unwrap()).unwrap();
        assert!(found.same_as(&expected) && found.fill().is_nan() == (values[1] < 0.0));
        assert!(product.same_as(&expected.mul(&others).unwrap()), "{product:?}");
        assert!(sums.same_as(&expected.add(&others).unwrap().sum(0).unwrap()), "{sums:?}");
    }
}

#[test]
fn numbers_take_the_type_of_the_tensor() {
    let x = CooTensor::new([2], vec![vec![1]], vec![2.5_f32], 0.0).unwrap();
    assert_eq!((&x * 2.0).values(), [5.0]);
    assert_eq!(x.sub(1.0).unwrap().fill(), -1.0);
    assert_eq!(((1.0 - &x).values(), (5.0 / &x).values()), (&[-1.5][..], &[2.0][..]));
    assert_eq!((ndarray::arr1(&[1_u8, 2]).mul(3).unwrap()).to_vec(), [3, 6]);
}

/// Rules of gradients where the formula of the derivative does not have a value.
#[test]
fn gradients_at_the_origin_and_of_equal_infinities() {
    let infinity = f64::INFINITY;
    let (x, y) = (ndarray::arr1(&[infinity, -infinity, 0.0, 0.0]), ndarray::arr1(&[infinity, -infinity, 0.0, -0.0]));
    let up = ndarray::arr1(&[2.0, 4.0, 6.0, 8.0]);
    let (dx, dy) = grad::logaddexp(&x, &y, &up).unwrap();
    let halves = ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]).into_dyn();
    assert_eq!((&dx, &dy), (&halves, &halves));
    for (dx, dy) in [grad::hypot(&x, &y, &up).unwrap(), grad::atan2(&x, &y, &up).unwrap()] {
        assert_eq!((dx[2], dx[3], dy[2], dy[3]), (0.0, 0.0, 0.0, 0.0));
    }
    assert_eq!(lacuna::hypot(&x, f64::NAN).unwrap().as_slice().unwrap()[..2], [infinity, infinity]);
}
