//! Conversions keep the dense form and every stored entry: formats, dense, permutation, reshape, prune.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{CooTensor, CsrTensor, Element};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::structure;
use lacuna_fuzz::{Draw, shape, sparse};
use libfuzzer_sys::fuzz_target;

fn run(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<f64>(u)?;
    let (coo, csr, dense) = (coo(&x), csr(&x), x.to_dense());
    assert_entries(&coo.to_csr().unwrap(), &x);
    assert_entries(&csr.to_coo().unwrap(), &x);
    assert_array(&csr.to_dense().unwrap(), &dense);

    let fill = f64::draw(u)?;
    for_each_layout(&dense, |_, view| {
        let expected = dense.to_sparse(fill);
        assert!(CooTensor::from_dense(&view, fill).unwrap().same_as(&lacuna_fuzz::compare::coo(&expected)));
        assert!(CsrTensor::from_dense(&view, fill).unwrap().same_as(&lacuna_fuzz::compare::csr(&expected)));
    });
    assert!(coo.prune().unwrap().entries().iter().all(|(_, value)| !value.same(x.fill)));

    let mut order: Vec<usize> = (0..x.shape.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, u.choose_index(at + 1)?);
    }
    let axes: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
    let permuted = array(&dense).permuted_axes(order.clone());
    let stored = structure::permute(&x.coords(), &order);
    let expected = dense_of(&permuted.view());
    assert_tensor(&coo.permute_axes(&axes).unwrap(), &expected, &stored);
    assert_tensor(&csr.permute_axes(&axes).unwrap(), &expected, &stored);

    let target = shape(u)?;
    let fits = target.iter().product::<usize>() == dense.data.len();
    assert_eq!(coo.reshape(target.clone()).is_ok(), fits);
    if fits {
        let expected = lacuna_fuzz::reference::dense::Dense::new(&target, dense.data);
        let stored = structure::reshape(&x.coords(), &x.shape, &target);
        assert_tensor(&coo.reshape(target.clone()).unwrap(), &expected, &stored);
        assert_tensor(&csr.reshape(target).unwrap(), &expected, &stored);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
