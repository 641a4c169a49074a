//! Expressions over tensors, as `lacuna eval` runs them.
//!
//! An expression such as `nanmedian(stored(x * 2 + 1), axis=1)` is [parsed](Expression::parse) once. Each evaluation
//! computes the expression on the tensors to which its names are bound ([`Expression::evaluate`]). The functions are
//! the operations of the library, with their Rust names ([`functions`]). `docs/expressions.md` has the grammar.
//!
//! Parsing has a depth limit, and evaluation does not recurse. An expression is a list of nodes, and each node comes
//! after its inputs.

mod argument;
mod arithmetic;
mod brackets;
mod call;
mod constant;
mod evaluate;
mod explain;
mod fault;
mod graph;
mod headers;
mod index;
mod input;
mod kinds;
mod literal;
mod lower;
mod options;
mod parse;
mod program;
mod run;
mod running;
mod table;
mod tree;
mod write;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use crate::base::error::Error;
use crate::dynamic::AnyValue;
use crate::element::Number;
use literal::Literal;
use lower::Lowered;

#[doc(hidden)]
pub use crate::ops::table::{CommandKind, CommandSpec};
pub use graph::Bound;
pub use input::Input;
#[doc(hidden)]
pub use input::header;
pub use program::Program;
pub use table::functions;
#[doc(hidden)]
pub use table::{example, function_called, names_elsewhere, signature};

/// The reason why an expression does not have a value.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The text is not an expression, a name is not bound, or an operation does not support an element type.
    Wrong(Wrong),
    /// An operation returned an error.
    Run(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Run(error)
    }
}

/// Calls that the library recommends in its errors, and the equivalent in expressions.
const ADVICE: [(&str, &str); 4] = [
    ("use .wrap() or .clip()", "use mode=\"wrap\" or mode=\"clip\""),
    ("call it on x.stored()", "call it on stored(x)"),
    ("x.stored() and y.stored() combine", "stored(x) and stored(y) combine"),
    ("x.stored() skips", "stored(x) skips"),
];

/// Messages recommend functions of expressions instead of calls of the library.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Wrong(wrong) => wrong.fmt(f),
            Fault::Run(error) => {
                let message =
                    ADVICE.iter().fold(error.to_string(), |message, (call, text)| message.replace(call, text));
                f.write_str(&message)
            }
        }
    }
}

impl std::error::Error for Fault {}

/// An error in an expression, with its position.
///
/// The text of the error is a message, the line of the expression, and carets (`^`) below the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    message: String,
    at: Range<usize>,
    expression: String,
}

impl Wrong {
    fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Wrong { message: message.into(), at, expression: String::new() }
    }

    fn of(self, expression: &str) -> Self {
        Wrong { expression: expression.to_string(), ..self }
    }

    /// Returns the message, without the expression.
    ///
    /// ```
    /// use lacuna::eval::{Expression, Fault};
    ///
    /// let Err(Fault::Wrong(wrong)) = Expression::parse("sum(x") else { panic!() };
    /// assert_eq!(wrong.message(), "the matching `)` is missing");
    /// ```
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the byte range of the error in the expression.
    ///
    /// ```
    /// use lacuna::eval::{Expression, Fault};
    ///
    /// let Err(Fault::Wrong(wrong)) = Expression::parse("1 + )") else { panic!() };
    /// assert_eq!(wrong.place(), 4..5);
    /// assert_eq!(wrong.to_string().lines().nth(2), Some("      ^"));
    /// ```
    pub fn place(&self) -> Range<usize> {
        self.at.clone()
    }
}

impl Wrong {
    /// Returns the number of the line with the error, counted from 1, and the byte range of the line.
    fn line(&self) -> (usize, Range<usize>) {
        let text = &self.expression;
        let at = (0..=self.at.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        (text[..start].matches('\n').count() + 1, start..end)
    }
}

/// The largest number of characters that are shown before a position, and from the position on.
const AROUND: usize = 60;

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, line) = self.line();
        let text = &self.expression[line.clone()];
        let at = self.at.start.saturating_sub(line.start)..self.at.end.saturating_sub(line.start);
        let start = (0..=at.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        if self.expression.contains('\n') {
            write!(f, "line {number}, column {}: ", text[..start].chars().count() + 1)?;
        }
        let end =
            (start..=at.end.min(text.len()).max(start)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(start);
        // A character that would move the carets is shown as a space.
        let moves = |c: char| {
            c.is_control() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
        };
        let shown = |part: &str| part.chars().map(|c| if moves(c) { ' ' } else { c }).collect::<String>();
        let before: Vec<char> = shown(&text[..start]).chars().collect();
        let before: String = before[before.len().saturating_sub(AROUND)..].iter().collect();
        let behind: String = shown(&text[start..]).chars().take(AROUND).collect();
        let carets = places(&shown(&text[start..end])).clamp(1, places(&behind).max(1));
        let blanks = " ".repeat(places(&before));
        write!(f, "{}\n  {before}{behind}\n  {blanks}{}", self.message, "^".repeat(carets))
    }
}

