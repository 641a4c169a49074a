//! Results of the device against results of threads: bit for bit, on random tensors of every rank,
//! format, element type and fill that the device takes.
//!
//! Without an adapter the tests say so and pass. With `LACUNA_GPU_TESTS=require` they fail.

use std::sync::OnceLock;

use lacuna::lazy::{Chunks, Engine, Lazy, Value, compile};
use lacuna::{CooPattern, CooTensor, CsrTensor, Element, Error, Float, Isin, Pattern, Real, Tensor};
use lacuna_gpu::{DeviceElement, DeviceFormat, Gpu};
use ndarray::{ArrayD, SliceInfoElem, s};

/// Returns the device, or `None` if the machine does not have an adapter.
fn gpu() -> Option<Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    let opened = || match Gpu::new() {
        Ok(gpu) => Some(gpu),
        // An adapter that does not pass its own test is no reason to skip.
        Err(error) if is_required() || !Gpu::list().is_empty() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    };
    GPU.get_or_init(opened).clone()
}

fn is_required() -> bool {
    std::env::var("LACUNA_GPU_TESTS").is_ok_and(|word| word == "require")
}

/// Random numbers: the sequence of a multiplicative generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A shape of a rank, with a few positions on each axis, sometimes none.
    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let longest = [1, 400, 30, 9, 5, 4, 3, 3, 2][rank];
        (0..rank).map(|_| if self.below(12) == 0 { 0 } else { 1 + self.below(longest) as usize }).collect()
    }

    /// A tensor whose entries and fill are drawn from `values`.
    fn tensor<T: Element>(&mut self, rank: usize, values: &[T]) -> CooTensor<T> {
        let shape = self.shape(rank);
        let size: usize = shape.iter().product();
        let share = self.below(5);
        let draw = |numbers: &mut Self| values[numbers.below(values.len() as u64) as usize];
        let fill = draw(self);
        let kept: Vec<usize> = (0..size).filter(|_| self.below(4) < share).collect();
        let coords = (0..rank).map(|axis| {
            let stride: usize = shape[axis + 1..].iter().product();
            kept.iter().map(|position| (position / stride % shape[axis]) as u32).collect()
        });
        let pattern = CooPattern::new(shape.clone(), kept.len(), coords.collect()).unwrap();
        let values = kept.iter().map(|_| draw(self)).collect();
        Tensor::from_parts(pattern, values, fill).unwrap()
    }

    /// A matrix with many entries.
    fn filled<T: Element>(&mut self, values: &[T]) -> CooTensor<T> {
        loop {
            let x = self.tensor(2, values);
            if x.nnz() > 30 {
                return x;
            }
        }
    }

    /// A slice of an axis: a range with a step, sometimes backwards, or a position.
    fn slice(&mut self, length: usize) -> SliceInfoElem {
        let start = self.below(length as u64 + 1) as isize;
        let end = start + self.below(length as u64 + 1 - start as u64) as isize;
        match self.below(6) {
            0 if length > 0 => SliceInfoElem::Index(self.below(length as u64) as isize),
            1 => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
            2 => SliceInfoElem::Slice { start, end: Some(end), step: 1 },
            3 => SliceInfoElem::Slice { start, end: Some(end), step: 2 },
            4 => SliceInfoElem::Slice { start, end: None, step: 3 },
            _ => SliceInfoElem::Slice { start, end: Some(end), step: -2 },
        }
    }

    /// The numbers below `count` in some order.
    fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.below(at as u64 + 1) as usize);
        }
        order
    }

    /// Some axes, in increasing order.
    fn axes(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|_| self.below(2) == 0).collect()
    }
}

/// Compares a graph on the device with the graph on threads.
fn check<P: Pattern, T: Element>(gpu: &Gpu, graph: &Lazy<Tensor<P, T>>, case: impl Fn() -> String) {
    let (found, expected) = (graph.on(gpu).collect().unwrap(), graph.collect().unwrap());
    assert!(found.same(&expected), "{}: {found:?} and not {expected:?}", case());
}

/// Compares all steps of a format on one tensor.
fn check_steps<P: DeviceFormat, T: DeviceElement>(gpu: &Gpu, x: &Tensor<P, T>, axes: &[usize], members: &[T]) {
    let on_device = gpu.upload(x).unwrap();
    assert!(on_device.download().unwrap().same_as(x));
    let lazy = on_device.lazy();
    let case = || format!("{x:?} over {axes:?}");
    for graph in [lazy.any(axes.to_vec()), lazy.all(axes.to_vec())] {
        check_strict(gpu, &graph, case);
    }
    check_strict(gpu, &lazy.count_nonzero(axes.to_vec()), case);
    let keep = || lacuna::Axes::from(axes.to_vec()).keep_dims();
    check_strict(gpu, &lazy.any(keep()), case);
    check_strict(gpu, &lazy.count_nonzero(keep()), case);
    let stored = lazy.stored();
    check_strict(gpu, &stored.count_nonzero(axes.to_vec()), case);
    check_strict(gpu, &stored.all(keep()), case);
    for graph in [stored.any(axes.to_vec()), stored.all(axes.to_vec())] {
        check_strict(gpu, &graph, case);
    }
    let size: usize = x.shape().iter().product();
    if size > 0 {
        let positions: Vec<i64> = (0..2 * size as i64).map(|at| at * 7 % (2 * size as i64) - size as i64).collect();
        check_strict(gpu, &lazy.take(positions.clone()), case);
        check_strict(gpu, &lazy.take(lacuna::Take::from(positions).clip()), case);
        let far = vec![0_i64, -1, 5, 1 << 40, 3, -9];
        check_strict(gpu, &lazy.take(lacuna::Take::from(far).wrap()), case);
    }
    for invert in [false, true] {
        let set = || if invert { Isin::from(members).invert() } else { Isin::from(members) };
        check_strict(gpu, &lazy.isin(set()), case);
        check_strict(gpu, &stored.isin(set()).any(axes.to_vec()), case);
    }
}

/// A result that is compared bit for bit.
trait Same: Value {
    fn same(&self, other: &Self) -> bool;
}

impl<P: Pattern, T: Element> Same for Tensor<P, T> {
    fn same(&self, other: &Self) -> bool {
        // `same_as` takes all NaN for equal.
        let bits = |x: &Self| (bits_of(&[x.fill()]), bits_of(x.values()));
        self.same_as(other) && bits(self) == bits(other)
    }
}

/// Returns the bits of floats. The bits of equal integers are equal.
fn bits_of<T: Element>(values: &[T]) -> Vec<u64> {
    let values: &dyn std::any::Any = &values.to_vec();
    let wide = values.downcast_ref::<Vec<f64>>().map(|floats| floats.iter().map(|float| float.to_bits()).collect());
    let narrow = values.downcast_ref::<Vec<f32>>();
    let narrow = || narrow.map(|floats| floats.iter().map(|float| float.to_bits().into()).collect());
    wide.or_else(narrow).unwrap_or_default()
}

impl<A: Same, B: Same> Same for (A, B)
where
    (A, B): Value,
{
    fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }
}

/// Compares a graph on a strict device with the graph on threads: the same result, or an error on both.
fn check_strict<V: Same + std::fmt::Debug>(gpu: &Gpu, graph: &Lazy<V>, case: impl Fn() -> String) {
    match (graph.on(gpu.strict()).collect(), graph.collect()) {
        (Ok(found), Ok(expected)) => {
            assert!(found.same(&expected), "{}: {graph:?}: {found:?} and not {expected:?}", case())
        }
        (Err(_), Err(_)) => {}
        // Sums of floats whose exponents differ by more than a sum on the device has bits are left to the threads.
        (Err(error), Ok(expected)) => {
            assert!(["sum(", "mean("].iter().any(|name| format!("{graph:?}").contains(name)), "{graph:?}: {error}");
            let found = graph.on(gpu).collect().unwrap();
            assert!(found.same(&expected), "{}: {found:?} and not {expected:?}", case());
        }
        (Ok(found), Err(error)) => panic!("{}: {graph:?}: {found:?} and not {error}", case()),
    }
}

/// Compares all steps of numbers on one tensor.
macro_rules! check_numbers {
    ($gpu:expr, $x:expr, $axes:expr, $low:expr, $number:expr, [$($float:ident)*]) => {{
        let (gpu, x, axes): (&Gpu, _, &[usize]) = ($gpu, $x, $axes);
        let lazy = gpu.upload(x).unwrap().lazy();
        let case = || format!("{x:?} over {axes:?}");
        let kept = || lacuna::Axes::from(axes.to_vec()).keep_dims();
        macro_rules! over {
            ($step:ident) => {
                check_strict(gpu, &lazy.$step(axes.to_vec()), case);
                check_strict(gpu, &lazy.$step(kept()), case);
                check_strict(gpu, &lazy.stored().$step(axes.to_vec()), case);
            };
        }
        over!(min);
        over!(max);
        over!(argmin);
        over!(argmax);
        over!(sum);
        over!(mean);
        over!(median);
        over!(nanmedian);
        $(over!($float);)*
        check_strict(gpu, &lazy.nanmedian(lacuna::Nanmedian::from(axes.to_vec()).lower()), case);
        over!(nanmedian_index);
        check_strict(gpu, &lazy.nanmedian_index(lacuna::Nanmedian::from(axes.to_vec()).lower()), case);
        check_strict(gpu, &lazy.nanmedian_index(axes.to_vec()).parts().1, case);
        check_strict(gpu, &lazy.clamp($low, $number), case);
        check_strict(gpu, &lazy.stored().clamp($low, $low), case);
        check_strict(gpu, &lazy.less($number), case);
        check_strict(gpu, &lazy.greater_equal($number), case);
        check_strict(gpu, &lazy.stored().equal($number), case);
        check_strict(gpu, &lazy.maximum($number), case);
        check_strict(gpu, &lazy.sign(), case);
        check_strict(gpu, &lazy.isreal(), case);
        let other = lazy.minimum($number);
        check_strict(gpu, &lazy.equal(&other), case);
        check_strict(gpu, &lazy.not_equal(&other), case);
        check_strict(gpu, &lazy.less_equal(&other), case);
        check_strict(gpu, &lazy.stored().greater(&other.stored()), case);
        check_strict(gpu, &lazy.maximum(&other), case);
        check_strict(gpu, &lazy.isnan().not().where_(&lazy, &other), case);
        check_strict(gpu, &lazy.greater($number).all(axes.to_vec()), case);
    }};
}

