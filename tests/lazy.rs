//! The lazy graph against the operations one by one.

use std::fmt::Debug;

use lacuna::lazy::{self, Lazy, Value, compile};
use lacuna::{Axes, CooTensor, CsrTensor, Error, Matmul, Pattern, Tensor, grad};
use proptest::prelude::*;

use crate::support::{cases, exported_functions, one_of};

/// A matrix of so many rows and columns, with values from a small set of awkward ones.
pub(crate) fn matrix(rows: usize, columns: usize, every: usize, seed: u64) -> CooTensor<f64> {
    let mut triplets = lacuna::Triplets::new([rows, columns]).unwrap();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for at in 0..rows * columns {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state.is_multiple_of(every as u64) {
            let value = [0.5, -2.0, 3.25, 0.0, 1e-3, -7.0][(state >> 32) as usize % 6];
            triplets.push(&[at / columns, at % columns], value).unwrap();
        }
    }
    triplets.coalesce(lacuna::Duplicates::Sum).unwrap()
}

fn assert_same<P: Pattern>(found: &Tensor<P, f64>, expected: &Tensor<P, f64>) {
    assert!(found.same_as(expected), "{found:?}\n{expected:?}");
}

/// Long enough for many pieces and several threads: 400,000 entries.
#[test]
fn a_fused_chain_gives_the_bits_of_the_steps() {
    for every in [1, 3] {
        let x = matrix(1000, 400, every, 5);
        let lazy = ((x.lazy().abs() + 1.0).sqrt() * -2.0).exp();
        let eager = ((x.abs().unwrap() + 1.0).sqrt().unwrap() * -2.0).exp().unwrap();
        assert_same(&lazy.collect().unwrap(), &eager);
        assert!(lazy.collect().unwrap().shares_pattern_with(&x));
        let csr = x.to_csr().unwrap();
        let sums = ((csr.lazy().abs() + 1.0).sqrt() * csr.lazy()).sum(1).collect().unwrap();
        assert_same(&sums, &((csr.abs().unwrap() + 1.0).sqrt().unwrap() * &csr).sum(1).unwrap());
    }
}

/// A chain with two inputs and a choice, whose values are NaN, infinite and zero here and there.
fn fed_chain<P: Pattern>(x: &Lazy<Tensor<P, f64>>) -> Lazy<Tensor<P, f64>> {
    x.isfinite().where_(&((x.abs() + 1.0).sqrt() * x), x)
}

fn fed_eager<P: Pattern>(x: &Tensor<P, f64>) -> Tensor<P, f64> {
    let roots = (x.abs().unwrap() + 1.0).sqrt().unwrap() * x;
    lacuna::where_(&x.isfinite().unwrap(), &roots, x).unwrap()
}

/// Every reduction of a chain, or one of five in turn, over some axes, of all positions and of what is stored, fed by
/// pieces where groups are runs of entries: the bits of the steps one by one, at first and again.
fn reductions_of_a_chain<P: Pattern>(x: &Tensor<P, f64>, axes: &Axes, asked: &mut usize) {
    let input = Lazy::<Tensor<P, f64>>::input("x", x.shape());
    let (chain, eager) = (fed_chain(&input), fed_eager(x));
    macro_rules! each {
        ([] $($name:ident ($($q:expr,)?) $out:ident $stream:ident [$($backward:ident)?];)*) => {
            each! { $($name($($q,)? axes.clone());)* }
        };
        ($($name:ident($($options:expr),*);)*) => {$(
            for (graph, expected) in [
                (chain.$name($($options),*), eager.$name($($options),*)),
                (chain.stored().$name($($options),*), eager.stored().$name($($options),*)),
            ] {
                *asked += 1;
                if *asked % one_of(5) > 0 {
                    continue;
                }
                let program = compile(&graph).unwrap();
                for run in 0..2 {
                    match (program.run([input.is(x)]), &expected) {
                        (Ok(found), Ok(expected)) => {
                            assert!(found.same_as(expected), "{} {axes:?} {run}: {found:?}", stringify!($name));
                        }
                        (Err(Error::Lazy { cause, .. }), Err(expected)) => assert_eq!(&*cause, expected),
                        (found, _) => panic!("{} {axes:?}: {found:?}", stringify!($name)),
                    }
                }
            }
        )*};
    }
    every_fold! { (each) }
    each! {
        var(lacuna::Var::over(axes.clone()).ddof(1));
        nanstd(lacuna::Var::over(axes.clone()).ddof(1));
        norm(lacuna::Norm::over(axes.clone()).infinity());
        nanmedian(lacuna::Nanmedian::over(axes.clone()).lower());
    }
    let quantile = chain.nanquantile(0.3, axes.clone()).collect();
    let program = compile(&chain.nanquantile(0.3, axes.clone())).unwrap();
    assert_same(&program.run([input.is(x)]).unwrap(), &eager.nanquantile(0.3, axes.clone()).unwrap());
    assert!(quantile.is_err(), "the input is not bound");
}

/// Rows of many lengths: empty, shorter than a piece and longer; and one row of all.
#[test]
fn a_reduction_takes_a_chain_by_pieces() {
    let mut x = matrix(60, 1000, 2, 5);
    let count = x.nnz();
    let mut strange = [f64::NAN, f64::INFINITY, -0.0, 1e300, -1e300].into_iter().cycle();
    x.values_mut().unwrap().iter_mut().step_by(997).for_each(|value| *value = strange.next().unwrap());
    assert!(count > 3 << 13, "more than three pieces: {count}");
    let mut asked = 0;
    for axes in [Axes::from(1), Axes::from(0), Axes::all()] {
        reductions_of_a_chain(&x, &axes, &mut asked);
    }
    for axes in [Axes::from(-1).keep_dims(), Axes::none()] {
        reductions_of_a_chain(&x.to_csr().unwrap(), &axes, &mut asked);
    }
    let x = x.with_fill(f64::NAN);
    for axes in [Axes::from(1), Axes::all()] {
        reductions_of_a_chain(&x, &axes, &mut asked);
    }
    let long = matrix(3, 30_000, 2, 8);
    reductions_of_a_chain(&long, &Axes::from(1), &mut asked);
    let third = matrix(700, 60, 2, 9).reshape([7, 100, 60]).unwrap();
    reductions_of_a_chain(&third, &Axes::from([1, 2]), &mut asked);
    for axes in [Axes::from(2), Axes::from([0, 2])] {
        reductions_of_a_chain(&third.to_csr().unwrap(), &axes, &mut asked);
    }
}

/// `explain` marks a reduction that receives chunks. A step with another reader is not marked, and neither are groups
/// that are not runs.
#[test]
fn a_reduction_that_is_fed_is_told() {
    let x = Lazy::<CsrTensor<f64>>::input("x", [30, 40]);
    let chain = x.abs().sqrt();
    let fused = |told: String| told.matches("[fused: pass 1]").count();
    assert_eq!(fused(compile(&chain.sum(1)).unwrap().explain()), 3);
    assert_eq!(fused(compile(&x.abs().nanmedian(Axes::all())).unwrap().explain()), 2);
    assert_eq!(fused(compile(&chain.sum(0)).unwrap().explain()), 2);
    assert_eq!(fused(compile((&chain.sum(1), &chain.max(1))).unwrap().explain()), 2);
    assert_eq!(fused(compile((&chain.sum(1), &chain)).unwrap().explain()), 2);
    assert_eq!(fused(compile(&chain.sum(Axes::by(1, &[0u32; 40]))).unwrap().explain()), 2);
}

/// An error that a value causes is the error of the operation, for a step of the chain and for the reduction.
#[test]
fn an_error_of_a_chain_that_is_fed_names_the_place() {
    let mut values = vec![1i64; 20_000];
    values[17_777] = i64::MAX;
    let coords = vec![(0..20_000u32).map(|at| at / 100).collect(), (0..20_000).map(|at| at % 100).collect()];
    let x = CooTensor::new([200, 100], coords, values, 0).unwrap();
    let cause = |refused: Error| match refused {
        Error::Lazy { operation, cause, .. } => (operation, *cause),
        other => panic!("{other}"),
    };
    let refused = ((x.lazy() * 1) + 1).sum(1).collect().unwrap_err();
    assert_eq!(cause(refused), ("add", x.add(1).unwrap_err()));
    let refused = (x.lazy() * 1).sum(1).collect().unwrap_err();
    assert_eq!(cause(refused), ("sum", x.sum(1).unwrap_err()));
    let refused = (x.lazy() * 1).prod(Axes::all()).collect().map(drop);
    assert_eq!(refused.map_err(cause), x.prod(Axes::all()).map(drop).map_err(|error| ("prod", error)));
}

/// Two operands of one pattern are in the pass; those of others are not.
#[test]
fn what_is_fused_is_told() {
    let [x, y] = ["x", "y"].map(|name| Lazy::<CsrTensor<f64>>::input(name, [3, 4]));
    let z = (x.abs() * x.exp() + &y).sqrt().exp().max(0);
    let told = compile(&z).unwrap().explain();
    assert_eq!(told.matches("[fused: pass 1]").count(), 3, "{told}");
    assert_eq!(told.matches("[fused: pass 2]").count(), 2, "{told}");
}

#[test]
fn equal_steps_are_one_and_unread_ones_none() {
    let x = Lazy::<CooTensor<f64>>::input("x", [3, 4]);
    let _unread = x.sin().sum(0);
    let told = compile(&(x.abs().sum(0) + x.abs().sum(0))).unwrap().explain();
    assert_eq!(told.lines().count(), 4, "{told}");
    let told = compile(&(x.abs().sum(0) + x.abs().sum(-2))).unwrap().explain();
    assert_eq!(told.lines().count(), 5, "other arguments are another step: {told}");
}

/// The line of the program that made the step, whichever step asks.
#[test]
fn an_error_names_the_line_that_made_the_step() {
    let x = Lazy::<CooTensor<f64>>::input("x", [3, 4]);
    let wrong = x.abs().sum(5);
    let line = line!() - 1;
    for refused in [wrong.check(), wrong.sqrt().check(), compile(&(wrong.sqrt() + &x.sum(0))).map(drop)] {
        let Err(Error::Lazy { operation, file, line: found, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!((operation, file.ends_with("lazy.rs"), found), ("sum", true, line));
    }
    assert!(format!("{wrong:?}").contains("refused: sum at "), "{wrong:?}");
    let refused = (&x + &x.sum(0).sum(0).expand_dims(0).repeat(3, 0)).check().unwrap_err();
    assert!(refused.to_string().starts_with("add at "), "{refused}");
}

/// An error that a value causes is the error of the operation, although the chunk with the value has no coordinates.
#[test]
fn an_error_of_a_fused_step_names_the_coordinates() {
    let mut values = vec![1i64; 20_000];
    values[17_777] = i64::MAX;
    let coords = vec![(0..20_000u32).map(|at| at / 100).collect(), (0..20_000).map(|at| at % 100).collect()];
    let x = CooTensor::new([200, 100], coords, values, 0).unwrap();
    let refused = ((x.lazy() * 1) + 1).abs().collect().unwrap_err();
    let Error::Lazy { cause, .. } = refused else { panic!("{refused}") };
    assert_eq!(*cause, x.add(1).unwrap_err());
}

#[test]
fn inputs_are_bound_once_each_and_with_their_shape() {
    let [x, y] = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [2, 2]));
    let program = compile(&(&x + &y)).unwrap();
    let (two, three) = (CooTensor::full([2, 2], 1.0).unwrap(), CooTensor::full([3, 2], 1.0).unwrap());
    let other = Lazy::<CooTensor<f64>>::input("other", [2, 2]);
    let refused = |feeds: Vec<lacuna::lazy::Feed>| program.run(feeds).unwrap_err().to_string();
    assert!(refused(vec![x.is(&two)]).contains("input \"y\" is not bound"));
    assert!(refused(vec![x.is(&two), x.is(&two)]).contains("bound twice"));
    assert!(refused(vec![x.is(&two), other.is(&two)]).contains("input \"other\" is not an input of this program"));
    assert!(refused(vec![x.is(&three), y.is(&two)]).contains("shape [2, 2], but is bound to shape [3, 2]"));
    let open = Lazy::<CooTensor<f64>>::input("open", [None, Some(2)]);
    let program = compile(&open.sum(1)).unwrap();
    assert_eq!(program.run([open.is(&three)]).unwrap().to_vec(&[]).unwrap(), [2.0; 3]);
    assert!(program.run([open.is(&two.transpose().unwrap().slice(ndarray::s![.., 0..1].as_ref()).unwrap())]).is_err());
    assert!(x.collect().unwrap_err().to_string().contains("not bound"));
}

/// A model has as many weights as it has, whose number no tuple knows.
#[test]
fn a_program_has_as_many_results_as_it_is_asked_for() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![-2.0, 3.0], 0.0).unwrap();
    let inputs: Vec<_> = (0..9).map(|k| Lazy::<CooTensor<f64>>::input(format!("x{k}"), [3])).collect();
    let loss = inputs.iter().skip(1).fold(inputs[0].square(), |sum, x| sum + x.square()).sum(0);
    let one = CooTensor::full([], 1.0).unwrap().lazy();
    let gradients: Vec<_> = inputs.iter().map(|x| loss.gradient(x, &one)).collect();
    let program = compile((&loss, &gradients[..], [loss.abs(), loss.neg()])).unwrap();
    let (found, slopes, [size, opposite]) = program.run(inputs.iter().map(|input| input.is(&x))).unwrap();
    let sum = x.square().unwrap().sum(0).unwrap() * 9.0;
    assert!(found.same_as(&sum) && size.same_as(&sum) && opposite.same_as(&-sum));
    assert!(slopes.len() == 9 && slopes.iter().all(|slope| slope.same_as(&(&x * 2.0))));
    let none = compile(&inputs[..0]).unwrap().run([]).unwrap();
    assert!(none.is_empty());
    let refused = compile(&gradients[..]).unwrap().run([]).unwrap_err().to_string();
    assert!(refused.contains("input \"x0\" is not bound"), "{refused}");
}

