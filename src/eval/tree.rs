//! The syntax of expressions as a list of nodes.

use super::{Argument, Id, IndexItem, NodeKind};

/// Returns the inputs of a node.
pub(super) fn inputs(kind: &NodeKind) -> Vec<Id> {
    let mut found = Vec::new();
    let _ = with_inputs(kind, &mut |id| {
        found.push(id);
        id
    });
    found
}

/// Returns the same node with other inputs. `to` maps each input to the new input.
pub(super) fn with_inputs(kind: &NodeKind, to: &mut impl FnMut(Id) -> Id) -> NodeKind {
    match kind {
        NodeKind::Number(_) | NodeKind::Text(_) | NodeKind::Name(_) => kind.clone(),
        NodeKind::List(items) => NodeKind::List(items.iter().map(|&item| to(item)).collect()),
        NodeKind::Unary(sign, x) => NodeKind::Unary(*sign, to(*x)),
        NodeKind::Binary(operator, x, y) => NodeKind::Binary(*operator, to(*x), to(*y)),
        NodeKind::Call(callee, arguments) => {
            let argument = |given: &Argument| Argument { name: given.name.clone(), value: to(given.value) };
            NodeKind::Call(callee.clone(), arguments.iter().map(argument).collect())
        }
        NodeKind::Index(x, items) => NodeKind::Index(to(*x), with_ends(items, to)),
        NodeKind::Same(value) => NodeKind::Same(to(*value)),
    }
}

fn with_ends(items: &[IndexItem], to: &mut impl FnMut(Id) -> Id) -> Vec<IndexItem> {
    let mut ends = |item: &IndexItem| match item {
        IndexItem::One(index) => IndexItem::One(to(*index)),
        IndexItem::Slice(ends) => IndexItem::Slice(ends.map(|end| end.map(&mut *to))),
        other => other.clone(),
    };
    items.iter().map(&mut ends).collect()
}