macro_rules! check_all_numbers {
    ($gpu:expr, $seed:expr, $type:ty, $values:expr, [$($float:ident)*] $(, $signed:ident)?) => {{
        let gpu: &Gpu = $gpu;
        let (mut numbers, values): (_, &[$type]) = (Numbers($seed), &$values);
        for rank in 0..9 {
            let (x, axes) = (numbers.tensor(rank, values), numbers.axes(rank));
            check_numbers!(gpu, &x, &axes, values[0], values[1], [$($float)*]);
            $(check_strict(gpu, &x.lazy().$signed(), || format!("{x:?}"));)?
            if rank > 0 {
                let csr: CsrTensor<$type> = x.to_csr().unwrap();
                check_numbers!(gpu, &csr, &axes, values[0], values[1], [$($float)*]);
                check_strict(gpu, &gpu.upload(&csr).unwrap().lazy().to_coo(), || format!("{x:?}"));
                check_strict(gpu, &gpu.upload(&x).unwrap().lazy().to_csr(), || format!("{x:?}"));
            }
        }
    }};
}

#[test]
fn numbers_of_64_bits_equal_those_of_threads() {
    gpu().iter().for_each(check_64_bits);
}

fn check_64_bits(gpu: &Gpu) {
    let floats = [
        0.0,
        -0.0,
        1.5,
        -2.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        -5e-324,
        f64::MAX,
        -f64::MAX,
        3.0,
        0.1,
        f64::MIN_POSITIVE,
        1e300,
        -7.25,
    ];
    check_all_numbers!(gpu, 21, f64, floats, [nansum nanmean nanmin nanmax nanargmin nanargmax], neg);
    check_all_numbers!(gpu, 22, f64, floats[..4], [nansum nanmean nanmin nanmax nanargmin nanargmax], abs);
    check_all_numbers!(gpu, 23, i64, [0, -1, i64::MIN, i64::MAX, 1 << 40, 3], [], neg);
    check_all_numbers!(gpu, 24, i64, [0, -1, 5, 3, -8], [], abs);
    check_all_numbers!(gpu, 25, u64, [0, 1, u64::MAX, 1 << 63, 3], []);
}

#[test]
fn numbers_of_32_bits_equal_those_of_threads() {
    gpu().iter().for_each(check_32_bits);
}

fn check_32_bits(gpu: &Gpu) {
    let floats = [
        0.0,
        -0.0,
        1.5,
        -2.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-45,
        -1e-45,
        f32::MAX,
        -f32::MAX,
        3.0,
        0.1,
        f32::MIN_POSITIVE,
        1e30,
        -7.25,
    ];
    check_all_numbers!(gpu, 31, f32, floats, [nansum nanmean nanmin nanmax nanargmin nanargmax], abs);
    check_all_numbers!(gpu, 32, f32, floats[..4], [nansum nanmean nanmin nanmax nanargmin nanargmax], neg);
    check_all_numbers!(gpu, 33, i32, [0, -1, i32::MIN, i32::MAX, 7], [], abs);
    check_all_numbers!(gpu, 34, u32, [0, 1, u32::MAX, 1 << 31], []);
}

#[test]
fn narrow_numbers_equal_those_of_threads() {
    gpu().iter().for_each(check_narrow);
}

fn check_narrow(gpu: &Gpu) {
    check_all_numbers!(gpu, 41, i8, [0, -1, i8::MIN, i8::MAX, 7], [], neg);
    check_all_numbers!(gpu, 42, u8, [0, 1, u8::MAX, 128], []);
    check_all_numbers!(gpu, 43, i16, [0, -1, i16::MIN, i16::MAX, 7], [], abs);
    check_all_numbers!(gpu, 44, u16, [0, 1, u16::MAX, 1 << 15], []);
}

/// Ordinary floats, of which sums and medians are rounded.
#[test]
fn rounded_floats_equal_those_of_threads() {
    gpu().iter().for_each(check_rounded);
}

fn check_rounded(gpu: &Gpu) {
    let mut numbers = Numbers(51);
    for _ in 0..6 {
        let values: Vec<f64> =
            (0..40).map(|_| (numbers.below(1 << 31) as f64 - 1e9) * 2f64.powi(numbers.below(90) as i32 - 45)).collect();
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let (x, y) = (numbers.tensor(3, &values), numbers.tensor(3, &narrow));
        for axes in [vec![], vec![0], vec![1], vec![0, 2], vec![0, 1, 2]] {
            check_numbers!(gpu, &x, &axes, -1.0, 1.0, [nanmean]);
            check_numbers!(gpu, &y, &axes, -1.0, 1.0, [nanmean]);
        }
    }
}

/// The gradients of sums, with upstream gradients of other patterns.
#[test]
fn gradients_equal_those_of_threads() {
    gpu().iter().for_each(check_sum_gradients);
}

fn check_sum_gradients(gpu: &Gpu) {
    let mut numbers = Numbers(61);
    for round in 0..24 {
        let rank = round % 6;
        let (x, axes) = (numbers.tensor(rank, &[0.0, 1.0, f64::NAN]), numbers.axes(rank));
        let shape = x.any(axes.clone()).unwrap().shape().clone();
        let dense = numbers.tensor(rank, &[0.0, -0.0, 2.5, f64::NAN, -3.0]);
        // Values of a pattern of its own: some entries of the result are missing, and others are extra.
        let size: usize = shape.iter().product();
        let kept: Vec<usize> = (0..size).filter(|_| numbers.below(2) == 0).collect();
        let coords = (0..shape.rank()).map(|axis| {
            let stride: usize = shape[axis + 1..].iter().product();
            kept.iter().map(|position| (position / stride % shape[axis]) as u32).collect()
        });
        let pattern = CooPattern::new(shape.clone(), kept.len(), coords.collect()).unwrap();
        let values = kept.iter().map(|&at| [2.5, -0.0, f64::NAN, -3.0][at % 4]).collect();
        let upstream = Tensor::from_parts(pattern, values, dense.fill()).unwrap();
        let (there, upstream_there) = (gpu.upload(&x).unwrap().lazy(), gpu.upload(&upstream).unwrap().lazy());
        let case = || format!("{x:?} over {axes:?}");
        check_strict(gpu, &there.any_gradient(&upstream_there, axes.clone()), case);
        let lower = || lacuna::Nanmedian::from(axes.to_vec()).lower();
        for result in [
            there.sum(axes.clone()),
            there.nanmedian(axes.clone()),
            there.nanmedian(lower()),
            there.median(axes.clone()),
            there.stored().nanmedian(axes.clone()),
            there.stored().median(lower()),
        ] {
            check_strict(gpu, &result.gradient(&there, &upstream_there), case);
        }
    }
}

/// Moves, positions, masks and conversions, and the gradients of those that have one.
#[test]
fn selections_equal_those_of_threads() {
    gpu().iter().for_each(check_all_selections);
}

fn check_all_selections(gpu: &Gpu) {
    let mut numbers = Numbers(91);
    for round in 0..40 {
        let rank = 1 + round % 5;
        let x = numbers.tensor(rank, &[0.0, -0.0, 1.5, f64::NAN, -3.0]);
        check_selections(gpu, &x, &mut numbers);
        check_selections(gpu, &x.to_csr().unwrap(), &mut numbers);
        check_gradients(gpu, &x, &mut numbers);
        check_gradients(gpu, &x.to_csr().unwrap(), &mut numbers);
    }
    for round in 0..10 {
        let x = numbers.tensor(1 + round % 4, &[i8::MAX, 1, -100, i8::MIN]);
        check_selections(gpu, &x, &mut numbers);
        let x = numbers.tensor(1 + round % 4, &[true, false]);
        check_selections(gpu, &x, &mut numbers);
        let x = numbers.tensor(1 + round % 4, &[0u64, 1, u64::MAX, 1 << 63]);
        check_selections(gpu, &x.to_csr().unwrap(), &mut numbers);
        let x = numbers.tensor(1 + round % 4, &[0.1f32, -1e-40, f32::MAX, -7.7, f32::NEG_INFINITY]);
        check_selections(gpu, &x, &mut numbers);
        check_gradients(gpu, &x, &mut numbers);
    }
}

/// Results that choose entries of a tensor.
fn selections<P: DeviceFormat, T: DeviceElement>(
    lazy: &Lazy<Tensor<P, T>>,
    shape: &[usize],
    numbers: &mut Numbers,
) -> Vec<Lazy<Tensor<P, T>>> {
    let rank = shape.len();
    let slices: Vec<SliceInfoElem> = shape.iter().map(|&length| numbers.slice(length)).collect();
    let axes: Vec<isize> = numbers.permutation(rank).into_iter().map(|axis| axis as isize).collect();
    let (axis, places) = (numbers.below(rank as u64) as usize, numbers.below(7) as isize - 3);
    let mut graphs = vec![
        lazy.slice(&slices),
        lazy.permute_axes(&axes),
        lazy.transpose(),
        lazy.flip(numbers.axes(rank)),
        lazy.roll(places, axis as isize),
        lazy.expand_dims(0),
        lazy.expand_dims(0).squeeze(0),
    ];
    let length = shape[axis] as i64;
    let count = if length == 0 { 0 } else { numbers.below(9) as usize };
    let drawn: Vec<i64> = (0..count).map(|_| numbers.below(2 * length.max(1) as u64) as i64 - length).collect();
    graphs.push(lazy.take_axis(drawn.clone(), axis as isize));
    if length > 0 && drawn.len() > 3 {
        let square = ndarray::ArrayD::from_shape_vec(vec![2, 2], drawn[..4].to_vec()).unwrap();
        graphs.push(lazy.take_axis(&*Box::leak(Box::new(square)), axis as isize));
        graphs.push(lazy.take_axis(lacuna::Take::from(vec![-70_i64, 3, 900]).wrap(), axis as isize));
        graphs.push(lazy.take_axis(drawn[0], axis as isize));
    }
    let size: u64 = shape.iter().map(|&length| length as u64).product();
    if size > 0 {
        let positions: Vec<u64> = (0..numbers.below(40)).map(|_| numbers.below(size)).collect();
        graphs.push(lazy.take(positions));
    }
    if rank > 1 {
        graphs.extend([lazy.tril(places), lazy.triu(places), lazy.diagonal(places)]);
    }
    graphs
}