/// The results of a run on new values, with what it read of coordinates.
fn second_run_reads_nothing<V: Value + Debug>(
    make: impl Fn(&Lazy<CooTensor<f64>>, &Lazy<CooTensor<f64>>) -> Lazy<V>,
    eager: impl Fn(&CooTensor<f64>, &CooTensor<f64>) -> V,
    same: impl Fn(&V, &V) -> bool,
) {
    // More than a piece.
    let (a, b) = (matrix(300, 120, 3, 1), matrix(300, 120, 4, 2));
    assert!(a.nnz().min(b.nnz()) > 1 << 13);
    let [x, y] = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [300, 120]));
    let program = compile((&make(&x, &y), &x, &y)).unwrap();
    let _ = program.run([x.is(&a), y.is(&b)]).unwrap();
    let planned = program.coordinate_reads();
    assert!(planned > 0, "the counter counts: {}", program.explain());
    let (a, b) = ((&a + 0.25) * 3.0, b.exp().unwrap().with_fill(0.0));
    let (found, ..) = program.run([x.is(&a.clone().with_fill(0.0)), y.is(&b)]).unwrap();
    assert_eq!(program.coordinate_reads(), planned, "{}", program.explain());
    assert!(same(&found, &eager(&a.with_fill(0.0), &b)), "{found:?}");
    // Another pattern is planned anew.
    let (other, third) = (matrix(300, 120, 5, 9), matrix(300, 120, 2, 8));
    let (found, ..) = program.run([x.is(&other), y.is(&third)]).unwrap();
    assert!(same(&found, &eager(&other, &third)), "{found:?}");
}

#[test]
fn a_second_run_on_the_same_patterns_reads_no_coordinate() {
    let same = |a: &CooTensor<f64>, b: &CooTensor<f64>| a.same_as(b);
    second_run_reads_nothing(
        |x, _| x.abs().sum(0).sqrt(),
        |x, _| x.abs().unwrap().sum(0).unwrap().sqrt().unwrap(),
        same,
    );
    second_run_reads_nothing(|x, _| x.nanmedian(1), |x, _| x.nanmedian(1).unwrap(), same);
    second_run_reads_nothing(
        |x, _| x.isfinite().where_(&(x.abs() + 1.0).sqrt(), x).nanmedian(1),
        |x, _| {
            let roots = (x.abs().unwrap() + 1.0).sqrt().unwrap();
            lacuna::where_(&x.isfinite().unwrap(), &roots, x).unwrap().nanmedian(1).unwrap()
        },
        same,
    );
    second_run_reads_nothing(
        |x, _| x.abs().sqrt().sum(1),
        |x, _| x.abs().unwrap().sqrt().unwrap().sum(1).unwrap(),
        same,
    );
    second_run_reads_nothing(|x, _| x.sum(0).sum(0), |x, _| x.sum(0).unwrap().sum(0).unwrap(), same);
    second_run_reads_nothing(|x, y| (x + y).sum(1), |x, y| (x + y).sum(1).unwrap(), same);
    second_run_reads_nothing(|x, y| x * y + x, |x, y| x * y + x, same);
    second_run_reads_nothing(
        |x, _| x.flip(0).transpose().sum(0),
        |x, _| x.flip(0).unwrap().transpose().unwrap().sum(0).unwrap(),
        same,
    );
    second_run_reads_nothing(
        |x, _| (x * x).sum(1).gradient(x, &x.sum(1)),
        |x, _| {
            let dz = grad::sum(&(x * x), &x.sum(1).unwrap(), 1).unwrap();
            let (one, other) = grad::mul(x, x, &dz).unwrap();
            one + &other
        },
        same,
    );
}

/// A chain of a hundred thousand steps is made, checked and freed; it is no recursion.
#[test]
fn a_long_chain_needs_no_deep_stack() {
    let mut x = CooTensor::full([2], 1.0).unwrap().lazy();
    for _ in 0..100_000 {
        x = -x;
    }
    assert_eq!(x.collect().unwrap().get(&[1]).unwrap(), 1.0);
}

#[test]
fn gradients_need_a_rule_and_the_shape_of_the_result() {
    let x = matrix(4, 3, 2, 3).lazy();
    let refused = x.round().sum(0).gradient(&x, &x.sum(0)).check().unwrap_err();
    assert!(refused.to_string().contains("round at "), "{refused}");
    assert!(refused.to_string().contains(": it is not differentiable"), "{refused}");
    let refused = x.sum(0).gradient(&x, &x.sum(1)).check().unwrap_err();
    assert!(refused.to_string().contains("upstream gradient"), "{refused}");
}

/// By an input it is 0; by a value that is there it is a mistake, such as a second `lazy()` of one tensor.
#[test]
fn a_gradient_by_what_has_no_part_in_the_result() {
    let tensor = matrix(4, 3, 2, 3);
    let x = tensor.lazy();
    let other = Lazy::<CooTensor<f64>>::input("other", [4, 3]);
    let program = compile(&x.sum(0).gradient(&other, &x.sum(0))).unwrap();
    let zeros = program.run([other.is(&tensor)]).unwrap();
    assert!(zeros.values().iter().all(|&value| value == 0.0) && zeros.nnz() == tensor.nnz());

    let refused = x.sum(0).gradient(&tensor.lazy(), &x.sum(0)).check().unwrap_err().to_string();
    assert!(refused.contains("each call of lazy() starts a new graph"), "{refused}");
    let [mine, theirs] = x.sum(0).gradients([&x, &tensor.lazy()], &x.sum(0));
    assert!(mine.check().is_ok() && theirs.check().is_err());
    // The pattern of `x` is read, but receives no gradient.
    let left = Lazy::<ndarray::ArrayD<f64>>::input("left", [4, 2]);
    let dots = x.pattern().sddmm(&left, &Lazy::from(ndarray::ArrayD::ones(vec![3, 2])));
    assert!(dots.gradient(&x, &dots).check().is_ok());
}

/// A step that is made again is another one: its gradient is no silent zero.
#[test]
fn a_gradient_by_a_step_that_is_made_again_is_refused() {
    let x = matrix(4, 3, 2, 3).lazy();
    let absolute = x.abs();
    let z = absolute.square();
    assert!(z.gradient(&absolute, &x).check().is_ok());
    for by in [x.abs(), z.sqrt()] {
        let refused = z.gradient(&by, &x).check().unwrap_err().to_string();
        assert!(refused.contains("a step that is built again is another step"), "{refused}");
    }
}

/// A step of several results is told by its own name where a gradient ends there.
#[test]
fn a_result_of_several_without_a_gradient_is_told_by_its_step() {
    let x = matrix(4, 3, 2, 3).lazy();
    let (medians, _) = x.nanmedian_index(1).parts();
    let Err(Error::Lazy { operation, cause, .. }) = medians.gradient(&x, &medians).check() else { panic!() };
    assert_eq!(operation, "nanmedian_index");
    assert!(matches!(*cause, Error::NoGradient { operation: "nanmedian_index" }), "{cause:?}");
    let least = x.minimum(x.transpose().transpose());
    let refused = least.gradient(&x, &least).gradient(&x, &x).check().unwrap_err().to_string();
    assert!(refused.starts_with("minimum_backward at "), "{refused}");
}

/// A custom gradient must have the shape of the operand.
#[test]
fn a_custom_gradient_of_another_shape_is_refused() {
    let x = matrix(4, 3, 2, 3).lazy();
    let y = x.square().custom("odd", |x| Ok(x.clone()), |_, g| g.sum(0));
    let Err(Error::Lazy { operation, cause, .. }) = y.gradient(&x, &x).collect() else { panic!() };
    assert_eq!(operation, "custom_backward");
    assert!(matches!(*cause, Error::ShapeMismatch { what: "the gradient", .. }), "{cause:?}");
}

/// A step of the user's own of an array, and to an array.
#[test]
fn arrays_have_steps_of_the_user_too() {
    type Dense = ndarray::ArrayD<f64>;
    let w = Lazy::from(ndarray::arr1(&[-2.0, 3.0]).into_dyn());
    let cube = w.custom("cube", |w: &Dense| Ok(w.mapv(|w| w * w * w)), |w, g| Ok(g * &w.mapv(|w| 3.0 * w * w)));
    assert_eq!(cube.collect().unwrap(), ndarray::arr1(&[-8.0, 27.0]).into_dyn());
    assert_eq!(cube.gradient(&w, &w).collect().unwrap(), ndarray::arr1(&[-24.0, 81.0]).into_dyn());
    let x = matrix(4, 3, 2, 3);
    let lazy = x.lazy();
    let dense = lazy.custom("dense", |x| x.to_dense(), |x, g| grad::any(x, g, Axes::none()));
    assert_eq!(dense.gradient(&lazy, &dense).collect().unwrap().values(), x.values());
}

/// A number on the left is an operand like any other, as of tensors that are there.
#[test]
fn numbers_stand_on_the_left() {
    for x in [matrix(5, 4, 2, 3), matrix(300, 100, 2, 4).with_fill(f64::NAN)] {
        let lazy = x.lazy();
        assert_same(&(1.5 - &lazy).collect().unwrap(), &(1.5 - &x));
        assert_same(&(-0.0 + &lazy).collect().unwrap(), &(-0.0 + &x));
        assert_same(&(2.0 * (3.0 / lazy.abs())).collect().unwrap(), &(2.0 * &(3.0 / &x.abs().unwrap())));
        let dx = (1.0 / &lazy).gradient(&lazy, &lazy.with_fill(0.0)).collect().unwrap();
        let (_, expected) = grad::div(
            &CooTensor::full([1], 1.0).unwrap().broadcast_to(x.shape().clone()).unwrap(),
            &x,
            &x.clone().with_fill(0.0),
        )
        .unwrap();
        assert_same(&dx, &expected);
    }
    let x = full(vec![2.0, 4.0]).lazy();
    let second = (1.0 / &x).gradient(&x, &full(vec![1.0, 1.0]).lazy()).gradient(&x, &full(vec![1.0, 1.0]).lazy());
    assert_eq!(second.collect().unwrap().values(), [0.25, 0.03125]); // 2 / x^3
    let text = compile(&(1.5 - Lazy::<CooTensor<f64>>::input("x", [2]))).unwrap().to_text().unwrap();
    assert!(text.contains("t1 = zeros_like(t0)\nt2 = add(t1, 1.5)\nt3 = sub(t2, t0)"), "{text}");
    let w = Lazy::from(ndarray::arr1(&[2i64, 3]).into_dyn());
    assert_eq!((10 - &w).collect().unwrap(), ndarray::arr1(&[8, 7]).into_dyn());
    assert_eq!((!&w).collect().unwrap(), ndarray::arr1(&[!2, !3]).into_dyn());
}

/// Powers that a derivative lowers to 0 go on as the constant that they are, at zeros too.
#[test]
fn derivatives_of_powers_end_in_zeros() {
    let x = full(vec![0.0, 2.0]).lazy();
    let ones = full(vec![1.0, 1.0]).lazy();
    for (power, expected) in [(x.powi(2), 3), (x.powf(2.0), 3), (x.powi(0), 1), (x.powi(1), 2)] {
        let mut derivative = power;
        for number in 1..=4 {
            derivative = derivative.gradient(&x, &ones);
            let found = derivative.collect().unwrap();
            assert!(found.values().iter().all(|value| !value.is_nan()), "{found:?}");
            assert!(number < expected || found.values() == [0.0, 0.0], "{found:?}");
        }
    }
}

/// A lazy array that is read twice has second derivatives.
#[test]
fn arrays_have_second_derivatives() {
    let w = Lazy::from(ndarray::arr1(&[2.0, -1.0]).into_dyn());
    let ones = Lazy::from(ndarray::arr1(&[1.0, 1.0]).into_dyn());
    let second = (&w * &w * &w).gradient(&w, &ones).gradient(&w, &ones);
    assert_eq!(second.collect().unwrap(), ndarray::arr1(&[12.0, -6.0]).into_dyn());
    let other = (&w * &w.exp()).gradient(&w, &ones).gradient(&w, &ones).collect().unwrap();
    let expected = [(2.0 + 2.0) * 2.0_f64.exp(), (2.0 - 1.0) * (-1.0_f64).exp()];
    assert!(other.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{other}");
}

/// Steps for random graphs: each makes a matrix of the same shape of one or two of them, lazily and at once.
pub(crate) type Pair = (Lazy<CooTensor<f64>>, CooTensor<f64>);

pub(crate) fn grown(step: u8, (x, a): &Pair, (y, b): &Pair) -> Option<Pair> {
    Some(match step % 18 {
        0 => (x.abs(), a.abs().ok()?),
        1 => (x + y, a.add(b).ok()?),
        2 => (x * y, a.mul(b).ok()?),
        3 => (x.sqrt(), a.sqrt().ok()?),
        4 => (x - 0.5, a.sub(0.5).ok()?),
        5 => (x.minimum(y), a.minimum(b).ok()?),
        6 => (-x, a.neg().ok()?),
        7 => (x.flip(1), a.flip(1).ok()?),
        8 => (x + &x.sum(Axes::from(1).keep_dims()), a.add(&a.sum(Axes::from(1).keep_dims()).ok()?).ok()?),
        9 => (x.tanh(), a.tanh().ok()?),
        10 => (x.stored().mul(y.stored()), a.stored().mul(&b.stored()).ok()?),
        11 => (x.roll(2, 0), a.roll(2, 0).ok()?),
        12 => (x.isfinite().cast(), a.isfinite().ok()?.cast().ok()?),
        13 => (x.with_fill(2.0), a.clone().with_fill(2.0)),
        14 => (
            x.maximum(x.nanmedian(Axes::from(0).keep_dims())),
            a.maximum(&a.nanmedian(Axes::from(0).keep_dims()).ok()?).ok()?,
        ),
        15 if a.nnz() < 100 => {
            (x.matmul(&y.transpose()).matmul(y), a.matmul(&b.transpose().ok()?).ok()?.matmul(b).ok()?)
        }
        16 if a.nnz() < 100 => {
            let spec = "ij,kj,kl->il";
            (lazy::einsum(spec, &[x, y, x]), lacuna::einsum(spec, &[a, b, a]).ok()?)
        }
        _ => (x.powi(2), a.powi(2).ok()?),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(3)))]

    /// Random graphs of up to 20 steps give the bits of the steps one by one: collected, compiled, and run again. Large
    /// ones are cut into pieces.
    #[test]
    fn random_graphs_equal_the_steps(
        steps in prop::collection::vec(
            (any::<u8>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            1..20,
        ),
        large in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let size = if large { (200, 130) } else { (5, 4) };
        let inputs = [matrix(size.0, size.1, 2, seed), matrix(size.0, size.1, 3, seed ^ 7)];
        let names = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [size.0, size.1]));
        let mut pairs: Vec<Pair> = names.iter().cloned().zip(inputs.iter().cloned()).collect();
        for (step, one, other) in steps {
            if let Some(pair) = grown(step, one.get(&pairs), other.get(&pairs)) {
                pairs.push(pair);
            }
        }
        let (lazy, eager) = pairs.last().unwrap();
        let program = compile((lazy, &lazy.sum(0), &names[0], &names[1])).unwrap();
        for _ in 0..2 {
            let (found, sums, ..) = program.run(names.iter().zip(&inputs).map(|(name, input)| name.is(input))).unwrap();
            prop_assert!(found.same_as(eager), "{}\n{found:?}\n{eager:?}", program.explain());
            prop_assert!(sums.same_as(&eager.sum(0).unwrap()));
        }
        // However it is cut.
        for positions in [1, 3, 64, 1000].into_iter().filter(|&positions| !large || positions > 50) {
            let feeds = names.iter().zip(&inputs).map(|(name, input)| name.is(input));
            let (found, sums, ..) =
                program.run_on(&lazy::Chunks::memory(1 << 30).positions(positions), feeds).unwrap();
            prop_assert!(found.same_as(eager), "{positions}: {}\n{found:?}\n{eager:?}", program.explain());
            prop_assert!(sums.same_as(&eager.sum(0).unwrap()));
        }
    }
}

