//! Random graphs: the program gives the bits of the operations one by one, on both formats and on arrays, and again on
//! the plans that it kept. Where an operation refuses, so does the program.
#![no_main]

use arbitrary::Unstructured;
use lacuna::lazy::{self, Lazy, compile};
use lacuna::{Axes, Pattern, Result, Tensor};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::{shape, sparse_of};
use libfuzzer_sys::fuzz_target;
use ndarray::ArrayD;

/// Which operation, over which axis, of which steps.
type Choice = (u8, i8, u8, u8);

/// An operation at once, of one tensor and of two.
type Of<'a, P> = &'a dyn Fn(&Tensor<P, f64>) -> Result<Tensor<P, f64>>;
type OfTwo<'a, P> = &'a dyn Fn(&Tensor<P, f64>, &Tensor<P, f64>) -> Result<Tensor<P, f64>>;

/// A step of a graph, and what the operation gives at once.
struct Pair<P> {
    lazy: Lazy<Tensor<P, f64>>,
    eager: Result<Tensor<P, f64>>,
}

/// The next step, of two that are there; there may be no such axis.
fn next<P: Pattern>(choice: u8, axis: isize, x: &Pair<P>, y: &Pair<P>) -> Pair<P> {
    let kept = || Axes::from(axis).keep_dims();
    let (lazy, other) = (&x.lazy, &y.lazy);
    let of = |f: Of<'_, P>| x.eager.clone().and_then(|x| f(&x));
    let of_two = |f: OfTwo<'_, P>| x.eager.clone().and_then(|x| y.eager.clone().and_then(|y| f(&x, &y)));
    let (lazy, eager) = match choice % 24 {
        0 => (lazy.abs(), of(&|x| x.abs())),
        1 => (lazy + other, of_two(&|x, y| x.add(y))),
        2 => (lazy * other, of_two(&|x, y| x.mul(y))),
        3 => (lazy.sqrt(), of(&|x| x.sqrt())),
        4 => (lazy - 0.5, of(&|x| x.sub(0.5))),
        5 => (lazy.minimum(other), of_two(&|x, y| x.minimum(y))),
        6 => (-lazy, of(&|x| x.neg())),
        7 => (lazy.flip(axis), of(&|x| x.flip(axis))),
        8 => (lazy.sum(kept()), of(&|x| x.sum(kept()))),
        9 => (lazy.max(kept()), of(&|x| x.max(kept()))),
        10 => (lazy.stored().mul(other.stored()), of_two(&|x, y| x.stored().mul(&y.stored()))),
        11 => (lazy.roll(2, axis), of(&|x| x.roll(2, axis))),
        12 => (lazy.isnan().cast(), of(&|x| x.isnan()?.cast())),
        13 => (lazy.with_fill(-0.0), of(&|x| Ok(x.clone().with_fill(-0.0)))),
        14 => (lazy.nanmedian(kept()), of(&|x| x.nanmedian(kept()))),
        15 => (lazy.sum(axis), of(&|x| x.sum(axis))),
        16 => (lazy.transpose(), of(&|x| x.transpose())),
        17 => (lazy.expand_dims(axis), of(&|x| x.expand_dims(axis))),
        18 => (lazy.greater(other).where_(lazy, other), of_two(&|x, y| lacuna::where_(&x.greater(y)?, x, y))),
        19 => (lazy.matmul(other), of_two(&|x, y| x.matmul(y))),
        20 => (lazy::einsum(SPEC, &[lazy, other]), of_two(&|x, y| lacuna::einsum(SPEC, &[x, y]))),
        21 => (lazy.topk(1, axis), of(&|x| x.topk(1, axis))),
        22 => {
            let labels = |shape: &[usize]| (0..shape.iter().copied().max().unwrap_or(0)).map(|at| at % 3).collect();
            let labels: Vec<usize> = labels(lazy.shape().unwrap_or_default());
            (lazy.group_by(axis, &labels).sum(axis), of(&|x| x.group_by(axis, &labels)?.sum(axis)))
        }
        _ => (lazy.exp(), of(&|x| x.exp())),
    };
    Pair { lazy, eager }
}

/// The einsum of two matrices.
const SPEC: &str = "ij,kj->ik";

type OfOneDense<'a> = &'a dyn Fn(&ArrayD<f64>) -> Result<ArrayD<f64>>;
type OfTwoDense<'a> = &'a dyn Fn(&ArrayD<f64>, &ArrayD<f64>) -> Result<ArrayD<f64>>;
type OfDense = (Lazy<ArrayD<f64>>, Result<ArrayD<f64>>);

