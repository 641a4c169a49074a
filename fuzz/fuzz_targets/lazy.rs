//! Random graphs of the steps that the properties draw: the program gives the bits of the operations one by one, of all
//! types, on both formats and on arrays, again on the plans that it kept, and as it is written.
#![no_main]

use arbitrary::Unstructured;
use lacuna::lazy::{Lazy, Value, compile, compile_as_written};
use lacuna::{CooPattern, CsrPattern, Element, Operand, Pattern, Shape, Tensor};
use lacuna_fuzz::compare::*;
use lacuna_fuzz::reference::dense::Sparse;
use lacuna_fuzz::{Draw, sparse_of};
use libfuzzer_sys::fuzz_target;
use num_complex::Complex;

#[path = "../../tests/generators/steps.rs"]
mod steps;

use steps::{Pair, Step, With};

/// Which step, of which two values, with which axis and number.
type Choice = (u16, u8, u8, i8, u8);

/// A graph by its choices.
fn grown<X: Value + Operand>(table: &[Step<X>], choices: &[Choice], begin: Vec<Pair<X>>) -> Vec<Pair<X>> {
    let mut pairs = begin;
    for &(step, one, other, axis, number) in choices.iter().take(20) {
        let at = |index: u8| &pairs[index as usize % pairs.len()];
        let with = With { axis: (axis % 4).into(), number: (number % 5).into() };
        let Some(pair) = table[step as usize % table.len()].next(at(one), at(other), with) else { continue };
        // Graphs stay small: two of each make four.
        if pair.1.as_ref().is_ok_and(|x| x.lengths().len() > 6 || x.lengths().iter().product::<usize>() > 1 << 12) {
            continue;
        }
        let is_end = pair.1.is_err();
        pairs.push(pair);
        if is_end {
            break;
        }
    }
    pairs
}

fn agree<X: Value + Operand>(table: &[Step<X>], choices: &[Choice], inputs: &[X; 2], same: fn(&X, &X) -> bool) {
    let names = [("x", &inputs[0]), ("y", &inputs[1])];
    let names = names.map(|(name, input)| Lazy::<X>::input(name, &Shape::from(input.lengths())));
    let begin = names.iter().cloned().zip(inputs.iter().cloned().map(Ok)).collect();
    let pairs = grown(table, choices, begin);
    let Some((lazy, eager)) = pairs.last() else { return };
    let outputs = (lazy, &names[0], &names[1]);
    let (Ok(program), Ok(plain)) = (compile(outputs), compile_as_written(outputs)) else {
        assert!(eager.is_err(), "shapes refuse what has a value: {:?}", lazy.check().err());
        return;
    };
    let feeds = || names.iter().zip(inputs).map(|(name, input)| name.is(input));
    for program in [&program, &program, &plain] {
        match (program.run(feeds()), eager) {
            (Ok((found, ..)), Ok(expected)) => {
                assert!(same(&found, expected), "another result\n{}", program.explain());
                assert!(lazy.shape().is_none_or(|shape| shape == expected.lengths()));
            }
            (Err(error), Ok(_)) => panic!("{error}\n{}", program.explain()),
            // What nobody reads may be left out, and what it would refuse.
            (_, Err(_)) => {}
        }
    }
    assert!(
        eager.is_ok() || plain.run(feeds()).is_err(),
        "a graph as it is written refuses what the operations refuse"
    );
}

fn same<P: Pattern, T: Element>(x: &Tensor<P, T>, y: &Tensor<P, T>) -> bool {
    x.same_as(y)
}

/// Both formats of one type.
macro_rules! on_both {
    ($inputs:expr, $choices:expr, $table:ident) => {{
        let (inputs, choices) = ($inputs, $choices);
        agree(&steps::$table::<CooPattern>(), choices, &[0, 1].map(|at: usize| coo(&inputs[at])), same);
        agree(&steps::$table::<CsrPattern>(), choices, &[0, 1].map(|at: usize| csr(&inputs[at])), same);
    }};
}

fn two<T: Draw>(u: &mut Unstructured<'_>) -> arbitrary::Result<([Sparse<T>; 2], Vec<Choice>)> {
    let shape = lacuna_fuzz::shape(u)?;
    Ok(([sparse_of(u, &shape)?, sparse_of(u, &shape)?], u.arbitrary()?))
}

fuzz_target!(|data: &[u8]| {
    let u = &mut Unstructured::new(data);
    let mut all = || -> arbitrary::Result<()> {
        match u.arbitrary::<u8>()? % 6 {
            0 => {
                let (inputs, choices) = two::<i64>(u)?;
                on_both!(&inputs, &choices, of_longs);
            }
            1 => {
                let (inputs, choices) = two::<u8>(u)?;
                on_both!(&inputs, &choices, of_bytes);
            }
            2 => {
                let (inputs, choices) = two::<bool>(u)?;
                on_both!(&inputs, &choices, of_bools);
            }
            3 => {
                let (inputs, choices) = two::<f64>(u)?;
                let inputs =
                    [0, 1].map(|at: usize| coo(&inputs[at]).map_values(|re| Complex::new(re, 0.5 - re)).unwrap());
                agree(&steps::of_complex(), &choices, &inputs, same);
                let inputs = inputs.map(|x| x.to_csr().unwrap());
                agree(&steps::of_complex(), &choices, &inputs, same);
            }
            4 => {
                let (inputs, choices) = two::<f64>(u)?;
                let arrays = [0, 1].map(|at: usize| array(&inputs[at].to_dense()));
                agree(&steps::of_arrays(), &choices, &arrays, |x, y| {
                    x.shape() == y.shape() && x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits())
                });
            }
            _ => {
                let (inputs, choices) = two::<f64>(u)?;
                on_both!(&inputs, &choices, of_tensors);
            }
        }
        Ok(())
    };
    // What is too short is none.
    let _ = all();
});
