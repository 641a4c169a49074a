//! Programs as text, with one line per step.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use super::call::check_calls;
use super::input::{Input, input_of};
use super::{Expression, ExpressionNode, Fault, Id, NodeKind, Wrong, literal, parse, tree, write};
use crate::base::error::Error;
use crate::dynamic::{AnyOperand, AnyValue};
use crate::lazy::{HEAD, TEXT};

/// The largest nesting depth of lists.
const LISTS: usize = 50;

/// A program that is read from text.
///
/// The text is written by [`lazy::Program::to_text`](crate::lazy::Program::to_text) or by hand.
///
/// The first line is `lacuna program 1`. Each following line is a name, `=`, and an expression of the names of earlier
/// lines. The last line is `result = ` and a list of names. A line that begins with `#` is a comment.
///
/// The expression of an input is a call such as `input("x", "float64", "csr", [2, "?"])`. The arguments are the name by
/// which the input is bound, the element type, the format and the lengths. The format is `"coo"`, `"csr"` or `"array"`,
/// and the length `"?"` allows any length.
///
/// `Display` writes the program as text. If [`to_text`](crate::lazy::Program::to_text) wrote the original text, both
/// texts are identical.
///
/// # Examples
///
/// ```
/// use lacuna::CooTensor;
/// use lacuna::dynamic::AnyTensor;
/// use lacuna::eval::Program;
/// use lacuna::lazy::{Lazy, compile};
///
/// let x = Lazy::<CooTensor<f64>>::input("x", [2, 2]);
/// let z = (&x * &x).sum(1);
/// let program = compile((&z, &z.gradient(&x, &z)))?;
/// let read = Program::parse(&program.to_text()?)?;
/// assert_eq!(read.to_string(), program.to_text()?);
///
/// let day = CooTensor::new([2, 2], vec![vec![0, 1], vec![1, 0]], vec![2.0, 3.0], 0.0)?;
/// let (sums, gradient) = program.run([x.is(&day)])?;
/// let found = read.run(|_| day.with_index::<u64>().ok().map(AnyTensor::from))?;
/// assert_eq!(found[0].clone().into_tensor()?.into_coo::<f64, u32>()?, sums);
/// assert_eq!(found[1].clone().into_tensor()?.into_coo::<f64, u32>()?, gradient);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Program {
    inputs: Vec<Input>,
    /// The steps, then the list of results.
    expression: Expression,
}

