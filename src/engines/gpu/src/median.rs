//! Medians: the entries sorted by group and value, then the values at the middle ranks.

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::element::form_of;
use crate::fold::Reduced;
use crate::groups::Groups;
use crate::kernel::{Access, Form, Items, Kernel, Kind, with_value};
use crate::outline::Outline;
use crate::sort::sorted;
use crate::sum::{EXPONENT_OF_ONE, ROUND, as_float, rounding};
use crate::tensor::DeviceValue;

/// A median.
#[derive(Clone, Copy)]
pub(crate) struct Median {
    pub(crate) skips_nan: bool,
    /// Whether an even number of values has the lower middle value, in place of the mean of both.
    pub(crate) is_lower: bool,
}

impl Median {
    /// Computes the result. `None` if the device does not compute it for this operand.
    pub(crate) fn run(&self, x: &DeviceValue, over: &Reduced, outline: &Outline) -> Result<Option<DeviceValue>> {
        let (gpu, pattern) = (&x.gpu, &x.pattern);
        let extent = over.extent(&pattern.shape).and_then(|extent| u32::try_from(extent).ok());
        let (Some(extent), Some(form)) = (extent.or((!over.counts_gaps).then_some(0)), form_of(outline.dtype)) else {
            return Ok(None);
        };
        let (context, groups) = (&gpu.0.context, pattern.groups(gpu, &over.kept)?);
        let keys = keys(context, x)?;
        let order = order(context, x, &groups, &keys)?;
        let values = context.zeros(form.words(groups.count.into()))?;
        let arrays = [&keys, &order, &groups.starts, &values];
        let params = with_value(&[groups.count, extent, over.counts_gaps.into()], x.form(), x.fill_bits());
        let size = Size::Invocations(form.invocations(groups.count.into()));
        context.run(&self.kernel(x, form), &arrays, &params, size)?;
        let pattern = groups.pattern(gpu, pattern, &over.kept, over.keeps_dims)?;
        Ok(Some(x.with(pattern, values, outline)))
    }

    fn kernel(&self, x: &DeviceValue, out: Form) -> Kernel {
        let form = x.form();
        let functions = format!(
            "{}{ROUND}const SKIPS_NAN = {};\nconst IS_LOWER = {};\nconst IS_FLOAT = {};\n{}{RANKS}",
            rounding(form, 5),
            self.skips_nan,
            self.is_lower,
            form.is_float(),
            midpoint(form, out),
        );
        Kernel::new("medians")
            .typed("x", form)
            .array("keys", Access::Read, Items::Pairs)
            .array("order", Access::Read, Items::Words)
            .array("starts", Access::Read, Items::Words)
            .function(KEY.replace("BITS", &form.bits.to_string()).as_str())
            .search("first_not_less", "vec2<u32>", "is_less(keys[order[at]], key)")
            .function(&functions.replace("NAN_RESULT", out.nan()))
            .output(out, "return median_of(e);")
    }
}

/// The key of a value: its number in the order of the values, with NaN above all and one key for both zeros. A key of
/// up to 32 bits is in the lower word.
const KEY: &str = "
fn key_of(v: vec2<u32>) -> vec2<u32> {
    if (nan_x(v)) { return vec2(0xffffffffu, select(0u, 0xffffffffu, BITSu == 64u)); }
    let key = even_key_x(v);
    if (BITSu == 64u) { return key; }
    return vec2(key.y, 0u);
}
fn value_of_key(key: vec2<u32>) -> vec2<u32> {
    if (BITSu == 64u) { return unkey_x(key); }
    return unkey_x(vec2(0u, key.x));
}
";

/// Returns the key of each entry.
fn keys(context: &Context, x: &DeviceValue) -> Result<Words> {
    let (form, nnz) = (x.form(), x.pattern.nnz);
    let keys = context.zeros(2 * u64::from(nnz))?;
    let kernel = Kernel::new("keys")
        .values("x", form)
        .function(KEY.replace("BITS", &form.bits.to_string()).as_str())
        .array("keys", Access::Write, Items::Pairs)
        .body("if (i < param(0u)) { keys[i] = key_of(load_x(i)); }");
    context.run(&kernel, &[&x.values, &keys], &[nnz], Size::Invocations(nnz.into()))?;
    Ok(keys)
}

/// Returns the entries, sorted by group and then by key.
fn order(context: &Context, x: &DeviceValue, groups: &Groups, keys: &Words) -> Result<Words> {
    let nnz = x.pattern.nnz;
    let (_, order) = sorted(context, keys, None, nnz, x.form().bits)?;
    let bits = u32::BITS - groups.count.saturating_sub(1).leading_zeros();
    if bits == 0 {
        return Ok(order);
    }
    let (numbers, keys) = (groups.of_entries(context, nnz)?, context.zeros(2 * u64::from(nnz))?);
    let kernel = Kernel::new("keys_of_groups")
        .array("numbers", Access::Read, Items::Words)
        .array("order", Access::Read, Items::Words)
        .array("keys", Access::Write, Items::Pairs)
        .body("if (i < param(0u)) { keys[i] = vec2(numbers[order[i]], 0u); }");
    context.run(&kernel, &[&numbers, &order, &keys], &[nnz], Size::Invocations(nnz.into()))?;
    Ok(sorted(context, &keys, Some(&order), nnz, bits)?.1)
}

