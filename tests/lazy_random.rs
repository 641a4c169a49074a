//! Random graphs of all operations: a program gives the bits of the operations one by one, at first and again,
//! rewritten and as it is written, whole and in ranges.

use lacuna::lazy::{Chunks, Lazy, Value, compile, compile_as_written};
use lacuna::{CooPattern, CooTensor, CsrPattern, Element, Operand, Pattern, Result, Tensor};
use num_complex::Complex;
use proptest::prelude::*;

use crate::support::cases;

#[path = "generators/steps.rs"]
pub(crate) mod steps;

use steps::{Pair, Step, With};

/// A step, its two operands, an axis and a number.
type Choice = (u16, u8, u8, i8, u8);

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec((any::<u16>(), any::<u8>(), any::<u8>(), -2i8..3, 0u8..4), 1..20)
}

/// A graph by its choices: each later value is more likely to be read than an earlier one.
fn grown<X: Value + Operand>(table: &[Step<X>], choices: &[Choice], begin: Vec<Pair<X>>) -> (Vec<Pair<X>>, String) {
    let (mut pairs, mut told) = (begin, String::new());
    for &(step, one, other, axis, number) in choices {
        let at = |index: u8| pairs.len() - 1 - (index as usize * index as usize / 256) * pairs.len() / 256;
        let (step, with) = (&table[step as usize % table.len()], With { axis: axis.into(), number: number.into() });
        let Some(pair) = step.next(&pairs[at(one)], &pairs[at(other)], with) else { continue };
        // A step that is refused is the last one of some graphs.
        if pair.1.is_err() && number > 0 {
            continue;
        }
        if pair.1.as_ref().is_ok_and(|x| x.lengths().len() > 5 || x.lengths().iter().product::<usize>() > 1 << 16) {
            continue;
        }
        told += &format!("{} of {} and {}; ", step.name, at(one), at(other));
        pairs.push(pair);
    }
    (pairs, told)
}

/// The last value of a graph against the operations. `same` compares bits.
fn agree<X: Value + Operand>(
    table: &[Step<X>],
    choices: &[Choice],
    inputs: &[X; 2],
    same: fn(&X, &X) -> bool,
) -> std::result::Result<(), TestCaseError> {
    let names = ["x", "y"].map(|name| Lazy::<X>::input(name, [inputs[0].lengths()[0], inputs[0].lengths()[1]]));
    let begin = names.iter().cloned().zip(inputs.iter().cloned().map(Ok)).collect();
    let (pairs, told) = grown(table, choices, begin);
    let (lazy, eager) = pairs.last().expect("there are inputs");
    let feeds = || names.iter().zip(inputs).map(|(name, input)| name.is(input));
    let outputs = (lazy, &names[0], &names[1]);
    let (program, plain) = match (compile(outputs), compile_as_written(outputs)) {
        (Ok(program), Ok(plain)) => (program, plain),
        (Err(refused), _) | (_, Err(refused)) => {
            prop_assert!(eager.is_err(), "{}: shapes refuse what has a value: {}", told, refused);
            return Ok(());
        }
    };
    let check = |found: Result<X>, way: &str| match (&found, eager) {
        (Ok(found), Ok(expected)) if !same(found, expected) => {
            Err(TestCaseError::fail(format!("{told}, {way}: another result\n{}", program.explain())))
        }
        (Err(error), Ok(_)) => Err(TestCaseError::fail(format!("{told}, {way}: {error}\n{}", program.explain()))),
        (Ok(_), Err(error)) if way == "as it is written" => Err(TestCaseError::fail(format!("{told}: not {error}"))),
        _ => Ok(()),
    };
    check(program.run(feeds()).map(|found| found.0), "at first")?;
    check(program.run(feeds()).map(|found| found.0), "again")?;
    check(plain.run(feeds()).map(|found| found.0), "as it is written")?;
    for positions in [1, 3, 64] {
        let engine = Chunks::memory(1 << 30).positions(positions);
        check(program.run_on(&engine, feeds()).map(|found| found.0), "in ranges")?;
    }
    if let (Ok(expected), Some(shape)) = (eager, lazy.shape()) {
        prop_assert_eq!(shape, expected.lengths(), "{}", told);
    }
    Ok(())
}

