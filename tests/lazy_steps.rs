//! Steps of what is stored, factors of an axis, masks and other shapes: the operations one by one, their gradients, and
//! those of expressions.

use lacuna::eval::Expression;
use lacuna::lazy::{HasGradient, Lazy, Steps};
use lacuna::{Axes, CooTensor, CsrTensor, Matmul, Operand, Pattern, Tensor, Tolerance, grad};
use ndarray::{ArrayD, Dimension, arr1};

use crate::lazy::matrix;
use crate::lazy_text::ToAny;

/// Values away from the points where a function has no slope, some of two patterns at one place.
fn inputs<P: Pattern>(of: impl Fn(CooTensor<f64>) -> Tensor<P, f64>) -> [Tensor<P, f64>; 2] {
    [(3, 0.4), (4, 1.9)].map(|(seed, by)| {
        let x = matrix(5, 6, 2, seed);
        let x = x.map_entries(|at, _| by + (at[0] * 7 + at[1] * 3) as f64 % 2.3 * 0.5).unwrap();
        of(x.with_fill(1.25))
    })
}

/// The gradient of the sum of `weight * f(x)` over what the result stores, by central differences.
#[track_caller]
fn assert_differences<P: Pattern>(
    name: &str,
    x: &Tensor<P, f64>,
    found: &Tensor<P, f64>,
    f: impl Fn(&Tensor<P, f64>) -> Vec<f64>,
) {
    assert!(found.shares_pattern_with(x) && found.fill() == 0.0, "{name}: {found:?}");
    for entry in 0..x.nnz() {
        let loss = |by: f64| {
            let mut moved = x.clone();
            moved.values_mut().unwrap()[entry] += by;
            let values = f(&moved);
            values.iter().enumerate().map(|(at, value)| value * weight(at)).sum::<f64>()
        };
        let expected = (loss(1e-6) - loss(-1e-6)) / 2e-6;
        let value = found.values()[entry];
        assert!((value - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{name}: {value} {expected}");
    }
}

fn weight(at: usize) -> f64 {
    0.5 + 0.25 * (at % 7) as f64
}

/// Compares an operation on a tensor and an array, and its backward function, in a graph and without a graph.
macro_rules! beside_an_array {
    ($x:ident, $y:ident, $g:ident: $($name:ident),*) => {$(
        let (name, lazy, array) = (stringify!($name), $x.lazy(), Lazy::from($y.clone()));
        let z = lazy.$name(&array);
        let expected = lacuna::$name(&$x, &$y).unwrap();
        for z in [&z, &lazy.$name(array.clone()), &lazy.$name(&$y)] {
            assert!(z.collect().unwrap().same_as(&expected), "{name}");
        }
        let (dx, dy) = lacuna::grad::$name(&$x, &$y, &$g).unwrap();
        let upstream = $g.lazy();
        assert!(z.gradient(&lazy, &upstream).collect().unwrap().same_as(&dx), "{name}");
        assert_eq!(z.gradient(&array, &upstream).collect().unwrap(), dy, "{name}");
    )*};
}

/// A tensor with its gaps beside an array of its shape, and beside one that is broadcast.
#[test]
fn whole_tensors_stand_beside_arrays() {
    fn check<P: Pattern>(x: Tensor<P, f64>) {
        let x = x.with_fill(0.0);
        let g = x.map_entries(|at, _| 0.5 + at[0] as f64 - 0.25 * at[1] as f64).unwrap();
        let all = ArrayD::from_shape_fn(vec![5, 6], |at| 1.5 + (at[0] * 5 + at[1] * 2) as f64 % 3.0);
        let row = arr1(&[1.0, -2.0, 0.5, 4.0, 0.25, 8.0]).into_dyn();
        for y in [all, row] {
            beside_an_array!(x, y, g: mul, div);
        }
        // Unstored positions hold a single value here.
        let y = ArrayD::from_elem(vec![5, 1], 1.5);
        beside_an_array!(x, y, g: add, sub, minimum, pow);
        let wider = ndarray::Array3::from_elem((2, 5, 6), 3.0);
        assert!((x.lazy() * &wider).collect().unwrap().same_as(&(&x * &wider)));
        assert!(x.lazy().less(&wider).collect().unwrap() == x.less(&wider).unwrap());
        let refused = x.lazy().add(&arr1(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).collect().unwrap_err();
        assert!(refused.to_string().contains("add at "), "{refused}");
    }
    let [x, _] = inputs(|x| x);
    check(x.clone());
    check(x.to_csr().unwrap());
}

/// A tensor with every other element stored, or all or none of them.
fn every<P: Pattern>(
    shape: &[usize],
    step: usize,
    fill: f64,
    of: fn(CooTensor<f64>) -> Tensor<P, f64>,
) -> Tensor<P, f64> {
    let mut triplets = lacuna::Triplets::new(shape).unwrap();
    let all =
        ArrayD::from_shape_fn(shape.to_vec(), |at| 0.5 + at.slice().iter().fold(0, |sum, at| 3 * sum + at) as f64);
    for (number, (at, value)) in all.indexed_iter().enumerate().filter(|(number, _)| step > 0 && number % step == 0) {
        triplets.push(at.slice(), if number == 0 { 0.0 } else { *value }).unwrap();
    }
    of(triplets.coalesce(lacuna::Duplicates::Sum).unwrap()).with_fill(fill)
}

/// An array in front of tensors of all kinds: what the operation gives or that it refuses, and its gradients.
#[test]
fn arrays_stand_in_front_of_any_tensor() {
    fn check<P: Pattern>(x: &Tensor<P, f64>, array: &ArrayD<f64>) {
        let (lazy, first) = (x.lazy(), Lazy::from(array.clone()));
        macro_rules! agree {
            ($($op:tt $name:ident),*) => {$(
                let (found, expected) = ((&first $op &lazy).collect(), lacuna::$name(array, x));
                assert_eq!(found.is_ok(), expected.is_ok(), "{} {x:?} {found:?} {expected:?}", stringify!($name));
                if let (Ok(found), Ok(expected)) = (found, expected) {
                    assert!(found.same_as(&expected), "{} {found:?} {expected:?}", stringify!($name));
                }
            )*};
        }
        agree!(+ add, - sub, * mul, / div, % rem);
    }
    let shapes: [(&[usize], &[usize]); 6] =
        [(&[], &[]), (&[0, 3], &[3]), (&[3, 0], &[3, 1]), (&[2, 3], &[2, 3]), (&[2, 3], &[3]), (&[3], &[2, 1])];
    for ((shape, lengths), step) in shapes.iter().flat_map(|shapes| [0, 1, 2].map(|step| (shapes, step))) {
        for fill in [0.0, -0.0, 7.0, f64::NAN, f64::INFINITY] {
            for array in [1.5, 0.0, f64::NAN].map(|value| ArrayD::from_elem(lengths.to_vec(), value)) {
                check(&every(shape, step, fill, |x| x), &array);
                if !shape.is_empty() {
                    check(&every(shape, step, fill, |x| x.to_csr().unwrap()), &array);
                }
            }
        }
    }
}

/// Second gradients of tensors of all kinds: on the pattern, alike in both formats, or refused in both.
#[test]
fn second_gradients_of_any_tensor_are_alike_in_both_formats() {
    fn seconds<P: Pattern>(x: &Tensor<P, f64>) -> Vec<(&'static str, Option<Tensor<P, f64>>)> {
        let lazy = x.lazy();
        let last = -1;
        let all = vec![
            ("nansum", lazy.nansum(last)),
            ("max", lazy.max(Axes::from(last).keep_dims())),
            ("min of entries", lazy.stored().min(last)),
            ("nanmedian", lazy.nanmedian(last)),
            ("quantile", lazy.quantile(0.3, Axes::all())),
            ("mean of entries", lazy.stored().mean(Axes::none())),
            ("clamp", lazy.clamp(0.25, 4.0)),
            ("outer", lazy.outer(&lazy)),
            ("kron", lazy.kron(&lazy)),
            ("matmul", lazy.matmul(&lazy.move_axis(0, last))),
            ("entries", lazy.stored().matmul(&lazy.move_axis(0, last))),
            ("einsum", lacuna::lazy::einsum("...j,...j->...", &[&lazy, &lazy])),
        ];
        let second = |(name, z): (&'static str, Lazy<Tensor<P, f64>>)| {
            let found = z.gradient(&lazy, &z).gradient(&lazy, &lazy).collect().ok();
            let is_gradient = |dx: &Tensor<P, f64>| dx.pattern() == x.pattern() && dx.fill().to_bits() == 0;
            assert!(found.as_ref().is_none_or(is_gradient), "{name}: {found:?} of {x:?}");
            (name, found)
        };
        all.into_iter().map(second).collect()
    }
    let mut found = 0;
    for shape in [&[0, 3][..], &[3, 0], &[1], &[4], &[2, 3], &[2, 2, 2]] {
        for (step, fill) in [0, 1, 2].into_iter().flat_map(|step| [0.0, -0.0, 7.0, f64::NAN].map(|fill| (step, fill))) {
            let (coo, csr) = (every(shape, step, fill, |x| x), every(shape, step, fill, |x| x.to_csr().unwrap()));
            for ((name, of_coo), (_, of_csr)) in seconds(&coo).into_iter().zip(seconds(&csr)) {
                let of_csr = of_csr.map(|found| found.to_coo().unwrap());
                let is_same = match (&of_coo, &of_csr) {
                    (Some(one), Some(other)) => one.same_as(other),
                    (one, other) => one.is_none() && other.is_none(),
                };
                assert!(is_same, "{name} {shape:?} {step} {fill}: {of_coo:?} {of_csr:?}");
                found += usize::from(of_coo.is_some());
            }
        }
    }
    assert!(found > 300, "{found}");
}

/// Second derivatives of a product and of a quotient: gradients of the gradient of the tensor.
#[test]
fn second_gradients_beside_an_array() {
    let [x, _] = inputs(|x| x.with_fill(0.0));
    let w = ArrayD::from_elem(vec![6], 3.0);
    let (x, w) = (x.lazy(), Lazy::from(w));
    let g = x.mul(0.0).with_fill(0.0).add(1.0).stored().mul(1.0);
    // The second derivatives of x^2 w and of x^2 / w are 2 w and 2 / w.
    for (z, expected) in [((&x * &x) * &w, 6.0), ((&x * &x) / &w, 2.0 / 3.0)] {
        let second = z.gradient(&x, &g).gradient(&x, &g).collect().unwrap();
        let is_near = |value: &f64| (value - expected).abs() < 1e-12;
        assert!(second.nnz() > 0 && second.values().iter().all(is_near), "{second:?}");
    }
    // By the array as well: the derivative of x w by x and w is 1, which comes for each entry of a column.
    let mixed = (&x * &w).gradient(&x, &g).gradient(&w, &g).collect().unwrap();
    let counts = x.collect().unwrap().stored().mul(0.0).unwrap().stored().exp().unwrap().stored().sum(0).unwrap();
    assert_eq!(mixed, counts.to_dense().unwrap());
}

/// Weights on the pattern of a result.
fn weighted<P: Pattern>(z: &Tensor<P, f64>) -> Tensor<P, f64> {
    let mut weights = z.clone().with_fill(-3.0);
    weights.values_mut().unwrap().iter_mut().enumerate().for_each(|(at, value)| *value = weight(at));
    weights
}

macro_rules! two {
    ($($name:ident: $op:ident, $bound:ident -> $out:ident
        [$($backward:ident)? $(= $of:ident)?] $about:literal $(command $command:tt)?;)*) => {
        /// Checks each operation on two stored views. The gradients of the operation equal its differences; the
        /// gradients of the step and of the expression equal those of the operation.
        fn gradients_of_entries<P: Pattern>([x, y]: &[Tensor<P, f64>; 2])
        where
            Tensor<P, f64>: ToAny,
        {$($({
            let (name, _) = (stringify!($name), stringify!($backward));
            let z = x.stored().$name(y.stored()).unwrap();
            let g = weighted(&z);
            let (dx, dy) = lacuna::grad::$name(&x.stored(), &y.stored(), &g).unwrap();
            assert_differences(name, x, &dx, |x| x.stored().$name(y.stored()).unwrap().values().to_vec());
            assert_differences(name, y, &dy, |y| x.stored().$name(y.stored()).unwrap().values().to_vec());
            let (lazy_x, lazy_y) = (x.lazy(), y.lazy());
            let step = lazy_x.stored().$name(&lazy_y.stored());
            assert!(step.collect().unwrap().same_as(&z));
            let found = step.gradients([&lazy_x, &lazy_y], &g.lazy());
            for (which, (found, expected)) in found.iter().zip([&dx, &dy]).enumerate() {
                assert!(found.collect().unwrap().same_as(expected), "{name}");
                let text = format!("grad({name}(stored(x), stored(y)), {}, g)", ["x", "y"][which]);
                let bound = |name: &str| Some(match name { "x" => x.to_any(), "y" => y.to_any(), _ => g.to_any() });
                let of_text = Expression::parse(&text).unwrap().evaluate(bound).unwrap().into_tensor().unwrap();
                assert!(of_text.same_as(&expected.to_any()), "{text}");
            }
            // If one operand is a view, both are. An element that only the array has is in no result.
            let (_, dense) = lacuna::grad::$name(&x.stored(), &y.to_dense().unwrap(), &g).unwrap();
            let is_alone = |at: &ndarray::IxDyn| x.iter().all(|(coords, _)| *coords != *ndarray::Dimension::slice(at));
            assert!(dense.indexed_iter().all(|(at, &value)| !is_alone(&at) || value == 0.0), "{name}");
        })?)*}
    };
}

lacuna::__binary! { two }

/// A lone entry does not count as an entry combined with 0: not in `div`, `minimum` or `maximum`.
#[test]
fn gradients_of_entries_are_those_of_the_results_that_they_have() {
    gradients_of_entries(&inputs(|x| x));
    gradients_of_entries(&inputs(|x| x.to_csr().unwrap()));
}

/// A lone entry that is infinite, or NaN, is moved untouched: it receives all that comes.
#[test]
fn a_lone_entry_receives_all_that_comes_whatever_it_is() {
    let x = CooTensor::new([3], vec![vec![0, 1]], vec![f64::INFINITY, f64::NAN], 0.0).unwrap();
    let y = CooTensor::new([3], vec![vec![2]], vec![f64::NEG_INFINITY], 0.0).unwrap();
    let g = arr1(&[2.0, 3.0, 5.0]);
    for (dx, dy) in [
        lacuna::grad::minimum(&x.stored(), &y.stored(), &g).unwrap(),
        lacuna::grad::maximum(&x.stored(), &y.stored(), &g).unwrap(),
    ] {
        assert_eq!((dx.values(), dy.values()), (&[2.0, 3.0][..], &[5.0][..]));
    }
    let (dx, dy) = lacuna::grad::div(&x.stored(), &y.stored(), &g).unwrap();
    assert_eq!((dx.values(), dy.values()), (&[0.0, 0.0][..], &[0.0][..]));
    // A row of entries with a matrix, of which each column has one or none.
    let m = CooTensor::new([2, 3], vec![vec![0, 1], vec![0, 2]], vec![4.0, 6.0], 0.0).unwrap();
    let g = ndarray::arr2(&[[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]);
    let (dm, dx) = lacuna::grad::minimum(&m.stored(), &y.stored(), &g).unwrap();
    // The result stores the entries of the matrix only.
    assert_eq!((dm.values(), dx.values()), (&[1.0, 0.0][..], &[200.0][..]));
}

macro_rules! maps {
    ($x:ident: $($step:ident($($argument:expr),*) $(, $gradient:ident)?;)*) => {$({
        let name = stringify!($step);
        let lazy = $x.lazy();
        let expected = lacuna::$step(&$x.stored() $(, $argument)*).unwrap();
        let step = lazy.stored().$step($($argument),*);
        assert!(step.collect().unwrap().same_as(&expected), "{name}");
        assert_eq!(step.shape(), Some(&**$x.shape()));
        maps!(@gradient $x, lazy, step, name, $step, ($($argument),*) $(, $gradient)?);
    })*};
    (@gradient $x:ident, $lazy:ident, $step:ident, $name:ident, $of:ident, ($($argument:expr),*)) => {};
    (@gradient $x:ident, $lazy:ident, $step:ident, $name:ident, $of:ident, ($($argument:expr),*), grad) => {{
        let g = weighted(&$x);
        let expected = lacuna::grad::$of(&$x.stored(), &g $(, $argument)*).unwrap();
        assert!($step.gradient(&$lazy, &g.lazy()).collect().unwrap().same_as(&expected), "{}", $name);
    }};
}

fn maps_of_entries<P: Pattern>(x: &Tensor<P, f64>) {
    maps! {x:
        isin(0.4); powi(3), grad; powf(1.5), grad; clamp(0.5, 1.0), grad;
        less(0.9); equal(0.4); rem(0.3);
    }
    macro_rules! of_table {
        (tests [$($test:ident)*] numbers [$($number:ident)*] bits $bits:tt parts $parts:tt floats [$($float:ident)*]
         gradients [$($name:ident $backward:ident)*]) => {
            maps! {x: $($test();)* $($number();)* $($float();)* $($name(), grad;)*}
        };
    }
    lacuna::__function_names! { of_table }
    let (lazy, g) = (x.lazy(), weighted(x));
    for (step, eager, backward) in [
        (lazy.stored().add(0.5), x.stored().add(0.5), lacuna::grad::add(&x.stored(), &ndarray::arr0(0.5), &g)),
        (lazy.stored().div(0.5), x.stored().div(0.5), lacuna::grad::div(&x.stored(), &ndarray::arr0(0.5), &g)),
        (lazy.stored().pow(2.5), x.stored().pow(2.5), lacuna::grad::pow(&x.stored(), &ndarray::arr0(2.5), &g)),
    ] {
        assert!(step.collect().unwrap().same_as(&eager.unwrap()));
        assert!(step.gradient(&lazy, &g.lazy()).collect().unwrap().same_as(&backward.unwrap().0));
    }
}

/// The fill stays, and is no element.
#[test]
fn functions_of_what_is_stored_are_the_operations() {
    for fill in [0.0, -1.0, f64::NAN] {
        let [x, _] = inputs(|x| x.with_fill(fill));
        maps_of_entries(&x);
        maps_of_entries(&x.to_csr().unwrap());
    }
}

/// A product with factors, and its gradients, against the operation and differences.
fn scaled<X>(x: &X, lazy: &Lazy<X>, same: fn(&X, &X), g: &X)
where
    X: Steps<Elem = f64, Of<f64> = X, Reduced<f64> = X> + HasGradient,
{
    for axis in [0isize, -1] {
        let length = x.lengths()[if axis == 0 { 0 } else { 1 }];
        let factors = ArrayD::from_shape_vec(vec![length], (0..length).map(|at| at as f64 - 1.5).collect()).unwrap();
        let sparse = CooTensor::from_dense(&factors.view(), 0.5).unwrap();
        let by = Lazy::from(factors.clone());
        let z = lazy.scale(axis, &by);
        same(&z.collect().unwrap(), &lacuna::scale(x, axis, &factors).unwrap());
        same(&lazy.scale(axis, &sparse.lazy()).collect().unwrap(), &lacuna::scale(x, axis, &factors).unwrap());
        let upstream = Lazy::<X>::input("g", [x.lengths()[0], x.lengths()[1]]);
        let program = lacuna::lazy::compile((&z.gradient(lazy, &upstream), &z.gradient(&by, &upstream))).unwrap();
        let (dx, of_factors) = program.run([upstream.is(g)]).unwrap();
        // A product of 0 and a number below it has a sign at an entry, and none at a gap.
        let expected = lacuna::grad::any(x, &lacuna::scale(g, axis, &factors).unwrap(), Axes::none()).unwrap();
        assert_eq!(dense(&dx), dense(&expected));
        let sums = lacuna::sum(&lacuna::mul(&dense(x), &dense(g)).unwrap(), if axis == 0 { 1 } else { 0 }).unwrap();
        assert_eq!(of_factors, sums);
    }
    assert!(lazy.scale(2, &Lazy::from(ArrayD::zeros(vec![5]))).check().is_err());
    let refused = lazy.scale(0, &Lazy::from(ArrayD::zeros(vec![4]))).check().unwrap_err().to_string();
    assert!(refused.starts_with("scale at tests/lazy_steps.rs:"), "{refused}");
}

fn dense<X: Operand<Elem = f64>>(x: &X) -> ArrayD<f64> {
    let zeros = ArrayD::<f64>::zeros(x.lengths());
    lacuna::grad::add(&zeros, &zeros, x).unwrap().0
}

#[test]
fn products_with_factors_of_an_axis_are_the_operation() {
    fn of_tensor<P: Pattern>(x: &Tensor<P, f64>, g: &Tensor<P, f64>) {
        scaled(x, &x.lazy(), |a, b| assert!(a.same_as(b), "{a:?} {b:?}"), g);
    }
    let [x, g] = inputs(|x| x.with_fill(0.0));
    of_tensor(&x, &g);
    of_tensor(&x.to_csr().unwrap(), &g.to_csr().unwrap());
    let [x, g] = [x, g].map(|x| x.to_dense().unwrap());
    scaled(&x, &Lazy::from(x.clone()), |a, b| assert_eq!(a.mapv(f64::to_bits), b.mapv(f64::to_bits)), &g);
}

/// Only stored entries count, for any fill and any factors. Second derivatives agree too.
#[test]
fn gradients_of_scaled_entries_agree_with_differences() {
    let [x, _] = inputs(|x| x);
    let factors = arr1(&[2.0, 0.0, -1.0, f64::INFINITY, 0.5, 3.0]).into_dyn();
    let lazy = x.lazy();
    let z = lazy.stored().scale(1, &Lazy::from(factors.clone()));
    assert!(z.collect().unwrap().same_as(&x.stored().scale(1, &factors).unwrap()));

    let factors = arr1(&[2.0, 0.0, -1.0, 7.0, 0.5]).into_dyn();
    let by = Lazy::from(factors.clone());
    let z = lazy.stored().scale(0, &by);
    let g = weighted(&x);
    let dx = z.gradient(&lazy, &g.lazy()).collect().unwrap();
    assert_differences("scale", &x, &dx, |x| x.stored().scale(0, &factors).unwrap().values().to_vec());
    let of_factors = z.gradient(&by, &g.lazy()).collect().unwrap();
    for (at, found) in of_factors.indexed_iter() {
        let at = ndarray::Dimension::slice(&at)[0];
        let expected: f64 = x
            .stored()
            .mul(g.clone().with_fill(1.25).stored())
            .unwrap()
            .slice(ndarray::s![at, ..])
            .unwrap()
            .values()
            .iter()
            .sum();
        assert!((found - expected).abs() < 1e-12, "{at}: {found} {expected}");
    }
    let g = weighted(&x);
    let bound = |name: &str| {
        let f = CooTensor::from_dense(&factors, 9.0).unwrap();
        Some(match name {
            "x" => x.to_any(),
            "f" => f.to_any(),
            _ => g.to_any(),
        })
    };
    for (text, expected) in [
        ("grad(scale(stored(x), 0, f), x, g)", dx.to_any()),
        (
            "grad(scale(stored(x), 0, f), f, g)",
            CooTensor::from_dense(&of_factors, 9.0).unwrap().with_fill(0.0).to_any(),
        ),
    ] {
        let found = Expression::parse(text).unwrap().evaluate(bound).unwrap().into_tensor().unwrap();
        assert!(found.same_as(&expected), "{text}\n{found:?}\n{expected:?}");
    }
    // The gradient of the gradient by both.
    let second = z.square().gradient(&lazy, &lazy.with_fill(0.0)).gradient(&by, &lazy);
    let moved = |by: f64| {
        let mut factors = factors.clone();
        factors[[3]] += by;
        let z = lazy.stored().scale(0, &Lazy::from(factors));
        let dx = z.square().gradient(&lazy, &lazy.with_fill(0.0)).collect().unwrap();
        dx.stored().mul(x.clone().with_fill(0.0).stored()).unwrap().sum(Axes::all()).unwrap().item().unwrap()
    };
    let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    let found = second.collect().unwrap()[[3]];
    assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found} {expected}");
}

/// Over sums of products; others have none, which is told by name.
#[test]
fn sums_of_products_of_entries_have_gradients() {
    fn check<P: Pattern>([x, y]: [Tensor<P, f64>; 2])
    where
        Tensor<P, f64>: ToAny,
    {
        let y = y.transpose().unwrap();
        let z = x.matmul_with(&y, Matmul::plus_times()).unwrap();
        let g = weighted(&z);
        let (lazy_x, lazy_y) = (x.lazy(), y.lazy());
        let step = lazy_x.matmul_with(&lazy_y, Matmul::plus_times());
        assert!(step.collect().unwrap().same_as(&z));
        let found = step.gradients([&lazy_x, &lazy_y], &g.lazy()).map(|found| found.collect().unwrap());
        let expected = grad::matmul(&x.stored(), &y, &g).unwrap();
        assert!(found[0].same_as(&expected.0) && found[1].same_as(&expected.1));
        assert_differences("x", &x, &found[0], |x| x.matmul_with(&y, Matmul::plus_times()).unwrap().values().to_vec());
        let mask = z.filter_entries(|at, _| (at[0] + at[1]) % 3 != 1).unwrap();
        assert!(mask.nnz() > 0 && mask.nnz() < z.nnz());
        for (text, options) in [
            ("matmul_with(x, y)", Matmul::plus_times()),
            ("matmul_with(stored(x), y, \"plus_times\", m)", Matmul::plus_times().mask(mask.pattern())),
            ("matmul_on(x, y, m)", Matmul::plus_times().mask(mask.pattern())),
            ("matmul_on(x, y, m, complement=true)", Matmul::plus_times().without(mask.pattern())),
        ] {
            let of = |x: &Tensor<P, f64>, y: &Tensor<P, f64>| x.matmul_with(y, options).unwrap();
            let g = weighted(&of(&x, &y));
            let bound = |name: &str| {
                Some(match name {
                    "x" => x.to_any(),
                    "y" => y.to_any(),
                    "m" => mask.to_any(),
                    "g" => g.to_any(),
                    _ => return None,
                })
            };
            let run = |text: String| Expression::parse(&text).unwrap().evaluate(bound).unwrap().into_tensor().unwrap();
            for upstream in ["g", "1"] {
                let dy = run(format!("grad({text}, y, {upstream})"));
                let dx = run(format!("grad({text}, x, {upstream})"));
                let loss = |x: &Tensor<P, f64>, y: &Tensor<P, f64>| {
                    let values = of(x, y).values().to_vec();
                    let weight = |at| if upstream == "1" { 1.0 } else { weight(at) };
                    values.iter().enumerate().map(|(at, value)| value * weight(at)).sum::<f64>()
                };
                for (which, (given, found)) in [(&x, dx), (&y, dy)].into_iter().enumerate() {
                    let found = found.into_coo::<f64, u64>().unwrap();
                    assert_eq!(found.nnz(), given.nnz());
                    for entry in 0..given.nnz() {
                        let moved = |by: f64| {
                            let mut both = [x.clone(), y.clone()];
                            both[which].values_mut().unwrap()[entry] += by;
                            loss(&both[0], &both[1])
                        };
                        let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                        let value = found.values()[entry];
                        assert!((value - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{text}: {value} {expected}");
                    }
                }
            }
        }
    }
    check(inputs(|x| x));
    check(inputs(|x| x.to_csr().unwrap()));
    let refused = Expression::parse("grad(matmul_with(x, x, \"min_plus\"), x, 1)").unwrap_err().to_string();
    assert!(refused.starts_with("matmul_with over min_plus is not differentiable"), "{refused}");
    // An array on the right.
    let [x, _] = inputs(|x| x);
    let y = ArrayD::from_shape_fn(vec![6, 2], |at| at[0] as f64 - at[1] as f64 * 0.5);
    let (lazy, right) = (x.lazy(), Lazy::from(y.clone()));
    let z = lazy.matmul_with(&right, Matmul::plus_times());
    let (dx, dy) = grad::matmul(&x.stored(), &y, &z.collect().unwrap()).unwrap();
    assert!(z.gradient(&lazy, &z).collect().unwrap().same_as(&dx));
    assert_eq!(z.gradient(&right, &z).collect().unwrap(), dy);
}

/// Operations on stored entries: unstored positions that are not 0 are not terms, also if NaN is stored.
#[test]
fn products_choices_and_closeness_of_what_is_stored_are_the_operations() {
    fn check<P: Pattern>(x: &Tensor<P, f64>, y: &Tensor<P, f64>) {
        let (lazy, other) = (x.lazy(), y.lazy());
        let product = lazy.stored().matmul(&other.transpose()).collect().unwrap();
        assert!(product.same_as(&x.stored().matmul(&y.transpose().unwrap()).unwrap()));
        let taken = lazy.stored().take_axis([1i64, -1, 1], 0).collect().unwrap();
        assert!(taken.same_as(&x.stored().take_axis([1i64, -1, 1], 0).unwrap()));
        let taken = lazy.stored().take([3i64, 0]).collect().unwrap();
        assert!(taken.same_as(&x.stored().take([3i64, 0]).unwrap()));
        let array = ArrayD::from_shape_fn(vec![x.shape()[1], 2], |at| [f64::NAN, 3.0, -0.1][(at[0] + at[1]) % 3]);
        let found = lazy.stored().matmul(&Lazy::from(array.clone())).collect().unwrap();
        let expected = x.stored().matmul(&array).unwrap();
        assert!(found.iter().zip(&expected).all(|(found, expected)| found.to_bits() == expected.to_bits()));
        for (other, tolerance) in [(y.clone(), 1e-9), (x.mul(1.0 + 1e-6).unwrap().with_fill(5.0), 1e-5)] {
            let found = lazy.stored().allclose(&other.lazy().stored(), (tolerance, 0.0)).collect().unwrap();
            let expected = x.stored().allclose(other.stored(), (tolerance, 0.0)).unwrap();
            assert_eq!(found.item().unwrap(), expected, "{tolerance}");
            assert_eq!(expected, tolerance > 1e-8);
        }
        let array = y.to_dense().unwrap();
        for tolerance in [Tolerance::within(0.1, 1.0), Tolerance::within(0.0, 0.0).equal_nan()] {
            let found = [
                (lazy.is_close(&other, tolerance), x.is_close(y, tolerance)),
                (lazy.is_close(2.5, tolerance), x.is_close(2.5, tolerance)),
                (lazy.stored().is_close(other.stored(), tolerance), x.stored().is_close(y.stored(), tolerance)),
                (lazy.stored().is_close(2.5, tolerance), x.stored().is_close(2.5, tolerance)),
                (lazy.stored().is_close(Lazy::from(array.clone()), tolerance), x.stored().is_close(&array, tolerance)),
            ];
            found.into_iter().for_each(|(found, expected)| assert_eq!(found.collect(), expected));
        }
        let whole = lazy.allclose(&other, (1e-5, 0.0));
        let seen = lazy.stored().allclose(&other.stored(), (1e-5, 0.0));
        assert!(lacuna::lazy::compile((&whole, &seen)).is_ok());
    }
    let [x, y] = inputs(|x| x.with_fill(2.0));
    check(&x, &y);
    let [x, y] = inputs(|x| x.with_fill(2.0).to_csr().unwrap());
    check(&x, &y);
}

#[test]
fn masks_and_other_shapes_are_the_operations() {
    type Step<X> = fn(&Lazy<X>) -> Lazy<X>;
    fn check<P: Pattern>([x, y]: [Tensor<P, f64>; 2], reshape: Step<Tensor<P, f64>>) {
        let (lazy, other) = (x.lazy(), y.lazy());
        let mask = other.isfinite().pattern();
        let kept = x.stored().mask(y.pattern()).unwrap();
        let left = x.stored().without(y.pattern()).unwrap();
        let g = weighted(&x);
        for (step, eager, backward) in [
            (lazy.stored().mask(&mask), kept, grad::mask(&x.stored(), &g, y.pattern())),
            (lazy.stored().without(&mask), left, grad::without(&x.stored(), &g, y.pattern())),
        ] {
            assert!(step.collect().unwrap().same_as(&eager));
            assert!(step.gradient(&lazy, &g.lazy()).collect().unwrap().same_as(&backward.unwrap()));
        }
        let flat = reshape(&lazy);
        assert_eq!(flat.shape(), Some(&[10, 3][..]));
        let squares = flat.square();
        let dx = squares.gradient(&lazy, &flat.with_fill(0.0)).collect().unwrap();
        let expected = x.powi(2).unwrap().mul(2.0).unwrap();
        assert!(dx.stored().sub(expected.with_fill(0.0).stored()).unwrap().values().iter().all(|by| by.abs() < 1e-12));
        let second = squares.gradient(&lazy, &flat.with_fill(0.0)).gradient(&lazy, &lazy.with_fill(1.0));
        assert!(second.collect().unwrap().values().iter().zip(x.values()).all(|(d, x)| (d - 4.0 * x * x).abs() < 1e-9));
        assert!(lazy.stored().mask(&lazy.transpose().pattern()).check().is_err());
    }
    check(inputs(|x| x), |x| x.reshape([10, 3]));
    check(inputs(|x| x.to_csr().unwrap()), |x| x.reshape([10, 3]));
    let x = matrix(5, 6, 2, 3);
    let refused = x.lazy().reshape([7]).check().unwrap_err().to_string();
    assert!(refused.starts_with("reshape at tests/lazy_steps.rs:"), "{refused}");
    // The shape may also be open.
    let open = Lazy::<CsrTensor<f64>>::input("x", [None, Some(6)]);
    let flat = open.reshape([30]);
    let program = lacuna::lazy::compile(&flat.square().gradient(&open, &flat)).unwrap();
    let found = program.run([open.is(&x.to_csr().unwrap())]).unwrap();
    assert!(found.same_as(&x.mul(&x).unwrap().mul(2.0).unwrap().to_csr().unwrap()));
    let cube = x.reshape([5, 2, 3]).unwrap();
    let lazy = cube.lazy();
    let turned = lazy.permute_axes([2, 0, -2]);
    assert_eq!(turned.shape(), Some(&[3, 5, 2][..]));
    assert!(turned.collect().unwrap().same_as(&cube.permute_axes([2, 0, -2]).unwrap()));
    assert!(turned.gradient(&lazy, &turned).collect().unwrap().same_as(&cube));
    assert!(lazy.permute_axes([0, 0, 1]).check().is_err());
}

/// The gradient of a product with a number takes the entries alone, and not each position of a number that is
/// broadcast.
#[test]
fn a_gradient_beside_a_number_is_as_large_as_the_tensor() {
    let axis = vec![vec![0, 1 << 20], vec![7, 1 << 25]];
    let x = CooTensor::new([1 << 30, 1 << 30], axis, vec![2.0, -3.0], 0.0).unwrap();
    let lazy = x.lazy();
    for z in [lazy.mul(2.0), lazy.stored().mul(2.0), lazy.maximum(1.0).add(-1.0), lazy.stored().pow(1.0)] {
        let dx = z.gradient(&lazy, &lazy).collect().unwrap();
        assert!(dx.shares_pattern_with(&x), "{dx:?}");
    }
    for text in ["grad(x * 2, x, x)", "grad(stored(x) * 2, x, x)", "grad(maximum(x, 1.5), x, x)"] {
        let found = Expression::parse(text).unwrap().evaluate(|_| Some(x.to_any())).unwrap().into_tensor().unwrap();
        assert_eq!(found.nnz(), 2, "{text}");
    }
}

/// One program on 8 threads, with tensors of two patterns and arrays: each run has the bits of its own feeds.
#[test]
fn a_program_is_shared_by_threads() {
    let [x, y] = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [90, 80]));
    let w = Lazy::<ArrayD<f64>>::input("w", [80, 3]);
    let z = ((&x * &y).abs() + 1.0).sqrt();
    let program = lacuna::lazy::compile((&z, &z.gradient(&x, &y), &x.matmul(&w), &z.sum(0))).unwrap();
    let feeds: Vec<_> =
        (0..4).map(|seed| [matrix(90, 80, 2, seed), matrix(90, 80, 1 + seed as usize % 2, 9)]).collect();
    let weights = ArrayD::from_shape_fn(vec![80, 3], |at| at[0] as f64 - at[1] as f64);
    let run = |[a, b]: &[CooTensor<f64>; 2]| program.run([x.is(a), y.is(b), w.is(&weights)]).unwrap();
    let alone: Vec<_> = feeds.iter().map(run).collect();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (feeds, alone, run) = (&feeds, &alone, &run);
            scope.spawn(move || {
                for round in 0..12 {
                    let at = (thread + round * (1 + thread % 3)) % feeds.len();
                    let (found, expected) = (run(&feeds[at]), &alone[at]);
                    assert!(found.0.same_as(&expected.0) && found.1.same_as(&expected.1));
                    assert!(found.2 == expected.2 && found.3.same_as(&expected.3));
                }
            });
        }
    });
}