/// The ranks of a group, with `gaps` values of the fill among the sorted keys of its entries.
const RANKS: &str = "
const NAN_KEY = vec2(0xffffffffu, 0xffffffffu);
fn key_at(at: u32) -> vec2<u32> { return keys[order[at]]; }
fn median_of(g: u32) -> vec2<u32> {
    let start = starts[g];
    let stored_end = starts[g + 1u];
    var end = stored_end;
    if (IS_FLOAT) { end = first_not_less(key_of(NAN_OF_X), start, stored_end); }
    var gaps = 0u;
    if (param(2u) == 1u) { gaps = param(1u) - (stored_end - start); }
    if (!SKIPS_NAN && (end < stored_end || (gaps > 0u && nan_x(given())))) { return NAN_RESULT; }
    if (nan_x(given())) { gaps = 0u; }
    let count = end - start + gaps;
    if (count == 0u) { return NAN_RESULT; }
    let key = key_of(given());
    let below = first_not_less(key, start, end) - start;
    let low = key_of_rank((count - 1u) / 2u, start, below, gaps, key);
    if (IS_LOWER) { return middle(low, low); }
    return middle(low, key_of_rank(count / 2u, start, below, gaps, key));
}
fn key_of_rank(rank: u32, start: u32, below: u32, gaps: u32, gap: vec2<u32>) -> vec2<u32> {
    if (rank < below) { return key_at(start + rank); }
    if (rank < below + gaps) { return gap; }
    return key_at(start + rank - gaps);
}
";

/// Returns the functions that compute a median from the keys in the middle.
fn midpoint(form: Form, out: Form) -> String {
    let nan_of_x = if form.is_float() { form.nan() } else { "vec2(0u, 0u)" };
    format!("const NAN_OF_X = {nan_of_x};\n{}{}", float_of(form), between(out))
}

/// Returns the function `float_of(key)`: the value of a key, as a float.
fn float_of(form: Form) -> String {
    let offset = match (form.kind, form.bits) {
        (Kind::Float, _) => return "fn float_of(key: vec2<u32>) -> vec2<u32> { return value_of_key(key); }\n".into(),
        (Kind::Signed, 64) => "vec2(0u, 0x80000000u)".to_string(),
        (Kind::Signed, bits) => format!("vec2({}u, 0u)", 1u32 << (bits - 1)),
        (Kind::Unsigned, _) => "vec2(0u, 0u)".into(),
    };
    format!(
        "
fn float_of(key: vec2<u32>) -> vec2<u32> {{
    // A key is the integer plus the offset.
    let offset = {offset};
    let is_negative = is_less(key, offset);
    let magnitude = select(sub(key, offset), sub(offset, key), is_negative);
    let wide = Wide(magnitude.x, magnitude.y, 0u, 0u, 0u);
    {}
}}
",
        as_float(Form::F64, &EXPONENT_OF_ONE.to_string())
    )
}

/// Returns the function `middle(low, high)`: the value halfway between the values of two keys, rounded once.
fn between(form: Form) -> String {
    let (exponent, significand) = match form.bits {
        64 => ("(v.y >> 20u) & 0x7ffu", "vec2(v.x, (v.y & 0xfffffu) | select(0u, 0x100000u, exponent_of(v) > 0u))"),
        _ => ("(v.y >> 23u) & 0xffu", "vec2((v.y & 0x7fffffu) | select(0u, 0x800000u, exponent_of(v) > 0u), 0u)"),
    };
    format!(
        "
fn exponent_of(v: vec2<u32>) -> u32 {{ return {exponent}; }}
fn significand_of(v: vec2<u32>) -> vec2<u32> {{ return {significand}; }}
fn middle(low: vec2<u32>, high: vec2<u32>) -> vec2<u32> {{
    var a = float_of(low);
    var b = float_of(high);
    if (is_same(a, b)) {{ return a; }}
    let a_is_infinite = exponent_of(a) == INFINITY;
    if (a_is_infinite && exponent_of(b) == INFINITY) {{ return NAN_RESULT; }}
    if (a_is_infinite) {{ return a; }}
    if (exponent_of(b) == INFINITY) {{ return b; }}
    // `a` has the larger exponent.
    if (exponent_of(a) < exponent_of(b)) {{ let c = a; a = b; b = c; }}
    let exponent = max(exponent_of(a), 1u);
    let shift = exponent - max(exponent_of(b), 1u);
    let one = significand_of(a);
    // The words of both significands, 64 bits above the lowest bit. The bits that are shifted out are less than half
    // of the last bit of the result, so one bit stands for them.
    var small = array<u32, 6>(0u, 0u, 0u, 0u, 0u, 0u);
    let other = significand_of(b);
    if (shift > 64u) {{
        small[0] = select(0u, 1u, (other.x | other.y) != 0u);
    }} else {{
        let up = 64u - shift;
        let first = up / 32u;
        let by = up % 32u;
        small[first] = other.x << by;
        small[first + 1u] = other.y << by;
        if (by > 0u) {{
            small[first + 1u] |= other.x >> (32u - by);
            small[first + 2u] = other.y >> (32u - by);
        }}
    }}
    let differ = ((a.y ^ b.y) >> 31u) == 1u;
    var sum = array<u32, 5>(0u, 0u, one.x, one.y, 0u);
    var carry = select(0u, 1u, differ);
    for (var k = 0u; k < 5u; k++) {{
        let word = select(small[k], ~small[k], differ);
        let part = sum[k] + word;
        let all = part + carry;
        carry = select(0u, 1u, part < word || all < part);
        sum[k] = all;
    }}
    // Equal exponents: the difference may be negative.
    var is_negative = (a.y >> 31u) == 1u;
    if ((sum[4] >> 31u) == 1u) {{
        is_negative = !is_negative;
        var borrow = 1u;
        for (var k = 0u; k < 5u; k++) {{
            let word = ~sum[k] + borrow;
            borrow = select(0u, borrow, sum[k] == 0u);
            sum[k] = word;
        }}
    }}
    let wide: Wide = sum;
    {}
}}
",
        as_float(form, "i32(exponent) - 65")
    )
}
