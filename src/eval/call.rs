//! Checks of the calls and names of an expression against the existing functions.

use std::ops::Range;

use super::table::{Function, function, function_called, functions};
use super::{Argument, Callee, ExpressionNode, Id, NodeKind, Wrong};
use crate::ops::Parameter;

/// Returns the error for a name that is not a function, with a similar name as a hint.
pub(super) fn no_function(name: &str, at: Range<usize>) -> Wrong {
    let alike = |known: &&str| (strsim::jaro(name, known) * 1e6) as u64;
    let similar = || functions().max_by_key(alike).filter(|known| strsim::jaro(name, known) > 0.8);
    let hint = function_called(name).or_else(similar);
    let hint = hint.map_or(String::new(), |known| format!("; did you mean {known}?"));
    Wrong::new(at, format!("there is no function {name}{hint}"))
}

/// Returns the error for a function after a dot that is not called.
pub(super) fn not_called(name: &str, at: Range<usize>) -> Wrong {
    match function_called(name) {
        Some(own) => Wrong::new(at, format!("brackets are missing; write .{own}()")),
        None => no_function(name, at),
    }
}

/// Returns the function of a call, and the arguments of each parameter. A last parameter with the mark `*` receives all
/// remaining arguments.
pub(super) fn placed(
    Callee { name, at: called, is_method }: &Callee,
    arguments: &[Argument],
    nodes: &[ExpressionNode],
) -> Result<(&'static Function, Vec<Vec<Id>>), Wrong> {
    let function = function(name).ok_or_else(|| no_function(name, called.clone()))?;
    let parameters: Vec<Parameter> = function.op.parameters().collect();
    if *is_method && !parameters.first().is_some_and(|first| first.has_methods()) {
        return Err(Wrong::new(
            called.clone(),
            format!("{name} is not a method; write {name}{}", function.signature()),
        ));
    }
    let takes_more = |place: usize| parameters[place].takes_rest;
    let mut places = vec![Vec::new(); parameters.len()];
    for (position, argument) in arguments.iter().enumerate() {
        let (place, at) = match &argument.name {
            None if arguments[..position].iter().any(|before| before.name.is_some()) => {
                let at = nodes[argument.value].at.clone();
                return Err(Wrong::new(at, "a positional argument follows a named argument"));
            }
            None => {
                let place = match parameters.len().checked_sub(1) {
                    Some(last) if takes_more(last) => position.min(last),
                    _ => position,
                };
                ((place < parameters.len()).then_some(place), nodes[argument.value].at.clone())
            }
            Some((name, at)) => (parameters.iter().position(|parameter| parameter.name == name), at.clone()),
        };
        let Some(place) = place else {
            return Err(Wrong::new(at, format!("the arguments of {} are {}", function.name(), function.signature())));
        };
        if !places[place].is_empty() && (argument.name.is_some() || !takes_more(place)) {
            return Err(Wrong::new(at, format!("{} is set twice", parameters[place].name)));
        }
        places[place].push(argument.value);
    }
    let missing = parameters.iter().zip(&places).find(|(own, place)| place.is_empty() && !own.is_optional);
    match missing {
        None => Ok((function, places)),
        Some((Parameter { name, .. }, _)) => {
            let message = format!("{} needs {name}; its arguments are {}", function.name(), function.signature());
            Err(Wrong::new(called.clone(), message))
        }
    }
}

/// Returns an error if a call has an unknown function or wrong arguments, among the nodes from index `from` on.
pub(super) fn check_calls(nodes: &[ExpressionNode], from: Id) -> Result<(), Wrong> {
    nodes[from..].iter().try_for_each(|node| match &node.kind {
        NodeKind::Call(callee, arguments) => placed(callee, arguments, nodes).map(|_| ()),
        _ => Ok(()),
    })
}

/// Returns the error for a name that is not bound.
pub(super) fn unbound(name: &str, at: Range<usize>) -> Wrong {
    let is_function = function(name).is_some();
    let hint = if is_function { format!("; call the function as {name}(…)") } else { String::new() };
    Wrong::new(at, format!("the name {name} is not bound{hint}"))
}
