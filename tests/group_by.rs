//! Reductions by labels against the reference, on every format and layout, whole and stored, with their gradients.

use crate::generators::{
    AxesChoice, AxesSeed, Drawn, DrawnGrad, Reduction, SparseSeed, axes_seeds, sparse_of_rank, upstream_seeds,
};
use crate::reference::dense::{Dense, Groups, Sparse, groups_by_label};
use crate::reference::exact::Summed;
use crate::reference::ops::{Even, median_of_ranked, ranked};
use crate::reference::reductions as reference;
use crate::reference::scalar::{RealScalar, Scalar};
use crate::support::*;

use lacuna::{
    Axes, CooTensor, CsrTensor, Element, Error, GroupLabels, Pattern, Real, Result, Ring, Tensor, Var, all, argmax,
    count_nonzero, grad, max, mean, min, nanmedian, nanmedian_index, norm, prod, sum, var,
};
use ndarray::{ArrayD, arr1, arr2};
use proptest::collection::vec;
use proptest::prelude::*;

/// A reduction with labels on one of its axes.
#[derive(Clone, Debug)]
struct Labelled<T, G> {
    case: Reduction<T, G>,
    axis: usize,
    labels: Vec<usize>,
    count: usize,
    groups: Groups,
}

impl<T, G> Labelled<T, G> {
    fn axes(&self) -> Axes {
        let others: Vec<usize> = self.case.normalised.iter().copied().filter(|&axis| axis != self.axis).collect();
        let labels = GroupLabels::of(&self.labels).count(self.count);
        Axes::by(self.axis, labels).and(others).with_keep_dims(self.case.keep_dims)
    }
}

/// The parts of a [`Labelled`].
type Parts<T, G> = (Sparse<T>, AxesSeed, (bool, usize), (Vec<usize>, usize, usize, bool), SparseSeed<G>);

/// Few labels or many, some of which no position has; now and then equally many positions for each.
fn labelled<T: Drawn, G: DrawnGrad>() -> BoxedStrategy<Labelled<T, G>> {
    let labels = (vec(any::<usize>(), 512), 1..6usize, 0..3usize, any::<bool>());
    let parts = (sparse_of_rank::<T>(1, 5), axes_seeds(), any::<(bool, usize)>(), labels, upstream_seeds::<G>());
    let build = |(x, axes, (keep_dims, pick), (drawn, below, more, even), upstream): Parts<T, G>| {
        let rank = x.shape.len();
        let axis = pick % rank;
        let mut axes = axes.build(rank);
        if !axes.normalised(rank).contains(&axis) {
            axes = AxesChoice::One(axis as isize);
        }
        let label = |(at, drawn): (usize, &usize)| if even { at % below } else { drawn % below };
        let labels: Vec<usize> = drawn[..x.shape[axis]].iter().enumerate().map(label).collect();
        let count = labels.iter().max().map_or(0, |most| most + 1) + more;
        let normalised = axes.normalised(rank);
        let groups = groups_by_label(&x.shape, &normalised, keep_dims, axis, (&labels, count));
        let upstream = upstream.build(&groups.shape);
        Labelled { case: Reduction { x, axes, normalised, keep_dims, upstream }, axis, labels, count, groups }
    };
    parts.prop_map(build).boxed()
}

/// Checks the result for all positions of a sparse tensor. Output elements with an entry, or with an empty group, hold
/// the dense result. If there is no dense result, or unstored positions would hold several values, the result is an
/// error.
#[track_caller]
fn assert_whole<P: Pattern, T: Both, U: Both>(
    found: &Result<Tensor<P, U>>,
    expected: &Option<Dense<U>>,
    x: &Sparse<T>,
    groups: &Groups,
    of: impl Fn(&reference::Group<T>) -> Option<U>,
) {
    let mut stored = reference::reduce_stored_groups(x, groups, |_| Some(0u64), 0).unwrap().coords();
    stored.extend(reference::cells_of_nothing(x, groups, of));
    let Some(expected) = expected else {
        return assert!(found.is_err(), "{found:?}");
    };
    let expected = implicit(expected, &stored);
    let mut gaps = expected.coords().into_iter().filter(|at| !stored.contains(at)).map(|at| expected.get(&at));
    let first = gaps.next();
    if gaps.all(|gap| gap.bits_equal(first.unwrap())) {
        assert_tensor(found.as_ref().unwrap(), &expected, &stored);
    } else {
        assert!(matches!(found, Err(Error::FillVaries { .. })), "{found:?}");
    }
}

