//! Elementwise operations of two operands, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Element, Error, Pattern, Result, Tensor, add, div, less, maximum, mul, sub};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::Sparse;
use lacuna_fuzz::reference::scalar::Scalar;
use lacuna_fuzz::reference::zip::{self as reference, Arith, Computes, Outcome, Refused, Rule, Why};
use lacuna_fuzz::{Draw, shape, sparse_of};
use libfuzzer_sys::fuzz_target;

fn assert_outcome<P: Pattern, U: Both>(found: Result<Tensor<P, U>>, expected: &Outcome<U>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_entries(&found, expected),
        (Err(Error::NonFinite { coords, .. }), Err(Refused::NotFinite(at))) => assert_eq!(coords, *at),
        (Err(Error::Overflow { coords, .. }), Err(Refused::At(Why::Overflow, at))) => assert_eq!(coords, *at),
        (Err(Error::DivisionByZero { coords, .. }), Err(Refused::At(Why::ByZero, at))) => assert_eq!(coords, *at),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

/// The same as `shape` but for some axes of length 1, and some in front that are left out.
fn smaller(u: &mut Unstructured<'_>, shape: &[usize]) -> arbitrary::Result<Vec<usize>> {
    let ones: u8 = u.arbitrary()?;
    let left_out = u.int_in_range(0..=shape.len().min(2))?;
    let one = |(axis, &length): (usize, &usize)| if ones >> axis & 1 == 1 { 1 } else { length };
    Ok(shape.iter().enumerate().map(one).skip(left_out).collect())
}

/// Two operands, and the same broadcast to one shape.
fn operands<T: Draw>(u: &mut Unstructured<'_>) -> arbitrary::Result<[Sparse<T>; 4]> {
    let whole = shape(u)?;
    let other = if u.arbitrary()? { smaller(u, &whole)? } else { whole.clone() };
    let (x, mut y) = (sparse_of::<T>(u, &whole)?, sparse_of::<T>(u, &other)?);
    if whole == other && u.arbitrary()? {
        let values: Vec<T> = y.entries.values().copied().chain([y.fill]).collect();
        y.entries = x.entries.keys().cloned().zip(values.into_iter().cycle()).collect();
    }
    let wide = reference::broadcast_shape(&x.shape, &y.shape).expect("one is the other's, cut down");
    let (wide_x, wide_y) = (reference::broadcast(&x, &wide), reference::broadcast(&y, &wide));
    Ok([x, y, wide_x, wide_y])
}

/// One operation on tensors of both formats, by their stored views, and on arrays.
macro_rules! agree {
    ($operands:expr, $type:ty: $($name:ident $of:expr, $makes_all_one:expr;)*) => {$({
        let [x, y, wide_x, wide_y] = $operands;
        let rule = Rule { of: &$of, makes_all_one: &$makes_all_one };
        let expected = reference::broadcast_whole(x, y, &rule, Element::as_implicit);
        assert_outcome($name(&coo(x), &coo(y)), &expected);
        assert_outcome($name(&csr(x), &csr(y)), &expected);
        let dense = reference::dense(&wide_x.to_dense(), &wide_y.to_dense(), &rule);
        for_each_layout(&x.to_dense(), |_, view| match ($name(&view, &array(&y.to_dense())), &dense) {
            (Ok(found), Ok(expected)) => assert_array(&found, expected),
            (found, expected) => assert!(found.is_err() && expected.is_err()),
        });
        let beside = reference::beside_dense(wide_x, &wide_y.to_dense(), &rule, Element::as_implicit, Scalar::zero());
        match (beside, $name(&coo(x), &array(&y.to_dense()))) {
            // What a result without gaps has as its fill is of the tensor, or zero.
            (Some(Ok(expected)), Ok(found)) => assert_array(&found.to_dense().unwrap(), &expected.to_dense()),
            (Some(expected), found) => assert_outcome(found, &expected),
            (None, found) => assert!(found.is_err()),
        }
    })*};
}

fn arith<T: Computes>(op: Arith) -> impl Fn(T, T) -> std::result::Result<T, Why> {
    move |a, b| T::arith(op, a, b)
}

fn same_of_all<T: Computes>(op: Arith) -> impl Fn(T, Option<T>, bool) -> Option<bool> {
    move |fill, other, on_the_left| T::makes_all_one(op, fill, other, on_the_left)
}

fn run<T: Draw + Both + Computes + lacuna::Remainder>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let operands = &operands::<T>(u)?;
    match u.int_in_range(0..=5)? {
        0 => agree!(operands, T: add arith(Arith::Add), same_of_all(Arith::Add);),
        1 => agree!(operands, T: sub arith(Arith::Sub), same_of_all(Arith::Sub);),
        2 => agree!(operands, T: mul arith(Arith::Mul), same_of_all(Arith::Mul);),
        3 => agree!(operands, T: div arith(Arith::Div), same_of_all(Arith::Div);),
        4 => agree!(operands, T: maximum arith(Arith::Maximum), same_of_all(Arith::Maximum);),
        _ => agree!(operands, T:
            less |a: T, b: T| Ok(a < b), |fill: T, _, _| Scalar::is_nan(fill).then_some(true);),
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=2) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<u64>(&mut u),
        _ => run::<i8>(&mut u),
    };
});