fn check_selections<P: DeviceFormat, T: DeviceElement>(gpu: &Gpu, x: &Tensor<P, T>, numbers: &mut Numbers) {
    let (case, lazy) = (|| format!("{x:?}"), gpu.upload(x).unwrap().lazy());
    for graph in selections(&lazy, x.shape(), numbers) {
        check_selection(gpu, &graph, case);
    }
    let other = lazy.flip(numbers.below(x.rank() as u64) as usize);
    check_strict(gpu, &lazy.stored().mask(&other.pattern()), case);
    check_strict(gpu, &lazy.stored().without(&other.pattern()), case);
    check_strict(gpu, &lazy.stored().mask(&lazy.pattern()), case);
}

fn check_gradients<P: DeviceFormat, T: DeviceElement + Float>(gpu: &Gpu, x: &Tensor<P, T>, numbers: &mut Numbers) {
    let (case, lazy) = (|| format!("{x:?}"), gpu.upload(x).unwrap().lazy());
    for graph in selections(&lazy, x.shape(), numbers) {
        // Upstream gradients on another pattern: some entries are missing.
        let Ok(result) = graph.collect() else { continue };
        let some = result.filter_entries(|at, _| at.iter().sum::<usize>() % 3 > 0).unwrap();
        let upstream = gpu.upload(&some.with_fill(T::ONE)).unwrap().lazy();
        check_strict(gpu, &graph.gradient(&lazy, &upstream), case);
        check_strict(gpu, &graph.gradient(&lazy, &graph), case);
    }
}

/// Compares a result that chooses entries. Matrices of which a part is set to zero have a fill of 0.
fn check_selection<P: Pattern, T: Element>(gpu: &Gpu, graph: &Lazy<Tensor<P, T>>, case: impl Fn() -> String) {
    match graph.collect() {
        Err(error) => assert!(graph.on(gpu).collect().is_err(), "{}: {error}", case()),
        Ok(_) => check_strict(gpu, graph, case),
    }
}

/// Groups of more entries than an invocation reduces, over sorted and over other axes.
#[test]
fn large_groups_equal_those_of_threads() {
    gpu().iter().for_each(check_large_groups);
}

fn check_large_groups(gpu: &Gpu) {
    for count in [63_u32, 64, 65, 4096, 4097] {
        let values: Vec<f64> = (0..count).map(|at| f64::from(at * 7919 % 1013) / 8.0 - 60.0).collect();
        let rows = (0..count).map(|at| u32::from(at + 2 > count)).collect();
        let x = CooTensor::new([3, count as usize + 3], vec![rows, (0..count).collect()], values, 0.0).unwrap();
        for axes in [vec![0], vec![1], vec![0, 1]] {
            check_numbers!(gpu, &x, &axes, -1.0, 1.0, [nansum]);
            check_numbers!(gpu, &x.to_csr().unwrap(), &axes, -1.0, 1.0, [nansum]);
        }
    }
}

/// A group whose pieces are cut into pieces three times.
#[test]
fn a_vast_group_equals_that_of_threads() {
    let Some(gpu) = gpu() else { return };
    let values: Vec<f64> = (0..300_000).map(|at| f64::from(at % 1013 * 7919 % 1013) / 8.0 - 60.0).collect();
    let x = CooTensor::new([300_000], vec![(0..300_000).collect()], values, 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    check_strict(&gpu, &lazy.sum(0), || "sum".into());
    check_strict(&gpu, &lazy.argmin(0), || "argmin".into());
    check_strict(&gpu, &lazy.nanmedian(0), || "median".into());
}

fn check_types<T: DeviceElement>(seed: u64, values: &[T]) {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(seed);
    for round in 0..18 {
        let rank = round % 9;
        let (x, axes) = (numbers.tensor(rank, values), numbers.axes(rank));
        let members: Vec<T> =
            (0..numbers.below(4)).map(|_| values[numbers.below(values.len() as u64) as usize]).collect();
        check_steps(&gpu, &x, &axes, &members);
        if rank > 0 {
            let csr: CsrTensor<T> = x.to_csr().unwrap();
            check_steps(&gpu, &csr, &[rank - 1], &members);
            check_steps(&gpu, &csr, &axes, &members);
        }
    }
}

#[test]
fn floats_equal_those_of_threads() {
    check_types(1, &[0.0, -0.0, 1.5, -2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, f64::MAX]);
    check_types(2, &[0.0f32, -0.0, 1.5, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, f32::MAX]);
}

#[test]
fn integers_and_bools_equal_those_of_threads() {
    check_types(3, &[false, true]);
    check_types(4, &[0u8, 1, 255, 128]);
    check_types(5, &[0i16, -1, i16::MIN, 7]);
    check_types(6, &[0u32, 1, u32::MAX, 1 << 31]);
    check_types(7, &[0i64, -1, i64::MIN, 1 << 32, 1]);
    check_types(8, &[0u64, 1, u64::MAX, 1 << 63]);
    check_types(9, &[0i8, -1, i8::MIN]);
    check_types(10, &[0u16, 1, u16::MAX]);
    check_types(11, &[0i32, -1, i32::MIN, 9]);
}

#[test]
fn classes_of_floats_equal_those_of_threads() {
    gpu().iter().for_each(check_classes);
}

fn check_classes(gpu: &Gpu) {
    let mut numbers = Numbers(12);
    let values =
        [0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE / 2.0, f64::MAX];
    for round in 0..36 {
        let wide = numbers.tensor(round % 9, &values);
        let narrow =
            numbers.tensor(round % 9, &[0.0f32, -0.0, 1.5, f32::NAN, f32::INFINITY, -f32::INFINITY, 1e-45, f32::MAX]);
        let (wide, narrow) = (gpu.upload(&wide).unwrap().lazy(), gpu.upload(&narrow).unwrap().lazy());
        for graph in [wide.isnan(), wide.isinf(), wide.isfinite(), wide.isposinf(), wide.isneginf()] {
            check_strict(gpu, &graph, || format!("{graph:?}"));
        }
        for graph in [narrow.isnan(), narrow.isinf(), narrow.isfinite(), narrow.isposinf(), narrow.isneginf()] {
            check_strict(gpu, &graph, || format!("{graph:?}"));
        }
        check_strict(gpu, &wide.stored().isnan(), || "stored".into());
    }
}

/// Sizes around those of a word, a workgroup and a block of sums.
#[test]
fn long_tensors_equal_those_of_threads() {
    gpu().iter().for_each(check_long);
}

fn check_long(gpu: &Gpu) {
    for count in [31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2049, 8191, 8193, 40_000, 1_100_000] {
        let values: Vec<f64> = (0..count).map(|at| if at * 7 % 5 == 0 { 0.0 } else { at as f64 }).collect();
        let rows = (0..count as u32).map(|at| at / 3).collect();
        let columns = (0..count as u32).map(|at| at % 3 * 2).collect();
        let x = CooTensor::new([count / 3 + 2, 7], vec![rows, columns], values, 0.0).unwrap();
        let csr = x.to_csr().unwrap();
        let (coo, csr) = (gpu.upload(&x).unwrap().lazy(), gpu.upload(&csr).unwrap().lazy());
        check_strict(gpu, &coo.any(1), || count.to_string());
        check_strict(gpu, &coo.all(0), || count.to_string());
        check_strict(gpu, &csr.any(1), || count.to_string());
        check_strict(gpu, &csr.isfinite().all(1), || count.to_string());
        check_strict(gpu, &coo.isin([1.0, 2.0, 40.0]), || count.to_string());
        check_strict(gpu, &coo.isin((0..1000).map(f64::from).collect::<Vec<_>>()), || count.to_string());
    }
}

/// Steps that the device does not take run on threads, before and after steps that it takes.
#[test]
fn other_steps_run_on_threads() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(13);
    for _ in 0..10 {
        let x = numbers.tensor(2, &[0.0, 4.0, -1.0, f64::NAN]);
        let lazy = x.lazy();
        check(&gpu, &lazy.max(1).sqrt(), || "behind".into());
        check(&gpu, &lazy.sqrt().isnan().any(0), || "before".into());
        check(&gpu, &gpu.upload(&x).unwrap().lazy().sqrt().isnan(), || "of a tensor there".into());
    }
    let x = CooTensor::new([2, 2], vec![vec![0], vec![1]], vec![f64::NAN], 0.0).unwrap();
    let explained = gpu.upload(&x).unwrap().lazy().isnan().any(1).to_dense().on(&gpu).explain().unwrap();
    assert!(explained.contains("gpu: %1 isnan") && explained.contains("gpu: %2 any"), "{explained}");
    assert!(explained.contains("threads: %3, as dense is computed on threads"), "{explained}");
    let explained = x.lazy().isnan().on(&gpu).explain().unwrap();
    assert!(explained.contains("gpu: %0 is copied there, 16 bytes"), "{explained}");
    assert!(explained.contains("gpu: %1 is copied to memory, 9 bytes"), "{explained}");
    let there = gpu.upload(&x).unwrap().lazy();
    let explained = there.neg().sqrt().on(&gpu).explain().unwrap();
    assert!(explained.contains("gpu: %1 is copied to memory, 16 bytes"), "{explained}");
    assert!(there.sqrt().on(&gpu).explain().unwrap().contains("gpu: %0 is copied to memory, 16 bytes"));
    let explained = there.any(0).on(&gpu).explain().unwrap();
    assert!(explained.contains("gpu: %1 is copied to memory\n"), "{explained}");
    let elsewhere = Gpu::new().unwrap();
    let explained = there.neg().on(&elsewhere).explain().unwrap();
    assert!(explained.contains("threads: %0, as it is on another device"), "{explained}");
}