/// The value of a graph and its gradient by `x`, by central differences of the sum of `weight * f(x)`.
fn by_differences(x: &CsrTensor<f64>, loss: impl Fn(&CsrTensor<f64>) -> f64) -> Vec<f64> {
    let step = 1e-6;
    (0..x.nnz())
        .map(|entry| {
            let moved = |by: f64| {
                let mut moved = x.clone();
                moved.values_mut().unwrap()[entry] += by;
                loss(&moved)
            };
            (moved(step) - moved(-step)) / (2.0 * step)
        })
        .collect()
}

/// Every step with a rule, against central differences and with upstream values that are not ones.
#[test]
fn gradients_agree_with_central_differences() {
    type Graph = fn(&Lazy<CsrTensor<f64>>) -> Lazy<CsrTensor<f64>>;
    let graphs: &[(&str, Graph)] = &[
        ("sum", |x| x.sum(1)),
        ("mean of squares", |x| x.square().mean(0)),
        ("var", |x| x.var(1)),
        ("std", |x| x.std(0)),
        ("norm", |x| x.norm(1)),
        ("prod", |x| (x + 0.5).prod(0)),
        ("max", |x| x.max(1)),
        ("nanmedian", |x| x.nanmedian(0)),
        ("stored mean", |x| x.stored().mean(1)),
        ("quantile", |x| x.quantile(0.3, 0)),
        ("chain", |x| ((x.abs() + 1.0).ln() * 3.0).tanh()),
        ("product with itself", |x| x * x * x),
        ("two readers", |x| x.exp() * x.sin() - x),
        ("quotient", |x| x / &(x.square() + 2.0)),
        ("moved", |x| x.flip(0).roll(1, 1).transpose().sum(0)),
        ("window", |x| x.slice(ndarray::s![1..3, ..;2].as_ref()).square()),
        ("taken", |x| x.take_axis(vec![2usize, 0, 2], 1).square()),
        ("taken flat", |x| x.take(vec![7i32, 0, 7, -1]).powi(3)),
        ("points", |x| x.gather([vec![1i32, 0, 1], vec![0, -1, 0]]).powi(3)),
        ("along an axis", |x| x.take_along_axis(ndarray::arr2(&[[1i32, 0], [0, -1], [2, 2], [2, 0]]), 1).powi(3)),
        ("row beside matrix", |x| x * x.sum(Axes::from(0).keep_dims())),
        ("matmul", |x| x.matmul(&x.transpose())),
        ("softmax", |x| x.stored().softmax(1)),
        ("log_softmax", |x| x.stored().log_softmax(0)),
        ("differences", |x| x.square().diff(2, 1)),
        ("differences of entries", |x| x.square().stored().diff(1, 0)),
        ("running sums", |x| x.square().stored().cumsum(1)),
        ("running products", |x| x.stored().cumprod(1)),
        ("chosen", |x| x.greater(0.0).where_(&x.square(), &x.sin())),
        ("clamped", |x| x.clamp(-1.0, 2.0)),
        ("power", |x| x.powi(3)),
        ("other format", |x| x.to_coo().square().to_csr()),
        ("other type", |x| x.cast::<f64>().square()),
        ("least", |x| x.minimum(x.square())),
        ("greatest two", |x| x.topk(2, 1).square()),
        ("joined", |x| lazy::concat(1, &[x.square(), x.flip(0), x.clone()])),
        ("side by side", |x| lazy::stack(-1, &[&x.square(), x]).sum(0)),
        ("pairs", |x| x.outer(&x.square())),
        ("blocks", |x| x.kron(x)),
        ("block matrix", |x| lazy::block(&[&[x, &x.square()], &[&x.flip(1), x]])),
        ("product at entries", |x| x.matmul_on(&x.transpose().matmul(x), &x.pattern(), Matmul::plus_times())),
        ("product elsewhere", |x| x.matmul_without(&x.transpose().matmul(x), &x.pattern(), Matmul::plus_times())),
        ("contracted", |x| x.square().tensordot(x, [0], [0])),
        ("contracted wholly", |x| x.square().tensordot(x, [1, 0], [1, 0])),
        ("on a diagonal", |x| x.square().sum(0).diag(-1)),
        ("selected", |x| x.select(|value| value > 0.4).square()),
        ("of a row", |x| x.filter_entries(|at, _| at[0] == 1).square()),
    ];
    let x = matrix(4, 3, 2, 77).to_csr().unwrap().map_values(|value| value + 0.375).unwrap().with_fill(0.0);
    for (name, graph) in graphs {
        let y = graph(&x.lazy()).collect().unwrap_or_else(|error| panic!("{name}: {error}"));
        let weight = y.map_entries(|at, _| 0.5 + 0.75 * at.iter().fold(0, |sum, at| 3 * sum + at) as f64);
        let weight = weight.unwrap().with_fill(0.0);
        let lazy = x.lazy();
        let dx =
            graph(&lazy).gradient(&lazy, &weight.lazy()).collect().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(dx.shares_pattern_with(&x) && dx.fill() == 0.0, "{name}");
        let loss = |x: &CsrTensor<f64>| {
            let y = graph(&x.lazy()).collect().unwrap().with_fill(0.0);
            y.stored().mul(weight.stored()).unwrap().sum(Axes::all()).unwrap().item().unwrap()
        };
        for (found, expected) in dx.values().iter().zip(by_differences(&x, loss)) {
            assert!((found - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{name}: {found} {expected}");
        }
    }
}

#[test]
fn steps_of_two_results_and_of_lists_are_those_of_the_operations() {
    let x = matrix(6, 5, 2, 21);
    let (greatest, places) = x.lazy().stored().topk_index(2, 1).parts();
    let (expected, at) = x.stored().topk_index(2, 1).unwrap();
    assert!(greatest.collect().unwrap().same_as(&expected) && places.collect().unwrap() == at);
    let (medians, places) = x.lazy().nanmedian_index(0).parts();
    let (expected, at) = x.nanmedian_index(0).unwrap();
    assert!(medians.collect().unwrap().same_as(&expected) && places.collect().unwrap() == at);
    assert_eq!(x.lazy().stored().argsort(1).collect().unwrap(), x.stored().argsort(1).unwrap());
    let joined = lazy::concat(-1, &[x.lazy(), x.lazy().abs()]);
    assert_eq!(joined.shape(), Some(&[6, 10][..]));
    assert!(joined.collect().unwrap().same_as(&lacuna::concat(-1, &[&x, &x.abs().unwrap()]).unwrap()));
    let outer = x.lazy().outer(&x.lazy().sum(0));
    assert_eq!(outer.shape(), Some(&[6, 5, 5][..]));
    assert!(outer.collect().unwrap().same_as(&lacuna::outer(&x, &x.sum(0).unwrap()).unwrap()));
    let stacked = lazy::stack(1, &[x.lazy(), x.lazy()]);
    assert_eq!(stacked.shape(), Some(&[6, 2, 5][..]));
    assert!(stacked.collect().unwrap().same_as(&lacuna::stack(1, &[&x, &x]).unwrap()));
    for refused in [
        lazy::concat::<_, f64>(0, &[] as &[Lazy<CooTensor<f64>>]).check(),
        lazy::concat(2, &[x.lazy()]).check(),
        lazy::stack(0, &[x.lazy(), x.lazy().sum(0)]).check(),
        lazy::concat(0, &[x.lazy(), x.lazy().transpose()]).check(),
    ] {
        assert!(matches!(refused, Err(Error::Lazy { line: 1.., .. })), "{refused:?}");
    }
}

/// The steps whose results are of another kind than what they look at.
#[test]
fn what_is_found_of_values_is_what_the_operations_find() {
    let x = matrix(6, 5, 2, 21);
    let axes = x.nonzero().unwrap();
    let rows = x.lazy().nonzero().collect().unwrap();
    assert_eq!(rows.shape(), [axes[0].len(), 2]);
    assert!(rows.indexed_iter().all(|(at, &found)| found == u64::from(axes[at[1]][at[0]])));
    assert!(matches!(x.lazy().with_fill(1.0).nonzero().collect(), Err(Error::Lazy { operation: "nonzero", .. })));
    let one = CooTensor::new([], vec![], vec![2.5], 0.0).unwrap();
    assert_eq!(one.lazy().nonzero().collect().unwrap().shape(), [1, 0]);

    let (values, counts) = x.lazy().unique().parts();
    let (expected, times) = lacuna::unique(&x).unwrap();
    assert_eq!(values.collect().unwrap().into_raw_vec_and_offset().0, expected);
    assert_eq!(counts.collect().unwrap().into_raw_vec_and_offset().0, times);
    let (_, counts) = x.lazy().stored().unique().parts();
    assert_eq!(counts.collect().unwrap().sum(), x.nnz() as u64);

    let near = (&x * 1.000001).lazy();
    assert!(near.allclose(&x.lazy(), (1e-5, 0.0)).collect().unwrap().item().unwrap());
    assert!(!near.allclose(&x.lazy(), (1e-9, 0.0)).collect().unwrap().item().unwrap());
    assert!(near.allclose(&x.transpose().unwrap().lazy(), (1e-5, 0.0)).check().is_err());
}

/// A vector on a diagonal keeps its entries, and has those of the constructor where all are stored.
#[test]
fn a_vector_stands_on_a_diagonal() {
    let all = full(vec![1.0, -2.0, 0.5]);
    for offset in [-2, 0, 1] {
        let found = all.lazy().diag(offset).collect().unwrap();
        assert_same(&found, &CooTensor::diag(vec![1.0, -2.0, 0.5], offset).unwrap());
        assert_eq!(all.lazy().diag(offset).shape(), Some(&**found.shape()));
    }
    let some = CooTensor::new([4], vec![vec![1, 3]], vec![2.0, f64::NAN], -0.0).unwrap();
    for some in
        [some.lazy().diag(1).collect().unwrap(), some.to_csr().unwrap().lazy().diag(1).to_coo().collect().unwrap()]
    {
        assert_eq!(some.pattern().coords(0), [1, 3]);
        assert_eq!(some.pattern().coords(1), [2, 4]);
        assert_eq!((some.values()[0], some.fill().to_bits()), (2.0, 0));
    }
    let filled = some.with_fill(1.0);
    assert!(matches!(filled.lazy().diag(0).collect(), Err(Error::Lazy { operation: "diag", .. })));
    assert!(matches!(matrix(2, 2, 1, 1).lazy().diag(0).check(), Err(Error::Lazy { operation: "diag", .. })));
    assert!(all.lazy().diag(isize::MIN).check().is_ok() && all.lazy().diag(isize::MIN).collect().is_err());
}

/// Gradients at positions outside the mask are not propagated.
#[test]
fn a_masked_product_gives_back_what_came_at_its_entries() {
    let [x, y, mask, g] =
        [(5, 4, 2, 1), (4, 5, 2, 2), (5, 5, 3, 3), (5, 5, 1, 4)].map(|(r, c, e, s)| matrix(r, c, e, s));
    let (lazy, other) = (x.lazy(), y.lazy());
    for is_complement in [false, true] {
        let at = mask.lazy().pattern();
        let (product, eager) = match is_complement {
            false => (lazy.matmul_on(&other, &at, Matmul::plus_times()), x.matmul_with(&y, mask.pattern())),
            true => {
                let options = Matmul::plus_times().without(mask.pattern());
                (lazy.matmul_without(&other, &at, Matmul::plus_times()), x.matmul_with(&y, options))
            }
        };
        let eager = eager.unwrap();
        assert_same(&product.collect().unwrap(), &eager);
        let [dx, dy] = product.gradients([&lazy, &other], &g.lazy()).map(|gradient| gradient.collect().unwrap());
        let came = grad::any(&eager, &g, Axes::none()).unwrap();
        let (expected_x, expected_y) = lacuna::grad::matmul(&x.stored(), &y.stored(), &came).unwrap();
        assert_same(&dx, &expected_x);
        assert_same(&dy, &expected_y);
    }
    let refused = lazy.matmul_on(&other, &x.lazy().pattern(), Matmul::plus_times()).check();
    assert!(matches!(refused, Err(Error::Lazy { operation: "matmul_on", .. })));
    let no = lazy.matmul_on(&other, &mask.lazy().pattern(), Matmul::min_plus());
    assert!(no.gradient(&lazy, &no).check().is_err());
}

/// Each of several gradients has the shape of what it is of, before anything runs.
#[test]
fn the_shapes_of_two_gradients_are_known() {
    let (x, row) = (matrix(4, 3, 2, 1).lazy(), matrix(1, 3, 1, 2).lazy());
    let [dx, dy] = (&x * &row).gradients([&x, &row], &x);
    assert_eq!((dx.shape(), dy.shape()), (Some(&[4, 3][..]), Some(&[1, 3][..])));
    let column = row.transpose();
    let of_column = x.matmul(&column).gradient(&column, &x.sum(Axes::from(1).keep_dims()));
    assert_eq!(of_column.shape(), Some(&[3, 1][..]));
    assert_eq!(x.kron(&row).shape(), Some(&[4, 9][..]));
    assert!(dy.sum(Axes::by(1, &[0usize, 0, 1])).check().is_ok());
}

/// Times stand at what runs: a step alone, and a pass at its last step; nothing else is told otherwise.
#[test]
fn what_runs_is_told_with_its_time() {
    let x = matrix(30, 20, 2, 3);
    let input = Lazy::<CooTensor<f64>>::input("x", [30, 20]);
    let program = compile((&(input.abs() + 1.0).sqrt(), &input.transpose())).unwrap();
    let told = program.explain_analyze([input.is(&x)]).unwrap();
    let timed: Vec<&str> = told.lines().filter(|line| line.contains(" ms, ") && line.ends_with(" bytes]")).collect();
    assert_eq!(timed.len(), 2, "{told}");
    assert!(timed[0].contains("sqrt(") && timed[1].contains("transpose("), "{told}");
    let [.., at_once, read] = &told.lines().collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert!(at_once.starts_with("peak memory: ") && read.starts_with("coordinates: read "), "{told}");
    let steps = told.lines().filter(|line| line.starts_with('%'));
    let without: String = steps.map(|line| format!("{}\n", line.split(" [").next().unwrap())).collect();
    let plain: String =
        program.explain().lines().map(|line| format!("{}\n", line.split(" [").next().unwrap())).collect();
    assert_eq!(without, plain);
    assert!(program.explain_analyze([input.is(&x)]).unwrap().ends_with("the previous run\n"));
    assert!(program.explain_analyze([]).is_err());
}

/// Operations without a lazy twin, and what stands for them. Whoever adds an operation adds its step or a line here.
const LACKING: &[(&str, &str)] = &[("zip_with", "custom, with one operand")];

/// The forward operations that the library exports, against the methods of lazy tensors.
#[test]
fn every_operation_has_its_step() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut exported = exported_functions();
    exported.retain(|name| !name.ends_with("_into"));
    assert!(exported.len() > 90, "{exported:?}");
    let files = ["lazy", "ops/table"].map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files.into_iter().flatten().map(|file| file.unwrap().path());
    let code: String = files.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let is_there = |name: &str| {
        let rows = [
            format!("    {name} |"),
            format!("    {name}("),
            format!("    {name}: "),
            format!("    {name} ["),
            format!("    {name}, "),
            format!("pub fn {name}"),
            format!("\" => {name}("),
            format!("pub {name} = "),
        ];
        rows.iter().any(|row| code.contains(row.as_str()))
    };
    let lacking: Vec<&str> = exported.iter().map(String::as_str).filter(|name| !is_there(name)).collect();
    assert_eq!(lacking, LACKING.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// A vector that stores each of so many elements.
fn full(values: Vec<f64>) -> CooTensor<f64> {
    let count = values.len();
    CooTensor::new([count], vec![(0..count as u32).collect()], values, 0.0).unwrap()
}

/// Equal words are not equal arguments: a long list is abridged, and NaNs differ in their bits.
#[test]
fn steps_with_arguments_that_print_alike_are_two() {
    let x = full((0..1000).map(f64::from).collect());
    let mut positions: Vec<u32> = (0..1000).collect();
    let straight = x.lazy().take(positions.clone());
    positions.swap(400, 500);
    let lazy = x.lazy();
    let (one, other) = (lazy.take((0..1000).collect::<Vec<u32>>()), lazy.take(positions));
    let found = compile((&one, &other)).unwrap().run([]).unwrap();
    assert_same(&found.0, &straight.collect().unwrap());
    assert_eq!(found.1.get(&[400]).unwrap(), 500.0);

    let [one, other] = [0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0002].map(|bits| lazy.with_fill(f64::from_bits(bits)));
    let found = compile((&one, &other)).unwrap().run([]).unwrap();
    assert_eq!(found.0.fill().to_bits(), 0x7FF8_0000_0000_0001);
    assert_eq!(found.1.fill().to_bits(), 0xFFF8_0000_0000_0002);
}

/// The gradients of two choices by position, from one gradient of their results.
#[test]
fn gradients_of_two_takes_are_two() {
    let (x, g) = (full(vec![1.0, 2.0, 3.0]).lazy(), full(vec![1.0, 10.0]).lazy());
    let (one, other) = (x.take(vec![0u32, 1]), x.take(vec![1u32, 2]));
    let found = compile((&one.gradient(&x, &g), &other.gradient(&x, &g))).unwrap().run([]).unwrap();
    assert_eq!((found.0.values(), found.1.values()), (&[1.0, 10.0, 0.0][..], &[0.0, 1.0, 10.0][..]));
}

/// An error of a gradient is carried, though no shape is known.
#[test]
fn a_gradient_of_an_open_shape_is_refused_too() {
    let x = Lazy::<CooTensor<f64>>::input("x", [None, Some(3)]);
    let refused = x.round().sum(0).gradient(&x, &x.sum(0)).check().unwrap_err();
    assert!(refused.to_string().contains(": it is not differentiable"), "{refused}");
}

/// A step whose elements are not floats ends a gradient, even if the steps around it have rules.
#[test]
fn a_gradient_through_bools_is_refused() {
    let x = matrix(4, 3, 2, 3).lazy();
    let y = x.any(1).custom("count", |any| any.cast::<f64>(), |any, _| Ok(any.clone()));
    let refused = y.gradient(&x, &y).collect().unwrap_err();
    assert!(refused.to_string().starts_with("any at tests/lazy.rs:"), "{refused}");
}

/// The gradient of a result that is refused carries the error. It was zeros.
#[test]
fn the_gradient_of_a_refused_result_is_refused() {
    let x = matrix(4, 3, 2, 3).lazy();
    let refused = x.sum(2).gradient(&x, &x.sum(0)).check().unwrap_err().to_string();
    assert!(refused.ends_with("axis 2 is out of range for rank 2"), "{refused}");
    let refused = x.sum(0).gradient(&x, &x.sum(2)).check().unwrap_err().to_string();
    assert!(refused.ends_with("axis 2 is out of range for rank 2"), "{refused}");
}

/// The user's own gradient need not have the pattern of the tensor: it is brought onto it.
#[test]
fn a_custom_gradient_may_have_another_pattern() {
    let x = matrix(300, 100, 2, 3);
    for g in [matrix(300, 100, 3, 4), matrix(300, 100, 3, 4).with_fill(7.0), x.clone()] {
        let lazy = x.lazy();
        let dx = lazy.custom("same", |x| Ok(x.clone()), |_, g| Ok(g.clone())).gradient(&lazy, &g.lazy());
        let expected = grad::any(&x, &g, Axes::none()).unwrap();
        assert_same(&dx.collect().unwrap(), &expected);
        assert_same(&(dx * &lazy + 1.0).abs().collect().unwrap(), &(&expected * &x + 1.0).abs().unwrap());
    }
}

/// A formula ends at what it is of: second derivatives of a long chain take no time with the square of its length.
#[test]
fn a_second_derivative_of_a_long_chain_is_made_in_time() {
    let x = full(vec![0.3, 0.5]).lazy();
    let start = std::time::Instant::now();
    let chain = (0..5_000).fold(x.clone(), |y, _| (y * 0.5).sin());
    let second = chain.gradient(&x, &x).gradient(&x, &x);
    assert!(second.check().is_ok() && start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    let y = (0..20).fold(x.clone(), |y, _| (y * 0.9).sin());
    let first = |at: f64| {
        let x = full(vec![at]).lazy();
        let y = (0..20).fold(x.clone(), |y, _| (y * 0.9).sin());
        y.gradient(&x, &full(vec![1.0]).lazy()).collect().unwrap().values()[0]
    };
    let ones = full(vec![1.0, 1.0]).lazy();
    let found = y.gradient(&x, &ones).gradient(&x, &ones).collect().unwrap();
    assert!((found.values()[0] - (first(0.3 + 1e-6) - first(0.3 - 1e-6)) / 2e-6).abs() < 1e-7, "{found:?}");
}

/// Derivatives of what became a constant are zeros, whatever the order.
#[test]
fn derivatives_beyond_the_last_one_are_zeros() {
    let (x, ones) = (full(vec![2.0, 3.0]).lazy(), full(vec![1.0, 1.0]).lazy());
    let sixth = (0..6).fold(&x * &x, |y, _| y.gradient(&x, &ones));
    assert_eq!(sixth.collect().unwrap().values(), [0.0, 0.0]);
    let w = Lazy::from(ndarray::arr1(&[2.0, 3.0]).into_dyn());
    let ones = Lazy::from(ndarray::arr1(&[1.0, 1.0]).into_dyn());
    let fourth = (0..4).fold(&w * &w, |y, _| y.gradient(&w, &ones));
    assert_eq!(fourth.collect().unwrap(), ndarray::arr1(&[0.0, 0.0]).into_dyn());
}

/// Arrays have shares, which stand in a text too.
#[test]
fn shares_of_arrays_are_the_operations() {
    let (x, g) = (dense(5, 4, 0.7), dense(5, 4, -1.3));
    let lazy = Lazy::from(x.clone());
    assert_same_arrays(&lazy.softmax(1).collect().unwrap(), &lacuna::softmax(&x, 1).unwrap());
    let shares = lazy.log_softmax(-1);
    assert_same_arrays(&shares.collect().unwrap(), &lacuna::log_softmax(&x, -1).unwrap());
    let dx = shares.gradient(&lazy, &Lazy::from(g.clone())).collect().unwrap();
    assert_same_arrays(&dx, &lacuna::grad::log_softmax(&x, &g, -1).unwrap());
    assert!(lazy.softmax(2).check().is_err());
    let text = compile(&Lazy::<ndarray::ArrayD<f64>>::input("x", [5, 4]).softmax(1)).unwrap().to_text().unwrap();
    assert!(text.contains("t1 = softmax(t0, axis=1)\nresult"), "{text}");
}

/// Entries beside an array, as the guide centres rows: bits, and gradients by both against differences.
#[test]
fn entries_stand_beside_an_array() {
    fn centred<P: Pattern>(x: &Lazy<Tensor<P, f64>>, by: &Lazy<ndarray::ArrayD<f64>>) -> Lazy<Tensor<P, f64>> {
        x.stored().sub(by).stored().mul(by.clone()).stored().div(by)
    }
    let x = matrix(5, 4, 2, 7).map_values(|value| if value.is_finite() { value } else { 0.5 }).unwrap();
    let by = x.stored().mean(Axes::from(1).keep_dims()).unwrap().with_fill(1.5).to_dense().unwrap() + 3.0;
    let (lazy, lazy_by) = (x.to_csr().unwrap().lazy(), Lazy::from(by.clone()));
    let z = centred(&lazy, &lazy_by);
    let eager = x.to_csr().unwrap().stored().sub(&by).unwrap().stored().mul(&by).unwrap().stored().div(&by).unwrap();
    assert_same(&z.collect().unwrap(), &eager);
    assert!(eager.shares_pattern_with(&lazy.collect().unwrap()) || eager.pattern() == x.to_csr().unwrap().pattern());
    let weight = eager.map_entries(|at, _| 0.5 + at[0] as f64 - 0.25 * at[1] as f64).unwrap().with_fill(0.0);
    let dx = z.gradient(&lazy, &weight.lazy()).collect().unwrap();
    let dby = z.gradient(&lazy_by, &weight.lazy()).collect().unwrap();
    assert_eq!((dx.pattern(), dby.shape()), (x.to_csr().unwrap().pattern(), by.shape()));
    let loss = |x: &CsrTensor<f64>, by: &ndarray::ArrayD<f64>| {
        let z = centred(&x.lazy(), &Lazy::from(by.clone())).collect().unwrap();
        z.stored().mul(weight.stored()).unwrap().sum(Axes::all()).unwrap().item().unwrap()
    };
    let expected = by_differences(&x.to_csr().unwrap(), |x| loss(x, &by));
    assert!(dx.values().iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5), "{dx:?}");
    for (place, found) in dby.indexed_iter() {
        let moved = |step: f64| {
            let mut by = by.clone();
            by[&place] += step;
            loss(&x.to_csr().unwrap(), &by)
        };
        let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((found - expected).abs() < 1e-5, "{place:?}: {found} {expected}");
    }
    let text = compile(&Lazy::<CooTensor<f64>>::input("x", [5, 4]).stored().sub(&lazy_by)).unwrap().to_text().unwrap();
    assert!(text.contains("t2 = sub(stored(t1), t0)"), "{text}");
}

/// A tensor as an array, with its gradient, first and second.
#[test]
fn a_tensor_becomes_an_array() {
    let x = matrix(4, 3, 2, 3).with_fill(0.5);
    let (lazy, g) = (x.lazy(), dense(4, 3, 2.0));
    assert_same_arrays(&lazy.to_dense().collect().unwrap(), &x.to_dense().unwrap());
    let dx = lazy.to_dense().gradient(&lazy, &Lazy::from(g.clone())).collect().unwrap();
    assert_same(&dx, &grad::any(&x, &g, Axes::none()).unwrap());
    let x = full(vec![2.0, -1.0]).lazy();
    let ones = Lazy::from(ndarray::arr1(&[1.0, 1.0]).into_dyn());
    let cube = x.to_dense() * x.to_dense() * x.to_dense();
    let second = cube.gradient(&x, &ones).gradient(&x, &full(vec![1.0, 1.0]).lazy());
    assert_eq!(second.collect().unwrap().values(), [12.0, -6.0]);
}

/// Whatever pattern and fill the upstream gradient has.
#[test]
fn a_gradient_has_the_pattern_of_its_operand() {
    let x = matrix(4, 3, 2, 3);
    let g = matrix(4, 3, 3, 4).with_fill(2.0);
    let lazy = x.lazy();
    for y in [lazy.clone(), lazy.cast::<f64>(), lazy.to_csr().to_coo()] {
        let dx = y.gradient(&lazy, &g.lazy()).collect().unwrap();
        assert!(dx.pattern() == x.pattern() && dx.fill() == 0.0, "{dx:?}");
        assert_same(&dx, &grad::any(&x, &g, Axes::none()).unwrap());
    }
}

/// A kept value of `value` is not computed again for later steps.
#[test]
fn a_kept_value_is_the_beginning_of_what_follows() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let counts = move |x: &CooTensor<f64>| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(x.clone())
    };
    let x = full(vec![1.0, 2.0]).lazy();
    let y = x.custom("counts", counts, |_, g| Ok(g.clone())).sum(0);
    for _ in 0..3 {
        assert_eq!((&y + y.value().unwrap()).collect().unwrap().item().unwrap(), 6.0);
    }
    assert_eq!(runs.load(std::sync::atomic::Ordering::Relaxed), 1);
}

/// A program keeps patterns, not values; and what it kept for tensors that went by goes with them.
#[test]
fn a_program_holds_no_values_and_no_old_patterns() {
    let [x, y] = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [40, 30]));
    let program = compile((&(&x * &y), &x)).unwrap();
    let mut a = matrix(40, 30, 3, 1);
    let place = a.values().as_ptr();
    let (_, out) = program.run([x.is(&a), y.is(&a)]).unwrap();
    drop(out);
    a.values_mut().unwrap()[0] = 1.0;
    assert_eq!(a.values().as_ptr(), place, "the values are held by nobody else");
    let old = matrix(40, 30, 4, 2);
    let place = old.pattern().coords(0).as_ptr();
    for other in [old.clone(), matrix(40, 30, 2, 3), matrix(40, 30, 5, 4)] {
        drop(program.run([x.is(&a), y.is(&other)]).unwrap());
    }
    let (_, coords) = old.into_parts().unwrap().0.into_parts().unwrap();
    assert_eq!(coords[0].as_ptr(), place, "the pattern of two runs ago is held by nobody else");
}

