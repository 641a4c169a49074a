//! Reductions whose states are merged: counts, truth, extremes and their positions.

use lacuna::Result;

use crate::context::{Context, Size, Windowed, Words};
use crate::element::form_of;
use crate::groups::{Groups, PIECE, row_major};
use crate::kernel::{Access, Form, Items, Kernel, Kind, Params};
use crate::outline::Outline;
use crate::tensor::DeviceValue;

/// The axes of a reduction, and its operand.
pub(crate) struct Reduced {
    pub(crate) kept: Vec<usize>,
    pub(crate) reduced: Vec<usize>,
    pub(crate) keeps_dims: bool,
    /// Whether unstored positions count.
    pub(crate) counts_unstored: bool,
}

impl Reduced {
    /// Returns the number of positions of a group. `None` if a group has 2^64 positions or more.
    pub(crate) fn extent(&self, shape: &[usize]) -> Option<u64> {
        self.reduced.iter().try_fold(1_u64, |extent, &axis| extent.checked_mul(shape[axis] as u64))
    }

    /// Returns the position of each entry in its group.
    pub(crate) fn positions(&self, x: &DeviceValue) -> Result<Words> {
        let (pattern, coords) = (&x.pattern, x.pattern.coords(&x.gpu)?);
        let own: Vec<&Words> = self.reduced.iter().map(|&axis| &coords[axis]).collect();
        let lengths: Vec<usize> = self.reduced.iter().map(|&axis| pattern.shape[axis]).collect();
        row_major(&x.gpu.0.context, &own, &lengths, pattern.nnz)
    }
}

/// A reduction. A state is an array of words, of the type `State`.
pub(crate) struct Fold {
    /// The number of words of a state.
    pub(crate) words: usize,
    /// Three functions: `none()`, the state of nothing; `entry(v, position, at)`, the state of an entry with the value
    /// `v`, `at` entries after the first entry of its group; and `merge(a, b)`, the state of both.
    pub(crate) text: String,
    /// The function `result(s, g)`, the value of the state of the group `g`.
    pub(crate) result: String,
    /// Whether `entry` reads the positions of entries in their groups.
    pub(crate) reads_positions: bool,
    /// Whether `result` calls `fail()` for a group without a result. Threads then report the error.
    pub(crate) fails: bool,
    /// A word that all functions read as `state_of_all[0]`.
    pub(crate) of_all: Option<Words>,
}

impl Fold {
    /// Returns the reduction of this name, if it is one of this file.
    pub(crate) fn of(name: &str, form: Form) -> Option<Self> {
        let skips_nan = name.starts_with("nan");
        Some(match name.trim_start_matches("nan") {
            "count_nonzero" => Fold::new(1, COUNT.into(), COUNTED.into()),
            "any" => Fold::new(1, TRUTH.replace("IS_HIT", "truthy_x(v)"), TRUE.replace("FOUND", "found")),
            "all" => Fold::new(1, TRUTH.replace("IS_HIT", "!truthy_x(v)"), TRUE.replace("FOUND", "!found")),
            "min" | "max" => Fold::new(3, extreme(name.ends_with("max"), skips_nan), extreme_of(form)),
            "argmin" | "argmax" => {
                let text = position(name.ends_with("max"), skips_nan);
                Fold { reads_positions: true, ..Fold::new(6, text, POSITION.into()) }
            }
            _ => return None,
        })
    }

    pub(crate) fn new(words: usize, text: String, result: String) -> Self {
        Fold { words, text, result, reads_positions: false, fails: false, of_all: None }
    }

