//! Parsing of text into nodes, by a Pratt parser with a depth limit.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use winnow::ModalResult;
use winnow::Parser;
use winnow::combinator::{Infix, Postfix, Prefix, expression};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{literal, take_while};

use super::call::not_called;
use super::index::{ELLIPSIS, NEW_AXIS};
use super::literal::{Literal, constant};
use super::{Argument, Binary, Callee, ExpressionNode, Id, IndexItem, NodeKind, Target, Unary, Wrong};

/// The largest nesting depth of brackets, calls, unary operators and powers.
const DEPTH: usize = 100;

/// The text, with the nodes so far and the current depth.
type Input<'a> = Stateful<LocatingSlice<&'a str>, State>;
type Parsed<T> = ModalResult<T, Wrong>;

/// The largest size of the numbers, strings and lists that the uses of all names repeat.
const REPEATED: usize = 100_000;

#[derive(Debug, Default)]
struct State {
    nodes: Vec<ExpressionNode>,
    depth: usize,
    /// The size of each node, and the nesting depth of its lists.
    sizes: Vec<(usize, usize)>,
    /// The size of the nodes that names have repeated so far.
    repeated: usize,
    /// The values of the statements so far.
    values: HashMap<String, Id>,
    /// The names of operands so far.
    operands: HashSet<String>,
}

impl<'a> ParserError<Input<'a>> for Wrong {
    type Inner = Wrong;

