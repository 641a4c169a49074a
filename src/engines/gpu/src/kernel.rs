//! Texts of kernels in WGSL. All arithmetic is on 32-bit words.
//!
//! A value is a `vec2<u32>`: its upper word in `y`, its lower word in `x`. A value of at most 32 bits is in `y`, and
//! `x` is 0. No kernel compares floats, because devices disagree about NaN.

/// The words of parameters that a kernel has.
const PARAMS: usize = 32;
/// The parameters that hold numbers. After them are the first item of a window, the place of a flag, and two values.
const NUMBERS: usize = 26;

/// The parameters of a kernel: numbers, and two values.
pub(crate) struct Params([u32; PARAMS]);

impl<const N: usize> From<&[u32; N]> for Params {
    fn from(numbers: &[u32; N]) -> Self {
        Params::of(numbers)
    }
}

impl<const N: usize> From<[u32; N]> for Params {
    fn from(numbers: [u32; N]) -> Self {
        Params::of(&numbers)
    }
}

impl Params {
    pub(crate) fn of(numbers: &[u32]) -> Self {
        let mut all = [0; PARAMS];
        all[..numbers.len()].copy_from_slice(numbers);
        Params(all)
    }

    /// Returns as many numbers as there are parameters for numbers; `None` for more.
    pub(crate) fn fitting(numbers: &[u32]) -> Option<Self> {
        (numbers.len() <= NUMBERS).then(|| Params::of(numbers))
    }

    /// Adds the value with these bits, which a kernel has as `given()`.
    pub(crate) fn value(mut self, form: Form, bits: u64) -> Self {
        self.0[PARAMS - 2..].copy_from_slice(&words_of(form, bits));
        self
    }

    /// Adds the value with these bits, which a kernel has as `also_given()`.
    pub(crate) fn second_value(mut self, form: Form, bits: u64) -> Self {
        self.0[PARAMS - 4..PARAMS - 2].copy_from_slice(&words_of(form, bits));
        self
    }

    /// Adds the place of the flag that a kernel sets with `fail()`.
    pub(crate) fn flag(mut self, at: u32) -> Self {
        self.0[NUMBERS + 1] = at;
        self
    }

    /// Sets the first item of a window, and the number of its items.
    pub(crate) fn set_window(&mut self, start: u32, count: u32) {
        (self.0[NUMBERS], self.0[0]) = (start, count);
    }

    pub(crate) fn words(&self) -> &[u32] {
        &self.0
    }
}

/// Returns the two words of a value.
fn words_of(form: Form, bits: u64) -> [u32; 2] {
    if form.bits == 64 { [bits as u32, (bits >> 32) as u32] } else { [0, bits as u32] }
}

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

/// The order of the values of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    Float,
}

/// The bits of a value, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) bits: u32,
    pub(crate) kind: Kind,
}

impl Form {
    pub(crate) const F64: Form = Form { bits: 64, kind: Kind::Float };
    pub(crate) const U64: Form = Form { bits: 64, kind: Kind::Unsigned };

    pub(crate) fn is_float(self) -> bool {
        self.kind == Kind::Float
    }

    fn items(self) -> Items {
        if self.bits == 64 { Items::Pairs } else { Items::Words }
    }

    /// Returns the words that hold this many values.
    pub(crate) fn words(self, count: u64) -> u64 {
        (count * u64::from(self.bits)).div_ceil(32)
    }

    /// Returns the invocations of a kernel that writes this many values with [`Kernel::output`].
    pub(crate) fn invocations(self, count: u64) -> u64 {
        if self.bits == 64 { count } else { self.words(count) }
    }

