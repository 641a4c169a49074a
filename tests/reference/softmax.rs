//! Softmax of groups of elements in `f64`: exponentials over their exact sum.

use super::dense::{Dense, Sparse, groups, ravel, unravel};
use super::exact::{F64, Real, SummedFloat};

fn exact_sum(numbers: impl Iterator<Item = f64>) -> f64 {
    Real::sum(numbers.map(Real::of)).over(1, F64)
}

/// The exponentials of a group, their sum, and the differences from the greatest.
fn parts(group: &[f64]) -> (Vec<f64>, f64, Vec<f64>) {
    let greatest = match group.iter().any(|x| x.is_nan()) {
        true => f64::NAN,
        false => group.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    let differences: Vec<f64> = group.iter().map(|x| x - greatest).collect();
    let exps: Vec<f64> = differences.iter().map(|&x| libm::exp(x)).collect();
    let sum = exact_sum(exps.iter().copied());
    (exps, sum, differences)
}

/// The shares of a group.
pub fn shares(group: &[f64], _: &[f64]) -> Vec<f64> {
    let (exps, sum, _) = parts(group);
    exps.iter().map(|exp| exp / sum).collect()
}

/// Their logarithms.
pub fn logarithms(group: &[f64], _: &[f64]) -> Vec<f64> {
    let (_, sum, differences) = parts(group);
    differences.iter().map(|x| x - libm::log(sum)).collect()
}

/// The gradients of the shares.
pub fn share_gradients(group: &[f64], g: &[f64]) -> Vec<f64> {
    if g.iter().all(|&g| g == 0.0) {
        return vec![0.0; g.len()];
    }
    let shares = shares(group, g);
    let mean = exact_sum(shares.iter().zip(g).filter(|(_, g)| **g != 0.0).map(|(share, g)| share * g));
    shares.iter().zip(g).map(|(share, g)| share * (g - mean)).collect()
}

/// The gradients of the logarithms.
pub fn logarithm_gradients(group: &[f64], g: &[f64]) -> Vec<f64> {
    if g.iter().all(|&g| g == 0.0) {
        return vec![0.0; g.len()];
    }
    let sum = exact_sum(g.iter().copied());
    shares(group, g).iter().zip(g).map(|(share, g)| g - share * sum).collect()
}

/// The results of a group, from its elements and their upstream gradients.
pub type Rule = fn(&[f64], &[f64]) -> Vec<f64>;

/// A rule on the elements of each group, which are those that are stored.
pub fn by_rule<T: SummedFloat>(x: &Sparse<T>, axes: &[usize], g: &Dense<T>, fill: f64, rule: Rule) -> Sparse<T> {
    let narrow = |wide: f64| T::narrow(Real::of(wide.abs()).over(1, T::KIND).copysign(wide));
    let mut entries = x.entries.clone();
    for cell in groups(&x.shape, axes, false).cells {
        let at: Vec<Vec<usize>> = cell.iter().map(|&position| unravel(position as u128, &x.shape)).collect();
        let at: Vec<&Vec<usize>> = at.iter().filter(|at| x.entries.contains_key(*at)).collect();
        let group: Vec<f64> = at.iter().map(|at| x.entries[*at].wide()).collect();
        let gradients: Vec<f64> = at.iter().map(|at| g.data[ravel(at, &g.shape) as usize].wide()).collect();
        for (at, found) in at.into_iter().zip(rule(&group, &gradients)) {
            entries.insert(at.clone(), if found.is_nan() { T::narrow(f64::NAN) } else { narrow(found) });
        }
    }
    Sparse { shape: x.shape.clone(), entries, fill: T::narrow(fill) }
}