/// Graphs of tens of thousands of steps: chains, one value that is read again and again, and gradients of both, in time
/// that grows with their size.
#[test]
fn graphs_of_many_steps_are_planned_in_time() {
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![0.5, -1.0], 0.0).unwrap();
    let lazy = Lazy::<CooTensor<f64>>::input("x", [3]);
    let start = std::time::Instant::now();
    let chain = (0..20_000).fold(lazy.clone(), |y, step| if step % 2 == 0 { -y } else { y.mul(1.0) });
    let dx = chain.gradient(&lazy, &chain);
    let program = lacuna::lazy::compile((&chain, &dx)).unwrap();
    let (found, dx) = program.run([lazy.is(&x)]).unwrap();
    assert!(found.same_as(&x) && dx.same_as(&x));
    assert!(program.explain().lines().count() > 40_000);
    assert!(program.to_text().unwrap_err().to_string().contains("the program has"));
    drop((program, chain));

    let root = lazy.abs();
    let sum = (0..2_500).fold(root.clone(), |sum, number| sum + root.mul(f64::from(number)).sum(0).expand_dims(0));
    let program = lacuna::lazy::compile((&sum, &sum.gradient(&lazy, &root))).unwrap();
    assert!(program.run([lazy.is(&x)]).is_ok());
    // Slices and orders of axes, each of which is rewritten.
    let m = Lazy::<CooTensor<f64>>::input("m", [3, 3]);
    let turned = (0..7_500).fold(m.clone(), |m, _| m.transpose());
    let cut = (0..750).fold(m.clone(), |m, _| m.abs().slice(ndarray::s![.., ..]));
    assert!(lacuna::lazy::compile((&turned, &cut)).unwrap().explain().contains("rewritten"));
    let took = start.elapsed();
    assert!(took.as_secs() < 30, "{took:?}");
}