    /// Returns the NaN of computed values, as an expression. Integers have none.
    pub(crate) fn nan(self) -> &'static str {
        if self.bits == 64 { "vec2(0u, 0x7ff80000u)" } else { "vec2(0u, 0x7fc00000u)" }
    }

    /// Returns the functions of values of this type:
    ///
    /// - `truthy_NAME` and `nan_NAME` test a value;
    /// - `key_NAME` returns the key of a value, in the order of the numbers, with -0 before +0; `unkey_NAME` returns
    ///   the value of a key;
    /// - `even_key_NAME` returns the same key for both zeros.
    fn functions(self, name: &str) -> String {
        let (sign, exponent) =
            (1u32 << (self.bits.min(32) - 1), if self.bits == 64 { 0x7ff0_0000u32 } else { 0x7f80_0000 });
        let (truthy, nan) = match self.kind {
            // The sign is left out: a negative zero is a zero.
            Kind::Float => ("((v.y << 1u) | v.x) != 0u".into(), format!("is_above(v, {exponent}u)")),
            _ => ("(v.y | v.x) != 0u".to_string(), "false".into()),
        };
        let (key, value) = match (self.kind, self.bits) {
            (Kind::Unsigned, _) => ("v".into(), "k".into()),
            (Kind::Signed, _) => (format!("vec2(v.x, v.y ^ {sign}u)"), format!("vec2(k.x, k.y ^ {sign}u)")),
            (Kind::Float, 64) => (
                "select(vec2(v.x, v.y ^ 0x80000000u), ~v, (v.y >> 31u) == 1u)".into(),
                "select(~k, vec2(k.x, k.y ^ 0x80000000u), (k.y >> 31u) == 1u)".to_string(),
            ),
            (Kind::Float, _) => (
                "select(vec2(0u, v.y ^ 0x80000000u), vec2(0u, ~v.y), (v.y >> 31u) == 1u)".into(),
                "select(vec2(0u, ~k.y), vec2(0u, k.y ^ 0x80000000u), (k.y >> 31u) == 1u)".into(),
            ),
        };
        format!(
            "fn truthy_{name}(v: vec2<u32>) -> bool {{ return {truthy}; }}\n\
             fn nan_{name}(v: vec2<u32>) -> bool {{ return {nan}; }}\n\
             fn key_{name}(v: vec2<u32>) -> vec2<u32> {{ return {key}; }}\n\
             fn unkey_{name}(k: vec2<u32>) -> vec2<u32> {{ return {value}; }}\n\
             fn even_key_{name}(v: vec2<u32>) -> vec2<u32> {{\n\
             \x20   return key_{name}(select(vec2(0u, 0u), v, truthy_{name}(v)));\n}}\n"
        )
    }
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

    /// Adds an array of values, the function `load_NAME(e)`, which returns the value of an entry, and the
    /// [functions](Form::functions) of its type.
    pub(crate) fn values(self, name: &str, form: Form) -> Self {
        let load = match form.bits {
            64 => format!("{name}[e]"),
            32 => format!("vec2(0u, {name}[e])"),
            bits => {
                let (each, mask) = (32 / bits, (1u32 << bits) - 1);
                format!("vec2(0u, ({name}[e / {each}u] >> ({bits}u * (e % {each}u))) & {mask}u)")
            }
        };
        let load = format!("fn load_{name}(e: u32) -> vec2<u32> {{ return {load}; }}");
        self.array(name, Access::Read, form.items()).function(&load).typed(name, form)
    }

    /// Adds the [functions](Form::functions) of a type.
    pub(crate) fn typed(self, name: &str, form: Form) -> Self {
        self.function(&form.functions(name))
    }

    /// Adds an array of `param(0)` values, and writes `value`, an expression of `e`, to each. An invocation writes one
    /// word, or one value of two words.
    pub(crate) fn output(self, form: Form, value: &str) -> Self {
        let body = match form.bits {
            64 => "if (i < param(0u)) { out[i] = value_of(i); }".to_string(),
            32 => "if (i < param(0u)) { out[i] = value_of(i).y; }".into(),
            bits => {
                let (each, mask) = (32 / bits, (1u32 << bits) - 1);
                format!(
                    "if (i * {each}u >= param(0u)) {{ return; }}\nvar word = 0u;\n\
                     for (var k = 0u; k < {each}u; k++) {{\n\
                     \x20   let e = i * {each}u + k;\n\
                     \x20   if (e < param(0u)) {{ word |= (value_of(e).y & {mask}u) << ({bits}u * k); }}\n}}\n\
                     out[i] = word;"
                )
            }
        };
        self.array("out", Access::Write, form.items())
            .function(&format!("fn value_of(e: u32) -> vec2<u32> {{ {value} }}"))
            .body(&body)
    }

    /// Adds the function `NAME(key, start, end)`. It returns the first position from `start` on at which `is_before`,
    /// an expression of the position `at` and of `key`, is false. It stays false up to `end`.
    pub(crate) fn search(self, name: &str, key: &str, is_before: &str) -> Self {
        self.function(&format!(
            "fn {name}(key: {key}, start: u32, end: u32) -> u32 {{
    // Invariant: items before `low` are before the key, and items from `low + count` on are not.
    var low = start;
    var count = end - start;
    while (count > 0u) {{
        let half = count / 2u;
        let at = low + half;
        if ({is_before}) {{ low += half + 1u; count -= half + 1u; }} else {{ count = half; }}
    }}
    return low;
}}"
        ))
    }

    /// Adds the array `flags` and the function `fail()`, which leaves a step to the threads.
    pub(crate) fn fails(self) -> Self {
        let text = format!("fn fail() {{ atomicOr(&flags[param({}u)], 1u); }}", NUMBERS + 1);
        self.array("flags", Access::Atomic, Items::Words).function(&text)
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

    /// Returns for each array whether the kernel only reads it.
    pub(crate) fn are_read_only(&self) -> impl Iterator<Item = bool> {
        self.arrays.iter().map(|(_, access, _)| matches!(access, Access::Read))
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
        text += COMMON;
        text += &self.functions;
        text += "@compute @workgroup_size(GROUP)\nfn main(@builtin(local_invocation_index) lane: u32, \
                 @builtin(workgroup_id) group3: vec3<u32>, @builtin(num_workgroups) groups3: vec3<u32>) {\n\
                 let group = group3.x + group3.y * groups3.x;\nlet i = group * GROUP + lane;\n_ = i;\n";
        text += &self.body;
        text += "\n}\n";
        text
    }
}

