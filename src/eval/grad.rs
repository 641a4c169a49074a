//! Graphs of expressions: what stands there twice is one node, and `grad(y, x, dy)` is the nodes of its gradient.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::call::placed;
use super::literal::Literal;
use super::table::{Function, function};
use super::{Argument, Binary, Id, Item, Kind, Node, Unary, Wrong, formulas, parse};
use crate::element::Number;

/// How many nodes an expression with gradients may have.
const MOST: usize = 10_000;

/// So many steps are looked at for all gradients of a text together.
const LOOKED_AT: usize = 5_000_000;

/// The nodes that a node is made from.
pub(super) fn inputs(kind: &Kind) -> Vec<Id> {
    let mut found = Vec::new();
    let _ = with_inputs(kind, &mut |id| {
        found.push(id);
        id
    });
    found
}

/// The same node, made from others.
pub(super) fn with_inputs(kind: &Kind, to: &mut impl FnMut(Id) -> Id) -> Kind {
    match kind {
        Kind::Number(_) | Kind::Text(_) | Kind::Name(_) => kind.clone(),
        Kind::List(items) => Kind::List(items.iter().map(|&item| to(item)).collect()),
        Kind::Unary(sign, x) => Kind::Unary(*sign, to(*x)),
        Kind::Binary(operator, x, y) => Kind::Binary(*operator, to(*x), to(*y)),
        Kind::Call(name, arguments) => {
            let argument = |given: &Argument| Argument { name: given.name.clone(), value: to(given.value) };
            Kind::Call(name.clone(), arguments.iter().map(argument).collect())
        }
        Kind::Index(x, items) => Kind::Index(to(*x), with_ends(items, to)),
        Kind::Scatter(x, items, upstream) => Kind::Scatter(to(*x), with_ends(items, to), to(*upstream)),
        Kind::Own(x, upstream) => Kind::Own(to(*x), to(*upstream)),
        Kind::Shaped(x, upstream) => Kind::Shaped(to(*x), to(*upstream)),
        Kind::Like(x, number) => Kind::Like(to(*x), to(*number)),
    }
}

fn with_ends(items: &[Item], to: &mut impl FnMut(Id) -> Id) -> Vec<Item> {
    let mut ends = |item: &Item| match item {
        Item::One(index) => Item::One(to(*index)),
        Item::Slice(ends) => Item::Slice(ends.map(|end| end.map(&mut *to))),
    };
    items.iter().map(&mut ends).collect()
}

/// What a node says, wherever it stands.
fn says(kind: &Kind) -> String {
    match kind {
        Kind::Call(name, arguments) => {
            let told = |given: &Argument| (given.name.as_ref().map(|(name, _)| name.clone()), given.value);
            format!("{name}{:?}", arguments.iter().map(told).collect::<Vec<_>>())
        }
        kind => format!("{kind:?}"),
    }
}

/// The graph of an expression: the last node is its result.
pub(super) fn graph(nodes: &[Node]) -> Result<Vec<Node>, Wrong> {
    let mut graph = Graph { nodes: Vec::with_capacity(nodes.len()), known: HashMap::new(), looked_at: 0 };
    let mut ids: Vec<Id> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let kind = with_inputs(&node.kind, &mut |id| ids[id]);
        ids.push(match &kind {
            Kind::Call(name, arguments) if name == "grad" => graph.grad(arguments, &node.at)?,
            _ => graph.push(kind, &node.at),
        });
    }
    let result = ids.last().map_or(0, |last| last + 1);
    graph.nodes.truncate(result);
    Ok(graph.nodes)
}

struct Graph {
    nodes: Vec<Node>,
    known: HashMap<String, Id>,
    /// How many steps were looked at for gradients.
    looked_at: usize,
}

/// The inputs of a node that receive a gradient, each with the node that it is.
type Given = Vec<(Id, Id)>;

impl Graph {
    fn push(&mut self, kind: Kind, at: &Range<usize>) -> Id {
        let next = self.nodes.len();
        let id = *self.known.entry(says(&kind)).or_insert(next);
        if id == next {
            self.nodes.push(Node { kind, at: at.clone() });
        }
        id
    }

    fn number(&mut self, number: usize, at: &Range<usize>) -> Id {
        self.push(Kind::Number(Literal::from(Number::Integer(number as i128))), at)
    }

