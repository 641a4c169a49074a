//! Reductions of a group, each the plainest reading of its definition: the group is a list of its values with their
//! positions, and `None` stands for an error.

use super::dense::{Dense, Groups, Sparse, groups, ravel, reduced_coords, reduced_shape, unravel};
use super::exact::{F64, Real, Summed, SummedFloat, total};
use super::scalar::{RealScalar, Scalar};
use std::cmp::Ordering::{Equal, Greater, Less};

/// The elements of a group with their row-major positions in it.
pub type Group<T> = [(u64, T)];

/// One value for each group of an array.
pub fn reduce<T: Scalar, U: Scalar>(
    x: &Dense<T>,
    axes: &[usize],
    keep_dims: bool,
    of: impl Fn(&Group<T>) -> Option<U>,
) -> Option<Dense<U>> {
    reduce_groups(x, &groups(&x.shape, axes, keep_dims), of)
}

/// One value for each of some groups.
pub fn reduce_groups<T: Scalar, U: Scalar>(
    x: &Dense<T>,
    groups: &Groups,
    of: impl Fn(&Group<T>) -> Option<U>,
) -> Option<Dense<U>> {
    let of_cell = |cell: &Vec<usize>| of(&group_at(x, cell));
    Some(Dense::new(&groups.shape, groups.cells.iter().map(of_cell).collect::<Option<_>>()?))
}

/// One value for each group that holds an entry, of its entries alone.
pub fn reduce_stored<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    axes: &[usize],
    keep_dims: bool,
    of: impl Fn(&Group<T>) -> Option<U>,
    fill: U,
) -> Option<Sparse<U>> {
    let mut groups = std::collections::BTreeMap::<Vec<usize>, Vec<(u64, T)>>::new();
    let lengths: Vec<usize> = axes.iter().map(|&axis| x.shape[axis]).collect();
    for (at, &value) in &x.entries {
        let within: Vec<usize> = axes.iter().map(|&axis| at[axis]).collect();
        let entry = (ravel(&within, &lengths) as u64, value);
        groups.entry(reduced_coords(at, axes, keep_dims)).or_default().push(entry);
    }
    let entries = groups.into_iter().map(|(cell, group)| Some((cell, of(&group)?))).collect::<Option<_>>()?;
    Some(Sparse::new(&reduced_shape(&x.shape, axes, keep_dims), entries, fill))
}

/// One value for each of some groups that holds an entry, of its entries alone.
pub fn reduce_stored_groups<T: Scalar, U: Scalar>(
    x: &Sparse<T>,
    groups: &Groups,
    of: impl Fn(&Group<T>) -> Option<U>,
    fill: U,
) -> Option<Sparse<U>> {
    let mut results = std::collections::BTreeMap::new();
    for (cell, positions) in groups.cells.iter().enumerate() {
        let places = positions.iter().map(|&position| unravel(position as u128, &x.shape));
        let group = places.enumerate().filter_map(|(at, place)| Some((at as u64, *x.entries.get(&place)?)));
        let group: Vec<(u64, T)> = group.collect();
        if !group.is_empty() {
            results.insert(unravel(cell as u128, &groups.shape), of(&group)?);
        }
    }
    Some(Sparse::new(&groups.shape, results, fill))
}

fn values<T: Copy>(group: &Group<T>) -> Vec<T> {
    group.iter().map(|(_, value)| *value).collect()
}

/// The group without its NaNs.
fn numbers<T: Scalar>(group: &Group<T>) -> Vec<(u64, T)> {
    group.iter().copied().filter(|(_, value)| !value.is_nan()).collect()
}

/// Whether all are truthy.
pub fn all<T: Scalar>(group: &Group<T>) -> Option<bool> {
    Some(group.iter().all(|(_, value)| value.truthy()))
}

/// The sum.
pub fn sum<T: Summed>(group: &Group<T>) -> Option<T::Sum> {
    T::sum_from(&total(&values(group)))
}

/// The mean.
pub fn mean<T: Summed>(group: &Group<T>) -> Option<T::Mean> {
    Some(T::mean_from(&total(&values(group)), group.len() as u128))
}

/// The sum of numbers.
pub fn nansum<T: Summed>(group: &Group<T>) -> Option<T::Sum> {
    sum(&numbers(group))
}

/// The mean of numbers.
pub fn nanmean<T: Summed>(group: &Group<T>) -> Option<T::Mean> {
    mean(&numbers(group))
}

/// Whether `a` comes before `b`, -0.0 before +0.0.
fn is_less<T: RealScalar>(a: T, b: T) -> bool {
    a.less(b) == Some(true) || (a == b && !a.same(b) && b.same(T::zero()))
}