/// Lengths that no tensor has are refused or carried, and nothing overflows.
#[test]
fn shapes_beyond_all_tensors_are_no_panic() {
    let most = usize::MAX;
    let x = Lazy::<CooTensor<f64>>::input("x", [most, most]);
    let edge = isize::MIN..isize::MIN + 1;
    let _ = [
        x.tile([most, 2]),
        x.repeat(most, 0),
        x.pad([(most, most), (0, 0)]),
        x.broadcast_to([most, most, most]),
        x.reshape([most]),
        x.outer(&x),
        x.kron(&x),
        x.matmul(&x),
        x.sum(0).add(&x),
        x.roll(isize::MIN, isize::MIN),
        x.topk(most, -1),
        x.expand_dims([isize::MAX]),
        x.permute_axes([isize::MIN, 0]),
        x.scale(isize::MIN, &x.sum(0)),
        lacuna::lazy::concat(isize::MIN, &[&x, &x]),
        lacuna::lazy::concat(0, &[&x, &x, &x]),
        lacuna::lazy::stack(isize::MAX, &[&x]),
        x.slice(
            [ndarray::SliceInfoElem::Slice { start: edge.start, end: Some(edge.end), step: isize::MIN }; 2].as_slice(),
        ),
        x.take_axis(vec![i64::MIN], 0),
        x.diagonal(isize::MIN),
        x.tril(isize::MIN).triu(isize::MAX),
    ]
    .map(|step| (step.check().is_ok(), step.exp().gradient(&x, &step).check().is_ok(), step.slice(ndarray::s![0, 0])));
    let row = CooTensor::new([most, 2], vec![vec![7], vec![1]], vec![1.0], 0.0);
    if let Ok(row) = row {
        let lazy = row.lazy();
        assert_eq!(lazy.abs().slice(ndarray::s![3..9, ..]).collect().unwrap().nnz(), 1);
    }
}

