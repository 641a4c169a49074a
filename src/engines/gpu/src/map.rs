//! Functions of each element, of one operand, or of two or three operands on one pattern.

use std::sync::Arc;

use lacuna::lazy::engine_api::View;
use lacuna::{DType, Result};

use crate::context::{Size, Windowed};
use crate::element::{DeviceElement, form_of, of_dtype};
use crate::kernel::{Access, Form, Items, Kernel, Kind, Params};
use crate::outline::Outline;
use crate::tensor::DeviceValue;

/// A function of each element.
pub(crate) struct Map {
    /// The value of the result, as an expression of the values `x`, `y` and `z` of the operands.
    value: String,
    /// Whether no result is the number, as an expression. Threads then report the error.
    overflows: Option<&'static str>,
    /// The sorted keys of the members of a set.
    members: Option<Vec<u64>>,
    /// The bits of the values `y` and `z`, if they are numbers.
    numbers: Vec<u64>,
}

impl Map {
    /// Returns the function of a step on operands of these types, if the device computes it.
    pub(crate) fn of(view: View<'_>, dtypes: &[DType]) -> Option<Self> {
        let forms: Vec<Form> = dtypes.iter().copied().map(form_of).collect::<Option<_>>()?;
        match (&forms[..], view.name()) {
            (&[form], "isin") => Map::isin(view, dtypes[0], form),
            (&[form], "neg" | "abs") if form.kind == Kind::Signed => Some(Map::magnitude(form, view.name() == "neg")),
            ([_], "not") if dtypes[0] == DType::Bool => Some(Map::new("truth(x.y == 0u)")),
            (&[form], "clamp") => Some(Map {
                numbers: vec![number(view, dtypes[0], "low")?, number(view, dtypes[0], "high")?],
                ..Map::new(clamped(form))
            }),
            (&[form], name) => match unary(name, form) {
                Some(value) => Some(Map::new(value)),
                None => Some(Map { numbers: vec![number(view, dtypes[0], "y")?], ..Map::new(binary(name, form)?) }),
            },
            (&[x, _], name) if dtypes[0] == dtypes[1] => Some(Map::new(binary(name, x)?)),
            (&[_, _, _], "where_") => Some(Map::new("select(z, y, x.y == 1u)")),
            _ => None,
        }
    }

    fn new(value: impl Into<String>) -> Self {
        Map { value: value.into(), overflows: None, members: None, numbers: Vec::new() }
    }

    /// Returns the negative or the magnitude of signed integers. The smallest integer has neither in its type.
    fn magnitude(form: Form, is_negative: bool) -> Self {
        let (negative, least) = match form.bits {
            64 => ("sub(vec2(0u, 0u), x)", "x.x == 0u && x.y == 0x80000000u"),
            32 => ("vec2(0u, 0u - x.y)", "x.y == 0x80000000u"),
            16 => ("vec2(0u, (0u - x.y) & 0xffffu)", "x.y == 0x8000u"),
            _ => ("vec2(0u, (0u - x.y) & 0xffu)", "x.y == 0x80u"),
        };
        let sign = form.bits.min(32) - 1;
        let value =
            if is_negative { negative.into() } else { format!("select(x, {negative}, (x.y >> {sign}u) == 1u)") };
        Map { overflows: Some(least), ..Map::new(value) }
    }

    /// Returns whether an element is a member of a set. No NaN is a member.
    fn isin(view: View<'_>, dtype: DType, form: Form) -> Option<Self> {
        let (mut members, invert) = of_dtype!(dtype, T => keys(view.members::<T>()?))?;
        members.sort_unstable();
        members.dedup();
        let bits = if form.bits == 64 { "x" } else { "vec2(x.y, 0u)" };
        let member = format!("!nan_x(x) && is_member(select(vec2(0u, 0u), {bits}, truthy_x(x)))");
        let value = if invert { format!("truth(!({member}))") } else { format!("truth({member})") };
        Some(Map { members: Some(members), ..Map::new(value) })
    }

    /// Returns whether no result may be the number.
    pub(crate) fn may_fail(&self) -> bool {
        self.overflows.is_some()
    }

