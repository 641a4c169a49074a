//! The inf and real tests, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Real, Tensor, isfinite, isinf, isnan, isneginf, isposinf, isreal};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Sparse};
use lacuna_fuzz::reference::ops;
use lacuna_fuzz::reference::scalar::RealScalar;
use lacuna_fuzz::{Draw, sparse};
use libfuzzer_sys::fuzz_target;

fn check<P: lacuna::Pattern, T: Draw + Both>(
    x: &Sparse<T>,
    tensor: &Tensor<P, T>,
    found: Tensor<P, bool>,
    expected: &Dense<bool>,
) {
    assert!(found.shares_pattern_with(tensor));
    assert_tensor(&found, expected, &x.coords());
}

fn run<T: Draw + Both + Real + RealScalar>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<T>(u)?;
    let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
    check(&x, &coo, isposinf(&coo).unwrap(), &ops::isposinf(&dense));
    check(&x, &csr, isneginf(&csr).unwrap(), &ops::isneginf(&dense));
    check(&x, &coo, isinf(&coo).unwrap(), &ops::isinf(&dense));
    check(&x, &csr, isnan(&csr).unwrap(), &ops::isnan(&dense));
    check(&x, &coo, isfinite(&coo).unwrap(), &ops::isfinite(&dense));
    check(&x, &csr, isreal(&csr).unwrap(), &ops::isreal(&dense));
    for_each_layout(&dense, |_, view| {
        assert_array(&isposinf(&view).unwrap(), &ops::isposinf(&dense));
        assert_array(&isneginf(&view).unwrap(), &ops::isneginf(&dense));
        assert_array(&isfinite(&view).unwrap(), &ops::isfinite(&dense));
    });
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=2) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<f32>(&mut u),
        _ => run::<i64>(&mut u),
    };
});
