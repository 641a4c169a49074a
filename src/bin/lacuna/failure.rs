//! What ends a run early: one sentence on stderr, and the exit status.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind as UsageKind;
use lacuna::Error;

use crate::args::command_of;
use crate::names::{is_stream, shown};

/// Says a sentence on stderr, if anybody can hear it.
pub(crate) fn say(sentence: impl Display) {
    let _ = writeln!(stderr(), "lacuna: {sentence}");
}

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of stdout went away: nobody is left to tell.
    Silent,
    /// One sentence.
    Told(String),
    /// Wrong usage, in one sentence.
    Usage(String),
    /// What the parser of the arguments prints: wrong usage on stderr; a help, or the version, on stdout.
    Parser(clap::Error),
}

impl Failure {
    /// A failure in a file that is read: `-` is stdin.
    pub(crate) fn of_file(path: &Path, error: impl Display) -> Self {
        Self::of_files(&[path], error)
    }

    /// A failure in what several files that are read are together.
    pub(crate) fn of_files(paths: &[&Path], error: impl Display) -> Self {
        const MOST: usize = 4;
        let named = |path: &&Path| if is_stream(path) { "stdin".into() } else { shown(path) };
        let mut names = paths.iter().take(MOST).map(named).collect::<Vec<String>>().join(", ");
        if paths.len() > MOST {
            names += &format!(", and {} more", paths.len() - MOST);
        }
        Failure::Told(format!("{names}: {error}"))
    }

    /// A failure in a file that is written: `-` is stdout.
    pub(crate) fn of_target(path: &Path, error: impl Into<Error>) -> Self {
        let name = if is_stream(path) { "stdout".into() } else { shown(path) };
        match error.into() {
            Error::Io { kind: ErrorKind::BrokenPipe, .. } => Failure::Silent,
            error => Failure::Told(format!("{name}: {}", unnamed(error))),
        }
    }

    /// Tells it, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Silent => ExitCode::SUCCESS,
            Failure::Told(sentence) => {
                say(sentence);
                ExitCode::FAILURE
            }
            Failure::Usage(sentence) => {
                let command = &mut command_of(std::env::args_os().skip(1));
                Failure::Parser(command.error(UsageKind::ValueValidation, sentence)).report()
            }
            Failure::Parser(error) => match error.print().and_then(|()| stdout().flush()) {
                Err(unheard) if !error.use_stderr() => Failure::of_target(Path::new("-"), unheard).report(),
                _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
            },
        }
    }
}

/// The error without the name of its file, which stands before it already.
pub(crate) fn unnamed(error: Error) -> Error {
    match error {
        Error::Io { kind, message, source, .. } => Error::Io { kind, message, path: None, source },
        error => error,
    }
}