/// The least.
pub fn min<T: RealScalar>(group: &Group<T>) -> Option<T> {
    if let Some((_, nan)) = group.iter().find(|(_, value)| value.is_nan()) {
        return Some(nan.canonical());
    }
    values(group).into_iter().reduce(|a, b| if is_less(b, a) { b } else { a })
}

/// The greatest.
pub fn max<T: RealScalar>(group: &Group<T>) -> Option<T> {
    if let Some((_, nan)) = group.iter().find(|(_, value)| value.is_nan()) {
        return Some(nan.canonical());
    }
    values(group).into_iter().reduce(|a, b| if is_less(a, b) { b } else { a })
}

/// The least number, NaN of none.
pub fn nanmin<T: SummedFloat + RealScalar>(group: &Group<T>) -> Option<T> {
    Some(min(&numbers(group)).unwrap_or(T::narrow(f64::NAN)))
}

/// The greatest number, NaN of none.
pub fn nanmax<T: SummedFloat + RealScalar>(group: &Group<T>) -> Option<T> {
    Some(max(&numbers(group)).unwrap_or(T::narrow(f64::NAN)))
}

/// The position of the first NaN, or else of the first element equal to `extreme`.
fn first<T: RealScalar>(group: &Group<T>, extreme: Option<T>) -> Option<u64> {
    let is_found = |value: T| extreme.is_some_and(|extreme| value == extreme || (value.is_nan() && extreme.is_nan()));
    group.iter().find(|(_, value)| is_found(*value)).map(|(position, _)| *position)
}

/// The position of the least.
pub fn argmin<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    first(group, min(group))
}

/// The position of the greatest.
pub fn argmax<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    first(group, max(group))
}

/// The position of the least number, `u64::MAX` of none.
pub fn nanargmin<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    Some(argmin(&numbers(group)).unwrap_or(u64::MAX))
}

/// The position of the greatest number, `u64::MAX` of none.
pub fn nanargmax<T: RealScalar>(group: &Group<T>) -> Option<u64> {
    Some(argmax(&numbers(group)).unwrap_or(u64::MAX))
}

/// A real element whose variance is of type `Spread`.
pub trait Spread: Summed + RealScalar {
    /// The type of the variance.
    type Spread: SummedFloat;

    /// The value as an `f64`.
    fn nearest(self) -> f64;
}

macro_rules! spread_plain {
    ($($type:ty),*) => {$(
        impl Spread for $type {
            type Spread = f64;
            fn nearest(self) -> f64 {
                i128::from(self) as f64
            }
        }
    )*};
}

spread_plain!(bool, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! spread_floats {
    ($($type:ty),*) => {$(
        impl Spread for $type {
            type Spread = $type;
            fn nearest(self) -> f64 {
                self.wide()
            }
        }
    )*};
}

spread_floats!(f32, f64);
#[cfg(feature = "half")]
spread_floats!(half::f16, half::bf16);

/// The exact sum of the squares of the rounded differences to the mean in `f64`, and that mean.
fn squares<T: Spread>(group: &Group<T>) -> (Real, f64) {
    let mean = total(&values(group))[0].over(group.len() as u128, F64);
    let square = |value: T| (value.nearest() - mean) * (value.nearest() - mean);
    (Real::sum(values(group).into_iter().map(|value| Real::of(square(value)))), mean)
}

/// The variance.
pub fn var<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    Some(T::Spread::rounded(&squares(group).0, (group.len() as u128).saturating_sub(ddof)))
}

/// The standard deviation.
pub fn std<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    let variance = squares(group).0.over((group.len() as u128).saturating_sub(ddof), F64);
    Some(T::Spread::rounded(&Real::of(variance.sqrt()), 1))
}

/// The variance of the numbers.
pub fn nanvar<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    var(&numbers(group), ddof)
}

/// The standard deviation of the numbers.
pub fn nanstd<T: Spread>(group: &Group<T>, ddof: u128) -> Option<T::Spread> {
    std(&numbers(group), ddof)
}

/// The gradient of a reduction: `share` tells what the elements of a group receive, by their places in it.
pub fn backward<T: Scalar, G: SummedFloat>(
    x: &Dense<T>,
    axes: &[usize],
    keep_dims: bool,
    upstream: &Dense<G>,
    share: impl Fn(&Group<T>, G) -> Vec<G>,
) -> Dense<G> {
    share_in_groups(x, &groups(&x.shape, axes, keep_dims), upstream, share)
}

/// What the elements of some groups receive.
pub fn share_in_groups<T: Scalar, G: SummedFloat>(
    x: &Dense<T>,
    groups: &Groups,
    upstream: &Dense<G>,
    share: impl Fn(&Group<T>, G) -> Vec<G>,
) -> Dense<G> {
    let mut gradient = Dense::full(&x.shape, G::narrow(0.0));
    for (cell, positions) in groups.cells.iter().enumerate() {
        let group: Vec<(u64, T)> = positions.iter().enumerate().map(|(at, &from)| (at as u64, x.data[from])).collect();
        for (given, &position) in share(&group, upstream.data[cell]).into_iter().zip(positions) {
            gradient.data[position] = given;
        }
    }
    gradient
}

