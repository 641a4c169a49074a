//! What ends a run early: one sentence on stderr, and the exit status.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stderr};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind as UsageKind;
use clap::{Command, CommandFactory};
use lacuna::Error;

use crate::args::Cli;
use crate::usage::is_stream;

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
}

impl Failure {
    /// A failure in a file that is read: `-` is stdin.
    pub(crate) fn of_file(path: &Path, error: impl Display) -> Self {
        let name = if is_stream(path) { Path::new("stdin") } else { path };
        Failure::Told(format!("{}: {error}", printable(name)))
    }

    /// A failure in a file that is written: `-` is stdout.
    pub(crate) fn of_target(path: &Path, error: impl Into<Error>) -> Self {
        let name = if is_stream(path) { Path::new("stdout") } else { path };
        match error.into() {
            Error::Io { kind: ErrorKind::BrokenPipe, .. } => Failure::Silent,
            error => Failure::Told(format!("{}: {}", printable(name), unnamed(error))),
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
                let _ = named_command().error(UsageKind::ValueValidation, sentence).print();
                ExitCode::from(2)
            }
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

/// The name of a file. What a terminal would obey is escaped.
fn printable(name: &Path) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.to_string_lossy().chars().map(escaped).collect()
}

/// The command of the verb that the arguments begin with, whose usage stands below an error.
fn named_command() -> Command {
    let mut command = Cli::command();
    command.build();
    for word in std::env::args_os().skip(1) {
        match command.find_subcommand(&word) {
            Some(verb) => command = verb.clone(),
            None => break,
        }
    }
    command
}
