//! Entries chosen and moved, and functions of one element.

use lacuna::{CsrTensor, Result as Answer, concat, stack};
use ndarray::s;

use crate::data::{DataSet, key_sum, sum};
use crate::workloads::{Run, csr_sums, run_on};
use crate::{Figures, Result, Workload, measure};

/// All of them, by name.
pub(crate) fn all() -> Vec<(String, Workload)> {
    let named: [(&str, &str, Run); 13] = [
        ("expm1/mat", "mat", |data, _| each(data, |x| x.exp_m1())),
        ("exp/mat", "mat", |data, _| each(data, |x| x.exp())),
        ("log1p_abs/mat", "mat", |data, _| each(data, |x| x.abs()?.ln_1p())),
        ("select_gt/mat", "mat", |data, _| moved(data, |x| x.select(|value| value > 1.0))),
        ("slice_rows/mat", "mat", |data, _| moved(data, |x| x.slice(s![200_000..700_000, ..]))),
        ("slice_cols/mat", "mat", |data, _| moved(data, |x| x.slice(s![.., 200_000..700_000]))),
        ("slice_steps/mat", "mat", |data, _| moved(data, |x| x.slice(s![..;3, ..;2]))),
        ("slice_reversed/mat", "mat", |data, _| moved(data, |x| x.slice(s![..;-1, ..]))),
        ("mask_rows/mat", "mat", mask_rows),
        ("concat/0", "pair_half", |data, _| joined(data, |pair| concat(0, pair))),
        ("concat/1", "pair_half", |data, _| joined(data, |pair| concat(1, pair))),
        ("stack/0", "pair_half", |data, _| joined(data, |pair| stack(0, pair))),
        ("csr_to_csc/mat", "mat", to_csc),
    ];
    named.into_iter().map(|(name, set, run)| (name.to_string(), run_on(set, "", run))).collect()
}

/// The sums of the stored values in their order, and of the fill.
fn each(data: &DataSet, function: impl Fn(&CsrTensor<f64>) -> Answer<CsrTensor<f64>>) -> Result<Figures> {
    let x = data.coo::<f64>()?.into_csr()?;
    measure(|| Ok(function(&x)?), |result| Ok(vec![sum(result.values().iter().copied()), result.fill()]))
}

/// The sums of the row-major positions and of the values.
fn entries(result: CsrTensor<f64>) -> Result<Vec<f64>> {
    let result = result.into_coo()?;
    Ok(vec![key_sum(&result, |_| true), sum(result.values().iter().copied())])
}

fn moved(data: &DataSet, function: impl Fn(&CsrTensor<f64>) -> Answer<CsrTensor<f64>>) -> Result<Figures> {
    let x = data.coo::<f64>()?.into_csr()?;
    measure(|| Ok(function(&x)?), entries)
}

fn mask_rows(data: &DataSet, _: &str) -> Result<Figures> {
    let mask: Vec<bool> = data.list("mask")?;
    moved(data, |x| x.take_axis(&mask[..], 0))
}

fn joined(data: &DataSet, join: impl Fn(&[CsrTensor<f64>]) -> Answer<CsrTensor<f64>>) -> Result<Figures> {
    let pair = [data.one_of_pair("a")?.into_csr()?, data.one_of_pair("b")?.into_csr()?];
    measure(|| Ok(join(&pair)?), entries)
}

/// The rows of the transposed matrix are the columns.
fn to_csc(data: &DataSet, _: &str) -> Result<Figures> {
    let x = data.coo::<f64>()?.into_csr()?;
    measure(|| Ok(x.transpose()?), csr_sums)
}
