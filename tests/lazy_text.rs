//! Programs as text: what is written is read, runs to the same bits, and is written alike again.

use lacuna::dynamic::{AnyTensor, AnyValue, Format};
use lacuna::eval::{Fault, Program, header};
use lacuna::lazy::{self, Lazy, Program as Compiled, Steps, compile};
use lacuna::{
    Axes, CooPattern, CooTensor, CsrPattern, CsrTensor, DType, Einsum, Element, Isin, Matmul, Nanmedian, Norm, Pattern,
    Quantile, QuantileMethod, Take, Tensor, Var, grad,
};
use ndarray::{ArrayD, s};
use num_complex::Complex;
use proptest::prelude::*;

use crate::lazy::{Pair, grown, matrix};

/// A tensor of run-time types.
pub(crate) trait ToAny {
    fn to_any(&self) -> AnyTensor;
}

impl<T: Element> ToAny for CooTensor<T> {
    fn to_any(&self) -> AnyTensor
    where
        T: Element,
    {
        any_of(self.clone())
    }
}

impl<T: Element> ToAny for CsrTensor<T> {
    fn to_any(&self) -> AnyTensor {
        any_of(self.clone())
    }
}

/// By its name among the types that are compiled in.
fn any_of<P: Pattern, T: Element>(x: Tensor<P, T>) -> AnyTensor {
    let x: Box<dyn std::any::Any> = Box::new(x);
    macro_rules! of {
        ($($type:ty),*) => {$(
            if let Some(x) = x.downcast_ref::<CooTensor<$type>>() {
                return x.with_index::<u64>().unwrap().into();
            }
            if let Some(x) = x.downcast_ref::<CsrTensor<$type>>() {
                return x.with_index::<u64>().unwrap().into();
            }
        )*};
    }
    of!(bool, i8, i32, i64, u8, u64, f32, f64, Complex<f32>, Complex<f64>);
    panic!("a type that is not tested")
}

/// Writes a program, reads it, and writes it again.
#[track_caller]
fn read_again<V>(program: &Compiled<V>) -> Program {
    let text = program.to_text().unwrap();
    let read = Program::parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    assert_eq!(read.to_string(), text);
    read
}

/// Runs what was read on tensors by their names, and compares the results bit for bit.
#[track_caller]
fn assert_runs(read: &Program, bound: &[(&str, AnyTensor)], expected: &[AnyTensor]) {
    let bound = |name: &str| bound.iter().find(|(known, _)| *known == name).map(|(_, x)| x.clone());
    let found = read.run(bound).unwrap_or_else(|fault| panic!("{fault}\n{read}"));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let found = &found.clone().into_tensor().unwrap();
        assert!(found.same_as(expected) && bits(found) == bits(expected), "{read}\n{found:?}\n{expected:?}");
        assert_eq!(found.format(), expected.format());
    }
}

/// All that is stored, with the signs of zeros.
fn bits(x: &AnyTensor) -> String {
    format!("{x:?} {:?}", x.fill())
}

/// Adds the elementwise operations of two operands that give floats.
macro_rules! pairs {
    ([$all:ident, $x:expr, $y:expr]
        $($name:ident: $op:ident, $bound:ident -> $out:ident [$($gradient:tt)*] $about:literal $(command $command:tt)?;)*) => {
        $(lacuna::__if_kind! { float $bound pairs!(@$out $all, $x.$name($y)); })*
    };
    (@same $all:ident, $step:expr) => { $all.push($step) };
    (@bool $all:ident, $step:expr) => {};
}

/// Returns a reduction as a list, or an empty list if the elements of the result are not floats.
macro_rules! of_floats {
    (bool $result:expr) => {
        vec![]
    };
    (u64 $result:expr) => {
        vec![]
    };
    ($out:ident $result:expr) => {
        vec![$result]
    };
}

/// Lists the reductions over some axes whose results are floats.
macro_rules! of_folds {
    ([$x:ident, $axes:expr] $($name:ident ($($q:expr,)?) $out:ident $stream:ident [$($backward:ident)?];)*) => {
        [$(of_floats!($out $x.$name($($q,)? $axes))),*].concat()
    };
}

/// Steps that tensors and arrays have, of one matrix or two.
pub(crate) fn of_both<X: Steps<Elem = f64, Of<f64> = X>>(x: &Lazy<X>, y: &Lazy<X>) -> Vec<Lazy<X>> {
    [some_of_both(x, y), every_fold! { (of_folds) x, 1 }].concat()
}