/// A chain of moves is as deep as its patterns are.
#[test]
fn a_long_chain_of_moves_runs_in_a_program() {
    let x = Lazy::<CooTensor<f64>>::input("x", [2]);
    let y = (0..20_000).fold(x.clone(), |y, _| y.flip(0));
    let program = compile(&y).unwrap();
    let a = full(vec![1.0, 2.0]);
    for _ in 0..2 {
        assert_same(&program.run([x.is(&a)]).unwrap(), &a);
    }
    assert!(program.coordinate_reads() > 0);
}

/// Another step of the same pattern in between does not cut a pass in two.
#[test]
fn what_is_between_does_not_cut_a_pass() {
    let x = Lazy::<CooTensor<f64>>::input("x", [3, 4]);
    let (one, shares) = (x.abs(), x.stored().softmax(1));
    let told = compile((&one.sqrt(), &shares)).unwrap().explain();
    assert_eq!(told.matches("[fused: pass 1]").count(), 2, "{told}");
}

/// An array of so many rows and columns.
fn dense(rows: usize, columns: usize, by: f64) -> ndarray::ArrayD<f64> {
    ndarray::Array2::from_shape_fn((rows, columns), |(row, column)| by * (row as f64 - 1.3) / (column as f64 + 0.7))
        .into_dyn()
}