/// The file `operations.txt` names the steps that run on the device; the table of operations reads it.
/// `LACUNA_WRITE=1` writes it again.
#[test]
fn the_list_of_operations_is_up_to_date() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([3, 3], vec![vec![0, 1], vec![2, 0]], vec![f64::NAN, 1.0], 0.0).unwrap();
    let counts = CooTensor::new([3, 3], vec![vec![0, 1], vec![2, 0]], vec![5_i64, 1], 0).unwrap().lazy();
    let (lazy, mut case) = (x.lazy(), String::new());
    macro_rules! tell {
        ($($graph:expr),* $(,)?) => { $(case += &$graph.on(&gpu).explain().unwrap();)* };
    }
    tell!(
        lazy.isnan(),
        lazy.isinf(),
        lazy.isfinite(),
        lazy.isreal(),
        lazy.isposinf(),
        lazy.isneginf(),
        lazy.isin([1.0])
    );
    tell!(lazy.neg(), lazy.abs(), lazy.sign(), lazy.isnan().not(), lazy.clamp(0.0, 1.0));
    tell!(lazy.minimum(1.0), lazy.maximum(1.0), lazy.copysign(1.0));
    tell!(counts.bit_and(1), counts.bit_or(1), counts.bit_xor(1));
    tell!(lazy.equal(1.0), lazy.not_equal(1.0), lazy.less(1.0), lazy.less_equal(1.0), lazy.greater(1.0));
    tell!(lazy.greater_equal(1.0), lazy.isnan().where_(&lazy, &lazy.neg()));
    tell!(
        lazy.any(0),
        lazy.any_gradient(&lazy.sum(0), 0),
        lazy.all(0),
        lazy.count_nonzero(0),
        lazy.min(0),
        lazy.max(0),
        lazy.argmin(0),
        lazy.argmax(0)
    );
    tell!(lazy.sum(0), lazy.mean(0), lazy.median(0), lazy.nanmedian(0), lazy.nanmedian_index(0), lazy.nansum(0));
    tell!(lazy.nanmean(0), lazy.nanmin(0), lazy.nanmax(0), lazy.nanargmin(0), lazy.nanargmax(0));
    for graph in [
        lazy.sum(0),
        lazy.median(0),
        lazy.nanmedian(0),
        lazy.take(vec![0_u32]),
        lazy.take_axis(vec![0_u32], 0),
        lazy.slice(s![1.., ..]),
        lazy.permute_axes([1, 0]),
        lazy.transpose(),
        lazy.move_axis(0, 1),
        lazy.flip(0),
        lazy.roll(1, 0),
        lazy.pad([(1, 0), (0, 0)]),
        lazy.expand_dims(0),
        lazy.slice(s![..1, ..]).squeeze(0),
        lazy.tril(0),
        lazy.triu(0),
        lazy.diagonal(0),
    ] {
        tell!(graph, graph.gradient(&lazy, &graph));
    }
    tell!(lazy.stored().mask(&lazy.transpose().pattern()), lazy.stored().without(&lazy.transpose().pattern()));
    tell!(lazy.to_csr(), lazy.to_csr().to_coo());
    // Each step there is a line of its number and its name.
    let steps = case.lines().filter_map(|line| line.strip_prefix("gpu: %")?.split_once(' '));
    let names = steps.map(|(_, name)| name).filter(|name| !name.contains(' '));
    let names: std::collections::BTreeSet<&str> = names.collect();
    let found: String = names.iter().map(|name| format!("{name}\n")).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/operations.txt");
    if std::env::var_os("LACUNA_WRITE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), found, "write operations.txt again: LACUNA_WRITE=1");
}

/// A program is compiled once, and runs on a value that is bound later.
#[test]
fn programs_run_on_values_that_are_bound_later() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(14);
    let input = Lazy::<CooTensor<f64>>::input("x", [None, None]);
    let program = compile(&input.isfinite().all(1)).unwrap();
    for _ in 0..5 {
        let x = numbers.tensor(2, &[0.0, f64::NAN, 1.0]);
        let found = program.run_on(&gpu, [input.is(&x)]).unwrap();
        assert!(found.same_as(&x.isfinite().unwrap().all(1).unwrap()));
    }
}

#[test]
fn a_strict_engine_refuses_other_steps() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([2], vec![vec![1]], vec![9.0], 0.0).unwrap();
    let strict = gpu.strict();
    assert!(x.lazy().isnan().on(strict.clone()).collect().is_ok());
    let error = x.lazy().sqrt().on(strict).collect().unwrap_err();
    assert!(matches!(&error, Error::Engine { engine: "gpu", .. }), "{error}");
    assert!(error.to_string().contains("sqrt is computed on threads"), "{error}");
}

#[test]
fn errors_name_what_was_looked_for() {
    let error = Gpu::named("no such adapter").unwrap_err();
    assert!(matches!(error, Error::Engine { engine: "gpu", .. }), "{error}");
}

/// A driver that computes wrongly is rejected, and a kernel that does not compile is an error.
#[test]
fn wrong_kernels_are_refused() {
    if gpu().is_none() {
        return;
    }
    let rejection = |from: &str, to: &str| match Gpu::altered(from, to) {
        Err(Error::Engine { cause, .. }) => cause,
        other => panic!("{from:?} as {to:?}: {other:?}"),
    };
    assert!(rejection("fn main(", "fn main(]").contains("does not compile"));
    // One change in each part of the kernels.
    for (from, to) in [
        ("a.y < b.y ||", "a.y <= b.y ||"),
        ("select(0u, 1u, low < a.x)", "0u"),
        ("magnitude > exponent", "magnitude >= exponent"),
        ("before[first + k] = start + own[k]", "before[first + k] = start"),
        ("sum[0] -= own[0];", ""),
        ("partial[lane] = more;", ""),
        ("(x.y & 0x7ff00000u) != 0x7ff00000u", "(x.y & 0x7fe00000u) != 0x7fe00000u"),
        ("key_x(select(vec2(0u, 0u), v, truthy_x(v)))", "key_x(v)"),
        ("offsets[i] = first_entry(i", "offsets[i] = 1u + first_entry(i"),
        ("if (b[0] > a[0])", "if (b[0] >= a[0])"),
        ("min(s[5], length(g))", "length(g)"),
        ("if (remainder != 0u) { wide[0] |= 1u; }", ""),
        ("rest || (bits.x & 1u) == 1u", "false"),
        ("if (rank < below + gaps) { return gap; }", ""),
        ("max(top - i32(PRECISION), 1 - exponent)", "max(top - i32(PRECISION), 0)"),
        ("sources[i] = places[results[i]] - 1u;", "sources[i] = places[results[i]];"),
        ("word &= word - 1u;\n", "word = 0u;\n"),
        ("+ i - starts[source]", ""),
        ("places[e] > 0u", "places[e] > 1u"),
        ("sum = added(sum, gradient_at(at));", ""),
        ("if (is_half) { value = half_of(v); }", ""),
        ("is_less(gap, found)", "false"),
        (" % param(3u) == 0u", " % param(3u) == 1u"),
    ] {
        assert!(rejection(from, to).contains("computes wrong results"), "{from}");
    }
}

/// Other sizes of workgroups, and arrays that kernels read in windows of 64 KiB.
#[test]
fn workgroups_and_windows_of_other_sizes_equal_threads() {
    if gpu().is_none() {
        return;
    }
    for (group, seed) in [(64, 101), (128, 102)] {
        let gpu = Gpu::limited(group, u64::MAX - 1, u64::MAX).unwrap();
        check_all(&gpu, &mut Numbers(seed), 0..5);
        check_windows(&Gpu::limited(group, u64::MAX - 1, 1 << 16).unwrap(), 20_000);
    }
    check_windows(&Gpu::limited(256, u64::MAX - 1, 1 << 16).unwrap(), 70_001);
}

/// Compares all steps on tensors of some ranks.
fn check_all(gpu: &Gpu, numbers: &mut Numbers, ranks: std::ops::Range<usize>) {
    let floats = [0.0, -0.0, 1.5, -2.0, f64::NAN, f64::INFINITY, 5e-324, 3.0, 0.1, 1e30, -7.25];
    for rank in ranks {
        let (x, axes) = (numbers.tensor(rank, &floats), numbers.axes(rank));
        check_numbers!(gpu, &x, &axes, -1.0, 1.5, [nansum nanmean nanmin nanmax nanargmin nanargmax]);
        check_steps(gpu, &x, &axes, &floats);
        if rank > 0 {
            check_selections(gpu, &x, numbers);
            check_gradients(gpu, &x, numbers);
            let csr = x.to_csr().unwrap();
            check_numbers!(gpu, &csr, &axes, -1.0, 1.5, [nansum nanmean nanmin nanmax nanargmin nanargmax]);
            check_selections(gpu, &csr, numbers);
        }
    }
}

