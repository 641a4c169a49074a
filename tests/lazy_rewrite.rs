//! Graphs are rewritten before they run: each rewriting is told, computes less, and leaves all bits alone.

use lacuna::lazy::{Lazy, compile, compile_as_written};
use lacuna::{Axes, CooTensor, CsrTensor, Error, Pattern, Tensor};
use ndarray::{ArrayD, SliceInfo, SliceInfoElem, s};
use proptest::prelude::*;

use crate::lazy::{Pair, grown, matrix};

/// Returns the rewrites that `explain` reports.
fn rewritten(explained: &str) -> Vec<&str> {
    explained.lines().filter_map(|line| line.strip_prefix("rewritten: ")).collect()
}

/// The steps behind the inputs, by name.
fn names(explained: &str) -> Vec<&str> {
    let calls = explained.lines().filter_map(|line| line.split(" = ").nth(1));
    calls.filter(|call| !call.starts_with("input")).filter_map(|call| call.split('(').next()).collect()
}

fn inputs<P: Pattern>() -> [Lazy<Tensor<P, f64>>; 2] {
    ["x", "y"].map(|name| Lazy::<Tensor<P, f64>>::input(name, [6, 5]))
}

#[test]
fn a_slice_is_before_steps_element_by_element() {
    let [x, y] = inputs::<lacuna::CsrPattern>();
    // Steps that share one, all of which one slice takes.
    let root = (x.abs() + &y).sqrt();
    let part = (&root * &root).slice(s![2..4, 1..]);
    let told = compile(&part).unwrap().explain();
    assert_eq!(names(&told), ["slice", "abs", "slice", "add", "sqrt", "mul"], "{told}");
    assert_eq!(rewritten(&told), ["slice(x, \"2:4, 1:\") is moved before mul"]);
    let inputs = [1, 2].map(|seed| matrix(6, 5, 2, seed).to_csr().unwrap());
    let root = (inputs[0].abs().unwrap() + &inputs[1]).sqrt().unwrap();
    let expected = (&root * &root).slice(s![2..4, 1..]).unwrap();
    let found = compile(&part).unwrap().run([x.is(&inputs[0]), y.is(&inputs[1])]).unwrap();
    assert!(found.same_as(&expected));
}

/// A step that another step reads too is computed entirely, and once.
#[test]
fn a_slice_of_what_is_read_elsewhere_stays_behind_it() {
    let [x, _] = inputs::<lacuna::CooPattern>();
    let root = x.sqrt();
    let part = root.slice(s![2..4, ..]);
    for told in [compile((&part, &root)), compile((&part, &root.slice(s![1.., ..])))].map(|it| it.unwrap().explain()) {
        assert!(rewritten(&told).is_empty(), "{told}");
        assert_eq!(names(&told).iter().filter(|name| **name == "sqrt").count(), 1, "{told}");
    }
    // Only a slice of the root is read, and this slice is read twice.
    let told = compile((&part, &part.exp())).unwrap().explain();
    assert_eq!(names(&told), ["slice", "sqrt", "exp"], "{told}");
    // A value that is kept is not computed again.
    let kept = matrix(6, 5, 2, 1).lazy().sqrt();
    kept.value().unwrap();
    assert!(rewritten(&kept.slice(s![1.., ..]).explain().unwrap()).is_empty());
}