/// `g / n`, rounded once; a zero keeps its sign.
fn over<G: SummedFloat>(g: G, n: usize) -> G {
    if g.truthy() { G::rounded(&Real::of(g.wide()), n as u128) } else { g }
}

/// The shares of a sum, or of a mean; with or without the NaNs.
pub fn sum_shares<T: Scalar, G: SummedFloat>(group: &Group<T>, g: G, is_mean: bool, skips_nan: bool) -> Vec<G> {
    let count = if skips_nan { numbers(group).len() } else { group.len() };
    let share = |value: T| match skips_nan && value.is_nan() {
        true => G::narrow(0.0),
        false if is_mean => over(g, count),
        false => g,
    };
    group.iter().map(|(_, value)| share(*value)).collect()
}

/// The shares of those equal to `extreme`.
pub fn equal_shares<T: RealScalar, G: SummedFloat>(group: &Group<T>, g: G, extreme: Option<T>) -> Vec<G> {
    let is_equal = |value: T| extreme.is_some_and(|extreme| value == extreme);
    let count = group.iter().filter(|(_, value)| is_equal(*value)).count();
    group.iter().map(|(_, value)| if is_equal(*value) { over(g, count) } else { G::narrow(0.0) }).collect()
}

/// The shares of a variance, or of a standard deviation; with or without the NaNs.
pub fn spread_shares<T: Spread, G: SummedFloat>(
    group: &Group<T>,
    g: G,
    ddof: u128,
    is_root: bool,
    skips_nan: bool,
) -> Vec<G> {
    let counted = if skips_nan { numbers(group) } else { group.to_vec() };
    let (squares, mean) = squares(&counted);
    let divisor = (counted.len() as u128).saturating_sub(ddof);
    let root = squares.over(divisor, F64).sqrt();
    let share = |value: T| {
        let given = 2.0 * (value.nearest() - mean) * g.wide() / if divisor == 0 { f64::NAN } else { divisor as f64 };
        let given = if is_root { given / (2.0 * root) } else { given };
        let rounded = G::rounded(&Real::of(given), 1);
        // A zero keeps its sign.
        if rounded.wide() == 0.0 { G::narrow(0f64.copysign(given)) } else { rounded }
    };
    let share = |value: T| if skips_nan && value.is_nan() { G::narrow(0.0) } else { share(value) };
    group.iter().map(|(_, value)| share(*value)).collect()
}

/// The `k` greatest of a group, without the NaNs, from the greatest down; of equal ones the first position first.
pub fn topk<T: RealScalar>(group: &Group<T>, k: usize) -> Vec<(u64, T)> {
    let mut ranked = numbers(group);
    ranked.sort_by(|(_, a), (_, b)| order(*b, *a));
    ranked.truncate(k);
    ranked
}

fn order<T: RealScalar>(a: T, b: T) -> std::cmp::Ordering {
    match (a.less(b), b.less(a)) {
        (Some(true), _) => Less,
        (_, Some(true)) => Greater,
        _ => Equal,
    }
}

/// A group in increasing order, NaNs last, equal elements in the order of their positions.
pub fn sorted<T: RealScalar>(group: &Group<T>) -> Vec<(u64, T)> {
    let mut ranked = numbers(group);
    ranked.sort_by(|(_, a), (_, b)| order(*a, *b));
    ranked.extend(group.iter().filter(|(_, value)| value.is_nan()));
    ranked
}

/// A list for each group along an axis, laid out along it; `None` in the place of what a list lacks.
pub fn lists<T: Scalar, U: Copy>(
    x: &Dense<T>,
    axis: usize,
    length: usize,
    of: impl Fn(&Group<T>) -> Vec<U>,
) -> (Vec<usize>, Vec<Option<U>>) {
    let mut shape = x.shape.clone();
    shape[axis] = length;
    let groups = groups(&x.shape, &[axis], true);
    let lists: Vec<Vec<U>> = groups.cells.iter().map(|cell| of(&group_at(x, cell))).collect();
    let mut laid = Vec::new();
    for position in 0..super::dense::size(&shape) {
        let mut coords = unravel(position as u128, &shape);
        let rank = std::mem::replace(&mut coords[axis], 0);
        laid.push(lists[ravel(&coords, &groups.shape) as usize].get(rank).copied());
    }
    (shape, laid)
}

fn group_at<T: Scalar>(x: &Dense<T>, cell: &[usize]) -> Vec<(u64, T)> {
    cell.iter().enumerate().map(|(at, &position)| (at as u64, x.data[position])).collect()
}