/// Changes operators of kernels, one at a time, and prints the changes that the checks do not notice.
/// `LACUNA_GPU_MUTANTS=200 cargo test mutants -- --ignored --nocapture` tries 200 of them.
#[test]
#[ignore = "runs on demand, for minutes"]
fn mutants_of_kernels() {
    let Some(gpu) = gpu() else { return };
    let checks = |gpu: &Gpu| {
        check_all(gpu, &mut Numbers(131), 1..4);
        let numbers = &mut Numbers(132);
        for _ in 0..3 {
            check_numbers!(gpu, &numbers.filled(&[0, -1, i32::MIN, i32::MAX, 7]), &[0], -1, 7, []);
            check_numbers!(gpu, &numbers.filled(&[0, 1, 255_u8]), &[1], 1, 2, []);
            let x = numbers.filled(&[0.1_f32, -2.5, 1e-45, f32::MAX, f32::NAN]);
            check_numbers!(gpu, &x, &[1], -1.0, 2.0, [nanmean]);
            check_gradients(gpu, &x, numbers);
        }
    };
    checks(&gpu);
    // Changes that these checks do not notice are tried with all of the others.
    let rest = [
        check_rounded,
        check_counts,
        check_pairs,
        check_short_floats,
        check_long_fills,
        check_digits,
        check_choices,
        check_large_groups,
        check_64_bits,
        check_32_bits,
        check_narrow,
        check_sum_gradients,
        check_all_selections,
        check_classes,
        check_long,
    ];
    let texts = gpu.kernels();
    // A kernel need not call each of its functions of one line.
    let is_called = |text: &str, line: &str| {
        let name = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
        let calls = |name: &str| {
            let call = format!("{name}(");
            let starts = text.match_indices(&*call).map(|(at, _)| &text[..at]);
            starts.filter(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')).count()
        };
        name.is_none_or(|name| calls(name) > 1)
    };
    let pairs = texts.iter().flat_map(|text| text.lines().map(move |line| (text, line)));
    let lines: std::collections::BTreeSet<&str> =
        pairs.filter(|(text, line)| is_called(text, line)).map(|(_, line)| line).collect();
    let changes = [
        (" < ", " <= "),
        (" <= ", " < "),
        (" > ", " >= "),
        (" >= ", " > "),
        (" == ", " != "),
        (" != ", " == "),
        (" && ", " || "),
        (" || ", " && "),
        (" + 1u", ""),
        (" - 1u", ""),
        (" += ", " -= "),
        (" -= ", " += "),
        (" + ", " - "),
        (" - ", " + "),
        (" >> ", " << "),
        (" << ", " >> "),
        ("true", "false"),
        ("false", "true"),
    ];
    let change =
        |line: &str, (from, to): (&str, &str)| line.find(from).map(|_| (line.to_string(), line.replacen(from, to, 1)));
    let all: Vec<(String, String)> = lines
        .iter()
        .filter(|line| !line.trim_start().starts_with("//") && !line.starts_with("@group"))
        .flat_map(|line| changes.iter().filter_map(move |&by| change(line, by)))
        .collect();
    let wanted: usize =
        std::env::var("LACUNA_GPU_MUTANTS").ok().and_then(|count| count.parse().ok()).unwrap_or(all.len());
    let step = all.len().div_ceil(wanted.max(1)).max(1);
    std::panic::set_hook(Box::new(|_| ()));
    let (mut tried, mut alive) = (0, Vec::new());
    for (from, to) in all.iter().step_by(step) {
        tried += 1;
        let lives = || {
            let gpu = Gpu::altered(from, to).unwrap();
            checks(&gpu);
            rest.iter().for_each(|check| check(&gpu));
            true
        };
        if std::panic::catch_unwind(lives).unwrap_or(false) {
            println!("{from}  ->  {to}");
            alive.push(from);
        }
    }
    let _ = std::panic::take_hook();
    println!("{} of {tried} changes are not noticed, of {} that there are", alive.len(), all.len());
}

/// Steps that read arrays in windows, on a matrix of this number of entries.
fn check_windows(gpu: &Gpu, count: u32) {
    let values = (0..count).map(|at| if at % 7 == 3 { f64::NAN } else { f64::from(at * 7 % 1000) - 499.5 }).collect();
    let coords = vec![(0..count).map(|at| at / 16).collect(), (0..count).map(|at| at % 16 * 3).collect()];
    let x = CooTensor::new([count as usize / 16 + 1, 50], coords, values, 0.0).unwrap();
    let case = || format!("{count} entries");
    let (strict, csr) = (gpu.strict(), x.to_csr().unwrap());
    let lazy = gpu.upload(&x).unwrap().lazy();
    for graph in [lazy.isnan(), lazy.greater(0.5), lazy.isin([1.5, 2.5]), lazy.clamp(-3.0, 4.0).equal(&lazy)] {
        check_strict(&strict, &graph, case);
        check_strict(&strict, &graph.any(0), case);
        check_strict(&strict, &graph.stored().all(lacuna::Axes::all()), case);
        check_strict(&strict, &graph.count_nonzero([0, 1]), case);
    }
    check_strict(&strict, &gpu.upload(&csr).unwrap().lazy().isfinite().all(1), case);
    check_strict(&strict, &lazy.isnan().not().where_(&lazy.abs(), &lazy.neg()), case);
    for graph in [lazy.nansum([0, 1]), lazy.nanmax([0, 1]), lazy.nanmean([0, 1]), lazy.stored().min([0, 1])] {
        check_strict(&strict, &graph, case);
    }
    check_strict(&strict, &lazy.nanargmin([0, 1]), case);
    // A step that does not read in windows.
    let sorted = lazy.nanmedian(0);
    check(gpu, &sorted, case);
    let explained = sorted.on(gpu).explain().unwrap();
    assert!(explained.contains("exceeds the limit of 65536 bytes"), "{explained}");
    assert!(matches!(sorted.on(&strict).collect(), Err(Error::TooLarge { limit: 65536, .. })));
}

/// An array that is larger than Mesa's device reads at a time, which is 128 MiB.
#[test]
fn an_array_beyond_one_binding_is_read_in_windows() {
    let Some(gpu) = gpu() else { return };
    let count = (1 << 24) + 50_000_u32;
    let values = (0..count).map(|at| f64::from(at * 7 % 1000) - 499.5).collect();
    let x = CooTensor::new([count as usize + 1], vec![(0..count).collect()], values, 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    let case = || "a long tensor".to_string();
    check_strict(&gpu, &lazy.greater(499.0).count_nonzero(0), case);
    check_strict(&gpu, &lazy.sum(0), case);
    check_strict(&gpu, &lazy.argmax(0), case);
}

/// A second run on the same patterns reads nothing between its steps, and plans are freed before an error.
#[test]
fn plans_are_kept_and_freed() {
    let Some(_) = gpu() else { return };
    let gpu = Gpu::new().unwrap();
    let mut numbers = Numbers(111);
    let x = numbers.tensor(3, &[0.0, 1.0, 4.0, f64::NAN]);
    let (lazy, csr) = (gpu.upload(&x).unwrap().lazy(), gpu.upload(&x.to_csr().unwrap()).unwrap().lazy());
    let size = x.shape().iter().product::<usize>() as i64;
    let kept: [Lazy<CooTensor<f64>>; 6] = [
        lazy.permute_axes([2, 0, 1]).nansum(0),
        lazy.nanmean(1).maximum(lazy.nansum(1)),
        lazy.nanmedian([0, 2]),
        lazy.sum(1).gradient(&lazy, &lazy.nanmax(1)),
        lazy.take(vec![0, size / 2, -1]),
        lazy.stored().mask(&lazy.flip(0).pattern()),
    ];
    for graph in kept {
        let first = gpu.keep(&graph).unwrap();
        let before = gpu.reads();
        let second = gpu.keep(&graph).unwrap();
        let reads = gpu.reads() - before;
        assert!(reads <= 1, "{graph:?} reads {reads} times");
        assert!(first.download().unwrap().same_as(&second.download().unwrap()));
    }
    let before = gpu.reads();
    let _ = gpu.keep(&csr.isnan().any(2)).unwrap();
    let _ = gpu.keep(&lazy.isnan().any(2)).unwrap();
    assert!(gpu.reads() > before);
    let before = gpu.reads();
    let _ = gpu.keep(&csr.greater(0.5).any(2)).unwrap();
    let _ = gpu.keep(&lazy.greater(0.5).any(2)).unwrap();
    assert_eq!(gpu.reads(), before);
}

/// Plans are freed before an error, and an error names both numbers.
#[test]
fn a_budget_frees_plans_before_an_error() {
    let Some(_) = gpu() else { return };
    let gpu = Gpu::new().unwrap();
    let count = 4000_u32;
    let coords = vec![(0..count).map(|at| at / 40).collect(), (0..count).map(|at| at % 40).collect()];
    let x = CooTensor::new([100, 40], coords, (0..count).map(f64::from).collect(), 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    // The memory of one reduction, but not of all results.
    gpu.set_budget(1_000_000);
    for axes in [vec![0], vec![1], vec![0, 1], vec![], vec![0], vec![1]] {
        for _ in 0..4 {
            check_strict(&gpu, &lazy.nanmedian(axes.clone()), || format!("{axes:?}"));
            check_strict(&gpu, &lazy.permute_axes([1, 0]).sum(axes.clone()), || format!("{axes:?}"));
        }
    }
    gpu.set_budget(100_000);
    let error = lazy.nanmedian(0).on(gpu.strict()).collect().unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 100_000, .. }), "{error}");
    check(&gpu, &lazy.nanmedian(0), || "on threads".into());
}

/// Threads compute each step of a verifying engine, too, and find what the test of the adapter does not look at.
#[test]
fn a_verifying_engine_rejects_other_entries() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(121);
    for rank in 0..5 {
        let x = numbers.tensor(rank, &[0.0, 1.0, -4.0, f64::NAN]);
        let lazy = gpu.upload(&x).unwrap().lazy();
        check(&gpu.verify(), &lazy.abs().nansum(lacuna::Axes::all()), || format!("{x:?}"));
        check(&gpu.verify().strict(), &lazy.nanmedian_index(lacuna::Axes::none()).parts().1, || format!("{x:?}"));
        check(&gpu.verify(), &x.lazy().sqrt().isnan(), || format!("{x:?}"));
    }
    let wrong = Gpu::altered("vec2(x.x, x.y & 0x7fffffffu)", "x").unwrap();
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.0, -2.0], 0.0).unwrap().lazy();
    assert!(x.abs().on(&wrong).collect().is_ok());
    let error = x.abs().on(wrong.verify()).collect().unwrap_err();
    let Error::Engine { cause, seen, expected, .. } = &error else { panic!("{error}") };
    assert_eq!(cause, "%1 abs has other entries than on threads");
    assert!(seen.is_some_and(|(count, _)| count == 2) && seen != expected);
}

