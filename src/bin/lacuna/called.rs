//! The commands that call a function of expressions.

use std::path::Path;

use lacuna::Error;
use lacuna::dynamic::AnyValue;
use lacuna::eval::{Expression, Fault};
use lacuna::io::AnyTensor;

#[cfg(feature = "parquet")]
use crate::args::InputArgs;
use crate::args::{Called, EngineArgs, Operands, Output};
#[cfg(feature = "parquet")]
use crate::chunks::{Bindings, ChunkEngine};
use crate::failure::Failure;
use crate::input::{File, read, read_operand};

type Outcome = Result<(), Failure>;

impl Called {
    /// Calls the function on the files, and emits its result.
    pub(crate) fn run(&self) -> Outcome {
        let text = self.text()?;
        let mut files: Vec<File<'_>> = self.files.iter().map(|path| self.reading.file(path)).collect();
        files.extend(self.other_files().map(|path| self.reading.other_file(path)));
        let work = CallWork {
            files,
            tensors: Vec::new(),
            are_several: self.operands != Operands::One,
            running: self.running.as_ref(),
            max_memory: self.reading.max_memory,
            output: &self.output,
        };
        let Some(upstream) = &self.upstream else { return work.emit(&text) };
        let files: Vec<&Path> = self.files.iter().map(|path| &**path).collect();
        work.emit_or(&text, |fault| match fault {
            Fault::Run(error) => of_gradient(error, &files, upstream),
            wrong @ Fault::Wrong(_) => of_files(wrong, &files),
        })
    }

    /// Returns the call as text. The files are the names `x0`, `x1` and so on.
    fn text(&self) -> Result<String, Failure> {
        let (function, count) = (self.function, self.files.len());
        if let Some(product) = self.product.as_ref().filter(|it| it.semiring.is_some() || it.mask.is_some()) {
            if self.number.is_some() {
                return Err(Failure::Usage("with --semiring or --mask, the right operand must be a file".into()));
            }
            let semiring = product.semiring.as_deref().unwrap_or("plus_times");
            let masked = format!(", mask=x{count}, complement={}", product.complement);
            let masked = if product.mask.is_some() { masked } else { String::new() };
            return Ok(format!("{function}_with(x0, x1, \"{semiring}\"{masked})"));
        }
        let operand = |at| if self.stored_only { format!("stored(x{at})") } else { format!("x{at}") };
        let operands = match self.operands {
            Operands::One => format!("x={}", operand(0)),
            Operands::Two => format!("x={}, y={}", operand(0), self.number.as_deref().unwrap_or("x1")),
            Operands::List => format!("tensors=[{}]", (0..count).map(operand).collect::<Vec<_>>().join(", ")),
        };
        let upstream = self.upstream.as_ref().map_or_else(String::new, |_| format!(", upstream=x{count}"));
        Ok(format!("{function}({operands}{upstream}{})", self.options))
    }
}

/// Attributes an error to the upstream gradient if its shape, its type or the sums of its values are at fault. Other
/// errors are attributed to the files.
pub(crate) fn of_gradient(error: Error, files: &[&Path], upstream: &Path) -> Failure {
    match error {
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } | Error::SumOverflow { .. } => {
            Failure::of_file(upstream, error)
        }
        error => Failure::of_files(files, error),
    }
}

/// Attributes an error to the named files.
fn of_files(fault: Fault, files: &[&Path]) -> Failure {
    match fault {
        Fault::Wrong(wrong) => Failure::of_files(files, wrong.message()),
        Fault::Run(error) => Failure::of_files(files, error),
    }
}

/// Evaluates an expression over the operands `x0`, `x1` and so on.
fn value(text: &str, operands: &[AnyValue]) -> Result<AnyValue, Fault> {
    let bound = |name: &str| name.strip_prefix('x').and_then(|at| operands.get(at.parse::<usize>().ok()?)).cloned();
    Expression::parse(text)?.evaluate(bound)
}

/// The operands of a function call, and the options for the run and for the result.
pub(crate) struct CallWork<'a> {
    files: Vec<File<'a>>,
    /// The operands after the files.
    tensors: Vec<AnyTensor>,
    /// True if the function has several operands, so that arrays in files stay arrays.
    are_several: bool,
    running: Option<&'a EngineArgs>,
    max_memory: Option<u64>,
    output: &'a Output,
}

impl<'a> CallWork<'a> {
    /// Returns the work on the file of a command, with a tensor as the second operand.
    #[cfg(feature = "parquet")]
    pub(crate) fn on_tensor(
        input: &'a InputArgs,
        tensor: AnyTensor,
        running: &'a EngineArgs,
        output: &'a Output,
    ) -> Self {
        let max_memory = input.reading.max_memory;
        let running = Some(running);
        CallWork { files: vec![input.named()], tensors: vec![tensor], are_several: false, running, max_memory, output }
    }

    /// Runs a function call on the operands `x0`, `x1` and so on, and emits its result. Errors name the files.
    pub(crate) fn emit(self, text: &str) -> Outcome {
        let paths: Vec<&Path> = self.files.iter().map(|file| file.path).collect();
        self.emit_or(text, |fault| of_files(fault, &paths))
    }

    /// Runs a function call like [`CallWork::emit`]. `failed` attributes its errors.
    fn emit_or(self, text: &str, failed: impl Fn(Fault) -> Failure) -> Outcome {
        match self.running {
            #[cfg(feature = "parquet")]
            Some(running) if running.is_in_chunks() => self.in_chunks(text, running, failed),
            _ => {
                let operands = self.operands()?;
                self.output.emit(value(text, &operands).map_err(failed)?, self.max_memory)
            }
        }
    }

    fn operands(&self) -> Result<Vec<AnyValue>, Failure> {
        let operand = |file: &File<'_>| match self.are_several {
            true => read_operand(file.path, file.from, &file.options),
            false => read(file.path, file.from, &file.options).map(AnyValue::from),
        };
        let tensors = self.tensors.iter().cloned().map(|tensor| Ok(tensor.into()));
        self.files.iter().map(operand).chain(tensors).collect()
    }

    #[cfg(feature = "parquet")]
    fn in_chunks(&self, text: &str, running: &EngineArgs, failed: impl Fn(Fault) -> Failure) -> Outcome {
        let mut bound = Bindings::default();
        for (at, file) in self.files.iter().enumerate() {
            bound.file(format!("x{at}"), file, !self.are_several)?;
        }
        for (tensor, at) in self.tensors.iter().zip(self.files.len()..) {
            bound.tensor(format!("x{at}"), tensor.clone());
        }
        let expression = Expression::parse(text).map_err(&failed)?;
        ChunkEngine::new(running, self.max_memory).emit(&expression, &bound, self.output, failed)
    }
}
