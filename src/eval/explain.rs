//! The graph of an expression in words, with the types and shapes that tensors without entries tell.

use std::fmt::Write;

use super::call::placed;
use super::kinds::{Kinds, small, without_entries};
use super::run::{Machine, uses};
use super::table::function;
use super::value::Value;
use super::{Fault, Id, Item, Kind, Node, grad};
use crate::base::error::Error;
use crate::dynamic::AnyValue;

/// Whether values decide on the shape of what a node gives: those of labels that are not written out, and what is there
/// once.
fn is_by_value(node: &Node, nodes: &[Node]) -> bool {
    let Kind::Call(name, arguments) = &node.kind else { return false };
    let Some(function) = function(name) else { return false };
    let is_read = |given: Vec<Id>| given.into_iter().any(|id| !is_written(id, nodes));
    let has_labels = |places: Vec<Vec<Id>>| {
        function.op.parameters().zip(places).any(|(parameter, given)| parameter == "by?" && is_read(given))
    };
    let is_found = name == "nonzero" || name.starts_with("unique");
    is_found || placed(function, arguments, &node.at, nodes).is_ok_and(has_labels)
}

/// Whether a node is a number, or a list of such.
fn is_written(id: Id, nodes: &[Node]) -> bool {
    match &nodes[id].kind {
        Kind::Number(_) => true,
        Kind::List(items) => items.iter().all(|&item| is_written(item, nodes)),
        _ => false,
    }
}

/// Whether a node stores something where its operands store nothing.
fn is_made(node: &Node) -> bool {
    matches!(&node.kind, Kind::Call(name, _) if function(name).is_some_and(|function| function.op.stores))
}

/// Runs the nodes that are read on tensors without entries. `seen` is told of each whether it is read, and
/// what types and shapes say of it; `refused` decides on what an operation refuses. What is `open` is not run.
fn dry(
    nodes: &[Node],
    bound: &dyn Fn(&str) -> Option<AnyValue>,
    open: &dyn Fn(&Node) -> bool,
    refused: &dyn Fn(Error) -> Result<(), Error>,
    seen: &mut dyn FnMut(&Node, bool, Option<&Value>),
) -> Result<(), Fault> {
    let empty = |name: &str| bound(name).and_then(|x| without_entries(&x, x.shape())).map(AnyValue::from);
    let mut machine = Machine::new(nodes, vec![usize::MAX; nodes.len()], &empty);
    for (node, uses) in nodes.iter().zip(uses(nodes)) {
        let is_known = grad::inputs(&node.kind).into_iter().all(|input| machine.values[input].is_some());
        let value = if uses > 0 && is_known && !open(node) {
            match machine.value(node) {
                Err(Fault::Run(error)) => refused(error).map(|()| None)?,
                found => Some(found?),
            }
        } else {
            None
        };
        seen(node, uses > 0, value.as_ref());
        machine.values.push(value);
    }
    Ok(())
}

