//! The verbs that are functions of expressions: each writes its arguments as one.

use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use lacuna::Axes;
use lacuna::Error;
use lacuna::eval::{Expression, Fault};
use lacuna::io::AnyTensor;

#[cfg(feature = "parquet")]
use crate::args::Running;
use crate::args::{
    Backward, BackwardEinsumArgs, BackwardFiles, BackwardJoinArgs, BackwardZipArgs, Called, EinsumArgs,
    ElementwiseArgs, Fold, Input, JoinArgs, MatmulArgs, Nanmedian, Norm, Operand, Output, Quantile, Reading, Reduce,
    Slice, Topk, Transpose, Var, ZipArgs,
};
#[cfg(feature = "parquet")]
use crate::chunks;
use crate::failure::Failure;
use crate::input::read;

type Outcome = Result<(), Failure>;

/// What stands behind the tensors in the call of a function.
pub(crate) trait Options {
    /// Whether only what is stored counts.
    fn stored_only(&self) -> bool {
        false
    }

    /// The arguments, each with a comma before it.
    fn arguments(&self) -> String;

    /// The axes that are reduced, where the function treats positions along all others apart.
    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        None
    }
}

impl Options for Fold {
    fn stored_only(&self) -> bool {
        self.stored_only
    }

    fn arguments(&self) -> String {
        self.reduce.arguments()
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        Some(self.reduce.axes())
    }
}

impl Options for Var {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, ddof={}", self.fold.arguments(), self.ddof)
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        self.fold.over()
    }
}

impl Options for Reduce {
    fn arguments(&self) -> String {
        Reduce::arguments(self)
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        Some(self.axes())
    }
}

impl Options for Nanmedian {
    fn stored_only(&self) -> bool {
        self.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, even=\"{}\"", self.reduce.arguments(), self.even)
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        Some(self.reduce.axes())
    }
}

impl Options for Quantile {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        format!(", q={}{}, method=\"{}\"", self.q, self.fold.arguments(), self.method)
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        self.fold.over()
    }
}

impl Options for Norm {
    fn stored_only(&self) -> bool {
        self.fold.stored_only
    }

    fn arguments(&self) -> String {
        format!("{}, ord={}", self.fold.arguments(), self.ord)
    }

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        self.fold.over()
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