macro_rules! check_by_label {
    ($labelled:expr, $name:ident, $options:expr, $reference:expr, $nothing:expr) => {{
        let labelled = &$labelled;
        let Labelled { case: Reduction { x, .. }, groups, .. } = labelled;
        let options = $options(labelled.axes());
        let dense = x.to_dense();
        let expected = reference::reduce_groups(&dense, groups, $reference);
        let (coo, csr) = (coo(x), csr(x));
        let found = $name(&coo, &options);
        assert_whole(&found, &expected, x, groups, $reference);
        let found = csr.$name(&options);
        assert_whole(&found, &expected, x, groups, $reference);
        for_each_layout(&dense, |_, view| {
            let found = $name(&view, &options);
            match &expected {
                Some(expected) => assert_array(&found.unwrap(), expected),
                None => assert!(found.is_err()),
            }
        });
        let found = $name(&csr.stored(), &options);
        match reference::reduce_stored_groups(x, groups, $reference, $nothing) {
            Some(expected) => assert_entries(&found.unwrap(), &expected),
            None => assert!(found.is_err(), "{found:?}"),
        }
    }};
}

fn median<T: RealScalar>(group: &reference::Group<T>) -> Option<T::Median> {
    Some(median_of_ranked(&ranked(group), Even::Mean))
}

fn reductions_by_label_equal_the_dense_ones<T>()
where
    T: Both + Drawn + RealScalar<Median = <T as Real>::Median> + Real,
    T: Summed + Ring<Sum = <T as Summed>::Sum, Mean = <T as Summed>::Mean>,
    <T as Summed>::Sum: Both,
    <T as Summed>::Mean: Both,
    <T as Real>::Median: Both,
{
    let same = std::convert::identity::<Axes>;
    check(labelled::<T, f64>(), |case| {
        let most = T::from_number(lacuna::Number::Real(f64::NAN)).unwrap_or(T::LOWEST);
        let nan = <T as Real>::Median::from_number(lacuna::Number::Real(f64::NAN)).unwrap();
        let count =
            |group: &reference::Group<T>| Some(group.iter().filter(|(_, value)| Scalar::truthy(*value)).count() as u64);
        check_by_label!(case, sum, same, reference::sum, T::sum_from(&T::zero().parts()).unwrap());
        check_by_label!(case, mean, same, reference::mean, T::mean_from(&T::zero().parts(), 0));
        check_by_label!(case, max, same, reference::max, most);
        check_by_label!(case, argmax, same, reference::argmax, u64::MAX);
        check_by_label!(case, count_nonzero, same, count, 0);
        check_by_label!(case, nanmedian, same, median, nan);
        check_by_label!(case, all, same, reference::all, true);
    });
}

stamp!(reductions_by_label_equal_the_dense_ones: int8 = i8, float64 = f64; half float16 = half::f16);

/// The position of an element in its group determines with which elements it is multiplied first.
#[test]
fn products_and_norms_by_label_equal_the_dense_ones() {
    let same = std::convert::identity::<Axes>;
    check(labelled::<f64, f64>(), |case| {
        check_by_label!(case, prod, same, reference::prod, 1.0);
        check_by_label!(case, norm, same, |group: &_| reference::norm::<f64>(group, 2), 0.0);
    });
}

#[test]
fn gradients_by_label_equal_the_dense_ones() {
    check(labelled::<f64, f64>(), |labelled| {
        let Labelled { case: Reduction { x, upstream, .. }, groups, .. } = &labelled;
        let (axes, dense, gradients) = (labelled.axes(), x.to_dense(), upstream.to_dense());
        let check = |found: [ArrayD<f64>; 1], sparse: [Tensor<_, f64>; 2], shares: &dyn Fn(&_, f64) -> Vec<f64>| {
            let expected = reference::share_in_groups(&dense, groups, &gradients, shares);
            assert_array(&found[0], &expected);
            let expected = x.pattern_of(&expected);
            sparse.iter().for_each(|found| assert_entries(found, &expected));
        };
        let (array, coo_x, upstream) = (array(&dense), coo(x), coo(upstream));
        macro_rules! check_gradient {
            ($name:ident, $shares:expr) => {
                check(
                    [lacuna::grad::$name(&array, &upstream, &axes).unwrap()],
                    [
                        lacuna::grad::$name(&coo_x, &upstream, &axes).unwrap(),
                        lacuna::grad::$name(&coo_x, &crate::support::array(&gradients), &axes).unwrap(),
                    ],
                    &$shares,
                )
            };
        }
        check_gradient!(sum, |group: &_, g| reference::sum_shares::<f64, f64>(group, g, false, false));
        check_gradient!(mean, |group: &_, g| reference::sum_shares::<f64, f64>(group, g, true, false));
        check_gradient!(max, |group: &_, g| reference::equal_shares(group, g, reference::max(group)));
        // Each element of a group receives its own: of an array the groups are gathered, and what they receive is put
        // back.
        check_gradient!(prod, |group: &_, g| reference::prod_shares::<f64, f64>(group, g, false));
        check_gradient!(norm, |group: &_, g| reference::norm_shares::<f64, f64>(group, g, 2));
    });
}

