//! Medians: the entries sorted by group and value, then the values at the middle ranks.

use std::sync::Arc;

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::element::form_of;
use crate::floats::{EXPONENT_OF_ONE, WORDS_OF_TWO, as_float, rounding, share, sum_of_two};
use crate::fold::Reduced;
use crate::groups::Groups;
use crate::kernel::{Access, Form, Items, Kernel, Kind, Params};
use crate::outline::Outline;
use crate::sort::sorted;
use crate::spread::{Upstream, with_gradients};
use crate::tensor::DeviceValue;

/// A median.
#[derive(Clone, Copy)]
pub(crate) struct Median {
    pub(crate) skips_nan: bool,
    /// Whether an even number of values has the lower middle value, in place of the mean of both.
    pub(crate) is_lower: bool,
}

/// The sorted entries of a tensor, and the parameters of kernels that read them.
struct Sorted {
    groups: Arc<Groups>,
    keys: Words,
    order: Words,
    params: [u32; 3],
}

impl Median {
    /// Sorts the entries. `None` if a group has 2^32 positions.
    fn sorted(&self, x: &DeviceValue, over: &Reduced) -> Result<Option<Sorted>> {
        let (gpu, pattern) = (&x.gpu, &x.pattern);
        let extent = over.extent(&pattern.shape).and_then(|extent| u32::try_from(extent).ok());
        let Some(extent) = extent.or((!over.counts_unstored).then_some(0)) else { return Ok(None) };
        let (context, groups) = (&gpu.0.context, pattern.groups(gpu, &over.kept)?);
        let keys = keys(context, x)?;
        let order = order(context, x, &groups, &keys)?;
        let params = [groups.count, extent, over.counts_unstored.into()];
        Ok(Some(Sorted { groups, keys, order, params }))
    }

    /// Computes the medians, and their positions on demand. `None` if the device does not compute them for this
    /// operand.
    pub(crate) fn run(
        &self,
        x: &DeviceValue,
        over: &Reduced,
        outline: &Outline,
        has_positions: bool,
    ) -> Result<Option<DeviceValue>> {
        let Some(form) = form_of(outline.dtype) else { return Ok(None) };
        let Some(sorted) = self.sorted(x, over)? else { return Ok(None) };
        let (gpu, groups) = (&x.gpu, &sorted.groups);
        let values = self.computed(x, &sorted, form, "medians", |kernel| {
            let text = midpoint(x.form(), form).replace("NAN_RESULT", form.nan());
            let kernel = kernel.function(&format!("{}{text}", rounding(form, WORDS_OF_TWO)));
            let nan = form.nan();
            kernel.output(
                form,
                &format!("let m = middles_of(e); if (!m.exist) {{ return {nan}; }} return middle(m.low, m.high);"),
            )
        })?;
        let positions = match has_positions {
            true => Some(self.positions(x, over, &sorted)?),
            false => None,
        };
        let pattern = groups.pattern(gpu, &x.pattern, &over.kept, over.keeps_dims)?;
        Ok(Some(DeviceValue { positions, ..x.with(pattern, values, outline) }))
    }

    /// Runs a kernel that writes one value per group.
    fn computed(
        &self,
        x: &DeviceValue,
        sorted: &Sorted,
        form: Form,
        name: &'static str,
        with_output: impl Fn(Kernel) -> Kernel,
    ) -> Result<Words> {
        let (context, count) = (&x.gpu.0.context, sorted.groups.count);
        let values = context.zeros(form.words(count.into()))?;
        let arrays = [&sorted.keys, &sorted.order, &sorted.groups.starts, &values];
        let params = Params::of(&sorted.params).value(x.form(), x.fill_bits());
        let kernel = with_output(self.kernel(name, x.form()));
        context.run(&kernel, &arrays, params, Size::Invocations(form.invocations(count.into())))?;
        Ok(values)
    }

    /// Returns the position of the first element that equals the lower middle value of each group.
    fn positions(&self, x: &DeviceValue, over: &Reduced, sorted: &Sorted) -> Result<Words> {
        let (context, groups) = (&x.gpu.0.context, &sorted.groups);
        let places = over.positions(x)?;
        let values = context.zeros(2 * u64::from(groups.count))?;
        let kernel = self.kernel("positions_of_medians", x.form()).array("places", Access::Read, Items::Pairs);
        let mut arrays = vec![&sorted.keys, &sorted.order, &groups.starts, &places];
        let (kernel, at) = match &groups.order {
            Some(order) => {
                arrays.push(order);
                (kernel.array("stored_order", Access::Read, Items::Words), "stored_order[at]")
            }
            None => (kernel, "at"),
        };
        arrays.push(&values);
        // Before the first unstored position, entries are at the positions of their numbers.
        let kernel =
            kernel.search("first_gap", "u32", &format!("places[{at}].x == at - key")).output(Form::U64, POSITION);
        let params = Params::of(&sorted.params).value(x.form(), x.fill_bits());
        context.run(&kernel, &arrays, params, Size::Invocations(groups.count.into()))?;
        Ok(values)
    }

