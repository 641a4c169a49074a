//! Exact sums and means, rounded once.
//!
//! A sum is a fixed-point number of many words, in two's complement. A float whose lowest bit is below the lowest bit
//! of this number is left to the threads.

use lacuna::Result;

use crate::context::{Context, Size, Words};
use crate::floats::{DIVIDE, EXPONENT_OF_ONE, as_float, rounding};
use crate::fold::{Fold, Reduced};
use crate::kernel::{Access, Form, Items, Kernel, Kind};
use crate::tensor::DeviceValue;

/// A sum or a mean.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    pub(crate) is_mean: bool,
    pub(crate) skips_nan: bool,
}

/// The words of a sum of integers.
const WORDS_OF_INTEGERS: usize = 4;
/// The words of a sum of 32-bit floats. All of them fit, however many are added.
const WORDS_OF_F32: usize = 10;
/// The words of a sum of 64-bit floats.
const WORDS_OF_F64: usize = 8;
/// The bits above the largest summand: a sum has fewer than 2^33 summands, and a sign.
const HEADROOM: u32 = 34;
/// The words that a division adds below a sum, so that the quotient has more bits than a float.
const WORDS_OF_QUOTIENT: usize = 3;

impl Sum {
    /// Returns the sum of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let skips_nan = name.starts_with("nan");
        match name.trim_start_matches("nan") {
            "sum" => Some(Sum { is_mean: false, skips_nan }),
            "mean" => Some(Sum { is_mean: true, skips_nan }),
            _ => None,
        }
    }

    /// Returns the reduction of a tensor. `None` if groups have too many positions.
    pub(crate) fn fold(self, x: &DeviceValue, over: &Reduced) -> Result<Option<Fold>> {
        let counts = over.counts_unstored && (self.is_mean || x.is_fill_truthy());
        if counts && over.extent(&x.pattern.shape).is_none_or(|extent| extent > u32::MAX.into()) {
            return Ok(None);
        }
        let form = x.form();
        let (words, lowest) = match (form.kind, form.bits) {
            (Kind::Float, 64) => (WORDS_OF_F64, Some(lowest_exponent(&x.gpu.0.context, x)?)),
            (Kind::Float, _) => (WORDS_OF_F32, None),
            _ => (WORDS_OF_INTEGERS, None),
        };
        let wide = if self.is_mean { words + WORDS_OF_QUOTIENT } else { words };
        let divide = if self.is_mean { DIVIDE } else { "" };
        let lowest_of = match (&lowest, form.is_float()) {
            (Some(_), _) => "state_of_all[0]".into(),
            (None, true) => "1u".into(),
            (None, false) => format!("{EXPONENT_OF_ONE}u"),
        };
        let constants = format!("const WORDS = {words}u;\nconst SKIPS_NAN = {};\n", self.skips_nan);
        let lowest_of = format!("fn lowest_exponent() -> u32 {{ return {lowest_of}; }}");
        let text = format!("{}{divide}{constants}{lowest_of}{SUM}{}", rounding(form, wide), entry(form));
        let fold = Fold::new(words + 2, text, self.result(form));
        Ok(Some(Fold { fails: true, of_all: lowest, ..fold }))
    }

    /// Returns the function `result`, which adds the unstored positions, divides, and rounds.
    fn result(self, form: Form) -> String {
        let float = if form.is_float() { form } else { Form::F64 };
        let rounded = match (self.is_mean || form.is_float(), form.kind) {
            (true, _) => as_float(float, "i32(lowest_exponent()) - 32 * i32(WIDE - WORDS)"),
            (false, Kind::Signed) => SIGNED.into(),
            (false, _) => UNSIGNED.into(),
        };
        let divide = if self.is_mean { "wide = divided(wide, all[WORDS + 1u]);" } else { "" };
        let nan = float.nan();
        let empty =
            if self.is_mean { format!("if (all[WORDS + 1u] == 0u) {{ return {nan}; }}") } else { String::new() };
        let specials = match form.is_float() {
            true => format!(
                "let flags = all[WORDS];
if ((flags & OUTSIDE) != 0u) {{ fail(); return vec2(0u, 0u); }}
if ((flags & HAS_NAN) != 0u || (flags & BOTH) == BOTH) {{ return {nan}; }}
if ((flags & BOTH) != 0u) {{ return infinite((flags & BOTH) == MINUS); }}"
            ),
            false => String::new(),
        };
        format!(
            "
fn result(s: State, g: u32) -> vec2<u32> {{
    var all = s;
    let count = gaps(g).x;
    if (count > 0u) {{ all = merge(s, times(given(), count)); }}
    {empty}
    {specials}
    let is_negative = (all[WORDS - 1u] >> 31u) == 1u;
    // The magnitude stands above the words of the quotient.
    var wide = Wide();
    var carry = 1u;
    for (var k = 0u; k < WORDS; k++) {{
        let word = select(all[k], ~all[k] + carry, is_negative);
        carry = select(0u, carry, all[k] == 0u);
        wide[k + WIDE - WORDS] = word;
    }}
    {divide}
    {rounded}
}}"
        )
    }
}

/// Returns the lowest biased exponent such that the largest finite float and all sums of it fit. It stays on the
/// device.
fn lowest_exponent(context: &Context, x: &DeviceValue) -> Result<Words> {
    let groups = x.pattern.groups(&x.gpu, &[])?;
    let largest = Fold::new(1, LARGEST.into(), String::new()).states(context, x, &groups, None)?;
    let of_fill = (x.fill_bits() >> 52) as u32 & 0x7ff;
    let of_fill = if of_fill == 0x7ff { 0 } else { of_fill };
    let lowest = context.zeros(1)?;
    let kernel = Kernel::new("lowest_exponent")
        .array("largest", Access::Read, Items::Words)
        .array("lowest", Access::Write, Items::Words)
        .body("if (i == 0u) { lowest[0] = max(max(largest[0], param(0u)) + param(1u), param(2u) + 1u) - param(2u); }");
    let params = [of_fill, 53 + HEADROOM, 32 * WORDS_OF_F64 as u32];
    context.run(&kernel, &[&largest, &lowest], params, Size::Invocations(1))?;
    Ok(lowest)
}

