//! The engine for what does not fit memory gives the bits of the default one, however a graph is cut.

use lacuna::lazy::{Chunks, Lazy, Value, compile, concat, stack};
use lacuna::{Axes, CooTensor, CsrTensor, Error, GroupLabels};
use ndarray::s;

/// A tensor of three axes with some values, its own fill, empty rows and stored fills.
fn cube(fill: f64) -> CooTensor<f64> {
    let lengths = [7, 5, 4];
    let cells = (0..7).flat_map(|a| (0..5).flat_map(move |b| (0..4).map(move |c| [a, b, c])));
    let kept: Vec<[u32; 3]> = cells.filter(|&[a, b, c]| a != 3 && (a * 31 + b * 17 + c * 7) % 5 < 2).collect();
    let coords = (0..3).map(|axis| kept.iter().map(|cell| cell[axis]).collect()).collect();
    let value = |(at, _)| match at % 9 {
        0 => fill,
        1 => f64::NAN,
        2 => -0.0,
        3 => 1e300,
        4 => -1e300,
        at => at as f64 * 0.37 - 1.5,
    };
    CooTensor::new(lengths, coords, kept.iter().enumerate().map(value).collect(), fill).unwrap()
}

/// The numbers of positions per chunk.
const SIZES: [usize; 4] = [1, 2, 3, 100];

fn chunks(positions: usize) -> Chunks {
    Chunks::memory(1 << 30).positions(positions)
}

/// Compares a graph on both engines.
#[track_caller]
fn agree<V: Value + std::fmt::Debug>(name: &str, graph: &Lazy<V>, same: impl Fn(&V, &V) -> bool) {
    let expected = graph.collect().unwrap_or_else(|error| panic!("{name}: {error}"));
    for positions in SIZES {
        let on = graph.on(chunks(positions));
        let found = on.collect().unwrap_or_else(|error| panic!("{name}: {error}\n{}", on.explain().unwrap()));
        assert!(same(&found, &expected), "{name}, {positions}: {}\n{found:?}\n{expected:?}", on.explain().unwrap());
    }
}

type Graph = fn(&Lazy<CooTensor<f64>>) -> Lazy<CooTensor<f64>>;

/// A number for each position of the first axis.
fn ramp() -> ndarray::ArrayD<f64> {
    ndarray::ArrayD::from_shape_fn(vec![7, 1, 1], |at| at[0] as f64 * 0.25)
}

