//! The manual and the completions, generated from the definitions that parse the arguments.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use lacuna::Error;
use lacuna::io::save;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::print;

/// Prints the completion script for a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lacuna", &mut script);
    print(&script)
}

/// Prints one page with all commands, or writes a page per command into a folder.
pub(crate) fn man(folder: Option<&Path>) -> Result<(), Failure> {
    match folder {
        None => print(&whole_manual().map_err(|error| Failure::of_target(Path::new("-"), error))?),
        Some(folder) => std::fs::create_dir_all(folder)
            .map_err(Error::from)
            .and_then(|()| write_pages(folder, &program()))
            .map_err(|error| Failure::of_target(folder, error)),
    }
}

/// Returns the program with all its commands.
fn program() -> Command {
    let mut program = Cli::command();
    program.build();
    program
}

/// Writes the page of a command, and the pages of its subcommands.
fn write_pages(folder: &Path, command: &Command) -> lacuna::Result<()> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let page = page_of(man)?;
    save(path, |file| Ok(file.write_all(page.as_bytes())?))?;
    command.get_subcommands().try_for_each(|verb| write_pages(folder, verb))
}

/// Renders a command as a separate page.
fn page_of(man: Man) -> std::io::Result<String> {
    let mut page = Vec::new();
    man.source(concat!("lacuna ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    Ok(with_named_example(&page))
}

/// Renders one page: the program, then each command in its own section.
fn whole_manual() -> std::io::Result<Vec<u8>> {
    let program = program();
    let mut page = page_of(Man::new(program.clone()))?.into_bytes();
    for verb in program.get_subcommands() {
        add_verb(&mut page, verb)?;
    }
    Ok(page)
}

/// Appends a command and its subcommands. The sections of a command's page become subsections.
fn add_verb(page: &mut Vec<u8>, verb: &Command) -> std::io::Result<()> {
    let name = verb.get_display_name().unwrap_or_else(|| verb.get_name());
    page.extend(format!(".SH \"{}\"\n", name.replace('-', " ").to_uppercase()).bytes());
    let (man, mut part) = (Man::new(verb.clone()), Vec::new());
    man.render_description_section(&mut part)?;
    man.render_synopsis_section(&mut part)?;
    man.render_options_section(&mut part)?;
    man.render_extra_section(&mut part)?;
    page.extend(with_named_example(&part).replace(".SH ", ".SS ").bytes());
    verb.get_subcommands().try_for_each(|verb| add_verb(page, verb))
}

/// Renames the section after the options from "extra" to "example".
fn with_named_example(page: &[u8]) -> String {
    String::from_utf8_lossy(page).replace(".SH EXTRA", ".SH EXAMPLE")
}