// ---- edges, by name ----

/// Returns axes of a matrix, one of which has labels.
fn by_label(axis: usize, labels: &[usize], axes: &Axes) -> Axes {
    let others: Vec<usize> = axes.normalize(2).unwrap().into_iter().filter(|&other| other != axis).collect();
    Axes::by(axis, labels).and(others)
}

/// Reversed groups went unseen: the values that are drawn have exact products, whatever their order.
#[test]
fn products_by_label_round_in_the_order_of_the_positions() {
    let x = ndarray::Array2::from_shape_fn((13, 3), |(row, column)| 0.37 + 0.1 * row as f64 + 0.013 * column as f64);
    let labels: Vec<usize> = (0..13).map(|row| usize::from(row % 3 == 0)).collect();
    let coo = CooTensor::<f64>::from_dense(&x, 0.0).unwrap();
    for axes in [Axes::from(0), Axes::all()] {
        let by = by_label(0, &labels, &axes);
        let upstream = prod(&coo, &by).unwrap().to_dense().unwrap();
        assert_eq!(prod(&x, &by).unwrap(), upstream);
        let sparse = grad::prod(&coo, &upstream, &by).unwrap();
        let dense = grad::prod(&x, &upstream, &by).unwrap();
        assert_eq!(sparse.to_dense().unwrap(), dense);
        let member = |row: usize| labels[row] == 1;
        let own: Vec<usize> = (0..13).filter(|&row| member(row)).collect();
        let taken = coo.take_axis(&own, 0).unwrap();
        let of_label = upstream.index_axis(ndarray::Axis(0), 1).to_owned();
        let alone = grad::prod(&taken, &of_label, &axes).unwrap().to_dense().unwrap();
        assert_eq!(ndarray::ArrayRef::select(&dense, ndarray::Axis(0), &own), alone);
    }
}

/// A table of cells and the groups of a sort give the same, with as many positions for each label or not.
#[test]
fn many_entries_by_label_are_those_of_their_slices() {
    let coords = |of: &dyn Fn(u32) -> u32| (0..6000).filter(|at| at % 7 != 3).map(of).collect::<Vec<_>>();
    let values: Vec<f64> = (0..6000).filter(|at| at % 7 != 3).map(|at| f64::from(at * 37 % 101) - 50.0).collect();
    for fill in [0.0, 0.1, f64::NAN] {
        let x = CooTensor::new([600, 10], vec![coords(&|at| at / 10), coords(&|at| at % 10)], values.clone(), fill);
        let x = x.unwrap();
        let labels = [vec![0usize, 1, 2, 3, 4, 5], vec![2, 0, 0, 1, 0, 2], (0..600).collect()];
        // One label for each position, with one fill.
        for labels in &labels[..if fill == 0.1 { 3 } else { 2 }] {
            let labels: Vec<usize> = labels.iter().copied().cycle().take(600).collect();
            for axes in [Axes::from(0), Axes::all()] {
                let by = by_label(0, &labels, &axes);
                for of in [CooTensor::sum as fn(&_, Axes) -> _, CooTensor::max, CooTensor::mean] {
                    let found = of(&x, by.clone()).unwrap();
                    let found = found.to_dense().unwrap();
                    for label in 0..=*labels.iter().max().unwrap() {
                        let members: Vec<usize> = (0..600).filter(|&at| labels[at] == label).collect();
                        let slice = of(&x.take_axis(&members, 0).unwrap(), axes.clone()).unwrap().to_dense().unwrap();
                        let of_label = found.index_axis(ndarray::Axis(0), label);
                        assert_eq!(format!("{of_label}"), format!("{slice}"));
                    }
                }
            }
        }
    }
}