/// Graphs with a result of floats; the flag says that nothing but the results is needed as a whole.
const GRAPHS: &[(&str, bool, Graph)] = &[
    ("chain", true, |x| (x.abs() + 1.0).sqrt()),
    ("prune", true, |x| x.prune()),
    ("sum 0", true, |x| x.sum(0)),
    ("sum 1", true, |x| x.sum(1)),
    ("sum 1 2", true, |x| x.sum([1, 2])),
    ("sum 0 2 kept", true, |x| x.sum(Axes::from([0, 2]).keep_dims())),
    ("sum all", true, |x| x.sum(Axes::all())),
    ("sum none", true, |x| x.sum(Axes::none())),
    ("stored sum all", true, |x| x.stored().sum(Axes::all())),
    ("mean all", true, |x| x.mean(Axes::all().keep_dims())),
    ("mean 2", true, |x| x.mean(2)),
    ("stored mean 0", true, |x| x.stored().nanmean(0)),
    ("max", true, |x| x.nanmax(-1)),
    ("min all", true, |x| x.nanmin(Axes::all())),
    ("stored max all", true, |x| x.stored().nanmax(Axes::all())),
    ("norm all", true, |x| (x * 1e-200).norm(Axes::all())),
    ("var", true, |x| x.nanvar([0, 1])),
    ("prod", true, |x| x.nanprod([1, 2])),
    ("nanmedian 0", true, |x| x.nanmedian(0)),
    ("nanmedian 2", true, |x| x.stored().nanmedian(2)),
    ("quantile", true, |x| x.nanquantile(0.3, [0, 2])),
    ("argmax", true, |x| x.nanargmax([1, 2]).cast()),
    ("flip", true, |x| x.flip(1).abs()),
    ("flip first", true, |x| x.flip(0).abs()),
    ("roll", true, |x| x.roll(2, 2)),
    ("transpose", true, |x| x.transpose().sum(0)),
    ("move axis", true, |x| x.move_axis(0, 2).sum(1)),
    ("expand and squeeze", true, |x| x.expand_dims(1).sqrt().squeeze(1)),
    ("pad", true, |x| x.pad([(0, 0), (1, 2), (0, 0)])),
    ("pad first", true, |x| x.pad([(2, 1), (0, 0), (0, 0)])),
    ("tile and repeat", true, |x| x.tile([1, 2, 1]).repeat(2, 2)),
    ("slice", true, |x| x.slice(s![.., 1..4, ..;2])),
    ("slice first", true, |x| x.slice(s![2..6, .., 1]).square()),
    ("slice of a slice", true, |x| x.slice(s![1..6, .., ..]).slice(s![2.., 1.., 0]).square()),
    ("slice with ends", true, |x| x.slice(s![.., 0..5, 0..4])),
    ("row of a slice", true, |x| x.slice(s![4, .., ..])),
    ("triangle", true, |x| x.with_fill(0.0).tril(1)),
    ("triangle of a matrix", false, |x| x.slice(s![.., .., 1]).with_fill(0.0).tril(-1)),
    ("diagonal", true, |x| x.diagonal(-1)),
    ("take", true, |x| x.take_axis(vec![3usize, 0, 3], 2)),
    ("take first", true, |x| x.take_axis(vec![3usize, 0, 3, 6], 0)),
    ("take many", true, |x| x.take_axis(&*Box::leak(Box::new(ndarray::arr2(&[[3i64, 0], [-1, 1]]))), 1)),
    ("rows less means", true, |x| x - x.mean(Axes::from([1, 2]).keep_dims())),
    ("columns less means", true, |x| (x - x.mean(Axes::from(0).keep_dims())).sum([1, 2])),
    ("of two", true, |x| (x * &x.flip(2)).maximum(x.roll(1, 1)).sum(1)),
    ("stored of two", true, |x| x.stored().mul(x.flip(1).stored())),
    ("beside a row", false, |x| x.with_fill(0.0).mul(&ndarray::arr1(&[1.0, -2.0, 0.5, 8.0])).sum(1)),
    ("behind a row", false, |x| (&ndarray::arr1(&[1.0, -2.0, 0.5, 8.0]) * x.with_fill(0.0)).sum(1)),
    ("behind a number for each row", true, |x| Lazy::from(ramp()) * x.with_fill(0.0)),
    ("beside a number for each row", true, |x| x.stored().sub(Lazy::from(ramp())).stored().sum([1, 2])),
    ("beside one number as an array", false, |x| x.abs().add(&ndarray::arr2(&[[1.0]])).sqrt()),
    ("concat", true, |x| concat(1, &[x.clone(), x.abs()]).sum(2)),
    ("concat first", true, |x| concat(0, &[x.clone(), x.abs()])),
    ("rows of what is joined", true, |x| concat(0, &[x.clone(), x.abs(), x.slice(s![2.., .., ..])]).sum([1, 2])),
    ("slice of what is joined", true, |x| concat(0, &[x.slice(s![2.., .., ..]), x.abs()]).slice(s![1..9, .., ..])),
    ("a part of what is joined", true, |x| concat(0, &[x.clone(), x.abs()]).slice(s![8..13, .., ..]).sqrt()),
    ("joined of joined", true, |x| {
        let two = concat(0, &[x.clone(), x.square()]).slice(s![3.., .., ..]);
        concat(0, &[x.slice(s![4.., .., ..]), two.clone(), two]).slice(s![1..20, .., 1]) * 2.0
    }),
    ("joined in another place", true, |x| concat(1, &[x.clone(), x.abs()]).move_axis(1, 0).sum(2)),
    ("stack", true, |x| stack(1, &[x.clone(), x.abs()]).max(1)),
    ("softmax", true, |x| x.clamp(-3.0, 3.0).with_fill(0.0).stored().softmax(1)),
    ("topk", true, |x| x.clamp(-3.0, 3.0).topk(2, 1)),
    ("product", false, |x| {
        let m = x.slice(s![.., .., 1]).isfinite().cast::<f64>().with_fill(0.0);
        m.matmul(&m.transpose())
    }),
    ("gradient of sums", true, |x| x.sum(1).gradient(x, &x.sum(1))),
    ("gradient of means", true, |x| x.square().mean([0, 2]).gradient(x, &x.sum([0, 2]))),
    ("gradient of a median", true, |x| x.nanmedian(2).gradient(x, &x.sum(2))),
    ("by label", true, |x| x.sum(Axes::by(1, &[1u32, 0, 1, 2, 0]))),
    ("by label, of the first axis", true, |x| x.nanmean(Axes::by(0, &[1u32, 0, 1, 2, 0, 0, 3]).and(2))),
    ("by label, axes kept", true, |x| x.stored().sum(Axes::by(2, &[0u32, 0, 1, 1]).and(1).keep_dims())),
    ("by as many labels as positions", true, |x| x.nanmax(Axes::by(1, &[4u32, 0, 3, 2, 1]).and(2))),
    ("by label, of which one has no position", true, |x| x.mean(Axes::by(1, &[3u32, 0, 1, 3, 0]))),
    ("by label, of which two have none", true, |x| x.nanmax(Axes::by(2, &[4u32, 0, 1, 0]))),
    ("median by label", true, |x| x.nanmedian(Axes::by(0, &[1u32, 0, 1, 0, 0, 0, 1]))),
    ("gradient by label", true, |x| {
        let sums = x.sum(Axes::by(2, &[1u32, 0, 1, 2]));
        sums.gradient(x, &sums.square())
    }),
    ("means by label beside others", true, |x| {
        let means = x.mean(Axes::by(2, &[0u32, 0, 1, 0]));
        concat(1, &[means, x.slice(s![.., .., ..2])])
    }),
    ("means by label before others", true, |x| {
        let means = x.slice(s![.., 2, ..]).mean(Axes::by(1, &[0u32, 0, 1, 0]));
        concat(0, &[means, x.slice(s![.., 0, ..2])])
    }),
    ("by label, all axes", false, |x| x.nansum(Axes::by(0, &[1u32, 0, 1, 2, 0, 0, 1]).and(Axes::all()))),
    ("median of all", true, |x| x.nanmedian(Axes::all())),
    ("median of all, with NaNs", true, |x| x.median(Axes::all().keep_dims())),
    ("median of all that is stored", true, |x| x.abs().stored().nanmedian(Axes::all())),
    ("lower median of all", true, |x| x.stored().nanmedian(lacuna::Nanmedian::over(Axes::all()).lower())),
    ("quantile of all", true, |x| x.nanquantile(0.9, Axes::all())),
    ("quantile of all that is stored", true, |x| x.clamp(-3.0, 3.0).stored().nanquantile(0.31, Axes::all())),
    ("variance of all", true, |x| x.nanvar(Axes::all())),
    ("deviation of all that is stored", true, |x| x.clamp(-3.0, 3.0).stored().nanstd(Axes::all().keep_dims())),
    ("deviation of all, with NaNs", true, |x| x.std(Axes::all())),
    ("product of all", false, |x| x.clamp(-3.0, 3.0).nanprod(Axes::all())),
    ("take flat", false, |x| x.take(vec![5usize, 100, 7])),
    ("whole beside ranges", false, |x| x + &x.take(vec![5usize, 100, 7, 1])),
];

