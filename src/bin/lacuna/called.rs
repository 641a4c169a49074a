//! The commands that are functions of expressions: each writes its arguments as an expression.

use std::path::{Path, PathBuf};

use lacuna::Error;
use lacuna::dynamic::AnyValue;
use lacuna::eval::{Expression, Fault};
use lacuna::io::AnyTensor;

use crate::args::{
    Backward, BackwardEinsumArgs, BackwardFiles, BackwardJoinArgs, BackwardZipArgs, Called, EinsumArgs,
    ElementwiseArgs, Fold, Input, JoinArgs, MatmulArgs, Nanmedian, Norm, Operand, Output, Quantile, Reading, Reduce,
    Running, Slice, Topk, Transpose, Var, ZipArgs,
};
#[cfg(feature = "parquet")]
use crate::chunks::{Bindings, Engine};
use crate::failure::Failure;
use crate::input::{File, read, read_operand};

type Outcome = Result<(), Failure>;

/// The options of a command, as the arguments after the tensors in a function call.
pub(crate) trait Options {
    /// Returns whether the function reads only stored entries.
    fn stored_only(&self) -> bool {
        false
    }

    /// Returns the arguments, each after a comma.
    fn arguments(&self) -> String;
}

impl Options for Fold {
    fn stored_only(&self) -> bool {
        self.stored_only
    }

    fn arguments(&self) -> String {
        self.reduce.arguments()
    }
}

impl Options for Var {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, ddof={}", self.fold.arguments(), self.ddof)
    }
}

impl Options for Reduce {
    fn arguments(&self) -> String {
        Reduce::arguments(self)
    }
}

impl Options for Nanmedian {
    fn stored_only(&self) -> bool {
        self.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, even=\"{}\"", self.reduce.arguments(), self.even)
    }
}

impl Options for Quantile {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        // Expressions write NaN and infinity in lower case.
        format!(", q={}{}, method=\"{}\"", self.q.to_string().to_lowercase(), self.fold.arguments(), self.method)
    }
}

impl Options for Norm {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, ord={}", self.fold.arguments(), self.ord)
    }
}

impl Options for Topk {
    fn stored_only(&self) -> bool {
        self.stored_only
    }

    fn arguments(&self) -> String {
        format!(", k={}, axis={}", self.k, self.axis)
    }
}

/// No options.
struct Plain;

impl Options for Plain {
    fn arguments(&self) -> String {
        String::new()
    }
}

impl Options for Slice {
    fn arguments(&self) -> String {
        format!(", slices=\"{}\"", self.slices)
    }
}

impl Options for Transpose {
    fn arguments(&self) -> String {
        if self.axes.is_empty() { String::new() } else { format!(", axes={:?}", self.axes) }
    }
}

/// Evaluates an expression over the operands `x0`, `x1` and so on.
fn value(text: &str, operands: &[AnyValue]) -> Result<AnyValue, Fault> {
    let bound = |name: &str| name.strip_prefix('x').and_then(|at| operands.get(at.parse::<usize>().ok()?)).cloned();
    Expression::parse(text)?.evaluate(bound)
}

/// Attributes an error to the named files.
fn of_files(fault: Fault, files: &[&Path]) -> Failure {
    match fault {
        Fault::Wrong(wrong) => Failure::of_files(files, wrong.message()),
        Fault::Run(error) => Failure::of_files(files, error),
    }
}

/// The operands of a function call: files, then tensors.
pub(crate) struct Operands<'a> {
    pub(crate) files: Vec<File<'a>>,
    pub(crate) tensors: Vec<AnyTensor>,
    /// True if the function has several operands, so that arrays in files stay arrays.
    pub(crate) are_several: bool,
}

impl<'a> Operands<'a> {
    fn one(file: File<'a>) -> Self {
        Operands { files: vec![file], tensors: Vec::new(), are_several: false }
    }

    fn several(files: Vec<File<'a>>) -> Self {
        Operands { files, tensors: Vec::new(), are_several: true }
    }

    fn paths(&self) -> Vec<&'a Path> {
        self.files.iter().map(|file| file.path).collect()
    }
}

