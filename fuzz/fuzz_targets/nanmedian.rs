//! `nanmedian`, its positions, its stored-only form and their gradients, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Axes, EvenCount, MedianGradient, Nanmedian, Real, grad, nanmedian, nanmedian_index};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::ops::Even;
use lacuna_fuzz::reference::scalar::RealScalar;
use lacuna_fuzz::reference::{gradients, ops, structure};
use lacuna_fuzz::{Draw, Reduction, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

/// Options of the library and of the reference that mean the same.
fn options(u: &mut Unstructured<'_>, axes: &Axes) -> arbitrary::Result<(Nanmedian, Even, gradients::Rule)> {
    let (even, reference_even) = *u.choose(&[(EvenCount::Mean, Even::Mean), (EvenCount::Lower, Even::Lower)])?;
    let rules = [(MedianGradient::Spread, gradients::Rule::Spread), (MedianGradient::First, gradients::Rule::First)];
    let (rule, reference_rule) = *u.choose(&rules)?;
    let mut options = Nanmedian::over(axes);
    (options.even, options.rule) = (even, rule);
    Ok((options, reference_even, reference_rule))
}

fn run<T: Draw + Both + Real + RealScalar<Median = <T as Real>::Median>>(
    u: &mut Unstructured<'_>,
) -> arbitrary::Result<()>
where
    <T as Real>::Median: Both,
{
    let x = sparse::<T>(u)?;
    let reduction = Reduction::draw(u, x.shape.len())?;
    let (normalised, keep_dims) = (&reduction.normalised, reduction.keep_dims);
    let (options, even, rule) = options(u, &reduction.axes)?;
    let upstream = sparse_of::<f32>(u, &reduction.result_shape(&x.shape))?;
    let (dense, dense_upstream) = (x.to_dense(), upstream.to_dense());
    let stored = structure::reduce(&x.coords(), normalised, keep_dims);

    let expected = ops::nanmedian(&dense, normalised, keep_dims, even);
    let positions = ops::nanmedian_index(&dense, normalised, keep_dims);
    let (values, found) = nanmedian_index(&coo(&x), &options).unwrap();
    assert_tensor(&values, &expected, &stored);
    assert_tensor(&found, &positions, &stored);
    let gradient = gradients::nanmedian_backward(&dense, normalised, keep_dims, rule, even, &dense_upstream);
    let dx = grad::nanmedian(&coo(&x), &csr(&upstream), &options).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    for_each_layout(&dense, |_, view| {
        assert_array(&nanmedian(&view, &options).unwrap(), &expected);
        assert_array(&grad::nanmedian(&view, &coo(&upstream), &options).unwrap(), &gradient);
    });

    let expected_stored = ops::nanmedian_stored(&x, normalised, keep_dims, even);
    let positions_stored = ops::nanmedian_stored_index(&x, normalised, keep_dims);
    let (values, found) = nanmedian_index(&coo(&x).stored(), &options).unwrap();
    assert_tensor(&values, &expected_stored, &stored);
    assert_tensor(&found, &positions_stored, &stored);
    let gradient_stored = gradients::nanmedian_stored_backward(&x, normalised, keep_dims, rule, even, &dense_upstream);
    let dx = grad::nanmedian(&coo(&x).stored(), &coo(&upstream), &options).unwrap();
    assert_entries(&dx, &gradient_stored);

    let (values, found) = nanmedian_index(&csr(&x), &options).unwrap();
    assert_tensor(&values, &expected, &stored);
    assert_tensor(&found, &positions, &stored);
    let dx = grad::nanmedian(&csr(&x), &coo(&upstream), &options).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    let dx = grad::nanmedian(&csr(&x).stored(), &coo(&upstream), &options).unwrap();
    assert_entries(&dx, &gradient_stored);
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=3) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<f32>(&mut u),
        Ok(2) => run::<i64>(&mut u),
        _ => run::<i8>(&mut u),
    };
});
