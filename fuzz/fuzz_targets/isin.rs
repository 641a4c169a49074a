//! `isin` by every algorithm, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Isin, IsinKind, isin};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::{ops, structure};
use lacuna_fuzz::{Draw, sparse};
use libfuzzer_sys::fuzz_target;

fn run<T: Draw + Both>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let x = sparse::<T>(u)?;
    let members = (0..u.int_in_range(0..=40)?).map(|_| T::draw(u)).collect::<arbitrary::Result<Vec<T>>>()?;
    let (dense, stored) = (x.to_dense(), structure::elementwise(&x.coords()));
    let expected = ops::isin(&dense, &members, false);
    let tensor = coo(&x);
    let found = isin(&tensor, &members).unwrap();
    assert!(found.shares_pattern_with(&tensor));
    assert_tensor(&found, &expected, &stored);
    for_each_layout(&dense, |_, view| assert_array(&isin(&view, &members).unwrap(), &expected));

    let (invert, assume_unique) = (u.arbitrary()?, u.arbitrary()?);
    let expected = ops::isin(&dense, &members, invert);
    for kind in [IsinKind::Auto, IsinKind::Sort, IsinKind::Table, IsinKind::Hash] {
        let mut asked = Isin::of(&members);
        (asked.invert, asked.assume_unique, asked.kind) = (invert, assume_unique, kind);
        match isin(&csr(&x), asked) {
            Ok(found) => assert_tensor(&found, &expected, &stored),
            Err(_) => assert_eq!(kind, IsinKind::Table, "only a table is ever refused"),
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=4) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<f32>(&mut u),
        Ok(2) => run::<i64>(&mut u),
        Ok(3) => run::<u64>(&mut u),
        _ => run::<i8>(&mut u),
    };
});