    fn from_input(input: &Input<'a>) -> Self {
        Wrong::new(next_character(input), "unexpected character")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// Returns the nodes of statements and of an expression after them, and the names that the statements set. The last
/// node is the entire expression.
pub(super) fn statements(text: &str) -> Result<(Vec<ExpressionNode>, Vec<Target>), Wrong> {
    read(text, 0..text.len(), |input| {
        let mut targets = Vec::new();
        blanks(input)?;
        while let Some(target) = statement(input)? {
            targets.push(target);
        }
        if rest(input).is_empty() && !targets.is_empty() {
            return cut(next_character(input), "an expression must follow the last statement");
        }
        any_expression(input).map(|_| targets)
    })
}

/// Returns the nodes of a part of a text, and the index of the node of the entire part. Positions refer to the entire
/// text.
pub(super) fn within(text: &str, part: Range<usize>) -> Result<(Vec<ExpressionNode>, Id), Wrong> {
    read(text, part, any_expression)
}

/// Returns the nodes and the items of an index, from the text between its brackets.
pub(super) fn index(text: &str) -> Result<(Vec<ExpressionNode>, Vec<IndexItem>), Wrong> {
    read(text, 0..text.len(), |input| {
        let mut items = Vec::new();
        loop {
            blanks(input)?;
            items.push(item(input)?);
            if !sign(input, ",")? {
                return Ok(items);
            }
        }
    })
}

/// Reads a part of a text entirely. Returns the nodes, and the result of the reader.
fn read<T>(
    text: &str,
    part: Range<usize>,
    reader: impl FnOnce(&mut Input<'_>) -> Parsed<T>,
) -> Result<(Vec<ExpressionNode>, T), Wrong> {
    let mut input = Stateful { input: LocatingSlice::new(&text[..part.end]), state: State::default() };
    input.next_slice(part.start);
    match reader(&mut input).and_then(|found| end(&mut input).map(|()| found)) {
        Ok(found) => Ok((input.state.nodes, found)),
        Err(ErrMode::Backtrack(wrong) | ErrMode::Cut(wrong)) => Err(wrong),
        Err(ErrMode::Incomplete(_)) => Err(Wrong::new(part.end..part.end, "unexpected end of the expression")),
    }
}

/// Reads a statement `name = expression;` if the text begins with one, and sets the name.
fn statement(input: &mut Input<'_>) -> Parsed<Option<Target>> {
    let (start, before) = (here(input), input.checkpoint());
    if !rest(input).starts_with(begins_name) {
        return Ok(None);
    }
    let name = word(input)?;
    let at = start..here(input);
    blanks(input)?;
    let equals = next_character(input);
    if matches!(rest(input).as_bytes(), [b'=', b'=', ..]) || !sign(input, "=")? {
        input.reset(&before);
        return Ok(None);
    }
    let value = any_expression(input)?;
    match rest(input).chars().next() {
        Some(';') => sign(input, ";")?,
        None => return cut(equals, "a statement ends with ; and an expression follows it; compare with =="),
        Some(c) if begins_name(c) => return cut(next_character(input), "an operator or ; is missing before this"),
        Some(_) => return end(input).map(|()| None),
    };
    if let Some(why) = unavailable(&input.state, &name) {
        return cut(at, why);
    }
    input.state.values.insert(name.clone(), value);
    Ok(Some((name, at)))
}

/// Returns the reason why a statement cannot set a name.
fn unavailable(state: &State, name: &str) -> Option<String> {
    match name {
        name if constant(name).is_some() || name == NEW_AXIS => {
            Some(format!("{name} has a value; choose another name"))
        }
        name if state.operands.contains(name) => Some(of_operand(name)),
        name if state.values.contains_key(name) => {
            Some(format!("an earlier statement sets {name}; choose another name"))
        }
        _ => None,
    }
}

/// Returns the reason why a statement cannot set the name of an operand.
pub(super) fn of_operand(name: &str) -> String {
    format!("{name} is an operand; choose another name")
}

/// Returns an error if text follows an expression.
fn end(input: &mut Input<'_>) -> Parsed<()> {
    let message = match rest(input).as_bytes() {
        [] => return Ok(()),
        [b'=' | b'!', b'=', ..] | [b'<' | b'>', ..] => "comparisons cannot be chained; write (a < b) & (b < c)",
        [b'=', ..] => "= sets a name or an argument of a function; compare with ==",
        [b';', ..] => "a statement is name = expression;",
        [b')' | b']', ..] => "unmatched closing bracket",
        [b',', ..] => "unexpected comma; commas separate arguments, list items and indices",
        [b'.', ..] => "a function must follow the dot, as in x.sum()",
        [b':', ..] => "unexpected colon; write a range in an index, as in x[1:3]",
        _ => "an operator is missing before this",
    };
    cut(next_character(input), message)
}

fn cut<T>(at: Range<usize>, message: impl Into<String>) -> Parsed<T> {
    Err(ErrMode::Cut(Wrong::new(at, message)))
}

fn backtrack<T>(input: &Input<'_>) -> Parsed<T> {
    Err(ErrMode::Backtrack(Wrong::from_input(input)))
}

fn rest<'a>(input: &Input<'a>) -> &'a str {
    input.input.as_ref()
}

fn here(input: &Input<'_>) -> usize {
    input.input.current_token_start()
}

/// Returns the byte range of the next character, which is empty at the end.
fn next_character(input: &Input<'_>) -> Range<usize> {
    let start = here(input);
    start..start + rest(input).chars().next().map_or(0, char::len_utf8)
}

fn blanks(input: &mut Input<'_>) -> Parsed<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

/// Reads a fixed string and the whitespace after it. Returns whether the string was found.
fn sign(input: &mut Input<'_>, sign: &'static str) -> Parsed<bool> {
    if !rest(input).starts_with(sign) {
        return Ok(false);
    }
    literal(sign).void().parse_next(input)?;
    blanks(input)?;
    Ok(true)
}

fn push(input: &mut Input<'_>, kind: NodeKind, at: Range<usize>) -> Id {
    let size = size(&input.state.sizes, &kind, &at);
    input.state.sizes.push(size);
    input.state.nodes.push(ExpressionNode { kind, at });
    input.state.nodes.len() - 1
}

/// Returns the size of a node as an argument, and the nesting depth of its lists.
fn size(sizes: &[(usize, usize)], kind: &NodeKind, at: &Range<usize>) -> (usize, usize) {
    match kind {
        NodeKind::Number(_) | NodeKind::Text(_) => (at.len(), 0),
        NodeKind::Unary(_, x) | NodeKind::Same(x) => sizes[*x],
        NodeKind::List(items) => items
            .iter()
            .map(|&item| sizes[item])
            .fold((1, 1), |(size, depth), (own, below)| (size.saturating_add(own), depth.max(below + 1))),
        _ => (1, 0),
    }
}

fn place(input: &Input<'_>, node: Id) -> Range<usize> {
    input.state.nodes[node].at.clone()
}

/// Increases the depth, or returns an error at the limit.
fn deeper(input: &mut Input<'_>, at: Range<usize>) -> Parsed<()> {
    input.state.depth += 1;
    match input.state.depth > DEPTH {
        true => cut(at, format!("more than {DEPTH} nested brackets, unary operators and powers")),
        false => Ok(()),
    }
}

/// Reads an expression, and the whitespace around it.
fn any_expression(input: &mut Input<'_>) -> Parsed<Id> {
    blanks(input)?;
    expression(operand).prefix(prefix).postfix(postfix).infix(infix).parse_next(input)
}

/// Reads a number, a text, a name, a call, a list, or an expression in parentheses.
fn operand(input: &mut Input<'_>) -> Parsed<Id> {
    let at = next_character(input);
    let found = match rest(input).chars().next() {
        Some('(') => nested(input, at)?,
        Some('[') => list(input, at)?,
        Some('"' | '\'') => text(input)?,
        Some(c) if c.is_ascii_digit() || c == '.' => number(input)?,
        Some(c) if begins_name(c) => named(input)?,
        _ => return backtrack(input),
    };
    blanks(input)?;
    Ok(found)
}

pub(super) fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads an expression in parentheses.
fn nested(input: &mut Input<'_>, at: Range<usize>) -> Parsed<Id> {
    deeper(input, at.clone())?;
    sign(input, "(")?;
    let inner = any_expression(input)?;
    if rest(input).starts_with(',') {
        return cut(next_character(input), "unexpected comma; write a list in brackets, as in [1, 2]");
    }
    close(input, ")", &at)?;
    input.state.depth -= 1;
    Ok(inner)
}

/// Reads the bracket that closes the bracket at `opened`.
fn close(input: &mut Input<'_>, bracket: &'static str, opened: &Range<usize>) -> Parsed<()> {
    if rest(input).starts_with(bracket) {
        return literal(bracket).void().parse_next(input);
    }
    if rest(input).is_empty() {
        return cut(opened.clone(), format!("the matching `{bracket}` is missing"));
    }
    end(input)?;
    cut(next_character(input), "unexpected character")
}

/// Reads items that are separated by commas, and the closing bracket. The opening bracket is already read.
fn listed<T>(
    input: &mut Input<'_>,
    bracket: &'static str,
    opened: &Range<usize>,
    item: impl Fn(&mut Input<'_>) -> Parsed<T>,
) -> Parsed<Vec<T>> {
    deeper(input, opened.clone())?;
    blanks(input)?;
    let mut items = Vec::new();
    while !rest(input).starts_with(bracket) {
        items.push(item(input)?);
        if !sign(input, ",")? {
            break;
        }
    }
    close(input, bracket, opened)?;
    input.state.depth -= 1;
    Ok(items)
}

fn list(input: &mut Input<'_>, at: Range<usize>) -> Parsed<Id> {
    sign(input, "[")?;
    let items = listed(input, "]", &at, any_expression)?;
    let at = at.start..here(input);
    let list = push(input, NodeKind::List(items), at.clone());
    match input.state.sizes[list].1 > DEPTH {
        true => cut(at, format!("more than {DEPTH} nested lists")),
        false => Ok(list),
    }
}

/// Reads a text between two equal quotes. The text cannot contain this quote.
fn text(input: &mut Input<'_>) -> Parsed<Id> {
    let (start, quote) = (here(input), &rest(input)[..1]);
    let Some(length) = rest(input)[1..].find(quote) else {
        return cut(start..start + 1, "the closing quote is missing");
    };
    let text = rest(input)[1..=length].to_string();
    input.next_slice(length + 2);
    let at = start..here(input);
    Ok(push(input, NodeKind::Text(text), at))
}

/// Reads a number: digits, a fraction, an exponent, and `j` for an imaginary number.
fn number(input: &mut Input<'_>) -> Parsed<Id> {
    let (start, text) = (here(input), rest(input));
    let length = length_of_number(text);
    let word_end = text[length..].find(|c: char| !continues_name(c) && c != '.').map_or(text.len(), |end| length + end);
    let at = start..start + word_end;
    if word_end > length || length == 0 {
        return cut(at, "invalid number");
    }
    let Some(number) = Literal::parse(&text[..length]) else { return cut(at, "invalid number") };
    input.next_slice(length);
    Ok(push(input, NodeKind::Number(number), at))
}

/// Returns the number of bytes at the beginning of a text that are a number.
fn length_of_number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    let whole = length;
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
        if whole == 0 && length == 1 {
            return 0;
        }
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let count = digits(unsigned);
        if count > 0 {
            length += 1 + exponent.len() - unsigned.len() + count;
        }
    }
    length + usize::from(text[length..].starts_with('j'))
}

/// Reads a name, or the call of a function.
fn named(input: &mut Input<'_>) -> Parsed<Id> {
    let start = here(input);
    let name = word(input)?;
    let at = start..here(input);
    let after_name = input.checkpoint();
    blanks(input)?;
    let bracket = next_character(input);
    if !sign(input, "(")? {
        input.reset(&after_name);
        return name_of(input, name, at);
    }
    let arguments = listed(input, ")", &bracket, argument)?;
    let (callee, at) = (Callee { name, at, is_method: false }, start..here(input));
    Ok(push(input, NodeKind::Call(callee, arguments), at))
}

/// Returns the node of a name: the value of a statement, or an operand.
fn name_of(input: &mut Input<'_>, name: String, at: Range<usize>) -> Parsed<Id> {
    let Some(&value) = input.state.values.get(&name) else {
        input.state.operands.insert(name.clone());
        return Ok(push(input, NodeKind::Name(name), at));
    };
    input.state.repeated = input.state.repeated.saturating_add(input.state.sizes[value].0);
    if input.state.repeated > REPEATED {
        return cut(at, format!("the uses of names repeat more than {REPEATED} items and characters; use an array"));
    }
    Ok(push(input, NodeKind::Same(value), at))
}

fn word(input: &mut Input<'_>) -> Parsed<String> {
    take_while(1.., continues_name).map(str::to_string).parse_next(input)
}

/// Reads `value` or `name=value`.
fn argument(input: &mut Input<'_>) -> Parsed<Argument> {
    let start = input.checkpoint();
    let at = here(input);
    if rest(input).starts_with(begins_name) {
        let name = word(input)?;
        let at = at..here(input);
        blanks(input)?;
        if rest(input).strip_prefix('=').is_some_and(|value| !value.starts_with('=')) {
            sign(input, "=")?;
            return Ok(Argument { name: Some((name, at)), value: any_expression(input)? });
        }
        input.reset(&start);
    }
    Ok(Argument { name: None, value: any_expression(input)? })
}

/// Reads an integer of an index, `start:stop:step`, `...` or `None`.
fn item(input: &mut Input<'_>) -> Parsed<IndexItem> {
    let start = here(input);
    if sign(input, ELLIPSIS)? {
        return Ok(IndexItem::Ellipsis(start..start + ELLIPSIS.len()));
    }
    if is_new_axis(rest(input)) {
        sign(input, NEW_AXIS)?;
        return Ok(IndexItem::NewAxis);
    }
    let mut parts = [None; 3];
    let mut colons = 0;
    loop {
        if !rest(input).is_empty() && !rest(input).starts_with([':', ',', ']']) {
            parts[colons] = Some(any_expression(input)?);
        }
        let at = next_character(input);
        if !sign(input, ":")? {
            break;
        }
        colons += 1;
        if colons == parts.len() {
            return cut(at, "a range has at most two colons, start:stop:step");
        }
    }
    match (colons, parts[0]) {
        (0, Some(index)) => Ok(IndexItem::One(index)),
        (0, None) => cut(next_character(input), "an index is missing here"),
        _ => Ok(IndexItem::Slice(parts)),
    }
}

/// Returns whether an item of an index is only the word for a new axis.
fn is_new_axis(text: &str) -> bool {
    let after = text.strip_prefix(NEW_AXIS).map(str::trim_start);
    after.is_some_and(|after| after.is_empty() || after.starts_with([',', ']']))
}

/// The binding powers of the operators.
mod power {
    pub(super) const OR: i64 = 10;
    pub(super) const AND: i64 = 20;
    pub(super) const COMPARISON: i64 = 30;
    pub(super) const SUM: i64 = 40;
    pub(super) const PRODUCT: i64 = 50;
    pub(super) const SIGN: i64 = 60;
    pub(super) const POWER: i64 = 70;
    pub(super) const INDEX: i64 = 80;
}

type Prefixed<'a> = Prefix<Input<'a>, Id, ErrMode<Wrong>>;
type Postfixed<'a> = Postfix<Input<'a>, Id, ErrMode<Wrong>>;
type Infixed<'a> = Infix<Input<'a>, Id, ErrMode<Wrong>>;

/// Reads a unary operator. The operator must be present, because no operand was found here.
fn prefix<'a>(input: &mut Input<'a>) -> Parsed<Prefixed<'a>> {
    let at = next_character(input);
    let fold: fn(&mut Input<'a>, Id) -> Parsed<Id> = match rest(input).chars().next() {
        Some('-') => |input, operand| Ok(signed(input, Unary::Neg, operand)),
        Some('~') => |input, operand| Ok(signed(input, Unary::Not, operand)),
        None => return cut(at, "unexpected end of the expression"),
        Some('+') => return cut(at, "there is no unary +"),
        _ => return cut(at, "an operand is missing here"),
    };
    deeper(input, at)?;
    input.next_slice(1);
    blanks(input)?;
    Ok(Prefix(power::SIGN, fold))
}