fn assert_same_arrays(found: &ndarray::ArrayD<f64>, expected: &ndarray::ArrayD<f64>) {
    assert_eq!(found.mapv(f64::to_bits), expected.mapv(f64::to_bits));
}

/// The steps beside the operations, on a tensor and for an upstream gradient on a pattern of its own.
fn products_with_arrays<P: Pattern>(x: &Tensor<P, f64>, upstream: &Tensor<P, f64>, width: usize) {
    let [rows, columns] = [x.shape()[0], x.shape()[1]];
    let (lazy, dz) = (x.lazy(), upstream.lazy());

    let (y, g) = (dense(columns, width, 0.3), dense(rows, width, -1.7));
    let (right, up) = (Lazy::from(y.clone()), Lazy::from(g.clone()));
    let product = lazy.matmul(&right);
    assert_eq!(product.shape(), Some(&[rows, width][..]));
    match lacuna::matmul(x, &y) {
        Ok(expected) => {
            let (dx, dy) = (product.gradient(&lazy, &up), product.gradient(&right, &up));
            assert_eq!(dy.shape(), Some(&[columns, width][..]));
            let found = compile((&product, &dx, &dy)).unwrap().run([]).unwrap();
            let (dx, dy) = lacuna::grad::matmul(x, &y, &g).unwrap();
            assert_same_arrays(&found.0, &expected);
            assert_same(&found.1, &dx);
            assert_same_arrays(&found.2, &dy);
        }
        Err(error) => {
            let Err(Error::Lazy { cause, .. }) = product.collect() else { panic!("{error}") };
            assert_eq!(*cause, error);
        }
    }

    let [l, r] = [dense(rows, width, 1.1), dense(columns, width, 0.2)];
    let [left, right] = [&l, &r].map(|array| Lazy::from(array.clone()));
    // The pattern alone counts: the dots are those of a tensor of ones, and the values receive nothing.
    let ones = x.map_values(|_| 1.0).unwrap();
    let dots = lazy.pattern().sddmm(&left, &right);
    assert_same(&dots.collect().unwrap(), &ones.stored().sddmm(&l, &r).unwrap());
    let [dl, dr] = dots.gradients([&left, &right], &dz).map(|gradient| gradient.collect().unwrap());
    let (_, expected_l, expected_r) = grad::sddmm(&ones.stored(), &l, &r, upstream).unwrap();
    assert_same_arrays(&dl, &expected_l);
    assert_same_arrays(&dr, &expected_r);
    assert!(dots.gradient(&lazy, &dz).collect().unwrap().values().iter().all(|value| value.to_bits() == 0));

    let times = lazy.stored().sddmm(&left, &right);
    assert_same(&times.collect().unwrap(), &x.stored().sddmm(&l, &r).unwrap());
    let (dx, expected_l, expected_r) = grad::sddmm(&x.stored(), &l, &r, upstream).unwrap();
    // The product is a step with the pattern, and what is passed on has no sign of zero.
    let dx = lacuna::grad::any(x, &dx, lacuna::Axes::none()).unwrap();
    assert_same(&times.gradient(&lazy, &dz).collect().unwrap(), &dx);
    assert_same_arrays(&times.gradient(&left, &dz).collect().unwrap(), &expected_l);
    assert_same_arrays(&times.gradient(&right, &dz).collect().unwrap(), &expected_r);
}

#[test]
fn products_with_arrays_are_the_operations_one_by_one() {
    let awkward = [f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY, 1e300];
    for (rows, columns, every) in [(6, 3, 2), (6, 40, 3), (5, 5, 1), (4, 4, 1000), (0, 3, 1), (3, 0, 1)] {
        let x = matrix(rows, columns, every, 11);
        let mut strange = x.clone();
        strange.values_mut().unwrap().iter_mut().zip(awkward).for_each(|(value, other)| *value = other);
        let upstream = matrix(rows, columns, 2, 29).with_fill(2.5);
        for x in [x.clone(), x.clone().with_fill(7.0), x.with_fill(f64::NAN), strange] {
            for width in [0, 1, 9] {
                products_with_arrays(&x, &upstream, width);
                products_with_arrays(&x.to_csr().unwrap(), &upstream.to_csr().unwrap(), width);
            }
        }
    }
}

/// One array is both operands, or is read twice. The gradients of all reads are added.
#[test]
fn gradients_of_an_array_that_is_read_twice_are_added() {
    use ndarray::{ArrayD, arr2};
    // Not symmetric: of a pattern that is, both sides would have one gradient.
    let x = CooTensor::new([3, 3], vec![vec![0, 0, 2], vec![1, 2, 2]], vec![1.0; 3], 0.0).unwrap().lazy();
    let w = Lazy::<ArrayD<f64>>::input("w", [3, 2]);
    let z = x.pattern().sddmm(&w, &w).sum(Axes::all());
    let one = CooTensor::from_parts(lacuna::CooPattern::empty([0; 0]).unwrap(), vec![], 1.0).unwrap();
    let program = compile((&z, &z.gradient(&w, &one.lazy()))).unwrap();
    let at = arr2(&[[1.0, -2.0], [0.5, 3.0], [2.0, 0.25]]).into_dyn();
    let (_, dw) = program.run([w.is(&at)]).unwrap();
    for (place, &found) in dw.indexed_iter() {
        let mut sides = [0.5, -0.5].map(|by| {
            let mut moved = at.clone();
            moved[&place] += by;
            program.run([w.is(&moved)]).unwrap().0.item().unwrap()
        });
        sides[0] -= sides[1]; // exact for a function of the second degree
        assert!((sides[0] - found).abs() < 1e-12, "{place:?}: {found} against {}", sides[0]);
    }
}

/// Arrays of another shape are refused where the graph is made, and a result that no array has a part in gives zeros.
#[test]
fn arrays_that_do_not_fit_are_refused_at_their_line() {
    use ndarray::ArrayD;
    let x = Lazy::<CsrTensor<f64>>::input("x", [3, 4]);
    let w = Lazy::<ArrayD<f64>>::input("w", [5, 2]);
    let error = x.matmul(&w).check().unwrap_err().to_string();
    assert!(error.starts_with("matmul at tests/lazy.rs:"), "{error}");
    let [l, r] = ["l", "r"].map(|name| Lazy::<ArrayD<f64>>::input(name, [3, 2]));
    let error = x.pattern().sddmm(&l, &r).check().unwrap_err().to_string();
    assert!(error.starts_with("sddmm at tests/lazy.rs:"), "{error}");
    let vector = Lazy::<CsrTensor<f64>>::input("vector", [3]);
    assert!(vector.pattern().sddmm(&l, &r).check().is_err());
    let sums = x.sum(0);
    let dw = compile(&sums.gradient(&w, &sums)).unwrap();
    assert_eq!(dw.run([w.is(&ArrayD::ones(vec![5, 2]))]).unwrap(), ArrayD::<f64>::zeros(vec![5, 2]));
}

/// The gradients of all operands, one of which stands twice: each place gives its own.
#[test]
fn einsum_and_its_gradients_are_the_operations() {
    let [a, b] = [matrix(4, 5, 2, 7), matrix(5, 3, 2, 8)];
    let g = matrix(4, 4, 2, 9);
    let (x, y, upstream) = (a.lazy(), b.lazy(), g.lazy());
    let spec = "ij,jk,lk,ml->im";
    let z = lazy::einsum(spec, &[&x, &y, &y, &x]);
    assert_eq!(z.shape(), Some(&[4, 4][..]));
    assert_same(&z.collect().unwrap(), &lacuna::einsum(spec, &[&a, &b, &b, &a]).unwrap());
    let each = lacuna::grad::einsum(spec, &[&a, &b, &b, &a], &g).unwrap();
    let [dx, dy] = z.gradients([&x, &y], &upstream);
    assert_same(&dx.collect().unwrap(), &each[3].add(&each[0]).unwrap());
    assert_same(&dy.collect().unwrap(), &each[2].add(&each[1]).unwrap());

    assert_eq!((dx.shape(), dy.shape()), (Some(&[4, 5][..]), Some(&[5, 3][..])));

    let none: [Lazy<CooTensor<f64>>; 0] = [];
    assert!(lazy::einsum("->", &none).check().is_err());
    let error = lazy::einsum("ij,jk->iz", &[&x, &y]).check().unwrap_err().to_string();
    assert!(error.starts_with("einsum at tests/lazy.rs:"), "{error}");
}

/// Products of two arrays, with infinite elements, vectors, batches, and axes of length 0.
#[test]
fn products_of_two_arrays_are_the_operations_one_by_one() {
    use ndarray::ArrayD;
    let array = |shape: &[usize], by: f64| {
        let count: usize = shape.iter().product();
        let values = (0..count).map(|at| if at == 3 { f64::INFINITY } else { (at as f64 * by).sin() }).collect();
        ArrayD::from_shape_vec(shape, values).unwrap()
    };
    for (left, right) in
        [(&[4, 3][..], &[3, 2][..]), (&[3], &[3]), (&[2, 4, 9], &[9, 5]), (&[4, 0], &[0, 2]), (&[0, 3], &[3])]
    {
        let (x, y) = (array(left, 0.7), array(right, -1.3));
        let z = lacuna::matmul(&x, &y).unwrap();
        let (dx, dy) = lacuna::grad::matmul(&x, &y, &z).unwrap();
        let [lazy_x, lazy_y] = [x, y].map(Lazy::from);
        let product = lazy_x.matmul(&lazy_y);
        assert_eq!(product.shape(), Some(z.shape()));
        let found = compile((&product, &product.gradient(&lazy_x, &product), &product.gradient(&lazy_y, &product)));
        let found = found.unwrap().run([]).unwrap();
        for (found, expected) in [(&found.0, &z), (&found.1, &dx), (&found.2, &dy)] {
            assert_same_arrays(found, expected);
        }
        let refused = lazy_x.matmul(&Lazy::from(array(&[5, 7], 1.0))).check().unwrap_err().to_string();
        assert!(refused.starts_with("matmul at tests/lazy.rs:"), "{refused}");
    }
}