/// Refuses what types and shapes are enough to refuse.
pub(super) fn check(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<(), Fault> {
    let open = |node: &Node| is_by_value(node, nodes) || is_made(node);
    let refused = |error| if is_of_shapes(&error) { Err(error) } else { Ok(()) };
    dry(nodes, bound, &open, &refused, &mut |_, _, _| {})
}

/// What types, shapes and fills tell of each node.
pub(super) fn known(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<Vec<Option<Value>>, Fault> {
    let open = |node: &Node| is_by_value(node, nodes) || is_made(node);
    let refused = |error| if is_of_shapes(&error) { Err(error) } else { Ok(()) };
    let mut known = Vec::with_capacity(nodes.len());
    dry(nodes, bound, &open, &refused, &mut |_, _, value| known.push(value.cloned()))?;
    Ok(known)
}

/// The last node as a call, in which some names are told otherwise.
pub(super) fn call(nodes: &[Node], told_of: impl Fn(&str) -> Option<String>) -> String {
    let mut names = Vec::with_capacity(nodes.len());
    for node in nodes {
        let name = match &node.kind {
            Kind::Name(name) => told_of(name).unwrap_or_else(|| name.clone()),
            // The sign stands for inputs.
            Kind::Text(text) => format!("{:?}", text.replace('%', "")),
            kind => told(kind, &names),
        };
        names.push(name);
    }
    names.pop().unwrap_or_default()
}

/// Whether an error says nothing of values. The list is whole: a new error is to be decided on here.
fn is_of_shapes(error: &Error) -> bool {
    match error {
        Error::AxisNotOne { .. }
        | Error::AxisOutOfRange { .. }
        | Error::AxisRepeated { .. }
        | Error::NoGradient { .. }
        | Error::NoOperation { .. }
        | Error::NoOrder { .. }
        | Error::NoTensor
        | Error::NotBroadcastable { .. }
        | Error::RankMismatch { .. }
        | Error::ReshapeSize { .. }
        | Error::ShapeMismatch { .. }
        | Error::NotJoinable { .. }
        | Error::SliceOutOfRange { .. }
        | Error::TypesDiffer { .. }
        | Error::ZeroStep { .. } => true,
        // Which positions hold a fill is told by entries.
        Error::Argument { operation: "matmul" | "tensordot" | "einsum", why } => !why.starts_with("the fill"),
        Error::Argument { .. }
        | Error::IndexOutOfBounds { .. }
        | Error::NegativeIndex { .. }
        | Error::NegativeOffset { .. }
        | Error::NotSorted { .. }
        | Error::Duplicate { .. }
        | Error::LengthMismatch { .. }
        | Error::AxisOverflow { .. }
        | Error::FillsDiffer { .. }
        | Error::TooManyEntries { .. }
        | Error::AxisTooLong { .. }
        | Error::OffsetsStart { .. }
        | Error::OffsetsDecrease { .. }
        | Error::OffsetsEnd { .. }
        | Error::UnevenBatches { .. }
        | Error::TooLarge { .. }
        | Error::OutOfMemory { .. }
        | Error::Uncountable { .. }
        | Error::PositionOutOfRange { .. }
        | Error::TakeFromEmpty { .. }
        | Error::SumOverflow { .. }
        | Error::Overflow { .. }
        | Error::EmptyGroup { .. }
        | Error::DivisionByZero { .. }
        | Error::NonFinite { .. }
        | Error::FillVaries { .. }
        | Error::Cast { .. }
        | Error::IsinKind { .. }
        | Error::FillNotZero { .. }
        | Error::Format { .. }
        | Error::NotRepresentable { .. }
        | Error::InRange { .. }
        | Error::Lazy { .. }
        | Error::Engine { .. }
        | Error::Io { .. } => false,
    }
}

/// A line for each step that the result needs. What values alone may refuse is open; what types refuse is wrong.
pub(super) fn explain(nodes: &[Node], bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<String, Fault> {
    let (mut text, mut names, mut count) = (String::new(), Vec::<String>::new(), 0);
    let small = |name: &str| bound(name).and_then(|x| small(&x));
    let mut kinds = Kinds::new(nodes, &small);
    dry(nodes, bound, &|node| is_by_value(node, nodes), &|_| Ok(()), &mut |node, is_read, value| {
        let is_array = kinds.next(node, value);
        if !is_read {
            return names.push(String::new());
        }
        let told = told(&node.kind, &names);
        if matches!(node.kind, Kind::Number(_) | Kind::Text(_) | Kind::List(_)) {
            return names.push(told);
        }
        let _ = writeln!(text, "%{count} = {told}{}", facts(value, is_array));
        names.push(format!("%{count}"));
        count += 1;
    })?;
    Ok(text)
}

/// The facts about a node, which is known to be an array or a tensor, or not.
fn facts(value: Option<&Value>, is_array: Option<bool>) -> String {
    match value {
        Some(Value::Stored(x)) => format!(": entries of {} {}", x.dtype(), x.shape()),
        Some(Value::Number(number)) => format!(": number {}", number.told()),
        Some(value @ (Value::Tensor(_) | Value::Array(_))) => {
            let Some(operand) = value.operand() else { return ": open".into() };
            let own = operand.tensor().map(|x| format!("{} ", x.format().to_string().to_lowercase()));
            let format = match is_array {
                Some(true) => "dense ".into(),
                Some(false) => own.unwrap_or_default(),
                None => String::new(),
            };
            format!(": {} {format}{}", operand.dtype(), operand.shape())
        }
        _ => ": open".into(),
    }
}

/// A node as a call of those before it.
fn told(kind: &Kind, names: &[String]) -> String {
    let name = |id: &usize| names[*id].as_str();
    let end = |id: &Option<usize>| id.as_ref().map_or("", name);
    let item = |item: &Item| match item {
        Item::One(index) => name(index).to_string(),
        Item::Slice([start, stop, step]) => format!("{}:{}:{}", end(start), end(stop), end(step)),
    };
    let listed = |items: &[Item]| items.iter().map(item).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Number(number) => number.told(),
        Kind::Text(text) => format!("{text:?}"),
        Kind::Name(name) => format!("input \"{name}\""),
        Kind::List(items) => format!("[{}]", items.iter().map(name).collect::<Vec<_>>().join(", ")),
        Kind::Unary(sign, x) => format!("{}({})", if *sign == super::Unary::Neg { "neg" } else { "not" }, name(x)),
        Kind::Binary(operator, x, y) => format!("{}({}, {})", operator.operation(), name(x), name(y)),
        Kind::Call(called, arguments) => {
            let argument = |given: &super::Argument| match &given.name {
                Some((parameter, _)) => format!("{parameter}={}", name(&given.value)),
                None => name(&given.value).to_string(),
            };
            format!("{called}({})", arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
        }
        Kind::Index(x, items) => format!("{}[{}]", name(x), listed(items)),
        Kind::Scatter(x, items, upstream) => {
            format!("slice_backward({}, {}, [{}])", name(x), name(upstream), listed(items))
        }
        Kind::Own(x, upstream) | Kind::Shaped(x, upstream) => format!("gradient_of({}, {})", name(x), name(upstream)),
        Kind::Like(x, number) => format!("full_like({}, {})", name(x), name(number)),
    }
}