    /// The gradient of a part of the expression by a name.
    fn grad(&mut self, arguments: &[Argument], at: &Range<usize>) -> Result<Id, Wrong> {
        let Some(grad) = function("grad") else { return Err(super::call::no_function("grad", at.clone())) };
        let places = placed(grad, arguments, at, &self.nodes)?;
        let [y, x, upstream] = [0, 1, 2].map(|place| places[place][0]);
        if !matches!(self.nodes[x].kind, Kind::Name(_)) {
            let place = self.nodes[x].at.clone();
            return Err(Wrong::new(place, "a gradient is by a name"));
        }
        let upstream = if self.is_number(upstream) { self.push(Kind::Like(y, upstream), at) } else { upstream };
        if y == x {
            return Ok(self.push(Kind::Own(x, upstream), at));
        }
        match self.chained(y, upstream, &[x])?.first() {
            Some(&(_, gradient)) => Ok(gradient),
            None => {
                let zero = self.number(0, at);
                let zeros = self.push(Kind::Like(x, zero), at);
                Ok(self.push(Kind::Own(x, zeros), at))
            }
        }
    }

    /// The gradients of a result by some of the nodes that it is made of, by the chain of rules; none of those that it does
    /// not depend on. They end there. What several nodes give to one is added from the last of them to the first.
    fn chained(&mut self, y: Id, upstream: Id, by: &[Id]) -> Result<Given, Wrong> {
        let first = by.iter().copied().min().unwrap_or(y);
        self.looked_at += y.saturating_sub(first);
        if self.looked_at > LOOKED_AT {
            let why = format!("the gradients up to this one look at more than {LOOKED_AT} steps");
            return Err(Wrong::new(self.nodes[y].at.clone(), why));
        }
        let mut depends = vec![false; y.max(by.iter().copied().max().unwrap_or(0)) + 1];
        by.iter().for_each(|&id| depends[id] = true);
        for id in first + 1..=y {
            depends[id] |= inputs(&self.nodes[id].kind).into_iter().any(|input| depends[input]);
        }
        let mut gradients = BTreeMap::from([(y, upstream)]);
        for id in (first + 1..=y).rev().filter(|id| depends[*id] && !by.contains(id)) {
            let Some(&upstream) = gradients.get(&id) else { continue };
            let at = self.nodes[id].at.clone();
            for (input, gradient) in self.rule(id, upstream, &depends)? {
                let sum = match gradients.get(&input) {
                    Some(&before) => self.push(Kind::Binary(Binary::Add, gradient, before), &at),
                    None => gradient,
                };
                gradients.insert(input, sum);
            }
            if self.nodes.len() > MOST {
                return Err(Wrong::new(at, format!("this gradient has more than {MOST} steps")));
            }
        }
        let found = |&id: &Id| gradients.get(&id).filter(|_| depends[y]).map(|&gradient| (id, gradient));
        Ok(by.iter().filter_map(found).collect())
    }

    /// What a node gives to those of its inputs that count.
    fn rule(&mut self, id: Id, upstream: Id, depends: &[bool]) -> Result<Given, Wrong> {
        let Node { kind, at } = self.nodes[id].clone();
        match kind {
            Kind::Unary(Unary::Neg, x) => self.of_call("neg", &[vec![x]], upstream, depends, &at),
            Kind::Unary(Unary::Not, _) => Err(no_rule("not", &at)),
            Kind::Binary(Binary::Pow, x, exponent) if self.is_number(exponent) => {
                let name = match &self.nodes[exponent].kind {
                    Kind::Number(n) if n.integer().is_some_and(|n| i32::try_from(n).is_ok()) => "powi",
                    _ => "powf",
                };
                self.of_call(name, &[vec![x], vec![exponent]], upstream, depends, &at)
            }
            Kind::Binary(operator, x, y) => {
                self.of_call(operator.operation(), &[vec![x], vec![y]], upstream, depends, &at)
            }
            Kind::Index(x, items) if inputs(&Kind::Index(0, items.clone()))[1..].iter().all(|&end| !depends[end]) => {
                Ok(vec![(x, self.push(Kind::Scatter(x, items, upstream), &at))])
            }
            Kind::Call(name, arguments) => {
                let Some(function) = function(&name) else { return Err(no_rule(&name, &at)) };
                let places = placed(function, &arguments, &at, &self.nodes)?;
                match function.name {
                    "matmul_with" | "matmul_on" => self.of_entries(id, &places, upstream, depends),
                    name if name.ends_with("_backward") => self.of_gradient(function, &places, upstream, depends, &at),
                    name => self.of_call(name, &places, upstream, depends, &at),
                }
            }
            Kind::Index(..) => Err(no_rule("an index", &at)),
            Kind::Scatter(_, items, of) => {
                let chosen = self.push(Kind::Index(upstream, items), &at);
                Ok(vec![(of, self.push(Kind::Own(of, chosen), &at))])
            }
            Kind::Own(_, of) => Ok(vec![(of, self.push(Kind::Own(of, upstream), &at))]),
            Kind::Shaped(_, of) => Ok(vec![(of, self.push(Kind::Shaped(of, upstream), &at))]),
            Kind::Like(..) => Ok(Vec::new()),
            _ => Err(no_rule("this", &at)),
        }
    }

