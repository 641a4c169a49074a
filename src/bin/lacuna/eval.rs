//! The command `eval`: an expression over files.

use std::collections::HashMap;
use std::path::PathBuf;

use lacuna::eval::{Expression, Fault};
use lacuna::io::{AnyTensor, read_header};

use crate::args::{Binding, EvalArgs};
#[cfg(feature = "parquet")]
use crate::chunks::{Bindings, ChunkEngine};
use crate::failure::Failure;
use crate::input::{File, read_operand};
use crate::lines;
use crate::names::can_be_read_again;
use crate::output::print;

/// Runs the expression, or the expressions of standard input.
pub(crate) fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let Some(text) = &args.expression else { return lines_of(args) };
    let expression = Expression::parse(text).map_err(failure_of)?;
    let files = files(&args.bindings)?;
    expression.check_names(|name| files.contains_key(name)).map_err(failure_of)?;
    check_headers(&expression, &files, args)?;
    let named = expression.names().into_iter().filter_map(|name| Some((name, files.get(name)?.as_path())));
    let named: Vec<(&str, File<'_>)> = named.map(|(name, path)| (name, args.reading.file(path))).collect();
    #[cfg(feature = "parquet")]
    if args.running.is_in_chunks() {
        return in_chunks(&expression, &named, args);
    }
    let mut operands = HashMap::new();
    for (name, file) in named {
        operands.insert(name, read_operand(file.path, file.from, &file.options)?);
    }
    if args.explain {
        return print(expression.explain(|name| operands.get(name).cloned()).map_err(failure_of)?.as_bytes());
    }
    let result = expression.evaluate(|name| operands.get(name).cloned()).map_err(failure_of)?;
    args.output.emit(result, args.reading.max_memory)
}

fn lines_of(args: &EvalArgs) -> Result<(), Failure> {
    match args.running.is_in_chunks() {
        true => Err(Failure::Usage("--engine chunks requires files, and cannot be used with --jsonl".into())),
        false => lines::answer(),
    }
}

/// Runs the expression in chunks of files that may be larger than memory.
#[cfg(feature = "parquet")]
fn in_chunks(expression: &Expression, named: &[(&str, File<'_>)], args: &EvalArgs) -> Result<(), Failure> {
    let mut bound = Bindings::default();
    for (name, file) in named {
        bound.file(name.to_string(), file, false)?;
    }
    let engine = ChunkEngine::new(&args.running, args.reading.max_memory);
    if args.explain {
        let explained = engine.on(expression, &bound).map_err(failure_of)?.explain();
        return print(explained.map_err(|error| failure_of(error.into()))?.as_bytes());
    }
    engine.emit(expression, &bound, &args.output, failure_of)
}

/// Rejects incompatible types and shapes before any entry is read. Skips the check if a file does not have a header, or
/// cannot be read again, like a pipe.
fn check_headers(expression: &Expression, files: &HashMap<&str, &PathBuf>, args: &EvalArgs) -> Result<(), Failure> {
    if args.reading.from.is_some() || !files.values().all(|file| can_be_read_again(file)) {
        return Ok(());
    }
    let options = args.reading.options();
    let header = |name: &&str| Some((name.to_string(), read_header(files.get(name)?, &options)));
    let headers: lacuna::Result<HashMap<String, AnyTensor>> =
        expression.names().iter().filter_map(header).map(|(name, header)| Ok((name, header?))).collect();
    // Errors of a file are reported when the file is read.
    let Ok(headers) = headers else { return Ok(()) };
    expression.check(|name| headers.get(name).cloned()).map_err(failure_of)
}

/// Returns the file of each name.
fn files(bindings: &[Binding]) -> Result<HashMap<&str, &PathBuf>, Failure> {
    let mut files = HashMap::new();
    for Binding { name, file } in bindings {
        if files.insert(name.as_str(), file).is_some() {
            return Err(Failure::Usage(format!("the name {name} is bound twice")));
        }
    }
    Ok(files)
}

/// Reports an invalid expression as wrong usage, and an error of the run as a plain failure.
fn failure_of(fault: Fault) -> Failure {
    match fault {
        Fault::Wrong(wrong) => Failure::Usage(wrong.to_string()),
        run @ Fault::Run(_) => Failure::Message(run.to_string()),
    }
}

/// Prints the names of all functions.
pub(crate) fn list_functions() -> Result<(), Failure> {
    let mut names: Vec<&str> = lacuna::eval::functions().collect();
    names.sort_unstable();
    print(format!("{}\n", names.join("\n")).as_bytes())
}