/// The largest biased exponent of finite floats of 64 bits.
const LARGEST: &str = "
fn none() -> State { return State(0u); }
fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State {
    let exponent = (v.y >> 20u) & 0x7ffu;
    return State(select(exponent, 0u, exponent == 0x7ffu));
}
fn merge(a: State, b: State) -> State { return State(max(a[0], b[0])); }";

/// A sum: its words, flags, and the number of summands.
const SUM: &str = "
const HAS_NAN = 1u;
const PLUS = 2u;
const MINUS = 4u;
const BOTH = 6u;
const OUTSIDE = 8u;
fn none() -> State { return State(); }
fn merge(a: State, b: State) -> State {
    var sum = a;
    var other = b;
    var carry = 0u;
    for (var k = 0u; k < WORDS; k++) {
        let word = sum[k] + other[k];
        let both = word + carry;
        carry = select(0u, 1u, word < other[k] || both < word);
        sum[k] = both;
    }
    sum[WORDS] |= other[WORDS];
    sum[WORDS + 1u] += other[WORDS + 1u];
    return sum;
}
// Adds a magnitude of two words at a bit, with a sign.
fn with_bits(s: State, bits: vec2<u32>, shift: u32, is_negative: bool) -> State {
    let first = shift / 32u;
    let low = shift % 32u;
    var words = array<u32, 3>(bits.x << low, bits.y << low, 0u);
    if (low > 0u) {
        words[1] |= bits.x >> (32u - low);
        words[2] = bits.y >> (32u - low);
    }
    var sum = s;
    var carry = select(0u, 1u, is_negative);
    for (var k = first; k < WORDS; k++) {
        var word = 0u;
        if (k < first + 3u) { word = words[k - first]; }
        if (is_negative) { word = ~word; }
        let one = sum[k] + word;
        let both = one + carry;
        carry = select(0u, 1u, one < word || both < one);
        sum[k] = both;
    }
    return sum;
}
";

/// Returns the functions `entry(v, position, at)` and `times(v, count)`.
fn entry(form: Form) -> String {
    if !form.is_float() {
        let magnitude = match (form.kind, form.bits) {
            (Kind::Signed, 64) => "select(v, sub(vec2(0u, 0u), v), is_negative)",
            (Kind::Signed, 32) => "vec2(select(v.y, 0u - v.y, is_negative), 0u)",
            (Kind::Signed, 16) => "vec2(select(v.y, 0x10000u - v.y, is_negative), 0u)",
            (Kind::Signed, _) => "vec2(select(v.y, 0x100u - v.y, is_negative), 0u)",
            (_, 64) => "v",
            _ => "vec2(v.y, 0u)",
        };
        let is_negative = match form.kind {
            Kind::Signed => format!("(v.y >> {}u) == 1u", form.bits.min(32) - 1),
            _ => "false".into(),
        };
        return format!(
            "fn times(v: vec2<u32>, count: u32) -> State {{
    let is_negative = {is_negative};
    let magnitude = {magnitude};
    var sum = with_bits(none(), mul(magnitude.x, count), 0u, is_negative);
    sum = with_bits(sum, mul(magnitude.y, count), 32u, is_negative);
    sum[WORDS + 1u] = count;
    return sum;
}}
{ENTRY}"
        );
    }
    format!(
        "fn times(v: vec2<u32>, count: u32) -> State {{
    var sum = none();
    let exponent = exponent_of(v);
    let is_negative = (v.y >> 31u) == 1u;
    sum[WORDS + 1u] = count;
    if (exponent == INFINITY) {{
        if (nan_x(v)) {{
            if (SKIPS_NAN) {{ return none(); }}
            sum[WORDS] = HAS_NAN;
        }} else {{
            sum[WORDS] = select(PLUS, MINUS, is_negative);
        }}
        return sum;
    }}
    var significand = significand_of(v);
    if (!truthy_x(v)) {{ return sum; }}
    var shift = i32(max(exponent, 1u)) - i32(lowest_exponent());
    // Zeros at the end of a significand may be below the lowest bit.
    while (shift < 0 && (significand.x & 1u) == 0u) {{
        significand = vec2((significand.x >> 1u) | (significand.y << 31u), significand.y >> 1u);
        shift += 1;
    }}
    if (shift < 0) {{
        sum[WORDS] = OUTSIDE;
        return sum;
    }}
    sum = with_bits(sum, mul(significand.x, count), u32(shift), is_negative);
    if (significand.y != 0u) {{ sum = with_bits(sum, mul(significand.y, count), u32(shift) + 32u, is_negative); }}
    return sum;
}}
{ENTRY}"
    )
}

const ENTRY: &str = "fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State { return times(v, 1u); }
";

/// The number as a signed integer of 64 bits, or an error.
const SIGNED: &str = "
    let limit = vec2(select(0xffffffffu, 0u, is_negative), select(0x7fffffffu, 0x80000000u, is_negative));
    let magnitude = vec2(wide[0], wide[1]);
    if ((wide[2] | wide[3]) != 0u || is_less(limit, magnitude)) { fail(); }
    return select(magnitude, sub(vec2(0u, 0u), magnitude), is_negative);";

const UNSIGNED: &str = "
    if ((wide[2] | wide[3]) != 0u) { fail(); }
    return vec2(wide[0], wide[1]);";