/// Returns the width of a text on a terminal. East Asian characters and emoji have width 2, and combining marks have
/// width 0.
fn places(text: &str) -> usize {
    let of = |c| match c {
        '\u{300}'..='\u{36F}' => 0,
        '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' => 2,
        '\u{FF00}'..='\u{FF60}' | '\u{1F300}'..='\u{1FAFF}' | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Sub,
    Mul,
    Div,
    DivFloor,
    Rem,
    MatMul,
    Pow,
}

/// A unary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unary {
    Neg,
    Not,
}

/// The index of a node.
type Id = usize;

/// An argument of a call.
#[derive(Debug, Clone)]
struct Argument {
    name: Option<(String, Range<usize>)>,
    value: Id,
}

/// The name of a called function, with its position. The first argument of a method is before its name.
#[derive(Debug, Clone)]
struct Callee {
    name: String,
    at: Range<usize>,
    is_method: bool,
}

/// An item of an index. Items are separated by commas.
#[derive(Debug, Clone)]
enum IndexItem {
    One(Id),
    Slice([Option<Id>; 3]),
    /// All axes without an item: `...` at this position.
    Ellipsis(Range<usize>),
    /// A new axis: `None`.
    NewAxis,
}

#[derive(Debug, Clone)]
enum NodeKind {
    Number(Literal),
    Text(String),
    Name(String),
    List(Vec<Id>),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Call(Callee, Vec<Argument>),
    Index(Id, Vec<IndexItem>),
    /// The value of an earlier statement.
    Same(Id),
}

/// The name that a statement sets, with its position.
type Target = (String, Range<usize>);

/// A node of an expression, with its byte range in the text. A node comes after its inputs.
#[derive(Debug, Clone)]
struct ExpressionNode {
    kind: NodeKind,
    at: Range<usize>,
}

/// A parsed expression.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::eval::Expression;
///
/// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 0.0)?.with_index::<u64>()?;
/// let sums = Expression::parse("sum(x * 2, axis=0)")?;
/// assert_eq!(sums.names(), ["x"]);
/// let y = sums.evaluate(|_| Some(AnyTensor::from(x.clone())))?;
/// assert_eq!(y.into_tensor()?.into_coo::<f64, u64>()?.values(), [6.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    nodes: Vec<ExpressionNode>,
    /// The names that statements set. These names are not names of operands.
    targets: Vec<Target>,
    /// True if the last node may be a list of results.
    has_list: bool,
    lowered: Lowered,
}

