//! Arithmetic of floats in words of integers: sums, quotients and rounding.

use crate::kernel::Form;

/// The biased exponent of a 64-bit float whose lowest bit is 1.
pub(crate) const EXPONENT_OF_ONE: u32 = 1023 + 52;

/// Returns the functions of magnitudes of `wide` words that are rounded to a float of a form; for integers, a float of
/// 64 bits.
pub(crate) fn rounding(form: Form, wide: usize) -> String {
    let float = if form.is_float() { form } else { Form::F64 };
    let (precision, infinity) = if float.bits == 32 { (23, 255) } else { (52, 2047) };
    let (exponent, significand) = match float.bits {
        64 => ("(v.y >> 20u) & 0x7ffu", "vec2(v.x, (v.y & 0xfffffu) | select(0u, 0x100000u, exponent_of(v) > 0u))"),
        _ => ("(v.y >> 23u) & 0xffu", "vec2((v.y & 0x7fffffu) | select(0u, 0x800000u, exponent_of(v) > 0u), 0u)"),
    };
    format!(
        "const WIDE = {wide}u;\nalias Wide = array<u32, {wide}>;\nconst PRECISION = {precision}u;
const INFINITY = {infinity}u;
fn exponent_of(v: vec2<u32>) -> u32 {{ return {exponent}; }}
fn significand_of(v: vec2<u32>) -> vec2<u32> {{ return {significand}; }}
fn is_nan(v: vec2<u32>) -> bool {{
    let fraction = select(v.y & 0x7fffffu, v.x | (v.y & 0xfffffu), PRECISION == 52u);
    return exponent_of(v) == INFINITY && fraction != 0u;
}}
{ROUND}"
    )
}

/// Rounds a magnitude to a float.
const ROUND: &str = "
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
/// exponent of a float with the lowest bit of `wide` as its lowest bit. A zero is positive.
pub(crate) fn as_float(form: Form, exponent: &str) -> String {
    float_with(form, exponent, "is_negative && (bits.x | bits.y) != 0u")
}

/// Returns the statements of [`as_float`] for a number that is not 0: a zero keeps its sign.
fn as_signed_float(form: Form, exponent: &str) -> String {
    float_with(form, exponent, "is_negative")
}

fn float_with(form: Form, exponent: &str, has_sign: &str) -> String {
    let (word, infinity, float) = match form.bits {
        64 => ("y", "0x7ff00000u", "vec2(bits.x, bits.y | sign)"),
        _ => ("x", "0x7f800000u", "vec2(0u, bits.x | sign)"),
    };
    format!(
        "
    var bits = rounded(wide, {exponent});
    if (bits.{word} >= {infinity}) {{ return infinite(is_negative); }}
    let sign = select(0u, 0x80000000u, {has_sign});
    return {float};"
    )
}

/// The function `divided(wide, divisor)`. A remainder sets the lowest bit of the quotient. A quotient has 64 bits more
/// than a float, so this bit is below the bit that decides a tie.
pub(crate) const DIVIDE: &str = "
fn divided(number: Wide, divisor: u32) -> Wide {
    var wide = number;
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
    if (remainder != 0u) { wide[0] |= 1u; }
    return wide;
}
";

/// The words of a sum of two floats, and of a quotient of a float and a word.
pub(crate) const WORDS_OF_TWO: usize = 5;

/// Returns the function `NAME(a, b)`: the sum of two floats that are not NaN, divided by 2^`halvings` and rounded once.
/// A zero is positive.
pub(crate) fn sum_of_two(name: &str, form: Form, halvings: u32) -> String {
    let (nan, float) = (form.nan(), as_float(form, &format!("i32(exponent) - {}", 64 + halvings)));
    format!(
        "
fn {name}(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {{
    var a = x;
    var b = y;
    let a_is_infinite = exponent_of(a) == INFINITY;
    if (a_is_infinite && exponent_of(b) == INFINITY && !is_same(a, b)) {{ return {nan}; }}
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
    {float}
}}
"
    )
}

/// Returns the function `added(a, b)`: the sum of two floats, rounded.
pub(crate) fn added(form: Form) -> String {
    format!(
        "{}
fn added(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {{
    if (is_nan(a) || is_nan(b)) {{ return {}; }}
    // The sum of two negative zeros is one.
    if (is_same(a, b) && a.x == 0u && (a.y << 1u) == 0u) {{ return a; }}
    return sum_of(a, b);
}}
",
        sum_of_two("sum_of", form, 0),
        form.nan()
    )
}

/// Returns the function `share(v, is_half, count)`: a float or half of it, divided by a count that is not 0. Half of
/// the float is rounded, the count is rounded to a float, and the quotient is rounded. A zero becomes positive, and a
/// number that underflows keeps its sign.
pub(crate) fn share(form: Form) -> String {
    let (half, quotient) = (
        as_signed_float(form, "i32(max(exponent_of(v), 1u)) - 1"),
        as_signed_float(form, "i32(max(exponent_of(value), 1u)) - 96 - i32(by)"),
    );
    format!(
        "{DIVIDE}
fn half_of(v: vec2<u32>) -> vec2<u32> {{
    if (exponent_of(v) == INFINITY) {{ return v; }}
    let is_negative = (v.y >> 31u) == 1u;
    let significand = significand_of(v);
    let wide = Wide(significand.x, significand.y, 0u, 0u, 0u);
    {half}
}}
fn share(v: vec2<u32>, is_half: bool, count: u32) -> vec2<u32> {{
    if (v.x == 0u && (v.y << 1u) == 0u) {{ return vec2(0u, 0u); }}
    var value = v;
    if (is_half) {{ value = half_of(v); }}
    if (is_nan(value)) {{ return {}; }}
    if (exponent_of(value) == INFINITY) {{ return value; }}
    // A float of 32 bits has counts of 24 bits.
    var divisor = count;
    var by = 0u;
    if (PRECISION == 23u && count >= 0x1000000u) {{
        by = 8u - countLeadingZeros(count);
        let rest = count & ((1u << by) - 1u);
        divisor = count >> by;
        let middle = 1u << (by - 1u);
        if (rest > middle || (rest == middle && (divisor & 1u) == 1u)) {{ divisor += 1u; }}
    }}
    let is_negative = (value.y >> 31u) == 1u;
    let significand = significand_of(value);
    let wide = divided(Wide(0u, 0u, 0u, significand.x, significand.y), divisor);
    {quotient}
}}
",
        form.nan()
    )
}