fn some_of_both<X: Steps<Elem = f64, Of<f64> = X>>(x: &Lazy<X>, y: &Lazy<X>) -> Vec<Lazy<X>> {
    let kept = Axes::from(1).keep_dims();
    let labels = [1u32, 0, 1, 3];
    let mut all = vec![
        x.powi(-2),
        x.powf(0.1),
        x.clamp(-0.5, f64::INFINITY),
        x.mul_nonzero(0.1),
        x.add(0.1),
        x.sub(-0.0),
        x.mul(1e300),
        x.div(3.0),
        x.maximum(f64::NAN),
        x.pow(2.0),
        x.sum(&kept),
        x.mean(0),
        x.sinc(),
        x.nextafter(y),
        x.nansum(&kept),
        x.nanmean(Axes::all()),
        x.prod(0),
        x.nanprod(Axes::none()),
        x.var(1),
        x.std(Var::over(0).ddof(1)),
        x.nanvar(&kept),
        x.nanstd(Axes::all()),
        x.min(0),
        x.max([0, 1]),
        x.nanmin(&kept),
        x.nanmax(-1),
        x.norm(1),
        x.norm(Norm::over(0).one()),
        x.norm(Norm::over(0).infinity()),
        x.median(0),
        x.nanmedian(1),
        x.nanmedian(Nanmedian::over(0).lower()),
        x.quantile(0.1, 1),
        x.nanquantile(0.5, Quantile::over(0).method(QuantileMethod::Nearest)),
        x.sum(Axes::by(0, &labels)),
        x.flip(Axes::all()),
        x.flip([0, 1]),
        x.roll(-3, 1),
        x.pad([(1, 0), (0, 2)]),
        x.tile([2, 1]),
        x.repeat(3, -1),
        x.slice(s![0..1, ..]).squeeze(0),
        x.expand_dims([0, 3]),
        x.transpose(),
        x.move_axis(0, -1),
        x.tril(-1),
        x.triu(1),
        x.diagonal(1),
        x.slice(s![1.., ..;2]),
        x.slice(s![..;-1, 1..4;-2]),
        x.slice(s![-2, ..-1]),
        x.slice(s![1..3;-1, 0..2;-1]),
        x.slice(s![2..;-1, ..]),
        x.take_axis(vec![2i64, -1, 0], 0),
        x.gather([vec![2i64, -1, 0], vec![0, 1, 1]]),
        x.take_along_axis(Take::at(ndarray::Array2::from_elem((4, 1), -1i64)), 1),
        x.take_along_axis(Take::at(ndarray::Array2::from_elem((1, 5), 9u8)).clip(), 0),
        x.gather([Take::at(vec![9u8]).clip(), Take::at(vec![7u8]).clip()]),
        x.take(Take::at(vec![3u32, 100]).wrap()),
        x.take_axis(Take::at(vec![9u8]).clip(), 1),
        x.take(ndarray::arr2(&[[1, 2], [3, 4]])),
        x.topk(2, 1),
        x.diff(2, -1),
        x.broadcast_to([2, 4, 5]),
        x.nanmedian_index(1).parts().0,
        x.permute_axes([-1, 0]),
        x.scale(0, &y.sum(1)),
        x.scale(-1, &y.sum(0)),
    ];
    macro_rules! of_table {
        (tests $tests:tt numbers [$($number:ident)*] bits $bits:tt parts $parts:tt floats [$($float:ident)*]
         gradients $gradients:tt) => {
            all.extend([$(x.$number(),)* $(x.$float(),)*]);
        };
    }
    lacuna::__function_names! { of_table }
    lacuna::__binary! { pairs [all, x, y] }
    all
}

/// Steps that tensors have alone.
pub(crate) fn of_sparse<P: Pattern>(x: &Lazy<Tensor<P, f64>>, y: &Lazy<Tensor<P, f64>>) -> Vec<Lazy<Tensor<P, f64>>> {
    let kept = Axes::from(1).keep_dims();
    let labels = [1u32, 0, 1, 3];
    let mut all = vec![
        x.with_fill(-0.0),
        x.with_fill(f64::NAN),
        x.cast::<f32>().cast(),
        x.greater(y).where_(x, y),
        x.stored().sum(0),
        x.stored().mean(&kept),
        x.stored().nanmedian(1),
        x.stored().var(0),
        x.stored().max(Axes::by(0, &labels)),
        x.sum(0).broadcast_to([2, 5]),
        x.matmul(&y.transpose()),
        x.outer(&y.sum(0)),
        x.kron(y),
        x.stored().softmax(1),
        x.stored().log_softmax(Axes::all()),
        x.stored().diff(1, 0),
        x.sort(0),
        x.stored().sort(1),
        x.stored().cumsum(1),
        x.stored().nancumprod(-2),
        lazy::concat(-1, &[x, y, x]),
        lazy::stack(1, &[x, y]),
        lazy::einsum("ij,kj->ik", &[x, y]),
        lazy::einsum("ij->", &[x]),
    ];
    all.extend([x.prune(), x.stored().topk_index(1, 0).parts().0]);
    let both = (x.stored(), y.stored());
    lacuna::__binary! { pairs [all, both.0, &both.1] }
    all.extend([both.0.pow(0.5), both.0.sub(0.1), both.0.rem(0.7)]);
    all.extend([both.0.exp(), both.0.abs(), both.0.clamp(0.0, 1.0), both.0.powi(3), both.0.isnan().cast()]);
    all.extend([both.0.scale(1, &y.sum(0)), both.0.mask(&y.pattern()), both.0.without(&y.pattern())]);
    all.extend([both.0.isin([0.5]).cast(), both.0.less(&both.1).cast()]);
    let turned = y.transpose();
    all.extend([x.matmul_with(&turned, Matmul::plus_times()), x.matmul_with(&turned, Matmul::min_plus())]);
    all.extend([x.matmul_with(&turned, Matmul::any_pair()), x.matmul_with(&turned, Matmul::or_and())]);
    let at = x.matmul_with(&turned, Matmul::any_pair()).pattern();
    all.extend([x.matmul_on(&turned, &at, Matmul::plus_times()), x.matmul_on(&turned, &at, Matmul::min_plus())]);
    all.extend([x.matmul_without(&turned, &at, Matmul::plus_times()), x.tensordot(y, [0], [-2])]);
    all.extend([lazy::block(&[&[x, y], &[y, x]]), x.with_entries([([1, 2], 7.5), ([3, 0], -0.0)])]);
    all.push(x.sum(0).diag(-1));
    all.extend([x.stored().quantile(0.1, 1), x.stored().nanquantile(0.5, 0), x.stored().topk(1, 1)]);
    all.extend([x.stored().nanmedian_index(1).parts().1.cast(), 1.5 - x]);
    all.extend([x.isin([0.5, 1.0]).cast(), x.isin(Isin::of([f64::NAN]).invert()).cast(), x.isnan().cast()]);
    all.extend([x.argmin(1).cast(), x.nanmedian_index(0).parts().1.cast(), x.stored().argsort(0).cast()]);
    all
}

