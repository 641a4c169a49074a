//! Exact sums and means, rounded once.
//!
//! A sum is a fixed-point number of many words, in two's complement. A float whose lowest bit is below the lowest bit
//! of this number is left to the threads.

use lacuna::Result;

use crate::context::Context;
use crate::fold::{Fold, Reduced};
use crate::kernel::{Form, Kind};
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
/// The biased exponent of a 64-bit float whose lowest bit is 1.
pub(crate) const EXPONENT_OF_ONE: u32 = 1023 + 52;

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
        let counts = over.counts_gaps && (self.is_mean || x.is_fill_truthy());
        if counts && over.extent(&x.pattern.shape).is_none_or(|extent| extent > u32::MAX.into()) {
            return Ok(None);
        }
        let form = x.form();
        let (words, lowest) = match (form.kind, form.bits) {
            (Kind::Float, 64) => (WORDS_OF_F64, lowest_exponent(&x.gpu.0.context, x)?),
            (Kind::Float, _) => (WORDS_OF_F32, 1),
            _ => (WORDS_OF_INTEGERS, EXPONENT_OF_ONE),
        };
        let text = format!("{}{SUM}{}", self.constants(form, words), entry(form));
        let result = self.result(form);
        Ok(Some(Fold { words: words + 2, text, result, reads_positions: false, fails: true, params: vec![lowest] }))
    }

    fn constants(self, form: Form, words: usize) -> String {
        let wide = if self.is_mean { words + WORDS_OF_QUOTIENT } else { words };
        format!("{}const WORDS = {words}u;\nconst SKIPS_NAN = {};\n", rounding(form, wide), self.skips_nan)
    }

    /// Returns the function `result`, which adds the unstored positions, divides, and rounds.
    fn result(self, form: Form) -> String {
        let float = if form.is_float() { form } else { Form::F64 };
        let rounded = match (self.is_mean || form.is_float(), form.kind) {
            (true, _) => as_float(float, "i32(param(4u)) - 32 * i32(WIDE - WORDS)"),
            (false, Kind::Signed) => SIGNED.into(),
            (false, _) => UNSIGNED.into(),
        };
        let (divide, nan) = (if self.is_mean { DIVIDE } else { "" }, float.nan());
        let empty =
            if self.is_mean { format!("if (all[WORDS + 1u] == 0u) {{ return {nan}; }}") } else { String::new() };
        let specials = match form.is_float() {
            true => format!(
                "let flags = all[WORDS];
if ((flags & OUTSIDE) != 0u) {{ atomicOr(&errors[0], 1u); return vec2(0u, 0u); }}
if ((flags & HAS_NAN) != 0u || (flags & BOTH) == BOTH) {{ return {nan}; }}
if ((flags & BOTH) != 0u) {{ return infinite((flags & BOTH) == MINUS); }}"
            ),
            false => String::new(),
        };
        format!(
            "{ROUND}
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

/// Returns the constants of [`ROUND`], for a magnitude of `wide` words and a float of a form; for integers, a float of
/// 64 bits.
pub(crate) fn rounding(form: Form, wide: usize) -> String {
    let (precision, infinity) = if form.is_float() && form.bits == 32 { (23, 255) } else { (52, 2047) };
    format!(
        "const WIDE = {wide}u;\nalias Wide = array<u32, {wide}>;\nconst PRECISION = {precision}u;\n\
         const INFINITY = {infinity}u;\n"
    )
}

/// Returns the lowest biased exponent such that the largest finite float and all sums of it fit.
fn lowest_exponent(context: &Context, x: &DeviceValue) -> Result<u32> {
    let groups = x.pattern.groups(&x.gpu, &[])?;
    let fold = Fold::new(1, LARGEST.into(), String::new());
    let largest = match groups.count {
        0 => 0,
        _ => context.word(&fold.states(context, x, &groups, None)?, 0)?,
    };
    let of_fill = (x.fill_bits() >> 52) as u32 & 0x7ff;
    let largest = largest.max(if of_fill == 0x7ff { 0 } else { of_fill });
    Ok((largest + 53 + HEADROOM).saturating_sub(32 * WORDS_OF_F64 as u32).max(1))
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
    let (exponent, significand) = match form.bits {
        64 => ("(v.y >> 20u) & 0x7ffu", "vec2(v.x, (v.y & 0xfffffu) | select(0u, 0x100000u, exponent > 0u))"),
        _ => ("(v.y >> 23u) & 0xffu", "vec2((v.y & 0x7fffffu) | select(0u, 0x800000u, exponent > 0u), 0u)"),
    };
    format!(
        "fn times(v: vec2<u32>, count: u32) -> State {{
    var sum = none();
    let exponent = {exponent};
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
    var significand = {significand};
    if (!truthy_x(v)) {{ return sum; }}
    var shift = i32(max(exponent, 1u)) - i32(param(4u));
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

/// Divides the magnitude by the number of summands. A remainder sets the lowest bit of the quotient, which is below the
/// bit that decides a tie: the quotient has 96 bits more than the sum, and a divisor has 32.
const DIVIDE: &str = "
    let divisor = all[WORDS + 1u];
    var remainder = 0u;
    for (var k = WIDE; k > 0u; k--) {
        let word = wide[k - 1u];
        var quotient = 0u;
        for (var bit = 32u; bit > 0u; bit--) {
            // Invariant: the remainder is less than the divisor.
            let overflows = (remainder >> 31u) == 1u;
            remainder = (remainder << 1u) | ((word >> (bit - 1u)) & 1u);
            if (overflows || remainder >= divisor) {
                remainder -= divisor;
                quotient |= 1u << (bit - 1u);
            }
        }
        wide[k - 1u] = quotient;
    }
    if (remainder != 0u) { wide[0] |= 1u; }";

/// Rounds a magnitude to a float.
pub(crate) const ROUND: &str = "
fn infinite(is_negative: bool) -> vec2<u32> {
    return vec2(0u, select(INFINITY << (PRECISION % 32u), (INFINITY << (PRECISION % 32u)) | 0x80000000u, is_negative));
}
fn word_of(wide: Wide, bit: u32) -> u32 {
    var copy = wide;
    let k = bit / 32u;
    let low = bit % 32u;
    var word = 0u;
    if (k < WIDE) { word = copy[k] >> low; }
    if (low > 0u && k + 1u < WIDE) { word |= copy[k + 1u] << (32u - low); }
    return word;
}
// Returns the significand and the biased exponent as the bits of a float without its sign: the lowest bit of `wide` is
// that of a float with the biased exponent `exponent`.
fn rounded(wide: Wide, exponent: i32) -> vec2<u32> {
    var copy = wide;
    var top = -1;
    for (var k = 0u; k < WIDE; k++) {
        if (copy[k] != 0u) { top = i32(32u * k + firstLeadingBit(copy[k])); }
    }
    if (top < 0) { return vec2(0u, 0u); }
    // The lowest bit that is kept: the least normal exponent is 1.
    let lowest = max(top - i32(PRECISION), 1 - exponent);
    var bits: vec2<u32>;
    if (lowest <= 0) {
        let up = u32(-lowest);
        bits = vec2(copy[0], word_of(wide, 32u));
        for (var k = 0u; k < up; k++) { bits = vec2(bits.x << 1u, (bits.y << 1u) | (bits.x >> 31u)); }
    } else {
        let at = u32(lowest);
        bits = vec2(word_of(wide, at), word_of(wide, at + 32u));
        let half = (word_of(wide, at - 1u) & 1u) == 1u;
        var rest = false;
        for (var k = 0u; k < WIDE; k++) {
            if (32u * (k + 1u) <= at - 1u) {
                rest = rest || copy[k] != 0u;
            } else if (32u * k < at - 1u) {
                rest = rest || (copy[k] & ((1u << ((at - 1u) % 32u)) - 1u)) != 0u;
            }
        }
        if (half && (rest || (bits.x & 1u) == 1u)) { bits = add(bits, vec2(1u, 0u)); }
    }
    // The hidden bit of the significand adds 1 to the exponent.
    let above = u32(lowest + exponent - 1);
    if (PRECISION == 52u) { bits.y += above << 20u; } else { bits.x += above << 23u; }
    return bits;
}
";

/// Returns the statements that return the float of a form: `wide` rounded, with a sign. `exponent` is the biased
/// exponent of a float with the lowest bit of `wide` as its lowest bit.
pub(crate) fn as_float(form: Form, exponent: &str) -> String {
    let (word, infinity, float) = match form.bits {
        64 => ("y", "0x7ff00000u", "vec2(bits.x, bits.y | sign)"),
        _ => ("x", "0x7f800000u", "vec2(0u, bits.x | sign)"),
    };
    format!(
        "
    var bits = rounded(wide, {exponent});
    if (bits.{word} >= {infinity}) {{ return infinite(is_negative); }}
    let sign = select(0u, 0x80000000u, is_negative && (bits.x | bits.y) != 0u);
    return {float};"
    )
}

/// The number as a signed integer of 64 bits, or an error.
const SIGNED: &str = "
    let limit = vec2(select(0xffffffffu, 0u, is_negative), select(0x7fffffffu, 0x80000000u, is_negative));
    let magnitude = vec2(wide[0], wide[1]);
    if ((wide[2] | wide[3]) != 0u || is_less(limit, magnitude)) { atomicOr(&errors[0], 1u); }
    return select(magnitude, sub(vec2(0u, 0u), magnitude), is_negative);";

const UNSIGNED: &str = "
    if ((wide[2] | wide[3]) != 0u) { atomicOr(&errors[0], 1u); }
    return vec2(wide[0], wide[1]);";