/// Runs a function call on the operands `x0`, `x1` and so on, and emits its result.
pub(crate) fn emit(
    text: &str,
    of: Operands<'_>,
    running: &Running,
    max_memory: Option<u64>,
    output: &Output,
) -> Outcome {
    let paths = of.paths();
    #[cfg(not(feature = "parquet"))]
    let _ = running;
    #[cfg(feature = "parquet")]
    if running.is_in_chunks() {
        let told = |fault| of_files(fault, &paths);
        let mut bound = Bindings::default();
        for (at, file) in of.files.iter().enumerate() {
            bound.file(format!("x{at}"), file, !of.are_several)?;
        }
        for (tensor, at) in of.tensors.into_iter().zip(of.files.len()..) {
            bound.tensor(format!("x{at}"), tensor);
        }
        let expression = Expression::parse(text).map_err(told)?;
        return Engine::new(running, max_memory).emit(&expression, &bound, output, told);
    }
    let operand = |file: &File<'_>| match of.are_several {
        true => read_operand(file.path, file.from, &file.options),
        false => read(file.path, file.from, &file.options).map(AnyValue::from),
    };
    let operands = of.files.iter().map(operand).chain(of.tensors.iter().cloned().map(|tensor| Ok(tensor.into())));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let result = value(text, &operands).map_err(|fault| of_files(fault, &paths))?;
    output.emit(result, max_memory)
}

/// Returns the name of the first tensor, or of its stored view.
fn operand(stored_only: bool) -> &'static str {
    if stored_only { "stored(x0)" } else { "x0" }
}

pub(crate) fn of_one<A: clap::Args + Options>((name, args): (&str, &Called<A>)) -> Outcome {
    of_first(name, &args.options, &args.input, &args.running, &args.output)
}

/// Runs a function without options.
pub(crate) fn plain(name: &str, args: &ElementwiseArgs) -> Outcome {
    of_first(name, &Plain, &args.input, &args.running, &args.output)
}

fn of_first(name: &str, options: &impl Options, input: &Input, running: &Running, output: &Output) -> Outcome {
    let text = format!("{name}({}{})", operand(options.stored_only()), options.arguments());
    emit(&text, Operands::one(input.named()), running, input.reading.max_memory, output)
}

/// Reads one of several files, with the options of the first file.
fn read_too(reading: &Reading, path: &Path) -> Result<AnyValue, Failure> {
    read_operand(path, reading.from, &reading.options())
}

pub(crate) fn zip((name, args): (&str, &ZipArgs)) -> Outcome {
    of_two(args, &[], |left, right| format!("{name}({left}, {right})"))
}

/// Returns the right operand, as a function call names it.
fn right(operand: &Operand) -> &str {
    match operand {
        Operand::Number(number) => number,
        Operand::File(_) => "x1",
    }
}

/// Runs a call with two operands, and with other files after the two; `text` writes the call.
fn of_two(args: &ZipArgs, others: &[&Path], text: impl Fn(&str, &str) -> String) -> Outcome {
    let paths = [args.input.file.as_path()].into_iter().chain(args.right.file());
    let mut files: Vec<File<'_>> = paths.map(|path| args.input.reading.file(path)).collect();
    files.extend(others.iter().map(|path| args.input.beside(path)));
    let text = text(operand(args.stored_only), right(&args.right));
    emit(&text, Operands::several(files), &args.running, args.input.reading.max_memory, &args.output)
}

pub(crate) fn matmul(args: &MatmulArgs) -> Outcome {
    let MatmulArgs { of, semiring, mask, complement } = args;
    if semiring.is_none() && mask.is_none() {
        return zip(("matmul", of));
    }
    if let Operand::Number(_) = &of.right {
        return Err(Failure::Usage("with --semiring or --mask the right operand is a file".into()));
    }
    let semiring = semiring.as_deref().unwrap_or("plus_times");
    let masked = mask.as_ref().map_or_else(String::new, |_| format!(", mask=x2, complement={complement}"));
    let others: Vec<&Path> = mask.iter().map(PathBuf::as_path).collect();
    of_two(of, &others, |_, right| format!("matmul_with(x0, {right}, \"{semiring}\"{masked})"))
}

fn paths(files: &[PathBuf]) -> Vec<&Path> {
    files.iter().map(PathBuf::as_path).collect()
}

/// Returns several files as operands.
fn all<'a>(reading: &Reading, files: &'a [PathBuf]) -> Operands<'a> {
    Operands::several(files.iter().map(|file| reading.file(file)).collect())
}

