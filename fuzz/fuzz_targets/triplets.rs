//! Triplets in any order with repetitions, coalesced under every rule, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Duplicates, Triplets};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Sparse, size, unravel};
use lacuna_fuzz::reference::structure;
use lacuna_fuzz::{Draw, shape};
use libfuzzer_sys::fuzz_target;

const RULES: [(Duplicates, structure::Duplicates); 7] = [
    (Duplicates::Sum, structure::Duplicates::Sum),
    (Duplicates::First, structure::Duplicates::First),
    (Duplicates::Last, structure::Duplicates::Last),
    (Duplicates::Min, structure::Duplicates::Min),
    (Duplicates::Max, structure::Duplicates::Max),
    (Duplicates::LogicalOr, structure::Duplicates::LogicalOr),
    (Duplicates::Error, structure::Duplicates::Error),
];

fn run<T: Draw + Both>(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let shape = shape(u)?;
    let positions = size(&shape);
    let mut input = Vec::new();
    for _ in 0..if positions == 0 { 0 } else { u.int_in_range(0..=40)? } {
        input.push((unravel(u.choose_index(positions)? as u128, &shape), T::draw(u)?));
    }
    let fill = T::draw(u)?;
    let mut triplets = Triplets::new(shape.clone()).unwrap().with_fill(fill);
    for (coords, value) in &input {
        triplets.push(coords, *value).unwrap();
    }
    for (rule, reference_rule) in RULES {
        match (triplets.clone().coalesce(rule), structure::coalesce(&input, reference_rule)) {
            (Ok(found), Ok(entries)) => {
                let expected = Sparse::new(&shape, entries, fill);
                assert_entries(&found, &expected);
                assert_entries(&triplets.clone().coalesce_csr(rule).unwrap(), &expected);
            }
            (found, expected) => assert!(found.is_err() && expected.is_err(), "{rule:?}: one refuses, one does not"),
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = match u.int_in_range(0..=2) {
        Ok(0) => run::<f64>(&mut u),
        Ok(1) => run::<i8>(&mut u),
        _ => run::<bool>(&mut u),
    };
});
