//! What backward functions give, as formulas of their arguments: gradients of gradients are the gradients of these.

use std::ops::Range;

use super::grad::{Back, Given, Graph, no_rule, with_inputs};
use super::literal::Literal;
use super::rules::plain;
use super::table::{Function, function};
use super::{Argument, Binary, Id, Kind, Wrong, parse};
use crate::element::Number;

/// What backward functions give to each of their operands, in the language of expressions.
const TEXTS: &[(&str, &[&str])] = &[
    ("neg_backward", &["upstream * -1.0"]),
    ("square_backward", &["mul_nonzero(upstream, x * 2.0)"]),
    ("sqrt_backward", &["mul_nonzero(upstream, recip(sqrt(x) * 2.0))"]),
    ("cbrt_backward", &["mul_nonzero(upstream, recip(square(cbrt(x)) * 3.0))"]),
    ("exp_backward", &["mul_nonzero(upstream, exp(x))"]),
    ("exp_m1_backward", &["mul_nonzero(upstream, exp(x))"]),
    ("ln_backward", &["mul_nonzero(upstream, recip(x))"]),
    ("ln_1p_backward", &["mul_nonzero(upstream, recip(x + 1.0))"]),
    ("log2_backward", &["mul_nonzero(upstream, recip(x * 0.6931471805599453))"]),
    ("log10_backward", &["mul_nonzero(upstream, recip(x * 2.302585092994046))"]),
    ("sin_backward", &["mul_nonzero(upstream, cos(x))"]),
    ("cos_backward", &["mul_nonzero(upstream, sin(x) * -1.0)"]),
    ("tan_backward", &["mul_nonzero(upstream, square(tan(x)) + 1.0)"]),
    ("asin_backward", &["mul_nonzero(upstream, recip(sqrt(square(x) * -1.0 + 1.0)))"]),
    ("acos_backward", &["mul_nonzero(upstream, recip(sqrt(square(x) * -1.0 + 1.0) * -1.0))"]),
    ("atan_backward", &["mul_nonzero(upstream, recip(square(x) + 1.0))"]),
    ("sinh_backward", &["mul_nonzero(upstream, cosh(x))"]),
    ("cosh_backward", &["mul_nonzero(upstream, sinh(x))"]),
    ("tanh_backward", &["mul_nonzero(upstream, square(tanh(x)) * -1.0 + 1.0)"]),
    ("recip_backward", &["mul_nonzero(upstream, recip(square(x) * -1.0))"]),
    ("add_backward", &["upstream * 1.0", "upstream * 1.0"]),
    ("sub_backward", &["upstream * 1.0", "upstream * -1.0"]),
    ("mul_backward", &["mul_nonzero(upstream, y)", "mul_nonzero(upstream, x)"]),
    ("div_backward", &["mul_nonzero(upstream, recip(y))", "mul_nonzero(upstream, x * recip(square(y)) * -1.0)"]),
];

/// What backward functions give to each of their operands that are not in the table of graphs, in the language of
/// expressions. The formula stands for the function and is not run; `below` is an exponent less one.
const OTHERS: &[(&str, &[&str])] = &[
    ("powi_backward", &["mul_nonzero(upstream, powi(x, below) * exponent)"]),
    ("powf_backward", &["mul_nonzero(upstream, powf(x, below) * exponent)"]),
    (
        "where_backward",
        &["where(condition, upstream, zeros_like(upstream))", "where(condition, zeros_like(upstream), upstream)"],
    ),
];

/// What those of tensors with all their elements give. An argument that was not given is left out.
const OF_WHOLE: &[(&str, &[&str])] = &[
    (
        "norm_backward",
        &["mul_nonzero(any_backward(x, mul_nonzero(upstream, recip(norm(x, axis=axis, keep_dims=keep_dims, by=by))), \
           axis=axis, keep_dims=keep_dims, by=by), any_backward(x, x, []))"],
    ),
    (
        "var_backward",
        &["mul_nonzero(any_backward(x, mul_nonzero(upstream * 2, \
           recip(sum(zeros_like(x) + 1, axis=axis, keep_dims=keep_dims) - ddof)), axis=axis, keep_dims=keep_dims), \
           any_backward(x, x, []) \
           - any_backward(x, mean(x, axis=axis, keep_dims=keep_dims), axis=axis, keep_dims=keep_dims))"],
    ),
    (
        "std_backward",
        &["mul_nonzero(any_backward(x, mul_nonzero(mul_nonzero(upstream, \
           recip(sum(zeros_like(x) + 1, axis=axis, keep_dims=keep_dims) - ddof)), \
           recip(std(x, axis=axis, keep_dims=keep_dims, ddof=ddof))), axis=axis, keep_dims=keep_dims), \
           any_backward(x, x, []) \
           - any_backward(x, mean(x, axis=axis, keep_dims=keep_dims), axis=axis, keep_dims=keep_dims))"],
    ),
];