/// Arrays have the steps of tensors: the bits of the operations one by one, and their gradients.
#[test]
fn steps_of_arrays_are_the_operations_one_by_one() {
    let a = dense(5, 4, 0.7);
    let b = lacuna::sum(&dense(4, 4, -0.3), 0).unwrap();
    let (x, y) = (Lazy::from(a.clone()), Lazy::from(b.clone()));
    let z = ((x.exp() * &y - 0.5).abs() + 1.0).ln().sum(0).maximum(&b);
    let of_parts = lacuna::sub(&lacuna::mul(&lacuna::exp(&a).unwrap(), &b).unwrap(), 0.5).unwrap();
    let logs = lacuna::ln(&lacuna::add(&lacuna::abs(&of_parts).unwrap(), 1.0).unwrap()).unwrap();
    let expected = lacuna::maximum(&lacuna::sum(&logs, 0).unwrap(), &b).unwrap();
    assert_same_arrays(&z.collect().unwrap(), &expected);
    assert_eq!(z.shape(), Some(&[4][..]));

    let moved = x.flip(1).transpose().take_axis(vec![3usize, 0], 0).topk(2, 1);
    let at_once = lacuna::transpose(&lacuna::flip(&a, 1).unwrap()).unwrap();
    let at_once = lacuna::topk(&lacuna::take_axis(&at_once, vec![3usize, 0], 0).unwrap(), 2, 1).unwrap();
    assert_same_arrays(&moved.collect().unwrap(), &at_once);
    assert_eq!(x.isnan().any(Axes::all()).collect().unwrap(), ndarray::arr0(false).into_dyn());

    let g = lacuna::sum(&dense(1, 4, 2.0), 0).unwrap();
    let dz = Lazy::from(g.clone());
    let product = (&x * &y).sum(0);
    let (dx, dy) = (product.gradient(&x, &dz), product.gradient(&y, &dz));
    let spread = lacuna::grad::sum(&lacuna::mul(&a, &b).unwrap(), &g, 0).unwrap();
    let expected = lacuna::grad::mul(&a, &b, &spread).unwrap();
    let found = compile((&dx, &dy)).unwrap().run([]).unwrap();
    assert_same_arrays(&found.0, &expected.0);
    assert_same_arrays(&found.1, &expected.1);
}

type DensePair = (Lazy<ndarray::ArrayD<f64>>, ndarray::ArrayD<f64>);

/// Steps for random graphs of arrays.
fn grown_array(step: u8, (x, a): &DensePair, (y, b): &DensePair) -> lacuna::Result<DensePair> {
    let kept = |axis: i32| Axes::from(axis).keep_dims();
    Ok(match step % 12 {
        0 => (x.abs(), lacuna::abs(a)?),
        1 => (x + y, lacuna::add(a, b)?),
        2 => (x - y, lacuna::sub(a, b)?),
        3 => (x.sqrt(), lacuna::sqrt(a)?),
        4 => (x / 0.3, lacuna::div(a, 0.3)?),
        5 => (x.minimum(y), lacuna::minimum(a, b)?),
        6 => (-x, lacuna::neg(a)?),
        7 => (x.roll(1, 1), lacuna::roll(a, 1, 1)?),
        8 => (x * x.sum(kept(1)), lacuna::mul(a, &lacuna::sum(a, kept(1))?)?),
        9 => (x.tanh(), lacuna::tanh(a)?),
        10 => (x.maximum(x.nanmedian(kept(0))), lacuna::maximum(a, &lacuna::nanmedian(a, kept(0))?)?),
        _ => (x.clamp(-0.5, 2.0), lacuna::clamp(a, -0.5, 2.0)?),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(4)))]

    /// As those of tensors, in rows or in columns.
    #[test]
    fn random_graphs_of_arrays_equal_the_steps(
        steps in prop::collection::vec(
            (any::<u8>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            1..20,
        ),
        large in any::<bool>(),
        in_columns in any::<bool>(),
    ) {
        let size = if large { (150, 80) } else { (5, 4) };
        let mut inputs = [dense(size.0, size.1, 0.7), dense(size.0, size.1, -0.1)];
        if in_columns {
            inputs[0] = dense(size.1, size.0, 0.9).reversed_axes();
        }
        let names = ["x", "y"].map(|name| Lazy::<ndarray::ArrayD<f64>>::input(name, [size.0, size.1]));
        let mut pairs: Vec<DensePair> = names.iter().cloned().zip(inputs.iter().cloned()).collect();
        for (step, one, other) in steps {
            let pair = grown_array(step, one.get(&pairs), other.get(&pairs)).unwrap();
            pairs.push(pair);
        }
        let (lazy, eager) = pairs.last().unwrap();
        let program = compile((lazy, &lazy.sum(0), &names[0], &names[1])).unwrap();
        for _ in 0..2 {
            let (found, sums, ..) = program.run(names.iter().zip(&inputs).map(|(name, input)| name.is(input))).unwrap();
            prop_assert_eq!(found.mapv(f64::to_bits), eager.mapv(f64::to_bits), "{}", program.explain());
            prop_assert_eq!(sums.mapv(f64::to_bits), lacuna::sum(eager, 0).unwrap().mapv(f64::to_bits));
        }
    }
}

/// The products of an operand along its axes, and their gradients.
fn products_along_axes<X>(x: &X, lazy: &Lazy<X>, same: fn(&X, &X))
where
    X: lazy::Steps<Elem = f64, Of<f64> = X, Reduced<f64> = X> + lazy::HasGradient,
{
    use ndarray::{Ix1, Ix2};
    let [rows, columns] = [x.lengths()[0], x.lengths()[1]];
    let (m, v) = (dense(2, columns, 0.4), lacuna::sum(&dense(rows, 2, 0.9), 1).unwrap());
    let [matrix, vector] = [&m, &v].map(|array| Lazy::from(array.clone()));
    let m2 = m.view().into_dimensionality::<Ix2>().unwrap();
    let v1 = v.view().into_dimensionality::<Ix1>().unwrap();

    let ttm = lazy.ttm(&matrix, 1);
    assert_eq!(ttm.shape(), Some(&[rows, 2][..]));
    let g = lacuna::ttm(x, &m2, 1).unwrap();
    assert_same_arrays(&ttm.collect().unwrap(), &g);
    let (dx, dm) = lacuna::grad::ttm(x, &m2, 1, &g).unwrap();
    same(&ttm.gradient(lazy, &ttm).collect().unwrap(), &dx);
    assert_same_arrays(&ttm.gradient(&matrix, &ttm).collect().unwrap(), &dm);

    let ttv = lazy.ttv(&vector, -2);
    assert_eq!(ttv.shape(), Some(&[columns][..]));
    let g = lacuna::ttv(x, &v1, 0).unwrap();
    assert_same_arrays(&ttv.collect().unwrap(), &g);
    let (dx, dv) = lacuna::grad::ttv(x, &v1, 0, &g).unwrap();
    same(&ttv.gradient(lazy, &ttv).collect().unwrap(), &dx);
    assert_same_arrays(&ttv.gradient(&vector, &ttv).collect().unwrap(), &dv);
    // Gradients of both axes from one gradient: two steps with the same name.
    let other = lazy.ttm(&Lazy::from(dense(rows, rows, 0.1)), 0);
    assert_eq!(other.shape(), Some(&[rows, columns][..]));

    let factor = Lazy::from(dense(columns, 3, -0.8));
    let product = lazy.mttkrp(0, &[&factor]);
    assert_eq!(product.shape(), Some(&[rows, 3][..]));
    let f = factor.collect().unwrap();
    let g = lacuna::mttkrp(x, 0, &[&f]).unwrap();
    assert_same_arrays(&product.collect().unwrap(), &g);
    let (dx, df) = lacuna::grad::mttkrp(x, 0, &[&f], &g).unwrap();
    let found = compile((&product.gradient(lazy, &product), &product.gradient(&factor, &product))).unwrap();
    let found = found.run([]).unwrap();
    same(&found.0, &dx);
    assert_same_arrays(&found.1, &df[0]);

    let refused = |error: lacuna::Result<()>| {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(" at tests/lazy.rs:"), "{error}");
    };
    refused(lazy.ttm(&vector, 1).check());
    refused(lazy.ttm(&Lazy::from(dense(2, columns + 1, 1.0)), 1).check());
    refused(lazy.ttv(&vector, 2).check());
    refused(lazy.mttkrp(0, &[&matrix.transpose(), &matrix]).collect().map(drop));
    refused(lazy.mttkrp(1, &[&factor]).check());
}

#[test]
fn products_along_axes_are_the_operations() {
    let x = matrix(4, 5, 2, 9);
    let csr = x.to_csr().unwrap();
    products_along_axes(&x, &x.lazy(), assert_same);
    products_along_axes(&csr, &csr.lazy(), assert_same);
    let array = x.to_dense().unwrap();
    products_along_axes(&array, &Lazy::from(array.clone()), assert_same_arrays);
}

/// Reductions by label, of tensors, of what they store, and of arrays; and their gradients.
#[test]
fn reductions_by_label_are_the_operations() {
    let x = matrix(6, 5, 2, 9);
    let (labels, lazy) = ([1u32, 0, 1, 2, 0, 1], x.lazy());
    let by = Axes::by(0, &labels);
    assert_same(&lazy.sum(&by).collect().unwrap(), &x.sum(&by).unwrap());
    assert_eq!(lazy.sum(&by).shape(), Some(&[3, 5][..]));
    assert_same(&lazy.var(by.clone().and(1)).collect().unwrap(), &x.var(by.clone().and(1)).unwrap());
    assert_same(&lazy.nanmedian(&by).collect().unwrap(), &x.nanmedian(&by).unwrap());
    let stored = lazy.stored().mean(Axes::by(0, &labels));
    assert_same(&stored.collect().unwrap(), &x.stored().mean(Axes::by(0, &labels)).unwrap());
    let dx = lacuna::grad::mean(&x, &x.mean(&by).unwrap(), &by).unwrap();
    let means = lazy.mean(&by);
    assert_same(&means.gradient(&lazy, &means).collect().unwrap(), &dx);

    let array = x.to_dense().unwrap();
    let found = Lazy::from(array.clone()).max(Axes::by(0, &labels)).collect().unwrap();
    assert_same_arrays(&found, &lacuna::max(&array, Axes::by(0, &labels)).unwrap());

    // Long lists of labels are not told, and yet are two.
    let long = full((0..400).map(f64::from).collect());
    let halves = [7usize, 11].map(|by| (0..400).map(|at| at / by % 2).collect::<Vec<_>>());
    let of_long = long.lazy();
    let [one, other] = halves.each_ref().map(|labels| of_long.sum(Axes::by(0, labels)));
    let found = compile((&one, &other)).unwrap().run([]).unwrap();
    assert_same(&found.0, &long.sum(Axes::by(0, &halves[0])).unwrap());
    assert_same(&found.1, &long.sum(Axes::by(0, &halves[1])).unwrap());

    let error = lazy.sum(Axes::by(0, &labels[1..])).check().unwrap_err().to_string();
    assert!(error.starts_with("sum at tests/lazy.rs:"), "{error}");
    let open = Lazy::<CooTensor<f64>>::input("x", [None, Some(3)]);
    let sums = open.sum(Axes::by(0, &labels));
    let bound = CooTensor::new([6, 3], vec![vec![1, 4], vec![0, 2]], vec![2.0, 3.0], 0.0).unwrap();
    let found = compile(&sums).unwrap().run([open.is(&bound)]).unwrap();
    assert_same(&found, &bound.sum(Axes::by(0, &labels)).unwrap());
}

/// Over a semiring, by a tensor and by an array; without a gradient, which is said.
#[test]
fn products_over_semirings_are_the_operations() {
    use lacuna::Matmul;
    let (x, y) = (matrix(4, 5, 2, 9), matrix(5, 3, 2, 10));
    let least = x.lazy().matmul_with(&y.lazy(), Matmul::min_plus());
    assert_same(&least.collect().unwrap(), &lacuna::matmul_with(&x, &y, Matmul::min_plus()).unwrap());
    assert_eq!(least.shape(), Some(&[4, 3][..]));
    let array = dense(5, 3, 0.4);
    let found = x.lazy().matmul_with(&Lazy::from(array.clone()), Matmul::max_times()).collect().unwrap();
    assert_same_arrays(&found, &lacuna::matmul_with(&x, &array, Matmul::max_times()).unwrap());
    let lazy = x.lazy();
    let least = lazy.matmul_with(&y.lazy(), Matmul::min_plus());
    let error = least.gradient(&lazy, &least).check().unwrap_err().to_string();
    assert!(error.contains(": it is not differentiable"), "{error}");
    assert!(y.lazy().matmul_with(&y.lazy(), Matmul::min_plus()).check().is_err());
}

/// A gradient has no gradient where it has no rule: an error with the operation and the line that asked.
#[test]
fn a_gradient_of_a_gradient_names_what_has_none() {
    let x = matrix(4, 3, 2, 3).lazy();
    let first = x.prod(1).gradient(&x, &x.sum(1));
    let line = line!() - 1;
    let Err(Error::Lazy { operation, line: found, cause, .. }) = first.gradient(&x, &x).check() else {
        panic!("a second derivative of prod, which second_derivatives_agree_with_central_differences can have now")
    };
    assert_eq!((operation, found), ("prod_backward", line));
    assert!(matches!(*cause, Error::NoGradient { operation: "prod_backward" }), "{cause:?}");
}

