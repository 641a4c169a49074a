//! The verb `eval`: an expression over files.

use std::collections::HashMap;
use std::path::PathBuf;

use lacuna::eval::{Expression, Fault};
use lacuna::io::AnyTensor;

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::input::read;
use crate::lines;
use crate::output::print;

/// A name of the expression, and the file that it stands for.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

/// Runs the expression, or those of standard input.
pub(crate) fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let Some(text) = &args.expression else { return lines::answer() };
    if args.engine.is_some() {
        return Err(Failure::Usage("--engine is not there yet: an expression is run as it stands".into()));
    }
    let expression = Expression::parse(text).map_err(told)?;
    let files = files(&args.bindings)?;
    expression.check_names(|name| files.contains_key(name)).map_err(told)?;
    let mut tensors = HashMap::new();
    for name in expression.names() {
        if let Some(file) = files.get(name) {
            tensors.insert(name.to_string(), read(file, args.reading.from, &args.reading.options())?);
        }
    }
    if args.explain {
        return print(expression.explain(|name| tensors.get(name).cloned()).map_err(told)?.as_bytes());
    }
    let result: AnyTensor = expression.evaluate(|name| tensors.get(name).cloned()).map_err(told)?;
    args.output.emit(&result, args.reading.max_memory)
}

/// The file of each name.
fn files(bindings: &[Binding]) -> Result<HashMap<&str, &PathBuf>, Failure> {
    let mut files = HashMap::new();
    for Binding { name, file } in bindings {
        if files.insert(name.as_str(), file).is_some() {
            return Err(Failure::Usage(format!("the name {name} is bound twice")));
        }
    }
    Ok(files)
}

/// What is wrong with an expression is wrong usage; what happens later is not.
fn told(fault: Fault) -> Failure {
    match fault {
        Fault::Wrong(wrong) => Failure::Usage(wrong.to_string()),
        Fault::Run(error) => Failure::Told(error.to_string()),
    }
}

/// Prints the names of all functions.
pub(crate) fn list_functions() -> Result<(), Failure> {
    let mut names: Vec<&str> = lacuna::eval::functions().collect();
    names.sort_unstable();
    print(format!("{}\n", names.join("\n")).as_bytes())
}
