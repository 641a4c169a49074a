//! Folds and positions of extremes, and the gradient of `any`, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{
    Element, Real, Ring, all, any, argmax, argmin, count_nonzero, grad, max, mean, median, min, nanprod, nanquantile,
    norm, prod, quantile, sum,
};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::Sparse;
use lacuna_fuzz::reference::exact::Summed;
use lacuna_fuzz::reference::reductions::{self, Group, Spread};
use lacuna_fuzz::reference::{gradients, ops, structure};
use lacuna_fuzz::{Draw, Reduction, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

/// Demands that a reduction of each kind of operand is the reference's, be it an error.
macro_rules! check {
    ($x:expr, $reduction:expr, $name:ident $(($argument:expr))?, $reference:expr) => {{
        let (axes, x) = (&$reduction.axes, $x);
        let stored = structure::reduce(&x.coords(), &$reduction.normalised, $reduction.keep_dims);
        match reductions::reduce(&x.to_dense(), &$reduction.normalised, $reduction.keep_dims, $reference) {
            Some(expected) => {
                assert_computed(&$name(&coo(x), $($argument,)? axes).unwrap(), &expected, &stored);
                assert_computed(&$name(&csr(x), $($argument,)? axes).unwrap(), &expected, &stored);
                for_each_layout(&x.to_dense(), |_, view| {
                    assert_array(&$name(&view, $($argument,)? axes).unwrap(), &expected)
                });
            }
            None => {
                assert!($name(&coo(x), $($argument,)? axes).is_err() && $name(&csr(x), $($argument,)? axes).is_err());
                for_each_layout(&x.to_dense(), |_, view| assert!($name(&view, $($argument,)? axes).is_err()));
            }
        }
    }};
}

fn run<T>(u: &mut Unstructured<'_>, product: impl Fn(&Group<T>) -> Option<<T as Summed>::Sum>) -> arbitrary::Result<()>
where
    T: Draw + Both + Spread + Real<Median = <T as Spread>::Spread>,
    T: Ring<Sum = <T as Summed>::Sum, Mean = <T as Summed>::Mean>,
    <T as Summed>::Sum: Both,
    <T as Summed>::Mean: Both,
    <T as Spread>::Spread: Both,
{
    let x = sparse::<T>(u)?;
    let reduction = Reduction::draw(u, x.shape.len())?;
    let (normalised, keep_dims) = (&reduction.normalised, reduction.keep_dims);
    let dense = x.to_dense();
    let expected = ops::any(&dense, normalised, keep_dims);
    let stored = structure::reduce(&x.coords(), normalised, keep_dims);
    let upstream = sparse_of::<f64>(u, &reduction.result_shape(&x.shape))?;
    let gradient = gradients::any_backward(&x.shape, normalised, keep_dims, &upstream.to_dense());

    assert_tensor(&any(&coo(&x), &reduction.axes).unwrap(), &expected, &stored);
    let dx = grad::any(&coo(&x), &csr(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    assert_tensor(&any(&csr(&x), &reduction.axes).unwrap(), &expected, &stored);
    let dx = grad::any(&csr(&x), &coo(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    for_each_layout(&dense, |_, view| {
        assert_array(&any(&view, &reduction.axes).unwrap(), &expected);
        assert_array(&grad::any(&view, &coo(&upstream), &reduction.axes).unwrap(), &gradient);
    });
    counts(&x, &reduction);
    check!(&x, &reduction, all, reductions::all);
    check!(&x, &reduction, sum, reductions::sum);
    check!(&x, &reduction, mean, reductions::mean);
    check!(&x, &reduction, min, reductions::min);
    check!(&x, &reduction, max, reductions::max);
    check!(&x, &reduction, argmin, reductions::argmin);
    check!(&x, &reduction, argmax, reductions::argmax);
    check!(&x, &reduction, prod, &product);
    check!(&x, &reduction, median, |group| reductions::quantile(group, 0.5, "linear", false));
    let q = f64::from(u.int_in_range(0..=1000)?) / 1000.0;
    check!(&x, &reduction, quantile(q), |group| reductions::quantile(group, q, "linear", false));
    check!(&x, &reduction, nanquantile(q), |group| reductions::quantile(group, q, "linear", true));
    Ok(())
}

/// What floats alone have, and the gradient of products.
fn of_floats(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<f64>(u)?;
    let reduction = Reduction::draw(u, x.shape.len())?;
    check!(&x, &reduction, norm, |group| reductions::norm(group, 2));
    check!(&x, &reduction, nanprod, reductions::nanprod);
    let upstream = sparse_of::<f64>(u, &reduction.result_shape(&x.shape))?;
    let share = |group: &Group<f64>, g| reductions::prod_shares(group, g, false);
    let (normalised, keep_dims) = (&reduction.normalised, reduction.keep_dims);
    let gradient = reductions::backward(&x.to_dense(), normalised, keep_dims, &upstream.to_dense(), share);
    let dx = grad::prod(&coo(&x), &csr(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
    let dx = grad::prod(&csr(&x), &coo(&upstream), &reduction.axes).unwrap();
    assert_entries(&dx, &x.pattern_of(&gradient));
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
        Ok(0) => run::<f64>(&mut u, reductions::prod).and_then(|()| of_floats(&mut u)),
        Ok(1) => run::<i8>(&mut u, reductions::prod_of_integers),
        _ => run::<bool>(&mut u, reductions::prod_of_integers),
    };
});
