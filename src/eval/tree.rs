//! The syntax of expressions as a list of nodes.

use super::{Argument, Id, Item, Kind};

/// Returns the inputs of a node.
pub(super) fn inputs(kind: &Kind) -> Vec<Id> {
    let mut found = Vec::new();
    let _ = with_inputs(kind, &mut |id| {
        found.push(id);
        id
    });
    found
}

/// Returns the same node with other inputs. `to` maps each input to the new input.
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
    }
}

fn with_ends(items: &[Item], to: &mut impl FnMut(Id) -> Id) -> Vec<Item> {
    let mut ends = |item: &Item| match item {
        Item::One(index) => Item::One(to(*index)),
        Item::Slice(ends) => Item::Slice(ends.map(|end| end.map(&mut *to))),
    };
    items.iter().map(&mut ends).collect()
}