#[test]
fn every_way_to_cut_gives_the_same_bits() {
    for fill in [0.0, 2.5, f64::NAN] {
        let x = cube(fill);
        for (name, ..) in GRAPHS.iter().filter(|(.., graph)| graph(&x.lazy()).collect().is_ok()) {
            let graph = GRAPHS.iter().find(|(other, ..)| other == name).unwrap().2;
            agree(&format!("{name} {fill}"), &graph(&x.lazy()), CooTensor::same_as);
        }
    }
}

#[test]
fn most_graphs_have_a_result_with_some_fill() {
    let [zero, other] = [0.0, f64::NAN].map(|fill| cube(fill).lazy());
    for (name, _, graph) in GRAPHS {
        let found = graph(&zero).collect().or_else(|_| graph(&other).collect());
        assert!(found.is_ok(), "{name} tests nothing: {}", found.unwrap_err());
    }
}

/// `explain` names the data that a graph needs in memory. If all steps can be computed chunk by chunk, there are none.
#[test]
fn what_is_needed_as_a_whole_is_told() {
    let x = cube(0.0).lazy();
    for (name, is_cut, graph) in GRAPHS {
        let told = graph(&x).on(chunks(2)).explain().unwrap();
        assert_eq!(!told.contains(" memory") && !told.contains("entire inputs"), *is_cut, "{name}:\n{told}");
    }
}

