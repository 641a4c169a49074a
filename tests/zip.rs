//! Elementwise operations of two operands against the reference.

use crate::generators::{Drawn, SparseSeed, endless, huge, seeds, shapes};
use crate::reference::dense::{Dense, Sparse};
use crate::reference::scalar::Scalar;
use crate::reference::zip::{self as reference, Arith, Computes, Outcome, Refused, Rule, Why};
use crate::support::*;
use lacuna::prelude::*;
use lacuna::{CooTensor, CsrTensor, Element, Error, Pattern, Result, Tensor};
use ndarray::{ArrayD, ArrayViewD};
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

/// What the pattern of the second one has to do with that of the first.
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

/// What the definition says of one operation.
struct Definition<'a, T, U> {
    rule: Rule<'a, T, U>,
    /// Among stored entries, what one alone gives on the left or on the right.
    alone: Option<&'a dyn Fn(T, bool) -> std::result::Result<U, Why>>,
    /// A value as a computed fill.
    implicit: fn(U) -> U,
    /// The fill in the type of the results, zero if it has another.
    own: fn(T) -> U,
    /// Whether views of different fills are refused.
    of_one_fill: bool,
}

/// What is the same about a refusal of the library and one of the reference.
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

/// What stands beside an array comes to one fill, or is refused.
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
    ($case:expr, $type:ty: $($name:ident $op:ident $alone:expr),*) => {$({
        let rule = Rule {
            of: &|a, b| <$type>::arith(Arith::$op, a, b),
            makes_all_one: &|fill, other, left| <$type>::makes_all_one(Arith::$op, fill, other, left),
        };
        let (implicit, own) = (|value: $type| Element::as_implicit(value), |fill| fill);
        let definition = Definition { rule, alone: $alone, implicit, own, of_one_fill: true };
        agree::<$type, $type>($case, &library!($name), &definition);
    })*};
}

/// Among stored entries one alone is itself.
fn moved<T>(value: T, _: bool) -> std::result::Result<T, Why> {
    Ok(value)
}

/// One alone on the right has the other sign.
fn negated<T: Computes>(value: T, on_the_left: bool) -> std::result::Result<T, Why> {
    if on_the_left { Ok(value) } else { value.negated() }
}

/// Comparisons.
macro_rules! comparisons {
    ($case:expr, $type:ty: $($name:ident $sign:tt),*) => {$({
        let rule = Rule {
            of: &|a: $type, b: $type| Ok(a $sign b),
            makes_all_one: &|fill, _, _| Scalar::is_nan(fill).then_some(true),
        };
        let is_bool = std::any::TypeId::of::<$type>() == std::any::TypeId::of::<bool>();
        let own = if is_bool { |fill: $type| fill.truthy() } else { |_: $type| false };
        let definition = Definition { rule, alone: None, implicit: |value| value, own, of_one_fill: is_bool };
        agree::<$type, bool>($case, &library!($name), &definition);
    })*};
}

/// What every type has.
fn sums_products_and_equality_are_those_of_the_definition<T: Both + Drawn + Tame + Computes>() {
    check(pairs::<T>(), |case| {
        arithmetic!(&case, T: add Add Some(&moved), mul Mul None);
        comparisons!(&case, T: equal ==);
    });
}

for_all_types!(sums_products_and_equality_are_those_of_the_definition);

#[test]
fn floats_have_all_of_them() {
    check(pairs::<f64>(), |case| {
        arithmetic!(&case, f64: sub Sub Some(&negated), div Div None, rem Rem None, rem_euclid RemEuclid None,
            minimum Minimum Some(&moved), maximum Maximum Some(&moved));
        comparisons!(&case, f64: not_equal !=, less <, less_equal <=, greater >, greater_equal >=);
    });
}

#[test]
fn integers_have_all_of_them() {
    check(pairs::<i8>(), |case| {
        arithmetic!(&case, i8: sub Sub Some(&negated), div Div None, rem Rem None, rem_euclid RemEuclid None,
            minimum Minimum Some(&moved), maximum Maximum Some(&moved),
            bit_and And None, bit_or Or Some(&moved), bit_xor Xor Some(&moved));
        comparisons!(&case, i8: less <, greater_equal >=);
    });
    check(pairs::<u64>(), |case| {
        arithmetic!(&case, u64: sub Sub Some(&negated), div Div None, maximum Maximum Some(&moved));
    });
}

#[test]
fn booleans_have_logic() {
    check(pairs::<bool>(), |case| {
        arithmetic!(&case, bool: bit_and And None, bit_or Or Some(&moved), bit_xor Xor Some(&moved),
            minimum Minimum Some(&moved), maximum Maximum Some(&moved));
        comparisons!(&case, bool: not_equal !=, less <);
    });
}

#[test]
fn complex_numbers_have_the_four_operations() {
    check(pairs::<Complex<f64>>(), |case| {
        arithmetic!(&case, Complex<f64>: sub Sub Some(&negated), div Div None);
        comparisons!(&case, Complex<f64>: not_equal !=);
    });
}

#[cfg(feature = "half")]
#[test]
fn floats_of_16_bits_are_rounded_once() {
    check(pairs::<half::f16>(), |case| {
        arithmetic!(&case, half::f16: sub Sub Some(&negated), div Div None, rem_euclid RemEuclid None);
    });
    check(pairs::<half::bf16>(), |case| {
        arithmetic!(&case, half::bf16: mul Mul None, minimum Minimum Some(&moved));
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