/// Functions of all kernels, on pairs of words.
const COMMON: &str = "
fn is_less(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn is_same(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }
fn is_above(v: vec2<u32>, exponent: u32) -> bool {
    let magnitude = v.y & 0x7fffffffu;
    return magnitude > exponent || (magnitude == exponent && v.x != 0u);
}
fn add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
// The product of two words, in halves of 16 bits.
fn mul(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let one = (a & 0xffffu) * (b >> 16u);
    let other = (a >> 16u) * (b & 0xffffu);
    let middle = (low >> 16u) + (one & 0xffffu) + (other & 0xffffu);
    let high = (a >> 16u) * (b >> 16u) + (one >> 16u) + (other >> 16u) + (middle >> 16u);
    return vec2((low & 0xffffu) | (middle << 16u), high);
}
fn window_start() -> u32 { return param(26u); }
fn given() -> vec2<u32> { return vec2(param(30u), param(31u)); }
fn also_given() -> vec2<u32> { return vec2(param(28u), param(29u)); }
fn truth(holds: bool) -> vec2<u32> { return vec2(0u, select(0u, 1u, holds)); }
";

/// Returns a kernel that writes a bit for each of `param(0)` items: whether `holds(e)`, a function of `kernel`, is
/// true.
/// A workgroup reads eight items per invocation, side by side, and gathers the bits of a word in its own memory.
pub(crate) fn marks_of(kernel: Kernel) -> Kernel {
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

/// The items that an invocation of [`marks_of`] reads.
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
// The last row of workgroups may be longer than needed.
if (lane == 0u && group * 4u * GROUP < param(0u)) { sums[group] = partial[0]; }",
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