/// All of them, each with its gradient if it has one.
fn steps<P: Pattern>(x: &Lazy<Tensor<P, f64>>, y: &Lazy<Tensor<P, f64>>) -> Vec<Lazy<Tensor<P, f64>>> {
    let mut all = [of_both(x, y), of_sparse(x, y)].concat();
    let gradients: Vec<_> = all.iter().map(|step| step.gradient(x, &(step * 0.5))).collect();
    all.extend(gradients.into_iter().filter(|gradient| gradient.check().is_ok()));
    // Gradients by an input without a part in the result, and second gradients.
    all.extend([y.sum(0).gradient(x, &y.sum(0)), x.gradient(x, y)]);
    all.extend([(x * y).sum(0), (x * y).sqrt().tanh(), x.exp().gradient(x, y)].map(|z| z.gradient(x, &z)));
    let twice = [x.max(1), x.stored().nanmedian(0), x.kron(y), x.clamp(-0.5, 0.5), lazy::einsum("ij,kj->ik", &[x, y])];
    all.extend(twice.map(|z| z.gradient(x, &z).gradient(x, x)));
    all
}

fn each_step_runs<P: Pattern>(of: impl Fn(CooTensor<f64>) -> Tensor<P, f64>)
where
    Tensor<P, f64>: ToAny,
{
    let inputs = [1, 2].map(|seed| of(matrix(4, 5, 2, seed)));
    let [x, y] = ["x", "y"].map(|name| Lazy::<Tensor<P, f64>>::input(name, [4, 5]));
    let bound = [("x", inputs[0].to_any()), ("y", inputs[1].to_any())];
    let (mut ran, mut refused) = (0, 0);
    for step in steps(&x, &y) {
        let program = compile((&step, &x, &y)).unwrap();
        let read = read_again(&program);
        match program.run([x.is(&inputs[0]), y.is(&inputs[1])]) {
            Ok((found, ..)) => {
                assert_runs(&read, &bound, &[found.to_any(), bound[0].1.clone(), bound[1].1.clone()]);
                ran += 1;
            }
            Err(error) => {
                let found = read.run(|name| bound.iter().find(|(known, _)| *known == name).map(|(_, x)| x.clone()));
                assert!(found.is_err(), "{error} {found:?}\n{read}");
                refused += 1;
            }
        }
    }
    assert!(ran > 150 && refused < 20, "{ran} ran, {refused} were refused");
}

/// Steps that find something of values are written as the functions that give each of it.
#[test]
fn what_is_found_of_values_is_written_and_read() {
    let x = matrix(4, 5, 2, 1);
    let lazy = Lazy::<CooTensor<f64>>::input("x", [4, 5]);
    let bound = |_: &str| Some(x.to_any());
    let (values, counts) = lazy.unique().parts();
    let (rows, is_close) = (lazy.nonzero(), lazy.allclose(&lazy.add(1e-9), (1e-5, 1e-8)));
    let program = compile((&values, &counts, &rows, &is_close)).unwrap();
    let found = read_again(&program).run(bound).unwrap();
    let expected = program.run([lazy.is(&x)]).unwrap();
    assert_elements(&found[0], &expected.0, &read_again(&program));
    assert_elements(&found[1], &expected.1.mapv(|count| count as f64), &read_again(&program));
    assert_elements(&found[2], &expected.2.mapv(|at| at as f64), &read_again(&program));
    assert!(found[3].clone().into_tensor().unwrap().same_as(&expected.3.to_any()));
}