/// What those of two views give to each: to one alone what its result received, or nothing where both have to be there.
/// Views of two fills do not go together, and gradients have a fill of 0.
const OF_VIEWS: &[(&str, &[&str])] = &[
    ("add_backward", &["any_backward(x, upstream, [])", "any_backward(y, upstream, [])"]),
    ("sub_backward", &["any_backward(x, upstream, [])", "any_backward(y, upstream, []) * -1"]),
    (
        "mul_backward",
        &[
            "mul_nonzero(stored(any_backward(x, upstream, [])), stored(with_fill(y, 0)))",
            "mul_nonzero(stored(any_backward(y, upstream, [])), stored(with_fill(x, 0)))",
        ],
    ),
    (
        "div_backward",
        &[
            "mul_nonzero(stored(any_backward(x, upstream, [])), stored(recip(stored(with_fill(y, 0)))))",
            "mul_nonzero(stored(with_fill(mul_nonzero(stored(any_backward(y, upstream, [])), \
             stored(with_fill(x, 0))), 0)), stored(recip(stored(with_fill(square(y), 0))))) * -1",
        ],
    ),
    (
        "norm_backward",
        &["mul_nonzero(any_backward(x, mul_nonzero(upstream, \
           recip(norm(stored(x), axis=axis, keep_dims=keep_dims, by=by))), \
           axis=axis, keep_dims=keep_dims, by=by), any_backward(x, x, []))"],
    ),
    (
        "softmax_backward",
        &["mul_nonzero(any_backward(x, upstream, []), any_backward(x, softmax(stored(x), axis=axis), [])) \
           - mul_nonzero(any_backward(x, sum(mul_nonzero(any_backward(x, upstream, []), \
           any_backward(x, softmax(stored(x), axis=axis), [])), axis=axis), axis=axis), \
           any_backward(x, softmax(stored(x), axis=axis), []))"],
    ),
    (
        "log_softmax_backward",
        &["any_backward(x, upstream, []) - mul_nonzero(any_backward(x, \
           sum(any_backward(x, upstream, []), axis=axis), axis=axis), \
           any_backward(x, softmax(stored(x), axis=axis), []))"],
    ),
];

/// Backward functions that are linear in the upstream gradient and depend on no other value, and what their own
/// gradient is: that function of what comes back to them.
const LINEAR: &[(&str, &str)] = &[
    ("any_backward", "sum"),
    ("sum_backward", "sum"),
    ("mean_backward", "mean"),
    ("transpose_backward", "transpose"),
    ("move_axis_backward", "move_axis"),
    ("squeeze_backward", "squeeze"),
    ("expand_dims_backward", "expand_dims"),
    ("broadcast_to_backward", "broadcast_to"),
    ("flip_backward", "flip"),
    ("roll_backward", "roll"),
    ("pad_backward", "pad"),
    ("tile_backward", "tile"),
    ("repeat_backward", "repeat"),
    ("tril_backward", "tril"),
    ("triu_backward", "triu"),
    ("diagonal_backward", "diagonal"),
    ("slice_backward", "slice"),
    ("take_axis_backward", "take_axis"),
    ("take_backward", "take"),
    ("mask_backward", "mask"),
    ("without_backward", "without"),
    ("select_backward", "select"),
];

/// Backward functions of operations that are linear in each operand: what comes to the gradient of one takes its place.
const OF_PRODUCTS: &[&str] = &[
    "matmul_backward",
    "outer_backward",
    "kron_backward",
    "tensordot_backward",
    "einsum_backward",
    "mttkrp_backward",
    "ttm_backward",
    "ttv_backward",
    "sddmm_backward",
    "pattern_sddmm_backward",
    "scale_backward",
];