/// The next step of arrays.
fn next_dense(choice: u8, axis: isize, (lazy, x): &OfDense, (other, y): &OfDense) -> OfDense {
    let kept = || Axes::from(axis).keep_dims();
    let of = |f: OfOneDense<'_>| f(x.as_ref().map_err(Clone::clone)?);
    let of_two = |f: OfTwoDense<'_>| f(x.as_ref().map_err(Clone::clone)?, y.as_ref().map_err(Clone::clone)?);
    match choice % 12 {
        0 => (lazy.abs(), of(&|x| lacuna::abs(x))),
        1 => (lazy + other, of_two(&|x, y| lacuna::add(x, y))),
        2 => (lazy * other, of_two(&|x, y| lacuna::mul(x, y))),
        3 => (lazy.sqrt(), of(&|x| lacuna::sqrt(x))),
        4 => (lazy - 0.5, of(&|x| lacuna::sub(x, 0.5))),
        5 => (lazy.minimum(other), of_two(&|x, y| lacuna::minimum(x, y))),
        6 => (lazy.flip(axis), of(&|x| lacuna::flip(x, axis))),
        7 => (lazy.sum(kept()), of(&|x| lacuna::sum(x, kept()))),
        8 => (lazy.max(axis), of(&|x| lacuna::max(x, axis))),
        9 => (lazy.transpose(), of(&|x| lacuna::transpose(x))),
        10 => (lazy.nanmedian(kept()), of(&|x| lacuna::nanmedian(x, kept()))),
        _ => (lazy.exp(), of(&|x| lacuna::exp(x))),
    }
}

fn agree_dense(inputs: &[ArrayD<f64>; 2], steps: &[Choice]) {
    let mut pairs: Vec<OfDense> = inputs.iter().map(|x| (Lazy::from(x.clone()), Ok(x.clone()))).collect();
    for &(choice, axis, one, other) in steps {
        let at = |index: u8| &pairs[index as usize % pairs.len()];
        let pair = next_dense(choice, axis.into(), at(one), at(other));
        if pair.1.as_ref().is_ok_and(|x| x.len() > 1 << 12) {
            break;
        }
        pairs.push(pair);
    }
    let Some((lazy, eager)) = pairs.last() else { return };
    match (lazy.collect(), eager) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.mapv(f64::to_bits), expected.mapv(f64::to_bits), "{:?}", lazy.explain());
            assert_eq!(lazy.shape(), Some(expected.shape()));
        }
        (found, eager) => assert!(found.is_err() && eager.is_err(), "{found:?} {eager:?}"),
    }
}

fn agree<P: Pattern>(inputs: &[Tensor<P, f64>; 2], steps: &[Choice]) {
    let names = [("x", &inputs[0]), ("y", &inputs[1])];
    let names = names.map(|(name, input)| Lazy::<Tensor<P, f64>>::input(name, input.shape()));
    let pair = |at: usize| Pair { lazy: names[at].clone(), eager: Ok(inputs[at].clone()) };
    let mut pairs = vec![pair(0), pair(1)];
    for &(choice, axis, one, other) in steps {
        let at = |index: u8| index as usize % pairs.len();
        let pair = next(choice, axis.into(), &pairs[at(one)], &pairs[at(other)]);
        // Two of each make four: graphs stay small.
        if pair.eager.as_ref().is_ok_and(|x| x.rank() > 8 || x.nnz() > 1 << 12) {
            break;
        }
        pairs.push(pair);
    }
    let Some(Pair { lazy, eager }) = pairs.last() else { return };
    let Ok(program) = compile((lazy, &names[0], &names[1])) else {
        assert!(eager.is_err(), "what shapes refuse, the operation refuses");
        return;
    };
    for _ in 0..2 {
        let found = program.run(names.iter().zip(inputs).map(|(name, input)| name.is(input)));
        match (&found, eager) {
            (Ok((found, ..)), Ok(expected)) => {
                assert!(found.same_as(expected), "{}\n{found:?}\n{expected:?}", program.explain());
                assert_eq!(lazy.shape(), Some(&**expected.shape()));
            }
            (found, eager) => assert!(found.is_err() && eager.is_err(), "{found:?} {eager:?}"),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let u = &mut Unstructured::new(data);
    let drawn = |u: &mut Unstructured<'_>| -> arbitrary::Result<_> {
        let shape = shape(u)?;
        let inputs = [sparse_of::<f64>(u, &shape)?, sparse_of::<f64>(u, &shape)?];
        Ok((inputs, u.arbitrary::<Vec<Choice>>()?))
    };
    if let Ok((inputs, steps)) = drawn(u) {
        agree(&[0, 1].map(|at: usize| coo(&inputs[at])), &steps);
        agree(&[0, 1].map(|at: usize| csr(&inputs[at])), &steps);
        agree_dense(&[0, 1].map(|at: usize| array(&inputs[at].to_dense())), &steps);
    }
});
