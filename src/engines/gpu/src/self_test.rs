//! The test of an adapter at its first use.

use std::sync::Mutex;

use lacuna::lazy::Lazy;
use lacuna::ndarray::s;
use lacuna::{CooTensor, Element, Error, Pattern, Result, Tensor};

use crate::Gpu;
use crate::context::{failed, locked};

/// The adapters that have passed in this process.
static PASSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Compares steps of each kind with threads, and rejects an adapter whose results differ.
pub(crate) fn check(gpu: &Gpu, again: bool) -> Result<()> {
    if !again && locked(&PASSED).iter().any(|name| name == gpu.name()) {
        return Ok(());
    }
    let x = sample(ordinary, 1.5)?;
    let (there, csr) = (gpu.upload(&x)?.lazy(), gpu.upload(&x.to_csr()?)?.lazy());
    same(gpu, &there.isin([1.5, 0.0]))?;
    same(gpu, &there.greater_equal(0.0))?;
    same(gpu, &there.any(0))?;
    same(gpu, &csr.all(1))?;
    same(gpu, &there.stored().nanargmin(0))?;
    same(gpu, &there.nansum(0))?;
    same(gpu, &csr.nanmean(1))?;
    same(gpu, &csr.nanmedian(1))?;
    same(gpu, &there.take(vec![0_u32, 7, 350, 281]))?;
    same(gpu, &csr.take_axis(vec![3_u32, 0, 3, 6], 0))?;
    same(gpu, &there.slice(s![1..;3, ..;-2]).transpose())?;
    same(gpu, &there.stored().mask(&there.flip(1).pattern()))?;
    let repeated = there.take_axis(vec![5_u32, 2, 5], 0);
    same(gpu, &repeated.gradient(&there, &repeated))?;
    let medians = there.stored().nanmedian(1);
    same(gpu, &medians.gradient(&there, &medians))?;
    same(gpu, &there.nanmedian_index(0).parts().1)?;
    let edges = gpu.upload(&sample(edge, f64::INFINITY)?)?.lazy();
    same(gpu, &edges.isfinite())?;
    same(gpu, &edges.nanargmax(0))?;
    same(gpu, &edges.stored().nanmedian(0))?;
    let tiny = gpu.upload(&sample(|at| f64::from_bits(at as u64 * 3), 0.0)?)?.lazy();
    same(gpu, &tiny.mean(0))?;
    let carries = sample(|at| [f64::EPSILON / 2.0, 2.0 - f64::EPSILON][at % 2], 0.0)?;
    same(gpu, &gpu.upload(&carries)?.lazy().sum(0))?;
    // A quotient that is a tie but for its remainder.
    let nearly_tied = CooTensor::new([7_879_695], vec![vec![0]], vec![1], 0)?;
    same(gpu, &gpu.upload(&nearly_tied)?.lazy().mean(0))?;
    if !again {
        locked(&PASSED).push(gpu.name().to_string());
    }
    Ok(())
}

/// Zeros, NaN, infinities, and values that are rounded when they are added.
fn ordinary(at: usize) -> f64 {
    match at % 11 {
        0 => f64::NAN,
        1 => -0.0,
        2 => f64::INFINITY,
        left => (at as f64 - 90.5) * 0.1f64.powi(left as i32),
    }
}

/// Values at the ends of the range of floats.
fn edge(at: usize) -> f64 {
    [f64::MAX, -f64::MAX, 5e-324, -5e-324, f64::MIN_POSITIVE, 0.0, f64::NAN, f64::NEG_INFINITY][at * 5 % 8]
}

/// Returns a tensor of some 200 entries with these values.
fn sample(value: impl Fn(usize) -> f64, fill: f64) -> Result<CooTensor<f64>> {
    let mut entries: Vec<(u32, u32)> = (0..200).map(|at| (at * 7 / 200, at * 10 % 57)).collect();
    entries.sort_unstable();
    entries.dedup();
    let values = (0..entries.len()).map(value).collect();
    let (rows, columns) = entries.into_iter().unzip();
    CooTensor::new([7, 57], vec![rows, columns], values, fill)
}

fn same<P: Pattern, T: Element>(gpu: &Gpu, graph: &Lazy<Tensor<P, T>>) -> Result<()> {
    match graph.on(gpu.strict()).collect() {
        Ok(found) if found.same_as(&graph.collect()?) => Ok(()),
        Err(error @ Error::Engine { .. }) => Err(error),
        // The entries of a wrong result may be rejected.
        _ => Err(failed(format!("the adapter {} computes wrong results: {graph:?}", gpu.name()))),
    }
}
