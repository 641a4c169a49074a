//! The gradients of `nanmedian` and of its stored-entries form against the reference, and finite differences.

use std::collections::BTreeSet;

use crate::generators::{self, Drawn, DrawnGrad, Reduction, batched, endless, huge, huger, reductions};
use crate::reference::dense::{Dense, Sparse, checked_size, ravel, reduced_coords, reduced_shape};
use crate::reference::gradients::{self, Rule};
use crate::reference::ops::Even;
use crate::reference::scalar::{GradScalar, RealScalar, Scalar};
use crate::support::*;
use lacuna::{
    Axes, CooTensor, CsrTensor, Error, EvenCount, Float, MedianGradient, Nanmedian, Operand, Pattern, Real, Tensor,
    grad, nanmedian,
};
use ndarray::{ArrayD, IxDyn, arr0, arr1, arr2};
use proptest::prelude::*;

/// Every combination of options, in the words of the library and of the reference.
const OPTIONS: [(Options, Even, Rule); 4] = [
    (options(EvenCount::Mean, MedianGradient::Spread), Even::Mean, Rule::Spread),
    (options(EvenCount::Lower, MedianGradient::Spread), Even::Lower, Rule::Spread),
    (options(EvenCount::Mean, MedianGradient::First), Even::Mean, Rule::First),
    (options(EvenCount::Lower, MedianGradient::First), Even::Lower, Rule::First),
];

/// The options without axes.
#[derive(Debug, Clone, Copy)]
struct Options {
    even: EvenCount,
    rule: MedianGradient,
}

impl Options {
    fn over(self, axes: impl Into<Axes>) -> Nanmedian {
        let mut options = Nanmedian::over(axes);
        (options.even, options.rule) = (self.even, self.rule);
        options
    }
}

const fn options(even: EvenCount, rule: MedianGradient) -> Options {
    Options { even, rule }
}

/// A type that the library and the reference know, with an order.
trait Ordered: Both + Drawn + RealScalar + Real {}
impl<T: Both + Drawn + RealScalar + Real> Ordered for T {}

/// A type of gradients that the library and the reference know.
trait Gradient: Both + DrawnGrad + GradScalar + Float {}
impl<G: Both + DrawnGrad + GradScalar + Float> Gradient for G {}

// ---- the gradient promise ----

/// The expected gradients for some options: of an array, on a pattern of all positions, and on the stored positions.
struct Expected<G> {
    options: Options,
    dense: Dense<G>,
    all: Sparse<G>,
    stored: Sparse<G>,
}

fn expected<T: Ordered, G: Gradient>(
    x: &Sparse<T>,
    normalised: &[usize],
    keep_dims: bool,
    upstream: &Sparse<G>,
    options: &[(Options, Even, Rule)],
) -> Vec<Expected<G>> {
    let (x_dense, upstream) = (x.to_dense(), upstream.to_dense());
    let of = |&(options, even, rule): &(Options, Even, Rule)| {
        let dense = gradients::nanmedian_backward(&x_dense, normalised, keep_dims, rule, even, &upstream);
        let stored = gradients::nanmedian_stored_backward(x, normalised, keep_dims, rule, even, &upstream);
        Expected { options, all: x.pattern_of(&dense), dense, stored }
    };
    options.iter().map(of).collect()
}

/// Both gradients of one tensor against the reference.
fn assert_gradients<T: Ordered, P: Pattern, G: Gradient, U: Operand<Elem = G>>(
    tensor: &Tensor<P, T>,
    upstream: &U,
    axes: &Axes,
    expected: &[Expected<G>],
) {
    for Expected { options, all, stored, .. } in expected {
        let found = grad::nanmedian(tensor, upstream, options.over(axes)).unwrap();
        assert_entries(&found, all);
        assert!(found.shares_pattern_with(tensor));
        let found = grad::nanmedian(&tensor.stored(), upstream, options.over(axes)).unwrap();
        assert_entries(&found, stored);
        assert!(found.shares_pattern_with(tensor));
    }
}

