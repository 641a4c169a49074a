//! Graphs of expressions: what stands there twice is one node, and `grad(y, x, dy)` is the nodes of its gradient.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::call::placed;
use super::literal::{Literal, constant};
use super::table::function;
use super::{Argument, Binary, Id, Item, Kind, Node, Wrong};
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

pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    known: HashMap<String, Id>,
    /// How many steps were looked at for gradients.
    looked_at: usize,
}

/// The gradient of a node, and where its inputs look for their own.
#[derive(Clone, Copy)]
pub(super) struct Back<'a> {
    pub(super) upstream: Id,
    /// Of each node whether it depends on what the gradient is by.
    pub(super) depends: &'a [bool],
    /// Where the node stands in the text.
    pub(super) at: &'a Range<usize>,
}

impl Back<'_> {
    /// Whether a node receives a gradient.
    pub(super) fn meets(&self, id: Id) -> bool {
        self.depends.get(id) == Some(&true)
    }
}

/// The inputs of a node that receive a gradient, each with the node that it is.
pub(super) type Given = Vec<(Id, Id)>;

impl Graph {
    pub(super) fn push(&mut self, kind: Kind, at: &Range<usize>) -> Id {
        let next = self.nodes.len();
        let id = *self.known.entry(says(&kind)).or_insert(next);
        if id == next {
            self.nodes.push(Node { kind, at: at.clone() });
        }
        id
    }

    /// A node that is no other one, though it says the same.
    pub(super) fn fresh(&mut self, kind: Kind, at: &Range<usize>) -> Id {
        self.nodes.push(Node { kind, at: at.clone() });
        self.nodes.len() - 1
    }

    pub(super) fn number(&mut self, number: usize, at: &Range<usize>) -> Id {
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
        let is_constant = matches!(&self.nodes[upstream].kind, Kind::Name(name) if constant(name).is_some());
        let upstream = match is_constant || self.is_number(upstream) {
            true => self.push(Kind::Like(y, upstream), at),
            false => upstream,
        };
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
    pub(super) fn chained(&mut self, y: Id, upstream: Id, by: &[Id]) -> Result<Given, Wrong> {
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
            let back = Back { upstream, depends: &depends, at: &at };
            for (input, gradient) in self.rule(id, back)? {
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

    pub(super) fn call(&mut self, name: &str, arguments: Vec<(&str, Id)>, at: &Range<usize>) -> Id {
        let argument = |(name, value): (&str, Id)| Argument { name: Some((name.to_string(), at.clone())), value };
        self.push(Kind::Call(name.to_string(), arguments.into_iter().map(argument).collect()), at)
    }

    /// Whether a node is a number for sure.
    pub(super) fn is_number(&self, id: Id) -> bool {
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

pub(super) fn no_rule(name: &str, at: &Range<usize>) -> Wrong {
    Wrong::new(at.clone(), format!("{} has no gradient", name.trim_end_matches('_')))
}