#[test]
fn both_formats_pairs_and_arrays_are_cut() {
    let x = cube(0.0);
    let csr = x.to_csr().unwrap().lazy();
    agree("csr", &(csr.abs() + 0.5).sum(1), CsrTensor::same_as);
    agree("csr, first axis", &csr.stored().nanmean(0), CsrTensor::same_as);
    agree("csr, all", &csr.square().nansum(Axes::all()), CsrTensor::same_as);
    agree("formats", &x.lazy().to_csr().flip(2).to_coo(), CooTensor::same_as);
    let pair = x.lazy().clamp(-2.0, 2.0).nanmedian_index(1);
    agree("a pair", &pair, |one, other| one.0.same_as(&other.0) && one.1.same_as(&other.1));
    let dense = Lazy::from(x.to_dense().unwrap());
    let same = |one: &ndarray::ArrayD<f64>, other: &ndarray::ArrayD<f64>| {
        one.shape() == other.shape() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
    };
    agree("arrays", &(dense.abs() - dense.sum(Axes::from(1).keep_dims())), same);
    agree("arrays, first axis", &dense.nanmedian(0), same);
    agree("arrays, all", &dense.nansum(Axes::all()), same);
    agree(
        "arrays of ranges",
        &x.lazy().with_fill(0.0).ttm(&Lazy::from(ndarray::arr2(&[[1.0, 2.0, 3.0, 4.0, 5.0]]).into_dyn()), 1),
        same,
    );
}

#[test]
fn empty_axes_and_ranks_of_zero_are_cut() {
    let none = CooTensor::<f64>::new([0, 3], vec![vec![], vec![]], vec![], 1.0).unwrap().lazy();
    agree("no rows", &none.sqrt(), CooTensor::same_as);
    agree("sums of no rows", &none.sum(1), CooTensor::same_as);
    agree("sums over no rows", &none.sum(0), CooTensor::same_as);
    agree("the sum of nothing", &none.sum(Axes::all()), CooTensor::same_as);
    let blank = CooTensor::<f64>::new([4, 3], vec![vec![], vec![]], vec![], 1.5).unwrap().lazy();
    agree("no entries", &blank.sum(Axes::all()), CooTensor::same_as);
    agree("no entries of a view", &blank.stored().sum(Axes::all()), CooTensor::same_as);
    let one = CooTensor::full([0; 0], 4.0).unwrap().lazy();
    agree("rank 0", &one.sqrt(), CooTensor::same_as);
    // The result is one element, which keeps an axis.
    let column = CooTensor::new([3, 1], vec![vec![1], vec![0]], vec![5.0], 0.0).unwrap().lazy();
    agree("a column", &column.sum(0), CooTensor::same_as);
    agree("a column, as CSR", &column.to_csr().max(0), CsrTensor::same_as);
    agree("nothing goes", &column.slice(ndarray::s![1..2, ..]).any(Axes::none()), CooTensor::same_as);
    // The first rows have no entry, so what the fold has for a pattern comes late.
    let late = CooTensor::new([5], vec![vec![3, 4]], vec![2.0, 7.0], 0.5).unwrap().lazy();
    agree("late", &late.max(0), CooTensor::same_as);
    agree("late, of all", &late.mean(Axes::all().keep_dims()), CooTensor::same_as);
}

