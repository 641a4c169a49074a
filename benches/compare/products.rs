//! Products of matrices and of tensors with matrices.

use lacuna::CsrTensor;
use ndarray::{Array2, ArrayD, Ix2};

use crate::data::{DataSet, key_sum, sum};
use crate::workloads::{Run, run_on};
use crate::{Figures, Result, Workload, measure};

/// All of them, by name.
pub(crate) fn all() -> Vec<(String, Workload)> {
    let named: [(&str, &str, &str, Run); 10] = [
        ("spmv/mat", "mat", "", spmv),
        ("spmv_t/mat", "mat", "", spmv_t),
        ("spmm/k32", "spmm", "", spmm),
        ("spgemm/graph", "graph", "", spgemm),
        ("spgemm_on/graph", "graph", "", spgemm_on),
        ("sddmm/k64", "sddmm", "", sddmm),
        ("mttkrp/r16/0", "t3", "0", mttkrp),
        ("mttkrp/r16/1", "t3", "1", mttkrp),
        ("mttkrp/r16/2", "t3", "2", mttkrp),
        ("tensordot/last_r16", "t3", "", tensordot),
    ];
    named.into_iter().map(|(name, set, parameters, run)| (name.to_string(), run_on(set, parameters, run))).collect()
}

fn csr(data: &DataSet) -> Result<CsrTensor<f64>> {
    Ok(data.coo::<f64>()?.into_csr()?)
}

fn elements(result: ArrayD<f64>) -> Result<Vec<f64>> {
    Ok(vec![sum(result.into_iter())])
}

fn entries(result: CsrTensor<f64>) -> Result<Vec<f64>> {
    let result = result.into_coo()?;
    Ok(vec![key_sum(&result, |value| value != 0.0), sum(result.values().iter().copied())])
}

fn matrix(data: &DataSet, name: &str) -> Result<Array2<f64>> {
    Ok(data.array::<f64>(name)?.into_dimensionality::<Ix2>()?)
}

fn spmv(data: &DataSet, _: &str) -> Result<Figures> {
    let (a, x) = (csr(data)?, data.array::<f64>("x")?);
    measure(|| Ok(a.matmul(&x)?), elements)
}

/// The vector on the left: the matrix is read as it lies.
fn spmv_t(data: &DataSet, _: &str) -> Result<Figures> {
    let (a, x) = (csr(data)?, data.list::<f64>("x")?);
    let x: Vec<f64> = x.into_iter().cycle().take(a.shape()[0]).collect();
    let x = ndarray::Array1::from_vec(x);
    measure(|| Ok(lacuna::matmul(&x, &a)?), elements)
}

fn spmm(data: &DataSet, _: &str) -> Result<Figures> {
    let (a, b) = (csr(data)?, matrix(data, "dense")?);
    measure(|| Ok(a.matmul(&b)?), elements)
}

fn spgemm(data: &DataSet, _: &str) -> Result<Figures> {
    let a = csr(data)?;
    measure(|| Ok(a.matmul(&a)?), entries)
}

/// The square on the graph itself.
fn spgemm_on(data: &DataSet, _: &str) -> Result<Figures> {
    let a = csr(data)?;
    measure(|| Ok(a.matmul_with(&a, a.pattern())?), entries)
}

fn sddmm(data: &DataSet, _: &str) -> Result<Figures> {
    let (a, l, r) = (csr(data)?, matrix(data, "left")?, matrix(data, "dense")?);
    measure(|| Ok(a.stored().sddmm(&l, &r)?), |result| Ok(vec![sum(result.values().iter().copied())]))
}

fn mttkrp(data: &DataSet, mode: &str) -> Result<Figures> {
    let (x, mode) = (data.coo::<f64>()?, mode.parse::<usize>()?);
    let factors = ["f0", "f1", "f2"].map(|name| matrix(data, name)).into_iter().collect::<Result<Vec<_>>>()?;
    let others: Vec<_> = factors.iter().enumerate().filter(|(axis, _)| *axis != mode).map(|(_, f)| f).collect();
    measure(|| Ok(lacuna::mttkrp(&x, mode, &others)?), |result| elements(result.into_dyn()))
}

fn tensordot(data: &DataSet, _: &str) -> Result<Figures> {
    let (x, f) = (data.coo::<f64>()?, matrix(data, "f2")?);
    measure(|| Ok(x.matmul(&f)?), elements)
}