/// A lost device is an error of each later use, and the tensor in memory is unchanged.
#[test]
fn a_lost_device_is_an_error() {
    if gpu().is_none() {
        return;
    }
    let gpu = Gpu::new().unwrap();
    let x = CooTensor::new([2], vec![vec![1]], vec![9.0], 0.0).unwrap();
    let there = gpu.upload(&x).unwrap();
    gpu.close();
    assert!(matches!(there.download(), Err(Error::Engine { .. })));
    assert!(matches!(gpu.upload(&x), Err(Error::Engine { .. })));
    assert!(matches!(there.lazy().isnan().on(&gpu).collect(), Err(Error::Engine { .. })));
    assert!(x.lazy().isnan().collect().is_ok());
}

/// A tensor that does not fit the device is computed on threads; a strict engine names both numbers.
#[test]
fn steps_without_room_run_on_threads() {
    if gpu().is_none() {
        return;
    }
    let gpu = Gpu::limited(256, 4096, 4096).unwrap();
    for count in [500, 512, 513, 5000] {
        let (fits, positions) = (count <= 512, (0..count).collect());
        let x = CooTensor::new([count as usize], vec![positions], vec![1.0; count as usize], f64::NAN).unwrap();
        check(&gpu, &x.lazy().isnan(), || count.to_string());
        check(&gpu, &x.lazy().isfinite().all(0), || count.to_string());
        let found = x.lazy().isnan().on(gpu.strict()).collect();
        assert_eq!(found.is_ok(), fits, "{count}: {found:?}");
        if let Err(error) = found {
            assert!(matches!(error, Error::TooLarge { limit: 4096, .. }), "{error}");
        }
        assert_eq!(gpu.upload(&x).is_ok(), fits);
    }
    let x = CooTensor::new([600], vec![(0..600).collect()], vec![1.0; 600], 0.0).unwrap();
    let explained = x.lazy().isnan().on(&gpu).explain().unwrap();
    assert!(
        explained.contains("threads: %1, as an array of 4800 bytes exceeds the limit of 4096 bytes"),
        "{explained}"
    );
    assert!(!x.lazy().sqrt().on(&gpu).explain().unwrap().contains("copied"));
    // Few entries, and a bitmap of the result that does not fit: the entries are sorted.
    let wide = CooTensor::new([2, 1 << 20], vec![vec![0, 1], vec![7, 1]], vec![1.0, 0.0], 0.0).unwrap();
    check(&gpu.strict(), &wide.lazy().any(0), || "a wide result".into());
    // Offsets of so many lanes do not fit.
    let tall = CooTensor::new([1 << 20, 2], vec![vec![7], vec![1]], vec![1.0], 0.0).unwrap();
    check(&gpu, &tall.lazy().to_csr(), || "many lanes".into());
}

/// Ranks of which a kernel has too many arrays run on threads, and rank 0 in both formats on the device.
#[test]
fn other_ranks_equal_those_of_threads() {
    let Some(gpu) = gpu() else { return };
    for rank in [0, 8, 9, 10, 40] {
        let coords = (0..rank).map(|_| vec![0, 1]).collect();
        let x = match rank {
            0 => CooTensor::new([], vec![], vec![4.0], 0.0).unwrap(),
            _ => CooTensor::new(vec![2; rank], coords, vec![4.0, -1.0], 0.0).unwrap(),
        };
        let lazy = gpu.upload(&x).unwrap().lazy();
        for axes in [(0..rank).collect::<Vec<_>>(), (1..rank).collect(), vec![]] {
            check(&gpu, &lazy.any(axes.clone()), || format!("{rank}"));
            check(&gpu, &lazy.nanmedian(axes.clone()), || format!("{rank}"));
            check(&gpu, &lazy.sum(axes.clone()).gradient(&lazy, &lazy.sum(axes)), || format!("{rank}"));
        }
        check(&gpu, &lazy.take(vec![0_u32]), || format!("{rank}"));
        // CSR of 40 axes has too many lanes for any engine.
        if rank <= 10 {
            check(&gpu, &lazy.to_csr().to_coo(), || format!("{rank}"));
            check(&gpu, &lazy.to_csr().isnan().any(lacuna::Axes::all()), || format!("{rank}"));
        }
    }
}

/// A mean whose quotient has more zeros after a tie than the words of a sum have bits.
#[test]
fn a_mean_is_no_tie_if_there_is_a_remainder() {
    let Some(gpu) = gpu() else { return };
    for count in [7_879_695, 4_294_936_073, 4_294_915_971] {
        let x = CooTensor::new([count], vec![vec![0]], vec![1_i32], 0).unwrap();
        check_strict(&gpu, &gpu.upload(&x).unwrap().lazy().mean(0), || format!("{count}"));
    }
    let tiny = 2f64.powi(-221);
    let x = CooTensor::new([4_294_936_073], vec![vec![0, 1, 2]], vec![1.0, tiny, -1.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    check(&gpu, &lazy.mean(0), || "mean".into());
    check(&gpu, &lazy.nanmean(0), || "nanmean".into());
}

/// Medians and sums of each pair of some numbers.
#[test]
fn pairs_equal_those_of_threads() {
    gpu().iter().for_each(check_pairs);
}

fn check_pairs(gpu: &Gpu) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let mut floats =
        vec![0.0, -0.0, 1.0, -1.5, inf, -inf, nan, -nan, f64::MAX, -f64::MAX, 0.1, 1.0 + f64::EPSILON, 3e-5];
    // Subnormals, and the floats on both sides of the smallest normal one.
    floats.extend([1, 2, 3, 0xf_ffff_ffff_ffff, 0x10_0000_0000_0000, 0x10_0000_0000_0001].map(f64::from_bits));
    let mut narrow: Vec<f32> = floats.iter().map(|&float| float as f32).collect();
    narrow.extend([f32::MAX, f32::MIN, 1.0 + f32::EPSILON]);
    narrow.extend([1, 2, 3, 0x7f_ffff, 0x80_0000, 0x80_0001].map(f32::from_bits));
    check_pairs_of(gpu, &floats);
    check_pairs_of(gpu, &narrow);
    check_pairs_of(gpu, &[0, 1, -1, i64::MAX, i64::MIN, i64::MAX - 1, (1 << 53) + 1, 3 << 54, (1 << 62) + 257]);
    check_pairs_of(gpu, &[0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) + 1025, (1 << 53) + 1, (1 << 54) + 3]);
    check_pairs_of(gpu, &[0, 1, -1, i32::MAX, i32::MIN]);
    check_pairs_of(gpu, &[0, 1, 2, u8::MAX]);
}

fn check_pairs_of<T: DeviceElement + Real>(gpu: &Gpu, numbers: &[T]) {
    let count = numbers.len() * numbers.len();
    let values = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b)));
    let (mut first, second): (Vec<T>, Vec<T>) = values.unzip();
    first.extend(second);
    let rows = (0..2 * count).map(|at| u32::from(at >= count)).collect();
    let columns = (0..2 * count).map(|at| (at % count) as u32).collect();
    let x = CooTensor::new([2, count], vec![rows, columns], first, T::ZERO).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    check_strict(gpu, &lazy.median(0), || format!("median of {x:?}"));
    check_strict(gpu, &lazy.nanmedian(0), || format!("nanmedian of {x:?}"));
    for at in (0..count).step_by(7) {
        // A sum may be an error, and the exponents of a pair may differ too much for the device.
        let pair = x.slice(ndarray::s![.., at as isize..at as isize + 1]).unwrap();
        let lazy = pair.lazy();
        if lazy.sum(0).collect().is_ok() {
            check(gpu, &lazy.sum(0), || format!("sum of {pair:?}"));
            check(gpu, &lazy.mean(0), || format!("mean of {pair:?}"));
        }
    }
}

/// Sorts of keys that differ in one digit only.
#[test]
fn each_digit_is_sorted() {
    gpu().iter().for_each(check_digits);
}

fn check_digits(gpu: &Gpu) {
    for shift in (0..64).step_by(4) {
        let values: Vec<u64> = (0..201).map(|at| (at * 7 % 16) << shift).collect();
        let rows = (0..201).map(|at| u32::from(at >= 150)).collect();
        let x = CooTensor::new([2, 201], vec![rows, (0..201).collect()], values, 0).unwrap();
        let lazy = gpu.upload(&x).unwrap().lazy();
        for axes in [vec![1], vec![0, 1]] {
            check_strict(gpu, &lazy.stored().median(lacuna::Nanmedian::over(axes).lower()), || format!("{shift}"));
        }
    }
}

/// A choice between two operands of each width.
#[test]
fn choices_equal_those_of_threads() {
    gpu().iter().for_each(check_choices);
}

fn check_choices(gpu: &Gpu) {
    fn check_choice<T: DeviceElement>(gpu: &Gpu, numbers: &mut Numbers, values: &[T]) {
        let x = numbers.filled(values);
        let moved = x.values().iter().rev().copied().collect();
        let y = Tensor::from_parts(x.pattern().clone(), moved, values[0]).unwrap();
        let (x, y) = (gpu.upload(&x).unwrap().lazy(), gpu.upload(&y).unwrap().lazy());
        check_strict(gpu, &x.equal(&y).where_(&x, &y), || format!("{x:?}"));
    }
    let mut numbers = Numbers(141);
    check_choice(gpu, &mut numbers, &[false, true]);
    check_choice(gpu, &mut numbers, &[0, 1, 200_u8]);
    check_choice(gpu, &mut numbers, &[0, 1, -300_i16]);
    check_choice(gpu, &mut numbers, &[0, 1, -70_000_i32]);
    check_choice(gpu, &mut numbers, &[0, 1, 1_u64 << 40]);
    check_choice(gpu, &mut numbers, &[0.0_f32, 1.5, -2.5]);
}