    /// Computes the result, on the pattern of the operands. `None` if an element does not have a result.
    pub(crate) fn run(&self, operands: &[&DeviceValue], outline: &Outline) -> Result<Option<DeviceValue>> {
        let (x, forms): (_, Vec<Form>) = (operands[0], operands.iter().map(|operand| operand.form()).collect());
        if operands.iter().any(|operand| !Arc::ptr_eq(&operand.pattern, &x.pattern)) {
            return Ok(None);
        }
        let (context, nnz) = (&x.gpu.0.context, x.pattern.nnz);
        let Some(form) = form_of(outline.dtype) else { return Ok(None) };
        let members = match &self.members {
            // An empty array is none: the kernel has a member that it does not read.
            Some(keys) if keys.is_empty() => Some(context.zeros(2)?),
            Some(keys) => Some(context.upload(u64::bytes(keys))?),
            None => None,
        };
        let out = context.zeros(form.words(nnz.into()))?;
        let items = |operand: &DeviceValue| (operand.values.clone(), operand.form().bits);
        let values: Vec<_> = operands.iter().map(|operand| items(operand)).collect();
        let mut arrays: Vec<_> = values.iter().map(|(values, bits)| Windowed::Items(values, *bits)).collect();
        arrays.extend(members.as_ref().map(Windowed::Whole));
        arrays.extend(self.overflows.map(|_| Windowed::Whole(&outline.flag.words)));
        arrays.push(Windowed::Items(&out, form.bits));
        let params = Params::of(&[nnz, self.members.as_ref().map_or(0, Vec::len) as u32]).flag(outline.flag.at);
        let [first, second] = [0, 1].map(|at| self.numbers.get(at).copied().unwrap_or(0));
        let params = params.value(forms[0], first).second_value(forms[0], second);
        let size = |count: u64| Size::Invocations(form.invocations(count));
        context.run_in_windows(&self.kernel(&forms, form), &arrays, params, nnz.into(), size)?;
        Ok(Some(x.with(Arc::clone(&x.pattern), out, outline)))
    }

    fn kernel(&self, forms: &[Form], out: Form) -> Kernel {
        let mut kernel = Kernel::new("map");
        let mut text = String::new();
        for (name, &form) in ["x", "y", "z"].iter().zip(forms) {
            kernel = kernel.values(&format!("of_{name}"), form);
            kernel = if *name == "x" { kernel.typed("x", form) } else { kernel };
            text += &format!("let {name} = load_of_{name}(e); ");
        }
        for (name, _) in ["let y = given(); ", "let z = also_given(); "].iter().zip(&self.numbers) {
            text += name;
        }
        if self.members.is_some() {
            let members = kernel.array("members", Access::Read, Items::Pairs);
            kernel = members.search("place_of", "vec2<u32>", "is_less(members[at], key)").function(IS_MEMBER);
        }
        if let Some(overflows) = self.overflows {
            kernel = kernel.fails();
            text += &format!("if ({overflows}) {{ fail(); }} ");
        }
        kernel.output(out, &format!("{text}return {};", self.value))
    }
}

/// Returns the keys of the members of a set, and whether the test is inverted.
fn keys<T: DeviceElement>((members, invert): (&[T], bool)) -> (Vec<u64>, bool) {
    let numbers = members.iter().filter(|member| !member.isnan());
    (numbers.map(|member| if member.is_truthy() { member.bits() } else { 0 }).collect(), invert)
}

/// Returns the value between the bounds `y` and `z`.
fn clamped(form: Form) -> String {
    let is_below = "is_less(even_key_x(x), even_key_x(y))";
    let is_above = "is_less(even_key_x(z), even_key_x(x))";
    let value = format!("select(select(x, z, {is_above}), y, {is_below})");
    computed(form, &value)
}

/// Returns the bits of the number that is an argument.
fn number(view: View<'_>, dtype: DType, parameter: &str) -> Option<u64> {
    of_dtype!(dtype, T => view.element::<T>(parameter).map(|number| number.bits()))?
}

/// Returns a function of the value `x`.
fn unary(name: &str, form: Form) -> Option<String> {
    let infinity = if form.bits == 64 { "0x7ff00000u" } else { "0x7f800000u" };
    let is_infinite = format!("is_same(vec2(x.x, x.y & 0x7fffffffu), vec2(0u, {infinity}))");
    let test = match (name, form.is_float()) {
        ("isnan", _) => "nan_x(x)".into(),
        ("isreal", _) | ("isfinite", false) => "true".into(),
        ("isfinite", true) => format!("(x.y & {infinity}) != {infinity}"),
        ("isinf" | "isposinf" | "isneginf", false) => "false".into(),
        ("isinf", true) => is_infinite,
        ("isposinf", true) => format!("is_same(x, vec2(0u, {infinity}))"),
        ("isneginf", true) => format!("is_same(x, vec2(0u, {infinity} | 0x80000000u))"),
        _ => return value_of_one(name, form),
    };
    Some(format!("truth({test})"))
}