fn signed(input: &mut Input<'_>, sign: Unary, operand: Id) -> Id {
    input.state.depth -= 1;
    // The sign belongs to the number, because 9223372036854775808 does not fit in `int64`, but -9223372036854775808
    // does.
    let at = place(input, operand);
    if let (Unary::Neg, NodeKind::Number(number)) = (sign, &input.state.nodes[operand].kind)
        && let Some(negative) = number.negated()
    {
        input.state.nodes[operand] = ExpressionNode { kind: NodeKind::Number(negative), at };
        return operand;
    }
    push(input, NodeKind::Unary(sign, operand), at)
}

/// Reads the opening bracket of an index, or the dot before a method. The rest is read after the precedence is checked.
fn postfix<'a>(input: &mut Input<'a>) -> Parsed<Postfixed<'a>> {
    let fold: fn(&mut Input<'a>, Id) -> Parsed<Id> = match rest(input).as_bytes() {
        [b'[', ..] => |input, operand| indexed(input, operand),
        [b'.', ..] if rest(input)[1..].starts_with(begins_name) => |input, operand| method(input, operand),
        _ => return backtrack(input),
    };
    input.next_slice(1);
    Ok(Postfix(power::INDEX, fold))
}

/// Reads the items of an index after its opening bracket.
fn indexed(input: &mut Input<'_>, operand: Id) -> Parsed<Id> {
    let opened = here(input) - 1..here(input);
    let items = listed(input, "]", &opened, item)?;
    if items.is_empty() {
        return cut(opened, "an index is missing here");
    }
    let at = place(input, operand).start..here(input);
    blanks(input)?;
    Ok(push(input, NodeKind::Index(operand, items), at))
}