/// Checks all formats and layouts in one property, because each further property takes time to compile for each type.
fn gradients_of_every_format_agree_with_the_reference<T: Ordered>() {
    let inputs = (reductions::<T, f64>(), some_of(&OPTIONS));
    check(inputs, |(Reduction { x, axes, normalised, keep_dims, upstream }, options)| {
        let expected = expected(&x, &normalised, keep_dims, &upstream, &options);
        let axes = axes_of(&axes, keep_dims);
        assert_gradients(&coo(&x), &coo(&upstream), &axes, &expected);
        assert_gradients(&csr(&x), &coo(&upstream), &axes, &expected);
        let given = array(&upstream.to_dense());
        for Expected { options, dense, .. } in &expected {
            for_each_layout(&x.to_dense(), |_, view| {
                let found = grad::nanmedian(&view, &given, options.over(&axes)).unwrap();
                assert_array(&found, dense);
                assert!(found.is_standard_layout());
            });
        }
    });
}

for_real_types!(gradients_of_every_format_agree_with_the_reference);

/// Formats and index types of both sides in every combination.
#[test]
fn upstream_gradients_come_in_any_format() {
    check(reductions::<f64, f32>(), |Reduction { x, axes, normalised, keep_dims, upstream }| {
        let expected = expected(&x, &normalised, keep_dims, &upstream, &OPTIONS);
        let (axes, dense) = (axes_of(&axes, keep_dims), array(&upstream.to_dense()));
        assert_gradients(&coo_as::<f64, u64>(&x), &csr_as::<f32, usize>(&upstream), &axes, &expected);
        assert_gradients(&coo(&x), &dense.view(), &axes, &expected);
        assert_gradients(&csr_as::<f64, usize>(&x), &coo_as::<f32, u64>(&upstream), &axes, &expected);
        assert_gradients(&csr(&x), &dense, &axes, &expected);
        let found = grad::nanmedian(&array(&x.to_dense()), &coo(&upstream), &axes).unwrap();
        assert_array(&found, &expected[0].dense);
    });
}

#[cfg(feature = "half")]
#[test]
fn gradients_of_16_bits_are_shared_in_f32() {
    fn agree<G: Gradient>() {
        let inputs = (reductions::<i8, G>(), some_of(&OPTIONS));
        check(inputs, |(Reduction { x, axes, normalised, keep_dims, upstream }, options)| {
            let expected = expected(&x, &normalised, keep_dims, &upstream, &options);
            assert_gradients(&coo(&x), &coo(&upstream), &axes_of(&axes, keep_dims), &expected);
        });
    }
    agree::<half::f16>();
    agree::<half::bf16>();
}

#[test]
fn batches_with_different_numbers_of_entries_share_lane_by_lane() {
    let inputs = (batched::<f64>(), generators::upstream_seeds::<f64>(), proptest::bool::ANY);
    check(inputs, |(x, upstream, keep_dims)| {
        let last = x.shape.len() - 1;
        let upstream = upstream.build(&reduced_shape(&x.shape, &[last], keep_dims));
        let expected = expected(&x, &[last], keep_dims, &upstream, &OPTIONS);
        assert_gradients(&csr(&x), &coo(&upstream), &Axes::from(-1).with_keep_dims(keep_dims), &expected);
    });
}

// ---- shapes without a dense form ----

/// A group by its counts: all elements are counted, and only the entries are listed.
struct Counted<T> {
    /// The position and the value of each entry.
    entries: Vec<(u128, T)>,
    fill: T,
    unstored: u128,
}

impl<T: Ordered> Counted<T> {
    fn new(x: &Sparse<T>, normalised: &[usize], cell: &[usize]) -> Self {
        let lengths: Vec<usize> = normalised.iter().map(|&axis| x.shape[axis]).collect();
        let extent = checked_size(&lengths).unwrap_or(u128::MAX).min(u128::from(u64::MAX));
        let position = |at: &[usize]| {
            let coords: Vec<usize> = normalised.iter().map(|&axis| at[axis]).collect();
            checked_size(&lengths).map_or(0, |_| ravel(&coords, &lengths))
        };
        let inside = x.entries.iter().filter(|(at, _)| reduced_coords(at, normalised, false) == cell);
        let entries: Vec<(u128, T)> = inside.map(|(at, &value)| (position(at), value)).collect();
        let unstored = if Scalar::is_nan(x.fill) { 0 } else { extent - entries.len() as u128 };
        Counted { entries, fill: x.fill, unstored }
    }

