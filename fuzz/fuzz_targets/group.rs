//! Reductions by label, ranks along an axis and distinct values, on every format, against the reference.
#![no_main]

use arbitrary::Unstructured;
use lacuna::{
    Axes, Error, GroupLabels, Pattern, Real, Result, Ring, Tensor, argmax, argsort, grad, max, mean, sum, topk,
    topk_index, unique,
};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::{Dense, Groups, Sparse, groups_by_label, unravel};
use lacuna_fuzz::reference::exact::{Summed, SummedFloat};
use lacuna_fuzz::reference::reductions;
use lacuna_fuzz::reference::scalar::{RealScalar, Scalar};
use lacuna_fuzz::{Draw, Reduction, sparse, sparse_of};
use libfuzzer_sys::fuzz_target;

/// What the whole of a tensor gives: the dense result where one fill does, or an error.
fn assert_whole<P: Pattern, U: Both>(
    found: Result<Tensor<P, U>>,
    expected: &Option<Dense<U>>,
    (stored, of_nothing): (&Sparse<u64>, &[Vec<usize>]),
) {
    let Some(expected) = expected else { return assert!(found.is_err(), "{found:?}") };
    let mut stored = stored.coords();
    stored.extend(of_nothing.iter().cloned());
    let expected = implicit(expected, &stored);
    let mut gaps = expected.coords().into_iter().filter(|at| !stored.contains(at)).map(|at| expected.get(&at));
    let first = gaps.next();
    if gaps.all(|gap| gap.bits_equal(first.unwrap())) {
        assert_tensor(&found.unwrap(), &expected, &stored);
    } else {
        assert!(matches!(found, Err(Error::FillVaries { .. })), "{found:?}");
    }
}

macro_rules! check {
    ($x:expr, $groups:expr, $axes:expr, $name:ident, $nothing:expr) => {{
        let (x, groups) = ($x, $groups);
        let axes = $axes;
        let expected = reductions::reduce_groups(&x.to_dense(), groups, reductions::$name);
        let stored = reductions::reduce_stored_groups(x, groups, |_| Some(0u64), 0).unwrap();
        let (coo, csr) = (coo(x), csr(x));
        let of_nothing = reductions::cells_of_nothing(x, groups, reductions::$name);
        let stored = (&stored, &of_nothing[..]);
        assert_whole($name(&coo, axes), &expected, stored);
        assert_whole($name(&csr, axes), &expected, stored);
        for_each_layout(&x.to_dense(), |_, view| {
            let found = $name(&view, axes);
            match &expected {
                Some(expected) => assert_array(&found.unwrap(), expected),
                None => assert!(found.is_err()),
            }
        });
        let found = $name(&coo.stored(), axes);
        match reductions::reduce_stored_groups(x, groups, reductions::$name, $nothing) {
            Some(expected) => assert_entries(&found.unwrap(), &expected),
            None => assert!(found.is_err()),
        }
    }};
}

/// The gradients of a sum and of a maximum by label.
fn gradients<T: Draw + Both + Real + RealScalar>(
    u: &mut Unstructured<'_>,
    (x, groups): (&Sparse<T>, &Groups),
    axes: &Axes,
) -> arbitrary::Result<()> {
    let upstream = sparse_of::<f64>(u, &groups.shape)?;
    let (dense, gradients) = (x.to_dense(), upstream.to_dense());
    let expected = reductions::share_in_groups(&dense, groups, &gradients, |group, g| {
        reductions::sum_shares(group, g, false, false)
    });
    let found = grad::sum(&coo(x), &csr(&upstream), axes).unwrap();
    assert_entries(&found, &x.pattern_of(&expected));
    let expected = reductions::share_in_groups(&dense, groups, &gradients, |group, g| {
        reductions::equal_shares(group, g, reductions::max(group))
    });
    let found = grad::max(&csr(x), &coo(&upstream), axes).unwrap();
    assert_entries(&found, &x.pattern_of(&expected));
    let found = grad::max(&array(&dense), &coo(&upstream), axes).unwrap();
    assert_array(&found, &expected);
    Ok(())
}

