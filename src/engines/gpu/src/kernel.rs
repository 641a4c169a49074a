//! Texts of kernels in WGSL. All arithmetic is on 32-bit words.
//!
//! A value is a `vec2<u32>`: its upper word in `y`, its lower word in `x`. A value of at most 32 bits is in `y`, and
//! `x` is 0. No kernel compares floats, because devices disagree about NaN.

/// The words of parameters that a kernel has.
pub(crate) const PARAMS: usize = 32;

/// The access of a kernel to an array.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Read,
    Write,
    Atomic,
}

/// The items of an array.
#[derive(Clone, Copy)]
pub(crate) enum Items {
    Words,
    /// Pairs of words.
    Pairs,
}

/// The bits of a value, and whether it is a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bits: u32,
    pub(crate) is_float: bool,
}

/// A kernel. `i` is the number of the invocation, `lane` its number in the workgroup `group`, and `param(k)` a
/// parameter.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    arrays: Vec<(String, Access, Items)>,
    functions: String,
    body: String,
}

impl Kernel {
    pub(crate) fn new(name: &'static str) -> Self {
        Kernel { name, arrays: Vec::new(), functions: String::new(), body: String::new() }
    }

    /// Adds an array.
    pub(crate) fn array(mut self, name: impl Into<String>, access: Access, items: Items) -> Self {
        self.arrays.push((name.into(), access, items));
        self
    }

    /// Adds an array of values, and the function `load(e)`, which returns the value of an entry.
    pub(crate) fn values(self, form: Form) -> Self {
        let items = if form.bits == 64 { Items::Pairs } else { Items::Words };
        let load = match form.bits {
            64 => "return values[e];".to_string(),
            32 => "return vec2(0u, values[e]);".to_string(),
            bits => {
                let each = 32 / bits;
                format!(
                    "return vec2(0u, (values[e / {each}u] >> ({bits}u * (e % {each}u))) & {}u);",
                    (1u32 << bits) - 1
                )
            }
        };
        let truthy = match form.is_float {
            // The sign is left out: a negative zero is a zero.
            true => "return ((v.y << 1u) | v.x) != 0u;",
            false => "return (v.y | v.x) != 0u;",
        };
        let exponent = if form.bits == 64 { "0x7ff00000u" } else { "0x7f800000u" };
        let functions = format!(
            "const EXPONENT = {exponent};\nfn load(e: u32) -> vec2<u32> {{ {load} }}\n\
             fn truthy(v: vec2<u32>) -> bool {{ {truthy} }}\n{CLASSIFY}"
        );
        self.array("values", Access::Read, items).function(&functions)
    }

    /// Adds functions.
    pub(crate) fn function(mut self, text: &str) -> Self {
        self.functions.push_str(text);
        self.functions.push('\n');
        self
    }

    /// Adds the function `before_NAME(e)`, the number of set bits before a bit, and `has_NAME(e)`, the bit itself. The
    /// bits are in the array `NAME`, and the numbers before each word in `NAME_before`.
    pub(crate) fn ranks(self, name: &str) -> Self {
        let functions = format!(
            "fn has_{name}(e: u32) -> bool {{ return ((({name}[e / 32u]) >> (e % 32u)) & 1u) == 1u; }}\n\
             fn before_{name}(e: u32) -> u32 {{\n\
             \x20   return {name}_before[e / 32u] + countOneBits({name}[e / 32u] & ((1u << (e % 32u)) - 1u));\n}}"
        );
        let before = format!("{name}_before");
        self.array(name, Access::Read, Items::Words).array(before, Access::Read, Items::Words).function(&functions)
    }

    pub(crate) fn body(mut self, text: &str) -> Self {
        self.body = text.into();
        self
    }

    /// Returns the text, for workgroups of `group` invocations.
    pub(crate) fn text(&self, group: u32) -> String {
        let mut text = format!("@group(0) @binding(0) var<uniform> params: array<vec4<u32>, {}>;\n", PARAMS / 4);
        for ((name, access, items), binding) in self.arrays.iter().zip(1..) {
            let item = match (access, items) {
                (Access::Atomic, _) => "atomic<u32>",
                (_, Items::Words) => "u32",
                (_, Items::Pairs) => "vec2<u32>",
            };
            let access = if matches!(access, Access::Read) { "read" } else { "read_write" };
            text += &format!("@group(0) @binding({binding}) var<storage, {access}> {name}: array<{item}>;\n");
        }
        text += &format!("const GROUP = {group}u;\n");
        text += "fn param(k: u32) -> u32 { return params[k / 4u][k % 4u]; }\n";
        text += &self.functions;
        text += "@compute @workgroup_size(GROUP)\nfn main(@builtin(local_invocation_index) lane: u32, \
                 @builtin(workgroup_id) group3: vec3<u32>, @builtin(num_workgroups) groups3: vec3<u32>) {\n\
                 let group = group3.x + group3.y * groups3.x;\nlet i = group * GROUP + lane;\n_ = i;\n";
        text += &self.body;
        text += "\n}\n";
        text
    }
}