/// A gradient of a gradient has no contribution from positions that the first gradient does not store.
#[test]
fn second_derivatives_take_what_the_first_stores_alone() {
    let x = CooTensor::<f64>::new([3], vec![vec![0]], vec![2.0], 0.0).unwrap().lazy();
    let y = CooTensor::<f64>::new([3], vec![vec![0, 1, 2]], vec![1.0, 2.0, 3.0], 0.0).unwrap().lazy();
    let all = CooTensor::<f64>::new([3], vec![vec![0, 1, 2]], vec![1.0; 3], 0.0).unwrap().lazy();
    type Graph = fn(&Lazy<CooTensor<f64>>, &Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>;
    let graphs: [(&str, Graph); 12] = [
        ("sum", |x, _| x.sum(0)),
        ("sum of entries", |x, _| x.stored().sum(0)),
        ("mean", |x, _| x.mean(0)),
        ("slice", |x, _| x.slice(ndarray::s![0..2].as_ref())),
        ("taken", |x, _| x.take_axis(vec![2usize, 0, 1, 1], 0)),
        ("product", |x, y| x * y),
        ("number", |x, _| x * 3.0),
        ("exp", |x, _| x.exp()),
        ("square", |x, _| x.square()),
        ("mask", |x, y| x.stored().mask(&y.pattern())),
        ("choice", |x, y| y.greater(0.0).where_(x, y)),
        ("einsum", |x, y| lacuna::lazy::einsum("i,i->i", &[x, y])),
    ];
    for (name, graph) in graphs {
        let z = graph(&x, &y);
        let lengths = z.collect().unwrap().shape().to_vec();
        let count: usize = lengths.iter().product();
        let coords = vec![(0..count as u32).collect(); lengths.len()];
        let g = CooTensor::<f64>::new(lengths, coords, vec![1.5; count], 0.0).unwrap().lazy();
        let dx = z.gradient(&x, &g);
        let found = dx.gradient(&g, &all).collect().unwrap();
        let one = CooTensor::<f64>::new([], vec![], vec![1.0], 0.0).unwrap().lazy();
        let summed = (&dx * &all).sum(0).gradient(&g, &one).collect().unwrap();
        assert_eq!(found.to_dense().unwrap(), summed.to_dense().unwrap(), "{name}");
        assert_eq!(found.to_dense().unwrap().iter().filter(|&&value| value != 0.0).count(), 1, "{name}");
    }
}

type OfOne = fn(&Lazy<CsrTensor<f64>>) -> Lazy<CsrTensor<f64>>;

#[test]
fn second_derivatives_agree_with_central_differences() {
    second_derivatives_agree(&[
        ("neg", |x| -x),
        ("abs", |x| x.abs() * x),
        ("square", |x| x.square()),
        ("sqrt", |x| (x.square() + 1.0).sqrt()),
        ("cbrt", |x| (x.square() + 0.5).cbrt()),
        ("exp", |x| (x * 0.25).exp()),
        ("exp2", |x| (x * 0.25).exp2()),
        ("exp_m1", |x| (x * 0.25).exp_m1()),
        ("ln", |x| (x.square() + 0.5).ln()),
        ("ln_1p", |x| x.square().ln_1p()),
        ("log2 and log10", |x| (x.square() + 0.5).log2() * (x.square() + 2.0).log10()),
        ("sin and cos", |x| x.sin() + x.cos()),
        ("tan", |x| (x * 0.125).tan()),
        ("asin and acos", |x| (x * 0.1).asin() - (x * 0.1).acos()),
        ("asinh", |x| x.asinh()),
        ("acosh", |x| (x.square() + 1.5).acosh()),
        ("atan", |x| x.atan()),
        ("atanh", |x| (x * 0.1).atanh()),
        ("sinh and cosh", |x| (x * 0.25).sinh() * (x * 0.25).cosh()),
        ("tanh", |x| x.tanh()),
        ("recip", |x| (x.square() + 1.0).recip()),
        ("powi", |x| x.powi(4)),
        ("powf", |x| (x.square() + 1.0).powf(1.5)),
        ("product", |x| x * x * x),
        ("quotient", |x| x / &(x.square() + 2.0)),
        ("difference", |x| x.square() - x),
        ("number", |x| (x.square() - 0.5) / 3.0),
        ("sum", |x| x.square().sum(1)),
        ("mean", |x| x.powi(3).mean(0)),
        ("stored sum", |x| x.square().stored().sum(Axes::all())),
        ("row beside matrix", |x| x * x.sum(Axes::from(0).keep_dims())),
        ("moved", |x| x.square().flip(0).roll(1, 1).transpose()),
        ("window", |x| x.slice(ndarray::s![1..3, ..;2].as_ref()).square()),
        ("taken", |x| x.powi(3).take_axis(vec![2usize, 0, 2], 1)),
        ("taken flat", |x| x.square().take(vec![7i32, 0, 7, -1])),
        ("points", |x| x.square().gather([vec![1i32, 0, 1], vec![0, -1, 0]])),
        ("along an axis", |x| x.square().take_along_axis(ndarray::arr2(&[[1i32, 0], [0, -1], [2, 2], [2, 0]]), 1)),
        ("matmul", |x| x.matmul(&x.transpose())),
        ("matrix and vector", |x| x.matmul(&x.sum(0))),
        ("vector and matrix", |x| x.sum(1).matmul(x)),
        ("two vectors", |x| x.sum(1).matmul(&x.square().mean(1))),
        ("batches", |x| x.square().expand_dims(0).repeat(2, 0).matmul(&x.transpose())),
        ("vector and batches", |x| x.sum(1).matmul(&x.square().expand_dims(0).repeat(2, 0))),
        ("batches and vector", |x| x.square().expand_dims(0).repeat(2, 0).matmul(&x.sum(0))),
    ]);
}

#[test]
fn second_derivatives_of_reductions_and_products_agree_with_central_differences() {
    second_derivatives_agree(&[
        ("concat", |x| lacuna::lazy::concat(0, &[x.square(), x.powi(3)]).sum(1)),
        ("stack", |x| lacuna::lazy::stack(1, &[x.square(), x.powi(3)])),
        ("group by", |x| x.square().sum(Axes::by(0, &[1u32, 0, 1, 2]))),
        ("variance", |x| x.square().var(1)),
        ("deviation", |x| (x * 0.5).exp_m1().std(lacuna::Var::over(0).ddof(1))),
        ("variance of all", |x| x.var(Axes::all().keep_dims())),
        ("norm", |x| x.square().norm(1)),
        ("norm of entries", |x| x.powi(3).stored().norm(lacuna::Norm::over(0))),
        ("sum without NaN", |x| x.powi(3).nansum(1)),
        ("mean without NaN", |x| x.square().nanmean(0)),
        ("mean of entries", |x| x.square().stored().mean(0)),
        ("least", |x| x.powi(3).min(1)),
        ("most of entries", |x| x.powi(3).stored().max(Axes::from(0).keep_dims())),
        ("least and most without NaN", |x| x.square().nanmin(0) + x.powi(3).nanmax(0)),
        ("median", |x| x.powi(3).median(1)),
        ("median of entries", |x| x.square().stored().nanmedian(1)),
        ("median of all", |x| (x * 0.5).exp_m1().nanmedian(Axes::all())),
        ("quantile", |x| x.powi(3).quantile(0.7, 1)),
        ("quantile of entries", |x| x.powi(3).stored().nanquantile(0.3, 1)),
        ("softmax", |x| x.square().stored().softmax(1)),
        ("softmax of columns", |x| (x * 0.5).stored().softmax(0) * x),
        ("log_softmax", |x| x.square().stored().log_softmax(1)),
        ("differences", |x| x.powi(3).diff(1, 1)),
        ("running sums", |x| x.powi(3).stored().cumsum(1)),
        ("log_softmax of all", |x| (x * 0.5).stored().log_softmax(Axes::all())),
        ("tensordot", |x| x.square().tensordot(x, [0], [0])),
        ("tensordot of both axes", |x| x.tensordot(&x.powi(3), [1, 0], [1, 0])),
        ("outer", |x| x.sum(1).outer(&x.square().mean(0))),
        ("einsum", |x| lacuna::lazy::einsum("ij,kj,kl->il", &[x.clone(), x.square(), x.clone()])),
        ("einsum with dots", |x| lacuna::lazy::einsum("...j,...j->...", &[x.square(), x.clone()])),
        ("einsum of a diagonal", |x| lacuna::lazy::einsum("ii,ij->j", &[x.matmul(&x.transpose()), x.square()])),
        ("einsum with sums", |x| lacuna::lazy::einsum("ij,kl->j", &[x.square(), x.clone()])),
        ("kron", |x| x.kron(&x.square())),
        ("product of entries", |x| x.stored().matmul(&x.square().transpose())),
        ("masked product", |x| {
            let (turned, options) = (x.square().transpose(), lacuna::Matmul::plus_times());
            x.matmul_on(&turned, &x.matmul(&turned).tril(0).prune().pattern(), options)
        }),
        ("clamp", |x| (x.powi(3) - 0.1).clamp(-0.5, 0.9) * x),
        ("choice", |x| x.greater(0.6).where_(&x.square(), &x.powi(3))),
        ("choice beside a row", |x| x.greater(0.6).where_(&x.square().mean(Axes::from(0).keep_dims()), x)),
        ("mask", |x| x.powi(3).stored().mask(&x.slice(ndarray::s![.., ..;-1].as_ref()).pattern())),
        ("without", |x| x.powi(3).stored().without(&x.slice(ndarray::s![.., ..;-1].as_ref()).pattern())),
    ]);
}

/// The gradient of a gradient, whose upstream gradient depends on the tensor as well.
fn second_derivatives_agree(graphs: &[(&str, OfOne)]) {
    let x = matrix(4, 3, 2, 77).to_csr().unwrap().map_values(|value| value * 0.5 + 0.375).unwrap().with_fill(0.0);
    let other = x.map_entries(|at, _| 0.25 + 0.5 * at.iter().sum::<usize>() as f64).unwrap().with_fill(0.0);
    for (name, graph) in graphs {
        let y = graph(&x.lazy()).collect().unwrap_or_else(|error| panic!("{name}: {error}"));
        let weight = y.map_entries(|at, _| 0.5 + 0.75 * at.iter().fold(0, |sum, at| 3 * sum + at) as f64);
        let weight = weight.unwrap().with_fill(0.0);
        let first = |x: &Lazy<CsrTensor<f64>>| {
            let y = graph(x);
            y.gradient(x, &(&y * &weight.lazy()))
        };
        // Both have fills of 0 where they are multiplied.
        let first = |lazy: &Lazy<CsrTensor<f64>>| match y.fill() == 0.0 {
            true => first(lazy),
            false => graph(lazy).gradient(lazy, &weight.lazy()),
        };
        let lazy = x.lazy();
        let second = first(&lazy).gradient(&lazy, &other.lazy()).collect();
        let second = second.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(second.shares_pattern_with(&x) && second.fill() == 0.0, "{name}: {second:?}");
        let loss = |x: &CsrTensor<f64>| {
            let dx = first(&x.lazy()).collect().unwrap();
            dx.stored().mul(other.stored()).unwrap().sum(Axes::all()).unwrap().item().unwrap()
        };
        for (found, expected) in second.values().iter().zip(by_differences(&x, loss)) {
            assert!((found - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{name}: {found} {expected}");
        }
    }
}

/// Elements without a weight do not contribute to a second derivative, even if the upstream gradient is NaN or
/// infinite.
#[test]
fn second_derivatives_of_shares_leave_the_others_out() {
    for (strange, graph) in [
        (f64::NAN, (|x| x.nansum(0)) as fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>),
        (f64::NAN, |x| x.stored().nanmax(0)),
        (f64::NEG_INFINITY, |x| x.max(0)),
        (f64::NEG_INFINITY, |x| x.quantile(1.0, 0)),
    ] {
        let x = full(vec![strange, 2.0]).lazy();
        let z = graph(&x);
        let second = z.gradient(&x, &z).gradient(&x, &x).collect().unwrap();
        assert_eq!(second.values(), [0.0, 2.0]);
    }
}

/// A gradient has the pattern of what it is by, and that of an upstream gradient no other: it had that of the product.
#[test]
fn gradients_by_an_upstream_have_its_pattern() {
    let of = |values: [f64; 4]| {
        CooTensor::new([2, 2], vec![vec![0, 0, 1, 1], vec![0, 1, 0, 1]], values.to_vec(), 0.0).unwrap().lazy()
    };
    let (x, y) = (of([1.0, -2.0, 3.0, 4.0]), of([2.0, 0.5, 1.0, -1.0]));
    let g = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![1.5], 0.0).unwrap().lazy();
    let graphs = [
        ("matmul", x.matmul(&y)),
        ("tensordot", x.tensordot(&y, [1], [0])),
        ("einsum", lazy::einsum("ij,jk->ik", &[&x, &y])),
        ("entries", x.stored().matmul(&y)),
        ("clamp", x.clamp(-1.0, 9.0)),
        ("abs", x.abs()),
        ("mul", &x * &y),
    ];
    for (name, z) in graphs {
        let found = z.gradient(&x, &g).gradient(&g, &x).collect().unwrap();
        assert_eq!((found.nnz(), found.coords(0), found.coords(1)), (1, &[0][..], &[1][..]), "{name}");
    }
}

/// Lanes were counted by a quotient of sizes: no lane was none at all, and more positions than 2^128 were too few.
#[test]
fn second_derivatives_of_deviations_count_the_lanes_of_every_shape() {
    let of = |shape: &[usize], coords: Vec<Vec<u32>>, values: Vec<f64>| {
        CooTensor::new(shape, coords, values, 0.0).unwrap().lazy()
    };
    let empty = of(&[0, 3], vec![vec![], vec![]], vec![]);
    let first = empty.var(1).gradient(&empty, &empty.sum(1));
    assert_eq!(first.gradient(&empty, &empty).collect().unwrap().nnz(), 0);
    // 2 g / n at an entry that stands alone, but for what its mean is.
    let long = of(&[1 << 31; 5], vec![vec![7]; 5], vec![3.0]);
    let ones = of(&[1 << 31; 4], vec![vec![7]; 4], vec![1.0]);
    let first = long.var(0).gradient(&long, &ones);
    let second = first.gradient(&long, &long.square()).collect().unwrap();
    let n = 2f64.powi(31);
    assert_eq!(second.values(), [9.0 * 2.0 / n * (1.0 - 1.0 / n)]);
}

/// The left operand of a tensor may be an array. Each operator equals the operation on values.
#[test]
fn operators_take_an_array_on_the_left() {
    // Without gaps, which have one value and not that of each column.
    let x = CooTensor::from_dense(&dense(4, 3, 0.9), 0.0).unwrap();
    let (row, g) = (dense(1, 3, 0.7), dense(4, 3, 1.3));
    let (lazy, array) = (x.lazy(), Lazy::from(row.clone()));
    assert_same(&(&array + &lazy).collect().unwrap(), &(&row + &x));
    assert_same(&(&array - lazy.clone()).collect().unwrap(), &(&row - &x));
    assert_same(&(&row * &lazy).collect().unwrap(), &(&row * &x));
    assert_same(&(array.clone() / &lazy).collect().unwrap(), &(&row / &x));
    assert_same(&(&row % lazy.clone()).collect().unwrap(), &(&row % &x));
    let g = CooTensor::from_dense(&g, 0.0).unwrap();
    type Both = (ndarray::ArrayD<f64>, CooTensor<f64>);
    let all: [(Lazy<CooTensor<f64>>, Both); 4] = [
        (&array + &lazy, lacuna::grad::add(&row, &x, &g).unwrap()),
        (&array - &lazy, lacuna::grad::sub(&row, &x, &g).unwrap()),
        (&array * &lazy, lacuna::grad::mul(&row, &x, &g).unwrap()),
        (&array / &lazy, lacuna::grad::div(&row, &x, &g).unwrap()),
    ];
    for (z, (of_array, of_x)) in all {
        assert_same_arrays(&z.gradient(&array, &g.lazy()).collect().unwrap(), &of_array);
        assert_same(&z.gradient(&lazy, &g.lazy()).collect().unwrap(), &of_x);
    }
    // The second derivative of a / x is 2 a / x³.
    let ones = x.map_values(|_| 1.0).unwrap().lazy();
    let second = (&array / &lazy).gradient(&lazy, &ones).gradient(&lazy, &ones).collect().unwrap();
    let expected = (&row * &x.powi(-3).unwrap()).mul(2.0).unwrap();
    assert!(second.values().iter().zip(expected.values()).all(|(a, b)| (a - b).abs() < 1e-12 * b.abs()), "{second:?}");
    let refused = (&Lazy::from(dense(1, 2, 0.7)) * &lazy).check().unwrap_err().to_string();
    assert!(refused.starts_with("mul at tests/lazy.rs:"), "{refused}");
}

/// Second derivatives of products with arrays, for both operands, compared with differences of the first derivatives.
#[test]
fn products_with_arrays_have_second_derivatives() {
    type Dense = Lazy<ndarray::ArrayD<f64>>;
    type Graph = fn(&Lazy<CsrTensor<f64>>, &Dense) -> Dense;
    let graphs: &[(&str, &[usize], Graph)] = &[
        ("matrices", &[3, 2], |x, w| x.matmul(w)),
        ("matrix and vector", &[3], |x, w| x.matmul(w)),
        ("vector and matrix", &[4, 2], |x, w| x.sum(1).matmul(w)),
        ("vectors", &[4], |x, w| x.sum(1).matmul(w)),
        ("array and matrix", &[2, 4], |x, w| w.matmul(x)),
        ("array and vector", &[2, 3], |x, w| w.matmul(&x.sum(0))),
        ("row and matrix", &[4], |x, w| w.matmul(x)),
        ("row and vector", &[3], |x, w| w.matmul(&x.sum(0))),
        ("matrix along an axis", &[2, 4], |x, w| x.square().ttm(w, 0)),
        ("vector along an axis", &[3], |x, w| x.square().ttv(w, 1)),
        ("factors", &[3, 2], |x, w| x.square().mttkrp(0, &[w])),
        ("dots at entries", &[4, 2], |x, w| {
            let right = w.slice(ndarray::s![..3, ..].as_ref()).square();
            (x.pattern().sddmm(w, &right) * x).sum(1).to_dense()
        }),
        ("times", &[3], |x, w| (x.square() * w).sum(1).to_dense()),
        ("array times", &[3], |x, w| (w * x).sum(0).to_dense()),
        ("array minus", &[4], |x, w| (w.square() - x.sum(1)).square().to_dense()),
        ("minus array", &[4], |x, w| (x.sum(1) - w).square().to_dense()),
        ("arrays minus", &[4], |x, w| (w.square() - x.sum(1).to_dense()).square()),
        ("arrays", &[3, 2], |x, w| x.to_dense().matmul(w)),
        ("arrays, vector", &[3], |x, w| x.to_dense().matmul(w)),
    ];
    let x = matrix(4, 3, 2, 77).to_csr().unwrap().map_values(|value| value * 0.5 + 0.375).unwrap().with_fill(0.0);
    for (name, lengths, graph) in graphs {
        let mut next = 0.75;
        let w = ndarray::ArrayD::from_shape_simple_fn(*lengths, || {
            next -= 0.3;
            next
        });
        let one = Lazy::from(ndarray::arr0(1.0).into_dyn());
        // The sums of the squares of what both receive.
        let squares = |x: &Lazy<CsrTensor<f64>>, w: &Dense| -> [Dense; 2] {
            let z = graph(x, w);
            let loss = (&z * &z * &z).sum(Axes::all());
            let dx = loss.gradient(x, &one).square().sum(Axes::all()).to_dense();
            [dx, loss.gradient(w, &one).square().sum(Axes::all())]
        };
        for which in [0, 1] {
            let (lazy_x, lazy_w) = (x.lazy(), Lazy::from(w.clone()));
            let of = squares(&lazy_x, &lazy_w)[which].clone();
            let value = |x: &CsrTensor<f64>, w: &ndarray::ArrayD<f64>| {
                squares(&x.lazy(), &Lazy::from(w.clone()))[which].collect().unwrap().sum()
            };
            let near = |found: f64, expected: f64| {
                assert!(
                    (found - expected).abs() <= 1e-5 * (1.0 + expected.abs()),
                    "{name}, {which}: {found} {expected}"
                );
            };
            let dx = of.gradient(&lazy_x, &one).collect().unwrap_or_else(|error| panic!("{name}, {which}: {error}"));
            assert!(dx.shares_pattern_with(&x), "{name}");
            dx.values().iter().zip(by_differences(&x, |x| value(x, &w))).for_each(|(&found, other)| near(found, other));
            let dw = of.gradient(&lazy_w, &one).collect().unwrap_or_else(|error| panic!("{name}, {which}: {error}"));
            for (place, &found) in dw.indexed_iter() {
                let moved = |step: f64| {
                    let mut w = w.clone();
                    w[&place] += step;
                    value(&x, &w)
                };
                near(found, (moved(1e-6) - moved(-1e-6)) / 2e-6);
            }
        }
    }
}

/// Gradients of arrays, against differences of the sum that their weights make.
#[test]
fn gradients_of_arrays_agree_with_central_differences() {
    type Dense = Lazy<ndarray::ArrayD<f64>>;
    type Graph = fn(&Dense, &Dense) -> Dense;
    let graphs: &[(&str, Graph)] = &[
        ("chain", |x, y| ((x.abs() + 1.0).ln() * 3.0).tanh() - y),
        ("product", |x, y| x * y - x),
        ("quotient", |x, y| x / (y.square() + 1.0)),
        ("column beside matrix", |x, y| x * y.sum(Axes::from(1).keep_dims())),
        ("sums", |x, y| (x * y).sum(0) + y.square().mean(0)),
        ("var", |x, y| (x * y).var(1)),
        ("norm and prod", |x, y| x.norm(0) * (y + 3.0).prod(0)),
        ("greatest", |x, y| x.maximum(y).max(1)),
        ("nanmedian", |x, y| (x - y).nanmedian(0)),
        ("quantile", |x, y| (x - y).quantile(0.3, 1)),
        ("moved", |x, y| {
            x.flip(1).transpose().take_axis(vec![1usize, 1, 0], 0) * y.transpose().slice(ndarray::s![..3, ..].as_ref())
        }),
        ("topk", |x, y| (x - y).topk(2, 1).exp()),
        ("by label", |x, y| (x * y).sum(Axes::by(1, &[0u32, 1, 1, 0]))),
        ("ttm", |x, y| x.ttm(y, 1)),
    ];
    let of = |rows: usize, by: f64| {
        let value = |(row, column): (usize, usize)| by * ((3 * row + column) as f64).sin() + 0.1 * column as f64;
        ndarray::Array2::from_shape_fn((rows, 4), value).into_dyn()
    };
    for (name, graph) in graphs {
        let inputs = [of(3, 1.3), of(3, -0.8)];
        let lazies = inputs.each_ref().map(|array| Lazy::from(array.clone()));
        let z = graph(&lazies[0], &lazies[1]);
        let found = z.collect().unwrap_or_else(|error| panic!("{name}: {error}"));
        let weight = found
            .indexed_iter()
            .map(|(at, _)| 0.5 + 0.25 * ndarray::Dimension::slice(&at).iter().fold(0, |sum, at| 3 * sum + at) as f64);
        let weight = ndarray::ArrayD::from_shape_vec(found.raw_dim(), weight.collect()).unwrap();
        let dz = Lazy::from(weight.clone());
        let gradients = z.gradients([&lazies[0], &lazies[1]], &dz).map(|gradient| gradient.collect().unwrap());
        for (number, gradient) in gradients.iter().enumerate() {
            for (place, &found) in gradient.indexed_iter() {
                let moved = |by: f64| {
                    let mut inputs = inputs.clone();
                    inputs[number][&place] += by;
                    let [x, y] = inputs.map(Lazy::from);
                    (graph(&x, &y).collect().unwrap() * &weight).sum()
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((found - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{name}: {found} {expected}");
            }
        }
    }
}

/// A mutant that told the group of a block for that of all lived: the cell of a sum that overflows in a late block.
#[test]
fn a_reduction_by_pieces_names_the_cell_that_has_no_sum() {
    let (rows, late) = (9_000, 7_001);
    let x = ndarray::Array2::from_shape_fn((rows, 2), |(row, _)| if row == late { i64::MAX } else { 1 });
    let x = CooTensor::from_dense(&x, 0).unwrap();
    let eager = x.mul(1).unwrap().sum(1).unwrap_err().to_string();
    let lazy = x.lazy().mul(1).sum(1).collect().unwrap_err().to_string();
    let place = "at [7001] does not fit int64";
    assert!(eager.contains(place) && lazy.contains(place), "{lazy}, and not {eager}");
}

/// An array on the left of a tensor: the operation and its gradients, each in the form of its operand.
#[test]
fn products_of_an_array_and_a_tensor_are_the_operations() {
    fn check<P: Pattern>(y: &Tensor<P, f64>) {
        let x = dense(3, 6, 0.7);
        let z = lacuna::matmul(&x, y).unwrap();
        let (dx, dy) = lacuna::grad::matmul(&x, y, &z).unwrap();
        let (left, right) = (Lazy::from(x), y.lazy());
        let product = left.matmul(&right);
        assert_eq!(product.shape(), Some(z.shape()));
        let found = compile((&product, &product.gradient(&left, &product), &product.gradient(&right, &product)));
        let found = found.unwrap().run([]).unwrap();
        assert_same_arrays(&found.0, &z);
        assert_same_arrays(&found.1, &dx);
        assert_same(&found.2, &dy);
        let refused = left.matmul(&right.transpose()).check().unwrap_err().to_string();
        assert!(refused.starts_with("matmul at tests/lazy.rs:"), "{refused}");
    }
    let y = matrix(6, 4, 2, 3);
    check(&y);
    check(&y.to_csr().unwrap());
}

/// An error names its step once, whatever the error is.
#[test]
fn an_error_of_a_step_names_it_once() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![i64::MAX, 1], 0).unwrap().lazy();
    let floats = CooTensor::new([2], vec![vec![0]], vec![f64::INFINITY], 0.0).unwrap().lazy();
    let empty = CooTensor::<f64>::full([0, 2], 0.0).unwrap().lazy();
    for refused in [
        x.add(1i64).collect().map(drop),
        x.div(0i64).collect().map(drop),
        floats.mul(floats.sum(0).expand_dims(0).repeat(2, 0)).collect().map(drop),
        empty.max(0).collect().map(drop),
        floats.round().gradient(&floats, &floats).collect().map(drop),
        floats.with_fill(1.0).matmul(&floats).collect().map(drop),
        x.add(1i64).on(lazy::Chunks::memory(1 << 20).positions(1)).collect().map(drop),
    ] {
        let Err(error) = refused else { panic!("it is refused") };
        let (told, Error::Lazy { operation, .. }) = (error.to_string(), error) else { panic!("a step has a line") };
        assert!(told.starts_with(operation) && told.matches(&format!("{operation} ")).count() == 1, "{told}");
    }
}

/// Many labels are told by their number and a hash, which is the same in each run; two steps are one only where all
/// labels are the same.
#[test]
fn many_labels_are_told_by_a_hash() {
    let x = full(vec![1.0; 2000]);
    let lazy = x.lazy();
    let labels: Vec<u32> = (0..2000).map(|at| at % 3).collect();
    let mut others = labels.clone();
    others.swap(1000, 1001);
    let sums = |labels: &Vec<u32>| lazy.sum(Axes::by(0, labels));
    let told = compile((&sums(&labels), &sums(&labels))).unwrap().explain();
    assert_eq!(told.matches("sum(").count(), 1, "{told}");
    assert!(told.contains("by 2000 labels below 3 (") && !told.contains("0x"), "{told}");
    assert_eq!(told, compile((&sums(&labels), &sums(&labels))).unwrap().explain());
    let told = compile((&sums(&labels), &sums(&others))).unwrap().explain();
    assert_eq!(told.matches("sum(").count(), 2, "{told}");
}
