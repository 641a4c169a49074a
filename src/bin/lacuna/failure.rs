//! Failures that end a run early: one sentence on stderr, and the exit status.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap::error::ErrorKind as UsageKind;
use lacuna::Error;

use crate::names::{is_stream, shown};

/// Prints a warning on stderr; errors of stderr are ignored.
pub(crate) fn warn(sentence: impl Display) {
    let _ = writeln!(stderr(), "warning: {sentence}");
}

/// Calls that the library recommends in its errors, and the options for them.
const OPTIONS: [(&str, &str); 3] = [
    ("use .wrap() or .clip()", "use --mode wrap or --mode clip"),
    ("x.stored() and y.stored() combine stored entries only", "--stored-only combines stored entries only"),
    ("x.stored() skips unstored positions", "--stored-only skips unstored positions"),
];

/// Returns the message of an error, with options in place of calls of the library.
fn with_options(error: impl Display) -> String {
    OPTIONS.iter().fold(error.to_string(), |message, (call, option)| message.replace(call, option))
}

/// The reason why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader closed stdout: no message is printed.
    Silent,
    /// One sentence.
    Message(String),
    /// Wrong usage, in one sentence.
    Usage(String),
    /// The output of the argument parser: wrong usage on stderr; help or version on stdout.
    Parser(clap::Error),
}

impl Failure {
    /// Returns a failure of an input file; `-` is stdin.
    pub(crate) fn of_file(path: &Path, error: impl Display) -> Self {
        Self::of_files(&[path], error)
    }

    /// Returns a failure of several input files together.
    pub(crate) fn of_files(paths: &[&Path], error: impl Display) -> Self {
        const MOST: usize = 4;
        let named = |path: &&Path| if is_stream(path) { "stdin".into() } else { shown(path) };
        let mut names = paths.iter().take(MOST).map(named).collect::<Vec<String>>().join(", ");
        if paths.len() > MOST {
            names += &format!(", and {} more", paths.len() - MOST);
        }
        Failure::Message(format!("{names}: {}", with_options(error)))
    }

    /// Returns a failure of an output file; `-` is stdout.
    pub(crate) fn of_target(path: &Path, error: impl Into<Error>) -> Self {
        let name = if is_stream(path) { "stdout".into() } else { shown(path) };
        match error.into() {
            Error::Io { kind: ErrorKind::BrokenPipe, .. } => Failure::Silent,
            error => Failure::Message(format!("{name}: {}", unnamed(error))),
        }
    }

    /// Prints the failure, and returns the exit status. Wrong usage is printed with the usage of `command`.
    pub(crate) fn report(self, command: impl FnOnce() -> Command) -> ExitCode {
        match self {
            Failure::Silent => ExitCode::SUCCESS,
            Failure::Message(sentence) => {
                let _ = writeln!(stderr(), "error: {sentence}");
                ExitCode::FAILURE
            }
            Failure::Usage(sentence) => {
                let error = command().error(UsageKind::ValueValidation, sentence);
                Failure::Parser(error).report(Command::default)
            }
            Failure::Parser(error) => match error.print().and_then(|()| stdout().flush()) {
                Err(unheard) if !error.use_stderr() => Failure::of_target(Path::new("-"), unheard).report(command),
                _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
            },
        }
    }
}

/// Returns the error without its path, which the caller prints before the error.
pub(crate) fn unnamed(error: Error) -> Error {
    match error {
        Error::Io { kind, message, source, .. } => Error::Io { kind, message, path: None, source },
        error => error,
    }
}
