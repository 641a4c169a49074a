//! Paddle's and PyTorch's layouts: hostile arrays are refused, valid ones come back as they were.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{CsrTensor, Error};
use lacuna_fuzz::compare::csr;
use lacuna_fuzz::sparse;
use libfuzzer_sys::fuzz_target;
use ndarray::Array1;

fn hostile(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let shape: Vec<usize> = u.arbitrary::<Vec<u8>>()?.into_iter().take(5).map(usize::from).collect();
    let crows: Vec<i64> = u.arbitrary::<Vec<i8>>()?.into_iter().map(i64::from).collect();
    let cols: Vec<i64> = u.arbitrary::<Vec<i8>>()?.into_iter().map(i64::from).collect();
    let values: Vec<i8> = u.arbitrary()?;
    if let Ok(x) = CsrTensor::from_paddle(shape.clone(), &crows, &cols, values.clone()) {
        let back = x.to_paddle().unwrap();
        assert_eq!((back.crows, back.cols, back.values), (crows.clone(), cols.clone(), values.clone()));
    }
    let (crows, cols, values) = (Array1::from(crows), Array1::from(cols), Array1::from(values));
    if let Ok(x) = CsrTensor::from_torch(shape, &crows, &cols, &values) {
        let back = x.to_torch().unwrap();
        assert_eq!((back.crow_indices, back.col_indices), (crows.into_dyn(), cols.into_dyn()));
    }
    Ok(())
}

fn round_trip(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = csr(&sparse::<f64>(u)?).with_fill(0.0);
    match x.to_paddle() {
        Ok(there) => {
            let back = CsrTensor::from_paddle(x.shape(), &there.crows, &there.cols, there.values).unwrap();
            assert!(back.same_as(&x));
        }
        Err(error) => assert!(matches!(error, Error::RankMismatch { .. }), "{error}"),
    }
    match x.to_torch() {
        Ok(there) => {
            let back = CsrTensor::from_torch(x.shape(), &there.crow_indices, &there.col_indices, &there.values);
            assert!(back.unwrap().same_as(&x));
        }
        Err(error) => assert!(matches!(error, Error::RankMismatch { .. } | Error::UnevenBatches { .. }), "{error}"),
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = if u.arbitrary().unwrap_or(false) { hostile(&mut u) } else { round_trip(&mut u) };
});