/// A range of which all positions are stored cannot know what the others have for a fill: it was refused beside them.
#[test]
fn ranges_without_gaps_take_the_fill_of_the_others() {
    let x = CooTensor::new([3, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![2.0, 3.0, 4.0], 1.0).unwrap().lazy();
    let factors = CooTensor::new([3], vec![vec![0, 1, 2]], vec![5.0, 7.0, 7.0], 0.0).unwrap().lazy();
    agree("rows, each by a factor", &x.scale(0, &factors), CooTensor::same_as);
    agree("columns", &x.transpose().scale(1, &factors), CooTensor::same_as);
}

/// A fold took the fill of the first range that stored anything, which was another one where that had no gaps: the sum
/// of 5, 7 and 7 times rows of (2, 3), (1, 4) and (1, 1) was 56 and not 74.
#[test]
fn folds_take_the_fill_of_the_ranges_with_gaps() {
    let x = CooTensor::new([3, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![2.0, 3.0, 4.0], 1.0).unwrap().lazy();
    let scaled = |factors: [f64; 3]| {
        x.scale(0, &CooTensor::new([3], vec![vec![0, 1, 2]], factors.to_vec(), 0.0).unwrap().lazy())
    };
    let all = scaled([5.0, 7.0, 7.0]);
    assert_eq!(all.sum(Axes::all()).on(chunks(1)).collect().unwrap().item().unwrap(), 74.0);
    agree("sum", &all.sum(Axes::all()), CooTensor::same_as);
    agree("mean", &all.mean(Axes::all()), CooTensor::same_as);
    agree("min", &scaled([0.5, 0.25, 0.25]).min(Axes::all()), CooTensor::same_as);
    agree("norm", &all.norm(Axes::all()), CooTensor::same_as);
    agree("rows", &all.sum(1), CooTensor::same_as);
    agree("columns", &all.max(0), CooTensor::same_as);
    // Gaps of two rows that differ are refused, as a whole and in ranges.
    let varies = scaled([5.0, 7.0, 9.0]).sum(Axes::all());
    assert!(varies.collect().is_err());
    for positions in SIZES {
        assert!(varies.on(chunks(positions)).collect().is_err(), "{positions}");
    }
    let nothing = CooTensor::<f64>::new([3, 2], vec![vec![], vec![]], vec![], 1.0).unwrap().lazy();
    let factors = CooTensor::new([3], vec![vec![0, 1, 2]], vec![1.0, 2.0, 2.0], 0.0).unwrap().lazy();
    assert!(nothing.scale(0, &factors).sum(Axes::all()).on(chunks(1)).collect().is_err());
}

/// Beside an array the gaps of one range may come to one number where those of all come to several.
#[test]
fn gaps_that_differ_from_range_to_range_are_refused() {
    let x = CooTensor::new([3, 2], vec![vec![0, 1], vec![0, 1]], vec![2.0, 3.0], 0.0).unwrap().lazy();
    let array = ndarray::arr2(&[[1.0], [1.0], [2.0]]);
    for (name, varies) in [("add at ", &x + &array), ("sub at ", &array - &x)] {
        assert!(varies.collect().unwrap_err().to_string().contains("a sparse tensor has one fill"));
        for positions in SIZES {
            let refused = varies.on(chunks(positions)).collect().unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains("fill"), "{positions}: {refused}");
            let of_all = varies.sum(Axes::all()).on(chunks(positions)).collect().unwrap_err().to_string();
            assert!(of_all.contains("fill"), "{positions}: {of_all}");
        }
    }
    // A row without gaps comes to any number.
    let x = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 1]], vec![2.0, 3.0, 4.0], 0.0).unwrap().lazy();
    agree("a row without gaps", &(&x + &ndarray::arr2(&[[7.0], [2.0]])), CooTensor::same_as);
}

