//! To sprs and back: nothing is lost.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{CooTensor, CsrTensor, Duplicates};
use lacuna_fuzz::compare::{coo, csr};
use lacuna_fuzz::sparse;
use libfuzzer_sys::fuzz_target;

fn run(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<f64>(u)?;
    let (coo, csr) = (coo(&x), csr(&x));
    let fits = x.shape.len() == 2 && x.fill.to_bits() == 0;
    assert_eq!(csr.as_sprs().is_ok(), fits);
    assert_eq!(coo.clone().into_sprs().is_ok(), fits);
    if fits {
        assert!(CsrTensor::from_sprs(csr.clone().into_sprs().unwrap()).unwrap().same_as(&csr));
        assert!(CsrTensor::from_sprs(csr.to_sprs_csc().unwrap()).unwrap().same_as(&csr));
        assert!(CooTensor::from_sprs(&coo.clone().into_sprs().unwrap(), Duplicates::Error).unwrap().same_as(&coo));
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