/// Returns a function of the value `x` to its type.
fn value_of_one(name: &str, form: Form) -> Option<String> {
    let (one, minus_one) = match (form.bits, form.kind) {
        (64, Kind::Float) => ("vec2(0u, 0x3ff00000u)", "vec2(0u, 0xbff00000u)"),
        (_, Kind::Float) => ("vec2(0u, 0x3f800000u)", "vec2(0u, 0xbf800000u)"),
        (64, _) => ("vec2(1u, 0u)", "vec2(0xffffffffu, 0xffffffffu)"),
        _ => ("vec2(0u, 1u)", "vec2(0u, 0xffffffffu)"),
    };
    let sign = form.bits.min(32) - 1;
    Some(match (name, form.kind) {
        ("neg", Kind::Float) => computed(form, "vec2(x.x, x.y ^ 0x80000000u)"),
        ("abs", Kind::Float) => computed(form, "vec2(x.x, x.y & 0x7fffffffu)"),
        ("abs", Kind::Unsigned) => "x".into(),
        ("not", Kind::Unsigned | Kind::Signed) => "~x".into(),
        ("sign", Kind::Unsigned) => format!("select(x, {one}, truthy_x(x))"),
        ("sign", _) => {
            let signed = format!("select(x, select({one}, {minus_one}, (x.y >> {sign}u) == 1u), truthy_x(x))");
            computed(form, &signed)
        }
        _ => return None,
    })
}

/// Returns a value that is NaN if `x` is: the NaN of computed results.
fn computed(form: Form, value: &str) -> String {
    if form.is_float() { format!("select({value}, {}, nan_x(x))", form.nan()) } else { value.into() }
}

/// Returns a function of the values `x` and `y` of one type.
fn binary(name: &str, form: Form) -> Option<String> {
    let keys = "even_key_x(x), even_key_x(y)";
    let swapped = "even_key_x(y), even_key_x(x)";
    let numbers = "!nan_x(x) && !nan_x(y)";
    let test = match name {
        "equal" => format!("{numbers} && is_same({keys})"),
        "not_equal" => format!("!({numbers} && is_same({keys}))"),
        "less" => format!("{numbers} && is_less({keys})"),
        "greater" => format!("{numbers} && is_less({swapped})"),
        "less_equal" => format!("{numbers} && !is_less({swapped})"),
        "greater_equal" => format!("{numbers} && !is_less({keys})"),
        _ => return value_of_two(name, form),
    };
    Some(format!("truth({test})"))
}

/// Returns a function of the values `x` and `y` to their type.
fn value_of_two(name: &str, form: Form) -> Option<String> {
    let extreme = |chosen: &str| match form.is_float() {
        true => format!("select({chosen}, {}, nan_x(x) || nan_x(y))", form.nan()),
        false => chosen.into(),
    };
    Some(match (name, form.kind) {
        ("minimum", _) => extreme("select(x, y, is_less(key_x(y), key_x(x)))"),
        ("maximum", _) => extreme("select(x, y, is_less(key_x(x), key_x(y)))"),
        ("bit_and", Kind::Unsigned | Kind::Signed) => "x & y".into(),
        ("bit_or", Kind::Unsigned | Kind::Signed) => "x | y".into(),
        ("bit_xor", Kind::Unsigned | Kind::Signed) => "x ^ y".into(),
        ("copysign", Kind::Float) => {
            computed(form, "vec2(x.x, (x.y & 0x7fffffffu) | select(y.y & 0x80000000u, 0u, nan_x(y)))")
        }
        _ => return None,
    })
}

/// Returns whether a key is that of a member. The key of a value is its bits; both zeros have the key 0.
const IS_MEMBER: &str = "
fn is_member(key: vec2<u32>) -> bool {
    let at = place_of(key, 0u, param(1u));
    return at < param(1u) && is_same(members[at], key);
}";