/// Returns a list of `count` operands: tensors, or their stored views.
fn names(count: usize, stored_only: bool) -> String {
    let name = |at| if stored_only { format!("stored(x{at})") } else { format!("x{at}") };
    format!("[{}]", (0..count).map(name).collect::<Vec<_>>().join(", "))
}

pub(crate) fn join((name, args): (&str, &JoinArgs)) -> Outcome {
    let text = format!("{name}({}, axis={})", names(args.files.len(), false), args.axis);
    emit(&text, all(&args.reading, &args.files), &args.running, args.reading.max_memory, &args.output)
}

pub(crate) fn einsum(args: &EinsumArgs) -> Outcome {
    let text = format!("einsum(\"{}\", {})", args.spec, names(args.files.len(), args.stored_only));
    emit(&text, all(&args.reading, &args.files), &args.running, args.reading.max_memory, &args.output)
}

/// Attributes an error to the upstream gradient if its shape, its type or the sums of its values are at fault. Other
/// errors are attributed to the files.
pub(crate) fn of_gradient(error: Error, files: &[&Path], grad: &Path) -> Failure {
    match error {
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } | Error::SumOverflow { .. } => {
            Failure::of_file(grad, error)
        }
        error => Failure::of_files(files, error),
    }
}

fn gradient(text: &str, operands: &[AnyValue], files: &[&Path], grad: &Path) -> Result<AnyValue, Failure> {
    value(text, operands).map_err(|fault| match fault {
        Fault::Run(error) => of_gradient(error, files, grad),
        Fault::Wrong(wrong) => Failure::of_files(files, wrong.message()),
    })
}

pub(crate) fn backward<A: clap::Args + Options>((name, args): (&str, &Backward<A>)) -> Outcome {
    let operands = [args.input.read()?.into(), args.input.read_beside(&args.grad, None)?.into()];
    let text = format!("{name}_backward({}, x1{})", operand(args.forward.stored_only()), args.forward.arguments());
    let result = gradient(&text, &operands, &[&args.input.file], &args.grad)?;
    args.output.emit(result, args.input.reading.max_memory)
}

pub(crate) fn backward_zip((name, args): (&str, &BackwardZipArgs)) -> Outcome {
    let reading = &args.input.reading;
    let other = args.right.file();
    let mut operands = vec![read_too(reading, &args.input.file)?];
    operands.extend(other.map(|path| read_too(reading, path)).transpose()?);
    operands.push(args.input.operand_beside(&args.grad)?);
    let (left, upstream) = (operand(args.stored_only), operands.len() - 1);
    let text = format!("{name}_backward({left}, {}, x{upstream}, wrt={})", right(&args.right), args.wrt);
    let files: Vec<&Path> = [args.input.file.as_path()].into_iter().chain(other).collect();
    args.output.emit(gradient(&text, &operands, &files, &args.grad)?, reading.max_memory)
}

/// Computes the gradient of one of several files; `text` writes the call, given the name of the upstream gradient.
fn of_several(args: &BackwardFiles, text: impl Fn(&str) -> String) -> Outcome {
    let mut operands =
        args.files.iter().map(|file| read_too(&args.reading, file)).collect::<Result<Vec<_>, Failure>>()?;
    let upstream = format!("x{}", operands.len());
    operands.push(read_operand(&args.grad, None, &args.reading.beside())?);
    let result = gradient(&text(&upstream), &operands, &paths(&args.files), &args.grad)?;
    args.output.emit(result, args.reading.max_memory)
}

pub(crate) fn backward_join((name, args): (&str, &BackwardJoinArgs)) -> Outcome {
    let (axis, wrt, names) = (args.axis, args.of.wrt, names(args.of.files.len(), false));
    of_several(&args.of, |upstream| format!("{name}_backward({names}, {upstream}, axis={axis}, wrt={wrt})"))
}

pub(crate) fn backward_einsum(args: &BackwardEinsumArgs) -> Outcome {
    let (spec, wrt, names) = (&args.spec, args.of.wrt, names(args.of.files.len(), args.stored_only));
    of_several(&args.of, |upstream| format!("einsum_backward(\"{spec}\", {names}, {upstream}, wrt={wrt})"))
}