/// A range without gaps has another fill than the whole. Labels that no position has were stored by the fill of the
/// range, and other reductions refused fills that no element holds.
#[test]
fn reductions_beside_an_array_have_the_fill_of_the_whole() {
    let rows = CooTensor::new([2, 2], vec![vec![0, 0, 1], vec![0, 1, 0]], vec![2.0, 3.0, 4.0], 0.0).unwrap();
    let columns = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 0]], vec![2.0, 3.0], 0.0).unwrap();
    let array = ndarray::arr2(&[[7.0, 7.0], [7.0, 7.0]]).into_dyn();
    let factors = CooTensor::new([2], vec![vec![0, 1]], vec![5.0, 5.0], 0.0).unwrap();
    for x in [&rows, &columns] {
        let beside = &x.lazy() + &array;
        for count in [2, 3] {
            let by = Axes::by(0, GroupLabels::of(&[0, 0]).count(count));
            agree("sums by label", &beside.sum(&by), CooTensor::same_as);
            agree("products by label", &beside.prod(&by), CooTensor::same_as);
            agree("what is stored of sums by label", &beside.sum(&by).stored().mean(0), CooTensor::same_as);
            let scaled = x.clone().with_fill(1.0).lazy().scale(1, &factors.lazy());
            agree("scaled by label", &scaled.sum(&by), CooTensor::same_as);
        }
        for axis in [0, 1] {
            agree("sums", &beside.sum(axis), CooTensor::same_as);
            agree("maxima", &beside.max(axis), CooTensor::same_as);
            agree("functions of means", &(beside.mean(axis) * 2.0), CooTensor::same_as);
        }
    }
}

/// Ranges whose gaps differ are refused where a reduction is along the ranges too.
#[test]
fn reductions_of_gaps_that_differ_are_refused() {
    let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![0, 1]], vec![2.0, 3.0], 0.0).unwrap().lazy();
    let beside = &x + &ndarray::arr2(&[[0.0, 2.0], [1.0, 0.0]]);
    for positions in SIZES {
        for graph in [beside.var(0), beside.sum(0), beside.sum(1)] {
            let error = graph.on(chunks(positions)).collect().unwrap_err().to_string();
            assert!(error.contains("fill"), "{positions}: {error}");
        }
    }
}

/// Shares of what is joined with itself were twice as many each time: thirty times took for ever.
#[test]
fn what_is_joined_with_itself_many_times_is_laid_out_in_time() {
    let x = CooTensor::new([1], vec![vec![0]], vec![1.5], 0.0).unwrap().lazy();
    let joined = |times: usize| (0..times).fold(x.clone(), |y, _| concat(0, &[y.clone(), y]));
    assert_eq!(joined(14).sum(0).on(Chunks::memory(8 << 20)).collect().unwrap().item().unwrap(), 1.5 * 16_384.0);
    assert!(joined(40).sum(0).on(Chunks::memory(1 << 20)).explain().is_ok());
}

