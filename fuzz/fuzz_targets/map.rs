//! The operations of one element and their gradients, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{CooTensor, CsrTensor, Element, Error, Result, Tensor};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Sparse};
use lacuna_fuzz::reference::unary;
use lacuna_fuzz::{Draw, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, ArrayViewD};

/// One operation by name, on each kind of operand.
struct Op<T> {
    name: &'static str,
    coo: fn(&CooTensor<T>) -> Result<CooTensor<T>>,
    csr: fn(&CsrTensor<T>) -> Result<CsrTensor<T>>,
    array: fn(&ArrayViewD<'_, T>) -> Result<ArrayD<T>>,
}

macro_rules! ops {
    ($($name:ident)*) => {
        &[$(Op {
            name: stringify!($name),
            coo: |x| x.$name(),
            csr: |x| lacuna::$name(x),
            array: |x| lacuna::$name(x),
        }),*]
    };
}

/// A gradient by the name of its function.
type Backward = (&'static str, fn(&CooTensor<f64>, &CsrTensor<f64>) -> Result<CooTensor<f64>>);

macro_rules! gradients {
    ($($name:ident)*) => {
        &[$((stringify!($name), |x, upstream| lacuna::grad::$name(x, upstream))),*]
    };
}

const FLOATS: &[Op<f64>] = ops! {
    neg abs sign square sqrt cbrt exp exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan sinh cosh tanh recip round
    floor ceil trunc
};
const INTEGERS: &[Op<i8>] = ops! { neg abs sign square };
const GRADIENTS: &[Backward] = gradients! {
    neg abs square sqrt cbrt exp
    exp_m1 ln ln_1p log2 log10 sin
    cos tan asin acos atan sinh
    cosh tanh recip
};

/// The result for the entries and the fill, if each has one; a fill that no position holds may have none.
fn expected<T: Draw + Both>(x: &Sparse<T>, f: impl Fn(T) -> Option<T>) -> Option<Sparse<T>> {
    let entries = x.entries.iter().map(|(at, &value)| Some((at.clone(), f(value)?))).collect::<Option<_>>()?;
    let has_gaps = x.to_dense().data.len() > x.entries.len();
    let fill = if has_gaps { f(x.fill)? } else { f(x.fill).unwrap_or(<T as Element>::ZERO) };
    Some(Sparse::new(&x.shape, entries, fill.as_implicit()))
}

fn check<P: lacuna::Pattern, T: Draw + Both>(found: Result<Tensor<P, T>>, expected: Option<&Sparse<T>>) {
    match (found, expected) {
        (Ok(found), Some(expected)) => assert_entries(&found, expected),
        (Err(Error::Overflow { .. }), None) => {}
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

fn run<T: Draw + Both>(x: &Sparse<T>, op: &Op<T>, f: impl Fn(T) -> Option<T>) {
    let wanted = expected(x, &f);
    check((op.coo)(&coo(x)), wanted.as_ref());
    check((op.csr)(&csr(x)), wanted.as_ref());
    let dense = x.to_dense();
    let wanted: Option<Vec<T>> = dense.data.iter().map(|&value| f(value)).collect();
    for_each_layout(&dense, |_, view| match ((op.array)(&view), &wanted) {
        (Ok(found), Some(wanted)) => assert_array(&found, &Dense::new(&x.shape, wanted.clone())),
        (Err(Error::Overflow { .. }), None) => {}
        (found, wanted) => panic!("{found:?} is not {wanted:?}"),
    });
}

fn floats(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let op = u.choose(FLOATS)?;
    run(&sparse::<f64>(u)?, op, |value| Some(unary::function(op.name, value)));
    Ok(())
}

fn powers(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (exponent, x) = (f64::draw(u)?, sparse::<f64>(u)?);
    let wanted = expected(&x, |value| Some(unary::power(value, exponent)));
    check(lacuna::powf(&coo(&x), exponent), wanted.as_ref());
    Ok(())
}

fn integers(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let op = u.choose(INTEGERS)?;
    run(&sparse::<i8>(u)?, op, |value| unary::of_integer(op.name, value.into())?.try_into().ok());
    Ok(())
}

fn gradients(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let (name, backward) = u.choose(GRADIENTS)?;
    let x = sparse::<f64>(u)?;
    let upstream = sparse_of::<f64>(u, &x.shape)?;
    let received = |(&value, gradient)| unary::received(gradient, unary::slope(name, value));
    let (values, gradients) = (x.to_dense().data, upstream.to_dense().data);
    let dense = Dense::new(&x.shape, values.iter().zip(gradients).map(received).collect());
    assert_entries(&backward(&coo(&x), &csr(&upstream)).unwrap(), &x.pattern_of(&dense));
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=4) {
        Ok(0) => powers(&mut u),
        Ok(1) => integers(&mut u),
        Ok(2) => gradients(&mut u),
        _ => floats(&mut u),
    };
});
