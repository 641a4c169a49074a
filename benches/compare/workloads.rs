//! What is timed: each family of workloads once, by name and parameters.

use std::fs::File;
use std::path::PathBuf;

use lacuna::io::{FileElement, FileFormat, WriteOptions, write_to};
use lacuna::prelude::*;
use lacuna::{Axes, CooTensor, CsrTensor, Duplicates, Element, Number, Pattern, Real, Take, TakeMode, Tensor};
use num_complex::Complex;

use crate::data::{DataSet, key_sum, sum, trues};
use crate::{Figures, Result, Workload, measure, measure_with};

/// All workloads, by name.
pub(crate) fn all() -> Vec<(String, Workload)> {
    let mut all: Vec<(String, Workload)> = Vec::new();
    let mut add = |name: String, workload: Workload| all.push((name, workload));
    for set in ["coo2d_f64", "coo2d_pow", "coo2d_f32", "coo_allzero"] {
        for axis in if set == "coo_allzero" { &["None"][..] } else { &["0", "1", "None"] } {
            let of_f32 = set.ends_with("f32");
            add(
                format!("any_coo/{set}/{axis}"),
                if of_f32 { run_on(set, axis, any_coo::<f32>) } else { run_on(set, axis, any_coo::<f64>) },
            );
        }
    }
    for (set, axes) in [("coo3d_f64", &["0", "1", "2", "0x1", "0x2", "1x2"][..]), ("coo3d_huge", &["0", "2"])] {
        axes.iter().for_each(|axes| add(format!("any_coo/{set}/{axes}"), run_on(set, axes, any_coo::<f64>)));
    }
    for set in ["csr_10m", "csr_skew", "csr_batch"] {
        add(format!("any_csr/{set}/-1"), run_on(set, "-1", any_csr));
    }
    for members in [4, 16, 256, 10_000, 1_000_000, 10_000_000] {
        for hits in [0, 50, 100] {
            for (tag, run) in [("f64", isin::<f64> as Run), ("i64", isin::<i64>), ("i32", isin::<i32>)] {
                let set = format!("isin_{tag}_{members}_h{hits}");
                add(format!("isin/{}", &set[5..]), run_on(&set, "", run));
            }
        }
    }
    add("isin/i64_ids".into(), run_on("isin_i64_ids", "", isin::<i64>));
    for (positions, mode) in [
        ("random", "raise"),
        ("sorted", "raise"),
        ("negative", "raise"),
        ("random", "clip"),
        ("oob", "wrap"),
        ("oob", "clip"),
    ] {
        add(format!("take/{positions}/{mode}"), run_on("take", &format!("{positions} {mode}"), take));
    }
    for (set, axes) in [("nan_1d_f64", "None"), ("nan_2d_f64", "1"), ("nan_2d_f64", "0"), ("nan_3d_f64", "0x2")] {
        add(format!("nanmedian/{set}/{axes}"), run_on(set, axes, nanmedian::<f64>));
    }
    for (set, axes) in [("nan_1d_f32", "None"), ("nan_2d_f32", "1")] {
        add(format!("nanmedian/{set}/{axes}"), run_on(set, axes, nanmedian::<f32>));
    }
    add("isposinf/f32".into(), run_on("inf_f32", "", isposinf::<f32>));
    add("isposinf/f64".into(), run_on("inf_f64", "", isposinf::<f64>));
    add("isreal/c64".into(), run_on("inf_c64", "", isreal::<Complex<f32>>));
    add("coo_to_csr/sorted".into(), run_on("coo2d_f64", "", sorted_to_csr));
    add("coo_to_csr/shuffled".into(), run_on("coo2d_shuf", "", shuffled_to_csr));
    add("csr_to_coo".into(), run_on("csr_10m", "", csr_to_coo));
    add("coalesce/dup3d".into(), run_on("dup3d", "", coalesce));
    for (set, name) in [("coo3d_f64", "coo3d/2x0x1"), ("coo3d_f64", "coo3d/1x0x2"), ("coo2d_f64", "coo2d/1x0")] {
        add(format!("permute/{name}"), run_on(set, &name[6..], permute));
    }
    for axis in ["0", "1"] {
        add(format!("sparse_nanmedian/spmed/{axis}"), run_on("spmed", axis, sparse_nanmedian));
    }
    for axis in ["0", "1", "None"] {
        for (name, run) in REDUCTIONS {
            add(format!("{name}/mat/{axis}"), run_on("mat", axis, run));
        }
    }
    add("mtx_read".into(), run_on("mtx", "", mtx_read));
    add("mtx_write".into(), run_on("mtx", "", mtx_write));
    for common in ["same", "half", "disjoint"] {
        for op in ["add", "mul"] {
            for format in ["coo", "csr"] {
                add(
                    format!("{op}_{format}/{common}"),
                    run_on(&format!("pair_{common}"), &format!("{op} {format}"), pair),
                );
            }
        }
    }
    add("row_mul/mat".into(), run_on("mat", "", row_mul));
    all.extend(crate::moves::all());
    all.extend(crate::products::all());
    all
}

