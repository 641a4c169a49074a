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
    usage::check_words(std::env::args_os()).map_err(Failure::Usage)?;
    let cli = usage::parse(std::env::args_os())?;
    usage::check_files(&cli.command).map_err(Failure::Usage)?;
    commands::run(&cli)
}