    /// The rule of a function, by its name and arguments.
    fn of_call(
        &mut self,
        name: &str,
        of: &[Vec<Id>],
        up: Id,
        depends: &[bool],
        at: &Range<usize>,
    ) -> Result<Given, Wrong> {
        let first = of[0][0];
        let only_first = || of[1..].iter().flatten().all(|&id| depends.get(id) != Some(&true));
        match name {
            "stored" => return Ok(vec![(first, up)]),
            "cast" | "with_fill" | "to_coo" | "to_csr" if only_first() => {
                return Ok(vec![(first, self.push(Kind::Own(first, up), at))]);
            }
            "diag" if only_first() => {
                let offset = of[1].first().map(|&offset| ("offset", offset));
                let diagonal = self.call("diagonal", [("x", up)].into_iter().chain(offset).collect(), at);
                return Ok(vec![(first, self.push(Kind::Own(first, diagonal), at))]);
            }
            "reshape" | "reshape_as" if only_first() => {
                return Ok(vec![(first, self.push(Kind::Shaped(first, up), at))]);
            }
            "block" => return self.of_block(first, up, depends, at),
            "dense" => return Ok(vec![(first, self.push(Kind::Own(first, up), at))]),
            "pattern_sddmm" => return Ok(self.of_dots([first, of[1][0], of[2][0]], up, depends, at)),
            "scale" => return Ok(self.of_scale(of, up, depends, at)),
            _ => {}
        }
        let backward = match name {
            "where_" => "where_backward".to_string(),
            "permute_axes" => "transpose_backward".to_string(),
            name => format!("{name}_backward"),
        };
        let (Some(forward), Some(backward)) = (function(name), function(&backward)) else {
            return Err(no_rule(name, at));
        };
        self.of_twin(forward, backward, of, up, depends, at)
    }

    /// The rule of a gradient: that of the formula which it stands for.
    fn of_gradient(
        &mut self,
        backward: &Function,
        of: &[Vec<Id>],
        up: Id,
        depends: &[bool],
        at: &Range<usize>,
    ) -> Result<Given, Wrong> {
        let plain = |name: &'static str| name.trim_end_matches(['?', '*']);
        let names = backward.parameters().map(plain);
        let arguments: Vec<(&str, Id)> =
            names.zip(of).filter_map(|(name, ids)| ids.first().map(|&id| (name, id))).collect();
        let argument = |name: &str| arguments.iter().find(|(other, _)| *other == name).map(|(_, id)| *id);
        let (Some(x), Some(upstream)) = (argument("x"), argument("upstream")) else {
            return Err(no_rule(backward.name, at));
        };
        let is_stored = |id: Id| matches!(&self.nodes[id].kind, Kind::Call(name, _) if name == "stored");
        // Of what entries alone give back there are no formulas here.
        if of.iter().flatten().any(|&id| is_stored(id)) {
            return Err(no_rule(backward.name, at));
        }
        if let Some(forward) = formulas::linear(backward.name) {
            let given = arguments.iter().filter(|(name, _)| *name != "upstream");
            let given = given.map(|&(name, id)| (name, if name == "x" { up } else { id })).collect();
            let back = self.call(forward, given, at);
            return Ok(vec![(upstream, self.push(Kind::Own(upstream, back), at))]);
        }
        if backward.name == "abs_backward" {
            // What it gives back depends on the sign alone.
            let back = self.call("abs_backward", vec![("x", x), ("upstream", up)], at);
            return Ok(vec![(upstream, self.push(Kind::Own(upstream, back), at))]);
        }
        let (y, is_right) = (argument("y"), argument("wrt").is_some_and(|wrt| self.integer(wrt) == Some(1)));
        let Some(formula) = formulas::formula(backward.name, usize::from(is_right)) else {
            return Err(no_rule(backward.name, at));
        };
        let written = self.written(formula, &arguments, backward.name, at)?;
        let operand = y.filter(|_| is_right).unwrap_or(x);
        let own = self.push(Kind::Own(operand, up), at);
        // Of the shape that both operands have together.
        let wide = if y.is_some() {
            let one = self.number(1, at);
            let ones = self.push(Kind::Like(upstream, one), at);
            self.push(Kind::Binary(Binary::Mul, own, ones), at)
        } else {
            own
        };
        let mut by: Vec<Id> = [Some(x), y, Some(upstream)].into_iter().flatten().collect();
        by.retain(|&id| depends.get(id) == Some(&true));
        by.sort_unstable();
        by.dedup();
        self.chained(written, wide, &by)
    }