/// Sums and means of many unstored positions.
#[test]
fn long_fills_equal_those_of_threads() {
    gpu().iter().for_each(check_long_fills);
}

fn check_long_fills(gpu: &Gpu) {
    fn check_fill<T: DeviceElement + Real>(gpu: &Gpu, length: usize, values: [T; 2], fill: T) {
        let x = CooTensor::new([length], vec![vec![1, 7]], values.to_vec(), fill).unwrap();
        let lazy = gpu.upload(&x).unwrap().lazy();
        check(gpu, &lazy.mean(0), || format!("mean of {x:?}"));
        if let Ok(sum) = x.sum(0) {
            check(gpu, &lazy.sum(0), || format!("{sum:?} of {x:?}"));
        }
    }
    for length in [100_003, 3_000_000_019] {
        for fill in [0.1, -1.0 / 3.0, 1e-20] {
            check_fill(gpu, length, [2.5, -1e9], fill);
            check_fill(gpu, length, [2.5_f32, -1e9], fill as f32);
        }
        check_fill(gpu, length, [5, -9], 0x1_2345_6789_i64);
        check_fill(gpu, length, [5, 9], 0x7654_3211_u32);
        check_fill(gpu, length, [5, 9], 0xfff_ffff_u64);
        check_fill(gpu, length, [5, -9], -3_i8);
    }
}

/// Sums whose smallest floats end in zeros below the lowest bit of a sum.
#[test]
fn short_floats_far_below_others_equal_those_of_threads() {
    gpu().iter().for_each(check_short_floats);
}

fn check_short_floats(gpu: &Gpu) {
    for power in [160, 170, 190, 210, 220] {
        let large = 2f64.powi(power);
        let values = vec![large, 3.0, -large, -7.25, 1.0 + 2f64.powi(-20)];
        let x = CooTensor::new([2, 5], vec![vec![0; 5], (0..5).collect()], values, 0.0).unwrap();
        let lazy = gpu.upload(&x).unwrap().lazy();
        for graph in [lazy.sum(1), lazy.mean([0, 1])] {
            // Longer floats are added up by threads.
            let case = || power.to_string();
            if power <= 190 { check_strict(gpu, &graph, case) } else { check(gpu, &graph, case) }
        }
    }
}

/// A gradient of `f32` is divided by a count that is rounded to 24 bits, with ties to even.
#[test]
fn counts_of_a_gradient_are_rounded() {
    gpu().iter().for_each(check_counts);
}

fn check_counts(gpu: &Gpu) {
    let upstream = CooTensor::new([], vec![], vec![0.7_f32], 0.0).unwrap();
    for count in [(1 << 24) + 2, (1 << 24) + 3, (1 << 24) + 5, (1 << 25) + 5, (1 << 26) + 7, (1 << 31) + 0x380] {
        let x = CooTensor::new([count], vec![vec![0, 1, 2]], vec![0.0_f32, 5.0, -5.0], 0.0).unwrap();
        let lazy = gpu.upload(&x).unwrap().lazy();
        for graph in [lazy.median(0), lazy.nanmedian(0)] {
            let upstream = gpu.upload(&upstream).unwrap().lazy();
            check_strict(gpu, &graph.gradient(&lazy, &upstream), || format!("{count}"));
        }
    }
}

#[test]
fn a_nan_has_no_sign_to_copy() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.0, -2.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    for sign in [-f64::NAN, f64::NAN, -0.0, -3.0] {
        check_strict(&gpu, &lazy.copysign(sign), || format!("{sign}"));
    }
    check_strict(&gpu, &lazy.copysign(lazy.minimum(f64::NAN).neg()), || "of a tensor".into());
}

/// Shapes without positions, in which the product of some lengths is beyond 2^64.
#[test]
fn vast_empty_shapes_are_no_panic() {
    let Some(gpu) = gpu() else { return };
    const VAST: usize = 4_000_000_000;
    for shape in [vec![0, VAST, VAST, VAST, 3], vec![VAST, VAST, VAST, 0, 3], vec![0, VAST]] {
        let case = || format!("{shape:?}");
        let coo = CooTensor::<f64>::full(shape.clone(), 0.0).unwrap().lazy();
        check(&gpu, &coo.to_csr(), case);
        let csr = CsrTensor::<f64>::full(shape.clone(), 0.0).unwrap().lazy();
        check(&gpu, &csr.to_coo(), case);
        check(&gpu, &csr.isnan(), case);
        check(&gpu, &csr.take(Vec::<u32>::new()), case);
        for axes in [vec![], vec![1], (0..shape.len()).collect()] {
            check(&gpu, &csr.any(axes.clone()), case);
            check(&gpu, &coo.sum(axes.clone()), case);
            check(&gpu, &csr.nanmedian(axes.clone()), case);
            check(&gpu, &csr.count_nonzero(axes.clone()), case);
        }
    }
}

/// Two reductions over the same axes share their pattern; operands on different patterns run on threads, and `explain`
/// says so.
#[test]
fn operands_on_one_pattern_stay_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(81);
    for rank in 1..6 {
        let x = numbers.tensor(rank, &[0.0, 1.0, 4.0, f64::NAN]);
        let axes = numbers.axes(rank);
        let lazy = gpu.upload(&x).unwrap().lazy();
        let (sums, counts) = (lazy.nansum(axes.clone()), lazy.nanmean(axes.clone()));
        check(&gpu.strict(), &sums.less(&counts), || format!("{x:?} over {axes:?}"));
        let kept = gpu.keep(&lazy.isnan()).unwrap().lazy();
        check(&gpu.strict(), &kept.where_(&lazy, &lazy.neg()), || format!("{x:?}"));
        // A tensor with equal coordinates is put on the pattern that is there already.
        let other = gpu.upload(&x.map_values(|value| value + 1.0).unwrap()).unwrap().lazy();
        check(&gpu.strict(), &lazy.less(&other), || format!("{x:?}"));
        // So are tensors in memory that share a pattern.
        let doubled = x.map_values(|value| value + value).unwrap();
        check(&gpu.strict(), &x.lazy().less(doubled.lazy()), || format!("{x:?}"));
        let csr = x.to_csr().unwrap();
        check(&gpu.strict(), &csr.lazy().less(csr.map_values(|value| value + 1.0).unwrap().lazy()), || "CSR".into());
        let other = x.filter_entries(|at, _| at[0] % 2 == 1).unwrap();
        if other.nnz() == x.nnz() {
            continue;
        }
        let other = gpu.upload(&other).unwrap().lazy();
        let graph = lazy.less(&other);
        check(&gpu, &graph, || format!("{x:?}"));
        let explained = graph.on(&gpu).explain().unwrap();
        assert!(explained.contains("threads: %2, as its operands have different patterns"), "{explained}");
        assert!(graph.on(gpu.strict()).collect().is_err());
    }
}

/// A result stays on the device, whatever computed it.
#[test]
fn results_are_kept_on_the_device() {
    let Some(gpu) = gpu() else { return };
    let mut numbers = Numbers(71);
    for rank in 1..5 {
        let x = numbers.tensor(rank, &[0.0, 1.0, 4.0, f64::NAN]);
        let lazy = gpu.upload(&x).unwrap().lazy();
        let kept = gpu.keep(&lazy.stored().maximum(0.5)).unwrap();
        assert!(kept.download().unwrap().same_as(&x.stored().maximum(0.5).unwrap()));
        check_strict(&gpu, &kept.lazy().nansum(0), || format!("{x:?}"));
        let csr = gpu.upload(&x.to_csr().unwrap()).unwrap().lazy();
        assert!(gpu.keep(&csr.sqrt()).unwrap().download().unwrap().same_as(&x.to_csr().unwrap().sqrt().unwrap()));
        assert!(gpu.keep(&csr).unwrap().download().unwrap().same_as(&x.to_csr().unwrap()));
    }
    assert!(gpu.strict().keep(&gpu.upload(&numbers.tensor(2, &[1.0])).unwrap().lazy().sqrt()).is_err());
}

/// A tensor on one device is copied through memory for another engine.
#[test]
fn a_tensor_on_a_device_is_read_by_threads() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![4.0, 9.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    assert_eq!(lazy.sqrt().collect().unwrap(), x.sqrt().unwrap());
    assert_eq!(lazy.collect().unwrap(), x);
    fn is_engine<E: Engine, V: Value>(_: &E, _: &Lazy<V>) {}
    is_engine(&gpu, &lazy);
    // In ranges, beside an operand that is repeated.
    let row = CooTensor::new([1, 3], vec![vec![0], vec![2]], vec![2.0], 0.0).unwrap();
    let row_there = gpu.upload(&row).unwrap().lazy();
    for graph in [(&lazy * &row.lazy()).sum(1), (&x.lazy() * &row_there).max(1), &x.lazy() / &row_there] {
        let in_ranges = graph.on(Chunks::memory(1 << 20).positions(1)).collect();
        assert_eq!(format!("{in_ranges:?}"), format!("{:?}", graph.collect()));
    }
    assert_eq!(lazy.max(0).on(Chunks::memory(1 << 20).positions(1)).collect().unwrap(), x.max(0).unwrap());
    let array: ArrayD<f64> = x.to_dense().unwrap().into_dyn();
    assert_eq!(lazy.to_dense().collect().unwrap(), array);
}

/// Two pads of one pattern that differ in the positions after the elements.
#[test]
fn pads_of_one_pattern_have_their_own_shapes() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![1.0, 2.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    for after in 0..4 {
        check_strict(&gpu, &lazy.pad([(1, after)]), || format!("{after}"));
        check_strict(&gpu, &lazy.pad([(1, after)]).mean(0), || format!("mean, {after}"));
    }
}