/// An operand that is broadcast along an axis is not cut there, and so not at all if no other axis is.
#[test]
fn a_slice_is_before_steps_that_broadcast() {
    let [x, y] = inputs::<lacuna::CooPattern>();
    let row = x.sum(Axes::from(0).keep_dims());
    let told = compile(&y.add(&row).slice(s![2..4, ..])).unwrap().explain();
    assert_eq!(names(&told), ["sum", "slice", "add"], "{told}");
    assert_eq!(rewritten(&told), ["slice(x, \"2:4, 0:\") is moved before add"]);
    let told = compile(&y.add(x.abs().sum(0).exp()).sqrt().slice(s![2, 1..;2])).unwrap().explain();
    let rewriting = ["slice(x, \"2, 1::2\") is moved before sqrt", "slice(x, \"1::2\") is moved before exp"];
    assert_eq!(rewritten(&told), rewriting, "{told}");
    assert!(told.contains("slice(%0, \"2, 1::2\")") || told.contains("slice(%1, \"2, 1::2\")"), "{told}");

    let values = [1, 2].map(|seed| matrix(6, 5, 2, seed).with_fill(0.5));
    let kept = |axis: isize| Axes::from(axis).keep_dims();
    for part in [
        SliceInfo::<_, ndarray::IxDyn, ndarray::IxDyn>::try_from(s![2..4, ..].as_ref().to_vec()).unwrap(),
        SliceInfo::try_from(s![3, 1..;-2].as_ref().to_vec()).unwrap(),
        SliceInfo::try_from(s![..0, 2].as_ref().to_vec()).unwrap(),
        SliceInfo::try_from(s![4..;-1, 5..].as_ref().to_vec()).unwrap(),
    ] {
        type X = Lazy<CooTensor<f64>>;
        type OfTwo = fn(&X, &X, &dyn Fn(isize) -> Axes) -> X;
        let graphs: [OfTwo; 4] = [
            |x, y, kept| (x.mul(y.sum(kept(0)).exp())).sub(y.max(kept(1))),
            |x, y, kept| x.sum(kept(1)).add(y.sum(kept(0))),
            |x, y, _| x.isfinite().where_(&y.sum(0), &x.square()),
            |x, y, kept| x.sum(kept(0)).maximum(x.sum([0, 1]).mul(y)),
        ];
        for graph in graphs {
            let whole = graph(&x, &y, &kept);
            let program = compile(&whole.slice(&part)).unwrap();
            assert!(!rewritten(&program.explain()).is_empty(), "{}", program.explain());
            let feeds = || [x.is(&values[0]), y.is(&values[1])];
            let found = program.run(feeds()).unwrap();
            let expected = compile_as_written(&whole).unwrap().run(feeds()).unwrap().slice(&part).unwrap();
            assert!(found.same_as(&expected), "{}\n{found:?}\n{expected:?}", program.explain());
        }
    }
}

#[test]
fn two_reductions_of_one_kind_are_one() {
    let [x, _] = inputs::<lacuna::CooPattern>();
    let x = x.expand_dims(1);
    let kept = |axis: isize| Axes::from(axis).keep_dims();
    for (step, of) in [
        (x.any(0).any(1), "any(%0, axis=[0, 2])"),
        (x.any(2).any(Axes::all()), "any(%0, axis=[0, 1, 2])"),
        (x.all(kept(1)).all(kept(-1)), "all(%0, axis=[1, 2], keep_dims=true)"),
        (x.all(kept(1)).all(kept(1)), "all(%0, axis=1, keep_dims=true)"),
        (x.stored().any(1).stored().any(0), "any(stored(%0), axis=[0, 1])"),
        (x.any(0).any(0).any(0), "any(%0, axis=[0, 1, 2])"),
    ] {
        let program = compile(&step).unwrap();
        let told = program.explain();
        assert!(told.contains(&of.replace("%0", "%1")), "{told}");
        assert!(!rewritten(&told).is_empty(), "{told}");
    }
    for step in [
        x.any(kept(1)).any(0),
        x.any(1).stored().any(0),
        x.stored().any(0).any(0),
        x.any(0).all(0),
        x.any(0).cast::<f64>().any(0),
    ] {
        let told = compile(&step).unwrap().explain();
        assert!(rewritten(&told).is_empty(), "{told}");
    }
}

#[test]
fn two_orders_of_axes_are_one_or_none() {
    let x = Lazy::<CooTensor<f64>>::input("x", [2, 3, 4]);
    let told = compile(&x.transpose().transpose()).unwrap().explain();
    assert_eq!((names(&told).len(), rewritten(&told).len()), (0, 1), "{told}");
    let told = compile(&x.move_axis(0, 1).transpose()).unwrap().explain();
    assert_eq!(names(&told), ["permute_axes"], "{told}");
    assert!(told.contains("permute_axes(%0, [2, 0, 1]): float64 coo [4, 2, 3]"), "{told}");
    let three = x.transpose().move_axis(0, 2).transpose();
    let told = compile(&three).unwrap().explain();
    assert_eq!(names(&told).len(), 1, "{told}");
    let value = matrix(6, 4, 2, 1).lazy().broadcast_to([2, 6, 4]).slice(s![.., ..3, ..]).collect().unwrap();
    let expected = value.transpose().unwrap().move_axis(0, 2).unwrap().transpose().unwrap();
    assert!(compile(&three).unwrap().run([x.is(&value)]).unwrap().same_as(&expected));
    // Without a shape nothing is known.
    let open = Lazy::<CooTensor<f64>>::input("x", [None, Some(3)]);
    assert_eq!(names(&compile(&open.transpose().transpose()).unwrap().explain()).len(), 2);
}