    #[cfg(feature = "parquet")]
    fn over(&self) -> Option<Axes> {
        Some(Axes::none())
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

/// The value of an expression of tensors `x0`, `x1` and so on.
fn value(text: &str, tensors: &[AnyTensor]) -> Result<AnyTensor, Fault> {
    let bound = |name: &str| name.strip_prefix('x').and_then(|at| tensors.get(at.parse::<usize>().ok()?)).cloned();
    Expression::parse(text)?.evaluate(bound)
}

/// The same; an error is one of the files named.
fn call(text: &str, tensors: &[AnyTensor], files: &[&Path]) -> Result<AnyTensor, Failure> {
    value(text, tensors).map_err(|fault| match fault {
        Fault::Wrong(wrong) => Failure::of_files(files, wrong.message()),
        Fault::Run(error) => Failure::of_files(files, error),
    })
}

/// The first tensor, or its entries.
fn operand(stored_only: bool) -> &'static str {
    if stored_only { "stored(x0)" } else { "x0" }
}

pub(crate) fn of_one<A: clap::Args + Options>((name, args): (&'static str, &Called<A>)) -> Outcome {
    #[cfg(feature = "parquet")]
    if args.running.engine == "chunks" {
        return in_chunks((name, &args.options), &args.input, &args.running, &args.output);
    }
    emit(name, &args.options, &args.input, &args.output)
}

/// A function without options.
pub(crate) fn plain(name: &'static str, args: &ElementwiseArgs) -> Outcome {
    #[cfg(feature = "parquet")]
    if args.running.engine == "chunks" {
        return in_chunks((name, &Plain), &args.input, &args.running, &args.output);
    }
    emit(name, &Plain, &args.input, &args.output)
}

/// The call of a function of the first tensor.
fn text_of(name: &str, options: &impl Options) -> String {
    format!("{name}({}{})", operand(options.stored_only()), options.arguments())
}

/// The same in ranges of a file that may be larger than memory.
#[cfg(feature = "parquet")]
fn in_chunks<O: Options>(
    (name, options): (&'static str, &O),
    input: &Input,
    running: &Running,
    output: &Output,
) -> Outcome {
    let refused = || Failure::of_file(&input.file, format!("{name} does not run in chunks yet: leave out --engine"));
    let (axes, text) = (options.over().ok_or_else(refused)?, text_of(name, options));
    let run = move |x: &AnyTensor| {
        value(&text, std::slice::from_ref(x)).map_err(|fault| match fault {
            Fault::Run(error) => error,
            Fault::Wrong(wrong) => Error::Argument { operation: name, why: wrong.message().to_string() },
        })
    };
    chunks::emit((name, axes, run), input, running, output)
}

fn emit(name: &str, options: &impl Options, input: &Input, output: &Output) -> Outcome {
    let text = text_of(name, options);
    let result = call(&text, &[input.read()?], &[&input.file])?;
    output.emit(&result, input.reading.max_memory)
}

/// Another file, with the options of the first.
fn read_too(reading: &Reading, path: &Path) -> Result<AnyTensor, Failure> {
    read(path, reading.from, &reading.options())
}

pub(crate) fn zip((name, args): (&str, &ZipArgs)) -> Outcome {
    of_two(args, &[], |left, right| format!("{name}({left}, {right})"))
}

/// Reads two operands, and other files behind them; `text` writes the call of the two.
fn of_two(args: &ZipArgs, others: &[&Path], text: impl Fn(&str, &str) -> String) -> Outcome {
    let mut files = vec![args.input.file.as_path()];
    let right = match &args.right {
        Operand::Number(number) => number.as_str(),
        Operand::File(path) => {
            files.push(path);
            "x1"
        }
    };
    let mut tensors = vec![args.input.read()?];
    for path in &files[1..] {
        tensors.push(read_too(&args.input.reading, path)?);
    }
    for path in others {
        tensors.push(args.input.read_beside(path, None)?);
    }
    files.extend(others);
    let result = call(&text(operand(args.stored_only), right), &tensors, &files)?;
    args.output.emit(&result, args.input.reading.max_memory)
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

/// The tensors of some files, and a list of their names.
fn read_all(reading: &Reading, files: &[PathBuf]) -> Result<(Vec<AnyTensor>, String), Failure> {
    let tensors = files.iter().map(|file| read_too(reading, file)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = (0..tensors.len()).map(|at| format!("x{at}")).collect();
    Ok((tensors, format!("[{}]", names.join(", "))))
}

pub(crate) fn join((name, args): (&str, &JoinArgs)) -> Outcome {
    let (tensors, names) = read_all(&args.reading, &args.files)?;
    let result = call(&format!("{name}({names}, axis={})", args.axis), &tensors, &paths(&args.files))?;
    args.output.emit(&result, args.reading.max_memory)
}

pub(crate) fn einsum(args: &EinsumArgs) -> Outcome {
    let (tensors, names) = read_all(&args.reading, &args.files)?;
    let result = call(&format!("einsum(\"{}\", {names})", args.spec), &tensors, &paths(&args.files))?;
    args.output.emit(&result, args.reading.max_memory)
}

/// An error of the upstream gradient names its file: its shape, its type and the sums of its values.
pub(crate) fn of_gradient(error: Error, files: &[&Path], grad: &Path) -> Failure {
    match error {
        Error::ShapeMismatch { .. } | Error::NotRepresentable { .. } | Error::SumOverflow { .. } => {
            Failure::of_file(grad, error)
        }
        error => Failure::of_files(files, error),
    }
}

fn gradient(text: &str, tensors: &[AnyTensor], files: &[&Path], grad: &Path) -> Result<AnyTensor, Failure> {
    value(text, tensors).map_err(|fault| match fault {
        Fault::Run(error) => of_gradient(error, files, grad),
        Fault::Wrong(wrong) => Failure::of_files(files, wrong.message()),
    })
}

pub(crate) fn backward<A: clap::Args + Options>((name, args): (&str, &Backward<A>)) -> Outcome {
    let tensors = [args.input.read()?, args.input.read_beside(&args.grad, None)?];
    let text = format!("{name}_backward({}, x1{})", operand(args.forward.stored_only()), args.forward.arguments());
    let result = gradient(&text, &tensors, &[&args.input.file], &args.grad)?;
    args.output.emit(&result, args.input.reading.max_memory)
}

pub(crate) fn backward_zip((name, args): (&str, &BackwardZipArgs)) -> Outcome {
    let reading = &args.input.reading;
    let tensors = [args.input.read()?, read_too(reading, &args.right)?, args.input.read_beside(&args.grad, None)?];
    let text = format!("{name}_backward(x0, x1, x2, wrt={})", args.wrt);
    args.output.emit(&gradient(&text, &tensors, &[&args.input.file, &args.right], &args.grad)?, reading.max_memory)
}

/// The gradient of one of several files; `text` writes the call of the list of their names and the upstream gradient.
fn of_files(args: &BackwardFiles, text: impl Fn(&str, &str) -> String) -> Outcome {
    let (mut tensors, names) = read_all(&args.reading, &args.files)?;
    let upstream = format!("x{}", tensors.len());
    tensors.push(read(&args.grad, None, &args.reading.beside())?);
    let result = gradient(&text(&names, &upstream), &tensors, &paths(&args.files), &args.grad)?;
    args.output.emit(&result, args.reading.max_memory)
}

pub(crate) fn backward_join((name, args): (&str, &BackwardJoinArgs)) -> Outcome {
    let (axis, wrt) = (args.axis, args.of.wrt);
    of_files(&args.of, |names, upstream| format!("{name}_backward({names}, {upstream}, axis={axis}, wrt={wrt})"))
}

pub(crate) fn backward_einsum(args: &BackwardEinsumArgs) -> Outcome {
    let (spec, wrt) = (&args.spec, args.of.wrt);
    of_files(&args.of, |names, upstream| format!("einsum_backward(\"{spec}\", {names}, {upstream}, wrt={wrt})"))
}