/// Texts that ask for much are refused in time: inputs without end, gradients of everything by everything.
#[test]
fn texts_that_ask_for_much_are_read_in_time() {
    use lacuna::eval::Program;
    let start = std::time::Instant::now();
    let mut text = String::from("lacuna program 1\n");
    (0..20_000).for_each(|at| text += &format!("a{at} = input(\"a{at}\", \"bool\", \"coo\", [])\n"));
    text += "result = [a0]\n";
    let read = Program::parse(&text).unwrap();
    assert!(read.to_string().lines().count() == 20_002);
    let mut text = String::from("lacuna program 1\nx = input(\"x\", \"float64\", \"coo\", [])\n");
    (0..8_000).for_each(|at| text += &format!("z{at} = input(\"z{at}\", \"float64\", \"coo\", [])\n"));
    text += "y0 = x + 1\n";
    (1..8_000).for_each(|at| text += &format!("y{at} = y{} + 1\n", at - 1));
    (0..8_000).for_each(|at| text += &format!("g{at} = grad(y7999, z{at}, 1)\n"));
    let refused = Program::parse(&(text + "result = [x]\n")).unwrap_err().to_string();
    assert!(refused.contains("visit more than"), "{refused}");
    // Equal steps are found among many of one operation.
    let terms: Vec<String> = (0..8_000).map(|number| format!("x * {number}.0")).collect();
    assert!(lacuna::eval::Expression::parse(&terms.join(" + ")).is_ok());
    let took = start.elapsed();
    assert!(took.as_secs() < 60, "{took:?}");
}