/// The names of operands.
const OPERANDS: &[&str] = &["x", "y", "l", "r", "matrix", "vector", "factors", "tensors"];

/// Backward functions that give shares of the upstream gradient, which change by jumps alone.
const SHARING: &[&str] = &[
    "nansum_backward",
    "nanmean_backward",
    "min_backward",
    "max_backward",
    "nanmin_backward",
    "nanmax_backward",
    "median_backward",
    "nanmedian_backward",
    "quantile_backward",
    "nanquantile_backward",
];

/// What a backward function gives to one of its operands.
struct Formula {
    text: &'static str,
    /// Whether it has the shape that two operands have together, where the gradient has that of one.
    is_broadcast: bool,
}

/// All formulas there are.
fn all() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    TEXTS.iter().chain(OTHERS)
}

/// What a backward function gives to the operand of a number, of views or not.
fn formula(backward: &str, wrt: usize, of_views: bool) -> Option<Formula> {
    let own = if of_views { OF_VIEWS } else { OF_WHOLE };
    let (_, formulas) = own.iter().chain(all()).find(|(name, _)| *name == backward)?;
    let is_broadcast = formulas.len() == 2 && !of_views;
    formulas.get(wrt).map(|text| Formula { text, is_broadcast })
}

/// The function that the gradient of a linear backward function is.
fn linear(backward: &str) -> Option<&'static str> {
    LINEAR.iter().find(|(name, _)| *name == backward).map(|(_, forward)| *forward)
}

/// The arguments of a call by their names. Of a view it is what the view is of.
struct Arguments<'a> {
    given: Vec<(&'a str, Id)>,
    has_views: bool,
}

impl Arguments<'_> {
    fn get(&self, name: &str) -> Option<Id> {
        self.given.iter().find(|(other, _)| *other == name).map(|(_, id)| *id)
    }

    /// The first operand or the second one, which a choice has names of its own for.
    fn operand(&self, number: usize) -> Option<Id> {
        let names = [["x", "yes"], ["y", "no"]];
        names[number].iter().find_map(|name| self.get(name))
    }
}

impl Graph {
    /// The rule of a gradient: that of the formula which it stands for.
    pub(super) fn of_gradient(&mut self, backward: &Function, of: &[Vec<Id>], back: Back<'_>) -> Result<Given, Wrong> {
        if OF_PRODUCTS.contains(&backward.name()) {
            return self.of_product(backward, of, back);
        }
        let given = self.arguments(backward, of);
        let Some((x, upstream)) = given.operand(0).zip(given.get("upstream")) else {
            return Err(no_rule(backward.name(), back.at));
        };
        let own = match (backward.name(), linear(backward.name())) {
            (_, Some(forward)) => {
                // It gave something at the entries of `x` alone.
                let own = self.push(Kind::Own(x, back.upstream), back.at);
                let own = if given.has_views { self.call("stored", vec![("x", own)], back.at) } else { own };
                let others = given.given.iter().filter(|(name, _)| *name != "upstream");
                let all = others.map(|&(name, id)| (name, if name == "x" { own } else { id })).collect();
                self.call(forward, all, back.at)
            }
            // What it gives back depends on the sign alone, or on which side of its bounds an element is.
            (name @ ("abs_backward" | "clamp_backward"), None) => {
                let others = given.given.iter().filter(|(name, _)| *name != "upstream").copied();
                self.call(name, others.chain([("upstream", back.upstream)]).collect(), back.at)
            }
            (name, None) if SHARING.contains(&name) => return self.of_shares(backward, given, back),
            _ => return self.of_formula(backward.name(), &given, back),
        };
        Ok(vec![(upstream, self.push(Kind::Own(upstream, own), back.at))])
    }

