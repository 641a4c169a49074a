//! Stable sorting of keys of 64 bits, four bits in each pass.

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::kernel::{Access, Items, Kernel};
use crate::ranks::sums_before;

/// The keys that an invocation reads.
const KEYS_EACH: u64 = 4;
/// The bits of a digit.
const DIGIT: u32 = 4;

/// The digit of a key in the pass `param(1)`.
const DIGIT_OF: &str = "
fn digit(key: vec2<u32>) -> u32 {
    let shift = 4u * param(1u);
    return select(key.x >> (shift & 31u), key.y >> (shift & 31u), shift >= 32u) & 15u;
}";

/// Returns the sorted keys, and for each the number that it had in `order`, or its position without an order.
///
/// Only the lowest `bits` of the keys count. Equal keys stay in order.
pub(crate) fn sorted(
    context: &Context,
    keys: &Words,
    order: Option<&Words>,
    count: u32,
    bits: u32,
) -> Result<(Words, Words)> {
    if bits == 0 {
        let order = order.map_or_else(|| positions(context, count), |order| Ok(order.clone()))?;
        return Ok((keys.clone(), order));
    }
    let groups = u64::from(count).div_ceil(KEYS_EACH * context.group()).max(1);
    // Each pass reads one pair of arrays and writes the other one.
    let arrays = || -> Result<_> { Ok((context.zeros(2 * u64::from(count))?, context.zeros(count.into())?)) };
    let pairs = [arrays()?, arrays()?];
    let passes = bits.div_ceil(DIGIT);
    for pass in 0..passes {
        let (written, read) = (&pairs[pass as usize % 2], &pairs[(pass as usize + 1) % 2]);
        let counts = context.zeros(16 * groups)?;
        let keys = if pass == 0 { keys } else { &read.0 };
        let order = if pass == 0 { order } else { Some(&read.1) };
        let params = [count, pass, groups as u32, order.is_none().into()];
        context.run(&tally(), &[keys, &counts], params, Size::Groups(groups))?;
        let bases = sums_before(context, &counts, false)?;
        let arrays = [keys, order.unwrap_or(&bases), &bases, &written.0, &written.1];
        context.run(&scatter(), &arrays, params, Size::Groups(groups))?;
    }
    let [even, odd] = pairs;
    Ok(if passes % 2 == 1 { even } else { odd })
}

/// Returns the numbers below `count`.
fn positions(context: &Context, count: u32) -> Result<Words> {
    let found = context.zeros(count.into())?;
    let kernel = Kernel::new("positions")
        .array("found", Access::Write, Items::Words)
        .body("if (i < param(0u)) { found[i] = i; }");
    context.run(&kernel, &[&found], [count], Size::Invocations(count.into()))?;
    Ok(found)
}

/// Returns the kernel that counts the keys of each digit in each workgroup.
fn tally() -> Kernel {
    Kernel::new("tally")
        .array("keys", Access::Read, Items::Pairs)
        .array("counts", Access::Write, Items::Words)
        .function(DIGIT_OF)
        .function("var<workgroup> found: array<atomic<u32>, 16>;")
        .body(
            "
if (lane < 16u) { atomicStore(&found[lane], 0u); }
workgroupBarrier();
for (var k = 0u; k < 4u; k++) {
    let e = i * 4u + k;
    if (e < param(0u)) { atomicAdd(&found[digit(keys[e])], 1u); }
}
workgroupBarrier();
// The last row of workgroups may be longer than needed.
if (lane < 16u && group < param(2u)) { counts[lane * param(2u) + group] = atomicLoad(&found[lane]); }",
        )
}

/// Returns the kernel that moves each key to its place: after all keys with a smaller digit, the keys of the
/// workgroups before with the same digit, and those before it in its own workgroup.
fn scatter() -> Kernel {
    Kernel::new("scatter")
        .array("keys", Access::Read, Items::Pairs)
        .array("order", Access::Read, Items::Words)
        .array("bases", Access::Read, Items::Words)
        .array("next_keys", Access::Write, Items::Pairs)
        .array("next_order", Access::Write, Items::Words)
        .function(DIGIT_OF)
        // Sixteen counts of 16 bits: a workgroup has 1024 keys.
        .function("var<workgroup> found: array<array<vec4<u32>, 2>, GROUP>;")
        .body(
            "
var own = array<vec4<u32>, 2>();
for (var k = 0u; k < 4u; k++) {
    let e = i * 4u + k;
    if (e < param(0u)) {
        let d = digit(keys[e]);
        own[d / 8u][(d / 2u) % 4u] += 1u << (16u * (d % 2u));
    }
}
var sum = own;
found[lane] = sum;
// Invariant: after a step, found[lane] has the counts of twice as many invocations, up to this one.
for (var step = 1u; step < GROUP; step *= 2u) {
    workgroupBarrier();
    if (lane >= step) { let before = found[lane - step]; sum[0] += before[0]; sum[1] += before[1]; }
    workgroupBarrier();
    found[lane] = sum;
}
// `sum` has the keys of each digit before the next key of this invocation.
sum[0] -= own[0];
sum[1] -= own[1];
for (var k = 0u; k < 4u; k++) {
    let e = i * 4u + k;
    if (e < param(0u)) {
        let d = digit(keys[e]);
        let shift = 16u * (d % 2u);
        let at = bases[d * param(2u) + group] + ((sum[d / 8u][(d / 2u) % 4u] >> shift) & 0xffffu);
        sum[d / 8u][(d / 2u) % 4u] += 1u << shift;
        next_keys[at] = keys[e];
        if (param(3u) == 1u) { next_order[at] = e; } else { next_order[at] = order[e]; }
    }
}",
        )
}