    /// Returns for how many numbers of the group the test holds.
    fn count(&self, test: impl Fn(T) -> bool) -> u128 {
        let stored = self.entries.iter().filter(|&&(_, value)| !Scalar::is_nan(value) && test(value)).count();
        stored as u128 + if self.unstored > 0 && test(self.fill) { self.unstored } else { 0 }
    }

    /// The value at a rank: the stored or filled one with at most so many less, and more that are not greater.
    fn at_rank(&self, rank: u128) -> T {
        let values = self.entries.iter().map(|&(_, value)| value).chain([self.fill]);
        let less = |value: T| self.count(|other| RealScalar::order(other, value).is_lt());
        let at_most = |value: T| self.count(|other| RealScalar::order(other, value).is_le());
        let mut numbers = values.filter(|value| !Scalar::is_nan(*value));
        numbers.find(|&value| less(value) <= rank && rank < at_most(value)).unwrap()
    }

    /// The rank of an entry by value and position.
    fn rank_of(&self, position: u128, value: T) -> u128 {
        let less = self.count(|other| RealScalar::order(other, value).is_lt());
        let before = self.entries.iter().filter(|&&(at, _)| at < position);
        let equal_before = before.clone().filter(|&&(_, other)| other == value).count() as u128;
        let gaps_before = if self.fill == value { position - before.count() as u128 } else { 0 };
        less + equal_before + gaps_before
    }

    fn share<G: Gradient>(&self, (position, value): (u128, T), g: G, even: Even, rule: Rule) -> G {
        let count = self.count(|_| true);
        if Scalar::is_nan(value) {
            return G::zero();
        }
        let g = gradients::without_sign(g);
        let (low, high) = ((count - 1) / 2, count / 2);
        let (lower, upper) = (self.at_rank(low), self.at_rank(high));
        let n = self.count(|other| other == value) as usize;
        match rule {
            Rule::Spread if even == Even::Lower || lower == upper => {
                if value == lower {
                    GradScalar::share(g, n)
                } else {
                    G::zero()
                }
            }
            Rule::Spread => {
                if value == lower || value == upper {
                    g.half_share(n)
                } else {
                    G::zero()
                }
            }
            Rule::First => {
                let rank = self.rank_of(position, value);
                match (even == Even::Lower || low == high, rank == low, rank == high) {
                    (true, true, _) => g.canonical(),
                    (false, true, _) | (false, _, true) => g.halved(),
                    _ => G::zero(),
                }
            }
        }
    }
}

fn gradients_of_shapes_without_a_dense_form<T: Ordered>() {
    let upstreams = proptest::collection::vec(f64::gradients(), 1..8);
    let inputs = (prop_oneof![huge::<T>(), huger::<T>(), endless::<T>()], generators::axes_seeds(), upstreams);
    check(inputs, |(x, axes, gradients)| {
        let axes = axes.build(x.shape.len());
        let normalised = axes.normalised(x.shape.len());
        let lengths: Vec<usize> = normalised.iter().map(|&axis| x.shape[axis]).collect();
        let countable = checked_size(&lengths).is_some_and(|extent| extent <= u128::from(u64::MAX));
        let cells: BTreeSet<_> = x.entries.keys().map(|at| reduced_coords(at, &normalised, false)).collect();
        let entries = cells.iter().cloned().zip(gradients.iter().copied()).collect();
        let upstream = Sparse::new(&reduced_shape(&x.shape, &normalised, false), entries, -3.5);
        let tensor = coo_as::<T, u64>(&x);
        for (options, even, rule) in OPTIONS {
            let given = coo_as::<f64, u64>(&upstream);
            let found = grad::nanmedian(&tensor, &given, options.over(axes_of(&axes, false)));
            if rule == Rule::First && !countable {
                assert_eq!(found.unwrap_err(), Error::Uncountable { operation: "nanmedian_backward" });
                continue;
            }
            for cell in &cells {
                let group = Counted::new(&x, &normalised, cell);
                let inside = found.as_ref().unwrap().entries().into_iter();
                let inside = inside.filter(|(at, _)| reduced_coords(at, &normalised, false) == *cell);
                for ((at, share), &entry) in inside.zip(&group.entries) {
                    let wanted = group.share(entry, upstream.get(cell), even, rule);
                    assert!(share.bits_equal(wanted), "{share:?} is not {wanted:?} at {at:?}");
                }
            }
        }
    });
}