impl Expression {
    /// Parses an expression, or statements `name = expression;` and an expression after them.
    ///
    /// Common subexpressions are computed once. A call of `grad` is replaced by the steps of the gradient.
    ///
    /// # Errors
    ///
    /// `Wrong`:
    ///
    /// - The text is not an expression, or is nested too deeply.
    /// - A statement sets the name of a constant, of an operand or of an earlier statement.
    /// - A function does not exist, or does not have these arguments.
    /// - A call of `grad` needs the gradient of a step that does not have a gradient.
    ///
    /// ```
    /// use lacuna::eval::Expression;
    ///
    /// let wrong = Expression::parse("sum(x, axes=0)").unwrap_err().to_string();
    /// assert_eq!(wrong, "the arguments of sum are (x, axis=…, keep_dims=…, by=…)\n  sum(x, axes=0)\n         ^^^^");
    /// ```
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let wrong = |wrong: Wrong| Fault::Wrong(wrong.of(text));
        let (nodes, targets) = parse::statements(text).map_err(wrong)?;
        call::check_calls(&nodes, 0).map_err(wrong)?;
        Ok(Expression { targets, ..Expression::of(text, nodes, false)? })
    }

    /// Returns the distinct names in the expression, in the order of first use.
    ///
    /// The names may include constants such as `nan`. If the name of a constant is not bound, the constant has its
    /// usual value.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for node in &self.nodes {
            if let NodeKind::Name(name) = &node.kind
                && !names.contains(&name.as_str())
            {
                names.push(name.as_str());
            }
        }
        names
    }

    /// Returns an error if a name is not bound and not a constant.
    ///
    /// Also returns an error if a statement sets a name that is bound.
    ///
    /// # Errors
    ///
    /// `Wrong`: the first such name.
    ///
    /// ```
    /// use lacuna::eval::Expression;
    ///
    /// assert!(Expression::parse("x + inf")?.check_names(|name| name == "x").is_ok());
    /// assert!(Expression::parse("x + y")?.check_names(|name| name == "x").is_err());
    /// # Ok::<(), lacuna::eval::Fault>(())
    /// ```
    pub fn check_names(&self, is_bound: impl Fn(&str) -> bool) -> Result<(), Fault> {
        self.check_targets(&is_bound).map_err(|fault| self.placed(fault))?;
        for node in &self.nodes {
            if let NodeKind::Name(name) = &node.kind
                && !is_bound(name)
                && literal::constant(name).is_none()
            {
                return Err(Fault::Wrong(call::unbound(name, node.at.clone()).of(&self.text)));
            }
        }
        Ok(())
    }

    /// Returns the steps as text, one per line.
    ///
    /// A line shows the call, the element type, the format and the shape of a step. If the types, shapes and fills of
    /// the tensors do not determine these facts, the line shows `open`. No value is read.
    ///
    /// # Errors
    ///
    /// `Wrong`: an operation does not support the element types, or a name is not bound.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::eval::Expression;
    ///
    /// let x = AnyTensor::from(CooTensor::<f64>::full([2, 3], 0.0)?.with_index::<u64>()?);
    /// let explained = Expression::parse("grad(sum(x * x, axis=1), x, 1)")?.explain(|_| Some(x.clone()))?;
    /// assert_eq!(explained.lines().nth(1), Some("%1 = mul(%0, %0): float64 coo [2, 3], pattern of %0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<String, Fault> {
        let bound = |name: &str| bound(name).map(Into::into);
        let explained = self.lowered(&|name| bound(name).is_some()).and_then(|graph| explain::explain(&graph, &bound));
        explained.map_err(|fault| self.placed(fault))
    }

    /// Returns an error if element types or shapes do not match.
    ///
    /// You can pass tensors without entries, because values are not read. [`evaluate`](Expression::evaluate) returns
    /// the errors that depend on values.
    ///
    /// # Errors
    ///
    /// - `Wrong`: an operation does not support the element types, or a name is not bound.
    /// - `Run`: an operation rejects the shapes.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::eval::Expression;
    ///
    /// let header = AnyTensor::from(CooTensor::<f64>::full([2, 3], 0.0)?.with_index::<u64>()?);
    /// let refused = Expression::parse("sum(x, axis=2)")?.check(|_| Some(header.clone())).unwrap_err();
    /// assert_eq!(refused.to_string(), "axis 2 is out of range for rank 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<(), Fault> {
        let bound = |name: &str| bound(name).map(Into::into);
        let checked = self.lowered(&|name| bound(name).is_some()).and_then(|graph| headers::check(&graph, &bound));
        checked.map_err(|fault| self.placed(fault))
    }

    /// Returns the graph of the value, for an engine.
    ///
    /// An engine such as [`Chunks`](crate::lazy::Chunks) computes the graph in chunks. Use [`Bound::later`] to bind a
    /// file that is read in chunks.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Expression::check).
    ///
    /// ```
    /// use lacuna::eval::Expression;
    /// use lacuna::{CooTensor, dynamic::AnyTensor, lazy::Chunks};
    ///
    /// let x = CooTensor::new([2, 3], vec![vec![0, 1], vec![2, 0]], vec![3.0, -1.5], 0.0)?.with_index::<u64>()?;
    /// let sums = Expression::parse("sum(abs(x) * 2, axis=1)")?.graph(|_| Some(AnyTensor::from(x.clone()).into()))?;
    /// let found = sums.on(Chunks::memory(64 << 20).positions(1)).collect()?;
    /// assert_eq!(found.into_tensor()?.into_coo::<f64, u32>()?.values(), [6.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn graph(&self, bound: impl Fn(&str) -> Option<Bound>) -> Result<crate::lazy::Lazy<AnyValue>, Fault> {
        let graph = || graph::graphs(&*self.lowered(&|name| bound(name).is_some())?, &bound);
        let mut graphs = crate::lazy::placed(graph).map_err(|fault| self.placed(fault))?;
        Ok(graphs.swap_remove(0))
    }

    /// Returns the expression of a list of nodes.
    fn of(text: &str, nodes: Vec<ExpressionNode>, has_list: bool) -> Result<Self, Fault> {
        // A constant may be invalid in a place in which an input with the same name is valid.
        let lowered = Lowered::new(&nodes, has_list, &|_| false)
            .or_else(|fault| Lowered::new(&nodes, has_list, &|_| true).map_err(|_| fault));
        let (text, targets) = (text.to_string(), Vec::new());
        let expression = Expression { text, nodes, targets, has_list, lowered: Lowered::default() };
        let lowered = lowered.map_err(|fault| expression.placed(fault))?;
        Ok(Expression { lowered, ..expression })
    }

    /// Returns an error if a statement sets a name that is bound, because it would hide the operand.
    fn check_targets(&self, is_bound: &dyn Fn(&str) -> bool) -> Result<(), Fault> {
        match self.targets.iter().find(|(name, _)| is_bound(name)) {
            Some((name, at)) => fault::wrong(at, parse::of_operand(name)),
            None => Ok(()),
        }
    }

    /// Returns the graph. A constant is an input if its name is bound.
    fn lowered(&self, is_bound: &dyn Fn(&str) -> bool) -> Result<Cow<'_, Lowered>, Fault> {
        self.check_targets(is_bound)?;
        match self.lowered.constants.iter().any(|name| is_bound(name)) {
            true => Lowered::new(&self.nodes, self.has_list, is_bound).map(Cow::Owned),
            false => Ok(Cow::Borrowed(&self.lowered)),
        }
    }

    /// Computes all results.
    fn results(&self, bound: &dyn Fn(&str) -> Option<AnyValue>) -> Result<Vec<AnyValue>, Fault> {
        evaluate::evaluate(&*self.lowered(&|name| bound(name).is_some())?, bound)
    }

    fn placed(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Wrong(wrong) => Fault::Wrong(wrong.of(&self.text)),
            fault => fault,
        }
    }

    /// Computes the value, from the tensors and arrays to which the names are bound.
    ///
    /// If the value is a number, the result is a tensor of rank 0.
    ///
    /// # Errors
    ///
    /// - `Wrong`: a name is not bound, or an operation does not support the element types.
    /// - `Run`: an operation returned an error.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::eval::Expression;
    ///
    /// let x = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 0.0)?.with_index::<u64>()?;
    /// let squares = Expression::parse("x ** 2 + 1")?.evaluate(|_| Some(AnyTensor::from(x.clone())))?;
    /// let squares = squares.into_tensor()?.into_coo::<f64, u64>()?;
    /// assert_eq!(squares.to_dense()?, x.to_dense()?.mapv(|x| x * x + 1.0));
    /// assert_eq!(Expression::parse("1 + 2")?.evaluate(|_| None::<AnyTensor>)?.shape().rank(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evaluate<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<AnyValue, Fault> {
        let found = self.results(&|name| bound(name).map(Into::into)).map_err(|fault| self.placed(fault))?;
        found.into_iter().next().ok_or(Fault::Run(Error::NoTensor))
    }
}