/// A matrix of awkward values, stored here and there, with one of these for its fill.
fn drawn<P: Pattern, T: Element>(
    (rows, columns): (usize, usize),
    values: &[T],
    seed: u64,
    of: impl Fn(CooTensor<T>) -> Result<Tensor<P, T>>,
) -> Tensor<P, T> {
    let mut triplets = lacuna::Triplets::new([rows, columns]).unwrap();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize
    };
    let every = 1 + next() % 3;
    let fill = values[next() % 2 * (next() % values.len())];
    for at in 0..rows * columns {
        if next() % every == 0 {
            triplets.push(&[at / columns, at % columns], values[next() % values.len()]).unwrap();
        }
    }
    of(triplets.with_fill(fill).coalesce(lacuna::Duplicates::Error).unwrap()).unwrap()
}

const FLOATS: &[f64] = &[0.0, 0.5, -2.0, 3.25, -0.0, 1e-3, -7.0, f64::NAN, f64::INFINITY, 1e300];

fn same_tensors<P: Pattern, T: Element>(x: &Tensor<P, T>, y: &Tensor<P, T>) -> bool {
    x.same_as(y)
}

macro_rules! properties {
    ($($name:ident: $table:ident, $values:expr, $sizes:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(cases(4)))]
            $(
                #[test]
                fn $name(choices in choices(), size in prop::sample::select($sizes), seed in any::<u64>()) {
                    let coo = [seed, seed ^ 5].map(|seed| drawn(size, $values, seed, Ok));
                    agree(&steps::$table::<CooPattern>(), &choices, &coo, same_tensors)?;
                    let csr = coo.map(|x| x.to_csr().unwrap());
                    agree(&steps::$table::<CsrPattern>(), &choices, &csr, same_tensors)?;
                }
            )*
        }
    };
}

/// Mostly small ones, some whose values go through steps by pieces.
fn sizes() -> Vec<(usize, usize)> {
    vec![(4, 5), (1, 3), (3, 3), (0, 2), (150, 120)]
}

const COMPLEX: &[Complex<f64>] = &[
    Complex::new(0.0, 0.0),
    Complex::new(0.5, -2.0),
    Complex::new(-0.0, 1.0),
    Complex::new(f64::NAN, 1.0),
    Complex::new(3.0, f64::INFINITY),
];

properties! {
    graphs_of_floats: of_tensors, FLOATS, sizes();
    graphs_of_longs: of_longs, &[0i64, 1, -3, 7, i64::MAX, i64::MIN, 2], sizes();
    graphs_of_bools: of_bools, &[false, true], sizes();
    graphs_of_complex: of_complex, COMPLEX, sizes();
}

more! {
    properties! {
        graphs_of_bytes: of_bytes, &[0u8, 1, 3, 255, 128, 2], sizes();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(4)))]

    #[test]
    fn graphs_of_arrays(choices in choices(), size in prop::sample::select(sizes()), seed in any::<u64>()) {
        let inputs = [seed, seed ^ 5].map(|seed| drawn(size, FLOATS, seed, Ok).to_dense().unwrap());
        agree(&steps::of_arrays(), &choices, &inputs, |x, y| {
            x.shape() == y.shape() && x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits())
        })?;
    }
}

/// The steps of lazy values by the names of the operations, which random graphs are to draw all of.
#[test]
fn random_graphs_draw_every_operation() {
    let all: Vec<&str> = steps::of_tensors::<CooPattern>()
        .iter()
        .map(|step| step.name)
        .chain(steps::of_arrays().iter().map(|step| step.name))
        .chain(steps::of_longs::<CooPattern>().iter().map(|step| step.name))
        .chain(steps::of_complex::<CooPattern>().iter().map(|step| step.name))
        .collect();
    let is_drawn = |name: &str| all.iter().any(|step| step.split(' ').nth(1) == Some(name));
    let written = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations.md")).unwrap();
    let lazy = written.lines().filter(|line| line.starts_with("| `") && line.split(" | ").nth(8) == Some("yes"));
    let missing: Vec<&str> =
        lazy.filter_map(|line| line.strip_prefix("| `")?.split('(').next()).filter(|name| !is_drawn(name)).collect();
    // Their results or operands are of two types: tests of their own have them.
    let elsewhere = [
        "allclose",
        "average",
        "corrcoef",
        "cov",
        "diag",
        "is_close",
        "mttkrp",
        "nonzero",
        "pattern_sddmm",
        "permute_axes",
        "reshape",
        "reshape_as",
        "sddmm",
        "to_coo",
        "to_csr",
        "ttv",
        "unique",
        "unique_counts",
    ];
    assert_eq!(missing, elsewhere, "a step that random graphs do not draw");
}