    /// Returns the gradient: each entry that equals a middle value receives its share.
    pub(crate) fn gradient(
        &self,
        x: &DeviceValue,
        upstream: &DeviceValue,
        over: &Reduced,
        outline: &Outline,
    ) -> Result<Option<DeviceValue>> {
        let Some(sorted) = self.sorted(x, over)? else { return Ok(None) };
        let (context, groups, nnz) = (&x.gpu.0.context, &sorted.groups, x.pattern.nnz);
        let Some(found) = Upstream::new(x, upstream, groups, over)? else { return Ok(None) };
        let key = |name, middle: &str| {
            let value = format!("let m = middles_of(e); return m.{middle};");
            self.computed(x, &sorted, Form::U64, name, |kernel| kernel.output(Form::U64, &value))
        };
        let (lows, highs) = (key("lower_middles", "low")?, key("upper_middles", "high")?);
        // How many elements equal each middle value: 0 if there is none.
        let counts = self.computed(x, &sorted, Form::U64, "receivers", |kernel| {
            let value = "let m = middles_of(e); if (!m.exist) { return vec2(0u, 0u); }
    return vec2(equal_to(m, m.low), equal_to(m, m.high));";
            kernel.output(Form::U64, value)
        })?;
        let (form, values) = (upstream.form(), context.zeros(upstream.form().words(nnz.into()))?);
        let kernel = with_gradients(Kernel::new("gradient_of_median").values("x", x.form()), upstream)
            .array("lows", Access::Read, Items::Pairs)
            .array("highs", Access::Read, Items::Pairs)
            .array("counts", Access::Read, Items::Pairs)
            .function(&format!("{}{}{}", key_text(x.form()), rounding(form, WORDS_OF_TWO), share(form)))
            .output(form, RECEIVED);
        let arrays = [&x.values, &found.numbers, &found.places, &upstream.values, &lows, &highs, &counts, &values];
        let params = Params::of(&[nnz]).value(form, upstream.fill_bits());
        context.run(&kernel, &arrays, params, Size::Invocations(form.invocations(nnz.into())))?;
        Ok(Some(x.with(Arc::clone(&x.pattern), values, outline)))
    }

    /// Returns a kernel with the function `middles_of(group)`.
    fn kernel(&self, name: &'static str, form: Form) -> Kernel {
        let nan = if form.is_float() { form.nan() } else { "vec2(0u, 0u)" };
        Kernel::new(name)
            .typed("x", form)
            .array("keys", Access::Read, Items::Pairs)
            .array("order", Access::Read, Items::Words)
            .array("starts", Access::Read, Items::Words)
            .function(&key_text(form))
            .search("first_not_less", "vec2<u32>", "is_less(keys[order[at]], key)")
            .search("first_greater", "vec2<u32>", "!is_less(key, keys[order[at]])")
            .function(&format!(
                "const SKIPS_NAN = {};\nconst IS_LOWER = {};\nconst IS_FLOAT = {};\nconst NAN_OF_X = {nan};\n{MIDDLES}",
                self.skips_nan,
                self.is_lower,
                form.is_float(),
            ))
    }
}

/// The position of the first element that equals the lower middle value: the first entry, or an unstored position.
const POSITION: &str = "
    let m = middles_of(e);
    var found = vec2(0xffffffffu, 0xffffffffu);
    if (!m.exist) { return found; }
    let at = first_not_less(m.low, m.start, m.end);
    if (at < m.end && is_same(key_at(at), m.low)) { found = places[order[at]]; }
    if (m.gaps > 0u && is_same(m.low, key_of(given()))) {
        let gap = vec2(first_gap(m.start, m.start, m.stored_end) - m.start, 0u);
        if (is_less(gap, found)) { found = gap; }
    }
    return found;";

/// The gradient that an entry receives.
const RECEIVED: &str = "
    let v = load_x(e);
    let group = numbers[e];
    let count = counts[group];
    if (count.x == 0u || nan_x(v)) { return vec2(0u, 0u); }
    let key = key_of(v);
    let is_half = !is_same(lows[group], highs[group]);
    if (is_same(key, lows[group])) { return share(gradient_of(group), is_half, count.x); }
    if (is_same(key, highs[group])) { return share(gradient_of(group), is_half, count.y); }
    return vec2(0u, 0u);";

/// Returns the functions of keys.
fn key_text(form: Form) -> String {
    KEY.replace("BITS", &form.bits.to_string())
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
        .function(&key_text(form))
        .array("keys", Access::Write, Items::Pairs)
        .body("if (i < param(0u)) { keys[i] = key_of(load_x(i)); }");
    context.run(&kernel, &[&x.values, &keys], [nnz], Size::Invocations(nnz.into()))?;
    Ok(keys)
}