/// The classes of floats, by their bits.
const CLASSIFY: &str = "
fn is_nan(v: vec2<u32>) -> bool {
    let magnitude = v.y & 0x7fffffffu;
    return magnitude > EXPONENT || (magnitude == EXPONENT && v.x != 0u);
}
fn is_infinite(v: vec2<u32>) -> bool { return (v.y & 0x7fffffffu) == EXPONENT && v.x == 0u; }
fn is_finite(v: vec2<u32>) -> bool { return (v.y & EXPONENT) != EXPONENT; }
fn is_negative(v: vec2<u32>) -> bool { return (v.y >> 31u) == 1u; }
";

/// Returns a kernel that writes a byte for each value: whether `test`, an expression of the value `v`, holds. Parameter
/// 0 is the number of values. An invocation writes one word.
pub(crate) fn tests(kernel: Kernel, form: Form, test: &str) -> Kernel {
    kernel
        .values(form)
        .array("answers", Access::Write, Items::Words)
        .function(&format!("fn holds(v: vec2<u32>) -> bool {{ return {test}; }}"))
        .body(
            "
let first = 4u * i;
if (first >= param(0u)) { return; }
var bytes = 0u;
for (var k = 0u; k < 4u; k++) {
    if (first + k < param(0u) && holds(load(first + k))) { bytes |= 1u << (8u * k); }
}
answers[i] = bytes;",
        )
}

/// Returns a kernel that writes a bit for each of `param(0)` items: whether `holds(e)`, a function of `kernel`, is
/// true.
/// A workgroup reads eight items per invocation, side by side, and gathers the bits of a word in its own memory.
pub(crate) fn bits_of(kernel: Kernel) -> Kernel {
    kernel
        .array("bits", Access::Write, Items::Words)
        .function("var<workgroup> gathered: array<atomic<u32>, GROUP / 4u>;")
        .body(
            "
if (lane < GROUP / 4u) { atomicStore(&gathered[lane], 0u); }
workgroupBarrier();
for (var k = 0u; k < 8u; k++) {
    let at = k * GROUP + lane;
    let e = group * GROUP * 8u + at;
    if (e < param(0u) && holds(e)) { atomicOr(&gathered[at / 32u], 1u << (at % 32u)); }
}
workgroupBarrier();
let word = group * (GROUP / 4u) + lane;
if (lane < GROUP / 4u && word * 32u < param(0u)) { bits[word] = atomicLoad(&gathered[lane]); }",
        )
}

/// The items that an invocation of [`bits_of`] reads.
pub(crate) const BITS_EACH: u64 = 8;
/// The words that an invocation of [`sums`] and [`scan`] reads.
pub(crate) const WORDS_EACH: u64 = 4;

/// Returns the expression of an item `x` that sums add up: the number of its bits, or itself.
fn term(of_bits: bool) -> &'static str {
    if of_bits { "countOneBits(x)" } else { "x" }
}

/// Returns a kernel that writes the sum of each block of words, one block per workgroup. Parameter 0 is the number of
/// words.
pub(crate) fn sums(of_bits: bool) -> Kernel {
    Kernel::new("sums")
        .array("words", Access::Read, Items::Words)
        .array("sums", Access::Write, Items::Words)
        .function(&format!("fn term(x: u32) -> u32 {{ return {}; }}", term(of_bits)))
        .function("var<workgroup> partial: array<u32, GROUP>;")
        .body(
            "
var sum = 0u;
for (var k = 0u; k < 4u; k++) {
    let e = (group * 4u + k) * GROUP + lane;
    if (e < param(0u)) { sum += term(words[e]); }
}
partial[lane] = sum;
for (var half = GROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] += partial[lane + half]; }
}
if (lane == 0u) { sums[group] = partial[0]; }",
        )
}

/// Returns a kernel that writes the sum of all words before each word. `bases` holds the sums before each block.
pub(crate) fn scan(of_bits: bool) -> Kernel {
    Kernel::new("scan")
        .array("words", Access::Read, Items::Words)
        .array("bases", Access::Read, Items::Words)
        .array("before", Access::Write, Items::Words)
        .function(&format!("fn term(x: u32) -> u32 {{ return {}; }}", term(of_bits)))
        .function("var<workgroup> partial: array<u32, GROUP>;")
        .body(
            "
let first = (group * GROUP + lane) * 4u;
var own = array<u32, 4>();
var sum = 0u;
for (var k = 0u; k < 4u; k++) {
    own[k] = sum;
    if (first + k < param(0u)) { sum += term(words[first + k]); }
}
partial[lane] = sum;
// Invariant: after a step, partial[lane] is the sum of twice as many invocations, up to this one.
for (var step = 1u; step < GROUP; step *= 2u) {
    workgroupBarrier();
    var more = partial[lane];
    if (lane >= step) { more += partial[lane - step]; }
    workgroupBarrier();
    partial[lane] = more;
}
let start = bases[group] + partial[lane] - sum;
for (var k = 0u; k < 4u; k++) {
    if (first + k < param(0u)) { before[first + k] = start + own[k]; }
}",
        )
}