#[test]
fn casts_that_cancel_are_left_out() {
    let floats = Lazy::<CooTensor<f64>>::input("x", [3]);
    let bytes = Lazy::<CooTensor<i8>>::input("x", [3]);
    let bools = Lazy::<CooTensor<bool>>::input("x", [3]);
    let count = |told: String| (names(&told).len(), rewritten(&told).len());
    assert_eq!(count(compile(&floats.cast::<f64>()).unwrap().explain()), (0, 1));
    assert_eq!(count(compile(&bytes.cast::<i32>().cast::<i8>()).unwrap().explain()), (0, 1));
    assert_eq!(count(compile(&bytes.cast::<f32>().cast::<i8>()).unwrap().explain()), (0, 1));
    assert_eq!(count(compile(&bools.cast::<u8>().cast::<bool>()).unwrap().explain()), (0, 1));
    // These round, refuse, or change the bits of a NaN.
    assert_eq!(count(compile(&floats.cast::<f32>().cast::<f64>()).unwrap().explain()), (2, 0));
    assert_eq!(count(compile(&bytes.cast::<u8>().cast::<i8>()).unwrap().explain()), (2, 0));
    let longs = Lazy::<CooTensor<i64>>::input("x", [3]);
    assert_eq!(count(compile(&longs.cast::<f64>().cast::<i64>()).unwrap().explain()), (2, 0));
    let payload = f64::from_bits(0x7FF8_0000_0000_0001);
    let x = CooTensor::new([3], vec![vec![1]], vec![payload], payload).unwrap();
    let found = compile(&floats.cast::<f64>()).unwrap().run([floats.is(&x)]).unwrap();
    assert_eq!((found.values()[0].to_bits(), found.fill().to_bits()), (payload.to_bits(), payload.to_bits()));
}

/// An error is reported for the original graph, with the position in the entire operand.
#[test]
fn an_error_of_a_rewritten_graph_is_that_of_the_graph() {
    let counts = CooTensor::new([3, 2], vec![vec![0, 2], vec![1, 0]], vec![i64::MAX, i64::MAX], 0).unwrap();
    let lower = (counts.lazy() + 1i64).slice(s![1.., ..]);
    let Err(Error::Lazy { operation, cause, .. }) = lower.collect() else { panic!("it overflows") };
    assert_eq!((operation, *cause), ("add", counts.add(1i64).unwrap_err()));
    // Nobody reads what would be refused.
    let upper = (counts.lazy() + 1i64).slice(s![1..2, ..]);
    assert_eq!(upper.collect().unwrap().entries(), []);
}

