//! What chooses, moves and joins, and its gradients, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{Tensor, concat, grad};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Sparse};
use lacuna_fuzz::reference::moves::{self, Move, Slice};
use lacuna_fuzz::{sparse, sparse_of};
use libfuzzer_sys::fuzz_target;
use ndarray::SliceInfoElem;

/// The forward result and the gradient of every format are those of the reference.
macro_rules! check {
    ($u:expr, $x:expr, $expected:expr, $name:ident $(, $arg:expr)*) => {{
        let (x, expected): (&Sparse<f64>, Move) = ($x, $expected);
        let dense = x.to_dense();
        let (wanted, stored) = (expected.apply(&dense, x.fill), expected.stored(&x.coords()));
        assert_tensor(&coo(x).$name($($arg.clone()),*).unwrap(), &wanted, &stored);
        assert_tensor(&csr_as::<f64, u64>(x).$name($($arg.clone()),*).unwrap(), &wanted, &stored);
        assert_array(&lacuna::$name(&array(&dense), $($arg.clone()),*).unwrap(), &expected.apply(&dense, 0.0));
        let upstream = sparse_of::<f32>($u, &expected.shape)?;
        let gradient: Dense<f32> = expected.gradient(&x.shape, &upstream.to_dense()).unwrap();
        let found = grad::$name(&coo(x), &csr(&upstream), $($arg.clone()),*).unwrap();
        assert_entries(&found, &x.pattern_of(&gradient));
        let found = grad::$name(&csr(x), &coo(&upstream), $($arg.clone()),*).unwrap();
        assert_entries(&found, &x.pattern_of(&gradient));
    }};
}

/// A slice of each axis that is inside of it, as both take it.
fn slices(u: &mut Unstructured<'_>, shape: &[usize]) -> arbitrary::Result<(Vec<Slice>, Vec<SliceInfoElem>)> {
    let (mut reference, mut given) = (Vec::new(), Vec::new());
    for &length in shape {
        let length = length as isize;
        if u.ratio(1, 8)? {
            reference.push(Slice::New);
            given.push(SliceInfoElem::NewAxis);
        }
        if length > 0 && u.ratio(1, 4)? {
            let at = u.int_in_range(-length..=length - 1)?;
            reference.push(Slice::Index(at));
            given.push(SliceInfoElem::Index(at));
        } else {
            let start = u.int_in_range(-length..=length)?;
            let end = if u.arbitrary()? { Some(u.int_in_range(-length..=length)?) } else { None };
            let step = *u.choose(&[1, 2, 3, -1, -2, isize::MAX, isize::MIN])?;
            reference.push(Slice::Range(start, end, step));
            given.push(SliceInfoElem::Slice { start, end, step });
        }
    }
    Ok((reference, given))
}

/// The tensor cut in two along an axis and joined again, and the gradient, which is the upstream one at its entries.
fn rejoined(u: &mut Unstructured<'_>, x: &Sparse<f64>, axis: usize) -> arbitrary::Result<()> {
    let at = u.int_in_range(0..=x.shape[axis])?;
    let (whole, first, second) = (csr(x), csr(x).take_axis(0..at, axis), csr(x).take_axis(at..x.shape[axis], axis));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(concat(axis, &[&first, &second]).unwrap().same_as(&whole));
    let (one, other) = (first.to_coo().unwrap(), second.to_coo().unwrap());
    assert!(concat(axis, &[&one, &other]).unwrap().same_as(&coo(x)));
    let upstream = sparse_of::<f64>(u, &x.shape)?;
    let gradients = grad::concat(&coo(&upstream), axis, &[&first, &second]).unwrap();
    let joined = concat(axis, &gradients.iter().collect::<Vec<_>>()).unwrap();
    // A zero is passed on without its sign.
    assert_entries(&joined, &x.pattern_of(&upstream.to_dense().map(|g| if g == 0.0 { 0.0 } else { g })));
    let chosen: Tensor<_, f64> = whole.select(|value| value > 0.0).unwrap();
    assert!(chosen.with_entries(x.entries.clone()).unwrap().same_as(&whole));
    Ok(())
}

fn run(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let mut x = sparse::<f64>(u)?;
    let rank = x.shape.len();
    let (reference, given) = slices(u, &x.shape)?;
    check!(u, &x, moves::slice(&x.shape, &reference), slice, given);
    if rank == 0 {
        return Ok(());
    }
    let axis = u.choose_index(rank)?;
    let (places, times) = (u.int_in_range(-9..=9)?, u.int_in_range(0..=3usize)?);
    check!(u, &x, moves::flip(&x.shape, &[axis]), flip, axis);
    check!(u, &x, moves::roll(&x.shape, places, axis), roll, places, axis);
    check!(u, &x, moves::repeat(&x.shape, times, axis), repeat, times, axis);
    let reps = vec![times; u.int_in_range(0..=1)? + usize::from(rank < 3)];
    check!(u, &x, moves::tile(&x.shape, &reps), tile, reps);
    if rank < 4 {
        let widths = vec![(u.int_in_range(0..=2)?, u.int_in_range(0..=2)?); rank];
        check!(u, &x, moves::pad(&x.shape, &widths), pad, widths);
    }
    let reversed: Vec<usize> = (0..rank).rev().collect();
    check!(u, &x, moves::permute(&x.shape, &reversed), transpose);
    rejoined(u, &x, axis)?;
    if rank > 1 {
        check!(u, &x, moves::diagonal(&x.shape, places), diagonal, places);
        x.fill = 0.0;
        let lower = moves::band(&x.shape, |behind| behind <= places as i128);
        check!(u, &x, lower, tril, places);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