impl Program {
    /// Parses a program.
    ///
    /// # Errors
    ///
    /// `Wrong`, with line and column:
    ///
    /// - The text is not a program, or is longer than 1 MiB.
    /// - A line is not an expression, or is nested too deeply.
    /// - A line uses a name that no earlier line has, or sets the name of an earlier line.
    ///
    /// ```
    /// use lacuna::eval::{Fault, Program};
    ///
    /// let text = "lacuna program 1\nx = input(\"x\", \"float64\", \"coo\", [2])\nresult = [y]\n";
    /// let refused = Program::parse(text).unwrap_err().to_string();
    /// assert_eq!(refused, "line 3, column 11: no earlier line has the name y\n  result = [y]\n            ^");
    /// ```
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > TEXT {
            let why = format!("the program has {} bytes; the limit is {TEXT} bytes", text.len());
            return Err(Fault::Wrong(Wrong::new(0..0, why)));
        }
        let wrong = |wrong: Wrong| Fault::Wrong(wrong.of(text));
        let mut lines = ProgramReader::default();
        lines.read(text).map_err(wrong)?;
        Ok(Program { inputs: lines.inputs, expression: Expression::of(text, lines.nodes, true)? })
    }

    /// Returns the inputs, in the order of their lines.
    ///
    /// ```
    /// use lacuna::DType;
    /// use lacuna::eval::Program;
    ///
    /// let text = "lacuna program 1\nx = input(\"x\", \"float64\", \"csr\", [2, \"?\"])\n\
    ///     y = sum(x, axis=1)\nresult = [y]\n";
    /// let program = Program::parse(text)?;
    /// let input = &program.inputs()[0];
    /// assert_eq!((input.name.as_str(), input.dtype, &input.lengths[..]), ("x", DType::Float64, &[Some(2), None][..]));
    /// # Ok::<(), lacuna::eval::Fault>(())
    /// ```
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Computes the results, from the tensors and arrays to which the inputs are bound.
    ///
    /// If a bound value does not have the format of its input, the value is converted.
    ///
    /// # Errors
    ///
    /// - `Run`: an input is not bound, or the bound value does not have the element type or the shape of the input.
    /// - `Run`: an operation returned an error.
    /// - `Wrong`: an operation does not support the element types.
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::dynamic::AnyTensor;
    /// use lacuna::eval::Program;
    ///
    /// let text = "lacuna program 1\nx = input(\"x\", \"float64\", \"coo\", [2])\n\
    ///     y = x * x\ndx = grad(y, x, 1)\nresult = [y, dx]\n";
    /// let program = Program::parse(text)?;
    /// let day = CooTensor::new([2], vec![vec![1]], vec![3.0], 0.0)?.with_index::<u64>()?;
    /// let found = program.run(|name| (name == "x").then(|| AnyTensor::from(day.clone())))?;
    /// assert_eq!(found[1].clone().into_tensor()?.into_coo::<f64, u64>()?.values(), [6.0]);
    /// assert_eq!(program.run(|_| None::<AnyTensor>).unwrap_err().to_string(), "run: input \"x\" is not bound");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<Vec<AnyValue>, Fault> {
        let bound = self.bound(bound)?;
        let found = self.expression.results(&|name| bound.get(name).cloned());
        found.map_err(|fault| self.expression.placed(fault))
    }

    /// Returns an error if element types or shapes do not match.
    ///
    /// See [`Expression::check`].
    ///
    /// # Errors
    ///
    /// The errors of [`run`](Program::run) that do not depend on entries.
    pub fn check<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<(), Fault> {
        let bound = self.bound(bound)?;
        self.expression.check(|name| bound.get(name).cloned())
    }

    /// Returns the steps as text, one per line: see [`Expression::explain`].
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Program::check).
    pub fn explain<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<String, Fault> {
        let bound = self.bound(bound)?;
        self.expression.explain(|name| bound.get(name).cloned())
    }

    /// Returns the values of all inputs, in the declared formats.
    fn bound<V: Into<AnyValue>>(&self, bound: impl Fn(&str) -> Option<V>) -> Result<HashMap<&str, AnyValue>, Fault> {
        let rejection = |why: String| Fault::Run(Error::Argument { operation: "run", why });
        let mut found = HashMap::new();
        for input in &self.inputs {
            let x = bound(&input.name).ok_or_else(|| rejection(format!("input {:?} is not bound", input.name)))?.into();
            if !input.fits(&x) {
                let (name, description, dtype, shape) = (&input.name, input.description(), x.dtype(), x.shape());
                return Err(rejection(format!("input {name:?} must be {description}, found {dtype} {shape}")));
            }
            let x = match input.is_array {
                true => AnyOperand::from(&x).to_array()?.into(),
                false => x.into_tensor()?.into_format(input.format)?.into(),
            };
            found.insert(input.name.as_str(), x);
        }
        Ok(found)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write::lines(&self.expression.nodes, &self.inputs, f)
    }
}

/// The lines that were read so far.
#[derive(Default)]
struct ProgramReader {
    inputs: Vec<Input>,
    nodes: Vec<ExpressionNode>,
    /// The nesting depth of lists in each node.
    depths: Vec<usize>,
    names: HashMap<String, Id>,
    /// The names by which inputs are bound.
    bound: HashSet<String>,
    is_done: bool,
}

impl ProgramReader {
    fn read(&mut self, text: &str) -> Result<(), Wrong> {
        let mut start = 0;
        for (number, line) in text.split('\n').enumerate() {
            let at = start..start + line.len();
            start = at.end + 1;
            match line.trim() {
                HEAD if number == 0 => {}
                _ if number == 0 => {
                    return Err(Wrong::new(at, format!("the first line of a program must be `{HEAD}`")));
                }
                line if line.is_empty() || line.starts_with('#') => {}
                _ if self.is_done => return Err(Wrong::new(at, "unexpected line after the result")),
                _ => self.line(text, at)?,
            }
        }
        match self.is_done {
            true => Ok(()),
            false => Err(Wrong::new(text.len()..text.len(), "the line `result = [...]` is missing")),
        }
    }

