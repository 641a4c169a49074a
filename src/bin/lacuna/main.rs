//! The command line `lacuna`: each verb reads a tensor file, works on the sparse form, and tells or writes the result.

mod args;
mod erase;
mod failure;
mod input;
mod output;
mod sets;
mod summary;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match verbs::run(args::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