#[test]
fn several_results_and_inputs() {
    let x = Lazy::<CooTensor<f64>>::input("x", [7, 5, 4]);
    let y = x.abs() * 2.0;
    let program = compile((&y, &y.sum(0), &x.nansum(Axes::all()))).unwrap();
    let cube = cube(1.0);
    let expected = program.run([x.is(&cube)]).unwrap();
    for positions in SIZES {
        let found = program.run_on(&chunks(positions), [x.is(&cube)]).unwrap();
        assert!(found.0.same_as(&expected.0) && found.1.same_as(&expected.1) && found.2.same_as(&expected.2));
    }
    assert!(program.run_on(&chunks(1), []).unwrap_err().to_string().contains("is not bound"));
}

/// Errors within a range name it; what does not fit names the step.
#[test]
fn errors_name_the_step_and_the_range() {
    let x = CooTensor::new([5, 2], vec![vec![0, 3, 3], vec![0, 0, 1]], vec![1, i64::MAX, 1], 0).unwrap().lazy();
    let error = x.sum(1).on(chunks(2)).collect().unwrap_err().to_string();
    assert!(error.starts_with("sum at tests/chunks.rs:"), "{error}");
    assert!(error.contains("in the chunk 2..4 of axis 0, with positions counted from 2: the result at [1]"), "{error}");
    let error = x.sum(1).on(chunks(9)).collect().unwrap_err().to_string();
    assert!(error.contains("[3]") && !error.contains("positions"), "{error}");

    let big = CooTensor::new([1000], vec![(0..1000).collect()], vec![1.5; 1000], 0.0).unwrap().lazy();
    let refused = |error: Error| match error {
        Error::Lazy { operation, cause, .. } if matches!(*cause, Error::TooLarge { .. }) => operation,
        other => panic!("{other}"),
    };
    let small = Chunks::memory(4000);
    assert_eq!(refused(big.sqrt().on(small.clone()).collect().unwrap_err()), "sqrt");
    assert_eq!(refused(big.prod(Axes::all()).on(small.clone()).collect().unwrap_err()), "prod");
    assert_eq!(big.nanmedian(Axes::all()).on(small.clone()).collect().unwrap().item().unwrap(), 1.5);
    assert_eq!(big.sqrt().sum(Axes::all()).on(small).collect().unwrap().item().unwrap(), 1000.0 * 1.5f64.sqrt());
}

/// An upstream gradient of another shape is refused before anything is cut. It was a panic.
#[test]
fn an_upstream_gradient_of_another_shape_is_refused_and_not_cut() {
    let lazy = lacuna::lazy::Lazy::<ndarray::ArrayD<f64>>::input("x", [3, 3]);
    for upstream in [lazy.diagonal(-1), lazy.slice(ndarray::s![.., 1..])] {
        let gradient = lazy.sum(Axes::from(0).keep_dims()).gradient(&lazy, &upstream);
        let refused = gradient.check().unwrap_err();
        assert!(refused.to_string().contains("shape"), "{refused}");
    }
}

/// A step would make 17 MB of a range that is all of it, which is more than a quarter of the memory.
#[test]
fn a_range_of_which_a_step_would_make_too_much_is_computed_in_parts() {
    let rows = (0..900).filter(|row| row % 3 != 1).collect::<Vec<u32>>();
    let values = rows.iter().map(|&row| f64::from(row) * 0.37 - 90.0).collect();
    let x = CooTensor::new([900, 1], vec![rows.clone(), vec![0; rows.len()]], values, 0.5).unwrap();
    let row = CooTensor::new([1, 1200], vec![vec![0; 1200], (0..1200).collect()], vec![0.25; 1200], 0.5).unwrap();
    let (csr, x, row) = (x.to_csr().unwrap().lazy(), x.lazy(), row.lazy());
    let engine = Chunks::memory(60 << 20);
    for (name, graph) in [
        ("repeat", x.repeat(1200, 1)),
        ("tile", x.tile([1, 1200]).abs()),
        ("a row", &x + &row),
        ("first axis", x.transpose().repeat(1200, 0)),
        ("sums", x.broadcast_to([900, 1200]).sum(1)),
    ] {
        let found = graph.on(engine.clone()).collect().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.same_as(&graph.collect().unwrap()), "{name}");
    }
    let repeated = csr.repeat(1200, 1);
    assert!(repeated.on(engine).collect().unwrap().same_as(&repeated.collect().unwrap()));
}