stamp!(gradients_of_shapes_without_a_dense_form: int8 = i8, float32 = f32; beside bool = bool, uint64 = u64; half);

// ---- the named cases ----

/// The gradient is the slope of the forward pass, wherever that has one.
#[test]
fn gradients_agree_with_finite_differences() {
    let x =
        CooTensor::new([2, 5], vec![vec![0, 0, 0, 1, 1], vec![0, 2, 3, 1, 4]], vec![3.0, -1.0, 7.5, -2.0, -4.0], 0.5);
    let (x, dy, step) = (x.unwrap(), arr1(&[2.0, -0.75]), 1e-3);
    for even in [EvenCount::Mean, EvenCount::Lower] {
        let loss = |x: &CooTensor<f64>| {
            let y = x.nanmedian(options(even, MedianGradient::Spread).over(1)).unwrap().to_dense().unwrap();
            (y.into_dimensionality::<ndarray::Ix1>().unwrap() * &dy).sum()
        };
        for rule in [MedianGradient::Spread, MedianGradient::First] {
            let dx = grad::nanmedian(&x, &dy, options(even, rule).over(1)).unwrap();
            for entry in 0..x.nnz() {
                let mut moved = x.clone();
                moved.values_mut().unwrap()[entry] += step;
                let slope = (loss(&moved) - loss(&x)) / step;
                assert!((slope - dx.values()[entry]).abs() < 1e-9, "{even:?} {rule:?} entry {entry}: {slope}");
            }
        }
    }
}

/// As PyTorch and the mean of Paddle have it, by option: each of n elements without a number receives 1/n.
#[test]
fn the_gradient_of_a_group_without_a_number_is_shared_where_that_is_asked_for() {
    let nan = f64::NAN;
    let x = arr2(&[[nan, 2.0, 1.0], [nan, nan, nan], [3.0, nan, nan]]);
    let (dy, spread) = (arr1(&[4.0, 12.0, 6.0]), Nanmedian::over(1).spread_nan());
    let expected = arr2(&[[0.0, 2.0, 2.0], [4.0, 4.0, 4.0], [6.0, 0.0, 0.0]]).into_dyn();
    assert_eq!(grad::nanmedian(&x, &dy, &spread).unwrap(), expected);
    assert_eq!(grad::nanmedian(&x, &dy, spread.clone().first()).unwrap(), expected);
    for fill in [nan, 0.0] {
        let sparse = CooTensor::from_dense(&x, fill).unwrap();
        let on_entries = |dx: CooTensor<f64>| dx.entries().iter().all(|(at, share)| expected[IxDyn(at)] == *share);
        assert!(on_entries(grad::nanmedian(&sparse, &dy, &spread).unwrap()));
    }
    // Two NaNs among three positions of stored entries, in groups that are contiguous, and in groups that are not.
    let stored = CooTensor::new([2, 3], vec![vec![0, 0, 1], vec![0, 2, 1]], vec![nan, nan, 5.0], 0.0).unwrap();
    let dx = grad::nanmedian(&stored.stored(), &arr1(&[8.0, 3.0]), &spread).unwrap();
    assert_eq!(dx.values(), [4.0, 4.0, 3.0]);
    let turned = stored.permute_axes([1, 0]).unwrap();
    let dx = grad::nanmedian(&turned.stored(), &arr1(&[8.0, 3.0]), Nanmedian::over(0).spread_nan()).unwrap();
    assert_eq!(dx.values(), [4.0, 3.0, 4.0]);
    let each = grad::nanmedian(&x, &x, Nanmedian::over(Axes::none()).spread_nan()).unwrap();
    assert!(
        each.iter()
            .zip(&x)
            .all(|(share, value)| share.to_bits() == value.to_bits() || value.is_nan() && share.is_nan())
    );
}