/// The greatest along an axis, their gradient and the order of all.
fn ranks<T: Draw + Both + Real + RealScalar>(
    u: &mut Unstructured<'_>,
    x: &Sparse<T>,
    axis: usize,
) -> arbitrary::Result<()> {
    let (dense, k) = (x.to_dense(), u.int_in_range(0..=x.shape[axis])?);
    let nan = T::from_number(lacuna::Number::Real(f64::NAN)).unwrap_or(<T as Scalar>::zero());
    let (shape, chosen) = reductions::lists(&dense, axis, k, |group| reductions::topk(group, k));
    let expected = Dense::new(&shape, chosen.iter().map(|found| found.map_or(nan, |found| found.1)).collect());
    let places = Dense::new(&shape, chosen.iter().map(|found| found.map_or(u64::MAX, |found| found.0)).collect());
    assert_array(&topk(&coo(x), k, axis).unwrap().to_dense().unwrap(), &expected);
    assert_array(&topk(&csr(x), k, axis).unwrap().to_dense().unwrap(), &expected);
    for_each_layout(&dense, |_, view| {
        let (values, positions) = topk_index(&view, k, axis).unwrap();
        assert_array(&values, &expected);
        assert_array(&positions, &places);
    });
    let (_, orders) = reductions::lists(&dense, axis, x.shape[axis], reductions::sorted);
    let orders = Dense::new(&x.shape, orders.iter().map(|found| found.unwrap().0).collect());
    assert_array(&argsort(&array(&dense), axis).unwrap(), &orders);
    let ordered = argsort(&csr(x).stored(), axis).unwrap();
    assert_eq!(ordered.nnz(), x.entries.len());

    let upstream = sparse_of::<f64>(u, &shape)?;
    let mut given = Dense::full(&x.shape, 0.0);
    for (position, found) in chosen.iter().enumerate() {
        if let Some((at, _)) = found {
            let mut coords = unravel(position as u128, &shape);
            let gradient = upstream.get(&coords);
            coords[axis] = *at as usize;
            // A zero is passed on without its sign.
            given.set(&coords, if gradient == 0.0 { 0.0 } else { gradient });
        }
    }
    assert_entries(&grad::topk(&coo(x), &csr(&upstream), k, axis).unwrap(), &x.pattern_of(&given));
    assert_array(&grad::topk(&array(&dense), &coo(&upstream), k, axis).unwrap(), &given);
    Ok(())
}

fn run<T>(u: &mut Unstructured<'_>) -> arbitrary::Result<()>
where
    T: Draw + Both + Real + RealScalar + Summed + Ring<Sum = <T as Summed>::Sum, Mean = <T as Summed>::Mean>,
    <T as Summed>::Sum: Both,
    <T as Summed>::Mean: Both + SummedFloat,
{
    let x = sparse::<T>(u)?;
    if x.shape.is_empty() {
        return Ok(());
    }
    let mut reduction = Reduction::draw(u, x.shape.len())?;
    let axis = u.choose_index(x.shape.len())?;
    if !reduction.normalised.contains(&axis) {
        reduction.normalised = vec![axis];
    }
    let labels = (0..x.shape[axis]).map(|_| u.int_in_range(0..=4usize)).collect::<arbitrary::Result<Vec<_>>>()?;
    let count = labels.iter().max().map_or(0, |most| most + 1) + u.int_in_range(0..=1)?;
    let groups = groups_by_label(&x.shape, &reduction.normalised, reduction.keep_dims, axis, (&labels, count));
    let others: Vec<usize> = reduction.normalised.iter().copied().filter(|&other| other != axis).collect();
    let by = Axes::by(axis, GroupLabels::of(&labels).count(count)).and(others).with_keep_dims(reduction.keep_dims);
    let (nan, nothing) = (T::from_number(lacuna::Number::Real(f64::NAN)), T::zero());
    check!(&x, &groups, &by, sum, T::sum_from(&nothing.parts()).unwrap());
    check!(&x, &groups, &by, mean, T::mean_from(&nothing.parts(), 0));
    check!(&x, &groups, &by, max, nan.unwrap_or(T::LOWEST));
    check!(&x, &groups, &by, argmax, u64::MAX);
    gradients(u, (&x, &groups), &by)?;
    ranks(u, &x, axis)?;
    assert_eq!(unique(&coo(&x)).unwrap().1, unique(&array(&x.to_dense())).unwrap().1);
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let mut u = Unstructured::new(data);
    let _ = if u.arbitrary().unwrap_or(false) { run::<f64>(&mut u) } else { run::<i8>(&mut u) };
});
