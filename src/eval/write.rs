//! The textual form of parsed programs.

use std::collections::HashMap;
use std::fmt::{Formatter, Result, Write};

use super::index::{ELLIPSIS, NEW_AXIS};
use super::input::Input;
use super::{Argument, Binary, ExpressionNode, Id, IndexItem, NodeKind, Unary};
use crate::lazy::HEAD;

/// Writes the lines of a program. The last node is the list of results.
pub(super) fn lines(nodes: &[ExpressionNode], inputs: &[Input], f: &mut Formatter<'_>) -> Result {
    writeln!(f, "{HEAD}")?;
    let mut names: Vec<String> = Vec::with_capacity(nodes.len());
    let mut count = 0;
    let inputs: HashMap<&str, &Input> = inputs.iter().map(|input| (input.name.as_str(), input)).collect();
    for (id, node) in nodes.iter().enumerate() {
        let to_text = match &node.kind {
            NodeKind::Name(name) => inputs.get(name.as_str()).map_or_else(String::new, |input| text_of_input(input)),
            kind => to_text(kind, &names, nodes),
        };
        if id + 1 == nodes.len() {
            return writeln!(f, "result = {to_text}");
        }
        if stands_in_line(&node.kind, nodes) {
            names.push(to_text);
            continue;
        }
        writeln!(f, "t{count} = {to_text}")?;
        names.push(format!("t{count}"));
        count += 1;
    }
    Ok(())
}

/// Returns whether a node is written inside the lines that use it, and does not have its own line.
fn stands_in_line(kind: &NodeKind, nodes: &[ExpressionNode]) -> bool {
    let is_number = |id: &Id| matches!(nodes[*id].kind, NodeKind::Number(_));
    match kind {
        NodeKind::Number(_) | NodeKind::Text(_) | NodeKind::List(_) => true,
        NodeKind::Unary(_, x) => is_number(x),
        NodeKind::Binary(_, x, y) => is_number(x) && is_number(y),
        // A view is written inside a line only if its tensor has its own line. Otherwise, nested views would lengthen
        // the text each time.
        NodeKind::Call(callee, arguments) if callee.name == "stored" => {
            arguments.iter().all(|given| !stands_in_line_at_all(&nodes[given.value].kind))
        }
        _ => false,
    }
}

/// Returns whether a node may be written without its own line.
fn stands_in_line_at_all(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Call(callee, _) => callee.name == "stored",
        kind => !matches!(kind, NodeKind::Name(_) | NodeKind::Index(..)),
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('"') { '\'' } else { '"' };
    format!("{quote}{text}{quote}")
}

fn text_of_input(input: &Input) -> String {
    let length = |length: &Option<usize>| length.map_or("\"?\"".into(), |length| length.to_string());
    let lengths = input.lengths.iter().map(length).collect::<Vec<String>>().join(", ");
    let format = if input.is_array { "array".into() } else { input.format.to_string().to_lowercase() };
    let name = quoted(&input.name);
    format!("input({name}, \"{}\", \"{format}\", [{lengths}])", input.dtype)
}

fn to_text(kind: &NodeKind, names: &[String], nodes: &[ExpressionNode]) -> String {
    let name = |id: &Id| names[*id].as_str();
    let operand = |id: &Id| match &nodes[*id].kind {
        NodeKind::Binary(..) | NodeKind::Unary(..) | NodeKind::List(_) if name(id).contains(NOT_IN_WORDS) => {
            format!("({})", name(id))
        }
        _ => name(id).to_string(),
    };
    // Without parentheses, the sign of the number would apply to the power or to the indexed value.
    let base = |id: &Id| if name(id).starts_with('-') { format!("({})", name(id)) } else { operand(id) };
    match kind {
        NodeKind::Number(number) => number.written(),
        NodeKind::Text(text) => quoted(text),
        NodeKind::List(items) => format!("[{}]", items.iter().map(name).collect::<Vec<_>>().join(", ")),
        NodeKind::Unary(Unary::Neg, x) => format!("-{}", operand(x)),
        NodeKind::Unary(Unary::Not, x) => format!("~{}", operand(x)),
        NodeKind::Binary(Binary::Pow, x, y) => format!("{} ** {}", base(x), operand(y)),
        NodeKind::Binary(operator, x, y) => format!("{} {} {}", operand(x), operator.sign(), operand(y)),
        NodeKind::Call(callee, arguments) => {
            let argument = |Argument { name: parameter, value }: &Argument| match parameter {
                Some((parameter, _)) => format!("{parameter}={}", name(value)),
                None => name(value).to_string(),
            };
            format!("{}({})", callee.name, arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
        }
        NodeKind::Index(x, items) => format!("{}[{}]", base(x), text_of_items(items, names)),
        NodeKind::Same(value) => name(value).to_string(),
        NodeKind::Name(_) => String::new(),
    }
}

/// The characters that show that a text is not only a name or a number.
const NOT_IN_WORDS: [char; 4] = [' ', '-', '~', '['];

fn text_of_items(items: &[IndexItem], names: &[String]) -> String {
    let end = |end: &Option<Id>| end.map_or("", |id| names[id].as_str());
    let mut text = String::new();
    for (place, item) in items.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { ", " });
        let _ = match item {
            IndexItem::One(index) => write!(text, "{}", names[*index]),
            IndexItem::Slice([start, stop, None]) => write!(text, "{}:{}", end(start), end(stop)),
            IndexItem::Slice([start, stop, step]) => write!(text, "{}:{}:{}", end(start), end(stop), end(step)),
            IndexItem::Ellipsis(_) => write!(text, "{ELLIPSIS}"),
            IndexItem::NewAxis => write!(text, "{NEW_AXIS}"),
        };
    }
    text
}

impl Binary {
    /// Returns the operator as it is written.
    fn sign(self) -> &'static str {
        match self {
            Binary::Or => "|",
            Binary::And => "&",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::DivFloor => "//",
            Binary::Rem => "%",
            Binary::MatMul => "@",
            Binary::Pow => "**",
        }
    }
}