#[test]
fn nan_positions_receive_zero() {
    let nan = f64::NAN;
    let x = arr2(&[[nan, 2.0, 1.0], [nan, nan, nan], [3.0, nan, nan]]);
    let dx = grad::nanmedian(&x, &arr1(&[4.0, nan, 6.0]), 1).unwrap();
    assert_eq!(dx, arr2(&[[0.0, 2.0, 2.0], [0.0, 0.0, 0.0], [6.0, 0.0, 0.0]]).into_dyn());
    let sparse = CooTensor::from_dense(&x, 0.0).unwrap();
    let found = grad::nanmedian(&sparse, &arr1(&[4.0, nan, 6.0]), 1).unwrap();
    assert_eq!(found.to_dense().unwrap(), dx);
    let elementwise = grad::nanmedian(&sparse, &ArrayD::from_elem(IxDyn(&[3, 3]), 5.0), Axes::none()).unwrap();
    assert_eq!(elementwise.values(), [0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
}

#[test]
fn equal_elements_share_and_zeros_of_both_signs_are_equal() {
    let x = arr1(&[0.0, -0.0, 9.0, -0.0, -9.0]);
    let dx = grad::nanmedian(&x, &arr0(6.0f32), 0).unwrap();
    assert_eq!(dx, arr1(&[2.0, 2.0, 0.0, 2.0, 0.0]).into_dyn());
    let x = arr1(&[1u8, 1, 2, 2, 2, 1, 7, 0]);
    let dx = grad::nanmedian(&x, &arr0(6.0), 0).unwrap();
    assert_eq!(dx, arr1(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]).into_dyn());
}

#[test]
fn the_share_of_unstored_positions_is_dropped() {
    // 0 0 0 and a stored 0: four equal elements, of which one is stored.
    let x = CooTensor::new([5], vec![vec![1, 4]], vec![0.0, 7.0], 0.0).unwrap();
    assert_eq!(grad::nanmedian(&x, &arr0(8.0), 0).unwrap().values(), [2.0, 0.0]);
    assert_eq!(grad::nanmedian(&x.stored(), &arr0(8.0), 0).unwrap().values(), [4.0, 4.0]);
    let first = options(EvenCount::Mean, MedianGradient::First);
    // Rank 2 of the zeros at 0, 1, 2 and 3 stands at position 2, which is not stored.
    assert_eq!(grad::nanmedian(&x, &arr0(8.0), first.over(0)).unwrap().values(), [0.0, 0.0]);
    let x = CooTensor::new([5], vec![vec![2, 4]], vec![0.0, 7.0], 0.0).unwrap();
    assert_eq!(grad::nanmedian(&x, &arr0(8.0), first.over(0)).unwrap().values(), [8.0, 0.0]);
}

#[test]
fn first_gives_the_elements_at_the_middle_ranks() {
    let first = options(EvenCount::Mean, MedianGradient::First);
    let gradient = |x: &[f64]| grad::nanmedian(&arr1(x), &arr0(8.0), first.over(0)).unwrap();
    assert_eq!(gradient(&[5.0, 5.0, 5.0, 5.0]), arr1(&[0.0, 4.0, 4.0, 0.0]).into_dyn());
    assert_eq!(gradient(&[5.0, 5.0, 5.0]), arr1(&[0.0, 8.0, 0.0]).into_dyn());
    assert_eq!(gradient(&[7.0, f64::NAN, 5.0]), arr1(&[4.0, 0.0, 4.0]).into_dyn());
}

/// An upstream gradient of ones hides a backward pass that gives every row the gradient of the last one.
#[test]
fn each_row_gets_the_gradient_of_its_own() {
    let x = CsrTensor::new([3, 2], vec![0, 1, 3, 4], vec![0, 0, 1, 1], vec![1.0; 4], f64::NAN).unwrap();
    let dx = grad::nanmedian(&x, &arr1(&[10.0, 20.0, 30.0]), -1).unwrap();
    assert_eq!(dx.values(), [10.0, 10.0, 10.0, 30.0]);
}

/// Enough groups for several threads, in order and out of it.
#[test]
fn many_groups_are_the_same_as_lanes_of_an_array() {
    let mut asked = 0;
    for (rows, columns) in [(2000, 9), (9, 2000), (70_000, 3)] {
        let values = (0..rows * columns).map(|at| (at * 7919 % 11) as i32 - 5);
        let dense = ndarray::Array2::from_shape_vec((rows, columns), values.collect()).unwrap();
        let x = CooTensor::from_dense(&dense, 0).unwrap();
        for axes in [Axes::from(0), Axes::from(1), Axes::all()] {
            let dy = nanmedian(&dense, &axes).unwrap().mapv(|median| median + 0.3);
            asked += 1;
            for (options, ..) in OPTIONS.into_iter().skip(asked % one_of(2)).step_by(one_of(2)) {
                let expected = grad::nanmedian(&dense, &dy, options.over(&axes)).unwrap();
                let found = grad::nanmedian(&x, &dy, options.over(&axes)).unwrap();
                found.for_each_entry(|at, share| assert_eq!(share, expected[IxDyn(at)]));
            }
        }
    }
}

// ---- errors ----

#[test]
fn an_upstream_gradient_of_another_shape_is_refused() {
    let x = CooTensor::full([2, 3], 0.0).unwrap();
    let three = arr1(&[1.0, 2.0, 3.0]);
    let message = "the upstream gradient must have shape [2], found [3]";
    assert_eq!(grad::nanmedian(&x, &three, 1).unwrap_err().to_string(), message);
    assert_eq!(grad::nanmedian(&x.stored(), &three, 1).unwrap_err().to_string(), message);
    assert_eq!(grad::nanmedian(&x.to_dense().unwrap(), &three, 1).unwrap_err().to_string(), message);
    let kept = Axes::from(1).keep_dims();
    assert!(matches!(grad::nanmedian(&x, &arr1(&[1.0, 2.0]), kept), Err(Error::ShapeMismatch { .. })));
}

#[test]
fn axes_that_do_not_fit_are_refused() {
    let x = CsrTensor::full([2, 3, 4], 0.0).unwrap();
    let dy = ArrayD::from_elem(IxDyn(&[3, 4]), 1.0);
    assert_eq!(grad::nanmedian(&x, &dy, 3).unwrap_err(), Error::AxisOutOfRange { axis: 3, rank: 3 });
    assert_eq!(grad::nanmedian(&x, &dy, [0, -3]).unwrap_err(), Error::AxisRepeated { axis: 0, rank: 3 });
}

#[test]
fn gradients_out_of_proportion_are_refused() {
    let one = arr1(&[1.0]);
    let view = one.broadcast(1 << 40).unwrap();
    assert!(matches!(grad::nanmedian(&view, &arr0(1.0), 0), Err(Error::TooLarge { bytes: 0x800_0000_0000, .. })));
    let singly = grad::nanmedian(&view, &view, Axes::none());
    assert!(matches!(singly, Err(Error::TooLarge { bytes: 0x800_0000_0000, .. })));
    let lanes = CsrTensor::full([1 << 32, 0, 5], 0.0).unwrap();
    let dy = CooTensor::full([1 << 32, 0], 0.0).unwrap();
    assert!(matches!(grad::nanmedian(&lanes, &dy, -1), Err(Error::TooLarge { .. })));
}

/// Each thread passed by all rows before its own, one by one; now it begins there, whatever the axes before it are
/// like.
#[test]
fn each_thread_gives_gradients_to_the_rows_of_its_own() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let shapes = [vec![200_000, 3], vec![1, 200_000, 3], vec![2, 100_000, 3], vec![7, 1, 30_000, 3]];
    for shape in shapes.into_iter().skip(one_of(2) - 1).step_by(one_of(2)) {
        let rows: usize = shape[..shape.len() - 1].iter().product();
        // The middle value of each row stands elsewhere than in the row before.
        let elements = (0..3 * rows).map(|at| ((at + at / 3) % 3) as f32).collect();
        let plain = ndarray::ArrayD::from_shape_vec(shape.clone(), elements).unwrap();
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.swap(0, shape.len() - 2);
        let turned = plain.view().permuted_axes(axes.clone()).as_standard_layout().into_owned().permuted_axes(axes);
        let gradients = (0..rows).map(|row| row as f64 + 1.0).collect();
        let dy = ndarray::ArrayD::from_shape_vec(&shape[..shape.len() - 1], gradients).unwrap();
        for x in [plain, turned] {
            let dx = pool.install(|| grad::nanmedian(&x, &dy, -1)).unwrap();
            for (at, (&received, &value)) in dx.iter().zip(&x).enumerate() {
                assert_eq!(received, if value == 1.0 { (at / 3 + 1) as f64 } else { 0.0 }, "{shape:?}");
            }
        }
    }
}
