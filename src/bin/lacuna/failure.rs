//! What ends a run early: one sentence on stderr, and the exit status.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use lacuna::Error;

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of stdout went away: nobody is left to tell.
    Silent,
    /// One sentence.
    Told(String),
}

impl Failure {
    /// A failure in a file: `-` stands for a standard stream.
    pub(crate) fn of_file(path: &Path, error: impl Display) -> Self {
        match path.to_str() {
            Some("-") => Failure::Told(format!("standard stream: {error}")),
            _ => Failure::Told(format!("{}: {error}", path.display())),
        }
    }

    /// Tells it, and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Failure::Silent => ExitCode::SUCCESS,
            Failure::Told(sentence) => {
                eprintln!("lacuna: {sentence}");
                ExitCode::FAILURE
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { kind: ErrorKind::BrokenPipe, .. } => Failure::Silent,
            error => Failure::Told(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Error::from(error).into()
    }
}