    /// Computes the result. `None` if the device does not compute it for this operand.
    pub(crate) fn run(&self, x: &DeviceValue, over: &Reduced, outline: &Outline) -> Result<Option<DeviceValue>> {
        let (gpu, pattern) = (&x.gpu, &x.pattern);
        let (Some(extent), Some(form)) = (over.extent(&pattern.shape), form_of(outline.dtype)) else { return Ok(None) };
        let (context, groups) = (&gpu.0.context, pattern.groups(gpu, &over.kept)?);
        let positions = if self.reads_positions { Some(over.positions(x)?) } else { None };
        let states = self.states(context, x, &groups, positions.as_ref())?;
        let values = context.zeros(form.words(groups.count.into()))?;
        let gaps = u32::from(over.counts_unstored);
        let params = Params::of(&[groups.count, extent as u32, (extent >> 32) as u32, gaps]);
        let params = params.value(x.form(), x.fill_bits()).flag(outline.flag.at);
        let (kernel, mut arrays) = self.kernel("finish", x.form());
        let kernel = kernel
            .array("states", Access::Read, Items::Words)
            .array("starts", Access::Read, Items::Words)
            .function(&format!("{STATE_OF}\n{FINISH}"));
        arrays.extend([&states, &groups.starts]);
        let kernel = if self.fails { kernel.fails() } else { kernel };
        arrays.extend(self.fails.then_some(&outline.flag.words));
        arrays.push(&values);
        let kernel = kernel.function(&self.result).output(form, "return result(state_of(e), e);");
        let size = Size::Invocations(form.invocations(groups.count.into()));
        context.run(&kernel, &arrays, params, size)?;
        let pattern = groups.pattern(gpu, pattern, &over.kept, over.keeps_dims)?;
        Ok(Some(x.with(pattern, values, outline)))
    }

    /// Returns the state of each group.
    pub(crate) fn states(
        &self,
        context: &Context,
        x: &DeviceValue,
        groups: &Groups,
        positions: Option<&Words>,
    ) -> Result<Words> {
        let mut states: Option<Words> = None;
        let mut starts = &groups.starts;
        for (pieces, count) in &groups.levels {
            let next = match &states {
                None if groups.is_whole() => self.of_whole(context, x, *count, positions)?,
                None => self.of_entries(context, x, groups, positions)?,
                Some(states) => {
                    let (kernel, arrays) = self.kernel("fold_states", x.form());
                    let kernel = kernel.array("states", Access::Read, Items::Words).function(STATE_OF);
                    let arrays = [&arrays[..], &[states]].concat();
                    self.merged(context, (kernel, arrays), "state_of(at)", [starts, pieces], [groups.count, *count])?
                }
            };
            (states, starts) = (Some(next), pieces);
        }
        match states {
            Some(states) => Ok(states),
            None => context.zeros(0),
        }
    }

    /// Returns the states of all pieces of the only group. An array of entries may be larger than a kernel reads.
    fn of_whole(&self, context: &Context, x: &DeviceValue, pieces: u32, positions: Option<&Words>) -> Result<Words> {
        let next = context.zeros(u64::from(pieces) * self.words as u64)?;
        let (kernel, arrays) = self.kernel("fold_whole", x.form());
        let mut kernel = kernel.values("values", x.form());
        let mut arrays: Vec<_> = arrays.into_iter().map(Windowed::Whole).collect();
        arrays.push(Windowed::Items(&x.values, x.form().bits));
        let position = match positions {
            Some(positions) => {
                kernel = kernel.array("positions", Access::Read, Items::Pairs);
                arrays.push(Windowed::Items(positions, 64));
                "positions[at]"
            }
            None => "vec2(0u, 0u)",
        };
        arrays.push(Windowed::Whole(&next));
        let kernel = kernel.array("next", Access::Write, Items::Words).body(&format!(
            "let first = i * {PIECE}u;
if (first >= param(0u)) {{ return; }}
let end = min(first + {PIECE}u, param(0u));
var state = none();
for (var at = first; at < end; at++) {{
    state = merge(state, entry(load_values(at), {position}, at + window_start()));
}}
let piece = i + window_start() / {PIECE}u;
for (var k = 0u; k < STATE; k++) {{ next[piece * STATE + k] = state[k]; }}"
        ));
        let size = |count: u64| Size::Invocations(count.div_ceil(PIECE.into()));
        context.run_in_windows(&kernel, &arrays, [0], x.pattern.nnz.into(), size)?;
        Ok(next)
    }