/// Returns a number as text, for errors.
fn number_text(number: Number) -> String {
    number.to_string()
}

/// The limit of the kept expressions: the sum of their nodes and of the bytes of their texts.
const KEPT: usize = 100_000;

/// A cache of parsed expressions.
///
/// While the cache keeps a text, this text is parsed only once.
///
/// # Examples
///
/// ```
/// use lacuna::eval::Programs;
///
/// let mut programs = Programs::default();
/// for text in ["grad(sum(x * x), x, 1)", "sum(x)", "grad(sum(x * x), x, 1)"] {
///     assert_eq!(programs.get(text)?.names(), ["x"]);
/// }
/// assert_eq!(programs.parsed(), 2);
/// # Ok::<(), lacuna::eval::Fault>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Programs {
    kept: HashMap<String, Expression>,
    steps: usize,
    parsed: usize,
}

impl Programs {
    /// Returns the expression of a text, and parses the text on first use.
    ///
    /// If the cache is full, all kept expressions are dropped. A dropped expression is parsed again on its next use.
    ///
    /// # Errors
    ///
    /// The errors of [`Expression::parse`].
    pub fn get(&mut self, text: &str) -> Result<&Expression, Fault> {
        if !self.kept.contains_key(text) {
            let expression = Expression::parse(text)?;
            self.parsed += 1;
            let steps = expression.nodes.len() + expression.lowered.graph.steps.len() + text.len();
            if self.steps + steps > KEPT {
                self.kept.clear();
                self.steps = 0;
            }
            self.steps += steps;
            self.kept.insert(text.to_string(), expression);
        }
        Ok(&self.kept[text])
    }

    /// Returns the number of texts that were parsed so far.
    #[must_use]
    pub fn parsed(&self) -> usize {
        self.parsed
    }
}