/// Some rows of a product are full, and others hold an entry: of ranges that are computed at once the second one makes
/// too much and is left in parts, and those behind it come after these.
#[test]
fn ranges_behind_one_that_makes_too_much_come_after_its_parts() {
    let coords = (0..1000_u32).flat_map(|row| (0..1 + u32::from((250..330).contains(&row))).map(move |at| (row, at)));
    let (rows, columns): (Vec<u32>, Vec<u32>) = coords.unzip();
    let values = rows.iter().map(|&row| f64::from(row) + 0.25).collect();
    let x = CooTensor::new([1000, 2], vec![rows, columns], values, 0.0).unwrap().lazy();
    let (rows, columns) = std::iter::once((0, 5)).chain((0..10_000).map(|column| (1, column))).unzip();
    let full = CooTensor::new([2, 10_000], vec![rows, columns], vec![1.5; 10_001], 0.0).unwrap().lazy();
    let sums = x.matmul(&full).sum(1);
    let expected = sums.collect().unwrap();
    for threads in [1, 2, 4, 20] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| sums.on(Chunks::memory(8 << 20).positions(100)).collect().unwrap());
        assert!(found.same_as(&expected), "{threads} threads");
    }
    // Alone each row may make 4 MiB; of several at once none may make the half of that.
    let row = |row: u32| (0..100).map(move |column| (row, column));
    let (rows, columns): (Vec<u32>, Vec<u32>) = (0..12).flat_map(row).unzip();
    let values = (0..1200).map(|at| f64::from(at) * 0.1).collect();
    let x = CooTensor::new([12, 100], vec![rows, columns], values, 0.0).unwrap().lazy();
    let sums = x.repeat(1500, 1).sum(1);
    let expected = sums.collect().unwrap();
    for threads in [1, 4, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| sums.on(Chunks::memory(16 << 20).positions(1)).collect().unwrap());
        assert!(found.same_as(&expected), "{threads} threads");
    }
}

/// The bytes and the limit of a refusal.
fn refused<V: Value>(graph: &Lazy<V>, memory: u64) -> Option<(u64, u64)> {
    let mut error = graph.on(Chunks::memory(memory)).collect().err()?;
    loop {
        error = match error {
            Error::Lazy { cause, .. } | Error::InRange { cause, .. } => *cause,
            Error::TooLarge { bytes, limit, .. } => return Some((bytes as u64, limit)),
            other => panic!("{other}"),
        };
    }
}

/// The limit was that of a part of the memory, which nobody had named.
#[test]
fn what_does_not_fit_names_the_memory_that_was_given_and_the_one_that_is_enough() {
    let column = CooTensor::new([200, 1], vec![(0..200).collect(), vec![0; 200]], vec![1.5; 200], 0.0).unwrap().lazy();
    let cell = CooTensor::new([1, 1], vec![vec![0]; 2], vec![1.5], 0.0).unwrap().lazy();
    let few = column.prod(0);
    let repeated = cell.broadcast_to([1, 400_000]).sum(1);
    for (memory, found) in [(4096, refused(&few, 4096)), (1 << 20, refused(&repeated, 1 << 20))] {
        let (bytes, limit) = found.unwrap();
        assert!(bytes > memory && limit == memory, "{bytes} {limit}");
    }
    assert_eq!(refused(&few, 4096).unwrap().0, 6400);
    let (enough, _) = refused(&repeated, 1 << 20).unwrap();
    assert_eq!(refused(&repeated, enough - 1), Some((enough, enough - 1)));
    assert_eq!([enough, 2 * enough, 1 << 40].map(|memory| refused(&repeated, memory)), [None; 3]);
}
