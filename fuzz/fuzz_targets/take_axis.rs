//! `take` along an axis, and its gradient, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Take, TakeMode, grad, take_axis};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::ops::Mode;
use lacuna_fuzz::reference::{gradients, ops, structure};
use lacuna_fuzz::{given, indices, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

fn run(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<f64>(u)?;
    let rank = x.shape.len();
    if rank == 0 {
        return Ok(());
    }
    let axis = u.choose_index(rank)?;
    let spelled = if u.arbitrary()? { axis as isize } else { axis as isize - rank as isize };
    let dense = x.to_dense();
    let indices = indices(u, x.shape[axis])?;
    let given = given(&indices);
    let modes = [(TakeMode::Raise, Mode::Raise), (TakeMode::Wrap, Mode::Wrap), (TakeMode::Clip, Mode::Clip)];
    let (mode, reference_mode) = *u.choose(&modes)?;

    let expected = ops::take_axis(&dense, &indices, axis, reference_mode);
    let found = take_axis(&coo(&x), Take::at(&given).mode(mode), spelled);
    assert_eq!(found.is_ok(), expected.is_ok());
    let (Ok(found), Ok(expected)) = (found, expected) else { return Ok(()) };
    let stored = structure::take_axis(&x.coords(), &x.shape, &indices, axis, reference_mode).unwrap();
    assert_tensor(&found, &expected, &stored);
    for_each_layout(&dense, |_, view| {
        assert_array(&take_axis(&view, Take::at(&given).mode(mode), spelled).unwrap(), &expected);
    });
    assert_tensor(&take_axis(&csr(&x), Take::at(&given).mode(mode), spelled).unwrap(), &expected, &stored);

    let upstream = sparse_of::<f32>(u, &expected.shape)?;
    let wanted = gradients::take_axis_backward(&x.shape, &indices, axis, reference_mode, &upstream.to_dense()).unwrap();
    let dx = grad::take_axis(&coo(&x), &csr(&upstream), Take::at(&given).mode(mode), spelled).unwrap();
    assert_entries(&dx, &x.pattern_of(&wanted));
    let dx = grad::take_axis(&csr(&x), &coo(&upstream), Take::at(&given).mode(mode), spelled).unwrap();
    assert_entries(&dx, &x.pattern_of(&wanted));
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
