//! The command line `lacuna`: each command reads tensor files, works on the sparse form, and prints or writes the
//! result.

mod args;
mod called;
#[cfg(feature = "parquet")]
mod chunks;
mod commands;
mod details;
mod eval;
mod failure;
mod input;
mod isin;
mod lines;
mod manual;
mod names;
mod output;
mod positions;
mod progress;
mod ranges;
#[cfg(unix)]
mod signals;
mod spy;
mod summary;
mod take;
mod usage;
mod values;

use std::process::ExitCode;

use crate::failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(|| args::command_of(std::env::args_os().skip(1))),
    }
}

fn run() -> Result<(), Failure> {
    #[cfg(unix)]
    signals::watch();
    let (words, program) = (Vec::from_iter(std::env::args_os()), args::program());
    usage::check_words(&words, &program).map_err(Failure::Usage)?;
    let cli = usage::parse(words, program)?;
    usage::check_files(&cli.command).map_err(Failure::Usage)?;
    commands::run(&cli)
}