    /// Returns the states of the pieces of all groups.
    fn of_entries(
        &self,
        context: &Context,
        x: &DeviceValue,
        groups: &Groups,
        positions: Option<&Words>,
    ) -> Result<Words> {
        let (kernel, mut arrays) = self.kernel("fold_entries", x.form());
        let mut kernel = kernel.values("values", x.form());
        arrays.push(&x.values);
        if let Some(positions) = positions {
            kernel = kernel.array("positions", Access::Read, Items::Pairs);
            arrays.push(positions);
        }
        if let Some(order) = &groups.order {
            kernel = kernel.array("order", Access::Read, Items::Words);
            arrays.push(order);
        }
        let at = if groups.order.is_some() { "order[at]" } else { "at" };
        let position = if positions.is_some() { format!("positions[{at}]") } else { "vec2(0u, 0u)".into() };
        let item = format!("entry(load_values({at}), {position}, at - starts[g])");
        let (pieces, count) = &groups.levels[0];
        self.merged(context, (kernel, arrays), &item, [&groups.starts, pieces], [groups.count, *count])
    }

    /// Merges the items of each piece: of each group the items from its start to that of the next one.
    fn merged(
        &self,
        context: &Context,
        (kernel, mut arrays): (Kernel, Vec<&Words>),
        item: &str,
        [starts, pieces]: [&Words; 2],
        [groups, count]: [u32; 2],
    ) -> Result<Words> {
        let next = context.zeros(u64::from(count) * self.words as u64)?;
        let kernel = kernel
            .array("starts", Access::Read, Items::Words)
            .array("pieces", Access::Read, Items::Words)
            .search("group_of", "u32", "pieces[at + 1u] <= key")
            .array("next", Access::Write, Items::Words)
            .body(&format!(
                "if (i >= param(1u)) {{ return; }}
let g = group_of(i, 0u, param(0u));
let first = starts[g] + (i - pieces[g]) * {PIECE}u;
let end = min(first + {PIECE}u, starts[g + 1u]);
var state = none();
for (var at = first; at < end; at++) {{ state = merge(state, {item}); }}
for (var k = 0u; k < STATE; k++) {{ next[i * STATE + k] = state[k]; }}"
            ));
        arrays.extend([starts, pieces, &next]);
        context.run(&kernel, &arrays, [groups, count], Size::Invocations(count.into()))?;
        Ok(next)
    }

    /// Returns a kernel with the functions of states, and its arrays.
    fn kernel(&self, name: &'static str, form: Form) -> (Kernel, Vec<&Words>) {
        let kernel = Kernel::new(name).typed("x", form);
        let kernel = match &self.of_all {
            Some(_) => kernel.array("state_of_all", Access::Read, Items::Words),
            None => kernel,
        };
        let types = format!("const STATE = {}u;\nalias State = array<u32, {}>;", self.words, self.words);
        (kernel.function(&types).function(&self.text), self.of_all.iter().collect())
    }
}

/// Reads a state.
const STATE_OF: &str = "
fn state_of(at: u32) -> State {
    var state: State;
    for (var k = 0u; k < STATE; k++) { state[k] = states[at * STATE + k]; }
    return state;
}";

/// Functions of finished groups: the number of entries, of unstored positions, and whether there is such a position.
const FINISH: &str = "
fn length(g: u32) -> u32 { return starts[g + 1u] - starts[g]; }
fn gaps(g: u32) -> vec2<u32> {
    if (param(3u) == 0u) { return vec2(0u, 0u); }
    return sub(vec2(param(1u), param(2u)), vec2(length(g), 0u));
}
fn has_gap(g: u32) -> bool { let count = gaps(g); return (count.x | count.y) != 0u; }";

const COUNT: &str = "
fn none() -> State { return State(0u); }
fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State { return State(select(0u, 1u, truthy_x(v))); }
fn merge(a: State, b: State) -> State { return State(a[0] + b[0]); }";

const COUNTED: &str = "
fn result(s: State, g: u32) -> vec2<u32> {
    return add(vec2(s[0], 0u), select(vec2(0u, 0u), gaps(g), truthy_x(given())));
}";

const TRUTH: &str = "
fn is_hit(v: vec2<u32>) -> bool { return IS_HIT; }
fn none() -> State { return State(0u); }
fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State { return State(select(0u, 1u, is_hit(v))); }
fn merge(a: State, b: State) -> State { return State(a[0] | b[0]); }";

