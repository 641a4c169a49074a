//! The gradients, with the exact float operations and their order.
//!
//! An upstream element that is zero, of either sign, gives `+0.0` to every element that it reaches, whatever these are.
//!
//! - `any`: a copy of the upstream element.
//! - `take`: contributions are added in the row-major order of the *forward result*, from left to
//!   right, in the gradient's own type (a 16-bit float is rounded after every addition). The sum
//!   starts from the first contribution, not from zero, so that one contribution is copied with its
//!   bits, NaN payload included; a sum of two or more that is NaN is the canonical NaN.
//!   What is never taken gets `+0`.
//! - `nanmedian`: let `m` be the number of elements that are not NaN, ranked by (value, position)
//!   from 0, `lower` the value at rank `(m - 1) / 2`, `upper` the one at rank `m / 2`, `g` the
//!   upstream element, `n(v)` how many elements equal `v` (`-0.0 == 0.0`), as a float:
//!
//!   | rule | even | receives |
//!   | --- | --- | --- |
//!   | Spread | Mean, `lower == upper` | `g / n(lower)` for each equal to it |
//!   | Spread | Mean, else | `(g * 0.5) / n(lower)` for each equal to `lower`, `(g * 0.5) / n(upper)` for each equal to
//!   `upper` |
//!   | Spread | Lower | `g / n(lower)` for each equal to `lower` |
//!   | First | Mean, `m` odd | `g` at rank `(m - 1) / 2` |
//!   | First | Mean, `m` even | `g * 0.5` at rank `(m - 1) / 2`, `g * 0.5` at rank `m / 2` |
//!   | First | Lower | `g` at rank `(m - 1) / 2` |
//!
//!   Everything else, NaNs included, gets `+0`, whatever `g` is. 16-bit floats compute a share in
//!   `f32` and round it once. A share that is NaN is the canonical NaN, also where it is `g` itself.

use std::collections::BTreeMap;

use super::dense::{Dense, Sparse, groups, ravel, reduced_coords, reduced_shape, size, unravel};
use super::ops::{Even, Mode, TakeFault, ranked, resolve_indices, take_axis_shape, take_axis_source};
use super::scalar::{GradScalar, RealScalar, Scalar};

/// The elements that receive the gradient of a median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All elements equal to a middle value, in equal shares.
    Spread,
    /// The elements at the middle ranks.
    First,
}

/// The surrogate gradient of `any`: the upstream gradient broadcast to the shape of the input.
pub fn any_backward<G: Scalar>(shape: &[usize], axes: &[usize], keep_dims: bool, upstream: &Dense<G>) -> Dense<G> {
    assert_eq!(upstream.shape, reduced_shape(shape, axes, keep_dims));
    let mut gradient = Dense::full(shape, G::zero());
    for coords in gradient.coords() {
        let cell = reduced_coords(&coords, axes, keep_dims);
        gradient.set(&coords, without_sign(upstream.get(&cell)));
    }
    gradient
}

/// An upstream element as it is passed on.
pub fn without_sign<G: Scalar>(upstream: G) -> G {
    if upstream.truthy() { upstream } else { G::zero() }
}

/// The sum of one or more contributions, from left to right.
fn sum<G: Scalar>(contributions: &[G]) -> Result<G, TakeFault> {
    let (&first, rest) = contributions.split_first().expect("one or more");
    let first = without_sign(first);
    if rest.is_empty() {
        return Ok(first);
    }
    let mut total = first;
    for &contribution in rest {
        total = total.checked_add(contribution).ok_or(TakeFault::Overflow)?;
    }
    Ok(total.canonical())
}

/// Adds up what each position receives; `received` lists `(coordinates, contribution)` in order.
pub fn scatter_add<G: Scalar>(shape: &[usize], received: Vec<(Vec<usize>, G)>) -> Result<Dense<G>, TakeFault> {
    let mut lists: BTreeMap<Vec<usize>, Vec<G>> = BTreeMap::new();
    for (coords, contribution) in received {
        lists.entry(coords).or_default().push(contribution);
    }
    let mut gradient = Dense::full(shape, G::zero());
    for (coords, contributions) in lists {
        gradient.set(&coords, sum(&contributions)?);
    }
    Ok(gradient)
}

/// The gradient of `take` at flattened positions.
pub fn take_backward<G: Scalar>(
    shape: &[usize],
    indices: &Dense<i128>,
    mode: Mode,
    upstream: &Dense<G>,
) -> Result<Dense<G>, TakeFault> {
    assert_eq!(upstream.shape, indices.shape);
    let n = size(shape) as u128;
    let positions = resolve_indices(indices, n, mode)?.into_iter();
    let coords = positions.map(|position| unravel(position, shape));
    scatter_add(shape, coords.zip(upstream.data.iter().copied()).collect())
}

