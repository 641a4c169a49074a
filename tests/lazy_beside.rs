//! Steps with an operand that is repeated, in one pass with the steps around them.

use lacuna::lazy::{Lazy, compile};
use lacuna::{Axes, CooTensor, Pattern, Result, Tensor};
use ndarray::{Array, IxDyn};

use crate::lazy::matrix;

/// A tensor of these lengths that stores every element.
fn full(lengths: &[usize]) -> CooTensor<f64> {
    let element = |at: IxDyn| 0.5 + (0..lengths.len()).map(|axis| at[axis] % 7).sum::<usize>() as f64;
    CooTensor::from_dense(&Array::from_shape_fn(IxDyn(lengths), element), -1.0).unwrap()
}

/// Operands beside a matrix of 180 rows and 150 columns: some store every element, and some give the fill nowhere.
fn operands() -> Vec<CooTensor<f64>> {
    let row = full(&[150]);
    let mut infinite = row.clone();
    infinite.values_mut().unwrap()[3] = f64::INFINITY;
    let mut zero = row.clone();
    zero.values_mut().unwrap()[5] = 0.0;
    let gaps = CooTensor::new([150], vec![vec![2, 7, 100]], vec![3.0, -1.0, 0.25], 2.0).unwrap();
    let none = CooTensor::new([1], vec![vec![]], vec![], 4.0).unwrap();
    vec![row, full(&[180, 1]), full(&[1, 1]), full(&[]), infinite, zero, gaps, none]
}

type Eager<P> = fn(&Tensor<P, f64>, &Tensor<P, f64>) -> Result<Tensor<P, f64>>;
type Steps<P> = fn(&Lazy<Tensor<P, f64>>, &Lazy<Tensor<P, f64>>) -> Lazy<Tensor<P, f64>>;

/// Each with steps before it and behind it in the pass.
macro_rules! operations {
    ([$all:ident] $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(lacuna::__if_kind! { float $bound operations!(@$out $all $name); })*
    };
    (@same $all:ident $name:ident) => {
        $all.extend([(
            stringify!($name),
            (|x, y| x.abs()?.$name(y)?.neg()?.add(&x.abs()?)) as Eager<P>,
            (|x, y| x.abs().$name(y).neg().add(&x.abs())) as Steps<P>,
        )])
    };
    (@bool $all:ident $name:ident) => {};
}

fn operations<P: Pattern>() -> Vec<(&'static str, Eager<P>, Steps<P>)> {
    let mut all = Vec::new();
    lacuna::__binary! { operations [all] }
    all
}

fn assert_same<P: Pattern>(found: Result<Tensor<P, f64>>, expected: Result<Tensor<P, f64>>, told: &str) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert!(found.same_as(&expected), "{told}: {found:?}\n{expected:?}"),
        (found, expected) => assert!(found.is_err() && expected.is_err(), "{told}: {found:?}\n{expected:?}"),
    }
}

/// The bits of the steps one by one: as they are, or reduced behind the pass.
fn steps_with_repeated_operands<P: Pattern>(of: impl Fn(CooTensor<f64>) -> Tensor<P, f64>) {
    let mut turn = 0;
    for (every, fill) in [(3, 0.0), (3, f64::NAN), (1, 0.0)] {
        let x = of(matrix(180, 150, every, 9).with_fill(fill));
        for y in operands().into_iter().map(&of) {
            for (name, eager, lazy) in operations::<P>() {
                let told = format!("{name} of fill {fill}, beside {y:?}");
                let (expected, step) = (eager(&x, &y), lazy(&x.lazy(), &y.lazy()));
                turn += 1;
                match turn % 3 {
                    0 => assert_same(step.collect(), expected, &told),
                    1 => assert_same(step.nansum(1).collect(), expected.and_then(|z| z.nansum(1)), &told),
                    _ => assert_same(step.max(0).collect(), expected.and_then(|z| z.max(0)), &told),
                }
            }
        }
    }
}

#[test]
fn steps_of_coo_with_repeated_operands() {
    steps_with_repeated_operands(|x| x);
}

#[test]
fn steps_of_csr_with_repeated_operands() {
    steps_with_repeated_operands(|x| match x.rank() {
        // CSR has two axes at least; lengths of 1 are repeated as well.
        0 => x.reshape([1, 1]).unwrap().to_csr().unwrap(),
        1 => x.reshape([1, x.shape()[0]]).unwrap().to_csr().unwrap(),
        _ => x.to_csr().unwrap(),
    });
}

/// All steps run in one pass, which the plan shows. The plan also states that the pattern depends on the entries of the
/// operand.
#[test]
fn a_repeated_operand_is_part_of_the_pass() {
    let x = matrix(180, 150, 3, 9);
    let lazy = x.lazy();
    let step = |y: &CooTensor<f64>| ((lazy.abs() * y).sqrt() + &lazy).exp();
    let told = compile(&step(&full(&[150]))).unwrap().explain();
    assert_eq!(told.matches("[fused: pass 1]").count(), 5, "{told}");
    assert!(told.contains("pattern of %0 unless it has other entries"), "{told}");
    let found = step(&full(&[150])).collect().unwrap();
    assert!(found.shares_pattern_with(&x));
}

/// A program whose operands give the entries of the matrix in one run, and not in the next.
#[test]
fn a_program_takes_steps_apart_where_it_must() {
    let (x, y) = (Lazy::<CooTensor<f64>>::input("x", [180, 150]), Lazy::<CooTensor<f64>>::input("y", [150]));
    let product = (x.abs() * &y).sqrt() + &x;
    let program = compile((&product, &product.sum(0), &product.gradient(&y, &x))).unwrap();
    let eager = |x: &CooTensor<f64>, y: &CooTensor<f64>| {
        (x.abs().unwrap().mul(y).unwrap().sqrt().unwrap().add(x)).map_err(|error| error.to_string())
    };
    let gaps = CooTensor::new([150], vec![vec![2, 7, 100]], vec![3.0, 1.0, 0.25], 2.0).unwrap();
    let zeros = CooTensor::new([150], vec![vec![2, 7, 100]], vec![3.0, 1.0, 0.25], 0.0).unwrap();
    for (seed, y_now) in [(1, &full(&[150])), (1, &zeros), (1, &gaps), (2, &full(&[150])), (2, &zeros), (2, &zeros)] {
        let x_now = matrix(180, 150, 3, seed);
        let (found, sums, dy) = program.run([x.is(&x_now), y.is(y_now)]).unwrap();
        let expected = eager(&x_now, y_now).unwrap();
        assert!(found.same_as(&expected), "{found:?}\n{expected:?}");
        assert!(sums.same_as(&expected.sum(0).unwrap()));
        let alone = product.gradient(&y, &x);
        let written = lacuna::lazy::compile_as_written(&alone).unwrap().run([x.is(&x_now), y.is(y_now)]).unwrap();
        assert!(dy.same_as(&written), "{dy:?}\n{written:?}");
    }
}

/// Numbers that are found in the graph itself.
#[test]
fn quotients_by_what_the_graph_finds() {
    let x = matrix(180, 150, 3, 9);
    let all = Axes::all().keep_dims();
    let lazy = x.lazy();
    let lazy = ((&lazy - lazy.mean(&all)) / lazy.norm(&all)).abs().nansum(1).collect().unwrap();
    let eager = (x.sub(&x.mean(&all).unwrap()).unwrap().div(&x.norm(&all).unwrap()).unwrap()).abs().unwrap();
    assert!(lazy.same_as(&eager.nansum(1).unwrap()));
}
