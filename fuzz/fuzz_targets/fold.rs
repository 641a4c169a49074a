//! The folds `any` and `count_nonzero`, and the gradient of `any`, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Element, any, any_backward, count_nonzero};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::Sparse;
use lacuna_fuzz::reference::{gradients, ops, structure};
use lacuna_fuzz::{Draw, Reduction, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

fn run<T: Draw + Both>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<T>(u)?;
    let reduction = Reduction::draw(u, x.shape.len())?;
    let (normalised, keep_dims) = (&reduction.normalised, reduction.keep_dims);
    let dense = x.to_dense();
    let expected = ops::any(&dense, normalised, keep_dims);
    let stored = structure::reduce(&x.coords(), normalised, keep_dims);
    let upstream = sparse_of::<f64>(u, &reduction.result_shape(&x.shape))?;
    let gradient = gradients::any_backward(&x.shape, normalised, keep_dims, &upstream.to_dense());

    assert_tensor(&any(&coo(&x), &reduction.axes).unwrap(), &expected, &stored);
    let dx = any_backward(&coo(&x), &csr(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    assert_tensor(&any(&csr(&x), &reduction.axes).unwrap(), &expected, &stored);
    let dx = any_backward(&csr(&x), &coo(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    for_each_layout(&dense, |_, view| {
        assert_array(&any(&view, &reduction.axes).unwrap(), &expected);
        assert_array(&any_backward(&view, &coo(&upstream), &reduction.axes).unwrap(), &gradient);
    });
    counts(&x, &reduction);
    Ok(())
}

/// The counts of all positions, and those of the entries alone: what is absent counts as a zero does.
fn counts<T: Draw + Both>(x: &Sparse<T>, reduction: &Reduction) {
    let (normalised, keep_dims) = (&reduction.normalised, reduction.keep_dims);
    let stored = structure::reduce(&x.coords(), normalised, keep_dims);
    let dense = x.to_dense();
    let expected = ops::count_nonzero(&dense, normalised, keep_dims);
    assert_tensor(&count_nonzero(&coo(x), &reduction.axes).unwrap(), &expected, &stored);
    assert_tensor(&count_nonzero(&csr(x), &reduction.axes).unwrap(), &expected, &stored);
    for_each_layout(&dense, |_, view| assert_array(&count_nonzero(&view, &reduction.axes).unwrap(), &expected));

    let absent = Sparse::new(&x.shape, x.entries.clone(), <T as Element>::ZERO);
    let expected = ops::count_nonzero(&absent.to_dense(), normalised, keep_dims);
    assert_tensor(&count_nonzero(&coo(x).stored(), &reduction.axes).unwrap(), &expected, &stored);
    assert_tensor(&count_nonzero(&csr(x).stored(), &reduction.axes).unwrap(), &expected, &stored);
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=2) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<i8>(&mut u),
        _ => run::<bool>(&mut u),
    };
});