/// The gradient of `take` along an axis.
pub fn take_axis_backward<G: Scalar>(
    shape: &[usize],
    indices: &Dense<i128>,
    axis: usize,
    mode: Mode,
    upstream: &Dense<G>,
) -> Result<Dense<G>, TakeFault> {
    let taken = take_axis_shape(shape, &indices.shape, axis);
    assert_eq!(upstream.shape, taken);
    let positions = resolve_indices(indices, shape[axis] as u128, mode)?;
    let cells = upstream.coords().into_iter();
    let sources = cells.map(|cell| take_axis_source(&cell, &indices.shape, &positions, axis));
    scatter_add(shape, sources.zip(upstream.data.iter().copied()).collect())
}

/// Returns the gradient that each element of a group receives, in the order of `group`.
pub fn median_shares<T: RealScalar, G: GradScalar>(group: &[T], g: G, rule: Rule, even: Even) -> Vec<G> {
    let places = group.iter().enumerate();
    let placed: Vec<(u64, T)> = places.map(|(place, &value)| (place as u64, value)).collect();
    let ranked = ranked(&placed);
    if ranked.is_empty() || !g.truthy() {
        return vec![G::zero(); group.len()];
    }
    match rule {
        Rule::Spread => spread_shares(group, &ranked, g, even),
        Rule::First => first_shares(group, &ranked, g, even),
    }
}

/// The shares of [`Rule::Spread`].
fn spread_shares<T: RealScalar, G: GradScalar>(group: &[T], ranked: &[(T, u64)], g: G, even: Even) -> Vec<G> {
    let m = ranked.len();
    let (lower, upper) = (ranked[(m - 1) / 2].0, ranked[m / 2].0);
    let count = |middle: T| group.iter().filter(|&&value| value == middle).count();
    let share = |value: T| {
        if even == Even::Lower || lower == upper {
            if value == lower { g.share(count(lower)) } else { G::zero() }
        } else if value == lower {
            g.half_share(count(lower))
        } else if value == upper {
            g.half_share(count(upper))
        } else {
            G::zero()
        }
    };
    group.iter().map(|&value| share(value)).collect()
}

/// The shares of [`Rule::First`].
fn first_shares<T: RealScalar, G: GradScalar>(group: &[T], ranked: &[(T, u64)], g: G, even: Even) -> Vec<G> {
    let m = ranked.len();
    let (lower, upper) = (ranked[(m - 1) / 2].1, ranked[m / 2].1);
    let mut shares = vec![G::zero(); group.len()];
    if even == Even::Lower || m % 2 == 1 {
        shares[lower as usize] = g.canonical();
    } else {
        shares[lower as usize] = g.halved();
        shares[upper as usize] = g.halved();
    }
    shares
}

/// The gradient of `nanmedian` of a dense array, or of a sparse one with all its positions.
pub fn nanmedian_backward<T: RealScalar, G: GradScalar>(
    x: &Dense<T>,
    axes: &[usize],
    keep_dims: bool,
    rule: Rule,
    even: Even,
    upstream: &Dense<G>,
) -> Dense<G> {
    let groups = groups(&x.shape, axes, keep_dims);
    assert_eq!(upstream.shape, groups.shape);
    let mut gradient = Dense::full(&x.shape, G::zero());
    for (cell, &g) in groups.cells.iter().zip(&upstream.data) {
        let group: Vec<T> = cell.iter().map(|&position| x.data[position]).collect();
        let shares = median_shares(&group, g, rule, even);
        for (&position, share) in cell.iter().zip(shares) {
            gradient.data[position] = share;
        }
    }
    gradient
}

/// The gradient of the median of the stored entries only.
pub fn nanmedian_stored_backward<T: RealScalar, G: GradScalar>(
    x: &Sparse<T>,
    axes: &[usize],
    keep_dims: bool,
    rule: Rule,
    even: Even,
    upstream: &Dense<G>,
) -> Sparse<G> {
    assert_eq!(upstream.shape, reduced_shape(&x.shape, axes, keep_dims));
    let mut entries = BTreeMap::new();
    for (position, &g) in upstream.data.iter().enumerate() {
        let cell_of = |coords: &[usize]| reduced_coords(coords, axes, keep_dims);
        let inside = |coords: &[usize]| ravel(&cell_of(coords), &upstream.shape) == position as u128;
        let cell: Vec<_> = x.entries.iter().filter(|(at, _)| inside(at)).collect();
        let group: Vec<T> = cell.iter().map(|&(_, &value)| value).collect();
        let shares = median_shares(&group, g, rule, even);
        let coords = cell.iter().map(|&(coords, _)| coords.clone());
        entries.extend(coords.zip(shares));
    }
    Sparse::new(&x.shape, entries, G::zero())
}
