//! Logical or of groups of values, and the surrogate gradient that stands beside it.
//!
//! The partial form: the state is one `bool`, *false* at the start; a value updates it by its truth; two states merge
//! by `or`; the finish takes the fill in where a group has positions that are not stored.

use crate::element::Element;
use crate::kernels::group::Groups;
use crate::parallel;

/// Whether any of `values` is truthy: leaves at the first one that is.
pub(crate) fn any_of<T: Element>(mut values: impl Iterator<Item = T>) -> bool {
    values.any(T::is_truthy)
}

/// Whether any position of each group is truthy, of which `extent` exist; those not stored hold `fill`.
pub(crate) fn any_of_groups<T: Element>(groups: &Groups, values: &[T], extent: u64, fill: T) -> Vec<bool> {
    let fill = fill.is_truthy();
    let of_unstored = |group: usize| fill && (groups.size(group) as u64) < extent;
    match groups.in_order(values) {
        Some(slice) => parallel::map_heavy(
            groups.len(),
            values.len(),
            || (),
            |(), group| of_unstored(group) || slice(group).iter().any(|value| value.is_truthy()),
        ),
        None => parallel::map_heavy(
            groups.len(),
            values.len(),
            || (),
            |(), group| of_unstored(group) || any_of(groups.entries(group).map(|entry| values[entry])),
        ),
    }
}

/// Hands the gradient of each group to every one of its entries; there are `count` entries in all.
pub(crate) fn spread_to_entries<G: Element>(groups: &Groups, gradients: &[G], count: usize) -> Vec<G> {
    let mut spread = vec![G::ZERO; count];
    for (group, &gradient) in gradients.iter().enumerate() {
        groups.entries(group).for_each(|entry| spread[entry] = gradient);
    }
    spread
}
