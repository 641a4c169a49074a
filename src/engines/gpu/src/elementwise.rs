//! Tests of each value: the classes of floats, and membership in a set.

use lacuna::{Number, Result};

use crate::context::Size;
use crate::element::DeviceElement;
use crate::kernel::{Access, Form, Items, Kernel, tests};
use crate::tensor::DeviceValue;

/// A class of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Nan,
    Infinite,
    Finite,
    PositiveInfinite,
    NegativeInfinite,
}

impl Class {
    /// Returns the class that an operation tests.
    pub(crate) fn of(operation: &str) -> Option<Self> {
        Some(match operation {
            "isnan" => Class::Nan,
            "isinf" => Class::Infinite,
            "isfinite" => Class::Finite,
            "isposinf" => Class::PositiveInfinite,
            "isneginf" => Class::NegativeInfinite,
            _ => return None,
        })
    }

    fn test(self) -> &'static str {
        match self {
            Class::Nan => "is_nan(v)",
            Class::Infinite => "is_infinite(v)",
            Class::Finite => "is_finite(v)",
            Class::PositiveInfinite => "is_infinite(v) && !is_negative(v)",
            Class::NegativeInfinite => "is_infinite(v) && is_negative(v)",
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Class::Nan => value.is_nan(),
            Class::Infinite => value.is_infinite(),
            Class::Finite => value.is_finite(),
            Class::PositiveInfinite => value == f64::INFINITY,
            Class::NegativeInfinite => value == f64::NEG_INFINITY,
        }
    }
}

/// Returns the fill of a test. In a stored view, unstored positions do not count. The fill is then kept if it is a
/// `bool`, and is `false` otherwise.
fn fill_of<T: DeviceElement>(x: &DeviceValue, counts_gaps: bool, holds: impl Fn(T) -> bool) -> bool {
    match counts_gaps {
        true => holds(x.fill::<T>()),
        false => x.fill.downcast_ref().copied().unwrap_or(false),
    }
}

/// Returns whether each element of a tensor of floats is in a class.
pub(crate) fn classified<T: DeviceElement>(x: &DeviceValue, class: Class, counts_gaps: bool) -> Result<DeviceValue> {
    let holds = |fill: T| matches!(fill.to_number(), Number::Real(fill) if class.holds(fill));
    let fill = fill_of(x, counts_gaps, holds);
    tested(x, &tests(Kernel::new("classify"), x.form(), class.test()), None, fill)
}

/// The order and the search of members. The key of a value is its bits; both zeros have the key 0.
const SEARCH: &str = "
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn is_member(key: vec2<u32>) -> bool {
    // Invariant: members before `low` are less than the key, and members from `low + count` on are not.
    var low = 0u;
    var count = param(1u);
    while (count > 0u) {
        let half = count / 2u;
        if (is_less(members[low + half], key)) { low += half + 1u; count -= half + 1u; } else { count = half; }
    }
    if (low >= param(1u)) { return false; }
    return members[low].x == key.x && members[low].y == key.y;
}";

/// Returns the expression that tells whether a value is a member.
fn membership(form: Form) -> String {
    let bits = if form.bits == 64 { "v" } else { "vec2(v.y, 0u)" };
    match form.is_float {
        true => format!("!is_nan(v) && is_member(select(vec2(0u, 0u), {bits}, truthy(v)))"),
        false => format!("is_member({bits})"),
    }
}

/// Returns whether each element is a member of a set, or is none if `invert`. No NaN is a member.
pub(crate) fn isin<T: DeviceElement>(
    x: &DeviceValue,
    members: &[T],
    invert: bool,
    counts_gaps: bool,
) -> Result<DeviceValue> {
    let mut keys: Vec<u64> = members.iter().filter_map(|&member| member.device_key()).collect();
    keys.sort_unstable();
    keys.dedup();
    let is_member = |value: T| value.device_key().is_some_and(|key| keys.binary_search(&key).is_ok());
    let fill = fill_of(x, counts_gaps, |fill| is_member(fill) != invert);
    let kernel = Kernel::new("isin").array("members", Access::Read, Items::Pairs).function(SEARCH);
    let member = membership(x.form());
    let test = if invert { format!("!({member})") } else { member };
    tested(x, &tests(kernel, x.form(), &test), Some(&keys), fill)
}

/// Runs a test. `keys` are the members of a set, if the kernel reads one.
fn tested(x: &DeviceValue, kernel: &Kernel, keys: Option<&[u64]>, fill: bool) -> Result<DeviceValue> {
    let (context, nnz) = (&x.gpu.0.context, x.pattern.nnz);
    let answers = context.zeros(u64::from(nnz.div_ceil(4)))?;
    let size = Size::Invocations(u64::from(nnz.div_ceil(4)));
    match keys {
        None => context.run(kernel, &[&x.values, &answers], &[nnz], size)?,
        Some(keys) => {
            // An empty array is none: the kernel has a member that it does not read.
            let held = if keys.is_empty() { &[0] } else { keys };
            let members = context.upload(u64::bytes(held))?;
            context.run(kernel, &[&members, &x.values, &answers], &[nnz, keys.len() as u32], size)?;
        }
    }
    Ok(x.with_values(answers, fill))
}