#[test]
fn fills_that_differ_by_label_are_an_error_where_a_gap_shows_it() {
    let x = CooTensor::new([3, 2], vec![vec![0, 1, 2], vec![0, 0, 0]], vec![1.0, 2.0, 4.0], 1.0f64).unwrap();
    let by = Axes::by(0, &[0u8, 0, 1]);
    let varies = x.sum(&by).unwrap_err().to_string();
    assert!(varies.starts_with("sum of the fill is 1.0 at [1, ..] and 2.0 at [0, ..], but"), "{varies}");
    assert_eq!(x.mean(&by).unwrap().fill(), 1.0);
    assert_eq!(x.sum(by.and(1)).unwrap().values(), [5.0, 5.0]);
    assert_eq!(x.stored().sum(Axes::by(0, &[0, 0, 1])).unwrap().values(), [3.0, 4.0]);
    // A label that no position has is a group of nothing.
    let more = Axes::by(0, GroupLabels::of(&[0, 0, 1]).count(3));
    let none = x.max(&more).unwrap_err().to_string();
    assert_eq!(none, "max: no position has label 2");
    let mean = x.mean(&more).unwrap();
    assert_eq!((mean.fill(), mean.get(&[1, 0]).unwrap(), mean.nnz()), (1.0, 4.0, 4));
    assert!(mean.get(&[2, 0]).unwrap().is_nan() && mean.get(&[2, 1]).unwrap().is_nan());
    assert_eq!(sum(&arr1(&[1, 2, 3]), Axes::by(0, GroupLabels::of(&[0, 0, 1]).count(3))).unwrap(), {
        arr1(&[3i64, 3, 0]).into_dyn()
    });
}