const TRUE: &str = "
fn result(s: State, g: u32) -> vec2<u32> {
    let found = s[0] == 1u || (has_gap(g) && is_hit(given()));
    return truth(FOUND);
}";

/// The classes of a state of extremes.
const CLASSES: &str = "
const NOTHING = 0u;
const NUMBER = 1u;
const NAN = 2u;
";

/// Returns the text of `min` and `max`: a class, and the key of the extreme.
fn extreme(is_max: bool, skips_nan: bool) -> String {
    let is_better = if is_max {
        "is_less(vec2(a[1], a[2]), vec2(b[1], b[2]))"
    } else {
        "is_less(vec2(b[1], b[2]), vec2(a[1], a[2]))"
    };
    let class_of_nan = if skips_nan { "NOTHING" } else { "NAN" };
    format!(
        "{CLASSES}
fn none() -> State {{ return State(NOTHING, 0u, 0u); }}
fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State {{
    let key = key_x(v);
    return State(select(NUMBER, {class_of_nan}, nan_x(v)), key.x, key.y);
}}
fn merge(a: State, b: State) -> State {{
    if (a[0] == NAN || b[0] == NOTHING) {{ return a; }}
    if (b[0] == NAN || a[0] == NOTHING || {is_better}) {{ return b; }}
    return a;
}}"
    )
}

/// Returns the result of `min` and `max`.
fn extreme_of(form: Form) -> String {
    let nan = if form.kind == Kind::Float { form.nan() } else { "vec2(0u, 0u)" };
    format!(
        "
fn result(s: State, g: u32) -> vec2<u32> {{
    var all = s;
    if (has_gap(g)) {{ all = merge(s, entry(given(), vec2(0u, 0u), 0u)); }}
    if (all[0] != NUMBER) {{ return {nan}; }}
    return unkey_x(vec2(all[1], all[2]));
}}"
    )
}

/// Returns the text of `argmin` and `argmax`: a class, the key of the extreme, its position, and the number of entries
/// before the first unstored position.
fn position(is_max: bool, skips_nan: bool) -> String {
    let (one, other) = if is_max { ("a", "b") } else { ("b", "a") };
    let class_of_nan = if skips_nan { "NOTHING" } else { "NAN" };
    format!(
        "{CLASSES}
const NO_GAP = 0xffffffffu;
fn none() -> State {{ return State(NOTHING, 0u, 0u, 0u, 0u, NO_GAP); }}
fn entry(v: vec2<u32>, position: vec2<u32>, at: u32) -> State {{
    let key = even_key_x(v);
    let is_before_gap = position.y == 0u && position.x == at;
    return State(
        select(NUMBER, {class_of_nan}, nan_x(v)), key.x, key.y, position.x, position.y,
        select(at, NO_GAP, is_before_gap)
    );
}}
fn is_later(a: State, b: State) -> bool {{ return is_less(vec2(b[3], b[4]), vec2(a[3], a[4])); }}
// The better of both; of equals the one at the smaller position.
fn merge(a: State, b: State) -> State {{
    var found = a;
    if (b[0] > a[0]) {{
        found = b;
    }} else if (b[0] == a[0] && a[0] != NOTHING) {{
        let is_equal = a[0] == NAN || is_same(vec2(a[1], a[2]), vec2(b[1], b[2]));
        if (is_equal) {{
            if (is_later(a, b)) {{ found = b; }}
        }} else if (is_less(vec2({one}[1], {one}[2]), vec2({other}[1], {other}[2]))) {{
            found = b;
        }}
    }}
    found[5] = min(a[5], b[5]);
    return found;
}}"
    )
}

const POSITION: &str = "
fn result(s: State, g: u32) -> vec2<u32> {
    var all = s;
    if (has_gap(g)) {
        let first_gap = vec2(min(s[5], length(g)), 0u);
        all = merge(s, entry(given(), first_gap, 0u));
    }
    if (all[0] == NOTHING) { return vec2(0xffffffffu, 0xffffffffu); }
    return vec2(all[3], all[4]);
}";