    /// The rule of a gradient of what is linear in each operand: the others receive what they would with what came in
    /// the place of its own, and the upstream gradient the result of these.
    fn of_product(&mut self, backward: &Function, of: &[Vec<Id>], back: Back<'_>) -> Result<Given, Wrong> {
        let name = backward.name().trim_end_matches("_backward");
        let all: Vec<(&str, &Vec<Id>)> = backward.op.parameters().map(plain).zip(of).collect();
        let given = |wanted: &str| all.iter().find(|(name, _)| *name == wanted).map_or(&[][..], |(_, ids)| ids);
        let (Some(forward), &[upstream]) = (function(name), given("upstream")) else {
            return Err(no_rule(backward.name(), back.at));
        };
        let mut before = given("wrt").first().map_or(Some(0), |&wrt| self.place(wrt));
        if before.is_none() {
            return Err(no_rule(backward.name(), back.at));
        }
        let mut arguments: Vec<Vec<Id>> = Vec::new();
        for parameter in forward.op.parameters().map(plain) {
            let mut ids = given(parameter).to_vec();
            // Of a pattern the values have no part in it.
            let is_pattern = (name, parameter) == ("pattern_sddmm", "x");
            if OPERANDS.contains(&parameter) && !is_pattern {
                self.replaced(&mut ids, &mut before, back);
            }
            arguments.push(ids);
        }
        // There is no such operand.
        if before.is_some() {
            return Err(no_rule(backward.name(), back.at));
        }
        let named = forward.op.parameters().map(plain).zip(&arguments);
        let named = named.flat_map(|(name, ids)| ids.iter().map(move |&id| (name, id))).collect();
        let result = self.call(forward.name(), named, back.at);
        let mut found = self.of_call(forward.name(), &arguments, Back { upstream, ..back })?;
        found.push((upstream, self.push(Kind::Own(upstream, result), back.at)));
        Ok(found)
    }

    /// Puts what came into the place of the operand with so many before it, if that is among these. It is a node of its
    /// own, which receives nothing, though the same may stand elsewhere.
    fn replaced(&mut self, ids: &mut [Id], before: &mut Option<usize>, back: Back<'_>) {
        for id in ids {
            if let Kind::List(mut items) = self.nodes[*id].kind.clone() {
                self.replaced(&mut items, before, back);
                *id = self.push(Kind::List(items), back.at);
                continue;
            }
            if *before == Some(0) {
                *id = match &self.nodes[*id].kind {
                    Kind::Call(name, of) if name == "stored" => {
                        let own = self.fresh(Kind::Own(of[0].value, back.upstream), back.at);
                        self.call("stored", vec![("x", own)], back.at)
                    }
                    _ => self.fresh(Kind::Own(*id, back.upstream), back.at),
                };
            }
            *before = before.and_then(|before| before.checked_sub(1));
        }
    }

    /// The rule of shares of the upstream gradient: the same shares of what comes, added up; of what has no share
    /// nothing, whatever comes.
    fn of_shares(&mut self, backward: &Function, mut given: Arguments<'_>, back: Back<'_>) -> Result<Given, Wrong> {
        let (name, at) = (backward.name(), back.at);
        let Some((x, upstream)) = given.operand(0).zip(given.get("upstream")) else { return Err(no_rule(name, at)) };
        given.given.push(("own", self.push(Kind::Own(x, back.upstream), at)));
        let options = backward.op.parameters().map(plain).filter(|name| !["x", "upstream"].contains(name));
        let options = options.map(|name| format!(", {name}={name}")).collect::<String>();
        let x = if given.has_views { "stored(x)" } else { "x" };
        let shares = format!("{name}({x}, zeros_like(upstream) + 1{options})");
        let given_back = format!("where({shares} != 0, mul_nonzero(own, {shares}), zeros_like(own))");
        let formula = format!("sum({given_back}, axis=axis, keep_dims=keep_dims, by=by)");
        let sums = self.written(&formula, &given, name, at)?;
        Ok(vec![(upstream, self.push(Kind::Own(upstream, sums), at))])
    }