fn drawn(from: usize, length: usize, step: isize) -> SliceInfoElem {
    SliceInfoElem::Slice { start: (from % 4) as isize, end: Some((from % 4 + length % 3) as isize), step }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random graphs with slices, orders of axes and casts put in give the bits of the operations one by one, rewritten
    /// and as they are written.
    #[test]
    fn rewritten_graphs_equal_the_steps(
        steps in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..16),
        cut in (any::<usize>(), any::<usize>(), prop::sample::select(vec![1isize, 2, -1, -2])),
        fill in prop::sample::select(vec![0.0, -0.0, 1.5, f64::NAN]),
        seed in any::<u64>(),
    ) {
        let inputs = [matrix(8, 8, 2, seed).with_fill(fill), matrix(8, 8, 3, seed ^ 7)];
        let names = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [8, 8]));
        let mut pairs: Vec<Pair> = names.iter().cloned().zip(inputs.iter().cloned()).collect();
        for (step, one, other) in steps {
            let (x, y) = (one.get(&pairs).clone(), other.get(&pairs).clone());
            let pair = match step % 5 {
                4 => {
                    let (kept, axis) = (Axes::from(isize::from(step > 127)).keep_dims(), step > 127);
                    let sums = (x.0.sum(&kept), x.1.sum(Axes::from(isize::from(axis)).keep_dims()).unwrap());
                    y.1.sub(&sums.1).ok().map(|eager| (y.0.sub(&sums.0), eager))
                }
                0 => Some((x.0.transpose(), x.1.transpose().unwrap())),
                1 => Some((x.0.cast::<f64>(), x.1.clone())),
                _ => grown(step / 4, &x, &y),
            };
            pairs.extend(pair);
        }
        let (lazy, eager) = pairs.last().unwrap();
        let slices = [drawn(cut.0, cut.1, cut.2), drawn(cut.1, cut.0, 1)];
        let slices = SliceInfo::<_, ndarray::IxDyn, ndarray::IxDyn>::try_from(slices.to_vec()).unwrap();
        let part = lazy.slice(&slices);
        let any = lazy.any(1).any(0);
        let outputs = (&part, &any, &names[0], &names[1]);
        let feeds = || names.iter().zip(&inputs).map(|(name, input)| name.is(input));
        let program = compile(outputs).unwrap();
        for _ in 0..2 {
            let (found, truth, ..) = program.run(feeds()).unwrap();
            prop_assert!(found.same_as(&eager.slice(&slices).unwrap()), "{}\n{found:?}\n{eager:?}", program.explain());
            prop_assert!(truth.same_as(&eager.any(Axes::all()).unwrap()), "{}", program.explain());
        }
        let (plain, truth, ..) = compile_as_written(outputs).unwrap().run(feeds()).unwrap();
        prop_assert!(plain.same_as(&eager.slice(&slices).unwrap()));
        prop_assert!(truth.same_as(&eager.any(Axes::all()).unwrap()));
    }

    /// Rewritten graphs of arrays equal their steps too.
    #[test]
    fn rewritten_graphs_of_arrays_equal_the_steps(values in prop::collection::vec(-4.0..4.0f64, 24), from in 0usize..4) {
        let x = ArrayD::from_shape_vec(vec![4, 6], values).unwrap();
        let lazy = Lazy::<ArrayD<f64>>::input("x", [4, 6]);
        let part = (lazy.abs().sqrt() + &lazy).transpose().transpose().slice(s![from.., ..;2]);
        let program = compile(&part).unwrap();
        prop_assert_eq!(rewritten(&program.explain()).len(), 2, "{}", program.explain());
        let found = program.run([lazy.is(&x)]).unwrap();
        let plain = compile_as_written(&part).unwrap().run([lazy.is(&x)]).unwrap();
        prop_assert_eq!(found.mapv(f64::to_bits), plain.mapv(f64::to_bits));
    }
}

/// Both formats, and fills that stand for gaps, of what is folded twice.
#[test]
fn folds_that_are_one_equal_the_two() {
    for fill in [0.0, 1.0, f64::NAN] {
        for every in [1, 2, 100] {
            let x: CsrTensor<f64> = matrix(6, 5, every, 3).with_fill(fill).to_csr().unwrap();
            let lazy = x.lazy();
            let kept = Axes::from(1).keep_dims();
            let eager = x.any(0).unwrap().any(0).unwrap();
            assert!(lazy.any(0).any(0).collect().unwrap().same_as(&eager));
            let eager = x.all(&kept).unwrap().all(Axes::from(0).keep_dims()).unwrap();
            assert!(lazy.all(&kept).all(Axes::from(0).keep_dims()).collect().unwrap().same_as(&eager));
            let eager = x.stored().any(1).unwrap().stored().any(0).unwrap();
            assert!(lazy.stored().any(1).stored().any(0).collect().unwrap().same_as(&eager));
            let eager = x.stored().all(1).unwrap().stored().all(0).unwrap();
            assert!(lazy.stored().all(1).stored().all(0).collect().unwrap().same_as(&eager), "{fill} {every}");
            let empty = x.slice(s![..0, ..]).unwrap();
            let eager = empty.any(1).unwrap().any(0).unwrap();
            assert!(empty.lazy().any(1).any(0).collect().unwrap().same_as(&eager));
            let eager = empty.all(0).unwrap().all(0).unwrap();
            assert!(empty.lazy().all(0).all(0).collect().unwrap().same_as(&eager));
        }
    }
}