/// If an empty group and unstored positions have different values, the output elements of the group are stored. If an
/// empty group has no value, the error names the label.
#[test]
fn labels_that_no_position_has_are_groups_of_nothing() {
    let labels = [0, 0, 2];
    let row = CooTensor::new([3], vec![vec![0]], vec![5.0], 0.0).unwrap();
    let twice = CooTensor::new([2, 3], vec![vec![1], vec![0]], vec![5.0], 0.0).unwrap();
    macro_rules! agree {
        ($($name:ident($axes:expr) = $expected:expr;)*) => {$({
            let [coo, csr] = [row.clone(), row.to_csr().unwrap().to_coo().unwrap()];
            let axes = $axes;
            for x in [coo, csr] {
                let found = x.$name(axes(0)).unwrap();
                let values = found.to_vec(&[]).unwrap();
                assert_eq!(format!("{values:?}"), $expected, stringify!($name));
                let is_implicit = format!("{:?}", values[1]) == format!("{:?}", found.fill());
                assert_eq!(found.nnz(), if is_implicit { 1 } else { 2 });
            }
            let dense = lacuna::$name(&twice.to_dense().unwrap(), axes(1)).unwrap();
            let coo = lacuna::$name(&twice, axes(1)).unwrap();
            let csr = twice.to_csr().unwrap();
            let csr = csr.$name(axes(1)).unwrap();
            for found in [coo.to_dense().unwrap(), csr.to_dense().unwrap()] {
                assert_eq!(format!("{found:?}"), format!("{dense:?}"));
            }
            assert_eq!(coo.nnz(), csr.nnz());
        })*};
    }
    agree! {
        mean(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        prod(|axis: usize| Axes::by(axis, &labels)) = "[0.0, 1.0, 0.0]";
        nanmax(|axis: usize| Axes::by(axis, &labels)) = "[5.0, NaN, 0.0]";
        nanmin(|axis: usize| Axes::by(axis, &labels)) = "[0.0, NaN, 0.0]";
        nanmean(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        nanprod(|axis: usize| Axes::by(axis, &labels)) = "[0.0, 1.0, 0.0]";
        sum(|axis: usize| Axes::by(axis, &labels)) = "[5.0, 0.0, 0.0]";
        nansum(|axis: usize| Axes::by(axis, &labels)) = "[5.0, 0.0, 0.0]";
        count_nonzero(|axis: usize| Axes::by(axis, &labels)) = "[1, 0, 0]";
        any(|axis: usize| Axes::by(axis, &labels)) = "[true, false, false]";
        all(|axis: usize| Axes::by(axis, &labels)) = "[false, true, false]";
        norm(|axis: usize| Axes::by(axis, &labels)) = "[5.0, 0.0, 0.0]";
        var(|axis: usize| Axes::by(axis, &labels)) = "[6.25, NaN, 0.0]";
        std(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        nanvar(|axis: usize| Axes::by(axis, &labels)) = "[6.25, NaN, 0.0]";
        nanstd(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        median(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        nanmedian(|axis: usize| Axes::by(axis, &labels)) = "[2.5, NaN, 0.0]";
        nanargmax(|axis: usize| Axes::by(axis, &labels)) = "[0, 18446744073709551615, 0]";
        mean(|axis: usize| Axes::by(axis, &labels).keep_dims()) = "[2.5, NaN, 0.0]";
    }
    let by = Axes::by(0, &labels);
    assert_eq!(format!("{:?}", row.quantile(0.25, &by).unwrap().to_vec(&[]).unwrap()), "[1.25, NaN, 0.0]");
    for refused in
        [row.max(&by).map(|_| ()), row.min(&by).map(|_| ()), row.argmax(&by).map(|_| ()), row.argmin(&by).map(|_| ())]
    {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.ends_with(": no position has label 1"), "{refused}");
    }
    // A stored view has no gaps, and stores no group without entries.
    assert_eq!(row.stored().mean(Axes::by(0, &labels)).unwrap().entries(), [(vec![0], 5.0)]);
    // All other labels are stored: the fill is what their gaps would hold.
    let full = CooTensor::new([3], vec![vec![0, 1, 2]], vec![5.0, 1.0, 2.0], 0.0).unwrap();
    let mean = full.mean(Axes::by(0, &labels)).unwrap();
    assert_eq!((mean.fill(), mean.nnz()), (0.0, 3));
    // More cells than there is memory for are refused.
    let wide = CooTensor::new([3, 1 << 31], vec![vec![0], vec![7]], vec![5.0], 0.0).unwrap();
    assert!(matches!(wide.mean(Axes::by(0, &labels)), Err(Error::TooLarge { .. })));
    assert_eq!(wide.sum(Axes::by(0, &labels)).unwrap().nnz(), 1);
    // The gradient of a labelled mean is at the positions that have a label.
    let dx = grad::mean(&row, &arr1(&[2.0, f64::NAN, 3.0]), &by).unwrap();
    assert_eq!(dx.values(), [1.0]);
}

/// Empty groups also agree in graphs, in chunks of the other axis, and in expressions.
#[cfg(feature = "cli")]
#[test]
fn groups_of_nothing_in_graphs_and_in_expressions() {
    use lacuna::dynamic::AnyTensor;
    use lacuna::eval::Expression;
    use lacuna::lazy::Chunks;
    let x = CooTensor::new([3, 4], vec![vec![0, 1, 2], vec![0, 3, 3]], vec![5.0, 1.0, 2.0], 0.0).unwrap();
    let (labels, lazy) = ([0, 0, 2], x.lazy());
    let by = Axes::by(0, &labels);
    for (expected, graph, name) in [
        (x.mean(&by), lazy.mean(&by), "mean"),
        (x.prod(&by), lazy.prod(&by), "prod"),
        (x.nanmax(&by), lazy.nanmax(&by), "nanmax"),
    ] {
        let expected = expected.unwrap();
        assert!(graph.collect().unwrap().same_as(&expected), "{name}");
        let in_ranges = graph.on(Chunks::memory(1 << 20).positions(1)).collect().unwrap();
        assert_eq!(format!("{in_ranges:?}"), format!("{expected:?}"), "{name}");
        let expression = Expression::parse(&format!("{name}(x, axis=0, by=[0, 0, 2])")).unwrap();
        let any = |x: &CooTensor<f64>| AnyTensor::from(x.clone().with_index::<u64>().unwrap());
        let found = expression.evaluate(|_| Some(any(&x))).unwrap().into_tensor().unwrap();
        assert!(found.same_as(&any(&expected)), "{name}: {found:?}");
    }
}

#[test]
fn labels_that_are_none_are_errors() {
    let x = CooTensor::full([3, 2], 1.0).unwrap();
    let message = |axes: Axes| x.sum(axes).unwrap_err().to_string();
    assert_eq!(message(Axes::by(2, &[0; 3])), "axis 2 is out of range for rank 2");
    assert_eq!(message(Axes::by(0, &[0; 2])), "the labels must have length 3, found 2");
    assert_eq!(message(Axes::by(-1, &[0, -1])), "group labels: labels[1] = -1 is not at least 0");
    let below = Axes::by(1, GroupLabels::of(&[0, 4]).count(4));
    assert_eq!(message(below), "group labels: labels[1] = 4 is not at least 0 and below 4");
    assert!(matches!(x.sum(Axes::by(1, &[0, u64::MAX - 1])), Err(Error::TooLarge { .. })));
    assert!(matches!(x.sum(Axes::by(1, &[0, i64::MAX])), Err(Error::TooLarge { .. })));
    let by = Axes::by(0, &[0, 1, 0]);
    assert_eq!(message(by.clone().and(-2)), "axis 0 is repeated (rank 2)");
    let two = "group labels: another axis has labels already; group by one axis at a time";
    assert_eq!(message(by.clone().and(Axes::by(1, &[0, 0]))), two);
    assert_eq!(x.max(by.and(..)).unwrap().fill(), 1.0);
}

/// A range of more than 64 axes was all axes when others were added.
#[test]
fn long_ranges_of_axes_are_added_one_by_one() {
    let all: Vec<usize> = (0..80).collect();
    assert_eq!(Axes::from(0..70).and(70..80).normalize(82).unwrap(), all);
    assert_eq!(Axes::from(71..80).and(0..71).normalize(82).unwrap(), all);
    assert!(matches!(Axes::from(0..70).and(69).normalize(82), Err(Error::AxisRepeated { axis: 69, .. })));
    assert!(matches!(Axes::from(0..isize::MAX).and(0).normalize(82), Err(Error::AxisOutOfRange { .. })));
    assert_eq!(Axes::none().and(0..70).normalize(70).unwrap().len(), 70);
}

#[test]
fn positions_by_label_count_its_members() {
    let x = arr2(&[[1.0, 5.0], [9.0, 0.0], [2.0, 7.0], [3.0, 8.0]]);
    let labels = [1, 0, 1, 1];
    let expected = arr2(&[[0u64, 0], [2, 2]]).into_dyn();
    assert_eq!(argmax(&x, Axes::by(0, &labels)).unwrap(), expected);
    let sparse = CsrTensor::from_dense(&x, 0.0).unwrap();
    assert_eq!(sparse.argmax(Axes::by(0, &labels)).unwrap().to_dense().unwrap(), expected);
    let all = Axes::by(0, &labels).and(1).keep_dims();
    let (medians, places) = sparse.nanmedian_index(&all).unwrap();
    assert_eq!((medians.values(), places.values()), (&[4.5, 4.0][..], &[1, 4][..]));
    assert_eq!(medians.shape(), &[2, 1][..]);
    assert_eq!(nanmedian_index(&x, &all).unwrap().1, places.to_dense().unwrap());
}

#[test]
fn sums_that_do_not_fit_name_the_label() {
    let x = arr2(&[[i64::MAX, 1], [0, 1], [1, 1]]);
    let overflow = |found: Result<()>| match found.unwrap_err() {
        Error::Overflow { coords, .. } => coords.unwrap(),
        other => panic!("{other}"),
    };
    let labels = [1, 0, 1];
    assert_eq!(overflow(sum(&x, Axes::by(0, &labels)).map(|_| ())), [1, 0]);
    let sparse = CooTensor::from_dense(&x, 0).unwrap();
    assert_eq!(overflow(sparse.sum(Axes::by(0, &labels)).map(|_| ())), [1, 0]);
    assert_eq!(overflow(sum(&x.t(), Axes::by(1, &labels)).map(|_| ())), [0, 1]);
    let with_ddof = var(&x, Var::over(Axes::by(0, &labels)).ddof(1)).unwrap();
    assert!(with_ddof[[0, 0]].is_nan());
    assert_eq!(min(&x, Axes::by(0, &labels)).unwrap(), arr2(&[[0, 1], [1, 1]]).into_dyn());
}

/// A view that repeats rows is grouped once for all of them.
#[test]
fn repeated_rows_are_grouped_once() {
    let row = arr1(&[1.0, 2.0, 4.0]);
    let many = row.broadcast((1 << 20, 3)).unwrap();
    let found = sum(&many, Axes::by(1, &[1, 0, 1])).unwrap();
    assert_eq!((found.shape(), found[[77, 0]], found[[1 << 19, 1]]), (&[1 << 20, 2][..], 2.0, 5.0));
}