    /// Reads a line `name = expression`.
    fn line(&mut self, text: &str, line: Range<usize>) -> Result<(), Wrong> {
        let Some(sign) = text[line.clone()].find('=').map(|sign| line.start + sign) else {
            return Err(Wrong::new(line, "expected a line `name = expression`"));
        };
        let (name, at) = trimmed(text, line.start..sign);
        let is_name = name.starts_with(parse::begins_name) && name.chars().all(parse::continues_name);
        if !is_name || literal::constant(name).is_some() {
            return Err(Wrong::new(at, "a line must start with a name"));
        }
        if self.names.contains_key(name) {
            return Err(Wrong::new(at, format!("the name {name} is already used by an earlier line")));
        }
        let (found, root) = parse::within(text, sign + 1..line.end)?;
        if name == "result" {
            return self.result(found, root);
        }
        let id = match &found[root].kind {
            NodeKind::Call(callee, arguments) if callee.name == "input" => {
                let input = input_of(&found, arguments, &found[root].at)?;
                self.input(input, found[root].at.clone())?
            }
            NodeKind::List(_) | NodeKind::Text(_) => {
                return Err(Wrong::new(found[root].at.clone(), "expected an operation, found a list or a string"));
            }
            _ => self.append(found)?[root],
        };
        self.names.insert(name.to_string(), id);
        Ok(())
    }

    fn result(&mut self, found: Vec<ExpressionNode>, root: Id) -> Result<(), Wrong> {
        let is_list = matches!(&found[root].kind, NodeKind::List(items) if !items.is_empty());
        if !is_list {
            return Err(Wrong::new(found[root].at.clone(), "the result must be a list of names, such as [y, z]"));
        }
        self.is_done = true;
        self.append(found).map(drop)
    }

    fn input(&mut self, input: Input, at: Range<usize>) -> Result<Id, Wrong> {
        if !self.bound.insert(input.name.clone()) {
            return Err(Wrong::new(at, format!("an earlier input has the name {:?} already", input.name)));
        }
        let kind = NodeKind::Name(input.name.clone());
        self.inputs.push(input);
        self.push(ExpressionNode { kind, at })
    }

    fn push(&mut self, node: ExpressionNode) -> Result<Id, Wrong> {
        let below = tree::inputs(&node.kind).into_iter().map(|input| self.depths[input]).max().unwrap_or(0);
        let depth = match node.kind {
            NodeKind::List(_) => below + 1,
            _ => 0,
        };
        if depth > LISTS {
            return Err(Wrong::new(node.at, format!("more than {LISTS} nested lists")));
        }
        self.nodes.push(node);
        self.depths.push(depth);
        Ok(self.nodes.len() - 1)
    }

    /// Appends the nodes of a line, and returns the new index of each node. A name is replaced by the step of the line
    /// with this name.
    fn append(&mut self, found: Vec<ExpressionNode>) -> Result<Vec<Id>, Wrong> {
        let (mut ids, before): (Vec<Id>, _) = (Vec::with_capacity(found.len()), self.nodes.len());
        for ExpressionNode { kind, at } in found {
            let id = match &kind {
                NodeKind::Name(name) => match (self.names.get(name), literal::constant(name)) {
                    (Some(&id), _) => id,
                    (None, Some(number)) => self.push(ExpressionNode { kind: NodeKind::Number(number), at })?,
                    (None, None) => return Err(Wrong::new(at, format!("no earlier line has the name {name}"))),
                },
                kind => self.push(ExpressionNode { kind: tree::with_inputs(kind, &mut |id| ids[id]), at })?,
            };
            ids.push(id);
        }
        check_calls(&self.nodes, before)?;
        Ok(ids)
    }
}

/// Returns a part of a text without the whitespace around it, and its byte range.
fn trimmed(text: &str, at: Range<usize>) -> (&str, Range<usize>) {
    let part = &text[at.clone()];
    let start = at.start + part.len() - part.trim_start().len();
    let part = part.trim();
    (part, start..start + part.len())
}