/// Returns the entries, sorted by group and then by key.
fn order(context: &Context, x: &DeviceValue, groups: &Groups, keys: &Words) -> Result<Words> {
    let nnz = x.pattern.nnz;
    if groups.are_short() {
        return order_of_short(context, groups, keys, nnz);
    }
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
    context.run(&kernel, &[&numbers, &order, &keys], [nnz], Size::Invocations(nnz.into()))?;
    Ok(sorted(context, &keys, Some(&order), nnz, bits)?.1)
}

/// Sorts groups of few entries: the place of an entry is the number of entries of its group that come before it.
fn order_of_short(context: &Context, groups: &Groups, keys: &Words, nnz: u32) -> Result<Words> {
    let sorted = context.zeros(nnz.into())?;
    let kernel = Kernel::new("order_of_short_groups")
        .array("keys", Access::Read, Items::Pairs)
        .array("starts", Access::Read, Items::Words)
        .search("group_of", "u32", "starts[at + 1u] <= key");
    let (kernel, mut arrays) = (kernel, vec![keys, &groups.starts]);
    let (kernel, entry) = match &groups.order {
        Some(order) => {
            arrays.push(order);
            let kernel = kernel.array("stored_order", Access::Read, Items::Words);
            (kernel, "fn entry_at(at: u32) -> u32 { return stored_order[at]; }")
        }
        None => (kernel, "fn entry_at(at: u32) -> u32 { return at; }"),
    };
    let kernel = kernel.function(entry).array("sorted", Access::Write, Items::Words).body(
        "if (i >= param(0u)) { return; }
let g = group_of(i, 0u, param(1u));
let key = keys[entry_at(i)];
var place = starts[g];
for (var at = starts[g]; at < starts[g + 1u]; at++) {
    let other = keys[entry_at(at)];
    if (is_less(other, key) || (at < i && is_same(other, key))) { place += 1u; }
}
sorted[place] = entry_at(i);",
    );
    arrays.push(&sorted);
    context.run(&kernel, &arrays, [nnz, groups.count], Size::Invocations(nnz.into()))?;
    Ok(sorted)
}

/// The middle values of a group, with `gaps` values of the fill among the sorted keys of its entries.
const MIDDLES: &str = "
struct Middles {
    exist: bool,
    low: vec2<u32>,
    high: vec2<u32>,
    // The sorted entries that are not NaN, and all entries.
    start: u32,
    end: u32,
    stored_end: u32,
    gaps: u32,
}
const NAN_KEY = vec2(0xffffffffu, 0xffffffffu);
fn key_at(at: u32) -> vec2<u32> { return keys[order[at]]; }
fn middles_of(g: u32) -> Middles {
    var m = Middles();
    m.start = starts[g];
    m.stored_end = starts[g + 1u];
    m.end = m.stored_end;
    if (IS_FLOAT) { m.end = first_not_less(key_of(NAN_OF_X), m.start, m.stored_end); }
    if (param(2u) == 1u) { m.gaps = param(1u) - (m.stored_end - m.start); }
    if (!SKIPS_NAN && (m.end < m.stored_end || (m.gaps > 0u && nan_x(given())))) { return m; }
    if (nan_x(given())) { m.gaps = 0u; }
    let count = m.end - m.start + m.gaps;
    if (count == 0u) { return m; }
    m.exist = true;
    let key = key_of(given());
    let below = first_not_less(key, m.start, m.end) - m.start;
    m.low = key_of_rank((count - 1u) / 2u, m.start, below, m.gaps, key);
    m.high = m.low;
    if (!IS_LOWER) { m.high = key_of_rank(count / 2u, m.start, below, m.gaps, key); }
    return m;
}
fn key_of_rank(rank: u32, start: u32, below: u32, gaps: u32, gap: vec2<u32>) -> vec2<u32> {
    if (rank < below) { return key_at(start + rank); }
    if (rank < below + gaps) { return gap; }
    return key_at(start + rank - gaps);
}
// The number of elements with a key.
fn equal_to(m: Middles, key: vec2<u32>) -> u32 {
    let stored = first_greater(key, m.start, m.end) - first_not_less(key, m.start, m.end);
    return stored + select(0u, m.gaps, is_same(key, key_of(given())));
}
";

/// Returns the functions that compute a median from the keys in the middle.
fn midpoint(form: Form, out: Form) -> String {
    let halved = sum_of_two("half_of_sum", out, 1);
    format!("{}{halved}{MIDDLE}", float_of(form))
}

/// The value halfway between the values of two keys, rounded once.
const MIDDLE: &str = "
fn middle(low: vec2<u32>, high: vec2<u32>) -> vec2<u32> {
    let a = float_of(low);
    let b = float_of(high);
    if (is_same(a, b)) { return a; }
    return half_of_sum(a, b);
}
";

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