#[test]
fn each_step_is_written_and_read() {
    each_step_runs(|x| x);
    each_step_runs(|x| x.to_csr().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Random graphs of up to 20 steps, with the gradients of those that have one.
    #[test]
    fn random_programs_run_as_what_they_were_written_from(
        steps in prop::collection::vec(
            (any::<u8>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            1..20,
        ),
        seed in any::<u64>(),
    ) {
        let inputs = [matrix(5, 4, 2, seed), matrix(5, 4, 3, seed ^ 7)];
        let names = ["x", "y"].map(|name| Lazy::<CooTensor<f64>>::input(name, [5, 4]));
        let mut pairs: Vec<Pair> = names.iter().cloned().zip(inputs.iter().cloned()).collect();
        for (step, one, other) in steps {
            if let Some(pair) = grown(step, one.get(&pairs), other.get(&pairs)) {
                pairs.push(pair);
            }
        }
        let lazy = &pairs.last().unwrap().0;
        let gradient = lazy.gradient(&names[0], lazy);
        let gradient = if gradient.check().is_ok() { gradient } else { lazy.abs() };
        let program = compile((lazy, &gradient, &names[0], &names[1])).unwrap();
        let read = read_again(&program);
        let bound = [("x", inputs[0].to_any()), ("y", inputs[1].to_any())];
        if let Ok((found, gradient, ..)) = program.run(names.iter().zip(&inputs).map(|(name, input)| name.is(input))) {
            assert_runs(&read, &bound, &[found.to_any(), gradient.to_any(), bound[0].1.clone(), bound[1].1.clone()]);
        }
    }
}

/// A tensor that is there is written with its entries, to the bit.
#[track_caller]
fn assert_constant<P: Pattern, T: Element>(x: &Tensor<P, T>)
where
    Tensor<P, T>: ToAny,
{
    let program = compile(&x.lazy()).unwrap();
    assert_runs(&read_again(&program), &[], &[x.to_any()]);
}

#[test]
fn tensors_that_are_there_are_written_to_the_bit() {
    let of =
        |values: Vec<f64>, fill| CooTensor::new([values.len()], vec![(0..values.len() as u32).collect()], values, fill);
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, 0.1, -1e300, 1e16];
    for fill in odd {
        assert_constant(&of(odd.to_vec(), fill).unwrap());
        assert_constant(&of(odd.to_vec(), fill).unwrap().to_csr().unwrap());
    }
    assert_constant(&CooTensor::<f64>::full([0; 0], -0.0).unwrap());
    assert_constant(&CooTensor::new([], vec![], vec![2.5f32], 0.1).unwrap());
    assert_constant(&CooTensor::<bool>::new([2, 0], vec![vec![], vec![]], vec![], true).unwrap());
    let at = vec![vec![0, 1], vec![2, 0]];
    assert_constant(&CooTensor::new([2, 3], at.clone(), vec![i64::MIN, i64::MAX], -1).unwrap());
    assert_constant(&CooTensor::new([2, 3], at.clone(), vec![u64::MAX, 0], 1).unwrap());
    assert_constant(&CooTensor::new([2, 3], at.clone(), vec![true, false], true).unwrap());
    assert_constant(&CooTensor::new([2, 3], at.clone(), vec![i8::MIN, 0], 3).unwrap().to_csr().unwrap());
    let [one, other] = [Complex::new(0.1f32, -2.0), Complex::new(0.0, 0.0)];
    assert_constant(&CooTensor::new([2, 3], at, vec![one, other], other).unwrap());
}

/// Kept values stand in the text as the tensors that they are.
#[test]
fn a_kept_value_is_written_as_a_tensor() {
    let x = matrix(3, 3, 2, 5);
    let half = x.lazy() * 0.5;
    half.value().unwrap();
    let program = compile(&half.abs()).unwrap();
    assert!(!program.to_text().unwrap().contains("mul"));
    assert_runs(&read_again(&program), &[], &[(&x * 0.5).abs().unwrap().to_any()]);
}

/// A step without a textual form is an error that names the step and its line.
#[test]
fn what_has_no_text_is_named_with_its_line() {
    let x = Lazy::<CooTensor<f64>>::input("x", [4, 5]);
    let payload = f64::from_bits(0x7FF8_0000_0000_0001);
    let vector =
        |values: Vec<f64>| CooTensor::new([values.len()], vec![(0..values.len() as u32).collect()], values, 0.0);
    let line = line!() + 2;
    let steps = [
        x.custom("mine", |x| x.abs(), |_, g| Ok(g.clone())),
        x.with_fill(payload),
        x.matmul_with(&x.transpose(), Matmul::by(0.0, |sum, _| sum, |a, _| a)),
        &x + &vector(vec![payload; 5]).unwrap(),
        vector(vec![1.0; 600_000]).unwrap().lazy(),
        x.take((0..1001).collect::<Vec<u32>>()),
        lazy::einsum(Einsum::of("ij,ij->").order(vec![[0, 1]]), &[&x, &x]),
        &x + &Lazy::<CooTensor<f64>>::input("x", [4, 5]),
        Lazy::<CooTensor<f64>>::input("\"x\"", [4, 5]),
    ];
    let names = ["mine", "with_fill", "matmul_with", "constant", "constant", "take", "einsum", "input", "input"];
    for (at, (step, name)) in steps.iter().zip(names).enumerate() {
        let refused = compile(&step.exp()).unwrap().to_text().unwrap_err().to_string();
        let place = format!("{name} at tests/lazy_text.rs:{}", line + at as u32);
        assert!(refused.replace('\\', "/").starts_with(&place), "{refused} is not of {place}");
    }
    let both = compile(&x.nanmedian_index(0)).unwrap().to_text().unwrap_err().to_string();
    assert!(both.contains("write each result"), "{both}");
}

/// As many entries as the bytes of a text hold; a longer text is told by its bytes.
#[test]
fn a_long_tensor_is_written_out() {
    let of =
        |count: u32| CooTensor::new([1 << 20], vec![(0..count).collect()], vec![0.5; count as usize], 0.0).unwrap();
    assert_constant(&of(20_000));
    let refused = compile(&of(200_000).lazy()).unwrap().to_text().unwrap_err().to_string();
    assert!(refused.contains("the limit is 1048576 bytes"), "{refused}");
}

/// Bits of the elements, wherever they are stored.
#[track_caller]
fn assert_elements(found: &AnyValue, expected: &ArrayD<f64>, read: &Program) {
    let AnyValue::Array(found) = found.clone().cast(DType::Float64).unwrap() else { panic!("a tensor\n{read}") };
    assert_eq!(found.view::<f64>().unwrap().mapv(f64::to_bits), expected.mapv(f64::to_bits), "{read}");
}

/// Steps of arrays, with what has one on either side, and all their gradients.
#[test]
fn programs_with_arrays_are_written_and_read() {
    let of =
        |seed| matrix(4, 5, 2, seed).map_values(|value| value + 0.125).unwrap().with_fill(-0.5).to_dense().unwrap();
    let inputs = [of(1), of(2)];
    let [x, y] = ["x", "y"].map(|name| Lazy::<ArrayD<f64>>::input(name, [4, 5]));
    let bound = |name: &str| {
        let array = &inputs[usize::from(name == "y")];
        Some(CooTensor::from_dense(array, 0.0).unwrap().to_any())
    };
    let turned = y.transpose();
    let mut all = of_both(&x, &y);
    all.extend([x.matmul(&turned), x.ttm(&y, 1), x.ttv(&y.sum(0), 1), x.mttkrp(0, &[&turned])]);
    all.extend([x.matmul_with(&turned, Matmul::plus_times()), x.matmul_with(&turned, Matmul::max_min())]);
    all.push(&x + &Lazy::from(inputs[1].clone()));
    let gradients: Vec<_> =
        all.iter().flat_map(|step| step.gradients([&x, &y], &(step * 0.5))).filter(|g| g.check().is_ok()).collect();
    assert!(gradients.len() > 60, "{}", gradients.len());
    all.extend(gradients);
    let mut ran = 0;
    for step in all {
        let program = compile((&step, &x, &y)).unwrap();
        let read = read_again(&program);
        assert!(read.inputs().iter().all(|input| input.is_array));
        match program.run([x.is(&inputs[0]), y.is(&inputs[1])]) {
            Ok((expected, ..)) => {
                let found = read.run(bound).unwrap_or_else(|fault| panic!("{fault}\n{read}"));
                assert_elements(&found[0], &expected, &read);
                ran += 1;
            }
            Err(error) => assert!(read.run(bound).is_err(), "{error}\n{read}"),
        }
    }
    assert!(ran > 130, "{ran}");
}

/// Tensors beside arrays: products, dots at a pattern, and the gradients of all.
#[test]
fn programs_with_tensors_and_arrays_are_written_and_read() {
    fn check<P: Pattern>(a: &Tensor<P, f64>)
    where
        Tensor<P, f64>: ToAny,
    {
        let w = ArrayD::from_shape_fn(vec![5, 3], |at| (at[0] as f64 - 2.0) * 0.4 + at[1] as f64);
        let l = ArrayD::from_shape_fn(vec![4, 3], |at| at[0] as f64 * 0.3 - at[1] as f64);
        let (x, y) = (Lazy::<Tensor<P, f64>>::input("x", [4, 5]), Lazy::<ArrayD<f64>>::input("w", [5, 3]));
        let left = Lazy::from(l);
        let bound = |name: &str| match name {
            "x" => Some(a.to_any()),
            _ => Some(CooTensor::from_dense(&w, 0.0).unwrap().to_any()),
        };
        let arrays = [
            x.matmul(&y).exp(),
            x.ttm(&y.transpose(), 1),
            x.ttv(&y.sum(1), 1),
            x.mttkrp(1, &[&left]),
            left.transpose().matmul(&x),
            x.matmul_with(&y, Matmul::plus_times()),
            x.matmul_with(&y, Matmul::min_plus()),
        ];
        let row = y.sum(1);
        let tensors =
            [x.pattern().sddmm(&left, &y), x.stored().sddmm(&left, &y), x.scale(1, &row), &row * &x, &x * &row];
        let runs = |of_w: &Lazy<ArrayD<f64>>, of_x: &Lazy<Tensor<P, f64>>| {
            let program = compile((of_w, of_x, &x, &y)).unwrap();
            let read = read_again(&program);
            let (of_w, of_x, ..) = program.run([x.is(a), y.is(&w)]).unwrap();
            let found = read.run(bound).unwrap_or_else(|fault| panic!("{fault}\n{read}"));
            assert_elements(&found[0], &of_w, &read);
            assert!(
                found[1].clone().into_tensor().unwrap().same_as(&of_x.to_any()),
                "{read}\n{:?}\n{of_x:?}",
                found[1]
            );
        };
        for z in &arrays {
            runs(z, &x);
            let (dw, dx) = (z.gradient(&y, &(z * 0.5)), z.gradient(&x, &(z * 0.5)));
            if dw.check().is_ok() && dx.check().is_ok() {
                runs(&dw, &dx);
            }
        }
        for z in &tensors {
            runs(&y, z);
            runs(&z.gradient(&y, &(z * 0.5)), &z.gradient(&x, &(z * 0.5)));
        }
        // The number in place of an array stores all elements, and so does a sum with the number. The elements are the
        // same.
        let number = Lazy::from(ArrayD::from_elem(vec![1], 2.5));
        for z in [&number - &x, &x - &number] {
            let program = compile((&z, &x)).unwrap();
            let found = read_again(&program).run(bound).unwrap().remove(0).into_tensor().unwrap();
            let found = found.into_coo::<f64, u64>().unwrap();
            assert_eq!(found.to_dense().unwrap(), program.run([x.is(a)]).unwrap().0.to_dense().unwrap());
        }
        // By hand: the gradient is asked of what is read.
        let text = "lacuna program 1
x = input(\"x\", \"float64\", \"coo\", [4, 5])
w = input(\"w\", \"float64\", \"array\", [5, 3])
z = sum(dense(x @ w) ** 2)
result = [grad(z, w, 1)]
";
        let read = Program::parse(text).unwrap();
        let found = read.run(bound).unwrap();
        let z = x.matmul(&y);
        let dw = z.powi(2).gradient(&y, &Lazy::from(ArrayD::ones(vec![4, 3])));
        assert_elements(&found[0], &compile(&dw).unwrap().run([x.is(a), y.is(&w)]).unwrap(), &read);
    }
    let a = matrix(4, 5, 2, 9);
    check(&a);
    check(&a.to_csr().unwrap());
}

/// A program that a user wrote: expressions of any depth, remarks, gradients.
#[test]
fn a_program_may_be_written_by_hand() {
    let text = "lacuna program 1
# Sums of squares, and their gradient.
x = input('x', \"float64\", \"csr\", [2, \"?\"])
scale = 2 ** -1

z = sum(stored(x[:, ::-1] * scale - (-1)) ** 2, axis=1)
dx = grad(z, x, 1)
result = [z, dx, 3]
";
    let read = Program::parse(text).unwrap();
    let input = &read.inputs()[0];
    assert_eq!((&*input.name, input.dtype, input.format), ("x", DType::Float64, Format::Csr));
    assert_eq!(input.lengths, [Some(2), None]);
    let x = matrix(2, 3, 2, 1).to_csr().unwrap();
    let halved = |x: &CsrTensor<f64>| x.mul(0.5)?.sub(-1.0);
    let squares = halved(&x.slice(s![.., ..;-1]).unwrap()).unwrap().stored().powi(2).unwrap().sum(1).unwrap();
    let dx = &halved(&x).unwrap() * 1.0;
    let dx = grad::any(&x, &dx, Axes::none()).unwrap();
    let three = CooTensor::full([0; 0], 3i64).unwrap();
    let tensors =
        |found: Vec<AnyValue>| -> Vec<_> { found.into_iter().map(|one| one.into_tensor().unwrap()).collect() };
    let found = tensors(read.run(|_| Some(x.to_any())).unwrap());
    assert!(found[0].same_as(&squares.to_any()), "{:?} {squares:?}", found[0]);
    assert!(found[1].same_as(&dx.to_any()), "{:?} {dx:?}", found[1]);
    assert!(found[2].same_as(&three.to_any()));
    // The canonical text is the same program, and is its own.
    let again = Program::parse(&read.to_string()).unwrap();
    assert_eq!(again.to_string(), read.to_string());
    let rerun = tensors(again.run(|_| Some(x.to_any())).unwrap());
    assert!(rerun.iter().zip(&found).all(|(one, other)| one.same_as(other)), "{read}");
}

/// A line, a column and carets for whatever is wrong.
#[test]
fn what_is_no_program_is_told_with_its_place() {
    let x = "lacuna program 1\nx = input(\"x\", \"float64\", \"coo\", [2])\n";
    for (lines, expected) in [
        ("y = sum(x", "line 3, column 8: the matching `)` is missing\n  y = sum(x\n         ^"),
        ("y = summ(x)", "line 3, column 5: there is no function summ; did you mean sum?\n  y = summ(x)\n      ^^^^"),
        ("y = q + x", "line 3, column 5: no earlier line has the name q\n  y = q + x\n      ^"),
        ("y = y + x", "line 3, column 5: no earlier line has the name y\n  y = y + x\n      ^"),
        ("x = x + 1", "line 3, column 1: the name x is already used by an earlier line\n  x = x + 1\n  ^"),
        ("nan = x + 1", "line 3, column 1: a line must start with a name\n  nan = x + 1\n  ^^^"),
        ("2 = x + 1", "line 3, column 1: a line must start with a name\n  2 = x + 1\n  ^"),
        ("x + 1", "line 3, column 1: expected a line `name = expression`\n  x + 1\n  ^^^^^"),
        ("y = [x]", "line 3, column 5: expected an operation, found a list or a string\n  y = [x]\n      ^^^"),
        ("y = ", "line 3, column 5: unexpected end of the expression\n  y = \n      ^"),
        ("y = input(\"x\", \"bool\", \"coo\", [])", "line 3, column 5: an earlier input has the name \"x\""),
        ("y = input(\"y\", \"bit\", \"coo\", [])", "line 3, column 5: unknown element type"),
        ("y = input(\"y\", \"bool\", \"coo\", [-1])", "line 3, column 33: expected a length"),
        ("y = input(\"y\", \"bool\", \"coo\")", "line 3, column 5: expected an input such as input("),
        ("y = input(\"y\", \"bool\", \"csc\", [])", "line 3, column 5: expected a format"),
        ("result = x", "line 3, column 10: the result must be a list of names"),
        ("result = []", "line 3, column 10: the result must be a list of names"),
        ("result = [x]\ny = x", "line 4, column 1: unexpected line after the result"),
        ("y = x", "line 3, column 6: the line `result = [...]` is missing"),
        ("y = grad(floor(x), x, 1)\nresult = [y]", "line 3, column 10: floor is not differentiable"),
    ] {
        let refused = Program::parse(&format!("{x}{lines}")).unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{lines}: {refused}");
    }
    for text in ["", "x = 1", "lacuna program 2\nresult = [1]", "\nlacuna program 1\nresult = [1]"] {
        let Err(Fault::Wrong(wrong)) = Program::parse(text) else { panic!("{text}") };
        assert_eq!(wrong.message(), "the first line of a program must be `lacuna program 1`");
    }
}

/// Depth, count and size have bounds, and what is named once is held once.
#[test]
fn hostile_programs_are_refused_or_small() {
    let program = |lines: &str| Program::parse(&format!("lacuna program 1\n{lines}result = [t0]\n"));
    let message = |lines: &str| program(lines).unwrap_err().to_string();
    let deep = |depth: usize| format!("t0 = take({}1{}, 0)\n", "[".repeat(depth), "]".repeat(depth));
    assert!(message(&deep(60)).contains("more than 50 nested lists"), "{}", message(&deep(60)));
    assert!(message(&deep(5000)).contains("more than 100 nested brackets"));
    assert!(program(&deep(50)).is_ok());
    assert!(message(&"#\n".repeat(1 << 20)).contains("the limit is"));
    // Ten thousand steps, each of the one before it twice.
    let mut lines = String::from("t0 = full([2], 1.0)\ns0 = t0\n");
    (1..10_000).for_each(|at| lines += &format!("s{at} = stored(s{})\n", at - 1));
    let long = program(&lines).unwrap();
    assert!(long.to_string().len() < 400_000);
    let mut lines = String::from("t0 = full([2], 1.0)\nu0 = t0\n");
    (1..5_000).for_each(|at| lines += &format!("u{at} = u{0} - u{0}\n", at - 1));
    let text = format!("lacuna program 1\n{lines}result = [u4999]\n");
    let found = Program::parse(&text).unwrap().run(|_| None::<AnyTensor>).unwrap();
    assert!(found[0].clone().into_tensor().unwrap().same_as(&CooTensor::full([2], 0.0).unwrap().to_any()));
    let gradient = format!(
        "lacuna program 1\nx = input(\"x\", \"float64\", \"coo\", [2])\n{}result = [grad(u4999, x, 1)]\n",
        lines.replace("u0 = t0", "u0 = x")
    );
    assert!(Program::parse(&gradient).unwrap_err().to_string().contains("has more than 10000 steps"));
}

/// Tensors that do not fit an input are refused before anything runs.
#[test]
fn inputs_are_checked() {
    let program = compile(&Lazy::<CsrTensor<f64>>::input("x", [None, Some(2)]).abs().sum(0)).unwrap();
    let read = read_again(&program);
    let run = |x: Option<AnyTensor>| read.run(|_| x.clone()).map(|found| found[0].clone().into_tensor().unwrap());
    let x = matrix(3, 2, 2, 1);
    let expected = x.to_csr().unwrap().abs().unwrap().sum(0).unwrap();
    assert!(run(Some(x.to_any())).unwrap().same_as(&expected.to_any()), "the other format is converted");
    let refused = |x| run(x).unwrap_err().to_string();
    assert!(refused(None).contains("input \"x\" is not bound"));
    let other = "input \"x\" must be float64 [?, 2], found float64 [2, 3]";
    assert!(refused(Some(matrix(2, 3, 2, 1).to_any())).contains(other));
    assert!(refused(Some(x.cast::<f32>().unwrap().to_any())).contains("found float32 [3, 2]"));
    assert!(header(&read.inputs()[0]).is_none());
    assert!(read.check(|_| Some(x.to_any())).is_ok());
    assert!(read.explain(|_| Some(x.to_any())).unwrap().contains("sum(%1, axis=0)"));
}

/// Formats and types other than those of the random graphs.
#[test]
fn other_types_and_formats_are_written_and_read() {
    let x = matrix(4, 4, 2, 9);
    let counts = x.map_values(|value| (value * 10.0) as i64).unwrap();
    let lazy = Lazy::<CooTensor<i64>>::input("counts", [4, 4]);
    let mixed = (lazy.bit_and(6) * 3 % 5).to_csr().sum(0).cast::<f32>().sqrt();
    let program =
        compile((&mixed, &lazy.less(2).not(), &lazy.cast::<Complex<f64>>().mul(Complex::new(0.5, -2.0)))).unwrap();
    let (one, two, three) = program.run([lazy.is(&counts)]).unwrap();
    assert_runs(&read_again(&program), &[("counts", counts.to_any())], &[one.to_any(), two.to_any(), three.to_any()]);
    let _: (CsrPattern, CooPattern) = (one.pattern().clone(), two.pattern().clone());
}

/// Arithmetic on entries: the gradients of expressions are those of lazy graphs, and both agree with differences.
#[test]
fn gradients_of_what_is_stored_agree_with_differences() {
    let of = |seed| matrix(4, 5, 2, seed).map_values(|value| value + 0.25).unwrap().with_fill(3.0).to_csr().unwrap();
    let inputs = [of(1), of(2)];
    let [x, y] = ["x", "y"].map(|name| Lazy::<CsrTensor<f64>>::input(name, [4, 5]));
    type Op = fn(&Lazy<CsrTensor<f64>>, &Lazy<CsrTensor<f64>>) -> Lazy<CsrTensor<f64>>;
    let operations: [(&str, Op); 4] = [
        ("+", |x, y| x.stored().add(y.stored())),
        ("-", |x, y| x.stored().sub(y.stored())),
        ("*", |x, y| x.stored().mul(y.stored())),
        ("/", |x, y| x.stored().div(y.stored())),
    ];
    for (sign, operation) in operations {
        // Squares tell the places of a gradient apart.
        let z = operation(&x, &y).stored().sum(Axes::all());
        let loss = |inputs: &[CsrTensor<f64>; 2]| {
            let squares = operation(&inputs[0].lazy(), &inputs[1].lazy()).square();
            squares.stored().sum(Axes::all()).collect().unwrap().item().unwrap()
        };
        let squares = operation(&x, &y).square().stored().sum(Axes::all());
        let one = CsrTensor::full([0; 0], 1.0).unwrap();
        let [dx, dy] = squares.gradients([&x, &y], &one.lazy());
        let program = compile((&dx, &dy, &z)).unwrap();
        let found = program.run([x.is(&inputs[0]), y.is(&inputs[1])]).unwrap();
        for (operand, gradient) in [(0, &found.0), (1, &found.1)] {
            assert_eq!(gradient.pattern(), inputs[operand].pattern());
            for entry in 0..gradient.nnz() {
                let moved = |by: f64| {
                    let mut inputs = inputs.clone();
                    inputs[operand].values_mut().unwrap()[entry] += by;
                    loss(&inputs)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                let value = gradient.values()[entry];
                assert!((value - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{sign} {value} {expected}");
            }
        }
        for (name, gradient) in [("x", &found.0), ("y", &found.1)] {
            let text = format!("grad(sum(stored(square(stored(x) {sign} stored(y)))), {name}, 1)");
            let bound = |name: &str| Some(inputs[usize::from(name == "y")].to_any());
            let of_text =
                lacuna::eval::Expression::parse(&text).unwrap().evaluate(bound).unwrap().into_tensor().unwrap();
            assert!(of_text.same_as(&gradient.to_any()), "{text}\n{of_text:?}\n{gradient:?}");
        }
    }
}