    /// A formula of arguments, as nodes of this graph.
    fn written(&mut self, formula: &str, arguments: &[(&str, Id)], name: &str, at: &Range<usize>) -> Result<Id, Wrong> {
        let mut ids: Vec<Id> = Vec::new();
        for node in parse::nodes(formula)? {
            let kind = with_inputs(&node.kind, &mut |id| ids[id]);
            let named = |wanted: &str| arguments.iter().find(|(other, _)| *other == wanted).map(|(_, id)| *id);
            ids.push(match &kind {
                Kind::Name(wanted) if wanted == "below" => {
                    let exponent = named("exponent").and_then(|exponent| self.below(exponent));
                    let below = exponent.ok_or_else(|| no_rule(name, at))?;
                    self.push(Kind::Number(below), at)
                }
                Kind::Name(wanted) => named(wanted).ok_or_else(|| no_rule(name, at))?,
                _ => self.push(kind, at),
            });
        }
        ids.pop().ok_or_else(|| no_rule(name, at))
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

    fn integer(&self, id: Id) -> Option<i128> {
        match &self.nodes[id].kind {
            Kind::Number(number) => number.integer(),
            _ => None,
        }
    }

    /// The rule that a function of the table is: its arguments are those of the forward by name, the upstream gradient,
    /// and which operand is meant.
    fn of_twin(
        &mut self,
        forward: &Function,
        backward: &Function,
        of: &[Vec<Id>],
        upstream: Id,
        depends: &[bool],
        at: &Range<usize>,
    ) -> Result<Given, Wrong> {
        let plain = |name: &'static str| name.trim_end_matches(['?', '*']);
        let is_met = |id: &Id| depends.get(*id) == Some(&true);
        let mut arguments = Vec::new();
        let mut operands = Vec::new();
        for (parameter, ids) in forward.parameters().map(plain).zip(of) {
            let Some(&id) = ids.first() else { continue };
            let value = match (parameter, &self.nodes[id].kind) {
                ("tensors", Kind::List(items)) if ids.len() == 1 => {
                    operands.clone_from(items);
                    id
                }
                ("tensors", _) => {
                    operands.clone_from(ids);
                    self.push(Kind::List(ids.clone()), at)
                }
                ("factors", Kind::List(items)) => {
                    operands.extend(items);
                    id
                }
                ("x" | "y" | "yes" | "no" | "l" | "r" | "matrix" | "vector", _) => {
                    operands.push(id);
                    id
                }
                _ if ids.iter().any(is_met) && !matches!(parameter, "condition" | "mask") => {
                    return Err(no_rule(forward.name, at));
                }
                _ => id,
            };
            arguments.push((parameter, value));
        }
        arguments.push(("upstream", upstream));
        let has_wrt = backward.parameters().any(|parameter| plain(parameter) == "wrt");
        if !has_wrt && operands[1..].iter().any(is_met) {
            return Err(no_rule(forward.name, at));
        }
        let mut given = Vec::new();
        for (wrt, &operand) in operands.iter().enumerate().filter(|(_, operand)| is_met(operand)) {
            let mut arguments = arguments.clone();
            if has_wrt {
                arguments.push(("wrt", self.number(wrt, at)));
            }
            given.push((operand, self.call(backward.name, arguments, at)));
        }
        Ok(given)
    }

    /// The rule of sums of products of entries, at a mask or not: that of the product of the entries, for what comes at
    /// those of the result. Other semirings have none.
    fn of_entries(&mut self, product: Id, of: &[Vec<Id>], upstream: Id, depends: &[bool]) -> Result<Given, Wrong> {
        let Node { kind: Kind::Call(name, _), at } = self.nodes[product].clone() else { return Ok(Vec::new()) };
        let semiring = of[2].first().filter(|_| name == "matmul_with").map(|&id| &self.nodes[id].kind);
        if let Some(Kind::Text(semiring)) = semiring
            && semiring != "plus_times"
        {
            return Err(no_rule(&format!("{name} over {semiring}"), &at));
        }
        let (x, y) = (of[0][0], of[1][0]);
        let is_stored = matches!(&self.nodes[x].kind, Kind::Call(name, _) if name == "stored");
        let entries = if is_stored { x } else { self.call("stored", vec![("x", x)], &at) };
        let upstream = self.at_entries(product, upstream, &at);
        let mut given = Vec::new();
        for (wrt, operand) in [x, y].into_iter().enumerate().filter(|(_, operand)| depends[*operand]) {
            let number = self.number(wrt, &at);
            let all = vec![("x", entries), ("y", y), ("upstream", upstream), ("wrt", number)];
            given.push((operand, self.call("matmul_backward", all, &at)));
        }
        Ok(given)
    }

    /// The rule of dots at a pattern: the values that stand there have no part in it.
    fn of_dots(&mut self, [x, l, r]: [Id; 3], upstream: Id, depends: &[bool], at: &Range<usize>) -> Given {
        let mut given = Vec::new();
        for (wrt, operand) in [l, r].into_iter().enumerate().filter(|(_, operand)| depends[*operand]) {
            let number = self.number(wrt, at);
            let all = vec![("x", x), ("l", l), ("r", r), ("upstream", upstream), ("wrt", number)];
            given.push((operand, self.call("pattern_sddmm_backward", all, at)));
        }
        given
    }

    /// The rule of products with a number for each position of an axis.
    fn of_scale(&mut self, of: &[Vec<Id>], upstream: Id, depends: &[bool], at: &Range<usize>) -> Given {
        let [x, axis, factors] = [0, 1, 2].map(|place| of[place][0]);
        let mut given = Vec::new();
        for (wrt, operand) in [x, factors].into_iter().enumerate().filter(|(_, operand)| depends[*operand]) {
            let number = self.number(wrt, at);
            let all = vec![("x", x), ("axis", axis), ("factors", factors), ("upstream", upstream), ("wrt", number)];
            given.push((operand, self.call("scale_backward", all, at)));
        }
        given
    }

    /// The rule of rows that are joined, and joined below each other.
    fn of_block(&mut self, rows: Id, upstream: Id, depends: &[bool], at: &Range<usize>) -> Result<Given, Wrong> {
        let Kind::List(rows) = self.nodes[rows].kind.clone() else { return Err(no_rule("block", at)) };
        let [last, before] = [-1, -2].map(|axis| self.push(Kind::Number(Number::Integer(axis).into()), at));
        let joined = rows.iter().map(|&row| self.call("concat", vec![("tensors", row), ("axis", last)], at)).collect();
        let joined = self.push(Kind::List(joined), at);
        let mut given = Vec::new();
        for (place, &row) in rows.iter().enumerate().filter(|(_, row)| depends[**row]) {
            let place = self.number(place, at);
            let all = vec![("tensors", joined), ("upstream", upstream), ("axis", before), ("wrt", place)];
            let of_row = self.call("concat_backward", all, at);
            given.extend(self.of_call("concat", &[vec![row], vec![last]], of_row, depends, at)?);
        }
        Ok(given)
    }

    /// A gradient at the entries of a tensor.
    fn at_entries(&mut self, of: Id, gradient: Id, at: &Range<usize>) -> Id {
        let none = self.push(Kind::List(Vec::new()), at);
        self.call("any_backward", vec![("x", of), ("upstream", gradient), ("axis", none)], at)
    }

    fn call(&mut self, name: &str, arguments: Vec<(&str, Id)>, at: &Range<usize>) -> Id {
        let argument = |(name, value): (&str, Id)| Argument { name: Some((name.to_string(), at.clone())), value };
        self.push(Kind::Call(name.to_string(), arguments.into_iter().map(argument).collect()), at)
    }

    /// Whether a node is a number for sure.
    fn is_number(&self, id: Id) -> bool {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            match &self.nodes[id].kind {
                Kind::Number(_) => {}
                Kind::Unary(..) | Kind::Binary(..) => waiting.extend(inputs(&self.nodes[id].kind)),
                _ => return false,
            }
        }
        true
    }
}

fn no_rule(name: &str, at: &Range<usize>) -> Wrong {
    let is_second = name.ends_with("_backward");
    let hint = if is_second { "; graphs in Rust have gradients of gradients, by Lazy::gradient" } else { "" };
    Wrong::new(at.clone(), format!("{} has no gradient{hint}", name.trim_end_matches('_')))
}