/// A family: runs on a data set with parameters.
pub(crate) type Run = fn(&DataSet, &str) -> Result<Figures>;

pub(crate) fn run_on(set: &str, parameters: &str, run: Run) -> Workload {
    let (set, parameters) = (set.to_string(), parameters.to_string());
    Box::new(move |data| run(&DataSet(data.join(&set)), &parameters))
}

/// `0x2` as the axes 0 and 2; `None` as all.
fn axes(text: &str) -> Result<Axes> {
    match text {
        "None" => Ok(Axes::all()),
        _ => Ok(Axes::from(text.split('x').map(str::parse).collect::<std::result::Result<Vec<isize>, _>>()?)),
    }
}

fn any_coo<T: FileElement>(data: &DataSet, over: &str) -> Result<Figures> {
    let (x, over) = (data.coo::<T>()?, axes(over)?);
    measure(
        || Ok(x.any(&over)?),
        |result| match result.rank() {
            0 => Ok(trues(result.values())),
            _ => Ok(vec![key_sum(&result, |truth| truth)]),
        },
    )
}

fn any_csr(data: &DataSet, over: &str) -> Result<Figures> {
    let (x, over) = (data.csr()?, axes(over)?);
    measure(|| Ok(x.any(&over)?), |result| Ok(trues(result.values())))
}

/// The reductions of the algebra, as families of their own.
const REDUCTIONS: [(&str, Run); 10] = [
    ("sum_coo", |data, over| reduce_coo(data, over, |x, axes| x.sum(axes))),
    ("sum_csr", |data, over| reduce_csr(data, over, |x, axes| x.sum(axes))),
    ("mean_coo", |data, over| reduce_coo(data, over, |x, axes| x.mean(axes))),
    ("mean_csr", |data, over| reduce_csr(data, over, |x, axes| x.mean(axes))),
    ("var_coo", |data, over| reduce_coo(data, over, |x, axes| x.var(axes))),
    ("var_csr", |data, over| reduce_csr(data, over, |x, axes| x.var(axes))),
    ("max_coo", |data, over| reduce_coo(data, over, |x, axes| x.max(axes))),
    ("max_csr", |data, over| reduce_csr(data, over, |x, axes| x.max(axes))),
    ("argmax_coo", |data, over| reduce_coo(data, over, |x, axes| x.argmax(axes))),
    ("argmax_csr", |data, over| reduce_csr(data, over, |x, axes| x.argmax(axes))),
];

/// The sum of all elements of a result, gaps included.
fn element_sum<P: Pattern, T: Element>(x: &Tensor<P, T>) -> Result<Vec<f64>> {
    let number = |value: T| match value.to_number() {
        Number::Integer(integer) => integer as f64,
        Number::Real(real) => real,
        Number::Complex(..) => f64::NAN,
    };
    let gaps = x.shape().iter().product::<usize>() - x.nnz();
    Ok(vec![sum(x.values().iter().map(|&value| number(value))) + gaps as f64 * number(x.fill())])
}

fn reduce_coo<T: Element>(
    data: &DataSet,
    over: &str,
    reduce: impl Fn(&CooTensor<f64>, &Axes) -> lacuna::Result<CooTensor<T>>,
) -> Result<Figures> {
    let (x, over) = (data.coo::<f64>()?, axes(over)?);
    measure(|| Ok(reduce(&x, &over)?), |result| element_sum(&result))
}

fn reduce_csr<T: Element>(
    data: &DataSet,
    over: &str,
    reduce: impl Fn(&CsrTensor<f64>, &Axes) -> lacuna::Result<CsrTensor<T>>,
) -> Result<Figures> {
    let (x, over) = (data.coo::<f64>()?.to_csr()?, axes(over)?);
    measure(|| Ok(reduce(&x, &over)?), |result| element_sum(&result))
}

fn isin<T: FileElement>(data: &DataSet, _: &str) -> Result<Figures> {
    let (x, test) = (data.array::<T>("x")?, data.array::<T>("test")?);
    measure(|| Ok(x.isin(&test)?), |result| Ok(trues(&result)))
}

fn take(data: &DataSet, parameters: &str) -> Result<Figures> {
    let (positions, mode) = parameters.split_once(' ').ok_or("no mode")?;
    let (x, positions) = (data.array::<f64>("x")?, data.array::<i64>(positions)?);
    let mode = match mode {
        "wrap" => TakeMode::Wrap,
        "clip" => TakeMode::Clip,
        _ => TakeMode::Raise,
    };
    measure(|| Ok(lacuna::take(&x, Take::at(&positions).mode(mode))?), |result| Ok(vec![sum(result.iter().copied())]))
}

fn nanmedian<T: FileElement + Real<Median = T> + Into<f64>>(data: &DataSet, over: &str) -> Result<Figures> {
    let (x, over) = (data.array::<T>("x")?, axes(over)?);
    measure(|| Ok(lacuna::nanmedian(&x, &over)?), |result| Ok(vec![sum(result.iter().map(|&value| value.into()))]))
}