/// A kernel with more than 65,535 workgroups is run in rows of workgroups, of which the last row is longer than needed.
#[test]
fn sorts_of_many_workgroups_equal_those_of_threads() {
    if gpu().is_none() {
        return;
    }
    let gpu = Gpu::limited(16, u64::MAX - 1, u64::MAX).unwrap();
    let count = 4_194_304_u32;
    let values = (0..count).map(|at| f64::from(at.wrapping_mul(2_654_435_761) >> 12)).collect();
    let x = CooTensor::new([count as usize], vec![(0..count).collect()], values, 0.0).unwrap();
    check_strict(&gpu, &gpu.upload(&x).unwrap().lazy().nanmedian(0), || "median".into());
}

/// The gradient of an entry that is taken many times is a long sum, which threads compute.
#[test]
fn long_sums_of_a_gradient_are_left_to_threads() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([1], vec![vec![0]], vec![1.0], 0.0).unwrap();
    for count in [1000_usize, 16_384, 16_385, 40_000] {
        let ones = CooTensor::new([count], vec![(0..count as u32).collect()], vec![1.0; count], 0.0).unwrap();
        let (lazy, ones) = (gpu.upload(&x).unwrap().lazy(), gpu.upload(&ones).unwrap().lazy());
        for graph in [lazy.take(vec![0_u64; count]), lazy.take_axis(vec![0_u64; count], 0)] {
            check(&gpu, &graph.gradient(&lazy, &ones), || count.to_string());
            let is_taken = graph.gradient(&lazy, &ones).on(gpu.strict()).collect().is_ok();
            assert_eq!(is_taken, count <= 16_384, "{count}");
        }
    }
}

/// An upstream gradient with 2^64 positions, or with more axes than a kernel has parameters for.
#[test]
fn upstream_gradients_of_vast_shapes_are_left_to_threads() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([1, 2, 2], vec![vec![0], vec![0], vec![0]], vec![2.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    let padded = lazy.pad([(1, 2), (0, (1 << 32) - 2), (0, (1 << 32) - 2)]);
    let coords = vec![vec![0, 2], vec![0, 0], vec![0, 0]];
    let upstream = CooTensor::new([4, 1 << 32, 1 << 32], coords, vec![5.0, 6.0], 0.0).unwrap();
    check(&gpu, &padded.gradient(&lazy, &gpu.upload(&upstream).unwrap().lazy()), || "pad".into());
    let x = CooTensor::new(vec![2; 8], (0..8).map(|_| vec![0, 1]).collect(), vec![4.0, -1.0], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    let wide = lazy.expand_dims((0..8).collect::<Vec<isize>>());
    let upstream = gpu.upload(&wide.collect().unwrap()).unwrap().lazy();
    check(&gpu, &wide.gradient(&lazy, &upstream), || "expand_dims".into());
}

/// A step that runs on threads does not need memory on the device.
#[test]
fn steps_on_threads_ignore_the_budget() {
    let Ok(gpu) = Gpu::new() else { return };
    let x = CooTensor::new([3], vec![vec![0, 2]], vec![4.0, 9.0], 0.0).unwrap();
    for budget in [0, 31, 1000] {
        gpu.set_budget(budget);
        check(&gpu, &x.lazy().sqrt(), || budget.to_string());
        check(&gpu, &x.lazy().neg().sum(0), || budget.to_string());
    }
}

/// A computed NaN is the canonical one.
#[test]
fn nans_have_the_bits_of_threads() {
    let Some(gpu) = gpu() else { return };
    let nans = vec![f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(0xfff8_0000_0000_1234)];
    let narrow: Vec<f32> = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffc0_1234].map(f32::from_bits).to_vec();
    let x = CooTensor::new([5], vec![vec![0, 1, 3, 4]], nans, -f64::NAN).unwrap();
    let y = CooTensor::new([5], vec![vec![0, 1, 3, 4]], narrow, -f32::NAN).unwrap();
    macro_rules! check_all {
        ($($x:expr, $one:expr);*) => {$(
            let lazy = gpu.upload(&$x).unwrap().lazy();
            let (other, truths) = (gpu.upload(&$x.neg().unwrap()).unwrap().lazy(), lazy.isnan());
            for graph in [
                lazy.neg(), lazy.abs(), lazy.sign(), lazy.copysign(-$one), lazy.minimum(&other), lazy.maximum($one),
                lazy.clamp(-$one, $one), truths.where_(&lazy, &other), lazy.min(0), lazy.max(0), lazy.nanmin(0),
                lazy.sum(0), lazy.mean(0), lazy.median(0), lazy.nanmedian(0), lazy.nansum(0), lazy.flip(0),
                lazy.take(vec![0_u32, 1, 2, 3, 4]), lazy.pad([(1, 1)]),
            ] {
                check_strict(&gpu, &graph, || format!("{graph:?}"));
                check(&gpu.verify(), &graph, || format!("{graph:?}"));
            }
            // The first entry is taken twice, and receives NaN and a number.
            let taken = lazy.take(vec![0_u32, 0, 3]);
            let upstream = Tensor::from_parts(
                CooPattern::new([3], 3, vec![vec![0, 1, 2]]).unwrap(), vec![$x.values()[2], $one, $one], $one,
            );
            let upstream = gpu.upload(&upstream.unwrap()).unwrap().lazy();
            check_strict(&gpu, &taken.gradient(&lazy, &upstream), || "a sum with NaN".into());
            for graph in [lazy.flip(0), lazy.sum(0), lazy.nanmedian(0), taken] {
                check_strict(&gpu, &graph.gradient(&lazy, &graph), || format!("gradient of {graph:?}"));
            }
        )*};
    }
    check_all!(x, 1.0_f64; y, 1.0_f32);
}

/// A gradient that is too small for its type keeps the sign of the upstream gradient.
#[test]
fn gradients_that_underflow_keep_their_sign() {
    let Some(gpu) = gpu() else { return };
    let tiny = CooTensor::new([3], vec![vec![0]], vec![-5e-324], 0.0).unwrap();
    check_strict(&gpu, &gpu.upload(&tiny).unwrap().lazy().mean(0), || "mean".into());
    let upstreams = [-5e-324, 5e-324, -1e-323, -1.5e-323, -0.0, 0.0, -1e-300];
    for (values, at) in [(vec![1.0, 2.0], 2), (vec![1.0, 1.0, 1.0], 3), (vec![1.0, 1.0, 2.0, 2.0], 4)] {
        let x = CooTensor::new([at], vec![(0..at as u32).collect()], values, 0.0).unwrap();
        let lazy = gpu.upload(&x).unwrap().lazy();
        for upstream in upstreams {
            let upstream = CooTensor::new([], vec![], vec![upstream], 0.0).unwrap();
            let upstream = gpu.upload(&upstream).unwrap().lazy();
            for graph in [lazy.median(0), lazy.nanmedian(0), lazy.sum(0)] {
                check_strict(&gpu, &graph.gradient(&lazy, &upstream), || format!("{x:?}, {upstream:?}"));
            }
        }
    }
}

/// `explain` names the threads for a group whose positions a word does not count.
#[test]
fn explain_names_the_place_of_vast_groups() {
    let Some(gpu) = gpu() else { return };
    let x = CooTensor::new([1 << 32], vec![vec![3]], vec![2.0], 0.0).unwrap();
    for (graph, name) in [(x.lazy().mean(0), "mean"), (x.lazy().median(0), "median")] {
        let case = graph.on(&gpu).explain().unwrap();
        assert!(case.contains("threads: %1") && !case.contains(&format!("gpu: %1 {name}")), "{case}");
    }
    // Two operands of rank 0 on different patterns.
    let one = CooTensor::new([], vec![], vec![2.0], 0.0).unwrap();
    let graph = one.lazy().less(one.lazy().permute_axes([]));
    check(&gpu, &graph, || "rank 0".into());
    let case = graph.on(&gpu).explain().unwrap();
    assert!(case.contains("threads: %3, as its operands have different patterns"), "{case}");
}

/// Steps whose flags are set leave the device together, if none of them reads another one.
#[test]
fn many_sums_are_left_to_threads_at_once() {
    let Ok(gpu) = Gpu::new() else { return };
    let x = CooTensor::new([3], vec![vec![0, 1, 2]], vec![1e-300, 0.1, 1e300], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    let sums: Vec<_> = (0..12).map(|at| lazy.minimum(1e299 * f64::from(at)).sum(0)).collect();
    let graph = sums[1..].iter().fold(sums[0].clone(), |all, sum| all.maximum(sum));
    let before = gpu.reads();
    check(&gpu, &graph, || "sums".into());
    // Operands and flags are read. One more run per sum would read 11 flags more.
    assert!(gpu.reads() - before < 45, "{}", gpu.reads() - before);
}

/// A bitmap of the result is for results that are not much longer than the operand.
#[test]
fn a_long_result_of_few_entries_takes_little_memory() {
    let Ok(gpu) = Gpu::new() else { return };
    gpu.set_budget(1 << 20);
    let x = CooTensor::new([33_000_000, 2], vec![vec![5], vec![1]], vec![1.0], 0.0).unwrap();
    check_strict(&gpu, &gpu.upload(&x).unwrap().lazy().any(1), || "any".into());
}

/// A value is freed after the last step that reads it.
#[test]
fn a_long_chain_takes_the_memory_of_few_values() {
    let Ok(gpu) = Gpu::new() else { return };
    let x = CooTensor::new([10_000], vec![(0..10_000).collect()], vec![1.5; 10_000], 0.0).unwrap();
    let lazy = gpu.upload(&x).unwrap().lazy();
    gpu.set_budget(500_000);
    let graph = (0..60).fold(lazy, |graph, _| graph.neg());
    check_strict(&gpu, &graph, || "chain".into());
}
