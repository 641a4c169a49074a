//! `take` flattened, and its gradient, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Take, TakeMode, grad, take};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::ops::Mode;
use lacuna_fuzz::reference::{gradients, ops, structure};
use lacuna_fuzz::{Draw, given, indices, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

fn run<T: Draw + Both, G: Draw + Both>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<T>(u)?;
    let dense = x.to_dense();
    let indices = indices(u, dense.data.len())?;
    let given = given(&indices);
    let upstream = sparse_of::<G>(u, &indices.shape)?;
    let modes = [(TakeMode::Raise, Mode::Raise), (TakeMode::Wrap, Mode::Wrap), (TakeMode::Clip, Mode::Clip)];
    let (mode, reference_mode) = *u.choose(&modes)?;

    let expected = ops::take(&dense, &indices, reference_mode);
    let found = take(&coo(&x), Take::at(&given).mode(mode));
    assert_eq!(found.is_ok(), expected.is_ok());
    if let (Ok(found), Ok(expected)) = (found, expected) {
        let stored = structure::take(&x.coords(), &x.shape, &indices, reference_mode).unwrap();
        assert_tensor(&found, &expected, &stored);
        assert_tensor(&take(&csr(&x), Take::at(&given).mode(mode)).unwrap(), &expected, &stored);
        for_each_layout(&dense, |_, view| assert_array(&take(&view, Take::at(&given).mode(mode)).unwrap(), &expected));
    }

    let expected = gradients::take_backward(&x.shape, &indices, reference_mode, &upstream.to_dense());
    let found = grad::take(&coo(&x), &csr(&upstream), Take::at(&given).mode(mode));
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_entries(&found, &x.pattern_of(&expected));
            let from_csr = grad::take(&csr(&x), &coo(&upstream), Take::at(&given).mode(mode)).unwrap();
            assert_entries(&from_csr, &x.pattern_of(&expected));
            for_each_layout(&dense, |_, view| {
                assert_array(&grad::take(&view, &coo(&upstream), Take::at(&given).mode(mode)).unwrap(), &expected);
            });
        }
        // A sum may overflow at a position that is not stored, which no sparse gradient has.
        (found, expected) => assert!(expected.is_err(), "refused: {:?}", found.err()),
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.arbitrary() {
        Ok(true) => run::<f64, f32>(&mut u),
        _ => run::<i8, i8>(&mut u),
    };
});