fn sparse_nanmedian(data: &DataSet, over: &str) -> Result<Figures> {
    let (x, over) = (data.coo::<f64>()?, axes(over)?);
    measure(|| Ok(x.nanmedian(&over)?), |result| Ok(vec![sum(result.values().iter().copied())]))
}

fn isposinf<T: FileElement + Real>(data: &DataSet, _: &str) -> Result<Figures> {
    let x = data.array::<T>("x")?;
    measure(|| Ok(lacuna::isposinf(&x)?), |result| Ok(trues(&result)))
}

fn isreal<T: FileElement + Element>(data: &DataSet, _: &str) -> Result<Figures> {
    let x = data.array::<T>("x")?;
    measure(|| Ok(lacuna::isreal(&x)?), |result| Ok(trues(&result)))
}

/// The sums of row offsets, columns and values.
pub(crate) fn csr_sums(x: lacuna::CsrTensor<f64>) -> Result<Vec<f64>> {
    let offsets = sum(x.offsets().iter().map(|&offset| offset as f64));
    Ok(vec![offsets, sum(x.columns().iter().map(|&column| f64::from(column))), sum(x.values().iter().copied())])
}

/// Columns and values are shared with the input, as torch shares them: what is left is to count the offsets.
fn sorted_to_csr(data: &DataSet, _: &str) -> Result<Figures> {
    let x = data.coo::<f64>()?;
    measure(|| Ok(x.to_csr()?), csr_sums)
}

fn shuffled_to_csr(data: &DataSet, _: &str) -> Result<Figures> {
    let triplets = data.triplets()?;
    measure_with(|| triplets.clone(), |triplets| Ok(triplets.coalesce_csr(Duplicates::Sum)?), csr_sums)
}

fn csr_to_coo(data: &DataSet, _: &str) -> Result<Figures> {
    let x = data.csr()?;
    let rows = |x: &CooTensor<f64>| sum(x.coords(0).iter().map(|&row| f64::from(row)));
    measure_with(|| x.clone(), |x| Ok(x.into_coo()?), |result| Ok(vec![rows(&result)]))
}

/// The sums of the row-major positions and of the values.
fn coo_sums(x: CooTensor<f64>) -> Result<Vec<f64>> {
    Ok(vec![key_sum(&x, |_| true), sum(x.values().iter().copied())])
}

fn coalesce(data: &DataSet, _: &str) -> Result<Figures> {
    let triplets = data.triplets()?;
    measure_with(|| triplets.clone(), |triplets| Ok(triplets.coalesce(Duplicates::Sum)?), coo_sums)
}

fn permute(data: &DataSet, order: &str) -> Result<Figures> {
    let x = data.coo::<f64>()?;
    let order = order.split('x').map(str::parse).collect::<std::result::Result<Vec<isize>, _>>()?;
    measure(|| Ok(x.permute_axes(&order)?), coo_sums)
}

/// The sums of rows, columns and values.
fn matrix_sums(x: CooTensor<f64>) -> Result<Vec<f64>> {
    let axis = |axis| sum(x.coords(axis).iter().map(|&coord| f64::from(coord)));
    Ok(vec![axis(0), axis(1), sum(x.values().iter().copied())])
}

fn mtx_read(data: &DataSet, _: &str) -> Result<Figures> {
    measure(|| data.matrix("matrix.mtx"), matrix_sums)
}

/// A folder whose file is removed in the end.
struct Scratch(DataSet, String);

impl Scratch {
    fn new() -> Self {
        let folder = std::env::var_os("MEM_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        Scratch(DataSet(folder), format!("lacuna-compare-{}.mtx", std::process::id()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0.path(&self.1));
    }
}

/// Writes over the same file again and again, as the others do; what is checked is the file read back.
fn mtx_write(data: &DataSet, _: &str) -> Result<Figures> {
    let tensor = data.coo::<f64>()?;
    let scratch = Scratch::new();
    let run = || {
        let file = File::create(scratch.0.path(&scratch.1))?;
        Ok(write_to(file, FileFormat::MatrixMarket, &tensor, &WriteOptions::default())?)
    };
    measure(run, |()| matrix_sums(scratch.0.matrix(&scratch.1)?))
}

/// Two matrices added or multiplied, in one format.
fn pair(data: &DataSet, parameters: &str) -> Result<Figures> {
    let (op, format) = parameters.split_once(' ').ok_or("no format")?;
    let (a, b) = (data.one_of_pair("a")?, data.one_of_pair("b")?);
    let is_sum = op == "add";
    if format == "coo" {
        return measure(|| Ok(if is_sum { a.add(&b)? } else { a.mul(&b)? }), coo_sums);
    }
    let (a, b) = (a.into_csr()?, b.into_csr()?);
    measure(|| Ok(if is_sum { a.add(&b)? } else { a.mul(&b)? }), |result| coo_sums(result.into_coo()?))
}

/// Every row times one row: each column times its own number.
fn row_mul(data: &DataSet, _: &str) -> Result<Figures> {
    let (x, row) = (data.coo::<f64>()?.into_csr()?, data.list::<f64>("row")?);
    measure(|| Ok(x.scale(1, &row)?), |result| coo_sums(result.into_coo()?))
}