    /// The arguments of a backward function.
    fn arguments<'a>(&self, backward: &'a Function, of: &[Vec<Id>]) -> Arguments<'a> {
        let mut arguments = Arguments { given: Vec::new(), has_views: false };
        for (name, ids) in backward.op.parameters().map(plain).zip(of) {
            let Some(&first) = ids.first() else { continue };
            let viewed = match &self.nodes[first].kind {
                Kind::Call(name, of) if name == "stored" => of.first().map(|given| given.value),
                _ => None,
            };
            arguments.given.push((name, viewed.unwrap_or(first)));
            arguments.has_views |= viewed.is_some();
        }
        arguments
    }

    /// The rule of a gradient that stands for a formula of its arguments.
    fn of_formula(&mut self, name: &str, given: &Arguments<'_>, back: Back<'_>) -> Result<Given, Wrong> {
        let is_second = given.get("wrt").is_some_and(|wrt| self.is_one(wrt));
        let operand = given.operand(usize::from(is_second));
        // Norms of another order have none, nor have variances by label, whose numbers of elements differ.
        let without = match name {
            "norm_backward" => "ord",
            "var_backward" | "std_backward" => "by",
            _ => "",
        };
        if given.get(without).is_some() {
            return Err(no_rule(name, back.at));
        }
        // Beside a number the view is all there is.
        let is_number = |name: &str| given.get(name).is_some_and(|id| self.is_number(id));
        let of_views = given.has_views && !is_number("x") && !is_number("y");
        let (Some(formula), Some(operand)) = (formula(name, usize::from(is_second), of_views), operand) else {
            return Err(no_rule(name, back.at));
        };
        let written = self.written(formula.text, given, name, back.at)?;
        let mut own = self.push(Kind::Own(operand, back.upstream), back.at);
        if let Some(wide) = given.get("upstream").filter(|_| formula.is_broadcast) {
            // Of the shape that both operands have together.
            let one = self.number(1, back.at);
            let ones = self.push(Kind::Like(wide, one), back.at);
            own = self.push(Kind::Binary(Binary::Mul, own, ones), back.at);
        }
        let operands = ["x", "y", "upstream"].map(|name| given.get(name));
        let mut by: Vec<Id> = operands.into_iter().flatten().filter(|&id| back.meets(id)).collect();
        by.sort_unstable();
        by.dedup();
        self.chained(written, own, &by)
    }

    /// A formula of arguments, as nodes of this graph.
    fn written(&mut self, formula: &str, given: &Arguments<'_>, name: &str, at: &Range<usize>) -> Result<Id, Wrong> {
        let none = || no_rule(name, at);
        // None of an argument that was not given.
        let mut ids: Vec<Option<Id>> = Vec::new();
        for node in parse::nodes(formula)? {
            let mut is_whole = true;
            let is_given = |argument: &Argument| argument.name.is_none() || ids[argument.value].is_some();
            let kind = match node.kind {
                Kind::Call(function, arguments) => {
                    Kind::Call(function, arguments.into_iter().filter(is_given).collect())
                }
                kind => kind,
            };
            let kind = with_inputs(&kind, &mut |id| {
                is_whole &= ids[id].is_some();
                ids[id].unwrap_or_default()
            });
            ids.push(match &kind {
                Kind::Name(wanted) if wanted == "below" => {
                    let exponent = given.get("exponent").and_then(|exponent| self.below(exponent));
                    Some(self.push(Kind::Number(exponent.ok_or_else(none)?), at))
                }
                Kind::Name(wanted) if wanted == "ddof" => Some(given.get(wanted).unwrap_or_else(|| self.number(0, at))),
                Kind::Name(wanted) => given.get(wanted),
                // A number has no reciprocal by that name.
                Kind::Call(function, arguments) if function == "recip" && self.is_number(arguments[0].value) => {
                    let one = self.push(Kind::Number(Literal::from(Number::Real(1.0))), at);
                    Some(self.push(Kind::Binary(Binary::Div, one, arguments[0].value), at))
                }
                _ if is_whole => Some(self.push(kind, at)),
                _ => return Err(none()),
            });
        }
        ids.pop().flatten().ok_or_else(none)
    }

    /// An exponent less one; of 0, of whose power the slope is 0 at zeros too, 0.
    fn below(&self, exponent: Id) -> Option<Literal> {
        let Kind::Number(exponent) = &self.nodes[exponent].kind else { return None };
        match (exponent.integer(), exponent.number()) {
            (Some(integer), _) => Some(Number::Integer(if integer == 0 { 0 } else { integer - 1 }).into()),
            (None, Number::Real(real)) => Some(Number::Real(if real == 0.0 { 0.0 } else { real - 1.0 }).into()),
            _ => None,
        }
    }

    /// The number of an operand.
    fn place(&self, id: Id) -> Option<usize> {
        let Kind::Number(number) = &self.nodes[id].kind else { return None };
        usize::try_from(number.integer()?).ok()
    }

    fn is_one(&self, id: Id) -> bool {
        matches!(&self.nodes[id].kind, Kind::Number(number) if number.integer() == Some(1))
    }
}
