//! The textual form of programs.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::call::Arg;
use super::node::{Body, Node};
use super::plan::{Plan, Step};
use super::program::Program;
use super::text::TEXT;
use crate::base::error::{Error, Result};

/// The first line of a program, with the version of the textual form.
pub(crate) const HEAD: &str = "lacuna program 1";

impl<V> Program<V> {
    /// Returns the program as text.
    ///
    /// `eval::Program::parse` (feature `eval`) reads the text. The parsed program runs on dynamically typed tensors,
    /// and its results are bitwise identical.
    ///
    /// A line is a step: a name, and a call in the syntax of expressions. The line of an input has the element type,
    /// the format and the lengths of the axes. The length `"?"` allows any length. Existing tensors and arrays are
    /// written with all entries. The types of coordinates are not written.
    ///
    /// # Errors
    ///
    /// - `Lazy`: a step does not have a textual form. Closures, semirings of functions, orders of
    ///   [`Einsum`](crate::Einsum) and lists of more than 1000 items do not have a textual form. A NaN that is not the
    ///   canonical NaN does not have a textual form. A complex number with a part that is `-0.0` or not finite does not
    ///   have a textual form either.
    /// - `Lazy`: two inputs have the same name, or an input name has quotes or control characters.
    /// - `Argument`: the text is longer than 1 MiB, which is the limit for reading.
    ///
    /// The error `Lazy` names the source line of the step.
    ///
    /// # Examples
    ///
    /// ```
    /// use lacuna::CooTensor;
    /// use lacuna::lazy::{Lazy, compile};
    ///
    /// let x = Lazy::<CooTensor<f64>>::input("x", [None, Some(30)]);
    /// let program = compile(&(x.abs() + 1.0).sqrt().sum(1))?;
    /// assert_eq!(program.to_text()?, "\
    /// lacuna program 1
    /// t0 = input(\"x\", \"float64\", \"coo\", [\"?\", 30])
    /// t1 = abs(t0)
    /// t2 = add(t1, 1.0)
    /// t3 = sqrt(t2)
    /// t4 = sum(t3, axis=1)
    /// result = [t4]
    /// ");
    /// # Ok::<(), lacuna::Error>(())
    /// ```
    pub fn to_text(&self) -> Result<String> {
        // The plan of the original steps, without rewriting.
        let text = ProgramWriter::of(&Plan::new(&self.written)?)?;
        match text.len() <= TEXT {
            true => Ok(text),
            false => {
                let why = format!("the program has {} bytes; the limit is {TEXT} bytes", text.len());
                Err(Error::Argument { operation: "to_text", why })
            }
        }
    }
}

/// The lines of a program.
struct ProgramWriter<'a> {
    plan: &'a Plan,
    /// The number of the line of each step, if the step has a line.
    lines: Vec<Option<usize>>,
    inputs: BTreeSet<&'a str>,
}

impl<'a> ProgramWriter<'a> {
    fn of(plan: &'a Plan) -> Result<String> {
        let mut lines = ProgramWriter { plan, lines: Vec::with_capacity(plan.steps.len()), inputs: BTreeSet::new() };
        let (mut text, mut count) = (format!("{HEAD}\n"), 0);
        for step in &plan.steps {
            let Some(call) = lines.call(step)? else {
                lines.lines.push(None);
                continue;
            };
            let _ = writeln!(text, "t{count} = {call}");
            lines.lines.push(Some(count));
            count += 1;
        }
        let results: Result<Vec<String>> = plan.outputs.iter().map(|&at| lines.name(at)).collect();
        let _ = writeln!(text, "result = [{}]", results?.join(", "));
        Ok(text)
    }

    /// Returns the name of a step.
    fn name(&self, at: usize) -> Result<String> {
        match self.lines[at] {
            Some(line) => Ok(format!("t{line}")),
            None => Err(rejection(
                &self.plan.steps[at].node,
                "several results at once do not have a textual form; write each result",
            )),
        }
    }

    /// Returns the call in the line of a step. Returns `None` for several results at once, because each result has its
    /// own line.
    fn call(&mut self, step: &'a Step) -> Result<Option<String>> {
        let node = &*step.node;
        if node.kind.dtype().is_none() {
            return Ok(None);
        }
        match &node.body {
            _ if node.found.get().is_some() => self.tensor(node),
            Body::Constant(_) => self.tensor(node),
            Body::Input { name, lengths } => self.input(node, name, lengths),
            _ => self.step(step),
        }
        .map(Some)
    }

    fn tensor(&self, node: &Node) -> Result<String> {
        let value = match (&node.body, node.found.get()) {
            (Body::Constant(value), _) | (_, Some(value)) => node.kind.to_text(value),
            _ => None,
        };
        value.ok_or_else(|| {
            rejection(node, "this tensor is too large or has a value without a textual form; make it an input")
        })
    }

    fn input(&mut self, node: &Node, name: &'a str, lengths: &[Option<usize>]) -> Result<String> {
        let lengths = lengths.iter().map(|length| length.map_or("\"?\"".into(), |length| length.to_string()));
        let lengths = lengths.collect::<Vec<String>>().join(", ");
        let dtype = node.kind.dtype().map_or("", |dtype| dtype.name());
        if name.contains(char::is_control) || name.contains('"') {
            return Err(rejection(node, "the name of an input must not have quotes or control characters"));
        }
        if !self.inputs.insert(name) {
            return Err(rejection(node, &format!("two inputs have the name {name:?}")));
        }
        Ok(format!("input(\"{name}\", \"{dtype}\", \"{}\", [{lengths}])", node.kind.format()))
    }

    fn step(&self, step: &Step) -> Result<String> {
        let (mut of, mut number) = (step, None);
        while let Body::Part(part) = of.node.body {
            (of, number) = (&self.plan.steps[of.inputs[0]], Some(number.unwrap_or(0) + part));
        }
        let no_text = || rejection(&of.node, "this step or one of its arguments does not have a textual form");
        let call = of.node.call().ok_or_else(no_text)?;
        if call.args().iter().any(|arg| matches!(arg, Arg::Own(_))) {
            return Err(rejection(&of.node, "a closure does not have a textual form"));
        }
        let names = of.inputs.iter().map(|&input| self.name(input)).collect::<Result<Vec<String>>>()?;
        call.to_text(number, &|input| names.get(input).cloned().unwrap_or_default()).ok_or_else(no_text)
    }
}

fn rejection(node: &Node, why: &str) -> Error {
    node.error(Error::Argument { operation: "to_text", why: why.into() })
}