/// Reads the call of a method after its dot. The operand is the first argument of the function.
fn method(input: &mut Input<'_>, operand: Id) -> Parsed<Id> {
    let start = here(input);
    let name = word(input)?;
    let at = start..here(input);
    blanks(input)?;
    let bracket = next_character(input);
    if !sign(input, "(")? {
        return Err(ErrMode::Cut(not_called(&name, at)));
    }
    let mut arguments = vec![Argument { name: None, value: operand }];
    arguments.append(&mut listed(input, ")", &bracket, argument)?);
    let (callee, at) = (Callee { name, at, is_method: true }, place(input, operand).start..here(input));
    blanks(input)?;
    Ok(push(input, NodeKind::Call(callee, arguments), at))
}

fn infix<'a>(input: &mut Input<'a>) -> Parsed<Infixed<'a>> {
    use power::{AND, COMPARISON, OR, POWER, PRODUCT, SUM};
    let (length, operator): (usize, Infixed<'a>) = match rest(input).as_bytes() {
        [b'*', b'*', ..] => {
            let at = here(input)..here(input) + 2;
            deeper(input, at)?;
            (
                2,
                Infix::Right(POWER, |input, left, right| {
                    input.state.depth -= 1;
                    join(input, Binary::Pow, left, right)
                }),
            )
        }
        [b'/', b'/', ..] => (2, Infix::Left(PRODUCT, |input, x, y| join(input, Binary::DivFloor, x, y))),
        [b'=', b'=', ..] => (2, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::Equal, x, y))),
        [b'!', b'=', ..] => (2, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::NotEqual, x, y))),
        [b'<', b'=', ..] => (2, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::LessEqual, x, y))),
        [b'>', b'=', ..] => (2, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::GreaterEqual, x, y))),
        [b'<', ..] => (1, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::Less, x, y))),
        [b'>', ..] => (1, Infix::Neither(COMPARISON, |input, x, y| join(input, Binary::Greater, x, y))),
        [b'|', ..] => (1, Infix::Left(OR, |input, x, y| join(input, Binary::Or, x, y))),
        [b'&', ..] => (1, Infix::Left(AND, |input, x, y| join(input, Binary::And, x, y))),
        [b'+', ..] => (1, Infix::Left(SUM, |input, x, y| join(input, Binary::Add, x, y))),
        [b'-', ..] => (1, Infix::Left(SUM, |input, x, y| join(input, Binary::Sub, x, y))),
        [b'*', ..] => (1, Infix::Left(PRODUCT, |input, x, y| join(input, Binary::Mul, x, y))),
        [b'/', ..] => (1, Infix::Left(PRODUCT, |input, x, y| join(input, Binary::Div, x, y))),
        [b'%', ..] => (1, Infix::Left(PRODUCT, |input, x, y| join(input, Binary::Rem, x, y))),
        [b'@', ..] => (1, Infix::Left(PRODUCT, |input, x, y| join(input, Binary::MatMul, x, y))),
        _ => return backtrack(input),
    };
    input.next_slice(length);
    blanks(input)?;
    Ok(operator)
}

/// Combines two operands by an operator.
fn join(input: &mut Input<'_>, operator: Binary, left: Id, right: Id) -> Parsed<Id> {
    let at = place(input, left).start..place(input, right).end;
    Ok(push(input, NodeKind::Binary(operator, left, right), at))
}
